//! The tools: names, order and schemas (key for key) of Kimi Code 2.1.0; descriptions in our own words, a file each in `tools/`.
use protocol::{Raw, Tool, ToolKind};
use serde_json::Value;

use crate::Context;

struct Offer {
    name: &'static str,
    description: &'static str,
    schema: &'static str,
    kinds: Kinds,
}

/// Which sub-agents have a tool beside the main agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    Main,
    Coder,
    /// `coder` and `explore`.
    Shell,
    All,
}

macro_rules! offers {
    ($($name:ident $kinds:ident),* $(,)?) => {
        &[$(Offer {
            name: stringify!($name),
            description: include_str!(concat!("tools/", stringify!($name), ".md")),
            schema: include_str!(concat!("tools/", stringify!($name), ".json")),
            kinds: Kinds::$kinds,
        }),*]
    };
}

/// By name, as the original sorts them.
static OFFERS: &[Offer] = offers![
    Agent Main,
    AgentSwarm Main,
    AskUserQuestion Main,
    Bash Shell,
    Edit Coder,
    EnterPlanMode Coder,
    ExitPlanMode Coder,
    FetchURL All,
    Glob All,
    Grep All,
    Read All,
    ReadMediaFile All,
    Skill Coder,
    TaskList Coder,
    TaskOutput Coder,
    TaskStop Coder,
    TodoList Coder,
    WaitFor Coder,
    Write Coder,
];

/// Tools whose results begin with the time that they took.
const TIMED: [&str; 6] = ["Agent", "AgentSwarm", "Bash", "FetchURL", "Glob", "Grep"];

pub(super) fn timed(name: &str) -> bool {
    TIMED.contains(&name) || name.starts_with("mcp__")
}

pub(super) fn is_ours(name: &str) -> bool {
    OFFERS.iter().any(|offer| offer.name == name)
}

pub(super) fn schema(name: &str) -> Option<Value> {
    let offer = OFFERS.iter().find(|offer| offer.name == name)?;
    serde_json::from_str(offer.schema).ok()
}

/// Names of our tools that this persona and model have.
pub(super) fn names(cx: &Context) -> Vec<&'static str> {
    let chosen = |offer: &&Offer| {
        let kind = match cx.persona.name.as_str() {
            "" => true,
            "explore" => matches!(offer.kinds, Kinds::Shell | Kinds::All),
            "plan" => offer.kinds == Kinds::All,
            _ => offer.kinds != Kinds::Main,
        };
        let seen = offer.name != "ReadMediaFile" || cx.model.images;
        kind && seen && cx.persona.tools.as_ref().is_none_or(|names| names.iter().any(|name| name == offer.name))
    };
    OFFERS.iter().filter(chosen).map(|offer| offer.name).collect()
}

/// Ours and those from outside, sorted by name.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let names = names(cx);
    let ours = OFFERS.iter().filter(|offer| names.contains(&offer.name)).map(|offer| Tool {
        namespace: None,
        name: offer.name.to_owned(),
        description: cx.words.tools.get(offer.name).cloned().unwrap_or_else(|| offer.description.to_owned()),
        kind: ToolKind::Function(Raw::parse(offer.schema.trim_end()).unwrap_or_else(|_| Raw::null())),
        strict: None,
        deferred: false,
    });
    let reads_only = matches!(cx.persona.name.as_str(), "explore" | "plan");
    let allowed = |tool: &&Tool| match &cx.persona.tools {
        Some(names) => names.contains(&tool.name),
        None => !reads_only,
    };
    let mut all: Vec<Tool> = ours.chain(cx.extra_tools.iter().filter(allowed).cloned()).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}
