//! A folder as a tree of two levels: folders first, then by name, with limits for each level.
use std::collections::BTreeMap;

const TOP: usize = 30;
const BELOW: usize = 10;

/// `paths` are relative; folders end in a slash.
pub(super) fn tree<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    // (not a folder, name) sorts as they are shown.
    let mut top: BTreeMap<(bool, &str), Vec<(bool, &str)>> = BTreeMap::new();
    for path in paths {
        let is_folder = path.ends_with('/');
        let path = path.trim_end_matches('/');
        match path.split_once('/') {
            None => {
                top.entry((!is_folder, path)).or_default();
            }
            Some((folder, name)) if !name.contains('/') => {
                top.entry((false, folder)).or_default().push((!is_folder, name))
            }
            Some(_) => {}
        }
    }
    if top.is_empty() {
        return "(empty directory)".to_owned();
    }
    let (count, mut lines) = (top.len(), Vec::new());
    for (n, ((is_file, name), mut inside)) in top.into_iter().enumerate().take(TOP) {
        let is_last = n + 1 == count;
        lines.push(line("", is_last, is_file, name));
        let indent = if is_last { "    " } else { "│   " };
        inside.sort_unstable();
        let many = inside.len();
        for (n, (is_file, name)) in inside.into_iter().enumerate().take(BELOW) {
            lines.push(line(indent, n + 1 == many, is_file, name));
        }
        if many > BELOW {
            lines.push(format!("{indent}└── ... and {} more", many - BELOW));
        }
    }
    if count > TOP {
        lines.push(format!("└── ... and {} more entries", count - TOP));
    }
    lines.join("\n")
}

fn line(indent: &str, is_last: bool, is_file: bool, name: &str) -> String {
    let branch = if is_last { "└── " } else { "├── " };
    format!("{indent}{branch}{name}{}", if is_file { "" } else { "/" })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::tree;

    #[test]
    fn folders_come_first_and_long_ones_are_cut() {
        let check = |paths: &[&str], expected: &str| assert_eq!(tree(paths.iter().copied()), expected);
        check(
            &["a.txt", "sub/", "sub/AGENTS.md", "sub/deep/", ".env", ".git/", ".kimi/", ".kimi/skills/"],
            "├── .git/\n├── .kimi/\n│   └── skills/\n├── sub/\n│   ├── deep/\n│   └── AGENTS.md\n├── .env\n└── a.txt",
        );
        check(&[], "(empty directory)");
        let many: Vec<String> = (10..42).map(|n| n.to_string()).collect();
        let shown = tree(many.iter().map(String::as_str));
        assert!(shown.ends_with("├── 39\n└── ... and 2 more entries"), "{shown}");
        let many: Vec<String> = (10..22).map(|n| format!("d/{n}")).collect();
        let shown = tree(many.iter().map(String::as_str));
        assert!(shown.ends_with("    ├── 19\n    └── ... and 2 more"), "{shown}");
    }
}
