use pretty_assertions::assert_eq;
use protocol::{ApprovalPolicy, Ask, Change, Expect, Mode, New, Question, Run, Session, World};

use super::*;

fn change(path: &str) -> Turn {
    let new = New::Whole { text: "x".into(), like: None };
    act(Action::World(World::Change(vec![Change { path: path.into(), to: None, new, expect: Expect::Anything }])))
}

/// Replies to the results of calls, one after another; the last text ends the turn.
fn steps(turns: Vec<Turn>) -> impl FnMut(&Asked) -> Step + Send + 'static {
    let mut turns = turns.into_iter();
    move |_| turns.next().unwrap_or_else(|| Turn::text("done")).into()
}

/// The results of all calls, in order.
fn results(stage: &Stage) -> Vec<Value> {
    let last = stage.asked().pop().unwrap();
    let texts = last.0.iter().filter(|(role, _)| role == "tool");
    texts.map(|(_, text)| serde_json::from_str(text).unwrap_or(Value::String(text.clone()))).collect()
}

fn questions() -> Turn {
    let options = vec![("a".into(), "A".into())];
    let question = Question { id: "q".into(), header: "H".into(), question: "Which?".into(), options, multi: false };
    session(Session::Ask { questions: vec![question], background: false })
}

#[tokio::test]
async fn nobody_answers_in_exec() {
    let plan = Mode::Plan { file: "/plan.md".into() };
    let stage = Stage::new(
        "",
        steps(vec![
            questions(),
            session(Session::Mode(plan)),
            change("a"),
            session(Session::ProposePlan { text: None }),
            session(Session::Mode(Mode::Default)),
            change("a"),
        ]),
    );
    stage.exec(&PROBE, "go").await;
    let nobody = json!({"refused": {"nobody_to_ask": {"escalation": false}}});
    let results = results(&stage);
    let refused = json!({"refused": {"plan_mode": {"file": "/plan.md"}}});
    // The agent chose the mode, so it may leave it.
    assert_eq!(results[..5], [nobody.clone(), json!("ok"), refused, nobody, json!("ok")]);
    assert!(results[5]["changed"].is_array(), "{results:?}");
    let told: Vec<String> = stage
        .asked()
        .pop()
        .unwrap()
        .0
        .into_iter()
        .filter(|(_, text)| text.starts_with("mode: "))
        .map(|(_, t)| t)
        .collect();
    assert_eq!(told, ["mode: Plan { file: \"/plan.md\" }", "mode: Default"]);
}

#[tokio::test]
async fn a_plan_mode_of_the_users_ends_by_an_approved_plan() {
    let propose = || session(Session::ProposePlan { text: Some("1. x".into()) });
    let stage = Stage::new(
        "",
        steps(vec![session(Session::Mode(Mode::Default)), propose(), change("a"), propose(), change("a"), questions()]),
    );
    let (thread, mut events) = stage.thread(&PROBE, |start| start.answered = true).await;
    let mut settings = (*thread.settings()).clone();
    settings.mode = Mode::Plan { file: "/plan.md".into() };
    *thread.settings.borrow_mut() = settings.into();
    let (ops, orders) = mpsc::channel(4);
    let client = async {
        ops.send(user("go")).await.unwrap();
        let no = Decision::No { feedback: Some("more".into()) };
        let first = events.decide(&ops, no).await;
        events.decide(&ops, Decision::Once).await;
        let answers = Raw::of(&json!({"answers": {"q": {"answers": ["a"]}}}));
        let asked = events.decide(&ops, Decision::Answers(answers)).await;
        ops.send(Op::Shutdown).await.unwrap();
        events.until_closed().await;
        (first, asked)
    };
    let (_, (first, asked)) = tokio::join!(thread.run(orders), client);
    assert_eq!(first, Ask::Plan { text: Some("1. x".into()), file: "/plan.md".into() });
    assert!(matches!(asked, Ask::Questions { questions } if questions[0].id == "q"));
    let results = results(&stage);
    let refused = json!({"refused": {"plan_mode": {"file": "/plan.md"}}});
    let decided = |approved: bool, feedback: Option<&str>| json!({"plan_decided": {"approved": approved, "feedback": feedback, "file": "/plan.md"}});
    assert_eq!(results[..4], [refused.clone(), decided(false, Some("more")), refused, decided(true, None)]);
    assert!(results[4]["changed"].is_array(), "{results:?}");
    assert_eq!(results[5], json!({"answers": {"answers": {"q": {"answers": ["a"]}}}}));
}

#[tokio::test]
async fn what_was_allowed_for_the_session_is_asked_once() {
    let run = |script: &str| act(Action::World(World::Run(Run::new(script))));
    let stage = Stage::new(
        "",
        steps(vec![
            run("echo a"),
            run("echo a"),
            run("echo b"),
            run("echo c d"),
            change("f"),
            change("f"),
            run("echo; ls"),
        ]),
    );
    let (thread, mut events) = stage.thread(&PROBE, |start| start.approval = Some(ApprovalPolicy::Untrusted)).await;
    let (ops, orders) = mpsc::channel(4);
    let client = async {
        ops.send(user("go")).await.unwrap();
        let decisions = [
            Decision::Session,
            Decision::Prefix(vec!["echo".into()]),
            Decision::Session,
            Decision::No { feedback: None },
        ];
        for decision in decisions {
            events.decide(&ops, decision).await;
        }
        ops.send(Op::Shutdown).await.unwrap();
        events.until_closed().await;
    };
    tokio::join!(thread.run(orders), client);
    assert_eq!(events.all.iter().filter(|event| matches!(event, Event::ApprovalAsked { .. })).count(), 4);
    assert_eq!(results(&stage).last(), Some(&json!({"refused": {"user": {"feedback": null}}})));
}

#[tokio::test]
async fn a_stop_answers_what_is_asked() {
    let stage = Stage::new("", steps(vec![questions()]));
    let (thread, mut events) = stage.thread(&PROBE, |start| start.answered = true).await;
    let (ops, orders) = mpsc::channel(4);
    let client = async {
        ops.send(user("go")).await.unwrap();
        events.until(|event| matches!(event, Event::ApprovalAsked { .. })).await;
        ops.send(Op::Interrupt).await.unwrap();
        ops.send(Op::Shutdown).await.unwrap();
        events.until_closed().await;
    };
    tokio::join!(thread.run(orders), client);
    assert!(events.all.iter().any(|event| matches!(event, Event::TurnInterrupted { .. })));
    assert!(events.all.iter().any(|event| matches!(event, Event::ApprovalDone { .. })));
}

#[tokio::test]
async fn the_plan_may_be_written_where_plans_are_kept_and_nowhere_else() {
    async fn check(sandbox: &str, file: &str, prepare: impl FnOnce(&std::path::Path), written: bool) {
        let root = std::sync::Arc::new(std::sync::OnceLock::<std::path::PathBuf>::new());
        let (known, name) = (root.clone(), file.to_owned());
        let stage = Stage::new("", move |asked| {
            let file = known.get().map(|root| root.join(&name)).unwrap_or_default();
            match asked.0.len() {
                2 => session(Session::Mode(Mode::Plan { file })).into(),
                5 => change(file.to_str().unwrap_or_default()).into(),
                _ => Turn::text("done").into(),
            }
        });
        let top = std::fs::canonicalize(stage.root.path()).unwrap();
        root.set(top.clone()).unwrap();
        prepare(&top);
        let config = top.join("home/config.toml");
        let text = std::fs::read_to_string(&config).unwrap().replace("danger-full-access", sandbox);
        // The temporary folder of the test must not be writable.
        std::fs::write(
            &config,
            format!("{text}\n[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n"),
        )
        .unwrap();
        let (thread, mut events) = stage.thread(&PROBE, |start| start.loaded.home.dir = top.join("home")).await;
        let (ops, orders) = mpsc::channel(4);
        ops.send(user("go")).await.unwrap();
        ops.send(Op::Shutdown).await.unwrap();
        tokio::join!(thread.run(orders), events.until_closed());
        let result = results(&stage).pop().unwrap();
        assert_eq!(result["changed"].is_array(), written, "{sandbox} {file}: {result}");
    }
    let nothing = |_: &std::path::Path| {};
    check("read-only", "home/plans/deep/p.md", nothing, true).await;
    check("workspace-write", "home/plans/p.md", nothing, true).await;
    check("read-only", "home/config.toml", nothing, false).await;
    check("read-only", "home/plans/../config.toml", nothing, false).await;
    check("read-only", "home/plans/none/../../config.toml", nothing, false).await;
    check("read-only", "work/p.md", nothing, false).await;
    check("workspace-write", "work/p.md", nothing, true).await;
    let link = |top: &std::path::Path| {
        std::fs::create_dir_all(top.join("home/plans")).unwrap();
        std::os::unix::fs::symlink(top.join("home/config.toml"), top.join("home/plans/p.md")).unwrap();
    };
    check("read-only", "home/plans/p.md", link, false).await;
}
