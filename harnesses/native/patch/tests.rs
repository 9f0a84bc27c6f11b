//! The behaviour table of `apply_patch`, over files in memory. Rows marked `ours` differ from Codex 0.171.0 on purpose.
use std::{collections::BTreeMap, path::Path, path::PathBuf};

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use protocol::{ChangeDone, ChangeKind, Stamp};

use super::*;

type Files = BTreeMap<String, String>;

/// The Outcome side: files by absolute path, all text. A name that ends in `/` is a folder.
struct Disk {
    files: Files,
    /// Not UTF-8 from this byte on, with so many wrong ones.
    binary: BTreeMap<String, (u64, u64)>,
    bom: bool,
    refuse: Option<Refusal>,
    /// Changes that are refused as stale before one goes through.
    stale: usize,
}

impl Disk {
    fn of(files: &[(&str, &str)]) -> Disk {
        let files = files.iter().map(|(path, text)| (format!("/w/{path}"), (*text).to_owned())).collect();
        Disk { files, binary: BTreeMap::new(), bom: false, refuse: None, stale: 0 }
    }

    fn stamp(&self, path: &str) -> Stamp {
        let text = self.files.get(path).cloned().unwrap_or_default();
        Stamp { len: text.len() as u64, mtime_ns: 0, hash: text }
    }

    fn perform(&mut self, action: &Action) -> Outcome {
        match action {
            Action::World(World::Read { path, what }) => self.read(path, what),
            Action::World(World::Change(changes)) => self.change(changes),
            other => panic!("{other:?}"),
        }
    }

    fn read(&self, path: &Path, what: &ReadAs) -> Outcome {
        let name = path.display().to_string();
        if self.files.contains_key(&format!("{name}/")) {
            return match what {
                ReadAs::Stat => Outcome::Stat { kind: FileKind::Folder, stamp: self.stamp(&name), link: None },
                _ => Outcome::Failed(Failure::NotAFile { path: path.into(), kind: FileKind::Folder }),
            };
        }
        match (self.files.get(&name), self.binary.get(&name), what) {
            (None, ..) => Outcome::Failed(Failure::Io {
                path: path.into(),
                errno: 2,
                message: "No such file or directory".into(),
            }),
            (Some(_), _, ReadAs::Stat) => Outcome::Stat { kind: FileKind::File, stamp: self.stamp(&name), link: None },
            (Some(_), Some((at, len)), _) => {
                Outcome::Failed(Failure::NotText { path: path.into(), at: *at, len: *len })
            }
            (Some(text), None, _) => {
                let form = TextForm { bom: self.bom, ..TextForm::default() };
                Outcome::Text { text: text.clone(), form, stamp: self.stamp(&name) }
            }
        }
    }

    fn change(&mut self, changes: &[Change]) -> Outcome {
        if let Some(refusal) = &self.refuse {
            return Outcome::Refused(refusal.clone());
        }
        if self.stale > 0 {
            self.stale -= 1;
            return Outcome::Refused(Refusal::Stale { path: "/w/f.txt".into() });
        }
        let mut after = self.files.clone();
        let mut report = Vec::new();
        for change in changes {
            let name = change.path.display().to_string();
            if after.contains_key(&format!("{name}/")) {
                return Outcome::Failed(Failure::NotAFile { path: change.path.clone(), kind: FileKind::Folder });
            }
            if let Expect::Unchanged(stamp) = &change.expect {
                assert_eq!(*stamp, self.stamp(&name));
            }
            let target = change.to.as_ref().map_or(name.clone(), |to| to.display().to_string());
            let old = after.remove(&name);
            let new = match &change.new {
                New::Whole { text, like } => {
                    Some(if like.is_some_and(|form| form.bom) { format!("\u{FEFF}{text}") } else { text.clone() })
                }
                New::Splices(splices) => Some(spliced(&old.unwrap(), splices)),
                New::Same => old,
                New::Gone => None,
            };
            after.extend(new.map(|text| (target, text)));
            let (path, to) = (change.path.clone(), change.to.clone());
            report.push(ChangeDone { path, to, kind: ChangeKind::Update, diff: String::new(), stamp: None });
        }
        self.files = after;
        Outcome::Changed(report)
    }

    /// Runs the patch to its answer.
    fn apply(&mut self, patch: &str) -> String {
        let mut did = Vec::new();
        for _ in 0..8 {
            match step(patch, Path::new("/w"), SandboxMode::WorkspaceWrite, &did) {
                Step::Do(actions) => {
                    for action in actions {
                        let outcome = self.perform(&action);
                        did.push(Done { action, outcome, took: 200, at: 0, tag: 0 });
                    }
                }
                Step::Ran(text) | Step::Rejected(text) => return text,
            }
        }
        panic!("no end")
    }
}

fn spliced(text: &str, splices: &[(std::ops::Range<u64>, String)]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for (range, new) in splices {
        let (start, end) = (range.start as usize, range.end as usize);
        assert!(at <= start && start <= end, "{splices:?}");
        out.push_str(&text[at..start]);
        out.push_str(new);
        at = end;
    }
    out + &text[at..]
}

/// `patch`: what stands between Begin and End, unless it has its own. `expected`: the answer, `OK` with the list for a
/// success, and the files after it; without files they are untouched.
fn check(files: &[(&str, &str)], patch: &str, expected: &str, after: Option<&[(&str, &str)]>) {
    let whole =
        if patch.contains("*** Begin") { patch.to_owned() } else { format!("*** Begin Patch\n{patch}*** End Patch") };
    let mut disk = Disk::of(files);
    let answer = disk.apply(&whole);
    let answer = match answer
        .strip_prefix("Exit code: 0\nWall time: 0.2 seconds\nOutput:\nSuccess. Updated the following files:\n")
    {
        Some(list) => format!("OK {}", list.trim_end().replace('\n', " ")),
        None => answer.replace("apply_patch verification failed: ", "FAILED: "),
    };
    assert_eq!((answer.as_str(), &disk.files), (expected, &Disk::of(after.unwrap_or(files)).files), "{whole}");
}

const ABCD: &[(&str, &str)] = &[("f.txt", "a\nb\nc\nd\n")];

/// An update of f.txt.
fn update(text: &str, body: &str, expected: &str, after: &str) {
    let after = if expected.starts_with("OK") { after } else { text };
    check(&[("f.txt", text)], &format!("*** Update File: f.txt\n{body}"), expected, Some(&[("f.txt", after)]));
}

#[test]
fn the_answer_is_whole() {
    let answer = Disk::of(ABCD).apply("*** Begin Patch\n*** Update File: f.txt\n@@\n-b\n+B\n*** End Patch");
    assert_eq!(
        answer,
        "Exit code: 0\nWall time: 0.2 seconds\nOutput:\nSuccess. Updated the following files:\nM f.txt\n"
    );
    assert_eq!(reported(0, 40, ""), "Exit code: 0\nWall time: 0 seconds\nOutput:\n\n");
    assert_eq!(reported(1, 12_345, "x"), "Exit code: 1\nWall time: 12.3 seconds\nOutput:\nx\n");
}

#[test]
fn updates() {
    let f = "a\nb\nc\nd\n";
    let ok = "OK M f.txt";
    update(f, "@@\n-b\n+B\n", ok, "a\nB\nc\nd\n");
    update(f, " a\n-b\n+B\n", ok, "a\nB\nc\nd\n");
    update(f, "@@ \n-a\n+A\n", ok, "A\nb\nc\nd\n");
    update(f, "@@\n-a\n+A\n@@\n-d\n+D\n", ok, "A\nb\nc\nD\n");
    update(f, "@@\n-d\n+D\n@@\n-a\n+A\n", "FAILED: Failed to find expected lines in /w/f.txt:\na", "");
    update(f, "@@\n b\n+N\n c\n", ok, "a\nb\nN\nc\nd\n");
    update(f, "@@\n a\n", ok, f);
    update("a\n", "@@\n-a\n", ok, "");
    update("x\ny\nx\ny\n", "@@\n-x\n+1\n@@\n-x\n+2\n", ok, "1\ny\n2\ny\n");
    update(
        "a\nb\nc\n",
        "@@\n a\n-b\n+B\n@@\n B\n-c\n+C\n",
        "FAILED: Failed to find expected lines in /w/f.txt:\nB\nc",
        "",
    );
    update(f, "@@\n-zz\n-yy\n+A\n", "FAILED: Failed to find expected lines in /w/f.txt:\nzz\nyy", "");
}

#[test]
fn places() {
    let ok = "OK M f.txt";
    update("x\nclass A\nx\nclass B\nx\n", "@@ class B\n-x\n+y\n", ok, "x\nclass A\nx\nclass B\ny\n");
    update("x\n    class B\nx\n", "@@ class B\n-x\n+y\n", ok, "x\n    class B\ny\n");
    update("  class B\nx\n", "@@   class B  \n-x\n+y\n", ok, "  class B\ny\n");
    update(
        "class B\nx\n",
        "@@ class B\n class B\n-x\n+y\n",
        "FAILED: Failed to find expected lines in /w/f.txt:\nclass B\nx",
        "",
    );
    update("class B(Base):\nx\n", "@@ class B\n-x\n+y\n", "FAILED: Failed to find context 'class B' in /w/f.txt", "");
    let f = "a\nb\nc\nd\n";
    update(f, "@@ -1,2 +1,2 @@\n-b\n+B\n", "FAILED: Failed to find context '-1,2 +1,2 @@' in /w/f.txt", "");
    update(f, "@@ a\n+X\n", ok, "a\nb\nc\nd\nX\n");
    update(f, "@@\n+X\n@@\n-b\n+B\n", ok, "a\nB\nc\nd\nX\n");
    update(f, "@@\n-b\n+B\n@@\n+Y\n", ok, "a\nB\nc\nd\nY\n");
    update(f, "@@\n+X\n@@\n+Y\n", ok, "a\nb\nc\nd\nX\nY\n");
    update("", "@@\n+X\n", ok, "X\n");
    update("a\n", "@@\n+Z\n@@\n a\n+N\n@@\n+M\n", ok, "a\nZ\nN\nM\n");
}

#[test]
fn end_of_file() {
    let ok = "OK M f.txt";
    update("a\nb\na\n", "@@\n-a\n+X\n*** End of File\n", ok, "a\nb\nX\n");
    update("a\nb\na\n", "@@\n-b\n+X\n*** End of File\n", "FAILED: Failed to find expected lines in /w/f.txt:\nb", "");
    update(
        "a\nb\na\n",
        "@@\n-a\n+X\n*** End of File\n@@\n-b\n+Y\n",
        "FAILED: Failed to find expected lines in /w/f.txt:\nb",
        "",
    );
    update("a\nb\n", "@@\n-b\n+B\n*** End of File  \n\n", ok, "a\nB\n");
    update("a\nb\n", "@@\n-b\n+B\n \n*** End of File\n", ok, "a\nB\n");
    update("a\nb\n", "@@\n+X\n*** End of File\n", ok, "a\nb\nX\n");
    update("a\nb\n", "*** End of File\n@@\n-a\n+A\n", ok, "A\nb\n");
    update(
        "a\n",
        "*** End of File\n",
        "FAILED: invalid hunk at line 2, Update file hunk for path 'f.txt' is empty",
        "",
    );
    update("a\n\n", "@@\n-a\n@@\n\n+\n*** End of File\n", ok, "\n\n");
}

#[test]
fn blank_lines() {
    let ok = "OK M f.txt";
    update("a\n\nb\n", "@@\n a\n\n-b\n+B\n", ok, "a\n\nB\n");
    update("a\nb\n", "@@\n-a\n+A\n\n", ok, "A\nb\n");
    update("a\nb\n", "@@\n-a\n+A\n\n\n\n", ok, "A\nb\n"); // ours: more than one
    update("a\nb\n", "@@\n-a\n+A\n\n@@\n-b\n+B\n", ok, "A\nB\n");
    update("a\nb\n", "\n@@\n-a\n+A\n", ok, "A\nb\n");
    update("a\n\nb\n", "\n@@\n-a\n+A\n", ok, "A\n\nb\n"); // ours: a blank line above it all means nothing
    update("a\nb\n", "@@\n-a\n+A\n b\n \n", ok, "A\nb\n");
    update("a\nb\n\n", "@@\n b\n \n+Z\n", ok, "a\nb\n\nZ\n");
    update("a\nb\n", "@@\n b\n \n+Z\n", ok, "a\nb\n\nZ\n");
    update("a\nb\n", "@@\n-b\n-\n+B\n", ok, "a\nB\n");
}

#[test]
fn lines_that_look_alike() {
    let ok = "OK M f.txt";
    update("  a\na\n", "@@\n-a\n+X\n", ok, "  a\nX\n");
    update("a  \nb\n", "@@\n a\n-b\n+B\n", ok, "a  \nB\n");
    update("    a \nb\n", "@@\n a\n-b\n+B\n", ok, "    a \nB\n");
    update("“q” – x\nb\n", "@@\n \"q\" - x\n-b\n+B\n", ok, "“q” – x\nB\n");
    update("x\u{a0}y\u{202f}z\u{2011}w\n", "@@\n-x y z-w\n+ok\n", ok, "ok\n");
    update("a\u{2212}b\u{2010}c\u{2014}d\u{2015}e\n", "@@\n-a-b-c-d-e\n+B\n", ok, "B\n");
    update("a… b\u{200b}c\n", "@@\n-a... bc\n+B\n", ok, "B\n"); // ours
    update("a\tb\n", "@@\n-a b\n+B\n", "FAILED: Failed to find expected lines in /w/f.txt:\na b", "");
}

#[test]
fn line_ends_stay() {
    let ok = "OK M f.txt";
    update("foo\r\nbar\r\n", "@@\n-foo\n+a\n+b\n", ok, "a\r\nb\r\nbar\r\n");
    update("a\r\nb\r\n", "@@\n a\n+N\n b\n", ok, "a\r\nN\r\nb\r\n");
    update("a\r\nb\r\n", "@@\n+N\n", ok, "a\r\nb\r\nN\r\n");
    update("a\r\nb\nc\r\nd\n", "@@\n b\n-c\n+C\n+C2\n", ok, "a\r\nb\nC\r\nC2\r\nd\n");
    update("a\r\nb\nc\nd\n", "@@\n-a\n+A\n+A2\n", ok, "A\r\nA2\r\nb\nc\nd\n");
    update("a\r\nb\nc\r\n", "@@\n a\n+N\n b\n", ok, "a\r\nN\r\nb\nc\r\n");
    update("a\nb\r\nc\r\n", "@@\n a\n+N\n b\n", ok, "a\nN\nb\r\nc\r\n");
    update("a\r\nb\r\nc\n", "@@\n+N\n", ok, "a\r\nb\r\nc\nN\r\n");
    update("a\r\nb\nc\r\n", "@@\n-a\n-b\n+A\n+B\n+C\n", ok, "A\r\nB\r\nC\r\nc\r\n");
    update("a\nb\r\n", "@@\n-b\n+B\n@@\n+N\n", ok, "a\nB\nN\n");
    update("a\r\nb", "@@\n-b\n+B\n", ok, "a\r\nB\r\n");
    update("a\rb\n", "@@\n-a\n+X\n", ok, "X\rb\n");
    update("a\nb\n", "@@\r\n-a\r\n+A\r\n", ok, "A\nb\n");
}

#[test]
fn a_missing_last_line_feed() {
    let ok = "OK M f.txt";
    update("a\nb", "@@\n-a\n+A\n", ok, "A\nb"); // ours: upstream adds one to a line that was not touched
    update("a\nb", "@@\n-b\n+B\n", ok, "a\nB\n");
    update("a\nb", "@@\n b\n+C\n", ok, "a\nb\nC\n");
    update("a\nb", "@@\n+C\n", ok, "a\nb\nC\n");
    update("a\nb", "@@\n-b\n@@\n+C\n", ok, "a\nC\n");
}

#[test]
fn adds() {
    check(&[], "*** Add File: p/q/n.txt\n+a\n+\n", "OK A p/q/n.txt", Some(&[("p/q/n.txt", "a\n\n")]));
    check(&[], "*** Add File: n\n", "OK A n", Some(&[("n", "")]));
    check(ABCD, "*** Add File: f.txt\n+new\n", "OK A f.txt", Some(&[("f.txt", "new\n")]));
    check(&[], "*** Begin Patch\r\n*** Add File: n\r\n+hi\r\n*** End Patch\r\n", "OK A n", Some(&[("n", "hi\n")]));
    check(&[], "*** Add File: ~/x\n+n\n", "OK A ~/x", Some(&[("~/x", "n\n")]));
    check(
        &[("d/", "")],
        "*** Add File: d\n+a\n",
        "Exit code: 1\nWall time: 0.2 seconds\nOutput:\nFailed to write file /w/d: path `/w/d` is not a file\n",
        None,
    );
    let mut disk = Disk { bom: true, ..Disk::of(ABCD) };
    disk.apply("*** Begin Patch\n*** Add File: f.txt\n+x\n*** End Patch");
    assert_eq!(disk.files["/w/f.txt"], "\u{FEFF}x\n");
}

#[test]
fn deletes_and_moves() {
    check(ABCD, "*** Delete File: f.txt\n", "OK D f.txt", Some(&[]));
    check(
        &[],
        "*** Delete File: f.txt\n",
        "FAILED: Failed to read /w/f.txt: No such file or directory (os error 2)",
        None,
    );
    check(&[("d/", "")], "*** Delete File: d\n", "FAILED: Failed to read /w/d: path `/w/d` is not a file", None);
    let edit = "@@\n-a\n+A\n";
    let moved = |to: &str| format!("*** Update File: f.txt\n*** Move to: {to}\n{edit}");
    check(ABCD, &moved("g/h.txt"), "OK M g/h.txt", Some(&[("g/h.txt", "A\nb\nc\nd\n")]));
    check(&[("f.txt", "a\n"), ("g", "old\n")], &moved("g"), "OK M g", Some(&[("g", "A\n")]));
    check(ABCD, &moved("./f.txt"), "OK M ./f.txt", Some(&[("f.txt", "A\nb\nc\nd\n")])); // ours: upstream deletes it
}

#[test]
fn several_files() {
    check(
        &[("u", "a\n"), ("d", "x\n")],
        "*** Delete File: d\n*** Update File: u\n@@\n-a\n+A\n*** Add File: n\n+n\n",
        "OK A n M u D d",
        Some(&[("n", "n\n"), ("u", "A\n")]),
    );
    check(
        &[("u", "a\n")],
        "*** Add File: n\n+n\n*** Update File: u\n@@\n-zz\n+A\n",
        "FAILED: Failed to find expected lines in /w/u:\nzz",
        None,
    );
    let twice = |path: &str| format!("FAILED: invalid patch: multiple operations target /w/{path}");
    let edit = "@@\n-a\n+A\n";
    check(ABCD, &format!("*** Update File: f.txt\n{edit}*** Update File: ./f.txt\n{edit}"), &twice("f.txt"), None);
    check(&[], &format!("*** Add File: n\n+a\n*** Update File: n\n{edit}"), &twice("n"), None);
    // ours: upstream loses a file here
    check(ABCD, &format!("*** Update File: f.txt\n*** Move to: g\n{edit}*** Add File: g\n+z\n"), &twice("g"), None);
    check(
        &[("a", "1\n"), ("b", "2\n")],
        "*** Update File: a\n*** Move to: b\n@@\n-1\n+x\n*** Update File: b\n*** Move to: a\n@@\n-2\n+y\n",
        &twice("b"),
        None,
    );
}

#[test]
fn paths() {
    let edit = "@@\n-a\n+A\n";
    let after: &[(&str, &str)] = &[("f.txt", "A\nb\nc\nd\n")];
    check(ABCD, &format!("*** Update File: /w/f.txt\n{edit}"), "OK M /w/f.txt", Some(after));
    check(ABCD, &format!("*** Update File: ./f.txt\n{edit}"), "OK M ./f.txt", Some(after));
    check(ABCD, &format!("   *** Update File: f.txt  \n{edit}"), "OK M f.txt", Some(after));
}

#[test]
fn frames() {
    let body = "*** Update File: f.txt\n@@\n-a\n+A\n";
    let (ok, after): (_, &[(&str, &str)]) = ("OK M f.txt", &[("f.txt", "A\nb\nc\nd\n")]);
    let first = "FAILED: invalid patch: The first line of the patch must be '*** Begin Patch'";
    let last = "FAILED: invalid patch: The last line of the patch must be '*** End Patch'";
    let good = |patch: String| check(ABCD, &patch, ok, Some(after));
    let bad = |patch: &str, expected: &str| {
        let mut disk = Disk::of(ABCD);
        assert_eq!(disk.apply(patch).replace("apply_patch verification failed: ", "FAILED: "), expected, "{patch}");
    };
    good(format!("\n\n*** Begin Patch\n{body}*** End Patch\n\n\n"));
    good(format!("  *** Begin Patch  \n{body}  *** End Patch  "));
    for open in ["<<EOF", "<<'EOF'", "<<\"EOF\""] {
        good(format!("{open}\n*** Begin Patch\n{body}*** End Patch\nEOF\n"));
    }
    bad(&format!("<<'PATCH'\n*** Begin Patch\n{body}*** End Patch\nPATCH"), first);
    bad(&format!("apply_patch <<'EOF'\n*** Begin Patch\n{body}*** End Patch\nEOF"), first);
    bad(&format!("```\n*** Begin Patch\n{body}*** End Patch\n```"), first);
    bad(&format!("{body}*** End Patch"), first);
    bad("garbage", first);
    bad(&format!("*** Begin Patch\n{body}"), last);
    bad(&format!("*** Begin Patch\n{body}*** End Patch\nthanks"), last);
    bad("", last);
    bad("*** Begin Patch", last);
    bad("*** Begin Patch\n*** End Patch", "patch rejected: empty patch");
    bad(
        &format!("*** Begin Patch\n*** Environment ID: x\n{body}*** End Patch"),
        "apply_patch environment selection is unavailable for this turn",
    );
}

#[test]
fn wrong_lines_are_named() {
    let check = |body: &str, line: usize, why: &str| {
        let mut disk = Disk::of(ABCD);
        let answer = disk.apply(&format!("\n*** Begin Patch\n{body}*** End Patch"));
        assert_eq!(answer, format!("apply_patch verification failed: invalid hunk at line {line}, {why}"), "{body}");
    };
    let header = |line: &str| {
        format!(
            "'{line}' is not a valid hunk header. Valid hunk headers: '*** Add File: {{path}}', '*** Delete File: {{path}}', '*** Update File: {{path}}'"
        )
    };
    let unexpected = |line: &str| {
        format!(
            "Unexpected line found in update hunk: '{line}'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
        )
    };
    let marker = |line: &str| format!("Expected update hunk to start with a @@ context marker, got: '{line}'");
    let empty = "Update file hunk for path 'f.txt' is empty";
    let no_lines = "Update hunk does not contain any lines";
    check("*** Add File: n\n+a\nbad\n", 4, &header("bad"));
    check("*** Add File: n\n+a\n\n+b\n", 4, &header(""));
    check("*** Add File: n\n+a\n*** End of File\n", 4, &header("*** End of File"));
    check("*** Add File: \n+a\n", 2, &header("*** Add File:"));
    check("*** Add File:x\n+a\n", 2, &header("*** Add File:x"));
    check("*** Frob File: f\n", 2, &header("*** Frob File: f"));
    check("  junk  \n", 2, &header("junk"));
    check("*** Delete File: f.txt\n\n*** Delete File: g\n", 3, &header(""));
    check("*** Delete File: f.txt\n-a\n", 3, &header("-a"));
    check("*** Update File: f.txt\n", 2, empty);
    check("*** Update File: f.txt\n*** Move to: g\n", 2, empty);
    check("*** Update File: f.txt\n*** Update File: g\n@@\n-a\n+b\n", 2, empty);
    check("*** Update File: f.txt\n@@\n", 4, no_lines);
    check("*** Update File: f.txt\n@@ a\n", 4, no_lines);
    check("*** Update File: f.txt\n@@\n*** End of File\n", 4, no_lines);
    check("*** Update File: f.txt\n@@ class A\n@@   def f\n-c\n+C\n", 4, &unexpected("@@   def f"));
    check("*** Update File: f.txt\n@@\n@@\n-a\n+A\n", 4, &unexpected("@@"));
    check("*** Update File: f.txt\nbad\n", 3, &unexpected("bad"));
    check("*** Update File: f.txt\n@@\n\tx\n", 4, &unexpected("\tx"));
    check("*** Update File: f.txt\n@@a\n-b\n", 3, &unexpected("@@a"));
    check("*** Update File: f.txt\n*** Move to: \n@@\n-a\n+A\n", 3, &unexpected("*** Move to: "));
    check("*** Update File: f.txt\n*** Frob\n", 3, &unexpected("*** Frob"));
    check("*** Update File: f.txt\n@@\n*** Update File: g\n@@\n-a\n", 4, &unexpected("*** Update File: g"));
    check("*** Update File: f.txt\n@@\n-a\n+A\nxbad\n", 6, &marker("xbad"));
    check("*** Update File: f.txt\n@@\n-a\n+A\n*** Frob File: x\n", 6, &marker("*** Frob File: x"));
    check("*** Update File: f.txt\n\n*** Move to: z\n@@\n-a\n+A\n", 4, &marker("*** Move to: z"));
    check(
        "*** Update File: f.txt\n@@\n-b\n\\ No newline at end of file\n+B\n",
        5,
        &marker("\\ No newline at end of file"),
    );
}

#[test]
fn files_that_cannot_be_changed() {
    let edit = "*** Begin Patch\n*** Update File: f.txt\n@@\n-a\n+A\n*** End Patch";
    let failed = |disk: &mut Disk, why: &str| {
        let expected = format!("apply_patch verification failed: Failed to read file to update /w/f.txt: {why}");
        assert_eq!(disk.apply(edit), expected);
    };
    failed(&mut Disk::of(&[]), "No such file or directory (os error 2)");
    failed(&mut Disk::of(&[("f.txt/", "")]), "path `/w/f.txt` is not a file");
    let binary = |at, len| Disk { binary: BTreeMap::from([("/w/f.txt".to_owned(), (at, len))]), ..Disk::of(ABCD) };
    failed(&mut binary(0, 1), "invalid utf-8 sequence of 1 bytes from index 0");
    failed(&mut binary(3, 0), "incomplete utf-8 byte sequence from index 3");
    // ours: what is not text may be deleted
    let mut disk = binary(0, 1);
    disk.apply("*** Begin Patch\n*** Delete File: f.txt\n*** End Patch");
    assert_eq!(disk.files, Files::new());

    let lossy = Outcome::Text {
        text: "abc\u{FFFD}\nb\n".into(),
        form: TextForm { utf8: false, ..TextForm::default() },
        stamp: Stamp { len: 6, mtime_ns: 0, hash: String::new() },
    };
    let Step::Do(actions) = step(edit, Path::new("/w"), SandboxMode::WorkspaceWrite, &[]) else { panic!("not read") };
    let did = [Done { action: actions[0].clone(), outcome: lossy, took: 0, at: 0, tag: 0 }];
    let expected = "apply_patch verification failed: Failed to read file to update /w/f.txt: invalid utf-8 sequence of 1 bytes from index 3";
    assert_eq!(step(edit, Path::new("/w"), SandboxMode::WorkspaceWrite, &did), Step::Rejected(expected.to_owned()));
}

#[test]
fn refusals() {
    let edit = "*** Begin Patch\n*** Update File: f.txt\n@@\n-a\n+A\n*** End Patch";
    let check = |refusal: Refusal, expected: &str| {
        let mut disk = Disk { refuse: Some(refusal), ..Disk::of(ABCD) };
        assert_eq!(disk.apply(edit), expected);
    };
    let outside = "patch rejected: writing outside of the project; rejected by user approval settings";
    let read_only = "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings";
    let path = PathBuf::from("/w/f.txt");
    check(Refusal::Sandbox { path: path.clone(), read_only: false }, outside);
    check(Refusal::Sandbox { path: path.clone(), read_only: true }, read_only);
    check(Refusal::NobodyToAsk { escalation: false }, outside);
    check(Refusal::User { feedback: Some("not there".into()) }, "patch rejected: rejected by user: not there");
    check(Refusal::Stale { path }, "patch rejected: /w/f.txt was changed by someone else meanwhile; read it again");
}

#[test]
fn a_file_changed_meanwhile_is_matched_once_more() {
    let mut disk = Disk { stale: 1, ..Disk::of(ABCD) };
    disk.apply("*** Begin Patch\n*** Update File: f.txt\n@@\n-a\n+A\n*** End Patch");
    assert_eq!(disk.files["/w/f.txt"], "A\nb\nc\nd\n");
}

fn patch_piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "*** Begin Patch",
            "*** End Patch",
            "*** Add File: n",
            "*** Delete File: f.txt",
            "*** Update File: f.txt",
            "*** Move to: g",
            "*** End of File",
            "@@",
            "@@ a",
            "-a",
            "+A",
            " b",
            " ",
            "",
            "-b",
            "+",
            "<<EOF",
            "EOF",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ]
}

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,80}") {
        let _ = Disk::of(ABCD).apply(&text);
    }

    #[test]
    fn any_lines_get_an_answer(
        lines in prop::collection::vec(patch_piece(), 0..12), end in prop::sample::select(vec!["\n", "\r\n"]),
        file in "[ab\r\n ]{0,20}",
    ) {
        let patch = format!("*** Begin Patch{end}{}{end}*** End Patch", lines.join(end));
        let _ = Disk::of(&[("f.txt", &file)]).apply(&patch);
    }

    /// A patch made from a line-wise edit of a file gives exactly the edited file.
    #[test]
    fn a_made_patch_makes_the_edit(
        lines in prop::collection::vec("[a-c]{1,3}", 1..12), at in 0usize..12, gone in 0usize..4,
        new in prop::collection::vec("[x-z]{1,3}", 0..4), crlf in any::<bool>(),
    ) {
        let at = at.min(lines.len() - 1);
        let gone = gone.min(lines.len() - at);
        let end = if crlf { "\r\n" } else { "\n" };
        let file = |lines: &[String]| lines.iter().map(|line| format!("{line}{end}")).collect::<String>();
        let mut edited = lines.clone();
        edited.splice(at..at + gone, new.iter().cloned());
        let mut patch = "*** Begin Patch\n*** Update File: f.txt\n".to_owned();
        let with = |mark: char, lines: &[String]| lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>();
        patch.push_str(&with(' ', &lines[..at]));
        patch.push_str(&with('-', &lines[at..at + gone]));
        patch.push_str(&with('+', &new));
        patch.push_str(&with(' ', &lines[at + gone..]));
        patch.push_str("*** End Patch");
        let mut disk = Disk::of(&[("f.txt", &file(&lines))]);
        let answer = disk.apply(&patch);
        prop_assert_eq!(&disk.files["/w/f.txt"], &file(&edited), "{} {}", patch, answer);
    }
}
