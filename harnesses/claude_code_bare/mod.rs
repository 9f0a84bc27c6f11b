//! `claude-code-bare`: how Claude Code 2.1.332 speaks with `--bare`: a system text of two lines, the tools Bash, Edit and Read,
//! reading before editing, and results in its words. Measured side by side by `tests/wire/claude-bare`.
pub(crate) mod args;
pub(crate) mod bash;
pub(crate) mod compact;
pub(crate) mod edit;
mod image;
pub(crate) mod matching;
pub(crate) mod nearby;
pub(crate) mod notebook;
pub(crate) mod outside;
pub(crate) mod profile;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod renamed;
pub(crate) mod reply;
pub(crate) mod resay;
pub(crate) mod say;
pub(crate) mod schema;
pub(crate) mod shell;
mod tools;

#[cfg(test)]
pub(crate) mod tests;

use protocol::{Answer, Call, Done, Entry, Item, Millis, Notice, Opening, Part, Reply, Tune, Want};

use self::{args::Input, say::Voice};
use crate::{Compaction, Context, Harness, Moment, Next, Reading};

pub(crate) struct ClaudeCodeBare;

impl Harness for ClaudeCodeBare {
    fn id(&self) -> &'static str {
        "claude-code-bare"
    }

    fn wants(&self, _cx: &Context, moment: Moment) -> Vec<Want> {
        match moment {
            Moment::Opening => vec![Want::Date, Want::Home],
            Moment::Turn | Moment::Step => Vec::new(),
        }
    }

    fn open(&self, cx: &Context) -> Opening {
        prompt::open(cx)
    }

    fn say(&self, cx: &Context, new: &[Item]) -> Vec<Entry> {
        say::say(self, cx, new)
    }

    fn tune(&self, cx: &Context) -> Tune {
        profile::tune(cx)
    }

    fn read(&self, cx: &Context, reply: &Reply) -> Reading {
        reply::read(self, cx, reply)
    }

    fn next(&self, cx: &Context, call: &Call, did: &[Done]) -> Next {
        if outside::is(cx, &call.name) {
            return outside::next(call, did);
        }
        match args::parse(&call.name, &call.args) {
            Ok(Input::Bash(bash)) => bash::next(cx, &bash, did),
            Ok(Input::Edit(edit)) => edit::next(cx, &edit, profile::reads_first(cx.model), did),
            Ok(Input::Read(read)) => read::next(cx, &read, did),
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

    fn compact(&self, cx: &Context, hint: Option<&str>) -> Compaction {
        compact::ask(cx, hint, self.tune(cx))
    }

    fn compacted(&self, cx: &Context, summary: &str) -> (Opening, Vec<Entry>) {
        (self.open(cx), compact::beginning(prompt::context(cx), summary))
    }

    fn resay(&self, cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
        resay::call(self, cx, call, did)
    }
}

impl Voice for ClaudeCodeBare {
    fn context(&self, cx: &Context) -> Vec<Part> {
        prompt::context(cx)
    }

    fn notice(&self, _cx: &Context, notice: &Notice) -> Option<String> {
        Some(prompt::reminder(&match notice {
            Notice::HookContext { event, text } => prompt::hook(event, text),
            Notice::TaskEnded { task, command, exit, output } => format!(
                "Background command \"{command}\" (task {}) ended with exit code {}. Its last output:\n{}",
                task.0,
                exit.code().unwrap_or(0),
                output.shrunk(4_000).text.trim()
            ),
            Notice::AgentReported { id, text } => format!("Agent {id} reports:\n{text}"),
            _ => return None,
        }))
    }

    fn tools(&self, _cx: &Context) -> Vec<&'static str> {
        args::TOOLS.to_vec()
    }

    fn knows(&self, _cx: &Context, call: &Call) -> bool {
        args::parse(&call.name, &call.args).is_ok()
    }

    fn echo(&self, _cx: &Context, call: &Call) -> Call {
        Call { args: args::echo(&call.name, &call.args), ..call.clone() }
    }

    fn looks(&self, _cx: &Context, call: &Call) -> bool {
        match args::parse(&call.name, &call.args) {
            Ok(Input::Read(_)) | Err(_) => true,
            Ok(Input::Bash(bash)) => shell::only_looks(&bash.command),
            Ok(Input::Edit(_)) => false,
        }
    }
}
