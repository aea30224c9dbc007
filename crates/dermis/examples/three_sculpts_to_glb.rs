//! I have three sculpts: how do they get into an engine?
//!
//! Three poses of the bundled body serve as sculpts. They become a pose space that meets them, and a GLB with morph targets
//! that the bones drive.
//!
//! `cargo run --release -p dermis --example three_sculpts_to_glb`

use dermis::internals::files::output::{Existing, reserve_file};
use dermis::internals::fitting::method::{PoseSpaceSettings, PsdMethod};
use dermis::internals::fitting::silent;
use dermis::internals::workflow::verbs::export::drivers::{self, MorphNormals, export_pose_space};
use dermis::{Examples, Method, Rig};

/// Prints how close the sculpts are met, and what the GLB costs.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rig, exercise, _, _) = dermis::internals::workflow::verbs::demo::body()?;
    let rig = Rig::from(rig);
    let wanted = ["elbow left", "knee up left", "arm up left"];
    let of = |part: &&str| exercise.examples().iter().position(|e| e.label.contains(*part));
    let chosen: Vec<usize> = wanted.iter().filter_map(of).collect();
    let sculpts = Examples::from(exercise.subset(&chosen));

    let pose_space = PoseSpaceSettings { smoothing: Some(0.0), sparse: true, ..PoseSpaceSettings::default() };
    let fitted = dermis::fit(&rig, &sculpts, &Method::Psd(PsdMethod { pose_space, ..PsdMethod::default() }))?;
    let score = fitted.model().score(&sculpts)?;
    println!("{} sculpts met within {:.2} mm rms", sculpts.len(), 1e3 * score.error.rms);

    let folder = std::env::temp_dir().join(format!("dermis-sculpts-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (glb, table) = (folder.join("body.glb"), folder.join("body.json"));
    let glb_and_table = (reserve_file(&glb, Existing::Replace)?, reserve_file(&table, Existing::Replace)?);
    let outputs = (&glb_and_table.0, Some(&glb_and_table.1), &Default::default());
    let settings = drivers::PoseSpaceSettings { shapes: Some(16), kernels: None, influences: Some(4) };
    let made = export_pose_space(fitted.model().as_file(), None, settings, MorphNormals::Written, outputs, &silent)?;
    println!("{} bytes of GLB; the table is {} bytes", made.bytes, std::fs::metadata(&table)?.len());
    std::fs::remove_dir_all(&folder)?;
    assert!(sculpts.len() == 3 && score.baseline.is_some_and(|own| score.error.rms < 0.1 * own.rms));
    Ok(())
}
