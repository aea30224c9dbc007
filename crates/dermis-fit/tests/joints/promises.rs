//! What moves nothing, what bounds the model, what it refuses.

use super::*;

#[test]
fn the_bind_pose_is_exact_wherever_the_character_stands() {
    let (_, bench) = Bench::arm(20, 61);
    let g = some_motion(1.0, DVec3::new(2.0, -1.0, 0.5));
    for set in FRAMES.into_iter().flat_map(|frame| forms_of(settings(frame))) {
        let (model, frame) = (fit(&bench, &set).correction, set.frame);
        for pose in [BoneTransforms::identity(4), BoneTransforms::identity(4).moved(g)] {
            let most = deltas(&bench, &model, &pose).0.into_iter().map(DVec3::length).fold(0.0, f64::max);
            assert!(most < 1e-9 * bench.length, "{frame:?}: {most}");
        }
        assert!(deltas(&bench, &model, &BoneTransforms::identity(4)).0.iter().all(|d| *d == DVec3::ZERO));
    }
}

#[test]
fn moving_the_character_in_training_or_after_moves_the_result() {
    let (arm, bench) = Bench::arm(24, 62);
    let mut random = Random::new(95);
    let elsewhere: Vec<DAffine3> =
        (0..24).map(|_| some_motion(random.between(0.0, 6.0), 3.0 * random.direction())).collect();
    let walked = |e: &Example, g: &DAffine3| moved(e, *g);
    let exact: Vec<Example> = bench.examples.iter().zip(&elsewhere).map(|(e, g)| walked(e, g)).collect();
    let stored = exact.iter().map(|e| Example {
        transforms: stored_in_f32(bench.rig.skeleton(), &e.transforms),
        positions: e.positions.iter().map(|p| p.as_vec3().as_dvec3()).collect(),
        ..e.clone()
    });
    for (examples, tolerance) in [(exact.clone(), 1e-9), (stored.collect(), 3e-6)] {
        let other = Bench::new(&bench.rig, examples);
        for set in FRAMES.into_iter().flat_map(|frame| forms_of(given(frame, 1e-2))) {
            let frame = set.frame;
            let [here, there] = [&bench, &other].map(|bench| fit(bench, &set).correction);
            for (pose, g) in unseen(&arm, 3).iter().zip(&elsewhere) {
                let expected: Vec<DVec3> = posed(&bench, &here, pose).iter().map(|p| g.transform_point3(*p)).collect();
                let off = largest_distance(&posed(&other, &there, &pose.moved(*g)), &expected);
                assert!(off < tolerance * bench.length, "{frame:?}: {off}");
            }
        }
    }
}

#[test]
fn the_unit_of_length_does_not_matter() {
    let (arm, bench) = Bench::arm(24, 63);
    for factor in [1e-3, 1e3] {
        let mut rig = bench.rig.clone();
        change_rig(&mut rig, |mesh, skeleton, _| {
            mesh.positions.iter_mut().for_each(|p| *p *= factor);
            let bind = skeleton.bind().iter().map(|m| DAffine3 { translation: m.translation * factor, ..*m }).collect();
            *skeleton = Skeleton::new(skeleton.names().to_vec(), skeleton.parents().to_vec(), bind).unwrap();
        });
        let other = Bench::new(&rig, bench.examples.iter().map(|e| scaled(e, factor)).collect());
        for set in FRAMES.into_iter().flat_map(|frame| forms_of(settings(frame))) {
            let frame = set.frame;
            let [here, there] = [&bench, &other].map(|bench| fit(bench, &set));
            assert_eq!(here.report.lambda, there.report.lambda);
            for pose in unseen(&arm, 3) {
                let expected: Vec<DVec3> = posed(&bench, &here.correction, &pose).iter().map(|p| *p * factor).collect();
                let got = posed(&other, &there.correction, &scaled_pose(&pose, factor));
                let off = largest_distance(&got, &expected);
                assert!(off < 1e-9 * other.length, "{frame:?} {factor}: {off}");
            }
        }
    }
}

#[test]
fn the_order_of_poses_and_the_number_of_threads_change_nothing() {
    let (arm, bench) = Bench::arm(24, 64);
    let shuffled = bench.subset(&Random::new(96).order(24));
    for set in FRAMES.into_iter().flat_map(|frame| forms_of(settings(frame))) {
        let frame = set.frame;
        let here = fit(&bench, &set);
        let there = fit(&shuffled, &set);
        assert_eq!(here.report.lambda, there.report.lambda);
        for pose in unseen(&arm, 3) {
            let off =
                largest_distance(&posed(&bench, &here.correction, &pose), &posed(&bench, &there.correction, &pose));
            assert!(off < 1e-9, "{frame:?}: {off}");
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let same = pool.install(|| fit(&bench, &set));
            assert_eq!(same.report, here.report);
            assert_eq!(same.correction.coefficients, here.correction.coefficients);
            assert_eq!(same.correction.shared, here.correction.shared);
        }
    }
}

#[test]
fn the_order_of_bones_changes_nothing() {
    let tree = Tree::new(9, 60, 65);
    let poses = tree.poses(20, 0.8, 66);
    let mut random = Random::new(97);
    let example = |transforms: BoneTransforms, random: &mut Random| Example {
        label: String::new(),
        time: None,
        positions: skinned(&tree.rig, &transforms).iter().map(|p| *p + 0.05 * random.direction()).collect(),
        transforms,
        importance: 1.0,
        local: None,
    };
    let bench = Bench::new(&tree.rig, poses.into_iter().map(|pose| example(pose, &mut random)).collect());
    // Another order in which parents come first: always the last bone that may come.
    let parents = tree.rig.skeleton().parents();
    let (mut order, mut place) = (Vec::new(), vec![None; 9]);
    while order.len() < 9 {
        let may = |b: &usize| place[*b].is_none() && parents.as_slice()[*b].is_none_or(|p| place[p.get()].is_some());
        let next = (0..9).rev().find(may).unwrap();
        place[next] = Some(BoneIndex::new(order.len()));
        order.push(next);
    }
    assert!(order.windows(2).any(|w| w[0] > w[1]));
    let to_new = |b: BoneIndex| place[b.get()].unwrap();
    let reordered =
        |pose: &BoneTransforms| BoneTransforms::new(order.iter().map(|&b| pose[BoneIndex::new(b)]).collect());
    let mut rig = tree.rig.clone();
    let skeleton = tree.rig.skeleton();
    let reordered_skeleton = Skeleton::new(
        order.iter().map(|&b| skeleton.names()[BoneIndex::new(b)].clone()).collect(),
        order.iter().map(|&b| parents[BoneIndex::new(b)].map(to_new)).collect(),
        order.iter().map(|&b| skeleton.bind()[BoneIndex::new(b)]).collect(),
    )
    .unwrap();
    let rows = tree.weights().rows().map(|row| row.iter().map(|e| (to_new(e.0), e.1)).collect::<Vec<_>>());
    let reordered_weights = Influences::from_rows(rows).unwrap();
    change_rig(&mut rig, |_, skeleton, weights| {
        (*skeleton, *weights) = (reordered_skeleton, Some(reordered_weights));
    });
    let examples = bench.examples.iter().map(|e| Example { transforms: reordered(&e.transforms), ..e.clone() });
    let other = Bench::new(&rig, examples.collect());
    // Every joint is one of the skeleton, so that no joint is turned round by the order.
    let edges = JointTree::new(skeleton, tree.weights()).edges;
    assert!(edges.len() == 8 && edges.iter().all(|&(a, b)| parents[b] == Some(a)));
    for frame in FRAMES {
        let [here, there] = [&bench, &other].map(|bench| fit(bench, &given(frame, 1e-2)).correction);
        for pose in tree.poses(4, 1.5, 67) {
            let off = largest_distance(&posed(&bench, &here, &pose), &posed(&other, &there, &reordered(&pose)));
            assert!(off < 1e-9, "{frame:?}: {off}");
        }
    }
}

// ---- What bounds it ----

/// The largest change of a correction, seen from its anchor and in units of ρ.
fn change(arm: &Arm, bench: &Bench, model: &Joints, poses: [ArmPose; 2]) -> f64 {
    let [before, after] = poses.map(|pose| {
        let transforms = arm.transforms(&pose);
        let turn = |v: usize| transforms[model.weights.dominant(v).unwrap()].matrix3.transpose();
        deltas(bench, model, &transforms).0.into_iter().enumerate().map(|(v, d)| turn(v) * d).collect::<Vec<_>>()
    });
    let rho = bench.training().largest_residuals();
    let moved = (0..rho.len()).filter(|v| rho[*v] > 1e-6).map(|v| before[v].distance(after[v]) / rho[v]);
    moved.fold(0.0, f64::max)
}

#[test]
fn a_joint_frozen_in_training_has_no_influence() {
    let arm = Arm::new(9, 6);
    for joint in 1..4 {
        for far in [None, Some(0.0), Some(20.0)] {
            let mut random = Random::new(31);
            let poses: Vec<ArmPose> = ArmPose::some(24, 30).into_iter().map(|pose| pose.held(joint)).collect();
            let mut examples = arm.examples(&poses);
            for example in &mut examples {
                // Noise of 1e-7, or matrices stored in f32 of a character that walks far away.
                example.transforms = match far {
                    None => rounded_pose(&example.transforms, 1e-7, arm.length(), &mut random),
                    Some(far) => {
                        let g = some_motion(random.between(0.0, 3.0), random.direction() * far);
                        *example = moved(example, g);
                        stored_in_f32(arm.rig.skeleton(), &example.transforms)
                    }
                };
            }
            let bench = Bench::new(&arm.rig, examples);
            for set in FRAMES.into_iter().flat_map(|frame| forms_of(given(frame, 1e-3))) {
                let (frame, set) = (set.frame, JointSettings { ball: false, rounding: 64, ..set });
                let JointFit { correction, report } = fit(&bench, &set);
                let frozen = report.joints.iter().filter(|j| j.frozen).map(|j| j.to.get()).collect::<Vec<_>>();
                assert_eq!(frozen, [joint], "{far:?}");
                let pose = ArmPose::random(&mut random).held(joint);
                let of_frozen = change(&arm, &bench, &correction, [pose, pose.turned(joint)]);
                assert!(of_frozen < 0.01, "joint {joint}, {far:?} m, {frame:?}: {of_frozen} rho");
                let free = joint % 3 + 1;
                let of_free = change(&arm, &bench, &correction, [pose.held(free), pose.turned(free)]);
                assert!(of_free > 0.1, "joint {free} moved in training, but changes {of_free} rho");
            }
        }
    }
}

#[test]
fn no_pose_moves_a_vertex_farther_than_one_and_a_half_times_what_training_asked() {
    let (arm, bench, _) = exercise_with_an_agreeing_hand();
    let rest = &arm.rig.mesh().positions;
    let rho = bench.training().largest_residuals();
    for set in FRAMES.into_iter().flat_map(|frame| forms_of(given(frame, 1e-4))) {
        let model = fit(&bench, &set).correction;
        let (mut random, mut held, mut limited, mut pose) = (Random::new(40), 0, 0, JointPose::default());
        for _ in 0..1000 {
            let transforms = arm.wild(&mut random, PI);
            pose.prepare(&model, &transforms);
            limited += pose.limited;
            for (v, &rho) in rho.iter().enumerate() {
                let (delta, acted) = model.at(v, rest[v], &pose);
                held += usize::from(acted);
                assert!(delta.length() <= 1.5 * rho * (1.0 + 1e-6), "vertex {v}: {delta} of {rho}");
                assert!(rho > 0.0 || delta == DVec3::ZERO, "vertex {v}: {delta}");
            }
        }
        assert!(held > 0 && limited > 0, "the stress reached no bound: it proves nothing");
    }
}

#[test]
fn broken_transforms_leave_a_finite_correction() {
    let (arm, bench) = Bench::arm(20, 41);
    let mut random = Random::new(42);
    let flat = DMat3::from_diagonal(DVec3::new(1.0, 0.0, 1.0));
    let breaks = [
        DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ONE },
        DAffine3 { matrix3: flat, translation: DVec3::ZERO },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(1e300)), translation: DVec3::splat(1e300) },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(1e-300)), translation: DVec3::X },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::NAN), translation: DVec3::ZERO },
        DAffine3 { matrix3: DMat3::IDENTITY, translation: DVec3::splat(f64::INFINITY) },
    ];
    for set in FRAMES.into_iter().flat_map(|frame| forms_of(given(frame, 1e-2))) {
        let (model, frame) = (fit(&bench, &set).correction, set.frame);
        for broken in breaks {
            for bone in 0..4 {
                let mut bones = arm.transforms(&ArmPose::random(&mut random)).to_vec();
                bones[bone] = broken;
                let (deltas, _) = deltas(&bench, &model, &BoneTransforms::new(bones));
                for (delta, radius) in deltas.into_iter().zip(&model.radii) {
                    assert!(delta.length() <= radius * (1.0 + 1e-6), "{frame:?} {broken:?} bone {bone}: {delta}");
                }
            }
        }
    }
}

// ---- The forest of joints ----

#[test]
fn every_bone_of_an_ik_rig_is_reached_by_as_few_trees_as_there_can_be() {
    let root = |list: &[i64]| list.iter().map(|&p| usize::try_from(p).ok().map(BoneIndex::new)).collect::<Vec<_>>();
    let skeleton = |parents: &[i64]| {
        let n = parents.len();
        Skeleton::new((0..n).map(|b| b.to_string()).collect(), root(parents), vec![DAffine3::IDENTITY; n]).unwrap()
    };
    // Hips, thigh, shin; the foot and the toes hang on a bone of their own, which carries no skin.
    let leg = skeleton(&[-1, 0, 1, -1, 3, 4]);
    let rows = [[(0, 0.5), (1, 0.5)], [(1, 0.6), (2, 0.4)], [(2, 0.5), (4, 0.5)], [(4, 0.3), (5, 0.7)]];
    let rows = rows.map(|row| row.map(|(b, w)| (BoneIndex::new(b), w)).to_vec());
    let edges = JointTree::new(&leg, &Influences::from_rows(rows).unwrap()).edges;
    let mut pairs: Vec<(usize, usize)> = edges.iter().map(|(a, b)| (a.get(), b.get())).collect();
    pairs.sort_unstable();
    // The foot has one ancestor and the shin two: the shin is seen from the foot.
    assert_eq!(pairs, [(0, 1), (1, 2), (4, 2), (4, 5)]);

    // Random rigs with several roots: a forest with a tree per connected part of the graph of shared skin and ancestry.
    let mut random = Random::new(98);
    for _ in 0..200 {
        let n = 2 + random.below(10);
        let parents: Vec<i64> =
            (0..n).map(|b| random.below(b + 1) as i64 - i64::from(random.unit() < 0.4) * 20).collect();
        let parents: Vec<i64> =
            parents.iter().enumerate().map(|(b, &p)| if p < b as i64 { p.max(-1) } else { -1 }).collect();
        let rows: Vec<Vec<(BoneIndex, f64)>> = (0..1 + random.below(8))
            .map(|_| {
                let (k, l) = (random.below(n), random.below(n));
                if k == l {
                    vec![(BoneIndex::new(k), 1.0)]
                } else {
                    vec![(BoneIndex::new(k), 0.7), (BoneIndex::new(l), 0.3)]
                }
            })
            .collect();
        let used: Vec<bool> = (0..n).map(|b| rows.iter().flatten().any(|e| e.0.get() == b)).collect();
        let tree = JointTree::new(&skeleton(&parents), &Influences::from_rows(rows.clone()).unwrap());
        let mut connected: Vec<(usize, usize)> =
            rows.iter().filter(|row| row.len() == 2).map(|row| (row[0].0.get(), row[1].0.get())).collect();
        for b in (0..n).filter(|&b| used[b]) {
            let mut above = parents[b];
            while above >= 0 && !used[above as usize] {
                above = parents[above as usize];
            }
            connected.extend((above >= 0).then_some((above as usize, b)));
        }
        let parts = |pairs: &[(usize, usize)]| {
            let mut part: Vec<usize> = (0..n).collect();
            for _ in 0..n {
                pairs.iter().for_each(|&(a, b)| (part[a], part[b]) = (part[a].min(part[b]), part[a].min(part[b])));
            }
            part
        };
        let edges: Vec<(usize, usize)> = tree.edges.iter().map(|(a, b)| (a.get(), b.get())).collect();
        assert!(edges.iter().all(|&(a, b)| used[a] && used[b]));
        assert_eq!(parts(&edges), parts(&connected), "{parents:?} {rows:?}");
        let trees = (0..n).filter(|&b| parts(&edges)[b] == b).count();
        assert_eq!(edges.len() + trees, n, "a forest has an edge less than bones in each tree");
    }
}

// ---- Input of any kind ----

/// The choice of λ looks at a part of a large mesh only, and says at how many vertices.
#[test]
fn the_report_says_how_many_vertices_chose_and_progress_ends_at_its_total() {
    let tree = Tree::new(2, 1501, 71);
    let examples = tree.poses(3, 0.8, 72).into_iter().map(|transforms| Example {
        label: String::new(),
        time: None,
        positions: skinned(&tree.rig, &transforms).iter().map(|p| *p * 1.01).collect(),
        transforms,
        importance: 1.0,
        local: None,
    });
    let bench = Bench::new(&tree.rig, examples.collect());
    for (most, expected) in [(4000, 1501), (500, 376)] {
        let last = std::sync::Mutex::new((0, 0));
        let few = JointSettings { grid: vec![0.1], inducing: 1, inducing_sliding: 1, ..JointSettings::new(false) };
        let set = JointSettings { sweep_vertices: most, ..few };
        let watch = |done, total| {
            let mut last = last.lock().unwrap();
            *last = (*last).max((done, total));
            ControlFlow::Continue(())
        };
        let fitted = fit_joints(&bench.training(), weights(&bench), &set, &watch).unwrap();
        assert_eq!(fitted.report.sweep_vertices, expected);
        assert_eq!(*last.lock().unwrap(), (1501 + expected as u64, 1501 + expected as u64));
    }
}

#[test]
fn vertices_without_weights_and_training_without_motion_are_left_alone() {
    let (arm, mut bench) = Bench::arm(8, 68);
    let rows = weights(&bench).rows().enumerate().map(|(v, row)| if v == 3 { vec![] } else { row.to_vec() });
    let rows = Influences::from_rows(rows).unwrap();
    change_rig(&mut bench.rig, |_, _, weights| *weights = Some(rows));
    for frame in FRAMES {
        let model = fit(&bench, &settings(frame)).correction;
        for pose in unseen(&arm, 2) {
            let (deltas, _) = deltas(&bench, &model, &pose);
            assert!(deltas[3] == DVec3::ZERO && deltas.iter().all(|d| d.is_finite()));
        }
        for places in [vec![0], vec![1], vec![0, 0, 0]] {
            let fitted = fit(&bench.subset(&places), &settings(frame));
            let (deltas, _) = deltas(&bench, &fitted.correction, &unseen(&arm, 1)[0]);
            assert!(deltas.iter().all(|d| d.is_finite()));
            if places[0] == 0 {
                assert!(fitted.report.corrected == 0 && deltas.iter().all(|d| *d == DVec3::ZERO));
            }
        }
    }
}

#[test]
fn an_example_without_importance_counts_nowhere() {
    let (arm, bench) = Bench::arm(12, 69);
    let mut more = bench.clone();
    let mut wild = arm.example("wild".into(), &ArmPose { shoulder: DVec3::Y * 2.5, ..ArmPose::REST });
    wild.importance = 0.0;
    wild.positions.iter_mut().for_each(|p| *p += DVec3::ONE);
    more.base.insert(4, skinned(&bench.rig, &wild.transforms));
    more.examples.insert(4, wild);
    let [with, without] = [&more, &bench].map(|bench| fit(bench, &settings(CorrectionFrame::Anchor)));
    assert_eq!(with.report, without.report);
    assert_eq!(with.correction.coefficients, without.correction.coefficients);
    assert_eq!(with.correction.radii, without.correction.radii);
}

#[test]
fn bad_input_is_refused_in_words() {
    let (_, bench) = Bench::arm(6, 70);
    let good = settings(CorrectionFrame::Anchor);
    let refused = |bench: &Bench, weights: &Influences, set: &JointSettings| {
        fit_joints(&bench.training(), weights, set, &silent).expect_err("it must be refused")
    };
    let bad_settings = [
        ("sigma", JointSettings { sigma: 0.0, ..good.clone() }),
        ("sigma", JointSettings { sigma: f64::NAN, ..good.clone() }),
        ("limit", JointSettings { limit: 0.9, ..good.clone() }),
        ("limit", JointSettings { limit: f64::NAN, ..good.clone() }),
        ("beta", JointSettings { beta: -1.0, ..good.clone() }),
        ("grid", JointSettings { grid: vec![], ..good.clone() }),
        ("lambda", JointSettings { grid: vec![0.0, 1.0], ..good.clone() }),
        ("grid", JointSettings { grid: vec![1.0, 0.1], ..good.clone() }),
        ("lambda", JointSettings { lambda: Some(f64::INFINITY), ..good.clone() }),
        ("tolerance", JointSettings { tolerance: 0.5, ..good.clone() }),
    ];
    for (setting, set) in &bad_settings {
        let error = refused(&bench, weights(&bench), set);
        assert!(matches!(&error, FitError::Setting { name, .. } if name == setting), "{setting}: {error:?}");
    }
    let few = Influences::from_rows(vec![vec![(FOREARM, 1.0)]]).unwrap();
    assert!(matches!(refused(&bench, &few, &good), FitError::Counts { expected: 56, found: 1, .. }));
    let unknown = Influences::from_rows(vec![vec![(BoneIndex::new(4), 1.0)]; 56]).unwrap();
    assert!(matches!(refused(&bench, &unknown, &good), FitError::Counts { expected: 4, found: 5, .. }));
    let broken = |change: &dyn Fn(&mut Bench)| {
        let mut broken = bench.clone();
        change(&mut broken);
        refused(&broken, weights(&bench), &good)
    };
    assert!(matches!(broken(&|b| b.examples.clear()), FitError::NoExamples));
    assert!(matches!(broken(&|b| b.examples[1].positions[2].x = f64::NAN), FitError::NotFinite { index: 2, .. }));
    assert!(matches!(broken(&|b| b.base[1][2].x = f64::NAN), FitError::NotFinite { index: 2, .. }));
    assert!(matches!(broken(&|b| b.examples[1].positions.truncate(5)), FitError::Counts { .. }));
    assert!(matches!(broken(&|b| b.base.truncate(5)), FitError::Counts { .. }));
    let flattened = |b: &mut Bench| {
        let mut bones = b.examples[1].transforms.to_vec();
        bones[HAND.get()].matrix3.x_axis = DVec3::ZERO;
        b.examples[1].transforms = BoneTransforms::new(bones);
    };
    assert!(matches!(broken(&flattened), FitError::SingularAnchor { bone, .. } if bone == "hand"));
    let cancelled = fit_joints(&bench.training(), weights(&bench), &good, &|_, _| ControlFlow::Break(Cancelled));
    assert!(matches!(cancelled, Err(FitError::Cancelled)));
}
