//! Goals of a scene: what inverse kinematics brings bones to, over time.

use crate::controls::{Numbers, Place, Value};
use crate::ik::{Goal, IkError, JointLimits, Pole, Reach, Solver, Target};
use crate::key_path::KeyPath;
use crate::local::Local;
use crate::scene::{Fault, SceneError, Turn, few};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::pattern::matches;
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, slerp};
use dermis_rig::{BoneIndex, BoneVec, Skeleton};

/// Where a bone shall be, and which bones above it may turn for that.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalSpec {
    /// The bone.
    pub bone: String,
    /// The first bone of the chain that may turn; the bone two above by default, as an upper arm is above a hand.
    pub chain: Option<String>,
    /// What it shall do.
    pub aim: Aim,
    /// The point that goes to the target, in the frame of the bone, metres; its head by default.
    pub point: DVec3,
    /// A point that the joint in the middle of the chain leans to.
    pub pole: Option<[Value; 3]>,
    /// How far the bone goes from where it is without the goal, 0, to the target, 1.
    pub weight: Value,
    /// 0 comes first. A goal moves what goals of lower numbers leave free.
    pub priority: u32,
}

/// What a goal wants of a bone.
#[derive(Clone, Debug, PartialEq)]
pub enum Aim {
    /// To be at a point of the world, metres; turned so from its axes at rest, if that is given.
    Place([Value; 3], Option<Box<Turn>>),
    /// To look at a point of the world with a direction of its own axes.
    LookAt(DVec3, [Value; 3]),
    /// To stay where the layers have it, turned as it is there, whatever the driven bones do.
    Keep,
}

/// A limit of joints.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitSpec {
    /// The name of a bone, with `*` for any text.
    pub bones: String,
    /// How far its joint may turn from rest.
    pub limits: JointLimits,
}

/// How a goal fared over a motion.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalReport {
    /// The bone.
    pub bone: String,
    /// For every frame how near it came; `None` where its weight is zero.
    pub frames: Vec<Option<Reach>>,
}

/// The goals of a scene, for its skeleton.
#[derive(Debug)]
pub struct Goals<'a> {
    specs: &'a [GoalSpec],
    chains: Vec<Chain>,
    solver: Solver<'a>,
    skeleton: &'a Skeleton,
    /// What the goals turned every joint by in the frame before.
    turned: BoneVec<DQuat>,
}

#[derive(Clone, Copy, Debug)]
struct Chain {
    root: BoneIndex,
    middle: Option<BoneIndex>,
    end: BoneIndex,
}

/// A pose with its joint-to-world matrices.
pub struct Posed {
    /// Bone to parent.
    pub local: BoneVec<Local>,
    /// Bone to world.
    pub world: BoneVec<DAffine3>,
}

impl Posed {
    /// Forward kinematics.
    pub fn new(local: BoneVec<Local>, skeleton: &Skeleton) -> Self {
        let mut world: Vec<DAffine3> = Vec::with_capacity(local.len());
        for bone in skeleton.bones() {
            let own = local[bone].affine();
            world.push(skeleton.parents()[bone].map_or(own, |parent| world[parent.get()] * own));
        }
        Self { local, world: BoneVec::new(world) }
    }
}

impl<'a> Goals<'a> {
    /// The goals of a scene for a skeleton.
    ///
    /// # Errors
    /// [`SceneError`]: bones that the skeleton lacks, chains that are none.
    pub fn new(specs: &'a [GoalSpec], limits: &[LimitSpec], skeleton: &'a Skeleton) -> Result<Self, SceneError> {
        let root = KeyPath::new();
        let find = |name: &str, path: KeyPath| {
            let missing = || Fault::NoBone { bone: name.into(), bones: few(skeleton.names().iter()) };
            skeleton.find(name).ok_or_else(|| SceneError::new(path, missing()))
        };
        let mut chains = Vec::with_capacity(specs.len());
        for (at, spec) in specs.iter().enumerate() {
            let path = root.key("goals").at(at);
            let end = find(&spec.bone, path.key("bone"))?;
            let above = |bone: BoneIndex| skeleton.parents()[bone];
            let root = match (&spec.chain, &spec.aim) {
                (Some(name), _) => find(name, path.key("chain"))?,
                (None, Aim::LookAt(..)) => end,
                (None, _) => {
                    let two = above(end).and_then(above);
                    let what = || {
                        Fault::Unfit(format!(
                            "\"{}\" has no two bones above it: name the first of the chain",
                            spec.bone
                        ))
                    };
                    two.ok_or_else(|| SceneError::new(path.key("bone"), what()))?
                }
            };
            // The joint in the middle of the chain, by number, leans to the pole.
            let mut between = Vec::new();
            let mut bone = above(end);
            while let Some(joint) = bone.filter(|joint| *joint != root) {
                between.push(joint);
                bone = above(joint);
            }
            let middle = between.get(between.len() / 2).copied().filter(|_| bone.is_some());
            if spec.pole.is_some() && middle.is_none() {
                let what = "a pole needs a joint between the two ends of the chain".into();
                return Err(SceneError::new(path.key("pole"), Fault::Unfit(what)));
            }
            chains.push(Chain { root, middle, end });
        }
        let mut joints = BoneVec::new(vec![JointLimits::Free; skeleton.len()]);
        for (at, limit) in limits.iter().enumerate() {
            let found: Vec<BoneIndex> =
                skeleton.bones().filter(|bone| matches(&limit.bones, &skeleton.names()[*bone])).collect();
            if found.is_empty() {
                find(&limit.bones, root.key("limits").at(at).key("bones"))?;
            }
            found.into_iter().for_each(|bone| joints[bone] = limit.limits.clone());
        }
        let solver = Solver::new(skeleton).with_limits(joints);
        let solver = solver.map_err(|error| SceneError::new(root.key("limits"), Fault::Unfit(error.to_string())))?;
        let turned = BoneVec::new(vec![DQuat::IDENTITY; skeleton.len()]);
        Ok(Self { specs, chains, solver, skeleton, turned })
    }

    /// Brings a pose to the goals; `layers` is the pose before bones were driven. A frame begins with what the goals turned every joint
    /// by in the frame before, so that limbs go on from there.
    ///
    /// # Errors
    /// [`SceneError`]: values that are not finite, goals that cannot be pursued.
    pub fn reach(
        &mut self,
        posed: Posed,
        layers: &Posed,
        numbers: &Numbers<'_>,
    ) -> Result<(Posed, Vec<Option<Reach>>), SceneError> {
        let mut goals = Vec::new();
        let mut places = Vec::new();
        for (at, (spec, chain)) in self.specs.iter().zip(&self.chains).enumerate() {
            let path = KeyPath::new().key("goals").at(at);
            let weight = numbers.value(&spec.weight, &Place::default(), &path.key("weight"))?.clamp(0.0, 1.0);
            if weight > 0.0 {
                goals.push(self.goal(spec, *chain, weight, &posed, layers, numbers, &path)?);
                places.push(at);
            }
        }
        let mut reaches = vec![None; self.specs.len()];
        if goals.is_empty() {
            self.turned = BoneVec::new(vec![DQuat::IDENTITY; self.skeleton.len()]);
            return Ok((posed, reaches));
        }
        let own: BoneVec<DAffine3> = BoneVec::new(posed.local.iter().map(Local::affine).collect());
        let from = BoneVec::new(
            self.skeleton.bones().map(|bone| own[bone] * DAffine3::from_quat(self.turned[bone])).collect(),
        );
        let solved = self.solver.solve_near(&from, Some(&own), &goals).map_err(|error| self.fault(&error, &places))?;
        let local = solved.local();
        for bone in self.skeleton.bones() {
            let turn = nearest_rotation(&(own[bone].matrix3.inverse() * local[bone].matrix3));
            self.turned[bone] = quat_from_matrix(&turn);
        }
        for (reach, &at) in solved.reaches.iter().zip(&places) {
            reaches[at] = Some(*reach);
        }
        let local = BoneVec::new(local.iter().map(Local::new).collect());
        Ok((Posed::new(local, self.skeleton), reaches))
    }

    /// A goal at this time. Its target lies `weight` of the way from where the bone is to where it shall be.
    fn goal(
        &self,
        spec: &GoalSpec,
        chain: Chain,
        weight: f64,
        posed: &Posed,
        layers: &Posed,
        numbers: &Numbers<'_>,
        path: &KeyPath,
    ) -> Result<Goal, SceneError> {
        let vector = |values: &[Value; 3], key: &str| numbers.vector(values, &Place::default(), &path.key(key));
        let here = posed.world[chain.end];
        let place = here.transform_point3(spec.point);
        let turn_of = |m: &DAffine3| quat_from_matrix(&nearest_rotation(&m.matrix3));
        let target = match &spec.aim {
            Aim::Place(target, None) => Target::Point(place.lerp(vector(target, "target")?, weight)),
            Aim::Place(target, Some(turn)) => {
                let rest = turn_of(&self.skeleton.bind()[chain.end]);
                let wanted = numbers.turn(turn, &Place::default(), &path.key("turn"))? * rest;
                Target::Frame(place.lerp(vector(target, "target")?, weight), slerp(turn_of(&here), wanted, weight))
            }
            Aim::LookAt(axis, point) => {
                let (head, wanted) = (here.translation, vector(point, "look-at")?);
                let now = (here.matrix3 * *axis).normalize_or_zero();
                // A point at the head itself is seen whichever way the bone is turned.
                let then = (wanted - head).try_normalize().unwrap_or(now);
                // Along the arc between the two directions; there is none where they are opposite, and the whole way is taken.
                let arc = DQuat::from_rotation_arc(now, then);
                let towards = slerp(DQuat::IDENTITY, arc, weight) * now;
                Target::LookAt { axis: *axis, point: head + towards * head.distance(wanted).max(1e-6) }
            }
            Aim::Keep => {
                let kept = layers.world[chain.end];
                let point = place.lerp(kept.transform_point3(spec.point), weight);
                Target::Frame(point, slerp(turn_of(&here), turn_of(&kept), weight))
            }
        };
        let pole = match (&spec.pole, chain.middle) {
            (Some(pole), Some(middle)) => Some(Pole { middle, point: vector(pole, "pole")? }),
            _ => None,
        };
        let goal = Goal::new(chain.root, chain.end, target).at(spec.point).after(spec.priority);
        Ok(Goal { pole, ..goal })
    }

    fn fault(&self, error: &IkError, places: &[usize]) -> SceneError {
        let list = KeyPath::new().key("goals");
        let path = match error {
            IkError::NoBone { goal, .. }
            | IkError::NoChain { goal, .. }
            | IkError::PoleOffChain { goal, .. }
            | IkError::BadNumber { goal, .. }
            | IkError::NoLength { goal, .. }
            | IkError::AllLocked { goal, .. } => places.get(*goal).map_or(list.clone(), |at| list.at(*at)),
            _ => list,
        };
        SceneError::new(path, Fault::Unfit(error.to_string()))
    }
}
