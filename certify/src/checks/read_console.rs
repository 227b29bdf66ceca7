//! `read_console`: the shape of the answer, filters and cursors.

mod cursors;
mod filters;

use std::time::Duration;

use coordination::{Route, Tool};
use protocol::Json;
use serde_json::json;

use crate::check::{Check, Needs, Outcome, Stop, Topic, failed, not_tried};
use crate::run::Run;

/// As many as an agent may ask for.
const MANY: u64 = 2_000;
/// What the driver logs. The letters have both cases, and the order is known.
const LOGGED: [(&str, &str); 3] =
    [("log", "Certify Alpha"), ("warning", "Certify Beta"), ("error", "Certify Gamma")];
/// How long an entry may take from the driver into the console.
const LOG_WAIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(100);

pub(crate) const TOPIC: Topic = Topic {
    title: "read_console",
    checks: &[
        Check {
            name: "read_console gives entries, count and truncated",
            needs: Needs::Nothing,
            run: |run| Box::pin(shape(run)),
        },
        Check {
            name: "read_console lists the oldest entry first",
            needs: Needs::Nothing,
            run: |run| Box::pin(filters::oldest_first(run)),
        },
        Check {
            name: "read_console gives at most max_entries, the newest ones",
            needs: Needs::Nothing,
            run: |run| Box::pin(filters::max_entries(run)),
        },
        Check {
            name: "read_console gives only the types that are asked for",
            needs: Needs::Nothing,
            run: |run| Box::pin(filters::types(run)),
        },
        Check {
            name: "read_console ignores case in contains",
            needs: Needs::Nothing,
            run: |run| Box::pin(filters::contains(run)),
        },
        Check {
            name: "read_console gives nothing since the newest cursor",
            needs: Needs::Nothing,
            run: |run| Box::pin(cursors::since(run)),
        },
        Check {
            name: "read_console gives only older entries before a cursor",
            needs: Needs::Nothing,
            run: |run| Box::pin(cursors::before(run)),
        },
        Check {
            name: "read_console says cursor_lost for a cursor that it does not know",
            needs: Needs::Nothing,
            run: |run| Box::pin(cursors::stranger(run)),
        },
    ],
};

async fn shape(run: &mut Run) -> Outcome {
    let all = read(run, json!({})).await?;
    let entries = all.entries.len();
    Ok(format!("The answer has the right shape, and count is {entries}."))
}

/// An answer whose shape is right.
pub(super) struct Console {
    entries: Vec<Json>,
    is_truncated: bool,
    /// The newest entry of the console.
    pub(super) cursor: Option<String>,
    pub(super) is_lost: bool,
}

impl Console {
    fn message(&self, index: usize) -> Option<&str> {
        text(self.entries.get(index)?, "message")
    }

    fn last(&self) -> Option<&str> {
        self.message(self.entries.len().checked_sub(1)?)
    }
}

fn text<'a>(value: &'a Json, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Json::as_str)
}

/// Reads the console with these parameters and checks the shape of the answer.
pub(super) async fn read(run: &mut Run, asked: Json) -> Result<Console, Stop> {
    run.needs_tool("read_console")?;
    let mut params = json!({ "max_entries": MANY, "stack_traces": true });
    if let (Some(params), Json::Object(asked)) = (params.as_object_mut(), asked) {
        params.extend(asked);
    }
    let given = run.execute("read_console", params).await?;
    if let Some(Route::Execute(answer)) = Tool::named("read_console").map(|tool| &tool.route)
        && let Err(problem) = answer.given.check(&given)
    {
        return failed(format!("The answer has a wrong shape: {problem}."));
    }
    let entries = given.get("entries").and_then(Json::as_array).cloned().unwrap_or_default();
    let count = given.get("count").and_then(Json::as_u64).unwrap_or_default();
    if count != entries.len() as u64 {
        return failed(format!("count is {count}, and {} entries are listed.", entries.len()));
    }
    let flag = |name| given.get(name).and_then(Json::as_bool).unwrap_or_default();
    Ok(Console {
        entries,
        is_truncated: flag("truncated"),
        cursor: text(&given, "cursor").map(str::to_owned),
        is_lost: flag("cursor_lost"),
    })
}

/// The console, with the entries of the driver in it if there is a driver.
async fn filled(run: &mut Run) -> Result<Console, Stop> {
    run.needs_tool("read_console")?;
    if !run.has_driver() {
        let all = read(run, json!({})).await?;
        if all.entries.is_empty() {
            return not_tried("The console is empty. Log something, or use --driver.");
        }
        return Ok(all);
    }
    if !run.has_logged {
        for (kind, message) in LOGGED {
            run.type_word(&format!("log {kind} \"{message}\""));
        }
        run.has_logged = true;
    }
    let until = std::time::Instant::now() + LOG_WAIT;
    loop {
        let all = read(run, json!({})).await?;
        let last = LOGGED.last().map(|(_, message)| *message);
        if all.entries.iter().any(|entry| text(entry, "message") == last) {
            return Ok(all);
        }
        if std::time::Instant::now() > until {
            return failed("What the driver logged is not in the answer of read_console.");
        }
        run.plugin.pause(POLL).await;
    }
}
