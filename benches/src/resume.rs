//! Going on with a session of 200 MB: time from the start of the program to its first request.
use std::{
    fs, io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use demo::scripted::{Server, Turn};
use protocol::{
    Action, Answer, Block, Body, Call, CallForm, CallResult, Captured, Content, Done, Entry, Exit, Item, ItemId,
    Opening, Outcome, Reply, Run, Source, Speaker, Stop, ThreadId, Usage, WireId, World,
};
use sessions::Store;

use crate::{
    Bench,
    measure::Measured,
    program::{Place, Program},
    rows::ms,
    table::Row,
};

const SIZE: u64 = 200_000_000;

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let shapes = [("compacted near its end", 20_000, 10_000, true), ("200 outputs of 1 MB", 1_000_000, 10_000, false)];
    let mut rows = Vec::new();
    for (shape, output, said, compact) in shapes {
        let measured = measured(&bench.ours, bench.rounds.min(5), output, said, compact);
        let name = format!("resume of 200 MB, {shape}");
        let of = |value: fn(&(Duration, Measured)) -> f64| measured.as_ref().map(value).map_err(ToString::to_string);
        rows.push(Row::new(format!("{name}, to the first request"), "ms", of(|it| ms(it.0))).at_most(500.0));
        rows.push(Row::new(format!("{name}, peak memory"), "MiB", of(|it| it.1.peak_kib as f64 / 1024.0)));
    }
    rows
}

/// Time to the first request, and the whole run; the smallest of several.
fn measured(
    program: &Program,
    rounds: usize,
    output: usize,
    said: usize,
    compact: bool,
) -> io::Result<(Duration, Measured)> {
    let place = Place::new()?;
    let id = begin(program, &place)?;
    grow(&place, &id, output, said, compact).map_err(|why| io::Error::other(why.to_string()))?;
    let mut best: Option<(Duration, Measured)> = None;
    for _ in 0..rounds {
        let first: Arc<Mutex<Option<Instant>>> = Arc::default();
        let seen = first.clone();
        let server = Server::answering(move |_, _| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
            Turn::text("Hello again.").into()
        })?;
        let begun = Instant::now();
        let run = program.exec(&place, &server, &["resume", &id.0, "go on"])?;
        let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let first = first.ok_or_else(|| io::Error::other("no request came"))?.duration_since(begun);
        best = Some(best.map_or((first, run), |(time, whole)| (time.min(first), whole.min(run))));
    }
    best.ok_or_else(|| io::Error::other("no rounds"))
}

/// A session begun by the program itself.
fn begin(program: &Program, place: &Place) -> io::Result<ThreadId> {
    program.exec(place, &Server::steps(vec![Turn::text("Hello.").into()])?, &["do it"])?;
    let mut folder = place.home().join(".openinterpreter/sessions");
    while let Some(entry) = fs::read_dir(&folder)?.next() {
        let path = entry?.path();
        if path.is_dir() {
            folder = path;
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let at = name.len().checked_sub(36).ok_or_else(|| io::Error::other(format!("{name} names no thread")))?;
        return Ok(ThreadId(name[at..].to_owned()));
    }
    Err(io::Error::other("the program kept no session"))
}

/// Writes steps behind what is there until the file is big.
fn grow(place: &Place, id: &ThreadId, output: usize, said: usize, compact: bool) -> Result<(), sessions::Error> {
    let store = Store::new(place.home().join(".openinterpreter"));
    let (mut session, loaded) = store.open(id)?;
    drop(loaded);
    let path = session.path().map(ToOwned::to_owned).unwrap_or_default();
    let size = || fs::metadata(&path).map(|meta| meta.len()).unwrap_or(SIZE);
    let mut compacted = !compact;
    let mut steps = 0;
    while size() < SIZE {
        let bodies = step(steps, output, said);
        append(&mut session, bodies)?;
        steps += 1;
        if !compacted && size() > SIZE - 2_000_000 {
            compacted = true;
            let upto = ItemId(session.next().0.saturating_sub(1));
            append(
                &mut session,
                vec![
                    Body::Compacted {
                        upto,
                        summary: "So far.".into(),
                        total: Usage::default(),
                        counts: Default::default(),
                    },
                    opening(),
                ],
            )?;
        }
    }
    Ok(())
}

fn append(session: &mut sessions::Session, bodies: Vec<Body>) -> Result<(), sessions::Error> {
    let first = session.next().0;
    let item = |(id, body)| Item { id: ItemId(id), turn: "t".into(), at: 1_767_322_984_000, body };
    let items: Vec<Item> = (first..).zip(bodies).map(item).collect();
    session.append(&items)
}

fn source() -> Source {
    Source { provider: "stub".into(), wire: WireId::Responses, model: "stub-model".into() }
}

fn opening() -> Body {
    let instructions = vec![(Speaker::System, Content::Plain(text(20_000, 0)))];
    let opening = Opening { instructions, tools: Vec::new() };
    Body::Said { dialect: "native".into(), source: source(), opening: Some(opening), entries: Vec::new() }
}

/// Output as commands print it: short lines, quotes.
fn text(bytes: usize, seed: usize) -> String {
    let mut text = String::with_capacity(bytes + 80);
    while text.len() < bytes {
        let at = text.len() + seed;
        text.push_str(&format!("src/module_{at}.rs:{at}: let value = \"text {at}\"; // and some more words\n"));
    }
    text
}

/// A reply with a call, the call carried out, both said.
fn step(number: usize, output: usize, said: usize) -> Vec<Body> {
    let id = format!("call_{number}");
    let (name, args) = ("exec_command".to_owned(), r#"{"cmd":"rg value"}"#.to_owned());
    let call = Call { id: id.as_str().into(), namespace: None, name: name.clone(), args, form: CallForm::Function };
    let usage = Usage { input: 1000, cached: 900, cache_write: 0, output: 50, reasoning: 10 };
    let blocks = vec![Block::text("Looking."), Block::call(call)];
    let reply = Reply { id: "r".into(), from: source(), blocks: blocks.clone(), stop: Stop::Calls, usage };
    let answer = Answer::plain(text(said, number));
    let ran = Outcome::Ran {
        output: Captured::whole(text(output, number)),
        exit: Exit::Code(0),
        cwd_after: None,
        task: None,
        left: false,
    };
    let done = Done { action: Action::World(World::Run(Run::new("rg value"))), outcome: ran, took: 5, at: 5, tag: 5 };
    let result = CallResult { call: id.as_str().into(), name, custom: false, answer: answer.clone() };
    let entries =
        vec![Entry::Assistant(blocks), Entry::Results { before: Vec::new(), results: vec![result], after: Vec::new() }];
    vec![
        Body::Reply { reply, total: usage },
        Body::Called { call: id.as_str().into(), did: vec![done], answer },
        Body::Said { dialect: "native".into(), source: source(), opening: None, entries },
    ]
}
