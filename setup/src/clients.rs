//! The clients: one row each.

use std::path::{Path, PathBuf};

use crate::environment::{Base, Environment, System, below};

pub use crate::survey::{Finding, Scope, State, survey, survey_all_names};

/// One MCP client.
#[derive(Debug)]
pub struct Client {
    /// As it is typed.
    pub id: &'static str,
    pub name: &'static str,
    /// The places of the user's file; the first that exists is taken, else the first.
    pub user: &'static [Place],
    /// The same below the folder of a project.
    pub project: &'static [&'static str],
    /// Something that is there if the client is installed. Without one, it is the folder of the user's file.
    pub sign: &'static [Place],
    /// Its program, if it has one that people type.
    pub program: Option<&'static str>,
    pub format: Format,
    /// The object that has an entry per server.
    pub key: &'static str,
    pub stdio: Stdio,
    pub http: Http,
    /// Its own command adds a server for the user.
    pub command: Option<OwnCommand>,
    /// What to do after a change.
    pub restart: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub system: Option<System>,
    pub base: Base,
    /// With forward slashes.
    pub path: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The client refuses comments and trailing commas.
    Json,
    /// With comments and trailing commas.
    Jsonc,
    Toml,
}

/// The form of an entry for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdio {
    /// `command`, `args`.
    Plain,
    /// The same, and these fields.
    With(&'static [(&'static str, Fixed)]),
    /// `type: "local"`, `command: [program, args…]`, `enabled`.
    OneList,
}

/// The form of an entry for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// The name of the field with the address, and further fields.
    Field(&'static str, &'static [(&'static str, Fixed)]),
    /// The file cannot say it.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixed {
    Text(&'static str),
    True,
    /// `["*"]`.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnCommand {
    /// Its file is the live state of the program: nobody else may write it.
    Claude,
    /// Without the program, the file is edited.
    Codex,
}

impl Client {
    pub fn find(id: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.id == id)
    }

    /// Where a person pastes the entry: the user's file; the project's, if nobody may edit that or there is none.
    pub fn file_to_paste(&self, environment: &Environment) -> Option<PathBuf> {
        let user = self.user_file(environment);
        let user = user.filter(|_| self.command != Some(OwnCommand::Claude));
        user.or_else(|| self.project_file(&environment.directory))
    }

    /// The user's file on this system, if the client has one.
    pub fn user_file(&self, environment: &Environment) -> Option<PathBuf> {
        first(paths(self.user, environment))
    }

    pub fn project_file(&self, project: &Path) -> Option<PathBuf> {
        first(self.project.iter().map(|path| below(project, path)).collect())
    }

    pub fn is_installed(&self, environment: &Environment) -> bool {
        if self.program.is_some_and(|name| environment.program(name).is_some()) {
            return true;
        }
        if !self.sign.is_empty() {
            return paths(self.sign, environment).iter().any(|path| path.exists());
        }
        let file = self.user_file(environment);
        file.is_some_and(|file| file.parent().is_some_and(Path::is_dir))
    }
}

impl Place {
    /// With `~` and the name of the system, if it is for one. `None` for what a variable names.
    pub(crate) fn for_people(&self) -> Option<String> {
        let folder = match self.base {
            Base::Home if self.system == Some(System::Windows) => "%USERPROFILE%",
            Base::Home => "~",
            Base::Config | Base::DotConfig => "~/.config",
            Base::ApplicationSupport => "~/Library/Application Support",
            Base::AppData => "%APPDATA%",
            Base::LocalAppData => "%LOCALAPPDATA%",
            Base::Variable(_) => return None,
        };
        let path = self.path;
        Some(match self.system {
            Some(System::Linux) => format!("{folder}/{path} (Linux)"),
            Some(System::Mac) => format!("{folder}/{path} (macOS)"),
            Some(System::Windows) => {
                format!("{folder}\\{} (Windows)", path.replace('/', "\\"))
            }
            None => format!("{folder}/{path}"),
        })
    }
}

/// A variable that is set decides alone.
fn paths(places: &[Place], environment: &Environment) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in places {
        if place.system.is_some_and(|system| system != environment.system) {
            continue;
        }
        let Some(folder) = environment.folder(place.base) else { continue };
        found.push(below(&folder, place.path));
        if matches!(place.base, Base::Variable(_)) {
            break;
        }
    }
    found
}

fn first(paths: Vec<PathBuf>) -> Option<PathBuf> {
    let existing = paths.iter().find(|path| path.symlink_metadata().is_ok()).cloned();
    existing.or_else(|| paths.into_iter().next())
}

const fn any(base: Base, path: &'static str) -> Place {
    Place { system: None, base, path }
}

const fn on(system: System, base: Base, path: &'static str) -> Place {
    Place { system: Some(system), base, path }
}

/// What most clients do.
const USUAL: Client = Client {
    id: "",
    name: "",
    user: &[],
    project: &[],
    sign: &[],
    program: None,
    format: Format::Jsonc,
    key: "mcpServers",
    stdio: Stdio::Plain,
    http: Http::Field("url", &[]),
    command: None,
    restart: "",
};

const TYPE_HTTP: &[(&str, Fixed)] = &[("type", Fixed::Text("http"))];

pub const CLIENTS: &[Client] = &[
    Client {
        id: "claude-code",
        name: "Claude Code",
        user: &[
            any(Base::Variable("CLAUDE_CONFIG_DIR"), ".claude.json"),
            any(Base::Home, ".claude.json"),
        ],
        project: &[".mcp.json"],
        sign: &[any(Base::Home, ".claude.json"), any(Base::Home, ".claude")],
        program: Some("claude"),
        format: Format::Json,
        http: Http::Field("url", TYPE_HTTP),
        command: Some(OwnCommand::Claude),
        restart: "Start Claude Code again. It asks once whether it may use the server of a project file.",
        ..USUAL
    },
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        user: &[
            on(System::Mac, Base::ApplicationSupport, "Claude/claude_desktop_config.json"),
            on(System::Windows, Base::AppData, "Claude/claude_desktop_config.json"),
            on(System::Linux, Base::Config, "Claude/claude_desktop_config.json"),
        ],
        format: Format::Json,
        http: Http::None,
        restart: "Quit Claude Desktop completely and start it again.",
        ..USUAL
    },
    Client {
        id: "codex",
        name: "Codex",
        user: &[
            any(Base::Variable("CODEX_HOME"), "config.toml"),
            any(Base::Home, ".codex/config.toml"),
        ],
        project: &[".codex/config.toml"],
        program: Some("codex"),
        format: Format::Toml,
        key: "mcp_servers",
        command: Some(OwnCommand::Codex),
        restart: "Start Codex again. It reads a project file only in projects that it trusts.",
        ..USUAL
    },
    Client {
        id: "cursor",
        name: "Cursor",
        user: &[any(Base::Home, ".cursor/mcp.json")],
        project: &[".cursor/mcp.json"],
        restart: "Restart Cursor.",
        ..USUAL
    },
    Client {
        id: "vscode",
        name: "VS Code",
        user: &[
            on(System::Linux, Base::Config, "Code/User/mcp.json"),
            on(System::Mac, Base::ApplicationSupport, "Code/User/mcp.json"),
            on(System::Windows, Base::AppData, "Code/User/mcp.json"),
        ],
        project: &[".vscode/mcp.json"],
        program: Some("code"),
        key: "servers",
        stdio: Stdio::With(&[("type", Fixed::Text("stdio"))]),
        http: Http::Field("url", TYPE_HTTP),
        restart: "Run \"MCP: List Servers\" in VS Code, start the server, and confirm that you trust it.",
        ..USUAL
    },
    Client {
        id: "copilot-cli",
        name: "Copilot CLI",
        user: &[
            any(Base::Variable("COPILOT_HOME"), "mcp-config.json"),
            any(Base::Home, ".copilot/mcp-config.json"),
        ],
        project: &[".mcp.json"],
        program: Some("copilot"),
        stdio: Stdio::With(&[("tools", Fixed::All)]),
        http: Http::Field("url", &[("type", Fixed::Text("http")), ("tools", Fixed::All)]),
        restart: "Start the Copilot CLI again.",
        ..USUAL
    },
    Client {
        id: "gemini",
        name: "Gemini CLI",
        user: &[any(Base::Home, ".gemini/settings.json")],
        project: &[".gemini/settings.json"],
        program: Some("gemini"),
        http: Http::Field("httpUrl", &[]),
        restart: "Start the Gemini CLI again. It starts servers only in folders that it trusts.",
        ..USUAL
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        user: &[any(Base::Home, ".codeium/windsurf/mcp_config.json")],
        http: Http::Field("serverUrl", &[]),
        restart: "Press the refresh button in the MCP panel of Windsurf.",
        ..USUAL
    },
    Client {
        id: "zed",
        name: "Zed",
        user: &[
            on(System::Linux, Base::Config, "zed/settings.json"),
            on(System::Mac, Base::DotConfig, "zed/settings.json"),
            on(System::Windows, Base::AppData, "Zed/settings.json"),
        ],
        project: &[".zed/settings.json"],
        program: Some("zed"),
        key: "context_servers",
        stdio: Stdio::With(&[("source", Fixed::Text("custom"))]),
        restart: "Zed starts the server by itself.",
        ..USUAL
    },
    Client {
        id: "opencode",
        name: "opencode",
        user: &[
            any(Base::Config, "opencode/opencode.json"),
            any(Base::Config, "opencode/opencode.jsonc"),
        ],
        project: &["opencode.json", "opencode.jsonc"],
        program: Some("opencode"),
        key: "mcp",
        stdio: Stdio::OneList,
        http: Http::Field("url", &[("type", Fixed::Text("remote")), ("enabled", Fixed::True)]),
        restart: "Start opencode again.",
        ..USUAL
    },
    Client {
        id: "cline",
        name: "Cline",
        user: &[
            any(Base::Variable("CLINE_MCP_SETTINGS_PATH"), ""),
            any(Base::Home, ".cline/data/settings/cline_mcp_settings.json"),
        ],
        sign: &[any(Base::Home, ".cline")],
        program: Some("cline"),
        format: Format::Json,
        http: Http::Field("url", &[("type", Fixed::Text("streamableHttp"))]),
        restart: "Cline reads the file by itself; if the server is missing, restart the editor.",
        ..USUAL
    },
    Client {
        id: "visual-studio",
        name: "Visual Studio",
        user: &[on(System::Windows, Base::Home, ".mcp.json")],
        project: &[".mcp.json"],
        sign: &[on(System::Windows, Base::LocalAppData, "Microsoft/VisualStudio")],
        key: "servers",
        restart: "Open the tool list of Copilot Chat in Visual Studio and enable the server.",
        ..USUAL
    },
    Client {
        id: "junie",
        name: "Rider (Junie)",
        user: &[any(Base::Home, ".junie/mcp/mcp.json")],
        project: &[".junie/mcp/mcp.json"],
        sign: &[any(Base::Home, ".junie")],
        http: Http::None,
        restart: "Restart Rider.",
        ..USUAL
    },
    Client {
        id: "continue",
        name: "Continue",
        project: &[".continue/mcpServers/unity.json"],
        sign: &[any(Base::Home, ".continue")],
        format: Format::Json,
        http: Http::Field("url", TYPE_HTTP),
        restart: "Reload the window of the editor.",
        ..USUAL
    },
];
