//! The rate at which a file counts frames.

use crate::contents::Clip;

/// Rates that programs know.
const COMMON: [f64; 13] =
    [24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 96.0, 100.0, 120.0, 1000.0, 24.0 / 1.001, 30.0 / 1.001];

/// A key is on a frame if it is this close to it, in frames.
const ON_FRAME: f64 = 1e-3;

/// The lowest of the common rates at which all keys of the clips are on frames; 30 if there is none.
pub(crate) fn of(clips: &[&Clip]) -> f64 {
    let fits = |rate: &f64| {
        let times = clips.iter().flat_map(|clip| clip.key_times.iter().chain([&clip.duration]));
        times.into_iter().all(|time| (time * rate - (time * rate).round()).abs() <= ON_FRAME)
    };
    let whole = clips.iter().any(|clip| clip.key_times.len() > 1);
    let found = COMMON.into_iter().filter(|_| whole).find(fits);
    found.unwrap_or(30.0)
}
