//! The check itself: it accepts every message of the protocol and finds what is wrong.

use std::path::Path;

use harness::json_schema;
use harness::wire_check::{check_frame, check_line};
use serde_json::json;

pub(crate) fn every_message_of_the_protocol_fits_the_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol/tests/snapshots");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.contains("from_unity") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let frame = text.splitn(3, "---").nth(2).unwrap();
        check_frame(frame).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        checked += 1;
    }
    assert!(checked >= protocol::FromUnity::TYPES.len(), "{checked}");
}

pub(crate) fn frames_that_are_wrong_do_not_fit() {
    for (frame, part) in [
        (r#"{"type":"pong","protocol_version":1,"seq":1,"seq":2}"#, "seq"),
        (r#"{"type":"shrug","protocol_version":1}"#, "shrug"),
        (r#"{"type":"editor_status","protocol_version":1,"state":"asleep","seq":1}"#, "asleep"),
        (r#"{"type":"pong","protocol_version":2}"#, "protocol_version"),
        // The codec accepts these two; the schema does not.
        (r#"{"type":"pong","protocol_version":1,"timestamp":5}"#, "oneOf"),
        (
            r#"{"type":"result","protocol_version":1,"request_id":"r","status":"ok","result":{},"timestamp":null}"#,
            "oneOf",
        ),
    ] {
        let problem = check_frame(frame).unwrap_err();
        assert!(problem.contains(part), "{problem} for {frame}");
        let line = format!("{{\"ms\":7,\"to_server\":{frame}}}");
        assert!(check_line(&line).unwrap_err().contains(part));
        let line = format!("{{\"ms\":7,\"from_server\":{frame}}}");
        assert_eq!(check_line(&line), Ok(()));
    }
}

pub(crate) fn a_keyword_that_the_check_does_not_know_is_an_error() {
    let schema = json!({
        "$defs": {
            "A": { "type": ["integer", "null"], "minimum": 1 },
            "B": { "properties": { "a": { "$ref": "#/$defs/A" } }, "required": ["a"] },
            "C": { "type": "array", "items": { "enum": ["x", "y"] } },
            "D": { "pattern": "x" },
        },
    });
    for (definition, value, is_right) in [
        ("A", json!(1), true),
        ("A", json!(null), true),
        ("A", json!(0), false),
        ("A", json!(1.5), false),
        ("B", json!({ "a": 2 }), true),
        ("B", json!({ "a": "2" }), false),
        ("B", json!({}), false),
        ("C", json!(["x", "y"]), true),
        ("C", json!(["x", "z"]), false),
        ("D", json!("x"), false),
        ("E", json!("x"), false),
    ] {
        let checked = json_schema::check(&schema, &format!("#/$defs/{definition}"), &value);
        assert_eq!(checked.is_ok(), is_right, "{definition} {value}: {checked:?}");
    }
}
