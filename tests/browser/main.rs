//! The pages in a real browser: Debian's Chromium, headless, driven through Debian's chromedriver.
//! Without them the tests are skipped loudly; under `CI=true` that is a failure.

#[path = "../e2e/support/mod.rs"]
mod support;

#[path = "../clients/installed.rs"]
mod installed;

mod faces;
mod forms;
mod live;
mod looks;
mod pictures;
mod plots;
mod proxy;
mod streams;
mod webdriver;
