//! What is appended is what is loaded: items of every kind, attachments included.
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use protocol::*;

use super::{Home, item, meta};

pub(super) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,20}",
        any::<String>(),
        Just("\u{0}\r\n\u{2028}\\\"\u{feff}".to_owned()),
        Just("\"type\":\"compacted\",\"opening\":{},\"entries\":".to_owned()),
    ]
}

fn raw() -> impl Strategy<Value = Raw> {
    prop_oneof![
        Just(r#"{"b" : 1.50, "a":[null,"\u00e9"]}"#.to_owned()),
        text().prop_map(|t| serde_json::to_string(&t).unwrap())
    ]
    .prop_map(|text| Raw::parse(&text).unwrap())
}

fn source() -> impl Strategy<Value = Source> {
    (text(), prop::sample::select(&WireId::ALL[..]), text()).prop_map(|(provider, wire, model)| Source {
        provider,
        wire,
        model,
    })
}

fn opaque() -> impl Strategy<Value = Opaque> {
    (source(), text(), raw()).prop_map(|(scope, field, value)| Opaque { scope, field, value })
}

fn blob() -> impl Strategy<Value = Blob> {
    prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| {
        let id: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Blob::new(format!("blob-{id}"), "image/png", bytes)
    })
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        text().prop_map(Part::Text),
        (blob(), prop::option::of(text())).prop_map(|(blob, detail)| Part::Image { blob, detail }),
        blob().prop_map(Part::Document),
        opaque().prop_map(Part::Foreign),
    ]
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    prop::collection::vec(part(), 0..3)
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![text().prop_map(Content::Plain), parts().prop_map(Content::Parts)]
}

fn answer() -> impl Strategy<Value = Answer> {
    (content(), any::<Option<bool>>(), parts()).prop_map(|(content, error, after)| Answer { content, error, after })
}

fn call() -> impl Strategy<Value = Call> {
    let form = prop::sample::select(&[CallForm::Function, CallForm::Custom, CallForm::InText][..]);
    (text(), prop::option::of(text()), text(), text(), form).prop_map(|(id, namespace, name, args, form)| Call {
        id: id.into(),
        namespace,
        name,
        args,
        form,
    })
}

fn block() -> impl Strategy<Value = Block> {
    let kind = prop_oneof![
        text().prop_map(|t| BlockKind::Text(t, Phase::Commentary)),
        text().prop_map(BlockKind::Reasoning),
        call().prop_map(BlockKind::Call),
        (text(), raw()).prop_map(|(name, show)| BlockKind::Server { name, show }),
        Just(BlockKind::Unknown),
    ];
    (kind, prop::collection::vec(opaque(), 0..2)).prop_map(|(kind, opaque)| Block { kind, opaque })
}

fn usage() -> impl Strategy<Value = Usage> {
    any::<[u64; 5]>().prop_map(|[input, cached, cache_write, output, reasoning]| Usage {
        input,
        cached,
        cache_write,
        output,
        reasoning,
    })
}

fn reply() -> impl Strategy<Value = Body> {
    let stop = prop_oneof![Just(Stop::End), Just(Stop::Cut), text().prop_map(Stop::Other)];
    (text(), source(), prop::collection::vec(block(), 0..3), stop, usage(), usage()).prop_map(
        |(id, from, blocks, stop, usage, total)| Body::Reply {
            reply: Reply { id: id.into(), from, blocks, stop, usage },
            total,
        },
    )
}

fn done() -> impl Strategy<Value = Done> {
    let action = prop_oneof![
        text().prop_map(|script| Action::World(World::Run(Run::new(script)))),
        parts().prop_map(|parts| Action::Session(Session::CountTokens(parts))),
    ];
    let stamp = Stamp { len: 3, mtime_ns: u64::MAX, hash: "h".into() };
    let outcome = prop_oneof![
        text().prop_map(|text| Outcome::Fetched(Page {
            url: text.clone(),
            status: 200,
            mime: String::new(),
            text,
            truncated: false
        })),
        blob().prop_map(move |blob| Outcome::Media { blob, original: Some((1, 2)), shown: None, stamp: stamp.clone() }),
        Just(Outcome::Refused(Refusal::User { feedback: None })),
    ];
    (action, outcome, any::<u64>()).prop_map(|(action, outcome, tag)| Done { action, outcome, took: 1, at: 2, tag })
}

pub(crate) fn settings(model: &str) -> Settings {
    Settings {
        provider: "demo".into(),
        model: model.to_owned(),
        wire: WireId::Chat,
        harness: "native".into(),
        cwd: "/work".into(),
        sandbox: SandboxPolicy::new(SandboxMode::ReadOnly),
        approval: ApprovalPolicy::Never,
        mode: Mode::Default,
        effort: None,
        summary: None,
        verbosity: None,
        instructions: None,
        developer_instructions: None,
        compact_prompt: None,
        output_schema: None,
        output_limit: None,
        max_output: None,
        features: [("view_image".to_owned(), true)].into(),
    }
}

/// Bodies that the loader hands out as items. `Said`, `Compacted` and `Reverted` change what is handed out.
fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        parts().prop_map(|parts| Body::User { origin: Origin::Hook { event: "e".into() }, parts }),
        reply(),
        (prop::collection::vec(call(), 0..3), any::<bool>(), any::<u32>())
            .prop_map(|(calls, dropped, repaired)| Body::Read { calls, dropped, repaired }),
        (text(), prop::collection::vec(done(), 0..3), answer()).prop_map(|(call, did, answer)| Body::Called {
            call: call.into(),
            did,
            answer
        }),
        (text(), text()).prop_map(|(call, note)| Body::Rejected { call: call.into(), note }),
        text().prop_map(|text| Body::Fact(Fact::Shell(text))),
        text().prop_map(|text| Body::Notice(Notice::Client(text))),
        text().prop_map(|model| Body::Settings(Box::new(settings(&model)))),
        opaque().prop_map(Body::Foreign),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        content().prop_map(|c| Entry::Instruct(Speaker::Developer, c)),
        content().prop_map(Entry::User),
        prop::collection::vec(block(), 0..3).prop_map(Entry::Assistant),
        (content(), text(), answer(), parts()).prop_map(|(before, call, answer, after)| Entry::Results {
            before: vec![(Speaker::System, before)],
            results: vec![CallResult { call: call.into(), name: "n".into(), custom: false, answer }],
            after,
        }),
        opaque().prop_map(Entry::Foreign),
    ]
}

pub(super) fn said() -> impl Strategy<Value = (Opening, Vec<Entry>)> {
    (content(), raw(), prop::collection::vec(entry(), 0..3)).prop_map(|(words, schema, entries)| {
        let tool = Tool {
            namespace: None,
            name: "t".into(),
            description: String::new(),
            kind: ToolKind::Function(schema),
            strict: Some(false),
            deferred: false,
        };
        (Opening { instructions: vec![(Speaker::System, words)], tools: vec![tool] }, entries)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn items_come_back_as_they_were(bodies in prop::collection::vec((body(), text(), 0u64..253_402_300_000_000), 1..6),
                                    (opening, entries) in said()) {
        let home = Home::new();
        let mut session = home.store.create(meta("/work")).unwrap();
        let items: Vec<Item> = (1..)
            .zip(bodies)
            .map(|(id, (body, turn, at))| Item { id: ItemId(id), turn: turn.into(), at, body })
            .collect();
        session.append(&items[..1]).unwrap();
        session.append(&items[1..]).unwrap();
        let source = Source { provider: "p".into(), wire: WireId::Messages, model: "m".into() };
        let next = session.next();
        let said = |opening, entries| Body::Said { dialect: "d".into(), source: source.clone(), opening, entries };
        let telling = vec![
            item(next.0, said(Some(opening.clone()), entries.clone())),
            item(next.0 + 1, said(None, entries.clone())),
        ];
        session.append(&telling).unwrap();
        let id = session.id().clone();
        drop(session);

        let (session, loaded) = home.store.open(&id).unwrap();
        prop_assert_eq!(&loaded.warnings, &Vec::<String>::new());
        prop_assert_eq!(&loaded.items, &items);
        prop_assert_eq!(loaded.next, ItemId(next.0 + 2));
        prop_assert_eq!(session.next(), loaded.next);
        let telling = crate::Telling {
            dialect: "d".into(), source: source.clone(), opening, entries: [entries.clone(), entries].concat(), upto: ItemId(next.0 + 1),
        };
        prop_assert_eq!(loaded.telling, Some(telling));
        let total = items.iter().rev().find_map(|i| match i.body { Body::Reply { total, .. } => Some(total), _ => None });
        prop_assert_eq!(loaded.total, total.unwrap_or_default());
        let last = items.iter().rev().find_map(|i| match &i.body { Body::Settings(s) => Some(&**s), _ => None });
        prop_assert_eq!(loaded.settings.as_ref(), last);
    }
}

#[test]
fn attachments_lie_beside_the_file_once() {
    let home = Home::new();
    let mut session = home.create();
    let picture = Part::Image { blob: Blob::new("ab12", "image/png", &b"png"[..]), detail: None };
    let body = Body::User { origin: Origin::User, parts: vec![picture.clone(), picture] };
    super::add(&mut session, vec![body.clone()]);
    let folder = session.folder().unwrap();
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["ab12"]);
    assert_eq!(home.read(session.id()).items, vec![item(1, body)]);

    std::fs::remove_dir_all(folder).unwrap();
    let loaded = home.read(session.id());
    assert_eq!(loaded.items.len(), 1);
    assert!(loaded.warnings[0].contains("attachment ab12"), "{:?}", loaded.warnings);
}

#[test]
fn an_attachment_cannot_leave_its_folder() {
    let home = Home::new();
    let mut session = home.create();
    for name in ["../up", "a/b", ".hidden", "", "a\0b"] {
        let blob = Blob::new(name, "image/png", &b"x"[..]);
        let body = Body::User { origin: Origin::User, parts: vec![Part::Document(blob)] };
        let error = session.append(&[item(1, body)]).unwrap_err();
        assert!(matches!(error, crate::Error::BlobName(_)), "{name}: {error}");
    }
    assert_eq!(home.read(session.id()).items, vec![]);
}

#[test]
fn ids_ascend() {
    let home = Home::new();
    let mut session = home.create();
    super::add(&mut session, vec![super::user("a")]);
    let error = session.append(&[item(1, super::user("b"))]).unwrap_err().to_string();
    assert_eq!(error, format!("item 1 of session {} is out of order: the next one is 2", session.id()));
    let mut ephemeral = home.store.ephemeral();
    super::add(&mut ephemeral, vec![super::user("a")]);
    assert_eq!((ephemeral.next(), ephemeral.path()), (ItemId(2), None));
}
