//! The mesh of an object: polygons, what hangs on their corners, materials, skin.

use super::names::uv_set;
use super::skeleton::{Joints, write_geometry_bind};
use super::text::{Number, Text};
use crate::WriteError;
use crate::skinned_scene::{Materials, Surface, numbered};
use dermis_rig::Influences;
use dermis_rig::glam::DVec3;
use std::collections::BTreeMap;
use std::ops::Range;

/// Values that are one per vertex, and those of which each corner has its own.
const VERTEX: &str = "interpolation = \"vertex\"";
const CORNER: &str = "interpolation = \"faceVarying\"";

/// The corners of an object's polygons.
pub(super) struct Corners {
    counts: Vec<usize>,
    /// The vertex of each, by its number in the object.
    pub(super) vertices: Vec<usize>,
    /// The drawn vertex of each.
    pub(super) drawn: Vec<u32>,
    /// Vertices of the object.
    count: usize,
}

impl Corners {
    pub(super) fn new(surface: &Surface<'_>, object: usize, range: &Range<usize>) -> Self {
        let (counts, vertices, drawn) = surface.polygons(object);
        let vertices = vertices.iter().map(|&vertex| vertex as usize - range.start).collect();
        Self { counts, vertices, drawn, count: range.len() }
    }

    /// Writes polygons.
    pub(super) fn write(&self, text: &mut Text) {
        text.line("uniform token subdivisionScheme = \"none\"");
        text.line("uniform token orientation = \"rightHanded\"");
        text.integers("int[] faceVertexCounts", self.counts.iter().copied(), &[]);
        text.integers("int[] faceVertexIndices", self.vertices.iter().copied(), &[]);
    }

    /// One value per vertex, if all its corners have the same; `unused` where it has no corner.
    ///
    /// - `at`: the value of each corner
    fn by_vertex<T: Copy + PartialEq>(&self, at: impl Fn(usize) -> T, unused: T) -> Option<Vec<T>> {
        let mut made: Vec<Option<T>> = vec![None; self.count];
        for (corner, &vertex) in self.vertices.iter().enumerate() {
            let value = at(corner);
            if *made[vertex].get_or_insert(value) != value {
                return None;
            }
        }
        Some(made.into_iter().map(|value| value.unwrap_or(unused)).collect())
    }

    /// The drawn vertex of a corner of each vertex; `None` where it has no corner.
    pub(super) fn drawn_of_vertices(&self) -> Vec<Option<u32>> {
        let mut made = vec![None; self.count];
        self.vertices.iter().zip(&self.drawn).for_each(|(&vertex, &drawn)| made[vertex] = Some(drawn));
        made
    }

    /// Normals, one list for each time; unit normals of corners. Returns whether each vertex has one.
    pub(super) fn write_normals(&self, times: &[f64], frames: &[Vec<DVec3>], text: &mut Text) -> bool {
        let by_vertex: Option<Vec<Vec<DVec3>>> =
            frames.iter().map(|normals| self.by_vertex(|corner| normals[corner], DVec3::Y)).collect();
        let (values, how) = by_vertex.as_deref().map_or((frames, CORNER), |values| (values, VERTEX));
        let values: Vec<Vec<[f64; 3]>> =
            values.iter().map(|frame| frame.iter().map(|n| n.to_array()).collect()).collect();
        text.samples("normal3f[] normals", times, &values, &[how]);
        by_vertex.is_some()
    }

    /// A primvar with a value for every drawn vertex of `used`.
    fn write_primvar<const N: usize>(
        &self,
        declaration: &str,
        (numbers, values): (&[i32], &[[f64; N]]),
        text: &mut Text,
    ) {
        let value = |corner: usize| values[numbers[corner] as usize];
        if let Some(values) = self.by_vertex(value, [0.0; N]) {
            return text.tuples(declaration, values, Number::Single, &[VERTEX]);
        }
        text.tuples(declaration, values.iter().copied(), Number::Single, &[CORNER]);
        let name = declaration.split(' ').next_back().unwrap_or_default();
        text.integers(&format!("int[] {name}:indices"), numbers.iter().map(|at| *at as usize), &[]);
    }

    /// Texture coordinates and colours.
    pub(super) fn write_primvars(&self, surface: &Surface<'_>, text: &mut Text) -> Result<(), WriteError> {
        let (numbers, used) = numbered(&self.drawn);
        for (set, values) in surface.uv_sets(&used)?.iter().enumerate() {
            let declaration = format!("texCoord2f[] primvars:{}", uv_set(set));
            self.write_primvar(&declaration, (&numbers, values), text);
        }
        if let Some(colors) = surface.colors(&used)? {
            let rgb: Vec<[f64; 3]> = colors.iter().map(|[r, g, b, _]| [*r, *g, *b]).collect();
            self.write_primvar("color3f[] primvars:displayColor", (&numbers, &rgb), text);
            if colors.iter().any(|color| color[3] != 1.0) {
                let alpha: Vec<[f64; 1]> = colors.iter().map(|color| [color[3]]).collect();
                self.write_primvar("float[] primvars:displayOpacity", (&numbers, &alpha), text);
            }
        }
        Ok(())
    }
}

/// Positions, and the box around them.
///
/// - `frames`: one list for each of `times`
pub(super) fn write_points(times: &[f64], frames: &[Vec<DVec3>], text: &mut Text) {
    let extent = |frame: &Vec<DVec3>| {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) = frame.iter().fold(start, |(low, high), p| (low.min(*p), high.max(*p)));
        if frame.is_empty() { vec![[0.0; 3]; 2] } else { vec![low.to_array(), high.to_array()] }
    };
    text.samples("float3[] extent", times, &frames.iter().map(extent).collect::<Vec<_>>(), &[]);
    let points: Vec<Vec<[f64; 3]>> = frames.iter().map(|frame| frame.iter().map(|p| p.to_array()).collect()).collect();
    text.samples("point3f[] points", times, &points, &[]);
}

/// The materials of an object: one for all its polygons, or sets of polygons.
///
/// - `slots`: the slot of every polygon, and the material of every slot
/// - `taken`: names of other prims within the mesh
pub(super) fn write_bindings(
    (slots, list): &(Vec<i32>, Vec<usize>),
    looks: &Looks<'_>,
    taken: &[&str],
    text: &mut Text,
) {
    let bind = |material: usize| format!("rel material:binding = <{}/{}>", looks.scope, looks.names[material]);
    if list.iter().any(|&material| looks.materials.list[material]["doubleSided"] == true) {
        text.line("uniform bool doubleSided = 1");
    }
    match list.as_slice() {
        [] => {}
        [one] => text.line(&bind(*one)),
        several => {
            text.line("uniform token subsetFamily:materialBind:familyType = \"partition\"");
            for (slot, &material) in several.iter().enumerate() {
                let mut name = looks.names[material].clone();
                while taken.contains(&name.as_str()) {
                    name.push('_');
                }
                text.open("GeomSubset", &name, &["prepend apiSchemas = [\"MaterialBindingAPI\"]".to_owned()]);
                text.line("uniform token elementType = \"face\"");
                text.line("uniform token familyName = \"materialBind\"");
                let faces = slots.iter().enumerate().filter(|(_, own)| **own as usize == slot).map(|(face, _)| face);
                text.integers("int[] indices", faces, &[]);
                text.line(&bind(material));
                text.close();
            }
        }
    }
}

/// The materials of a file.
pub(super) struct Looks<'a> {
    pub(super) materials: Materials<'a>,
    pub(super) names: Vec<String>,
    /// The path of what they stand in.
    pub(super) scope: String,
}

/// The skin of the vertices `range`: the same number of influences for each, as many as the vertex with most has.
pub(super) fn write_skin(weights: &Influences, range: Range<usize>, joints: &Joints, text: &mut Text) {
    let rows = || range.clone().map(|vertex| weights.of(vertex).iter().filter(|(_, weight)| *weight != 0.0));
    let mut used: BTreeMap<usize, usize> = BTreeMap::new();
    rows().flatten().for_each(|(bone, _)| {
        used.insert(joints.of_bones[bone.get()], 0);
    });
    used.values_mut().enumerate().for_each(|(place, number)| *number = place);
    let most = rows().map(Iterator::count).max().unwrap_or(0).max(1);
    if used.len() < joints.list.len() && !used.is_empty() {
        text.texts("uniform token[] skel:joints", used.keys().map(|&joint| joints.list[joint].path.as_str()));
    }
    let (mut numbers, mut values) = (Vec::with_capacity(most * range.len()), Vec::with_capacity(most * range.len()));
    for row in rows() {
        let start = numbers.len();
        for (bone, weight) in row {
            numbers.push(used[&joints.of_bones[bone.get()]]);
            values.push([*weight]);
        }
        numbers.resize(start + most, 0);
        values.resize(start + most, [0.0]);
    }
    write_influences(numbers, values, most, text);
}

/// Vertices that hang on the first joint.
pub(super) fn write_bound(vertices: usize, text: &mut Text) {
    write_influences(vec![0; vertices], vec![[1.0]; vertices], 1, text);
}

fn write_influences(numbers: Vec<usize>, values: Vec<[f64; 1]>, most: usize, text: &mut Text) {
    write_geometry_bind(text);
    let size = format!("elementSize = {most}");
    text.integers("int[] primvars:skel:jointIndices", numbers, &[&size, VERTEX]);
    text.tuples("float[] primvars:skel:jointWeights", values, Number::Single, &[&size, VERTEX]);
}
