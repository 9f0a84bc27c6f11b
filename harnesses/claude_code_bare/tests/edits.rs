//! Edit: checks in order, what counts as read, line ends.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn edits() {
    let mut s =
        Stage::new(&[("a.txt", A), ("sub/x.txt", "x\n"), ("empty.txt", ""), ("n.ipynb", "{}"), ("u.txt", "one\n")]);
    s.edit("/w/a.txt", "alpha", "ALPHA", Some(true), UNREAD);
    s.read("/w/a.txt", A_READ);
    s.edit("/w/a.txt", "alpha", "ALPHA", None, CURRENT);
    s.edit(
        "/w/a.txt",
        "zzz",
        "y",
        Some(true),
        "<tool_use_error>String to replace not found in file.\nString: zzz</tool_use_error>",
    );
    s.edit("/w/a.txt", "beta", "B", Some(true), "<tool_use_error>Found 2 matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: beta</tool_use_error>");
    s.check(
        "Edit",
        json!({"file_path": "/w/a.txt", "old_string": "beta", "new_string": "B", "replace_all": true}),
        None,
        "The file /w/a.txt has been updated. All occurrences were successfully replaced. (file state is current in your context — no need to Read it back)",
    );
    assert_eq!(s.text("a.txt"), "ALPHA\nB\ngamma\nB\n");
    s.edit(
        "/w/a.txt",
        "B",
        "B",
        Some(true),
        "<tool_use_error>No changes to make: old_string and new_string are exactly the same.</tool_use_error>",
    );
    s.edit(
        "/w/a.txt",
        "",
        "B",
        Some(true),
        "<tool_use_error>Cannot create new file - file already exists.</tool_use_error>",
    );
    s.edit("/w/a.txt", "gamma\n", "", None, CURRENT);
    s.edit("a.txt", "ALPHA", "again", None, "The file a.txt has been updated successfully. (file state is current in your context — no need to Read it back)");
    s.edit(
        "/w/empty.txt",
        "",
        "",
        Some(true),
        "<tool_use_error>No changes to make: old_string and new_string are exactly the same.</tool_use_error>",
    );
    s.edit(
        "/w/nofile.txt",
        "a",
        "b",
        Some(true),
        "<tool_use_error>File does not exist. Note: your current working directory is /w.</tool_use_error>",
    );
    s.edit("/w/a.tx", "a", "b", Some(true), "<tool_use_error>File does not exist. Note: your current working directory is /w. Did you mean a.txt?</tool_use_error>");
    s.edit(
        "/w/sub",
        "a",
        "b",
        Some(true),
        "<tool_use_error>Error calling tool (Edit): EISDIR: illegal operation on a directory, read</tool_use_error>",
    );
    s.edit(
        "/w/n.ipynb",
        "1",
        "2",
        Some(true),
        "<tool_use_error>File is a Jupyter Notebook. Use the NotebookEdit to edit this file.</tool_use_error>",
    );
    s.edit("/w/new/f.txt", "", "made  \n", None, "The file /w/new/f.txt has been updated successfully. (file state is current in your context — no need to Read it back)");
    assert_eq!(s.text("new/f.txt"), "made  \n");
    s.edit("/w/new/f.txt", "made", "kept", None, "The file /w/new/f.txt has been updated successfully. (file state is current in your context — no need to Read it back)");
    s.edit("/w/empty.txt", "", "now\n", Some(true), "File has not been read yet. Read it first before writing to it.");
    s.read("/w/empty.txt", "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>");
    s.edit("/w/empty.txt", "", "now\n", None, "The file /w/empty.txt has been updated successfully. (file state is current in your context — no need to Read it back)");
    s.model = ModelInfo::fallback("claude-opus-4-8");
    s.edit("/w/u.txt", "one", "two", None, "The file /w/u.txt has been updated successfully.");
}

#[test]
fn edits_of_a_file_that_changed_meanwhile() {
    let mut s = Stage::new(&[("a.txt", A)]);
    s.read("/w/a.txt", A_READ);
    s.write("a.txt", "alpha\nbeta\ndelta\nbeta\n");
    s.edit("/w/a.txt", "alpha", "ALPHA", None, MEANWHILE);
    s.edit("/w/a.txt", "ALPHA", "omega", None, "The file /w/a.txt has been updated successfully.");
    s.write("a.txt", "omega\nbeta\nbeta\n");
    s.edit("/w/a.txt", "zzz", "y", Some(true), MODIFIED);
    s.edit("/w/a.txt", "beta", "B", Some(true), MODIFIED);
    s.edit(
        "/w/a.txt",
        "",
        "B",
        Some(true),
        "<tool_use_error>Cannot create new file - file already exists.</tool_use_error>",
    );
    s.refuse = Some(Refusal::Stale { path: "/w/a.txt".into() });
    s.edit("/w/a.txt", "omega", "o", Some(true), MODIFIED);
    s.read("/w/a.txt", "1\tomega\n2\tbeta\n3\tbeta\n4\t");
    s.refuse = Some(Refusal::NobodyToAsk { escalation: false });
    s.edit(
        "/w/a.txt",
        "omega",
        "o",
        Some(true),
        "Claude requested permissions to write to /w/a.txt, but you haven't granted it yet.",
    );
    s.edit("/w/a.txt", "omega", "o", None, CURRENT);
}

#[test]
fn what_counts_as_read() {
    let part = |file: &str| format!("The file /w/{file} has been updated successfully.");
    let whole =
        |file: &str| format!("{} (file state is current in your context — no need to Read it back)", part(file));
    let names: Vec<String> = ('b'..='m').map(|c| format!("{c}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "one\ntwo\nthree\n")).collect();
    let mut s = Stage::new(&files);
    s.bash("cat b.txt", ran("one\ntwo\nthree\n", Exit::Code(0)), Some(false), "one\ntwo\nthree");
    s.edit("/w/b.txt", "one", "ONE", None, &whole("b.txt"));
    s.bash("head -2 c.txt", ran("one\ntwo\n", Exit::Code(0)), Some(false), "one\ntwo");
    s.edit("/w/c.txt", "one", "ONE", None, &part("c.txt"));
    for (command, is_whole) in
        [("head -5 i.txt", true), ("head -n 4 j.txt", false), ("sed -n 1,3p k.txt", false), ("head l.txt", true)]
    {
        s.bash(command, ran("one\ntwo\nthree\n", Exit::Code(0)), Some(false), "one\ntwo\nthree");
        let file = command.rsplit(' ').next().unwrap();
        s.edit(&format!("/w/{file}"), "one", "ONE", None, &if is_whole { whole(file) } else { part(file) });
    }
    s.check("Read", json!({"file_path": "/w/m.txt", "limit": 3}), None, "1\tone\n2\ttwo\n3\tthree");
    s.edit("/w/m.txt", "one", "ONE", None, &part("m.txt"));
    s.bash("cat d.txt e.txt", ran("x", Exit::Code(0)), Some(false), "x");
    s.edit("/w/d.txt", "one", "ONE", Some(true), UNREAD);
    s.check("Read", json!({"file_path": "/w/e.txt", "limit": 1}), None, "1\tone");
    s.edit("/w/e.txt", "three", "THREE", None, &part("e.txt"));
    s.check("Read", json!({"file_path": "/w/f.txt", "limit": 100}), None, "1\tone\n2\ttwo\n3\tthree\n4\t");
    s.edit("/w/f.txt", "one", "1", None, &whole("f.txt"));
    s.bash("cat g.txt nofile", ran("one\n", Exit::Code(1)), Some(true), "Exit code 1\none");
    s.edit("/w/g.txt", "one", "1", Some(true), UNREAD);
    s.bash("grep -n one h.txt", ran("1:one\n", Exit::Code(0)), Some(false), "1:one");
    s.edit("/w/h.txt", "one", "1", None, &part("h.txt"));
}

#[test]
fn line_ends_marks_and_look_alikes() {
    let mut s =
        Stage::new(&[("crlf.txt", "a\r\nb\r\n"), ("bom.txt", "\u{feff}const v;\n"), ("nbsp.txt", "a\u{a0}b\n")]);
    let ok = |file: &str| {
        format!(
            "The file /w/{file} has been updated successfully. (file state is current in your context — no need to Read it back)"
        )
    };
    s.files.insert("/w/latin.txt".into(), b"caf\xe9\nx\n".to_vec());
    s.files.insert("/w/nul.txt".into(), b"a\0b\n".to_vec());
    s.read("/w/crlf.txt", "1\ta\n2\tb\n3\t");
    s.edit("/w/crlf.txt", "a\nb", "x\ny\nz", None, &ok("crlf.txt"));
    assert_eq!(s.text("crlf.txt"), "x\r\ny\r\nz\r\n");
    s.read("/w/bom.txt", "1\tconst v;\n2\t");
    s.edit("/w/bom.txt", "const", "let", None, &ok("bom.txt"));
    assert_eq!(s.text("bom.txt"), "\u{feff}let v;\n");
    s.read("/w/nbsp.txt", "1\ta\u{a0}b\n2\t");
    // The note is ours.
    s.edit("/w/nbsp.txt", "a b", "c", Some(true), "<tool_use_error>String to replace not found in file.\nString: a b\nNote: line 1 of the file has U+00A0 (no-break space) where old_string has U+0020 (space). Send the character that the file has, or change the line with a shell command.</tool_use_error>");
    for (file, shown, refused) in [
        (
            "/w/latin.txt",
            "1\tcaf\u{fffd}\n2\tx\n3\t\n\n[This file is not valid UTF-8",
            "<tool_use_error>File is not valid UTF-8: ",
        ),
        (
            "/w/nul.txt",
            "1\ta\0b\n2\t\n\n[This file has NUL bytes in its first 8 KB",
            "<tool_use_error>File has NUL bytes in its first 8 KB: ",
        ),
    ] {
        let read = s.call("Read", &json!({"file_path": file}).to_string());
        assert!(read.content.text().starts_with(shown), "{read:?}");
        let edit = s.call("Edit", &json!({"file_path": file, "old_string": "x", "new_string": "y"}).to_string());
        assert!(edit.error == Some(true) && edit.content.text().starts_with(refused), "{edit:?}");
    }
}

#[test]
fn a_command_that_changes_read_files_in_place_says_so() {
    let mut s = Stage::new(&[("a.txt", A)]);
    s.read("/w/a.txt", A_READ);
    s.write("a.txt", "changed\n");
    s.bash(
        "sed -i s/x/y/ a.txt other.txt",
        ran("done\n", Exit::Code(0)),
        Some(false),
        "done\n[This command modified 1 file you've previously read: a.txt. Call Read before editing.]",
    );
    s.bash(
        "(cd sub && sed -i s/x/y/ x.txt); sed -n 1p a.txt > /dev/null; cd sub",
        ran_to("", "/w/sub"),
        Some(false),
        "[This command modified 1 file you've previously read: ../a.txt. Call Read before editing.]",
    );
    s.bash(
        "cd /usr; sed -i s/x/y/ a.txt",
        ran_to("", "/usr"),
        Some(false),
        "Shell cwd was reset to /w\n[This command modified 1 file you've previously read: a.txt. Call Read before editing.]",
    );
    // That look is no reading: the edit still finds an older version in the record.
    s.edit("/w/a.txt", "zzz", "y", Some(true), MODIFIED);
}

#[test]
fn many_changed_files_are_counted() {
    let names: Vec<String> = (0..7).map(|n| format!("r{n}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a\n")).collect();
    let mut s = Stage::new(&files);
    for name in &names {
        s.read(&format!("/w/{name}"), "1\ta\n2\t");
        s.write(name, "changed\n");
    }
    s.bash("ls | xargs sed -i s/a/b/", ran("", Exit::Code(0)), Some(false), "[This command modified 7 files you've previously read: r6.txt, r5.txt, r4.txt, r3.txt, r2.txt and 2 more. Call Read before editing.]");
}
