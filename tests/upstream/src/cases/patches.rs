//! apply_patch: one case for each row of what the language promises. All but the last few come as a heredoc in the shell
//! tool, the form that every model may use.
use serde_json::json;

use crate::{
    case::{Case, turn},
    model::{Reply, call, nothing, patch, run, say},
};

/// Name, files before, patch text without its first and last line.
type Row = (&'static str, &'static [(&'static str, &'static [u8])], &'static str);

const ROWS: &[Row] = &[
    ("patch-add", &[], "*** Add File: a.txt\n+one\n+two"),
    ("patch-add-in-new-folders", &[], "*** Add File: new/deep/a.txt\n+one"),
    ("patch-add-over-a-file", &[("a.txt", b"old\n")], "*** Add File: a.txt\n+new"),
    ("patch-add-empty", &[], "*** Add File: a.txt"),
    ("patch-add-with-empty-last-line", &[], "*** Add File: a.txt\n+one\n+"),
    ("patch-add-without-plus", &[], "*** Add File: a.txt\n+one\nbad"),
    ("patch-update", &[("a.txt", b"one\ntwo\nthree\n")], "*** Update File: a.txt\n@@\n one\n-two\n+2\n three"),
    ("patch-update-without-header", &[("a.txt", b"one\ntwo\n")], "*** Update File: a.txt\n one\n-two\n+2"),
    (
        "patch-update-chunks",
        &[("a.txt", b"one\ntwo\nthree\nfour\nfive\n")],
        "*** Update File: a.txt\n@@\n-one\n+1\n@@\n four\n-five\n+5",
    ),
    (
        "patch-update-chunks-out-of-order",
        &[("a.txt", b"one\ntwo\nthree\nfour\nfive\n")],
        "*** Update File: a.txt\n@@\n-five\n+5\n@@\n-one\n+1",
    ),
    ("patch-update-first-occurrence", &[("a.txt", b"x\ny\nx\ny\n")], "*** Update File: a.txt\n@@\n x\n-y\n+z"),
    (
        "patch-update-below-context",
        &[("a.py", b"class A:\n    x = 1\nclass B:\n    x = 1\n")],
        "*** Update File: a.py\n@@ class B:\n-    x = 1\n+    x = 2",
    ),
    (
        "patch-update-two-contexts",
        &[("a.py", b"class A:\n    def f():\n        pass\n")],
        "*** Update File: a.py\n@@ class A:\n@@     def f():\n-        pass\n+        return",
    ),
    ("patch-update-missing-context", &[("a.txt", b"one\n")], "*** Update File: a.txt\n@@ nosuch\n-one\n+1"),
    ("patch-update-only-plus", &[("a.txt", b"one\ntwo\n")], "*** Update File: a.txt\n@@\n+three"),
    ("patch-update-only-plus-below-context", &[("a.txt", b"one\ntwo\n")], "*** Update File: a.txt\n@@ one\n+three"),
    ("patch-update-end-of-file", &[("a.txt", b"x\ny\nx\n")], "*** Update File: a.txt\n@@\n-x\n+z\n*** End of File"),
    ("patch-update-not-at-end-of-file", &[("a.txt", b"x\ny\n")], "*** Update File: a.txt\n@@\n-x\n+z\n*** End of File"),
    ("patch-update-no-match", &[("a.txt", b"one\n")], "*** Update File: a.txt\n@@\n-two\n+2"),
    (
        "patch-update-other-whitespace",
        &[("a.txt", b"  one  \n\ttwo\nthree\n")],
        "*** Update File: a.txt\n@@\n-one\n+1\n two",
    ),
    (
        "patch-update-typographic",
        &[("a.txt", "it\u{2019}s \u{2014} a\u{a0}test\nnext\n".as_bytes())],
        "*** Update File: a.txt\n@@\n-it's - a test\n+plain",
    ),
    (
        "patch-update-crlf",
        &[("a.txt", b"one\r\ntwo\r\nthree\r\n")],
        "*** Update File: a.txt\n@@\n one\n-two\n+2\n+zwei",
    ),
    ("patch-update-byte-order-mark", &[("a.txt", b"\xef\xbb\xbfone\ntwo\n")], "*** Update File: a.txt\n@@\n-two\n+2"),
    ("patch-update-no-last-newline", &[("a.txt", b"one\ntwo")], "*** Update File: a.txt\n@@\n one\n-two\n+2"),
    ("patch-update-empty-context-line", &[("a.txt", b"one\n\ntwo\n")], "*** Update File: a.txt\n@@\n one\n\n-two\n+2"),
    ("patch-update-changes-nothing", &[("a.txt", b"one\n")], "*** Update File: a.txt\n@@\n-one\n+one"),
    ("patch-update-deletes-all-lines", &[("a.txt", b"one\n")], "*** Update File: a.txt\n@@\n-one"),
    ("patch-update-missing-file", &[], "*** Update File: a.txt\n@@\n-one\n+1"),
    ("patch-update-not-utf8", &[("a.txt", b"\xff\xfeone\n")], "*** Update File: a.txt\n@@\n-one\n+1"),
    ("patch-update-header-only", &[("a.txt", b"one\n")], "*** Update File: a.txt"),
    ("patch-update-empty-chunk", &[("a.txt", b"one\n")], "*** Update File: a.txt\n@@"),
    ("patch-update-junk-after-chunk", &[("a.txt", b"one\n")], "*** Update File: a.txt\n@@\n-one\n+1\nxbad"),
    ("patch-delete", &[("a.txt", b"one\n")], "*** Delete File: a.txt"),
    ("patch-delete-missing", &[], "*** Delete File: a.txt"),
    ("patch-delete-a-folder", &[("sub/a.txt", b"one\n")], "*** Delete File: sub"),
    ("patch-move", &[("a.txt", b"one\n")], "*** Update File: a.txt\n*** Move to: new/b.txt\n@@\n-one\n+1"),
    (
        "patch-move-over-a-file",
        &[("a.txt", b"one\n"), ("b.txt", b"b\n")],
        "*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+1",
    ),
    ("patch-move-alone", &[("a.txt", b"one\n")], "*** Update File: a.txt\n*** Move to: b.txt"),
    (
        "patch-of-many-files",
        &[("m.txt", b"one\n"), ("d.txt", b"d\n")],
        "*** Delete File: d.txt\n*** Update File: m.txt\n@@\n-one\n+1\n*** Add File: z.txt\n+z\n*** Add File: a.txt\n+a",
    ),
    (
        "patch-all-or-nothing",
        &[("m.txt", b"one\n")],
        "*** Add File: a.txt\n+a\n*** Update File: m.txt\n@@\n-nosuch\n+1",
    ),
    ("patch-one-path-twice", &[("a.txt", b"one\n")], "*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: a.txt"),
    ("patch-unknown-header", &[], "*** Rename File: a.txt"),
    ("patch-empty", &[], ""),
    ("patch-absolute-path", &[], "*** Add File: <<work>>/a.txt\n+one"),
    ("patch-outside", &[], "*** Add File: ../a.txt\n+one"),
    ("patch-into-git", &[], "*** Add File: .git/a.txt\n+one"),
];

pub(crate) fn cases() -> Vec<Case> {
    let whole = |body: &str| match body {
        "" => "*** Begin Patch\n*** End Patch".to_owned(),
        body => format!("*** Begin Patch\n{body}\n*** End Patch"),
    };
    let mut cases: Vec<Case> = Vec::new();
    for (name, files, body) in ROWS {
        let case = turn(name, [patch(&whole(body)), say("Done.")]);
        cases.push(files.iter().fold(case, |case, (path, content)| case.file(path, content)));
    }
    let add = whole("*** Add File: a.txt\n+one");
    let with = |name, text: &str| turn(name, [patch(text), say("Done.")]);
    cases.extend([
        with("patch-without-begin", "*** Add File: a.txt\n+one\n*** End Patch"),
        with("patch-without-end", "*** Begin Patch\n*** Add File: a.txt\n+one"),
        with("patch-in-blank-lines", "\n\n  *** Begin Patch\n*** Add File: a.txt\n+one\n  *** End Patch\n\n"),
        turn("patch-in-another-folder", [run(&format!("cd sub && apply_patch <<'EOF'\n{add}\nEOF")), say("Done.")])
            .file("sub/x.txt", "x"),
        turn("patch-read-only", [patch(&add), say("Done.")]).untrusted(),
        turn("patch-then-command", [patch(&add), run("cat a.txt"), say("Done.")]),
    ]);
    if let Some(read_only) = cases.iter_mut().find(|case| case.name == "patch-read-only") {
        read_only.runs[0].args =
            ["exec", "--json", "-s", "read-only", "--skip-git-repo-check", "do it"].map(str::to_owned).to_vec();
    }
    // The tool itself: free text for Codex's own models, a function where a server takes functions only.
    let tool = |name, text: &str| {
        let ours: [Reply; 2] = [call("apply_patch", json!({"input": text})), say("Done.")];
        turn(name, [nothing().custom("apply_patch", text), say("Done.")]).model("gpt-5.5").ours(ours)
    };
    cases.extend([
        tool("patch-tool", &add),
        tool("patch-tool-fails", &whole("*** Delete File: a.txt")),
        tool("patch-tool-in-heredoc", &format!("<<'EOF'\n{add}\nEOF")),
        tool("patch-tool-in-command", &format!("apply_patch <<'EOF'\n{add}\nEOF")),
        tool("patch-tool-crlf", &add.replace('\n', "\r\n")),
        tool("patch-tool-empty-input", ""),
        turn("patch-tool-not-offered", [nothing().custom("apply_patch", &add), say("Done.")]),
    ]);
    cases
}
