//! What one program did with a case, in sections of plain text that can be compared.
use std::{fs, io, path::Path};

use serde_json::Value;

use crate::{
    case::{Case, Look},
    normal::Normal,
    place::{Place, Side},
};

/// Sections in order; the first word of a name says its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Observed(pub(crate) Vec<(String, String)>);

/// Runs the case and looks.
pub(crate) fn observe(side: Side, program: &Path, case: &Case) -> io::Result<Observed> {
    let mut place = Place::new(side, case)?;
    let mut seen = Observed::default();
    let mut normal = Normal::new(place.names());
    let looks = |wanted: fn(&Look) -> bool| case.looks.iter().any(wanted);
    for (n, run) in case.runs.iter().enumerate() {
        let ran = place.run(program, case, run)?;
        let nth = if case.runs.len() > 1 { format!(" of run {}", n + 1) } else { String::new() };
        let code = ran.code.map_or_else(|| format!("none\n{}", ran.stderr), |code| code.to_string());
        seen.0.push((format!("exit{nth}"), code));
        seen.0.push((format!("stdout{nth}"), normal.text(&ran.stdout)));
        if looks(|look| matches!(look, Look::Stderr)) {
            seen.0.push((format!("stderr{nth}"), normal.text(&log_free(&ran.stderr))));
        }
    }
    let requests = place.requests();
    seen.0.push(("requests".into(), requests.len().to_string()));
    let last = requests.last().map(|request| request.json()).unwrap_or_default();
    seen.0.push(("results".into(), normal.text(&results(&last))));
    seen.0.push(("files".into(), normal.text(&files(&place.work())?)));
    for look in &case.looks {
        let (name, text) = match look {
            Look::Stderr => continue,
            Look::Request(fields) => {
                let value = |field: &&str| format!("{field} {}", last.pointer(field).unwrap_or(&Value::Null));
                ("request".into(), fields.iter().map(value).collect::<Vec<_>>().join("\n"))
            }
            Look::Said(mark) => (format!("said {mark}"), said(&last, mark)),
            Look::History => ("history".into(), history(&last)),
            Look::Beside(name) => (format!("beside {name}"), read(&place.beside(name))),
        };
        seen.0.push((name, normal.text(&text)));
    }
    Ok(seen)
}

/// Without lines of a program's own log, whose form is nobody's interface, without Codex's advice to install bubblewrap,
/// and with one name for both programs (ours adds a row for the harness).
fn log_free(stderr: &str) -> String {
    let is_log = |line: &str| {
        if line.contains("could not find bubblewrap") {
            return true;
        }
        if plain(line).starts_with("harness: ") {
            return true;
        }
        let line = line.trim_start_matches("\u{1b}[2m");
        let day = line.get(..11).unwrap_or_default();
        day.ends_with('T') && day.starts_with("20") && line.contains('Z')
    };
    let named = |line: &str| match plain(line).as_str() {
        "codex" | "assistant" => "<who>\n".to_owned(),
        banner if banner.starts_with("OpenAI Codex v") || banner.starts_with("interpreter v") => {
            "<program>\n".to_owned()
        }
        _ => format!("{line}\n"),
    };
    stderr.lines().filter(|line| !is_log(line)).map(named).collect()
}

/// Without colours.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, rest)| rest))
}

fn items(request: &Value) -> impl Iterator<Item = &Value> {
    request["input"].as_array().into_iter().flatten()
}

/// The answers to calls.
fn results(request: &Value) -> String {
    let answers =
        items(request).filter(|item| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output")));
    answers.map(|item| format!("{}: {}\n", text_of(&item["call_id"]), shown(&item["output"]))).collect()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Strings as they are; images by their kind and size, other values as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        Value::Array(parts) => parts.iter().map(|part| shown_part(part) + "\n").collect(),
        other => other.to_string(),
    }
}

fn shown_part(part: &Value) -> String {
    match part["image_url"].as_str() {
        Some(url) => {
            let kind = url.split(',').next().unwrap_or_default();
            format!("{} {kind} detail {}", text_of(&part["type"]), part["detail"])
        }
        None => part["text"].as_str().map_or_else(|| part.to_string(), cut),
    }
}

/// Long outputs are compared by their beginning, end and length.
fn cut(text: &str) -> String {
    const KEEP: usize = 1500;
    let count = text.chars().count();
    if count <= 4 * KEEP {
        return text.to_owned();
    }
    let head: String = text.chars().take(KEEP).collect();
    let tail: String = text.chars().skip(count - KEEP).collect();
    let marks: Vec<&str> = text.split('…').filter(|part| part.ends_with("truncated")).collect();
    format!("{head}\n<{count} characters in all; marks {marks:?}>\n{tail}")
}

/// Every text that was said to the model, with who said it.
fn texts(request: &Value) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    if let Some(text) = request["instructions"].as_str() {
        texts.push(("instructions".to_owned(), text.to_owned()));
    }
    for item in items(request).filter(|item| item["type"] == "message" || item["type"].is_null()) {
        let role = text_of(&item["role"]).to_owned();
        match &item["content"] {
            Value::String(text) => texts.push((role, text.clone())),
            parts => {
                let parts = parts.as_array().into_iter().flatten();
                texts.extend(parts.map(|part| (role.clone(), shown_part(part))));
            }
        }
    }
    texts
}

fn said(request: &Value, mark: &str) -> String {
    let with_mark = texts(request).into_iter().filter(|(_, text)| text.contains(mark));
    with_mark.map(|(role, text)| format!("{role}: {text}\n")).collect()
}

fn history(request: &Value) -> String {
    let mut out = String::new();
    for item in items(request) {
        let kind = item["type"].as_str().unwrap_or("message");
        match kind {
            "message" => {
                let role = text_of(&item["role"]);
                let one = Value::Array(vec![item.clone()]);
                let texts = texts(&serde_json::json!({ "input": one }));
                let texts: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
                let around = texts.iter().any(|text| text.contains("<environment_context>"));
                if role != "developer" && role != "system" && !around {
                    out.push_str(&format!("{role}: {}\n", introduced(&texts.join("\n"))));
                }
            }
            "reasoning" => out.push_str(&format!("reasoning: {} {}\n", item["summary"], item["encrypted_content"])),
            "function_call" => {
                out.push_str(&format!("call {}: {}\n", text_of(&item["name"]), text_of(&item["arguments"])))
            }
            "custom_tool_call" => {
                out.push_str(&format!("call {}: {}\n", text_of(&item["name"]), text_of(&item["input"])))
            }
            _ => out.push_str(&format!("{kind}: {}\n", shown(&item["output"]))),
        }
    }
    out
}

/// A summary is introduced in each program's own words, on one line.
fn introduced(text: &str) -> String {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("Another ") && first.ends_with(':') => {
            format!("<introduction>\n{rest}")
        }
        _ => text.to_owned(),
    }
}

fn read(path: &Path) -> String {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => "<missing>".into(),
        Err(why) => format!("<{why}>"),
    }
}

/// The workspace without `.git`: every entry with its content.
fn files(folder: &Path) -> io::Result<String> {
    let mut out = String::new();
    walk(folder, folder, &mut out)?;
    Ok(out)
}

fn walk(root: &Path, folder: &Path, out: &mut String) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if name == ".git" {
            continue;
        }
        if kind.is_symlink() {
            out.push_str(&format!("{name} -> {}\n", fs::read_link(&path)?.display()));
        } else if kind.is_dir() {
            out.push_str(&format!("{name}/\n"));
            walk(root, &path, out)?;
        } else {
            out.push_str(&format!("{name} {:?}\n", cut(&read(&path))));
        }
    }
    Ok(())
}
