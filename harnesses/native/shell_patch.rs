//! Recognises `apply_patch` written as a shell command. Known forms only, each of which can mean nothing else; whatever has
//! more around it is a command for the shell. Codex 0.171.0 takes the heredoc forms; quoted text and argv lists are ours.
use std::borrow::Cow;

/// A patch found in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellPatch {
    /// Of a `cd DIR &&` before it.
    pub(super) dir: Option<String>,
    pub(super) patch: String,
}

const NAMES: [&str; 2] = ["apply_patch", "applypatch"];

/// The patch that `script` applies and does nothing else.
pub(super) fn find(script: &str) -> Option<ShellPatch> {
    let script = script.trim();
    if script.starts_with('[') {
        return argv(script);
    }
    let (dir, script) = match script.strip_prefix("cd").filter(|rest| rest.starts_with([' ', '\t'])) {
        Some(rest) => {
            let (dir, rest) = word(rest.trim_start())?;
            (Some(dir.into_owned()), rest.trim_start().strip_prefix("&&")?.trim_start())
        }
        None => (None, script),
    };
    let rest =
        NAMES.iter().find_map(|name| script.strip_prefix(name)).filter(|rest| rest.starts_with([' ', '\t', '<']))?;
    let rest = rest.trim_start();
    let patch = heredoc(rest).map(str::to_owned).or_else(|| substituted(rest)).or_else(|| argument(rest))?;
    Some(ShellPatch { dir, patch })
}

/// `<<'EOF'`, the patch, `EOF`, and nothing after it. An unquoted delimiter would expand variables; a patch means them
/// literally.
fn heredoc(text: &str) -> Option<&str> {
    let text = text.strip_prefix("<<")?.trim_start_matches([' ', '\t']);
    let (first, body) = text.split_once('\n')?;
    let first = first.trim_end();
    let delimiter = ["'", "\""]
        .iter()
        .find_map(|quote| first.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)))
        .unwrap_or(first);
    if delimiter.is_empty() || !delimiter.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return None;
    }
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_end() == delimiter && !line.starts_with([' ', '\t']) {
            let after = body.get(at + line.len()..)?;
            return if after.trim().is_empty() { body.get(..at) } else { None };
        }
        at += line.len();
    }
    None
}

/// `"$(cat <<'EOF' ... EOF\n)"`
fn substituted(text: &str) -> Option<String> {
    let inner = text.strip_prefix("\"$(")?.trim_end().strip_suffix(")\"")?;
    let rest = inner.trim_start().strip_prefix("cat")?.trim_start_matches([' ', '\t']);
    patch_text(heredoc(rest)?)
}

/// The patch as the only argument, in quotes.
fn argument(text: &str) -> Option<String> {
    if !text.starts_with(['\'', '"']) {
        return None;
    }
    let (argument, rest) = word(text)?;
    if rest.trim().is_empty() { patch_text(&argument) } else { None }
}

/// `["apply_patch", TEXT]`, or the list of a shell with such a command in it.
fn argv(text: &str) -> Option<ShellPatch> {
    let words: Vec<String> = serde_json::from_str(text).ok()?;
    match words.as_slice() {
        [name, patch] if NAMES.contains(&name.as_str()) => Some(ShellPatch { dir: None, patch: patch_text(patch)? }),
        [shell, flag, script] if matches!(flag.as_str(), "-c" | "-lc") && !script.trim_start().starts_with('[') => {
            ["bash", "sh", "zsh"].contains(&shell.rsplit('/').next()?).then(|| find(script))?
        }
        _ => None,
    }
}

fn patch_text(text: &str) -> Option<String> {
    text.trim_start().starts_with("*** Begin Patch").then(|| text.to_owned())
}

/// The first word of a shell text without expansions, and what follows it. None where the shell would expand something.
fn word(text: &str) -> Option<(Cow<'_, str>, &str)> {
    if let Some(rest) = text.strip_prefix('\'') {
        let (word, rest) = rest.split_once('\'')?;
        return ends_word(rest).then_some((Cow::Borrowed(word), rest));
    }
    if let Some(rest) = text.strip_prefix('"') {
        let mut word = String::new();
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    let rest = &rest[at + 1..];
                    return ends_word(rest).then_some((Cow::Owned(word), rest));
                }
                '$' | '`' => return None,
                '\\' => match chars.next()?.1 {
                    c @ ('"' | '\\' | '$' | '`') => word.push(c),
                    '\n' => {}
                    c => word.extend(['\\', c]),
                },
                c => word.push(c),
            }
        }
        return None;
    }
    let end = text.find(|c: char| c.is_whitespace() || c == '&').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let special = |c: char| "'\"\\$`*?[]{}();<>|#!~".contains(c);
    (!word.is_empty() && !word.contains(special)).then_some((Cow::Borrowed(word), rest))
}

fn ends_word(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || c == '&')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: n\n+it's\n*** End Patch\n";
    const PLAIN: &str = "*** Begin Patch\n*** Add File: n\n+hi\n*** End Patch";

    fn check(script: &str, expected: Option<(Option<&str>, &str)>) {
        let expected = expected.map(|(dir, patch)| ShellPatch { dir: dir.map(Into::into), patch: patch.to_owned() });
        assert_eq!(find(script), expected, "{script}");
    }

    #[test]
    fn patches_in_known_forms() {
        check(&format!("apply_patch <<'EOF'\n{PATCH}EOF"), Some((None, PATCH)));
        check(&format!("apply_patch <<'EOF'\n{PATCH}EOF\n"), Some((None, PATCH)));
        check(&format!("apply_patch << \"PATCH\"\n{PATCH}PATCH"), Some((None, PATCH)));
        check(&format!("applypatch <<EOF\n{PATCH}EOF"), Some((None, PATCH)));
        check(&format!("cd sub && apply_patch <<'EOF'\n{PATCH}EOF"), Some((Some("sub"), PATCH)));
        check(&format!("cd 'my dir' && apply_patch <<'EOF'\n{PATCH}EOF"), Some((Some("my dir"), PATCH)));
        check(&format!("apply_patch '{PLAIN}'"), Some((None, PLAIN)));
        check(&format!("apply_patch \"{PLAIN}\""), Some((None, PLAIN)));
        check("apply_patch \"*** Begin Patch\n+a \\$x\"", Some((None, "*** Begin Patch\n+a $x")));
        check(&format!("apply_patch \"$(cat <<'EOF'\n{PATCH}EOF\n)\""), Some((None, PATCH)));
        check(&serde_json::json!(["apply_patch", PATCH]).to_string(), Some((None, PATCH)));
        check(
            &serde_json::json!(["bash", "-lc", format!("apply_patch <<'EOF'\n{PATCH}EOF")]).to_string(),
            Some((None, PATCH)),
        );
    }

    #[test]
    fn everything_else_is_for_the_shell() {
        check(&format!("apply_patch <<'EOF'\n{PATCH}EOF\necho hi"), None);
        check(&format!("echo hi; apply_patch <<'EOF'\n{PATCH}EOF"), None);
        check(&format!("cd $HOME && apply_patch <<'EOF'\n{PATCH}EOF"), None);
        check(&format!("cd ~ && apply_patch <<'EOF'\n{PATCH}EOF"), None);
        check(&format!("cd a; apply_patch <<'EOF'\n{PATCH}EOF"), None);
        check(&format!("apply_patch '{PLAIN}' && echo ok"), None);
        check("apply_patch \"*** Begin Patch\n+$x\"", None);
        check(&format!("apply_patch <<'EOF'\n{PATCH}"), None);
        check("apply_patch --help", None);
        check("apply_patcher <<'EOF'\nx\nEOF", None);
        check("ls", None);
        check("", None);
        check("[ -f x ]", None);
    }

    proptest! {
        #[test]
        fn any_command_is_looked_at_without_panic(pieces in prop::collection::vec(
            prop::sample::select(vec!["apply_patch", " ", "<<", "'EOF'", "EOF", "\n", "\"", "'", "cd ", "&&", "$(", ")", "\\", "é", "["]), 0..14
        )) {
            let _ = find(&pieces.concat());
        }
    }
}
