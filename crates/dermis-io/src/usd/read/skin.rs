//! What a mesh hangs on, and its blend shapes.

use super::damaged;
use super::layer::{Name, Numbers};
use super::skel::Skeleton;
use super::stage::Stage;
use super::xform::matrix;
use crate::between::{self, Knots, SAME_KNOT};
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use dermis_rig::glam::{DAffine3, DVec3};
use std::collections::HashMap;
use std::sync::Arc;

/// A mesh on the joints of a skeleton.
pub(super) struct Skin {
    pub skeleton: usize,
    /// From the mesh to the world as bound.
    pub bound: DAffine3,
    /// The skeleton's joint for each of the mesh's own.
    joints: Vec<Option<usize>>,
    indices: Vec<f64>,
    weights: Vec<f64>,
    /// Influences of a vertex.
    per: usize,
    /// All vertices have the same.
    is_rigid: bool,
}

/// A blend shape of a mesh, or one in between.
pub(super) struct Shape {
    /// What an animation calls it, or the shape that passes through it.
    pub whole: Name,
    /// Among several shapes of one name: where this one is shown.
    pub between: Option<Between>,
    /// Vertices and how far they are displaced, in the space of the mesh.
    pub offsets: Vec<(usize, DVec3)>,
}

/// One of the shapes that a weight passes through.
#[derive(Clone, Debug)]
pub(super) struct Between {
    pub knots: Arc<Knots>,
    /// The weight at which it is shown alone: 1 of the whole shape.
    pub knot: f64,
}

impl Between {
    /// Whether it is the whole shape itself.
    pub fn is_whole(&self) -> bool {
        self.knot == WHOLE
    }

    /// The weight of the shape.
    pub fn weight(&self, whole: f64) -> f64 {
        self.knots.weight(self.knot, whole)
    }
}

/// The weight at which a blend shape is shown whole.
const WHOLE: f64 = 1.0;

impl Shape {
    /// The name of its morph target.
    pub fn title(&self) -> String {
        match &self.between {
            Some(own) if !own.is_whole() => between::name(&short(&self.whole), own.knot),
            _ => short(&self.whole),
        }
    }
}

/// The skeleton that a mesh is bound to, by its number among `skeletons`.
pub(super) fn skeleton_of(
    stage: &Stage<'_, '_>,
    prim: usize,
    skeletons: &[Skeleton],
) -> Result<Option<usize>, ReadError> {
    // Only what is below a SkelRoot follows a skeleton.
    if !stage.above(prim).any(|at| stage.is(at, "SkelRoot")) {
        return Ok(None);
    }
    let target = stage.inherited_target(prim, "skel:skeleton")?;
    Ok(target.and_then(|target| skeletons.iter().position(|own| own.prim == target)))
}

impl Skin {
    /// The influences of a mesh with so many vertices; `None` if it has none.
    pub fn read(
        stage: &Stage<'_, '_>,
        prim: usize,
        (number, skeleton): (usize, &Skeleton),
        vertices: usize,
        flaws: &mut Flaws,
    ) -> Result<Option<Self>, ReadError> {
        let inherited = |name: &str| -> Result<Numbers, ReadError> {
            stage.inherited(prim, name).map_or_else(|| Ok(Numbers::default()), |own| own.rest())
        };
        let (indices, weights) = (inherited("primvars:skel:jointIndices")?, inherited("primvars:skel:jointWeights")?);
        let (indices, weights) = (indices.values, weights.values);
        if indices.is_empty() && weights.is_empty() {
            return Ok(None);
        }
        let path = stage.path(prim);
        let said = |f: fn(&super::layer::PropertySpec) -> Option<usize>| {
            stage.above(prim).find_map(|at| stage.said(at, "primvars:skel:jointIndices", f))
        };
        let per = said(|spec| spec.element_size).unwrap_or(1);
        let is_rigid = said(|spec| spec.interpolation.as_ref().map(|own| usize::from(&**own == "constant"))) != Some(0);
        let needed = if is_rigid { Some(per) } else { per.checked_mul(vertices) };
        if per == 0 || indices.len() != weights.len() || needed != Some(indices.len()) {
            return Err(damaged(format!(
                "mesh <{path}> has {} joint indices and {} weights, {per} for each of {} vertices",
                indices.len(),
                weights.len(),
                if is_rigid { 1 } else { vertices }
            )));
        }
        stage.budget.charge(vertices.saturating_mul(per).saturating_mul(48))?;
        let joints: Vec<Option<usize>> = match stage.inherited(prim, "skel:joints") {
            Some(own) => {
                let place: HashMap<&Name, usize> =
                    skeleton.joints.iter().enumerate().map(|(at, name)| (name, at)).collect();
                own.words()?.iter().map(|name| place.get(name).copied()).collect()
            }
            None => (0..skeleton.joints.len()).map(Some).collect(),
        };
        if let Some((at, joint)) = indices
            .iter()
            .zip(&weights)
            .enumerate()
            .find(|(_, (joint, weight))| !(**joint >= 0.0 && **joint < joints.len() as f64) && **weight != 0.0)
            .map(|(at, (joint, _))| (at, joint))
        {
            let vertex = at / per;
            let count = joints.len();
            return Err(damaged(format!("vertex {vertex} of <{path}> names joint {joint}, but there are {count}")));
        }
        let method =
            stage.inherited(prim, "primvars:skel:skinningMethod").or(stage.inherited(prim, "skel:skinningMethod"));
        if let Some(method) = method.map(|own| own.words()).transpose()?
            && method.first().is_some_and(|method| &**method == "dualQuaternion")
        {
            flaws.add(Flaw::Blending, || format!("<{path}>, by dual quaternions"));
        }
        let bound = inherited("primvars:skel:geomBindTransform")?.values;
        let bound = bound.as_array().map_or(DAffine3::IDENTITY, matrix);
        Ok(Some(Self { skeleton: number, bound, joints, indices, weights, per, is_rigid }))
    }

    /// Joints of the skeleton and weights of a vertex; an entry of weight 0 is padding.
    pub fn row(&self, vertex: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let from = if self.is_rigid { 0 } else { vertex * self.per };
        let own = self.indices[from..from + self.per].iter().zip(&self.weights[from..from + self.per]);
        own.filter(|(_, weight)| **weight != 0.0)
            .filter_map(|(joint, weight)| Some(((*self.joints.get(*joint as usize)?)?, *weight)))
    }
}

/// The blend shapes of a mesh.
pub(super) fn shapes(
    stage: &Stage<'_, '_>,
    prim: usize,
    vertices: usize,
    flaws: &mut Flaws,
) -> Result<Vec<Shape>, ReadError> {
    let names = stage.words(prim, "skel:blendShapes")?;
    let targets = stage.targets(prim, "skel:blendShapeTargets")?;
    let path = stage.path(prim);
    if names.len() != targets.len() {
        flaws.add(Flaw::CountMismatch, || {
            format!("{} blend shapes of <{path}>, {} targets", names.len(), targets.len())
        });
    }
    let mut made = Vec::new();
    for (name, target) in names.into_iter().zip(targets) {
        let Some(shape) = stage.find(&target.prim).filter(|&at| stage.is(at, "BlendShape")) else {
            flaws.add(Flaw::Reference, || format!("blend shape \"{name:.100}\" of <{path}>"));
            continue;
        };
        let places = stage.attribute(shape, "pointIndices").map(|own| own.rest()).transpose()?.map(|own| own.values);
        let mut parts: Vec<(f64, Name)> = betweens(stage, shape, flaws)?;
        let is_alone = parts.is_empty();
        parts.insert(parts.partition_point(|(knot, _)| *knot < WHOLE), (WHOLE, "offsets".into()));
        let knots = Arc::new(Knots::new(&parts.iter().map(|(knot, _)| *knot).collect::<Vec<_>>()));
        for (knot, attribute) in parts {
            let offsets = stage.numbers(shape, &attribute)?.values;
            let Some(offsets) = displaced(stage, (shape, &name), (&offsets, places.as_deref()), vertices, flaws)?
            else {
                continue;
            };
            let between = (!is_alone).then(|| Between { knots: Arc::clone(&knots), knot });
            let own = Shape { whole: Name::clone(&name), between, offsets };
            if knot != WHOLE {
                flaws.add(Flaw::Between, || format!("\"{}\"", own.title()));
            }
            made.push(own);
        }
    }
    Ok(made)
}

/// The shapes in between of a blend shape: their weights, ascending, and attributes. They are shown with the weights 0 and 1 as further
/// knots, so one at any of these, or at the weight of another, is left out.
fn betweens(stage: &Stage<'_, '_>, shape: usize, flaws: &mut Flaws) -> Result<Vec<(f64, Name)>, ReadError> {
    let is_one = |name: &Name| name.starts_with("inbetweens:") && !name.ends_with(":normalOffsets");
    let mut found: Vec<(f64, Name)> = Vec::new();
    for name in stage.properties(shape).into_iter().filter(is_one) {
        stage.budget.charge(100)?;
        let knot = stage.said(shape, &name, |spec| spec.weight).unwrap_or(0.0);
        let taken = [0.0, WHOLE].into_iter().chain(found.iter().map(|(own, _)| *own));
        if knot.is_finite() && taken.into_iter().all(|own| (own - knot).abs() > SAME_KNOT) {
            found.push((knot, name));
        } else {
            let what = || format!("<{}.{name:.100}>, in between at the weight {knot}", stage.path(shape));
            flaws.add(Flaw::Unsupported, what);
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(found)
}

/// Vertices and how far a list of offsets displaces them, in the space of the mesh; `None` if the list does not fit.
fn displaced(
    stage: &Stage<'_, '_>,
    (shape, name): (usize, &Name),
    (offsets, places): (&[f64], Option<&[f64]>),
    vertices: usize,
    flaws: &mut Flaws,
) -> Result<Option<Vec<(usize, DVec3)>>, ReadError> {
    let offsets = offsets.as_chunks::<3>().0;
    let count = places.map_or(vertices, <[f64]>::len);
    if !offsets.is_empty() && offsets.len() != count {
        let (found, path) = (offsets.len(), stage.path(shape));
        flaws.add(Flaw::CountMismatch, || format!("{found} offsets of blend shape <{path}> for {count} points"));
        return Ok(None);
    }
    stage.budget.charge(offsets.len().saturating_mul(40))?;
    let mut own = Vec::with_capacity(offsets.len());
    for (at, offset) in offsets.iter().enumerate() {
        let vertex = places.map_or(at as f64, |places| places[at]);
        if !(vertex >= 0.0 && vertex < vertices as f64) {
            return Err(damaged(format!("blend shape \"{name:.100}\" names vertex {vertex} of {vertices}")));
        }
        own.push((vertex as usize, DVec3::from_array(*offset)));
    }
    Ok(Some(own))
}
