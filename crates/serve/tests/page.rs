//! The page in headless Chromium, with a real server behind it.
//!
//! Needs `chromium` and `chromedriver`, so it runs only on request: `.ci/run` installs them and asks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/browser.rs"]
mod browser;
mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use abridge_translate::BeamSettings;
use browser::Browser;
use common::{Answer, Fixture, send};
use serde_json::{Value, json};

const TEXT: &str = "The lamp is old. It was broken.\n\nShe left the house again.";
const SENTENCES: [&str; 3] = ["The lamp is old.", "It was broken.", "She left the house again."];
const SRT: &str = "1\n00:00:01,000 --> 00:00:02,000\nThe lamp is old.\n\n\
                   2\n00:00:02,000 --> 00:00:03,000\nIt was broken.\n";

/// What the list shows.
const ROWS: &str =
    "return [...document.querySelectorAll('#sentences .translation')].map(e => e.textContent)";

fn expected(fixture: &Fixture, context: usize) -> Vec<String> {
    let translator = fixture.translator("de");
    let mut session = translator.session(Some(context)).unwrap();
    let settings = BeamSettings::default();
    let found = translator.translate_next(&mut session, &SENTENCES, &settings).unwrap();
    found.into_iter().map(abridge_translate::Translation::into_text).collect()
}

fn wait_until_done(browser: &Browser) {
    browser.wait("return !document.getElementById('translate').disabled");
}

fn downloaded(path: &Path) -> String {
    let started = Instant::now();
    while !path.exists() {
        assert!(started.elapsed() < Duration::from_secs(20), "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(50));
    }
    fs::read_to_string(path).unwrap()
}

#[test]
#[ignore = "needs Chromium; .ci/run runs it"]
fn a_reader_translates_inspects_compares_and_downloads() {
    let is_moved = |fixture: &Fixture| expected(fixture, 2) != expected(fixture, 0);
    let fixture = (0..100).map(Fixture::with_seed).find(is_moved);
    let fixture = fixture.expect("some random network writes otherwise with context");
    let server = fixture.start(|_| {});
    let downloads = tempfile::tempdir().unwrap();
    let browser = Browser::start(downloads.path());
    let home = format!("http://{}/", server.address);
    browser.open(&home);
    browser.wait("return document.querySelectorAll('#model option').length === 2");
    assert_eq!(
        browser.run("return document.querySelector('#model option').textContent"),
        "English to German"
    );

    let is_asked = browser.run("return document.getElementById('key').offsetParent !== null");
    assert_eq!(is_asked, json!(false), "a server without keys asks for none");

    // Nothing to translate yet.
    browser.click("#translate");
    let problem = "return document.getElementById('problem').textContent";
    assert!(browser.run(problem).as_str().unwrap().contains("nothing to translate"));

    // Translate and compare.
    let (with, without) = (expected(&fixture, 2), expected(&fixture, 0));
    browser.type_into("#text", TEXT);
    browser.click("#compare");
    browser.click("#translate");
    wait_until_done(&browser);
    assert_eq!(browser.run(ROWS), json!(with));
    let status = browser.run("return document.getElementById('status').textContent");
    let differ = with.iter().zip(&without).filter(|(a, b)| a != b).count();
    assert_eq!(status, format!("3 sentences; {differ} differ without context"));
    let lines =
        browser.run("return [...document.querySelectorAll('.without')].map(e => e.textContent)");
    let changed = with.iter().zip(&without).filter(|(a, b)| a != b);
    let changed: Vec<String> = changed.map(|(_, b)| format!("without context: {b}")).collect();
    assert_eq!(lines, json!(changed));
    assert_eq!(browser.run("return document.getElementById('problem').hidden"), json!(true));

    // Inspect, by keyboard: the row is a button that has the focus.
    browser.run("document.querySelectorAll('.row')[1].focus()");
    browser.type_into("li:nth-child(2) .row", "\u{e007}");
    let words = browser.wait(
        "const p = document.querySelectorAll('.inspect .shaded'); return p.length > 0 && \
         [...p[p.length - 1].querySelectorAll('span:not(.distance)')].map(e => e.textContent)",
    );
    // The small tokenizer knows no capital letters.
    assert_eq!(words, json!(["⁇ he", "lamp", "is", "old.", "⏎"]));
    assert_eq!(
        browser.run("return document.querySelectorAll('.row')[1].getAttribute('aria-expanded')"),
        "true"
    );
    browser.click(".inspect .words button:nth-child(2)");
    let pressed = "return document.querySelectorAll('.inspect .words [aria-pressed=true]').length";
    assert_eq!(browser.run(pressed), json!(1));
    assert!(
        browser
            .run("return document.querySelectorAll('.inspect table tr').length")
            .as_u64()
            .unwrap()
            > 5
    );

    // Download the text with its layout.
    browser.click("#download");
    let file = downloaded(&downloads.path().join("translation.de.txt"));
    assert_eq!(file, format!("{} {}\n\n{}", with[0], with[1], with[2]));

    // A subtitle file, in the same format.
    let film = downloads.path().join("film.srt");
    fs::write(&film, SRT).unwrap();
    browser.type_into("#file", film.to_str().unwrap());
    browser.click("#compare");
    browser.click("#translate");
    browser.wait("return document.getElementById('status').textContent === '2 sentences'");
    browser.click("#download");
    let file = downloaded(&downloads.path().join("film.de.srt"));
    let request = "/v1/files?name=film.srt";
    let by_request =
        server.request("POST", request, &[("Content-Type", "text/plain")], SRT.as_bytes());
    assert_eq!(file, by_request.body);

    // A file that is not what it says.
    let broken = downloads.path().join("broken.srt");
    fs::write(&broken, "no subtitles").unwrap();
    browser.click("#remove");
    browser.type_into("#file", broken.to_str().unwrap());
    browser.click("#translate");
    wait_until_done(&browser);
    assert!(
        browser.run(problem).as_str().unwrap().contains("broken.srt:1"),
        "{}",
        browser.run(problem)
    );
    assert_eq!(browser.run("return document.getElementById('download').disabled"), json!(true));

    // Nothing was asked of anybody else.
    let asked = browser.run("return performance.getEntriesByType('resource').map(e => e.name)");
    for address in asked.as_array().unwrap() {
        assert!(address.as_str().unwrap().starts_with(&home), "{address}");
    }
    // Every control has a name for those who do not see it.
    let nameless = browser.run(
        "return [...document.querySelectorAll('input, select, textarea')]\
         .filter(e => !e.labels || !e.labels.length).map(e => e.id)",
    );
    assert_eq!(nameless, json!([]));
    // On a phone nothing is wider than the screen.
    let phone = json!({"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true});
    browser.command("Emulation.setDeviceMetricsOverride", &phone);
    assert_eq!(browser.run("return document.documentElement.scrollWidth"), json!(390));

    // The server goes away.
    drop(server);
    browser.click("#translate");
    wait_until_done(&browser);
    assert_eq!(browser.run("return document.getElementById('problem').hidden"), json!(false));
}

#[test]
#[ignore = "needs Chromium; .ci/run runs it"]
fn sentences_appear_before_the_last_is_done_and_work_can_be_stopped() {
    let fixture = Fixture::new();
    let server = fixture.start(|settings| settings.threads = 1);
    let downloads = tempfile::tempdir().unwrap();
    let browser = Browser::start(downloads.path());
    browser.open(&format!("http://{}/", server.address));
    browser.wait("return document.querySelectorAll('#model option').length");
    let text = common::document(1, 250).join(" ");
    browser.run(&format!("document.getElementById('text').value = {}", json!(text)));
    browser.click("#translate");
    let first = browser.wait(
        "const done = document.querySelectorAll('.translation:not(.waiting)').length; return done > 0 && done",
    );
    assert!(first.as_u64().unwrap() < 250);
    browser.click("#stop");
    wait_until_done(&browser);
    assert_eq!(browser.run("return document.getElementById('status').textContent"), "Stopped");
    let mut stream = server.connect();
    let body = json!({"sentences": ["it is."], "options": common::quick()}).to_string();
    send(
        &mut stream,
        "POST",
        "/v1/translate",
        &[("Content-Type", "application/json")],
        body.as_bytes(),
    );
    assert_eq!(Answer::read(stream).status, 200, "the thread is free again");
}

#[test]
#[ignore = "needs Chromium; .ci/run runs it"]
fn a_key_is_asked_for_and_used() {
    let fixture = Fixture::new();
    let key = "0123456789abcdef0123";
    let server = fixture.start_with_keys(key, |_| {});
    let downloads = tempfile::tempdir().unwrap();
    let browser = Browser::start(downloads.path());
    browser.open(&format!("http://{}/", server.address));
    browser.wait("return !document.getElementById('key-field').hidden");
    browser.type_into("#key", key);
    browser.click("#use-key");
    browser.wait("return document.querySelectorAll('#model option').length === 2");
    browser.type_into("#text", "It is.");
    browser.click("#translate");
    wait_until_done(&browser);
    let rows: Vec<Value> = browser.run(ROWS).as_array().unwrap().clone();
    assert_eq!(rows.len(), 1);
    assert_eq!(browser.run("return document.getElementById('problem').hidden"), json!(true));
}
