//! The local machine as a host.
use std::path::{Path, PathBuf};

use protocol::{Failure, Outcome, ReadAs, Search, Stamp, World};

use crate::{
    Ended, Scope, fetch,
    files::{change, read, save, stamp},
    media,
    process::{self, Tasks},
    search::{self, Abandoned},
};

/// Performs Actions here, and holds the commands that run. Clones are the same host. Needs a tokio runtime with I/O and time;
/// the current-thread one will do, and commands must be started on a thread that lives as long as they do.
#[derive(Debug, Clone, Default)]
pub struct Local {
    tasks: Tasks,
}

impl Local {
    pub fn new() -> Local {
        Local::default()
    }

    /// Does it, or says why not. Dropping the future stops a command in the foreground; a change of files that has begun is finished.
    pub async fn perform(&self, cx: &Scope, action: World) -> Outcome {
        match action {
            World::Run(run) => process::run(&self.tasks, cx, &run).await,
            World::Stdin { task, bytes, wait } => self.tasks.stdin(cx, task, bytes, wait).await,
            World::Task(op) => self.tasks.task(cx, op).await,
            World::Read { path, what } => {
                let path = cx.cwd.join(path);
                blocking(move || read(&path, what)).await
            }
            World::Change(changes) => {
                let cx = cx.clone();
                blocking(move || Ok(change::change(&changes, &cx.cwd, cx.fence()))).await
            }
            World::List { path, depth, limit } => {
                let path = cx.cwd.join(path);
                look_around(cx, move |abandoned| search::list(&path, depth, limit, abandoned)).await
            }
            World::Glob(search) => {
                let search = rooted(cx, search);
                look_around(cx, move |abandoned| search::glob(search, abandoned)).await
            }
            World::Grep(search) => {
                let search = rooted(cx, search);
                look_around(cx, move |abandoned| search::grep(&search, abandoned)).await
            }
            World::Save { text, hint } => {
                let folder = cx.saved.clone();
                blocking(move || save::save(&folder, &text, &hint)).await
            }
            World::Fetch { url, max_bytes, markdown } => fetch::fetch(cx, &url, max_bytes, markdown).await,
        }
    }

    /// The present version of a file; None where there is no regular file.
    pub async fn stamp(&self, path: &Path) -> Option<Stamp> {
        let path = path.to_owned();
        let read = move || read::bytes(&path, MAX_STAMPED).ok().map(|(bytes, meta)| stamp::of(&meta, &bytes));
        tokio::task::spawn_blocking(read).await.ok().flatten()
    }

    /// What .gitignore and its like leave of a folder, down to `depth`: paths below it, folders with a slash behind them, in
    /// order. True: there are more than `limit`.
    pub async fn unignored(&self, path: &Path, depth: u8, limit: usize) -> (Vec<String>, bool) {
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || search::unignored(&path, depth, limit)).await.unwrap_or_default()
    }

    /// The next task that ended by itself or was stopped; for one listener. Cancel safe.
    pub async fn next_ended(&self) -> Ended {
        self.tasks.next_ended().await
    }

    /// Ends every command and all that it started, in the background too, and waits for that (at most some seconds).
    /// Also to be called before the program ends on a signal.
    pub async fn stop_all(&self) {
        self.tasks.stop_all().await;
    }
}

/// Larger files have no stamp.
const MAX_STAMPED: u64 = 256 << 20;

fn read(path: &Path, what: ReadAs) -> Result<Outcome, Failure> {
    match what {
        ReadAs::Text { max_bytes } => read::read_text(path, max_bytes),
        ReadAs::Image { max_side, max_bytes } => media::read(path, max_side, max_bytes),
        ReadAs::Document { max_bytes } => read::read_document(path, max_bytes),
        ReadAs::Stat => read::stat(path),
    }
}

fn rooted(cx: &Scope, mut search: Search) -> Search {
    search.root = cx.cwd.join(PathBuf::from(&search.root));
    search.glob_base = search.glob_base.map(|base| cx.cwd.join(base));
    search
}

/// File work leaves the runtime's thread: a disk may be slow, and a network file system may hang.
async fn blocking(work: impl FnOnce() -> Result<Outcome, Failure> + Send + 'static) -> Outcome {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.unwrap_or_else(Outcome::Failed),
        // It panicked, or the runtime is shutting down.
        Err(error) => Outcome::Failed(Failure::Other(format!("the work was not finished: {error}"))),
    }
}

/// As [`blocking`], given up when nobody waits any more.
async fn look_around(
    cx: &Scope,
    work: impl FnOnce(&Abandoned) -> Result<Outcome, Failure> + Send + 'static,
) -> Outcome {
    struct OnDrop(Abandoned);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.set();
        }
    }
    let waiting = OnDrop(Abandoned::default());
    let abandoned = waiting.0.clone();
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Outcome::Interrupted { output: None },
        outcome = blocking(move || work(&abandoned)) => outcome,
    }
}
