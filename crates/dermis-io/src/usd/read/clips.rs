//! What the scene plays, and further animations, as clips.

use super::budget::Budget;
use super::damaged;
use super::joints::{Bones, Source};
use super::mesh::Driver;
use super::skel::{self, Skeleton};
use super::skin::Between;
use super::stage::Stage;
use super::xform::{Chain, times, world};
use crate::contents::{Clip, ClipFrame, ReadError};
use crate::flaws::{Flaws, short};
use crate::surface::moments;
use dermis_rig::WorldPose;
use dermis_rig::glam::DAffine3;
use std::sync::Arc;

/// All that moves bones and morph targets.
pub(super) struct Player {
    world: DAffine3,
    skeletons: Vec<Arc<skel::Player>>,
    /// What moves each bone of the rig, and its size.
    bones: Vec<(Moves, DAffine3)>,
    /// For each morph target its skeleton, and the number of its weight in the skeleton's motion.
    morphs: Vec<Option<(usize, usize)>>,
    /// Skeletons and names of the weights, for other motions.
    drivers: Vec<(Option<usize>, String)>,
    /// For each morph target what of the weight is its own, if several share it.
    betweens: Vec<Option<Between>>,
}

#[derive(Clone)]
enum Moves {
    Joint(usize, usize),
    Mesh(Chain),
}

impl Player {
    /// - `order`: the bone of each bone of the rig
    pub fn new(bones: &Bones, order: &[usize], skeletons: &[Skeleton], world: DAffine3, drivers: &[Driver]) -> Self {
        let bone = |&bone: &usize| {
            let moves = match &bones.sources[bone] {
                Source::Joint(skeleton, joint) => Moves::Joint(*skeleton, *joint),
                Source::Mesh(chain) => Moves::Mesh(Arc::clone(chain)),
            };
            (moves, bones.sizes[bone])
        };
        let mut made = Self {
            world,
            skeletons: skeletons.iter().map(|own| Arc::clone(&own.player)).collect(),
            bones: order.iter().map(bone).collect(),
            morphs: Vec::new(),
            drivers: drivers.iter().map(|own| (own.skeleton, own.name.to_string())).collect(),
            betweens: drivers.iter().map(|own| own.between.clone()).collect(),
        };
        made.find_morphs();
        made
    }

    fn find_morphs(&mut self) {
        let find = |(skeleton, name): &(Option<usize>, String)| {
            let skeleton = (*skeleton)?;
            let shapes = &self.skeletons[skeleton].motion.as_ref()?.shapes;
            Some((skeleton, shapes.iter().position(|own| own == name)?))
        };
        self.morphs = self.drivers.iter().map(find).collect();
    }

    /// The same bones with another motion of the first skeleton.
    fn playing(&self, skeleton: Arc<skel::Player>) -> Self {
        let mut made = Self {
            skeletons: vec![skeleton],
            bones: self.bones.clone(),
            drivers: self.drivers.clone(),
            betweens: self.betweens.clone(),
            morphs: Vec::new(),
            world: self.world,
        };
        made.find_morphs();
        made
    }

    /// The pose without a time.
    pub fn still(&self) -> WorldPose {
        self.pose(None)
    }

    fn pose(&self, time: Option<f64>) -> WorldPose {
        let joints: Vec<Vec<DAffine3>> = self.skeletons.iter().map(|own| own.joints(time)).collect();
        let bone = |(moves, size): &(Moves, DAffine3)| {
            let now = match moves {
                Moves::Joint(skeleton, joint) => joints[*skeleton][*joint],
                Moves::Mesh(chain) => world(chain, time),
            };
            self.world * now * *size
        };
        WorldPose::new(self.bones.iter().map(bone).collect())
    }

    fn sample(&self, time: f64) -> ClipFrame {
        ClipFrame { pose: self.pose(Some(time)), morph_weights: self.weights(Some(time)) }
    }

    /// Weights of the morph targets without a time.
    pub fn still_weights(&self) -> Vec<f64> {
        self.weights(None)
    }

    fn weights(&self, time: Option<f64>) -> Vec<f64> {
        let all: Vec<Vec<f64>> = (self.skeletons.iter())
            .map(|own| own.motion.as_ref().map_or_else(Vec::new, |motion| motion.weights(time)))
            .collect();
        let weight = |(own, between): (&Option<(usize, usize)>, &Option<Between>)| {
            let whole = own.map_or(0.0, |(skeleton, weight)| all[skeleton][weight]);
            between.as_ref().map_or(whole, |between| between.weight(whole))
        };
        self.morphs.iter().zip(&self.betweens).map(weight).collect()
    }

    /// Seconds at which anything was sampled, or weights of shapes in between change their slope, ascending.
    fn times(&self, budget: &Budget) -> Result<Vec<f64>, ReadError> {
        let mut bends = Vec::new();
        for (own, between) in self.morphs.iter().zip(&self.betweens) {
            if let (Some((skeleton, weight)), Some(between)) = (own, between.as_ref().filter(|own| own.is_whole()))
                && let Some(motion) = &self.skeletons[*skeleton].motion
            {
                bends.extend(motion.passes(*weight, &between.knots, budget)?);
            }
        }
        let joints = self.skeletons.iter().flat_map(|own| own.motion.iter().flat_map(|motion| motion.times()));
        let chains = self.skeletons.iter().flat_map(|own| times(&own.chain));
        let meshes = self.bones.iter().filter_map(|(moves, _)| match moves {
            Moves::Mesh(chain) => Some(times(chain)),
            Moves::Joint(..) => None,
        });
        Ok(moments(joints.chain(chains).chain(meshes.flatten()).chain(bends).filter(|time| time.is_finite()).collect()))
    }
}

/// Seconds after the stage's beginning within which a clip begins with the stage.
const BEFORE: f64 = 1.0;

/// The clips of a stage.
///
/// - `rate`, `opens`: time codes per second, and the second at which the stage begins, if it says so
pub(super) fn read(
    stage: &Stage<'_, '_>,
    prims: &[usize],
    skeletons: &[Skeleton],
    player: Arc<Player>,
    (rate, opens): (f64, Option<f64>),
    flaws: &mut Flaws,
) -> Result<Vec<Clip>, ReadError> {
    let mut clips = Vec::new();
    let bound: Vec<usize> = skeletons.iter().filter_map(|own| own.animation).collect();
    let others: Vec<usize> =
        prims.iter().copied().filter(|prim| stage.is(*prim, "SkelAnimation") && !bound.contains(prim)).collect();
    let name = bound.first().map_or_else(|| "stage".into(), |&prim| short(&stage.prims[prim].name));
    clips.extend(clip(stage, name, Arc::clone(&player), opens)?);
    for prim in others {
        let only = skeletons.first().filter(|_| skeletons.len() == 1);
        let motion = match only {
            Some(skeleton) => Some((skeleton, skel::motion(stage, prim, &skeleton.joints, rate)?)),
            None => None,
        };
        let Some((skeleton, motion)) = motion.filter(|(_, motion)| motion.fits()) else {
            flaws.unread(&format!("animation <{}>, which nothing plays", stage.path(prim)));
            continue;
        };
        let player = Arc::new(player.playing(skeleton.played(motion)));
        clips.extend(clip(stage, short(&stage.prims[prim].name), player, opens)?);
    }
    Ok(clips)
}

/// A clip, if anything moves.
fn clip(
    stage: &Stage<'_, '_>,
    name: String,
    player: Arc<Player>,
    opens: Option<f64>,
) -> Result<Option<Clip>, ReadError> {
    let mut key_times = player.times(stage.budget)?;
    let (Some(&first), Some(&end)) = (key_times.first(), key_times.last()) else { return Ok(None) };
    let start = opens.filter(|opens| (0.0..BEFORE).contains(&(first - opens))).unwrap_or(first);
    stage.budget.charge(8 * key_times.len())?;
    key_times.iter_mut().for_each(|time| *time -= start);
    let duration = end - start;
    if !duration.is_finite() {
        return Err(damaged("its times are not finite"));
    }
    let sample = Box::new(move |time: f64| player.sample(start + time.clamp(0.0, duration)));
    Ok(Some(Clip { name, duration, start, key_times, curves: None, sample }))
}
