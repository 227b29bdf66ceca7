//! Checks of files: the Unity project, its Editor, the plugin, the token, and the system around them.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use protocol::Json;
use setup::unity::PACKAGE;

use super::Check;
use crate::budget::COMMAND_FILE_BYTES_MAX;
use crate::config_loader::Config;
use crate::system::process_is_alive;

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(COMMAND_FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text))
}

fn read_json(path: &Path) -> Option<Json> {
    serde_json::from_str(&read(path)?).ok()
}

/// The project, and the plugin in it.
pub(super) fn project(project: Option<&Path>) -> Vec<Check> {
    let Some(project) = project else {
        let fact = "no Unity project here or in a folder above";
        return vec![Check::warn(
            "project",
            fact,
            "run doctor in the project, or name it with --project DIR",
        )];
    };
    let shown = project.display();
    let version = read(&project.join("ProjectSettings/ProjectVersion.txt"));
    let version = version.as_deref().and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("m_EditorVersion:")).map(str::trim)
    });
    let is_project = project.join("Assets").is_dir() && project.join("ProjectSettings").is_dir();
    let found = match version {
        Some(version) => Check::ok("project", format!("{shown}, Unity {version}")),
        None if is_project => Check::warn(
            "project",
            format!("{shown}; ProjectSettings/ProjectVersion.txt does not name a Unity version"),
            "open the project in Unity once",
        ),
        None => Check::fail(
            "project",
            format!("{shown} has no folders Assets and ProjectSettings"),
            "name the folder of the Unity project with --project DIR",
        ),
    };
    vec![found, plugin(project)]
}

fn plugin(project: &Path) -> Check {
    let name = "plugin";
    if project.join("Packages").join(PACKAGE).join("package.json").is_file() {
        return Check::ok(name, format!("{PACKAGE} is in the folder Packages"));
    }
    let manifest = setup::unity::manifest(project);
    let Some(dependencies) = read_json(&manifest) else {
        let fact = format!("{} cannot be read as JSON", manifest.display());
        return Check::warn(name, fact, "open the project in Unity, which writes this file");
    };
    match dependencies.pointer(&format!("/dependencies/{PACKAGE}")).and_then(Json::as_str) {
        Some(source) => Check::ok(name, format!("{PACKAGE} from {source}")),
        None => Check::fail(
            name,
            format!("Packages/manifest.json does not have {PACKAGE}"),
            format!("add it with: {}", setup::unity::command()),
        ),
    }
}

/// Whether an Editor has the project open; `None` if that cannot be known.
pub(super) fn editor_instance(project: &Path) -> (Option<bool>, Check) {
    let name = "unity";
    let closed = || {
        let check =
            Check::warn(name, "no Editor has the project open", "open the project in Unity");
        (Some(false), check)
    };
    let Some(instance) = read_json(&project.join("Library/EditorInstance.json")) else {
        return closed();
    };
    let Some(pid) = instance.get("process_id").and_then(Json::as_u64) else { return closed() };
    let version = instance.get("version").and_then(Json::as_str).unwrap_or("of unknown version");
    match u32::try_from(pid).ok().and_then(process_is_alive) {
        Some(true) => (
            Some(true),
            Check::ok(name, format!("Unity {version} has the project open, pid {pid}")),
        ),
        Some(false) => closed(), // An Editor that crashed leaves its file behind.
        None => {
            let fact = format!("Unity {version} had the project open, pid {pid}");
            (None, Check::ok(name, fact))
        }
    }
}

pub(super) fn token(config: &Config) -> Check {
    let name = "token";
    let file = token::file().map(|file| file.display().to_string()).unwrap_or_default();
    match (token::read(), config.require_token) {
        (Ok(Some(_)), true) => Check::ok(name, format!("required; {file} is private")),
        (Ok(Some(_)), false) => Check::ok(name, format!("not required; {file} is private")),
        (Ok(None), false) => Check::ok(name, "not required, and there is none"),
        (Ok(None), true) => Check::warn(
            name,
            format!("required, and {file} does not exist"),
            "start the server once, which creates it",
        ),
        (Err(problem), true) => Check::fail(name, problem.to_string(), "repair the file"),
        (Err(problem), false) => Check::warn(name, problem.to_string(), "repair the file"),
    }
}

/// Linux inside Windows, where Unity runs on the other side.
pub(super) fn wsl() -> Option<Check> {
    let is_set = std::env::var_os("WSL_DISTRO_NAME").is_some_and(|name| !name.is_empty());
    let is_kernel = || {
        let kernel = read(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
        kernel.to_ascii_lowercase().contains("microsoft")
    };
    (is_set || is_kernel()).then(|| {
        Check::warn(
            "wsl",
            "this is WSL, and Unity for Windows runs outside of it",
            "run unity-mcp.exe on Windows, or set networkingMode=mirrored in .wslconfig",
        )
    })
}
