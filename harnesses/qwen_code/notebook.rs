//! Jupyter notebooks: how read_file shows one, and the notebook_edit tool, which changes one cell. Measured by `read-kinds.json` and
//! `notebook.json`.
use std::path::Path;

use protocol::{Action, Change, Done, Expect, Failure, New, Outcome, ReadAs, World};
use serde::Serialize as _;
use serde_json::{Map, Value, json};

use super::cut::plain;
use super::record::{self, Record, same};
use super::refusal::{self, ENOENT};
use super::{args, refusal::failure};
use crate::{Context, Next};

const TOOL: &str = "notebook_edit";
const EDITABLE: u64 = 64 << 20;

/// The cells as text. Err: why it is no notebook.
pub(super) fn view(text: &str) -> Result<String, String> {
    let notebook: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let cells = notebook["cells"].as_array().cloned().unwrap_or_default();
    let metadata = &notebook["metadata"];
    let language = metadata["kernelspec"]["language"].as_str().or(metadata["language_info"]["name"].as_str());
    let language = language.unwrap_or("python");
    let mut out = format!("Jupyter Notebook ({language}, {} cells)", cells.len());
    for (n, cell) in cells.iter().enumerate() {
        let id = cell["id"].as_str().map_or_else(|| format!("cell-{n}"), str::to_owned);
        let source = joined(&cell["source"]);
        match cell["cell_type"].as_str().unwrap_or("code") {
            "code" => {
                let count = cell["execution_count"].as_u64().map(|n| format!(" [{n}]")).unwrap_or_default();
                out.push_str(&format!("\n\n--- Code Cell {id}{count} ---\n```{language}\n{source}\n```"));
                let outputs: Vec<String> = cell["outputs"].as_array().into_iter().flatten().map(output).collect();
                if !outputs.is_empty() {
                    out.push_str(&format!("\nOutput:\n{}", outputs.join("\n")));
                }
            }
            kind => {
                let kind = if kind == "markdown" { "Markdown" } else { "Raw" };
                out.push_str(&format!("\n\n--- {kind} Cell {id} ---\n{source}"));
            }
        }
    }
    Ok(out)
}

/// Texts in notebooks are one string or a list of lines.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn output(output: &Value) -> String {
    match output["output_type"].as_str() {
        Some("stream") => joined(&output["text"]),
        Some("error") => {
            let trace: Vec<&str> =
                output["traceback"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let text = |key: &str| output[key].as_str().unwrap_or_default().to_owned();
            format!("{}: {}: {}", text("ename"), text("evalue"), trace.join("\n"))
        }
        _ => {
            let data = &output["data"];
            match data.get("text/plain") {
                Some(text) => joined(text),
                None => {
                    let kinds: Vec<&str> =
                        data.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
                    format!("[{}]", kinds.join(", "))
                }
            }
        }
    }
}

pub(super) fn next(cx: &Context, args: &Map<String, Value>, did: &[Done]) -> Next {
    let say = |text: String| Next::Answer(plain(TOOL, text));
    let edit = match Edit::of(args) {
        Ok(edit) => edit,
        Err(text) => return say(text),
    };
    let given = args::text(args, "notebook_path").trim();
    if !Path::new(given).is_absolute() {
        return say(format!("Notebook path must be absolute: {given}"));
    }
    if !given.to_lowercase().ends_with(".ipynb") {
        return say("File must be a Jupyter notebook (.ipynb). Use the edit tool for other file types.".to_owned());
    }
    let path = record::plain(Path::new(given));
    let Some(first) = did.first() else {
        return Next::Do(vec![Action::World(World::Read { path, what: ReadAs::Text { max_bytes: EDITABLE } })]);
    };
    let (text, form, stamp) = match &first.outcome {
        Outcome::Text { text, form, stamp } => (text, form, stamp),
        Outcome::Failed(Failure::Io { errno: ENOENT, .. }) => return say(format!("Notebook file not found: {given}")),
        Outcome::Failed(other) => return say(failure(other)),
        Outcome::Refused(refusal) => return Next::Answer(refusal::refused(TOOL, refusal)),
        _ => return Next::Answer(refusal::unrecorded()),
    };
    let record = Record::of(cx);
    match record.seen.get(&path) {
        Some(seen) if !same(&seen.stamp, stamp) => {
            return say(format!(
                "Notebook {given} has been modified since you last read it. Re-read it with the read_file tool before editing it."
            ));
        }
        Some(seen) if seen.full => {}
        _ => {
            return say(format!(
                "Notebook {given} has not been fully read in this session. Use the read_file tool first, without offset or limit, before editing cells."
            ));
        }
    }
    let (new, id) = match edit.carried_out(text) {
        Ok(done) => done,
        Err(problem) => return say(problem),
    };
    match did.get(1).map(|done| &done.outcome) {
        None => {
            let new = New::Whole { text: new, like: Some(*form) };
            let change = Change { path, to: None, new, expect: Expect::Unchanged(stamp.clone()) };
            Next::Do(vec![Action::World(World::Change(vec![change]))])
        }
        Some(Outcome::Changed(_)) => {
            let mut answer = format!("Notebook {given} has been updated. {} cell {id}.", edit.mode);
            if edit.mode != "delete" {
                answer.push_str(&format!("\n\nUpdated source:\n\n---\n\n{}", edit.source));
            }
            say(answer)
        }
        Some(Outcome::Refused(refusal)) => Next::Answer(refusal::refused(TOOL, refusal)),
        Some(Outcome::Failed(other)) => say(failure(other)),
        Some(_) => Next::Answer(refusal::unrecorded()),
    }
}

struct Edit<'a> {
    mode: &'a str,
    cell: Option<&'a str>,
    source: &'a str,
    kind: Option<&'a str>,
}

impl<'a> Edit<'a> {
    fn of(args: &'a Map<String, Value>) -> Result<Edit<'a>, String> {
        let get = |key: &str| args.get(key).and_then(Value::as_str);
        let mode = get("edit_mode").unwrap_or("replace");
        let cell = get("cell_id").filter(|id| !id.is_empty());
        if mode != "insert" && cell.is_none() {
            return Err("cell_id is required for replace and delete operations.".to_owned());
        }
        if mode != "delete" && get("new_source").is_none() {
            return Err(format!("new_source is required when edit_mode is \"{mode}\"."));
        }
        Ok(Edit { mode, cell, source: get("new_source").unwrap_or_default(), kind: get("cell_type") })
    }

    /// The notebook's new text, and the id of the cell.
    fn carried_out(&self, text: &str) -> Result<(String, String), String> {
        let mut notebook: Value =
            serde_json::from_str(text).map_err(|error| format!("Notebook is not valid JSON: {error}"))?;
        let has_ids = (notebook["nbformat"].as_u64(), notebook["nbformat_minor"].as_u64()) >= (Some(4), Some(5));
        let Some(cells) = notebook.get_mut("cells").and_then(Value::as_array_mut) else {
            return Err("Notebook has no cells.".to_owned());
        };
        let id_of = |(n, cell): (usize, &Value)| cell["id"].as_str().map_or_else(|| format!("cell-{n}"), str::to_owned);
        let ids: Vec<String> = cells.iter().enumerate().map(id_of).collect();
        let at = match self.cell {
            None => None,
            Some(id) => match ids.iter().position(|found| found == id) {
                Some(at) => Some(at),
                None => return Err(format!("Cell with ID \"{id}\" not found in notebook.")),
            },
        };
        let id = match (self.mode, at) {
            ("insert", at) => {
                let place = at.map_or(0, |at| at + 1);
                let id = (1..).map(|n| format!("qwen-cell-{n}")).find(|id| !ids.contains(id)).unwrap_or_default();
                cells.insert(place, self.new_cell(&id, has_ids));
                if has_ids { id } else { format!("cell-{place}") }
            }
            ("delete", Some(at)) => {
                cells.remove(at);
                ids[at].clone()
            }
            (_, Some(at)) => {
                if let Some(cell) = cells[at].as_object_mut() {
                    self.replace(cell);
                }
                ids[at].clone()
            }
            (_, None) => return Err("cell_id is required for replace and delete operations.".to_owned()),
        };
        Ok((written(&notebook, text), id))
    }

    fn new_cell(&self, id: &str, has_ids: bool) -> Value {
        let kind = self.kind.unwrap_or("code");
        let mut cell = json!({"cell_type": kind, "metadata": {}, "source": lines(self.source)});
        if has_ids {
            cell["id"] = json!(id);
        }
        if kind == "code" {
            cell["execution_count"] = Value::Null;
            cell["outputs"] = json!([]);
        }
        cell
    }

    fn replace(&self, cell: &mut Map<String, Value>) {
        if let Some(kind) = self.kind {
            cell.insert("cell_type".into(), json!(kind));
        }
        cell.insert("source".into(), lines(self.source));
        if cell.get("cell_type").is_some_and(|kind| kind == "code") {
            cell.insert("execution_count".into(), Value::Null);
            cell.insert("outputs".into(), json!([]));
        } else {
            cell.shift_remove("execution_count");
            cell.shift_remove("outputs");
        }
    }
}

/// A list of lines, as notebooks keep texts.
fn lines(source: &str) -> Value {
    source.split_inclusive('\n').collect::<Vec<&str>>().into()
}

/// In the form of the text before: its indent, and a line feed at its end if it had one.
fn written(notebook: &Value, before: &str) -> String {
    let second = before.lines().nth(1);
    let indent = second.map_or("", |line| &line[..line.len() - line.trim_start().len()]);
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let pretty = notebook.serialize(&mut serde_json::Serializer::with_formatter(&mut out, formatter));
    let mut text = match (second, pretty) {
        (Some(_), Ok(())) => String::from_utf8(out).unwrap_or_default(),
        _ => notebook.to_string(),
    };
    if before.ends_with('\n') {
        text.push('\n');
    }
    text
}
