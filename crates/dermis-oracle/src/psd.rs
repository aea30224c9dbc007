//! Pose-space deformation: displacements in both forms, interpolation, smoothing, leave-one-out, directions.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::pose_space::{Coordinates, KernelValues, coordinate, difference, square};
use dermis_deform::{Base, PoseSpace, lbs};
use dermis_fit::psd::{EXACT, Form, Psd, PsdSettings, fit_psd, pull_back};
use dermis_fit::{Folds, Training, silent};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::from_rotation_vector;
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Skeleton};
use dermis_solve::Interpolation;
use dermis_solve::faer::Mat;

pub(crate) const METHODS: &[Method] = &[
    Method {
        name: "distances",
        inputs: &["R", "joint_weights"],
        answers: &["chord_sq", "rotvec_sq_weighted", "sigma_nn_chord"],
        run: distances,
    },
    Method { name: "linear_term", inputs: &["R", "delta", "R_eval"], answers: &["delta_eval"], run: linear_term },
    Method {
        name: "duplicates",
        inputs: &["x", "delta"],
        answers: &["x_merged", "delta_merged", "labels"],
        run: duplicates,
    },
    Method {
        name: "forward_inverse",
        inputs: &["P", "W", "M", "R", "target"],
        answers: &["delta_forward", "delta_inverse", "weights_inverse", "eval_forward", "eval_inverse"],
        run: forward_inverse,
    },
    Method {
        name: "sigma_by_leave_one_out",
        inputs: &["R", "delta", "grid"],
        answers: &["cost", "sigma", "loo_at_sigma"],
        run: sigma,
    },
    Method {
        name: "smoothing",
        inputs: &["R", "delta", "rho", "R_eval"],
        answers: &["loo", "delta_train", "delta_eval"],
        run: smoothing,
    },
    Method {
        name: "direction_angle",
        inputs: &["theta", "d_example"],
        answers: &["forward_angle", "inverse_angle"],
        run: directions,
    },
];

/// (poses, joints, 3, 3): a pose per row, of a root that stays and one bone below it per joint.
fn rotations(case: &Case, key: &str) -> Result<Vec<BoneTransforms>, CaseError> {
    let (leading, turns) = case.array(key)?.matrices(key)?;
    let [_, joints] = leading[..] else {
        return Err(CaseError::Malformed { key: key.into(), reason: "is not poses × joints".into() });
    };
    let pose = |turns: &[_]| {
        let bones = turns.iter().map(|turn| DAffine3::from_mat3(*turn));
        BoneTransforms::new(std::iter::once(DAffine3::IDENTITY).chain(bones).collect())
    };
    Ok(turns.chunks_exact(joints.max(1)).map(pose).collect())
}

/// (poses, vertices, 3) as one list of points per pose.
fn frames(case: &Case, key: &str) -> Result<Vec<Vec<DVec3>>, CaseError> {
    let (leading, points) = case.array(key)?.points(key)?;
    match leading[..] {
        [_, vertices] if vertices > 0 => Ok(points.chunks_exact(vertices).map(<[DVec3]>::to_vec).collect()),
        _ => Err(CaseError::Malformed { key: key.into(), reason: "is not poses × vertices × 3".into() }),
    }
}

fn from_frames(frames: &[Vec<DVec3>]) -> Array {
    Array::from_points(&[frames.len(), frames.first().map_or(0, Vec::len)], &frames.concat())
}

/// φ(x_s, x_t), the bind pose an example like the others.
fn gaussians(poses: &[BoneTransforms], sigma: f64) -> Mat<f64> {
    let x = |s: usize| poses[s].iter().map(|bone| coordinate(&DAffine3::IDENTITY, bone)).collect::<Vec<_>>();
    Mat::from_fn(poses.len(), poses.len(), |s, t| {
        let d: f64 = x(s).iter().zip(&x(t)).map(|(x, y)| square(&difference(x, y))).sum();
        (-d / (sigma * sigma)).exp()
    })
}

fn matrix(frames: &[Vec<DVec3>]) -> Mat<f64> {
    Mat::from_fn(frames.len(), 3 * frames.first().map_or(0, Vec::len), |s, c| frames[s][c / 3][c % 3])
}

fn from_matrix(m: &Mat<f64>) -> Array {
    let numbers = (0..m.nrows()).flat_map(|s| (0..m.ncols()).map(move |c| m[(s, c)])).collect();
    Array::new(&[m.nrows(), m.ncols() / 3, 3], numbers)
}

/// Fits displacements of examples in the world over nothing, every joint relevant to every vertex.
fn fit(poses: &[BoneTransforms], asked: &[Vec<DVec3>], sigma: f64, smoothing: f64) -> Result<PoseSpace, CaseError> {
    let settings =
        PsdSettings { sigma: Some(sigma), smoothing: Some(smoothing), guard: false, ..PsdSettings::new(false) };
    Ok(fit_with(poses, asked, settings)?.correction)
}

fn fit_with(poses: &[BoneTransforms], asked: &[Vec<DVec3>], settings: PsdSettings) -> Result<Psd, CaseError> {
    CaseError::unless_equal(("poses", poses.len()), ("displacements", asked.len()))?;
    let (bones, vertices) = (poses.first().map_or(0, |p| p.len()), asked.first().map_or(0, Vec::len));
    let parents = (0..bones).map(|bone| (bone > 0).then(|| BoneIndex::new(0))).collect();
    let names = (0..bones).map(|bone| bone.to_string()).collect();
    let skeleton = Skeleton::new(names, parents, vec![DAffine3::IDENTITY; bones]).map_err(CaseError::refused)?;
    let maps = Influences::from_dense(&vec![1.0; bones * vertices], bones).map_err(CaseError::refused)?;
    let examples = poses.iter().zip(asked).enumerate().map(|(s, (pose, positions))| Example {
        label: s.to_string(),
        time: None,
        transforms: pose.clone(),
        positions: positions.clone(),
        importance: 1.0,
        local: None,
    });
    let base = vec![vec![DVec3::ZERO; vertices]; poses.len()];
    let training = Training {
        skeleton: &skeleton,
        rest: &base[0],
        length: 1.0,
        examples: &examples.collect::<Vec<_>>(),
        base: (&base).into(),
    };
    let settings = PsdSettings { form: Form::Forward, ..settings };
    fit_psd(&training, &Base::Given, &[maps], &settings, &silent).map_err(CaseError::refused)
}

fn distances(case: &Case) -> Result<Answers, CaseError> {
    let poses = rotations(case, "R")?;
    let weights = case.array("joint_weights")?.data;
    let between = |coordinates: Coordinates, weights: &[f64]| {
        let x = |pose: &BoneTransforms| -> Vec<_> {
            pose.iter().skip(1).map(|bone| coordinates.of(&bone.matrix3, DVec3::X)).collect()
        };
        let of = |s: &BoneTransforms, t: &BoneTransforms| -> f64 {
            x(s).iter().zip(&x(t)).zip(weights).map(|((x, y), a)| a * square(&difference(x, y))).sum()
        };
        let all = poses.iter().flat_map(|s| poses.iter().map(|t| of(s, t)).collect::<Vec<_>>());
        Array::new(&[poses.len(), poses.len()], all.collect())
    };
    // A fit that moves one vertex in every pose measures its examples.
    let asked: Vec<_> = (0..poses.len()).map(|s| vec![DVec3::X * s as f64]).collect();
    let plain = PsdSettings { sigma: Some(1.0), smoothing: Some(EXACT), guard: false, ..PsdSettings::new(false) };
    let mut answers = Answers::default();
    answers.add("chord_sq", between(Coordinates::Chord, &vec![1.0; weights.len()]));
    answers.add("rotvec_sq_weighted", between(Coordinates::RotationVector, &weights));
    answers.add("sigma_nn_chord", Array::scalar(fit_with(&poses, &asked, plain)?.report.spacing));
    Ok(answers)
}

fn linear_term(case: &Case) -> Result<Answers, CaseError> {
    let (poses, asked) = (rotations(case, "R")?, frames(case, "delta")?);
    let settings = PsdSettings {
        coordinates: Coordinates::RotationVector,
        linear: true,
        sigma: Some(case.number("sigma")?),
        smoothing: Some(EXACT),
        guard: false,
        ..PsdSettings::new(false)
    };
    let model = fit_with(&poses, &asked, settings)?.correction;
    let mut answers = Answers::default();
    answers.add("delta_eval", from_frames(&displacements(&model, &rotations(case, "R_eval")?)));
    Ok(answers)
}

/// Coordinates are rotation vectors. The centres of the fitted model are the merged examples; without smoothing it has
/// their mean displacements there.
fn duplicates(case: &Case) -> Result<Answers, CaseError> {
    let asked = frames(case, "delta")?;
    let x = frames(case, "x")?;
    let pose = |x: &Vec<DVec3>| {
        let turns = x.iter().map(|v| DAffine3::from_mat3(DMat3::from_quat(from_rotation_vector(*v))));
        BoneTransforms::new(std::iter::once(DAffine3::IDENTITY).chain(turns).collect())
    };
    let poses: Vec<_> = x.iter().map(pose).collect();
    let settings = PsdSettings {
        coordinates: Coordinates::RotationVector,
        sigma: Some(1.0),
        smoothing: Some(1e-15),
        duplicates: case.number("merge_tol")?,
        guard: false,
        ..PsdSettings::new(false)
    };
    let model = fit_with(&poses, &asked, settings)?.correction;
    // The bind pose is never a centre: it is met by construction, and is example 0 here.
    let leaders: Vec<usize> = std::iter::once(0).chain(model.kernel.centres(0).iter().map(|&s| s as usize)).collect();
    let far = |s: usize, t: usize| x[s].iter().zip(&x[t]).map(|(a, b)| (*a - *b).length_squared()).sum::<f64>();
    let nearest = |s: usize| {
        let at = (0..leaders.len()).min_by(|&a, &b| far(s, leaders[a]).total_cmp(&far(s, leaders[b])));
        at.unwrap_or(0) as f64
    };
    let pick = |list: &[Vec<DVec3>]| leaders.iter().map(|&s| list[s].clone()).collect::<Vec<_>>();
    let merged: Vec<_> = leaders.iter().map(|&s| poses[s].clone()).collect();
    let mut answers = Answers::default();
    answers.add("x_merged", from_frames(&pick(&x)));
    answers.add("delta_merged", from_frames(&displacements(&model, &merged)));
    answers.add("labels", Array::new(&[x.len()], (0..x.len()).map(nearest).collect()));
    Ok(answers)
}

fn displacements(model: &PoseSpace, poses: &[BoneTransforms]) -> Vec<Vec<DVec3>> {
    let of = |pose| {
        let mut values = vec![0.0; model.kernel.values()];
        model.kernel.evaluate(pose, &mut KernelValues::default(), &mut values, |k| k);
        (0..model.groups.len()).map(|v| model.displacement(v, &values)).collect()
    };
    poses.iter().map(of).collect()
}

fn forward_inverse(case: &Case) -> Result<Answers, CaseError> {
    let (_, rest) = case.array("P")?.points("P")?;
    let (_, poses) = case.array("M")?.poses("M")?;
    let (_, unseen) = case.array("M_eval")?.poses("M_eval")?;
    let weights = case.array("W")?.influences("W", poses.first().map_or(0, |pose| pose.len()))?;
    CaseError::unless_equal(("P", rest.len()), ("W", weights.vertices()))?;
    let (turns, unseen_turns) = (rotations(case, "R")?, rotations(case, "R_eval")?);
    let (targets, sigma) = (frames(case, "target")?, case.number("sigma")?);
    CaseError::unless_equal(("M", poses.len()), ("target", targets.len()))?;
    let skin = |rest: &[DVec3], pose: &BoneTransforms| {
        let mut out = vec![DVec3::ZERO; rest.len()];
        lbs(rest, &weights, pose, &mut out);
        out
    };
    let base = Base::Lbs(weights.clone());
    let (mut forward, mut inverse) = (Vec::new(), Vec::new());
    for (pose, target) in poses.iter().zip(&targets) {
        let r: Vec<DVec3> = target.iter().zip(skin(&rest, pose)).map(|(x, p)| *x - p).collect();
        inverse.push((0..r.len()).map(|v| pull_back(base.linear(v, rest[v], pose), r[v]).0).collect());
        forward.push(r);
    }
    let mut answers = Answers::default();
    answers.add("delta_forward", from_frames(&forward));
    answers.add("delta_inverse", from_frames(&inverse));
    let smoothing = vec![EXACT; poses.len()];
    let solved = Interpolation::new(gaussians(&turns, sigma).as_ref(), &smoothing).map_err(CaseError::refused)?;
    answers.add("weights_inverse", from_matrix(&solved.weights(matrix(&inverse).as_ref())));
    let d = displacements(&fit(&turns, &forward, sigma, EXACT)?, &unseen_turns);
    let posed = unseen.iter().zip(&d);
    let posed = posed.map(|(pose, d)| skin(&rest, pose).iter().zip(d).map(|(p, d)| *p + *d).collect());
    answers.add("eval_forward", from_frames(&posed.collect::<Vec<_>>()));
    let d = displacements(&fit(&turns, &inverse, sigma, EXACT)?, &unseen_turns);
    let posed = unseen.iter().zip(&d);
    let posed = posed.map(|(pose, d)| skin(&rest.iter().zip(d).map(|(p, d)| *p + *d).collect::<Vec<_>>(), pose));
    answers.add("eval_inverse", from_frames(&posed.collect::<Vec<_>>()));
    Ok(answers)
}

/// Held-out residuals of every example, the bind pose among them.
fn left_out(poses: &[BoneTransforms], asked: &[Vec<DVec3>], sigma: f64, rho: &[f64]) -> Result<Mat<f64>, CaseError> {
    let solved = Interpolation::new(gaussians(poses, sigma).as_ref(), rho).map_err(CaseError::refused)?;
    let weights = solved.weights(matrix(asked).as_ref());
    solved.left_out(weights.as_ref(), &Folds::Single.ranges(poses.len())).map_err(CaseError::refused)
}

fn sigma(case: &Case) -> Result<Answers, CaseError> {
    let (poses, asked) = (rotations(case, "R")?, frames(case, "delta")?);
    let skip = case.array("skip")?.integers("skip")?;
    let rho = vec![case.number("ridge")?; poses.len()];
    let mut cost = Vec::new();
    let mut best: Option<(f64, f64, Mat<f64>)> = None;
    for &sigma in &case.array("grid")?.data {
        let e = left_out(&poses, &asked, sigma, &rho)?;
        let counted = (0..e.nrows()).filter(|s| !skip.contains(&(*s as i64)));
        let sum: f64 = counted.map(|s| e.row(s).squared_norm_l2()).sum();
        cost.push(sum);
        if best.as_ref().is_none_or(|b| sum < b.0) {
            best = Some((sum, sigma, e));
        }
    }
    let mut answers = Answers::default();
    answers.add("cost", Array::new(&[cost.len()], cost));
    if let Some((_, sigma, e)) = best {
        answers.add("sigma", Array::scalar(sigma));
        answers.add("loo_at_sigma", from_matrix(&e));
    }
    Ok(answers)
}

fn smoothing(case: &Case) -> Result<Answers, CaseError> {
    let (poses, asked) = (rotations(case, "R")?, frames(case, "delta")?);
    let (rho, sigma) = (case.array("rho")?.data, case.number("sigma")?);
    let mut answers = Answers::default();
    answers.add("loo", from_matrix(&left_out(&poses, &asked, sigma, &rho)?));
    // The model holds the bind pose, example 0, exactly; the others share one smoothing.
    let model = fit(&poses, &asked, sigma, rho.last().copied().unwrap_or(EXACT))?;
    answers.add("delta_train", from_frames(&displacements(&model, &poses)));
    answers.add("delta_eval", from_frames(&displacements(&model, &rotations(case, "R_eval")?)));
    Ok(answers)
}

/// One bone turning about z, an example at one angle: the direction of the correction at others.
fn directions(case: &Case) -> Result<Answers, CaseError> {
    let angle = case.number("theta_example")?;
    let example = match case.array("d_example")?.data[..] {
        [x, y] => DVec3::new(x, y, 0.0),
        _ => return Err(CaseError::Malformed { key: "d_example".into(), reason: "is not a planar vector".into() }),
    };
    let pose = |angle: f64| BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_z(angle)]);
    let turn = |angle: f64| pose(angle)[BoneIndex::new(1)].matrix3;
    let train = [pose(0.0), pose(angle)];
    let at_rest = pull_back(turn(angle), example).0;
    let thetas = case.array("theta")?.data;
    let unseen: Vec<_> = thetas.iter().map(|&theta| pose(theta)).collect();
    let angles = |d: DVec3| fit(&train, &[vec![DVec3::ZERO], vec![d]], 1.0, EXACT).map(|m| displacements(&m, &unseen));
    let (forward, inverse) = (angles(example)?, angles(at_rest)?);
    // Angles are compared as they stand: within one turn of what is expected.
    let near =
        |angle: f64, wanted: f64| angle + std::f64::consts::TAU * ((wanted - angle) / std::f64::consts::TAU).round();
    let mut answers = Answers::default();
    for (key, list, turned) in [("forward_angle", forward, false), ("inverse_angle", inverse, true)] {
        let wanted = case.expected(key)?.and_then(|mut w| w.pop()).map_or(vec![0.0; thetas.len()], |w| w.data);
        let posed = list.iter().zip(&thetas).map(|(d, &theta)| if turned { turn(theta) * d[0] } else { d[0] });
        let found = posed.zip(wanted).map(|(d, wanted)| near(d.y.atan2(d.x), wanted)).collect();
        answers.add(key, Array::new(&[thetas.len()], found));
    }
    Ok(answers)
}
