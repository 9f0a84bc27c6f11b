use pretty_assertions::assert_eq;
use protocol::{ApprovalPolicy, Ask, OwnedPrompt, Session, World};

use super::*;

/// One Action, then the end. → its outcome.
async fn outcome(
    config: &str,
    turn: Turn,
    change: impl FnOnce(&mut Start),
    prepare: impl FnOnce(&std::path::Path),
) -> Value {
    let mut turns = vec![turn].into_iter();
    let stage = Stage::new(config, move |asked| match asked.first() {
        "side" => Turn::text(format!("{} answers {}", asked.1, asked.last())).into(),
        _ => turns.next().unwrap_or_else(|| Turn::text("done")).into(),
    });
    prepare(stage.root.path());
    let (thread, mut events) = stage.thread(&PROBE, change).await;
    let (ops, orders) = mpsc::channel(4);
    ops.send(user("go")).await.unwrap();
    ops.send(Op::Shutdown).await.unwrap();
    tokio::join!(thread.run(orders), events.until_closed());
    let text = stage.asked().pop().unwrap().result().to_string();
    serde_json::from_str(&text.replace(stage.root.path().to_str().unwrap(), "TOP")).unwrap()
}

fn fetch(url: String) -> Turn {
    act(Action::World(World::Fetch { url, max_bytes: 100, markdown: true }))
}

/// A server of one page.
fn page() -> String {
    let page = || {
        let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
        Step::Raw { status: 200, headers, pieces: vec![b"<h1>Hi".to_vec()], end: demo::scripted::End::Clean }
    };
    // Kept to the end of the process: the address is all that is needed.
    let server = Box::leak(Box::new(Server::answering(move |_, _| page()).unwrap()));
    format!("http://{}/", server.address())
}

#[tokio::test]
async fn pages_of_this_machine_are_for_those_who_allow_them() {
    let url = page();
    let refused = outcome("", fetch(url.clone()), |_| {}, |_| {}).await;
    assert!(refused["refused"]["rule"].as_str().unwrap().contains("tools.web_fetch.allow_private"), "{refused}");
    let config = "tools.web_fetch.allow_private = true";
    let expected = json!({"url": url, "status": 200, "mime": "text/html", "text": "# Hi", "truncated": false});
    assert_eq!(outcome(config, fetch(url), |_| {}, |_| {}).await, json!({"fetched": expected}));
}

#[tokio::test]
async fn the_careful_are_asked_before_a_page_is_fetched() {
    let mut turns = vec![fetch("http://127.0.0.1:1/".into())].into_iter();
    let stage = Stage::new("", move |_| turns.next().unwrap_or_else(|| Turn::text("done")).into());
    let (thread, mut events) = stage.thread(&PROBE, |start| start.approval = Some(ApprovalPolicy::Untrusted)).await;
    let (ops, orders) = mpsc::channel(4);
    let client = async {
        ops.send(user("go")).await.unwrap();
        let ask = events.decide(&ops, Decision::No { feedback: None }).await;
        ops.send(Op::Shutdown).await.unwrap();
        events.until_closed().await;
        ask
    };
    let (_, ask) = tokio::join!(thread.run(orders), client);
    assert_eq!(ask, Ask::Fetch { url: "http://127.0.0.1:1/".into() });
}

#[tokio::test]
async fn a_skill_gives_its_folder_and_instructions() {
    let skill = |name: &str| session(Session::Skill { name: name.into(), args: String::new() });
    let write = |root: &std::path::Path| {
        let folder = root.join("home/skills/shout");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("SKILL.md"), "---\ndescription: d\n---\n\nDo it.\n").unwrap();
    };
    let expected = json!({"skill": {"dir": "TOP/home/skills/shout", "body": "Do it.\n"}});
    assert_eq!(outcome("", skill("shout"), |_| {}, write).await, expected);
    assert_eq!(outcome("", skill("none"), |_| {}, |_| {}).await, json!({"failed": {"other": "no skill `none`"}}));
}

#[tokio::test]
async fn a_side_request_goes_to_the_model_of_its_role() {
    let prompt = OwnedPrompt {
        opening: Opening { instructions: vec![(Speaker::System, Content::Plain("side".into()))], tools: Vec::new() },
        said: vec![Entry::User(Content::Plain("this".into()))],
        tune: Tune::default(),
    };
    let query = session(Session::Query { role: "side".into(), prompt: Box::new(prompt) });
    let answer = outcome("roles.side.model = 'small'", query, |_| {}, |_| {}).await;
    assert_eq!(answer["queried"]["text"], "small answers this");
}
