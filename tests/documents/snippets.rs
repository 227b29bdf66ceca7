//! The entries of clients in both READMEs come from the table that `unity-mcp setup` uses.

use setup::snippets::{Snippet, snippets};

use super::{current, read};

const BEGIN: &str = "<!-- snippets:begin -->\n";
const END: &str = "<!-- snippets:end -->";

struct Language {
    readme: &'static str,
    add_to: fn(&str) -> String,
    in_project: fn(&str) -> String,
}

const LANGUAGES: [Language; 2] = [
    Language {
        readme: "README.md",
        add_to: |files| format!("Add this to {files}."),
        in_project: |file| format!("{file} in your project"),
    },
    Language {
        readme: "README.ja.md",
        add_to: |files| format!("{files} に次を追加します。"),
        in_project: |file| format!("プロジェクトの {file}"),
    },
];

#[test]
fn the_entries_of_clients_in_the_readmes_are_those_that_setup_writes() {
    for language in &LANGUAGES {
        let readme = read(language.readme);
        let (before, rest) = readme.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let blocks: String = snippets().iter().map(|snippet| block(snippet, language)).collect();
        current(language.readme, &format!("{before}{BEGIN}{blocks}{END}{after}"));
    }
}

fn block(snippet: &Snippet, language: &Language) -> String {
    let Snippet { client, file, language: syntax, text } = snippet;
    let files: Vec<String> = file.split(", ").map(|file| quoted(file, language)).collect();
    let (said, text) = ((language.add_to)(&files.join(", ")), text.trim_end());
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
