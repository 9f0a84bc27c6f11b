//! Hands each command to the crate that carries it out.
use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use config::{Home, Loaded};
use exec::Flags;
use protocol::WireId;

use crate::cli::{Cli, Command, Debug, Demo, Harness, Repair, Sandbox, WireName};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Exit status 1 and one line on stderr for every failure before the work begins.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let done = match cli.command {
        Some(Command::Exec(mut exec)) => {
            exec.flags = cli.flags.with(exec.flags);
            let around = exec::Around { version: VERSION, like_sdk: like_sdk() };
            return on_runtime(exec::run(exec, around));
        }
        Some(Command::Demo(demo)) => run_demo(demo),
        Some(Command::Sandbox(sandbox)) => return run_sandbox(cli.flags, sandbox),
        Some(Command::Repair(repair)) => run_repair(&repair),
        Some(Command::Harness(Harness::Compare(mut compare))) => {
            compare.flags = cli.flags.with(compare.flags);
            return on_runtime(async { status(lab::compare(compare).await) });
        }
        Some(Command::Harness(Harness::List { json })) => list_harnesses(&cli.flags, json),
        Some(Command::Harness(Harness::Show { id })) => show_harness(&cli.flags, &id),
        Some(Command::Harness(Harness::Learn(learn))) => return on_runtime(async { status(lab::learn(learn).await) }),
        Some(Command::Providers(command)) => {
            load(&cli.flags).and_then(|(loaded, _)| print(&listing::providers(&loaded, &command)?))
        }
        Some(Command::Models(command)) => {
            load(&cli.flags).and_then(|(loaded, _)| print(&listing::models(&loaded, &command)?))
        }
        Some(Command::Gateway(gateway)) => return on_runtime(async { status(run_gateway(cli.flags, gateway).await) }),
        Some(Command::Debug(Debug::Config { flags, json })) => debug_config(&cli.flags.with(flags), json),
        None => Err(
            "This version has no terminal interface yet. Use `interpreter exec \"TASK\"`, or see `interpreter --help`."
                .into(),
        ),
    };
    status(done.map(|()| 0))
}

fn status(done: Result<u8, String>) -> ExitCode {
    done.map(ExitCode::from).unwrap_or_else(|message| {
        let _ = writeln!(io::stderr(), "{message}");
        ExitCode::FAILURE
    })
}

/// Codex's SDKs start `codex exec --experimental-json`; people write `--json`.
fn like_sdk() -> bool {
    std::env::args_os().any(|word| word == "--experimental-json")
}

fn on_runtime(work: impl Future<Output = ExitCode>) -> ExitCode {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let code = runtime.block_on(work);
            // A read of stdin that nobody answers must not hold the end up.
            runtime.shutdown_background();
            code
        }
        Err(why) => {
            let _ = writeln!(io::stderr(), "Error: cannot start: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run_demo(demo: Demo) -> Result<(), String> {
    let wire = match demo.wire {
        WireName::Responses => WireId::Responses,
        WireName::Chat => WireId::Chat,
        WireName::Messages => WireId::Messages,
    };
    let demo = demo::Demo { dir: demo.dir, harness: demo.harness, wire, version: VERSION };
    let mut failed = None;
    on_runtime(async {
        failed = demo::run(demo).await.err();
        ExitCode::SUCCESS
    });
    failed.map_or(Ok(()), Err)
}

/// The config that these flags lead to, from the working folder or `-C`.
fn load(flags: &Flags) -> Result<(Loaded, PathBuf), String> {
    let request = request(flags)?;
    let loaded = config::load(&request).map_err(|e| e.to_string())?;
    Ok((loaded, request.cwd))
}

fn request(flags: &Flags) -> Result<config::Request, String> {
    let cwd = match &flags.cd {
        Some(dir) => {
            std::fs::canonicalize(dir).map_err(|why| format!("Error: cannot work in {}: {why}", dir.display()))?
        }
        None => std::env::current_dir().map_err(|why| format!("Error: the working folder is gone: {why}"))?,
    };
    let home = Home::from_env(false).map_err(|e| e.to_string())?;
    exec::request(flags, home, &cwd)
}

fn debug_config(flags: &Flags, json: bool) -> Result<(), String> {
    let (loaded, _) = load(flags)?;
    print(&if json { format!("{:#}\n", config::render_json(&loaded)) } else { config::render_table(&loaded) })
}

/// The command's own exit status; 1 for errors before it, 126, 127 and 97 where it could not be run (`sandbox::Error`).
fn run_sandbox(outer: Flags, sandbox: Sandbox) -> ExitCode {
    let flags = outer.with(sandbox.flags);
    let spec = || -> Result<sandbox::Spec, String> {
        if sandbox.command.is_empty() {
            return Err("Error: no command. Write `interpreter sandbox [-s MODE] -- COMMAND`.".into());
        }
        let (loaded, cwd) = load(&flags)?;
        let mut policy = config::effective_sandbox(&loaded.config, loaded.trusted());
        policy.writable_roots.extend(flags.add_dir.iter().map(|dir| cwd.join(dir)));
        let tmpdir = std::env::var_os("TMPDIR").map(PathBuf::from);
        let home = std::env::home_dir();
        let around =
            sandbox::Surroundings { tmpdir: tmpdir.as_deref(), home: home.as_deref(), state: &loaded.home.dir };
        sandbox::Spec::resolve(&policy, &cwd, &around).map_err(|e| format!("Error: {e}"))
    };
    let code = if sandbox.check {
        print(&sandbox::check_report()).map(|()| 0)
    } else {
        spec().map(|spec| {
            for note in &spec.notes {
                let _ = writeln!(std::io::stderr(), "warning: {note}");
            }
            sandbox::run_foreground(&spec, sandbox.command).unwrap_or_else(|error| {
                let _ = writeln!(io::stderr(), "Error: {error}");
                error.exit_code()
            })
        })
    };
    match code {
        Ok(code) => ExitCode::from(code as u8),
        Err(message) => {
            let _ = writeln!(io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}

fn run_repair(repair: &Repair) -> Result<(), String> {
    let home = Home::from_env(false).map_err(|e| e.to_string())?;
    let store = sessions::Store::new(&home.dir);
    let found = store.find(&repair.session).map_err(|e| format!("Error: {e}"))?;
    let id = found.ok_or_else(|| format!("Error: no session `{}`.", repair.session))?;
    print(&runtime::repair(&store, &id, repair.apply).map_err(|e| e.to_string())?)
}

async fn run_gateway(flags: Flags, mut gateway: gateway::Gateway) -> Result<u8, String> {
    let (loaded, _) = load(&flags)?;
    gateway.provider = gateway.provider.or_else(|| loaded.config.model_provider.clone());
    gateway.model = gateway.model.or_else(|| loaded.config.model.clone());
    let setup = gateway::Setup {
        registry: runtime::registry(&loaded),
        aliases: loaded.config.gateway.models.clone(),
        max_output: loaded.config.model_max_output_tokens,
    };
    gateway::run(gateway, setup, |line| drop(print(line))).await.map(|()| 0)
}

fn list_harnesses(flags: &Flags, json: bool) -> Result<(), String> {
    // Of the config only the project's trust is asked for; a broken one hides nothing else.
    let mut request = request(flags)?;
    let loaded = config::load(&request).or_else(|_| {
        request.ignore_user_config = true;
        config::load(&request)
    });
    let (text, notes) = lab::list(&loaded.map_err(|e| e.to_string())?, json);
    for note in notes {
        let _ = writeln!(io::stderr(), "warning: {note}");
    }
    print(&text)
}

fn show_harness(flags: &Flags, id: &str) -> Result<(), String> {
    let (loaded, _) = load(flags)?;
    print(&runtime::show_harness(&loaded, id).map_err(|e| e.to_string())?)
}

/// To stdout; a reader that went away is no failure.
fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(format!("Error: cannot write to stdout: {why}")),
        _ => Ok(()),
    }
}
