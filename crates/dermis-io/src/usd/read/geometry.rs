//! A mesh prim: points, faces, and what corners of faces show.

use super::layer::Numbers;
use super::stage::{Attribute, Stage};
use super::{damaged, primvar::Primvar};
use crate::contents::{Flaw, ReadError};
use crate::flaws::Flaws;
use dermis_rig::glam::DVec3;
use std::collections::HashSet;

/// A mesh as its prim states it.
pub(super) struct Geometry<'s> {
    pub points: Attribute<'s>,
    pub vertices: usize,
    /// Corners of each face, and the vertices of all corners.
    pub counts: Vec<u32>,
    pub indices: Vec<u32>,
    /// Faces list their corners clockwise.
    pub is_left_handed: bool,
    pub holes: HashSet<usize>,
    pub normals: Option<Primvar>,
    /// By the number of the set.
    pub uvs: Vec<Option<Primvar>>,
    pub color: Option<Primvar>,
    pub opacity: Option<Primvar>,
}

impl<'s> Geometry<'s> {
    /// The geometry of a mesh; `None` if it has no points, or cannot be one mesh over time, which is said.
    ///
    /// - `sets`: names of all sets of texture coordinates
    pub fn read(
        stage: &'s Stage<'s, 's>,
        prim: usize,
        sets: &[String],
        flaws: &mut Flaws,
    ) -> Result<Option<Self>, ReadError> {
        let path = stage.path(prim);
        let Some(points) = stage.attribute(prim, "points") else {
            flaws.unread(&format!("mesh <{path}> without points"));
            return Ok(None);
        };
        let list = |name: &str| match stage.attribute(prim, name) {
            Some(attribute) => integers(&attribute, &path),
            None => Ok(Some(Vec::new())),
        };
        let (counts, indices) = (list("faceVertexCounts")?, list("faceVertexIndices")?);
        let first = points.rest()?;
        let steady = counts.is_some() && indices.is_some() && {
            let lengths = points.samples().map(|own| own.map(|own| own.values.len()));
            lengths.collect::<Result<Vec<_>, _>>()?.iter().all(|length| *length == first.values.len())
        };
        let (Some(counts), Some(indices), true) = (counts, indices, steady) else {
            flaws.unread(&format!("mesh <{path}>, whose faces change over time"));
            return Ok(None);
        };
        let vertices = first.values.len() / 3;
        if first.values.is_empty() {
            flaws.unread(&format!("mesh <{path}> without points"));
            return Ok(None);
        }
        if first.width != 3 {
            return Err(damaged(format!("mesh <{path}> has points of {} numbers", first.width)));
        }
        let counted: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        if counted != indices.len() as u64 {
            return Err(dermis_rig::MeshError::PolygonCounts { counted, listed: indices.len() }.into());
        }
        if let Some(at) = indices.iter().position(|vertex| *vertex as usize >= vertices) {
            let vertex = indices[at] as usize;
            return Err(dermis_rig::MeshError::IndexOutOfRange { face: at, vertex, vertices }.into());
        }
        stage.budget.charge(vertices.saturating_mul(100).saturating_add(indices.len().saturating_mul(160)))?;
        if let Some(scheme) = stage.word(prim, "subdivisionScheme")?.filter(|scheme| &**scheme != "none") {
            flaws.unread(&format!("subdivision ({scheme:.30}) of <{path}>"));
        }
        let holes: HashSet<usize> =
            stage.numbers(prim, "holeIndices")?.values.iter().map(|face| *face as usize).collect();
        flaws.many(Flaw::Unsupported, holes.len(), || format!("a face of <{path}> that is a hole"));
        let sizes = [1, counts.len(), vertices, indices.len()];
        let read = |name: &str, width: usize, flaws: &mut Flaws| Primvar::read(stage, prim, name, width, sizes, flaws);
        let normals = match read("primvars:normals", 3, flaws)? {
            None => read("normals", 3, flaws)?,
            found => found,
        };
        let uvs = sets.iter().map(|set| read(&format!("primvars:{set}"), 2, flaws)).collect::<Result<_, _>>()?;
        let color = read("primvars:displayColor", 3, flaws)?;
        let opacity = read("primvars:displayOpacity", 1, flaws)?.filter(|own| color.is_some() || !own.is_constant());
        let is_left_handed = stage.word(prim, "orientation")?.as_deref() == Some("leftHanded");
        Ok(Some(Self { points, vertices, counts, indices, is_left_handed, holes, normals, uvs, color, opacity }))
    }

    /// The points without a time.
    pub fn rest(&self) -> Result<Vec<DVec3>, ReadError> {
        Ok(vectors(&self.points.rest()?))
    }
}

/// Numbers as points; what is over at their end is none.
pub(super) fn vectors(numbers: &Numbers) -> Vec<DVec3> {
    numbers.values.as_chunks::<3>().0.iter().map(|xyz| DVec3::from_array(*xyz)).collect()
}

/// Integers that are not negative; `None` if they change over time.
fn integers(attribute: &Attribute<'_>, path: &str) -> Result<Option<Vec<u32>>, ReadError> {
    let first = attribute.rest()?.values;
    let count = attribute.times().len();
    for at in 0..count {
        if at > 0 && attribute.is_same_sample(at - 1, at) {
            continue;
        }
        if attribute.nth(at)?.values != first {
            return Ok(None);
        }
    }
    let whole = |number: &f64| (*number >= 0.0 && *number <= f64::from(u32::MAX)).then_some(*number as u32);
    let made: Option<Vec<u32>> = first.iter().map(whole).collect();
    made.map(Some).ok_or_else(|| damaged(format!("mesh <{path}> has faces with negative numbers")))
}
