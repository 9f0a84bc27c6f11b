//! What was learned of a user's own installation of an original: its system text and the descriptions of its tools, as a file that
//! `interpreter harness learn` writes and every run of that harness reads.
use std::collections::BTreeMap;

use protocol::WireId;
use serde::{Deserialize, Serialize};

use crate::Words;

/// `learned.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    pub harness: String,
    /// The program that was run.
    pub original: String,
    /// As it names itself.
    pub version: String,
    /// `YYYY-MM-DD`
    pub date: String,
    pub wire: WireId,
    /// What it was told that the model is; prompts of some originals depend on it.
    pub model: String,
    /// Blocks of the system text, as templates (`made::PLACES`); the last one is the prompt proper.
    pub prompt: Vec<String>,
    /// By name; those that the harness offers, or may offer.
    pub tools: BTreeMap<String, ToolWords>,
}

/// Words of one tool, as templates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolWords {
    pub description: String,
    /// Path of the property (`questions[].header`) to its description.
    pub properties: BTreeMap<String, String>,
}

impl Learned {
    /// Err: the file is not one of these, in a few words.
    pub fn parse(text: &str) -> Result<Learned, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    pub fn words(&self) -> Words {
        let mut lead = self.prompt.clone();
        let prompt = lead.pop();
        let described = self.tools.iter().filter(|(_, words)| !words.description.is_empty());
        Words {
            prompt,
            lead,
            tools: described.map(|(name, words)| (name.clone(), words.description.clone())).collect(),
            properties: self.tools.iter().map(|(name, words)| (name.clone(), words.properties.clone())).collect(),
        }
    }
}
