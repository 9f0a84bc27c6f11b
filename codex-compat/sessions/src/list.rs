//! Finding threads without reading them: file names, times of change, and the first lines only.
use std::{fs, path::PathBuf, time::UNIX_EPOCH};

use protocol::{Millis, ThreadId};

use crate::{Error, Head, Meta, Store, layout::Rollout, load::Chain};

/// A thread in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub id: ThreadId,
    pub path: PathBuf,
    pub meta: Meta,
    /// When it began, milliseconds since the epoch.
    pub created: Millis,
    /// When its file changed last.
    pub updated: Millis,
    pub name: Option<String>,
    /// First words of the user; None: nothing was asked yet.
    pub first_message: Option<String>,
    pub forked_from: Option<ThreadId>,
    pub archived: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// By the last change, as `--last` wants it.
    #[default]
    Updated,
    Created,
}

/// Which threads, and how many at a time. Empty fields let everything through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub cwd: Option<PathBuf>,
    pub sources: Vec<String>,
    pub providers: Vec<String>,
    pub archived: bool,
    /// Also threads of sub-agents.
    pub agents: bool,
    /// Also threads in which nothing was asked yet.
    pub empty: bool,
    /// Found in first message or name, whatever the case.
    pub search: Option<String>,
    pub sort: Sort,
    pub oldest_first: bool,
    /// 0: all.
    pub limit: usize,
    /// `Page::next` of the page before.
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub threads: Vec<Summary>,
    /// Where the next page begins; None: this was the last.
    pub next: Option<String>,
}

/// Place in the order: time, then id.
type Key = (String, ThreadId);

pub(crate) fn list(store: &Store, filter: &Filter) -> Result<Page, Error> {
    let names = store.names()?;
    let mut rollouts: Vec<(Key, Rollout)> =
        store.rollouts(filter.archived).into_iter().map(|r| (key(&r, filter.sort), r)).collect();
    rollouts.sort_by(|(a, _), (b, _)| if filter.oldest_first { a.cmp(b) } else { b.cmp(a) });
    let after = filter.cursor.as_deref().and_then(|text| text.split_once('/')).map(|(time, id)| {
        let key: Key = (time.to_owned(), id.into());
        key
    });
    let search = filter.search.as_ref().map(|text| text.to_lowercase());

    let mut page = Page::default();
    let mut last: Option<Key> = None;
    for (key, rollout) in rollouts {
        if after.as_ref().is_some_and(|after| if filter.oldest_first { key <= *after } else { key >= *after }) {
            continue;
        }
        // A file that cannot be read, or was removed meanwhile, is no reason to list nothing.
        let Ok(chain) = Chain::of(rollout, &|id| store.locate(id)) else { continue };
        if !fits(&chain.head, filter) {
            continue;
        }
        let summary = summary(&chain, names.of(&chain.head.id));
        let found = |text: &Option<String>| match (&search, text) {
            (None, _) => true,
            (Some(search), Some(text)) => text.to_lowercase().contains(search),
            (Some(_), None) => false,
        };
        if (summary.first_message.is_none() && !filter.empty)
            || !(found(&summary.first_message) || found(&summary.name))
        {
            continue;
        }
        if filter.limit != 0 && page.threads.len() == filter.limit {
            page.next = last.map(|(time, id)| format!("{time}/{id}"));
            break;
        }
        page.threads.push(summary);
        last = Some(key);
    }
    Ok(page)
}

fn fits(head: &Head, filter: &Filter) -> bool {
    filter.cwd.as_ref().is_none_or(|cwd| *cwd == head.meta.cwd)
        && (filter.agents || head.meta.parent_thread_id.is_none())
        && (filter.sources.is_empty() || filter.sources.contains(&head.meta.source))
        && (filter.providers.is_empty() || filter.providers.contains(&head.meta.model_provider))
}

pub(crate) fn summary(chain: &Chain, name: Option<&str>) -> Summary {
    let rollout = &chain.segments[0].rollout;
    let updated = updated(rollout);
    let created = match crate::line::millis(&chain.head.timestamp) {
        0 => updated,
        created => created,
    };
    Summary {
        id: rollout.id.clone(),
        path: rollout.path.clone(),
        meta: chain.head.meta.clone(),
        created,
        updated,
        name: name.map(str::to_owned),
        first_message: chain.first_message(),
        forked_from: chain.head.forked_from_id.clone(),
        archived: rollout.archived(),
    }
}

fn key(rollout: &Rollout, sort: Sort) -> Key {
    let time = match sort {
        Sort::Created => rollout.created.clone(),
        // As wide as every time that fits, so that text sorts as numbers do. Nanoseconds tell apart what milliseconds cannot.
        Sort::Updated => format!("{:020}", changed(rollout)),
    };
    (time, rollout.id.clone())
}

fn updated(rollout: &Rollout) -> Millis {
    u64::try_from(changed(rollout) / 1_000_000).unwrap_or(0)
}

/// Nanoseconds since the epoch.
fn changed(rollout: &Rollout) -> u128 {
    let time = fs::metadata(&rollout.path).and_then(|m| m.modified()).ok();
    time.and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0, |d| d.as_nanos())
}
