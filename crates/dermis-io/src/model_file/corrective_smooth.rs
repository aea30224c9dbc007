//! A base of corrective smoothing: the smoothed surface as animation space, and the corners of every vertex.

use super::{Reader, Tensors, damaged};
use crate::contents::ReadError;
use dermis_deform::baked::BakedCorrectiveSmooth;
use dermis_rig::Rig;
use dermis_rig::glam::{Vec3, Vec4};

const OFFSETS: &str = "corrective_smooth.offsets";
const BONES: &str = "corrective_smooth.bones";
const COEFFICIENTS: &str = "corrective_smooth.coefficients";
const CORNERS_OF: &str = "corrective_smooth.corner_offsets";
const CORNERS: &str = "corrective_smooth.corners";

pub(super) fn write<'a>(t: &mut Tensors<'a>, smooth: &'a BakedCorrectiveSmooth) {
    let (a, corners) = (smooth.coefficients(), smooth.wide().corners());
    t.rows((OFFSETS, BONES), smooth.bones());
    t.f32(COEFFICIENTS, &[a.len(), 4], a.iter().flat_map(|a| a.to_array()));
    t.u32(CORNERS_OF, &[corners.offsets().len()], corners.offsets().iter().copied());
    t.u32(CORNERS, &[corners.entries().len(), 2], corners.entries().iter().flatten().copied());
}

pub(super) fn read(r: &Reader<'_>, rig: &Rig) -> Result<BakedCorrectiveSmooth, ReadError> {
    let positions = &rig.mesh().positions;
    let bones = r.rows(OFFSETS, positions.len(), r.indices(BONES, 1, rig.skeleton().len())?)?;
    let a = r.f32(COEFFICIENTS, 4)?;
    r.count(COEFFICIENTS, a.len() / 4, bones.entries().len())?;
    let corners = r.indices(CORNERS, 2, positions.len())?;
    let corners = r.rows(CORNERS_OF, positions.len(), corners.as_chunks().0.to_vec())?;
    let rest: Vec<Vec3> = positions.iter().map(|p| p.as_vec3()).collect();
    let a = a.chunks_exact(4).map(Vec4::from_slice).collect();
    let made = BakedCorrectiveSmooth::new(&rest, bones, a, &corners);
    made.ok_or_else(|| damaged("the corners of the smoothed surface are not in rows"))
}
