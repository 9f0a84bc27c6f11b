//! What commands can and cannot do in each mode and on each rung of the ladder: one table of probes (`table.rs`), and the
//! cases that need a scene of their own (`scenes.rs`). Runs against real processes, sockets and files of this machine.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]
mod ladder;
mod outside;
mod scenes;
mod stage;
mod table;

sandbox::helper_in_tests!();
