//! `interpreter`: parse the command line and hand over; nothing else.
mod cli;
mod commands;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    // The program is its own sandbox helper; started as such it becomes the jail and never comes back.
    sandbox::helper_if_asked();
    survive_file_limits();
    match cli::Cli::try_parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => {
            if error.use_stderr() {
                // A caller that pipes the prompt in must not find the pipe closed before it has written it.
                exec::drain();
            }
            // A reader that went away is no failure of ours.
            let _ = error.print();
            ExitCode::from(error.exit_code() as u8)
        }
    }
}

/// A write beyond `ulimit -f` fails and is told, instead of killing us without a word. By a handler, since commands would
/// inherit that a signal is ignored.
fn survive_file_limits() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: the handler does nothing, and no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t) };
}
