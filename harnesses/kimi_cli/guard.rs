//! The same call again and again: from the third time in a row on the result says so, in growing plainness; the twelfth is the
//! last of the turn.
use protocol::{Answer, Call, Content, Part};

use super::record::Record;

const FIRST: usize = 3;
const SECOND: usize = 5;
const THIRD: usize = 8;
pub(super) const LAST: usize = 12;

/// The answer, with a reminder where it is time for one.
pub(super) fn mark(record: &Record, call: &Call, mut answer: Answer) -> Answer {
    let times = record.repeats(call) + 1;
    let text = match times {
        0..FIRST => return answer,
        FIRST..SECOND => "You have made this very call several times in a row, with the same arguments. Before you make it again, say to yourself what new information it should bring. If there is none, do something else.".to_owned(),
        SECOND..THIRD => format!(
            "The same call was made again and again:\n- tool: {}\n- repeated_times: {times}\n- arguments: {}\nThe result will not change. Choose one: try another way, ask the user, or end with what you have.",
            call.name, call.args
        ),
        _ => format!(
            "The same call was made {times} times in a row. Make no further call. Give your final answer now, as text, with what you know."
        ),
    };
    let reminder = format!("\n\n<system-reminder>\n{text}\n</system-reminder>");
    match &mut answer.content {
        Content::Plain(output) => output.push_str(&reminder),
        Content::Parts(parts) => match parts.iter_mut().rev().find_map(|part| match part {
            Part::Text(output) => Some(output),
            _ => None,
        }) {
            Some(output) => output.push_str(&reminder),
            None => parts.push(Part::Text(reminder)),
        },
    }
    answer
}
