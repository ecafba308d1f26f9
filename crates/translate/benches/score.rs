//! Sentences per second of scoring, compared with the previous implementation: every context
//! sentence encoded again for every request, and the logits of all words written out.
//!
//! ```text
//! cargo bench -p abridge-translate --bench score                        # size small, C = 1 and 10
//! cargo bench -p abridge-translate --bench score -- --size base --sentences 100
//! cargo bench -p abridge-translate --bench score -- --preset grouping,caching-tokens --context-size 3
//! ```
//!
//! Networks have random weights; the text is from the built-in practice corpus, in documents of
//! twenty sentences, and each sentence has one candidate, as in `abridge score`. Both
//! implementations have the same number of single-threaded workers, run in turn, and must agree on
//! every score.

use std::sync::Mutex;
use std::time::Instant;

use abridge_corpus::Tokenizer;
use abridge_corpus::practice::{PracticeConfig, generate};
use abridge_corpus::tokenizer::{TrainSettings, count_words};
use abridge_model::tokens::END;
use abridge_model::{Batch, Dropout, Example, ModelSize, Packed, Preset, SourceBatch};
use abridge_translate::{ScoreRequest, Translator};
use burn::tensor::Device;
use burn::tensor::activation::log_softmax;

/// Sentences per document.
const DOCUMENT: usize = 20;
/// Practice sentences are short; this many are as long as a sentence of a talk.
const TOGETHER: usize = 2;
/// How often each implementation is timed; the fastest counts.
const ROUNDS: usize = 3;
/// Requests per batch of the old implementation: about 1,500 target tokens.
const OLD_BATCH: usize = 60;

fn main() {
    let mut size = ModelSize::Small;
    let mut presets = vec![Preset::Grouping];
    let mut contexts = vec![1, 10];
    let mut sentences = 200;
    let mut vocabulary = 19_804;
    let mut threads = 2;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("the option needs a value");
        match argument.as_str() {
            "--size" => size = value().parse().expect("base, small or tiny"),
            "--preset" => presets = list(&value()),
            "--context-size" => contexts = list(&value()),
            "--sentences" => sentences = value().parse().expect("a number"),
            "--vocabulary" => vocabulary = value().parse().expect("a number"),
            "--threads" => threads = value().parse().expect("a number"),
            // `cargo bench` adds it.
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    let lines = lines(sentences);
    let settings = TrainSettings { vocabulary_size: 400, ..TrainSettings::default() };
    let tokenizer =
        Tokenizer::train(&count_words(&lines, 1), settings, &mut |_| {}).expect("enough text");
    println!("{:<16} {:>3} {:>14} {:>14} {:>7}", "preset", "C", "before, 1/s", "now, 1/s", "ratio");
    for &preset in &presets {
        for &context in &contexts {
            let config = preset.config(size, vocabulary, vocabulary, context);
            let model = config.init(1, &Device::flex()).expect("a network");
            let (source, target) = (tokenizer.clone(), tokenizer.clone());
            let translator = Translator::new(model, source, target, "random")
                .and_then(|translator| translator.with_threads(threads))
                .expect("threads");
            let requests: Vec<ScoreRequest<'_>> = (0..lines.len())
                .map(|number| ScoreRequest {
                    source: &lines[number],
                    context: &lines[number / DOCUMENT * DOCUMENT..number],
                    context_translations: &[],
                    shown: None,
                    candidates: &lines[number..=number],
                })
                .collect();
            // Weights are initialised on first use.
            translator.score(&requests[..1], &|_| {}).expect("scores");
            let (mut before, mut now) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..ROUNDS {
                let start = Instant::now();
                let old = old_way(&translator, &requests, threads);
                before = before.min(start.elapsed().as_secs_f64());
                let start = Instant::now();
                let new = translator.score(&requests, &|_| {}).expect("scores");
                now = now.min(start.elapsed().as_secs_f64());
                for (old, new) in old.iter().zip(&new) {
                    assert!((old - new[0].mean()).abs() < 1e-4, "{old} became {}", new[0].mean());
                }
            }
            let count = requests.len() as f64;
            println!(
                "{:<16} {context:>3} {:>14.1} {:>14.1} {:>7.2}",
                preset.name(),
                count / before,
                count / now,
                before / now
            );
        }
    }
}

fn list<T: std::str::FromStr>(text: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    text.split(',').map(|item| item.parse().expect("a known name or number")).collect()
}

fn lines(count: usize) -> Vec<String> {
    let practice = generate(&PracticeConfig::default()).expect("the practice corpus");
    let segments = practice.train.into_iter().flat_map(|document| document.segments);
    let sentences: Vec<String> =
        segments.map(|segment| segment.source).take(count * TOGETHER).collect();
    sentences.chunks(TOGETHER).map(|chunk| chunk.join(" ")).collect()
}

/// The mean log-probability of each request's candidate.
fn old_way(translator: &Translator, requests: &[ScoreRequest<'_>], threads: usize) -> Vec<f64> {
    let mut means = vec![0.0; requests.len()];
    let queue = Mutex::new(requests.chunks(OLD_BATCH).zip(means.chunks_mut(OLD_BATCH)));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                pool.expect("a thread").install(|| {
                    loop {
                        let next = queue.lock().expect("no panic").next();
                        let Some((requests, means)) = next else { break };
                        means.copy_from_slice(&old_batch(translator, requests));
                    }
                });
            });
        }
    });
    means
}

fn old_batch(translator: &Translator, requests: &[ScoreRequest<'_>]) -> Vec<f64> {
    let encode = |text: &String| {
        let mut tokens = translator.source().encode(text);
        tokens.push(END);
        tokens
    };
    let layout = translator.layout();
    let mut sentences = Vec::new();
    let mut examples = Vec::new();
    let mut targets = Vec::new();
    for request in requests {
        let first = sentences.len();
        let past = request.context.len().min(layout.context_size);
        sentences.extend(request.context[request.context.len() - past..].iter().map(encode));
        sentences.push(encode(&request.source.to_owned()));
        let context = layout.context(|back| (back <= past).then(|| first + past - back));
        examples.push(Example { source: first + past, context });
        targets.push(encode(&request.candidates[0]));
    }
    let (sentences, translations) = (Packed::new(sentences), Packed::default());
    let source = SourceBatch { sentences, translations, examples };
    let batch = Batch { source, targets: Packed::new(targets) };
    let logits = translator.model().forward(&batch, &mut Dropout::off()).expect("a batch");
    let [_, vocabulary] = logits.dims();
    let all: Vec<f32> = log_softmax(logits, 1).into_data().iter::<f32>().collect();
    let tokens = batch.targets.tokens();
    let score = |row: usize| f64::from(all[row * vocabulary + tokens[row] as usize]);
    let ranges = batch.targets.segments().ranges();
    ranges.map(|range| range.clone().map(score).sum::<f64>() / range.len() as f64).collect()
}
