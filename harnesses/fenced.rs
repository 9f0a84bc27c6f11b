//! Fenced blocks of a reply, those of the outermost level only. Inside of a block, a fence with a language behind it opens a block
//! of its own; a bare one closes the innermost.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// What stands behind the opening fence.
    pub(crate) info: &'a str,
    /// Up to the line of the closing fence.
    pub(crate) text: &'a str,
}

/// All closed blocks, in order, and what stands behind the fence of one that is never closed.
pub(crate) fn blocks(said: &str) -> (Vec<Block<'_>>, Option<&str>) {
    let (mut from, mut depth, mut start, mut outer, mut found) = (0, 0_usize, 0, "", Vec::new());
    for line in said.split_inclusive('\n') {
        let (begin, end) = (from, from + line.len());
        from = end;
        let Some(info) = line.trim_end().strip_prefix("```") else { continue };
        match depth {
            0 => (depth, start, outer) = (1, end, info.trim()),
            _ if !info.is_empty() => depth += 1,
            1 => {
                depth = 0;
                found.extend(said.get(start..begin).map(|text| Block { info: outer, text }));
            }
            _ => depth -= 1,
        }
    }
    (found, (depth > 0).then_some(outer))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn check(said: &str, expected: &[(&str, &str)], open: Option<&str>) {
        let (found, left) = super::blocks(said);
        let found: Vec<(&str, &str)> = found.iter().map(|block| (block.info, block.text)).collect();
        assert_eq!((found.as_slice(), left), (expected, open), "{said}");
    }

    #[test]
    fn outermost_blocks_are_found() {
        check("", &[], None);
        check("talk", &[], None);
        check("a\n```bash\nls\n```\nb\n```\nx\n```", &[("bash", "ls\n"), ("", "x\n")], None);
        check("```sh \r\nls\r\n```\r\n", &[("sh", "ls\r\n")], None);
        check(
            "```bash\ncat > a.md <<'E'\n```py\nx\n```\nE\n```",
            &[("bash", "cat > a.md <<'E'\n```py\nx\n```\nE\n")],
            None,
        );
        check("```bash\nls", &[], Some("bash"));
        check("```bash\nls\n```\n```", &[("bash", "ls\n")], Some(""));
        check("    ```bash\nls\n", &[], None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(said in "(```|```bash|\n|é| ){0,12}") {
            let (found, _) = super::blocks(&said);
            prop_assert!(found.len() <= said.matches("```").count() / 2);
        }
    }
}
