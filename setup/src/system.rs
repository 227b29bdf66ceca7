//! What differs between operating systems: modes and owners of files.

pub(crate) use imp::{create_mode, is_program, kept_mode, why_not_replaceable};

#[cfg(unix)]
mod imp {
    use std::fs::{self, Metadata, Permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::Path;

    pub(crate) fn is_program(path: &Path) -> bool {
        fs::metadata(path)
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    }

    /// The mode of a new file; the system takes the bits of the umask away.
    pub(crate) fn create_mode() -> Option<Permissions> {
        Some(Permissions::from_mode(0o666))
    }

    /// The mode that the new file gets from the old one.
    pub(crate) fn kept_mode(old: &Metadata) -> Option<Permissions> {
        Some(old.permissions())
    }

    /// A file that takes the place of this one would differ in more than its text.
    pub(crate) fn why_not_replaceable(old: &Metadata, new: &Metadata) -> Option<&'static str> {
        if old.uid() != new.uid() {
            return Some("belongs to another user");
        }
        (old.nlink() > 1).then_some("has more than one name (a hard link)")
    }
}

#[cfg(not(unix))]
mod imp {
    use std::fs::{Metadata, Permissions};
    use std::path::Path;

    pub(crate) fn is_program(path: &Path) -> bool {
        path.is_file()
    }

    pub(crate) fn create_mode() -> Option<Permissions> {
        None
    }

    pub(crate) fn kept_mode(_old: &Metadata) -> Option<Permissions> {
        None
    }

    pub(crate) fn why_not_replaceable(_old: &Metadata, _new: &Metadata) -> Option<&'static str> {
        None
    }
}
