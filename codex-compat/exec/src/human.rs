//! Output for people: everything on stderr, the final answer alone on stdout. The layout is upstream's.
use std::{
    borrow::Cow,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Color, Effects, Style};
use protocol::{ChangeKind, Counts, Event, FileView, PlanStatus, Status, View, ViewKind};

const BOLD: Style = Style::new().effects(Effects::BOLD);
const DIM: Style = Style::new().effects(Effects::DIMMED);
const CYAN: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Cyan)));
const WHO: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Magenta))).effects(Effects::ITALIC);
const GREEN: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));
const RED: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red)));
const YELLOW: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow))).effects(Effects::BOLD);

/// What stands at the head of a run.
pub struct Banner {
    pub version: &'static str,
    pub workdir: String,
    pub model: String,
    pub provider: String,
    pub harness: String,
    pub approval: String,
    pub sandbox: String,
    pub effort: String,
    pub summaries: String,
    pub session: String,
    pub prompt: String,
}

/// Writes events to `out` (stderr).
pub struct Human<W> {
    out: W,
    color: bool,
    terminal: bool,
    tokens: u64,
    start: u64,
    counts: Counts,
    workdir: PathBuf,
}

impl<W: Write> Human<W> {
    /// `start`: tokens of the thread before this run, so that the last line tells those of the run.
    pub fn new(out: W, color: bool) -> Self {
        Human { out, color, terminal: false, tokens: 0, start: 0, counts: Counts::default(), workdir: PathBuf::new() }
    }

    /// `out` is a terminal: what models and programs write must not steer it.
    pub fn on_terminal(self, terminal: bool) -> Self {
        Human { terminal, ..self }
    }

    fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.terminal { visible(text) } else { Cow::Borrowed(text) }
    }

    fn paint(&self, style: Style, text: &str) -> String {
        let text = self.shown(text);
        if self.color { format!("{style}{text}{style:#}") } else { text.into_owned() }
    }

    pub fn banner(&mut self, banner: &Banner) -> io::Result<()> {
        writeln!(self.out, "interpreter v{}\n--------", banner.version)?;
        let rows = [
            ("workdir:", &banner.workdir),
            ("model:", &banner.model),
            ("provider:", &banner.provider),
            ("harness:", &banner.harness),
            ("approval:", &banner.approval),
            ("sandbox:", &banner.sandbox),
            ("reasoning effort:", &banner.effort),
            ("reasoning summaries:", &banner.summaries),
            ("session id:", &banner.session),
        ];
        for (key, value) in rows {
            writeln!(self.out, "{} {}", self.paint(BOLD, key), self.shown(value))?;
        }
        writeln!(self.out, "--------\n{}\n{}", self.paint(CYAN, "user"), self.shown(&banner.prompt))
    }

    pub fn show(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::ThreadStarted { settings, .. } => {
                self.workdir = settings.cwd.clone();
                Ok(())
            }
            Event::Warning { message } => {
                writeln!(self.out, "{} {}", self.paint(YELLOW, "warning:"), self.shown(message))
            }
            Event::ItemStarted(view) => self.started(view),
            Event::ItemUpdated(view) => self.plan(view),
            Event::ItemCompleted(view) => self.completed(view),
            Event::CallRejected { tool, message } => {
                writeln!(self.out, "{}", self.paint(DIM, &format!("{tool}: {message}")))
            }
            Event::Retrying { k, n, cause, .. } => {
                writeln!(self.out, "Reconnecting... {k}/{n} ({})", self.shown(&brief(cause)))
            }
            Event::Hint { message } => writeln!(self.out, "{} {}", self.paint(YELLOW, "hint:"), self.shown(message)),
            Event::Compacted { .. } => writeln!(self.out, "{}", self.paint(DIM, "context compacted")),
            Event::Tokens { last, total, .. } => {
                if self.tokens == 0 {
                    self.start = total.total() - last.total();
                }
                self.tokens = total.total();
                Ok(())
            }
            Event::Counted(counts) => {
                self.counts = *counts;
                Ok(())
            }
            Event::TurnCompleted { .. } => self.used(),
            Event::TurnFailed { error, .. } => {
                writeln!(self.out, "{} {}", self.paint(RED, "ERROR:"), self.shown(&brief(&error.message)))?;
                self.used()
            }
            Event::TurnInterrupted { .. } => writeln!(self.out, "interrupted"),
            _ => Ok(()),
        }
    }

    /// The calls are those of the session, the tokens those of the run.
    fn used(&mut self) -> io::Result<()> {
        if !self.counts.is_empty() {
            writeln!(self.out, "{}", self.paint(DIM, &self.counts.to_string()))?;
        }
        writeln!(self.out, "{}\n{}", self.paint(DIM, "tokens used"), self.tokens - self.start)
    }

    fn started(&mut self, view: &View) -> io::Result<()> {
        match &view.kind {
            ViewKind::Command { command, cwd, .. } => {
                let place = self.paint(DIM, &format!("in {}", cwd.display()));
                writeln!(self.out, "{}\n{} {place}", self.paint(WHO, "exec"), self.paint(BOLD, command))
            }
            ViewKind::FileChange { .. } => writeln!(self.out, "{}", self.paint(BOLD, "apply patch")),
            ViewKind::Mcp { server, tool, args, .. } => {
                let call = format!("{server}.{tool}({})", args.text());
                writeln!(self.out, "{} {}", self.paint(WHO, "tool"), self.shown(&call))
            }
            ViewKind::Todo { .. } => self.plan(view),
            _ => Ok(()),
        }
    }

    fn plan(&mut self, view: &View) -> io::Result<()> {
        let ViewKind::Todo { steps, explanation } = &view.kind else { return Ok(()) };
        if let Some(text) = explanation {
            writeln!(self.out, "{}", self.paint(WHO, text))?;
        }
        for step in steps {
            let mark = match step.status {
                PlanStatus::InProgress => "→",
                PlanStatus::Pending => "•",
                PlanStatus::Completed => "✓",
            };
            writeln!(self.out, "  {mark} {}", self.shown(&step.step))?;
        }
        Ok(())
    }

    fn completed(&mut self, view: &View) -> io::Result<()> {
        match &view.kind {
            ViewKind::Message { text } => {
                writeln!(self.out, "{}\n{}", self.paint(WHO, "assistant"), self.shown(text))
            }
            ViewKind::Reasoning { text } => writeln!(self.out, "{}", self.paint(DIM, text)),
            ViewKind::Command { output, exit_code, status, took, .. } => {
                let took = duration(*took);
                let line = match (status, exit_code) {
                    (Status::Completed, _) => self.paint(GREEN, &format!(" succeeded in {took}:")),
                    (Status::Declined, _) => self.paint(RED, " declined"),
                    (_, Some(code)) => self.paint(RED, &format!(" exited {code} in {took}:")),
                    (_, None) => self.paint(RED, &format!(" failed in {took}:")),
                };
                writeln!(self.out, "{line}\n{}", self.paint(DIM, output))
            }
            ViewKind::FileChange { changes, status } => {
                let (style, word) = match status {
                    Status::Completed => (GREEN, "completed"),
                    Status::Declined => (RED, "declined"),
                    _ => (RED, "failed"),
                };
                writeln!(self.out, "{}", self.paint(style, &format!("patch: {word}")))?;
                for change in changes {
                    writeln!(self.out, "{}", self.paint(DIM, &change.path.to_string_lossy()))?;
                }
                for change in changes.iter().filter(|c| !c.diff.is_empty()) {
                    let diff = diff_head(change, &self.workdir) + change.diff.trim_end_matches('\n');
                    writeln!(self.out, "{}", self.shown(&diff))?;
                }
                Ok(())
            }
            ViewKind::Mcp { server, tool, error, status, .. } => {
                let word = if *status == Status::Completed { "succeeded" } else { "failed" };
                let why = error.as_deref().map(|e| format!(": {e}")).unwrap_or_default();
                writeln!(self.out, "{}", self.paint(DIM, &format!("{server}.{tool} {word}{why}")))
            }
            ViewKind::WebSearch { query, .. } => {
                writeln!(self.out, "{} {}", self.paint(WHO, "web search:"), self.shown(query))
            }
            ViewKind::Error { message } => {
                writeln!(self.out, "{} {}", self.paint(YELLOW, "warning:"), self.shown(message))
            }
            ViewKind::Todo { .. } => Ok(()),
        }
    }
}

/// Control characters as people read them (`^[` for escape), so that a terminal shows them and does not obey them. Line
/// feeds and tabs stay; a carriage return that only goes with a line feed is left out.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c as u32 {
            _ if is_plain(c) => out.push(c),
            0x0d if rest.peek() == Some(&'\n') => {}
            0x7f => out.push_str("^?"),
            // The eight-bit form of escape and a letter.
            code @ 0x80..=0x9f => out.extend(["^[".to_owned(), char::from((code - 0x40) as u8).to_string()]),
            code => out.extend(['^', char::from((code + 0x40) as u8)]),
        }
    }
    Cow::Owned(out)
}

/// Longest message of an error in bytes: a whole web page can be one.
const MOST_MESSAGE: usize = 4_000;

fn brief(message: &str) -> Cow<'_, str> {
    if message.len() <= MOST_MESSAGE {
        return Cow::Borrowed(message);
    }
    let (start, rest) = message.split_at(message.floor_char_boundary(MOST_MESSAGE));
    Cow::Owned(format!("{start}… [{} more bytes]", rest.len()))
}

/// The lines that Git puts above a diff, so that `git apply` takes what is shown. Paths are those below the working folder.
fn diff_head(change: &FileView, workdir: &Path) -> String {
    let short = |path: &Path| path.strip_prefix(workdir).unwrap_or(path).display().to_string();
    let old = short(&change.path);
    let new = change.to.as_deref().map_or_else(|| old.clone(), short);
    let (mode, from, to) = match change.kind {
        ChangeKind::Add => ("new file mode 100644\n", "/dev/null".to_owned(), format!("b/{new}")),
        ChangeKind::Delete => ("deleted file mode 100644\n", format!("a/{old}"), "/dev/null".to_owned()),
        ChangeKind::Update => ("", format!("a/{old}"), format!("b/{new}")),
    };
    let moved = if old == new { String::new() } else { format!("rename from {old}\nrename to {new}\n") };
    format!("diff --git a/{old} b/{new}\n{mode}{moved}--- {from}\n+++ {to}\n")
}

fn duration(millis: u64) -> String {
    if millis < 1000 { format!("{millis}ms") } else { format!("{:.2}s", millis as f64 / 1000.0) }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::Usage;

    use super::*;

    #[test]
    fn diffs_stand_below_the_lines_of_git() {
        let check = |path: &str, to: Option<&str>, kind, expected: &str| {
            let change = FileView { path: path.into(), to: to.map(Into::into), kind, diff: String::new() };
            assert_eq!(diff_head(&change, Path::new("/w")), expected);
        };
        check("/w/a", None, ChangeKind::Update, "diff --git a/a b/a\n--- a/a\n+++ b/a\n");
        check("/w/a", None, ChangeKind::Add, "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n");
        check(
            "/w/a",
            None,
            ChangeKind::Delete,
            "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n",
        );
        let moved = "diff --git a/a b/d/b\nrename from a\nrename to d/b\n--- a/a\n+++ b/d/b\n";
        check("/w/a", Some("/w/d/b"), ChangeKind::Update, moved);
    }

    #[test]
    fn control_characters_are_shown() {
        let check = |text: &str, expected: &str| assert_eq!(visible(text), expected);
        check("plain\ttext é\n", "plain\ttext é\n");
        check("\x1b]0;title\x07\x1b[31mred", "^[]0;title^G^[[31mred");
        check("\u{9b}2J\u{90}\x7f\0", "^[[2J^[P^?^@");
        check("50%\r100%\r\nnext\x08", "50%^M100%\nnext^H");
    }

    #[test]
    fn a_terminal_is_not_steered_and_a_pipe_gets_what_was_written() {
        let evil = "\x1b[2J\u{9b}x";
        let view = |kind| Event::ItemCompleted(View { key: 0, kind });
        let (command, cwd, output) = (evil.to_owned(), evil.into(), evil.to_owned());
        let ran = |status| ViewKind::Command {
            command: command.clone(),
            cwd: std::path::PathBuf::clone(&cwd),
            output: output.clone(),
            exit_code: Some(0),
            status,
            took: 1,
        };
        let change = FileView {
            path: evil.into(),
            to: Some(format!("{evil}2").into()),
            kind: ChangeKind::Update,
            diff: evil.into(),
        };
        let events = [
            Event::ItemStarted(View { key: 0, kind: ran(Status::InProgress) }),
            view(ran(Status::Completed)),
            view(ViewKind::Message { text: evil.into() }),
            view(ViewKind::Reasoning { text: evil.into() }),
            view(ViewKind::FileChange { changes: vec![change], status: Status::Completed }),
            view(ViewKind::Error { message: evil.into() }),
            Event::Warning { message: evil.into() },
            Event::Hint { message: evil.into() },
            Event::CallRejected { tool: evil.into(), message: evil.into() },
            Event::Retrying { k: 1, n: 2, cause: evil.into(), wait: 0 },
        ];
        for (terminal, steered) in [(true, 0), (false, 19)] {
            let mut human = Human::new(Vec::new(), false).on_terminal(terminal);
            events.iter().for_each(|event| human.show(event).unwrap());
            let text = String::from_utf8(human.out).unwrap();
            let escapes = text.matches('\x1b').count();
            assert_eq!((escapes, text.matches('\u{9b}').count()), (steered, steered), "{text:?}");
            assert_eq!(text.matches("^[[2J^[[x").count(), 19 - steered, "{text:?}");
        }
    }

    #[test]
    fn a_long_error_is_cut() {
        assert_eq!(brief("short"), "short");
        assert_eq!(brief(&"é".repeat(2_001)), format!("{}… [2 more bytes]", "é".repeat(2_000)));
    }

    #[test]
    fn a_run_as_people_see_it() {
        let mut human = Human::new(Vec::new(), false);
        let command = |output: &str, exit_code, status| {
            let (command, cwd) = ("/bin/bash -lc 'echo hi'".to_owned(), "/w".into());
            View {
                key: 1,
                kind: ViewKind::Command { command, cwd, output: output.into(), exit_code, status, took: 209 },
            }
        };
        let used = Usage { input: 100, output: 10, ..Usage::default() };
        let events = [
            Event::ItemCompleted(View { key: 0, kind: ViewKind::Reasoning { text: "thinking".into() } }),
            Event::ItemStarted(command("", None, Status::InProgress)),
            Event::ItemCompleted(command("hi\n", Some(0), Status::Completed)),
            Event::ItemCompleted(command("", Some(2), Status::Failed)),
            Event::ItemCompleted(View { key: 2, kind: ViewKind::Message { text: "done".into() } }),
            Event::Tokens { last: used, total: used, window: 1000 },
            Event::Counted(Counts { calls: 2, repaired: 0, failed: 1 }),
            Event::TurnCompleted { turn: "t".into(), total: used, last_message: None },
        ];
        for event in &events {
            human.show(event).unwrap();
        }
        let expected = "thinking\nexec\n/bin/bash -lc 'echo hi' in /w\n succeeded in 209ms:\nhi\n\n exited 2 in 209ms:\n\n\
                        assistant\ndone\n2 calls, 1 failed\ntokens used\n110\n";
        assert_eq!(String::from_utf8(human.out).unwrap(), expected);
    }
}
