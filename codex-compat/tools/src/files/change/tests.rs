use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use pretty_assertions::assert_eq;
use protocol::{Eol, SandboxMode, SandboxPolicy, Stamp, TextForm};
use sandbox::{Spec, Surroundings};

use super::*;

/// A folder of files, and everything in it as text for comparing.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = tree.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }
    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }
    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }
    /// Every file with its content, links as `-> target`; left-over temporary files would show.
    fn content(&self) -> Vec<(String, String)> {
        fn walk(base: &Path, dir: &Path, out: &mut Vec<(String, String)>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(base).unwrap().display().to_string();
                match fs::symlink_metadata(&path).unwrap() {
                    m if m.is_symlink() => {
                        out.push((name, format!("-> {}", fs::read_link(&path).unwrap().display())));
                    }
                    m if m.is_dir() => {
                        let before = out.len();
                        walk(base, &path, out);
                        if out.len() == before {
                            out.push((name + "/", String::new()));
                        }
                    }
                    _ => out.push((name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned())),
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.root(), &self.root(), &mut out);
        out.sort();
        out
    }
    fn run(&self, changes: &[Change]) -> Outcome {
        change(changes, &self.root(), Fence::none())
    }
    fn stamp(&self, name: &str) -> Stamp {
        let bytes = fs::read(self.path(name)).unwrap();
        stamp::of(&fs::metadata(self.path(name)).unwrap(), &bytes)
    }
}

fn make(path: &str, new: New, expect: Expect) -> Change {
    Change { path: path.into(), to: None, new, expect }
}

fn write(path: &str, text: &str) -> Change {
    make(path, whole(text), Expect::Anything)
}

fn whole(text: &str) -> New {
    New::Whole { text: text.into(), like: None }
}

fn moved(path: &str, to: &str, new: New) -> Change {
    Change { path: path.into(), to: Some(to.into()), new, expect: Expect::Exists }
}

fn done(outcome: Outcome) -> Vec<ChangeDone> {
    match outcome {
        Outcome::Changed(done) => done,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(files: &[(&str, &str)], changes: &[Change], expected: &[(&str, &str)]) {
    let tree = Tree::new(files);
    done(tree.run(changes));
    let expected: Vec<_> = expected.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect();
    assert_eq!(tree.content(), expected);
}

#[track_caller]
fn check_refused(files: &[(&str, &str)], changes: &[Change], expected: impl Fn(&Tree) -> Outcome) {
    let tree = Tree::new(files);
    let before = tree.content();
    assert_eq!(tree.run(changes), expected(&tree));
    assert_eq!(tree.content(), before, "nothing changed");
}

fn io(tree: &Tree, name: &str, errno: i32, message: &str) -> Outcome {
    Outcome::Failed(Failure::Io { path: tree.path(name), errno, message: message.into() })
}

fn together(a: &Path, b: &Path) -> Outcome {
    Outcome::Failed(Failure::Other(format!("several changes of one path: {} and {}", a.display(), b.display())))
}

#[test]
fn what_is_written() {
    check(&[], &[write("a", "1\n")], &[("a", "1\n")]);
    check(&[], &[write("x/y/z", "1\n")], &[("x/y/z", "1\n")]);
    check(&[("a", "1")], &[write("a", "2")], &[("a", "2")]);
    check(&[("a", "1")], &[make("a", New::Gone, Expect::Exists), write("b", "2")], &[("b", "2")]);
    check(&[("a", "1")], &[moved("a", "d/b", New::Same)], &[("d/b", "1")]);
    check(&[("a", "1"), ("b", "2")], &[moved("a", "b", New::Same)], &[("b", "1")]);
    check(&[("a", "1"), ("b", "2")], &[moved("a", "b", whole("3"))], &[("b", "3")]);
    check(&[("a/f", "1")], &[moved("a", "b", New::Same)], &[("b/f", "1")]);
    check(&[("a", "1")], &[moved("a", "./a", whole("2"))], &[("a", "2")]);
    check(&[("a", "1")], &[make("a", New::Same, Expect::Exists)], &[("a", "1")]);
}

#[test]
fn splices_touch_their_bytes_only() {
    let edit = |name: &str, range, text: &str| make(name, New::Splices(vec![(range, text.into())]), Expect::Exists);
    check(&[("a", "foo\r\nbar\r\n")], &[edit("a", 0..3, "x\r\ny")], &[("a", "x\r\ny\r\nbar\r\n")]);
    check(&[("a", "\u{FEFF}one\r\ntwo\n")], &[edit("a", 0..3, "1")], &[("a", "\u{FEFF}1\r\ntwo\n")]);
}

#[test]
fn a_whole_text_takes_the_form_it_is_told() {
    let form = TextForm { bom: true, eol: Eol::Crlf, ..TextForm::default() };
    let new = New::Whole { text: "a\nb\n".into(), like: Some(form) };
    check(&[("a", "x")], &[make("a", new, Expect::Anything)], &[("a", "\u{FEFF}a\r\nb\r\n")]);
}

#[test]
fn reports() {
    let tree = Tree::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let changes = [
        write("new", "n\n"),
        write("a", "2\n"),
        make("b", New::Gone, Expect::Exists),
        moved("c", "sub/d", whole("2\n")),
    ];
    let outcome = done(tree.run(&changes));
    let report = |path: &str, to: Option<&str>, kind, diff: &str, stamp: Option<&str>| ChangeDone {
        path: tree.path(path),
        to: to.map(|to| tree.path(to)),
        kind,
        diff: diff.into(),
        stamp: stamp.map(|name| tree.stamp(name)),
    };
    let expected = vec![
        report("new", None, ChangeKind::Add, "@@ -0,0 +1 @@\n+n\n", Some("new")),
        report("a", None, ChangeKind::Update, "@@ -1 +1 @@\n-1\n+2\n", Some("a")),
        report("b", None, ChangeKind::Delete, "@@ -1 +0,0 @@\n-1\n", None),
        report("c", Some("sub/d"), ChangeKind::Update, "@@ -1 +1 @@\n-1\n+2\n", Some("sub/d")),
    ];
    assert_eq!(outcome, expected);
}

#[test]
fn one_bad_change_leaves_all_as_it_was() {
    let good = || vec![write("new/x", "n"), write("a", "2"), make("b", New::Gone, Expect::Exists)];
    let files = &[("a", "1"), ("b", "1"), ("c", "1"), ("d/e", "1")];
    let with = |bad: Change| {
        let mut list = good();
        list.push(bad);
        list
    };
    let missing = "No such file or directory";
    check_refused(files, &with(make("no", New::Gone, Expect::Exists)), |t| io(t, "no", libc::ENOENT, missing));
    check_refused(files, &with(make("no", New::Splices(vec![]), Expect::Anything)), |t| {
        io(t, "no", libc::ENOENT, missing)
    });
    check_refused(files, &with(make("no", whole("x"), Expect::Exists)), |t| io(t, "no", libc::ENOENT, missing));
    check_refused(files, &with(write("c/x", "n")), |t| io(t, "c/x", libc::ENOTDIR, "Not a directory"));
    check_refused(files, &with(make("c", whole("x"), Expect::Absent)), |t| {
        Outcome::Refused(Refusal::Stale { path: t.path("c") })
    });
    check_refused(files, &with(write("d", "n")), |t| {
        Outcome::Failed(Failure::NotAFile { path: t.path("d"), kind: FileKind::Folder })
    });
    check_refused(files, &with(make("d", New::Gone, Expect::Exists)), |t| {
        Outcome::Failed(Failure::NotAFile { path: t.path("d"), kind: FileKind::Folder })
    });
    check_refused(files, &with(write("./a", "3")), |t| together(&t.path("a"), &t.path("a")));
    check_refused(files, &[write("x", "1"), write("x/y", "2")], |t| together(&t.path("x"), &t.path("x/y")));
    check_refused(files, &[moved("d", "d/inner", New::Same)], |t| together(&t.path("d"), &t.path("d/inner")));
}

#[test]
fn versions() {
    let tree = Tree::new(&[("a", "1\n")]);
    let then = tree.stamp("a");
    let edit = |stamp: &Stamp| make("a", New::Splices(vec![(0..1, "2".into())]), Expect::Unchanged(stamp.clone()));
    // Only touched: the same version.
    fs::write(tree.path("a"), "1\n").unwrap();
    let stamp = done(tree.run(&[edit(&then)]))[0].stamp.clone().unwrap();
    assert_eq!(tree.content(), [("a".to_owned(), "2\n".to_owned())]);
    assert_eq!(tree.run(&[edit(&then)]), Outcome::Refused(Refusal::Stale { path: tree.path("a") }));
    done(tree.run(&[edit(&stamp)]));
    fs::remove_file(tree.path("a")).unwrap();
    assert_eq!(tree.run(&[edit(&stamp)]), Outcome::Refused(Refusal::Stale { path: tree.path("a") }));
}

#[test]
fn what_is_not_utf8_is_not_spliced() {
    let tree = Tree::new(&[]);
    fs::write(tree.path("a"), b"caf\xE9\nline\n").unwrap();
    let edit = make("a", New::Splices(vec![(5..9, "LINE".into())]), Expect::Exists);
    let expected = Outcome::Failed(Failure::NotText { path: tree.path("a"), at: 3, len: 1 });
    assert_eq!(tree.run(&[edit]), expected);
    assert_eq!(fs::read(tree.path("a")).unwrap(), b"caf\xE9\nline\n");
}

#[test]
fn modes_links_and_hard_links_stay() {
    let tree = Tree::new(&[("script", "1"), ("one", "1")]);
    fs::set_permissions(tree.path("script"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::hard_link(tree.path("one"), tree.path("two")).unwrap();
    symlink("script", tree.path("link")).unwrap();
    symlink("later/file", tree.path("dangling")).unwrap();
    done(tree.run(&[write("link", "22"), write("two", "222"), write("dangling", "2")]));
    let expected = [
        ("dangling", "-> later/file"),
        ("later/file", "2"),
        ("link", "-> script"),
        ("one", "222"),
        ("script", "22"),
        ("two", "222"),
    ];
    assert_eq!(tree.content(), expected.map(|(n, t)| (n.to_owned(), t.to_owned())));
    assert_eq!(fs::metadata(tree.path("script")).unwrap().mode() & 0o7777, 0o750);
    // A move keeps the mode, a removal takes the link and leaves its target.
    done(tree.run(&[moved("script", "tool", whole("3")), make("dangling", New::Gone, Expect::Exists)]));
    assert_eq!(fs::metadata(tree.path("tool")).unwrap().mode() & 0o7777, 0o750);
    assert!(tree.path("later/file").exists() && !tree.path("dangling").is_symlink());
}

#[test]
fn a_failure_while_writing_is_undone() {
    let tree = Tree::new(&[("a", "1"), ("b", "1"), ("c", "1"), ("hard", "long content")]);
    fs::hard_link(tree.path("hard"), tree.path("other")).unwrap();
    let before = tree.content();
    let place = |name: &str| place::locate(&tree.path(name), true).unwrap();
    let put = |name: &str, old: Option<Seen>| Work::Put {
        shown: tree.path(name),
        at: place(name),
        old,
        held: fs::read(tree.path(name)).ok(),
        bytes: b"2".to_vec(),
        mode: None,
        source: None,
    };
    let seen = |name: &str| Seen::of_entry(&tree.path(name)).unwrap();
    let works = vec![
        put("a", Some(seen("a"))),
        put("x/y/new", None),
        put("hard", Some(seen("hard"))),
        Work::Remove { shown: tree.path("b"), at: place("b"), seen: seen("b") },
        Work::Rename { shown: tree.path("c"), from: place("c"), to: place("moved"), over: None },
        // Changed since it was looked at.
        put("other", Some(seen("a"))),
    ];
    let no = commit::commit(works, Fence::none()).unwrap_err();
    assert!(matches!(&no, No::Refused(Refusal::Stale { path }) if *path == tree.path("other")), "{no:?}");
    assert_eq!(tree.content(), before);
}

#[test]
fn a_full_disk_loses_nothing_and_names_the_file() {
    // The limit of file sizes stands in for a full disk; it is set in a process of its own.
    let exe = std::env::current_exe().unwrap();
    let tree = Tree::new(&[("a", "old a"), ("b", "old b"), ("hard", "old")]);
    fs::hard_link(tree.path("hard"), tree.path("other")).unwrap();
    let before = tree.content();
    let output = std::process::Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""])
        .arg(exe)
        .args(["--exact", "files::change::tests::under_a_limit", "--ignored", "--nocapture"])
        .env("TOOLS_TEST_TREE", tree.root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(tree.content(), before);
}

#[test]
#[ignore = "run by a_full_disk_loses_nothing_and_names_the_file"]
fn under_a_limit() {
    let Some(root) = std::env::var_os("TOOLS_TEST_TREE").map(PathBuf::from) else { return };
    let big = "x".repeat(1 << 20);
    for (first, large) in [("a", "b"), ("a", "new"), ("a", "hard")] {
        let outcome = change(&[write(first, "new"), write(large, &big)], &root, Fence::none());
        let expected = Failure::Io { path: root.join(large), errno: libc::EFBIG, message: "File too large".into() };
        assert_eq!(outcome, Outcome::Failed(expected));
    }
}

#[test]
fn the_fence_is_that_of_the_sandbox() {
    let tree = Tree::new(&[("ws/f", "1"), ("ws/.git/config", "1"), ("out/f", "1")]);
    symlink("../out/f", tree.path("ws/to_out")).unwrap();
    symlink("f", tree.path("ws/to_in")).unwrap();
    symlink("../out", tree.path("ws/dir_out")).unwrap();
    let mut policy = SandboxPolicy::new(SandboxMode::WorkspaceWrite);
    (policy.exclude_slash_tmp, policy.exclude_tmpdir) = (true, true);
    let around = Surroundings { tmpdir: None, home: None, state: &tree.path("state") };
    let spec = Spec::resolve(&policy, &tree.path("ws"), &around).unwrap();
    let read_only = Spec::resolve(&SandboxPolicy::new(SandboxMode::ReadOnly), &tree.path("ws"), &around).unwrap();
    let run =
        |change: Change, spec: &Spec, outside| super::change(&[change], &tree.path("ws"), Fence::new(spec, outside));
    let before = tree.content();
    for path in
        ["../out/f", "../out/new", "to_out", "dir_out/f", ".git/config", ".git/new", ".codex/config.toml", "/new"]
    {
        let shown = place::tidy(&tree.path("ws").join(path));
        let refused = Outcome::Refused(Refusal::Sandbox { path: shown, read_only: false });
        assert_eq!(run(write(path, "2"), &spec, false), refused, "{path}");
    }
    let shown = tree.path("out/g");
    assert_eq!(
        run(moved("f", "../out/g", New::Same), &spec, false),
        Outcome::Refused(Refusal::Sandbox { path: shown, read_only: false })
    );
    assert_eq!(
        run(write("f", "2"), &read_only, false),
        Outcome::Refused(Refusal::Sandbox { path: tree.path("ws/f"), read_only: true })
    );
    assert_eq!(tree.content(), before);
    done(run(write("to_in", "2"), &spec, false));
    done(run(write("deep/er/f", "2"), &spec, false));
    done(run(make("to_out", New::Gone, Expect::Exists), &spec, false));
    done(run(write("../out/f", "3"), &spec, true));
    assert_eq!(fs::read_to_string(tree.path("ws/f")).unwrap(), "2");
    assert_eq!(fs::read_to_string(tree.path("out/f")).unwrap(), "3");
    assert!(!tree.path("ws/to_out").is_symlink());
}

#[test]
fn what_may_not_be_written_is_said_with_its_reason() {
    let tree = Tree::new(&[("a", "1")]);
    fs::set_permissions(tree.path("a"), fs::Permissions::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(tree.path("a")).is_ok() {
        return; // root may
    }
    assert_eq!(tree.run(&[write("a", "2")]), io(&tree, "a", libc::EACCES, "Permission denied"));
}
