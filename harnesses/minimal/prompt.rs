//! The opening: one system message of a few sentences, and after it only what the user, the project and the sandbox add.
use protocol::{Content, Opening, ReasoningAsk, Speaker, Tune};

use super::{Form, tools};
use crate::Context;
use crate::claude_code_bare::prompt::permissions;

const WITH_TOOLS: &str = "You are a coding agent on the user's computer, in the folder {cwd}. Work with {tools}, one call at a time; every command runs in a new shell that starts in this folder. When the task is done, answer in a few sentences without a call.";
const WITH_BLOCKS: &str = "You are a coding agent on the user's computer, in the folder {cwd}. To run a command, end your message with one block like this and wait for its output:\n\n```bash\nls -la\n```\n\nEvery command runs in a new shell that starts in this folder. When the task is done, answer in a few sentences without such a block.";

pub(super) fn open(cx: &Context) -> Opening {
    let tools = tools::offered(cx);
    Opening { instructions: vec![(Speaker::System, Content::Plain(text(cx)))], tools }
}

fn text(cx: &Context) -> String {
    let own = cx.persona.prompt.as_deref().or(cx.settings.instructions.as_deref()).or(cx.words.prompt.as_deref());
    let mut text = own.map_or_else(|| base(cx), |own| own.trim_end().to_owned());
    let more = [cx.settings.developer_instructions.clone(), permissions(cx.settings)];
    for more in more.into_iter().flatten().filter(|more| !more.trim().is_empty()) {
        text.push_str(&format!("\n\n{}", more.trim_end()));
    }
    for doc in cx.docs {
        text.push_str(&format!("\n\nInstructions from {}:\n{}", doc.path, doc.text.trim_end()));
    }
    if !cx.skills.is_empty() {
        text.push_str("\n\nSkills; if one fits the task, read its file first:");
        for skill in cx.skills {
            text.push_str(&format!("\n- {}: {} ({})", skill.name, skill.description, skill.file));
        }
    }
    text
}

fn base(cx: &Context) -> String {
    let (form, names) = (Form::of(cx), tools::names(cx));
    let tools = match names.as_slice() {
        [] => "the tools".to_owned(),
        [one] => format!("the tool {one}"),
        [most @ .., last] => format!("the tools {} and {last}", most.join(", ")),
    };
    let text = if form == Form::Text { WITH_BLOCKS } else { WITH_TOOLS };
    text.replace("{tools}", &tools).replace("{cwd}", &cx.settings.cwd.display().to_string())
}

/// Nothing that the user did not ask for: small servers refuse fields that they do not know.
pub(super) fn tune(cx: &Context) -> Tune {
    Tune {
        max_output: cx.settings.max_output,
        reasoning: ReasoningAsk { effort: cx.settings.effort.clone(), ..ReasoningAsk::default() },
        schema: cx.settings.output_schema.clone().map(|schema| ("answer".to_owned(), schema)),
        ..Tune::default()
    }
}
