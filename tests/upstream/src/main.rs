//! Runs the pinned Codex and our binary on the same scripted model and the same inputs, and says what differs.
//!
//!     cargo run -p interpreter-upstream -- [--codex PATH] [--ours PATH] [--list] [--list-intended] [CASE...]
//!
//! CASE: part of a case's name; none: all. Codex is `--codex`, else `$CODEX_BIN`, else `codex` on PATH; ours is `--ours`,
//! else `interpreter` beside this program. Exit status 1 where a difference is not on the list of intended ones.
mod case;
mod cases;
mod compare;
mod intended;
mod model;
mod normal;
mod observe;
mod place;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
    time::Instant,
};

use case::Case;
use compare::Verdict;
use observe::observe;
use place::Side;

/// `codex-compat/UPSTREAM`: the version that we hold ourselves to.
const PINNED: &str = include_str!("../../../codex-compat/UPSTREAM");

#[derive(Default)]
struct Options {
    codex: Option<PathBuf>,
    ours: Option<PathBuf>,
    list: bool,
    list_intended: bool,
    /// Shows what Codex does and compares nothing.
    show: bool,
    cases: Vec<String>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => return fail(&message),
    };
    if options.list_intended {
        print!("{}", intended::markdown());
        return ExitCode::SUCCESS;
    }
    let wanted =
        |case: &Case| options.cases.is_empty() || options.cases.iter().any(|part| case.name.contains(part.as_str()));
    let cases: Vec<Case> = cases::all().into_iter().filter(wanted).collect();
    if options.list {
        cases.iter().for_each(|case| println!("{}", case.name));
        return ExitCode::SUCCESS;
    }
    if cases.is_empty() {
        return fail("no such case; `--list` names them");
    }
    let Some(codex) = find_codex(&options) else {
        println!("Codex is not installed (set CODEX_BIN, or put codex on PATH); nothing was compared.");
        return ExitCode::SUCCESS;
    };
    let version = Command::new(&codex).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if !version.ends_with(PINNED.trim()) {
        println!("note: {version}, but the pinned version is {}", PINNED.trim());
    }
    if options.show {
        return show(&codex, &cases);
    }
    let ours = options.ours.clone().or_else(beside_us).filter(|path| path.exists());
    let Some(ours) = ours else {
        return fail("our binary is missing: run `cargo build`, or give it with --ours PATH");
    };
    compare_all(&codex, &ours, &cases)
}

fn compare_all(codex: &Path, ours: &Path, cases: &[Case]) -> ExitCode {
    let begun = Instant::now();
    let (mut same, mut intended, mut different) = (0, 0, 0);
    for case in cases {
        let sides = thread::scope(|scope| {
            let theirs = scope.spawn(|| observe(Side::Codex, codex, case));
            let ours = observe(Side::Ours, ours, case);
            (theirs.join(), ours)
        });
        let verdict = match sides {
            (Ok(Ok(theirs)), Ok(ours)) => compare::compare(case.name, &theirs, &ours),
            (Ok(Err(why)), _) | (_, Err(why)) => Verdict::Different(format!("could not be run: {why}\n")),
            (Err(_), _) => Verdict::Different("could not be run\n".into()),
        };
        match verdict {
            Verdict::Same => {
                same += 1;
                let listed = intended::of(case.name).next().is_some();
                println!("{:44} same{}", case.name, if listed { " (listed as different on purpose)" } else { "" });
            }
            Verdict::Intended(why) => {
                intended += 1;
                println!("{:44} different on purpose: {why}", case.name);
            }
            Verdict::Different(diff) => {
                different += 1;
                println!("{:44} DIFFERENT\n{}", case.name, indented(&diff));
            }
        }
    }
    println!(
        "{} cases: {same} same, {intended} different on purpose, {different} DIFFERENT ({:.0} s)",
        cases.len(),
        begun.elapsed().as_secs_f64()
    );
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(codex: &Path, cases: &[Case]) -> ExitCode {
    for case in cases {
        println!("# {}", case.name);
        match observe(Side::Codex, codex, case) {
            Ok(seen) => seen.0.iter().for_each(|(name, text)| println!("## {name}\n{}", text.trim_end())),
            Err(why) => println!("could not be run: {why}"),
        }
    }
    ExitCode::SUCCESS
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let mut path = || words.next().map(PathBuf::from).ok_or_else(|| format!("{word} wants a path"));
        match word.as_str() {
            "--codex" => options.codex = Some(path()?),
            "--ours" => options.ours = Some(path()?),
            "--list" => options.list = true,
            "--list-intended" => options.list_intended = true,
            "--show-codex" => options.show = true,
            flag if flag.starts_with('-') => {
                return Err(format!(
                    "unknown flag {flag}; known: --codex PATH, --ours PATH, --list, --list-intended, --show-codex"
                ));
            }
            _ => options.cases.push(word),
        }
    }
    Ok(options)
}

fn find_codex(options: &Options) -> Option<PathBuf> {
    let named = options.codex.clone().or_else(|| std::env::var_os("CODEX_BIN").map(PathBuf::from));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = || std::env::split_paths(&path).map(|folder| folder.join("codex")).find(|path| path.is_file());
    named.or_else(found).filter(|path| path.is_file())
}

fn beside_us() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.join("interpreter"))
}

fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
