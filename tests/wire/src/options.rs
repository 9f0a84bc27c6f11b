//! What may be asked on the command line.
use std::path::PathBuf;

pub(crate) const USAGE: &str = "\
Holds each harness against its original, case by case (docs/wire.md).

  tests/wire/run [--only HARNESS[/CASE]]... [OPTIONS]

  --only HARNESS[/CASE]  this harness or case; CASE may be the beginning of names; may be repeated
  --show                 both texts of everything that differs, not only of what is unexplained
  --json                 everything as JSON on stdout; progress goes to stderr
  --keep DIR             keep workspaces, homes, requests and outputs in DIR
  --jobs N               cases that are played at a time (3)
  --write-reasons        add a row without a reason to reasons.toml for everything unexplained
  --write-table          put the rows of harnesses that were played in full into docs/wire.md
  --ours PATH            our program, in place of the one beside this one
  --list                 names of the cases

Originals are found by CODEX_BIN (codex), PEERS_BIN (a folder), or PATH. Exit status 1: something differs without a reason, a
row of reasons.toml no longer differs, or a case could not be played; 2: the command line cannot be read.";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) only: Vec<String>,
    pub(crate) show: bool,
    pub(crate) json: bool,
    pub(crate) keep: Option<PathBuf>,
    pub(crate) jobs: usize,
    pub(crate) write_reasons: bool,
    pub(crate) write_table: bool,
    pub(crate) ours: Option<PathBuf>,
    pub(crate) list: bool,
    pub(crate) help: bool,
}

impl Options {
    /// # Errors
    /// One line that names the word that is not understood.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            only: Vec::new(),
            show: false,
            json: false,
            keep: None,
            jobs: 3,
            write_reasons: false,
            write_table: false,
            ours: None,
            list: false,
            help: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--only" => options.only.push(value()?),
                "--show" => options.show = true,
                "--json" => options.json = true,
                "--keep" => options.keep = Some(value()?.into()),
                "--jobs" => {
                    let count = value()?.parse().ok().filter(|count| *count > 0);
                    options.jobs = count.ok_or("--jobs wants a number from 1")?;
                }
                "--write-reasons" => options.write_reasons = true,
                "--write-table" => options.write_table = true,
                "--ours" => options.ours = Some(value()?.into()),
                "--list" => options.list = true,
                "-h" | "--help" => options.help = true,
                _ => return Err(format!("{word} is not understood; --help names what is")),
            }
        }
        Ok(options)
    }

    /// Whether a case of this harness was asked for. `names`: all cases of the harness.
    pub(crate) fn wants(&self, folder: &str, harness: &str, case: &str, names: &[&str]) -> bool {
        self.only.is_empty()
            || self.only.iter().any(|only| {
                let (of, wanted) = only.split_once('/').unwrap_or((only, ""));
                let exact = names.contains(&wanted);
                (of == folder || of == harness) && if exact { case == wanted } else { case.starts_with(wanted) }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn read(words: &[&str]) -> Result<Options, String> {
        Options::read(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn a_case_is_named_in_full_or_by_its_beginning() {
        let check = |only: &str, expected: &[&str]| {
            let options = read(&["--only", only]).unwrap();
            let names = ["edit", "edit-more", "read"];
            let wanted: Vec<&str> = names
                .into_iter()
                .filter(|case| options.wants("claude-bare", "claude-code-bare", case, &names))
                .collect();
            assert_eq!(wanted, expected, "{only}");
        };
        check("claude-bare", &["edit", "edit-more", "read"]);
        check("claude-code-bare/edit", &["edit"]);
        check("claude-bare/edit-", &["edit-more"]);
        check("pi/edit", &[]);
    }

    #[test]
    fn a_wrong_word_is_named() {
        assert_eq!(read(&["--onyl"]).unwrap_err(), "--onyl is not understood; --help names what is");
        assert_eq!(read(&["--jobs", "0"]).unwrap_err(), "--jobs wants a number from 1");
        assert_eq!(read(&["--keep"]).unwrap_err(), "--keep wants a value");
    }
}
