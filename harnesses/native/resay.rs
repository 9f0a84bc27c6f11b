//! Calls of other dialects in this one: commands and reads as `exec_command`, changes as `apply_patch`. What has no like
//! here is told as text.
use std::{ops::Range, path::Path};

use protocol::{Action, Answer, Call, CallForm, Change, Done, New, Outcome, Raw, World};
use serde_json::json;

use super::exec;
use crate::{Context, Next};

/// Lines of context around a change.
const CONTEXT: usize = 3;

pub(super) fn resay(cx: &Context, call: &Call, did: &[Done]) -> Option<(Call, Answer)> {
    let of = |wanted: fn(&World) -> bool| {
        let mut found = did.iter().filter(|done| matches!(&done.action, Action::World(world) if wanted(world)));
        let first = found.next();
        // Two of a kind in one call have no like here.
        if found.next().is_some() { None } else { first }
    };
    if did.iter().any(|done| matches!(done.action, Action::World(World::Change(_)))) {
        return change(cx, call, of(|world| matches!(world, World::Change(_)))?, did);
    }
    let done = of(|world| matches!(world, World::Run(_) | World::Stdin { .. } | World::Read { .. }))?;
    if did.len() > 1 {
        return None;
    }
    let (name, args) = match &done.action {
        Action::World(World::Run(run)) => {
            let mut args = json!({ "cmd": run.script });
            if let Some(cwd) = &run.cwd {
                args["workdir"] = json!(cwd);
            }
            ("exec_command", args)
        }
        Action::World(World::Stdin { task, bytes, .. }) => {
            ("write_stdin", json!({ "chars": String::from_utf8_lossy(bytes), "session_id": task.0 }))
        }
        Action::World(World::Read { path, .. }) => return read(cx, call, path, done),
        _ => return None,
    };
    let ours = function(call, name, Raw::of(&args).text());
    let next = match name {
        "write_stdin" => exec::write_stdin(cx, &ours, did),
        _ => exec::exec_command(cx, &ours, did),
    };
    match next {
        Next::Answer(answer) | Next::Reject { answer, .. } => Some((ours, answer)),
        Next::Do(_) => None,
    }
}

fn read(cx: &Context, call: &Call, path: &Path, done: &Done) -> Option<(Call, Answer)> {
    let Outcome::Text { text, stamp, .. } = &done.outcome else { return None };
    // Items keep no whole texts once their call is answered.
    if text.is_empty() && stamp.len > 0 {
        return None;
    }
    let cmd = format!("cat {}", exec::quoted(&path.display().to_string()));
    let ours = function(call, "exec_command", Raw::of(&json!({ "cmd": cmd })).text());
    let output = protocol::Captured::whole(text.clone());
    Some((ours, Answer::plain(exec::finished(cx, done, &output))))
}

/// A change that was made, as a patch. None where the text before it is not known.
fn change(cx: &Context, call: &Call, done: &Done, did: &[Done]) -> Option<(Call, Answer)> {
    let Action::World(World::Change(changes)) = &done.action else { return None };
    let Outcome::Changed(_) = &done.outcome else { return None };
    let before = |path: &Path| {
        did.iter().find_map(|done| match (&done.action, &done.outcome) {
            (Action::World(World::Read { path: read, .. }), Outcome::Text { text, .. }) if read == path => {
                Some(text.as_str())
            }
            _ => None,
        })
    };
    let mut patch = "*** Begin Patch\n".to_owned();
    let (mut added, mut other) = (Vec::new(), Vec::new());
    for change in changes {
        let path = change.path.strip_prefix(&cx.settings.cwd).unwrap_or(&change.path).display();
        match &change.new {
            New::Whole { text, .. } => {
                patch.push_str(&format!("*** Add File: {path}\n"));
                text.lines().for_each(|line| patch.push_str(&format!("+{line}\n")));
                added.push(format!("A {path}"));
            }
            New::Gone => {
                patch.push_str(&format!("*** Delete File: {path}\n"));
                other.push(format!("D {path}"));
            }
            New::Splices(splices) => {
                patch.push_str(&format!("*** Update File: {path}\n"));
                let to = moved(cx, change);
                if let Some(to) = &to {
                    patch.push_str(&format!("*** Move to: {to}\n"));
                }
                for splice in splices {
                    patch.push_str(&chunk(before(&change.path)?, splice)?);
                }
                other.push(format!("M {}", to.unwrap_or_else(|| path.to_string())));
            }
            New::Same => return None,
        }
    }
    patch.push_str("*** End Patch");
    added.append(&mut other);
    let text = format!("Success. Updated the following files:\n{}\n", added.join("\n"));
    let answer =
        Answer::plain(format!("Exit code: 0\nWall time: {:.1} seconds\nOutput:\n{text}", done.took as f64 / 1000.0));
    let ours = match cx.caps.custom_tools {
        true => {
            Call { name: "apply_patch".into(), namespace: None, args: patch, form: CallForm::Custom, ..call.clone() }
        }
        false => function(call, "apply_patch", Raw::of(&json!({ "input": patch })).text()),
    };
    Some((ours, answer))
}

fn moved(cx: &Context, change: &Change) -> Option<String> {
    let to = change.to.as_ref()?;
    Some(to.strip_prefix(&cx.settings.cwd).unwrap_or(to).display().to_string())
}

/// A splice as whole lines with context around it.
fn chunk(text: &str, (range, new): &(Range<u64>, String)) -> Option<String> {
    let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
    let first = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
    let last = match text.get(..end)?.ends_with('\n') && end > first {
        true => end,
        false => text.get(end..)?.find('\n').map_or(text.len(), |at| end + at + 1),
    };
    let mut out = "@@\n".to_owned();
    let above: Vec<&str> = text.get(..first)?.lines().collect();
    above.iter().skip(above.len().saturating_sub(CONTEXT)).for_each(|line| out.push_str(&format!(" {line}\n")));
    text.get(first..last)?.lines().for_each(|line| out.push_str(&format!("-{line}\n")));
    let whole = format!("{}{new}{}", text.get(first..start)?, text.get(end..last)?);
    whole.lines().for_each(|line| out.push_str(&format!("+{line}\n")));
    text.get(last..)?.lines().take(CONTEXT).for_each(|line| out.push_str(&format!(" {line}\n")));
    Some(out)
}

fn function(call: &Call, name: &str, args: &str) -> Call {
    Call {
        id: call.id.clone(),
        namespace: None,
        name: name.to_owned(),
        args: args.to_owned(),
        form: CallForm::Function,
    }
}
