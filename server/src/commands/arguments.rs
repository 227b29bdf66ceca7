//! The arguments of a call, from what was typed: flags, one JSON object, or JSON on stdin. Their types follow from the
//! schema of the tool. What does not fit is sent as it is, because the server names the problem best.

use protocol::{Json, Map, parse_json, printable};
use serde_json::json;

use super::tool_list::{ListedTool, nearest};

/// What was typed after the tool. `stdin` is read for `-`.
pub(super) fn parse(
    tool: &ListedTool,
    words: &[String],
    stdin: impl FnOnce() -> Result<Vec<u8>, String>,
) -> Result<Map<String, Json>, String> {
    match words {
        [only] if only == "-" => object(&stdin()?, "stdin"),
        [only] if only.trim_start().starts_with('{') => object(only.as_bytes(), "the argument"),
        flags => from_flags(tool, flags),
    }
}

fn object(text: &[u8], place: &str) -> Result<Map<String, Json>, String> {
    match parse_json(text) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => Err(format!("Nothing ran: {place} must be one JSON object.")),
        Err(problem) => {
            let problem = printable(&problem.to_string(), 200);
            Err(format!("Nothing ran: {place} is not JSON: {problem}."))
        }
    }
}

fn from_flags(tool: &ListedTool, words: &[String]) -> Result<Map<String, Json>, String> {
    let mut arguments = Map::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
            let word = printable(word, 60);
            return Err(format!(
                "Nothing ran: {word} is not an argument; write --NAME VALUE, one JSON object, or - for stdin."
            ));
        };
        let (typed, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (flag, None),
        };
        let name = typed.replace('-', "_");
        let schema = tool.property(&name).ok_or_else(|| unknown(tool, typed))?;
        let value = match value {
            Some(value) => value,
            None if kind(schema) == "boolean" => {
                let is_value = |next: &&String| matches!(next.as_str(), "true" | "false");
                rest.next_if(is_value).cloned().unwrap_or_else(|| "true".to_owned())
            }
            None => {
                let value = rest.next_if(|next| !next.starts_with("--")).cloned();
                value.ok_or_else(|| {
                    format!("Nothing ran: --{typed} needs a value; write --{typed}=VALUE if the value begins with two dashes.")
                })?
            }
        };
        let given = typed_value(schema, value);
        match (arguments.get_mut(&name), given) {
            (Some(Json::Array(list)), Json::Array(more)) => list.extend(more),
            (Some(_), _) => {
                return Err(format!("Nothing ran: --{typed} was given twice."));
            }
            (None, given) => {
                arguments.insert(name, given);
            }
        }
    }
    Ok(arguments)
}

fn unknown(tool: &ListedTool, typed: &str) -> String {
    let names: Vec<String> = tool
        .properties()
        .into_iter()
        .flatten()
        .map(|(name, _)| format!("--{}", name.replace('_', "-")))
        .collect();
    let shown = format!("--{}", printable(typed, 60));
    let hint = match nearest(&shown.replace('_', "-"), names.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("it takes {}.", names.join(", ")),
    };
    format!("Nothing ran: {} has no argument {shown}; {hint}", tool.name)
}

fn kind(schema: &Json) -> &str {
    schema.get("type").and_then(Json::as_str).unwrap_or_default()
}

/// A text as the type that the schema wants; the text itself if that is not possible.
fn typed_value(schema: &Json, text: String) -> Json {
    match kind(schema) {
        "integer" => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
        "number" => text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number)),
        "boolean" => text.parse::<bool>().map_or_else(|_| json!(text), |flag| json!(flag)),
        // Only words of a fixed set have no comma of their own.
        "array" if schema.pointer("/items/enum").is_some() => {
            text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
        }
        "array" => json!([text]),
        "object" => serde_json::from_str(&text).unwrap_or_else(|_| json!(text)),
        _ => json!(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> ListedTool {
        let described = json!({
            "name": "read_console",
            "inputSchema": { "properties": {
                "max_entries": { "type": "integer" },
                "types": { "type": "array", "items": { "type": "string", "enum": ["log", "error"] } },
                "contains": { "type": "string" },
                "additive": { "type": "boolean" },
            } },
        });
        ListedTool::new(described).unwrap()
    }

    fn parsed(words: &[&str]) -> Result<Json, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse(&tool(), &words, || Ok(br#"{"contains":"stdin"}"#.to_vec())).map(Json::Object)
    }

    #[test]
    fn flags_get_the_type_that_the_schema_says() {
        for (words, arguments) in [
            (&["--max_entries", "10"][..], json!({ "max_entries": 10 })),
            (&["--max-entries=10"], json!({ "max_entries": 10 })),
            (&["--max-entries", "-1"], json!({ "max_entries": -1 })),
            (&["--max-entries", "many"], json!({ "max_entries": "many" })),
            (&["--types", "error", "--types", "log"], json!({ "types": ["error", "log"] })),
            (&["--types", "error, log"], json!({ "types": ["error", "log"] })),
            (&["--contains", "a,b"], json!({ "contains": "a,b" })),
            (&["--contains=--a"], json!({ "contains": "--a" })),
            (&["--additive", "--contains", "x"], json!({ "additive": true, "contains": "x" })),
            (&["--additive", "false"], json!({ "additive": false })),
            (&["{\"types\":[\"log\"]}"], json!({ "types": ["log"] })),
            (&["-"], json!({ "contains": "stdin" })),
            (&[], json!({})),
        ] {
            assert_eq!(parsed(words), Ok(arguments), "{words:?}");
        }
    }

    #[test]
    fn what_cannot_be_an_argument_is_named() {
        for (words, part) in [
            (&["--max-entry", "1"][..], "did you mean --max-entries?"),
            (&["--frobnicate", "1"], "it takes --max-entries, --types"),
            (&["error"], "error is not an argument"),
            (&["--contains"], "--contains needs a value"),
            (&["--contains", "a", "--contains", "b"], "twice"),
            (&["{\"a\":"], "the argument is not JSON"),
            (&["--", "x"], "-- is not an argument"),
        ] {
            let message = parsed(words).unwrap_err();
            assert!(message.contains(part), "{words:?}: {message}");
        }
        let words = ["-".to_owned()];
        let message = parse(&tool(), &words, || Ok(b"[]".to_vec())).unwrap_err();
        assert_eq!(message, "Nothing ran: stdin must be one JSON object.");
    }
}
