//! The catalogue as MCP tools. Schemas have no references, no unions with null and no formats, because clients
//! differ in what they understand. A field that may be null has its type in the description.

use std::sync::Arc;

use protocol::Json;
use rmcp::model::{JsonObject, Tool as McpTool, ToolAnnotations};
use serde_json::json;

use coordination::rendering::with;
use coordination::{Catalog, Field, Kind, Need, Parameter, Route, Shape, Tool};

pub(crate) fn all(catalog: Catalog) -> Vec<McpTool> {
    catalog.tools().map(|tool| self::tool(catalog, tool)).collect()
}

fn tool(catalog: Catalog, tool: &Tool) -> McpTool {
    McpTool::new(tool.name, tool.about, object(input(catalog, tool)))
        .with_raw_output_schema(object(output(catalog, tool)))
        .with_annotations(annotations(tool))
}

fn annotations(tool: &Tool) -> ToolAnnotations {
    let annotations = ToolAnnotations::new().open_world(false);
    match (&tool.route, tool.kind) {
        (Route::Execute(_), Kind::Write) => {
            annotations.read_only(false).destructive(false).idempotent(true)
        }
        (Route::EditorState | Route::Execute(_) | Route::JobStatus, _) => {
            annotations.read_only(true)
        }
        // A job runs code of the project, and that code may change anything.
        (Route::SubmitJob(_), _) => {
            annotations.read_only(false).destructive(false).idempotent(tool.retryable)
        }
        (Route::CancelJob, _) => annotations.read_only(false).destructive(false).idempotent(true),
    }
}

fn input(catalog: Catalog, tool: &Tool) -> Json {
    let mut properties = JsonObject::new();
    for parameter in tool.parameters {
        properties.insert(parameter.name.to_owned(), argument(parameter));
    }
    let timeout = json!({
        "type": "integer", "minimum": 1, "maximum": tool.max_timeout_ms,
        "description": "limit in Unity", "default": tool.default_timeout_ms,
    });
    properties.insert("timeout_ms".to_owned(), timeout);
    let about = if catalog.deduplicates(tool) {
        "unique name of this run (UUID); a call that repeats it runs nothing and gets the same answer"
    } else {
        "name of the call in logs"
    };
    let id = json!({ "type": "string", "description": about });
    properties.insert("client_request_id".to_owned(), id);
    let is_required = |parameter: &&Parameter| parameter.need == Need::Required;
    let mut required: Vec<&str> =
        tool.parameters.iter().filter(is_required).map(|parameter| parameter.name).collect();
    if tool.requires_client_request_id {
        required.push("client_request_id");
    }
    let schema =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if required.is_empty() { schema } else { with(schema, "required", json!(required)) }
}

fn argument(parameter: &Parameter) -> Json {
    let schema = with(shape(&parameter.shape), "description", json!(parameter.about));
    let default = match parameter.need {
        Need::Required | Need::Optional => return schema,
        Need::DefaultInteger(value) => json!(value),
        Need::DefaultWord(value) => json!(value),
        Need::DefaultFlag(value) => json!(value),
    };
    with(schema, "default", default)
}

fn shape(of: &Shape) -> Json {
    match of {
        Shape::Integer { min, max: u64::MAX } => json!({ "type": "integer", "minimum": min }),
        Shape::Integer { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        Shape::Number => json!({ "type": "number", "minimum": 0 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Line { max } => json!({ "type": "string", "maxLength": max }),
        Shape::OneOf(words) => json!({ "type": "string", "enum": words }),
        Shape::SomeOf(words) => {
            json!({ "type": "array", "items": { "type": "string", "enum": words }, "minItems": 1 })
        }
        Shape::List(item) => json!({ "type": "array", "items": shape(item) }),
        Shape::Object(fields) => {
            if fields.is_empty() {
                return json!({ "type": "object" });
            }
            let property = |field: &Field| (field.name.to_owned(), shape(&field.shape));
            let properties: JsonObject = fields.iter().map(property).collect();
            let required = fields.iter().filter(|field| field.required).map(|field| field.name);
            let required: Vec<&str> = required.collect();
            json!({ "type": "object", "properties": properties, "required": required })
        }
    }
}

/// The names in a shape: `summary: {total, passed}, failed_tests: [{name}]`.
fn outline(of: &Shape) -> String {
    match of {
        Shape::Object(fields) => {
            let field = |field: &Field| match (&field.shape, outline(&field.shape)) {
                (Shape::Object(_), inner) => format!("{}: {{{inner}}}", field.name),
                (Shape::List(_), inner) => format!("{}: [{{{inner}}}]", field.name),
                (_, _) => field.name.to_owned(),
            };
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        Shape::List(item) => outline(item),
        Shape::Integer { .. }
        | Shape::Number
        | Shape::Flag
        | Shape::Text
        | Shape::Line { .. }
        | Shape::OneOf(_)
        | Shape::SomeOf(_) => String::new(),
    }
}

fn output(catalog: Catalog, tool: &Tool) -> Json {
    let schema = match &tool.route {
        Route::EditorState => editor_report(catalog),
        Route::Execute(answer) => shape(&answer.told),
        Route::SubmitJob(answer) => job(&outline(&answer.told)),
        Route::JobStatus => job("the result of its tool"),
        Route::CancelJob => json!({
            "type": "object",
            "properties": {
                "status": { "enum": ["cancelled", "cancel_requested", "rejected"] },
                "job_id": { "type": "string" },
            },
            "required": ["status", "job_id"],
        }),
    };
    if catalog.deduplicates(tool) {
        with_property(schema, "replayed", json!({ "type": "boolean" }))
    } else {
        schema
    }
}

fn with_property(mut schema: Json, name: &str, property: Json) -> Json {
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        properties.insert(name.to_owned(), property);
    }
    schema
}

fn editor_report(catalog: Catalog) -> Json {
    let report = json!({
        "type": "object",
        "properties": {
            "server_state": { "enum": ["booting", "waiting_editor", "ready", "stopping", "stopped"] },
            "editor_state": { "enum": ["unknown", "ready", "compiling", "reloading"] },
            "connected": { "type": "boolean" },
            "last_editor_status_seq": { "description": "integer or null" },
            "waiting_reason": {
                "description": "why a call would wait now: null, disconnected, compiling, reloading or unresponsive",
            },
            "queue_length": { "type": "integer", "description": "calls waiting or queued" },
            "running": { "description": "null or {request_id, tool_name, elapsed_ms, overdue}" },
            "plugin_version": { "description": "string or null" },
            "server_version": { "type": "string" },
            "project": { "description": "null or {path, name, unity_version}" },
            "refused": {
                "type": "object",
                "description": "Editor of another project: reason, project_path, ms_ago",
            },
            "jobs": {
                "type": "array", "items": { "type": "object" },
                "description": "newest first: job_id, tool_name, state, submitted_at, age_ms",
            },
        },
        "required": ["server_state", "editor_state", "connected", "jobs"],
    });
    match catalog {
        Catalog::V1_0 => report,
        Catalog::V1_1 => {
            let compile = json!({ "description": "null or {outcome, errors, ended_ms_ago}" });
            with_property(report, "last_compile", compile)
        }
    }
}

fn job(result: &str) -> Json {
    json!({
        "type": "object",
        "properties": {
            "state": { "enum": ["queued", "running", "succeeded", "failed", "timeout", "cancelled"] },
            "job_id": { "type": "string" },
            "error": { "type": "object", "description": "code, message, retryable, details" },
            "cancel": { "enum": ["requested", "rejected"] },
            "cancel_error": { "type": "object" },
            "progress": { "type": "object", "description": "done, total, current" },
            "submitted_at": { "type": "string" },
            "result": { "type": "object", "description": result },
        },
        "required": ["state", "job_id", "submitted_at"],
    })
}

fn object(schema: Json) -> Arc<JsonObject> {
    match schema {
        Json::Object(object) => Arc::new(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Arc::default()
        }
    }
}
