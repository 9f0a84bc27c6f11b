//! Texts of an invented original, heard in two rooms.
use std::{collections::BTreeMap, sync::Arc};

use harnesses::made::Learned;
use pretty_assertions::assert_eq;

use super::{
    align::{Aligned, Known, Ours, align},
    is_header,
    room::Room,
    speaks_of,
};

/// What an original says in a room, by its folder, home and token.
fn both(say: impl Fn(&Room) -> String, ours: &Ours) -> Aligned {
    let rooms = [0, 1].map(|n| Room::new(n, &Arc::default()).unwrap());
    let known = [0, 1].map(|n| Known::of(&rooms[n], "model-x", "2026-11-30", "6.1.2", None));
    let texts = [0, 1].map(|n| say(&rooms[n]));
    align([&texts[0], &texts[1]], &known, ours)
}

#[track_caller]
fn check(say: impl Fn(&Room) -> String, around: &str, text: &str, cut: &[&str]) {
    let ours = Ours { around: around.to_owned(), ..Ours::default() };
    let found = both(say, &ours);
    let expected = Aligned { text: text.to_owned(), cut: cut.iter().map(|cut| (*cut).to_owned()).collect() };
    assert_eq!(found, expected);
}

#[test]
fn what_is_of_the_room_gets_a_place() {
    check(|_| "You are x.\n\nBe brief.".to_owned(), "", "You are x.\n\nBe brief.", &[]);
    check(
        |room| {
            format!(
                "In `{}` on {}, {}.\nPlatform: linux 6.1.2, model-x, not model-xy",
                room.cwd.display(),
                room.branch,
                "Mon Nov 30 2026"
            )
        },
        "",
        "In `{{cwd}}` on {{branch}}, {{date_short}}.\nPlatform: {{platform}} {{os_release}}, {{model}}, not model-xy",
        &[],
    );
    check(|_| "A place is written {{cwd}}.".to_owned(), "", "A place is written {{braces}}cwd}}.", &[]);
}

#[test]
fn what_our_harness_says_itself_goes_with_its_block() {
    check(
        |room| {
            format!(
                "Text.\n\nYou are model-x.\nThis is it:\n<env>\n  Folder: {}\n  Shell: bash\n  Date: 2026-11-30\n</env>\nThere are skills.\n<available_skills>\n  one\n</available_skills>\n\n# Tone\nBrief.",
                room.cwd.display()
            )
        },
        "on Mon Nov 30 2026, model-x, zqwlearnone-work",
        "Text.\n\n\n# Tone\nBrief.",
        &["`There are skills.` (63 characters)"],
    );
    check(
        |room| format!("Guide.\nDate: 2026-11-30\nFolder: {}", room.cwd.display()),
        "",
        "Guide.\nDate: {{date}}\nFolder: {{cwd}}",
        &[],
    );
}

#[test]
fn sections_on_files_of_the_program_go_and_are_told() {
    check(
        |room| {
            format!(
                "# A\nx\n\n# Memory\nIt is in {}/.x/memory.\n## Kinds\n```\n---\n# no heading\n```\n\n# B\ny",
                room.home.display()
            )
        },
        "",
        "# A\nx\n\n# B\ny",
        &["`# Memory` (73 characters)"],
    );
    check(
        |_| {
            "a\n\n# Skills\nread them\n## Built-in\n- one\n  Path: builtin://one\n\n# B\n<total_tokens>5</total_tokens>"
                .to_owned()
        },
        "",
        "a\n\n# B",
        &["`# Skills` (60 characters)"],
    );
    check(
        |room| format!("a\n\n--- Context from: {0}.md ---\nmine\n--- End of Context from: {0}.md ---", room.token),
        "",
        "a",
        &["`--- Context from: zqwlearnone.md ---` (86 characters)"],
    );
    check(|room| format!("a\nid {}\nb", room.token), "", "a\nb", &["`id zqwlearnone` (15 characters)"]);
}

#[test]
fn inner_sections_get_the_places_of_the_harness() {
    let ours = Ours {
        listing: Some("{{LISTING}}"),
        docs: Some("{{AGENTS}}"),
        sandbox: Some("{{SANDBOX}}"),
        ..Ours::default()
    };
    let found = both(
        |room| {
            let (one, tree) = match room.token.ends_with("one") {
                true => (true, format!("├── a-{}.txt\n└── AGENTS.md", room.token)),
                false => (false, format!("├── AGENTS.md\n└── z-{}.txt", room.token)),
            };
            let _ = one;
            format!(
                "You run on **Linux**. The environment is not a sandbox: beware.\n\n```\n├── .git/\n{tree}\n```\n\nProject:\n<!-- From: {}/AGENTS.md -->\nInstruction {} of this project.\n\nEnd.",
                room.cwd.display(),
                room.token
            )
        },
        &ours,
    );
    let text = "You run on **Linux**. {{SANDBOX}}\n\n```\n{{LISTING}}\n```\n\nProject:\n{{AGENTS}}\n\nEnd.";
    assert_eq!(found, Aligned { text: text.to_owned(), cut: Vec::new() });
}

#[test]
fn headers_are_no_prompt_and_names_are_found_in_it() {
    assert!(is_header("x-some-header: a=b; c=d;"));
    assert!(!is_header("x-ray: the tool\nfor pictures") && !is_header("You are x."));
    assert!(speaks_of("use `task` or WebSearch", "task") && speaks_of("use `task` or WebSearch", "WebSearch"));
    assert!(!speaks_of("the task at hand", "task") && !speaks_of("Read this", "Read"));
}

#[test]
fn the_file_holds_what_was_learned() {
    let learned = Learned {
        harness: "pi".to_owned(),
        original: "pi".to_owned(),
        version: "1".to_owned(),
        date: "2026-11-30".to_owned(),
        wire: protocol::WireId::Chat,
        model: "m".to_owned(),
        prompt: vec!["a".to_owned()],
        tools: BTreeMap::new(),
    };
    let root = tempfile::tempdir().unwrap();
    let home = config::Home::at(root.path().join("home"));
    let file = super::store::write(&home, &learned).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(Learned::parse(&std::fs::read_to_string(&file).unwrap()), Ok(learned));
    assert_eq!(super::store::forget(&home, "pi"), Ok(true));
    assert_eq!(super::store::forget(&home, "pi"), Ok(false));
}
