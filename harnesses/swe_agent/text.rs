//! The text form: a discussion and one fenced command. The last fenced block of the outermost level is the action; it is one of
//! the classic commands, or text for the shell.
use super::call::Input;
use super::classic::Command;
use super::submit;
use crate::fenced;

/// The action of a reply. None: there is no closed block, or nothing in it.
pub(super) fn action(said: &str) -> Option<&str> {
    let (blocks, _) = fenced::blocks(said);
    blocks.last().map(|block| block.text.trim_end_matches(['\r', '\n'])).filter(|action| !action.trim().is_empty())
}

/// First word of an action: its name for clients.
pub(super) fn name(action: &str) -> String {
    action.split_whitespace().next().unwrap_or_default().to_owned()
}

/// None: an `edit` that does not end, or one without line numbers.
pub(super) fn command(action: &str) -> Option<Input> {
    let action = action.trim();
    let (first, rest) = action.split_once('\n').unwrap_or((action, ""));
    let words = words(first).unwrap_or_default();
    let number = |word: &String| word.trim().parse::<i64>().map_err(|_| word.clone());
    let word = |n: usize| words.get(n).cloned().filter(|word| !word.is_empty());
    let command = match (words.first().map(String::as_str), rest.is_empty()) {
        (Some("edit"), _) => {
            let (start, end) = words.get(1)?.split_once(':')?;
            let text = rest.strip_suffix("end_of_edit").or_else(|| Some(rest.split_once("\nend_of_edit\n")?.0))?;
            let text = text.strip_suffix('\n').unwrap_or(text).to_owned();
            let (start, end) = (number(&start.to_owned()), number(&end.to_owned()));
            Command::Edit { start, end, text }
        }
        // Several lines are a script, whatever their first word is.
        (_, false) => return Some(Input::Bash(action.to_owned())),
        (Some(submit::TOOL), true) => return Some(Input::Submit),
        (Some("open"), true) => Command::Open { path: word(1), line: words.get(2).map(number) },
        (Some("goto"), true) => Command::Goto(words.iter().skip(1).map(number).collect()),
        (Some("scroll_up"), true) => Command::ScrollUp,
        (Some("scroll_down"), true) => Command::ScrollDown,
        (Some("create"), true) => Command::Create(word(1)),
        (Some("find_file"), true) => Command::FindFile { name: word(1)?, dir: word(2) },
        (Some("search_dir"), true) => Command::SearchDir { term: word(1)?, dir: word(2) },
        (Some("search_file"), true) => Command::SearchFile { term: word(1)?, file: word(2) },
        _ => return Some(Input::Bash(action.to_owned())),
    };
    Some(Input::Classic(command))
}

/// A line as a shell takes it apart: blanks, quotes, backslashes. None: a quote that does not end.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut chars) = (Vec::new(), None::<String>, line.chars());
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => quoted.push(c),
                    }
                }
            }
            '"' => {
                let quoted = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => quoted.push(c),
                            c => quoted.extend(['\\', c]),
                        },
                        c => quoted.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_outer_block_is_the_action() {
        let check = |said: &str, expected: Option<&str>| assert_eq!(action(said), expected, "{said}");
        check("DISCUSSION\nI look.\n```\nls -a\n```", Some("ls -a"));
        check("```bash\nls\n```\nand then\n```\ncat a\ncat b\n```\n", Some("cat a\ncat b"));
        check("```\nedit 1:1\n```python\nx\n```\nend_of_edit\n```", Some("edit 1:1\n```python\nx\n```\nend_of_edit"));
        check("no command", None);
        check("```\nls", None);
        check("```\n\n```", None);
    }

    #[test]
    fn commands() {
        let check = |action: &str, expected: Option<Input>| assert_eq!(command(action), expected, "{action}");
        let classic = |command| Some(Input::Classic(command));
        check("ls -la", Some(Input::Bash("ls -la".into())));
        check("open \"a b.py\" 12", classic(Command::Open { path: Some("a b.py".into()), line: Some(Ok(12)) }));
        check("open", classic(Command::Open { path: None, line: None }));
        check("goto x", classic(Command::Goto(vec![Err("x".into())])));
        check(
            "edit 2:3\n    a\nb\nend_of_edit",
            classic(Command::Edit { start: Ok(2), end: Ok(3), text: "    a\nb".into() }),
        );
        check("edit 2:2\nend_of_edit", classic(Command::Edit { start: Ok(2), end: Ok(2), text: String::new() }));
        check("edit 2:3\nx", None);
        check("edit x\nend_of_edit", None);
        check(
            "search_dir 'line 24' src",
            classic(Command::SearchDir { term: "line 24".into(), dir: Some("src".into()) }),
        );
        check("search_file \"say \\\"hi\\\"\"", classic(Command::SearchFile { term: "say \"hi\"".into(), file: None }));
        check("find_file *.py", classic(Command::FindFile { name: "*.py".into(), dir: None }));
        check("create n.py", classic(Command::Create(Some("n.py".into()))));
        check("scroll_down", classic(Command::ScrollDown));
        check("submit", Some(Input::Submit));
        check("open a\nopen b", Some(Input::Bash("open a\nopen b".into())));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(said in "(```|edit |1:2|\n|end_of_edit|'|\"|\\\\|é| ){0,16}") {
            let _ = action(&said).map(command);
            let _ = command(&said);
            let _ = words(&said);
        }
    }
}
