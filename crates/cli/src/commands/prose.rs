//! Running prose given as plain text: in which language, and a note where --segment is missing.

use std::path::Path;

use abridge_base::tell;
use abridge_corpus::{Corpus, Format};
use abridge_translate::{Translator, has_paragraphs};

/// The language whose rules split prose into sentences: the model's source language.
pub fn language(translator: &Translator) -> &str {
    translator.languages().map_or("en", |(source, _)| source)
}

/// Says so if the lines of a plain text are paragraphs: a model that has learned from single
/// sentences leaves out parts of those.
pub fn advise(input: &Path, corpus: &Corpus, language: &str) {
    let lines = corpus.documents.iter().flat_map(|document| &document.segments);
    let lines = lines.map(|segment| segment.source.as_str());
    if corpus.format() == Format::Lines && has_paragraphs(lines, language) {
        tell!(
            "note: {}: most lines hold several sentences, and each line is translated as one; \
             --segment translates them sentence by sentence",
            input.display()
        );
    }
}
