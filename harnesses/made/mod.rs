//! Harnesses made of others: words learned from an installed original, and harnesses that users write. One wrapper does both, at the
//! edge between a harness and the model: what is opened and said gets other words and names on its way out, what is heard gets the
//! base's names on its way in. History keeps the base's names, so every other part of a thread knows nothing of it.
mod blank;
mod definition;
mod kept;
mod learned;
mod names;
mod schema;
mod template;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

pub use blank::Blank;
pub use definition::{Answers, Definition, Fault, ToolChange, offered};
pub use learned::{Learned, ToolWords};
use protocol::{
    Answer, BlockKind, Call, Content, Done, Entry, Exit, Item, Millis, Opening, Outcome, Part, Reply, Tune, Want,
};
pub use schema::{descriptions, walk};
pub use template::{PLACES, escaped, spelled};

use self::{names::Names, template::Piece};
use crate::{Compaction, Context, Doc, Flow, Guards, Harness, Moment, Next, Persona, Reading, Words};

/// Stands where the prompt goes, to find out where that is. No text of a harness or a user holds it.
const MARK: &str = "\u{e000}prompt\u{e000}";

/// A harness in other words.
pub struct Made {
    id: String,
    base: &'static dyn Harness,
    /// Learned ones; templates.
    words: Words,
    definition: Definition,
    names: Names,
    dialect: String,
}

impl Made {
    /// The harness itself, with words learned from its original.
    pub fn learned(base: &'static dyn Harness, words: Words) -> Made {
        let id = base.id().to_owned();
        Made { dialect: id.clone(), id, base, words, definition: Definition::default(), names: Names::default() }
    }

    /// A user's harness. `words`: those learned for its base. The definition has been checked.
    pub fn defined(id: &str, base: &'static dyn Harness, words: Words, definition: Definition) -> Made {
        let renamed = definition.tools.iter().filter_map(|(own, change)| Some((own.clone(), change.name.clone()?)));
        let names = Names::new(renamed.filter(|(own, shown)| own != shown));
        let mut hasher = DefaultHasher::new();
        format!("{definition:?}").hash(&mut hasher);
        let dialect = format!("{id}#{:016x}", hasher.finish());
        Made { id: id.to_owned(), base, words, definition, names, dialect }
    }

    /// The same harness in the same words.
    pub fn same(&self, other: &Made) -> bool {
        self.dialect == other.dialect && self.base.id() == other.base.id() && self.words == other.words
    }

    fn removed(&self, own: &str) -> bool {
        self.definition.tools.get(own).is_some_and(|change| change.offered == Some(false))
    }

    /// Other prompts are the main agent's; roles of sub-agents, and what the user's config says, go before them.
    fn speaks(cx: &Context) -> bool {
        cx.persona.name.is_empty() && cx.persona.prompt.is_none() && cx.settings.instructions.is_none()
    }

    /// Learned words with their places filled, as the base takes them.
    fn filled(&self, cx: &Context) -> Words {
        let fill =
            |text: &String| template::fill(text, |place| template::value(cx, &self.id, place)).trim_end().to_owned();
        let speaks = Made::speaks(cx);
        Words {
            prompt: self.words.prompt.as_ref().filter(|_| speaks).map(fill),
            lead: if speaks { self.words.lead.iter().map(fill).collect() } else { Vec::new() },
            tools: self.words.tools.iter().map(|(name, text)| (name.clone(), fill(text))).collect(),
            properties: self
                .words
                .properties
                .iter()
                .map(|(tool, words)| {
                    (tool.clone(), words.iter().map(|(path, text)| (path.clone(), fill(text))).collect())
                })
                .collect(),
        }
    }

    /// The opening in these words. `open` is the base's, which stands for a new conversation or for one after a compaction.
    fn opened(&self, cx: &Context, open: &dyn Fn(&Context) -> Opening) -> Opening {
        let learned = self.filled(cx);
        let fewer = self.without_removed(cx);
        let persona = fewer.as_ref().unwrap_or(cx.persona);
        let docs = self.docs(cx);
        let with = |words: &Words| open(&Context { words, persona, docs, ..*cx });
        let own = with(&Words::default());
        let written = self.definition.prompt.as_deref().filter(|_| Made::speaks(cx));
        let prompt = written.map(|template| self.prompt(cx, template, &own, &with(&learned), &with));
        let words = Words { prompt: prompt.or(learned.prompt.clone()), ..learned };
        let mut opening = with(&words);
        if words.prompt.is_some() {
            let marked = with(&marked());
            let place = marked.instructions.iter().position(|(_, content)| content.text().contains(MARK));
            if let Some(place) = place.filter(|place| *place < opening.instructions.len()) {
                keep(cx, &mut opening, place, &text(&own));
                lead(&mut opening, place, &words.lead);
            }
        }
        self.dress(cx, &mut opening, &own, &words);
        opening
    }

    /// A user's prompt with its places filled.
    fn prompt(
        &self,
        cx: &Context,
        template: &str,
        own: &Opening,
        learned: &Opening,
        with: &dyn Fn(&Words) -> Opening,
    ) -> String {
        template::fill(template, |place| match place {
            "base_prompt" => Some(base_prompt(learned, &with(&marked()))),
            "tools" => {
                let kept = own.tools.iter().filter(|tool| !self.removed(&tool.name));
                Some(kept.map(|tool| format!("- {}", self.names.shown(&tool.name))).collect::<Vec<_>>().join("\n"))
            }
            _ => template::value(cx, &self.id, place),
        })
    }

    /// A persona without the removed tools, so that the base's prompt does not speak of them. None: none is removed.
    fn without_removed(&self, cx: &Context) -> Option<Persona> {
        if !self.definition.tools.keys().any(|name| self.removed(name)) {
            return None;
        }
        let names = self.base.open(cx).tools.into_iter().map(|tool| tool.name);
        Some(Persona { tools: Some(names.filter(|name| !self.removed(name)).collect()), ..cx.persona.clone() })
    }

    /// Tools: those removed go, the others get their words and names. `own`: the opening in the base's words.
    fn dress(&self, cx: &Context, opening: &mut Opening, own: &Opening, words: &Words) {
        let outside = |name: &str| cx.extra_tools.iter().any(|tool| tool.namespace.is_none() && tool.name == name);
        opening.tools.retain(|tool| tool.namespace.is_some() || outside(&tool.name) || !self.removed(&tool.name));
        for tool in opening.tools.iter_mut().filter(|tool| tool.namespace.is_none() && !outside(&tool.name)) {
            // A harness that adds to a description (a list of skills, say) has done it around these words already.
            let told = |text: &String| tool.description.contains(text.as_str());
            let unchanged =
                own.tools.iter().any(|other| other.name == tool.name && other.description == tool.description);
            if let Some(text) = words.tools.get(&tool.name).filter(|text| unchanged && !told(text)) {
                tool.description.clone_from(text);
            }
            let change = self.definition.tools.get(&tool.name);
            if let Some(text) = change.and_then(|change| change.description.as_ref()) {
                tool.description = template::fill(text, |place| template::value(cx, &self.id, place));
            }
            let fill = |text: &String| template::fill(text, |place| template::value(cx, &self.id, place));
            let own = change.map(|change| &change.properties).into_iter().flatten();
            let own: BTreeMap<String, String> = own.map(|(path, text)| (path.clone(), fill(text))).collect();
            for words in words.properties.get(&tool.name).into_iter().chain([&own]) {
                if let protocol::ToolKind::Function(raw) | protocol::ToolKind::Custom { fallback: raw, .. } =
                    &mut tool.kind
                {
                    *raw = schema::described(raw, words);
                }
            }
        }
        self.names.show_tools(&mut opening.tools);
    }

    /// What the base may see of a thread beside its opening: learned descriptions, which some harnesses tell later on.
    fn inner<'a>(&'a self, cx: &Context<'a>) -> Context<'a> {
        Context { words: &self.words, docs: self.docs(cx), ..*cx }
    }

    /// Instructions that the base is to say. None where the user's prompt has a place for them: they are said once.
    fn docs<'a>(&self, cx: &Context<'a>) -> &'a [Doc] {
        let has_place = |prompt: &str| template::pieces(prompt).contains(&Piece::Place("agents_md"));
        match self.definition.prompt.as_deref().is_some_and(has_place) && Made::speaks(cx) {
            true => &[],
            false => cx.docs,
        }
    }

    fn told(&self, call: &Call, did: &[Done], mut answer: Answer, rejected: bool) -> Answer {
        let failed = rejected || answer.error == Some(true) || did.last().is_some_and(|done| has_failed(&done.outcome));
        if let Some(template) = self.definition.answer(&call.name, failed) {
            answer.content = self.templated(template, &call.name, answer.content);
        }
        answer
    }

    /// The template around an answer. Pictures stay where they are; the text of several parts is kept apart.
    fn templated(&self, template: &str, tool: &str, content: Content) -> Content {
        let fill = |answer: Option<&str>| {
            template::fill(template, |place| match place {
                "answer" => Some(answer.unwrap_or(MARK).to_owned()),
                "tool" => Some(self.names.shown(tool).to_owned()),
                _ => None,
            })
        };
        let mut parts = match content {
            Content::Plain(text) => return Content::Plain(fill(Some(&text))),
            Content::Parts(parts) => parts,
        };
        let filled = fill(None);
        let Some((before, after)) = filled.split_once(MARK) else {
            parts.retain(|part| part.as_text().is_none());
            parts.insert(0, Part::text(filled));
            return Content::Parts(parts);
        };
        let after = after.replace(MARK, "");
        match parts.iter_mut().find(|part| part.as_text().is_some()) {
            Some(Part::Text(first)) => first.insert_str(0, before),
            _ if before.is_empty() => {}
            _ => parts.insert(0, Part::text(before)),
        }
        match parts.iter_mut().rfind(|part| part.as_text().is_some()) {
            Some(Part::Text(last)) => last.push_str(&after),
            _ if after.is_empty() => {}
            _ => parts.push(Part::text(after)),
        }
        Content::Parts(parts)
    }
}

impl Harness for Made {
    fn id(&self) -> &str {
        &self.id
    }

    fn base(&self) -> &str {
        self.base.id()
    }

    fn dialect(&self) -> &str {
        &self.dialect
    }

    fn hear(&self, reply: Reply) -> Reply {
        self.base.hear(self.names.own_reply(reply))
    }

    fn wants(&self, cx: &Context, moment: Moment) -> Vec<Want> {
        let mut wants = self.base.wants(cx, moment);
        if moment == Moment::Opening {
            let described =
                self.words.tools.values().chain(self.words.properties.values().flat_map(|words| words.values()));
            let changed = self.definition.tools.values();
            let changed = changed.flat_map(|change| change.description.iter().chain(change.properties.values()));
            let prompts = self.words.lead.iter().chain(&self.words.prompt).chain(&self.definition.prompt);
            for want in prompts.chain(described).chain(changed).flat_map(|text| template::wants(text)) {
                if !wants.contains(&want) {
                    wants.push(want);
                }
            }
        }
        wants
    }

    fn open(&self, cx: &Context) -> Opening {
        self.opened(cx, &|cx| self.base.open(cx))
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        self.names.show_entries(self.base.say(&self.inner(cx), new))
    }

    fn view(&self, cx: &Context) -> Option<Vec<Entry>> {
        let entries = match self.names.is_empty() {
            true => self.base.view(&self.inner(cx)),
            false => self.base.view(&Context { said: &self.names.own_entries(cx.said), ..self.inner(cx) }),
        };
        Some(self.names.show_entries(entries?))
    }

    fn tune(&self, cx: &Context) -> Tune {
        self.base.tune(&self.inner(cx))
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let cx = self.inner(cx);
        let written = !self.names.is_empty() && reply.calls().next().is_none();
        let reading = match written {
            true => self.base.read(&cx, &self.with_own_text(reply)),
            false => self.base.read(&cx, reply),
        };
        match reading {
            Reading::Again { drop_reply, say, keep, tune } => {
                Reading::Again { drop_reply, say: self.names.show_entries(say), keep, tune }
            }
            other => other,
        }
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if call.namespace.is_none() && self.removed(&call.name) {
            let note = format!("`{}` is not offered by harness `{}`", call.name, self.id);
            let answer = Answer::failed(format!("There is no tool `{}`.", self.names.shown(&call.name)));
            return Next::Reject { answer: self.told(call, did, answer, true), note };
        }
        match self.base.next(&self.inner(cx), call, did) {
            Next::Answer(answer) => Next::Answer(self.told(call, did, answer, false)),
            Next::Reject { answer, note } => Next::Reject { answer: self.told(call, did, answer, true), note },
            more => more,
        }
    }

    fn cut_short(&self, cx: &Context, call: &Call, did: &[Done], ran: Option<Millis>) -> Answer {
        let answer = self.base.cut_short(&self.inner(cx), call, did, ran);
        self.told(call, did, answer, true)
    }

    fn after(&self, cx: &Context, step: &[Item]) -> Flow {
        self.base.after(&self.inner(cx), step)
    }

    fn guards(&self, cx: &Context) -> Guards {
        self.base.guards(&self.inner(cx))
    }

    fn waits_for_tasks(&self, cx: &Context) -> bool {
        self.base.waits_for_tasks(&self.inner(cx))
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        let mut compaction = self.base.compact(&self.inner(cx), hint);
        compaction.ask = self.names.show_entries(compaction.ask);
        compaction
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        let said = (!self.names.is_empty()).then(|| self.names.own_entries(cx.said));
        let cx = Context { said: said.as_deref().unwrap_or(cx.said), ..*cx };
        let opening = self.opened(&cx, &|cx| self.base.compacted(cx, summary).0);
        let (_, entries) = self.base.compacted(&self.inner(&cx), summary);
        (opening, self.names.show_entries(entries))
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        self.base.resay(&self.inner(cx), call, did)
    }
}

impl Made {
    fn with_own_text(&self, reply: &Reply) -> Reply {
        let mut reply = reply.clone();
        for block in &mut reply.blocks {
            if let BlockKind::Text(text, _) = &mut block.kind {
                *text = self.names.own_text(text);
            }
        }
        reply
    }
}

/// A deed that came to nothing: refused, failed, stopped, or a command with another exit status than 0.
fn has_failed(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Failed(_) | Outcome::Refused(_) | Outcome::Interrupted { .. } => true,
        Outcome::Ran { exit, .. } => !matches!(exit, Exit::Code(0) | Exit::Running),
        _ => false,
    }
}

/// What a harness says around its prompt, without it: the environment, instructions, permissions.
pub fn around(base: &dyn Harness, cx: &Context) -> String {
    text(&base.open(&Context { words: &marked(), ..*cx })).replace(MARK, "")
}

/// The mark in place of a prompt.
fn marked() -> Words {
    Words { prompt: Some(MARK.to_owned()), ..Words::default() }
}

/// All instructions of an opening.
fn text(opening: &Opening) -> String {
    opening.instructions.iter().map(|(_, content)| content.text()).collect::<Vec<_>>().join("\n\n")
}

/// What the base says where `marked` has the mark: `own` without what stands around it.
fn base_prompt(own: &Opening, marked: &Opening) -> String {
    let found = marked.instructions.iter().enumerate().find_map(|(at, (_, content))| {
        let (before, after) = content.text().split_once(MARK).map(|(b, a)| (b.to_owned(), a.to_owned()))?;
        Some((at, before, after))
    });
    let Some((at, before, after)) = found else { return text(own) };
    let whole = own.instructions.get(at).map(|(_, content)| content.text()).unwrap_or_default();
    let whole = whole.strip_prefix(before.as_str()).unwrap_or(&whole);
    // What is behind the mark may begin otherwise there (a section that the own prompt has inside): cut at a blank line only.
    let cut = after.match_indices("\n\n").find_map(|(at, _)| whole.strip_suffix(&after[at..]));
    whole.strip_suffix(after.as_str()).or(cut).unwrap_or(whole).trim_end().to_owned()
}

/// Learned blocks before the prompt, in place of the harness's own. More of them than it has are put in front.
fn lead(opening: &mut Opening, place: usize, lead: &[String]) {
    for (n, text) in lead.iter().rev().enumerate() {
        let at = place.checked_sub(n + 1);
        let Some((speaker, like)) = opening.instructions.get(at.unwrap_or(0)) else { return };
        let content = match like {
            Content::Plain(_) => Content::Plain(text.clone()),
            Content::Parts(_) => Content::Parts(vec![Part::text(text.clone())]),
        };
        let block = (*speaker, content);
        match at {
            Some(at) => opening.instructions[at] = block,
            None => opening.instructions.insert(0, block),
        }
    }
}

/// Adds what the other prompt lost behind it.
fn keep(cx: &Context, opening: &mut Opening, place: usize, own: &str) {
    let lost = kept::lost(cx, own, &text(opening));
    let Some((_, content)) = opening.instructions.get_mut(place) else { return };
    for section in lost {
        match content {
            Content::Plain(text) => text.push_str(&format!("\n\n{section}")),
            Content::Parts(parts) => match parts.iter_mut().rfind(|part| part.as_text().is_some()) {
                Some(Part::Text(text)) => text.push_str(&format!("\n\n{section}")),
                _ => parts.push(Part::text(section)),
            },
        }
    }
}
