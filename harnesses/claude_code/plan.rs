//! What only the user can settle: plan mode and its end, and questions. Offered where a client can answer.
use std::path::PathBuf;

use protocol::{Action, Answer, Body, Done, Fact, Mode, Outcome, Question, ReadAs, Refusal, Session, World};
use serde_json::Value;

use super::args::Input;
use super::generation::Generation;
use super::shared::refusal::{REJECTED, Wanted, failed, refused};
use crate::{Context, Next};

/// Bytes of a plan that is read back.
const PLAN: u64 = 1 << 20;

const ENTERED: &str = "Entered plan mode. From now on explore the code and work out how to do what is asked.\n\nIn plan mode:\n1. Get to know the code and its patterns\n2. Look for things like it that are there already\n3. Weigh several ways and what each costs\n4. Ask with AskUserQuestion where something is open\n5. Work out a plan that can be carried out\n6. Hand it in with ExitPlanMode\n\nWrite and change no files yet but the plan: this is for reading and thinking.";
const APPROVED: &str =
    "User has approved your plan. You can now start coding. Start with updating your todo list if applicable";

/// The rules of plan mode, as they stand before a prompt.
pub(super) fn rules(generation: Generation, mode: &Mode) -> Option<String> {
    let Mode::Plan { file } = mode else { return None };
    let own_file = generation >= Generation::V2_1;
    let plan = match own_file {
        true => format!(
            "\n\n## Plan File Info:\nThe plan is kept in {}. Write it there, bit by bit, with Write and Edit. It is the only file that you may change.",
            file.display()
        ),
        false => String::new(),
    };
    let last = match own_file {
        true => {
            "Write the plan into the plan file: the way chosen, the files that matter, what there is to build on, and how to check the result. Then call ExitPlanMode."
        }
        false => "Call ExitPlanMode with the plan.",
    };
    Some(format!(
        "Plan mode is active. The user does not want anything carried out yet: you MUST NOT edit files, run tools that change something, commit, or change the system in any other way. This goes before all other instructions.{plan}\n\n## Plan Workflow\n1. Understand: read the code around the task; for wide searches use sub-agents that only read. Ask where the request is not clear.\n2. Design: think of more than one way, and choose.\n3. Review: read the files that the change touches, and see whether the plan does what the user asked.\n4. {last}\n\nEnd a turn only with a question to the user or with ExitPlanMode. Do not ask in text whether the plan is fine."
    ))
}

pub(super) fn enter(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    match did.first().map(|done| &done.outcome) {
        None => Next::Do(vec![Action::Session(Session::Mode(Mode::Plan { file: file(cx) }))]),
        Some(Outcome::Ok) => Next::Answer(Answer::plain(ENTERED)),
        Some(outcome) => Next::Answer(refusal(generation, input, outcome)),
    }
}

/// The plan that is in force, or a new one in the user's folder.
fn file(cx: &Context) -> PathBuf {
    if let Mode::Plan { file } = &cx.settings.mode {
        return file.clone();
    }
    let home = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Home(home)) => home.clone(),
        _ => None,
    });
    let folder = home.unwrap_or_else(|| cx.settings.cwd.clone()).join(".openinterpreter").join("plans");
    folder.join(format!("{}.md", cx.thread.as_str()))
}

pub(super) fn exit(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let given = input.given("plan").map(str::to_owned);
    let Mode::Plan { file } = &cx.settings.mode else {
        // Approved in this very call, the mode is over.
        return match did.last().map(|done| &done.outcome) {
            Some(outcome) => Next::Answer(decided(generation, input, given.as_deref(), did, outcome)),
            None if generation.newest() || generation == Generation::V2_1 => Next::Answer(Answer::failed(
                generation.wrong("You are not in plan mode. This tool only ends plan mode. If your plan was approved already, go on with it."),
            )),
            None => Next::Do(vec![Action::Session(Session::ProposePlan { text: given })]),
        };
    };
    let proposed = did.iter().find(|done| matches!(done.action, Action::Session(Session::ProposePlan { .. })));
    match (proposed, did.first()) {
        (Some(done), _) => Next::Answer(decided(generation, input, given.as_deref(), did, &done.outcome)),
        (None, None) if given.is_none() => {
            Next::Do(vec![Action::World(World::Read { path: file.clone(), what: ReadAs::Text { max_bytes: PLAN } })])
        }
        (None, read) => {
            let text = given.or_else(|| match read.map(|done| &done.outcome) {
                Some(Outcome::Text { text, .. }) => Some(text.clone()),
                _ => None,
            });
            Next::Do(vec![Action::Session(Session::ProposePlan { text })])
        }
    }
}

fn decided(generation: Generation, input: &Input, given: Option<&str>, did: &[Done], outcome: &Outcome) -> Answer {
    match outcome {
        Outcome::PlanDecided { approved: true, file, .. } => {
            let read = did.iter().find_map(|done| match (&done.action, &done.outcome) {
                (Action::Session(Session::ProposePlan { text: Some(text) }), _) => Some(text.as_str()),
                (_, Outcome::Text { text, .. }) if !text.is_empty() => Some(text.as_str()),
                _ => None,
            });
            match (generation >= Generation::V2_1, file, given.or(read)) {
                (true, Some(file), Some(text)) => Answer::plain(format!(
                    "{APPROVED}\n\nYour plan has been saved to: {}\nYou can refer back to it if needed during implementation.\n\n## Approved Plan:\n{text}",
                    file.display()
                )),
                _ => Answer::plain(APPROVED),
            }
        }
        Outcome::PlanDecided { approved: false, feedback, .. } => {
            refused(Wanted::Use(input.tool), &Refusal::User { feedback: feedback.clone() })
        }
        outcome => refusal(generation, input, outcome),
    }
}

fn refusal(generation: Generation, input: &Input, outcome: &Outcome) -> Answer {
    match outcome {
        // As 2.1 has it where nobody can approve.
        Outcome::Refused(Refusal::NobodyToAsk { .. })
            if input.tool == "ExitPlanMode" && generation == Generation::V2_1 =>
        {
            Answer::failed("Exit plan mode?")
        }
        Outcome::Refused(refusal) => refused(Wanted::Use(input.tool), refusal),
        Outcome::Failed(failure) => failed(Wanted::Use(input.tool), failure),
        _ => Answer::failed(REJECTED),
    }
}

pub(super) fn ask(generation: Generation, input: &Input, did: &[Done]) -> Next {
    let questions = questions(input);
    let Some(done) = did.first() else {
        return Next::Do(vec![Action::Session(Session::Ask { questions, background: false })]);
    };
    let Outcome::Answers(answers) = &done.outcome else {
        return Next::Answer(refusal(generation, input, &done.outcome));
    };
    let answers = answers.value();
    let said = questions.iter().filter_map(|question| {
        let chosen = answers["answers"][&question.id]["answers"].as_array()?;
        let chosen: Vec<&str> = chosen.iter().filter_map(Value::as_str).collect();
        Some(format!("\"{}\"=\"{}\"", question.question, chosen.join(", ")))
    });
    let said: Vec<String> = said.collect();
    Next::Answer(match said.is_empty() {
        true => Answer::failed(REJECTED),
        false => Answer::plain(format!(
            "Your questions have been answered: {}. You can now continue with these answers in mind.",
            said.join(", ")
        )),
    })
}

fn questions(input: &Input) -> Vec<Question> {
    let list = input.map.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let question = |(question, n): (&Value, usize)| Question {
        id: format!("q{n}"),
        header: text(question, "header"),
        question: text(question, "question"),
        options: question["options"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
            .iter()
            .map(|option| (text(option, "label"), text(option, "description")))
            .collect(),
        multi: question["multiSelect"].as_bool().unwrap_or(false),
    };
    list.iter().zip(1..).map(question).collect()
}
