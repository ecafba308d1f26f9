//! Translates a set with several contexts, and saves translations to a file as they are made.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use abridge_base::files::{read_text, write_new};
use abridge_corpus::{CtxProItem, CtxProSet, Error};
use abridge_translate::{BeamSettings, InContext, Result, Translator};
use serde::{Deserialize, Serialize};

use crate::controls::{Draw, Example, View};
use crate::hash;

/// Sentences translated together.
const CHUNK: usize = 512;
/// A larger file does not hold the translations of a set.
const LARGEST: u64 = 1 << 30;

/// A context in which a set is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CtxProContext {
    /// The context size.
    pub size: usize,
    /// The draw of a control, if it is not the true context.
    pub control: Option<Draw>,
}

impl std::fmt::Display for CtxProContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.control {
            None => write!(f, "{}", self.size),
            Some(draw) => write!(f, "{} {draw}", self.size),
        }
    }
}

/// What saved translations depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    tool: String,
    model: String,
    set: String,
    contexts: Vec<CtxProContext>,
    beam: usize,
    seed: u64,
}

/// What is translated and how.
#[derive(Clone, Copy, Debug)]
pub struct CtxProTask<'a> {
    /// The set.
    pub set: &'a CtxProSet,
    /// The contexts.
    pub contexts: &'a [CtxProContext],
    /// The search settings.
    pub settings: &'a BeamSettings,
    /// The seed of the random control.
    pub seed: u64,
    /// The file for translations until all are made.
    pub kept: Option<&'a Path>,
}

/// The hash of a set, for signatures.
pub fn ctxpro_hash(set: &CtxProSet) -> String {
    hash::of_lines(set.items.iter().flat_map(|item| {
        let texts = [&item.source, &item.expected, &item.rule].map(String::as_str);
        item.context.iter().map(String::as_str).chain(texts)
    }))
}

impl CtxProTask<'_> {
    /// For each context, the translation of every example. `done` is called with the number
    /// finished.
    pub fn translate(
        &self,
        translator: &Translator,
        done: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<String>>> {
        let count = self.set.items.len();
        let total = count * self.contexts.len();
        let mut texts = match self.kept {
            Some(file) => self.resume(file, translator)?,
            None => Vec::new(),
        };
        texts.truncate(total);
        done(texts.len());
        // Example by example, each in all its contexts, so that shared sentences are encoded once.
        let limited: Vec<Vec<Limited<'_>>> =
            self.contexts.iter().map(|context| self.limited(context.size)).collect();
        let examples: Vec<Vec<Example<'_>>> =
            limited.iter().map(|limited| limited.iter().map(Limited::example).collect()).collect();
        let slots = translator.model().config().context_size;
        while texts.len() < total {
            let mut views: Vec<(usize, View)> = Vec::new();
            for place in texts.len()..total.min(texts.len() + CHUNK) {
                let (item, context) = (place / self.contexts.len(), place % self.contexts.len());
                let view = match self.contexts[context].control {
                    Some(draw) => {
                        let seed = draw.seed(self.seed);
                        draw.control.view(&examples[context], item, slots, seed)?
                    }
                    None => None,
                };
                let truth = || View {
                    sentences: limited[context][item].context.to_vec(),
                    ..View::default()
                };
                views.push((item, view.unwrap_or_else(truth)));
            }
            let requests: Vec<InContext<'_>> = views
                .iter()
                .map(|(item, view)| InContext {
                    source: &self.set.items[*item].source,
                    context: &view.sentences,
                    shown: view.shown.as_deref(),
                })
                .collect();
            let found = translator.translate_in_context(&requests, self.settings)?;
            if let Some(file) = self.kept {
                append(file, &found)?;
            }
            done(found.len());
            texts.extend(found);
        }
        let mut by_context = vec![Vec::with_capacity(count); self.contexts.len()];
        for (place, text) in texts.into_iter().enumerate() {
            by_context[place % self.contexts.len()].push(text);
        }
        Ok(by_context)
    }

    /// The examples with this many sentences of context.
    fn limited(&self, size: usize) -> Vec<Limited<'_>> {
        let limited = |item| {
            let CtxProItem { source, context, document, .. }: &CtxProItem = item;
            let context = &context[context.len().saturating_sub(size)..];
            Limited { source, context, document: document.as_deref() }
        };
        self.set.items.iter().map(limited).collect()
    }

    /// The translations saved so far; creates the file if there is none.
    fn resume(&self, file: &Path, translator: &Translator) -> Result<Vec<String>> {
        let own = Kept {
            tool: concat!("abridge-", env!("CARGO_PKG_VERSION")).to_owned(),
            model: translator.hash().to_owned(),
            set: ctxpro_hash(self.set),
            contexts: self.contexts.to_vec(),
            beam: self.settings.beam,
            seed: self.seed,
        };
        let header =
            serde_json::to_string(&own).map_err(|error| Error::io("write", file, error.into()))?;
        if file.symlink_metadata().is_err() {
            write_new(file, (header + "\n").as_bytes())?;
            return Ok(Vec::new());
        }
        let text = read_text(file, LARGEST)?;
        let mut lines = text.split_inclusive('\n');
        if lines.next().map(str::trim_end) != Some(header.as_str()) {
            return Err(Error::new("these translations belong to another model, set or context")
                .in_file(file)
                .remedy("remove the file, or write elsewhere with --output")
                .into());
        }
        // An incomplete line is translated again.
        let whole: Vec<&str> = lines.filter_map(|line| line.strip_suffix('\n')).collect();
        let length = header.len() + 1 + whole.iter().map(|line| line.len() + 1).sum::<usize>();
        let cut = OpenOptions::new().write(true).open(file).and_then(|f| f.set_len(length as u64));
        cut.map_err(|e| Error::io("write", file, e))?;
        Ok(whole.into_iter().map(str::to_owned).collect())
    }
}

/// An example with some of its context.
struct Limited<'a> {
    source: &'a str,
    context: &'a [String],
    document: Option<&'a str>,
}

impl Limited<'_> {
    fn example(&self) -> Example<'_> {
        Example {
            source: self.source,
            context: self.context,
            translations: &[],
            document: self.document,
        }
    }
}

fn append(file: &Path, texts: &[String]) -> abridge_corpus::Result<()> {
    let lines: String = texts.iter().map(|text| text.replace('\n', " ") + "\n").collect();
    let output = OpenOptions::new().append(true).open(file);
    output
        .and_then(|mut output| output.write_all(lines.as_bytes()))
        .map_err(|e| Error::io("write", file, e))
}
