//! `run_tests`: the summary, the first failures, and how many more there are.

use protocol::Json;

use super::{Room, cut, name, number, object, take_list, text};

/// Failed tests that are listed.
pub(crate) const FAILED_MAX: usize = 50;

pub(crate) fn tell(mut given: Json, _asked: &Json) -> Json {
    let failed = take_list(&mut given, "failed_tests");
    let summary = given.get("summary").unwrap_or(&Json::Null);
    let known = number(summary, "failed").unwrap_or_default().max(failed.len() as u64);
    let mut room = Room::new(FAILED_MAX);
    let fitting = failed.iter().map_while(|test| room.take(|text_max| shown(test, text_max)));
    let listed: Vec<Json> = fitting.collect();
    let left_out = known.saturating_sub(listed.len() as u64);
    object([
        ("summary", Some(counts(summary))),
        ("failed_tests", Some(Json::Array(listed))),
        ("failed_tests_left_out", (left_out > 0).then(|| Json::from(left_out))),
    ])
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
        ("stack_trace", Some(Json::from(cut(field("stack_trace"), text_max)))),
    ])
}
