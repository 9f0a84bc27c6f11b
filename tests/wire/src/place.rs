//! Where one program plays a case: a workspace and a home of its own, a scripted model, a deadline.
use std::{
    fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use demo::scripted::Server;
use serde_json::Value;

use crate::{
    case::{Case, Side},
    model::{self, Model},
    pairs::{Pair, Start},
};

/// What one program made of a case.
pub(crate) struct Ran {
    pub(crate) workspace: PathBuf,
    pub(crate) home: PathBuf,
    /// Bodies of the requests that offered tools, in the order in which they came. Never empty.
    pub(crate) requests: Vec<Value>,
}

/// Plays `case` with `program` below `base`, a folder that is not there yet. Everything stays there. `tools`: a folder of
/// commands that the program finds first.
///
/// # Errors
/// One line: what could not be done, or how the program ended without asking for anything.
pub(crate) fn play(
    pair: &Pair,
    side: Side,
    program: &Path,
    tools: Option<&Path>,
    case: &Case,
    base: &Path,
) -> Result<Ran, String> {
    let who = match side {
        Side::Original => pair.title,
        Side::Ours => "ours",
    };
    let (workspace, home) = (base.join("ws"), base.join("home"));
    furnish(case, &workspace, &home).map_err(|why| format!("the workspace could not be prepared: {why}"))?;
    let mut model = Model::new(case.script(side, &workspace)?);
    let server = Server::answering(move |_, request| model.answer(request))
        .map_err(|why| format!("the model server could not be started: {why}"))?;
    let url = format!("http://{}", server.address());
    let start = Start { url: &url, home: &home, prompt: &case.prompt };
    let invocation = match side {
        Side::Original => pair.original(&start).map_err(|why| format!("settings of {who}: {why}"))?,
        Side::Ours => pair.ours(&start),
    };
    let mut command = Command::new(program);
    forget_keys(&mut command);
    command.args(&invocation.args).current_dir(&workspace).env("HOME", &home).env("PWD", &workspace);
    for (name, below) in
        [("CONFIG", ".config"), ("DATA", ".local/share"), ("CACHE", ".cache"), ("STATE", ".local/state")]
    {
        command.env(format!("XDG_{name}_HOME"), home.join(below));
    }
    if let Some(tools) = tools {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [tools.to_owned()].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap_or(path.clone()));
    }
    command.envs(invocation.env);
    let end =
        run(command, &base.join("out"), Duration::from_secs(case.timeout)).map_err(|why| format!("{who}: {why}"))?;
    let requests = server.requests();
    let bodies: Vec<Value> = requests.iter().filter_map(model::body_of).collect();
    // For a reader who keeps the folder.
    let log = serde_json::to_string_pretty(&bodies).unwrap_or_default();
    fs::write(base.join("requests.json"), log).map_err(|why| format!("requests.json: {why}"))?;
    let Some(code) = end else { return Err(format!("{who} had not ended after {} s", case.timeout)) };
    let requests: Vec<Value> = bodies.into_iter().filter(model::offers_tools).collect();
    if requests.is_empty() {
        let said = fs::read(base.join("out")).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(format!("{who} ended with {code} and never offered tools: {last}"));
    }
    Ok(Ran { workspace, home, requests })
}

fn furnish(case: &Case, workspace: &Path, home: &Path) -> io::Result<()> {
    fs::create_dir_all(workspace)?;
    fs::create_dir_all(home)?;
    for (path, text) in &case.files {
        let path = workspace.join(path);
        fs::create_dir_all(path.parent().unwrap_or(workspace))?;
        fs::write(path, text)?;
    }
    if let Some(lines) = &case.setup {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", lines])
            .current_dir(workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = shell.status()?;
        if !status.success() {
            return Err(io::Error::other(format!("its setup ended with {status}")));
        }
    }
    Ok(())
}

/// No key and no setting of the user reaches a program under test.
fn forget_keys(command: &mut Command) {
    const OWNERS: &[&str] =
        &["ANTHROPIC_", "CLAUDE", "OPENAI_", "CODEX_", "QWEN_", "KIMI_", "OPENCODE_", "PI_", "INTERPRETER_", "XDG_"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let secret = ["_KEY", "_TOKEN", "_SECRET"].iter().any(|end| text.ends_with(end));
        if secret || OWNERS.iter().any(|owner| text.starts_with(owner)) {
            command.env_remove(&name);
        }
    }
}

/// Its exit status; None: ended at the deadline.
fn run(mut command: Command, out: &Path, patience: Duration) -> io::Result<Option<String>> {
    let file = fs::File::create(out)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
    let mut child = command.spawn()?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begun.elapsed() > patience {
            break None;
        }
        thread::sleep(Duration::from_millis(20));
    };
    // What it has left behind goes with it.
    // SAFETY: a plain system call on a number. The group is the child's own (`process_group(0)`).
    unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
    if status.is_none() {
        child.wait()?;
    }
    Ok(status.map(|status| status.to_string()))
}
