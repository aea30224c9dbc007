//! Deformers inverted as black boxes.

use dermis_deform::{Base, Deform, DualQuaternions, Lattice, Layer, Outside, Stack, lbs};
use dermis_fit::inverse::{
    Coupled, Dependence, InverseError, InverseMethod, InverseSettings, Stopped, damped_inverse, invert,
};
use dermis_fit::psd::pull_back;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneTransforms, Influences};
use dermis_testkit::{Arm, ArmPose, Random, largest_distance};
use std::convert::Infallible;

/// A bent pose in which no blend is near to collapsing.
fn pose(arm: &Arm) -> BoneTransforms {
    arm.transforms(&ArmPose { elbow: 1.2, twist: 0.6, ..ArmPose::random(&mut Random::new(5)) })
}

fn settings(arm: &Arm, method: InverseMethod) -> InverseSettings {
    InverseSettings { method, ..InverseSettings::new(arm.length()) }
}

fn moved(rest: &[DVec3], most: f64, seed: u64) -> Vec<DVec3> {
    let mut random = Random::new(seed);
    rest.iter().map(|p| *p + random.direction() * random.between(0.0, most)).collect()
}

fn lattice(arm: &Arm) -> Lattice {
    let mut random = Random::new(11);
    let moves = (0..36).map(|_| random.direction() * random.between(0.0, 0.06 * arm.length())).collect();
    let edges = [DVec3::X * 1.4, DVec3::Y * 0.5, DVec3::Z * 0.5];
    let mut lattice = Lattice::new(DVec3::new(-0.45, -0.25, -0.25), edges, [4, 3, 3], moves).unwrap();
    lattice.outside = Outside::Clamped;
    lattice
}

/// p' = (1 − s) p + s times the mean of the neighbours on a closed chain.
fn smoothing(s: f64) -> impl FnMut(&[DVec3], &mut [DVec3]) -> Result<(), Infallible> {
    move |points, out| {
        let n = points.len();
        for v in 0..n {
            out[v] = points[v] * (1.0 - s) + (points[(v + 1) % n] + points[(v + n - 1) % n]) * (0.5 * s);
        }
        Ok(())
    }
}

/// Closed form: LBS and DQS are affine at each vertex, so d = A⁻¹ (t − S(p)).
#[test]
fn closed_form_gauss_newton_and_direction_sets_agree_on_what_is_affine() {
    let arm = Arm::new(20, 12);
    let (rest, transforms) = (&arm.rig.mesh().positions, pose(&arm));
    let blend = DualQuaternions::new(arm.rig.skeleton());
    let both = [
        (Layer::Lbs(arm.weights().clone()), Base::Lbs(arm.weights().clone())),
        (Layer::Dqs(arm.weights().clone(), blend.clone()), Base::Dqs(arm.weights().clone(), blend)),
    ];
    for (layer, mut base) in both {
        let stack = Stack::new(vec![layer], rest.len(), 4).unwrap();
        let mut skin = vec![DVec3::ZERO; rest.len()];
        base.evaluate(rest, &transforms, None, &mut skin);
        let target = moved(&skin, 0.03 * arm.length(), 3);
        let closed: Vec<DVec3> =
            (0..rest.len()).map(|v| pull_back(base.linear(v, rest[v], &transforms), target[v] - skin[v]).0).collect();
        for method in [InverseMethod::GaussNewton, InverseMethod::DirectionSet, InverseMethod::Auto] {
            let found = invert(&mut stack.posed(&transforms), rest, &target, &settings(&arm, method)).unwrap();
            // Residuals of 1e-11 L over singular values of a tenth at least.
            let off = largest_distance(&found.displacements, &closed) / arm.length();
            assert!(off < 1e-10, "{method:?}: {off:e}");
            assert_eq!((found.unresolved, found.damped), (0, 0));
        }
    }
}

/// The number of calls is that of the hardest vertex, and steps reach the planted displacement, on a mesh eight times as
/// fine too. Calls of the reference implementation: Gauss-Newton 13, direction sets 594 and 597.
#[test]
fn planted_displacements_are_found_in_few_calls_whatever_the_number_of_vertices() {
    let mut counts = Vec::new();
    for arm in [Arm::new(16, 12), Arm::new(64, 24)] {
        let (rest, transforms) = (&arm.rig.mesh().positions, pose(&arm));
        for layers in [
            vec![Layer::Lattice(lattice(&arm))],
            vec![Layer::Lattice(lattice(&arm)), Layer::Lbs(arm.weights().clone())],
        ] {
            let stack = Stack::new(layers, rest.len(), 4).unwrap();
            let mut deformer = stack.posed(&transforms);
            let planted = moved(rest, 0.03 * arm.length(), 7);
            let mut target = vec![DVec3::ZERO; rest.len()];
            let Ok(()) = deformer.deform(&planted, &mut target);
            for (method, most) in [(InverseMethod::GaussNewton, 13), (InverseMethod::DirectionSet, 590)] {
                let found = invert(&mut deformer, rest, &target, &settings(&arm, method)).unwrap();
                let made: Vec<DVec3> = rest.iter().zip(&found.displacements).map(|(p, d)| *p + *d).collect();
                assert!(largest_distance(&made, &planted) < 1e-10 * arm.length(), "{method:?}");
                assert!(found.calls.all() <= most, "{method:?}: {:?}", found.calls);
                assert_eq!((found.unresolved, found.probe), (0, Dependence::Independent));
                counts.push((method, found.calls.all()));
            }
        }
    }
    // Not in proportion to the vertices: the slowest of eight times as many needs a step more, or half as many searches again.
    for ((method, few), (_, many)) in counts[..4].iter().zip(&counts[4..]) {
        let most = if *method == InverseMethod::GaussNewton { few + 1 } else { few + few / 2 };
        assert!(*many <= most, "{method:?}: {few}, then {many}");
    }
}

/// A mesh in other units is the same problem.
#[test]
fn lengths_in_other_units_change_nothing_but_lengths() {
    let arm = Arm::new(12, 9);
    let (rest, transforms) = (&arm.rig.mesh().positions, pose(&arm));
    let scaled = |points: &[DVec3]| points.iter().map(|p| *p * 128.0).collect::<Vec<_>>();
    let stack = Stack::new(vec![Layer::Lattice(lattice(&arm))], rest.len(), 4).unwrap();
    let mut large = |points: &[DVec3], out: &mut [DVec3]| {
        let small: Vec<DVec3> = points.iter().map(|p| *p / 128.0).collect();
        stack.posed(&transforms).deform(&small, out)?;
        out.iter_mut().for_each(|p| *p *= 128.0);
        Ok::<(), Infallible>(())
    };
    let target = moved(rest, 0.02, 4);
    let at = |length| InverseSettings { method: InverseMethod::DirectionSet, ..InverseSettings::new(length) };
    let small = invert(&mut stack.posed(&transforms), rest, &target, &at(arm.length())).unwrap();
    let found = invert(&mut large, &scaled(rest), &scaled(&target), &at(128.0 * arm.length())).unwrap();
    assert_eq!(small.calls, found.calls);
    // Powers of two scale without rounding.
    assert_eq!(scaled(&small.displacements), found.displacements);
}

/// A bone flattens half of the vertices: what it cannot make stays in the remainder, and d stays bounded.
#[test]
fn what_a_flat_pose_cannot_make_stays_in_the_remainder() {
    let arm = Arm::new(12, 9);
    let rest = &arm.rig.mesh().positions;
    for thin in [0.0, 0.01] {
        let flat = dermis_rig::BoneIndex::new(2);
        let mut bones: Vec<DAffine3> = pose(&arm).iter().copied().collect();
        bones[flat.get()] *= DAffine3::from_scale(DVec3::new(1.0, 1.0, thin));
        let transforms = BoneTransforms::new(bones);
        let stack = Stack::new(vec![Layer::Rigid(arm.weights().clone())], rest.len(), 4).unwrap();
        let mut skin = vec![DVec3::ZERO; rest.len()];
        let Ok(()) = stack.posed(&transforms).deform(rest, &mut skin);
        let target = moved(&skin, 0.03 * arm.length(), 3);
        for method in [InverseMethod::Auto, InverseMethod::GaussNewton, InverseMethod::DirectionSet] {
            let found = invert(&mut stack.posed(&transforms), rest, &target, &settings(&arm, method)).unwrap();
            let made: Vec<DVec3> = rest.iter().zip(&found.displacements).map(|(p, d)| *p + *d).collect();
            let mut posed = vec![DVec3::ZERO; rest.len()];
            let Ok(()) = stack.posed(&transforms).deform(&made, &mut posed);
            let whole: Vec<DVec3> = posed.iter().zip(&found.remainders).map(|(s, w)| *s + *w).collect();
            assert!(largest_distance(&whole, &target) < 1e-15);
            let flattened = (0..rest.len()).filter(|&v| arm.weights().dominant(v) == Some(flat)).collect::<Vec<_>>();
            assert_eq!((found.damped, found.unresolved), (flattened.len(), flattened.len()), "{method:?}");
            for v in flattened {
                let (closed, _) = pull_back(transforms[flat].matrix3, target[v] - skin[v]);
                // f is flat at its minimum: values alone find it to the root of their rounding.
                let off = found.displacements[v].distance(closed) / arm.length();
                assert!(off < 1e-6, "{method:?} {thin}: {off:e}");
                assert!(found.displacements[v].length() < 60.0 * target[v].distance(skin[v]));
            }
            assert!(found.calls.all() < 400, "{method:?} {:?}", found.calls);
        }
    }
}

/// Closed form on a diagonal matrix: d = σ r / (σ² + e), and the pseudo-inverse where e is zero.
#[test]
fn the_damped_inverse_is_bounded_and_its_remainder_exact() {
    let (a, r) = (DMat3::from_diagonal(DVec3::new(2.0, 0.01, 0.0)), DVec3::new(1.0, 1.0, 1.0));
    let (d, w) = damped_inverse(a, r, 1e-4);
    let expected = DVec3::new(2.0 / 4.0001, 0.01 / 2e-4, 0.0);
    assert!(d.abs_diff_eq(expected, 1e-12) && (a * d + w).abs_diff_eq(r, 1e-15));
    let (d, w) = damped_inverse(a, r, 0.0);
    assert!(d.abs_diff_eq(DVec3::new(0.5, 100.0, 0.0), 1e-9) && w.abs_diff_eq(DVec3::Z, 1e-12));
    assert_eq!(damped_inverse(DMat3::ZERO, r, 0.0), (DVec3::ZERO, r));
}

#[test]
fn a_deformer_that_smooths_is_refused_and_iterated_on_request() {
    let rest: Vec<DVec3> = (0..300)
        .map(|v| f64::from(v) * std::f64::consts::TAU / 300.0)
        .map(|a| DVec3::new(a.cos(), a.sin(), 0.3 * (3.0 * a).sin()))
        .collect();
    let target = moved(&rest, 0.02, 6);
    let refused = invert(&mut smoothing(0.3), &rest, &target, &InverseSettings::new(2.0));
    let Err(InverseError::Coupled { moved: count, farthest }) = refused else { panic!("{refused:?}") };
    assert!(count > 60 && farthest > 1e-5, "{count} {farthest}");

    let iterate = InverseSettings { coupled: Coupled::Iterate, ..InverseSettings::new(2.0) };
    let found = invert(&mut smoothing(0.3), &rest, &target, &iterate).unwrap();
    assert_eq!(found.unresolved, 0, "{:?} {:e}", found.calls, found.largest_residual());
    let made: Vec<DVec3> = rest.iter().zip(&found.displacements).map(|(p, d)| *p + *d).collect();
    let mut again = vec![DVec3::ZERO; rest.len()];
    let Ok(()) = smoothing(0.3)(&made, &mut again);
    assert!(largest_distance(&again, &target) <= found.tolerance);
    assert!(found.calls.coupled < 60, "{:?}", found.calls);

    // s = 1 takes what alternates from vertex to vertex to its negative, s = ½ to zero: no displacement brings it back.
    let found = invert(&mut smoothing(0.5), &rest, &target, &iterate).unwrap();
    let alternating: DVec3 = (0..300).map(|v| target[v] * if v % 2 == 0 { 1.0 } else { -1.0 }).sum::<DVec3>() / 300.0;
    assert!(found.unresolved > 0 && found.largest_residual() >= alternating.length() * 0.99);
    assert!(found.largest_residual() < 0.02, "no worse than no displacement");
}

/// A ring of 300 vertices, of length 2 along x and y.
fn ring() -> Vec<DVec3> {
    (0..300)
        .map(|v| f64::from(v) * std::f64::consts::TAU / 300.0)
        .map(|a| DVec3::new(a.cos(), a.sin(), 0.3 * (3.0 * a).sin()))
        .collect()
}

/// Smoothing by s, `times` times. A wave of angle k from vertex to vertex keeps (1 − s (1 − cos k))^times of its height.
fn smoothing_often(s: f64, times: usize) -> impl FnMut(&[DVec3], &mut [DVec3]) -> Result<(), Infallible> {
    move |points, out| {
        let mut points = points.to_vec();
        for _ in 0..times {
            let Ok(()) = smoothing(s)(&points, out);
            points.copy_from_slice(out);
        }
        Ok(())
    }
}

/// What is asked for at the rest of a deformer that passes shifts on: t − S(p) itself.
fn longest_move(
    deformer: &mut impl FnMut(&[DVec3], &mut [DVec3]) -> Result<(), Infallible>,
    rest: &[DVec3],
    target: &[DVec3],
) -> f64 {
    let mut skin = vec![DVec3::ZERO; rest.len()];
    let Ok(()) = deformer(rest, &mut skin);
    largest_distance(&skin, target)
}

/// Closed form: ten times smoothed by one half, an alternating wave keeps nothing and random detail loses nearly all, while a bulge
/// thirty vertices wide keeps nine tenths. Noise is left in the remainder, and corrections stay within the limit.
#[test]
fn what_smoothing_flattens_is_left_after_a_few_calls_and_corrections_stay_bounded() {
    let rest = ring();
    let bulge = |v: usize| DVec3::Z * 0.02 * (-((v as f64 - 150.0) / 30.0).powi(2)).exp();
    let mut deformer = smoothing_often(0.5, 10);
    let mut skin = vec![DVec3::ZERO; rest.len()];
    let Ok(()) = deformer(&rest, &mut skin);
    let smooth: Vec<DVec3> = skin.iter().enumerate().map(|(v, p)| *p + bulge(v)).collect();
    let noisy = moved(&smooth, 0.004, 6);
    for (target, noise, factor) in [(&noisy, true, 3.0), (&noisy, true, 1.5), (&smooth, false, 3.0)] {
        let asked = longest_move(&mut deformer, &rest, target);
        let settings = InverseSettings {
            coupled: Coupled::Iterate,
            max_correction: factor,
            ftol: 1e-10,
            ..InverseSettings::new(2.0)
        };
        let found = invert(&mut deformer, &rest, target, &settings).unwrap();
        let made: Vec<DVec3> = rest.iter().zip(&found.displacements).map(|(p, d)| *p + *d).collect();
        let mut again = vec![DVec3::ZERO; rest.len()];
        let Ok(()) = deformer(&made, &mut again);
        let left: Vec<DVec3> = target.iter().zip(&again).map(|(t, s)| *t - *s).collect();
        assert_eq!(left, found.remainders, "the remainder is that of the result");
        let longest = found.displacements.iter().map(|d| d.length()).fold(0.0, f64::max);
        assert!((found.limit - factor * asked).abs() < 1e-9 && longest <= found.limit * (1.0 + 1e-12), "{longest}");
        assert!(found.calls.all() <= 30, "{:?}", found.calls);
        let squares = |list: &[DVec3]| list.iter().map(|w| w.length_squared()).sum::<f64>();
        if noise {
            // Of the noise at least half stays, whatever is asked; what there is besides is made.
            assert_eq!(found.stopped, Stopped::NoGain);
            let most = 300.0 * 0.004f64.powi(2) / 3.0;
            assert!(squares(&left) < 1.05 * most && squares(&left) > 0.3 * most, "{} {most}", squares(&left));
        } else {
            assert!(found.largest_residual() < 1e-4, "{:e} {:?}", found.largest_residual(), found.stopped);
            assert_eq!(found.limited, 0);
        }
    }
}

/// Sharpening p + 1.5 (p − mean of the neighbours) takes an alternating move to four times itself: plain steps of the residual
/// overshoot by three times and blow up. The planted displacements are found all the same.
#[test]
fn a_deformer_that_plain_steps_diverge_on_is_inverted() {
    let rest = ring();
    let mut deformer = smoothing(-1.5);
    let planted = moved(&rest, 0.01, 8);
    let mut target = vec![DVec3::ZERO; rest.len()];
    let Ok(()) = deformer(&planted, &mut target);
    let (mut points, mut skin) = (rest.clone(), vec![DVec3::ZERO; rest.len()]);
    for _ in 0..30 {
        let Ok(()) = deformer(&points, &mut skin);
        points.iter_mut().zip(&target).zip(&skin).for_each(|((p, t), s)| *p += *t - *s);
    }
    assert!(largest_distance(&skin, &target) > 1e6, "plain steps diverge");
    let settings = InverseSettings { coupled: Coupled::Iterate, ..InverseSettings::new(2.0) };
    let found = invert(&mut deformer, &rest, &target, &settings).unwrap();
    assert_eq!((found.unresolved, found.stopped), (0, Stopped::Reached), "{:?}", found.calls);
    let made: Vec<DVec3> = rest.iter().zip(&found.displacements).map(|(p, d)| *p + *d).collect();
    assert!(largest_distance(&made, &planted) <= found.tolerance * 1.01);
}

/// A deformer that smooths, and holds the ring above z = 0. Where it touches, derivatives say that no move along z helps; a
/// sculpt that lifts the ring off is met all the same.
#[test]
fn a_sculpt_lifts_a_coupled_mesh_off_its_contact() {
    let rest = ring();
    let mut deformer = |points: &[DVec3], out: &mut [DVec3]| {
        let Ok(()) = smoothing(0.2)(points, out);
        out.iter_mut().for_each(|p| p.z = p.z.max(0.0));
        Ok::<(), Infallible>(())
    };
    // Pressed in by 5 mm at most.
    let rest: Vec<DVec3> = rest.iter().map(|p| DVec3::new(p.x, p.y, p.z.max(-0.005))).collect();
    let planted: Vec<DVec3> = rest.iter().map(|p| DVec3::new(p.x, p.y, p.z.max(0.0) + 0.02)).collect();
    let mut target = vec![DVec3::ZERO; rest.len()];
    let Ok(()) = deformer(&planted, &mut target);
    let settings = InverseSettings { coupled: Coupled::Iterate, ftol: 1e-12, ..InverseSettings::new(2.0) };
    let found = invert(&mut deformer, &rest, &target, &settings).unwrap();
    assert!(found.damped > 100, "{}", found.damped);
    assert_eq!(found.stopped, Stopped::Reached, "{:e} {:?}", found.largest_residual(), found.calls);
    let made: Vec<DVec3> = rest.iter().zip(&found.displacements).map(|(p, d)| *p + *d).collect();
    assert!(largest_distance(&made, &planted) < 1e-4, "{:e}", largest_distance(&made, &planted));
}

/// A coupled deformer in other units is the same problem: powers of two scale without rounding.
#[test]
fn a_coupled_mesh_in_other_units_gives_the_same_corrections() {
    let rest = ring();
    let target = moved(&rest, 0.01, 5);
    let scaled = |points: &[DVec3], by: f64| points.iter().map(|p| *p * by).collect::<Vec<_>>();
    let at = |length| InverseSettings { coupled: Coupled::Iterate, ..InverseSettings::new(length) };
    let one = invert(&mut smoothing_often(0.5, 4), &rest, &target, &at(2.0)).unwrap();
    assert_eq!(one.stopped, Stopped::NoGain);
    for by in [1024.0, 1.0 / 1024.0] {
        let other =
            invert(&mut smoothing_often(0.5, 4), &scaled(&rest, by), &scaled(&target, by), &at(2.0 * by)).unwrap();
        assert_eq!((one.calls, one.limited, one.stopped), (other.calls, other.limited, other.stopped));
        assert_eq!(scaled(&one.displacements, by), other.displacements);
        assert_eq!(scaled(&one.remainders, by), other.remainders);
        assert_eq!(one.limit * by, other.limit);
    }
}

/// The last call allowed is used, and the result is the best of all.
#[test]
fn a_coupled_search_ends_at_its_last_call_with_the_best_iterate() {
    let (rest, mut count) = (ring(), 0);
    let target = moved(&rest, 0.01, 5);
    let mut counted = |points: &[DVec3], out: &mut [DVec3]| {
        count += 1;
        smoothing(0.3)(points, out)
    };
    let at = |max_calls| InverseSettings { coupled: Coupled::Iterate, max_calls, ..InverseSettings::new(2.0) };
    let mut before = f64::INFINITY;
    for most in [8, 10, 14] {
        let found = invert(&mut counted, &rest, &target, &at(most)).unwrap();
        assert_eq!((found.stopped, found.calls.all()), (Stopped::Calls, most));
        let left: f64 = found.remainders.iter().map(|w| w.length_squared()).sum();
        assert!(left < before, "{left} {before}");
        before = left;
    }
    assert_eq!(count, 8 + 10 + 14);
}

#[test]
fn a_mean_of_all_vertices_is_found_by_the_probe() {
    let mut centred = |points: &[DVec3], out: &mut [DVec3]| {
        let mean = points.iter().sum::<DVec3>() / points.len() as f64;
        out.iter_mut().zip(points).for_each(|(out, p)| *out = *p - mean);
        Ok::<(), Infallible>(())
    };
    let rest = moved(&vec![DVec3::ZERO; 5000], 1.0, 1);
    let refused = invert(&mut centred, &rest, &rest, &InverseSettings::new(2.0));
    assert!(matches!(refused, Err(InverseError::Coupled { .. })), "{refused:?}");
}

/// A vertex that follows another of the same half escapes the probe for some seeds. The call that moves the other shows it, and what
/// is reported is what the deformer then makes.
#[test]
fn a_dependence_that_escapes_the_probe_shows_in_the_residuals() {
    let rest = moved(&vec![DVec3::ZERO; 100], 1.0, 1);
    let mut follows = |points: &[DVec3], out: &mut [DVec3]| {
        out.copy_from_slice(points);
        out[7] += 0.5 * (points[3] - rest[3]);
        Ok::<(), Infallible>(())
    };
    let mut target = rest.clone();
    target[3].x += 0.1;
    let mut escaped = 0;
    for seed in 0..16 {
        let settings = InverseSettings { seed, coupled: Coupled::Iterate, ..InverseSettings::new(2.0) };
        let found = invert(&mut follows, &rest, &target, &settings).unwrap();
        let made: Vec<DVec3> = rest.iter().zip(&found.displacements).map(|(p, d)| *p + *d).collect();
        let mut again = vec![DVec3::ZERO; rest.len()];
        let Ok(()) = follows(&made, &mut again);
        let left: Vec<DVec3> = target.iter().zip(&again).map(|(t, s)| *t - *s).collect();
        assert_eq!(left, found.remainders, "seed {seed}");
        if found.probe == Dependence::Independent {
            escaped += 1;
            assert!((found.residuals[7] - 0.05).abs() < 1e-9 && found.unresolved == 1, "seed {seed}");
        } else {
            assert_eq!(found.unresolved, 0, "seed {seed}");
        }
    }
    assert!((1..16).contains(&escaped), "{escaped}");
}

#[test]
fn failures_are_named_with_the_call() {
    let rest = vec![DVec3::X, DVec3::Y, DVec3::Z];
    let target = moved(&rest, 0.1, 2);
    for at in 1..=6 {
        let mut call = 0;
        let mut fails = |points: &[DVec3], out: &mut [DVec3]| {
            call += 1;
            out.copy_from_slice(points);
            if call == at { Err("no licence") } else { Ok(()) }
        };
        let failed = invert(&mut fails, &rest, &target, &InverseSettings::new(1.0));
        assert_eq!(failed, Err(InverseError::Deformer { call: at, source: "no licence" }));
        let mut call = 0;
        let mut forgets = |points: &[DVec3], out: &mut [DVec3]| {
            call += 1;
            let written = if call == at { 1 } else { 3 };
            out[..written].copy_from_slice(&points[..written]);
            Ok::<(), Infallible>(())
        };
        let failed = invert(&mut forgets, &rest, &target, &InverseSettings::new(1.0)).unwrap_err();
        assert_eq!(failed, InverseError::Output { call: at, vertex: 1, count: 2 });
        assert_eq!(failed.to_string(), format!("call {at} of the deformer gave no number for vertex 1 and 1 other"));
    }
}

#[test]
fn inputs_and_settings_out_of_range_are_refused() {
    let mut same = |points: &[DVec3], out: &mut [DVec3]| {
        out.copy_from_slice(points);
        Ok::<(), Infallible>(())
    };
    let good = InverseSettings::new(1.0);
    let mut run = |rest: &[DVec3], target: &[DVec3], settings: &InverseSettings| {
        invert(&mut same, rest, target, settings).map(|found| found.calls.all())
    };
    assert_eq!(run(&[], &[], &good), Ok(5), "nothing to do is done");
    assert_eq!(run(&[DVec3::X], &[], &good), Err(InverseError::Counts { rest: 1, target: 0 }));
    let nan = run(&[DVec3::X], &[DVec3::NAN], &good);
    assert_eq!(nan, Err(InverseError::Input { what: "the target", vertex: 0 }));
    for bad in [
        InverseSettings { length: 0.0, ..good.clone() },
        InverseSettings { length: f64::NAN, ..good.clone() },
        InverseSettings { epsilon: -1.0, ..good.clone() },
        InverseSettings { ftol: f64::INFINITY, ..good.clone() },
        InverseSettings { max_calls: 7, ..good.clone() },
        InverseSettings { max_correction: 0.0, ..good.clone() },
        InverseSettings { max_correction: f64::NAN, ..good.clone() },
    ] {
        assert!(matches!(run(&[DVec3::X], &[DVec3::X], &bad), Err(InverseError::Setting { .. })), "{bad:?}");
    }
}

/// A fold |x| − ½ has no inverse below −½: there the distance that is left is reported, and every other vertex is solved.
#[test]
fn unreachable_targets_are_reported_not_hidden() {
    let mut fold = |points: &[DVec3], out: &mut [DVec3]| {
        out.iter_mut().zip(points).for_each(|(out, p)| *out = DVec3::new(p.x.abs() - 0.5, p.y, p.z));
        Ok::<(), Infallible>(())
    };
    let rest = moved(&vec![DVec3::ONE; 50], 0.5, 1);
    let mut target: Vec<DVec3> = rest.iter().map(|p| DVec3::new(p.x - 0.45, p.y, p.z + 0.1)).collect();
    target[17].x = -0.6;
    for (method, most) in [(InverseMethod::Auto, 500), (InverseMethod::GaussNewton, 100), (InverseMethod::Auto, 8)] {
        let settings = InverseSettings { method, max_calls: most, ..InverseSettings::new(2.0) };
        let found = invert(&mut fold, &rest, &target, &settings).unwrap();
        assert!(found.calls.all() <= most);
        assert_eq!((found.unresolved, found.residuals[17] > found.tolerance), (1, true), "{method:?}");
        if most > 8 {
            assert!((found.residuals[17] - 0.1).abs() < 1e-3, "{method:?} {}", found.residuals[17]);
        }
    }
}

/// The single-precision result of the arm's LBS, computed in single precision throughout.
#[test]
fn a_single_precision_deformer_is_solved_to_its_rounding() {
    let arm = Arm::new(20, 12);
    let (rest, transforms) = (&arm.rig.mesh().positions, pose(&arm));
    let weights: &Influences = arm.weights();
    let mut single = |points: &[DVec3], out: &mut [DVec3]| {
        let rounded: Vec<DVec3> = points.iter().map(|p| p.as_vec3().as_dvec3()).collect();
        lbs(&rounded, weights, &transforms, out);
        out.iter_mut().for_each(|p| *p = p.as_vec3().as_dvec3());
        Ok::<(), Infallible>(())
    };
    let mut target = vec![DVec3::ZERO; rest.len()];
    lbs(&moved(rest, 0.03 * arm.length(), 7), weights, &transforms, &mut target);
    let found = invert(&mut single, rest, &target, &settings(&arm, InverseMethod::Auto)).unwrap();
    assert!(found.single_precision && found.tolerance < 1e-6);
    assert_eq!(found.unresolved, 0, "{:e} of {:e}", found.largest_residual(), found.tolerance);
    assert!(found.calls.all() <= 20, "{:?}", found.calls);
}
