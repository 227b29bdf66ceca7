//! AccessRules: which requests are accepted. The head decides, before anything is processed. A web page must not
//! reach Unity.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

pub struct AccessRules {
    hosts: Vec<String>,
    /// For `/mcp` alone; every other `Origin` is refused everywhere.
    allowed_origins: Vec<String>,
    /// The token that `/mcp`, `/unity` and `/events` require, if they do.
    bearer: Option<String>,
}

/// The status and the one line a refused request is answered with.
pub type Refusal = (StatusCode, &'static str);

impl AccessRules {
    pub fn new(port: u16, allowed_origins: Vec<String>, token: Option<&str>) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 80 {
            hosts.extend(names.map(str::to_owned)); // Clients leave the default port out.
        }
        let bearer = token.map(|token| format!("Bearer {token}"));
        Self { hosts, allowed_origins, bearer }
    }

    pub fn check(&self, head: &Parts) -> Result<(), Refusal> {
        self.check_host(&head.headers)?;
        if head.uri.authority().is_some() || !head.uri.path().starts_with('/') {
            return Err((StatusCode::BAD_REQUEST, "the request target must be a path"));
        }
        self.check_origin(head)?;
        if head.uri.path() == "/unity" && from_a_browser(&head.headers) {
            return Err((StatusCode::FORBIDDEN, "requests from web pages are rejected"));
        }
        if head.method == Method::OPTIONS {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "CORS is not supported"));
        }
        self.check_token(head)
    }

    /// What a viewer of the page must keep besides: a browser says whether another site asks.
    pub(crate) fn check_viewer(&self, head: &Parts, needs_token: bool) -> Result<(), Refusal> {
        let mut sites = head.headers.get_all("sec-fetch-site").iter();
        let is_own = |site: &HeaderValue| matches!(site.as_bytes(), b"none" | b"same-origin");
        match (sites.next(), sites.next()) {
            (None, None) => {}
            (Some(site), None) if is_own(site) => {}
            _ => return Err((StatusCode::FORBIDDEN, "requests from other sites are rejected")),
        }
        match &self.bearer {
            Some(bearer) if needs_token => Self::has_token(bearer, head),
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn requires_token(&self) -> bool {
        self.bearer.is_some()
    }

    fn check_token(&self, head: &Parts) -> Result<(), Refusal> {
        let Some(bearer) = &self.bearer else { return Ok(()) };
        if !matches!(head.uri.path(), "/mcp" | "/unity") {
            return Ok(());
        }
        Self::has_token(bearer, head)
    }

    fn has_token(bearer: &str, head: &Parts) -> Result<(), Refusal> {
        let mut values = head.headers.get_all(AUTHORIZATION).iter();
        match (values.next(), values.next()) {
            (Some(shown), None) if is_same(shown.as_bytes(), bearer.as_bytes()) => Ok(()),
            _ => {
                Err((StatusCode::UNAUTHORIZED, "this server requires its token (--require-token)"))
            }
        }
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut values = headers.get_all(HOST).iter();
        let (Some(host), None) = (values.next(), values.next()) else {
            return Err((StatusCode::BAD_REQUEST, "exactly one Host header is required"));
        };
        let is = |known: &String| host.as_bytes().eq_ignore_ascii_case(known.as_bytes());
        if self.hosts.iter().any(is) {
            return Ok(());
        }
        Err((StatusCode::FORBIDDEN, "the Host header does not name this server"))
    }

    fn check_origin(&self, head: &Parts) -> Result<(), Refusal> {
        let mut values = head.headers.get_all(ORIGIN).iter();
        let Some(origin) = values.next() else { return Ok(()) };
        let is_allowed = |allowed: &String| origin.as_bytes() == allowed.as_bytes();
        let alone = values.next().is_none();
        if alone && head.uri.path() == "/mcp" && self.allowed_origins.iter().any(is_allowed) {
            return Ok(());
        }
        Err((StatusCode::FORBIDDEN, "requests from web pages are rejected (see allowed_origins)"))
    }
}

/// Takes the same time, however much of them is equal.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differences) == 0
}

fn from_a_browser(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with("sec-fetch-"))
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::{AccessRules, Parts};

    /// The status of a request for `target` with these headers, 0 if it is accepted.
    fn status(method: &str, target: &str, headers: &[(&str, &[u8])]) -> u16 {
        status_with(None, method, target, headers)
    }

    fn status_with(
        token: Option<&str>,
        method: &str,
        target: &str,
        headers: &[(&str, &[u8])],
    ) -> u16 {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let origins = vec!["http://localhost:3000".to_owned()];
        status_of(&AccessRules::new(8091, origins, token), &head)
    }

    fn status_of(rules: &AccessRules, head: &Parts) -> u16 {
        rules.check(head).err().map_or(0, |(status, _)| status.as_u16())
    }

    const HOST: (&str, &[u8]) = ("host", b"127.0.0.1:8091");

    #[test]
    fn exactly_one_host_that_names_this_server_is_needed() {
        for host in ["127.0.0.1:8091", "localhost:8091", "LOCALHOST:8091", "[::1]:8091"] {
            assert_eq!(status("POST", "/mcp", &[("host", host.as_bytes())]), 0, "{host}");
        }
        for host in [
            "127.0.0.1",
            "127.0.0.1:9",
            "evil.com",
            "evil.com:8091",
            "127.0.0.1.nip.io:8091",
            "0.0.0.0:8091",
            "evil.com@localhost:8091",
            "localhost:8091.",
            "localhost:08091",
            "",
        ] {
            assert_eq!(status("POST", "/mcp", &[("host", host.as_bytes())]), 403, "{host}");
        }
        assert_eq!(status("POST", "/mcp", &[]), 400);
        assert_eq!(status("POST", "/mcp", &[HOST, HOST]), 400);
        assert_eq!(status("POST", "/mcp", &[HOST, ("host", b"evil.com")]), 400);
    }

    #[test]
    fn clients_may_leave_out_the_port_only_if_it_is_the_default_of_http() {
        for (port, host, status) in [
            (80, "localhost", 0),
            (80, "127.0.0.1", 0),
            (80, "localhost:80", 0),
            (80, "localhost:8091", 403),
            (8091, "localhost", 403),
        ] {
            let request = Request::builder().uri("/mcp").header("host", host).body(()).unwrap();
            let rules = AccessRules::new(port, Vec::new(), None);
            assert_eq!(status_of(&rules, &request.into_parts().0), status, "{host} on {port}");
        }
    }

    #[test]
    fn an_origin_is_refused_unless_it_is_allowed_for_mcp() {
        for origin in [
            &b"http://evil.com"[..],
            b"null",
            b"",
            b"http://localhost:8091",
            b"http://127.0.0.1",
            b"http://localhost:3000/",
            b"http://localhost:30000",
            b"\xff",
        ] {
            assert_eq!(status("POST", "/mcp", &[HOST, ("origin", origin)]), 403, "{origin:?}");
        }
        let allowed: (&str, &[u8]) = ("origin", b"http://localhost:3000");
        assert_eq!(status("POST", "/mcp", &[HOST, allowed]), 0);
        assert_eq!(status("POST", "/mcp", &[HOST, allowed, allowed]), 403);
        assert_eq!(status("POST", "/mcp/", &[HOST, allowed]), 403);
        assert_eq!(status("GET", "/unity", &[HOST, allowed]), 403);
        assert_eq!(status("GET", "/healthz", &[HOST, allowed]), 403);
    }

    #[test]
    fn a_browser_does_not_reach_unity() {
        assert_eq!(status("GET", "/unity", &[HOST]), 0);
        assert_eq!(status("GET", "/unity", &[HOST, ("sec-fetch-site", b"none")]), 403);
        assert_eq!(status("GET", "/unity", &[HOST, ("Sec-Fetch-Mode", b"websocket")]), 403);
    }

    #[test]
    fn a_token_that_is_required_must_be_shown_once_and_whole() {
        let good: (&str, &[u8]) = ("authorization", b"Bearer abc123");
        let with = |target: &str, headers: &[(&str, &[u8])]| {
            status_with(Some("abc123"), "POST", target, headers)
        };
        for target in ["/mcp", "/unity"] {
            assert_eq!(with(target, &[HOST, good]), 0);
            assert_eq!(with(target, &[HOST]), 401);
            assert_eq!(with(target, &[HOST, good, good]), 401);
            for bad in [
                &b"Bearer abc12"[..],
                b"Bearer abc1234",
                b"Bearer abc124",
                b"Bearer c`c123", // Two differences that cancel each other out.
                b"bearer abc123",
                b"Bearer  abc123",
                b"abc123",
                b"Basic abc123",
                b"Bearer ",
                b"",
                b"\xff",
            ] {
                assert_eq!(with(target, &[HOST, ("authorization", bad)]), 401, "{bad:?}");
            }
        }
        assert_eq!(with("/healthz", &[HOST]), 0, "anyone may ask what this is");
        assert_eq!(with("/mcp", &[good]), 400, "a token does not replace the other rules");
        assert_eq!(with("/mcp", &[HOST, good, ("origin", b"http://evil.com")]), 403);
        assert_eq!(status("POST", "/mcp", &[HOST, good]), 0, "it is not required");
    }

    /// The status of a request of a viewer.
    fn viewer(token: Option<&str>, needs_token: bool, headers: &[(&str, &[u8])]) -> u16 {
        let mut request = Request::builder().uri("/events");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let rules = AccessRules::new(8091, Vec::new(), token);
        rules.check_viewer(&head, needs_token).err().map_or(0, |(status, _)| status.as_u16())
    }

    #[test]
    fn a_viewer_comes_from_no_other_site_and_shows_the_token_for_the_events() {
        let site = |value| [("sec-fetch-site", value)];
        assert_eq!(viewer(None, true, &[]), 0);
        assert_eq!(viewer(None, true, &site(&b"none"[..])), 0);
        assert_eq!(viewer(None, true, &site(b"same-origin")), 0);
        for other in [&b"cross-site"[..], b"same-site", b"", b"None", b"\xff"] {
            assert_eq!(viewer(None, false, &site(other)), 403, "{other:?}");
        }
        let twice: [(&str, &[u8]); 2] = [("sec-fetch-site", b"none"), ("sec-fetch-site", b"none")];
        assert_eq!(viewer(None, true, &twice), 403);
        assert_eq!(viewer(Some("abc"), false, &[]), 0, "the page itself says nothing");
        assert_eq!(viewer(Some("abc"), true, &[]), 401);
        assert_eq!(viewer(Some("abc"), true, &[("authorization", b"Bearer abd")]), 401);
        assert_eq!(viewer(Some("abc"), true, &[("authorization", b"Bearer abc")]), 0);
    }

    #[test]
    fn odd_targets_and_preflights_are_refused() {
        assert_eq!(status("POST", "http://evil.com/mcp", &[HOST]), 400);
        assert_eq!(status("POST", "http://127.0.0.1:8091/mcp", &[HOST]), 400);
        assert_eq!(status("OPTIONS", "*", &[HOST]), 400);
        assert_eq!(status("CONNECT", "127.0.0.1:8091", &[HOST]), 400);
        assert_eq!(status("OPTIONS", "/mcp", &[HOST]), 405);
    }
}
