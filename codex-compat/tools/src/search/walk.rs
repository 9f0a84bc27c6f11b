//! The walk that glob and grep share: ignore rules, hidden files, file types, name patterns.
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{Walk, WalkBuilder, types::TypesBuilder};
use protocol::{Failure, Search};

/// Files and folders below `search.root`, ordered by path, folder by folder.
pub(super) fn walk(search: &Search) -> Result<Walk, Failure> {
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
    if search.respect_ignore {
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
pub(super) struct Names(Vec<(Pattern, bool)>);

impl Names {
    pub(super) fn new(globs: &[String], ignore_case: bool) -> Result<Names, Failure> {
        globs
            .iter()
            .map(|glob| match glob.strip_prefix('!') {
                Some(glob) => Ok((Pattern::new(glob, ignore_case)?, false)),
                None => Ok((Pattern::new(glob, ignore_case)?, true)),
            })
            .collect::<Result<_, Failure>>()
            .map(Names)
    }

    /// `path` is relative to the root of the search. Without a glob that matches: taken where no glob includes any.
    pub(super) fn take(&self, path: &Path) -> bool {
        let found = self.0.iter().rev().find(|(pattern, _)| pattern.matches(path));
        found.map_or_else(|| !self.0.iter().any(|(_, includes)| *includes), |(_, includes)| *includes)
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
