//! I have only a mesh sequence: which bones and weights play it?
//!
//! The frames of the bundled walk, without its skeleton, become thirty rigid bones with four influences a vertex.
//!
//! `cargo run --release -p dermis --example decompose_a_cache`

use dermis::glam::DVec3;
use dermis::internals::fitting::decompose::{DecomposeSettings, Sequence, Task, decompose};
use dermis::internals::fitting::silent;

/// Prints how far the bones and weights are from the frames.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rig, _, walk, _) = dermis::internals::workflow::verbs::demo::body()?;
    let rest = &rig.rig.mesh().positions;
    let frames: Vec<&[DVec3]> = walk.examples().iter().map(|frame| frame.positions.as_slice()).collect();

    let task = Task::Search { bones: 30 };
    let found =
        decompose(&Sequence { rest, frames: &frames, triangles: &[] }, &task, &DecomposeSettings::default(), &silent)?;

    let mut squares = 0.0;
    for (frame, transforms) in frames.iter().zip(&found.transforms) {
        for (v, p) in rest.iter().enumerate() {
            let blended: DVec3 =
                found.weights.of(v).iter().map(|(bone, w)| transforms[*bone].transform_point3(*p) * *w).sum();
            squares += blended.distance_squared(frame[v]);
        }
    }
    let rms = (squares / (frames.len() * rest.len()) as f64).sqrt();
    println!("{} frames by {} bones: {:.2} mm rms", frames.len(), found.transforms[0].len(), 1e3 * rms);
    assert!(rms < 2e-3 && found.weights.largest_count() <= 4);
    Ok(())
}
