//! Names that occur once.

use std::collections::{HashMap, HashSet};

/// Gives each name that stands in the list before a number, counted from 2, so that no name occurs twice: with a blank between,
/// "walk", "walk" become "walk", "walk 2". A number that would make another name of the list is passed over, wherever that name
/// stands, so a name that occurs once stays.
///
/// Result: the place of every name that changed, and what it was, in the order of the list.
/// ```
/// let mut names = ["walk 2", "walk", "walk"].map(String::from);
/// assert_eq!(dermis_rig::make_unique(&mut names, " "), [(2, "walk".into())]);
/// assert_eq!(names, ["walk 2", "walk", "walk 3"]);
/// ```
pub fn make_unique(names: &mut [String], separator: &str) -> Vec<(usize, String)> {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    if taken.len() == names.len() {
        return Vec::new();
    }
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let mut changed = Vec::new();
    for (at, name) in names.iter_mut().enumerate() {
        let Some(number) = numbers.get_mut(name.as_str()) else {
            numbers.insert(name.clone(), 1);
            continue;
        };
        let free = loop {
            *number += 1;
            let numbered = format!("{name}{separator}{number}");
            if taken.insert(numbered.clone()) {
                break numbered;
            }
        };
        changed.push((at, std::mem::replace(name, free)));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_occurs_twice_and_names_that_occur_once_stay() {
        for (given, expected) in [
            (vec!["a", "a", "a_2", "a"], vec!["a", "a_3", "a_2", "a_4"]),
            (vec!["a_2", "a", "a", "a_3"], vec!["a_2", "a", "a_4", "a_3"]),
            (vec!["", ""], vec!["", "_2"]),
            (vec!["a", "a", "a_2", "a_2", "a_2_2"], vec!["a", "a_3", "a_2", "a_2_3", "a_2_2"]),
            (vec!["b", "a"], vec!["b", "a"]),
            (vec![], vec![]),
        ] {
            let mut names: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
            let changed = make_unique(&mut names, "_");
            assert_eq!(names, expected);
            let told: Vec<(usize, String)> = (given.iter().zip(&expected).enumerate())
                .filter(|(_, (before, after))| before != after)
                .map(|(at, (before, _))| (at, (*before).to_owned()))
                .collect();
            assert_eq!(changed, told);
        }
    }
}
