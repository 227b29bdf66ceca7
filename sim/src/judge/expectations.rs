//! What the scenario itself expects: the answers of its calls, and what Unity ran.

use std::collections::BTreeMap;
use std::time::Duration;

use mock_unity::Books;
use protocol::{Json, printable};

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
        let list = |labels: &[String]| {
            if labels.is_empty() { "nothing".to_owned() } else { labels.join(", ") }
        };
        failures.push(format!("Unity ran {}, expected {}", list(&executed), list(expected)));
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
        (Expected::Ok(fields), CallResult::Ok(result)) => {
            let mut differences = Vec::new();
            compare("", Some(result), fields, &mut differences);
            if !differences.is_empty() {
                return Err(format!("its answer differs\n    {}", differences.join("\n    ")));
            }
            true
        }
        (
            Expected::Error { code, guarantee },
            CallResult::Failed { code: told, guarantee: says },
        ) => code == told && guarantee == says,
        (Expected::Anything, _) => true,
        (Expected::Ok(_) | Expected::Error { .. } | Expected::Nothing, _) => false,
    };
    if !fits {
        let expected = match &call.expected {
            Expected::Ok(fields) => format!("an answer with {fields}"),
            Expected::Error { code, guarantee } => error_text(code, guarantee.as_deref()),
            Expected::Nothing => "no answer".to_owned(),
            Expected::Anything => "any answer".to_owned(),
        };
        let got = match told {
            CallResult::Ok(result) => printable(&result.to_string(), 300),
            CallResult::Failed { code, guarantee } => error_text(code, guarantee.as_deref()),
            CallResult::Lost(why) => format!("no answer: {why}"),
        };
        return Err(format!("its answer differs\n    expected {expected}\n    got      {got}"));
    }
    let took = at.saturating_sub(record.called_at.unwrap_or_default());
    match call.within {
        Some(within) if took > within => Err(format!("it took {took:?}, expected {within:?}")),
        Some(_) | None => Ok(()),
    }
}

fn error_text(code: &str, guarantee: Option<&str>) -> String {
    format!("{code} ({})", guarantee.unwrap_or("no guarantee"))
}

/// Where `whole` lacks what `part` has, by the path of the field.
fn compare(path: &str, whole: Option<&Json>, part: &Json, differences: &mut Vec<String>) {
    match (whole, part) {
        (Some(Json::Object(whole)), Json::Object(part)) => {
            for (name, value) in part {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(&path, whole.get(name), value, differences);
            }
        }
        (Some(whole), part) if whole == part => {}
        (whole, part) => {
            let got =
                whole.map_or("nothing".to_owned(), |whole| printable(&whole.to_string(), 300));
            differences.push(format!("{path}: expected {part}, got {got}"));
        }
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

    use super::compare;

    #[test]
    fn what_differs_is_named_by_its_path() {
        let check = |whole, part| {
            let mut differences = Vec::new();
            compare("", Some(&whole), &part, &mut differences);
            differences.join("; ")
        };
        let whole = json!({ "a": null, "b": { "c": 1, "d": 2 } });
        assert_eq!(check(whole, json!({ "a": null, "b": { "c": 1 } })), "");
        assert_eq!(check(json!({}), json!({ "a": null })), "a: expected null, got nothing");
        let two = check(json!({ "a": { "b": 1 }, "c": 3 }), json!({ "a": { "b": 2 }, "c": 4 }));
        assert_eq!(two, "a.b: expected 2, got 1; c: expected 4, got 3");
    }
}
