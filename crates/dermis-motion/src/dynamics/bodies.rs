//! Which bones are bodies: their shapes and masses from the skin, their joints from the skeleton.

use super::shape::{Shape, outer};
use super::world::apart;
use crate::anatomy::{Anatomy, LimitFrom};
use crate::dynamics_spec::{BodySpec, DynamicsSpec, LimitChoice};
use crate::goals::LimitSpec;
use crate::ik::JointLimits;
use crate::key_path::KeyPath;
use crate::scene::{Clock, Fault, SceneError, few};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::pattern::matches;
use dermis_rig::rotation::{nearest_rotation, principal_axes, quat_from_matrix};
use dermis_rig::{BoneIndex, BoneVec, Influences, Mesh, Rig, Skeleton};

/// A bone that is a body, with the bones that go with it.
#[derive(Clone, Debug)]
pub struct Body {
    /// The bone.
    pub bone: BoneIndex,
    /// Which of the scene's descriptions it follows.
    pub spec: usize,
    /// What it hangs on.
    pub above: Above,
    /// Its shape at rest, in the axes of the bone, from its head.
    pub shape: Shape,
    /// Kilograms.
    pub mass: f64,
    /// About the middle of its mass, in the axes of the bone, kg m².
    pub inertia: DMat3,
    /// How far its joint turns from [`Body::rest`].
    pub limits: JointLimits,
    /// The same, each with one wall.
    pub(super) walls: Vec<JointLimits>,
    /// Its rotation at rest, in the axes of the bone that it hangs on.
    pub rest: DQuat,
    /// The largest moment of inertia, about its head, of all that hangs on its joint at rest, kg m².
    pub carried: f64,
    /// Of a soft body that hangs on nothing the bone above, if it moves no skin, is no body and carries this bone alone: it shows how the
    /// body is pressed.
    pub presses: Option<BoneIndex>,
}

/// What a body hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Above {
    /// Nothing.
    Nothing,
    /// A bone that is animated.
    Bone(BoneIndex),
    /// Another body, by its place.
    Body(usize),
}

/// The bodies of a scene on a rig, what hangs on another after it.
#[derive(Clone, Debug)]
pub struct Bodies {
    /// All of them.
    pub all: Vec<Body>,
    /// The body that every bone goes with, by its place.
    pub carrier: BoneVec<Option<usize>>,
}

/// Vertices below which a bone is no body of its own: a tetrahedron has as many.
const FEWEST: usize = 4;

/// The most bodies.
const MOST: usize = 400;

/// The most work of a simulation: for every step the cubes of the degrees of freedom of what hangs together, as solving its mass matrix
/// takes. It is some minutes; a ragdoll of twenty bodies for a minute takes a hundredth of it.
const MOST_WORK: f64 = 1e12;

impl Bodies {
    /// Checks that the bodies are simulated in a time that somebody waits for.
    ///
    /// # Errors
    /// [`SceneError`].
    pub fn check_work(&self, spec: &DynamicsSpec, clock: &Clock) -> Result<(), SceneError> {
        let mut freedoms = vec![0f64; self.all.len()];
        let mut tree: Vec<usize> = Vec::with_capacity(self.all.len());
        for (at, body) in self.all.iter().enumerate() {
            // Bodies that hang on one animated bone are one multibody.
            let with = self.all[..at].iter().position(|other| match body.above {
                Above::Body(_) | Above::Nothing => false,
                bone @ Above::Bone(_) => other.above == bone,
            });
            let root = match (body.above, with) {
                (Above::Body(above), _) => tree[above],
                (_, Some(with)) => tree[with],
                (_, None) => at,
            };
            tree.push(root);
            freedoms[root] += if root == at { 6.0 } else { 0.0 } + 3.0;
        }
        let steps = clock.elapsed(clock.frames() - 1) * spec.rate;
        let work = steps * freedoms.iter().map(|n| n.powi(3)).sum::<f64>();
        match work > MOST_WORK {
            true => {
                let what = format!("{} bodies for {steps:.0} steps are more work than is done", self.all.len());
                Err(SceneError::new(KeyPath::new().key("dynamics").key("bodies"), Fault::Unfit(what)))
            }
            false => Ok(()),
        }
    }

    /// The bone of every body, and its mass.
    pub(crate) fn masses(&self) -> Vec<(BoneIndex, f64)> {
        self.all.iter().map(|body| (body.bone, body.mass)).collect()
    }

    /// The bodies that a scene describes.
    ///
    /// # Errors
    /// [`SceneError`]: bones that the rig lacks, that two descriptions name, or that move too little skin.
    pub fn new(spec: &DynamicsSpec, limits: &[LimitSpec], rig: &Rig) -> Result<Self, SceneError> {
        let (skeleton, list) = (rig.skeleton(), KeyPath::new().key("dynamics").key("bodies"));
        let fault = |path: &KeyPath, what: String| Err(SceneError::new(path.clone(), Fault::Unfit(what)));
        let Some(weights) = rig.weights() else {
            let what = "the rig has no skinning weights, from which bodies have their masses".into();
            return fault(&KeyPath::new().key("dynamics"), what);
        };
        let mut moved = vec![0usize; skeleton.len()];
        let dominant = (0..weights.vertices()).filter_map(|vertex| weights.dominant(vertex));
        dominant.for_each(|bone| moved[bone.get()] += 1);
        let mut skinned = vec![false; skeleton.len()];
        weights.rows().flatten().filter(|(_, w)| *w > 0.0).for_each(|(bone, _)| skinned[bone.get()] = true);
        let own = skinned.clone();
        let mut children = vec![0usize; skeleton.len()];
        for bone in skeleton.bones().rev() {
            if let Some(parent) = skeleton.parents()[bone] {
                children[parent.get()] += 1;
                skinned[parent.get()] |= skinned[bone.get()];
            }
        }
        let anatomy = Anatomy::new(skeleton, |bone| skinned[bone.get()]);
        let mut named: BoneVec<Option<usize>> = BoneVec::new(vec![None; skeleton.len()]);
        for (at, body) in spec.bodies.iter().enumerate() {
            let path = list.at(at);
            for bone in chosen(body, skeleton, &moved, &path)? {
                if let Some(before) = named[bone].replace(at) {
                    let name = &skeleton.names()[bone];
                    return fault(
                        &path.key("bones"),
                        format!("\"{name:.80}\" is named by {} already", list.at(before)),
                    );
                }
            }
        }
        let joint =
            |bone: BoneIndex| joint_limits(bone, named[bone].map(|at| &spec.bodies[at]), limits, skeleton, &anatomy);
        let mut bodies: Vec<(BoneIndex, usize, Above, JointLimits)> = Vec::new();
        let mut carrier: BoneVec<Option<usize>> = BoneVec::new(vec![None; skeleton.len()]);
        for bone in skeleton.bones() {
            let parent = skeleton.parents()[bone];
            let above = parent.and_then(|parent| carrier[parent]);
            carrier[bone] = above;
            let Some(at) = named[bone] else { continue };
            if moved[bone.get()] < FEWEST || excepted(&spec.bodies[at], &skeleton.names()[bone]) {
                continue;
            }
            let above = match (above, parent) {
                (Some(body), _) => Above::Body(body),
                (None, Some(parent)) if !spec.bodies[at].free => Above::Bone(parent),
                (None, _) => Above::Nothing,
            };
            let limits = joint(bone);
            if above != Above::Nothing && limits == JointLimits::Locked {
                continue;
            }
            carrier[bone] = Some(bodies.len());
            bodies.push((bone, at, above, limits));
        }
        for (at, body) in spec.bodies.iter().enumerate() {
            if !bodies.iter().any(|(_, of, ..)| *of == at) {
                let bones = few(body.bones.iter());
                let what = format!(
                    "none of {bones} can be a body: each moves fewer than {FEWEST} vertices, or its joint is locked"
                );
                return fault(&list.at(at).key("bones"), what);
            }
        }
        if bodies.len() > MOST {
            return fault(&list, format!("{} bodies; {MOST} are the most", bodies.len()));
        }
        let idle = |bone: BoneIndex| {
            let parent = skeleton.parents()[bone]?;
            (!own[parent.get()] && children[parent.get()] == 1 && carrier[parent].is_none()).then_some(parent)
        };
        let clouds = clouds(rig.mesh(), weights, &carrier, bodies.len());
        let mut all = Vec::with_capacity(bodies.len());
        for ((bone, at, above, limits), cloud) in bodies.into_iter().zip(&clouds) {
            let (turn, head) = frame(&skeleton.bind()[bone]);
            let own: Vec<DVec3> = cloud.iter().map(|p| turn.conjugate() * (*p - head)).collect();
            let Some(shape) = Shape::around(&own) else {
                let what = format!("the skin of \"{:.80}\" has no extent, so it has no mass", skeleton.names()[bone]);
                return fault(&list.at(at).key("bones"), what);
            };
            let density = spec.bodies[at].density;
            let (mass, inertia) = (density * shape.volume, shape.inertia * density);
            let hangs_on = match above {
                Above::Nothing => DQuat::IDENTITY,
                Above::Bone(bone) => frame(&skeleton.bind()[bone]).0,
                Above::Body(body) => frame(&skeleton.bind()[body_bone(&all, body)]).0,
            };
            let rest = hangs_on.conjugate() * turn;
            // Only what is soft and free presses.
            let soft = spec.bodies[at].squash.is_some() && above == Above::Nothing;
            let presses = idle(bone).filter(|_| soft);
            let walls = apart(&limits);
            all.push(Body { bone, spec: at, above, shape, mass, inertia, limits, walls, rest, carried: 0.0, presses });
        }
        let carried: Vec<f64> = (0..all.len()).map(|body| carried(&all, body, skeleton)).collect();
        all.iter_mut().zip(carried).for_each(|(body, carried)| body.carried = carried);
        Ok(Self { all, carrier })
    }

    /// Kilograms of all.
    pub fn mass(&self) -> f64 {
        self.all.iter().map(|body| body.mass).sum()
    }
}

fn body_bone(all: &[Body], body: usize) -> BoneIndex {
    all[body].bone
}

/// The rotation and the head of a bone.
pub(super) fn frame(world: &DAffine3) -> (DQuat, DVec3) {
    (quat_from_matrix(&nearest_rotation(&world.matrix3)), world.translation)
}

fn excepted(spec: &BodySpec, name: &str) -> bool {
    spec.except.iter().any(|pattern| matches(pattern, name))
}

/// The bones that a description names.
fn chosen(spec: &BodySpec, skeleton: &Skeleton, moved: &[usize], path: &KeyPath) -> Result<Vec<BoneIndex>, SceneError> {
    let mut chosen = vec![false; skeleton.len()];
    let no_bone = |pattern: &String| Fault::NoBone { bone: pattern.clone(), bones: few(skeleton.names().iter()) };
    for (at, pattern) in spec.bones.iter().enumerate() {
        let path = path.key("bones").at(at);
        let found: Vec<BoneIndex> =
            skeleton.bones().filter(|bone| matches(pattern, &skeleton.names()[*bone])).collect();
        if found.is_empty() {
            return Err(SceneError::new(path, no_bone(pattern)));
        }
        for bone in found {
            let moves = moved[bone.get()];
            if !pattern.contains('*') && !spec.below && moves < FEWEST {
                let what = format!("\"{pattern:.80}\" moves {moves} vertices; a body needs {FEWEST} at least");
                return Err(SceneError::new(path, Fault::Unfit(what)));
            }
            chosen[bone.get()] = true;
        }
    }
    for (at, pattern) in spec.except.iter().enumerate() {
        if !skeleton.names().iter().any(|name| matches(pattern, name)) {
            return Err(SceneError::new(path.key("except").at(at), no_bone(pattern)));
        }
    }
    if spec.below {
        for bone in skeleton.bones() {
            chosen[bone.get()] |= skeleton.parents()[bone].is_some_and(|parent| chosen[parent.get()]);
        }
    }
    Ok(skeleton.bones().filter(|bone| chosen[bone.get()]).collect())
}

/// How far a bone's joint turns: what the scene says of it, the last word first, or its part of the body.
fn joint_limits(
    bone: BoneIndex,
    spec: Option<&BodySpec>,
    limits: &[LimitSpec],
    skeleton: &Skeleton,
    anatomy: &Anatomy,
) -> JointLimits {
    let name = &skeleton.names()[bone];
    if let Some(given) = limits.iter().rev().find(|limit| matches(&limit.bones, name)) {
        return given.limits.clone();
    }
    match spec.map_or(LimitChoice::Anatomy, |spec| spec.limits) {
        LimitChoice::Free => JointLimits::Free,
        LimitChoice::Anatomy if anatomy.from[bone] == LimitFrom::Still => JointLimits::Locked,
        LimitChoice::Anatomy => anatomy.limits[bone].clone(),
    }
}

/// The points of the skin of every body, world at rest: the vertices that its bones move most, and the middles of the edges from them
/// to others. Along a tube the hulls of neighbours meet there, and their volumes add up to that of the tube.
fn clouds(mesh: &Mesh, weights: &Influences, carrier: &BoneVec<Option<usize>>, bodies: usize) -> Vec<Vec<DVec3>> {
    let of: Vec<Option<usize>> =
        (0..weights.vertices()).map(|vertex| weights.dominant(vertex).and_then(|bone| carrier[bone])).collect();
    let mut clouds = vec![Vec::new(); bodies];
    for (body, position) in of.iter().zip(&mesh.positions) {
        if let Some(body) = body {
            clouds[*body].push(*position);
        }
    }
    for triangle in &mesh.triangles {
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            let [a, b] = [a, b].map(|corner: usize| triangle[corner] as usize);
            if of[a] != of[b] {
                let middle = 0.5 * (mesh.positions[a] + mesh.positions[b]);
                [of[a], of[b]].into_iter().flatten().for_each(|body| clouds[body].push(middle));
            }
        }
    }
    clouds
}

/// The largest moment of inertia about a body's head of all that hangs on it, at rest.
fn carried(all: &[Body], top: usize, skeleton: &Skeleton) -> f64 {
    let head = skeleton.bind()[all[top].bone].translation;
    let mut hangs = vec![false; all.len()];
    let mut total = DMat3::ZERO;
    for (at, body) in all.iter().enumerate() {
        hangs[at] = at == top || matches!(body.above, Above::Body(above) if hangs[above]);
        if hangs[at] {
            let (turn, own) = frame(&skeleton.bind()[body.bone]);
            let r = DMat3::from_quat(turn);
            let arm = own + turn * body.shape.middle - head;
            total +=
                r * body.inertia * r.transpose() + (DMat3::IDENTITY * arm.length_squared() - outer(arm)) * body.mass;
        }
    }
    principal_axes(&total)[0].0
}
