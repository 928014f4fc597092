#[path = "../judges/mod.rs"]
mod judges;
