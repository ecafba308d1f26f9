//! Translation speed in tokens and sentences per second.
//!
//! ```text
//! cargo bench -p abridge-translate --bench translate                    # size small, some minutes
//! cargo bench -p abridge-translate --bench translate -- --size base --sentences 64
//! cargo bench -p abridge-translate --bench translate -- --preset grouping --context-size 0,1,3,10 --beam 1
//! cargo bench -p abridge-translate --bench translate -- --model runs/grouping/model --text talk.en
//! cargo bench -p abridge-translate --bench translate -- --size base --preset sentence --export exported
//! cargo bench -p abridge-translate --bench translate -- --model exported/int8 --length 25  # what quantize made of it
//! cargo bench -p abridge-translate --bench translate -- --model sentence/model --text talk.en --export exported
//! ```
//!
//! Without `--model` the networks have random weights, which never end a sentence, so every
//! translation gets the mean length of the sources: the work is that of real text. The text is from
//! the built-in practice corpus, in documents of twenty sentences. `--export DIR` writes the
//! sentences for `beside_ctranslate2.py`, and the model directory unless one is given.

use std::path::{Path, PathBuf};
use std::time::Instant;

use abridge_corpus::practice::{PracticeConfig, generate};
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_corpus::{Input, Tokenizer, read};
use abridge_model::weights::ModelDirectory;
use abridge_model::{Model, ModelSize, Preset};
use abridge_translate::{BeamSettings, Control, DocumentSettings, Error, Translator};
use burn::tensor::Device;

/// Sentences per document.
const DOCUMENT: usize = 20;
/// Practice sentences are short; this many are as long as a sentence of a talk.
const TOGETHER: usize = 2;

struct Options {
    size: ModelSize,
    presets: Vec<Preset>,
    contexts: Vec<usize>,
    beams: Vec<usize>,
    batches: Vec<usize>,
    threads: Vec<usize>,
    /// The vocabulary size; by default the paper's for English-German.
    vocabulary: usize,
    sentences: usize,
    model: Option<PathBuf>,
    text: Option<PathBuf>,
    /// The length of every translation, for models that never end one.
    length: Option<usize>,
    export: Option<PathBuf>,
}

impl Options {
    fn parse() -> Self {
        let mut options = Self {
            size: ModelSize::Small,
            presets: Preset::ALL.to_vec(),
            contexts: vec![1, 3],
            beams: vec![1, 5],
            batches: vec![1, 32],
            threads: vec![1, 2],
            vocabulary: 19_804,
            sentences: 100,
            model: None,
            text: None,
            length: None,
            export: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().expect("the option needs a value");
            match argument.as_str() {
                "--size" => options.size = value().parse().expect("base, small or tiny"),
                "--preset" => options.presets = list(&value()),
                "--context-size" => options.contexts = list(&value()),
                "--beam" => options.beams = list(&value()),
                "--batch" => options.batches = list(&value()),
                "--threads" => options.threads = list(&value()),
                "--vocabulary" => options.vocabulary = value().parse().expect("a number"),
                "--sentences" => options.sentences = value().parse().expect("a number"),
                "--model" => options.model = Some(value().into()),
                "--text" => options.text = Some(value().into()),
                "--length" => options.length = Some(value().parse().expect("a number")),
                "--export" => options.export = Some(value().into()),
                // `cargo bench` adds it.
                "--bench" => {}
                other => panic!("unknown option {other}"),
            }
        }
        options
    }
}

fn list<T: std::str::FromStr>(text: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    text.split(',').map(|item| item.parse().expect("a known name or number")).collect()
}

fn main() {
    let options = Options::parse();
    let lines = lines(&options);
    let documents: Vec<Vec<String>> = lines.chunks(DOCUMENT).map(<[String]>::to_vec).collect();
    if options.export.is_none() {
        println!(
            "{:<16} {:>2} {:>4} {:>5} {:>7} {:>11} {:>9} {:>15}",
            "preset", "C", "beam", "batch", "threads", "sentences/s", "tokens/s", "CPU ms/sentence"
        );
    }
    if let Some(path) = &options.model {
        let translator = Translator::open(path, &Device::flex()).expect("a model directory");
        if let Some(folder) = &options.export {
            export_sentences(folder, translator.source(), &lines, options.length);
            return;
        }
        let context = translator.model().config().context_size;
        rows(&options, "model", context, translator, &documents, options.length);
        return;
    }
    let tokenizer = tokenizer(&lines);
    let tokens: usize = lines.iter().map(|line| tokenizer.encode(line).len()).sum();
    let length = options.length.unwrap_or(tokens / lines.len().max(1));
    for &preset in &options.presets {
        let contexts = if preset == Preset::Sentence { vec![0] } else { options.contexts.clone() };
        for context in contexts {
            let words = options.vocabulary;
            let config = preset.config(options.size, words, words, context);
            let Ok(model) = config.init(1, &Device::flex()) else { continue };
            if let Some(folder) = &options.export {
                export(folder, &model, &tokenizer, &lines, length);
                return;
            }
            let (source, target) = (tokenizer.clone(), tokenizer.clone());
            let translator = Translator::new(model, source, target, "random").expect("threads");
            rows(&options, preset.name(), context, translator, &documents, Some(length));
        }
    }
}

/// The text: lines of a file, or practice sentences joined to a realistic length.
fn lines(options: &Options) -> Vec<String> {
    if let Some(path) = &options.text {
        let corpus = read(&Input::new(path)).expect("a text");
        let segments = corpus.documents.into_iter().flat_map(|document| document.segments);
        return segments.map(|segment| segment.source).take(options.sentences).collect();
    }
    let practice = generate(&PracticeConfig::default()).expect("the practice corpus");
    let sentences: Vec<String> = practice
        .train
        .into_iter()
        .flat_map(|document| document.segments)
        .map(|segment| segment.source)
        .take(options.sentences * TOGETHER)
        .collect();
    sentences.chunks(TOGETHER).map(|chunk| chunk.join(" ")).collect()
}

fn tokenizer(lines: &[String]) -> Tokenizer {
    let settings = TrainSettings { vocabulary_size: 400, ..TrainSettings::default() };
    Tokenizer::train(&count_words(lines, 1), settings, &mut |_| {}).expect("enough text")
}

fn rows(
    options: &Options,
    name: &str,
    context: usize,
    mut translator: Translator,
    documents: &[Vec<String>],
    length: Option<usize>,
) {
    for &threads in &options.threads {
        translator = translator.with_threads(threads).expect("threads");
        // Weights are initialised on first use.
        time(&translator, &[documents[0][..1].to_vec()], 1, 1, length);
        for &beam in &options.beams {
            for &batch in &options.batches {
                let before = cpu_seconds();
                let (seconds, tokens) = time(&translator, documents, beam, batch, length);
                let cpu = cpu_seconds() - before;
                let sentences = documents.iter().map(Vec::len).sum::<usize>() as f64;
                println!(
                    "{name:<16} {context:>2} {beam:>4} {batch:>5} {threads:>7} {:>11.1} {:>9.0} \
                     {:>15.1}",
                    sentences / seconds,
                    tokens as f64 / seconds,
                    1000.0 * cpu / sentences
                );
            }
        }
    }
}

/// The CPU time of this process so far, if known: unlike wall time, it depends little on what else
/// runs on the machine.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    if ticks.is_empty() { f64::NAN } else { ticks.iter().sum::<f64>() / 100.0 }
}

/// Translates everything once; returns seconds and target tokens.
fn time(
    translator: &Translator,
    documents: &[Vec<String>],
    beam: usize,
    batch: usize,
    length: Option<usize>,
) -> (f64, usize) {
    let mut settings = BeamSettings { beam, ..BeamSettings::default() };
    if let Some(length) = length {
        settings = BeamSettings { min_length: length, max_length: length, ..settings };
    }
    let control = Control { batch, ..Control::default() };
    let how = DocumentSettings { control, ..DocumentSettings::default() };
    let mut tokens = 0;
    let start = Instant::now();
    translator
        .translate_in_order(documents, &settings, &how, &mut |_, translation| {
            tokens += translation.hypotheses[0].tokens.len();
            Ok::<(), Error>(())
        })
        .expect("a translation");
    (start.elapsed().as_secs_f64(), tokens)
}

/// Writes what `beside_ctranslate2.py` needs: the model directory, and the sentences as ids.
fn export(folder: &Path, model: &Model, tokenizer: &Tokenizer, lines: &[String], length: usize) {
    export_sentences(folder, tokenizer, lines, Some(length));
    let attach = |folder: &Path| -> Result<(), abridge_model::Error> {
        tokenizer.save(folder, "source").expect("a tokenizer");
        tokenizer.save(folder, "target").expect("a tokenizer");
        Ok(())
    };
    ModelDirectory::write(&folder.join("model"), model, [].into(), attach).expect("a directory");
    println!("wrote {}; --length {length}", folder.display());
}

/// Writes the sentences as ids, and the length of every translation unless the model ends it.
fn export_sentences(folder: &Path, tokenizer: &Tokenizer, lines: &[String], length: Option<usize>) {
    std::fs::create_dir_all(folder).expect("a folder");
    let sentences: Vec<Vec<u32>> = lines.iter().map(|line| tokenizer.encode(line)).collect();
    let text = serde_json::json!({ "length": length, "sentences": sentences });
    std::fs::write(folder.join("sentences.json"), text.to_string()).expect("a file");
}
