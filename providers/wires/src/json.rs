//! Writes JSON field by field, in a fixed order, around pieces that are JSON already. What serde would need a type per
//! shape for, a request body is one function per shape.
use protocol::{Fit, Quirks, Raw, Tune, WireId};
use serde::Serialize;

/// An object being written; closed by [`object`].
pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

/// A list being written: with brackets by [`list`], bare by [`values`].
pub(crate) struct List<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

pub(crate) fn object(out: &mut Vec<u8>, fill: impl FnOnce(&mut Object)) {
    out.push(b'{');
    fill(&mut Object { out, first: true });
    out.push(b'}');
}

pub(crate) fn list(out: &mut Vec<u8>, fill: impl FnOnce(&mut List)) {
    out.push(b'[');
    values(out, fill);
    out.push(b']');
}

/// Values joined by commas, without brackets.
pub(crate) fn values(out: &mut Vec<u8>, fill: impl FnOnce(&mut List)) {
    fill(&mut List { out, first: true });
}

pub(crate) fn value<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Neither a Vec nor the types written here can fail; if one ever does, the body stays JSON.
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

impl Object<'_> {
    /// Writes the name; the caller writes exactly one value.
    pub(crate) fn key(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        value(self.out, name);
        self.out.push(b':');
        self.out
    }
    pub(crate) fn put<T: Serialize + ?Sized>(&mut self, name: &str, it: &T) {
        value(self.key(name), it);
    }
    pub(crate) fn put_some<T: Serialize>(&mut self, name: &str, it: Option<T>) {
        if let Some(it) = it {
            self.put(name, &it);
        }
    }
    /// `json` is one JSON value.
    pub(crate) fn raw(&mut self, name: &str, json: &str) {
        self.key(name).extend_from_slice(json.as_bytes());
    }
    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object)) {
        object(self.key(name), fill);
    }
    pub(crate) fn list(&mut self, name: &str, fill: impl FnOnce(&mut List)) {
        list(self.key(name), fill);
    }
}

impl List<'_> {
    pub(crate) fn slot(&mut self) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        self.out
    }
    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Object)) {
        object(self.slot(), fill);
    }
    pub(crate) fn raw(&mut self, json: impl AsRef<[u8]>) {
        self.slot().extend_from_slice(json.as_ref());
    }
}

/// A string as JSON text.
pub(crate) fn text(it: &str) -> Raw {
    Raw::of(it)
}

/// Fields of a request's top level: those that a quirk drops stay out, those that an extra of the harness replaces are
/// written once, by the tail.
pub(crate) struct Fields<'a> {
    extras: Vec<(&'a str, &'a Raw)>,
    quirks: &'a Quirks,
    written: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// `fixed`: fields that no extra may touch.
    pub(crate) fn new(wire: WireId, tune: &'a Tune, fit: &'a Fit, fixed: &[&str]) -> Fields<'a> {
        let mut extras: Vec<(&str, &Raw)> = Vec::new();
        for (of, name, raw) in &tune.extras {
            if *of == wire && !fixed.contains(&name.as_str()) {
                match extras.iter_mut().find(|(known, _)| known == name) {
                    Some(earlier) => earlier.1 = raw,
                    None => extras.push((name, raw)),
                }
            }
        }
        Fields { extras, quirks: &fit.quirks, written: Vec::new() }
    }

    fn dropped(&self, name: &str) -> bool {
        self.quirks.drop.iter().any(|field| field == name)
    }

    /// Whether the head writes this field itself.
    pub(crate) fn in_head(&self, name: &str) -> bool {
        !self.dropped(name) && !self.extras.iter().any(|(extra, _)| *extra == name)
    }

    /// A field of the tail: `fill` writes its value, unless an extra says otherwise.
    pub(crate) fn tail(&mut self, o: &mut Object, name: &'static str, fill: impl FnOnce(&mut Vec<u8>)) {
        if self.dropped(name) {
            return;
        }
        self.written.push(name);
        match self.extras.iter().find(|(extra, _)| *extra == name) {
            Some((_, raw)) => o.raw(name, raw.text()),
            None => fill(o.key(name)),
        }
    }

    pub(crate) fn tail_some<T: Serialize>(&mut self, o: &mut Object, name: &'static str, it: Option<T>) {
        if let Some(it) = it {
            self.tail(o, name, |out| value(out, &it));
        }
    }

    /// The extras that replaced nothing.
    pub(crate) fn rest(&self, o: &mut Object) {
        for (name, raw) in &self.extras {
            if !self.dropped(name) && !self.written.contains(name) {
                o.raw(name, raw.text());
            }
        }
    }
}

/// The end of a body: closes the list of entries, writes `fill`'s fields, closes the body.
pub(crate) fn tail(fill: impl FnOnce(&mut Object)) -> Vec<u8> {
    let mut out = vec![b']'];
    fill(&mut Object { out: &mut out, first: false });
    out.push(b'}');
    out
}

/// The start of a body: `fill`'s fields, then the list of entries under `list`, left open.
pub(crate) fn head(list: &str, fill: impl FnOnce(&mut Object), entries: impl FnOnce(&mut List)) -> Vec<u8> {
    let mut out = vec![b'{'];
    let mut o = Object { out: &mut out, first: true };
    fill(&mut o);
    let out_list = o.key(list);
    out_list.push(b'[');
    values(out_list, entries);
    out
}
