//! What a provider streams, as the client's wire can have it: every call with an id and the name that the client gave its
//! tool, free-form calls in their own form again, payloads in envelopes.
use std::collections::HashMap;

use protocol::{BlockKind, CallForm, CallId, Delta, Entry, Fit, Opaque, OwnedPrompt, Raw, Tool, ToolKind, WireId};

use super::envelope::Envelope;
use crate::{calls, chat};

/// Of one reply.
pub struct Outgoing {
    to: WireId,
    /// Names on the provider's wire that are not the client's.
    tools: HashMap<String, Named>,
    /// Root of ids for calls without one.
    own: String,
    ids: Vec<CallId>,
    open: Vec<Open>,
    begun: bool,
    /// Places of blocks that were added count down from the top, out of the way of the provider's.
    added: u32,
}

struct Named {
    namespace: Option<String>,
    name: String,
    free: bool,
}

struct Open {
    at: u32,
    kind: BlockKind,
    /// Its start has gone out.
    started: bool,
    /// Bytes of text or arguments went out.
    said: bool,
    /// Arguments in function form of a free-form call.
    held: Option<String>,
}

impl Outgoing {
    /// `own`: unique for this reply; it names the reply and its calls where the server does not.
    pub fn new(to: WireId, prompt: &OwnedPrompt, fit: &Fit, own: impl Into<String>) -> Outgoing {
        let late = prompt.said.iter().filter_map(|entry| match entry {
            Entry::Tools(tools) => Some(tools),
            _ => None,
        });
        let tools = prompt.opening.tools.iter().chain(late.flatten()).filter_map(|tool| named(tool, fit)).collect();
        let (ids, open) = (Vec::new(), Vec::new());
        Outgoing { to, tools, own: own.into(), ids, open, begun: false, added: u32::MAX }
    }

    pub fn pass(&mut self, delta: &Delta, out: &mut Vec<Delta>) {
        if !std::mem::replace(&mut self.begun, true) {
            match delta {
                Delta::Begin { id } if !id.is_empty() => return out.push(delta.clone()),
                _ => out.push(Delta::Begin { id: self.own.clone() }),
            }
        }
        match delta {
            Delta::Begin { .. } => {}
            Delta::BlockStart { at, kind } => self.start(*at, kind, out),
            Delta::Text { at, text } | Delta::Args { at, text } if !text.is_empty() => self.text(*at, text, delta, out),
            Delta::Text { .. } | Delta::Args { .. } => {}
            Delta::BlockEnd { at, opaque } => self.end(*at, opaque, out),
            Delta::Usage(_) | Delta::Warning(_) | Delta::Stop(_) | Delta::Error(_) => out.push(delta.clone()),
        }
    }

    fn start(&mut self, at: u32, kind: &BlockKind, out: &mut Vec<Delta>) {
        let mut kind = kind.clone();
        let mut held = None;
        if let BlockKind::Call(call) = &mut kind
            && let Some(named) = self.tools.get(&call.name).filter(|_| call.namespace.is_none())
        {
            call.namespace.clone_from(&named.namespace);
            call.name.clone_from(&named.name);
            if named.free && call.form == CallForm::Function {
                call.form = CallForm::Custom;
                held = Some(std::mem::take(&mut call.args));
            }
        }
        match self.open.iter_mut().find(|open| open.at == at) {
            // What a client has been told of a call stands.
            Some(open) if open.started && matches!(kind, BlockKind::Call(_)) => {}
            Some(open) if open.started => {
                open.kind = kind.clone();
                out.push(Delta::BlockStart { at, kind });
            }
            Some(open) => {
                open.kind = kind;
                open.held = open.held.take().or(held);
            }
            None => {
                let at_once = matches!(kind, BlockKind::Text(..) | BlockKind::Server { .. } | BlockKind::Unknown);
                if at_once {
                    out.push(Delta::BlockStart { at, kind: kind.clone() });
                }
                self.open.push(Open { at, kind, started: at_once, said: false, held });
            }
        }
    }

    /// An id may come after the start, and thinking may turn out to be empty: both begin with their first text.
    fn begin(&mut self, place: usize, out: &mut Vec<Delta>) {
        let open = &mut self.open[place];
        if std::mem::replace(&mut open.started, true) {
            return;
        }
        if let BlockKind::Call(call) = &mut open.kind {
            if call.id.0.is_empty() || self.ids.contains(&call.id) {
                call.id = CallId(format!("call_{}_{}", self.own, open.at));
            }
            self.ids.push(call.id.clone());
        }
        out.push(Delta::BlockStart { at: open.at, kind: open.kind.clone() });
    }

    fn text(&mut self, at: u32, text: &str, delta: &Delta, out: &mut Vec<Delta>) {
        let Some(place) = self.open.iter().position(|open| open.at == at) else { return };
        self.begin(place, out);
        let open = &mut self.open[place];
        open.said = true;
        match &mut open.held {
            Some(held) => held.push_str(text),
            None => out.push(delta.clone()),
        }
    }

    fn end(&mut self, at: u32, opaque: &[Opaque], out: &mut Vec<Delta>) {
        let Some(place) = self.open.iter().position(|open| open.at == at) else { return };
        let is_reasoning = matches!(self.open[place].kind, BlockKind::Reasoning(_));
        let envelope = Envelope::of(opaque).filter(|_| is_reasoning);
        if is_reasoning && !self.open[place].started && envelope.is_none() {
            self.open.remove(place);
            return;
        }
        self.begin(place, out);
        let open = self.open.remove(place);
        if let BlockKind::Call(call) = &open.kind {
            match open.held {
                Some(held) => out.push(Delta::Args { at, text: free_input(&held) }),
                None if !open.said && call.args.is_empty() && call.form == CallForm::Function => {
                    out.push(Delta::Args { at, text: "{}".to_owned() });
                }
                None => {}
            }
        }
        if let Some(envelope) = envelope {
            return out.push(Delta::BlockEnd { at, opaque: vec![envelope.sealed(self.to)] });
        }
        let native: Vec<Opaque> = opaque.iter().filter(|it| it.scope.wire == self.to).cloned().collect();
        out.push(Delta::BlockEnd { at, opaque: native });
        self.signature(&open.kind, opaque, out);
    }

    /// Gemini signs calls and texts. Where the client's wire has no field for that, thinking without text follows them.
    fn signature(&mut self, kind: &BlockKind, opaque: &[Opaque], out: &mut Vec<Delta>) {
        let signed: Vec<Opaque> = opaque
            .iter()
            .filter(|it| it.scope.wire != self.to && it.field == chat::field::EXTRA_CONTENT)
            .cloned()
            .collect();
        let Some(mut envelope) = Envelope::of(&signed) else { return };
        match kind {
            BlockKind::Call(call) => envelope.call = Some(call.id.0.clone()),
            BlockKind::Text(..) => envelope.text = true,
            _ => return,
        }
        let at = self.added;
        self.added -= 1;
        out.push(Delta::BlockStart { at, kind: BlockKind::Reasoning(String::new()) });
        out.push(Delta::BlockEnd { at, opaque: vec![envelope.sealed(self.to)] });
    }
}

/// A tool whose calls come back under another name or form than the client knows.
fn named(tool: &Tool, fit: &Fit) -> Option<(String, Named)> {
    let native = fit.source.wire == WireId::Responses;
    let free = matches!(tool.kind, ToolKind::Custom { .. }) && !(native && fit.caps.custom_tools);
    let flat = tool.namespace.is_some() && !(native && fit.caps.server_tools);
    let known = calls::flat_name(tool.namespace.as_deref().filter(|_| flat), &tool.name).into_owned();
    (free || flat).then(|| (known, Named { namespace: tool.namespace.clone(), name: tool.name.clone(), free }))
}

/// The text of a free-form call that came in function form, under whichever name.
fn free_input(args: &str) -> String {
    let fields = Raw::parse(args).ok().and_then(|raw| raw.read::<serde_json::Map<String, serde_json::Value>>().ok());
    let text = fields.as_ref().and_then(|fields| {
        let only = fields.values().next().filter(|_| fields.len() == 1);
        fields.get("input").or(only)?.as_str()
    });
    text.unwrap_or(args).to_owned()
}
