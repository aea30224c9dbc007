//! Slopes at keys, value per second.

use super::{Ease, Key, Tangent};

/// The slope of the chord from a key to the next.
pub fn secant(keys: &[Key], from: usize) -> f64 {
    (keys[from + 1].value - keys[from].value) / (keys[from + 1].time - keys[from].time)
}

/// The slopes where the curve arrives at a key and where it leaves it, by the key's [`Tangent`].
pub fn of_key(keys: &[Key], at: usize) -> [f64; 2] {
    match keys[at].tangent {
        Tangent::Automatic => [automatic(keys, at); 2],
        Tangent::Flat => [0.0; 2],
        Tangent::Clamped => [clamped(keys, at); 2],
        Tangent::Slopes { arrive, leave } => [arrive, leave],
    }
}

/// The chord from the key before to the key after; at an end the chord of the end.
pub fn automatic(keys: &[Key], at: usize) -> f64 {
    let (before, after) = (at.saturating_sub(1), (at + 1).min(keys.len() - 1));
    match before == after {
        true => 0.0,
        false => (keys[after].value - keys[before].value) / (keys[after].time - keys[before].time),
    }
}

/// The automatic slope, zero at an extreme and at most three times the smaller chord: then the cubic is monotone between keys.
///
/// Source: Fritsch & Carlson 1980, "Monotone piecewise cubic interpolation", the square of side three in their region of monotonicity.
fn clamped(keys: &[Key], at: usize) -> f64 {
    if at == 0 || at + 1 == keys.len() {
        return automatic(keys, at);
    }
    let (arriving, leaving) = (secant(keys, at - 1), secant(keys, at));
    if arriving * leaving <= 0.0 {
        return 0.0;
    }
    let most = 3.0 * arriving.abs().min(leaving.abs());
    automatic(keys, at).clamp(-most, most)
}

/// The slopes of Kochanek and Bartels where the curve arrives at a key and where it leaves it. A key with another [`Ease`] has the
/// parameters zero.
///
/// With chords d₋ before and d₊ after, as differences of values, and N₋, N₊ the lengths of their intervals:
///
/// - arriving: ((1−t)(1−c)(1+b) d₋ + (1−t)(1+c)(1−b) d₊) / 2
/// - leaving:  ((1−t)(1+c)(1+b) d₋ + (1−t)(1−c)(1−b) d₊) / 2
///
/// each times 2 / (N₋ + N₊), so that the slope is per second and, at zero, the same on both sides.
///
/// Source: Kochanek & Bartels 1984, "Interpolating splines with local tension, continuity, and bias control", eqs. 8, 9 and 11. At
/// an end, where the paper leaves the choice, the missing chord is the other one.
pub fn tcb(keys: &[Key], at: usize) -> [f64; 2] {
    let (t, c, b) = match keys[at].ease {
        Ease::Tcb { tension, continuity, bias } => (tension, continuity, bias),
        _ => (0.0, 0.0, 0.0),
    };
    if keys.len() < 2 {
        return [0.0; 2];
    }
    let before = at.checked_sub(1).unwrap_or(at);
    let after = at.min(keys.len() - 2);
    let difference = |from: usize| keys[from + 1].value - keys[from].value;
    let length = |from: usize| keys[from + 1].time - keys[from].time;
    let scale = 2.0 / (length(before) + length(after));
    let (earlier, later) = (difference(before), difference(after));
    let arrive = (1.0 - c) * (1.0 + b) * earlier + (1.0 + c) * (1.0 - b) * later;
    let leave = (1.0 + c) * (1.0 + b) * earlier + (1.0 - c) * (1.0 - b) * later;
    [arrive, leave].map(|slope| 0.5 * (1.0 - t) * slope * scale)
}
