//! A thread in which nothing has happened, for looking at what a harness would say.
use std::path::PathBuf;

use protocol::{
    ApprovalPolicy, Body, Caps, Fact, Item, ItemId, ModelInfo, SandboxMode, SandboxPolicy, Settings, Source, ThreadId,
    TurnId, WireId,
};

use crate::{Context, Harness, Persona, Words};

/// Everything that its context borrows. Change what matters, then ask for `cx`.
#[derive(Debug, Clone)]
pub struct Blank {
    pub model: ModelInfo,
    pub caps: Caps,
    pub source: Source,
    pub settings: Settings,
    pub items: Vec<Item>,
    pub words: Words,
    thread: ThreadId,
    turn: TurnId,
    persona: Persona,
}

impl Blank {
    pub fn new(harness: &str, model: &str, wire: WireId, cwd: PathBuf) -> Blank {
        let provider = "example".to_owned();
        Blank {
            model: ModelInfo::fallback(model),
            caps: Caps::plain(),
            source: Source { provider: provider.clone(), wire, model: model.to_owned() },
            settings: Settings {
                provider,
                model: model.to_owned(),
                wire,
                harness: harness.to_owned(),
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
            },
            items: Vec::new(),
            words: Words::default(),
            thread: ThreadId::default(),
            turn: TurnId::default(),
            persona: Persona::default(),
        }
    }

    /// Threads that together are offered whatever a harness has: with somebody who answers and without, a Claude model and another.
    pub(crate) fn usual(harness: &dyn Harness) -> Vec<Blank> {
        let mut all = Vec::new();
        for model in ["example-model", "claude-sonnet-4-5", "gpt-5.5", "kimi-k2-thinking"] {
            for answered in [false, true] {
                let mut blank = Blank::new(harness.id(), model, WireId::Responses, "/".into());
                if answered {
                    blank.settings.approval = ApprovalPolicy::OnRequest;
                    for feature in ["request_user_input", "tools.update_plan"] {
                        blank.settings.features.insert(feature.to_owned(), true);
                    }
                }
                all.push(blank);
            }
        }
        all
    }

    /// Something that was looked up.
    pub fn know(&mut self, fact: Fact) {
        let id = ItemId(self.items.len() as u64);
        self.items.push(Item { id, turn: self.turn.clone(), at: 0, body: Body::Fact(fact) });
    }

    pub fn cx(&self) -> Context<'_> {
        Context {
            thread: &self.thread,
            turn: &self.turn,
            model: &self.model,
            caps: &self.caps,
            source: &self.source,
            settings: &self.settings,
            items: &self.items,
            said: &[],
            persona: &self.persona,
            docs: &[],
            skills: &[],
            extra_tools: &[],
            words: &self.words,
        }
    }
}
