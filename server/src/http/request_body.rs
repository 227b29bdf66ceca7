//! Reads the body of a request within its limits.

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Bytes, Incoming};
use tokio_util::bytes::BytesMut;

use super::access::Refusal;
use crate::budget::REQUEST_BYTES_MAX;
use crate::request_room::{Held, RequestRoom};

pub(super) async fn read(mut body: Incoming, room: &RequestRoom) -> Result<(Bytes, Held), Refusal> {
    let mut read = BytesMut::new();
    let mut held = Held::default();
    while let Some(frame) = body.frame().await {
        let broken = |_| (StatusCode::BAD_REQUEST, "the request could not be read");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let bytes = read.len() + data.len();
        if bytes > REQUEST_BYTES_MAX {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"));
        }
        if !room.grow(&mut held, bytes) {
            let line = "too many large requests at once; try again";
            return Err((StatusCode::SERVICE_UNAVAILABLE, line));
        }
        read.extend_from_slice(&data);
    }
    Ok((read.freeze(), held))
}
