//! A harness as it would open a conversation, for people to read.
use harnesses::{Context, Persona, Words};
use protocol::{ApprovalPolicy, SandboxMode, SandboxPolicy, Settings, ThreadId, ToolKind, TurnId, WireId};

use crate::StartError;

/// Prompt and tools of a harness, for a model that nothing is known of.
pub fn show_harness(id: &str) -> Result<String, StartError> {
    let harness = harnesses::find(id).ok_or_else(|| {
        let known: Vec<&str> = harnesses::all().iter().map(|h| h.id()).collect();
        StartError::new(format!("Error: no harness `{id}`. Known: {}.", known.join(", ")))
    })?;
    let cwd = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let settings = Settings {
        provider: "example".into(),
        model: "example-model".into(),
        wire: WireId::Responses,
        harness: harness.id().to_owned(),
        cwd,
        sandbox: SandboxPolicy::new(SandboxMode::WorkspaceWrite),
        approval: ApprovalPolicy::Never,
        mode: Default::default(),
        effort: None,
        summary: None,
        verbosity: None,
        instructions: None,
        developer_instructions: None,
        compact_prompt: None,
        output_schema: None,
        output_limit: None,
        max_output: None,
        features: Default::default(),
    };
    let model = protocol::ModelInfo::fallback("example-model");
    let source =
        protocol::Source { provider: "example".into(), wire: WireId::Responses, model: "example-model".into() };
    let opening = harness.open(&Context {
        thread: &ThreadId::default(),
        turn: &TurnId::default(),
        model: &model,
        caps: &protocol::Caps::plain(),
        source: &source,
        settings: &settings,
        items: &[],
        said: &[],
        persona: &Persona::default(),
        docs: &[],
        skills: &[],
        extra_tools: &[],
        words: &Words::default(),
    });
    let mut text = String::new();
    for (speaker, content) in &opening.instructions {
        text.push_str(&format!("--- {speaker:?}\n{}\n\n", content.text()));
    }
    for tool in &opening.tools {
        let schema = match &tool.kind {
            ToolKind::Function(schema) | ToolKind::Custom { fallback: schema, .. } => schema.text(),
            ToolKind::Server { entry, .. } => entry.text(),
        };
        text.push_str(&format!("--- tool {}\n{}\n{schema}\n\n", tool.name, tool.description));
    }
    Ok(text)
}
