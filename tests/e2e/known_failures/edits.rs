//! C: edits keep the bytes that they do not mean, and reach no further than the shell does. Through `apply_patch` (native)
//! and Edit (claude-code-bare); mini-swe-agent edits by its shell.
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use pretty_assertions::assert_eq;
use protocol::WireId::Chat;
use serde_json::json;

use super::{
    HARNESSES,
    speak::{Block, call, over, results_in, say, shell, text},
};
use crate::place::{Place, Ran};

/// One replacement in `f`, told as a patch's lines and as an exact edit.
#[derive(Clone, Copy)]
struct Edit<'a> {
    before: &'a [u8],
    patch: &'a str,
    old: &'a str,
    new: &'a str,
}

/// What came of an edit.
#[derive(Debug)]
struct Edited {
    bytes: Vec<u8>,
    /// What the model was told last.
    told: String,
    /// What the Read tool showed (claude-code-bare).
    shown: String,
    ran: Ran,
}

fn patch_call(id: &str, path: &str, lines: &str) -> Block {
    let input = format!("*** Begin Patch\n*** Update File: {path}\n@@\n{lines}\n*** End Patch\n");
    call(id, "apply_patch", &json!({"input": input}))
}

fn perform(harness: &str, edit: Edit) -> Edited {
    let place = super::place(Chat, harness, Vec::new());
    let file = place.file("f");
    fs::write(&file, edit.before).expect("the file");
    let calls = match harness {
        "native" => vec![patch_call("edit", "f", edit.patch)],
        _ => vec![
            call("read", "Read", &json!({"file_path": file})),
            call("edit", "Edit", &json!({"file_path": file, "old_string": edit.old, "new_string": edit.new})),
        ],
    };
    let steps = calls.into_iter().map(|call| say(vec![call]).step(Chat)).chain([say(vec![text("done")]).step(Chat)]);
    let place = replay(place, harness, steps.collect());
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let results = results_in(Chat, &place.requests().last().expect("requests").json());
    let told = results.last().expect("a result").1.clone();
    Edited { bytes: fs::read(&file).expect("the file is still there"), told, shown: results[0].1.clone(), ran }
}

/// The same place with a model that says these steps.
fn replay(mut place: Place, harness: &str, steps: Vec<demo::scripted::Step>) -> Place {
    place.server = demo::scripted::Server::steps(steps).expect("a port");
    place.write_config(&format!("harness = \"{harness}\""));
    place
}

const EDITORS: [&str; 2] = ["native", "claude-code-bare"];

/// The edit is made, and the file holds `after`.
#[track_caller]
fn check(name: &str, edit: Edit, after: &[u8]) {
    for harness in EDITORS {
        let edited = perform(harness, edit);
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert_eq!(text(&edited.bytes), text(after), "{name}, {harness}: {}", edited.told);
    }
}

#[test]
fn case_24_line_ends_stay() {
    let patch = "-foo\n+one\n+two";
    let edit = |before| Edit { before, patch, old: "foo", new: "one\ntwo" };
    check("CRLF", edit(b"foo\r\nbar\r\n"), b"one\r\ntwo\r\nbar\r\n");
    check("LF", edit(b"foo\nbar\n"), b"one\ntwo\nbar\n");
    let over_two_lines = Edit {
        before: b"foo\r\nbar\r\nbaz\r\n",
        patch: " foo\n-bar\n+one\n+two\n baz",
        old: "foo\nbar\nbaz",
        new: "foo\none\ntwo\nbaz",
    };
    check("CRLF, context around", over_two_lines, b"foo\r\none\r\ntwo\r\nbaz\r\n");
    let no_last = Edit { before: b"foo\r\nbar", patch: "-foo\n+one", old: "foo", new: "one" };
    for harness in EDITORS {
        let bytes = perform(harness, no_last).bytes;
        assert!(bytes.starts_with(b"one\r\nbar"), "{harness}: {}", bytes.escape_ascii());
    }
}

#[test]
fn case_24_a_mixed_file_keeps_the_end_of_each_untouched_line() {
    let edit = Edit { before: b"a\r\nfoo\nb\nc\r\nd\n", patch: "-foo\n+bar", old: "foo", new: "bar" };
    for harness in EDITORS {
        let bytes = perform(harness, edit).bytes;
        let text = bytes.escape_ascii().to_string();
        assert!(text.starts_with(r"a\r\nbar"), "{harness}: {text}");
        assert!(text.ends_with(r"b\nc\r\nd\n"), "{harness}: {text}");
    }
}

#[test]
fn case_25_a_byte_order_mark_stays_and_is_not_shown() {
    let edit = Edit {
        before: b"\xef\xbb\xbfconst value = 1;\nlast\n",
        patch: "-const value = 1;\n+const value = 2;",
        old: "const value = 1;",
        new: "const value = 2;",
    };
    check("BOM", edit, b"\xef\xbb\xbfconst value = 2;\nlast\n");
    let shown = perform("claude-code-bare", edit).shown;
    assert!(shown.contains("const value = 1;") && !shown.contains('\u{feff}'), "{shown:?}");
    let from_the_start = Edit { old: "const value = 1;\nlast", new: "const value = 2;\nlast", ..edit };
    check("BOM, from the first line on", from_the_start, b"\xef\xbb\xbfconst value = 2;\nlast\n");
}

#[test]
fn case_27_characters_that_look_alike() {
    for (odd, ascii) in [('\u{a0}', " "), ('\u{202f}', " "), ('\u{2011}', "-"), ('\u{2019}', "'")] {
        let before = format!("first\nlet x{odd}= 1;\nlast\n");
        let (line, new) = (format!("let x{ascii}= 1;"), "let x = 2;");
        let patch = format!(" first\n-{line}\n+{new}");
        let edit = Edit { before: before.as_bytes(), patch: &patch, old: &line, new };
        for harness in EDITORS {
            let edited = perform(harness, edit);
            let done = edited.bytes == format!("first\n{new}\nlast\n").as_bytes();
            let named = format!("U+{:04X}", u32::from(odd));
            let refused =
                edited.bytes == before.as_bytes() && edited.told.contains(&named) && edited.told.contains('2');
            assert!(done || refused, "{harness}, {named}: {}", edited.told);
        }
    }
}

const NOT_TOO_MUCH: u64 = 300 << 20;

/// Either the bytes that were meant are changed and no others, or none at all, and the answer says why.
#[track_caller]
fn only_what_was_meant(name: &str, edit: Edit, after: &[u8]) {
    for harness in EDITORS {
        let edited = perform(harness, edit);
        let kept = edited.bytes == edit.before && !edited.told.is_empty();
        assert!(edited.bytes == after || kept, "{name}, {harness}: {}", edited.told);
        assert!(edited.ran.peak < NOT_TOO_MUCH, "{name}, {harness}: {} MiB", edited.ran.peak >> 20);
        assert!(!edited.ran.stderr.contains("panicked"), "{name}, {harness}: {}", edited.ran.stderr);
    }
}

#[test]
fn case_28_files_that_are_not_utf8() {
    let edit = |before| Edit { before, patch: "-three\n+drei", old: "three", new: "drei" };
    only_what_was_meant("latin-1", edit(b"caf\xe9\ntwo\nthree\nfour\xff\n"), b"caf\xe9\ntwo\ndrei\nfour\xff\n");
    only_what_was_meant("binary", edit(b"\x00\x01\xff\nthree\n\x00\n"), b"\x00\x01\xff\ndrei\n\x00\n");
    let wide: Vec<u8> = "\u{feff}one\nthree\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let after: Vec<u8> = "\u{feff}one\ndrei\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    only_what_was_meant("UTF-16", edit(&wide), &after);
}

#[test]
fn case_28_a_very_large_file() {
    let mut before = b"one\ntwo\nthree\n".to_vec();
    before.extend(b"a line of some length that comes again and again\n".iter().cycle().take(60 << 20));
    let mut after = b"one\ntwo\ndrei\n".to_vec();
    after.extend_from_slice(&before[14..]);
    let edit = Edit { before: &before, patch: " two\n-three\n+drei", old: "three", new: "drei" };
    only_what_was_meant("60 MiB", edit, &after);
}

/// Places that the sandboxed shell cannot write: each edit tool must be refused there too.
struct Outside {
    place: Place,
    targets: Vec<PathBuf>,
}

fn outside(harness: &str) -> Outside {
    let place = super::place(Chat, harness, Vec::new());
    let sibling = place.root().join("sibling");
    fs::create_dir(&sibling).expect("a folder");
    symlink(sibling.join("f"), place.file("link")).expect("a link");
    fs::write(place.file(".git/config"), "old\n").expect("a file");
    let targets =
        vec![place.home().join(".profile_test"), sibling.join("f"), place.file("link"), place.file(".git/config")];
    for target in &targets {
        fs::write(target, "old\n").expect("a file");
    }
    Outside { place, targets }
}

/// The same with all of /tmp not writable: there the tests live.
const NO_TMP: [&str; 2] = ["-c", "sandbox_workspace_write.exclude_slash_tmp=true"];

fn ways_to_edit(harness: &str, target: &Path, relative: &str) -> Vec<(&'static str, Vec<Block>)> {
    let mut ways = vec![("the shell", vec![shell(harness, "s", &format!("echo new > '{}'", target.display()))])];
    match harness {
        "native" => {
            ways.push(("apply_patch", vec![patch_call("p", &target.display().to_string(), "-old\n+new")]));
            ways.push(("apply_patch, relative", vec![patch_call("p", relative, "-old\n+new")]));
            let heredoc = format!(
                "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: {relative}\n@@\n-old\n+new\n*** End Patch\nEOF"
            );
            ways.push(("apply_patch in the shell", vec![shell(harness, "p", &heredoc)]));
        }
        "claude-code-bare" => ways.push((
            "Edit",
            vec![
                call("r", "Read", &json!({"file_path": target})),
                call("e", "Edit", &json!({"file_path": target, "old_string": "old", "new_string": "new"})),
            ],
        )),
        _ => {}
    }
    ways
}

#[test]
fn case_30_edit_tools_reach_no_further_than_the_shell() {
    let denied = [
        "Read-only file system",
        "Permission denied",
        "denied",
        "rejected",
        "haven't granted",
        "cannot create",
        "outside of",
    ];
    for harness in HARNESSES {
        for at in 0..4 {
            let count = ways_to_edit(harness, Path::new("x"), "x").len();
            for way in 0..count {
                let Outside { place, targets } = outside(harness);
                let relative = ["../home/.profile_test", "../sibling/f", "link", ".git/config"][at];
                let (name, calls) = ways_to_edit(harness, &targets[at], relative).swap_remove(way);
                let mut steps: Vec<_> = calls.into_iter().map(|call| say(vec![call]).step(Chat)).collect();
                steps.push(over(harness).step(Chat));
                let place = replay(place, harness, steps);
                let ran = place.exec(&NO_TMP);
                assert_eq!(ran.code, Some(0), "{ran:?}");
                let n = place.requests().len() - 1;
                let told = results_in(Chat, &place.request(n)).pop().expect("a result").1;
                let what = format!("{harness}, {name}, {relative}: {told}");
                for target in &targets {
                    assert_eq!(fs::read_to_string(target).expect("a file"), "old\n", "{what}");
                }
                assert!(fs::symlink_metadata(place.file("link")).expect("the link").is_symlink(), "{what}");
                assert!(denied.iter().any(|word| told.contains(word)), "{what}");
            }
        }
    }
}

/// And no less far: what the shell may write beside the workspace, they may too.
#[test]
fn case_30_edit_tools_reach_as_far_as_the_shell() {
    for harness in HARNESSES {
        let count = ways_to_edit(harness, Path::new("x"), "x").len();
        for way in 0..count {
            let Outside { place, targets } = outside(harness);
            let (name, calls) = ways_to_edit(harness, &targets[1], "../sibling/f").swap_remove(way);
            let mut steps: Vec<_> = calls.into_iter().map(|call| say(vec![call]).step(Chat)).collect();
            steps.push(over(harness).step(Chat));
            let place = replay(place, harness, steps);
            let ran = place.exec(&[NO_TMP[0], NO_TMP[1], "--add-dir", "../sibling"]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            assert_eq!(fs::read_to_string(&targets[1]).expect("a file"), "new\n", "{harness}, {name}: {ran:?}");
        }
    }
}

#[test]
fn a_patch_may_have_any_number_of_files() {
    let names: Vec<String> = (0..100).map(|n| format!("f{n:02}")).collect();
    let files: String = names.iter().map(|name| format!("*** Add File: {name}\n+x\n")).collect();
    let patch = call("edit", "apply_patch", &json!({"input": format!("*** Begin Patch\n{files}*** End Patch\n")}));
    let steps = vec![say(vec![patch]).step(Chat), say(vec![text("done")]).step(Chat)];
    let place = replay(super::place(Chat, "native", Vec::new()), "native", steps);
    let ran = place.exec(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let made: Vec<&String> = names.iter().filter(|name| place.file(name).exists()).collect();
    assert_eq!(made, names.iter().collect::<Vec<_>>(), "{ran:?}");
}
