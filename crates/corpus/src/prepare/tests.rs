//! Preparation from files to a directory and back.

use std::fmt::Write as _;
use std::fs;

use super::*;

mod languages;
mod resuming;

const WORDS: [&str; 12] = [
    "lamp", "river", "window", "garden", "letter", "stone", "bread", "music", "winter", "morning",
    "button", "ladder",
];

/// A small corpus of invented lines in a fresh directory.
fn corpus() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (split, count) in [("train", 120), ("valid", 12), ("test", 9)] {
        let mut files = [String::new(), String::new(), String::new()];
        for line in 0..count {
            let word = |step: usize| WORDS[(line * step + split.len() + line / 7) % WORDS.len()];
            writeln!(files[0], "The {} saw a {} {line}.", word(1), word(5)).unwrap();
            writeln!(files[1], "Das {} sah ein {} {line}.", word(1), word(5)).unwrap();
            writeln!(files[2], "{split}-{}", line / 6).unwrap();
        }
        for (ending, text) in ["en", "de", "docids"].iter().zip(files) {
            fs::write(directory.path().join(format!("{split}.{ending}")), text).unwrap();
        }
    }
    directory
}

fn recipe() -> Recipe {
    let files = |split: &str| {
        vec![InputFiles {
            source: format!("{split}.en").into(),
            target: Some(format!("{split}.de").into()),
            ..InputFiles::default()
        }]
    };
    Recipe {
        languages: Languages { source: "en".into(), target: "de".into() },
        tokenizer: TokenizerRecipe { vocabulary_size: 70, ..TokenizerRecipe::default() },
        train: files("train"),
        valid: files("valid"),
        test: files("test"),
        ..Recipe::default()
    }
}

fn run(data: &Path, recipe: &Recipe, threads: usize) -> Result<Outcome> {
    let output = data.join("prepared");
    let request = Request { recipe, data, output: &output, threads, force: false };
    prepare(&request, &mut Silent)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_directory_holds_everything_and_opens_again() {
    let corpus = corpus();
    let data = corpus.path();
    let outcome = run(data, &recipe(), 2).unwrap();
    assert!(matches!(outcome, Outcome::Written(_)));
    let output = data.join("prepared");
    assert_eq!(
        names(&output),
        [
            "manifest.json",
            "test.tokens",
            "tokenizer.source.json",
            "tokenizer.target.json",
            "train.tokens",
            "valid.tokens"
        ]
    );
    let prepared = PreparedDirectory::open(&output).unwrap();
    assert_eq!(prepared.description(), outcome.description());
    let description = prepared.description();
    // Document ids beside the source are inputs too.
    assert_eq!(description.inputs.len(), 9);
    assert_eq!(description.outputs.iter().count(), 5);
    assert_eq!(description.vocabularies, Vocabularies { source: 70, target: 70 });
    let split = |s: &SplitStatistics| (s.name.clone(), s.documents, s.sentences);
    assert_eq!(
        description.splits.iter().map(split).collect::<Vec<_>>(),
        [("train".into(), 20, 120), ("valid".into(), 2, 12), ("test".into(), 2, 9)]
    );
    assert!(description.table().to_string().contains("tok/sent de"));

    let tokenizer = prepared.tokenizer(Side::Source).unwrap();
    let store = prepared.split("test").unwrap();
    let mut tokens = Vec::new();
    store.append(Side::Source, 3, &mut tokens);
    let line = fs::read_to_string(data.join("test.en")).unwrap();
    assert_eq!(tokenizer.decode(&tokens), line.lines().nth(3).unwrap());
    assert_eq!(store.document_name(1), "test-1");
    let error = prepared.split("dev").unwrap_err().to_string();
    assert!(error.contains("it has train, valid, test"), "{error}");
}

#[test]
fn only_changes_are_prepared_again() {
    let corpus = corpus();
    let data = corpus.path();
    let first = run(data, &recipe(), 1).unwrap();
    let unchanged =
        |recipe: &Recipe| matches!(run(data, recipe, 2).unwrap(), Outcome::Unchanged(_));
    assert!(unchanged(&recipe()));
    // The number of threads changes nothing, so the forced run gives the same manifest.
    let output = data.join("prepared");
    let again = Request { recipe: &recipe(), data, output: &output, threads: 3, force: true };
    assert_eq!(prepare(&again, &mut Silent).unwrap(), first);
    // A setting, an input, a damaged output, a missing output.
    let mut other = recipe();
    other.tokenizer.vocabulary_size = 71;
    assert!(!unchanged(&other));
    assert!(!unchanged(&recipe()));
    fs::write(data.join("valid.docids"), "one\n".repeat(12)).unwrap();
    assert!(!unchanged(&recipe()));
    assert!(unchanged(&recipe()));
    fs::write(output.join("test.tokens"), "noise").unwrap();
    assert!(!unchanged(&recipe()));
    fs::remove_file(output.join("tokenizer.target.json")).unwrap();
    assert!(!unchanged(&recipe()));
    assert!(unchanged(&recipe()));
    assert!(names(data).iter().all(|name| !name.starts_with('.')), "nothing is left beside it");
}

#[test]
fn errors_leave_nothing_behind_and_keep_the_old_directory() {
    let corpus = corpus();
    let data = corpus.path();
    let fail = |recipe: &Recipe, reason: &str| {
        let before = names(data);
        let error = run(data, recipe, 2).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert_eq!(names(data), before);
    };
    let mut large = recipe();
    large.tokenizer.vocabulary_size = 20_000;
    fail(&large, "but 20000 were requested");
    let mut missing = recipe();
    missing.test[0].source = "none.en".into();
    fail(&missing, "none.en: cannot read");
    let first = run(data, &recipe(), 2).unwrap();
    fail(&large, "but 20000 were requested");
    fs::write(data.join("valid.de"), "Zu kurz.\n").unwrap();
    fail(&recipe(), "12 lines");
    fs::write(data.join("valid.en"), "").unwrap();
    fs::write(data.join("valid.de"), "").unwrap();
    fs::write(data.join("valid.docids"), "").unwrap();
    fail(&recipe(), "valid");
    assert_eq!(
        PreparedDirectory::open(&data.join("prepared")).unwrap().description(),
        first.description()
    );
}

#[test]
fn an_interrupted_run_starts_clean() {
    let corpus = corpus();
    let data = corpus.path();
    // As if killed while writing …
    let staging = data.join(format!(".prepared.{}.part", "0f".repeat(16)));
    fs::create_dir(&staging).unwrap();
    fs::write(staging.join("train.tokens"), "half").unwrap();
    fs::write(staging.join("leftover"), "half").unwrap();
    let first = run(data, &recipe(), 2).unwrap();
    assert!(!staging.exists());
    assert!(!data.join("prepared/leftover").exists());
    // … and as if killed between the two renames: nothing is lost.
    let previous = data.join(format!(".prepared.{}.old", "0f".repeat(16)));
    fs::rename(data.join("prepared"), &previous).unwrap();
    fs::create_dir(&staging).unwrap();
    assert_eq!(run(data, &recipe(), 2).unwrap().description(), first.description());
    assert!(!staging.exists() && !previous.exists());
}

#[test]
fn foreign_files_in_a_prepared_directory_are_kept() {
    let corpus = corpus();
    let data = corpus.path();
    run(data, &recipe(), 2).unwrap();
    let mut other = recipe();
    other.tokenizer.vocabulary_size = 71;
    for name in ["prepared/thesis.txt", "prepared/run/checkpoint"] {
        let file = data.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "years of work").unwrap();
        let error = run(data, &other, 2).unwrap_err().to_string();
        assert!(error.contains("which this command did not write"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "years of work");
        fs::remove_file(&file).unwrap();
    }
    // An input in the directory to be replaced, even one listed in its manifest.
    fs::copy(data.join("train.en"), data.join("prepared/test.tokens")).unwrap();
    other.train[0].source = "prepared/test.tokens".into();
    let error = run(data, &other, 2).unwrap_err().to_string();
    assert!(error.contains("is being read"), "{error}");
    assert!(data.join("prepared/test.tokens").is_file());
}

#[test]
fn a_split_opens_only_as_it_was_prepared() {
    let corpus = corpus();
    let data = corpus.path();
    run(data, &recipe(), 2).unwrap();
    let path = data.join("prepared");
    let (train, valid) = (path.join("train.tokens"), path.join("valid.tokens"));
    let prepared = PreparedDirectory::open(&path).unwrap();
    // Older runs hold the hash of the file and can be resumed.
    assert_eq!(prepared.hash("train").unwrap(), FileHash::of(&train, "").unwrap().sha256);
    let whole = fs::read(&train).unwrap();
    for (bytes, reason) in [
        (whole[..whole.len() - 1].to_vec(), "damaged token store: it has"),
        (flipped(&whole, whole.len() / 2), "damaged token store: its content does not match"),
        (flipped(&whole, 100), "damaged token store: its content does not match"),
        // An intact store, but another one.
        (fs::read(&valid).unwrap(), "has changed since it was prepared"),
    ] {
        fs::write(&train, bytes).unwrap();
        let error = prepared.split("train").unwrap_err().to_string();
        assert!(error.contains(&format!("train.tokens: {reason}")), "{error}");
        assert!(error.contains("run `abridge prepare` again"), "{error}");
    }
    fs::write(&train, whole).unwrap();
    assert_eq!(prepared.split("train").unwrap().sentences(), 120);
    // A file that the manifest does not list.
    let manifest = path.join(MANIFEST);
    let text = fs::read_to_string(&manifest).unwrap().replace("valid.tokens", "other.tokens");
    fs::write(&manifest, text).unwrap();
    let prepared = PreparedDirectory::open(&path).unwrap();
    for error in [prepared.split("valid").unwrap_err(), prepared.hash("valid").unwrap_err()] {
        let error = error.to_string();
        assert!(error.contains("manifest.json: does not list `valid.tokens`"), "{error}");
    }
}

#[test]
fn a_directory_from_before_there_were_shards_still_opens() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/one-file-per-split");
    let text = fs::read_to_string(path.join(MANIFEST)).unwrap();
    assert!(!["shards", "filtered", "skipped"].iter().any(|new| text.contains(new)));
    let prepared = PreparedDirectory::open(&path).unwrap();
    prepared.description().outputs.verify(&path).unwrap();
    assert_eq!(prepared.corpora("train"), [""]);
    assert_eq!(
        prepared.hash("train").unwrap(),
        "8e1be6e2187900a55d467c58d25de7a4428d85c0d7d6a50dd033efbbc56c2d40"
    );
    let store = prepared.split("train").unwrap();
    assert_eq!((store.sentences(), prepared.split("valid").unwrap().sentences()), (60, 6));
    for (side, line) in [
        (Side::Source, "Boat 10 sails past pier 3."),
        (Side::Target, "Boot 10 segelt an Steg 3 vorbei."),
    ] {
        let mut tokens = Vec::new();
        store.append(side, 10, &mut tokens);
        assert_eq!(prepared.tokenizer(side).unwrap().decode(&tokens), line);
    }
}

fn flipped(bytes: &[u8], position: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[position] ^= 1;
    bytes
}

#[test]
fn concurrent_preparations_succeed() {
    let corpus = corpus();
    let data = corpus.path();
    std::thread::scope(|scope| {
        for size in 70..74 {
            scope.spawn(move || {
                let mut recipe = recipe();
                recipe.tokenizer.vocabulary_size = size;
                run(data, &recipe, 1).unwrap();
            });
        }
    });
    PreparedDirectory::open(&data.join("prepared")).unwrap().split("train").unwrap();
    assert!(names(data).iter().all(|name| !name.starts_with('.')));
}

#[test]
fn a_foreign_directory_is_never_replaced() {
    let corpus = corpus();
    let data = corpus.path();
    fs::create_dir(data.join("prepared")).unwrap();
    fs::write(data.join("prepared/thesis.txt"), "years of work").unwrap();
    let error = run(data, &recipe(), 2).unwrap_err().to_string();
    assert!(error.contains("did not write"), "{error}");
    assert_eq!(fs::read_to_string(data.join("prepared/thesis.txt")).unwrap(), "years of work");
}

#[test]
fn nothing_is_prepared_below_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    fs::write(&file, "years of work").unwrap();
    let error = begin(&file.join("prepared"), std::iter::empty()).unwrap_err().to_string();
    assert!(error.contains("notes.txt is not a directory"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "years of work");
}

#[test]
fn joint_vocabularies_and_imports() {
    let corpus = corpus();
    let data = corpus.path();
    let mut joint = recipe();
    joint.tokenizer.joint = true;
    run(data, &joint, 2).unwrap();
    let read = |name: &str| fs::read_to_string(data.join("prepared").join(name)).unwrap();
    assert_eq!(read("tokenizer.source.json"), read("tokenizer.target.json"));

    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sentencepiece");
    let mut import = recipe();
    let files = ImportFiles {
        model: fixtures.join("bpe.model"),
        dictionary: Some(fixtures.join("bpe.dict.txt")),
    };
    import.tokenizer.source = Some(files.clone());
    import.tokenizer.target = Some(files);
    import.train.clear();
    let outcome = run(data, &import, 2).unwrap();
    assert_eq!(outcome.description().splits.len(), 2);
    let prepared = PreparedDirectory::open(&data.join("prepared")).unwrap();
    assert_eq!(prepared.tokenizer(Side::Target).unwrap().id("<brk>"), Some(4));
    assert_eq!(names(&data.join("prepared")).len(), 7);
}

#[test]
fn generated_text_is_prepared_too() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("practice");
    let mut recipe = recipe();
    recipe.train.clear();
    recipe.valid.clear();
    recipe.test.clear();
    recipe.tokenizer.vocabulary_size = 30;
    let request = Request {
        recipe: &recipe,
        data: directory.path(),
        output: &output,
        threads: 2,
        force: false,
    };
    let generate = |seed: u64| {
        prepare_generated(
            &request,
            serde_json::json!({ "seed": seed }),
            |staging| {
                fs::create_dir(staging.join("text")).unwrap();
                fs::write(staging.join("text/note"), "kept").unwrap();
                let pair =
                    |n: u64| crate::Segment::pair(format!("Row {n}."), format!("Zeile {n}."));
                let document = crate::Document::new("a", (0..9).map(|n| pair(n + seed)).collect());
                Ok(vec![SplitDocuments::new("train", vec![document])?])
            },
            &mut Silent,
        )
    };
    assert!(matches!(generate(1).unwrap(), Outcome::Written(_)));
    assert!(matches!(generate(1).unwrap(), Outcome::Unchanged(_)));
    let second = generate(2).unwrap();
    assert!(matches!(second, Outcome::Written(_)));
    assert!(second.description().outputs.iter().any(|output| output.file == "text/note"));
}

#[test]
fn several_corpora_are_kept_apart_and_share_their_vocabulary() {
    let corpus = corpus();
    let data = corpus.path();
    let one = recipe();
    run(data, &one, 2).unwrap();
    let output = data.join("prepared");
    let tokenizer = fs::read_to_string(output.join("tokenizer.source.json")).unwrap();

    let mut several = Recipe { train: vec![], valid: vec![], test: vec![], ..one.clone() };
    let corpus = |name: &str, train: &[InputFiles], valid: &[InputFiles], cut: Option<f64>| {
        let (train, valid) = (train.to_vec(), valid.to_vec());
        CorpusRecipe { name: name.into(), cut_documents: cut, train, valid, ..Default::default() }
    };
    several.corpora = vec![
        corpus("talks", &one.train, &one.valid, None),
        corpus("films", &one.test, &one.valid, Some(0.5)),
        CorpusRecipe { name: "news".into(), test: one.test.clone(), ..Default::default() },
    ];
    let outcome = run(data, &several, 2).unwrap();
    let splits = &outcome.description().splits;
    let named: Vec<_> = splits.iter().map(|s| (s.name.as_str(), s.sentences)).collect();
    assert_eq!(
        named,
        [
            ("talks/train", 120),
            ("films/train", 9),
            ("talks/valid", 12),
            ("films/valid", 12),
            ("news/test", 9)
        ]
    );
    assert!(splits[1].documents > 2, "documents of training text are cut, two before");
    assert_eq!(splits[3].documents, splits[2].documents, "and only of training text");
    assert_eq!(
        names(&output),
        [
            "films",
            "manifest.json",
            "news",
            "talks",
            "tokenizer.source.json",
            "tokenizer.target.json"
        ]
    );
    assert_ne!(fs::read_to_string(output.join("tokenizer.source.json")).unwrap(), tokenizer);
    assert!(matches!(run(data, &several, 2).unwrap(), Outcome::Unchanged(_)));

    let prepared = PreparedDirectory::open(&output).unwrap();
    assert_eq!(prepared.corpora("train"), ["talks", "films"]);
    assert_eq!(prepared.split("films/train").unwrap().sentences(), 9);
    let joined = prepared.split("train").unwrap();
    assert_eq!(joined.sentences(), 129);
    let error = prepared.split("news/train").unwrap_err().to_string();
    assert!(error.contains("it has talks/train, films/train"), "{error}");
    // A changed weight changes the recipe.
    several.corpora[0].weight = Some(2.0);
    assert!(run(data, &several, 2).unwrap_err().to_string().contains("`films` has no weight"));
}

#[test]
fn training_text_that_occurs_in_other_sets_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let write = |name: &str, lines: &[String]| {
        fs::write(data.join(name), lines.join("\n") + "\n").unwrap();
    };
    let lines = |template: &str, count: usize| -> Vec<String> {
        let line = |n: usize| template.replace('A', WORDS[n % 12]).replace('B', WORDS[n / 12]);
        (0..count).map(line).collect()
    };
    let templates = [
        ("train", "They saw the A and then the B near town.", "Sie sahen A und dann B."),
        ("valid", "Every A has its own kind of B in winter.", "Jedes A hat im Winter sein B."),
        ("test", "Nobody knew whose A it was before the B came.", "Niemand kannte A und B."),
    ];
    for (split, source, target) in templates {
        let count = if split == "train" { 100 } else { 10 };
        write(&format!("{split}.en"), &lines(source, count));
        write(&format!("{split}.de"), &lines(target, count));
    }
    let set = "A set of its own has a long line like this one.";
    write("set.en", &[set.to_owned(), "Yes.".to_owned()]);
    // A validation pair, a test source in capitals with another translation, a line of the set with
    // an additional word, and one that is too short to be removed.
    let add = |name: &str, new: [&str; 4]| {
        let text = fs::read_to_string(data.join(name)).unwrap();
        fs::write(data.join(name), text + &new.join("\n") + "\n").unwrap();
    };
    let (valid, test) = (lines(templates[1].1, 4)[3].clone(), lines(templates[2].1, 3)[2].clone());
    let near = set.replace("one.", "one here.");
    add("train.en", [&valid, &test.to_uppercase(), &near, "Yes."]);
    add("train.de", [&lines(templates[1].2, 4)[3], "Etwas.", "Nah.", "Ja."]);

    let clean = run(data, &recipe(), 2).unwrap();
    assert_eq!(clean.description().filtered, []);
    let mut without = recipe();
    without.without(&["set.en".to_owned()]);
    let outcome = run(data, &without, 2).unwrap();
    let [report] = outcome.description().filtered.as_slice() else { panic!("one report") };
    assert_eq!((report.removed, report.of), (3, 104));
    assert_eq!(report.examples[0].source, valid);
    assert!(report.to_string().contains("overlap removed 3 of 104 pairs"), "{report}");
    assert_eq!(outcome.description().splits[0].sentences, 101);
    assert!(matches!(run(data, &without, 2).unwrap(), Outcome::Unchanged(_)));
    write("set.en", &["Another set.".to_owned()]);
    let outcome = run(data, &without, 2).unwrap();
    assert_eq!(outcome.description().filtered[0].removed, 2, "a changed set is noticed");
}

#[test]
fn bad_lines_can_be_skipped_and_are_listed() {
    let corpus = corpus();
    let data = corpus.path();
    let mut text = fs::read(data.join("train.de")).unwrap();
    let end = text.iter().position(|&byte| byte == b'\n').unwrap();
    text[end - 1] = 0xff;
    fs::write(data.join("train.de"), text).unwrap();
    let error = run(data, &recipe(), 2).unwrap_err().to_string();
    assert!(error.contains("train.de:1: invalid UTF-8"), "{error}");
    let lenient = Recipe { skip_bad: 1, ..recipe() };
    let outcome = run(data, &lenient, 2).unwrap();
    assert_eq!(outcome.description().splits[0].sentences, 119);
    assert_eq!(outcome.description().skipped.len(), 1);
    assert!(outcome.description().skipped[0].contains("train.de:1"));
}

#[test]
fn lines_without_documents_are_cut_and_that_is_said() {
    let corpus = corpus();
    let data = corpus.path();
    fs::remove_file(data.join("train.docids")).unwrap();
    for (name, line) in [("train.en", "The lamp saw a river.\n"), ("train.de", "Das Licht.\n")] {
        fs::write(data.join(name), line.repeat(crate::formats::LONGEST_DOCUMENT + 9)).unwrap();
    }
    let mut recipe = recipe();
    recipe.tokenizer.vocabulary_size = 20;
    recipe.filters.length = Some([1, 200]);
    let outcome = run(data, &recipe, 2).unwrap();
    let warnings = &outcome.description().warnings;
    let long = warnings.iter().find(|w| w.kind == WarningKind::LongDocuments).unwrap();
    assert_eq!((long.split.as_str(), long.count, long.of), ("train", 1, 2));
    assert!(long.to_string().contains("1 of 2 documents have 131072 sentences"), "{long}");
    let store = PreparedDirectory::open(&data.join("prepared")).unwrap().split("train").unwrap();
    let last = store.document(1);
    assert_eq!((store.documents(), store.document_name(1), last.len()), (2, "1/2", 9));
}
