//! Reading, writing, editing and patching files.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn reads() {
    let mut s = stage(&[
        ("a.txt", A),
        ("empty.txt", ""),
        ("d/x.txt", "x\n"),
        ("i.png", "png"),
        ("f.png", "x"),
        ("z.dat", "a\0b"),
    ]);
    let all = "1: alpha\n2: beta\n3: gamma\n4: beta";
    let mut read = |args: serde_json::Value, expected: &str| s.check("read", args, expected);
    read(json!({"filePath": "/w/a.txt"}), &shown("/w/a.txt", all, "End of file - total 4 lines"));
    read(json!({"filePath": "d/../a.txt", "offset": 0}), &shown("/w/a.txt", all, "End of file - total 4 lines"));
    read(
        json!({"filePath": "a.txt", "offset": 2, "limit": 2}),
        &shown("/w/a.txt", "2: beta\n3: gamma", "Showing lines 2-3 of 4. Use offset=4 to continue."),
    );
    read(
        json!({"filePath": "a.txt", "limit": 0}),
        &shown("/w/a.txt", "", "Showing lines 1-0 of 4. Use offset=1 to continue."),
    );
    read(json!({"filePath": "a.txt", "offset": 5}), "Offset 5 is out of range for this file (4 lines)");
    read(json!({"filePath": "empty.txt"}), &shown("/w/empty.txt", "", "End of file - total 0 lines"));
    read(json!({"filePath": "/dev/null"}), &shown("/dev/null", "", "End of file - total 0 lines"));
    read(json!({"filePath": "z.dat"}), "Cannot read binary file: /w/z.dat");
    read(json!({"filePath": "zzz"}), "File not found: /w/zzz");
    read(json!({"filePath": "A.TX"}), "File not found: /w/A.TX\n\nDid you mean one of these?\n/w/a.txt");
    read(
        json!({"filePath": "f.png"}),
        "Image read successfully\n\n[1 image omitted: could not be resized below the image size limit.]",
    );
    read(
        json!({"filePath": ".", "limit": 2}),
        "<path>/w</path>\n<type>directory</type>\n<entries>\na.txt\nd/\n\n(Showing 2 of 6 entries. Use 'offset' parameter to read beyond entry 3)\n</entries>",
    );
    read(
        json!({"filePath": "/w/d/"}),
        "<path>/w/d/</path>\n<type>directory</type>\n<entries>\nx.txt\n\n(1 entries)\n</entries>",
    );
}

#[test]
fn large_files_are_read_in_parts() {
    let wide = ("w".repeat(99) + "\n").repeat(700);
    let long = "y".repeat(3_000);
    let many: String = (1..=2_500).map(|n| format!("{n}\n")).collect();
    let mut s = stage(&[("wide.txt", &wide), ("long.txt", &long), ("many.txt", &many)]);
    let mut ends = |args: serde_json::Value, expected: &str| {
        let text = s.call("read", &args.to_string()).content.text();
        assert!(text.ends_with(expected), "{}", &text[text.len() - 200..]);
    };
    ends(
        json!({"filePath": "wide.txt"}),
        "w\n\n(Output capped at 50 KB. Showing lines 1-512. Use offset=513 to continue.)\n</content>",
    );
    ends(
        json!({"filePath": "long.txt"}),
        "y... (line truncated to 2000 chars)\n\n(End of file - total 1 lines)\n</content>",
    );
    ends(
        json!({"filePath": "many.txt"}),
        "2000: 2000\n\n(Showing lines 1-2000 of 2500. Use offset=2001 to continue.)\n</content>",
    );
    ends(
        json!({"filePath": "many.txt", "limit": 2200}),
        "(Showing lines 1-2200 of 2500. Use offset=2201 to continue.)\n</content>",
    );
}

#[test]
fn attachments_follow_the_answers_of_a_reply() {
    let mut s = stage(&[("i.png", "png"), ("d.pdf", "%PDF")]);
    s.caps.documents = true;
    let image = s.call("read", r#"{"filePath":"i.png"}"#);
    let pdf = s.call("read", r#"{"filePath":"d.pdf"}"#);
    assert_eq!(
        (image.content.text().as_str(), pdf.content.text().as_str()),
        ("Image read successfully", "PDF read successfully")
    );
    assert!(matches!(image.after.as_slice(), [Part::Text(_), Part::Image { .. }]), "{:?}", image.after);
    assert!(matches!(pdf.after.as_slice(), [Part::Text(_), Part::Document(_)]), "{:?}", pdf.after);
    s.model.images = false;
    let answer = s.call("read", r#"{"filePath":"i.png"}"#);
    assert_eq!(
        answer.after[1],
        Part::text("ERROR: Cannot read image (this model does not support image input). Inform the user.")
    );

    // One headline for both.
    let calls = [call("a", "read", "{}"), call("b", "read", "{}")];
    let blocks = calls.iter().cloned().map(Block::call).collect();
    let mut s = stage(&[]);
    s.said = vec![Entry::User(Content::Plain("x".into()))];
    let from = s.items.len();
    s.push(Body::Reply { reply: reply(blocks, Stop::Calls), total: Usage::default() });
    s.push(Body::Called { call: "b".into(), did: vec![], answer: pdf.clone() });
    s.push(Body::Called { call: "a".into(), did: vec![], answer: image.clone() });
    let entries = Opencode.say(&s.cx(), &s.items[from..]);
    let [Entry::Assistant(_), Entry::Results { results, after, .. }] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    let ids: Vec<&str> = results.iter().map(|result| result.call.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(after.as_slice(), [image.after[0].clone(), image.after[1].clone(), pdf.after[1].clone()]);
}

#[test]
fn instructions_of_inner_folders_are_told_once() {
    let mut s = stage(&[
        ("AGENTS.md", "root\n"),
        ("s/AGENTS.md", "S\n"),
        ("s/t/AGENTS.md", "T\n"),
        ("s/t/f.txt", "f\n"),
        ("u/CLAUDE.md", "C\n"),
        ("u/f.txt", "f\n"),
    ]);
    s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "root\n".into() }];
    let plain = |path: &str| shown(path, "1: f", "End of file - total 1 lines");
    let both = plain("/w/s/t/f.txt")
        + "\n\n<system-reminder>\nInstructions from: /w/s/t/AGENTS.md\nT\n\n\nInstructions from: /w/s/AGENTS.md\nS\n\n</system-reminder>";
    s.check("read", json!({"filePath": "s/t/f.txt"}), &both);
    s.check("read", json!({"filePath": "s/t/f.txt"}), &plain("/w/s/t/f.txt"));
    let claude =
        plain("/w/u/f.txt") + "\n\n<system-reminder>\nInstructions from: /w/u/CLAUDE.md\nC\n\n</system-reminder>";
    s.check("read", json!({"filePath": "u/f.txt"}), &claude);
}

#[test]
fn writes() {
    let mut s = stage(&[("d/x", "x\n"), ("a.txt", A)]);
    s.write("bom.txt", b"\xef\xbb\xbfold\n");
    s.check("write", json!({"filePath": "/w/n/n.txt", "content": "hello\n"}), "Wrote file successfully.");
    s.check("write", json!({"filePath": "a.txt", "content": ""}), "Wrote file successfully.");
    s.check("write", json!({"filePath": "bom.txt", "content": "new\n"}), "Wrote file successfully.");
    s.check("write", json!({"filePath": "d", "content": "x"}), "BadResource: FileSystem.readFile (/w/d)");
    s.check("write", json!({"filePath": "a.txt/x", "content": "x"}), "BadResource: FileSystem.writeFile (/w/a.txt/x)");
    s.check("write", json!({"filePath": "", "content": "x"}), "BadResource: FileSystem.readFile (/w)");
    assert_eq!(
        (s.text("n/n.txt").as_str(), s.text("a.txt").as_str(), s.text("bom.txt").as_str()),
        ("hello\n", "", "\u{feff}new\n")
    );
}

#[test]
fn edits() {
    let mut s = stage(&[("a.txt", A), ("d/x", "x\n"), ("crlf.txt", "a\r\nb\r\n")]);
    s.write("inv.txt", b"x\xff\n");
    let mut edit = |path: &str, old: &str, new: &str, expected: &str| {
        s.check("edit", json!({"filePath": path, "oldString": old, "newString": new}), expected);
    };
    const DONE: &str = "Edit applied successfully.";
    const SAME: &str = "No changes to apply: oldString and newString are identical.";
    edit("a.txt", "alpha", "ALPHA", DONE);
    edit(
        "a.txt",
        "nope",
        "x",
        "Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings.",
    );
    edit(
        "a.txt",
        "beta",
        "x",
        "Found multiple matches for oldString. Provide more surrounding context to make the match unique.",
    );
    edit("a.txt", "gamma", "gamma", SAME);
    edit("new.txt", "", "made\n", DONE);
    edit("nope.txt", "", "", SAME);
    edit("new2.txt", "zz", "x", "File /w/new2.txt not found");
    edit(
        "a.txt",
        "",
        "x",
        "oldString cannot be empty when editing an existing file. Provide the exact text to replace, or use write for an intentional full-file replacement.",
    );
    edit("d", "x", "y", "Path is a directory, not a file: /w/d");
    edit("", "a", "b", "filePath is required");
    edit("crlf.txt", "a\nb", "A\nB", DONE);
    // ours
    edit("inv.txt", "x", "y", "File /w/inv.txt is not UTF-8 text; an edit would damage the rest of it.");
    s.check("edit", json!({"filePath": "a.txt", "oldString": "beta", "newString": "b", "replaceAll": true}), DONE);
    assert_eq!(
        (s.text("a.txt"), s.text("new.txt"), s.text("crlf.txt")),
        ("ALPHA\nb\ngamma\nb\n".into(), "made\n".into(), "A\r\nB\r\n".into())
    );
    // Changed between look and edit: once more, and then no more.
    let stale = || Outcome::Refused(Refusal::Stale { path: "/w/a.txt".into() });
    s.check_after(stale(), "edit", json!({"filePath": "a.txt", "oldString": "gamma", "newString": "G"}), DONE);
    assert_eq!(s.did.len(), 4);
    s.outcomes.extend([stale(), stale()]);
    s.check(
        "edit",
        json!({"filePath": "a.txt", "oldString": "G", "newString": "g"}),
        "File /w/a.txt has been modified since it was last read. Read it again before changing it.",
    );
}

#[test]
fn patches() {
    let mut s = stage(&[("a.txt", "l1\nl2\n"), ("b.txt", "x\n")]);
    s.model.slug = "gpt-5.1".into();
    let mut patch = |text: &str, expected: &str| s.check("apply_patch", json!({"patchText": text}), expected);
    patch(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-l1\n+L1\n*** Add File: n/n.txt\n+new\n*** Delete File: b.txt\n*** End Patch",
        "Success. Updated the following files:\nM w/a.txt\nA w/n/n.txt\nD w/b.txt",
    );
    patch(
        "```\n*** Begin Patch\n*** Add File: z.txt\n+x\n*** End Patch\n```",
        "Success. Updated the following files:\nA w/z.txt",
    );
    patch(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-no\n+x\n*** End Patch",
        "apply_patch verification failed: Error: Failed to find expected lines in /w/a.txt:\nno",
    );
    patch(
        "*** Begin Patch\n*** Update File: a.txt\n@@ nope\n-l2\n+x\n*** End Patch",
        "apply_patch verification failed: Error: Failed to find context 'nope' in /w/a.txt",
    );
    patch(
        "*** Begin Patch\n*** Update File: q.txt\n@@\n-x\n+y\n*** End Patch",
        "apply_patch verification failed: Failed to read file to update: /w/q.txt",
    );
    patch(
        "*** Begin Patch\n*** Delete File: q.txt\n*** End Patch",
        "apply_patch verification failed: NotFound: FileSystem.readFile (/w/q.txt)",
    );
    patch("garbage", "apply_patch verification failed: Error: Invalid patch format: missing Begin/End markers");
    patch("*** Begin Patch\nfoo\n*** End Patch", "apply_patch verification failed: no hunks found");
    patch("*** Begin Patch\n*** End Patch", "patch rejected: empty patch");
    patch("", "patchText is required");
    s.push(Body::Fact(Fact::Git(Some(GitFact { root: "/w".into(), ..GitFact::default() }))));
    s.check(
        "apply_patch",
        json!({"patchText": "*** Begin Patch\n*** Update File: a.txt\n*** Move to: c.txt\n@@\n-l2\n+L2\n*** End Patch"}),
        "Success. Updated the following files:\nM c.txt",
    );
}
