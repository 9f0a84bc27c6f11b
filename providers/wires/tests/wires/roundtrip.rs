//! decode(encode(x)) = x on every wire, any cuts give the same, arbitrary bytes never panic, a request extends the last.
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use protocol::{
    Answer, Block, BlockKind, CallForm, CallResult, Content, Delta, Entry, OwnedPrompt, Part, Phase, Reply, Speaker,
    Stop, Usage, WireId,
};

use crate::{body, collect, deltas, encode, fit, rich};

fn said() -> impl Strategy<Value = String> {
    "[a-z \\n\"\\\\渐🙂\u{2028}<>]{1,12}"
}

fn args() -> impl Strategy<Value = String> {
    prop_oneof![Just("{}".to_owned()), said().prop_map(|text| serde_json::json!({ "b": text, "a": 1 }).to_string())]
}

fn block(wire: WireId) -> impl Strategy<Value = BlockKind> {
    let custom = wire != WireId::Messages;
    prop_oneof![
        said().prop_map(|text| BlockKind::Text(text, Phase::Final)),
        said().prop_map(BlockKind::Reasoning),
        (args(), said(), any::<bool>()).prop_map(move |(args, text, free)| {
            let free = free && custom;
            let form = if free { CallForm::Custom } else { CallForm::Function };
            BlockKind::Call(protocol::Call { form, ..crate::call("", "name", if free { &text } else { &args }) })
        }),
    ]
}

/// Replies that the wire can carry: chat has no two texts, and no two reasonings, side by side.
fn reply(wire: WireId) -> impl Strategy<Value = Reply> {
    let stop = prop_oneof![Just(Stop::End), Just(Stop::Length), Just(Stop::Filter)];
    let counts = (0u64..50, 0u64..9, 0u64..9, 9u64..50, 0u64..9);
    (proptest::collection::vec(block(wire), 0..6), stop, counts).prop_map(move |(mut kinds, stop, counts)| {
        if wire == WireId::Chat {
            kinds.dedup_by(|a, b| {
                std::mem::discriminant(a) == std::mem::discriminant(b) && !matches!(a, BlockKind::Call(_))
            });
        }
        for (at, kind) in kinds.iter_mut().enumerate() {
            if let BlockKind::Call(call) = kind {
                call.id = format!("call-{at}").into();
            }
        }
        let called = kinds.iter().any(|kind| matches!(kind, BlockKind::Call(_)));
        let stop = if called && stop == Stop::End { Stop::Calls } else { stop };
        let (input, cached, cache_write, output, reasoning) = counts;
        let reasoning = if wire == WireId::Messages { 0 } else { reasoning };
        let usage = Usage { input: input + cached + cache_write, cached, cache_write, output, reasoning };
        let blocks = kinds.into_iter().map(crate::block).collect();
        Reply { id: "reply".into(), from: fit(wire).source, blocks, stop, usage }
    })
}

fn without_payloads(mut reply: Reply) -> Reply {
    reply.blocks.iter_mut().for_each(|block| block.opaque.clear());
    reply
}

fn pieces<'a>(mut rest: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut out = Vec::new();
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*cut).clamp(1, rest.len()));
        out.push(piece);
        rest = after;
    }
    out
}

fn any_wire() -> impl Strategy<Value = WireId> {
    prop_oneof![Just(WireId::Responses), Just(WireId::Chat), Just(WireId::Messages)]
}

pub(crate) fn with_reply() -> impl Strategy<Value = (WireId, Reply)> {
    any_wire().prop_flat_map(|wire| (Just(wire), reply(wire)))
}

/// Each text and arguments in several pieces.
fn in_pieces(deltas: Vec<Delta>) -> Vec<Delta> {
    let halves = |text: &str| {
        let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        [text[..middle].to_owned(), text[middle..].to_owned()]
            .into_iter()
            .filter(|half| !half.is_empty())
            .collect::<Vec<_>>()
    };
    let split = |delta: Delta| -> Vec<Delta> {
        match delta {
            Delta::Text { at, text } => halves(&text).into_iter().map(|text| Delta::Text { at, text }).collect(),
            Delta::Args { at, text } => halves(&text).into_iter().map(|text| Delta::Args { at, text }).collect(),
            other => vec![other],
        }
    };
    deltas.into_iter().flat_map(split).collect()
}

proptest! {
    #[test]
    fn decode_of_encode((wire, reply) in with_reply(), cuts in proptest::collection::vec(1usize..40, 1..8)) {
        let at = fit(wire);
        let stream = encode(wire, &in_pieces(wires::deltas_of(&reply)));
        let whole = deltas(&at, [stream.as_bytes()]);
        prop_assert_eq!(&deltas(&at, pieces(stream.as_bytes(), &cuts)), &whole);
        let (got, _) = collect(&at, &whole);
        prop_assert_eq!(&without_payloads(got.clone()), &reply);
        // What came with payloads goes on with them.
        let (again, _) = collect(&at, &deltas(&at, [encode(wire, &wires::deltas_of(&got)).as_bytes()]));
        prop_assert_eq!(again, got);
    }

    /// Events that are read by a template of the one before mean what they mean without one: a field of its own in each
    /// keeps any from fitting.
    #[test]
    fn templates_change_nothing((wire, reply) in with_reply()) {
        let at = fit(wire);
        let mut pieces = wires::deltas_of(&reply);
        for _ in 0..4 {
            pieces = in_pieces(pieces);
        }
        let stream = encode(wire, &pieces);
        let mut n = 0;
        let unlike: String = stream
            .split_inclusive("data: {")
            .map(|event| { n += 1; if event.ends_with('{') { format!("{event}\"n{n}\":0,") } else { event.to_owned() } })
            .collect();
        prop_assert_eq!(deltas(&at, [unlike.as_bytes()]), deltas(&at, [stream.as_bytes()]));
    }

    #[test]
    fn deltas_of_a_reply_make_it((wire, reply) in with_reply()) {
        let (got, error) = collect(&fit(wire), &wires::deltas_of(&reply));
        prop_assert_eq!((got, error), (reply, None));
    }

    #[test]
    fn arbitrary_bytes_never_panic(wire in any_wire(), bytes in proptest::collection::vec(any::<u8>(), 0..300), status in 100u16..600) {
        let at = fit(wire);
        let _ = collect(&at, &deltas(&at, bytes.chunks(13)));
        let _ = wires::wire(wire).refusal(status, &[("Retry-After".into(), "x".into())], &bytes);
        let _ = wires::wire(wire).parse_request(&bytes);
    }

    /// The same with bytes that are nearly right.
    #[test]
    fn damaged_streams_never_panic((wire, reply) in with_reply(), places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let at = fit(wire);
        let mut stream = encode(wire, &wires::deltas_of(&reply)).into_bytes();
        for (place, byte) in &places {
            let place = place.index(stream.len());
            stream[place] = *byte;
        }
        let whole = deltas(&at, [&stream[..]]);
        prop_assert_eq!(&deltas(&at, stream.chunks(3)), &whole);
        let _ = collect(&at, &whole);
        let mut request = body(&at, &crate::requests::rich_prompt(&at.source)).into_bytes();
        for (place, byte) in places {
            let place = place.index(request.len());
            request[place] = byte;
        }
        let _ = wires::wire(wire).parse_request(&request);
    }

    #[test]
    fn arbitrary_json_never_panics(wire in any_wire(), value in json()) {
        let at = fit(wire);
        let text = value.to_string();
        let _ = collect(&at, &deltas(&at, [format!("data: {text}\n\n").as_bytes()]));
        let _ = collect(&at, &deltas(&at, [text.as_bytes()]));
        let _ = wires::wire(wire).refusal(400, &[], text.as_bytes());
        let _ = wires::wire(wire).parse_request(text.as_bytes());
    }

    #[test]
    fn a_request_extends_the_one_before(wire in any_wire(), said in proptest::collection::vec(entry(), 1..8), full in any::<bool>()) {
        let at = if full { rich(wire) } else { fit(wire) };
        let codec = wires::wire(wire);
        let mut prompt = OwnedPrompt::default();
        prompt.opening.instructions = vec![(Speaker::System, Content::Plain("be good".into()))];
        prompt.tune.marks.last = false;
        let tail = codec.tail(&prompt.tune, &at);
        let mut before = String::new();
        for entry in said {
            prompt.said.push(entry);
            let sent = body(&at, &prompt);
            prop_assert!(serde_json::from_str::<serde_json::Value>(&sent).is_ok(), "{sent}");
            let prefix = sent.strip_suffix(std::str::from_utf8(&tail).expect("UTF-8")).expect("its tail").to_owned();
            prop_assert!(prefix.starts_with(&before), "{prefix}\n{before}");
            before = prefix;
        }
    }
}

fn content() -> impl Strategy<Value = Content> {
    let image = protocol::Blob::new("i", "image/png", vec![1u8, 2, 3]);
    let part = prop_oneof![
        said().prop_map(Part::Text),
        Just(Part::Image { blob: image.clone(), detail: None }),
        Just(Part::Document(image)),
    ];
    prop_oneof![said().prop_map(Content::Plain), proptest::collection::vec(part, 0..3).prop_map(Content::Parts)]
}

pub(crate) fn entry() -> impl Strategy<Value = Entry> {
    let results = (proptest::collection::vec(content(), 0..3), proptest::option::of(content()));
    prop_oneof![
        content().prop_map(Entry::User),
        content().prop_map(|content| Entry::Instruct(Speaker::Developer, content)),
        proptest::collection::vec(block(WireId::Chat), 0..4).prop_map(|kinds| Entry::Assistant(
            kinds.into_iter().map(|kind| Block { kind, opaque: Vec::new() }).collect()
        )),
        results.prop_map(|(answers, before)| {
            let result = |content| CallResult {
                call: "c".into(),
                name: "f".into(),
                custom: false,
                answer: Answer { content, error: None, after: vec![Part::text("more")] },
            };
            Entry::Results {
                before: before.map(|content| (Speaker::Developer, content)).into_iter().collect(),
                results: answers.into_iter().map(result).collect(),
                after: Vec::new(),
            }
        }),
    ]
}

/// JSON with the names that decoders and parsers look for, at any depth and of any type.
pub(crate) fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let names = prop::sample::select(vec![
        "type",
        "choices",
        "delta",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "index",
        "id",
        "usage",
        "error",
        "message",
        "response",
        "output",
        "item",
        "output_index",
        "content_block",
        "input",
        "model",
        "messages",
        "role",
        "tools",
        "summary",
        "text",
        "thinking",
        "finish_reason",
        "status",
        "code",
        "name",
        "system",
    ]);
    let words = prop::sample::select(vec![
        "response.output_item.done",
        "response.completed",
        "content_block_start",
        "content_block_delta",
        "message_stop",
        "function_call",
        "message",
        "assistant",
        "tool",
        "user",
        "tool_use",
        "text",
        "error",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((names.clone(), inner), 0..6).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    })
}

#[test]
fn interleaved_calls_reach_a_messages_client_one_by_one() {
    let start = |at, id: &str| Delta::BlockStart { at, kind: crate::a_call(id, "f", "") };
    let args = |at, text: &str| Delta::Args { at, text: text.into() };
    let end = |at| Delta::BlockEnd { at, opaque: Vec::new() };
    let deltas_in = [
        Delta::Begin { id: "r".into() },
        start(0, "a"),
        start(1, "b"),
        args(0, "{\"x\":"),
        args(1, "{\"y\":"),
        args(0, "1}"),
        args(1, "2}"),
        end(0),
        end(1),
        Delta::Stop(Stop::Calls),
    ];
    let at = fit(WireId::Messages);
    let stream = encode(WireId::Messages, &deltas_in);
    let (reply, error) = collect(&at, &deltas(&at, [stream.as_bytes()]));
    assert_eq!(error, None);
    assert_eq!(crate::kinds(&reply), [crate::a_call("a", "f", "{\"x\":1}"), crate::a_call("b", "f", "{\"y\":2}")]);
    let starts: Vec<usize> = stream.match_indices("event: content_block_st").map(|(at, _)| at).collect();
    let words: Vec<&str> = starts.iter().map(|at| &stream[*at + 21..*at + 26]).collect();
    assert_eq!(words, ["start", "stop\n", "start", "stop\n"]);
}
