//! Lines of a file from its end to its beginning, in blocks, so that the end of a large file costs what it is long.
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use memchr::memrchr;

const BLOCK: usize = 1 << 20;

/// A line without its line feed, and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct At<'a> {
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    /// It ends in a line feed; only the last line of a file can lack it.
    pub(crate) ended: bool,
}

pub(crate) struct Backward<'f> {
    file: &'f mut File,
    /// `held[..left]` are the file's bytes from `start` on that were not handed out yet.
    held: Vec<u8>,
    start: u64,
    left: usize,
    /// `held[left]`, and so the end of the next line, is a line feed.
    ended: bool,
    block: usize,
    first: bool,
}

impl<'f> Backward<'f> {
    pub(crate) fn new(file: &'f mut File) -> io::Result<Backward<'f>> {
        let start = file.metadata()?.len();
        Ok(Backward { file, held: Vec::new(), start, left: 0, ended: false, block: BLOCK, first: true })
    }

    /// The line before, None at the beginning of the file. An empty last line (the file ends in a line feed) is left out.
    pub(crate) fn next(&mut self) -> io::Result<Option<At<'_>>> {
        if self.first {
            self.first = false;
            self.more()?;
            if self.left > 0 && self.held[self.left - 1] == b'\n' {
                self.left -= 1;
                self.ended = true;
            }
        }
        if self.left == 0 && self.start == 0 && !self.ended {
            return Ok(None);
        }
        let mut searched = self.left;
        let begin = loop {
            if let Some(at) = memrchr(b'\n', &self.held[..searched]) {
                break Some(at);
            }
            if self.start == 0 {
                break None;
            }
            searched = self.more()?;
        };
        let (end, ended) = (self.left, self.ended);
        let from = begin.map_or(0, |at| at + 1);
        self.left = begin.unwrap_or(0);
        self.ended = begin.is_some();
        Ok(Some(At { offset: self.start + from as u64, bytes: &self.held[from..end], ended }))
    }

    /// Puts the block before in front of what is held; how many bytes that are.
    fn more(&mut self) -> io::Result<usize> {
        let size = usize::try_from(self.start).unwrap_or(usize::MAX).min(self.block);
        // A line of many blocks is moved once per doubling, not once per block.
        self.block = if self.left >= self.block { self.block * 2 } else { self.block };
        let mut held = std::mem::take(&mut self.held);
        let total = size + self.left;
        if held.len() < total {
            held.resize(total, 0);
        }
        held.copy_within(..self.left, size);
        self.start -= size as u64;
        self.file.seek(SeekFrom::Start(self.start))?;
        self.file.read_exact(&mut held[..size])?;
        self.held = held;
        self.left = total;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn lines(bytes: &[u8], block: usize) -> Vec<(u64, Vec<u8>, bool)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut backward = Backward::new(&mut file).unwrap();
        backward.block = block;
        let mut out = Vec::new();
        while let Some(line) = backward.next().unwrap() {
            out.push((line.offset, line.bytes.to_vec(), line.ended));
        }
        out
    }

    #[test]
    fn from_the_end() {
        assert_eq!(lines(b"", 4), vec![]);
        assert_eq!(lines(b"\n", 4), vec![(0, b"".to_vec(), true)]);
        assert_eq!(
            lines(b"one\n\nthree", 2),
            vec![(5, b"three".to_vec(), false), (4, b"".to_vec(), true), (0, b"one".to_vec(), true)]
        );
    }

    proptest! {
        #[test]
        fn the_same_lines_as_forward(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), Just(b'b')], 0..60),
                                     block in 1usize..9) {
            let mut forward: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            if forward.last().is_some_and(Vec::is_empty) {
                forward.pop();
            }
            forward.reverse();
            let got = lines(&bytes, block);
            for (offset, line, ended) in &got {
                let at = usize::try_from(*offset).unwrap();
                prop_assert_eq!(&bytes[at..at + line.len()], &line[..]);
                prop_assert_eq!(*ended, bytes.get(at + line.len()) == Some(&b'\n'));
            }
            prop_assert_eq!(got.into_iter().map(|(_, line, _)| line).collect::<Vec<_>>(), forward);
        }
    }
}
