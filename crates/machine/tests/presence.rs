//! Instructions are detected where the system lists them, so other tests skip only what is really
//! missing. What is missing is reported here, once, past the capture of the test harness.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use abridge_base::tell;
use abridge_machine::Instructions;
use abridge_machine::bf16::Kind;
use abridge_machine::int8::Path;

/// The CPU flags that Linux lists for the first processor.
fn listed() -> Option<Vec<String>> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags"))?;
    Some(flags.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn detection_agrees_with_the_system() {
    let Some(listed) = listed().filter(|_| cfg!(target_arch = "x86_64")) else {
        return tell!("skipped: this system does not list CPU flags");
    };
    let has = |names: &[&str]| names.iter().all(|name| listed.iter().any(|flag| flag == name));
    let is_avx2 = has(&["avx2", "fma"]);
    let is_avx512 = is_avx2 && has(&["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]);
    let expected = match (is_avx512, is_avx2) {
        (true, _) => Instructions::Avx512,
        (_, true) => Instructions::Avx2,
        _ => Instructions::Portable,
    };
    assert_eq!(Instructions::here(), expected);
    assert_eq!(Path::Vnni.is_available(), has(&["avx512f", "avx512bw", "avx512_vnni"]));
    assert_eq!(Path::Avx2.is_available(), has(&["avx2"]));
    assert_eq!(abridge_machine::half::columns().is_some(), is_avx512 || is_avx2 && has(&["f16c"]));
    assert_eq!(Kind::Amx.is_here(), is_avx512 && has(&["amx_tile", "amx_bf16"]));
    assert_eq!(Kind::Avx512.is_here(), is_avx512 && has(&["avx512_bf16"]));
}

#[test]
fn tests_of_missing_instructions_are_reported() {
    let avx2 = matches!(Instructions::here(), Instructions::Avx2 | Instructions::Avx512);
    let skipped = [
        ("AVX2", avx2),
        ("AVX-512", Instructions::here() == Instructions::Avx512),
        ("AVX-512 VNNI", Path::Vnni.is_available()),
        ("F16C", abridge_machine::half::columns().is_some()),
        ("AMX BF16", Kind::Amx.is_here()),
        ("AVX-512 BF16", Kind::Avx512.is_here()),
    ];
    for (name, _) in skipped.into_iter().filter(|(_, is_here)| !is_here) {
        tell!("skipped on this processor: tests of {name}");
    }
}
