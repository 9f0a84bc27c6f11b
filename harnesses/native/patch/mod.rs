//! The `apply_patch` tool: a patch is parsed, every file it names is looked at, then all of it becomes one `Change`, done
//! whole or not at all. Answers are Codex 0.171.0's, with absolute paths in errors and paths as written in the summary.
mod locate;
mod parse;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use protocol::{
    Action, Change, Done, Encoding, Eol, Expect, Failure, FileKind, Millis, New, Outcome, ReadAs, Refusal, SandboxMode,
    TextForm, World,
};

use self::{
    locate::NotFound,
    parse::{FileOp, PatchError},
};
use super::{answers, paths::absolute};

/// The largest file, in bytes, that a patch may change.
const MAX_FILE: u64 = 32 << 20;

/// What a patch needs next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Do(Vec<Action>),
    /// It was tried: the report, with its exit code.
    Ran(String),
    /// It was not tried, and why.
    Rejected(String),
}

/// Whether the text is a patch as it stands, an empty one too.
pub(crate) fn reads(text: &str) -> bool {
    matches!(parse::parse(text), Ok(_) | Err(PatchError::Empty))
}

/// The program of a patch: look at each file; change all of them; if one was changed meanwhile, both once more.
pub(crate) fn step(text: &str, cwd: &Path, sandbox: SandboxMode, did: &[Done]) -> Step {
    match attempt(text, cwd, sandbox, did) {
        Ok(step) => step,
        Err(text) => Step::Rejected(text),
    }
}

fn attempt(text: &str, cwd: &Path, sandbox: SandboxMode, did: &[Done]) -> Result<Step, String> {
    let patch = parse::parse(text).map_err(|error: PatchError| error.to_string())?;
    let files: Vec<File> = patch.files.iter().map(|op| File::of(op, cwd)).collect();
    distinct(&files)?;
    let is_change = |done: &&Done| matches!(done.action, Action::World(World::Change(_)));
    let tries = did.iter().filter(is_change).count();
    let looks: &[Done] = match did.last() {
        Some(done) if is_change(&done) => match &done.outcome {
            Outcome::Refused(Refusal::Stale { .. }) if tries < 2 => &[],
            _ => return changed(done, &files, sandbox),
        },
        _ => did.rsplit(|done| is_change(&done)).next().unwrap_or(&[]),
    };
    if looks.len() < files.len() {
        return Ok(Step::Do(files.iter().skip(looks.len()).map(File::look).collect()));
    }
    let changes = files.iter().zip(looks).map(|(file, seen)| file.change(&seen.outcome)).collect::<Result<_, _>>()?;
    Ok(Step::Do(vec![Action::World(World::Change(changes))]))
}

/// A file operation with its absolute paths.
struct File<'a> {
    op: &'a FileOp<'a>,
    path: PathBuf,
    to: Option<PathBuf>,
}

impl<'a> File<'a> {
    fn of(op: &'a FileOp<'a>, cwd: &Path) -> File<'a> {
        let path = absolute(cwd, op.path());
        let to = match op {
            // Moved to its own place, a file stays (upstream deletes it).
            FileOp::Update { to: Some(to), .. } => Some(absolute(cwd, to)).filter(|to| *to != path),
            _ => None,
        };
        File { op, path, to }
    }

    fn look(&self) -> Action {
        let what = match self.op {
            FileOp::Delete { .. } => ReadAs::Stat,
            FileOp::Add { .. } | FileOp::Update { .. } => ReadAs::Text { max_bytes: MAX_FILE },
        };
        Action::World(World::Read { path: self.path.clone(), what })
    }

    /// What is to be done, given what the look showed. Err: the answer.
    fn change(&self, seen: &Outcome) -> Result<Change, String> {
        let (new, expect) = match (self.op, seen) {
            (FileOp::Add { lines, .. }, seen) => {
                let text = lines.iter().flat_map(|line| [*line, "\n"]).collect();
                // A file that is overwritten keeps its byte order mark.
                let like = match seen {
                    Outcome::Text { form, .. } if form.bom => Some(TextForm { eol: Eol::Lf, ..*form }),
                    _ => None,
                };
                (New::Whole { text, like }, Expect::Anything)
            }
            (FileOp::Delete { .. }, Outcome::Stat { kind: FileKind::Folder, .. }) => {
                return Err(self.failed(&format!("path `{}` is not a file", self.path.display())));
            }
            (FileOp::Delete { .. }, Outcome::Stat { .. } | Outcome::Text { .. }) => (New::Gone, Expect::Exists),
            (FileOp::Update { chunks, .. }, Outcome::Text { text, form, stamp }) => {
                // The original takes UTF-8 only; other encodings fail at their byte order mark.
                if !form.utf8 || form.encoding != Encoding::Utf8 {
                    let at = text.find('\u{FFFD}').unwrap_or(0);
                    return Err(self.failed(&format!("invalid utf-8 sequence of 1 bytes from index {at}")));
                }
                let splices = locate::splices(text, chunks).map_err(|missing| self.not_found(missing))?;
                (New::Splices(splices), Expect::Unchanged(stamp.clone()))
            }
            (_, Outcome::Failed(failure)) => return Err(self.failed(&failure_text(failure))),
            (_, Outcome::Refused(refusal)) => return Err(self.failed(&answers::refusal(refusal))),
            (_, _) => return Err(self.failed("it could not be read")),
        };
        Ok(Change { path: self.path.clone(), to: self.to.clone(), new, expect })
    }

    fn failed(&self, why: &str) -> String {
        let what = match self.op {
            FileOp::Update { .. } => "Failed to read file to update",
            FileOp::Add { .. } | FileOp::Delete { .. } => "Failed to read",
        };
        format!("apply_patch verification failed: {what} {}: {why}", self.path.display())
    }

    fn not_found(&self, missing: NotFound) -> String {
        let path = self.path.display();
        match missing {
            NotFound::Context(text) => {
                format!("apply_patch verification failed: Failed to find context '{text}' in {path}")
            }
            NotFound::Lines(text) => {
                format!("apply_patch verification failed: Failed to find expected lines in {path}:\n{text}")
            }
        }
    }
}

/// No path is named twice. Targets of moves count too: what would come of them depends on the order (upstream loses a file).
fn distinct(files: &[File]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for path in files.iter().flat_map(|file| std::iter::once(&file.path).chain(&file.to)) {
        if !seen.insert(path) {
            let path = path.display();
            return Err(format!("apply_patch verification failed: invalid patch: multiple operations target {path}"));
        }
    }
    Ok(())
}

fn changed(done: &Done, files: &[File], sandbox: SandboxMode) -> Result<Step, String> {
    let read_only = "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings";
    let outside = "patch rejected: writing outside of the project; rejected by user approval settings";
    match &done.outcome {
        Outcome::Failed(failure) => {
            let report = match failure {
                Failure::Io { path, .. } | Failure::NotAFile { path, .. } => {
                    format!("Failed to write file {}: {}", path.display(), failure_text(failure))
                }
                other => failure_text(other),
            };
            Ok(Step::Ran(reported(1, done.took, &report)))
        }
        Outcome::Refused(Refusal::Sandbox { read_only: true, .. }) => Err(read_only.to_owned()),
        Outcome::Refused(Refusal::NobodyToAsk { .. }) if sandbox == SandboxMode::ReadOnly => Err(read_only.to_owned()),
        Outcome::Refused(Refusal::Sandbox { .. } | Refusal::NobodyToAsk { .. }) => Err(outside.to_owned()),
        Outcome::Refused(refusal @ Refusal::Hook { .. }) => Err(answers::refusal(refusal)),
        Outcome::Refused(refusal) => Err(format!("patch rejected: {}", answers::refusal(refusal))),
        Outcome::Interrupted { .. } => Err(answers::aborted_after(done.took)),
        _ => Ok(Step::Ran(reported(0, done.took, &summary(files)))),
    }
}

/// Added, then changed, then deleted files, each group in the order of the patch.
fn summary(files: &[File]) -> String {
    let mut lines = vec!["Success. Updated the following files:".to_owned()];
    for letter in ['A', 'M', 'D'] {
        for file in files {
            let (own, path) = match file.op {
                FileOp::Add { path, .. } => ('A', path),
                FileOp::Update { path, to, .. } => ('M', to.as_ref().unwrap_or(path)),
                FileOp::Delete { path } => ('D', path),
            };
            if own == letter {
                lines.push(format!("{letter} {path}"));
            }
        }
    }
    lines.join("\n")
}

fn reported(code: i32, took: Millis, text: &str) -> String {
    let tenths = (took + 50) / 100;
    let seconds =
        if tenths.is_multiple_of(10) { format!("{}", tenths / 10) } else { format!("{}.{}", tenths / 10, tenths % 10) };
    format!("Exit code: {code}\nWall time: {seconds} seconds\nOutput:\n{text}\n")
}

fn failure_text(failure: &Failure) -> String {
    match failure {
        Failure::Io { errno, message, .. } | Failure::Spawn { errno, message } => {
            format!("{message} (os error {errno})")
        }
        Failure::NotAFile { path, .. } => format!("path `{}` is not a file", path.display()),
        Failure::TooLarge { bytes, limit, .. } => {
            format!("file has {bytes} bytes, more than the {limit} that a patch may change")
        }
        Failure::NotText { at, len: 0, .. } => format!("incomplete utf-8 byte sequence from index {at}"),
        Failure::NotText { at, len, .. } => format!("invalid utf-8 sequence of {len} bytes from index {at}"),
        Failure::NoSuchTask(_) | Failure::BadImage { .. } => "it is not a text file".to_owned(),
        Failure::Sandbox(text) | Failure::Other(text) => text.clone(),
    }
}
