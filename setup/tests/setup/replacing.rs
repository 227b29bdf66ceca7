//! A file is replaced in one step: whatever happens, the old or the new one is there, whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use setup::apply::{Outcome, change};
use setup::clients::Format;
use setup::edit::{Content, Location};
use setup::file::{BYTES_MAX, Refusal, Step, backup, before, read, replace, replace_step_by_step};

/// Names the file and the step at which a process of the test below ends.
const VICTIM: &str = "SETUP_TEST_VICTIM";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Large enough for more than one write.
fn long(sign: char) -> String {
    sign.to_string().repeat(300_000)
}

fn add(path: &Path) -> Result<Outcome, Refusal> {
    let location = Location { format: Format::Jsonc, path: vec!["unity".to_owned()] };
    change(path, &location, Some(&Content::Value(serde_json::json!("here"))), false)
}

#[test]
fn a_step_that_fails_leaves_the_old_file_and_nothing_beside_it() {
    for step in Step::ALL.iter().filter(|step| **step < Step::SyncFolder) {
        let folder = folder();
        let path = folder.path().join("a.json");
        fs::write(&path, long('o')).unwrap();
        let old = read(&path, BYTES_MAX).unwrap();
        let replaced = replace_step_by_step(&path, old.as_ref(), &long('n'), &mut |now| {
            if now == *step { Err(io::Error::other("the disk is gone")) } else { Ok(()) }
        });
        assert!(matches!(replaced, Err(Refusal::System(_))), "{step:?}");
        assert_eq!(text(&path), Some(long('o')), "{step:?}");
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| name != "a.json" && name != "a.json.unity-mcp.bak");
        assert!(names.is_empty(), "{step:?} left {names:?}");
        assert!(before(&path).is_none_or(|text| text == long('o')), "{step:?}");
    }
}

#[test]
fn a_process_that_dies_at_any_step_leaves_the_old_or_the_new_file() {
    if let Some(victim) = std::env::var_os(VICTIM) {
        return die(&victim.into_string().unwrap());
    }
    for (place, step) in Step::ALL.iter().enumerate() {
        let folder = folder();
        let path = folder.path().join("a.json");
        fs::write(&path, long('o')).unwrap();
        let name = "replacing::a_process_that_dies_at_any_step_leaves_the_old_or_the_new_file";
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args([name, "--exact"]).env(VICTIM, format!("{place} {}", path.display()));
        let output = process.output().unwrap();
        assert!(!output.status.success(), "{step:?} was never reached");
        let wanted = if *step <= Step::Rename { long('o') } else { long('n') };
        assert_eq!(text(&path), Some(wanted), "{step:?}");
        // The next run is not disturbed by what lies there.
        assert!(text(&backup(&path)).is_none_or(|kept| kept == long('o')), "{step:?}");
        fs::write(&path, "{}").unwrap();
        assert!(add(&path).is_ok(), "{step:?}");
    }
}

/// Ends the process in the middle of a replacement, without destructors.
fn die(victim: &str) {
    let (place, path) = victim.split_once(' ').unwrap();
    let (place, path) = (place.parse::<usize>().unwrap(), PathBuf::from(path));
    let old = read(&path, BYTES_MAX).unwrap();
    let replaced = replace_step_by_step(&path, old.as_ref(), &long('n'), &mut |now| {
        if now == Step::ALL[place] {
            std::process::abort();
        }
        Ok(())
    });
    replaced.unwrap();
}

#[test]
fn what_the_client_wrote_in_between_is_not_lost() {
    let folder = folder();
    let path = folder.path().join("a.json");
    fs::write(&path, "old").unwrap();
    let old = read(&path, BYTES_MAX).unwrap();
    let replaced = replace_step_by_step(&path, old.as_ref(), "new", &mut |step| {
        if step == Step::Compare { fs::write(&path, "theirs") } else { Ok(()) }
    });
    let Err(Refusal::System(why)) = replaced else { panic!("{replaced:?}") };
    assert!(why.contains("another program"), "{why}");
    assert_eq!(text(&path).as_deref(), Some("theirs"));
    // The same for a file that appears.
    let path = folder.path().join("b.json");
    let replaced = replace_step_by_step(&path, None, "new", &mut |step| {
        if step == Step::Rename { fs::write(&path, "theirs") } else { Ok(()) }
    });
    assert!(replaced.is_err());
    assert_eq!(text(&path).as_deref(), Some("theirs"));
}

#[test]
fn the_old_text_is_kept_and_folders_are_made() {
    let folder = folder();
    let path = folder.path().join("deep/er/a.json");
    assert_eq!(add(&path), Ok(Outcome::Created));
    assert_eq!(before(&path), None);
    fs::write(&path, "{ \"a\": 1 }").unwrap();
    assert_eq!(add(&path), Ok(Outcome::Changed { backup: backup(&path) }));
    assert_eq!(before(&path).as_deref(), Some("{ \"a\": 1 }"));
    let now = text(&path);
    assert_eq!(add(&path), Ok(Outcome::Unchanged));
    assert_eq!((text(&path), before(&path).as_deref()), (now, Some("{ \"a\": 1 }")));
}

#[test]
fn a_file_that_is_too_large_or_not_utf_8_is_refused() {
    let folder = folder();
    let path = folder.path().join("a.json");
    fs::write(&path, format!("{{}}{}", " ".repeat(2 * 1024 * 1024))).unwrap();
    assert_eq!(add(&path), Err(Refusal::Kind("is larger than the limit of 1 MiB".to_owned())));
    fs::write(&path, [b'{', 0xff, b'}']).unwrap();
    assert_eq!(add(&path), Err(Refusal::Kind("is not UTF-8".to_owned())));
    assert_eq!(fs::read(&path).unwrap(), [b'{', 0xff, b'}']);
}

#[test]
fn a_directory_is_refused() {
    let folder = folder();
    assert_eq!(add(folder.path()), Err(Refusal::Kind("is a directory".to_owned())));
}

#[test]
fn a_write_protected_file_is_refused() {
    let folder = folder();
    let path = folder.path().join("a.json");
    fs::write(&path, "{}").unwrap();
    let about = fs::metadata(&path).unwrap();
    let mut mode = about.permissions();
    mode.set_readonly(true);
    fs::set_permissions(&path, mode).unwrap();
    assert_eq!(add(&path), Err(Refusal::Kind("is write-protected".to_owned())));
    assert_eq!(text(&path).as_deref(), Some("{}"));
    fs::set_permissions(&path, about.permissions()).unwrap();
}

#[test]
fn a_folder_that_refuses_is_an_error_of_the_system() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    let old = replace(&folder.path().join("file/a.json"), None, "{}");
    assert!(matches!(old, Err(Refusal::System(_))), "{old:?}");
}

#[test]
fn a_system_that_gives_no_permission_changes_nothing() {
    let folder = folder();
    let path = folder.path().join("a.json");
    fs::write(&path, "{}").unwrap();
    let old = read(&path, BYTES_MAX).unwrap();
    let replaced = replace_step_by_step(&path, old.as_ref(), "new", &mut |step| {
        let is_denied = step == Step::Create;
        if is_denied { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    });
    let why = "cannot be written: permission denied".to_owned();
    assert_eq!(replaced, Err(Refusal::System(why)));
    assert_eq!(text(&path).as_deref(), Some("{}"));
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::{Refusal, add, folder, text};

    #[test]
    fn a_link_is_refused_and_not_followed() {
        let folder = folder();
        let (path, target) = (folder.path().join("a.json"), folder.path().join("real"));
        fs::write(&target, "{}").unwrap();
        symlink(&target, &path).unwrap();
        let why = format!("is a symbolic link to {}", target.display());
        assert_eq!(add(&path), Err(Refusal::Kind(why)));
        assert_eq!(text(&target).as_deref(), Some("{}"));
        fs::remove_file(&target).unwrap();
        assert!(matches!(add(&path), Err(Refusal::Kind(_))), "a dangling link");
    }

    #[test]
    fn a_file_with_a_second_name_is_refused() {
        let folder = folder();
        let path = folder.path().join("a.json");
        fs::write(&path, "{}").unwrap();
        fs::hard_link(&path, folder.path().join("b.json")).unwrap();
        assert!(matches!(add(&path), Err(Refusal::Kind(why)) if why.contains("hard link")));
        assert_eq!(text(&path).as_deref(), Some("{}"));
    }

    #[test]
    fn a_pipe_is_refused_without_waiting_for_its_writer() {
        let folder = folder();
        let path = folder.path().join("a.json");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(add(&path), Err(Refusal::Kind("is not a regular file".to_owned())));
    }

    #[test]
    fn the_mode_of_the_file_stays() {
        for mode in [0o600, 0o640, 0o664] {
            let folder = folder();
            let path = folder.path().join("a.json");
            fs::write(&path, "{}").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            add(&path).unwrap();
            let of = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(of(&path), mode);
            assert_eq!(of(&super::backup(&path)), mode);
        }
    }
}
