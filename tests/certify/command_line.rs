//! Options, exit codes and what a person reads.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use harness::server::{program, run};

use crate::certify::{certify, driver};

fn certify_with(flags: &[&str]) -> (i32, String, String) {
    run(&[&["certify"], flags].concat(), &std::env::temp_dir())
}

#[test]
fn the_checks_are_listed() {
    let (code, stdout, _) = certify_with(&["--list"]);
    assert_eq!(code, 0);
    for part in ["read_console\n", "  Every ping is answered", "(needs a driver or a person)"] {
        assert!(stdout.contains(part), "{part} in {stdout}");
    }
}

#[test]
fn help_explains_the_command_and_the_server_mentions_it() {
    let (code, stdout, _) = certify_with(&["--help"]);
    assert_eq!(code, 0);
    for part in ["--driver", "--only", "--wait", "--json", "--list", "Exit codes:", "Examples:"] {
        assert!(stdout.contains(part), "{part} in {stdout}");
    }
    let (_, stdout, _) = run(&["--help"], &std::env::temp_dir());
    assert!(stdout.contains("unity-mcp certify"), "{stdout}");
}

#[test]
fn bad_usage_is_2() {
    let gone = "/nowhere/driver --port {port}";
    for (flags, part) in [
        (&["--only", "no such check"][..], "--list"),
        (&["--wait", "0"], "--wait"),
        (&["--port", "x"], "--port"),
        (&["--port", "0", "--driver", gone], "/nowhere/driver does not start"),
        (&["--port", "0", "--driver", "'open"], "not closed"),
        (&["--frobnicate"], "--frobnicate"),
    ] {
        let (code, _, stderr) = certify_with(flags);
        assert_eq!(code, 2, "{flags:?} {stderr}");
        assert!(stderr.contains(part), "{part} in {stderr}");
    }
}

#[test]
fn no_port_and_no_plugin_are_3() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, _, stderr) = certify_with(&["--port", &port]);
    assert_eq!(code, 3);
    assert!(stderr.contains("is in use") && stderr.contains("--port"), "{stderr}");
    let (code, _, stderr) = certify_with(&["--port", "0", "--wait", "1"]);
    assert_eq!(code, 3);
    assert!(stderr.contains("no plugin connected within 1 s"), "{stderr}");
    let (code, _, stderr) = certify_with(&["--port", "0", "--driver", &driver("--no-such-flag")]);
    assert_eq!(code, 3);
    assert!(stderr.contains("has ended"), "{stderr}");
}

#[test]
fn a_wrong_path_is_named() {
    let mut certify = Command::new(program());
    certify.args(["certify", "--port", "0", "--wait", "2"]);
    certify.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut certify = certify.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(certify.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.split(['/', ':']).find_map(|part| part.parse::<u16>().ok()).unwrap();
    tungstenite::connect(format!("ws://127.0.0.1:{port}/wrong")).unwrap_err();
    let output = certify.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("asked for /wrong; the path is /unity"), "{stderr}");
}

#[test]
fn a_failure_is_shown_with_its_frames() {
    let driver = driver("--pong-seq last");
    let flags = ["--port", "0", "--driver", &driver, "--only", "every ping"];
    let (code, stdout, stderr) = certify_with(&flags);
    assert_eq!((code, stderr.as_str()), (1, ""));
    let (table, failures) = stdout.split_once("\nseq grows with").unwrap();
    assert!(table.contains("  passed     Every ping is answered"), "{stdout}");
    assert!(table.contains("  failed     seq grows with"), "{stdout}");
    assert!(failures.contains(r#"plugin  #1   {"type":"pong""#), "{stdout}");
    assert!(stdout.trim_end().ends_with("5 passed, 1 failed, 6 not tried"), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "{stdout}");
}

#[test]
fn long_frames_are_cut_and_control_characters_are_escaped() {
    let text = r#"say {"type":"\u202e","x":"AAAA"}"#;
    let scratch = harness::server::Scratch::new("certify-text");
    let path = scratch.0.join("say.yaml");
    let long = text.replace("AAAA", &"A".repeat(5_000)).replace("\\u202e", "\u{202e}");
    std::fs::write(&path, format!("- {{ every: 30ms, do: '{long}' }}\n")).unwrap();
    let flags = format!("--script \"{}\"", path.display());
    let certified = certify(&flags, &["--only", "every ping"]);
    let failed = certified.checks.iter().find(|check| check["outcome"] == "failed").unwrap();
    let text = failed["frames"][0]["text"].as_str().unwrap();
    assert!(text.contains("\\u{202e}") && text.ends_with('…'), "{text}");
    assert!(text.chars().count() <= 301, "{text}");
}
