//! Harnesses made of others, from outside: what a model sees, and what it says back. Texts and names here are invented.
use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use protocol::{
    Answer, Block, BlockKind, Body, Captured, Content, Done, Entry, Exit, Outcome, Part, SandboxMode, SandboxPolicy,
    Stop, Usage, World,
};
use serde_json::json;

use super::*;
use crate::{
    Doc, Reading, SkillInfo, all, find,
    stage::{Stage, call, ran, reply, user},
};

fn base(id: &str) -> &'static dyn Harness {
    find(id).unwrap()
}

fn defined(text: &str) -> &'static Made {
    let definition = Definition::parse(text, None).unwrap();
    let base = base(&definition.base);
    definition.check(base).unwrap();
    Box::leak(Box::new(Made::defined("mine", base, Words::default(), definition)))
}

fn fault(text: &str) -> (Option<usize>, String) {
    let fault = match Definition::parse(text, None) {
        Ok(definition) => definition.check(base(&definition.base)).unwrap_err(),
        Err(fault) => fault,
    };
    (fault.line, fault.message)
}

fn shown(opening: &Opening) -> String {
    text(opening)
}

fn names(opening: &Opening) -> Vec<&str> {
    opening.tools.iter().map(|tool| tool.name.as_str()).collect()
}

const RENAMED: &str = r#"
base = "pi"
[tools.bash]
name = "run"
[tools.write]
offered = false
[answers]
failure = "{{answer}}\n({{tool}} failed)"
[tools.read.answers]
success = "<file>\n{{answer}}\n</file>"
"#;

#[test]
fn mistakes_are_named_with_the_next_step() {
    assert_eq!(
        fault("base = \"pi\"\nprompts = \"x\"\n"),
        (
            Some(2),
            "unknown field `prompts`, expected one of `base`, `description`, `prompt`, `tools`, `answers`".to_owned()
        )
    );
    assert_eq!(fault("tools = {}\n").1, "missing field `base`");
    let check = |text: &str, expected: &str| assert_eq!(fault(text), (None, expected.to_owned()));
    check("base = \"pi\"\n[tools.run]\n", "`tools.run`: pi has no tool `run`; it has bash, edit, read, write");
    check(
        "base = \"pi\"\n[tools.bash]\nname = \"read\"\n",
        "`tools.bash.name`: `read` is a tool of its own; choose another name",
    );
    check(
        "base = \"pi\"\n[tools.bash]\nname = \"a b\"\n",
        "`tools.bash.name`: `a b` is no name for a tool; use 1 to 64 letters, digits, `_`, `-`",
    );
    check(
        "base = \"pi\"\n[tools.bash]\nname = \"b\"\noffered = false\n",
        "`tools.bash`: it is not offered; remove its other keys",
    );
    check(
        "base = \"pi\"\n[tools.read.properties]\nfile = \"x\"\n",
        "`tools.read.properties`: no property `file`; there are path, offset, limit",
    );
    check(
        "base = \"pi\"\n[answers]\nsuccess = \"{{text}}\"\n",
        "`answers.success`: no place `{{text}}`; there are answer, tool",
    );
    assert!(
        fault("base = \"pi\"\nprompt = \"{{nope}}\"\n")
            .1
            .starts_with("`prompt`: no place `{{nope}}`; there are base_prompt, ")
    );
    let both = Definition::parse("base = \"pi\"\nprompt = \"a\"\n", Some("b".to_owned())).unwrap_err();
    assert_eq!(both.message, "`prompt` is set, and there is a prompt.md too: keep one of the two");
}

#[test]
fn nothing_changed_is_the_base_itself() {
    for harness in all() {
        let made = Made::defined("mine", *harness, Words::default(), Definition::default());
        let mut s = Stage::new(*harness, &[]);
        s.push(user("Fix it."));
        let cx = s.cx();
        assert_eq!(made.open(&cx), harness.open(&cx), "{}", harness.id());
        assert_eq!(made.say(&cx, &s.items), harness.say(&cx, &s.items), "{}", harness.id());
        assert_eq!(made.tune(&cx), harness.tune(&cx), "{}", harness.id());
        assert_eq!(made.wants(&cx, Moment::Opening), harness.wants(&cx, Moment::Opening), "{}", harness.id());
    }
}

/// Every harness takes another prompt, and then still tells instructions, skills and permissions somewhere.
#[test]
fn every_harness_takes_learned_words_and_loses_nothing_else() {
    for harness in all() {
        let mut tools: Vec<String> = offered(*harness).into_keys().collect();
        tools.sort();
        let words = Words {
            prompt: Some("ZEBRA in {{cwd}}".to_owned()),
            lead: vec!["LEAD".to_owned()],
            tools: tools.iter().map(|name| (name.clone(), format!("words of {name}"))).collect(),
            properties: BTreeMap::new(),
        };
        let made: &'static Made = Box::leak(Box::new(Made::learned(*harness, words)));
        let mut s = Stage::new(*harness, &[]);
        s.settings.sandbox = SandboxPolicy::new(SandboxMode::ReadOnly);
        s.settings.developer_instructions = Some("Be a developer.".to_owned());
        s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Instruction zebra.".into() }];
        s.skills = vec![SkillInfo {
            name: "pdf".into(),
            description: "Make pages".into(),
            file: "/h/pdf/SKILL.md".into(),
            scope: "user".into(),
        }];
        s.push(user("Fix it."));
        let whole = |harness: &dyn Harness| {
            let opening = harness.open(&s.cx());
            let said = harness.say(&s.cx(), &s.items);
            (shown(&opening) + &format!("{said:?}"), opening)
        };
        let ((own, _), (learned, opening)) = (whole(*harness), whole(made));
        assert!(learned.contains("ZEBRA in /w"), "{}: {learned}", harness.id());
        for fact in ["Instruction zebra.", "pdf", "read-only", "Be a developer."] {
            assert!(learned.contains(fact) || !own.contains(fact), "{}: {fact} is lost in {learned}", harness.id());
        }
        for tool in &opening.tools {
            let words = format!("words of {}", tool.name);
            assert!(tool.description.contains(&words), "{}: {} is {}", harness.id(), tool.name, tool.description);
        }
        // A sub-agent has the prompt of its kind.
        s.persona.name = "general-purpose".to_owned();
        assert!(!shown(&made.open(&s.cx())).contains("ZEBRA"), "{}", harness.id());
        s.persona.name.clear();
        s.settings.instructions = Some("The user's own.".to_owned());
        assert!(shown(&made.open(&s.cx())).contains("The user's own."), "{}", harness.id());
    }
}

#[test]
fn instructions_are_said_once_where_the_prompt_has_a_place_for_them() {
    for harness in all() {
        let made = defined(&format!("base = \"{}\"\nprompt = \"MINE\\n{{{{agents_md}}}}\"\n", harness.id()));
        let mut s = Stage::new(made, &[]);
        s.docs = vec![Doc { path: "/w/AGENTS.md".into(), project: true, text: "Instruction zebra.".into() }];
        s.push(user("Fix it."));
        let told = shown(&made.open(&s.cx())) + &format!("{:?}", made.say(&s.cx(), &s.items));
        assert_eq!(told.matches("Instruction zebra.").count(), 1, "{}: {told}", harness.id());
    }
}

#[test]
fn descriptions_of_properties_have_places_too() {
    let text = |text: &str| format!("base = \"pi\"\n[tools.bash.properties]\ncommand = \"{text}\"\n");
    let (_, message) = fault(&text("{{zzz}} in {{cwd}}"));
    assert!(message.starts_with("`tools.bash.properties.command`: ") && message.contains("zzz"), "{message}");
    let made = defined(&text("run in {{cwd}}"));
    let opening = made.open(&Stage::new(made, &[]).cx());
    let tool = opening.tools.iter().find(|tool| tool.name == "bash").unwrap();
    let protocol::ToolKind::Function(schema) = &tool.kind else { panic!("{tool:?}") };
    assert_eq!(schema.value()["properties"]["command"]["description"], "run in /w");
}

#[test]
fn blocks_before_the_prompt_are_the_originals() {
    let words = |lead: &[&str]| Words {
        prompt: Some("PROMPT".to_owned()),
        lead: lead.iter().map(|text| (*text).to_owned()).collect(),
        ..Words::default()
    };
    let blocks = |id: &str, lead: &[&str]| {
        let s = Stage::new(base(id), &[]);
        let opening = Made::learned(base(id), words(lead)).open(&s.cx());
        opening
            .instructions
            .iter()
            .map(|(_, content)| content.text().lines().next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(blocks("claude-code", &["I am."]), ["I am.", "PROMPT"]);
    assert_eq!(blocks("claude-code", &["One.", "Two."]), ["One.", "Two.", "PROMPT"]);
    assert_eq!(blocks("claude-code-bare", &[]), ["PROMPT", "CWD: /w"]);
}

#[test]
fn the_base_prompt_may_be_quoted() {
    for harness in all() {
        let definition = Definition {
            base: harness.id().to_owned(),
            prompt: Some("{{base_prompt}}\n\nAnd: {{harness}}, {{date_long}}, {{braces}}x}}.".to_owned()),
            ..Definition::default()
        };
        let made = Made::defined("mine", *harness, Words::default(), definition);
        let mut s = Stage::new(*harness, &[]);
        s.settings.features.insert("include_permissions_instructions".to_owned(), false);
        let own = shown(&harness.open(&s.cx()));
        let opening = shown(&made.open(&s.cx()));
        let tail = "\n\nAnd: mine, Monday, November 30, 2026, {{x}}.";
        assert_eq!(opening.matches(tail).count(), 1, "{}: {opening}", harness.id());
        let back = opening.replace(tail, "");
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&back), squeezed(&own), "{}", harness.id());
        assert!(made.wants(&s.cx(), Moment::Opening).contains(&Want::Date));
    }
}

#[test]
fn tools_have_other_names_outside_and_their_own_inside() {
    let made = defined(RENAMED);
    let mut s = Stage::new(made, &[("a.txt", "alpha\n")]);
    s.push(user("Fix it."));
    let opening = made.open(&s.cx());
    assert_eq!(names(&opening), ["read", "run", "edit"]);
    // The base's prompt does not speak of what is not offered.
    assert!(shown(&opening).contains("\n- edit: ") && !shown(&opening).contains("\n- write: "), "{opening:?}");
    s.said = made.say(&s.cx(), &s.items);

    // What the model calls by the new name, or nearly, is kept under the base's.
    for (written, kept) in [("run", "bash"), ("Run", "bash"), ("bash", "bash"), ("read", "read"), ("rum", "bash")] {
        let heard = made.hear(reply(vec![Block::call(call("c1", written, "{}"))], Stop::Calls));
        assert_eq!(heard.calls().next().unwrap().name, kept, "{written}");
    }
    let heard = made.hear(reply(vec![Block::call(call("c1", "run", r#"{"command":"false"}"#))], Stop::Calls));
    s.push(Body::Reply { reply: heard.clone(), total: Usage::default() });
    let Reading::Calls { calls, repaired, .. } = made.read(&s.cx(), &heard) else { panic!("no calls") };
    assert_eq!((calls[0].name.as_str(), repaired), ("bash", 0));
    let Next::Do(actions) = made.next(&s.cx(), &calls[0], &[]) else { panic!("no actions") };
    assert!(matches!(&actions[0], protocol::Action::World(World::Run(_))), "{actions:?}");
    let did = vec![Done { action: actions[0].clone(), outcome: ran("no", Exit::Code(1)), took: 1, at: 0, tag: 7 }];
    let Next::Answer(answer) = made.next(&s.cx(), &calls[0], &did) else { panic!("no answer") };
    assert!(answer.content.text().ends_with("\n(run failed)"), "{answer:?}");
    s.push(Body::Called { call: calls[0].id.clone(), did, answer });

    // The past is said in the new names.
    let entries = made.say(&s.cx(), &s.items[s.items.len() - 2..]);
    let said = entries.iter().find_map(|entry| match entry {
        Entry::Assistant(blocks) => blocks.iter().find_map(|block| match &block.kind {
            BlockKind::Call(call) => Some(call.name.as_str()),
            _ => None,
        }),
        _ => None,
    });
    let result = entries.iter().find_map(|entry| match entry {
        Entry::Results { results, .. } => Some(results[0].name.as_str()),
        _ => None,
    });
    assert_eq!((said, result), (Some("run"), Some("run")));

    // One that is not offered is not run.
    let next = made.next(&s.cx(), &call("c2", "write", r#"{"path":"b","content":"x"}"#), &[]);
    let note = "`write` is not offered by harness `mine`".to_owned();
    assert_eq!(next, Next::Reject { answer: Answer::failed("There is no tool `write`.\n(write failed)"), note });
}

#[test]
fn answers_stand_in_their_templates() {
    let made = defined(RENAMED);
    let mut s = Stage::new(made, &[("a.txt", "alpha\n"), ("p.png", "png")]);
    s.check("read", json!({"path": "a.txt"}), "<file>\nalpha\n\n</file>");
    let failed = s.call("read", r#"{"path":"gone"}"#).content.text();
    assert!(failed.ends_with("\n(read failed)"), "{failed}");
    s.outcomes.push_back(ran("fine", Exit::Code(0)));
    assert_eq!(s.call("bash", r#"{"command":"true"}"#).content.text(), "fine");
    // Pictures stay, the text stands around them.
    let parts = |template: &str, parts: Vec<Part>| match made.templated(template, "bash", Content::Parts(parts)) {
        Content::Parts(parts) => parts,
        Content::Plain(text) => panic!("{text}"),
    };
    let picture = Part::ToolReference("x".to_owned());
    let two = vec![Part::text("a"), picture.clone(), Part::text("b")];
    assert_eq!(parts("<{{answer}}>", two.clone()), [Part::text("<a"), picture.clone(), Part::text("b>")]);
    assert_eq!(parts("{{tool}}", two), [Part::text("run"), picture.clone()]);
    assert_eq!(parts("<{{answer}}>", vec![picture.clone()]), [Part::text("<>"), picture]);
}

#[test]
fn calls_that_a_server_leaves_in_the_text_are_found_by_their_new_names() {
    let made = defined("base = \"native\"\n[tools.exec_command]\nname = \"terminal\"\n");
    let mut s = Stage::new(made, &[]);
    s.push(user("Fix it."));
    let text = "<tool_call>\n{\"name\": \"terminal\", \"arguments\": {\"cmd\": \"ls\"}}\n</tool_call>";
    let heard = made.hear(reply(vec![Block::text(text)], Stop::End));
    assert_eq!(heard.text(), text);
    s.push(Body::Reply { reply: heard.clone(), total: Usage::default() });
    let Reading::Calls { calls, .. } = made.read(&s.cx(), &heard) else { panic!("no calls") };
    assert_eq!(calls[0].name, "exec_command");
}

#[test]
fn a_summary_begins_anew_in_the_same_words() {
    let made = defined(
        "base = \"claude-code\"\nprompt = \"MINE\"\n[tools.Bash]\nname = \"terminal\"\n[tools.Bash.properties]\ncommand = \"what to run\"\n",
    );
    let mut s = Stage::new(made, &[]);
    s.push(user("Fix it."));
    s.said = made.say(&s.cx(), &s.items);
    let (opening, _) = made.compacted(&s.cx(), "All done.");
    assert_eq!(opening, made.open(&s.cx()));
    assert!(names(&opening).contains(&"terminal") && shown(&opening).contains("MINE"));
    let tool = opening.tools.iter().find(|tool| tool.name == "terminal").unwrap();
    let protocol::ToolKind::Function(schema) = &tool.kind else { panic!("{tool:?}") };
    assert_eq!(schema.value()["properties"]["command"]["description"], "what to run");
}

#[test]
fn another_definition_is_another_dialect() {
    let dialect = |text: &str| defined(text).dialect().to_owned();
    assert_eq!(dialect(RENAMED), dialect(RENAMED));
    assert_ne!(dialect(RENAMED), dialect("base = \"pi\"\n"));
    assert_eq!(Made::learned(base("pi"), Words::default()).dialect(), "pi");
    assert_eq!(
        defined(RENAMED).guards(&Stage::new(base("pi"), &[]).cx()),
        base("pi").guards(&Stage::new(base("pi"), &[]).cx())
    );
}

#[test]
fn what_was_captured_counts_by_its_exit() {
    let ran = |exit| Outcome::Ran { output: Captured::whole(""), exit, cwd_after: None, task: None, left: false };
    let check = |outcome: Outcome, failed: bool| assert_eq!(has_failed(&outcome), failed, "{outcome:?}");
    check(ran(Exit::Code(0)), false);
    check(ran(Exit::Running), false);
    check(ran(Exit::Code(2)), true);
    check(ran(Exit::TimedOut(5)), true);
    check(Outcome::Interrupted { output: None }, true);
    check(Outcome::Ok, false);
}
