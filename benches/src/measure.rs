//! One measure: spawn, `wait4`, and what the kernel counted for the process and the children that it waited for.
//!
//! The program is started by a small helper process (this binary again), because peak memory is carried over an exec: a
//! process that a big one starts counts the big one's memory as its own.
use std::{
    io,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

/// First argument of the helper.
pub(crate) const HELPER: &str = "--measured-run";

#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// User and system time.
    pub(crate) cpu: Duration,
    /// Peak resident memory of the biggest process.
    pub(crate) peak_kib: u64,
    pub(crate) wall: Duration,
    pub(crate) code: i32,
}

impl Measured {
    /// The smaller of each.
    pub(crate) fn min(self, other: Measured) -> Measured {
        Measured {
            cpu: self.cpu.min(other.cpu),
            peak_kib: self.peak_kib.min(other.peak_kib),
            wall: self.wall.min(other.wall),
            code: self.code.max(other.code),
        }
    }
}

/// Runs `command` (program, arguments, working directory; `env` in place of the environment) and measures it. Its streams
/// lead nowhere.
pub(crate) fn measure(command: &Command, env: &[(&str, String)]) -> io::Result<Measured> {
    let mut helper = Command::new(std::env::current_exe()?);
    helper.arg(HELPER).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        helper.current_dir(folder);
    }
    helper
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = helper.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<i64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [cpu, peak, wall, code] = numbers[..] else {
        return Err(io::Error::other(format!("{} could not be measured", command.get_program().display())));
    };
    let micros = |n: i64| Duration::from_micros(n.max(0) as u64);
    Ok(Measured { cpu: micros(cpu), peak_kib: peak.max(0) as u64, wall: micros(wall), code: code as i32 })
}

/// The helper: runs the words and prints CPU time (µs), peak memory (KiB), wall time (µs) and the exit status.
pub(crate) fn help(words: &[String]) -> ExitCode {
    let Some((program, args)) = words.split_first() else { return ExitCode::FAILURE };
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = match command.spawn() {
        Ok(child) => child,
        Err(why) => {
            eprintln!("{program}: {why}");
            return ExitCode::FAILURE;
        }
    };
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value; both pointers are to locals, and the child is ours and
    // waited for here only.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) < 0 {
            return ExitCode::FAILURE;
        }
        usage
    };
    let wall = begun.elapsed().as_micros();
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
    println!("{} {} {wall} {code}", micros(usage.ru_utime) + micros(usage.ru_stime), usage.ru_maxrss);
    ExitCode::SUCCESS
}
