//! What a prior is worth to a character with few poses, and whether it ever hurts.
//!
//! `cargo xtask bench prior EXAMPLES HOLD_OUT [EXAMPLES HOLD_OUT ...] [--draws N]` runs this. The prior is the joint model of the bundled
//! body in `assets/body`. Poses are drawn at random from each set of examples. Prints a JSON object a row.

use dermis_deform::RiggedDeformer;
use dermis_fit::method::{FitInput, Method};
use dermis_fit::silent;
use dermis_rig::{BoneTransforms, Example, ExampleSet};
use dermis_solve::Random;
use dermis_workflow::load::{FileNote, LoadedRig, ReadOptions, load_examples, load_rig};
use dermis_workflow::measure::measure;
use dermis_workflow::verbs::fit::{Fitted, fit};
use dermis_workflow::verbs::transfer::carried_prior;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Numbers of poses that are drawn.
const POSES: [usize; 4] = [8, 16, 24, 48];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (draws, files) = match arguments.iter().position(|a| a == "--draws") {
        Some(at) => (arguments.get(at + 1).and_then(|n| n.parse().ok()).unwrap_or(10), &arguments[..at]),
        None => (10, &arguments[..]),
    };
    let run = || -> Result<(), String> {
        let body = body()?;
        files.chunks_exact(2).try_for_each(|pair| set(&body, Path::new(&pair[0]), Path::new(&pair[1]), draws))
    };
    if let Err(error) = run() {
        println!("{}", json!({"error": error}));
    }
}

fn examples(rig: &LoadedRig, path: &Path) -> Result<ExampleSet, String> {
    let source = path.to_path_buf().into();
    let read = load_examples(&rig.rig, &rig.space, &[source], &ReadOptions::default(), "examples");
    Ok(read.map_err(|e| e.to_string())?.0)
}

/// The joint model of the bundled body.
fn body() -> Result<Fitted, String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../assets/body/body_exercise.npz");
    let rig = load_rig(&path).map_err(|e| e.to_string())?;
    fitted(&rig, &examples(&rig, &path)?, None)
}

fn fitted(rig: &LoadedRig, set: &ExampleSet, prior: Option<&RiggedDeformer>) -> Result<Fitted, String> {
    let input = FitInput { prior, ..FitInput::new(&rig.rig, set) };
    fit(rig, &input, &Method::joint(), &silent).map_err(|e| e.to_string())
}

/// One character.
fn set(body: &Fitted, train: &Path, unseen: &Path, draws: usize) -> Result<(), String> {
    let name = train.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let rig = load_rig(train).map_err(|e| e.to_string())?;
    let (all, unseen) = (examples(&rig, train)?, examples(&rig, unseen)?);
    let prior = carried_prior(body.model.clone(), FileNote::default(), &rig).map_err(|e| e.to_string())?;
    let off = |fitted: &Fitted| -> Result<f64, String> {
        Ok(measure(&fitted.model, &unseen, None).map_err(|e| e.to_string())?.model.error.rms)
    };
    for poses in POSES.into_iter().filter(|poses| *poses < all.len()) {
        let (mut taken, mut ratios, mut sums) = (0, vec![], [0.0; 3]);
        for draw in 0..draws {
            let few = drawn(&all, poses, draw as u64);
            let (with, without) = (fitted(&rig, &few, Some(&prior))?, fitted(&rig, &few, None)?);
            taken += usize::from(with.report.prior.is_some_and(|found| found.taken));
            let gain = with.report.prior.map_or(0.0, |found| found.gain);
            let alone = prior.baked().widened().map_err(|e| e.to_string())?.with_gain(gain).ok_or("no gain")?;
            let errors = [off(&with)?, off(&without)?, rms(&alone.bake(), &unseen)?];
            ratios.push(errors[0] / errors[1]);
            sums.iter_mut().zip(errors).for_each(|(sum, e)| *sum += e.ln());
        }
        let [with, without, alone] = sums.map(|sum| 1e3 * (sum / draws as f64).exp());
        let worst = ratios.iter().fold(0.0, |a: f64, b| a.max(*b));
        println!(
            "{}",
            json!({"table": "prior", "set": name, "poses": poses, "draws": draws, "taken": taken, "with": with, "without": without,
                "alone": alone, "ratio": with / without, "worst": worst})
        );
    }
    Ok(())
}

/// Some of the poses, at random.
fn drawn(all: &ExampleSet, poses: usize, seed: u64) -> ExampleSet {
    let mut places = Random::seeded(seed).order(all.len());
    places.truncate(poses);
    places.sort_unstable();
    all.subset(&places)
}

/// What a model leaves, metres.
fn rms(model: &dermis_deform::Baked, unseen: &ExampleSet) -> Result<f64, String> {
    let mut runner = model.runner();
    let mut square = |(transforms, example): (&BoneTransforms, &Example)| -> Result<f64, String> {
        let skin = runner.skin(transforms).map_err(|e| e.to_string())?;
        Ok(skin.iter().zip(&example.positions).map(|(p, x)| p.as_dvec3().distance_squared(*x)).sum())
    };
    let squares: Vec<f64> = unseen.examples().iter().map(|e| square((&e.transforms, e))).collect::<Result<_, _>>()?;
    Ok((squares.iter().sum::<f64>() / (unseen.len() * model.vertices()) as f64).sqrt())
}
