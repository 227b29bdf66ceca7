//! The part of JSON Schema that docs/wire.schema.json uses. A keyword that is not known here is an error: nothing is
//! left unchecked.

use serde_json::{Map, Value};

/// Characters of a schema that a message quotes.
const WANTED_MAX: usize = 80;

/// Checks a value against the definition that `reference` names in `root`.
///
/// # Errors
/// Says where and why it does not fit.
pub fn check(root: &Value, reference: &str, value: &Value) -> Result<(), String> {
    let pointer = reference.strip_prefix('#').ok_or_else(|| format!("{reference} is not local"))?;
    let schema = root.pointer(pointer).ok_or_else(|| format!("{reference} does not exist"))?;
    check_at(root, schema, value, "$")
}

fn check_at(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if *schema == Value::Bool(true) {
        return Ok(());
    }
    let keywords = schema.as_object().ok_or_else(|| format!("{schema} is not a schema"))?;
    for (keyword, wanted) in keywords {
        keyword_fits(root, keyword, wanted, value, at)?;
    }
    Ok(())
}

fn keyword_fits(
    root: &Value,
    keyword: &str,
    wanted: &Value,
    value: &Value,
    at: &str,
) -> Result<(), String> {
    let fitting = |schemas: &Value| {
        let schemas = schemas.as_array().into_iter().flatten();
        schemas.filter(|schema| check_at(root, schema, value, at).is_ok()).count()
    };
    let is_right = match keyword {
        "$schema" | "title" | "description" | "default" | "format" | "$defs" => true,
        "$ref" => return check(root, wanted.as_str().unwrap_or_default(), value),
        "anyOf" => fitting(wanted) > 0,
        "oneOf" => fitting(wanted) == 1,
        "type" => match wanted.as_array() {
            Some(types) => types.iter().any(|name| has_type(value, name)),
            None => has_type(value, wanted),
        },
        "const" => value == wanted,
        "enum" => wanted.as_array().is_some_and(|values| values.contains(value)),
        "minimum" => value.as_f64().is_none_or(|number| wanted.as_f64() <= Some(number)),
        "required" => match value.as_object() {
            Some(fields) => has_all(fields, wanted),
            None => true,
        },
        "properties" => return fields_fit(root, wanted, value, at),
        "items" => return items_fit(root, wanted, value, at),
        unknown => {
            return Err(format!("the keyword {unknown} is not known to tests/src/json_schema.rs"));
        }
    };
    let wanted: String = wanted.to_string().chars().take(WANTED_MAX).collect();
    is_right.then_some(()).ok_or_else(|| format!("{at} does not fit {keyword} {wanted}"))
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some(_) | None => false,
    }
}

fn has_all(fields: &Map<String, Value>, names: &Value) -> bool {
    let mut names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
    names.all(|name| fields.contains_key(name))
}

fn fields_fit(root: &Value, schemas: &Value, value: &Value, at: &str) -> Result<(), String> {
    let (Some(schemas), Some(fields)) = (schemas.as_object(), value.as_object()) else {
        return Ok(());
    };
    for (name, schema) in schemas {
        if let Some(field) = fields.get(name) {
            check_at(root, schema, field, &format!("{at}.{name}"))?;
        }
    }
    Ok(())
}

fn items_fit(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check_at(root, schema, item, &format!("{at}[{index}]"))?;
    }
    Ok(())
}
