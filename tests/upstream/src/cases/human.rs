//! Output for people: the answer on stdout, the rest on stderr.
use serde_json::json;

use crate::{
    case::{Case, Look::*, case},
    model::{call, nothing, patch, refuse, run, say},
};

pub(crate) fn cases() -> Vec<Case> {
    let human = |name, steps: Vec<demo::scripted::Step>| {
        case(name).argv(&["exec", "-s", "workspace-write", "do it"], steps).look(Stderr)
    };
    let add = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: b.txt\n@@\n-two\n+2\n*** End Patch";
    let plan = json!({"explanation": "so far", "plan": [{"step": "Look", "status": "in_progress"},
        {"step": "Mend", "status": "pending"}]});
    vec![
        human("human-text", vec![say("Hello.").into()]),
        human("human-reasoning", vec![nothing().think("**Looking**\n\nat it").say("Hello.").into()]),
        human(
            "human-command",
            vec![say("I look.").run("echo hi").into(), run("echo no; exit 3").into(), say("Done.").into()],
        ),
        human("human-patch", vec![patch(add).into(), say("Done.").into()]).file("b.txt", "two\n"),
        human("human-plan", vec![call("update_plan", plan).into(), say("Done.").into()])
            .tables("[tools.update_plan]\nenabled = true"),
        human("human-failure", vec![refuse(400, json!({"message": "bad thing"}))]),
        human("human-no-message", vec![nothing().into()]),
        case("human-colours")
            .argv(
                &["exec", "-s", "workspace-write", "--color", "always", "do it"],
                [nothing().think("**Looking**").run("echo hi"), run("exit 3"), say("Done.")],
            )
            .look(Stderr),
    ]
}
