//! Models that a table of morph weights expresses exactly, poses for them, and what the models make of these poses.

use dermis_compile::driven::drive;
use dermis_deform::baked::BakedCorrection;
use dermis_deform::joints::CorrectionFrame;
use dermis_fit::method::{BaseChoice, EigenSkinMethod, JointMethod, PoseSpaceSettings, RidgeChoice};
use dermis_fit::silent;
use dermis_io::npz::{StoredFloat, write};
use dermis_io::{Contents, Format, ModelFile, Record, Space, model_file, to_bytes};
use dermis_rig::glam::{DAffine3, DQuat, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{ExampleSet, Motion, RenderMesh, Rig, Rows};
use dermis_testkit::{Arm, ArmPose};
use dermis_workflow::load::LoadedRig;
use dermis_workflow::measure::run_motion;
use dermis_workflow::verbs::export::drivers::{DriverSettings, is_pose_space};
use dermis_workflow::verbs::fit::{FitInput, Method, fit};
use std::fmt::Write as _;
use std::path::Path;

/// Poses that are compared.
pub const POSES: usize = 20;

/// The ridge of the joint model.
const RIDGE: f64 = 0.003;

/// An arm, a model of it, a motion, and the model's own skins.
pub struct Case {
    pub name: &'static str,
    pub arm: Arm,
    pub model: ModelFile,
    pub motion: Motion,
    pub skins: Vec<Vec<DVec3>>,
}

fn learnt(arm: &Arm, method: &Method) -> ModelFile {
    let examples = ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(24, 5)), &arm.rig).unwrap();
    let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
    fit(&loaded, &FitInput::new(&loaded.rig, &examples), method, &silent).unwrap().model
}

/// A joint model in the rest frame without its shared part, limits and guard: U z, carried by the blend. The shared part has no
/// place in a morph target, so every other joint model loses something.
fn joint_model(arm: &Arm) -> ModelFile {
    let method = JointMethod {
        ridge: RidgeChoice::Fixed(RIDGE),
        frame: CorrectionFrame::Rest,
        base: BaseChoice::Lbs,
        guard: false,
        ..JointMethod::default()
    };
    let mut file = learnt(arm, &Method::Joint(method));
    let Some(BakedCorrection::Joints(joints)) = file.model.baked().corrections().last() else {
        panic!("another correction")
    };
    let mut changed = joints.clone();
    changed.shared = Rows::by_row(changed.shared.len(), vec![]);
    (changed.limits, changed.radii) = (vec![], vec![]);
    let baked = file.model.baked().clone().with_corrections(Some(BakedCorrection::Joints(changed))).unwrap();
    file.model = file.model.clone().with_baked(baked).unwrap();
    file
}

/// A pose space that is shapes already.
fn pose_space(arm: &Arm) -> ModelFile {
    let pose_space = PoseSpaceSettings { smoothing: Some(1e-4), guard: false, ..PoseSpaceSettings::default() };
    learnt(arm, &Method::EigenSkin(EigenSkinMethod { sigma: Some(1.5), pose_space, ..EigenSkinMethod::default() }))
}

/// A joint model over dual quaternions, whose morph targets are carried by linear blending.
pub fn over_dual_quaternions() -> Case {
    let method = JointMethod { ridge: RidgeChoice::Fixed(RIDGE), base: BaseChoice::Dqs, ..JointMethod::default() };
    let arm = Arm::new(24, 8);
    let model = learnt(&arm, &Method::Joint(method));
    let mut motion = unseen(&arm);
    motion.frames.truncate(POSES);
    for (at, frame) in motion.frames.iter_mut().enumerate() {
        frame.time = Some(at as f64 / 30.0);
    }
    let skins = run_motion(&model, &motion, None, &silent).unwrap().0;
    Case { name: "dual_quaternions", arm, model, motion, skins }
}

/// The last is an arm with a sleeve, two objects whose drawn vertices stand by turns.
pub fn cases() -> [Case; 3] {
    let case = |name, model: fn(&Arm) -> ModelFile| {
        let mut arm = match name {
            "dressed" => Arm::layered(&[("arm", 24, 1.0), ("sleeve", 9, 1.25)], 8),
            _ => Arm::new(24, 8),
        };
        if name != "joints" {
            arm.rig = seamed(&arm.rig);
        }
        let model = model(&arm);
        let mut motion = unseen(&arm);
        if !is_pose_space(&model) {
            let mut keep = unclamped(&model, &motion).into_iter();
            motion.frames.retain(|_| keep.next() == Some(true));
        }
        motion.frames.truncate(POSES);
        assert_eq!(motion.frames.len(), POSES);
        for (at, frame) in motion.frames.iter_mut().enumerate() {
            frame.time = Some(at as f64 / 30.0);
        }
        let skins = run_motion(&model, &motion, None, &silent).unwrap().0;
        Case { name, arm, model, motion, skins }
    };
    [case("joints", joint_model), case("pose_space", pose_space), case("dressed", pose_space)]
}

/// The rig drawn as two parts with a seam: the second half of the triangles has vertices of its own, in the opposite order.
fn seamed(rig: &Rig) -> Rig {
    let mut mesh = rig.mesh().clone();
    let count = mesh.positions.len() as u32;
    let half = mesh.triangles.len() / 2;
    let triangles = mesh.triangles.iter().enumerate();
    let part = |name: &str, from: usize, to: usize| RenderPart {
        name: name.into(),
        start: from as u32,
        count: (to - from) as u32,
        color: Vec4::ONE,
        material: None,
    };
    mesh.render = Some(RenderMesh {
        source: (0..count).chain((0..count).rev()).collect(),
        triangles: triangles.map(|(at, t)| if at < half { *t } else { t.map(|v| 2 * count - 1 - v) }).collect(),
        parts: vec![part("first", 0, half), part("second", half, mesh.triangles.len())],
        ..RenderMesh::default()
    });
    Rig::new(mesh, rig.skeleton().clone(), rig.weights().cloned()).unwrap().named(rig.name())
}

/// Poses that no model was fitted to, in a world in which the character stands askew.
fn unseen(arm: &Arm) -> Motion {
    let root = DAffine3::from_rotation_translation(DQuat::from_rotation_y(0.7), DVec3::new(1.0, 0.2, -0.5));
    let poses: Vec<ArmPose> = ArmPose::some(20 * POSES, 6).into_iter().map(|pose| ArmPose { root, ..pose }).collect();
    arm.motion("swing", &poses)
}

/// Whether no weight of a frame is clamped: a joint model has no clamp.
fn unclamped(model: &ModelFile, motion: &Motion) -> Vec<bool> {
    let settings = DriverSettings { shapes: None, influences: None };
    let frames = drive(model, Some(RIDGE), Some(motion), settings, &silent).unwrap().frames.unwrap();
    frames.iter().map(|row| row[1..].iter().all(|w| *w > 0.0 && *w < 1.0)).collect()
}

impl Case {
    /// 1e-5 of the rest diagonal, metres.
    pub fn tolerance(&self) -> f64 {
        1e-5 * self.arm.rig.mesh().diagonal()
    }

    /// The model as a file.
    pub fn save(&self, path: &Path) {
        std::fs::write(path, to_bytes(|out| model_file::write(&self.model, out)).unwrap()).unwrap();
    }

    /// The motion as a file, with true skins 1 mm above the model's.
    pub fn save_motion(&self, path: &Path) {
        let records = self.motion.frames.iter().zip(&self.skins).map(|(frame, skin)| Record {
            label: frame.label.clone(),
            time: frame.time,
            pose: Some(frame.pose.clone()),
            positions: Some(skin.iter().map(|p| *p + DVec3::Y * 1e-3).collect()),
            importance: 1.0,
            local: None,
        });
        let contents = Contents {
            name: "swing".into(),
            format: Format::Npz,
            mesh: Some(self.arm.rig.mesh().clone()),
            skeleton: Some(self.arm.rig.skeleton().clone()),
            weights: self.arm.rig.weights().cloned(),
            records: records.collect(),
            ..Contents::default()
        };
        std::fs::write(path, to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap()).unwrap();
    }

    /// Joint-to-world matrices (poses, bones, 4, 4), as [row][column].
    pub fn matrices(&self) -> Vec<u8> {
        let rows = |m: &DAffine3| {
            let rows: Vec<f64> = (0..3)
                .flat_map(|r| [m.x_axis[r], m.y_axis[r], m.z_axis[r], m.translation[r]])
                .chain([0.0, 0.0, 0.0, 1.0])
                .collect();
            rows
        };
        let numbers: Vec<f64> = self
            .motion
            .frames
            .iter()
            .flat_map(|frame| frame.pose.bones.iter().flat_map(rows).collect::<Vec<_>>())
            .collect();
        npy(&[POSES, self.arm.rig.skeleton().len(), 4, 4], &numbers)
    }

    /// The model's own skins (poses, vertices, 3).
    pub fn expected(&self) -> Vec<u8> {
        let numbers: Vec<f64> = self.skins.iter().flatten().flat_map(|p| p.to_array()).collect();
        npy(&[POSES, self.arm.rig.mesh().positions.len(), 3], &numbers)
    }
}

/// An array of doubles as NumPy stores it.
fn npy(shape: &[usize], numbers: &[f64]) -> Vec<u8> {
    let mut sizes = String::new();
    shape.iter().for_each(|size| write!(sizes, "{size}, ").unwrap());
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The numbers begin at a multiple of 64 bytes.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 11;
    header = format!("{header:padded$}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}
