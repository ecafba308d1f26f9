//! What a preparation that was interrupted leaves, and how the next one continues.

use std::io::ErrorKind;

use super::*;

#[test]
fn an_interrupted_run_resumes_where_it_was() {
    let corpus = corpus();
    let data = corpus.path();
    let first = run(data, &recipe(), 2).unwrap();
    let output = data.join("prepared");
    fs::remove_dir_all(&output).unwrap();
    // As if killed after the tokenizers and some shards: notes that are not dropped.
    let request = Request { recipe: &recipe(), data, output: &output, threads: 1, force: false };
    let inputs = first.description().inputs.clone();
    let origin = Origin { tool: tool(), recipe: recipe(), generated: None, inputs };
    let notes = Notes::open(&output, Some(&origin), false).unwrap();
    let (text, counts) = Text::read(&request, &notes, &mut Silent).unwrap();
    notes.save_text(&text).unwrap();
    let tokenizers = make_tokenizers(&request, counts, &mut Silent).unwrap();
    notes.save_tokenizers(&tokenizers.source, &tokenizers.target).unwrap();
    encode(&text, &tokenizers, &notes, 1, &mut Silent).unwrap();
    fs::remove_file(notes.files().join("test.tokens")).unwrap();
    // A finished shard is not read again: its text may be gone.
    fs::remove_file(notes.text_folder().join("train/00000.text")).unwrap();
    let left = data.join(".prepared.preparing");
    let kept = data.join("kept");
    fs::rename(&left, &kept).unwrap();
    drop(notes);
    fs::rename(&kept, &left).unwrap();
    assert_eq!(run(data, &recipe(), 2).unwrap(), first);
    assert!(!left.exists());
}

/// Copies the notes at a step, as a process leaves them that is killed there.
struct Killed<'a> {
    at: usize,
    steps: usize,
    stages: Vec<String>,
    notes: &'a Path,
    copy: &'a Path,
}

impl Progress for Killed<'_> {
    fn stage(&mut self, name: &str, _total: u64) {
        self.stages.push(name.to_owned());
    }

    fn reached(&mut self, _done: u64) {
        self.steps += 1;
        if self.steps == self.at {
            copy(self.notes, self.copy);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn reading_continues_from_every_step_with_the_same_result() {
    let corpus = corpus();
    let data = corpus.path();
    // Pairs that are duplicates, that overlap, and that cannot be read; documents are cut.
    let text = fs::read_to_string(data.join("train.en")).unwrap();
    fs::write(data.join("train.en"), text.replace("The window", "The lamp")).unwrap();
    let mut text = fs::read(data.join("train.de")).unwrap();
    let end = text.iter().position(|&byte| byte == b'\n').unwrap();
    text[end - 1] = 0xff;
    fs::write(data.join("train.de"), text).unwrap();
    let mut recipe = Recipe { skip_bad: 8, ..recipe() };
    recipe.filters.duplicates = Some(Sameness::Near);
    recipe.filters.overlap = Some(OverlapRecipe { splits: true, ..OverlapRecipe::default() });
    recipe.train.push(InputFiles { repeated_ids: true, ..recipe.train[0].clone() });
    let second = CorpusRecipe {
        name: "second".into(),
        cut_documents: Some(0.3),
        train: recipe.train.clone(),
        ..CorpusRecipe::default()
    };
    let first = CorpusRecipe {
        name: "first".into(),
        train: std::mem::take(&mut recipe.train),
        valid: std::mem::take(&mut recipe.valid),
        ..CorpusRecipe::default()
    };
    recipe.test.clear();
    recipe.corpora = vec![first, second];
    let output = data.join("prepared");
    let request = Request { recipe: &recipe, data, output: &output, threads: 2, force: false };
    let inputs = hash_inputs(&request, &mut Silent).unwrap();
    let origin = Origin { tool: tool(), recipe: recipe.clone(), generated: None, inputs };
    let left = data.join(".prepared.preparing");
    let killed = data.join("killed");
    let read = |at: usize| {
        let mut notes = Notes::open(&output, Some(&origin), false).unwrap();
        notes.shard = 25;
        let mut progress = Killed { at, steps: 0, stages: Vec::new(), notes: &left, copy: &killed };
        let (text, counts) = Text::read(&request, &notes, &mut progress).unwrap();
        let mut files = Vec::new();
        for split in &text.splits {
            for (shard, size) in split.shards.iter().enumerate() {
                let folder = notes.text_folder().join(&split.name);
                files.push(spool::read_shard(&folder, shard, *size).unwrap());
            }
        }
        let pieces = make_tokenizers(&request, counts, &mut Silent).unwrap();
        pieces.source.save(data, "pieces").unwrap();
        let pieces = fs::read(data.join("tokenizer.pieces.json")).unwrap();
        let text = serde_json::to_string(&text).unwrap();
        ((text, files, pieces), progress.stages.remove(0), progress.steps)
    };
    let (expected, stage, steps) = read(usize::MAX);
    assert_eq!(stage, "reading");
    assert!(steps > 40 && expected.0.contains("duplicates") && expected.0.contains("invalid"));
    let mut starts = std::collections::BTreeSet::new();
    for step in 1..=steps {
        assert_eq!(read(step).0, expected, "step {step}");
        fs::rename(&killed, &left).unwrap();
        let (found, stage, _) = read(usize::MAX);
        assert_eq!(found, expected, "killed at step {step}, then {stage}");
        starts.insert(stage);
    }
    // From the start, within either corpus, and between them.
    assert!(starts.len() >= 5, "{starts:?}");
}

#[test]
fn a_full_disk_keeps_what_is_done_and_other_errors_do_not() {
    let corpus = corpus();
    let output = corpus.path().join("prepared");
    let origin = Origin { tool: tool(), recipe: recipe(), generated: None, inputs: Vec::new() };
    let left = corpus.path().join(".prepared.preparing");
    let fail = |origin: Option<&Origin>, kind: ErrorKind| {
        let notes = Notes::open(&output, origin, false).unwrap();
        let error = Error::io("write", Path::new("train.tokens"), kind.into());
        notes.keep_after(error).to_string()
    };
    let error = fail(Some(&origin), ErrorKind::StorageFull);
    assert!(error.contains("run the same command again") && left.exists(), "{error}");
    let error = fail(Some(&origin), ErrorKind::NotFound);
    assert!(!error.contains("again") && !left.exists(), "{error}");
    // What came through a pipe cannot be continued.
    fail(None, ErrorKind::StorageFull);
    assert!(!left.exists());
}

#[test]
fn leftovers_of_killed_processes_are_removed_and_nothing_else() {
    let corpus = corpus();
    let data = corpus.path();
    let folder = |name: &str, file: &str| {
        let folder = data.join(name);
        fs::create_dir_all(folder.join("text")).unwrap();
        fs::write(folder.join(file), "").unwrap();
        folder
    };
    let ours = folder(".prepared.preparing-123-0", "lock");
    let others = [
        folder(".prepared.preparing-123", "lock"),
        folder(".prepared.preparing-mine-1", "lock"),
        folder(".prepared.preparing-124-0", "notes"),
        folder(".other.preparing-123-0", "lock"),
    ];
    let busy = folder(".prepared.preparing-125-0", "lock");
    let lock = fs::File::open(busy.join("lock")).unwrap();
    lock.lock().unwrap();
    run(data, &recipe(), 1).unwrap();
    assert!(!ours.exists() && busy.exists() && others.iter().all(|folder| folder.exists()));
}
