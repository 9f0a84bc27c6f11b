//! A turn as a server of the Messages API writes it.
use serde_json::{Value, json};

use super::{Encoded, merged, new_id, pieces, usage};
use crate::case::Turn;

/// Block as it opens, whole block, kind and field of its deltas, what they bring.
type Piece = (Value, Value, &'static str, &'static str, String);

pub(super) fn encode(turn: &Turn, body: &Value, ids: &mut usize) -> Encoded {
    const SIGNATURE: &str = "c3R1Yg==";
    let mut blocks: Vec<Piece> = Vec::new();
    if !turn.reasoning.is_empty() {
        let block = |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
        let whole = block(&turn.reasoning, SIGNATURE);
        blocks.push((block("", ""), whole, "thinking_delta", "thinking", turn.reasoning.clone()));
    }
    if !turn.text.is_empty() {
        let block = |text: &str| json!({"type": "text", "text": text});
        blocks.push((block(""), block(&turn.text), "text_delta", "text", turn.text.clone()));
    }
    for call in &turn.calls {
        let id = new_id("toolu", ids);
        let block = |input: Value| json!({"type": "tool_use", "id": id, "name": call.name, "input": input});
        let whole = block(call.args.clone().unwrap_or_else(|| json!({})));
        blocks.push((block(json!({})), whole, "input_json_delta", "partial_json", call.arguments()));
    }
    let stop = if turn.calls.is_empty() { "end_turn" } else { "tool_use" };
    let [input, output] = usage(turn);
    let counts = json!({"input_tokens": input, "output_tokens": output, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0});
    let base = json!({"id": new_id("msg", ids), "type": "message", "role": "assistant", "model": body["model"]});

    let mut events = Vec::new();
    let mut emit = |kind: &'static str, fields: Value| {
        events.push((Some(kind), merged(&json!({"type": kind}), fields).to_string()));
    };
    let begun = json!({"content": [], "stop_reason": null, "stop_sequence": null,
        "usage": merged(&counts, json!({"output_tokens": 1}))});
    emit("message_start", json!({"message": merged(&base, begun)}));
    for (index, (opened, _, kind, field, text)) in blocks.iter().enumerate() {
        emit("content_block_start", json!({"index": index, "content_block": opened}));
        for piece in pieces(text, turn) {
            let mut delta = json!({"type": kind});
            delta[*field] = piece.into();
            emit("content_block_delta", json!({"index": index, "delta": delta}));
        }
        if *field == "thinking" {
            let delta = json!({"type": "signature_delta", "signature": SIGNATURE});
            emit("content_block_delta", json!({"index": index, "delta": delta}));
        }
        emit("content_block_stop", json!({"index": index}));
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    emit("message_delta", json!({"delta": delta, "usage": {"output_tokens": output}}));
    emit("message_stop", json!({}));

    let content: Vec<Value> = blocks.into_iter().map(|(_, whole, ..)| whole).collect();
    let whole = json!({"content": content, "stop_reason": stop, "stop_sequence": null, "usage": counts});
    Encoded { events, whole: merged(&base, whole) }
}
