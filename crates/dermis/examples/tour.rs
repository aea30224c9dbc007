//! What does embedding Dermis take? Learn the bundled body, score it on a walk it never saw, store it, run it.
//!
//! `cargo run --release -p dermis --example tour`

use dermis::glam::DQuat;
use dermis::{Examples, Method, Model, Rig};

/// Prints the held-out error and the elbow's skin when it bends.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body");
    let folder = std::env::temp_dir().join(format!("dermis-tour-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let stored = folder.join("body.dermis");

    let rig = Rig::open(format!("{body}/body_exercise.npz"))?;
    let shots = Examples::open(&rig, [format!("{body}/body_exercise.npz").as_str()])?;
    let walk = Examples::open(&rig, [format!("{body}/body_walk.npz").as_str()])?;

    let fitted = dermis::fit(&rig, &shots, &Method::default())?; // the joint model; Method::mwe(), Method::psd(), …
    println!("{}", fitted.report());
    println!("{:.2} mm", 1e3 * fitted.model().score(&walk)?.error.rms);
    fitted.model().save(&stored)?;

    let model = Model::open(&stored)?;
    let mut runner = model.runner(); // owns scratch and output: no allocation per frame
    let pose = model.skeleton().pose().turned("lowerarm_l", DQuat::from_rotation_z(1.2))?;
    let skin = runner.skin(&pose)?; // positions; runner.normals() beside them
    println!("{} vertices", skin.len());

    std::fs::remove_dir_all(&folder)?;
    let (score, report) = (fitted.model().score(&walk)?, fitted.report());
    let own = score.baseline.ok_or("the body has weights of its own")?;
    assert!(score.error.rms < 0.25 * own.rms, "{} against {}", score.error.rms, own.rms);
    assert!(report.ridge.is_some() && report.to_string().starts_with("joint, s = "));
    assert!(runner.normals().iter().all(|n| (n.length() - 1.0).abs() < 1e-5));
    Ok(())
}
