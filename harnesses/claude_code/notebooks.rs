//! Notebooks: NotebookEdit, which changes one cell and writes the file anew as Jupyter does, and NotebookRead of 1.0.
use std::path::Path;

use protocol::{Action, Answer, Change, Done, Expect, Failure, New, Outcome, ReadAs, World};
use serde_json::{Map, Value, json};

use super::args::Input;
use super::generation::Generation;
use super::shared::edit::{EDITABLE, MODIFIED, UNREAD};
use super::shared::notebook;
use super::shared::record::{self, Record};
use super::shared::refusal::{ENOENT, REJECTED, Wanted, failed, refused};
use crate::{Context, Next};

pub(super) fn edit(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    let shown = input.text("notebook_path");
    let path = record.path(shown);
    let wanted = Wanted::Write(shown);
    let mode = input.given("edit_mode").unwrap_or("replace");
    if !is_notebook(&path) {
        return wrong(
            "File must be a Jupyter notebook (.ipynb file). For editing other file types, use the FileEdit tool.",
        );
    }
    if mode == "insert" && input.given("cell_type").is_none() {
        return wrong("Cell type is required when using edit_mode=insert.");
    }
    if mode != "insert" && input.given("cell_id").is_none_or(str::is_empty) && !generation.newest() {
        return wrong(NO_ID);
    }
    let seen = record.seen.get(&path);
    if seen.is_none() && generation.newest() {
        return wrong(UNREAD);
    }
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: EDITABLE } })]);
    };
    let (text, form, stamp) = match &first.outcome {
        Outcome::Text { text, form, stamp } => (text, *form, stamp),
        Outcome::Failed(Failure::Io { errno: ENOENT, .. }) => return wrong("Notebook file does not exist."),
        Outcome::Failed(failure) => return Next::Answer(failed(wanted, failure)),
        Outcome::Refused(refusal) => return Next::Answer(refused(wanted, refusal)),
        _ => return Next::Answer(Answer::failed(REJECTED)),
    };
    if generation.newest() && seen.is_some_and(|seen| !record::same(&seen.stamp, stamp)) {
        return wrong(MODIFIED);
    }
    let Ok(mut notebook) = serde_json::from_str::<Value>(text) else { return wrong("Notebook is not valid JSON.") };
    // The new cell's id is drawn by the runtime with the look at the file.
    let edited = match change(generation, &mut notebook, input, mode, first.tag) {
        Ok(edited) => edited,
        Err(told) => return wrong(&told),
    };
    match did.get(1).map(|done| &done.outcome) {
        None => {
            let text = format!("{}\n", indented(&notebook)).trim_end().to_owned();
            let new = New::Whole { text, like: Some(form) };
            let expect = Expect::Unchanged(stamp.clone());
            Next::Do(vec![Action::World(World::Change(vec![Change { path, to: None, new, expect }]))])
        }
        Some(Outcome::Changed(_)) => Next::Answer(Answer::plain(edited)),
        Some(Outcome::Refused(refusal)) => Next::Answer(refused(wanted, refusal)),
        Some(Outcome::Failed(failure)) => Next::Answer(failed(wanted, failure)),
        Some(_) => Next::Answer(Answer::failed(REJECTED)),
    }
}

const NO_ID: &str = "Cell ID must be specified when not inserting a new cell.";

fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "ipynb")
}

/// Changes the notebook. Ok: what is said of it. Err: why not.
fn change(generation: Generation, notebook: &mut Value, input: &Input, mode: &str, tag: u64) -> Result<String, String> {
    let id = input.given("cell_id").filter(|id| !id.is_empty());
    let new = input.text("new_source");
    let with_ids = (notebook["nbformat"].as_u64(), notebook["nbformat_minor"].as_u64()) >= (Some(4), Some(5));
    let cells = notebook.get_mut("cells").and_then(Value::as_array_mut);
    let Some(cells) = cells else { return Err("Notebook has no cells.".to_owned()) };
    let place = match id {
        Some(id) => Some(place(cells, id)?),
        None if mode == "insert" => None,
        None => return Err(NO_ID.to_owned()),
    };
    match (mode, place) {
        ("insert", place) => {
            let made = format!("{:08x}", tag as u32);
            let kind = input.given("cell_type").unwrap_or("code");
            cells.insert(place.map_or(0, |at| at + 1).min(cells.len()), cell(kind, new, with_ids.then_some(&made)));
            Ok(match with_ids {
                true => format!("Inserted cell {made} with {new}"),
                false if generation.newest() => format!("Inserted a new cell with {new}"),
                false => format!("Inserted cell {} with {new}", id.unwrap_or("undefined")),
            })
        }
        (_, None) => Err(NO_ID.to_owned()),
        ("delete", Some(at)) => {
            cells.remove(at);
            Ok(format!("Deleted cell {}", id.unwrap_or_default()))
        }
        (_, Some(at)) => {
            if let Some(Value::Object(cell)) = cells.get_mut(at) {
                replace(cell, input.given("cell_type"), new);
            }
            Ok(format!("Updated cell {} with {new}", id.unwrap_or_default()))
        }
    }
}

/// By id, or by number as `cell-3`.
fn place(cells: &[Value], id: &str) -> Result<usize, String> {
    if let Some(at) = cells.iter().position(|cell| cell["id"].as_str() == Some(id)) {
        return Ok(at);
    }
    match id.strip_prefix("cell-").and_then(|number| number.parse::<usize>().ok()) {
        Some(at) if at < cells.len() => Ok(at),
        Some(at) => Err(format!("Cell with index {at} does not exist in notebook.")),
        None => Err(format!("Cell with ID \"{id}\" not found in notebook.")),
    }
}

fn cell(kind: &str, source: &str, id: Option<&String>) -> Value {
    let mut cell = Map::new();
    cell.insert("cell_type".into(), json!(kind));
    if let Some(id) = id {
        cell.insert("id".into(), json!(id));
    }
    cell.insert("source".into(), json!(source));
    cell.insert("metadata".into(), json!({}));
    if kind == "code" {
        cell.insert("execution_count".into(), Value::Null);
        cell.insert("outputs".into(), json!([]));
    }
    Value::Object(cell)
}

/// What was run before is no result of the new source.
fn replace(cell: &mut Map<String, Value>, kind: Option<&str>, source: &str) {
    cell.insert("source".into(), json!(source));
    if let Some(kind) = kind {
        cell.insert("cell_type".into(), json!(kind));
    }
    match cell.get("cell_type").and_then(Value::as_str) {
        Some("code") => {
            cell.insert("execution_count".into(), Value::Null);
            cell.insert("outputs".into(), json!([]));
        }
        _ => {
            cell.shift_remove("execution_count");
            cell.shift_remove("outputs");
        }
    }
}

/// As Jupyter writes it: indented by one blank.
fn indented(notebook: &Value) -> String {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    match serde::Serialize::serialize(notebook, &mut serializer) {
        Ok(()) => String::from_utf8(out).unwrap_or_default(),
        Err(_) => notebook.to_string(),
    }
}

pub(super) fn read(generation: Generation, cx: &Context, input: &Input, did: &[Done]) -> Next {
    let record = Record::of(cx);
    let shown = input.text("notebook_path");
    let path = record.path(shown);
    let wrong = |text: &str| Next::Answer(Answer::failed(generation.wrong(text)));
    if !is_notebook(&path) {
        return wrong("File must be a Jupyter notebook (.ipynb file).");
    }
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: EDITABLE } })]);
    };
    match &first.outcome {
        Outcome::Text { text, .. } => match input.given("cell_id").filter(|id| !id.is_empty()) {
            None => Next::Answer(notebook::answer(text)),
            Some(id) => match one_cell(text, id) {
                Ok(text) => Next::Answer(notebook::answer(&text)),
                Err(told) => wrong(&told),
            },
        },
        Outcome::Failed(Failure::Io { errno: ENOENT, .. }) => wrong("File does not exist."),
        Outcome::Failed(failure) => Next::Answer(failed(Wanted::Read(shown), failure)),
        Outcome::Refused(refusal) => Next::Answer(refused(Wanted::Read(shown), refusal)),
        _ => Next::Answer(Answer::failed(REJECTED)),
    }
}

/// The notebook with this cell alone.
fn one_cell(text: &str, id: &str) -> Result<String, String> {
    let mut notebook: Value = serde_json::from_str(text).map_err(|_| "Notebook is not valid JSON.".to_owned())?;
    let cells = notebook["cells"].as_array().cloned().unwrap_or_default();
    let at = place(&cells, id)?;
    notebook["cells"] = json!([cells[at]]);
    Ok(notebook.to_string())
}
