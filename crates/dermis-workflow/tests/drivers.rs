//! A driver table as an engine reads it: this file follows docs/drivers.md and uses nothing of the models.

use dermis_fit::method::{FactorChoice, FormChoice, GravityChoice, JointMethod, RidgeChoice};
use dermis_fit::silent;
use dermis_io::{ModelFile, Space, gltf};
use dermis_rig::glam::{DMat3, DMat4, DVec3};
use dermis_rig::{BoneTransforms, ExampleSet, Frame, IndexVec, Motion, WorldPose};
use dermis_testkit::{Arm, ArmPose};
use dermis_workflow::load::LoadedRig;
use dermis_workflow::measure::WideRunner;
use dermis_workflow::output::{Existing, reserve_file};
use dermis_workflow::verbs::export::drivers::{DriverSettings, MorphNormals, export_driven};
use dermis_workflow::verbs::fit::{FitInput, Method, fit};
use serde_json::Value;

/// The reader: joint-to-world matrices by bone name in, weights out.
struct Reader {
    table: Value,
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

impl Reader {
    fn new(text: &str) -> Self {
        let table: Value = serde_json::from_str(text).unwrap();
        assert_eq!(table["format"], "dermis-drivers");
        assert!([1, 5, 6].contains(&table["version"].as_u64().unwrap()));
        Self { table }
    }

    /// φ of a joint, or the part of it that is read, with its limit.
    fn feature(&self, joint: &Value, transforms: &[DMat4], length: f64) -> Vec<f64> {
        let at = |key: &str| transforms[joint[key].as_u64().unwrap() as usize];
        let q = at("from").inverse() * at("to");
        let c = joint["centre"].as_array().map(|_| numbers(&joint["centre"]));
        let turn = DMat3::from_mat4(q);
        let axis = |key: &str| joint[key].as_array().map(|_| DVec3::from_slice(&numbers(&joint[key])));
        let mut phi = vec![0.0; 12];
        let mut rotation = turn;
        if let Some(a) = axis("twist") {
            let v = a.cross(turn * a);
            let k = DMat3::from_cols(v.cross(DVec3::X), v.cross(DVec3::Y), v.cross(DVec3::Z));
            let s = DMat3::IDENTITY + k + k * k * (1.0 / (1.0 + a.dot(turn * a)).max(0.001));
            rotation = s.transpose() * turn;
        }
        for row in 0..3 {
            let less = |m: &DMat3, column: usize| m.col(column)[row] - if row == column { 1.0 } else { 0.0 };
            match axis("swing") {
                Some(a) => phi[4 * row] = (turn * a - a)[row],
                None => (0..3).for_each(|column| phi[4 * row + column] = less(&rotation, column) / 2f64.sqrt()),
            }
            if let Some(c) = c.as_ref().filter(|_| axis("twist").is_none()) {
                // t/L − (I − R) c
                phi[4 * row + 3] = q.col(3)[row] / length + (0..3).map(|i| less(&turn, i) * c[i]).sum::<f64>();
            }
        }
        let norm = phi.iter().map(|x| x * x).sum::<f64>().sqrt();
        if let Some(limit) = joint["limit"].as_f64().filter(|limit| norm > *limit) {
            phi.iter_mut().for_each(|x| *x *= limit / norm);
        }
        phi
    }

    fn weights(&self, world: &dyn Fn(&str) -> DMat4) -> Vec<f64> {
        let (length, sigma) = (self.table["length"].as_f64().unwrap(), self.table["sigma"].as_f64().unwrap());
        let bones = self.table["bones"].as_array().unwrap();
        let transforms: Vec<DMat4> = bones
            .iter()
            .map(|bone| {
                let rows: Vec<Vec<f64>> = bone["inverse_bind"].as_array().unwrap().iter().map(numbers).collect();
                let mut columns = [[0.0, 0.0, 0.0, 0.0], [0.0; 4], [0.0; 4], [0.0, 0.0, 0.0, 1.0]];
                (0..3).for_each(|r| (0..4).for_each(|c| columns[c][r] = rows[r][c]));
                world(bone["name"].as_str().unwrap()) * DMat4::from_cols_array_2d(&columns)
            })
            .collect();
        let g = |a: &[f64], b: &[f64]| {
            (-a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / (sigma * sigma)).exp()
        };
        let zero = [0.0; 12];
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let share = self.table["arc_cosine"].as_f64().unwrap_or(0.0);
        let arc = |a: &[f64], b: &[f64]| match (dot(a, a) * dot(b, b)).sqrt() {
            0.0 => 0.0,
            lengths => {
                let angle = (dot(a, b) / lengths).clamp(-1.0, 1.0).acos();
                lengths * (angle.sin() + (std::f64::consts::PI - angle) * angle.cos()) / std::f64::consts::PI
            }
        };
        let kernel = |phi: &[f64], p: &[f64]| {
            let gaussian = 0.5 * sigma * sigma * (g(phi, p) - g(phi, &zero) - g(&zero, p) + 1.0);
            (1.0 - share) * gaussian + share * arc(phi, p)
        };
        let lists = |value: &Value| value.as_array().into_iter().flatten().map(numbers).collect::<Vec<_>>();
        let (mut z, mut features) = (Vec::new(), Vec::<Vec<f64>>::new());
        for joint in self.table["joints"].as_array().unwrap() {
            let phi = self.feature(joint, &transforms, length);
            features.push(phi.clone());
            let k: Vec<f64> = match &joint["product"] {
                Value::Array(_) => {
                    let both = numbers(&joint["product"]);
                    let [x, y] = [0, 1].map(|i| &features[both[i] as usize]);
                    let pairs = lists(&joint["inducing"]).into_iter().zip(lists(&joint["second"]));
                    pairs.map(|(a, b)| kernel(x, &a) * kernel(y, &b) / (sigma * sigma)).collect()
                }
                _ => lists(&joint["inducing"]).iter().map(|p| kernel(&phi, p)).collect(),
            };
            for row in joint["inverse_factor"].as_array().unwrap() {
                z.push(numbers(row).iter().zip(&k).map(|(c, k)| c * k).sum::<f64>());
            }
        }
        for entry in self.table["gravity"]["bones"].as_array().into_iter().flatten() {
            let down = numbers(&self.table["gravity"]["down"]);
            let m = &transforms[entry["bone"].as_u64().unwrap() as usize];
            let seen = |axis: usize| {
                let axis = m.col(axis).truncate();
                axis.dot(DVec3::from_slice(&down)) / axis.length()
            };
            let mut x = [0, 1, 2].map(|axis| seen(axis) - down[axis]);
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            if let Some(limit) = entry["limit"].as_f64().filter(|limit| norm > *limit) {
                x.iter_mut().for_each(|x| *x *= limit / norm);
            }
            z.extend(x);
        }
        let clamp = numbers(&self.table["clamp"]);
        let matrix = self.table["matrix"].as_array().unwrap();
        let weight = |(row, offset): (&Value, f64)| {
            let row = numbers(row);
            assert_eq!(row.len(), z.len());
            (offset + row.iter().zip(&z).map(|(d, z)| d * z).sum::<f64>()).clamp(clamp[0], clamp[1])
        };
        matrix.iter().zip(numbers(&self.table["offset"])).map(weight).collect()
    }
}

#[test]
fn a_reader_of_the_documented_table_shows_what_the_export_reports() {
    let method = JointMethod {
        ridge: RidgeChoice::Fixed(0.003),
        arc_cosine: FactorChoice::Factor(0.5),
        gravity: GravityChoice::Down([0.0, -1.0, 0.0]),
        ..JointMethod::default()
    };
    shows_what_the_export_reports(method.clone(), 0.25);
    // Parts and products are bounded by the ball more often, which no shape holds.
    let parts = JointMethod { swing_twist: FormChoice::On, products: FactorChoice::Factor(1.0), ..method };
    shows_what_the_export_reports(parts, 0.4);
}

/// All shapes together leave at most `most` of what the weights alone leave of the model.
fn shows_what_the_export_reports(method: JointMethod, most: f64) {
    let arm = Arm::new(24, 8);
    let examples = ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(40, 5)), &arm.rig).unwrap();
    let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
    let method = Method::Joint(method);
    let model = fit(&loaded, &FitInput::new(&loaded.rig, &examples), &method, &silent).unwrap().model;
    let skeleton = arm.rig.skeleton();
    // The character walks and turns, so joint-to-world matrices are not those of the samples.
    let poses: Vec<BoneTransforms> = arm.clip(12).into_iter().map(|e| e.transforms).collect();
    let world = |pose: &BoneTransforms| skeleton.bones().map(|b| pose[b] * skeleton.bind()[b]).collect::<Vec<_>>();
    let frames = poses.iter().enumerate().map(|(at, pose)| Frame {
        label: at.to_string(),
        time: Some(at as f64 / 30.0),
        pose: WorldPose::new(world(pose)),
    });
    let motion = Motion { name: "swing".into(), frames: frames.collect() };
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| reserve_file(&folder.path().join(name), Existing::Keep).unwrap();
    let (mut left, mut held) = (vec![], 0);
    for (name, shapes) in [("four", Some(4)), ("twelve", Some(12)), ("all", None)] {
        let (glb, json) = (place(&format!("{name}.glb")), place(&format!("{name}.json")));
        let settings = DriverSettings { shapes, influences: None };
        let driven = export_driven(
            &model,
            Some(&motion),
            settings,
            MorphNormals::Written,
            (&glb, Some(&json), &Default::default()),
            &silent,
        )
        .unwrap();
        let text = std::fs::read_to_string(json.path()).unwrap();
        let reader = Reader::new(&text);
        // Far beyond training, where limits and clamps act, against the program's own evaluation.
        let table = dermis_io::driver_table::read_joints(text.as_bytes()).unwrap();
        let mut random = dermis_testkit::Random::new(11);
        for _ in 0..20 {
            let wild = world(&arm.wild(&mut random, 3.0));
            let bone = |name: &str| wild[arm.rig.skeleton().find(name).unwrap().get()];
            let bones = IndexVec::new(table.bones.iter().map(|b| bone(&b.name)).collect());
            let own = table.weights(&table.coordinates(&table.bone_transforms(&bones)));
            let found = reader.weights(&|name| DMat4::from(bone(name)));
            assert!(found.iter().zip(&own).all(|(a, b)| (a - b).abs() < 1e-9));
            held += own[1..].iter().filter(|w| **w == 0.0 || **w == 1.0).count();
        }
        let contents = gltf::read(&std::fs::read(glb.path()).unwrap(), name, &|_, _| unreachable!()).unwrap();
        let (mesh, weights) = (contents.mesh.as_ref().unwrap(), contents.weights.as_ref().unwrap());
        let skeleton = contents.skeleton.as_ref().unwrap();
        let names: Vec<&str> = contents.morphs.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(reader.table["shapes"], serde_json::json!(names));
        assert_eq!(contents.morphs.len(), driven.shapes);
        let bind = |bone: &str| DMat4::from(skeleton.bind()[skeleton.find(bone).unwrap()]);
        let at_rest = reader.weights(&bind);
        assert!(at_rest.iter().zip(numbers(&reader.table["offset"])).all(|(a, b)| (a - b).abs() < 1e-6));
        let clip = &contents.clips[0];
        let (mut runner, mut squares, mut largest) = (WideRunner::new(model.baked()), 0.0, 0.0f64);
        for (time, pose) in clip.key_times.iter().zip(&poses) {
            let frame = (clip.sample)(*time);
            let bone = |bone: &str| DMat4::from(frame.pose.bones[skeleton.find(bone).unwrap()]);
            let found = reader.weights(&bone);
            // The clip's rotations and translations are stored in single precision.
            for (found, baked) in found.iter().zip(&frame.morph_weights) {
                assert!((found - baked).abs() < 2e-5, "{found} {baked}");
            }
            let m = skeleton.bone_transforms(&frame.pose);
            let skin = runner.run(pose, None).unwrap();
            for (v, target) in skin.iter().enumerate() {
                let moved: DVec3 = contents.morphs.iter().zip(&found).map(|(t, w)| t.deltas[v] * *w).sum();
                let p = mesh.positions[v] + moved;
                let shown: DVec3 = weights.of(v).iter().map(|&(b, w)| m[b].transform_point3(p) * w).sum();
                squares += shown.distance_squared(*target);
                largest = largest.max(shown.distance(*target));
            }
        }
        let rms = (squares / (poses.len() * mesh.positions.len()) as f64).sqrt();
        let reported = driven.motion.unwrap();
        assert_eq!(reported.poses, poses.len());
        assert!(
            (rms - reported.shapes.0).abs() < 1e-6 && (largest - reported.shapes.1).abs() < 5e-6,
            "{rms} {largest}"
        );
        assert!(reported.shapes.0 < reported.weights_alone.0);
        left.push((reported.shapes.0, reported.all_shapes.0, reported.weights_alone.0));
    }
    assert!(held > 0, "some clamp acts");

    assert!(left[1].0 < left[0].0 && left[2].0 < most * left[2].2, "{left:?}");
    assert!((left[2].0 - left[2].1).abs() < 1e-6, "all shapes are all shapes: {left:?}");
}

#[test]
fn what_cannot_be_driven_is_refused_by_name() {
    let arm = Arm::new(24, 8);
    let examples = ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(24, 5)), &arm.rig).unwrap();
    let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
    let method = Method::Joint(JointMethod { ridge: RidgeChoice::Fixed(0.01), ..JointMethod::default() });
    let mut model = fit(&loaded, &FitInput::new(&loaded.rig, &examples), &method, &silent).unwrap().model;
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| reserve_file(&folder.path().join(name), Existing::Keep).unwrap();
    let refused = |model: &ModelFile, shapes| {
        let settings = DriverSettings { shapes, ..DriverSettings::default() };
        let made = export_driven(
            model,
            None,
            settings,
            MorphNormals::Written,
            (&place("a.glb"), Some(&place("a.json")), &Default::default()),
            &silent,
        );
        made.expect_err("it was taken").to_string()
    };
    assert!(refused(&model, Some(1)).contains("two at least"));
    model.header.report = serde_json::json!({});
    assert!(refused(&model, None).contains("ridge"));
    model.model = model.model.with_training(None).unwrap();
    assert!(refused(&model, None).contains("training poses"));
    let baked = model.baked().clone().without_correction();
    model.model = model.model.with_baked(baked).unwrap();
    assert!(refused(&model, None).contains("linear blend skinning alone"));
}
