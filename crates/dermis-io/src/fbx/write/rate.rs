//! The rate at which a file counts frames.

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

/// The number of a rate.
pub(super) fn mode(rate: f64) -> i32 {
    MODES.iter().find(|(own, _)| (own - rate).abs() <= 1e-6 * own).map_or(CUSTOM, |(_, mode)| *mode)
}
