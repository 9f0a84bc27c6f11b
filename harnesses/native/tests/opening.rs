//! Prompt, tools, context, and what a later turn says of changed settings; how a request is tuned.
use pretty_assertions::assert_eq;
use protocol::{Blob, Content, Notice, ToolKind};

use super::*;
use crate::Moment;

#[test]
fn opening() {
    let mut stage = Stage::new();
    stage.settings.features.insert("tools.update_plan".into(), true);
    stage.settings.features.insert("request_user_input".into(), true);
    let opening = Native.open(&stage.cx());
    let names: Vec<&str> = opening.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        ["exec_command", "write_stdin", "update_plan", "request_user_input", "apply_patch", "view_image"]
    );
    insta::assert_json_snapshot!("tools", opening.tools);
    let prompt = opening.instructions[0].1.text();
    assert!((6_000..9_000).contains(&prompt.len()), "{}", prompt.len());
}

#[test]
fn tools_follow_the_switches() {
    let names = |change: &dyn Fn(&mut Stage)| {
        let mut stage = Stage::new();
        change(&mut stage);
        let tools = Native.open(&stage.cx()).tools;
        tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&|_| {}), "exec_command write_stdin apply_patch view_image");
    assert_eq!(names(&|s| s.model.images = false), "exec_command write_stdin apply_patch");
    assert_eq!(names(&|s| _ = s.settings.features.insert("shell_tool".into(), false)), "apply_patch view_image");
    assert_eq!(names(&|s| s.persona.tools = Some(vec!["exec_command".into()])), "exec_command");
    assert_eq!(names(&|s| s.caps.server_tools = true), "exec_command write_stdin apply_patch view_image web_search");
}

#[test]
fn schemas_are_closed_objects_without_patterns() {
    fn walk(value: &serde_json::Value) {
        if value["type"] == "object" {
            assert!(value["properties"].is_object() && value["additionalProperties"] == false, "{value}");
        }
        assert!(value.get("pattern").is_none() && value.get("format").is_none(), "{value}");
        match value {
            serde_json::Value::Object(map) => map.values().for_each(walk),
            serde_json::Value::Array(list) => list.iter().for_each(walk),
            _ => {}
        }
    }
    for tool in Native.open(&Stage::new().cx()).tools {
        match tool.kind {
            ToolKind::Function(schema) | ToolKind::Custom { fallback: schema, .. } => walk(&schema.value()),
            ToolKind::Server { .. } => {}
        }
    }
}

#[test]
fn first_request() {
    let mut stage = Stage::new();
    stage.settings.developer_instructions = Some("DEV".into());
    stage.docs = vec![
        Doc { path: "/h/AGENTS.md".into(), project: false, text: "global\n".into() },
        Doc { path: "/w/AGENTS.md".into(), project: true, text: "be nice\n".into() },
    ];
    let skill = |name: &str, file: &str| SkillInfo {
        name: name.into(),
        description: format!("does {name}"),
        file: file.into(),
        scope: "user".into(),
    };
    stage.skills = vec![skill("foo", "/w/.agents/skills/foo/SKILL.md"), skill("bar", "/h/skills/bar/SKILL.md")];
    let mut settings = settings();
    settings.developer_instructions = Some("DEV".into());
    let mut bodies = facts();
    bodies[0] = Body::Settings(Box::new(settings));
    let image = Part::Image {
        blob: Blob { name: Some("img.png".into()), ..Blob::new("b1", "image/png", [1u8]) },
        detail: None,
    };
    bodies.push(Body::User { origin: Origin::User, parts: vec![Part::text("What is this?"), image] });
    let entries = stage.step(bodies);
    let told = &Native.open(&stage.cx()).instructions[1..];
    insta::assert_json_snapshot!("first_request", (told, entries));
}

#[test]
fn permissions_by_mode() {
    for (mode, tag) in [(SandboxMode::ReadOnly, "read_only"), (SandboxMode::DangerFullAccess, "full_access")] {
        let mut stage = Stage::new();
        let mut now = settings();
        now.sandbox = SandboxPolicy::new(mode);
        now.approval = ApprovalPolicy::OnRequest;
        let entries = stage.step(vec![Body::Settings(Box::new(now)), user("go")]);
        let told = &Native.open(&stage.cx()).instructions[1..];
        insta::assert_json_snapshot!(tag, (told, entries));
    }
}

#[test]
fn blocks_can_be_switched_off() {
    let mut stage = Stage::new();
    let mut now = settings();
    for name in ["include_permissions_instructions", "include_environment_context"] {
        now.features.insert(name.into(), false);
    }
    let entries = stage.step(vec![Body::Settings(Box::new(now)), user("go")]);
    assert_eq!(entries, [Entry::User(Content::Parts(vec![Part::text("go")]))]);
    assert_eq!(Native.open(&stage.cx()).instructions.len(), 1);
}

#[test]
fn later_turns_say_only_what_changed() {
    let mut stage = Stage::new();
    let mut bodies = facts();
    bodies.push(user("one"));
    stage.step(bodies);
    let same = stage.step(vec![reply(vec![Block::text("did")]), Body::Notice(Notice::TurnEnded), user("two")]);
    let expected = [Entry::Assistant(vec![Block::text("did")]), Entry::User(Content::Parts(vec![Part::text("two")]))];
    assert_eq!(same, expected);

    let mut now = settings();
    now.sandbox = SandboxPolicy::new(SandboxMode::ReadOnly);
    let date = Fact::Date { date: "2026-12-01".into(), zone: "Etc/UTC".into() };
    let bodies = vec![reply(vec![Block::text("did")]), Body::Settings(Box::new(now)), Body::Fact(date), user("three")];
    insta::assert_json_snapshot!("changed_settings", stage.step(bodies));
}

#[test]
fn chat_gets_strings() {
    let mut stage = Stage::new();
    stage.settings.wire = WireId::Chat;
    let entries = stage.step(vec![user("go")]);
    assert_eq!(entries.last(), Some(&Entry::User(Content::Plain("go".into()))));
}

#[test]
fn tuning() {
    let mut stage = Stage::new();
    let tune = Native.tune(&stage.cx());
    assert_eq!((tune.reasoning.effort.as_deref(), tune.reasoning.summary.as_deref()), (None, Some("auto")));
    assert_eq!((tune.parallel, tune.choose_tools, tune.cache_key.as_deref()), (Some(true), true, Some("thread-1")));
    assert_eq!((tune.verbosity, tune.max_output), (None, None));
    stage.model.known = true;
    stage.model.effort = Some("medium".into());
    stage.model.verbosity = Some("low".into());
    stage.settings.output_schema = Some(protocol::Raw::parse("{}").unwrap());
    let tune = Native.tune(&stage.cx());
    assert_eq!((tune.reasoning.effort.as_deref(), tune.reasoning.summary), (Some("medium"), None));
    assert_eq!(
        (tune.verbosity.as_deref(), tune.schema.map(|(name, _)| name).as_deref()),
        (Some("low"), Some("codex_output_schema"))
    );
}

#[test]
fn wanted_facts() {
    let mut stage = Stage::new();
    use protocol::Want;
    assert_eq!(Native.wants(&stage.cx(), Moment::Opening), [Want::Date, Want::Shell, Want::Roots]);
    stage.step(facts());
    assert_eq!(Native.wants(&stage.cx(), Moment::Turn), [Want::Date]);
    stage.step(vec![Body::Settings(Box::new(settings()))]);
    assert_eq!(Native.wants(&stage.cx(), Moment::Turn), [Want::Date, Want::Roots]);
    assert_eq!(Native.wants(&stage.cx(), Moment::Step), []);
}

#[test]
fn temporary_folders_are_writable_but_no_workspace() {
    let mut stage = Stage::new();
    let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect();
    let roots = Fact::Roots {
        writable: paths(&["/w", "/tmp", "/var/t"]),
        slash_tmp: true,
        tmpdir: true,
        protected: paths(&["/tmp/.git", "/w/.git"]),
    };
    let entries = stage.step(vec![Body::Fact(roots), user("go")]);
    let Entry::User(known) = &entries[0] else { panic!("{entries:?}") };
    let expected = "<filesystem><workspace_roots><root>/w</root></workspace_roots><permission_profile type=\"managed\">\
        <file_system type=\"restricted\"><entry access=\"read\"><special>:root</special></entry>\
        <entry access=\"write\"><path>/w</path></entry><entry access=\"write\"><special>:slash_tmp</special></entry>\
        <entry access=\"write\"><special>:tmpdir</special></entry><entry access=\"read\"><path>/w/.git</path></entry>\
        </file_system></permission_profile></filesystem>";
    assert!(known.text().contains(expected), "{}", known.text());
    let told = Native.open(&stage.cx()).instructions[1].1.text();
    assert!(told.contains(" The writable roots are `/tmp`, `/var/t`, `/w`.\n"), "{told}");
}
