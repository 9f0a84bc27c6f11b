//! Skills: folders with a SKILL.md, of the project, the user, and (below `skills/.system` of our home) the program.
//!
//! Only name and description are read here; the instructions are read when a skill is used. Those in `.agents/skills` count in
//! untrusted folders too, as AGENTS.md does; those in a project's `.openinterpreter` only where the folder is trusted.
use std::{
    collections::HashSet,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use saphyr_parser::{Event, Parser};

use crate::{Config, Home, LayerKind, Place, Project, Warning, WarningKind};

/// Name of the file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// Front matter is a few lines; a mistaken link to something huge must not fill memory.
const MAX_HEAD: u64 = 64 << 10;
/// Instructions that are longer are cut: no model could use them.
const MAX_BODY: u64 = 4 << 20;
/// Folders are searched this deep below a root.
const MAX_DEPTH: usize = 6;
/// Folders looked at in one root.
const MAX_FOLDERS: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// Absolute path of its SKILL.md.
    pub file: PathBuf,
    pub scope: SkillScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillScope {
    /// Of a folder between project root and working directory.
    Project,
    User,
    /// Part of the program.
    Bundled,
}

impl SkillScope {
    pub fn as_str(self) -> &'static str {
        match self {
            SkillScope::Project => "project",
            SkillScope::User => "user",
            SkillScope::Bundled => "bundled",
        }
    }
}

/// By scope, then by root, then by path. Of several with one name the first counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    pub skills: Vec<Skill>,
    pub warnings: Vec<Warning>,
}

/// All skills that are switched on. A file without front matter is passed over, as upstream does; one whose front matter says
/// too little gives a warning.
pub fn discover_skills(home: &Home, config: &Config, project: &Project) -> Skills {
    let mut found = Skills::default();
    let mut seen = HashSet::new();
    for (root, scope) in roots(home, config, project) {
        for file in files_below(&root) {
            // The working directory may be the user's home; one file is one skill.
            if !seen.insert(fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                continue;
            }
            match read(&file) {
                Ok(Some((name, description))) => found.skills.push(Skill { name, description, file, scope }),
                Ok(None) => {}
                Err(message) => found.warnings.push(warning(file, scope, message)),
            }
        }
    }
    found.skills.retain(|skill| enabled(skill, config));
    let mut names = HashSet::new();
    found.skills.retain(|skill| names.insert(skill.name.clone()));
    found
}

/// Nearest first.
fn roots(home: &Home, config: &Config, project: &Project) -> Vec<(PathBuf, SkillScope)> {
    let mut roots = Vec::new();
    for folder in project.folders().into_iter().rev() {
        roots.push((folder.join(".agents/skills"), SkillScope::Project));
        if project.trust.trusted() {
            roots.push((folder.join(".openinterpreter/skills"), SkillScope::Project));
        }
    }
    roots.extend(home.user.as_ref().map(|user| (user.join(".agents/skills"), SkillScope::User)));
    roots.push((home.skills_dir(), SkillScope::User));
    if config.skills.bundled.enabled.unwrap_or(true) {
        roots.push((home.skills_dir().join(".system"), SkillScope::Bundled));
    }
    roots
}

/// SKILL.md of a folder and of those below it, in order. Inside of a skill no others are looked for; links to folders are
/// followed, hidden folders are not entered.
fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![(root.to_owned(), 0)];
    let mut looked = 0;
    while let Some((folder, depth)) = open.pop() {
        looked += 1;
        if looked > MAX_FOLDERS {
            break;
        }
        let file = folder.join(SKILL_FILE);
        if depth > 0 && file.is_file() {
            files.push(file);
            continue;
        }
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let visible = |name: &std::ffi::OsStr| !name.as_encoded_bytes().starts_with(b".");
        let mut inner: Vec<PathBuf> =
            entries.flatten().filter(|e| visible(&e.file_name())).map(|e| e.path()).filter(|p| p.is_dir()).collect();
        inner.sort_unstable_by(|a, b| b.cmp(a));
        if depth < MAX_DEPTH {
            open.extend(inner.into_iter().map(|folder| (folder, depth + 1)));
        }
    }
    files
}

/// `[[skills.config]]`: the last entry that names it, by path of file or folder or by name.
fn enabled(skill: &Skill, config: &Config) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let named = |entry: &&crate::schema::SkillEntry| {
        let by_path = entry.path.as_ref().map(|path| {
            let (path, file) = (real(&path.0), real(&skill.file));
            path == file || file.parent() == Some(path.as_path())
        });
        let by_name = entry.name.as_ref().map(|name| *name == skill.name);
        (by_path.is_some() || by_name.is_some()) && by_path.unwrap_or(true) && by_name.unwrap_or(true)
    };
    config.skills.config.iter().rev().find(named).is_none_or(|entry| *entry.enabled)
}

/// Name and description. None: no front matter.
fn read(file: &Path) -> Result<Option<(String, String)>, String> {
    let text = read_text(file, MAX_HEAD).map_err(|why| format!("cannot be read and is left out: {why}"))?;
    let Some((head, _)) = split(&text) else { return Ok(None) };
    let fields = fields(head);
    let field = |name: &str| {
        let text = fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let folder = || Some(file.parent()?.file_name()?.to_string_lossy().into_owned());
    let name = field("name").or_else(folder);
    match (name, field("description")) {
        (Some(name), Some(description)) => Ok(Some((name, description))),
        _ => Err("is left out: its front matter needs `description:`".into()),
    }
}

/// The whole SKILL.md, as it is.
pub fn skill_text(file: &Path) -> io::Result<String> {
    read_text(file, MAX_BODY)
}

/// A skill's instructions: what follows the front matter, without blank lines before it.
pub fn skill_body(text: &str) -> &str {
    split(text).map_or(text, |(_, body)| body).trim_start_matches(['\r', '\n'])
}

/// What a skill says about its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillArguments {
    /// `arguments`: names for the words of the arguments, in order. A list, or one text of names between spaces; what is no
    /// name (letters, digits, `_`, `-`, no digit first) is left out.
    pub names: Vec<String>,
    /// `argument-hint`, for display: `[issue] [branch]`.
    pub hint: Option<String>,
}

/// Of a whole SKILL.md.
pub fn skill_arguments(text: &str) -> SkillArguments {
    let Some((head, _)) = split(text) else { return SkillArguments::default() };
    let names = match values(head, "arguments") {
        Some(Value::List(names)) => names,
        Some(Value::Text(text)) => text.split_whitespace().map(str::to_owned).collect(),
        None => Vec::new(),
    };
    // `[issue] [branch]` is no YAML list, but `[issue]` alone is one.
    let hint = match values(head, "argument-hint") {
        Some(Value::List(words)) => Some(format!("[{}]", words.join(", "))),
        Some(Value::Text(text)) => Some(text),
        None => None,
    };
    let hint = hint.map(|hint| hint.trim().to_owned()).filter(|hint| !hint.is_empty());
    SkillArguments { names: names.into_iter().filter(|name| is_name(name)).collect(), hint }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    chars.next().is_some_and(letter) && chars.all(|c| letter(c) || c.is_ascii_digit() || c == '-')
}

fn read_text(file: &Path, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// Front matter, between two lines `---`, and the rest.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut at = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Some((&text[first.len()..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// Texts of the outermost mapping. Front matter that is no YAML (a colon in a description, say) is read line by line.
fn fields(head: &str) -> Vec<(String, String)> {
    as_yaml(head).unwrap_or_else(|| by_line(head))
}

/// Read as events: nothing nests, and no alias is ever put in place.
fn as_yaml(head: &str) -> Option<Vec<(String, String)>> {
    let mut fields = Vec::new();
    let (mut depth, mut key) = (0_usize, None::<String>);
    for event in Parser::new_from_str(head) {
        match event.ok()?.0 {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if depth == 1 {
                    // A key that is no text, or a value that is none.
                    key = key.take().map_or_else(|| Some(String::new()), |_| None);
                }
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
            Event::Scalar(text, ..) if depth == 1 => match key.take() {
                None => key = Some(text.into_owned()),
                Some(key) => fields.push((key, text.into_owned())),
            },
            Event::Alias(_) if depth == 1 => key = key.take().map_or_else(|| Some(String::new()), |_| None),
            Event::Scalar(..) if depth == 0 => return None,
            _ => {}
        }
    }
    Some(fields)
}

/// A text, or a list of texts.
enum Value {
    Text(String),
    List(Vec<String>),
}

/// The first value of this key in the outermost mapping, or what the line says where the front matter is no YAML.
fn values(head: &str, key: &str) -> Option<Value> {
    let by_line = || {
        let (_, text) = by_line(head).into_iter().find(|(known, _)| known == key)?;
        // A list in one line.
        let inner =
            text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).filter(|text| !text.contains(['[', ']']));
        Some(match inner {
            Some(inner) => {
                Value::List(inner.split(',').map(|word| word.trim().trim_matches(['"', '\'']).to_owned()).collect())
            }
            None => Value::Text(text),
        })
    };
    if as_yaml(head).is_none() {
        return by_line();
    }
    // In the outermost mapping a key and a value take turns.
    let (mut depth, mut is_key, mut wanted) = (0_usize, true, false);
    let mut list = Vec::new();
    for event in Parser::new_from_str(head) {
        match event.ok()?.0 {
            Event::Scalar(text, ..) if depth == 1 => {
                if wanted {
                    return Some(Value::Text(text.into_owned()));
                }
                wanted = is_key && text == key;
                is_key = !is_key;
            }
            Event::Scalar(text, ..) if depth == 2 && wanted => list.push(text.into_owned()),
            Event::Alias(_) if depth == 1 => {
                wanted = false;
                is_key = !is_key;
            }
            Event::MappingStart(..) if depth == 1 && wanted => return None,
            Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
            Event::MappingEnd | Event::SequenceEnd => {
                depth = depth.saturating_sub(1);
                if depth == 1 {
                    if wanted {
                        return Some(Value::List(list));
                    }
                    is_key = !is_key;
                }
            }
            _ => {}
        }
    }
    None
}

fn by_line(head: &str) -> Vec<(String, String)> {
    head.lines()
        .filter(|line| !line.starts_with([' ', '\t', '#']))
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().trim_matches(['"', '\'']).to_owned()))
        .collect()
}

fn warning(file: PathBuf, scope: SkillScope, message: String) -> Warning {
    let layer = if scope == SkillScope::Project { LayerKind::Project } else { LayerKind::User };
    let place = Place { layer, file: Some(file), line: 0, column: 0 };
    Warning { kind: WarningKind::Instructions, place, key: String::new(), message }
}

#[cfg(test)]
mod tests;
