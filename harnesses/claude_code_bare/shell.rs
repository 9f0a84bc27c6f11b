//! Just enough of a shell's grammar to know three things about a command that has run: whether its exit status 1 is an answer
//! and not a failure, which files it showed, and whether it only looks. Never used to decide what is allowed.
use std::iter::Peekable;
use std::str::Chars;

/// One simple command of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) words: Vec<String>,
    /// Takes part in a pipe.
    pub(crate) piped: bool,
    /// Redirects something.
    pub(crate) redirects: bool,
    /// Redirects into a file other than `/dev/null`.
    pub(crate) writes: bool,
    /// Holds an expansion (`$`, a backtick, a glob): its words are not what runs.
    pub(crate) expands: bool,
    /// Runs in the background, or holds what the original takes for too intricate to be sure of: variables, substitutions,
    /// brace expansions, here-documents, escaped blanks.
    pub(crate) intricate: bool,
}

/// How much of a file a command showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum View {
    Whole,
    /// These lines, counted from 1; the second one included.
    Lines(u64, u64),
    Part,
}

/// Simple commands in order. Quotes, comments and here-documents are honoured; `(` and `{` are words of their own.
pub(crate) fn commands(script: &str) -> Vec<Simple> {
    let mut found = Vec::new();
    let mut now = Simple::default();
    let mut heredocs: Vec<String> = Vec::new();
    let mut chars = script.chars().peekable();
    let end = |now: &mut Simple, found: &mut Vec<Simple>, pipe: bool| {
        now.piped |= pipe;
        if !now.words.is_empty() || now.redirects {
            found.push(std::mem::take(now));
        } else {
            *now = Simple::default();
        }
        now.piped = pipe;
    };
    while let Some(&c) = chars.peek() {
        match c {
            '\n' => {
                chars.next();
                end(&mut now, &mut found, false);
                for tag in std::mem::take(&mut heredocs) {
                    skip_heredoc(&mut chars, &tag);
                }
            }
            ' ' | '\t' | '\r' => {
                chars.next();
            }
            '#' => while chars.next_if(|&c| c != '\n').is_some() {},
            ';' => {
                chars.next();
                end(&mut now, &mut found, false);
            }
            '&' => {
                chars.next();
                if chars.next_if_eq(&'>').is_some() {
                    redirect(&mut chars, &mut now, &mut heredocs, '>');
                } else {
                    now.intricate |= chars.next_if_eq(&'&').is_none();
                    end(&mut now, &mut found, false);
                }
            }
            '|' => {
                chars.next();
                let pipe = chars.next_if_eq(&'|').is_none();
                chars.next_if_eq(&'&');
                end(&mut now, &mut found, pipe);
            }
            '(' | ')' => {
                chars.next();
                now.words.push(c.to_string());
            }
            '<' | '>' => {
                chars.next();
                redirect(&mut chars, &mut now, &mut heredocs, c);
            }
            _ => {
                let word = word(&mut chars, &mut now);
                let to_redirect = matches!(chars.peek(), Some('<' | '>')) && word.bytes().all(|b| b.is_ascii_digit());
                if !to_redirect {
                    now.words.push(word);
                }
            }
        }
    }
    end(&mut now, &mut found, false);
    found
}

fn word(chars: &mut Peekable<Chars>, now: &mut Simple) -> String {
    let (mut word, mut brace) = (String::new(), false);
    while let Some(&c) = chars.peek() {
        match c {
            ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
            '\'' => {
                chars.next();
                word.extend(chars.by_ref().take_while(|&c| c != '\''));
            }
            '"' => {
                chars.next();
                while let Some(c) = chars.next().filter(|&c| c != '"') {
                    now.expands |= matches!(c, '$' | '`');
                    now.intricate |= matches!(c, '$' | '`');
                    match (c, chars.peek()) {
                        ('\\', Some('"' | '\\' | '$' | '`')) => word.extend(chars.next()),
                        _ => word.push(c),
                    }
                }
            }
            '\\' => {
                chars.next();
                let escaped = chars.next();
                now.intricate |= matches!(escaped, Some(' ' | '\t'));
                word.extend(escaped.filter(|&c| c != '\n'));
            }
            _ => {
                now.expands |= matches!(c, '$' | '`' | '*' | '?' | '[') && !(c == '[' && word.is_empty());
                now.intricate |= matches!(c, '$' | '`') || (brace && (c == ',' || word.ends_with('.') && c == '.'));
                brace |= c == '{';
                word.push(c);
                chars.next();
            }
        }
    }
    word
}

fn redirect(chars: &mut Peekable<Chars>, now: &mut Simple, heredocs: &mut Vec<String>, first: char) {
    let doubled = chars.next_if_eq(&first).is_some();
    let to_descriptor = chars.next_if_eq(&'&').is_some();
    let more = chars.next_if(|&c| c == '|' || (first == '<' && matches!(c, '-' | '<' | '>')));
    let here_string = more == Some('<');
    while chars.next_if(|&c| c == ' ' || c == '\t').is_some() {}
    let target = word(chars, now);
    now.redirects = true;
    if first == '<' && doubled && !here_string {
        now.intricate = true;
        heredocs.push(target);
    } else if first == '>' && !to_descriptor && target != "/dev/null" {
        now.writes = true;
    }
}

fn skip_heredoc(chars: &mut Peekable<Chars>, tag: &str) {
    loop {
        let mut line = String::new();
        while let Some(c) = chars.next_if(|&c| c != '\n') {
            line.push(c);
        }
        if chars.next().is_none() || line.trim() == tag {
            return;
        }
    }
}

/// Exit status 1 of the last command means "nothing found", "they differ" or "no", which is not an error.
pub(crate) fn one_is_an_answer(script: &str) -> bool {
    let commands = commands(script);
    let Some(last) = commands.last() else { return false };
    let words: Vec<&str> = last.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["grep" | "egrep" | "fgrep" | "rg" | "find" | "diff" | "test" | "[", ..] => !words.contains(&")"),
        ["git", rest @ ..] => {
            matches!(rest.iter().find(|w| !w.starts_with('-')), Some(&"grep" | &"diff")) && !words.contains(&")")
        }
        _ => false,
    }
}

/// Files that a successful script showed, in its own words. The original counts these as read.
pub(crate) fn viewed(script: &str) -> Vec<(String, View)> {
    let commands = commands(script);
    let plain = |c: &Simple| !c.piped && !c.redirects && !c.expands;
    // Beside them only commands that say something, or nothing at all; after any other one it is not the file that was shown.
    let neutral =
        |c: &Simple| matches!(c.words.first().map(String::as_str), Some("echo" | "printf" | "true" | "false" | ":"));
    let views: Vec<_> = commands.iter().map(|c| if plain(c) { view(c) } else { None }).collect();
    if commands.iter().zip(&views).any(|(c, view)| view.is_none() && (c.piped || c.writes || !neutral(c))) {
        return Vec::new();
    }
    views.into_iter().flatten().collect()
}

fn view(command: &Simple) -> Option<(String, View)> {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    let plain = |file: &str| !file.is_empty() && !file.starts_with('-');
    let (file, view) = match words.as_slice() {
        ["cat", file] | ["cat", "-n", file] => (*file, View::Whole),
        ["head", file] => (*file, View::Lines(1, 10)),
        ["head", "-n", n, file] => (*file, View::Lines(1, n.parse().ok()?)),
        ["head", n, file] => {
            let n = n.strip_prefix("-n").or(n.strip_prefix('-'))?;
            (*file, View::Lines(1, n.parse().ok()?))
        }
        ["tail", file] => (*file, View::Part),
        ["tail", "-n", n, file] if n.bytes().all(|b| b.is_ascii_digit()) => (*file, View::Part),
        ["tail", n, file] if n.strip_prefix('-').is_some_and(|n| n.parse::<u64>().is_ok()) => (*file, View::Part),
        ["sed", "-n", script, file] => {
            let range = script.strip_suffix('p')?;
            let (from, to) = range.split_once(',').unwrap_or((range, range));
            (*file, View::Lines(from.parse().ok()?, to.parse().ok()?))
        }
        ["grep" | "egrep" | "fgrep" | "rg", rest @ ..] => {
            let bare: Vec<&&str> = rest.iter().filter(|w| !w.starts_with('-')).collect();
            let flags = rest.iter().filter(|w| w.starts_with('-'));
            let shows_lines = |flag: &&str| flag[1..].chars().all(|c| "nivwEFxH".contains(c)) && flag.len() > 1;
            match (bare.as_slice(), flags.clone().all(shows_lines)) {
                ([_, file], true) => (**file, View::Part),
                _ => return None,
            }
        }
        _ => return None,
    };
    plain(file).then(|| (file.to_owned(), view))
}

/// A `sed` in it writes into its files.
pub(crate) fn edits_in_place(script: &str) -> bool {
    let in_place = |word: &String| match word.strip_prefix("--") {
        Some(long) => long.starts_with("in-place"),
        None => word
            .strip_prefix('-')
            .is_some_and(|flags| flags.trim_start_matches(['n', 'E', 'r', 's', 'u', 'z']).starts_with('i')),
    };
    commands(script).iter().any(|c| c.words.iter().skip_while(|word| *word != "sed").skip(1).any(in_place))
}

/// Nothing but commands that look: such calls run together. As measured, but for commands that were not tried.
pub(crate) fn only_looks(script: &str) -> bool {
    let commands = commands(script);
    !commands.is_empty() && commands.iter().all(looks)
}

/// Look whatever their arguments are, but for those of `acts`.
const LOOKS: [&str; 76] = [
    "[",
    "[[",
    "alias",
    "arch",
    "base64",
    "basename",
    "cal",
    "cat",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expand",
    "expr",
    "false",
    "fd",
    "fgrep",
    "file",
    "find",
    "fmt",
    "fold",
    "free",
    "grep",
    "groups",
    "head",
    "help",
    "hexdump",
    "history",
    "id",
    "jq",
    "locale",
    "ls",
    "lsof",
    "man",
    "md5sum",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "pgrep",
    "pr",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rg",
    "seq",
    "sha1sum",
    "sha256sum",
    "sleep",
    "sort",
    "ss",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tput",
    "tr",
    "tree",
    "true",
    "tsort",
    "type",
    "uname",
    "uptime",
    "wc",
];

fn looks(command: &Simple) -> bool {
    if command.writes || command.intricate {
        return false;
    }
    let mut words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    if words.first() == Some(&"!") {
        words.remove(0);
    }
    if let ["timeout", time, ..] = words.as_slice()
        && time.starts_with(|c: char| c.is_ascii_digit())
    {
        words.drain(..2);
    }
    let acts = |word: &&str| {
        let starts = ["-exec", "-ok", "-fprint", "-fls", "--output"];
        starts.iter().any(|start| word.starts_with(start)) || matches!(*word, "-delete" | "-o" | "(" | ")")
    };
    let known = match words.as_slice() {
        ["cd"] | ["cd", _] | ["whoami" | "hostname" | "ifconfig"] => true,
        ["which", _, ..] | ["docker", "ps" | "images", ..] => true,
        ["node" | "python" | "python3", "--version"] | ["node", "-v"] => true,
        ["sed", "-n", script, ..] => prints_lines(script),
        ["uniq", flags @ ..] => flags.iter().all(|flag| flag.starts_with('-')),
        ["xargs", target, ..] => matches!(*target, "echo" | "printf" | "wc" | "grep" | "head" | "tail"),
        ["git", rest @ ..] => git_looks(rest),
        [first, ..] => LOOKS.binary_search(first).is_ok(),
        [] => false,
    };
    known && !words.iter().any(acts)
}

/// `5p`, `1,9p`.
fn prints_lines(script: &str) -> bool {
    let range = script.strip_suffix('p').unwrap_or_default();
    let (from, to) = range.split_once(',').unwrap_or((range, range));
    from.parse::<u64>().is_ok() && to.parse::<u64>().is_ok()
}

fn git_looks(rest: &[&str]) -> bool {
    const LOOKS: [&str; 15] = [
        "blame",
        "cat-file",
        "describe",
        "diff",
        "for-each-ref",
        "grep",
        "log",
        "ls-files",
        "merge-base",
        "reflog",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "status",
    ];
    match rest {
        ["branch", flags @ ..] => {
            flags.iter().all(|flag| matches!(*flag, "-a" | "-r" | "-v" | "-vv" | "--list" | "--show-current" | "--all"))
        }
        ["remote"] | ["remote", "-v"] | ["tag"] | ["tag", "-l" | "--list", ..] => true,
        ["stash" | "worktree", "list", ..] | ["config", "--get", _] => true,
        ["reflog", "expire" | "delete", ..] => false,
        [sub, ..] => LOOKS.contains(sub),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn words(script: &str) -> Vec<Vec<String>> {
        commands(script).into_iter().map(|c| c.words).collect()
    }

    #[test]
    fn splits_a_script_as_a_shell_does() {
        assert_eq!(
            words("a 'b;c' \"d|e\"; f && g\\ h || i # j"),
            [vec!["a", "b;c", "d|e"], vec!["f"], vec!["g h"], vec!["i"]]
        );
        assert_eq!(words("cat <<'EOF' > f\nx; y\nEOF\nz 2>&1"), [vec!["cat"], vec!["z"]]);
        assert_eq!(words("(a; b)"), [vec!["(", "a"], vec!["b", ")"]]);
    }

    /// Each as measured on the original.
    #[test]
    fn exit_status_one_is_an_answer_of_these() {
        for (script, expected) in [
            ("grep zzz a.txt", true),
            ("diff a.txt b.txt", true),
            ("test -f nope", true),
            ("[ -f nope ]", true),
            ("echo hi; grep zzz a.txt", true),
            ("cat a.txt | grep zzz", true),
            ("find nope", true),
            ("egrep zzz a.txt", true),
            ("cd sub && grep zzz x.txt", true),
            ("rg zzz a.txt", true),
            ("git grep zzz", true),
            ("git diff --exit-code --no-index a b", true),
            ("grep 'a;b' a.txt", true),
            ("true\ngrep zzz a.txt", true),
            ("grep zzz a.txt # note", true),
            ("grep zzz a.txt 2>/dev/null", true),
            ("grep zzz a.txt;", true),
            ("cmp a.txt b.txt", false),
            ("grep zzz a.txt || false", false),
            ("grep -q zzz a.txt && echo y", false),
            ("/bin/grep zzz a.txt", false),
            ("LC_ALL=C grep zzz a.txt", false),
            ("[[ -f nope ]]", false),
            ("! true", false),
            ("(grep zzz a.txt)", false),
            ("{ grep zzz a.txt; }", false),
            ("time grep zzz a.txt", false),
            ("grep zzz a.txt & wait $!", false),
            ("x=$(grep zzz a.txt)", false),
            ("", false),
        ] {
            assert_eq!(one_is_an_answer(script), expected, "{script}");
        }
    }

    #[test]
    fn some_commands_show_a_file() {
        let check = |script: &str, expected: &[(&str, View)]| {
            let expected: Vec<(String, View)> = expected.iter().map(|(f, v)| ((*f).to_owned(), v.clone())).collect();
            assert_eq!(viewed(script), expected, "{script}");
        };
        check("cat a.txt", &[("a.txt", View::Whole)]);
        check("cat -n 'a b.txt'", &[("a b.txt", View::Whole)]);
        check("echo x; cat a.txt && true", &[("a.txt", View::Whole)]);
        check("head -5 a", &[("a", View::Lines(1, 5))]);
        check("head -n 2 a", &[("a", View::Lines(1, 2))]);
        check("sed -n '3,9p' a", &[("a", View::Lines(3, 9))]);
        check("tail -3 a", &[("a", View::Part)]);
        check("grep -n one a", &[("a", View::Part)]);
        for none in [
            "cat a b",
            "cat a | head -2",
            "cat a 2>/dev/null",
            "cat < a",
            "cat *.txt",
            "cd . && cat a",
            "nl -ba a",
            "less a",
            "head -c 5 a",
            "sed '' a",
            "sed -n '$p' a",
            "awk 1 a",
            "cat -A a",
            "grep -c one a",
            "tail -n +1 a",
            "cat a > b",
            "ls; cat a",
            "sleep 1; cat a",
        ] {
            check(none, &[]);
        }
    }

    #[test]
    fn an_edit_in_place_is_seen() {
        for edits in [
            "sed -i s/a/b/ f",
            "sed -i.bak s/a/b/ f",
            "sed --in-place=.b s/a/b/ f",
            "sed -ni p f",
            "sed -E -i s/a/b/ f",
            "sed s/a/b/ -i f",
            "find . -exec sed -i s/a/b/ {} +",
            "ls | xargs sed -i s/a/b/",
            "cd sub && sed -i s/a/b/ f | cat",
            "for f in a; do sed -i s/a/b/ $f; done",
        ] {
            assert!(edits_in_place(edits), "{edits}");
        }
        for not in ["sed s/a/b/ f", "sed -n 1p f", "sed -es/i/x/ f", "echo sed; ls -i", "perl -pi -e s/a/b/ f"] {
            assert!(!edits_in_place(not), "{not}");
        }
    }

    /// As measured on the original.
    #[test]
    fn looking_is_told_from_acting() {
        for looks in [
            "ls -la",
            "git status | head -3",
            "grep -r x . 2>/dev/null",
            "sleep 1; echo 2",
            "find . -name '*.rs'",
            "cd sub && ls",
            "sed -n 1p a",
            "xargs echo < /dev/null",
            "type ls",
            "node -v",
            "timeout 2 ls",
            "! false",
            "[[ -f a ]]",
            "echo '$HOME'",
            "ls ?.txt",
            "cat <<< hi",
            "git branch -a",
            "git config --get user.name",
            "jq . a.json",
            "echo a#b",
            "ls # c",
            "which ls",
        ] {
            assert!(only_looks(looks), "{looks}");
        }
        for acts in [
            "rm x",
            "echo a > b",
            "find . -delete",
            "git commit",
            "echo $(rm x)",
            "sort -o f f",
            "pushd sub",
            "cat `x`",
            "",
            "sed s/a/b/ a",
            "sed -n '/a/p' a",
            "ls | xargs cat",
            "echo \"$HOME\"",
            "ls $HOME",
            "A=1 echo x",
            "(ls)",
            "{ ls; }",
            "ls &",
            "cat <<E\nhi\nE",
            "uniq a",
            "echo a\\ b",
            "echo {1..3}",
            "echo {a,b}",
            "time ls",
            "git config user.name x",
            "git -C . status",
            "git branch new",
            "diff <(ls) <(ls)",
            "hostname new",
            "for i in 1; do echo; done",
        ] {
            assert!(!only_looks(acts), "{acts}");
        }
        assert!(LOOKS.is_sorted());
    }

    proptest! {
        #[test]
        fn any_script_is_read(script in "[\\PC\n'\"\\\\$`(){}<>|&;# ]{0,80}") {
            commands(&script);
            viewed(&script);
            edits_in_place(&script);
            only_looks(&script);
            one_is_an_answer(&script);
        }
    }
}
