//! README.md and README.ja.md say the same, and what they name exists.

use std::collections::BTreeSet;

use super::{read, root};

const ENGLISH: &str = "README.md";
const JAPANESE: &str = "README.ja.md";

/// What of a section does not depend on the language.
#[derive(Debug, PartialEq, Eq)]
struct Section {
    level: usize,
    blocks: Vec<String>,
    /// The code of each row of a table, and how many cells the row has.
    rows: Vec<(usize, Vec<String>)>,
    /// Commands, settings, codes and files that the text names.
    code: BTreeSet<String>,
    links: BTreeSet<String>,
}

#[test]
fn both_readmes_have_the_same_headings_commands_tables_and_links() {
    let (english, japanese) = (sections(&read(ENGLISH)), sections(&read(JAPANESE)));
    for ((title, one), (other_title, other)) in english.iter().zip(&japanese) {
        assert_eq!(one, other, "{ENGLISH} {title:?} differs from {JAPANESE} {other_title:?}");
    }
    assert_eq!(english.len(), japanese.len(), "the number of sections");
}

#[test]
fn every_file_that_a_readme_links_exists() {
    for path in [ENGLISH, JAPANESE] {
        let readme = read(path);
        for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || file.starts_with("http") {
                continue;
            }
            assert!(root().join(file).exists(), "{path} links {file}, which does not exist");
        }
        for picture in readme.split("\"docs/").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(root().join("docs").join(picture).exists(), "{path} shows docs/{picture}");
        }
    }
}

fn sections(text: &str) -> Vec<(String, Section)> {
    let mut sections = Vec::new();
    let mut title = String::new();
    let mut body = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        is_block ^= line.trim_start().starts_with("```");
        if line.starts_with('#') && !is_block {
            sections.push((std::mem::replace(&mut title, line.to_owned()), section(&title, &body)));
            body.clear();
        }
        body.push(line);
    }
    sections.push((title.clone(), section(&title, &body)));
    sections
}

fn section(title: &str, body: &[&str]) -> Section {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    let (mut rows, mut code, mut links) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for line in body {
        if line.trim_start().starts_with("```") {
            match block.take() {
                Some(done) => blocks.push(done),
                None => block = Some(format!("{}\n", line.trim())),
            }
            continue;
        }
        if let Some(block) = &mut block {
            block.push_str(line);
            block.push('\n');
            continue;
        }
        let spans: Vec<String> = line.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        if line.starts_with('|') {
            // Languages differ in the order of words.
            let mut cells = spans.clone();
            cells.sort();
            rows.push((line.split('|').count(), cells));
        }
        code.extend(spans);
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        // Headings have other names, and each links the other language.
        let is_shared = |link: &&str| !link.starts_with('#') && !link.starts_with("README");
        links.extend(targets.filter(is_shared).map(str::to_owned));
    }
    let level = title.chars().take_while(|sign| *sign == '#').count();
    Section { level, blocks, rows, code, links }
}
