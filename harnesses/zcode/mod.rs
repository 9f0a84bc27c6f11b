//! `zcode`: how Z.AI's ZCode speaks to GLM, as far as that is known. The program is closed and was not run: its tools have Claude
//! Code's names, arguments and modes, and its default wire is Messages, so this is `claude-code` with the tools that ZCode names, an
//! identity of its own, and GLM's fields on the chat wire.
//!
//! Left out, since only their names are known: ApplyPatch, GoalRead, ReadSessionContext, SendMessage, TodoRead, WebSearch, Monitor,
//! Workflow. `Task` is taken for `Agent`. Schemas, descriptions and result texts are those of `claude-code`, not measured on ZCode.
#[cfg(test)]
mod tests;

use protocol::{Answer, Call, Done, Entry, Item, Millis, ModelInfo, Opening, Raw, Reply, Tune, Want, WireId};
use serde_json::json;

use crate::claude_code::ZCODE;
use crate::{Compaction, Context, Harness, Moment, Next, Reading};

pub(crate) struct Zcode;

/// The first block of the system text.
pub(crate) const IDENTITY: &str = "You are a coding agent in the user's development environment.";

/// Words in the ids of providers that are Z.AI's own servers, which know its fields.
const ITS_OWN: [&str; 5] = ["glm", "z.ai", "zai", "zhipu", "bigmodel"];

impl Harness for Zcode {
    fn id(&self) -> &'static str {
        "zcode"
    }

    fn wants(&self, cx: &Context, moment: Moment) -> Vec<Want> {
        ZCODE.wants(cx, moment)
    }

    fn open(&self, cx: &Context) -> Opening {
        ZCODE.open(cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        ZCODE.say(cx, new)
    }

    fn tune(&self, cx: &Context) -> Tune {
        let mut tune = ZCODE.tune(cx);
        tune.extras.extend(fields(cx));
        tune
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        ZCODE.read(cx, reply)
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        ZCODE.next(cx, call, did)
    }

    fn cut_short(&self, cx: &Context, call: &Call, did: &[Done], ran: Option<Millis>) -> Answer {
        ZCODE.cut_short(cx, call, did, ran)
    }

    fn waits_for_tasks(&self, cx: &Context) -> bool {
        ZCODE.waits_for_tasks(cx)
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        let mut compaction = ZCODE.compact(cx, hint);
        compaction.tune.extras.extend(fields(cx));
        compaction
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        ZCODE.compacted(cx, summary)
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        ZCODE.resay(cx, call, did)
    }
}

/// What Z.AI's chat servers take beside the common fields: reasoning of earlier turns is kept (docs.z.ai, thinking mode; GLM-4.7 and
/// later), and arguments of calls are streamed (docs.z.ai, stream tool; GLM-4.6 and later).
fn fields(cx: &Context) -> Vec<(WireId, String, Raw)> {
    let own = ITS_OWN.iter().any(|word| cx.settings.provider.to_lowercase().contains(word));
    let Some(version) = version(cx.model).filter(|_| own) else { return Vec::new() };
    let field = |name: &str, value| (WireId::Chat, name.to_owned(), Raw::of(&value));
    let mut fields = Vec::new();
    if version >= (4, 7) && cx.settings.effort.as_deref() != Some("none") {
        fields.push(field("thinking", json!({"type": "enabled", "clear_thinking": false})));
    }
    if version >= (4, 6) {
        fields.push(field("tool_stream", json!(true)));
    }
    fields
}

/// `(4, 7)` of `glm-4.7-flash` or `zai/glm-4-7`; a single number is a version too. None: no GLM.
fn version(model: &ModelInfo) -> Option<(u32, u32)> {
    let slug = model.slug.to_lowercase();
    let rest = &slug[slug.rfind("glm-")? + "glm-".len()..];
    let mut numbers = rest.split(['.', '-']).map(|piece| piece.parse().ok());
    let major = numbers.next()??;
    // A number of three digits or more is a date or a size.
    let minor = numbers.next().flatten().filter(|minor| *minor < 100);
    Some((major, minor.unwrap_or(0)))
}
