//! Value types that several tables share: switches and numbers that carry their default, paths, secrets, words.
use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Anything; for keys that are accepted but not acted upon, and for tables whose keys are the user's own.
pub type Any = serde_json::Value;

/// A boolean that is `DEFAULT` where the config is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Switch<const DEFAULT: bool>(pub bool);
pub type On = Switch<true>;
pub type Off = Switch<false>;

impl<const DEFAULT: bool> Default for Switch<DEFAULT> {
    fn default() -> Self {
        Switch(DEFAULT)
    }
}
impl<const DEFAULT: bool> Deref for Switch<DEFAULT> {
    type Target = bool;
    fn deref(&self) -> &bool {
        &self.0
    }
}

/// A number that is `DEFAULT` where the config is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number<const DEFAULT: u64>(pub u64);

impl<const DEFAULT: u64> Default for Number<DEFAULT> {
    fn default() -> Self {
        Number(DEFAULT)
    }
}
impl<const DEFAULT: u64> Deref for Number<DEFAULT> {
    type Target = u64;
    fn deref(&self) -> &u64 {
        &self.0
    }
}

/// A path: `~` is the user's home; relative ones start at the folder of their file, those of `-c` at the working directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConfigPath(pub PathBuf);

impl ConfigPath {
    /// By this name the reader knows that a text is a path and makes it absolute.
    pub(crate) const NAME: &'static str = "ConfigPath";
}
impl Deref for ConfigPath {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

/// A key or token that no output may show.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(***)")
    }
}
impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

/// One of a fixed set of words, as they stand in the file. The first is the default unless another is named.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$inner])* #[serde(rename = $word)] $variant),+ }
        impl $name {
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    };
}
pub(crate) use words;
