//! `cargo fuzz run configuration`; what must hold is in `checks/configuration.rs`.
#![no_main]
#[path = "../checks/mod.rs"]
#[allow(dead_code)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::configuration::check(data));
