//! `World::Grep`: lines that match, with their surroundings, file by file.
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use protocol::{Failure, Found, Hit, Outcome, Search};

use super::{
    Abandoned, existing, hit, limit,
    walk::{Names, walk},
};

/// Bytes of lines held in all. What needs more is not read by a model.
const MAX_TEXT: usize = 16 << 20;
/// Bytes of one line; longer ones are cut.
const MAX_LINE: usize = 64 << 10;

/// `search.limit` counts matching lines. Binary files are passed over or told of. Errors: a bad pattern, in ripgrep's words.
pub(crate) fn grep(search: &Search, abandoned: &Abandoned) -> Result<Outcome, Failure> {
    let is_file = existing(&search.root)?.is_file();
    let matcher = RegexMatcherBuilder::new()
        .multi_line(true)
        .case_insensitive(search.ignore_case)
        .fixed_strings(search.literal)
        .dot_matches_new_line(search.multiline)
        .line_terminator(if search.multiline { None } else { Some(b'\n') })
        .build(&search.pattern)
        .map_err(|e| Failure::Other(e.to_string()))?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .multi_line(search.multiline)
        .before_context(search.before)
        .after_context(search.after)
        .binary_detection(BinaryDetection::quit(0))
        .build();
    if search.binary && is_file {
        // As in ripgrep: what is asked for by its name is searched to the end.
        searcher.set_binary_detection(BinaryDetection::convert(0));
    }
    let names = Names::of_grep(search)?;
    let mut found = Found::default();
    let mut room = Room { lines: limit(search.limit), bytes: MAX_TEXT, more: false };
    for entry in walk(search, &names)?.filter_map(Result::ok) {
        if abandoned.get() {
            found.more = true;
            break;
        }
        // A root that is a link to a file was asked for by its name.
        let wanted = entry.file_type().is_some_and(|kind| kind.is_file()) || is_file && entry.depth() == 0;
        if !wanted {
            continue;
        }
        if !is_file && !names.take(&search.root, entry.path(), false) {
            continue;
        }
        let mut lines = Lines { lines: Vec::new(), matched: false, binary: None, room: &mut room };
        // What cannot be read is passed over, as ripgrep does after its message.
        let _ = searcher.search_path(&matcher, entry.path(), &mut lines);
        if lines.matched && (search.binary || lines.binary.is_none()) {
            let Lines { lines, binary, .. } = lines;
            found.hits.push(Hit { lines, binary, ..hit(entry.into_path()) });
        }
        if room.more {
            found.more = true;
            break;
        }
    }
    Ok(Outcome::Matches(found))
}

/// What may still be collected.
struct Room {
    lines: usize,
    bytes: usize,
    more: bool,
}

struct Lines<'a> {
    lines: Vec<(u64, String, bool)>,
    matched: bool,
    /// Where, about, the first NUL byte is.
    binary: Option<u64>,
    room: &'a mut Room,
}

impl Lines<'_> {
    /// `number` of the first of the lines in `bytes`.
    fn add(&mut self, number: Option<u64>, bytes: &[u8], context: bool) -> bool {
        let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|b| *b == b'\n');
        for (number, line) in (number.unwrap_or(0)..).zip(lines) {
            if self.room.bytes == 0 {
                self.room.more = true;
                return false;
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let text = String::from_utf8_lossy(&line[..line.len().min(MAX_LINE)]).into_owned();
            self.room.bytes = self.room.bytes.saturating_sub(text.len() + 1);
            self.lines.push((number, text, context));
        }
        true
    }
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.room.lines == 0 {
            self.room.more = true;
            return Ok(false);
        }
        self.room.lines -= 1;
        self.matched = true;
        if self.binary.is_some() && searcher.binary_detection().convert_byte().is_some() {
            return Ok(false);
        }
        Ok(self.add(found.line_number(), found.bytes(), false))
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        // What stands before a match that is over the limit is not wanted; what stands after the last one is.
        if self.room.lines == 0 && *context.kind() == grep_searcher::SinkContextKind::Before {
            return Ok(true);
        }
        Ok(self.add(context.line_number(), context.bytes(), true))
    }

    fn binary_data(&mut self, searcher: &Searcher, at: u64) -> Result<bool, Self::Error> {
        self.binary.get_or_insert(at);
        Ok(searcher.binary_detection().convert_byte().is_some())
    }
}
