//! Skeletons and their animations.
//!
//! Source: OpenUSD, "UsdSkel: Introduction" and `UsdSkelTopology`, `UsdSkelAnimation`: p' = S Σ w_k J_k B_k⁻¹ G p, with S the way
//! from the skeleton to the world, J_k the joints in the skeleton, B_k `bindTransforms`, G `geomBindTransform`.

use super::budget::Budget;
use super::layer::Name;
use super::stage::Stage;
use super::track::{Track, quaternion};
use super::xform::{Chain, matrix, world};
use crate::between::Knots;
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::skeleton::invert;
use std::collections::HashMap;
use std::sync::Arc;

/// A skeleton of the stage.
pub(super) struct Skeleton {
    pub prim: usize,
    /// Paths of joints, such as "root/hips".
    pub joints: Vec<Name>,
    /// The joint above each.
    pub parents: Vec<Option<usize>>,
    /// Joint to world as bound.
    pub bind: Vec<DAffine3>,
    /// What plays.
    pub player: Arc<Player>,
    /// The prim of the animation that plays.
    pub animation: Option<usize>,
}

/// Joints that move.
pub(super) struct Player {
    /// Joints, those above others first, each with the one above it.
    order: Vec<(usize, Option<usize>)>,
    /// Against the joint above.
    rest: Vec<DAffine3>,
    pub chain: Chain,
    pub motion: Option<Motion>,
}

/// What an animation says.
pub(super) struct Motion {
    /// The skeleton's joint for each of its own.
    joints: Vec<Option<usize>>,
    translations: Track,
    rotations: Track,
    scales: Track,
    /// Shapes by name, and their weights.
    pub shapes: Vec<String>,
    weights: Track,
}

impl Motion {
    /// When it has values, seconds.
    pub fn times(&self) -> impl Iterator<Item = f64> + '_ {
        [&self.translations, &self.rotations, &self.scales, &self.weights]
            .into_iter()
            .flat_map(|own| own.times.iter().copied())
    }

    /// Weights of its shapes in their order. Without a time: zero where they are said over time alone.
    pub fn weights(&self, time: Option<f64>) -> Vec<f64> {
        let mut weights = self.weights.at(time);
        weights.resize(self.shapes.len(), 0.0);
        weights
    }

    /// Seconds at which the weight of a shape passes knots between its samples.
    pub fn passes(&self, shape: usize, knots: &Knots, budget: &Budget) -> Result<Vec<f64>, ReadError> {
        let mut made = Vec::new();
        let weight = |at: usize| self.weights.values[at].get(shape).copied();
        for at in 1..self.weights.times.len() {
            let (Some(a), Some(b)) = (weight(at - 1), weight(at)) else { continue };
            let (from, to) = (self.weights.times[at - 1], self.weights.times[at]);
            let passed = knots.within(a, b);
            budget.charge(16 * passed.len())?;
            made.extend(passed.iter().map(|knot| from + (to - from) * ((knot - a) / (b - a))));
        }
        Ok(made)
    }

    /// Whether it moves joints of the skeleton and no others.
    pub fn fits(&self) -> bool {
        self.joints.iter().all(Option::is_some)
    }
}

impl Player {
    /// Joint to world of the file. Without a time: what the animation says for none, else the rest pose.
    pub fn joints(&self, time: Option<f64>) -> Vec<DAffine3> {
        let mut local = self.rest.clone();
        if let Some(motion) = &self.motion {
            let (t, r, s) = (motion.translations.at(time), motion.rotations.turn_at(time), motion.scales.at(time));
            let count = motion.joints.len();
            // As the format has it: all three, or none.
            if t.len() == 3 * count && r.len() == 4 * count && s.len() == 3 * count {
                for (at, joint) in motion.joints.iter().enumerate() {
                    let Some(joint) = *joint else { continue };
                    let vector = |of: &[f64]| DVec3::new(of[3 * at], of[3 * at + 1], of[3 * at + 2]);
                    let turn = DMat3::from_quat(quaternion(&[r[4 * at], r[4 * at + 1], r[4 * at + 2], r[4 * at + 3]]));
                    let turn = turn * DMat3::from_diagonal(vector(&s));
                    local[joint] = DAffine3::from_mat3_translation(turn, vector(&t));
                }
            }
        }
        let root = world(&self.chain, time);
        for &(joint, parent) in &self.order {
            local[joint] = match parent {
                Some(parent) => local[parent] * local[joint],
                None => root * local[joint],
            };
        }
        local
    }
}

/// The motion of an animation prim on joints.
pub(super) fn motion(stage: &Stage<'_, '_>, prim: usize, joints: &[Name], rate: f64) -> Result<Motion, ReadError> {
    let place: HashMap<&Name, usize> = joints.iter().enumerate().map(|(at, name)| (name, at)).collect();
    let own = stage.words(prim, "joints")?;
    stage.budget.charge(48 * (joints.len() + own.len()))?;
    let track = |name| Track::of_animation(stage.attribute(prim, name), rate);
    Ok(Motion {
        joints: own.iter().map(|name| place.get(name).copied()).collect(),
        translations: track("translations")?,
        rotations: track("rotations")?,
        scales: track("scales")?,
        shapes: stage.words(prim, "blendShapes")?.iter().map(|name| name.to_string()).collect(),
        weights: track("blendShapeWeights")?,
    })
}

impl Skeleton {
    /// Every skeleton of the stage, in its order. One without joints still has an animation of blend shapes.
    pub fn all(
        stage: &Stage<'_, '_>,
        prims: &[usize],
        chains: &[Chain],
        rate: f64,
        flaws: &mut Flaws,
    ) -> Result<Vec<Self>, ReadError> {
        let mut made = Vec::new();
        for &prim in prims.iter().filter(|&&prim| stage.is(prim, "Skeleton")) {
            let joints = stage.words(prim, "joints")?;
            made.push(Self::read(stage, prim, joints, Arc::clone(&chains[prim]), rate, flaws)?);
        }
        Ok(made)
    }

    fn read(
        stage: &Stage<'_, '_>,
        prim: usize,
        joints: Vec<Name>,
        chain: Chain,
        rate: f64,
        flaws: &mut Flaws,
    ) -> Result<Self, ReadError> {
        let count = joints.len();
        stage.budget.charge(700 * count)?;
        let place: HashMap<&str, usize> = joints.iter().enumerate().map(|(at, name)| (&**name, at)).collect();
        let parents: Vec<Option<usize>> = joints
            .iter()
            .map(|joint| {
                let above = std::iter::successors(joint.rsplit_once('/'), |(above, _)| above.rsplit_once('/'));
                above.take(256).find_map(|(above, _)| place.get(above).copied())
            })
            .collect();
        let order = parents_first(&parents);
        let mut matrices = |name: &str| -> Result<Option<Vec<DAffine3>>, ReadError> {
            let values = stage.numbers(prim, name)?.values;
            let found: Vec<DAffine3> = values.as_chunks::<16>().0.iter().map(matrix).collect();
            if found.len() != count {
                let path = stage.path(prim);
                flaws.add(Flaw::CountMismatch, || format!("{} {name} of <{path}>, {count} joints", found.len()));
                return Ok(None);
            }
            Ok(Some(found))
        };
        let (bind, rest) = (matrices("bindTransforms")?, matrices("restTransforms")?);
        let local = |joints: &[DAffine3]| -> Vec<DAffine3> {
            let back = |parent: usize| invert(&joints[parent]).unwrap_or(DAffine3::IDENTITY);
            let own = |(joint, parent): (&DAffine3, &Option<usize>)| parent.map_or(*joint, |at| back(at) * *joint);
            joints.iter().zip(&parents).map(own).collect()
        };
        let root = world(&chain, None);
        let rest = match (rest, &bind) {
            (Some(rest), _) => rest,
            (None, Some(bind)) => {
                let back = invert(&root).unwrap_or(DAffine3::IDENTITY);
                local(&bind.iter().map(|joint| back * *joint).collect::<Vec<_>>())
            }
            (None, None) => vec![DAffine3::IDENTITY; count],
        };
        let animation = stage.inherited_target(prim, "skel:animationSource")?;
        let animation = animation.filter(|&at| stage.is(at, "SkelAnimation"));
        let motion = animation.map(|at| motion(stage, at, &joints, rate)).transpose()?;
        let mut player = Player { order, rest, chain, motion: None };
        let bind = bind.unwrap_or_else(|| player.joints(None));
        player.motion = motion;
        Ok(Self { prim, joints, parents, bind, player: Arc::new(player), animation })
    }

    /// The same joints with another motion.
    pub fn played(&self, motion: Motion) -> Arc<Player> {
        let Player { order, rest, chain, .. } = &*self.player;
        Arc::new(Player { order: order.clone(), rest: rest.clone(), chain: Arc::clone(chain), motion: Some(motion) })
    }

    /// The name of a joint: the last part of its path.
    pub fn name(&self, joint: usize) -> String {
        let path = &self.joints[joint];
        match path.rsplit('/').next() {
            Some(name) if !name.is_empty() => short(name),
            _ => format!("joint {joint}"),
        }
    }
}

/// Joints, each after the one above it. A joint's path is longer than that of the one above, so there are no circles.
fn parents_first(parents: &[Option<usize>]) -> Vec<(usize, Option<usize>)> {
    let mut depth = vec![usize::MAX; parents.len()];
    for joint in 0..parents.len() {
        let mut open = vec![joint];
        while let Some(&at) = open.last() {
            depth[at] = match parents[at] {
                None => 0,
                Some(parent) if depth[parent] != usize::MAX => depth[parent] + 1,
                Some(parent) => {
                    open.push(parent);
                    continue;
                }
            };
            open.pop();
        }
    }
    let mut order: Vec<(usize, Option<usize>)> = parents.iter().copied().enumerate().collect();
    order.sort_by_key(|(joint, _)| (depth[*joint], *joint));
    order
}
