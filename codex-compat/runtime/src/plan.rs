//! Plan mode: entered by the user or the agent, left by an approved plan; in it the gate lets nothing be changed but the plan's
//! own file, and that file may be written wherever plans are kept.
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use protocol::{Ask, Body, Change, Decision, Mode, New, Outcome, Refusal, Settings, TurnError};

use crate::thread::Thread;

impl Thread {
    /// Approved, the plan is carried out: plan mode is over.
    pub(crate) async fn propose_plan(&self, text: Option<&str>) -> Result<Outcome, TurnError> {
        let file = self.plan_file();
        if !self.answered {
            return Ok(Outcome::Refused(Refusal::NobodyToAsk { escalation: false }));
        }
        let ask = Ask::Plan { text: text.map(str::to_owned), file: file.clone().unwrap_or_default() };
        let (approved, feedback) = match self.put(ask).await {
            Decision::Once | Decision::Session | Decision::Prefix(_) | Decision::Answers(_) => (true, None),
            Decision::No { feedback } => (false, feedback),
            Decision::Cancel => return Ok(Outcome::Refused(self.cancelled())),
        };
        if approved {
            self.set_mode(Mode::Default)?;
        }
        Ok(Outcome::PlanDecided { approved, feedback, file })
    }

    /// A harness's own change of mode. Out of a plan mode that the user chose leads an approved plan only.
    pub(crate) fn change_mode(&self, mode: &Mode) -> Result<Outcome, TurnError> {
        let of_user = !self.own_plan_mode.get();
        match (self.plan_file(), mode) {
            (Some(file), _) if of_user && *mode != (Mode::Plan { file: file.clone() }) => {
                Ok(Outcome::Refused(Refusal::PlanMode { file }))
            }
            _ => {
                self.own_plan_mode.set(matches!(mode, Mode::Plan { .. }) && (self.plan_file().is_none() || !of_user));
                self.set_mode(mode.clone()).map(|()| Outcome::Ok)
            }
        }
    }

    fn plan_file(&self) -> Option<PathBuf> {
        match &self.settings().mode {
            Mode::Plan { file } => Some(file.clone()),
            Mode::Default => None,
        }
    }

    /// In force from the recorded settings on.
    fn set_mode(&self, mode: Mode) -> Result<(), TurnError> {
        let settings = self.settings();
        if settings.mode == mode {
            return Ok(());
        }
        let settings = Settings { mode, ..(*settings).clone() };
        self.record(Body::Settings(Box::new(settings.clone())))?;
        *self.settings.borrow_mut() = settings.into();
        Ok(())
    }

    /// Whether these changes write the plan's file and nothing else, where plans are kept: then the sandbox, which knows nothing
    /// of that place, does not hold them up. Places that commands may write have no need of it, and links are not followed.
    pub(crate) fn writes_plan(&self, changes: &[Change]) -> bool {
        let (Some(file), [change]) = (self.plan_file(), changes) else { return false };
        let settings = self.settings();
        let writes = change.to.is_none() && matches!(change.new, New::Whole { .. } | New::Splices(_));
        let kept = |folder: &&PathBuf| file.starts_with(folder) && !self.scope.spec().may_write(folder);
        writes
            && settings.cwd.join(&change.path) == file
            && self.plan_folders.iter().find(kept).is_some_and(|folder| leads_nowhere_else(folder, &file))
    }
}

/// What is there of `file` below `folder` is folders, and at its end a file: no links, no `..`.
fn leads_nowhere_else(folder: &Path, file: &Path) -> bool {
    let Ok(rest) = file.strip_prefix(folder) else { return false };
    if !rest.components().all(|part| matches!(part, Component::Normal(_))) {
        return false;
    }
    let mut path = folder.to_owned();
    for part in rest {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => return false,
            Ok(_) => {}
            // Nothing is below what is not there.
            Err(error) => return error.kind() == io::ErrorKind::NotFound,
        }
    }
    true
}
