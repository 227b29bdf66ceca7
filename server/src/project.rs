//! Which Unity project a folder belongs to, and paths in the form in which they are compared.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The nearest folder, upwards from here, that is a Unity project.
pub(crate) fn find(directory: &Path) -> Option<PathBuf> {
    let is_project =
        |folder: &&Path| folder.join("Assets").is_dir() && folder.join("ProjectSettings").is_dir();
    directory.ancestors().find(is_project).map(Path::to_path_buf)
}

/// With links resolved, if the path can be found here, and with forward slashes.
pub(crate) fn comparable(path: &str) -> String {
    let slashed = path.replace('\\', "/");
    // A name of another machine is not looked up: that would open a connection to it. Windows has several forms of it.
    let may_be_remote = slashed.starts_with("//") || slashed.starts_with("/??/");
    let found = if may_be_remote { None } else { std::fs::canonicalize(path).ok() };
    let text = found.map_or(slashed, |found| found.to_string_lossy().replace('\\', "/"));
    without_prefix(&text).trim_end_matches('/').to_owned()
}

/// Windows resolves `C:/a` to `//?/C:/a`, and a drive that stands for `//server/share` to `//?/UNC/server/share`.
fn without_prefix(path: &str) -> Cow<'_, str> {
    match path.strip_prefix("//?/") {
        Some(rest) => match rest.strip_prefix("UNC/") {
            Some(share) => format!("//{share}").into(),
            None => rest.into(),
        },
        None => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{comparable, find};

    #[test]
    fn a_project_is_found_from_any_folder_in_it() {
        let root = std::env::temp_dir().join(format!("unity-mcp-find-{}", std::process::id()));
        let inside = root.join("Assets/Scripts/Deep");
        std::fs::create_dir_all(&inside).unwrap();
        assert_eq!(find(&inside), None);
        std::fs::create_dir_all(root.join("ProjectSettings")).unwrap();
        assert_eq!(find(&inside), Some(root.clone()));
        assert_eq!(find(&root), Some(root.clone()));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn paths_are_compared_with_forward_slashes_and_without_the_last_one() {
        assert_eq!(comparable("C:\\Work\\Game\\"), "C:/Work/Game");
        assert_eq!(comparable("/no/such/folder/"), "/no/such/folder");
        assert_eq!(comparable("\\\\server\\share\\Game"), "//server/share/Game");
        assert_eq!(comparable("\\\\?\\UNC\\server\\share\\Game\\"), "//server/share/Game");
        assert_eq!(comparable("\\\\?\\C:\\Work\\Game"), "C:/Work/Game");
        assert_eq!(comparable("\\??\\UNC\\server\\share"), "/??/UNC/server/share");
    }

    #[test]
    fn a_folder_is_the_same_in_every_spelling_of_its_path() {
        let root = std::env::temp_dir().join(format!("unity-mcp-spelt-{}", std::process::id()));
        let folder = root.join("Mein Spiel").join("Übung 日本語");
        std::fs::create_dir_all(&folder).unwrap();
        let spelt = folder.to_string_lossy().into_owned();
        let shown = comparable(&spelt);
        assert!(shown.ends_with("/Mein Spiel/Übung 日本語"), "{shown}");
        let there_and_back = folder.join("..").join("Übung 日本語");
        assert_eq!(comparable(&there_and_back.to_string_lossy()), shown);
        if cfg!(windows) {
            assert_eq!(comparable(&spelt.replace('\\', "/")), shown);
            assert_eq!(comparable(&format!("{spelt}\\")), shown);
        }
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_are_resolved() {
        let root = std::env::temp_dir().join(format!("unity-mcp-link-{}", std::process::id()));
        std::fs::create_dir_all(root.join("real")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        let shown = |name: &str| comparable(&root.join(name).to_string_lossy());
        assert_eq!(shown("link"), shown("real"));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
