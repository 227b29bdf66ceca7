//! Every command, flag and setting that a README names exists: the programs themselves are asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use super::read;

const READMES: [&str; 2] = ["README.md", "README.ja.md"];
/// Signs that end a command in a shell.
const SHELL_SIGNS: [&str; 4] = ["&&", "||", "|", ";"];

#[test]
fn every_command_that_a_readme_names_is_one_that_the_program_takes() {
    let program = harness::server::program();
    for path in READMES {
        let commands: BTreeSet<Vec<String>> =
            code(&read(path)).iter().filter_map(|code| arguments_of("unity-mcp", code)).collect();
        for subcommand in ["setup", "doctor", "call", "verify", "status"] {
            let is_named =
                |words: &Vec<String>| words.first().is_some_and(|word| word == subcommand);
            assert!(commands.iter().any(is_named), "{path} does not name {subcommand}");
        }
        for arguments in commands {
            if let Err(told) = takes(program, &arguments) {
                panic!("{path}: unity-mcp {}: {told}", arguments.join(" "));
            }
        }
    }
}

#[test]
fn a_command_or_a_flag_that_does_not_exist_is_found() {
    let program = harness::server::program();
    for made_up in ["setpu", "setup crusor", "setup cursor --prnt", "doctor --fix", "--studio"] {
        let text = format!("Run `unity-mcp {made_up}` now.");
        let found: Vec<_> =
            code(&text).iter().filter_map(|code| arguments_of("unity-mcp", code)).collect();
        assert_eq!(found.len(), 1, "{made_up}");
        assert!(takes(program, found.first().unwrap()).is_err(), "{made_up}");
        let block = format!("```sh\nunity-mcp {made_up}\n```\n");
        assert!(code(&block).iter().any(|code| arguments_of("unity-mcp", code).is_some()));
    }
}

#[test]
fn every_flag_that_a_readme_names_without_a_command_is_one_of_a_program() {
    let (server, mock) = (harness::server::program(), harness::server::binary("mock-unity"));
    let mut helps = String::new();
    for subcommand in ["", "setup", "call", "verify", "doctor", "status", "certify"] {
        helps.push_str(&help(server, &words(subcommand)).unwrap());
    }
    helps.push_str(&help(mock, &words("demo")).unwrap());
    let known: BTreeSet<&str> = helps.split(|sign: char| !is_of_a_flag(sign)).collect();
    for path in READMES {
        for code in code(&read(path)) {
            let Some(flag) = code.split_whitespace().next().filter(|word| word.starts_with("--"))
            else {
                continue;
            };
            assert!(known.contains(flag), "{path} names {flag}, which no program has");
        }
    }
}

#[test]
fn the_settings_of_the_readmes_have_these_defaults() {
    let shown = Command::new(harness::server::program())
        .arg("--print-config")
        .current_dir(std::env::temp_dir())
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let defaults: BTreeMap<&str, &str> = shown
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, value)| (name, value.split(" (").next().unwrap_or_default()))
        .collect();
    for path in READMES {
        let readme = read(path);
        let rows = readme.lines().skip_while(|line| *line != "|---|---:|---|").skip(1);
        let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
        assert!(rows.len() >= 4, "{path}: {rows:?}");
        for row in rows {
            let name = row.split('`').nth(1).unwrap();
            let value = row.split('|').nth(2).unwrap().trim();
            assert_eq!(defaults.get(name), Some(&value), "{path}: {row}");
        }
    }
}

/// The code spans of a text, and the lines of its code blocks.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            found.push(line.trim().to_owned());
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// What follows the name of the program in a command; `None` if it is not in it, or stands alone.
fn arguments_of(program: &str, code: &str) -> Option<Vec<String>> {
    let mut words = code.split_whitespace().skip_while(|word| *word != program).skip(1).peekable();
    words.peek()?;
    Some(words.take_while(|word| !SHELL_SIGNS.contains(word)).map(str::to_owned).collect())
        .filter(|arguments: &Vec<String>| !arguments.is_empty())
}

/// The program reads its arguments from left to right, and the last one asks for help. So nothing is done.
fn takes(program: &Path, arguments: &[String]) -> Result<(), String> {
    help(program, arguments).map(|_| ())
}

fn help(program: &Path, arguments: &[String]) -> Result<String, String> {
    let shown = Command::new(program).args(arguments).arg("--help").output().unwrap();
    let (out, told) =
        (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    if shown.status.success() && out.contains("Usage: ") {
        Ok(out.into_owned())
    } else {
        Err(told.into_owned())
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn is_of_a_flag(sign: char) -> bool {
    sign == '-' || sign.is_ascii_alphanumeric()
}
