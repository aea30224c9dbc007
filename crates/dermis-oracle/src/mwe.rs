//! Multi-weight enveloping: fits with every centring, ridge and anchor, their cross-validation, and single coefficients.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::enveloping::{Enveloping, PoseFeatures};
use dermis_fit::mwe::{
    Anchor, Centring, Mwe, MweSettings, RidgeMode, RowChoice, SolvePrecision, Solver, Strength, fit_mwe,
};
use dermis_fit::{Folds, Training, silent};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Skeleton};
use serde_json::Value;

pub(crate) const METHODS: &[Method] = &[
    Method { name: "weights", inputs: &["mu", "M", "base", "target"], answers: &["U"], run: coefficients },
    Method {
        name: "",
        inputs: &["mu", "M", "base", "target"],
        answers: &["eval", "eval_train", "eval_rest", "press", "press_blocks4", "gcv", "s_chosen"],
        run: fit,
    },
];

/// The inputs of a fit.
struct Inputs {
    rest: Vec<DVec3>,
    maps: Influences,
    skeleton: Skeleton,
    examples: Vec<Example>,
    base: Vec<Vec<DVec3>>,
    length: f64,
}

impl Inputs {
    fn read(case: &Case) -> Result<Self, CaseError> {
        let (_, poses) = case.array("M")?.poses("M")?;
        let bones = poses.first().map_or(0, |pose| pose.len());
        let maps = case.array("mu")?.influences("mu", bones)?;
        let vertices = maps.vertices();
        let targets = frames(case, "target", vertices)?;
        let base = frames(case, "base", vertices)?;
        CaseError::unless_equal(("M", poses.len()), ("target", targets.len()))?;
        CaseError::unless_equal(("M", poses.len()), ("base", base.len()))?;
        let rest = if case.has("P") { case.array("P")?.points("P")?.1 } else { vec![DVec3::ZERO; vertices] };
        CaseError::unless_equal(("P", rest.len()), ("mu", vertices))?;
        let scales = match case.param("pose_scale") {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_f64).collect(),
            _ => vec![1.0; poses.len()],
        };
        CaseError::unless_equal(("M", poses.len()), ("pose_scale", scales.len()))?;
        let names = (0..bones).map(|b| b.to_string()).collect();
        let skeleton =
            Skeleton::new(names, vec![None; bones], vec![DAffine3::IDENTITY; bones]).map_err(CaseError::refused)?;
        let examples = poses.into_iter().zip(targets).zip(scales).enumerate();
        let examples = examples
            .map(|(s, ((transforms, positions), importance))| Example {
                label: s.to_string(),
                time: None,
                transforms,
                positions,
                importance,
                local: None,
            })
            .collect();
        Ok(Self { rest, maps, skeleton, examples, base, length: case.number("L").unwrap_or(1.0) })
    }

    fn fit(&self, settings: &MweSettings) -> Result<Mwe, CaseError> {
        let training = Training {
            skeleton: &self.skeleton,
            rest: &self.rest,
            length: self.length,
            examples: &self.examples,
            base: (&self.base).into(),
        };
        fit_mwe(&training, &self.maps, settings, &silent).map_err(CaseError::refused)
    }
}

/// (poses, vertices, 3) as one list of points per pose.
fn frames(case: &Case, key: &'static str, vertices: usize) -> Result<Vec<Vec<DVec3>>, CaseError> {
    let (_, points) = case.array(key)?.points(key)?;
    if vertices == 0 || !points.len().is_multiple_of(vertices) {
        return Err(CaseError::Malformed {
            key: key.into(),
            reason: format!("is not poses × {vertices} vertices × 3"),
        });
    }
    Ok(points.chunks_exact(vertices).map(<[DVec3]>::to_vec).collect())
}

fn settings(case: &Case) -> Result<MweSettings, CaseError> {
    let text = |key: &str, default: &str| match case.param(key) {
        Some(Value::String(text)) => text.clone(),
        _ => default.to_owned(),
    };
    let unknown = |key: &str, value: &str| CaseError::Malformed { key: key.into(), reason: format!("\"{value}\"") };
    let anchor = match case.param("anchor") {
        Some(Value::Number(bone)) => Anchor::Bone(BoneIndex::new(bone.as_u64().unwrap_or(0) as usize)),
        _ => match text("anchor", "dominant").as_str() {
            "world" => Anchor::World,
            "root" => Anchor::Root,
            "dominant" => Anchor::Dominant,
            other => return Err(unknown("anchor", other)),
        },
    };
    let rows = match text("rows", "row").as_str() {
        "row" => RowChoice::Row,
        "full" => RowChoice::Full,
        "auto" => RowChoice::Auto,
        other => return Err(unknown("rows", other)),
    };
    let centring = match text("centring", "rest").as_str() {
        "rest" => Centring::Rest,
        "mean" => Centring::Mean,
        "raw" => Centring::Raw,
        "paper" => Centring::Paper,
        other => return Err(unknown("centring", other)),
    };
    let ridge = match text("sf_mode", "relative").as_str() {
        "absolute" => RidgeMode::Absolute,
        "paper" => RidgeMode::Paper,
        "unit" => RidgeMode::Unit,
        "relative" => RidgeMode::Relative,
        other => return Err(unknown("sf_mode", other)),
    };
    let strength = match text("s", "").as_str() {
        "press" => Strength::CrossValidated(Folds::Single),
        "gcv" => Strength::Gcv,
        _ => Strength::Given(case.number("s")?),
    };
    let grid = match case.param("s_grid") {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_f64).collect(),
        _ => match case.expected("grid")? {
            Some(grid) => grid.into_iter().flat_map(|g| g.data).collect(),
            None => dermis_fit::mwe::powers(1e-10, 10.0, 2),
        },
    };
    let number = |key: &str, default| case.number(key).unwrap_or(default);
    Ok(MweSettings {
        origin: DVec3::ZERO,
        anchor,
        rows,
        centring,
        ridge,
        strength,
        grid,
        tolerance: 1.0,
        eig_tol: number("eig_tol", 1e-10),
        svd_tol: number("svd_tol", 1e-12),
        duplicates: number("dup_tol", 1e-6),
        untouched: 1.0,
        guard: false,
        sweep_vertices: usize::MAX,
        solver: Solver::Batched,
        solve_in: SolvePrecision::Double,
    })
}

fn evaluate(correction: &Enveloping, poses: &[BoneTransforms], base: &[Vec<DVec3>]) -> Array {
    let mut all = Vec::new();
    for (pose, base) in poses.iter().zip(base) {
        let mut features = PoseFeatures::default();
        correction.features(pose, &mut features);
        all.extend((0..base.len()).map(|v| base[v] + correction.at(v, &features, pose).0));
    }
    Array::from_points(&[poses.len(), base.first().map_or(0, Vec::len)], &all)
}

fn fit(case: &Case) -> Result<Answers, CaseError> {
    let (inputs, settings) = (Inputs::read(case)?, settings(case)?);
    let fitted = inputs.fit(&settings)?;
    let mut answers = Answers::default();
    let vertices = inputs.rest.len();
    if case.has("M_eval") && case.has("base_eval") {
        let (_, poses) = case.array("M_eval")?.poses("M_eval")?;
        answers.add("eval", evaluate(&fitted.correction, &poses, &frames(case, "base_eval", vertices)?));
    }
    let poses: Vec<_> = inputs.examples.iter().map(|e| e.transforms.clone()).collect();
    answers.add("eval_train", evaluate(&fitted.correction, &poses, &inputs.base));
    let rest = [BoneTransforms::identity(inputs.skeleton.len())];
    answers.add("eval_rest", evaluate(&fitted.correction, &rest, std::slice::from_ref(&inputs.rest)));
    answers.add("s_chosen", Array::scalar(fitted.report.s));
    let scores = [
        ("press", Strength::CrossValidated(Folds::Single)),
        ("press_blocks4", Strength::CrossValidated(Folds::Blocks(4))),
        ("gcv", Strength::Gcv),
    ];
    for (key, strength) in scores {
        if case.expected(key)?.is_some() {
            let sweep = inputs.fit(&MweSettings { strength, ..settings.clone() })?.report.sweep;
            answers.add(key, Array::new(&[sweep.len()], sweep.iter().map(|p| p.score).collect()));
            answers.add("grid", Array::new(&[sweep.len()], sweep.iter().map(|p| p.s).collect()));
        }
    }
    Ok(answers)
}

/// U (3, 12·bones) or (3, 4·bones) of one vertex over all its bones; zero where the model keeps no term.
fn coefficients(case: &Case) -> Result<Answers, CaseError> {
    let (inputs, settings) = (Inputs::read(case)?, settings(case)?);
    let v = case.count("vertex")?;
    CaseError::unless_equal(("vertex in range", usize::from(v < inputs.rest.len())), ("yes", 1))?;
    let c = inputs.fit(&settings)?.correction;
    let bones: Vec<usize> = inputs.maps.of(v).iter().map(|(bone, _)| bone.get()).collect();
    let per_axis = c.rows.coefficients() / 3;
    let mut u = vec![0.0; 3 * per_axis * bones.len()];
    for at in c.terms.range(v) {
        let bone = c.pairs[c.terms.entries()[at] as usize].bone.get();
        let Some(place) = bones.iter().position(|&b| b == bone) else { continue };
        for axis in 0..3 {
            for entry in 0..per_axis {
                u[(axis * bones.len() + place) * per_axis + entry] =
                    c.coefficients[at * 3 * per_axis + axis * per_axis + entry];
            }
        }
    }
    let mut answers = Answers::default();
    answers.add("U", Array::new(&[3, per_axis * bones.len()], u));
    answers.add("bones", Array::new(&[bones.len()], bones.iter().map(|&b| b as f64).collect()));
    if let Some(anchor) = c.anchors[v] {
        answers.add("anchor", Array::scalar(anchor.get() as f64));
    }
    Ok(answers)
}
