//! The entries of clients in both READMEs come from the table that `unity-mcp setup` uses.

use setup::snippets::{Snippet, snippets};

use super::current;

const BEGIN: &str = "<!-- snippets:begin -->\n";
const END: &str = "<!-- snippets:end -->";

struct Language {
    readme: &'static str,
    add_to: fn(&str) -> String,
    in_project: fn(&str) -> String,
    /// Between two files of which a client reads the one that exists.
    or: &'static str,
}

const LANGUAGES: [Language; 2] = [
    Language {
        readme: "README.md",
        add_to: |files| format!("Add this to {files}."),
        in_project: |file| format!("{file} in your project"),
        or: " or ",
    },
    Language {
        readme: "README.ja.md",
        add_to: |files| format!("{files} に次を追加します。"),
        in_project: |file| format!("プロジェクトの {file}"),
        or: " か ",
    },
];

#[test]
fn the_entries_of_clients_in_the_readmes_are_those_that_setup_writes() {
    for language in &LANGUAGES {
        let blocks: String = snippets().iter().map(|snippet| block(snippet, language)).collect();
        current(language.readme, BEGIN, END, &blocks);
    }
}

fn block(snippet: &Snippet, language: &Language) -> String {
    let Snippet { client, file, language: syntax, text } = snippet;
    let files: Vec<String> = file.split(", ").map(|file| quoted(file, language)).collect();
    // Several files are one per system, or else names of the same file.
    let between = if file.contains(" (") { ", " } else { language.or };
    let (said, text) = ((language.add_to)(&files.join(between)), text.trim_end());
    format!(
        "<details>\n<summary>{client}</summary>\n\n{said}\n\n```{syntax}\n{text}\n```\n\n</details>\n"
    )
}

/// The name of the system, if there is one, is behind a path.
fn quoted(file: &str, language: &Language) -> String {
    match file.rsplit_once(" (") {
        Some((path, system)) => format!("`{path}` ({system}"),
        None if file.starts_with(['~', '%', '$', '/']) => format!("`{file}`"),
        None => (language.in_project)(&format!("`{file}`")),
    }
}
