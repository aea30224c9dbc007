//! The joints that turn for one goal, and where a solve for them starts.

use super::IkError;
use super::goal::{Goal, Reach, Target};
use super::limits::JointLimits;
use super::state::State;
use super::two_bone::{LEAST_BEND, TwoBone, onto, swivel, swivel_angle};
use dermis_rig::glam::{DQuat, DVec3};
use dermis_rig::rotation::rotation_vector;
use dermis_rig::{BoneIndex, BoneVec, Skeleton};
use std::f64::consts::PI;

/// A goal with its chain, checked.
#[derive(Clone, Debug)]
pub(super) struct Chain<'g> {
    pub goal: &'g Goal,
    /// Joints that turn, root first; not empty.
    pub joints: Vec<BoneIndex>,
    /// All bones from the skeleton's root to the end.
    pub ancestry: Vec<BoneIndex>,
}

impl<'g> Chain<'g> {
    /// Checks goal number `at`.
    pub fn new(goal: &'g Goal, at: usize, skeleton: &Skeleton, limits: &BoneVec<JointLimits>) -> Result<Self, IkError> {
        for bone in [goal.root, goal.end].into_iter().chain(goal.pole.map(|pole| pole.middle)) {
            if bone.get() >= skeleton.len() {
                return Err(IkError::NoBone { goal: at, bone: bone.get(), bones: skeleton.len() });
            }
        }
        let name = |bone: BoneIndex| skeleton.names()[bone].clone();
        let (root, end) = (name(goal.root), name(goal.end));
        if let Some(what) = unusable(goal) {
            return Err(IkError::BadNumber { goal: at, end, what });
        }
        let mut ancestry: Vec<BoneIndex> = std::iter::successors(Some(goal.end), |b| skeleton.parents()[*b]).collect();
        ancestry.reverse();
        let Some(first) = ancestry.iter().position(|bone| *bone == goal.root) else {
            return Err(IkError::NoChain { goal: at, root, end });
        };
        let path = &ancestry[first..];
        if let Some(pole) = goal.pole.filter(|pole| pole.middle == goal.root || !path.contains(&pole.middle)) {
            return Err(IkError::PoleOffChain { goal: at, middle: name(pole.middle), root, end });
        }
        // A bone does not move its own head.
        let moves = |bone: &BoneIndex| {
            *bone != goal.end || goal.point != DVec3::ZERO || !matches!(goal.target, Target::Point(_))
        };
        let free = |bone: &BoneIndex| limits[*bone] != JointLimits::Locked;
        let joints: Vec<BoneIndex> = path.iter().copied().filter(|bone| moves(bone) && free(bone)).collect();
        match joints.is_empty() {
            true => Err(IkError::AllLocked { goal: at, root, end }),
            false => Ok(Self { goal, joints, ancestry }),
        }
    }

    /// The goal's point, world.
    pub fn point(&self, state: &State<'_>) -> DVec3 {
        state.world[self.goal.end.get()].transform_point3(self.goal.point)
    }

    /// Lengths from joint to joint and to the goal's point.
    fn links(&self, state: &State<'_>) -> Vec<f64> {
        let places = self.places(state, self.joints.len());
        places.windows(2).map(|pair| pair[0].distance(pair[1])).collect()
    }

    /// Length of the chain, metres.
    pub fn length(&self, state: &State<'_>) -> f64 {
        self.links(state).iter().sum()
    }

    /// The heads of the first `count` joints, then the next joint's or the goal's point.
    fn places(&self, state: &State<'_>, count: usize) -> Vec<DVec3> {
        let mut places: Vec<DVec3> = self.joints[..count].iter().map(|joint| state.head(*joint)).collect();
        places.push(self.joints.get(count).map_or_else(|| self.point(state), |next| state.head(*next)));
        places
    }

    /// How near a state is to the goal.
    pub fn reach(&self, state: &State<'_>) -> Reach {
        let (point, base, links) = (self.point(state), state.head(self.joints[0]), self.links(state));
        let length: f64 = links.iter().sum();
        let turned = |to: DQuat| rotation_vector(to.normalize() * state.rotation(self.goal.end).conjugate()).length();
        let (distance, angle) = match self.goal.target {
            Target::Point(place) => (point.distance(place), 0.0),
            Target::Frame(place, to) => (point.distance(place), turned(to)),
            Target::Rotation(to) => (0.0, turned(to)),
            Target::LookAt { axis, point } => {
                let seen = state.world[self.goal.end.get()].transform_vector3(axis);
                let wanted = point - state.head(self.goal.end);
                (0.0, seen.cross(wanted).length().atan2(seen.dot(wanted)))
            }
        };
        let nearest = (2.0 * links.iter().fold(0.0, |most: f64, link| most.max(*link)) - length).max(0.0);
        let out_of_reach = self.goal.place().map_or(0.0, |place| {
            let away = base.distance(place);
            let beyond = (away - length).max(nearest - away);
            // Rounding of a target that lies on the boundary.
            if beyond > 1e-14 * length { beyond } else { 0.0 }
        });
        let off_pole = self.off_pole(state).unwrap_or(0.0).abs();
        Reach { distance, angle, out_of_reach, length, off_pole }
    }

    /// The angle by which the chain would have to turn about its line to lean to its pole.
    pub fn off_pole(&self, state: &State<'_>) -> Option<f64> {
        let pole = self.goal.pole?;
        let base = state.head(self.joints[0]);
        let line = (self.point(state) - base).try_normalize()?;
        swivel_angle(state.head(pole.middle) - base, pole.point - base, line)
    }

    /// Forward kinematics of the chain from one of its joints on.
    fn follow(&self, state: &mut State<'_>, from: BoneIndex) {
        let first = self.ancestry.iter().position(|bone| *bone == from).unwrap_or(0);
        state.follow(self.ancestry[first..].iter().copied());
    }

    fn turn(&self, state: &mut State<'_>, joint: BoneIndex, by: DQuat, limits: &BoneVec<JointLimits>) {
        state.turn_by(joint, by, &limits[joint]);
        self.follow(state, joint);
    }

    /// A state nearer to the goal, in closed form or by FABRIK, within limits. `None` where neither applies.
    pub fn start<'a>(&self, state: &State<'a>, limits: &BoneVec<JointLimits>) -> Option<State<'a>> {
        let mut started = state.clone();
        let end = self.goal.end;
        let last_turns = self.joints.last() == Some(&end);
        let carrying = match self.goal.target {
            Target::Frame(..) if last_turns => self.joints.len() - 1,
            _ => self.joints.len(),
        };
        match self.goal.target {
            Target::Point(place) => self.carry(&mut started, carrying, place, limits)?,
            Target::Frame(place, to) => {
                // The end keeps its offset to the point in the wanted rotation.
                let offset = self.point(&started) - started.head(end);
                let turned = to.normalize() * started.rotation(end).conjugate();
                let head = if last_turns { place - turned * offset } else { place };
                if carrying > 0 {
                    self.carry(&mut started, carrying, head, limits)?;
                }
                if last_turns {
                    let by = to.normalize() * started.rotation(end).conjugate();
                    self.turn(&mut started, end, by, limits);
                }
            }
            Target::LookAt { axis, point } => {
                let [joint] = self.joints[..] else { return None };
                let seen = started.world[end.get()].transform_vector3(axis);
                let by = onto(seen, point - started.head(end), DVec3::Y);
                self.turn(&mut started, joint, by, limits);
            }
            Target::Rotation(to) => {
                let [joint] = self.joints[..] else { return None };
                let by = to.normalize() * started.rotation(end).conjugate();
                self.turn(&mut started, joint, by, limits);
            }
        }
        Some(started)
    }

    /// Turns the first `count` joints so that what hangs on them is at `place`.
    fn carry(&self, state: &mut State<'_>, count: usize, place: DVec3, limits: &BoneVec<JointLimits>) -> Option<()> {
        match count {
            0 => None,
            1 => {
                let places = self.places(state, 1);
                self.turn(state, self.joints[0], onto(places[1] - places[0], place - places[0], DVec3::Y), limits);
                Some(())
            }
            2 => {
                self.close(state, place, limits);
                Some(())
            }
            _ => {
                self.fabrik(state, count, place, limits);
                Some(())
            }
        }
    }

    /// Two joints by the law of cosines.
    fn close(&self, state: &mut State<'_>, place: DVec3, limits: &BoneVec<JointLimits>) {
        let (first, second) = (self.joints[0], self.joints[1]);
        let places = self.places(state, 2);
        let (axis, range) = match &limits[second] {
            JointLimits::Hinge(hinge) => {
                let turned = hinge.angle(state.turn[second.get()]);
                (state.axes(second) * hinge.axis(), hinge.range().map(|end| end - turned))
            }
            _ => {
                let bent = TwoBone::bend_axis(places[0], places[1], places[2]);
                (bent.unwrap_or_else(|| self.rest_axis(state, 1)), [-2.0 * PI, 2.0 * PI])
            }
        };
        let limb = TwoBone { root: places[0], middle: places[1], end: places[2], axis };
        let turns = limb.reach(place, None, range);
        self.turn(state, second, turns.middle, limits);
        self.turn(state, first, turns.root, limits);
        self.lean(state, place, limits);
    }

    /// Swings the whole chain about its line towards its pole.
    fn lean(&self, state: &mut State<'_>, place: DVec3, limits: &BoneVec<JointLimits>) {
        let base = state.head(self.joints[0]);
        if let (Some(pole), Some(line)) = (self.goal.pole, (place - base).try_normalize()) {
            let by = swivel(state.head(pole.middle) - base, pole.point - base, line);
            self.turn(state, self.joints[0], by, limits);
        }
    }

    /// The axis, world, about which the chain bends at joint number `at` if nothing else says it: that of a hinge, that of the rest pose, or one
    /// that is fixed in the bone.
    fn rest_axis(&self, state: &State<'_>, at: usize) -> DVec3 {
        let (skeleton, joint) = (state.skeleton, self.joints[at]);
        let axes = state.axes(joint);
        let rest = |bone: BoneIndex| skeleton.bind()[bone].translation;
        let before = self.joints[..at].last().map_or_else(|| rest(joint), |bone| rest(*bone));
        let after = self
            .joints
            .get(at + 1)
            .map_or_else(|| skeleton.bind()[self.goal.end].transform_point3(self.goal.point), |bone| rest(*bone));
        let own = skeleton.inverse_bind()[joint].matrix3;
        TwoBone::bend_axis(before, rest(joint), after)
            .filter(|axis| axis.cross(after - rest(joint)).length() > 0.0)
            .map(|axis| axes * (own * axis))
            .unwrap_or_else(|| {
                let along = (own * (after - rest(joint))).try_normalize().unwrap_or(DVec3::X);
                axes * along.any_orthonormal_vector()
            })
    }

    /// FABRIK on the places of the joints, then rotations that bring the bones onto them.
    fn fabrik(&self, state: &mut State<'_>, count: usize, place: DVec3, limits: &BoneVec<JointLimits>) {
        /// Passes forwards and backwards; least squares go on from there.
        const PASSES: usize = 16;
        let mut p = self.places(state, count);
        let links: Vec<f64> = p.windows(2).map(|pair| pair[0].distance(pair[1])).collect();
        let length: f64 = links.iter().sum();
        let (base, away) = (p[0], p[0].distance(place));
        let Some(line) = (place - base).try_normalize() else { return };
        if away >= length {
            stretch(&mut p, &links, line);
        } else {
            self.bow(state, &mut p, length, length - away);
            for _ in 0..PASSES {
                p[count] = place;
                for i in (0..count).rev() {
                    p[i] = p[i + 1] + (p[i] - p[i + 1]).normalize_or_zero() * links[i];
                }
                p[0] = base;
                for i in 0..count {
                    p[i + 1] = p[i] + (p[i + 1] - p[i]).normalize_or_zero() * links[i];
                }
                if p[count].distance(place) <= 1e-6 * length {
                    break;
                }
            }
        }
        for at in 0..count {
            let joint = self.joints[at];
            let now = self.places(state, at + 1);
            let (head, next) = (now[at], now[at + 1]);
            self.turn(state, joint, onto(next - head, p[at + 1] - head, DVec3::Y), limits);
        }
        self.lean(state, place, limits);
    }

    /// Bends a straight chain a little, so that it can shorten: sideways by √(slack · length)/4, which is about what the slack needs.
    fn bow(&self, state: &State<'_>, p: &mut [DVec3], length: f64, slack: f64) {
        let (base, last) = (p[0], p[p.len() - 1]);
        let Some(line) = (last - base).try_normalize() else { return };
        let across = |q: DVec3| (q - base) - line * line.dot(q - base);
        let widest = p.iter().map(|q| across(*q)).fold(DVec3::ZERO, |a, b| if b.length() > a.length() { b } else { a });
        let bow = 0.25 * (slack * length).sqrt();
        // A chain that is bent by a tenth of that bends on by itself.
        if widest.length() > 0.1 * bow {
            return;
        }
        let side = match widest.length() > 1e-10 * length {
            true => widest.normalize(),
            false => {
                let axis = self.rest_axis(state, 1);
                line.cross(axis).try_normalize().unwrap_or_else(|| line.any_orthonormal_vector())
            }
        };
        let inner = p.len() - 1;
        for (i, q) in p.iter_mut().enumerate().take(inner).skip(1) {
            *q += side * bow * (PI * i as f64 / inner as f64).sin();
        }
    }
}

/// Places along a line, but for the trace of a bend that tells the next frame the side.
fn stretch(p: &mut [DVec3], links: &[f64], line: DVec3) {
    let (base, last) = (p[0], p[p.len() - 1]);
    let length: f64 = links.iter().sum();
    let old = (last - base).normalize_or(line);
    let turn = onto(old, line, DVec3::Y);
    let sides: Vec<DVec3> = p.iter().map(|q| turn * ((*q - base) - old * old.dot(*q - base))).collect();
    let widest = sides.iter().map(|side| side.length()).fold(0.0, f64::max);
    let scale = if widest > 1e-10 * length { LEAST_BEND * length / widest } else { 0.0 };
    let mut along = 0.0;
    for i in 1..p.len() {
        along += links[i - 1];
        p[i] = base + line * along + if i + 1 < p.len() { sides[i] * scale } else { DVec3::ZERO };
    }
}

/// Which number of a goal cannot be used.
fn unusable(goal: &Goal) -> Option<&'static str> {
    let rotation = |q: DQuat| q.is_finite() && q.length() > 1e-6;
    let target = match goal.target {
        Target::Point(place) => place.is_finite(),
        Target::Frame(place, to) => place.is_finite() && rotation(to),
        Target::Rotation(to) => rotation(to),
        Target::LookAt { axis, point } => axis.is_finite() && axis.try_normalize().is_some() && point.is_finite(),
    };
    match () {
        () if !target => Some("target"),
        () if !goal.point.is_finite() => Some("point"),
        () if !(goal.weight.is_finite() && goal.weight >= 0.0) => Some("weight"),
        () if goal.pole.is_some_and(|pole| !pole.point.is_finite()) => Some("pole"),
        () => None,
    }
}
