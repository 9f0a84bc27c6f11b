//! Rollouts that are not as they were written: cut at every byte, filled with anything, on a full disk.
use std::{fs, io::Write, path::Path, process::Command};

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use protocol::{ItemId, ThreadId};

use super::{Home, add, item, told, user};
use crate::{Filter, Store};

/// A thread of two items, its file then replaced.
fn replaced(bytes: &[u8]) -> (Home, ThreadId) {
    let home = Home::new();
    let id = home.written(vec![user("a")]);
    fs::write(home.path(&id), bytes).unwrap();
    (home, id)
}

#[test]
fn cut_at_every_byte() {
    let home = Home::new();
    let id = home.written(vec![user("é1"), user("世2")]);
    let path = home.path(&id);
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at).collect();
    for length in 0..=whole.len() {
        for tail in [&b""[..], b"\0\0\0"] {
            fs::write(&path, [&whole[..length], tail].concat()).unwrap();
            let (mut session, loaded) = home.store.open(&id).unwrap();
            // A line without its line feed is whole.
            let lines = ends.iter().filter(|end| length >= **end).count();
            let expected: Vec<&str> = ["1 é1", "2 世2"][..lines.saturating_sub(1)].to_vec();
            assert_eq!(told(&loaded), expected, "{length}");
            let complete = length == 0 || ends.iter().any(|end| length == *end || length == end + 1);
            let clean = lines > 0 && complete && (tail.is_empty() || ends.contains(&length));
            assert_eq!(loaded.warnings.is_empty(), clean, "{length} {:?}", loaded.warnings);
            add(&mut session, vec![user("new")]);
            add(&mut session, vec![user("newer")]);
            drop(session);
            let again = told(&home.read(&id));
            let texts: Vec<&str> = again.iter().filter_map(|t| t.split_once(' ')).map(|(_, text)| text).collect();
            let mut expected: Vec<&str> =
                expected.iter().filter_map(|t| t.split_once(' ')).map(|(_, text)| text).collect();
            expected.extend(["new", "newer"]);
            assert_eq!(texts, expected, "{length}");
        }
    }
}

#[test]
fn words_about_damage() {
    let home = Home::new();
    let id = home.written(vec![user("a"), user("b"), user("c")]);
    let path = home.path(&id);
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let check = |text: Vec<u8>, warning: &str| {
        fs::write(&path, text).unwrap();
        assert_eq!(home.read(&id).warnings, [warning.replace("FILE", name)]);
    };
    check(text.as_bytes()[..text.len() - 9].to_vec(), "the last line of FILE was cut off and is left out");
    check([text.as_bytes(), b"\0\0\0\0"].concat(), "the last line of FILE was cut off and is left out");
    let at = lines[0].len() + 1;
    let mut bad = text.clone().into_bytes();
    bad[at + lines[1].len() - 6] = 0xff;
    check(bad.clone(), &format!("a damaged line of FILE (at byte {at}) is left out"));
    bad.extend_from_slice(b"{\"half\n");
    check(bad, &format!("2 damaged lines of FILE (the first at byte {at}) are left out"));
    check([lines[1], lines[2], ""].join("\n").into_bytes(), "the first line of FILE is damaged");
}

#[test]
fn lines_of_a_later_version_stay_and_are_passed_over() {
    let home = Home::new();
    let id = home.written(vec![user("a")]);
    let line = "{\"timestamp\":\"2026-01-02T03:03:04.005Z\",\"ordinal\":2,\"type\":\"dream\",\"payload\":{\"x\":1}}\n";
    fs::OpenOptions::new().append(true).open(home.path(&id)).unwrap().write_all(line.as_bytes()).unwrap();
    let (mut session, loaded) = home.store.open(&id).unwrap();
    assert_eq!((loaded.warnings, loaded.next), (vec![], ItemId(3)));
    add(&mut session, vec![user("b")]);
    assert!(fs::read_to_string(home.path(&id)).unwrap().contains(line));
    assert_eq!(told(&home.read(&id)), ["1 a", "3 b"]);
}

#[test]
fn a_fork_of_itself_ends() {
    let (home, id) = replaced(b"");
    let head = format!(
        "{{\"timestamp\":\"x\",\"ordinal\":3,\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"forked_from_id\":\"{id}\"}}}}\n"
    );
    fs::write(home.path(&id), head).unwrap();
    assert_eq!(home.read(&id).warnings.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (home, id) = replaced(&bytes);
        let (mut session, loaded) = home.store.open(&id).unwrap();
        prop_assert_eq!(told(&loaded), Vec::<String>::new());
        add(&mut session, vec![user("after")]);
        drop(session);
        prop_assert_eq!(told(&home.read(&id)).len(), 1);
    }

    #[test]
    fn a_few_wrong_bytes(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let home = Home::new();
        let settings = super::items::settings("m");
        let id = home.written(vec![user("a"), protocol::Body::Settings(Box::new(settings)), user("b"),
                                   protocol::Body::Reverted { to: ItemId(3) }, user("c")]);
        let mut bytes = fs::read(home.path(&id)).unwrap();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        fs::write(home.path(&id), bytes).unwrap();
        let (mut session, loaded) = home.store.open(&id).unwrap();
        prop_assert!(loaded.items.len() <= 5);
        prop_assert_eq!(session.append(&[item(loaded.next.0, user("after"))]).is_ok(), true);
        home.store.history(&id).unwrap();
        home.store.summary(&id).unwrap();
    }
}

/// A limit on file sizes stands in for a full disk: the write stops in the middle of a line.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_piece_of_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact tests::damage::child_writes_until_full --ignored --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env("SESSIONS_TEST_HOME", folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "the other process of a_full_disk_leaves_no_piece_of_a_line"]
fn child_writes_until_full() {
    let Some(folder) = std::env::var_os("SESSIONS_TEST_HOME") else { return };
    let store = crate::Store::new(Path::new(&folder));
    let mut session = store.create(super::meta("/work")).unwrap();
    add(&mut session, vec![user("fits")]);
    let path = session.path().unwrap().to_owned();
    let before = fs::read(&path).unwrap();
    let error = session.append(&[item(2, user(&"x".repeat(20_000)))]).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot write {}: File too large", path.display())), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    add(&mut session, vec![user("small")]);
    assert_eq!(told(&store.read(session.id()).unwrap()), ["1 fits", "2 small"]);
}

/// A pipe in the place of a file never ends: it is not read.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_session() {
    let home = Home::new();
    let id = home.written(vec![user("a")]);
    let path = home.path(&id);
    fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let told = format!("cannot read {}: not a regular file", path.display());
    assert_eq!(home.store.open(&id).unwrap_err().to_string(), told);
    assert_eq!(home.store.read(&id).unwrap_err().to_string(), told);
    // Other threads are found beside it.
    let other = home.written(vec![user("b")]);
    assert_eq!(home.store.latest(&Filter::default()).unwrap(), Some(other));
}

#[test]
fn each_failure_to_write_has_its_own_way_out() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("home");
    let error = Store::new(&below).create(super::meta("/work")).unwrap_err().to_string();
    let folder = below.join("thread-writer-locks");
    assert!(error.starts_with(&format!("cannot create {}", folder.display())), "{error}");
    let way = "; point INTERPRETER_HOME at a folder that can be written, or keep nothing with --ephemeral";
    assert!(error.ends_with(way), "{error}");
}
