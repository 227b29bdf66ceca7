//! Checks frames of a plugin: the codec of the server decodes them, and docs/wire.schema.json describes them.

use std::sync::OnceLock;

use protocol::FromUnity;
use serde_json::Value;

use crate::json_schema;

/// Checks the frame in a JSON line of an Editor. Other lines are right.
///
/// # Errors
/// Says what is wrong, with the frame.
pub fn check_line(line: &str) -> Result<(), String> {
    // The text itself: parsed JSON does not show that a key occurs twice.
    let Some((_, rest)) = line.split_once(",\"to_server\":").filter(|(ms, _)| ms.len() < 30) else {
        return Ok(());
    };
    let frame = rest.strip_suffix('}').unwrap_or(rest);
    check_frame(frame).map_err(|problem| format!("{problem} in {frame}"))
}

/// # Errors
/// Says what is wrong.
pub fn check_frame(frame: &str) -> Result<(), String> {
    protocol::codec::decode::<FromUnity>(frame.as_bytes()).map_err(|error| error.to_string())?;
    let frame: Value = serde_json::from_str(frame).map_err(|error| error.to_string())?;
    json_schema::check(schema(), "#/$defs/FromUnity", &frame)
}

/// What the repository publishes for authors of plugins.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let text = include_str!("../../docs/wire.schema.json");
    SCHEMA.get_or_init(|| serde_json::from_str(text).unwrap())
}
