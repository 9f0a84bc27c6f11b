//! JSON kept as the bytes it came in: key order, number spelling and spacing are part of what a model sees.
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::value::RawValue;

/// A JSON text, valid by construction. Equality is equality of the bytes.
#[derive(Clone)]
pub struct Raw(Arc<RawValue>);

impl Raw {
    /// Err where `text` is not one JSON value.
    pub fn parse(text: &str) -> Result<Raw, serde_json::Error> {
        let boxed: Box<RawValue> = serde_json::from_str(text)?;
        Ok(Raw(boxed.into()))
    }
    /// The compact JSON of a value.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Raw {
        match serde_json::value::to_raw_value(value) {
            Ok(boxed) => Raw(boxed.into()),
            Err(_) => Raw::null(),
        }
    }
    pub fn null() -> Raw {
        Raw(RawValue::NULL.to_owned().into())
    }
    pub fn text(&self) -> &str {
        self.0.get()
    }
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }
    pub fn value(&self) -> serde_json::Value {
        self.read().unwrap_or(serde_json::Value::Null)
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Raw) -> bool {
        self.text() == other.text()
    }
}
impl Eq for Raw {}
impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Raw({})", self.text())
    }
}
impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Raw, D::Error> {
        let boxed: Box<RawValue> = Deserialize::deserialize(deserializer)?;
        Ok(Raw(boxed.into()))
    }
}
