//! read_file, write_file, edit and notebook_edit.
use pretty_assertions::assert_eq;

use super::*;

const UNREAD: &str = "has not been read in this session. Use the read_file tool first to load the current content";

#[test]
fn reads() {
    let mut s = stage(&[
        ("a.txt", "alpha\nbeta\ngamma\nbeta\n"),
        ("empty.txt", ""),
        ("nl.txt", "\n"),
        ("crlf.txt", "a\r\nb\r\n"),
        ("trail.md", "one  \ntwo\t\n"),
        ("bin.dat", "a\0b"),
        ("x.zip", "text"),
        ("i.png", "png"),
        ("fake.png", "text\n"),
        ("sub/x", "x"),
    ]);
    s.read("/w/a.txt", "alpha\nbeta\ngamma\nbeta\n");
    s.read(" /w/sub/../a.txt ", "[File a.txt unchanged since last read in this session — …");
    s.says(
        "read_file",
        json!({"file_path": "/w/a.txt", "offset": "1", "limit": 1}),
        "Showing lines 2-2 of 5 total lines.\n\n---\n\nbeta",
    );
    s.read("/w/a.txt", "[File a.txt unchanged since last read in this session — …");
    s.says("read_file", json!({"file_path": "/w/a.txt", "offset": 0}), "alpha\nbeta\ngamma\nbeta\n");
    s.says(
        "read_file",
        json!({"file_path": "/w/a.txt", "offset": 50}),
        "Showing lines 51-51 of 5 total lines.\n\n---\n\n",
    );
    s.says(
        "read_file",
        json!({"file_path": "/w/empty.txt", "offset": 1}),
        "Showing lines 2-2 of 1 total lines.\n\n---\n\n",
    );
    s.says("read_file", json!({"file_path": "/w/a.txt", "offset": -1}), "Offset must be a non-negative integer");
    s.says("read_file", json!({"file_path": "/w/a.txt", "limit": 0}), "Limit must be a positive integer");
    s.write("a.txt", b"new\n");
    s.read("/w/a.txt", "new\n");
    s.read("/w/empty.txt", "(read_file completed with no output)");
    s.read("/w/nl.txt", "(read_file completed with no output)");
    s.read("/w/crlf.txt", "a\nb\n");
    s.read("/w/trail.md", "one\ntwo\n");
    s.read("/w/bin.dat", "Cannot display content of binary file: bin.dat");
    s.read("/w/x.zip", "Cannot display content of binary file: x.zip");
    s.read("/w/i.png", "[Unsupported image file: \"i.png\". This model does not support image input. …");
    s.read("/w/fake.png", "text\n");
    s.read("/w/nope", "File not found: /w/nope");
    s.read("/w/sub", "Path is a directory, not a file: /w/sub");
    s.read("/dev/null", "Not a regular file: /dev/null");
    s.read("/w/a.txt/b", "Error reading file a.txt/b: ENOTDIR: not a directory, stat '/w/a.txt/b'");
    s.read("a.txt", "File path must be absolute, but was relative: a.txt. You must provide an absolute path.");
    s.read("", "The 'file_path' parameter must be non-empty.");
    s.model.slug = "qwen3-vl-plus".into();
    let image = s.call("read_file", r#"{"file_path":"/w/i.png"}"#);
    assert!(
        matches!(&image.content, Content::Parts(parts) if matches!(parts.as_slice(), [Part::Image { .. }])),
        "{image:?}"
    );
}

#[test]
fn reads_of_much() {
    let rows: String = (1..=3_000).map(|n| format!("row {n} {}\n", "x".repeat(30))).collect();
    let mut s = stage(&[("rows.txt", &rows), ("lines.txt", &"x\n".repeat(3_000))]);
    let shown = s.call("read_file", r#"{"file_path":"/w/rows.txt"}"#).content.text();
    assert!(
        shown.starts_with("Showing lines 1-644 of 3001 total lines.\n\n---\n\nrow 1 ")
            && shown.ends_with("xxx... [truncated]")
    );
    assert_eq!(shown.len(), "Showing lines 1-644 of 3001 total lines.\n\n---\n\n".len() + 25_015);
    s.says(
        "read_file",
        json!({"file_path": "/w/lines.txt"}),
        &format!("Showing lines 1-1000 of 3001 total lines.\n\n---\n\n{}", vec!["x"; 1_000].join("\n")),
    );
    let more = s.call("read_file", r#"{"file_path":"/w/lines.txt","limit":2000}"#).content.text();
    assert!(more.starts_with("Showing lines 1-2000 of 3001 total lines."));
}

#[test]
fn writes() {
    let mut s = stage(&[("a.txt", "one\n"), ("d/x", "x"), ("crlf.txt", "a\r\n")]);
    let write = |path: &str, content: Value| json!({"file_path": path, "content": content});
    s.says(
        "write_file",
        write("/w/n/new.txt", json!("x")),
        "Successfully created and wrote to new file: /w/n/new.txt.",
    );
    s.says("write_file", write("/w/n/new.txt", json!(5)), "Successfully overwrote file: /w/n/new.txt.");
    assert_eq!(s.text("n/new.txt"), "5");
    s.says("write_file", write("/w/a.txt", json!("x")), &format!("File /w/a.txt {UNREAD} (read the full file — overwriting replaces every byte, so any unseen bytes would be discarded) before overwriting it."));
    s.says(
        "read_file",
        json!({"file_path": "/w/a.txt", "limit": 1}),
        "Showing lines 1-1 of 2 total lines.\n\n---\n\none",
    );
    s.says("write_file", write("/w/a.txt", json!("x")), "Successfully overwrote file: /w/a.txt.");
    s.write("a.txt", b"other");
    s.says("write_file", write("/w/a.txt", json!("y")), "File /w/a.txt has been modified since you last read it (mtime or size changed). Re-read it with the read_file tool before overwriting it to ensure your changes are based on current content.");
    s.says("write_file", write("/w/d", json!("y")), "Path is a directory, not a file: /w/d");
    s.says("write_file", write("rel", json!("y")), "File path must be absolute: rel");
    s.says("write_file", write("/w/a.txt/b", json!("y")), "Could not stat /w/a.txt/b to verify prior read (ENOTDIR). Re-read with the read_file tool, then retry overwriting it.");
    s.says("write_file", json!({"file_path": "/w/x"}), "params must have required property 'content'");
    s.read("/w/crlf.txt", "a\n");
    s.says("write_file", write("/w/crlf.txt", json!("a\nb\n")), "Successfully overwrote file: /w/crlf.txt.");
    assert_eq!(s.text("crlf.txt"), "a\r\nb\r\n");
    s.outcomes = [Outcome::Refused(protocol::Refusal::Sandbox { path: "/x".into(), read_only: false })].into();
    s.says(
        "write_file",
        write("/x", json!("y")),
        "Qwen Code requires permission to use \"write_file\", but that permission was declined. …",
    );
    s.outcomes = [Outcome::Refused(protocol::Refusal::User { feedback: None })].into();
    s.says("write_file", write("/x", json!("y")), "[Operation Cancelled] Reason: User did not allow tool call");
    s.outcomes = [Outcome::Refused(protocol::Refusal::PlanMode { file: "/p".into() })].into();
    s.says(
        "write_file",
        write("/x", json!("y")),
        "Tool blocked by plan mode: \"write_file\" is not a read-only tool. …",
    );
}

#[test]
fn edits() {
    let long: String = (1..=60).map(|n| format!("v{n} = {n}\n")).collect();
    let mut s = stage(&[
        ("a.txt", "line1\nline2\nline3\n"),
        ("dup.txt", "aa\naa\n"),
        ("long.py", &long),
        ("crlf.txt", "one\r\ntwo\r\nthree\r\n"),
        ("d/x", "x"),
        ("lat.txt", "x"),
    ]);
    s.edit("/w/a.txt", "line1", "L", &format!("File /w/a.txt {UNREAD} (a partial read with offset / limit is fine — you only need to have seen the bytes you intend to edit) before editing it."));
    s.call("read_file", r#"{"file_path":"/w/a.txt"}"#);
    s.edit("/w/a.txt", "line1", "LINE1", "The file: /w/a.txt has been updated. Showing lines 1-4 of 4 from the edited file:\n\n---\n\nLINE1\nline2\nline3\n");
    s.edit("/w/a.txt", "nope", "q", "Failed to edit, 0 occurrences found for old_string in /w/a.txt. No edits made. The exact text in old_string was not found. …");
    s.edit(
        "/w/a.txt",
        "line2",
        "line2",
        "No changes to apply. The old_string and new_string are identical in file: /w/a.txt",
    );
    s.edit("/w/a.txt", "", "x", "File already exists, cannot create: /w/a.txt");
    s.call("read_file", r#"{"file_path":"/w/dup.txt"}"#);
    s.edit(
        "/w/dup.txt",
        "aa",
        "bb",
        "Failed to edit. Found 2 occurrences for old_string in /w/dup.txt but replace_all was not enabled.",
    );
    s.says(
        "edit",
        json!({"file_path": "/w/dup.txt", "old_string": "aa", "new_string": "bb", "replace_all": true}),
        "The file: /w/dup.txt has been updated. Showing lines 1-3 of 3 from the edited file:\n\n---\n\nbb\nbb\n",
    );
    s.edit("/w/new.txt", "", "created\n", "Created new file: /w/new.txt with provided content. Showing lines 1-2 of 2 from the edited file:\n\n---\n\ncreated\n");
    s.edit("/w/new.txt", "created\n", "", "The file: /w/new.txt has been updated.");
    s.edit("/w/none", "zz", "x", "File not found: /w/none");
    s.edit("rel", "a", "b", "File path must be absolute: rel");
    s.edit("/w/d", "a", "b", "/w/d is a directory. The Edit / WriteFile tools only operate on regular files. …");
    s.edit("/w/a.txt/b", "a", "b", "Could not stat /w/a.txt/b to verify prior read (ENOTDIR). Re-read with the read_file tool, then retry editing it.");
    s.call("read_file", r#"{"file_path":"/w/long.py","limit":1}"#);
    let around: String = [26, 27, 28, 29].map(|n| format!("v{n} = {n}\n")).concat();
    let after = [31, 32, 33, 34].map(|n| format!("v{n} = {n}")).join("\n");
    s.edit("/w/long.py", "v30 = 30", "v30 = 300", &format!("The file: /w/long.py has been updated. Showing lines 26-34 of 61 from the edited file:\n\n---\n\n{around}v30 = 300\n{after}"));
    s.edit("/w/long.py", "v1 = 1\n", "", "The file: /w/long.py has been updated. Showing lines 1-4 of 60 from the edited file:\n\n---\n\nv2 = 2\nv3 = 3\nv4 = 4\nv5 = 5");
    s.call("read_file", r#"{"file_path":"/w/crlf.txt"}"#);
    s.edit(
        "/w/crlf.txt",
        "one\ntwo",
        "1\n2",
        "The file: /w/crlf.txt has been updated. Showing lines 1-4 of 4 from the edited file:\n\n---\n\n1\n2\nthree\n",
    );
    assert_eq!(s.text("crlf.txt"), "1\r\n2\r\nthree\r\n");
    s.write("crlf.txt", b"other\n");
    s.edit("/w/crlf.txt", "other", "x", "File /w/crlf.txt has been modified since you last read it (mtime or size changed). Re-read it with the read_file tool before editing it to ensure your changes are based on current content.");
    s.write("lat.txt", b"caf\xe9 x\n");
    s.call("read_file", r#"{"file_path":"/w/lat.txt"}"#);
    s.edit("/w/lat.txt", "x", "y", "/w/lat.txt is not UTF-8, …");
    s.call("replace", r#"{"file_path":"/w/a.txt","old_string":"line2","new_string":"two"}"#);
    assert_eq!(s.text("a.txt"), "LINE1\ntwo\nline3\n");
}

#[test]
fn notebooks() {
    let notebook = json!({
        "cells": [
            {"cell_type": "code", "id": "c1", "metadata": {}, "execution_count": 3, "source": ["print(1)\n"],
             "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]},
            {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": ["# T"]},
        ],
        "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5,
    });
    let text = serde_json::to_string_pretty(&notebook).unwrap();
    let mut s = stage(&[("n.ipynb", &text), ("bad.ipynb", "{"), ("t.txt", "x")]);
    let edit = |more: Value| {
        let mut args = json!({"notebook_path": "/w/n.ipynb"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    s.says("notebook_edit", edit(json!({"cell_id": "c1", "new_source": "x"})), "Notebook /w/n.ipynb has not been fully read in this session. Use the read_file tool first, without offset or limit, before editing cells.");
    s.read("/w/n.ipynb", "Jupyter Notebook (python, 2 cells)\n\n--- Code Cell c1 [3] ---\n```python\nprint(1)\n\n```\nOutput:\n1\n\n\n--- Markdown Cell m1 ---\n# T");
    s.says(
        "notebook_edit",
        edit(json!({"cell_id": "c1", "new_source": "x=1\ny=2"})),
        "Notebook /w/n.ipynb has been updated. replace cell c1.\n\nUpdated source:\n\n---\n\nx=1\ny=2",
    );
    s.says("notebook_edit", edit(json!({"new_source": "x"})), "cell_id is required for replace and delete operations.");
    s.says("notebook_edit", edit(json!({"cell_id": "c1"})), "new_source is required when edit_mode is \"replace\".");
    s.says(
        "notebook_edit",
        edit(json!({"cell_id": "zz", "new_source": "x"})),
        "Cell with ID \"zz\" not found in notebook.",
    );
    s.says(
        "notebook_edit",
        edit(json!({"cell_id": "m1", "edit_mode": "delete"})),
        "Notebook /w/n.ipynb has been updated. delete cell m1.",
    );
    s.says(
        "notebook_edit",
        edit(json!({"new_source": "first", "edit_mode": "insert"})),
        "Notebook /w/n.ipynb has been updated. insert cell qwen-cell-1.\n\nUpdated source:\n\n---\n\nfirst",
    );
    let cells: Value = serde_json::from_str(&s.text("n.ipynb")).unwrap();
    let expected = json!([
        {"cell_type": "code", "metadata": {}, "source": ["first"], "id": "qwen-cell-1", "execution_count": null, "outputs": []},
        {"cell_type": "code", "id": "c1", "metadata": {}, "execution_count": null, "source": ["x=1\n", "y=2"], "outputs": []},
    ]);
    assert_eq!(cells["cells"], expected);
    s.edit(
        "/w/n.ipynb",
        "first",
        "x",
        "File /w/n.ipynb is a binary / image / audio / video / PDF / notebook payload …",
    );
    s.write("n.ipynb", text.as_bytes());
    s.says("notebook_edit", edit(json!({"cell_id": "c1", "new_source": "x"})), "Notebook /w/n.ipynb has been modified since you last read it. Re-read it with the read_file tool before editing it.");
    s.read("/w/bad.ipynb", "Error parsing notebook /w/bad.ipynb: …");
    for (path, expected) in [
        ("/w/t.txt", "File must be a Jupyter notebook (.ipynb). Use the edit tool for other file types."),
        ("/w/nope.ipynb", "Notebook file not found: /w/nope.ipynb"),
        ("rel.ipynb", "Notebook path must be absolute: rel.ipynb"),
    ] {
        s.says("notebook_edit", json!({"notebook_path": path, "cell_id": "c1", "new_source": "x"}), expected);
    }
}
