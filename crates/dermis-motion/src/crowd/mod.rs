//! Crowds: many instances of one character, each with a clip, a time, a place, a heading and a size of its own.
//!
//! A [`Crowd`] says where instance i is at time t and what it plays. Its skin in the world is
//!
//! ```text
//! x_world = A_i(t) · skin of the clip's pose at φ_i(t),    A_i = T(place) R_y(heading) S(scale) T(−o) way(φ₀)⁻¹ C^k
//! ```
//!
//! with φ the time within the cycle, k whole cycles gone by, C the way of a cycle over the ground, way(φ₀) the way gone where the
//! instance began, and o where the root stands in the first frame. So A is constant within a cycle, and the pose is one of the
//! clip, way included: what `dermis pose` shows at that time.
//!
//! Places are the cells of a square grid, each with a random shift of at most a third of a cell. Everything follows from the seed:
//! instance i draws from stream i, so a larger crowd has other places and the same clips, times, headings and sizes.

mod clip;
#[cfg(test)]
mod tests;

pub use clip::CrowdClip;

use dermis_rig::WorldPose;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_solve::random::Random;

/// The most instances of a crowd.
pub const MOST: u64 = 1_000_000;

/// How a crowd is laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrowdSettings {
    /// Instances, 1 to [`MOST`].
    pub instances: u64,
    /// What all chance follows from.
    pub seed: u64,
    /// Side of a cell of the grid, metres.
    pub spacing: f64,
    /// How far a heading is from the clip's own at most, radians.
    pub spread: f64,
    /// The smallest and the largest size, times the character's.
    pub scale: [f64; 2],
}

/// One of a crowd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instance {
    /// Its clip.
    pub clip: usize,
    /// Seconds of the cycle at time zero.
    pub start: f64,
    /// Where it stands on the ground at time zero, metres.
    pub place: DVec3,
    /// How far it is turned about the vertical, radians.
    pub heading: f64,
    /// Its size, times the character's.
    pub scale: f64,
    /// T(place) R_y S T(−o) way(φ₀)⁻¹, which holds in the first cycle.
    begin: DAffine3,
}

/// An instance at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Seconds after the first frame of its clip.
    pub phase: f64,
    /// From the world of the clip to the world of the crowd.
    pub transform: DAffine3,
    /// Where it is on the ground.
    pub place: DVec3,
    /// The pose that the clip has at that time.
    pub pose: WorldPose,
}

/// Instances and what they play.
#[derive(Clone, Debug)]
pub struct Crowd {
    clips: Vec<CrowdClip>,
    instances: Vec<Instance>,
}

/// Why there is no crowd.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CrowdError {
    /// A clip cannot be played over and over.
    #[error("the clip \"{clip}\": {reason}")]
    Clip {
        /// The clip.
        clip: String,
        /// Why.
        reason: String,
    },
    /// A setting that makes no sense.
    #[error("{setting} {value}: it must lie in {low}..{high}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: f64,
        /// The least.
        low: f64,
        /// The most.
        high: f64,
    },
    /// There is nothing to play.
    #[error("a crowd needs a clip")]
    NoClips,
}

impl CrowdSettings {
    /// The least and the most of each setting: instances, spacing in metres, spread in radians, and sizes.
    pub const RANGES: [[f64; 2]; 4] = [[1.0, MOST as f64], [1e-6, 1e6], [0.0, std::f64::consts::PI], [1e-3, 1e3]];

    fn check(&self) -> Result<(), CrowdError> {
        let [instances, spacing, spread, scale] = Self::RANGES;
        let all = [
            ("instances", self.instances as f64, instances),
            ("spacing", self.spacing, spacing),
            ("spread", self.spread, spread),
            ("scale", self.scale[0], scale),
            ("scale", self.scale[1], [self.scale[0].max(scale[0]), scale[1]]),
        ];
        for (setting, value, [low, high]) in all {
            if !(low..=high).contains(&value) {
                return Err(CrowdError::Setting { setting, value, low, high });
            }
        }
        Ok(())
    }
}

impl Crowd {
    /// Lays out a crowd; every clip is as likely as another.
    ///
    /// # Errors
    /// [`CrowdError::NoClips`], and [`CrowdError::Setting`] for a setting out of range or not a number.
    pub fn new(clips: Vec<CrowdClip>, settings: &CrowdSettings) -> Result<Self, CrowdError> {
        settings.check()?;
        if clips.is_empty() {
            return Err(CrowdError::NoClips);
        }
        let count = settings.instances as usize;
        let columns = (count as f64).sqrt().ceil() as usize;
        let rows = count.div_ceil(columns);
        let instances = (0..count).map(|at| {
            let mut random = Random::new(settings.seed, at as u64);
            let clip = random.below(clips.len());
            let start = random.unit() * clips[clip].period();
            let heading = settings.spread * (2.0 * random.unit() - 1.0);
            let [small, large] = settings.scale;
            let scale = small + (large - small) * random.unit();
            let mut along = |cell: usize, cells: usize| {
                let shift = (2.0 * random.unit() - 1.0) / 3.0;
                settings.spacing * (cell as f64 - 0.5 * (cells - 1) as f64 + shift)
            };
            let place = DVec3::new(along(at % columns, columns), 0.0, along(at / columns, rows));
            let clip_of = &clips[clip];
            let pose = clip_of.pose(start);
            let begin = DAffine3::from_translation(place)
                * DAffine3::from_quat(DQuat::from_rotation_y(heading))
                * DAffine3::from_scale(DVec3::splat(scale))
                * DAffine3::from_translation(-clip_of.origin())
                * clip_of.way(&pose).inverse();
            Instance { clip, start, place, heading, scale, begin }
        });
        let instances = instances.collect();
        Ok(Self { clips, instances })
    }

    /// The clips.
    pub fn clips(&self) -> &[CrowdClip] {
        &self.clips
    }

    /// The instances.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// Where the clip of an instance is at a time, seconds: within its cycle, and the transform of that cycle.
    fn cycle(&self, instance: usize, time: f64) -> (f64, DAffine3) {
        let of = &self.instances[instance];
        let clip = &self.clips[of.clip];
        let (phase, cycles) = clip.within(of.start + time);
        (phase, if cycles == 0.0 { of.begin } else { of.begin * clip.cycles(cycles) })
    }

    /// An instance at a time, seconds.
    ///
    /// # Panics
    /// If there is no such instance.
    pub fn at(&self, instance: usize, time: f64) -> Moment {
        let clip = &self.clips[self.instances[instance].clip];
        let (phase, transform) = self.cycle(instance, time);
        let pose = clip.pose(phase);
        Moment { phase, transform, place: transform.transform_point3(clip.stand(&pose)), pose }
    }

    /// An instance at a time, shown in a pose that others share: of the `slots` poses that its cycle is cut into, the nearest to its own.
    /// It stands where it would stand in its own pose. Returns the slot beside it.
    ///
    /// # Panics
    /// If there is no such instance, or if there are no slots.
    pub fn at_slot(&self, instance: usize, time: f64, slots: usize) -> (usize, Moment) {
        assert!(slots > 0, "a cycle has a pose at least");
        let clip = &self.clips[self.instances[instance].clip];
        let own = self.at(instance, time);
        let part = if clip.period() > 0.0 { own.phase / clip.period() } else { 0.0 };
        // Past the last, the cycle begins again.
        let slot = (part * slots as f64).round() as usize % slots;
        let phase = self.slot_phase(self.instances[instance].clip, slot, slots);
        let pose = clip.pose(phase);
        let transform = own.transform * clip.way(&own.pose) * clip.way(&pose).inverse();
        (slot, Moment { phase, transform, place: own.place, pose })
    }

    /// Seconds after the first frame of a clip at which a slot of its cycle begins.
    pub fn slot_phase(&self, clip: usize, slot: usize, slots: usize) -> f64 {
        self.clips[clip].period() * slot as f64 / slots as f64
    }

    /// The number of poses that a clip's cycle is cut into so that a pose is shown for `seconds`, about; one at least.
    pub fn slots(&self, clip: usize, seconds: f64) -> usize {
        let slots = (self.clips[clip].period() / seconds).round();
        if slots.is_finite() { slots.clamp(1.0, 1e6) as usize } else { 1 }
    }
}
