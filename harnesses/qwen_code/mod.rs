//! `qwen-code`: how Qwen Code 0.24.4 speaks, headless and (where a user can be asked) in its terminal interface. Measured side by side
//! by `tests/wire/qwen-code`.
//!
//! Left out on purpose, being bound to the product: goals (get_goal, update_goal, propose_goal), list_agents and send_message, artifact,
//! record_artifact, display_image and zoom_image, cron_*, loop_wakeup, monitor, enter_worktree and exit_worktree, report_findings,
//! read_mcp_resource, managed memory, forked agents and the agents statusline-setup, review-agent, claude-code, codex; of the prompt the sections on
//! memory, output language, help and feedback. Unlike the original, edit and shell tools are offered without `--yolo`: the sandbox holds.
mod args;
mod background;
mod collate;
mod compact;
mod cut;
mod deferred;
mod edit;
mod js_regex;
mod matching;
mod notebook;
mod outside;
mod pdf;
mod profile;
mod prompt;
mod read;
mod reading;
mod record;
mod refusal;
mod reminders;
mod say;
mod schema;
mod search;
mod session;
mod shell;
mod tools;
mod write;

#[cfg(test)]
mod tests;

use protocol::{
    Action, Answer, Body, Call, CallForm, Done, Entry, Expect, Item, Millis, New, Opening, Outcome, Reply, Stop, Tune,
    Want, World,
};
use serde_json::{Map, Value, json};

use self::cut::plain;
use self::record::Record;
use crate::in_text::{self, InText};
use crate::{Compaction, Context, Harness, Moment, Next, Reading};

pub(crate) struct QwenCode;

const CUT_CALL: &str = "Your previous response was truncated due to max_tokens limit, so this call is incomplete. It was rejected and nothing was run or written. Do NOT send the same large content again: write a skeleton with write_file first, then add the rest in parts with edit.";

impl Harness for QwenCode {
    fn id(&self) -> &'static str {
        "qwen-code"
    }

    fn wants(&self, cx: &Context, moment: Moment) -> Vec<Want> {
        let listing =
            |depth, limit| Want::Listing { path: cx.settings.cwd.clone(), depth, limit, respect_ignore: false };
        match moment {
            Moment::Opening => vec![
                Want::Date,
                Want::Home,
                Want::System,
                Want::Git,
                listing(1, reminders::TOP),
                listing(reminders::DEPTH, reminders::BELOW),
            ],
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

    fn view(&self, cx: &Context) -> Option<Vec<Entry>> {
        say::view(cx)
    }

    fn tune(&self, cx: &Context) -> Tune {
        profile::tune(cx)
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        reading::read(cx, reply)
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if outside::is(cx, &call.name) {
            return outside::next(call, did);
        }
        let name = args::canonical(&call.name);
        if was_cut(cx, call, name) {
            return reject(name, CUT_CALL.to_owned());
        }
        let given = args::object(&call.args);
        if !tools::callable(cx).iter().any(|known| known == name) {
            return reject(name, tools::unknown(cx, &call.name));
        }
        if name != "tool_call" {
            return run(cx, call, name, given, did);
        }
        match deferred::inner(cx, &given) {
            Ok((name, given)) => run(cx, call, &name, given, did),
            Err(text) => reject(name, text),
        }
    }

    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        refusal::unrecorded()
    }

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        (self.open(cx), compact::beginning(cx, summary))
    }

    /// The original's headless mode ends when its background agents have reported.
    fn waits_for_tasks(&self, cx: &Context) -> bool {
        Record::of(cx).agents.iter().any(|agent| !agent.ended)
    }

    /// Of what was read the text is not kept, so reads are told as text.
    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        let [done] = did else { return None };
        let (name, args) = match (&done.action, &done.outcome) {
            (Action::World(World::Run(run)), Outcome::Ran { task: None, .. }) => {
                ("run_shell_command", json!({"command": run.script}))
            }
            (Action::World(World::Change(changes)), Outcome::Changed(_)) => match changes.as_slice() {
                [protocol::Change { path, to: None, new: New::Whole { text, .. }, expect: Expect::Absent }] => {
                    ("write_file", json!({"file_path": path, "content": text}))
                }
                _ => return None,
            },
            _ => return None,
        };
        let call = Call {
            id: call.id.clone(),
            namespace: None,
            name: name.to_owned(),
            args: args.to_string(),
            form: CallForm::Function,
        };
        if name == "write_file" {
            let path = args["file_path"].as_str().unwrap_or_default();
            return Some((call, plain(name, format!("Successfully created and wrote to new file: {path}."))));
        }
        match shell::next(cx, &call.id, &args::object(&call.args), did) {
            Next::Answer(answer) => Some((call, answer)),
            // A long output that has no file.
            _ => None,
        }
    }
}

fn run(cx: &Context, call: &Call, name: &str, given: Map<String, Value>, did: &[Done]) -> Next {
    let given = match args::checked(name, given) {
        Ok(given) => given,
        Err(text) => return reject(name, text),
    };
    match name {
        "agent" => session::agent(&call.id, &given, did),
        "ask_user_question" => session::ask(&given, did),
        "edit" => edit::next(cx, &given, did),
        "enter_plan_mode" => session::enter_plan_mode(cx, did),
        "exit_plan_mode" => session::exit_plan_mode(cx, &given, did),
        "glob" => search::glob(cx, &given, did),
        "grep_search" => search::grep(cx, &given, did),
        "list_directory" => search::list(&given, did),
        "notebook_edit" => notebook::next(cx, &given, did),
        "read_file" => read::next(cx, &given, did),
        "run_shell_command" => shell::next(cx, &call.id, &given, did),
        "skill" => session::skill(cx, &given, did),
        "task_stop" => session::task_stop(cx, &given, did),
        "todo_write" => session::todo(&given, did),
        "tool_search" => deferred::search(cx, &given, did),
        "web_fetch" => deferred::fetch(&given, did),
        "write_file" => write::next(cx, &given, did),
        _ => reject(name, tools::unknown(cx, name)),
    }
}

fn reject(tool: &str, text: String) -> Next {
    let note = text.lines().next().unwrap_or_default().to_owned();
    Next::Reject { answer: plain(tool, text), note }
}

/// The call stands at the end of a reply that hit the output limit: what it was to write is not all there.
fn was_cut(cx: &Context, call: &Call, name: &str) -> bool {
    let newest = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Reply { reply, .. } => Some(reply.stop == Stop::Length),
        _ => None,
    });
    newest == Some(true) && (args::is_cut(&call.args) || matches!(name, "write_file" | "edit"))
}

/// Calls in the text, in any of the known forms.
fn in_text_of(text: &str, offered: &[String]) -> InText {
    let offered: Vec<&str> = offered.iter().map(String::as_str).collect();
    in_text::find(text, &offered)
}
