//! Sequences in which vertices leave the character for some frames: what is set aside, and that nothing else changes.

use dermis_fit::decompose::{
    Bandwidth, BoneKind, ClusteringSettings, DecomposeSettings, Decomposition, Sequence, Stopped, Task, cluster,
    decompose,
};
use dermis_fit::silent;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::rotation::from_rotation_vector;
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_testkit::Random;

const RINGS: usize = 25;
const SIDES: usize = 10;

/// A limb along x of two bones, blended around the joint at its middle, that bends and turns from frame to frame.
struct Limb {
    rest: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    frames: Vec<Vec<DVec3>>,
    weights: Influences,
    transforms: Vec<BoneTransforms>,
}

impl Limb {
    fn new(frames: usize) -> Self {
        let place = |v: usize| {
            let (along, around) = (v / SIDES, std::f64::consts::TAU * (v % SIDES) as f64 / SIDES as f64);
            DVec3::new(2.0 * along as f64 / (RINGS - 1) as f64, 0.2 * around.cos(), 0.2 * around.sin())
        };
        let rest: Vec<DVec3> = (0..RINGS * SIDES).map(place).collect();
        let quads = (0..RINGS as u32 - 1).flat_map(|ring| (0..SIDES as u32).map(move |side| (ring, side)));
        let triangles = quads.flat_map(|(ring, side)| {
            let at = |ring: u32, side: u32| ring * SIDES as u32 + side % SIDES as u32;
            let [a, b, c, d] = [at(ring, side), at(ring, side + 1), at(ring + 1, side), at(ring + 1, side + 1)];
            [[a, b, c], [b, d, c]]
        });
        let weights = Influences::from_rows(rest.iter().map(|p| {
            let far = ((p.x - 1.0) / 0.5 + 0.5).clamp(0.0, 1.0);
            [(0, 1.0 - far), (1, far)].map(|(k, w)| (BoneIndex::new(k), w)).to_vec()
        }))
        .unwrap();
        let transforms: Vec<BoneTransforms> = (0..frames)
            .map(|s| {
                let turn = |v: DVec3, about: DVec3| {
                    DAffine3::from_translation(about)
                        * DAffine3::from_quat(from_rotation_vector(v))
                        * DAffine3::from_translation(-about)
                };
                let whole = turn(DVec3::new(0.0, 0.1 * s as f64, 0.02), DVec3::ZERO);
                let bend = DVec3::new(0.3 * (s as f64).sin(), 0.0, 0.12 * s as f64 - 0.4);
                BoneTransforms::new(vec![whole, whole * turn(bend, DVec3::X)])
            })
            .collect();
        let mut limb = Self { frames: vec![], triangles: triangles.collect(), rest, weights, transforms };
        limb.frames = (0..frames).map(|s| limb.posed(&limb.weights, &limb.transforms[s])).collect();
        limb
    }

    fn posed(&self, weights: &Influences, pose: &BoneTransforms) -> Vec<DVec3> {
        let of = |v: usize| weights.of(v).iter().map(|&(k, w)| w * pose[k].transform_point3(self.rest[v])).sum();
        (0..self.rest.len()).map(of).collect()
    }

    fn found(&self, frames: &[Vec<DVec3>], task: &Task, settings: &DecomposeSettings) -> Decomposition {
        let frames: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
        let sequence = Sequence { rest: &self.rest, frames: &frames, triangles: &self.triangles };
        decompose(&sequence, task, settings, &silent).unwrap()
    }

    fn searched(&self, frames: &[Vec<DVec3>], bones: usize) -> Decomposition {
        self.found(frames, &Task::Search { bones }, &DecomposeSettings::default())
    }

    /// The largest distance from the frames, but for what was set aside; metres.
    fn farthest(&self, frames: &[Vec<DVec3>], found: &Decomposition) -> f64 {
        let aside = set_aside(found);
        let shown = frames.iter().zip(&found.transforms).map(|(x, pose)| (x, self.posed(&found.weights, pose)));
        let all = shown.enumerate().flat_map(|(s, (x, y))| {
            x.iter().zip(y).enumerate().map(|(v, (x, y))| ((s, v), x.distance(y))).collect::<Vec<_>>()
        });
        all.filter(|(place, _)| !aside.contains(place)).map(|(_, d)| d).fold(0.0, f64::max)
    }
}

fn set_aside(found: &Decomposition) -> Vec<(usize, usize)> {
    found.report.outliers.iter().map(|o| (o.frame, o.vertex)).collect()
}

fn throw(random: &mut Random) -> DVec3 {
    random.direction() * random.between(3.0, 8.0)
}

/// Clean frames leave 1e-6 of the limb's two metres after a search for two bones; thrown ones no more than ten times that.
const CLEAN: f64 = 1e-5;

#[test]
fn a_vertex_thrown_in_one_frame_costs_the_others_nothing() {
    let limb = Limb::new(12);
    let clean = limb.searched(&limb.frames, 2);
    assert!(limb.farthest(&limb.frames, &clean) < CLEAN && clean.report.outliers.is_empty());
    for shift in [0.9, 5.0, 1e9] {
        let mut frames = limb.frames.clone();
        frames[3][47] += DVec3::X * shift;
        let found = limb.searched(&frames, 2);
        assert_eq!(set_aside(&found), [(3, 47)], "{shift}");
        assert!((found.report.outliers[0].distance / shift - 1.0).abs() < 1e-3);
        assert!(limb.farthest(&frames, &found) < CLEAN, "{shift}: {}", limb.farthest(&frames, &found));
        // The vertex itself goes where the limb would have had it.
        let own = limb.posed(&found.weights, &found.transforms[3])[47];
        assert!(own.distance(limb.frames[3][47]) < 10.0 * CLEAN, "{shift}: {own}");
        assert!(found.report.mean_square.sqrt() < CLEAN);
    }
}

#[test]
fn vertices_thrown_in_several_frames_together_or_apart_are_set_aside() {
    let limb = Limb::new(16);
    let mut random = Random::new(4);
    // Neighbours each their own way, in neighbouring frames too; others far from them; two neighbours the same way for one frame.
    let apart = [(2, 47), (2, 48), (3, 47), (3, 48), (4, 57), (9, 120), (9, 121), (9, 200), (15, 3), (0, 3)];
    let mut frames = limb.frames.clone();
    let mut wanted: Vec<(usize, usize)> = apart.to_vec();
    apart.iter().for_each(|&(s, v)| frames[s][v] += throw(&mut random));
    for v in [150, 151] {
        frames[12][v] += DVec3::new(4.0, 1.0, 0.0);
        wanted.push((12, v));
    }
    wanted.sort_unstable();
    let found = limb.searched(&frames, 2);
    assert_eq!(set_aside(&found), wanted);
    assert!(limb.farthest(&frames, &found) < CLEAN, "{}", limb.farthest(&frames, &found));
}

#[test]
fn a_vertex_thrown_in_the_first_frame_or_in_all_but_one_is_set_aside() {
    let limb = Limb::new(12);
    let mut random = Random::new(5);
    for (kept, constant) in [(None, true), (Some(7), true), (Some(7), false), (Some(0), true), (Some(0), false)] {
        let mut frames = limb.frames.clone();
        let thrown: Vec<usize> = (0..12).filter(|s| kept.map_or(*s == 0, |kept| *s != kept)).collect();
        for &s in &thrown {
            frames[s][123] += if constant { DVec3::new(5.0, 0.0, 0.0) } else { throw(&mut random) };
        }
        let found = limb.searched(&frames, 2);
        assert_eq!(set_aside(&found), thrown.iter().map(|&s| (s, 123)).collect::<Vec<_>>(), "{kept:?}");
        assert!(limb.farthest(&frames, &found) < CLEAN, "{kept:?} {constant}: {}", limb.farthest(&frames, &found));
    }
}

/// A place at rest that is wrong is wrong in every frame: the vertex follows its neighbours.
#[test]
fn a_vertex_that_stands_wrong_at_rest_spoils_no_other() {
    let mut limb = Limb::new(12);
    limb.rest[88] += DVec3::new(0.0, 6.0, 0.0);
    let found = limb.searched(&limb.frames, 2);
    assert_eq!(set_aside(&found), (0..12).map(|s| (s, 88)).collect::<Vec<_>>());
    assert!(limb.farthest(&limb.frames, &found) < CLEAN);
}

/// A few vertices that keep their shape and go their own way, fast and far, are a bone.
#[test]
fn a_small_part_that_moves_on_its_own_is_a_bone() {
    let limb = Limb::new(14);
    for part in [vec![4, 5, 14], vec![0, 1, 2, 3, 10, 11], vec![248, 249]] {
        let mut frames = limb.frames.clone();
        let middle = part.iter().map(|&v| limb.rest[v]).sum::<DVec3>() / part.len() as f64;
        for (s, frame) in frames.iter_mut().enumerate().skip(1) {
            let angle = 0.9 * s as f64;
            let turn = from_rotation_vector(DVec3::new(0.7 * angle, 0.2, 0.4));
            let away = middle + DVec3::new(2.0 * angle.sin(), 3.0 * angle.cos(), 0.5 * s as f64);
            part.iter().for_each(|&v| frame[v] = turn * (limb.rest[v] - middle) + away);
        }
        let found = limb.searched(&frames, 3);
        assert_eq!(set_aside(&found), [], "{part:?}");
        // Vertices at the part's edge belong to one side or the other: all is rigid but the blend at the joint.
        assert!(limb.farthest(&frames, &found) < 1e-3, "{part:?}: {}", limb.farthest(&frames, &found));
    }
}

/// One vertex that is drawn out and goes back, less far than a quarter of the limb, in most frames: skin, not an accident.
#[test]
fn a_tip_that_is_drawn_out_is_kept() {
    let limb = Limb::new(12);
    let mut frames = limb.frames.clone();
    for (s, frame) in frames.iter_mut().enumerate() {
        frame[123] += DVec3::Y * (0.4 * (1.0 + (s as f64).sin()));
    }
    assert_eq!(set_aside(&limb.searched(&frames, 3)), []);
}

/// Where everything flies apart, in one frame or in all, nothing stands out.
#[test]
fn what_bursts_is_not_set_aside() {
    let limb = Limb::new(10);
    let mut random = Random::new(6);
    let mut burst = limb.frames.clone();
    burst.iter_mut().flatten().for_each(|p| *p += throw(&mut random));
    assert_eq!(set_aside(&limb.searched(&burst, 2)), []);
    let mut once = limb.frames.clone();
    once[4].iter_mut().for_each(|p| *p *= 100.0);
    assert_eq!(set_aside(&limb.searched(&once, 2)), []);
    // Without a surface there are no neighbours.
    let frames: Vec<&[DVec3]> = once.iter().map(Vec::as_slice).collect();
    let cloud = Sequence { rest: &limb.rest, frames: &frames, triangles: &[] };
    let found = decompose(&cloud, &Task::Search { bones: 2 }, &DecomposeSettings::default(), &silent).unwrap();
    assert_eq!(set_aside(&found), []);
}

#[test]
fn every_task_and_kind_leaves_outliers_out() {
    let limb = Limb::new(12);
    let mut frames = limb.frames.clone();
    frames[5][60] += DVec3::new(0.0, 7.0, 0.0);
    frames[6][180] += DVec3::new(9.0, 0.0, 0.0);
    let wanted = [(5, 60), (6, 180)];
    let rough = Influences::from_rows((0..limb.rest.len()).map(|v| {
        let far = usize::from(limb.rest[v].x > 1.0);
        vec![(BoneIndex::new(far), 1.0)]
    }))
    .unwrap();
    for kind in [BoneKind::Rigid, BoneKind::NearRigid { stiffness: 1e-3 }, BoneKind::Affine] {
        let settings = DecomposeSettings { kind, ..DecomposeSettings::default() };
        let tasks: [(&str, Task, f64); 5] = [
            ("search", Task::Search { bones: 2 }, 1e-4),
            ("fewest", Task::Fewest { error: 1e-3, most: 9 }, 1e-2),
            ("weights", Task::Weights { transforms: &limb.transforms }, 1e-6),
            ("transforms", Task::Transforms { weights: &limb.weights }, 1e-3),
            ("refine", Task::Refine { weights: &rough, frozen: &[] }, 1e-2),
        ];
        for (name, task, most) in tasks {
            let found = limb.found(&frames, &task, &settings);
            assert_eq!(set_aside(&found), wanted, "{name}, {kind:?}");
            let far = limb.farthest(&frames, &found);
            assert!(far < most, "{name}, {kind:?}: {far}");
        }
        let shapes: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
        let sequence = Sequence { rest: &limb.rest, frames: &shapes, triangles: &limb.triangles };
        let settings = ClusteringSettings { bandwidth: Bandwidth::For { bones: 2 }, kind, influences: 4 };
        let found = cluster(&sequence, &settings, &silent).unwrap();
        let clean: Vec<&[DVec3]> = limb.frames.iter().map(Vec::as_slice).collect();
        let clean = cluster(&Sequence { frames: &clean, ..sequence }, &settings, &silent).unwrap();
        assert_eq!(set_aside(&found), wanted);
        let (far, least) = (limb.farthest(&frames, &found), limb.farthest(&limb.frames, &clean));
        assert!(far < 1.05 * least + 1e-3, "{kind:?}: {far} beside {least}");
    }
}

/// A part that jumps a billion metres for several frames is too large to be set aside: the fit is bad, and must not be called exact.
#[test]
fn a_bad_fit_is_not_called_exact() {
    let limb = Limb::new(12);
    let mut frames = limb.frames.clone();
    let mut random = Random::new(8);
    for frame in &mut frames[3..6] {
        (60..140).for_each(|v| frame[v] += random.direction() * 1e9);
    }
    let found = limb.searched(&frames, 2);
    assert!(found.report.mean_square.sqrt() > 1.0 && found.report.stopped != Stopped::Exact, "{:?}", found.report);
    assert!(found.report.fewer_because.as_ref().is_none_or(|reason| !reason.contains("rounding")));
    let clean = limb.searched(&limb.frames, 2);
    assert!(clean.report.stopped != Stopped::Exact || limb.farthest(&limb.frames, &clean) <= 1e-5);
}

/// Skin that an extreme pose draws far stretches around what it draws, if only in one frame. A vertex that leaves it leaves it whole.
#[test]
fn skin_that_stretches_in_one_frame_is_kept() {
    let limb = Limb::new(12);
    let centre = limb.rest[6 * SIDES];
    let (height, radius) = (1.2, 0.15);
    let mut frames = limb.frames.clone();
    for (x, p) in frames[5].iter_mut().zip(&limb.rest) {
        *x += DVec3::Y * (height * (-(p.distance(centre) / radius).powi(2)).exp());
    }
    let found = limb.searched(&frames, 2);
    assert!(found.report.outliers.is_empty(), "{:?}", found.report.outliers);
    assert_ne!(found.report.stopped, Stopped::Exact, "two bones do not make a bump");
    let mut frames = limb.frames.clone();
    frames[5][6 * SIDES] += DVec3::Y * height;
    let found = limb.searched(&frames, 2);
    let named: Vec<_> = found.report.outliers.iter().map(|o| (o.frame, o.vertex)).collect();
    assert_eq!(named, [(5, 6 * SIDES)]);
    assert_ne!(found.report.stopped, Stopped::Exact, "exact is said of all positions, or not at all");
}
