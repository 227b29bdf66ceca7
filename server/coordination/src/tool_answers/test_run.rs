//! `run_tests`: the summary, the first failures, and how many more there are.

use std::time::Duration;

use protocol::{Json, printable};

use super::{Room, UnwantedOutcome, cut, full_text, name, number, object, take_list, text};

/// Failed tests that are listed.
pub(crate) const FAILED_MAX: usize = 50;
/// Characters of a filter in a message.
const FILTER_SHOWN: usize = 100;

pub(crate) fn tell(mut given: Json, _asked: &Json, _took: Duration) -> Json {
    let failed = take_list(&mut given, "failed_tests");
    let summary = given.get("summary").unwrap_or(&Json::Null);
    let known = number(summary, "failed").unwrap_or_default().max(failed.len() as u64);
    let mut room = Room::new(FAILED_MAX);
    let fitting = failed.iter().map_while(|test| room.take(|text_max| shown(test, text_max)));
    let listed: Vec<Json> = fitting.collect();
    let left_out = known.saturating_sub(listed.len() as u64);
    object([
        ("summary", Some(counts(summary))),
        ("failed_tests_left_out", (left_out > 0).then(|| Json::from(left_out))),
        ("failed_tests", Some(Json::Array(listed))),
    ])
}

/// A run without a test says nothing about the project, whatever Unity calls it.
pub(crate) fn problem(told: &Json, asked: &Json) -> Option<UnwantedOutcome> {
    let count = |name| told.get("summary").and_then(|summary| number(summary, name));
    if count("total") > count("skipped") {
        return None;
    }
    let filter = text(asked, "filter").map(|filter| printable(filter, FILTER_SHOWN));
    let what = match (filter, count("total")) {
        (Some(filter), Some(0)) => format!("No test matches the filter \"{filter}\""),
        (None, Some(0)) => "The project has no tests of this mode".to_owned(),
        (Some(filter), _) => format!("Every test that matches the filter \"{filter}\" was skipped"),
        (None, _) => "Every test was skipped".to_owned(),
    };
    let what = format!("{what}, so no test ran");
    Some(UnwantedOutcome { what, advice: "fix the filter or the mode and call again" })
}

fn counts(summary: &Json) -> Json {
    let field = |name| (name, summary.get(name).cloned());
    object(["total", "passed", "failed", "skipped", "duration_ms"].map(field))
}

fn shown(test: &Json, text_max: usize) -> Json {
    let field = |name: &str| text(test, name).unwrap_or_default();
    object([
        ("name", Some(Json::from(name(field("name"))))),
        ("message", Some(Json::from(cut(field("message"), text_max)))),
        ("stack_trace", full_text(field("stack_trace"), text_max)),
    ])
}
