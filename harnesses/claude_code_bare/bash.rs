//! The Bash tool: one command in a new shell, in a folder that is kept from call to call. Limits and texts as measured by
//! `tests/wire/claude-bare/bash-*.json`.
use std::path::{Path, PathBuf};

use protocol::{
    Action, Answer, ApprovalPolicy, Captured, Done, Escalation, Exit, Millis, Outcome, ReadAs, Run, SandboxMode, World,
};

use super::record::{self, Record};
use super::refusal::{REJECTED, Wanted, failed, refused, size};
use super::{args::Bash, shell};
use crate::{Context, Next};

/// Milliseconds.
pub(crate) const TIMEOUT: Millis = 120_000;
pub(crate) const TIMEOUT_MAX: Millis = 600_000;
/// Characters of a successful output that are shown whole; of a longer one, the beginning, with the rest in a file.
pub(crate) const SHOWN: usize = 30_000;
const PREVIEW: usize = 2_000;
/// Characters of a failed command's text, half from either end, where at least `SPARED` more would be shown.
const FAILED_SHOWN: usize = 10_000;
const SPARED: usize = 1_024;
/// Bytes held of one command's output.
const KEPT: u64 = 8 << 20;
/// Files that are looked at to learn what a command showed or changed.
const LOOKED_AT: u64 = 1 << 20;
/// Names in a note on changed files.
const NAMED: usize = 5;
const SIGTERM: i32 = 15;

pub(crate) fn next(cx: &Context, bash: &Bash, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Run(run(cx, bash, &record)))]);
    };
    if did.len() == 1 {
        let more = follow_ups(bash, &record, &first.outcome);
        if !more.is_empty() {
            return Next::Do(more);
        }
    }
    Next::Answer(answer(cx, bash, &record, did))
}

pub(crate) fn run(cx: &Context, bash: &Bash, record: &Record) -> Run {
    let timeout = bash.timeout.filter(|ms| *ms >= 1.0).map_or(TIMEOUT, |ms| (ms as Millis).min(TIMEOUT_MAX));
    // Where nobody can be asked the command runs inside the sandbox, as the original's does where leaving it is not allowed.
    let may_ask =
        cx.settings.approval != ApprovalPolicy::Never && cx.settings.sandbox.mode != SandboxMode::DangerFullAccess;
    let escalate = (bash.unsandboxed && may_ask)
        .then(|| Escalation { justification: bash.description.clone(), prefix: Vec::new() });
    Run {
        cwd: Some(record.cwd.clone()),
        timeout: Some(timeout),
        escalate,
        env: vec![("CLAUDECODE".into(), "1".into()), ("GIT_EDITOR".into(), "true".into())],
        track_cwd: true,
        keep: KEPT,
        ..Run::new(&bash.command)
    }
}

/// A long output goes into a file; files that the command showed are noted with their version; after an edit in place all files
/// that were read before are looked at.
fn follow_ups(bash: &Bash, record: &Record, outcome: &Outcome) -> Vec<Action> {
    let Outcome::Ran { output, exit, .. } = outcome else { return Vec::new() };
    if !succeeded(bash, exit) {
        return Vec::new();
    }
    let mut more = Vec::new();
    if output.text.len() > SHOWN {
        more.push(Action::World(World::Save { text: output.text.clone(), hint: "bash-output".into() }));
    }
    if *exit == Exit::Code(0) {
        let look = |path: PathBuf, what: ReadAs| Action::World(World::Read { path, what });
        let mut shown: Vec<PathBuf> = shell::viewed(&bash.command).iter().map(|(file, _)| record.path(file)).collect();
        shown.dedup();
        more.extend(shown.into_iter().map(|path| look(path, ReadAs::Text { max_bytes: LOOKED_AT })));
        if shell::edits_in_place(&bash.command) {
            more.extend(record.latest().into_iter().map(|path| look(path, ReadAs::Stat)));
        }
    }
    more
}

pub(crate) fn succeeded(bash: &Bash, exit: &Exit) -> bool {
    match exit {
        Exit::Code(0) => true,
        Exit::Code(1) => shell::one_is_an_answer(&bash.command),
        _ => false,
    }
}

pub(crate) fn answer(cx: &Context, bash: &Bash, record: &Record, did: &[Done]) -> Answer {
    let wanted = Wanted::Run(&bash.command);
    let Some(first) = did.first() else { return Answer::failed(REJECTED) };
    match &first.outcome {
        Outcome::Ran { output, exit, cwd_after, left, .. } => {
            if !succeeded(bash, exit) {
                return Answer::failed(failure(output, exit, *left));
            }
            let mut text = shown(output, did);
            let mut line = |more: String| {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&more);
            };
            let mut cwd = cwd_after.as_deref().unwrap_or(&record.cwd);
            if !record::inside(cx, cwd) {
                cwd = &cx.settings.cwd;
                line(format!("Shell cwd was reset to {}", cwd.display()));
            }
            if let Some(note) = changed_note(record, did, cwd) {
                line(note);
            }
            if *left {
                line(LEFT.to_owned());
            }
            if text.is_empty() {
                text.push_str("(Bash completed with no output)");
            }
            Answer { error: Some(false), ..Answer::plain(text) }
        }
        Outcome::Refused(refusal) => refused(wanted, refusal),
        Outcome::Failed(failure) if record::folder_is_gone(failure) && record.cwd != cx.settings.cwd => {
            Answer::failed(format!(
                "Working directory \"{}\" no longer exists, so this command was not run. Shell cwd recovered to \"{}\": re-issue the command if it still makes sense there.",
                record.cwd.display(),
                cx.settings.cwd.display()
            ))
        }
        Outcome::Failed(failure) => failed(wanted, failure),
        Outcome::Interrupted { .. } => Answer::failed(REJECTED),
        _ => Answer::failed("Exit code 1"),
    }
}

/// Ours: the original says nothing of processes that a command leaves behind, and the model waits for their end or starts them anew.
const LEFT: &str = "[A process that this command started is still running]";

pub(crate) fn failure(output: &Captured, exit: &Exit, left: bool) -> String {
    let mut text = match exit {
        Exit::TimedOut(after) => format!("Exit code 143\nCommand timed out after {}", duration(*after)),
        // The shell itself was killed. (A command of its that was: 128 + signal, by the shell.)
        Exit::Signal(SIGTERM) => "Exit code 144".to_owned(),
        Exit::Signal(_) => "Exit code 1".to_owned(),
        exit => format!("Exit code {}", exit.code().unwrap_or(1)),
    };
    let first: String = output.text.chars().take(SHOWN).collect();
    let trimmed = first.trim_end();
    if !trimmed.is_empty() {
        text.push('\n');
        text.push_str(trimmed);
    }
    if left {
        text.push('\n');
        text.push_str(LEFT);
    }
    middle_cut(&text, SPARED)
}

/// `spared`: what is beyond the limit by no more than that is shown.
pub(crate) fn middle_cut(text: &str, spared: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    let Some(cut) = all.len().checked_sub(FAILED_SHOWN).filter(|cut| *cut > spared) else { return text.to_owned() };
    let head: String = all[..FAILED_SHOWN / 2].iter().collect();
    let tail: String = all[all.len() - FAILED_SHOWN / 2..].iter().collect();
    format!("{head}\n\n... [{cut} characters truncated] ...\n\n{tail}")
}

/// `59s`, `2m 0s`.
pub(crate) fn duration(ms: Millis) -> String {
    match ms / 1000 {
        s @ 0..60 => format!("{s}s"),
        s => format!("{}m {}s", s / 60, s % 60),
    }
}

pub(crate) fn shown(output: &Captured, did: &[Done]) -> String {
    let saved = did.iter().find_map(|done| match &done.outcome {
        Outcome::Saved { path, .. } => Some(path),
        _ => None,
    });
    if output.text.len() <= SHOWN {
        return trim(&output.text).to_owned();
    }
    let first: String = output.text.chars().take(SHOWN).collect();
    let first = trim(&first);
    let preview: String = first.chars().take(PREVIEW).collect();
    // At a line end, unless that would drop half of it.
    let preview = match preview.rfind('\n') {
        _ if preview.len() == first.len() => preview,
        Some(at) if at > PREVIEW / 2 => preview[..at].to_owned() + "\n...",
        _ => preview + "\n...",
    };
    let place = match saved {
        Some(path) => format!("Full output saved to: {}", path.display()),
        None => "The full output could not be saved; run the command again with less output.".to_owned(),
    };
    format!(
        "<persisted-output>\nOutput too large ({}). {place}\n\nPreview (first 2KB):\n{preview}\n</persisted-output>",
        size(output.bytes)
    )
}

/// Goes by the time of a file, so that writing the same anew counts too.
fn changed_note(record: &Record, did: &[Done], cwd: &Path) -> Option<String> {
    let changed: Vec<String> = did
        .iter()
        .filter_map(|done| match (&done.action, &done.outcome) {
            (Action::World(World::Read { path, what: ReadAs::Stat }), Outcome::Stat { stamp, .. }) => {
                let seen = &record.seen.get(path)?.stamp;
                ((seen.mtime_ns, seen.len) != (stamp.mtime_ns, stamp.len)).then(|| relative(path, cwd))
            }
            _ => None,
        })
        .collect();
    let files = match changed.len() {
        0 => return None,
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    let mut names = changed[..changed.len().min(NAMED)].join(", ");
    if changed.len() > NAMED {
        names.push_str(&format!(" and {} more", changed.len() - NAMED));
    }
    Some(format!("[This command modified {files} you've previously read: {names}. Call Read before editing.]"))
}

fn relative(path: &Path, base: &Path) -> String {
    let mut up = PathBuf::new();
    for base in base.ancestors() {
        if let Ok(below) = path.strip_prefix(base) {
            return up.join(below).display().to_string();
        }
        up.push("..");
    }
    path.display().to_string()
}

/// Blank lines at the start and white space at the end go.
pub(crate) fn trim(text: &str) -> &str {
    let text = text.trim_end();
    let body = text.trim_start();
    let line = text[..text.len() - body.len()].rfind('\n').map_or(0, |at| at + 1);
    &text[line..]
}

pub(crate) fn chars(text: &str) -> usize {
    if text.len() <= SHOWN { text.len() } else { text.chars().count() }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn trims_as_measured() {
        assert_eq!(trim("\n\n  lead\nx  \n\n\n"), "  lead\nx");
        assert_eq!(trim(" \n\t"), "");
        assert_eq!(trim("a"), "a");
    }

    #[test]
    fn a_failed_text_is_cut_in_the_middle_only_where_it_pays() {
        assert_eq!(middle_cut(&"y".repeat(11_024), SPARED), "y".repeat(11_024));
        let cut = middle_cut(&"y".repeat(11_025), SPARED);
        assert_eq!(cut, format!("{0}\n\n... [1025 characters truncated] ...\n\n{0}", "y".repeat(5_000)));
    }

    #[test]
    fn durations_and_paths() {
        assert_eq!(
            (duration(1_500), duration(61_000), duration(120_000)),
            ("1s".into(), "1m 1s".into(), "2m 0s".into())
        );
        assert_eq!(relative(Path::new("/w/a.txt"), Path::new("/w/sub")), "../a.txt");
        assert_eq!(relative(Path::new("/w/sub/a.txt"), Path::new("/w/sub")), "a.txt");
    }
}
