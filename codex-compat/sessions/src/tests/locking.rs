//! One writer at a time, over processes; a dead one holds nothing.
use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, Stdio},
};

use pretty_assertions::assert_eq;

use super::{Home, add, told, user};
use crate::{Error, Store};

#[test]
fn the_second_process_is_told_who_holds_the_session() {
    let home = Home::new();
    let id = home.written(vec![user("a")]);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::locking::child_holds_a_session", "--ignored", "--nocapture"])
        .env("SESSIONS_TEST_HOME", home._folder.path().join("home"))
        .env("SESSIONS_TEST_ID", id.as_str())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("child is ready")));

    let error = home.store.open(&id).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "session {id} is in use by process {}; wait until it ends, or go on from a copy with `interpreter exec fork {id}`",
            child.id()
        )
    );
    assert!(matches!(home.store.archive(&id), Err(Error::InUse { .. })));
    assert!(matches!(home.store.delete(&id), Err(Error::InUse { .. })));
    // Looking and forking need no lock.
    assert_eq!(told(&home.read(&id)), ["1 a", "2 child"]);
    home.store.fork(&id, None, super::meta("/b")).unwrap();

    child.kill().unwrap();
    child.wait().unwrap();
    let (mut session, loaded) = home.store.open(&id).unwrap();
    assert_eq!(told(&loaded), ["1 a", "2 child"]);
    add(&mut session, vec![user("b")]);
}

#[test]
#[ignore = "the other process of the_second_process_is_told_who_holds_the_session"]
fn child_holds_a_session() {
    let (Some(home), Ok(id)) = (std::env::var_os("SESSIONS_TEST_HOME"), std::env::var("SESSIONS_TEST_ID")) else {
        return;
    };
    let (mut session, _) = Store::new(Path::new(&home)).open(&id.as_str().into()).unwrap();
    add(&mut session, vec![user("child")]);
    println!("\nchild is ready");
    std::io::stdout().flush().unwrap();
    // Until killed.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn a_session_is_free_once_dropped() {
    let home = Home::new();
    let session = home.create();
    let id = session.id().clone();
    assert!(matches!(home.store.open(&id), Err(Error::InUse { pid: Some(pid), .. }) if pid == std::process::id()));
    drop(session);
    home.store.open(&id).unwrap();
}

#[test]
fn threads_take_turns() {
    let home = Home::new();
    let id = home.written(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut done = 0;
                while done < 20 {
                    match home.store.open(&id) {
                        Ok((mut session, _)) => {
                            add(&mut session, vec![user("x")]);
                            done += 1;
                        }
                        Err(Error::InUse { .. }) => std::thread::yield_now(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let ids: Vec<u64> = home.read(&id).items.iter().map(|i| i.id.0).collect();
    assert_eq!(ids, (1..=80).collect::<Vec<u64>>());
}
