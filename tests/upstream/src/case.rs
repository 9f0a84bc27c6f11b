//! A case: the same surroundings, words and model for both programs, and what is looked at afterwards.
use demo::scripted::Step;

/// Defaults: a trusted Git workspace, model `stub-model` at provider `stub`, no retries, one run of
/// `exec --json -s workspace-write`. Texts may hold `<<work>>`, `<<home>>`, `<<url>>`, `<<dot>>` (name of the folder of
/// settings: `.codex` or ours) and `<<thread>>` (id of the thread of the run before).
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) model: &'static str,
    /// Lines at the top of the user's config.
    pub(crate) config: String,
    /// Lines of `[model_providers.stub]`.
    pub(crate) provider: String,
    /// Tables at the end of the user's config.
    pub(crate) tables: String,
    /// The whole config, in place of all of the above.
    pub(crate) whole_config: Option<String>,
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
    /// In the folder of settings.
    pub(crate) settings: Vec<(&'static str, String)>,
    pub(crate) git: bool,
    pub(crate) trusted: bool,
    pub(crate) env: Vec<(&'static str, &'static str)>,
    pub(crate) runs: Vec<Run>,
    pub(crate) looks: Vec<Look>,
}

/// One start of the program.
pub(crate) struct Run {
    pub(crate) args: Vec<String>,
    pub(crate) stdin: Option<Vec<u8>>,
    /// Working directory below the workspace.
    pub(crate) cwd: &'static str,
    pub(crate) steps: Vec<Step>,
    /// Where a dialect differs by design (free-form patches): what the model says to ours.
    pub(crate) ours: Option<Vec<Step>>,
}

/// What is compared beside exit statuses, stdout, the number of requests, the answers to the calls in the last request,
/// and the files of the workspace.
#[derive(Clone, Copy)]
pub(crate) enum Look {
    Stderr,
    /// Values of the last request's body.
    Request(&'static [&'static str]),
    /// Every text in the last request that holds this mark, with who says it.
    Said(&'static str),
    /// The conversation in the last request, without instructions and surroundings.
    History,
    /// A file beside the workspace.
    Beside(&'static str),
}

pub(crate) fn case(name: &'static str) -> Case {
    Case {
        name,
        model: "stub-model",
        config: String::new(),
        provider: String::new(),
        tables: String::new(),
        whole_config: None,
        files: Vec::new(),
        settings: Vec::new(),
        git: true,
        trusted: true,
        env: Vec::new(),
        runs: Vec::new(),
        looks: Vec::new(),
    }
}

/// A case of one run with these replies.
pub(crate) fn turn<S: Into<Step>>(name: &'static str, steps: impl IntoIterator<Item = S>) -> Case {
    case(name).exec(&[], steps)
}

impl Case {
    pub(crate) fn config(mut self, lines: &str) -> Case {
        self.config.push_str(lines);
        self.config.push('\n');
        self
    }
    pub(crate) fn provider(mut self, lines: &str) -> Case {
        self.provider.push_str(lines);
        self.provider.push('\n');
        self
    }
    pub(crate) fn tables(mut self, lines: &str) -> Case {
        self.tables.push_str(lines);
        self.tables.push('\n');
        self
    }
    pub(crate) fn whole_config(mut self, text: &str) -> Case {
        self.whole_config = Some(text.to_owned());
        self
    }
    pub(crate) fn model(mut self, model: &'static str) -> Case {
        self.model = model;
        self
    }
    pub(crate) fn file(mut self, path: &'static str, content: impl AsRef<[u8]>) -> Case {
        self.files.push((path, content.as_ref().to_vec()));
        self
    }
    pub(crate) fn setting(mut self, path: &'static str, content: &str) -> Case {
        self.settings.push((path, content.to_owned()));
        self
    }
    pub(crate) fn no_git(mut self) -> Case {
        self.git = false;
        self
    }
    pub(crate) fn untrusted(mut self) -> Case {
        self.trusted = false;
        self
    }
    pub(crate) fn env(mut self, name: &'static str, value: &'static str) -> Case {
        self.env.push((name, value));
        self
    }
    pub(crate) fn look(mut self, look: Look) -> Case {
        self.looks.push(look);
        self
    }

    /// One more run: `exec --json -s workspace-write ARGS`, and the prompt `do it` where ARGS name none (begin with `-` or
    /// are empty).
    pub(crate) fn exec<S: Into<Step>>(self, args: &[&str], steps: impl IntoIterator<Item = S>) -> Case {
        let mut all = vec!["exec", "--json", "-s", "workspace-write"];
        all.extend(args);
        if args.iter().all(|arg| arg.starts_with('-')) {
            all.push("do it");
        }
        self.argv(&all, steps)
    }
    /// One more run with these arguments and no others.
    pub(crate) fn argv<S: Into<Step>>(mut self, args: &[&str], steps: impl IntoIterator<Item = S>) -> Case {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let steps = steps.into_iter().map(Into::into).collect();
        self.runs.push(Run { args, stdin: None, cwd: "", steps, ours: None });
        self
    }
    /// stdin of the last run; without it stdin is empty.
    pub(crate) fn stdin(mut self, text: &str) -> Case {
        if let Some(run) = self.runs.last_mut() {
            run.stdin = Some(text.as_bytes().to_vec());
        }
        self
    }
    pub(crate) fn cwd(mut self, below: &'static str) -> Case {
        if let Some(run) = self.runs.last_mut() {
            run.cwd = below;
        }
        self
    }
    /// What the model says to ours in the last run.
    pub(crate) fn ours<S: Into<Step>>(mut self, steps: impl IntoIterator<Item = S>) -> Case {
        if let Some(run) = self.runs.last_mut() {
            run.ours = Some(steps.into_iter().map(Into::into).collect());
        }
        self
    }
}

/// For runs whose model is never asked.
pub(crate) const UNASKED: [Step; 0] = [];
