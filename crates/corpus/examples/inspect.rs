//! Reads a corpus or a contrastive set and says what is in it.
//!
//! ```text
//! cargo run --release -p abridge-corpus --example inspect -- train.en train.de
//! cargo run --release -p abridge-corpus --example inspect -- --contrastive contrapro-en-de en de
//! cargo run --release -p abridge-corpus --example inspect -- --segments film.srt
//! ```

use std::process::ExitCode;

use abridge_corpus::{ContrastiveInput, ContrastiveSet, Input, Result, read};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["--contrastive", path, source, target] => contrastive(path, source, target),
        ["--segments", source] => segments(&Input::new(source)),
        [source] => corpus(&Input::new(source)),
        [source, target] => corpus(&Input::parallel(source, target)),
        _ => {
            eprintln!("usage: inspect SOURCE [TARGET]");
            eprintln!("       inspect --segments SOURCE");
            eprintln!("       inspect --contrastive PATH SOURCE_LANGUAGE TARGET_LANGUAGE");
            return ExitCode::from(1);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn corpus(input: &Input) -> Result<()> {
    let corpus = read(input)?;
    let source = |segment: &abridge_corpus::Segment| segment.source.clone();
    let sources: Vec<Vec<String>> = corpus
        .documents
        .iter()
        .map(|document| document.segments.iter().map(source).collect())
        .collect();
    let empty = sources.iter().flatten().filter(|text| text.trim().is_empty()).count();
    let mut written = Vec::new();
    corpus.write_translation(&sources, &mut written)?;
    let name = input.source.to_string_lossy();
    let plain = input.source.is_file() && !name.ends_with(".gz") && !name.ends_with(".zst");
    let round_trip = match std::fs::read(&input.source) {
        Ok(bytes) if plain && bytes == written => "; written back: the same bytes",
        Ok(_) if plain => "; written back: other bytes",
        _ => "",
    };
    println!(
        "{}: {}, {} documents, {} segments, {empty} empty{round_trip}",
        input.source.display(),
        corpus.format(),
        corpus.documents.len(),
        corpus.segments(),
    );
    Ok(())
}

/// Prints the segments as a translator gets them, with a blank line between documents.
fn segments(input: &Input) -> Result<()> {
    for (index, document) in read(input)?.documents.iter().enumerate() {
        if index > 0 {
            println!();
        }
        for segment in &document.segments {
            println!("{}", segment.source);
        }
    }
    Ok(())
}

fn contrastive(path: &str, source: &str, target: &str) -> Result<()> {
    let set = ContrastiveSet::read(&ContrastiveInput::new(path, source, target))?;
    let count = |has: fn(&abridge_corpus::ContrastiveItem) -> bool| {
        set.items.iter().filter(|item| has(item)).count()
    };
    let longest = set.items.iter().map(|item| item.context.len()).max().unwrap_or(0);
    println!(
        "{path}: {} examples, {} candidates, context up to {longest}, without context {}, \
         with a pronoun {}, with a distance {}",
        set.items.len(),
        set.candidates(),
        count(|item| item.context.is_empty()),
        count(|item| item.pronoun.is_some()),
        count(|item| item.antecedent_distance.is_some()),
    );
    for note in &set.notes {
        println!("note: {note}");
    }
    Ok(())
}
