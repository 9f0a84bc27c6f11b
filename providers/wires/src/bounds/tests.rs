//! Servers that never stop.
use pretty_assertions::assert_eq;
use protocol::{BlockKind, Call, CallForm, Caps, Delta, ErrorKind, Fit, Phase, Quirks, Source, WireId};
use serde_json::{Value, json};

fn fit(wire: WireId) -> Fit {
    let source = Source { provider: "p".into(), wire, model: "m".into() };
    Fit { source, caps: Caps::plain(), quirks: Quirks::default() }
}

/// The bounds of tests are 1 MiB, and this is a sixteenth of it.
const PIECE: usize = 64 << 10;
const REPLY: &str = "the reply is longer than 1 MiB, the most that is taken";
const EVENT: &str = "the server sent an event of more than 1 MiB, the most that is taken";

/// Feeds pieces until an error comes, at most `most`; the bytes of text and arguments before it, and what it says.
fn until_error(
    wire: WireId,
    pieces: impl Iterator<Item = Vec<u8>>,
    most: usize,
) -> (usize, Option<(ErrorKind, String)>) {
    let mut decoder = crate::wire(wire).decoder(&fit(wire));
    let (mut said, mut out) = (0, Vec::new());
    for piece in pieces.take(most) {
        decoder.push(&piece, &mut out);
        for delta in out.drain(..) {
            match delta {
                Delta::Text { text, .. } | Delta::Args { text, .. } => said += text.len(),
                Delta::Error(error) => {
                    // Nothing comes behind it, whatever is pushed.
                    let mut more = Vec::new();
                    decoder.push(&piece, &mut more);
                    decoder.end(&mut more);
                    assert_eq!(more, []);
                    return (said, Some((error.kind, error.message)));
                }
                _ => {}
            }
        }
    }
    (said, None)
}

/// The stream of a server that says `again` for ever.
fn endless(wire: WireId, start: Vec<Delta>, again: Delta) -> impl Iterator<Item = Vec<u8>> {
    let mut encoder = crate::wire(wire).encoder("m");
    start.into_iter().chain(std::iter::repeat(again)).map(move |delta| {
        let mut out = Vec::new();
        encoder.push(&delta, &mut out);
        out
    })
}

#[test]
fn a_reply_without_end_is_cut_at_its_bound() {
    let error = Some((ErrorKind::Incomplete, REPLY.to_owned()));
    let begin = || Delta::Begin { id: "r".into() };
    for wire in WireId::ALL {
        let piece = "x".repeat(PIECE);
        let start = vec![begin(), Delta::BlockStart { at: 0, kind: BlockKind::Text(String::new(), Phase::Final) }];
        let said = until_error(wire, endless(wire, start, Delta::Text { at: 0, text: piece.clone() }), 30);
        assert_eq!(said, (15 * PIECE, error.clone()), "text on {wire:?}");
        let form = CallForm::Function;
        let call = Call { id: "a".into(), namespace: None, name: "f".into(), args: String::new(), form };
        let start = vec![begin(), Delta::BlockStart { at: 0, kind: BlockKind::Call(call) }];
        let said = until_error(wire, endless(wire, start, Delta::Args { at: 0, text: piece }), 30);
        assert_eq!(said, (15 * PIECE, error.clone()), "arguments on {wire:?}");
    }
    assert!(!ErrorKind::Incomplete.retryable());
}

#[test]
fn what_no_delta_shows_counts_too() {
    let error = Some((ErrorKind::Incomplete, REPLY.to_owned()));
    let long = "x".repeat(PIECE);
    let event = |value: Value| format!("data: {value}\n\n").into_bytes();
    let nameless = event(json!({"choices": [{"delta": {"tool_calls": [
        {"index": 0, "id": "a", "function": {"arguments": long}}]}}]}));
    assert_eq!(until_error(WireId::Chat, std::iter::repeat(nameless), 30), (0, error.clone()));
    let start = event(json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "thinking", "thinking": ""}}));
    let signed = event(json!({"type": "content_block_delta", "index": 0, "delta": {"signature": long}}));
    let stream = std::iter::once(start).chain(std::iter::repeat(signed));
    assert_eq!(until_error(WireId::Messages, stream, 30), (0, error.clone()));
    // Blocks without text.
    let empty = |index: usize| {
        let item = json!({"type": "message", "content": []});
        event(json!({"type": "response.output_item.added", "output_index": index, "item": item}))
    };
    assert_eq!(until_error(WireId::Responses, (0..).map(empty), 1_100), (0, error));
}

#[test]
fn a_line_or_an_event_without_end_is_cut_at_its_bound() {
    let error = Some((ErrorKind::Incomplete, EVENT.to_owned()));
    for wire in WireId::ALL {
        for (start, again) in [
            ("data: {\"x\":\"", "x".repeat(PIECE)),
            ("data: {\n", format!("data: {}\n", "x".repeat(PIECE))),
            (": ", "x".repeat(PIECE)),
            // A body that is no stream.
            ("{\n", "x".repeat(PIECE)),
        ] {
            let stream = std::iter::once(start.as_bytes().to_vec()).chain(std::iter::repeat(again.into_bytes()));
            assert_eq!(until_error(wire, stream, 30), (0, error.clone()), "{start:?} on {wire:?}");
        }
    }
}
