//! Skills in use: their text is read when it is asked for, by a call or by a mention.
use std::path::PathBuf;

use protocol::{Fact, Failure, Outcome};

use crate::thread::Thread;

impl Thread {
    /// The instructions of a skill.
    pub(crate) async fn skill(&self, name: &str) -> Outcome {
        let Some(file) = self.skill_file(name) else {
            return Outcome::Failed(Failure::Other(format!("no skill `{name}`")));
        };
        match text(file.clone()).await {
            Ok(text) => {
                let dir = file.parent().map(PathBuf::from).unwrap_or_default();
                let body = config::skill_body(&text).to_owned();
                let config::SkillArguments { names, hint } = config::skill_arguments(&text);
                Outcome::Skill { dir, body, arguments: names, hint }
            }
            Err(why) => Outcome::Failed(Failure::Other(format!("cannot read {}: {why}", file.display()))),
        }
    }

    /// A skill that the user names. None: there is no such skill, or it cannot be read (the user is told).
    pub(crate) async fn skill_fact(&self, name: &str) -> Option<Fact> {
        let file = self.skill_file(name)?;
        match text(file.clone()).await {
            Ok(text) => Some(Fact::Skill { name: name.to_owned(), file, text }),
            Err(why) => {
                let message = format!("cannot read {}: {why}", file.display());
                self.hub.emit(protocol::Event::Warning { message });
                None
            }
        }
    }

    fn skill_file(&self, name: &str) -> Option<PathBuf> {
        self.skills.iter().find(|skill| skill.name == name).map(|skill| PathBuf::from(&skill.file))
    }
}

/// Off the runtime's thread: a disk may be slow.
async fn text(file: PathBuf) -> std::io::Result<String> {
    tokio::task::spawn_blocking(move || config::skill_text(&file)).await.map_err(std::io::Error::other)?
}
