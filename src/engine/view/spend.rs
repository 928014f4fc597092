//! Spending as it is shown: groups over a stretch of time, and slices of it. Knows nothing of how it was summed.

use super::{SpendByWord, When};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Requests, and the units that the provider may have counted for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Spent {
    pub requests: u64,
    pub units: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SpendView {
    #[schema(value_type = SpendByWord)]
    pub by: &'static str,
    pub from: When,
    pub to: When,
    #[serde(flatten)]
    pub total: Spent,
    /// The dearest first.
    pub groups: Vec<SpendGroup>,
    /// In order, those too in which nothing was asked.
    pub slices: Vec<SpendSlice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SpendGroup {
    pub name: String,
    #[serde(flatten)]
    pub spent: Spent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SpendSlice {
    pub at: When,
    pub groups: BTreeMap<String, Spent>,
}

impl Spent {
    pub fn add(&mut self, other: Spent) {
        self.requests = self.requests.saturating_add(other.requests);
        self.units = self.units.saturating_add(other.units);
    }
}

impl SpendView {
    /// From the sums of each slice.
    pub fn of(by: &'static str, slices: Vec<SpendSlice>, to: When) -> SpendView {
        let mut names: BTreeMap<&str, Spent> = BTreeMap::new();
        let mut total = Spent::default();
        for (name, spent) in slices.iter().flat_map(|slice| &slice.groups) {
            names.entry(name).or_default().add(*spent);
            total.add(*spent);
        }
        let group = |(name, spent): (&str, Spent)| SpendGroup { name: name.to_owned(), spent };
        let mut groups: Vec<SpendGroup> = names.into_iter().map(group).collect();
        groups.sort_by_key(|g| std::cmp::Reverse((g.spent.units, g.spent.requests)));
        SpendView { by, from: slices.first().map_or(to, |slice| slice.at), to, total, groups, slices }
    }

    /// Only the groups of these names.
    pub fn only(mut self, wanted: impl Fn(&str) -> bool) -> SpendView {
        self.slices.iter_mut().for_each(|slice| slice.groups.retain(|name, _| wanted(name)));
        SpendView::of(self.by, self.slices, self.to)
    }
}
