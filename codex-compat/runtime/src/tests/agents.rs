use demo::scripted::End as Ends;
use pretty_assertions::assert_eq;
use protocol::{Run, Session, Usage, World};
use sessions::{Filter, Store};

use super::*;

fn spawn(prompt: &str, background: bool, resume: Option<&str>) -> Turn {
    session(Session::Spawn {
        kind: "explore".into(),
        description: "look".into(),
        prompt: prompt.into(),
        model: None,
        background,
        resume: resume.map(str::to_owned),
    })
}

fn run(script: &str) -> Turn {
    act(Action::World(World::Run(Run::new(script))))
}

const CHILD: &str = "I am `explore` at depth 1";

fn of_child(asked: &Asked) -> bool {
    asked.first() == CHILD
}

#[tokio::test]
async fn an_agent_works_on_its_own_and_answers_the_call() {
    let stage = Stage::new("", |asked| match (of_child(asked), asked.last()) {
        (false, "go") => spawn("count", false, None).using(100, 1).into(),
        (true, "count") => run("echo 7").using(1000, 10).into(),
        (true, _) => Turn::text("there are 7").using(1000, 10).into(),
        (false, _) => Turn::text("done").using(100, 1).into(),
    });
    let events = stage.exec(&PROBE, "go").await;
    // Its command is shown, its words are not.
    assert_eq!(shown(&events), ["command Some(0) 7\n", "message done"]);
    let keys: Vec<u64> =
        events.iter().filter_map(|e| if let Event::ItemCompleted(v) = e { Some(v.key) } else { None }).collect();
    assert!(keys[0] < keys[1], "{keys:?}");
    let total =
        events.iter().find_map(|e| if let Event::TurnCompleted { total, .. } = e { Some(*total) } else { None });
    assert_eq!(total, Some(Usage { input: 2200, output: 22, ..Usage::default() }));
    let asked = stage.asked();
    let answer = asked.last().unwrap().result();
    assert_eq!(answer["agent"]["text"], "there are 7");
    assert_eq!(answer["agent"]["usage"]["input"], 2000);

    let store = Store::new(stage.root.path().join("home"));
    let ids = |agents| -> Vec<_> {
        let page = store.list(&Filter { agents, empty: true, ..Filter::default() }).unwrap();
        page.threads.into_iter().map(|t| (t.id, t.meta.parent_thread_id, t.meta.thread_source)).collect()
    };
    let [(parent, None, _)] = &ids(false)[..] else { panic!("{:?}", ids(false)) };
    let child = ids(true).into_iter().find(|(id, ..)| id != parent).unwrap();
    assert_eq!(child.0.as_str(), answer["agent"]["id"].as_str().unwrap());
    assert_eq!((child.1.as_ref(), child.2.as_deref()), (Some(parent), Some("explore")));
}

#[tokio::test]
async fn depth_and_number_are_limited() {
    let stage = Stage::new("agents.max_threads = 1", |asked| match (of_child(asked), asked.0.len()) {
        (false, 2) => {
            let two = spawn("a", false, None);
            let second = two.calls[0].clone();
            let mut two = two;
            two.calls.push(second);
            two.into()
        }
        (true, 2) => spawn("b", false, None).into(),
        (true, _) => Turn::text(asked.result().to_string()).into(),
        (false, _) => Turn::text("done").into(),
    });
    stage.exec(&PROBE, "go").await;
    let asked = stage.asked();
    let results: Vec<Value> = asked
        .last()
        .unwrap()
        .0
        .iter()
        .filter(|(role, _)| role == "tool")
        .map(|(_, t)| serde_json::from_str(t).unwrap())
        .collect();
    assert_eq!(results.len(), 2);
    assert!(results.contains(&json!({"refused": {"limit": "agents.max_threads (1)"}})), "{results:?}");
    assert!(results.iter().any(|r| r["agent"]["text"] == "{\"refused\":\"depth\"}"), "{results:?}");
}

#[tokio::test]
async fn an_agent_in_the_background_reports_by_itself() {
    let stage = Stage::new("", |asked| match (of_child(asked), asked.last()) {
        (false, "go") => spawn("count", true, None).into(),
        (true, _) => Turn::text("there are 7").into(),
        (false, text) if text.starts_with("reported: ") => Turn::text("heard").into(),
        (false, _) => Turn::text("waiting").into(),
    });
    let events = stage.exec(&WAITING, "go").await;
    assert_eq!(shown(&events).last().unwrap(), "message heard");
    let told: Vec<String> =
        stage.asked().iter().map(|a| a.last().to_owned()).filter(|t| t.starts_with("reported: ")).collect();
    assert_eq!(told, ["reported: there are 7"]);
}

#[tokio::test]
async fn one_that_nobody_waits_for_is_stopped() {
    let stage = Stage::new("", |asked| match (of_child(asked), asked.last()) {
        (false, "go") => spawn("count", true, None).into(),
        (true, _) => Step::stream(Vec::new(), Ends::Stall),
        (false, _) => Turn::text("done").into(),
    });
    let events = stage.exec(&PROBE, "go").await;
    assert_eq!(shown(&events), ["message done"]);
}

#[tokio::test]
async fn an_agent_goes_on_where_it_stopped_also_after_a_resume() {
    let script = |asked: &Asked| match (of_child(asked), asked.last()) {
        (false, "go") => spawn("first", false, None).into(),
        (true, "first") => Turn::text("one").into(),
        (true, "second") => Turn::text(format!("{} messages", asked.0.len())).into(),
        (false, text) if text.starts_with("again ") => spawn("second", false, text.strip_prefix("again ")).into(),
        (_, _) => Turn::text("done").into(),
    };
    let stage = Stage::new("", script);
    stage.exec(&PROBE, "go").await;
    let id = stage.asked().last().unwrap().result()["agent"]["id"].as_str().unwrap().to_owned();
    let resume = |start: &mut Start| start.begin = crate::Begin::Resume(crate::Which::Last { anywhere: false });
    let (thread, mut events) = stage.thread(&PROBE, resume).await;
    let (ops, orders) = mpsc::channel(4);
    ops.send(user(&format!("again {id}"))).await.unwrap();
    ops.send(Op::Shutdown).await.unwrap();
    tokio::join!(thread.run(orders), events.until_closed());
    let answer = stage.asked().last().unwrap().result();
    assert_eq!((&answer["agent"]["id"], &answer["agent"]["text"]), (&json!(id), &json!("4 messages")));
}

#[tokio::test]
async fn a_stop_stops_the_agent_too() {
    let stage = Stage::new("", |asked| match (of_child(asked), asked.last()) {
        (false, _) => spawn("run", false, None).into(),
        (true, _) => run("echo begun; exec sleep 1000").into(),
    });
    let (thread, mut events) = stage.thread(&PROBE, |_| {}).await;
    let (ops, orders) = mpsc::channel(4);
    let client = async {
        ops.send(user("go")).await.unwrap();
        events.until(|e| matches!(e, Event::ItemStarted(v) if matches!(v.kind, ViewKind::Command { .. }))).await;
        ops.send(Op::Interrupt).await.unwrap();
        ops.send(Op::Shutdown).await.unwrap();
        events.until_closed().await;
    };
    tokio::join!(thread.run(orders), client);
    let stopped = events.all.iter().filter(|e| matches!(e, Event::TurnInterrupted { .. })).count();
    assert_eq!(stopped, 1);
    assert!(shown(&events.all)[0].starts_with("command Some(130)"), "{:?}", shown(&events.all));
}

#[tokio::test]
async fn agents_of_one_round_work_side_by_side() {
    let stage = Stage::new("agents.max_threads = 2", |asked| match (of_child(asked), asked.last()) {
        // Each waits for the other's command.
        (true, "a") => run("touch a; until [ -e b ]; do sleep 0.01; done").into(),
        (true, "b") => run("touch b; until [ -e a ]; do sleep 0.01; done").into(),
        (true, _) => Turn::text("met").into(),
        (false, _) => Turn::text("done").into(),
    });
    let (thread, _events) = stage.thread(&PROBE, |_| {}).await;
    let call = spawn("a", false, None).calls.remove(0);
    let actions =
        ["a", "b", "c"].map(|prompt| serde_json::from_str(&spawn(prompt, false, None).calls[0].args).unwrap());
    let done = thread.act_all(&call, actions.to_vec()).await;
    let told: Vec<&str> =
        done.iter().map(|d| if let protocol::Outcome::Agent { text, .. } = &d.outcome { text } else { "no" }).collect();
    assert_eq!(told, ["met", "met", "met"]);
}

#[tokio::test]
async fn an_agent_in_the_background_can_be_waited_for() {
    let op = |id: &Value, op: &str, message: Option<&str>| {
        let (id, message) = (id.as_str().unwrap_or_default().to_owned(), message.map(str::to_owned));
        session(Session::Agent { id, op: op.into(), message })
    };
    let mut id = Value::Null;
    let stage = Stage::new("", move |asked| match (of_child(asked), asked.0.len()) {
        (true, 2) => run("until [ -e stop ]; do sleep 0.01; done").into(),
        (true, _) => Turn::text("report").into(),
        (false, 2) => spawn("count", true, None).into(),
        (false, 4) => {
            id = asked.result()["agent"]["id"].clone();
            op(&id, "wait", Some("1")).into()
        }
        (false, 6) => run("touch stop").into(),
        (false, 8) => op(&id, "wait", None).into(),
        (false, 10) => op(&id, "output", None).into(),
        (false, 12) => op(&json!("x"), "stop", None).into(),
        (false, _) => Turn::text("done").into(),
    });
    stage.exec(&WAITING, "go").await;
    let asked = stage.asked().into_iter().rfind(|asked| !of_child(asked)).unwrap();
    let results: Vec<Value> =
        asked.0.iter().filter(|(role, _)| role == "tool").map(|(_, t)| serde_json::from_str(t).unwrap()).collect();
    let texts: Vec<&Value> = [1, 3, 4].iter().map(|at| &results[*at]["agent"]["text"]).collect();
    assert_eq!(texts, ["", "report", "report"]);
    assert_eq!(results[5], json!({"failed": {"other": "no agent `x`"}}));
    assert!(!asked.0.iter().any(|(_, text)| text.starts_with("reported: ")));
}

#[tokio::test]
async fn an_interrupt_between_turns_stops_those_in_the_background() {
    let stage = Stage::new("", |asked| match (of_child(asked), asked.last()) {
        (false, "go") => spawn("count", true, None).into(),
        (true, _) => run("exec sleep 1000").into(),
        (false, _) => Turn::text("done").into(),
    });
    let (thread, mut events) = stage.thread(&PROBE, |_| {}).await;
    let (ops, orders) = mpsc::channel(4);
    let client = async {
        ops.send(user("go")).await.unwrap();
        let (mut started, mut over) = (false, false);
        let both = |event: &Event| {
            started |= matches!(event, Event::ItemStarted(_));
            over |= matches!(event, Event::TurnCompleted { .. });
            started && over
        };
        events.until(both).await;
        ops.send(Op::Interrupt).await.unwrap();
        let ended = events.until(|event| matches!(event, Event::ItemCompleted(_))).await;
        ops.send(Op::Shutdown).await.unwrap();
        events.until_closed().await;
        ended
    };
    let (_, ended) = tokio::join!(thread.run(orders), client);
    assert_eq!(shown(&[ended]), ["command Some(130) "]);
}
