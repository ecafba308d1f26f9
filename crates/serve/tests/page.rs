//! The page in headless Chromium, with a real server behind it.
//!
//! Needs `chromium` and `chromedriver`, so it runs only on request: `.ci/run` installs them and asks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/browser.rs"]
mod browser;
mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
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
    let fixture = fixture.expect("some random network translates differently with context");
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
    assert_eq!(is_asked, json!(false), "no key is required");

    // The page opens with an example that gives way to another text.
    let text = "return document.getElementById('text').value";
    assert!(browser.run(text).as_str().unwrap().contains("It is warm."));
    let is_compared = "return document.getElementById('compare').checked";
    assert_eq!(browser.run(is_compared), json!(true));
    let selected = "const t = document.getElementById('text'); t.focus(); \
                    return t.selectionStart === 0 && t.selectionEnd === t.value.length";
    assert_eq!(browser.run(selected), json!(true), "what is typed replaces it");
    browser.run("document.getElementById('text').value = ''");
    browser.click("#compare");

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
    let verb = if differ == 1 { "differs" } else { "differ" };
    assert_eq!(status, format!("3 sentences; {differ} {verb} without context"));
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
    // The small tokenizer has no capital letters.
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

    // Copy the same: with the browser's clipboard, without it, and where the browser refuses.
    let clipboard = |permission: &str| {
        for name in ["clipboard-read", "clipboard-write"] {
            let permission = json!({"permission": {"name": name}, "setting": permission});
            browser.command("Browser.setPermission", &permission);
        }
    };
    clipboard("granted");
    let status = "return document.getElementById('status').textContent";
    let hide =
        "Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})";
    for (prepare, restore) in [("", ""), (hide, "delete navigator.clipboard")] {
        browser.run("return navigator.clipboard.writeText('before')");
        browser.run("document.getElementById('status').textContent = ''");
        browser.run(prepare);
        browser.click("#copy");
        browser.wait(&format!("{status} === 'Copied'"));
        browser.run(restore);
        assert_eq!(browser.run("return navigator.clipboard.readText()"), file, "{prepare}");
    }
    clipboard("denied");
    browser.click("#copy");
    browser.wait(&format!("{problem}.includes('did not allow copying')"));
    clipboard("granted");
    browser.click("#copy");
    browser.wait(&format!("{status} === 'Copied' && document.getElementById('problem').hidden"));

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

    // The same file, dropped; in another direction, which has no context to compare with.
    browser.click("#remove");
    browser.run(&format!(
        "const data = new DataTransfer(); data.items.add(new File([{}], 'dropped.srt')); \
         document.getElementById('drop').dispatchEvent(\
           new DragEvent('drop', {{dataTransfer: data, bubbles: true, cancelable: true}}))",
        json!(SRT)
    ));
    assert_eq!(
        browser.run("return document.getElementById('chosen-name').textContent"),
        "dropped.srt"
    );
    browser.type_into("#model", "English to French");
    assert_eq!(browser.run("return document.getElementById('compare').disabled"), json!(true));
    browser.click("#translate");
    wait_until_done(&browser);
    browser.click("#download");
    let file = downloaded(&downloads.path().join("dropped.fr.srt"));
    let request = "/v1/files?name=film.srt&model=en-fr";
    let by_request =
        server.request("POST", request, &[("Content-Type", "text/plain")], SRT.as_bytes());
    assert_eq!(file, by_request.body);
    browser.type_into("#model", "English to German");

    // Less context, by keyboard alone.
    browser.click("#remove");
    browser.type_into("#context", "1");
    browser.type_into("#text", "\u{e009}\u{e007}");
    browser.wait("return document.getElementById('status').textContent === '3 sentences'");
    assert_eq!(browser.run(ROWS), json!(expected(&fixture, 1)));

    // A file whose content does not match its extension.
    let broken = downloads.path().join("broken.srt");
    fs::write(&broken, "no subtitles").unwrap();
    browser.type_into("#file", broken.to_str().unwrap());
    browser.click("#translate");
    wait_until_done(&browser);
    assert!(
        browser.run(problem).as_str().unwrap().contains("broken.srt:1"),
        "{}",
        browser.run(problem)
    );
    assert_eq!(browser.run("return document.getElementById('download').disabled"), json!(true));

    // No request went to another server.
    let asked = browser.run("return performance.getEntriesByType('resource').map(e => e.name)");
    for address in asked.as_array().unwrap() {
        assert!(address.as_str().unwrap().starts_with(&home), "{address}");
    }
    // Every control has an accessible name.
    let nameless = browser.run(
        "return [...document.querySelectorAll('input, select, textarea')]\
         .filter(e => !e.labels || !e.labels.length).map(e => e.id)",
    );
    assert_eq!(nameless, json!([]));
    // The colour scheme follows the preference.
    let background = "return getComputedStyle(document.body).backgroundColor";
    let luminous = |scheme: &str| -> u64 {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        browser.command("Emulation.setEmulatedMedia", &json!({"features": [feature]}));
        let colour = browser.run(background);
        let numbers = colour.as_str().unwrap().split(|c: char| !c.is_ascii_digit());
        numbers.filter_map(|number| number.parse::<u64>().ok()).sum()
    };
    assert!(luminous("light") > 700 && luminous("dark") < 100);
    // On a phone, nothing is wider than the screen.
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
fn a_key_is_required_and_used() {
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
    browser.run("document.getElementById('text').value = 'It is.'");
    browser.click("#translate");
    wait_until_done(&browser);
    let rows: Vec<Value> = browser.run(ROWS).as_array().unwrap().clone();
    assert_eq!(rows.len(), 1);
    assert_eq!(browser.run("return document.getElementById('problem').hidden"), json!(true));
}

/// Another site: one empty page on its own port.
fn other_site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1 << 12]);
            let page = "<!doctype html><title>another site</title>";
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        }
    });
    address
}

#[test]
#[ignore = "needs Chromium; .ci/run runs it"]
fn pages_of_other_sites_are_refused_unless_allowed() {
    let fixture = Fixture::new();
    let site = other_site();
    let closed = fixture.start(|_| {});
    let open = fixture.start(|settings| settings.origins = vec![site.clone()]);
    let downloads = tempfile::tempdir().unwrap();
    let browser = Browser::start(downloads.path());
    browser.open(&format!("{site}/"));
    // Plain text needs no preflight; the page could not read the response, but it would cause work.
    let address = format!("http://{}", closed.address);
    let sent = browser.run(&format!(
        "return fetch('{address}/v1/files?name=a.txt', {{method: 'POST', mode: 'no-cors', body: 'It is.'}})\
         .then(answer => answer.type)"
    ));
    assert_eq!(sent, "opaque");
    let metrics = closed.get("/metrics").body;
    let refused = "abridge_requests_total{path=\"/v1/files\",status=\"403\"}";
    assert!(metrics.contains(refused), "{metrics}");
    // JSON needs a preflight, which succeeds only on the server that allows this site.
    let ask = |address: SocketAddr| {
        browser.run(&format!(
            "return fetch('http://{address}/v1/translate', {{method: 'POST', \
               headers: {{'Content-Type': 'application/json', 'Authorization': 'Bearer x'}}, \
               body: JSON.stringify({{sentences: ['it is.'], options: {{beam: 1, max_length: 4}}}})}})\
             .then(answer => answer.status, () => 'refused')"
        ))
    };
    assert_eq!(ask(closed.address), "refused");
    assert_eq!(ask(open.address), json!(200));
}
