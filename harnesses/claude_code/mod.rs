//! `claude-code` and its generations: how Claude Code speaks with all of its local tools. `claude-code` is the newest version's
//! classic profile (2.1.332: plain roles, reminders in messages), `@current` its profile for newer models, `@1.0`, `@2.0`, `@2.1`
//! the versions 1.0.60, 2.0.30 and 2.1.20. Measured side by side by `tests/wire/claude-code`, the older ones by what was recorded.
//!
//! Left out on purpose, being bound to the product or its server: CronCreate, CronDelete, CronList, EnterWorktree, ExitWorktree,
//! ListAgents, Monitor, ReportFindings, ScheduleWakeup, SendMessage, SlashCommand, ToolSearch (and deferred tools), WebSearch,
//! Workflow; the agents `claude` and `statusline-setup`; the memory section, the billing header and attribution lines.
mod agent;
mod args;
mod background;
mod bash;
mod changed;
mod clock;
mod context;
mod generation;
mod notebooks;
mod older;
mod plan;
mod prompt;
mod remind;
mod say;
mod search;
mod skill;
mod todo;
mod tools;
mod web;
mod write;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Call, CallForm, Content, Done, Entry, Exit, Item, Millis, Notice, Opening, Outcome, Part, Reply,
    Session, TaskOp, Tune, Want, World,
};
use serde_json::json;

use self::args::Input;
use self::generation::Generation;
use self::shared::args::{Bash, Edit, Read};
use self::shared::say::Voice;
use self::shared::{compact, edit, outside, profile, read, refusal, reply, resay, shell};
use crate::claude_code_bare as shared;
use crate::{Compaction, Context, Harness, Moment, Next, Reading};

pub(crate) struct ClaudeCode {
    generation: Generation,
}

pub(crate) static CLASSIC: ClaudeCode = ClaudeCode { generation: Generation::Classic };
pub(crate) static V1_0: ClaudeCode = ClaudeCode { generation: Generation::V1_0 };
pub(crate) static V2_0: ClaudeCode = ClaudeCode { generation: Generation::V2_0 };
pub(crate) static V2_1: ClaudeCode = ClaudeCode { generation: Generation::V2_1 };
pub(crate) static ZCODE: ClaudeCode = ClaudeCode { generation: Generation::Zcode };
pub(crate) static CURRENT: ClaudeCode = ClaudeCode { generation: Generation::Current };

impl Harness for ClaudeCode {
    fn id(&self) -> &'static str {
        self.generation.id()
    }

    fn wants(&self, cx: &Context, moment: Moment) -> Vec<Want> {
        match moment {
            Moment::Opening => vec![Want::Date, Want::Home, Want::System, Want::Shell, Want::Git],
            Moment::Turn => Vec::new(),
            Moment::Step => {
                let watched = changed::watched(cx);
                if watched.is_empty() { Vec::new() } else { vec![Want::Changed(watched)] }
            }
        }
    }

    fn open(&self, cx: &Context) -> Opening {
        prompt::open(self.generation, cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        say::say(self, self.generation, cx, new)
    }

    fn tune(&self, cx: &Context) -> Tune {
        let mut tune = profile::tune(cx);
        if !self.generation.newest() {
            // The older versions ask for no thinking of their own accord.
            if cx.settings.effort.is_none() {
                tune.reasoning = Default::default();
                tune.extras.retain(|(_, field, _)| field != "context_management");
                tune.headers.retain(|(_, name, _)| name != "anthropic-beta");
            }
            tune.temperature = (self.generation == Generation::V1_0 && cx.settings.effort.is_none()).then_some(1.0);
        }
        tune
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        reply::read(self, cx, reply)
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if outside::is(cx, &call.name) {
            return outside::next(call, did);
        }
        match args::parse(self.generation, cx, call) {
            Ok(input) => self.carry_out(cx, &input, did),
            Err(text) => {
                let bare = text.trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
                let note = bare.lines().take(2).collect::<Vec<_>>().join(" ");
                Next::Reject { answer: Answer::failed(text), note }
            }
        }
    }

    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        Answer::failed(refusal::REJECTED)
    }

    fn waits_for_tasks(&self, _cx: &Context) -> bool {
        self.generation >= Generation::V2_1
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        let mut parts = context::parts(self.generation, cx);
        if let Some(list) = todo::List::of(cx).carried_on() {
            parts.push(Part::Text(shared::prompt::reminder(&list)));
        }
        let mut entries = compact::beginning(parts, summary);
        if self.generation == Generation::Current {
            entries.push(Entry::Instruct(protocol::Speaker::System, Content::Plain(context::behind(cx))));
        }
        (self.open(cx), entries)
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        self.plan_as_todos(cx, call, did).or_else(|| resay::call(self, cx, call, did))
    }
}

impl ClaudeCode {
    fn carry_out(&self, cx: &Context, input: &Input, did: &[Done]) -> Next {
        let generation = self.generation;
        let newest = generation.newest();
        match input.tool {
            "Agent" | "Task" => agent::next(generation, input, did),
            "AskUserQuestion" => plan::ask(generation, input, did),
            "Bash" => bash::next(generation, cx, &Bash::of(&input.map), did),
            "BashOutput" => background::bash_output(generation, cx, input, did),
            "Edit" if newest => edit::next(cx, &Edit::of(&input.map), generation.reads_first(), did),
            "Edit" => older::edit::next(generation, cx, &older::edit::of(&input.map), did),
            "EnterPlanMode" => plan::enter(generation, cx, input, did),
            "ExitPlanMode" => plan::exit(generation, cx, input, did),
            "Glob" => search::glob(generation, cx, input, did),
            "Grep" => search::grep(generation, cx, input, did),
            "KillShell" | "TaskStop" => background::stop(generation, cx, input, did),
            "LS" => older::list::next(cx, input, did),
            "MultiEdit" => older::multi_edit::next(generation, cx, input, did),
            "NotebookEdit" => notebooks::edit(generation, cx, input, did),
            "NotebookRead" => notebooks::read(generation, cx, input, did),
            "Read" => self.read_file(cx, &Read::of(&input.map), did),
            "Skill" => skill::next(generation, cx, input, did),
            "TaskOutput" => background::task_output(generation, cx, input, did),
            "WebFetch" => web::next(generation, cx, input, did),
            "Write" => write::next(generation, cx, input, did),
            _ => todo::next(cx, input, did),
        }
    }

    /// The output of a task is read as a file, which it is not here.
    fn read_file(&self, cx: &Context, read: &Read, did: &[Done]) -> Next {
        let generation = self.generation;
        let Some(task) = background::of_file(generation, cx, std::path::Path::new(&read.path)) else {
            return match generation.newest() {
                true => read::next(cx, read, did),
                false => older::read::next(generation, cx, read, did),
            };
        };
        match background::told(cx, task, did) {
            Some(told) if told.exit == Exit::Running && did.is_empty() => {
                Next::Do(vec![Action::World(World::Task(TaskOp::Output { task, wait: 0 }))])
            }
            Some(told) => {
                let lines: Vec<&str> = told.output.split('\n').collect();
                let skip = read.offset.unwrap_or(1).saturating_sub(1) as usize;
                let limit = read.limit.map_or(usize::MAX, |limit| limit as usize);
                let shown: Vec<&str> = lines.into_iter().skip(skip).take(limit).collect();
                let first = skip as u64 + 1;
                Next::Answer(Answer::plain(match generation.newest() {
                    true => read::numbered(&shown, first),
                    false => older::snippet::numbered(&shown, first),
                }))
            }
            None => Next::Answer(Answer::failed(generation.wrong("File does not exist."))),
        }
    }

    /// A plan of another dialect as a list of todos.
    fn plan_as_todos(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [Done { action: Action::Session(Session::Plan { steps, .. }), outcome: Outcome::Ok, .. }] = did else {
            return None;
        };
        if tools::listing(self.generation, cx) != tools::Listing::Todos {
            return None;
        }
        let todos = steps.iter().zip(1..).map(|(step, n)| match self.generation {
            Generation::V1_0 => {
                json!({"content": step.step, "status": step.status, "priority": "medium", "id": n.to_string()})
            }
            _ => json!({"content": step.step, "status": step.status, "activeForm": step.step}),
        });
        let args = json!({"todos": todos.collect::<Vec<_>>()}).to_string();
        let call =
            Call { id: call.id.clone(), namespace: None, name: "TodoWrite".into(), args, form: CallForm::Function };
        match self.next(cx, &call, did) {
            Next::Answer(answer) => Some((call, answer)),
            _ => None,
        }
    }
}

impl Voice for ClaudeCode {
    fn context(&self, cx: &Context) -> Vec<Part> {
        context::parts(self.generation, cx)
    }

    fn notice(&self, cx: &Context, notice: &Notice) -> Option<String> {
        remind::notice(self.generation, cx, notice)
    }

    fn tools(&self, cx: &Context) -> Vec<&'static str> {
        tools::offered(self.generation, cx)
    }

    fn knows(&self, cx: &Context, call: &Call) -> bool {
        args::parse(self.generation, cx, call).is_ok()
    }

    fn looks(&self, cx: &Context, call: &Call) -> bool {
        match args::parse(self.generation, cx, call) {
            Err(_) => true,
            Ok(input) => match input.tool {
                "Bash" => {
                    let bash = Bash::of(&input.map);
                    !bash.background && shell::only_looks(&bash.command)
                }
                "Agent" | "Task" | "BashOutput" | "Glob" | "Grep" | "LS" | "NotebookRead" | "Read" | "TaskGet"
                | "TaskList" | "WebFetch" => true,
                _ => false,
            },
        }
    }

    fn echo(&self, cx: &Context, call: &Call) -> Call {
        args::echo(self.generation, cx, call)
    }
}
