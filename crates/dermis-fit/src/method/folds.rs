//! Examples that are left out together.

use dermis_rig::{ExampleSet, pose_numbers};

/// Examples that are left out together, `count` lists at most: contiguous blocks for a clip, every `count`-th pose otherwise, and always
/// all examples of one pose together. Empty where there is nothing to leave out.
///
/// - `length`: the extent of the rest mesh, metres, by which poses are compared
pub fn folds(examples: &ExampleSet, length: f64, count: usize) -> Vec<Vec<usize>> {
    let numbers = pose_numbers(examples.examples().iter().map(|e| &e.transforms), length);
    let different = numbers.iter().max().map_or(0, |last| last + 1);
    if count < 2 || different < 2 {
        return vec![];
    }
    let count = count.min(different);
    let fold_of = |s: usize| match examples.is_clip() {
        true => numbers[s] * count / different,
        false => numbers[s] % count,
    };
    (0..count).map(|fold| (0..examples.len()).filter(|&s| fold_of(s) == fold).collect()).collect()
}
