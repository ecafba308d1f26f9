//! Drives Chromium through chromedriver.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Answer, send};

/// The key of an element's id in the protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A headless browser.
pub struct Browser {
    driver: Child,
    address: String,
    session: String,
}

impl Browser {
    /// Starts `chromedriver` and Chromium; downloads go into the directory.
    pub fn start(downloads: &Path) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver runs (Debian: apt-get install chromium chromium-driver)");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .find_map(|line| {
                let line = line.unwrap();
                let (_, port) = line.split_once("started successfully on port ")?;
                Some(port.trim_end_matches('.').to_owned())
            })
            .unwrap();
        let mut browser =
            Self { driver, address: format!("127.0.0.1:{port}"), session: String::new() };
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1100,900"],
            "prefs": {"download.default_directory": downloads.to_str().unwrap()},
        });
        let wanted = json!({"browserName": "chrome", "goog:chromeOptions": options});
        let body = json!({"capabilities": {"alwaysMatch": wanted}});
        let made = browser.call("POST", "/session", &body);
        browser.session = format!("/session/{}", made["sessionId"].as_str().unwrap());
        browser
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let headers = [("Content-Type", "application/json")];
        send(&mut stream, method, path, &headers, body.as_bytes());
        let answer = Answer::read(stream);
        assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
        answer.json()["value"].take()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("{}{path}", self.session), body)
    }

    pub fn open(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    /// Runs a script and returns its result.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until a script returns a truthy value, and returns it.
    pub fn wait(&self, script: &str) -> Value {
        let started = Instant::now();
        loop {
            let value = self.run(script);
            if !matches!(value, Value::Null | Value::Bool(false)) {
                return value;
            }
            let page = || self.run("return document.body.innerText");
            assert!(started.elapsed() < Duration::from_secs(40), "{script}\n{}", page());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn find(&self, selector: &str) -> String {
        let body = json!({"using": "css selector", "value": selector});
        let found = self.post("/element", &body);
        format!("/element/{}", found[ELEMENT].as_str().unwrap())
    }

    /// Clicks like a user: the element must be visible.
    pub fn click(&self, selector: &str) {
        self.post(&format!("{}/click", self.find(selector)), &json!({}));
    }

    /// Types into a field, or names a file for it.
    pub fn type_into(&self, selector: &str, text: &str) {
        self.post(&format!("{}/value", self.find(selector)), &json!({"text": text}));
    }

    /// A command of the Chrome `DevTools` protocol.
    pub fn command(&self, name: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": name, "params": parameters}))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.call("DELETE", &self.session, &Value::Null);
        }
        // The browser ends with its driver.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
