//! The drawn mesh: primitives, attributes, morph targets, materials.

use super::super::VERTEX;
use super::appearance::join;
use super::scene::{GlbScene, MorphNormals};
use super::tables::{Tables, U16, U32, Use, expect, push_list, to_floats};
use super::vertices::Vertices;
use crate::WriteError;
use crate::appearance::Description;
use crate::normals::{MorphShading, Shading};
use dermis_rig::glam::{DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Mesh, MeshError, RenderMesh, make_unique};
use serde_json::{Map, json};

impl Tables {
    /// The mesh of `scene`, with the materials of `look`.
    pub(super) fn mesh(&mut self, scene: &GlbScene, mesh: &Mesh, look: &Description) -> Result<(), WriteError> {
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
        let shading = Shading::new(mesh, render);
        let drawn = Vertices::new(render, &shading, mesh.colors.as_deref())?;
        let scatter = |values: &[DVec3], what: &str| -> Result<Vec<f32>, WriteError> {
            to_floats(drawn.source.iter().flat_map(|&v| values[v as usize].to_array()), 3, what)
        };
        let mut attributes = Map::new();
        let positions = scatter(&mesh.positions, "the position")?;
        attributes.insert("POSITION".into(), json!(self.floats(&positions, 3, Use::Vertices, true)));
        attributes.insert("NORMAL".into(), json!(self.floats(drawn.normals.as_flattened(), 3, Use::Vertices, false)));
        // Sets are numbered without gaps, so what stands without a first set moves down.
        for (set, uvs) in drawn.uvs.iter().enumerate() {
            let name = format!("TEXCOORD_{set}");
            attributes.insert(name, json!(self.floats(uvs.as_flattened(), 2, Use::Vertices, false)));
        }
        if !drawn.colors.is_empty() {
            let colors = self.floats(drawn.colors.as_flattened(), 4, Use::Vertices, false);
            attributes.insert("COLOR_0".into(), json!(colors));
        }
        if let (Some(weights), Some(skeleton)) = (scene.weights, scene.skeleton) {
            self.weights(weights, skeleton, mesh, &drawn.source, &mut attributes)?;
        }
        if drawn.source.len() != mesh.positions.len() || !drawn.source.iter().copied().eq(0..drawn.source.len() as u32)
        {
            // Numbers up to 2²⁴ are exact; integers of 32 bits are not allowed here.
            if mesh.positions.len() <= 1 << 24 {
                let numbers: Vec<f32> = drawn.source.iter().map(|&vertex| vertex as f32).collect();
                attributes.insert(VERTEX.into(), json!(self.floats(&numbers, 1, Use::Vertices, false)));
            }
        }
        let mut targets = Vec::new();
        let at = scene.shading_weights()?;
        for morph in scene.morphs {
            expect(
                &format!("the morph target \"{}\"", morph.name),
                "vertices",
                morph.deltas.len(),
                mesh.positions.len(),
            )?;
        }
        let turns = match scene.morph_normals {
            MorphNormals::Written => Some(MorphShading::new(&shading, &mesh.positions, scene.morphs, &at)),
            MorphNormals::LeftOut => None,
        };
        for (number, morph) in scene.morphs.iter().enumerate() {
            let what = format!("the morph target \"{}\"", morph.name);
            let deltas = scatter(&morph.deltas, &what)?;
            let mut target = json!({ "POSITION": self.floats(&deltas, 3, Use::Vertices, true) });
            if let Some(turns) = &turns {
                let changes = turns.of(number);
                let turned = drawn.drawn.iter().flat_map(|&at| changes[at as usize].to_array());
                let turned = to_floats(turned, 3, &format!("the normal of {what}"))?;
                target["NORMAL"] = json!(self.floats(&turned, 3, Use::Vertices, false));
            }
            targets.push(target);
        }
        let mut primitives = Vec::new();
        for (part, from, to) in runs(render) {
            let corners = render.triangles[from..to].iter().flatten().map(|&corner| drawn.place[corner as usize]);
            let count = 3 * (to - from);
            // The largest number of each type is kept for strips that restart.
            let indices = if drawn.source.len() <= usize::from(u16::MAX) {
                self.accessor(corners.flat_map(|c| (c as u16).to_le_bytes()), Use::Indices, U16, "SCALAR", count)
            } else {
                self.accessor(corners.flat_map(|c| c.to_le_bytes()), Use::Indices, U32, "SCALAR", count)
            };
            let mut primitive = json!({ "attributes": attributes, "indices": indices });
            if let Some(material) = part.and_then(|part| self.material(part, look)) {
                primitive["material"] = json!(material);
            }
            push_list(&mut primitive, "targets", targets.clone());
            primitives.push(primitive);
        }
        let mut made = json!({ "name": scene.name, "primitives": primitives });
        if !scene.morphs.is_empty() {
            made["weights"] = json!(scene.rest_weights()?);
            let mut names: Vec<String> = scene.morphs.iter().map(|morph| morph.name.clone()).collect();
            make_unique(&mut names, "_");
            made["extras"] = json!({ "targetNames": names });
        }
        join(&mut made, &look.mesh);
        self.meshes.push(made);
        Ok(())
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

fn check_render(render: &RenderMesh, mesh: &Mesh) -> Result<(), WriteError> {
    let out_of_range = |face: usize, vertex: u32, vertices: usize| {
        WriteError::Mesh(MeshError::IndexOutOfRange { face, vertex: vertex as usize, vertices })
    };
    if render.source.is_empty() || render.triangles.is_empty() {
        return Err(WriteError::Count { what: "the mesh".into(), things: "drawn triangles", found: 0, expected: 1 });
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
fn runs(render: &RenderMesh) -> Vec<(Option<&RenderPart>, usize, usize)> {
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
