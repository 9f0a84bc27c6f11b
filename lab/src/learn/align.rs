//! From what an original said in two rooms to a text with places in it. What is the same in both is the program's own; what differs is of
//! the room. Where the difference is one that we know (folder, home, date, model) a place stands for it; what remains is cut, and
//! told. So nothing of one machine, folder or day is frozen into the words.
use harnesses::made::{escaped, spelled};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::{regions, room::Room};

/// What is known of a room, and the place that stands for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    values: Vec<(String, &'static str)>,
    pub(super) token: String,
}

/// No place of a harness: what stands there is the program's own, and goes.
pub(super) const INSTALLED: &str = "installed";

/// Characters of a line that only says what a value is.
const LABEL: usize = 80;

/// What our own harness does by itself around a prompt, and how it wants sections that stand inside of one.
#[derive(Debug, Clone, Default)]
pub(super) struct Ours {
    /// Our opening without the prompt, in the first room. A fact that it tells needs not be told twice.
    pub(super) around: String,
    /// The place of a listing of the folder, of AGENTS.md, and of what is said of the sandbox.
    pub(super) listing: Option<&'static str>,
    pub(super) docs: Option<&'static str>,
    pub(super) sandbox: Option<&'static str>,
}

/// A text with places, and what was cut from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Aligned {
    pub(super) text: String,
    pub(super) cut: Vec<String>,
}

/// A line of the text to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    /// Our harness says it itself.
    Ours,
    /// It differs in a way that is not known.
    Unknown,
    /// Of the listing, of AGENTS.md.
    Listing,
    Docs,
}

impl Known {
    /// Of a room, on this day, on this machine. `installed`: the folder of the program. The longest value is looked for first.
    pub(super) fn of(room: &Room, model: &str, today: &str, release: &str, installed: Option<&str>) -> Known {
        let mut values = vec![
            (room.cwd.display().to_string(), "cwd"),
            (room.home.display().to_string(), "home"),
            (room.branch.clone(), "branch"),
            (spelled(today, true), "date_long"),
            (spelled(today, false), "date_short"),
            (today.to_owned(), "date"),
            (release.to_owned(), "os_release"),
            (model.to_owned(), "model"),
            (installed.unwrap_or_default().to_owned(), INSTALLED),
        ];
        values.retain(|(value, _)| value.len() > 2);
        values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        Known { values, token: room.token.clone() }
    }

    /// The text with places for what is known.
    fn placed(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        'text: while let Some(first) = rest.chars().next() {
            for (value, place) in &self.values {
                if let Some(after) = rest.strip_prefix(value.as_str())
                    && bounded(out.chars().next_back(), value, after)
                {
                    out.push_str(&format!("\u{e001}{place}\u{e002}"));
                    rest = after;
                    continue 'text;
                }
            }
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
        escaped(&out).replace('\u{e001}', "{{").replace('\u{e002}', "}}")
    }

    /// Whether our side tells what this line tells: the places in it, and hardly more. A long line has something to say beside them.
    fn told_by(&self, line: &str, around: &str) -> bool {
        let places: usize = self.places(line).map(|place| place.len() + 4).sum();
        if line.chars().count() > places + LABEL {
            return false;
        }
        let mut places = self.places(line).peekable();
        places.peek().is_some()
            && places.all(|place| {
                let dates = place.starts_with("date");
                let same = |other: &str| other == place || (dates && other.starts_with("date"));
                self.values.iter().any(|(value, other)| same(other) && around.contains(value.as_str()))
            })
    }

    fn places<'t>(&self, line: &'t str) -> impl Iterator<Item = &'static str> + use<'t, '_> {
        self.values.iter().map(|(_, place)| *place).filter(move |place| line.contains(&format!("{{{{{place}}}}}")))
    }
}

/// A name is not part of a longer one. Paths may go on.
fn bounded(before: Option<char>, value: &str, after: &str) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    value.starts_with('/') || (!word(before) && !word(after.chars().next()))
}

/// Both texts as one. `known`: of either room, in the same order.
pub(super) fn align(texts: [&str; 2], known: &[Known; 2], ours: &Ours) -> Aligned {
    let [left, right] = [0, 1].map(|n| known[n].placed(&systems(texts[n])));
    let (left, right): (Vec<&str>, Vec<&str>) = (left.split('\n').collect(), right.split('\n').collect());
    let mut lines: Vec<Line> = Vec::new();
    let keep = |text: &&str| {
        let said = known[0].told_by(text, &ours.around);
        Line { text: (*text).to_owned(), fate: if said { Fate::Ours } else { Fate::Keep } }
    };
    for op in capture_diff_slices(Algorithm::Myers, &left, &right) {
        match op {
            DiffOp::Equal { old_index, len, .. } => lines.extend(left[old_index..old_index + len].iter().map(keep)),
            _ => {
                let (old, new) = (&left[op.old_range()], &right[op.new_range()]);
                let fate = fate_of(old, new, known, ours);
                lines.extend(old.iter().map(|text| Line { text: (*text).to_owned(), fate }));
                // Something that only the other room had leaves no line of its own to mark.
                if old.is_empty() {
                    lines.push(Line { text: new.join("\n"), fate });
                }
            }
        }
    }
    regions::resolve(lines, ours)
}

fn fate_of(old: &[&str], new: &[&str], known: &[Known; 2], ours: &Ours) -> Fate {
    let all = || old.iter().chain(new);
    let instruction = |known: &Known| format!("Instruction {} of this project.", known.token);
    if ours.docs.is_some() && all().any(|line| known.iter().any(|known| line.contains(&instruction(known)))) {
        return Fate::Docs;
    }
    let named = |line: &str| known.iter().any(|known| line.contains(&format!("-{}.txt", known.token)));
    if ours.listing.is_some() && all().any(|line| named(line)) {
        return Fate::Listing;
    }
    Fate::Unknown
}

/// The operating system is the same in both rooms, so it is known by what stands before it.
fn systems(text: &str) -> String {
    const LABELS: [&str; 5] = ["platform: ", "os: ", "operating system: ", "running on **", "running on "];
    let lines = text.split('\n').map(|line| {
        let lower = line.to_lowercase();
        for label in LABELS {
            for (name, place) in
                [("linux", "platform"), ("darwin", "platform"), ("Linux", "os"), ("Darwin", "os"), ("macOS", "os")]
            {
                let Some(at) = lower.find(&format!("{label}{}", name.to_lowercase())) else { continue };
                let at = at + label.len();
                // Lower case of other letters may be of another length; then it is left as it is.
                if line.get(at..).is_some_and(|rest| rest.starts_with(name)) {
                    return format!("{}\u{e001}{place}\u{e002}{}", &line[..at], &line[at + name.len()..]);
                }
            }
        }
        line.to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
