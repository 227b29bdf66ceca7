//! The program: connects to a server and plays the plugin, or runs the demo.

mod cli;
mod demo;
mod display;
mod prompt;
mod terminal;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use mock_unity::session::{self, End};
use mock_unity::{Command, MockEditor, script};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use cli::{Cli, Play};
use display::Display;

/// Exit code: there is no server, and `--reconnect` allows no further attempt.
const NO_SERVER: u8 = 3;

fn main() -> ExitCode {
    let _mode = terminal::SavedMode::save();
    let ended = match Cli::read() {
        Ok(cli) => run(cli),
        Err(problem) => Err((2, problem)),
    };
    display::flush();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, problem)) => {
            // If stderr is closed, the exit code remains.
            writeln!(std::io::stderr(), "mock-unity: {problem}").unwrap_or_default();
            ExitCode::from(code)
        }
    }
}

fn run(cli: Cli) -> Result<(), (u8, String)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| (1, error.to_string()))?;
    let ended = runtime.block_on(async {
        match cli {
            Cli::Play(play) => play_plugin(*play).await,
            Cli::Demo(demo) => demo::run(demo).await.map_err(|problem| (1, problem)),
        }
    });
    runtime.shutdown_background(); // A thread may still block on stdin.
    ended
}

async fn play_plugin(play: Play) -> Result<(), (u8, String)> {
    let port = play.port;
    let mut editor = MockEditor::new(play.settings);
    script::plan(&mut editor, play.script);
    if let Some(every) = play.compile_every {
        editor.plan(every, Some(every), Command::Compile(None));
    }
    if let Some(after) = play.drop_after {
        editor.plan(after, None, Command::Drop(None));
    }
    let mut display = Display::new(play.display, port, play.heartbeats);
    let (orders, received) = mpsc::channel(16);
    prompt::start(orders.clone(), play.display);
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::thread::spawn(move || prompt::quit(&orders));
        }
    });
    let tap = |at: Duration, passing: session::Passing<'_>| display.show(at, passing);
    match session::run(&mut editor, port, || dial(port), received, tap).await {
        End::Quit => Ok(()),
        End::GaveUp => {
            let problem = format!("no connection with --port {port}: {}", display.problem);
            Err((NO_SERVER, problem))
        }
    }
}

async fn dial(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
