//! A mesh over time as an Ogawa archive: what programs import as a geometry cache.

mod container;
mod hash;
mod properties;

use super::archive::pod;
use crate::fbx::{unique, uv_set};
use crate::normals::Shading;
use crate::obj::Normals;
use crate::skinned_scene::{Materials, SceneWritten, Surface, numbered};
use crate::{Fill, Format, Space, WriteError};
use container::{Container, Kind, Object, Property, Samples};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{Mesh, MeshObject};
use properties::{Param, Scope, bytes_of, faces, metadata_of, own_bounds};
use std::io::{Seek, Write};
use std::ops::Range;

/// What goes into an archive. Right-handed, Y up, metres, as everywhere.
#[derive(Clone, Copy)]
pub struct AlembicScene<'a> {
    /// Name of a mesh without a name of its own.
    pub name: &'a str,
    /// The mesh; each of its [objects](dermis_rig::MeshObject) is one of the archive. Drawn through [`Mesh::render`] if it has one.
    pub mesh: &'a Mesh,
    /// Seconds of each frame, ascending; one frame is a mesh that stands still.
    pub times: &'a [f64],
    /// Whether normals are written. Those that the mesh's file had turn with the surface around them.
    pub normals: Normals,
}

/// Writes an archive in the axes and the unit of `space`, which it does not state: by convention Alembic has Y up.
///
/// `fill` gives the positions of every frame in the order of [`Mesh::positions`], one frame after the other: none is held longer than it
/// is written. Positions are 32-bit floats; frames that are alike are stored once. Times that are at one rate, within a microsecond, are
/// written as that rate, others one by one.
///
/// Each object is a polygon mesh below a transform of its name that moves nothing, with faces clockwise, sets of texture coordinates
/// (`uv`, further ones by name) and colours (`Cd`) of corners, its box in every frame, and a face set for each material. Normals are those
/// of vertices where each vertex has one, else of corners. Hidden objects say so. Polygons stay, unless what is drawn does not follow
/// them. Names are as those of an FBX file ([`fbx::write`](crate::fbx::write())). The same frames give the same bytes.
///
/// # Errors
/// [`WriteError`]: no frame, times that do not ascend, frames of another number of vertices, numbers that are not finite in 32 bits, a
/// mesh that contradicts itself; and those of `fill`.
pub fn write<W: Write + Seek>(
    scene: &AlembicScene<'_>,
    space: &Space,
    fill: Fill<'_>,
    out: &mut W,
) -> Result<SceneWritten, WriteError> {
    let AlembicScene { mesh, times, .. } = *scene;
    if times.is_empty() || !space.is_usable() {
        return Err(WriteError::Nothing { format: Format::Alembic, needs: "frames of a mesh, and a unit" });
    }
    let samplings = samplings(times)?;
    let moving = u32::from(times.len() > 1);
    let mut done = SceneWritten::default();
    let from_ours = space.to_ours().inverse();
    let mut materials = Materials::new(mesh.render.as_ref().and_then(|r| r.appearance.as_deref()), Format::Alembic)?;
    let surface = Surface::new(mesh, &mut materials, Format::Alembic)?;
    if surface.split {
        done.left_out.push("polygons: what is drawn does not follow them, and is written as triangles".into());
    }
    let shading = (scene.normals == Normals::Written).then(|| Shading::new(mesh, surface.render()));

    let mut container = Container::new(out)?;
    let parts = parts(scene);
    let given: Vec<(&'static str, &str)> = parts.iter().map(|(name, ..)| ("object", *name)).collect();
    let names = unique(&given, &mut done.renamed);
    let mut shapes = Vec::with_capacity(parts.len());
    for (number, (_, visible, range)) in parts.into_iter().enumerate() {
        let of = (number, range, visible);
        let normals = shading.as_ref().map(Shading::rest);
        shapes.push(Shape::new(&surface, &materials, of, normals, moving, &mut container, &mut done)?);
    }
    let mut all = own_bounds(moving);
    let mut skin = Vec::new();
    for frame in 0..times.len() {
        fill(frame, &mut skin)?;
        if skin.len() != mesh.positions.len() {
            let (what, found, expected) = (format!("frame {frame}"), skin.len(), mesh.positions.len());
            return Err(WriteError::Count { what, things: "vertices", found, expected });
        }
        let normals = shading.as_ref().map(|shading| shading.moved(&skin));
        let mut bounds = Bounds::default();
        for shape in &mut shapes {
            bounds.join(&shape.add((&skin, normals.as_deref()), &from_ours, frame, &mut container)?);
        }
        all.add(&bounds.bytes(), &mut container)?;
    }
    let mut children = Vec::with_capacity(shapes.len());
    for (shape, name) in shapes.into_iter().zip(names) {
        children.push(shape.object(name, &mut container)?);
    }
    let properties = vec![all.named(".childBnds", "interpretation=box")];
    let top = Object { name: String::new(), metadata: String::new(), properties, children };
    let about = concat!("_ai_Application=Dermis ", env!("CARGO_PKG_VERSION"));
    container.finish(&top, about, &samplings)?;
    Ok(done)
}

/// Name, visibility and vertices of every object.
fn parts<'a>(scene: &AlembicScene<'a>) -> Vec<(&'a str, bool, Range<usize>)> {
    if scene.mesh.objects.is_empty() {
        return vec![(scene.name, true, 0..scene.mesh.positions.len())];
    }
    let name = |object: &'a MeshObject| if object.name.is_empty() { scene.name } else { object.name.as_str() };
    scene.mesh.object_ranges().map(|(object, range)| (name(object), object.visible, range)).collect()
}

/// The time samplings of an archive: that of what has no times, and that of the frames.
fn samplings(times: &[f64]) -> Result<Vec<(f64, Vec<f64>, u32)>, WriteError> {
    /// Seconds: what a reader takes for the same moment.
    const SAME: f64 = 1e-6;
    let mut made = vec![(1.0, vec![0.0], 1)];
    let [first, .., last] = *times else { return Ok(made) };
    let unfit = |what| Err(WriteError::CannotHold { format: Format::Alembic, what });
    if let Some(at) = times.iter().position(|time| !time.is_finite()) {
        return Err(WriteError::NotFinite { what: format!("the time of frame {at}") });
    }
    if let Some(at) = times.windows(2).position(|two| two[0] >= two[1]) {
        return unfit(format!("a frame at {} s that follows one at {} s", times[at + 1], times[at]));
    }
    let Ok(count) = u32::try_from(times.len()) else {
        return unfit(format!("{} frames", times.len()));
    };
    let mean = (last - first) / (times.len() - 1) as f64;
    let rate = 1.0 / mean;
    // Rates as they are called, and those of television.
    let cycles = [1.0 / rate.round(), 1001.0 / (1000.0 * (rate * 1.001).round()), mean];
    let fits = |cycle: &f64| {
        times.iter().enumerate().all(|(at, time)| (first + at as f64 * cycle - time).abs() <= SAME.min(mean / 4.0))
    };
    made.push(match cycles.into_iter().find(fits) {
        Some(cycle) => (cycle, vec![first], count),
        // The library marks times without a rule by this cycle.
        None => (f64::MAX / 32.0, times.to_vec(), count),
    });
    Ok(made)
}

/// The box around points; the largest turned inside out without any.
struct Bounds {
    low: DVec3,
    high: DVec3,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { low: DVec3::MAX, high: DVec3::MIN }
    }
}

impl Bounds {
    fn join(&mut self, other: &Self) {
        (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
    }

    fn bytes(&self) -> Vec<u8> {
        self.low.to_array().into_iter().chain(self.high.to_array()).flat_map(f64::to_le_bytes).collect()
    }
}

/// An object under way.
struct Shape {
    range: Range<usize>,
    visible: bool,
    positions: Samples,
    bounds: Samples,
    /// What does not change: faces, and what hangs on their corners.
    faces: [Samples; 2],
    params: Vec<(String, Param)>,
    normals: Option<Turning>,
    /// Name and polygons of each material.
    materials: Vec<(String, Samples)>,
}

/// Normals that change with the frames.
struct Turning {
    scope: Scope,
    /// The drawn vertices whose normals are written.
    drawn: Vec<u32>,
    /// Which of them each corner has, as it is written; `None` if every vertex has one.
    indices: Option<Samples>,
    values: Samples,
}

impl Shape {
    /// - `normals`: of drawn vertices at rest, if they are written
    /// - `sampling`: number of the time sampling
    fn new<W: Write + Seek>(
        surface: &Surface<'_>,
        materials: &Materials<'_>,
        (number, range, visible): (usize, Range<usize>, bool),
        normals: Option<&[DVec3]>,
        sampling: u32,
        container: &mut Container<'_, W>,
        done: &mut SceneWritten,
    ) -> Result<Self, WriteError> {
        let (counts, mut vertices, mut drawn) = surface.polygons(number);
        // The format has faces clockwise, and the corner that is first stays so.
        let mut end = 0;
        for count in &counts {
            let others = end + 1..end + count;
            vertices[others.clone()].reverse();
            drawn[others].reverse();
            end += count;
        }
        let own = |vertex: &u32| (*vertex - range.start as u32) as i32;
        let indices = bytes_of(vertices.iter().map(own), i32::to_le_bytes);
        let counts = bytes_of(counts.iter().map(|count| *count as i32), i32::to_le_bytes);
        let integers = || Samples::new(Kind::Array, pod::I32, 1, sampling);
        let faces = [container.constant(integers(), &indices)?, container.constant(integers(), &counts)?];

        let (places, used) = numbered(&drawn);
        let places = bytes_of(places, i32::to_le_bytes);
        let mut params = Vec::new();
        let corner = |extent: u8, values: &[f64], name: String, container: &mut Container<'_, W>| {
            let words = values.iter().map(|value| *value as f32);
            if words.clone().any(|word| !word.is_finite()) {
                return Err(WriteError::NotFinite { what: format!("\"{name}\" of a corner") });
            }
            let values = Samples::new(Kind::Array, pod::F32, extent, sampling);
            let values = container.constant(values, &bytes_of(words, f32::to_le_bytes))?;
            let indices = Samples::new(Kind::Array, pod::U32, 1, sampling);
            let indices = Some(container.constant(indices, &places)?);
            Ok(Param { scope: Scope::Corner, indices, values })
        };
        for (set, values) in surface.uv_sets(&used)?.iter().enumerate() {
            params.push((uv_set(set), corner(2, values.as_flattened(), uv_set(set), container)?));
        }
        if let Some(values) = surface.colors(&used)? {
            params.push(("Cd".into(), corner(4, values.as_flattened(), "Cd".into(), container)?));
        }
        let normals = match normals {
            Some(normals) => Some(Turning::new(surface, (&drawn, &range), normals, sampling, container)?),
            None => None,
        };
        let materials = faces_of_materials(surface, number, materials, container, done)?;
        let positions = Samples::new(Kind::Array, pod::F32, 3, sampling);
        let bounds = own_bounds(sampling);
        Ok(Self { range, visible, positions, bounds, faces, params, normals, materials })
    }

    /// Adds a frame. Result: its box.
    ///
    /// - `skin`: positions of all vertices, and normals of drawn vertices
    fn add<W: Write + Seek>(
        &mut self,
        skin: (&[DVec3], Option<&[DVec3]>),
        from_ours: &DAffine3,
        frame: usize,
        container: &mut Container<'_, W>,
    ) -> Result<Bounds, WriteError> {
        let mut bounds = Bounds::default();
        let mut bytes = Vec::with_capacity(12 * self.range.len());
        for vertex in self.range.clone() {
            let p = from_ours.transform_point3(skin.0[vertex]).as_vec3();
            if !p.is_finite() {
                return Err(WriteError::NotFinite { what: format!("vertex {vertex} of frame {frame}") });
            }
            bounds.join(&Bounds { low: p.as_dvec3(), high: p.as_dvec3() });
            bytes.extend(p.to_array().into_iter().flat_map(f32::to_le_bytes));
        }
        self.positions.add(&bytes, container)?;
        self.bounds.add(&bounds.bytes(), container)?;
        if let Some((turning, normals)) = self.normals.as_mut().zip(skin.1) {
            let turned = |at: &u32| -> Vec3 {
                let normal = normals.get(*at as usize).copied().unwrap_or(DVec3::Y);
                from_ours.transform_vector3(normal).normalize_or_zero().as_vec3()
            };
            let bytes = bytes_of(turning.drawn.iter().flat_map(|at| turned(at).to_array()), f32::to_le_bytes);
            turning.values.add(&bytes, container)?;
        }
        Ok(bounds)
    }

    /// The transform of this name, and the mesh below it.
    fn object<W: Write + Seek>(self, name: String, container: &mut Container<'_, W>) -> Result<Object, WriteError> {
        let [indices, counts] = self.faces;
        let mut geometry = vec![
            self.bounds.named(".selfBnds", "interpretation=box"),
            self.positions.named("P", "geoScope=vtx;interpretation=point"),
            indices.named(".faceIndices", ""),
            counts.named(".faceCounts", ""),
        ];
        if let Some(Turning { scope, indices, values, .. }) = self.normals {
            geometry.push(Param { scope, indices, values }.property("N", "normal", ""));
        }
        let mut more = Vec::new();
        for (at, (name, param)) in self.params.into_iter().enumerate() {
            match (at, param.is_color()) {
                (_, true) => more.push(param.property(&name, "rgba", "")),
                (0, false) => geometry.push(param.property("uv", "vector", &name)),
                (_, false) => more.push(param.property(&name, "vector", "")),
            }
        }
        if !more.is_empty() {
            geometry.push(Property::compound(".arbGeomParams", "", more));
        }
        let mut sets = Vec::with_capacity(self.materials.len());
        for (name, list) in self.materials {
            let bounds = container.constant(own_bounds(0), &Bounds::default().bytes())?;
            let below = vec![bounds.named(".selfBnds", "interpretation=box"), list.named(".faces", "")];
            sets.push(schema(name, "FaceSet", ".faceset", below, vec![], vec![]));
        }
        let mesh = schema(name.clone(), "PolyMesh", ".geom", geometry, vec![], sets);
        let inherits = container.constant(Samples::new(Kind::Scalar, pod::BOOL, 1, 0), &[1])?;
        let mut beside = Vec::new();
        if !self.visible {
            let hidden = container.constant(Samples::new(Kind::Scalar, pod::I8, 1, 0), &[0])?;
            beside.push(hidden.named("visible", ""));
        }
        Ok(schema(name, "Xform", ".xform", vec![inherits.named(".inherits", "")], beside, vec![mesh]))
    }
}

impl Turning {
    /// Those of vertices, if each vertex has one normal, else those of corners.
    fn new<W: Write + Seek>(
        surface: &Surface<'_>,
        (corners, range): (&[u32], &Range<usize>),
        normals: &[DVec3],
        sampling: u32,
        container: &mut Container<'_, W>,
    ) -> Result<Self, WriteError> {
        let source = &surface.render().source;
        let values = Samples::new(Kind::Array, pod::F32, 3, sampling);
        let mut of_vertex: Vec<Option<u32>> = vec![None; range.len()];
        let one = corners.iter().all(|&at| {
            let own = of_vertex[source[at as usize] as usize - range.start].get_or_insert(at);
            normals[*own as usize] == normals[at as usize]
        });
        if one {
            // A vertex without a face has none, and what stands for it is up.
            let drawn = of_vertex.into_iter().map(|at| at.unwrap_or(u32::MAX)).collect();
            return Ok(Self { scope: Scope::Vertex, drawn, indices: None, values });
        }
        let (places, drawn) = numbered(corners);
        let indices = Samples::new(Kind::Array, pod::U32, 1, sampling);
        let indices = container.constant(indices, &bytes_of(places, i32::to_le_bytes))?;
        Ok(Self { scope: Scope::Corner, drawn, indices: Some(indices), values })
    }
}

/// The polygons of each material of an object.
fn faces_of_materials<W: Write + Seek>(
    surface: &Surface<'_>,
    object: usize,
    materials: &Materials<'_>,
    container: &mut Container<'_, W>,
    done: &mut SceneWritten,
) -> Result<Vec<(String, Samples)>, WriteError> {
    let of_polygons = surface.materials_of(object);
    let mut list: Vec<usize> = of_polygons.iter().flatten().copied().collect();
    list.sort_unstable();
    list.dedup();
    let name = |material: &usize| materials.list[*material]["name"].as_str().unwrap_or_default();
    list.retain(|material| !name(material).is_empty());
    let given: Vec<(&'static str, &str)> = list.iter().map(|material| ("material", name(material))).collect();
    let names = unique(&given, &mut done.renamed);
    let mut made = Vec::with_capacity(list.len());
    for (material, name) in list.iter().zip(names) {
        let own = (0i32..).zip(&of_polygons).filter(|(_, of)| **of == Some(*material)).map(|(polygon, _)| polygon);
        made.push((name, faces(own, container)?));
    }
    Ok(made)
}

/// An object of one of the library's schemas.
fn schema(
    name: String,
    kind: &str,
    property: &str,
    below: Vec<Property>,
    beside: Vec<Property>,
    children: Vec<Object>,
) -> Object {
    let (own, metadata) = metadata_of(kind, property);
    let mut properties = vec![Property::compound(property, own, below)];
    properties.extend(beside);
    Object { name, metadata, properties, children }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_at_a_rate_are_written_as_that_rate() {
        let at = |cycle: f64| -> Vec<f64> { (0..100).map(|frame| 2.0 + f64::from(frame) * cycle).collect() };
        for cycle in [1.0 / 24.0, 1001.0 / 30000.0, 0.0123] {
            let made = samplings(&at(cycle)).unwrap();
            assert_eq!((made[1].1.as_slice(), made[1].2), (&[2.0][..], 100));
            assert!((made[1].0 - cycle).abs() < 1e-15, "{cycle}");
        }
        let mut uneven = at(1.0 / 24.0);
        uneven[50] += 2e-6;
        assert_eq!(samplings(&uneven).unwrap()[1], (f64::MAX / 32.0, uneven, 100));
        // Frames closer together than what readers tell apart keep their times.
        let close = [0.0, 1e-7, 5e-7];
        assert_eq!(samplings(&close).unwrap()[1].1, close);
        assert_eq!(samplings(&[3.0]).unwrap().len(), 1);
        assert!(samplings(&[0.0, 1.0, 1.0]).unwrap_err().to_string().contains("at 1 s that follows one at 1 s"));
        assert!(samplings(&[0.0, f64::NAN]).is_err());
    }
}
