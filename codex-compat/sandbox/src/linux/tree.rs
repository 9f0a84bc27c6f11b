//! Ending a process tree without a process namespace: all that descends from a process, and all that carries a mark
//! in its environment (which also finds what was orphaned when the helper itself was killed).
use std::{
    collections::HashMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// Environment variable that marks the processes of one command where no process namespace holds them together.
pub(super) const MARK: &str = "INTERPRETER_COMMAND";

/// Kills until nothing is left or two seconds are over. The root itself is not killed.
pub(super) fn kill(root: Option<libc::pid_t>, mark: &str) {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        let found = members(root, mark);
        for pid in &found {
            // SAFETY: no memory is involved. A number that was reused since the look is a risk of microseconds.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        if found.is_empty() || Instant::now() > end {
            return;
        }
        // A killed process needs a moment to go, and one that forked meanwhile is found by the next look.
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn members(root: Option<libc::pid_t>, mark: &str) -> Vec<libc::pid_t> {
    let parents: HashMap<libc::pid_t, libc::pid_t> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent_of_living(pid)?)))
        .collect();
    let own = std::process::id() as libc::pid_t;
    let descends = |mut pid: libc::pid_t| {
        // The table can be torn by a reused number, so the way up is bounded.
        for _ in 0..parents.len() {
            match parents.get(&pid) {
                Some(parent) if Some(*parent) == root => return true,
                Some(parent) => pid = *parent,
                None => return false,
            }
        }
        false
    };
    let marked = |pid: libc::pid_t| has_mark(&Path::new("/proc").join(pid.to_string()).join("environ"), mark);
    parents
        .keys()
        .copied()
        .filter(|pid| *pid != own && Some(*pid) != root && (descends(*pid) || marked(*pid)))
        .collect()
}

/// None for what is gone or only waits to be reaped.
fn parent_of_living(pid: libc::pid_t) -> Option<libc::pid_t> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses can hold anything, so count from its end.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}

fn has_mark(environ: &Path, mark: &str) -> bool {
    let Ok(environ) = fs::read(environ) else { return false };
    environ.split(|byte| *byte == 0).any(|entry| {
        entry
            .strip_prefix(MARK.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .is_some_and(|v| v == mark.as_bytes())
    })
}
