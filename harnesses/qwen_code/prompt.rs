//! The opening: a system text in the sections of the original, in our own words, and the tools. Some sections depend on who is there,
//! on the sandbox and on git; the form of calls in the examples depends on the model.
use std::path::Path;

use protocol::{ApprovalPolicy, Body, Content, Fact, Mode, Opening, SandboxMode, Settings, Speaker};

use super::{profile, profile::Notation, tools};
use crate::{Context, Doc, writable};

pub(super) const EXPLORE: &str = "Explore";

const CORE: &str = include_str!("prompt/core.md");
const CARE: &str = include_str!("prompt/care.md");
const GIT: &str = include_str!("prompt/git.md");
const FINAL: &str = include_str!("prompt/final.md");

const ASK_BACK: &str = "Where requirements are open and looking around does not settle them, ask with ask_user_question; not for what you can well decide yourself.";
const NEVER_ASK: &str = "Nobody is there to answer in this run. NEVER ask a question and wait: decide by what is sensible, go on, and say at the end what you assumed.";
const ALONE: &str =
    "This run is not interactive: nobody answers, so do not end with a question or a promise, but with the work done. ";

pub(super) fn open(cx: &Context) -> Opening {
    let own = cx.persona.prompt.as_deref().or(cx.settings.instructions.as_deref());
    let base = match (own, cx.persona.name.as_str(), cx.words.prompt.as_deref()) {
        (Some(own), ..) => own.trim_end().to_owned(),
        (None, EXPLORE, _) => include_str!("prompt/explore.md").trim_end().to_owned(),
        (None, "", Some(words)) => words.trim_end().to_owned(),
        (None, "", None) => main(cx),
        (None, ..) => include_str!("prompt/general.md").trim_end().to_owned(),
    };
    let mut text = base;
    let written_by_us = own.is_none() && cx.persona.name.is_empty() && cx.words.prompt.is_none();
    if !written_by_us && let Some(permissions) = permissions(cx.settings) {
        text.push_str(&format!("\n\n# Sandbox\n{permissions}"));
    }
    if let Some(docs) = docs(cx) {
        text.push_str(&format!("\n\n---\n\n{docs}"));
    }
    if let Some(more) = cx.settings.developer_instructions.as_deref().filter(|more| !more.trim().is_empty()) {
        text.push_str(&format!("\n\n---\n\n{}", more.trim_end()));
    }
    Opening { instructions: vec![(Speaker::System, Content::Plain(text))], tools: tools::offered(cx) }
}

fn main(cx: &Context) -> String {
    let can_ask = tools::can_ask(cx);
    let core = CORE
        .replace("{interactive}", if can_ask { "interactive" } else { "non-interactive" })
        .replace("{questions}", if can_ask { ASK_BACK } else { NEVER_ASK });
    let sandbox = match permissions(cx.settings) {
        Some(permissions) => format!("# Sandbox\n{permissions}"),
        None => "# Outside of Sandbox\nCommands run with the user's own rights, outside of any sandbox. Before critical commands that reach beyond the project's folder or change the system, say so, and that a sandbox could be switched on.".to_owned(),
    };
    let in_git = cx.items.iter().rev().find_map(|item| match &item.body {
        Body::Fact(Fact::Git(git)) => Some(git.is_some()),
        _ => None,
    });
    let mut sections = vec![core.trim_end().to_owned(), sandbox, CARE.trim_end().to_owned()];
    if in_git == Some(true) {
        sections.push(GIT.trim_end().to_owned());
    }
    sections.push(examples(profile::notation(&cx.model.slug)));
    sections.push(FINAL.trim_end().replace("{ending}", if can_ask { "" } else { ALONE }));
    sections.join("\n\n")
}

/// Short dialogues that show tone and workflow.
fn examples(notation: Notation) -> String {
    let call = |name: &str, args: &[(&str, &str)], purpose: &str| called(notation, name, args, purpose);
    let dialogues = [
        "user: 1 + 2\nmodel: 3".to_owned(),
        "user: is 13 a prime number?\nmodel: true".to_owned(),
        format!("user: list files here.\nmodel:\n{}", call("glob", &[("pattern", "*")], "'*' in the workspace")),
        format!(
            "user: Use 'httpx' instead of 'requests' in src/auth.py.\nmodel:\nFirst I look at src/auth.py and at the dependencies.\n{}\n{}\n(after reading)\n'httpx' is among the dependencies, and 'requests' is used in one place. I replace it.\n{}\nNow the checks of this project.\n{}\n{}\n(after the checks)\nDone: `src/auth.py` uses httpx; linter, types and tests pass.",
            call("read_file", &[("file_path", "/path/to/project/src/auth.py")], "the absolute path of src/auth.py"),
            call("grep_search", &[("pattern", "httpx|requests"), ("glob", "*.toml")], "httpx and requests in *.toml"),
            call(
                "edit",
                &[
                    ("file_path", "/path/to/project/src/auth.py"),
                    ("old_string", "old code with enough around it to be found once"),
                    ("new_string", "new code")
                ],
                "the import and the calls in src/auth.py"
            ),
            call(
                "run_shell_command",
                &[("command", "ruff check src/auth.py && mypy src/auth.py")],
                "the project's linter and type checker"
            ),
            call("run_shell_command", &[("command", "pytest tests/test_auth.py")], "the tests of that module"),
        ),
        "user: What would it take to empty the cache folder?\nmodel:\n`rm -rf .cache` does it. Everything in that folder is gone then, and the next build takes as long as a first one. Tell me to, and I run it.".to_owned(),
        format!(
            "user: Write tests for someFile.ts\nmodel:\nI look at the file and at how tests are written here.\n{}\n{}\n(after reading)\n{}\n(after reading one of them)\nThe project uses vitest, with tests beside the files.\n{}\n{}\n(after the run)\nsomeFile.test.ts has six tests; all pass.",
            call("read_file", &[("file_path", "/path/to/project/someFile.ts")], "the absolute path of someFile.ts"),
            call("glob", &[("pattern", "**/*.test.ts")], "'**/*.test.ts' for tests that are there"),
            call("read_file", &[("file_path", "/path/to/project/other.test.ts")], "one of the tests that are there"),
            call(
                "write_file",
                &[("file_path", "/path/to/project/someFile.test.ts"), ("content", "the tests")],
                "the absolute path of someFile.test.ts"
            ),
            call("run_shell_command", &[("command", "npx vitest run someFile.test.ts")], "the new tests"),
        ),
        format!(
            "user: Where are all the 'app.config' files of this project?\nmodel:\n{}\n(one path for each file comes back)\nThere are two:\n- /path/to/moduleA/app.config\n- /path/to/moduleB/app.config",
            call("glob", &[("pattern", "**/app.config")], "'**/app.config'"),
        ),
    ];
    let shown: Vec<String> = dialogues.iter().map(|text| format!("<example>\n{text}\n</example>")).collect();
    format!("# Examples (Illustrating Tone and Workflow)\n{}", shown.join("\n\n"))
}

fn called(notation: Notation, name: &str, args: &[(&str, &str)], purpose: &str) -> String {
    match notation {
        Notation::Xml => {
            let parameters: String =
                args.iter().map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n")).collect();
            format!("<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>")
        }
        Notation::Json => {
            let args: serde_json::Map<String, serde_json::Value> =
                args.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
            format!(
                "<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {}}}\n</tool_call>",
                serde_json::Value::Object(args)
            )
        }
        Notation::Prose => format!("[tool_call: {name} for {purpose}]"),
    }
}

fn docs(cx: &Context) -> Option<String> {
    let shown: Vec<String> = cx.docs.iter().map(|doc| context_file(&cx.settings.cwd, doc)).collect();
    (!shown.is_empty()).then(|| shown.join("\n\n"))
}

fn context_file(cwd: &Path, doc: &Doc) -> String {
    let path = Path::new(&doc.path);
    let shown = path.strip_prefix(cwd).unwrap_or(path).display();
    format!("--- Context from: {shown} ---\n{}\n--- End of Context from: {shown} ---", doc.text.trim())
}

/// None where nothing is kept from the model.
pub(super) fn permissions(settings: &Settings) -> Option<String> {
    let mode = settings.sandbox.mode;
    if mode == SandboxMode::DangerFullAccess || !settings.feature("include_permissions_instructions", true) {
        return None;
    }
    let writes = match mode {
        SandboxMode::ReadOnly => "nothing may be written".to_owned(),
        _ => {
            format!("only these folders may be written: {}", writable::folders(settings).join(", "))
        }
    };
    let network = if settings.sandbox.network { "is open to commands" } else { "is closed to commands" };
    let asking = match settings.approval {
        ApprovalPolicy::Never => "Nobody can be asked for more: find another way, or say what is missing.",
        _ => "The user is asked where more is needed.",
    };
    Some(format!(
        "Commands and edits run in a sandbox ({}): {writes}. The network {network}. If something fails with \"Operation not permitted\", \"Read-only file system\" or the like, the sandbox may be the reason; tell the user so when you report it. {asking}",
        mode.as_str()
    ))
}

pub(super) fn reminder(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

/// A sentence with a reminder below it.
pub(super) fn under(text: &str, reminded: &str) -> String {
    format!("{text}\n\n{}", reminder(reminded))
}

/// Of plan mode, where it is on.
pub(super) fn planning(cx: &Context) -> Option<String> {
    matches!(cx.settings.mode, Mode::Plan { .. }).then(plan_reminder)
}

pub(super) fn plan_reminder() -> String {
    reminder(include_str!("prompt/plan.md").trim_end())
}
