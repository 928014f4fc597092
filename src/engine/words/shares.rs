//! What an organization has of a limit that it divides with others, in one sentence. Names nobody else.

use super::counted;
use crate::rules::budget::PartUsage;

/// `held_for_others`: units that are there for those others alone.
pub fn share(own: &PartUsage, held_for_others: u64, others: u64) -> String {
    let PartUsage { share, floor, used, held, .. } = own;
    let floor = if *floor > 0 { format!(" ({floor} never lent)") } else { String::new() };
    let borrowed = match used.saturating_sub(*share) {
        0 => String::new(),
        lent => format!(", {lent} of them lent by others"),
    };
    let held = if *held > 0 { format!(", {held} held for it") } else { String::new() };
    let theirs = if held_for_others > 0 { format!("; {held_for_others} held for others") } else { String::new() };
    format!(
        "Divided with {} on the same credential{theirs}. This organization's share is {share}{floor}: {used} used{borrowed}{held}.",
        counted(others, "other organization", "other organizations")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_without_naming_anybody() {
        let own = PartUsage { organization: "acme".into(), share: 2, floor: 1, used: 1, held: 1 };
        assert_eq!(
            share(&own, 2, 1),
            "Divided with 1 other organization on the same credential; 2 held for others. This organization's share is 2 (1 never lent): 1 used, \
             1 held for it."
        );
        let more = PartUsage { floor: 0, used: 5, held: 0, ..own };
        let told = share(&more, 0, 2);
        assert!(told.ends_with("share is 2: 5 used, 3 of them lent by others."), "{told}");
        assert!(told.starts_with("Divided with 2 other organizations on the same credential. "), "{told}");
    }
}
