//! `learned.json` in the user's home: written whole or not at all, for the user alone.
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use config::Home;
use harnesses::made::Learned;

pub(super) fn file(home: &Home, harness: &str) -> PathBuf {
    home.harnesses_dir().join(harness).join("learned.json")
}

pub(super) fn write(home: &Home, learned: &Learned) -> Result<PathBuf, String> {
    let file = file(home, &learned.harness);
    let written = || -> io::Result<()> {
        home.ensure()?;
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // Made with 0600.
        let mut beside = tempfile::NamedTempFile::new_in(folder)?;
        let text = serde_json::to_string_pretty(learned).map_err(io::Error::other)?;
        beside.write_all(text.as_bytes())?;
        beside.write_all(b"\n")?;
        beside.as_file().sync_all()?;
        beside.persist(&file).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|why| format!("Error: cannot write {}: {why}", file.display()))?;
    Ok(file)
}

/// Takes the file away, and its folder where nothing else is in it. False: there was none.
pub(super) fn forget(home: &Home, harness: &str) -> Result<bool, String> {
    let file = file(home, harness);
    match fs::remove_file(&file) {
        Ok(()) => {
            // One that holds something else stays.
            let _ = file.parent().map(fs::remove_dir);
            Ok(true)
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(why) => Err(format!("Error: cannot remove {}: {why}", file.display())),
    }
}
