//! The system and the folders of the user, as a value: the paths of every system can be computed on any system.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables that decide where clients keep their files, and where programs are found.
const VARIABLES: &[&str] = &[
    "APPDATA",
    "CLAUDE_CONFIG_DIR",
    "CLINE_MCP_SETTINGS_PATH",
    "CODEX_HOME",
    "COPILOT_HOME",
    "LOCALAPPDATA",
    "PATH",
    "XDG_CONFIG_HOME",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Linux,
    Mac,
    Windows,
}

#[derive(Clone, Debug)]
pub struct Environment {
    pub system: System,
    pub home: Option<PathBuf>,
    /// Where the command runs.
    pub directory: PathBuf,
    pub variables: BTreeMap<&'static str, OsString>,
}

/// A folder that the environment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Home,
    /// `$XDG_CONFIG_HOME` or `~/.config`.
    Config,
    /// `~/.config` whatever the environment says.
    DotConfig,
    /// `~/Library/Application Support`.
    ApplicationSupport,
    /// `%APPDATA%`.
    AppData,
    /// `%LOCALAPPDATA%`.
    LocalAppData,
    /// What this variable names, if it is set.
    Variable(&'static str),
}

impl Environment {
    /// This process.
    pub fn here() -> Self {
        let system = if cfg!(windows) {
            System::Windows
        } else if cfg!(target_os = "macos") {
            System::Mac
        } else {
            System::Linux
        };
        let set = |name: &&'static str| Some((*name, std::env::var_os(name)?));
        Self {
            system,
            home: std::env::home_dir(),
            directory: std::env::current_dir().unwrap_or_default(),
            variables: VARIABLES.iter().filter_map(set).collect(),
        }
    }

    pub fn folder(&self, base: Base) -> Option<PathBuf> {
        let home = || self.home.clone().filter(|home| !home.as_os_str().is_empty());
        match base {
            Base::Home => home(),
            Base::Config => {
                // The XDG specification: a relative path is ignored.
                let set = self.variable("XDG_CONFIG_HOME").filter(|path| path.has_root());
                set.or_else(|| Some(home()?.join(".config")))
            }
            Base::DotConfig => Some(home()?.join(".config")),
            Base::ApplicationSupport => Some(home()?.join("Library").join("Application Support")),
            Base::AppData => self.variable("APPDATA"),
            Base::LocalAppData => self.variable("LOCALAPPDATA"),
            Base::Variable(name) => self.variable(name),
        }
    }

    /// The path of a program, as a shell would find it.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let endings: &[&str] = match self.system {
            System::Windows => &[".exe", ".cmd", ".bat"],
            System::Linux | System::Mac => &[""],
        };
        // A relative folder would let a project bring a program of its own.
        let folders: Vec<PathBuf> = std::env::split_paths(self.variables.get("PATH")?)
            .filter(|folder| folder.is_absolute())
            .collect();
        let candidates = folders
            .iter()
            .flat_map(|folder| endings.iter().map(move |end| folder.join(format!("{name}{end}"))));
        candidates.into_iter().find(|path| crate::system::is_program(path))
    }

    /// Empty means not set.
    fn variable(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }
}

/// With the separators of this system.
pub(crate) fn below(folder: &Path, path: &str) -> PathBuf {
    let parts = path.split('/').filter(|part| !part.is_empty());
    parts.fold(folder.to_path_buf(), |folder, part| folder.join(part))
}
