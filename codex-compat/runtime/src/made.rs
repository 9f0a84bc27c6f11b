//! Which harness an id means: a built-in one, in the words learned from its original; one of the user's own; one of a trusted
//! project. Reads their files; what they hold is the business of `harnesses::made`.
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use config::{Loaded, schema::HarnessWords};
use harnesses::{
    Harness,
    made::{Definition, Fault, Learned, Made},
};

use crate::StartError;

const FILE: &str = "harness.toml";
const PROMPT: &str = "prompt.md";
const LEARNED: &str = "learned.json";
/// Bytes of one of these files.
const MOST: u64 = 4 << 20;

/// A harness that may be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub origin: Origin,
    /// The definition; None: built in.
    pub file: Option<PathBuf>,
    pub base: Option<String>,
    pub description: String,
    /// Words of this version of its original are in use.
    pub learned: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    BuiltIn,
    User,
    Project,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::BuiltIn => "built-in",
            Origin::User => "user",
            Origin::Project => "project",
        }
    }
}

/// The harness of this id.
pub fn find_harness(loaded: &Loaded, id: &str) -> Result<&'static dyn Harness, StartError> {
    let named = Some(id).filter(|id| !id.trim().is_empty());
    if let Some(base) = named.and_then(harnesses::find) {
        return Ok(match learned(loaded, base.id())? {
            Some(learned) => kept(Made::learned(base, learned.words())),
            None => base,
        });
    }
    match named.and_then(|id| locate(loaded, id)) {
        Some((Origin::Project, file)) if !loaded.trusted() => Err(StartError::new(format!(
            "Error: harness `{id}` is defined in {}, and this folder is not trusted. `interpreter exec --trust` trusts it.",
            file.display()
        ))),
        Some((_, file)) => {
            let (base, definition) = definition(&file)?;
            let words = learned(loaded, base.id())?.map(|learned| learned.words()).unwrap_or_default();
            Ok(kept(Made::defined(id, base, words, definition)))
        }
        None => {
            let known: Vec<String> = list_harnesses(loaded).0.into_iter().map(|listed| listed.id).collect();
            Err(StartError::new(format!("Error: no harness `{id}`. Known: {}.", known.join(", "))))
        }
    }
}

/// The harness that a session was in, which a resume goes on with.
pub(crate) fn recorded_harness(loaded: &Loaded, id: &str) -> Result<&'static dyn Harness, StartError> {
    if harnesses::find(id).is_none() && locate(loaded, id).is_none() {
        return Err(StartError::new(format!(
            "Error: this session speaks harness `{id}`, which is gone: there is no {}. Put it back, or go on in another with --harness ID.",
            loaded.home.harnesses_dir().join(id).join(FILE).display()
        )));
    }
    find_harness(loaded, id)
}

/// All that may be chosen here, built-in ones first; and what is wrong with definitions that may not.
pub fn list_harnesses(loaded: &Loaded) -> (Vec<Listed>, Vec<String>) {
    let mut notes = Vec::new();
    let mut version = |id: &str| match learned(loaded, id) {
        Ok(learned) => learned.map(|learned| learned.version),
        Err(error) => {
            notes.push(error.to_string());
            None
        }
    };
    let mut all: Vec<Listed> = harnesses::all()
        .iter()
        .map(|harness| Listed {
            id: harness.id().to_owned(),
            origin: Origin::BuiltIn,
            file: None,
            base: None,
            description: String::new(),
            learned: version(harness.id()),
        })
        .collect();
    for (origin, folder) in folders(loaded) {
        let usable = origin == Origin::User || loaded.trusted();
        for id in ids(&folder).into_iter().filter(|_| usable) {
            let file = folder.join(&id).join(FILE);
            if harnesses::find(&id).is_some() {
                notes.push(format!("{}: `{id}` is a built-in harness; give the folder another name", file.display()));
                continue;
            }
            if all.iter().any(|other| other.id == id) {
                continue;
            }
            match definition(&file) {
                Ok((base, definition)) => all.push(Listed {
                    id,
                    origin,
                    file: Some(file),
                    base: Some(base.id().to_owned()),
                    description: definition.description,
                    learned: None,
                }),
                Err(error) => notes.push(error.0.trim_start_matches("Error: ").to_owned()),
            }
        }
    }
    (all, notes)
}

/// Where harnesses are looked for: the user's folder, then those of the project, from the working folder up.
fn folders(loaded: &Loaded) -> Vec<(Origin, PathBuf)> {
    let own = loaded.home.harnesses_dir();
    let project = loaded.project.folders().into_iter().rev().map(|dir| dir.join(".openinterpreter/harnesses"));
    let project = project.filter(|dir| *dir != own).map(|dir| (Origin::Project, dir)).collect::<Vec<_>>();
    std::iter::once((Origin::User, own.clone())).chain(project).collect()
}

/// Names of the folders with a definition in them, sorted.
fn ids(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> = names.filter(|id| is_id(id) && folder.join(id).join(FILE).exists()).collect();
    ids.sort();
    ids
}

/// A name of one folder.
fn is_id(id: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@');
    !id.is_empty() && !id.starts_with('.') && id.chars().all(part)
}

/// The definition that counts: the user's before a project's, there the nearest.
fn locate(loaded: &Loaded, id: &str) -> Option<(Origin, PathBuf)> {
    if !is_id(id) {
        return None;
    }
    let files = folders(loaded).into_iter().map(|(origin, folder)| (origin, folder.join(id).join(FILE)));
    files.into_iter().find(|(_, file)| file.exists())
}

fn definition(file: &Path) -> Result<(&'static dyn Harness, Definition), StartError> {
    let fail = |fault: Fault| {
        let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
        StartError::new(format!("Error: {}{line}: {}", file.display(), fault.message))
    };
    let plain = |message: String| fail(Fault { line: None, message });
    let text = read(file).map_err(plain)?.ok_or_else(|| plain("the file is gone".to_owned()))?;
    let beside = file.with_file_name(PROMPT);
    let prompt = read(&beside).map_err(|why| StartError::new(format!("Error: {}: {why}", beside.display())))?;
    let definition = Definition::parse(&text, prompt).map_err(fail)?;
    let base = harnesses::find(&definition.base).filter(|_| !definition.base.is_empty());
    let base = base.ok_or_else(|| {
        plain(format!("`base`: no built-in harness `{}`; `interpreter harness list` shows them", definition.base))
    })?;
    definition.check(base).map_err(fail)?;
    Ok((base, definition))
}

/// Words learned for a built-in harness. None: none, or the user wants ours.
fn learned(loaded: &Loaded, id: &str) -> Result<Option<Learned>, StartError> {
    if loaded.config.harness_words == HarnessWords::Own {
        return Ok(None);
    }
    let file = loaded.home.harnesses_dir().join(id).join(LEARNED);
    let found = read(&file).and_then(|text| text.map(|text| Learned::parse(&text)).transpose());
    found.map_err(|why| {
        StartError::new(format!(
            "Error: {}: {why}; `interpreter harness learn {id}` writes it anew, `--forget` removes it",
            file.display()
        ))
    })
}

/// None: there is no such file. Err: in a few words. A project's files are anyone's: a FIFO would be waited for without end.
fn read(file: &Path) -> Result<Option<String>, String> {
    match fs::metadata(file) {
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(why) => Err(format!("cannot be read: {why}")),
        Ok(found) if !found.is_file() => Err("not a regular file".to_owned()),
        Ok(found) if found.len() > MOST => Err(format!("{} bytes, more than {MOST}", found.len())),
        Ok(_) => fs::read_to_string(file).map(Some).map_err(|why| format!("cannot be read: {why}")),
    }
}

/// For as long as the process lives, each once: a server starts many threads in the same few.
fn kept(made: Made) -> &'static Made {
    static KEPT: Mutex<Vec<&'static Made>> = Mutex::new(Vec::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = kept.iter().find(|other| other.same(&made)) {
        return same;
    }
    let made: &'static Made = Box::leak(Box::new(made));
    kept.push(made);
    made
}
