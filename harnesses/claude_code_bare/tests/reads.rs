//! Read: texts, other kinds of files, much of it.
use pretty_assertions::assert_eq;

use super::*;

#[test]
fn reads() {
    let mut s = Stage::new(&[
        ("a.txt", A),
        ("nonl.txt", "one\ntwo"),
        ("tabs.txt", "\tx\n"),
        ("cr.txt", "a\rb\n"),
        ("sub/x.txt", "x\n"),
        ("s.dat", "text\n"),
    ]);
    s.read("/w/a.txt", A_READ);
    s.read("a.txt", A_READ);
    s.read("/w/sub/../a.txt", A_READ);
    s.read("/w/nonl.txt", "1\tone\n2\ttwo");
    s.read("/w/tabs.txt", "1\t\tx\n2\t");
    s.read("/w/cr.txt", "1\ta\rb\n2\t");
    s.check("Read", json!({"file_path": "/w/a.txt", "offset": 2, "limit": 2}), None, "2\tbeta\n3\tgamma");
    s.check("Read", json!({"file_path": "/w/a.txt", "offset": "4"}), None, "4\tbeta\n5\t");
    s.check("Read", json!({"file_path": "/w/a.txt", "offset": 0, "limit": 1}), None, "0\talpha");
    s.check("Read", json!({"file_path": "/w/a.txt", "offset": -1}), None, A_READ);
    s.check("Read", json!({"file_path": "/w/a.txt", "limit": 0}), None, A_READ);
    s.check("Read", json!({"file_path": "/w/a.txt", "offset": 50}), None, "<system-reminder>Warning: the file exists but is shorter than the provided offset (50). The file has 5 lines.</system-reminder>");
    s.read(" /w/a.txt ", A_READ);
    s.files.insert("/home/u/f.txt".into(), b"home".to_vec());
    s.read("~/f.txt", "1\thome");
    s.check("Read", json!({"file_path": "~"}), Some(true), "EISDIR: illegal operation on a directory, read '/home/u'");
    s.read("/dev/null", "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>");
    s.check("Read", json!({"file_path": "/w/loop"}), Some(true), "Refusing to read /w/loop: where it leads on disk could not be determined (a link on the way could not be examined, or the links do not resolve).");
    for one in [json!(" 1 "), json!("+1"), json!([1]), json!(["1"])] {
        s.check("Read", json!({"file_path": "/w/a.txt", "limit": one}), None, "1\talpha");
    }
    s.check(
        "Read",
        json!({"file_path": "/w/sub"}),
        Some(true),
        "EISDIR: illegal operation on a directory, read '/w/sub'",
    );
    s.check(
        "Read",
        json!({"file_path": "/w/a.md"}),
        Some(true),
        "File does not exist. Note: your current working directory is /w. Did you mean a.txt?",
    );
    s.check("Read", json!({"file_path": "/proc/1/mem"}), Some(true), "<tool_use_error>Cannot read '/proc/1/mem': this path names a device or process file that this tool does not read.</tool_use_error>");
    let binary = s.call("Read", r#"{"file_path":"/w/s.dat"}"#).content.text();
    assert!(
        binary.starts_with(
            "<tool_use_error>This tool cannot read binary files. The file appears to be a binary .dat file. "
        ),
        "{binary}"
    );
}

#[test]
fn reads_of_other_kinds() {
    let mut s = Stage::new(&[
        ("i.png", "png"),
        ("bad.png", "x"),
        ("d.pdf", "%PDF-1.1"),
        ("bad.pdf", "x"),
        ("e.pdf", ""),
        ("n.ipynb", "{}"),
    ]);
    let image = s.call("Read", r#"{"file_path":"/w/i.png"}"#);
    let expected = Answer {
        content: Content::Parts(vec![Part::Image { blob: Blob::new("b", "image/png", b"png".to_vec()), detail: None }]),
        error: None,
        after: vec![Part::text(
            "[Image: original 3000x2000, displayed at 2000x1333. Multiply coordinates by 1.50 to map to original image.]",
        )],
    };
    assert_eq!(image, expected);
    let bad = s.call("Read", r#"{"file_path":"/w/bad.png"}"#).content.text();
    assert!(
        bad.starts_with("File has an image extension but its content is not a valid PNG/JPEG/GIF/WebP. Detected: unrecognized bytes (hex: 78). "),
        "{bad}"
    );
    let pdf = s.call("Read", r#"{"file_path":"/w/d.pdf"}"#);
    let parts = vec![
        Part::text("PDF file read: /w/d.pdf (8 bytes)"),
        Part::Document(Blob::new("b", "application/pdf", b"%PDF-1.1".to_vec())),
    ];
    assert_eq!(pdf, Answer { content: Content::Parts(parts), error: None, after: Vec::new() });
    s.check(
        "Read",
        json!({"file_path": "/w/bad.pdf"}),
        Some(true),
        "File is not a valid PDF (missing %PDF- header): /w/bad.pdf",
    );
    s.check("Read", json!({"file_path": "/w/e.pdf"}), Some(true), "PDF file is empty: /w/e.pdf");
    s.check("Read", json!({"file_path": "/w/d.pdf", "pages": "1-30"}), Some(true), "<tool_use_error>Page range \"1-30\" exceeds maximum of 20 pages per request. Please use a smaller range.</tool_use_error>");
    let pages = s.call("Read", r#"{"file_path":"/w/d.pdf","pages":"x"}"#).content.text();
    assert!(pages.starts_with("<tool_use_error>Invalid pages parameter: \"x\". "), "{pages}");
    let notebook = s.call("Read", r#"{"file_path":"/w/n.ipynb"}"#).content.text();
    assert!(notebook.starts_with("Notebook file is not a valid Jupyter notebook "), "{notebook}");
}

#[test]
fn reads_of_much() {
    let text: String = (1..=2_500).map(|n| format!("line {n} {}\n", "x".repeat(80))).collect();
    let mut s = Stage::new(&[
        ("mid.txt", &text),
        ("huge.txt", &text.repeat(3)),
        ("one.txt", &"e".repeat(262_144)),
        ("short.txt", &"e".repeat(25_000)),
    ]);
    let call = |s: &mut Stage, args: Value| s.call("Read", &args.to_string());
    let huge = call(&mut s, json!({"file_path": "/w/huge.txt"}));
    assert!(
        huge.error == Some(true)
            && huge.content.text().starts_with(&format!(
                "File content ({}) exceeds maximum allowed size (256KB). ",
                refusal::size(text.len() as u64 * 3)
            ))
    );
    s.tokens = 1_000;
    s.check("Read", json!({"file_path": "/w/huge.txt", "limit": 1}), None, &format!("1\tline 1 {}", "x".repeat(80)));
    call(&mut s, json!({"file_path": "/w/short.txt"}));
    assert_eq!(s.did.len(), 1, "a short text is not counted");
    s.tokens = 57_245;
    let mid = call(&mut s, json!({"file_path": "/w/mid.txt"}));
    let text = mid.content.text();
    assert!(
        text.contains("\n928\tline 928 ")
            && !text.contains("\n929\t")
            && text
                .contains("\n\n<system-reminder>\n[Truncated: PARTIAL view — /w/mid.txt: showing 928 of 2501 lines. "),
        "{}",
        &text[text.len() - 400..]
    );
    assert_eq!(mid.error, None);
    let page = call(&mut s, json!({"file_path": "/w/mid.txt", "limit": 2000}));
    assert!(
        page.error == Some(true)
            && page.content.text().starts_with("File content (57245 tokens) exceeds maximum allowed tokens (25000). "),
        "{page:?}"
    );
    s.tokens = 65_558;
    let one = call(&mut s, json!({"file_path": "/w/one.txt"})).content.text();
    assert!(
        one.starts_with("1\tee")
            && one.contains("e\n\n<system-reminder>\n[Truncated: PARTIAL view — /w/one.txt: this view is incomplete")
    );
    s.tokens = 57_245;
    let all = call(&mut s, json!({"file_path": "/w/mid.txt", "allow_large": true})).content.text();
    assert!(all.ends_with("\n2501\t"));
}
