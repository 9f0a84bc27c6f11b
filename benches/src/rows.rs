//! Which numbers are measured, and their bounds: DESIGN's "Numbers we hold ourselves to".
use std::{fs, io, path::Path, process::Command, time::Duration};

use demo::scripted::{End, Server, Step, Turn};
use protocol::WireId;
use serde_json::json;

use crate::{
    Bench, decode, gateway,
    measure::Measured,
    prefix,
    program::{Place, Program, run},
    resume,
    table::Row,
};

pub(crate) fn all(bench: &Bench) -> Vec<Row> {
    let mut rows = Vec::new();
    if bench.wants("one text answer") {
        rows.extend(pair(bench, "one text answer", Some((15.0, 18.0)), bench.rounds, |program| {
            program.exec_anew(&[Turn::text("Hello.").into()], &["do it"])
        }));
    }
    if bench.wants("one sandboxed command") {
        rows.extend(pair(bench, "one sandboxed command", Some((30.0, f64::NAN)), bench.rounds, |program| {
            program.exec_anew(&[Turn::call("exec_command", &json!({"cmd": "true"})).into()], &["do it"])
        }));
    }
    if bench.wants("--version") {
        let (ours, codex) = both(bench, bench.rounds, |program| program.run(&Place::new()?, &["--version"]));
        rows.push(row("--version, CPU", "ms", &ours, codex.as_ref(), |it| ms(it.cpu)).at_most(3.0));
    }
    if bench.wants("binary") {
        let size = |program: &Program| fs::metadata(&program.path).map(|meta| meta.len() as f64 / 1e6);
        let ours = size(&bench.ours).map_err(|why| why.to_string());
        let codex = bench.codex.as_ref().and_then(|codex| size(codex).ok());
        rows.push(Row::new("binary", "MB", ours).at_most(25.0).codex(codex));
    }
    if bench.wants("100,000 deltas") {
        for wire in WireId::ALL {
            let (time, speed) = decode::against_bare_parse(wire);
            let name = format!("100,000 deltas decoded, {}", wire.as_str());
            rows.push(Row::new(format!("{name}, time"), "ms", Ok(ms(time))).at_most(150.0));
            rows.push(Row::new(format!("{name}, of a bare parse's speed"), "%", Ok(speed)).at_least(90.0));
        }
        let pieces = decode::stream().chunks(16 * 1024).map(<[u8]>::to_vec).collect();
        let steps = [Step::stream(pieces, End::Clean)];
        let rounds = bench.rounds.min(3);
        rows.extend(pair(bench, "100,000 deltas, whole run", Some((150.0, f64::NAN)), rounds, |program| {
            program.exec_anew(&steps, &["do it"])
        }));
    }
    if bench.wants("resume of 200 MB") {
        rows.extend(resume::rows(bench));
    }
    if bench.wants("request") {
        rows.extend(prefix::rows(bench));
    }
    if bench.wants("gateway") {
        rows.extend(gateway::rows(bench));
    }
    if bench.wants("jail") {
        rows.extend(jail(bench));
    }
    rows
}

/// Our measure, and Codex's.
type Both = (io::Result<Measured>, Option<Measured>);

/// The two programs take turns; the smallest of `rounds` measures of each.
fn both(bench: &Bench, rounds: usize, work: impl Fn(&Program) -> io::Result<Measured>) -> Both {
    let mut ours: Option<io::Result<Measured>> = None;
    let mut codex: Option<Measured> = None;
    for _ in 0..rounds {
        let now = work(&bench.ours);
        ours = Some(match (ours, now) {
            (Some(Ok(best)), Ok(now)) => Ok(best.min(now)),
            (Some(Err(why)), _) => Err(why),
            (_, now) => now,
        });
        if let Some(program) = &bench.codex {
            match work(program) {
                Ok(now) => codex = Some(codex.map_or(now, |best| best.min(now))),
                Err(why) => eprintln!("codex: {why}"),
            }
        }
    }
    (ours.unwrap_or_else(|| Err(io::Error::other("no rounds"))), codex)
}

fn row(
    what: impl Into<String>,
    unit: &'static str,
    ours: &io::Result<Measured>,
    codex: Option<&Measured>,
    value: impl Fn(&Measured) -> f64,
) -> Row {
    let ours = ours.as_ref().map(&value).map_err(ToString::to_string);
    Row::new(what, unit, ours).codex(codex.map(value))
}

/// CPU time and peak memory; `bounds` of both, not-a-number where one has none.
fn pair(
    bench: &Bench,
    what: &str,
    bounds: Option<(f64, f64)>,
    rounds: usize,
    work: impl Fn(&Program) -> io::Result<Measured>,
) -> Vec<Row> {
    let (ours, codex) = both(bench, rounds, work);
    let (cpu, peak) = bounds.unwrap_or((f64::NAN, f64::NAN));
    let bounded = |row: Row, bound: f64| if bound.is_nan() { row } else { row.at_most(bound) };
    vec![
        bounded(row(format!("{what}, CPU"), "ms", &ours, codex.as_ref(), |it| ms(it.cpu)), cpu),
        bounded(
            row(format!("{what}, peak memory"), "MiB", &ours, codex.as_ref(), |it| it.peak_kib as f64 / 1024.0),
            peak,
        ),
        row(format!("{what}, wall"), "ms", &ours, codex.as_ref(), |it| ms(it.wall)),
    ]
}

/// What the sandbox adds to a command: in a turn of 20 commands, against the same turn without it; and as a command of its own
/// (`sandbox -- /bin/true`, with the start of the program and its look at what the kernel offers), against a bare `/bin/true`.
fn jail(bench: &Bench) -> Vec<Row> {
    // The full construction with the connect supervisor in the table of the sandbox's design, less a plain spawn; its p10
    // (7.05 ms less 0.95 ms), because this is a mean of 20 commands and not the luckiest one.
    const BOUND: f64 = 6.1;
    const COMMANDS: usize = 20;
    let turn = |mode: &'static str| {
        both(bench, bench.rounds, move |program| {
            let command = Turn::call("exec_command", &json!({"cmd": "true", "login": false}));
            let server = Server::steps((0..COMMANDS).map(|_| command.clone().into()).collect())?;
            program.exec_in(mode, &Place::new()?, &server, &["do it"])
        })
    };
    let (jailed, free) = (turn("workspace-write"), turn("danger-full-access"));
    let per_command = |value: fn(&Measured) -> Duration| {
        let added = |with: &Measured, without: &Measured| (ms(value(with)) - ms(value(without))) / COMMANDS as f64;
        let ours = match (&jailed.0, &free.0) {
            (Ok(with), Ok(without)) => Ok(added(with, without)),
            (Err(why), _) | (_, Err(why)) => Err(why.to_string()),
        };
        (ours, jailed.1.zip(free.1).map(|(with, without)| added(&with, &without)))
    };
    let ((wall, codex_wall), (cpu, codex_cpu)) = (per_command(|it| it.wall), per_command(|it| it.cpu));
    let mut rows = vec![
        Row::new("jail per command of a turn, wall", "ms", wall).at_most(BOUND).codex(codex_wall),
        Row::new("jail per command of a turn, CPU", "ms", cpu).codex(codex_cpu),
    ];
    match alone(bench) {
        Ok(more) => rows.extend(more),
        Err(why) => rows.push(Row::new("jail of a command alone", "ms", Err(why.to_string()))),
    }
    rows
}

fn alone(bench: &Bench) -> io::Result<[Row; 2]> {
    let rounds = bench.rounds.max(20);
    let (command, place) = (Path::new("/bin/true"), Place::new()?);
    let bare = (0..rounds).filter_map(|_| run(Command::new(command), &place).ok()).reduce(Measured::min);
    let (ours, codex) = both(bench, rounds, |program| {
        let measured = program.sandbox(&place, command)?;
        if measured.code == 0 {
            Ok(measured)
        } else {
            Err(io::Error::other(format!("sandbox: status {}", measured.code)))
        }
    });
    let (wall, cpu) = bare.map_or((0.0, 0.0), |bare| (ms(bare.wall), ms(bare.cpu)));
    Ok([
        row("jail of a command alone, wall", "ms", &ours, codex.as_ref(), |it| ms(it.wall) - wall),
        row("jail of a command alone, CPU", "ms", &ours, codex.as_ref(), |it| ms(it.cpu) - cpu),
    ])
}

pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
