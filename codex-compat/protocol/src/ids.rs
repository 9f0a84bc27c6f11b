//! Names of things. Each is what it says and nothing else; none is parsed.
use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                $name(text.to_owned())
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                $name(text)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// A thread: UUID version 7, as in Codex.
    ThreadId
);
text_id!(
    /// A turn: UUID version 7.
    TurnId
);
text_id!(
    /// A model's reply, as the server named it, or one of ours where it did not.
    ReplyId
);
text_id!(
    /// A call, as the model or server named it, or one of ours where it did not. Kept as received.
    CallId
);

/// Place of an item in its thread's history, from 0; continues over resumes and forks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemId(pub u64);

/// A running or ended background task of a thread. Models see it as the harness names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub u64);

/// Milliseconds: a duration, or (in `at`) since the Unix epoch.
pub type Millis = u64;
