//! Scores of a set, saved to a file as they are computed, so that an interrupted run can resume.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use abridge_base::files::{OutputFile, open_regular, read_text, write_new};
use abridge_corpus::{ContrastiveSet, Error};
use abridge_translate::{Result, Score, ScoreRequest, Translator};

use super::identity::Identity;
use crate::controls::{Controls, Draw, Example, View};

/// Requests per thread whose scores are saved together; an interruption loses at most these.
const CHUNK: usize = 100;

/// A larger file does not hold the scores of a set.
const LARGEST: u64 = 1 << 30;

/// The scores of a set: for every item and candidate, its log-probability per token.
pub type Scores = Vec<Vec<f64>>;

/// The score of every candidate of every item.
///
/// With `kept`, scores are appended to that file, and those already in it are not computed again.
/// It must belong to the same model, set and context. `done` is called with the number of finished
/// items.
pub fn score_set(
    translator: &Translator,
    set: &ContrastiveSet,
    kept: Option<(&Path, &Identity)>,
    done: &mut dyn FnMut(usize),
) -> Result<Scores> {
    let mut scores = score_with_controls(translator, set, Controls::default(), kept, done)?;
    Ok(scores.swap_remove(0))
}

/// As [`score_set`], with controls: the first scores are those of the true context, followed by a
/// list for each of [`Controls::contexts`]. All contexts of an example are scored at once, so that what they share is
/// encoded once.
pub fn score_with_controls(
    translator: &Translator,
    set: &ContrastiveSet,
    controls: Controls<'_>,
    kept: Option<(&Path, &Identity)>,
    done: &mut dyn FnMut(usize),
) -> Result<Vec<Scores>> {
    let beside = controls.contexts();
    let contexts = 1 + beside.len();
    // One row per item: the scores of all contexts, concatenated.
    let mut rows = match kept {
        Some((file, identity)) => resume(file, identity, set, contexts)?,
        None => Vec::new(),
    };
    let mut output = match kept {
        Some((file, _)) => Some((
            OpenOptions::new().append(true).open(file).map_err(|e| Error::io("open", file, e))?,
            file,
        )),
        None => None,
    };
    done(rows.len());
    let chunk = (CHUNK / contexts).max(1) * translator.threads();
    while rows.len() < set.items.len() {
        let range = rows.len()..set.items.len().min(rows.len() + chunk);
        let found = score_range(translator, set, (&beside, controls.seed), range.clone())?;
        if let Some((output, file)) = &mut output {
            let lines: String = found.iter().map(|row| join(row, "\t") + "\n").collect();
            output.write_all(lines.as_bytes()).map_err(|e| Error::io("write", file, e))?;
        }
        rows.extend(found);
        done(range.len());
    }
    let of_context = |context: usize| -> Scores {
        let items = rows.iter().zip(&set.items);
        items
            .map(|(row, item)| {
                let count = item.candidates.len();
                row[context * count..][..count].to_vec()
            })
            .collect()
    };
    Ok((0..contexts).map(of_context).collect())
}

/// The rows of some items, in the true context and others of a seed.
fn score_range(
    translator: &Translator,
    set: &ContrastiveSet,
    (beside, seed): (&[Draw], u64),
    range: Range<usize>,
) -> Result<Vec<Vec<f64>>> {
    let context_size = translator.model().config().context_size;
    let examples = Example::all(set);
    // `None` stands for the true context.
    let mut views: Vec<Vec<Option<View>>> = Vec::with_capacity(range.len());
    for index in range.clone() {
        let of_item = beside
            .iter()
            .map(|draw| draw.control.view(&examples, index, context_size, draw.seed(seed)));
        views.push(of_item.collect::<abridge_corpus::Result<_>>()?);
    }
    let mut requests = Vec::new();
    for (item, views) in set.items[range.clone()].iter().zip(&views) {
        let request = ScoreRequest {
            source: &item.source,
            context: &item.context,
            context_translations: &item.target_context,
            shown: None,
            candidates: &item.candidates,
        };
        requests.push(request);
        requests.extend(views.iter().flatten().map(|view| ScoreRequest {
            context: &view.sentences,
            context_translations: &view.translations,
            shown: view.shown.as_deref(),
            ..request
        }));
    }
    let found = translator.score(&requests, &|_| {})?;
    let mut found = found.iter().map(|item| item.iter().map(Score::mean).collect::<Vec<f64>>());
    let rows = views.iter().map(|views| {
        let truth = found.next().unwrap_or_default();
        let others = views.iter().flat_map(|view| match view {
            Some(_) => found.next().unwrap_or_default(),
            None => truth.clone(),
        });
        let others: Vec<f64> = others.collect();
        truth.iter().copied().chain(others).collect()
    });
    Ok(rows.collect())
}

/// The file for scores until all are computed.
pub fn part_file(scores: &Path) -> PathBuf {
    let mut name = scores.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// Writes scores one per line, in the order of the candidates.
pub fn write_scores(file: &OutputFile, scores: &[Vec<f64>]) -> abridge_corpus::Result<()> {
    let all: Vec<f64> = scores.iter().flatten().copied().collect();
    file.write((join(&all, "\n") + "\n").as_bytes())
}

/// Reads scores as [`write_scores`] writes them.
pub fn read_scores(file: &Path, set: &ContrastiveSet) -> abridge_corpus::Result<Vec<Vec<f64>>> {
    let text = read_text(file, LARGEST)?;
    let count = text.lines().count();
    if count != set.candidates() {
        return Err(Error::new(format!(
            "{count} scores, but the set has {} candidates",
            set.candidates()
        ))
        .in_file(file)
        .remedy("give the scores of this set, one per line, in the order of its candidates"));
    }
    let mut lines = text.lines().enumerate();
    let mut items = Vec::with_capacity(set.items.len());
    for item in &set.items {
        let mut scores = Vec::with_capacity(item.candidates.len());
        for (line, text) in lines.by_ref().take(item.candidates.len()) {
            scores.push(text.trim().parse().map_err(|_| {
                Error::new(format!("`{text}` is not a number")).in_file(file).at_line(line + 1)
            })?);
        }
        items.push(scores);
    }
    Ok(items)
}

/// The scores saved so far; creates the file if there is none.
fn resume(
    file: &Path,
    identity: &Identity,
    set: &ContrastiveSet,
    contexts: usize,
) -> abridge_corpus::Result<Vec<Vec<f64>>> {
    let failed = |error: std::io::Error| Error::io("read", file, error);
    let header = serde_json::to_string(identity).map_err(|error| failed(error.into()))? + "\n";
    if file.symlink_metadata().is_err() {
        write_new(file, header.as_bytes())?;
        return Ok(Vec::new());
    }
    let other = |problem: String| {
        Error::new(format!("these scores belong to {problem}"))
            .in_file(file)
            .remedy("remove the file, or write scores elsewhere with --scores")
    };
    let mut lines = BufReader::new(open_regular(file)?);
    let mut line = String::new();
    lines.read_line(&mut line).map_err(failed)?;
    let stored: Identity =
        serde_json::from_str(&line).map_err(|_| other("another program".to_owned()))?;
    if let Some(difference) = identity.difference(&stored) {
        return Err(other(difference));
    }
    let mut length = line.len() as u64;
    let mut scores = Vec::new();
    for item in &set.items {
        line.clear();
        lines.read_line(&mut line).map_err(failed)?;
        // An incomplete line is computed again.
        let Some(complete) = line.strip_suffix('\n') else { break };
        let found: Option<Vec<f64>> =
            complete.split('\t').map(|score| score.parse().ok()).collect();
        match found {
            Some(found) if found.len() == contexts * item.candidates.len() => scores.push(found),
            _ => break,
        }
        length += line.len() as u64;
    }
    let cut = OpenOptions::new().write(true).open(file).and_then(|file| file.set_len(length));
    cut.map_err(|e| Error::io("write", file, e))?;
    Ok(scores)
}

/// Numbers as text that parses to the same numbers.
fn join(scores: &[f64], separator: &str) -> String {
    scores.iter().map(f64::to_string).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use abridge_base::files::Outputs;
    use abridge_corpus::ContrastiveItem;

    fn set() -> ContrastiveSet {
        let item = |candidates: usize| ContrastiveItem {
            candidates: vec![String::new(); candidates],
            ..ContrastiveItem::default()
        };
        ContrastiveSet { items: vec![item(2), item(3), item(2)], notes: Vec::new() }
    }

    fn identity(model: &str) -> Identity {
        Identity {
            tool: "abridge".into(),
            model: model.into(),
            set: "s".into(),
            context: 1,
            order: "oldest-first".into(),
            controls: Vec::new(),
            seed: 0,
            draws: 0,
        }
    }

    #[test]
    fn scores_round_trip() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scores");
        let scores = vec![vec![-0.1, -1e-17], vec![-2.0, -1.0 / 3.0, -5.5], vec![-1.0, -1.5]];
        let output = Outputs::new().file(&file).unwrap();
        write_scores(&output, &scores).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 7);
        assert_eq!(read_scores(&file, &set()).unwrap(), scores);
        fs::write(&file, "-1\n-2\n").unwrap();
        let error = read_scores(&file, &set()).unwrap_err().to_string();
        assert!(error.contains("2 scores, but the set has 7 candidates"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_takes_scores_and_stays_one() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let output = Outputs::new().file(&fifo).unwrap();
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || fs::read_to_string(fifo).unwrap()
        });
        write_scores(&output, &[vec![-1.5, -2.0]]).unwrap();
        assert_eq!(reader.join().unwrap(), "-1.5\n-2\n");
        assert!(fifo.symlink_metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn saved_scores_are_resumed_and_an_incomplete_line_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scores.part");
        assert!(resume(&file, &identity("m"), &set(), 1).unwrap().is_empty());
        let mut kept = OpenOptions::new().append(true).open(&file).unwrap();
        kept.write_all(b"-1\t-2\n-1\t-2\t-3").unwrap();
        assert_eq!(resume(&file, &identity("m"), &set(), 1).unwrap(), [vec![-1.0, -2.0]]);
        assert!(fs::read_to_string(&file).unwrap().ends_with("-1\t-2\n"));
        let error = resume(&file, &identity("n"), &set(), 1).unwrap_err().to_string();
        assert!(error.contains("another model: m, not n"), "{error}");
    }
}
