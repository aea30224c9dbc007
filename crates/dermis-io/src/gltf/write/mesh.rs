//! The drawn mesh: primitives, attributes, morph targets, materials.

use super::super::VERTEX;
use super::appearance::{join, worn};
use super::objects::{DrawnObjects, with_every_object};
use super::scene::{GlbScene, MorphNormals};
use super::skin::Skinned;
use super::tables::{Tables, U16, U32, Use, expect, push_list, to_floats};
use super::vertices::Vertices;
use crate::appearance::Description;
use crate::appearance::links::VARIANTS;
use crate::normals::{MorphShading, Shading};
use crate::{Format, WriteError};
use dermis_rig::glam::Vec4;
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Mesh, MeshError, RenderMesh, make_unique};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Morph targets of all meshes of a file together, at most: each costs some hundred bytes of text, however little it moves.
const MOST_TARGETS: usize = 1 << 20;

impl Tables {
    /// The mesh of `scene`, with the materials of `look`: a mesh of the file for every object. Returns which of them have morph targets.
    pub(super) fn mesh(&mut self, scene: &GlbScene, mesh: &Mesh, look: &Description) -> Result<Vec<bool>, WriteError> {
        self.materials = look.materials.clone();
        mesh.check()?;
        let as_is = RenderMesh {
            source: (0..mesh.positions.len() as u32).collect(),
            triangles: mesh.triangles.clone(),
            ..RenderMesh::default()
        };
        let render = mesh.render.as_ref().unwrap_or(&as_is);
        check_render(render, mesh)?;
        if let Some(colors) = &mesh.colors {
            expect("the mesh", "colours", colors.len(), mesh.positions.len())?;
        }
        for morph in scene.morphs {
            let what = format!("the morph target \"{}\"", morph.name);
            expect(&what, "vertices", morph.deltas.len(), mesh.positions.len())?;
        }
        let every = with_every_object(render, mesh);
        let render = &*every;
        let shading = Shading::new(mesh, render);
        let drawn = Vertices::new(render, &shading, mesh.colors.as_deref())?;
        let objects = DrawnObjects::new(mesh, render, &drawn, scene.morphs);
        let with_targets = objects.list.iter().filter(|object| object.has_targets).count();
        if with_targets > 1 && with_targets * scene.morphs.len() > MOST_TARGETS {
            let what = format!("{} morph targets of each of {with_targets} meshes", scene.morphs.len());
            return Err(WriteError::CannotHold { format: Format::Gltf, what });
        }
        let skinned = scene.weights.zip(scene.skeleton);
        let skinned = skinned.map(|(weights, skeleton)| Skinned::new(weights, skeleton, mesh)).transpose()?;
        let is_split = drawn.source.len() != mesh.positions.len()
            || !drawn.source.iter().copied().eq(0..drawn.source.len() as u32);
        let mut attributes = Vec::with_capacity(objects.list.len());
        for object in &objects.list {
            attributes.push(self.attributes(mesh, &drawn, &object.rows, skinned.as_ref(), is_split)?);
        }
        let mut targets = vec![Vec::new(); objects.list.len()];
        let at = scene.shading_weights()?;
        let turns = match scene.morph_normals {
            MorphNormals::Written => Some(MorphShading::new(&shading, &mesh.positions, scene.morphs, &at)),
            MorphNormals::LeftOut => None,
        };
        for (number, morph) in scene.morphs.iter().enumerate() {
            let what = format!("the morph target \"{}\"", morph.name);
            let changes = turns.as_ref().map(|turns| turns.of(number));
            for (object, targets) in objects.list.iter().zip(&mut targets).filter(|(object, _)| object.has_targets) {
                let rows = || object.rows.iter().map(|&row| row as usize);
                let deltas = rows().flat_map(|row| morph.deltas[drawn.source[row] as usize].to_array());
                let deltas = to_floats(deltas, 3, &what)?;
                let mut target = json!({ "POSITION": self.displacements(&deltas, true) });
                if let Some(changes) = &changes {
                    let turned = rows().flat_map(|row| changes[drawn.drawn[row] as usize].to_array());
                    let turned = to_floats(turned, 3, &format!("the normal of {what}"))?;
                    target["NORMAL"] = json!(self.displacements(&turned, false));
                }
                targets.push(target);
            }
        }
        // Parts of another mesh have nothing to do with these variants.
        let is_same = look.parts.len() == render.parts.len()
            && look.parts.iter().zip(&render.parts).all(|(said, part)| said.material == part.material);
        let said: HashMap<u32, &Value> = (render.parts.iter().zip(&look.parts).filter(|_| is_same))
            .filter(|(part, said)| part.count > 0 && said.extension.is_object())
            .map(|(part, said)| (part.start, &said.extension))
            .collect();
        let mut names: Vec<String> = scene.morphs.iter().map(|morph| morph.name.clone()).collect();
        make_unique(&mut names, "_");
        for (number, (object, attributes)) in objects.list.iter().zip(attributes).enumerate() {
            let mut primitives = Vec::new();
            for &(part, from, to) in &object.runs {
                let corners = render.triangles[from..to].as_flattened().iter();
                let corners = corners.map(|&corner| objects.place[drawn.place[corner as usize] as usize]);
                let mut primitive = json!({ "attributes": attributes, "indices": self.indices(corners, 3 * (to - from), object.rows.len()) });
                if let Some(material) = part.and_then(|part| self.material(part, look)) {
                    primitive["material"] = json!(material);
                }
                if let Some(variants) = part.and_then(|part| said.get(&part.start)) {
                    primitive["extensions"] = json!({ VARIANTS: variants });
                }
                push_list(&mut primitive, "targets", targets[number].clone());
                primitives.push(primitive);
            }
            if primitives.is_empty() {
                // No mesh of glTF is without triangles: one without area shows nothing.
                let indices = self.indices([0; 3].into_iter(), 3, object.rows.len());
                let mut primitive = json!({ "attributes": attributes, "indices": indices });
                push_list(&mut primitive, "targets", targets[number].clone());
                primitives.push(primitive);
            }
            let is_lone = !mesh.has_several_objects();
            let name = if is_lone { scene.name } else { &mesh.objects[number].name };
            let mut made = json!({ "name": name, "primitives": primitives });
            if object.has_targets {
                made["weights"] = json!(scene.rest_weights()?);
                made["extras"] = json!({ "targetNames": names });
            }
            let worn = if is_lone { Some(&look.mesh) } else { worn(look, mesh, number).map(|worn| &worn.mesh) };
            worn.into_iter().for_each(|worn| join(&mut made, worn));
            self.meshes.push(made);
        }
        Ok(objects.list.iter().map(|object| object.has_targets).collect())
    }

    /// The attributes of some written vertices, `rows` of `drawn`.
    fn attributes(
        &mut self,
        mesh: &Mesh,
        drawn: &Vertices,
        rows: &[u32],
        skinned: Option<&Skinned>,
        is_split: bool,
    ) -> Result<Map<String, Value>, WriteError> {
        let rows = || rows.iter().map(|&row| row as usize);
        let source: Vec<u32> = rows().map(|row| drawn.source[row]).collect();
        let mut attributes = Map::new();
        let positions = source.iter().flat_map(|&v| mesh.positions[v as usize].to_array());
        let positions = to_floats(positions, 3, "the position")?;
        attributes.insert("POSITION".into(), json!(self.floats(&positions, 3, Use::Vertices, true)));
        let normals: Vec<f32> = rows().flat_map(|row| drawn.normals[row]).collect();
        attributes.insert("NORMAL".into(), json!(self.floats(&normals, 3, Use::Vertices, false)));
        // Sets are numbered without gaps, so what stands without a first set moves down.
        for (set, uvs) in drawn.uvs.iter().enumerate() {
            let name = format!("TEXCOORD_{set}");
            let uvs: Vec<f32> = rows().flat_map(|row| uvs[row]).collect();
            attributes.insert(name, json!(self.floats(&uvs, 2, Use::Vertices, false)));
        }
        if !drawn.colors.is_empty() {
            let colors: Vec<f32> = rows().flat_map(|row| drawn.colors[row]).collect();
            attributes.insert("COLOR_0".into(), json!(self.floats(&colors, 4, Use::Vertices, false)));
        }
        if let Some(skinned) = skinned {
            self.weights(skinned, &source, &mut attributes);
        }
        // Numbers up to 2²⁴ are exact; integers of 32 bits are not allowed here.
        if is_split && mesh.positions.len() <= 1 << 24 {
            let numbers: Vec<f32> = source.iter().map(|&vertex| vertex as f32).collect();
            attributes.insert(VERTEX.into(), json!(self.floats(&numbers, 1, Use::Vertices, false)));
        }
        Ok(attributes)
    }

    /// Corners of triangles over `vertices` vertices.
    fn indices(&mut self, corners: impl Iterator<Item = u32>, count: usize, vertices: usize) -> usize {
        // The largest number of each type is kept for strips that restart.
        if vertices <= usize::from(u16::MAX) {
            self.accessor(corners.flat_map(|c| (c as u16).to_le_bytes()), Use::Indices, U16, "SCALAR", count)
        } else {
            self.accessor(corners.flat_map(|c| c.to_le_bytes()), Use::Indices, U32, "SCALAR", count)
        }
    }

    /// The material of a part: its own, or else one of its name and colour. In a file that came with materials, a part
    /// without one stays so.
    fn material(&mut self, part: &RenderPart, look: &Description) -> Option<usize> {
        let own = part.material.map(|material| material as usize).filter(|&material| material < look.materials.len());
        if own.is_some() || (!look.materials.is_empty() && part.color == Vec4::ONE) {
            return own;
        }
        let color = part.color.to_array().map(|c| if c.is_finite() { f64::from(c.clamp(0.0, 1.0)) } else { 1.0 });
        let made = json!({
            "name": part.name,
            "pbrMetallicRoughness": { "baseColorFactor": color, "metallicFactor": 0.0, "roughnessFactor": 0.8 },
        });
        let known = self.materials.iter().skip(look.materials.len()).position(|known| *known == made);
        Some(known.map_or_else(
            || {
                self.materials.push(made);
                self.materials.len() - 1
            },
            |at| look.materials.len() + at,
        ))
    }
}

/// Whether a primitive of some mesh has variants of materials.
pub(super) fn has_variants(meshes: &[Value]) -> bool {
    let mut primitives = meshes.iter().filter_map(|mesh| mesh["primitives"].as_array()).flatten();
    primitives.any(|primitive| primitive["extensions"].get(VARIANTS).is_some())
}

fn check_render(render: &RenderMesh, mesh: &Mesh) -> Result<(), WriteError> {
    let out_of_range = |face: usize, vertex: u32, vertices: usize| {
        WriteError::Mesh(MeshError::IndexOutOfRange { face, vertex: vertex as usize, vertices })
    };
    if render.source.is_empty() || render.triangles.is_empty() {
        return Err(WriteError::CannotHold { format: Format::Gltf, what: "a mesh without triangles".into() });
    }
    if let Some(&vertex) = render.source.iter().find(|&&v| v as usize >= mesh.positions.len()) {
        return Err(out_of_range(0, vertex, mesh.positions.len()));
    }
    for (face, corners) in render.triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|&&c| c as usize >= render.source.len()) {
            return Err(out_of_range(face, vertex, render.source.len()));
        }
    }
    if !render.uvs.is_empty() {
        expect("the mesh", "texture coordinates", render.uvs.len(), render.source.len())?;
    }
    for set in &render.more_uvs {
        expect("the mesh", "texture coordinates", set.len(), render.source.len())?;
    }
    if !render.colors.is_empty() {
        expect("the mesh", "colours of drawn vertices", render.colors.len(), render.source.len())?;
    }
    if !render.normals.is_empty() {
        expect("the mesh", "normals", render.normals.len(), render.source.len())?;
    }
    for part in &render.parts {
        let end = part.start as usize + part.count as usize;
        if end > render.triangles.len() {
            let (what, things) = (format!("part \"{}\"", part.name), "triangles");
            return Err(WriteError::Count { what, things, found: end, expected: render.triangles.len() });
        }
    }
    Ok(())
}

/// Runs of triangles with their part; triangles no part covers are runs without.
pub(super) fn runs(render: &RenderMesh) -> Vec<(Option<&RenderPart>, usize, usize)> {
    let mut parts: Vec<_> = render.parts.iter().filter(|part| part.count > 0).collect();
    parts.sort_by_key(|part| part.start);
    let (mut runs, mut at) = (Vec::new(), 0);
    for part in parts {
        let (start, end) = (part.start as usize, part.start as usize + part.count as usize);
        if start > at {
            runs.push((None, at, start));
        }
        if end > at {
            runs.push((Some(part), start.max(at), end));
            at = end;
        }
    }
    if at < render.triangles.len() {
        runs.push((None, at, render.triangles.len()));
    }
    runs
}
