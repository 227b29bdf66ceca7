//! The functions that are fuzzed. Each takes any bytes and panics if something is wrong. `targets/` runs them in a
//! fuzzer, `tests/corpus.rs` runs them on the committed inputs.

#[cfg(feature = "guard")]
mod guard;

use protocol::codec::{Message, decode, encode};
use protocol::{FromUnity, ToUnity};
use sim::faults::Fault;
use sim::levels::run::{Level, run_brief};
use sim::random::plan;

#[cfg(feature = "guard")]
pub use guard::guard;

/// A frame is refused, or is a message that says the same when it is written and read again.
pub fn codec(bytes: &[u8]) {
    both_ways::<FromUnity>(bytes);
    both_ways::<ToUnity>(bytes);
}

fn both_ways<M: Message + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    match decode::<M>(bytes) {
        Ok(message) => {
            let again = decode::<M>(encode(&message).as_bytes());
            assert_eq!(again, Ok(message), "it says something else when it is sent on");
        }
        Err(problem) => {
            let told = problem.to_string();
            assert!(!told.chars().any(char::is_control), "unfit for a log: {told:?}");
            // 200 characters of the peer, each escaped.
            assert!(told.chars().count() < 2_500, "a peer decides how long a log line is: {told}");
        }
    }
}

/// No plan makes the core break a promise. Two bytes are one draw of the plan.
pub fn events(bytes: &[u8]) {
    let plan = plan::from_bytes(bytes);
    let failures = run_brief(Level::Core, &plan, Fault::None).failures;
    assert!(failures.is_empty(), "{}\n{}", failures.join("\n"), plan.text());
}
