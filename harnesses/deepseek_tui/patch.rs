//! `apply_patch`: a unified diff over one or several files, or files with their whole text; all of it or nothing. A patch in Codex's
//! language (`*** Begin Patch`) is taken too.
use std::path::PathBuf;

use protocol::{Action, Change, Done, Expect, New, Outcome, ReadAs, World};

use super::answer::{Said, Step, is_missing, trouble};
use super::args::{self, Args};
use super::unified_patch::{self, FilePatch};
use super::{diff, paths, tools};
use crate::Context;
use crate::native::patch as codex;

const TOOL: &str = "apply_patch";
const MAX_FILE: u64 = 64 << 20;
/// Lines of context that may differ, where the call does not say.
const FUZZ: usize = 3;
const MAX_FUZZ: usize = 50;

/// One file that is to be changed.
struct Target<'a> {
    written: String,
    path: PathBuf,
    deed: Deed<'a>,
}

enum Deed<'a> {
    Whole(&'a str),
    Patch(FilePatch),
}

/// What becomes of a file.
struct Made {
    before: String,
    /// None: it is gone.
    after: Option<String>,
    change: Change,
}

pub(super) fn step(cx: &Context, args: &Args, did: &[Done]) -> Step {
    if args.text("patch").trim_start().starts_with("*** Begin Patch") {
        return match codex::step(args.text("patch"), &cx.settings.cwd, cx.settings.sandbox.mode, did) {
            codex::Step::Do(actions) => Step::Do(actions),
            codex::Step::Ran(report) => Step::ok(report),
            codex::Step::Rejected(text) => Step::error(text),
        };
    }
    let targets = match targets(cx, args) {
        Ok(targets) => targets,
        Err(said) => return Step::Tell(said),
    };
    if did.len() < targets.len() {
        let what = ReadAs::Text { max_bytes: MAX_FILE };
        let look = |target: &Target| Action::World(World::Read { path: target.path.clone(), what: what.clone() });
        return Step::Do(targets.iter().skip(did.len()).map(look).collect());
    }
    let mut made = Vec::new();
    for (target, seen) in targets.iter().zip(did) {
        match make(target, args, &seen.outcome) {
            Ok(one) => made.push(one),
            Err(step) => return step,
        }
    }
    match did.get(targets.len()).map(|done| &done.outcome) {
        None => Step::one(Action::World(World::Change(made.into_iter().map(|made| made.change).collect()))),
        Some(Outcome::Changed(_)) => {
            let diffs = targets.iter().zip(&made).map(|(target, made)| {
                diff::unified(&target.written, &made.before, made.after.as_deref().unwrap_or_default())
            });
            let names: Vec<&str> = targets.iter().map(|target| target.written.as_str()).collect();
            let files = if names.len() == 1 { "file" } else { "files" };
            Step::ok(format!("{}Patched {} {files}: {}", diffs.collect::<String>(), names.len(), names.join(", ")))
        }
        Some(other) => trouble(TOOL, "apply the patch", other),
    }
}

fn targets<'a>(cx: &Context, args: &'a Args) -> Result<Vec<Target<'a>>, Said> {
    let invalid = |why: &str| Said::error(args::invalid(TOOL, why));
    let at = |written: String, deed: Deed<'a>| {
        let path = paths::resolve(cx, &written).map_err(Said::error)?;
        Ok(Target { written, path, deed })
    };
    let targets: Vec<Target> = match (args.given("patch"), args.list("changes")) {
        (Some(_), [_, ..]) => return Err(invalid("give either patch or changes, not both")),
        (Some(patch), []) => {
            let files = unified_patch::parse(patch, args.given("path")).map_err(|error| invalid(&error.to_string()))?;
            files.into_iter().map(|file| at(file.path.clone(), Deed::Patch(file))).collect::<Result<_, _>>()?
        }
        (None, [_, ..]) => {
            let whole = |change: &'a serde_json::Value| {
                let written = change["path"].as_str().unwrap_or_default().to_owned();
                at(written, Deed::Whole(change["content"].as_str().unwrap_or_default()))
            };
            args.list("changes").iter().map(whole).collect::<Result<_, _>>()?
        }
        (None, []) => {
            let text = tools::known(TOOL).map(|spec| args::missing(spec, "patch", &args.0));
            return Err(Said::error(text.unwrap_or_default()));
        }
    };
    let twice = targets.iter().enumerate().find(|(n, one)| targets[..*n].iter().any(|other| other.path == one.path));
    match twice {
        Some((_, target)) => Err(invalid(&format!("{} stands in it twice", target.written))),
        None => Ok(targets),
    }
}

fn make(target: &Target, args: &Args, seen: &Outcome) -> Result<Made, Step> {
    let doing = format!("patch {}", target.written);
    let (text, stamp) = match seen {
        Outcome::Text { text, form, stamp } if form.utf8 => (text.as_str(), Some(stamp)),
        Outcome::Text { .. } => return Err(Step::error(format!("Failed to {doing}: it is no UTF-8 text"))),
        seen if is_missing(seen) => ("", None),
        other => return Err(trouble(TOOL, &doing, other)),
    };
    let after = match &target.deed {
        Deed::Whole(content) => Some((*content).to_owned()),
        Deed::Patch(file) => {
            let may_create = file.creates || args.on("create_if_missing");
            if stamp.is_none() && !may_create {
                return Err(Step::error(format!(
                    "Failed to {doing}: there is no such file. Set create_if_missing to make it."
                )));
            }
            let fuzz = args.count("fuzz").unwrap_or(FUZZ).min(MAX_FUZZ);
            let after = file.apply(text, fuzz).map_err(|error| Step::error(format!("Failed to {doing}: {error}")))?;
            (!file.deletes).then_some(after)
        }
    };
    let new = match (&after, stamp) {
        (None, _) => New::Gone,
        // As a piece of the file, so that byte order mark and encoding stay.
        (Some(after), Some(_)) => New::Splices(vec![(0..text.len() as u64, after.clone())]),
        (Some(after), None) => New::Whole { text: after.clone(), like: None },
    };
    let expect = stamp.map_or(Expect::Absent, |stamp| Expect::Unchanged(stamp.clone()));
    let change = Change { path: target.path.clone(), to: None, new, expect };
    Ok(Made { before: text.to_owned(), after, change })
}
