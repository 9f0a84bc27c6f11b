//! The tools: names, order and schemas (key for key) of OpenCode 1.18.33; descriptions in our own words. GPT-5 models get
//! `apply_patch` in place of `edit` and `write`.
use protocol::{Raw, Tool, ToolKind};

use super::{Agent, agent};
use crate::Context;

struct Offer {
    name: &'static str,
    description: &'static str,
    schema: &'static str,
}

const APPLY_PATCH: Offer = Offer {
    name: "apply_patch",
    description: include_str!("tools/apply_patch.md"),
    schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"patchText":{"type":"string","description":"The whole patch, from its first marker to its last"}},"required":["patchText"]}"#,
};

/// In the order in which they are sent.
const ALL: [Offer; 10] = [
    Offer {
        name: "bash",
        description: include_str!("tools/bash.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"command":{"type":"string","description":"What to run"},"timeout":{"minimum":-9007199254740991,"exclusiveMinimum":0,"type":"integer","maximum":9007199254740991,"description":"Milliseconds until the command is ended"},"workdir":{"type":"string","description":"Folder to run the command in, in place of a leading 'cd'; the current folder if left out."}},"required":["command"]}"#,
    },
    Offer {
        name: "edit",
        description: include_str!("tools/edit.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"filePath":{"type":"string","description":"Absolute path of the file to change"},"oldString":{"type":"string","description":"Text that is to go"},"newString":{"type":"string","description":"Text to stand in its place (not the same as oldString)"},"replaceAll":{"type":"boolean","description":"Replace every occurrence of oldString (default false)"}},"required":["filePath","oldString","newString"]}"#,
    },
    Offer {
        name: "glob",
        description: include_str!("tools/glob.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"pattern":{"type":"string","description":"Glob pattern of the file names"},"path":{"type":"string","description":"Existing folder to look in. Leave it out to look in the current one; the words \"undefined\" and \"null\" are no folders."}},"required":["pattern"]}"#,
    },
    Offer {
        name: "grep",
        description: include_str!("tools/grep.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"pattern":{"type":"string","description":"Regular expression to look for in the text of files"},"path":{"type":"string","description":"Folder to look in; the current one if left out."},"include":{"type":"string","description":"Pattern of the files to look into (such as \"*.rs\", \"*.{c,h}\")"}},"required":["pattern"]}"#,
    },
    Offer {
        name: "read",
        description: include_str!("tools/read.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"filePath":{"type":"string","description":"Absolute path of the file or folder"},"offset":{"minimum":0,"type":"integer","maximum":9007199254740991,"description":"First line to show (the first of the file is 1)"},"limit":{"minimum":0,"type":"integer","maximum":9007199254740991,"description":"How many lines to show at most (2000 if left out)"}},"required":["filePath"]}"#,
    },
    Offer {
        name: "skill",
        description: include_str!("tools/skill.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"name":{"type":"string","description":"A name from available_skills"}},"required":["name"]}"#,
    },
    Offer {
        name: "task",
        description: include_str!("tools/task.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"description":{"type":"string","description":"The task in three to five words"},"prompt":{"type":"string","description":"What the agent is to do"},"subagent_type":{"type":"string","description":"Which kind of agent takes the task"},"task_id":{"type":"string","description":"Only to go on with an earlier task: its task_id. The agent then continues where it stopped, in place of a new one"},"command":{"type":"string","description":"The command that led to this task"}},"required":["description","prompt","subagent_type"]}"#,
    },
    Offer {
        name: "todowrite",
        description: include_str!("tools/todowrite.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string","description":"The step in a few words"},"status":{"type":"string","description":"How it stands: pending, in_progress, completed, cancelled"},"priority":{"type":"string","description":"How much it matters: high, medium, low"}},"required":["content","status","priority"]},"description":"The whole list as it is now"}},"required":["todos"]}"#,
    },
    Offer {
        name: "webfetch",
        description: include_str!("tools/webfetch.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"url":{"type":"string","description":"Address of the page"},"format":{"type":"string","enum":["text","markdown","html"],"description":"Form of the answer: text, markdown or html; markdown if left out.","default":"markdown"},"timeout":{"type":"number","description":"Seconds to wait at most (up to 120)"}},"required":["url"]}"#,
    },
    Offer {
        name: "write",
        description: include_str!("tools/write.md"),
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"content":{"type":"string","description":"All that the file is to hold"},"filePath":{"type":"string","description":"Absolute path of the file (a relative one will not do)"}},"required":["content","filePath"]}"#,
    },
];

/// Trained on patches: GPT-5 and later, but neither GPT-4 nor the o-series.
fn patches(cx: &Context) -> bool {
    cx.model.slug.to_lowercase().contains("gpt-5")
}

fn own(cx: &Context) -> Vec<&'static Offer> {
    static PATCH: Offer = APPLY_PATCH;
    static OFFERS: [Offer; 10] = ALL;
    let patches = patches(cx);
    let first = patches.then_some(&PATCH);
    let rest = OFFERS.iter().filter(|offer| !patches || !matches!(offer.name, "edit" | "write"));
    let kind = agent(cx);
    let allowed = |offer: &&Offer| match &cx.persona.tools {
        Some(names) => names.iter().any(|name| name == offer.name),
        None => match kind {
            Agent::Explore => ["bash", "glob", "grep", "read", "webfetch"].contains(&offer.name),
            Agent::General => !matches!(offer.name, "task" | "todowrite"),
            Agent::Main => true,
        },
    };
    first.into_iter().chain(rest).filter(allowed).collect()
}

/// Names of ours.
pub(super) fn names(cx: &Context) -> Vec<&'static str> {
    own(cx).into_iter().map(|offer| offer.name).collect()
}

/// Ours, then those from outside, as far as the persona has them.
pub(super) fn offered(cx: &Context) -> Vec<Tool> {
    let tool = |offer: &Offer| Tool {
        namespace: None,
        name: offer.name.to_owned(),
        description: match cx.words.tools.get(offer.name) {
            Some(words) => words.clone(),
            None => described(cx, offer.description),
        },
        kind: ToolKind::Function(Raw::parse(offer.schema).unwrap_or_else(|_| Raw::null())),
        strict: None,
        deferred: false,
    };
    let outside = cx.extra_tools.iter().filter(|tool| match &cx.persona.tools {
        Some(names) => names.contains(&tool.name),
        None => agent(cx) != Agent::Explore,
    });
    own(cx).into_iter().map(tool).chain(outside.cloned()).collect()
}

fn described(cx: &Context, text: &str) -> String {
    let system = super::prompt::platform(cx);
    text.replace("{platform}", &system)
}

#[cfg(test)]
mod tests {
    #[test]
    fn schemas_are_json() {
        for offer in super::ALL.iter().chain([&super::APPLY_PATCH]) {
            assert!(protocol::Raw::parse(offer.schema).is_ok(), "{}", offer.name);
        }
    }
}
