use pretty_assertions::assert_eq;
use proptest::prelude::*;
use protocol::{Opaque, Opening, Part, Phase, Raw, Speaker, Stop, Usage, WireId};

use super::*;
use crate::Telling;

fn source(model: &str) -> Source {
    Source { provider: "demo".into(), wire: WireId::Chat, model: model.into() }
}

fn call(id: &str, args: &str) -> Call {
    Call { id: id.into(), namespace: None, name: "shell".into(), args: args.into(), form: CallForm::Function }
}

fn reply(blocks: Vec<Block>) -> Body {
    let reply = Reply { id: "r".into(), from: source("m"), blocks, stop: Stop::End, usage: Usage::default() };
    Body::Reply { reply, total: Usage::default() }
}

fn calling(ids: &[&str]) -> Body {
    reply(ids.iter().map(|id| Block::call(call(id, "{}"))).collect())
}

fn called(id: &str) -> Body {
    Body::Called { call: id.into(), did: Vec::new(), answer: Answer::plain("ok") }
}

fn user() -> Body {
    Body::User { origin: protocol::Origin::User, parts: vec![Part::text("go on")] }
}

fn loaded(bodies: Vec<Body>) -> Loaded {
    let items: Vec<Item> =
        (1..).zip(bodies).map(|(id, body)| Item { id: ItemId(id), turn: "t".into(), at: 0, body }).collect();
    Loaded { next: ItemId(items.len() as u64 + 1), items, ..Loaded::default() }
}

fn mend(loaded: &mut Loaded) -> Vec<Item> {
    let plan = plan(loaded);
    apply(&plan, loaded, &"new".into(), 5, &mut interrupted)
}

/// The plan's lines, before and after it was carried out.
#[track_caller]
fn check(bodies: Vec<Body>, expected: &[&str]) {
    let mut loaded = loaded(bodies);
    let lines: Vec<String> = plan(&loaded).iter().map(Mend::to_string).collect();
    assert_eq!(lines, expected);
    mend(&mut loaded);
    assert_eq!(plan(&loaded), vec![]);
}

#[test]
fn calls_and_answers() {
    check(vec![user(), calling(&["a", "b"]), called("b"), called("a"), reply(vec![Block::text("done")])], &[]);
    let text = "call `shell` (b) was not answered; it gets an answer that says so";
    check(vec![calling(&["a", "b"]), called("a")], &[&format!("item 1: {text}")]);
    check(vec![user(), calling(&["b"]), user(), reply(vec![Block::text("x")])], &[&format!("item 2: {text}")]);
    // A server that uses an id again.
    check(vec![calling(&["b"]), called("b"), calling(&["b"]), called("b")], &[]);
    check(vec![calling(&["b"]), called("b"), calling(&["b"])], &[&format!("item 3: {text}")]);
    check(vec![calling(&["a"]), called("a"), called("a")], &["item 3: a second answer to call a; it is left out"]);
    check(vec![user(), called("z")], &["item 2: an answer to call z, which nobody made; it is left out"]);
}

#[test]
fn empty_replies() {
    let empty = "item 1: the reply is empty; it is left out";
    check(vec![reply(vec![]), user()], &[empty]);
    check(vec![reply(vec![Block::text("")])], &[empty]);
    let thought = Block { kind: BlockKind::Reasoning("hm".into()), opaque: Vec::new() };
    check(vec![reply(vec![thought])], &[empty]);
    let server = BlockKind::Server { name: "web_search".into(), show: Raw::null() };
    check(vec![reply(vec![Block { kind: server, opaque: Vec::new() }])], &[]);
    // The harness has already taken it out.
    check(vec![reply(vec![]), Body::Read { calls: vec![], dropped: true, repaired: 0 }], &[]);
}

#[test]
fn a_reading_counts_more_than_the_reply() {
    let read = |calls, dropped| Body::Read { calls, dropped, repaired: 0 };
    let in_text = Call { form: CallForm::InText, ..call("t", "ls") };
    check(vec![calling(&["a"]), read(vec![], true), user()], &[]);
    check(vec![reply(vec![Block::text("ls")]), read(vec![in_text.clone()], false), called("t")], &[]);
    check(
        vec![reply(vec![Block::text("ls")]), read(vec![in_text], false)],
        &["item 1: call `shell` (t) was not answered; it gets an answer that says so"],
    );
}

#[test]
fn answers_are_appended() {
    let mut loaded = loaded(vec![calling(&["a"]), called("x"), reply(vec![])]);
    let new = mend(&mut loaded);
    let body = Body::Called { call: "a".into(), did: vec![], answer: interrupted(&call("a", "{}")) };
    assert_eq!(new, vec![Item { id: ItemId(4), turn: "new".into(), at: 5, body }]);
    assert_eq!(loaded.items.iter().map(|i| i.id.0).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(loaded.next, ItemId(5));
}

fn result(id: &str, answer: Answer) -> CallResult {
    CallResult { call: id.into(), name: "shell".into(), custom: false, answer }
}
fn results(ids: &[&str]) -> Entry {
    let results = ids.iter().map(|id| result(id, Answer::plain("ok"))).collect();
    Entry::Results { before: vec![], results, after: vec![] }
}
fn says(calls: &[Call]) -> Entry {
    Entry::Assistant(calls.iter().cloned().map(Block::call).collect())
}
fn asks() -> Entry {
    Entry::User(Content::Plain("go on".into()))
}

#[track_caller]
fn check_said(entries: Vec<Entry>, faults: Vec<Fault>, expected: Vec<Entry>) {
    let telling =
        Telling { dialect: "d".into(), source: source("m"), opening: Opening::default(), entries, upto: ItemId(1) };
    let mut loaded = Loaded { telling: Some(telling), ..Loaded::default() };
    assert_eq!(plan(&loaded), faults.into_iter().map(Mend::Said).collect::<Vec<_>>());
    assert_eq!(mend(&mut loaded), vec![]);
    assert_eq!(loaded.telling.as_ref().unwrap().entries, expected);
    assert_eq!(plan(&loaded), vec![]);
}

#[test]
fn entries_that_servers_refuse() {
    let (a, b) = (call("a", "{}"), call("b", "{}"));
    let fine =
        vec![asks(), says(&[a.clone(), b.clone()]), results(&["b", "a"]), asks(), says(std::slice::from_ref(&a))];
    check_said(fine.clone(), vec![], fine);

    for poison in ["", "{\"a\":", "ls", "{} {}"] {
        check_said(
            vec![says(&[call("a", poison)]), results(&["a"])],
            vec![Fault::Arguments("a".into())],
            vec![says(std::slice::from_ref(&a)), results(&["a"])],
        );
    }
    let custom = Call { form: CallForm::Custom, ..call("c", "*** Begin Patch") };
    check_said(vec![says(std::slice::from_ref(&custom))], vec![], vec![says(&[custom])]);

    let supplied = |id: &str| result(id, interrupted(&a));
    check_said(
        vec![says(&[a.clone(), b.clone()]), results(&["b"]), asks()],
        vec![Fault::Unanswered("a".into())],
        vec![
            says(&[a.clone(), b.clone()]),
            Entry::Results {
                before: vec![],
                results: vec![result("b", Answer::plain("ok")), supplied("a")],
                after: vec![],
            },
            asks(),
        ],
    );
    check_said(
        vec![says(std::slice::from_ref(&a)), asks()],
        vec![Fault::Unanswered("a".into())],
        vec![
            says(std::slice::from_ref(&a)),
            Entry::Results { before: vec![], results: vec![supplied("a")], after: vec![] },
            asks(),
        ],
    );
    check_said(
        vec![says(std::slice::from_ref(&a)), results(&["a", "a", "z"]), Entry::Assistant(vec![]), asks()],
        vec![Fault::Excess("a".into()), Fault::Excess("z".into()), Fault::Empty],
        vec![says(std::slice::from_ref(&a)), results(&["a"]), asks()],
    );
    let lost = Entry::Results {
        before: vec![(Speaker::Developer, Content::Plain("hook".into()))],
        results: vec![result("z", Answer::plain("ok"))],
        after: vec![Part::text("reminder")],
    };
    check_said(
        vec![asks(), lost],
        vec![Fault::Excess("z".into())],
        vec![
            asks(),
            Entry::Instruct(Speaker::Developer, Content::Plain("hook".into())),
            Entry::User(Content::Parts(vec![Part::text("reminder")])),
        ],
    );
}

#[test]
fn payloads_of_another_model_are_reported() {
    let opaque = |model| Opaque { scope: source(model), field: "signature".into(), value: Raw::null() };
    let block = Block {
        kind: BlockKind::Text("x".into(), Phase::Final),
        opaque: vec![opaque("m"), opaque("old"), opaque("old")],
    };
    let mut loaded = loaded(vec![reply(vec![block])]);
    loaded.settings = Some(crate::tests::items::settings("m"));
    let plan = plan(&loaded);
    assert_eq!(plan, vec![Mend::Foreign { from: source("old"), count: 2 }]);
    assert!(plan[0].is_note());
}

proptest! {
    /// Whatever the history, one pass is enough.
    #[test]
    fn mended_is_sound(kinds in prop::collection::vec((0u8..6, 0u8..3, 0u8..3), 0..12)) {
        let id = |n: u8| ["a", "b", "c"][usize::from(n)];
        let bodies = kinds.iter().map(|(kind, x, y)| match kind {
            0 => user(),
            1 => calling(&[id(*x)]),
            2 => calling(&[id(*x), id(*y)]),
            3 => called(id(*x)),
            4 => reply(vec![]),
            _ => Body::Read { calls: vec![call(id(*x), "{}")], dropped: *y == 0, repaired: 0 },
        }).collect();
        let entries = kinds.iter().map(|(kind, x, y)| match kind {
            0 => asks(),
            1 => says(&[call(id(*x), "")]),
            2 => says(&[call(id(*x), "{}"), call(id(*y), "1")]),
            3 => results(&[id(*x)]),
            4 => Entry::Assistant(vec![]),
            _ => results(&[id(*x), id(*y)]),
        }).collect();
        let mut loaded = loaded(bodies);
        loaded.telling = Some(Telling {
            dialect: "d".into(), source: source("m"), opening: Opening::default(), entries, upto: ItemId(0),
        });
        mend(&mut loaded);
        prop_assert_eq!(plan(&loaded), vec![]);
    }
}
