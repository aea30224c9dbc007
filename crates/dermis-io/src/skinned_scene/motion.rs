//! Clips as keys that programs join in the way of a format: translation and scale in straight lines, rotation as the format says.
//!
//! Between keys that is not the way that a clip moves. So the motion is looked at between every two keys, with the numbers that the file
//! will hold, and keys are added until the skin is close to it.

use crate::WriteError;
use crate::agree::corners;
use crate::contents::{Clip, ClipFrame};
use crate::gltf::trs::{Pair, SHEAR, Trs, locals};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, slerp};
use dermis_rig::{BoneVec, Influences, Mesh, MorphTarget, Skeleton, WorldPose};

/// How far the skin may be off between keys, in parts of the mesh's diagonal: 0.2 mm on a person.
pub(crate) const BETWEEN_KEYS: f64 = 1e-4;

/// Where between two keys the motion is looked at.
const LOOKED_AT: [f64; 3] = [0.25, 0.5, 0.75];

/// Keys stand no closer to those of the clip than this, in frames: Blender takes keys that are a hundredth of a frame apart for one.
const APART: f64 = 0.02;

/// Seconds between keys that this is at least and at most, whatever the rate.
const LEAST: f64 = 1e-5;
const MOST: f64 = 1e-2;

/// A bone is at its bind pose if its matrices are this close: what floats lose.
const AT_BIND: f64 = 1e-6;

/// Ticks per second of the clock of FBX files, by which moments closer than a tick are one.
pub(crate) const TICKS: f64 = 46_186_158_000.0;

/// What moves, and how its numbers are stored.
pub(crate) struct Stage<'a> {
    pub(crate) skeleton: Option<&'a Skeleton>,
    /// What every bone's own frame is multiplied with, so that it is a rotation where it was bound: the same in every pose, so it moves no
    /// vertex. Bones of other sizes, or mirrored ones, are not what programs expect.
    pub(crate) sizes: Vec<DMat3>,
    /// Weights of the shapes where no clip says otherwise.
    pub(crate) rest_weights: Vec<f64>,
    /// From our world to the file's: its axes.
    pub(crate) turn: DMat3,
    /// Metres per unit of the file.
    pub(crate) metres: f64,
    /// Local transforms where no clip says otherwise, in metres, roots in the file's axes.
    pub(crate) rest: Vec<Trs>,
    /// Whether each bone shears somewhere, so that it is two nodes.
    pub(crate) shears: Vec<bool>,
    /// Corners of the box of what each bone moves, at rest; of a bone that moves no skin its own place.
    reach: Vec<Vec<DVec3>>,
    /// How far each shape moves a vertex at most.
    largest: Vec<f64>,
    tolerance: f64,
    /// Seconds that a key stands from those of the clip at least.
    apart: f64,
}

/// A rotation as a format holds it, and with it the format's numbers.
pub(crate) trait Turn: Copy + Default {
    /// The numbers of a rotation, near those before.
    fn near(rotation: DQuat, before: Self) -> Self;
    /// What the file holds of them.
    fn stored(self) -> Self;
    /// Whether all are finite.
    fn is_finite(self) -> bool;
    /// The rotation that programs make `s` of the way between two keys.
    fn between(a: Self, b: Self, s: f64) -> DMat3;
    /// What the file holds of a scale.
    fn scale(scale: DVec3) -> DVec3;
    /// What the file holds of the weight of a shape.
    fn weight(weight: f64) -> f64;
}

/// The place of a bone as its nodes have it: lengths in the file's unit.
#[derive(Clone, Debug)]
pub(crate) struct Place<R> {
    pub(crate) translation: DVec3,
    pub(crate) rotation: R,
    pub(crate) scale: DVec3,
    /// Of the node below, which is the bone itself, if the bone is two.
    pub(crate) lower: R,
    axes: DMat3,
}

/// A moment of a clip, with numbers as the file holds them.
#[derive(Clone, Debug)]
pub(crate) struct Key<R> {
    /// Seconds from the clip's beginning.
    pub(crate) time: f64,
    pub(crate) bones: Vec<Place<R>>,
    /// Of the shapes.
    pub(crate) weights: Vec<f64>,
    /// How far its numbers are from the clip, metres: more keys do not mend that.
    off: f64,
}

/// A clip as keys.
pub(crate) struct Take<R> {
    pub(crate) keys: Vec<Key<R>>,
    /// How far the skin is off between keys at most, metres.
    pub(crate) off: f64,
}

/// A moment that may become a key.
struct Moment {
    time: f64,
    /// Whether the clip has a key there.
    is_given: bool,
    bones: Vec<Trs>,
    frame: ClipFrame,
}

impl<'a> Stage<'a> {
    /// - `rate`: frames per second
    /// - `default_pose`: what is shown without a clip; the bind pose without one, or where nodes cannot hold it
    pub(crate) fn new(
        (mesh, weights): (Option<&Mesh>, Option<&Influences>),
        skeleton: Option<&'a Skeleton>,
        default_pose: Option<&WorldPose>,
        (morphs, rest_weights): (&[MorphTarget], Vec<f64>),
        (turn, metres): (DMat3, f64),
        rate: f64,
    ) -> Result<Self, WriteError> {
        let bones = skeleton.map_or(0, Skeleton::len);
        let mut made = Self {
            skeleton,
            sizes: skeleton.iter().flat_map(|s| s.bind().iter().map(|bind| size(&bind.matrix3))).collect(),
            rest_weights,
            turn,
            metres,
            rest: Vec::new(),
            shears: Vec::new(),
            reach: Vec::new(),
            largest: morphs.iter().map(|m| m.deltas.iter().map(|d| d.length()).fold(0.0, f64::max)).collect(),
            tolerance: BETWEEN_KEYS,
            apart: (APART / rate).clamp(LEAST, MOST),
        };
        if let Some(skeleton) = skeleton {
            let shown = default_pose.and_then(|pose| made.locals(pose, "the default pose").ok());
            let bind = || made.locals(&WorldPose::new(skeleton.bind().to_vec()), "the bind pose");
            made.rest = shown.map_or_else(bind, Ok)?;
            made.shears = made.rest.iter().map(|trs| trs.deviation > SHEAR).collect();
        }
        let mut boxes = vec![(DVec3::INFINITY, DVec3::NEG_INFINITY); bones];
        if let (Some(mesh), Some(weights)) = (mesh, weights) {
            for (position, row) in mesh.positions.iter().zip(weights.rows()) {
                for (bone, _) in row.iter().filter(|(bone, weight)| *weight > 0.0 && bone.get() < bones) {
                    let (low, high) = &mut boxes[bone.get()];
                    (*low, *high) = (low.min(*position), high.max(*position));
                }
            }
        }
        let places: Vec<DVec3> = skeleton.iter().flat_map(|s| s.bind().iter().map(|bind| bind.translation)).collect();
        let reach = |(bounds, place): ((DVec3, DVec3), &DVec3)| {
            if bounds.0.x > bounds.1.x { vec![*place] } else { corners(bounds).to_vec() }
        };
        let spread = places.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(a, b), p| (a.min(*p), b.max(*p)));
        made.reach = boxes.into_iter().zip(&places).map(reach).collect();
        let size = mesh.map_or_else(|| (spread.1 - spread.0).length(), Mesh::diagonal);
        made.tolerance *= if size > 0.0 && size.is_finite() { size } else { 1.0 };
        Ok(made)
    }

    /// Local transforms of a pose, roots in the file's axes.
    pub(crate) fn locals(&self, pose: &WorldPose, place: &str) -> Result<Vec<Trs>, WriteError> {
        let Some(skeleton) = self.skeleton else { return Ok(Vec::new()) };
        if pose.bones.is_empty() {
            return Ok(self.rest.clone());
        }
        let turn = DAffine3::from_mat3(self.turn);
        let sized = pose.bones.iter().zip(&self.sizes).map(|(bone, size)| turn * *bone * DAffine3::from_mat3(*size));
        let turned = WorldPose::new(sized.collect());
        locals(skeleton, &turned, || place.to_owned())
    }

    /// Marks the bones that shear at a key of the clip.
    ///
    /// # Errors
    /// [`WriteError`] for a key that nodes cannot hold.
    pub(crate) fn look_at(&mut self, clip: &Clip) -> Result<(), WriteError> {
        for &time in &times(clip)? {
            let moment = self.moment(clip, time)?;
            moment.bones.iter().zip(&mut self.shears).for_each(|(trs, shears)| *shears |= trs.deviation > SHEAR);
        }
        Ok(())
    }

    /// Where the bones are without a clip, in double precision.
    pub(crate) fn rest_places<R: Turn>(&self) -> Vec<Place<R>> {
        self.rest.iter().enumerate().map(|(bone, trs)| self.place(bone, trs, None)).collect()
    }

    /// Whether each bone stands without a clip as it was bound.
    pub(crate) fn is_at_bind(&self) -> Vec<bool> {
        let Some(skeleton) = self.skeleton else { return Vec::new() };
        let bind = WorldPose::new(skeleton.bind().to_vec());
        let Ok(bound) = self.locals(&bind, "the bind pose") else { return vec![false; self.rest.len()] };
        let same = |(a, b): (&Trs, &Trs)| {
            let size = b.translation.abs().max_element();
            a.matrix.matrix3.abs_diff_eq(b.matrix.matrix3, AT_BIND)
                && a.translation.abs_diff_eq(b.translation, AT_BIND * size)
        };
        self.rest.iter().zip(&bound).map(same).collect()
    }

    /// The place of a bone, with numbers near those before.
    fn place<R: Turn>(&self, bone: usize, trs: &Trs, before: Option<&Place<R>>) -> Place<R> {
        let near = |rotation: DQuat, of: fn(&Place<R>) -> R| R::near(rotation, before.map(of).unwrap_or_default());
        let axes = before.map_or(DMat3::IDENTITY, |place| place.axes);
        let translation = trs.translation / self.metres;
        if !self.shears[bone] {
            let rotation = near(trs.rotation, |place| place.rotation);
            return Place { translation, rotation, scale: trs.scale, lower: R::default(), axes };
        }
        let pair = Pair::new(&trs.matrix, axes);
        Place {
            translation,
            rotation: near(pair.upper.rotation, |place| place.rotation),
            scale: pair.upper.scale,
            lower: near(pair.lower, |place| place.lower),
            axes: pair.axes,
        }
    }

    /// The clip as keys.
    ///
    /// # Errors
    /// [`WriteError`]: times that do not ascend, poses and weights that are not finite or too few, a bone without size above others.
    pub(crate) fn take<R: Turn>(&self, clip: &Clip) -> Result<Take<R>, WriteError> {
        let moments: Result<Vec<Moment>, WriteError> =
            times(clip)?.into_iter().map(|time| Ok(Moment { is_given: true, ..self.moment(clip, time)? })).collect();
        let mut open = moments?;
        let mut room = 16 * open.len() + 4096;
        open.reverse();
        let mut take = Take { keys: Vec::with_capacity(open.len()), off: 0.0 };
        let first = self.rest.iter().enumerate().map(|(bone, trs)| self.place(bone, trs, None)).collect();
        let mut last = Key { time: 0.0, bones: first, weights: Vec::new(), off: 0.0 };
        while let Some(from) = open.pop() {
            let key = self.key(&from, &last, clip)?;
            while let Some(to) = open.last() {
                let (length, next) = (to.time - from.time, self.key(to, &key, clip)?);
                let off = self.off(clip, &key, &next);
                let allowed = self.tolerance + key.off.max(next.off);
                if off <= allowed || room == 0 {
                    take.off = take.off.max(off);
                    break;
                }
                let apart = if from.is_given || to.is_given { self.apart } else { LEAST };
                if length <= 2.0 * apart {
                    let just_before = self.key(&self.moment(clip, to.time - LEAST)?, &key, clip)?;
                    let jumps = self.off(clip, &just_before, &next) > allowed;
                    take.off = if jumps { take.off } else { take.off.max(off) };
                    break;
                }
                room -= 1;
                let held = self.moment(clip, to.time - apart)?;
                let held_key = self.key(&held, &key, clip)?;
                if self.off(clip, &key, &held_key) <= allowed {
                    open.push(held);
                    break;
                }
                let middle = self.moment(clip, from.time + 0.5 * length)?;
                open.push(middle);
            }
            take.off = take.off.max(key.off);
            last = key.clone();
            take.keys.push(key);
        }
        Ok(take)
    }

    fn moment(&self, clip: &Clip, time: f64) -> Result<Moment, WriteError> {
        let mut frame = (clip.sample)(time);
        if frame.morph_weights.is_empty() {
            frame.morph_weights.clone_from(&self.rest_weights);
        }
        let (found, expected) = (frame.morph_weights.len(), self.rest_weights.len());
        if found != expected {
            let what = format!("clip \"{}\"", clip.name);
            return Err(WriteError::Count { what, things: "morph weights", found, expected });
        }
        let place = format!("clip \"{}\" at {time} s", clip.name);
        Ok(Moment { time, is_given: false, bones: self.locals(&frame.pose, &place)?, frame })
    }

    /// The numbers of a moment as the file holds them.
    fn key<R: Turn>(&self, moment: &Moment, before: &Key<R>, clip: &Clip) -> Result<Key<R>, WriteError> {
        let stored = |v: DVec3| v.map(|x| f64::from(x as f32));
        let bones: Vec<Place<R>> = (moment.bones.iter().enumerate())
            .map(|(bone, trs)| {
                let place = self.place(bone, trs, before.bones.get(bone));
                Place {
                    translation: stored(place.translation),
                    rotation: place.rotation.stored(),
                    scale: R::scale(place.scale),
                    lower: place.lower.stored(),
                    axes: place.axes,
                }
            })
            .collect();
        let weights: Vec<f64> = moment.frame.morph_weights.iter().map(|weight| R::weight(*weight)).collect();
        let is_finite = |place: &Place<R>| {
            let Place { translation, rotation, scale, lower, .. } = place;
            translation.is_finite() && scale.is_finite() && rotation.is_finite() && lower.is_finite()
        };
        if !bones.iter().all(is_finite) || !weights.iter().all(|weight| weight.is_finite()) {
            return Err(WriteError::NotFinite { what: format!("clip \"{}\" at {} s", clip.name, moment.time) });
        }
        let key = Key { time: moment.time, bones, weights, off: 0.0 };
        Ok(Key { off: self.off_at(&moment.frame, &key, &key, 0.0), ..key })
    }

    /// How far the skin is off between two keys at most, metres.
    fn off<R: Turn>(&self, clip: &Clip, from: &Key<R>, to: &Key<R>) -> f64 {
        let off = |s: &f64| {
            let told = (clip.sample)(from.time + (to.time - from.time) * s);
            let moved = self.off_at(&told, from, to, *s);
            let weights = from.weights.iter().zip(&to.weights).zip(&told.morph_weights).zip(&self.largest);
            let shapes: f64 = weights.map(|(((a, b), told), largest)| (a + (b - a) * s - told).abs() * largest).sum();
            moved + shapes
        };
        LOOKED_AT.iter().map(off).fold(0.0, |most, off| if off.is_nan() { f64::INFINITY } else { f64::max(most, off) })
    }

    fn off_at<R: Turn>(&self, told: &ClipFrame, from: &Key<R>, to: &Key<R>, s: f64) -> f64 {
        let Some(skeleton) = self.skeleton.filter(|skeleton| told.pose.bones.len() == skeleton.len()) else {
            return 0.0;
        };
        let turn = DAffine3::from_mat3(self.turn);
        let mut world: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
        let mut worst: f64 = 0.0;
        for (bone, parent) in skeleton.parents().enumerate() {
            let at = bone.get();
            let local = self.between(&from.bones[at], &to.bones[at], s);
            world.push(parent.map_or(local, |parent| world[parent.get()] * local));
            let back = skeleton.inverse_bind()[bone];
            let unsized_one = DAffine3::from_mat3(self.sizes[at].inverse());
            let (ours, theirs) = (world[at] * unsized_one * back, turn * told.pose.bones[bone] * back);
            for corner in &self.reach[at] {
                worst = worst.max(ours.transform_point3(*corner).distance(theirs.transform_point3(*corner)));
            }
        }
        worst
    }

    /// The local transform that a program makes between two keys, metres.
    fn between<R: Turn>(&self, a: &Place<R>, b: &Place<R>, s: f64) -> DAffine3 {
        let upper = R::between(a.rotation, b.rotation, s) * DMat3::from_diagonal(a.scale.lerp(b.scale, s));
        let matrix3 = upper * R::between(a.lower, b.lower, s);
        DAffine3 { matrix3, translation: a.translation.lerp(b.translation, s) * self.metres }
    }
}

/// What makes a rotation of a bone's bind matrix: the identity where it is one.
fn size(bind: &DMat3) -> DMat3 {
    let stretch = bind.transpose() * *bind - DMat3::IDENTITY;
    match bind.determinant() > 0.0 && stretch.to_cols_array().iter().all(|x| x.abs() <= SHEAR) {
        true => DMat3::IDENTITY,
        false => bind.inverse() * nearest_rotation(bind),
    }
}

/// Times of the keys that a clip has: one at least, each once.
fn times(clip: &Clip) -> Result<Vec<f64>, WriteError> {
    let times = if clip.key_times.is_empty() { vec![0.0] } else { clip.key_times.clone() };
    let is_time = |time: f64| (clip.start + time).abs() < 1e8; // three years; the clock's last tick is twice that
    match (0..times.len()).find(|&at| !is_time(times[at]) || (at > 0 && times[at] < times[at - 1])) {
        Some(at) => Err(WriteError::Times { clip: clip.name.clone(), at }),
        None => {
            let mut times = times;
            times.dedup_by_key(|time| ticks(clip.start + *time));
            Ok(times)
        }
    }
}

/// A time by that clock.
pub(crate) fn ticks(seconds: f64) -> i64 {
    (seconds * TICKS).round() as i64
}

/// A clip of frames, as the frames of a GLB are joined: translation and scale in straight lines, rotation along the shorter arc.
///
/// - `poses`: one per time, or none where no bone moves: the frames of the clip have no pose then, which the writers of scenes take
/// - `morph_weights`: one row per time, or none
///
/// # Errors
/// [`WriteError`]: another number of poses or rows than times, a pose of other bones, not finite, or with a bone without size above others.
pub fn clip_of_frames(
    name: &str,
    skeleton: Option<&Skeleton>,
    times: Vec<f64>,
    poses: &[WorldPose],
    morph_weights: Vec<Vec<f64>>,
) -> Result<Clip, WriteError> {
    let what = || format!("clip \"{name}\"");
    for (things, found) in [("poses", poses.len()), ("rows of morph weights", morph_weights.len())] {
        if found != 0 && found != times.len() {
            return Err(WriteError::Count { what: what(), things, found, expected: times.len() });
        }
    }
    if times.is_empty() {
        return Err(WriteError::Count { what: what(), things: "times", found: 0, expected: 1 });
    }
    if let Some(at) = (0..times.len())
        .find(|&at| !(times[at] >= 0.0 && times[at].is_finite()) || (at > 0 && times[at] <= times[at - 1]))
    {
        return Err(WriteError::Times { clip: name.into(), at });
    }
    let mut frames: Vec<Vec<Trs>> = Vec::with_capacity(poses.len());
    if let Some(skeleton) = skeleton {
        for (at, pose) in poses.iter().enumerate() {
            frames.push(locals(skeleton, pose, || format!("{}, frame {at}", what()))?);
        }
    }
    let (first, last) = (times[0], times[times.len() - 1]);
    let (skeleton, given, poses) = (skeleton.cloned(), times.clone(), poses.to_vec());
    let sample = move |time: f64| {
        let time = time.clamp(first, last);
        let next = times.partition_point(|own| *own <= time).clamp(1, times.len().max(2) - 1).min(times.len() - 1);
        let before = next.saturating_sub(1);
        let length = times[next] - times[before];
        let s = if length > 0.0 { ((time - times[before]) / length).clamp(0.0, 1.0) } else { 0.0 };
        let whole = if s == 0.0 { Some(before) } else { (s == 1.0).then_some(next) };
        let pose = match (&skeleton, whole) {
            (None, _) => WorldPose::new(Vec::new()),
            (Some(_), _) if poses.is_empty() => WorldPose::new(Vec::new()),
            (Some(_), Some(at)) => poses[at].clone(),
            (Some(skeleton), None) => {
                let ways = frames[before].iter().zip(&frames[next]);
                let local = BoneVec::new(ways.map(|(a, b)| way(a, b, s)).collect());
                // A pose of that many bones always has one.
                skeleton.posed(local).map_or_else(|_| poses[before].clone(), |posed| posed.world())
            }
        };
        let row = |at: usize| morph_weights.get(at).cloned().unwrap_or_default();
        let morph_weights = row(before).into_iter().zip(row(next)).map(|(a, b)| a + (b - a) * s).collect();
        ClipFrame { pose, morph_weights }
    };
    Ok(Clip { name: name.into(), duration: last, start: 0.0, key_times: given, curves: None, sample: Box::new(sample) })
}

/// The local transform `s` of the way between two frames.
fn way(a: &Trs, b: &Trs, s: f64) -> DAffine3 {
    let mean = |a: &Trs, b: &Trs| {
        let rotation = slerp(a.rotation, b.rotation, s);
        let scale = a.scale.lerp(b.scale, s);
        DAffine3::from_scale_rotation_translation(scale, rotation, a.translation.lerp(b.translation, s))
    };
    if a.deviation <= SHEAR && b.deviation <= SHEAR {
        return mean(a, b);
    }
    let from = Pair::new(&a.matrix, DMat3::IDENTITY);
    let to = Pair::new(&b.matrix, from.axes);
    mean(&from.upper, &to.upper) * DAffine3::from_quat(slerp(from.lower, to.lower, s))
}
