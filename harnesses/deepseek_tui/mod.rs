//! `deepseek-tui`: how deepseek-tui 0.8.41, the first generation of CodeWhale, speaks: its tools of which most are found by search, its
//! turn metadata, its diffs and guards. Told by a description of its requests; never compared with the running original.
//!
//! Left out, being bound to the product or not described closely enough: github_*, automation_*, pr_attempt_*, task_*, rlm_*, handle_read,
//! recall_archive, remember, note, notify, finance, image_ocr, pandoc_convert, web_search, web.run, diagnostics, run_tests, project_map,
//! validate_data, review, fim_edit, revert_turn, git_log, git_show, git_blame, js_execution, agent_eval, agent_close, tool_agent; of the
//! prompt the sections on them; the working-set summary of `<turn_meta>`; the headers. Parameters of exec_shell_wait, exec_shell_interact,
//! exec_shell_cancel, checklist_add, load_skill and retrieve_tool_result, and results that the reference does not give, are ours.
mod agents;
mod answer;
mod args;
mod compact;
mod cut;
mod diff;
mod discover;
mod guard;
mod lists;
mod patch;
mod paths;
mod prompt;
mod read;
mod record;
mod say;
mod search;
mod session;
mod shell;
mod tools;
mod unified_patch;
mod wire_name;
mod write;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Call, CallForm, Change, Content, Done, Entry, Expect, Item, Millis, New, Notice, Opening, Outcome,
    Part, Reply, Settings, Tune, Want, World,
};
use serde_json::json;

use self::answer::{Said, Step};
use self::args::Args;
use self::record::Record;
use self::tools::{Access, Spec};
use crate::history::Voice;
use crate::in_text::{self, Heard};
use crate::{AnswerOrder, Compaction, Context, End, Flow, Harness, Moment, Next, Order, Reading, outside};

pub(crate) struct DeepseekTui;

/// Ours: the original ends a turn with such a reply.
/// What the program says by itself, in a message of the user's.
const EVENT: &str = "<runtime_event ";

impl Harness for DeepseekTui {
    fn id(&self) -> &'static str {
        "deepseek-tui"
    }

    fn wants(&self, _cx: &Context, moment: Moment) -> Vec<Want> {
        match moment {
            Moment::Opening => vec![Want::Date, Want::Home, Want::System, Want::Shell],
            Moment::Turn => vec![Want::Date],
            Moment::Step => Vec::new(),
        }
    }

    fn open(&self, cx: &Context) -> Opening {
        prompt::open(cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        say::say(self, cx, new)
    }

    fn tune(&self, cx: &Context) -> Tune {
        prompt::tune(cx)
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        let calls: Vec<Call> = reply.calls().cloned().collect();
        if !calls.is_empty() {
            return Reading::Calls { order: order(cx, &calls), calls, repaired: 0 };
        }
        let text = reply.text();
        match in_text::hear(cx, &text, &self.tools(cx), |name| tools::known(name).map(Spec::schema).unwrap_or_default())
        {
            Heard::Text => {}
            Heard::Calls(calls) => {
                let repaired = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                return Reading::Calls { order: order(cx, &calls), calls, repaired };
            }
            Heard::GaveUp(why) => return Reading::Stop(End::GaveUp(why)),
            Heard::Ask(text) => {
                let say = Content::Parts(vec![Part::Text(event("kind=\"notice\"", &text))]);
                return Reading::Again { drop_reply: false, say: vec![Entry::User(say)], keep: true, tune: None };
            }
        }
        Reading::Stop(End::Done)
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        let name = wire_name::decode(&call.name);
        if outside::is(cx, &name) {
            return from_outside(&Call { name: name.into_owned(), ..call.clone() }, did);
        }
        let Some(spec) = tools::meant(cx, &call.name) else {
            return rejected(Said::error(match tools::known(&call.name) {
                Some(spec) if tools::is_planning(cx.settings) => {
                    format!(
                        "Tool '{}' is not available: plan mode is on, and nothing is changed or run in it.",
                        spec.name
                    )
                }
                Some(spec) => format!("Tool '{}' is not available: this agent does not have it.", spec.name),
                None => tools::unknown(cx, &call.name),
            }));
        };
        if did.is_empty()
            && let Some(said) = guard::blocked(cx, call, spec)
        {
            return rejected(said);
        }
        let args = match args::parse(spec, &call.args) {
            Ok(args) => args,
            Err(text) => return rejected(guard::warned(cx, spec, Said::error(text))),
        };
        let step = match run(cx, call, spec, &args, cut::without_storing(did)) {
            Step::Tell(said) => cut::fitted(cx, said, did),
            step => step,
        };
        match step {
            Step::Do(actions) => Next::Do(actions),
            Step::Tell(said) => Next::Answer(guard::warned(cx, spec, said).answer()),
        }
    }

    fn cut_short(&self, _cx: &Context, call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        let name = tools::known(&call.name).map_or(call.name.as_str(), |spec| spec.name);
        Said::error(answer::stopped(name)).answer()
    }

    fn after(&self, cx: &Context, step: &[Item]) -> Flow {
        guard::over(cx, step).map_or(Flow::Step, |why| Flow::End(End::GaveUp(why)))
    }

    /// A turn is over when its sub-agents have reported.
    fn waits_for_tasks(&self, cx: &Context) -> bool {
        Record::of(cx).agents.iter().any(|agent| !agent.reported)
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        (self.open(cx), compact::beginning(self, cx, summary))
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let (name, args, said) = match (&done.action, &done.outcome) {
            (
                Action::World(World::Run(run)),
                Outcome::Ran { task: None, .. } | Outcome::Refused(_) | Outcome::Failed(_),
            ) => ("exec_shell", json!({"command": run.script}), shell::told(done, false)),
            (Action::World(World::Change(changes)), Outcome::Changed(_)) => match changes.as_slice() {
                [Change { path, to: None, new: New::Whole { text, .. }, expect: Expect::Absent }] => {
                    let shown = paths::shown(cx, path);
                    let said = format!("{}Created {shown} ({} bytes)", diff::unified(&shown, "", text), text.len());
                    ("write_file", json!({"path": shown, "content": text}), Said::ok(said))
                }
                _ => return None,
            },
            _ => return None,
        };
        let (name, args) = (name.to_owned(), args.to_string());
        Some((Call { id: call.id.clone(), namespace: None, name, args, form: CallForm::Function }, said.answer()))
    }
}

impl Voice for DeepseekTui {
    fn prompt(&self, cx: &Context, parts: &[Part]) -> Content {
        // What the program says has no date of its own.
        let of_program = parts.first().and_then(Part::as_text).is_some_and(|text| text.starts_with(EVENT));
        if of_program { Content::Parts(parts.to_vec()) } else { say::prompted(cx, parts) }
    }

    fn notice(&self, cx: &Context, notice: &Notice) -> Option<String> {
        Some(match notice {
            Notice::HookContext { event: hook, text } => event(&format!("kind=\"hook\" hook=\"{hook}\""), text),
            Notice::TaskEnded { task, exit, output, .. } => {
                let record = Record::of(cx);
                let shell = record.shells.iter().find(|shell| shell.task == *task)?;
                let code = exit.code().map_or_else(|| "none".to_owned(), |code| code.to_string());
                let about = format!("kind=\"background_task\" task_id=\"{}\" exit_code=\"{code}\"", shell.name);
                event(&about, cut::shell(output).trim())
            }
            Notice::AgentReported { id, text } => {
                let record = Record::of(cx);
                let name =
                    record.agents.iter().find(|agent| agent.id == *id).map_or("agent", |agent| agent.name.as_str());
                let about = format!("kind=\"subagent\" agent_id=\"{id}\" name=\"{name}\" status=\"completed\"");
                event(&about, text.trim())
            }
            _ => return None,
        })
    }

    fn changed(&self, cx: &Context, settings: &Settings) -> Option<String> {
        let text = prompt::changed(settings);
        (prompt::changed(cx.settings) == text).then(|| event("kind=\"settings\"", &text))
    }

    fn tools(&self, cx: &Context) -> Vec<&'static str> {
        tools::callable(cx).map(|spec| spec.name).collect()
    }

    fn knows(&self, cx: &Context, call: &Call) -> bool {
        outside::is(cx, &wire_name::decode(&call.name))
            || tools::known(&call.name).is_some_and(|spec| args::parse(spec, &call.args).is_ok())
    }

    fn echo(&self, _cx: &Context, call: &Call) -> Call {
        let name = tools::known(&call.name).map_or_else(|| call.name.clone(), |spec| wire_name::encode(spec.name));
        Call { name, ..call.clone() }
    }
}

/// One call's program.
fn run(cx: &Context, call: &Call, spec: &Spec, args: &Args, did: &[Done]) -> Step {
    match spec.name {
        "agent_open" => agents::open(args, did),
        "apply_patch" => patch::step(cx, args, did),
        "checklist_add" | "checklist_list" | "checklist_update" | "checklist_write" | "todo_write" => {
            lists::checklist(cx, spec.name, args, did)
        }
        "code_execution" => shell::python(args, did),
        "edit_file" => write::edit(cx, args, did),
        "exec_shell" => shell::exec(cx, args, did),
        "exec_shell_cancel" => shell::cancel(cx, args, did),
        "exec_shell_interact" => shell::interact(cx, args, did),
        "exec_shell_wait" => shell::wait(cx, args, did),
        "fetch_url" => session::fetch(args, did),
        "file_search" => search::by_name(cx, args, did),
        "git_diff" => shell::git_diff(cx, args, did),
        "git_status" => shell::git_status(cx, args, did),
        "grep_files" => search::grep(cx, args, did),
        "list_dir" => search::list(cx, args, did),
        "load_skill" => session::skill(cx, args, did),
        "multi_tool_use.parallel" => session::parallel(cx, call, args, did),
        "read_file" => read::step(cx, args, did),
        "request_user_input" => session::ask(args, did),
        "retrieve_tool_result" => session::retrieve(cx, args),
        "tool_search_tool_bm25" => discover::by_words(cx, args),
        "tool_search_tool_regex" => discover::by_pattern(cx, args),
        "update_plan" => lists::plan(args, did),
        "write_file" => write::write(cx, args, did),
        name => Step::error(tools::unknown(cx, name)),
    }
}

fn from_outside(call: &Call, did: &[Done]) -> Next {
    match did.first() {
        None => match outside::action(call) {
            Some(action) => Next::Do(vec![action]),
            None => rejected(Said::error(args::invalid(&call.name, "the arguments are no JSON object"))),
        },
        Some(done) => Next::Answer(outside::answer(&done.outcome).unwrap_or_else(|| {
            match answer::trouble(&call.name, "make the call", &done.outcome) {
                Step::Tell(said) => said.answer(),
                Step::Do(_) => Answer::failed(answer::stopped(&call.name)),
            }
        })),
    }
}

fn rejected(said: Said) -> Next {
    let note = said.text.lines().next().unwrap_or_default().to_owned();
    Next::Reject { answer: said.answer(), note }
}

/// Reading calls side by side run together, all others one by one.
fn order(cx: &Context, calls: &[Call]) -> Order {
    let reads = |call: &Call| tools::meant(cx, &call.name).is_some_and(|spec| spec.access == Access::Reads);
    let chunks = calls.chunk_by(|a, b| reads(a) && reads(b));
    let groups = chunks.map(|group| group.iter().map(|call| call.id.clone()).collect()).collect();
    Order { groups, answers: AnswerOrder::Calls }
}

fn event(about: &str, text: &str) -> String {
    format!("{EVENT}{about}>\n{text}\n</runtime_event>")
}
