//! What all wires share in reading a client's request: its fields by name, media as data URLs, the order of entries.
use std::{collections::HashMap, fmt, marker::PhantomData};

use base64::Engine as _;
use protocol::{
    Blob, Block, CallResult, Content, Entry, ErrorKind, Opaque, OwnedPrompt, Part, ProviderError, Raw, Source, Speaker,
    WireId,
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::{Asked, lenient};

/// An object's fields in order, each as its bytes. Null is absent; of a field given twice the last counts.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs<'a>, D::Error> {
        struct Reads<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Reads<'a> {
            type Value = Pairs<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'a>, A::Error> {
                let mut pairs: Vec<(String, &RawValue)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    pairs.retain(|(known, _)| *known != name);
                    pairs.push((name, value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reads(PhantomData))
    }
}

impl<'a> Pairs<'a> {
    pub(crate) fn of(raw: &'a RawValue) -> Pairs<'a> {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value).filter(|value| value.get() != "null")
    }
    pub(crate) fn read<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.read(name)
    }
    /// Empty where it is missing or no string.
    pub(crate) fn text_or_empty(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }
    pub(crate) fn raw(&self, name: &str) -> Option<Raw> {
        self.get(name).map(lenient::raw)
    }
    pub(crate) fn inner(&self, name: &str) -> Pairs<'a> {
        self.read(name).unwrap_or_default()
    }
    /// Whether the object under `name` has these fields only: then settings stand for all of it.
    pub(crate) fn has_only(&self, name: &str, fields: &[&str]) -> bool {
        self.inner(name).iter().all(|(field, _)| fields.contains(&field))
    }
    pub(crate) fn list(&self, name: &str) -> Vec<&'a RawValue> {
        self.read(name).unwrap_or_default()
    }
    pub(crate) fn objects(&self, name: &str) -> impl Iterator<Item = (Pairs<'a>, &'a RawValue)> {
        self.list(name).into_iter().map(|raw| (Pairs::of(raw), raw))
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

pub(crate) fn bad(message: impl Into<String>) -> ProviderError {
    ProviderError { status: Some(400), ..ProviderError::new(ErrorKind::BadRequest, message) }
}

/// A request being read.
pub(crate) struct Reading {
    pub(crate) asked: Asked,
    pub(crate) source: Source,
    /// Names of calls by id, for their results.
    names: HashMap<String, String>,
}

impl Reading {
    pub(crate) fn begin<'b>(body: &'b [u8], wire: WireId, list: &str) -> Result<(Pairs<'b>, Reading), ProviderError> {
        let fields: Pairs =
            serde_json::from_slice(body).map_err(|why| bad(format!("the body is not a JSON object: {why}")))?;
        let model = fields.text("model").ok_or_else(|| bad("`model` is missing"))?;
        if fields.get(list).is_none() {
            return Err(bad(format!("`{list}` is missing")));
        }
        let source = Source { provider: String::new(), wire, model: model.clone() };
        let stream = fields.read("stream").unwrap_or(false);
        let asked = Asked { model, stream, usage: true, prompt: OwnedPrompt::default() };
        Ok((fields, Reading { asked, source, names: HashMap::new() }))
    }

    pub(crate) fn opaque(&self, field: &str, value: Raw) -> Opaque {
        Opaque { scope: self.source.clone(), field: field.to_owned(), value }
    }

    /// Before anything is said, an instruction belongs to the opening.
    pub(crate) fn instruct(&mut self, speaker: Speaker, content: Content) {
        let prompt = &mut self.asked.prompt;
        match prompt.said.is_empty() {
            true => prompt.opening.instructions.push((speaker, content)),
            false => prompt.said.push(Entry::Instruct(speaker, content)),
        }
    }

    pub(crate) fn say(&mut self, entry: Entry) {
        self.asked.prompt.said.push(entry);
    }

    /// Adds to the reply in progress.
    pub(crate) fn reply(&mut self, block: Block) {
        if let protocol::BlockKind::Call(call) = &block.kind {
            self.names.insert(call.id.0.clone(), call.name.clone());
        }
        match self.asked.prompt.said.last_mut() {
            Some(Entry::Assistant(blocks)) => blocks.push(block),
            _ => self.say(Entry::Assistant(vec![block])),
        }
    }

    /// Adds to the results in progress.
    pub(crate) fn result(&mut self, call: String, custom: bool, content: Content, error: Option<bool>) {
        let name = self.names.get(&call).cloned().unwrap_or_default();
        let answer = protocol::Answer { content, error, after: Vec::new() };
        let result = CallResult { call: call.into(), name, custom, answer };
        match self.asked.prompt.said.last_mut() {
            Some(Entry::Results { results, after, .. }) if after.is_empty() => results.push(result),
            _ => self.say(Entry::Results { before: Vec::new(), results: vec![result], after: Vec::new() }),
        }
    }

    /// Fields that no setting stands for.
    pub(crate) fn extras(&mut self, fields: &Pairs, known: &[&str]) {
        let wire = self.source.wire;
        let extras = fields.iter().filter(|(name, _)| !known.contains(name));
        self.asked.prompt.tune.extras = extras.map(|(name, raw)| (wire, name.to_owned(), lenient::raw(raw))).collect();
    }
}

/// A string, or a list of parts that `part` reads; what it does not know stays as it is.
pub(crate) fn content(raw: Option<&RawValue>, reading: &Reading, part: impl Fn(&Pairs) -> Option<Part>) -> Content {
    let Some(raw) = raw else {
        return Content::Plain(String::new());
    };
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return Content::Plain(text);
    }
    let parts = serde_json::from_str::<Vec<&RawValue>>(raw.get()).unwrap_or_default();
    let read = |raw: &&RawValue| {
        part(&Pairs::of(raw)).unwrap_or_else(|| Part::Foreign(reading.opaque("part", lenient::raw(raw))))
    };
    Content::Parts(parts.iter().map(read).collect())
}

pub(crate) fn blob(mime: &str, base64: &str) -> Option<Blob> {
    let data = base64::engine::general_purpose::STANDARD.decode(base64).ok()?;
    let id: String = Sha256::digest(&data).iter().map(|byte| format!("{byte:02x}")).collect();
    Some(Blob::new(id, mime, data))
}

/// `data:image/png;base64,...`; other addresses are for the server to fetch.
pub(crate) fn data_url(url: &str) -> Option<Blob> {
    let (mime, base64) = url.strip_prefix("data:")?.split_once(";base64,")?;
    blob(mime, base64)
}

/// Of a tool without parameters.
pub(crate) fn no_parameters() -> Raw {
    Raw::of(&serde_json::json!({ "type": "object", "properties": {} }))
}

/// Of a free-form tool in function form.
pub(crate) fn one_input() -> Raw {
    Raw::of(&serde_json::json!({
        "type": "object", "properties": { "input": { "type": "string" } }, "required": ["input"],
    }))
}
