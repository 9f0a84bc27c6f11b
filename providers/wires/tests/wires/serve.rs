//! The server's side: whole answers say what streams say, payloads find their way back through every wire, a call comes to
//! the client under the name and in the form of its own tool.
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use protocol::{
    Block, BlockKind, CallForm, Delta, Entry, Fit, Opaque, OwnedPrompt, Raw, Reply, Source, Stop, Tool, ToolKind,
    Usage, WireId,
};
use serde_json::{Value, json};
use wires::serve::{self, Manner, Outgoing};

use crate::{a_call, block, body, collect, deltas, fit, kinds, reasoning, rich, roundtrip::with_reply, text};

const MANNER: Manner = Manner { model: "asked", created: 7, usage: true };

/// What a client of `to` collects of a reply of `at`, and the deltas that it was sent.
fn through(to: WireId, at: &Fit, prompt: &OwnedPrompt, sent: &[Delta]) -> (Reply, Vec<Delta>) {
    let (mut outgoing, mut encoder) = (Outgoing::new(to, prompt, at, "own"), serve::encoder(to, &MANNER));
    let (mut out, mut bytes) = (Vec::new(), Vec::new());
    sent.iter().for_each(|delta| outgoing.pass(delta, &mut out));
    out.iter().for_each(|delta| encoder.push(delta, &mut bytes));
    let client = fit(to);
    let (reply, error) = collect(&client, &deltas(&client, [bytes.as_slice()]));
    // Responses says of an early end that it is one, beside its reason.
    assert_eq!(error.filter(|_| !matches!(reply.stop, Stop::Length | Stop::Filter)), None);
    (reply, out)
}

fn whole(to: WireId, out: &[Delta]) -> Value {
    let (reply, _) = collect(&fit(to), out);
    serde_json::from_slice(&serve::whole(to, &reply, &MANNER)).expect("JSON")
}

/// A client's next request that says again what it was answered, as the provider at `at` gets it.
fn echoed(to: WireId, at: &Fit, answer: &Value) -> OwnedPrompt {
    let request = match to {
        WireId::Chat => json!({"model": "asked", "messages": [answer["choices"][0]["message"]]}),
        WireId::Messages => {
            json!({"model": "asked", "messages": [{"role": "assistant", "content": answer["content"]}]})
        }
        WireId::Responses => json!({"model": "asked", "input": answer["output"]}),
    };
    let mut prompt = wires::wire(to).parse_request(request.to_string().as_bytes()).expect("a request").prompt;
    serve::unpack(&mut prompt, at);
    prompt
}

fn said(prompt: &OwnedPrompt) -> &[Block] {
    match prompt.said.as_slice() {
        [Entry::Assistant(blocks)] => blocks,
        other => panic!("{other:?}"),
    }
}

proptest! {
    /// Over its own wire a reply comes through as it was.
    #[test]
    fn a_reply_passes_through_its_own_wire((wire, reply) in with_reply()) {
        let at = fit(wire);
        let (got, out) = through(wire, &at, &OwnedPrompt::default(), &wires::deltas_of(&reply));
        prop_assert_eq!(kinds(&got), kinds(&reply));
        prop_assert_eq!((&got.stop, got.usage), (&reply.stop, reply.usage));
        // The whole answer is read by the client's side of the same wire as the stream is.
        let blocks = echoed(wire, &at, &whole(wire, &out));
        prop_assert!(blocks.said.len() <= 1);
    }

    /// Over any other wire text and calls come through; usage as far as the wire counts.
    #[test]
    fn a_reply_passes_through_any_wire((wire, reply) in with_reply(), to in prop::sample::select(WireId::ALL.to_vec())) {
        let (got, out) = through(to, &fit(wire), &OwnedPrompt::default(), &wires::deltas_of(&reply));
        prop_assert_eq!(got.text(), reply.text());
        let calls = |reply: &Reply| reply.calls().map(|call| (call.id.clone(), call.name.clone())).collect::<Vec<_>>();
        prop_assert_eq!(calls(&got), calls(&reply));
        prop_assert_eq!((got.usage.input, got.usage.output), (reply.usage.input, reply.usage.output));
        let answer = whole(to, &out);
        let model = answer["model"].as_str();
        prop_assert_eq!(model, Some("asked"));
    }

    /// What a request says is read out of it whole: written again on its own wire, it is the request.
    #[test]
    fn a_request_is_read_whole(
        wire in prop::sample::select(WireId::ALL.to_vec()),
        said in proptest::collection::vec(crate::roundtrip::entry(), 1..6),
        full in any::<bool>(),
        numbers in (proptest::option::of(1u64..9_999), proptest::option::of(0u8..8), any::<Option<bool>>()),
    ) {
        let mut at = if full { rich(wire) } else { fit(wire) };
        at.source.provider = String::new();
        // What instructs before anything was said belongs to the opening.
        let hi = Entry::User(protocol::Content::Plain("Hi".into()));
        let said = [hi].into_iter().chain(said).collect();
        let mut prompt = OwnedPrompt { said, ..OwnedPrompt::default() };
        prompt.opening.instructions.push((protocol::Speaker::System, protocol::Content::Plain("be".into())));
        prompt.tune.max_output = numbers.0;
        prompt.tune.temperature = numbers.1.map(|eighths| f32::from(eighths) / 8.0);
        prompt.tune.parallel = numbers.2;
        prompt.tune.extras.push((wire, "seed".into(), Raw::of(&7)));
        let sent = body(&at, &prompt);
        let asked = wires::wire(wire).parse_request(sent.as_bytes()).expect("a request");
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        prop_assert_eq!(value(&body(&at, &asked.prompt)), value(&sent));
    }

    /// Arbitrary payloads of any client never panic.
    #[test]
    fn any_request_can_be_translated(value in crate::roundtrip::json(), from in prop::sample::select(WireId::ALL.to_vec()), to in prop::sample::select(WireId::ALL.to_vec())) {
        let list = if from == WireId::Responses { "input" } else { "messages" };
        let request = json!({"model": "m", list: [value.clone()], "tool_choice": value.clone(), "text": value.clone(), "stop": value});
        if let Ok(mut asked) = wires::wire(from).parse_request(request.to_string().as_bytes()) {
            let at = rich(to);
            serve::unsupported(&asked.prompt, from, to);
            serve::unpack(&mut asked.prompt, &at);
            serve::translate(&mut asked.prompt, from, to, &protocol::ModelInfo::fallback("m"), false);
            serve::estimate(&asked.prompt);
            prop_assert!(serde_json::from_str::<Value>(&body(&at, &asked.prompt)).is_ok());
        }
    }
}

/// A payload of every wire goes out and comes back to where it came from, through a client of every wire.
#[test]
fn payloads_find_their_way_back() {
    let payloads = [
        (WireId::Chat, "reasoning_content", json!(null)),
        (WireId::Chat, "reasoning_details", json!([{"type": "reasoning.encrypted", "data": "d"}])),
        (WireId::Messages, "signature", json!("sig==")),
        (WireId::Messages, "block", json!({"type": "redacted_thinking", "data": "d"})),
        (
            WireId::Responses,
            "item",
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}),
        ),
    ];
    for (from, field, value) in payloads {
        let at = rich(from);
        let opaque = Opaque { scope: at.source.clone(), field: field.into(), value: Raw::of(&value) };
        let thought = Block { kind: BlockKind::Reasoning("hm".into()), opaque: vec![opaque.clone()] };
        let reply = Reply {
            id: "r".into(),
            from: at.source.clone(),
            blocks: vec![thought, block(text("hi")), block(a_call("c", "f", "{}"))],
            stop: Stop::Calls,
            usage: Usage::default(),
        };
        for to in WireId::ALL {
            let (got, out) = through(to, &at, &OwnedPrompt::default(), &wires::deltas_of(&reply));
            assert_eq!(kinds(&got), kinds(&reply), "{from:?} {field} to {to:?}");
            let back = echoed(to, &at, &whole(to, &out));
            assert_eq!(said(&back)[0].opaque, std::slice::from_ref(&opaque), "{from:?} {field} through {to:?}");
            // The same by the way of the stream.
            let prompt = OwnedPrompt { said: vec![Entry::Assistant(got.blocks)], ..OwnedPrompt::default() };
            let again = body(&fit(to), &prompt);
            let mut prompt = wires::wire(to).parse_request(again.as_bytes()).expect("a request").prompt;
            serve::unpack(&mut prompt, &at);
            assert_eq!(
                said(&prompt)[0].opaque,
                std::slice::from_ref(&opaque),
                "{from:?} {field} streamed through {to:?}"
            );
            // To another source it does not go.
            let other = Fit { source: Source { model: "n".into(), ..at.source.clone() }, ..at.clone() };
            let elsewhere = body(&other, &echoed(to, &other, &whole(to, &out)));
            assert!(!elsewhere.contains("sig==") && !elsewhere.contains("interpreter.1."), "{elsewhere}");
        }
    }
}

#[test]
fn signed_calls_come_back_signed() {
    let at = fit(WireId::Chat);
    let opaque = Opaque { scope: at.source.clone(), field: "extra_content".into(), value: Raw::of(&json!({"s": 1})) };
    let signed = Block { kind: a_call("c", "f", "{}"), opaque: vec![opaque.clone()] };
    let reply = Reply {
        id: "r".into(),
        from: at.source.clone(),
        blocks: vec![signed, block(a_call("d", "f", "{}"))],
        stop: Stop::Calls,
        usage: Usage::default(),
    };
    for to in WireId::ALL {
        let (_, out) = through(to, &at, &OwnedPrompt::default(), &wires::deltas_of(&reply));
        let back = echoed(to, &at, &whole(to, &out));
        let calls: Vec<&Block> = said(&back).iter().filter(|it| matches!(it.kind, BlockKind::Call(_))).collect();
        assert_eq!(said(&back).len(), calls.len(), "{to:?}");
        assert_eq!(calls[0].opaque.iter().filter(|it| it.field == "extra_content").collect::<Vec<_>>(), [&opaque]);
        assert_eq!(calls[1].opaque.iter().filter(|it| it.field == "extra_content").count(), 0);
    }
}

#[test]
fn tools_keep_the_clients_names_and_forms() {
    let tool = |namespace: Option<&str>, name: &str, kind| Tool {
        namespace: namespace.map(str::to_owned),
        name: name.into(),
        description: String::new(),
        kind,
        strict: None,
        deferred: false,
    };
    let mut prompt = OwnedPrompt::default();
    let free = ToolKind::Custom { grammar: None, fallback: Raw::of(&json!({})) };
    prompt.opening.tools = vec![tool(None, "patch", free), tool(Some("mcp"), "look", ToolKind::Function(Raw::null()))];
    let start = |at, id: &str, name: &str| Delta::BlockStart { at, kind: a_call(id, name, "") };
    let args = |at, text: &str| Delta::Args { at, text: text.into() };
    let end = |at| Delta::BlockEnd { at, opaque: Vec::new() };
    let sent = [
        start(0, "a", "patch"),
        args(0, r#"{"input":"*** Be"#),
        args(0, "gin\\n\"}"),
        end(0),
        // An id that comes late, one that came before, none at all; no arguments.
        start(1, "", "mcp__look"),
        start(1, "b", "mcp__look"),
        end(1),
        start(2, "b", "x"),
        args(2, "{}"),
        end(2),
        start(3, "", "x"),
        end(3),
        Delta::Stop(Stop::Calls),
    ];
    let (got, _) = through(WireId::Responses, &fit(WireId::Chat), &prompt, &sent);
    let call = |id: &str, namespace: Option<&str>, name: &str, args: &str, form| {
        BlockKind::Call(protocol::Call {
            id: id.into(),
            namespace: namespace.map(str::to_owned),
            name: name.into(),
            args: args.into(),
            form,
        })
    };
    assert_eq!(got.id.as_str(), "own");
    assert_eq!(
        kinds(&got),
        [
            call("a", None, "patch", "*** Begin\n", CallForm::Custom),
            call("b", Some("mcp"), "look", "{}", CallForm::Function),
            call("call_own_2", None, "x", "{}", CallForm::Function),
            call("call_own_3", None, "x", "{}", CallForm::Function),
        ]
    );
}

#[test]
fn thinking_of_which_nothing_is_known_is_no_block() {
    let sent = [
        Delta::BlockStart { at: 0, kind: reasoning("") },
        Delta::BlockEnd { at: 0, opaque: Vec::new() },
        Delta::BlockStart { at: 1, kind: text("") },
        Delta::Text { at: 1, text: "a".into() },
        Delta::BlockEnd { at: 1, opaque: Vec::new() },
        Delta::Stop(Stop::End),
    ];
    for to in WireId::ALL {
        let (got, _) = through(to, &fit(WireId::Chat), &OwnedPrompt::default(), &sent);
        assert_eq!(kinds(&got), [text("a")], "{to:?}");
    }
}

#[test]
fn whole_answers() {
    let reply = |wire| Reply {
        id: "r".into(),
        from: fit(wire).source,
        blocks: vec![block(reasoning("hm")), block(text("hi")), block(a_call("c", "f", r#"{"a":1}"#))],
        stop: Stop::Calls,
        usage: Usage { input: 9, cached: 4, output: 3, ..Usage::default() },
    };
    let whole = |wire| -> Value { serde_json::from_slice(&serve::whole(wire, &reply(wire), &MANNER)).expect("JSON") };
    assert_eq!(
        whole(WireId::Chat),
        json!({
            "id": "r", "object": "chat.completion", "created": 7, "model": "asked",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant", "content": "hi", "refusal": null, "reasoning_content": "hm",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}],
                },
                "logprobs": null, "finish_reason": "tool_calls",
            }],
            "usage": {
                "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        })
    );
    assert_eq!(
        whole(WireId::Messages),
        json!({
            "id": "r", "type": "message", "role": "assistant", "model": "asked",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "text", "text": "hi"},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {
                "input_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 4, "output_tokens": 3,
            },
        })
    );
    let response = whole(WireId::Responses);
    let output: Vec<&str> =
        response["output"].as_array().expect("a list").iter().filter_map(|it| it["type"].as_str()).collect();
    assert_eq!(output, ["reasoning", "message", "function_call"]);
    assert_eq!((&response["status"], &response["created_at"]), (&json!("completed"), &json!(7)));
    assert_eq!(response["usage"]["input_tokens"], 9);
}

#[test]
fn failures_in_each_wires_form() {
    use protocol::{ErrorKind, ProviderError};
    let check = |wire, error: &ProviderError, expected: (u16, Value)| {
        let (status, body) = serve::refusal(wire, error);
        assert_eq!((status, serde_json::from_slice::<Value>(&body).expect("JSON")), expected);
    };
    let full = ProviderError::new(ErrorKind::ContextLength, "too much");
    check(
        WireId::Chat,
        &full,
        (
            400,
            json!({"error": {"message": "too much", "type": "invalid_request_error", "param": null, "code": "context_length_exceeded"}}),
        ),
    );
    check(
        WireId::Messages,
        &full,
        (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: too much"}}),
        ),
    );
    let limit = ProviderError { status: Some(429), ..ProviderError::new(ErrorKind::RateLimit, "slower") };
    check(
        WireId::Messages,
        &limit,
        (429, json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slower"}})),
    );
    assert_eq!(serve::refusal(WireId::Messages, &ProviderError::new(ErrorKind::Overloaded, "")).0, 529);
    assert_eq!(serve::refusal(WireId::Chat, &ProviderError::new(ErrorKind::Overloaded, "")).0, 503);
}
