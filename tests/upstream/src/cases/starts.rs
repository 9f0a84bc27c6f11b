//! Starts that fail before the model is asked: exit status, and that stdout stays clean. Words on stderr are our own.
use crate::case::{Case, UNASKED, case, turn};

pub(crate) fn cases() -> Vec<Case> {
    let started = |name, args: &[&str]| case(name).exec(args, UNASKED);
    vec![
        case("start-bad-flag").argv(&["exec", "--json", "--no-such-flag", "do it"], UNASKED),
        case("start-bad-sandbox-mode").argv(&["exec", "--json", "-s", "everything", "do it"], UNASKED),
        case("start-full-auto").argv(&["exec", "--json", "--full-auto", "do it"], UNASKED),
        case("start-ask-for-approval").argv(&["exec", "--json", "-a", "never", "do it"], UNASKED),
        started("start-override-without-equals", &["-c", "model", "do it"]),
        started("start-override-with-empty-key", &["-c", "=x", "do it"]),
        started("start-override-of-wrong-type", &["-c", "project_doc_max_bytes=\"many\"", "do it"]),
        started("start-unknown-feature", &["--enable", "no_such_feature", "do it"]),
        started("start-in-a-missing-folder", &["-C", "missing", "do it"]),
        started("start-schema-missing", &["--output-schema", "missing.json", "do it"]),
        started("start-schema-not-json", &["--output-schema", "bad.json", "do it"]).file("bad.json", "{"),
        started("start-last-message-not-writable", &["-o", "missing/out.txt", "do it"]),
        started("start-resume-of-an-unknown-id", &["resume", "0197e5a0-1111-7222-8333-444455556666", "do it"]),
        turn("start-untrusted-outside-git", UNASKED).no_git().untrusted(),
        started("start-no-prompt", &["-"]),
        started("start-blank-prompt", &["-"]).stdin(" \n\n"),
        started("start-config-not-toml", &[]).whole_config("model = \"a\nb = 1\n"),
        started("start-config-wrong-enum", &[]).config("sandbox_mode = \"everything\""),
        started("start-config-wrong-type", &[]).config("model_context_window = \"big\""),
        started("start-strict-config", &["--strict-config"]).config("no_such_key = 1"),
        started("start-unknown-provider", &["-c", "model_provider=\"nope\"", "do it"]),
        started("start-instructions-missing", &[]).config("model_instructions_file = \"missing.md\""),
        started("start-legacy-profile-key", &[]).config("profile = \"old\""),
    ]
}
