//! Lattices and wires.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_deform::{Lattice, Outside, Wire, Wires};
use dermis_rig::glam::{DAffine3, DVec3};

pub(crate) const METHODS: &[Method] = &[
    Method { name: "lattice", inputs: &["P", "origin", "axes", "disp"], answers: &["posed"], run: inside_lattice },
    Method { name: "wire", inputs: &["P", "ref", "cur", "radius"], answers: &["posed", "posed_m*"], run: wires },
];

/// Origin, three edges as rows, and displacements of the control points as (l+1, m+1, n+1, 3).
pub(crate) fn lattice(case: &Case) -> Result<Lattice, CaseError> {
    let malformed = |key: &str, reason: &str| CaseError::Malformed { key: key.into(), reason: reason.into() };
    let (_, origin) = case.array("origin")?.points("origin")?;
    let (_, edges) = case.array("axes")?.points("axes")?;
    let (points, moves) = case.array("disp")?.points("disp")?;
    let [origin] = origin[..] else { return Err(malformed("origin", "is not one point")) };
    let [a, b, c] = edges[..] else { return Err(malformed("axes", "is not three edges")) };
    let [l, m, n] = points[..] else { return Err(malformed("disp", "is not a grid of displacements")) };
    Lattice::new(origin, [a, b, c], [l, m, n], moves).map_err(CaseError::refused)
}

fn inside_lattice(case: &Case) -> Result<Answers, CaseError> {
    let (_, points) = case.array("P")?.points("P")?;
    let mut lattice = lattice(case)?;
    if case.name.contains("clamp") {
        lattice.outside = Outside::Clamped;
    }
    let mut posed = vec![DVec3::ZERO; points.len()];
    lattice.deform(&DAffine3::IDENTITY, &points, &mut posed);
    let mut answers = Answers::default();
    answers.add("posed", Array::from_points(&[points.len()], &posed));
    Ok(answers)
}

fn wires(case: &Case) -> Result<Answers, CaseError> {
    let (_, points) = case.array("P")?.points("P")?;
    let (references, currents, radii) = (case.arrays("ref")?, case.arrays("cur")?, case.array("radius")?.data);
    CaseError::unless_equal(("ref", references.len()), ("cur", currents.len()))?;
    CaseError::unless_equal(("ref", references.len()), ("radius", radii.len()))?;
    let scales = if case.param("scale").is_some() { case.array("scale")?.data } else { vec![1.0; radii.len()] };
    CaseError::unless_equal(("ref", references.len()), ("scale", scales.len()))?;
    let mut made = Vec::new();
    for (i, (reference, current)) in references.iter().zip(&currents).enumerate() {
        let (reference, current) = (reference.points("ref")?.1, current.points("cur")?.1);
        made.push(Wire::new(reference, current, radii[i], scales[i]).map_err(CaseError::refused)?);
    }
    let mut answers = Answers::default();
    for (key, exponent) in [("posed", 1.0), ("posed_m1", 1.0), ("posed_m0", 0.0)] {
        let mut posed = vec![DVec3::ZERO; points.len()];
        Wires::new(made.clone(), exponent).map_err(CaseError::refused)?.deform(
            &DAffine3::IDENTITY,
            &points,
            &mut posed,
        );
        answers.add(key, Array::from_points(&[points.len()], &posed));
    }
    Ok(answers)
}
