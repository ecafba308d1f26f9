//! Scores of a set, kept in a file as they come, so that a run that was stopped goes on.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use abridge_corpus::{ContrastiveSet, Error};
use abridge_translate::{Result, Score, ScoreRequest, Translator};

use super::identity::Identity;

/// Items per thread whose scores are kept together; at most these are computed again after a stop.
const CHUNK: usize = 100;

/// The score of every candidate of every item: its log-probability per token.
///
/// With `kept`, scores are appended to that file, and those that it has already are not computed
/// again. It must belong to the same model, set and context. `done` hears how many items are
/// finished.
pub fn score_set(
    translator: &Translator,
    set: &ContrastiveSet,
    kept: Option<(&Path, &Identity)>,
    done: &mut dyn FnMut(usize),
) -> Result<Vec<Vec<f64>>> {
    let mut scores = match kept {
        Some((file, identity)) => resume(file, identity, set)?,
        None => Vec::new(),
    };
    let mut output = match kept {
        Some((file, _)) => Some((
            OpenOptions::new().append(true).open(file).map_err(|e| Error::io("open", file, e))?,
            file,
        )),
        None => None,
    };
    done(scores.len());
    for items in set.items[scores.len()..].chunks(CHUNK * translator.threads()) {
        let requests: Vec<ScoreRequest<'_>> = items
            .iter()
            .map(|item| ScoreRequest {
                source: &item.source,
                context: &item.context,
                context_translations: &item.target_context,
                candidates: &item.candidates,
            })
            .collect();
        let found = translator.score(&requests, &|_| {})?;
        let found: Vec<Vec<f64>> =
            found.iter().map(|item| item.iter().map(Score::mean).collect()).collect();
        if let Some((output, file)) = &mut output {
            let lines: String = found.iter().map(|item| join(item, "\t") + "\n").collect();
            output.write_all(lines.as_bytes()).map_err(|e| Error::io("write", file, e))?;
        }
        scores.extend(found);
        done(items.len());
    }
    Ok(scores)
}

/// Where the scores are kept until all are there.
pub fn part_file(scores: &Path) -> PathBuf {
    let mut name = scores.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// Writes scores one per line, in the order of the candidates, and removes what was kept.
pub fn write_scores(file: &Path, scores: &[Vec<f64>]) -> abridge_corpus::Result<()> {
    let all: Vec<f64> = scores.iter().flatten().copied().collect();
    abridge_base::files::replace(file, (join(&all, "\n") + "\n").as_bytes())?;
    let part = part_file(file);
    if part.exists() {
        fs::remove_file(&part).map_err(|e| Error::io("remove", &part, e))?;
    }
    Ok(())
}

/// Reads scores as [`write_scores`] writes them.
pub fn read_scores(file: &Path, set: &ContrastiveSet) -> abridge_corpus::Result<Vec<Vec<f64>>> {
    let text = fs::read_to_string(file).map_err(|e| Error::io("read", file, e))?;
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

/// The scores that are kept already; makes the file if there is none.
fn resume(
    file: &Path,
    identity: &Identity,
    set: &ContrastiveSet,
) -> abridge_corpus::Result<Vec<Vec<f64>>> {
    let failed = |error: std::io::Error| Error::io("read", file, error);
    let header = serde_json::to_string(identity).map_err(|error| failed(error.into()))? + "\n";
    if file.symlink_metadata().is_err() {
        abridge_base::files::write_new(file, header.as_bytes())?;
        return Ok(Vec::new());
    }
    let other = |problem: String| {
        Error::new(format!("these scores are of {problem}"))
            .in_file(file)
            .remedy("remove the file, or write scores elsewhere with --scores")
    };
    let mut lines = BufReader::new(abridge_base::files::open_regular(file)?);
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
        // A line that a kill cut short is computed again.
        let Some(complete) = line.strip_suffix('\n') else { break };
        let found: Option<Vec<f64>> =
            complete.split('\t').map(|score| score.parse().ok()).collect();
        match found {
            Some(found) if found.len() == item.candidates.len() => scores.push(found),
            _ => break,
        }
        length += line.len() as u64;
    }
    let cut = OpenOptions::new().write(true).open(file).and_then(|file| file.set_len(length));
    cut.map_err(|e| Error::io("write", file, e))?;
    Ok(scores)
}

/// Numbers as text that reads back as the same numbers.
fn join(scores: &[f64], separator: &str) -> String {
    scores.iter().map(f64::to_string).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        }
    }

    #[test]
    fn scores_read_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scores");
        let scores = vec![vec![-0.1, -1e-17], vec![-2.0, -1.0 / 3.0, -5.5], vec![-1.0, -1.5]];
        write_scores(&file, &scores).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 7);
        assert_eq!(read_scores(&file, &set()).unwrap(), scores);
        fs::write(&file, "-1\n-2\n").unwrap();
        let error = read_scores(&file, &set()).unwrap_err().to_string();
        assert!(error.contains("2 scores, but the set has 7 candidates"), "{error}");
    }

    #[test]
    fn what_is_kept_is_found_again_and_a_cut_line_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("scores.part");
        assert!(resume(&file, &identity("m"), &set()).unwrap().is_empty());
        let mut kept = OpenOptions::new().append(true).open(&file).unwrap();
        kept.write_all(b"-1\t-2\n-1\t-2\t-3").unwrap();
        assert_eq!(resume(&file, &identity("m"), &set()).unwrap(), [vec![-1.0, -2.0]]);
        assert!(fs::read_to_string(&file).unwrap().ends_with("-1\t-2\n"));
        let error = resume(&file, &identity("n"), &set()).unwrap_err().to_string();
        assert!(error.contains("another model: m, not n"), "{error}");
    }
}
