//! The entry that a client needs, and what its entry says.

use serde_json::{Map, Value, json};

use crate::clients::{Client, Fixed, Format, Http, Stdio};
use crate::edit::{Content, Location, Tree};

/// The name of the entry.
pub const DEFAULT_NAME: &str = "unity";
const PROGRAM: &str = "unity-mcp";

/// What a client shall know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub name: String,
    pub connection: Connection,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// The client starts the server.
    Stdio { program: String, args: Vec<String> },
    /// The server runs already.
    Http { url: String },
}

/// What an entry says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub command: Option<String>,
    pub args: Vec<String>,
    pub url: Option<String>,
}

/// The fields that an entry for a program has and one for an address has not. Some clients refuse an entry with both.
const STDIO_FIELDS: &[&str] =
    &["command", "args", "env", "env_vars", "environment", "envFile", "cwd"];
const HTTP_FIELDS: &[&str] = &[
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token",
    "bearer_token_env_var",
    "oauth_resource",
];
/// The fields that name the form.
const KIND_FIELDS: &[&str] = &["type", "source"];
const PORT_FLAGS: &[&str] = &["--port", "--unity-ws-port"];

impl Found {
    pub(crate) fn read(entry: &Tree) -> Self {
        let text = |key: &str| entry.field(key).and_then(Tree::text).map(str::to_owned);
        let list = |key: &str| {
            let items = entry.field(key).map(Tree::list).unwrap_or_default();
            items.iter().filter_map(Tree::text).map(str::to_owned).collect::<Vec<_>>()
        };
        let mut args = list("args");
        let mut command = text("command");
        let whole = list("command");
        if let Some((program, rest)) = whole.split_first() {
            command = Some(program.clone());
            args = rest.to_vec();
        }
        let url = ["url", "httpUrl", "serverUrl"].into_iter().find_map(text);
        Self { command, args, url }
    }

    /// Whether it starts this program, as far as its name tells.
    pub(crate) fn is_ours(&self) -> bool {
        let name = self.command.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
        name.is_some_and(|name| name.strip_suffix(".exe").unwrap_or(name) == PROGRAM)
    }

    /// The port that the entry names, if it names one.
    pub fn port(&self) -> Option<u16> {
        if let Some(url) = &self.url {
            let authority = url.split("://").nth(1)?.split('/').next()?;
            return authority.rsplit_once(':')?.1.parse().ok();
        }
        for (place, arg) in self.args.iter().enumerate() {
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) => (flag, Some(value.to_owned())),
                None => (arg.as_str(), self.args.get(place + 1).cloned()),
            };
            if PORT_FLAGS.contains(&flag) {
                return value?.parse().ok();
            }
        }
        None
    }
}

impl Client {
    pub fn location(&self, name: &str) -> Location {
        Location { format: self.format, path: vec![self.key.to_owned(), name.to_owned()] }
    }

    /// The entry of this client. `None` if its file cannot say it.
    pub fn entry(&self, connection: &Connection) -> Option<Content> {
        let mut set: Vec<(String, Value)> = Vec::new();
        let mut add = |key: &str, value: Value| set.push((key.to_owned(), value));
        match connection {
            Connection::Stdio { program, args } => match self.stdio {
                Stdio::Plain => {
                    add("command", json!(program));
                    add("args", json!(args));
                }
                Stdio::With(fixed) => {
                    fixed.iter().for_each(|(key, value)| add(key, value.json()));
                    add("command", json!(program));
                    add("args", json!(args));
                }
                Stdio::OneList => {
                    let mut command = vec![program.clone()];
                    command.extend(args.iter().cloned());
                    add("type", json!("local"));
                    add("command", json!(command));
                    add("enabled", json!(true));
                }
            },
            Connection::Http { url } => {
                let Http::Field(field, fixed) = self.http else { return None };
                fixed.iter().for_each(|(key, value)| add(key, value.json()));
                add(field, json!(url));
            }
        }
        let is_set = |key: &str| set.iter().any(|(name, _)| name == key);
        let of_other_form = match connection {
            Connection::Stdio { .. } => HTTP_FIELDS,
            Connection::Http { .. } => STDIO_FIELDS,
        };
        let unset = of_other_form.iter().chain(KIND_FIELDS).copied();
        let unset = unset.filter(|key| !is_set(key)).collect();
        Some(Content::Fields { set, unset })
    }

    /// What a person pastes into an empty file.
    pub fn snippet(&self, wanted: &Wanted) -> Option<String> {
        let Content::Fields { set, .. } = self.entry(&wanted.connection)? else { return None };
        if self.format == Format::Toml {
            let location = self.location(&wanted.name);
            let content = Content::Fields { set, unset: Vec::new() };
            let edited = crate::edit::edit("", &location, &crate::edit::Change::Set(&content));
            return match edited {
                Ok(crate::edit::Edited::New(text)) => Some(text),
                Ok(_) | Err(_) => None,
            };
        }
        let object =
            |key: &str, value: Value| Value::Object(Map::from_iter([(key.to_owned(), value)]));
        let entry = Value::Object(set.into_iter().collect());
        let whole = object(self.key, object(&wanted.name, entry));
        Some(format!("{whole:#}\n"))
    }
}

impl Fixed {
    fn json(self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::True => json!(true),
            Self::All => json!(["*"]),
        }
    }
}
