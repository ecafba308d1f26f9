//! Compares every number that the published implementation computes for a batch.
//!
//! See `tests/fixtures/README.md`. With `ABRIDGE_PARITY_DIR` set, every case of that directory is
//! run instead of the committed ones.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abridge_model::config::{
    CategoriserConfig, Context, Normaliser, PoolingConfig, ShortenerConfig,
};
use abridge_model::tokens::{END, PAD};
use abridge_model::weights::{FairseqCheckpoint, TensorFile};
use abridge_model::{
    Batch, DeviceKind, Dropout, Encoded, Example, Model, ModelConfig, ModelSize, Packed, Preset,
    Purpose, SentenceInContext, SourceBatch,
};
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Gradients, Tensor};
use serde_json::Value;

#[test]
fn every_case_equals_the_published_implementation() {
    let folder = std::env::var_os("ABRIDGE_PARITY_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/parity"),
        PathBuf::from,
    );
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no case in {}", folder.display());
    for case in cases {
        let name = case.file_stem().unwrap().to_string_lossy().into_owned();
        eprintln!("{name}");
        Case::read(&case).check();
    }
}

struct Case {
    name: String,
    json: Value,
    weights: PathBuf,
    config: ModelConfig,
}

impl Case {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let json: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let config = config_of(&json);
        Self { name, json, weights: path.with_extension("safetensors"), config }
    }

    fn check(&self) {
        let device = DeviceKind::under_test().open().unwrap().autodiff();
        let checkpoint = FairseqCheckpoint::open(&self.weights).unwrap();
        self.check_inferred(&checkpoint);
        let model = checkpoint.load(&self.config, &device).unwrap();

        let batch = self.batch(Purpose::Training);
        self.check_outputs(&model, &batch);
        self.check_intermediate(&model, &batch);
        let gradients = self.check_loss(&model, &batch);
        self.check_gradients(&model, &gradients);
        self.check_optimiser_step(model.clone(), &gradients, &batch);
        self.check_mirrored_order(&model);
        self.check_cached(&model);
    }

    /// Sizes that are in the weights need not be given.
    fn check_inferred(&self, checkpoint: &FairseqCheckpoint) {
        let preset = preset_of(&self.json);
        let inferred =
            checkpoint.infer(preset, self.config.heads, self.config.context_size).unwrap();
        let mut expected = self.config.clone();
        if let (Some(ShortenerConfig::Pooling(_)), false) =
            (expected.shortener, preset == Preset::PoolingLinear)
        {
            // The window of an average or a maximum does not show in the weights.
            expected.shortener = inferred.shortener;
        }
        if expected.context != Context::Memory {
            expected.max_positions = inferred.max_positions;
        }
        assert_eq!(inferred, expected, "{}", self.name);
    }

    /// Each example's history and source, as a separate document.
    fn batch(&self, purpose: Purpose) -> Batch {
        let mut sentences: Vec<Vec<u32>> = Vec::new();
        let mut examples = Vec::new();
        let mut targets = Vec::new();
        for example in self.json["examples"].as_array().unwrap() {
            let first = sentences.len();
            let history = example["history"].as_array().unwrap();
            sentences.extend(history.iter().map(sentence));
            sentences.push(sentence(&example["src"]));
            targets.push(sentence(&example["tgt"]));
            let slots = self.config.layout(purpose).positions(history.len());
            let context = slots.iter().map(|slot| slot.map(|slot| first + slot)).collect();
            examples.push(Example { source: sentences.len() - 1, context });
        }
        let source = SourceBatch {
            sentences: Packed::new(sentences),
            translations: Packed::default(),
            examples,
        };
        Batch { source, targets: Packed::new(targets) }
    }

    fn check_outputs(&self, model: &Model, batch: &Batch) {
        let logits = model.forward(batch, &mut Dropout::off()).unwrap();
        let expected = unpadded(&self.json["outputs"]["logits"], &self.target_mask());
        close(&self.name, "logits", &values(&logits), &expected, 2e-5);
        let log_probabilities = log_softmax(logits, 1);
        let expected = unpadded(&self.json["outputs"]["log_probs"], &self.target_mask());
        close(&self.name, "log_probs", &values(&log_probabilities), &expected, 2e-5);
        self.check_contrastive_scores(batch, &log_probabilities);
    }

    fn check_contrastive_scores(&self, batch: &Batch, log_probabilities: &Tensor<2>) {
        let vocabulary = self.config.target_vocabulary;
        let all = values(log_probabilities);
        let scores: Vec<f64> = batch
            .targets
            .segments()
            .ranges()
            .map(|range| {
                let length = range.len() as f64;
                let tokens =
                    range.map(|row| all[row * vocabulary + batch.targets.tokens()[row] as usize]);
                tokens.sum::<f64>() / length
            })
            .collect();
        let expected = floats(&self.json["contrastive_scores"]);
        close(&self.name, "contrastive_scores", &scores, &expected, 1e-5);
    }

    fn check_intermediate(&self, model: &Model, batch: &Batch) {
        let Encoded { states, context, visible } = model.encode(&batch.source, &mut Dropout::off());
        let context = context.map(|context| context.rows());
        let intermediate = &self.json["intermediate"];
        let rows = |tensor: &Tensor<2>, range: &std::ops::Range<usize>| {
            values(&tensor.clone().narrow(0, range.start, range.len()))
        };
        for (index, visible) in visible.iter().enumerate() {
            let mut ours = Vec::new();
            if self.config.context == Context::MultiEncoder {
                // The published implementation puts the second encoder's states first.
                ours.extend(rows(context.as_ref().unwrap(), &visible.context[0].rows));
            }
            ours.extend(rows(&states, &visible.source[0].rows));
            let mask = booleans(&intermediate["encoder_padding_mask"][index]);
            let expected = unpadded_rows(&intermediate["encoder_out"][index], &mask);
            close(&self.name, "encoder_out", &ours, &expected, 2e-5);
        }
        if self.config.context != Context::Memory {
            return;
        }
        for (index, visible) in visible.iter().enumerate() {
            assert_eq!(visible.context.len(), self.config.memory_slots());
            for block in &visible.context {
                let slot = block.slot.unwrap();
                let mask = booleans(&intermediate["context_padding_mask"][slot][index]);
                let expected = unpadded_rows(&intermediate["context_out"][slot][index], &mask);
                let ours = rows(context.as_ref().unwrap(), &block.rows);
                close(&self.name, &format!("context_out, slot {slot}"), &ours, &expected, 2e-5);
            }
        }
        self.check_groups(model, batch);
    }

    fn check_groups(&self, model: &Model, batch: &Batch) {
        let groups = &self.json["intermediate"]["groups"];
        if !matches!(
            self.config.shortener,
            Some(ShortenerConfig::Grouping(_) | ShortenerConfig::Selecting(_))
        ) {
            assert!(groups.as_array().is_none_or(Vec::is_empty), "{}: groups", self.name);
            return;
        }
        let weights_of = |tokens: &[u32]| {
            let readings = model.read(&Packed::new([tokens])).unwrap();
            let entry = readings[0].remembered.entry.as_ref().unwrap();
            values(entry.weights.as_ref().unwrap())
        };
        let sentences = &batch.source.sentences;
        for (index, example) in batch.source.examples.iter().enumerate() {
            let context = example
                .context
                .iter()
                .map(|slot| slot.map_or(vec![END], |sentence| sentences.get(sentence).to_vec()));
            let own = std::iter::once(sentences.get(example.source).to_vec());
            for (slot, tokens) in context.chain(own).enumerate() {
                let expected = floats(&groups[slot][index]);
                let ours = weights_of(&tokens);
                close(&self.name, "groups", &ours, &expected[..ours.len()], 2e-5);
            }
        }
    }

    fn check_loss(&self, model: &Model, batch: &Batch) -> Gradients {
        let smoothing = self.json["config"]["label_smoothing"].as_f64().unwrap();
        let loss = model.loss(batch, smoothing, &mut Dropout::off()).unwrap();
        assert_eq!(loss.tokens as u64, self.json["inputs"]["ntokens"].as_u64().unwrap());
        relative(&self.name, "loss_sum", scalar(&loss.smoothed), &self.json["loss_sum"], 1e-5);
        relative(&self.name, "nll_sum", scalar(&loss.likelihood), &self.json["nll_sum"], 1e-5);
        (loss.smoothed / loss.tokens as f64).backward()
    }

    fn check_gradients(&self, model: &Model, gradients: &Gradients) {
        let file = self.weights.with_extension("grads.safetensors");
        let expected = TensorFile::open(&file).unwrap();
        let ours = model.gradients(gradients);
        let mut squares = 0.0;
        for gradient in &ours {
            let theirs = expected.read(&gradient.fairseq_name).unwrap();
            let theirs: Vec<f64> = theirs.iter().map(|&x| f64::from(x)).collect();
            squares += gradient.values.iter().map(|x| x * x).sum::<f64>();
            let largest = theirs.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            // The gradient of a key's bias is zero (a constant added to all scores changes no
            // softmax), so both compute only rounding errors there, below the floor. Those of other
            // devices are larger than the CPU's.
            let floor = if DeviceKind::under_test() == DeviceKind::Cpu { 1e-3 } else { 1e-2 };
            let tolerance = 1e-4 * largest.max(floor);
            close(&self.name, &gradient.fairseq_name, &gradient.values, &theirs, tolerance);
        }
        assert_eq!(ours.len(), expected.names().count(), "{}: number of gradients", self.name);
        relative(&self.name, "grad_norm", squares.sqrt(), &self.json["grad_norm"], 1e-4);
    }

    fn check_optimiser_step(&self, model: Model, gradients: &Gradients, batch: &Batch) {
        let ours = model.gradients(gradients);
        let norm = ours.iter().flat_map(|g| &g.values).map(|x| x * x).sum::<f64>().sqrt();
        let mut step = FirstAdamStep { gradients, scale: (0.1 / (norm + 1e-6)).min(1.0) };
        let model = model.map(&mut step);
        let smoothing = self.json["config"]["label_smoothing"].as_f64().unwrap();
        let loss = model.loss(batch, smoothing, &mut Dropout::off()).unwrap();
        let expected = &self.json["loss_sum_after_one_step_lr5e-4_clip0.1_wd1e-4"];
        relative(&self.name, "loss after one step", scalar(&loss.smoothed), expected, 1e-4);
    }

    /// The published translation and scoring scripts fill the slots the other way round.
    fn check_mirrored_order(&self, model: &Model) {
        let mirrored = &self.json["authors_inference_order"];
        if mirrored.is_null() {
            assert_ne!(self.config.context, Context::Memory, "{}", self.name);
            return;
        }
        let batch = self.batch(Purpose::Inference);
        let smoothing = self.json["config"]["label_smoothing"].as_f64().unwrap();
        let loss = model.loss(&batch, smoothing, &mut Dropout::off()).unwrap();
        relative(&self.name, "mirrored loss", scalar(&loss.smoothed), &mirrored["loss_sum"], 1e-5);
        let logits = model.forward(&batch, &mut Dropout::off()).unwrap();
        let expected = unpadded(&mirrored["log_probs"], &self.target_mask());
        close(&self.name, "mirrored", &values(&log_softmax(logits, 1)), &expected, 2e-5);
    }

    /// Reading sentence by sentence into a memory gives the same result.
    fn check_cached(&self, model: &Model) {
        if matches!(self.config.shortener, Some(ShortenerConfig::Mean)) {
            // As published, its mean depends on the batch's padding; alone there is none.
            return;
        }
        let batch = self.batch(Purpose::Training);
        let readings = model.read(&batch.source.sentences).unwrap();
        let in_context: Vec<SentenceInContext<'_>> = batch
            .source
            .examples
            .iter()
            .map(|example| SentenceInContext {
                reading: &readings[example.source],
                context: example
                    .context
                    .iter()
                    .map(|slot| slot.map(|sentence| &readings[sentence].remembered))
                    .collect(),
            })
            .collect();
        let sources = model.sources_from_memory(&in_context).unwrap();
        let logits = model.score_targets(&batch.targets, &sources).unwrap();
        let expected = unpadded(&self.json["outputs"]["logits"], &self.target_mask());
        close(&self.name, "logits from memory", &values(&logits), &expected, 2e-5);
    }

    fn target_mask(&self) -> Vec<Vec<bool>> {
        let inputs = self.json["inputs"]["prev_output_tokens"].as_array().unwrap();
        inputs.iter().map(|row| tokens(row).iter().map(|&token| token == PAD).collect()).collect()
    }
}

fn preset_of(json: &Value) -> Preset {
    match json["model"].as_str().unwrap() {
        "short_avg" => Preset::PoolingAvg,
        "short_max" => Preset::PoolingMax,
        "short_linear" => Preset::PoolingLinear,
        name => name.replace('_', "-").parse().unwrap(),
    }
}

fn config_of(json: &Value) -> ModelConfig {
    let config = &json["config"];
    let size = |name: &str| config[name].as_u64().unwrap() as usize;
    let context_size = size("context_size");
    let preset = preset_of(json);
    let categoriser = |groups| CategoriserConfig {
        groups,
        hidden: size("categorizer_hidden"),
        normaliser: Normaliser::Sparsemax,
    };
    let base = preset.config(ModelSize::Tiny, size("src_vocab"), size("tgt_vocab"), context_size);
    let shortener = base.shortener.map(|shortener| match shortener {
        ShortenerConfig::Pooling(pooling) => {
            ShortenerConfig::Pooling(PoolingConfig { window: size("k_pool"), ..pooling })
        }
        ShortenerConfig::Grouping(_) => ShortenerConfig::Grouping(categoriser(size("k_group"))),
        ShortenerConfig::Selecting(_) => ShortenerConfig::Selecting(categoriser(size("k_select"))),
        other => other,
    });
    ModelConfig {
        width: size("d_model"),
        heads: size("heads"),
        feed_forward: size("ffn"),
        encoder_layers: size("enc_layers"),
        decoder_layers: size("dec_layers"),
        max_positions: size("max_positions"),
        shortener,
        as_published: true,
        ..base
    }
}

/// The first update of the published optimiser: decoupled decay, then Adam.
struct FirstAdamStep<'a> {
    gradients: &'a Gradients,
    scale: f64,
}

impl ModuleMapper for FirstAdamStep<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        const RATE: f64 = 5e-4;
        const DECAY: f64 = 1e-4;
        const BETAS: (f64, f64) = (0.9, 0.98);
        let gradient = param.val().grad(self.gradients);
        param.map(|value| {
            let decayed = value.clone().detach() * (1.0 - RATE * DECAY);
            let updated = match gradient {
                None => decayed,
                Some(gradient) => {
                    let gradient = Tensor::from_inner(gradient.without_autodiff()) * self.scale;
                    let mean = gradient.clone() * (1.0 - BETAS.0);
                    let spread = (gradient.square() * (1.0 - BETAS.1)).sqrt() + 1e-8;
                    let step = RATE * (1.0 - BETAS.1).sqrt() / (1.0 - BETAS.0);
                    decayed - mean / spread * step
                }
            };
            updated.detach().require_grad()
        })
    }
}

struct NamedGradient {
    fairseq_name: String,
    values: Vec<f64>,
}

trait ModelGradients {
    fn gradients(&self, gradients: &Gradients) -> Vec<NamedGradient>;
}

impl ModelGradients for Model {
    /// Gradients by fairseq name, in fairseq's layout.
    fn gradients(&self, gradients: &Gradients) -> Vec<NamedGradient> {
        let mut collect = CollectGradients { gradients, by_id: BTreeMap::new() };
        self.visit(&mut collect);
        let named = self.parameters().into_iter().map(|parameter| {
            let (shape, mut values) = collect.by_id.remove(&parameter.id.val()).unwrap();
            assert_eq!(shape, parameter.shape);
            let fairseq_name = FairseqCheckpoint::name_of(&parameter);
            if FairseqCheckpoint::is_transposed(&parameter) {
                let (rows, columns) = (shape[0], shape[1]);
                values =
                    (0..rows * columns).map(|i| values[(i % rows) * columns + i / rows]).collect();
            }
            NamedGradient { fairseq_name, values }
        });
        named.collect()
    }
}

struct CollectGradients<'a> {
    gradients: &'a Gradients,
    by_id: BTreeMap<u64, (Vec<usize>, Vec<f64>)>,
}

impl burn::module::ModuleVisitor for CollectGradients<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = param.val();
        let shape = value.dims().to_vec();
        let gradient = value.grad(self.gradients);
        let values = match gradient {
            Some(gradient) => gradient.into_data().iter::<f64>().collect(),
            None => vec![0.0; shape.iter().product()],
        };
        self.by_id.insert(param.id.val(), (shape, values));
    }
}

fn sentence(value: &Value) -> Vec<u32> {
    let mut tokens = tokens(value);
    tokens.push(END);
    tokens
}

fn tokens(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|token| token.as_u64().unwrap() as u32).collect()
}

/// All numbers of nested lists, in order.
fn floats(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(floats).collect(),
        Value::Number(number) => vec![number.as_f64().unwrap()],
        other => panic!("not a number: {other}"),
    }
}

fn booleans(value: &Value) -> Vec<bool> {
    value.as_array().unwrap().iter().map(|flag| flag.as_bool().unwrap()).collect()
}

/// The rows of `[batch][time][…]` that are not masked.
fn unpadded(value: &Value, mask: &[Vec<bool>]) -> Vec<f64> {
    let examples = value.as_array().unwrap().iter().zip(mask);
    examples.flat_map(|(example, mask)| unpadded_rows(example, mask)).collect()
}

fn unpadded_rows(value: &Value, mask: &[bool]) -> Vec<f64> {
    let rows = value.as_array().unwrap().iter().zip(mask);
    rows.filter(|(_, masked)| !**masked).flat_map(|(row, _)| floats(row)).collect()
}

fn values<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.to_data().iter::<f64>().collect()
}

fn scalar(tensor: &Tensor<1>) -> f64 {
    f64::from(tensor.clone().into_scalar::<f32>())
}

fn close(case: &str, what: &str, ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len(), "{case}: {what}: number of values");
    let worst = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "{case}: {what}: off by {worst:e}, allowed {tolerance:e}");
}

fn relative(case: &str, what: &str, ours: f64, theirs: &Value, tolerance: f64) {
    let theirs = theirs.as_f64().unwrap();
    let off = ((ours - theirs) / theirs).abs();
    assert!(off <= tolerance, "{case}: {what}: {ours} against {theirs}, off by {off:e}");
}
