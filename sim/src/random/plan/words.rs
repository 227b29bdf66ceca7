//! What Unity does in a plan, well or badly, as words of the mock; and calls that must be rejected.

use protocol::Json;
use serde_json::json;

use super::steps::Kind;
use crate::random::rng::Rng;

const MISANSWERS: [&str; 16] = [
    "late 1s",
    "late 6s",
    "twice",
    "never",
    "malformed",
    "unreadable",
    "oversize",
    "flood",
    "flood",
    "wrong-type",
    "misaddressed",
    "binary",
    "error ERR_UNITY_EXECUTION",
    "error ERR_INVALID_PARAMS",
    "error ERR_RECONFIG_IN_PROGRESS",
    "error OWN_CODE",
];

const GARBAGE: [&str; 5] = [
    "stale",
    "say x",
    "say {}",
    "say {\"type\": \"shrug\", \"protocol_version\": 1}",
    "say {\"type\": \"hello\", \"protocol_version\": 1, \"plugin_version\": \"1.0.0\", \"state\": \"ready\"}",
];

/// How long things of Unity take, in milliseconds: in a plan with short times, and in one with the default times.
struct Times {
    quick: [u64; 3],
    slow: [u64; 3],
}

const COMPILE: Times = Times { quick: [50, 500, 3_000], slow: [5_000, 50_000, 70_000] };
const RELOAD: Times = Times { quick: [50, 500, 3_000], slow: [3_000, 30_000, 70_000] };
const AWAY: Times = Times { quick: [1, 300, 3_000], slow: [300, 3_000, 70_000] };
const RESTART: Times = Times { quick: [200, 200, 2_000], slow: [2_000, 2_000, 20_000] };
const FREEZE: Times = Times { quick: [500, 500, 3_000], slow: [3_000, 3_000, 40_000] };

impl Times {
    fn draw(&self, rng: &mut Rng, is_slow: bool) -> u64 {
        rng.pick(if is_slow { &self.slow } else { &self.quick })
    }
}

/// `number` makes two of them differ.
pub(super) fn bad_call(rng: &mut Rng, number: u64) -> (&'static str, Json) {
    match rng.between(0, 4) {
        0 => ("no_such_tool", json!({})),
        1 => ("read_console", json!({ "max_entries": 0 })),
        2 => ("read_console", json!({ "client_request_id": format!("no name {number}") })),
        3 => ("cancel_job", json!({ "job_id": "req-s1-1" })),
        _ => ("get_job_status", json!({ "job_id": "none" })),
    }
}

/// What Unity does, well or badly.
pub(super) fn unity_words(kind: Kind, rng: &mut Rng, is_slow: bool) -> String {
    match kind {
        Kind::Compile => format!("compile {}ms", COMPILE.draw(rng, is_slow)),
        Kind::Reload => {
            format!("{} {}ms", rng.pick(&["reload", "play"]), RELOAD.draw(rng, is_slow))
        }
        Kind::Drop => {
            format!("{} {}ms", rng.pick(&["drop", "close", "goaway"]), AWAY.draw(rng, is_slow))
        }
        Kind::Restart => format!("restart {}ms", RESTART.draw(rng, is_slow)),
        Kind::Freeze => match rng.pick(&["freeze", "freeze", "dialog", "dismiss"]) {
            "freeze" => format!("freeze {}ms", FREEZE.draw(rng, is_slow)),
            word => word.to_owned(),
        },
        Kind::Pong => format!("pong {}", rng.pick(&["never", "300ms", "0s"])),
        Kind::Misanswer => format!("answer {}", rng.pick(&MISANSWERS)),
        Kind::Jobs => {
            let how = ["lost", "succeeded", "failed", "queued", "cancelled"];
            format!("job {}", rng.pick(&how))
        }
        Kind::Garbage => rng.pick(&GARBAGE).to_owned(),
        Kind::Console
        | Kind::Tests
        | Kind::Status
        | Kind::CancelJob
        | Kind::State
        | Kind::Bad
        | Kind::CancelCall
        | Kind::Babble
        | Kind::Break
        | Kind::Forge
        | Kind::StuckJob
        | Kind::Network
        | Kind::Write
        | Kind::Repeat
        | Kind::Server => unreachable!("these are not Unity's"),
    }
}
