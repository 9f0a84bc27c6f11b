use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::Project as Here;
use crate::{Trust, TrustLevel};

/// A home, a user's folder and a repository with these SKILL.md files; → scope, name and path of what is found from `repo/a`.
fn check(config: &str, trusted: bool, files: &[(&str, &str)], expected: &[(SkillScope, &str, &str)]) -> Vec<Warning> {
    let guard = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(guard.path()).unwrap();
    fs::create_dir_all(top.join("repo/.git/refs")).unwrap();
    fs::create_dir_all(top.join("repo/a")).unwrap();
    for (path, text) in files {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let config: Config = toml::from_str(&config.replace("TOP", top.to_str().unwrap())).unwrap();
    let mut project = Here::find(&top.join("repo/a"), &config.root_markers());
    project.trust = Trust { level: trusted.then_some(TrustLevel::Trusted), key: None };
    let home = Home { dir: top.join("home"), codex: None, user: Some(top.join("user")) };
    let found = discover_skills(&home, &config, &project);
    let told: Vec<_> =
        found.skills.iter().map(|s| (s.scope, s.name.as_str(), s.file.strip_prefix(&top).unwrap())).collect();
    let expected: Vec<_> = expected.iter().map(|(scope, name, path)| (*scope, *name, Path::new(*path))).collect();
    assert_eq!(told, expected);
    found.warnings
}

const ONE: &str = "---\nname: one\ndescription: does one thing\n---\nBody\n";
const TWO: &str = "---\ndescription: >\n  does\n  another\nmetadata:\n  name: inner\n---\nBody\n";
use SkillScope::{Bundled, Project, User};

#[test]
fn roots_and_name_clashes() {
    let files = [
        ("repo/.agents/skills/x/SKILL.md", ONE),
        ("repo/a/.agents/skills/group/two/SKILL.md", TWO),
        ("repo/.openinterpreter/skills/three/SKILL.md", TWO),
        ("user/.agents/skills/one/SKILL.md", ONE),
        ("user/.agents/skills/.hidden/SKILL.md", TWO),
        ("home/skills/four/SKILL.md", TWO),
        ("home/skills/four/deeper/SKILL.md", ONE),
        ("home/skills/.system/five/SKILL.md", TWO),
    ];
    let two = (Project, "two", "repo/a/.agents/skills/group/two/SKILL.md");
    let one = (Project, "one", "repo/.agents/skills/x/SKILL.md");
    let three = (Project, "three", "repo/.openinterpreter/skills/three/SKILL.md");
    let four = (User, "four", "home/skills/four/SKILL.md");
    let five = (Bundled, "five", "home/skills/.system/five/SKILL.md");
    check("", false, &files, &[two, one, four, five]);
    check("", true, &files, &[two, one, three, four, five]);
    check("skills.bundled.enabled = false", false, &files, &[two, one, four]);
    let config = "[[skills.config]]\nname = 'two'\nenabled = false\n[[skills.config]]\npath = 'TOP/home/skills/four/SKILL.md'\nenabled = false";
    check(config, false, &files, &[one, five]);
    // The project's is off: the user's of that name counts.
    let config = "[[skills.config]]\npath = 'TOP/repo/.agents/skills/x'\nenabled = false";
    check(config, false, &files, &[two, (User, "one", "user/.agents/skills/one/SKILL.md"), four, five]);
}

#[test]
fn files_that_say_too_little() {
    let path = "home/skills/x/SKILL.md";
    assert_eq!(check("", false, &[(path, "no front matter")], &[]), vec![]);
    let warnings = check("", false, &[(path, "---\nname: x\n---\n")], &[]);
    assert!(warnings[0].to_string().contains("SKILL.md: is left out: its front matter needs `description:`"));
}

#[test]
fn front_matter() {
    let check = |text: &str, expected: Option<(&str, &str)>| {
        let fields = split(text).map(|(head, _)| fields(head)).unwrap_or_default();
        let get = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        assert_eq!(get("name").zip(get("description")), expected, "{text}");
    };
    check("---\nname: a\ndescription: b\n---\nc", Some(("a", "b")));
    check("---\r\nname: 'a'\r\ndescription: \"b: c\"\r\n---\r\n", Some(("a", "b: c")));
    check("---\nname: a\ndescription: Use this when: always\n---\n", Some(("a", "Use this when: always")));
    check("---\nname: a\ntools: [x, y]\nmore: {name: z}\ndescription: |\n  b\n  c\n---\n", Some(("a", "b\nc")));
    check("---\n? [k]\n: v\nx: &x 1\ny: *x\nname: a\ndescription: b\n---\n", Some(("a", "b")));
    check("---\nname: a\ndescription: b\n", None);
    check("name: a\n---\n", None);
}

#[test]
fn arguments_have_names_and_a_hint() {
    let check = |head: &str, names: &[&str], hint: Option<&str>| {
        let expected = SkillArguments {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            hint: hint.map(str::to_owned),
        };
        assert_eq!(skill_arguments(&format!("---\n{head}\n---\nBody")), expected, "{head}");
    };
    check("name: a", &[], None);
    check("arguments: issue branch\nargument-hint: '[issue] [branch]'", &["issue", "branch"], Some("[issue] [branch]"));
    check("arguments: [issue, branch]", &["issue", "branch"], None);
    check(
        "arguments:\n  - issue\n  - branch\nargument-hint: <issue> [branch]",
        &["issue", "branch"],
        Some("<issue> [branch]"),
    );
    check("arguments: one", &["one"], None);
    check("argument-hint: [issue]", &[], Some("[issue]"));
    check("argument-hint: [issue, branch]", &[], Some("[issue, branch]"));
    check("argument-hint:", &[], None);
    // No YAML as a whole.
    check(
        "argument-hint: [issue] [branch]\narguments: [issue, 'branch']",
        &["issue", "branch"],
        Some("[issue] [branch]"),
    );
    check("description: Use this when: always\narguments: a b", &["a", "b"], None);
    // No names, and values that are neither text nor list.
    check("arguments: [1st, a b, '', ok-1, $x]", &["ok-1"], None);
    check("arguments: {a: b}\nargument-hint: {c: d}", &[], None);
    check("x: &x [a]\narguments: *x\nargument-hint: h", &[], Some("h"));
    check(
        "other: {arguments: no, argument-hint: no}\nx: [arguments, y]\n? [arguments]\n: z\narguments: yes",
        &["yes"],
        None,
    );
    check("note: arguments\nargument-hint: h", &[], Some("h"));
    assert_eq!(skill_arguments("arguments: a"), SkillArguments::default());
}

#[test]
fn the_body_follows_the_front_matter() {
    assert_eq!(skill_body("---\nname: a\n---\n\n# A\n"), "# A\n");
    assert_eq!(skill_body("# A\n"), "# A\n");
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(---\n)?([a-z&*:\\[\\]{}>|'\" -]{0,12}\n){0,8}(---\n)?.{0,20}") {
        let _ = split(&text).map(|(head, _)| fields(head));
        prop_assert!(text.ends_with(skill_body(&text)));
        let _ = skill_arguments(&text);
    }
}
