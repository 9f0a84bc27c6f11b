//! The table. Each row: attempts, and whether they all work or are all refused in each mode, and on the third rung.
use protocol::SandboxMode;
use sandbox::{Rung, Status};

use crate::{
    outside::Outside,
    stage::{Stage, has, snapshot},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// Every attempt fails, and nothing outside has changed or was reached.
    Refused,
    Works,
    /// Not tried in this mode.
    Skip,
}
use Expect::{Refused as D, Skip as N, Works as A};

struct Row {
    name: &'static str,
    /// Tools without which the row is skipped.
    needs: &'static [&'static str],
    attempts: &'static [&'static str],
    /// read-only, workspace-write, danger-full-access.
    modes: [Expect; 3],
    /// read-only and workspace-write on the third rung, where they differ.
    third: Option<[Expect; 2]>,
    /// A slow tool whose needs the other rows have shown as well: tried on the first rung only.
    slow: bool,
}

const fn row(name: &'static str, modes: [Expect; 3], attempts: &'static [&'static str]) -> Row {
    Row { name, needs: &[], attempts, modes, third: None, slow: false }
}

impl Row {
    const fn third(mut self, third: [Expect; 2]) -> Row {
        self.third = Some(third);
        self
    }
    const fn slow(mut self) -> Row {
        self.slow = true;
        self
    }
    const fn needs(mut self, needs: &'static [&'static str]) -> Row {
        self.needs = needs;
        self
    }
}

/// Calls a system call by number and fails if it is refused; anything else but EPERM and ENOSYS counts as let through.
macro_rules! syscall {
    ($arguments:literal) => {
        concat!(
            "python: import ctypes,sys; c=ctypes.CDLL(None,use_errno=True); r=c.syscall(",
            $arguments,
            "); sys.exit(1 if r==-1 and ctypes.get_errno() in (1,38) else 0)"
        )
    };
}

const TABLE: &[Row] = &[
    // Files
    row("new file at the top", [D, A, A], &["touch \"$W/new\""]).third([D, D]),
    row("new file below", [D, A, A], &["touch \"$W/sub/new\"", "echo x >> \"$W/f\"", "rm \"$W/sub/f\""]),
    row("rename between folders", [D, A, A], &["mkdir sub/a sub/b && touch sub/a/x && mv sub/a/x sub/b/"]),
    row("new file in /tmp", [D, A, A], &["touch /tmp/$TAG && rm /tmp/$TAG"]),
    row("new file outside", [D, D, A], &["touch \"$O/new\"", "mkdir \"$O/dir\"", "mkfifo \"$O/pipe\""]),
    row("read anything", [A, A, A], &["cat \"$O/file\" /etc/passwd"]),
    row("up and over", [D, D, A], &["echo x > \"$W/../O/file\""]),
    row("through a link", [D, D, A], &["ln -s \"$O\" sub/l && touch sub/l/n"]),
    row("through a hard link", [D, D, A], &["ln \"$O/file\" sub/h && echo x >> sub/h"]),
    row("move out and in", [D, D, A], &["mv \"$W/f\" \"$O/\"", "mv \"$O/file\" \"$W/\""]),
    row("exchange across the border", [D, D, A], &[
        "python: import ctypes,os,sys; c=ctypes.CDLL(None); e=os.environ; \
         sys.exit(c.renameat2(-100,(e['W']+'/f').encode(),-100,(e['O']+'/file').encode(),2)!=0)",
    ]),
    row("through /proc", [D, D, A], &[
        "echo x > \"/proc/self/root$O/file\"",
        "echo x > \"/proc/self/cwd/../O/file\"",
        "exec 3<\"$O/file\"; echo x > /proc/self/fd/3",
    ]),
    row("truncate", [D, D, A], &["truncate -s0 \"$O/file\"", "python: import os; os.truncate(os.environ['O']+'/file',0)"]),
    row("metadata outside", [D, D, A], &[
        "chmod 600 \"$O/file\"",
        "touch -d yesterday \"$O/file\"",
        "python: import os; os.setxattr(os.environ['O']+'/file','user.x',b'y')",
    ])
    .third([A, A]),
    row("late and detached", [D, D, A], &["setsid sh -c 'touch \"$O/late\"' & wait; test -e \"$O/late\""]),
    // Protected names
    row("git config", [D, D, A], &["git config a.b c"]),
    row("a hook", [D, D, A], &["touch .git/hooks/pre-commit", "echo x >> .git/config"]),
    row("git folder moved or removed", [D, D, A], &["mv .git g && mv g .git", "rmdir .git/hooks || rm -r .git/hooks", "rm -rf .git"]),
    row("git folder exchanged", [D, D, N], &[
        "python: import ctypes,os,sys; c=ctypes.CDLL(None); sys.exit(c.renameat2(-100,b'.git',-100,b'sub',2)!=0)",
    ]),
    row("missing names made", [D, D, A], &["mkdir .codex", "touch .agents", "mkdir -p .openinterpreter/x", "ln -sT sub .aws"]),
    row("missing names moved in", [D, D, A], &["mkdir sub/x && mv -T sub/x .agents", "touch sub/y && mv -T sub/y .codex"]),
    row("missing names removed and made", [D, D, N], &["rmdir .codex; mkdir .codex/x", "mv .codex c && mkdir .codex"]),
    row("hard link into git folder", [D, D, A], &["ln f .git/hooks/post-commit"]),
    row("nested repository", [D, A, A], &["git init -q sub/r && cd sub/r && git commit -q --allow-empty -m x"]),
    row("read git", [A, A, A], &["git status", "git log", "git diff"]),
    row("commit", [D, D, A], &["git commit -q --allow-empty -m x"]),
    // The machine
    row("kernel settings", [D, D, N], &["exec 3>>/proc/sys/kernel/core_pattern", "exec 3>>/proc/sys/vm/drop_caches", "exec 3>/proc/sysrq-trigger"]),
    row("disks", [D, D, N], &["head -c1 /dev/kmsg", "dd if=/dev/[sv]da count=1", "mknod sub/b b 7 0", "mknod sub/c c 1 3"]),
    row("pipes and plain files by mknod", [D, A, A], &["mkfifo sub/p", "mknod sub/q p"]),
    row("user namespaces", [D, D, A], &["unshare -Ur true"]),
    row("mounts", [D, D, N], &[
        "unshare -Urm mount -o remount,rw,bind \"$W/.git\"",
        "mount -o remount,rw,bind \"$W/.git\"",
        "umount \"$W/.git\"",
        "mount --bind \"$W\" \"$W/.git\"",
        "chroot . true",
    ]),
    row("other processes", [D, D, A], &["kill -0 $P", "grep -q SECRET /proc/$P/environ"]),
    row("memory of other processes", [D, D, N], &["exec 3</proc/$P/mem", "strace -p $P -o /dev/null -e trace=none & sleep 0.1; kill $! && false"]),
    row("no privileges", [A, A, N], &["grep -q 'NoNewPrivs:.1' /proc/self/status && grep -q 'CapEff:.0*$' /proc/self/status && grep -q 'CapPrm:.0*$' /proc/self/status"]),
    row("su fails and does not hang", [A, A, N], &["timeout 5 su -c id </dev/null; code=$?; test $code -ne 0 -a $code -ne 124"]),
    row("rare system calls", [D, D, N], &[
        syscall!("425,1,ctypes.create_string_buffer(120)"), // io_uring_setup
        syscall!("323,0"),                                  // userfaultfd
        syscall!("308,0,0"),                                // setns
        syscall!("272,0x10000000"),                         // unshare
        syscall!("442,-100,b'/',0,0,0"),                    // mount_setattr
        syscall!("435,ctypes.create_string_buffer(88),88"), // clone3
        syscall!("56,0x10000000,0,0,0,0"),                  // clone into a new user namespace
        syscall!("0x40000000+39"),                          // getpid of x32
    ])
    .needs(&["python3", "x86_64"]),
    row("rare system calls that work otherwise", [D, D, A], &[
        syscall!("321,0,0,0"),                       // bpf
        syscall!("248,b'user',b'a',b'b',1,-3"),      // add_key
        syscall!("250,0,-3,0"),                      // keyctl
        syscall!("298,0,0,0,0,0"),                   // perf_event_open
        syscall!("304,0,0,0"),                       // open_by_handle_at
    ])
    .needs(&["python3", "x86_64"]),
    row("typing into the terminal", [D, D, N], &["python: import fcntl,os; fcntl.ioctl(os.openpty()[1],0x5412,b'x')"]),
    // Network
    row("TCP to outside", [D, D, A], &[
        "python: import os,socket; socket.create_connection(('127.0.0.1',int(os.environ['S'])),2)",
        "python: import os,socket; s=socket.socket(2,1,262); s.connect(('127.0.0.1',int(os.environ['S'])))",
        "python: import os,socket; s=socket.socket(); s.sendto(b'x',0x20000000,('127.0.0.1',int(os.environ['S'])))",
        "python: import os,socket; socket.create_connection(('::1',int(os.environ['S6'])),2)",
    ]),
    row("UDP to outside", [D, D, A], &[
        "python: import os,socket,time; s=socket.socket(2,2); s.connect(('127.0.0.1',int(os.environ['U']))); s.send(b'x'); s.send(b'x')",
    ]),
    row("local sockets of others", [D, D, A], &[
        "python: import os,socket; s=socket.socket(1,1); s.connect(os.environ['O']+'/socket')",
        "python: import os,socket; s=socket.socket(1,1); s.connect('/proc/self/root'+os.environ['O']+'/socket')",
        "python: import os,socket; os.chdir(os.environ['O']); s=socket.socket(1,1); s.connect('socket')",
        "python: import os,socket; s=socket.socket(1,1); s.connect('\\0'+os.environ['TAG'])",
        "python: import os,socket; s=socket.socket(1,2); s.sendto(b'x',os.environ['O']+'/datagrams')",
        "python: import os,socket; s=socket.socket(1,3); s.sendto(b'x',os.environ['O']+'/datagrams')",
        "python: import os,socket; s=socket.socketpair(1,2)[0]; s.sendmsg([b'x'],[],0,os.environ['O']+'/datagrams')",
    ]),
    row("a link to another's socket", [D, D, N], &[
        "python: import os,socket; os.symlink(os.environ['O']+'/socket','sub/l'); s=socket.socket(1,1); s.connect('sub/l')",
        "python: import os,socket; os.link(os.environ['O']+'/socket','sub/l'); s=socket.socket(1,1); s.connect('sub/l')",
    ]),
    row("other families", [D, D, N], &[
        "python: import socket; socket.socket(40,1)",
        "python: import socket; socket.socket(17,3)",
        "python: import socket; socket.socket(38,5)",
        "python: import socket; socket.socket(2,3,1)",
    ]),
    row("names fail at once", [A, A, N], &["timeout 2 getent hosts example.com; test $? -ne 0 -a $? -ne 124"]),
    row("own server on loopback", [A, A, A], &[
        "python: import socket; s=socket.create_server(('127.0.0.1',0)); c=socket.create_connection(s.getsockname()); s.accept()",
        "python: import socket; s=socket.create_server(('::1',0),family=10); c=socket.create_connection(s.getsockname()[:2]); s.accept()",
        "python: import socket; s=socket.socket(2,2); s.bind(('127.0.0.1',0)); s.sendto(b'x',s.getsockname()); s.recv(1)",
    ])
    .third([D, D]),
    row("own local server", [D, A, A], &[
        "python: import socket,tempfile; p=tempfile.mkdtemp()+'/s'; s=socket.socket(1,1); s.bind(p); s.listen(); c=socket.socket(1,1); c.connect(p); s.accept()",
        "python: import os,socket; os.chdir('sub'); s=socket.socket(1,5); s.bind('s'); s.listen(); c=socket.socket(1,5); c.connect('s'); s.accept()",
    ])
    .third([D, D]),
    row("own abstract server", [A, A, A], &[
        "python: import os,socket; n='\\0mine'+os.environ['TAG']; s=socket.socket(1,1); s.bind(n); s.listen(); c=socket.socket(1,1); c.connect(n); s.accept()",
    ])
    .third([D, D]),
    row("a stale socket file is refused as usual", [N, A, A], &[
        "python: import socket,os\nos.chdir('sub'); s=socket.socket(1,1); s.bind('s'); s.close()\ntry: socket.socket(1,1).connect('s')\nexcept ConnectionRefusedError: os._exit(0)\nos._exit(1)",
    ])
    .third([N, N]),
    row("many connections at once", [A, A, A], &[
        "python: import socket,threading\ns=socket.create_server(('127.0.0.1',0),backlog=64)\ndef go():\n c=socket.create_connection(s.getsockname()); c.sendall(b'x')\nt=[threading.Thread(target=go) for _ in range(32)]\n[x.start() for x in t]\nfor _ in t: assert s.accept()[0].recv(1)==b'x'",
    ]).slow()
    .third([D, D]),
    row("pairs", [A, A, A], &["python: import socket; a,b=socket.socketpair(); a.send(b'x'); b.recv(1)"]),
    // What tools need
    row("pool of processes", [A, A, A], &["python: from concurrent.futures import ProcessPoolExecutor as P\nimport multiprocessing as m\nwith P(2,mp_context=m.get_context('fork')) as p: assert list(p.map(abs,[-1]))==[1]"]).slow(),
    row("shared memory", [A, A, A], &[
        "python: from multiprocessing.shared_memory import SharedMemory as S; s=S(create=True,size=9); s.buf[0]=1; s.close(); s.unlink()",
        "python: import multiprocessing as m; m.Semaphore().acquire()",
    ]),
    row("manager over a local socket", [D, A, A], &["python: import multiprocessing as m\nif __name__=='__main__':\n with m.get_context('fork').Manager() as x: assert list(x.list([1]))==[1]"]).slow().third([D, D]),
    row("temporary files", [D, A, A], &["rm $(mktemp)", "rmdir $(mktemp -d)"]),
    row("devices", [A, A, A], &[
        "echo x > /dev/null && head -c1 /dev/urandom > /dev/null && head -c1 /dev/zero >/dev/null && echo y | cat /dev/stdin && cat <(echo z) && echo x > /dev/stdout",
    ]),
    row("terminals", [A, A, A], &["script -qec 'tty && test -t 0 && echo x > /dev/tty' /dev/null"]).third([D, D]).needs(&["script"]),
    row("sanitizer", [D, A, A], &["cd sub && echo 'int main(){return 0;}' > t.c && gcc -fsanitize=address t.c -o t && ./t"]).needs(&["gcc"]).slow(),
    row("sqlite", [D, A, A], &["cd sub && sqlite3 d 'pragma journal_mode=wal; create table t(x); insert into t values(1);'"]).slow().needs(&["sqlite3"]),
    row("make", [D, A, A], &["cd sub && printf 'all: a b c\\na b c:\\n\\tsleep 0.01; touch $@\\n' > Makefile && make -j4 -s"]).needs(&["make"]).slow(),
    row("cargo", [D, A, A], &["cd sub && mkdir -p c/src && echo 'fn main(){}' > c/src/main.rs && printf '[package]\\nname=\"c\"\\nedition=\"2024\"\\n[workspace]\\n' > c/Cargo.toml && cd c && CARGO_TARGET_DIR=t cargo check -q --offline"]).needs(&["cargo"]).slow(),
    row("tracing of own processes", [A, A, A], &["strace -f -o /dev/null sh -c true"]).slow().needs(&["strace"]),
    row("terminal server", [D, A, A], &["cd sub && tmux -S ./s -f /dev/null new -d 'sleep 9' && tmux -S ./s ls && tmux -S ./s kill-server"]).third([D, D]).needs(&["tmux"]).slow(),
    row("node server on a socket file", [D, A, A], &["cd sub && node -e \"const n=require('net');const s=n.createServer(c=>c.end('x')).listen('./n',()=>n.connect('./n').on('data',()=>process.exit(0)));s.on('error',()=>process.exit(1))\""]).third([D, D]).needs(&["node"]).slow(),
    row("node workers", [A, A, A], &["node -e \"const {Worker}=require('worker_threads');new Worker('process.exit(0)',{eval:true}).on('exit',c=>process.exit(c))\""]).needs(&["node"]).slow(),
    row("own processes", [A, A, A], &["ps -p $$", "test -r /proc/self/maps", "sleep 9 & kill $! && ! wait $!", "kill -0 $$"]),
    row("locks and pipes", [D, A, A], &["flock sub/l true", "cd sub && mkfifo p && (echo x > p & read y < p && test \"$y\" = x)"]).slow().needs(&["flock"]),
    row("archives", [D, A, A], &["tar cf sub/t.tar f && tar xf sub/t.tar -C sub"]).slow(),
];

fn needed(row: &Row) -> bool {
    let python = row.attempts.iter().any(|attempt| attempt.starts_with("python: "));
    row.needs.iter().all(|tool| if *tool == "x86_64" { cfg!(target_arch = "x86_64") } else { has(tool) })
        && (!python || has("python3"))
}

/// Tries every row in one mode on the rung in force, and compares.
pub(crate) fn try_all(mode: SandboxMode) {
    let third = mode != SandboxMode::DangerFullAccess && sandbox::detect() == Rung::Landlock;
    let (mut wrong, mut skipped, mut tried) = (Vec::new(), Vec::new(), 0);
    for row in TABLE {
        let expect = match (row.third, third) {
            (Some(third), true) => third[mode as usize],
            _ => row.modes[mode as usize],
        };
        let first = matches!(sandbox::detect(), Rung::User | Rung::Mount) && std::env::var_os("PROBE_MODE").is_none();
        if expect == N || (row.slow && !first) {
            continue;
        }
        if !needed(row) {
            skipped.push(row.name);
            continue;
        }
        tried += 1;
        try_row(row, mode, expect, third, &mut wrong);
    }
    eprintln!(
        "{mode:?} on rung {}: {tried} rows tried, skipped for want of a tool: {skipped:?}",
        sandbox::detect().name()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 30);
}

fn try_row(row: &Row, mode: SandboxMode, expect: Expect, third: bool, wrong: &mut Vec<String>) {
    let mut stage = Stage::new(mode);
    let outside = Outside::around(&mut stage);
    let before = snapshot(stage.base.path());
    for attempt in row.attempts {
        let (status, output) = stage.run(attempt);
        let worked = status.success();
        if matches!(status, Status::NotRun(_)) || worked != (expect == A) {
            wrong.push(format!("{} ({expect:?}): {attempt}\n  {status:?} {output}", row.name));
        }
    }
    if mode == SandboxMode::DangerFullAccess {
        return;
    }
    if outside.was_reached() {
        wrong.push(format!("{}: reached a server outside", row.name));
    }
    // Whatever was expected: outside of what is writable, everything is as it was.
    let free = |path: &std::path::Path| {
        let inside = path.strip_prefix(&stage.workspace).ok();
        path.starts_with(stage.path("state"))
            || inside.is_some_and(|inside| mode == SandboxMode::WorkspaceWrite && !inside.starts_with(".git"))
                && !sandbox::PROTECTED.iter().any(|name| inside.is_some_and(|inside| inside.starts_with(name)))
    };
    let after = snapshot(stage.base.path());
    let changed = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path) && !free(path));
    let metadata = third && row.name == "metadata outside";
    for path in changed.filter(|_| !metadata) {
        wrong.push(format!("{}: changed {}", row.name, path.display()));
    }
}
