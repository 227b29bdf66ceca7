//! The wire as a JSON Schema, for plugin authors in any language: `docs/wire.schema.json`.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::{FromUnity, PROTOCOL_VERSION, ToUnity};

/// The JSON Schema of both directions, with the envelope of every message.
pub fn wire_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut from_unity = generator.subschema_for::<FromUnity>().to_value();
    let mut to_unity = generator.subschema_for::<ToUnity>().to_value();
    let mut definitions = generator.take_definitions(true);
    for (name, schema) in [("FromUnity", &mut from_unity), ("ToUnity", &mut to_unity)] {
        if let Some(direction) = definitions.get_mut(name) {
            add_envelope(direction);
        }
        *schema = json!({ "$ref": format!("#/$defs/{name}") });
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "unity-mcp wire protocol 1",
        "description": "One text frame is one of these. Unknown fields are ignored, duplicate keys \
            are rejected, integers are exact to 64 bits.",
        "anyOf": [from_unity, to_unity],
        "$defs": definitions,
    })
}

fn add_envelope(direction: &mut Value) {
    let variants = direction.get_mut("oneOf").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        if let Some(properties) = variant.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("protocol_version".to_owned(), json!({ "const": PROTOCOL_VERSION }));
            properties.insert(
                "timestamp".to_owned(),
                json!({ "type": "string", "description": "RFC 3339, UTC; not used" }),
            );
        }
        if let Some(required) = variant.get_mut("required").and_then(Value::as_array_mut) {
            required.push("protocol_version".into());
        }
    }
}
