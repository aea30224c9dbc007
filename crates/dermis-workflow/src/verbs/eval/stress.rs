//! A stress test as JSON; [`dermis_measure::stress()`] runs it.

pub use dermis_measure::stress::{Bound, Level, Stress, stress};
use serde_json::{Value, json};

/// The JSON of `eval --stress`; lengths in metres.
pub fn json(stress: &Stress) -> Value {
    let level = |l: &Level| {
        json!({
            "degrees": l.degrees,
            "poses": l.poses,
            "largest": l.largest,
            "largest_at": l.largest_at.map(|(pose, vertex)| json!({"pose": pose, "vertex": vertex})),
            "p99": l.p99,
            "guarded_share": l.held,
            "limited_share": l.limited,
            "largest_excess": l.excess,
            "beyond_bound": l.beyond,
            "not_finite": l.not_finite,
        })
    };
    json!({
        "passed": stress.passed(),
        "verdict": stress.verdict(),
        "bound": match stress.bound {
            Bound::NoCorrection => "no correction",
            Bound::NoGuard => "no guard",
            Bound::Ball => "ball",
        },
        "largest_radius": stress.largest_radius,
        "largest_excess": stress.excess(),
        "joints": stress.joints,
        "seed": stress.seed,
        "levels": stress.levels.iter().map(level).collect::<Vec<_>>(),
    })
}
