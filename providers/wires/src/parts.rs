//! What a server can be shown of a message's parts: what it cannot take is told as a note, never dropped in silence.
use std::borrow::Cow;

use protocol::{Content, Fit, Opaque, Part, Raw, WireId};

/// A part as this server gets it.
pub(crate) enum Shown<'a> {
    Text(Cow<'a, str>),
    Image {
        mime: &'a str,
        base64: String,
        detail: Option<&'a str>,
    },
    Document {
        name: &'a str,
        mime: &'a str,
        base64: String,
    },
    /// Messages: a tool that is to be loaded.
    Reference(&'a str),
    /// JSON of this wire.
    Foreign(&'a Raw),
}

impl Shown<'_> {
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Shown::Text(_))
    }
}

pub(crate) fn data_url(mime: &str, base64: &str) -> String {
    format!("data:{mime};base64,{base64}")
}

/// Of a foreign payload only its wire counts.
pub(crate) fn foreign(opaque: &Opaque, wire: WireId) -> Option<&Raw> {
    (opaque.scope.wire == wire).then_some(&opaque.value)
}

fn note<'a>(what: &str, why: &str) -> Option<Shown<'a>> {
    Some(Shown::Text(Cow::Owned(format!("[{what} left out: {why}]"))))
}

pub(crate) fn show<'a>(part: &'a Part, fit: &Fit) -> Option<Shown<'a>> {
    const NOT_TAKEN: &str = "this model or server takes none";
    const GONE: &str = "its file is gone";
    match part {
        Part::Text(text) => Some(Shown::Text(Cow::Borrowed(text))),
        Part::Image { .. } if !fit.caps.images => note("image", NOT_TAKEN),
        Part::Image { blob, detail } => match blob.base64() {
            Some(base64) => Some(Shown::Image { mime: &blob.mime, base64, detail: detail.as_deref() }),
            None => note("image", GONE),
        },
        Part::Document(_) if !fit.caps.documents => note("document", NOT_TAKEN),
        Part::Document(blob) => match blob.base64() {
            Some(base64) => Some(Shown::Document { name: &blob.id, mime: &blob.mime, base64 }),
            None => note("document", GONE),
        },
        Part::Audio(_) => note("audio", NOT_TAKEN),
        Part::Video(_) => note("video", NOT_TAKEN),
        Part::ToolReference(name) if fit.source.wire == WireId::Messages && fit.caps.server_tools => {
            Some(Shown::Reference(name))
        }
        Part::ToolReference(name) => Some(Shown::Text(Cow::Owned(format!("Tool loaded: {name}")))),
        Part::Foreign(opaque) => foreign(opaque, fit.source.wire).map(Shown::Foreign),
    }
}

/// The content of a result. What a result of this server cannot hold goes to `follow`, to be said after the results.
pub(crate) fn result<'a>(
    content: &'a Content,
    fit: &Fit,
    follow: &mut Vec<Shown<'a>>,
) -> Result<&'a str, Vec<Shown<'a>>> {
    let parts = match content {
        Content::Plain(text) => return Ok(text),
        Content::Parts(parts) => parts,
    };
    let mut kept = Vec::new();
    for shown in parts.iter().filter_map(|part| show(part, fit)) {
        let fits = match &shown {
            Shown::Text(_) | Shown::Foreign(_) => true,
            Shown::Image { .. } => fit.caps.images_in_results,
            Shown::Document { .. } | Shown::Reference(_) => fit.source.wire == WireId::Messages,
        };
        if fits {
            kept.push(shown);
            continue;
        }
        kept.push(Shown::Text(Cow::Borrowed("[image or document: see the next user message]")));
        follow.push(shown);
    }
    Err(kept)
}

/// The text of parts that are all text, joined by line feeds.
pub(crate) fn joined(parts: &[Shown]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Shown::Text(text) => Some(&**text),
            _ => None,
        })
        .collect();
    texts.join("\n")
}
