//! Flaws counted on the way, so that a thousand of one kind make one warning.

use crate::contents::{Flaw, Warning};

/// Flaws met on the way, counted by kind.
#[derive(Default)]
pub(crate) struct Flaws {
    pub warnings: Vec<Warning>,
    /// Things nothing reads.
    pub unread: Vec<String>,
}

impl Flaws {
    /// Counts one more of `flaw`; the first is named.
    pub fn add(&mut self, flaw: Flaw, name: impl FnOnce() -> String) {
        self.many(flaw, 1, name);
    }
    /// Counts `count` more of `flaw`, if any.
    pub fn many(&mut self, flaw: Flaw, count: usize, name: impl FnOnce() -> String) {
        match self.warnings.iter_mut().find(|warning| warning.flaw == flaw) {
            Some(warning) => warning.count = warning.count.saturating_add(count),
            None if count > 0 => self.warnings.push(Warning { flaw, count, first: Some(name()) }),
            None => {}
        }
    }
    /// `count` of `flaw`, if any.
    pub fn warn(&mut self, flaw: Flaw, count: usize, first: Option<String>) {
        if count > 0 {
            self.warnings.push(Warning { flaw, count, first });
        }
    }
    /// Remembers something nothing reads, at most a hundred names.
    pub fn unread(&mut self, what: &str) {
        let what = short(what);
        if self.unread.len() < 100 && !self.unread.contains(&what) {
            self.unread.push(what);
        }
    }
}

/// Appends numbers to names that occur twice, and counts them.
pub(crate) fn make_unique(names: &mut [String], flaws: &mut Flaws) {
    // NUL characters at the end are padding of texts of fixed width, and a bundle cannot hold them.
    names.iter_mut().for_each(|name| name.truncate(name.trim_end_matches('\0').len()));
    for (_, name) in dermis_rig::make_unique(names, "_") {
        flaws.add(Flaw::DuplicateName, || name);
    }
}

/// The same for the names of things.
pub(crate) fn make_names_unique<T>(things: &mut [T], name: impl Fn(&mut T) -> &mut String, flaws: &mut Flaws) {
    let mut names: Vec<String> = things.iter_mut().map(|thing| name(thing).clone()).collect();
    make_unique(&mut names, flaws);
    things.iter_mut().zip(names).for_each(|(thing, unique)| *name(thing) = unique);
}

/// A name cut to 200 characters, so that naming a thing a million times does not multiply the file.
pub(crate) fn short(name: &str) -> String {
    name.chars().take(200).collect()
}
