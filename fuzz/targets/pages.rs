//! `cargo fuzz run pages`; what must hold is in `checks/pages.rs`.
#![no_main]
#[path = "../checks/mod.rs"]
#[allow(dead_code)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::pages::check(data));
