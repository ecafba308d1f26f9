//! `abridge ctxpro`: does a translation contain the word that depends on the context?

use std::io::Write;
use std::path::{Path, PathBuf};

use abridge_base::files::{OutputFile, Outputs, read_text};
use abridge_corpus::CtxProSet;
use abridge_evaluate::{
    Control, ControlTests, Controls, CtxProContext, CtxProReport, CtxProRow, CtxProTask, Spread,
    ctxpro_hash, ctxpro_tests, part_file,
};
use abridge_model::DeviceKind;
use abridge_translate::BeamSettings;
use anyhow::{Context, ensure};
use clap::Args;

use super::contrast::{probability, range};
use super::model::ModelArgument;

/// Translates a ctxPro set at several context sizes and counts the correct words, or scores given
/// translations.
///
/// A translation is right if its last sentence has the expected word, as in the package ctxpro.
/// Besides the largest context, the same examples are translated without context and with sentences
/// from other documents: a gain that these give as well does not come from what the context says.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  abridge ctxpro --set ctxpro/formality.en-de --per-rule 250
  abridge ctxpro --model runs/grouping/model --set ctxpro/formality.en-de --context-size 0,1,3
  abridge ctxpro --set ctxpro/formality.en-de --translations formality.de
  abridge ctxpro --model runs/grouping/model --set ctxpro/auxiliary.en-de --output translations")]
pub struct CtxPro {
    /// The set: NAME of NAME.input and NAME.json.
    #[arg(long, value_name = "NAME")]
    set: PathBuf,
    #[command(flatten)]
    model: ModelArgument,
    /// Translations of the set, one per line, to score; several files are compared.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "model")]
    translations: Vec<PathBuf>,
    /// The language of the translations; by default the model's, or the one in the set's name.
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// The language to translate into, for a multilingual model.
    #[arg(long, value_name = "CODE", conflicts_with = "translations")]
    to: Option<String>,
    /// Sentences of context; by default 0 and as many as the model was trained with. More are
    /// possible, with a warning.
    #[arg(
        long = "context-size",
        alias = "context-sizes",
        value_delimiter = ',',
        value_name = "N,…"
    )]
    context_sizes: Vec<usize>,
    /// Other contexts of the largest size: none, random, shuffled, mirrored, only-1, only-2 and so
    /// on; `all`, or `off`.
    #[arg(long, value_name = "NAMES", default_value = "none,random")]
    controls: String,
    /// The seed that picks sentences for the random context.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many random contexts every example gets. The true context is compared with their mean,
    /// so that a small set does not depend on the luck of one draw.
    #[arg(long, value_name = "N", default_value_t = Controls::DRAWS as u32,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    draws: u32,
    /// Only the first N examples of each rule.
    #[arg(long, value_name = "N")]
    per_rule: Option<usize>,
    /// The beam size; by default the model's own, or 5.
    #[arg(long, value_name = "N")]
    beam: Option<usize>,
    /// Writes the translations of each context to FILE.CONTEXT. An interrupted run leaves them in
    /// FILE.part, from which the same command resumes.
    #[arg(long, short, value_name = "FILE", conflicts_with = "translations")]
    output: Option<PathBuf>,
    /// Prints one JSON object instead of tables.
    #[arg(long)]
    json: bool,
    /// Where to compute; `abridge --version --verbose` lists what this machine has.
    #[arg(long, default_value = "cpu", value_parser = super::parse::<DeviceKind>)]
    device: DeviceKind,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// Larger files are not translations of a test set.
const LARGEST: u64 = 1 << 30;

/// One column of the table: a file, a context, or all draws of a random one.
struct Column {
    name: String,
    draws: Vec<CtxProReport>,
}

impl CtxPro {
    /// Translates if a model is given, scores and reports.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut set = CtxProSet::read(&self.set)?;
        if let Some(most) = self.per_rule {
            set.keep_per_rule(most);
        }
        let (columns, tests, signature) =
            if self.translations.is_empty() { self.translate(&set)? } else { self.score(&set)? };
        let mut out = std::io::stdout().lock();
        if self.json {
            let results: Vec<serde_json::Value> = columns
                .iter()
                .flat_map(|Column { name, draws }| {
                    (1..).zip(draws).map(move |(number, report)| {
                        let name =
                            if number == 1 { name.clone() } else { format!("{name} {number}") };
                        serde_json::json!({ "name": name, "report": report })
                    })
                })
                .collect();
            let value = serde_json::json!({ "ctxpro": {
                "signature": signature, "examples": set.items.len(), "results": results,
                "controls": tests,
            }});
            writeln!(out, "{value:#}")?;
            return Ok(());
        }
        write!(out, "{}", table(&columns))?;
        if let Some(tests) = &tests {
            write!(out, "\n{}", test_table(tests))?;
        }
        writeln!(out, "\n{signature}")?;
        Ok(())
    }

    /// The language of the translations.
    fn language(&self, model: Option<&str>) -> anyhow::Result<String> {
        let name = self.set.file_name().unwrap_or_default().to_string_lossy();
        let named = name.split('.').find_map(|part| {
            part.split_once('-').map(|(_, target)| target).filter(|target| target.len() == 2)
        });
        let language = self.language.as_deref().or(model).or(named);
        Ok(language.context("give the language of the translations with --language")?.to_owned())
    }

    fn score(
        &self,
        set: &CtxProSet,
    ) -> anyhow::Result<(Vec<Column>, Option<ControlTests>, String)> {
        let language = self.language(None)?;
        let mut columns = Vec::new();
        for file in &self.translations {
            // An empty line is an empty translation, not the end of a document.
            let text = read_text(file, LARGEST)?;
            let lines: Vec<&str> = text.lines().collect();
            ensure!(
                lines.len() == set.items.len(),
                abridge_corpus::Error::new(format!(
                    "{} translations, but the set has {} examples",
                    lines.len(),
                    set.items.len()
                ))
                .in_file(file)
                .remedy("give one line per example, in the order of the set")
            );
            columns.push(Column {
                name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                draws: vec![CtxProReport::new(set, &lines, &language)],
            });
        }
        Ok((columns, None, signature(set, &language, None)))
    }

    fn translate(
        &self,
        set: &CtxProSet,
    ) -> anyhow::Result<(Vec<Column>, Option<ControlTests>, String)> {
        let asked = self.context_sizes.iter().copied().max();
        let model = self.model.directory(self.quiet)?;
        let translator = super::open_at(&model, self.device, asked, self.to.as_deref())?;
        let most = translator.model().config().context_size;
        let mut sizes = self.context_sizes.clone();
        if sizes.is_empty() {
            sizes = vec![0, most];
        }
        sizes.sort_unstable();
        sizes.dedup();
        let largest = sizes.last().copied().unwrap_or(0);
        ensure!(
            largest <= most,
            "{} does not support a context of {largest} sentences",
            self.model.name()
        );
        let controls: Vec<Control> = match self.controls.as_str() {
            "off" => Vec::new(),
            _ if largest == 0 => Vec::new(),
            "all" => Control::all(largest),
            names => names.split(',').map(str::parse).collect::<Result<_, _>>()?,
        };
        let beside = Controls { controls: &controls, seed: self.seed, draws: self.draws as usize };
        let truth = sizes.iter().map(|&size| CtxProContext { size, control: None });
        let drawn = beside.contexts().into_iter();
        let drawn = drawn.map(|draw| CtxProContext { size: largest, control: Some(draw) });
        let contexts: Vec<CtxProContext> = truth.chain(drawn).collect();
        let search = translator.default_search();
        let settings = BeamSettings { beam: self.beam.unwrap_or(search.beam), ..search.clone() };
        let files = self.output_files(&contexts)?;
        let part = self.output.as_deref().map(part_file);
        let task = CtxProTask {
            set,
            contexts: &contexts,
            settings: &settings,
            seed: self.seed,
            kept: part.as_deref(),
        };
        let total = set.items.len() * contexts.len();
        let bar = crate::progress::counter(total, "translations", self.quiet);
        let texts = task.translate(&translator, &mut |done| bar.inc(done as u64))?;
        bar.finish_and_clear();
        let language = self.language(translator.languages().map(|(_, target)| target))?;
        for (file, texts) in files.iter().zip(&texts) {
            file.write((texts.join("\n") + "\n").as_bytes())?;
        }
        let reports: Vec<CtxProReport> =
            texts.iter().map(|texts| CtxProReport::new(set, texts, &language)).collect();
        if let Some(part) = part {
            std::fs::remove_file(&part)
                .with_context(|| format!("cannot remove {}", part.display()))?;
        }
        let tests =
            (!controls.is_empty()).then(|| ctxpro_tests(set, beside, &reports[sizes.len() - 1..]));
        let mut columns: Vec<Column> = Vec::new();
        for (context, report) in contexts.iter().zip(reports) {
            match (context.control, columns.last_mut()) {
                (Some(draw), Some(column)) if draw.number > 1 => column.draws.push(report),
                _ => columns.push(Column { name: context.to_string(), draws: vec![report] }),
            }
        }
        let with = (translator.hash(), settings.beam, beside);
        Ok((columns, tests, signature(set, &language, Some(with))))
    }
}

impl CtxPro {
    /// The output file of each context; fails, before the work, if one cannot be written.
    fn output_files(&self, contexts: &[CtxProContext]) -> anyhow::Result<Vec<OutputFile>> {
        let Some(output) = &self.output else { return Ok(Vec::new()) };
        let mut outputs = Outputs::new();
        self.model.reading(&mut outputs)?;
        for file in CtxProSet::files(&self.set) {
            outputs.reading(&file);
        }
        outputs.file(&part_file(output))?;
        let file = |context: &CtxProContext| {
            let mut name = output.as_os_str().to_owned();
            name.push(format!(".{}", context.to_string().replace(' ', "-")));
            Ok(outputs.file(Path::new(&name))?)
        };
        contexts.iter().map(file).collect()
    }
}

fn signature(
    set: &CtxProSet,
    language: &str,
    model: Option<(&str, usize, Controls<'_>)>,
) -> String {
    let short = |hash: &str| hash[..hash.len().min(12)].to_owned();
    let model = model.map_or_else(String::new, |(hash, beam, controls)| {
        let Controls { seed, draws, .. } = controls;
        format!("|model:{}|beam:{beam}|seed:{seed}|draws:{draws}", short(hash))
    });
    let version = env!("CARGO_PKG_VERSION");
    let set = short(&ctxpro_hash(set));
    format!("ctxPro|set:{set}|language:{language}{model}|version:abridge-{version}")
}

/// A row per rule, a column per context.
fn table(columns: &[Column]) -> String {
    let Some(first) = columns.first() else { return String::new() };
    let name = |row: &CtxProRow| format!("{} ({})", row.rule, row.form);
    let rows = &first.draws[0];
    let width = rows.rules.iter().map(|row| name(row).chars().count()).max();
    let width = width.unwrap_or(0).max(14);
    let widths: Vec<usize> =
        columns.iter().map(|column| column.name.chars().count().max(8)).collect();
    let mut lines = Vec::new();
    let line = |name: &str, items: String, cells: Vec<String>| {
        let cells: Vec<String> =
            cells.iter().zip(&widths).map(|(cell, &width)| format!(" {cell:>width$}")).collect();
        format!("{name:<width$} {items:>8}{}\n", cells.concat())
    };
    let names = columns.iter().map(|column| column.name.clone()).collect();
    lines.push(line("", "examples".to_owned(), names));
    let cells = |share: &dyn Fn(&CtxProReport) -> f64| {
        let mean = |column: &Column| 100.0 * Spread::of(column.draws.iter().map(share)).mean;
        columns.iter().map(|column| format!("{:.1} %", mean(column))).collect()
    };
    for (place, row) in rows.rules.iter().enumerate() {
        let cells = cells(&|report| report.rules[place].accuracy.share());
        lines.push(line(&name(row), row.accuracy.items.to_string(), cells));
    }
    let all = cells(&|report| report.total.share());
    lines.push(line("all", rows.total.items.to_string(), all));
    lines.push(line("mean over rules", String::new(), cells(&CtxProReport::share)));
    for Column { name, draws } in columns.iter().filter(|column| column.draws.len() > 1) {
        let all = range(Spread::of(draws.iter().map(|report| report.total.share())));
        let mean = range(Spread::of(draws.iter().map(CtxProReport::share)));
        lines.push(format!("{name}: {} draws, all {all}, mean {mean}\n", draws.len()));
    }
    lines.concat()
}

fn test_table(tests: &ControlTests) -> String {
    let header = ("largest context against", "better by", "p", "Holm's p");
    let mut parts =
        vec![format!("{:<24} {:>16} {:>9} {:>9}\n", header.0, header.1, header.2, header.3)];
    parts.extend(tests.tests.iter().map(|test| {
        format!(
            "{:<24} {:>8.1} ± {:<5.1} {:>9} {:>9}\n",
            test.control.to_string(),
            100.0 * test.beyond.difference,
            100.0 * test.beyond.half_width,
            probability(test.beyond.p_value),
            probability(test.holm)
        )
    }));
    if let Some(reading) = &tests.reading {
        parts.push(format!("\n{reading}\n"));
    }
    parts.concat()
}
