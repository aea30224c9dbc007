//! The joint model: its forest of joints, features, kernel and relevances, and whole fits.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::JointKernel;
use dermis_deform::guard::project;
use dermis_deform::joints::{CorrectionFrame, Joint, JointFeature, JointPose, Joints, joint_feature, shared_feature};
use dermis_deform::lbs;
use dermis_fit::joints::{JointTree, joint_centre, pivots};
use dermis_fit::{JointFit, JointSettings, Training, fit_joints, silent};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Skeleton};
use dermis_solve::cross_validation::TOLERANCE;
use serde_json::Value;

const RIG: &[&str] = &["P", "W", "parents", "L", "M"];

pub(crate) const METHODS: &[Method] = &[
    Method { name: "tree", inputs: &["W", "parents"], answers: &["edges"], run: tree },
    Method { name: "centres", inputs: &["W", "parents", "L", "M", "M_new"], answers: &["centre"], run: features },
    Method { name: "kernel", inputs: &["phi_x", "phi_y"], answers: &["k"], run: kernel },
    Method { name: "pivots", inputs: &["phi_train"], answers: &["pivots", "pivots_*"], run: coordinates },
    Method { name: "relevance", inputs: &["W", "parents"], answers: &["a", "b"], run: relevance },
    Method { name: "shared_features", inputs: RIG, answers: &["rows_*"], run: shared },
    Method { name: "fit", inputs: RIG, answers: &["new", "new_*", "train_*"], run: fit },
    Method { name: "guard", inputs: &["delta", "rho"], answers: &["projected"], run: guard },
    Method { name: "frozen", inputs: &["M_before", "M_turned"], answers: &["before", "turned"], run: frozen },
];

/// A character in some poses.
struct Inputs {
    skeleton: Skeleton,
    weights: Influences,
    rest: Vec<DVec3>,
    length: f64,
    poses: Vec<BoneTransforms>,
}

/// The skeleton of a case, all bind matrices identities: relative transforms do not depend on them.
fn skeleton(case: &Case) -> Result<Skeleton, CaseError> {
    let parents = case.array("parents")?.integers("parents")?;
    let parents: Vec<_> = parents.iter().map(|&p| usize::try_from(p).ok().map(BoneIndex::new)).collect();
    let names = (0..parents.len()).map(|b| b.to_string()).collect();
    let bind = vec![DAffine3::IDENTITY; parents.len()];
    Skeleton::new(names, parents, bind).map_err(CaseError::refused)
}

impl Inputs {
    fn read(case: &Case) -> Result<Self, CaseError> {
        let skeleton = skeleton(case)?;
        let weights = case.array("W")?.influences("W", skeleton.len())?;
        let rest = case.array("P")?.points("P")?.1;
        CaseError::unless_equal(("P", rest.len()), ("W", weights.vertices()))?;
        let poses = poses(case, "M", skeleton.len())?;
        Ok(Self { skeleton, weights, rest, length: case.number("L")?, poses })
    }

    fn tree(&self) -> JointTree {
        JointTree::new(&self.skeleton, &self.weights)
    }

    fn base(&self, pose: &BoneTransforms) -> Vec<DVec3> {
        let mut out = vec![DVec3::ZERO; self.rest.len()];
        lbs(&self.rest, &self.weights, pose, &mut out);
        out
    }

    /// A fit over linear blend skinning.
    fn fit(&self, targets: &[Vec<DVec3>], settings: &JointSettings) -> Result<JointFit, CaseError> {
        let poses = self.poses.iter().zip(targets).enumerate();
        let examples: Vec<Example> = poses
            .map(|(s, (transforms, positions))| Example {
                label: s.to_string(),
                time: None,
                transforms: transforms.clone(),
                positions: positions.clone(),
                importance: 1.0,
                local: None,
            })
            .collect();
        let base: Vec<Vec<DVec3>> = examples.iter().map(|e| self.base(&e.transforms)).collect();
        let (skeleton, rest) = (&self.skeleton, self.rest.as_slice());
        let training = Training { skeleton, rest, length: self.length, examples: &examples, base: (&base).into() };
        fit_joints(&training, &self.weights, settings, &silent).map_err(CaseError::refused)
    }

    /// A fit in which nothing is left to correct: what it knows of the joints.
    fn without_residuals(&self, settings: &JointSettings) -> Result<JointFit, CaseError> {
        let targets: Vec<_> = self.poses.iter().map(|pose| self.base(pose)).collect();
        self.fit(&targets, &JointSettings { lambda: Some(1.0), ..settings.clone() })
    }

    /// Base and correction in every pose.
    fn evaluate(&self, model: &Joints, poses: &[BoneTransforms]) -> Vec<Vec<DVec3>> {
        poses
            .iter()
            .map(|transforms| {
                let mut pose = JointPose::default();
                pose.prepare(model, transforms);
                let base = self.base(transforms);
                (0..base.len()).map(|v| base[v] + model.at(v, self.rest[v], &pose).0).collect()
            })
            .collect()
    }

    /// ρ per vertex.
    fn largest_residuals(&self, targets: &[Vec<DVec3>]) -> Vec<f64> {
        let mut largest = vec![0.0f64; self.rest.len()];
        for (pose, target) in self.poses.iter().zip(targets) {
            for ((most, p), x) in largest.iter_mut().zip(self.base(pose)).zip(target) {
                *most = most.max(p.distance(*x));
            }
        }
        largest
    }

    /// The targets of a case, one per pose.
    fn targets(&self, case: &Case) -> Result<Vec<Vec<DVec3>>, CaseError> {
        let points = case.array("target")?.points("target")?.1;
        let targets: Vec<_> = points.chunks_exact(self.rest.len().max(1)).map(<[DVec3]>::to_vec).collect();
        CaseError::unless_equal(("M", self.poses.len()), ("target", targets.len()))?;
        Ok(targets)
    }
}

fn poses(case: &Case, key: &'static str, bones: usize) -> Result<Vec<BoneTransforms>, CaseError> {
    let (_, poses) = case.array(key)?.poses(key)?;
    CaseError::unless_equal((key, poses.first().map_or(bones, |pose| pose.len())), ("bones", bones))?;
    Ok(poses)
}

fn flag(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

fn numbers(list: Option<&Value>) -> Vec<f64> {
    list.and_then(Value::as_array).map_or(vec![], |list| list.iter().filter_map(Value::as_f64).collect())
}

fn settings(case: &Case) -> Result<JointSettings, CaseError> {
    let mut settings = JointSettings::new(false);
    settings.tolerance = TOLERANCE;
    (settings.rounding, settings.sigma) = (0, 2.0);
    settings.frame = match case.param("frame").and_then(Value::as_str).unwrap_or("anchor") {
        "anchor" => CorrectionFrame::Anchor,
        "rest" => CorrectionFrame::Rest,
        other => return Err(CaseError::Malformed { key: "frame".into(), reason: format!("\"{other}\"") }),
    };
    for (key, value) in [("kappa", &mut settings.limit), ("beta", &mut settings.beta), ("sigma", &mut settings.sigma)] {
        *value = case.number(key).unwrap_or(*value);
    }
    if let Some(limited) = case.param("shared_limit").and_then(Value::as_bool) {
        settings.shared_limit = limited;
    }
    if let Ok(m) = case.count("m") {
        (settings.inducing, settings.inducing_sliding) = (m, m);
    }
    if let Some(grid) = case.expected("grid")? {
        settings.grid = grid.into_iter().flat_map(|g| g.data).collect();
    }
    Ok(settings)
}

/// A joint feature in the order of the cases: the rotation row after row, then the slide.
fn stored(f: &JointFeature) -> [f64; 12] {
    std::array::from_fn(|i| if i < 9 { f[4 * (i / 3) + i % 3] } else { f[4 * (i - 9) + 3] })
}

/// The reverse of [`stored`].
fn loaded(stored: &[f64]) -> JointFeature {
    std::array::from_fn(|i| if i % 4 < 3 { stored[3 * (i / 4) + i % 4] } else { stored[9 + i / 4] })
}

/// (.., 12): joint features, and the axes before.
fn loaded_features(case: &Case, key: &'static str) -> Result<(Vec<usize>, Vec<JointFeature>), CaseError> {
    let array = case.array(key)?;
    match array.shape.split_last() {
        Some((12, leading)) => Ok((leading.to_vec(), array.data.chunks_exact(12).map(loaded).collect())),
        _ => Err(CaseError::Shape { key: key.into(), found: array.shape.clone(), wanted: vec![12] }),
    }
}

fn edges(tree: &JointTree) -> Array {
    let ends = tree.edges.iter().flat_map(|(a, b)| [a.get() as f64, b.get() as f64]).collect();
    Array::new(&[tree.edges.len(), 2], ends)
}

fn tree(case: &Case) -> Result<Answers, CaseError> {
    let skeleton = skeleton(case)?;
    let weights = case.array("W")?.influences("W", skeleton.len())?;
    let mut answers = Answers::default();
    answers.add("edges", edges(&JointTree::new(&skeleton, &weights)));
    Ok(answers)
}

fn features(case: &Case) -> Result<Answers, CaseError> {
    let (inputs, settings) = (Inputs::read(case)?, settings(case)?);
    let tree = inputs.tree();
    let joints = tree.edges.len();
    let report = inputs.without_residuals(&settings)?.report;
    let train: Vec<&BoneTransforms> = inputs.poses.iter().collect();
    let centres: Vec<DVec3> =
        tree.edges.iter().map(|&edge| joint_centre(&train, edge, inputs.length, DVec3::ZERO)).collect();
    let mut answers = Answers::default();
    answers.add("edges", edges(&tree));
    answers.add("centre", Array::from_points(&[joints], &centres));
    answers.add("m_e", Array::new(&[joints], report.joints.iter().map(|joint| joint.largest).collect()));
    answers.add("removed", Array::new(&[joints], report.joints.iter().map(|joint| flag(joint.frozen)).collect()));
    for (ending, poses) in [("train", &inputs.poses), ("new", &poses(case, "M_new", inputs.skeleton.len())?)] {
        let (mut phi, mut slide, mut beyond) = (vec![], vec![], vec![]);
        for pose in poses {
            for ((&edge, &centre), summary) in tree.edges.iter().zip(&centres).zip(&report.joints) {
                let feature = joint_feature(pose.as_slice(), edge, Some(centre), inputs.length);
                let limit = settings.limit * summary.largest;
                let joint = Joint::new(edge, Some(centre), limit, vec![], settings.kernel())
                    .ok_or(CaseError::Missing { key: "joint".into() })?;
                let (limited, acts) = joint.limited(feature);
                phi.extend(if summary.frozen { [0.0; 12] } else { stored(&limited) });
                slide.extend(&stored(&feature)[9..]);
                beyond.push(flag(acts));
            }
        }
        answers.add(format!("phi_{ending}"), Array::new(&[poses.len(), joints, 12], phi));
        answers.add(format!("slide_{ending}"), Array::new(&[poses.len(), joints, 3], slide));
        answers.add(format!("beyond_limit_{ending}"), Array::new(&[poses.len(), joints], beyond));
    }
    Ok(answers)
}

fn kernel(case: &Case) -> Result<Answers, CaseError> {
    let (x, y) = (loaded_features(case, "phi_x")?.1, loaded_features(case, "phi_y")?.1);
    let table = |y: &[JointFeature], sigma: f64| {
        let kernel = JointKernel::gaussian(sigma);
        let entries = x.iter().flat_map(|x| y.iter().map(move |y| kernel.at(x, y))).collect();
        Array::new(&[x.len(), y.len()], entries)
    };
    let sigma = case.number("sigma")?;
    let mut answers = Answers::default();
    answers.add("k", table(&y, sigma));
    answers.add("k_zero", table(&[[0.0; 12]], sigma));
    answers.add("k_sigma_1", table(&y, 1.0));
    Ok(answers)
}

/// Inducing rotations and coordinates of one joint (S, 12), or of several (S, joints, 12).
fn coordinates(case: &Case) -> Result<Answers, CaseError> {
    let (shape, train) = loaded_features(case, "phi_train")?;
    let (most, stop) = (case.count("m")?, case.number("stop")?);
    let kernel = JointKernel::gaussian(case.number("sigma").unwrap_or(2.0));
    let mut answers = Answers::default();
    let indices = |chosen: &[usize]| Array::new(&[chosen.len()], chosen.iter().map(|&s| s as f64).collect());
    let [_, joints] = shape[..] else {
        answers.add("pivots", indices(&pivots(&train, kernel, most, stop)));
        return Ok(answers);
    };
    let (new_shape, new) = loaded_features(case, "phi_new")?;
    CaseError::unless_equal(("phi_train", joints), ("phi_new", new_shape.last().copied().unwrap_or(0)))?;
    for e in 0..joints {
        let of = |all: &[JointFeature]| -> Vec<JointFeature> { all.iter().skip(e).step_by(joints).copied().collect() };
        let (train, new) = (of(&train), of(&new));
        let chosen = pivots(&train, kernel, most, stop);
        let inducing = chosen.iter().map(|&s| train[s]).collect();
        let ends = (BoneIndex::new(0), BoneIndex::new(1));
        let joint = Joint::new(ends, Some(DVec3::ZERO), f64::INFINITY, inducing, kernel)
            .ok_or_else(|| CaseError::refused("the inducing rotations are dependent"))?;
        let z = |features: &[JointFeature]| {
            let mut out = Vec::new();
            features.iter().for_each(|f| joint.coordinates(&[*f], kernel, &mut out));
            out
        };
        let (z_train, z_new) = (z(&train), z(&new));
        let both: Vec<&[f64]> =
            z_new.chunks_exact(chosen.len()).chain(z_train.chunks_exact(chosen.len()).take(4)).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let gram = both.iter().flat_map(|a| both.iter().map(|b| dot(a, b))).collect();
        answers.add(format!("gram_{e}"), Array::new(&[both.len(), both.len()], gram));
        answers.add(format!("pivots_{e}"), indices(&chosen));
        answers.add(format!("z_train_{e}"), Array::new(&[train.len(), chosen.len()], z_train));
        answers.add(format!("z_new_{e}"), Array::new(&[new.len(), chosen.len()], z_new));
    }
    Ok(answers)
}

fn relevance(case: &Case) -> Result<Answers, CaseError> {
    let skeleton = skeleton(case)?;
    let weights = case.array("W")?.influences("W", skeleton.len())?;
    let tree = JointTree::new(&skeleton, &weights);
    let (vertices, joints, bones) = (weights.vertices(), tree.edges.len(), skeleton.len());
    let (mut a, mut b) = (vec![0.0; vertices * joints], vec![0.0; vertices * bones]);
    for (v, row) in tree.joint_relevance(&weights).iter().enumerate() {
        row.iter().for_each(|&(joint, x)| a[v * joints + joint as usize] = x);
    }
    for (v, row) in tree.bone_relevance(&weights).iter().enumerate() {
        row.iter().for_each(|&(bone, x)| b[v * bones + bone.get()] = x);
    }
    let mut answers = Answers::default();
    answers.add("edges", edges(&tree));
    answers.add("a", Array::new(&[vertices, joints], a));
    answers.add("b", Array::new(&[vertices, bones], b));
    Ok(answers)
}

/// The columns of the shared part at some vertices in the first new poses.
fn shared(case: &Case) -> Result<Answers, CaseError> {
    let (inputs, settings) = (Inputs::read(case)?, settings(case)?);
    let model = inputs.without_residuals(&settings)?.correction;
    let relevance = inputs.tree().bone_relevance(&inputs.weights);
    let all = poses(case, "M_new", inputs.skeleton.len())?;
    let chosen: Vec<&BoneTransforms> =
        numbers(case.param("poses")).into_iter().filter_map(|s| all.get(s as usize)).collect();
    let mut answers = Answers::default();
    for v in numbers(case.param("vertices")) {
        let v = v as usize;
        let (Some(&rest), Some(bones)) = (inputs.rest.get(v), relevance.get(v)) else {
            return Err(CaseError::Malformed { key: "vertices".into(), reason: format!("names vertex {v}") });
        };
        let mut rows = Vec::new();
        for transforms in &chosen {
            let mut pose = JointPose::default();
            pose.prepare(&model, transforms);
            let (frame, blend) = pose.frame(settings.frame, inputs.weights.of(v), rest);
            for axis in 0..3 {
                for &(bone, b) in bones {
                    let seen = shared_feature(&transforms[bone], (&frame, blend), rest, inputs.length);
                    rows.extend(seen.0.row(axis).to_array().map(|x| b * x));
                    rows.push(b * seen.1[axis]);
                }
            }
        }
        answers.add(format!("rows_{v}"), Array::new(&[chosen.len(), 3, 4 * bones.len()], rows));
    }
    let base: Vec<DVec3> = chosen.iter().flat_map(|pose| inputs.base(pose)).collect();
    answers.add("base_new", Array::from_points(&[chosen.len(), inputs.rest.len()], &base));
    Ok(answers)
}

fn skins(skins: &[Vec<DVec3>]) -> Array {
    Array::from_points(&[skins.len(), skins.first().map_or(0, Vec::len)], &skins.concat())
}

fn fit(case: &Case) -> Result<Answers, CaseError> {
    let (mut inputs, settings) = (Inputs::read(case)?, settings(case)?);
    let mut targets = inputs.targets(case)?;
    if let Ok(count) = case.count("train_poses") {
        inputs.poses.truncate(count);
        targets.truncate(count);
    }
    let new = poses(case, "M_new", inputs.skeleton.len())?;
    let mut answers = Answers::default();
    let rho = inputs.largest_residuals(&targets);
    answers.add("rho", Array::new(&[rho.len()], rho));
    let lambdas = numbers(case.param("lambdas"));
    for (i, &lambda) in lambdas.iter().enumerate() {
        let model = inputs.fit(&targets, &JointSettings { lambda: Some(lambda), ..settings.clone() })?.correction;
        let free = Joints { radii: vec![], ..model.clone() };
        let ending = if lambdas.len() > 1 { format!("_{i}") } else { String::new() };
        answers.add(format!("train{ending}"), skins(&inputs.evaluate(&free, &inputs.poses)));
        answers.add(format!("new_free{ending}"), skins(&inputs.evaluate(&free, &new)));
        answers.add(format!("new{ending}"), skins(&inputs.evaluate(&model, &new)));
    }
    if case.expected("loo")?.is_some() {
        let report = inputs.fit(&targets, &settings)?.report;
        let count = (inputs.rest.len() * inputs.poses.len()) as f64;
        let sums: Vec<f64> = report.sweep.iter().map(|(_, rms)| rms * rms * count).collect();
        answers.add("loo", Array::new(&[sums.len()], sums));
        answers.add("grid", Array::new(&[report.sweep.len()], report.sweep.iter().map(|p| p.0).collect()));
        answers.add("lambda_chosen", Array::scalar(report.lambda));
    }
    Ok(answers)
}

fn guard(case: &Case) -> Result<Answers, CaseError> {
    let ((shape, deltas), rho) = (case.array("delta")?.points("delta")?, case.array("rho")?.data);
    let factor = case.number("factor")?;
    let held: Vec<DVec3> = deltas.iter().zip(rho.iter().cycle()).map(|(d, rho)| project(*d, factor * rho).0).collect();
    let mut answers = Answers::default();
    answers.add("projected", Array::from_points(&shape, &held));
    Ok(answers)
}

/// A joint that hardly moved in training and is turned far: seen from the anchor, nothing may happen.
fn frozen(case: &Case) -> Result<Answers, CaseError> {
    let (inputs, settings) = (Inputs::read(case)?, settings(case)?);
    let targets = inputs.targets(case)?;
    let fitted = inputs.fit(&targets, &JointSettings { ball: false, ..settings })?;
    let bones = inputs.skeleton.len();
    let (before, turned) = (poses(case, "M_before", bones)?, poses(case, "M_turned", bones)?);
    let (at_before, at_turned) =
        (inputs.evaluate(&fitted.correction, &before), inputs.evaluate(&fitted.correction, &turned));
    let per_pose = turned.len() / before.len().max(1);
    let (most, floor) = (case.number("largest_change_over_rho")?, case.number("rho_floor")?);
    let mut changed = 0;
    for (v, rho) in inputs.largest_residuals(&targets).into_iter().enumerate() {
        let allowed = most * rho.max(floor);
        let Some(anchor) = inputs.weights.dominant(v) else { continue };
        let seen = |skins: &[Vec<DVec3>], poses: &[BoneTransforms], s: usize| {
            let back = invert(&poses[s][anchor]).unwrap_or(DAffine3::IDENTITY);
            back.transform_vector3(skins[s][v] - inputs.base(&poses[s])[v])
        };
        for s in 0..turned.len() {
            let from = seen(&at_before, &before, s / per_pose.max(1));
            let change = seen(&at_turned, &turned, s).distance(from);
            changed += usize::from(change.is_nan() || change > allowed);
        }
    }
    CaseError::unless_equal(("corrections changed by a joint frozen in training", changed), ("allowed", 0))?;
    let mut answers = Answers::default();
    let removed: Vec<f64> = fitted.report.joints.iter().map(|joint| flag(joint.frozen)).collect();
    answers.add("removed", Array::new(&[removed.len()], removed));
    answers.add("lambda_chosen", Array::scalar(fitted.report.lambda));
    answers.add("before", skins(&at_before));
    answers.add("turned", skins(&at_turned));
    Ok(answers)
}
