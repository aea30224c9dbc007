//! Small models of every kind, made up: three bones along x, a box around them.

use dermis_deform::JointKernel;
use dermis_deform::baked::{BakedCorrection, BakedLayer, CoefficientPrecision};
use dermis_deform::base::AnimationSpace;
use dermis_deform::enveloping::{Enveloping, Pair};
use dermis_deform::guard::Weld;
use dermis_deform::joints::{self, CorrectionFrame, Joints, SharedTerm, joint_feature};
use dermis_deform::pose_space::{
    Carrier, Channel, CompiledShapes, Coordinates, Family, Joint, JointPart, Kernel, NO_GROUP, PoseSpace, Remainders,
    Window, coordinate,
};
use dermis_deform::rotational_regression::{TurnParts, TurnTerm, TurningJoint};
use dermis_deform::{
    Base, CorrectiveSmooth, Deformer, DirectDeltaMush, DualQuaternions, EnvelopingForm, Lattice, Layer, Outside,
    RiggedDeformer, RotationalRegression, Scratch, Stack, StackPose, TrainingPoses, Wire, Wires,
};
use dermis_io::{ModelFile, ModelHeader, Space, UpAxis};
use dermis_rig::glam::{DAffine3, DQuat, DVec2, DVec3, DVec4, Vec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{
    BoneIndex, BoneTransforms, Influences, Mesh, MorphTarget, MorphTargets, Polygons, RenderMesh, Rig, Rows, Skeleton,
};
use dermis_testkit::change_rig;
use serde_json::json;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    Off,
    On,
    OnWithConstants,
}

fn bone(at: usize) -> BoneIndex {
    BoneIndex::new(at)
}

/// Numbers between −1 and 1 that look like nothing in particular.
fn odd(at: usize) -> f64 {
    ((at as f64 * 12.9898).sin() * 43_758.545_3).fract()
}

/// A morph target that moves some vertices, one that moves none, and one that moves all.
fn morphs() -> MorphTargets {
    let target = |name: &str, moves: fn(usize) -> bool| MorphTarget {
        name: name.into(),
        deltas: (0..12).map(|v| if moves(v) { DVec3::splat(odd(v)) } else { DVec3::ZERO }).collect(),
    };
    let targets = vec![target("smile", |v| v % 5 == 2), target("still", |_| false), target("wide", |_| true)];
    MorphTargets { targets, weights: vec![0.0, 0.0, 0.25] }
}

/// A box of two quads' length, drawn with a seam.
fn rig() -> Rig {
    let positions: Vec<DVec3> = (0..3)
        .flat_map(|ring| [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].map(|(y, z)| (ring, y, z)))
        .map(|(ring, y, z)| DVec3::new(f64::from(ring), y, z) * 0.25)
        .collect();
    let (mut triangles, mut quads) = (Vec::new(), Vec::new());
    for ring in 0..2u32 {
        for side in 0..4 {
            let (a, b) = (4 * ring + side, 4 * ring + (side + 1) % 4);
            triangles.extend([[a, b, b + 4], [a, b + 4, a + 4]]);
            quads.extend([a, b, b + 4, a + 4]);
        }
    }
    let source: Vec<u32> = (0..12).chain([0, 4, 8]).collect();
    let render = RenderMesh {
        triangles: triangles.clone(),
        uvs: source.iter().map(|&v| DVec2::new(f64::from(v) / 16.0, 0.5)).collect(),
        normals: source.iter().map(|&v| if v % 2 == 0 { DVec3::Y } else { DVec3::Z }).collect(),
        parts: vec![RenderPart {
            name: "skin".into(),
            start: 0,
            count: 16,
            color: Vec4::new(0.5, 0.25, 1.0, 1.0),
            material: None,
        }],
        source,
        ..RenderMesh::default()
    };
    let mesh = Mesh {
        positions,
        triangles,
        polygons: Some(Polygons { counts: vec![4; 8], indices: quads }),
        colors: None,
        objects: vec![],
        render: Some(render),
        morphs: Some(Arc::new(morphs())),
    };
    let parents = vec![None, Some(bone(0)), Some(bone(1))];
    let bind = (0..3).map(|b| DAffine3::from_translation(DVec3::X * 0.25 * f64::from(b))).collect();
    let skeleton = Skeleton::new(["root", "middle", "tip"].map(String::from).to_vec(), parents, bind).unwrap();
    let weights = (0..12).map(|v| match v / 4 {
        0 => vec![(bone(0), 1.0)],
        1 => vec![(bone(0), 0.25), (bone(1), 0.75)],
        _ => vec![(bone(1), 1.0 / 3.0), (bone(2), 2.0 / 3.0)],
    });
    Rig::new(mesh, skeleton, Some(Influences::from_rows(weights).unwrap())).unwrap().named("tiny")
}

fn rows<T>(offsets: impl IntoIterator<Item = u32>, entries: impl IntoIterator<Item = T>) -> Rows<T> {
    Rows::new(offsets.into_iter().collect(), entries.into_iter().collect()).unwrap()
}

fn correction(skeleton: &Skeleton, form: EnvelopingForm, guard: Guard) -> Enveloping {
    let vertices = 12;
    let guarded = guard != Guard::Off;
    let pair = |anchor: Option<usize>, b, limit| Pair { anchor: anchor.map(bone), bone: bone(b), limit };
    let limit = |x| if guarded { x } else { f64::INFINITY };
    let terms = 2 * vertices as u32;
    Enveloping {
        rows: form,
        length: 0.8,
        origin: DVec3::ZERO,
        weld: Weld::along(skeleton, &[false, guarded, false]),
        pairs: vec![pair(Some(0), 1, limit(1.5)), pair(None, 2, limit(0.7)), pair(Some(2), 0, limit(0.0))],
        anchors: (0..vertices).map(|v| (v % 4 != 3).then(|| bone(v % 3))).collect(),
        terms: rows((0..=terms).step_by(2), (0..terms).map(|t| t % 3)),
        coefficients: (0..terms as usize * form.coefficients()).map(|i| 0.05 * odd(i)).collect(),
        constants: match guard {
            Guard::OnWithConstants => (0..vertices).map(|v| DVec3::splat(0.01 * odd(v))).collect(),
            _ => vec![],
        },
        radii: if guarded { (0..vertices).map(|v| 0.02 * v as f64).collect() } else { vec![] },
    }
}

/// Every third triangle turns with a joint; the tip is held.
fn turning(rig: &Rig) -> RotationalRegression {
    let joint = |b: usize| TurningJoint {
        from: bone(b - 1),
        to: bone(b),
        limit: 1.25,
        seen: (0..b).map(|at| [0, 1, 2].map(|c| odd(at + c) as f32)).collect(),
    };
    let triangles = rig.mesh().triangles.len();
    let offsets: Vec<u32> = (0..=triangles as u32).map(|t| t.div_ceil(3)).collect();
    let term = |t: u32| TurnTerm {
        joint: t % 2,
        turn: std::array::from_fn(|i| 0.3 * odd(i + 9 * t as usize) as f32),
        stretch: std::array::from_fn(|i| 0.05 * odd(i + 18 * t as usize) as f32),
    };
    let parts = TurnParts {
        joints: vec![joint(1), joint(2)],
        bones: (0..triangles).map(|t| bone(t % 3)).collect(),
        terms: rows(offsets.iter().copied(), (0..offsets[triangles]).map(term)),
        anchors: vec![(8, bone(2)), (11, bone(2))],
    };
    let weights = rig.weights().cloned().unwrap();
    RotationalRegression::new(&rig.mesh().positions, &rig.mesh().triangles, weights, parts).unwrap()
}

fn base_of(name: &str, weights: Influences, rig: &Rig) -> Base {
    let skeleton = rig.skeleton();
    match name {
        "rotational-regression" => Base::RotationalRegression(Box::new(turning(rig))),
        "stack" => Base::Stack(Box::new(stack(rig)), StackPose::default()),
        "rigid" => Base::Rigid(weights),
        "lbs" => Base::Lbs(weights),
        "dqs" => Base::Dqs(weights, DualQuaternions::new(skeleton)),
        "direct-delta-mush" => Base::DirectDeltaMush(DirectDeltaMush::new(rig.mesh(), &weights, 2)),
        "corrective-smooth" => Base::CorrectiveSmooth(CorrectiveSmooth::new(rig.mesh(), &weights, 2, 0.5)),
        "rest" => Base::Rest,
        "given" => Base::Given,
        _ => Base::AnimationSpace(AnimationSpace {
            terms: dermis_rig::Rows::new(
                (0..=24).step_by(2).collect(),
                (0..24).map(|t| (bone(t % 3), DVec4::new(odd(t), odd(t + 1), odd(t + 2), 0.5))).collect(),
            )
            .unwrap(),
        }),
    }
}

/// A model over `base`.
pub fn model(base: &str, rows: Option<EnvelopingForm>, guard: Guard) -> ModelFile {
    let mut rig = rig();
    let weights = rig.weights().cloned().unwrap();
    let made = base_of(base, weights.clone(), &rig);
    let maps = guard == Guard::OnWithConstants;
    rig = rig.with_influence_maps(maps.then(|| weights.clone())).unwrap();
    change_rig(&mut rig, |mesh, _, weights| match base {
        "given" => (*weights, mesh.polygons) = (None, None),
        "animation-space" => mesh.render = None,
        _ => {}
    });
    let turn = BoneTransforms::new((0..3).map(|b| DAffine3::from_rotation_z(0.1 * f64::from(b))).collect());
    let rest = BoneTransforms::identity(3);
    let training = TrainingPoses::new(rig.skeleton(), &[true; 3], &[&rest, &turn], 0.8);
    let deformer = Deformer::new(
        rig.mesh().positions.clone(),
        made,
        rows.map(|rows| correction(rig.skeleton(), rows, guard).into()),
    )
    .unwrap();
    let training = (guard != Guard::Off).then_some(training);
    ModelFile {
        model: RiggedDeformer::new(rig, None, deformer.bake(), training).unwrap(),
        space: Space {
            up: if maps { UpAxis::Z } else { UpAxis::Y },
            metres_per_unit: if maps { 0.01 } else { 1.0 },
            unit: if maps { "m".into() } else { "furlongs, about".into() },
        },
        header: ModelHeader {
            method: if rows.is_some() { "mwe".into() } else { base.into() },
            program: "a test".into(),
            settings: vec![("s".into(), "1e-3".into()), ("base".into(), base.into())],
            report: json!({"s": 1e-3, "welded_joints": ["middle"], "none": null}),
            ..ModelHeader::default()
        },
    }
}

/// A pose-space deformation over linear blending: two groups, one vertex of none.
pub fn pose_space(carrier: Carrier, guard: Guard) -> ModelFile {
    let mut made = model("lbs", None, guard);
    let guarded = guard != Guard::Off;
    let limit = if guarded { 1.5 } else { f64::INFINITY };
    let joints = (1..3)
        .map(|b| Joint { parent: bone(b - 1), bone: bone(b), limit, axis: DVec3::Y, part: JointPart::Whole })
        .collect();
    let turn = |at: usize| DAffine3::from_rotation_z(odd(at) * 2.0);
    let examples = (0..6).map(|at| coordinate(&DAffine3::IDENTITY, &turn(at))).collect();
    let weld = Weld::along(made.rig().skeleton(), &[false, false, guarded]);
    let mut kernel = Kernel::new(1.25, weld, joints, examples);
    kernel.push(&[(0, 0.5), (1, 1.0)], &[0, 1, 2]).unwrap();
    kernel.push(&[(1, 0.75)], &[2]).unwrap();
    let groups: Vec<u32> = (0..12).map(|v| if v == 5 { NO_GROUP } else { v % 2 }).collect();
    let mut offsets = vec![0];
    for &g in &groups {
        let values = if g == NO_GROUP { 0 } else { kernel.range(g as usize).len() as u32 };
        offsets.push(offsets[offsets.len() - 1] + values);
    }
    let count = offsets[12] as usize;
    let weights = rows(offsets, (0..count).map(|i| DVec3::new(odd(i), odd(i + 1), odd(i + 2)) * 0.05));
    let radii = if guarded { (0..12).map(|v| 0.02 * f64::from(v)).collect() } else { vec![] };
    let correction = PoseSpace { kernel, carrier, groups, weights, remainders: Remainders::default(), radii };
    let base = Base::Lbs(made.rig().weights().cloned().unwrap());
    let rest = made.rig().mesh().positions.clone();
    let baked = Deformer::new(rest, base, Some(correction.into())).unwrap().bake();
    made.model = made.model.with_baked(baked).unwrap();
    made.header.method = "psd".into();
    made
}

/// A pose-space deformation with everything that version 3 of the format knows: a kernel of compact support, swing and
/// twist, a linear term, a channel, a vertex with a remainder.
pub fn rich_pose_space() -> ModelFile {
    let mut made = pose_space(Carrier::Base, Guard::On);
    let joints: Vec<Joint> = (1..3)
        .map(|b| Joint { parent: bone(b - 1), bone: bone(b), limit: 1.5, axis: DVec3::Y, part: JointPart::Whole })
        .collect();
    let examples = (0..9).map(|at| [0.1 * odd(at), 0.2, odd(at + 3), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).collect();
    let mut kernel = Kernel::new(2.5, Weld::along(made.rig().skeleton(), &[false; 3]), joints, examples);
    kernel.channels = vec![Channel { name: "flex".into(), scale: 0.5, limit: f64::INFINITY }];
    (kernel.family, kernel.linear) = (Family::Wendland, true);
    kernel.coordinates = Coordinates::SwingTwist { swing: 1.0, twist: 0.5 };
    kernel.push(&[(0, 0.5), (2, 1.0)], &[0, 2]).unwrap();
    let values = kernel.range(0).len();
    let some = |count: usize| (0..count).map(|i| DVec3::new(odd(i), odd(i + 1), odd(i + 2)) * 0.05);
    let correction = PoseSpace {
        kernel,
        carrier: Carrier::Base,
        groups: (0..12).map(|v| if v == 5 { NO_GROUP } else { 0 }).collect(),
        weights: rows((0..=12).map(|v| (values * (v - usize::from(v > 5))) as u32), some(11 * values)),
        remainders: Remainders {
            vertices: vec![3, 7],
            bones: vec![bone(1), bone(2)],
            weights: rows([0, values as u32, 2 * values as u32], some(2 * values)),
        },
        radii: vec![],
    };
    let base = Base::Lbs(made.rig().weights().cloned().unwrap());
    let baked = Deformer::new(made.rig().mesh().positions.clone(), base, Some(correction.into())).unwrap().bake();
    made.model = made.model.with_baked(baked).unwrap();
    made
}

/// A deformer of every kind, one after another, with the weights of a rig.
pub fn stack(rig: &Rig) -> Stack {
    let weights = rig.weights().cloned().unwrap();
    let moves = (0..12).map(|i| DVec3::new(odd(i), odd(i + 1), odd(i + 2)) * 0.1).collect();
    let edges = [DVec3::new(1.1, 0.1, 0.0), DVec3::new(0.0, 0.9, 0.2), DVec3::new(0.3, 0.0, 1.7)];
    let lattice = Lattice::new(DVec3::splat(-0.4), edges, [2, 3, 2], moves).unwrap();
    let ends = vec![DVec3::ZERO, DVec3::new(0.1, 0.2, 0.3), DVec3::X];
    let wire = Wire::new(ends.clone(), ends.iter().map(|p| *p * 1.3).collect(), 0.7, 1.25).unwrap();
    let (mut clamped, mut carried) = (lattice.clone(), lattice);
    (clamped.outside, carried.parent) = (Outside::Clamped, Some(bone(1)));
    let mut wires = Wires::new(vec![wire], 0.5).unwrap();
    wires.parent = Some(bone(2));
    let layers = vec![
        Layer::Lattice(clamped),
        Layer::Rigid(weights.clone()),
        Layer::Dqs(weights.clone(), DualQuaternions::new(rig.skeleton())),
        Layer::Lbs(weights),
        Layer::Wires(wires),
        Layer::Lattice(carried),
    ];
    Stack::new(layers, rig.mesh().positions.len(), rig.skeleton().len()).unwrap()
}

/// A pose space through a stack of deformers.
pub fn stacked_pose_space() -> ModelFile {
    let mut made = rich_pose_space();
    let base = Base::Stack(Box::new(stack(made.rig())), StackPose::default());
    let over = Deformer::new(made.rig().mesh().positions.clone(), base, None).unwrap().bake();
    let baked = over.with_corrections(made.baked().corrections().last().cloned()).unwrap();
    made.model = made.model.with_baked(baked.for_bones(3).unwrap()).unwrap();
    made
}

/// Shapes of two regions, with the names and bounds of their weights.
pub fn shapes(names: &[&str], clamp: Option<[f64; 2]>) -> ModelFile {
    let mut made = pose_space(Carrier::Base, Guard::On);
    let joints: Vec<Joint> = (1..3)
        .map(|b| Joint { parent: bone(b - 1), bone: bone(b), limit: 1.5, axis: DVec3::X, part: JointPart::Whole })
        .collect();
    let turn = |at: usize| DAffine3::from_rotation_z(odd(at) * 2.0);
    let examples = (0..6).map(|at| coordinate(&DAffine3::IDENTITY, &turn(at))).collect();
    let mut kernel = Kernel::new(1.25, Weld::along(made.rig().skeleton(), &[false; 3]), joints, examples);
    kernel.push(&[(0, 1.0)], &[0, 1]).unwrap();
    kernel.push(&[(0, 0.25), (1, 1.0)], &[0, 1, 2]).unwrap();
    let correction = CompiledShapes {
        kernel,
        regions: vec![0, 1, 3],
        coefficients: (0..2 + 6).map(odd).collect(),
        carrier: Carrier::Base,
        terms: rows((0..=12).map(|v| 2 * v), (0..24).map(|t| t % 3)),
        displacements: (0..24).map(|i| DVec3::new(odd(i), odd(i + 1), odd(i + 2)) * 0.05).collect(),
        radii: (0..12).map(|v| 0.02 * f64::from(v)).collect(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        clamp,
        windows: vec![],
    };
    let base = Base::Lbs(made.rig().weights().cloned().unwrap());
    let baked = Deformer::new(made.rig().mesh().positions.clone(), base, Some(correction.into())).unwrap().bake();
    made.model = made.model.with_baked(baked).unwrap();
    made
}

/// Shapes with a window each, over the swing of one joint and the twist of another.
fn windowed_shapes() -> ModelFile {
    let mut made = shapes(&["a", "b", "c"], Some([0.0, 1.0]));
    let Some(BakedCorrection::Shapes(shapes)) = made.baked().corrections().last() else { panic!("no shapes") };
    let windows = [(0, vec![0.5]), (2, vec![0.0, 0.25]), (1, vec![1.0, 0.5])];
    let windows = windows.map(|(centre, relevance)| Window { centre, relevance }).to_vec();
    let mut correction = CompiledShapes { windows, ..shapes.widened() };
    correction.kernel.coordinates = Coordinates::SwingTwist { swing: 1.0, twist: 0.5 };
    let parts = [JointPart::Swing, JointPart::Twist];
    correction.kernel.joints.iter_mut().zip(parts).for_each(|(joint, part)| joint.part = part);
    let base = Base::Lbs(made.rig().weights().cloned().unwrap());
    let baked = Deformer::new(made.rig().mesh().positions.clone(), base, Some(correction.into())).unwrap().bake();
    made.model = made.model.with_baked(baked).unwrap();
    made
}

/// A joint model over a base: two joints of three and five inducing rotations, one vertex without a free part and one
/// without a shared part. With the guard its second joint is welded; in the frame of a blend it is a composite.
pub fn joint_model(base: &str, frame: CorrectionFrame, guard: Guard) -> ModelFile {
    let mut made = model(base, None, guard);
    let weights = rig().weights().unwrap().clone();
    let weighted = made.rig().clone().with_weights(Some(weights.clone())).unwrap();
    made.model = made.model.with_rig(weighted).unwrap();
    let guarded = guard != Guard::Off;
    let (length, kernel) = (0.8, JointKernel::gaussian(1.4));
    let joint = |b: usize| {
        let composite = b == 2 && frame == CorrectionFrame::Blend;
        let centre = (!composite).then_some(DVec3::X * 0.25 * b as f64 / length);
        let turned = |at: usize| {
            let axis = DVec3::new(odd(at), odd(at + 1), 1.0).normalize();
            let turn = DAffine3::from_axis_angle(axis, 0.4 + 0.3 * at as f64);
            joint_feature(&[DAffine3::IDENTITY, turn], (bone(0), bone(1)), centre, length)
        };
        let inducing = (0..1 + 2 * b).map(turned).collect();
        let limit = if guarded { 0.3 + b as f64 } else { f64::INFINITY };
        joints::Joint::new((bone(b - 1), bone(b)), centre, limit, inducing, kernel).unwrap()
    };
    let joints: Vec<_> = (1..3).map(joint).collect();
    let (mut terms, mut coefficients, mut shared) = (Rows::default(), Rows::default(), Rows::default());
    for v in 0..12 {
        let own = (0..2u32).filter(|_| v != 7);
        let counts = own.clone().map(|term| 3 * joints[term as usize].inducing.len());
        terms.push(own).unwrap();
        coefficients.push(counts.flat_map(|count| (0..count).map(|i| 0.05 * odd(31 * v + i)))).unwrap();
        let of_bone = |b: usize| {
            let offset = DVec3::new(odd(v), odd(v + b), odd(v + 2 * b)) * 0.05;
            SharedTerm { bone: bone(b), relevance: 0.25 + 0.5 * b as f64, offset, weight: 0.05 * odd(b) }
        };
        shared.push((0..3).filter(|b| v != 4 && (v + b) % 3 != 0).map(of_bone)).unwrap();
    }
    let correction = Joints {
        length,
        kernel,
        gravity: None,
        frame,
        joints,
        weld: Weld::along(made.rig().skeleton(), &[false, false, guarded]),
        weights: weights.clone(),
        terms,
        coefficients,
        shared,
        shared_limits: if guarded { (0..12).map(|v| 0.5 + 0.25 * f64::from(v)).collect() } else { vec![] },
        radii: if guarded { (0..12).map(|v| 0.02 * f64::from(v)).collect() } else { vec![] },
        layer: None,
    };
    let base = base_of(base, weights, made.rig());
    let baked = Deformer::new(made.rig().mesh().positions.clone(), base, Some(correction.into())).unwrap().bake();
    made.model = made.model.with_baked(baked).unwrap();
    made.header.method = "joint".into();
    made
}

/// A joint model whose layer is the shapes with windows.
fn remembering_joints() -> ModelFile {
    let shapes = windowed_shapes();
    let Some(BakedCorrection::Shapes(shapes)) = shapes.baked().corrections().last() else { panic!("no shapes") };
    let layer = CompiledShapes { carrier: Carrier::World, radii: vec![], ..shapes.widened() };
    let mut made = joint_model("lbs", CorrectionFrame::Blend, Guard::On);
    let Some(BakedCorrection::Joints(joints)) = made.baked().corrections().last() else { panic!("no joint model") };
    let mut joints = (**joints).clone();
    let displacements = layer.displacements.iter().map(|e| e.as_vec3()).collect();
    joints.layer = BakedLayer { terms: layer.terms.clone(), displacements };
    joints.model.layer = Some(layer.without_vertices());
    let baked = made.baked().clone().with_corrections(Some(BakedCorrection::Joints(Box::new(joints)))).unwrap();
    made.model = made.model.with_baked(baked).unwrap();
    made
}

/// The smallest model with everything in it, over a base, or "pose-space", "rich-pose-space", "shapes" or "joints".
/// "-16" at the end stores the coefficients in 16 bits.
pub fn tiny(base: &str) -> ModelFile {
    if let Some(base) = base.strip_suffix("-16") {
        let mut made = tiny(base);
        let sixteen = made.baked().clone().with_precision(CoefficientPrecision::Sixteen);
        made.model = made.model.with_baked(sixteen).unwrap();
        return made;
    }
    match base {
        "pose-space" => pose_space(Carrier::Bones((0..12).map(|v| bone(v % 3)).collect()), Guard::On),
        "rich-pose-space" => rich_pose_space(),
        "stacked-pose-space" => stacked_pose_space(),
        "shapes" => shapes(&[], None),
        "named-shapes" => shapes(&["a", "b", "c"], Some([0.0, 1.0])),
        "windowed-shapes" => windowed_shapes(),
        "remembering-joints" => remembering_joints(),
        "joints" => joint_model("lbs", CorrectionFrame::Anchor, Guard::On),
        "two-corrections" => two_corrections(),
        base => model(base, Some(EnvelopingForm::Full), Guard::On),
    }
}

/// Enveloping over linear blending, and a joint model over both.
fn two_corrections() -> ModelFile {
    let (beneath, mut made) = (tiny("lbs"), tiny("joints"));
    let all = [&beneath, &made].into_iter().flat_map(|model| model.baked().corrections().iter().cloned());
    let baked = made.baked().clone().with_corrections(all.collect::<Vec<_>>()).unwrap();
    made.model = made.model.with_baked(baked).unwrap();
    made
}

/// A pose in which every bone turns and moves.
pub fn pose(bones: usize) -> BoneTransforms {
    let bone = |b: usize| {
        let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 0.4 + b as f64);
        DAffine3::from_rotation_translation(turn, DVec3::new(0.1, -0.2, 0.05 * b as f64))
    };
    BoneTransforms::new((0..bones).map(bone).collect()).with_channels(vec![("flex".into(), -0.5)])
}

/// The skin of a model in [`pose`], as bits.
pub fn skin(model: &ModelFile) -> Vec<[u32; 3]> {
    let mut out = vec![Vec3::ZERO; model.baked().vertices()];
    let given: Vec<Vec3> = model.baked().rest().iter().map(|p| *p * 1.5).collect();
    let given = model.baked().needs_given().then_some(given.as_slice());
    model.baked().evaluate(&pose(model.rig().skeleton().len()), given, &mut Scratch::default(), &mut out).unwrap();
    out.iter().map(|p| p.to_array().map(f32::to_bits)).collect()
}
