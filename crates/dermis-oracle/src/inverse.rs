//! Deformers inverted as black boxes, and the damped inverse of an affine map.

use crate::deformers::lattice;
use crate::{Answers, Array, Case, CaseError, Method as Row};
use dermis_deform::{Layer, Stack};
use dermis_fit::inverse::{InverseMethod, InverseSettings, damped_inverse, invert};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::DVec3;

pub(crate) const METHODS: &[Row] = &[
    Row {
        name: "lattice_then_lbs",
        inputs: &["P", "origin", "axes", "disp", "W", "M", "target"],
        answers: &["d"],
        run: black_box,
    },
    Row { name: "lattice", inputs: &["P", "origin", "axes", "disp", "target"], answers: &["d"], run: black_box },
    Row { name: "singular", inputs: &["A", "P", "target"], answers: &["d", "w"], run: singular },
];

/// Both methods must find the displacement; the answer is that of direction sets, moved by how far Gauss-Newton is from it.
fn black_box(case: &Case) -> Result<Answers, CaseError> {
    let (_, rest) = case.array("P")?.points("P")?;
    let (_, target) = case.array("target")?.points("target")?;
    let mut layers = vec![Layer::Lattice(lattice(case)?)];
    let mut pose = BoneTransforms::identity(1);
    if case.has("W") {
        let (_, poses) = case.array("M")?.poses("M")?;
        pose = poses.into_iter().next().unwrap_or(pose);
        layers.push(Layer::Lbs(case.array("W")?.influences("W", pose.len())?));
    }
    let stack = Stack::new(layers, rest.len(), pose.len()).map_err(CaseError::refused)?;
    let low = rest.iter().copied().reduce(DVec3::min).unwrap_or(DVec3::ZERO);
    let high = rest.iter().copied().reduce(DVec3::max).unwrap_or(DVec3::ONE);
    let with = |method| {
        let settings = InverseSettings { method, ..InverseSettings::new(low.distance(high)) };
        invert(&mut stack.posed(&pose), &rest, &target, &settings).map_err(CaseError::refused)
    };
    let (steps, searches) = (with(InverseMethod::GaussNewton)?, with(InverseMethod::DirectionSet)?);
    let apart = steps.displacements.iter().zip(&searches.displacements).map(|(a, b)| a.distance(*b));
    let apart = DVec3::X * apart.fold(0.0, f64::max);
    let displacements: Vec<DVec3> = searches.displacements.iter().map(|d| *d + apart).collect();
    let mut answers = Answers::default();
    answers.add("d", Array::from_points(&[rest.len()], &displacements));
    Ok(answers)
}

fn singular(case: &Case) -> Result<Answers, CaseError> {
    let (_, rest) = case.array("P")?.points("P")?;
    let (_, target) = case.array("target")?.points("target")?;
    let (_, maps) = case.array("A")?.affine("A")?;
    CaseError::unless_equal(("A", maps.len()), ("P", rest.len()))?;
    CaseError::unless_equal(("target", target.len()), ("P", rest.len()))?;
    let epsilon = case.number("eps")?;
    let solved = maps.iter().zip(&rest).zip(&target);
    let solved = solved.map(|((a, p), t)| damped_inverse(a.matrix3, *t - a.transform_point3(*p), epsilon));
    let (d, w): (Vec<DVec3>, Vec<DVec3>) = solved.unzip();
    let mut answers = Answers::default();
    answers.add("d", Array::from_points(&[rest.len()], &d));
    answers.add("w", Array::from_points(&[rest.len()], &w));
    Ok(answers)
}
