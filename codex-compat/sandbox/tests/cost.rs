//! What the jail costs per command. By hand: `cargo test -p interpreter-sandbox --test cost -- --ignored --nocapture`.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]
use std::{path::Path, time::Instant};

use protocol::{SandboxMode, SandboxPolicy};
use sandbox::{Launch, Rung, Spec, Surroundings};

sandbox::helper_in_tests!();

const ROUNDS: usize = 200;

/// CPU time of all children so far, in microseconds.
fn cpu() -> i64 {
    // SAFETY: all-zero is a valid rusage, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    micros(usage.ru_utime) + micros(usage.ru_stime)
}

#[test]
#[ignore = "measures, asserts nothing"]
fn microseconds_per_command() {
    let base = tempfile::tempdir_in(sandbox::ground_for_tests(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let workspace = base.path().join("w");
    std::fs::create_dir_all(workspace.join(".git")).unwrap();
    let spec = |mode| {
        let around = Surroundings { tmpdir: None, home: None, state: &base.path().join("state") };
        Spec::resolve(&SandboxPolicy::new(mode), Path::new(&workspace), &around).unwrap()
    };
    let plain = || assert!(std::process::Command::new("/bin/true").status().unwrap().success());
    let jailed = |rung: Rung, mode| {
        let spec = spec(mode);
        move || {
            sandbox::force_rung(Some(rung));
            let launch = Launch::new(vec!["/bin/true".into()], Vec::new(), spec.cwd.clone());
            let mut child = sandbox::spawn(&spec, launch).unwrap();
            assert!(child.wait().unwrap().success());
        }
    };
    type Case<'a> = (&'a str, Box<dyn Fn()>);
    let cases: [Case; 6] = [
        ("plain spawn", Box::new(plain)),
        ("danger-full-access", Box::new(jailed(Rung::User, SandboxMode::DangerFullAccess))),
        ("read-only, rung 1", Box::new(jailed(Rung::User, SandboxMode::ReadOnly))),
        ("workspace-write, rung 1", Box::new(jailed(Rung::User, SandboxMode::WorkspaceWrite))),
        ("workspace-write, rung 2", Box::new(jailed(Rung::Mount, SandboxMode::WorkspaceWrite))),
        ("workspace-write, rung 3", Box::new(jailed(Rung::Landlock, SandboxMode::WorkspaceWrite))),
    ];
    let mut figures = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for ((_, case), figures) in cases.iter().zip(&mut figures) {
            let (begun, before) = (Instant::now(), cpu());
            case();
            figures.push((begun.elapsed().as_micros(), cpu() - before));
        }
    }
    println!("{:24} {:>7} {:>7} {:>7} {:>7}", "us per /bin/true", "median", "p10", "min", "cpu");
    for ((name, _), figures) in cases.iter().zip(&mut figures) {
        let mut wall: Vec<_> = figures.iter().map(|(wall, _)| *wall).collect();
        let mut cpu: Vec<_> = figures.iter().map(|(_, cpu)| *cpu).collect();
        wall.sort_unstable();
        cpu.sort_unstable();
        println!("{name:24} {:>7} {:>7} {:>7} {:>7}", wall[ROUNDS / 2], wall[ROUNDS / 10], wall[0], cpu[ROUNDS / 2]);
    }
}
