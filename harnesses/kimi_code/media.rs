//! The ReadMediaFile tool: images. Videos and single regions are not shown in this build, and it says so.
use protocol::{Action, Done, Failure, Outcome, Part, ReadAs, World};

use super::args::Args;
use super::envelope::{self, Said};
use super::paths::{self, For};
use super::{links, refusal};
use crate::{Context, Next};

/// Pixels of the longer side.
const SIDE: u32 = 2_000;
const LOOKED_AT: u64 = 1 << 20;

const COORDINATES: &str = "For coordinates, give relative ones first and compute absolute ones from the original size.";
const READ_BACK: &str = "After making or changing images with a command, look at the result before you go on.";

pub(super) fn next(cx: &Context, args: &Args, did: &[Done]) -> Next {
    let path = args.str("path");
    let said = |said: Said| Next::Answer(said.answer("ReadMediaFile", did));
    if path.is_empty() {
        return said(Said::failed("File path cannot be empty."));
    }
    let full = match paths::resolve(cx, path, For::Reading) {
        Ok(full) => full,
        Err(text) => return said(Said::failed(text)),
    };
    let did = match links::followed(cx, "ReadMediaFile", &full, did) {
        Ok(did) => did,
        Err(next) => return *next,
    };
    let whole = args.flag("full_resolution") == Some(true);
    let Some(first) = did.first() else {
        let what = ReadAs::Image { max_side: (!whole).then_some(SIDE), max_bytes: None };
        return Next::Do(vec![Action::World(World::Read { path: full, what })]);
    };
    match &first.outcome {
        Outcome::Media { .. } if args.map("region").is_some() => said(Said::failed(format!(
            "Cannot read region from \"{path}\": this build shows whole images only. Cut the region out with a command and look at the copy."
        ))),
        Outcome::Media { blob, original, shown, stamp } => {
            let mut note = format!("Read image file. Mime type: {}. Size: {} bytes.", blob.mime, stamp.len);
            if let Some((width, height)) = original {
                note.push_str(&format!(" Original dimensions: {width}x{height} pixels."));
            }
            if whole {
                note.push_str(" Shown at native resolution; no downscaling applied.");
            }
            if let (Some(original), Some((width, height))) = (original, shown)
                && *original != (*width, *height)
            {
                note.push_str(&format!(
                    " The attached image was downsampled to {width}x{height} pixels ({}, {} KB) to fit model limits; fine detail may be lost.",
                    blob.mime,
                    blob.len.div_ceil(1_024)
                ));
            }
            let parts = vec![
                Part::Text(format!("<image path=\"{}\">", full.display())),
                Part::Image { blob: blob.clone(), detail: None },
                Part::text("</image>"),
                Part::Text(format!("<system>{note} {COORDINATES} {READ_BACK}</system>")),
            ];
            Next::Answer(envelope::of_parts(parts))
        }
        Outcome::Failed(Failure::BadImage { .. }) => match did.get(1).map(|done| &done.outcome) {
            // Text, then, or something else?
            None => {
                Next::Do(vec![Action::World(World::Read { path: full, what: ReadAs::Text { max_bytes: LOOKED_AT } })])
            }
            Some(Outcome::Text { text, form, .. })
                if form.utf8
                    && !text.contains('\0')
                    && full.extension().is_none_or(|ext| !is_media(&ext.to_string_lossy())) =>
            {
                said(Said::failed(format!("\"{path}\" is a text file. Use Read to read text files.")))
            }
            Some(_) => said(Said::failed(format!(
                "\"{path}\" is not a supported image or video file. Use Read for text files, or Bash or an MCP tool for other binary formats."
            ))),
        },
        Outcome::Failed(Failure::Io { errno: refusal::ENOENT, .. }) => {
            said(Said::failed(format!("Failed to read {path}: read failed: path does not exist")))
        }
        Outcome::Failed(Failure::NotAFile { .. }) => {
            said(Said::failed(format!("Failed to read {path}: read failed: path is a directory")))
        }
        Outcome::Failed(failure) => said(Said::failed(format!("Failed to read {path}: {}", refusal::failure(failure)))),
        other => said(refusal::said("ReadMediaFile", other)),
    }
}

fn is_media(ext: &str) -> bool {
    ["png", "jpg", "jpeg", "gif", "webp", "bmp", "mp4", "mov", "webm", "mkv", "avi"]
        .contains(&ext.to_lowercase().as_str())
}
