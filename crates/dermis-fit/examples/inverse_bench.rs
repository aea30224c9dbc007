//! What `cargo xtask bench inverse` runs: deformers of an arm inverted by both methods, one JSON object per line.
//!
//! Targets are what the deformer makes of rest points moved by up to 3 % of the diagonal, so an inverse exists everywhere.

use dermis_deform::{Deform, DualQuaternions, Lattice, Layer, Outside, Stack, Wire, Wires};
use dermis_fit::inverse::{InverseMethod, InverseSettings, invert};
use dermis_rig::glam::DVec3;
use dermis_testkit::{Arm, ArmPose, Random};
use std::time::Instant;

/// Planted displacements at most, in rest diagonals.
const PLANTED: f64 = 0.03;

fn main() {
    for (rings, sides) in [(32, 31), (400, 250)] {
        let arm = Arm::new(rings, sides);
        let skin = || Layer::Lbs(arm.weights().clone());
        let dqs = Layer::Dqs(arm.weights().clone(), DualQuaternions::new(arm.rig.skeleton()));
        let box_around = || Layer::Lattice(lattice(&arm));
        run("LBS", &arm, vec![skin()]);
        run("DQS", &arm, vec![dqs]);
        run("lattice", &arm, vec![box_around()]);
        run("LBS after lattice", &arm, vec![box_around(), skin()]);
        run("wires", &arm, vec![Layer::Wires(wires(&arm))]);
    }
}

/// A box around the arm whose control points moved by up to 6 % of the diagonal.
fn lattice(arm: &Arm) -> Lattice {
    let positions = &arm.rig.mesh().positions;
    let low = positions.iter().fold(DVec3::INFINITY, |low, p| low.min(*p)) - DVec3::splat(0.15);
    let high = positions.iter().fold(DVec3::NEG_INFINITY, |high, p| high.max(*p)) + DVec3::splat(0.15);
    let mut random = Random::new(11);
    let moved = (0..36).map(|_| random.direction() * random.between(0.0, 0.06 * arm.length())).collect();
    let edges = DVec3::AXES.map(|axis| axis * (high - low).dot(axis));
    let mut lattice = Lattice::new(low, edges, [4, 3, 3], moved).expect("the box has an inside");
    lattice.outside = Outside::Clamped;
    lattice
}

/// Two wires along the arm that bend.
fn wires(arm: &Arm) -> Wires {
    let wire = |z: f64, bend: f64| {
        let reference: Vec<DVec3> = (0..=12).map(|i| DVec3::new(-0.25 + 0.08 * f64::from(i), 0.0, z)).collect();
        let current = reference.iter().map(|p| *p + DVec3::Y * (bend * (3.0 * p.x).sin())).collect();
        Wire::new(reference, current, 0.15 * arm.length(), 1.1).expect("the curves have directions")
    };
    Wires::new(vec![wire(0.05, 0.1), wire(-0.05, -0.05)], 1.0).expect("an exponent of one")
}

fn run(name: &str, arm: &Arm, layers: Vec<Layer>) {
    let rest = &arm.rig.mesh().positions;
    let stack = Stack::new(layers, rest.len(), arm.rig.skeleton().len()).expect("layers of this arm");
    let mut random = Random::new(5);
    let pose = ArmPose { elbow: 1.2, twist: 0.6, ..ArmPose::random(&mut random) };
    let transforms = arm.transforms(&pose);
    let mut deformer = stack.posed(&transforms);
    let planted: Vec<DVec3> =
        rest.iter().map(|p| *p + random.direction() * random.between(0.0, PLANTED * arm.length())).collect();
    let mut target = vec![DVec3::ZERO; rest.len()];
    let Ok(()) = deformer.deform(&planted, &mut target);
    for (label, method) in
        [("Gauss-Newton", InverseMethod::GaussNewton), ("direction sets", InverseMethod::DirectionSet)]
    {
        let settings = InverseSettings { method, ..InverseSettings::new(arm.length()) };
        let clock = Instant::now();
        match invert(&mut deformer, rest, &target, &settings) {
            Ok(found) => println!(
                "{{\"deformer\": \"{name}\", \"method\": \"{label}\", \"vertices\": {}, \"calls\": {}, \"measuring\": {}, \
                 \"largest_residual\": {:e}, \"unresolved\": {}, \"damped\": {}, \"seconds\": {:.4}}}",
                rest.len(),
                found.calls.all(),
                found.calls.measuring,
                found.largest_residual() / arm.length(),
                found.unresolved as f64 / rest.len() as f64,
                found.damped,
                clock.elapsed().as_secs_f64(),
            ),
            Err(error) => println!("{{\"deformer\": \"{name}\", \"method\": \"{label}\", \"error\": \"{error}\"}}"),
        }
    }
}
