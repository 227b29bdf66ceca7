//! `setup`: performs what the crate `setup` decides, and says it.

mod port;
mod report;

use std::path::{Path, PathBuf};

use ::setup::apply::{self, Failure, Outcome, Task};
use ::setup::clients::{CLIENTS, Client, survey};
use ::setup::entry::{Connection, Wanted};
use ::setup::environment::Environment;
use ::setup::file::Refusal;
use ::setup::unity;

use serde_json::json;

use super::call_error::CallError;
use super::output::{complain, print_json};
use crate::config_loader::{self, RawFlags};
use crate::project;
use report::{Done, Printer};

/// Something failed.
pub const EXIT_FAILED: i32 = 1;
/// The command is wrong, or a file cannot be changed safely.
pub const EXIT_REFUSED: i32 = 2;

pub enum Asked {
    List(ClientOptions),
    Print(ClientOptions),
    Apply(ClientOptions),
    Unity(UnityOptions),
}

impl Asked {
    fn json(&self) -> bool {
        match self {
            Self::List(options) | Self::Print(options) | Self::Apply(options) => options.json,
            Self::Unity(options) => options.json,
        }
    }
}

pub struct ClientOptions {
    pub clients: Vec<&'static Client>,
    pub all: bool,
    /// `Some(None)` is the working directory.
    pub project: Option<Option<PathBuf>>,
    pub http: bool,
    pub port: Option<u16>,
    pub name: String,
    pub catalog: Option<String>,
    pub remove: bool,
    pub dry_run: bool,
    pub json: bool,
}

pub struct UnityOptions {
    pub project: Option<PathBuf>,
    pub source: Option<String>,
    pub port: Option<u16>,
    pub remove: bool,
    pub dry_run: bool,
    pub json: bool,
}

/// Returns the exit code.
///
/// # Errors
/// Nothing was done: the exit code and one line.
pub async fn run(asked: Asked) -> Result<i32, (i32, String)> {
    let environment = Environment::here();
    let json = asked.json();
    let ended = match asked {
        Asked::List(options) => list(&environment, &options),
        Asked::Print(options) => print(&environment, &options),
        Asked::Apply(options) => apply_all(&environment, &options),
        Asked::Unity(options) => set_up_unity(&environment, &options).await,
    };
    if let (Err((_, line)), true) = (&ended, json) {
        print_json(&json!({ "error": CallError::usage(line.as_str()).0 }));
    }
    ended
}

/// Without the dots of `./Game`.
fn below(environment: &Environment, named: &Path) -> PathBuf {
    environment.directory.join(named).components().collect()
}

fn usage(message: String) -> (i32, String) {
    (EXIT_REFUSED, format!("setup: {message}"))
}

/// The folder of `--project`.
fn project_folder(
    environment: &Environment,
    options: &ClientOptions,
) -> Result<Option<PathBuf>, (i32, String)> {
    let Some(named) = &options.project else { return Ok(None) };
    let folder = named
        .as_ref()
        .map_or_else(|| environment.directory.clone(), |named| below(environment, named));
    if folder.is_dir() {
        return Ok(Some(folder));
    }
    Err(usage(format!("{} is not a folder; nothing was changed", shown(&folder))))
}

fn wanted(
    environment: &Environment,
    options: &ClientOptions,
    project: Option<&Path>,
) -> Result<Wanted, (i32, String)> {
    let connection = if options.http {
        let port = match options.port {
            Some(port) => port,
            None => configured_port(environment, project)?,
        };
        Connection::Http { url: format!("http://127.0.0.1:{port}/mcp") }
    } else {
        let program = std::env::current_exe()
            .map_err(|error| (EXIT_FAILED, format!("setup: where is this program? {error}")))?;
        let program = program.into_os_string().into_string().map_err(|path| {
            let path = shown(Path::new(&path));
            usage(format!("the path of this program, {path}, is not UTF-8; move it"))
        })?;
        let mut args = vec!["--stdio".to_owned()];
        let mut add = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
        if let Some(port) = options.port {
            add("--port", port.to_string());
        }
        if let Some(catalog) = &options.catalog {
            add("--catalog", catalog.clone());
        }
        Connection::Stdio { program, args }
    };
    Ok(Wanted { name: options.name.clone(), connection })
}

/// What a server in this folder would listen on.
fn configured_port(
    environment: &Environment,
    project: Option<&Path>,
) -> Result<u16, (i32, String)> {
    let flags = RawFlags { project: project.map(Path::to_path_buf), ..RawFlags::default() };
    let config = config_loader::load(&flags, &environment.directory);
    config.map(|config| config.port).map_err(|error| usage(error.to_string()))
}

fn list(environment: &Environment, options: &ClientOptions) -> Result<i32, (i32, String)> {
    let project = project_folder(environment, options)?;
    let wanted = wanted(environment, options, project.as_deref())?;
    let findings = survey(environment, project.as_deref(), &wanted);
    let here = project.or_else(|| project::find(&environment.directory));
    let plugin = here.and_then(|project| Some((unity::has_package(&project)?, project)));
    Printer::new(options.json).list(&findings, plugin.as_ref());
    Ok(0)
}

fn print(environment: &Environment, options: &ClientOptions) -> Result<i32, (i32, String)> {
    let project = project_folder(environment, options)?;
    let wanted = wanted(environment, options, project.as_deref())?;
    let mut snippets = Vec::new();
    for client in chosen(environment, options)? {
        let file = match &project {
            Some(project) => client.project_file(project),
            None => client.file_to_paste(environment),
        };
        match client.snippet(&wanted) {
            Some(text) => snippets.push((client, file, text)),
            None if options.all => {}
            None => {
                return Err(usage(format!(
                    "{} cannot take an HTTP server from its file",
                    client.name
                )));
            }
        }
    }
    Printer::new(options.json).snippets(&snippets);
    Ok(0)
}

fn chosen(
    environment: &Environment,
    options: &ClientOptions,
) -> Result<Vec<&'static Client>, (i32, String)> {
    if !options.all {
        return Ok(options.clients.clone());
    }
    let found: Vec<_> = CLIENTS.iter().filter(|client| client.is_installed(environment)).collect();
    if found.is_empty() {
        let message = "setup: no client was found on this machine; name one, such as `unity-mcp setup cursor`";
        return Err((EXIT_FAILED, message.to_owned()));
    }
    Ok(found)
}

fn apply_all(environment: &Environment, options: &ClientOptions) -> Result<i32, (i32, String)> {
    let project = project_folder(environment, options)?;
    let wanted = wanted(environment, options, project.as_deref())?;
    let is_project = project.is_some();
    let task = Task { wanted, project, remove: options.remove, dry_run: options.dry_run };
    let mut done = Vec::new();
    for client in chosen(environment, options)? {
        // With --all, a client without a file of this kind is not an error.
        let has_file = !if is_project { client.project.is_empty() } else { client.user.is_empty() };
        if options.all && !has_file {
            continue;
        }
        let report = apply::apply(client, environment, &task);
        done.push(Done {
            id: client.id,
            name: client.name,
            next: Some(next(client, options.remove)),
            more: Vec::new(),
            file: report.file,
            result: report.result,
        });
    }
    let printer = Printer::new(options.json);
    printer.done(&done, options.remove);
    Ok(exit_code(&done))
}

/// What a person does after a change.
fn next(client: &Client, remove: bool) -> String {
    match remove {
        true => format!("Restart {}, if it runs.", client.name),
        false => client.restart.to_owned(),
    }
}

fn exit_code(done: &[Done]) -> i32 {
    let codes = done.iter().map(|done| match &done.result {
        Ok(_) => 0,
        Err(Failure::File(Refusal::System(_)) | Failure::Command(_)) => EXIT_FAILED,
        Err(Failure::File(Refusal::Content(_) | Refusal::Kind(_)) | Failure::Impossible(_)) => {
            EXIT_REFUSED
        }
    });
    codes.max().unwrap_or(0)
}

async fn set_up_unity(
    environment: &Environment,
    options: &UnityOptions,
) -> Result<i32, (i32, String)> {
    let project = match &options.project {
        Some(named) => below(environment, named),
        None => project::find(&environment.directory).ok_or_else(|| {
            usage("this folder is not in a Unity project; name the folder of one".to_owned())
        })?,
    };
    let result = if options.remove {
        unity::set_package(&project, None, options.dry_run)
    } else {
        let source = unity::source(options.source.as_deref(), &environment.directory, &project);
        let source = source.map_err(|message| usage(format!("{message}; nothing was changed")))?;
        unity::set_package(&project, Some(&source), options.dry_run)
    };
    let next = (!options.remove)
        .then(|| "Open the project in Unity, or switch to it if it is open.".to_owned());
    let is_good = result.is_ok();
    let mut done = vec![Done {
        id: "unity",
        name: "Unity",
        next,
        more: Vec::new(),
        file: Some(unity::manifest(&project)),
        result: result.map_err(Failure::File),
    }];
    let printer = Printer::new(options.json);
    if is_good && !options.remove {
        done.extend(set_port(&project, options, &printer).await);
    }
    printer.done(&done, options.remove);
    Ok(exit_code(&done))
}

/// Writes a port if one was named, or if another project has the usual one.
async fn set_port(project: &Path, options: &UnityOptions, printer: &Printer) -> Option<Done> {
    let mut more = Vec::new();
    let result = match (options.port, unity::port(project)) {
        (_, Err(refusal)) => Err(refusal),
        (Some(port), Ok(_)) => {
            more.push(("port", json!(port)));
            if let Some(who) = port::held_by_another(port, project).await {
                let warning = format!("port {port} is held by {who}, so no server can use it now");
                complain("setup", &format!("{warning}; stop that program, or choose another port"));
                more.push(("warning", json!(warning)));
            }
            unity::set_port(project, port, options.dry_run)
        }
        (None, Ok(Some(_))) => return None,
        (None, Ok(None)) => {
            let (port, why) = port::free_instead_of_usual(project).await?;
            let reason = format!("port 8091 is held by {why}");
            printer.note(&format!("This project gets port {port}, because {reason}."));
            more.extend([("port", json!(port)), ("reason", json!(reason))]);
            unity::set_port(project, port, options.dry_run)
        }
    };
    Some(Done {
        id: "settings",
        name: "Settings",
        next: None,
        more,
        file: Some(unity::settings(project)),
        result: result.map_err(Failure::File),
    })
}

fn shown(path: &Path) -> String {
    protocol::printable(&path.display().to_string(), 1_000)
}

/// What a change of a file is called.
fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Unchanged => "unchanged",
        Outcome::Created => "created",
        Outcome::Changed { .. } => "changed",
        Outcome::Deleted { .. } => "deleted",
        Outcome::Ran { .. } => "ran",
        Outcome::WouldChange { .. } => "would_change",
        Outcome::WouldRun { .. } => "would_run",
    }
}
