//! What the lines of the catalog hold. What is not known, or is as everywhere, is not written.
use std::collections::BTreeMap;

use protocol::{Price, ReasoningControl, WireId};
use serde::{Deserialize, Serialize};

/// Key of the first line.
pub(super) const HEAD: &str = "#catalog";

/// The first line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub version: u32,
    /// The day of the data, `2026-11-30`.
    pub date: String,
    pub providers: usize,
    pub models: usize,
}

/// A provider as the catalog has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// For people.
    pub name: String,
    /// Spoken unless the user or the model says otherwise.
    pub wire: WireId,
    /// Addresses by wire; parts like `${NAME}` come from the environment.
    pub urls: BTreeMap<WireId, String>,
    /// Variables that may hold the key, best first.
    pub keys: Vec<String>,
    /// Where the key comes from, beyond the variable's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Place in lists, low first.
    #[serde(default = "last", skip_serializing_if = "is_last")]
    pub order: u32,
    /// A page about its models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
}

fn last() -> u32 {
    u32::MAX
}

fn is_last(order: &u32) -> bool {
    *order == last()
}

impl Listing {
    /// The address on a wire; of a wire it has none for, that of its own.
    pub fn url(&self, wire: WireId) -> Option<&str> {
        self.urls.get(&wire).or_else(|| self.urls.get(&self.wire)).map(String::as_str)
    }
}

/// A model at one provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Model {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Tokens that prompt and answer may have together; 0: not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub context: u64,
    /// Tokens that the prompt alone may have, where that is said; 0: as `context`.
    #[serde(skip_serializing_if = "is_zero")]
    pub input: u64,
    /// Tokens that the answer may have; 0: not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub output: u64,
    /// What it takes beside text: `image`, `pdf`, `audio`, `video`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub takes: Vec<String>,
    #[serde(skip_serializing_if = "Reasoning::is_none")]
    pub reasoning: Reasoning,
    /// For `effort`: its words, weak to strong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// The field of the chat wire in which its reasoning goes back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interleaved: Option<String>,
    /// False: refuses a sampling temperature. None: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// `beta` or `deprecated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Not in lists unless asked for all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// Its own wire, where it is not the provider's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireId>,
    /// Its own address, where it is not the provider's for that wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// How much is known of a model's thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    #[default]
    None,
    /// It thinks; whether and how that is steered is not known.
    Unstated,
    Fixed,
    Effort,
    ThinkingToggle,
    ThinkingBudget,
}

impl Reasoning {
    fn is_none(&self) -> bool {
        *self == Reasoning::None
    }
}

impl Model {
    /// None: not known.
    pub fn control(&self) -> Option<ReasoningControl> {
        match self.reasoning {
            Reasoning::None => Some(ReasoningControl::None),
            Reasoning::Unstated => None,
            Reasoning::Fixed => Some(ReasoningControl::Fixed),
            Reasoning::Effort => Some(ReasoningControl::Effort(self.levels.clone())),
            Reasoning::ThinkingToggle => Some(ReasoningControl::ThinkingToggle),
            Reasoning::ThinkingBudget => Some(ReasoningControl::ThinkingBudget),
        }
    }

    /// Tokens that a prompt may have; None: not known.
    pub fn window(&self) -> Option<u64> {
        let known = [self.input, self.context].into_iter().filter(|tokens| *tokens > 0);
        known.min()
    }

    /// Tokens to ask for at most. None: not known, or as many as the whole window, which no prompt would leave room for.
    pub fn most_output(&self) -> Option<u64> {
        (self.output > 0 && (self.context == 0 || self.output < self.context)).then_some(self.output)
    }
}
