//! A body in the proportions of another character, so that what it has can be carried there as to any mesh.
//!
//! Every bone k of the body has a counterpart in the other skeleton; a bone without one has that of the bone above it. With h the
//! places of bones at rest, ℓ their lengths, primes for the other character and w the body's weights:
//!
//! ```text
//! s_k = ℓ'_k / ℓ_k,     A_k(x) = h'_k + s_k (x − h_k),     rest  x'_v = Σ_k w_vk A_k(x_v),     s_v = Σ_k w_vk s_k,     L' = g L
//! ```
//!
//! g is the ratio of the extents. ℓ_k is the distance to the farthest child, of a bone without children to its parent.
//!
//! Rotations of joints stay what they are, so both characters must rest alike ([`Proportions::turned`]). What has a length changes with
//! it: corrections, radii, remembered sculpts, and what a base of moments has about its vertex, by s_v; the fixed centre of a joint by A of the bone
//! that turns; changes of weights by g. At the bind pose nothing moves.
//!
//! Closest points on the other character become counterparts once the body is [laid onto](crate::laid_onto) it.

use crate::error::TransferError;
use crate::model::{TOO_MANY, corrected, kept_back, ring_moments};
use dermis_deform::base::AnimationSpace;
use dermis_deform::delta_mush::{CHANNELS, DirectDeltaMush};
use dermis_deform::guard::{Link, Weld};
use dermis_deform::joints::{Joint, JointReading, Joints, SharedTerm};
use dermis_deform::pose_space::{Carrier, CompiledShapes, Kernel};
use dermis_deform::training::TrainingPoses;
use dermis_deform::{Base, Deformer};
use dermis_rig::glam::{DVec3, DVec4};
use dermis_rig::{BoneIndex, Influences, Mesh, Rows, Skeleton};
use rayon::prelude::*;

/// Bones are longer or shorter than those of the body by this factor at most; a ratio beyond says that their children are other ones.
const MOST_SCALE: f64 = 4.0;
/// A bone shorter than this part of the skeleton has no direction and no length.
const LEAST_LENGTH: f64 = 1e-3;
/// A bone longer than this part of the skeleton tells how the character stands.
const LONG: f64 = 0.05;

/// How the bones of a body become those of another character.
#[derive(Clone, Debug)]
pub struct Proportions {
    /// The counterpart of every bone, or that of the bone above.
    bones: Vec<BoneIndex>,
    /// h, s and h' of every bone.
    maps: Vec<Place>,
    /// Bones that have a counterpart.
    paired: usize,
    /// The bone whose direction at rest differs most from its counterpart's, and by what angle, radians.
    turned: Option<(BoneIndex, f64)>,
}

/// What moves and scales about one place.
#[derive(Clone, Copy, Debug)]
struct Place {
    from: DVec3,
    scale: f64,
    to: DVec3,
}

impl Place {
    /// A of a homogeneous point or a sum of such.
    fn of(&self, a: DVec4) -> DVec4 {
        (a.truncate() * self.scale + (self.to - self.from * self.scale) * a.w).extend(a.w)
    }

    /// Of moments about the origin: weight, first, second.
    fn of_moments(&self, m: &[f64; CHANNELS]) -> [f64; CHANNELS] {
        let (w, first, s) = (m[0], DVec3::new(m[1], m[2], m[3]), self.scale);
        let t = self.to - self.from * s;
        let x = first * s + t * w;
        let second = [[4, 5, 6], [5, 7, 8], [6, 8, 9]];
        let pair =
            |i: usize, j: usize| s * s * m[second[i][j]] + s * (first[i] * t[j] + t[i] * first[j]) + w * t[i] * t[j];
        [w, x.x, x.y, x.z, pair(0, 0), pair(0, 1), pair(0, 2), pair(1, 1), pair(1, 2), pair(2, 2)]
    }
}

/// Where every bone begins and ends, which gives its direction and length: on the way to its farthest child, else from its parent.
fn ends(skeleton: &Skeleton) -> Vec<(BoneIndex, BoneIndex)> {
    let head = |bone: BoneIndex| skeleton.bind()[bone].translation;
    let mut ends: Vec<Option<(BoneIndex, BoneIndex)>> = vec![None; skeleton.len()];
    for (bone, parent) in skeleton.parents().enumerate() {
        let Some(parent) = *parent else { continue };
        let longer =
            |(_, other): (BoneIndex, BoneIndex)| head(parent).distance(head(bone)) > head(parent).distance(head(other));
        if ends[parent.get()].is_none_or(longer) {
            ends[parent.get()] = Some((parent, bone));
        }
    }
    let of = |bone: BoneIndex| ends[bone.get()].unwrap_or((skeleton.parents()[bone].unwrap_or(bone), bone));
    skeleton.bones().map(of).collect()
}

impl Proportions {
    /// - `counterparts`: of every bone of the body, the bone of the other character
    ///
    /// `None` if no bone has a counterpart.
    ///
    /// # Panics
    /// If there are fewer counterparts than bones, or one does not exist.
    pub fn new(body: &Skeleton, other: &Skeleton, counterparts: &[Option<BoneIndex>]) -> Option<Self> {
        let head = |skeleton: &Skeleton, bone: BoneIndex| skeleton.bind()[bone].translation;
        let first = body.bones().find(|bone| counterparts[bone.get()].is_some())?;
        let mut made =
            Self { bones: vec![], maps: vec![], paired: counterparts.iter().flatten().count(), turned: None };
        let size = |skeleton: &Skeleton| {
            let heads = skeleton.bind().iter().map(|bind| bind.translation).collect();
            Mesh { positions: heads, ..Mesh::default() }.extent()
        };
        let (size, other_size) = (size(body), size(other));
        // What has no length of its own is as much larger as the skeleton.
        let whole = if size > 0.0 && other_size > 0.0 { other_size / size } else { 1.0 };
        for (bone, (start, end)) in body.bones().zip(ends(body)) {
            let above = body.parents()[bone];
            let Some(partner) = counterparts[bone.get()] else {
                let (partner, map) = match above {
                    Some(above) => (made.bones[above.get()], made.maps[above.get()]),
                    None => {
                        let partner = counterparts[first.get()]?;
                        (partner, Place { from: head(body, first), scale: whole, to: head(other, partner) })
                    }
                };
                made.bones.push(partner);
                made.maps.push(map);
                continue;
            };
            let own = head(body, end) - head(body, start);
            let theirs = counterparts[start.get()].zip(counterparts[end.get()]);
            let theirs = theirs.map(|(start, end)| head(other, end) - head(other, start));
            let has_length = |v: &DVec3, size: f64| v.length() > LEAST_LENGTH * size;
            let theirs = theirs.filter(|v| has_length(v, other_size) && has_length(&own, size));
            let scale = match theirs {
                Some(theirs) => {
                    let angle = own.angle_between(theirs);
                    if start == bone && own.length() > LONG * size && made.turned.is_none_or(|(_, most)| angle > most) {
                        made.turned = Some((bone, angle));
                    }
                    (theirs.length() / own.length()).clamp(whole / MOST_SCALE, whole * MOST_SCALE)
                }
                None => above.map_or(whole, |above| made.maps[above.get()].scale),
            };
            made.bones.push(partner);
            made.maps.push(Place { from: head(body, bone), scale, to: head(other, partner) });
        }
        Some(made)
    }

    /// Bones of the body that have a counterpart.
    pub fn paired(&self) -> usize {
        self.paired
    }

    /// The long bone whose direction at rest differs most from its counterpart's, and by what angle, radians. Where that is large, as between arms
    /// that hang and arms held out, the characters rest in different poses.
    pub fn turned(&self) -> Option<(BoneIndex, f64)> {
        self.turned
    }

    /// Weights of the body on the bones of the other character.
    pub fn weights(&self, weights: &Influences) -> Influences {
        weights.with_bones(&self.bones.iter().map(|bone| bone.get()).collect::<Vec<_>>())
    }

    /// The body at rest, in the proportions of the other character.
    pub fn rest(&self, positions: &[DVec3], weights: &Influences) -> Vec<DVec3> {
        let one = |(v, p): (usize, &DVec3)| {
            let moved = |&(bone, w): &(BoneIndex, f64)| self.maps[bone.get()].of(p.extend(1.0)).truncate() * w;
            let sum: f64 = weights.of(v).iter().map(|(_, w)| w).sum();
            let at: DVec3 = weights.of(v).iter().map(moved).sum();
            if sum > 0.0 { at / sum } else { self.maps[0].of(p.extend(1.0)).truncate() }
        };
        positions.par_iter().enumerate().map(one).collect()
    }

    /// s of every vertex.
    pub fn scales(&self, weights: &Influences) -> Vec<f64> {
        let one = |v: usize| {
            let (sum, scaled) = weights
                .of(v)
                .iter()
                .fold((0.0, 0.0), |(sum, scaled), (bone, w)| (sum + w, scaled + w * self.maps[bone.get()].scale));
            if sum > 0.0 { scaled / sum } else { self.maps[0].scale }
        };
        (0..weights.vertices()).map(one).collect()
    }

    /// The body's model on the bones of the other character.
    ///
    /// - `weights`: the body's own
    /// - `rest`: the body in the other's proportions, as [`rest`](Self::rest) has it, or the other character where it has the body's vertices
    ///
    /// # Errors
    /// [`TransferError::Part`] for a part that [`carried_model`](crate::carried_model) does not carry either.
    pub fn model(
        &self,
        deformer: &Deformer,
        weights: &Influences,
        (rest, other_weights): (&[DVec3], &Influences),
        other: &Skeleton,
    ) -> Result<Deformer, TransferError> {
        let (scales, old) = (self.scales(weights), deformer.rest());
        let size = larger(old, rest);
        let moved = Moved { to: self, scales, old, rest, weights: other_weights, other, size };
        let bare = Deformer::new(rest.to_vec(), moved.base(deformer)?, None)?;
        corrected(bare, deformer, |joints| moved.joints(joints), |shapes| Ok(moved.shapes(shapes)))
    }

    /// The training poses of the body on the bones of the other character. Joints between bones of one counterpart are left out.
    ///
    /// - `body`, `other`: the skeletons, with the skins at rest
    pub fn training(
        &self,
        training: &TrainingPoses,
        (body, old): (&Skeleton, &[DVec3]),
        (other, rest): (&Skeleton, &[DVec3]),
    ) -> TrainingPoses {
        let length = training.length * larger(old, rest);
        let pair = |&(from, to): &(BoneIndex, BoneIndex)| (self.bones[from.get()], self.bones[to.get()]);
        let kept: Vec<usize> = (0..training.joints.len())
            .filter(|&at| {
                let (from, to) = pair(&training.joints[at]);
                from != to
            })
            .collect();
        let made = TrainingPoses {
            joints: kept.iter().map(|&at| pair(&training.joints[at])).collect(),
            features: vec![],
            length,
        };
        let mut features = Vec::with_capacity(training.poses() * kept.len());
        for pose in training.features.chunks_exact(training.joints.len().max(1)) {
            for (new, &at) in kept.iter().enumerate() {
                // The slide at the joint stays, in units of L; the place of the joint is another one.
                let mut feature = training.at_joint(body, at, &pose[at].map(f64::from));
                let there = made.at_joint(other, new, &feature);
                [3, 7, 11].into_iter().for_each(|k| feature[k] -= there[k] - feature[k]);
                features.push(feature.map(|x| x as f32));
            }
        }
        TrainingPoses { features, ..made }
    }
}

/// g: how much larger one set of points is than another.
fn larger(old: &[DVec3], new: &[DVec3]) -> f64 {
    let extent = |positions: &[DVec3]| Mesh { positions: positions.to_vec(), ..Mesh::default() }.extent();
    let (old, new) = (extent(old), extent(new));
    if old > 0.0 && new > 0.0 { new / old } else { 1.0 }
}

/// A model on its way.
struct Moved<'a> {
    to: &'a Proportions,
    /// s of every vertex.
    scales: Vec<f64>,
    old: &'a [DVec3],
    rest: &'a [DVec3],
    weights: &'a Influences,
    other: &'a Skeleton,
    /// g.
    size: f64,
}

impl Moved<'_> {
    fn bone(&self, bone: BoneIndex) -> BoneIndex {
        self.to.bones[bone.get()]
    }

    /// What is near a vertex, about it.
    fn place(&self, v: usize) -> Place {
        Place { from: self.old[v], scale: self.scales[v], to: self.rest[v] }
    }

    fn base(&self, deformer: &Deformer) -> Result<Base, TransferError> {
        Ok(match deformer.base() {
            Base::Rigid(_) => {
                let row = |v| self.weights.dominant(v).map(|bone| (bone, 1.0)).into_iter().collect();
                Base::Rigid(Influences::from_rows((0..self.weights.vertices()).map(row))?)
            }
            Base::Lbs(_) => Base::Lbs(self.weights.clone()),
            Base::Dqs(_, blend) => Base::Dqs(self.weights.clone(), blend.clone()),
            Base::DirectDeltaMush(mush) => self.mush(|v| mush.moments(v, DVec3::ZERO).collect()),
            Base::CorrectiveSmooth(smooth) => self.mush(|v| ring_moments(smooth, v, DVec3::ZERO)),
            Base::AnimationSpace(space) => Base::AnimationSpace(self.animation_space(space)?),
            Base::RotationalRegression(_) | Base::Stack(..) | Base::Rest | Base::Given => {
                return Err(kept_back(deformer.base()));
            }
        })
    }

    fn mush(&self, of: impl Fn(usize) -> Vec<(BoneIndex, [f64; CHANNELS])> + Sync) -> Base {
        let row = |v: usize| {
            let mut row: Vec<(BoneIndex, [f64; CHANNELS])> = vec![];
            for (bone, m) in of(v) {
                add_term(&mut row, self.bone(bone), &self.place(v).of_moments(&m));
            }
            row
        };
        let rows: Vec<_> = (0..self.rest.len()).into_par_iter().map(row).collect();
        let mesh = Mesh { positions: self.rest.to_vec(), ..Mesh::default() };
        let rows = rows.iter().map(Vec::as_slice);
        Base::DirectDeltaMush(DirectDeltaMush::of_moments(self.rest, (mesh.extent(), DVec3::ZERO), rows))
    }

    fn animation_space(&self, space: &AnimationSpace) -> Result<AnimationSpace, TransferError> {
        let mut terms = Rows::default();
        for (v, p) in self.rest.iter().enumerate() {
            let mut row: Vec<(BoneIndex, [f64; 4])> = vec![];
            let mut away = *p;
            for (bone, a) in space.terms.of(v) {
                let a = self.place(v).of(*a);
                away -= a.truncate();
                add_term(&mut row, self.bone(*bone), &a.to_array());
            }
            for &(bone, w) in self.weights.of(v) {
                add_term(&mut row, bone, &(away * w).extend(0.0).to_array());
            }
            terms.push(row.into_iter().map(|(bone, a)| (bone, DVec4::from_array(a)))).map_err(|_| TOO_MANY)?;
        }
        Ok(AnimationSpace { terms })
    }

    /// Links between the bones of the other character. A bone that the body lacks is not welded.
    fn weld(&self, weld: &Weld) -> Weld {
        let mut is_frozen = vec![false; self.other.len()];
        for bone in weld.frozen() {
            is_frozen[self.bone(bone).get()] = true;
        }
        for link in weld.links.iter().filter(|link| !link.frozen) {
            is_frozen[self.bone(link.to).get()] = false;
        }
        let link = |to: BoneIndex| Some(Link { from: self.other.parents()[to]?, to, frozen: is_frozen[to.get()] });
        Weld { links: self.other.bones().filter_map(link).collect() }
    }

    fn joints(&self, joints: &Joints) -> Result<Joints, TransferError> {
        let length = joints.length * self.size;
        let joint = |joint: &Joint| {
            let map = &self.to.maps[joint.to.get()];
            let centre = |c: DVec3| map.of((c * joints.length).extend(1.0)).truncate() / length;
            let mut made = joint.clone();
            (made.from, made.to) = (self.bone(joint.from), self.bone(joint.to));
            made.centre = joint.centre.map(centre);
            made
        };
        let mut made = joints.clone();
        made.length = length;
        made.joints = joints.joints.iter().map(joint).collect();
        // A joint between bones of one counterpart never turns, and takes its products along.
        let mut turns: Vec<bool> = made.joints.iter().map(|joint| joint.from != joint.to).collect();
        for at in 0..turns.len() {
            if let JointReading::Product(both) = made.joints[at].reading {
                turns[at] = both.into_iter().all(|joint| turns[joint as usize]);
            }
        }
        let mut next = 0;
        let widths: Vec<usize> = joints.numbers().map(|count| 3 * count).collect();
        let places: Vec<Option<u32>> = (0..widths.len())
            .map(|term| {
                let is_kept = turns.get(term).is_none_or(|turns| *turns);
                next += u32::from(is_kept);
                is_kept.then(|| next - 1)
            })
            .collect();
        let mut kept = turns.iter();
        made.joints.retain(|_| kept.next().is_none_or(|turns| *turns));
        for joint in &mut made.joints {
            if let JointReading::Product(both) = &mut joint.reading {
                *both = both.map(|joint| places[joint as usize].unwrap_or_default());
            }
        }
        made.gravity
            .iter_mut()
            .flat_map(|gravity| &mut gravity.bones)
            .for_each(|sagging| sagging.bone = self.bone(sagging.bone));
        made.weld = self.weld(&joints.weld);
        made.weights = self.weights.clone();
        let (mut terms, mut coefficients, mut shared) = (Rows::default(), Rows::default(), Rows::default());
        for (v, s) in self.scales.iter().enumerate() {
            let (mut rest, mut own) = (joints.coefficients.of(v), vec![]);
            for &term in joints.terms.of(v) {
                let (numbers, others) = rest.split_at(widths[term as usize]);
                if places[term as usize].is_some() {
                    own.extend(numbers.iter().map(|u| u * s));
                }
                rest = others;
            }
            let kept: Vec<u32> = joints.terms.of(v).iter().filter_map(|&term| places[term as usize]).collect();
            terms.push(kept).map_err(|_| TOO_MANY)?;
            coefficients.push(own).map_err(|_| TOO_MANY)?;
            let term = |term: &SharedTerm| {
                let mut term = *term;
                term.bone = self.bone(term.bone);
                term.offset *= *s;
                // What it multiplies is longer by s, in units that are longer by g.
                term.weight *= self.size;
                term
            };
            shared.push(joints.shared.of(v).iter().map(term)).map_err(|_| TOO_MANY)?;
        }
        made.terms = terms;
        made.coefficients = coefficients;
        made.shared = shared;
        made.radii.iter_mut().zip(&self.scales).for_each(|(radius, s)| *radius *= s);
        made.layer = joints.layer.as_ref().map(|layer| self.shapes(layer));
        Ok(made)
    }

    fn shapes(&self, shapes: &CompiledShapes) -> CompiledShapes {
        let mut made = shapes.clone();
        made.kernel = self.kernel(&shapes.kernel);
        for (v, s) in self.scales.iter().enumerate() {
            made.displacements[shapes.terms.range(v)].iter_mut().for_each(|u| *u *= *s);
        }
        made.radii.iter_mut().zip(&self.scales).for_each(|(radius, s)| *radius *= s);
        if let Carrier::Bones(bones) = &mut made.carrier {
            bones.iter_mut().for_each(|bone| *bone = self.bone(*bone));
        }
        made
    }

    fn kernel(&self, kernel: &Kernel) -> Kernel {
        let mut made = kernel.clone();
        made.weld = self.weld(&kernel.weld);
        for joint in &mut made.joints {
            (joint.parent, joint.bone) = (self.bone(joint.parent), self.bone(joint.bone));
        }
        made
    }
}

/// Adds to the numbers of a bone.
fn add_term<const N: usize>(row: &mut Vec<(BoneIndex, [f64; N])>, bone: BoneIndex, numbers: &[f64; N]) {
    match row.iter_mut().find(|(at, _)| *at == bone) {
        Some((_, sum)) => sum.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x),
        None => row.push((bone, *numbers)),
    }
}
