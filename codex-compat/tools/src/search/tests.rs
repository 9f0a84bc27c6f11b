use std::fs;

use pretty_assertions::assert_eq;
use protocol::{Found, Outcome, Search};

use super::*;

fn tree() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    let files = [
        (".gitignore", "target/\n*.log\n"),
        (".git/config", "fn main"),
        (".hidden.rs", "fn hidden\n"),
        ("a.log", "fn log\n"),
        ("b.txt", "one\ntwo\nthree\ntwo\nfour\n"),
        ("src/lib.rs", "fn lib() {}\nfn Main() {}\n"),
        ("src/deep/mod.rs", "// a.b\nfn deep() {\n}\n"),
        ("target/out.rs", "fn out\n"),
        ("binary.rs", "fn binary\0\n"),
    ];
    for (name, text) in files {
        let path = temp.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    temp
}

fn names(root: &Path, found: &Found) -> Vec<String> {
    found.hits.iter().map(|hit| hit.path.strip_prefix(root).unwrap().display().to_string()).collect()
}

fn search(root: &Path, pattern: &str) -> Search {
    Search { root: root.to_owned(), pattern: pattern.into(), respect_ignore: true, ..Search::default() }
}

#[test]
fn globs() {
    let temp = tree();
    let root = temp.path();
    let check = |change: &dyn Fn(&mut Search), pattern: &str, expected: &[&str], more: bool| {
        let mut search = search(root, pattern);
        change(&mut search);
        let Ok(Outcome::Paths(found)) = glob(search, &Abandoned::default()) else { panic!("{pattern}") };
        assert_eq!(
            (names(root, &found), found.more),
            (expected.iter().map(|s| (*s).to_owned()).collect(), more),
            "{pattern}"
        );
    };
    let plain = |_: &mut Search| {};
    check(&plain, "*.rs", &["binary.rs", "src/deep/mod.rs", "src/lib.rs"], false);
    check(&plain, "**/*.rs", &["binary.rs", "src/deep/mod.rs", "src/lib.rs"], false);
    check(&plain, "./*.rs", &["binary.rs"], false);
    check(&plain, "src/*.rs", &["src/lib.rs"], false);
    check(&plain, "src/**/*.{rs,txt}", &["src/deep/mod.rs", "src/lib.rs"], false);
    check(&plain, &format!("{}/src/*.rs", root.display()), &["src/lib.rs"], false);
    check(&plain, "*.RS", &[], false);
    check(&|s| s.ignore_case = true, "*.RS", &["binary.rs", "src/deep/mod.rs", "src/lib.rs"], false);
    check(&|s| s.hidden = true, "*.rs", &[".hidden.rs", "binary.rs", "src/deep/mod.rs", "src/lib.rs"], false);
    check(&|s| s.hidden = true, "**/config", &[], false);
    check(&|s| s.respect_ignore = false, "*.log", &["a.log"], false);
    check(&|s| s.globs = vec!["!src".into()], "*.rs", &["binary.rs"], false);
    check(&|s| s.globs = vec!["src/**".into(), "!deep".into()], "*.rs", &["src/lib.rs"], false);
    check(&|s| s.folders = true, "./*", &["b.txt", "binary.rs", "src"], false);
    check(&|s| s.limit = 2, "*.rs", &["binary.rs", "src/deep/mod.rs"], true);
    check(&|s| s.limit = 3, "*.rs", &["binary.rs", "src/deep/mod.rs", "src/lib.rs"], false);
}

#[test]
fn overriding_globs_are_ripgreps() {
    let temp = tree();
    let root = temp.path();
    let check = |change: &dyn Fn(&mut Search), pattern: &str, expected: &[&str]| {
        let mut search = Search { overrides: true, ..search(root, pattern) };
        change(&mut search);
        let Ok(Outcome::Paths(found)) = glob(search, &Abandoned::default()) else { panic!("{pattern}") };
        assert_eq!(names(root, &found), expected, "{pattern}");
    };
    let plain = |_: &mut Search| {};
    // Each as `rg --files -g PATTERN` (14.1.1).
    check(&plain, "*.log", &["a.log"]);
    check(&plain, "*.rs", &[".hidden.rs", "binary.rs", "src/deep/mod.rs", "src/lib.rs"]);
    check(&plain, "src/*", &["src/lib.rs"]);
    check(&plain, "src", &[]);
    check(&plain, "src/**", &["src/deep/mod.rs", "src/lib.rs"]);
    check(&plain, "/*.rs", &[".hidden.rs", "binary.rs"]);
    check(&plain, "**/config", &[]);
    // The folder itself is not named by it, and so still left out.
    check(&plain, "target/*", &[]);
    check(&plain, "!src", &["b.txt", "binary.rs"]);
    check(&|s| s.hidden = true, "**/config", &[".git/config"]);
    check(&|s| (s.hidden, s.globs) = (true, vec!["!.git".into()]), "**/config", &[]);
    check(&|s| s.globs = vec!["!lib.rs".into()], "src/**", &["src/deep/mod.rs"]);
    check(&plain, "*.LOG", &[]);
    check(&|s| s.ignore_case = true, "*.LOG", &["a.log"]);
    check(&|s| s.folders = true, "src/*", &["src/deep", "src/lib.rs"]);
    // A leading slash is the base, not the file system's root.
    check(&plain, &format!("{}/src/*.rs", root.display()), &[]);
    let below = |s: &mut Search| (s.root, s.glob_base) = (root.join("src"), Some(root.to_owned()));
    check(&below, "src/*", &["src/lib.rs"]);
    check(&below, "deep/*", &[]);
    check(&|s| s.root = root.join("src"), "deep/*", &["src/deep/mod.rs"]);
    let Err(Failure::Other(message)) = glob(Search { overrides: true, ..search(root, "a{") }, &Abandoned::default())
    else {
        panic!()
    };
    assert!(message.contains("unclosed alternate"), "{message}");
}

#[test]
fn lists() {
    let temp = tree();
    let root = temp.path();
    let check = |path: &str, depth, max, expected: &[&str], more| {
        let Ok(Outcome::Paths(found)) = list(&root.join(path), depth, max, &Abandoned::default()) else { panic!() };
        assert_eq!((names(root, &found), found.more), (expected.iter().map(|s| (*s).to_owned()).collect(), more));
    };
    check("src", 1, 0, &["src/deep", "src/lib.rs"], false);
    check("src", 2, 0, &["src/deep", "src/deep/mod.rs", "src/lib.rs"], false);
    check("", 1, 3, &[".git", ".gitignore", ".hidden.rs"], true);
    let kind = |path: &str| list(&root.join(path), 1, 0, &Abandoned::default()).unwrap_err();
    assert_eq!(kind("b.txt"), Failure::NotAFile { path: root.join("b.txt"), kind: FileKind::File });
    assert!(matches!(kind("no"), Failure::Io { errno: libc::ENOENT, .. }));
}

#[test]
fn listings_leave_out_what_is_ignored() {
    let temp = tree();
    let root = temp.path();
    let check = |path: &str, depth, max, expected: &[&str], more: bool| {
        let expected: Vec<String> = expected.iter().map(|s| (*s).to_owned()).collect();
        assert_eq!(unignored(&root.join(path), depth, max), (expected, more), "{path} {depth}");
    };
    let top = [".git/", ".gitignore", ".hidden.rs", "b.txt", "binary.rs", "src/"];
    check("", 1, 10, &top, false);
    check("", 2, 10, &[&top[..], &["src/deep/", "src/lib.rs"]].concat(), false);
    check("", 2, 3, &top[..3], true);
    check("", 1, 6, &top, false);
    check("src", 2, 10, &["deep/", "deep/mod.rs", "lib.rs"], false);
    check("no", 2, 10, &[], false);
}

#[test]
fn links_are_said() {
    let temp = tree();
    let root = temp.path().join("src");
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
    link("lib.rs", "link.rs");
    link("deep", "folder");
    link("nowhere", "dangling");
    let Ok(Outcome::Paths(found)) = list(&root, 1, 0, &Abandoned::default()) else { panic!() };
    let seen: Vec<_> =
        found.hits.iter().map(|h| (h.path.file_name().unwrap().to_str().unwrap(), h.kind, h.is_link)).collect();
    let expected = vec![
        ("dangling", FileKind::Special, true),
        ("deep", FileKind::Folder, false),
        ("folder", FileKind::Folder, true),
        ("lib.rs", FileKind::File, false),
        ("link.rs", FileKind::File, true),
    ];
    assert_eq!(seen, expected);
}

type Line<'a> = (u64, &'a str, bool);
type Lines = Vec<(String, Vec<(u64, String, bool)>)>;

fn lines(root: &Path, search: &Search) -> (Lines, bool) {
    let Ok(Outcome::Matches(found)) = grep(search, &Abandoned::default()) else { panic!("{search:?}") };
    let names = names(root, &found);
    (names.into_iter().zip(found.hits.into_iter().map(|hit| hit.lines)).collect(), found.more)
}

#[test]
fn greps() {
    let temp = tree();
    let root = temp.path();
    let check = |change: &dyn Fn(&mut Search), pattern: &str, expected: &[(&str, &[Line])], more: bool| {
        let mut search = search(root, pattern);
        change(&mut search);
        let expected: Lines = expected
            .iter()
            .map(|(name, lines)| {
                ((*name).to_owned(), lines.iter().map(|(n, t, c)| (*n, (*t).to_owned(), *c)).collect())
            })
            .collect();
        assert_eq!(lines(root, &search), (expected, more), "{pattern}");
    };
    let plain = |_: &mut Search| {};
    let deep: &[Line] = &[(2, "fn deep() {", false)];
    let lib: &[Line] = &[(1, "fn lib() {}", false), (2, "fn Main() {}", false)];
    check(&plain, "^fn ", &[("src/deep/mod.rs", deep), ("src/lib.rs", lib)], false);
    check(&plain, "main", &[], false);
    check(&|s| s.ignore_case = true, "main", &[("src/lib.rs", &lib[1..])], false);
    check(&|s| s.literal = true, "a.b", &[("src/deep/mod.rs", &[(1, "// a.b", false)])], false);
    check(&|s| s.types = vec!["rust".into()], "two|lib", &[("src/lib.rs", &lib[..1])], false);
    check(
        &|s| s.globs = vec!["*.txt".into()],
        "t",
        &[("b.txt", &[(2, "two", false), (3, "three", false), (4, "two", false)])],
        false,
    );
    check(&|s| (s.before, s.after) = (1, 1), "four", &[("b.txt", &[(4, "two", true), (5, "four", false)])], false);
    check(&|s| (s.limit, s.after) = (1, 1), "two", &[("b.txt", &[(2, "two", false), (3, "three", true)])], true);
    check(&|s| s.limit = 2, "two", &[("b.txt", &[(2, "two", false), (4, "two", false)])], false);
    let both: &[Line] = &[(2, "fn deep() {", false), (3, "}", false)];
    check(&|s| s.multiline = true, r"deep\(\) \{\n\}", &[("src/deep/mod.rs", both)], false);
    let only = |s: &mut Search| s.root = root.join("b.txt");
    let mut one = search(root, "one");
    only(&mut one);
    assert_eq!(lines(root, &one), (vec![("b.txt".to_owned(), vec![(1, "one".to_owned(), false)])], false));
}

#[test]
fn binary_files_that_match_are_told_of_where_asked_for() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    // More than is read at once before the NUL.
    let late = [b"find early\n".as_slice(), &b"y\n".repeat(60_000), b"\0\nfind late\n"].concat();
    let files: [(&str, &[u8]); 4] =
        [("early", b"find 1\nx\0y\nfind 2\n"), ("late", &late), ("no", b"\0\n"), ("text", b"find\n")];
    for (name, bytes) in files {
        fs::write(root.join(name), bytes).unwrap();
    }
    let check = |below: &str, binary: bool, expected: &[(&str, &[&str], Option<u64>)]| {
        let search = Search { binary, ..search(&root.join(below), "find") };
        let Ok(Outcome::Matches(found)) = grep(&search, &Abandoned::default()) else { panic!() };
        let hits: Vec<_> = found
            .hits
            .iter()
            .map(|hit| {
                let lines: Vec<&str> = hit.lines.iter().map(|(_, text, _)| text.as_str()).collect();
                (hit.path.file_name().unwrap().to_str().unwrap(), lines, hit.binary)
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|(name, lines, at)| (*name, lines.to_vec(), *at)).collect();
        assert_eq!(hits, expected, "{below}");
    };
    check("", false, &[("text", &["find"], None)]);
    // Each as `rg find` (14.1.1): what begins with a NUL is passed over on the way, and searched where it is named.
    check("", true, &[("late", &["find early"], Some(120_011)), ("text", &["find"], None)]);
    check("early", true, &[("early", &[], Some(8))]);
    check("late", true, &[("late", &["find early"], Some(120_011))]);
    check("early", false, &[]);
    check("no", true, &[]);
}

#[test]
fn bad_patterns_are_told_in_ripgreps_words() {
    let temp = tree();
    let Err(Failure::Other(message)) = grep(&search(temp.path(), "a("), &Abandoned::default()) else { panic!() };
    assert!(message.contains("unclosed group"), "{message}");
    let Err(Failure::Other(message)) = glob(search(temp.path(), "a{"), &Abandoned::default()) else { panic!() };
    assert!(message.contains("unclosed alternate"), "{message}");
    let bad_type = Search { types: vec!["nosuch".into()], ..search(temp.path(), "a") };
    assert_eq!(grep(&bad_type, &Abandoned::default()), Err(Failure::Other("unrecognized file type: nosuch".into())));
}
