//! The gate: an Action is allowed, asked about, or refused before anything happens. What is possible is the sandbox's business;
//! the gate decides what is asked.
use protocol::{Action, ApprovalPolicy, Mode, Refusal, SandboxMode, Settings, World};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// Do it, inside the sandbox.
    Go,
    /// Ask first. Allowed, it runs outside the sandbox if `outside`.
    Ask {
        outside: bool,
    },
    Refuse(Refusal),
}

/// Judges one Action under the settings in force. A page may be fetched in every sandbox mode, and in plan mode: that is the
/// program's own request, which reaches no private address, and no command's.
pub(crate) fn judge(action: &Action, settings: &Settings) -> Verdict {
    let Action::World(world) = action else { return Verdict::Go };
    if let Mode::Plan { file } = &settings.mode
        && let World::Change(changes) = world
        && changes.iter().any(|change| settings.cwd.join(&change.path) != *file || change.to.is_some())
    {
        return Verdict::Refuse(Refusal::PlanMode { file: file.clone() });
    }
    let full = settings.sandbox.mode == SandboxMode::DangerFullAccess;
    match (world, settings.approval) {
        (World::Run(run), ApprovalPolicy::Never) if run.escalate.is_some() && !full => {
            Verdict::Refuse(Refusal::NobodyToAsk { escalation: true })
        }
        (_, ApprovalPolicy::Never) => Verdict::Go,
        (World::Run(run), _) if run.escalate.is_some() && !full => Verdict::Ask { outside: true },
        (World::Run(_) | World::Change(_) | World::Fetch { .. }, ApprovalPolicy::Untrusted) => {
            Verdict::Ask { outside: false }
        }
        _ => Verdict::Go,
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Change, Escalation, Expect, New, Run, SandboxPolicy};

    use super::*;

    fn settings(approval: ApprovalPolicy, sandbox: SandboxMode, mode: Mode) -> Settings {
        Settings {
            provider: "p".into(),
            model: "m".into(),
            wire: protocol::WireId::Chat,
            harness: "native".into(),
            cwd: "/w".into(),
            sandbox: SandboxPolicy::new(sandbox),
            approval,
            mode,
            effort: None,
            summary: None,
            verbosity: None,
            instructions: None,
            developer_instructions: None,
            compact_prompt: None,
            output_schema: None,
            output_limit: None,
            max_output: None,
            features: Default::default(),
        }
    }

    #[test]
    fn what_is_asked() {
        use ApprovalPolicy::*;
        use SandboxMode::*;
        let plain = Action::World(World::Run(Run::new("ls")));
        let mut beyond = Run::new("ls");
        beyond.escalate = Some(Escalation { justification: None, prefix: Vec::new() });
        let beyond = Action::World(World::Run(beyond));
        let refused = Verdict::Refuse(Refusal::NobodyToAsk { escalation: true });
        let table = [
            (&plain, Never, WorkspaceWrite, Verdict::Go),
            (&beyond, Never, WorkspaceWrite, refused),
            (&beyond, Never, DangerFullAccess, Verdict::Go),
            (&plain, OnRequest, ReadOnly, Verdict::Go),
            (&beyond, OnRequest, ReadOnly, Verdict::Ask { outside: true }),
            (&plain, Untrusted, WorkspaceWrite, Verdict::Ask { outside: false }),
        ];
        for (action, approval, sandbox, expected) in table {
            assert_eq!(judge(action, &settings(approval, sandbox, Mode::Default)), expected, "{action:?} {approval:?}");
        }
    }

    #[test]
    fn plan_mode_lets_only_the_plan_file_be_changed() {
        let change = |path: &str| {
            let new = New::Whole { text: String::new(), like: None };
            Action::World(World::Change(vec![Change { path: path.into(), to: None, new, expect: Expect::Anything }]))
        };
        let plan =
            settings(ApprovalPolicy::Never, SandboxMode::WorkspaceWrite, Mode::Plan { file: "/w/plan.md".into() });
        assert_eq!(judge(&change("plan.md"), &plan), Verdict::Go);
        assert!(matches!(judge(&change("a.txt"), &plan), Verdict::Refuse(Refusal::PlanMode { .. })));
    }
}
