//! A bent tube in every file format: three bones along x, a closed surface, skins known in closed form.

use crate::Desk;
use dermis_workflow::io::gltf::{GlbClip, GlbScene, write_glb};
use dermis_workflow::io::npz::{StoredFloat, write};
use dermis_workflow::io::to_bytes;
use dermis_workflow::io::{Contents, MorphTarget, Record, Space, obj, point_cache};
use dermis_workflow::rig::glam::{DAffine3, DQuat, DVec3};
use dermis_workflow::rig::{BoneIndex, Influences, Mesh, Skeleton, WorldPose};

pub const BONES: [&str; 3] = ["root", "elbow", "wrist"];
const SIDES: usize = 8;
/// Joints along x.
const JOINTS: [f64; 3] = [0.0, 0.4, 0.8];

pub struct Tube {
    pub mesh: Mesh,
    pub skeleton: Skeleton,
    pub weights: Influences,
    pub maps: Option<Influences>,
    pub poses: Vec<WorldPose>,
    pub skins: Vec<Vec<DVec3>>,
}

/// How the skins come about.
#[derive(Clone, Copy)]
pub enum Flesh {
    /// The weights alone.
    Weights,
    /// Over them a correction that is linear in two entries of the bones' matrices seen from the root.
    Planted,
    /// A bulge that the weights know nothing of, on the rest shape, by the square of the elbow's sine.
    Bulge,
}

impl Tube {
    /// `rings` around the tube, `poses` of which the first is the bind pose; `phase` makes other poses of the same range.
    pub fn new(rings: usize, poses: usize, phase: f64, flesh: Flesh) -> Self {
        let mesh = surface(rings);
        let names = BONES.map(String::from).to_vec();
        let bone = |b: usize| BoneIndex::new(b);
        let bind: Vec<DAffine3> = JOINTS.iter().map(|&x| DAffine3::from_translation(DVec3::X * x)).collect();
        let skeleton = Skeleton::new(names, vec![None, Some(bone(0)), Some(bone(1))], bind).unwrap();
        let weights = Influences::from_rows(mesh.positions.iter().map(|p| {
            // Half a blend of 0.2 on either side of a joint.
            let share = |joint: f64| ((p.x - joint) / 0.2 + 0.5).clamp(0.0, 1.0);
            let (elbow, wrist) = (share(JOINTS[1]), share(JOINTS[2]));
            vec![(bone(0), 1.0 - elbow), (bone(1), elbow - wrist), (bone(2), wrist)]
        }))
        .unwrap();
        let poses: Vec<WorldPose> = (0..poses).map(|s| pose(s, phase)).collect();
        let mut tube = Self { mesh, skeleton, weights, maps: None, poses, skins: vec![] };
        tube.skins = tube.poses.iter().map(|pose| tube.skin(pose, flesh)).collect();
        tube
    }

    /// The same weights in poses that move the wrist alone. Skin far from it follows the root.
    pub fn of_the_wrist(rings: usize, poses: usize, phase: f64, flesh: Flesh) -> Self {
        let mut tube = Self::new(rings, poses, phase, flesh);
        for pose in &mut tube.poses {
            let (elbow, wrist) = (pose.bones[BoneIndex::new(1)], pose.bones[BoneIndex::new(2)]);
            let step = DAffine3::from_translation(DVec3::X * (JOINTS[1] - JOINTS[0]));
            pose.bones[BoneIndex::new(1)] = pose.bones[BoneIndex::new(0)] * step;
            pose.bones[BoneIndex::new(2)] = pose.bones[BoneIndex::new(1)] * (elbow.inverse() * wrist);
        }
        tube.skins = tube.poses.iter().map(|pose| tube.skin(pose, flesh)).collect();
        tube
    }

    /// The same character in the same poses, all of it moved.
    pub fn moved(mut self, g: DAffine3) -> Self {
        for pose in &mut self.poses {
            *pose = WorldPose::new(pose.bones.iter().map(|m| g * *m).collect());
        }
        self.skins.iter_mut().flatten().for_each(|p| *p = g.transform_point3(*p));
        self
    }

    /// The same character of another size, in the same poses.
    pub fn grown(mut self, size: f64) -> Self {
        let grown = |m: &DAffine3| DAffine3 { translation: m.translation * size, ..*m };
        self.skins.iter_mut().chain([&mut self.mesh.positions]).flatten().for_each(|p| *p *= size);
        let bind = self.skeleton.bind().iter().map(grown).collect();
        self.skeleton = Skeleton::new(self.skeleton.names().to_vec(), self.skeleton.parents().to_vec(), bind).unwrap();
        for pose in &mut self.poses {
            *pose = WorldPose::new(pose.bones.iter().map(grown).collect());
        }
        self
    }

    pub fn with_maps(mut self) -> Self {
        let row = (0..3).map(|b| (BoneIndex::new(b), 1.0)).collect::<Vec<_>>();
        self.maps = Some(Influences::from_rows(vec![row; self.mesh.positions.len()]).unwrap());
        self
    }

    pub fn diagonal(&self) -> f64 {
        self.mesh.diagonal()
    }

    /// The skin by its definition, with none of the toolkit's deformers.
    fn skin(&self, pose: &WorldPose, flesh: Flesh) -> Vec<DVec3> {
        let m: Vec<DAffine3> =
            pose.bones.iter().zip(self.skeleton.bind().iter()).map(|(t, b)| *t * b.inverse()).collect();
        let seen = |b: usize| (m[0].inverse() * m[b]).matrix3;
        let blend = |v: usize, p: DVec3| -> DVec3 {
            self.weights.of(v).iter().map(|&(b, w)| m[b.get()].transform_point3(p) * w).sum()
        };
        let correct = |(v, p): (usize, &DVec3)| {
            let out = DVec3::new(0.0, p.y, p.z).normalize_or_zero();
            let bump = (-((p.x - 0.4) / 0.2).powi(2)).exp();
            match flesh {
                Flesh::Weights => blend(v, *p),
                Flesh::Planted => {
                    let size = 0.05 * bump * seen(1).y_axis.x + 0.02 * seen(2).x_axis.z;
                    blend(v, *p) + m[0].matrix3 * (out * size)
                }
                Flesh::Bulge => blend(v, *p + out * (0.06 * bump * seen(1).y_axis.x.powi(2))),
            }
        };
        self.mesh.positions.iter().enumerate().map(correct).collect()
    }

    fn records(&self, poses: bool, skins: bool) -> Vec<Record> {
        let record = |s: usize| Record {
            label: if s == 0 { "rest".into() } else { format!("bend {s}") },
            time: None,
            pose: poses.then(|| self.poses[s].clone()),
            positions: skins.then(|| self.skins[s].clone()),
            importance: 1.0,
            local: None,
        };
        (0..self.poses.len()).map(record).collect()
    }

    pub fn contents(&self) -> Contents {
        Contents {
            mesh: Some(self.mesh.clone()),
            skeleton: Some(self.skeleton.clone()),
            weights: Some(self.weights.clone()),
            influence_maps: self.maps.clone(),
            records: self.records(true, true),
            ..Contents::default()
        }
    }
    /// Rig and examples.
    pub fn bundle(&self) -> Vec<u8> {
        to_bytes(|out| write(&self.contents(), StoredFloat::Double, out)).unwrap()
    }
    /// Rig and examples, but no skinning weights.
    pub fn bundle_without_weights(&self) -> Vec<u8> {
        to_bytes(|out| write(&Contents { weights: None, ..self.contents() }, StoredFloat::Double, out)).unwrap()
    }
    /// Poses without skins.
    pub fn motion(&self) -> Vec<u8> {
        to_bytes(|out| {
            write(&Contents { records: self.records(true, false), ..self.contents() }, StoredFloat::Double, out)
        })
        .unwrap()
    }
    /// Skins without bones.
    pub fn sequence(&self) -> Vec<u8> {
        let contents =
            Contents { mesh: Some(self.mesh.clone()), records: self.records(false, true), ..Contents::default() };
        to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap()
    }
    pub fn pc2(&self) -> Vec<u8> {
        to_bytes(|out| point_cache::write_pc2(&self.frames(), 0.0, &Space::default(), out)).unwrap()
    }
    pub fn mdd(&self) -> Vec<u8> {
        to_bytes(|out| point_cache::write_mdd(&self.frames(), &self.times(), &Space::default(), out)).unwrap()
    }
    pub fn objs(&self, desk: &Desk, folder: &str) {
        for (at, skin) in self.skins.iter().enumerate() {
            let bytes = to_bytes(|out| obj::write(&self.mesh, skin, &Space::default(), out)).unwrap();
            desk.put(&format!("{folder}/bend{at}.obj"), bytes);
        }
    }
    /// A bundle of one sculpt: the elbow twisted by half a turn. A ring of vertices at the elbow itself (13 rings have one), where
    /// both bones have half the weight, shrinks to a point, and the sculpt keeps its radius.
    pub fn twist(&self) -> Vec<u8> {
        let turn = DAffine3::from_translation(DVec3::X * JOINTS[1]) * DAffine3::from_rotation_x(std::f64::consts::PI);
        let bones =
            vec![self.skeleton.bind()[BoneIndex::new(0)], turn, turn * DAffine3::from_translation(DVec3::X * 0.4)];
        let record = Record {
            label: "twist".into(),
            time: None,
            pose: Some(WorldPose::new(bones)),
            positions: Some(self.mesh.positions.clone()),
            importance: 1.0,
            local: None,
        };
        let contents = Contents { records: vec![record], ..self.contents() };
        to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap()
    }
    /// The rig with its poses as a clip "bends" and a still clip "rest".
    pub fn glb(&self) -> Vec<u8> {
        let rest = GlbClip {
            name: "rest".into(),
            times: vec![0.0, 1.0],
            poses: vec![WorldPose::new(self.skeleton.bind().to_vec()); 2],
            ..GlbClip::default()
        };
        self.scene(&[], &[self.clip(vec![]), rest])
    }
    /// Sculpts as morph targets, one per pose but the first: shown one after the other by animated weights, or, without
    /// `animated`, one per key of the clip.
    pub fn sculpts(&self, animated: bool) -> Vec<u8> {
        let transforms = |s: usize| self.skeleton.bone_transforms(&self.poses[s]);
        let first = usize::from(animated);
        let morphs: Vec<MorphTarget> = (first..self.poses.len())
            .map(|s| {
                let m = transforms(s);
                let back = |(v, p): (usize, &DVec3)| {
                    let mut blend = DAffine3::ZERO;
                    for &(bone, w) in self.weights.of(v) {
                        blend.matrix3 += m[bone].matrix3 * w;
                        blend.translation += m[bone].translation * w;
                    }
                    blend.inverse().transform_point3(*p) - self.mesh.positions[v]
                };
                let deltas = self.skins[s].iter().enumerate().map(back).collect();
                MorphTarget { name: format!("sculpt {s}"), deltas }
            })
            .collect();
        let on = |s: usize| (0..morphs.len()).map(|h| f64::from(u8::from(h + 1 == s))).collect();
        let weights = if animated { (0..self.poses.len()).map(on).collect() } else { vec![] };
        self.scene(&morphs, &[self.clip(weights)])
    }
    pub fn clip(&self, morph_weights: Vec<Vec<f64>>) -> GlbClip {
        GlbClip { name: "bends".into(), times: self.times(), poses: self.poses.clone(), morph_weights, curves: vec![] }
    }
    pub fn scene(&self, morphs: &[MorphTarget], clips: &[GlbClip]) -> Vec<u8> {
        let scene = GlbScene {
            name: "tube",
            mesh: Some(&self.mesh),
            skeleton: Some(&self.skeleton),
            weights: Some(&self.weights),
            morphs,
            clips,
            ..GlbScene::default()
        };
        to_bytes(|out| write_glb(&scene, out)).unwrap()
    }
    fn frames(&self) -> Vec<&[DVec3]> {
        self.skins.iter().map(Vec::as_slice).collect()
    }
    fn times(&self) -> Vec<f64> {
        (0..self.poses.len()).map(|s| s as f64 / 25.0).collect()
    }
}

/// Joint-to-world matrices: elbow and wrist bend about z and y and twist about x, by up to 80 degrees.
fn pose(s: usize, phase: f64) -> WorldPose {
    let t = s as f64;
    let angle = |speed: f64, most: f64| if s == 0 { 0.0 } else { most * (speed * t + phase).sin() };
    let turn =
        |a: f64, b: f64, c: f64| DQuat::from_rotation_z(a) * DQuat::from_rotation_y(b) * DQuat::from_rotation_x(c);
    let step =
        |from: usize, q: DQuat| DAffine3::from_rotation_translation(q, DVec3::X * (JOINTS[from + 1] - JOINTS[from]));
    let root = DAffine3::from_rotation_translation(
        turn(angle(0.9, 0.3), angle(1.7, 0.3), 0.0),
        DVec3::new(0.1, 0.2, -0.3) * f64::from(u8::from(s > 0)),
    );
    let elbow = root * step(0, turn(angle(1.1, 1.4), angle(2.3, 0.5), angle(0.7, 0.6)));
    let wrist = elbow * step(1, turn(angle(1.9, 0.8), angle(0.5, 0.8), angle(1.3, 0.4)));
    WorldPose::new(vec![root, elbow, wrist])
}

/// A closed tube along x from −0.1 to 1.1.
fn surface(rings: usize) -> Mesh {
    let mut positions = Vec::new();
    for ring in 0..rings {
        let x = -0.1 + 1.2 * ring as f64 / (rings - 1) as f64;
        for side in 0..SIDES {
            let angle = std::f64::consts::TAU * side as f64 / SIDES as f64;
            positions.push(DVec3::new(x, 0.12 * angle.cos(), 0.12 * angle.sin()));
        }
    }
    positions.extend([DVec3::X * -0.12, DVec3::X * 1.12]);
    let at = |ring: usize, side: usize| (ring * SIDES + side % SIDES) as u32;
    let (first, last) = ((rings * SIDES) as u32, (rings * SIDES + 1) as u32);
    let mut triangles = Vec::new();
    for side in 0..SIDES {
        for ring in 0..rings - 1 {
            let (a, b, c, d) = (at(ring, side), at(ring, side + 1), at(ring + 1, side + 1), at(ring + 1, side));
            triangles.extend([[a, b, c], [a, c, d]]);
        }
        triangles.push([first, at(0, side + 1), at(0, side)]);
        triangles.push([last, at(rings - 1, side), at(rings - 1, side + 1)]);
    }
    Mesh { positions, triangles, ..Mesh::default() }
}
