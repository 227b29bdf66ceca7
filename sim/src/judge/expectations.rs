//! What the scenario itself expects: the answers of its calls, and what Unity ran.

use std::collections::BTreeMap;
use std::time::Duration;

use mock_unity::Books;
use protocol::Json;

use crate::record::calls::{CallRecord, CallRecordsSnapshot, CallResult};
use crate::scenario::{Call, Expected, Scenario};

pub(super) type AllBooks = BTreeMap<String, (Duration, Books)>;

pub(crate) fn expectations(
    scenario: &Scenario,
    records: &CallRecordsSnapshot,
    books: &AllBooks,
) -> Vec<String> {
    let mut failures = records.not_joined.clone();
    for (_, call) in scenario.calls() {
        let record = records.calls.get(&call.label).cloned().unwrap_or_default();
        failures.extend(
            check_call(call, &record).err().map(|problem| format!("{}: {problem}", call.label)),
        );
    }
    let executed = executed(books);
    if let Some(expected) = &scenario.executed
        && executed != *expected
    {
        failures.push(format!("Unity ran {executed:?}, expected {expected:?}"));
    }
    for label in &scenario.executed_once {
        let times = executed.iter().filter(|executed| *executed == label).count();
        if times != 1 {
            failures.push(format!("Unity ran {label} {times} times"));
        }
    }
    failures
}

fn check_call(call: &Call, record: &CallRecord) -> Result<(), String> {
    let (at, told) = match (record.answers.as_slice(), &call.expected) {
        ([], Expected::Nothing) if record.called_at.is_none() => {
            return Err("it was not made".into());
        }
        ([] | [(_, CallResult::Lost(_))], Expected::Nothing) => return Ok(()),
        ([] | [_], Expected::Anything) if record.cancelled_at.is_some() => return Ok(()),
        ([], _) => return Err("it was not answered".to_owned()),
        ([(at, told)], _) => (*at, told),
        (many, _) => return Err(format!("it was answered {} times", many.len())),
    };
    let fits = match (&call.expected, told) {
        (Expected::Ok(fields), CallResult::Ok(result)) => contains(result, fields),
        (
            Expected::Error { code, guarantee },
            CallResult::Failed { code: told, guarantee: says },
        ) => code == told && guarantee == says,
        (Expected::Anything, _) => true,
        (Expected::Ok(_) | Expected::Error { .. } | Expected::Nothing, _) => false,
    };
    if !fits {
        return Err(format!("it was answered with {told:?}, expected {:?}", call.expected));
    }
    let took = at.saturating_sub(record.called_at.unwrap_or_default());
    match call.within {
        Some(within) if took > within => Err(format!("it took {took:?}, expected {within:?}")),
        Some(_) | None => Ok(()),
    }
}

/// Whether `whole` has at least what `part` has.
fn contains(whole: &Json, part: &Json) -> bool {
    match (whole, part) {
        (Json::Object(whole), Json::Object(part)) => part
            .iter()
            .all(|(name, value)| whole.get(name).is_some_and(|whole| contains(whole, value))),
        (whole, part) => whole == part,
    }
}

/// The calls that Unity ran, in order of time.
pub(super) fn executed(books: &AllBooks) -> Vec<String> {
    let mut all: Vec<(Duration, String)> = books
        .values()
        .flat_map(|(starts, books)| {
            books.executed.iter().map(move |execution| {
                let name = execution.client_request_id.as_ref().unwrap_or(&execution.tool_name);
                (*starts + execution.at, name.clone())
            })
        })
        .collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::contains;

    #[test]
    fn a_field_that_is_not_there_is_not_null() {
        assert!(contains(
            &json!({ "a": null, "b": { "c": 1, "d": 2 } }),
            &json!({ "a": null, "b": { "c": 1 } })
        ));
        assert!(!contains(&json!({}), &json!({ "a": null })));
        assert!(!contains(&json!({ "a": { "b": 1 } }), &json!({ "a": { "b": 2 } })));
    }
}
