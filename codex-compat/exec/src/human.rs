//! Output for people: everything on stderr, the final answer alone on stdout. The layout is upstream's.
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Color, Effects, Style};
use protocol::{ChangeKind, Event, FileView, PlanStatus, Status, View, ViewKind};

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
    tokens: u64,
    start: u64,
    workdir: PathBuf,
}

impl<W: Write> Human<W> {
    /// `start`: tokens of the thread before this run, so that the last line tells those of the run.
    pub fn new(out: W, color: bool) -> Self {
        Human { out, color, tokens: 0, start: 0, workdir: PathBuf::new() }
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
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
            writeln!(self.out, "{} {value}", self.paint(BOLD, key))?;
        }
        writeln!(self.out, "--------\n{}\n{}", self.paint(CYAN, "user"), banner.prompt)
    }

    pub fn show(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::ThreadStarted { settings, .. } => {
                self.workdir = settings.cwd.clone();
                Ok(())
            }
            Event::Warning { message } => writeln!(self.out, "{} {message}", self.paint(YELLOW, "warning:")),
            Event::ItemStarted(view) => self.started(view),
            Event::ItemUpdated(view) => self.plan(view),
            Event::ItemCompleted(view) => self.completed(view),
            Event::CallRejected { tool, message } => {
                writeln!(self.out, "{}", self.paint(DIM, &format!("{tool}: {message}")))
            }
            Event::Retrying { k, n, cause, .. } => writeln!(self.out, "Reconnecting... {k}/{n} ({cause})"),
            Event::Hint { message } => writeln!(self.out, "{} {message}", self.paint(YELLOW, "hint:")),
            Event::Compacted { .. } => writeln!(self.out, "{}", self.paint(DIM, "context compacted")),
            Event::Tokens { last, total, .. } => {
                if self.tokens == 0 {
                    self.start = total.total() - last.total();
                }
                self.tokens = total.total();
                Ok(())
            }
            Event::TurnCompleted { .. } => self.tokens_used(),
            Event::TurnFailed { error, .. } => {
                writeln!(self.out, "{} {}", self.paint(RED, "ERROR:"), error.message)?;
                self.tokens_used()
            }
            Event::TurnInterrupted { .. } => writeln!(self.out, "interrupted"),
            _ => Ok(()),
        }
    }

    fn tokens_used(&mut self) -> io::Result<()> {
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
                writeln!(self.out, "{} {server}.{tool}({})", self.paint(WHO, "tool"), args.text())
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
            writeln!(self.out, "  {mark} {}", step.step)?;
        }
        Ok(())
    }

    fn completed(&mut self, view: &View) -> io::Result<()> {
        match &view.kind {
            ViewKind::Message { text } => writeln!(self.out, "{}\n{text}", self.paint(WHO, "assistant")),
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
                    writeln!(self.out, "{}{}", diff_head(change, &self.workdir), change.diff.trim_end_matches('\n'))?;
                }
                Ok(())
            }
            ViewKind::Mcp { server, tool, error, status, .. } => {
                let word = if *status == Status::Completed { "succeeded" } else { "failed" };
                let why = error.as_deref().map(|e| format!(": {e}")).unwrap_or_default();
                writeln!(self.out, "{}", self.paint(DIM, &format!("{server}.{tool} {word}{why}")))
            }
            ViewKind::WebSearch { query, .. } => writeln!(self.out, "{} {query}", self.paint(WHO, "web search:")),
            ViewKind::Error { message } => writeln!(self.out, "{} {message}", self.paint(YELLOW, "warning:")),
            ViewKind::Todo { .. } => Ok(()),
        }
    }
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
            Event::TurnCompleted { turn: "t".into(), total: used, last_message: None },
        ];
        for event in &events {
            human.show(event).unwrap();
        }
        let expected = "thinking\nexec\n/bin/bash -lc 'echo hi' in /w\n succeeded in 209ms:\nhi\n\n exited 2 in 209ms:\n\n\
                        assistant\ndone\ntokens used\n110\n";
        assert_eq!(String::from_utf8(human.out).unwrap(), expected);
    }
}
