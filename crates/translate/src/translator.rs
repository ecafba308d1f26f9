//! A translator: a model directory, ready to translate and to score documents.

use std::path::Path;
use std::sync::Arc;

use abridge_base::Workers;
use abridge_corpus::Tokenizer;
use abridge_corpus::tokenizer::{Encoder, TargetLanguages};
use abridge_model::Model;
use abridge_model::config::Context;
use abridge_model::lean::LeanDecoder;
use abridge_model::tokens::END;
use abridge_model::weights::{ModelDirectory, StoredIntegers, WeightPrecision};
use burn::tensor::Device;

use crate::settings::BeamSettings;
use crate::shortlist::Shortlist;
use crate::{Error, Result};

/// A network with its tokenizers.
#[derive(Debug)]
pub struct Translator {
    model: Model,
    /// Its CPU decoder.
    lean: Option<Arc<LeanDecoder>>,
    source: Tokenizer,
    target: Tokenizer,
    hash: String,
    languages: Option<(String, String)>,
    /// The context size in training, if the model has context.
    trained_context: Option<usize>,
    workers: Workers,
    precision: WeightPrecision,
    /// The shortlist of target words, if the model directory has one.
    shortlist: Option<Arc<Shortlist>>,
    /// The model's default search settings.
    search: BeamSettings,
    /// Whether a multilingual model may translate sentences without a target language.
    leaves_language_open: bool,
}

/// A network as translation uses it.
struct Network {
    model: Model,
    lean: Option<Arc<LeanDecoder>>,
    precision: WeightPrecision,
}

impl Network {
    fn new(model: Model, precision: WeightPrecision, integers: &StoredIntegers) -> Self {
        let (model, lean) = model.for_translation(precision, integers);
        Self { model, lean: lean.map(Arc::new), precision }
    }

    fn open(directory: &ModelDirectory, device: &Device) -> Result<Self> {
        let (model, integers) = directory.load_for_translation(device)?;
        Ok(Self::new(model, directory.precision()?, &integers))
    }
}

/// The result of a thread; propagates its panic.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Translator {
    /// Opens a model directory with its tokenizers; uses all cores.
    pub fn open(path: &Path, device: &Device) -> Result<Self> {
        Self::open_at(path, device, None)
    }

    /// As [`Self::open`], for a context size that may be larger than in training. Slots beyond
    /// those of the training have untrained segment embeddings, so translations may be worse; this
    /// is for measuring the cost of context.
    pub fn open_at(path: &Path, device: &Device, context: Option<usize>) -> Result<Self> {
        let mut directory = ModelDirectory::open(path)?;
        let trained = directory.config().context_size;
        let has_context = directory.config().context != Context::None;
        if let Some(context) = context.filter(|&context| has_context && context > trained) {
            directory = directory.with_context_size(context)?;
        }
        let languages = directory.provenance().get("languages");
        let languages = languages.and_then(|pair| pair.split_once('-'));
        let languages = languages.map(|(source, target)| (source.to_owned(), target.to_owned()));
        let config = directory.config();
        let vocabularies = [config.source_vocabulary, config.target_vocabulary];
        // A memory uses the files of the model below it, unless it has its own.
        let below = directory.below().map(ModelDirectory::path);
        let home = |file: &str| match below {
            Some(below) if !path.join(file).exists() => below,
            _ => path,
        };
        // Read in parallel, because the first translation waits for all of it.
        let (tokenizers, shortlist, network) = std::thread::scope(|scope| {
            let tokenizers = scope.spawn(|| Tokenizer::load_both(path));
            let list = home(crate::shortlist::FILE);
            let shortlist = scope.spawn(move || Shortlist::open(list, vocabularies));
            let network = Network::open(&directory, device);
            (joined(tokenizers), joined(shortlist), network)
        });
        let (source, target) = tokenizers?;
        for (side, tokenizer, rows) in
            [("source", &source, vocabularies[0]), ("target", &target, vocabularies[1])]
        {
            let pieces = tokenizer.vocabulary_size();
            if pieces > rows {
                return Err(Error::Model(abridge_model::Error::Weights {
                    file: path.to_path_buf(),
                    problem: format!(
                        "the {side} tokenizer has {pieces} pieces, but the network has {rows}; \
                         they belong to different models"
                    ),
                }));
            }
        }
        let shortlist = shortlist?;
        let search = BeamSettings::of_model(home(crate::settings::FILE))?;
        let mut translator =
            Self::with_network(network?, source, target, directory.weights_hash())?;
        translator.languages = languages;
        translator.search = search;
        translator.trained_context = has_context.then_some(trained);
        Ok(match shortlist {
            Some(shortlist) => translator.with_shortlist(shortlist),
            None => translator,
        })
    }

    /// Combines a network and its tokenizers; the hash identifies it in signatures and sessions.
    pub fn new(model: Model, source: Tokenizer, target: Tokenizer, hash: &str) -> Result<Self> {
        let network = Network::new(model, WeightPrecision::Single, &StoredIntegers::default());
        Self::with_network(network, source, target, hash)
    }

    fn with_network(
        network: Network,
        source: Tokenizer,
        target: Tokenizer,
        hash: &str,
    ) -> Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (hash, workers) = (hash.to_owned(), workers(cores)?);
        let Network { model, lean, precision } = network;
        let config = model.config();
        let trained_context = (config.context != Context::None).then_some(config.context_size);
        Ok(Self {
            model,
            lean,
            source,
            target,
            hash,
            languages: None,
            trained_context,
            workers,
            precision,
            shortlist: None,
            search: BeamSettings::default(),
            leaves_language_open: false,
        })
    }

    /// Uses this many threads instead of one per core.
    pub fn with_threads(mut self, threads: usize) -> Result<Self> {
        self.workers = workers(threads)?;
        Ok(self)
    }

    /// Restricts translations to the words of these lists. This changes translations, and so the
    /// hash.
    #[must_use]
    pub fn with_shortlist(mut self, shortlist: Shortlist) -> Self {
        self.hash = shortlist.hash_with(&self.hash);
        self.shortlist = Some(Arc::new(shortlist));
        self
    }

    /// Sets the target language of a multilingual model, unless a sentence or a session names
    /// another one. This changes translations, and so the hash.
    pub fn towards(mut self, language: &str) -> Result<Self> {
        self.source = self.source.towards(language).map_err(of_language)?;
        let chosen = self.source.languages().chosen().and_then(|id| self.source.piece(id));
        let named = format!("{} {}", self.hash, chosen.unwrap_or_default());
        self.hash = abridge_base::hash::of_bytes(named);
        Ok(self)
    }

    /// Lets a multilingual model translate sentences without a target language, as Marian does. The
    /// result is arbitrary, so by default this is an error.
    #[must_use]
    pub fn leaving_language_open(mut self) -> Self {
        self.leaves_language_open = true;
        self
    }

    /// Another translator with the same weights and its own threads, so that two callers do not
    /// wait for each other. Weights are shared, not copied.
    pub fn share(&self, threads: usize) -> Result<Self> {
        Ok(Self {
            model: self.model.clone(),
            lean: self.lean.clone(),
            source: self.source.clone(),
            target: self.target.clone(),
            hash: self.hash.clone(),
            languages: self.languages.clone(),
            trained_context: self.trained_context,
            workers: workers(threads)?,
            precision: self.precision,
            shortlist: self.shortlist.clone(),
            search: self.search.clone(),
            leaves_language_open: self.leaves_language_open,
        })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.workers.count()
    }

    /// The stored precision, if the device does not support it and the weights were unpacked.
    pub fn unpacked(&self) -> Option<WeightPrecision> {
        let is_lean = self.lean.is_some();
        (self.precision == WeightPrecision::Int8 && !is_lean).then_some(self.precision)
    }

    /// The network.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model's default search settings.
    pub fn default_search(&self) -> &BeamSettings {
        &self.search
    }

    /// The tokenizer of the source side.
    pub fn source(&self) -> &Tokenizer {
        &self.source
    }

    /// The tokenizer of the target side.
    pub fn target(&self) -> &Tokenizer {
        &self.target
    }

    /// The hash of everything that determines translations: the weights, and the shortlist and
    /// target language if they were set. It identifies the model in signatures and sessions.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The context size that the model was trained with; `None` if it has no context.
    pub fn trained_context(&self) -> Option<usize> {
        self.trained_context
    }

    /// The warning for a context size that is larger than in training; the model is at `path`.
    pub fn context_warning(&self, path: &Path, context: Option<usize>) -> Option<String> {
        let trained = self.trained_context().filter(|&size| Some(size) < context)?;
        let sentences = if trained == 1 { "sentence" } else { "sentences" };
        Some(format!(
            "{} was trained to look {trained} {sentences} back; it has not learned to use more",
            path.display()
        ))
    }

    /// The codes of the source and target language, if the model directory names them. The target
    /// language of a multilingual model is the chosen one.
    pub fn languages(&self) -> Option<(&str, &str)> {
        let (source, target) = self.languages.as_ref()?;
        let targets = self.target_languages();
        let chosen = targets.chosen().and_then(|id| targets.code(id));
        Some((source, chosen.unwrap_or(target)))
    }

    /// The target languages of a multilingual model; empty if there is only one.
    pub fn target_languages(&self) -> &TargetLanguages {
        self.source.languages()
    }

    /// Rejects a sentence if the model is multilingual and no target language was given.
    pub(crate) fn check_language(&self, chosen: Option<u32>, sentence: &str) -> Result<()> {
        let languages = self.target_languages();
        let is_known = languages.is_empty() || chosen.is_some() || self.leaves_language_open;
        if is_known || sentence.trim().is_empty() || languages.take(sentence).is_some() {
            return Ok(());
        }
        let codes: Vec<&str> = languages.codes().collect();
        let first = codes.first().copied().unwrap_or_default();
        Err(Error::Settings(format!(
            "the model translates into {}, but no target language was given; name one \
             (`--to {first}`, or `target` in a request), or begin each sentence with `>>{first}<<`",
            codes.join(", ")
        )))
    }

    pub(crate) fn lean(&self) -> Option<&LeanDecoder> {
        self.lean.as_deref()
    }

    pub(crate) fn shortlist(&self) -> Option<&Shortlist> {
        self.shortlist.as_deref()
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// The tokens of a translation for the memory, including the end token.
    ///
    /// The text is always tokenized again, even if the search found other pieces, so that a
    /// document continues in the same way from a stored session, a file, or given translations.
    pub(crate) fn translation_tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = sentence_tokens(&mut self.target.encoder(), text);
        tokens.truncate(self.model.config().max_positions - 1);
        if tokens.last() != Some(&END) {
            tokens.push(END);
        }
        tokens
    }
}

/// The user chooses the language, so this is an error in the settings, not in the data.
pub(crate) fn of_language(error: abridge_corpus::Error) -> Error {
    Error::Settings(error.to_string())
}

/// The tokens of a sentence, including the end token. Blank sentences have no other tokens.
pub(crate) fn sentence_tokens(encoder: &mut Encoder<'_>, sentence: &str) -> Vec<u32> {
    let mut tokens = Vec::new();
    if !sentence.trim().is_empty() {
        encoder.encode(sentence, &mut tokens);
    }
    tokens.push(END);
    tokens
}

fn workers(threads: usize) -> Result<Workers> {
    Ok(Workers::joining(threads, "translate")?)
}
