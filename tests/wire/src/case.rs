//! A case: a folder, a prompt, and what the scripted model replies, one turn per request that offers tools.
use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use serde_json::Value;

/// A file of `tests/wire/HARNESS/`. In turns `{ws}` stands for the absolute path of the workspace, and in arguments
/// `"{session}"` for the number of the command session that the newest result names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Name of the file without `.json`.
    #[serde(skip)]
    pub(crate) name: String,
    #[serde(default = "do_the_task")]
    pub(crate) prompt: String,
    /// Path below the workspace, content.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Lines for `sh`, in the workspace, after the files are there. The home folder is `../home`.
    pub(crate) setup: Option<String>,
    #[serde(default)]
    turns: Vec<Value>,
    /// Turns for the original alone, where a call has to differ.
    left: Option<Vec<Value>>,
    /// Turns for ours alone.
    right: Option<Vec<Value>>,
    /// The reply to a request without tools (a title, a summary).
    aux: Option<Value>,
    /// Seconds that one program may take.
    #[serde(default = "two_minutes")]
    pub(crate) timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Original,
    Ours,
}

/// What the model does when it is asked.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Turn {
    pub(crate) reasoning: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    /// Tokens in, tokens out.
    pub(crate) usage: Option<[u64; 2]>,
    /// Characters per delta; 8 where it is left out.
    pub(crate) chunk: Option<usize>,
    pub(crate) delay_ms: u64,
    pub(crate) stall_s: f64,
    /// HTTP status to fail with, headers and body of that failure.
    pub(crate) status: Option<u16>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<Value>,
    /// The connection breaks after half of the deltas.
    pub(crate) cut: bool,
    /// `finish_reason` on the chat wire.
    pub(crate) finish: Option<String>,
    /// Requests without tools take turns too.
    pub(crate) all: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) args: Option<Value>,
    /// Arguments as they stand, right or wrong, in place of `args`.
    pub(crate) raw: Option<String>,
    /// A free-form call on the Responses API, whose input is `raw`.
    pub(crate) custom: bool,
    pub(crate) namespace: Option<String>,
}

/// What the model says in one run.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) turns: Vec<Turn>,
    pub(crate) aux: Turn,
}

impl Case {
    /// # Errors
    /// One line that names the file.
    pub(crate) fn read(path: &Path) -> Result<Case, String> {
        let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let text = fs::read_to_string(path).map_err(|why| named(&why))?;
        let mut case: Case = serde_json::from_str(&text).map_err(|why| named(&why))?;
        case.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        case.script(Side::Original, Path::new("/")).map_err(|why| named(&why))?;
        case.script(Side::Ours, Path::new("/")).map_err(|why| named(&why))?;
        Ok(case)
    }

    pub(crate) fn script(&self, side: Side, workspace: &Path) -> Result<Script, String> {
        let own = match side {
            Side::Original => &self.left,
            Side::Ours => &self.right,
        };
        let text = Value::from(own.as_ref().unwrap_or(&self.turns).clone()).to_string();
        // Quoted as JSON has it, without the quotes.
        let path = Value::from(workspace.display().to_string()).to_string();
        let text = text.replace("{ws}", path.trim_matches('"'));
        let turns = serde_json::from_str(&text).map_err(|why| format!("a turn cannot be read: {why}"))?;
        let aux = match &self.aux {
            Some(turn) => serde_json::from_value(turn.clone()).map_err(|why| format!("aux cannot be read: {why}"))?,
            None => Turn { text: "ok".to_owned(), ..Turn::default() },
        };
        Ok(Script { turns, aux })
    }
}

impl Turn {
    /// With the number of a running command in place of `"{session}"` in arguments; 0 where none is known.
    pub(crate) fn in_session(mut self, session: Option<&str>) -> Turn {
        for args in self.calls.iter_mut().filter_map(|call| call.args.as_mut()) {
            let text = args.to_string();
            if text.contains("\"{session}\"")
                && let Ok(filled) = serde_json::from_str(&text.replace("\"{session}\"", session.unwrap_or("0")))
            {
                *args = filled;
            }
        }
        self
    }
}

impl Call {
    pub(crate) fn arguments(&self) -> String {
        match (&self.raw, &self.args) {
            (Some(raw), _) => raw.clone(),
            (None, Some(args)) => args.to_string(),
            (None, None) => "{}".to_owned(),
        }
    }
}

fn do_the_task() -> String {
    "Do the task.".to_owned()
}
fn two_minutes() -> u64 {
    120
}
