//! Project: which Unity project this server is for, and how paths are compared.

/// What the server knows of projects when it starts. Paths are absolute, with links resolved and forward slashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectRules {
    /// The project that this server was started for. An Editor of another one is refused.
    pub own: Option<String>,
    /// Whether the system does not tell upper case from lower case in paths.
    pub ignore_case: bool,
}

impl ProjectRules {
    pub(crate) fn same(&self, one: &str, other: &str) -> bool {
        let (one, other) = (one.trim_end_matches('/'), other.trim_end_matches('/'));
        if self.ignore_case { one.to_lowercase() == other.to_lowercase() } else { one == other }
    }
}
