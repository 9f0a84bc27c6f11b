//! `view_image`: the model looks at an image file.
use protocol::{Action, Answer, Call, Content, Done, Failure, Outcome, Part, ReadAs, World};
use serde::Deserialize;

use super::{answers, arguments, paths::absolute};
use crate::{Context, Next};

/// How large an image a model is shown: pixels of the longest side, and squares of [`SQUARE`] pixels.
#[derive(Debug, Clone, Copy)]
struct Room {
    side: u32,
    squares: f64,
}

const SQUARE: f64 = 32.0;
const HIGH: Room = Room { side: 2048, squares: 2_500.0 };
/// For models that take the original pixels.
const ORIGINAL: Room = Room { side: 6000, squares: 10_000.0 };

#[derive(Debug, Deserialize)]
struct ImageArgs {
    path: String,
    /// Not offered. Checked, and without effect, as there.
    detail: Option<String>,
}

/// How closely the model is to look. Codex asks for the original pixels where its own models take them.
pub(super) fn detail(cx: &Context) -> &'static str {
    if cx.model.freeform_patch { "original" } else { "high" }
}

impl Room {
    /// The longest side at which an image of this size has few enough squares. None: it has within `side`.
    fn side_for(self, (width, height): (u32, u32)) -> Option<u32> {
        let (width, height) = (f64::from(width), f64::from(height));
        let by_side = (f64::from(self.side) / width.max(height)).min(1.0);
        if (width * by_side / SQUARE).ceil() * (height * by_side / SQUARE).ceil() <= self.squares {
            return None;
        }
        let scale = (SQUARE * SQUARE * self.squares / (width * height)).sqrt();
        // The tighter side is a whole number of squares, so that neither begins another.
        let whole = |side: f64| (side * scale / SQUARE).floor() / (side * scale / SQUARE);
        let side = width.max(height) * scale * whole(width).min(whole(height));
        Some((side as u32).max(1))
    }
}

pub(super) fn view_image(cx: &Context, call: &Call, did: &[Done]) -> Next {
    let args: ImageArgs = match arguments::read_in_environment(&call.args) {
        Ok(args) => args,
        Err(text) => return reject(text),
    };
    if let Some(unknown) = args.detail.filter(|detail| !matches!(detail.as_str(), "high" | "original")) {
        return reject(format!(
            "view_image.detail only supports `high` or `original`; omit `detail` for default high resized behavior, got `{unknown}`"
        ));
    }
    let path = absolute(&cx.settings.cwd, &args.path);
    let named = path.display();
    let detail = detail(cx);
    let room = if detail == "original" { ORIGINAL } else { HIGH };
    let look = |max_side| {
        let what = ReadAs::Image { max_side: Some(max_side), max_bytes: None };
        Next::Do(vec![Action::World(World::Read { path: path.clone(), what })])
    };
    let Some(done) = did.last() else { return look(room.side) };
    match &done.outcome {
        Outcome::Media { blob, original, .. } => {
            if let ([_], Some(side)) = (did, original.and_then(|size| room.side_for(size))) {
                return look(side);
            }
            let image = Part::Image { blob: blob.clone(), detail: Some(detail.to_owned()) };
            Next::Answer(Answer { content: Content::Parts(vec![image]), error: None, after: Vec::new() })
        }
        Outcome::Failed(Failure::Io { errno, message, .. }) => {
            reject(format!("unable to locate image at `{named}`: {message} (os error {errno})"))
        }
        Outcome::Failed(Failure::NotAFile { .. }) => reject(format!("image path `{named}` is not a file")),
        Outcome::Failed(Failure::TooLarge { bytes, limit, .. }) => {
            reject(format!("unable to process image: {bytes} bytes are more than {limit}"))
        }
        Outcome::Refused(refusal) => {
            reject(format!("unable to read image at `{named}`: {}", answers::refusal(refusal)))
        }
        _ => reject("unable to process image: invalid or unsupported image data".to_owned()),
    }
}

fn reject(text: String) -> Next {
    Next::Reject { answer: Answer::plain(text.clone()), note: text }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn sizes_as_measured() {
        let check = |room: Room, size, expected| assert_eq!(room.side_for(size), expected, "{room:?} {size:?}");
        check(ORIGINAL, (3200, 3200), None);
        check(ORIGINAL, (7000, 40), None);
        check(ORIGINAL, (6000, 6000), Some(3200));
        check(ORIGINAL, (3600, 3600), Some(3200));
        check(ORIGINAL, (3000, 5000), Some(4106));
        check(HIGH, (3000, 5000), None);
        check(HIGH, (3600, 3600), Some(1600));
        check(HIGH, (3000, 2500), Some(1727));
    }
}
