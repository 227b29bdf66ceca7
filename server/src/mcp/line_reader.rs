//! LineReader: the lines of a byte stream, read ahead up to a limit, so that the end of the stream is noticed while
//! lines still wait.

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;
use tokio_util::bytes::BytesMut;

use crate::budget::{STDIO_AHEAD_BYTES_MAX, STDIO_READ_BYTES};

pub(crate) struct LineReader<R> {
    input: R,
    pending: BytesMut,
    /// So much of `pending` has no newline.
    scanned: usize,
    /// So much of `pending` are whole lines that `new_lines` gave.
    shown: usize,
    line_max: usize,
    /// The rest of a line that was too long is on its way.
    skipping: bool,
    ended_at: Option<Instant>,
}

pub(crate) enum Line {
    Whole(BytesMut),
    TooLong,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, line_max: usize) -> Self {
        let pending = BytesMut::new();
        Self { input, pending, scanned: 0, shown: 0, line_max, skipping: false, ended_at: None }
    }

    pub(crate) fn ended_at(&self) -> Option<Instant> {
        self.ended_at
    }

    /// Whether `take_line` would give one.
    pub(crate) fn has_line(&mut self) -> bool {
        self.scan();
        let rest = self.ended_at.is_some() && (self.skipping || !self.pending.is_empty());
        rest || self.scanned < self.pending.len()
    }

    /// The next line if it is here. A last line without its newline is a line.
    pub(crate) fn take_line(&mut self) -> Option<Line> {
        if !self.has_line() {
            return None;
        }
        let end = (self.scanned + 1).min(self.pending.len());
        let line = self.pending.split_to(end);
        self.scanned = 0;
        self.shown = self.shown.saturating_sub(line.len());
        let too_long = std::mem::take(&mut self.skipping) || line.len() > self.line_max;
        Some(if too_long { Line::TooLong } else { Line::Whole(line) })
    }

    /// The lines that are whole since this was last called, without those that are too long. They stay here to be
    /// taken.
    pub(crate) fn new_lines(&mut self) -> impl Iterator<Item = &[u8]> {
        let rest_of_too_long = usize::from(self.skipping && self.shown == 0);
        let unseen = self.pending.get(self.shown..).unwrap_or_default();
        let whole = unseen.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
        self.shown += whole;
        let lines = unseen.split_at(whole).0.split(|byte| *byte == b'\n').skip(rest_of_too_long);
        lines.filter(|line| line.len() < self.line_max)
    }

    /// Reads on. If the stream has ended or enough was read ahead, it waits for ever. May be dropped at any time.
    pub(crate) async fn read_more(&mut self) {
        let enough = self.has_line() && self.pending.len() > STDIO_AHEAD_BYTES_MAX;
        if enough || self.ended_at.is_some() {
            return std::future::pending().await;
        }
        self.pending.reserve(STDIO_READ_BYTES);
        // A stream that cannot be read is at its end.
        let read = self.input.read_buf(&mut self.pending).await;
        self.ended_at = (!read.is_ok_and(|read| read > 0)).then(Instant::now);
        self.scan();
    }

    /// Looks at what is new. A line that is too long is not kept.
    fn scan(&mut self) {
        let unseen = self.pending.iter().skip(self.scanned);
        let newline = unseen.clone().position(|byte| *byte == b'\n');
        self.scanned += newline.unwrap_or(unseen.len());
        if newline.is_none() && self.pending.len() > self.line_max {
            self.pending.clear();
            self.scanned = 0;
            self.skipping = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::{Line, LineReader};

    /// Everything a stream of these bytes gives.
    async fn lines(bytes: &[u8], line_max: usize) -> Vec<String> {
        let mut reader = LineReader::new(bytes, line_max);
        let mut lines = Vec::new();
        while reader.ended_at().is_none() {
            reader.read_more().await;
            while let Some(line) = reader.take_line() {
                lines.push(match line {
                    Line::Whole(line) => String::from_utf8_lossy(&line).into_owned(),
                    Line::TooLong => "too long".to_owned(),
                });
            }
        }
        lines
    }

    #[tokio::test]
    async fn lines_come_whole_and_each_one_that_is_too_long_is_reported_once() {
        assert_eq!(lines(b"", 9).await, [""; 0]);
        assert_eq!(lines(b"a\nbc\n\nd", 9).await, ["a\n", "bc\n", "\n", "d"]);
        assert_eq!(lines(b"1234567\n12345678\n12\n", 8).await, ["1234567\n", "too long", "12\n"]);
        assert_eq!(lines(b"12345678", 8).await, ["12345678"]);
        assert_eq!(lines(b"123456789", 8).await, ["too long"]);
        let long = [b"x".repeat(100_000), b"\nok\n".to_vec(), b"y".repeat(100_000)].concat();
        assert_eq!(lines(&long, 50_000).await, ["too long", "ok\n", "too long"]);
    }

    #[tokio::test]
    async fn whole_lines_are_shown_once_before_they_are_taken() {
        let mut reader = LineReader::new(b"a\nbc\nd".as_slice(), 9);
        let shown = |reader: &mut LineReader<&[u8]>| {
            let lines = reader.new_lines().filter(|line| !line.is_empty());
            lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect::<Vec<_>>()
        };
        reader.read_more().await;
        assert_eq!(shown(&mut reader), ["a", "bc"]);
        reader.take_line().unwrap();
        assert_eq!(shown(&mut reader), [""; 0]);
        reader.take_line().unwrap();
        reader.pending.extend_from_slice(b"\ne\n");
        assert_eq!(shown(&mut reader), ["d", "e"]);
    }

    #[tokio::test]
    async fn lines_that_are_too_long_are_not_shown() {
        let bytes = [b"x".repeat(100_000).as_slice(), b"\nok\n123456789\nok\n"].concat();
        let mut reader = LineReader::new(bytes.as_slice(), 9);
        let mut shown = Vec::new();
        while reader.ended_at().is_none() {
            reader.read_more().await;
            shown.extend(reader.new_lines().map(<[u8]>::len).filter(|length| *length > 0));
        }
        assert_eq!(shown, [2, 2]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_not_kept() {
        let bytes = b"x".repeat(1_000_000);
        let mut reader = LineReader::new(bytes.as_slice(), 50_000);
        while reader.ended_at().is_none() {
            reader.read_more().await;
            assert!(reader.pending.len() <= 50_000, "{}", reader.pending.len());
        }
    }

    #[tokio::test]
    async fn only_so_much_is_read_ahead() {
        let bytes = b"a\n".repeat(4_000_000);
        let mut reader = LineReader::new(bytes.as_slice(), 4_000_000);
        let read_all = async {
            loop {
                reader.read_more().await;
            }
        };
        let waited = tokio::time::timeout(std::time::Duration::from_millis(1), read_all).await;
        assert!(waited.is_err() && reader.ended_at().is_none());
        assert!(
            reader.pending.len() <= 2 * super::STDIO_AHEAD_BYTES_MAX,
            "{}",
            reader.pending.len()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_much_is_read_ahead_of_a_stream_that_comes_in_small_pieces() {
        let (mut agent, input) = duplex(1_000);
        let mut reader = LineReader::new(input, 4_000_000);
        let write = async { while agent.write_all(&[b'\n'; 999]).await.is_ok() {} };
        let read = async {
            loop {
                reader.read_more().await;
            }
        };
        let both = async { tokio::join!(write, read) };
        tokio::time::timeout(std::time::Duration::from_secs(60), both).await.unwrap_err();
        let ahead = reader.pending.len() - super::STDIO_AHEAD_BYTES_MAX;
        assert!((1..=1_000).contains(&ahead), "{ahead}");
    }
}
