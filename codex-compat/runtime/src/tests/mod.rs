//! Threads against a scripted model, in a dialect whose one tool takes any Action as its arguments: so each half of the runtime
//! is reached without a harness that offers it.
mod agents;
mod background;
mod client;
mod reads;

use demo::scripted::{Recorded, Server, Step, Turn};
use harnesses::{Compaction, Context, End, Harness, Moment, Next, Order, Reading};
use protocol::{
    Action, Answer, Body, Call, CallResult, Content, Decision, Done, Entry, Event, Item, Millis, Notice, Op, Opening,
    Part, Raw, Reply, Speaker, Tool, ToolKind, Tune, ViewKind, Want,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::{Start, Thread, start};

sandbox::helper_in_tests!();

/// The dialect. `waits`: as `Harness::waits_for_tasks`.
pub(super) struct Probe {
    waits: bool,
}

pub(super) static PROBE: Probe = Probe { waits: false };
pub(super) static WAITING: Probe = Probe { waits: true };

impl Harness for Probe {
    fn id(&self) -> &'static str {
        "probe"
    }
    fn wants(&self, _cx: &Context, _moment: Moment) -> Vec<Want> {
        Vec::new()
    }
    fn open(&self, cx: &Context) -> Opening {
        let tool = Tool {
            namespace: None,
            name: "act".into(),
            description: String::new(),
            kind: ToolKind::Function(Raw::of(&json!({"type": "object"}))),
            strict: None,
            deferred: false,
        };
        let who = format!("I am `{}` at depth {}", cx.persona.name, cx.persona.depth);
        Opening { instructions: vec![(Speaker::System, Content::Plain(who))], tools: vec![tool] }
    }
    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        let mut entries = Vec::new();
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for item in new {
            let text = match &item.body {
                Body::Reply { reply, .. } => {
                    calls = reply.calls().cloned().collect();
                    entries.push(Entry::Assistant(reply.blocks.clone()));
                    continue;
                }
                Body::Called { call, answer, .. } => {
                    let (call, answer) = (call.clone(), answer.clone());
                    results.push(CallResult { call, name: "act".into(), custom: false, answer });
                    if results.len() == calls.len() {
                        let results = std::mem::take(&mut results);
                        entries.push(Entry::Results { before: Vec::new(), results, after: Vec::new() });
                    }
                    continue;
                }
                Body::User { parts, .. } => parts.iter().filter_map(Part::as_text).collect(),
                Body::Notice(Notice::TaskEnded { command, exit, output, .. }) => {
                    format!("ended: {command} {exit:?} {}", output.text)
                }
                Body::Notice(Notice::AgentReported { text, .. }) => format!("reported: {text}"),
                Body::Settings(settings) if !cx.said.is_empty() => format!("mode: {:?}", settings.mode),
                _ => continue,
            };
            entries.push(Entry::User(Content::Plain(text)));
        }
        entries
    }
    fn tune(&self, _cx: &Context) -> Tune {
        Tune::default()
    }
    fn read(&self, _cx: &Context, reply: &Reply) -> Reading {
        let calls: Vec<Call> = reply.calls().cloned().collect();
        match calls.is_empty() {
            true => Reading::Stop(End::Done),
            false => Reading::Calls { order: Order::together(&calls), calls, repaired: 0 },
        }
    }
    fn next(&self, _cx: &Context, call: &Call, did: &[Done]) -> Next {
        match (did.last(), serde_json::from_str::<Action>(&call.args)) {
            (Some(done), _) => Next::Answer(Answer::plain(Raw::of(&done.outcome).text())),
            (None, Ok(action)) => Next::Do(vec![action]),
            (None, Err(why)) => Next::Answer(Answer::failed(why.to_string())),
        }
    }
    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        Answer::plain("cut short")
    }
    fn waits_for_tasks(&self, _cx: &Context) -> bool {
        self.waits
    }
    fn compact(&self, _cx: &Context, _hint: Option<&str>) -> Compaction {
        Compaction { ask: Vec::new(), tools: false, tune: Tune::default() }
    }
    fn compacted(&self, cx: &Context, _summary: &str) -> (Opening, Vec<Entry>) {
        (self.open(cx), Vec::new())
    }
}

/// A reply that has this Action done.
pub(super) fn act(action: Action) -> Turn {
    Turn::call("act", &serde_json::to_value(action).unwrap())
}

pub(super) fn session(session: protocol::Session) -> Turn {
    act(Action::Session(session))
}

/// A home, a workspace, and a model that answers each request with what `script` says to the texts in it.
pub(super) struct Stage {
    pub(super) root: TempDir,
    pub(super) server: Server,
}

impl Stage {
    pub(super) fn new(config: &str, mut script: impl FnMut(&Asked) -> Step + Send + 'static) -> Stage {
        let root = TempDir::new().unwrap();
        let server = Server::answering(move |_, request| script(&Asked::new(request))).unwrap();
        std::fs::create_dir_all(root.path().join("work/.git/refs")).unwrap();
        std::fs::create_dir_all(root.path().join("home")).unwrap();
        let text = format!(
            "model = \"m\"\nmodel_provider = \"stub\"\nsandbox_mode = \"danger-full-access\"\n{config}\n[model_providers.stub]\nname = \"Stub\"\n\
             base_url = \"{}\"\nwire_api = \"chat\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
            server.base_url()
        );
        std::fs::write(root.path().join("home/config.toml"), text).unwrap();
        Stage { root, server }
    }

    pub(super) async fn thread(&self, probe: &'static Probe, change: impl FnOnce(&mut Start)) -> (Thread, Events) {
        let mut request =
            config::Request::new(config::Home::at(self.root.path().join("home")), self.root.path().join("work"));
        request.system_file = self.root.path().join("none");
        let loaded = config::load(&request).unwrap();
        let mut ask = Start::new(loaded, request.cwd.clone());
        change(&mut ask);
        let (events, inbox) = mpsc::unbounded_channel();
        let mut thread = start(ask, events).await.unwrap();
        thread.harness = probe;
        (thread, Events { inbox, all: Vec::new() })
    }

    /// One turn on `prompt` and the end of the thread, as exec does it. → its events.
    pub(super) async fn exec(&self, probe: &'static Probe, prompt: &str) -> Vec<Event> {
        let (thread, mut events) = self.thread(probe, |_| {}).await;
        let (ops, orders) = mpsc::channel(4);
        ops.send(user(prompt)).await.unwrap();
        ops.send(Op::Shutdown).await.unwrap();
        tokio::join!(thread.run(orders), events.until_closed());
        events.all
    }

    /// Texts of the requests, one list each.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.server.requests().iter().map(Asked::new).collect()
    }
}

pub(super) fn user(text: &str) -> Op {
    Op::User { parts: vec![Part::text(text)] }
}

/// Messages of a request (role and text), and the model that is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked(pub(super) Vec<(String, String)>, pub(super) String);

impl Asked {
    fn new(request: &Recorded) -> Asked {
        let request = request.json();
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Asked(messages.iter().map(|m| (text(&m["role"]), text(&m["content"]))).collect(), text(&request["model"]))
    }
    pub(super) fn first(&self) -> &str {
        self.0.first().map_or("", |(_, text)| text)
    }
    pub(super) fn last(&self) -> &str {
        self.0.last().map_or("", |(_, text)| text)
    }
    /// The newest result of a call.
    pub(super) fn result(&self) -> Value {
        let text = self.0.iter().rev().find(|(role, _)| role == "tool").map_or("null", |(_, text)| text);
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    }
}

pub(super) struct Events {
    inbox: mpsc::UnboundedReceiver<Event>,
    pub(super) all: Vec<Event>,
}

impl Events {
    pub(super) async fn until_closed(&mut self) {
        self.until(|event| *event == Event::Closed).await;
    }
    /// The first event from here on that `wanted` takes.
    pub(super) async fn until(&mut self, mut wanted: impl FnMut(&Event) -> bool) -> Event {
        loop {
            let event = self.inbox.recv().await.expect("the thread tells its end");
            self.all.push(event.clone());
            if wanted(&event) {
                return event;
            }
        }
    }
    /// The next question; answered with `decision`.
    pub(super) async fn decide(&mut self, ops: &mpsc::Sender<Op>, decision: Decision) -> protocol::Ask {
        let asked = self.until(|event| matches!(event, Event::ApprovalAsked { .. })).await;
        let Event::ApprovalAsked { id, ask } = asked else { unreachable!() };
        ops.send(Op::Decide { id, decision }).await.unwrap();
        ask
    }
}

/// What clients saw of items that ended: output of commands, texts of messages.
pub(super) fn shown(events: &[Event]) -> Vec<String> {
    let of = |event: &Event| match event {
        Event::ItemCompleted(view) => match &view.kind {
            ViewKind::Command { output, exit_code, .. } => Some(format!("command {exit_code:?} {output}")),
            ViewKind::Message { text } => Some(format!("message {text}")),
            ViewKind::FileChange { changes, .. } => Some(format!("changes {}", changes.len())),
            _ => None,
        },
        _ => None,
    };
    events.iter().filter_map(of).collect()
}
