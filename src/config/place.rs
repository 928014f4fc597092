//! Where something was written, and the collected list of what is wrong. Knows lines and key paths; knows no key.

use super::ConfigError;
use std::fmt;
use std::sync::Arc;

/// File, line and key path (`connection[yard].limit[status].window`), or an environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Position of the file among those that were read, so that errors come file by file.
    pub order: usize,
    pub file: Arc<str>,
    /// 0 for what has no line: the whole file, the environment.
    pub line: usize,
    pub key: String,
}

impl Place {
    /// A key below this one, on the same line.
    pub fn below(&self, key: &str) -> Place {
        let key = if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) };
        Place { key, ..self.clone() }
    }
    pub fn variable(name: &str) -> Place {
        Place { order: usize::MAX, file: Arc::from("environment"), line: 0, key: name.to_owned() }
    }
    pub fn is_variable(&self) -> bool {
        self.order == usize::MAX
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        Ok(())
    }
}

/// A value and where it came from.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    pub value: T,
    pub place: Place,
}

/// A key that may be absent, or present and wrong (then its error is told already and nobody complains twice).
#[derive(Clone, Debug)]
pub(super) enum Slot<T> {
    Absent,
    Bad,
    Set(Placed<T>),
}

impl<T> Slot<T> {
    /// This one, else what the recipe says.
    pub fn or(self, recipe: Slot<T>) -> Slot<T> {
        if matches!(self, Slot::Absent) { recipe } else { self }
    }
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Slot<U> {
        match self {
            Slot::Absent => Slot::Absent,
            Slot::Bad => Slot::Bad,
            Slot::Set(Placed { value, place }) => Slot::Set(Placed { value: change(value), place }),
        }
    }
    pub fn is_absent(&self) -> bool {
        matches!(self, Slot::Absent)
    }
    pub fn placed(&self) -> Option<&Placed<T>> {
        match self {
            Slot::Set(placed) => Some(placed),
            _ => None,
        }
    }
    pub fn value(self) -> Option<T> {
        match self {
            Slot::Set(placed) => Some(placed.value),
            _ => None,
        }
    }
    pub fn unwrap_or(self, default: T) -> T {
        self.value().unwrap_or(default)
    }
    pub fn unwrap_or_default(self) -> T
    where
        T: Default,
    {
        self.value().unwrap_or_default()
    }
    /// The value; an absent key is a problem, in the words of `missing`.
    pub fn required(self, at: &Place, key: &str, missing: &str, problems: &mut Problems) -> Option<T> {
        if self.is_absent() {
            problems.add(&at.below(key), format!("is missing: {missing}"));
        }
        self.value()
    }
    /// A value for which `wrong` has a sentence becomes a problem.
    pub fn checked(self, problems: &mut Problems, wrong: impl Fn(&T) -> Option<String>) -> Slot<T> {
        match &self {
            Slot::Set(Placed { value, place }) => match wrong(value) {
                Some(sentence) => {
                    problems.add(place, sentence);
                    Slot::Bad
                }
                None => self,
            },
            _ => self,
        }
    }
}

/// Everything that is wrong, told at once.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<(Place, String)>);

impl Problems {
    pub fn add(&mut self, place: &Place, sentence: impl Into<String>) {
        let problem = (place.clone(), sentence.into());
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Of what came from no file: the keys alone.
    pub fn into_sentences(self) -> Vec<String> {
        let sentence = |(place, sentence): (Place, String)| match place.key.as_str() {
            "" => sentence,
            key => format!("{key}: {sentence}"),
        };
        self.0.into_iter().map(sentence).collect()
    }
    /// File by file, from top to bottom.
    pub fn into_errors(mut self) -> Vec<ConfigError> {
        self.0.sort_by_key(|(place, _)| (place.order, place.line));
        self.0.into_iter().map(|(place, sentence)| ConfigError(format!("{place}: {sentence}"))).collect()
    }
}

/// The candidate that was probably meant: at most a third of the word is different.
pub(super) fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_lowercase();
    let scored = candidates.into_iter().map(|c| (strsim::damerau_levenshtein(&word, &c.to_lowercase()), c));
    scored
        .filter(|(distance, c)| *distance <= (c.len().max(word.len()) / 3).max(1))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// `; did you mean X?`, or what there is to choose from; of a long list the three that are nearest.
pub(super) fn suggestion(word: &str, candidates: &[&str]) -> String {
    if let Some(meant) = nearest(word, candidates.iter().copied()) {
        return format!("; did you mean `{meant}`?");
    }
    let mut ranked = candidates.to_vec();
    ranked.sort_by_key(|c| strsim::damerau_levenshtein(word, c));
    match ranked.as_slice() {
        [] => String::new(),
        [first, second, third, ..] if ranked.len() > 8 => format!("; the nearest are: {first}, {second}, {third}"),
        _ => format!("; there is: {}", candidates.join(", ")),
    }
}
