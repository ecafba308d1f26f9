//! Third-party clients: schemathesis and LibreTranslate's own.
//!
//! `ABRIDGE_CLIENTS` names the directory of their programs, the `bin` of a virtual environment with
//! `schemathesis` and `libretranslatepy`; `.ci/run` makes one.

use std::path::PathBuf;
use std::process::Command;

use crate::process::{Process, metric, serve, write_model};

fn programs() -> PathBuf {
    let place = std::env::var_os("ABRIDGE_CLIENTS");
    place.expect("ABRIDGE_CLIENTS names a directory with schemathesis and python").into()
}

fn server(more: &[&str]) -> (tempfile::TempDir, Process) {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("model");
    let sentences = ["it was a lamp.", "the river saw it.", "she left the house."];
    write_model(&model, &sentences.map(str::to_owned));
    let server = serve(&model, more);
    (directory, server)
}

#[test]
#[ignore = "needs schemathesis; .ci/run runs it"]
fn schemathesis_finds_no_failure_in_thousands_of_requests() {
    // Random networks never end a sentence, and many sentences are generated.
    let (_directory, server) =
        server(&["--max-tokens", "64", "--max-segments", "16", "--max-beam", "2"]);
    let output = Command::new(programs().join("schemathesis"))
        .args(["run", &format!("http://{}/openapi.json", server.address)])
        .args(["--max-examples", "250", "--seed", "20240317", "--no-color", "--workers", "2"])
        .args(["--generation-database", "none", "--request-timeout", "60"])
        .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"])
        .args(["--checks", "response_schema_conformance,response_headers_conformance"])
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    println!("{report}");
    assert!(output.status.success(), "{report}{}", String::from_utf8_lossy(&output.stderr));
    let count = report.lines().find_map(|line| line.trim().split_once(" generated, "));
    let count: usize = count.unwrap().0.parse().unwrap();
    assert!(count > 2000, "{count} requests");
    // Not all of them were refused.
    for path in ["/v1/translate", "/v1/files", "/translate", "/v1/sessions/{id}/translate"] {
        let name = format!("abridge_requests_total{{path=\"{path}\",status=\"200\"}}");
        let served = metric(&server, &name);
        println!("{path}: {served} answers with 200");
        assert!(served > 0, "{path}");
    }
}

#[test]
#[ignore = "needs libretranslatepy; .ci/run runs it"]
fn the_client_of_libretranslate_works_by_changing_its_address() {
    let (directory, _) = server(&[]);
    let keys = directory.path().join("keys");
    std::fs::write(&keys, "0123456789abcdef0123\n").unwrap();
    let model = directory.path().join("model");
    let server = serve(&model, &["--keys", keys.to_str().unwrap()]);
    let script = "
import sys
from libretranslatepy import LibreTranslateAPI
api = LibreTranslateAPI(sys.argv[1], api_key='0123456789abcdef0123')
languages = api.languages()
assert languages[0]['code'] == 'und', languages
text = api.translate('It was a lamp. She left.\\n\\nThe river saw it.', languages[0]['code'], 'und')
assert isinstance(text, str) and text.count('\\n\\n') == 1, text
try:
    LibreTranslateAPI(sys.argv[1], api_key='wrong').translate('x', 'und', 'und')
except Exception as error:
    assert '401' in str(error), error
else:
    raise SystemExit('a wrong key was taken')
";
    let output = Command::new(programs().join("python"))
        .args(["-c", script, &format!("http://{}/", server.address)])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
