//! The folders that commands may write, as prompts name them.
use protocol::Settings;

/// The working folder first. `$TMPDIR` is not named: a harness cannot know whether there is one.
pub(crate) fn folders(settings: &Settings) -> Vec<String> {
    let policy = &settings.sandbox;
    let roots = std::iter::once(&settings.cwd).chain(&policy.writable_roots).map(|root| root.display().to_string());
    let mut folders: Vec<String> = roots.collect();
    if !policy.exclude_slash_tmp && !folders.iter().any(|folder| folder == "/tmp") {
        folders.push("/tmp".to_owned());
    }
    folders
}
