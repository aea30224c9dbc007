//! A synthetic arm: torso, upper arm with a ball shoulder, forearm with a hinge elbow and a twist, hand with a ball wrist.
//!
//! The arm points along +x in a closed tube with caps; the elbow bends about z. The true skin is dual quaternion
//! skinning of a rest shape that swells with the pose (biceps with the elbow, deltoid with the shoulder, the heel of the
//! hand with the wrist): smooth, equivariant, exact at rest, and outside every linear model of the bone matrices.

use crate::Random;
use dermis_deform::DualQuaternions;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{
    BoneIndex, BoneTransforms, BoneVec, Example, Frame, Influences, Mesh, MeshObject, Motion, Rig, Skeleton,
};
use std::f64::consts::TAU;

/// Where the joints are along x, metres: torso, shoulder, elbow, wrist.
pub const JOINTS: [f64; 4] = [-0.25, 0.0, 0.30, 0.55];
/// The torso.
pub const TORSO: BoneIndex = BoneIndex::new(0);
/// The upper arm.
pub const UPPER: BoneIndex = BoneIndex::new(1);
/// The forearm.
pub const FOREARM: BoneIndex = BoneIndex::new(2);
/// The hand.
pub const HAND: BoneIndex = BoneIndex::new(3);

/// The arm's rig.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Mesh, skeleton and smooth weights of two bones a vertex at most.
    pub rig: Rig,
}

/// A pose of the arm; angles in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmPose {
    /// The torso in the world.
    pub root: DAffine3,
    /// Rotation vector of the shoulder.
    pub shoulder: DVec3,
    /// Bend of the elbow about z.
    pub elbow: f64,
    /// Twist of the forearm about its own length.
    pub twist: f64,
    /// Rotation vector of the wrist.
    pub wrist: DVec3,
}

impl ArmPose {
    /// The bind pose.
    pub const REST: Self =
        Self { root: DAffine3::IDENTITY, shoulder: DVec3::ZERO, elbow: 0.0, twist: 0.0, wrist: DVec3::ZERO };

    /// A random pose within the joints' limits: shoulder to 80°, elbow 0..130°, twist ±70°, wrist to 60°.
    pub fn random(random: &mut Random) -> Self {
        let mut ball = |most: f64| random.direction() * random.between(0.0, most.to_radians());
        let (shoulder, wrist) = (ball(80.0), ball(60.0));
        let elbow = random.between(0.0, 130f64.to_radians());
        let twist = random.between(-70f64.to_radians(), 70f64.to_radians());
        Self { root: DAffine3::IDENTITY, shoulder, elbow, twist, wrist }
    }

    /// The pose with one joint as at rest: 1 the shoulder, 2 elbow and twist, 3 the wrist.
    pub fn held(mut self, joint: usize) -> Self {
        match joint {
            1 => self.shoulder = DVec3::ZERO,
            2 => (self.elbow, self.twist) = (0.0, 0.0),
            _ => self.wrist = DVec3::ZERO,
        }
        self
    }

    /// The pose with one joint, counted as in [`ArmPose::held`], turned by 120°: the elbow about its hinge.
    pub fn turned(mut self, joint: usize) -> Self {
        let angle = 120f64.to_radians();
        match joint {
            1 => self.shoulder = DVec3::Y * angle,
            2 => self.elbow = angle,
            _ => self.wrist = DVec3::Z * angle,
        }
        self
    }

    /// `count` poses: the rest pose, then random ones.
    pub fn some(count: usize, seed: u64) -> Vec<Self> {
        let mut random = Random::new(seed);
        (0..count).map(|s| if s == 0 { Self::REST } else { Self::random(&mut random) }).collect()
    }

    /// An exercise: each joint on its own, `steps` poses per motion, the rest pose first.
    pub fn exercise(steps: usize) -> Vec<Self> {
        let mut poses = vec![Self::REST];
        let fraction = |at: usize| at as f64 / steps as f64;
        for at in 1..=steps {
            poses.push(Self { elbow: 2.2 * fraction(at), ..Self::REST });
        }
        for axis in DVec3::AXES {
            for at in 1..=steps {
                let turn = axis * (1.2 * if at % 2 == 0 { fraction(at) } else { -fraction(at) });
                poses.push(Self { shoulder: turn, ..Self::REST });
                poses.push(Self { wrist: turn * 0.8, ..Self::REST });
            }
        }
        for at in 1..=steps {
            poses.push(Self { twist: 1.2 * if at % 2 == 0 { fraction(at) } else { -fraction(at) }, ..Self::REST });
        }
        poses
    }

    /// A clip at 30 frames a second: the arm swings while the character walks along z and turns, 40 frames a cycle.
    pub fn swing(frames: usize) -> Vec<(f64, Self)> {
        (0..frames)
            .map(|frame| {
                let phase = frame as f64 / 40.0 * TAU;
                let root = DAffine3::from_rotation_translation(
                    DQuat::from_rotation_y(0.2 * (0.5 * phase).sin()),
                    DVec3::new(0.0, 0.01 * (2.0 * phase).cos(), 0.03 * frame as f64),
                );
                let pose = Self {
                    root,
                    shoulder: DVec3::new(0.1 * (2.0 * phase).sin(), 0.7 * phase.sin(), 0.3),
                    elbow: 0.5 - 0.4 * phase.cos(),
                    twist: 0.3 * phase.sin(),
                    wrist: DVec3::new(0.0, 0.2 * phase.cos(), 0.1 * phase.sin()),
                };
                (frame as f64 / 30.0, pose)
            })
            .collect()
    }
}

/// A smooth bump of the given half width.
fn bump(x: f64, centre: f64, width: f64) -> f64 {
    (-((x - centre) / width).powi(2)).exp()
}

impl Arm {
    /// A tube of `rings` rings of `sides` vertices and a pole at either end.
    pub fn new(rings: usize, sides: usize) -> Self {
        let (start, end) = (JOINTS[0], 0.72);
        let mut positions = Vec::new();
        for ring in 0..rings {
            let x = start + (end - start) * ring as f64 / (rings - 1) as f64;
            let radius = 0.06 - 0.03 * (x - start) / (end - start);
            positions.extend((0..sides).map(|side| {
                let angle = TAU * side as f64 / sides as f64;
                DVec3::new(x, radius * angle.cos(), radius * angle.sin())
            }));
        }
        positions.extend([DVec3::new(start - 0.03, 0.0, 0.0), DVec3::new(end + 0.02, 0.0, 0.0)]);
        let at = |ring: usize, side: usize| (ring * sides + side % sides) as u32;
        let (first, last) = ((rings * sides) as u32, (rings * sides + 1) as u32);
        let mut triangles = Vec::new();
        for side in 0..sides {
            for ring in 0..rings - 1 {
                let [a, b] = [at(ring, side), at(ring, side + 1)];
                let [c, d] = [at(ring + 1, side), at(ring + 1, side + 1)];
                triangles.extend([[a, b, c], [b, d, c]]);
            }
            triangles.push([first, at(0, side + 1), at(0, side)]);
            triangles.push([last, at(rings - 1, side), at(rings - 1, side + 1)]);
        }
        let rows = positions.iter().map(|p| {
            // Each joint hands over within 0.08 to either side of it, smoothly.
            let past = |joint: usize| {
                let u = ((p.x - JOINTS[joint]) / 0.16 + 0.5).clamp(0.0, 1.0);
                u * u * (3.0 - 2.0 * u)
            };
            let (s, e, w) = (past(1), past(2), past(3));
            [(TORSO, 1.0 - s), (UPPER, s - e), (FOREARM, e - w), (HAND, w)].to_vec()
        });
        let weights = Influences::from_rows(rows).expect("weights are finite");
        let names = ["torso", "upper arm", "forearm", "hand"].map(String::from).to_vec();
        let parents = (0..4usize).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
        let bind = JOINTS.map(|x| DAffine3::from_translation(DVec3::X * x)).to_vec();
        let skeleton = Skeleton::new(names, parents, bind).expect("a chain of four bones");
        let mesh = Mesh { positions, triangles, ..Mesh::default() };
        Self { rig: Rig::new(mesh, skeleton, Some(weights)).expect("its parts belong together").named("arm") }
    }

    /// Arms over each other that are the objects of one mesh, as an arm and its sleeve: each with its name, number of rings, and how many
    /// times as thick it is.
    pub fn layered(layers: &[(&str, usize, f64)], sides: usize) -> Self {
        let (mut mesh, mut rows) = (Mesh::default(), Vec::new());
        for &(name, rings, thick) in layers {
            let layer = Self::new(rings, sides);
            let start = mesh.positions.len() as u32;
            let own = layer.rig.mesh();
            mesh.positions.extend(own.positions.iter().map(|p| DVec3::new(p.x, p.y * thick, p.z * thick)));
            mesh.triangles.extend(own.triangles.iter().map(|corners| corners.map(|corner| corner + start)));
            let vertices = own.positions.len() as u32;
            mesh.objects.push(MeshObject { name: name.into(), vertices, visible: true });
            rows.extend(layer.weights().rows().map(<[_]>::to_vec));
        }
        let weights = Influences::from_rows(rows).expect("weights are finite");
        let skeleton = Self::new(2, sides).rig.skeleton().clone();
        Self { rig: Rig::new(mesh, skeleton, Some(weights)).expect("its parts belong together").named("arm") }
    }

    /// The skinning weights.
    pub fn weights(&self) -> &Influences {
        self.rig.weights().expect("the arm has weights")
    }

    /// L.
    pub fn length(&self) -> f64 {
        self.rig.mesh().diagonal()
    }

    /// The bone transforms of a pose.
    pub fn transforms(&self, pose: &ArmPose) -> BoneTransforms {
        let turn = dermis_rig::rotation::from_rotation_vector;
        let elbow = DQuat::from_rotation_z(pose.elbow) * DQuat::from_rotation_x(pose.twist);
        let rotations = [DQuat::IDENTITY, turn(pose.shoulder), elbow, turn(pose.wrist)];
        let local = (0..4)
            .map(|k| {
                let from = if k == 0 { 0.0 } else { JOINTS[k - 1] };
                let joint = DAffine3::from_rotation_translation(rotations[k], DVec3::X * (JOINTS[k] - from));
                if k == 0 { pose.root * joint } else { joint }
            })
            .collect();
        let posed = self.rig.skeleton().posed(BoneVec::new(local)).expect("the arm has four bones");
        posed.transforms().clone()
    }

    /// The true skin.
    pub fn skin(&self, pose: &ArmPose) -> Vec<DVec3> {
        let biceps = 0.025 * (1.0 - pose.elbow.cos());
        let deltoid = 0.012 * pose.shoulder.y.sin() + 0.01 * (1.0 - pose.shoulder.z.cos());
        let heel = 0.01 * pose.wrist.z.sin() * (0.5 * pose.twist).cos();
        let swollen: Vec<DVec3> = self
            .rig
            .mesh()
            .positions
            .iter()
            .map(|p| {
                let out = DVec3::new(0.0, p.y, p.z).normalize_or_zero();
                let front = (0.5 * (1.0 + out.y)).powi(2);
                let radial = biceps * bump(p.x, 0.17, 0.09) * front
                    + deltoid * bump(p.x, 0.03, 0.08)
                    + heel * bump(p.x, 0.56, 0.06) * (1.0 - front);
                // The biceps also slides towards the shoulder, and out to the side along the hinge.
                *p + out * radial + (DVec3::Z * 0.3 - DVec3::X) * (0.4 * biceps * bump(p.x, 0.17, 0.09))
            })
            .collect();
        let mut blend = DualQuaternions::new(self.rig.skeleton());
        blend.prepare(&self.transforms(pose));
        let mut skin = vec![DVec3::ZERO; swollen.len()];
        blend.deform(&swollen, self.weights(), &mut skin);
        skin
    }

    /// The pose with its true skin.
    pub fn example(&self, label: String, pose: &ArmPose) -> Example {
        let (transforms, positions) = (self.transforms(pose), self.skin(pose));
        Example { label, time: None, transforms, positions, importance: 1.0, local: None }
    }

    /// Examples of poses, labelled by their number.
    pub fn examples(&self, poses: &[ArmPose]) -> Vec<Example> {
        poses.iter().enumerate().map(|(s, pose)| self.example(format!("pose {s}"), pose)).collect()
    }

    /// A motion through poses, a frame a second, labelled by their number.
    pub fn motion(&self, name: &str, poses: &[ArmPose]) -> Motion {
        let frame = |(at, pose): (usize, &ArmPose)| Frame {
            label: at.to_string(),
            time: Some(at as f64),
            pose: self.rig.skeleton().world_pose(&self.transforms(pose)),
        };
        Motion { name: name.into(), frames: poses.iter().enumerate().map(frame).collect() }
    }

    /// A clip of the arm swinging, with times.
    pub fn clip(&self, frames: usize) -> Vec<Example> {
        let frame = |(time, pose): &(f64, ArmPose)| Example {
            time: Some(*time),
            ..self.example(format!("frame {:.0}", time * 30.0), pose)
        };
        ArmPose::swing(frames).iter().map(frame).collect()
    }

    /// Every joint turned about any axis by up to `most` radians, far beyond its limits.
    pub fn wild(&self, random: &mut Random, most: f64) -> BoneTransforms {
        crate::tree::wild(self.rig.skeleton(), random, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arm_is_a_sound_rig_whose_skin_is_exact_at_rest_and_equivariant() {
        let arm = Arm::new(9, 6);
        assert!(arm.rig.mesh().is_closed());
        assert!(arm.weights().rows().all(|row| (row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-15));
        assert!(crate::largest_distance(&arm.skin(&ArmPose::REST), &arm.rig.mesh().positions) < 1e-15);
        let g = crate::some_motion(2.0, DVec3::new(3.0, 1.0, -2.0));
        let pose = ArmPose::random(&mut Random::new(3));
        let expected = crate::moved(&arm.example(String::new(), &pose), g);
        let got = arm.example(String::new(), &ArmPose { root: g, ..pose });
        assert!(crate::largest_distance(&got.positions, &expected.positions) < 1e-14);
        for (a, b) in got.transforms.iter().zip(expected.transforms.iter()) {
            assert!(a.abs_diff_eq(*b, 1e-14));
        }
    }
}
