//! `World::List`, `World::Glob`, and listings for prompts.
use std::path::Path;

use ignore::WalkBuilder;
use protocol::{Failure, FileKind, Found, Hit, Outcome, Search};

use super::{
    Abandoned, existing, hit, limit,
    walk::{Names, Pattern, split_absolute, walk},
};

/// Everything below a folder down to `depth`, hidden and ignored entries included, ordered by path.
pub(crate) fn list(path: &Path, depth: u8, max: usize, abandoned: &Abandoned) -> Result<Outcome, Failure> {
    if !existing(path)?.is_dir() {
        return Err(Failure::NotAFile { path: path.to_owned(), kind: FileKind::File });
    }
    // A folder that cannot be read is an error; one inside of it is passed over.
    std::fs::read_dir(path).map_err(|e| crate::fail::io(path, &e))?;
    let walk = WalkBuilder::new(path)
        .standard_filters(false)
        .max_depth(Some(usize::from(depth.max(1))))
        .sort_by_file_name(|a, b| a.cmp(b))
        .build();
    let paths = walk.filter_map(Result::ok).filter(|entry| entry.depth() > 0).map(|entry| hit(entry.into_path()));
    Ok(Outcome::Paths(first(paths, limit(max), abandoned)))
}

/// What .gitignore and its like leave of a folder, down to `depth`: relative paths, folders with a slash behind them, ordered
/// by path. Hidden entries too; what is in `.git` is not. True: there are more than `max`.
pub(crate) fn unignored(path: &Path, depth: u8, max: usize) -> (Vec<String>, bool) {
    let walk = WalkBuilder::new(path)
        .hidden(false)
        .max_depth(Some(usize::from(depth.max(1))))
        .filter_entry(|entry| {
            entry.depth() < 2 || entry.path().parent().and_then(Path::file_name).is_none_or(|name| name != ".git")
        })
        .sort_by_file_name(|a, b| a.cmp(b))
        .build();
    let mut entries = Vec::new();
    for entry in walk.filter_map(Result::ok).filter(|entry| entry.depth() > 0) {
        if entries.len() == max {
            return (entries, true);
        }
        let slash = if entry.path().is_dir() { "/" } else { "" };
        entries.push(format!("{}{slash}", entry.path().strip_prefix(path).unwrap_or(entry.path()).display()));
    }
    (entries, false)
}

/// Files, and folders where asked for, that match `pattern` and `globs`, ordered by path.
pub(crate) fn glob(mut search: Search, abandoned: &Abandoned) -> Result<Outcome, Failure> {
    if !search.overrides
        && let Some((root, rest)) = split_absolute(&search.pattern)
    {
        (search.root, search.pattern) = (root, rest);
    }
    if !existing(&search.root)?.is_dir() {
        return Err(Failure::NotAFile { path: search.root, kind: FileKind::File });
    }
    let names = Names::of_glob(&search)?;
    let pattern = if search.overrides { None } else { Some(Pattern::new(&search.pattern, search.ignore_case)?) };
    let walk = walk(&search, &names)?.filter_map(Result::ok).filter(|entry| entry.depth() > 0);
    let files = walk.filter_map(|entry| {
        let below = entry.path().strip_prefix(&search.root).ok()?;
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let wanted = (search.folders || !is_dir)
            && pattern.as_ref().is_none_or(|pattern| pattern.matches_exactly(below))
            && names.take(&search.root, entry.path(), is_dir);
        wanted.then(|| hit(entry.into_path()))
    });
    Ok(Outcome::Paths(first(files, limit(search.limit), abandoned)))
}

fn first(hits: impl Iterator<Item = Hit>, max: usize, abandoned: &Abandoned) -> Found {
    let mut found = Found::default();
    for hit in hits {
        if found.hits.len() == max || abandoned.get() {
            found.more = true;
            break;
        }
        found.hits.push(hit);
    }
    found
}
