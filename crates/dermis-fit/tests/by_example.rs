//! Shapes by example: cardinal weights over poses and adjectives.

mod bench;

use bench::{Bench, skinned};
use dermis_deform::pose_space::{CompiledShapes, Coordinates, Family};
use dermis_deform::{Base, Deform, Deformer, Lattice, Layer, Outside, Stack};
use dermis_fit::method::{BaseChoice, FitInput, Method, ShapeByExampleMethod};
use dermis_fit::psd::by_example::{ByExampleReport, fit_by_example};
use dermis_fit::psd::{ChannelSetting, EXACT, PsdSettings};
use dermis_fit::silent;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, ExampleSet};
use dermis_testkit::{Arm, ArmPose, Random, largest_distance, moved, noisy, some_motion};

/// Elbow, radians, and how muscular.
type At = (f64, f64);

const GRID: [At; 7] = [(0.6, 0.0), (1.3, 0.0), (2.0, 0.0), (0.0, 1.0), (0.6, 1.0), (1.3, 1.0), (2.0, 1.0)];

/// The space of the tests has two numbers: the angle itself, and the adjective with a scale of one.
fn settings() -> PsdSettings {
    PsdSettings {
        coordinates: Coordinates::RotationVector,
        channels: vec![ChannelSetting { name: "muscular".into(), scale: Some(1.0) }],
        smoothing: Some(EXACT),
        family: Some(Family::Gaussian),
        sigma: Some(0.9),
        guard: false,
        ..PsdSettings::new(false)
    }
}

fn pose(arm: &Arm, (elbow, muscular): At) -> BoneTransforms {
    arm.transforms(&ArmPose { elbow, ..ArmPose::REST }).with_channels(vec![("muscular".into(), muscular)])
}

/// Displacements of every vertex, before linear blending.
fn examples(arm: &Arm, places: &[At], planted: impl Fn(DVec3, At) -> DVec3) -> Vec<Example> {
    let rest = &arm.rig.mesh().positions;
    let one = |at: &At| {
        let points: Vec<DVec3> = rest.iter().map(|p| *p + planted(*p, *at)).collect();
        let (transforms, mut positions) = (pose(arm, *at), vec![DVec3::ZERO; points.len()]);
        dermis_deform::lbs(&points, arm.weights(), &transforms, &mut positions);
        Example { label: format!("{at:?}"), time: None, transforms, positions, importance: 1.0, local: None }
    };
    places.iter().map(one).collect()
}

/// Nothing simple: zero at the bind pose.
fn bulge(p: DVec3, (elbow, muscular): At) -> DVec3 {
    let wave = DVec3::new((3.0 * p.x).sin(), (2.0 * p.y + 1.0).cos(), (p.x + p.z).sin());
    wave * 0.02 * (elbow * elbow + (1.0 + elbow) * muscular)
}

fn lbs(arm: &Arm) -> Base {
    Base::Lbs(arm.weights().clone())
}

fn fit(arm: &Arm, examples: Vec<Example>, settings: &PsdSettings) -> (CompiledShapes, ByExampleReport) {
    let bench = Bench::new(&arm.rig, examples);
    fit_by_example(&bench.training(), &lbs(arm), &bench.maps, settings, Some(1e-20), &silent).unwrap()
}

/// The same with the linear part that the fit chooses.
fn fit_chosen(arm: &Arm, examples: Vec<Example>, settings: &PsdSettings) -> (CompiledShapes, ByExampleReport) {
    let bench = Bench::new(&arm.rig, examples);
    fit_by_example(&bench.training(), &lbs(arm), &bench.maps, settings, None, &silent).unwrap()
}

fn skin(arm: &Arm, shapes: &CompiledShapes, pose: &BoneTransforms) -> Vec<DVec3> {
    let rest = arm.rig.mesh().positions.clone();
    let mut out = vec![DVec3::NAN; rest.len()];
    Deformer::new(rest, lbs(arm), Some(shapes.clone().into())).unwrap().evaluate(pose, None, &mut out).unwrap();
    out
}

/// The solution of a small system by elimination with pivots.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in (0..n).filter(|i| *i != k) {
            let factor = a[i][k] / a[k][k];
            let (own, from): (Vec<f64>, Vec<f64>) = (a[k].clone(), b[k].clone());
            a[i].iter_mut().zip(&own).for_each(|(x, y)| *x -= factor * y);
            b[i].iter_mut().zip(&from).for_each(|(x, y)| *x -= factor * y);
        }
    }
    (0..n).map(|k| b[k].iter().map(|x| x / a[k][k]).collect()).collect()
}

#[test]
fn weights_are_one_in_their_own_place_and_zero_in_the_others() {
    let arm = Arm::new(9, 6);
    let made = examples(&arm, &GRID, bulge);
    for (family, sigma) in [
        (Family::Gaussian, Some(0.9)),
        (Family::Gaussian, Some(3.0)),
        (Family::Wendland, Some(4.0)),
        (Family::Polyharmonic, None),
    ] {
        let (shapes, report) = fit(&arm, made.clone(), &PsdSettings { family: Some(family), sigma, ..settings() });
        for (f, at) in GRID.iter().enumerate() {
            for (e, w) in shapes.weights_in(&pose(&arm, *at)).into_iter().enumerate() {
                let delta = if e == f { 1.0 } else { 0.0 };
                assert!((w - delta).abs() < 1e-9, "{family:?} {sigma:?}: {e} at {at:?} is {w}");
            }
        }
        assert!(report.off_cardinal < 1e-9 && report.left < 1e-9 * arm.length(), "{report:?}");
        // A shape per example, with its name.
        assert_eq!(shapes.names, made.iter().map(|e| e.label.clone()).collect::<Vec<_>>());
        for example in &made {
            let off = largest_distance(&skin(&arm, &shapes, &example.transforms), &example.positions);
            assert!(off < 1e-9 * arm.length(), "{family:?}, {}: {off:e}", example.label);
        }
        // The bind pose, without adjectives, to the last bit.
        let bind = pose(&arm, (0.0, 0.0));
        assert!(shapes.weights_in(&bind).iter().all(|w| *w == 0.0));
        assert_eq!(skin(&arm, &shapes, &bind), skinned(&arm.rig, &bind));
    }
}

/// Oracle: normal equations and elimination, with kernels written out; no code shared with the fit.
#[test]
fn weights_are_those_of_least_squares_and_elimination() {
    let arm = Arm::new(9, 6);
    for (sigma, rho) in [(0.9, EXACT), (0.9, 1e-2), (1.7, 0.3)] {
        let settings = PsdSettings { sigma: Some(sigma), smoothing: Some(rho), ..settings() };
        let (shapes, _) = fit(&arm, examples(&arm, &GRID, bulge), &settings);
        let phi = |a: At, b: At| (-((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)) / (sigma * sigma)).exp();
        let origin = (0.0, 0.0);
        let k = |a: At, b: At| phi(a, b) - phi(a, origin) * phi(origin, b);
        let n = GRID.len();
        let dot = |f: fn(&At) -> f64, g: fn(&At) -> f64| GRID.iter().map(|x| f(x) * g(x)).sum::<f64>();
        let (first, second): (fn(&At) -> f64, fn(&At) -> f64) = (|x| x.0, |x| x.1);
        let normal = vec![vec![dot(first, first), dot(first, second)], vec![dot(second, first), dot(second, second)]];
        let a = solve(normal, vec![GRID.iter().map(|x| x.0).collect(), GRID.iter().map(|x| x.1).collect()]);
        let left = (0..n)
            .map(|i| (0..n).map(|e| f64::from(u8::from(i == e)) - GRID[i].0 * a[0][e] - GRID[i].1 * a[1][e]).collect());
        let exact = if rho == EXACT { 0.0 } else { rho };
        let kernel = (0..n).map(|i| (0..n).map(|j| k(GRID[i], GRID[j]) + if i == j { exact } else { 0.0 }).collect());
        let r = solve(kernel.collect(), left.collect());
        let mut random = Random::new(5);
        for _ in 0..20 {
            let at = (random.between(-0.5, 2.6), random.between(-1.0, 2.0));
            for (e, w) in shapes.weights_in(&pose(&arm, at)).into_iter().enumerate() {
                let radial: f64 = (0..n).map(|j| r[j][e] * k(at, GRID[j])).sum();
                let wanted = a[0][e] * at.0 + a[1][e] * at.1 + radial;
                // The worst condition of K is about 1e4.
                assert!((w - wanted).abs() < 1e-9, "{sigma} {rho}, {at:?}: {e} is {w} for {wanted}");
            }
        }
    }
}

/// Planted: what is linear in angle and adjective over the examples is linear far from them.
#[test]
fn a_linear_map_is_continued_beyond_the_examples() {
    let arm = Arm::new(9, 6);
    let linear = |p: DVec3, (elbow, muscular): At| {
        DVec3::new(0.0, 0.01 + 0.02 * p.x, 0.03) * elbow + DVec3::new(0.02, 0.0, 0.01 - 0.02 * p.y) * muscular
    };
    let far = [(2.9, 3.0), (-1.0, -2.0), (0.3, 20.0), (1.0, 0.5)];
    let (shapes, _) = fit(&arm, examples(&arm, &GRID, linear), &settings());
    for wanted in examples(&arm, &far, linear) {
        let off = largest_distance(&skin(&arm, &shapes, &wanted.transforms), &wanted.positions);
        assert!(off < 1e-8, "{}: {off:e}", wanted.label);
    }
    // The weights of the examples and of the bind pose sum to one: what is left is that of the bind pose.
    let constant =
        |_: DVec3, (elbow, muscular): At| if (elbow, muscular) == (0.0, 0.0) { DVec3::ZERO } else { DVec3::Z };
    let (shapes, _) = fit(&arm, examples(&arm, &GRID, constant), &settings());
    let of = |at: At| shapes.weights_in(&pose(&arm, at)).iter().sum::<f64>();
    assert!(GRID.iter().all(|at| (of(*at) - 1.0).abs() < 1e-9) && of((0.0, 0.0)) == 0.0);
    // With the guard an adjective counts up to 1.25 times its largest value.
    let guarded = PsdSettings { guard: true, ..settings() };
    let (shapes, _) = fit(&arm, examples(&arm, &GRID, linear), &guarded);
    for (muscular, counts) in [(1.2, 1.2), (1.25, 1.25), (9.0, 1.25)] {
        let wanted = &examples(&arm, &[(1.0, counts)], linear)[0].positions;
        let off = largest_distance(&skin(&arm, &shapes, &pose(&arm, (1.0, muscular))), wanted);
        assert!(off < 1e-8, "{muscular}: {off:e}");
    }
}

/// The fit keeps a linear part that predicts, and leaves one that continues noise to the radial functions.
#[test]
fn the_linear_part_is_chosen_by_what_it_predicts() {
    let arm = Arm::new(9, 6);
    let linear = |p: DVec3, (elbow, muscular): At| DVec3::new(0.0, 0.01 + 0.02 * p.x, 0.03) * (elbow + 2.0 * muscular);
    let (shapes, report) = fit_chosen(&arm, examples(&arm, &GRID, linear), &settings());
    assert_eq!(report.coordinates, (4, 2, 2));
    let far = &examples(&arm, &[(2.5, 2.0)], linear)[0];
    assert!(largest_distance(&skin(&arm, &shapes, &far.transforms), &far.positions) < 1e-8);
    // Every pose beside a tiny turn of the wrist, about which nothing of the shapes tells.
    let mut random = Random::new(8);
    let trembling = |elbow: f64, random: &mut Random| {
        let wrist = DVec3::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0), random.between(-1.0, 1.0)) * 0.1;
        arm.transforms(&ArmPose { elbow, wrist, ..ArmPose::REST })
    };
    let angles = [0.5, 1.0, 1.5, 2.0];
    let wave = |p: DVec3, (elbow, _): At| DVec3::new(0.0, (3.0 * p.x).sin(), 0.5) * 0.05 * (1.5 * elbow).sin();
    let places: Vec<At> = angles.iter().map(|&angle| (angle, 0.0)).collect();
    let mut made = examples(&arm, &places, wave);
    for (example, angle) in made.iter_mut().zip(angles) {
        let points: Vec<DVec3> = arm.rig.mesh().positions.iter().map(|p| *p + wave(*p, (angle, 0.0))).collect();
        example.transforms = trembling(angle, &mut random);
        dermis_deform::lbs(&points, arm.weights(), &example.transforms, &mut example.positions);
    }
    let settings = PsdSettings { channels: vec![], sigma: None, ..settings() };
    let (all, _) = fit(&arm, made.clone(), &settings);
    let (chosen, report) = fit_chosen(&arm, made, &settings);
    assert!(report.coordinates.1 == 4 && report.coordinates.2 < 4, "{report:?}");
    let off = |shapes: &CompiledShapes| {
        let mut random = Random::new(9);
        let mut worst = 0.0_f64;
        for angle in [0.75, 1.25, 1.75] {
            let (pose, mut wanted) = (trembling(angle, &mut random), arm.rig.mesh().positions.clone());
            let points: Vec<DVec3> = wanted.iter().map(|p| *p + wave(*p, (angle, 0.0))).collect();
            dermis_deform::lbs(&points, arm.weights(), &pose, &mut wanted);
            worst = worst.max(largest_distance(&skin(&arm, shapes, &pose), &wanted));
        }
        worst
    };
    assert!(off(&chosen) < 0.5 * off(&all), "{} for {}", off(&chosen), off(&all));
}

/// Closed forms: one example has the weight x·x₁/|x₁|²; two have Xᵀ (X Xᵀ)⁻¹ where the space has three numbers.
#[test]
fn an_underdetermined_linear_part_has_the_least_norm() {
    let arm = Arm::new(9, 6);
    let channel = |name: &str| ChannelSetting { name: name.into(), scale: Some(1.0) };
    let settings = PsdSettings { channels: vec![channel("muscular"), channel("age")], ..settings() };
    let with_age =
        |at: At, age: f64| pose(&arm, at).with_channels(vec![("muscular".into(), at.1), ("age".into(), age)]);
    let aged = |places: &[(At, f64)]| -> Vec<Example> {
        let plain: Vec<At> = places.iter().map(|p| p.0).collect();
        let mut made = examples(&arm, &plain, bulge);
        made.iter_mut().zip(places).for_each(|(e, p)| e.transforms = with_age(p.0, p.1));
        made
    };
    let (one, two) = ([1.0, 0.5, 2.0], [0.4, 1.0, -1.0]);
    let place = |x: [f64; 3]| ((x[0], x[1]), x[2]);
    let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let elsewhere = [[0.2, 0.3, 0.4], [1.5, -1.0, 0.0], [0.0, 2.0, 5.0]];
    let (shapes, report) = fit(&arm, aged(&[place(one)]), &settings);
    assert_eq!(report.coordinates, (5, 1, 1));
    for x in elsewhere {
        let w = shapes.weights_in(&with_age((x[0], x[1]), x[2]));
        assert!((w[0] - dot(x, one) / dot(one, one)).abs() < 1e-9, "{x:?}: {w:?}");
    }
    let (shapes, report) = fit(&arm, aged(&[place(one), place(two)]), &settings);
    assert_eq!(report.coordinates.1, 2);
    let (a, b, c) = (dot(one, one), dot(one, two), dot(two, two));
    let determinant = a * c - b * b;
    for x in elsewhere {
        let (p, q) = (dot(x, one), dot(x, two));
        let wanted = [(c * p - b * q) / determinant, (a * q - b * p) / determinant];
        let w = shapes.weights_in(&with_age((x[0], x[1]), x[2]));
        assert!((w[0] - wanted[0]).abs() < 1e-9 && (w[1] - wanted[1]).abs() < 1e-9, "{x:?}: {w:?}");
    }
}

/// What is met is met with the width that the fit chooses, also where examples lie near each other.
#[test]
fn a_chosen_width_meets_the_examples() {
    let arm = Arm::new(9, 6);
    let sought = PsdSettings { sigma: None, family: None, ..settings() };
    for near in [0.1, 1e-3, 1e-5] {
        let places: Vec<At> = GRID.into_iter().chain([(0.6 + near, 0.0)]).collect();
        // Shapes of near places are near each other.
        let (shapes, report) = fit(&arm, examples(&arm, &places, bulge), &sought);
        assert_eq!(shapes.count(), places.len());
        assert!(report.left < 1e-6 * arm.length(), "{near}: {report:?}");
        if near > 1e-3 {
            assert!(report.off_cardinal < 1e-9 && !report.raised, "{near}: {report:?}");
        }
    }
}

#[test]
fn examples_in_one_place_are_one_shape_their_mean() {
    let arm = Arm::new(9, 6);
    let mut made = examples(&arm, &GRID, bulge);
    let twice = examples(&arm, &GRID[2..3], |p, at| bulge(p, at) * 3.0).remove(0);
    made.push(Example { label: "again".into(), ..twice });
    made.push(Example { label: "at rest".into(), ..examples(&arm, &[(0.0, 0.0)], bulge).remove(0) });
    let (shapes, report) = fit(&arm, made, &settings());
    assert_eq!(shapes.count(), GRID.len());
    assert_eq!(
        (report.shapes[2].merged.as_slice(), report.at_bind.as_slice()),
        (["again".to_owned()].as_slice(), ["at rest".to_owned()].as_slice())
    );
    let mean = &examples(&arm, &GRID[2..3], |p, at| bulge(p, at) * 2.0)[0];
    assert!(largest_distance(&skin(&arm, &shapes, &mean.transforms), &mean.positions) < 1e-9);
}

/// Without the examples of an adjective, the model is that of the poses alone.
#[test]
fn without_its_examples_an_adjective_says_nothing() {
    let arm = Arm::new(9, 6);
    let (with, _) = fit(&arm, examples(&arm, &GRID[..3], bulge), &settings());
    let (without, _) = fit(&arm, examples(&arm, &GRID[..3], bulge), &PsdSettings { channels: vec![], ..settings() });
    for elbow in [-0.5, 0.3, 1.0, 2.5] {
        assert_eq!(with.weights_in(&pose(&arm, (elbow, 0.7))), without.weights_in(&pose(&arm, (elbow, 0.0))));
    }
    // With them, the pose alone does not say how muscular a skin is.
    let (all, _) = fit(&arm, examples(&arm, &GRID, bulge), &settings());
    let [lean, muscular] = [0.0, 1.0].map(|m| skin(&arm, &all, &pose(&arm, (1.0, m))));
    assert!(largest_distance(&lean, &muscular) > 0.02);
}

/// The skin moves with the character, and a character that was fitted elsewhere has the same weights.
#[test]
fn a_rigid_motion_of_the_whole_changes_nothing() {
    let arm = Arm::new(9, 6);
    let g = some_motion(1.1, DVec3::new(0.4, -2.0, 0.7));
    let made = examples(&arm, &GRID, bulge);
    let (shapes, _) = fit(&arm, made.clone(), &settings());
    let with_channels = |e: &Example| {
        let channels = e.transforms.channels().to_vec();
        let mut there = moved(e, g);
        there.transforms = there.transforms.with_channels(channels);
        there
    };
    let (elsewhere, _) = fit(&arm, made.iter().map(with_channels).collect(), &settings());
    for at in [(0.3, 0.2), (1.7, 0.9), (2.4, -0.5)] {
        let here = Example { positions: vec![], ..examples(&arm, &[at], bulge).remove(0) };
        let expected: Vec<DVec3> =
            skin(&arm, &shapes, &here.transforms).iter().map(|p| g.transform_point3(*p)).collect();
        let there = with_channels(&here).transforms;
        for model in [&shapes, &elsewhere] {
            assert!(largest_distance(&skin(&arm, model, &there), &expected) < 1e-9, "{at:?}");
        }
    }
}

/// Through a lattice, which is not affine, before the skinning and after it.
#[test]
fn examples_are_met_through_a_stack() {
    let arm = Arm::new(9, 6);
    let mut random = Random::new(11);
    let mut lattice = || {
        let moves = (0..27).map(|_| random.direction() * 0.05).collect();
        let mut made = Lattice::new(DVec3::splat(-2.0), DVec3::AXES.map(|axis| axis * 4.0), [3; 3], moves).unwrap();
        made.outside = Outside::Clamped;
        Layer::Lattice(made)
    };
    let layers = vec![lattice(), Layer::Lbs(arm.weights().clone()), lattice()];
    let stack = Stack::new(layers, arm.rig.mesh().positions.len(), 4).unwrap();
    // No pose in which linear blending is nearly singular.
    let mut made = examples(&arm, &GRID, bulge);
    for (example, at) in made.iter_mut().zip(GRID) {
        let points: Vec<DVec3> = arm.rig.mesh().positions.iter().map(|p| *p + bulge(*p, at)).collect();
        let Ok(()) = stack.posed(&example.transforms).deform(&points, &mut example.positions);
    }
    let set = ExampleSet::new("sculpts".into(), made.clone(), &arm.rig).unwrap();
    let method = Method::ShapeByExample(ShapeByExampleMethod {
        base: BaseChoice::Stack,
        channels: settings().channels,
        smoothing: Some(0.0),
        ..ShapeByExampleMethod::default()
    });
    let learnt = method.fit(&FitInput { stack: Some(&stack), ..FitInput::new(&arm.rig, &set) }, &silent).unwrap();
    let (mut deformer, mut out) = (learnt.deformer.clone(), vec![DVec3::NAN; arm.rig.mesh().positions.len()]);
    for example in &made {
        deformer.evaluate(&example.transforms, None, &mut out).unwrap();
        let off = largest_distance(&out, &example.positions);
        // The search of the inverse ends within 1e-11 of the diagonal.
        assert!(off < 1e-9 * arm.length(), "{}: {off:e}", example.label);
    }
}

/// Oracle: the model fitted again without each example, in its place.
#[test]
fn the_held_out_error_is_that_of_fitting_again() {
    let arm = Arm::new(9, 6);
    let made = noisy(&examples(&arm, &GRID, bulge), 2e-3, 3);
    let made: Vec<Example> =
        (made.into_iter().zip(GRID)).map(|(example, at)| Example { transforms: pose(&arm, at), ..example }).collect();
    let (whole, _) = fit(&arm, made.clone(), &settings());
    let grid = vec![1e-4, 1e-2];
    let sought = PsdSettings { smoothing: None, grid: grid.clone(), ..settings() };
    let (_, report) = fit(&arm, made.clone(), &sought);
    let vertices = arm.rig.mesh().positions.len();
    for (point, rho) in report.sweep.iter().zip(grid) {
        let mut sum = 0.0;
        for s in 0..made.len() {
            let mut others = made.clone();
            others.remove(s);
            let (model, _) = fit(&arm, others, &PsdSettings { smoothing: Some(rho), ..settings() });
            let own = whole.weights_in(&made[s].transforms);
            let predicted = model.weights_in(&made[s].transforms);
            let left = |v: usize| (whole.displacement(v, &own) - model.displacement(v, &predicted)).length_squared();
            sum += (0..vertices).map(left).sum::<f64>();
        }
        assert!((point.score - sum).abs() < 1e-6 * sum, "{rho}: {} for {sum}", point.score);
    }
}

#[test]
fn threads_and_the_order_of_the_examples_change_nothing() {
    let arm = Arm::new(9, 6);
    let made = examples(&arm, &GRID, bulge);
    let sought = PsdSettings { smoothing: None, sigma: None, family: None, ..settings() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (shapes, report) = pool.install(|| fit(&arm, made.clone(), &sought));
        (shapes.coefficients.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), shapes.displacements, report)
    };
    assert!(run(1) == run(3));
    let backwards: Vec<Example> = made.iter().rev().cloned().collect();
    let ([here, there], at) =
        ([made.clone(), backwards].map(|made| fit(&arm, made, &sought).0), pose(&arm, (0.9, 0.4)));
    assert!(largest_distance(&skin(&arm, &here, &at), &skin(&arm, &there, &at)) < 1e-9);
}
