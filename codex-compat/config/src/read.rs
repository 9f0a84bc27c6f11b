//! [`Node`] → typed values: a serde deserializer that remembers where it is.
//!
//! Serde tells it which fields a struct has and which words an enum allows, so unknown keys are found, and errors are placed,
//! without a second list of keys. Fields that are unknown are noted and skipped.
use std::{
    cell::RefCell,
    collections::btree_map,
    fmt::Display,
    path::{Path, PathBuf},
};

use serde::de::{self, IntoDeserializer, Visitor};

use crate::{
    nearest::nearest_key,
    node::{Node, Origin, Value},
    paths::expand_tilde,
    schema::ConfigPath,
};

/// A key that no field takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unknown {
    pub path: Vec<String>,
    pub origin: Origin,
    pub nearest: Option<String>,
}

/// What went wrong, and at which value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub message: String,
    pub at: Option<(Vec<String>, Origin)>,
}

/// Reads `node` as `T`. `bases` (by layer): the folder from which a layer's relative paths are taken.
pub(crate) fn read<T: de::DeserializeOwned>(
    node: &Node,
    bases: &[Option<PathBuf>],
    user_home: Option<&Path>,
) -> (Result<T, Fault>, Vec<Unknown>) {
    let notes = Notes { bases, user_home, unknown: RefCell::default() };
    let result = T::deserialize(Reader { node, at: None, notes: &notes });
    (result, notes.unknown.into_inner())
}

struct Notes<'a> {
    bases: &'a [Option<PathBuf>],
    user_home: Option<&'a Path>,
    unknown: RefCell<Vec<Unknown>>,
}

/// A step of the path, linked to the ones before it; spelled out only when something is to be said.
struct Step<'a> {
    parent: Option<&'a Step<'a>>,
    name: String,
}

fn spell(mut step: Option<&Step<'_>>) -> Vec<String> {
    let mut path = Vec::new();
    while let Some(here) = step {
        path.push(here.name.clone());
        step = here.parent;
    }
    path.reverse();
    path
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    node: &'a Node,
    at: Option<&'a Step<'a>>,
    notes: &'a Notes<'a>,
}

impl Reader<'_> {
    fn placed<T>(&self, result: Result<T, Fault>) -> Result<T, Fault> {
        result.map_err(|fault| match fault.at {
            Some(_) => fault,
            None => Fault { at: Some((spell(self.at), self.node.origin)), ..fault },
        })
    }

    fn expected<T>(&self, what: &str) -> Result<T, Fault> {
        self.placed(Err(de::Error::custom(format!("expected {what}, found {}", self.node.kind()))))
    }
}

impl<'de> de::Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.placed(match &self.node.value {
            Value::Text(text) | Value::Datetime(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Bool(on) => visitor.visit_bool(*on),
            Value::Array(items) => visitor.visit_seq(Items { items: items.iter().enumerate(), reader: self }),
            Value::Table(table) => {
                visitor.visit_map(Entries { entries: table.iter(), fields: None, value: None, reader: self })
            }
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        if name != ConfigPath::NAME {
            return self.placed(visitor.visit_newtype_struct(self));
        }
        let Some(text) = self.node.as_text() else {
            return self.expected("a path");
        };
        let path = expand_tilde(text, self.notes.user_home);
        let path = match self.notes.bases.get(self.node.origin.layer) {
            Some(Some(base)) => base.join(path),
            _ => path,
        };
        self.placed(visitor.visit_newtype_struct(path.to_string_lossy().into_owned().into_deserializer()))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let Value::Table(table) = &self.node.value else {
            return self.expected("a table");
        };
        let entries = Entries { entries: table.iter(), fields: Some(fields), value: None, reader: self };
        self.placed(visitor.visit_map(entries))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Table(_) => self.deserialize_any(visitor),
            _ => self.expected("a table"),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Array(_) => self.deserialize_any(visitor),
            _ => self.expected("an array"),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Bool(_) => self.deserialize_any(visitor),
            _ => self.expected("true or false"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Text(_) => self.deserialize_any(visitor),
            _ => self.expected("a string"),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Integer(number) if *number >= 0 => self.deserialize_any(visitor),
            Value::Integer(number) => {
                self.placed(Err(de::Error::custom(format!("expected a whole number from 0, found {number}"))))
            }
            _ => self.expected("a whole number from 0"),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Text(word) => self.placed(visitor.visit_enum(word.as_str().into_deserializer())),
            _ => self.expected(&format!("one of `{}`", variants.join("`, `"))),
        }
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char str bytes byte_buf unit unit_struct tuple tuple_struct identifier
        ignored_any
    }
}

struct Items<'a> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
    reader: Reader<'a>,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Fault;
    fn next_element_seed<T: de::DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some((position, node)) = self.items.next() else {
            return Ok(None);
        };
        let step = Step { parent: self.reader.at, name: position.to_string() };
        seed.deserialize(Reader { node, at: Some(&step), notes: self.reader.notes }).map(Some)
    }
}

struct Entries<'a> {
    entries: btree_map::Iter<'a, String, Node>,
    /// The fields of a struct; None: a map, which takes any key.
    fields: Option<&'static [&'static str]>,
    value: Option<(&'a String, &'a Node)>,
    reader: Reader<'a>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        for (key, node) in self.entries.by_ref() {
            if let Some(fields) = self.fields.filter(|fields| !fields.contains(&key.as_str())) {
                let table = spell(self.reader.at);
                let nearest = nearest_key(&table, key, fields);
                let path = table.into_iter().chain([key.clone()]).collect();
                self.reader.notes.unknown.borrow_mut().push(Unknown { path, origin: node.origin, nearest });
                continue;
            }
            self.value = Some((key, node));
            return seed.deserialize(key.as_str().into_deserializer()).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((key, node)) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        let step = Step { parent: self.reader.at, name: key.clone() };
        seed.deserialize(Reader { node, at: Some(&step), notes: self.reader.notes })
    }
}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Fault {
        Fault { message: message.to_string(), at: None }
    }
}
impl Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Fault {}
