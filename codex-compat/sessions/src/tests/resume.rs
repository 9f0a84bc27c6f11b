//! What a resume gets: the part since the last compaction, what stands said, without what was reverted; over forks.
use pretty_assertions::assert_eq;
use protocol::*;

use super::{Home, add, items::settings, meta, told, user};
use crate::{Compaction, Error};

fn source() -> Source {
    Source { provider: "demo".into(), wire: WireId::Chat, model: "m".into() }
}

fn said(opening: Option<&str>, text: &str) -> Body {
    let opening = opening
        .map(|text| Opening { instructions: vec![(Speaker::System, Content::Plain(text.into()))], tools: Vec::new() });
    let entries = vec![Entry::User(Content::Plain(text.into()))];
    Body::Said { dialect: "native".into(), source: source(), opening, entries }
}

fn compacted(upto: u64) -> Body {
    Body::Compacted {
        upto: ItemId(upto),
        summary: format!("before {upto}"),
        total: Usage { input: upto, ..Usage::default() },
        counts: Counts::default(),
    }
}

fn reply(text: &str, input: u64) -> Body {
    let total = Usage { input, ..Usage::default() };
    let reply =
        Reply { id: "r".into(), from: source(), blocks: vec![Block::text(text)], stop: Stop::End, usage: total };
    Body::Reply { reply, total }
}

/// Opening and texts of the telling, joined.
fn telling(loaded: &crate::Loaded) -> Option<String> {
    let telling = loaded.telling.as_ref()?;
    let mut texts = vec![telling.opening.instructions[0].1.text()];
    texts.extend(telling.entries.iter().map(|e| match e {
        Entry::User(content) => content.text(),
        other => format!("{other:?}"),
    }));
    Some(format!("{} @{}", texts.join(" "), telling.upto.0))
}

#[track_caller]
fn check(bodies: Vec<Body>, items: &[&str], tells: Option<&str>) -> crate::Loaded {
    let home = Home::new();
    let loaded = home.read(&home.written(bodies));
    assert_eq!(told(&loaded), items);
    assert_eq!(telling(&loaded).as_deref(), tells);
    assert_eq!(loaded.warnings, Vec::<String>::new());
    loaded
}

#[test]
fn what_was_said_since_the_last_opening() {
    check(vec![user("a")], &["1 a"], None);
    check(vec![user("a"), said(Some("old"), "x"), said(None, "y"), user("b")], &["1 a", "4 b"], Some("old x y @3"));
    check(vec![said(Some("old"), "x"), said(Some("new"), "y"), said(None, "z")], &[], Some("new y z @3"));
    check(vec![said(None, "x")], &[], None);
    let trap = "\"opening\":{\\\"opening\\\":";
    check(vec![said(Some("o"), "x"), said(None, trap)], &[], Some(&format!("o x {trap} @2")));
}

#[test]
fn compaction() {
    let loaded = check(
        vec![
            Body::Settings(Box::new(settings("m1"))),
            user("a"),
            reply("ra", 70),
            said(Some("old"), "x"),
            user("b"),
            compacted(5),
            said(Some("new"), "y"),
            user("c"),
        ],
        &["5 b", "6 compacted", "8 c"],
        Some("new y @7"),
    );
    assert_eq!(loaded.compaction, Some(Compaction { id: ItemId(6), upto: ItemId(5), summary: "before 5".into() }));
    assert_eq!(loaded.settings, Some(settings("m1")));
    assert_eq!(loaded.total.input, 5);
    assert_eq!(loaded.next, ItemId(9));
    assert_eq!(loaded.first_message.as_deref(), Some("a"));

    // The program died between compaction and new opening: what was said before is not in force.
    check(vec![said(Some("old"), "x"), user("a"), compacted(3)], &["3 compacted"], None);
    // Two compactions; one that claims the future.
    check(vec![user("a"), compacted(2), user("b"), compacted(4), user("c")], &["4 compacted", "5 c"], None);
    check(vec![user("a"), compacted(99), user("b")], &["2 compacted", "3 b"], None);
}

#[test]
fn reverted() {
    let revert = |to| Body::Reverted { to: ItemId(to) };
    check(vec![user("a"), user("b"), revert(2), user("c")], &["1 a", "4 c"], None);
    check(vec![user("a"), user("b"), revert(0)], &[], None);
    check(vec![said(Some("o"), "x"), user("b"), said(None, "y"), revert(2), user("c")], &["5 c"], Some("o x @1"));
    check(vec![said(Some("o"), "x"), said(Some("p"), "y"), revert(2)], &[], Some("o x @1"));
    // A compaction is undone with what came before it.
    check(vec![user("a"), compacted(2), user("b"), revert(2)], &["1 a"], None);
    // Two, the outer one later; and one that takes back another.
    check(vec![user("a"), user("b"), revert(2), user("c"), revert(1), user("d")], &["6 d"], None);
    check(vec![user("a"), user("b"), revert(2), revert(3), user("c")], &["1 a", "2 b", "5 c"], None);
    // What was paid stays paid.
    let loaded = check(vec![user("a"), reply("r", 9), revert(1)], &[], None);
    assert_eq!(loaded.total.input, 9);
    assert_eq!(loaded.next, ItemId(4));
}

#[test]
fn going_on() {
    let home = Home::new();
    let id = home.written(vec![user("a")]);
    let (mut session, loaded) = home.store.open(&id).unwrap();
    assert_eq!((session.next(), loaded.next), (ItemId(2), ItemId(2)));
    assert_eq!(loaded.head.meta, meta("/work"));
    assert_eq!((&loaded.head.id, &loaded.head.session_id), (&id, &id));
    add(&mut session, vec![user("b")]);
    drop(session);
    assert_eq!(told(&home.read(&id)), ["1 a", "2 b"]);
    let ordinals: Vec<u64> = std::fs::read_to_string(home.path(&id))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["ordinal"].as_u64().unwrap())
        .collect();
    assert_eq!(ordinals, [0, 1, 2]);
    assert!(matches!(home.store.open(&"nobody".into()), Err(Error::NoRollout(_))));
}

#[test]
fn forks_refer_to_their_source() {
    let home = Home::new();
    let a = home.written(vec![
        Body::Settings(Box::new(settings("m"))),
        user("one"),
        reply("r", 5),
        user("two"),
        said(Some("o"), "x"),
    ]);
    let (mut b, loaded) = home.store.fork(&a, Some(ItemId(4)), meta("/b")).unwrap();
    assert_eq!(told(&loaded), ["1 settings", "2 one", "3 reply"]);
    assert_eq!(loaded.head.forked_from_id.as_ref(), Some(&a));
    assert_eq!(loaded.head.forked_from_ordinal_exclusive, Some(4));
    assert_eq!((loaded.next, b.next()), (ItemId(5), ItemId(5)));
    assert_eq!(loaded.first_message.as_deref(), Some("one"));
    assert_eq!(loaded.total.input, 5);
    assert_eq!(loaded.settings, Some(settings("m")));
    assert_eq!(telling(&loaded), None);
    add(&mut b, vec![user("three")]);
    assert_eq!(std::fs::read_to_string(b.path().unwrap()).unwrap().lines().count(), 2);

    // The source goes on; the fork does not see it.
    add(&mut home.store.open(&a).unwrap().0, vec![user("later")]);
    assert_eq!(told(&home.read(b.id())), ["1 settings", "2 one", "3 reply", "5 three"]);

    // A fork of the fork, once of all of it and once of a part that lies in the first.
    let (c, loaded) = home.store.fork(b.id(), None, meta("/c")).unwrap();
    assert_eq!(told(&loaded), ["1 settings", "2 one", "3 reply", "5 three"]);
    assert_eq!(c.next(), ItemId(7));
    let (_, loaded) = home.store.fork(c.id(), Some(ItemId(3)), meta("/d")).unwrap();
    assert_eq!(told(&loaded), ["1 settings", "2 one"]);
    let (_, loaded) = home.store.fork(&a, None, meta("/e")).unwrap();
    assert_eq!(told(&loaded), ["1 settings", "2 one", "3 reply", "4 two", "6 later"]);
    assert_eq!(telling(&loaded).as_deref(), Some("o x @5"));

    // Reverting in a fork reaches into its source, for the fork alone.
    add(&mut b, vec![Body::Reverted { to: ItemId(3) }, user("four")]);
    assert_eq!(told(&home.read(b.id())), ["1 settings", "2 one", "7 four"]);
    assert_eq!(told(&home.read(&a)).len(), 5);
    let history: Vec<u64> = home.store.history(b.id()).unwrap().iter().map(|i| i.id.0).collect();
    assert_eq!(history, [1, 2, 7]);
}

#[test]
fn attachments_of_a_fork_are_those_of_its_source() {
    let home = Home::new();
    let blob = Part::Document(Blob::new("doc", "application/pdf", &b"%PDF"[..]));
    let body = Body::User { origin: Origin::User, parts: vec![blob] };
    let a = home.written(vec![body.clone()]);
    let (_, loaded) = home.store.fork(&a, None, meta("/b")).unwrap();
    assert_eq!(loaded.items[0].body, body);
}

#[test]
fn a_fork_outlives_its_source() {
    let home = Home::new();
    let a = home.written(vec![user("a")]);
    let (mut b, _) = home.store.fork(&a, None, meta("/b")).unwrap();
    add(&mut b, vec![user("b")]);
    let error = home.store.delete(&a).unwrap_err();
    assert!(matches!(error, Error::HasForks { .. }), "{error}");
    home.store.archive(&a).unwrap();
    assert_eq!(told(&home.read(b.id())), ["1 a", "3 b"]);
    std::fs::remove_file(home.path(&a)).unwrap();
    let loaded = home.read(b.id());
    assert_eq!(told(&loaded), ["3 b"]);
    assert_eq!(
        loaded.warnings,
        [format!("session {a}, which this one was forked from, is gone: its history is missing")]
    );
}

#[test]
fn the_whole_history() {
    let home = Home::new();
    let id = home.written(vec![user("a"), said(Some("o"), "x"), compacted(2), user("b")]);
    let ids: Vec<u64> = home.store.history(&id).unwrap().iter().map(|i| i.id.0).collect();
    assert_eq!(ids, [1, 3, 4]);
}
