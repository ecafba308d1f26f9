//! Translates whole documents, a window of sentences at a time.

use std::ops::Range;

use crate::Result;
use crate::session::Session;
use crate::settings::BeamSettings;
use crate::translation::Translation;
use crate::translator::Translator;
use crate::turns::{Control, Turn};

/// Sentences that are encoded and translated together. A larger window would make the lengths
/// within a batch more similar, but take more memory: this one takes about 100 MiB at the paper's
/// width.
const WINDOW: usize = 256;

/// How documents are translated.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentSettings<'a> {
    /// The context size; by default the model's.
    pub context: Option<usize>,
    /// The translations of the first sentences, in reading order, if they are known from an earlier
    /// run. These sentences are skipped, but still serve as context.
    pub known: &'a [String],
    /// Callbacks and limits.
    pub control: Control<'a>,
}

impl Translator {
    /// Translates the sentences of documents, each with the memory of those before it.
    ///
    /// The sentences of many documents are encoded and decoded together, in batches of similar
    /// length; the result is the same as with a [`Session`]. `done` is called with the number of
    /// sentences just finished.
    pub fn translate_documents(
        &self,
        documents: &[Vec<String>],
        settings: &BeamSettings,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<String>>> {
        let mut texts: Vec<Vec<String>> = documents.iter().map(|_| Vec::new()).collect();
        let control = Control { done, ..Control::default() };
        let how = DocumentSettings { control, ..DocumentSettings::default() };
        self.translate_in_order(documents, settings, &how, &mut |document,
                                                                 translation|
         -> Result<()> {
            texts[document].push(translation.into_text());
            Ok(())
        })?;
        Ok(texts)
    }

    /// As [`Self::translate_documents`], but passes every translation to `take`, with the index of
    /// its document, in reading order and soon after it is finished.
    pub fn translate_in_order<E: From<crate::Error>>(
        &self,
        documents: &[Vec<String>],
        settings: &BeamSettings,
        how: &DocumentSettings<'_>,
        take: &mut dyn FnMut(usize, Translation) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let context = self.context(how.context)?;
        let mut skip = how.known.len();
        // The session of the document that a window ended within.
        let mut begun: Option<(usize, Session)> = None;
        let mut window: Vec<(usize, Range<usize>)> = Vec::new();
        let mut filled = 0;
        for (number, document) in documents.iter().enumerate() {
            let known = skip.min(document.len());
            let translations = &how.known[how.known.len() - skip..][..known];
            skip -= known;
            let mut start = known;
            if known > 0 && known < document.len() {
                begun = Some((
                    number,
                    self.reread(&document[..known], translations, context, settings)?,
                ));
            }
            while start < document.len() {
                let end = document.len().min(start + WINDOW - filled);
                window.push((number, start..end));
                filled += end - start;
                start = end;
                if filled == WINDOW {
                    let window = std::mem::take(&mut window);
                    self.translate_window(documents, window, settings, how, &mut begun, take)?;
                    filled = 0;
                }
            }
        }
        self.translate_window(documents, window, settings, how, &mut begun, take)
    }

    fn translate_window<E: From<crate::Error>>(
        &self,
        documents: &[Vec<String>],
        window: Vec<(usize, Range<usize>)>,
        settings: &BeamSettings,
        how: &DocumentSettings<'_>,
        begun: &mut Option<(usize, Session)>,
        take: &mut dyn FnMut(usize, Translation) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut sessions = Vec::with_capacity(window.len());
        for (document, _) in &window {
            sessions.push(match begun.take() {
                Some((number, session)) if number == *document => session,
                _ => self.session(how.context)?,
            });
        }
        let mut turns: Vec<Turn<'_>> = sessions
            .iter_mut()
            .zip(&window)
            .map(|(session, (document, range))| Turn {
                session,
                sentences: documents[*document][range.clone()].iter().map(String::as_str).collect(),
            })
            .collect();
        let translations = self.translate_turns(&mut turns, settings, &how.control)?;
        for ((document, _), translations) in window.iter().zip(translations) {
            translations.into_iter().try_for_each(|translation| take(*document, translation))?;
        }
        *begun = window.last().map(|(document, _)| *document).zip(sessions.pop());
        Ok(())
    }

    /// The session after sentences that were translated in an earlier run.
    fn reread(
        &self,
        sentences: &[String],
        translations: &[String],
        context: usize,
        settings: &BeamSettings,
    ) -> Result<Session> {
        let mut session = self.session(Some(context))?;
        let control = Control::default();
        self.remember_only(&mut session, sentences, translations, settings, &control)?;
        Ok(session)
    }
}
