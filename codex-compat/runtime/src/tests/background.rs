use pretty_assertions::assert_eq;
use protocol::{Run, TaskOp, World};

use super::*;

fn run(script: &str) -> Turn {
    act(Action::World(World::Run(Run { background: true, ..Run::new(script) })))
}

#[tokio::test]
async fn a_last_turn_waits_for_tasks_where_the_harness_does() {
    let stage = Stage::new("", |asked| match asked.last() {
        "go" => run("until [ -e stop ]; do sleep 0.01; done; echo one; exit 3").into(),
        text if text.starts_with("ended: ") => Turn::text("now it is over").into(),
        _ => Turn::text("waiting").into(),
    });
    let (thread, mut events) = stage.thread(&WAITING, |_| {}).await;
    let (ops, orders) = mpsc::channel(4);
    ops.send(user("go")).await.unwrap();
    ops.send(Op::Shutdown).await.unwrap();
    let client = async {
        events.until(|e| matches!(e, Event::ItemCompleted(_))).await;
        std::fs::write(stage.root.path().join("work/stop"), "").unwrap();
        events.until_closed().await;
    };
    tokio::join!(thread.run(orders), client);
    assert_eq!(shown(&events.all), ["message waiting", "command Some(3) one\n", "message now it is over"]);
    let all = stage.asked();
    let last = all.last().unwrap().last();
    assert_eq!(last, "ended: until [ -e stop ]; do sleep 0.01; done; echo one; exit 3 Code(3) one\n");
    assert_eq!(all.len(), 3);
}

#[tokio::test]
async fn without_that_the_end_of_the_turn_stops_them() {
    let stage = Stage::new("", |asked| match asked.last() {
        "go" => run("exec sleep 1000").into(),
        _ => Turn::text("done").into(),
    });
    let events = stage.exec(&PROBE, "go").await;
    assert_eq!(shown(&events), ["message done"]);
}

#[tokio::test]
async fn tasks_are_listed_and_stopped_and_that_is_no_news() {
    let mut task = Value::Null;
    let stage = Stage::new("", move |asked| {
        let result = asked.result();
        let op = |op| act(Action::World(World::Task(op))).into();
        match asked.0.len() {
            2 => run("echo one; exec sleep 1000").into(),
            4 => {
                task = result["ran"]["task"].clone();
                op(TaskOp::List)
            }
            6 => {
                assert_eq!(result["tasks"][0]["task"], task);
                assert_eq!(result["tasks"][0]["exit"], "running");
                op(TaskOp::Stop { task: protocol::TaskId(task.as_u64().unwrap_or(0)) })
            }
            8 => {
                assert_eq!(result["ran"]["exit"], "stopped");
                op(TaskOp::List)
            }
            n if n > 60 || result["tasks"] == json!([]) => Turn::text("gone").into(),
            // Its item is completed before the turn is over.
            _ => Turn::text("done").into(),
        }
    });
    let (thread, mut events) = stage.thread(&WAITING, |_| {}).await;
    let (ops, orders) = mpsc::channel(4);
    let client = async {
        ops.send(user("go")).await.unwrap();
        let view =
            events.until(|e| matches!(e, Event::ItemCompleted(v) if matches!(v.kind, ViewKind::Command { .. }))).await;
        ops.send(Op::Shutdown).await.unwrap();
        events.until_closed().await;
        view
    };
    let (_, view) = tokio::join!(thread.run(orders), client);
    assert_eq!(shown(&[view]).len(), 1);
    assert!(!stage.asked().iter().any(|asked| asked.last().starts_with("ended: ")));
}

#[tokio::test]
async fn between_turns_the_end_of_a_task_starts_a_turn() {
    let stage = Stage::new("", |asked| match asked.last() {
        "go" => run("until [ -e stop ]; do sleep 0.01; done").into(),
        text if text.starts_with("ended: ") => Turn::text("seen").into(),
        _ => Turn::text("waiting").into(),
    });
    let (thread, mut events) = stage.thread(&WAITING, |_| {}).await;
    let (ops, orders) = mpsc::channel(4);
    let client = async {
        ops.send(user("go")).await.unwrap();
        let over = |event: &Event| matches!(event, Event::TurnCompleted { .. });
        events.until(over).await;
        std::fs::write(stage.root.path().join("work/stop"), "").unwrap();
        events.until(over).await;
        ops.send(Op::Shutdown).await.unwrap();
        events.until_closed().await;
    };
    tokio::join!(thread.run(orders), client);
    assert_eq!(shown(&events.all), ["message waiting", "command Some(0) ", "message seen"]);
}
