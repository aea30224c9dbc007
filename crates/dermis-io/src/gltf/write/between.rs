//! Clips as the writer takes them: a file's own keys where it has them, and else frames that stay close to the motion between them.

use super::scene::{GlbClip, GlbScene};
use super::trs::{Pair, SHEAR, Trs, locals};
use crate::contents::{Clip, ClipFrame};
use crate::curve::CurveOf;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::slerp;

/// What a clip became.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyed {
    /// Its keys and frames.
    pub clip: GlbClip,
    /// How far the skin is off between frames at most, in metres, where it goes by frames; zero where all keys are the file's own.
    pub off: f64,
}

/// Where within an interval the motion is looked at: also where a spline that is symmetric about the middle is not.
const LOOKED_AT: [f64; 3] = [0.25, 0.5, 0.75];

impl GlbClip {
    /// A clip at its own keys, of what `scene` holds. What moves by other than the bones' own keys, such as nodes between bones, goes by
    /// frames: more of them between the keys, until the skin is `tolerance` metres off at most.
    ///
    /// The frames added are 16 times those that the clip has and 4096 at most; [`Keyed::off`] says what is reached.
    pub fn of(clip: &Clip, scene: &GlbScene<'_>, tolerance: f64) -> Keyed {
        let times = if clip.key_times.is_empty() { vec![0.0] } else { clip.key_times.clone() };
        let mut frames: Vec<(f64, ClipFrame)> = times.iter().map(|&time| (time, (clip.sample)(time))).collect();
        let (mut curves, mut off) = (Vec::new(), 0.0);
        if let Some(own) = &clip.curves {
            let holds =
                |of: CurveOf| if of.bone().is_some() { scene.skeleton.is_some() } else { !scene.morphs.is_empty() };
            curves = own.iter().filter(|curve| holds(curve.of)).cloned().collect();
            off = Between::new(clip, scene).fill(&mut frames, tolerance);
        }
        let mut made = Self { name: clip.name.clone(), curves, ..Self::default() };
        for (time, frame) in frames {
            made.times.push(time);
            if scene.skeleton.is_some() {
                made.poses.push(frame.pose);
            }
            if !scene.morphs.is_empty() {
                made.morph_weights.push(frame.morph_weights);
            }
        }
        Keyed { clip: made, off }
    }
}

/// What tells how far linear frames are from the motion.
struct Between<'a> {
    clip: &'a Clip,
    scene: &'a GlbScene<'a>,
    /// Whether each bone has keys of its own.
    has_keys: Vec<bool>,
    has_weight_keys: bool,
    /// Corners of the box of what each bone moves, at rest; of a bone that moves no skin its own place.
    reach: Vec<Vec<DVec3>>,
    /// How far each morph target moves a vertex at most.
    largest: Vec<f64>,
    /// The axes that the two nodes of a bone that shears start from.
    axes: Vec<DMat3>,
}

/// A frame's local transforms.
struct Locals<'a> {
    time: f64,
    bones: Vec<Trs>,
    frame: &'a ClipFrame,
}

/// The way of a bone between two frames, as a reader of the file goes it.
struct Way<'a> {
    ends: [&'a Trs; 2],
    /// Of a bone that shears.
    pairs: Option<[Pair; 2]>,
}

impl<'a> Way<'a> {
    fn new(ends: [&'a Trs; 2], before: DMat3) -> Self {
        let shears = ends.iter().any(|trs| trs.deviation > SHEAR);
        let pairs = shears.then(|| {
            let from = Pair::new(&ends[0].matrix, before);
            let to = Pair::new(&ends[1].matrix, from.axes);
            [from, to]
        });
        Self { ends, pairs }
    }

    fn at(&self, s: f64) -> DAffine3 {
        match &self.pairs {
            None => mean(self.ends, s),
            Some([from, to]) => mean([&from.upper, &to.upper], s) * DAffine3::from_quat(slerp(from.lower, to.lower, s)),
        }
    }
}

impl<'a> Between<'a> {
    fn new(clip: &'a Clip, scene: &'a GlbScene<'a>) -> Self {
        let curves = clip.curves.as_deref().unwrap_or_default();
        let bones = scene.skeleton.map_or(0, |skeleton| skeleton.len());
        let mut has_keys = vec![false; bones];
        curves.iter().filter_map(|curve| curve.of.bone()).for_each(|bone| has_keys[bone.get()] = true);
        let mut boxes = vec![(DVec3::INFINITY, DVec3::NEG_INFINITY); bones];
        if let (Some(mesh), Some(weights)) = (scene.mesh, scene.weights) {
            for (position, row) in mesh.positions.iter().zip(weights.rows()) {
                for (bone, _) in row.iter().filter(|(bone, weight)| *weight > 0.0 && bone.get() < bones) {
                    let (low, high) = &mut boxes[bone.get()];
                    (*low, *high) = (low.min(*position), high.max(*position));
                }
            }
        }
        let place = |bone: usize| {
            scene.skeleton.map_or(DVec3::ZERO, |s| s.bind()[dermis_rig::BoneIndex::new(bone)].translation)
        };
        let reach = (boxes.into_iter().enumerate())
            .map(
                |(bone, bounds)| {
                    if bounds.0.x > bounds.1.x { vec![place(bone)] } else { crate::agree::corners(bounds).to_vec() }
                },
            )
            .collect();
        let longest = |deltas: &[DVec3]| deltas.iter().map(|d| d.length()).fold(0.0, f64::max);
        let largest = scene.morphs.iter().map(|morph| longest(&morph.deltas)).collect();
        let has_weight_keys = curves.iter().any(|curve| curve.of == CurveOf::MorphWeights);
        let rest = scene.skeleton.and_then(|skeleton| scene.shown_locals(skeleton).ok()).unwrap_or_default();
        let axes = rest.iter().map(|rest| Pair::new(&rest.matrix, DMat3::IDENTITY).axes).collect();
        Self { clip, scene, has_keys, has_weight_keys, reach, largest, axes }
    }

    /// Adds frames until none is off by more than `tolerance`; result: how far the worst is.
    fn fill(&self, frames: &mut Vec<(f64, ClipFrame)>, tolerance: f64) -> f64 {
        let mut room = 16 * frames.len() + 4096;
        let mut worst: f64 = 0.0;
        let mut made = Vec::with_capacity(frames.len());
        let mut open: Vec<(f64, ClipFrame)> = std::mem::take(frames);
        open.reverse();
        let mut axes = self.axes.clone();
        while let Some(from) = open.pop() {
            let mut next = None;
            while let Some(to) = open.last() {
                let Some((off, there)) = self.off(&from, to, &axes) else { break }; // what cannot be written is not looked at
                next = Some(there);
                if off <= tolerance || room == 0 {
                    worst = worst.max(off);
                    break;
                }
                // A motion that jumps at a key stays until the last time before it.
                let before = f64::from((to.0 as f32).next_down());
                let middle = f64::from(((from.0 + to.0) * 0.5) as f32);
                if before <= from.0 || middle <= from.0 || middle >= to.0 {
                    break; // there is no time between
                }
                let held = (before, (self.clip.sample)(before));
                let is_jump = self.off(&from, &held, &axes).is_some_and(|(off, _)| off <= tolerance);
                room -= 1;
                if is_jump {
                    open.push(held);
                    break;
                }
                open.push((middle, (self.clip.sample)(middle)));
            }
            axes = next.unwrap_or(axes);
            made.push(from);
        }
        *frames = made;
        worst
    }

    /// How far the motion between two frames is from the way that a reader goes between them, and the axes of bones at its end.
    fn off(&self, from: &(f64, ClipFrame), to: &(f64, ClipFrame), axes: &[DMat3]) -> Option<(f64, Vec<DMat3>)> {
        let (a, b) = (self.locals(from)?, self.locals(to)?);
        let ends = a.bones.iter().zip(&b.bones).zip(axes);
        let ways: Vec<Way> = ends.map(|((a, b), axes)| Way::new([a, b], *axes)).collect();
        let there =
            ways.iter().zip(axes).map(|(way, axes)| way.pairs.as_ref().map_or(*axes, |[_, to]| to.axes)).collect();
        let off = LOOKED_AT.iter().map(|&s| self.off_at(&a, &b, &ways, s));
        let worst = off.into_iter().try_fold(0.0, |worst, off| Some(f64::max(worst, off?)))?;
        Some((worst, there))
    }

    fn locals<'f>(&self, (time, frame): &'f (f64, ClipFrame)) -> Option<Locals<'f>> {
        let bones = match self.scene.skeleton {
            Some(skeleton) => locals(skeleton, &frame.pose, String::new).ok()?,
            None => Vec::new(),
        };
        Some(Locals { time: *time, bones, frame })
    }

    fn off_at(&self, a: &Locals<'_>, b: &Locals<'_>, ways: &[Way<'_>], s: f64) -> Option<f64> {
        let told = (self.clip.sample)(a.time + (b.time - a.time) * s);
        let mut worst: f64 = 0.0;
        if let Some(skeleton) = self.scene.skeleton {
            let mut world: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
            for (bone, parent) in skeleton.parents().enumerate() {
                let at = bone.get();
                let true_one = told.pose.bones[bone];
                if self.has_keys[at] && parent.is_none_or(|parent| world[parent.get()] == told.pose.bones[parent]) {
                    world.push(true_one);
                    continue;
                }
                let mut local = ways[at].at(s);
                if self.has_keys[at] {
                    // Its own keys are exact; its parent is off.
                    let back = dermis_rig::skeleton::invert(&told.pose.bones[(*parent)?])?;
                    local = back * true_one;
                }
                world.push(parent.map_or(local, |parent| world[parent.get()] * local));
                let (ours, theirs) =
                    (world[at] * skeleton.inverse_bind()[bone], true_one * skeleton.inverse_bind()[bone]);
                for corner in &self.reach[at] {
                    worst = worst.max(ours.transform_point3(*corner).distance(theirs.transform_point3(*corner)));
                }
            }
        }
        if !self.has_weight_keys && !self.scene.morphs.is_empty() {
            let weights = a.frame.morph_weights.iter().zip(&b.frame.morph_weights).zip(&told.morph_weights);
            let off =
                weights.zip(&self.largest).map(|(((a, b), told), largest)| (a + (b - a) * s - told).abs() * largest);
            worst += off.sum::<f64>();
        }
        worst.is_finite().then_some(worst)
    }
}

/// What a reader makes of two linear keys between them.
fn mean([a, b]: [&Trs; 2], s: f64) -> DAffine3 {
    let rotation = slerp(a.rotation, b.rotation, s);
    DAffine3::from_scale_rotation_translation(a.scale.lerp(b.scale, s), rotation, a.translation.lerp(b.translation, s))
}
