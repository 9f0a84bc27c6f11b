//! The user's repository: a snapshot of what is there now, worktrees of it, and what became of them. Index, branches, stash and
//! files of the user stay as they are.
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub(super) struct Repository {
    root: PathBuf,
    /// The working folder, from the root on.
    below: PathBuf,
}

/// A commit that no branch points to.
pub(super) struct Snapshot {
    pub(super) commit: String,
    /// With changes that are not committed.
    pub(super) dirty: bool,
    /// What Git could not take over, in its words.
    pub(super) missing: Option<String>,
}

/// A worktree at the snapshot, for one run.
pub(super) struct Worktree<'a> {
    repository: &'a Repository,
    /// The root of the worktree.
    root: PathBuf,
}

/// What a run changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) files: u64,
    pub(super) added: u64,
    pub(super) removed: u64,
    /// As `git diff --binary` writes it.
    pub(super) diff: Vec<u8>,
    /// What is not in the diff: repositories within the worktree, in Git's words or by their paths.
    pub(super) missing: Option<String>,
}

impl Repository {
    pub(super) fn around(cwd: &Path) -> Result<Repository, String> {
        let root = config::git_root(cwd).ok_or_else(|| {
            format!("Error: {} is in no Git repository; comparing needs one (`git init`).", cwd.display())
        })?;
        let below = cwd.strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
        Ok(Repository { root, below })
    }

    /// The last commit with everything that Git would add to it.
    pub(super) fn snapshot(&self) -> Result<Snapshot, String> {
        let index = TemporaryIndex::new()?;
        let own = self.git(&self.root).args(["rev-parse", "--git-path", "index"]).text()?;
        // A copy knows which files did not change, so that they are not read again. A new repository has none.
        let _ = std::fs::copy(self.root.join(own), index.path());
        let head = self.git(&self.root).args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).text().ok();
        let (tree, missing) = self.tree(&self.root, &index)?;
        if let Some(head) = &head
            && self.git(&self.root).args(["rev-parse", &format!("{head}^{{tree}}")]).text()? == tree
        {
            return Ok(Snapshot { commit: head.clone(), dirty: false, missing });
        }
        let mut commit = self.git(&self.root);
        commit.args(["commit-tree", &tree, "-m", "Snapshot for comparing harnesses"]);
        if let Some(head) = &head {
            commit.args(["-p", head]);
        }
        Ok(Snapshot { commit: commit.text()?, dirty: true, missing })
    }

    /// `place` must not exist.
    pub(super) fn worktree(&self, snapshot: &Snapshot, place: &Path) -> Result<Worktree<'_>, String> {
        let name = self.root.file_name().unwrap_or(OsStr::new("work"));
        let root = place.join(name);
        self.git(&self.root)
            .args(["worktree", "add", "--detach", "--quiet"])
            .arg(&root)
            .arg(&snapshot.commit)
            .text()?;
        Ok(Worktree { repository: self, root })
    }

    /// Everything in the work tree at `root`, as a tree of Git's; and what Git could not add (a repository within that has no
    /// commit yet).
    fn tree(&self, root: &Path, index: &TemporaryIndex) -> Result<(String, Option<String>), String> {
        let git = |words: &[&str]| self.git(root).args(words).env("GIT_INDEX_FILE", index.path()).text();
        let missing = git(&["add", "--all", "--ignore-errors", "."]).err();
        Ok((git(&["write-tree"])?, missing))
    }

    /// Nothing that the repository's or the user's configuration names is started by it.
    fn git(&self, root: &Path) -> Git {
        let mut command = Command::new("git");
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"]);
        command.args(["-c", "advice.addEmbeddedRepo=false", "-c", "core.quotePath=false"]);
        command.current_dir(root).stdin(Stdio::null());
        // A commit needs a name, also where the user has given none.
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "interpreter")
                .env(format!("GIT_{who}_EMAIL"), "interpreter@localhost");
        }
        Git(command)
    }
}

impl Worktree<'_> {
    /// The folder that corresponds to where the user stands.
    pub(super) fn cwd(&self) -> PathBuf {
        let below = self.root.join(&self.repository.below);
        // A folder with nothing in it is in no commit.
        if std::fs::create_dir_all(&below).is_ok() { below } else { self.root.clone() }
    }

    pub(super) fn change(&self, since: &Snapshot) -> Result<Change, String> {
        let index = TemporaryIndex::new()?;
        let git = || self.repository.git(&self.root);
        git().args(["read-tree", &since.commit]).env("GIT_INDEX_FILE", index.path()).text()?;
        let (tree, missing) = self.repository.tree(&self.root, &index)?;
        let plain = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--no-renames"];
        let numbers = git().args(plain).args(["--numstat", &since.commit, &tree]).text()?;
        let within = git().args(plain).args(["--raw", &since.commit, &tree]).text()?;
        // `:MODE MODE HASH HASH STATUS<TAB>PATH`; 160000 is a repository, of which a diff holds the commit's name only.
        let within = within.lines().filter(|line| line.split(' ').nth(1) == Some("160000"));
        let within: Vec<&str> = within.filter_map(|line| line.split_once('\t')).map(|(_, path)| path).collect();
        let within = (!within.is_empty()).then(|| format!("repositories of their own: {}", within.join(", ")));
        // Whatever the user's configuration says of diffs, `git apply` must take this one.
        let form = ["--binary", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=default"];
        let diff = git().args(plain).args(form).args([&since.commit, &tree]).bytes()?;
        let mut change = Change { diff, missing: missing.or(within), ..Change::default() };
        for line in numbers.lines() {
            let mut fields = line.split('\t');
            // `-` for binary files.
            let mut number = || fields.next().and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
            change.added += number();
            change.removed += number();
            change.files += 1;
        }
        Ok(change)
    }

    pub(super) fn remove(self) -> Result<(), String> {
        let git = || self.repository.git(&self.repository.root);
        git().args(["worktree", "remove", "--force", "--force"]).arg(&self.root).text()?;
        // The folder around it, which was made for it.
        self.root.parent().map_or(Ok(()), |parent| std::fs::remove_dir(parent).or(Ok(())))
    }
}

/// An index file of our own: the user's is not touched.
struct TemporaryIndex(tempfile::TempDir);

impl TemporaryIndex {
    fn new() -> Result<TemporaryIndex, String> {
        tempfile::tempdir().map(TemporaryIndex).map_err(|why| format!("Error: cannot create a temporary folder: {why}"))
    }
    fn path(&self) -> PathBuf {
        self.0.path().join("index")
    }
}

struct Git(Command);

impl Git {
    fn args<S: AsRef<OsStr>>(&mut self, words: impl IntoIterator<Item = S>) -> &mut Git {
        self.0.args(words);
        self
    }
    fn arg(&mut self, word: impl AsRef<OsStr>) -> &mut Git {
        self.0.arg(word);
        self
    }
    fn env(&mut self, key: &str, value: PathBuf) -> &mut Git {
        self.0.env(key, value);
        self
    }
    fn bytes(&mut self) -> Result<Vec<u8>, String> {
        let output = self.0.output().map_err(|why| format!("Error: cannot run git: {why}"))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(format!("Error: git says: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
    fn text(&mut self) -> Result<String, String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    }
}
