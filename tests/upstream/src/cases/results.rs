//! What the model reads as answers to calls that go wrong, and to its other tools.
use serde_json::json;

use crate::{
    case::{Case, turn},
    model::{call, nothing, run, say},
};

/// A picture of 2 x 1 pixels.
pub(crate) const PNG: &[u8] =
    b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00\x01\x08\x02\x00\x00\
    \x00\x7b\x40\xe8\xdd\x00\x00\x00\x0f\x49\x44\x41\x54\x78\xda\x63\xf8\xcf\xc0\xc0\xf0\x9f\x01\x00\x07\xff\x01\xff\
    \xb8\x04\x35\xe0\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";

pub(crate) fn cases() -> Vec<Case> {
    let exec = |args: &str| nothing().call_text("exec_command", args);
    vec![
        turn(
            "result-of-an-unknown-tool",
            [nothing().call("no_such_tool", json!({"a": 1})).custom("no_such_custom", "text"), say("Done.")],
        ),
        turn(
            "result-of-bad-arguments",
            [
                exec("{\"cmd\": \"echo"),
                exec("{}"),
                exec("{\"cmd\": 5}"),
                exec("{cmd: \"echo\"}"),
                exec(""),
                exec("[]"),
                say("Done."),
            ],
        ),
        turn(
            "result-of-an-unknown-argument",
            [call("exec_command", json!({"cmd": "echo hi", "frobnicate": true})), say("Done.")],
        ),
        turn(
            "result-of-a-missing-folder",
            [call("exec_command", json!({"cmd": "pwd", "workdir": "missing"})), say("Done.")],
        ),
        turn(
            "result-of-an-unknown-session",
            [call("write_stdin", json!({"session_id": 1000, "chars": "x"})), say("Done.")],
        ),
        turn(
            "result-of-asking-for-escalation",
            [
                call(
                    "exec_command",
                    json!({"cmd": "true", "sandbox_permissions": "require_escalated", "justification": "why not"}),
                ),
                say("Done."),
            ],
        ),
        turn("result-of-view-image", [call("view_image", json!({"path": "a.png"})), say("Done.")]).file("a.png", PNG),
        turn("result-of-view-image-missing", [call("view_image", json!({"path": "missing.png"})), say("Done.")]),
        turn("result-of-view-image-of-text", [call("view_image", json!({"path": "a.txt"})), say("Done.")])
            .file("a.txt", "text"),
        turn("result-of-view-image-of-a-folder", [call("view_image", json!({"path": "sub"})), say("Done.")])
            .file("sub/a", "a"),
        turn(
            "results-in-the-order-of-the-calls",
            [
                nothing().run("sleep 0.6; echo slow").call("no_such_tool", json!({})).run("sleep 1; echo late"),
                run("echo after"),
                say("Done."),
            ],
        ),
    ]
}
