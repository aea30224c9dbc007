//! Further models: animation space, bone heat, rotational regression, springs. The other cases of this file await their models.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_fit::psd::eigenskin::{Kept, truncated};
use dermis_fit::{AnimationSpaceSettings, Folds, Training, fit_animation_space, silent};
use dermis_rig::glam::DAffine3;
use dermis_rig::{Example, Influences, Skeleton};
use dermis_solve::faer::Mat;

pub(crate) const METHODS: &[Method] = &[
    Method {
        name: "animation_space",
        inputs: &["p", "M", "target"],
        answers: &["a", "eval_train"],
        run: animation_space,
    },
    Method { name: "eigenskin", inputs: &["D"], answers: &["reconstruction", "energy"], run: eigenskin },
    crate::heat::BONE_HEAT,
    crate::motion::ROTATION_REGRESSION,
    crate::motion::SPRING,
    crate::motion::SECONDARY,
];

/// A matrix of examples × (vertices · 3), truncated.
fn eigenskin(case: &Case) -> Result<Answers, CaseError> {
    let array = case.array("D")?;
    let (leading, points) = array.points("D")?;
    let [examples, vertices] = leading[..] else {
        return Err(CaseError::Malformed { key: "D".into(), reason: "is not examples × vertices × 3".into() });
    };
    let d = Mat::from_fn(examples, 3 * vertices, |s, c| points[s * vertices + c / 3][c % 3]);
    let kept = Kept::Count(case.number("k")? as usize);
    let (c, u, energy) = truncated(d.as_ref(), kept).map_err(CaseError::refused)?;
    let near = &c * &u;
    let numbers = (0..examples).flat_map(|s| (0..3 * vertices).map(move |i| (s, i))).map(|(s, i)| near[(s, i)]);
    let mut answers = Answers::default();
    answers.add("reconstruction", Array::new(&[examples, vertices, 3], numbers.collect()));
    answers.add("energy", Array::scalar(energy));
    Ok(answers)
}

/// One vertex, its prior equal shares of all bones.
fn animation_space(case: &Case) -> Result<Answers, CaseError> {
    let (_, rest) = case.array("p")?.points("p")?;
    let (_, poses) = case.array("M")?.poses("M")?;
    let (_, targets) = case.array("target")?.points("target")?;
    CaseError::unless_equal(("p", rest.len()), ("one vertex", 1))?;
    CaseError::unless_equal(("M", poses.len()), ("target", targets.len()))?;
    let bones = poses.first().map_or(0, |pose| pose.len());
    let names = (0..bones).map(|b| b.to_string()).collect();
    let skeleton =
        Skeleton::new(names, vec![None; bones], vec![DAffine3::IDENTITY; bones]).map_err(CaseError::refused)?;
    let examples: Vec<Example> = poses
        .into_iter()
        .zip(&targets)
        .map(|(transforms, x)| Example {
            label: String::new(),
            time: None,
            transforms,
            positions: vec![*x],
            importance: 1.0,
            local: None,
        })
        .collect();
    let base = vec![rest.clone(); examples.len()];
    let length = case.number("L").unwrap_or(1.0);
    let training = Training { skeleton: &skeleton, rest: &rest, length, examples: &examples, base: (&base).into() };
    let maps = Influences::from_dense(&vec![1.0; bones], bones).map_err(CaseError::refused)?;
    let settings = AnimationSpaceSettings {
        origin: dermis_rig::glam::DVec3::ZERO,
        lambda: Some(case.number("ridge")?),
        folds: Folds::Single,
        grid: vec![1.0],
        tolerance: 1.0,
    };
    let fitted = fit_animation_space(&training, &maps, None, &settings, &silent).map_err(CaseError::refused)?;
    let a = fitted.space.terms.entries().iter().flat_map(|(_, a)| a.to_array()).collect();
    let eval: Vec<_> = examples.iter().map(|e| fitted.space.at(0, &e.transforms)).collect();
    let mut answers = Answers::default();
    answers.add("a", Array::new(&[bones, 4], a));
    answers.add("eval_train", Array::from_points(&[eval.len()], &eval));
    Ok(answers)
}
