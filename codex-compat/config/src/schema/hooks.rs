//! `[[hooks.<Event>]]` and hooks.json: commands that run at moments of a turn. Trust per hook is the runtime's business.
use serde::{Deserialize, Serialize};

use super::{Any, value::words};

macro_rules! hooks {
    ($($field:ident = $event:literal),+ $(,)?) => {
        /// Groups by event, those of lower layers first. All matching ones run.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Hooks {
            $(#[serde(rename = $event)] pub $field: Vec<HookGroup>,)+
            /// Trust per hook, as upstream keeps it.
            pub state: Option<Any>,
        }
        impl Hooks {
            /// The groups of an event by its name in the config; empty for a name that nobody knows.
            pub fn groups(&self, event: &str) -> &[HookGroup] {
                match event {
                    $($event => &self.$field,)+
                    _ => &[],
                }
            }
        }
        /// All events, in the order of a session.
        pub const HOOK_EVENTS: &[&str] = &[$($event),+];
    };
}
hooks! {
    session_start = "SessionStart",
    user_prompt_submit = "UserPromptSubmit",
    pre_model_request = "PreModelRequest",
    post_model_request = "PostModelRequest",
    pre_tool_use = "PreToolUse",
    permission_request = "PermissionRequest",
    post_tool_use = "PostToolUse",
    pre_compact = "PreCompact",
    post_compact = "PostCompact",
    subagent_start = "SubagentStart",
    subagent_stop = "SubagentStop",
    stop = "Stop",
    interrupt = "Interrupt",
    session_end = "SessionEnd",
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookGroup {
    /// Regular expression on the tool's name, or on the event's kind (`startup`, `manual`, ...); None: always.
    pub matcher: Option<String>,
    pub hooks: Vec<Hook>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    #[serde(rename = "type")]
    pub kind: HookKind,
    pub command: Option<String>,
    /// Seconds; None: 600.
    pub timeout: Option<u64>,
    #[serde(rename = "statusMessage")]
    pub status_message: Option<String>,
    pub r#async: Option<bool>,
    pub prompt: Option<String>,
    pub model: Option<String>,
    pub server: Option<String>,
    pub tool: Option<String>,
    pub input: Option<Any>,
}

words!(HookKind {
    #[default]
    Command = "command",
    McpTool = "mcpTool",
    Prompt = "prompt",
    Agent = "agent",
});
