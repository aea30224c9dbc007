//! A chain over the frames of a clip: what it hangs on, what its skin did, and what a simulation makes of it.

use super::super::{Shot, run::GIVEN};
use super::find::BoneChain;
use dermis_deform::secondary::{Anchor, ChainMotion, ChainSpring, STEP};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};

/// Steps at most, for each frame: a clip whose frames are farther apart on average shows no swinging.
const MOST_STEPS: usize = 120;
/// A frame this near to a step, in steps, is at it.
const SAME: f64 = 1e-3;
/// Sweeps over the bones that find the tails of a frame.
const SWEEPS: usize = 12;

/// A chain over the frames of a clip.
pub(super) struct Track<'a> {
    chain: &'a BoneChain,
    name: &'a str,
    /// What the chain hangs on at every step after the second frame.
    steps: Vec<Anchor>,
    /// The tails to begin with: a step before the second frame, and at it.
    begin: Vec<[DVec3; 2]>,
    frames: Vec<Seen>,
    /// Σ |o|² of the frames that count.
    alone: f64,
}

/// A frame that counts.
struct Seen {
    /// The step before it, or at it, and how far on to the next it is.
    at: (usize, f64),
    anchor: Anchor,
    /// o + Σ w M p of every vertex: where the chain's part of it is to be.
    wanted: Vec<DVec3>,
}

impl<'a> Track<'a> {
    /// The chain over a shot; `None` if its frames are too far apart.
    pub fn new(chain: &'a BoneChain, shot: &'a Shot<'_>, poses: &[&BoneTransforms]) -> Option<Self> {
        let frames = shot.frames.clone();
        let times = &shot.clip.times[frames.clone()];
        let (start, end) = (*times.get(1)?, *times.last()?);
        let count = ((end - start) / STEP - SAME).ceil();
        if !(1.0..=(MOST_STEPS * times.len()) as f64).contains(&count) {
            return None;
        }
        let anchors: Vec<Anchor> = frames.clone().map(|frame| anchor(chain, poses[frame])).collect::<Option<_>>()?;
        let wanted = |frame: usize| -> Vec<DVec3> {
            let of = |(v, held): (&usize, &Vec<(usize, f64, DVec3)>)| {
                let carried = held.iter().map(|(at, weight, arm)| {
                    let rest = chain.rest_heads().nth(*at).unwrap_or_default() + *arm;
                    poses[frame][chain.bones[*at]].transform_point3(rest) * *weight
                });
                shot.clip.offsets[frame][*v].as_dvec3() + carried.sum::<DVec3>()
            };
            chain.vertices.iter().zip(&chain.held).map(of).collect()
        };
        let first = frames.start;
        let tails = [0, 1].map(|n| observed(chain, &anchors[n], poses[first + n], &wanted(first + n)));
        let back = STEP / (times[1] - times[0]);
        let begin =
            tails[0].iter().zip(&tails[1]).map(|(before, now)| [*now + (*before - *now) * back, *now]).collect();
        let at = |step: usize| between(times, &anchors, start + step as f64 * STEP);
        let steps = (1..=count.max(0.0) as usize).map(at).collect();
        let seen = |n: usize| {
            let step = (times[n] - start) / STEP;
            let step = if (step - step.round()).abs() < SAME { step.round() } else { step };
            Seen { at: (step as usize, step.fract()), anchor: anchors[n], wanted: wanted(first + n) }
        };
        let counted: Vec<Seen> = (GIVEN..times.len()).map(seen).collect();
        let offsets = frames.skip(GIVEN).map(|frame| {
            let square = |v: &usize| f64::from(shot.clip.offsets[frame][*v].length_squared());
            chain.vertices.iter().map(square).sum::<f64>()
        });
        Some(Self { chain, name: &shot.name, steps, begin, frames: counted, alone: offsets.sum() })
    }

    /// What the clip is called.
    pub fn name(&self) -> &str {
        self.name
    }

    /// What the model alone leaves.
    pub fn alone(&self) -> f64 {
        self.alone
    }

    /// How many offsets count.
    pub fn counted(&self) -> usize {
        self.frames.len() * self.chain.vertices.len()
    }

    /// Σ |wanted − simulated|².
    pub fn error(&self, spring: &ChainSpring) -> f64 {
        let mut error = 0.0;
        self.simulated(spring, |wanted, made| error += wanted.distance_squared(made));
        error
    }

    /// JᵀJ and Jᵀr by the parameters of which the springs after the first have one larger by `difference` each.
    pub fn sums(&self, lanes: &[ChainSpring], difference: f64) -> ([[f64; 3]; 3], [f64; 3]) {
        let runs: Vec<(Vec<DVec3>, Vec<DVec3>)> = lanes.iter().map(|spring| self.run(spring)).collect();
        let (mut normal, mut gradient) = ([[0.0; 3]; 3], [0.0; 3]);
        let Some(((wanted, own), others)) = runs.split_first() else { return (normal, gradient) };
        for (n, (wanted, own)) in wanted.iter().zip(own).enumerate() {
            let left = *wanted - *own;
            let mut slopes = [DVec3::ZERO; 3];
            slopes.iter_mut().zip(others).for_each(|(slope, (_, made))| *slope = (made[n] - *own) / difference);
            for i in 0..3 {
                gradient[i] += slopes[i].dot(left);
                (0..3).for_each(|j| normal[i][j] += slopes[i].dot(slopes[j]));
            }
        }
        (normal, gradient)
    }

    fn run(&self, spring: &ChainSpring) -> (Vec<DVec3>, Vec<DVec3>) {
        let (mut wanted, mut made) = (Vec::with_capacity(self.counted()), Vec::with_capacity(self.counted()));
        self.simulated(spring, |want, have| {
            wanted.push(want);
            made.push(have);
        });
        (wanted, made)
    }

    /// Shows `count` where the chain's part of every vertex is to be and is, frame after frame.
    fn simulated(&self, spring: &ChainSpring, mut count: impl FnMut(DVec3, DVec3)) {
        let mut motion = ChainMotion::new(self.chain.ways.clone());
        motion.begin(&self.begin);
        let mut frames = self.frames.iter().peekable();
        let mut before: Vec<DVec3> = motion.tails().collect();
        let (mut bones, mut tails) = (Vec::new(), Vec::new());
        for (number, anchor) in self.steps.iter().enumerate() {
            motion.step(spring, STEP, anchor);
            // Frames from step `number` (after the second frame) up to the next, which was just taken.
            let is_last = number + 1 == self.steps.len();
            while let Some(seen) = frames.next_if(|seen| seen.at.0 == number || (is_last && seen.at.0 > number)) {
                let on = if seen.at.0 > number { 1.0 } else { seen.at.1 };
                tails.clear();
                tails.extend(before.iter().zip(motion.tails()).map(|(a, b)| a.lerp(b, on)));
                bones.clear();
                bones.extend(motion.placed(&seen.anchor, tails.iter().copied()));
                for (wanted, held) in seen.wanted.iter().zip(&self.chain.held) {
                    let place = |(at, weight, arm): &(usize, f64, DVec3)| {
                        let Anchor { head, rotation } = bones[*at];
                        (head + rotation * *arm) * *weight
                    };
                    count(*wanted, held.iter().map(place).sum());
                }
            }
            before.clear();
            before.extend(motion.tails());
        }
    }
}

impl BoneChain {
    /// The heads of the bones that swing, at rest.
    fn rest_heads(&self) -> impl Iterator<Item = DVec3> + '_ {
        let below = |head: &mut DVec3, way: &DVec3| {
            let at = *head;
            *head += *way;
            Some(at)
        };
        self.ways.iter().scan(self.head, below)
    }
}

/// What a chain hangs on in a pose.
fn anchor(chain: &BoneChain, pose: &BoneTransforms) -> Option<Anchor> {
    let head = pose[chain.bones[0]].transform_point3(chain.head);
    let rotation = rotation(&pose[chain.above].matrix3);
    (head.is_finite() && rotation.is_finite()).then_some(Anchor { head, rotation })
}

fn rotation(matrix: &DMat3) -> DQuat {
    quat_from_matrix(&nearest_rotation(matrix))
}

/// What a chain hangs on at a time between frames; before the first and after the last it is theirs.
fn between(times: &[f64], anchors: &[Anchor], time: f64) -> Anchor {
    let after = times.partition_point(|t| *t <= time).clamp(1, times.len() - 1);
    let (a, b) = (&anchors[after - 1], &anchors[after]);
    let on = ((time - times[after - 1]) / (times[after] - times[after - 1])).clamp(0.0, 1.0);
    Anchor { head: a.head.lerp(b.head, on), rotation: a.rotation.slerp(b.rotation, on) }
}

/// The tails of a frame, from its skin: each bone in turn gets the rotation about its head that carries its part of the skin best while the
/// others stay (Kabsch 1976), beginning with those of the pose.
fn observed(chain: &BoneChain, anchor: &Anchor, pose: &BoneTransforms, wanted: &[DVec3]) -> Vec<DVec3> {
    let mut turned: Vec<DMat3> = chain.swinging().iter().map(|bone| nearest_rotation(&pose[*bone].matrix3)).collect();
    let heads = |turned: &[DMat3]| -> Vec<DVec3> {
        let below = |head: &mut DVec3, (way, turned): (&DVec3, &DMat3)| {
            let at = *head;
            *head += *turned * *way;
            Some(at)
        };
        chain.ways.iter().zip(turned).scan(anchor.head, below).collect()
    };
    for _ in 0..SWEEPS {
        for bone in 0..turned.len() {
            let at = heads(&turned);
            let (mut spread, mut size) = (DMat3::ZERO, 0.0);
            for (wanted, held) in wanted.iter().zip(&chain.held) {
                let Some((_, weight, arm)) = held.iter().find(|(own, ..)| *own == bone) else { continue };
                let others = held.iter().filter(|(own, ..)| *own != bone);
                let others: DVec3 = others.map(|(own, w, arm)| (at[*own] + turned[*own] * *arm) * *w).sum();
                let left = *wanted - others - at[bone] * *weight;
                spread += DMat3::from_cols(left * arm.x, left * arm.y, left * arm.z) * *weight;
                size += weight * weight * arm.length_squared();
            }
            // Towards what it was, by far less than the skin says, where the skin says nothing.
            if size > 0.0 {
                turned[bone] = nearest_rotation(&(spread + turned[bone] * (1e-9 * size)));
            }
        }
    }
    heads(&turned).iter().zip(chain.ways.iter().zip(&turned)).map(|(head, (way, turn))| *head + *turn * *way).collect()
}
