//! What an agent is advised to do after an error: the table of the contract, written down again. The server has its own.

use protocol::Json;

use super::text;

/// Code, usual guarantee, usual action.
#[rustfmt::skip] // A table is read by its columns.
const TABLE: [(&str, &str, &str); 15] = [
    ("ERR_INVALID_REQUEST",      "not_executed",    "fix_the_call"),
    ("ERR_INVALID_PARAMS",       "not_executed",    "fix_the_call"),
    ("ERR_UNKNOWN_COMMAND",      "not_executed",    "fix_the_call"),
    ("ERR_EDITOR_NOT_READY",     "not_executed",    "wait_for_editor"),
    ("ERR_COMPILE_TIMEOUT",      "not_executed",    "wait_for_editor"),
    ("ERR_QUEUE_FULL",           "not_executed",    "retry"),
    ("ERR_UNITY_DISCONNECTED",   "unknown",         "inspect_then_retry"),
    ("ERR_RECONNECT_TIMEOUT",    "unknown",         "inspect_then_retry"),
    ("ERR_REQUEST_TIMEOUT",      "unknown",         "inspect_then_retry"),
    ("ERR_INVALID_RESPONSE",     "unknown",         "inspect_then_retry"),
    ("ERR_UNITY_EXECUTION",      "completed_error", "inspect_then_retry"),
    ("ERR_JOB_NOT_FOUND",        "not_executed",    "fix_the_call"),
    ("ERR_CANCEL_NOT_SUPPORTED", "not_executed",    "fix_the_call"),
    ("ERR_CANCEL_REJECTED",      "unknown",         "none"),
    ("ERR_RECONFIG_IN_PROGRESS", "not_executed",    "retry"),
];

/// Tools that do no harm when they run twice.
const REPEATABLE: [&str; 7] = [
    "get_editor_state",
    "read_console",
    "ping",
    "list_scenes",
    "list_assets",
    "get_selection",
    "script_recompile_trigger",
];

pub(super) fn is_repeatable(tool: &str) -> bool {
    REPEATABLE.contains(&tool)
}

/// Checks the advice in an error object. `was_too_large`: Unity sent a frame over the limit, so asking for less can help.
pub(super) fn check(tool: &str, error: &Json, was_too_large: bool) -> Result<(), String> {
    let (code, details) = (text(error, "code"), error.get("details").cloned().unwrap_or_default());
    let (guarantee, told) =
        (text(&details, "execution_guarantee"), text(&details, "recovery_action"));
    let Some((_, usual_guarantee, usual)) = TABLE.iter().find(|(known, ..)| *known == code) else {
        return Err(format!("{code} is not a code of the contract"));
    };
    let expected = match guarantee.as_str() {
        "unknown" if *usual == "none" => "none",
        "unknown" if is_repeatable(tool) => "retry",
        "unknown" => "inspect_then_retry",
        // The server failed before it sent anything.
        "not_executed" if *usual_guarantee != "not_executed" => "retry",
        _ => usual,
    };
    let asks_for_less = code == "ERR_INVALID_RESPONSE" && was_too_large && told == "fix_the_call";
    // The only one of these that waiting does not help: the last compile failed.
    let has_to_look = code == "ERR_EDITOR_NOT_READY"
        && told == "inspect_then_retry"
        && error.get("retryable") == Some(&Json::Bool(false));
    if told == expected || asks_for_less || has_to_look {
        return Ok(());
    }
    Err(format!("{code} {guarantee} of {tool} advises {told:?}, expected {expected:?}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn the_advice_depends_on_code_guarantee_and_tool() {
        let advises = |tool: &str, code: &str, guarantee: &str, action: &str| {
            let details = json!({ "execution_guarantee": guarantee, "recovery_action": action });
            check(tool, &json!({ "code": code, "details": details }), false).is_ok()
        };
        for (tool, code, guarantee, action) in [
            ("run_tests", "ERR_REQUEST_TIMEOUT", "unknown", "inspect_then_retry"),
            ("read_console", "ERR_REQUEST_TIMEOUT", "unknown", "retry"),
            ("run_tests", "ERR_JOB_NOT_FOUND", "unknown", "inspect_then_retry"),
            ("get_job_status", "ERR_JOB_NOT_FOUND", "not_executed", "fix_the_call"),
            ("run_tests", "ERR_UNITY_EXECUTION", "not_executed", "retry"),
            ("run_tests", "ERR_CANCEL_REJECTED", "unknown", "none"),
        ] {
            assert!(advises(tool, code, guarantee, action), "{tool} {code} {guarantee}");
            let other = if action == "none" { "retry" } else { "none" };
            assert!(!advises(tool, code, guarantee, other), "{tool} {code} {guarantee}");
        }
        assert!(!advises("read_console", "ERR_X", "unknown", "retry"));
    }
}
