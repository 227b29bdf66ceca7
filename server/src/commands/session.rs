//! Session: the server that a command speaks to, found by the rules of the server itself, or started for the command.

use coordination::Catalog;
use protocol::printable;

use super::call_error::CallError;
use super::child_server::ChildServer;
use super::client::{Client, NoServer};
use crate::config_loader::{self, Config, RawFlags};

/// Which server a command is for.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// `--port`, `--config` and `--project`, as the server has them.
    pub flags: RawFlags,
    /// Start one if none runs.
    pub start: bool,
}

pub(super) struct Session {
    pub(super) client: Client,
    /// Ends with the session.
    child: Option<ChildServer>,
}

impl ServerOptions {
    pub(super) fn config(&self) -> Result<Config, CallError> {
        let directory = std::env::current_dir().unwrap_or_default();
        config_loader::load(&self.flags, &directory)
            .map_err(|error| CallError::usage(error.to_string()))
    }

    /// What a server gets that is started for the command. With `catalog`, it has these tools.
    fn server_flags(&self, catalog: Option<Catalog>) -> Vec<String> {
        let path = |name: &str, path: &Option<std::path::PathBuf>| {
            path.as_ref().map(|path| [format!("--{name}"), path.display().to_string()])
        };
        let RawFlags { config, project, settings, page: _ } = &self.flags;
        let settings = settings
            .iter()
            .map(|(name, text)| [format!("--{}", name.replace('_', "-")), text.clone()]);
        let paths = [path("config", config), path("project", project)];
        let catalog = catalog.map(|catalog| ["--catalog".to_owned(), catalog.name().to_owned()]);
        paths.into_iter().flatten().chain(settings).chain(catalog).flatten().collect()
    }
}

impl Session {
    /// Whether the server, and every job in it, ends with this command.
    pub(super) fn ends_server(&self) -> bool {
        self.child.is_some()
    }

    /// `catalog` is for a server that is started now.
    pub(super) async fn open(
        options: &ServerOptions,
        catalog: Option<Catalog>,
    ) -> Result<Self, CallError> {
        let port = options.config()?.port;
        match Client::find(port).await {
            Ok(client) => Ok(Self { client, child: None }),
            Err(NoServer::Nobody) if options.start => {
                let failed = |problem: &str| CallError::no_server(&printable(problem, 500));
                let child = ChildServer::start(&options.server_flags(catalog));
                let mut child = child.map_err(|error| {
                    failed(&format!("Nothing ran, because no server could be started: {error}."))
                })?;
                let client = child.listening(port).await.map_err(|problem| failed(&problem))?;
                Ok(Self { client, child: Some(child) })
            }
            Err(missing) => Err(missing.error(port)),
        }
    }
}
