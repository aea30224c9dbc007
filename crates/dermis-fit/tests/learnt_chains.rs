//! Springs of chains that are learnt from clips: planted ones are found again, skin that does not swing teaches none.

use dermis_deform::lbs;
use dermis_deform::secondary::{Anchor, ChainMotion, ChainSpring, STEP};
use dermis_fit::secondary::{BoneChain, Clip, LearntChain, SecondaryFitError, find_chains, learn_chains};
use dermis_fit::silent;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, Rig, Skeleton};
use dermis_testkit::Random;

/// Bones of the tail.
const TAIL: usize = 3;

/// A trunk along Z from 0 to 1 with two legs, and a tail of three bones of 0.2 m behind it, whose skin is a square tube with blended
/// weights.
fn animal() -> Rig {
    let names = ["root", "hips", "leg.L", "leg.R", "tail.0", "tail.1", "tail.2"];
    let parents = [None, Some(0), Some(1), Some(1), Some(1), Some(4), Some(5)];
    let heads = [
        DVec3::ZERO,
        DVec3::Y,
        DVec3::new(-0.2, 1.0, 0.0),
        DVec3::new(0.2, 1.0, 0.0),
        DVec3::new(0.0, 1.0, -0.1),
        DVec3::new(0.0, 1.0, -0.3),
        DVec3::new(0.0, 1.0, -0.5),
    ];
    // Axes of bones are any.
    let turn = DQuat::from_rotation_y(0.4) * DQuat::from_rotation_x(1.0);
    let bind = heads.iter().map(|head| DAffine3::from_rotation_translation(turn, *head)).collect();
    let skeleton = Skeleton::new(
        names.map(String::from).to_vec(),
        parents.iter().map(|parent| parent.map(BoneIndex::new)).collect(),
        bind,
    )
    .unwrap();
    let (mut positions, mut rows, mut triangles) = (Vec::new(), Vec::new(), Vec::<[u32; 3]>::new());
    for ring in 0..=14 {
        let along = f64::from(ring) * 0.05;
        for (x, y) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
            positions.push(DVec3::new(0.03 * x, 1.0 + 0.03 * y, -along));
        }
        // From bone to bone over 0.06 m.
        let mut row: Vec<(BoneIndex, f64)> = Vec::new();
        let joint = |at: f64| ((along - at) / 0.06 + 0.5).clamp(0.0, 1.0);
        let past = [1.0, joint(0.1), joint(0.3), joint(0.5), 0.0];
        for (bone, pair) in [1, 4, 5, 6].into_iter().zip(past.windows(2)) {
            if pair[0] > pair[1] {
                row.push((BoneIndex::new(bone), pair[0] - pair[1]));
            }
        }
        rows.extend(std::iter::repeat_n(row, 4));
        if ring > 0 {
            for side in 0..4u32 {
                let (a, b) = (4 * (ring as u32 - 1) + side, 4 * (ring as u32 - 1) + (side + 1) % 4);
                triangles.extend([[a, b, a + 4], [b, b + 4, a + 4]]);
            }
        }
    }
    // A foot of each leg.
    for (bone, x) in [(2, -0.2), (3, 0.2)] {
        positions.extend([DVec3::new(x, 0.0, 0.0), DVec3::new(x + 0.05, 0.0, 0.0), DVec3::new(x, 0.0, 0.05)]);
        rows.extend(std::iter::repeat_n(vec![(BoneIndex::new(bone), 1.0)], 3));
        let last = positions.len() as u32;
        triangles.push([last - 3, last - 2, last - 1]);
    }
    let mesh = Mesh { positions, triangles, ..Mesh::default() };
    Rig::new(mesh, skeleton, Some(Influences::from_rows(rows).unwrap())).unwrap()
}

fn tail(rig: &Rig) -> BoneChain {
    let chains = find_chains(rig, |bone| rig.skeleton().names()[bone].starts_with("tail"));
    assert_eq!(chains.len(), 1);
    chains.into_iter().next().unwrap()
}

/// The hips go about and turn; the tail is stiff on them.
fn pose(rig: &Rig, time: f64, seed: u64) -> BoneTransforms {
    let mut random = Random::new(seed);
    let mut wave = |most: f64| {
        (0..3)
            .map(|n| most * (random.between(2.0, 5.0) * f64::from(n + 1) * time + random.between(0.0, 6.0)).sin())
            .sum::<f64>()
    };
    let (turn, nod, way) = (wave(0.35), wave(0.25), DVec3::new(wave(0.08), wave(0.06), wave(0.05)));
    let skeleton = rig.skeleton();
    let posed = skeleton.pose().turned("root", DQuat::from_rotation_y(turn)).unwrap();
    let posed = posed.turned("hips", DQuat::from_rotation_x(nod)).unwrap();
    posed.moved("hips", way).unwrap().transforms().clone()
}

/// A clip whose tail swings by `spring`, in steps of its own over a motion that is known at any time.
fn clip(
    rig: &Rig,
    chain: &BoneChain,
    spring: Option<ChainSpring>,
    (rate, seed): (f64, u64),
    noise: f64,
) -> (Clip, Vec<BoneTransforms>) {
    let weights = rig.weights().unwrap();
    let skeleton = rig.skeleton();
    let heads: Vec<DVec3> = chain.bones.iter().map(|bone| skeleton.bind()[*bone].translation).collect();
    let hangs = |pose: &BoneTransforms| Anchor {
        head: pose[chain.bones[0]].transform_point3(heads[0]),
        rotation: DQuat::from_mat3(&pose[BoneIndex::new(1)].matrix3),
    };
    let mut random = Random::new(seed + 1000);
    let mut motion = ChainMotion::new(chain.ways().to_vec());
    let frames = (3.0 * rate) as usize;
    let poses: Vec<BoneTransforms> = (0..frames).map(|n| pose(rig, n as f64 / rate, seed)).collect();
    motion.rest(&hangs(&poses[0]));
    let (mut times, mut posed, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    let mut step = 0usize;
    for (n, pose_of_frame) in poses.iter().enumerate() {
        let time = n as f64 / rate;
        while (step as f64 + 1.0) * STEP <= time + 1e-9 {
            step += 1;
            if let Some(spring) = &spring {
                motion.step(spring, STEP, &hangs(&pose(rig, step as f64 * STEP, seed)));
            }
        }
        let mut swung = pose_of_frame.clone();
        if spring.is_some() {
            let tails: Vec<DVec3> = motion.tails().collect();
            for ((bone, placed), head) in
                chain.bones.iter().zip(motion.placed(&hangs(pose_of_frame), tails.into_iter())).zip(&heads)
            {
                swung.set(
                    *bone,
                    DAffine3::from_rotation_translation(placed.rotation, placed.head)
                        * DAffine3::from_translation(-*head),
                );
            }
        }
        let rest = &rig.mesh().positions;
        let (mut base, mut skin) = (vec![DVec3::ZERO; rest.len()], vec![DVec3::ZERO; rest.len()]);
        lbs(rest, weights, pose_of_frame, &mut base);
        lbs(rest, weights, &swung, &mut skin);
        times.push(time);
        offsets.push(skin.iter().zip(&base).map(|(x, b)| (*x - *b + random.direction() * noise).as_vec3()).collect());
        posed.push(base.iter().map(|b| b.as_vec3()).collect());
    }
    (Clip { name: format!("clip {seed}"), times, posed, offsets }, poses)
}

fn learn(rig: &Rig, chain: &BoneChain, made: &[(Clip, Vec<BoneTransforms>)]) -> LearntChain {
    let clips: Vec<Clip> = made.iter().map(|(clip, _)| clip.clone()).collect();
    let poses: Vec<Vec<&BoneTransforms>> = made.iter().map(|(_, poses)| poses.iter().collect()).collect();
    learn_chains(rig, std::slice::from_ref(chain), (&clips, &poses), &silent).unwrap().remove(0)
}

fn apart(found: f64, wanted: f64) -> f64 {
    (found / wanted - 1.0).abs()
}

#[test]
fn planted_chains_are_found_within_five_percent() {
    let rig = animal();
    let chain = tail(&rig);
    for (stiffness, drag, gravity) in [(1.2, 0.2, 0.0), (0.5, 0.35, 0.25), (3.0, 0.6, 0.0)] {
        let spring = ChainSpring::new(stiffness, drag, gravity).unwrap();
        let made = [1, 2].map(|seed| clip(&rig, &chain, Some(spring), (60.0, seed), 1e-4));
        let learnt = learn(&rig, &chain, &made);
        assert!(learnt.is_kept() && learnt.training < 0.05 && learnt.left_out < 0.1, "{learnt:?}");
        let found = learnt.spring;
        assert!(apart(found.stiffness(), stiffness) < 0.05, "{found:?} for {spring:?}");
        assert!(apart(found.drag(), drag) < 0.05, "{found:?} for {spring:?}");
        match gravity > 0.0 {
            true => assert!(apart(found.gravity(), gravity) < 0.05, "{found:?} for {spring:?}"),
            false => assert!(found.gravity() < 0.02 * stiffness, "{found:?} for {spring:?}"),
        }
    }
}

/// A clip of 24 frames a second, whose frames lie between steps: the anchor is interpolated between them, so the fit is less exact.
#[test]
fn clips_of_other_rates_teach_the_same_springs() {
    let rig = animal();
    let chain = tail(&rig);
    let spring = ChainSpring::new(1.0, 0.25, 0.0).unwrap();
    for rate in [24.0, 30.0, 120.0] {
        let made = [3, 4].map(|seed| clip(&rig, &chain, Some(spring), (rate, seed), 0.0));
        let learnt = learn(&rig, &chain, &made);
        assert!(learnt.left_out < 0.3, "{rate}: {learnt:?}");
        let found = learnt.spring;
        assert!(apart(found.stiffness(), 1.0) < 0.15 && apart(found.drag(), 0.25) < 0.15, "{rate}: {found:?}");
    }
}

#[test]
fn skin_that_does_not_swing_teaches_nothing() {
    let rig = animal();
    let chain = tail(&rig);
    for noise in [0.0, 1e-3] {
        let made = [5, 6].map(|seed| clip(&rig, &chain, None, (60.0, seed), noise));
        let learnt = learn(&rig, &chain, &made);
        assert!(!learnt.is_kept(), "{noise}: {learnt:?}");
    }
    // One clip is cut into halves.
    let spring = ChainSpring::new(1.0, 0.25, 0.0).unwrap();
    let one = learn(&rig, &chain, &[clip(&rig, &chain, Some(spring), (60.0, 7), 1e-4)]);
    assert!(one.is_kept() && one.folds.len() == 2 && one.folds[0].0.ends_with("first half"), "{one:?}");
}

#[test]
fn chains_are_runs_without_branches_that_end_in_a_leaf() {
    let rig = animal();
    let chain = tail(&rig);
    assert_eq!(chain.bones, [4, 5, 6].map(BoneIndex::new));
    assert_eq!(chain.swinging().len(), TAIL);
    // The skin of the last bone ends at z = −0.7, and its middle is on the axis.
    assert!(chain.tip.unwrap().distance(DVec3::new(0.0, 1.0, -0.7)) < 1e-9, "{chain:?}");
    // Corners of a square of 0.03 about the axis.
    assert!((chain.radius - 0.03 * 2f64.sqrt()).abs() < 2e-3, "{}", chain.radius);
    // A leg is one bone, and the run from the root to the hips branches: nothing else is a chain.
    assert_eq!(find_chains(&rig, |_| true).len(), 1);
    assert_eq!(find_chains(&rig, |_| false), []);
    // A last bone without skin is the end of the one before.
    let names = rig.skeleton().names().to_vec();
    let end = DAffine3::from_translation(DVec3::new(0.0, 1.0, -0.7));
    let longer = Skeleton::new(
        names.into_iter().chain(["tail.end".into()]).collect(),
        rig.skeleton().parents().iter().copied().chain([Some(BoneIndex::new(6))]).collect(),
        rig.skeleton().bind().iter().copied().chain([end]).collect(),
    );
    let longer = Rig::new(rig.mesh().clone(), longer.unwrap(), rig.weights().cloned()).unwrap();
    let chain = tail(&longer);
    assert_eq!((chain.bones.len(), chain.swinging().len(), chain.tip), (4, TAIL, None));
    // A rig without weights has none.
    assert_eq!(find_chains(&rig.clone().with_weights(None).unwrap(), |_| true), []);
}

#[test]
fn poses_that_do_not_go_with_a_clip_are_refused() {
    let rig = animal();
    let chain = tail(&rig);
    let (made, poses) = clip(&rig, &chain, None, (60.0, 8), 0.0);
    let few: Vec<Vec<&BoneTransforms>> = vec![poses.iter().skip(1).collect()];
    let other = BoneTransforms::identity(2);
    let wrong = vec![vec![&other; made.times.len()]];
    for poses in [&few, &wrong, &vec![]] {
        let refused = learn_chains(&rig, std::slice::from_ref(&chain), (std::slice::from_ref(&made), poses), &silent);
        assert!(matches!(refused, Err(SecondaryFitError::Poses { .. })), "{refused:?}");
    }
}
