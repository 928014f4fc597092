//! `cargo fuzz run records`; what must hold is in `checks/records.rs`.
#![no_main]
#[path = "../checks/mod.rs"]
#[allow(dead_code)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::records::check(data));
