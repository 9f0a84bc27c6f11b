//! Attachments: images and other bytes lie as files of their own in a folder beside the rollout, named by their id, written
//! once and put back into the items on reading.
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use protocol::{Action, Answer, Blob, Body, Content, Entry, Item, Opening, Outcome, OwnedPrompt, Part, Session};

use crate::{Error, layout};

/// Reads attachments of a thread, looking in its own folder and in those of the threads that it was forked from.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    folders: Vec<PathBuf>,
    seen: Mutex<HashMap<String, Option<Arc<[u8]>>>>,
}

impl Blobs {
    pub(crate) fn new(folders: Vec<PathBuf>) -> Blobs {
        Blobs { folders, seen: Mutex::default() }
    }

    /// Puts the bytes back; those that are gone stay `None`.
    pub(crate) fn fill(&self, item: &mut Item) {
        in_place::item(item, &mut |blob| blob.data = self.get(&blob.id));
    }

    fn get(&self, id: &str) -> Option<Arc<[u8]>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(data) = seen.get(id) {
            return data.clone();
        }
        let data = if is_name(id) {
            self.folders.iter().find_map(|folder| layout::read(&folder.join(id)).ok()).map(Arc::from)
        } else {
            None
        };
        seen.insert(id.to_owned(), data.clone());
        data
    }

    /// Ids that items asked for and that are nowhere.
    pub(crate) fn missing(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<String> = seen.iter().filter(|(_, data)| data.is_none()).map(|(id, _)| id.clone()).collect();
        ids.sort();
        ids
    }
}

/// Writes the attachments of an item that are not there yet. `known`: ids that need no look at the disk.
pub(crate) fn keep(item: &Item, folder: &Path, known: &mut std::collections::HashSet<String>) -> Result<(), Error> {
    let mut result = Ok(());
    by_ref::item(item, &mut |blob| {
        if let (Ok(()), Some(data)) = (&result, &blob.data)
            && !known.contains(&blob.id)
        {
            result = write(folder, &blob.id, data);
            known.insert(blob.id.clone());
        }
    });
    result
}

fn write(folder: &Path, id: &str, data: &[u8]) -> Result<(), Error> {
    if !is_name(id) {
        return Err(Error::BlobName(id.to_owned()));
    }
    let path = folder.join(id);
    if fs::metadata(&path).is_ok_and(|m| m.len() == data.len() as u64) {
        return Ok(());
    }
    let half = folder.join(format!("{id}.part"));
    let written = layout::make_folder(folder)
        .and_then(|()| layout::private().create(true).write(true).truncate(true).open(&half))
        .and_then(|mut file| std::io::Write::write_all(&mut file, data))
        .and_then(|()| fs::rename(&half, &path));
    written.map_err(|source| {
        let _ = fs::remove_file(&half);
        Error::Write { path, source }
    })
}

/// An id is a file name and never a path.
fn is_name(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// Finds every attachment in an item, by reference or for changing it.
macro_rules! walk {
    ($module:ident, $iter:ident $(, $mutable:tt)?) => {
        mod $module {
            use super::*;
            type Visit<'a> = &'a mut dyn FnMut(& $($mutable)? Blob);

            pub(super) fn item(item: & $($mutable)? Item, visit: Visit) {
                match & $($mutable)? item.body {
                    Body::User { parts: list, .. } => parts(list, visit),
                    Body::Called { did, answer: said, .. } => {
                        for done in did.$iter() {
                            action(& $($mutable)? done.action, visit);
                            if let Outcome::Media { blob, .. } = & $($mutable)? done.outcome {
                                visit(blob);
                            }
                        }
                        answer(said, visit);
                    }
                    Body::Said { opening: begin, entries: list, .. } => {
                        if let Some(begin) = begin {
                            opening(begin, visit);
                        }
                        entries(list, visit);
                    }
                    _ => {}
                }
            }
            fn action(action: & $($mutable)? Action, visit: Visit) {
                match action {
                    Action::Session(Session::CountTokens(list)) => parts(list, visit),
                    Action::Session(Session::Query { prompt, .. }) => {
                        let OwnedPrompt { opening: begin, said, .. } = & $($mutable)? **prompt;
                        opening(begin, visit);
                        entries(said, visit);
                    }
                    _ => {}
                }
            }
            fn opening(opening: & $($mutable)? Opening, visit: Visit) {
                for (_, text) in opening.instructions.$iter() {
                    content(text, visit);
                }
            }
            fn entries(entries: & $($mutable)? [Entry], visit: Visit) {
                for entry in entries.$iter() {
                    match entry {
                        Entry::Instruct(_, text) | Entry::User(text) => content(text, visit),
                        Entry::Results { before, results, after } => {
                            for (_, text) in before.$iter() {
                                content(text, visit);
                            }
                            for result in results.$iter() {
                                answer(& $($mutable)? result.answer, visit);
                            }
                            parts(after, visit);
                        }
                        Entry::Assistant(_) | Entry::Tools(_) | Entry::Foreign(_) => {}
                    }
                }
            }
            fn answer(answer: & $($mutable)? Answer, visit: Visit) {
                content(& $($mutable)? answer.content, visit);
                parts(& $($mutable)? answer.after, visit);
            }
            fn content(content: & $($mutable)? Content, visit: Visit) {
                if let Content::Parts(list) = content {
                    parts(list, visit);
                }
            }
            fn parts(parts: & $($mutable)? [Part], visit: Visit) {
                for part in parts.$iter() {
                    match part {
                        Part::Image { blob, .. } | Part::Document(blob) | Part::Audio(blob) | Part::Video(blob) => {
                            visit(blob);
                        }
                        Part::Text(_) | Part::ToolReference(_) | Part::Foreign(_) => {}
                    }
                }
            }
        }
    };
}
walk!(by_ref, iter);
walk!(in_place, iter_mut, mut);
