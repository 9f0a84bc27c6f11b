//! `interpreter harness compare`: one task under several harnesses, each in a worktree of its own, and a table of how they did.
mod cost;
mod one;
mod report;
mod repository;

use std::{
    collections::HashMap,
    fs,
    io::{self, IsTerminal, Read, Write},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use config::{Home, Loaded};
use exec::Flags;
use futures_util::{StreamExt as _, stream};
use tokio::sync::watch;

use self::{
    one::{Entrant, Job},
    report::Report,
    repository::Repository,
};

/// Compare harnesses on a task of your own: each works in a Git worktree, and a table shows how they did
#[derive(Debug, Clone, Args)]
pub struct Compare {
    #[command(flatten)]
    pub flags: Flags,
    /// A command that says by its exit status whether the task is done; it runs in the worktree, in the same sandbox
    #[arg(long, value_name = "CMD")]
    pub check: Option<String>,
    /// End the check after this long: seconds, or 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = exec::seconds, default_value = "10m")]
    pub check_time: u64,
    /// How many run at the same time (wall times are comparable with 1)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub parallel: u8,
    /// End a run after this many requests to the model
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// End a run after this long: seconds, or 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = exec::seconds)]
    pub max_time: Option<u64>,
    /// End a run when it has used this many tokens, input and output
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Leave the worktrees where they are
    #[arg(long)]
    pub keep: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// What to do; `-`: read it from stdin
    pub task: String,
}

/// Runs to the end and prints the report. Ok: the exit status, 0 where at least one run ended by itself and its check did not
/// fail, 1 where none did, 130 after an interrupt. Err: nothing was run, one line for the user.
pub async fn compare(compare: Compare) -> Result<u8, String> {
    let home = Home::from_env(false).map_err(|e| e.to_string())?;
    let ids = ids(compare.flags.harness.as_deref())?;
    for (given, name) in [(compare.flags.worktree, "--worktree"), (compare.flags.remote.is_some(), "--remote")] {
        if given {
            return Err(format!("Error: {name}: every harness gets a worktree on this machine; leave {name} out."));
        }
    }
    let task = task(compare.task.clone())?;
    let cwd = folder(compare.flags.cd.as_deref())?;
    let loaded = known(&ids, &compare.flags, home.clone(), &cwd)?;
    let program = std::env::current_exe().map_err(|why| format!("Error: cannot find this program: {why}"))?;
    let repository = Repository::around(&cwd)?;
    say("Taking a snapshot of the repository, with what is not committed.");
    let snapshot = repository.snapshot()?;
    if let Some(missing) = &snapshot.missing {
        say(&format!("warning: the worktrees lack what Git cannot add. {missing}"));
    }
    let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let results = new_folder(&home.dir.join("comparisons"), &stamp)?;

    let (interrupt, interrupted) = watch::channel(0);
    tokio::spawn(signals(interrupt));
    let job = Job {
        program,
        repository: &repository,
        snapshot: &snapshot,
        results: &results,
        store: sessions::Store::new(&home.dir),
        providers: runtime::registry(&loaded),
        loaded,
        worktrees: home.dir.join("worktrees"),
        task: &task,
        compare: &compare,
        interrupted,
    };
    let runs = stream::iter(entrants(&ids)).map(|entrant| job.run(entrant)).buffered(compare.parallel.into());
    let runs: Vec<_> = runs.collect().await;
    let report = Report::new(&compare, &task, &snapshot, runs);
    let json = format!("{:#}\n", report.to_json());
    let path = results.join("report.json");
    let written = write(&path, json.as_bytes());
    print(&if compare.json { json } else { report.to_text(&results) })?;
    written?;
    Ok(if *job.interrupted.borrow() > 0 { 130 } else { report.status() })
}

/// `--harness a,b,c`.
fn ids(given: Option<&str>) -> Result<Vec<String>, String> {
    let words = given.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    let ids: Vec<String> = words.map(str::to_owned).collect();
    if ids.is_empty() {
        return Err("Error: which harnesses? Write --harness a,b,c; `interpreter harness list` shows them.".into());
    }
    Ok(ids)
}

/// Nothing is run before all are known: built-in ones, the user's, the project's.
fn known(ids: &[String], flags: &Flags, home: Home, cwd: &Path) -> Result<Loaded, String> {
    let loaded = config::load(&exec::request(flags, home, cwd)?).map_err(|e| e.to_string())?;
    ids.iter().try_for_each(|id| runtime::find_harness(&loaded, id).map(drop).map_err(|e| e.to_string()))?;
    Ok(loaded)
}

/// A harness that stands twice runs twice, as `native` and `native-2`.
fn entrants(ids: &[String]) -> Vec<Entrant> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut entrant = |id: &'_ String| Entrant { harness: id.clone(), name: String::new() };
    let mut all: Vec<Entrant> = ids.iter().map(&mut entrant).collect();
    for (entrant, id) in all.iter_mut().zip(ids) {
        let count = seen.entry(id).or_default();
        *count += 1;
        entrant.name = if *count == 1 { id.clone() } else { format!("{id}-{count}") };
    }
    all
}

fn task(given: String) -> Result<String, String> {
    if given != "-" {
        return Ok(given);
    }
    if io::stdin().is_terminal() {
        return Err("Error: no task. Write it as an argument, or pipe it in.".into());
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|why| format!("Error: cannot read the task from stdin: {why}"))?;
    Ok(text)
}

fn folder(cd: Option<&Path>) -> Result<PathBuf, String> {
    match cd {
        Some(dir) => fs::canonicalize(dir).map_err(|why| format!("Error: cannot work in {}: {why}", dir.display())),
        None => std::env::current_dir().map_err(|why| format!("Error: the working folder is gone: {why}")),
    }
}

/// `parent/name`, or with a number behind it where that is taken.
fn new_folder(parent: &Path, name: &str) -> Result<PathBuf, String> {
    let cannot = |path: &Path, why: io::Error| format!("Error: cannot create {}: {why}", path.display());
    let private = |recursive| {
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700).recursive(recursive);
        builder
    };
    private(true).create(parent).map_err(|why| cannot(parent, why))?;
    for n in 1.. {
        let dir = parent.join(if n == 1 { name.to_owned() } else { format!("{name}-{n}") });
        match private(false).create(&dir) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => (),
            Err(why) => return Err(cannot(&dir, why)),
            Ok(()) => return Ok(dir),
        }
    }
    unreachable!("numbers do not end")
}

/// Only for the user's eyes, as sessions are: a diff and a check's output hold what the repository holds.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let cannot = |why: io::Error| format!("Error: cannot write {}: {why}", path.display());
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(cannot)?;
    file.write_all(bytes).map_err(cannot)
}

/// Counts the interrupts. The first one ends the runs in order; at the second the program ends, and the runs with it.
async fn signals(count: watch::Sender<u8>) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()));
    let (Ok(mut int), Ok(mut term), Ok(mut hup)) = kinds else { return };
    loop {
        tokio::select! { _ = int.recv() => (), _ = term.recv() => (), _ = hup.recv() => () }
        if *count.borrow() > 0 {
            // Runs in progress find that nobody reads them any more, and end.
            std::process::exit(130);
        }
        count.send_modify(|count| *count += 1);
    }
}

fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(format!("Error: cannot write to stdout: {why}")),
        _ => Ok(()),
    }
}

/// A line for the person who waits.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        s if s < 60 => format!("{:.1} s", time.as_secs_f64()),
        s => format!("{} m {:02} s", s / 60, s % 60),
    }
}
