//! JSON, with comments and trailing commas if the client reads them.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::{Change, Content, Problem, Tree};
use crate::clients::Format;

fn options(format: Format) -> ParseOptions {
    let is_loose = format == Format::Jsonc;
    ParseOptions {
        allow_comments: is_loose,
        allow_trailing_commas: is_loose,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn document(text: &str, format: Format) -> Result<Option<ast::Value<'_>>, Problem> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options(format));
    let parsed = parsed.map_err(|error| {
        let mut message = error.kind().to_string();
        if let Some(first) = message.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        Problem::at(text, error.range().start, message)
    })?;
    Ok(parsed.value)
}

/// An empty file is an empty object: editors create such files.
pub(super) fn parse(text: &str, format: Format) -> Result<Tree, Problem> {
    match document(text, format)? {
        Some(value) => tree(text, &value),
        None => Ok(Tree::Object(Vec::new())),
    }
}

fn tree(text: &str, value: &ast::Value<'_>) -> Result<Tree, Problem> {
    Ok(match value {
        ast::Value::StringLit(text) => Tree::Text(text.value.to_string()),
        ast::Value::NumberLit(number) => Tree::Word(number.value.to_owned()),
        ast::Value::BooleanLit(word) => Tree::Word(word.value.to_string()),
        ast::Value::NullKeyword(_) => Tree::Word("null".to_owned()),
        ast::Value::Array(array) => {
            let items = array.elements.iter().map(|item| tree(text, item));
            Tree::List(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut names = std::collections::BTreeSet::new();
            let mut fields = Vec::new();
            for property in &object.properties {
                let name = property.name.as_str();
                if !names.insert(name) {
                    let message = format!("the key {name:?} is there twice");
                    return Err(Problem::at(text, property.range().start, message));
                }
                fields.push((name.to_owned(), tree(text, &property.value)?));
            }
            Tree::Object(fields)
        }
    })
}

/// Where the value at this place begins.
pub(super) fn offset(text: &str, format: Format, path: &[&str]) -> usize {
    let Ok(Some(root)) = document(text, format) else { return 0 };
    let mut here = &root;
    for key in path {
        let object = here.as_object();
        let next = object.and_then(|object| {
            object.properties.iter().find(|property| property.name.as_str() == *key)
        });
        let Some(next) = next else { return 0 };
        here = &next.value;
    }
    here.range().start
}

/// `keep`: so many objects from the root stay, even if they are empty.
pub(super) fn edit(
    text: &str,
    format: Format,
    path: &[&str],
    change: &Change<'_>,
    keep: usize,
) -> Result<String, Problem> {
    let not_safe = || super::unsafe_edit(text, "the place of the entry was not found");
    let root = CstRootNode::parse(text, &options(format)).map_err(|_| not_safe())?;
    let (name, way) = path.split_last().ok_or_else(not_safe)?;
    match change {
        Change::Set(content) => {
            let is_new = root.value().is_none();
            let mut here = root.object_value_or_create().ok_or_else(not_safe)?;
            for key in way {
                here = here.object_value_or_create(key).ok_or_else(not_safe)?;
            }
            set(&here, name, content);
            let edited = root.to_string();
            // A text file ends with a line end; a file that had none keeps having none.
            Ok(if is_new && !edited.ends_with('\n') { edited + "\n" } else { edited })
        }
        Change::Remove { .. } => {
            let mut objects = vec![root.object_value().ok_or_else(not_safe)?];
            for key in way {
                let last = objects.last().ok_or_else(not_safe)?;
                objects.push(last.object_value(key).ok_or_else(not_safe)?);
            }
            for depth in (0..path.len()).rev() {
                if depth + 1 < path.len() && depth + 1 < keep {
                    break;
                }
                let (Some(object), Some(key)) = (objects.get(depth), path.get(depth)) else {
                    break;
                };
                let has_comments = objects.get(depth + 1).is_some_and(has_comments);
                let Some(property) = object.get(key).filter(|_| !has_comments) else { break };
                property.remove();
            }
            Ok(root.to_string())
        }
    }
}

fn has_comments(object: &CstObject) -> bool {
    object.children().iter().any(|child| child.is_comment())
}

fn set(object: &CstObject, name: &str, content: &Content) {
    let (fields, unset) = match content {
        Content::Value(value) => {
            match object.get(name) {
                Some(property) => property.set_value(input(value)),
                None => drop(object.append(name, input(value))),
            }
            return;
        }
        Content::Fields { set, unset } => (set, unset),
    };
    let Some(entry) = object.object_value(name) else {
        let fields = fields.iter().map(|(key, value)| (key.clone(), input(value)));
        let whole = CstInputValue::Object(fields.collect());
        match object.get(name) {
            Some(property) => property.set_value(whole),
            None => drop(object.append(name, whole)),
        }
        return;
    };
    for key in unset {
        if let Some(property) = entry.get(key) {
            property.remove();
        }
    }
    for (key, value) in fields {
        match entry.get(key) {
            // What says it already keeps its layout.
            Some(property) if says(&property, value) => {}
            Some(property) => property.set_value(input(value)),
            None => drop(entry.append(key, input(value))),
        }
    }
}

fn says(property: &jsonc_parser::cst::CstObjectProp, value: &Value) -> bool {
    let text = property.value().map(|value| value.to_string()).unwrap_or_default();
    parse(&text, Format::Jsonc).is_ok_and(|tree| tree == Tree::from(value))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(word) => CstInputValue::Bool(*word),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(fields.collect())
        }
    }
}
