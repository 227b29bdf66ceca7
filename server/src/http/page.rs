//! The page for people at `/`, and the stream of events at `/events`. Both only show: no request here changes anything.

use std::convert::Infallible;
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Response, StatusCode};
use tokio_util::sync::CancellationToken;

use super::connection_limiter::OpenRequest;
use super::{Body, not_allowed, text};
use crate::live::{Live, Viewer};

pub(super) struct Page {
    live: Live,
    html: Bytes,
    policy: HeaderValue,
    keep_alive: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Path {
    Page,
    Events,
}

impl Path {
    pub(super) fn of(path: &str) -> Option<Self> {
        match path {
            "/" => Some(Self::Page),
            "/events" => Some(Self::Events),
            _ => None,
        }
    }
}

impl Page {
    pub(super) fn new(live: Live, keep_alive: Option<Duration>) -> Self {
        let page::LivePage { html, script_hash, style_hash } = page::live();
        let policy = policy(&script_hash, &style_hash);
        // A hash has no character that a header does not allow. Without it nothing may run.
        let policy = HeaderValue::try_from(policy)
            .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
        Self { live, html: html.into(), policy, keep_alive }
    }

    pub(super) fn answer(
        &self,
        path: Path,
        method: &Method,
        open: &OpenRequest,
        closing: &CancellationToken,
    ) -> Response<Body> {
        if method != Method::GET {
            return self.secure(not_allowed("GET"));
        }
        let response = match path {
            Path::Page => {
                let body = http_body_util::Full::new(self.html.clone()).boxed();
                with_type(body, "text/html; charset=utf-8")
            }
            Path::Events => self.stream(open, closing),
        };
        self.secure(response)
    }

    fn stream(&self, open: &OpenRequest, closing: &CancellationToken) -> Response<Body> {
        // A busy connection is not closed to make room, and its end is noticed at once.
        let viewer = self.live.viewer(self.keep_alive, open.dropped());
        let Some(viewer) = viewer.filter(|_| open.begin()) else {
            let line = "there are two viewers already; close one and try again";
            return text(StatusCode::SERVICE_UNAVAILABLE, line);
        };
        with_type(events(viewer, closing.clone()), "text/event-stream")
    }

    /// The headers that every answer has here.
    pub(super) fn secure(&self, mut response: Response<Body>) -> Response<Body> {
        let headers = response.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }
}

/// Until the viewer is too slow, or the server stops.
fn events(viewer: Viewer, closing: CancellationToken) -> Body {
    let portions = stream::unfold((viewer, closing), |(mut viewer, closing)| async move {
        let portion = tokio::select! {
            biased;
            () = closing.cancelled() => None,
            portion = viewer.next() => portion,
        };
        let frame = Ok::<_, Infallible>(Frame::data(portion?));
        Some((frame, (viewer, closing)))
    });
    StreamBody::new(portions).boxed()
}

fn with_type(body: Body, kind: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn policy(script_hash: &str, style_hash: &str) -> String {
    format!(
        "default-src 'none'; connect-src 'self'; script-src '{script_hash}'; \
         style-src '{style_hash}'; frame-ancestors 'none'"
    )
}
