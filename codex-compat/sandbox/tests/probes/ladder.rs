//! The table in every mode on every rung, and how the rung is found where something is missing.
use std::process::Command;

use pretty_assertions::assert_eq;
use protocol::SandboxMode::{self, DangerFullAccess, ReadOnly, WorkspaceWrite};
use sandbox::Rung;

use crate::{stage::has, table};

/// Runs one of the ignored tests below in a process of its own, behind `before` (words of a command line).
fn run(before: &[&str], test: &str, env: &[(&str, &str)]) {
    let exe = std::env::current_exe().unwrap();
    let words = [before, &[exe.to_str().unwrap(), "--exact", test, "--ignored", "--nocapture"]].concat();
    let output = Command::new(words[0]).args(&words[1..]).envs(env.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    eprintln!("{text}");
}

fn on_rung(rung: Rung, mode: SandboxMode) {
    run(&["env"], "ladder::table_as_told", &[("INTERPRETER_SANDBOX_RUNG", rung.name()), ("PROBE_MODE", mode.as_str())]);
}

#[test]
#[ignore = "started by the tests below"]
fn table_as_told() {
    let mode = std::env::var("PROBE_MODE").unwrap();
    let mode = [ReadOnly, WorkspaceWrite, DangerFullAccess].into_iter().find(|known| known.as_str() == mode);
    table::try_all(mode.unwrap());
}

#[test]
fn everything_is_possible_without_walls() {
    table::try_all(DangerFullAccess);
}

#[test]
fn read_only() {
    table::try_all(ReadOnly);
}

#[test]
fn workspace_write() {
    table::try_all(WorkspaceWrite);
}

fn is_root() -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn workspace_write_with_real_capabilities() {
    if is_root() {
        on_rung(Rung::Mount, WorkspaceWrite);
    }
}

#[test]
fn workspace_write_without_a_process_namespace() {
    on_rung(Rung::UserNoPid, WorkspaceWrite);
}

#[test]
fn read_only_by_landlock_alone() {
    on_rung(Rung::Landlock, ReadOnly);
}

#[test]
fn workspace_write_by_landlock_alone() {
    on_rung(Rung::Landlock, WorkspaceWrite);
}

fn detected(before: &[&str], expected: Rung, failures: &str) {
    run(before, "ladder::detects_as_told", &[("EXPECTED_RUNG", expected.name()), ("EXPECTED_FAILURES", failures)]);
}

#[test]
#[ignore = "started by the tests below"]
fn detects_as_told() {
    let report = sandbox::check_report();
    let expected = |name: &str| std::env::var(name).unwrap();
    assert_eq!(sandbox::detect().name(), expected("EXPECTED_RUNG"), "{report}");
    assert!(report.contains(&expected("EXPECTED_FAILURES")), "{report}");
    let stage = crate::stage::Stage::new(WorkspaceWrite);
    stage.works("echo x > sub/new");
    stage.fails("echo x > \"$O/new\"");
    stage.fails("echo x > .git/config");
}

#[test]
fn on_this_machine_the_first_rung_holds() {
    let rung = sandbox::detect();
    // Containers and CI machines may have less; the table above has shown what it is worth.
    assert!(rung != Rung::Nothing, "{}", sandbox::check_report());
}

#[test]
fn user_namespaces_used_up_lead_to_the_second_rung() {
    if is_root() && has("unshare") {
        let limit = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        detected(
            &["unshare", "-Urm", "sh", "-c", limit],
            Rung::Mount,
            "rung 1 is not possible here: sandbox: unshare:",
        );
    }
}

#[test]
fn a_masked_proc_costs_the_process_namespace() {
    if is_root() && has("unshare") {
        let mask = "mount -t tmpfs t /proc/acpi && exec \"$0\" \"$@\"";
        detected(
            &["unshare", "-Urmpf", "--mount-proc", "sh", "-c", mask],
            Rung::UserNoPid,
            "rung 1 is not possible here: sandbox: mount /proc:",
        );
    }
}

/// Inside a jail there is no way to build another one, but Landlock can be narrowed.
#[test]
fn inside_a_jail_the_third_rung_holds() {
    let mut stage = crate::stage::Stage::new(WorkspaceWrite);
    let exe = std::env::current_exe().unwrap();
    stage.workspace = crate::stage::folder();
    stage.set("EXPECTED_RUNG", std::path::Path::new("3"));
    stage.set("EXPECTED_FAILURES", std::path::Path::new("rung 1 is not possible here: sandbox: unshare:"));
    stage.works(&format!("'{}' --exact ladder::detects_as_told --ignored --nocapture", exe.display()));
}

/// Too few open files say nothing about the machine, so nothing is made of them for later.
#[test]
fn a_shortage_is_told_and_passes() {
    for soft in ["20", "40", "64"] {
        let limit = format!("ulimit -Sn {soft} && exec \"$0\" \"$@\"");
        run(&["sh", "-c", &limit], "ladder::short_of_files", &[("SOFT_LIMIT", soft)]);
    }
}

#[test]
#[ignore = "started by the test above"]
fn short_of_files() {
    let stage = crate::stage::Stage::new(WorkspaceWrite);
    let told = sandbox::spawn(&stage.spec(), stage.launch("true")).unwrap_err().to_string();
    assert!(told.contains("ulimit -n") && !told.contains("danger-full-access"), "{told}");
    let hint = sandbox::detect().message(None, false).unwrap_or_default();
    assert!(hint.contains("ulimit -n") && !hint.contains("danger-full-access"), "{hint}");
    sandbox::raise_open_files();
    let soft = std::env::var("SOFT_LIMIT").unwrap();
    stage.works(&format!("test \"$(ulimit -Sn)\" = {soft}"));
}
