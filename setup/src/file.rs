//! Reads a file with limits, and replaces it in one step: at every moment the old or the new file is there, whole.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::edit::Problem;
use crate::system;

/// More than any configuration that a person writes.
pub const BYTES_MAX: u64 = 1024 * 1024;
/// For files that are read and never written.
pub const LIVE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The end of the name of the copy that is kept.
const BACKUP_END: &str = ".unity-mcp.bak";

/// Why a file is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// What it says cannot be edited.
    Content(Problem),
    /// What it is: a link, a directory, too large, not UTF-8, write-protected.
    Kind(String),
    /// The system did not do it.
    System(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content(problem) => problem.fmt(f),
            Self::Kind(what) | Self::System(what) => f.write_str(what),
        }
    }
}

/// A file as it was read.
#[derive(Debug)]
pub struct Old {
    pub text: String,
    /// The copy beside it is older than the first change of setup, and stays.
    pub keeps_backup: bool,
    about: Metadata,
}

/// The moments at which a replacement can be interrupted, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    CreateFolder,
    CreateBackup,
    WriteBackup,
    SyncBackup,
    RenameBackup,
    Create,
    Write,
    Sync,
    Compare,
    Rename,
    SyncFolder,
    Done,
}

impl Step {
    pub const ALL: &[Self] = &[
        Self::CreateFolder,
        Self::CreateBackup,
        Self::WriteBackup,
        Self::SyncBackup,
        Self::RenameBackup,
        Self::Create,
        Self::Write,
        Self::Sync,
        Self::Compare,
        Self::Rename,
        Self::SyncFolder,
        Self::Done,
    ];
}

/// Asked before each step. Tests let it fail, or end the process.
pub type Before<'a> = &'a mut dyn FnMut(Step) -> io::Result<()>;

/// The file and what it says; `None` if there is none.
///
/// # Errors
/// It is not a plain file of UTF-8 below the limit, or cannot be read.
pub fn read(path: &Path, max: u64) -> Result<Option<Old>, Refusal> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(system_refusal("cannot be read", &error)),
    };
    if about.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return Err(Refusal::Kind(format!("is a symbolic link to {}", target.display())));
    }
    if !about.is_file() {
        let what = if about.is_dir() { "is a directory" } else { "is not a regular file" };
        return Err(Refusal::Kind(what.to_owned()));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(max + 1).read_to_end(&mut bytes));
    let read = read.map_err(|error| system_refusal("cannot be read", &error))?;
    if read as u64 > max {
        let limit = max / 1024 / 1024;
        return Err(Refusal::Kind(format!("is larger than the limit of {limit} MiB")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(Old { text, keeps_backup: false, about })),
        Err(_) => Err(Refusal::Kind("is not UTF-8".to_owned())),
    }
}

pub fn backup(path: &Path) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(BACKUP_END);
    path.with_file_name(name)
}

/// What the file said before setup changed it, if that is known.
pub fn before(path: &Path) -> Option<String> {
    read(&backup(path), BYTES_MAX).ok().flatten().map(|old| old.text)
}

/// Puts a new text in the place of what was read.
///
/// # Errors
/// The file is not the one that was read, or a step failed. The old file is still there.
pub fn replace(path: &Path, old: Option<&Old>, text: &str) -> Result<(), Refusal> {
    replace_step_by_step(path, old, text, &mut |_| Ok(()))
}

/// [`replace`], and asks before each step.
///
/// # Errors
/// As [`replace`].
pub fn replace_step_by_step(
    path: &Path,
    old: Option<&Old>,
    text: &str,
    before: Before<'_>,
) -> Result<(), Refusal> {
    let folder = folder_of(path);
    if let Some(old) = old {
        check_replaceable(old)?;
    }
    let failed = |error: io::Error| system_refusal("cannot be written", &error);
    before(Step::CreateFolder).and_then(|()| fs::create_dir_all(folder)).map_err(failed)?;
    if let Some(old) = old.filter(|old| !old.keeps_backup) {
        let copy = draft(folder, old.text.as_bytes(), Some(old), before, Step::CreateBackup)?;
        before(Step::RenameBackup).map_err(failed)?;
        copy.persist(backup(path)).map_err(|error| failed(error.error))?;
    }
    let new = draft(folder, text.as_bytes(), old, before, Step::Create)?;
    before(Step::Compare).map_err(failed)?;
    check_unchanged(path, old)?;
    before(Step::Rename).map_err(failed)?;
    match old {
        Some(_) => new.persist(path).map(drop),
        None => new.persist_noclobber(path).map(drop),
    }
    .map_err(|error| failed(error.error))?;
    // The new file is in its place. If the folder cannot be synced, a power cut may bring the old one back.
    if before(Step::SyncFolder).is_ok() {
        sync_folder(folder);
    }
    before(Step::Done).map_err(failed)
}

/// Removes the file: it becomes the copy that is kept.
///
/// # Errors
/// The file is not the one that was read, or the system refuses.
pub fn remove(path: &Path, old: &Old) -> Result<(), Refusal> {
    check_replaceable(old)?;
    check_unchanged(path, Some(old))?;
    fs::rename(path, backup(path)).map_err(|error| system_refusal("cannot be removed", &error))?;
    sync_folder(folder_of(path));
    Ok(())
}

/// A file beside the target, complete and on the disk.
fn draft(
    folder: &Path,
    bytes: &[u8],
    like: Option<&Old>,
    before: Before<'_>,
    first: Step,
) -> Result<NamedTempFile, Refusal> {
    let failed = |error: io::Error| system_refusal("cannot be written", &error);
    let is_backup = first == Step::CreateBackup;
    let (write, sync) =
        if is_backup { (Step::WriteBackup, Step::SyncBackup) } else { (Step::Write, Step::Sync) };
    before(first).map_err(failed)?;
    let mut builder = Builder::new();
    builder.prefix(".unity-mcp-").suffix(".new");
    let mode = if like.is_none() { system::create_mode() } else { None };
    if let Some(mode) = mode {
        builder.permissions(mode);
    }
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    if let Some(old) = like {
        let about = file.as_file().metadata().map_err(failed)?;
        if let Some(why) = system::why_not_replaceable(&old.about, &about) {
            return Err(Refusal::Kind(why.to_owned()));
        }
        if let Some(mode) = system::kept_mode(&old.about) {
            file.as_file().set_permissions(mode).map_err(failed)?;
        }
    }
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    file.write_all(half).map_err(failed)?;
    before(write).map_err(failed)?;
    file.write_all(rest).map_err(failed)?;
    before(sync).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    Ok(file)
}

/// Some clients write their files while they run.
fn check_unchanged(path: &Path, old: Option<&Old>) -> Result<(), Refusal> {
    let now = read(path, BYTES_MAX)?;
    if now.as_ref().map(|now| &now.text) == old.map(|old| &old.text) {
        return Ok(());
    }
    Err(Refusal::System("was changed by another program at this moment; try again".to_owned()))
}

/// A rename needs no right to write the file itself.
fn check_replaceable(old: &Old) -> Result<(), Refusal> {
    if old.about.permissions().readonly() {
        return Err(Refusal::Kind("is write-protected".to_owned()));
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Windows cannot open a folder; there the rename is all that can be done.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        folder.sync_all().unwrap_or_default();
    }
}

fn system_refusal(what: &str, error: &io::Error) -> Refusal {
    let is_denied = error.kind() == ErrorKind::PermissionDenied;
    let kind = if is_denied { "permission denied".to_owned() } else { error.to_string() };
    Refusal::System(format!("{what}: {kind}"))
}
