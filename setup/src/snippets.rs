//! The entries as text for documents.

use crate::clients::{CLIENTS, Client, Format, OwnCommand};
use crate::entry::{Connection, DEFAULT_NAME, Wanted};

/// What a person adds to the file of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    pub client: &'static str,
    /// Where it belongs, for a person: the user's file, or the project's if nobody may edit that.
    pub file: String,
    /// For a code block.
    pub language: &'static str,
    pub text: String,
}

/// One per client, with a program on the `PATH`.
pub fn snippets() -> Vec<Snippet> {
    let connection =
        Connection::Stdio { program: "unity-mcp".to_owned(), args: vec!["--stdio".to_owned()] };
    let wanted = Wanted { name: DEFAULT_NAME.to_owned(), connection };
    let snippets = CLIENTS.iter().filter_map(|client| {
        let language = match client.format {
            Format::Json | Format::Jsonc => "json",
            Format::Toml => "toml",
        };
        let text = client.snippet(&wanted)?;
        Some(Snippet { client: client.name, file: client.file_for_people(), language, text })
    });
    snippets.collect()
}

impl Client {
    /// The user's file on each system, or the project's.
    fn file_for_people(&self) -> String {
        let is_editable = self.command != Some(OwnCommand::Claude);
        let places = self.user.iter().filter(|_| is_editable);
        let shown = places.filter_map(|place| place.for_people());
        let shown: Vec<String> = shown.collect();
        match (shown.is_empty(), self.project.first()) {
            (true, Some(path)) => (*path).to_owned(),
            (true, None) | (false, _) => shown.join(", "),
        }
    }
}
