//! wip
mod dice;
mod disk;
mod machine;
