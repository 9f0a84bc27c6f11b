//! The differences that are kept on purpose, each because ours serves the user better. The table of `docs/comparison.md` is
//! this one.

/// Cases, the sections that may differ in them, and why.
pub(crate) struct Intended {
    pub(crate) cases: &'static [&'static str],
    /// Kinds of sections: `exit`, `stdout`, `stderr`, `requests`, `results`, `files`, `request`, `said`, `history`, `beside`.
    pub(crate) sections: &'static [&'static str],
    pub(crate) why: &'static str,
}

pub(crate) const ALL: &[Intended] = &[
    Intended {
        cases: &["command-refused-by-the-sandbox"],
        sections: &["stdout"],
        why: "Codex hides a command that the sandbox stopped at once; ours shows every command that ran",
    },
    Intended {
        cases: &["commands-in-parallel", "commands-in-parallel-and-quick", "request-goes-on-from-the-one-before"],
        sections: &["stdout"],
        why: "commands of one reply are announced in the order of the calls, at once; Codex holds a start back for up to 0.15 s and the order is chance",
    },
    Intended {
        cases: &["results-in-the-order-of-the-calls"],
        sections: &["stdout"],
        why: "a call that is refused does not hold up the command behind it",
    },
    Intended {
        cases: &["command-left-running", "command-stdin-closed"],
        sections: &["files"],
        why: "Codex's sandbox leaves empty folders behind in the workspace when a command outlives its yield time",
    },
    Intended {
        cases: &["command-interrupted-by-the-model"],
        sections: &["stdout", "results"],
        why: "Ctrl-C reaches the command and its trap; in Codex it ends the sandbox around it",
    },
    Intended {
        cases: &["command-without-login-shell"],
        sections: &["stdout", "results"],
        why: "the shell that was named runs under the name that was given, not under another folder's",
    },
    Intended {
        cases: &["sandbox-without-network"],
        sections: &["stdout", "results"],
        why: "commands have a loopback network of their own, so a program may talk to itself; the refusal comes at the far end",
    },
    Intended {
        cases: &["environment-of-commands", "environment-policy-none", "environment-policy-include-only"],
        sections: &["stdout", "results"],
        why: "ours adds AI_AGENT, and retry limits that make package tools give up at once while the network is off",
    },
    Intended {
        cases: &["result-of-bad-arguments"],
        sections: &["results"],
        why: "arguments that are no object are called that; Codex names a type of its own source",
    },
    Intended {
        cases: &["result-of-view-image"],
        sections: &["results"],
        why: "servers of other makers take images in user messages only, so the image follows in one",
    },
    Intended {
        cases: &["patch-add-over-a-file"],
        sections: &["stdout"],
        why: "a file that was there before is reported as updated, not as added",
    },
    Intended {
        cases: &["patch-tool-not-offered"],
        sections: &["stdout", "results", "files"],
        why: "every model may use apply_patch, not only those that Codex's catalog lists",
    },
    Intended {
        cases: &["output-cut-between-characters"],
        sections: &["stdout", "results"],
        why: "a character that falls between two reads stays whole; Codex breaks it in two marks",
    },
    Intended {
        cases: &["reasoning-two-parts"],
        sections: &["stdout"],
        why: "parts of a summary are kept apart by a blank line, as Markdown needs it",
    },
    Intended {
        cases: &["warning-unknown-key", "config-project-cannot-choose-provider", "agents-cut"],
        sections: &["stdout"],
        why: "said once, with file and line where there is one, and what to do",
    },
    Intended {
        cases: &["error-401", "error-403", "error-404"],
        sections: &["stdout", "requests"],
        why: "what cannot succeed is not asked again",
    },
    Intended {
        cases: &["error-429"],
        sections: &["stdout", "requests"],
        why: "a rate limit without a word on its kind passes, so it is asked again within the configured number",
    },
    Intended {
        cases: &["error-429-quota", "response-failed-quota"],
        sections: &["stdout"],
        why: "the provider's own words are added",
    },
    Intended {
        cases: &["error-429-usage-limit"],
        sections: &["stdout"],
        why: "no link to the account page of another maker",
    },
    Intended {
        cases: &["stream-cut", "stream-not-completed"],
        sections: &["stdout"],
        why: "what a broken try had said is not shown again with every try",
    },
    Intended {
        cases: &["response-incomplete-filter"],
        sections: &["stdout"],
        why: "a filtered answer is not called a lost connection",
    },
    Intended {
        cases: &["image-missing", "image-not-an-image"],
        sections: &["history"],
        why: "the model is told what is wrong with the file",
    },
    Intended {
        cases: &["last-message-of-a-failed-turn"],
        sections: &["files"],
        why: "the answer of an earlier run does not stay in the file as if it were this run's",
    },
    Intended {
        cases: &["config-profile-missing"],
        sections: &["exit", "stdout", "requests", "request"],
        why: "a profile that does not exist is an error that names the file, not ignored",
    },
    Intended {
        cases: &["config-legacy-profile-table"],
        sections: &["exit", "stdout", "requests", "request"],
        why: "profiles of older configurations go on working",
    },
    Intended {
        cases: &["config-summary-none"],
        sections: &["request"],
        why: "an empty `reasoning` is left out; some servers refuse it",
    },
    Intended {
        cases: &["compaction-with-own-prompt"],
        sections: &["request"],
        why: "an empty list of tools is left out; some servers refuse it",
    },
    Intended {
        cases: &["trust-outside-git", "trust-flag-outside-git"],
        sections: &["exit", "stdout", "requests", "results", "files"],
        why: "a folder that the user trusts needs no Git repository",
    },
    Intended {
        cases: &[
            "instructions-of-the-developer",
            "instructions-file",
            "instructions-legacy-key",
            "instructions-legacy-key-and-file",
        ],
        sections: &["said"],
        why: "servers of other makers know the role `system`; `developer` is for those that have it",
    },
    Intended {
        cases: &["environment-context"],
        sections: &["said"],
        why: "what ours protects is listed too, and :tmpdir only where TMPDIR is set",
    },
    Intended {
        cases: &["resume-with-another-model"],
        sections: &["stdout", "history"],
        why: "reasoning of one model is not sent to another, and the warning says so",
    },
    Intended {
        cases: &["resume-in-another-sandbox", "resume-from-another-folder", "resume-last-all"],
        sections: &["history", "said"],
        why: "where a server takes no instructions in mid-conversation, new permissions are told in a user message",
    },
    Intended {
        cases: &["human-command"],
        sections: &["stderr"],
        why: "the calls of a session are counted for people, with those that were mended and those that came to nothing",
    },
    Intended {
        cases: &["human-plan"],
        sections: &["stdout", "stderr", "requests"],
        why: "a model that is not of OpenAI's list and ends with open steps in its plan is asked about them once; calls are counted",
    },
    Intended {
        cases: &["human-failure"],
        sections: &["stderr"],
        why: "a hint says what to do, and what the turn cost is shown for failed turns too",
    },
    Intended {
        cases: &["human-patch"],
        sections: &["stderr"],
        why: "lines of Git object ids, which no repository holds, are left out of diffs",
    },
    Intended {
        cases: &["human-colours"],
        sections: &["stderr"],
        why: "output of commands is dimmed, so that the words of the model stand out",
    },
];

/// What is listed for a case.
pub(crate) fn of(case: &str) -> impl Iterator<Item = &'static Intended> {
    ALL.iter().filter(move |it| it.cases.contains(&case))
}

/// The table of docs/comparison.md.
pub(crate) fn markdown() -> String {
    let row = |it: &Intended| format!("| {} | {} | {} |\n", it.cases.join(", "), it.sections.join(", "), it.why);
    format!("| cases | what differs | why |\n| --- | --- | --- |\n{}", ALL.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_listed_case_exists() {
        let cases: Vec<&str> = crate::cases::all().iter().map(|case| case.name).collect();
        let unknown: Vec<&&str> = ALL.iter().flat_map(|it| it.cases).filter(|case| !cases.contains(case)).collect();
        assert_eq!(unknown, Vec::<&&str>::new());
    }

    #[test]
    fn the_manual_holds_this_list() {
        let manual = include_str!("../../../docs/comparison.md");
        assert!(manual.contains(&markdown()), "docs/comparison.md is stale; its table is:\n{}", markdown());
    }
}
