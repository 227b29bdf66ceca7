//! What the links do to bytes, and what happens to killed programs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use unity_mcp::network::{Listener as _, Network as _};

use super::InMemoryHosts;
use crate::levels::clock;
use crate::levels::hosts::Hosts;
use crate::record::log::Log;
use crate::scenario::LinkFault;

const WAY: Duration = Duration::from_millis(5);

/// What the server receives and when, in milliseconds. A client sends "a" at 0 and "b" at 100 and closes; the link has
/// the fault from 50 to 200.
fn heard(fault: Option<LinkFault>) -> Vec<(u128, String)> {
    let mut hosts = InMemoryHosts::new(1, WAY, Log::default()).unwrap();
    let (told, mut heard) = mpsc::unbounded_channel();
    hosts.host("server", move |network| {
        let told = told.clone();
        async move {
            let mut door = network.bind(1).await.unwrap();
            let mut stream = door.accept().await.unwrap().stream;
            let mut buffer = [0; 8];
            while let Ok(count) = stream.read(&mut buffer).await {
                let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
                told.send((clock::now().as_millis(), text)).unwrap();
                if count == 0 {
                    return;
                }
            }
        }
    });
    hosts.host("client", |network| async move {
        let mut stream = network.connect(1).await.unwrap();
        stream.write_all(b"a").await.unwrap();
        tokio::time::sleep(Duration::from_millis(90)).await;
        stream.write_all(b"b").await.unwrap();
    });
    let until = |hosts: &mut InMemoryHosts, millis| {
        while hosts.elapsed() < Duration::from_millis(millis) {
            hosts.step(Duration::from_millis(millis)).unwrap();
        }
    };
    until(&mut hosts, 50);
    fault.into_iter().for_each(|fault| hosts.break_link(fault, "client", "server"));
    until(&mut hosts, 200);
    fault.into_iter().for_each(|fault| hosts.restore_link(fault, "client", "server", WAY));
    until(&mut hosts, 1_000);
    drop(hosts);
    std::iter::from_fn(|| heard.try_recv().ok()).collect()
}

#[test]
fn a_message_takes_the_time_of_its_link_and_is_lost_or_held_with_it() {
    let all = |at: u128| vec![(15, "a".to_owned()), (at, "b".to_owned()), (at, String::new())];
    assert_eq!(heard(None), all(105));
    assert_eq!(heard(Some(LinkFault::Hold)), all(200));
    assert_eq!(heard(Some(LinkFault::Latency(4 * WAY))), all(120));
    for fault in [LinkFault::Partition, LinkFault::Lose] {
        assert_eq!(heard(Some(fault)), [(15, "a".to_owned())], "half open for ever");
    }
}

#[test]
fn a_killed_program_is_cut_off_and_another_can_take_its_place() {
    let mut hosts = InMemoryHosts::new(1, WAY, Log::default()).unwrap();
    hosts.host("server", |network| async move {
        let mut door = network.bind(1).await.unwrap();
        loop {
            let mut stream = door.accept().await.unwrap().stream;
            stream.write_all(b"x").await.unwrap();
            stream.read_u8().await.unwrap_or_default();
        }
    });
    let (told, mut heard) = mpsc::unbounded_channel();
    hosts.host("client", move |network| {
        let told = told.clone();
        async move {
            for _ in 0..2 {
                let mut stream = network.connect(1).await.unwrap();
                let mut all = Vec::new();
                stream.read_to_end(&mut all).await.unwrap();
                told.send((clock::now().as_millis(), all.len())).unwrap();
            }
        }
    });
    hosts.step(Duration::from_millis(100)).unwrap();
    hosts.start("server");
    hosts.step(Duration::from_millis(200)).unwrap();
    hosts.crash("server");
    hosts.step(Duration::from_millis(300)).unwrap();
    assert_eq!([heard.try_recv().unwrap(), heard.try_recv().unwrap()], [(105, 1), (205, 1)]);
}

#[test]
fn a_panic_in_a_task_of_a_program_does_not_pass_unseen() {
    let mut hosts = InMemoryHosts::new(1, WAY, Log::default()).unwrap();
    hosts.host("server", |_| async {
        tokio::spawn(async { panic!("as asked for") });
        std::future::pending().await
    });
    let stepped = catch_unwind(AssertUnwindSafe(|| hosts.step(Duration::from_secs(1))));
    assert!(!matches!(stepped, Ok(Ok(()))));
}
