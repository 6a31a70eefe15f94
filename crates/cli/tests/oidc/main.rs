//! Signing in with a provider of identities, which is a program of its own here: the pages by an
//! HTTP client in a browser's place, and the commands.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod browser;
mod commands;
mod pages;
mod stage;
mod trouble;
