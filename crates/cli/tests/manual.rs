//! What the binary says about itself: completions, manual pages, help with examples.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

fn abridge() -> Command {
    Command::cargo_bin("abridge").unwrap()
}

fn commands() -> Vec<String> {
    let help = abridge().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_has_help_with_examples_and_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man/man1");
    abridge().arg("man").arg(&pages).assert().success();
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let example = contains("Examples:").and(contains(format!("abridge {command}")));
        abridge().args([&command, "--help"]).assert().success().stdout(example);
        let page = fs::read_to_string(pages.join(format!("abridge-{command}.1"))).unwrap();
        assert!(page.contains(".TH") && page.contains("SYNOPSIS"), "{command}");
    }
    assert!(pages.join("abridge.1").is_file());
}

#[test]
fn an_option_has_one_name_in_every_command() {
    for command in commands() {
        let help = abridge().args([&command, "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for old in ["--out ", "--context ", "--contexts", "--context-sizes"] {
            assert!(!help.contains(old), "{command} still mentions {old}");
        }
    }
    // Scripts that use the old names still work.
    for (command, old) in [
        ("average", "--out"),
        ("cxmi", "--context-sizes"),
        ("profile", "--contexts"),
        ("translate", "--context"),
    ] {
        abridge().args([command, old, "1", "--help"]).assert().success();
    }
}

#[test]
fn shells_get_their_completions() {
    for (shell, part) in [
        ("bash", "complete -F _abridge"),
        ("zsh", "#compdef abridge"),
        ("fish", "complete -c abridge"),
    ] {
        abridge().args(["completions", shell]).assert().success().stdout(
            contains(part)
                .and(contains("reproduce"))
                .and(contains("--length-penalty").or(contains("length-penalty"))),
        );
    }
    abridge().args(["completions", "tcsh"]).assert().code(1);
}
