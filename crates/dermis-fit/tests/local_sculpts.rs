//! Local sculpts in multi-weight enveloping: rows count by what their example says of a vertex.

mod bench;

use bench::{Bench, deltas};
use dermis_fit::method::{FitInput, Method};
use dermis_fit::mwe::{Anchor, RowChoice, SolvePrecision, Solver, Strength};
use dermis_fit::{MweSettings, silent};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, Example, ExampleSet, LocalSculpt};
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::solve_shifted;
use dermis_testkit::{Arm, ArmPose, Planted, Random, largest_distance};

/// Unseen poses of the arm.
fn unseen(count: usize) -> Vec<BoneTransforms> {
    let (mut random, arm) = (Random::new(300), Arm::new(9, 6));
    (0..count).map(|_| arm.transforms(&ArmPose::random(&mut random))).collect()
}

/// The default form at a given s, every pose a row of its own.
fn given(s: f64) -> MweSettings {
    MweSettings { strength: Strength::Given(s), duplicates: -1.0, guard: false, ..MweSettings::for_poses(100, false) }
}

fn local(mask: Vec<bool>, shown: Option<Vec<DVec3>>) -> Option<LocalSculpt> {
    Some(LocalSculpt { mask: Some(mask), shown })
}

/// Every third example is a local sculpt that touches the lower half of the vertices; it shows nonsense elsewhere.
fn masked(bench: &Bench) -> Bench {
    let mut made = bench.clone();
    let count = made.base[0].len();
    let mut random = Random::new(12);
    for (example, base) in made.examples.iter_mut().zip(&bench.base).skip(1).step_by(3) {
        let shown = base.iter().map(|p| *p + DVec3::splat(0.01) * random.between(-1.0, 1.0)).collect();
        example.positions[count / 2..].fill(DVec3::splat(9.0));
        example.local = local((0..count).map(|v| v < count / 2).collect(), Some(shown));
    }
    made
}

/// Features of a vertex in some poses, by the definition: bones but its anchor, times its maps.
fn features(bench: &Bench, anchor: BoneIndex, v: usize, poses: &[BoneTransforms]) -> Mat<f64> {
    let bones: Vec<(BoneIndex, f64)> = bench.maps.of(v).iter().copied().filter(|(bone, _)| *bone != anchor).collect();
    Mat::from_fn(poses.len(), 12 * bones.len(), |s, c| {
        let (bone, mu) = bones[c / 12];
        let seen = poses[s][anchor].inverse() * poses[s][bone];
        let (row, column) = (c % 12 / 4, c % 4);
        mu * match column {
            3 => seen.translation[row] / bench.length,
            _ => seen.matrix3.col(column)[row] - f64::from(u8::from(row == column)),
        }
    })
}

/// Oracle: a dense ridge regression of every vertex, its rows times the root of their weight.
#[test]
fn rows_weigh_what_their_example_says_of_the_vertex() {
    let (_, bench) = Bench::arm(18, 21);
    let bench = masked(&bench);
    let (seen, probes): (Vec<BoneTransforms>, _) =
        (bench.examples.iter().map(|e| e.transforms.clone()).collect(), unseen(3));
    for untouched in [0.0, 0.1, 1.0] {
        let model = bench.fit(&MweSettings { untouched, ..given(0.03) }).correction;
        let got: Vec<Vec<DVec3>> = probes.iter().map(|pose| deltas(&model, pose)).collect();
        for v in 0..bench.base[0].len() {
            let anchor = bench.maps.dominant(v).unwrap();
            let mut x = features(&bench, anchor, v, &seen);
            let mut y = Mat::zeros(seen.len(), 3);
            for (s, example) in bench.examples.iter().enumerate() {
                let (weight, skin) = match &example.local {
                    Some(LocalSculpt { mask: Some(mask), shown: Some(shown) }) if !mask[v] => (untouched, shown[v]),
                    _ => (1.0, example.positions[v]),
                };
                let target = seen[s][anchor].matrix3.inverse() * (skin - bench.base[s][v]);
                (0..x.ncols()).for_each(|c| x[(s, c)] *= f64::sqrt(weight));
                (0..3).for_each(|j| y[(s, j)] = weight.sqrt() * target[j]);
            }
            let u = solve_shifted((x.transpose() * &x).as_ref(), 0.03, (x.transpose() * &y).as_ref()).unwrap();
            let expected = features(&bench, anchor, v, &probes) * &u;
            for (s, skin) in got.iter().enumerate() {
                let expected = probes[s][anchor].matrix3 * DVec3::from_array([0, 1, 2].map(|j| expected[(s, j)]));
                assert!(skin[v].distance(expected) < 1e-9, "{untouched}, vertex {v}: {} {expected}", skin[v]);
            }
        }
    }
}

#[test]
fn masks_of_ones_change_no_bit() {
    let (_, bench) = Bench::arm(18, 22);
    let mut ones = bench.clone();
    for (example, base) in ones.examples.iter_mut().zip(&bench.base) {
        example.local = local(vec![true; base.len()], Some(base.clone()));
    }
    for solve_in in [SolvePrecision::Double, SolvePrecision::Single] {
        for poses in [18, 12] {
            let settings = MweSettings { solve_in, ..MweSettings::for_poses(poses, false) };
            let (whole, same) = (bench.fit(&settings), ones.fit(&settings));
            assert_eq!(format!("{:?}", same.correction), format!("{:?}", whole.correction));
            assert_eq!(same.report, whole.report);
        }
    }
}

/// The vertex that a sculpt touches.
const ONE: usize = 27;

/// A row of weight w is one of importance √w, two of them are a row of importance √2, and one of weight 0 is none.
#[test]
fn a_weight_is_a_squared_importance_and_a_row_without_weight_is_absent() {
    let (_, bench) = Bench::arm(12, 23);
    let count = bench.base[0].len();
    let one_touched: Vec<bool> = (0..count).map(|v| v == ONE).collect();
    let fitted = |bench: &Bench, settings: &MweSettings| -> Vec<Vec<DVec3>> {
        let model = bench.fit(settings).correction;
        unseen(3).iter().map(|pose| deltas(&model, pose)).collect()
    };
    let differ = |a: &[Vec<DVec3>], b: &[Vec<DVec3>]| {
        let (mut one, mut others) = (0.0f64, 0.0f64);
        for (v, (a, b)) in a.iter().flatten().zip(b.iter().flatten()).enumerate() {
            let most = if v % count == ONE { &mut one } else { &mut others };
            *most = most.max(a.distance(*b));
        }
        (one, others)
    };
    for (solver, rows) in
        [(Solver::Batched, RowChoice::Full), (Solver::Axes, RowChoice::Full), (Solver::Batched, RowChoice::Row)]
    {
        let settings = MweSettings { solver, rows, untouched: 0.25, ..given(0.05) };
        let (mut half, mut sculpt) = (bench.clone(), bench.clone());
        half.examples[4].importance = 0.5;
        sculpt.examples[4].local = local(one_touched.clone(), Some(bench.examples[4].positions.clone()));
        let (first, others) = differ(&fitted(&half, &settings), &fitted(&sculpt, &settings));
        assert!(others < 1e-12 && first > 1e-6, "{first} {others}");

        let (mut heavy, mut twice) = (bench.clone(), bench.clone());
        heavy.examples[4].importance = 2f64.sqrt();
        twice.examples.push(bench.examples[4].clone());
        twice.base.push(bench.base[4].clone());
        let (first, others) = differ(&fitted(&heavy, &settings), &fitted(&twice, &settings));
        assert!(first.max(others) < 1e-12, "{first} {others}");

        let absent = bench.subset(&[0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11]);
        let silent = MweSettings { untouched: 0.0, ..settings };
        let (first, others) = differ(&fitted(&absent, &silent), &fitted(&sculpt, &silent));
        assert!(others < 1e-12 && first > 1e-6, "{first} {others}");
    }
}

/// The setting multiplies weights by label: twice the weight is the example twice, no weight is none.
#[test]
fn the_setting_of_importance_weighs_examples_by_label() {
    let arm = Arm::new(9, 6);
    let mut examples = arm.examples(&ArmPose::some(12, 29));
    examples.iter_mut().enumerate().for_each(|(s, example)| example.label = format!("pose {s:02}"));
    let skins = |method: &Method, examples: &[Example]| -> Vec<Vec<DVec3>> {
        let set = ExampleSet::new("arm".into(), examples.to_vec(), &arm.rig).unwrap();
        let mut learnt = method.fit(&FitInput::new(&arm.rig, &set), &silent).unwrap();
        let skin = |pose: &BoneTransforms| {
            let mut skin = vec![DVec3::ZERO; arm.rig.mesh().positions.len()];
            learnt.deformer.evaluate(pose, None, &mut skin).unwrap();
            skin
        };
        unseen(3).iter().map(skin).collect()
    };
    let apart = |a: &[Vec<DVec3>], b: &[Vec<DVec3>]| {
        a.iter().zip(b).map(|(a, b)| largest_distance(a, b)).fold(0.0f64, f64::max)
    };
    let ridge = [("lambda", "0.05")];
    let own = [("duplicates", "-1"), ("rows", "full"), ("guard", "off")];
    for (method, own) in
        [(Method::mwe(), &own[..]), (Method::joint(), &[("base", "lbs"), ("composites", "off"), ("guard", "off")])]
    {
        let with = |importance: &str| {
            let said = [&ridge[..], own, &[("importance", importance)]].concat();
            method.with(&said).unwrap()
        };
        let plain = method.with(&[&ridge[..], own].concat()).unwrap();
        let twice: Vec<Example> = examples.iter().chain(&examples[4..6]).cloned().collect();
        let without: Vec<Example> = examples[..10].to_vec();
        let (heavy, doubled) =
            (skins(&with("*=0,pose 0*=1,pose 04=2,pose 05=2"), &examples), skins(&plain, &twice[..]));
        assert!(apart(&heavy, &skins(&with("pose 04=2,*05=2,pose 1*=0"), &examples)) < 1e-12, "{}", method.name());
        let doubled_without: Vec<Example> = [&examples[..10], &examples[4..6]].concat();
        assert!(apart(&heavy, &skins(&plain, &doubled_without)) < 1e-9, "{}", method.name());
        assert!(apart(&heavy, &doubled) > 1e-6 && apart(&heavy, &skins(&plain, &without)) > 1e-6, "{}", method.name());
    }
    let set = ExampleSet::new("arm".into(), examples, &arm.rig).unwrap();
    let typo = Method::mwe().with(&[("importance", "squat=2")]).unwrap();
    let report = typo.fit(&FitInput::new(&arm.rig, &set), &silent).unwrap().report;
    assert!(report.warnings.iter().any(|w| w.to_string().contains("no example is labelled squat")), "{report}");
    let refused = Method::Dqs.with(&[("importance", "squat=2")]).unwrap_err().to_string();
    assert_eq!(refused, "importance serves joint, mwe, psd, not dqs");
}

/// Oracle: the kernel system by hand: an example of weight w has the smoothing over w.
#[test]
fn a_weight_divides_the_smoothing_of_a_pose_space() {
    let arm = Arm::new(9, 6);
    let pose = ArmPose { elbow: 1.2, ..ArmPose::REST };
    let examples = arm.examples(&[ArmPose::REST, pose]);
    let set = ExampleSet::new("arm".into(), examples.clone(), &arm.rig).unwrap();
    let left = |importance: &str| {
        let method = Method::psd().with(&[("lambda", "0.5"), ("importance", importance)]).unwrap();
        let mut learnt = method.fit(&FitInput::new(&arm.rig, &set), &silent).unwrap();
        let mut skin = vec![DVec3::ZERO; arm.rig.mesh().positions.len()];
        learnt.deformer.evaluate(&examples[1].transforms, None, &mut skin).unwrap();
        let base = bench::skinned(&arm.rig, &examples[1].transforms);
        let v = (0..skin.len()).max_by(|a, b| {
            let far = |v: &usize| examples[1].positions[*v].distance(base[*v]);
            far(a).total_cmp(&far(b))
        });
        let v = v.unwrap();
        (skin[v] - base[v]).length() / (examples[1].positions[v] - base[v]).length()
    };
    // One example over rest, whose kernel is k: it is met by k / (k + rho / w).
    let (one, four) = (left("*=1"), left("elbow=9,*=4"));
    let k = 0.5 * one / (1.0 - one);
    assert!((four - k / (k + 0.5 / 4.0)).abs() < 1e-6, "{one} {four} {k}");
}

/// Of two sculpts of one pose the later holds where it was touched; where it was not it says nothing, whatever c₀ is.
#[test]
fn the_later_sculpt_of_a_pose_holds_where_it_was_touched() {
    let (_, bench) = Bench::arm(40, 24);
    let count = bench.base[0].len();
    let mask: Vec<bool> = (0..count).map(|v| v % 2 == 0).collect();
    let lifted: Vec<DVec3> = bench.examples[5].positions.iter().map(|p| *p + DVec3::Z * 0.02).collect();
    let (mut two, mut one) = (bench.clone(), bench.clone());
    two.examples.push(Example {
        positions: lifted.clone(),
        local: local(mask.clone(), None),
        ..bench.examples[5].clone()
    });
    two.base.push(bench.base[5].clone());
    (0..count).filter(|v| mask[*v]).for_each(|v| one.examples[5].positions[v] = lifted[v]);
    for settings in [given(0.02), MweSettings::for_poses(40, false)] {
        let (two, one) = (two.fit(&settings), one.fit(&settings));
        assert_eq!(two.report.s, one.report.s);
        for pose in unseen(3) {
            assert!(largest_distance(&deltas(&two.correction, &pose), &deltas(&one.correction, &pose)) < 1e-9);
        }
    }
}

/// Each sculpt touches one half of the limb and shows the base elsewhere. With masks the planted model is found again where
/// the halves were touched; without them each half un-teaches the other.
#[test]
fn sculpts_of_halves_teach_a_planted_model() {
    let arm = Arm::new(9, 6);
    let maps = Bench::new(&arm.rig, Vec::new()).maps;
    let planted = Planted::new(&maps, arm.length(), 0.01, 25);
    let poses: Vec<BoneTransforms> = ArmPose::some(120, 26).iter().map(|pose| arm.transforms(pose)).collect();
    let mut bench = Bench::new(&arm.rig, planted.examples(&arm.rig, &poses));
    let half = bench.base[0].len() / 2;
    for (s, (example, base)) in bench.examples.iter_mut().zip(&bench.base).enumerate() {
        let untouched = if s % 2 == 0 { half..base.len() } else { 0..half };
        example.positions[untouched.clone()].copy_from_slice(&base[untouched]);
        example.local = Some(LocalSculpt::default());
    }
    let expected: Vec<Vec<DVec3>> =
        unseen(10).iter().map(|pose| (0..2 * half).map(|v| planted.delta(v, pose)).collect()).collect();
    let left = |settings: &MweSettings| {
        let made = bench.fit(settings);
        let found: Vec<Vec<DVec3>> = unseen(10).iter().map(|pose| deltas(&made.correction, pose)).collect();
        let squares = |a: &[Vec<DVec3>], scale: f64| -> f64 {
            let pairs = a.iter().flatten().zip(expected.iter().flatten());
            pairs.map(|(a, b)| (*a * scale - *b).length_squared()).sum()
        };
        (made.report, (squares(&found, 1.0) / squares(&found, 0.0)).sqrt())
    };
    let settings = MweSettings { guard: false, ..MweSettings::for_poses(120, false) };
    let (report, alone) = left(&MweSettings { untouched: 0.0, ..settings.clone() });
    // The bias of the least ridge of the grid.
    assert!(alone < 5e-3, "{alone}");
    assert!(report.left_out_share.unwrap() < 0.1 && !report.sweep.is_empty() && report.touched == 2 * half);
    let (whole, weighed) = (left(&MweSettings { untouched: 1.0, ..settings.clone() }).1, left(&settings).1);
    println!(
        "left of the planted model: {alone:.4} without untouched rows, {weighed:.3} by default, {whole:.3} as whole skins"
    );
    assert!(weighed < 0.5 * whole, "{weighed} {whole}");
}

/// Few sculpts of far poses predict nothing of each other: they are met, and skin that nobody touched is the base to the bit.
#[test]
fn few_sculpts_are_met_and_untouched_skin_keeps_the_base() {
    let arm = Arm::new(9, 6);
    let poses = [
        ArmPose { elbow: 1.6, ..ArmPose::REST },
        ArmPose { wrist: DVec3::Z, ..ArmPose::REST },
        ArmPose { shoulder: DVec3::Y, ..ArmPose::REST },
    ];
    let mut sculpts = Bench::new(&arm.rig, arm.examples(&poses));
    let rest = sculpts.rig.mesh().positions.clone();
    let near = |v: usize, s: usize| rest[v].distance(rest[[24, 42, 6][s]]) < 0.1;
    for (s, (example, base)) in sculpts.examples.iter_mut().zip(&sculpts.base).enumerate() {
        // Files round.
        (0..base.len()).filter(|v| !near(*v, s)).for_each(|v| example.positions[v] = base[v] + DVec3::splat(1e-7));
        example.local = Some(LocalSculpt::default());
    }
    let made = sculpts.fit(&MweSettings::for_poses(3, false));
    assert!(made.report.sweep.is_empty() && made.report.left_out_share.unwrap() > 0.85, "{:?}", made.report);
    let unit = 1e-5 * sculpts.length;
    let is_touched = |v: usize| (0..3).any(|s| sculpts.examples[s].positions[v].distance(sculpts.base[s][v]) > unit);
    let (mut asked, mut missed) = (0.0, 0.0);
    for (s, (example, base)) in sculpts.examples.iter().zip(&sculpts.base).enumerate() {
        let moved = deltas(&made.correction, &example.transforms);
        for v in 0..base.len() {
            let target = example.positions[v] - base[v];
            match is_touched(v) {
                true if target.length() > unit => {
                    asked += target.length_squared();
                    missed += (moved[v] - target).length_squared();
                }
                true => {}
                false => assert_eq!(moved[v], DVec3::ZERO, "sculpt {s}, vertex {v}"),
            }
        }
    }
    println!("{}", (missed / asked).sqrt());
    assert!(missed < 0.1 * 0.1 * asked, "{missed} of {asked}");
    assert!((0..sculpts.base[0].len()).any(|v| !is_touched(v)));
    assert_eq!(made.report.touched, (0..sculpts.base[0].len()).filter(|v| is_touched(*v)).count());
}

/// What was shown is compared in the frame of the anchor, so that a character that stands elsewhere is taught alike.
#[test]
fn sculpts_teach_alike_wherever_the_character_stands() {
    let (_, bench) = Bench::arm(18, 28);
    let bench = masked(&bench);
    let g = dermis_testkit::some_motion(1.1, DVec3::new(3.0, -2.0, 5.0));
    let mut moved = bench.clone();
    for (example, base) in moved.examples.iter_mut().zip(&mut moved.base) {
        *example = Example { local: example.local.clone(), ..dermis_testkit::moved(example, g) };
        base.iter_mut().for_each(|p| *p = g.transform_point3(*p));
        let shown = example.local.as_mut().and_then(|local| local.shown.as_mut());
        shown.into_iter().flatten().for_each(|p| *p = g.transform_point3(*p));
    }
    let settings = MweSettings { anchor: Anchor::Dominant, ..MweSettings::for_poses(18, false) };
    let (here, there) = (bench.fit(&settings), moved.fit(&settings));
    assert_eq!(here.report.s, there.report.s);
    for pose in unseen(3) {
        assert!(largest_distance(&deltas(&here.correction, &pose), &deltas(&there.correction, &pose)) < 1e-9);
    }
}
