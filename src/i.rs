//! `i`: the short name of `interpreter`. It runs the program of that name beside it, in the same process.
use std::os::unix::process::CommandExt;

fn main() {
    let beside =
        std::env::current_exe().ok().and_then(|me| Some(me.parent()?.join("interpreter"))).filter(|p| p.exists());
    let program = beside.unwrap_or_else(|| "interpreter".into());
    let error = std::process::Command::new(&program).args(std::env::args_os().skip(1)).exec();
    eprintln!("i: cannot run {}: {error}", program.display());
    std::process::exit(127);
}
