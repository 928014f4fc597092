//! `cargo fuzz run answers`; what must hold is in `checks/answers.rs`.
#![no_main]
#[path = "../checks/mod.rs"]
#[allow(dead_code)]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::answers::check(data));
