//! Checks of the port: who has it, and whether another program has its namesake.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr};

use listeners::Protocol;
use protocol::printable;
use tokio::net::TcpListener;

use super::{Check, Facts};
use crate::VERSION;
use crate::commands::client::{Client, NoServer};
use crate::port::holder::Holder;

const NAME: &str = "port";

/// The server, if there is one to ask.
pub(super) async fn port(facts: &Facts) -> (Option<Client>, Vec<Check>) {
    let port = facts.config.port;
    let (client, check) = match Client::find(port).await {
        Ok(client) => {
            let check = ours(port, &client);
            (Some(client), check)
        }
        Err(NoServer::Nobody) => (None, free(port).await),
        Err(NoServer::NoToken(problem)) => {
            let fact = format!("the server on port {port} requires a token, and {problem}");
            (None, Check::fail(NAME, fact, "use the token file of the server, or restart it"))
        }
        Err(NoServer::Held(holder)) => (None, held(port, &holder)),
    };
    (client, [Some(check), namesake(port).await].into_iter().flatten().collect())
}

fn ours(port: u16, client: &Client) -> Check {
    let version = printable(&client.version, 40);
    let fact = format!("unity-mcp {version} serves port {port}, pid {}", client.pid);
    if version == VERSION {
        return Check::ok(NAME, fact);
    }
    Check::warn(NAME, format!("{fact}; this program is {VERSION}"), "restart the server")
}

async fn free(port: u16) -> Check {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Ok(_) => Check::warn(
            NAME,
            format!("no server runs; port {port} is free"),
            "start your agent, which starts one, or run unity-mcp",
        ),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Check::fail(NAME, format!("port {port} is in use: {error}"), OTHER_PORT)
        }
        Err(error) => Check::fail(
            NAME,
            format!("the system does not give port {port} to this user: {error}"),
            OTHER_PORT,
        ),
    }
}

const OTHER_PORT: &str =
    "stop that program, or set another \"unity_ws_port\" in unity-mcp.server.json of the project";

fn held(port: u16, holder: &Holder) -> Check {
    let who = holder.describe();
    let process = listeners::get_process_by_port(port, Protocol::TCP).ok();
    let named =
        process.map(|process| format!(": {}, pid {}", printable(&process.name, 80), process.pid));
    let fact = format!("port {port} is held by {who}{}", named.unwrap_or_default());
    Check::fail(NAME, fact, OTHER_PORT)
}

/// A client that connects to `localhost` may try IPv6 first and reach another program.
async fn namesake(port: u16) -> Option<Check> {
    let taken = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await;
    taken.is_err_and(|error| error.kind() == ErrorKind::AddrInUse).then(|| {
        Check::warn(
            "ipv6",
            format!("another program holds [::1]:{port}"),
            format!("write 127.0.0.1:{port} instead of localhost:{port} in clients"),
        )
    })
}
