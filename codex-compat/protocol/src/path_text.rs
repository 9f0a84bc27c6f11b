//! Paths in session files: as text, what is not UTF-8 replaced. A path that a file system knows under other bytes can be shown
//! and compared there, and must not keep a thread from being written.
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeSeq as _};

pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    PathBuf::deserialize(deserializer)
}

/// The same for several.
pub mod list {
    use super::*;

    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(paths.len()))?;
        for path in paths {
            seq.serialize_element(&path.to_string_lossy())?;
        }
        seq.end()
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        Vec::deserialize(deserializer)
    }
}

/// The same for one that may be missing.
pub mod option {
    use super::*;

    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        Option::deserialize(deserializer)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Paths {
        #[serde(with = "super")]
        one: PathBuf,
        #[serde(with = "super::list")]
        many: Vec<PathBuf>,
        #[serde(with = "super::option")]
        none: Option<PathBuf>,
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_anything() {
        let odd = PathBuf::from(OsStr::from_bytes(b"/w/x\xff"));
        let text = serde_json::to_string(&Paths { one: odd.clone(), many: vec![odd], none: None }).unwrap();
        assert_eq!(text, "{\"one\":\"/w/x\u{fffd}\",\"many\":[\"/w/x\u{fffd}\"],\"none\":null}");
        assert_eq!(serde_json::from_str::<Paths>(&text).unwrap().many.len(), 1);
    }
}
