//! Whole files, one or many: read, translate, write each when it is complete.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use abridge_base::hash::Hasher;
use abridge_base::tell;
use abridge_corpus::{Corpus, read, read_text};
use abridge_translate::{BeamSettings, Control, DocumentSettings, Prose, Translation, Translator};
use anyhow::Context;
use indicatif::ProgressBar;

use super::super::prose;
use super::finished;
use super::inputs::{self, Listed, list, settings_key};
use super::partial::{Header, Partial, partial_of};
use super::render::{Place, Record, record};
use super::writing::{Complete, Writer, writing};
use super::{Mode, Translate};

/// The most notes that are listed for a file; the rest are counted.
const LISTED_NOTES: usize = 20;
/// Files are translated together until they have this many sentences: enough that small files keep
/// all threads busy, and few enough that memory use does not depend on the number of files.
const TOGETHER: usize = 2048;
/// Bytes of files that are kept in memory between a first look and their translation. Others are read
/// again.
const KEPT: u64 = 64 << 20;

/// A file that was found to be readable.
pub struct Job {
    listed: Listed,
    /// Its content, if kept in memory.
    content: Option<Content>,
}

enum Content {
    Corpus(Corpus),
    /// Running text, which is split into sentences when the language is known.
    Text(String),
}

/// How translations are put back together.
enum Layout {
    Corpus(Corpus),
    /// With the original text.
    Prose(Prose, String),
}

/// A file in progress.
struct Task {
    listed: Listed,
    header: Header,
    layout: Layout,
    /// Its documents among those that are translated together.
    documents: Range<usize>,
    sentences: usize,
    /// The document that is being translated, and the number of its first sentence.
    at: (usize, usize),
    /// Its finished sentences.
    records: Vec<Record>,
    partial: Option<Partial>,
    /// Whether another file follows on standard output.
    is_followed: bool,
}

/// Decides where everything goes, then reads all inputs, so that a file that cannot be translated is
/// found before any work.
pub fn read_all(arguments: &Translate, inputs: &[PathBuf]) -> anyhow::Result<Vec<Job>> {
    let listed = list(arguments, inputs)?;
    let mut jobs = Vec::with_capacity(listed.len());
    let mut kept = 0;
    for listed in listed {
        let content = Content::read(arguments, &listed.input)?;
        // Anything but a regular file can be read only once.
        let file = std::fs::metadata(&listed.input).ok().filter(std::fs::Metadata::is_file);
        let bytes = file.map_or(0, |file| file.len());
        kept += bytes;
        jobs.push(Job { listed, content: (kept <= KEPT || bytes == 0).then_some(content) });
    }
    Ok(jobs)
}

/// Translates all files and writes each when it is complete.
pub fn run(
    arguments: &Translate,
    jobs: Vec<Job>,
    translator: &Translator,
    settings: &BeamSettings,
) -> anyhow::Result<()> {
    let search = serde_json::to_string(settings)?;
    let mut run = Run {
        arguments,
        translator,
        settings,
        mode: arguments.mode(),
        language: arguments.prose_language(Some(translator)),
        key: settings_key(arguments, &search, arguments.mode()),
        bar: ProgressBar::hidden(),
    };
    let files = jobs.len();
    let (mut waiting, sentences) = run.survey(jobs)?;
    let finished = files - waiting.len();
    if finished > 0 && !arguments.quiet {
        tell!("{finished} of {files} files are already finished");
    }
    run.bar = crate::progress::counter(sentences, "sentences", arguments.quiet);
    let written = writing(|writer| {
        while !waiting.is_empty() {
            run.translate(&mut waiting, writer)?;
        }
        Ok(())
    });
    run.bar.finish_and_clear();
    written
}

struct Run<'a> {
    arguments: &'a Translate,
    translator: &'a Translator,
    settings: &'a BeamSettings,
    mode: Mode,
    /// The language of prose.
    language: &'a str,
    /// What finished sentences depend on, besides input and model.
    key: String,
    bar: ProgressBar,
}

impl Run<'_> {
    /// Leaves out finished files, and counts the sentences of the rest.
    fn survey(&self, jobs: Vec<Job>) -> anyhow::Result<(VecDeque<Job>, usize)> {
        let mut waiting = VecDeque::with_capacity(jobs.len());
        let mut sentences = 0;
        for mut job in jobs {
            let is_kept = job.content.is_some();
            let (documents, layout) = self.cut(&mut job)?;
            if let Layout::Corpus(corpus) = &layout
                && !self.arguments.quiet
            {
                prose::advise(&job.listed.input, corpus, self.language);
            }
            let record = job.listed.record.as_ref().zip(job.listed.output.as_ref());
            if let Some((record, output)) = record.filter(|_| self.arguments.resume) {
                let header = self.header(&job.listed.input, &documents)?;
                if finished::is_finished(record, output.path(), &header)? {
                    continue;
                }
            }
            sentences += documents.iter().map(Vec::len).sum::<usize>();
            job.content = is_kept.then(|| layout.into_content());
            waiting.push_back(job);
        }
        Ok((waiting, sentences))
    }

    /// The documents of a file, and the layout that their translations go back into.
    fn cut(&self, job: &mut Job) -> anyhow::Result<(Vec<Vec<String>>, Layout)> {
        let content = match job.content.take() {
            Some(content) => content,
            None => Content::read(self.arguments, &job.listed.input)?,
        };
        Ok(match content {
            Content::Corpus(corpus) => {
                let sentences = |document: &abridge_corpus::Document| {
                    document.segments.iter().map(|segment| segment.source.clone()).collect()
                };
                (corpus.documents.iter().map(sentences).collect(), Layout::Corpus(corpus))
            }
            Content::Text(text) => {
                let prose = Prose::new(&text, self.language);
                (vec![prose.sentences.clone()], Layout::Prose(prose, text))
            }
        })
    }

    fn header(&self, input: &Path, documents: &[Vec<String>]) -> anyhow::Result<Header> {
        Ok(Header {
            format: 1,
            path: std::path::absolute(input)?.display().to_string(),
            input: hash(documents),
            model: self.translator.hash().to_owned(),
            settings: self.key.clone(),
        })
    }

    /// Translates the next files together. A file to be resumed is translated by itself.
    fn translate(&self, waiting: &mut VecDeque<Job>, writer: &Writer<'_>) -> anyhow::Result<()> {
        let mut documents = Vec::new();
        let mut tasks: VecDeque<Task> = VecDeque::new();
        let mut sentences = 0;
        while sentences < TOGETHER
            && let Some(mut job) =
                waiting.pop_front_if(|job| tasks.is_empty() || self.begun(&job.listed).is_none())
        {
            let was_begun = self.begun(&job.listed).is_some();
            let (own, layout) = self.cut(&mut job)?;
            let task = self.task(job.listed, &own, layout, documents.len(), !waiting.is_empty())?;
            sentences += task.sentences;
            documents.extend(own);
            tasks.push_back(task);
            if was_begun {
                break;
            }
        }
        self.translate_together(&documents, tasks, writer)
    }

    /// The output of a file that is to be resumed, if it is.
    fn begun<'a>(&self, listed: &'a Listed) -> Option<&'a Path> {
        let output = listed.output.as_ref().filter(|output| output.is_file())?.path();
        (self.arguments.resume && partial_of(output).exists()).then_some(output)
    }

    fn task(
        &self,
        listed: Listed,
        documents: &[Vec<String>],
        layout: Layout,
        first: usize,
        is_followed: bool,
    ) -> anyhow::Result<Task> {
        let header = self.header(&listed.input, documents)?;
        let (partial, mut records) = match self.begun(&listed) {
            Some(output) => {
                let (partial, records) = Partial::open(output, &header, true)?;
                (Some(partial), records)
            }
            None => (None, Vec::new()),
        };
        let sentences = documents.iter().map(Vec::len).sum();
        records.truncate(sentences);
        if !records.is_empty() {
            self.tell(&format!("{} of {sentences} sentences are already finished", records.len()));
        }
        self.bar.inc(records.len() as u64);
        let documents = first..first + documents.len();
        let is_followed = is_followed && listed.output.is_none();
        let at = (first, 0);
        Ok(Task { listed, header, layout, documents, sentences, at, records, partial, is_followed })
    }

    fn translate_together(
        &self,
        documents: &[Vec<String>],
        mut tasks: VecDeque<Task>,
        writer: &Writer<'_>,
    ) -> anyhow::Result<()> {
        let records = tasks.iter().flat_map(|task| &task.records);
        let known: Vec<String> = records
            .map(|record| record.translation.as_ref().unwrap_or(&record.text).clone())
            .collect();
        let done = |count: usize| self.bar.inc(count as u64);
        let how = DocumentSettings {
            context: self.arguments.context_size,
            known: &known,
            control: Control {
                done: &done,
                attention: matches!(self.mode, Mode::Json | Mode::Explain),
                ..Control::default()
            },
        };
        let mut take = |document: usize, translation: Translation| -> anyhow::Result<()> {
            self.write_complete(documents, &mut tasks, writer)?;
            let task = tasks.front_mut().context("more translations than sentences")?;
            self.add(task, documents, document, translation)
        };
        self.translator.translate_in_order(documents, self.settings, &how, &mut take)?;
        self.write_complete(documents, &mut tasks, writer)
    }

    /// Adds the next sentence of a file.
    fn add(
        &self,
        task: &mut Task,
        documents: &[Vec<String>],
        document: usize,
        translation: Translation,
    ) -> anyhow::Result<()> {
        let number = task.records.len();
        while task.at.0 < document {
            task.at = (task.at.0 + 1, task.at.1 + documents[task.at.0].len());
        }
        let index = number - task.at.1;
        let name = match &task.layout {
            Layout::Corpus(corpus) => &corpus.documents[document - task.documents.start].id,
            Layout::Prose(..) => "1",
        };
        let source = &documents[document][index];
        let place = Place { document: name, index, number, source };
        let mut record = record(self.mode, &place, &translation, self.translator);
        if self.translator.model().config().target_context {
            record.translation = Some(translation.into_text());
        }
        // Only an output that is a file has a partial file beside it. Opened now, so that only one
        // is open at a time.
        if let (None, Some(output)) = (&task.partial, &task.listed.output)
            && output.is_file()
        {
            task.partial = Some(Partial::open(output.path(), &task.header, false)?.0);
        }
        if let Some(partial) = &mut task.partial {
            partial.push(&record)?;
        }
        task.records.push(record);
        Ok(())
    }

    /// Writes the files at the front that are complete.
    fn write_complete(
        &self,
        documents: &[Vec<String>],
        tasks: &mut VecDeque<Task>,
        writer: &Writer<'_>,
    ) -> anyhow::Result<()> {
        while let Some(task) = tasks.pop_front_if(|task| task.records.len() == task.sentences) {
            self.write(task, documents, writer)?;
        }
        Ok(())
    }

    fn write(
        &self,
        task: Task,
        documents: &[Vec<String>],
        writer: &Writer<'_>,
    ) -> anyhow::Result<()> {
        let own = &documents[task.documents.clone()];
        let mut bytes = put_together(&task, own, self.mode)?;
        self.report(&task.listed.input, &task.layout, own, &task.records);
        let Listed { output, record, .. } = task.listed;
        if let Some(output) = output {
            let (header, partial) = (task.header, task.partial);
            return writer.write(Complete { output, record, header, bytes, partial });
        }
        // The next file starts on a new line.
        if task.is_followed && bytes.last().is_some_and(|&byte| byte != b'\n') {
            bytes.push(b'\n');
        }
        let mut out = std::io::stdout().lock();
        out.write_all(&bytes)?;
        Ok(out.flush()?)
    }

    /// Lists sentences that were translated in parts or may lack their end, with line numbers.
    fn report(&self, input: &Path, layout: &Layout, documents: &[Vec<String>], records: &[Record]) {
        let places = documents.iter().enumerate();
        let places =
            places.flat_map(|(document, d)| (0..d.len()).map(move |index| (document, index)));
        let noted: Vec<_> =
            places.zip(records).filter_map(|(place, r)| Some((place, r.note.as_ref()?))).collect();
        for ((document, index), note) in noted.iter().take(LISTED_NOTES) {
            let line = match layout {
                Layout::Corpus(corpus) => corpus.line(*document, *index),
                Layout::Prose(prose, _) => prose.line(*index),
            };
            let line = line.unwrap_or(index + 1);
            self.tell(&format!("note: {}:{line}: {note}", input.display()));
        }
        if noted.len() > LISTED_NOTES {
            let more = noted.len() - LISTED_NOTES;
            self.tell(&format!("note: {more} more sentences like these"));
        }
    }

    fn tell(&self, text: &str) {
        if !self.arguments.quiet {
            self.bar.suspend(|| tell!("{text}"));
        }
    }
}

impl Content {
    fn read(arguments: &Translate, input: &Path) -> anyhow::Result<Self> {
        if arguments.segment {
            return Ok(Self::Text(read_text(input)?));
        }
        let input = inputs::input(arguments, input);
        Ok(Self::Corpus(read(&input)?))
    }
}

impl Layout {
    fn into_content(self) -> Content {
        match self {
            Self::Corpus(corpus) => Content::Corpus(corpus),
            Self::Prose(_, text) => Content::Text(text),
        }
    }
}

fn put_together(task: &Task, documents: &[Vec<String>], mode: Mode) -> anyhow::Result<Vec<u8>> {
    let records = &task.records;
    if mode != Mode::Text {
        return Ok(records.iter().flat_map(|record| record.text.bytes()).collect());
    }
    let mut texts = records.iter().map(|record| record.text.clone());
    let translations: Vec<Vec<String>> =
        documents.iter().map(|d| texts.by_ref().take(d.len()).collect()).collect();
    match &task.layout {
        Layout::Corpus(corpus) => {
            let mut bytes = Vec::new();
            corpus.write_translation(&translations, &mut bytes)?;
            Ok(bytes)
        }
        Layout::Prose(prose, _) => {
            Ok(prose.put_together(translations.first().map_or(&[][..], Vec::as_slice)).into_bytes())
        }
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
