//! The language of `apply_patch`: text to file operations. Pure, over any text. As lenient as Codex 0.171.0 was seen to be
//! (spaces around markers, CRLF, a heredoc around it all), with its error texts and its line numbers.
use thiserror::Error;

/// A patch, borrowed from its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Patch<'a> {
    pub(crate) files: Vec<FileOp<'a>>,
}

/// What is to happen with one file. Paths as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FileOp<'a> {
    Add { path: &'a str, lines: Vec<&'a str> },
    Delete { path: &'a str },
    Update { path: &'a str, to: Option<&'a str>, chunks: Vec<Chunk<'a>> },
}

impl<'a> FileOp<'a> {
    pub(crate) fn path(&self) -> &'a str {
        match self {
            FileOp::Add { path, .. } | FileOp::Delete { path } | FileOp::Update { path, .. } => path,
        }
    }
}

/// One place of change in a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Chunk<'a> {
    /// Text behind `@@`: the place is below the first line equal to it.
    pub(crate) context: Option<&'a str>,
    pub(crate) lines: Vec<Line<'a>>,
    /// Closed by `*** End of File`: the old lines are the last ones.
    pub(crate) at_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Line<'a> {
    Keep(&'a str),
    Remove(&'a str),
    Add(&'a str),
}

impl<'a> Line<'a> {
    /// The line that the file must have here.
    pub(crate) fn old(self) -> Option<&'a str> {
        match self {
            Line::Keep(text) | Line::Remove(text) => Some(text),
            Line::Add(_) => None,
        }
    }
}

/// Why a text is no patch, in Codex's words: the whole answer to the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum PatchError {
    #[error("apply_patch verification failed: invalid patch: The first line of the patch must be '*** Begin Patch'")]
    FirstLine,
    #[error("apply_patch verification failed: invalid patch: The last line of the patch must be '*** End Patch'")]
    LastLine,
    #[error("patch rejected: empty patch")]
    Empty,
    #[error("apply_patch environment selection is unavailable for this turn")]
    Environment,
    #[error("apply_patch verification failed: invalid hunk at line {line}, {why}")]
    Hunk { line: usize, why: HunkError },
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum HunkError {
    #[error(
        "'{0}' is not a valid hunk header. Valid hunk headers: '*** Add File: {{path}}', '*** Delete File: {{path}}', '*** Update File: {{path}}'"
    )]
    Header(String),
    #[error("Update file hunk for path '{0}' is empty")]
    NoChunks(String),
    #[error("Update hunk does not contain any lines")]
    NoLines,
    #[error(
        "Unexpected line found in update hunk: '{0}'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
    )]
    Line(String),
    #[error("Expected update hunk to start with a @@ context marker, got: '{0}'")]
    Marker(String),
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const HEREDOCS: [&str; 3] = ["<<EOF", "<<'EOF'", "<<\"EOF\""];

/// Reads a whole patch. Err names the first line that is wrong.
pub(crate) fn parse(text: &str) -> Result<Patch<'_>, PatchError> {
    let lines: Vec<&str> = text.trim().split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let lines = within_heredoc(&lines);
    let [first, .., last] = lines else {
        // One line at most: an empty text lacks its end first of all, as upstream has it.
        let only = lines.first().map_or("", |line| line.trim());
        return Err(if only.is_empty() || only == BEGIN { PatchError::LastLine } else { PatchError::FirstLine });
    };
    if first.trim() != BEGIN {
        return Err(PatchError::FirstLine);
    }
    if last.trim() != END {
        return Err(PatchError::LastLine);
    }
    let mut reader = Reader { lines: &lines[..lines.len() - 1], at: 1 };
    if reader.peek().is_some_and(|line| line.trim_start().starts_with("*** Environment ID:")) {
        return Err(PatchError::Environment);
    }
    let mut files = Vec::new();
    while let Some(line) = reader.next() {
        files.push(reader.file(line)?);
    }
    if files.is_empty() { Err(PatchError::Empty) } else { Ok(Patch { files }) }
}

fn within_heredoc<'a, 'b>(lines: &'b [&'a str]) -> &'b [&'a str] {
    match lines {
        [open, inner @ .., close] if HEREDOCS.contains(&open.trim()) && close.trim() == "EOF" && inner.len() >= 2 => {
            inner
        }
        _ => lines,
    }
}

enum Header<'a> {
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
}

/// A line that begins a file's part. Spaces around it do not matter.
fn header(line: &str) -> Option<Header<'_>> {
    let line = line.trim();
    if let Some(path) = line.strip_prefix("*** Add File: ") {
        Some(Header::Add(path.trim_start()))
    } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
        Some(Header::Delete(path.trim_start()))
    } else {
        line.strip_prefix("*** Update File: ").map(|path| Header::Update(path.trim_start()))
    }
}

struct Reader<'a, 'b> {
    lines: &'b [&'a str],
    /// Index of the next line; also, as lines count from 1, the number of the one just read.
    at: usize,
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.at += 1;
        Some(line)
    }

    /// An error in the line just read.
    fn wrong<T>(&self, why: HunkError) -> Result<T, PatchError> {
        Err(PatchError::Hunk { line: self.at, why })
    }

    fn file(&mut self, first: &'a str) -> Result<FileOp<'a>, PatchError> {
        match header(first) {
            Some(Header::Add(path)) => {
                let mut lines = Vec::new();
                while let Some(added) = self.peek().and_then(|line| line.strip_prefix('+')) {
                    lines.push(added);
                    self.at += 1;
                }
                Ok(FileOp::Add { path, lines })
            }
            Some(Header::Delete(path)) => Ok(FileOp::Delete { path }),
            Some(Header::Update(path)) => self.update(path),
            None => self.wrong(HunkError::Header(first.trim().to_owned())),
        }
    }

    fn update(&mut self, path: &'a str) -> Result<FileOp<'a>, PatchError> {
        let header_line = self.at;
        let to = self.peek().and_then(|line| line.trim().strip_prefix("*** Move to: "));
        if to.is_some() {
            self.at += 1;
        }
        let (mut chunks, mut first) = (Vec::new(), true);
        // A header in column one ends the part; with spaces before it, it is a context line.
        while let Some(line) = self.peek().filter(|line| !line.starts_with('*') || header(line).is_none()) {
            if line.trim_end() == END_OF_FILE {
                self.at += 1;
                continue;
            }
            let chunk = self.chunk(first)?;
            // Blank lines below the header are no place.
            if !(first && !line.starts_with('@') && chunk.lines.iter().all(|line| *line == Line::Keep(""))) {
                chunks.push(chunk);
            }
            first = false;
        }
        if first {
            return Err(PatchError::Hunk { line: header_line, why: HunkError::NoChunks(path.to_owned()) });
        }
        Ok(FileOp::Update { path, to, chunks })
    }

    fn chunk(&mut self, first: bool) -> Result<Chunk<'a>, PatchError> {
        let mut chunk = Chunk::default();
        let marker = self.peek().unwrap_or("");
        if marker.trim_end() == "@@" {
            self.at += 1;
        } else if let Some(context) = marker.strip_prefix("@@ ") {
            chunk.context = Some(context.trim_end());
            self.at += 1;
        } else if !first {
            self.at += 1;
            return self.wrong(HunkError::Marker(marker.to_owned()));
        }
        while let Some(line) = self.next() {
            let mut chars = line.chars();
            match chars.next() {
                None => chunk.lines.push(Line::Keep("")),
                Some(' ') => chunk.lines.push(Line::Keep(chars.as_str())),
                Some('-') => chunk.lines.push(Line::Remove(chars.as_str())),
                Some('+') => chunk.lines.push(Line::Add(chars.as_str())),
                Some(_) if line.trim_end() == END_OF_FILE => {
                    if chunk.lines.is_empty() {
                        return self.wrong(HunkError::NoLines);
                    }
                    chunk.at_end = true;
                    while self.peek().is_some_and(str::is_empty) {
                        self.at += 1;
                    }
                    return Ok(chunk);
                }
                Some(_) if chunk.lines.is_empty() => return self.wrong(HunkError::Line(line.to_owned())),
                Some(_) => {
                    self.at -= 1;
                    return Ok(chunk);
                }
            }
        }
        if chunk.lines.is_empty() {
            return Err(PatchError::Hunk { line: self.at + 1, why: HunkError::NoLines });
        }
        Ok(chunk)
    }
}
