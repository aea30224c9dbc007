//! The rate at which a file counts frames.

use crate::contents::Clip;

/// The rates that have a number of their own.
const MODES: [(f64, i32); 13] = [
    (24.0, 11),
    (25.0, 10),
    (30.0, 6),
    (48.0, 5),
    (50.0, 4),
    (60.0, 3),
    (72.0, 16),
    (96.0, 15),
    (100.0, 2),
    (120.0, 1),
    (1000.0, 12),
    (24.0 / 1.001, 13),
    (30.0 / 1.001, 9),
];

/// The number of a rate that is stated beside it.
const CUSTOM: i32 = 14;

/// A key is on a frame if it is this close to it, in frames.
const ON_FRAME: f64 = 1e-3;

/// The number of a rate.
pub(super) fn mode(rate: f64) -> i32 {
    MODES.iter().find(|(own, _)| (own - rate).abs() <= 1e-6 * own).map_or(CUSTOM, |(_, mode)| *mode)
}

/// The lowest of the common rates at which all keys of the clips are on frames; 30 if there is none.
pub(super) fn of(clips: &[&Clip]) -> f64 {
    let fits = |rate: &f64| {
        let times = clips.iter().flat_map(|clip| clip.key_times.iter().chain([&clip.duration]));
        times.into_iter().all(|time| (time * rate - (time * rate).round()).abs() <= ON_FRAME)
    };
    let whole = clips.iter().any(|clip| clip.key_times.len() > 1);
    let found = MODES.iter().map(|(rate, _)| *rate).filter(|_| whole).find(fits);
    found.unwrap_or(30.0)
}
