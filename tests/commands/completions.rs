//! Completions and man pages are what their programs understand.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::command::run;

/// Gives `text` to a program on stdin. `None` if it is not installed.
fn accepted_by(program: &str, flags: &[&str], text: &str) -> Option<(bool, String)> {
    let mut command = Command::new(program);
    command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().ok()?;
    process.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = process.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn the_completions_of_each_shell_parse() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell]).assert_code(0).stdout;
        for word in ["certify", "doctor", "print-config"] {
            assert!(script.contains(word), "{word} in {shell}");
        }
        let flags: &[&str] = match shell {
            "bash" | "zsh" => &["-n"],
            "fish" => &["--no-execute"],
            _ => continue,
        };
        if let Some((is_good, said)) = accepted_by(shell, flags, &script) {
            assert!(is_good && said.is_empty(), "{shell}: {said}");
        }
    }
    run(&["completions", "tcsh"]).assert_code(2);
    run(&["completions"]).assert_code(2);
}

#[test]
fn the_man_pages_render() {
    for (flags, name) in [(&["man"][..], "unity-mcp"), (&["man", "call"], "unity-mcp-call")] {
        let page = run(flags).assert_code(0).stdout;
        assert!(page.contains(".TH") && page.contains(".SH NAME"), "{page}");
        let render = ["--warnings", "-l", "-"];
        if let Some((is_good, said)) = accepted_by("man", &render, &page) {
            assert!(is_good && said.contains(name) && !said.contains("warning:"), "{said}");
        }
    }
    let page = run(&["man"]).stdout;
    let name = page.split(".SH NAME\n").nth(1).unwrap().split(".SH").next().unwrap();
    assert_eq!(name.trim().lines().count(), 1, "{name}");
    assert!(run(&["--help"]).stdout.contains("\n  man "), "it can be found");
    run(&["man", "woman"]).assert_code(2);
}
