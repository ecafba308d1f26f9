//! Sentences as parts of a page.

use maud::{Markup, PreEscaped, html};

use super::{
    ContextSentence, InspectedDocument, InspectedSentence, Kept, distance_in_words, times,
};
use crate::picture::page;

/// Shades the words of the memory while a word of the translation is hovered or focused.
const SCRIPT: &str = include_str!("page.js");

/// Words listed in the tooltip of a translated word.
const NAMED: usize = 6;
/// Words with fewer nats are not listed.
const FAINT: f32 = 0.05;
/// Nats of full shading: 20 times less probable.
pub(super) const STRONG: f32 = 3.0;

impl InspectedDocument {
    /// A page about documents.
    pub fn page(documents: &[Self], model: &str) -> String {
        let body = html! {
            p {
                "What the model " code { (model) } " keeps of each sentence, and which earlier \
                words decided its translation. Point at a token, or move to it with the Tab \
                key, to see its weights."
            }
            @for document in documents {
                h2 { "Document " (document.id) }
                @for sentence in &document.sentences { (sentence.section()) }
            }
        };
        page("What the memory keeps", body, Some(SCRIPT))
    }

    /// The script that [`InspectedSentence::section`] needs.
    pub fn script() -> &'static str {
        SCRIPT
    }
}

impl InspectedSentence {
    /// The sentence as part of a page.
    pub fn section(&self) -> Markup {
        html! {
            section.sentence {
                h3 { (self.position + 1) ". " (self.source) }
                p { (self.translation) }
                @match &self.kept {
                    Kept::Note(note) => p.faint { (note) },
                    Kept::Groups(groups) => {
                        @let grid = groups.grid(&self.source_tokens);
                        div.tokens {
                            @for (token, weights) in self.source_tokens.iter().zip(&groups.weights) {
                                span.token tabindex="0" {
                                    (token)
                                    span.tip role="tooltip" {
                                        @for (group, weight) in weights.iter().enumerate() {
                                            @if *weight > 0.0 { (bar(&format!("group {}", group + 1), *weight)) }
                                        }
                                        @if weights.iter().all(|weight| *weight <= 0.0) { "in no group" }
                                    }
                                }
                            }
                        }
                        div.wide { (PreEscaped(grid.draw().inline(&grid.title))) }
                    }
                }
                @if !self.context.is_empty() { (self.looked()) }
            }
        }
    }

    fn looked(&self) -> Markup {
        let is_decided = self.context.iter().any(|sentence| !sentence.influence.is_empty());
        html! {
            @if is_decided {
                div data-attention {
                    p.faint {
                        "Point at a word of the translation: the earlier words without which it \
                        would be less probable are shaded."
                    }
                    div.tokens {
                        @for (target, token) in self.target_tokens.iter().enumerate() {
                            span.token tabindex="0" data-weights=(self.influences_of(target)) {
                                (token)
                                (self.tip(target))
                            }
                        }
                    }
                    @for sentence in self.context.iter().filter(|s| !s.influence.is_empty()) {
                        (remembered(sentence))
                    }
                }
            }
            @for grid in [self.attention_grid(), self.entry_grid()].into_iter().flatten() {
                details {
                    summary { (grid.title) }
                    div.wide { (PreEscaped(grid.draw().inline(&grid.title))) }
                }
            }
        }
    }

    /// The tooltip of a word of the translation.
    fn tip(&self, target: usize) -> Markup {
        let deciding: Vec<_> =
            self.deciding(target, NAMED).into_iter().filter(|word| word.2 >= FAINT).collect();
        html! {
            span.tip role="tooltip" {
                @if deciding.is_empty() { "no earlier word matters to it" }
                @for (distance, word, nats) in deciding {
                    span.line {
                        (length(nats / STRONG))
                        (word) ", " (distance_in_words(distance)) ": " (times(nats))
                        " less probable without"
                    }
                }
            }
        }
    }

    /// All influences on a word of the translation, in the order of the earlier words, as shades
    /// from 0 to 1.
    fn influences_of(&self, target: usize) -> String {
        let shades: Vec<String> = self
            .context
            .iter()
            .flat_map(|sentence| sentence.influence.get(target).into_iter().flatten())
            .map(|nats| format!("{:.3}", (nats / STRONG).clamp(0.0, 1.0)))
            .collect();
        shades.join(" ")
    }
}

fn remembered(sentence: &ContextSentence) -> Markup {
    html! {
        div.tokens {
            span.faint { (distance_in_words(sentence.distance)) ": " }
            @for token in &sentence.tokens { span.token data-word { (token) } }
        }
    }
}

/// A bar of a tooltip.
fn length(share: f32) -> Markup {
    html! { b style=(format!("width:{:.1}rem", 4.0 * share.clamp(0.02, 1.0))) {} }
}

/// A line of a tooltip: a bar as long as the weight, the weight, a name.
fn bar(name: &str, weight: f32) -> Markup {
    html! { span.line { (length(weight)) (format!("{weight:.2} ")) (name) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::{GroupKind, Groups};

    #[test]
    fn a_sentence_with_markup_shows_as_text() {
        let evil = "</script><script>alert(1)</script><b onclick=\"x\">&";
        let sentence = InspectedSentence {
            position: 0,
            source: evil.into(),
            translation: evil.into(),
            source_tokens: vec![evil.into()],
            target_tokens: vec![evil.into()],
            kept: Kept::Groups(Groups { kind: GroupKind::Grouping, weights: vec![vec![1.0]] }),
            context: vec![ContextSentence {
                distance: 1,
                tokens: vec![evil.into()],
                entry: vec![vec![1.0]],
                words: vec![vec![1.0]],
                influence: vec![vec![3.0]],
            }],
        };
        let document = InspectedDocument { id: evil.into(), sentences: vec![sentence] };
        let page = InspectedDocument::page(&[document], evil);
        assert!(!page.contains("<script>alert") && !page.contains("<b onclick"));
        assert_eq!(page.matches("</script>").count(), 1, "only the page's own");
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(page.contains("data-weights=\"1.000\"") && page.contains("tabindex=\"0\""));
    }
}
