//! The walk that glob and grep share: ignore rules, hidden files, file types, name patterns.
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{
    Walk, WalkBuilder,
    overrides::{Override, OverrideBuilder},
    types::TypesBuilder,
};
use protocol::{Failure, Search};

/// Files and folders below `search.root`, ordered by path, folder by folder. Names that are no overrides are still to be looked at.
pub(super) fn walk(search: &Search, names: &Names) -> Result<Walk, Failure> {
    let mut builder = WalkBuilder::new(&search.root);
    builder
        .standard_filters(false)
        .hidden(!search.hidden)
        .parents(search.respect_ignore)
        .ignore(search.respect_ignore)
        .git_ignore(search.respect_ignore)
        .git_global(search.respect_ignore)
        .git_exclude(search.respect_ignore)
        .sort_by_file_name(|a, b| a.cmp(b));
    if let Names::Overrides(overrides) = names {
        builder.overrides(overrides.clone());
    } else if search.respect_ignore {
        // What git keeps for itself is no part of the project.
        builder.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    }
    if !search.types.is_empty() {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        for name in &search.types {
            types.select(name);
        }
        builder.types(types.build().map_err(|e| Failure::Other(e.to_string()))?);
    }
    Ok(builder.build())
}

/// `globs` of a search.
pub(super) enum Names {
    /// Each with whether it includes.
    Filter(Vec<(Pattern, bool)>),
    /// Applied by the walk, before its other rules.
    Overrides(Override),
}

impl Names {
    /// Of a search that chooses names by its globs only.
    pub(super) fn of_grep(search: &Search) -> Result<Names, Failure> {
        if search.overrides { Names::overrides(search, &search.globs, false) } else { Names::filter(search) }
    }

    /// Of one whose pattern is a glob too, and the first of them where they are overrides.
    pub(super) fn of_glob(search: &Search) -> Result<Names, Failure> {
        if search.overrides {
            Names::overrides(search, [&search.pattern].into_iter().chain(&search.globs), search.ignore_case)
        } else {
            Names::filter(search)
        }
    }

    fn filter(search: &Search) -> Result<Names, Failure> {
        let pattern = |glob: &String| match glob.strip_prefix('!') {
            Some(glob) => Ok((Pattern::new(glob, search.ignore_case)?, false)),
            None => Ok((Pattern::new(glob, search.ignore_case)?, true)),
        };
        search.globs.iter().map(pattern).collect::<Result<_, Failure>>().map(Names::Filter)
    }

    fn overrides<'a>(
        search: &Search,
        globs: impl IntoIterator<Item = &'a String>,
        ignore_case: bool,
    ) -> Result<Names, Failure> {
        let bad = |e: ignore::Error| Failure::Other(e.to_string());
        let mut builder = OverrideBuilder::new(search.glob_base.as_ref().unwrap_or(&search.root));
        builder.case_insensitive(ignore_case).map_err(bad)?;
        for glob in globs {
            builder.add(glob).map_err(bad)?;
        }
        builder.build().map(Names::Overrides).map_err(bad)
    }

    /// Whether an entry that the walk gave is wanted.
    pub(super) fn take(&self, root: &Path, path: &Path, is_dir: bool) -> bool {
        match self {
            Names::Filter(globs) => {
                let below = path.strip_prefix(root).unwrap_or(path);
                let found = globs.iter().rev().find(|(pattern, _)| pattern.matches(below));
                // Without a glob that matches: taken where no glob includes any.
                found.map_or_else(|| !globs.iter().any(|(_, includes)| *includes), |(_, includes)| *includes)
            }
            // The walk enters folders that no glob names, and has left out everything else.
            Names::Overrides(overrides) => {
                !is_dir || overrides.num_whitelists() == 0 || overrides.matched(path, true).is_whitelist()
            }
        }
    }
}

/// A glob in ripgrep's reading.
pub(super) struct Pattern {
    glob: GlobMatcher,
    /// `**/x/**` beside `x`: naming a folder takes what is in it.
    inside: GlobMatcher,
}

impl Pattern {
    pub(super) fn new(pattern: &str, ignore_case: bool) -> Result<Pattern, Failure> {
        let trimmed = pattern.trim_end_matches('/');
        let anchored = match trimmed.strip_prefix("./").or_else(|| trimmed.strip_prefix('/')) {
            Some(anchored) => anchored.to_owned(),
            None if trimmed.contains('/') => trimmed.to_owned(),
            None => format!("**/{trimmed}"),
        };
        let build = |glob: &str| {
            GlobBuilder::new(glob)
                .literal_separator(true)
                .case_insensitive(ignore_case)
                .build()
                .map(|glob| glob.compile_matcher())
                .map_err(|e| Failure::Other(e.to_string()))
        };
        Ok(Pattern { glob: build(&anchored)?, inside: build(&format!("{anchored}/**"))? })
    }

    pub(super) fn matches(&self, path: &Path) -> bool {
        self.glob.is_match(path) || self.inside.is_match(path)
    }

    /// The path itself, not something inside of it.
    pub(super) fn matches_exactly(&self, path: &Path) -> bool {
        self.glob.is_match(path)
    }
}

/// Splits an absolute pattern into the folder that its plain first parts name, and the rest.
pub(super) fn split_absolute(pattern: &str) -> Option<(PathBuf, String)> {
    if !pattern.starts_with('/') {
        return None;
    }
    let parts: Vec<&str> = pattern.split('/').collect();
    let plain = parts.iter().take(parts.len() - 1).take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
    let root = parts[..plain].join("/");
    Some((if root.is_empty() { "/".into() } else { root.into() }, format!("./{}", parts[plain..].join("/"))))
}
