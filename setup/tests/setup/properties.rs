//! For every valid file: `setup` changes our entry alone, `setup --remove` brings the old document back, and a
//! second `setup` changes no byte.

use proptest::prelude::*;
use setup::apply::change;
use setup::clients::{CLIENTS, Client, Format};
use setup::edit::{Change, Edited, Tree, edit, parse};
use setup::entry::Connection;

/// How a document is written: the line end, the indent, and what stands between its parts.
#[derive(Clone, Debug)]
struct Layout {
    end: &'static str,
    indent: &'static str,
    comments: bool,
    commas: bool,
    mark: bool,
}

#[derive(Clone, Debug)]
enum Document {
    Word(&'static str),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        Just("mcpServers".to_owned()),
        Just("mcp_servers".to_owned()),
        Just("servers".to_owned()),
        Just("unity".to_owned()),
        Just("ä \"quoted\" \\ // no comment".to_owned()),
    ]
}

fn documents() -> impl Strategy<Value = Document> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["true", "0", "-1.50e+3", "12345678901234567890", "false"])
            .prop_map(Document::Word),
        "[ -~äß€\\t]{0,12}".prop_map(Document::Text),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Document::List),
            objects(inner),
        ]
    })
}

fn objects(inner: impl Strategy<Value = Document> + 'static) -> BoxedStrategy<Document> {
    let fields = prop::collection::vec((keys(), inner), 0..5);
    fields
        .prop_map(|fields| {
            let mut seen = std::collections::BTreeSet::new();
            Document::Object(
                fields.into_iter().filter(|(key, _)| seen.insert(key.clone())).collect(),
            )
        })
        .boxed()
}

fn layouts() -> impl Strategy<Value = Layout> {
    (
        prop::sample::select(vec!["\n", "\r\n", ""]),
        prop::sample::select(vec!["  ", "\t", "    ", ""]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(end, indent, comments, commas, mark)| Layout {
            end,
            indent,
            comments,
            commas,
            mark,
        })
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn json(document: &Document, layout: &Layout, depth: usize) -> String {
    let (open, close, parts): (_, _, Vec<String>) = match document {
        Document::Word(word) => return (*word).to_owned(),
        Document::Text(text) => return quoted(text),
        Document::List(items) => {
            ("[", "]", items.iter().map(|item| json(item, layout, depth + 1)).collect())
        }
        Document::Object(fields) => {
            let field = |(key, value): &(String, Document)| {
                format!("{}: {}", quoted(key), json(value, layout, depth + 1))
            };
            ("{", "}", fields.iter().map(field).collect())
        }
    };
    let comments = layout.comments && !layout.end.is_empty();
    let mut text = open.to_owned();
    let count = parts.len();
    for (place, part) in parts.into_iter().enumerate() {
        text += layout.end;
        text += &layout.indent.repeat(depth + 1);
        if comments && place % 2 == 0 {
            text += "/* \"unity\": { */ ";
        }
        text += &part;
        if place + 1 < count || layout.commas {
            text += ",";
        }
        if comments {
            text += " // }";
        }
    }
    if comments {
        text += layout.end;
        text += "// the end";
    }
    text + layout.end + &layout.indent.repeat(depth) + close
}

fn toml_value(document: &Document) -> String {
    match document {
        Document::Word("12345678901234567890") => "1979-05-27".to_owned(),
        Document::Word(word) => (*word).to_owned(),
        Document::Text(text) => format!("'{}'", text.replace('\'', "")),
        Document::List(items) => {
            format!("[{}]", items.iter().map(toml_value).collect::<Vec<_>>().join(", "))
        }
        Document::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{} = {}", quoted(key), toml_value(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Fields of the root, then tables of servers, then other tables.
fn toml(root: &[(String, Document)], servers: &[(String, Document)], layout: &Layout) -> String {
    let end = if layout.end.is_empty() { "\n" } else { layout.end };
    let mut text = String::new();
    let comment = if layout.comments { format!("# a comment{end}") } else { String::new() };
    for (key, value) in root.iter().filter(|(key, _)| key != "mcp_servers") {
        text += &format!("{comment}{} = {}{end}", quoted(key), toml_value(value));
    }
    for (name, server) in servers {
        text += &format!("{end}{comment}[mcp_servers.{}]{end}", quoted(name));
        let Document::Object(fields) = server else { continue };
        for (key, value) in fields {
            text += &format!("{} = {} # {name}{end}", quoted(key), toml_value(value));
        }
    }
    if layout.commas {
        text += &format!("{end}[[other]]{end}x = 1{end}{comment}");
    }
    text
}

fn connection() -> Connection {
    Connection::Stdio { program: "C:\\bin\\unity-mcp".to_owned(), args: vec!["--stdio".to_owned()] }
}

/// Without our entry, and without objects that only held it.
fn rest(tree: &Tree, client: &Client) -> Tree {
    let Tree::Object(fields) = tree else { return tree.clone() };
    let fields = fields.iter().filter_map(|(key, value)| {
        let mut value = value.clone();
        if let (true, Tree::Object(servers)) = (key == client.key, &mut value) {
            servers.retain(|(name, _)| name != "unity");
            if servers.is_empty() {
                return None;
            }
        }
        Some((key.clone(), value))
    });
    Tree::Object(fields.collect())
}

fn check(client: &Client, text: &str) {
    let old = parse(text, client.format).unwrap_or_else(|why| panic!("{why} in\n{text}"));
    let location = client.location("unity");
    let content = client.entry(&connection()).unwrap();
    let is_object = |path: &[&str]| old.get(path).is_none_or(Tree::is_object);
    let set = edit(text, &location, &Change::Set(&content));
    if !is_object(&[client.key]) || !is_object(&[client.key, "unity"]) {
        assert!(set.is_err(), "{text}");
        return;
    }
    let after = match set.unwrap_or_else(|why| panic!("{why} in\n{text}")) {
        Edited::New(after) => after,
        Edited::Same => text.to_owned(),
        Edited::NothingLeft => panic!("nothing is left of\n{text}"),
    };
    let new = parse(&after, client.format).unwrap();
    assert!(new.get(&[client.key, "unity"]).unwrap().says(&content), "{after}");
    assert_eq!(rest(&old, client), rest(&new, client), "{text}\n{after}");
    assert_eq!(edit(&after, &location, &Change::Set(&content)), Ok(Edited::Same));
    if let Some(other) =
        client.entry(&Connection::Http { url: "http://127.0.0.1:8091/mcp".to_owned() })
    {
        let Ok(Edited::New(http)) = edit(&after, &location, &Change::Set(&other)) else {
            panic!("no address in\n{after}")
        };
        let tree = parse(&http, client.format).unwrap();
        assert!(tree.get(&[client.key, "unity"]).unwrap().says(&other), "{http}");
        assert_eq!(rest(&old, client), rest(&tree, client), "{http}");
        let Ok(Edited::New(back)) = edit(&http, &location, &Change::Set(&content)) else {
            panic!("no program in\n{http}")
        };
        let back = parse(&back, client.format).unwrap();
        assert_eq!(rest(&old, client), rest(&back, client), "{http}");
    }
    let removed = match edit(&after, &location, &Change::Remove { before: Some(text) }).unwrap() {
        Edited::New(removed) => parse(&removed, client.format).unwrap(),
        Edited::NothingLeft => Tree::Object(Vec::new()),
        Edited::Same => panic!("the entry is not found in\n{after}"),
    };
    if old.get(&[client.key, "unity"]).is_none() {
        assert_eq!(removed, old, "{text}\n{after}");
    } else {
        assert_eq!(rest(&removed, client), rest(&old, client), "{text}\n{after}");
    }
}

/// Changes the file some times, then removes each entry: the document is the old one.
fn check_file(client: &Client, text: &str, changes: &[(&str, u16)]) {
    let old = parse(text, client.format).unwrap();
    let names = ["unity", "game"];
    // What is there before setup is no matter of setup, and a list of servers is refused.
    let has_entry = names.iter().any(|name| old.get(&[client.key, name]).is_some());
    if has_entry || old.get(&[client.key]).is_some_and(|servers| !servers.is_object()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, text).unwrap();
    for (name, port) in changes {
        let args = vec!["--stdio".to_owned(), "--port".to_owned(), port.to_string()];
        let program = "C:\\bin\\unity-mcp.exe".to_owned();
        let content = client.entry(&Connection::Stdio { program, args }).unwrap();
        change(&file, &client.location(name), Some(&content), false).unwrap();
    }
    for name in names {
        change(&file, &client.location(name), None, false).unwrap();
    }
    let now = std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("the file is gone: {text}"));
    assert_eq!(parse(&now, client.format).unwrap(), old, "{text}\n{now}");
}

#[test]
fn two_changes_before_the_removal_lose_nothing() {
    let again = [("unity", 1), ("unity", 2)];
    let other_name = [("unity", 1), ("game", 2)];
    for changes in [&again[..], &other_name] {
        for text in ["{}", "{\"mcpServers\":{}}", "{\"theme\":1,\"mcpServers\":{}}", ""] {
            check_file(Client::find("cursor").unwrap(), text, changes);
        }
        check_file(Client::find("codex").unwrap(), "[mcp_servers]\n", changes);
    }
}

/// A copy from an earlier time says nothing of a file that the user has changed since.
#[test]
fn an_old_copy_does_not_decide() {
    let client = Client::find("cursor").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let content = client.entry(&connection()).unwrap();
    for text in ["{}", "{\"mcpServers\":{}}", "{\"a\":1,\"mcpServers\":{}}"] {
        std::fs::write(&file, text).unwrap();
        change(&file, &client.location("unity"), Some(&content), false).unwrap();
        change(&file, &client.location("unity"), None, false).unwrap();
        let now = std::fs::read_to_string(&file).unwrap();
        assert_eq!(parse(&now, client.format), parse(text, client.format), "{now}");
    }
}

fn changes() -> impl Strategy<Value = Vec<(&'static str, u16)>> {
    prop::collection::vec((prop::sample::select(vec!["unity", "game"]), 1..4_u16), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_file_keeps_all_but_our_entry(
        document in objects(documents()),
        layout in layouts(),
        client in prop::sample::select(CLIENTS.iter().filter(|client| client.format != Format::Toml).collect::<Vec<_>>()),
        changes in changes(),
    ) {
        let is_strict = client.format == Format::Json;
        let layout = Layout { comments: layout.comments && !is_strict, commas: layout.commas && !is_strict, ..layout };
        let mark = if layout.mark { "\u{feff}" } else { "" };
        let text = format!("{mark}{}{}", json(&document, &layout, 0), layout.end);
        check(client, &text);
        check_file(client, &text, &changes);
    }

    #[test]
    fn any_toml_file_keeps_all_but_our_entry(
        root in objects(documents()),
        servers in objects(objects(documents())),
        layout in layouts(),
        changes in changes(),
    ) {
        let (Document::Object(root), Document::Object(servers)) = (root, servers) else { unreachable!() };
        let root: Vec<_> = root.into_iter().filter(|(key, _)| key != "other").collect();
        let mark = if layout.mark { "\u{feff}" } else { "" };
        let text = format!("{mark}{}", toml(&root, &servers, &layout));
        let client = Client::find("codex").unwrap();
        check(client, &text);
        check_file(client, &text, &changes);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[{}\\[\\]\":,a-z0-9/* \n\r\t\\\\.=#']{0,60}") {
        for client in CLIENTS {
            let content = client.entry(&connection()).unwrap();
            if let Ok(Edited::New(after)) = edit(&text, &client.location("unity"), &Change::Set(&content)) {
                prop_assert!(parse(&after, client.format).is_ok(), "{after}");
            }
        }
    }
}
