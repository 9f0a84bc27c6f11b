//! Requests of a 20-step turn: each extends the one before byte for byte, and a late step costs no more than an early one.
use std::{hint::black_box, io, time::Duration, time::Instant};

use bytes::Bytes;
use demo::scripted::{Recorded, Server, Step, Turn};
use protocol::{
    Answer, Block, Call, CallForm, CallResult, Caps, Content, Entry, Fit, Opening, OwnedPrompt, Part, Quirks, Source,
    Speaker, Tune, WireId,
};
use serde_json::json;

use crate::{
    Bench,
    program::{Place, Program},
    rows::ms,
    table::Row,
};

const STEPS: usize = 20;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let ours = turn(&bench.ours).map_err(|why| why.to_string());
    let codex = bench.codex.as_ref().and_then(|codex| turn(codex).ok());
    let shown = |requests: &Vec<Recorded>| extensions(requests) as f64;
    let size = |requests: &Vec<Recorded>| requests.first().map_or(0, |first| first.body.len()) as f64 / 1e3;
    let mut rows = vec![
        Row::new("request extends the one before", "of 20", ours.as_ref().map(shown).map_err(Clone::clone))
            .at_least(STEPS as f64)
            .codex(codex.as_ref().map(shown)),
        Row::new("request, size of the first", "kB", ours.as_ref().map(size).map_err(Clone::clone))
            .codex(codex.as_ref().map(size)),
    ];
    for wire in WireId::ALL {
        let (early, late) = (encoding(wire, 2), encoding(wire, STEPS));
        let name = format!("request of step 20, {}", wire.as_str());
        rows.push(Row::new(format!("{name}, encoding"), "µs", Ok(ms(late) * 1e3)));
        // Sharing a frozen piece costs a few nanoseconds for each entry; making it again would cost microseconds.
        rows.push(
            Row::new(format!("{name}, against step 2"), "times", Ok(late.as_secs_f64() / early.as_secs_f64()))
                .at_most(2.0),
        );
    }
    rows
}

/// A turn of 20 commands, and the answer.
fn turn(program: &Program) -> io::Result<Vec<Recorded>> {
    let command =
        |n: usize| Turn::call("exec_command", &json!({"cmd": format!("echo {n}")})).saying(format!("Step {n}."));
    let steps: Vec<Step> = (0..STEPS).map(|n| command(n).into()).chain([Turn::text("Done.").into()]).collect();
    let server = Server::steps(steps)?;
    program.exec(&Place::new()?, &server, &["do it"])?;
    Ok(server.requests())
}

/// How many requests say all that the one before said, in the same bytes, and go on: the list that ends in one (`]`) goes on
/// in the next (`,`) at the first byte that differs.
fn extensions(requests: &[Recorded]) -> usize {
    let extends = |pair: &[Recorded]| {
        let (before, after) = (&pair[0].body, &pair[1].body);
        let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        before.get(same) == Some(&b']') && after.get(same) == Some(&b',')
    };
    requests.windows(2).filter(|pair| extends(pair)).count()
}

/// Time to make the request of step `step`: the newest entries are frozen, all others stand.
fn encoding(wire: WireId, step: usize) -> Duration {
    let source = Source { provider: "bench".into(), wire, model: "some-model".into() };
    let fit = Fit { source, caps: Caps::plain(), quirks: Quirks::default() };
    let text = "fn main() { println!(\"words\"); }\n".repeat(64);
    let entries = |n: usize| {
        let id = format!("call_{n}");
        let call = Call {
            id: id.as_str().into(),
            namespace: None,
            name: "exec_command".into(),
            args: r#"{"cmd":"cat src/main.rs"}"#.into(),
            form: CallForm::Function,
        };
        let result = CallResult {
            call: id.as_str().into(),
            name: "exec_command".into(),
            custom: false,
            answer: Answer::plain(text.clone()),
        };
        [
            Entry::Assistant(vec![Block::text("I look."), Block::call(call)]),
            Entry::Results { before: Vec::new(), results: vec![result], after: Vec::new() },
        ]
    };
    let mut said = vec![Entry::User(Content::Parts(vec![Part::text("do it")]))];
    said.extend((1..step).flat_map(entries));
    let instructions = vec![(Speaker::System, Content::Plain(text.repeat(8)))];
    let prompt = OwnedPrompt { opening: Opening { instructions, tools: Vec::new() }, said, tune: Tune::default() };
    let wire = wires::wire(wire);
    let frozen: Vec<Bytes> = prompt.said.iter().map(|entry| Bytes::from(wire.freeze(entry, &fit))).collect();
    let newest = &prompt.said[prompt.said.len() - 2..];
    let once = || {
        let begun = Instant::now();
        for entry in newest {
            black_box(wire.freeze(entry, &fit));
        }
        black_box(wires::assemble(wire, &prompt.borrow(), &frozen, &fit));
        begun.elapsed()
    };
    (0..500).map(|_| once()).min().unwrap_or_default()
}
