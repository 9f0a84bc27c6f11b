//! Performs the World half of Actions on this machine.
#![allow(dead_code)]
mod fail;
mod files;
mod media;
mod search;
