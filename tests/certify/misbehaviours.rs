//! Plugins that break a rule. Each makes the checks fail that are about it, and no others.

use harness::server::Scratch;

use crate::certify::certify;

const CONSOLE: &str = "read_console gives entries, count and truncated";
const HELLO: &str = "The first frame is a valid hello, within 5 s";
const HELLO_FIRST: &str = "Every socket starts with one valid hello";
const PINGS: &str = "Every ping is answered within a second";
const SEQ: &str = "seq grows with every editor_status and pong of a session";
const VALID: &str = "Every frame is a valid message of protocol version 1";
const TEXT: &str = "Every frame is a text frame";
const SIZE: &str = "Every frame is within max_message_bytes";
const ONCE: &str = "No request is answered twice";
const TYPE: &str = "Every answer has the type that belongs to its request";
const KNOWN: &str = "No answer names a request that was never sent";
const RESULT: &str = "run_tests is accepted and ends with a result";
const CANCEL: &str = "A cancel ends a running job by its job id";
const LOST: &str = "A plugin whose socket is lost is back within 5 s with the same names";
const REJECTED: &str = "A rejected plugin waits at least 2 s while another session is active";
const REPLACED: &str = "A plugin that was replaced by a newer connection does not come back";
const UNKNOWN_TOOL: &str = "An execute of an unknown tool is rejected with ERR_UNKNOWN_COMMAND";

/// A mock with these flags, or with this command again and again; which check runs; which fail.
struct Misbehaviour {
    flags: &'static str,
    again: &'static str,
    every: &'static str,
    only: &'static str,
    fail: &'static [&'static str],
}

const fn flags(
    flags: &'static str,
    only: &'static str,
    fail: &'static [&'static str],
) -> Misbehaviour {
    Misbehaviour { flags, again: "", every: "", only, fail }
}

const fn again(
    again: &'static str,
    only: &'static str,
    fail: &'static [&'static str],
) -> Misbehaviour {
    Misbehaviour { flags: "", again, every: "30ms", only, fail }
}

const MISBEHAVIOURS: &[Misbehaviour] = &[
    flags("--no-hello", HELLO, &[HELLO, HELLO_FIRST]),
    flags("--protocol-version 2", HELLO, &[HELLO, HELLO_FIRST, VALID]),
    flags("--no-pong", PINGS, &[PINGS]),
    flags("--pong-delay 2s", PINGS, &[PINGS]),
    flags("--pong-seq last", PINGS, &[SEQ]),
    flags("--cancel ignore", CANCEL, &[CANCEL]),
    flags("--reconnect never", LOST, &[LOST]),
    again("stale", PINGS, &[SEQ]),
    again("answer twice", CONSOLE, &[ONCE]),
    again("answer malformed", CONSOLE, &[CONSOLE, VALID]),
    again("answer unreadable", CONSOLE, &[CONSOLE, VALID]),
    again("answer wrong-type", CONSOLE, &[CONSOLE, TYPE]),
    again("answer misaddressed", CONSOLE, &[CONSOLE, KNOWN]),
    again("answer never", CONSOLE, &[CONSOLE]),
    again("answer late 6s", CONSOLE, &[CONSOLE]),
    again("answer binary", CONSOLE, &[CONSOLE, TEXT]),
    again("answer oversize", CONSOLE, &[CONSOLE, VALID, SIZE]),
    again("answer flood", CONSOLE, &[VALID]),
    again("answer error ERR_UNITY_EXECUTION", CONSOLE, &[CONSOLE]),
    again("answer error ERR_INVALID_PARAMS", UNKNOWN_TOOL, &[UNKNOWN_TOOL]),
    again("job lost", RESULT, &[RESULT]),
    again("job succeeded", RESULT, &[RESULT]),
    again(
        r#"say {"type":"hello","plugin_version":"1","state":"ready","protocol_version":1}"#,
        PINGS,
        &[HELLO_FIRST],
    ),
    // A plugin that connects again soon, whatever the server has said.
    Misbehaviour { every: "700ms", ..again("drop 50ms", REJECTED, &[REJECTED]) },
    Misbehaviour { every: "700ms", ..again("drop 50ms", REPLACED, &[REPLACED]) },
];

#[test]
fn each_broken_rule_is_named() {
    let scratch = Scratch::new("certify");
    let scripted = |index: usize, misbehaviour: &Misbehaviour| {
        if misbehaviour.again.is_empty() {
            return misbehaviour.flags.to_owned();
        }
        let path = scratch.0.join(format!("{index}.yaml"));
        let Misbehaviour { again, every, .. } = misbehaviour;
        let script = format!("- {{ at: 0s, every: {every}, do: '{again}' }}\n");
        std::fs::write(&path, script).unwrap();
        format!("--script \"{}\"", path.display())
    };
    // They mostly wait, so all of them run at once.
    std::thread::scope(|scope| {
        for (index, misbehaviour) in MISBEHAVIOURS.iter().enumerate() {
            let mock_flags = scripted(index, misbehaviour);
            scope.spawn(move || {
                let Misbehaviour { only, fail, .. } = misbehaviour;
                let certified = certify(&mock_flags, &["--only", only, "--wait", "10"]);
                let who = format!("{}{}", misbehaviour.flags, misbehaviour.again);
                let mut failed = certified.names("failed");
                let mut expected = fail.to_vec();
                failed.sort_unstable();
                expected.sort_unstable();
                assert_eq!(failed, expected, "{who}");
                assert_eq!(certified.code, 1, "{who}");
                let frames = certified.checks.iter().filter(|check| check["outcome"] == "failed");
                for check in frames {
                    assert!(!check["frames"].as_array().unwrap().is_empty(), "{who}: {check}");
                }
            });
        }
    });
}
