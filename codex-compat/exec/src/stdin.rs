//! Where the prompt comes from: the argument, standard input, or both.
use std::{
    io::{self, IsTerminal, Read, Write as _},
    time::{Duration, Instant},
};

/// What to send, and what to say about it on stderr.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) notes: Vec<&'static str>,
}

pub(crate) const NO_PROMPT: &str = "No prompt provided via stdin.";
const EXTRA: &str = "Reading additional input from stdin...";
const WHOLE: &str = "Reading prompt from stdin...";
const OPEN: &str = "stdin stayed open without data for 3 seconds; starting without it.";
/// A pipe that a caller forgot to close must not stop the run.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why there is no prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The line that ends the run with status 1.
    Line(String),
    /// `--max-time` was over first.
    Time,
}

impl From<String> for Missing {
    fn from(line: String) -> Missing {
        Missing::Line(line)
    }
}

/// Reads the prompt by the rules of upstream's `exec`, until `deadline`.
pub(crate) fn prompt(argument: Option<&str>, deadline: Option<Instant>) -> Result<Prompt, Missing> {
    let stdin = io::stdin();
    match argument {
        Some("-") => whole(read(deadline)?, Vec::new()),
        None if stdin.is_terminal() => Err(Missing::Line(
            "No prompt provided. Either specify one as an argument or pipe the prompt into stdin.".into(),
        )),
        None => {
            let _ = writeln!(io::stderr(), "{WHOLE}");
            whole(read(deadline)?, Vec::new())
        }
        Some(text) if stdin.is_terminal() => Ok(Prompt { text: text.to_owned(), notes: Vec::new() }),
        Some(text) => {
            // On a full disk the line is lost, not the run.
            let _ = writeln!(io::stderr(), "{EXTRA}");
            let patience = deadline.map_or(PATIENCE, |deadline| PATIENCE.min(left(deadline)));
            if !has_data_within(patience) {
                if deadline.is_some_and(|deadline| left(deadline).is_zero()) {
                    return Err(Missing::Time);
                }
                return Ok(Prompt { text: text.to_owned(), notes: vec![OPEN] });
            }
            let data = read(deadline)?;
            Ok(Prompt { text: with_stdin(text, &data), notes: Vec::new() })
        }
    }
}

/// Before an early end: takes what a caller is still writing, so that it does not fail on a closed pipe. Bounded.
pub fn drain() {
    let stdin = io::stdin();
    if !stdin.is_terminal() && has_data_within(PATIENCE) {
        let _ = io::copy(&mut stdin.lock().take(64 << 20), &mut io::sink());
    }
}

fn whole(text: String, notes: Vec<&'static str>) -> Result<Prompt, Missing> {
    if text.trim().is_empty() {
        return Err(Missing::Line(NO_PROMPT.into()));
    }
    Ok(Prompt { text, notes })
}

/// Stdin to its end.
fn read(deadline: Option<Instant>) -> Result<String, Missing> {
    let failed = |error: io::Error| format!("Failed to read prompt from stdin: {error}");
    let mut stdin = io::stdin().lock();
    let mut bytes = Vec::new();
    let Some(deadline) = deadline else {
        stdin.read_to_end(&mut bytes).map_err(failed)?;
        return Ok(decode(bytes)?);
    };
    // Larger than the buffer of stdin, which would hide from the wait what it holds.
    let mut piece = vec![0; 64 << 10];
    loop {
        if !has_data_within(left(deadline)) {
            return Err(Missing::Time);
        }
        match stdin.read(&mut piece) {
            Ok(0) => return Ok(decode(bytes)?),
            Ok(got) => bytes.extend_from_slice(&piece[..got]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Missing::Line(failed(error))),
        }
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// UTF-8, or UTF-16 where a byte order mark says so, as upstream.
fn decode(bytes: Vec<u8>) -> Result<String, String> {
    let wide = |from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| from([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| "Failed to read prompt from stdin: it is no valid UTF-16.".to_owned())
    };
    match bytes.as_slice() {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest.to_vec()),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "Failed to read prompt from stdin: it is not UTF-8 (invalid byte at offset {}). Convert it and try again.",
            error.utf8_error().valid_up_to()
        )
    })
}

/// Prompt and piped data, as one text.
fn with_stdin(prompt: &str, data: &str) -> String {
    if data.is_empty() {
        return prompt.to_owned();
    }
    let data = data.strip_suffix('\n').unwrap_or(data);
    format!("{prompt}\n\n<stdin>\n{data}\n</stdin>")
}

/// Whether stdin has data (or its end) within `patience`. Files always have.
fn has_data_within(patience: Duration) -> bool {
    let stdin = io::stdin();
    let mut fds = [rustix::event::PollFd::new(&stdin, rustix::event::PollFlags::IN)];
    let timeout =
        rustix::event::Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
    rustix::event::poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn piped_data_stands_in_a_block() {
        assert_eq!(with_stdin("p", ""), "p");
        assert_eq!(with_stdin("p", "a\nb\n"), "p\n\n<stdin>\na\nb\n</stdin>");
        assert_eq!(with_stdin("p", "a\n\n"), "p\n\n<stdin>\na\n\n</stdin>");
    }

    #[test]
    fn a_prompt_from_stdin_is_kept_as_it_is() {
        assert_eq!(whole("a\n".into(), Vec::new()).map(|p| p.text), Ok("a\n".into()));
        assert_eq!(whole(" \n".into(), Vec::new()), Err(Missing::Line(NO_PROMPT.into())));
    }

    #[test]
    fn encodings() {
        assert_eq!(decode(b"\xff\xfea\0".to_vec()), Ok("a".into()));
        assert_eq!(decode(b"\xef\xbb\xbfa".to_vec()), Ok("a".into()));
        assert_eq!(
            decode(b"ab\xff".to_vec()),
            Err("Failed to read prompt from stdin: it is not UTF-8 (invalid byte at offset 2). Convert it and try again.".into())
        );
    }
}
