//! SPEC 8: what an agent gets of Unity's answer, tool by tool.

use std::time::Duration;

use coordination::Tool;
use protocol::Json;
use serde_json::json;

/// Characters of one text.
const TEXT_MAX: usize = 4_000;
/// Bytes of one list.
const LIST_BYTES_MAX: usize = 32 * 1024;
/// Failed tests that are listed.
const FAILED_MAX: usize = 50;

fn console(given: Json, asked: &Json) -> Json {
    Tool::named("read_console").unwrap().tell(given, asked, Duration::ZERO).unwrap()
}

fn test_run(given: Json) -> Json {
    Tool::named("run_tests").unwrap().tell(given, &Json::Null, Duration::ZERO).unwrap()
}

fn entry(message: &str) -> Json {
    json!({ "type": "log", "message": message, "stack_trace": "at A.B ()" })
}

/// As a plugin gives it that knows nothing but the contract.
fn plain(entries: Vec<Json>) -> Json {
    json!({ "count": entries.len(), "entries": entries, "truncated": false })
}

/// As one gives it that numbers its entries.
fn numbered(messages: &[&str], more: u64) -> Json {
    let entries = (1..).zip(messages).map(|(number, message)| {
        json!({ "type": "log", "message": message, "cursor": format!("c-{number}") })
    });
    let entries: Vec<Json> = entries.collect();
    let cursor = format!("c-{}", entries.len());
    json!({
        "count": entries.len(), "entries": entries, "truncated": more > 0, "more": more,
        "cursor": cursor,
    })
}

fn messages(told: &Json) -> Vec<&str> {
    let entries = told["entries"].as_array().unwrap();
    entries.iter().map(|entry| entry["message"].as_str().unwrap()).collect()
}

fn messages_of(message: &str) -> String {
    messages(&console(plain(vec![entry(message)]), &json!({})))[0].to_owned()
}

#[test]
fn the_newest_comes_first() {
    let told = console(plain(vec![entry("a"), entry("b"), entry("c")]), &json!({}));
    assert_eq!(messages(&told), ["c", "b", "a"]);
    assert_eq!((&told["count"], &told["truncated"]), (&json!(3), &json!(false)));
    assert_eq!(told["entries"][0]["stack_trace"], "at A.B ()");
}

#[test]
fn entries_in_a_row_that_say_the_same_are_one_with_a_count() {
    let mut twice = entry("b");
    twice["count"] = json!(2);
    let told = console(plain(vec![entry("a"), twice, entry("b"), entry("a")]), &json!({}));
    assert_eq!(messages(&told), ["a", "b", "a"]);
    assert_eq!(told["entries"][1]["count"], 3);
    assert_eq!(told["entries"][0].get("count"), None);
}

#[test]
fn entries_of_another_type_or_trace_are_not_the_same() {
    let mut error = entry("a");
    error["type"] = json!("error");
    let mut traced = entry("a");
    traced["stack_trace"] = json!("at C.D ()");
    let given = plain(vec![entry("a"), error, traced]);
    assert_eq!(console(given.clone(), &json!({}))["count"], 3);
    let without = console(given, &json!({ "stack_traces": "none" }));
    assert_eq!(without["entries"][0].get("stack_trace"), None);
    assert_eq!(without["count"], 3, "an error stands between two logs");
}

#[test]
fn a_short_trace_is_the_first_three_lines() {
    let mut traced = entry("a");
    traced["stack_trace"] = json!("A.B ()\n\n C.D ()\nE.F ()\nG.H ()\n");
    let shown = |traces: &str| {
        let told = console(plain(vec![traced.clone()]), &json!({ "stack_traces": traces }));
        told["entries"][0]["stack_trace"].clone()
    };
    assert_eq!(shown("short"), "A.B ()\n C.D ()\nE.F ()");
    assert_eq!(shown("full"), traced["stack_trace"]);
    assert_eq!(shown("none"), Json::Null);
}

#[test]
fn what_the_agent_did_not_ask_for_is_not_told_whatever_the_plugin_sends() {
    let of = |kind: &str, message: &str| json!({ "type": kind, "message": message });
    let given = plain(vec![
        of("log", "Boom 1"),
        of("error", "boom 2"),
        of("error", "quiet"),
        of("log", "x"),
    ]);
    let told = |asked: Json| {
        let told = console(given.clone(), &asked);
        let shown: Vec<String> = messages(&told).into_iter().map(str::to_owned).collect();
        (shown.join(","), told["count"].clone(), told["truncated"].clone())
    };
    let whole = |messages: &str, count: u64| (messages.to_owned(), json!(count), json!(false));
    assert_eq!(told(json!({ "types": ["error"] })), whole("quiet,boom 2", 2));
    assert_eq!(told(json!({ "contains": "BOOM" })), whole("boom 2,Boom 1", 2));
    assert_eq!(told(json!({ "contains": "boom", "types": ["log"] })), whole("Boom 1", 1));
    assert_eq!(told(json!({ "contains": "nothing" })), whole("", 0));
}

#[test]
fn the_verdict_comes_before_long_lists() {
    let told = console(numbered(&["a", "b"], 7), &json!({ "max_entries": 1 }));
    let names: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(names, ["count", "truncated", "more", "next", "cursor", "entries"]);
    let run = test_run(run(2, vec![json!({ "name": "A", "message": "no" })]));
    let names: Vec<&String> = run.as_object().unwrap().keys().collect();
    assert_eq!(names, ["summary", "failed_tests_left_out", "failed_tests"]);
}

#[test]
fn a_plugin_that_gives_more_than_was_asked_for_is_cut() {
    let told = console(numbered(&["a", "b", "c"], 0), &json!({ "max_entries": 2 }));
    assert_eq!(messages(&told), ["c", "b"]);
    assert_eq!((&told["truncated"], &told["more"]), (&json!(true), &json!(1)));
    assert_eq!(told["next"], json!({ "before": "c-2", "max_entries": 2 }));
}

#[test]
fn what_is_left_out_is_counted_and_can_be_asked_for() {
    let told = console(numbered(&["a", "b"], 7), &json!({ "since": "c-0", "max_entries": 2 }));
    assert_eq!((&told["more"], &told["cursor"]), (&json!(7), &json!("c-2")));
    assert_eq!(told["next"], json!({ "before": "c-1", "max_entries": 2, "since": "c-0" }));
    assert_eq!(told.get("cursor_lost"), None);
}

/// An entry that came several times.
fn repeated(message: &str, count: u64) -> Json {
    let mut entry = entry(message);
    entry["count"] = json!(count);
    entry
}

#[test]
fn entries_that_are_left_out_are_counted_as_often_as_they_came() {
    let entries = vec![repeated("a", 5), repeated("b", 3), repeated("c", 2), repeated("d", 7)];
    let mut given = plain(entries.clone());
    given["more"] = json!(100);
    let more = |max: u64| {
        let told = console(given.clone(), &json!({ "max_entries": max }));
        (told["truncated"].clone(), told["more"].clone())
    };
    assert_eq!(more(1), (json!(true), json!(100 + 5 + 3 + 2)), "d alone is listed");
    assert_eq!(more(2), (json!(true), json!(100 + 5 + 3)));
    assert_eq!(more(3), (json!(true), json!(100 + 5)));
    assert_eq!(more(4), (json!(true), json!(100)), "what Unity itself left out");
    let all = console(plain(entries), &json!({ "max_entries": 4 }));
    assert_eq!((&all["truncated"], all.get("more")), (&json!(false), None));
}

#[test]
fn entries_that_do_not_fit_are_counted_too() {
    let long = |sign: &str| sign.repeat(TEXT_MAX);
    let entries: Vec<Json> = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
        .iter()
        .map(|sign| repeated(&long(sign), 2))
        .collect();
    let told = console(plain(entries), &json!({ "max_entries": 10 }));
    let listed = told["count"].as_u64().unwrap();
    assert_eq!(listed, 8, "32 KiB of a little over 4,000 bytes each");
    assert_eq!(told["more"], 2 * (10 - listed));
}

#[test]
fn next_begins_before_the_oldest_of_entries_that_say_the_same() {
    let told = console(numbered(&["a", "b", "b"], 1), &json!({ "max_entries": 1 }));
    assert_eq!(told["next"], json!({ "before": "c-2", "max_entries": 1 }));
    assert_eq!(told["more"], 2);
}

#[test]
fn counts_without_end_do_no_harm() {
    let mut many = entry("a");
    many["count"] = json!(u64::MAX);
    let mut given = plain(vec![entry("b"), many.clone(), many.clone(), entry("b"), many]);
    given["more"] = json!(u64::MAX);
    let told = console(given, &json!({ "max_entries": 1 }));
    assert_eq!((&told["count"], &told["more"]), (&json!(1), &json!(u64::MAX)));
}

#[test]
fn an_older_page_gives_no_cursor_that_would_skip_what_is_newer() {
    let told = console(numbered(&["a", "b"], 0), &json!({ "before": "c-9" }));
    assert_eq!((told.get("cursor"), told.get("cursor_lost")), (None, None));
}

#[test]
fn a_plugin_without_cursors_promises_none() {
    let mut given = plain(vec![entry("a")]);
    given["truncated"] = json!(true);
    let told = console(given.clone(), &json!({}));
    assert_eq!(told["truncated"], true);
    for absent in ["more", "next", "cursor", "cursor_lost"] {
        assert_eq!(told.get(absent), None);
    }
    assert_eq!(console(given, &json!({ "since": "c-1" }))["cursor_lost"], true);
}

#[test]
fn a_cursor_that_the_plugin_does_not_know_is_lost() {
    let mut given = numbered(&["a"], 0);
    given["cursor_lost"] = json!(true);
    assert_eq!(console(given, &json!({ "since": "d-1" }))["cursor_lost"], true);
}

#[test]
fn a_text_without_end_is_cut_and_says_so() {
    let told = |sign: &str, length| messages_of(&sign.repeat(length));
    assert_eq!(told("ä", TEXT_MAX), "ä".repeat(TEXT_MAX));
    let cut = told("ä", TEXT_MAX + 5);
    assert_eq!(cut, format!("{}… (5 more characters)", "ä".repeat(TEXT_MAX)));
}

/// Bytes of the whole result, as MCP writes it: as text and as data.
fn written(answer: Json) -> usize {
    let content = json!([{ "type": "text", "text": answer.to_string() }]);
    json!({ "content": content, "structuredContent": answer }).to_string().len()
}

#[test]
fn no_answer_reaches_a_mebibyte_whatever_unity_gives() {
    for sign in ["x", "\"", "\\", "\u{1}", "\u{1F600}"] {
        let long = sign.repeat(20_000);
        let entries: Vec<Json> =
            (0..2_000).map(|number| entry(&format!("{number} {long}"))).collect();
        let told = console(plain(entries), &json!({ "max_entries": 2_000 }));
        assert_eq!(told["truncated"], true);
        assert!(written(told) < 1_048_576, "{sign:?}");
        let failed: Vec<Json> = (0..2_000)
            .map(|_| json!({ "name": long, "message": long, "stack_trace": long }))
            .collect();
        assert!(written(test_run(run(2_000, failed))) < 1_048_576, "{sign:?}");
    }
}

/// A text of which each character takes six bytes in JSON.
fn controls() -> String {
    "\u{1}".repeat(20_000)
}

#[test]
fn the_first_entry_is_always_listed_and_the_older_ones_can_be_reached() {
    let mut given = numbered(&["old", &controls()], 0);
    given["entries"][1]["stack_trace"] = json!(controls());
    let told = console(given, &json!({ "max_entries": 2 }));
    assert_eq!((&told["count"], &told["truncated"]), (&json!(2), &json!(false)), "{told}");
    let newest = told["entries"][0]["message"].as_str().unwrap();
    assert!(newest.starts_with(&"\u{1}".repeat(1_000)), "not cut more than it must be");
    assert!(newest.ends_with(" more characters)"), "{newest}");
    assert!(told["entries"][0].to_string().len() <= LIST_BYTES_MAX);
}

#[test]
fn the_second_entry_is_the_first_of_the_next_page() {
    let mut given = numbered(&["old", &controls(), &controls()], 0);
    for number in [1, 2] {
        given["entries"][number]["stack_trace"] = json!(format!("{number}{}", controls()));
    }
    let told = console(given, &json!({ "max_entries": 9 }));
    assert_eq!((&told["count"], &told["more"]), (&json!(1), &json!(2)));
    assert_eq!(told["next"], json!({ "before": "c-3", "max_entries": 9 }));
}

#[test]
fn the_first_failed_test_is_always_listed() {
    let test = json!({ "name": controls(), "message": controls(), "stack_trace": controls() });
    let told = test_run(run(3, vec![test.clone(), test.clone(), test]));
    let listed = told["failed_tests"].as_array().unwrap();
    assert_eq!((listed.len(), &told["failed_tests_left_out"]), (1, &json!(2)));
    assert!(listed[0].to_string().len() <= LIST_BYTES_MAX);
    assert!(listed[0]["message"].as_str().unwrap().starts_with(&"\u{1}".repeat(1_000)));
}

fn run(failed: u64, failed_tests: Vec<Json>) -> Json {
    let summary = json!({ "total": 3_000, "passed": 3_000 - failed, "failed": failed, "skipped": 0, "duration_ms": 1.5 });
    json!({ "summary": summary, "failed_tests": failed_tests, "passed_tests": ["A"] })
}

#[test]
fn a_test_run_lists_failures_alone_and_not_all_of_them() {
    let test = json!({ "name": "A", "message": "no" });
    let few = test_run(run(2, vec![test.clone(), test.clone()]));
    assert_eq!(few["failed_tests"].as_array().unwrap().len(), 2);
    assert_eq!(few["failed_tests"][0].get("stack_trace"), None);
    assert_eq!((few.get("failed_tests_left_out"), few.get("passed_tests")), (None, None));
    assert_eq!(few["summary"]["duration_ms"], 1.5);
    let many = test_run(run(80, vec![test.clone(); 80]));
    assert_eq!(many["failed_tests"].as_array().unwrap().len(), FAILED_MAX);
    assert_eq!(many["failed_tests_left_out"], 30);
    let unlisted = test_run(run(80, vec![test]));
    assert_eq!(unlisted["failed_tests_left_out"], 79, "Unity itself listed one alone");
}

#[test]
fn fields_that_the_contract_does_not_have_are_not_passed_on() {
    let mut odd = run(0, Vec::new());
    odd["failed_tests_left_out"] = json!("x");
    odd["junk"] = json!(vec![json!([]); 100_000]);
    odd["summary"]["junk"] = json!(1);
    assert_eq!(test_run(odd), test_run(run(0, Vec::new())));
    let mut odd = plain(vec![entry("a")]);
    odd["junk"] = json!([]);
    odd["entries"][0]["junk"] = json!([]);
    assert_eq!(console(odd, &json!({})), console(plain(vec![entry("a")]), &json!({})));
}
