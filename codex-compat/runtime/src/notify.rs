//! `notify`: a program of the user's that is told when a turn is over. Started and not waited for, as in Codex 0.171.0.
use std::process::{Command, Stdio};

use protocol::{Body, Origin, Part};

use crate::thread::Thread;

impl Thread {
    /// One more argument for the user's command: what happened, as JSON.
    pub(crate) fn notify(&self, last_message: Option<&str>) {
        let [program, args @ ..] = self.notify.as_slice() else { return };
        let turn = self.turn.borrow().clone();
        let inputs: Vec<String> = self
            .history
            .borrow()
            .items
            .iter()
            .filter(|item| item.turn == turn)
            .filter_map(|item| match &item.body {
                Body::User { origin: Origin::User, parts } => {
                    Some(parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n"))
                }
                _ => None,
            })
            .collect();
        let event = serde_json::json!({
            "type": "agent-turn-complete",
            "thread-id": self.id,
            "turn-id": turn,
            "cwd": self.settings().cwd.to_string_lossy(),
            "client": self.originator,
            "input-messages": inputs,
            "last-assistant-message": last_message,
        });
        let started = Command::new(program)
            .args(args)
            .arg(event.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if let Err(why) = started {
            self.hub.hint(&format!("notify: cannot run {program}: {why}"));
        }
    }
}
