//! The wires from outside: known failures of programs like ours, round trips, requests as bytes.
mod known_failures;
mod names;
mod requests;
mod roundtrip;
mod serve;

use protocol::{
    Block, BlockKind, Call, CallForm, Caps, Delta, Fit, Phase, ProviderError, Quirks, Reply, Source, WireId,
};
use wires::Collector;

fn fit(wire: WireId) -> Fit {
    let source = Source { provider: "p".into(), wire, model: "m".into() };
    Fit { source, caps: Caps::plain(), quirks: Quirks::default() }
}

/// Everything that OpenAI or Anthropic themselves take.
fn rich(wire: WireId) -> Fit {
    let caps = Caps {
        custom_tools: true,
        server_tools: true,
        developer_role: true,
        late_instructions: true,
        images: true,
        images_in_results: true,
        documents: true,
        cache_marks: true,
        encrypted_reasoning: true,
        counts_tokens: true,
    };
    Fit { caps, ..fit(wire) }
}

fn deltas<'a>(fit: &Fit, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Delta> {
    let mut decoder = wires::wire(fit.source.wire).decoder(fit);
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.push(chunk, &mut out);
    }
    decoder.end(&mut out);
    out
}

fn collect(fit: &Fit, deltas: &[Delta]) -> (Reply, Option<ProviderError>) {
    let mut collector = Collector::new(fit.source.clone(), "own");
    deltas.iter().for_each(|delta| collector.feed(delta));
    let error = collector.error().cloned();
    (collector.finish(), error)
}

/// Reads a stream whole, byte by byte and in odd pieces: all must say the same.
#[track_caller]
fn read(fit: &Fit, stream: &str) -> (Reply, Option<ProviderError>) {
    let whole = deltas(fit, [stream.as_bytes()]);
    for size in [1, 7, 64] {
        pretty_assertions::assert_eq!(deltas(fit, stream.as_bytes().chunks(size)), whole, "in chunks of {size}");
    }
    collect(fit, &whole)
}

fn call(id: &str, name: &str, args: &str) -> Call {
    Call { id: id.into(), namespace: None, name: name.into(), args: args.into(), form: CallForm::Function }
}

fn kinds(reply: &Reply) -> Vec<BlockKind> {
    reply.blocks.iter().map(|block| block.kind.clone()).collect()
}

fn text(text: &str) -> BlockKind {
    BlockKind::Text(text.into(), Phase::Final)
}

fn reasoning(text: &str) -> BlockKind {
    BlockKind::Reasoning(text.into())
}

fn a_call(id: &str, name: &str, args: &str) -> BlockKind {
    BlockKind::Call(call(id, name, args))
}

fn encode(wire: WireId, deltas: &[Delta]) -> String {
    let mut encoder = wires::wire(wire).encoder("m");
    let mut out = Vec::new();
    deltas.iter().for_each(|delta| encoder.push(delta, &mut out));
    String::from_utf8(out).expect("UTF-8")
}

fn body(fit: &Fit, prompt: &protocol::OwnedPrompt) -> String {
    let wire = wires::wire(fit.source.wire);
    let frozen: Vec<bytes::Bytes> = prompt.said.iter().map(|entry| wire.freeze(entry, fit).into()).collect();
    let pieces = wires::assemble(wire, &prompt.borrow(), &frozen, fit);
    String::from_utf8(pieces.concat()).expect("UTF-8")
}

fn block(kind: BlockKind) -> Block {
    Block { kind, opaque: Vec::new() }
}
