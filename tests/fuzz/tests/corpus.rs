//! What fuzzing has found worth keeping is tried at every run of the tests.

use std::io;
use std::path::Path;

fn replay(name: &str, target: fn(&[u8])) -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut count = 0;
    for entry in std::fs::read_dir(&corpus)? {
        target(&std::fs::read(entry?.path())?);
        count += 1;
    }
    assert!(count >= 10, "the corpus of {name} has {count} inputs");
    Ok(())
}

#[test]
fn the_codec_stands_its_corpus() -> io::Result<()> {
    replay("codec", fuzz::codec)
}

#[cfg(feature = "guard")]
#[test]
fn the_guard_stands_its_corpus() -> io::Result<()> {
    replay("guard", fuzz::guard)
}

#[test]
fn the_core_stands_its_corpus() -> io::Result<()> {
    replay("events", fuzz::events)
}
