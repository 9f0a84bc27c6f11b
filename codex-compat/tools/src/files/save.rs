//! Keeps a long text in the session's folder, readable by the user alone.
use std::{
    fs::{DirBuilder, File, OpenOptions},
    hash::{BuildHasher, Hasher},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use protocol::{Failure, Outcome};

use crate::fail;

/// `hint` becomes the start of the file's name as far as its characters are harmless.
pub(crate) fn save(folder: &Path, text: &str, hint: &str) -> Result<Outcome, Failure> {
    let mut stem: String =
        hint.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(60).collect();
    if stem.is_empty() {
        stem.push_str("output");
    }
    let (mut file, path) = create(folder, &stem, "txt")?;
    if let Err(e) = file.write_all(text.as_bytes()) {
        let _ = std::fs::remove_file(&path);
        return Err(fail::io(&path, &e));
    }
    let chars = text.chars().count() as u64;
    Ok(Outcome::Saved { path, chars, bytes: text.len() as u64 })
}

/// A new file in `folder`, which is made where it is missing; another name of the same beginning where there is one already.
pub(crate) fn create(folder: &Path, stem: &str, extension: &str) -> Result<(File, PathBuf), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| fail::io(folder, &e))?;
    let mut name = format!("{stem}.{extension}");
    loop {
        let path = folder.join(&name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                let random = std::hash::RandomState::new().build_hasher().finish();
                name = format!("{stem}-{random:08x}.{extension}");
            }
            Err(e) => return Err(fail::io(&path, &e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn texts_are_kept_apart_and_private() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("a/outputs");
        let first = save(&folder, "é1", "../call 1").unwrap();
        assert_eq!(first, Outcome::Saved { path: folder.join("___call_1.txt"), chars: 2, bytes: 3 });
        let Outcome::Saved { path, .. } = save(&folder, "two", "../call 1").unwrap() else { panic!() };
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(std::fs::read_to_string(folder.join("___call_1.txt")).unwrap(), "é1");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
