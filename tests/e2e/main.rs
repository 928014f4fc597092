//! Black box tests of the real binary over real sockets, against the contract in `larder.toml`, the command line, the pages
//! and the JSON API. Windows are shortened (5 per 10 s instead of 5 per 5 min), so that a test takes seconds.
//! They mostly wait: `cargo test --test e2e -- --test-threads=8` takes a third of the time on two cores.

mod access;
mod bodies;
mod cli;
mod command;
mod controls;
mod credential;
mod events;
mod failures;
mod file;
mod findings;
mod gateway;
mod gateway_meanwhile;
mod gateway_shelf;
mod gateway_streams;
mod gateway_trouble;
mod health;
mod history;
mod honesty;
mod judge_nginx;
mod judge_prometheus;
mod judge_promtool;
mod learning;
mod lockout;
mod network;
mod oauth;
mod paging;
mod plan;
mod polling;
mod posting;
mod projects;
mod readers;
mod readings;
mod recipes;
mod refresh;
mod refusals;
mod restart;
mod rotation;
mod scans;
mod spend;
mod support;
mod targets;
mod throttling;
mod webhooks;
mod zones;
