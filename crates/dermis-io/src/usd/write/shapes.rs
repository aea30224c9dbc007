//! Blend shapes: for each morph target that moves an object a prim within its mesh.

use super::text::{Number, Text};
use crate::normals::MorphShading;
use dermis_rig::MorphTarget;
use dermis_rig::glam::{DAffine3, DVec3};
use std::ops::Range;

/// A change of a unit normal that is none.
const NO_TURN: f64 = 1e-7;

/// The numbers of the shapes of an object: those that move it, and of the first object those that move nothing.
pub(super) fn chosen(morphs: &[MorphTarget], range: &Range<usize>, is_first: bool) -> Vec<usize> {
    let moves = |deltas: &[DVec3]| deltas.iter().any(|delta| *delta != DVec3::ZERO);
    let is_own = |at: &usize| {
        let deltas = &morphs[*at].deltas;
        moves(&deltas[range.clone()]) || (is_first && !moves(deltas))
    };
    (0..morphs.len()).filter(is_own).collect()
}

/// What binds the shapes to their mesh, at `mesh`.
pub(super) fn write_list(names: &[String], chosen: &[usize], mesh: &str, text: &mut Text) {
    if chosen.is_empty() {
        return;
    }
    text.texts("uniform token[] skel:blendShapes", chosen.iter().map(|&at| names[at].as_str()));
    let paths: Vec<String> = chosen.iter().map(|&at| format!("{mesh}/{}", names[at])).collect();
    text.paths("rel skel:blendShapeTargets", paths.iter().map(String::as_str));
}

/// The shapes of the vertices `range`. Offsets of normals are those of [`MorphShading`]: USD adds them as they are weighted.
///
/// - `from_ours`: from our world to the file's
/// - `turns`: changes of the normals of drawn vertices, and the drawn vertex of each vertex
pub(super) fn write(
    morphs: &[MorphTarget],
    (names, chosen): (&[String], &[usize]),
    range: &Range<usize>,
    from_ours: &DAffine3,
    turns: Option<(&MorphShading<'_>, &[Option<u32>])>,
    text: &mut Text,
) {
    // The file's unit scales positions, not normals.
    let turn = from_ours.matrix3 / from_ours.matrix3.x_axis.length();
    for &at in chosen {
        let deltas = &morphs[at].deltas[range.clone()];
        let changes: Vec<DVec3> = turns.map_or_else(Vec::new, |(turns, drawn)| {
            let of_drawn = turns.of(at);
            let change = |drawn: &Option<u32>| drawn.map_or(DVec3::ZERO, |drawn| of_drawn[drawn as usize]);
            // What doubles lose in a turn by nothing is no change.
            drawn.iter().map(change).map(|d| if d.length() < NO_TURN { DVec3::ZERO } else { turn * d }).collect()
        });
        let is_moved = |&vertex: &usize| {
            deltas[vertex] != DVec3::ZERO || changes.get(vertex).is_some_and(|change| *change != DVec3::ZERO)
        };
        let mut moved: Vec<usize> = (0..deltas.len()).filter(is_moved).collect();
        if moved.is_empty() && !deltas.is_empty() {
            moved.push(0); // a list without points would be one of all points
        }
        text.open("BlendShape", &names[at], &[]);
        let offsets = moved.iter().map(|&vertex| from_ours.transform_vector3(deltas[vertex]).to_array());
        text.tuples("uniform vector3f[] offsets", offsets, Number::Single, &[]);
        if turns.is_some() {
            let offsets = moved.iter().map(|&vertex| changes[vertex].to_array());
            text.tuples("uniform vector3f[] normalOffsets", offsets, Number::Single, &[]);
        }
        text.integers("uniform int[] pointIndices", moved.iter().copied(), &[]);
        text.close();
    }
}
