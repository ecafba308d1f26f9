//! The comparison as a page.

use abridge_evaluate::ContrastiveReport;
use abridge_evaluate::inspect::InspectedDocument;
use abridge_evaluate::picture::{BarChart, LineChart, Series, html_table, page};
use maud::{Markup, PreEscaped, html};

use super::compare::DemoComparison;
use super::pronouns::{Word, words};

impl DemoComparison {
    /// A page that opens from disk.
    pub fn page(&self, commands: &[String]) -> String {
        let body = html! {
            p {
                "Two tiny models were trained on the same sentences. One sees each sentence alone; \
                the other keeps a short memory of the three sentences before. In the practice \
                corpus only that memory can tell whether " i { "it" } " is " i { "er" } ", "
                i { "sie" } " or " i { "es" } "."
            }
            h2 { "A document that neither model has seen" }
            p {
                "Pronouns are " span.right { "right" } " or " span.wrong { "wrong" }
                ", compared with the reference."
            }
            (self.translated())
            h2 { "How often the right pronoun is preferred" }
            (self.accuracy_chart())
            (self.accuracy_table())
            h2 { "Memory per context sentence" }
            (self.memory())
            h2 { "Learning curves" }
            (self.learning())
            h2 { "What the memory keeps" }
            p {
                "Latent Grouping distributes each token over " (self.rows) " groups; a group is \
                one vector of the memory. Point at a token, or move to it with the Tab key, to \
                see its weights. Below each grid, point at a pronoun of the translation: the \
                earlier words that decided it are shaded."
            }
            @for sentence in &self.inspected.sentences { (sentence.section()) }
            h2 { "Try next" }
            pre { (commands.join("\n")) }
        };
        page("abridge demo: with and without context", body, Some(InspectedDocument::script()))
    }

    fn translated(&self) -> Markup {
        let [without, with] = &self.translations;
        html! {
            @for (index, segment) in self.document.segments.iter().enumerate() {
                @let reference = segment.target.as_deref().unwrap_or_default();
                div.sentence {
                    dl {
                        dt { "English" } dd { (segment.source) }
                        dt { "reference" } dd { (reference) }
                        dt { "without context" } dd { (marked(&without[index], reference)) }
                        dt { "with context" } dd { (marked(&with[index], reference)) }
                    }
                }
            }
        }
    }

    fn accuracy_chart(&self) -> Markup {
        let distances = self.distances();
        let of = |report: &ContrastiveReport| {
            let share = |distance: &String| {
                let row = report.by_distance.iter().find(|(name, _)| name == distance)?;
                Some(100.0 * row.1.share())
            };
            distances.iter().map(share).collect()
        };
        let [without, with] = &self.accuracy;
        let chart = BarChart {
            title: "accuracy in per cent, by how many sentences back the noun is".into(),
            groups: distances.clone(),
            systems: vec![
                ("without context".into(), of(without)),
                ("with three sentences".into(), of(with)),
            ],
            unit: " %".into(),
            mark: Some((100.0 / 3.0, "chance".into())),
        };
        html! { figure { (PreEscaped(chart.draw().inline(&chart.title))) } }
    }

    fn accuracy_table(&self) -> Markup {
        let header = ["sentences back", "examples", "without context", "with three sentences"];
        let [without, with] = &self.accuracy;
        let mut rows = vec![vec![
            "all".to_owned(),
            with.total.items.to_string(),
            percent(without.total.share()),
            percent(with.total.share()),
        ]];
        for ((name, without), (_, with)) in without.by_distance.iter().zip(&with.by_distance) {
            let items = with.items.to_string();
            rows.push(vec![name.clone(), items, percent(without.share()), percent(with.share())]);
        }
        html! {
            (html_table(1, &header.map(str::to_owned), &rows))
            p.faint {
                "Distance 0 is the same sentence. Beyond three sentences back, the noun has left \
                the memory, and both models can only guess."
            }
        }
    }

    fn distances(&self) -> Vec<String> {
        self.accuracy[1].by_distance.iter().map(|(name, _)| name.clone()).collect()
    }

    fn memory(&self) -> Markup {
        let kibibytes = |bytes: usize| bytes as f64 / 1024.0;
        let series = |name: &str, colour: usize, of: fn(&super::compare::Memory) -> usize| Series {
            name: name.into(),
            points: self.memory.iter().map(|m| (m.tokens as f64, kibibytes(of(m)))).collect(),
            dashed: false,
            colour,
        };
        let chart = LineChart {
            title: "memory of one context sentence, including keys and values of every layer"
                .into(),
            x: "tokens of the sentence".into(),
            y: "KiB".into(),
            series: vec![
                series("every token", 8, |memory| memory.every_token),
                series("grouping", 0, |memory| memory.grouped),
            ],
            from_zero: true,
        };
        html! {
            p { "The memory keeps " (self.rows) " vectors per sentence, however long it is." }
            figure { (PreEscaped(chart.draw().inline(&chart.title))) }
        }
    }

    fn learning(&self) -> Markup {
        let chart = LineChart {
            title: "loss in bits per token; lower is better".into(),
            x: "updates".into(),
            y: "bits per token".into(),
            series: self.curves.clone(),
            from_zero: false,
        };
        html! {
            figure { (PreEscaped(chart.draw().inline(&chart.title))) }
            p.faint {
                "The first tenth of training is not shown. The curves are close, because few words \
                are pronouns that need context: loss and BLEU hardly reflect what the accuracy \
                above shows."
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn marked(translation: &str, reference: &str) -> Markup {
    html! {
        @for (place, Word { text, right }) in words(translation, reference).iter().enumerate() {
            @if place > 0 { " " }
            @match right {
                Some(true) => span.right { (text) },
                Some(false) => span.wrong { (text) },
                None => (text),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_are_marked_and_escaped() {
        let marked = marked("<b>Er</b> sah sie", "Er sah ihn").into_string();
        assert_eq!(marked, "&lt;b&gt;Er&lt;/b&gt; sah <span class=\"wrong\">sie</span>");
    }
}
