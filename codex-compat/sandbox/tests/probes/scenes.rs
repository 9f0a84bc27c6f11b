//! Cases that need a scene of their own.
use std::{fs, os::unix::fs::symlink, path::Path};

use pretty_assertions::assert_eq;
use protocol::SandboxMode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
use sandbox::Status;

use crate::stage::{Stage, sh, snapshot};

#[test]
fn a_write_succeeds_and_stays_or_fails() {
    for mode in [ReadOnly, WorkspaceWrite, DangerFullAccess] {
        let stage = Stage::new(mode);
        let file = Path::new("/tmp").join(stage.base.path().file_name().unwrap());
        let (status, _) = stage.run("echo x > /tmp/$TAG && cat /tmp/$TAG");
        let (again, _) = stage.run("cat /tmp/$TAG");
        assert_eq!(
            (status.success(), again.success(), file.exists()),
            if mode == ReadOnly { (false, false, false) } else { (true, true, true) }
        );
        let _ = fs::remove_file(file);
    }
}

#[test]
fn no_trace_is_left_in_the_workspace() {
    let stage = Stage::new(WorkspaceWrite);
    let before = snapshot(&stage.workspace);
    stage.works("true");
    assert_eq!(snapshot(&stage.workspace), before);
}

#[test]
fn no_repository_can_be_made_of_the_workspace() {
    for (mode, works) in [(ReadOnly, false), (WorkspaceWrite, false), (DangerFullAccess, true)] {
        let stage = Stage::new(mode);
        fs::remove_dir_all(stage.workspace.join(".git")).unwrap();
        assert_eq!(stage.run("git init -q .").0.success(), works);
        assert_eq!(stage.workspace.join(".git").exists(), works);
    }
}

/// A worktree `wt` of `W`, which becomes the workspace.
fn worktree(stage: &mut Stage) {
    let (main, tree) = (stage.workspace.clone(), stage.path("wt"));
    sh(&format!("cd '{}' && git worktree add -q '{}' 2>&1", main.display(), tree.display()));
    stage.workspace = tree;
}

#[test]
fn a_worktree_keeps_its_git_file_and_its_main_repository() {
    let mut stage = Stage::new(WorkspaceWrite);
    worktree(&mut stage);
    let attempts =
        ["echo gitdir: /x > .git", "rm .git", "touch \"$W/.git/hooks/pre-commit\"", "git commit -q --allow-empty -m x"];
    attempts.iter().for_each(|attempt| stage.fails(attempt));
    stage.works("git status && git log && touch new");
    // The main working folder as a root changes nothing about its `.git`.
    stage.policy.writable_roots = vec![stage.path("W")];
    attempts.iter().for_each(|attempt| stage.fails(attempt));
    stage.works("touch \"$W/new\"");
}

#[test]
fn with_its_git_folder_as_root_a_worktree_can_commit_and_nothing_more() {
    let mut stage = Stage::new(WorkspaceWrite);
    worktree(&mut stage);
    stage.policy.writable_roots = vec![stage.path("W/.git")];
    stage.works("echo x > n && git add n && git commit -q -m second && test $(git log --oneline | wc -l) = 2");
    stage.fails("touch \"$W/.git/hooks/pre-commit\"");
    stage.fails("git config a.b c");
    stage.fails("mv \"$W/.git/hooks\" \"$W/.git/h\"");
    stage.fails("echo /x > \"$W/.git/worktrees/wt/commondir\"");
    stage.fails("mv \"$W/.git/worktrees/wt\" \"$W/.git/worktrees/x\" && mkdir \"$W/.git/worktrees/wt\"");
    stage.fails("rm .git");
}

#[test]
fn a_plain_clone_can_commit_with_its_git_folder_as_root() {
    let mut stage = Stage::new(WorkspaceWrite);
    stage.policy.writable_roots = vec![stage.path("W/.git")];
    stage.works("git commit -q --allow-empty -m second && test $(git log --oneline | wc -l) = 2");
    stage.fails("touch .git/hooks/pre-commit");
    stage.fails("echo x >> .git/config");
    stage.fails("mv .git g");
}

#[test]
fn a_linked_name_stays_and_is_not_written_through() {
    for mode in [WorkspaceWrite, DangerFullAccess] {
        let stage = Stage::new(mode);
        fs::create_dir(stage.workspace.join("real")).unwrap();
        symlink("real", stage.workspace.join(".codex")).unwrap();
        let check = |script: &str| if mode == WorkspaceWrite { stage.fails(script) } else { stage.works(script) };
        check("echo x > .codex/file");
        check("echo x > real/file");
        check("mv .codex c && mv c .codex");
        check("rm .codex");
        stage.works("touch f");
    }
}

#[test]
fn a_workspace_below_tmp_cannot_be_replaced_by_moving_its_parents() {
    for (mode, works) in [(ReadOnly, false), (WorkspaceWrite, false), (DangerFullAccess, true)] {
        let outer = tempfile::tempdir_in("/tmp").unwrap();
        let mut stage = Stage::below(outer.path(), mode);
        stage.set("OUTER", outer.path());
        assert_eq!(stage.run("mv \"$OUTER\" \"$OUTER.moved\"").0.success(), works);
        if works {
            fs::rename(format!("{}.moved", outer.path().display()), outer.path()).unwrap();
        }
        assert_eq!(stage.run("mv \"$W/..\" \"$W/../../x\"").0.success(), false);
        assert_eq!(stage.run("touch \"$W/new\"").0.success(), mode != ReadOnly);
        assert_eq!(stage.run("touch \"$W/.git/new\"").0.success(), works);
    }
}

#[test]
fn five_at_once_share_their_place_holders() {
    let stage = Stage::new(WorkspaceWrite);
    let before = snapshot(&stage.workspace);
    std::thread::scope(|scope| {
        for n in 0..5 {
            let stage = &stage;
            scope.spawn(move || {
                for _ in 0..4 {
                    stage.fails("mkdir .codex/x");
                    stage.fails(&format!("rmdir .codex && sleep 0.0{n}"));
                }
            });
        }
    });
    assert_eq!(snapshot(&stage.workspace), before);
}

#[test]
fn unusual_names_of_folders() {
    for name in ["with space", "ünï", "new\nline", "tab\tand\\040", "-x"] {
        let mut stage = Stage::new(WorkspaceWrite);
        let there = stage.path(name);
        fs::rename(&stage.workspace, &there).unwrap();
        stage.workspace = there.clone();
        stage.works("touch new && git status");
        stage.fails("touch .git/new");
        stage.fails("mkdir .codex");
        // The root given as a link.
        symlink(&there, stage.path("link")).unwrap();
        stage.workspace = stage.path("link");
        stage.works("touch new2");
        assert!(there.join("new2").exists());
    }
}

#[test]
fn other_roots_and_the_whole_disk() {
    let mut stage = Stage::new(WorkspaceWrite);
    stage.policy.writable_roots = vec![stage.path("O")];
    stage.works("touch \"$O/new\"");
    stage.fails("mkdir \"$O/.git\"");
    stage.policy.writable_roots = vec!["/".into()];
    stage.works("touch \"$O/../here\"");
    stage.fails("touch .git/new");
    // A single file as root.
    stage.policy.writable_roots = vec![stage.path("O/file")];
    stage.works("echo x > \"$O/file\"");
    stage.fails("touch \"$O/new2\"");
}

#[test]
fn temporary_folders_can_be_excluded() {
    let mut stage = Stage::new(WorkspaceWrite);
    stage.policy.exclude_slash_tmp = true;
    stage.fails("touch /tmp/$TAG");
    stage.works("touch new");
}

#[test]
fn the_programs_own_folder_is_out_of_reach_below_tmp() {
    let mut stage = Stage::new(WorkspaceWrite);
    stage.policy.writable_roots = vec![stage.base.path().to_owned()];
    stage.works("touch \"$W/../here\"");
    fs::create_dir_all(stage.path("state")).unwrap();
    stage.fails("touch \"$W/../state/config.toml\"");
    stage.fails("mv \"$W/../state\" \"$W/../s\"");
}

#[test]
fn with_network_only_the_sockets_of_others_are_out_of_reach() {
    for mode in [ReadOnly, WorkspaceWrite] {
        let mut stage = Stage::new(mode);
        stage.policy.network = true;
        let outside = crate::outside::Outside::around(&mut stage);
        stage.fails("python: import os,socket; s=socket.socket(1,1); s.connect(os.environ['O']+'/socket')");
        stage.fails("python: import os,socket; s=socket.socket(1,1); s.connect('\\0'+os.environ['TAG'])");
        stage.fails("python: import os,socket; s=socket.socketpair(1,2)[0]; s.sendmsg([b'x'],[],0,os.environ['O']+'/datagrams')");
        assert_eq!(outside.was_reached(), false);
        stage.works("python: import os,socket; socket.create_connection(('127.0.0.1',int(os.environ['S'])),2)");
        assert_eq!(outside.was_reached(), true);
        stage.works("python: import os,socket; n='\\0mine'+os.environ['TAG']; s=socket.socket(1,1); s.bind(n); s.listen(); c=socket.socket(1,1); c.connect(n); s.accept()");
        if mode == WorkspaceWrite {
            stage.works("python: import socket; p='sub/s'; s=socket.socket(1,1); s.bind(p); s.listen(); c=socket.socket(1,1); c.connect(p); s.accept()");
        }
    }
}

#[test]
fn root_works_in_the_workspace_of_another_user() {
    // SAFETY: no memory is involved.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let exe = std::env::current_exe().unwrap();
    for rung in ["1", "2", "3"] {
        let output = std::process::Command::new(&exe)
            .args(["--exact", "scenes::foreign_as_told", "--ignored", "--nocapture"])
            .env("INTERPRETER_SANDBOX_RUNG", rung)
            .output()
            .unwrap();
        assert!(output.status.success(), "rung {rung}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
#[ignore = "started by the test above with a forced rung"]
fn foreign_as_told() {
    let stage = Stage::new(WorkspaceWrite);
    sh(&format!("chown -R 4321:4321 '{0}' && chmod -R go-rwx '{0}'", stage.workspace.display()));
    sh(&format!("chown 4321 '{}' && chmod 600 '{}'", stage.path("O/file").display(), stage.path("O/file").display()));
    stage.works("echo x >> f && touch sub/new && rm sub/f && cat .git/config");
    stage.fails("echo x > .git/config");
    stage.fails("touch .git/hooks/pre-commit");
    stage.fails("echo x > \"$O/file\"");
    stage.fails("chown 1:1 \"$O/file\"");
    stage.fails("chmod 777 \"$O/file\"");
    stage.fails("exec 3>>/proc/sys/kernel/core_pattern");
    stage.fails("mount -o remount,rw,bind .git");
    stage.works("python: import socket; a,b=socket.socketpair(); a.send(b'x'); b.recv(1)");
    if sandbox::detect() != sandbox::Rung::Landlock {
        stage.works("chmod 755 f && chown 4321 sub/new");
        stage.works("python: import socket; s=socket.create_server(('127.0.0.1',0)); c=socket.create_connection(s.getsockname()); s.accept()");
    }
}

#[test]
fn the_foreground_passes_status_and_signals() {
    let exe = std::env::current_exe().unwrap();
    let run = |script: &str| {
        let mut command = std::process::Command::new(&exe);
        command.args(["--exact", "scenes::foreground_as_told", "--ignored", "--nocapture", "--test-threads=1"]);
        // The test harness has more threads than the one that waits for signals; none of them may take this one.
        // SAFETY: nothing but a system call between fork and exec.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut command, || {
                let mut set = std::mem::zeroed();
                libc::sigaddset(&mut set, libc::SIGTERM);
                libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
                Ok(())
            });
        }
        command.env("FOREGROUND", script).stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let code = |child: std::process::Child| child.wait_with_output().unwrap().status.code();
    assert_eq!(code(run("exit 7")), Some(7));
    assert_eq!(code(run("kill -SEGV $$")), Some(139));
    assert_eq!(code(run("test \"$CODEX_SANDBOX_NETWORK_DISABLED\" = 1 && exit 3")), Some(3));
    let mut child = run("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().ends_with("ready")));
    // SAFETY: no memory is involved.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

#[test]
#[ignore = "started by the test above"]
fn foreground_as_told() {
    let stage = Stage::new(ReadOnly);
    let script = std::env::var("FOREGROUND").unwrap();
    let code = sandbox::run_foreground(&stage.spec(), ["sh", "-c", &script].map(Into::into).to_vec()).unwrap();
    drop(stage);
    std::process::exit(code);
}

#[test]
fn weak_mode_puts_back_what_a_command_changed() {
    let exe = std::env::current_exe().unwrap();
    let output = std::process::Command::new(exe)
        .args(["--exact", "scenes::weak_as_told", "--ignored", "--nocapture"])
        .env("INTERPRETER_SANDBOX_RUNG", "3")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "started by the test above with a forced rung"]
fn weak_as_told() {
    let mut stage = Stage::new(WorkspaceWrite);
    stage.policy.weak = true;
    let script = "touch new .git/hooks/pre-commit && git config a.b c && mkdir .codex && touch .codex/x && git commit -q --allow-empty -m x";
    let mut child = sandbox::spawn(&stage.spec(), stage.launch(script)).unwrap();
    assert_eq!(child.wait().unwrap(), Status::Exited(0));
    assert!(child.wait_ended(std::time::Duration::from_secs(5)).unwrap());
    let workspace = fs::canonicalize(&stage.workspace).unwrap();
    let restored: Vec<_> =
        child.restored().iter().map(|path| path.strip_prefix(&workspace).unwrap().to_owned()).collect();
    assert_eq!(restored, [".codex", ".git/hooks", ".git/config"].map(std::path::PathBuf::from));
    assert_eq!((workspace.join("new").exists(), workspace.join(".codex").exists()), (true, false));
    stage.fails("touch \"$O/new\"");
}
