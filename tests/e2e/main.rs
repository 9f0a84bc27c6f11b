//! End-to-end: the built binary against a scripted model on loopback, each test in a home and a workspace of its own.
mod pairs;
mod place;

mod calls_in_text;
mod codex_sessions;
mod commands;
mod compare;
mod exec;
mod gateway;
mod guards;
mod halves;
mod input;
mod known_failures;
mod learn;
mod made;
mod matrix;
mod prefix;
mod providers;
mod resume;
