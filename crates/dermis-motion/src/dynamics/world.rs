//! Bodies and joints in Rapier, for as long as the same bodies move.
//!
//! What hangs together is one multibody in reduced coordinates, so joints neither open nor drift: a joint's coordinates are the rotation
//! that it makes. A bone that is animated and carries bodies is a body of a million times their mass. A force brings it where the
//! animation has it, and the bodies feel how it is accelerated.
//!
//! In every step the coordinates of each joint begin anew at its rotation, with axes of our choice. So springs pull along the shortest
//! rotation to their target, implicitly, and a joint at its limit has one axis that shows out of it.

use super::bodies::{Above, Bodies, Body};
use super::{convert, squash};
use crate::dynamics_spec::{BodySpec, DynamicsSpec};
use crate::ik::JointLimits;
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::rotation::{from_rotation_vector, principal_axes, rotation_vector};
use rapier3d_f64::prelude::{
    CoefficientCombineRule, ColliderBuilder, GenericJoint, IntegrationParameters, JointAxesMask, JointAxis,
    MassProperties, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle, SharedShape,
};

/// Where a body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// The bone's head, metres.
    pub head: DVec3,
    /// The bone's rotation.
    pub rotation: DQuat,
    /// The velocity of the head, m/s.
    pub linear: DVec3,
    /// The angular velocity, in the axes of the world, rad/s.
    pub angular: DVec3,
}

/// Where the animation has a bone at a time and a step later.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// Now.
    pub now: (DQuat, DVec3),
    /// A step later.
    pub next: (DQuat, DVec3),
}

/// How many times the mass of what hangs on an animated bone is put into it. The bone follows its animation to one part in so many of
/// what it carries, and is put right in every step; with 1e3 the carried mass shows, with 1e12 rounding does.
const HEAVY: f64 = 1e6;

/// How fast a joint returns that is beyond its limits, rad/s: an animation may begin there.
const RETURN: f64 = 1.0;

/// What is set up in Rapier.
pub struct World<'a> {
    physics: PhysicsWorld,
    bodies: &'a Bodies,
    spec: &'a DynamicsSpec,
    links: Vec<Link>,
    roots: Vec<Root>,
    /// The link of every body that moves.
    link_of: Vec<Option<usize>>,
}

struct Link {
    body: usize,
    handle: RigidBodyHandle,
    joint: Option<Joint>,
}

struct Joint {
    above: RigidBodyHandle,
    /// The bone that it hangs on.
    bone: BoneIndex,
    /// From the axes of the coordinates to those of the bone.
    axes: DQuat,
    /// k, N m/rad.
    stiffness: f64,
    /// c of the spring, N m s/rad.
    spring_damping: f64,
    /// All damping, N m s/rad.
    damping: f64,
    /// By how much it is beyond its limits, radians.
    beyond: f64,
}

struct Root {
    bone: BoneIndex,
    handle: RigidBodyHandle,
    mass: f64,
    inertia: f64,
}

impl<'a> World<'a> {
    /// Sets up the bodies that move. `states` has one for each of them; `carried` says where the animation has a bone.
    pub fn new(
        bodies: &'a Bodies,
        spec: &'a DynamicsSpec,
        moves: &[bool],
        states: &[Option<State>],
        carried: impl Fn(BoneIndex) -> Carried,
    ) -> Self {
        let dt = 1.0 / spec.rate;
        let mut physics = PhysicsWorld::new();
        physics.gravity = convert::vector(spec.gravity);
        physics.integration_parameters = parameters(dt);
        if let Some(height) = spec.ground {
            let ground = physics.insert_body(RigidBodyBuilder::fixed().translation(convert::vector(DVec3::Y * height)));
            let plane = ColliderBuilder::new(SharedShape::halfspace(convert::vector(DVec3::Y))).friction(0.0);
            physics.insert_collider(plane, Some(ground));
        }
        let mut world =
            Self { physics, bodies, spec, links: Vec::new(), roots: Vec::new(), link_of: vec![None; bodies.all.len()] };
        for (at, body) in bodies.all.iter().enumerate() {
            let Some(state) = states[at].filter(|_| moves[at]) else { continue };
            world.add(at, body, &state, &carried);
        }
        world.set_velocities(states, dt, &carried);
        world
    }

    fn add(&mut self, at: usize, body: &Body, state: &State, carried: &impl Fn(BoneIndex) -> Carried) {
        let spec = &self.spec.bodies[body.spec];
        let middle = state.head + state.rotation * body.shape.middle;
        let builder = RigidBodyBuilder::dynamic()
            .pose(convert::pose(state.rotation, middle))
            .additional_mass_properties(mass_properties(body.mass, &body.inertia))
            .gravity_scale(spec.gravity)
            .allow_fast_rotation(true)
            .can_sleep(false);
        let handle = self.physics.insert_body(builder);
        if self.spec.ground.is_some() && spec.squash.is_none() {
            self.physics.insert_collider(collider(body, spec), Some(handle));
        }
        let (above, bone) = match body.above {
            Above::Nothing => (None, None),
            Above::Bone(bone) => (Some(self.root(bone, carried)), Some(bone)),
            Above::Body(above) => match self.link_of[above] {
                Some(link) => (Some(self.links[link].handle), Some(self.bodies.all[above].bone)),
                None => (Some(self.root(self.bodies.all[above].bone, carried)), Some(self.bodies.all[above].bone)),
            },
        };
        let joint = above.zip(bone).map(|(above, bone)| self.join(at, body, state, above, bone, handle));
        if let Some(root) =
            joint.as_ref().and_then(|joint| self.roots.iter_mut().find(|root| root.handle == joint.above))
        {
            root.mass += HEAVY * body.mass;
            root.inertia += HEAVY * body.carried;
        }
        self.link_of[at] = Some(self.links.len());
        self.links.push(Link { body: at, handle, joint });
    }

    /// The body of an animated bone.
    fn root(&mut self, bone: BoneIndex, carried: &impl Fn(BoneIndex) -> Carried) -> RigidBodyHandle {
        if let Some(root) = self.roots.iter().find(|root| root.bone == bone) {
            return root.handle;
        }
        let (rotation, head) = carried(bone).now;
        let builder =
            RigidBodyBuilder::dynamic().pose(convert::pose(rotation, head)).gravity_scale(0.0).can_sleep(false);
        let handle = self.physics.insert_body(builder);
        self.roots.push(Root { bone, handle, mass: 0.0, inertia: 0.0 });
        handle
    }

    fn join(
        &mut self,
        at: usize,
        body: &Body,
        state: &State,
        above: RigidBodyHandle,
        bone: BoneIndex,
        handle: RigidBodyHandle,
    ) -> Joint {
        let spec = &self.spec.bodies[body.spec];
        let (above_turn, above_middle) = convert::of_pose(self.physics.bodies[above].position());
        let relative = above_turn.conjugate() * state.rotation;
        let (axes, locked) = match &body.limits {
            JointLimits::Hinge(hinge) => (
                DQuat::from_rotation_arc(DVec3::X, hinge.axis()),
                JointAxesMask::LIN_AXES | JointAxesMask::ANG_Y | JointAxesMask::ANG_Z,
            ),
            _ => (DQuat::IDENTITY, JointAxesMask::LIN_AXES),
        };
        let mut data = GenericJoint::new(locked);
        data.set_contacts_enabled(false);
        data.local_frame1 = convert::pose(relative * axes, above_turn.conjugate() * (state.head - above_middle));
        data.local_frame2 = convert::pose(axes, -body.shape.middle);
        let inserted = self.physics.multibody_joints.insert(above, handle, data, true);
        debug_assert!(inserted.is_some(), "body {at} hangs on one other");
        let (turns, ratio) =
            spec.spring.map_or((0.0, 0.0), |spring| (std::f64::consts::TAU * spring.hertz, spring.ratio));
        let spring_damping = 2.0 * ratio * turns * body.carried;
        Joint {
            above,
            bone,
            axes,
            stiffness: body.carried * turns * turns,
            spring_damping,
            damping: spring_damping + spec.damping * body.carried,
            beyond: body.limits.excess(body.rest.conjugate() * relative),
        }
    }

    /// Masses of animated bones, damping, and the velocities that bodies begin with.
    fn set_velocities(&mut self, states: &[Option<State>], dt: f64, carried: &impl Fn(BoneIndex) -> Carried) {
        for root in &self.roots {
            let properties = mass_properties(root.mass, &(DMat3::IDENTITY * root.inertia));
            self.physics.bodies[root.handle].set_additional_mass_properties(properties, true);
            let (linear, angular) = velocity(&carried(root.bone), dt);
            let Some((multibody, _)) = multibody(&mut self.physics, root.handle) else { continue };
            set_free(multibody, linear, angular);
        }
        for link in &self.links {
            let (Some(state), body) = (states[link.body], &self.bodies.all[link.body]) else { continue };
            match &link.joint {
                Some(joint) => {
                    // The angular velocity of what it hangs on.
                    let above = match self.links.iter().find(|other| other.handle == joint.above) {
                        Some(other) => states[other.body].map_or(DVec3::ZERO, |state| state.angular),
                        None => velocity(&carried(joint.bone), dt).1,
                    };
                    let own = joint.axes.conjugate() * (state.rotation.conjugate() * (state.angular - above));
                    let Some((multibody, id)) = multibody(&mut self.physics, link.handle) else { continue };
                    let Some(found) = multibody.link(id) else { continue };
                    let (first, count) = (found.assembly_id(), found.joint().ndofs());
                    for axis in 0..count {
                        multibody.generalized_velocity_mut()[first + axis] = own[axis];
                        multibody.damping_mut()[first + axis] = joint.damping;
                    }
                }
                None => {
                    // A step adds gravity to the velocity before it moves: half of it belongs to the step before, and positions are
                    // those of a parabola.
                    let gravity = self.spec.gravity * self.spec.bodies[body.spec].gravity;
                    let arm = state.rotation * body.shape.middle;
                    let linear = state.linear + state.angular.cross(arm) - gravity * (0.5 * dt);
                    match multibody(&mut self.physics, link.handle) {
                        Some((multibody, _)) => set_free(multibody, linear, state.angular),
                        None => {
                            let body = &mut self.physics.bodies[link.handle];
                            body.set_linvel(convert::vector(linear), true);
                            body.set_angvel(convert::vector(state.angular), true);
                        }
                    }
                }
            }
        }
    }

    /// Goes on by a step, with the wind and where the animation has bones.
    pub fn step(&mut self, wind: DVec3, carried: impl Fn(BoneIndex) -> Carried) {
        let dt = 1.0 / self.spec.rate;
        for root in &self.roots {
            drive(&mut self.physics, root, &carried(root.bone), dt);
        }
        for at in 0..self.links.len() {
            self.aim(at, &carried, dt);
        }
        for at in 0..self.links.len() {
            self.push(at, wind, dt);
        }
        self.physics.step();
        let within = (0..self.links.len()).filter(|at| self.hold(*at, dt)).count();
        if within > 0 {
            let PhysicsWorld { bodies, multibody_joints, .. } = &mut self.physics;
            for link in &self.links {
                // Every multibody has one link with the number 1.
                let Some(link) = multibody_joints.rigid_body_link(link.handle).copied().filter(|link| link.id == 1)
                else {
                    continue;
                };
                if let Some(multibody) = multibody_joints.get_multibody_mut(link.multibody) {
                    multibody.forward_kinematics(bodies, false);
                    multibody.update_rigid_bodies(bodies, false);
                }
            }
        }
    }

    /// Turns a joint back that a step has brought beyond its limits: the solver stops what would leave them, to what its passes leave. A
    /// joint that began beyond returns slowly. Says whether it turned.
    fn hold(&mut self, at: usize, dt: f64) -> bool {
        let link = &mut self.links[at];
        let body = &self.bodies.all[link.body];
        let Some(joint) = link.joint.as_mut().filter(|_| !body.walls.is_empty()) else { return false };
        let Some((multibody, id)) = multibody(&mut self.physics, link.handle) else { return false };
        let Some(found) = multibody.link_mut(id) else { return false };
        let base = convert::of_rotation(&found.joint.data.local_frame1.rotation);
        let relative = base * convert::of_rotation(&found.joint.joint_rot()) * joint.axes.conjugate();
        let q = body.rest.conjugate() * relative;
        let back = rotation_vector(q.conjugate() * body.limits.nearest(q));
        let (beyond, most) = (back.length(), (joint.beyond - RETURN * dt).max(0.0));
        if beyond <= most.max(1e-12) {
            joint.beyond = beyond;
            return false;
        }
        joint.beyond = most;
        let turn = base.conjugate() * (relative * (back * (1.0 - most / beyond)));
        match body.limits {
            JointLimits::Hinge(_) => found.joint.apply_displacement(&[turn.x]),
            _ => found.joint.apply_displacement(&turn.to_array()),
        }
        true
    }

    /// Begins a joint's coordinates anew, and sets its spring and its limit.
    fn aim(&mut self, at: usize, carried: &impl Fn(BoneIndex) -> Carried, dt: f64) {
        let link = &mut self.links[at];
        let body = &self.bodies.all[link.body];
        let Some(joint) = &mut link.joint else { return };
        let Some((multibody, id)) = multibody(&mut self.physics, link.handle) else { return };
        let Some(first) = multibody.link(id).map(|found| found.assembly_id()) else { return };
        let count = if matches!(body.limits, JointLimits::Hinge(_)) { 1 } else { 3 };
        let mut speed = DVec3::ZERO;
        (0..count).for_each(|axis| speed[axis] = multibody.generalized_velocity()[first + axis]);
        let Some(found) = multibody.link_mut(id) else { return };
        let mut data = found.joint.data;
        let made = convert::of_rotation(&found.joint.joint_rot());
        let base = convert::of_rotation(&data.local_frame1.rotation);
        let relative = (base * made * joint.axes.conjugate()).normalize();
        // The velocity in the axes of the bone.
        let turning = relative.conjugate() * (base * speed);
        let walls: Vec<(DVec3, f64)> = (body.walls.iter())
            .filter_map(|limits| wall(limits, body.rest.conjugate() * relative, turning, dt))
            .collect();
        if count == 3 {
            let axes = axes_of(&walls);
            let back = rotation_vector(made) * -1.0;
            found.joint.apply_displacement(&back.to_array());
            data.local_frame1.rotation = convert::rotation(relative * axes);
            data.local_frame2.rotation = convert::rotation(axes);
            joint.axes = axes;
            speed = axes.conjugate() * turning;
        }
        let coords = found.joint.coords();
        data.limit_axes.remove(JointAxesMask::ANG_AXES);
        for (axis, (out, room)) in walls.iter().enumerate() {
            // A limit acts from where it is broken on: within a step of it the joint stops, and beyond it returns slowly.
            let most = if *room > 0.0 { 0.0 } else { room.max(-RETURN * dt) };
            let at = coords[3 + axis] + (most - 1e-12);
            let mirrored = coords[3 + axis] - (most - 1e-12);
            let range = match count == 1 && (joint.axes * DVec3::X).dot(*out) < 0.0 {
                false => [-f64::MAX, at],
                true => [mirrored, f64::MAX],
            };
            data.set_limits([JointAxis::AngX, JointAxis::AngY][axis], range);
        }
        found.joint.data = data;
        if joint.stiffness > 0.0 {
            let (bone, above) = (carried(body.bone), carried(joint.bone));
            let target = |bone: (DQuat, DVec3), above: (DQuat, DVec3)| {
                body.rest * body.limits.nearest(body.rest.conjugate() * (above.0.conjugate() * bone.0))
            };
            let (now, next) = (target(bone.now, above.now), target(bone.next, above.next));
            let towards = rotation_vector(relative.conjugate() * next);
            let moving = rotation_vector(now.conjugate() * next) / dt;
            let rest = joint.axes.conjugate() * (towards + moving * (joint.spring_damping / joint.stiffness));
            for axis in 0..count {
                found.joint.set_spring(3 + axis, joint.stiffness, coords[3 + axis] + rest[axis]);
            }
        }
        for axis in 0..count {
            multibody.generalized_velocity_mut()[first + axis] = speed[axis];
        }
    }

    /// The forces of the air, and of the ground on what is soft.
    fn push(&mut self, at: usize, wind: DVec3, dt: f64) {
        let link = &self.links[at];
        let body = &self.bodies.all[link.body];
        let spec = &self.spec.bodies[body.spec];
        let (linear, angular) = self.velocity(at);
        let (rotation, middle) = convert::of_pose(self.physics.bodies[link.handle].position());
        let (mut force, mut torque) = (DVec3::ZERO, DVec3::ZERO);
        if let Some(air) = &self.spec.air {
            let felt = wind - linear;
            let drag = 0.5 * air.density * air.drag * body.shape.shadow() * felt.length();
            // Wind brings a feather to its own speed in a step, and not beyond.
            force += felt * drag.min(body.mass / dt);
        }
        if let (Some(squash), Some(ground)) = (&spec.squash, self.spec.ground) {
            let contact = squash::Contact::new(squash.seconds, spec.bounce);
            let below = body.shape.reach(rotation.conjugate() * -DVec3::Y);
            let depth = below - (middle.y - ground);
            let arm = -DVec3::Y * below;
            let push = contact.force(body.mass, depth, linear.y);
            let slip = (linear + angular.cross(arm)).reject_from_normalized(DVec3::Y);
            let rub = slip.normalize_or_zero() * -(spec.friction * push).min(0.25 * body.mass * slip.length() / dt);
            force += DVec3::Y * push + rub;
            torque += arm.cross(rub);
        }
        let rigid = &mut self.physics.bodies[link.handle];
        rigid.reset_forces(false);
        rigid.reset_torques(false);
        if force != DVec3::ZERO {
            rigid.add_force(convert::vector(force), true);
            rigid.add_torque(convert::vector(torque), true);
        }
    }

    /// The velocity of the middle of a link's mass, and its angular velocity.
    fn velocity(&self, at: usize) -> (DVec3, DVec3) {
        let handle = self.links[at].handle;
        let set = &self.physics.multibody_joints;
        let multibody =
            set.rigid_body_link(handle).and_then(|link| Some((set.get_multibody(link.multibody)?, link.id)));
        match multibody {
            Some((multibody, id)) if multibody.body_jacobian(id).ncols() == multibody.ndofs() => {
                let v = multibody.body_jacobian(id) * multibody.generalized_velocity();
                (DVec3::new(v[0], v[1], v[2]), DVec3::new(v[3], v[4], v[5]))
            }
            Some(_) => (DVec3::ZERO, DVec3::ZERO),
            None => {
                let body = &self.physics.bodies[handle];
                (convert::of_vector(body.linvel()), convert::of_vector(body.angvel()))
            }
        }
    }

    /// Where every body is that moves.
    pub fn states(&self) -> Vec<Option<State>> {
        let mut states = vec![None; self.bodies.all.len()];
        for (at, link) in self.links.iter().enumerate() {
            let (rotation, middle) = convert::of_pose(self.physics.bodies[link.handle].position());
            let (linear, angular) = self.velocity(at);
            let arm = rotation * self.bodies.all[link.body].shape.middle;
            states[link.body] =
                Some(State { head: middle - arm, rotation, linear: linear - angular.cross(arm), angular });
        }
        states
    }
}

fn parameters(dt: f64) -> IntegrationParameters {
    IntegrationParameters {
        dt,
        num_solver_iterations: 1,
        // Limits and contacts of one body are coupled.
        num_internal_pgs_iterations: 8,
        num_internal_stabilization_iterations: 8,
        // A body's own speed is its own; what is too fast is an error.
        normalized_max_linear_velocity: f64::MAX,
        // Steps are short: contacts are found anew in each, all of them are kept, and nothing flies through the ground within one.
        contact_recycling: false,
        contact_clustering: false,
        max_ccd_substeps: 0,
        ..IntegrationParameters::default()
    }
}

fn mass_properties(mass: f64, inertia: &DMat3) -> MassProperties {
    let axes = principal_axes(inertia);
    let (x, y) = (axes[0].1, axes[1].1);
    let frame = DQuat::from_mat3(&DMat3::from_cols(x, y, x.cross(y))).normalize();
    let principal = DVec3::new(axes[0].0, axes[1].0, axes[2].0);
    MassProperties::with_principal_inertia_frame(
        convert::vector(DVec3::ZERO),
        mass,
        convert::vector(principal),
        convert::rotation(frame),
    )
}

fn collider(body: &Body, spec: &BodySpec) -> ColliderBuilder {
    let shape = convert::shape(&body.shape);
    ColliderBuilder::new(shape)
        .density(0.0)
        .friction(spec.friction)
        .friction_combine_rule(CoefficientCombineRule::Max)
        .restitution(spec.bounce)
        .restitution_combine_rule(CoefficientCombineRule::Max)
        // Bodies of one character touch where they hang together: only the ground is met.
        .collision_groups(convert::meets_ground())
}

fn multibody(
    physics: &mut PhysicsWorld,
    handle: RigidBodyHandle,
) -> Option<(&mut rapier3d_f64::dynamics::Multibody, usize)> {
    let link = *physics.multibody_joints.rigid_body_link(handle)?;
    Some((physics.multibody_joints.get_multibody_mut(link.multibody)?, link.id))
}

fn set_free(multibody: &mut rapier3d_f64::dynamics::Multibody, linear: DVec3, angular: DVec3) {
    for axis in 0..3 {
        multibody.generalized_velocity_mut()[axis] = linear[axis];
        multibody.generalized_velocity_mut()[3 + axis] = angular[axis];
        multibody.damping_mut()[axis] = 0.0;
        multibody.damping_mut()[3 + axis] = 0.0;
    }
}

/// The velocity that brings a bone to where it is next.
pub(super) fn velocity(carried: &Carried, dt: f64) -> (DVec3, DVec3) {
    let (now, next) = (carried.now, carried.next);
    ((next.1 - now.1) / dt, rotation_vector(next.0 * now.0.conjugate()) / dt)
}

/// Brings an animated bone to where it is next, by force.
fn drive(physics: &mut PhysicsWorld, root: &Root, carried: &Carried, dt: f64) {
    let (rotation, head) = convert::of_pose(physics.bodies[root.handle].position());
    let wanted = velocity(&Carried { now: (rotation, head), next: carried.next }, dt);
    let Some((multibody, _)) = multibody(physics, root.handle) else { return };
    let v = multibody.generalized_velocity();
    let linear = wanted.0 - DVec3::new(v[0], v[1], v[2]);
    let angular = wanted.1 - DVec3::new(v[3], v[4], v[5]);
    let body = &mut physics.bodies[root.handle];
    body.reset_forces(false);
    body.reset_torques(false);
    body.add_force(convert::vector(linear * (root.mass / dt)), true);
    body.add_torque(convert::vector(angular * (root.inertia / dt)), true);
}

/// Axes of coordinates of which the first shows out of the first wall, and the second, as far as it can, out of the second.
fn axes_of(walls: &[(DVec3, f64)]) -> DQuat {
    let Some((x, _)) = walls.first() else { return DQuat::IDENTITY };
    let y = walls.get(1).and_then(|(out, _)| out.reject_from_normalized(*x).try_normalize());
    match y {
        Some(y) => DQuat::from_mat3(&DMat3::from_cols(*x, y, x.cross(y))).normalize(),
        None => DQuat::from_rotation_arc(DVec3::X, *x),
    }
}

/// The limits of a joint, each with one wall: the swing of a cone and its twist apart.
pub(super) fn apart(limits: &JointLimits) -> Vec<JointLimits> {
    /// A swing of a half turn is none; a twist of a whole turn is none.
    const ALL: [f64; 2] = [-std::f64::consts::TAU, std::f64::consts::TAU];
    match limits {
        JointLimits::Free | JointLimits::Locked => Vec::new(),
        JointLimits::Hinge(_) => vec![limits.clone()],
        JointLimits::Cone(cone) => {
            let swing = JointLimits::cone(cone.axis(), cone.side(), cone.swing(), ALL);
            let twist = JointLimits::cone(cone.axis(), cone.side(), [ALL, ALL], cone.twist());
            [swing, twist].into_iter().flatten().collect()
        }
    }
}

/// The direction, in the axes of the bone, in which a joint leaves its limits within a step, and how much room there is, radians; below
/// zero if it is beyond.
fn wall(limits: &JointLimits, q: DQuat, turning: DVec3, dt: f64) -> Option<(DVec3, f64)> {
    match limits {
        JointLimits::Free | JointLimits::Locked => None,
        JointLimits::Hinge(hinge) => {
            let (angle, speed) = (hinge.angle(q), hinge.axis().dot(turning));
            let [from, to] = hinge.range();
            let then = angle + speed * dt;
            match then {
                _ if then > to => Some((hinge.axis(), to - angle)),
                _ if then < from => Some((-hinge.axis(), angle - from)),
                _ => None,
            }
        }
        JointLimits::Cone(_) => {
            let then = q * from_rotation_vector(turning * dt);
            let beyond = limits.excess(then);
            if beyond < 1e-8 {
                return None;
            }
            // By differences that stay on the outer side. A swing changes the twist, so this is not the axis of the bone.
            let h = (0.5 * beyond).min(1e-5);
            let slope = |axis: DVec3| {
                let at = |h: f64| limits.excess(then * from_rotation_vector(axis * h));
                (at(h) - at(-h)) / (2.0 * h)
            };
            let gradient = DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z));
            let out = gradient.try_normalize()?;
            Some((out, out.dot(turning) * dt - beyond / gradient.length()))
        }
    }
}
