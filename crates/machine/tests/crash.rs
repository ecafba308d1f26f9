//! A crash of foreign code prints the message, and kills the process as without it.
#![cfg(unix)]
#![allow(unsafe_code, reason = "crashes on purpose")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use abridge_machine::crash;

const ROLE: &str = "ABRIDGE_TEST_CRASH";

/// Not a test of its own: what the processes of the tests below do.
#[test]
fn crash_if_asked() {
    let Ok(role) = std::env::var(ROLE) else { return };
    crash::watch();
    if role != "silent" {
        crash::blame("the driver did it\n".to_owned());
        crash::blame("too late\n".to_owned());
    }
    match role.as_str() {
        "abort" => std::process::abort(),
        // SAFETY: kills this process, as it is meant to.
        _ => unsafe { std::ptr::null_mut::<u8>().write_volatile(1) },
    }
}

fn crashed(role: &str) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash_if_asked", "--nocapture"])
        .env(ROLE, role)
        .output()
        .unwrap();
    (status.signal(), String::from_utf8_lossy(&stderr).into_owned())
}

#[test]
fn the_message_is_printed_once_and_the_signal_kills() {
    for (role, signal) in [("fault", libc::SIGSEGV), ("abort", libc::SIGABRT)] {
        let (killed_by, printed) = crashed(role);
        assert_eq!(killed_by, Some(signal), "{printed}");
        assert_eq!(printed.matches("the driver did it").count(), 1, "{printed}");
        assert!(!printed.contains("too late"), "{printed}");
    }
}

#[test]
fn without_blame_nothing_is_added() {
    let (killed_by, printed) = crashed("silent");
    assert_eq!(killed_by, Some(libc::SIGSEGV));
    assert!(!printed.contains("driver"), "{printed}");
}
