//! Layers of configuration, trust, instructions of user and project, what commands may write, what they inherit.
use serde_json::json;

use crate::{
    case::{Case, Look::*, case, turn},
    model::{call, run, say},
};

const MODEL: &[&str] = &["/model", "/reasoning"];

pub(crate) fn cases() -> Vec<Case> {
    let hello = || [say("Hello.")];
    let untrusted = |name, steps: [crate::model::Reply; 2]| case(name).argv(&["exec", "--json", "do it"], steps);
    let plain_shell = |cmd: &str| call("exec_command", json!({"cmd": cmd, "login": false}));
    let agents = |text: &str| format!("AGENTS-MARK {text}\n");
    vec![
        // Layers.
        case("config-override-beats-file")
            .exec(&["-c", "model=other-model", "-c", "model_reasoning_effort=\"low\"", "do it"], hello())
            .config("model_reasoning_effort = \"high\"")
            .look(Request(MODEL)),
        case("config-later-override-wins")
            .exec(&["-c", "model=one", "-c", "model=two", "do it"], hello())
            .look(Request(MODEL)),
        case("config-flag-beats-override")
            .exec(&["-c", "model=one", "-m", "two", "do it"], hello())
            .look(Request(MODEL)),
        case("config-dotted-override").exec(&["-c", "model_providers.stub.query_params.a=\"b\"", "do it"], hello()),
        case("config-profile-file")
            .exec(&["-p", "fast", "do it"], hello())
            .setting("fast.config.toml", "model = \"fast-model\"\nmodel_reasoning_effort = \"low\"\n")
            .look(Request(MODEL)),
        case("config-override-beats-profile")
            .exec(&["-p", "fast", "-c", "model=other-model", "do it"], hello())
            .setting("fast.config.toml", "model = \"fast-model\"\n")
            .look(Request(MODEL)),
        case("config-profile-missing").exec(&["-p", "nosuch", "do it"], hello()).look(Request(MODEL)),
        case("config-legacy-profile-table")
            .exec(&["-p", "old", "do it"], hello())
            .tables("[profiles.old]\nmodel = \"old-model\"")
            .look(Request(MODEL)),
        turn("config-profile-table-unused", hello())
            .tables("[profiles.old]\nmodel = \"old-model\"")
            .look(Request(MODEL)),
        turn("config-of-a-trusted-project", hello())
            .file("<<dot>>/config.toml", "model = \"project-model\"\n")
            .look(Request(MODEL)),
        turn("config-of-an-untrusted-project", hello())
            .untrusted()
            .file("<<dot>>/config.toml", "model = \"project-model\"\n")
            .look(Request(MODEL)),
        case("config-of-a-folder-of-the-project")
            .exec(&[], hello())
            .cwd("sub")
            .file("<<dot>>/config.toml", "model = \"project-model\"\n")
            .file("sub/<<dot>>/config.toml", "model_reasoning_effort = \"low\"\n")
            .look(Request(MODEL)),
        turn("config-project-cannot-choose-provider", hello())
            .file("<<dot>>/config.toml", "model_provider = \"openai\"\n")
            .look(Request(MODEL)),
        case("config-effort-and-summary")
            .exec(&[], hello())
            .config("model_reasoning_effort = \"high\"\nmodel_reasoning_summary = \"detailed\"")
            .look(Request(MODEL)),
        case("config-summary-none")
            .exec(&[], hello())
            .config("model_reasoning_summary = \"none\"")
            .look(Request(MODEL)),
        case("config-verbosity-of-a-known-model")
            .exec(&[], hello())
            .model("gpt-5.5")
            .config("model_verbosity = \"high\"")
            .look(Request(&["/text"])),
        case("config-ignore-user-config")
            .exec(
                &[
                    "--ignore-user-config",
                    "-c",
                    "model=m",
                    "-c",
                    "model_provider=\"x\"",
                    "-c",
                    "model_providers.x={name=\"X\",base_url=\"<<url>>\",wire_api=\"responses\"}",
                    "do it",
                ],
                hello(),
            )
            .config("model_reasoning_effort = \"high\"")
            .look(Request(MODEL)),
        // Trust.
        untrusted("trust-commands-may-write", [run("sleep 0.4; echo x > x.txt"), say("Done.")]),
        untrusted("trust-none-commands-may-not-write", [run("sleep 0.4; echo x > x.txt"), say("Done.")]).untrusted(),
        untrusted("trust-outside-git", [run("sleep 0.4; echo x > x.txt"), say("Done.")]).no_git(),
        case("trust-flag")
            .argv(&["exec", "--json", "--trust", "do it"], [run("sleep 0.4; echo x > x.txt"), say("Done.")])
            .untrusted()
            .argv(&["exec", "--json", "do it"], [run("sleep 0.4; echo y > y.txt"), say("Done.")]),
        case("trust-flag-outside-git").argv(&["exec", "--json", "--trust", "do it"], hello()).untrusted().no_git(),
        case("trust-skip-check")
            .argv(&["exec", "--json", "--skip-git-repo-check", "do it"], hello())
            .untrusted()
            .no_git(),
        // Instructions.
        turn("agents-of-the-project", hello()).file("AGENTS.md", agents("one")).look(Said("AGENTS-MARK")),
        case("agents-of-folders")
            .exec(&[], hello())
            .cwd("sub/deep")
            .file("AGENTS.md", agents("root"))
            .file("sub/AGENTS.md", agents("sub"))
            .file("sub/deep/AGENTS.md", "")
            .file("other/AGENTS.md", agents("other"))
            .look(Said("AGENTS-MARK")),
        turn("agents-override", hello())
            .file("AGENTS.md", agents("plain"))
            .file("AGENTS.override.md", agents("override"))
            .look(Said("AGENTS-MARK")),
        turn("agents-fallback-name", hello())
            .config("project_doc_fallback_filenames = [\"RULES.md\"]")
            .file("RULES.md", agents("rules"))
            .look(Said("AGENTS-MARK")),
        turn("agents-of-the-user", hello()).setting("AGENTS.md", "AGENTS-MARK of the user\n").look(Said("AGENTS-MARK")),
        turn("agents-of-user-and-project", hello())
            .setting("AGENTS.md", "AGENTS-MARK of the user\n")
            .file("AGENTS.md", agents("project"))
            .look(Said("AGENTS-MARK")),
        turn("agents-in-blank-lines", hello())
            .setting("AGENTS.md", "\n\n  AGENTS-MARK of the user  \n\n")
            .file("AGENTS.md", "\n\n  AGENTS-MARK of the project  \n\n")
            .look(Said("AGENTS-MARK")),
        turn("agents-untrusted", hello()).untrusted().file("AGENTS.md", agents("one")).look(Said("AGENTS-MARK")),
        turn("agents-cut", hello())
            .config("project_doc_max_bytes = 20")
            .file("AGENTS.md", agents("and much more of it"))
            .look(Said("AGENTS-MARK")),
        turn("agents-off", hello())
            .config("project_doc_max_bytes = 0")
            .file("AGENTS.md", agents("one"))
            .look(Said("AGENTS-MARK")),
        turn("agents-claude-md-is-not-read", hello()).file("CLAUDE.md", agents("claude")).look(Said("AGENTS-MARK")),
        turn("instructions-of-the-developer", hello())
            .config("developer_instructions = \"DEV-MARK be kind\"")
            .look(Said("DEV-MARK")),
        turn("instructions-file", hello())
            .config("model_instructions_file = \"<<work>>/base.md\"")
            .file("base.md", "BASE-MARK You are a duck.\n")
            .look(Said("BASE-MARK")),
        turn("instructions-legacy-key", hello()).config("instructions = \"OLD-MARK\"").look(Said("OLD-MARK")),
        turn("instructions-legacy-key-and-file", hello())
            .config("instructions = \"OLD-MARK\"\nmodel_instructions_file = \"<<work>>/base.md\"")
            .file("base.md", "BASE-MARK You are a duck.\n")
            .look(Said("-MARK")),
        turn("environment-context", hello()).look(Said("<environment_context>")),
        case("environment-context-read-only")
            .argv(&["exec", "--json", "-s", "read-only", "do it"], hello())
            .look(Said("<environment_context>")),
        case("environment-context-full-access")
            .argv(&["exec", "--json", "-s", "danger-full-access", "do it"], hello())
            .look(Said("<environment_context>")),
        // What commands may write and inherit.
        case("sandbox-add-dir")
            .exec(
                &["--add-dir", "<<home>>/more", "do it"],
                [run("echo x > $HOME/more/x; cat $HOME/more/x"), say("Done.")],
            )
            .file("../home/more/keep", ""),
        turn("sandbox-writable-roots", [run("echo x > $HOME/more/x; cat $HOME/more/x"), say("Done.")])
            .file("../home/more/keep", "")
            .tables("[sandbox_workspace_write]\nwritable_roots = [\"<<home>>/more\"]"),
        turn("sandbox-exclude-slash-tmp", [run("sleep 0.4; echo x > /tmp/upstream-excluded"), say("Done.")])
            .tables("[sandbox_workspace_write]\nexclude_slash_tmp = true"),
        case("sandbox-full-access")
            .argv(
                &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "do it"],
                [run("echo x > .git/x && cat .git/x; echo x > ../beside.txt"), say("Done.")],
            )
            .look(Beside("beside.txt")),
        turn(
            "environment-policy-none",
            [plain_shell("env | sed 's/=.*//' | grep -v -e CODEX -e INTERPRETER | sort"), say("Done.")],
        )
        .env("MY_VAR", "v")
        .tables("[shell_environment_policy]\ninherit = \"none\"\nset = { A = \"1\", PATH = \"/usr/bin:/bin\" }"),
        turn("environment-policy-excludes", [run("echo $MY_API_KEY-$MY_VAR-$OTHER"), say("Done.")])
            .env("MY_VAR", "v")
            .env("MY_API_KEY", "k")
            .env("OTHER", "o")
            .tables("[shell_environment_policy]\nignore_default_excludes = false\nexclude = [\"OTH*\"]"),
        turn(
            "environment-policy-include-only",
            [plain_shell("env | sed 's/=.*//' | grep -v -e CODEX -e INTERPRETER | sort"), say("Done.")],
        )
        .env("MY_VAR", "v")
        .tables("[shell_environment_policy]\ninclude_only = [\"PATH\", \"MY_*\"]"),
    ]
}
