//! Measures the numbers that the program holds itself to, with Codex beside it in the same run.
//!
//!     cargo build --release -p interpreter -p interpreter-benches
//!     cargo run --release -p interpreter-benches -- [--rounds N] [--codex PATH] [--ours PATH] [ROW...]
//!
//! ROW: part of a row's name; none: all rows. Every run of a program has an empty home; the two take turns, and the smallest
//! of several measures counts. Exit status 1 where a bound is not kept.
mod decode;
mod gateway;
mod measure;
mod prefix;
mod program;
mod resume;
mod rows;
mod table;

use std::{path::PathBuf, process::ExitCode};

use program::Program;

pub(crate) struct Bench {
    pub(crate) ours: Program,
    pub(crate) codex: Option<Program>,
    pub(crate) rounds: usize,
    wanted: Vec<String>,
}

impl Bench {
    /// Whether the user asked for this row.
    pub(crate) fn wants(&self, row: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|part| row.contains(part.as_str()))
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == measure::HELPER) {
        return measure::help(&words[1..]);
    }
    let bench = match options(words) {
        Ok(bench) => bench,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    if cfg!(debug_assertions) {
        println!("note: a debug build; its numbers say nothing. Use cargo run --release.");
    }
    if bench.codex.is_none() {
        println!("note: Codex is not installed (set CODEX_BIN, or put codex on PATH); its column stays empty.");
    }
    let rows = rows::all(&bench);
    print!("{}", table::render(&rows));
    match rows.iter().filter(|row| row.kept() == Some(false)).count() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn options(words: Vec<String>) -> Result<Bench, String> {
    let (mut ours, mut codex, mut rounds, mut wanted) = (None, None, 7, Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
        match word.as_str() {
            "--ours" => ours = Some(PathBuf::from(value()?)),
            "--codex" => codex = Some(PathBuf::from(value()?)),
            "--rounds" => rounds = value()?.parse().map_err(|_| "--rounds wants a number".to_owned())?,
            flag if flag.starts_with('-') => {
                return Err(format!("unknown flag {flag}; known: --rounds N, --codex PATH, --ours PATH"));
            }
            _ => wanted.push(word),
        }
    }
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("interpreter"));
    let ours = ours.or_else(beside).filter(|path| path.is_file());
    let ours = ours.ok_or("our binary is missing: cargo build --release -p interpreter, or --ours PATH")?;
    let named = codex.or_else(|| std::env::var_os("CODEX_BIN").map(PathBuf::from));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || std::env::split_paths(&path).map(|folder| folder.join("codex")).find(|path| path.is_file());
    let codex = named.or_else(on_path).filter(|path| path.is_file());
    Ok(Bench { ours: Program::ours(ours), codex: codex.map(Program::codex), rounds: rounds.max(1), wanted })
}
