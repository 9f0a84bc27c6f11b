//! `view_image`: the model looks at an image file.
use protocol::{Action, Answer, Call, Content, Done, Failure, Outcome, Part, ReadAs, World};
use serde::Deserialize;

use super::{answers, paths::absolute};
use crate::{Context, Next, args};

/// Longest side, in pixels, that a model is shown.
const MAX_SIDE: u32 = 2048;

#[derive(Debug, Deserialize)]
struct ImageArgs {
    path: String,
}

/// How closely the model is to look. Codex asks for the original pixels where its own models take them.
pub(super) fn detail(cx: &Context) -> &'static str {
    if cx.model.freeform_patch { "original" } else { "high" }
}

pub(super) fn view_image(cx: &Context, call: &Call, did: &[Done]) -> Next {
    let args: ImageArgs = match args::read(&call.args) {
        Ok(args) => args,
        Err(error) => return reject(answers::bad_arguments(&error)),
    };
    let path = absolute(&cx.settings.cwd, &args.path);
    let shown = path.display();
    let Some(done) = did.last() else {
        let what = ReadAs::Image { max_side: Some(MAX_SIDE), max_bytes: None };
        return Next::Do(vec![Action::World(World::Read { path, what })]);
    };
    match &done.outcome {
        Outcome::Media { blob, .. } => {
            let image = Part::Image { blob: blob.clone(), detail: Some(detail(cx).to_owned()) };
            Next::Answer(Answer { content: Content::Parts(vec![image]), error: None, after: Vec::new() })
        }
        Outcome::Failed(Failure::Io { errno, message, .. }) => {
            reject(format!("unable to locate image at `{shown}`: {message} (os error {errno})"))
        }
        Outcome::Failed(Failure::NotAFile { .. }) => reject(format!("image path `{shown}` is not a file")),
        Outcome::Failed(Failure::TooLarge { bytes, limit, .. }) => {
            reject(format!("unable to process image: {bytes} bytes are more than {limit}"))
        }
        Outcome::Refused(refusal) => {
            reject(format!("unable to read image at `{shown}`: {}", answers::refusal(refusal)))
        }
        _ => reject("unable to process image: invalid or unsupported image data".to_owned()),
    }
}

fn reject(text: String) -> Next {
    Next::Reject { answer: Answer::plain(text.clone()), note: text }
}
