//! Prints the live page with its hashes as JSON, for the browser tests.

#![expect(clippy::print_stdout, reason = "a program prints")]

fn main() {
    let page::LivePage { html, script_hash, style_hash } = page::live();
    println!(
        "{}",
        serde_json::json!({ "html": html, "script_hash": script_hash, "style_hash": style_hash })
    );
}
