//! Positions and normals of a pose together.

use crate::baked::bases::{BLOCK, BakedBase, By, Turned};
use crate::baked::guarded::Guarded;
use crate::baked::model::Baked;
use crate::baked::scratch::Scratch;
use crate::normals::{MeshNormals, skinned_normal};
use crate::pose_size::PoseError;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

/// What normals are made from.
#[derive(Clone, Debug)]
pub enum Normals {
    /// Rest normals, which the inverse transpose of the base's blended matrix turns: [`skinned_normal`]. A correction does not turn
    /// them.
    Skinned(Vec<Vec3>),
    /// Rest normals, which the base's blended matrix itself takes along, A n, as vertex shaders of game engines do. Right where A turns
    /// and scales alike in all directions, askew where it shears, and not normalised: a shader does that. Bases that turn a vertex by
    /// a rotation do so here.
    Blended(Vec<Vec3>),
    /// The deformed mesh itself, as corrected shapes need.
    Mesh(MeshNormals),
}

impl Baked {
    /// Positions and normals in a pose; positions are those of [`evaluate`](Self::evaluate), up to their last bit or two.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate); [`PoseError::Normals`] if `normals` or `out_normals` has another number of vertices.
    pub fn evaluate_with_normals(
        &self,
        transforms: &BoneTransforms,
        given: Option<&[Vec3]>,
        normals: &Normals,
        scratch: &mut Scratch,
        out: &mut [Vec3],
        out_normals: &mut [Vec3],
    ) -> Result<Guarded, PoseError> {
        let expected = self.rest.len();
        for found in [out_normals.len(), normals.vertices()] {
            if found != expected {
                return Err(PoseError::Normals { expected, found });
            }
        }
        let (rest_normals, by) = match normals {
            Normals::Skinned(normals) => (normals, By::Cofactors),
            Normals::Blended(normals) => (normals, By::Matrix),
            Normals::Mesh(mesh) => {
                let guarded = self.evaluate(transforms, given, scratch, out)?;
                mesh.compute_with(out, &mut scratch.faces, out_normals);
                return Ok(guarded);
            }
        };
        self.admit(out)?;
        let mut guarded = self.prepare(transforms, given, scratch)?;
        let scratch = &*scratch;
        let blocks = out.par_chunks_mut(BLOCK).zip(out_normals.par_chunks_mut(BLOCK)).enumerate();
        let work = |(b, (out, normals)): (usize, (&mut [Vec3], &mut [Vec3]))| {
            let from = b * BLOCK;
            let rest_normals = &rest_normals[from..from + out.len()];
            let turned = Turned { by, rest: rest_normals, out: &mut *normals };
            let held = self.block(from, given, scratch, out, Some(turned));
            // Blended quaternions without direction, and vertices without corners, leave normals open, too.
            if by == By::Cofactors || matches!(self.base, BakedBase::Dqs(..) | BakedBase::CorrectiveSmooth(_)) {
                self.mend(from, transforms, rest_normals, scratch, normals);
            }
            held
        };
        guarded.held = match rayon::current_num_threads() {
            1 => out_blocks(out, out_normals).map(work).sum(),
            _ => blocks.map(work).sum(),
        };
        Ok(guarded)
    }

    /// Normals of a block where they are still zero: one by one, in `f64`.
    fn mend(
        &self,
        from: usize,
        transforms: &BoneTransforms,
        rest_normals: &[Vec3],
        scratch: &Scratch,
        normals: &mut [Vec3],
    ) {
        for (i, normal) in normals.iter_mut().enumerate().filter(|(_, n)| **n == Vec3::ZERO) {
            let v = from + i;
            let linear = match &self.base {
                BakedBase::Lbs(weights) => weights
                    .of_vertex(v)
                    .fold(DMat3::ZERO, |sum, (bone, w)| sum + transforms.as_slice()[bone].matrix3 * f64::from(w)),
                base => base.linear(v, self.rest[v], &scratch.base),
            };
            let dominant = self.base.dominant(v).map_or(linear, |bone| transforms.as_slice()[bone].matrix3);
            *normal = skinned_normal(rest_normals[i].as_dvec3(), &linear, &dominant).as_vec3();
        }
    }
}

fn directions(normals: &[DVec3]) -> Vec<Vec3> {
    normals.iter().map(|n| n.normalize_or_zero().as_vec3()).collect()
}

/// The blocks of two lists side by side.
fn out_blocks<'a>(
    out: &'a mut [Vec3],
    normals: &'a mut [Vec3],
) -> impl Iterator<Item = (usize, (&'a mut [Vec3], &'a mut [Vec3]))> {
    out.chunks_mut(BLOCK).zip(normals.chunks_mut(BLOCK)).enumerate()
}

impl Normals {
    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        match self {
            Self::Skinned(normals) | Self::Blended(normals) => normals.len(),
            Self::Mesh(mesh) => mesh.vertices(),
        }
    }

    /// From rest normals of any positive length; one of length zero stays [`UNDEFINED_NORMAL`](crate::normals::UNDEFINED_NORMAL).
    pub fn skinned(rest: &[DVec3]) -> Self {
        Self::Skinned(directions(rest))
    }

    /// [`Blended`](Self::Blended) from rest normals of any positive length.
    pub fn blended(rest: &[DVec3]) -> Self {
        Self::Blended(directions(rest))
    }
}
