//! `--json`: the events of a thread as Codex's JSON lines. Names, key order and item ids are upstream's (0.171.0).
use std::{
    collections::HashMap,
    io::{self, Write},
};

use protocol::{Event, PlanStatus, Status, Usage, View, ViewKind};
use serde_json::{Value, json};

/// Turns events into lines. One per run: ids count from `item_0` in order of first appearance.
pub struct JsonLines<W> {
    out: W,
    ids: HashMap<u64, String>,
    next: u64,
}

impl<W: Write> JsonLines<W> {
    pub fn new(out: W) -> Self {
        JsonLines { out, ids: HashMap::new(), next: 0 }
    }

    /// Err where the reader is gone.
    pub fn show(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::ThreadStarted { thread, .. } => self.line(json!({"type": "thread.started", "thread_id": thread})),
            Event::Warning { message } => {
                let id = self.fresh();
                self.line(json!({"type": "item.completed", "item": {"id": id, "type": "error", "message": message}}))
            }
            Event::TurnStarted { .. } => self.line(json!({"type": "turn.started"})),
            Event::ItemStarted(view) => self.item("item.started", view),
            Event::ItemUpdated(view) => self.item("item.updated", view),
            Event::ItemCompleted(view) => self.item("item.completed", view),
            Event::Retrying { k, n, cause, .. } => {
                self.line(json!({"type": "error", "message": format!("Reconnecting... {k}/{n} ({cause})")}))
            }
            Event::TurnCompleted { total, .. } => self.line(json!({"type": "turn.completed", "usage": usage(total)})),
            Event::TurnFailed { error, .. } => self.failed(&error.message),
            Event::TurnInterrupted { .. } => self.failed("interrupted"),
            _ => Ok(()),
        }
    }

    fn failed(&mut self, message: &str) -> io::Result<()> {
        self.line(json!({"type": "error", "message": message}))?;
        self.line(json!({"type": "turn.failed", "error": {"message": message}}))
    }

    fn item(&mut self, kind: &str, view: &View) -> io::Result<()> {
        let id = match self.ids.get(&view.key) {
            Some(id) => id.clone(),
            None => {
                let id = self.fresh();
                self.ids.insert(view.key, id.clone());
                id
            }
        };
        if let ViewKind::WebSearch { id: own, query, action } = &view.kind {
            // Upstream writes the key `id` twice here; readers that keep the last see the provider's.
            let query = Value::from(query.as_str());
            let own = Value::from(own.as_str());
            let action = action.text();
            return self.text(&format!(
                r#"{{"type":"{kind}","item":{{"id":"{id}","type":"web_search","id":{own},"query":{query},"action":{action}}}}}"#
            ));
        }
        self.line(json!({"type": kind, "item": item(&id, &view.kind)}))
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("item_{}", self.next - 1)
    }

    fn line(&mut self, value: Value) -> io::Result<()> {
        self.text(&value.to_string())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let mut line = String::with_capacity(text.len() + 1);
        line.push_str(text);
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}

pub(crate) fn usage(total: &Usage) -> Value {
    json!({
        "input_tokens": total.input,
        "cached_input_tokens": total.cached,
        "cache_write_input_tokens": total.cache_write,
        "output_tokens": total.output,
        "reasoning_output_tokens": total.reasoning,
    })
}

fn item(id: &str, kind: &ViewKind) -> Value {
    match kind {
        ViewKind::Message { text } => json!({"id": id, "type": "agent_message", "text": text}),
        ViewKind::Reasoning { text } => json!({"id": id, "type": "reasoning", "text": text}),
        ViewKind::Command { command, output, exit_code, status, .. } => json!({
            "id": id, "type": "command_execution", "command": command, "aggregated_output": output,
            "exit_code": exit_code, "status": status_name(*status),
        }),
        ViewKind::FileChange { changes, status } => {
            let mut changes: Vec<_> = changes.iter().collect();
            changes.sort_by(|a, b| a.path.cmp(&b.path));
            let changes: Vec<Value> =
                changes.iter().map(|c| json!({"path": c.path.to_string_lossy(), "kind": c.kind})).collect();
            json!({"id": id, "type": "file_change", "changes": changes, "status": status_name(*status)})
        }
        ViewKind::Mcp { server, tool, args, result, error, status } => json!({
            "id": id, "type": "mcp_tool_call", "server": server, "tool": tool, "arguments": args,
            "result": result, "error": error.as_ref().map(|message| json!({"message": message})),
            "status": status_name(*status),
        }),
        ViewKind::Todo { steps, .. } => {
            let items: Vec<Value> =
                steps.iter().map(|s| json!({"text": s.step, "completed": s.status == PlanStatus::Completed})).collect();
            json!({"id": id, "type": "todo_list", "items": items})
        }
        ViewKind::Error { message } => json!({"id": id, "type": "error", "message": message}),
        ViewKind::WebSearch { id: own, query, action } => {
            json!({"id": own, "type": "web_search", "query": query, "action": action})
        }
    }
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::InProgress => "in_progress",
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::Declined => "declined",
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::{ChangeKind, FileView, PlanStep, Raw, TurnCause, TurnError};

    use super::*;

    fn lines(events: &[Event]) -> String {
        let mut out = JsonLines::new(Vec::new());
        for event in events {
            out.show(event).unwrap();
        }
        String::from_utf8(out.out).unwrap()
    }

    fn command(output: &str, exit_code: Option<i32>, status: Status) -> View {
        let (command, cwd) = ("/bin/bash -lc 'echo hi'".to_owned(), "/w".into());
        View { key: 9, kind: ViewKind::Command { command, cwd, output: output.to_owned(), exit_code, status, took: 5 } }
    }

    #[test]
    fn lines_are_those_of_codex() {
        let step = |status| PlanStep { step: "a".into(), status };
        let change = |path: &str, kind| FileView { path: path.into(), to: None, kind, diff: String::new() };
        let changes = vec![change("/w/b", ChangeKind::Update), change("/w/a", ChangeKind::Add)];
        let todo = |status| View { key: 4, kind: ViewKind::Todo { steps: vec![step(status)], explanation: None } };
        let total = Usage { input: 200, cached: 3, cache_write: 2, output: 20, reasoning: 1 };
        let search = ViewKind::WebSearch {
            id: "ws_1".into(),
            query: "q".into(),
            action: Raw::parse(r#"{"type":"search","query":"q"}"#).unwrap(),
        };
        let got = lines(&[
            Event::Warning { message: "w".into() },
            Event::TurnStarted { turn: "t".into() },
            Event::ItemStarted(command("", None, Status::InProgress)),
            Event::ItemCompleted(View { key: 2, kind: ViewKind::Message { text: "m\n".into() } }),
            Event::ItemCompleted(command("hi\n", Some(0), Status::Completed)),
            Event::ItemStarted(todo(PlanStatus::InProgress)),
            Event::ItemCompleted(todo(PlanStatus::Completed)),
            Event::ItemCompleted(View { key: 7, kind: ViewKind::FileChange { changes, status: Status::Completed } }),
            Event::ItemStarted(View { key: 8, kind: search }),
            Event::Retrying { k: 1, n: 5, cause: "c".into(), wait: 200 },
            Event::TurnCompleted { turn: "t".into(), total, last_message: None },
            Event::TurnFailed {
                turn: "t".into(),
                error: TurnError { message: "bad".into(), cause: TurnCause::Internal },
                total,
            },
        ]);
        let expected = r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"w"}}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'echo hi'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"m\n"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'echo hi'","aggregated_output":"hi\n","exit_code":0,"status":"completed"}}
{"type":"item.started","item":{"id":"item_3","type":"todo_list","items":[{"text":"a","completed":false}]}}
{"type":"item.completed","item":{"id":"item_3","type":"todo_list","items":[{"text":"a","completed":true}]}}
{"type":"item.completed","item":{"id":"item_4","type":"file_change","changes":[{"path":"/w/a","kind":"add"},{"path":"/w/b","kind":"update"}],"status":"completed"}}
{"type":"item.started","item":{"id":"item_5","type":"web_search","id":"ws_1","query":"q","action":{"type":"search","query":"q"}}}
{"type":"error","message":"Reconnecting... 1/5 (c)"}
{"type":"turn.completed","usage":{"input_tokens":200,"cached_input_tokens":3,"cache_write_input_tokens":2,"output_tokens":20,"reasoning_output_tokens":1}}
{"type":"error","message":"bad"}
{"type":"turn.failed","error":{"message":"bad"}}
"#;
        assert_eq!(got, expected);
    }
}
