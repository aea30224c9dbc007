//! The meshes of an archive as one, with what is drawn of them.

use super::archive::Archive;
use super::drawn::{Drawn, Sizes, Values};
use super::scene::{PolyMesh, Scene};
use crate::contents::{Contents, Flaw, ReadError};
use crate::corners::{Corners, from_above, turned};
use crate::polygons::Split;
use crate::surface;
use dermis_rig::glam::{DMat3, DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{MOST_OBJECTS, Mesh, MeshObject, Polygons};

/// What joins the meshes of an archive.
pub(super) struct Joined<'s, 'a> {
    archive: &'s Archive<'a>,
    scene: &'s Scene<'a>,
    /// Vertices of each mesh.
    counts: &'s [usize],
    /// The linear part of each mesh's way into our world.
    maps: &'s [DMat3],
    /// When the mesh is at rest.
    time: f64,
    polygons: Polygons,
    corners: Corners,
    parts: Vec<RenderPart>,
    /// Of vertices, if any mesh has some.
    colors: Option<Vec<Vec4>>,
    small: Vec<String>,
}

impl<'s, 'a> Joined<'s, 'a> {
    /// Reads the mesh at a time into the contents.
    ///
    /// - `positions`: of all vertices then, in our world
    ///
    /// # Errors
    /// [`ReadError`]: faces that name no vertex, colours that are not finite.
    pub fn read(
        archive: &'s Archive<'a>,
        scene: &'s Scene<'a>,
        (counts, maps): (&'s [usize], &'s [DMat3]),
        (time, positions): (f64, Vec<DVec3>),
        contents: &mut Contents,
    ) -> Result<(), ReadError> {
        let is_drawn = scene.meshes.iter().any(|mesh| !mesh.drawn.is_plain());
        let sets = scene.meshes.iter().map(|mesh| mesh.drawn.uvs.len()).max().unwrap_or(0);
        let mut joined = Self {
            archive,
            scene,
            counts,
            maps,
            time,
            polygons: Polygons::default(),
            corners: Corners::new(sets),
            parts: Vec::new(),
            colors: None,
            small: Vec::new(),
        };
        let mut start = 0u32;
        for (number, count) in counts.iter().enumerate() {
            let before = joined.polygons.indices.len();
            let order = joined.faces(number, start)?;
            if is_drawn {
                let corners = joined.polygons.indices.len() - before;
                archive.charge((corners + count) * (8 * sets + 128))?;
                joined.draw(number, start, before, &order, contents)?;
            }
            start += *count as u32; // a file would need 48 GB to overflow it
        }
        let Self { polygons, corners, parts, colors, small, .. } = joined;
        let split = Split::new(&polygons, &positions);
        let triangles = split.over(&polygons.indices);
        let objects = objects(scene, counts, contents);
        let colors = colors.map(|mut colors| {
            colors.resize(positions.len(), Vec4::ONE);
            colors
        });
        let mut mesh = Mesh { positions, triangles, polygons: Some(polygons), objects, colors, ..Mesh::default() };
        mesh.check()?;
        let has_sets = scene.meshes.iter().any(|mesh| !mesh.drawn.sets.is_empty());
        if (corners.say_more() || mesh.colors.is_some() || has_sets) && !mesh.triangles.is_empty() {
            mesh.render = Some(corners.render(mesh.positions.len(), &split, parts));
        }
        surface::count(&mut contents.warnings, Flaw::DegenerateTriangle, small);
        split.warn(&mut contents.warnings);
        contents.warnings.extend(surface::flaws(&mesh));
        contents.mesh = Some(mesh);
        Ok(())
    }

    /// Adds the faces of a mesh that have an area. Result: of every corner added, its face and its place in the file.
    fn faces(&mut self, number: usize, start: u32) -> Result<Vec<(u32, u32)>, ReadError> {
        let (mesh, vertices) = (&self.scene.meshes[number], self.counts[number]);
        let mirrored = self.maps[number].determinant() < 0.0;
        self.archive.charge(8 * mesh.polygons.indices.len())?;
        let (mut order, mut before) = (Vec::with_capacity(mesh.polygons.indices.len()), 0u32);
        for (face, polygon) in (0u32..).zip(mesh.polygons.iter()) {
            let count = polygon.len() as u32;
            if let Some(&corner) = polygon.iter().find(|&&corner| corner as usize >= vertices) {
                let (face, vertex) = (self.polygons.counts.len(), corner as usize);
                return Err(dermis_rig::MeshError::IndexOutOfRange { face, vertex, vertices }.into());
            }
            // A face of two corners or none is no surface, and other formats have no place for it.
            if count < 3 {
                self.small.push(format!("mesh \"{:.100}\", a face of {count} corners was left out", mesh.name));
                before += count;
                continue;
            }
            let from = self.polygons.indices.len();
            self.polygons.indices.extend(polygon.iter().map(|corner| corner + start));
            if mirrored {
                self.polygons.indices[from + 1..].reverse();
            }
            self.polygons.counts.push(count);
            // In the file the others after the first run the other way round, unless a mirror turned them once more.
            let place = |at: u32| if at == 0 || mirrored { before + at } else { before + count - at };
            order.extend((0..count).map(|at| (face, place(at))));
            before += count;
        }
        Ok(order)
    }

    /// Adds what hangs on the corners of a mesh.
    ///
    /// - `from`: the first of them
    /// - `order`: the face and the place in the file of each
    fn draw(
        &mut self,
        number: usize,
        start: u32,
        from: usize,
        order: &[(u32, u32)],
        contents: &mut Contents,
    ) -> Result<(), ReadError> {
        let (mesh, map) = (&self.scene.meshes[number], self.maps[number]);
        let Drawn { normals, uvs, colors, .. } = &mesh.drawn;
        let sizes = Sizes {
            faces: mesh.polygons.counts.len(),
            vertices: self.counts[number],
            corners: mesh.polygons.indices.len(),
        };
        let mut unfit = |what: &str| {
            if contents.unread.len() < 300 {
                contents
                    .unread
                    .push(format!("{what} of mesh \"{:.100}\", which are not as many as it needs", mesh.name));
            }
        };
        let mut at = |param: &super::drawn::Param<'a>, what: &str| -> Result<Option<Values<'a>>, ReadError> {
            let values = param.at(self.archive, self.time, &sizes)?;
            if values.is_none() {
                unfit(what);
            }
            Ok(values)
        };
        let normals = match normals {
            Some(normals) => at(normals, "normals")?,
            None => None,
        };
        let sets = uvs.iter().map(|set| at(set, "texture coordinates")).collect::<Result<Vec<_>, _>>()?;
        let colors = match colors {
            Some(colors) => at(colors, "colours")?,
            None => None,
        };
        for (&(face, corner), &vertex) in order.iter().zip(&self.polygons.indices[from..]) {
            let place = (face as usize, (vertex - start) as usize, corner as usize);
            let of = |values: &Values<'_>| values.of(place.0, place.1, place.2);
            let uv = |set: &Option<Values<'_>>| {
                set.as_ref().map(of).map_or(DVec2::ZERO, |uv| from_above(uv[0].into(), uv[1].into()))
            };
            let normal = normals.as_ref().map(of).map_or(DVec3::ZERO, |n| {
                let given = DVec3::new(n[0].into(), n[1].into(), n[2].into());
                if given.is_finite() { turned(given, &map) } else { DVec3::ZERO }
            });
            let color = colors.as_ref().map(of).map(Vec4::from_array);
            if color.is_some_and(|color| !color.is_finite()) {
                let reason = format!("a colour of mesh \"{:.100}\" is not finite in 32 bits", mesh.name);
                return Err(super::ogawa::damaged(reason));
            }
            if let Some(color) = color {
                let all = self.colors.get_or_insert_with(Vec::new);
                all.resize(all.len().max(start as usize + sizes.vertices), Vec4::ONE);
                all[vertex as usize] = color;
            }
            self.corners.push(vertex, sets.iter().map(uv), normal, color);
        }
        self.materials(number, order, contents)
    }

    /// Adds the parts of a mesh: runs of faces of one set.
    fn materials(&mut self, number: usize, order: &[(u32, u32)], contents: &mut Contents) -> Result<(), ReadError> {
        let mesh = &self.scene.meshes[number];
        let faces = mesh.polygons.counts.len();
        self.archive.charge(4 * faces)?;
        let mut of_faces = vec![u32::MAX; faces];
        for (set, own) in (0u32..).zip(&mesh.drawn.sets) {
            let list = own.faces.bytes(0)?;
            self.archive.charge(list.len())?;
            let mut strange = 0;
            for word in list.as_chunks::<4>().0 {
                match of_faces.get_mut(u32::from_le_bytes(*word) as usize) {
                    Some(of) if *of == u32::MAX => *of = set,
                    _ => strange += 1,
                }
            }
            if strange > 0 && contents.unread.len() < 300 {
                let (name, of) = (&own.name, &mesh.name);
                let why = "which are not there or in a set before it";
                contents
                    .unread
                    .push(format!("{strange} faces of the set \"{name:.100}\" of mesh \"{of:.100}\", {why}"));
            }
        }
        let mut begin = self.parts.last().map_or(0, |part| part.start + part.count);
        let mut last = None;
        for of_face in order.chunk_by(|a, b| a.0 == b.0) {
            let (set, count) = (of_faces[of_face[0].0 as usize], of_face.len() as u32 - 2);
            match self.parts.last_mut().filter(|_| last == Some(set)) {
                Some(part) => part.count += count,
                None => {
                    let name = mesh.drawn.sets.get(set as usize).map_or(&mesh.name, |own| &own.name).clone();
                    self.archive.charge(2 * name.len() + 200)?;
                    self.parts.push(RenderPart { name, start: begin, count, color: Vec4::ONE, material: None });
                }
            }
            (last, begin) = (Some(set), begin + count);
        }
        Ok(())
    }
}

/// The meshes that have vertices. Hidden ones are read like others, with a warning.
fn objects(scene: &Scene, counts: &[usize], contents: &mut Contents) -> Vec<MeshObject> {
    let meshes = || scene.meshes.iter().zip(counts).filter(|(_, count)| **count > 0);
    let hidden = meshes().filter(|(mesh, _)| !mesh.visible).map(|(mesh, _)| format!("\"{}\"", mesh.name));
    surface::count(&mut contents.warnings, Flaw::Hidden, hidden);
    if meshes().count() > MOST_OBJECTS {
        let (count, first) = (meshes().count(), meshes().next().map(|(mesh, _)| mesh.name.clone()));
        contents.warnings.push(crate::Warning { flaw: Flaw::Joined, count, first });
        return Vec::new();
    }
    // A file would need 48 GB for more vertices than 32 bits count.
    let object = |(mesh, count): (&PolyMesh<'_>, &usize)| MeshObject {
        name: mesh.name.clone(),
        vertices: *count as u32,
        visible: mesh.visible,
    };
    meshes().map(object).collect()
}
