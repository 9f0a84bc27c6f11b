//! Plays the demo and shows it: the repository, each step, the diff, and whether the tests pass in the end.
use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::Command,
};

use config::{Home, Override};
use protocol::{ApprovalPolicy, Event, Op, Part, WireId};
use tokio::sync::mpsc;

use crate::{habit_tracker, scripted::Server};

/// What to play.
#[derive(Debug, Clone)]
pub struct Demo {
    /// Where the repository goes; None: a new folder among the temporary files.
    pub dir: Option<PathBuf>,
    pub harness: String,
    pub wire: WireId,
    pub version: &'static str,
}

/// Plays it to the end. Err: the line for the user.
pub async fn run(demo: Demo) -> Result<(), String> {
    if Command::new("python3").arg("--version").output().is_err() {
        return Err("The demo's repository is in Python: install python3 and run it again.".into());
    }
    let dir = demo.dir.clone().unwrap_or_else(|| {
        let name = format!("interpreter-demo-{}", std::process::id());
        std::env::temp_dir().join(name)
    });
    habit_tracker::create(&dir).map_err(|why| format!("Error: cannot create the demo in {}: {why}", dir.display()))?;
    let dir = std::fs::canonicalize(&dir).map_err(|why| format!("Error: {}: {why}", dir.display()))?;
    let script = habit_tracker::script(&demo.harness, &dir).ok_or_else(|| {
        let known: Vec<&str> = harnesses::all().iter().map(|h| h.id()).collect();
        format!("Error: the demo has no script for harness `{}`. It has: {}.", demo.harness, known.join(", "))
    })?;
    let steps = script.into_iter().map(Into::into).collect();
    let server = Server::steps(steps).map_err(|why| format!("Error: cannot listen on 127.0.0.1: {why}"))?;

    let mut out = io::stdout();
    let said = writeln!(
        out,
        "A habit tracker with a failing test is in {}.\nA scripted model on {} takes the part of the provider; HTTP, wire ({}), \
         harness ({}), sandbox and tests are real.\n",
        dir.display(),
        server.address(),
        demo.wire.as_str(),
        demo.harness,
    );
    said.map_err(|e| e.to_string())?;
    play(&demo, &dir, &server).await?;
    show_diff(&mut out, &dir).map_err(|e| e.to_string())?;
    judge(&mut out, &dir, &server)
}

async fn play(demo: &Demo, dir: &Path, server: &Server) -> Result<(), String> {
    // Nothing of the user's own configuration plays a part, and nothing is kept.
    let home = std::env::temp_dir().join(format!("interpreter-demo-home-{}", std::process::id()));
    let mut request = config::Request::new(Home::at(&home), dir);
    request.system_file = home.join("none.toml");
    let settings = [
        ("model", "scripted-model".to_owned()),
        ("model_provider", "demo".to_owned()),
        ("model_providers.demo.name", "Demo".to_owned()),
        ("model_providers.demo.base_url", format!("\"{}\"", server.base_url())),
        ("model_providers.demo.wire_api", demo.wire.as_str().to_owned()),
        ("harness", demo.harness.clone()),
        ("sandbox_mode", "workspace-write".to_owned()),
    ];
    request.overrides = settings
        .iter()
        .map(|(key, value)| Override::parse(&format!("{key}={value}")))
        .collect::<Result<_, _>>()
        .map_err(|e| e.to_string())?;
    let loaded = config::load(&request).map_err(|e| e.to_string())?;

    let mut start = runtime::Start::new(loaded, dir.to_owned());
    start.approval = Some(ApprovalPolicy::Never);
    start.ephemeral = true;
    start.source = "demo".into();
    start.originator = "interpreter_demo".into();
    start.version = demo.version.into();
    let (events, mut inbox) = mpsc::unbounded_channel();
    let thread = runtime::start(start, events).await.map_err(|e| e.to_string())?;
    let (ops, orders) = mpsc::channel(4);
    let task = Part::text(habit_tracker::TASK);
    // The channel is new and has room for both.
    let _ = ops.send(Op::User { parts: vec![task] }).await;
    let _ = ops.send(Op::Shutdown).await;
    let client = async {
        let color = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let mut human = exec::Human::new(io::stdout(), color);
        let mut failed = None;
        println_quiet(&format!("user\n{}\n", habit_tracker::TASK));
        while let Some(event) = inbox.recv().await {
            if let Event::TurnFailed { error, .. } = &event {
                failed = Some(error.message.clone());
            }
            // That a scripted model is in no catalog is no news here.
            if !matches!(event, Event::Warning { .. }) {
                let _ = human.show(&event);
            }
        }
        failed
    };
    let (_, failed) = tokio::join!(thread.run(orders), client);
    let _ = std::fs::remove_dir_all(&home);
    failed.map_or(Ok(()), |message| Err(format!("Error: the demo's turn failed: {message}")))
}

fn println_quiet(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

fn show_diff(out: &mut impl Write, dir: &Path) -> io::Result<()> {
    let diff = Command::new("git").args(["diff", "--no-color", "--no-ext-diff"]).current_dir(dir).output();
    match diff {
        Ok(diff) if diff.status.success() => {
            writeln!(out, "\nWhat was changed (git diff):\n{}", String::from_utf8_lossy(&diff.stdout))
        }
        _ => Ok(()),
    }
}

fn judge(out: &mut impl Write, dir: &Path, server: &Server) -> Result<(), String> {
    let mut words = habit_tracker::TEST_COMMAND.split(' ');
    let tests = Command::new(words.next().unwrap_or("python3")).args(words).current_dir(dir).output();
    let tests = tests.map_err(|why| format!("Error: cannot run the tests: {why}"))?;
    if !tests.status.success() {
        return Err(format!("Error: the tests still fail:\n{}", String::from_utf8_lossy(&tests.stderr)));
    }
    let requests = server.requests().len();
    let said = writeln!(
        out,
        "The three tests pass, after {requests} requests. The repository stays in {}.\nWith a real model, in a repository \
         of yours: interpreter exec -s workspace-write \"fix the failing test\"",
        dir.display()
    );
    said.map_err(|e| e.to_string())
}
