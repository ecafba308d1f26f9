//! Example translations that differ in a pronoun between models (the paper's Table 10).

use abridge_corpus::swaps::SwapTable;
use abridge_corpus::{ContrastiveItem, ContrastiveSet, Document};
use abridge_translate::{InContext, Result, Translator};
use maud::{Markup, html};
use serde::Serialize;

use crate::picture::page;
use crate::tagger::{Tag, TagLanguage, tag_document};

/// A sentence that models translate with different pronouns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PronounExample {
    /// The example of the set.
    pub item: ContrastiveItem,
    /// One translation per model.
    pub translations: Vec<PronounTranslation>,
}

/// A translation and its pronoun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PronounTranslation {
    /// The text.
    pub text: String,
    /// Its pronoun among the choices of the set, in lower case.
    pub pronoun: Option<String>,
    /// Whether the pronoun is that of the reference.
    pub is_right: bool,
}

/// Sentences translated together.
const CHUNK: usize = 512;

/// Sentences of any documents as examples, with this many sentences of context: those whose reference
/// has one pronoun that depends on context, if the table has others for it.
pub fn pronoun_sentences(
    documents: &[Document],
    language: TagLanguage,
    table: &SwapTable,
    context: usize,
) -> ContrastiveSet {
    let mut items = Vec::new();
    for Document { id, segments } in documents {
        let sources: Vec<&str> = segments.iter().map(|s| s.source.as_str()).collect();
        let targets: Vec<&str> =
            segments.iter().map(|s| s.target.as_deref().unwrap_or_default()).collect();
        for (index, tagged) in tag_document(&sources, &targets, language).iter().enumerate() {
            let mut pronouns = tagged.iter().filter(|tagged| tagged.tag == Tag::Pronoun);
            let (Some(pronoun), None) = (pronouns.next(), pronouns.next()) else { continue };
            let has = |words: &[String], word: &str| words.iter().any(|other| other == word);
            let swap = table.swap.iter().find(|swap| has(&swap.words, &pronoun.word));
            let Some(swap) = swap else { continue };
            let others = swap.words.iter().filter(|other| **other != pronoun.word);
            let before = &sources[index.saturating_sub(context)..index];
            items.push(ContrastiveItem {
                id: items.len().to_string(),
                source: sources[index].to_owned(),
                context: before.iter().map(ToString::to_string).collect(),
                candidates: vec![targets[index].to_owned()],
                pronoun: Some(pronoun.word.clone()),
                replacements: others.cloned().collect(),
                source_pronoun: words(sources[index])
                    .map(|(word, _)| word)
                    .find(|word| has(&swap.source, word)),
                document: Some(id.clone()),
                ..ContrastiveItem::default()
            });
        }
    }
    ContrastiveSet { items, notes: Vec::new() }
}

/// Translates every example of a set, with its context, with each model: a list per model.
pub fn translate_examples(
    translators: &[Translator],
    set: &ContrastiveSet,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Vec<String>>> {
    let mut translations = Vec::new();
    for translator in translators {
        let mut texts = Vec::new();
        for items in set.items.chunks(CHUNK) {
            let requests: Vec<InContext<'_>> = items
                .iter()
                .map(|item| InContext { source: &item.source, context: &item.context, shown: None })
                .collect();
            texts.extend(translator.translate_in_context(&requests, translator.default_search())?);
            progress(items.len());
        }
        translations.push(texts);
    }
    Ok(translations)
}

/// The examples of a set on which models differ; `translations` has a list per model.
pub fn pronoun_examples(set: &ContrastiveSet, translations: &[Vec<String>]) -> Vec<PronounExample> {
    let example = |(index, item): (usize, &ContrastiveItem)| {
        let of_models = translations.iter().map(|texts| translation(item, &texts[index]));
        let translations: Vec<PronounTranslation> = of_models.collect();
        let first = translations.first()?;
        let differ = translations.iter().any(|other| other.pronoun != first.pronoun);
        // Translations without any of the pronouns are not compared.
        let known = translations.iter().all(|translation| translation.pronoun.is_some());
        (differ && known).then(|| PronounExample { item: item.clone(), translations })
    };
    set.items.iter().enumerate().filter_map(example).collect()
}

fn translation(item: &ContrastiveItem, text: &str) -> PronounTranslation {
    let choices: Vec<&String> = item.pronoun.iter().chain(&item.replacements).collect();
    let pronoun = words(text).map(|(word, _)| word).find(|word| choices.contains(&word));
    let is_right = pronoun.is_some() && pronoun == item.pronoun;
    PronounTranslation { text: text.to_owned(), pronoun, is_right }
}

/// Words in lower case with their positions.
fn words(text: &str) -> impl Iterator<Item = (String, std::ops::Range<usize>)> + '_ {
    let mut start = 0;
    text.split_inclusive(|c: char| !c.is_alphanumeric()).filter_map(move |part| {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let place = start..start + word.len();
        start += part.len();
        (!word.is_empty()).then(|| (word.to_lowercase(), place))
    })
}

/// A text in three parts around the first occurrence of a word or phrase.
fn around<'a>(text: &'a str, phrase: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let many = phrase.contains(' ');
    let place = if many {
        text.find(phrase).map(|start| start..start + phrase.len())
    } else {
        words(text).find(|(word, _)| *word == phrase.to_lowercase()).map(|(_, place)| place)
    }?;
    Some((&text[..place.start], &text[place.clone()], &text[place.end..]))
}

/// The examples as text: `[antecedent]`, `_pronoun_` of the source, `*wrong pronoun*`.
pub fn examples_text(examples: &[PronounExample], models: &[String]) -> String {
    let width = models.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(9);
    let mut lines = Vec::new();
    for PronounExample { item, translations } in examples {
        let mark = |text: &str, phrase: Option<&str>, marks: [&str; 2]| match phrase
            .and_then(|phrase| around(text, phrase))
        {
            Some((before, found, after)) => [before, marks[0], found, marks[1], after].concat(),
            None => text.to_owned(),
        };
        let antecedent = item.source_antecedent.as_deref();
        let sentence = |text: &str| mark(text, antecedent, ["[", "]"]);
        for before in &item.context {
            lines.push(format!("{:<width$}  {}", "context", sentence(before)));
        }
        let pronoun = item.source_pronoun.as_deref().unwrap_or("it");
        let source = mark(&item.source, Some(pronoun), ["_", "_"]);
        lines.push(format!("{:<width$}  {source}", "source"));
        let reference = item.candidates.first().map_or("", String::as_str);
        lines.push(format!("{:<width$}  {reference}", "reference"));
        for (name, translation) in models.iter().zip(translations) {
            let wrong = translation.pronoun.as_deref().filter(|_| !translation.is_right);
            lines.push(format!("{name:<width$}  {}", mark(&translation.text, wrong, ["*", "*"])));
        }
        lines.push(String::new());
    }
    lines.join("\n") + "\n"
}

/// How often the models differ, and how often each is right then.
pub fn examples_summary(examples: &[PronounExample], models: &[String], all: usize) -> String {
    let count = |model: usize| examples.iter().filter(|e| e.translations[model].is_right).count();
    let right = models
        .iter()
        .enumerate()
        .map(|(model, name)| format!("  of these, {name} is right in {}\n", count(model)));
    let head = format!("{} of {all} sentences have different pronouns\n", examples.len());
    std::iter::once(head).chain(right).collect()
}

/// The examples as a page.
pub fn examples_page(examples: &[PronounExample], models: &[String]) -> String {
    let marked = |text: &str, phrase: Option<&str>, class: &str| -> Markup {
        let parts = phrase.and_then(|phrase| around(text, phrase));
        let (before, found, after) = parts.unwrap_or((text, "", ""));
        html! { (before) @if !found.is_empty() { b class=(class) { (found) } } (after) }
    };
    let body = html! {
        style { "b.antecedent{color:#1f5fa8} b.pronoun{color:#7a3fa0} b.right{color:#1a7f37} b.wrong{color:#c0281f} td{padding:.15em .6em}" }
        p { "Sentences that the models translate with different pronouns. "
            b class="antecedent" { "Antecedent" } ", " b class="pronoun" { "pronoun" } ", "
            b class="right" { "right" } " and " b class="wrong" { "wrong" } " translations of it." }
        @for PronounExample { item, translations } in examples {
            table {
                @for before in &item.context {
                    tr { td { "context" } td { (marked(before, item.source_antecedent.as_deref(), "antecedent")) } }
                }
                tr { td { "source" } td { (marked(&item.source, Some(item.source_pronoun.as_deref().unwrap_or("it")), "pronoun")) } }
                tr { td { "reference" } td { (marked(item.candidates.first().map_or("", String::as_str), item.pronoun.as_deref(), "right")) } }
                @for (name, translation) in models.iter().zip(translations) {
                    tr {
                        td { (name) }
                        td { (marked(&translation.text, translation.pronoun.as_deref(), if translation.is_right { "right" } else { "wrong" })) }
                    }
                }
            }
            hr;
        }
    };
    page("Translations that differ in a pronoun (Table 10)", body, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> ContrastiveSet {
        let item = |source: &str| ContrastiveItem {
            source: source.into(),
            context: vec!["I saw the lamp.".into()],
            candidates: vec!["Sie leuchtet.".into(), "Er leuchtet.".into()],
            pronoun: Some("sie".into()),
            replacements: vec!["er".into(), "es".into()],
            source_antecedent: Some("the lamp".into()),
            ..ContrastiveItem::default()
        };
        ContrastiveSet { items: vec![item("It shines."), item("It is on.")], notes: Vec::new() }
    }

    #[test]
    fn only_differences_are_shown_and_marked() {
        let first = vec!["Es leuchtet.".to_owned(), "Sie ist an.".to_owned()];
        let second = vec!["Sie leuchtet <.".to_owned(), "Sie ist an.".to_owned()];
        let examples = pronoun_examples(&set(), &[first, second]);
        assert_eq!(examples.len(), 1);
        let models = ["without".to_owned(), "with".to_owned()];
        let text = examples_text(&examples, &models);
        assert_eq!(
            text,
            "context    I saw [the lamp].\nsource     _It_ shines.\nreference  Sie leuchtet.\n\
             without    *Es* leuchtet.\nwith       Sie leuchtet <.\n\n"
        );
        let page = examples_page(&examples, &models);
        assert!(page.contains("<b class=\"wrong\">Es</b>") && page.contains("leuchtet &lt;."));
        assert_eq!(
            examples_summary(&examples, &models, 2),
            "1 of 2 sentences have different pronouns\n  of these, without is right in 0\n  of \
             these, with is right in 1\n"
        );
    }

    #[test]
    fn any_document_has_examples_where_its_reference_has_a_pronoun() {
        let pair = |source: &str, target: &str| abridge_corpus::Segment::pair(source, target);
        let document = Document::new(
            "d",
            vec![
                pair("I saw a lamp.", "Ich sah eine Lampe."),
                pair("Then it shone.", "Dann leuchtete sie."),
                pair("It was on, and it was old.", "Sie war an, und sie war alt."),
                pair("Ben saw it.", "Ben sah ihn."),
            ],
        );
        let table = SwapTable::built_in("de").unwrap();
        let set = pronoun_sentences(&[document], TagLanguage::German, &table, 2);
        // Two pronouns cannot be told apart, and the table has no other word for `ihn`.
        let [item] = &set.items[..] else { panic!("{set:?}") };
        assert_eq!((item.pronoun.as_deref(), item.context.len()), (Some("sie"), 1));
        assert_eq!(item.replacements.iter().filter(|word| *word == "sie").count(), 0);
        assert!(item.replacements.contains(&"es".to_owned()), "{item:?}");
        assert_eq!(item.source_pronoun.as_deref(), Some("it"));
    }

    #[test]
    fn a_translation_without_a_pronoun_is_not_an_example() {
        let texts = [vec!["Leuchtet.".to_owned(); 2], vec!["Er leuchtet.".to_owned(); 2]];
        assert!(pronoun_examples(&set(), &texts).is_empty());
    }
}
