//! SPEC 13.2 to 13.4: what is asked, and what an agent gets of Unity's answer.

use std::time::Duration;

use coordination::{Catalog, RawCall, validate_with};
use protocol::Json;
use serde_json::json;

/// Compile errors that are listed.
const ERRORS_MAX: usize = 50;

fn verdict(tool: &str, arguments: Json) -> String {
    let Json::Object(arguments) = arguments else { panic!("{arguments}") };
    match validate_with(Catalog::V1_1, RawCall { tool: tool.to_owned(), arguments }) {
        Ok(_) => "ok".to_owned(),
        Err(failure) => failure.code.to_string(),
    }
}

fn told(tool: &str, given: Json, asked: &Json) -> Json {
    let tool = Catalog::V1_1.tool(tool).unwrap();
    tool.tell(given, asked, Duration::from_micros(1_500)).unwrap()
}

fn assets(names: &[&str]) -> Json {
    let asset = |name: &&str| json!({ "path": name, "type": "Scene", "guid": "0" });
    let assets: Vec<Json> = names.iter().map(asset).collect();
    json!({ "assets": assets, "count": names.len(), "truncated": false })
}

fn paths(told: &Json) -> Vec<&str> {
    told["assets"].as_array().unwrap().iter().filter_map(|asset| asset["path"].as_str()).collect()
}

#[test]
fn both_sides_of_every_limit() {
    let scene = |more: Json| {
        let mut arguments = json!({ "path": "A", "client_request_id": "x" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let text = |length: usize| "x".repeat(length);
    for (tool, inside, outside) in [
        ("ping", json!({ "timeout_ms": 10_000 }), json!({ "timeout_ms": 10_001 })),
        ("get_selection", json!({ "timeout_ms": 10_000 }), json!({ "timeout_ms": 10_001 })),
        ("list_scenes", json!({ "timeout_ms": 30_000 }), json!({ "timeout_ms": 30_001 })),
        ("list_assets", json!({ "timeout_ms": 30_000 }), json!({ "timeout_ms": 30_001 })),
        ("ping", json!({ "timeout_ms": 1 }), json!({ "timeout_ms": 0 })),
        ("get_selection", json!({ "timeout_ms": 1 }), json!({ "timeout_ms": 0 })),
        ("list_scenes", json!({ "timeout_ms": 1 }), json!({ "timeout_ms": 0 })),
        ("list_assets", json!({ "timeout_ms": 1 }), json!({ "timeout_ms": 0 })),
        ("open_scene", scene(json!({ "timeout_ms": 1 })), scene(json!({ "timeout_ms": 0 }))),
        ("script_recompile_trigger", json!({ "timeout_ms": 1 }), json!({ "timeout_ms": 0 })),
        ("list_assets", json!({ "max_entries": 1 }), json!({ "max_entries": 0 })),
        ("list_assets", json!({ "max_entries": 500 }), json!({ "max_entries": 501 })),
        ("list_assets", json!({ "query": text(4_000) }), json!({ "query": text(4_001) })),
        ("list_assets", json!({ "folder": text(4_000) }), json!({ "folder": text(4_001) })),
        ("list_assets", json!({ "after": text(4_000) }), json!({ "after": text(4_001) })),
        (
            "open_scene",
            scene(json!({ "path": text(4_000) })),
            scene(json!({ "path": text(4_001) })),
        ),
        (
            "open_scene",
            scene(json!({ "timeout_ms": 60_000 })),
            scene(json!({ "timeout_ms": 60_001 })),
        ),
        ("open_scene", scene(json!({ "additive": true })), scene(json!({ "additive": "maybe" }))),
        (
            "script_recompile_trigger",
            json!({ "timeout_ms": 1_800_000, "wait_ms": 300_000 }),
            json!({ "timeout_ms": 1_800_001 }),
        ),
        ("script_recompile_trigger", json!({ "wait_ms": 0 }), json!({ "wait_ms": 300_001 })),
    ] {
        assert_eq!(verdict(tool, inside.clone()), "ok", "{tool} {inside}");
        assert_eq!(verdict(tool, outside.clone()), "ERR_INVALID_PARAMS", "{tool} {outside}");
    }
    assert_eq!(verdict("open_scene", json!({ "client_request_id": "x" })), "ERR_INVALID_PARAMS");
    assert_eq!(verdict("open_scene", json!({ "path": "A" })), "ERR_INVALID_REQUEST");
}

#[test]
fn assets_are_sorted_by_path_and_next_lists_what_was_left_out() {
    let asked = json!({ "query": "t:Scene", "max_entries": 2 });
    let first = told("list_assets", assets(&["C", "A", "B"]), &asked);
    assert_eq!(paths(&first), ["A", "B"]);
    assert_eq!((&first["count"], &first["truncated"]), (&json!(2), &json!(true)));
    assert_eq!(first["next"], json!({ "query": "t:Scene", "max_entries": 2, "after": "B" }));

    let second = told("list_assets", assets(&["A", "B", "C"]), &first["next"]);
    assert_eq!(paths(&second), ["C"], "also from a plugin that ignores `after`");
    assert_eq!((second.get("next"), &second["truncated"]), (None, &json!(false)));
}

#[test]
fn exactly_as_many_assets_as_were_asked_for_are_not_truncated() {
    let all = told("list_assets", assets(&["A", "B"]), &json!({ "max_entries": 2 }));
    assert_eq!((all.get("next"), &all["truncated"]), (None, &json!(false)));
}

#[test]
fn assets_that_the_plugin_left_out_can_be_reached() {
    let mut given = assets(&["A"]);
    given["truncated"] = json!(true);
    let all = told("list_assets", given, &json!({ "max_entries": 50 }));
    assert_eq!((&all["next"]["after"], &all["truncated"]), (&json!("A"), &json!(true)));
}

fn compile(errors: usize, left_out: Option<u64>) -> Json {
    let error = json!({ "file": "Assets/A.cs", "line": 1, "column": 2, "code": "CS0103", "message": "m", "assembly": "Game" });
    let mut given =
        json!({ "outcome": "failed", "reloaded": false, "warnings": 3, "duration_ms": 4 });
    given["errors"] = json!(vec![error; errors]);
    if let Some(left_out) = left_out {
        given["errors_left_out"] = json!(left_out);
    }
    told("script_recompile_trigger", given, &json!({}))
}

#[test]
fn fifty_compile_errors_are_listed_and_the_others_are_counted() {
    let listed = |told: &Json| told["errors"].as_array().unwrap().len();
    let all = compile(ERRORS_MAX, None);
    assert_eq!((listed(&all), all.get("errors_left_out")), (ERRORS_MAX, None));
    let more = compile(ERRORS_MAX + 1, None);
    assert_eq!((listed(&more), &more["errors_left_out"]), (ERRORS_MAX, &json!(1)));
    let cut_by_unity = compile(1, Some(7));
    assert_eq!((listed(&cut_by_unity), &cut_by_unity["errors_left_out"]), (1, &json!(7)));
}

#[test]
fn a_number_of_errors_without_end_does_no_harm() {
    assert_eq!(
        compile(ERRORS_MAX + 1, Some(u64::MAX))["errors_left_out"],
        json!(u64::MAX - ERRORS_MAX as u64)
    );
}

#[test]
fn a_compile_error_says_where_it_is_and_the_outcome_comes_first() {
    let told = compile(1, None);
    let fields: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["outcome", "reloaded", "errors", "warnings", "duration_ms"]);
    let error = r#"{"file":"Assets/A.cs","line":1,"column":2,"code":"CS0103","message":"m","assembly":"Game"}"#;
    assert_eq!(told["errors"][0].to_string(), error);
}

#[test]
fn a_ping_tells_the_time_that_the_server_measured() {
    assert_eq!(
        told("ping", json!({ "round_trip_ms": 99 }), &json!({})),
        json!({ "round_trip_ms": 1.5 })
    );
}

#[test]
fn scenes_and_selected_objects_are_listed_as_unity_gave_them() {
    let given = json!({
        "open": [{ "path": "Assets/A.unity", "name": "A", "is_active": true, "is_dirty": false }],
        "build": [{ "path": "Assets/A.unity", "enabled": true }],
    });
    assert_eq!(told("list_scenes", given.clone(), &json!({})), given);
    let given = json!({ "count": 1, "objects": [{ "name": "Player", "path": "/Player", "type": "GameObject" }] });
    assert_eq!(told("get_selection", given.clone(), &json!({})), given);
}
