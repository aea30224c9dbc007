//! Layers: clips that lie one over another.

use crate::controls::Value;
use crate::curve::{Beyond, inside};
use crate::local::Local;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, rotation_vector, swing_twist};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneVec, Motion, Skeleton};

/// A clip over what lies below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its place among the clips that the scene names.
    pub clip: usize,
    /// The part of the clip that is played, seconds of the clip; all of it by default.
    pub cut: Option<[f64; 2]>,
    /// The time of the scene at which the cut begins.
    pub start: f64,
    /// Seconds of the clip per second of the scene.
    pub speed: f64,
    /// The time of the clip as a function of the scene's, in place of start and speed.
    pub time: Option<Value>,
    /// What is shown before the cut and after it.
    pub beyond: [Beyond; 2],
    /// How much of it is seen, 0 to 1.
    pub weight: Value,
    /// How it goes over what lies below.
    pub mix: Mix,
    /// The bones that it moves, with `*` for any text; all if there are none.
    pub bones: Vec<String>,
    /// Whether bones below those move as well.
    pub below: bool,
    /// What becomes of the way that the character goes.
    pub root_motion: RootMotion,
    /// The bone that goes the way; the first that moves by default.
    pub root: Option<String>,
}

/// How a layer goes over what lies below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// In its place.
    #[default]
    Over,
    /// Added to it: what leads from the bind pose to the clip.
    AddFromRest,
    /// Added to it: what leads from the first frame of the cut to the clip.
    AddFromFirst,
}

/// What becomes of the way over the ground that a clip takes the character: the horizontal motion of the root and its heading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RootMotion {
    /// It is kept; [`Beyond::CycleOffset`] goes on from where a cycle ended.
    #[default]
    Keep,
    /// It is taken away: the character stays where the cut begins.
    Remove,
}

/// A clip that can be sampled for a layer.
#[derive(Clone, Debug)]
pub struct Track {
    times: Vec<f64>,
    frames: Vec<BoneVec<Local>>,
    cut: [f64; 2],
    beyond: [Beyond; 2],
    /// The bone that goes the way, if there is one whose way adds up.
    root: Option<BoneIndex>,
    /// The way of one cycle over the ground.
    cycle: DAffine3,
    parents: BoneVec<Option<BoneIndex>>,
}

impl Track {
    /// The clip of a layer.
    ///
    /// # Errors
    /// A text: frames without times or out of order, a cut outside the clip, a root that the skeleton lacks.
    pub fn new(layer: &Layer, motion: &Motion, skeleton: &Skeleton) -> Result<Self, String> {
        let name = &motion.name;
        let times: Option<Vec<f64>> = motion.frames.iter().map(|frame| frame.time).collect();
        let times =
            times.ok_or_else(|| format!("the frames of \"{name}\" have no times; state \"fps\" of the scene"))?;
        let (Some(first), Some(last)) = (times.first().copied(), times.last().copied()) else {
            return Err(format!("\"{name}\" has no frames"));
        };
        if times.iter().any(|t| !t.is_finite()) || times.windows(2).any(|two| two[1] <= two[0]) {
            return Err(format!("the times of \"{name}\" do not ascend"));
        }
        let cut = layer.cut.unwrap_or([first, last]);
        // As far as clips are off that are stored in 32 bits.
        let slack = 1e-4;
        if !(cut[0] <= cut[1] && cut[0] >= first - slack && cut[1] <= last + slack) {
            let [from, to] = cut;
            return Err(format!(
                "the cut {from} to {to} s does not lie within \"{name}\", which goes from {first} to {last} s"
            ));
        }
        let root = match &layer.root {
            Some(name) => Some(skeleton.find(name).ok_or_else(|| format!("there is no bone \"{name}\" for the root"))?),
            None => moving(motion, skeleton),
        };
        let mut worlds: Vec<BoneVec<DAffine3>> = motion.frames.iter().map(|frame| frame.pose.bones.clone()).collect();
        let (mut cycle, mut counted) = (DAffine3::IDENTITY, None);
        if let Some(root) = root {
            let way = |time: f64| ground(&between(&times, &worlds, root, time), &worlds[0][root]);
            let start = way(cut[0]);
            let end = way(cut[1]);
            match layer.root_motion {
                RootMotion::Keep => {
                    cycle = end * start.inverse();
                    counted = (layer.beyond.contains(&Beyond::CycleOffset)).then_some(root);
                }
                RootMotion::Remove => {
                    let undo: Vec<DAffine3> = times.iter().map(|&time| start * way(time).inverse()).collect();
                    let below = below(skeleton, &[root]);
                    for (world, undo) in worlds.iter_mut().zip(undo) {
                        skeleton.bones().filter(|bone| below[*bone]).for_each(|bone| world[bone] = undo * world[bone]);
                    }
                }
            }
        }
        let mut frames = Vec::with_capacity(worlds.len());
        for world in worlds {
            let world = dermis_rig::WorldPose { bones: world, channels: Vec::new() };
            let local = skeleton.local_transforms(&world);
            let local = local.ok_or_else(|| format!("a bone of \"{name}\" is scaled to nothing"))?;
            frames.push(BoneVec::new(local.iter().map(Local::new).collect()));
        }
        let parents = skeleton.parents().clone();
        Ok(Self { times, frames, cut, beyond: layer.beyond, root: counted, cycle, parents })
    }

    /// The clip's time for a time of the scene, by start and speed.
    pub fn time(&self, layer: &Layer, time: f64) -> f64 {
        self.cut[0] + (time - layer.start) * layer.speed
    }

    /// The local transforms at a time of the clip, which may lie beyond the cut.
    pub fn pose(&self, time: f64) -> BoneVec<Local> {
        let [first, last] = self.cut;
        let beyond = self.beyond[usize::from(time > last)];
        let (time, cycles) = inside(time, first, last, beyond);
        let after = self.times.partition_point(|&t| t <= time);
        let from = after.saturating_sub(1);
        let mut pose = match (after, self.frames.get(after)) {
            (1.., Some(to)) => {
                let s = (time - self.times[from]) / (self.times[after] - self.times[from]);
                let both = self.frames[from].iter().zip(to.iter());
                BoneVec::new(both.map(|(a, b)| a.towards(b, s)).collect())
            }
            _ => self.frames[from].clone(),
        };
        if let (Some(root), true) = (self.root, cycles != 0.0) {
            let mut above = DAffine3::IDENTITY;
            let mut at = self.parents[root];
            while let Some(bone) = at {
                above = pose[bone].affine() * above;
                at = self.parents[bone];
            }
            let way = powered(&self.cycle, cycles);
            if let Some(inverse) = invert(&above) {
                pose[root] = Local::new(&(inverse * way * above * pose[root].affine()));
            }
        }
        pose
    }

    /// The local transforms where the cut begins.
    pub fn first(&self) -> BoneVec<Local> {
        self.pose(self.cut[0])
    }
}

/// For every bone whether it is one of `bones` or below one.
pub fn below(skeleton: &Skeleton, bones: &[BoneIndex]) -> BoneVec<bool> {
    let mut is_below = BoneVec::new(vec![false; skeleton.len()]);
    for bone in skeleton.bones() {
        is_below[bone] = bones.contains(&bone) || skeleton.parents()[bone].is_some_and(|parent| is_below[parent]);
    }
    is_below
}

/// The first bone whose matrix changes over the clip.
pub(crate) fn moving(motion: &Motion, skeleton: &Skeleton) -> Option<BoneIndex> {
    let first = motion.frames.first()?;
    let moves = |bone: BoneIndex| {
        let still = first.pose.bones[bone];
        motion.frames.iter().any(|frame| !frame.pose.bones[bone].abs_diff_eq(still, 1e-6))
    };
    skeleton.bones().find(|bone| moves(*bone))
}

fn between(times: &[f64], worlds: &[BoneVec<DAffine3>], bone: BoneIndex, time: f64) -> DAffine3 {
    let after = times.partition_point(|&t| t <= time);
    let from = after.saturating_sub(1);
    match worlds.get(after).filter(|_| after > 0) {
        None => worlds[from][bone],
        Some(to) => {
            let s = (time - times[from]) / (times[after] - times[from]);
            Local::new(&worlds[from][bone]).towards(&Local::new(&to[bone]), s).affine()
        }
    }
}

/// Where a bone is over the ground: its place without height, and its heading, the turn about the vertical since `reference`.
pub(crate) fn ground(world: &DAffine3, reference: &DAffine3) -> DAffine3 {
    let turn = |m: &DAffine3| quat_from_matrix(&nearest_rotation(&m.matrix3));
    let (_, heading) = swing_twist(turn(world) * turn(reference).conjugate(), DVec3::Y);
    let place = DVec3::new(world.translation.x, 0.0, world.translation.z);
    DAffine3::from_rotation_translation(heading, place)
}

/// A way over the ground, gone so many times; backwards if the number is negative.
pub(crate) fn powered(way: &DAffine3, times: f64) -> DAffine3 {
    let angle = rotation_vector(quat_from_matrix(&way.matrix3)).y;
    let turned = DQuat::from_rotation_y(angle * times);
    if angle.abs() < 1e-9 {
        return DAffine3::from_translation(way.translation * times);
    }
    // About its fixed point c = (1 − R)⁻¹ t, in the horizontal plane, whole ways only turn.
    let (sin, cos) = angle.sin_cos();
    let (x, z) = (way.translation.x, way.translation.z);
    let determinant = 2.0 - 2.0 * cos;
    let centre = DVec3::new(((1.0 - cos) * x + sin * z) / determinant, 0.0, ((1.0 - cos) * z - sin * x) / determinant);
    DAffine3::from_translation(centre) * DAffine3::from_quat(turned) * DAffine3::from_translation(-centre)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::{Frame, WorldPose};

    /// A body on a root that stays; it walks along a circle and bobs, and its arm swings.
    fn walker(frames: usize) -> (Skeleton, Motion) {
        let bind = vec![
            DAffine3::IDENTITY,
            DAffine3::from_translation(DVec3::new(0.0, 1.0, 0.0)),
            DAffine3::from_translation(DVec3::new(0.5, 1.5, 0.0)),
        ];
        let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(1))];
        let names = ["root", "body", "arm"].map(String::from).to_vec();
        let skeleton = Skeleton::new(names, parents, bind).unwrap();
        let frames = (0..frames).map(|at| {
            let time = at as f64 / 10.0;
            let world = walked(time);
            let arm =
                world * DAffine3::from_translation(DVec3::new(0.5, 0.5, 0.0)) * DAffine3::from_rotation_x(time.sin());
            Frame {
                label: at.to_string(),
                time: Some(time),
                pose: WorldPose::new(vec![DAffine3::IDENTITY, world, arm]),
            }
        });
        (skeleton.clone(), Motion { name: "walk".into(), frames: frames.collect() })
    }

    /// Radius two, a radian in two seconds.
    fn walked(time: f64) -> DAffine3 {
        let turn = DAffine3::from_rotation_y(0.5 * time);
        let lift = DAffine3::from_translation(DVec3::new(2.0, 1.0 + 0.1 * (time * std::f64::consts::PI).sin(), 0.0));
        turn * lift
    }

    fn layer(root_motion: RootMotion, beyond: Beyond, cut: Option<[f64; 2]>) -> Layer {
        Layer {
            clip: 0,
            cut,
            start: 0.0,
            speed: 1.0,
            time: None,
            beyond: [beyond; 2],
            weight: Value::Number(1.0),
            mix: Mix::Over,
            bones: vec![],
            below: false,
            root_motion,
            root: None,
        }
    }

    fn body(track: &Track, time: f64) -> DAffine3 {
        let pose = track.pose(time);
        pose[BoneIndex::new(0)].affine() * pose[BoneIndex::new(1)].affine()
    }

    /// A cycle of two seconds goes on along the circle, forwards and backwards.
    #[test]
    fn a_walk_in_cycles_goes_on_from_where_it_ended() {
        let (skeleton, motion) = walker(41);
        let track =
            Track::new(&layer(RootMotion::Keep, Beyond::CycleOffset, Some([0.0, 2.0])), &motion, &skeleton).unwrap();
        for time in [0.0, 1.0, 2.0, 2.5, 7.3, 11.0, -0.7, -4.0] {
            let time: f64 = (time * 10f64).round() / 10.0;
            let (found, expected) = (body(&track, time), walked(time));
            assert!(found.abs_diff_eq(expected, 1e-9), "{time}: {found} {expected}");
        }
        let again = Track::new(&layer(RootMotion::Keep, Beyond::Cycle, Some([0.0, 2.0])), &motion, &skeleton).unwrap();
        assert!(body(&again, 2.5).abs_diff_eq(walked(0.5), 1e-12));
    }

    #[test]
    fn without_its_way_a_walk_bobs_in_place() {
        let (skeleton, motion) = walker(41);
        let track = Track::new(&layer(RootMotion::Remove, Beyond::Cycle, None), &motion, &skeleton).unwrap();
        for time in [0.0, 0.5, 1.7, 3.0] {
            let found = body(&track, time);
            let height = walked(time).translation.y;
            assert!((found.translation.y - height).abs() < 1e-12);
            assert!(
                found.abs_diff_eq(DAffine3::from_translation(DVec3::new(2.0, height, 0.0)), 1e-12),
                "{time} {found}"
            );
        }
        let swing = |track: &Track| track.pose(1.3)[BoneIndex::new(2)].affine();
        let kept = Track::new(&layer(RootMotion::Keep, Beyond::Cycle, None), &motion, &skeleton).unwrap();
        assert!(swing(&track).abs_diff_eq(swing(&kept), 1e-12), "what hangs on it moves as before");
    }

    #[test]
    fn a_way_gone_twice_is_its_square() {
        let way = DAffine3::from_rotation_translation(DQuat::from_rotation_y(0.7), DVec3::new(1.0, 0.0, -2.0));
        assert!(powered(&way, 2.0).abs_diff_eq(way * way, 1e-12));
        assert!(powered(&way, -1.0).abs_diff_eq(way.inverse(), 1e-12));
        let straight = DAffine3::from_translation(DVec3::new(1.0, 0.0, -2.0));
        assert!(powered(&straight, 3.0).abs_diff_eq(straight * straight * straight, 1e-12));
    }

    #[test]
    fn clips_that_make_no_track_are_told() {
        let (skeleton, mut motion) = walker(5);
        let cut = layer(RootMotion::Keep, Beyond::Hold, Some([0.0, 9.0]));
        assert!(Track::new(&cut, &motion, &skeleton).unwrap_err().contains("goes from 0 to 0.4 s"));
        let rooted = Layer { root: Some("tail".into()), cut: None, ..cut.clone() };
        assert!(Track::new(&rooted, &motion, &skeleton).unwrap_err().contains("\"tail\""));
        motion.frames[2].time = None;
        assert!(Track::new(&cut, &motion, &skeleton).unwrap_err().contains("no times"));
    }
}
