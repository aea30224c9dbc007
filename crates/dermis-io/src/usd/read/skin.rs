//! What a mesh hangs on, and its blend shapes.

use super::damaged;
use super::layer::{Name, Numbers};
use super::skel::Skeleton;
use super::stage::Stage;
use super::xform::matrix;
use crate::contents::{Flaw, ReadError};
use crate::flaws::Flaws;
use dermis_rig::glam::{DAffine3, DVec3};
use std::collections::HashMap;

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

/// A blend shape of a mesh.
pub(super) struct Shape {
    pub name: Name,
    /// Vertices and how far they are displaced, in the space of the mesh.
    pub offsets: Vec<(usize, DVec3)>,
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
        let offsets = stage.numbers(shape, "offsets")?;
        let places = stage.attribute(shape, "pointIndices").map(|own| own.rest()).transpose()?;
        let offsets = offsets.values.as_chunks::<3>().0;
        let count = places.as_ref().map_or(vertices, |places| places.values.len());
        if !offsets.is_empty() && offsets.len() != count {
            let (found, path) = (offsets.len(), stage.path(shape));
            flaws.add(Flaw::CountMismatch, || format!("{found} offsets of blend shape <{path}> for {count} points"));
            continue;
        }
        stage.budget.charge(offsets.len().saturating_mul(40))?;
        let mut own = Vec::with_capacity(offsets.len());
        for (at, offset) in offsets.iter().enumerate() {
            let vertex = places.as_ref().map_or(at as f64, |places| places.values[at]);
            if !(vertex >= 0.0 && vertex < vertices as f64) {
                return Err(damaged(format!("blend shape \"{name:.100}\" names vertex {vertex} of {vertices}")));
            }
            own.push((vertex as usize, DVec3::from_array(*offset)));
        }
        if stage.properties(shape).iter().any(|name| name.starts_with("inbetweens:") && name.matches(':').count() == 1)
        {
            flaws.unread(&format!("shapes in between of <{}>", stage.path(shape)));
        }
        made.push(Shape { name, offsets: own });
    }
    Ok(made)
}
