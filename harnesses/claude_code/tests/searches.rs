//! Glob and Grep, as recorded.
use pretty_assertions::assert_eq;

use super::*;

fn paths(hits: Vec<Hit>) -> Outcome {
    Outcome::Paths(Found { hits, more: false })
}

fn matches(hits: Vec<Hit>) -> Outcome {
    Outcome::Matches(Found { hits, more: false })
}

fn check(stage: &mut Stage, name: &str, args: Value, outcome: Outcome, expected: &str) {
    stage.others = vec![outcome];
    assert_eq!(stage.call(name, &args.to_string()), Answer::plain(expected), "{name} {args}");
}

fn files() -> Vec<(&'static str, &'static str)> {
    vec![("a.txt", A), ("sub/b.py", "")]
}

#[test]
fn globs() {
    let mut newest = claude(&files());
    let two = || paths(vec![hit("/w/sub/deep/c.py", 2, &[]), hit("/w/sub/b.py", 1, &[])]);
    check(&mut newest, "Glob", json!({"pattern": "**/*.py"}), two(), "sub/b.py\nsub/deep/c.py");
    check(&mut newest, "Glob", json!({"pattern": "*.zzz"}), paths(vec![]), "No files found");
    let many = || paths((0..300).map(|n| hit(&format!("/w/many/f{n:03}.dat"), 1, &[])).collect());
    let shown: Vec<String> = (0..100).map(|n| format!("many/f{n:03}.dat")).collect();
    let rest =
        "(Showing 100 of 300 matching files; 200 more are not listed. Narrow the pattern or path to see the rest.)";
    check(&mut newest, "Glob", json!({"pattern": "many/*.dat"}), many(), &format!("{}\n{rest}", shown.join("\n")));
    for (path, expected) in [
        ("/w/nope", "Directory does not exist: /w/nope. Note: your current working directory is /w."),
        ("/w/a.txt", "Path is not a directory: /w/a.txt"),
    ] {
        assert_eq!(newest.call("Glob", &json!({"pattern": "*", "path": path}).to_string()), Answer::failed(expected));
    }
    let mut old = stage(&V2_0, &files());
    check(&mut old, "Glob", json!({"pattern": "*.py", "path": "/w/sub"}), two(), "/w/sub/b.py\n/w/sub/deep/c.py");
    let Some(Action::World(World::Glob(search))) = old.did.last() else { panic!() };
    assert_eq!(search.pattern, "./*.py");
    let shown: Vec<String> = shown.iter().map(|path| format!("/w/{path}")).collect();
    let rest = "(Results are truncated. Consider using a more specific path or pattern.)";
    check(&mut old, "Glob", json!({"pattern": "many/*.dat"}), many(), &format!("{}\n{rest}", shown.join("\n")));
    assert_eq!(
        old.call("Glob", r#"{"pattern":"*","path":"/w/nope"}"#),
        Answer::failed(wrong("Directory does not exist: /w/nope"))
    );
    let mut oldest = stage(&V1_0, &files());
    assert_eq!(oldest.call("Glob", r#"{"pattern":"*","path":"/w/nope"}"#), Answer::plain("No files found"));
}

fn beta() -> Outcome {
    matches(vec![
        hit("/w/.hidden", 1, &[(1, "beta hidden\n", false)]),
        hit("/w/a.txt", 2, &[(2, "beta\n", false), (4, "beta\n", false)]),
    ])
}

fn needles() -> Outcome {
    matches((0..300).map(|n| hit(&format!("/w/many/f{n:03}.dat"), n, &[(1, "needle\n", false)])).collect())
}

#[test]
fn greps_of_the_newest() {
    let mut stage = claude(&files());
    let mut grep = |args: Value, outcome: Outcome, expected: &str| check(&mut stage, "Grep", args, outcome, expected);
    let content = |more: Value| {
        let mut args = json!({"pattern": "x", "output_mode": "content"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    grep(json!({"pattern": "x"}), beta(), "Found 2 files\na.txt\n.hidden");
    grep(content(json!({})), beta(), ".hidden:1:beta hidden\na.txt:2:beta\na.txt:4:beta");
    grep(content(json!({"-n": false})), beta(), ".hidden:beta hidden\na.txt:beta\na.txt:beta");
    grep(
        json!({"pattern": "x", "output_mode": "count"}),
        beta(),
        ".hidden:1\na.txt:2\n\nFound 3 total occurrences across 2 files.",
    );
    let around = matches(vec![hit("/w/a.txt", 1, &[(2, "beta", true), (3, "gamma", false), (4, "beta", true)])]);
    grep(content(json!({"path": "a.txt", "-C": 1})), around, "2-beta\n3:gamma\n4-beta");
    let words = matches(vec![hit("/w/a.txt", 1, &[(2, "beta\n", false), (3, "gamma\n", false)])]);
    grep(json!({"pattern": "eta|amm", "output_mode": "content", "-o": true, "path": "a.txt"}), words, "2:eta\n3:amm");
    let groups = matches(vec![
        hit("/w/sub/b.py", 1, &[(2, "def foo():", false), (3, "    return os", true)]),
        hit("/w/sub/deep/c.py", 1, &[(1, "def foo2():", false), (2, "    pass", true)]),
    ]);
    grep(
        content(json!({"-A": 1})),
        groups,
        "sub/b.py:2:def foo():\nsub/b.py-3-    return os\n--\nsub/deep/c.py:1:def foo2():\nsub/deep/c.py-2-    pass",
    );
    grep(json!({"pattern": "x"}), matches(vec![]), "No files found");
    grep(content(json!({})), matches(vec![]), "No matches found");
    grep(
        json!({"pattern": "x", "output_mode": "count"}),
        matches(vec![]),
        "No matches found\n\nFound 0 total occurrences across 0 files.",
    );
    grep(
        content(json!({"head_limit": 3})),
        needles(),
        "many/f000.dat:1:needle\nmany/f001.dat:1:needle\nmany/f002.dat:1:needle\n\n[Showing results with pagination = limit: 3]",
    );
    grep(
        content(json!({"head_limit": 3, "offset": 2})),
        needles(),
        "many/f002.dat:1:needle\nmany/f003.dat:1:needle\nmany/f004.dat:1:needle\n\n[Showing results with pagination = limit: 3, offset: 2]",
    );
    grep(
        json!({"pattern": "x", "head_limit": 3}),
        needles(),
        "Found 3 files limit: 3\nmany/f299.dat\nmany/f298.dat\nmany/f297.dat",
    );
    grep(
        json!({"pattern": "x", "output_mode": "count", "head_limit": 1}),
        needles(),
        "many/f000.dat:1\n\nFound 300 total occurrences across 300 files. with pagination = limit: 1",
    );
    grep(
        json!({"pattern": "x", "offset": 999}),
        needles(),
        "No entries at this offset. [Showing results with pagination = offset: 999]",
    );
    grep(
        content(json!({"offset": 999})),
        needles(),
        "No entries at this offset\n\n[Showing results with pagination = offset: 999]",
    );
    grep(
        json!({"pattern": "x", "output_mode": "count", "offset": 999}),
        needles(),
        "No entries at this offset\n\nFound 300 total occurrences across 300 files. with pagination = offset: 999",
    );
    let across =
        hit("/w/a.txt", 1, &[(1, "alpha", false), (2, "beta", false), (7, "alpha", false), (8, "beta", false)]);
    grep(
        json!({"pattern": "alpha\\nbeta", "output_mode": "count", "multiline": true}),
        matches(vec![across]),
        "a.txt:2\n\nFound 2 total occurrences across 1 file.",
    );
    let around = hit("/w/a.txt", 1, &[(1, "alpha", true), (2, "beta", false)]);
    grep(content(json!({"pattern": "b.", "-o": true, "-B": 1})), matches(vec![around]), "a.txt-1-alpha\na.txt:2:be");
    grep(json!({"pattern": "x", "offset": 1}), beta(), "Found 1 file offset: 1\n.hidden");
    let long = matches(vec![hit("/w/verylong.txt", 1, &[(1, &"z".repeat(5_000), false)])]);
    grep(content(json!({})), long, "verylong.txt:1:[Omitted long matching line]");
    let first: Vec<String> = (50..300).rev().map(|n| format!("many/f{n:03}.dat")).collect();
    grep(json!({"pattern": "x"}), needles(), &format!("Found 250 files limit: 250\n{}", first.join("\n")));

    stage.others = vec![Outcome::Failed(protocol::Failure::Other("unrecognized file type: zzz".into()))];
    assert_eq!(
        stage.call("Grep", r#"{"pattern":"x","type":"zzz"}"#),
        Answer::failed(
            "Search failed — ripgrep rejected the pattern, glob, or file type without searching:\nrg: unrecognized file type: zzz"
        )
    );
    let refused = |args: Value, expected: &str| {
        let mut stage = claude(&[("a.txt", A)]);
        stage.check("Grep", args, Some(true), expected);
    };
    refused(
        json!({"pattern": "x", "head_limit": -1}),
        &wrong("head_limit must be a whole number of 0 or more, got -1. Pass 0 for unlimited."),
    );
    refused(json!({"pattern": "x", "offset": 2.5}), &wrong("offset must be a whole number of 0 or more, got 2.5."));
    refused(
        json!({"pattern": "x", "-A": -1}),
        "Search failed — ripgrep rejected the pattern, glob, or file type without searching:\nrg: error parsing flag -A: value is not a valid number: invalid digit found in string",
    );
    assert_eq!(
        stage.call("Grep", r#"{"pattern":"x","path":"/w/nope"}"#),
        Answer::failed("Path does not exist: /w/nope. Note: your current working directory is /w.")
    );
}

#[test]
fn greps_of_the_older_versions() {
    let mut first = stage(&V1_0, &files());
    let content = json!({"pattern": "x", "output_mode": "content"});
    check(&mut first, "Grep", content.clone(), beta(), "/w/.hidden:beta hidden\n/w/a.txt:beta\n/w/a.txt:beta");
    let Some(Action::World(World::Grep(search))) = first.did.last() else { panic!() };
    assert!(!search.hidden && search.respect_ignore);
    check(
        &mut first,
        "Grep",
        json!({"pattern": "x", "output_mode": "count", "head_limit": 1}),
        needles(),
        "/w/many/f000.dat:1\n\nFound 1 total occurrence across 1 file.",
    );
    let mut third = stage(&V2_1, &files());
    check(&mut third, "Grep", content, beta(), ".hidden:1:beta hidden\na.txt:2:beta\na.txt:4:beta");
    check(
        &mut third,
        "Grep",
        json!({"pattern": "x", "head_limit": 1}),
        needles(),
        "Found 1 file limit: 1, offset: 0\nmany/f299.dat",
    );
    assert_eq!(
        third.call("Grep", r#"{"pattern":"x","path":"/w/nope"}"#),
        Answer::failed(wrong("Path does not exist: /w/nope"))
    );
}
