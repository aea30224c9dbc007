//! A template from any skinned rig.
//!
//! Bones that carry skin become joints, others are passed over. Branches that are small beside the body, such as fingers and faces,
//! ride along with the bone that they hang on. Partners come from the rig's mirror symmetry, parts from the bones' names. Where
//! limbs begin and how deep they reach into the trunk is measured in the rig's own mesh, as it is measured in the mesh to be rigged.

use super::{Frames, Hints, LandmarkKind, Reduced, Stance, Template, TemplateJoint};
use crate::AutoRigError;
use crate::body::Body;
use crate::field::Field;
use crate::limb::{Limb, LimbShape};
use crate::rigged::EFFORT;
use crate::winding::Effort;
use dermis_motion::body::{Part, Recognised, Side};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Mirror, Rig};

/// The fewest joints of a template.
const FEWEST: usize = 3;
/// The most ends and branches: the search is exhaustive, and a body has a dozen.
const MOST_LANDMARKS: usize = 24;
/// A branch whose joints and skin are nearer to where it hangs than this part of the body rides along.
const SMALL: f64 = 0.13;
/// Ends within this part of the body's height stand on the ground.
const GROUND: f64 = 0.05;

/// Why a rig makes no template.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TemplateError {
    /// Too few bones that carry skin.
    #[error("{bones} bones carry skin; a template needs {least} or more")]
    Bones {
        /// Bones that carry skin.
        bones: usize,
        /// The fewest.
        least: usize,
    },
    /// Too many branches.
    #[error("the skeleton branches and ends {landmarks} times; a template does so {most} times at most")]
    Landmarks {
        /// Branches and ends.
        landmarks: usize,
        /// The most.
        most: usize,
    },
    /// Its mesh is unusable.
    #[error(transparent)]
    Mesh(#[from] AutoRigError),
}

impl Template {
    /// A template from a skinned rig, which stands upright (+Y).
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn of_rig(rig: &Rig, name: &str) -> Result<Self, TemplateError> {
        let (skeleton, mesh) = (rig.skeleton(), rig.mesh());
        let count = skeleton.len();
        let mut carried = vec![0.0; count];
        match rig.weights() {
            Some(weights) => weights.rows().flatten().for_each(|(bone, w)| carried[bone.get()] += *w),
            None => carried.fill(1.0),
        }
        let kept: Vec<BoneIndex> = skeleton.bones().filter(|b| carried[b.get()] > 0.0).collect();
        if kept.len() < FEWEST {
            return Err(TemplateError::Bones { bones: kept.len(), least: FEWEST });
        }
        let head = |b: BoneIndex| skeleton.bind()[b].translation;
        let joint_of = |b: BoneIndex| kept.iter().position(|k| *k == b);
        let above = |b: BoneIndex| std::iter::successors(skeleton.parents()[b], |p| skeleton.parents()[*p]);
        // Bones without a kept parent hang on the nearest one before them.
        let parent = |at: usize| {
            let own = above(kept[at]).find_map(joint_of);
            let far = |k: &usize| head(kept[*k]).distance_squared(head(kept[at]));
            own.or_else(|| (0..at).min_by(|a, b| far(a).total_cmp(&far(b))))
        };
        let mirror = rig.weights().and_then(|weights| Mirror::find(&mesh.positions, skeleton, weights));
        let said = Recognised::new(skeleton).roles;
        let size = mesh.extent().max(1e-12);
        let mut joints: Vec<TemplateJoint> = Vec::with_capacity(kept.len());
        for (at, &bone) in kept.iter().enumerate() {
            let off = mirror.as_ref().map_or(0.0, |m| m.normal.dot(head(bone)) - m.plane);
            let side = match &mirror {
                Some(_) if off.abs() < 0.01 * size => Side::Middle,
                _ if off >= 0.0 => Side::Left,
                _ => Side::Right,
            };
            let partner = mirror.as_ref().and_then(|m| joint_of(m.bones[bone.get()])).unwrap_or(at);
            let part = said[bone].map(|role| role.part);
            let name = skeleton.names()[bone].clone();
            joints.push(TemplateJoint { name, parent: parent(at), part, side, partner, hints: Hints::default() });
        }
        let mut template = Self {
            name: name.to_owned(),
            stances: vec![Stance {
                name: "rest".into(),
                places: kept.iter().map(|b| head(*b)).collect(),
                ends: vec![None; kept.len()],
            }],
            joints,
            frames: Frames::Upright,
        };
        template.find_riders(SMALL * size);
        template.find_ends(rig, &kept);
        let reduced = Reduced::new(&template);
        if reduced.landmarks.len() > MOST_LANDMARKS {
            return Err(TemplateError::Landmarks { landmarks: reduced.landmarks.len(), most: MOST_LANDMARKS });
        }
        template.measure(rig, &reduced)?;
        Ok(template)
    }

    /// Small branches ride along.
    fn find_riders(&mut self, small: f64) {
        let count = self.joints.len();
        let places = &self.stances[0].places;
        let children = |joints: &[TemplateJoint], j: usize| (0..count).filter(|c| joints[*c].parent == Some(j)).count();
        let is_below = |joints: &[TemplateJoint], j: usize, top: usize| {
            std::iter::successors(Some(j), |k| joints[*k].parent).any(|k| k == top)
        };
        for j in 0..count {
            let reach = (0..count)
                .filter(|k| is_below(&self.joints, *k, j))
                .map(|k| places[k].distance(places[j]))
                .fold(0.0, f64::max);
            let Some(parent) = self.joints[j].parent else { continue };
            let siblings = children(&self.joints, parent) > 1;
            let rides = self.joints[parent].hints.rides;
            let far = places[j].distance(places[parent]) + reach;
            let keeps_on = matches!(
                self.joints[j].part,
                Some(Part::Head | Part::Neck | Part::Clavicle | Part::Haunch | Part::Thigh | Part::Tail)
            );
            if rides || (siblings && far < small && !keeps_on) {
                self.joints[j].hints.rides = true;
            }
        }
    }

    /// Ends of the last bones: as far as their skin goes on.
    fn find_ends(&mut self, rig: &Rig, kept: &[BoneIndex]) {
        let count = self.joints.len();
        for j in 0..count {
            let goes_on = (0..count).any(|c| self.joints[c].parent == Some(j) && !self.joints[c].hints.rides);
            if goes_on || self.joints[j].hints.rides {
                continue;
            }
            let place = self.stances[0].places[j];
            let below = |k: usize| std::iter::successors(Some(k), |k| self.joints[*k].parent).any(|k| k == j);
            let own: Vec<BoneIndex> = (0..count).filter(|k| below(*k)).map(|k| kept[k]).collect();
            let skin: Vec<DVec3> = match rig.weights() {
                Some(weights) => (0..rig.mesh().positions.len())
                    .filter(|v| weights.of(*v).iter().any(|(b, w)| own.contains(b) && *w > 0.5))
                    .map(|v| rig.mesh().positions[v])
                    .collect(),
                None => Vec::new(),
            };
            let from = self.joints[j].parent.map_or(place, |p| self.stances[0].places[p]);
            let mean = skin.iter().sum::<DVec3>() / skin.len().max(1) as f64 - place;
            let along = if skin.is_empty() { place - from } else { mean };
            let along = along.try_normalize().or((place - from).try_normalize()).unwrap_or(DVec3::Y);
            let reach = skin.iter().map(|p| (*p - place).dot(along)).fold(0.0, f64::max);
            let reach = if reach > 0.0 { reach } else { 0.5 * place.distance(from) };
            self.stances[0].ends[j] = Some(place + along * reach);
            self.joints[j].hints.has_end = true;
        }
    }

    /// Where limbs begin, what is thick, bends and stands on the ground, in the rig's own mesh.
    fn measure(&mut self, rig: &Rig, reduced: &Reduced) -> Result<(), TemplateError> {
        let effort = Effort::new(EFFORT);
        let body = Body::new(rig.mesh(), DVec3::Y, &effort)?;
        let field = Field::new(&body, &effort).map_err(AutoRigError::from)?;
        let places: Vec<DVec3> = self.stances[0].places.iter().map(|p| body.inwards(*p)).collect();
        for landmark in &reduced.landmarks {
            let joint = landmark.joint;
            if landmark.kind == LandmarkKind::Branch {
                self.joints[joint].hints.is_fat = true;
            }
            let (LandmarkKind::End, Some(parent)) = (landmark.kind, landmark.parent) else { continue };
            let end = body.inwards(self.stances[0].ends[joint].unwrap_or(self.stances[0].places[joint]));
            self.joints[joint].hints.on_ground = end.y - body.bounds.0.y < GROUND * (body.bounds.1.y - body.bounds.0.y);
            let chain = landmark.chain.iter().rev().map(|j| places[*j]);
            let line: Vec<DVec3> =
                [end].into_iter().chain(chain).chain([places[reduced.landmarks[parent].joint]]).collect();
            self.joints[joint].hints.is_bulb = self.joints[joint].part == Some(Part::Head);
            let shape = LimbShape::of(&self.joints[joint]);
            let limb = Limb::along(&line, &field, shape);
            // How far each joint is within the trunk, beyond where the limb leaves it.
            let depth = |j: usize| (places[j] - limb.beyond(0.0)).dot(limb.inwards) / limb.root_radius.max(1e-6);
            // The last joint that is still in the trunk begins the limb; a limb that has none begins with its first.
            let first = landmark.chain.iter().rev().copied().find(|j| depth(*j) > -0.6).unwrap_or(landmark.chain[0]);
            self.joints[first].hints.depth = Some(depth(first).clamp(-0.6, 4.0));
            for k in 0..landmark.chain.len() {
                let at = landmark.chain[k];
                let before = if k > 0 { places[landmark.chain[k - 1]] } else { continue };
                let after = landmark.chain.get(k + 1).map_or(end, |j| places[*j]);
                self.joints[at].hints.bends = (places[at] - before).angle_between(after - places[at]) > 0.17;
            }
        }
        Ok(())
    }
}
