//! Runs the bodies of a scene over its time, by steps of one length, and shows them at the times of its frames.

use super::Sample;
use super::bodies::{Bodies, frame};
use super::rest::Rest;
use super::squash;
use super::world::{Carried, State, World, velocity};
use crate::dynamics_spec::DynamicsSpec;
use crate::key_path::KeyPath;
use crate::play_error::PlayError;
use crate::scene::{Clock, Fault, SceneError};
use dermis_rig::glam::{DQuat, DVec3};
use dermis_rig::progress::proceed;
use dermis_rig::rotation::slerp;
use dermis_rig::{BoneIndex, Progress, Skeleton};

/// A body at the time of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// 0 is the animation, 1 the body.
    pub weight: f64,
    /// The bone's head.
    pub head: DVec3,
    /// The bone's rotation.
    pub rotation: DQuat,
    /// Its height over that at rest; its volume is the same.
    pub height: f64,
}

/// A body faster than this, m/s, is taken for an unstable simulation.
const FASTEST: f64 = 300.0;

/// Where gravity is stronger, it is what has fallen for so many seconds.
const LONGEST_FALL: f64 = 30.0;

/// A body that turns by more than this in a step is taken for an unstable simulation, radians.
const MOST_TURN: f64 = 1.0;

/// Returns, for every frame, every body that moves: from `sample`, which is asked for the times of all steps in their order.
///
/// # Errors
/// [`PlayError`]: what `sample` says; a body that is lost, with its bone and the time; [`PlayError::Cancelled`].
pub fn simulate(
    bodies: &Bodies,
    spec: &DynamicsSpec,
    clock: &Clock,
    skeleton: &Skeleton,
    mut sample: impl FnMut(f64) -> Result<Sample, SceneError>,
    progress: Progress<'_>,
) -> Result<Vec<Vec<Option<Shown>>>, PlayError> {
    let start = clock.time(0);
    let time = |step: usize| start + step as f64 / spec.rate;
    let mut frames = Vec::with_capacity(clock.frames());
    let mut now = sample(start)?;
    let mut world: Option<(Vec<bool>, World<'_>, Rest)> = None;
    let mut rests = false;
    let mut states: Vec<Option<State>> = vec![None; bodies.all.len()];
    let mut step = 0;
    let show = |states: &[Option<State>], sample: &Sample, time: f64| -> Result<Vec<Option<Shown>>, SceneError> {
        let each = states.iter().enumerate().map(|(at, state)| match state {
            Some(state) => shown(bodies, spec, at, state, sample, skeleton, time).map(Some),
            None => Ok(None),
        });
        each.collect()
    };
    loop {
        let next = sample(time(step + 1))?;
        let moves: Vec<bool> = bodies.all.iter().map(|body| now.weights[body.spec] > 0.0).collect();
        let carried = |bone: BoneIndex| Carried { now: frame(&now.world[bone]), next: frame(&next.world[bone]) };
        if world.as_ref().is_none_or(|(before, ..)| *before != moves) {
            for (at, body) in bodies.all.iter().enumerate() {
                states[at] = moves[at].then(|| states[at].unwrap_or_else(|| animated(&carried(body.bone), spec)));
            }
            let any = moves.contains(&true);
            world = any.then(|| {
                let rest = Rest::new(bodies, spec, &moves);
                (moves.clone(), World::new(bodies, spec, &moves, &states, carried), rest)
            });
            rests = false;
        }
        let before = show(&states, &now, time(step))?;
        if let Some((_, world, rest)) = world.as_mut().filter(|_| !rests) {
            world.step(next.wind, carried);
            states = world.states();
            check(bodies, &states, skeleton, time(step + 1), spec)?;
            rests = rest.after(bodies, spec, &states);
            if rests {
                states
                    .iter_mut()
                    .flatten()
                    .for_each(|state| (state.linear, state.angular) = (DVec3::ZERO, DVec3::ZERO));
            }
        }
        let after = show(&states, &next, time(step + 1))?;
        while frames.len() < clock.frames() {
            let steps = (clock.time(frames.len()) - start) * spec.rate - step as f64;
            if steps > 1.0 - 1e-6 {
                break;
            }
            let part = if steps < 1e-6 { 0.0 } else { steps };
            frames.push(before.iter().zip(&after).map(|(a, b)| between(a, b, part)).collect());
            proceed(progress, frames.len(), clock.frames()).map_err(|_| PlayError::Cancelled)?;
        }
        if frames.len() == clock.frames() {
            return Ok(frames);
        }
        now = next;
        step += 1;
    }
}

fn animated(carried: &Carried, spec: &DynamicsSpec) -> State {
    let (linear, angular) = velocity(carried, 1.0 / spec.rate);
    State { head: carried.now.1, rotation: carried.now.0, linear, angular }
}

fn unfit(what: String) -> SceneError {
    SceneError::new(KeyPath::new().key("dynamics"), Fault::Unfit(what))
}

fn shown(
    bodies: &Bodies,
    spec: &DynamicsSpec,
    at: usize,
    state: &State,
    sample: &Sample,
    skeleton: &Skeleton,
    time: f64,
) -> Result<Shown, SceneError> {
    let body = &bodies.all[at];
    let height = match &spec.bodies[body.spec].squash {
        Some(soft) => squash::height(body, soft, state, spec.ground).ok_or_else(|| {
            let name = &skeleton.names()[body.bone];
            unfit(format!(
                "\"{name:.80}\" is squashed flat on the ground at {time:.3} s: it is too fast for a contact of {} s",
                soft.seconds
            ))
        })?,
        None => 1.0,
    };
    Ok(Shown { weight: sample.weights[body.spec], head: state.head, rotation: state.rotation, height })
}

/// Part of the way from one state to another. A body that begins or ends to move between them is where it is.
fn between(a: &Option<Shown>, b: &Option<Shown>, part: f64) -> Option<Shown> {
    match (a, b) {
        (Some(a), Some(b)) if part > 0.0 => Some(Shown {
            weight: a.weight + (b.weight - a.weight) * part,
            head: a.head.lerp(b.head, part),
            rotation: slerp(a.rotation, b.rotation, part),
            height: a.height + (b.height - a.height) * part,
        }),
        (a, _) => *a,
    }
}

/// Finds bodies that are nowhere, or faster than anything that falls.
fn check(
    bodies: &Bodies,
    states: &[Option<State>],
    skeleton: &Skeleton,
    time: f64,
    spec: &DynamicsSpec,
) -> Result<(), SceneError> {
    let fastest = FASTEST.max(spec.gravity.length() * LONGEST_FALL);
    for (body, state) in bodies.all.iter().zip(states) {
        let Some(state) = state else { continue };
        let (speed, turn) = (state.linear.length(), state.angular.length() / spec.rate);
        let lost = !(state.head.is_finite() && state.rotation.is_finite() && speed.is_finite() && turn.is_finite());
        if lost || speed > fastest || turn > MOST_TURN {
            let name = &skeleton.names()[body.bone];
            let what = match lost {
                true => "is nowhere".into(),
                false => format!("moves at {speed:.0} m/s and turns by {:.0}° in a step", turn.to_degrees()),
            };
            let remedy = "the simulation is not stable; more steps, softer springs or more damping may help";
            return Err(unfit(format!("\"{name:.80}\" {what} at {time:.3} s: {remedy}")));
        }
    }
    Ok(())
}
