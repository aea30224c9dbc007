//! The solve: a start in closed form or by FABRIK, then damped least squares over all goals within limits.

use super::IkError;
use super::chain::Chain;
use super::goal::{Goal, Reach};
use super::levels::{Level, step};
use super::limits::{JointLimits, Wall};
use super::rows::{Column, jacobian, pole_row, residual};
use super::state::{State, rest_local};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::rotation::{from_rotation_vector, rotation_vector};
use dermis_rig::{BoneIndex, BoneVec, Skeleton, WorldPose};
use std::collections::BTreeMap;

/// How far a solve goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverSettings {
    /// A goal is met at this part of its chain's length, and at this angle in radians. Least squares converge quadratically, so little is
    /// saved by asking for less.
    pub tolerance: f64,
    /// The most steps. Goals within reach take 3 to 10; 100 is for those that are not, which are approached in ever smaller steps.
    pub steps: usize,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self { tolerance: 1e-10, steps: 100 }
    }
}

/// Solves goals for one skeleton.
#[derive(Clone, Debug)]
pub struct Solver<'a> {
    skeleton: &'a Skeleton,
    limits: BoneVec<JointLimits>,
    settings: SolverSettings,
}

/// What came of a solve.
#[derive(Clone, Debug)]
pub struct Solved<'a> {
    state: State<'a>,
    /// How near every goal came, in the order of the goals.
    pub reaches: Vec<Reach>,
    /// Steps of least squares; 0 if the start met all goals.
    pub steps: usize,
    /// Why the solve ended.
    pub stop: Stop,
}

/// Why a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All goals are met, or as near as a pole or posture allows.
    Met,
    /// No step brings the goals nearer: they are out of reach, or contradict each other or the limits.
    Nearest,
    /// The steps were used up; the reaches say what is left.
    Steps,
}

impl<'a> Solver<'a> {
    /// A solver whose joints turn freely.
    pub fn new(skeleton: &'a Skeleton) -> Self {
        let limits = BoneVec::new(vec![JointLimits::Free; skeleton.len()]);
        Self { skeleton, limits, settings: SolverSettings::default() }
    }

    /// The same solver with a limit for every joint.
    ///
    /// # Errors
    /// [`IkError::LimitCount`].
    pub fn with_limits(self, limits: BoneVec<JointLimits>) -> Result<Self, IkError> {
        match limits.len() == self.skeleton.len() {
            true => Ok(Self { limits, ..self }),
            false => Err(IkError::LimitCount { found: limits.len(), bones: self.skeleton.len() }),
        }
    }

    /// The same solver with other settings.
    #[must_use]
    pub fn with_settings(self, settings: SolverSettings) -> Self {
        Self { settings, ..self }
    }

    /// The skeleton.
    pub fn skeleton(&self) -> &'a Skeleton {
        self.skeleton
    }

    /// The limits of every joint.
    pub fn limits(&self) -> &BoneVec<JointLimits> {
        &self.limits
    }

    /// The bind pose as local transforms.
    pub fn rest(&self) -> BoneVec<DAffine3> {
        rest_local(self.skeleton)
    }

    /// Brings the goals' bones where they shall be, beginning at `from` (local transforms, bone to parent).
    ///
    /// Joints of the goals' chains turn; nothing else changes. Joints that `from` has beyond their limits are brought back first.
    /// To follow a target over time, hand in the answer of the frame before; to pursue a goal in part, blend the answer with what the joints
    /// had ([`Solved::blended`]).
    ///
    /// A goal that shares joints with another moves them for both. The answer depends on nothing but the arguments.
    ///
    /// # Errors
    /// [`IkError`] names the goal and what is wrong with it. A goal that cannot be met is no error: [`Solved::reaches`] says what is left.
    pub fn solve(&self, from: &BoneVec<DAffine3>, goals: &[Goal]) -> Result<Solved<'a>, IkError> {
        self.solve_near(from, None, goals)
    }

    /// As [`Self::solve`], and what the goals leave free comes as near to `posture` as it can: joints keep to an animation under the goals,
    /// and a limb that follows a target round and round does not wind itself up.
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn solve_near(
        &self,
        from: &BoneVec<DAffine3>,
        posture: Option<&BoneVec<DAffine3>>,
        goals: &[Goal],
    ) -> Result<Solved<'a>, IkError> {
        let state = State::new(self.skeleton, from)?;
        let posture = posture.map(|posture| State::new(self.skeleton, posture)).transpose()?;
        let mut chains = Vec::with_capacity(goals.len());
        for (at, goal) in goals.iter().enumerate() {
            let chain = Chain::new(goal, at, self.skeleton, &self.limits)?;
            if goal.place().is_some() && chain.length(&state) <= 0.0 {
                let name = |bone: BoneIndex| self.skeleton.names()[bone].clone();
                return Err(IkError::NoLength { goal: at, root: name(goal.root), end: name(goal.end) });
            }
            chains.push(chain);
        }
        Ok(Search::new(self, chains, posture).run(state))
    }
}

impl<'a> Solved<'a> {
    /// The local transforms: the start of the next frame's solve.
    pub fn local(&self) -> BoneVec<DAffine3> {
        BoneVec::new(self.state.skeleton.bones().map(|bone| self.state.local(bone)).collect())
    }

    /// The joint-to-world matrices.
    pub fn world(&self) -> WorldPose {
        WorldPose::new(self.state.world.clone())
    }

    /// The local transforms of a pose in which the goals have a weight: every joint's rotation on the way from `from`, at zero, to
    /// the answer, at one, at constant speed.
    ///
    /// # Errors
    /// [`IkError::PoseSize`], [`IkError::NotFinitePose`].
    pub fn blended(&self, from: &BoneVec<DAffine3>, weight: f64) -> Result<BoneVec<DAffine3>, IkError> {
        let mut state = State::new(self.state.skeleton, from)?;
        for (turn, to) in state.turn.iter_mut().zip(&self.state.turn) {
            let way = rotation_vector(turn.conjugate() * *to);
            *turn *= from_rotation_vector(way * weight);
        }
        Ok(BoneVec::new(state.skeleton.bones().map(|bone| state.local(bone)).collect()))
    }
}

/// What stays the same during a solve.
struct Search<'s, 'a, 'g> {
    solver: &'s Solver<'a>,
    chains: Vec<Chain<'g>>,
    /// Joints that turn, parents first.
    joints: Vec<BoneIndex>,
    columns: Vec<Column>,
    /// Bones above the ends, parents first.
    followed: Vec<BoneIndex>,
    posture: Option<State<'a>>,
}

/// Squared residuals, level by level, and of the posture last.
type Merit = Vec<f64>;

/// No joint turns farther in one step, radians.
const LONGEST: f64 = 0.5;

impl<'s, 'a, 'g> Search<'s, 'a, 'g> {
    fn new(solver: &'s Solver<'a>, chains: Vec<Chain<'g>>, posture: Option<State<'a>>) -> Self {
        let pursued = chains.iter().filter(|chain| chain.goal.weight > 0.0);
        let mut joints: Vec<BoneIndex> = pursued.flat_map(|chain| chain.joints.iter().copied()).collect();
        joints.sort();
        joints.dedup();
        let mut followed: Vec<BoneIndex> = chains.iter().flat_map(|chain| chain.ancestry.iter().copied()).collect();
        followed.sort();
        followed.dedup();
        let columns = joints.iter().enumerate().flat_map(|(place, joint)| {
            let directions = solver.limits[*joint].directions();
            directions.into_iter().map(move |axis| Column { joint: *joint, place, axis })
        });
        Self { columns: columns.collect(), solver, chains, joints, followed, posture }
    }

    fn run(self, mut state: State<'a>) -> Solved<'a> {
        for joint in &self.joints {
            state.turn[joint.get()] = self.solver.limits[*joint].nearest(state.turn[joint.get()]);
        }
        state.follow(self.followed.iter().copied());
        let started = self.started(state);
        let (mut state, mut steps, stop) = self.descended(started, self.solver.settings.steps);
        if self.posture.is_some() {
            // Along a posture goals are kept by a few steps each time; now they alone count.
            let alone = Self { posture: None, ..self };
            let more;
            (state, more, _) = alone.descended(state, 5);
            steps += more;
            return alone.done(state, steps, stop);
        }
        self.done(state, steps, stop)
    }

    fn done(&self, mut state: State<'a>, steps: usize, stop: Stop) -> Solved<'a> {
        state.follow(self.solver.skeleton.bones());
        let reaches = self.chains.iter().map(|chain| chain.reach(&state)).collect();
        Solved { state, reaches, steps, stop }
    }

    /// Damped steps while they make the state better, at most `most`.
    fn descended(&self, mut state: State<'a>, most: usize) -> (State<'a>, usize, Stop) {
        let mut damping = 1e-6;
        let (mut steps, mut stop) = (0, Stop::Steps);
        while steps < most {
            let merit = self.merit(&state);
            if self.is_met(&state, &merit) {
                stop = Stop::Met;
                break;
            }
            let Some((next, after)) = self.improved(&state, &merit, &mut damping) else {
                stop = Stop::Nearest;
                break;
            };
            steps += 1;
            state = next;
            if merit.iter().zip(&after).all(|(before, after)| (before - after).abs() <= 1e-10 * before) {
                stop = Stop::Nearest;
                break;
            }
        }
        (state, steps, stop)
    }

    /// Goals one after the other in closed form or by FABRIK, where that brings them nearer together.
    fn started(&self, mut state: State<'a>) -> State<'a> {
        let mut order: Vec<&Chain<'_>> = self.chains.iter().filter(|chain| chain.goal.weight > 0.0).collect();
        order.sort_by_key(|chain| chain.goal.priority);
        let mut merit = self.merit(&state);
        for chain in order {
            if chain.reach(&state).is_met(self.solver.settings.tolerance)
                && chain.off_pole(&state).unwrap_or(0.0) == 0.0
            {
                continue;
            }
            let Some(mut started) = chain.start(&state, &self.solver.limits) else { continue };
            started.follow(self.followed.iter().copied());
            let after = self.merit(&started);
            if self.is_better(&after, &merit) {
                (state, merit) = (started, after);
            }
        }
        state
    }

    /// Whether nothing is left to do.
    fn is_met(&self, state: &State<'a>, merit: &Merit) -> bool {
        let tolerance = self.solver.settings.tolerance;
        let mut pursued = self.chains.iter().filter(|chain| chain.goal.weight > 0.0);
        pursued.all(|chain| {
            chain.reach(state).is_met(tolerance) && chain.off_pole(state).is_none_or(|angle| angle.abs() <= 1e-9)
        }) && (self.posture.is_none() || merit.last().is_some_and(|left| *left <= tolerance))
    }

    /// The first damped step that makes the state better, and its merit.
    fn improved(&self, state: &State<'a>, merit: &Merit, damping: &mut f64) -> Option<(State<'a>, Merit)> {
        let (levels, wish) = (self.levels(state), self.posture_wish(state));
        while *damping < 1e6 {
            // The wish is damped as the goals are: halved where a limb's sideways reach of 3 % of its length is.
            let calm = 1.0 / (1.0 + 1e3 * *damping);
            let calmed = wish.as_ref().map(|wish| wish.iter().map(|x| x * calm).collect::<Vec<_>>());
            let next = self.stepped(state, &levels, *damping, calmed.as_deref());
            if let Some(next) = next.map(|next| self.restored(next, merit)) {
                let after = self.merit(&next);
                if self.is_better(&after, merit) {
                    *damping = (*damping * 0.1).max(1e-14);
                    return Some((next, after));
                }
            }
            *damping *= 10.0;
        }
        *damping = 1e-6;
        None
    }

    /// A step of lower priority bends what higher ones hold only straight; this brings those back, by their own steps.
    fn restored(&self, mut state: State<'a>, merit: &Merit) -> State<'a> {
        for _ in 0..6 {
            let now = self.merit(&state);
            let upper = now.len().saturating_sub(1);
            let worse = |at: &usize| now[*at] > merit[*at].max(self.floor());
            let Some(worst) = (0..upper).rfind(worse) else { break };
            let levels = self.levels(&state);
            let Some(next) = self.stepped(&state, &levels[..(worst + 1).min(levels.len())], 1e-9, None) else { break };
            state = next;
        }
        state
    }

    /// A step within limits: joints that it would lead out of their limits leave it, along the wall.
    fn stepped(&self, state: &State<'a>, levels: &[Level], damping: f64, wish: Option<&[f64]>) -> Option<State<'a>> {
        let limits = &self.solver.limits;
        let walls: Vec<Vec<Wall>> = self.joints.iter().map(|j| limits[*j].walls(state.turn[j.get()])).collect();
        let mut met: Vec<Vec<DVec3>> = vec![Vec::new(); self.joints.len()];
        // Every round adds a wall or is the last; a joint has at most four.
        for _ in 0..8 {
            let keep = |row: &mut [f64]| self.keep(row, &met);
            let step = step(levels, self.columns.len(), damping, keep, wish)?;
            let turns = self.turns(&step);
            let mut added = false;
            for (place, walls) in walls.iter().enumerate() {
                for wall in walls {
                    let mut part = *wall;
                    met[place].iter().for_each(|known| part -= *known * known.dot(part));
                    if turns[place].dot(*wall) > 1e-14 && part.length() > 1e-6 {
                        met[place].push(part.normalize());
                        added = true;
                    }
                }
            }
            if !added {
                return Some(self.turned(state, &turns));
            }
        }
        None
    }

    /// The rotation vector of every joint, in its own axes.
    fn turns(&self, step: &[f64]) -> Vec<DVec3> {
        let mut turns = vec![DVec3::ZERO; self.joints.len()];
        for (column, step) in self.columns.iter().zip(step) {
            turns[column.place] += column.axis * *step;
        }
        turns
    }

    /// Takes from a step, or from the row of a Jacobian, what leads along walls.
    fn keep(&self, row: &mut [f64], met: &[Vec<DVec3>]) {
        if met.iter().all(Vec::is_empty) {
            return;
        }
        let mut turns = self.turns(row);
        for (turn, walls) in turns.iter_mut().zip(met) {
            walls.iter().for_each(|wall| *turn -= *wall * wall.dot(*turn));
        }
        for (column, entry) in self.columns.iter().zip(row) {
            *entry = turns[column.place].dot(column.axis);
        }
    }

    /// The state with every joint turned, by at most [`LONGEST`], and held to its limits.
    fn turned(&self, state: &State<'a>, turns: &[DVec3]) -> State<'a> {
        let longest = turns.iter().map(|turn| turn.length()).fold(0.0, f64::max);
        let scale = if longest > LONGEST { LONGEST / longest } else { 1.0 };
        let mut next = state.clone();
        for (joint, turn) in self.joints.iter().zip(turns) {
            let q = (state.turn[joint.get()] * from_rotation_vector(*turn * scale)).normalize();
            next.turn[joint.get()] = self.solver.limits[*joint].nearest(q);
        }
        next.follow(self.followed.iter().copied());
        next
    }

    /// The levels in a state.
    fn levels(&self, state: &State<'a>) -> Vec<Level> {
        self.gather(
            state,
            |chain, length| jacobian(chain, state, length, &self.columns),
            |chain| pole_row(chain, state, &self.columns),
        )
    }

    fn gather(
        &self,
        state: &State<'a>,
        rows: impl Fn(&Chain<'_>, f64) -> Vec<Vec<f64>>,
        pole: impl Fn(&Chain<'_>) -> Vec<f64>,
    ) -> Vec<Level> {
        let mut levels: BTreeMap<(u32, bool), Level> = BTreeMap::new();
        let empty = || Level { rows: Vec::new(), lacking: Vec::new() };
        for chain in self.chains.iter().filter(|chain| chain.goal.weight > 0.0) {
            // A goal of rotations alone may have a chain without length; no residual is divided by it.
            let length = chain.length(state).max(f64::MIN_POSITIVE);
            let scale = chain.goal.weight.sqrt();
            let level = levels.entry((chain.goal.priority, false)).or_insert_with(empty);
            level.lacking.extend(residual(chain, state, length).iter().map(|x| x * scale));
            level.rows.extend(rows(chain, length).into_iter().map(|row| scaled(row, scale)));
            if chain.goal.pole.is_some() {
                let level = levels.entry((chain.goal.priority, true)).or_insert_with(empty);
                level.lacking.push(chain.off_pole(state).unwrap_or(0.0) * scale);
                level.rows.push(scaled(pole(chain), scale));
            }
        }
        levels.into_values().collect()
    }

    fn merit(&self, state: &State<'a>) -> Merit {
        let levels = self.gather(state, |_, _| Vec::new(), |_| Vec::new());
        let squares = levels.iter().map(|level| level.lacking.iter().map(|x| x * x).sum());
        squares.chain(self.posture_wish(state).map(|wish| wish.iter().map(|x| x * x).sum())).collect()
    }

    /// The turns that would bring every joint to the posture, as columns.
    fn posture_wish(&self, state: &State<'a>) -> Option<Vec<f64>> {
        let posture = self.posture.as_ref()?;
        let wish = self.columns.iter().map(|column| {
            let k = column.joint.get();
            rotation_vector(state.turn[k].conjugate() * posture.turn[k]).dot(column.axis)
        });
        Some(wish.collect())
    }

    /// A squared residual that counts as none.
    fn floor(&self) -> f64 {
        (0.1 * self.solver.settings.tolerance).powi(2)
    }

    /// Whether `after` is better than `before`: the first level that changes decides.
    fn is_better(&self, after: &Merit, before: &Merit) -> bool {
        for (after, before) in after.iter().zip(before) {
            let (after, before) = (after.max(self.floor()), before.max(self.floor()));
            if after < before * (1.0 - 1e-9) {
                return true;
            }
            if !(after <= before * (1.0 + 1e-7)) {
                return false;
            }
        }
        false
    }
}

fn scaled(mut row: Vec<f64>, scale: f64) -> Vec<f64> {
    row.iter_mut().for_each(|x| *x *= scale);
    row
}
