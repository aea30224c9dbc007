//! Decompositions of sequences whose bones are known, and of sequences that have none.

use dermis_fit::decompose::{
    BoneKind, DecomposeError, DecomposeSettings, Decomposition, Effort, Sequence, Stopped, Task, decompose,
};
use dermis_fit::{Cancelled, silent};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::from_rotation_vector;
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use std::ops::ControlFlow;

/// A number in −0.5..0.5 that depends on its place alone.
fn noise(a: usize, b: usize, c: usize) -> f64 {
    let mut x = (a as u64) << 40 ^ (b as u64) << 20 ^ c as u64 ^ 0x9e37_79b9_7f4a_7c15;
    for _ in 0..3 {
        x = (x ^ x >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (x >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

struct Chain {
    rest: Vec<DVec3>,
    weights: Influences,
    transforms: Vec<BoneTransforms>,
    frames: Vec<Vec<DVec3>>,
}

/// A bent tube of `bones` segments, each a joint with two angles, blends `blend` of a segment wide.
fn chain(bones: usize, frames: usize, blend: f64) -> Chain {
    let rings = 12 * bones;
    let rest: Vec<DVec3> = (0..rings * 10)
        .map(|v| {
            let (along, around) = ((v / 10) as f64 / 12.0, (v % 10) as f64 * 0.628);
            DVec3::new(along, 0.3 * around.cos(), 0.3 * around.sin())
        })
        .collect();
    let weights = Influences::from_rows(rest.iter().map(|p| {
        let at = (p.x - 0.5).max(0.0);
        let low = (at as usize).min(bones - 1);
        let share = ((at - low as f64 - 0.5) / blend + 0.5).clamp(0.0, 1.0);
        if low + 1 == bones {
            return vec![(BoneIndex::new(low), 1.0)];
        }
        vec![(BoneIndex::new(low), 1.0 - share), (BoneIndex::new(low + 1), share)]
    }))
    .unwrap();
    let transforms: Vec<BoneTransforms> = (0..frames)
        .map(|s| {
            let mut m = DAffine3::IDENTITY;
            let bones = (0..bones).map(|k| {
                let turn = 1.6 * DVec3::new(noise(s, k, 0), noise(s, k, 1), noise(s, k, 2));
                let joint = DVec3::X * k as f64;
                let about = DAffine3::from_translation(joint)
                    * DAffine3::from_quat(from_rotation_vector(turn))
                    * DAffine3::from_translation(-joint);
                m *= about;
                m
            });
            BoneTransforms::new(bones.collect())
        })
        .collect();
    let frames = transforms.iter().map(|pose| posed(&rest, &weights, pose)).collect();
    Chain { rest, weights, transforms, frames }
}

fn posed(rest: &[DVec3], weights: &Influences, pose: &BoneTransforms) -> Vec<DVec3> {
    (0..rest.len()).map(|v| weights.of(v).iter().map(|&(k, w)| w * pose[k].transform_point3(rest[v])).sum()).collect()
}

fn run(rest: &[DVec3], frames: &[Vec<DVec3>], task: &Task, settings: &DecomposeSettings) -> Decomposition {
    let frames: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
    decompose(&Sequence { rest, frames: &frames, triangles: &[] }, task, settings, &silent).unwrap()
}

/// 1000 |X − Y| / (√(3 P V) · half the rest diagonal), from what is delivered.
fn e_rms(rest: &[DVec3], frames: &[Vec<DVec3>], found: &Decomposition) -> f64 {
    let (low, high) = rest.iter().fold((rest[0], rest[0]), |(low, high), &p| (low.min(p), high.max(p)));
    let mut sum = 0.0;
    for (x, pose) in frames.iter().zip(&found.transforms) {
        let y = posed(rest, &found.weights, pose);
        sum += x.iter().zip(&y).map(|(x, y)| (*x - *y).length_squared()).sum::<f64>();
    }
    let count = (3 * frames.len() * rest.len()) as f64;
    2000.0 * (sum / count).sqrt() / (high - low).length().max(1e-9)
}

fn check_weights(found: &Decomposition, influences: usize) {
    for row in found.weights.rows() {
        assert!(row.len() <= influences && row.iter().all(|(_, w)| *w > 0.0));
        assert!((row.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn rigid_parts_with_narrow_blends_are_recovered() {
    let chain = chain(5, 14, 0.15);
    let found = run(&chain.rest, &chain.frames, &Task::Search { bones: 5 }, &DecomposeSettings::default());
    let error = e_rms(&chain.rest, &chain.frames, &found);
    assert!(error < 0.01, "{error}, {:?}", found.report);
    check_weights(&found, 4);
    for bone in found.transforms.iter().flat_map(|pose| pose.iter()) {
        assert!((bone.matrix3 * bone.matrix3.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-9));
        assert!(bone.matrix3.determinant() > 0.0);
    }
    let direct = 1000.0 * (found.report.mean_square / 3.0).sqrt();
    assert!(direct < 0.1, "the report's own error is {direct}");
}

#[test]
fn given_bones_and_given_weights_bring_back_the_other() {
    let chain = chain(4, 9, 0.8);
    let settings = DecomposeSettings::default();
    let task = Task::Weights { transforms: &chain.transforms };
    let weights = run(&chain.rest, &chain.frames, &task, &settings);
    for (v, row) in chain.weights.rows().enumerate() {
        row.iter().for_each(|&(k, w)| assert!((weights.weights.value(v, k) - w).abs() < 1e-6, "vertex {v}"));
    }
    for kind in [BoneKind::Rigid, BoneKind::Affine] {
        let task = Task::Transforms { weights: &chain.weights };
        let found = run(&chain.rest, &chain.frames, &task, &DecomposeSettings { kind, ..settings });
        for (pose, true_pose) in found.transforms.iter().zip(&chain.transforms) {
            pose.iter().zip(true_pose.iter()).for_each(|(m, t)| assert!(m.abs_diff_eq(*t, 1e-3), "{kind:?}"));
        }
        assert_eq!(found.weights, chain.weights);
    }
}

#[test]
fn refining_keeps_frozen_vertices_and_lowers_the_error() {
    let chain = chain(4, 9, 0.8);
    // Every vertex wholly on its dominant bone.
    let rough =
        Influences::from_rows((0..chain.rest.len()).map(|v| vec![(chain.weights.dominant(v).unwrap(), 1.0)])).unwrap();
    let frozen: Vec<usize> = (0..40).collect();
    let settings = DecomposeSettings::default();
    let kept = run(&chain.rest, &chain.frames, &Task::Transforms { weights: &rough }, &settings);
    let task = Task::Refine { weights: &rough, frozen: &frozen };
    let refined = run(&chain.rest, &chain.frames, &task, &settings);
    assert!(e_rms(&chain.rest, &chain.frames, &refined) < 0.2 * e_rms(&chain.rest, &chain.frames, &kept));
    frozen.iter().for_each(|&v| assert_eq!(refined.weights.of(v), rough.of(v)));
}

#[test]
fn helper_bones_take_up_what_known_bones_cannot() {
    let chain = chain(5, 12, 0.3);
    let known: Vec<BoneTransforms> = chain
        .transforms
        .iter()
        .map(|pose| BoneTransforms::new([0, 1, 3].iter().map(|&k| pose[BoneIndex::new(k)]).collect()))
        .collect();
    let settings = DecomposeSettings::default();
    let alone = run(&chain.rest, &chain.frames, &Task::Weights { transforms: &known }, &settings);
    let helped = run(&chain.rest, &chain.frames, &Task::Helpers { transforms: &known, helpers: 2 }, &settings);
    assert_eq!((helped.report.bones, helped.transforms[0].len()), (5, 5));
    for (pose, known) in helped.transforms.iter().zip(&known) {
        (0..3).map(BoneIndex::new).for_each(|k| assert!(pose[k].abs_diff_eq(known[k], 1e-9)));
    }
    let (alone, helped) = (e_rms(&chain.rest, &chain.frames, &alone), e_rms(&chain.rest, &chain.frames, &helped));
    assert!(alone > 10.0 && helped < 0.01 * alone, "{alone} to {helped}");
}

#[test]
fn units_motion_and_the_order_of_frames_change_nothing() {
    // Four bones cannot explain six: there is an error to compare.
    let chain = chain(6, 10, 1.0);
    for kind in [BoneKind::Rigid, BoneKind::Affine, BoneKind::NearRigid { stiffness: 1e-3 }] {
        let settings = DecomposeSettings { kind, ..Default::default() };
        let task = Task::Search { bones: 4 };
        let error = |rest: &[DVec3], frames: &[Vec<DVec3>]| e_rms(rest, frames, &run(rest, frames, &task, &settings));
        let plain = error(&chain.rest, &chain.frames);
        assert!(plain > 0.5, "{plain}");
        let scale = |x: &Vec<DVec3>| x.iter().map(|p| 250.0 * *p).collect::<Vec<_>>();
        let scaled = error(&scale(&chain.rest), &chain.frames.iter().map(scale).collect::<Vec<_>>());
        assert!((scaled - plain).abs() < 1e-6 * plain, "{kind:?} scaled: {scaled}, {plain}");
        // Rounding decides between near ties, so a moved or reordered sequence may end in another, equally good place.
        let moved: Vec<Vec<DVec3>> = (chain.frames.iter().enumerate())
            .map(|(s, x)| {
                let g = DAffine3::from_quat(from_rotation_vector(DVec3::new(noise(s, 7, 7), 1.0, 0.4)));
                x.iter().map(|p| g.transform_point3(*p) + 3.0 * DVec3::Y).collect()
            })
            .collect();
        let moved = error(&chain.rest, &moved);
        assert!((moved - plain).abs() < 1e-3 * plain, "{kind:?} moved: {moved}, {plain}");
        let reversed: Vec<_> = chain.frames.iter().rev().cloned().collect();
        let reversed = error(&chain.rest, &reversed);
        assert!((reversed - plain).abs() < 1e-3 * plain, "{kind:?} reversed: {reversed}, {plain}");
    }
}

#[test]
fn threads_and_compression_do_not_change_what_is_found() {
    let chain = chain(4, 70, 0.6);
    let settings = DecomposeSettings::default();
    let task = Task::Search { bones: 3 };
    let results: Vec<Decomposition> = [1, 4]
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&chain.rest, &chain.frames, &task, &settings))
        })
        .into();
    assert_eq!(results[0].weights, results[1].weights);
    assert_eq!(results[0].transforms, results[1].transforms);
    // 70 frames are compressed, 50 are not: what is found has a similar error either way.
    let few = run(&chain.rest, &chain.frames[..50], &task, &settings);
    let (many, few) = (e_rms(&chain.rest, &chain.frames, &results[0]), e_rms(&chain.rest, &chain.frames[..50], &few));
    assert!((many - few).abs() < 0.3 * few, "{many} and {few}");
}

#[test]
fn near_rigid_bones_lie_between_rigid_and_affine_ones_and_do_not_mirror() {
    let chain = chain(6, 10, 1.0);
    let error = |kind| {
        let found = run(
            &chain.rest,
            &chain.frames,
            &Task::Search { bones: 3 },
            &DecomposeSettings { kind, ..Default::default() },
        );
        if kind != BoneKind::Affine {
            assert!(found.transforms.iter().flat_map(|pose| pose.iter()).all(|m| m.matrix3.determinant() > 0.0));
        }
        e_rms(&chain.rest, &chain.frames, &found)
    };
    let (rigid, near, affine) =
        (error(BoneKind::Rigid), error(BoneKind::NearRigid { stiffness: 1e-2 }), error(BoneKind::Affine));
    assert!(affine < near && near < rigid, "{affine} {near} {rigid}");
}

#[test]
fn one_bone_one_frame_still_frames_and_few_vertices_end_well() {
    let cube: Vec<DVec3> = (0..8).map(|v| DVec3::new((v & 1) as f64, (v >> 1 & 1) as f64, (v >> 2) as f64)).collect();
    let turned: Vec<DVec3> = cube.iter().map(|p| DVec3::new(-p.y, p.x, p.z)).collect();
    for kind in [BoneKind::Rigid, BoneKind::Affine, BoneKind::NearRigid { stiffness: 1e-3 }] {
        for effort in [Effort::Fast, Effort::Quality] {
            let settings = DecomposeSettings { kind, effort, ..Default::default() };
            // More bones than vertices, a rigid motion, a frame that equals rest, all vertices in one place, a flat mesh.
            let flat: Vec<DVec3> = cube.iter().map(|p| DVec3::new(p.x, p.y, 0.0)).collect();
            let point = vec![DVec3::ONE; 8];
            let cases: Vec<(&[DVec3], Vec<Vec<DVec3>>)> = vec![
                (&cube, vec![turned.clone()]),
                (&cube, vec![cube.clone(), cube.clone()]),
                (&flat, vec![flat.iter().map(|p| DVec3::new(p.x, 0.0, p.y)).collect()]),
                (&point, vec![point.clone()]),
                (&cube[..1], vec![turned[..1].to_vec(); 3]),
            ];
            for (rest, frames) in &cases {
                for bones in [1, 2, 20] {
                    let found = run(rest, frames, &Task::Search { bones }, &settings);
                    let error = e_rms(rest, frames, &found);
                    assert!(error <= 1e-3, "{kind:?} {bones} bones, {} vertices: {error}", rest.len());
                    assert_eq!(found.report.bones == bones, found.report.fewer_because.is_none());
                    check_weights(&found, 4);
                }
            }
        }
    }
    let noise: Vec<DVec3> = (0..8).map(|v| DVec3::new(noise(v, 0, 0), noise(v, 1, 0), noise(v, 2, 0))).collect();
    let found = run(&cube, &[noise], &Task::Search { bones: 20 }, &DecomposeSettings::default());
    assert!(found.report.bones <= 20);
}

/// The triangles of [`chain`]'s tube.
fn tube(vertices: usize) -> Vec<[u32; 3]> {
    let quads = (0..vertices as u32 - 10).map(|v| (v, v / 10 * 10 + (v + 1) % 10));
    quads.flat_map(|(a, b)| [[a, b, a + 10], [b, b + 10, a + 10]]).collect()
}

/// |w_v − ŵ_v|² averaged over vertices, from the definition: ŵ by Jacobi's iteration on (I + L) ŵ = w.
fn roughness(rest: &[DVec3], frames: &[Vec<DVec3>], triangles: &[[u32; 3]], weights: &Influences, bones: usize) -> f64 {
    let mut near = vec![std::collections::BTreeMap::new(); rest.len()];
    for t in triangles {
        for (a, b) in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] {
            let (a, b) = (t[a] as usize, t[b] as usize);
            let change = |x: &Vec<DVec3>| ((x[a] - x[b]).length() - (rest[a] - rest[b]).length()).powi(2);
            let rms = (frames.iter().map(change).sum::<f64>() / frames.len() as f64).sqrt();
            near[a].insert(b, 1.0 / (rms + 1e-13));
        }
    }
    let mut sum = 0.0;
    for k in 0..bones {
        let w: Vec<f64> = (0..rest.len()).map(|v| weights.value(v, BoneIndex::new(k))).collect();
        let mut z = w.clone();
        for _ in 0..60 {
            let mean = |v: usize| -> f64 {
                let degree: f64 = near[v].values().sum();
                near[v].iter().map(|(&u, c)| c / degree * z[u]).sum()
            };
            z = (0..rest.len()).map(|v| 0.5 * w[v] + 0.5 * mean(v)).collect();
        }
        sum += w.iter().zip(&z).map(|(w, z)| (w - z) * (w - z)).sum::<f64>();
    }
    sum / rest.len() as f64
}

#[test]
fn smooth_weights_lower_their_own_objective() {
    let chain = chain(6, 12, 1.0);
    let triangles = tube(chain.rest.len());
    let frames: Vec<&[DVec3]> = chain.frames.iter().map(Vec::as_slice).collect();
    let sequence = Sequence { rest: &chain.rest, frames: &frames, triangles: &triangles };
    let centroid = chain.rest.iter().copied().sum::<DVec3>() / chain.rest.len() as f64;
    let size: f64 = chain.rest.iter().map(|p| (*p - centroid).length_squared()).sum::<f64>() / chain.rest.len() as f64;
    let with = |smooth: Option<f64>, task: &Task| {
        let settings = DecomposeSettings { smooth, ..Default::default() };
        let found = decompose(&sequence, task, &settings, &silent).unwrap();
        let rough = roughness(&chain.rest, &chain.frames, &triangles, &found.weights, found.report.bones);
        if let Some(told) = found.report.roughness {
            assert!((told - rough).abs() < 1e-6 * rough + 1e-9, "{told} and {rough}");
        }
        check_weights(&found, 4);
        (found.report.mean_square / size, rough)
    };
    for strength in [1e-3, 10.0] {
        let objective = |(error, rough): (f64, f64)| error + strength * rough;
        let search = Task::Search { bones: 4 };
        let (plain, smooth) = (with(None, &search), with(Some(strength), &search));
        // Both searches end where iterations gain less than 0.15 % each.
        assert!(objective(smooth) < 1.005 * objective(plain), "{strength}: {smooth:?} {plain:?}");
        assert!(smooth.1 < plain.1, "{strength}: {smooth:?} {plain:?}");
        assert!(strength < 1.0 || objective(smooth) < 0.97 * objective(plain), "{smooth:?} {plain:?}");
        let given = Task::Weights { transforms: &chain.transforms };
        let (plain, smooth) = (with(None, &given), with(Some(strength), &given));
        assert!(objective(smooth) <= objective(plain) + 1e-9, "{strength}, given bones: {smooth:?} {plain:?}");
    }
    // A strength of nearly nothing changes nothing that can be seen.
    let weak = with(Some(1e-12), &Task::Weights { transforms: &chain.transforms });
    assert!(weak.0 < 1e-9, "{weak:?}");
}

#[test]
fn the_fewest_bones_for_an_error_are_found() {
    let chain = chain(5, 14, 0.15);
    let fewest = |error| {
        let settings = DecomposeSettings::default();
        let found = run(&chain.rest, &chain.frames, &Task::Fewest { error, most: 32 }, &settings);
        assert!(found.report.mean_square.sqrt() <= error);
        let (too_few, square) = found.report.too_few.unwrap();
        assert!(too_few < found.report.bones && square.sqrt() > error);
        found.report.bones
    };
    // Five bones made the frames.
    assert_eq!(fewest(1e-3), 5);
    assert!(fewest(0.15) < 5);
    // One bone takes any error.
    let settings = DecomposeSettings::default();
    let one = run(&chain.rest, &chain.frames, &Task::Fewest { error: 100.0, most: 32 }, &settings);
    assert_eq!((one.report.bones, one.report.too_few), (1, None));
}

#[test]
fn what_cannot_be_decomposed_is_named() {
    let rest = [DVec3::ZERO, DVec3::X];
    let settings = DecomposeSettings::default();
    let ask = |rest: &[DVec3], frames: &[&[DVec3]], task: &Task| {
        decompose(&Sequence { rest, frames, triangles: &[] }, task, &settings, &silent).unwrap_err()
    };
    let search = Task::Search { bones: 2 };
    assert!(matches!(ask(&[], &[&[]], &search), DecomposeError::Empty { vertices: 0, .. }));
    assert!(matches!(ask(&rest, &[], &search), DecomposeError::Empty { frames: 0, .. }));
    assert!(matches!(ask(&rest, &[&rest], &Task::Search { bones: 0 }), DecomposeError::Empty { bones: 0, .. }));
    let many = Task::Search { bones: 100_000 };
    assert!(matches!(ask(&rest, &[&rest], &many), DecomposeError::TooMany { bones: 100_000, .. }));
    assert!(matches!(ask(&rest, &[&rest[..1]], &search), DecomposeError::Counts { found: 1, expected: 2, .. }));
    let fewest = Task::Fewest { error: 1e-9, most: 1 };
    assert!(matches!(
        ask(&[DVec3::ZERO, DVec3::X, DVec3::Y], &[&[DVec3::Z, DVec3::X, DVec3::Y * 3.0]], &fewest),
        DecomposeError::OutOfReach { bones: 1, .. }
    ));
    let smooth = DecomposeSettings { smooth: Some(1e-4), ..settings };
    let bare = Sequence { rest: &rest, frames: &[&rest], triangles: &[] };
    assert_eq!(decompose(&bare, &search, &smooth, &silent).unwrap_err(), DecomposeError::NoSurface);
    let beyond = Sequence { triangles: &[[0, 1, 2]], ..bare };
    assert!(matches!(decompose(&beyond, &search, &smooth, &silent), Err(DecomposeError::Counts { found: 2, .. })));
    let broken = [DVec3::ZERO, DVec3::NAN];
    assert_eq!(ask(&rest, &[&rest, &broken], &search).to_string(), "frame 1: vertex 1 is not finite");
    let stop = |_, _| ControlFlow::Break(Cancelled);
    let cancelled = decompose(
        &Sequence { rest: &rest, frames: &[&rest, &[DVec3::Y, DVec3::X]], triangles: &[] },
        &search,
        &settings,
        &stop,
    );
    assert_eq!(cancelled.unwrap_err(), DecomposeError::Cancelled);
}

#[test]
fn what_one_bone_explains_is_told_as_exact() {
    let chain = chain(1, 3, 1.0);
    let found = run(&chain.rest, &chain.frames, &Task::Search { bones: 3 }, &DecomposeSettings::default());
    assert_eq!((found.report.bones, found.report.stopped), (1, Stopped::Exact));
    assert!(found.report.fewer_because.unwrap().contains("1 bones"));
}

/// A longer search from a larger sample may settle elsewhere; it never ends above the fast one.
#[test]
fn more_effort_never_ends_above_less() {
    for seed in 0..4 {
        // Smooth bends that few bones cannot follow, so that searches differ.
        let chain = chain(6, 12, 1.0);
        let with = |effort| {
            let settings = DecomposeSettings { effort, seed, ..DecomposeSettings::default() };
            run(&chain.rest, &chain.frames, &Task::Search { bones: 3 }, &settings).report.mean_square
        };
        let (fast, quality) = (with(Effort::Fast), with(Effort::Quality));
        assert!(quality <= fast, "seed {seed}: {quality} above {fast}");
    }
}
