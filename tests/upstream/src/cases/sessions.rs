//! Threads over several runs: resume, fork, ephemeral ones, and compaction.
use serde_json::json;

use crate::{
    case::{Case, Look::*, case, turn},
    model::{nothing, refuse, run, say},
};

pub(crate) fn cases() -> Vec<Case> {
    let first = || [nothing().think("**Think**").say("I look.").run("echo hi"), say("First.")];
    let second = || [say("Second.")];
    let begun = |name| turn(name, first()).look(History);
    let refused = refuse(400, json!({"message": "bad thing"}));
    let small = "model_context_window = 100000";
    vec![
        begun("resume-by-id").exec(&["resume", "<<thread>>", "go on"], second()),
        begun("resume-last").exec(&["resume", "--last", "go on"], second()),
        begun("resume-prompt-from-stdin")
            .argv(&["exec", "--json", "-s", "workspace-write", "resume", "<<thread>>"], second())
            .stdin("go on\n"),
        begun("resume-dash").exec(&["resume", "<<thread>>", "-"], second()).stdin("go on\n"),
        begun("resume-with-another-model")
            .exec(&["-m", "other-model", "resume", "<<thread>>", "go on"], second())
            .look(Request(&["/model"])),
        begun("resume-in-another-sandbox")
            .argv(&["exec", "--json", "-s", "read-only", "resume", "<<thread>>", "go on"], second())
            .look(Said("<environment_context>")),
        begun("resume-from-another-folder")
            .exec(&["resume", "<<thread>>", "go on"], second())
            .cwd("sub")
            .file("sub/x", "x"),
        begun("resume-last-from-another-folder")
            .exec(&["resume", "--last", "go on"], second())
            .cwd("sub")
            .file("sub/x", "x"),
        begun("resume-last-all").exec(&["resume", "--last", "--all", "go on"], second()).cwd("sub").file("sub/x", "x"),
        begun("resume-twice")
            .exec(&["resume", "<<thread>>", "go on"], [run("echo again"), say("Second.")])
            .exec(&["resume", "<<thread>>", "and on"], [say("Third.")]),
        turn("resume-after-a-failed-turn", [say("Half").incomplete("max_output_tokens")])
            .exec(&["resume", "<<thread>>", "go on"], second())
            .look(History),
        begun("resume-last-without-a-session").exec(&["--ephemeral", "resume", "--last", "go on"], second()),
        case("resume-last-in-an-empty-home").exec(&["resume", "--last", "go on"], second()).look(History),
        case("resume-by-an-unknown-name").exec(&["resume", "no-such-name", "go on"], second()).look(History),
        begun("fork").exec(&["fork", "<<thread>>", "go on"], second()),
        begun("fork-without-prompt").argv(&["exec", "--json", "-s", "workspace-write", "fork", "<<thread>>"], second()),
        begun("fork-then-resume-the-first")
            .exec(&["fork", "<<thread>>", "go on"], second())
            .exec(&["resume", "--last", "and on"], [say("Third.")]),
        case("ephemeral").exec(&["--ephemeral"], first()).exec(&["resume", "--last", "go on"], second()).look(History),
        // The second request would be over 90 % of the window.
        turn(
            "compaction-in-a-turn",
            [run("echo one").tokens(90000, 0, 100, 0), say("Summary so far.").tokens(50, 0, 5, 0), say("Done.")],
        )
        .config(small)
        .look(History),
        turn("compaction-not-yet", [run("echo one").tokens(89800, 0, 100, 0), say("Done.")])
            .config(small)
            .look(History),
        turn(
            "compaction-by-a-lower-limit",
            [run("echo one").tokens(50000, 0, 100, 0), say("Summary so far.").tokens(50, 0, 5, 0), say("Done.")],
        )
        .config("model_context_window = 100000\nmodel_auto_compact_token_limit = 50000")
        .look(History),
        turn("compaction-at-a-new-turn", [run("echo one"), say("First.").tokens(90000, 0, 100, 0)])
            .config(small)
            .exec(&["resume", "<<thread>>", "go on"], [say("Summary so far."), say("Second.")])
            .look(History),
        // The request for the summary is the last one.
        turn("compaction-with-own-prompt", [run("echo one").tokens(90000, 0, 100, 0).into(), refused.clone()])
            .config(small)
            .config("compact_prompt = \"COMPACT-MARK sum it up\"")
            .look(Request(&["/tools", "/parallel_tool_calls"]))
            .look(History),
    ]
}
