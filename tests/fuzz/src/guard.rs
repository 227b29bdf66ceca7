//! The access rules of the HTTP port.

#![expect(clippy::panic, reason = "a panic is how a fuzzer reports a finding")]

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, Request, Uri};
use unity_mcp::http::access::AccessRules;

const PORT: u16 = 8_091;
const ALLOWED: &str = "http://localhost:3000";
const TOKEN: &str = "0123456789abcdef";

/// A request that is accepted follows every rule of SPEC 11. The first line is method and target, each other
/// one a header.
pub fn guard(bytes: &[u8]) {
    let Some(head) = head(bytes) else { return };
    let accepts =
        |token| AccessRules::new(PORT, vec![ALLOWED.to_owned()], token).check(&head).is_ok();
    let without_token = accepts(None);
    if accepts(Some(TOKEN)) {
        assert!(without_token, "a token opened a door");
        let shown: Vec<&[u8]> =
            head.headers.get_all(AUTHORIZATION).iter().map(HeaderValue::as_bytes).collect();
        let is_shown = shown == [format!("Bearer {TOKEN}").as_bytes()];
        assert!(
            is_shown || !matches!(head.uri.path(), "/mcp" | "/unity"),
            "{shown:?} was accepted"
        );
    }
    if !without_token {
        return;
    }
    let values = |name: &HeaderName| -> Vec<Vec<u8>> {
        head.headers
            .get_all(name)
            .iter()
            .map(|value| value.as_bytes().to_ascii_lowercase())
            .collect()
    };
    let hosts = values(&HOST);
    let [host] = hosts.as_slice() else { panic!("{} hosts were accepted", hosts.len()) };
    let names =
        ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{PORT}").into_bytes());
    assert!(names.contains(host), "{host:?} was accepted");
    let (path, target) = (head.uri.path(), head.uri.to_string());
    assert!(target.starts_with('/'), "{target} was accepted");
    let origins = values(&ORIGIN);
    let is_allowed = path == "/mcp" && origins == [ALLOWED.as_bytes()];
    assert!(origins.is_empty() || is_allowed, "{origins:?} was accepted at {path}");
    assert!(head.method != Method::OPTIONS, "a preflight was accepted");
    let is_page = head.headers.keys().any(|name| name.as_str().starts_with("sec-fetch-"));
    assert!(path != "/unity" || !is_page, "a page was accepted at {path}");
}

fn head(bytes: &[u8]) -> Option<Parts> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let mut first = lines.next()?.split(|byte| *byte == b' ');
    let method = Method::from_bytes(first.next()?).ok()?;
    let target = Uri::try_from(first.next()?).ok()?;
    let (mut head, ()) = Request::new(()).into_parts();
    let mut headers = HeaderMap::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (line.get(..colon)?, line.get(colon + 1..)?);
        let (name, value) =
            (HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(value).ok()?);
        headers.append(name, value);
    }
    (head.method, head.uri, head.headers) = (method, target, headers);
    Some(head)
}
