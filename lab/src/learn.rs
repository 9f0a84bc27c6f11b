//! `interpreter harness learn`: runs an installed original against a recorder on loopback, and keeps its words for this user's own runs.
//!
//! It is run twice, in two rooms that differ in everything a prompt could say of them (`room`); what is the same in both is the
//! program's own (`align`). Nothing of it is part of this program.
mod align;
mod difference;
mod original;
mod regions;
mod room;
mod store;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clap::Args;
use config::Home;
use harnesses::{
    Harness,
    made::{self, Blank, Learned, ToolWords},
};
use protocol::{Fact, GitFact, Tool, ToolKind};
use serde_json::json;

use self::{
    align::{Aligned, Known, Ours, align},
    original::Original,
    room::{Heard, Room},
};

/// Learn the prompt and the tool descriptions of an installed original (claude, codex, kimi, opencode, pi, qwen) for your own runs
#[derive(Debug, Args)]
pub struct Learn {
    /// The harness whose original is run
    pub id: String,
    /// The model that the original is told it speaks to; its prompt may depend on it
    #[arg(long, short, value_name = "MODEL")]
    pub model: Option<String>,
    /// Show where the tools of the installed original differ from ours, and store nothing; exit status 1 where they do
    #[arg(long, conflicts_with = "forget")]
    pub diff: bool,
    /// Go back to our own words
    #[arg(long)]
    pub forget: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// The command that runs the original, where it is not found by itself; {url} in it is the address of the recorder
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// For both runs together.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ok: the exit status, 1 where `--diff` found a difference, 130 after an interrupt. Err: one line for the user.
pub async fn learn(learn: Learn) -> Result<u8, String> {
    use tokio::signal::unix::{SignalKind, signal};
    let watch = |kind| signal(kind).map_err(|why| format!("Error: cannot watch for signals: {why}"));
    let (mut interrupt, mut terminate) = (watch(SignalKind::interrupt())?, watch(SignalKind::terminate())?);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let mut work = tokio::task::spawn_blocking(move || run(&learn, &stopped));
    tokio::select! {
        done = &mut work => return done.unwrap_or_else(|why| Err(format!("Error: {why}"))),
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    // The originals are ended, and their rooms removed.
    stop.store(true, Ordering::SeqCst);
    let _ = work.await;
    Ok(130)
}

fn run(learn: &Learn, stop: &Arc<AtomicBool>) -> Result<u8, String> {
    let home = Home::from_env(false).map_err(|e| e.to_string())?;
    let harness = harnesses::find(&learn.id).ok_or_else(|| {
        let known: Vec<&str> = harnesses::all().iter().map(|harness| harness.id()).collect();
        format!("Error: no harness `{}` to learn for. Known: {}.", learn.id, known.join(", "))
    })?;
    if learn.forget {
        let was = store::forget(&home, harness.id())?;
        print(&match was {
            true => format!("Forgotten: {} speaks in our own words again.\n", harness.id()),
            false => format!("Nothing was learned for {}.\n", harness.id()),
        })?;
        return Ok(0);
    }
    let original = original::of(harness.id());
    if original.is_none() && learn.command.is_empty() {
        return Err(format!(
            "Error: no original of {} is known. Give the command that runs it after `--`, with {{url}} in it.",
            harness.id()
        ));
    }
    let study = study(learn, harness, original, stop)?;
    if learn.diff {
        return compare(learn, harness, &study);
    }
    let (learned, notes) = study.learned(harness)?;
    let file = store::write(&home, &learned)?;
    for note in &notes {
        let _ = writeln!(io::stderr(), "warning: {note}");
    }
    let characters: usize = learned.prompt.iter().map(|text| text.chars().count()).sum();
    let offered = study.ours.len();
    print(&match learn.json {
        true => {
            let report = json!({
                "harness": learned.harness, "original": learned.original, "version": learned.version, "model": learned.model,
                "file": file.display().to_string(), "prompt_characters": characters,
                "tools": learned.tools.keys().collect::<Vec<_>>(), "warnings": notes,
            });
            format!("{report:#}\n")
        }
        false => format!(
            "Learned from {} {}: a prompt of {characters} characters, and words for {} of the {offered} tools of {}.\n\
             They are in {}, and used from now on. `interpreter harness learn {} --forget` goes back.\n",
            learned.original,
            learned.version,
            learned.tools.len(),
            learned.harness,
            file.display(),
            learned.harness
        ),
    })?;
    Ok(0)
}

/// What was heard in both rooms, and what our own harness says there.
struct Study {
    program: String,
    version: String,
    heard: [Heard; 2],
    known: [Known; 2],
    around: String,
    /// Our tools for this model.
    ours: Vec<Tool>,
    date: String,
}

fn study(
    learn: &Learn,
    harness: &'static dyn Harness,
    original: Option<Original>,
    stop: &Arc<AtomicBool>,
) -> Result<Study, String> {
    let until = Instant::now() + PATIENCE;
    let failed = |why: io::Error| format!("Error: cannot make a temporary folder for the original: {why}");
    let rooms = [Room::new(0, stop).map_err(failed)?, Room::new(1, stop).map_err(failed)?];
    let ours = inner_places(harness.id());
    if ours.docs.is_some() {
        rooms.iter().try_for_each(Room::instruct).map_err(failed)?;
    }
    let program = match (learn.command.first(), original) {
        (Some(program), _) => program.clone(),
        (None, Some(original)) => original.program.to_owned(),
        (None, None) => String::new(),
    };
    let _ =
        writeln!(io::stderr(), "Running {program} twice, against a recorder (at most {} s) ...", PATIENCE.as_secs());
    let listen = |room: &Room| {
        let command = match (learn.command.is_empty(), original) {
            (true, Some(original)) => {
                let model = learn.model.as_deref().unwrap_or(original.model);
                original.command(room, model).map_err(failed)?
            }
            _ => given(&learn.command, room),
        };
        room.listen(command, until, PATIENCE)
    };
    let [left, right] = thread::scope(|scope| {
        rooms.each_ref().map(|room| scope.spawn(|| listen(room))).map(|running| {
            running.join().unwrap_or_else(|_| Err("Error: the run of the original was lost.".to_owned()))
        })
    });
    let heard = [left?, right?];
    let version = match learn.command.is_empty() {
        true => rooms[0].version(&program),
        false => heard[0].user_agent.clone(),
    };
    let now = jiff::Zoned::now();
    let (date, uname) = (now.date().to_string(), rustix::system::uname());
    let release = uname.release().to_string_lossy().into_owned();
    let model = heard[0].model.clone();
    let installed = installed(&program);
    let known = [0, 1].map(|n| Known::of(&rooms[n], &model, &date, &release, installed.as_deref()));
    let mut blank = Blank::new(harness.id(), &model, heard[0].wire, rooms[0].cwd.clone());
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    blank.know(Fact::Date { date: date.clone(), zone: "Etc/UTC".to_owned() });
    blank.know(Fact::Home(Some(rooms[0].home.clone())));
    blank.know(Fact::System {
        system: text(uname.sysname()),
        release,
        version: text(uname.version()),
        machine: text(uname.machine()),
    });
    let branch = Some(rooms[0].branch.clone());
    blank.know(Fact::Git(Some(GitFact { root: rooms[0].cwd.clone(), branch, ..GitFact::default() })));
    let around = made::around(harness, &blank.cx());
    let ours = harness.open(&blank.cx()).tools;
    Ok(Study { program, version: version.unwrap_or_else(|| "unknown".to_owned()), heard, known, around, ours, date })
}

/// The folder that a program is installed in: that of its package, where it has one, else that of the file.
fn installed(program: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let file = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())?;
    let file = std::fs::canonicalize(file).ok()?;
    let package = file.ancestors().skip(1).find(|folder| folder.join("package.json").is_file());
    // A folder of many programs says nothing of this one.
    let folder = package.or(file.parent())?;
    (folder.components().count() > 3).then(|| folder.display().to_string())
}

/// COMMAND with the recorder's address in place of {url}.
fn given(command: &[String], room: &Room) -> Command {
    let mut words = command.iter().map(|word| word.replace("{url}", &room.url));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// Harnesses that have AGENTS.md, a listing and the sandbox in the middle of their prompt take them by places of their own.
fn inner_places(harness: &str) -> Ours {
    match harness {
        "kimi-code" => Ours {
            listing: Some("{{LISTING}}"),
            docs: Some("{{AGENTS}}"),
            sandbox: Some("{{SANDBOX}}"),
            ..Ours::default()
        },
        "kimi-cli" => Ours {
            listing: Some("{{listing}}"),
            docs: Some("{{docs}}"),
            sandbox: Some("{{sandbox}}"),
            ..Ours::default()
        },
        _ => Ours::default(),
    }
}

impl Study {
    fn learned(&self, harness: &'static dyn Harness) -> Result<(Learned, Vec<String>), String> {
        let [left, right] = &self.heard;
        let mut notes = Vec::new();
        let ours = Ours { around: self.around.clone(), ..inner_places(harness.id()) };
        let mut prompt = Vec::new();
        let pair = |n: usize| [&left.prompt, &right.prompt].map(|blocks| blocks.get(n).map_or("", String::as_str));
        for n in 0..left.prompt.len().max(right.prompt.len()) {
            let texts = pair(n);
            if texts.iter().any(|text| is_header(text)) {
                continue;
            }
            let Aligned { text, cut } = align(texts, &self.known, &ours);
            notes.extend(cut.into_iter().map(|cut| {
                format!("left out of the prompt: {cut}; it depends on the place or on the program's own files")
            }));
            if !text.trim().is_empty() {
                prompt.push(text);
            }
        }
        if prompt.is_empty() {
            return Err(format!("Error: {} said nothing in its system text that could be kept.", self.program));
        }
        let may_offer = made::offered(harness);
        let mut tools = BTreeMap::new();
        let mut others = Vec::new();
        for tool in &left.tools {
            if !may_offer.contains_key(&tool.name) || tool.namespace.is_some() {
                others.push(tool.name.as_str());
                continue;
            }
            let twin = right.tools.iter().find(|twin| twin.name == tool.name).unwrap_or(tool);
            let words = self.tool_words(tool, twin, &may_offer[&tool.name], &mut notes);
            tools.insert(tool.name.clone(), words);
        }
        if !others.is_empty() {
            notes.push(format!("{} leaves these tools out, and their words: {}", harness.id(), others.join(", ")));
        }
        let missing: Vec<&str> =
            self.ours.iter().map(|tool| tool.name.as_str()).filter(|name| !tools.contains_key(*name)).collect();
        if !missing.is_empty() {
            notes.push(format!("no words for {}: {} does not have them, ours stay", missing.join(", "), self.program));
        }
        let whole = prompt.join("\n");
        let spoken: Vec<&str> = others.iter().copied().filter(|name| speaks_of(&whole, name)).collect();
        if !spoken.is_empty() {
            notes.push(format!("the prompt speaks of tools that are left out: {}", spoken.join(", ")));
        }
        let learned = Learned {
            harness: harness.id().to_owned(),
            original: self.program.clone(),
            version: self.version.clone(),
            date: self.date.clone(),
            wire: left.wire,
            model: left.model.clone(),
            prompt,
            tools,
        };
        Ok((learned, notes))
    }

    fn tool_words(&self, tool: &Tool, twin: &Tool, ours: &[String], notes: &mut Vec<String>) -> ToolWords {
        let mut text = |what: &str, texts: [&str; 2]| {
            let Aligned { text, cut } = align(texts, &self.known, &Ours::default());
            notes.extend(cut.into_iter().map(|cut| format!("left out of the words of {what}: {cut}")));
            text
        };
        let description = text(&tool.name, [&tool.description, &twin.description]);
        let (here, there) = (properties(tool), properties(twin));
        let shared = here.iter().filter(|(path, _)| ours.contains(path));
        let properties = shared
            .map(|(path, words)| {
                let other = there.get(path).map_or(words.as_str(), String::as_str);
                (path.clone(), text(&format!("{}.{path}", tool.name), [words, other]))
            })
            .filter(|(_, words)| !words.is_empty())
            .collect();
        ToolWords { description, properties }
    }
}

fn properties(tool: &Tool) -> BTreeMap<String, String> {
    match &tool.kind {
        ToolKind::Function(schema) => made::descriptions(&schema.value()),
        ToolKind::Custom { .. } | ToolKind::Server { .. } => BTreeMap::new(),
    }
}

/// A block that is no text for the model but a header of the program's (`x-anthropic-billing-header: ...`).
fn is_header(text: &str) -> bool {
    let name = text.trim().split(':').next().unwrap_or_default();
    !text.trim().contains('\n')
        && name.starts_with("x-")
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Whether a text names a tool. Names that are words of the language count in backticks only.
fn speaks_of(text: &str, name: &str) -> bool {
    let word = name.len() < 4 || name.chars().all(|c| c.is_ascii_lowercase());
    let capitalised = name.chars().skip(1).all(|c| c.is_ascii_lowercase());
    match word || capitalised {
        true => text.contains(&format!("`{name}`")),
        false => text.contains(name),
    }
}

fn compare(learn: &Learn, harness: &'static dyn Harness, study: &Study) -> Result<u8, String> {
    let found = difference::between(&study.heard[0].tools, &study.ours);
    let (program, version, model) = (&study.program, &study.version, &study.heard[0].model);
    print(&match learn.json {
        true => {
            let report = json!({
                "harness": harness.id(), "original": program, "version": version, "model": model, "differences": found,
            });
            format!("{report:#}\n")
        }
        false => {
            let lines: String = found.iter().map(|difference| format!("  {difference}\n")).collect();
            let (theirs, ours) = (study.heard[0].tools.len(), study.ours.len());
            format!(
                "{} against {program} {version}, model {model}: {ours} tools here, {theirs} there, {} differences\n{lines}",
                harness.id(),
                found.len()
            )
        }
    })?;
    Ok(u8::from(!found.is_empty()))
}

/// To stdout; a reader that went away is no failure.
fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(format!("Error: cannot write to stdout: {why}")),
        _ => Ok(()),
    }
}
