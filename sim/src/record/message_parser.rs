//! MessageParser: finds the messages in one direction of a connection.

use protocol::Json;

use crate::record::log::WireMessage;

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Lines,
    HttpHead,
    /// A body of so many bytes.
    HttpBody(usize),
    HttpChunks,
    WebSocket,
}

#[derive(Debug)]
pub(crate) struct MessageParser {
    mode: Mode,
    bytes: Vec<u8>,
    /// The part of the chunks that is not a complete event yet.
    chunked: Vec<u8>,
    /// Each event is a message; otherwise all chunks together are one.
    is_event_stream: bool,
    /// Only frames that checks read.
    is_brief: bool,
}

impl MessageParser {
    pub(crate) fn lines() -> Self {
        let (bytes, chunked) = (Vec::new(), Vec::new());
        Self { mode: Mode::Lines, bytes, chunked, is_event_stream: false, is_brief: false }
    }

    pub(crate) fn http() -> Self {
        Self { mode: Mode::HttpHead, ..Self::lines() }
    }

    pub(crate) fn brief(self, is_brief: bool) -> Self {
        Self { is_brief, ..self }
    }

    /// The messages that are complete with these bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<WireMessage> {
        self.bytes.extend_from_slice(bytes);
        let mut messages = Vec::new();
        while let Some(found) = self.next() {
            messages.extend(found);
        }
        messages
    }

    /// The messages of the next unit; `None` if it is not complete.
    fn next(&mut self) -> Option<Vec<WireMessage>> {
        match self.mode {
            Mode::Lines => {
                let line = take_through(&mut self.bytes, b"\n")?;
                Some(vec![json_or_text(&line)])
            }
            Mode::HttpHead => {
                let head = take_through(&mut self.bytes, b"\r\n\r\n")?;
                Some(self.head(&String::from_utf8_lossy(&head).to_ascii_lowercase()))
            }
            Mode::HttpBody(length) => {
                let body = take(&mut self.bytes, length)?;
                self.mode = Mode::HttpHead;
                Some(json(&body).into_iter().collect())
            }
            Mode::HttpChunks => self.chunk(),
            Mode::WebSocket => websocket_frame(&mut self.bytes, self.is_brief),
        }
    }

    fn head(&mut self, head: &str) -> Vec<WireMessage> {
        let field = |name: &str| {
            head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let status: Option<u16> = head
            .strip_prefix("http/1.1 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse().ok());
        let length = field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let upgraded = match status {
            Some(status) => status == 101,
            None => field("upgrade") == Some("websocket"),
        };
        self.mode = if upgraded {
            Mode::WebSocket
        } else if field("transfer-encoding") == Some("chunked") {
            Mode::HttpChunks
        } else if length > 0 {
            Mode::HttpBody(length)
        } else {
            Mode::HttpHead
        };
        self.is_event_stream =
            field("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let unusual = status.filter(|status| ![101, 200, 202].contains(status));
        let got =
            head.strip_prefix("get ").filter(|_| !upgraded).and_then(|rest| rest.split(' ').next());
        let got = got.map(|path| WireMessage::Get(path.to_owned()));
        unusual.map(WireMessage::Status).into_iter().chain(got).collect()
    }

    fn chunk(&mut self) -> Option<Vec<WireMessage>> {
        let line = find(&self.bytes, b"\r\n")?;
        let length = self.bytes.get(..line).map(String::from_utf8_lossy)?;
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        let whole = take(&mut self.bytes, line + 2 + length + 2)?;
        self.chunked.extend_from_slice(whole.get(line + 2..line + 2 + length)?);
        let mut messages = Vec::new();
        while self.is_event_stream
            && let Some(line) = take_through(&mut self.chunked, b"\n")
        {
            messages.extend(line.strip_prefix(b"data:").and_then(json));
        }
        if length == 0 {
            self.mode = Mode::HttpHead;
            messages.extend(json(&std::mem::take(&mut self.chunked)));
        }
        Some(messages)
    }
}

/// One frame. Neither program splits a message into several frames.
fn websocket_frame(bytes: &mut Vec<u8>, is_brief: bool) -> Option<Vec<WireMessage>> {
    let (&first, &second) = (bytes.first()?, bytes.get(1)?);
    let (length, start) = match second & 0x7f {
        126 => (bytes.get(2..4)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), 4),
        127 => (bytes.get(2..10)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), 10),
        short => (usize::from(short), 2),
    };
    let masked = second & 0x80 != 0;
    let start = if masked { start + 4 } else { start };
    let frame = take(bytes, start + length)?;
    let mask: Vec<u8> = if masked { frame.get(start - 4..start)?.to_vec() } else { vec![0] };
    let payload = frame.get(start..)?;
    let payload: Vec<u8> =
        payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    Some(match first & 0x0f {
        1 if is_brief && !is_checked(&payload) => Vec::new(),
        1 => vec![json_or_text(&payload)],
        2 => vec![WireMessage::Binary(payload.len())],
        8 => {
            let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
            let reason = payload.get(2..).unwrap_or_default();
            vec![WireMessage::Close { code, reason: String::from_utf8_lossy(reason).into_owned() }]
        }
        _ => Vec::new(), // Pings of the WebSocket itself, which neither program uses.
    })
}

/// How frames begin that no check reads: heartbeats, lists of tools and floods. A plugin that writes its JSON in
/// another way makes a run slower, but hides nothing.
const UNCHECKED: [&[u8]; 4] = [
    b"{\"type\":\"ping\"",
    b"{\"type\":\"pong\"",
    b"{\"type\":\"capability\"",
    b"{\"type\":\"shrug\"",
];

/// Whether a check reads this frame.
pub(crate) fn is_checked(frame: &[u8]) -> bool {
    let names_no_request = || find(frame, b"\"request_id\"").is_none();
    let is_complaint = frame.starts_with(b"{\"type\":\"error\"") && names_no_request();
    !is_complaint && !UNCHECKED.iter().any(|beginning| frame.starts_with(beginning))
}

fn json(bytes: &[u8]) -> Option<WireMessage> {
    serde_json::from_slice::<Json>(bytes).ok().map(WireMessage::Json)
}

fn json_or_text(bytes: &[u8]) -> WireMessage {
    json(bytes).unwrap_or_else(|| WireMessage::Text(String::from_utf8_lossy(bytes).into_owned()))
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

fn take(bytes: &mut Vec<u8>, count: usize) -> Option<Vec<u8>> {
    (bytes.len() >= count).then(|| bytes.drain(..count).collect())
}

fn take_through(bytes: &mut Vec<u8>, mark: &[u8]) -> Option<Vec<u8>> {
    let end = find(bytes, mark)? + mark.len();
    take(bytes, end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::MessageParser;
    use crate::record::log::WireMessage;

    fn fed_byte_by_byte(mut parser: MessageParser, bytes: &[u8]) -> Vec<WireMessage> {
        bytes.iter().flat_map(|byte| parser.feed(&[*byte])).collect()
    }

    #[test]
    fn messages_are_found_however_the_bytes_are_cut() {
        let posted = b"GET /healthz HTTP/1.1\r\n\r\nPOST /mcp HTTP/1.1\r\nContent-Length: 7\r\n\r\n{\"a\":1}POST /mcp HTTP/1.1\r\ncontent-length: 2\r\n\r\n[]";
        let got = WireMessage::Get("/healthz".to_owned());
        let expected = [got, WireMessage::Json(json!({ "a": 1 })), WireMessage::Json(json!([]))];
        assert_eq!(fed_byte_by_byte(MessageParser::http(), posted), expected);
        assert_eq!(MessageParser::http().feed(posted), expected);
        let streamed = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: {}\n\r\nd\r\n:comment\n\ndat\r\n6\r\na: 12\n\r\n0\r\n\r\nHTTP/1.1 403 Forbidden\r\n\r\n";
        let expected =
            [WireMessage::Json(json!({})), WireMessage::Json(json!(12)), WireMessage::Status(403)];
        assert_eq!(fed_byte_by_byte(MessageParser::http(), streamed), expected);
        assert_eq!(
            fed_byte_by_byte(MessageParser::lines(), b"1\n[2]\n3"),
            [WireMessage::Json(json!(1)), WireMessage::Json(json!([2]))]
        );
    }

    #[test]
    fn frames_are_unmasked_and_closes_have_their_code() {
        let upgrade = b"GET /unity HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
        let masked = [0x81, 0x82, 1, 2, 3, 4, b'{' ^ 1, b'}' ^ 2];
        let closed = [0x88, 5, 0x03, 0xe9, b'b', b'y', b'e'];
        let long = [&[0x81, 126, 0, 130][..], &[b'x'; 130]].concat();
        let bytes = [&upgrade[..], &masked, &long, &[0x82, 1, 0], &closed].concat();
        let expected = [
            WireMessage::Json(json!({})),
            WireMessage::Text("x".repeat(130)),
            WireMessage::Binary(1),
            WireMessage::Close { code: Some(1001), reason: "bye".to_owned() },
        ];
        assert_eq!(fed_byte_by_byte(MessageParser::http(), &bytes), expected);
    }
}
