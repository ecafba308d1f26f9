//! Both kinds of files, single and in pairs.

use proptest::prelude::*;

use super::*;
use crate::Segment;

fn file(name: &str, text: &str) -> TextFile {
    TextFile { path: name.into(), text: text.into() }
}

fn corpus(text: &str) -> Result<Corpus> {
    read(&file("a.en", text), None)
}

fn message(text: &str) -> String {
    corpus(text).unwrap_err().to_string()
}

fn shape(corpus: &Corpus) -> Vec<(&str, Vec<&str>)> {
    fn texts(document: &Document) -> Vec<&str> {
        document.segments.iter().map(|segment| segment.source.as_str()).collect()
    }
    corpus.documents.iter().map(|document| (document.id.as_str(), texts(document))).collect()
}

fn translated(corpus: &Corpus, translate: impl Fn(&str) -> String) -> String {
    let translations: Vec<Vec<String>> = corpus
        .documents
        .iter()
        .map(|document| document.segments.iter().map(|s| translate(&s.source)).collect())
        .collect();
    let mut out = Vec::new();
    corpus.write_translation(&translations, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const TAGS: &str = "<doc docid=\"7\" genre=\"lectures\">\r\n<url>http://x</url>\r\n<talkid>99</talkid>\r\n\
<title>A talk\r\nof two lines</title>\r\n A first sentence. \r\n<i>Second</i> & last.\r\n\
<reviewer></reviewer>\r\n</doc>\r\n<doc docid=\"8\">\r\n<title>Empty</title>\r\n</doc>\r\n";

#[test]
fn tags_are_stripped_and_kept() {
    let corpus = corpus(TAGS).unwrap();
    assert_eq!(shape(&corpus), [("7", vec!["A first sentence.", "<i>Second</i> & last."])]);
    let out = translated(&corpus, |_| "Ein\nSatz".into());
    let expected =
        TAGS.replace("A first sentence.", "Ein Satz").replace("<i>Second</i> & last.", "Ein Satz");
    assert_eq!(out, expected);
}

#[test]
fn the_kind_is_detected_despite_multi_byte_characters() {
    assert_eq!(kind("<doc>\n&é\n</doc><seg>"), Kind::Xml);
    assert_eq!(kind("<doc>\n&é\n</doc>"), Kind::Tags);
}

#[test]
fn older_releases_begin_a_talk_with_its_first_tag() {
    let text = "<url>x</url>\n<talkid> 5 </talkid>\nOne.\nTwo.\n<reviewer>r</reviewer>\n\
                <url>y</url>\n<title>t</title>\n<talkid>6</talkid>\nThree.\n";
    assert_eq!(shape(&corpus(text).unwrap()), [("5", vec!["One.", "Two."]), ("6", vec!["Three."])]);
}

#[test]
fn text_inside_an_open_tag_of_a_talk_is_text() {
    let text = "<doc docid=\"1\">\n<transcript>\nOne.\n</transcript>\n<url>x\nTwo.\n</doc>\n";
    assert_eq!(shape(&corpus(text).unwrap()), [("1", vec!["One.", "Two."])]);
}

#[test]
fn attributes_are_found_in_any_case() {
    assert_eq!(attribute("<DOC xdocid=\"0\" DocID = '1'>", "docid"), Some("1"));
    assert_eq!(attribute("<doc docid=1>", "docid"), None);
    assert_eq!(attribute("<doc docid=\"1>", "docid"), None);
}

#[test]
fn tags_of_two_sides_are_paired() {
    let target = "<doc docid=\"7\">\n<translator>t</translator>\nErstens.\n\nZweitens.\n</doc>\n\
                  <doc docid=\"8\">\n</doc>\n";
    let corpus = read(&file("a.en", TAGS), Some(&file("a.de", target))).unwrap();
    assert_eq!(
        corpus.documents[0].segments[1],
        Segment::pair("<i>Second</i> & last.", "Zweitens.")
    );

    let error = |target: &str| {
        read(&file("a.en", TAGS), Some(&file("a.de", target))).unwrap_err().to_string()
    };
    let text = error("<doc docid=\"7\">\nErstens.\n</doc>\n<doc docid=\"8\">\n</doc>\n");
    assert!(text.starts_with("a.en:1: 2 segments in document `7`, but 1 at a.de:1"), "{text}");
    let text = error("<doc docid=\"7\">\nErstens.\n</doc>\n");
    assert!(text.starts_with("a.en: 2 documents, but a.de has 1"), "{text}");
    let text = error("<doc docid=\"9\">\n</doc>\n<doc docid=\"8\">\n</doc>\n");
    assert!(text.contains("a.de:1 has document `9` in its place"), "{text}");
}

#[test]
fn a_line_without_text_on_one_side_is_a_segment() {
    let source = file("a.en", "<doc docid=\"1\">\nOne.\n\nTwo.\n\n</doc>");
    let target = file("a.de", "<doc docid=\"1\">\nEins.\nX.\nZwei.\n\n</doc>");
    let corpus = read(&source, Some(&target)).unwrap();
    assert_eq!(corpus.segments(), 3);
    assert_eq!(corpus.documents[0].segments[1], Segment::pair("", "X."));
    let out = translated(&corpus, |text| format!("[{text}]"));
    assert_eq!(out, "<doc docid=\"1\">\n[One.]\n[]\n[Two.]\n\n</doc>");
}

#[test]
fn damaged_tags_are_named_with_their_line() {
    assert!(
        message("<doc docid=\"1\">\nOne.\n").contains("a.en:1: the file ends inside document `1`")
    );
    assert!(message("</doc>\n").contains("a.en:1: </doc> without <doc>"));
    assert!(message("<doc docid=\"1\">\n<doc docid=\"2\">\n").contains("a.en:2: <doc> inside"));
    assert!(message("<doc docid=\"1\">\n</doc>\nOne.\n").contains("a.en:3: text outside"));
    assert!(message("<title>never\nends\n").contains("a.en:1: the file ends inside the <title>"));
    let open = "<doc docid=\"1\">\n<title>never\n</doc>\n";
    assert!(message(open).contains("a.en:3: a tag inside the <title> of line 2"));
    let twice = "<doc docid=\"1\">\n</doc>\n<doc docid=\"2\">\n</doc>\n<doc docid=\"1\">\n</doc>\n";
    assert!(message(twice).contains("a.en:5: document `1` appears again, after line 1"));
}

const XML: &str = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<mteval>\n<srcset setid=\"t\" srclang=\"english\">\n\
<doc docid=\"12\" genre=\"lectures\">\n<url>http://x?a=1&b=2</url>\n<title>A & B</title>\n\
<seg id=\"1\"> Salt &amp; pepper &lt;3 </seg>\n<seg id=\"2\">AT&T <b>bold</b> <![CDATA[<raw>]]></seg>\n\
<seg id='3'></seg>\n</doc>\n<doc docid='x &quot;y&quot;'><hl><seg>Two\n lines</seg></hl></doc>\n</srcset>\n</mteval>\n";

#[test]
fn xml_segments_are_read_and_replaced() {
    let corpus = corpus(XML).unwrap();
    assert_eq!(
        shape(&corpus),
        [("12", vec!["Salt & pepper <3", "AT&T bold <raw>"]), ("x \"y\"", vec!["Two lines"])]
    );
    let out = translated(&corpus, |_| "a < b\n& c".into());
    let new = "a &lt; b &amp; c";
    let expected = XML
        .replace("Salt &amp; pepper &lt;3", new)
        .replace("AT&T <b>bold</b> <![CDATA[<raw>]]>", new)
        .replace("Two\n lines", new);
    assert_eq!(out, expected);
}

#[test]
fn xml_of_two_sides_is_paired() {
    let target =
        XML.replace("<seg id='3'></seg>", "<seg id='3'>Drei</seg>").replace("srcset", "refset");
    let corpus = read(&file("a.xml", XML), Some(&file("b.xml", &target))).unwrap();
    assert_eq!(corpus.documents[0].segments[2], Segment::pair("", "Drei"));
}

#[test]
fn an_empty_element_is_a_segment() {
    let source = file("a.xml", "<mteval><doc><seg/><seg>One</seg></doc></mteval>");
    let target = file("b.xml", "<mteval><doc><seg>Null</seg><seg/></doc></mteval>");
    let corpus = read(&source, Some(&target)).unwrap();
    assert_eq!(corpus.documents[0].segments, [Segment::pair("", "Null"), Segment::pair("One", "")]);
    assert_eq!(translated(&corpus, str::to_owned), source.text);
}

#[test]
fn segments_without_an_element_around_the_set_are_xml() {
    let text = "<doc docid=\"1\">\n<seg id=\"1\">A &amp; B</seg>\n</doc>\n<doc docid=\"2\"><seg>C</seg></doc>\n";
    assert_eq!(shape(&corpus(text).unwrap()), [("1", vec!["A & B"]), ("2", vec!["C"])]);
}

#[test]
fn damaged_xml_is_named_with_its_line() {
    let cut = |end: &str| message(&XML[..XML.find(end).unwrap()]);
    assert!(
        cut("</srcset>").contains("a.en:3: the file ends inside the <srcset>"),
        "{}",
        cut("</srcset>")
    );
    let text = cut("id=\"2\"");
    assert!(text.starts_with("a.en:8: not valid XML"), "{text}");
    let text = message(&XML.replace("</seg>\n<seg id='3'>", "</sag>\n<seg id='3'>"));
    assert!(text.starts_with("a.en:8: not valid XML"), "{text}");
    assert!(message("<?xml?>\n<mteval></mteval>").contains("XML without a <doc>"));
    assert!(
        message("<mteval>\n<seg>a</seg></mteval>").contains("a.en:2: <seg> outside of a <doc>")
    );
    assert!(message("<mteval><doc><seg><seg>").contains("<seg> inside"));
    assert!(message("<mteval><doc><doc>").contains("<doc> inside"));
}

#[test]
fn xml_is_bounded() {
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n<mteval>&b;</mteval>";
    assert!(message(bomb).contains("a.en:1: declarations inside the document type"));
    let external = "<!DOCTYPE mteval SYSTEM \"x.dtd\">\n<mteval><doc><seg>&b;</seg></doc></mteval>";
    assert_eq!(shape(&corpus(external).unwrap()), [("1", vec!["&b;"])]);
    let deep = format!("<mteval>{}", "<a>".repeat(100));
    assert!(message(&deep).contains("elements more than 32 deep"));
    let long = format!("<mteval><doc><seg>{}</seg></doc></mteval>", "a".repeat((1 << 20) + 1));
    assert!(message(&long).contains("a segment of 1048577 bytes"));
}

fn sentence() -> impl Strategy<Value = String> {
    "[a-zA-Zé&;.'\"-][a-zé&;<> .'\"]{0,8}[a-z.]"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn tags_written_back_give_the_file(
        documents in prop::collection::vec(prop::collection::vec(sentence(), 0..4), 0..4),
        newline in prop::sample::select(vec!["\n", "\r\n", "\n\n"]),
        space in " ?",
    ) {
        let mut parts = Vec::new();
        for (index, sentences) in documents.iter().enumerate() {
            parts.push(format!("<doc docid=\"{index}\">{newline}<url>u</url>{newline}"));
            for sentence in sentences {
                parts.push(format!("{space}{sentence}{space}{newline}"));
            }
            parts.push(format!("</doc>{newline}"));
        }
        let text = parts.concat();
        let read_back = corpus(&text).unwrap();
        let sources: Vec<Vec<&str>> = shape(&read_back).into_iter().map(|(_, texts)| texts).collect();
        let expected: Vec<_> = documents.iter().filter(|texts| !texts.is_empty()).collect();
        prop_assert_eq!(sources.len(), expected.len());
        for (left, right) in sources.iter().zip(expected) {
            prop_assert_eq!(left, right);
        }
        prop_assert_eq!(translated(&read_back, str::to_owned), text);
    }

    #[test]
    fn xml_written_back_gives_the_file(
        documents in prop::collection::vec(prop::collection::vec(sentence(), 0..4), 1..4),
        newline in prop::sample::select(vec!["", "\n", "\r\n"]),
        space in " ?",
    ) {
        let mut parts = vec![format!("<mteval>{newline}")];
        for (index, sentences) in documents.iter().enumerate() {
            parts.push(format!("<doc docid=\"{index}\"><url>a&b</url>{newline}"));
            for sentence in sentences {
                let escaped = super::super::entities::encode(sentence);
                parts.push(format!("<seg id=\"1\">{space}{escaped}{space}</seg>{newline}"));
            }
            parts.push(format!("</doc>{newline}"));
        }
        parts.push("</mteval>".into());
        let text = parts.concat();
        let read_back = corpus(&text).unwrap();
        let texts: Vec<_> = shape(&read_back).into_iter().flat_map(|(_, texts)| texts).collect();
        let expected: Vec<_> = documents.iter().flatten().collect();
        prop_assert_eq!(texts, expected);
        prop_assert_eq!(translated(&read_back, str::to_owned), text);
    }

    #[test]
    fn arbitrary_text_never_panics(
        any_text in any::<String>(),
        marks in "(<doc>|</doc>|<seg>|</seg>|<doc docid=\"|\">|<url>|</url>|<title>|<!--|-->|<!\\[CDATA\\[|\\]\\]>|&|;|a| |\n|é|<|>){0,30}",
        cut in any::<prop::sample::Index>(),
    ) {
        let mut cut = cut.index(XML.len());
        while !XML.is_char_boundary(cut) { cut -= 1; }
        for text in [
            any_text.clone(),
            format!("<?xml?>{any_text}"),
            marks.clone(),
            format!("<mteval>{marks}"),
            format!("<mteval><doc><seg>{marks}</seg></doc></mteval>"),
            format!("{}{marks}{}", &XML[..cut], &XML[cut..]),
        ] {
            if let Ok(read_back) = corpus(&text) {
                let out = translated(&read_back, |_| "x".into());
                prop_assert_eq!(corpus(&out).map(|c| c.segments()).ok(), Some(read_back.segments()));
            }
        }
    }
}

#[test]
fn rejects_a_declared_encoding_other_than_utf_8() {
    let declared = XML.replace("UTF-8", "ISO-8859-1");
    let said = message(&declared);
    assert!(said.contains("a.en:1: the XML declares the encoding ISO-8859-1"), "{said}");
    assert!(corpus(&XML.replace("UTF-8", "utf-8")).is_ok());
}
