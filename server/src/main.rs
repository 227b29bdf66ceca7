//! The program: arguments, configuration, port, server.

mod cli;

use std::io::{ErrorKind, Write as _};
use std::panic::resume_unwind;
use std::time::SystemTime;

use cli::{Arguments, Asked};
use coordination::{ExecutionCoordinator, ProjectRules};
use rmcp::transport::io::stdio_pipes;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tracing::info;
use unity_mcp::budget::{SSE_KEEP_ALIVE, STOP_TIMEOUT};
use unity_mcp::commands;
use unity_mcp::config_loader::{self, Config};
use unity_mcp::network::Network as _;
use unity_mcp::port::holder::{Holder, identify};
use unity_mcp::system::{self, Loopback, StopSignals};
use unity_mcp::{Server, VERSION, logger};

/// Why the process fails: its exit code and one line.
type Failed = (i32, String);

fn main() {
    let ended = match cli::parse() {
        Asked::Serve(arguments) => run_server(arguments).map(|()| 0),
        Asked::Certify(options) => run_certify(options),
        Asked::Call(options) => run_command(commands::call::run(&options)),
        Asked::Doctor(options) => run_command(commands::doctor::run(&options)),
        Asked::Print(text) => print(&text),
        Asked::Verify(options) => run_command(commands::verify::run(&options)),
        Asked::Setup(asked) => {
            runtime().and_then(|runtime| runtime.block_on(commands::setup::run(asked)))
        }
        Asked::Status(options) => {
            runtime().map(|runtime| runtime.block_on(commands::status::run(options)))
        }
    };
    let code = ended.unwrap_or_else(|(code, line)| {
        // If stderr is closed, the code says it.
        writeln!(std::io::stderr(), "unity-mcp: {line}").unwrap_or_default();
        code
    });
    // Not a return: a thread may block on stdin for ever.
    std::process::exit(code);
}

fn run_server(arguments: Arguments) -> Result<(), Failed> {
    let directory = std::env::current_dir().unwrap_or_default();
    let config = config_loader::load(&arguments.flags, &directory)
        .map_err(|error| (2, error.to_string()))?;
    if arguments.print_config {
        let printed = std::io::stdout().write_all(config.describe().as_bytes());
        return printed.map_err(|error| (1, error.to_string()));
    }
    let _flushed = logger::start(config.log_level, config.log_format);
    let runtime = runtime()?;
    // In a task: a task is woken without a system call, the future of `block_on` is not.
    let served = runtime.spawn(serve(config, arguments.stdio));
    let ended = runtime.block_on(served).unwrap_or_else(|failed| match failed.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(cancelled) => Err((1, cancelled.to_string())),
    });
    runtime.shutdown_background();
    ended
}

/// Returns the exit code. A failed check is no error of the program: the report says it.
fn run_certify(options: certify::Options) -> Result<i32, Failed> {
    let checked = runtime()?.block_on(async {
        let mut signals = StopSignals::catch();
        tokio::select! {
            // The driver is ended too.
            () = signals.next() => Err((1, "certify: stopped by a signal".to_owned())),
            checked = certify::run(options) => checked.map_err(|problem| match problem {
                certify::Problem::Usage(line) => (2, format!("certify: {line}")),
                certify::Problem::NoPlugin(line) => (3, format!("certify: {line}")),
                certify::Problem::Other(line) => (1, format!("certify: {line}")),
            }),
        }
    });
    checked.map(|is_good| if is_good { 0 } else { 1 })
}

/// A reader that closes the pipe has seen enough.
fn print(text: &[u8]) -> Result<i32, Failed> {
    match std::io::stdout().write_all(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err((1, error.to_string())),
        Ok(()) | Err(_) => Ok(0),
    }
}

/// Returns the exit code: a command prints its errors itself.
fn run_command(command: impl Future<Output = i32>) -> Result<i32, Failed> {
    Ok(runtime()?.block_on(command))
}

fn runtime() -> Result<Runtime, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| (1, format!("no runtime: {error}")))
}

async fn serve(config: Config, stdio: bool) -> Result<(), Failed> {
    let stop = CancellationToken::new();
    tokio::spawn(end_when_asked(StopSignals::catch(), stop.clone(), stdio));
    let port = config.port;
    let listener = match Loopback.bind(port).await {
        Ok(listener) => Some(listener),
        Err(_) if stdio => None, // The server stays up and tries again.
        Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(in_use(port).await),
        Err(error) => return Err((1, format!("port {port} cannot be used: {error}"))),
    };
    let token =
        if config.require_token { Some(token().map_err(|error| (2, error))?) } else { None };
    let boot = system::random_boot().map_err(|error| (1, format!("no randomness: {error}")))?;
    let core = ExecutionCoordinator::new(config.limits.clone(), boot, VERSION);
    let ignore_case = system::PATHS_IGNORE_CASE;
    let core = core.for_project(ProjectRules { own: config.project.clone(), ignore_case });
    let pid = std::process::id();
    let (network, sse_keep_alive) = (Loopback, SSE_KEEP_ALIVE);
    let started = SystemTime::now();
    let server =
        Server { config, core, boot, started, token, pid, network, sse_keep_alive, listener, stop };
    server.run(stdio.then(stdio_pipes)).await;
    Ok(())
}

fn token() -> Result<String, String> {
    let token = token::read_or_create().map_err(|error| format!("require_token: {error}"))?;
    let file = token::file().unwrap_or_default();
    info!("agents and the plugin must send the token in {}", file.display());
    Ok(token)
}

async fn in_use(port: u16) -> Failed {
    let holder = identify(&Loopback, port).await.unwrap_or(Holder::Silent).describe();
    (3, format!("port {port} is in use by {holder}; stop it or choose another with --port"))
}

/// Stops at a signal, or when the parent of a stdio server is gone. A second signal ends the process at once.
async fn end_when_asked(mut signals: StopSignals, stop: CancellationToken, stdio: bool) {
    tokio::select! {
        () = signals.next() => {}
        () = system::parent_death(), if stdio => {}
        () = system::stdout_closed(), if stdio => {}
        () = stop.cancelled() => {}
    }
    stop.cancel();
    std::thread::spawn(|| {
        std::thread::sleep(STOP_TIMEOUT);
        std::process::exit(0);
    });
    signals.next().await;
    std::process::exit(1);
}
