//! Changes to a config.toml that leave the rest of its text alone: comments, order, line ends.
//!
//! Written beside and renamed, for the user's eyes only (0600); a link is followed to the file it names. Edits of several
//! processes take turns.
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::{
    ConfigError, TrustLevel,
    parse::{SyntaxError, parse_bytes},
    paths::create_private_dir,
};

/// Sets the value at `path`; tables on the way are made. The file is created where there is none.
pub fn set(file: &Path, path: &[&str], value: impl Into<Value>) -> Result<(), ConfigError> {
    let value = value.into();
    edit(file, |document| put(document.as_table_mut(), path, value)).map(drop)
}

/// Takes the key at `path` out, and tables that are empty without it. false: it was not there.
pub fn unset(file: &Path, path: &[&str]) -> Result<bool, ConfigError> {
    if !file.exists() {
        return Ok(false);
    }
    edit(file, |document| take(document.as_table_mut(), path))
}

/// `[projects."<root>"] trust_level = "..."`
pub fn set_trust(file: &Path, root: &Path, level: TrustLevel) -> Result<(), ConfigError> {
    set(file, &["projects", &root.to_string_lossy(), "trust_level"], level.as_str())
}

fn edit<T>(file: &Path, change: impl FnOnce(&mut DocumentMut) -> T) -> Result<T, ConfigError> {
    let unwritable = |error: io::Error| ConfigError::Unwritable { path: file.to_owned(), reason: error.to_string() };
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let dir = file.parent().map(Path::to_owned).unwrap_or_default();
    create_private_dir(&dir).map_err(unwritable)?;
    let _turn = Turn::wait(&dir);
    let old = match fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(unwritable(error)),
    };
    // Our own parser first: its errors name the place.
    parse_bytes(&old, 0).map_err(|SyntaxError { line, column, message, hint }| ConfigError::Syntax {
        path: file.clone(),
        line,
        column,
        message,
        hint,
    })?;
    let (text, result) = edited(&old, change).ok_or_else(|| ConfigError::Unwritable {
        path: file.clone(),
        reason: "the change does not fit its tables".to_owned(),
    })?;
    if text != old {
        replace(&file, &dir, &text).map_err(unwritable)?;
    }
    Ok(result)
}

/// The changed text, with the byte order mark and the line ends of the old one. None: it would no longer be TOML.
fn edited<T>(old: &[u8], change: impl FnOnce(&mut DocumentMut) -> T) -> Option<(Vec<u8>, T)> {
    const MARK: &str = "\u{feff}";
    let old = std::str::from_utf8(old).ok()?;
    let (mark, text) = old.strip_prefix(MARK).map_or(("", old), |text| (MARK, text));
    let mut document: DocumentMut = text.parse().ok()?;
    let result = change(&mut document);
    let mut new = document.to_string();
    if text.contains("\r\n") {
        new = new.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    let new = format!("{mark}{new}").into_bytes();
    parse_bytes(&new, 0).ok()?;
    Some((new, result))
}

fn put(table: &mut dyn TableLike, path: &[&str], mut value: Value) {
    let Some((key, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        match table.get_mut(key).and_then(Item::as_value_mut) {
            Some(old) => {
                // Keeps the comment behind the value.
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            None => drop(table.insert(key, Item::Value(value))),
        }
        return;
    }
    if !table.get(key).is_some_and(Item::is_table_like) {
        table.remove(key);
        let mut fresh = Table::new();
        // A table that only holds tables needs no header of its own.
        fresh.set_implicit(rest.len() > 1);
        fresh.set_dotted(table.is_dotted());
        table.insert(key, Item::Table(fresh));
    }
    if let Some(child) = table.get_mut(key).and_then(Item::as_table_like_mut) {
        put(child, rest, value);
    }
}

fn take(table: &mut dyn TableLike, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else {
        return false;
    };
    if rest.is_empty() {
        return table.remove(key).is_some();
    }
    let Some(child) = table.get_mut(key).and_then(Item::as_table_like_mut) else {
        return false;
    };
    let taken = take(child, rest);
    if taken && child.is_empty() {
        table.remove(key);
    }
    taken
}

/// Held while a file of this folder is changed. Where the system has no such lock, the last writer wins.
struct Turn(#[allow(dead_code, reason = "the lock lasts as long as the handle")] Option<fs::File>);

impl Turn {
    fn wait(dir: &Path) -> Turn {
        Turn(fs::File::open(dir).ok().filter(|handle| handle.lock().is_ok()))
    }
}

fn replace(file: &Path, dir: &Path, text: &[u8]) -> io::Result<()> {
    let beside = beside(dir);
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut handle| {
        handle.write_all(text)?;
        handle.sync_all()
    });
    written.and_then(|()| fs::rename(&beside, file)).inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// A name that no other process takes, and no other thread of this one.
fn beside(dir: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    dir.join(format!(".config.toml.{}.{count}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn after(old: &str, change: impl FnOnce(&Path)) -> String {
        let dir = tempfile::tempdir().expect("tempdir");
        let file = dir.path().join("config.toml");
        fs::write(&file, old).expect("old");
        change(&file);
        let names: Vec<_> =
            fs::read_dir(dir.path()).expect("dir").map(|entry| entry.expect("entry").file_name()).collect();
        assert_eq!(names, ["config.toml"]);
        fs::read_to_string(&file).expect("new")
    }

    #[test]
    fn trust_is_added_and_the_text_stays() {
        let check = |old: &str, expected: &str| {
            let new = after(old, |file| set_trust(file, Path::new("/w/a.b"), TrustLevel::Trusted).expect("set"));
            assert_eq!(new, expected);
        };
        let entry = "[projects.\"/w/a.b\"]\ntrust_level = \"trusted\"\n";
        check("", entry);
        check("# mine\nmodel = 'x'   # why\n", &format!("# mine\nmodel = 'x'   # why\n\n{entry}"));
        check("[tui]\ntheme = 'a'\n", &format!("[tui]\ntheme = 'a'\n\n{entry}"));
        check(
            "[projects.\"/w/a.b\"]\n# note\ntrust_level = 'untrusted' # was\n",
            "[projects.\"/w/a.b\"]\n# note\ntrust_level = \"trusted\" # was\n",
        );
        check("projects = {}\n", "projects = { \"/w/a.b\" = { trust_level = \"trusted\" } }\n");
        check("\u{feff}a = 1\r\n", "\u{feff}a = 1\r\n\r\n[projects.\"/w/a.b\"]\r\ntrust_level = \"trusted\"\r\n");
    }

    #[test]
    fn set_and_unset() {
        let check = |old: &str, path: &[&str], value: Option<&str>, expected: &str| {
            let new = after(old, |file| match value {
                Some(value) => set(file, path, value).expect("set"),
                None => assert_eq!(unset(file, path), Ok(old != expected)),
            });
            assert_eq!(new, expected);
        };
        check("a = 'x' # c\nb = 1\n", &["a"], Some("y"), "a = \"y\" # c\nb = 1\n");
        check("b = 1\n[t]\nc = 2\n", &["a"], Some("y"), "b = 1\na = \"y\"\n[t]\nc = 2\n");
        check("t.a = 1\n", &["t", "b"], Some("y"), "t.a = 1\nt.b = \"y\"\n");
        check("a = 1\n", &["a", "b"], Some("y"), "[a]\nb = \"y\"\n");
        check("s.x.c = 1\n", &["s", "y", "c"], Some("y"), "s.x.c = 1\ns.y.c = \"y\"\n");
        check("a = 1\nb = 2\n", &["a"], None, "b = 2\n");
        check("a = 1\n[t]\nb = 2\n", &["t", "b"], None, "a = 1\n");
        check("a = 1\n", &["t", "b"], None, "a = 1\n");
        check("a = 1\n", &["a", "b"], None, "a = 1\n");
    }

    #[test]
    fn a_broken_file_is_left_alone() {
        let new = after("a = \n", |file| {
            let error = set(file, &["b"], 1).expect_err("broken");
            assert!(error.to_string().contains("config.toml:1:5: "), "{error}");
        });
        assert_eq!(new, "a = \n");
    }

    #[cfg(unix)]
    #[test]
    fn mode_links_and_missing_folders() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("tempdir");
        let real = dir.path().join("dots/config.toml");
        set(&real, &["a"], 1).expect("made");
        let link = dir.path().join("config.toml");
        std::os::unix::fs::symlink(&real, &link).expect("link");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).expect("mode");
        set(&link, &["b"], true).expect("set");
        assert_eq!(fs::read_to_string(&real).expect("text"), "a = 1\nb = true\n");
        assert!(fs::symlink_metadata(&link).expect("link").is_symlink());
        assert_eq!(fs::metadata(&real).expect("real").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn edits_at_the_same_time_are_all_kept() {
        let dir = tempfile::tempdir().expect("tempdir");
        let file = dir.path().join("config.toml");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let file = &file;
                scope.spawn(move || {
                    set_trust(file, &PathBuf::from(format!("/p{thread}")), TrustLevel::Trusted).expect("set")
                });
            }
        });
        let text = fs::read_to_string(&file).expect("text");
        assert_eq!(text.matches("trust_level").count(), 8, "{text}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_edited_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60), path in "[a-c](\\.[a-c]){0,2}") {
            let path: Vec<&str> = path.split('.').collect();
            let _ = edited(&bytes, |document| put(document.as_table_mut(), &path, Value::from(1)));
        }
    }
}
