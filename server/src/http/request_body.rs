//! Bodies of requests: each is bounded, and so is what all of them take together until they are answered.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Bytes, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::bytes::BytesMut;

use crate::http::access::Refusal;

/// Bytes of one message of an agent: more than any call needs.
pub const REQUEST_BYTES_MAX: usize = 1024 * 1024;
/// Every body may have as much; what is more is taken from the common room.
const FREE: usize = 32 * 1024;
/// Bytes of the common room.
const ROOM: usize = 4 * 1024 * 1024;

pub(crate) struct Bodies(Arc<Semaphore>);

impl Default for Bodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM)))
    }
}

/// What a large body takes of the common room, until this is dropped.
pub(crate) type Held = Option<OwnedSemaphorePermit>;

impl Bodies {
    pub(crate) async fn read(&self, mut body: Incoming) -> Result<(Bytes, Held), Refusal> {
        let mut read = BytesMut::new();
        let mut held: Held = None;
        while let Some(frame) = body.frame().await {
            let broken = |_| (StatusCode::BAD_REQUEST, "the request could not be read");
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            if read.len() + data.len() > REQUEST_BYTES_MAX {
                return Err((StatusCode::PAYLOAD_TOO_LARGE, "the request is too large"));
            }
            let more = (read.len() + data.len()).saturating_sub(FREE.max(read.len()));
            if more > 0 {
                let taken = self.take(more)?;
                match &mut held {
                    Some(held) => held.merge(taken),
                    None => held = Some(taken),
                }
            }
            read.extend_from_slice(&data);
        }
        Ok((read.freeze(), held))
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let taken = self.0.clone().try_acquire_many_owned(bytes);
        taken.map_err(|_| {
            (StatusCode::SERVICE_UNAVAILABLE, "too many large requests at once; try again")
        })
    }
}
