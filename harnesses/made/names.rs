//! Tools under other names: from the base harness to what the model sees, and back.
use std::collections::BTreeMap;

use protocol::{Block, BlockKind, Call, CallResult, Entry, Reply, Tool};

/// Old names and new ones. No new name is one of the base harness, so that renaming twice changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    shown: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
}

impl Names {
    /// From pairs of the base's name and the shown one.
    pub(crate) fn new(pairs: impl Iterator<Item = (String, String)>) -> Names {
        let shown: BTreeMap<String, String> = pairs.collect();
        let own = shown.iter().map(|(own, shown)| (shown.clone(), own.clone())).collect();
        Names { shown, own }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// As the model sees it.
    pub(crate) fn shown<'a>(&'a self, own: &'a str) -> &'a str {
        self.shown.get(own).map_or(own, String::as_str)
    }

    /// As the base harness has it.
    pub(crate) fn own<'a>(&'a self, shown: &'a str) -> &'a str {
        self.own.get(shown).map_or(shown, String::as_str)
    }

    pub(crate) fn show_tools(&self, tools: &mut [Tool]) {
        for tool in tools.iter_mut().filter(|tool| tool.namespace.is_none()) {
            tool.name = self.shown(&tool.name).to_owned();
        }
    }

    pub(crate) fn show_entries(&self, mut entries: Vec<Entry>) -> Vec<Entry> {
        if !self.is_empty() {
            entries.iter_mut().for_each(|entry| self.entry(entry, Names::shown));
        }
        entries
    }

    pub(crate) fn own_entries(&self, entries: &[Entry]) -> Vec<Entry> {
        let mut entries = entries.to_vec();
        entries.iter_mut().for_each(|entry| self.entry(entry, Names::own));
        entries
    }

    fn entry(&self, entry: &mut Entry, to: for<'a> fn(&'a Names, &'a str) -> &'a str) {
        match entry {
            Entry::Assistant(blocks) => self.blocks(blocks, to),
            Entry::Results { results, .. } => {
                for CallResult { name, .. } in results {
                    *name = to(self, name).to_owned();
                }
            }
            Entry::Tools(tools) => {
                for tool in tools.iter_mut().filter(|tool| tool.namespace.is_none()) {
                    tool.name = to(self, &tool.name).to_owned();
                }
            }
            Entry::Instruct(..) | Entry::User(_) | Entry::Foreign(_) => {}
        }
    }

    fn blocks(&self, blocks: &mut [Block], to: for<'a> fn(&'a Names, &'a str) -> &'a str) {
        for block in blocks {
            if let BlockKind::Call(call) = &mut block.kind
                && call.namespace.is_none()
            {
                call.name = to(self, &call.name).to_owned();
            }
        }
    }

    /// A reply as the base harness reads it. A name off by case or one edit is taken for the new name that is meant.
    pub(crate) fn own_reply(&self, mut reply: Reply) -> Reply {
        if self.is_empty() {
            return reply;
        }
        for block in &mut reply.blocks {
            if let BlockKind::Call(call) = &mut block.kind
                && call.namespace.is_none()
            {
                self.own_call(call);
            }
        }
        reply
    }

    fn own_call(&self, call: &mut Call) {
        let known = self.own.contains_key(&call.name) || self.shown.contains_key(&call.name);
        let meant = match known {
            true => Some(call.name.as_str()),
            false => crate::names::meant(&call.name, self.own.keys().map(String::as_str)),
        };
        if let Some(meant) = meant {
            call.name = self.own(meant).to_owned();
        }
    }

    /// Text of a reply, with the names of calls that a server left in it as the base harness has them.
    pub(crate) fn own_text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (shown, own) in &self.own {
            for (before, after) in MARKUPS {
                out = out.replace(&format!("{before}{shown}{after}"), &format!("{before}{own}{after}"));
            }
        }
        out
    }
}

/// What stands around a name where calls are written as text.
const MARKUPS: [(&str, &str); 7] = [
    ("\"name\": \"", "\""),
    ("\"name\":\"", "\""),
    ("<function=", ">"),
    ("<invoke name=\"", "\""),
    ("functions.", ":"),
    ("[TOOL_CALLS]", "["),
    ("[TOOL_CALLS]", "{"),
];
