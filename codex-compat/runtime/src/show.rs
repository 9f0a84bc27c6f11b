//! A harness as it would open a conversation, for people to read.
use config::Loaded;
use harnesses::made::Blank;
use protocol::{Fact, ToolKind, WireId};

use crate::{StartError, made::find_harness};

/// Prompt and tools of a harness, for a model that nothing is known of.
pub fn show_harness(loaded: &Loaded, id: &str) -> Result<String, StartError> {
    let harness = find_harness(loaded, id)?;
    let mut blank = Blank::new(harness.id(), "example-model", WireId::Responses, loaded.project.cwd.clone());
    blank.know(Fact::Date { date: jiff::Zoned::now().date().to_string(), zone: "Etc/UTC".to_owned() });
    blank.know(Fact::Home(loaded.home.user.clone()));
    let shell = tools::user_shell();
    blank.know(Fact::Shell(shell.file_name().map_or_else(|| "sh".into(), |name| name.to_string_lossy().into_owned())));
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    blank.know(Fact::System {
        system: text(uname.sysname()),
        release: text(uname.release()),
        version: text(uname.version()),
        machine: text(uname.machine()),
    });
    let opening = harness.open(&blank.cx());
    let mut text = String::new();
    for (speaker, content) in &opening.instructions {
        text.push_str(&format!("--- {speaker:?}\n{}\n\n", content.text()));
    }
    for tool in &opening.tools {
        let schema = match &tool.kind {
            ToolKind::Function(schema) | ToolKind::Custom { fallback: schema, .. } => schema.text(),
            ToolKind::Server { entry, .. } => entry.text(),
        };
        text.push_str(&format!("--- tool {}\n{}\n{schema}\n\n", tool.name, tool.description));
    }
    Ok(text)
}
