//! A base of direct delta mush: what every vertex has once, and the moments of its bones.

use super::{Reader, Tensors, damaged};
use crate::contents::ReadError;
use dermis_deform::baked::BakedDeltaMush;
use dermis_rig::Rig;

const OFFSETS: &str = "direct_delta_mush.offsets";
const BONES: &str = "direct_delta_mush.bones";
const MOMENTS: &str = "direct_delta_mush.moments";
const VERTICES: &str = "direct_delta_mush.vertices";

pub(super) fn write<'a>(t: &mut Tensors<'a>, mush: &'a BakedDeltaMush) {
    let (vertices, terms) = (mush.vertices(), mush.terms().count());
    t.u32(OFFSETS, &[vertices + 1], mush.offsets());
    t.u32(BONES, &[terms], mush.terms().map(|term| term.0));
    t.f32(MOMENTS, &[terms, 10], mush.terms().flat_map(|term| term.1));
    t.f32(VERTICES, &[vertices, 7], mush.of_vertices().flatten());
}

pub(super) fn read(r: &Reader<'_>, rig: &Rig) -> Result<BakedDeltaMush, ReadError> {
    let vertices = rig.mesh().positions.len();
    let bones = r.rows(OFFSETS, vertices, r.indices(BONES, 1, rig.skeleton().len())?)?;
    let (moments, of_vertices) = (r.f32(MOMENTS, 10)?, r.f32(VERTICES, 7)?);
    r.count(MOMENTS, moments.len() / 10, bones.entries().len())?;
    r.count(VERTICES, of_vertices.len() / 7, vertices)?;
    let (moments, of_vertices) = (moments.as_chunks().0, of_vertices.as_chunks().0);
    let made = BakedDeltaMush::new(&bones, moments, of_vertices);
    made.ok_or_else(|| damaged("the moments of neighbourhoods are not in rows"))
}
