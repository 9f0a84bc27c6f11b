//! Holds each harness against the program it stands for: the same cases, the same scripted model, and what the model gets to
//! see is compared. Started by `tests/wire/run`; docs/wire.md has the results.
mod case;
mod compare;
mod model;
mod normal;
mod options;
mod pairs;
mod place;
mod reasons;
mod report;
mod seen;

use std::{
    collections::VecDeque,
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use case::{Case, Side};
use compare::Comparison;
use options::Options;
use pairs::{PAIRS, Pair};
use reasons::Reasons;
use report::Harness;

/// A case that waits to be played.
struct Job {
    pair: &'static Pair,
    program: PathBuf,
    /// A folder of commands that both programs find first.
    tools: Option<PathBuf>,
    case: Case,
    /// Of its harness among those that are compared.
    harness: usize,
}

/// What is to be done, and what cannot be.
#[derive(Default)]
struct Plan {
    jobs: Vec<Job>,
    harnesses: Vec<Harness>,
    /// Originals that are not installed.
    missing: Vec<&'static str>,
}

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) if options.help => {
            println!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Ok(options) => options,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything that differs is explained.
fn run(options: &Options) -> Result<bool, String> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch =
        tempfile::Builder::new().prefix("wire-").tempdir().map_err(|why| format!("no temporary folder: {why}"))?;
    let plan = plan(options, cases, scratch.path())?;
    if options.list {
        plan.jobs.iter().for_each(|job| println!("{}/{}", job.pair.folder, job.case.name));
        return Ok(true);
    }
    for name in &plan.missing {
        say(options, &format!("{name} is not installed (PEERS_BIN, PATH); its cases are left out\n"));
    }
    let ours = our_program(options, scratch.path())?;
    let version = Pair::version(&ours, scratch.path());
    for harness in &plan.harnesses {
        say(options, &format!("{}: {} {} | {version}\n", harness.folder, harness.original, harness.version));
    }
    let base = match &options.keep {
        Some(folder) => std::path::absolute(folder).map_err(|why| format!("{}: {why}", folder.display()))?,
        None => scratch.path().join("runs"),
    };
    let begun = Instant::now();
    let harnesses = play_all(options, plan.jobs, plan.harnesses, &ours, &base);
    let harnesses: Vec<&Harness> = harnesses.iter().collect();
    if options.write_reasons {
        write_reasons(options, cases, &harnesses)?;
    }
    if options.write_table {
        write_table(&cases.join("../../docs/wire.md"), &harnesses)?;
    }
    let mut good = true;
    for harness in &harnesses {
        for row in harness.stale() {
            say(options, &format!("{}: LISTED BUT NOT DIFFERENT: {row}\n", harness.folder));
        }
        good &= harness.tally().good();
    }
    if options.json {
        println!("{:#}", report::json(&version, &harnesses, &plan.missing));
    } else {
        let failed: usize = harnesses.iter().map(|harness| harness.tally().failed).sum();
        println!(
            "\n{}\n{failed} cases could not be played; {:.0} s",
            report::table(&harnesses),
            begun.elapsed().as_secs_f64()
        );
    }
    Ok(good)
}

fn plan(options: &Options, cases: &Path, home: &Path) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let search = folder_with_rg(home);
    for pair in PAIRS {
        let folder = cases.join(pair.folder);
        let Ok(files) = fs::read_dir(&folder) else { continue };
        let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
        paths.sort();
        let names: Vec<String> =
            paths.iter().filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let wanted: Vec<&PathBuf> = paths
            .iter()
            .zip(&names)
            .filter(|(_, name)| options.wants(pair.folder, pair.harness, name, &names))
            .map(|(path, _)| path)
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let Some(program) = pair.find() else {
            plan.missing.push(pair.title);
            continue;
        };
        if pair.needs_rg && search.is_none() {
            say(options, &format!("{} finds no rg (PEERS_RG, PATH), and may not search without\n", pair.title));
        }
        let reasons = Reasons::read(&folder.join("reasons.toml"))?;
        let complete = wanted.len() == paths.len();
        let version = if options.list { String::new() } else { Pair::version(&program, home) };
        for path in wanted {
            let case = Case::read(path)?;
            let (program, tools) = (program.clone(), search.clone().filter(|_| pair.needs_rg));
            plan.jobs.push(Job { pair, program, tools, case, harness: plan.harnesses.len() });
        }
        plan.harnesses.push(Harness::new(pair.folder, pair.title, version, reasons, complete));
    }
    if plan.jobs.is_empty() && plan.missing.is_empty() {
        return Err("no such case; --list names them".to_owned());
    }
    Ok(plan)
}

/// A folder with nothing but `rg` in it.
fn folder_with_rg(scratch: &Path) -> Option<PathBuf> {
    let folder = scratch.join("rg");
    fs::create_dir_all(&folder).ok()?;
    let copy = folder.join("rg");
    fs::copy(Pair::find_rg()?, &copy).ok()?;
    // As it lies in a package it need not be executable.
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).ok()?;
    Some(folder)
}

/// A copy, so that a build in between does not change it.
fn our_program(options: &Options, scratch: &Path) -> Result<PathBuf, String> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("interpreter"));
    let built = options.ours.clone().or_else(beside).unwrap_or_default();
    let copy = scratch.join("interpreter");
    fs::copy(&built, &copy).map_err(|why| format!("our program {}: {why}; `cargo build` makes it", built.display()))?;
    Ok(copy)
}

fn play_all(options: &Options, mut jobs: Vec<Job>, harnesses: Vec<Harness>, ours: &Path, base: &Path) -> Vec<Harness> {
    // Those that may take long begin first.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.case.timeout));
    let queue = Mutex::new(VecDeque::from(jobs));
    let harnesses = Mutex::new(harnesses);
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                loop {
                    let Some(job) = lock(&queue).pop_front() else { return };
                    let begun = Instant::now();
                    let outcome = play(&job, ours, base);
                    let mut harnesses = lock(&harnesses);
                    let harness = &mut harnesses[job.harness];
                    let played = harness.add(&job.case.name, begun.elapsed().as_secs_f64(), outcome);
                    let text = report::case(job.pair.folder, played, options.show);
                    say(options, &text);
                }
            });
        }
    });
    harnesses.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn play(job: &Job, ours: &Path, base: &Path) -> Result<Vec<Comparison>, String> {
    let base = base.join(job.pair.folder).join(&job.case.name);
    match fs::remove_dir_all(&base) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(format!("{}: {why}", base.display())),
        _ => {}
    }
    // Names of one length, so that limits of length fall alike.
    let play = |side, program: &Path, name: &str| {
        place::play(job.pair, side, program, job.tools.as_deref(), &job.case, &base.join(name))
    };
    let original = play(Side::Original, &job.program, "orig")?;
    let ours = play(Side::Ours, ours, "ours")?;
    Ok(compare::compare(&original, &ours))
}

fn write_reasons(options: &Options, cases: &Path, harnesses: &[&Harness]) -> Result<(), String> {
    for harness in harnesses {
        let rows = harness.reasons.blank_rows(&harness.unexplained());
        if rows.is_empty() {
            continue;
        }
        let path = cases.join(harness.folder).join("reasons.toml");
        let file = fs::OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(rows.as_bytes()))
            .map_err(|why| format!("{}: {why}", path.display()))?;
        say(options, &format!("{}: {} rows to fill in\n", path.display(), rows.matches("[[").count()));
    }
    Ok(())
}

fn write_table(page: &Path, harnesses: &[&Harness]) -> Result<(), String> {
    let named = |why: &dyn std::fmt::Display| format!("{}: {why}", page.display());
    let text = fs::read_to_string(page).map_err(|why| named(&why))?;
    let complete: Vec<&Harness> = harnesses.iter().copied().filter(|harness| harness.complete).collect();
    let text = report::in_page(&text, &complete).map_err(|why| named(&why))?;
    fs::write(page, text).map_err(|why| named(&why))
}

/// Progress, which must not come between JSON.
fn say(options: &Options, text: &str) {
    if options.json {
        eprint!("{text}")
    } else {
        print!("{text}")
    }
    // A reader that has gone away is no reason to stop.
    let _ = io::stdout().flush();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
