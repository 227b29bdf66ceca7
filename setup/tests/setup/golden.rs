//! What happens to the file of each client. One snapshot per client; `␍` is a carriage return.

use setup::clients::{CLIENTS, Client, Format};
use setup::edit::{Change, Edited, edit, parse};
use setup::entry::{Connection, Wanted};

/// `KEY` is the key of the client, `ENTRY` its present entry.
const JSON: &[(&str, &str)] = &[
    ("an empty file", ""),
    ("an empty object", "{}\n"),
    ("an empty object for servers", "{\n  \"KEY\": {}\n}\n"),
    (
        "other servers",
        "{\n  \"KEY\": {\n    \"files\": { \"command\": \"npx\", \"args\": [\"-y\", \"files\"] }\n  },\n  \"theme\": \"dark\"\n}\n",
    ),
    ("everything in one line", "{\"theme\":\"dark\",\"KEY\":{\"files\":{\"command\":\"npx\"}}}"),
    ("the entry is current", "{\"KEY\": {\"unity\":   ENTRY}}\n"),
    (
        "the entry names another program",
        "{\n  \"KEY\": {\n    \"unity\": {\n      \"command\": \"/old/unity-mcp\",\n      \"args\": [\"--stdio\"]\n    },\n    \"files\": {}\n  }\n}\n",
    ),
    (
        "the entry has an address, and fields of the user",
        "{\n  \"KEY\": {\n    \"unity\": {\n      \"env\": { \"A\": \"1\" },\n      \"url\": \"http://127.0.0.1:8091/mcp\",\n      \"timeout\": 60000\n    }\n  }\n}\n",
    ),
    ("a byte order mark", "\u{feff}{\n  \"theme\": \"dark\"\n}\n"),
    (
        "lines that end with CR LF",
        "{\r\n  \"theme\": \"dark\",\r\n  \"KEY\": {\r\n    \"files\": {}\r\n  }\r\n}\r\n",
    ),
    ("tabs", "{\n\t\"theme\": \"dark\",\n\t\"KEY\": {\n\t\t\"files\": {}\n\t}\n}\n"),
    (
        "comments",
        "// mine\n{\n  // the theme\n  \"theme\": \"dark\", /* really */\n  \"KEY\": {\n    // the first\n    \"files\": {} // here\n    // the end\n  }\n}\n// after\n",
    ),
    ("trailing commas", "{\n  \"theme\": \"dark\",\n  \"KEY\": {\n    \"files\": {},\n  },\n}\n"),
    ("a key twice", "{\n  \"theme\": \"dark\",\n  \"theme\": \"light\"\n}\n"),
    (
        "a key twice, once with an escape",
        "{ \"KEY\": {}, \"x\": [{ \"a\": 1, \"\\u0061\": 2 }] }\n",
    ),
    ("not an object", "[1, 2]\n"),
    ("servers are a list", "{\n  \"KEY\": []\n}\n"),
    ("the entry is a number", "{\n  \"KEY\": { \"unity\": 5 }\n}\n"),
    ("a bracket is missing", "{\n  \"KEY\": {\n"),
    ("a comma is missing", "{\n  \"ä\": 1 \"b\": 2\n}\n"),
    ("two documents", "{} {}\n"),
];

const TOML: &[(&str, &str)] = &[
    ("an empty file", ""),
    ("no line end at the end", "model = \"x\""),
    (
        "other servers",
        "model = \"x\" # mine\n\n[mcp_servers.files]\ncommand = \"npx\"\n\n[mcp_servers.files.env]\nA = \"1\"\n# the end\n",
    ),
    (
        "a table for servers",
        "[mcp_servers]\nfiles = { command = \"npx\" }\n\n[tui]\ntheme = \"dark\"\n",
    ),
    ("dotted keys", "mcp_servers.files.command = \"npx\"\n"),
    (
        "the entry is current",
        "[mcp_servers.unity]\nargs   = [ '--stdio', ] # mine\ncommand = '/opt/unity-mcp'\n",
    ),
    (
        "the entry names another program",
        "[mcp_servers.unity] # mine\ncommand = \"/old/unity-mcp\" # why\nargs = [\n  \"--stdio\", # this\n]\nstartup_timeout_sec = 60\n\n[mcp_servers.unity.env]\nA = \"1\"\n\n[tui]\ntheme = \"dark\"\n",
    ),
    (
        "the entry has an address",
        "[mcp_servers.unity]\n# over HTTP\nurl = \"http://127.0.0.1:8091/mcp\"\n\n# mine\n[tui]\ntheme = \"dark\"\n",
    ),
    (
        "the entry has an address, and fields for it",
        "[mcp_servers.unity]\nurl = \"http://127.0.0.1:8091/mcp\"\nbearer_token_env_var = \"T\"\ntool_timeout_sec = 60\nhttp_headers.A = \"1\"\nhttp_headers.B = \"2\"\n\n[mcp_servers.unity.env_http_headers]\nC = \"D\"\n\n[tui]\ntheme = \"dark\"\n",
    ),
    (
        "the entry has an address and nothing else",
        "[mcp_servers.unity]\nurl = \"http://127.0.0.1:8091/mcp\"",
    ),
    (
        "the entry is in one line",
        "[mcp_servers]\nunity = { command = \"/old\", env = { A = \"1\" } } # mine\nfiles = { command = \"npx\" }\n",
    ),
    ("a byte order mark", "\u{feff}model = \"x\"\n"),
    (
        "lines that end with CR LF",
        "model = \"x\"\r\n\r\n[mcp_servers.files]\r\ncommand = \"npx\"\r\n",
    ),
    ("a text over some lines", "text = \"\"\"a\r\nb\n[mcp_servers.unity]\n\"\"\"\n"),
    ("a key twice", "model = \"x\"\nmodel = \"y\"\n"),
    ("a table twice", "[a]\nx = 1\n[a]\ny = 2\n"),
    ("servers are a list", "mcp_servers = []\n"),
    ("servers are in one line", "mcp_servers = { files = { command = \"npx\" } }\n"),
    ("the entry has dotted keys", "[mcp_servers]\nunity.command = \"/old\"\n"),
    ("a bracket is missing", "[mcp_servers\n"),
];

fn wanted() -> Wanted {
    let program = "/opt/unity-mcp".to_owned();
    let connection = Connection::Stdio { program, args: vec!["--stdio".to_owned()] };
    Wanted { name: "unity".to_owned(), connection }
}

fn shown(text: &str) -> String {
    let text = text.replace('\r', "␍").replace('\u{feff}', "<BOM>");
    text.split_inclusive('\n').map(|line| format!("    {line}")).collect::<String>()
        + if text.ends_with('\n') { "" } else { "<no line end>\n" }
}

/// One section: the file before, after `setup`, and after `setup --remove`.
fn check(client: &Client, name: &str, before: &str) -> String {
    let location = client.location("unity");
    let content = client.entry(&wanted().connection).unwrap();
    let mut section = format!("{name}\n{}", shown(before));
    let after = match edit(before, &location, &Change::Set(&content)) {
        Err(problem) => return section + &format!("  refused: {problem}\n\n"),
        Ok(Edited::NothingLeft) => panic!("{name}: an entry was set and nothing is left"),
        Ok(Edited::Same) => {
            section += "  nothing to do\n";
            before.to_owned()
        }
        Ok(Edited::New(after)) => {
            section += &format!("  after setup\n{}", shown(&after));
            after
        }
    };
    assert_eq!(edit(&after, &location, &Change::Set(&content)), Ok(Edited::Same), "{name}");
    let had_entry = parse(before, client.format).unwrap().get(&[client.key, "unity"]).is_some();
    let removed = edit(&after, &location, &Change::Remove { before: Some(before) }).unwrap();
    section += &match removed {
        Edited::Same => panic!("{name}: the entry is not found again"),
        Edited::New(removed) if removed == before => "  after remove: as before\n".to_owned(),
        Edited::New(removed) => format!("  after remove\n{}", shown(&removed)),
        Edited::NothingLeft => {
            assert!(had_entry, "{name}: more than the entry is gone");
            "  after remove: nothing is left\n".to_owned()
        }
    };
    section + "\n"
}

#[test]
fn only_our_entry_changes_in_the_file_of_every_client() {
    for client in CLIENTS {
        let content = client.entry(&wanted().connection).unwrap();
        let setup::edit::Content::Fields { set, .. } = content else { panic!("no fields") };
        let entry = serde_json::Value::Object(set.into_iter().collect()).to_string();
        let cases = if client.format == Format::Toml { TOML } else { JSON };
        let text = |text: &str| text.replace("KEY", client.key).replace("ENTRY", &entry);
        let sections = cases.iter().map(|(name, before)| check(client, name, &text(before)));
        insta::assert_snapshot!(client.id, sections.collect::<String>());
    }
}

#[test]
fn an_entry_over_http_has_the_form_of_its_client() {
    let url = "http://127.0.0.1:8123/mcp".to_owned();
    let wanted = Wanted { name: "unity".to_owned(), connection: Connection::Http { url } };
    let entries = CLIENTS.iter().map(|client| match client.snippet(&wanted) {
        Some(text) => format!("{}\n{}\n", client.id, shown(&text)),
        None => format!("{}\n  its file cannot say it\n\n", client.id),
    });
    insta::assert_snapshot!("http", entries.collect::<String>());
}

/// Codex reads no configuration at all if an entry has fields of both forms.
#[test]
fn an_entry_has_fields_of_one_form() {
    let client = Client::find("codex").unwrap();
    let url = "http://127.0.0.1:8091/mcp".to_owned();
    let content = client.entry(&Connection::Http { url }).unwrap();
    let text = "[mcp_servers.unity]\ncommand = \"/opt/unity-mcp\"\nargs = []\ncwd = \"/\"\ntool_timeout_sec = 60\n\n[mcp_servers.unity.env]\nA = \"1\"\n\n[tui]\ntheme = \"dark\"\n";
    let edited = edit(text, &client.location("unity"), &Change::Set(&content));
    let wanted = "[mcp_servers.unity]\nurl = \"http://127.0.0.1:8091/mcp\"\ntool_timeout_sec = 60\n\n[tui]\ntheme = \"dark\"\n";
    assert_eq!(edited, Ok(Edited::New(wanted.to_owned())));
}

#[test]
fn a_file_with_our_entry_alone_is_not_needed_any_more() {
    let client = Client::find("cursor").unwrap();
    let location = client.location("unity");
    let content = client.entry(&wanted().connection).unwrap();
    let Ok(Edited::New(text)) = edit("", &location, &Change::Set(&content)) else { panic!() };
    let removed = edit(&text, &location, &Change::Remove { before: None });
    assert_eq!(removed, Ok(Edited::NothingLeft));
    // What a person wrote stays.
    let text = format!("// mine\n{text}");
    let removed = edit(&text, &location, &Change::Remove { before: None });
    assert_eq!(removed, Ok(Edited::New("// mine\n{}\n".to_owned())));
}

#[test]
fn the_snippets_are_what_a_person_pastes() {
    let shown = setup::snippets::snippets().into_iter().map(|snippet| {
        let setup::snippets::Snippet { client, file, language, text } = snippet;
        format!("{client}: {file} ({language})\n{}\n", shown(&text))
    });
    insta::assert_snapshot!("snippets", shown.collect::<String>());
}

#[test]
fn the_plugin_comes_from_where_its_page_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../unity-plugin/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(setup::unity::DEFAULT_SOURCE), "{}", setup::unity::DEFAULT_SOURCE);
    let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../unity-plugin/package.json");
    let package = parse(&std::fs::read_to_string(package).unwrap(), Format::Json).unwrap();
    assert_eq!(package.field("name").unwrap().text(), Some(setup::unity::PACKAGE));
}
