//! Choices that rounding must not make.
//!
//! A symmetric mesh has vertices, patches and bones that are worth exactly the same. A mesh that stands another way has the same numbers but for their
//! rounding, which would choose another one among them. So what differs by no more than rounding is equal, and of equals the first is taken.

/// Numbers that differ by less, in parts of themselves, are equal.
pub(super) const EQUAL: f64 = 1e-9;
/// What the sums behind a number may have lost, in parts of the largest term: errors are differences of squares.
const LOST: f64 = 1e-13;

/// By how much a number may differ from one that is worth the same. `size` is that of the largest term that it was summed from.
#[inline(always)]
pub(super) fn slack(value: f64, size: f64) -> f64 {
    EQUAL * value.abs() + LOST * size
}

/// The first of the largest numbers; `size` as for [`slack`]. Zero if there are none.
pub(super) fn first_of_largest(values: impl Iterator<Item = f64> + Clone, size: f64) -> usize {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    values.clone().position(|value| value >= most - slack(most, size)).unwrap_or(0)
}

/// What to sort a number by: those that differ by rounding alone compare as equal, but for the few that lie on either side of a step.
pub(super) fn sorted_by(value: f64, size: f64) -> f32 {
    // Single precision beside a millionth of the size resolves 6e-14 of it.
    (value / size.max(f64::MIN_POSITIVE) + 1e-6) as f32
}
