//! What is cut from a prompt, and how much of it: a block in tags, a fenced listing, a section under a heading. A line that goes takes
//! with it what would make no sense without.
use super::align::{Aligned, Fate, INSTALLED, Line, Ours};

/// Lines to their text: what our harness says itself goes, what is inside of its own prompt becomes its place, the rest is cut and told.
pub(super) fn resolve(mut lines: Vec<Line>, ours: &Ours) -> Aligned {
    let mut out = Aligned::default();
    for (fate, place) in [(Fate::Listing, ours.listing), (Fate::Docs, ours.docs)] {
        if let Some(place) = place {
            fold(&mut lines, fate, place);
        }
    }
    if let Some(place) = ours.sandbox {
        lines.iter_mut().for_each(|line| line.text = without_sandbox(&line.text, place));
    }
    let mut gone = vec![false; lines.len()];
    for at in 0..lines.len() {
        let line = &lines[at];
        let (range, told) = match line.fate {
            _ if gone[at] => continue,
            Fate::Ours => (run(&lines, at), false),
            _ if owned(&line.text) => (section(&lines, at, usize::MAX), true),
            // Skills of the program's own; those of the user are told by the harness.
            _ if line.text.contains("builtin://") => (section(&lines, at, 1), true),
            Fate::Unknown => (block(&lines, at), true),
            // A count of the first moment; a harness that counts says it in its messages.
            _ if line.text.starts_with("<total_tokens>") => (at..at + 1, false),
            _ if line.text.trim() == "<available_skills>" => (skills(&lines, at), true),
            _ => continue,
        };
        let texts: Vec<&str> = lines[range.clone()].iter().map(|line| line.text.as_str()).collect();
        if told {
            out.cut.push(title(&texts));
        }
        gone[range].fill(true);
    }
    let kept = lines.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(line, _)| line.text.as_str());
    out.text = tidy(&kept.collect::<Vec<_>>().join("\n"));
    out
}

/// The line names files of the program's own: in its home, or where it is installed.
fn owned(text: &str) -> bool {
    text.contains("{{home}}") || text.contains(&format!("{{{{{INSTALLED}}}}}"))
}

type Range = std::ops::Range<usize>;

/// All lines of a kind become one place. In a fence, everything in the fence.
fn fold(lines: &mut Vec<Line>, fate: Fate, place: &str) {
    let Some(first) = lines.iter().position(|line| line.fate == fate) else { return };
    let Some(last) = lines.iter().rposition(|line| line.fate == fate) else { return };
    let fence = |line: &Line| line.text.trim_start().starts_with("```");
    let above = lines[..first].iter().filter(|line| fence(line)).count() % 2 == 1;
    // The line that names the file goes with its text.
    let named = |line: &Line| line.text.contains("{{cwd}}") && line.text.contains("AGENTS.md");
    let first = first - lines[..first].iter().rev().take_while(|line| named(line)).count();
    let range = match (lines[..first].iter().rposition(fence), lines[last..].iter().position(fence)) {
        (Some(open), Some(close)) if above => open + 1..last + close,
        _ => first..last + 1,
    };
    lines.splice(range, [Line { text: place.to_owned(), fate: Fate::Keep }]);
}

/// The sentence that says that there is no sandbox, up to the end of the line, is the harness's to say.
fn without_sandbox(line: &str, place: &str) -> String {
    let Some(at) = line.find("not a sandbox") else { return line.to_owned() };
    let start = line[..at].rfind(". ").map_or(0, |dot| dot + 2);
    format!("{}{place}", &line[..start])
}

/// A block that our harness has too: from here to the last line of this paragraph that it says, with the tags around and the line
/// that announces it.
fn run(lines: &[Line], at: usize) -> Range {
    let (mut start, mut end) = (at, at + 1);
    for n in (at..lines.len()).take_while(|n| !lines[*n].text.trim().is_empty()) {
        if lines[n].fate == Fate::Ours {
            let tags = tags(lines, n).unwrap_or(n..n + 1);
            (start, end) = (start.min(tags.start), end.max(tags.end));
        }
    }
    if start > 0 && lines[start - 1].text.trim_end().ends_with(':') {
        start -= 1;
    }
    start..end
}

/// A list of skills in tags, with the lines that announce it.
fn skills(lines: &[Line], at: usize) -> Range {
    let tags = tags(lines, at).unwrap_or(at..at + 1);
    let plain = |line: &&Line| line.fate == Fate::Keep && !line.text.trim().is_empty() && !line.text.starts_with('<');
    tags.start - lines[..tags.start].iter().rev().take_while(plain).count()..tags.end
}

/// `<env>` to `</env>`, where the line stands between: tags alone on their lines.
fn tags(lines: &[Line], at: usize) -> Option<Range> {
    let opening = |text: &str| {
        let name = text.trim().strip_prefix('<')?.strip_suffix('>')?;
        name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).then(|| name.to_owned())
    };
    // From here on, the first tag that is not closed before this line.
    (0..=at).rev().find_map(|start| {
        let name = opening(&lines[start].text)?;
        let close = format!("</{name}>");
        let end = (start..lines.len()).find(|n| lines[*n].text.trim() == close)?;
        (end >= at).then_some(start..end + 1)
    })
}

/// The section that the line stands in: under its heading, to the next one of the same level, or between two rules. Without either:
/// its paragraph. `most`: how deep its heading may be.
fn section(lines: &[Line], at: usize, most: usize) -> Range {
    let levels = levels(lines);
    let heading = (0..=at).rev().find_map(|n| Some((n, levels[n].filter(|level| *level <= most)?)));
    let Some((start, own)) = heading else { return paragraph(lines, at) };
    let ends = |n: &usize| levels[*n].is_some_and(|level| level <= own);
    let end = (at + 1..lines.len()).find(ends).unwrap_or(lines.len());
    start..end
}

/// By line: how deep the heading is, 0 for a rule. In a fence there are none.
fn levels(lines: &[Line]) -> Vec<Option<usize>> {
    let mut fenced = false;
    let level = |line: &Line| {
        let text = line.text.as_str();
        fenced ^= text.trim_start().starts_with("```");
        let marks = text.bytes().take_while(|byte| *byte == b'#').count();
        match text {
            _ if fenced => None,
            "---" => Some(0),
            _ if marks > 0 && text[marks..].starts_with(' ') => Some(marks),
            _ => None,
        }
    };
    lines.iter().map(level).collect()
}

fn paragraph(lines: &[Line], at: usize) -> Range {
    let full = |line: &&Line| !line.text.trim().is_empty();
    let (above, below) = (lines[..at].iter().rev(), lines[at..].iter());
    at - above.take_while(full).count()..at + below.take_while(full).count().max(1)
}

/// The line itself, or the block that it belongs to: in tags, or from `--- Context from: FILE ---` to its end.
fn block(lines: &[Line], at: usize) -> Range {
    let framed = |line: &Line| line.text.starts_with("--- ") && line.text.ends_with(" ---");
    let ends = |line: &Line| framed(line) && line.text.starts_with("--- End of ");
    match lines[at..].iter().position(ends) {
        Some(end) if framed(&lines[at]) && !ends(&lines[at]) => at..at + end + 1,
        _ => tags(lines, at).unwrap_or(at..at + 1),
    }
}

fn title(lines: &[&str]) -> String {
    let first =
        lines.iter().map(|line| line.trim()).find(|line| !line.is_empty() && *line != "---").unwrap_or_default();
    let shown: String = first.chars().take(60).collect();
    let characters: usize = lines.iter().map(|line| line.chars().count() + 1).sum();
    let more = if first.chars().count() > 60 { "..." } else { "" };
    format!("`{shown}{more}` ({characters} characters)")
}

/// No more than one blank line where something went.
fn tidy(text: &str) -> String {
    let mut text = text.to_owned();
    while text.contains("\n\n\n\n") {
        text = text.replace("\n\n\n\n", "\n\n");
    }
    text.trim_end().to_owned()
}
