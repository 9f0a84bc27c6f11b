//! System calls that a command may not make. Filters only add up: the strictest answer of all of them counts.
use std::{
    collections::BTreeMap,
    io,
    os::fd::{FromRawFd, OwnedFd, RawFd},
};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::{Named, Step};
use crate::{
    Failure, Rung,
    linux::{order::Order, sys::check},
};

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the sandbox knows the system calls of x86_64 and aarch64 only");

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused whatever the arguments: they change the tree of mounts or the machine, reach into other processes, or are a way
/// around the filters (io_uring makes sockets by itself).
const REFUSED: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Confined to own processes by namespace or Landlock; refused where neither is there.
const TRACING: [i64; 3] = [libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev];

/// Every `CLONE_NEW*`, also that of time namespaces.
const NEW_NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80,
];

const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
/// The kind of a socket without its flags.
const KIND: u64 = 0xf;

/// Puts all filters but that of [`notify_connect`] in force.
pub(super) fn apply(order: &Order, rung: Rung, landlocked: bool) -> Step<()> {
    let programs = programs(order, rung, landlocked)
        .map_err(|error| Failure { step: format!("seccomp: {error}"), errno: libc::EINVAL })?;
    for program in &programs {
        seccompiler::apply_filter(program).map_err(|_| io::Error::last_os_error()).step("seccomp")?;
    }
    Ok(())
}

fn programs(order: &Order, rung: Rung, landlocked: bool) -> Result<Vec<BpfProgram>, BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if !(landlocked || rung.has_pid_ns()) {
        rules.extend(TRACING.map(|call| (call, Vec::new())));
    }
    let bit = |flag: &i32| rule([condition(0, Len::Qword, Op::MaskedEq(*flag as u64), *flag as u64)?]);
    rules.insert(libc::SYS_clone, NEW_NAMESPACES.iter().map(bit).collect::<Result<_, _>>()?);
    let request = |number| rule([condition(1, Len::Dword, Op::Eq, number)?]);
    rules.insert(libc::SYS_ioctl, vec![request(TIOCSTI)?, request(TIOCLINUX)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, device_nodes(1)?);
    rules.insert(libc::SYS_mknodat, device_nodes(2)?);
    sockets(&mut rules, order, rung)?;
    // The flags of clone3 lie in memory, out of a filter's sight. With "not implemented" every libc takes clone.
    let clone3 = Rules::from([(libc::SYS_clone3, Vec::new())]);
    Ok(vec![
        #[cfg(target_arch = "x86_64")]
        refuse_x32(),
        compile(rules, libc::EPERM)?,
        compile(clone3, libc::ENOSYS)?,
    ])
}

fn sockets(rules: &mut Rules, order: &Order, rung: Rung) -> Result<(), BackendError> {
    let not = |family: i32| condition(0, Len::Dword, Op::Ne, family as u64);
    let is_unix = || condition(0, Len::Dword, Op::Eq, libc::AF_UNIX as u64);
    let kind = |kind: i32| condition(1, Len::Dword, Op::MaskedEq(KIND), kind as u64);
    // A datagram socket reaches any other by `sendmsg` with an address, past the supervisor of `connect`. The kernel makes
    // a datagram socket of a raw one.
    let datagrams = || -> Result<Vec<SeccompRule>, BackendError> {
        Ok(vec![rule([is_unix()?, kind(libc::SOCK_DGRAM)?])?, rule([is_unix()?, kind(libc::SOCK_RAW)?])?])
    };
    let mut families = datagrams()?;
    let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let internet = internet.map(not).into_iter().collect::<Result<Vec<_>, _>>()?;
    families.push(match (rung.has_mounts(), order.network) {
        (true, _) => rule(internet.into_iter().chain([not(libc::AF_UNIX)?]))?,
        // Nobody supervises `connect` here, so either local sockets or those of the network.
        (false, true) => rule(internet)?,
        (false, false) => rule([not(libc::AF_UNIX)?])?,
    });
    rules.insert(libc::SYS_socket, families);
    rules.insert(libc::SYS_socketpair, datagrams()?);
    if !rung.has_mounts() && !order.network {
        // Only pairs remain, and on them `send`, which is a `sendto` without an address.
        for call in [libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept4, libc::SYS_sendmmsg] {
            rules.insert(call, Vec::new());
        }
        rules.insert(libc::SYS_accept, Vec::new());
        rules.insert(libc::SYS_sendto, vec![rule([condition(4, Len::Qword, Op::Ne, 0)?])?]);
    }
    Ok(())
}

/// `mknod` of disks and the like; pipes and plain files stay possible.
fn device_nodes(mode: u8) -> Result<Vec<SeccompRule>, BackendError> {
    let kind = |kind: u32| rule([condition(mode, Len::Dword, Op::MaskedEq(libc::S_IFMT.into()), kind.into())?]);
    Ok(vec![kind(libc::S_IFCHR)?, kind(libc::S_IFBLK)?])
}

fn condition(argument: u8, length: Len, operator: Op, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, length, operator, value)
}

fn rule(conditions: impl IntoIterator<Item = SeccompCondition>) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect())
}

/// Other architectures (32-bit programs) are killed: their numbers mean other calls.
fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), ARCH)?.try_into()
}

const LOAD_NUMBER: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Calls of the x32 ABI have bit 30 set and would pass a list of numbers.
#[cfg(target_arch = "x86_64")]
fn refuse_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    let at_least = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    [
        (LOAD_NUMBER, 0, 0, 0),
        (at_least, 0, 1, X32),
        (RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        (RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
    .map(|(code, jt, jf, k)| seccompiler::sock_filter { code, jt, jf, k })
    .to_vec()
}

/// Every `connect` from here on waits for an answer over the descriptor returned.
pub(super) fn notify_connect() -> io::Result<OwnedFd> {
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let mut program = [
        (LOAD_NUMBER, 0, 0, 0),
        (equal, 0, 1, libc::SYS_connect as u32),
        (RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
        (RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
    .map(|(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k });
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // A signal must not break off the wait: the call would start again after it was carried out. Older kernels cannot.
    const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
    let install = |flags: libc::c_ulong| {
        // SAFETY: the program lives through the call.
        check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &program) })
    };
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let fd = install(listener | WAIT_KILLABLE).or_else(|_| install(listener))?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}
