//! Tools that act on the session: skill, agent, task_stop, ask_user_question, plan mode and todo_write. Measured by
//! `session-tools.json`; what needs a user was seen in the original's terminal interface.
use std::path::PathBuf;

use protocol::{
    Action, CallId, Change, Done, Exit, Expect, Mode, New, Outcome, PlanStatus, PlanStep, Question, Refusal, Session,
    TaskOp, World,
};
use serde_json::{Map, Value, json};

use super::cut::{self, GENERAL, plain};
use super::record::Record;
use super::{args, prompt, refusal};
use crate::{Context, Next};

/// Kinds of sub-agents; the others of the original stand for its own products.
pub(super) const AGENTS: [&str; 2] = ["general-purpose", "Explore"];

pub(super) fn skill(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "skill";
    let (name, given) = (args::text(args, "skill").trim(), args::text(args, "args"));
    if !cx.skills.iter().any(|skill| skill.name == name) {
        let names: Vec<&str> = cx.skills.iter().map(|skill| skill.name.as_str()).collect();
        let text = format!("Skill \"{name}\" not found. Available skills: {}", names.join(", "));
        return Next::Answer(plain(TOOL, text));
    }
    match did.first().map(|done| &done.outcome) {
        None => Next::Do(vec![Action::Session(Session::Skill { name: name.to_owned(), args: given.to_owned() })]),
        Some(Outcome::Skill { dir, body, .. }) => {
            let mut body = body.replace("$ARGUMENTS", given);
            if !given.is_empty() && !body.contains(given) {
                body.push_str(&format!("\n\nArguments: {given}"));
            }
            let text = format!(
                "Base directory for this skill: {}\nImportant: ALWAYS resolve absolute paths from this base directory when working with skills.\n\n{body}",
                dir.display()
            );
            cut::answer(TOOL, text, GENERAL, did)
        }
        Some(other) => trouble(TOOL, other),
    }
}

pub(super) fn agent(call: &CallId, args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "agent";
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let kind = args.get("subagent_type").and_then(Value::as_str).unwrap_or(AGENTS[0]);
    let Some(kind) = AGENTS.into_iter().find(|known| known.eq_ignore_ascii_case(kind)) else {
        return say(format!("Subagent \"{kind}\" not found. Available subagents: {}", AGENTS.join(", ")));
    };
    if args.contains_key("isolation") {
        return say("Parameter \"isolation\": worktrees are not available here. Leave it out.".to_owned());
    }
    if let Some(key) = ["fork_turns", "fork_tools", "fork_profile"].into_iter().find(|key| args.contains_key(*key)) {
        return say(format!(
            "Parameter \"{key}\": an agent does not see this conversation here. Leave it out, and say in prompt all that the agent must know."
        ));
    }
    let background = args::flag(args, "run_in_background").unwrap_or(true);
    let Some(first) = did.first() else {
        let mut prompt = args::text(args, "prompt").to_owned();
        if let Some(folder) = args.get("working_dir").and_then(Value::as_str) {
            prompt.push_str(&format!("\n\nWork in the folder {folder}."));
        }
        return Next::Do(vec![Action::Session(Session::Spawn {
            kind: kind.to_owned(),
            description: args::text(args, "description").to_owned(),
            prompt,
            model: None,
            background,
            resume: None,
        })]);
    };
    match &first.outcome {
        Outcome::Agent { .. } if background => say(format!(
            "Background agent launched successfully.\ntask_id: {kind}-{call} (internal ID, not for the user; task_stop with it ends the agent.)\nThe agent works on its own now. Its result comes as a <task-notification> with this task_id in a later turn, not in this one: until then it is neither lost nor to be started again.\nDo not do its work a second time. Go on with what does not overlap with it, or tell the user in a sentence what was started and end your answer. Do not guess what it will find."
        )),
        Outcome::Agent { text, .. } => cut::answer(TOOL, text.clone(), GENERAL, did),
        other => trouble(TOOL, other),
    }
}

pub(super) fn task_stop(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "task_stop";
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let id = args::text(args, "task_id");
    let record = Record::of(cx);
    let shell = record.shells.iter().find(|shell| shell.id == id);
    let agent = record.agents.iter().find(|agent| agent.id == id);
    let (kind, ended, action) = match (shell, agent) {
        (Some(shell), _) => ("shell", shell.ended, Action::World(World::Task(TaskOp::Stop { task: shell.task }))),
        (None, Some(agent)) => {
            let stop = Session::Agent { id: agent.thread.clone(), op: "stop".into(), message: None };
            ("agent", agent.ended, Action::Session(stop))
        }
        (None, None) => return say(format!("Task not found: {id}")),
    };
    if ended {
        return say(format!("{kind} is completed: {id}"));
    }
    match did.first().map(|done| &done.outcome) {
        None => Next::Do(vec![action]),
        Some(Outcome::Ran { exit: Exit::Code(_), .. }) => say(format!("{kind} is completed: {id}")),
        Some(Outcome::Failed(_)) => say(format!("Task not found: {id}")),
        Some(Outcome::Refused(refusal)) => Next::Answer(refusal::refused(TOOL, refusal)),
        Some(_) => say(format!("{kind} is cancelled: {id}")),
    }
}

pub(super) fn ask(args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "ask_user_question";
    let asked = args.get("questions").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let Some(first) = did.first() else {
        let questions = asked.iter().enumerate().map(|(n, question)| Question {
            id: n.to_string(),
            header: text(question, "header"),
            question: text(question, "question"),
            options: question["options"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|option| (text(option, "label"), text(option, "description")))
                .collect(),
            multi: question["multiSelect"].as_bool().unwrap_or(false),
        });
        return Next::Do(vec![Action::Session(Session::Ask { questions: questions.collect(), background: false })]);
    };
    match &first.outcome {
        Outcome::Answers(raw) => {
            let answers = raw.value();
            let said = asked.iter().enumerate().filter_map(|(n, question)| {
                let chosen: Vec<&str> =
                    answers["answers"][n.to_string()]["answers"].as_array()?.iter().filter_map(Value::as_str).collect();
                Some(format!("**{}**: {}", text(question, "header"), chosen.join(", ")))
            });
            let said: Vec<String> = said.collect();
            Next::Answer(plain(TOOL, format!("User has provided the following answers:\n\n{}", said.join("\n"))))
        }
        Outcome::Refused(Refusal::User { feedback: None }) => {
            Next::Answer(plain(TOOL, "User declined to answer the questions."))
        }
        other => trouble(TOOL, other),
    }
}

pub(super) fn enter_plan_mode(cx: &Context, did: &[Done]) -> Next {
    const TOOL: &str = "enter_plan_mode";
    if let Some(first) = did.first() {
        return match &first.outcome {
            Outcome::Ok => Next::Answer(plain(
                TOOL,
                format!(
                    "Plan mode is on. Explore and plan; nothing is changed until the user approves the plan.\n\n{}",
                    prompt::plan_reminder()
                ),
            )),
            other => trouble(TOOL, other),
        };
    }
    let file = match &cx.settings.mode {
        Mode::Plan { file } => file.clone(),
        Mode::Default => {
            let home = Record::of(cx).home.unwrap_or_else(|| PathBuf::from("/tmp"));
            home.join(format!(".openinterpreter/plans/{}.md", cx.thread))
        }
    };
    Next::Do(vec![Action::Session(Session::Mode(Mode::Plan { file }))])
}

pub(super) fn exit_plan_mode(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "exit_plan_mode";
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let plan = args::text(args, "plan");
    if plan.trim().is_empty() {
        return say("Parameter \"plan\" must be a non-empty string.".to_owned());
    }
    let decided = did.iter().find(|done| matches!(done.action, Action::Session(Session::ProposePlan { .. })));
    let Some(decided) = decided else {
        let propose = Action::Session(Session::ProposePlan { text: Some(plan.to_owned()) });
        // Kept first: the plan's text leaves the conversation once it is approved.
        return Next::Do(match &cx.settings.mode {
            Mode::Plan { file } => {
                let new = New::Whole { text: plan.to_owned(), like: None };
                let change = Change { path: file.clone(), to: None, new, expect: Expect::Anything };
                vec![Action::World(World::Change(vec![change])), propose]
            }
            Mode::Default => vec![propose],
        });
    };
    match &decided.outcome {
        Outcome::PlanDecided { approved: true, .. } => {
            say("User approved. You can now start coding. Start with updating your todo list if applicable.".to_owned())
        }
        Outcome::PlanDecided { approved: false, feedback, .. } => {
            let mut text = "Plan execution was not approved. Remaining in plan mode.".to_owned();
            if let Some(feedback) = feedback {
                text.push_str(&format!(" The user says: {feedback}"));
            }
            say(text)
        }
        other => trouble(TOOL, other),
    }
}

/// Offered where the user switched it on.
pub(super) fn todo(args: &Map<String, Value>, did: &[Done]) -> Next {
    const TOOL: &str = "todo_write";
    let todos = args.get("todos").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(first) = did.first() else {
        let step = |todo: &Value| PlanStep {
            step: todo["content"].as_str().unwrap_or_default().to_owned(),
            status: match todo["status"].as_str() {
                Some("in_progress") => PlanStatus::InProgress,
                Some("completed") => PlanStatus::Completed,
                _ => PlanStatus::Pending,
            },
        };
        let steps = todos.iter().map(step).collect();
        return Next::Do(vec![Action::Session(Session::Plan { steps, explanation: None })]);
    };
    match &first.outcome {
        Outcome::Refused(_) | Outcome::Failed(_) | Outcome::Interrupted { .. } => trouble(TOOL, &first.outcome),
        _ if todos.is_empty() => Next::Answer(plain(
            TOOL,
            prompt::under(
                "Todo list has been cleared.",
                "The todo list is empty now. Do not speak of it to the user; go on with the work, and write a new list where it helps.",
            ),
        )),
        _ => Next::Answer(plain(
            TOOL,
            prompt::under(
                "Todos have been modified successfully. Keep the list up to date as you go on with the tasks in it.",
                &format!(
                    "The todo list has changed. Do not speak of this to the user. It reads now:\n\n{}. Go on with the work.",
                    json!(todos)
                ),
            ),
        )),
    }
}

pub(super) fn trouble(tool: &str, outcome: &Outcome) -> Next {
    Next::Answer(match outcome {
        Outcome::Refused(refusal) => refusal::refused(tool, refusal),
        Outcome::Failed(failure) => plain(tool, refusal::failure(failure)),
        _ => refusal::unrecorded(),
    })
}
