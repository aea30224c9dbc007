//! Local sculpts: rows count by what their example says of a vertex.

use super::*;
use dermis_fit::joints::Prior;
use dermis_rig::LocalSculpt;

/// Every third example is a local sculpt that touches the lower half of the vertices; it shows nonsense elsewhere.
fn masked(bench: &Bench) -> Bench {
    let mut made = bench.clone();
    let count = made.rig.mesh().positions.len();
    let mut random = Random::new(12);
    for (s, example) in made.examples.iter_mut().enumerate().filter(|(s, _)| s % 3 == 1) {
        let mask: Vec<bool> = (0..count).map(|v| 2 * v < count).collect();
        let shown = made.base[s].iter().map(|p| *p + DVec3::splat(0.01) * random.between(-1.0, 1.0)).collect();
        example.positions[count / 2 + 1..].fill(DVec3::splat(9.0));
        example.local = Some(LocalSculpt { mask: Some(mask), shown: Some(shown) });
    }
    made
}

/// What a row is multiplied by, and its target, by the definition.
fn row(bench: &Bench, c0: f64, s: usize, v: usize) -> (f64, DVec3) {
    let example = &bench.examples[s];
    match &example.local {
        Some(LocalSculpt { mask: Some(mask), shown }) if !mask[v] => {
            let shown = shown.as_ref().map_or(bench.base[s][v], |shown| shown[v]);
            (example.importance * c0.sqrt(), shown - bench.base[s][v])
        }
        _ => (example.importance, example.positions[v] - bench.base[s][v]),
    }
}

/// Oracle: a dense ridge regression of every vertex, its rows times the root of their weight.
#[test]
fn rows_weigh_what_their_example_says_of_the_vertex() {
    let (arm, bench) = small_bench(18);
    let bench = masked(&bench);
    let poses = unseen(&arm, 3);
    for frame in FRAMES {
        for c0 in [0.0, 0.1, 1.0] {
            let set = JointSettings { ball: false, untouched: c0, ..with_composites(frame, given(frame, 0.03)) };
            let JointFit { correction, report } = fit(&bench, &set);
            let got: Vec<Vec<DVec3>> = poses.iter().map(|pose| deltas(&bench, &correction, pose).0).collect();
            let (mut squares, mut rows) = (0.0, 0);
            let training: Vec<BoneTransforms> = bench.examples.iter().map(|e| e.transforms.clone()).collect();
            for v in 0..bench.rig.mesh().positions.len() {
                let mut x = features(&bench, &correction, &set, v, &training);
                let mut y = Mat::zeros(x.nrows(), 1);
                for i in 0..x.nrows() {
                    let (scale, target) = row(&bench, c0, i / 3, v);
                    (0..x.ncols()).for_each(|k| x[(i, k)] *= scale);
                    y[(i, 0)] = scale * target[i % 3];
                }
                let solution = ridge(&x, 0.03, &(x.transpose() * &y));
                let expected = features(&bench, &correction, &set, v, &poses) * &solution;
                for (s, skin) in got.iter().enumerate() {
                    let expected = DVec3::from_array([0, 1, 2].map(|j| expected[(3 * s + j, 0)]));
                    assert!(skin[v].distance(expected) < 1e-9, "{frame:?} {c0} vertex {v}: {} {expected}", skin[v]);
                }
                let left = &x * &solution - &y;
                let touched = |s: &usize| bench.examples[*s].local.as_ref().is_none_or(|l| l.mask.as_ref().unwrap()[v]);
                for s in (0..bench.examples.len()).filter(touched) {
                    squares += (0..3).map(|j| left[(3 * s + j, 0)].powi(2)).sum::<f64>();
                    rows += 1;
                }
            }
            let rms = (squares / rows as f64).sqrt();
            assert!((report.train - rms).abs() < 1e-9 * rms, "{frame:?}: {} {rms}", report.train);
        }
    }
}

/// Masks of ones, and what was shown beside them, change no bit; a row of weight ¼ is one of half the importance.
#[test]
fn masks_of_ones_change_nothing_and_a_weight_is_a_squared_importance() {
    let (_, bench) = small_bench(12);
    let set = settings(CorrectionFrame::Anchor);
    let whole = fit(&bench, &set);
    let mut ones = bench.clone();
    for (example, base) in ones.examples.iter_mut().zip(&bench.base) {
        let mask = Some(vec![true; base.len()]);
        example.local = Some(LocalSculpt { mask, shown: Some(base.clone()) });
    }
    let same = fit(&ones, &set);
    assert_eq!(format!("{:?}", same.correction), format!("{:?}", whole.correction));
    assert_eq!(same.report, whole.report);

    let (mut half, mut local) = (bench.clone(), bench.clone());
    half.examples[4].importance *= 0.5;
    let mut mask = vec![false; bench.base[0].len()];
    mask[0] = true;
    local.examples[4].local = Some(LocalSculpt { mask: Some(mask), shown: Some(bench.examples[4].positions.clone()) });
    let set = JointSettings { untouched: 0.25, ball: false, ..given(CorrectionFrame::Blend, 0.05) };
    let (half, local) = (fit(&half, &set).correction, fit(&local, &set).correction);
    let pose = &bench.examples[7].transforms;
    let (half, local) = (deltas(&bench, &half, pose).0, deltas(&bench, &local, pose).0);
    assert!(largest_distance(&half[1..], &local[1..]) < 1e-12 && half[0].distance(local[0]) > 1e-6);
}

/// Of two sculpts of one pose the later holds where it was touched; where it was not it says nothing, whatever c₀ is.
#[test]
fn the_later_sculpt_of_a_pose_holds_where_it_was_touched() {
    let (arm, bench) = Bench::arm(60, 50);
    let count = bench.base[0].len();
    let mask: Vec<bool> = (0..count).map(|v| v % 2 == 0).collect();
    let lifted: Vec<DVec3> = bench.examples[5].positions.iter().map(|p| *p + DVec3::Z * 0.02).collect();
    let (mut two, mut one) = (bench.clone(), bench.clone());
    two.examples.push(Example {
        positions: lifted.clone(),
        local: Some(LocalSculpt { mask: Some(mask.clone()), shown: None }),
        ..bench.examples[5].clone()
    });
    two.base.push(bench.base[5].clone());
    (0..count).filter(|v| mask[*v]).for_each(|v| one.examples[5].positions[v] = lifted[v]);
    for lambda in [Some(0.02), None] {
        let set = JointSettings { lambda, ..given(CorrectionFrame::Anchor, 0.02) };
        let (two, one) = (fit(&two, &set), fit(&one, &set));
        // Whole skins of many poses predict each other, so that poses left out choose for the sculpt as well.
        assert_eq!(two.report.prior, lambda.is_none().then_some(Prior::LeftOut));
        assert_eq!(two.report.lambda, one.report.lambda);
        for pose in unseen(&arm, 3) {
            assert!(
                largest_distance(&deltas(&bench, &two.correction, &pose).0, &deltas(&bench, &one.correction, &pose).0)
                    < 1e-9
            );
        }
    }
}

/// Sculpts whose masks are found: skin that nobody touched is the base to the last bit, however much other skin moves; rows are few, and
/// the calm default is taken.
#[test]
fn untouched_vertices_keep_the_base_and_few_sculpts_choose_nothing() {
    let (arm, bench) = Bench::arm(4, 50);
    let mut local = bench.clone();
    let far = |v: usize, s: usize| bench.rig.mesh().positions[v].distance(bench.rig.mesh().positions[20 + s]) > 0.3;
    for (s, (example, base)) in local.examples.iter_mut().zip(&bench.base).enumerate() {
        for v in (0..base.len()).filter(|&v| far(v, s)) {
            // Files round.
            example.positions[v] = base[v] + DVec3::splat(1e-7);
        }
        example.local = Some(LocalSculpt::default());
    }
    let JointFit { correction, report } = fit(&local, &settings(CorrectionFrame::Anchor));
    assert_eq!(report.prior, Some(Prior::Calm));
    assert!(report.lambda >= 1e-3 && report.sweep.is_empty());
    let touched =
        |v: usize| (0..4).any(|s| local.examples[s].positions[v].distance(bench.base[s][v]) > 1e-5 * bench.length);
    let (mut moved, mut still) = (0, 0);
    for pose in unseen(&arm, 5) {
        for (v, delta) in deltas(&bench, &correction, &pose).0.into_iter().enumerate() {
            match touched(v) {
                true => moved += usize::from(delta.length() > 1e-6),
                false => {
                    assert_eq!(delta, DVec3::ZERO, "vertex {v}");
                    still += 1;
                }
            }
        }
    }
    assert!(moved > 20 && still > 20, "{moved} {still}");
    assert_eq!(report.touched, (0..bench.base[0].len()).filter(|&v| touched(v)).count());
}
