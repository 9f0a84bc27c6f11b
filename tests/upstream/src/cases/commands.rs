//! Commands of the model: their events, their output, and what the sandbox lets them do.
use serde_json::json;

use crate::{
    case::{Case, turn},
    model::{call, nothing, run, say},
};

const NAMES: &str = "env | sed 's/=.*//' | grep -v -e '^CODEX' -e '^_$' -e INTERPRETER -e '^TMPDIR$' | sort";
const VALUES: &str = "env | grep -E '^(TERM|PAGER|GIT_PAGER|GH_PAGER|NO_COLOR|LC_ALL|LANG|COLORTERM|CODEX_CI|CODEX_SANDBOX\
    _NETWORK_DISABLED)=' | sort";
const TRAP: &str = "trap 'echo caught; exit 7' INT; while :; do sleep 0.1; done";

pub(crate) fn cases() -> Vec<Case> {
    let yielding = |cmd: &str, ms: u64| call("exec_command", json!({"cmd": cmd, "yield_time_ms": ms}));
    let with_terminal =
        |cmd: &str, ms: u64| call("exec_command", json!({"cmd": cmd, "tty": true, "yield_time_ms": ms}));
    let write =
        |chars: &str| call("write_stdin", json!({"session_id": "<<session>>", "chars": chars, "yield_time_ms": 2000}));
    vec![
        turn("command", [run("echo hi; sleep 0.2; echo err >&2"), say("Done.")]),
        turn("command-fails", [run("echo no; exit 3"), say("Done.")]),
        turn("command-killed-by-a-signal", [run("kill -9 $$"), say("Done.")]),
        turn("command-not-found", [run("no-such-program-here --x"), say("Done.")]),
        turn(
            "command-quoting",
            [
                run("pwd"),
                run("echo 'single' \"double\" $HOME | cat"),
                run("echo \"it's\""),
                run("printf 'a\\n'\nprintf 'b\\n'"),
                say("Done."),
            ],
        ),
        turn("command-output-not-utf8", [run("printf 'a\\377b\\n'"), say("Done.")]),
        turn("command-output-with-escapes", [run("printf '\\033[31mred\\033[0m\\r\\n\\tz'"), say("Done.")]),
        turn("command-reads-empty-stdin", [run("cat; echo end"), say("Done.")]),
        turn(
            "commands-in-parallel",
            [nothing().run("sleep 0.5; echo one").run("sleep 1; echo two; exit 4"), say("Done.")],
        ),
        turn("commands-in-parallel-and-quick", [nothing().run("echo one").run("echo two"), say("Done.")]),
        turn("command-in-a-folder", [call("exec_command", json!({"cmd": "pwd; ls", "workdir": "sub"})), say("Done.")])
            .file("sub/x.txt", "x"),
        turn(
            "command-in-an-absolute-folder",
            [call("exec_command", json!({"cmd": "pwd", "workdir": "/usr"})), say("Done.")],
        ),
        turn(
            "command-without-login-shell",
            [
                call("exec_command", json!({"cmd": "echo $0", "login": false})),
                call("exec_command", json!({"cmd": "echo $0", "shell": "/bin/sh"})),
                say("Done."),
            ],
        ),
        turn("command-goes-on-and-ends", [yielding("echo a; sleep 1.2; echo b", 300), write(""), say("Done.")]),
        turn("command-left-running", [yielding("echo a; sleep 30", 300), say("Done.")]),
        turn("command-answers-stdin", [with_terminal("read x; echo got $x", 400), write("hey\n"), say("Done.")]),
        turn("command-interrupted-by-the-model", [with_terminal(TRAP, 400), write("\u{3}"), say("Done.")]),
        turn("command-stdin-closed", [yielding("sleep 1.2; echo b", 300), write("x"), say("Done.")]),
        turn(
            "command-has-a-terminal",
            [with_terminal("test -t 0 && test -t 1 && echo yes; stty size", 2000), say("Done.")],
        ),
        turn("command-refused-by-the-sandbox", [run("touch /usr/x-of-the-test"), say("Done.")]),
        turn("sandbox-late-refusal", [run("sleep 0.4; touch /usr/x-of-the-test"), say("Done.")]),
        turn("sandbox-git-is-kept", [run("sleep 0.4; touch .git/x; echo made > made.txt"), say("Done.")]),
        turn("sandbox-settings-are-kept", [run("sleep 0.4; mkdir .agents; ls -A .agents"), say("Done.")]),
        turn(
            "sandbox-tmp-is-writable",
            [run("t=$(mktemp /tmp/upstream-XXXXXX) && echo ok > $t && cat $t; rm $t"), say("Done.")],
        ),
        turn("sandbox-without-network", [run("sleep 0.4; exec 3<>/dev/tcp/127.0.0.1/9"), say("Done.")]),
        turn("environment-of-commands", [run(NAMES), run(VALUES), say("Done.")]).env("MY_API_KEY", "k"),
    ]
}
