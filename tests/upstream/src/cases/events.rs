//! What `exec --json` prints for the replies of a model: messages, reasoning, plans, searches, usage.
use serde_json::json;

use crate::{
    case::{Case, turn},
    model::{call, nothing, run, say},
};

const PLAN_TOOL: &str = "[tools.update_plan]\nenabled = true";

pub(crate) fn cases() -> Vec<Case> {
    let plan = |first: &str, second: &str| {
        let steps = json!([{"step": "Look", "status": first}, {"step": "Mend", "status": second}]);
        call("update_plan", json!({"explanation": "so far", "plan": steps}))
    };
    let search =
        |action| json!({"type": "web_search_call", "id": "ws_<<id>>", "status": "completed", "action": action});
    let two_parts = json!({"type": "reasoning", "id": "<<id>>", "encrypted_content": "c2VjcmV0", "summary": [
        {"type": "summary_text", "text": "**First**\n\nthis"}, {"type": "summary_text", "text": "**Second**\n\nthat"}]});
    let silent = json!({"type": "reasoning", "id": "<<id>>", "encrypted_content": "c2VjcmV0", "summary": []});
    let commentary = json!({"type": "message", "id": "<<id>>", "role": "assistant", "status": "completed",
        "phase": "commentary", "content": [{"type": "output_text", "text": "I look first.", "annotations": []}]});
    let unknown = json!({"type": "hologram", "id": "<<id>>", "data": 1});
    let local_shell = json!({"type": "local_shell_call", "id": "<<id>>", "call_id": "call_<<id>>", "status": "completed",
        "action": {"type": "exec", "command": ["true"]}});
    vec![
        turn("text", [say("Hello.")]),
        turn("text-of-a-known-model", [say("Hello.")]).model("gpt-5.5"),
        turn("text-with-escapes", [say("\"quoted\" \\ back\tslash\nünï 😀 \u{7f}\u{1b}[1m")]),
        turn("messages-two-in-a-reply", [say("One.").say("Two.")]),
        turn("message-commentary", [nothing().item(commentary), say("Done.")]),
        turn("message-empty", [say("")]),
        turn("reply-empty", [nothing()]),
        turn("reasoning", [nothing().think("**Looking**\n\nat it").say("Done.")]),
        turn("reasoning-two-parts", [nothing().item(two_parts).say("Done.")]),
        turn("reasoning-without-summary", [nothing().item(silent).say("Done.")]),
        turn("reasoning-and-command", [nothing().think("Let me look.").say("I look.").run("echo hi"), say("Done.")]),
        turn(
            "usage-is-summed",
            [
                nothing().run("true").tokens(1000, 100, 50, 20),
                nothing().run("true").tokens(2000, 900, 60, 30),
                say("Done.").tokens(3000, 1900, 70, 40),
            ],
        ),
        turn(
            "plan",
            [
                plan("in_progress", "pending"),
                plan("completed", "in_progress"),
                plan("completed", "completed"),
                say("Done."),
            ],
        )
        .tables(PLAN_TOOL),
        turn("plan-with-bad-arguments", [call("update_plan", json!({"plan": "all of it"})), say("Done.")])
            .tables(PLAN_TOOL),
        turn("plan-tool-off", [plan("in_progress", "pending"), say("Done.")]),
        turn(
            "web-search",
            [nothing()
                .item(search(json!({"type": "search", "query": "rust", "queries": ["rust"]})))
                .item(search(json!({"type": "open_page", "url": "https://example.com/"})))
                .item(search(json!({"type": "find_in_page", "url": "https://example.com/", "pattern": "x"})))
                .say("Found.")],
        ),
        turn("items-of-unknown-kinds", [nothing().item(unknown).say("Done.")]),
        turn("item-local-shell-call", [nothing().item(local_shell).say("Done.")]),
        turn("warning-unknown-key", [say("Hello.")]).config("no_such_key = 1"),
        turn("message-between-commands", [run("echo one").say("Now two."), run("echo two"), say("Done.")]),
    ]
}
