//! The read tool: a file's text as it is, or an image. At most 2,000 lines and 50 KB at once, with a note on how to go on. Lines are
//! the pieces between line feeds, so a text that ends with one has an empty last line.
use protocol::{Action, Answer, Done, Failure, Outcome, Part, ReadAs, World};

use super::{absolute, bash::size, refusal};
use crate::claude_code_bare::refusal::node_error;
use crate::{Context, Next};

pub(super) const LINES: usize = 2_000;
/// Bytes of UTF-8, line feeds included.
pub(super) const BYTES: usize = 50 * 1024;
/// Bytes of the largest file that is looked at.
const MAX_FILE: u64 = 64 << 20;
const IMAGES: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];
/// What stands above the images of answers, where results cannot hold any.
const ATTACHED: &str = "Attached image(s) from tool result:";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) path: String,
    /// From 1.
    pub(super) offset: Option<f64>,
    pub(super) limit: Option<f64>,
}

pub(super) fn next(cx: &Context, asked: &Asked, did: &[Done]) -> Next {
    let path = absolute(cx, &asked.path);
    let read = |what: ReadAs| Next::Do(vec![Action::World(World::Read { path: path.clone(), what })]);
    let failed = |text: String| Next::Answer(Answer::failed(text));
    let Some(done) = did.last() else {
        let extension = path.extension().map(|ext| ext.to_string_lossy().to_lowercase()).unwrap_or_default();
        return match IMAGES.contains(&extension.as_str()) {
            true => read(ReadAs::Image { max_side: Some(2_000), max_bytes: None }),
            false => read(ReadAs::Text { max_bytes: MAX_FILE }),
        };
    };
    match &done.outcome {
        Outcome::Text { text, form, .. } => {
            let text = if form.bom { format!("\u{feff}{text}") } else { text.clone() };
            match shown(&text, asked) {
                // What the original says of every empty result.
                Ok(text) if text.is_empty() => Next::Answer(Answer::plain("(see attached image)")),
                Ok(text) => Next::Answer(Answer::plain(text)),
                Err(text) => failed(text),
            }
        }
        Outcome::Media { blob, .. } => {
            let text = format!("Read image file [{}]", blob.mime);
            Next::Answer(match cx.model.images && cx.caps.images {
                true => Answer {
                    after: vec![Part::text(ATTACHED), Part::Image { blob: blob.clone(), detail: None }],
                    ..Answer::plain(text)
                },
                false => Answer::plain(format!(
                    "{text}\n[Current model does not support images. The image will be omitted from this request.]\n(tool image omitted: model does not support images)"
                )),
            })
        }
        // An image by name only.
        Outcome::Failed(Failure::BadImage { .. }) if did.len() == 1 => read(ReadAs::Text { max_bytes: MAX_FILE }),
        Outcome::Failed(Failure::Io { errno, message, .. }) => {
            failed(format!("{}, access '{}'", node_error(*errno, message), path.display()))
        }
        other => Next::Answer(refusal::told(other)),
    }
}

fn shown(text: &str, asked: &Asked) -> Result<String, String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let total = lines.len();
    let start = asked.offset.map_or(0.0, |offset| (offset - 1.0).max(0.0));
    if start >= total as f64 {
        let offset = asked.offset.unwrap_or(1.0);
        return Err(format!("Offset {offset} is beyond end of file ({total} lines total)"));
    }
    let end = asked.limit.map_or(total as f64, |limit| (start + limit).clamp(0.0, total as f64));
    // A broken number of lines is what JavaScript makes of one: rounded down.
    let (from, to) = (start as usize, (end as usize).max(start as usize));
    let wanted = &lines[from..to];
    let (mut count, mut bytes, mut by_bytes) = (0, 0, false);
    for line in wanted.iter().take(LINES) {
        bytes += line.len() + usize::from(count > 0);
        if bytes > BYTES {
            by_bytes = true;
            break;
        }
        count += 1;
    }
    let first = from + 1;
    if by_bytes && count == 0 {
        let long = size(wanted.first().map_or(0, |line| line.len()));
        return Ok(format!(
            "[Line {first} is {long}, exceeds 50.0KB limit. Use bash: sed -n '{first}p' {} | head -c 51200]",
            asked.path
        ));
    }
    let part = wanted[..count].join("\n");
    let last = from + count;
    if by_bytes || count < wanted.len() {
        let limit = if by_bytes { " (50.0KB limit)" } else { "" };
        return Ok(format!(
            "{part}\n\n[Showing lines {first}-{last} of {total}{limit}. Use offset={} to continue.]",
            last + 1
        ));
    }
    if to < total && asked.limit.is_some() {
        return Ok(format!("{part}\n\n[{} more lines in file. Use offset={} to continue.]", total - to, to + 1));
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_part_of_any_file_is_shown(text in "([a-zé]{0,9}\n){0,20}", offset in proptest::option::of(-3.0f64..30.0), limit in proptest::option::of(-3.0f64..30.0)) {
            let asked = Asked { path: "a".into(), offset, limit };
            if let Ok(shown) = shown(&text, &asked) {
                prop_assert!(shown.len() <= text.len() + 120);
            }
        }
    }
}
