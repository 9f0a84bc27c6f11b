//! How long outputs are cut.
use serde_json::json;

use crate::{
    case::{Case, turn},
    model::{call, run, say},
};

pub(crate) fn cases() -> Vec<Case> {
    let limited = |cmd: &str, tokens: u64| call("exec_command", json!({"cmd": cmd, "max_output_tokens": tokens}));
    vec![
        turn("output-just-fits", [run("head -c 10000 /dev/zero | tr '\\0' x"), say("Done.")]),
        turn("output-one-too-long", [run("head -c 10001 /dev/zero | tr '\\0' x"), say("Done.")]),
        turn("output-cut-by-bytes", [run("seq 1 10000"), say("Done.")]),
        turn("output-cut-by-the-call", [limited("seq 1 10000", 500), say("Done.")]),
        turn("output-call-asks-for-more", [limited("seq 1 10000", 50000), say("Done.")]),
        turn("output-cut-by-the-config", [run("seq 1 10000"), say("Done.")]).config("tool_output_token_limit = 500"),
        turn("output-cut-by-tokens", [run("seq 1 20000"), say("Done.")]).model("gpt-5.5"),
        turn("output-cut-between-characters", [run("printf 'a'; yes äöü😀 | head -c 60000"), say("Done.")]),
        turn("output-of-one-mebibyte-and-more", [run("seq 1 300000"), say("Done.")]),
    ]
}
