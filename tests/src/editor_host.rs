//! Where EditorHost is, the program that runs the Unity plugin on Mono. `unity-plugin/Host~/build` makes it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The program that the variable `EDITOR_HOST` names, else the one that was built in this workspace.
///
/// # Errors
/// Says why there is none, and what to do.
pub fn find() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os("EDITOR_HOST") {
        return Ok(PathBuf::from(given));
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unity-plugin");
    let program = package.join("Host~/out/EditorHost.exe");
    let Some(built_at) = changed_at(&program) else {
        return Err("unity-plugin/Host~/out is not built; run unity-plugin/Host~/build".to_owned());
    };
    if newest_source(&package) > built_at {
        return Err(
            "unity-plugin/Host~/out is older than the sources; run unity-plugin/Host~/build"
                .to_owned(),
        );
    }
    let version = Command::new("mono").arg("--version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        return Err("Mono is not installed; run unity-plugin/Host~/build".to_owned());
    }
    Ok(program)
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

/// When a C# file below this folder last changed.
fn newest_source(folder: &Path) -> SystemTime {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let times = entries.filter_map(|path| {
        if path.is_dir() {
            return Some(newest_source(&path));
        }
        changed_at(&path).filter(|_| path.extension().is_some_and(|extension| extension == "cs"))
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}
