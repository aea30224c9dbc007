//! Meshes of a scene as one mesh, with weights, blend shapes and materials.

use super::files::Files;
use super::geometry::Geometry;
use super::joints::Bones;
use super::layer::Name;
use super::material::Materials;
use super::scene::{Block, Hung, Scene};
use super::skin::Between;
use super::stage::Stage;
use super::{damaged, xform};
use crate::contents::{Contents, Flaw, MorphTarget, ReadError};
use crate::corners::{Corners, from_above, turned};
use crate::flaws::{Flaws, short};
use crate::polygons::Split;
use crate::surface;
use dermis_rig::glam::{DAffine3, DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{BoneIndex, Influences, MOST_OBJECTS, Mesh, MeshObject, Polygons};
use std::collections::HashMap;
use std::sync::Arc;

/// What moves a morph target.
pub(super) struct Driver {
    /// The skeleton whose animation does.
    pub skeleton: Option<usize>,
    /// The name of the weight there.
    pub name: Name,
    /// What of the weight, if several shapes share it.
    pub between: Option<Between>,
}

/// Targets with one key are one: skeleton, name, and the knots and own knot of a shape in between.
type Key = (Option<usize>, Name, Option<(Vec<u64>, u64)>);

/// Joins all meshes in their order; the driver of each morph target.
pub(super) fn join(
    stage: &Stage<'_, '_>,
    scene: &Scene<'_>,
    bones: &Bones,
    place: &[usize],
    files: &Files<'_>,
    contents: &mut Contents,
    flaws: &mut Flaws,
) -> Result<Vec<Driver>, ReadError> {
    let to_ours = contents.space.to_ours();
    let mut materials = Materials::new(stage, files, scene.sets.clone());
    let mut joined = Joined::new(scene.sets.len());
    for block in &scene.blocks {
        let rest = match &block.hung {
            Hung::Skin(skin) => bones.rests[skin.skeleton] * skin.bound,
            Hung::Own | Hung::World => to_ours * xform::world(&block.chain, None),
        };
        let start = joined.mesh.positions.len();
        let points = block.geometry.rest()?;
        joined.mesh.positions.extend(points.into_iter().map(|p| rest.transform_point3(p) + DVec3::ZERO));
        joined.surface(stage, block, start, &rest, &mut materials, flaws)?;
        joined.hang(block, bones, place);
        joined.shapes(stage, block, start, &rest)?;
        let (name, vertices) = (block.name.clone(), block.geometry.vertices as u32);
        joined.mesh.objects.push(MeshObject { name, vertices, visible: block.visible });
    }
    joined.finish(stage, scene.is_skinned, materials, contents, flaws)
}

/// What is joined so far.
struct Joined {
    mesh: Mesh,
    polygons: Polygons,
    corners: Corners,
    runs: Vec<RenderPart>,
    colors: Vec<Vec4>,
    has_colors: bool,
    rows: Vec<Vec<(BoneIndex, f64)>>,
    morphs: Vec<Morph>,
    titles: Vec<String>,
    drivers: Vec<Driver>,
    by_driver: HashMap<Key, usize>,
}

/// Displacements by vertex of all.
#[derive(Default)]
struct Morph(Vec<(usize, DVec3)>);

impl Joined {
    fn new(sets: usize) -> Self {
        Self {
            mesh: Mesh::default(),
            polygons: Polygons::default(),
            corners: Corners::new(sets),
            runs: Vec::new(),
            colors: Vec::new(),
            has_colors: false,
            rows: Vec::new(),
            morphs: Vec::new(),
            titles: Vec::new(),
            drivers: Vec::new(),
            by_driver: HashMap::new(),
        }
    }

    /// Faces and what their corners show, those of one material after another.
    fn surface(
        &mut self,
        stage: &Stage<'_, '_>,
        block: &Block<'_>,
        start: usize,
        rest: &DAffine3,
        materials: &mut Materials<'_>,
        flaws: &mut Flaws,
    ) -> Result<(), ReadError> {
        let geometry = &block.geometry;
        let of_face = face_materials(stage, block, materials, flaws)?;
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(geometry.counts.len()); // face, first corner
        let mut from = 0;
        for (face, count) in geometry.counts.iter().enumerate() {
            order.push((face, from));
            from += *count as usize;
        }
        order.sort_by_key(|(face, _)| of_face[*face]); // stable: within a material the order is the file's
        let reversed = geometry.is_left_handed != (rest.matrix3.determinant() < 0.0);
        let plain = geometry.color.as_ref().filter(|own| own.is_constant()).and_then(|_| color(geometry, 0, 0, 0));
        let shows = geometry.color.as_ref().is_some_and(|own| !own.is_constant())
            || geometry.opacity.as_ref().is_some_and(|own| !own.is_constant());
        self.colors.resize(start, Vec4::ONE);
        self.colors.resize(start + geometry.vertices, Vec4::ONE);
        let mut seen = vec![!shows; geometry.vertices];
        let mut runs: Vec<(Option<u32>, u32)> = Vec::new();
        self.has_colors |= shows;
        for (face, from) in order {
            let count = geometry.counts[face] as usize;
            if geometry.holes.contains(&face) {
                continue;
            }
            if count < 3 {
                flaws.unread("points and lines");
                continue;
            }
            self.polygons.counts.push(count as u32);
            for nth in 0..count {
                let corner = from + if reversed { (count - nth) % count } else { nth };
                let vertex = geometry.indices[corner] as usize;
                self.polygons.indices.push((start + vertex) as u32);
                let uvs = geometry.uvs.iter().map(|set| {
                    let own = set.as_ref().and_then(|own| own.at(face, vertex, corner));
                    own.map_or(DVec2::ZERO, |uv| from_above(uv[0], uv[1]))
                });
                let normal = geometry.normals.as_ref().and_then(|own| own.at(face, vertex, corner));
                let normal = normal.map_or(DVec3::ZERO, |n| turned(DVec3::new(n[0], n[1], n[2]), &rest.matrix3));
                let color = if shows { color(geometry, face, vertex, corner) } else { None };
                if color.is_some_and(|color| !color.is_finite()) {
                    let path = stage.path(block.prim);
                    return Err(damaged(format!("the colour of vertex {vertex} of <{path}> is not finite in 32 bits")));
                }
                if !seen[vertex] {
                    seen[vertex] = true;
                    self.colors[start + vertex] = color.unwrap_or(Vec4::ONE);
                }
                self.corners.push((start + vertex) as u32, uvs, normal, color);
            }
            let triangles = count as u32 - 2;
            match runs.last_mut().filter(|run| run.0 == of_face[face]) {
                Some(run) => run.1 += triangles,
                None => runs.push((of_face[face], triangles)),
            }
        }
        for (material, count) in runs {
            let start = self.runs.last().map_or(0, |run| run.start + run.count);
            let name = material.map_or_else(|| short(&block.name), |material| materials.name(material));
            let color = plain.filter(|color| material.is_none() && color.is_finite()).unwrap_or(Vec4::ONE);
            self.runs.push(RenderPart { name, start, count, color, material });
        }
        Ok(())
    }

    /// Bones and weights of a mesh's vertices.
    fn hang(&mut self, block: &Block<'_>, bones: &Bones, place: &[usize]) {
        let bone = |bone: usize| BoneIndex::new(place[bone]);
        match &block.hung {
            Hung::Skin(skin) => {
                let start = bones.starts[skin.skeleton];
                let row = |vertex| skin.row(vertex).map(|(joint, weight)| (bone(start + joint), weight)).collect();
                self.rows.extend((0..block.geometry.vertices).map(row));
            }
            Hung::Own => {
                let own = bone(bones.of_mesh[&block.prim]);
                self.rows.extend((0..block.geometry.vertices).map(|_| vec![(own, 1.0)]));
            }
            Hung::World => {}
        }
    }

    /// Blend shapes: those of several meshes that one weight moves are one.
    fn shapes(
        &mut self,
        stage: &Stage<'_, '_>,
        block: &Block<'_>,
        start: usize,
        rest: &DAffine3,
    ) -> Result<(), ReadError> {
        for shape in &block.shapes {
            let (skeleton, name, between) = (block.skeleton, Name::clone(&shape.whole), shape.between.clone());
            let shown = between.as_ref().map(|own| (own.knots.bits(), own.knot.to_bits()));
            stage.budget.charge(shown.as_ref().map_or(0, |(knots, _)| 16 * knots.len()))?;
            let target = *self.by_driver.entry((skeleton, Name::clone(&name), shown)).or_insert_with(|| {
                self.titles.push(shape.title());
                self.drivers.push(Driver { skeleton, name, between });
                self.morphs.push(Morph::default());
                self.morphs.len() - 1
            });
            stage.budget.charge(shape.offsets.len().saturating_mul(40))?;
            let offsets = shape.offsets.iter().map(|(vertex, d)| (start + vertex, rest.transform_vector3(*d)));
            self.morphs[target].0.extend(offsets);
        }
        Ok(())
    }

    fn finish(
        self,
        stage: &Stage<'_, '_>,
        is_skinned: bool,
        materials: Materials<'_>,
        contents: &mut Contents,
        flaws: &mut Flaws,
    ) -> Result<Vec<Driver>, ReadError> {
        let Self { mut mesh, polygons, corners, runs, mut colors, has_colors, rows, morphs, titles, drivers, .. } =
            self;
        if mesh.positions.is_empty() {
            return Ok(Vec::new());
        }
        if mesh.objects.len() > MOST_OBJECTS {
            flaws.warn(Flaw::Joined, mesh.objects.len(), Some(short(&mesh.objects[0].name)));
            mesh.objects.clear();
        }
        let split = Split::new(&polygons, &mesh.positions);
        split.warn(&mut flaws.warnings);
        mesh.triangles = split.over(&polygons.indices);
        colors.resize(mesh.positions.len(), Vec4::ONE);
        mesh.colors = has_colors.then_some(colors);
        mesh.polygons = Some(polygons);
        mesh.check()?;
        let says = |run: &RenderPart| run.material.is_some() || run.color != Vec4::ONE;
        if (corners.say_more() || has_colors || runs.iter().any(says)) && !mesh.triangles.is_empty() {
            let mut render = corners.render(mesh.positions.len(), &split, runs);
            render.appearance = materials.finish().map(Arc::new);
            mesh.render = Some(render);
        }
        if is_skinned {
            let (weights, mended) = Influences::from_rows(rows)?.normalised();
            flaws.warn(Flaw::WeightSum, mended.rescaled, Some(format!("the worst is off by {:.3e}", mended.worst)));
            flaws.warn(Flaw::Unbound, mended.unbound, None);
            flaws.warn(Flaw::NegativeWeight, mended.negative, None);
            contents.weights = Some(weights);
        }
        for (Morph(offsets), name) in morphs.into_iter().zip(titles) {
            stage.budget.charge(24 * mesh.positions.len())?;
            let mut deltas = vec![DVec3::ZERO; mesh.positions.len()];
            offsets.into_iter().for_each(|(vertex, d)| deltas[vertex] += d);
            if !deltas.iter().all(|d| d.is_finite()) {
                return Err(damaged(format!("blend shape \"{name}\" is not finite")));
            }
            contents.morphs.push(MorphTarget { name, deltas });
        }
        flaws.warnings.extend(surface::flaws(&mesh));
        contents.mesh = Some(mesh);
        Ok(drivers)
    }
}

/// The colour of a corner, linear.
fn color(geometry: &Geometry<'_>, face: usize, vertex: usize, corner: usize) -> Option<Vec4> {
    let color = geometry.color.as_ref().and_then(|own| own.at(face, vertex, corner));
    let opacity = geometry.opacity.as_ref().and_then(|own| own.at(face, vertex, corner));
    if color.is_none() && opacity.is_none() {
        return None;
    }
    let [r, g, b] = color.map_or([1.0; 3], |own| [own[0], own[1], own[2]]).map(|x| x as f32);
    Some(Vec4::new(r, g, b, opacity.map_or(1.0, |own| own[0] as f32)))
}

/// The material of every face: that of the subset it is in, else that of the mesh.
fn face_materials(
    stage: &Stage<'_, '_>,
    block: &Block<'_>,
    materials: &mut Materials<'_>,
    flaws: &mut Flaws,
) -> Result<Vec<Option<u32>>, ReadError> {
    let faces = block.geometry.counts.len();
    let mut made = vec![materials.bound(block.prim, flaws)?; faces];
    for &child in stage.prims[block.prim].children.iter().filter(|&&child| stage.is(child, "GeomSubset")) {
        let family = stage.word(child, "familyName")?;
        let kind = stage.word(child, "elementType")?;
        if family.is_some_and(|family| &*family != "materialBind") || kind.is_some_and(|kind| &*kind != "face") {
            continue;
        }
        let material = materials.bound(child, flaws)?;
        for face in stage.numbers(child, "indices")?.values {
            match made.get_mut(face as usize).filter(|_| face >= 0.0) {
                Some(own) => *own = material,
                None => flaws.add(Flaw::Reference, || format!("face {face} of <{}>", stage.path(child))),
            }
        }
    }
    Ok(made)
}
