//! Panics inside redb over a damaged file are caught and told as a sentence; this keeps their own noise off the screen.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; `None` if it panicked, without a word on stderr. Panics elsewhere are as loud as before.
pub(super) fn quietly<T>(f: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(f)).ok();
    QUIET.set(outer);
    result
}

#[cfg(test)]
mod tests {
    use super::quietly;

    #[test]
    fn a_panic_is_none_and_the_thread_goes_on() {
        assert_eq!(quietly(|| 1), Some(1));
        assert_eq!(quietly(|| -> u8 { panic!("damaged") }), None);
        assert_eq!(quietly(|| quietly(|| -> u8 { panic!("inside") }).is_none()), Some(true));
    }
}
