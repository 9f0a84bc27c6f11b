//! `read_file`: a short file as it is, a long one in pages with numbers; the text of a PDF through pdftotext.
use protocol::{Action, Done, Exit, Outcome, ReadAs, Run, World};

use super::answer::{Step, trouble};
use super::args::Args;
use super::{paths, shell};
use crate::Context;

const TOOL: &str = "read_file";
/// Up to so many lines and bytes a file comes whole where no range is asked for; a page has no more of either.
const LINES: usize = 200;
const MAX_LINES: usize = 500;
const BYTES: usize = 16 * 1024;
/// Bytes of a file that is looked into.
const MAX_FILE: u64 = 64 << 20;

pub(super) fn step(cx: &Context, args: &Args, did: &[Done]) -> Step {
    let written = args.text("path");
    let path = match paths::resolve(cx, written) {
        Ok(path) => path,
        Err(text) => return Step::error(text),
    };
    if written.to_lowercase().ends_with(".pdf") {
        return pdf(&path.display().to_string(), written, args, did);
    }
    match did.first().map(|done| &done.outcome) {
        None => Step::one(Action::World(World::Read { path, what: ReadAs::Text { max_bytes: MAX_FILE } })),
        Some(Outcome::Text { text, form, .. }) if form.utf8 => page(written, text, args),
        Some(Outcome::Text { .. }) => Step::error(format!("Failed to read {written}: it is no UTF-8 text")),
        Some(other) => trouble(TOOL, &format!("read {written}"), other),
    }
}

fn page(path: &str, text: &str, args: &Args) -> Step {
    let lines: Vec<&str> = text.lines().collect();
    let ranged = args.0.contains_key("start_line") || args.0.contains_key("max_lines");
    if !ranged && lines.len() <= LINES && text.len() <= BYTES {
        return Step::ok(text);
    }
    let total = lines.len();
    let first = args.count("start_line").unwrap_or(1).max(1);
    let most = args.count("max_lines").unwrap_or(LINES).clamp(1, MAX_LINES);
    if first > total {
        return Step::ok(format!(
            "<file path=\"{path}\" total_lines=\"{total}\" shown_lines=\"none\" truncated=\"false\">\n[NO CONTENT] start_line={first} is beyond the end of the file ({total} lines).\n</file>"
        ));
    }
    let (mut shown, mut last) = (String::new(), first - 1);
    for line in lines.iter().skip(first - 1).take(most) {
        let numbered = format!("{:>6}│ {line}\n", last + 1);
        if shown.len() + numbered.len() > BYTES && last >= first {
            break;
        }
        // A line that is too long for a page is shown in part.
        let end = protocol::floor_char(&numbered, BYTES);
        shown.push_str(&numbered[..end]);
        if end < numbered.len() {
            shown.push_str("…\n");
        }
        last += 1;
    }
    let next = last + 1;
    Step::ok(if last < total {
        format!(
            "<file path=\"{path}\" total_lines=\"{total}\" shown_lines=\"{first}-{last}\" truncated=\"true\" next_start_line=\"{next}\">\n{shown}[TRUNCATED] Showing lines {first}-{last} of {total}. To continue, call read_file with path=\"{path}\" start_line={next} max_lines={most}\n</file>"
        )
    } else {
        format!(
            "<file path=\"{path}\" total_lines=\"{total}\" shown_lines=\"{first}-{last}\" truncated=\"false\">\n{shown}</file>"
        )
    })
}

fn pdf(path: &str, written: &str, args: &Args, did: &[Done]) -> Step {
    let (first, last) = match pages(args.text("pages")) {
        Some(range) => range,
        None => return Step::invalid(TOOL, "pages must be a number or a range such as 1-5"),
    };
    let range = match (first, last) {
        (Some(first), Some(last)) => format!(" -f {first} -l {last}"),
        _ => String::new(),
    };
    match did.first().map(|done| &done.outcome) {
        None => {
            let script = format!("pdftotext -layout{range} {} -", shell::quoted(path));
            Step::one(Action::World(World::Run(Run { timeout: Some(60_000), keep: 4 << 20, ..Run::new(script) })))
        }
        Some(Outcome::Ran { output, exit: Exit::Code(0), .. }) => page(written, &output.text, args),
        Some(Outcome::Ran { exit: Exit::Code(127), .. }) => {
            Step::error(format!("Tool '{TOOL}' is not available: pdftotext, which reads PDF files, is not installed."))
        }
        Some(Outcome::Ran { output, .. }) => Step::error(format!("Failed to read {written}: {}", output.text.trim())),
        Some(other) => trouble(TOOL, &format!("read {written}"), other),
    }
}

/// None: no range.
fn pages(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    if text.trim().is_empty() {
        return Some((None, None));
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((Some(first.trim().parse().ok()?), Some(last.trim().parse().ok()?)))
}
