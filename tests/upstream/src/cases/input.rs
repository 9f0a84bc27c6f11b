//! What reaches the model of prompt, stdin, images and schema, and what comes out by `-o`.
use super::results::PNG;
use crate::{
    case::{Case, Look::*, case, turn},
    model::{nothing, run, say},
};

pub(crate) fn cases() -> Vec<Case> {
    let hello = || [say("Hello.")];
    let schema = r#"{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},
"required":["b","a"],"additionalProperties":false}"#;
    vec![
        turn("prompt-argument", hello()).look(History),
        case("prompt-and-stdin").exec(&["look at this"], hello()).stdin("line 1\nline 2\n").look(History),
        case("prompt-and-empty-stdin").exec(&["look at this"], hello()).stdin("").look(History),
        case("prompt-from-stdin")
            .argv(&["exec", "--json", "-s", "workspace-write"], hello())
            .stdin("from stdin\n")
            .look(History),
        case("prompt-dash")
            .argv(&["exec", "--json", "-s", "workspace-write", "-"], hello())
            .stdin("  from stdin\n\n")
            .look(History),
        case("prompt-empty").exec(&[""], hello()).look(History),
        case("prompt-with-odd-characters").exec(&["a \"b\" \\ \u{1F600} <x>&\ttab"], hello()).look(History),
        case("prompt-experimental-json")
            .argv(&["exec", "--experimental-json", "-s", "workspace-write", "do it"], hello()),
        case("prompt-alias-e").argv(&["e", "--json", "-s", "workspace-write", "do it"], hello()),
        case("prompt-flags-before-exec")
            .argv(
                &["-c", "model_reasoning_effort=\"high\"", "-s", "workspace-write", "exec", "--json", "do it"],
                hello(),
            )
            .look(Request(&["/reasoning/effort"])),
        case("image").exec(&["look", "-i", "a.png"], hello()).file("a.png", PNG).look(History),
        case("images")
            .exec(&["look", "-i", "a.png,b.png"], hello())
            .file("a.png", PNG)
            .file("b.png", PNG)
            .look(History),
        case("image-missing").exec(&["look", "-i", "missing.png"], hello()).look(History),
        case("image-not-an-image").exec(&["look", "-i", "a.txt"], hello()).file("a.txt", "text").look(History),
        case("schema")
            .exec(&["--output-schema", "s.json", "do it"], [say("{\"b\":\"x\",\"a\":1}")])
            .file("s.json", schema)
            .look(Request(&["/text/format"])),
        case("last-message").exec(&["-o", "out.txt", "do it"], [say("First.").run("true"), say("Last.")]),
        case("last-message-is-an-earlier-one")
            .exec(&["-o", "out.txt", "do it"], [say("First.").run("true"), nothing()]),
        case("last-message-missing").exec(&["-o", "out.txt", "do it"], [nothing()]),
        case("last-message-of-a-failed-turn")
            .exec(&["-o", "out.txt", "do it"], [say("Half").incomplete("max_output_tokens")])
            .file("out.txt", "old"),
        case("request-settings").exec(&[], hello()).look(Request(&[
            "/model",
            "/stream",
            "/store",
            "/tool_choice",
            "/parallel_tool_calls",
            "/reasoning",
            "/include",
            "/text",
            "/service_tier",
            "/temperature",
            "/max_output_tokens",
        ])),
        case("request-settings-of-a-known-model").exec(&[], hello()).model("gpt-5.5").look(Request(&[
            "/model",
            "/stream",
            "/store",
            "/tool_choice",
            "/parallel_tool_calls",
            "/reasoning",
            "/include",
            "/text",
            "/service_tier",
        ])),
        case("request-goes-on-from-the-one-before")
            .exec(
                &[],
                [
                    nothing().think("**Think**").say("I look.").run("sleep 0.4; echo hi").run("sleep 0.8; echo ho"),
                    run("true"),
                    say("Done."),
                ],
            )
            .look(History),
    ]
}
