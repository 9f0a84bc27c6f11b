//! One request with everything in it on each wire, as bytes; and what changes it.
use pretty_assertions::assert_eq;
use protocol::{
    Answer, Blob, Block, BlockKind, Call, CallForm, CallResult, Content, Entry, Grammar, Marks, Opaque, Opening,
    OwnedPrompt, Part, Phase, Raw, ReasoningAsk, Source, Speaker, Tool, ToolKind, Tune, WireId,
};
use serde_json::Value;

use crate::{body, fit, rich};

fn raw(json: &str) -> Raw {
    Raw::parse(json).expect("JSON")
}

fn tool(namespace: Option<&str>, name: &str, kind: ToolKind) -> Tool {
    let description = format!("does {name}");
    Tool {
        namespace: namespace.map(str::to_owned),
        name: name.into(),
        description,
        kind,
        strict: Some(false),
        deferred: false,
    }
}

pub(crate) fn rich_prompt(source: &Source) -> OwnedPrompt {
    let schema = raw(r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"}}}"#);
    let grammar = Grammar { syntax: "lark".into(), definition: "start: x".into() };
    let server = raw(r#"{"type":"web_search","external_web_access":false}"#);
    let opaque = |field: &str, json: &str| Opaque { scope: source.clone(), field: field.into(), value: raw(json) };
    let payloads = match source.wire {
        WireId::Responses => {
            vec![opaque("item", r#"{"type":"reasoning","id":"rs_1", "summary":[],"encrypted_content":"e"}"#)]
        }
        WireId::Chat => vec![opaque("reasoning_content", "null")],
        WireId::Messages => vec![opaque("signature", "\"sig\"")],
    };
    let image = Part::Image { blob: Blob::new("i", "image/png", &b"png"[..]), detail: Some("high".into()) };
    let custom = Call { form: CallForm::Custom, ..crate::call("call_2", "apply_patch", "*** Begin Patch") };
    let spaced = Call { namespace: Some("mcp__s".into()), ..crate::call("call_3", "t", "{\"q\": 1}") };
    let result = |call: &str, name: &str, custom: bool, answer: Answer| CallResult {
        call: call.into(),
        name: name.into(),
        custom,
        answer,
    };
    let developer = |text: &str| (Speaker::Developer, Content::Parts(vec![Part::text(text)]));
    OwnedPrompt {
        opening: Opening {
            instructions: vec![(Speaker::System, Content::Plain("Be an agent.".into())), developer("Rules.")],
            tools: vec![
                tool(None, "exec", ToolKind::Function(schema.clone())),
                tool(None, "apply_patch", ToolKind::Custom { grammar: Some(grammar), fallback: schema.clone() }),
                tool(Some("mcp__s"), "t", ToolKind::Function(schema.clone())),
                tool(None, "web_search", ToolKind::Server { wire: WireId::Responses, entry: server }),
            ],
        },
        said: vec![
            Entry::User(Content::Parts(vec![
                image.clone(),
                Part::Document(Blob::new("d.pdf", "application/pdf", &b"pdf"[..])),
                Part::text("Look."),
            ])),
            Entry::Assistant(vec![
                Block { kind: BlockKind::Reasoning("I look.".into()), opaque: payloads },
                Block { kind: BlockKind::Text("Looking.".into(), Phase::Commentary), opaque: Vec::new() },
                Block::call(crate::call("call_1", "exec", r#"{"z":"ls", "a":1}"#)),
                Block::call(custom),
                Block::call(spaced),
            ]),
            Entry::Results {
                before: vec![developer("A hook says hello.")],
                results: vec![
                    result(
                        "call_1",
                        "exec",
                        false,
                        Answer {
                            content: Content::Parts(vec![Part::text("out"), image]),
                            error: Some(false),
                            after: vec![],
                        },
                    ),
                    result("call_2", "apply_patch", true, Answer::failed("no match")),
                    result(
                        "call_3",
                        "t",
                        false,
                        Answer { after: vec![Part::text("by the way")], ..Answer::plain("ok") },
                    ),
                ],
                after: vec![Part::text("go on")],
            },
            Entry::Tools(vec![tool(None, "late", ToolKind::Function(schema.clone()))]),
            Entry::Instruct(Speaker::Developer, Content::Plain("Now read-only.".into())),
            Entry::Foreign(Opaque {
                scope: Source { wire: WireId::Responses, ..source.clone() },
                field: "item".into(),
                value: raw(r#"{"type":"x","n":1.0}"#),
            }),
            Entry::User(Content::Plain("And now?".into())),
        ],
        tune: Tune {
            max_output: Some(9000),
            temperature: Some(0.7),
            top_p: None,
            reasoning: ReasoningAsk {
                effort: Some("high".into()),
                summary: Some("auto".into()),
                budget: Some(4000),
                ..Default::default()
            },
            parallel: Some(true),
            choose_tools: true,
            schema: Some(("answer".into(), schema)),
            verbosity: Some("low".into()),
            cache_key: Some("thread-1".into()),
            marks: Marks { instructions: vec![1], tools: true, last: true },
            extras: vec![
                (WireId::Responses, "client_metadata".into(), raw(r#"{"k":"v"}"#)),
                (WireId::Messages, "metadata".into(), raw(r#"{"user_id":"u"}"#)),
                (
                    WireId::Messages,
                    "thinking".into(),
                    raw(r#"{"type":"enabled","budget_tokens":4000,"display":"updates"}"#),
                ),
                (WireId::Chat, "top_k".into(), raw("20")),
                (WireId::Chat, "tools".into(), raw("[]")),
            ],
            headers: vec![],
        },
    }
}

fn lines(at: &protocol::Fit) -> String {
    let sent = body(at, &rich_prompt(&at.source));
    let value: Value = serde_json::from_str(&sent).expect("JSON");
    serde_json::to_string_pretty(&value).expect("JSON")
}

#[test]
fn responses_in_full() {
    insta::assert_snapshot!(lines(&rich(WireId::Responses)));
}
#[test]
fn responses_for_a_plain_server() {
    insta::assert_snapshot!(lines(&fit(WireId::Responses)));
}
#[test]
fn chat_in_full() {
    insta::assert_snapshot!(lines(&rich(WireId::Chat)));
}
#[test]
fn chat_for_a_plain_server() {
    insta::assert_snapshot!(lines(&fit(WireId::Chat)));
}
#[test]
fn messages_in_full() {
    insta::assert_snapshot!(lines(&rich(WireId::Messages)));
}
#[test]
fn messages_for_a_plain_server() {
    insta::assert_snapshot!(lines(&fit(WireId::Messages)));
}

/// What a server reads out of a request, written again, is the request.
#[test]
fn parse_request_reads_what_we_write() {
    for wire in WireId::ALL {
        for mut at in [fit(wire), rich(wire)] {
            at.source.provider = String::new();
            let sent = body(&at, &rich_prompt(&at.source));
            let asked = wires::wire(wire).parse_request(sent.as_bytes()).expect("a request");
            assert_eq!((asked.model.as_str(), asked.stream), ("m", true));
            let again = body(&at, &asked.prompt);
            let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
            assert_eq!(value(&again), value(&sent), "{wire:?}");
        }
    }
}

#[test]
fn a_request_that_is_none_says_what_is_missing() {
    for wire in WireId::ALL {
        let said = |body: &str| wires::wire(wire).parse_request(body.as_bytes()).expect_err("no request").message;
        assert_eq!(said("{}"), "`model` is missing");
        let list = if wire == WireId::Responses { "`input` is missing" } else { "`messages` is missing" };
        assert_eq!(said(r#"{"model":"m"}"#), list);
        assert!(said("x").starts_with("the body is not a JSON object: "));
    }
}

#[test]
fn quirks_remove_and_rename() {
    let mut at = fit(WireId::Chat);
    at.quirks.max_completion_tokens = true;
    at.quirks.no_stream_options = true;
    at.quirks.no_temperature = true;
    at.quirks.short_ids = true;
    at.quirks.empty_content = true;
    at.quirks.no_strict = true;
    at.quirks.bridge_results = true;
    at.quirks.drop = vec!["response_format".into(), "tool_choice".into()];
    at.quirks.reasoning_field = Some("thinking".into());
    let prompt = rich_prompt(&at.source);
    let sent: Value = serde_json::from_str(&body(&at, &prompt)).expect("JSON");
    let names: Vec<&String> = sent.as_object().expect("object").keys().collect();
    assert_eq!(
        names,
        [
            "model",
            "stream",
            "tools",
            "parallel_tool_calls",
            "messages",
            "max_completion_tokens",
            "thinking",
            "reasoning_effort",
            "verbosity",
            "top_k"
        ]
    );
    let messages = sent["messages"].as_array().expect("messages");
    let id = messages[2]["tool_calls"][0]["id"].as_str().expect("an id");
    assert_eq!((id.len(), messages[3]["tool_call_id"].as_str()), (9, Some(id)));
    let strict = sent["tools"].as_array().expect("tools").iter().any(|tool| tool["function"].get("strict").is_some());
    assert!(!strict, "{}", sent["tools"]);
    let roles: Vec<&str> = messages.iter().filter_map(|m| m["role"].as_str()).collect();
    assert!(!roles.windows(2).any(|pair| pair == ["tool", "user"]), "{roles:?}");
    assert!(roles.windows(3).any(|three| three == ["tool", "assistant", "user"]), "{roles:?}");
}

#[test]
fn plain_user_text_carries_a_mark_as_the_newest_only() {
    let at = rich(WireId::Messages);
    let wire = wires::wire(WireId::Messages);
    let tune = Tune { marks: Marks { last: true, ..Default::default() }, ..Default::default() };
    let entry = Entry::User(Content::Plain("hi".into()));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    assert_eq!(text(wire.freeze(&entry, &at)), r#"{"role":"user","content":"hi"}"#);
    assert_eq!(
        wire.newest(&entry, &tune, &at).map(text).as_deref(),
        Some(r#"{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}"#)
    );
    assert_eq!(wire.newest(&entry, &tune, &fit(WireId::Messages)), None);
}
