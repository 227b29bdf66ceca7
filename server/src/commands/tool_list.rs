//! The tools of the server, as `tools/list` gives them.

use protocol::{Json, Map, printable};

use super::output::wrapped;

/// One tool, as MCP describes it.
pub(super) struct ListedTool {
    pub(super) name: String,
    pub(super) described: Json,
}

impl ListedTool {
    pub(super) fn new(described: Json) -> Option<Self> {
        let name = described.get("name")?.as_str()?.to_owned();
        Some(Self { name, described })
    }

    /// The arguments, with their schemas.
    pub(super) fn properties(&self) -> Option<&Map<String, Json>> {
        self.described.pointer("/inputSchema/properties")?.as_object()
    }

    pub(super) fn property(&self, name: &str) -> Option<&Json> {
        self.properties()?.get(name)
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        let required = self.described.pointer("/inputSchema/required").and_then(Json::as_array);
        required.is_some_and(|names| names.iter().any(|other| other == name))
    }

    /// Name, description and arguments, for a person.
    pub(super) fn shown(&self) -> String {
        let about = self.described.get("description").and_then(Json::as_str).unwrap_or_default();
        let mut shown = format!("{}\n{}\n", self.name, wrapped(&printable(about, 2_000), "  "));
        for (name, schema) in self.properties().into_iter().flatten() {
            let flag = format!("--{}", name.replace('_', "-"));
            let value = value_name(schema);
            let need = if self.requires(name) { " (required)" } else { "" };
            shown +=
                &format!("    {flag}{value}{need}\n{}\n", wrapped(&about_of(schema), "        "));
        }
        shown
    }
}

/// The tool with this name, or the sentence that says which there are.
pub(super) fn find<'a>(tools: &'a [ListedTool], name: &str) -> Result<&'a ListedTool, String> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names = tools.iter().map(|tool| tool.name.as_str());
        let hint = nearest(name, names.clone())
            .map(|nearest| format!("did you mean {nearest}?"))
            .unwrap_or_else(|| format!("it has {}.", names.collect::<Vec<_>>().join(", ")));
        format!("This server has no tool {}, so nothing ran; {hint}", printable(name, 60))
    })
}

/// A name that is spelt nearly the same.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = |known: &&str| strsim::damerau_levenshtein(name, known);
    known.min_by_key(far).filter(|known| far(known) * 3 <= known.len())
}

fn value_name(schema: &Json) -> String {
    let words = |schema: &Json| {
        let words = schema.get("enum")?.as_array()?;
        Some(words.iter().filter_map(Json::as_str).collect::<Vec<_>>().join("|"))
    };
    match schema.get("type").and_then(Json::as_str) {
        Some("integer" | "number") => " N".to_owned(),
        Some("boolean") => String::new(),
        Some("array") => match schema.get("items").and_then(words) {
            Some(words) => format!(" {words}[,…]"),
            None => " TEXT".to_owned(),
        },
        Some(_) | None => format!(" {}", words(schema).unwrap_or_else(|| "TEXT".to_owned())),
    }
}

fn about_of(schema: &Json) -> String {
    let number = |name: &str| schema.get(name).and_then(Json::as_u64);
    let range = match (number("minimum"), number("maximum")) {
        (Some(min), Some(max)) => format!("; {min} to {max}"),
        (Some(_) | None, None) | (None, Some(_)) => String::new(),
    };
    let default = schema.get("default").map(|value| format!("; default {value}"));
    let about = schema.get("description").and_then(Json::as_str).unwrap_or_default();
    printable(&format!("{about}{range}{}", default.unwrap_or_default()), 500)
}
