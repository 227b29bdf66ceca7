//! The token: a secret in a file that only one user can read. On a shared machine, the programs of that user
//! recognise each other by it. Server, mock and relay find the file themselves.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The environment variable with the path of the file, if it is not in the usual place.
pub const FILE_VARIABLE: &str = "UNITY_MCP_TOKEN_FILE";

/// Random bytes in a token. The file has them as hexadecimal digits.
const BYTES: usize = 32;
/// Larger than any token.
const FILE_BYTES_MAX: u64 = 1_024;

/// The path of this user's token. `None` if the system does not say where the user's files are.
pub fn file() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value: &OsString| !value.is_empty());
    if let Some(file) = set(FILE_VARIABLE) {
        return Some(PathBuf::from(file));
    }
    let home = env::home_dir().filter(|home| home.is_absolute());
    let state = if cfg!(windows) {
        set("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library/Application Support"))
    } else {
        let state = set("XDG_STATE_HOME").map(PathBuf::from).filter(|state| state.is_absolute());
        state.or_else(|| Some(home?.join(".local/state")))
    };
    Some(state?.join("unity-mcp").join("token"))
}

/// Reads the token of this user. `None` if there is none yet.
///
/// # Errors
/// The file cannot be read, is not private, or has no token. The error names the file.
pub fn read() -> io::Result<Option<String>> {
    match file() {
        Some(file) => read_from(&file),
        None => Ok(None),
    }
}

/// Reads the token of this user, and creates it if there is none.
///
/// # Errors
/// As [`read`], or the file cannot be written.
pub fn read_or_create() -> io::Result<String> {
    let Some(file) = file() else {
        return Err(io::Error::other(format!(
            "there is no place for the token file; set {FILE_VARIABLE} to a path"
        )));
    };
    if let Some(token) = read_from(&file)? {
        return Ok(token);
    }
    match create_at(&file) {
        // Another program of this user has created it first.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read_from(&file)?
            .ok_or_else(|| named(&file, "was removed while it was created; try again")),
        created => created.map_err(|error| named(&file, &error.to_string())),
    }
}

fn read_from(file: &Path) -> io::Result<Option<String>> {
    let about = match fs::symlink_metadata(file) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(named(file, &error.to_string())),
    };
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return Err(named(file, "is not a file with a token"));
    }
    if !system::is_private(&about) {
        return Err(named(file, "can be read by others: set its mode to 0600, or remove it"));
    }
    let text = fs::read_to_string(file).map_err(|error| named(file, &error.to_string()))?;
    let token = text.trim();
    if token.len() < BYTES || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(named(file, "has no valid token: remove it, and the server creates a new one"));
    }
    Ok(Some(token.to_owned()))
}

fn create_at(file: &Path) -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let token = hexadecimal(&bytes);
    if let Some(directory) = file.parent() {
        system::create_directory(directory)?;
    }
    // The link makes the file appear complete, even to a program that reads it at this moment. The draft has a
    // random name, because containers that share a home directory may have equal process ids.
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(io::Error::other)?;
    let draft = file.with_extension(format!("{}.new", hexadecimal(&name)));
    system::write_new(&draft, format!("{token}\n").as_bytes())?;
    let linked = fs::hard_link(&draft, file);
    fs::remove_file(&draft)?;
    linked.map(|()| token)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn named(file: &Path, problem: &str) -> io::Error {
    io::Error::other(format!("the token file {} {problem}", file.display()))
}

/// Unix: the mode of a file says who may read it.
#[cfg(unix)]
mod system {
    use std::fs::{self, DirBuilder, OpenOptions};
    use std::io::{self, Write as _};
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    pub(super) fn is_private(about: &fs::Metadata) -> bool {
        about.permissions().mode() & 0o077 == 0
    }

    pub(super) fn create_directory(directory: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)
    }

    pub(super) fn write_new(file: &Path, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?.write_all(bytes)
    }
}

/// Elsewhere: a file below the user's own directory is private.
#[cfg(not(unix))]
mod system {
    use std::fs::{self, OpenOptions};
    use std::io::{self, Write as _};
    use std::path::Path;

    pub(super) fn is_private(_about: &fs::Metadata) -> bool {
        true
    }

    pub(super) fn create_directory(directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)
    }

    pub(super) fn write_new(file: &Path, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().write(true).create_new(true).open(file)?.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::{create_at, read_from};

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("token-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_token_is_made_once_and_found_again() {
        let scratch = Scratch::new("made");
        let file = scratch.0.join("below/token");
        assert_eq!(read_from(&file).unwrap(), None);
        let token = create_at(&file).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(read_from(&file).unwrap(), Some(token));
        assert_eq!(create_at(&file).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn what_is_no_token_is_refused_by_name() {
        let scratch = Scratch::new("bad");
        let file = scratch.0.join("token");
        for text in ["", "short", "a token with spaces that is long enough to be one"] {
            fs::remove_file(&file).unwrap_or_default();
            create_at(&file).unwrap();
            fs::write(&file, text).unwrap();
            let problem = read_from(&file).unwrap_err().to_string();
            assert!(problem.contains("token has no valid token"), "{problem}");
        }
        assert!(read_from(&scratch.0).unwrap_err().to_string().contains("is not a file"));
    }

    #[test]
    #[cfg(unix)]
    fn a_token_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;

        let scratch = Scratch::new("mode");
        let file = scratch.0.join("token");
        create_at(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(read_from(&file).unwrap_err().to_string().contains("can be read by others"));
    }
}
