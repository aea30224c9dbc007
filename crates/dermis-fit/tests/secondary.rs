//! What becomes of skin that swung while its examples were taken (Wang & Phillips 2002, on secondary animation).

mod bench;

use dermis_deform::{Base, Correction, Deformer};
use dermis_fit::psd::{EXACT, PsdSettings, fit_psd};
use dermis_fit::{MweSettings, Training, fit_mwe, silent};
use dermis_rig::Example;
use dermis_rig::glam::DVec3;
use dermis_testkit::{Arm, ArmPose, rms};

/// Four visits to each of eight bends of the elbow, a fifth of a degree apart, the flesh of the arm swung to a side at
/// each: up, front, down, back, which cancel.
fn visits(arm: &Arm, swing: f64) -> (Vec<Example>, Vec<Vec<DVec3>>) {
    let (mut examples, mut calm) = (Vec::new(), Vec::new());
    for step in 0..8 {
        for (visit, side) in [DVec3::Y, DVec3::Z, DVec3::NEG_Y, DVec3::NEG_Z].into_iter().enumerate() {
            let elbow = 0.25 * f64::from(step) + 0.0035 * visit as f64;
            let transforms = arm.transforms(&ArmPose { elbow, ..ArmPose::REST });
            let still = bench::skinned(&arm.rig, &transforms);
            let positions = still.iter().map(|p| *p + side * swing).collect();
            examples.push(Example {
                label: format!("{step}/{visit}"),
                time: None,
                transforms,
                positions,
                importance: 1.0,
                local: None,
            });
            calm.push(still);
        }
    }
    (examples, calm)
}

#[test]
fn a_ridge_averages_swinging_out_and_exact_interpolation_reproduces_it() {
    let (arm, swing) = (Arm::new(12, 6), 0.02);
    let (examples, calm) = visits(&arm, swing);
    let base = Base::Lbs(arm.weights().clone());
    let training = Training {
        skeleton: arm.rig.skeleton(),
        rest: &arm.rig.mesh().positions,
        length: arm.length(),
        examples: &examples,
        base: (&calm).into(),
    };
    let maps = arm.weights();
    let away = |correction: Correction| {
        let rest = arm.rig.mesh().positions.clone();
        let mut deformer = Deformer::new(rest, base.clone(), Some(correction)).unwrap();
        let skins: Vec<_> = examples
            .iter()
            .map(|e| {
                let mut out = vec![DVec3::ZERO; e.positions.len()];
                deformer.evaluate(&e.transforms, None, &mut out).unwrap();
                out
            })
            .collect();
        rms(&skins, &calm)
    };
    let mwe = fit_mwe(&training, maps, &MweSettings::for_poses(examples.len(), false), &silent).unwrap();
    let enveloping = away(mwe.correction.into());
    assert!(enveloping < 0.1 * swing, "multi-weight enveloping swings by {enveloping}");
    let mut settings = PsdSettings::new(false);
    (settings.smoothing, settings.duplicates, settings.guard) = (Some(EXACT), -1.0, false);
    let psd = fit_psd(&training, &base, std::slice::from_ref(maps), &settings, &silent).unwrap();
    let interpolated = away(psd.correction.into());
    // Vertices that no joint of the pose space moves have none to swing with.
    assert!(interpolated > 0.5 * swing, "pose-space deformation swings by {interpolated}");
}
