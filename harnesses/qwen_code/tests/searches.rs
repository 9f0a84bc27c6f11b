//! glob, grep_search and list_directory.
use pretty_assertions::assert_eq;

use super::*;

fn paths(hits: Vec<Hit>) -> Outcome {
    Outcome::Paths(Found { hits, more: false })
}

fn matches(hits: Vec<Hit>) -> Outcome {
    Outcome::Matches(Found { hits, more: false })
}

fn failed(errno: i32, path: &str) -> Outcome {
    Outcome::Failed(Failure::Io { path: path.into(), errno, message: "?".into() })
}

#[test]
fn globs() {
    let mut s = stage(&[]);
    let mut check = |args: Value, outcome: Outcome, expected: &str| {
        s.outcomes = [outcome].into();
        s.says("glob", args, expected);
    };
    let day = 24 * 60 * 60 * 1_000;
    check(
        json!({"pattern": "**/*.py"}),
        paths(vec![
            hit("/w/old/b.py", 0, &[]),
            hit("/w/a.py", 0, &[]),
            hit("/w/new.py", NOW - 5, &[]),
            hit("/w/newer.py", NOW - 1, &[]),
            hit("/w/Z.py", NOW - day - 1, &[]),
        ]),
        "Found 5 file(s) matching \"**/*.py\" in the workspace directory, sorted by modification time (newest first):\n---\n/w/newer.py\n/w/new.py\n/w/a.py\n/w/old/b.py\n/w/Z.py",
    );
    check(
        json!({"pattern": "*", "path": "src"}),
        paths(vec![hit("/w/src/m.py", 0, &[])]),
        "Found 1 file(s) matching \"*\" within /w/src, sorted by modification time (newest first):\n---\n/w/src/m.py",
    );
    check(
        json!({"pattern": "*.zzz"}),
        paths(vec![]),
        "No files found matching pattern \"*.zzz\" in the workspace directory",
    );
    check(json!({"pattern": "*", "path": "/w/nope"}), failed(2, "/w/nope"), "Path does not exist: /w/nope");
    check(
        json!({"pattern": "["}),
        Outcome::Failed(Failure::Other("bad".into())),
        "No files found matching pattern \"[\" in the workspace directory",
    );
    check(json!({"pattern": " "}), paths(vec![]), "The 'pattern' parameter cannot be empty.");
    let many = (0..150).map(|n| hit(&format!("/w/f{n:03}"), 0, &[])).collect();
    check(
        json!({"pattern": "*"}),
        paths(many),
        "Found 150 file(s) matching \"*\" in the workspace directory, sorted by modification time (newest first):\n---\n/w/f000\n…",
    );
    for (pattern, root, expected) in
        [("*.rs", "/w", "./*.rs"), ("./src/*", "/w", "./src/*"), ("../*.json", "/", "./*.json"), ("/x/*", "/w", "/x/*")]
    {
        s.outcomes = [paths(vec![])].into();
        s.call("glob", &json!({"pattern": pattern}).to_string());
        let [Action::World(World::Glob(search))] = s.did.as_slice() else { panic!("{:?}", s.did) };
        assert_eq!((search.root.to_str(), search.pattern.as_str()), (Some(root), expected), "{pattern}");
    }
}

#[test]
fn greps() {
    let mut s = stage(&[("a.txt", "foo\n"), ("b.txt", "foo foo\n")]);
    let mut check = |args: Value, outcome: Outcome, expected: &str| {
        s.outcomes = [outcome].into();
        s.says("grep_search", args, expected);
    };
    let two = || matches(vec![hit("/w/a.txt", 0, &[(1, "foo")]), hit("/w/b.txt", 0, &[(1, "foo foo")])]);
    check(
        json!({"pattern": "foo"}),
        two(),
        "Found 2 matches for pattern \"foo\" in the workspace directory:\n---\n/w/a.txt:1:foo\n/w/b.txt:1:foo foo",
    );
    check(
        json!({"pattern": "foo", "limit": 1}),
        two(),
        "Found 2 matches for pattern \"foo\" in the workspace directory:\n---\n/w/a.txt:1:foo\n---\n[1 line truncated] ...",
    );
    check(
        json!({"pattern": "foo", "path": "a.txt", "glob": "*.txt"}),
        matches(vec![hit("/w/a.txt", 0, &[(1, "foo")])]),
        "Found 1 match for pattern \"foo\" in path \"a.txt\" (filter: \"*.txt\"):\n---\n/w/a.txt:1:foo",
    );
    check(
        json!({"pattern": "zz", "path": "src"}),
        matches(vec![]),
        "No matches found for pattern \"zz\" in path \"src\".",
    );
    check(
        json!({"pattern": "("}),
        two(),
        "Invalid regular expression pattern: (. Error: Invalid regular expression: /(/: Unterminated group",
    );
    check(json!({"pattern": "x", "path": "nope"}), failed(2, "/w/nope"), "Path does not exist: /w/nope");
    check(
        json!({"pattern": "a{2"}),
        Outcome::Failed(Failure::Other("bad".into())),
        "Error during grep search operation: bad",
    );
    check(json!({"pattern": "x", "limit": 0}), two(), "params/limit must be >= 1");
    let long = "z".repeat(30_000);
    check(
        json!({"pattern": "zz", "path": "a.txt"}),
        matches(vec![hit("/w/a.txt", 0, &[(1, &long)])]),
        "Tool output was too large and has been truncated.\nThe full output has been saved to: /s/out.txt\nTo read the complete output, use the read_file tool with the absolute file path above.\nThe truncated output below shows the beginning and end of the content. The marker '... [CONTENT TRUNCATED] ...' indicates where content was removed.\n\nTruncated part of the output:\nFound 1 match for pattern \"zz\" in path \"a.txt\":\n\n---\n... [CONTENT TRUNCATED] ...\n---\n\n...zzz…",
    );
    // Whoever saw a matching line may edit the file.
    s.edit("/w/b.txt", "foo foo", "bar", "The file: /w/b.txt has been updated. …");
}

#[test]
fn lists_where_switched_on() {
    let mut s = stage(&[]);
    s.says("list_directory", json!({"path": "/w"}), "Tool \"list_directory\" is a built-in tool that is disabled by default because glob covers directory listing in most cases. Enable it with the tools.listDirectory.enabled setting. Use glob instead.");
    s.settings.features.insert("tools.list_directory".into(), true);
    let folder = Hit { kind: FileKind::Folder, ..hit("/w/d", 0, &[]) };
    let all = vec![hit("/w/b.txt", 0, &[]), hit("/w/a.txt", 0, &[]), folder, hit("/w/x.log", 0, &[])];
    s.outcomes = [paths(all), paths(vec![hit("/w/a.txt", 0, &[]), hit("/w/b.txt", 0, &[])])].into();
    s.says(
        "list_directory",
        json!({"path": "/w"}),
        "Listed 3 item(s) in /w:\n---\n[DIR] d\na.txt\nb.txt\n\n(1 git-ignored)",
    );
    s.says("list_directory", json!({"path": "."}), "Path must be absolute: .");
    s.outcomes = [failed(2, "/w/no"), failed(2, "/w/no")].into();
    s.says(
        "list_directory",
        json!({"path": "/w/no"}),
        "Error listing directory: ENOENT: no such file or directory, stat '/w/no'",
    );
    let file = Outcome::Failed(Failure::NotAFile { path: "/w/a".into(), kind: FileKind::File });
    s.outcomes = [file.clone(), file].into();
    s.says("list_directory", json!({"path": "/w/a"}), "Error: Path is not a directory: /w/a");
}
