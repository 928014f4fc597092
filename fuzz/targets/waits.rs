//! `cargo fuzz run waits`; what must hold is in `checks/waits.rs`.
#![no_main]
#[path = "../checks/mod.rs"]
#[allow(dead_code)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::waits::check(data));
