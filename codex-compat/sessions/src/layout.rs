//! Where things are below the home folder, and how rollout files are named. Folders are made 0700, files 0600.
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
};

use jiff::{Timestamp, Zoned, tz::TimeZone};
use protocol::ThreadId;
use uuid::Uuid;

/// A rollout file by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rollout {
    pub(crate) id: ThreadId,
    /// `YYYY-MM-DDTHH-MM-SS`, local time.
    pub(crate) created: String,
    pub(crate) path: PathBuf,
}

impl Rollout {
    /// None where the name is not that of a rollout.
    pub(crate) fn of(path: PathBuf) -> Option<Rollout> {
        let stem = path.file_name()?.to_str()?.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
        let (created, id) = (stem.get(..19)?, stem.get(19..)?.strip_prefix('-')?);
        let digits = created.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 | 13 | 16 => byte == b'-',
            10 => byte == b'T',
            _ => byte.is_ascii_digit(),
        });
        if !digits || id.is_empty() {
            return None;
        }
        Some(Rollout { id: id.into(), created: created.to_owned(), path })
    }

    pub(crate) fn archived(&self) -> bool {
        self.path.parent().and_then(Path::file_name).is_some_and(|name| name == "archived_sessions")
    }
}

/// The folder for what belongs to a rollout and is no line: `<name without .jsonl>.blobs`.
pub(crate) fn blob_folder(rollout: &Path) -> PathBuf {
    rollout.with_extension("blobs")
}

/// Where a thread that starts now writes.
pub(crate) fn path_for(sessions: &Path, id: &ThreadId, now: &Zoned) -> PathBuf {
    let name = format!("rollout-{}-{id}.jsonl", now.strftime("%Y-%m-%dT%H-%M-%S"));
    sessions.join(now.strftime("%Y/%m/%d").to_string()).join(name)
}

/// Where the rollout of `created` (from its name) lies when it is not archived.
pub(crate) fn home_of(sessions: &Path, rollout: &Rollout) -> PathBuf {
    let day = |range: std::ops::Range<usize>| rollout.created.get(range).unwrap_or("00");
    let folder = sessions.join(day(0..4)).join(day(5..7)).join(day(8..10));
    folder.join(rollout.path.file_name().unwrap_or_default())
}

/// All rollouts below `sessions`, in no order. Folders that cannot be read count as empty.
pub(crate) fn walk(sessions: &Path) -> Vec<Rollout> {
    let mut found = Vec::new();
    for year in numbered(sessions) {
        for month in numbered(&year) {
            for day in numbered(&month) {
                found.extend(in_folder(&day));
            }
        }
    }
    found
}

pub(crate) fn in_folder(folder: &Path) -> Vec<Rollout> {
    entries(folder).into_iter().filter_map(Rollout::of).collect()
}

/// The rollout of a thread below `sessions`. The time inside a version 7 id names the day's folder, so that as a rule
/// one folder is read.
pub(crate) fn locate(sessions: &Path, id: &ThreadId) -> Option<Rollout> {
    let likely = days(id).into_iter().flat_map(|day| in_folder(&sessions.join(day))).find(|r| r.id == *id);
    likely.or_else(|| walk(sessions).into_iter().find(|r| r.id == *id))
}

/// The day in which the id was made, here and in UTC.
fn days(id: &ThreadId) -> Vec<String> {
    let Some((seconds, nanos)) = Uuid::parse_str(id.as_str()).ok().and_then(|u| u.get_timestamp()).map(|t| t.to_unix())
    else {
        return Vec::new();
    };
    let Some(time) =
        i64::try_from(seconds).ok().and_then(|s| Timestamp::new(s, i32::try_from(nanos).unwrap_or(0)).ok())
    else {
        return Vec::new();
    };
    let mut days: Vec<String> = [TimeZone::system(), TimeZone::UTC]
        .into_iter()
        .map(|zone| time.to_zoned(zone).strftime("%Y/%m/%d").to_string())
        .collect();
    days.dedup();
    days
}

fn numbered(folder: &Path) -> Vec<PathBuf> {
    let number = |p: &PathBuf| {
        p.file_name().and_then(|n| n.to_str()).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    entries(folder).into_iter().filter(number).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|dir| dir.flatten().map(|e| e.path()).collect()).unwrap_or_default()
}

pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file for reading, and nothing else: a pipe in its place would never end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}

/// The whole of a file, as [`open`] takes it.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Options for a file that only its owner may read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens a private file for appending, with its folder.
pub(crate) fn append_to(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    private().create(true).append(true).read(true).open(path)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names() {
        #[track_caller]
        fn check(name: &str, expected: Option<(&str, &str)>) {
            let got = Rollout::of(PathBuf::from("/x").join(name));
            assert_eq!(got.as_ref().map(|r| (r.created.as_str(), r.id.as_str())), expected, "{name}");
        }
        let id = "019b7c1e-0000-7000-8000-000000000000";
        check(&format!("rollout-2026-01-02T03-04-05-{id}.jsonl"), Some(("2026-01-02T03-04-05", id)));
        check("rollout-2026-01-02T03-04-05-x.jsonl", Some(("2026-01-02T03-04-05", "x")));
        check("rollout-2026-01-02T03-04-05-.jsonl", None);
        check("rollout-2026-01-02T03-04-0é-x.jsonl", None);
        check("rollout-x.jsonl", None);
        check("rollout-2026-01-02T03-04-05-x.blobs", None);
    }

    #[test]
    fn a_new_rollout_lies_in_the_folder_of_its_local_day() {
        let now: Zoned = "2026-01-02T03:04:05Z".parse::<Timestamp>().unwrap().to_zoned(TimeZone::UTC);
        let path = path_for(Path::new("/h/sessions"), &"x".into(), &now);
        assert_eq!(path, Path::new("/h/sessions/2026/01/02/rollout-2026-01-02T03-04-05-x.jsonl"));
        let rollout = Rollout::of(PathBuf::from("/h/archived_sessions").join(path.file_name().unwrap())).unwrap();
        assert!(rollout.archived());
        assert_eq!(home_of(Path::new("/h/sessions"), &rollout), path);
        assert_eq!(blob_folder(&path), Path::new("/h/sessions/2026/01/02/rollout-2026-01-02T03-04-05-x.blobs"));
    }

    #[test]
    fn the_day_of_an_id() {
        assert!(days(&"019b7c2a-84a5-7000-8000-000000000000".into()).contains(&"2026/01/02".to_owned()));
        assert_eq!(days(&"no uuid".into()), Vec::<String>::new());
        assert_eq!(days(&"8f14e45f-ceea-467f-a9b5-3a1c1b1b1b1b".into()), Vec::<String>::new());
    }
}
