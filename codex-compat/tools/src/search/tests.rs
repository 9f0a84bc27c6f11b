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
fn bad_patterns_are_told_in_ripgreps_words() {
    let temp = tree();
    let Err(Failure::Other(message)) = grep(&search(temp.path(), "a("), &Abandoned::default()) else { panic!() };
    assert!(message.contains("unclosed group"), "{message}");
    let Err(Failure::Other(message)) = glob(search(temp.path(), "a{"), &Abandoned::default()) else { panic!() };
    assert!(message.contains("unclosed alternate"), "{message}");
    let bad_type = Search { types: vec!["nosuch".into()], ..search(temp.path(), "a") };
    assert_eq!(grep(&bad_type, &Abandoned::default()), Err(Failure::Other("unrecognized file type: nosuch".into())));
}
