#![forbid(unsafe_code)]
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod domain;
pub mod engine;
pub mod rules;
pub mod store;
pub mod upstream;
pub mod web;
