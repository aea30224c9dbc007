//! Blend shapes: for each morph target that moves an object a prim within its mesh.

use super::text::{Number, Text};
use dermis_rig::MorphTarget;
use dermis_rig::glam::{DAffine3, DVec3};
use std::ops::Range;

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

/// The shapes of the vertices `range`.
///
/// - `from_ours`: from our world to the file's
pub(super) fn write(
    morphs: &[MorphTarget],
    (names, chosen): (&[String], &[usize]),
    range: &Range<usize>,
    from_ours: &DAffine3,
    text: &mut Text,
) {
    for &at in chosen {
        let deltas = &morphs[at].deltas[range.clone()];
        let mut moved: Vec<usize> = (0..deltas.len()).filter(|&vertex| deltas[vertex] != DVec3::ZERO).collect();
        if moved.is_empty() && !deltas.is_empty() {
            moved.push(0); // a list without points would be one of all points
        }
        text.open("BlendShape", &names[at], &[]);
        let offsets = moved.iter().map(|&vertex| from_ours.transform_vector3(deltas[vertex]).to_array());
        text.tuples("uniform vector3f[] offsets", offsets, Number::Single, &[]);
        text.integers("uniform int[] pointIndices", moved.iter().copied(), &[]);
        text.close();
    }
}
