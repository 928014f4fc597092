//! Programs that know nothing of Larder, through its gateway: as they were installed, told nothing but where to ask. And one that is told what
//! the API's document says, and asks that. They come from the
//! registries of their languages, at the versions written here; where a registry cannot be reached, that is said aloud and nothing is tried.

#[path = "../e2e/support/mod.rs"]
mod support;

mod command_line;
mod document;
mod http_cache;
mod installed;
mod python;
mod snippets;
