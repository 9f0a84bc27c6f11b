//! Measures how long the loading of a 200 MB session takes, in the ways such a session can look. Run by hand:
//! `cargo run --release -p interpreter-sessions --example resume_time`.
use std::{error::Error, fs, path::Path, time::Instant};

use protocol::*;
use sessions::{Meta, Store};

const SIZE: u64 = 200_000_000;

fn source() -> Source {
    Source { provider: "demo".into(), wire: WireId::Chat, model: "m".into() }
}

/// Output as commands print it: short lines, quotes, a few escapes.
fn output(bytes: usize, seed: usize) -> String {
    let mut text = String::with_capacity(bytes + 80);
    while text.len() < bytes {
        let at = text.len() + seed;
        text.push_str(&format!("src/module_{at}.rs:{at}: let value = \"text {at}\"; // and some more words\n"));
    }
    text
}

/// One step: reply with a call, the call carried out, both said.
fn step(number: usize, output_bytes: usize, said_bytes: usize) -> Vec<Body> {
    let id = format!("call_{number}");
    let call = Call {
        id: id.as_str().into(),
        namespace: None,
        name: "exec_command".into(),
        args: r#"{"cmd":"rg value"}"#.into(),
        form: CallForm::Function,
    };
    let usage = Usage { input: 1000, cached: 900, cache_write: 0, output: 50, reasoning: 10 };
    let reply = Reply {
        id: "r".into(),
        from: source(),
        blocks: vec![Block::text("Looking."), Block::call(call)],
        stop: Stop::Calls,
        usage,
    };
    let answer = Answer::plain(output(said_bytes, number));
    let ran = Outcome::Ran {
        output: Captured::whole(output(output_bytes, number)),
        exit: Exit::Code(0),
        cwd_after: None,
        task: None,
        left: false,
    };
    let done = Done { action: Action::World(World::Run(Run::new("rg value"))), outcome: ran, took: 5, at: 5, tag: 5 };
    let result =
        CallResult { call: id.as_str().into(), name: "exec_command".into(), custom: false, answer: answer.clone() };
    let entries = vec![
        Entry::Assistant(reply.blocks.clone()),
        Entry::Results { before: vec![], results: vec![result], after: vec![] },
    ];
    vec![
        Body::Reply { reply, total: usage },
        Body::Called { call: id.as_str().into(), did: vec![done], answer },
        Body::Said { dialect: "native".into(), source: source(), opening: None, entries },
    ]
}

fn opening() -> Body {
    let opening =
        Opening { instructions: vec![(Speaker::System, Content::Plain(output(20_000, 0)))], tools: Vec::new() };
    Body::Said { dialect: "native".into(), source: source(), opening: Some(opening), entries: Vec::new() }
}

/// `output`, `said`: bytes of each step in its outcome and in what is said of it. `compact`: once, near the end.
fn measure(name: &str, output: usize, said: usize, compact: bool) -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let store = Store::new(home.path());
    let mut session = store.create(Meta::default())?;
    let path = session.path().map(Path::to_owned).ok_or("no file")?;
    let mut write = |bodies: Vec<Body>| {
        let first = session.next().0;
        let items: Vec<Item> = (first..)
            .zip(bodies)
            .map(|(id, body)| Item { id: ItemId(id), turn: "t".into(), at: 1_767_322_984_000, body })
            .collect();
        session.append(&items)
    };
    let user = |text: &str| Body::User { origin: Origin::User, parts: vec![Part::text(text)] };
    write(vec![user("Fix it."), opening()])?;
    let mut compacted = !compact;
    let mut steps = 0;
    let written = Instant::now();
    while fs::metadata(&path)?.len() < SIZE {
        write(step(steps, output, said))?;
        steps += 1;
        if !compacted && fs::metadata(&path)?.len() > SIZE - 2_000_000 {
            compacted = true;
            let id = ItemId((steps * 3 + 3) as u64);
            write(vec![
                Body::Compacted {
                    upto: id,
                    summary: "So far.".into(),
                    total: Usage::default(),
                    counts: Default::default(),
                },
                opening(),
            ])?;
        }
    }
    let written = written.elapsed();
    let id = session.id().clone();
    drop(session);
    let mut best = f64::MAX;
    let mut loaded = None;
    for _ in 0..5 {
        let start = Instant::now();
        let (_, now) = store.open(&id)?;
        best = best.min(start.elapsed().as_secs_f64());
        loaded = Some(now);
    }
    let loaded = loaded.ok_or("not loaded")?;
    println!(
        "{name}: {best:.3} s for {} items and {} entries ({steps} steps, written in {:.1} s)",
        loaded.items.len(),
        loaded.telling.map_or(0, |t| t.entries.len()),
        written.as_secs_f64()
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    measure("compacted near the end            ", 20_000, 10_000, true)?;
    measure("never compacted, kept outputs     ", 1_000_000, 10_000, false)?;
    measure("never compacted, small steps      ", 2_000, 2_000, false)?;
    measure("never compacted, everything said  ", 10_000, 10_000, false)
}
