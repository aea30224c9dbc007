//! A body and its clothes as objects of one mesh: the mesh of an object, and the model of the whole once the objects have theirs.

use crate::error::TransferError;
use crate::model::TOO_MANY;
use dermis_deform::base::AnimationSpace;
use dermis_deform::delta_mush::DirectDeltaMush;
use dermis_deform::joints::Joints;
use dermis_deform::pose_space::{Carrier, CompiledShapes};
use dermis_deform::{Base, Correction, Deformer};
use dermis_rig::glam::DVec3;
use dermis_rig::{Influences, Mesh, Rows};
use std::ops::Range;

/// Positions and triangles of a run of vertices.
///
/// # Panics
/// If the mesh has fewer vertices.
pub fn object_mesh(mesh: &Mesh, vertices: &Range<usize>) -> Mesh {
    let inside = |corner: &u32| vertices.contains(&(*corner as usize));
    let triangles = mesh.triangles.iter().filter(|triangle| triangle.iter().all(inside));
    Mesh {
        positions: mesh.positions[vertices.clone()].to_vec(),
        triangles: triangles.map(|triangle| triangle.map(|corner| corner - vertices.start as u32)).collect(),
        ..Mesh::default()
    }
}

/// Weights of a run of vertices.
///
/// # Errors
/// [`TransferError::Influences`].
///
/// # Panics
/// If there are weights of fewer vertices.
pub fn object_weights(weights: &Influences, vertices: &Range<usize>) -> Result<Influences, TransferError> {
    Ok(Influences::from_rows(vertices.clone().map(|v| weights.of(v).to_vec()))?)
}

/// Weights of a mesh, those of some runs of its vertices replaced.
///
/// # Errors
/// [`TransferError::Influences`].
pub fn joined_weights(whole: &Influences, objects: &[(Range<usize>, Influences)]) -> Result<Influences, TransferError> {
    let ranges: Vec<Range<usize>> = objects.iter().map(|(range, _)| range.clone()).collect();
    let of: Vec<&Influences> = objects.iter().map(|(_, weights)| weights).collect();
    Runs(&ranges).weights(whole, &of)
}

/// The model of a mesh, with those of some runs of its vertices in their places. They correct what the model corrects, as
/// [`carried_model`](crate::carried_model) does.
///
/// The base of a run is kept where it is of one kind with that of the mesh; else the run has the base that the mesh has there.
///
/// # Errors
/// [`TransferError::Part`] for corrections of different kinds, and for those that `carried_model` does not carry.
pub fn joined_model(whole: &Deformer, objects: &[(Range<usize>, Deformer)]) -> Result<Deformer, TransferError> {
    let ranges: Vec<Range<usize>> = objects.iter().map(|(range, _)| range.clone()).collect();
    let runs = Runs(&ranges);
    let base = runs.base(whole.base(), objects)?;
    let mut made = Deformer::new(whole.rest().to_vec(), base, None)?;
    for (at, correction) in whole.corrections().iter().enumerate() {
        let of = || objects.iter().map(|(_, model)| model.corrections().get(at));
        made = match correction {
            Correction::Joints(own) => {
                let of = of().map(|c| match c {
                    Some(Correction::Joints(joints)) => Ok(&**joints),
                    _ => Err(APART),
                });
                made.followed_by(runs.joints(own, &of.collect::<Result<Vec<_>, _>>()?)?)?
            }
            Correction::Shapes(own) => {
                let of = of().map(|c| match c {
                    Some(Correction::Shapes(shapes)) => Ok(shapes),
                    _ => Err(APART),
                });
                made.followed_by(runs.shapes(own, &of.collect::<Result<Vec<_>, _>>()?)?)?
            }
            Correction::Enveloping(_) | Correction::PoseSpace(_) => return Err(APART),
        };
    }
    Ok(made)
}

/// Corrections that do not go together.
const APART: TransferError = TransferError::Part { part: "a correction of another kind than that of the object" };

/// Runs of vertices, in ascending order, whose rows come from elsewhere.
struct Runs<'a>(&'a [Range<usize>]);

impl Runs<'_> {
    /// For each of `vertices` the run that it is in, if any, and its number there or in the whole.
    fn places(&self, vertices: usize) -> impl Iterator<Item = (Option<usize>, usize)> {
        (0..vertices).map(|v| match self.0.iter().position(|range| range.contains(&v)) {
            Some(run) => (Some(run), v - self.0[run].start),
            None => (None, v),
        })
    }

    fn rows<T: Clone>(&self, whole: &Rows<T>, of: &[&Rows<T>]) -> Result<Rows<T>, TransferError> {
        let mut made = Rows::default();
        for (run, v) in self.places(whole.len()) {
            made.push(run.map_or(whole, |run| of[run]).of(v).iter().cloned()).map_err(|_| TOO_MANY)?;
        }
        Ok(made)
    }

    /// One number per vertex; none without any.
    fn list<T: Clone>(&self, whole: &[T], of: &[&[T]]) -> Vec<T> {
        self.places(whole.len()).map(|(run, v)| run.map_or(whole, |run| of[run])[v].clone()).collect()
    }

    fn weights(&self, whole: &Influences, of: &[&Influences]) -> Result<Influences, TransferError> {
        let row = |(run, v): (Option<usize>, usize)| run.map_or(whole, |run| of[run]).of(v).to_vec();
        Ok(Influences::from_rows(self.places(whole.vertices()).map(row))?)
    }

    fn base(&self, whole: &Base, objects: &[(Range<usize>, Deformer)]) -> Result<Base, TransferError> {
        let bases = || objects.iter().map(|(_, model)| model.base());
        if let Base::DirectDeltaMush(own) = whole
            && let Some(of) = bases().map(mush_of).collect::<Option<Vec<_>>>()
        {
            let terms = self.rows(&own.terms, &of.iter().map(|mush| &mush.terms).collect::<Vec<_>>())?;
            let centres = self.list(&own.centres, &of.iter().map(|mush| &mush.centres[..]).collect::<Vec<_>>());
            return Ok(Base::DirectDeltaMush(DirectDeltaMush { terms, centres }));
        }
        if let Base::AnimationSpace(own) = whole
            && let Some(of) = bases().map(space_of).collect::<Option<Vec<_>>>()
        {
            let terms = self.rows(&own.terms, &of.iter().map(|space| &space.terms).collect::<Vec<_>>())?;
            return Ok(Base::AnimationSpace(AnimationSpace { terms }));
        }
        Ok(whole.clone())
    }

    fn joints(&self, whole: &Joints, of: &[&Joints]) -> Result<Joints, TransferError> {
        let list = |of_one: fn(&Joints) -> &[f64]| {
            self.list(of_one(whole), &of.iter().map(|one| of_one(one)).collect::<Vec<_>>())
        };
        let layers: Option<Vec<&CompiledShapes>> = of.iter().map(|one| one.layer.as_ref()).collect();
        Ok(Joints {
            weights: self.weights(&whole.weights, &of.iter().map(|one| &one.weights).collect::<Vec<_>>())?,
            terms: self.rows(&whole.terms, &of.iter().map(|one| &one.terms).collect::<Vec<_>>())?,
            coefficients: self
                .rows(&whole.coefficients, &of.iter().map(|one| &one.coefficients).collect::<Vec<_>>())?,
            shared: self.rows(&whole.shared, &of.iter().map(|one| &one.shared).collect::<Vec<_>>())?,
            shared_limits: list(|one| &one.shared_limits),
            radii: list(|one| &one.radii),
            layer: match &whole.layer {
                Some(layer) => Some(self.shapes(layer, &layers.ok_or(APART)?)?),
                None => None,
            },
            ..whole.clone()
        })
    }

    fn shapes(&self, whole: &CompiledShapes, of: &[&CompiledShapes]) -> Result<CompiledShapes, TransferError> {
        let (mut terms, mut displacements): (_, Vec<DVec3>) = (Rows::default(), vec![]);
        for (run, v) in self.places(whole.terms.len()) {
            let from = run.map_or(whole, |run| of[run]);
            terms.push(from.terms.of(v).iter().copied()).map_err(|_| TOO_MANY)?;
            displacements.extend(&from.displacements[from.terms.range(v)]);
        }
        let carriers = of.iter().map(|one| match &one.carrier {
            Carrier::Bones(bones) => &bones[..],
            Carrier::Base | Carrier::World => &[],
        });
        let carrier = match &whole.carrier {
            Carrier::Bones(bones) => Carrier::Bones(self.list(bones, &carriers.collect::<Vec<_>>())),
            same => same.clone(),
        };
        let radii = self.list(&whole.radii, &of.iter().map(|one| &one.radii[..]).collect::<Vec<_>>());
        Ok(CompiledShapes { terms, displacements, radii, carrier, ..whole.clone() })
    }
}

fn mush_of(base: &Base) -> Option<&DirectDeltaMush> {
    if let Base::DirectDeltaMush(mush) = base { Some(mush) } else { None }
}

fn space_of(base: &Base) -> Option<&AnimationSpace> {
    if let Base::AnimationSpace(space) = base { Some(space) } else { None }
}
