//! The plugin and the port of a Unity project.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::apply::{Outcome, change};
use crate::clients::Format;
use crate::edit::{self, Content, Location, Tree};
use crate::environment::below;
use crate::file::{self, Refusal};

/// The name of the package in `unity-plugin/package.json`.
pub const PACKAGE: &str = "com.unity-mcp.editor";
/// The package at the version of this program.
pub const DEFAULT_SOURCE: &str = concat!(
    "https://github.com/OWNER/unity-mcp.git?path=unity-plugin#v",
    env!("CARGO_PKG_VERSION")
);
/// What stands for the owner of the repository in an address that is not complete.
const PLACEHOLDER: &str = "/OWNER/";

const SETTINGS: &str = "unity-mcp.server.json";
const PORT: &str = "unity_ws_port";

/// The command that adds the plugin to the project in the working directory.
pub fn command() -> String {
    if DEFAULT_SOURCE.contains(PLACEHOLDER) {
        return "unity-mcp setup unity --source DIR, where DIR is the folder unity-plugin of a copy of the repository".to_owned();
    }
    "unity-mcp setup unity".to_owned()
}

/// Whether the project has the plugin; `None` if its list of packages cannot be read.
pub fn has_package(project: &Path) -> Option<bool> {
    let embedded = project.join("Packages").join(PACKAGE).join("package.json");
    if embedded.is_file() {
        return Some(true);
    }
    let text = file::read(&manifest(project), file::BYTES_MAX).ok()??.text;
    let tree = edit::parse(&text, Format::Json).ok()?;
    Some(tree.get(&["dependencies", PACKAGE]).is_some())
}

/// The list of packages of a project.
pub fn manifest(project: &Path) -> PathBuf {
    below(project, "Packages/manifest.json")
}

/// The settings that the server and the plugin of a project share.
pub fn settings(project: &Path) -> PathBuf {
    project.join(SETTINGS)
}

/// What Unity writes into the list of packages for this source.
///
/// # Errors
/// There is no package at this source; the message says what to do.
pub fn source(given: Option<&str>, directory: &Path, project: &Path) -> Result<String, String> {
    let source = given.unwrap_or(DEFAULT_SOURCE);
    if source.contains(PLACEHOLDER) {
        return Err(format!(
            "the address {source} is not complete: give the plugin with --source, as the folder unity-plugin of a copy of the repository or as a git URL"
        ));
    }
    if let Some(path) = source.strip_prefix("file:") {
        // Unity takes a relative one from the folder Packages; it is written as it is.
        let path = project.join("Packages").join(path);
        if !path.is_file() {
            check_package(&path)?; // Unity takes the file of a packed package too.
        }
        return Ok(source.to_owned());
    }
    let is_address = source.contains("://") || source.starts_with("git@");
    if is_address {
        return Ok(source.to_owned());
    }
    let folder = directory.join(source);
    check_package(&folder)?;
    let whole = std::fs::canonicalize(&folder).unwrap_or(folder);
    let whole = whole.to_string_lossy().replace('\\', "/");
    // Windows resolves C:/a to //?/C:/a.
    Ok(format!("file:{}", whole.strip_prefix("//?/").unwrap_or(&whole)))
}

fn check_package(folder: &Path) -> Result<(), String> {
    let file = folder.join("package.json");
    let text = match file::read(&file, file::BYTES_MAX) {
        Ok(Some(old)) => old.text,
        Ok(None) => return Err(format!("there is no file {}", file.display())),
        Err(refusal) => return Err(format!("{} {refusal}", file.display())),
    };
    let tree =
        edit::parse(&text, Format::Json).map_err(|why| format!("{}: {why}", file.display()))?;
    if tree.field("name").and_then(Tree::text) == Some(PACKAGE) {
        return Ok(());
    }
    Err(format!("{} is not the package {PACKAGE}", file.display()))
}

/// Adds the plugin to the packages of a project, or removes it.
///
/// # Errors
/// The file cannot be edited safely, or there is none.
pub fn set_package(
    project: &Path,
    source: Option<&str>,
    dry_run: bool,
) -> Result<Outcome, Refusal> {
    let file = manifest(project);
    if file.symlink_metadata().is_err() {
        let message = "does not exist, so this is not the folder of a Unity project; open it in Unity once, or name the right folder";
        return Err(Refusal::Kind(message.to_owned()));
    }
    let path = vec!["dependencies".to_owned(), PACKAGE.to_owned()];
    let location = Location { format: Format::Json, path };
    let content = source.map(|source| Content::Value(Value::from(source)));
    change(&file, &location, content.as_ref(), dry_run)
}

/// The port in the settings of a project. `None`: it has none there.
///
/// # Errors
/// The file cannot be read.
pub fn port(project: &Path) -> Result<Option<String>, Refusal> {
    let Some(old) = file::read(&settings(project), file::BYTES_MAX)? else { return Ok(None) };
    let tree = edit::parse(&old.text, Format::Json).map_err(Refusal::Content)?;
    Ok(match tree.field(PORT) {
        Some(Tree::Word(port)) => Some(port.clone()),
        Some(Tree::Text(_) | Tree::List(_) | Tree::Object(_)) | None => None,
    })
}

/// Writes the port into the settings of a project.
///
/// # Errors
/// The file cannot be edited safely.
pub fn set_port(project: &Path, port: u16, dry_run: bool) -> Result<Outcome, Refusal> {
    let file = settings(project);
    let location = Location { format: Format::Json, path: vec![PORT.to_owned()] };
    change(&file, &location, Some(&Content::Value(Value::from(port))), dry_run)
}
