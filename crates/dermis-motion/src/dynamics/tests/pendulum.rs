//! Pendulums.

use super::*;
use crate::dynamics::Bodies;
use crate::goals::LimitSpec;
use crate::ik::JointLimits;
use dermis_rig::rotation::{quat_from_matrix, rotation_vector};
use std::f64::consts::TAU;

const SIZE: DVec3 = DVec3::new(0.06, 0.8, 0.04);

/// The arithmetic-geometric mean.
fn agm(mut a: f64, mut b: f64) -> f64 {
    for _ in 0..40 {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    a
}

/// The period of a compound pendulum that is let go at an angle: 4 K(sin(θ/2)) √(I/(m g l)), K by the arithmetic-geometric mean.
fn period(amplitude: f64) -> f64 {
    let small = TAU * (about_end(SIZE) / (GRAVITY * 0.5 * SIZE.y)).sqrt();
    small / agm(1.0, (0.5 * amplitude).cos())
}

/// The times at which a pendulum passes its lowest point.
fn passes(angles: &[f64], rate: f64) -> Vec<f64> {
    let mut times = Vec::new();
    for (at, two) in angles.windows(2).enumerate() {
        if two[0] * two[1] < 0.0 && two[0].abs() < 1.5 {
            times.push((at as f64 + two[0] / (two[0] - two[1])) / rate);
        }
    }
    times
}

fn swing(degrees: f64, seconds: f64, rate: f64) -> Vec<f64> {
    let rig = bars(1, SIZE, 0.0);
    let spec = DynamicsSpec { rate, ..dynamics(vec![body(&["bar 0"])]) };
    let scene = scene(seconds, rate, vec![drive("bar 0", Value::Number(degrees), still())], spec);
    of_bone(&play(&scene, &rig).unwrap(), 1).iter().map(angle).collect()
}

/// Oracle: the elliptic integral. A step h changes the frequency ω by (ωh)²/24: 2e-6 for 4.3/s and 1/480 s; more where the pendulum is fast.
#[test]
fn a_pendulum_has_the_period_of_the_elliptic_integral() {
    for (degrees, tolerance) in [(1.0, 1e-5), (30.0, 1e-5), (90.0, 3e-5), (150.0, 1e-4), (175.0, 5e-4)] {
        let angles = swing(degrees, 20.0, 480.0);
        let times = passes(&angles, 480.0);
        let halves = times.len() - 1;
        let found = 2.0 * (times[halves] - times[0]) / halves as f64;
        let expected = period(f64::to_radians(degrees));
        println!("{degrees}°: {found} s for {expected} s, {:.1e}", found / expected - 1.0);
        assert!((found / expected - 1.0).abs() < tolerance, "{degrees}°: {found} for {expected}");
    }
    assert!(period(2.0) > 1.2 * period(0.01), "the amplitude counts");
}

/// Energy per mass of one bar: velocities between two frames, and the height at the middle of them.
fn energies(worlds: &[Vec<DAffine3>], size: DVec3, rate: f64) -> Vec<f64> {
    let frames = worlds[0].len();
    let squares = size * size;
    let inertia = DVec3::new(squares.y + squares.z, squares.x + squares.z, squares.x + squares.y) / 12.0;
    (0..frames - 1)
        .map(|frame| {
            let of_bar = |bar: &Vec<DAffine3>| {
                let middle = |frame: usize| bar[frame].transform_point3(-DVec3::Y * 0.5 * size.y);
                let v = (middle(frame + 1) - middle(frame)) * rate;
                let height = 0.5 * (middle(frame + 1).y + middle(frame).y);
                // In the axes of the bar.
                let turn = bar[frame].matrix3.transpose() * bar[frame + 1].matrix3;
                let w = rotation_vector(quat_from_matrix(&turn)) * rate;
                0.5 * v.length_squared() + 0.5 * (inertia * w).dot(w) + GRAVITY * height
            };
            worlds.iter().map(of_bar).sum::<f64>()
        })
        .collect()
}

/// For two minutes the energy of a pendulum that is let go at 150° stays within a thousandth of what it falls through, and has no trend:
/// the mean of the last period is that of the first to a millionth.
#[test]
fn a_pendulum_keeps_its_energy() {
    let rig = bars(1, SIZE, 0.0);
    let rate = 480.0;
    let drives = vec![drive("bar 0", Value::Number(150.0), still())];
    let mut scene = scene(120.0, rate, drives, dynamics(vec![body(&["bar 0"])]));
    // In a plane: a bar that may leave it does so after a minute.
    scene.limits =
        vec![LimitSpec { bones: "bar 0".into(), limits: JointLimits::hinge(DVec3::Z, [-TAU, TAU]).unwrap() }];
    let energies = energies(&[of_bone(&play(&scene, &rig).unwrap(), 1)], SIZE, rate);
    let falls = GRAVITY * 0.5 * SIZE.y * (1.0 - f64::to_radians(150.0).cos());
    let spread = energies.iter().fold(0f64, |most, e| most.max((e - energies[0]).abs())) / falls;
    let whole = (8.0 * period(f64::to_radians(150.0)) * rate) as usize;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let drift = (mean(&energies[energies.len() - whole..]) - mean(&energies[..whole])) / falls;
    println!("spread {spread:.1e}, drift {drift:.1e}");
    assert!(spread < 2e-3, "{spread}");
    assert!(drift.abs() < 1e-5, "{drift}");
}

/// Three bars that tumble, let go level: a chaotic motion. The solver takes velocity-dependent forces implicitly, so the energy falls, and the
/// more slowly the shorter steps are; it never rises, and joints do not open.
#[test]
fn a_chain_that_tumbles_gains_no_energy() {
    let rig = bars(3, SIZE, 0.0);
    let mut lost = Vec::new();
    for rate in [240.0, 960.0] {
        let spec = DynamicsSpec { rate, ..dynamics(vec![body(&["bar *"])]) };
        let scene = scene(10.0, rate, vec![drive("bar 0", Value::Number(90.0), still())], spec);
        let played = play(&scene, &rig).unwrap();
        let worlds: Vec<_> = (1..4).map(|bone| of_bone(&played, bone)).collect();
        let energies = energies(&worlds, SIZE, rate);
        // From level to hanging: the middles of the bars fall by 1/2, 3/2 and 5/2 of their length.
        let falls = GRAVITY * 4.5 * SIZE.y;
        let gained = energies.iter().fold(0f64, |most, e| most.max(e - energies[0])) / falls;
        lost.push((energies[0] - energies[energies.len() - 1]) / falls);
        println!("{rate} steps: gained {gained:.1e}, lost {:.1e}", lost[lost.len() - 1]);
        assert!(gained < 0.01, "{rate}: {gained}");
        let open = worlds[0].iter().zip(&worlds[1]);
        let open = open.map(|(a, b)| a.transform_point3(-DVec3::Y * SIZE.y).distance(b.translation));
        assert!(open.fold(0.0, f64::max) < 1e-9, "joints do not open");
    }
    assert!(lost[1] < 0.6 * lost[0], "{lost:?}");
}

/// In a car that speeds up, a pendulum swings about the angle whose tangent is a/g, and comes to rest there.
#[test]
fn a_pendulum_feels_how_what_carries_it_is_accelerated() {
    let rig = bars(1, SIZE, 0.0);
    let spec = BodySpec { damping: 3.0, ..body(&["bar 0"]) };
    let push = [text("1.5 * t ^ 2"), Value::Number(0.0), Value::Number(0.0)];
    let drives = vec![drive("root", Value::Number(0.0), push)];
    let scene = scene(8.0, 24.0, drives, dynamics(vec![spec]));
    let angles: Vec<f64> = of_bone(&play(&scene, &rig).unwrap(), 1).iter().map(angle).collect();
    let expected = -(3.0 / GRAVITY).atan();
    let last = angles[angles.len() - 1];
    assert!((last - expected).abs() < 1e-4, "{last} for {expected}");
}

/// On a carousel a bar that hangs on its rim leans outward: g sin θ l = ω² (R l cos θ + (I'/m) sin θ cos θ), with I' = L²/3 − ..., solved by
/// bisection. Its thickness counts in the products of inertia: ∫ r x dm for a bar of square section s is (L²/3 − s²/12) sin θ cos θ.
#[test]
fn a_pendulum_on_a_carousel_leans_outward() {
    let size = DVec3::new(0.05, 0.8, 0.05);
    let (radius, omega) = (1.2, 2.0);
    let mut rig = bars(1, size, 0.0);
    // The root turns about a place 1.2 m beside the bar.
    dermis_testkit::change_rig(&mut rig, |_, skeleton, _| {
        let bind = vec![DAffine3::from_translation(-DVec3::X * radius), skeleton.bind()[BoneIndex::new(1)]];
        *skeleton = Skeleton::new(skeleton.names().to_vec(), skeleton.parents().to_vec(), bind).unwrap();
    });
    let spec = BodySpec { damping: 4.0, ..body(&["bar 0"]) };
    let mut turn = drive("root", Value::Number(0.0), still());
    let degrees = text(&format!("{} * t", f64::to_degrees(omega)));
    turn.turn = Some(Turn::Euler([Value::Number(0.0), degrees, Value::Number(0.0)], EulerOrder::XYZ));
    let scene = scene(8.0, 24.0, vec![turn], dynamics(vec![spec]));
    let worlds = play(&scene, &rig).unwrap();
    let (root, bar) = (of_bone(&worlds, 0), of_bone(&worlds, 1));
    let last = root.len() - 1;
    let down = root[last].matrix3.transpose() * (bar[last].matrix3 * -DVec3::Y);
    let found = down.x.atan2(-down.y);
    let second = size.y * size.y / 3.0 - size.x * size.x / 12.0;
    let (mut low, mut high) = (0.0f64, 1.5f64);
    for _ in 0..60 {
        let a = 0.5 * (low + high);
        let out = omega * omega * (radius * 0.5 * size.y * a.cos() + second * a.sin() * a.cos());
        if out > GRAVITY * 0.5 * size.y * a.sin() { low = a } else { high = a }
    }
    println!("{found} for {low}");
    assert!((found - low).abs() < 1e-3 && down.z.abs() < 1e-3, "{found} for {low}, {down}");
}

/// Closed form: three bars of a density.
#[test]
fn bars_have_their_masses() {
    let rig = bars(3, SIZE, 0.0);
    let bodies = Bodies::new(&dynamics(vec![body(&["bar *"])]), &[], &rig).unwrap();
    let one = 1000.0 * SIZE.x * SIZE.y * SIZE.z;
    for body in &bodies.all {
        assert!((body.mass / one - 1.0).abs() < 1e-12);
    }
    // All three about the first one's end.
    let carried: f64 = [0.5, 1.5, 2.5]
        .iter()
        .map(|at: &f64| one * ((SIZE.x.max(SIZE.z).powi(2) + SIZE.y * SIZE.y) / 12.0 + (at * SIZE.y).powi(2)))
        .sum();
    assert!((bodies.all[0].carried / carried - 1.0).abs() < 1e-12);
}
