//! Whole files: read, translate, write at once.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use abridge_corpus::{Corpus, Input, read};
use abridge_translate::{BeamSettings, Control, DocumentSettings, Prose, Translation, Translator};
use anyhow::{Context, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

use super::partial::{Header, Partial, write_whole};
use super::render::{Place, Record, record};
use super::{Mode, Translate};

/// Notes that are listed; the rest is counted.
const LISTED_NOTES: usize = 20;

/// A file that has been read.
pub struct Job {
    input: PathBuf,
    output: Option<PathBuf>,
    content: Content,
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

/// Reads all inputs.
pub fn read_all(arguments: &Translate, inputs: &[PathBuf]) -> anyhow::Result<Vec<Job>> {
    let output = arguments.output.as_deref();
    let into_folder = output.is_some_and(Path::is_dir);
    if let (Some(output), true, false) = (output, inputs.len() > 1, into_folder) {
        bail!(
            "{} inputs, but --output {} is not a directory; make it one, or translate the files one \
             by one",
            inputs.len(),
            output.display()
        );
    }
    let mut jobs = Vec::with_capacity(inputs.len());
    for input in inputs {
        let content = if arguments.segment {
            let bytes = std::fs::read(input)
                .map_err(|error| abridge_corpus::Error::io("read", input, error))?;
            Content::Text(String::from_utf8(bytes).map_err(|error| {
                let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = valid.split(|byte| *byte == b'\n').count();
                let remedy = "convert the file to UTF-8, for instance with iconv";
                abridge_corpus::Error::new("invalid UTF-8")
                    .in_file(input)
                    .at_line(line)
                    .remedy(remedy)
            })?)
        } else {
            Content::Corpus(read(&Input {
                docids: arguments.docids.clone(),
                format: arguments.format,
                ..Input::new(input)
            })?)
        };
        let output = output.map(|path| match input.file_name() {
            Some(name) if into_folder => path.join(name),
            _ => path.to_path_buf(),
        });
        if let Some(output) = &output {
            ensure!(
                !output.exists() || output.canonicalize()? != input.canonicalize()?,
                "{} would be overwritten by its own translation; choose another --output",
                input.display()
            );
        }
        jobs.push(Job { input: input.clone(), output, content });
    }
    Ok(jobs)
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
    let target = job.output.as_deref().filter(|path| !path.exists() || path.is_file());
    let (mut partial, mut records) = match target {
        Some(output) => {
            let (partial, records) = Partial::open(output, &header, arguments.resume)?;
            (Some(partial), records)
        }
        None => (None, Vec::new()),
    };
    records.truncate(sentences);
    if !records.is_empty() && !arguments.quiet {
        eprintln!("{} of {sentences} sentences are there already", records.len());
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

    let bytes = put_together(&plan, &records, mode)?;
    if let Some(file) = &job.output {
        write_whole(file, &bytes)?;
    } else {
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
        eprintln!("note: {}:{}: {note}", input.display(), line.unwrap_or(index + 1));
    }
    if noted.len() > LISTED_NOTES {
        eprintln!("note: {} more sentences like these", noted.len() - LISTED_NOTES);
    }
}

fn hash(documents: &[Vec<String>]) -> String {
    let mut hasher = Sha256::new();
    for document in documents {
        hasher.update((document.len() as u64).to_le_bytes());
        for sentence in document {
            hasher.update((sentence.len() as u64).to_le_bytes());
            hasher.update(sentence.as_bytes());
        }
    }
    format!("{:x}", hasher.finalize())
}

fn bar(sentences: usize, quiet: bool) -> anyhow::Result<ProgressBar> {
    if quiet || !std::io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let style = "{bar:30} {pos}/{len} sentences, {per_sec}, {eta} left";
    Ok(ProgressBar::new(sentences as u64).with_style(ProgressStyle::with_template(style)?))
}
