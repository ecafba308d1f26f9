//! Whole files: read, translate, write at once.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use abridge_base::files::OutputFile;
use abridge_base::hash::Hasher;
use abridge_base::tell;
use abridge_corpus::{Corpus, Input, read, read_text};
use abridge_translate::{BeamSettings, Control, DocumentSettings, Prose, Translation, Translator};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::partial::{self, Header, Partial};
use super::render::{Place, Record, record};
use super::{Mode, Translate};

/// Notes that are listed; the rest is counted.
const LISTED_NOTES: usize = 20;

/// A file that has been read.
pub struct Job {
    input: PathBuf,
    output: Option<OutputFile>,
    content: Content,
    /// Whether another one follows on standard output.
    is_followed: bool,
}

enum Content {
    Corpus(Corpus),
    /// Running text, which is cut when the language is known.
    Text(String),
}

/// What is translated, and how it is put together again.
struct Plan<'a> {
    documents: Vec<Vec<String>>,
    names: Vec<&'a str>,
    layout: Layout<'a>,
}

enum Layout<'a> {
    Corpus(&'a Corpus),
    Prose(Prose),
}

/// Decides where everything goes, then reads all inputs.
pub fn read_all(arguments: &Translate, inputs: &[PathBuf]) -> anyhow::Result<Vec<Job>> {
    let outputs = outputs(arguments, inputs)?;
    let mut jobs = Vec::with_capacity(inputs.len());
    for (place, (input, output)) in inputs.iter().zip(outputs).enumerate() {
        let content = if arguments.segment {
            Content::Text(read_text(input)?)
        } else {
            Content::Corpus(read(&Input {
                docids: arguments.docids.clone(),
                format: arguments.format,
                ..Input::new(input)
            })?)
        };
        let is_followed = output.is_none() && place + 1 < inputs.len();
        jobs.push(Job { input: input.clone(), output, content, is_followed });
    }
    Ok(jobs)
}

/// Where the translation of each input goes; nothing for standard output.
fn outputs(arguments: &Translate, inputs: &[PathBuf]) -> anyhow::Result<Vec<Option<OutputFile>>> {
    let Some(output) = &arguments.output else {
        return Ok(inputs.iter().map(|_| None).collect());
    };
    let mut outputs = arguments.inputs_of();
    let is_folder = output.is_dir();
    if inputs.len() > 1 && !is_folder {
        bail!(
            "{} inputs, but --output {} is not a directory; make it one, or translate the files one \
             by one",
            inputs.len(),
            output.display()
        );
    }
    let mut all = Vec::with_capacity(inputs.len());
    for input in inputs {
        let file = if is_folder {
            let name = input.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // The translation is not compressed.
            let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
            let replace = arguments.force || arguments.resume;
            let remedy = "move it away, or replace it with --force";
            outputs.derived(&output.join(name), replace, remedy)?
        } else {
            outputs.file(output)?
        };
        if file.is_file() {
            partial::check(file.path(), &mut outputs)?;
        }
        all.push(Some(file));
    }
    Ok(all)
}

/// Translates and writes one file.
pub fn run(
    arguments: &Translate,
    job: Job,
    translator: &Translator,
    settings: &BeamSettings,
) -> anyhow::Result<()> {
    let mode = arguments.mode();
    let plan = plan(&job, arguments.prose_language(Some(translator)));
    let sentences = plan.documents.iter().map(Vec::len).sum::<usize>();
    let header = Header {
        format: 1,
        input: hash(&plan.documents),
        model: translator.hash().to_owned(),
        settings: format!(
            "{} context {:?} {mode:?}",
            serde_json::to_string(settings)?,
            arguments.context_size
        ),
    };
    // Where the output is not a file there is nothing beside it to keep.
    let target = job.output.as_ref().filter(|output| output.is_file());
    let (mut partial, mut records) = match target {
        Some(output) => {
            let (partial, records) = Partial::open(output.path(), &header, arguments.resume)?;
            (Some(partial), records)
        }
        None => (None, Vec::new()),
    };
    records.truncate(sentences);
    if !records.is_empty() && !arguments.quiet {
        tell!("{} of {sentences} sentences are there already", records.len());
    }

    let bar = bar(sentences, arguments.quiet)?;
    bar.set_position(records.len() as u64);
    bar.reset_eta();
    let done = |count: usize| bar.inc(count as u64);
    let known: Vec<String> = records
        .iter()
        .map(|record| record.translation.as_ref().unwrap_or(&record.text).clone())
        .collect();
    let how = DocumentSettings {
        context: arguments.context_size,
        known: &known,
        control: Control {
            done: &done,
            attention: matches!(mode, Mode::Json | Mode::Explain),
            ..Control::default()
        },
    };
    let mut numbers = places(&plan.documents).skip(records.len());
    let mut finish = |document: usize, translation: Translation| -> anyhow::Result<()> {
        let (number, index) = numbers.next().context("more translations than sentences")?;
        let place = Place {
            document: plan.names[document],
            index,
            number,
            source: &plan.documents[document][index],
        };
        let mut record = record(mode, &place, &translation, translator);
        if translator.model().config().target_context {
            record.translation = Some(translation.into_text());
        }
        if let Some(partial) = &mut partial {
            partial.push(&record)?;
        }
        records.push(record);
        Ok(())
    };
    translator.translate_in_order(&plan.documents, settings, &how, &mut finish)?;
    bar.finish_and_clear();

    let mut bytes = put_together(&plan, &records, mode)?;
    if let Some(output) = &job.output {
        output.write(&bytes)?;
    } else {
        // The first line of the next one is not the end of the last line of this one.
        if job.is_followed && bytes.last().is_some_and(|&byte| byte != b'\n') {
            bytes.push(b'\n');
        }
        let mut out = std::io::stdout().lock();
        out.write_all(&bytes)?;
        out.flush()?;
    }
    if let Some(partial) = partial {
        partial.finish()?;
    }
    if !arguments.quiet {
        report(&job.input, &plan, &records);
    }
    Ok(())
}

fn plan<'a>(job: &'a Job, language: &str) -> Plan<'a> {
    match &job.content {
        Content::Corpus(corpus) => {
            let sentences = |document: &abridge_corpus::Document| {
                document.segments.iter().map(|segment| segment.source.clone()).collect()
            };
            Plan {
                documents: corpus.documents.iter().map(sentences).collect(),
                names: corpus.documents.iter().map(|document| document.id.as_str()).collect(),
                layout: Layout::Corpus(corpus),
            }
        }
        Content::Text(text) => {
            let prose = Prose::new(text, language);
            Plan {
                documents: vec![prose.sentences.clone()],
                names: vec!["1"],
                layout: Layout::Prose(prose),
            }
        }
    }
}

/// For each sentence its place in all documents and in its own.
fn places(documents: &[Vec<String>]) -> impl Iterator<Item = (usize, usize)> {
    documents.iter().flat_map(|document| 0..document.len()).enumerate()
}

fn put_together(plan: &Plan<'_>, records: &[Record], mode: Mode) -> anyhow::Result<Vec<u8>> {
    if mode != Mode::Text {
        return Ok(records.iter().flat_map(|record| record.text.bytes()).collect());
    }
    let mut texts = records.iter().map(|record| record.text.clone());
    let translations: Vec<Vec<String>> =
        plan.documents.iter().map(|d| texts.by_ref().take(d.len()).collect()).collect();
    match &plan.layout {
        Layout::Corpus(corpus) => {
            let mut bytes = Vec::new();
            corpus.write_translation(&translations, &mut bytes)?;
            Ok(bytes)
        }
        Layout::Prose(prose) => {
            Ok(prose.put_together(translations.first().map_or(&[][..], Vec::as_slice)).into_bytes())
        }
    }
}

/// Lists what was translated in parts or may lack its end, with lines.
fn report(input: &Path, plan: &Plan<'_>, records: &[Record]) {
    let places = plan.documents.iter().enumerate();
    let places = places.flat_map(|(document, d)| (0..d.len()).map(move |index| (document, index)));
    let noted: Vec<_> =
        places.zip(records).filter_map(|(place, r)| Some((place, r.note.as_ref()?))).collect();
    for ((document, index), note) in noted.iter().take(LISTED_NOTES) {
        let line = match &plan.layout {
            Layout::Corpus(corpus) => corpus.line(*document, *index),
            Layout::Prose(prose) => prose.line(*index),
        };
        tell!("note: {}:{}: {note}", input.display(), line.unwrap_or(index + 1));
    }
    if noted.len() > LISTED_NOTES {
        tell!("note: {} more sentences like these", noted.len() - LISTED_NOTES);
    }
}

fn hash(documents: &[Vec<String>]) -> String {
    let mut hasher = Hasher::new();
    for document in documents {
        hasher.count(document.len());
        for sentence in document {
            hasher.text(sentence);
        }
    }
    hasher.finish()
}

fn bar(sentences: usize, quiet: bool) -> anyhow::Result<ProgressBar> {
    if quiet || !std::io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let style = "{bar:30} {pos}/{len} sentences, {per_sec}, {eta} left";
    Ok(ProgressBar::new(sentences as u64).with_style(ProgressStyle::with_template(style)?))
}
