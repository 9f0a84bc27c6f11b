//! Unified diffs that a model wrote: read leniently (counts in hunk headers are not believed), and applied to a text where their old
//! lines stand, nearest to the line that the header names.
use std::fmt;

/// One file of a patch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FilePatch {
    /// As written, without `a/` or `b/`.
    pub(super) path: String,
    /// It is made by the patch (`--- /dev/null`).
    pub(super) creates: bool,
    /// It is gone after the patch (`+++ /dev/null`).
    pub(super) deletes: bool,
    pub(super) hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Hunk {
    /// Line that the header names, counted from 1.
    start: usize,
    /// With their line ends, as far as the patch says.
    lines: Vec<(Kind, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Keep,
    Remove,
    Add,
}

/// Why a patch does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum PatchError {
    #[error("the patch has no hunk (a line that begins with @@)")]
    NoHunk,
    #[error("the patch names no file: begin it with --- and +++ lines, or give path")]
    NoPath,
    #[error("line {line} of the patch begins with none of ' ', '+', '-', '@@': {text}")]
    Line { line: usize, text: String },
    #[error("hunk {number} does not fit: these lines were not found in {path}:\n{lines}")]
    NotFound { number: usize, path: String, lines: Lines },
}

/// The old lines of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines(String);

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end_matches('\n'))
    }
}

/// `path`: the file of hunks that stand below no header.
pub(super) fn parse(text: &str, path: Option<&str>) -> Result<Vec<FilePatch>, PatchError> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut old: Option<String> = None;
    let mut in_hunk = false;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end_matches(['\n', '\r']);
        let header = |mark: &str| bare.strip_prefix(mark).map(file_name);
        if let Some(name) = header("--- ").filter(|_| !in_hunk || next_is_header(text, n)) {
            (old, in_hunk) = (Some(name), false);
        } else if let (Some(name), Some(before)) = (header("+++ ").filter(|_| !in_hunk), old.take()) {
            let deletes = name == NOWHERE;
            let target = if deletes { before.clone() } else { name };
            let path = path.map_or_else(|| without_prefix(&target, &before), str::to_owned);
            files.push(FilePatch { path, creates: before == NOWHERE, deletes, hunks: Vec::new() });
        } else if let Some(rest) = bare.strip_prefix("@@") {
            if files.is_empty() {
                let path = path.ok_or(PatchError::NoPath)?.to_owned();
                files.push(FilePatch { path, creates: false, deletes: false, hunks: Vec::new() });
            }
            let hunk = Hunk { start: old_line(rest), lines: Vec::new() };
            if let Some(file) = files.last_mut() {
                file.hunks.push(hunk);
            }
            in_hunk = true;
        } else if in_hunk && let Some(hunk) = files.last_mut().and_then(|file| file.hunks.last_mut()) {
            let body = line.get(1..).unwrap_or_default();
            match line.chars().next() {
                Some(' ') => hunk.lines.push((Kind::Keep, ended(body))),
                Some('+') => hunk.lines.push((Kind::Add, ended(body))),
                Some('-') => hunk.lines.push((Kind::Remove, ended(body))),
                // An empty line of context whose blank was lost.
                Some('\n' | '\r') | None => hunk.lines.push((Kind::Keep, "\n".to_owned())),
                // "No newline at end of file".
                Some('\\') => {
                    if let Some((_, last)) = hunk.lines.last_mut() {
                        last.truncate(last.trim_end_matches('\n').len());
                    }
                }
                _ if is_git_header(bare) => in_hunk = false,
                _ => return Err(PatchError::Line { line: n + 1, text: bare.to_owned() }),
            }
        }
    }
    files.iter_mut().flat_map(|file| &mut file.hunks).for_each(Hunk::without_blank_end);
    files.retain(|file| !file.hunks.is_empty() || file.deletes);
    if files.is_empty() { Err(PatchError::NoHunk) } else { Ok(files) }
}

const NOWHERE: &str = "/dev/null";

/// A removed line may begin with `-- ` too; a header has another behind it.
fn next_is_header(text: &str, n: usize) -> bool {
    text.lines().nth(n + 1).is_some_and(|line| line.starts_with("+++ "))
}

fn is_git_header(line: &str) -> bool {
    ["diff ", "index ", "new file", "deleted file", "old mode", "new mode", "similarity", "rename ", "```"]
        .iter()
        .any(|mark| line.starts_with(mark))
}

/// Without the time that some programs write behind a tab.
fn file_name(text: &str) -> String {
    text.split('\t').next().unwrap_or_default().trim().to_owned()
}

fn without_prefix(name: &str, other: &str) -> String {
    let mark = |text: &str| text.starts_with("a/") || text.starts_with("b/") || text == NOWHERE;
    if mark(name) && mark(other) { name.get(2..).unwrap_or(name).to_owned() } else { name.to_owned() }
}

fn old_line(header: &str) -> usize {
    let digits: String = header.chars().skip_while(|c| *c != '-').skip(1).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(1)
}

fn ended(line: &str) -> String {
    format!("{}\n", line.trim_end_matches(['\n', '\r']))
}

impl Hunk {
    /// Blank lines at the end of a patch are no context.
    fn without_blank_end(&mut self) {
        while self.lines.len() > 1 && self.lines.last().is_some_and(|(kind, line)| *kind == Kind::Keep && line == "\n")
        {
            self.lines.pop();
        }
    }

    fn old(&self) -> Vec<&str> {
        self.lines.iter().filter(|(kind, _)| *kind != Kind::Add).map(|(_, line)| line.as_str()).collect()
    }

    /// Without `n` lines of context at each end.
    fn trimmed(&self, n: usize) -> Hunk {
        let keeps = |lines: &mut dyn Iterator<Item = &(Kind, String)>| {
            lines.take_while(|(kind, _)| *kind == Kind::Keep).count().min(n)
        };
        let head = keeps(&mut self.lines.iter());
        let tail = keeps(&mut self.lines.iter().rev()).min(self.lines.len() - head);
        Hunk { start: self.start + head, lines: self.lines[head..self.lines.len() - tail].to_vec() }
    }
}

impl FilePatch {
    /// The text after the patch. `fuzz`: lines of context at each end of a hunk that may be left out of account.
    pub(super) fn apply(&self, text: &str, fuzz: usize) -> Result<String, PatchError> {
        let crlf = text.contains("\r\n");
        let plain = if crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
        let mut lines: Vec<String> = plain.split_inclusive('\n').map(str::to_owned).collect();
        // How far the lines have moved by the hunks before; hunks stand in order.
        let (mut moved, mut from) = (0isize, 0usize);
        for (n, hunk) in self.hunks.iter().enumerate() {
            let found = (0..=fuzz).find_map(|fuzz| {
                let hunk = hunk.trimmed(fuzz);
                let at = place(&lines, &hunk.old(), hunk.start, moved, from)?;
                Some((hunk, at))
            });
            let Some((hunk, at)) = found else {
                let lines = Lines(hunk.old().concat());
                return Err(PatchError::NotFound { number: n + 1, path: self.path.clone(), lines });
            };
            let old = hunk.old().len();
            let new = hunk.new_lines(&lines[at..at + old]);
            moved += new.len() as isize - old as isize;
            from = at + new.len();
            lines.splice(at..at + old, new);
            close_lines(&mut lines);
        }
        let text = lines.concat();
        Ok(if crlf { text.replace('\n', "\r\n") } else { text })
    }
}

impl Hunk {
    /// What is kept stands as the file has it.
    fn new_lines(&self, found: &[String]) -> Vec<String> {
        let mut found = found.iter();
        self.lines
            .iter()
            .filter_map(|(kind, line)| match kind {
                Kind::Add => Some(line.clone()),
                Kind::Keep => Some(found.next().cloned().unwrap_or_else(|| line.clone())),
                Kind::Remove => {
                    found.next();
                    None
                }
            })
            .collect()
    }
}

/// Where the old lines stand, at `from` or below it and nearest to the line that was named. Without old lines: behind that line.
fn place(lines: &[String], old: &[&str], start: usize, moved: isize, from: usize) -> Option<usize> {
    let named = (start as isize - 1 + moved).max(0) as usize;
    if old.is_empty() {
        let behind = (start as isize + moved).max(0) as usize;
        return Some(behind.clamp(from.min(lines.len()), lines.len()));
    }
    let last = lines.len().checked_sub(old.len())?;
    let fits = |at: usize, same: &dyn Fn(&str, &str) -> bool| {
        lines[at..at + old.len()].iter().zip(old).all(|(line, old)| same(line, old))
    };
    let nearest = |same: &dyn Fn(&str, &str) -> bool| {
        (from..=last).filter(|at| fits(*at, same)).min_by_key(|at| at.abs_diff(named))
    };
    nearest(&|a, b| a == b)
        .or_else(|| nearest(&|a, b| a.trim_end_matches('\n') == b.trim_end_matches('\n')))
        .or_else(|| nearest(&|a, b| a.trim_end() == b.trim_end()))
}

/// Only the last line may be without its end.
fn close_lines(lines: &mut [String]) {
    let last = lines.len().saturating_sub(1);
    for line in lines.iter_mut().take(last).filter(|line| !line.ends_with('\n')) {
        line.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, patch: &str, expected: Result<&str, &str>) {
        let found =
            parse(patch, Some("f")).and_then(|files| files[0].apply(text, 3)).map_err(|error| error.to_string());
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{patch}");
    }

    #[test]
    fn hunks_find_their_place() {
        check("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", Ok("a\nB\nc\n"));
        check("a\nb\nc\n", "@@\n-b\n+B\n", Ok("a\nB\nc\n"));
        // Of two places, the one nearer to the line that is named.
        check("x\na\nx\na\n", "@@ -4 +4 @@\n-a\n+b\n", Ok("x\na\nx\nb\n"));
        check("x\na\nx\na\n", "@@ -1 +1 @@\n-a\n+b\n", Ok("x\nb\nx\na\n"));
        check("a\nb\n", "@@ -2,0 +3 @@\n+c\n", Ok("a\nb\nc\n"));
        check("", "@@ -0,0 +1 @@\n+c\n", Ok("c\n"));
        check("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", Ok("a\nc\n"));
        check("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", Ok("a\r\nc\r\n"));
        // White space at the end of a line, and context that differs at the end of a hunk.
        check("a \nb\nz\n", "@@ -1,3 +1,3 @@\n a\n-b\n+c\n q\n", Ok("a \nc\nz\n"));
        check("a\n", "@@ -1 +1 @@\n-b\n+c\n", Err("hunk 1 does not fit: these lines were not found in f:\nb"));
        check("a\n", "hello", Err("the patch has no hunk (a line that begins with @@)"));
        check("a\n", "@@ -1 +1 @@\n?\n", Err("line 2 of the patch begins with none of ' ', '+', '-', '@@': ?"));
    }

    #[test]
    fn files_of_a_patch() {
        let patch = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- q\n+r\ndiff --git a/y b/y\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+n\n--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-o\n";
        let files = parse(patch, None).unwrap();
        let told: Vec<_> = files.iter().map(|f| (f.path.as_str(), f.creates, f.deletes, f.hunks.len())).collect();
        assert_eq!(told, [("x", false, false, 1), ("y", true, false, 1), ("z", false, true, 1)]);
        assert_eq!(files[0].apply("-- q\n", 0), Ok("r\n".to_owned()));
        assert_eq!(parse("@@ -1 +1 @@\n-a\n", None), Err(PatchError::NoPath));
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer(patch in "([-+ @\\\\]{0,3}[a/b]{0,2}[\n\r]{0,1}){0,12}", text in "([ab]\r?\n){0,6}", fuzz in 0usize..4) {
            if let Ok(files) = parse(&patch, Some("f")) {
                for file in files {
                    let _ = file.apply(&text, fuzz);
                }
            }
        }
    }
}
