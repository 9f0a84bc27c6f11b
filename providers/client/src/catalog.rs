//! The catalog: what is known of providers and models without asking anyone, one line each, found by binary search.
//!
//! `providers/catalog/catalog.tsv` is made by `generate` (its README says how) and is part of the program. A newer one may lie
//! in the home. Lines are sorted by their bytes, `KEY<TAB>JSON`, and only those asked for are ever parsed:
//!
//! | key | value |
//! |---|---|
//! | `#catalog` | version, date and counts; the first line |
//! | `$VARIABLE` | ids of providers whose key is in this variable |
//! | `%HOST` | ids of providers at this host; `%*.HOST` for names that a variable is part of |
//! | `PROVIDER` | [`Listing`] |
//! | `PROVIDER/MODEL` | [`Model`] |
mod entry;
mod fetch;
pub mod generate;
mod template;

use std::{borrow::Cow, fmt, fs::File, io::Read, path::Path, sync::Arc};

pub use entry::{Head, Listing, Model, Reasoning};
pub use fetch::{FetchError, fetch};
use serde::de::DeserializeOwned;
pub use template::variables;
pub(crate) use template::{Values, fill};

use crate::provider::host;

/// What this program can read.
const VERSION: u32 = 1;
/// Its name in the home's cache folder.
const FILE: &str = "catalog.tsv";
/// Of a catalog in the home.
const MOST_BYTES: u64 = 32 << 20;

static BUNDLED: &[u8] = include_bytes!("../../catalog/catalog.tsv");

/// All providers and models, in the form of the file.
#[derive(Clone)]
pub struct Catalog(Text);

#[derive(Clone)]
enum Text {
    Fixed(&'static [u8]),
    Read(Arc<[u8]>),
}

impl Default for Catalog {
    fn default() -> Catalog {
        Catalog::bundled()
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Catalog of {}", self.head().date)
    }
}

impl Catalog {
    /// The one that is part of the program.
    pub fn bundled() -> Catalog {
        Catalog(Text::Fixed(BUNDLED))
    }

    /// From the text of a file; None where it is none of ours.
    pub fn read(text: impl Into<Arc<[u8]>>) -> Option<Catalog> {
        let catalog = Catalog(Text::Read(text.into()));
        let head: Head = catalog.first_line()?;
        (head.version == VERSION).then_some(catalog)
    }

    /// The newer of the bundled catalog and the one in `cache`, the home's cache folder. One that cannot be read, or has
    /// another version, does not count.
    pub fn newest(cache: &Path) -> Catalog {
        let bundled = Catalog::bundled();
        newer(&cache.join(FILE), &bundled.head().date).unwrap_or(bundled)
    }

    /// Where [`Catalog::newest`] looks.
    pub fn file(cache: &Path) -> std::path::PathBuf {
        cache.join(FILE)
    }

    pub fn head(&self) -> Head {
        self.first_line().unwrap_or_default()
    }

    /// What is known of a provider.
    pub fn provider(&self, id: &str) -> Option<Listing> {
        if !is_id(id) { None } else { self.value(id) }
    }

    /// What is known of a model at a provider. A variant behind a colon (`x:free`) that is not listed is its base model.
    pub fn model(&self, provider: &str, model: &str) -> Option<Model> {
        if !is_id(provider) {
            return None;
        }
        let find = |model: &str| self.value(&format!("{provider}/{model}"));
        find(model).or_else(|| find(model.rsplit_once(':')?.0))
    }

    /// Ids of all providers, sorted.
    pub fn ids(&self) -> Vec<&str> {
        let text = self.text();
        let mut ids = Vec::new();
        // The first character that an id may begin with.
        let mut at = self.seek("0").0;
        while let Some((key, _)) = split(line(text, at)) {
            match key.split_once('/') {
                None => {
                    ids.push(key);
                    at += line(text, at).len() + 1;
                }
                // Over its models: `0` is the character behind `/`.
                Some((id, _)) => at = self.seek(&format!("{id}0")).0.max(at + 1),
            }
        }
        ids
    }

    /// A provider's models with their ids, sorted by id.
    pub fn models(&self, provider: &str) -> Vec<(String, Model)> {
        let text = self.text();
        let start = format!("{provider}/");
        let mut at = self.seek(&start).0;
        let mut models = Vec::new();
        while let Some((key, json)) = split(line(text, at)) {
            let Some(id) = key.strip_prefix(&start) else { break };
            if let Ok(model) = serde_json::from_slice(json) {
                models.push((id.to_owned(), model));
            }
            at += line(text, at).len() + 1;
        }
        models
    }

    /// The provider whose server is at this address. Of several at one host the one whose address it begins with, the longest
    /// first; else the best known.
    pub fn by_url(&self, address: &str) -> Option<String> {
        let host = host(address);
        if host.is_empty() || host.contains(['\t', '\n', '/']) {
            return None;
        }
        let parents = host.match_indices('.').map(|(dot, _)| Cow::from(format!("*{}", &host[dot..])));
        let keys = std::iter::once(Cow::from(host.as_str())).chain(parents);
        let ids: Vec<String> = keys.into_iter().find_map(|host| self.value(&format!("%{host}")))?;
        let begins = |id: &String| {
            let listing = self.provider(id)?;
            let urls = listing.urls.values().filter(|url| address.starts_with(url.as_str()));
            urls.map(String::len).max()
        };
        let mut best: Option<(usize, &String)> = None;
        for id in &ids {
            let length = begins(id).unwrap_or(0);
            if best.is_none_or(|(most, _)| length > most) {
                best = Some((length, id));
            }
        }
        best.map(|(_, id)| id.clone())
    }

    /// The provider whose key is in this variable, if it is one alone.
    pub fn by_variable(&self, variable: &str) -> Option<String> {
        let ids: Vec<String> = self.value(&format!("${variable}"))?;
        <[String; 1]>::try_from(ids).ok().map(|[id]| id)
    }

    /// Ids that somebody who wrote `id` may have meant, the nearest first.
    pub fn near<'a>(id: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        let wanted = id.to_lowercase();
        let score = |known: &str| {
            let lower = known.to_lowercase();
            let part = wanted.len() >= 3 && (lower.contains(&wanted) || wanted.contains(&lower)) && lower.len() >= 3;
            strsim::jaro_winkler(&wanted, &lower) + if part { 0.5 } else { 0.0 }
        };
        let mut scored: Vec<(f64, &str)> = known.into_iter().map(|known| (score(known), known)).collect();
        scored.retain(|(score, _)| *score >= 0.85);
        scored.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.len().cmp(&y.len())).then(x.cmp(y)));
        scored.into_iter().map(|(_, known)| known).take(3).collect()
    }

    fn text(&self) -> &[u8] {
        match &self.0 {
            Text::Fixed(text) => text,
            Text::Read(text) => text,
        }
    }

    fn first_line<T: DeserializeOwned>(&self) -> Option<T> {
        let (key, json) = split(line(self.text(), 0))?;
        if key == entry::HEAD { serde_json::from_slice(json).ok() } else { None }
    }

    fn value<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let (found, json) = split(line(self.text(), self.seek(key).0))?;
        if found == key { serde_json::from_slice(json).ok() } else { None }
    }

    /// Where the first line begins whose key is not below `key`, and how many lines were looked at for it.
    fn seek(&self, key: &str) -> (usize, u32) {
        let text = self.text();
        let (mut low, mut high, mut looks) = (0, text.len(), 0);
        while low < high {
            let middle = low + (high - low) / 2;
            let begin = memchr::memrchr(b'\n', &text[low..middle]).map_or(low, |at| low + at + 1);
            let found = line(text, begin);
            looks += 1;
            let below = match split(found) {
                Some((other, _)) => other.as_bytes() < key.as_bytes(),
                // No line of ours: a torn end.
                None => false,
            };
            if below {
                low = (begin + found.len() + 1).min(text.len());
            } else {
                high = begin;
            }
        }
        (low, looks)
    }
}

/// The catalog in this file if it is of a later day than `date`. Reads the whole of it only then.
fn newer(file: &Path, date: &str) -> Option<Catalog> {
    let mut open = File::open(file).ok()?;
    let meta = open.metadata().ok()?;
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    open.by_ref().take(512).read_to_end(&mut bytes).ok()?;
    let (key, json) = split(line(&bytes, 0))?;
    let head: Head = if key == entry::HEAD { serde_json::from_slice(json).ok()? } else { return None };
    if head.version != VERSION || head.date.as_str() <= date {
        return None;
    }
    open.read_to_end(&mut bytes).ok()?;
    Catalog::read(bytes)
}

/// The line that begins here, without its end.
fn line(text: &[u8], at: usize) -> &[u8] {
    let rest = text.get(at..).unwrap_or_default();
    &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
}

fn split(line: &[u8]) -> Option<(&str, &[u8])> {
    let tab = memchr::memchr(b'\t', line)?;
    Some((std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]))
}

/// Ids of providers begin with a letter or digit, and have no slash.
fn is_id(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_alphanumeric()) && !id.contains(|c: char| c == '/' || c.is_control())
}

#[cfg(test)]
mod tests;
