//! Springs of secondary motion in a model file: ω, ζ, k₃ and limit of every vertex, and κ.

use super::{Reader, Tensors, damaged};
use crate::contents::ReadError;
use dermis_deform::secondary::{Spring, Springs, VertexSpring};

/// What the array of a vertex's spring is called in a file.
const NAME: &str = "springs";

/// Writes the array; κ goes into the header.
pub(super) fn write<'a>(t: &mut Tensors<'a>, springs: &'a Springs) {
    let row = |v: &VertexSpring| [v.spring.omega(), v.spring.damping(), v.stiffening, v.limit];
    t.f64(NAME, &[springs.vertices().len(), 4], springs.vertices().iter().flat_map(row));
}

/// Reads the springs of a file with coupling κ.
pub(super) fn read(r: &Reader<'_>, coupling: f64) -> Result<Springs, ReadError> {
    let rows = r.f64(NAME, 4)?;
    let wrong = |e: dermis_deform::secondary::SecondaryError| damaged(format!("springs: {e}"));
    let vertex =
        |row: &[f64]| Ok(VertexSpring { spring: Spring::of_omega(row[0], row[1])?, stiffening: row[2], limit: row[3] });
    let vertices = rows.chunks_exact(4).map(vertex).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    Springs::new(vertices, coupling).map_err(wrong)
}
