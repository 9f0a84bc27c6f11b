//! Starting, ending and talking to commands, in every mode.
#![allow(clippy::unwrap_used)]
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{Read, Write},
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use pretty_assertions::assert_eq;
use protocol::{SandboxMode, SandboxPolicy};
use sandbox::{Child, Failure, Launch, Session, Size, Spec, Status, Stdin, Stream, Surroundings};

sandbox::helper_in_tests!();

const MODES: [SandboxMode; 3] = [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir_in(sandbox::ground_for_tests(env!("CARGO_TARGET_TMPDIR"))).unwrap();
        fs::create_dir(dir.path().join("w")).unwrap();
        Place(dir)
    }

    fn workspace(&self) -> PathBuf {
        self.0.path().join("w")
    }

    fn spec(&self, mode: SandboxMode) -> Spec {
        let around = Surroundings { tmpdir: None, home: None, state: &self.0.path().join("state") };
        Spec::resolve(&SandboxPolicy::new(mode), &self.workspace(), &around).unwrap()
    }

    fn launch(&self, script: &str) -> Launch {
        let argv = ["sh", "-c", script].map(OsString::from).to_vec();
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        Launch::new(argv, env, self.workspace())
    }

    fn spawn(&self, mode: SandboxMode, script: &str) -> Child {
        sandbox::spawn(&self.spec(mode), self.launch(script)).unwrap()
    }

    fn run(&self, mode: SandboxMode, script: &str) -> (Status, String) {
        let mut child = self.spawn(mode, script);
        let output = read(child.stdout.take().unwrap());
        (child.wait().unwrap(), output)
    }
}

fn read(fd: OwnedFd) -> String {
    let mut bytes = Vec::new();
    // The end of a terminal is an error.
    let _ = File::from(fd).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Processes with `text` in their command line.
fn alive(text: &str) -> usize {
    let lines =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(text)).count()
}

#[test]
fn output_and_status_arrive_in_order() {
    let place = Place::new();
    for mode in MODES {
        let (status, output) = place.run(mode, "echo one; echo two >&2; echo three; exit 7");
        assert_eq!((status, output.as_str()), (Status::Exited(7), "one\ntwo\nthree\n"), "{mode:?}");
        assert_eq!(place.run(mode, "kill -SEGV $$").0, Status::Signaled(libc::SIGSEGV));
    }
}

#[test]
fn a_program_that_is_not_there_is_told_from_one_that_fails() {
    let place = Place::new();
    for mode in MODES {
        for (name, errno, code) in [("no-such-program", libc::ENOENT, 127), ("/etc/passwd", libc::EACCES, 126)] {
            let mut launch = place.launch("");
            launch.argv = vec![name.into()];
            let status = sandbox::spawn(&place.spec(mode), launch).unwrap().wait().unwrap();
            let failure = Failure { step: format!("exec {name}"), errno };
            assert_eq!((status.code(), status), (code, Status::NotRun(failure)));
        }
        let mut launch = place.launch("");
        launch.cwd = "/no/such".into();
        let status = sandbox::spawn(&place.spec(mode), launch).unwrap().wait().unwrap();
        let failure = Failure { step: "working folder /no/such".to_owned(), errno: libc::ENOENT };
        assert_eq!(failure.to_string(), "sandbox: working folder /no/such: No such file or directory (os error 2)");
        assert_eq!((status.code(), status), (97, Status::NotRun(failure)));
    }
}

#[test]
fn a_terminal_has_a_name_and_a_size() {
    let place = Place::new();
    for mode in MODES {
        let mut launch =
            place.launch("tty; stty size; test -c /dev/tty && echo yes >/dev/tty; ps -o tty= -p $$ | tr -d ' '");
        launch.tty = Some(Size { rows: 31, cols: 97 });
        let mut child = sandbox::spawn(&place.spec(mode), launch).unwrap();
        let output = read(child.terminal.take().unwrap());
        let lines: Vec<_> = output.lines().collect();
        assert_eq!(child.wait().unwrap(), Status::Exited(0), "{output}");
        assert!(lines[0].starts_with("/dev/pts/"), "{lines:?}");
        assert_eq!(lines[1..], ["31 97", "yes", lines[0].trim_start_matches("/dev/")], "{mode:?}");
    }
}

/// `noflsh`: otherwise the kernel drops what is on its way to the reader when ^C comes, at times the answer to it as well.
#[test]
fn a_terminal_passes_input_and_interrupts() {
    let place = Place::new();
    for mode in MODES {
        let mut launch = place.launch(
            "stty noflsh; trap 'echo caught; exit 3' INT; echo ready; while :; do read x; echo \"got $x\"; done",
        );
        launch.tty = Some(Size { rows: 24, cols: 80 });
        let mut child = sandbox::spawn(&place.spec(mode), launch).unwrap();
        let mut terminal = File::from(child.terminal.take().unwrap());
        let mut output = String::new();
        let mut until = |terminal: &mut File, text: &str| {
            while !output.contains(text) {
                let mut buffer = [0; 100];
                let got = terminal.read(&mut buffer).unwrap();
                output.push_str(&String::from_utf8_lossy(&buffer[..got]));
            }
        };
        until(&mut terminal, "ready");
        terminal.write_all(b"hello\n").unwrap();
        until(&mut terminal, "got hello");
        terminal.write_all(b"\x03").unwrap();
        until(&mut terminal, "caught");
        assert_eq!(child.wait().unwrap(), Status::Exited(3));
    }
}

#[test]
fn without_a_terminal_there_is_none_and_input_is_at_its_end() {
    let place = Place::new();
    for mode in MODES {
        let (status, output) =
            place.run(mode, "cat; (: >/dev/tty) 2>/dev/null || echo none; ps -o tty= -p $$ | tr -d ' '");
        assert_eq!((status, output.as_str()), (Status::Exited(0), "none\n?\n"));
    }
}

#[test]
fn streams_and_more_descriptors_go_where_they_should() {
    let place = Place::new();
    for mode in MODES {
        let (theirs, ours) = std::io::pipe().map(|(read, write)| (OwnedFd::from(write), OwnedFd::from(read))).unwrap();
        let mut launch = place.launch("cat; echo err >&2; pwd >&9; ls /proc/self/fd | tr '\\n' ' '");
        launch.stdin = Stdin::Pipe;
        launch.stderr = Stream::Pipe;
        launch.extra = vec![(theirs, 9)];
        let mut child = sandbox::spawn(&place.spec(mode), launch).unwrap();
        File::from(child.stdin.take().unwrap()).write_all(b"in\n").unwrap();
        let outputs = [child.stdout.take().unwrap(), child.stderr.take().unwrap(), ours].map(read);
        let cwd = fs::canonicalize(place.workspace()).unwrap();
        // 3 is the folder that `ls` reads.
        assert_eq!(outputs, ["in\n0 1 2 3 9 ".to_owned(), "err\n".to_owned(), format!("{}\n", cwd.display())]);
    }
}

#[test]
fn what_is_left_running_ends_with_the_command() {
    let place = Place::new();
    for mode in MODES {
        let begun = Instant::now();
        let tag = format!("79{}.{}", std::process::id(), mode as u8);
        let script =
            format!("sleep {tag} & setsid sleep {tag} & (setsid sh -c 'sleep {tag} & sleep {tag}' &) ; echo done");
        let mut child = place.spawn(mode, &script);
        // The pipe is held open by them, so its end shows that they are gone.
        assert_eq!(read(child.stdout.take().unwrap()), "done\n");
        assert_eq!(child.wait().unwrap(), Status::Exited(0));
        assert!(child.wait_ended(Duration::from_secs(5)).unwrap());
        assert_eq!((alive(&format!("sleep {tag}")), begun.elapsed() < Duration::from_secs(5)), (0, true), "{mode:?}");
    }
}

#[test]
fn what_lingers_lives_on_until_the_tree_is_ended() {
    let place = Place::new();
    for mode in MODES {
        let tag = format!("78{}.{}", std::process::id(), mode as u8);
        let mut launch = place.launch(&format!("setsid sleep {tag} >/dev/null 2>&1 & echo done; exit 4"));
        launch.linger = true;
        let mut child = sandbox::spawn(&place.spec(mode), launch).unwrap();
        assert_eq!(child.wait().unwrap(), Status::Exited(4));
        // The shell may be gone before what it left behind has become `sleep`.
        let begun = std::time::Instant::now();
        while alive(&format!("sleep {tag}")) == 0 && begun.elapsed() < Duration::from_secs(5) {
            std::thread::yield_now();
        }
        assert_eq!((child.try_ended().unwrap(), alive(&format!("sleep {tag}"))), (false, 1), "{mode:?}");
        child.kill_tree();
        assert!(child.wait_ended(Duration::from_secs(5)).unwrap());
        assert_eq!((child.wait().unwrap(), alive(&format!("sleep {tag}"))), (Status::Exited(4), 0));
    }
}

#[test]
fn an_endless_tree_is_ended_by_kill_and_by_drop() {
    let place = Place::new();
    for mode in MODES {
        let tag = format!("77{}.{}", std::process::id(), mode as u8);
        let script = format!("setsid sh -c 'echo up; sleep {tag}; :' & sleep {tag}");
        let mut child = place.spawn(mode, &script);
        let mut output = File::from(child.stdout.take().unwrap());
        output.read_exact(&mut [0; 3]).unwrap();
        child.kill_tree();
        assert_eq!(child.wait().unwrap(), Status::Signaled(libc::SIGKILL));
        assert_eq!(alive(&tag), 0, "{mode:?}");

        let mut child = place.spawn(mode, &script);
        let mut output = File::from(child.stdout.take().unwrap());
        output.read_exact(&mut [0; 3]).unwrap();
        drop(child);
        assert_eq!(alive(&tag), 0, "{mode:?}");
    }
}

#[test]
fn killing_the_helper_leaves_nothing() {
    let place = Place::new();
    for mode in MODES {
        let tag = format!("76{}.{}", std::process::id(), mode as u8);
        let mut child = place.spawn(mode, &format!("setsid sh -c 'echo up; sleep {tag}; :' & sleep {tag}"));
        let mut output = File::from(child.stdout.take().unwrap());
        output.read_exact(&mut [0; 3]).unwrap();
        // SAFETY: no memory is involved.
        unsafe { libc::kill(child.pid() as i32, libc::SIGKILL) };
        assert_eq!(child.wait().unwrap(), Status::Signaled(libc::SIGKILL));
        // The namespace goes down by itself; its end is that of the pipe.
        read(output.into());
        assert_eq!(alive(&format!("sleep {tag}")), 0, "{mode:?}");
    }
}

#[test]
fn signals_reach_the_command() {
    let place = Place::new();
    for mode in MODES {
        for session in [Session::Own, Session::Callers] {
            let mut launch = place.launch("trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done");
            launch.session = session;
            let mut child = sandbox::spawn(&place.spec(mode), launch).unwrap();
            let mut output = File::from(child.stdout.take().unwrap());
            output.read_exact(&mut [0; 3]).unwrap();
            child.signal(libc::SIGTERM).unwrap();
            assert_eq!(child.wait().unwrap(), Status::Exited(5), "{mode:?} {session:?}");
        }
    }
}

#[test]
fn much_data_passes_both_ways() {
    let place = Place::new();
    for mode in MODES {
        let mut launch = place.launch("cat | cat");
        launch.stdin = Stdin::Pipe;
        let mut child = sandbox::spawn(&place.spec(mode), launch).unwrap();
        let mut input = File::from(child.stdin.take().unwrap());
        let sent: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
        let copy = sent.clone();
        let writer = std::thread::spawn(move || input.write_all(&copy).unwrap());
        let mut got = Vec::new();
        File::from(child.stdout.take().unwrap()).read_to_end(&mut got).unwrap();
        writer.join().unwrap();
        assert!(got == sent);
        assert_eq!(child.wait().unwrap(), Status::Exited(0));
    }
}

#[test]
fn a_large_order_arrives() {
    let place = Place::new();
    for mode in MODES {
        let mut launch = place.launch("echo ${#BIG0} ${#BIG9}");
        launch.env.extend((0..10).map(|n| (format!("BIG{n}").into(), "x".repeat(100_000).into())));
        let mut child = sandbox::spawn(&place.spec(mode), launch).unwrap();
        assert_eq!(read(child.stdout.take().unwrap()), "100000 100000\n");
        assert_eq!(child.wait().unwrap(), Status::Exited(0));
    }
}

#[test]
fn descriptors_of_the_caller_stay_with_it() {
    let place = Place::new();
    let outside = File::create(place.0.path().join("outside")).unwrap();
    // SAFETY: no memory is involved; the copy survives exec, as that of a careless caller.
    let careless = unsafe { libc::dup2(outside.as_raw_fd(), 9) };
    for mode in MODES {
        let (status, output) = place.run(mode, "echo x >&9");
        assert!(!status.success() && output.contains("9"), "{output}");
    }
    assert_eq!((careless, fs::read(place.0.path().join("outside")).unwrap()), (9, vec![]));
}

#[test]
fn a_spec_without_rungs_is_refused_and_danger_is_not() {
    let place = Place::new();
    let path = Path::new("/proc/self/exe");
    let output = std::process::Command::new(path)
        .args(["--exact", "refused_when_forced", "--ignored", "--nocapture"])
        .env("INTERPRETER_SANDBOX_RUNG", "4")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    drop(place);
}

#[test]
#[ignore = "run by the test above with a forced rung"]
fn refused_when_forced() {
    let place = Place::new();
    for mode in [SandboxMode::ReadOnly, SandboxMode::WorkspaceWrite] {
        let error = sandbox::spawn(&place.spec(mode), place.launch("true")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sandbox: this kernel offers neither namespaces nor Landlock; commands are refused. \
             Use --sandbox danger-full-access inside a container or VM you trust"
        );
    }
    assert_eq!(place.run(SandboxMode::DangerFullAccess, "exit 2").0, Status::Exited(2));
}
