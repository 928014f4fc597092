//! What must hold for any bytes. One module a target: `check` takes the bytes and panics where a promise is broken. Shared by the
//! fuzzer (`fuzz/targets`) and by the replay in `cargo test --test fuzz`.

pub mod answers;
pub mod configuration;
pub mod pages;
pub mod records;
pub mod waits;
