//! How fast does a model run in a loop, with normals, and does it stay still in memory?
//!
//! `cargo run --release -p dermis --example game_loop`

use dermis::glam::DQuat;
use dermis::{Method, Rig};
use std::time::Instant;

/// Bends the elbow of the bundled body for a while, and prints vertices per second.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rig, exercise, _, _) = dermis::internals::workflow::verbs::demo::body()?;
    let rig = Rig::from(rig);
    let fitted = dermis::fit(&rig, &exercise.into(), &Method::Dqs)?; // any model runs like this
    let model = fitted.model();

    let mut runner = model.runner();
    let mut pose = model.skeleton().pose();
    let elbow = model.skeleton().find("lowerarm_l").ok_or("the body has an elbow")?;
    let (frames, start, mut travelled) = (60, Instant::now(), 0.0);
    let mut last = runner.skin(&pose)?[0];
    for _ in 0..frames {
        pose.turn(elbow, DQuat::from_rotation_z(0.02));
        let first = runner.skin(&pose)?[0];
        travelled += first.distance(last);
        last = first;
        assert!(runner.normals()[0].is_finite());
    }
    let vertices = (frames * rig.mesh().positions.len()) as f64;
    println!("{:.1} million vertices with normals per second", 1e-6 * vertices / start.elapsed().as_secs_f64());
    println!("the first vertex travelled {travelled:.3} m");
    let short = dermis::internals::rig::BoneTransforms::identity(3);
    assert!(runner.skin(&short).is_err(), "a pose of another skeleton is an error");
    Ok(())
}
