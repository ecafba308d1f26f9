//! The comparison on a terminal.

use std::io::Write;

use abridge_experiments::demo::compare::DemoComparison;
use abridge_experiments::demo::pronouns::marked;

use super::super::{colours, contrast};

/// Prints the translations, the accuracy and the memory.
pub fn print(comparison: &DemoComparison, out: &mut impl Write) -> anyhow::Result<()> {
    let colours = colours(&std::io::stdout());
    let [without, with] = &comparison.translations;
    writeln!(out, "A document that neither model has seen:\n")?;
    for (index, segment) in comparison.document.segments.iter().enumerate() {
        let reference = segment.target.as_deref().unwrap_or_default();
        writeln!(out, "  English          {}", segment.source)?;
        writeln!(out, "  reference        {reference}")?;
        writeln!(out, "  without context  {}", marked(&without[index], reference, colours))?;
        writeln!(out, "  with context     {}\n", marked(&with[index], reference, colours))?;
    }
    writeln!(out, "How often each prefers the right pronoun, by how far back its noun is:\n")?;
    let names = ["sentence (no context)", "grouping (three sentences)"];
    for (name, report) in names.iter().zip(&comparison.accuracy) {
        writeln!(out, "{name}\n{}", contrast::table(report))?;
    }
    let kibibytes = |bytes: usize| bytes as f64 / 1024.0;
    writeln!(
        out,
        "The memory keeps {} vectors per sentence, however long it is:\n",
        comparison.rows
    )?;
    writeln!(out, "  {:>15} {:>13} {:>13}", "sentence of", "grouping", "every token")?;
    for memory in &comparison.memory {
        writeln!(
            out,
            "  {:>8} tokens {:>9.1} KiB {:>9.1} KiB",
            memory.tokens,
            kibibytes(memory.grouped),
            kibibytes(memory.every_token)
        )?;
    }
    writeln!(out)?;
    Ok(())
}
