//! AGENTS.md discovery: the user's own instructions and those of the project, root first, as Codex reads them.
//!
//! They are read in untrusted folders too. The size cap is on the project's text in total; it cuts at the byte.
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::{Config, Home, LayerKind, Place, Project, Warning, WarningKind};

const OVERRIDE: &str = "AGENTS.override.md";
const NAME: &str = "AGENTS.md";
/// Nobody's instructions are longer; a mistaken link to a huge file must not fill memory.
const MAX_GLOBAL_BYTES: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doc {
    pub path: PathBuf,
    pub scope: DocScope,
    /// As in the file; what is not UTF-8 is replaced.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocScope {
    /// From the user's home.
    Global,
    /// From a folder between project root and working directory.
    Project,
}

/// The project's text went over `project_doc_max_bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pub limit: u64,
    /// Bytes of all project files that would have been read.
    pub total: u64,
}

/// The global file first, then the project's from root to working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Docs {
    pub docs: Vec<Doc>,
    pub cut: Option<Cut>,
    pub warnings: Vec<Warning>,
}

/// Files that cannot be read give a warning, missing and blank ones nothing.
pub fn discover(home: &Home, config: &Config, project: &Project) -> Docs {
    let mut found = Docs::default();
    if let Some((path, content)) =
        found.first_with_text(&home.dir, &[OVERRIDE, NAME], MAX_GLOBAL_BYTES, LayerKind::User)
    {
        found.docs.push(Doc { path, scope: DocScope::Global, text: content.text() });
    }
    let limit = *config.project_doc_max_bytes;
    if limit == 0 {
        return found;
    }
    let names: Vec<&str> =
        [OVERRIDE, NAME].into_iter().chain(config.project_doc_fallback_filenames.iter().map(String::as_str)).collect();
    let (mut left, mut total) = (limit, 0);
    for folder in project.folders() {
        let Some((path, content)) = found.first_with_text(folder, &names, left, LayerKind::Project) else {
            continue;
        };
        total += content.size;
        left = left.saturating_sub(content.size);
        let text = content.text();
        if !text.is_empty() {
            found.docs.push(Doc { path, scope: DocScope::Project, text });
        }
    }
    if total > limit {
        found.cut = Some(Cut { limit, total });
        let message = format!(
            "project instructions are {total} bytes and were cut to {limit}; raise `project_doc_max_bytes` or shorten them"
        );
        let file = found.docs.iter().rev().find(|doc| doc.scope == DocScope::Project).map(|doc| doc.path.clone());
        found.warn(file.unwrap_or_else(|| project.root.join(NAME)), LayerKind::Project, message);
    }
    found
}

/// A file's bytes, up to what was asked for, and its whole size.
struct Content {
    bytes: Vec<u8>,
    size: u64,
}

impl Content {
    /// Cut inside a character, that character goes too.
    fn text(self) -> String {
        let mut bytes = self.bytes;
        if self.size > bytes.len() as u64
            && let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            bytes.truncate(error.valid_up_to());
        }
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        String::from_utf8_lossy(text).into_owned()
    }
}

impl Docs {
    fn first_with_text(
        &mut self,
        folder: &Path,
        names: &[&str],
        limit: u64,
        layer: LayerKind,
    ) -> Option<(PathBuf, Content)> {
        for name in names.iter().filter(|name| !name.is_empty()) {
            let path = folder.join(name);
            match read_up_to(&path, limit) {
                Ok(Some(content)) if has_text(&content) => return Some((path, content)),
                Ok(_) => {}
                Err(error) => self.warn(path, layer.clone(), format!("cannot be read and is left out: {error}")),
            }
        }
        None
    }

    fn warn(&mut self, file: PathBuf, layer: LayerKind, message: String) {
        let place = Place { layer, file: Some(file), line: 0, column: 0 };
        self.warnings.push(Warning { kind: WarningKind::Instructions, place, key: String::new(), message });
    }
}

/// Blank files count as missing; one that the cap leaves no room for does not.
fn has_text(content: &Content) -> bool {
    content.size > content.bytes.len() as u64 || !content.bytes.iter().all(u8::is_ascii_whitespace)
}

/// None: no regular file there (a pipe would never end).
fn read_up_to(path: &Path, limit: u64) -> io::Result<Option<Content>> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Some(Content { size: size.max(bytes.len() as u64), bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// `files` below a fresh folder, with `home` and `repo` (a Git root); → scope, path and text of what is found from `cwd`.
    fn check(
        config: &str,
        files: &[(&str, &[u8])],
        cwd: &str,
        expected: &[(DocScope, &str, &str)],
        cut: Option<Cut>,
    ) -> Docs {
        let guard = tempfile::tempdir().expect("tempdir");
        let top = guard.path();
        fs::create_dir_all(top.join("repo/.git/refs")).expect("git");
        fs::create_dir_all(top.join("repo/a/b")).expect("dirs");
        fs::create_dir_all(top.join("home")).expect("home");
        for (path, bytes) in files {
            fs::write(top.join(path), bytes).expect("file");
        }
        let config: Config = toml::from_str(config).expect("config");
        let project = Project::find(&top.join(cwd), &config.root_markers());
        let docs = discover(&Home::at(top.join("home")), &config, &project);
        let expected: Vec<Doc> = expected
            .iter()
            .map(|(scope, path, text)| Doc { path: top.join(path), scope: *scope, text: (*text).to_owned() })
            .collect();
        assert_eq!((&docs.docs, &docs.cut), (&expected, &cut));
        docs
    }
    use DocScope::{Global, Project as InProject};

    #[test]
    fn order_overrides_and_fallbacks() {
        check("", &[], "repo/a/b", &[], None);
        check(
            "",
            &[
                ("home/AGENTS.md", b"g"),
                ("AGENTS.md", b"outside"),
                ("repo/AGENTS.md", b"r"),
                ("repo/a/b/AGENTS.md", b"b"),
            ],
            "repo/a/b",
            &[
                (Global, "home/AGENTS.md", "g"),
                (InProject, "repo/AGENTS.md", "r"),
                (InProject, "repo/a/b/AGENTS.md", "b"),
            ],
            None,
        );
        check(
            "",
            &[
                ("home/AGENTS.md", b"g"),
                ("home/AGENTS.override.md", b"o"),
                ("repo/AGENTS.override.md", b" \n"),
                ("repo/AGENTS.md", b"r"),
            ],
            "repo",
            &[(Global, "home/AGENTS.override.md", "o"), (InProject, "repo/AGENTS.md", "r")],
            None,
        );
        check("", &[("repo/CLAUDE.md", b"c")], "repo", &[], None);
        check(
            "project_doc_fallback_filenames = ['X.md', 'CLAUDE.md']",
            &[("repo/CLAUDE.md", b"c"), ("repo/a/X.md", b"x"), ("repo/a/CLAUDE.md", b"not")],
            "repo/a",
            &[(InProject, "repo/CLAUDE.md", "c"), (InProject, "repo/a/X.md", "x")],
            None,
        );
        check(
            "project_root_markers = ['mark']",
            &[("repo/AGENTS.md", b"r"), ("repo/a/mark", b""), ("repo/a/AGENTS.md", b"a")],
            "repo/a/b",
            &[(InProject, "repo/a/AGENTS.md", "a")],
            None,
        );
    }

    #[test]
    fn the_cap_cuts_at_the_byte_over_all_files() {
        let files: &[(&str, &[u8])] =
            &[("repo/AGENTS.md", b"12345"), ("repo/a/AGENTS.md", b"67890"), ("repo/a/b/AGENTS.md", b"x")];
        let whole = [
            (InProject, "repo/AGENTS.md", "12345"),
            (InProject, "repo/a/AGENTS.md", "67890"),
            (InProject, "repo/a/b/AGENTS.md", "x"),
        ];
        check("project_doc_max_bytes = 11", files, "repo/a/b", &whole, None);
        let cut = [whole[0], (InProject, "repo/a/AGENTS.md", "67")];
        let docs = check("project_doc_max_bytes = 7", files, "repo/a/b", &cut, Some(Cut { limit: 7, total: 11 }));
        assert_eq!(docs.warnings.len(), 1);
        assert!(docs.warnings[0].message.contains("11 bytes and were cut to 7"), "{docs:?}");
        check("project_doc_max_bytes = 0", files, "repo/a/b", &[], None);
        let accents: &[(&str, &[u8])] = &[("repo/AGENTS.md", "äöü".as_bytes())];
        check(
            "project_doc_max_bytes = 3",
            accents,
            "repo",
            &[(InProject, "repo/AGENTS.md", "ä")],
            Some(Cut { limit: 3, total: 6 }),
        );
        check(
            "project_doc_max_bytes = 3",
            &[("home/AGENTS.md", b"long text")],
            "repo",
            &[(Global, "home/AGENTS.md", "long text")],
            None,
        );
    }

    #[test]
    fn odd_files() {
        let bytes: &[(&str, &[u8])] = &[("repo/AGENTS.md", b"a\xffb"), ("repo/a/AGENTS.md", b"\xef\xbb\xbfbom\r\n")];
        let texts = [(InProject, "repo/AGENTS.md", "a\u{fffd}b"), (InProject, "repo/a/AGENTS.md", "bom\r\n")];
        check("", bytes, "repo/a", &texts, None);
        check("project_doc_fallback_filenames = ['a', '']", &[], "repo", &[], None);
    }

    #[cfg(unix)]
    #[test]
    fn an_unreadable_file_is_a_warning() {
        let guard = tempfile::tempdir().expect("tempdir");
        let link = guard.path().join("AGENTS.md");
        std::os::unix::fs::symlink(&link, &link).expect("a link to itself");
        let project = Project::find(guard.path(), &[]);
        let docs = discover(&Home::at(guard.path().join("home")), &Config::default(), &project);
        assert_eq!(docs.docs, vec![]);
        assert_eq!(docs.warnings.len(), 1);
        assert!(docs.warnings[0].to_string().contains("AGENTS.md: cannot be read"), "{docs:?}");
    }
}
