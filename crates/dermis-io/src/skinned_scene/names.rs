//! Names that occur once, and those that a file has in another form.

use dermis_rig::make_unique;
use std::collections::HashMap;

/// A name that the file has in another form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// "bone", "object", "shape", "material" or "clip".
    pub kind: &'static str,
    /// As the scene has it.
    pub from: String,
    /// As the file has it.
    pub to: String,
}

/// Names of several kinds of things that share one list, each as programs take it, and once; those before others keep theirs.
///
/// - `given`: kind and name of each
/// - `plain`: the name of a kind as programs take it
pub(crate) fn unique_as(
    given: &[(&'static str, &str)],
    plain: impl Fn(&str, &str) -> String,
    renamed: &mut Vec<Renamed>,
) -> Vec<String> {
    let mut names: Vec<String> = given.iter().map(|(kind, name)| plain(kind, name)).collect();
    // One that is plain by itself goes before those that become it.
    let mut order: Vec<usize> = (0..given.len()).collect();
    let mut first: HashMap<&'static str, usize> = HashMap::new();
    for (kind, _) in given {
        let next = first.len();
        first.entry(kind).or_insert(next);
    }
    order.sort_by_key(|&at| (first[given[at].0], given[at].1 != names[at]));
    let mut sorted: Vec<String> = order.iter().map(|&at| std::mem::take(&mut names[at])).collect();
    make_unique(&mut sorted, "_");
    order.iter().zip(sorted).for_each(|(&at, name)| names[at] = name);
    for ((kind, from), to) in given.iter().zip(&names).filter(|((_, from), to)| from != to) {
        renamed.push(Renamed { kind, from: (*from).into(), to: to.clone() });
    }
    names
}
