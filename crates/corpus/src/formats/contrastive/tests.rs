//! Every set is written to a directory by hand, read back and compared.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::{Document, Segment};

struct Directory(tempfile::TempDir);

impl Directory {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            directory.write(name, text.as_bytes());
        }
        directory
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn input(&self, name: &str, target: &str) -> ContrastiveInput {
        ContrastiveInput::new(self.path().join(name), "en", target)
    }

    fn message(&self, name: &str, target: &str) -> String {
        ContrastiveSet::read(&self.input(name, target)).unwrap_err().to_string()
    }
}

fn documents() -> Vec<Document> {
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(source, target)| Segment::pair(*source, *target)).collect()
    };
    vec![
        Document::new(
            "1990_1",
            pairs(&[
                ("The lamp is new.", "Die Lampe ist neu."),
                ("Look.", "Schau."),
                ("It shines.", "Sie leuchtet."),
            ]),
        ),
        Document::new("plain", pairs(&[("It rolls.", "Er rollt.")])),
    ]
}

fn set() -> ContrastiveSet {
    let lamp = ContrastiveItem {
        id: "0".into(),
        source: "It shines.".into(),
        context: vec!["The lamp is new.".into(), "Look.".into()],
        target_context: vec!["Die Lampe ist neu.".into(), "Schau.".into()],
        candidates: vec!["Sie leuchtet.".into(), "Er leuchtet.".into(), "Es leuchtet.".into()],
        pronoun: Some("sie".into()),
        replacements: vec!["er".into(), "es".into()],
        source_pronoun: Some("it".into()),
        antecedent_distance: Some(2),
        source_antecedent: Some("The lamp".into()),
        target_antecedent: Some("Die Lampe".into()),
        document: Some("1990_1".into()),
        segment: Some(2),
        category: Some("pronominal coreference".into()),
    };
    let ball = ContrastiveItem {
        id: "1".into(),
        source: "It rolls.".into(),
        context: Vec::new(),
        target_context: Vec::new(),
        candidates: vec!["Er rollt.".into(), "Sie rollt.".into()],
        pronoun: Some("er".into()),
        replacements: vec!["sie".into()],
        antecedent_distance: None,
        document: Some("plain".into()),
        segment: Some(0),
        ..lamp.clone()
    };
    ContrastiveSet { items: vec![lamp, ball], notes: Vec::new() }
}

fn written(set: &ContrastiveSet, contexts: bool) -> String {
    let output = ContraProOutput { corpus: "test".into(), target_language: "de".into(), contexts };
    let mut out = Vec::new();
    set.write_contrapro(&output, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn contrapro_json_round_trips_with_documents() {
    let directory = Directory::new(&[("set.json", &written(&set(), false))]);
    write_documents(&documents(), &directory.path().join("films"), "en", "de").unwrap();
    assert!(directory.path().join("films/1990/1990_1.en").is_file());
    let mut input = directory.input("set.json", "de");
    input.documents = Some(directory.path().join("films"));
    assert_eq!(ContrastiveSet::read(&input).unwrap(), set());
    input.context = 1;
    assert_eq!(ContrastiveSet::read(&input).unwrap().items[0].context, ["Look."]);
}

#[test]
fn contrapro_json_round_trips_with_inline_contexts() {
    let directory = Directory::new(&[("set.json", &written(&set(), true))]);
    assert_eq!(ContrastiveSet::read(&directory.input("set.json", "de")).unwrap(), set());
}

#[test]
fn contrapro_json_has_the_fields_of_the_published_set() {
    let json: serde_json::Value = serde_json::from_str(&written(&set(), false)).unwrap();
    assert_eq!(json[0]["document id"], "1990_1.de");
    assert_eq!(json[0]["segment id"], 3);
    assert_eq!(json[0]["ante distance"], 2);
    assert_eq!(json[0]["intrasegmental"], false);
    assert_eq!(json[0]["src pronoun"], "it");
    assert_eq!(json[0]["ref pronoun"], "sie");
    assert_eq!(json[0]["errors"][1]["contrastive"], "Es leuchtet.");
    assert_eq!(json[0]["errors"][1]["replacement"], "es");
}

#[test]
fn segments_counted_from_zero_are_recognised() {
    let json = written(&set(), false)
        .replace("\"segment id\": 3", "\"segment id\": 2")
        .replace("\"segment id\": 1", "\"segment id\": 0");
    let directory = Directory::new(&[("set.json", &json)]);
    write_documents(&documents(), directory.path(), "en", "de").unwrap();
    let mut input = directory.input("set.json", "de");
    input.documents = Some(directory.path().to_path_buf());
    assert_eq!(ContrastiveSet::read(&input).unwrap(), set());
}

#[test]
fn wrong_documents_are_errors() {
    let directory = Directory::new(&[("set.json", &written(&set(), false))]);
    let mut input = directory.input("set.json", "de");
    input.documents = Some(directory.path().join("films"));
    let message = |input: &ContrastiveInput| ContrastiveSet::read(input).unwrap_err().to_string();
    assert!(message(&input).contains("cannot list"), "{}", message(&input));

    let mut films = documents();
    films[0].segments[2].source = "Something else.".into();
    films[1].segments[0].source = "Something else.".into();
    write_documents(&films, &directory.path().join("films"), "en", "de").unwrap();
    assert!(message(&input).contains("only 0 of 2 source sentences"), "{}", message(&input));

    films[1].segments[0].source = "It rolls.".into();
    write_documents(&films, &directory.path().join("films"), "en", "de").unwrap();
    let notes = ContrastiveSet::read(&input).unwrap().notes;
    assert!(notes[0].starts_with("1 of 2 source sentences differ"), "{notes:?}");

    directory.write("films/1990/1990_1.de", b"Nur eine Zeile.\n");
    assert!(message(&input).contains("3 lines, but"), "{}", message(&input));
    std::fs::remove_file(directory.path().join("films/1990/1990_1.de")).unwrap();
    assert!(message(&input).contains("no file 1990_1.de"), "{}", message(&input));
}

#[test]
fn broken_json_is_named_with_its_line() {
    let directory = Directory::new(&[
        ("cut.json", "[\n{\"src segment\": \"It\",\n"),
        ("empty.json", r#"[{"src segment": "a", "ref segment": "b", "errors": []}]"#),
        ("object.json", r#"{"1": {"src": ["only one"]}}"#),
    ]);
    assert!(directory.message("cut.json", "de").contains("cut.json:"));
    assert!(directory.message("empty.json", "de").contains("example 0 has no wrong translation"));
    assert!(directory.message("object.json", "fr").contains("not one of Bawden's sets"));
}

const TEXT: &[(&str, &str)] = &[
    ("contrapro.text.en", "It shines.\nIt shines.\nIt rolls.\nIt rolls.\nIt rolls.\n"),
    ("contrapro.text.de", "Sie leuchtet.\nEr leuchtet.\nEr rollt.\nSie rollt.\nEs rollt.\n"),
    ("contrapro.context.en", "\nA lamp.\n\nA lamp.\n\n\n\n\n\n\n"),
    ("contrapro.context.de", "\nEine Lampe.\n\nEine Lampe.\n\n\n\n\n\n\n"),
];

#[test]
fn contrapro_text_is_grouped_by_its_lines() {
    let directory = Directory::new(TEXT);
    let set = ContrastiveSet::read(&directory.input("", "de")).unwrap();
    assert_eq!(set, ContrastiveSet::read(&directory.input("contrapro", "de")).unwrap());
    assert_eq!(set.items.len(), 2);
    assert_eq!(set.candidates(), 5);
    assert_eq!(set.items[0].context, ["A lamp."]);
    assert_eq!(set.items[0].target_context, ["Eine Lampe."]);
    assert_eq!(set.items[1].context, Vec::<String>::new());
    assert_eq!(set.items[1].candidates, ["Er rollt.", "Sie rollt.", "Es rollt."]);
    assert_eq!(set.items[1].pronoun.as_deref(), Some("er"));
    assert_eq!(set.items[1].replacements, ["sie", "es"]);
}

#[test]
fn a_sentence_with_two_pronouns_is_two_examples() {
    let directory = Directory::new(&[
        ("s.text.en", "It saw it.\nIt saw it.\nIt saw it.\nIt saw it.\n"),
        ("s.text.de", "Er sah es.\nSie sah es.\nEr sah es.\nEr sah ihn.\n"),
    ]);
    let set = ContrastiveSet::read(&directory.input("", "de")).unwrap();
    let pronouns: Vec<_> = set.items.iter().map(|item| item.pronoun.as_deref().unwrap()).collect();
    assert_eq!(pronouns, ["er", "es"]);
}

#[test]
fn contrapro_groups_add_annotations() {
    let directory = Directory::new(TEXT);
    let header = "group\tfirst_line\tend_line\tref_pronoun\tante_distance\tdocument_id\tsegment_id";
    let groups = format!("{header}\n0\t0\t2\tSie\t1\t1990_1.de\t7\n1\t2\t5\ter\tNA\tNA\tNA\n");
    directory.write("groups.tsv", groups.as_bytes());
    let set = ContrastiveSet::read(&directory.input("", "de")).unwrap();
    assert_eq!(set.items[0].antecedent_distance, Some(1));
    assert_eq!(set.items[0].pronoun.as_deref(), Some("sie"));
    assert_eq!(set.items[0].document.as_deref(), Some("1990_1"));
    assert_eq!(set.items[0].segment, Some(6));
    assert_eq!(set.items[1].antecedent_distance, None);

    directory.write("groups.tsv", format!("{header}\n0\t0\t2\n1\t3\t5\n").as_bytes());
    assert!(directory.message("", "de").contains("groups.tsv:3: not a range of lines"));
    directory.write("groups.tsv", format!("{header}\n0\t0\t2\n").as_bytes());
    assert!(directory.message("", "de").contains("groups of 2 lines for 5 lines"));
    directory.write("groups.tsv", b"a\tb\n");
    assert!(directory.message("", "de").contains("groups.tsv:1: no columns"));
}

#[test]
fn wrong_counts_are_errors() {
    let directory = Directory::new(TEXT);
    directory.write("contrapro.context.en", b"a\nb\nc\n");
    let expected = "3 lines, which is not a multiple of the 5 lines";
    assert!(directory.message("", "de").contains(expected));
    directory.write("contrapro.text.de", b"Sie.\n");
    assert!(directory.message("", "de").contains("5 lines, but"));
}

#[test]
fn the_large_set_is_read_with_its_longest_context() {
    let directory = Directory::new(&[
        ("current.src", "It sleeps.\nIt sleeps.\nThey eat.\nThey eat.\n"),
        ("current.trg", "Elle dort.\nIl dort.\nIls mangent.\nElles mangent.\n"),
        ("c1.context.src", "A cat.\nA cat.\nDogs.\nDogs.\n"),
        ("c1.context.trg", "Une chatte.\nUne chatte.\nDes chiens.\nDes chiens.\n"),
        ("c2.context.src", "Look.\nA cat.\nLook.\nA cat.\n\n\n\n\n"),
        ("c2.context.trg", "Regarde.\nUne chatte.\nRegarde.\nUne chatte.\n\n\n\n\n"),
        ("pronouns.txt", "elle\nils\n"),
    ]);
    let set = ContrastiveSet::read(&directory.input("", "fr")).unwrap();
    assert_eq!(set.items[0].context, ["Look.", "A cat."]);
    assert_eq!(set.items[0].target_context, ["Regarde.", "Une chatte."]);
    assert_eq!(set.items[0].candidates, ["Elle dort.", "Il dort."]);
    assert_eq!(set.items[0].pronoun.as_deref(), Some("elle"));
    assert_eq!(set.items[0].replacements, ["il"]);
    assert_eq!(set.items[1].context, ["Dogs."], "the longer context is empty here");
    let mut input = directory.input("", "fr");
    input.context = 1;
    assert_eq!(ContrastiveSet::read(&input).unwrap().items[0].context, ["A cat."]);

    directory.write("pronouns.txt", b"elle\n");
    assert!(directory.message("", "fr").contains("1 pronouns for 2 pairs"));
    directory.write("current.src", b"It sleeps.\nIt dreams.\nThey eat.\nThey eat.\n");
    std::fs::remove_file(directory.path().join("pronouns.txt")).unwrap();
    assert!(directory.message("", "fr").contains("current.src:2: not the same source"));
}

#[test]
fn bawden_text_and_json_agree() {
    let directory = Directory::new(&[
        ("anaphora.current.en", "It is cold.\nIt is cold.\n"),
        ("anaphora.current.fr", "Elle est froide.\nIl est froid.\n"),
        ("anaphora.prev.en", "Try the soup.\nTry the soup.\n"),
        ("anaphora.prev.fr", "Goûte la soupe.\nGoûte la soupe.\n"),
        ("lexical_choice.current.en", ""),
        (
            "anaphora.json",
            r#"{"1": {"src": ["Try the soup.", "It is cold."], "trg": [{
                "semi-correct": ["Goûte la soupe.", "Elle est froide."],
                "incorrect": ["Goûte la soupe.", "Il est froid."], "type": "f.sg"}]}}"#,
        ),
        (
            "lexical.json",
            r#"{"10": {"type": "repet", "examples": []}, "2": {"type": "repet", "examples": [{
                "src": ["A bat.", "That bat!"],
                "trg": {"correct": ["Une batte.", "Cette batte !"],
                        "incorrect": ["Une batte.", "Ce bâton !"]}}]}}"#,
        ),
    ]);
    let text = ContrastiveSet::read(&directory.input("anaphora", "fr")).unwrap();
    let json = ContrastiveSet::read(&directory.input("anaphora.json", "fr")).unwrap();
    assert_eq!(text.items.len(), 1);
    assert_eq!(json.items[0].category.as_deref(), Some("f.sg"));
    let same = ContrastiveItem { id: "0".into(), category: None, ..json.items[0].clone() };
    assert_eq!(text.items[0], same);
    assert_eq!(text.items[0].pronoun.as_deref(), Some("elle"));
    let lexical = ContrastiveSet::read(&directory.input("lexical.json", "fr")).unwrap();
    assert_eq!(lexical.items[0].id, "2.0");
    assert_eq!(lexical.items[0].category.as_deref(), Some("repet"));
    let message = directory.message("", "fr");
    assert!(message.contains("2 contrastive sets here: anaphora, lexical_choice"), "{message}");
    assert!(directory.message("missing", "fr").contains("2 contrastive sets here"));
    assert!(directory.message("anaphora", "nl").contains("cannot read"));
    assert!(directory.message("missing.json", "fr").contains("missing.json: cannot read"));
    assert!(directory.message("missing/set", "nl").contains("cannot list"));
}

#[test]
fn mt_geneval_splits_its_lines() {
    let directory = Directory::new(&[
        ("set-2to1-test.en_de.en", "She paints. <sep> The artist won.\n"),
        ("set-original-test.en_de.de", "Die Künstlerin gewann.\n"),
        ("set-flipped-test.en_de.de", "Der Künstler gewann.\n"),
    ]);
    let set = ContrastiveSet::read(&directory.input("", "de")).unwrap();
    assert_eq!(set.items[0].context, ["She paints."]);
    assert_eq!(set.items[0].source, "The artist won.");
    assert_eq!(set.items[0].candidates, ["Die Künstlerin gewann.", "Der Künstler gewann."]);
    directory.write("set-2to1-test.en_de.en", b"No separator.\n");
    assert!(directory.message("", "de").contains("en_de.en:1: no <sep>"));
}

#[test]
fn document_ids_must_be_valid_file_names() {
    let directory = Directory::new(&[]);
    for id in ["", "../up", "a/b", ".hidden"] {
        let document = Document::new(id, vec![Segment::pair("a", "b")]);
        assert!(write_documents(&[document], directory.path(), "en", "de").is_err(), "{id}");
    }
    let untranslated = Document::new("x", vec![Segment::new("a")]);
    assert!(write_documents(&[untranslated], directory.path(), "en", "de").is_err());
}

fn item() -> impl Strategy<Value = ContrastiveItem> {
    let text = || "[A-Za-zé][a-zß\"\\\\ ]{0,6}[a-z]";
    let context = prop::collection::vec((text(), text()), 0..3);
    let wrong = prop::collection::vec((text(), "[a-z]{1,4}"), 1..4);
    (text(), text(), context, wrong, any::<Option<u16>>(), 0..9usize).prop_map(
        |(source, reference, context, wrong, distance, segment)| {
            let (context, target_context) = context.into_iter().unzip();
            let (wrong, replacements): (Vec<_>, Vec<_>) = wrong.into_iter().unzip();
            ContrastiveItem {
                source,
                context,
                target_context,
                candidates: std::iter::once(reference).chain(wrong).collect(),
                pronoun: Some("er".into()),
                source_pronoun: Some("it".into()),
                replacements,
                antecedent_distance: distance.map(u32::from),
                document: Some("a.b".into()),
                segment: Some(segment),
                category: Some("x".into()),
                ..ContrastiveItem::default()
            }
        },
    )
}

proptest! {
    // Every case writes a few dozen files.
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn contrapro_json_round_trips(items in prop::collection::vec(item(), 0..6)) {
        let items: Vec<_> = items
            .into_iter()
            .enumerate()
            .map(|(index, item)| ContrastiveItem { id: index.to_string(), ..item })
            .collect();
        let set = ContrastiveSet { items, notes: Vec::new() };
        let directory = Directory::new(&[("set.json", &written(&set, true))]);
        let mut read = ContrastiveSet::read(&directory.input("set.json", "de")).unwrap();
        read.notes.clear();
        prop_assert_eq!(read, set);
    }

    #[test]
    fn json_never_panics(text in any::<String>(), cut in any::<prop::sample::Index>()) {
        let whole = written(&set(), true);
        let mut cut = cut.index(whole.len());
        while !whole.is_char_boundary(cut) { cut -= 1; }
        let directory = Directory::new(&[
            ("any.json", &text),
            ("object.json", &format!("{{{text}")),
            ("cut.json", &whole[..cut]),
            ("joined.json", &format!("{}{text}{}", &whole[..cut], &whole[cut..])),
        ]);
        for name in ["any.json", "object.json", "cut.json", "joined.json"] {
            let mut input = directory.input(name, "de");
            let _ = ContrastiveSet::read(&input);
            input.documents = Some(directory.path().to_path_buf());
            let _ = ContrastiveSet::read(&input);
        }
    }

    #[test]
    fn text_sets_never_panic(
        bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 4),
        lines in prop::collection::vec("([ab\t0-9]{0,2}\n){0,6}", 4),
        groups in prop::option::of("(first_line\tend_line\n)?([0-9\t]{0,6}\n){0,4}"),
        context in 0..4usize,
    ) {
        let arbitrary: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        let likely: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
        for files in [arbitrary, likely] {
            for names in [
                ["s.text.en", "s.text.de", "s.context.en", "s.context.de"],
                ["current.src", "current.trg", "c2.context.src", "c2.context.trg"],
                ["s.current.en", "s.current.de", "s.prev.en", "s.prev.de"],
                ["s-2to1.en_de.en", "s-original.en_de.de", "s-flipped.en_de.de", "x"],
            ] {
                let directory = Directory::new(&[]);
                for (name, bytes) in names.iter().zip(&files) {
                    directory.write(name, bytes);
                }
                if let Some(groups) = &groups {
                    directory.write("groups.tsv", groups.as_bytes());
                }
                let input = ContrastiveInput { context, ..directory.input("", "de") };
                if let Ok(set) = ContrastiveSet::read(&input) {
                    prop_assert!(set.items.iter().all(|item| item.candidates.len() >= 2));
                    prop_assert!(set.items.iter().all(|item| item.context.len() <= context));
                }
            }
        }
    }
}
