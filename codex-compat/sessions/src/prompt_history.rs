//! What the user typed (`history.jsonl`): lines of `{"session_id","ts","text"}`, as the TUI's history has them in Codex.
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use protocol::ThreadId;
use serde::{Deserialize, Serialize};

use crate::{Error, layout, lock::same_file};

/// `[history]` of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// `persistence`: `save-all`, or `none`.
    pub save: bool,
    /// Bytes. When the file has grown beyond it, the oldest lines go until a fifth is free.
    pub max_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typed {
    pub session_id: ThreadId,
    /// Seconds since the epoch.
    pub ts: u64,
    pub text: String,
}

pub fn append(home: &Path, typed: &Typed, keep: Keep) -> Result<(), Error> {
    if !keep.save {
        return Ok(());
    }
    let path = home.join("history.jsonl");
    let mut line = serde_json::to_vec(typed).unwrap_or_default();
    line.push(b'\n');
    write(&path, &line, keep.max_bytes).map_err(Error::change(&path))
}

/// All that is kept, oldest first. Lines that cannot be read are passed over.
pub fn read(home: &Path) -> Result<Vec<Typed>, Error> {
    let path = home.join("history.jsonl");
    match layout::read(&path) {
        Ok(bytes) => Ok(bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        // Led to `/dev/null` by who wants no history.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(Vec::new()),
        Err(source) => Err(Error::Read { path, source }),
    }
}

fn write(path: &Path, line: &[u8], max: Option<u64>) -> io::Result<()> {
    let mut file = open(path)?;
    let len = file.metadata()?.len() + line.len() as u64;
    match max {
        Some(max) if len > max => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            bytes.extend_from_slice(line);
            let room = usize::try_from(max - max / 5).unwrap_or(usize::MAX).max(line.len());
            let from = bytes.len().saturating_sub(room);
            // Whole lines only: from the first that begins in the part that may stay.
            let start = if from == 0 || bytes[from - 1] == b'\n' {
                from
            } else {
                memchr::memchr(b'\n', &bytes[from..]).map_or(from, |at| from + at + 1)
            };
            let new = path.with_extension("jsonl.new");
            let mut out = layout::private().create(true).write(true).truncate(true).open(&new)?;
            out.write_all(&bytes[start..])?;
            fs::rename(&new, path)
        }
        _ => file.write_all(line),
    }
}

/// Locked; other programs of the user append here too.
fn open(path: &Path) -> io::Result<File> {
    loop {
        let file = layout::append_to(path)?;
        file.lock()?;
        // Another may have put a shorter file in its place meanwhile.
        if same_file(&file, path) {
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn typed(text: &str) -> Typed {
        Typed { session_id: "t".into(), ts: 5, text: text.into() }
    }

    #[test]
    fn lines() {
        let home = tempfile::tempdir().unwrap();
        let keep = Keep { save: true, max_bytes: None };
        assert_eq!(read(home.path()).unwrap(), vec![]);
        append(home.path(), &typed("secret"), Keep { save: false, ..keep }).unwrap();
        assert!(!home.path().join("history.jsonl").exists());
        append(home.path(), &typed("a\nb"), keep).unwrap();
        append(home.path(), &typed("c"), keep).unwrap();
        let text = fs::read_to_string(home.path().join("history.jsonl")).unwrap();
        assert_eq!(text.lines().next(), Some(r#"{"session_id":"t","ts":5,"text":"a\nb"}"#));
        fs::write(home.path().join("history.jsonl"), format!("{text}torn\n")).unwrap();
        assert_eq!(read(home.path()).unwrap(), vec![typed("a\nb"), typed("c")]);
    }

    #[test]
    fn the_oldest_lines_go() {
        let home = tempfile::tempdir().unwrap();
        let keep = Keep { save: true, max_bytes: Some(200) };
        for at in 0..30 {
            append(home.path(), &typed(&format!("n{at}")), keep).unwrap();
            let len = fs::metadata(home.path().join("history.jsonl")).unwrap().len();
            assert!(len <= 200, "{len}");
            assert_eq!(read(home.path()).unwrap().last(), Some(&typed(&format!("n{at}"))));
        }
        assert!(read(home.path()).unwrap().len() >= 3);
        // One that is larger than all there may be stays alone.
        let long = typed(&"x".repeat(400));
        append(home.path(), &long, keep).unwrap();
        assert_eq!(read(home.path()).unwrap(), vec![long]);
    }

    #[test]
    fn many_writers() {
        let home = tempfile::tempdir().unwrap();
        let keep = Keep { save: true, max_bytes: Some(4_000) };
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let home = home.path();
                scope.spawn(move || {
                    for at in 0..40 {
                        append(home, &typed(&format!("{writer} {at}")), keep).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(home.path().join("history.jsonl")).unwrap();
        assert_eq!(text.lines().count(), read(home.path()).unwrap().len());
    }
}
