//! Whole files: reading, writing back, and damage.

use proptest::prelude::*;

use super::*;

fn file(name: &str, text: &str) -> TextFile {
    TextFile { path: name.into(), text: text.into() }
}

fn srt(text: &str) -> Result<Corpus> {
    read(&file("film.en.srt", text), None, Format::Srt)
}

fn vtt(text: &str) -> Result<Corpus> {
    read(&file("film.vtt", text), None, Format::Vtt)
}

fn sources(corpus: &Corpus) -> Vec<String> {
    corpus.documents.iter().flat_map(|d| &d.segments).map(|s| s.source.clone()).collect()
}

fn translated(corpus: &Corpus, translations: &[&str]) -> String {
    let texts: Vec<String> = translations.iter().map(|text| (*text).to_owned()).collect();
    let lists: Vec<Vec<String>> = corpus.documents.iter().map(|_| texts.clone()).collect();
    let mut out = Vec::new();
    corpus.write_translation(&lists, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn unchanged(corpus: &Corpus) -> String {
    let sources = sources(corpus);
    translated(corpus, &sources.iter().map(String::as_str).collect::<Vec<_>>())
}

const SRT: &str = "\u{feff}1\r\n00:00:01,000 --> 00:00:02,000\r\nThe lamp stood\r\non the table.\r\n\r\n\
2\r\n00:00:02,100 --> 00:00:04,000  X1:10 X2:20\r\n<i>It was old. And when</i>\r\n\r\n\
3\r\n00:00:04,100 --> 00:00:06,000\r\n{\\an8}<i>it broke,</i>\r\n\r\n\
4\r\n00:00:06,100 --> 00:00:08,000\r\nnobody cared.\r\n\r\n\
5\r\n00:00:09,000 --> 00:00:10,000\r\n- Who did it?\r\n- Not me.\r\n\r\n\r\n\
6\r\n00:00:11,000 --> 00:00:12,000\r\n\r\n7\r\n00:00:12,000 --> 00:00:13,000\r\n♪ La la ♪";

#[test]
fn sentences_run_over_cues() {
    let corpus = srt(SRT).unwrap();
    assert_eq!(corpus.documents[0].id, "film.en");
    assert_eq!(
        sources(&corpus),
        [
            "The lamp stood on the table.",
            "It was old.",
            "And when it broke, nobody cared.",
            "Who did it?",
            "Not me.",
            "La la",
        ]
    );
    assert_eq!(unchanged(&corpus), SRT);
}

#[test]
fn translations_are_split_over_the_same_cues() {
    let corpus = srt(SRT).unwrap();
    let out = translated(
        &corpus,
        &[
            "Die Lampe stand auf dem Tisch.",
            "Sie war alt.",
            "Und als sie zerbrach, war es allen egal.",
            "Wer war das?",
            "Ich nicht.",
            "Tra\nla",
        ],
    );
    let expected = SRT
        .replace("The lamp stood\r\non the table.", "Die Lampe stand\r\nauf dem Tisch.")
        .replace("It was old. And when", "Sie war alt. Und als sie")
        .replace("it broke,", "zerbrach,")
        .replace("nobody cared.", "war es allen egal.")
        .replace("Who did it?", "Wer war das?")
        .replace("Not me.", "Ich nicht.")
        .replace("La la", "Tra la");
    assert_eq!(out, expected);
}

#[test]
fn short_translations_leave_no_empty_line_inside_a_cue() {
    let text = "1\n00:00:01,000 --> 00:00:02,000\n<i>Good\nevening</i>\n\n";
    let out = translated(&srt(text).unwrap(), &["Servus"]);
    assert_eq!(out, "1\n00:00:01,000 --> 00:00:02,000\n<i>Servus</i>\n\n");
    let text = text.replace("<i>Good", "<i>Good morning");
    let out = translated(&srt(&text).unwrap(), &["Servus"]);
    assert_eq!(out, "1\n00:00:01,000 --> 00:00:02,000\n<i>Servus</i>\n\n");
    let text = "1\n00:00:01,000 --> 00:00:02,000\n<i>Good\nevening</i>\n\n";
    let out = translated(&srt(text).unwrap(), &[""]);
    assert_eq!(srt(&out).unwrap().segments(), 0);
}

#[test]
fn no_cue_is_empty_when_there_are_words_enough() {
    let text = "1\n00:00:01,000 --> 00:00:02,000\nA very long beginning of it\n\n\
                2\n00:00:02,000 --> 00:00:03,000\nis\n\n3\n00:00:03,000 --> 00:00:04,000\nhere.\n";
    let out = translated(&srt(text).unwrap(), &["eins zwei drei"]);
    assert!(
        out.contains("\neins\n") && out.contains("\nzwei\n") && out.contains("\ndrei\n"),
        "{out}"
    );
}

#[test]
fn pauses_songs_and_missing_punctuation_end_a_segment() {
    let cue = |start: u32, text: &str| {
        format!("00:00:{start:02},000 --> 00:00:{:02},000\n{text}\n\n", start + 1)
    };
    let joined = |cues: &[String]| sources(&srt(&cues.concat()).unwrap());
    let end = cue(50, "The end.");
    assert_eq!(joined(&[cue(1, "I went"), cue(2, "home."), end.clone()])[0], "I went home.");
    assert_eq!(joined(&[cue(1, "I went"), cue(9, "home."), end.clone()])[0], "I went");
    assert_eq!(joined(&[cue(1, "♪ I went"), cue(2, "home ♪"), end.clone()])[0], "I went");
    assert_eq!(joined(&[cue(1, "Well..."), cue(2, "...yes."), end])[0], "Well... ...yes.");
    let unpunctuated: Vec<_> = (1..40).map(|start| cue(start, "and so on")).collect();
    assert_eq!(joined(&unpunctuated).len(), 39);
    let mut endless = unpunctuated;
    for second in 40..46 {
        endless.push(cue(second, "Stop."));
    }
    assert_eq!(joined(&endless)[0], ["and so on"; 8].join(" "));
}

const VTT: &str = "WEBVTT - A film\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nREGION\nid:x\n\n\
NOTE a comment\nof two lines\n\nfirst cue\n00:01.000 --> 00:02.000 align:start position:10%\n\
<v Ann>Salt &amp; <c.loud>pepper</c>\n\n00:02.000 --> 00:03.000\nare here.\n<v Bob>Thanks!\n\n\
NOTE\n\n00:04.000 --> 00:05.000\n日本語の文は\n続きます。\n";

#[test]
fn webvtt_keeps_what_is_not_text() {
    let corpus = vtt(VTT).unwrap();
    assert_eq!(sources(&corpus), ["Salt & pepper are here.", "Thanks!", "日本語の文は続きます。"]);
    assert_eq!(unchanged(&corpus), VTT);
    let out = translated(&corpus, &["A < B und noch mehr", "Danke!", "Eine Zeile"]);
    assert!(out.contains("\n<v Ann>A &lt; B <c.loud>und noch</c>\n"), "{out}");
    assert!(out.contains("\n<v Bob>Danke!\n"), "{out}");
    assert!(out.ends_with("\nEine\nZeile\n"), "{out}");
    assert_eq!(out.split('\n').count(), VTT.split('\n').count());
}

#[test]
fn damage_is_named_with_its_line() {
    let message = |text: &str| srt(text).unwrap_err().to_string();
    let good = "1\n00:00:01,000 --> 00:00:02,000\nHi.\n\n";
    let text = message(&format!("{good}2\nNo timing.\n"));
    assert!(text.starts_with("film.en.srt:5: a cue without timing; put 00:01:02,000"), "{text}");
    let text = message(&format!("{good}2\n00:00:0x,000 --> 00:00:02,000\nHi.\n"));
    assert!(text.starts_with("film.en.srt:6: a timing that cannot be read"), "{text}");
    let text =
        message("1\n00:00:01,000 --> 00:00:02,000\nHi.\n2\n00:00:03,000 --> 00:00:04,000\nHo.\n");
    assert!(text.starts_with("film.en.srt:5: a timing inside the cue of line 2"), "{text}");
    let text = message(&format!("{good}words\n00:00:03,000 --> 00:00:04,000\nHo.\n"));
    assert!(text.starts_with("film.en.srt:5: a cue without timing"), "{text}");
    let text = vtt(good).unwrap_err().to_string();
    assert!(text.starts_with("film.vtt:1: the first line is not WEBVTT"), "{text}");
    let text = vtt("WEBVTT\n\nid\n\nText\n").unwrap_err().to_string();
    assert!(text.starts_with("film.vtt:3: a cue without timing; put 00:01:02.000"), "{text}");
    let long = format!("00:00:01,000 --> 00:00:02,000\n{}\n", "a".repeat(70_000));
    assert!(message(&long).contains("a cue of 70000 bytes"));
    let source = file("a.srt", good);
    let text = read(&source, Some(&source), Format::Srt).unwrap_err().to_string();
    assert!(text.contains("do not share their cues"), "{text}");
}

fn cue_text() -> impl Strategy<Value = String> {
    let word = "(<i>)?[A-Za-zé猫]{1,6}[.,!?…]?(</i>)?";
    let line = prop::collection::vec(word, 1..5).prop_map(|words| words.join(" "));
    let line =
        ("(- |\\{\\\\an8\\}|♪ )?", line, "( ♪| )?").prop_map(|(a, b, c)| format!("{a}{b}{c}"));
    prop::collection::vec(line, 0..3).prop_map(|lines| lines.join("\n"))
}

fn subtitles() -> impl Strategy<Value = (Format, String)> {
    let cue = (cue_text(), 0..5000u64, 1..4usize);
    let newline = prop::sample::select(vec!["\n", "\r\n"]);
    (prop::collection::vec(cue, 0..8), any::<bool>(), newline).prop_map(
        |(cues, is_vtt, newline)| {
            let mut clock = 0;
            let mut parts =
                vec![if is_vtt { "WEBVTT\n\nNOTE x\n\n".to_owned() } else { String::new() }];
            for (index, (text, pause, blanks)) in cues.into_iter().enumerate() {
                clock += pause;
                let moment = |at: u64| {
                    let point = if is_vtt { '.' } else { ',' };
                    format!(
                        "{:02}:{:02}:{:02}{point}{:03}",
                        at / 3_600_000,
                        at / 60_000 % 60,
                        at / 1000 % 60,
                        at % 1000
                    )
                };
                let text = if text.is_empty() { text } else { format!("{text}\n") };
                parts.push(format!(
                    "{index}\n{} --> {}\n{text}",
                    moment(clock),
                    moment(clock + 1500)
                ));
                parts.push("\n".repeat(blanks));
                clock += 1500;
            }
            let format = if is_vtt { Format::Vtt } else { Format::Srt };
            (format, parts.concat().replace('\n', newline))
        },
    )
}

/// Everything but the text of cues: timing lines, and how many cues there are.
fn skeleton(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains("-->")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn writing_the_source_back_gives_the_file((format, text) in subtitles()) {
        let corpus = read(&file("a", &text), None, format).unwrap();
        prop_assert_eq!(unchanged(&corpus), text);
    }

    #[test]
    fn no_cue_is_lost((format, text) in subtitles(), words in prop::collection::vec("[a-z猫<&>\n -]{0,12}", 40)) {
        let corpus = read(&file("a", &text), None, format).unwrap();
        let words: Vec<&str> = words.iter().cycle().take(corpus.segments()).map(String::as_str).collect();
        let out = translated(&corpus, &words);
        prop_assert_eq!(skeleton(&out), skeleton(&text));
        let again = super::cues::parse(&file("a", &out), format).unwrap();
        let before = super::cues::parse(&file("a", &text), format).unwrap();
        prop_assert_eq!(again.len(), before.len());
    }

    #[test]
    fn no_cue_is_emptied((format, text) in subtitles(), more in "( [a-z]{1,5}){0,4}") {
        let corpus = read(&file("a", &text), None, format).unwrap();
        let longer: Vec<String> = sources(&corpus).iter().map(|text| format!("{text}{more}")).collect();
        let out = translated(&corpus, &longer.iter().map(String::as_str).collect::<Vec<_>>());
        let with_text = |text: &str| -> Vec<bool> {
            let cues = super::cues::parse(&file("a", text), format).unwrap();
            cues.iter().map(|cue| !cue.lines.is_empty()).collect()
        };
        prop_assert_eq!(with_text(&out), with_text(&text));
        let letters = |text: &str| -> Vec<char> {
            let corpus = read(&file("a", text), None, format).unwrap();
            sources(&corpus).concat().chars().filter(|c| !c.is_whitespace()).collect()
        };
        let expected: Vec<char> = longer.concat().chars().filter(|c| !c.is_whitespace()).collect();
        prop_assert_eq!(letters(&out), expected);
    }

    #[test]
    fn arbitrary_text_never_panics(
        text in any::<String>(),
        likely in "(00:00:01,000 --> 00:00:02,000|-->|1|\n|\r\n|a|[A-Z][a-z]\\.|<i>|</i>|<|- |♪|NOTE|STYLE|WEBVTT|\\{\\\\an8\\}|&amp;| ){0,40}",
    ) {
        for text in [text, likely.clone(), format!("WEBVTT\n\n{likely}"), format!("00:01.000 --> 00:02.000\n{likely}")] {
            for format in [Format::Srt, Format::Vtt] {
                if let Ok(corpus) = read(&file("a", &text), None, format) {
                    let _ = unchanged(&corpus);
                    let words = vec!["x"; corpus.segments()];
                    let _ = translated(&corpus, &words);
                }
            }
        }
    }
}
