//! Models compiled to linear blend skinning: what is written, and how an engine drives the helper bones. The reader of the
//! table follows docs/compile.md and uses nothing of the program's own evaluation.

use dermis_fit::method::{JointMethod, MweMethod, MweRidge, PoseSpaceSettings, PsdMethod, RidgeChoice};
use dermis_fit::silent;
use dermis_fit::weights::WeightBits;
use dermis_io::{Contents, ModelFile, Space, gltf};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneTransforms, Example, ExampleSet, Frame, Influences, Motion, Skeleton};
use dermis_testkit::arm::{FOREARM, UPPER};
use dermis_testkit::{Arm, ArmPose, Random, change_rig};
use dermis_workflow::Error;
use dermis_workflow::load::LoadedRig;
use dermis_workflow::measure::WideRunner;
use dermis_workflow::output::{Existing, reserve_file};
use dermis_workflow::verbs::export::compile::{Compiled, LinearSettings, Poses, compile};
use dermis_workflow::verbs::fit::{FitInput, Method, fit};
use serde_json::Value;

/// The reader: bone transforms by name in, helper transforms by name out.
struct Reader {
    table: Value,
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The rotation nearest to a matrix of positive determinant: Newton's iteration for the polar factor.
fn polar(mut m: DMat3) -> DMat3 {
    for _ in 0..30 {
        m = (m + m.inverse().transpose()) * 0.5;
    }
    m
}

impl Reader {
    fn new(text: &str) -> Self {
        let table: Value = serde_json::from_str(text).unwrap();
        assert_eq!(table["format"], "dermis-helpers");
        assert_eq!(table["version"], 1);
        Self { table }
    }

    fn helpers(&self, transform: &dyn Fn(&str) -> DAffine3) -> Vec<(String, DAffine3)> {
        let length = self.table["length"].as_f64().unwrap();
        let of = |helper: &Value| {
            let name = |key: &str| helper[key].as_str().unwrap();
            let mut x = Vec::new();
            for joint in helper["joints"].as_array().unwrap() {
                let bone = |key: &str| transform(joint[key].as_str().unwrap());
                let r = (bone("from").inverse() * bone("to")).matrix3;
                let entry = |row: usize, column: usize| r.col(column)[row] - if row == column { 1.0 } else { 0.0 };
                let nine: Vec<f64> = (0..9).map(|at| entry(at / 3, at % 3)).collect();
                let (norm, limit) = (nine.iter().map(|x| x * x).sum::<f64>().sqrt(), joint["limit"].as_f64().unwrap());
                let scale = if norm > limit { limit / norm } else { 1.0 };
                x.extend(nine.iter().map(|x| x * scale));
            }
            let row = |row: &Value| {
                assert_eq!(row.as_array().unwrap().len(), x.len());
                numbers(row).iter().zip(&x).map(|(d, x)| d * x).sum::<f64>()
            };
            let y: Vec<f64> = helper["matrix"].as_array().unwrap().iter().map(row).collect();
            assert_eq!(y.len(), 12);
            let near = DMat3::from_cols_array(&[y[0], y[3], y[6], y[1], y[4], y[7], y[2], y[5], y[8]]);
            let turn = polar(DMat3::IDENTITY + near);
            let c = DVec3::from_slice(&numbers(&helper["centre"]));
            let to = c + length * DVec3::new(y[9], y[10], y[11]);
            let local = DAffine3 { matrix3: turn, translation: to - turn * c };
            (name("name").to_string(), transform(name("parent")) * local)
        };
        self.table["helpers"].as_array().unwrap().iter().map(of).collect()
    }
}

/// An arm whose skin is a linear blend with one more bone on the upper arm. It slides with the rotation of the elbow, linearly
/// in the entries of its matrix.
struct Planted {
    arm: Arm,
    weights: Influences,
    helper: Vec<f64>,
}

impl Planted {
    fn new() -> Self {
        let arm = Arm::new(24, 8);
        let share = |p: &DVec3| 0.6 * (1.0 - ((p.x - 0.17) / 0.1).powi(2)).max(0.0);
        let helper: Vec<f64> = arm.rig.mesh().positions.iter().map(share).collect();
        Self { weights: arm.weights().clone(), helper, arm }
    }

    fn example(&self, s: usize, pose: &ArmPose) -> Example {
        let m = self.arm.transforms(pose);
        let elbow = (m[UPPER].inverse() * m[FOREARM]).matrix3 - DMat3::IDENTITY;
        let slide = 0.05 * DVec3::new(elbow.x_axis.x, elbow.x_axis.y - elbow.z_axis.y, elbow.y_axis.z);
        let posed = |(v, p): (usize, &DVec3)| {
            let blend: DVec3 = self.weights.of(v).iter().map(|&(k, w)| w * m[k].transform_point3(*p)).sum();
            let moved = m[UPPER].transform_point3(*p + slide);
            (1.0 - self.helper[v]) * blend + self.helper[v] * moved
        };
        let positions = self.arm.rig.mesh().positions.iter().enumerate().map(posed).collect();
        Example { label: s.to_string(), time: None, transforms: m, positions, importance: 1.0, local: None }
    }

    fn examples(&self, count: usize, seed: u64) -> ExampleSet {
        let poses = ArmPose::some(count, seed);
        let examples = poses.iter().enumerate().map(|(s, pose)| self.example(s, pose)).collect();
        ExampleSet::new("planted".into(), examples, &self.arm.rig).unwrap()
    }
}

fn fitted(arm: &Arm, examples: &ExampleSet, method: Method, s: f64) -> ModelFile {
    let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
    let method = match method {
        Method::Mwe(own) => Method::Mwe(MweMethod { ridge: MweRidge::Fixed(s), ..own }),
        Method::Joint(own) => Method::Joint(JointMethod { ridge: RidgeChoice::Fixed(s), ..own }),
        Method::Psd(own) => {
            let pose_space = PoseSpaceSettings { smoothing: Some(s), ..own.pose_space };
            Method::Psd(PsdMethod { pose_space, ..own })
        }
        other => other,
    };
    fit(&loaded, &FitInput::new(&loaded.rig, examples), &method, &silent).unwrap().model
}

/// A compilation as files.
struct Out {
    compiled: Compiled,
    glb: Vec<u8>,
    table: Option<String>,
}

impl Out {
    fn contents(&self) -> Contents {
        gltf::read(&self.glb, "made", &|_, _| unreachable!()).unwrap()
    }
}

fn compiled(
    model: &ModelFile,
    sets: &[Poses],
    held_out: &[Poses],
    settings: LinearSettings,
    driven: bool,
) -> Result<Out, Error> {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| reserve_file(&folder.path().join(name), Existing::Keep).unwrap();
    let (glb, json) = (place("a.glb"), place("a.json"));
    let compiled =
        compile(model, sets, held_out, settings, (&glb, driven.then_some(&json), &Default::default()), &silent)?;
    let table = driven.then(|| std::fs::read_to_string(json.path()).unwrap());
    Ok(Out { compiled, glb: std::fs::read(glb.path()).unwrap(), table })
}

fn swing(arm: &Arm, name: &str, frames: usize) -> Motion {
    let skeleton = arm.rig.skeleton();
    let frame = |e: Example| Frame { label: e.label, time: e.time, pose: skeleton.world_pose(&e.transforms) };
    Motion { name: name.into(), frames: arm.clip(frames).into_iter().map(frame).collect() }
}

/// The skin that a file shows with the given transforms of its bones.
fn shown(contents: &Contents, m: &BoneTransforms) -> Vec<DVec3> {
    let (mesh, weights) = (contents.mesh.as_ref().unwrap(), contents.weights.as_ref().unwrap());
    let posed = |(v, p): (usize, &DVec3)| weights.of(v).iter().map(|&(k, w)| w * m[k].transform_point3(*p)).sum();
    mesh.positions.iter().enumerate().map(posed).collect()
}

#[test]
fn a_bone_that_the_skin_needs_is_found_and_follows_its_joint_in_poses_never_seen() {
    let planted = Planted::new();
    let model = fitted(&planted.arm, &planted.examples(60, 5), Method::mwe(), 1e-9);
    let skeleton = planted.arm.rig.skeleton();
    let sets = [Poses::of_examples(&planted.examples(40, 7), skeleton)];
    let unseen = [Poses::of_examples(&planted.examples(30, 11), skeleton)];
    let settings = LinearSettings { helpers: 1, ..LinearSettings::default() };
    let out = compiled(&model, &sets, &unseen, settings, true).unwrap();
    let rms = |steps: &[dermis_workflow::verbs::export::compile::Step], name: &str| {
        steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("{steps:#?}")).to_truth.unwrap().0
    };
    let (steps, held_out) = (&out.compiled.steps, &out.compiled.held_out[0].steps);
    let (plain, helped) = (rms(steps, "LBS4"), rms(steps, "LBS4 + 1 helpers"));
    assert!(helped < 0.05 * plain, "{plain} {helped}");
    assert!(rms(steps, "LBS4 + 1 helpers, driven") < 0.1 * plain, "{steps:#?}");
    assert!(rms(held_out, "LBS4 + 1 helpers, driven") < 0.1 * rms(held_out, "LBS4"), "{held_out:#?}");
    let helper = &out.compiled.helpers[0];
    assert_eq!(helper.parent, UPPER);
    // Its vertices are symmetric about x = 0.17.
    assert!((helper.centre.x - 0.17).abs() < 0.02, "{helper:?}");
    assert!(helper.explained.unwrap() > 0.99, "{helper:?}");
}

#[test]
fn a_reader_of_the_documented_table_moves_helpers_as_the_clip_does() {
    let planted = Planted::new();
    let model = fitted(&planted.arm, &planted.examples(60, 5), Method::mwe(), 1e-6);
    let skeleton = planted.arm.rig.skeleton();
    let sets = [Poses::of_motion(swing(&planted.arm, "swing", 20))];
    let settings = LinearSettings { helpers: 3, ..LinearSettings::default() };
    let out = compiled(&model, &sets, &[], settings, true).unwrap();
    let text = out.table.as_ref().unwrap();
    let (reader, table) = (Reader::new(text), dermis_io::driver_table::read_helpers(text.as_bytes()).unwrap());
    let contents = out.contents();
    let found = contents.skeleton.as_ref().unwrap();
    let clip = &contents.clips[0];
    assert_eq!(clip.key_times.len(), 20);
    for time in &clip.key_times {
        let m = found.bone_transforms(&(clip.sample)(*time).pose);
        for (name, helper) in reader.helpers(&|name| m[found.find(name).unwrap()]) {
            let baked = m[found.find(&name).unwrap()];
            // The clip is in single precision, along a chain of five bones.
            assert!(helper.abs_diff_eq(baked, 2e-5), "{name} at {time}: {helper:?} {baked:?}");
        }
    }
    // Far beyond the poses, where limits act, against the program's own evaluation.
    let (mut random, mut limited) = (Random::new(3), 0);
    for _ in 0..50 {
        let pose = planted.arm.wild(&mut random, 3.0);
        let own = table.evaluate(skeleton, &pose);
        for ((_, helper), own) in reader.helpers(&|name| pose[skeleton.find(name).unwrap()]).iter().zip(own) {
            assert!(helper.abs_diff_eq(own, 1e-9), "{helper:?} {own:?}");
        }
        let elbow = (pose[UPPER].inverse() * pose[FOREARM]).matrix3 - DMat3::IDENTITY;
        let limit = table.helpers[0].joints.iter().find(|j| j.to == "forearm").unwrap().limit;
        limited += usize::from(dermis_rig::skeleton::frobenius(&elbow) > limit);
    }
    assert!(limited > 10, "limits act");
    // At the bind pose a helper rests.
    let rest = table.evaluate(skeleton, &BoneTransforms::identity(skeleton.len()));
    assert!(rest.iter().all(|m| m.abs_diff_eq(DAffine3::IDENTITY, 1e-15)));
    // The ridge of every helper was chosen: nothing is assumed.
    let warnings = out.compiled.warnings.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(!warnings.iter().any(|warning| warning.contains("could be left out")), "{warnings:?}");
    // Without helpers there is no step for them.
    let none = compiled(&model, &sets, &[], LinearSettings { helpers: 0, ..settings }, false).unwrap();
    assert!(none.compiled.steps.iter().all(|step| !step.name.contains("helper")), "{:?}", none.compiled.steps);
    // A bone that is missing leaves a helper on its parent.
    let pose = planted.arm.wild(&mut random, 1.0);
    let mut broken = table.clone();
    broken.helpers[0].joints[0].to = "no bone".into();
    let parent = skeleton.find(&table.helpers[0].parent).unwrap();
    assert_eq!(broken.evaluate(skeleton, &pose)[0], pose[parent]);
}

#[test]
fn the_file_holds_bones_clips_and_whole_weights_and_shows_what_is_reported() {
    let mut arm = Arm::new(24, 8);
    // A bone that is called as a helper would be.
    let names = ["torso", "upper arm", "helper_1", "hand"].map(String::from).to_vec();
    change_rig(&mut arm.rig, |_, bones, _| {
        *bones = Skeleton::new(names, bones.parents().to_vec(), bones.bind().to_vec()).unwrap();
    });
    let examples = ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(40, 5)), &arm.rig).unwrap();
    let model = fitted(&arm, &examples, Method::joint(), 0.003);
    let sets = [
        Poses::of_motion(swing(&arm, "one", 12)),
        Poses::of_motion(swing(&arm, "one", 7)),
        Poses::of_examples(&examples, arm.rig.skeleton()),
    ];
    for (bits, one) in [(WeightBits::Eight, 255.0), (WeightBits::Sixteen, 65535.0)] {
        for driven in [true, false] {
            let settings = LinearSettings { influences: 3, helpers: 2, bits: Some(bits), seed: 1 };
            let out = compiled(&model, &sets, &[], settings, driven).unwrap();
            let contents = out.contents();
            let (skeleton, weights) = (contents.skeleton.as_ref().unwrap(), contents.weights.as_ref().unwrap());
            let names = ["torso", "upper arm", "helper_1", "hand", "helper_1_", "helper_2"];
            assert!(names.iter().all(|name| skeleton.find(name).is_some()), "{:?}", skeleton.names());
            assert_eq!(skeleton.len(), 6);
            for helper in &out.compiled.helpers {
                let found = skeleton.find(&helper.name).unwrap();
                let parent = skeleton.parents()[found].unwrap();
                assert_eq!(skeleton.names()[parent], arm.rig.skeleton().names()[helper.parent]);
                assert!(skeleton.bind()[found].translation.distance(helper.centre) < 1e-6);
                assert_eq!(weights.rows().flatten().filter(|(k, _)| *k == found).count(), helper.vertices);
            }
            for row in weights.rows() {
                assert!(
                    row.len() <= 3 && row.iter().all(|(_, w)| (w * one - (w * one).round()).abs() < 1e-10),
                    "{row:?}"
                );
                assert_eq!(row.iter().map(|(_, w)| (w * one).round()).sum::<f64>(), one);
            }
            // Bytes, not floats.
            let length = u32::from_le_bytes(out.glb[12..16].try_into().unwrap()) as usize;
            let header: Value = serde_json::from_slice(&out.glb[20..20 + length]).unwrap();
            let stored = &header["accessors"]
                [header["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"].as_u64().unwrap() as usize];
            assert_eq!(stored["componentType"], if one == 255.0 { 5121 } else { 5123 });
            assert_eq!(stored["normalized"], true);

            let clips: Vec<_> = contents.clips.iter().map(|c| (c.name.as_str(), c.key_times.len())).collect();
            assert_eq!(clips, [("one", 12), ("one 2", 7), ("arm", 40)]);
            let mut runner = WideRunner::new(model.baked());
            let (mut squares, mut count, mut largest) = (0.0, 0, 0.0f64);
            for clip in &contents.clips {
                for time in &clip.key_times {
                    let m = skeleton.bone_transforms(&(clip.sample)(*time).pose);
                    let own = arm.rig.skeleton().names().iter().map(|name| m[skeleton.find(name).unwrap()]).collect();
                    let skin = runner.run(&BoneTransforms::new(own), None).unwrap();
                    for (a, b) in shown(&contents, &m).iter().zip(skin) {
                        (squares, count) = (squares + a.distance_squared(*b), count + 1);
                        largest = largest.max(a.distance(*b));
                    }
                }
            }
            let (rms, max) = out.compiled.steps.last().unwrap().to_model;
            let found = (squares / count as f64).sqrt();
            // Single precision of clip and mesh, on an arm of one metre that walks another.
            assert!((found - rms).abs() < 2e-6 && (largest - max).abs() < 1e-5, "{found} {rms}, {largest} {max}");
        }
    }
}

#[test]
fn every_kind_of_model_is_compiled_and_helpers_bring_it_nearer() {
    let arm = Arm::new(16, 6);
    let examples = ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(30, 5)), &arm.rig).unwrap();
    let sets = [Poses::of_examples(&examples, arm.rig.skeleton())];
    for method in [Method::lbs(), Method::Dqs, Method::animation_space(), Method::mwe(), Method::psd(), Method::joint()]
    {
        let model = fitted(&arm, &examples, method.clone(), 1e-3);
        let settings = LinearSettings { helpers: 4, ..LinearSettings::default() };
        let out = compiled(&model, &sets, &[], settings, false).unwrap();
        let [own, plain, helped] = &out.compiled.steps[1..] else { panic!("{method}: {:?}", out.compiled.steps) };
        // Weights are solved for other poses, too, and do not beat the rig's own in these by much if the model is these.
        assert!(plain.to_model.0 < 1.02 * own.to_model.0 + 1e-6, "{method}: {own:?} {plain:?}");
        // A linear blend is there already, to the single precision of the model.
        assert!(helped.to_model.0 < 0.7 * plain.to_model.0 + 1e-5, "{method}: {plain:?} {helped:?}");
        assert!(out.compiled.helpers.iter().all(|helper| helper.explained.is_none()));
    }
}

#[test]
fn joints_that_stand_still_in_the_poses_do_not_share_weight_across_the_body() {
    // Only the elbow bends: the wrist and the shoulder stand still, and torso and upper arm cannot be told apart.
    let planted = Planted::new();
    let model = fitted(&planted.arm, &planted.examples(60, 5), Method::mwe(), 1e-6);
    let skeleton = planted.arm.rig.skeleton();
    let bends: Vec<Example> =
        (0..8).map(|s| planted.example(s, &ArmPose { elbow: 0.25 * s as f64, ..ArmPose::REST })).collect();
    let set = |examples| ExampleSet::new("bends".into(), examples, &planted.arm.rig).unwrap();
    let turned =
        |s: usize| ArmPose { shoulder: DVec3::Z * 0.1 * s as f64, wrist: DVec3::Y * 0.1 * s as f64, ..ArmPose::REST };
    let others: Vec<Example> = (0..6).map(|s| planted.example(s, &turned(s))).collect();
    let sets = [Poses::of_examples(&set(bends), skeleton)];
    let unseen = [Poses::of_examples(&set(others), skeleton)];
    let out = compiled(&model, &sets, &unseen, LinearSettings::default(), false).unwrap();
    let steps = &out.compiled.held_out[0].steps;
    // As near as the rig's own weights, which are the truth where no elbow bends, but for what turns of 30° at most tell.
    assert!(steps[2].to_truth.unwrap().0 < 1e-3, "{steps:#?}");
}

#[test]
fn what_cannot_be_compiled_is_refused_and_what_is_left_out_is_said() {
    let arm = Arm::new(16, 6);
    let examples = ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(12, 5)), &arm.rig).unwrap();
    let model = fitted(&arm, &examples, Method::mwe(), 1e-3);
    let refused = |sets: &[Poses], model: &ModelFile, says: &str| {
        let error = compiled(model, sets, &[], LinearSettings::default(), false).err().unwrap().to_string();
        assert!(error.contains(says), "{error}");
    };
    refused(&[], &model, "there are no poses to compile for");
    refused(&[Poses::of_motion(Motion { name: "empty".into(), frames: vec![] })], &model, "no poses");
    let sets = [Poses::of_examples(&examples, arm.rig.skeleton())];
    let mut given = model.clone();
    let over_given = given.baked().clone().with_base(dermis_deform::baked::BakedBase::Given).unwrap();
    given.model = given.model.clone().with_baked(over_given).unwrap();
    refused(&sets, &given, "corrects given positions, which a linear blend does not have");
    // A table without helpers is not written; held-out poses without a table have no helpers.
    let folder = tempfile::tempdir().unwrap();
    let (glb, json) = (folder.path().join("a.glb"), folder.path().join("a.json"));
    let (glb, table) = (reserve_file(&glb, Existing::Keep).unwrap(), reserve_file(&json, Existing::Keep).unwrap());
    let made =
        compile(&model, &sets, &sets, LinearSettings::default(), (&glb, Some(&table), &Default::default()), &silent)
            .unwrap();
    assert!(made.warnings[0].contains("no helpers to drive") && !json.exists(), "{:?}", made.warnings);
    assert_eq!(made.held_out[0].steps.len(), 3);
    let settings = LinearSettings { helpers: 2, ..LinearSettings::default() };
    let out = compiled(&model, &sets, &sets, settings, false).unwrap();
    assert!(out.compiled.warnings[0].contains("helpers that nothing drives"), "{:?}", out.compiled.warnings);
    assert_eq!(out.compiled.held_out[0].steps.len(), 3);
}
