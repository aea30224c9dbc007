//! A crowd before a camera: who is shown how closely, which skins that takes, and what it costs.

pub mod error;
pub(crate) mod recipe;

use crate::error::Error;
use dermis_measure::crowd::{BATCH, Level, LevelModels, LevelReach, LevelSample, each_skin, level_cost};
use dermis_measure::{ErrorStats, MeasureError};
use dermis_motion::anatomy::Anatomy;
use dermis_motion::crowd::Crowd;
use dermis_report::scene_picture::{Canvas, DrawnSkin};
use dermis_rig::clock::Instant;
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::memory::at_most;
use dermis_rig::{BoneTransforms, Progress, Rig};
use dermis_solve::Random;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Instances of a level that are measured.
const MEASURED: usize = 48;
/// A joint that jumps at the seam by so many steps of a frame is told.
const JUMP: f64 = 3.0;
/// Bytes that stored skins may take.
const MOST_BYTES: u64 = at_most(4u64 << 30) as u64;

/// What the colour of an instance says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrowdColours {
    /// Nothing: shades that differ from one to the next.
    #[default]
    Instances,
    /// How closely it is shown.
    Levels,
    /// What it plays.
    Clips,
}

/// Where the camera is and up to where instances are shown closely. Lengths are metres.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// By the full model.
    pub full_within: f64,
    /// In poses of their own.
    pub blended_within: f64,
    /// How long the farthest keep a pose, seconds.
    pub shared_seconds: f64,
    /// Where the camera stands; before the crowd if it is not said.
    pub camera: Option<DVec3>,
    /// Where it looks.
    pub look_at: Option<DVec3>,
    /// From an instance to the next.
    pub spacing: f64,
}

/// An instance as it is shown in a frame.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Which.
    pub instance: usize,
    /// How closely.
    pub level: Level,
    /// Seconds after the first frame of its clip.
    pub phase: f64,
    /// The slot of its cycle, where poses are shared.
    slot: usize,
    /// From the clip's world to the crowd's.
    pub transform: DAffine3,
}

/// A crowd before a camera.
pub struct Scene<'a> {
    rig: &'a Rig,
    models: LevelModels<'a>,
    crowd: &'a Crowd,
    reach: LevelReach,
    /// Shared poses of each clip.
    slots: Vec<usize>,
    eye: DVec3,
    looks_at: DVec3,
    diagonal: f64,
}

/// What came of a frame.
pub struct Posed {
    /// Skins evaluated, by level.
    pub skins_of: [usize; 3],
    /// Seconds in which they were.
    pub seconds: f64,
    /// Skins of the instances chosen, in their order, in the world of the crowd.
    pub chosen: Vec<Vec<Vec3>>,
}

/// A skin to evaluate, and who shows it.
struct Task {
    level: Level,
    clip: usize,
    phase: f64,
    /// Places among those shown.
    shown: Vec<usize>,
}

impl<'a> Scene<'a> {
    /// Puts the camera where it is asked for, or before the front row, above the heads.
    ///
    /// # Errors
    /// [`Error::Measure`] for a model over given positions.
    pub fn new(model: &'a dermis_deform::RiggedDeformer, crowd: &'a Crowd, setting: &Setting) -> Result<Self, Error> {
        let rig = model.rig();
        let diagonal = rig.mesh().diagonal();
        let ahead = Anatomy::new(rig.skeleton(), |_| true).frame.forward * DVec3::new(1.0, 0.0, 1.0);
        let ahead = ahead.try_normalize().unwrap_or(DVec3::Z);
        let half = 0.5 * setting.spacing * (crowd.instances().len() as f64).sqrt();
        let eye = setting.camera.unwrap_or(ahead * (half + 2.5 * diagonal) + DVec3::Y * 1.7 * diagonal);
        let before = ahead * (half - 0.45 * half.min(20.0 * diagonal)) + DVec3::Y * 0.3 * diagonal;
        Ok(Self {
            rig,
            models: LevelModels::new(model)?,
            crowd,
            reach: LevelReach { full: setting.full_within, blended: setting.blended_within },
            slots: (0..crowd.clips().len()).map(|clip| crowd.slots(clip, setting.shared_seconds)).collect(),
            eye,
            looks_at: setting.look_at.unwrap_or(before),
            diagonal,
        })
    }

    /// The crowd.
    pub fn crowd(&self) -> &Crowd {
        self.crowd
    }

    /// The model at every level.
    pub fn models(&self) -> &LevelModels<'a> {
        &self.models
    }

    /// Where the camera stands.
    pub fn eye(&self) -> DVec3 {
        self.eye
    }

    /// Where it looks.
    pub fn looks_at(&self) -> DVec3 {
        self.looks_at
    }

    /// The distance at which things fade by two thirds, metres.
    pub fn haze(&self) -> f64 {
        (120.0 * self.diagonal).max(1e-9)
    }

    /// Whether any instance is far enough for linear blending at the start or at a last time, seconds.
    pub fn needs_weights(&self, last: f64) -> bool {
        [0.0, last].iter().any(|time| self.at(*time).iter().any(|one| one.level != Level::Full))
    }

    /// Refuses skins to be stored that do not fit in memory.
    ///
    /// # Errors
    /// [`MeasureError::Memory`].
    pub fn hold(&self, skins: u64) -> Result<(), Error> {
        let vertices = self.rig.mesh().positions.len() as u64;
        let needed = skins.saturating_mul(vertices).saturating_mul(12);
        match needed > MOST_BYTES {
            true => Err(MeasureError::Memory { frames: skins, vertices, needed, most: MOST_BYTES }.into()),
            false => Ok(()),
        }
    }

    /// Skins held at once, but for those that are stored.
    pub fn most_held(&self) -> usize {
        BATCH.min(self.crowd.instances().len())
    }

    /// Every instance at a time, seconds.
    pub fn at(&self, time: f64) -> Vec<Shown> {
        let count = self.crowd.instances().len();
        let one = |instance: usize| {
            let own = self.crowd.at(instance, time);
            let level = self.reach.level(own.place.distance(self.eye));
            match level {
                Level::Shared => {
                    let slots = self.slots[self.crowd.instances()[instance].clip];
                    let (slot, shared) = self.crowd.at_slot(instance, time, slots);
                    Shown { instance, level, phase: shared.phase, slot, transform: shared.transform }
                }
                _ => Shown { instance, level, phase: own.phase, slot: 0, transform: own.transform },
            }
        };
        (0..count).into_par_iter().with_min_len(64).map(one).collect()
    }

    /// Evaluates the skins of a frame, draws them, and keeps those of `chosen` instances.
    ///
    /// # Errors
    /// [`Error::Measure`], [`Error::Cancelled`].
    pub fn pose(
        &self,
        shown: &[Shown],
        chosen: &[u32],
        mut canvas: Option<&mut Canvas>,
        colour: &dyn Fn(usize) -> Vec3,
        progress: Progress<'_>,
    ) -> Result<Posed, Error> {
        let start = Instant::now();
        let tasks = self.tasks(shown);
        let mut posed = Posed { skins_of: [0; 3], seconds: 0.0, chosen: vec![vec![]; chosen.len()] };
        tasks.iter().for_each(|task| posed.skins_of[task.level as usize] += 1);
        let wanted: BTreeSet<u32> = chosen.iter().copied().collect();
        let pose = |task: &Task| (task.level, self.transforms(task.clip, task.phase));
        let mut otherwise = Duration::ZERO;
        let done = |batch: &[Task], skins: &[&[Vec3]]| {
            let clock = Instant::now();
            for (task, skin) in batch.iter().zip(skins) {
                for one in task.shown.iter().map(|at| &shown[*at]) {
                    if wanted.contains(&(one.instance as u32)) {
                        let place = |p: &Vec3| one.transform.transform_point3(p.as_dvec3()).as_vec3();
                        let skin: Vec<Vec3> = skin.iter().map(place).collect();
                        let those = chosen.iter().zip(&mut posed.chosen);
                        those
                            .filter(|(at, _)| **at as usize == one.instance)
                            .for_each(|(_, kept)| kept.clone_from(&skin));
                    }
                }
            }
            if let Some(canvas) = &mut canvas {
                let all: Vec<DrawnSkin<'_>> = (batch.iter().zip(skins))
                    .flat_map(|(task, skin)| task.shown.iter().map(move |at| (*at, *skin)))
                    .map(|(at, skin)| {
                        let one = &shown[at];
                        DrawnSkin { skin, transform: one.transform, colour: colour(one.instance) }
                    })
                    .collect();
                // What the camera sees of a skin is held as well: as many at once.
                all.chunks(BATCH).for_each(|some| canvas.draw(some, &self.rig.mesh().triangles));
            }
            otherwise += clock.elapsed();
            Ok::<(), Error>(())
        };
        each_skin(&self.models, &tasks, pose, done, progress)?;
        posed.seconds = (start.elapsed() - otherwise.min(start.elapsed())).as_secs_f64();
        Ok(posed)
    }

    /// One skin for each instance, and one for all that share a pose.
    fn tasks(&self, shown: &[Shown]) -> Vec<Task> {
        let mut tasks = Vec::new();
        let mut shared: BTreeMap<(usize, usize), Task> = BTreeMap::new();
        for (at, one) in shown.iter().enumerate() {
            let (level, clip, phase) = (one.level, self.crowd.instances()[one.instance].clip, one.phase);
            let alone = || Task { level, clip, phase, shown: vec![] };
            match level {
                Level::Shared => shared.entry((clip, one.slot)).or_insert_with(alone).shown.push(at),
                _ => tasks.push(Task { shown: vec![at], ..alone() }),
            }
        }
        tasks.extend(shared.into_values());
        tasks
    }

    fn transforms(&self, clip: usize, phase: f64) -> BoneTransforms {
        self.rig.skeleton().bone_transforms(&self.crowd.clips()[clip].pose(phase))
    }

    /// What a level costs against the full model, on instances of all frames, evenly chosen: how many, and their distances.
    ///
    /// # Errors
    /// [`Error::Measure`].
    pub fn cost(&self, shown: &[Vec<Shown>], level: Level, rate: f64) -> Result<(usize, Option<ErrorStats>), Error> {
        let all: Vec<(usize, &Shown)> = (shown.iter().enumerate())
            .flat_map(|(frame, list)| list.iter().map(move |one| (frame, one)))
            .filter(|(_, one)| one.level == level)
            .collect();
        let count = all.len().min(MEASURED);
        let samples: Vec<LevelSample> = (0..count)
            .map(|at| {
                let (frame, one) = all[at * all.len() / count];
                let clip = self.crowd.instances()[one.instance].clip;
                let own = self.crowd.at(one.instance, frame as f64 / rate);
                LevelSample {
                    label: format!("instance {} in frame {frame}", one.instance),
                    level,
                    shown: (self.transforms(clip, one.phase), one.transform),
                    full: (self.rig.skeleton().bone_transforms(&own.pose), own.transform),
                }
            })
            .collect();
        Ok((count, level_cost(&self.models, &samples)?))
    }

    /// Clips by name, seconds of a cycle, and how many instances play them.
    pub fn played(&self) -> Vec<(String, f64, usize)> {
        let players = |clip: usize| self.crowd.instances().iter().filter(|one| one.clip == clip).count();
        let clips = self.crowd.clips().iter().enumerate();
        clips.map(|(at, clip)| (clip.name().to_owned(), clip.period(), players(at))).collect()
    }

    /// Clips that do not end where they begin, and by how far, metres.
    pub fn jumps(&self) -> Vec<(String, f64)> {
        let jumping = |clip: &&dermis_motion::crowd::CrowdClip| clip.seam().0 > JUMP * clip.seam().1;
        let told = self.crowd.clips().iter().filter(jumping);
        told.map(|clip| (clip.name().to_owned(), clip.seam().0)).collect()
    }

    /// The colour of an instance, 0 to 1.
    pub fn colour(&self, instance: usize, shown: &[Shown], by: CrowdColours) -> Vec3 {
        /// Told apart with any eyes (Okabe & Ito 2008).
        const APART: [Vec3; 6] = [
            Vec3::new(0.84, 0.37, 0.0),
            Vec3::new(0.0, 0.45, 0.70),
            Vec3::new(0.60, 0.60, 0.60),
            Vec3::new(0.0, 0.62, 0.45),
            Vec3::new(0.80, 0.47, 0.65),
            Vec3::new(0.90, 0.62, 0.0),
        ];
        let mut random = Random::new(0x5ca1e, instance as u64);
        let mut shade = || random.unit() as f32;
        match by {
            CrowdColours::Instances => {
                let (light, warm) = (0.55 + 0.45 * shade(), shade());
                Vec3::new(0.80, 0.62, 0.50).lerp(Vec3::new(0.62, 0.66, 0.70), 0.6 * warm) * light
            }
            CrowdColours::Levels => APART[shown[instance].level as usize],
            CrowdColours::Clips => APART[self.crowd.instances()[instance].clip % APART.len()],
        }
    }
}
