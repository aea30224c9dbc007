//! The driver table of pose spaces as an engine reads it: `reader.rs` follows docs/drivers.md and uses nothing of the models.

mod reader;

use dermis_deform::baked::BakedCorrection;
use dermis_deform::pose_space::{Coordinates, Family};
use dermis_fit::method::{BaseChoice, EigenSkinMethod, PoseBlendshapesMethod, PoseSpaceSettings, PsdMethod};
use dermis_fit::psd::compile::Budget;
use dermis_fit::psd::{ChannelSetting, Form, Reach};
use dermis_fit::silent;
use dermis_io::{Contents, ModelFile, Space, gltf};
use dermis_rig::glam::{DMat3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, ExampleSet, Frame, Motion, Skeleton, WorldPose};
use dermis_testkit::{Arm, ArmPose, Random};
use dermis_workflow::load::LoadedRig;
use dermis_workflow::measure::WideRunner;
use dermis_workflow::output::{Existing, reserve_file};
use dermis_workflow::verbs::export::drivers::{
    Driven, MorphNormals, PoseSpaceReport, PoseSpaceSettings as ExportSettings, export_pose_space,
};
use dermis_workflow::verbs::fit::{FitInput, Method, fit};
use serde_json::Value;

fn learn(arm: &Arm, examples: Vec<Example>, method: &Method) -> ModelFile {
    let examples = ExampleSet::new("arm".into(), examples, &arm.rig).unwrap();
    let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
    fit(&loaded, &FitInput::new(&loaded.rig, &examples), method, &silent).unwrap().model
}

/// Settings of a fixed smoothing.
fn smoothed() -> PoseSpaceSettings {
    PoseSpaceSettings { smoothing: Some(1e-4), ..PoseSpaceSettings::default() }
}

/// Pose-space deformation of fixed width and smoothing.
fn psd() -> PsdMethod {
    PsdMethod { sigma: Some(1.5), pose_space: smoothed(), ..PsdMethod::default() }
}

/// EigenSkin of fixed width and smoothing.
fn eigenskin() -> Method {
    Method::EigenSkin(EigenSkinMethod { sigma: Some(1.5), pose_space: smoothed(), ..EigenSkinMethod::default() })
}

fn motion(skeleton: &Skeleton, poses: &[BoneTransforms]) -> Motion {
    let frame = |(at, pose): (usize, &BoneTransforms)| {
        let world = skeleton.bones().map(|b| pose[b] * skeleton.bind()[b]).collect();
        let pose = WorldPose { channels: pose.channels().clone(), ..WorldPose::new(world) };
        Frame { label: at.to_string(), time: Some(at as f64 / 30.0), pose }
    };
    Motion { name: "swing".into(), frames: poses.iter().enumerate().map(frame).collect() }
}

struct File {
    made: Driven<PoseSpaceReport>,
    glb: Vec<u8>,
    table: Value,
    contents: Contents,
}

fn export(model: &ModelFile, poses: &[BoneTransforms], settings: ExportSettings) -> File {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| reserve_file(&folder.path().join(name), Existing::Keep).unwrap();
    let (glb, table) = (place("m.glb"), place("m.json"));
    let motion = motion(model.rig().skeleton(), poses);
    let made = export_pose_space(
        model,
        Some(&motion),
        settings,
        MorphNormals::Written,
        (&glb, Some(&table), &Default::default()),
        &silent,
    )
    .unwrap();
    let glb = std::fs::read(glb.path()).unwrap();
    let table = serde_json::from_slice(&std::fs::read(table.path()).unwrap()).unwrap();
    let contents = gltf::read(&glb, "m.glb", &|_, _| unreachable!()).unwrap();
    File { made, glb, table, contents }
}

/// Weights by the page, against those in the file's clip.
fn check_weights(file: &File, poses: &[BoneTransforms]) {
    let clip = &file.contents.clips[0];
    for (time, pose) in clip.key_times.iter().zip(poses) {
        let turn = |node: usize| pose[BoneIndex::new(node)].matrix3;
        let found = reader::weights(&file.glb, &turn, &|name: &str| pose.channel(name));
        let baked = (clip.sample)(*time).morph_weights;
        assert_eq!((found.len(), baked.len()), (file.made.shapes, file.made.shapes));
        for (a, b) in found.iter().zip(&baked) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}

/// rms and largest distance of what the file shows to the model.
fn shown(file: &File, model: &ModelFile, poses: &[BoneTransforms]) -> (f64, f64) {
    let (contents, clip) = (&file.contents, &file.contents.clips[0]);
    let (mesh, weights) = (contents.mesh.as_ref().unwrap(), contents.weights.as_ref().unwrap());
    let skeleton = contents.skeleton.as_ref().unwrap();
    let (mut runner, mut squares, mut largest) = (WideRunner::new(model.baked()), 0.0, 0.0f64);
    assert_eq!(clip.key_times.len(), poses.len());
    for (time, pose) in clip.key_times.iter().zip(poses) {
        let frame = (clip.sample)(*time);
        assert_eq!(frame.morph_weights.len(), contents.morphs.len());
        let m = skeleton.bone_transforms(&frame.pose);
        for (v, target) in runner.run(pose, None).unwrap().iter().enumerate() {
            let moved: DVec3 = contents.morphs.iter().zip(&frame.morph_weights).map(|(t, w)| t.deltas[v] * *w).sum();
            let p = mesh.positions[v] + moved;
            let point: DVec3 = weights.of(v).iter().map(|&(b, w)| m[b].transform_point3(p) * w).sum();
            squares += point.distance_squared(*target);
            largest = largest.max(point.distance(*target));
        }
    }
    ((squares / (poses.len() * mesh.positions.len()) as f64).sqrt(), largest)
}

#[test]
fn the_reader_is_short() {
    let lines = include_str!("reader.rs").lines().count();
    assert!(lines <= 120, "{lines} lines");
}

#[test]
fn a_reader_of_the_page_has_the_programs_weights_in_trained_and_untrained_poses() {
    let arm = Arm::new(16, 8);
    let trained = ArmPose::some(20, 5);
    let mut frozen = trained.clone();
    frozen.iter_mut().for_each(|pose| pose.wrist = DVec3::ZERO);
    let of = |coordinates, family, linear| {
        let pose_space = PoseSpaceSettings { coordinates, ..smoothed() };
        // The polyharmonic kernel has no width.
        let sigma = psd().sigma.filter(|_| family != Family::Polyharmonic);
        Method::Psd(PsdMethod { kernel: Some(family), sigma, linear, pose_space, ..psd() })
    };
    let global = PoseSpaceSettings { reach: Reach::Global, ..smoothed() };
    let blend_shapes = PoseBlendshapesMethod { pose_space: smoothed(), ..PoseBlendshapesMethod::default() };
    let apart = Coordinates::SwingTwist { swing: 0.7, twist: 1.3 };
    let few = Some(Budget { shapes: 12, centres: 6, per_vertex: None });
    let cases = [
        ("chord", of(Coordinates::Chord, Family::Gaussian, false), &trained, "compiled"),
        ("vector", of(Coordinates::RotationVector, Family::Wendland, false), &trained, "compiled"),
        ("euler", of(Coordinates::Euler, Family::Polyharmonic, false), &trained, "compiled"),
        ("swing", of(apart, Family::Gaussian, true), &trained, "compiled"),
        ("weld", Method::Psd(PsdMethod { pose_space: global, ..psd() }), &frozen, "own"),
        ("eigenskin", eigenskin(), &trained, "as they are"),
        ("blend", Method::PoseBlendshapes(blend_shapes), &trained, "own"),
        ("budget", Method::Psd(PsdMethod { budget: few, ..psd() }), &trained, "as they are"),
        ("example", Method::shape_by_example(), &trained, "as they are"),
        ("correctives", Method::correctives(), &trained, "one per sculpt"),
    ];
    let mut random = Random::new(11);
    for (name, method, taught, origin) in cases {
        let model = learn(&arm, arm.examples(taught), &method);
        let mut poses: Vec<BoneTransforms> = taught.iter().map(|pose| arm.transforms(pose)).collect();
        poses.extend((0..10).map(|_| arm.wild(&mut random, 2.5)));
        let kernels = (name == "weld").then_some(20);
        let file = export(&model, &poses, ExportSettings { kernels, ..Default::default() });
        assert!(file.made.origin.to_string().contains(origin), "{name}: {}", file.made.origin);
        check_weights(&file, &poses);
        let (rms, largest) = shown(&file, &model, &poses);
        let reported = file.made.motion.unwrap();
        assert_eq!(reported.poses, 30);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6 + 1e-5 * b;
        assert!(
            near(rms, reported.shapes.0) && near(largest, reported.shapes.1),
            "{name}: {rms} {largest} {reported:?}"
        );
        // The training poses themselves. Chosen shapes are not all, and 1/10 tells a sign or a unit that is wrong.
        let training = file.made.training.unwrap();
        assert!(training.shapes.0 < 0.1 * training.weights_alone.0, "{name}: {training:?}");
        // The table is the extension with bones by name.
        let (mut extension, bones) = (extension(&file.glb), file.table["bones"].as_array().unwrap());
        for joint in extension["joints"].as_array_mut().unwrap() {
            for bone in joint["path"].as_array_mut().unwrap().iter_mut().flat_map(|p| p.as_array_mut().unwrap()) {
                let name = &arm.rig.skeleton().names()[BoneIndex::new(bone.as_u64().unwrap() as usize)];
                *bone = bones.iter().position(|b| b["name"] == name.as_str()).unwrap().into();
            }
        }
        let fields = extension.as_object_mut().unwrap();
        // Windows and parts of rotations are what version 2 has.
        let version = if name == "correctives" { 2 } else { 1 };
        assert_eq!(fields.remove("version"), Some(version.into()));
        for (key, value) in fields {
            assert_eq!(&file.table[key], value, "{name}: {key}");
        }
        assert_eq!((&file.table["format"], &file.table["version"]), (&"dermis-drivers".into(), &(version + 1).into()));
    }
}

fn extension(glb: &[u8]) -> Value {
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let gltf: Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
    assert_eq!(gltf["extensionsUsed"], serde_json::json!(["DERMIS_pose_space"]));
    assert!(gltf.get("extensionsRequired").is_none());
    let nodes = gltf["nodes"].as_array().unwrap();
    let node = nodes.iter().find(|node| node.get("extensions").is_some()).unwrap();
    assert!(node["mesh"].is_u64() && node["skin"].is_u64());
    node["extensions"]["DERMIS_pose_space"].clone()
}

/// Two muscles that no joint tells of, as channels of the pose.
#[test]
fn channels_are_read_by_name() {
    let arm = Arm::new(12, 8);
    let flexed = |pose: &ArmPose, flex: f64, swell: f64| {
        let mut example = arm.example(format!("{flex}"), pose);
        let (rest, swollen) = (arm.transforms(pose), example.positions.clone());
        let near = |p: &DVec3, x: f64| 0.02 * (-((p.x - x) / 0.1).powi(2)).exp();
        let out = |p: &DVec3| DVec3::Z * flex * near(p, 0.2) + DVec3::Y * swell * near(p, 0.4);
        example.positions = swollen.iter().zip(&arm.rig.mesh().positions).map(|(s, p)| *s + out(p)).collect();
        let channels = [("other", 0.0), ("flex", flex), ("swell", swell)];
        example.transforms = rest.with_channels(channels.map(|(name, value)| (name.into(), value)).into());
        example
    };
    let mut examples: Vec<Example> = vec![];
    for (at, pose) in ArmPose::some(12, 3).iter().enumerate() {
        examples.push(flexed(pose, at as f64 / 4.0, (at % 3) as f64));
    }
    let channels = ["flex", "swell"].map(|name| ChannelSetting { name: name.to_owned(), scale: None }).to_vec();
    let fitted = Method::Psd(PsdMethod { pose_space: PoseSpaceSettings { channels, ..smoothed() }, ..psd() });
    let model = learn(&arm, examples.clone(), &fitted);
    let poses: Vec<BoneTransforms> = examples.iter().map(|e| e.transforms.clone()).collect();
    let file = export(&model, &poses, ExportSettings::default());
    let names = [0, 1].map(|at| file.table["channels"][at]["name"].as_str().unwrap());
    assert_eq!(names, ["flex", "swell"]);
    check_weights(&file, &poses);
    let motion = file.made.motion.unwrap();
    assert!(motion.shapes.0 < 0.1 * motion.weights_alone.0, "{motion:?}");
}

/// Sculpts at an elbow: the model passes through all of them, and so does the file, and in between it is the model, too.
#[test]
fn three_sculpts_at_an_elbow_are_delivered_as_they_are() {
    let arm = Arm::new(24, 12);
    let bent = |elbow: f64| ArmPose { elbow, ..ArmPose::REST };
    let sculpts: Vec<ArmPose> = [0.7, 1.4, 2.1].map(bent).to_vec();
    for reach in [Reach::Local, Reach::Global] {
        let pose_space = PoseSpaceSettings { reach, smoothing: Some(0.0), ..smoothed() };
        let interpolate = Method::Psd(PsdMethod { pose_space, ..psd() });
        let model = learn(&arm, arm.examples(&sculpts), &interpolate);
        let poses: Vec<BoneTransforms> = (0..29).map(|at| arm.transforms(&bent(0.075 * f64::from(at)))).collect();
        let file = export(&model, &poses, ExportSettings::default());
        assert_eq!(file.made.origin.to_string(), "its own values");
        let (training, between) = (file.made.training.unwrap(), file.made.motion.unwrap());
        // Positions of an arm of 0.7 m are rounded to 6e-8 m, several times on the way.
        assert!(training.shapes.1 < 1e-6, "{reach:?} {training:?}");
        assert!(between.shapes.1 < 1e-5 * arm.length(), "{reach:?} {between:?}");
        assert!(training.weights_alone.1 > 0.01 && between.clamped == 0.0);
        // The truth, too.
        let truth: Vec<BoneTransforms> = sculpts.iter().map(|pose| arm.transforms(pose)).collect();
        let file = export(&model, &truth, ExportSettings::default());
        let clip = &file.contents.clips[0];
        for (pose, time) in sculpts.iter().zip(&clip.key_times) {
            let weights = (clip.sample)(*time).morph_weights;
            let m = arm.transforms(pose);
            for (v, target) in arm.skin(pose).iter().enumerate() {
                let moved: DVec3 = file.contents.morphs.iter().zip(&weights).map(|(t, w)| t.deltas[v] * *w).sum();
                let p = arm.rig.mesh().positions[v] + moved;
                let point: DVec3 = arm.weights().of(v).iter().map(|&(b, w)| m[b].transform_point3(p) * w).sum();
                assert!(point.distance(*target) < 1e-5 * arm.length(), "{reach:?} {v}: {}", point.distance(*target));
            }
        }
    }
}

#[test]
fn at_the_bind_pose_the_shapes_cancel_and_more_of_them_lose_less() {
    let arm = Arm::new(16, 8);
    let model = learn(&arm, arm.examples(&ArmPose::some(30, 4)), &Method::Psd(psd()));
    let rest = [BoneTransforms::identity(4)];
    let loss = |shapes: usize, kernels: usize| {
        let file =
            export(&model, &rest, ExportSettings { shapes: Some(shapes), kernels: Some(kernels), influences: None });
        assert_eq!(file.made.shapes, shapes);
        assert_eq!(reader::weights(&file.glb, &|_| DMat3::IDENTITY, &|_| 0.0)[0], 1.0);
        let at_rest = file.made.motion.unwrap();
        assert!(at_rest.shapes.1 < 1e-7, "{at_rest:?}");
        file.made.training.unwrap().shapes.0
    };
    let losses = [loss(3, 12), loss(9, 12), loss(27, 12), loss(64, 12)];
    assert!(losses.windows(2).all(|w| w[1] < w[0]), "{losses:?}");
    assert!(loss(27, 24) < loss(27, 3), "more kernels know the pose better");
}

#[test]
fn what_no_shape_before_skinning_can_hold_is_refused_with_the_reason() {
    let arm = Arm::new(9, 6);
    let examples = || arm.examples(&ArmPose::some(8, 2));
    let refused = |model: &ModelFile, settings| {
        let folder = tempfile::tempdir().unwrap();
        let glb = reserve_file(&folder.path().join("m.glb"), Existing::Keep).unwrap();
        let said =
            export_pose_space(model, None, settings, MorphNormals::Written, (&glb, None, &Default::default()), &silent)
                .unwrap_err()
                .to_string();
        assert!(!folder.path().join("m.glb").exists());
        said
    };
    let fitted = |base, form| {
        let pose_space = PoseSpaceSettings { base, form, ..smoothed() };
        learn(&arm, examples(), &Method::Psd(PsdMethod { pose_space, ..psd() }))
    };
    let any = ExportSettings::default();
    assert!(
        refused(&fitted(BaseChoice::Lbs, Form::Forward), any)
            .contains("displacements are those of the world, after skinning")
    );
    assert!(refused(&fitted(BaseChoice::Dqs, Form::Inverse), any).contains("base is not linear blend skinning"));
    let model = fitted(BaseChoice::Lbs, Form::Inverse);
    assert!(refused(&model, ExportSettings { shapes: Some(1), ..any }).contains("two at least"));
    assert!(refused(&model, ExportSettings { kernels: Some(0), ..any }).contains("at least one kernel"));
    let shapes = learn(&arm, examples(), &eigenskin());
    let Some(BakedCorrection::Shapes(own)) = shapes.baked().corrections().last() else { panic!("another correction") };
    let count = own.model.count();
    let said = refused(&shapes, ExportSettings { shapes: Some(count), ..any });
    assert!(said.contains(&format!("needs {} shapes, but {count} were asked for", count + 1)), "{said}");
    assert!(refused(&shapes, ExportSettings { kernels: Some(1), ..any }).contains("but 1 were asked for"));
    let mut joints = shapes.clone();
    joints.model = joints.model.with_baked(shapes.baked().clone().without_correction()).unwrap();
    assert!(refused(&joints, any).contains("no pose space"));
}

/// Planted: a part of one vertex that lives in the frame of a bone, beside its displacement.
#[test]
fn what_no_shape_holds_is_counted_and_measured() {
    let arm = Arm::new(9, 6);
    let taught = ArmPose::some(8, 2);
    let mut model = learn(&arm, arm.examples(&taught), &Method::Psd(psd()));
    let poses: Vec<BoneTransforms> = taught.iter().map(|pose| arm.transforms(pose)).collect();
    let before = export(&model, &poses, ExportSettings::default());
    assert!(before.made.warnings.is_empty(), "{:?}", before.made.warnings);
    let Some(correction) = model.baked().corrections().last().cloned() else { panic!("no correction") };
    let BakedCorrection::PoseSpace(mut space) = correction else { panic!("another correction") };
    let moves = |v: &usize| space.groups[*v] != u32::MAX && space.radii[*v] > 0.02;
    let v = (0..space.groups.len()).find(moves).unwrap();
    let values = space.kernel.range(space.groups[v] as usize).len();
    let r = &mut space.remainders;
    (r.vertices, r.bones) = (vec![v as u32], vec![BoneIndex::new(1)]);
    r.weights.push(vec![Vec3::Y * 0.005; values]).unwrap();
    let baked = model.baked().clone().with_corrections(Some(BakedCorrection::PoseSpace(space))).unwrap();
    model.model = model.model.with_baked(baked).unwrap();
    let after = export(&model, &poses, ExportSettings::default());
    assert!(after.made.warnings[0].to_string().starts_with("1 vertices keep a part"), "{:?}", after.made.warnings);
    assert_eq!(before.glb.len(), after.glb.len());
    let [before, after] = [before, after].map(|file| file.made.motion.unwrap().shapes.1);
    assert!(after > before.max(1e-3), "{before} {after}");
}
