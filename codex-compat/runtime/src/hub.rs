//! The one ordered stream of events, and what must be remembered to write it: keys of items, open commands, the plan.
use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    path::PathBuf,
    rc::Rc,
    time::Instant,
};

use protocol::{BlockKind, Delta, Event, PlanStep, Reply, TaskId, TurnId, Usage, View, ViewKind};
use tokio::sync::mpsc;

use crate::{mailbox::Mailbox, thread::Started};

pub(crate) struct Hub {
    events: mpsc::UnboundedSender<Event>,
    pub(crate) mailbox: Mailbox,
    /// The client shows text and output as it comes.
    live: bool,
    /// Of a sub-agent: clients see its deeds only.
    inner: bool,
    numbers: Rc<Numbers>,
    state: RefCell<State>,
}

/// Given out once in all threads that speak to the same clients.
#[derive(Default)]
struct Numbers {
    key: Cell<u64>,
    approval: Cell<u64>,
}

fn next(number: &Cell<u64>) -> u64 {
    number.set(number.get() + 1);
    number.get()
}

#[derive(Default)]
struct State {
    last_message: Option<String>,
    plan: Option<(u64, Vec<PlanStep>)>,
    tasks: HashMap<TaskId, Open>,
    /// Ended tasks whose end was the answer to a call.
    told: HashSet<TaskId>,
    steps: u64,
    tokens: u64,
}

/// A command whose item is open.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) key: u64,
    pub(crate) command: String,
    pub(crate) cwd: PathBuf,
    pub(crate) since: Instant,
}

impl Hub {
    pub(crate) fn new(events: mpsc::UnboundedSender<Event>, live: bool) -> Hub {
        let (mailbox, numbers, state) = Default::default();
        Hub { events, mailbox, live, inner: false, numbers, state }
    }

    /// Of a sub-agent: the same clients, who see what it does and are asked what it asks.
    pub(crate) fn child(&self) -> Hub {
        Hub {
            events: self.events.clone(),
            mailbox: self.mailbox.child(),
            live: self.live,
            inner: true,
            numbers: self.numbers.clone(),
            state: RefCell::default(),
        }
    }

    /// Takes the output of the command with this key. None: nobody wants it as it comes.
    pub(crate) fn listener(&self, key: u64) -> Option<impl Fn(&str) + Send + Sync + 'static> {
        let events = self.live.then(|| self.events.clone())?;
        Some(move |text: &str| drop(events.send(Event::OutputDelta { item: key, text: text.to_owned() })))
    }

    /// A client that went away is no reason to stop; the client itself decides that.
    pub(crate) fn emit(&self, event: Event) {
        if self.inner && !is_deed(&event) {
            return;
        }
        let _ = self.events.send(event);
    }

    /// Pieces of a reply in the making. Clients that show text as it comes get it here.
    pub(crate) fn deltas(&self, deltas: &[Delta]) {
        for delta in deltas {
            if let Delta::Warning(message) = delta {
                self.emit(Event::Warning { message: message.clone() });
            }
        }
    }

    /// What the user can do about a failure, beside the line that scripts know.
    pub(crate) fn hint(&self, hint: &str) {
        if !hint.is_empty() {
            self.emit(Event::Hint { message: hint.to_owned() });
        }
    }

    pub(crate) fn key(&self) -> u64 {
        next(&self.numbers.key)
    }

    pub(crate) fn approval_id(&self) -> u64 {
        next(&self.numbers.approval)
    }

    pub(crate) fn turn_started(&self, turn: TurnId) {
        {
            let mut state = self.state.borrow_mut();
            state.steps = 0;
            state.tokens = 0;
            state.last_message = None;
        }
        self.emit(Event::TurnStarted { turn });
    }

    pub(crate) fn started(&self) -> Started {
        let state = self.state.borrow();
        Started { steps: state.steps, tokens: state.tokens }
    }

    /// Tokens of a sub-agent's.
    pub(crate) fn count(&self, usage: Usage) {
        self.state.borrow_mut().tokens += usage.total();
    }

    /// A reply's blocks, as items.
    pub(crate) fn show_reply(&self, reply: &Reply) {
        {
            let mut state = self.state.borrow_mut();
            state.steps += 1;
            state.tokens += reply.usage.total();
        }
        for block in &reply.blocks {
            let kind = match &block.kind {
                BlockKind::Text(text, _) => {
                    self.message(text.clone());
                    continue;
                }
                BlockKind::Reasoning(text) if !text.is_empty() => ViewKind::Reasoning { text: text.clone() },
                BlockKind::Server { name, show } if name == "web_search" => {
                    let (key, kind) = (self.key(), web_search(show));
                    self.emit(Event::ItemStarted(View { key, kind: kind.clone() }));
                    self.emit(Event::ItemCompleted(View { key, kind }));
                    continue;
                }
                _ => continue,
            };
            self.emit(Event::ItemCompleted(View { key: self.key(), kind }));
        }
    }

    pub(crate) fn message(&self, text: String) {
        if !text.is_empty() {
            self.state.borrow_mut().last_message = Some(text.clone());
        }
        self.emit(Event::ItemCompleted(View { key: self.key(), kind: ViewKind::Message { text } }));
    }

    /// The last words of this turn that were not empty.
    pub(crate) fn last_message(&self) -> Option<String> {
        self.state.borrow().last_message.clone()
    }

    /// The plan's item: started once, updated at each change, completed when the turn ends.
    pub(crate) fn plan(&self, steps: Vec<PlanStep>, explanation: Option<String>) {
        let known = self.state.borrow().plan.as_ref().map(|(key, _)| *key);
        let key = known.unwrap_or_else(|| self.key());
        self.state.borrow_mut().plan = Some((key, steps.clone()));
        let view = View { key, kind: ViewKind::Todo { steps, explanation } };
        let event = if known.is_some() { Event::ItemUpdated(view) } else { Event::ItemStarted(view) };
        self.emit(event);
    }

    pub(crate) fn close_plan(&self) {
        let plan = self.state.borrow_mut().plan.take();
        if let Some((key, steps)) = plan {
            let view = View { key, kind: ViewKind::Todo { steps, explanation: None } };
            self.emit(Event::ItemCompleted(view));
        }
    }

    /// A command goes on in the background; its item is completed when it ends.
    pub(crate) fn leave_open(&self, task: TaskId, open: Open) {
        self.state.borrow_mut().tasks.insert(task, open);
    }

    pub(crate) fn has_open_tasks(&self) -> bool {
        !self.state.borrow().tasks.is_empty()
    }

    /// The model knows of the end of a task.
    pub(crate) fn tell_end(&self, task: TaskId) {
        self.state.borrow_mut().told.insert(task);
    }

    /// Whether the model knows. Asked once: numbers of tasks are used again.
    pub(crate) fn was_told(&self, task: TaskId) -> bool {
        self.state.borrow_mut().told.remove(&task)
    }

    pub(crate) fn take_open(&self, task: TaskId) -> Option<Open> {
        self.state.borrow_mut().tasks.remove(&task)
    }
}

/// What clients see of a sub-agent: what it does to the machine, what it asks, what goes wrong.
fn is_deed(event: &Event) -> bool {
    match event {
        Event::ItemStarted(view) | Event::ItemUpdated(view) | Event::ItemCompleted(view) => {
            matches!(view.kind, ViewKind::Command { .. } | ViewKind::FileChange { .. } | ViewKind::Mcp { .. })
        }
        Event::OutputDelta { .. } | Event::ApprovalAsked { .. } | Event::ApprovalDone { .. } => true,
        Event::Warning { .. } | Event::Hint { .. } | Event::Retrying { .. } => true,
        _ => false,
    }
}

fn web_search(show: &protocol::Raw) -> ViewKind {
    let value = show.value();
    let text = |key: &str| value.get(key).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
    let action = value.get("action").cloned().unwrap_or_default();
    let part = |key: &str| action.get(key).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
    let query = match part("type").as_str() {
        "open_page" => part("url"),
        "find_in_page" => format!("'{}' in {}", part("pattern"), part("url")),
        _ => part("query"),
    };
    ViewKind::WebSearch { id: text("id"), query, action: protocol::Raw::of(&action) }
}
