//! The frames of a take, one after another.

use super::calibrate::onto;
use super::{MarkerError, MarkerSet, MarkerSettings, Take};
use crate::ik::JointLimits;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::progress::proceed;
use dermis_rig::rotation::{from_rotation_vector, nearest_rotation, quat_from_matrix, rotation_vector};
use dermis_rig::{BoneIndex, Frame, Motion, Progress, Skeleton, WorldPose};
use dermis_solve::faer::linalg::solvers::Solve;
use dermis_solve::faer::{Mat, Side};

/// Steps of a frame. Ten suffice from the frame before; a start from the rest pose takes forty.
const MOST_STEPS: usize = 100;
/// Seconds of a gap that is filled without remark.
const GAP: f64 = 1.0;

/// What came of a take.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The poses.
    pub motion: Motion,
    /// Of every marker of the set.
    pub markers: Vec<MarkerReport>,
    /// What was wrong with the take, in the order of its frames.
    pub troubles: Vec<Trouble>,
    /// Root mean square distance of a marker that was used from where the pose puts it, metres.
    pub rms: f64,
}

/// How well a marker is met.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerReport {
    /// Its name.
    pub name: String,
    /// Frames in which it was used.
    pub used: usize,
    /// Root mean square distance from where the pose puts it, metres.
    pub rms: f64,
    /// The largest such distance, metres.
    pub most: f64,
}

/// Something wrong with a take, over some frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// What.
    pub kind: TroubleKind,
    /// The first frame.
    pub from: usize,
    /// The last frame.
    pub to: usize,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum TroubleKind {
    /// A marker was not seen.
    Gap(String),
    /// A marker was not seen for more than a second: what depends on it alone is a guess.
    LongGap(String),
    /// A marker was where none is, and was left out.
    Wrong(String),
    /// Two markers had each other's name, and were given back their own.
    Swapped(String, String),
    /// A frame shows fewer than three markers.
    Blind,
}

/// Finds the pose of every frame of a take.
///
/// # Errors
/// [`MarkerError`].
pub fn solve(
    skeleton: &Skeleton,
    set: &MarkerSet,
    take: &Take,
    settings: &MarkerSettings,
    progress: Progress<'_>,
) -> Result<Solved, MarkerError> {
    let problem = Problem::new(skeleton, set, take, settings)?;
    let mut seen = problem.seen(take)?;
    let first = seen.iter().position(|frame| frame.iter().flatten().count() >= 3).ok_or(MarkerError::NoFrame)?;
    let mut troubles = Vec::new();
    let mut states: Vec<State> = Vec::with_capacity(seen.len());
    let mut weak: Vec<Vec<bool>> = Vec::with_capacity(seen.len());
    let mut before = problem.laid(&seen[first]);
    for (at, places) in seen.iter_mut().enumerate() {
        proceed(progress, at, take.frames.len())?;
        let fresh = at == 0;
        problem.mend(&before, places, at, fresh, &mut troubles);
        let (found, free) = problem.fit(&before, &before, places, fresh);
        before = found.clone();
        states.push(found);
        weak.push(free);
    }
    problem.fill(&seen, &mut states, &weak);
    gaps(&problem, take, &mut troubles);
    Ok(problem.report(take, &seen, &states, troubles))
}

/// Everything that is the same in all frames.
struct Problem<'a> {
    skeleton: &'a Skeleton,
    settings: &'a MarkerSettings,
    set: &'a MarkerSet,
    /// Where every marker of the set stands in the take's list.
    columns: Vec<Option<usize>>,
    parents: Vec<Option<usize>>,
    /// local_k at rest.
    rest: Vec<DAffine3>,
    /// Joints that a marker depends on, parents first; the root is the first.
    free: Vec<usize>,
    /// For every marker the places in `free` of the joints above it.
    above: Vec<Vec<usize>>,
    /// Seconds of a frame.
    step: f64,
}

/// A pose: how joints turned since rest, in their own axes, and how far the root moved.
#[derive(Clone, Debug)]
struct State {
    /// local = rest · turn.
    turns: Vec<DQuat>,
    moved: DVec3,
}

type Places = Vec<Option<DVec3>>;

impl<'a> Problem<'a> {
    fn new(
        skeleton: &'a Skeleton,
        set: &'a MarkerSet,
        take: &Take,
        settings: &'a MarkerSettings,
    ) -> Result<Self, MarkerError> {
        let positive = [
            ("the rate", take.rate),
            ("the noise", settings.noise),
            ("the turn rate", settings.turn_rate),
            ("the move rate", settings.move_rate),
            ("the distance of a wrong marker", settings.wrong),
        ];
        if let Some((what, value)) = positive.into_iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
            return Err(MarkerError::Setting { what, value });
        }
        for marker in &set.markers {
            let bad = |what| MarkerError::BadMarker { marker: marker.name.clone(), what };
            if !marker.at.is_finite() {
                return Err(bad("place"));
            }
            if !(marker.weight >= 0.0 && marker.weight.is_finite()) {
                return Err(bad("weight"));
            }
        }
        if let Some(limits) = settings.limits.as_ref().filter(|limits| limits.len() != skeleton.len()) {
            return Err(MarkerError::LimitCount { found: limits.len(), bones: skeleton.len() });
        }
        let column = |name: &String| take.names.iter().position(|other| other == name);
        let columns: Vec<Option<usize>> = set.markers.iter().map(|marker| column(&marker.name)).collect();
        let found = columns.iter().flatten().count();
        if found < 3 {
            let names = take.names.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
            return Err(MarkerError::FewMarkers { found, markers: columns.len(), names });
        }
        let parents: Vec<Option<usize>> = skeleton.parents().iter().map(|p| p.map(BoneIndex::get)).collect();
        let mut is_free = vec![false; skeleton.len()];
        for (marker, _) in set.markers.iter().zip(&columns).filter(|(_, column)| column.is_some()) {
            let mut at = Some(marker.bone.get());
            while let Some(bone) = at {
                is_free[bone] = true;
                at = parents[bone];
            }
        }
        // Above the first fork or marker, joints of a chain would turn for one another: the last of them does.
        let mut root = (0..skeleton.len()).find(|bone| is_free[*bone]).unwrap_or(0);
        loop {
            let carries = set.markers.iter().any(|marker| marker.bone.get() == root);
            let below: Vec<usize> = (0..skeleton.len()).filter(|b| parents[*b] == Some(root) && is_free[*b]).collect();
            match below[..] {
                [only] if !carries => {
                    is_free[root] = false;
                    root = only;
                }
                _ => break,
            }
        }
        let free: Vec<usize> = (0..skeleton.len()).filter(|bone| is_free[*bone]).collect();
        let above = |bone: usize| {
            let mut found = Vec::new();
            let mut at = Some(bone);
            while let Some(here) = at {
                found.extend(free.binary_search(&here).ok());
                at = parents[here];
            }
            found
        };
        let above = set.markers.iter().map(|marker| above(marker.bone.get())).collect();
        let rest = (0..skeleton.len())
            .map(|bone| {
                let own = skeleton.bind()[BoneIndex::new(bone)];
                parents[bone].map_or(own, |parent| skeleton.inverse_bind()[BoneIndex::new(parent)] * own)
            })
            .collect();
        Ok(Self { skeleton, settings, set, columns, parents, rest, free, above, step: 1.0 / take.rate })
    }

    /// The take in the order of the set.
    fn seen(&self, take: &Take) -> Result<Vec<Places>, MarkerError> {
        let frame = |(at, places): (usize, &Places)| {
            let found = places.iter().filter(|place| place.is_none_or(DVec3::is_finite)).count();
            match found == take.names.len() && places.len() == found {
                true => Ok(self.columns.iter().map(|column| places[(*column)?]).collect()),
                false => Err(MarkerError::BadFrame { frame: at, found, markers: take.names.len() }),
            }
        };
        take.frames.iter().enumerate().map(frame).collect()
    }

    /// The rest pose laid onto a frame's markers.
    fn laid(&self, places: &Places) -> State {
        let pairs: Vec<(DVec3, DVec3, f64)> = (self.set.markers.iter().zip(places))
            .filter_map(|(marker, place)| Some((marker.at, (*place)?, marker.weight.max(1e-9))))
            .collect();
        let (turn, shift) = onto(&pairs);
        let mut state = State { turns: vec![DQuat::IDENTITY; self.rest.len()], moved: DVec3::ZERO };
        let root = self.free[0];
        let head = self.skeleton.bind()[BoneIndex::new(root)].translation;
        let own = self.axes(&self.world(&state), root);
        state.turns[root] = (own.conjugate() * turn * own).normalize();
        state.moved = turn * head + shift - head;
        state
    }

    /// The rotation of a bone's own axes to the world.
    fn axes(&self, world: &[DAffine3], bone: usize) -> DQuat {
        quat_from_matrix(&nearest_rotation(&world[bone].matrix3))
    }

    fn world(&self, state: &State) -> Vec<DAffine3> {
        let mut world: Vec<DAffine3> = Vec::with_capacity(self.rest.len());
        for (bone, rest) in self.rest.iter().enumerate() {
            let local = *rest * DAffine3::from_quat(state.turns[bone]);
            let mut own = self.parents[bone].map_or(local, |parent| world[parent] * local);
            if bone == self.free[0] {
                own.translation += state.moved;
            }
            world.push(own);
        }
        world
    }

    /// Where the pose puts the markers.
    fn expected(&self, world: &[DAffine3]) -> Vec<DVec3> {
        let place = |marker: &super::Marker| {
            (world[marker.bone.get()] * self.skeleton.inverse_bind()[marker.bone]).transform_point3(marker.at)
        };
        self.set.markers.iter().map(place).collect()
    }

    /// Gives swapped markers back their names and leaves wrong ones out. A first fit of the frame, in which a marker far from where it is expected
    /// counts little, says where markers are expected.
    fn mend(&self, before: &State, places: &mut Places, frame: usize, fresh: bool, troubles: &mut Vec<Trouble>) {
        if places.iter().flatten().count() < 3 {
            note(troubles, TroubleKind::Blind, frame);
            return;
        }
        let wrong = self.settings.wrong;
        let mut state = before.clone();
        let mut weights = vec![1.0; places.len()];
        for pass in 0..4 {
            state = self.descend(&state, before, places, &weights, fresh).0;
            let apart = self.apart(&state, places);
            // Geman and McClure's weight, narrower with every pass.
            let width = wrong * [4.0, 2.0, 1.0, 1.0][pass];
            weights = apart.iter().map(|d| (1.0 / (1.0 + d.map_or(0.0, |d| d / width).powi(2))).powi(2)).collect();
        }
        let expected = self.expected(&self.world(&state));
        let apart = self.apart(&state, places);
        let mut bad: Vec<usize> = (0..places.len()).filter(|m| apart[*m].is_some_and(|d| d > wrong)).collect();
        let mut at = 0;
        while at < bad.len() {
            let (m, own) = (bad[at], places[bad[at]]);
            let near = |n: &usize| own.is_some_and(|p| p.distance(expected[*n]) < 0.5 * wrong);
            let gives = |n: &usize| places[*n].is_some_and(|p| p.distance(expected[m]) < 0.5 * wrong);
            let other = bad.iter().copied().find(|n| *n > m && near(n) && gives(n));
            match other {
                Some(n) => {
                    places.swap(m, n);
                    bad.retain(|bad| *bad != m && *bad != n);
                    let name = |m: usize| self.set.markers[m].name.clone();
                    note(troubles, TroubleKind::Swapped(name(m), name(n)), frame);
                }
                None => at += 1,
            }
        }
        for m in bad {
            places[m] = None;
            note(troubles, TroubleKind::Wrong(self.set.markers[m].name.clone()), frame);
        }
    }

    fn apart(&self, state: &State, places: &Places) -> Vec<Option<f64>> {
        let expected = self.expected(&self.world(state));
        expected.iter().zip(places).map(|(at, place)| place.map(|place| place.distance(*at))).collect()
    }

    /// The pose of a frame, and which joints its markers do not determine.
    fn fit(&self, from: &State, prior: &State, places: &Places, fresh: bool) -> (State, Vec<bool>) {
        self.descend(from, prior, places, &vec![1.0; places.len()], fresh)
    }

    /// Levenberg's and Marquardt's descent. `fresh`: there is no frame before, and the prior is a hundred times weaker.
    fn descend(&self, from: &State, prior: &State, places: &Places, robust: &[f64], fresh: bool) -> (State, Vec<bool>) {
        let count = 3 * self.free.len() + 3;
        let relax = if fresh { 1e-4 } else { 1.0 };
        let hold = |rate: f64| relax / (rate * self.step).powi(2);
        let (turn_weight, move_weight) = (hold(self.settings.turn_rate), hold(self.settings.move_rate));
        let cost = |state: &State| {
            let expected = self.expected(&self.world(state));
            let seen = expected.iter().zip(places).zip(robust).zip(&self.set.markers);
            let markers: f64 = seen
                .filter_map(|(((at, place), robust), m)| Some(m.weight * robust * (*place)?.distance_squared(*at)))
                .sum();
            let turned: f64 = self.free.iter().map(|b| drift(state, prior, *b).length_squared()).sum();
            let moved = (state.moved - prior.moved).length_squared();
            markers / self.settings.noise.powi(2) + turn_weight * turned + move_weight * moved
        };
        let mut state = from.clone();
        let mut value = cost(&state);
        let mut damping = 1e-6;
        let mut weak = vec![true; self.free.len()];
        for _ in 0..MOST_STEPS {
            let world = self.world(&state);
            let expected = self.expected(&world);
            let mut normal = Mat::<f64>::zeros(count, count);
            let mut right = Mat::<f64>::zeros(count, 1);
            for (m, place) in places.iter().enumerate() {
                let Some(place) = place else { continue };
                let weight = self.set.markers[m].weight * robust[m] / self.settings.noise.powi(2);
                let off = *place - expected[m];
                // Columns: δ × r for every joint above, and the root's move.
                let mut columns: Vec<(usize, DVec3)> = Vec::with_capacity(3 * self.above[m].len() + 3);
                for &joint in &self.above[m] {
                    let arm = expected[m] - world[self.free[joint]].translation;
                    for axis in 0..3 {
                        columns.push((3 * joint + axis, DVec3::AXES[axis].cross(arm)));
                    }
                }
                (0..3).for_each(|axis| columns.push((count - 3 + axis, DVec3::AXES[axis])));
                for (i, a) in &columns {
                    right[(*i, 0)] += weight * a.dot(off);
                    for (j, b) in columns.iter().filter(|(j, _)| j <= i) {
                        normal[(*i, *j)] += weight * a.dot(*b);
                    }
                }
            }
            for (joint, &bone) in self.free.iter().enumerate() {
                let least =
                    (0..3).map(|axis| normal[(3 * joint + axis, 3 * joint + axis)]).fold(f64::INFINITY, f64::min);
                weak[joint] = least < 10.0 * turn_weight;
                let own = self.axes(&world, bone);
                let back = own * -drift(&state, prior, bone);
                for axis in 0..3 {
                    right[(3 * joint + axis, 0)] += turn_weight * back[axis];
                    normal[(3 * joint + axis, 3 * joint + axis)] += turn_weight;
                }
            }
            for axis in 0..3 {
                right[(count - 3 + axis, 0)] += move_weight * (prior.moved - state.moved)[axis];
                normal[(count - 3 + axis, count - 3 + axis)] += move_weight;
            }
            let Some((next, better)) = self.step(&state, &world, (&normal, &right), value, &mut damping, &cost) else {
                break;
            };
            let gained = value - better;
            (state, value) = (next, better);
            if gained <= 1e-12 * value.max(1e-12) {
                break;
            }
        }
        (state, weak)
    }

    /// A step that lowers the cost, with as much damping as it takes.
    fn step(
        &self,
        state: &State,
        world: &[DAffine3],
        (normal, right): (&Mat<f64>, &Mat<f64>),
        value: f64,
        damping: &mut f64,
        cost: &dyn Fn(&State) -> f64,
    ) -> Option<(State, f64)> {
        for _ in 0..12 {
            let mut damped = normal.clone();
            (0..damped.nrows()).for_each(|i| damped[(i, i)] *= 1.0 + *damping);
            let factor = damped.llt(Side::Lower).ok()?;
            let delta = factor.solve(right);
            let next = self.moved(state, world, &delta);
            let better = cost(&next);
            if better < value {
                *damping = (*damping * 0.1).max(1e-12);
                return Some((next, better));
            }
            *damping *= 10.0;
        }
        None
    }

    fn moved(&self, state: &State, world: &[DAffine3], delta: &Mat<f64>) -> State {
        let mut next = state.clone();
        let part = |at: usize| DVec3::new(delta[(at, 0)], delta[(at + 1, 0)], delta[(at + 2, 0)]);
        for (joint, &bone) in self.free.iter().enumerate() {
            // A turn in the world's axes, in the bone's own: R⁻¹ δ. A step of more than a radian leaves what derivatives know.
            let own = self.axes(world, bone).conjugate() * part(3 * joint).clamp_length_max(1.0);
            let turned = (state.turns[bone] * from_rotation_vector(own)).normalize();
            next.turns[bone] = match &self.settings.limits {
                Some(limits) => within(&limits[BoneIndex::new(bone)], turned),
                None => turned,
            };
        }
        next.moved += part(3 * self.free.len());
        next
    }

    /// Joints that a gap of markers leaves free turn from what they were before it to what they are after it.
    fn fill(&self, seen: &[Places], states: &mut [State], weak: &[Vec<bool>]) {
        let mut again = vec![false; states.len()];
        let longest = (GAP / self.step).ceil() as usize;
        for (joint, &bone) in self.free.iter().enumerate() {
            let mut at = 0;
            while at < states.len() {
                let end = (at..states.len()).find(|frame| !weak[*frame][joint]).unwrap_or(states.len());
                if end > at && at > 0 && end < states.len() && end - at <= longest {
                    let (from, to) = (states[at - 1].turns[bone], states[end].turns[bone]);
                    for frame in at..end {
                        let part = (frame + 1 - at) as f64 / (end + 1 - at) as f64;
                        states[frame].turns[bone] = from.slerp(to, part).normalize();
                        again[frame] = true;
                    }
                }
                at = end + 1;
            }
        }
        for frame in (0..states.len()).filter(|frame| again[*frame]) {
            let prior = states[frame].clone();
            states[frame] = self.fit(&prior, &prior, &seen[frame], false).0;
        }
    }

    fn report(&self, take: &Take, seen: &[Places], states: &[State], mut troubles: Vec<Trouble>) -> Solved {
        let count = self.set.markers.len();
        let (mut squares, mut used, mut most) = (vec![0.0; count], vec![0_usize; count], vec![0.0_f64; count]);
        let mut frames = Vec::with_capacity(states.len());
        for (at, (state, places)) in states.iter().zip(seen).enumerate() {
            for (m, apart) in self.apart(state, places).into_iter().enumerate() {
                if let Some(apart) = apart {
                    squares[m] += apart * apart;
                    used[m] += 1;
                    most[m] = most[m].max(apart);
                }
            }
            let pose = WorldPose::new(self.world(state));
            frames.push(Frame { label: at.to_string(), time: Some(at as f64 / take.rate), pose });
        }
        let mean = |squares: f64, used: usize| (squares / used.max(1) as f64).sqrt();
        let markers = (self.set.markers.iter().enumerate())
            .map(|(m, marker)| MarkerReport {
                name: marker.name.clone(),
                used: used[m],
                rms: mean(squares[m], used[m]),
                most: most[m],
            })
            .collect();
        troubles.sort_by_key(|trouble| (trouble.from, trouble.to));
        let rms = mean(squares.iter().sum(), used.iter().sum());
        Solved { motion: Motion { name: "take".into(), frames }, markers, troubles, rms }
    }
}

/// The turn of a joint since the prior, in its own axes.
fn drift(state: &State, prior: &State, bone: usize) -> DVec3 {
    rotation_vector(prior.turns[bone].conjugate() * state.turns[bone])
}

fn within(limits: &JointLimits, turn: DQuat) -> DQuat {
    limits.nearest(turn)
}

/// Remembers a trouble; one that goes on from the frame before grows.
fn note(troubles: &mut Vec<Trouble>, kind: TroubleKind, frame: usize) {
    match troubles.iter_mut().rev().find(|trouble| trouble.kind == kind) {
        Some(trouble) if trouble.to + 1 == frame => trouble.to = frame,
        _ => troubles.push(Trouble { kind, from: frame, to: frame }),
    }
}

/// Gaps of the take, by marker.
fn gaps(problem: &Problem<'_>, take: &Take, troubles: &mut Vec<Trouble>) {
    for (marker, column) in problem.set.markers.iter().zip(&problem.columns) {
        let Some(column) = column else { continue };
        let mut from = None;
        for frame in 0..=take.frames.len() {
            let missing = take.frames.get(frame).is_some_and(|places| places[*column].is_none());
            match (from, missing) {
                (None, true) => from = Some(frame),
                (Some(start), false) => {
                    let name = marker.name.clone();
                    let long = (frame - start) as f64 * problem.step > GAP;
                    let kind = if long { TroubleKind::LongGap(name) } else { TroubleKind::Gap(name) };
                    troubles.push(Trouble { kind, from: start, to: frame - 1 });
                    from = None;
                }
                _ => {}
            }
        }
    }
}
