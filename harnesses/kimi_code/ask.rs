//! The AskUserQuestion tool. Where nobody approves, nobody answers either, and the call is refused as in the original's auto mode.
use protocol::{Action, ApprovalPolicy, Done, Outcome, Question, Refusal, Session};
use serde_json::{Map, Value, json};

use super::args::Args;
use super::envelope::Said;
use super::refusal;
use crate::{Context, Next};

const AUTO: &str = "AskUserQuestion is disabled while auto permission mode is active; decide and continue.";

pub(super) fn next(cx: &Context, args: &Args, did: &[Done]) -> Next {
    let said = |said: Said| Next::Answer(said.answer("AskUserQuestion", did));
    if cx.settings.approval == ApprovalPolicy::Never {
        return said(Said::failed(AUTO));
    }
    let questions = questions(args);
    match did.first().map(|done| &done.outcome) {
        None => {
            let background = args.flag("background") == Some(true);
            Next::Do(vec![Action::Session(Session::Ask { questions, background })])
        }
        Some(Outcome::Answers(answers)) => said(Said::ok(answered(&questions, &answers.value()).to_string())),
        Some(Outcome::Refused(Refusal::NobodyToAsk { .. })) => said(Said::failed(AUTO)),
        Some(Outcome::Refused(Refusal::User { .. } | Refusal::Cancelled)) => said(Said::ok(dismissed().to_string())),
        Some(other) => said(refusal::said("AskUserQuestion", other)),
    }
}

fn dismissed() -> Value {
    json!({"answers": {}, "note": "User dismissed the question without answering."})
}

fn questions(args: &Args) -> Vec<Question> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let list = args.list("questions").unwrap_or_default().iter().enumerate();
    list.map(|(n, question)| Question {
        id: format!("q{n}"),
        header: text(question, "header"),
        question: text(question, "question"),
        options: (question["options"].as_array().into_iter().flatten())
            .map(|option| (text(option, "label"), text(option, "description")))
            .collect(),
        multi: question["multi_select"].as_bool().unwrap_or(false),
    })
    .collect()
}

/// From ids to the texts of the questions; several labels with commas.
fn answered(questions: &[Question], answers: &Value) -> Value {
    let mut map = Map::new();
    for question in questions {
        let chosen: Vec<&str> = (answers["answers"][&question.id]["answers"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        if !chosen.is_empty() {
            map.insert(question.question.clone(), json!(chosen.join(", ")));
        }
    }
    if map.is_empty() { dismissed() } else { json!({ "answers": map }) }
}
