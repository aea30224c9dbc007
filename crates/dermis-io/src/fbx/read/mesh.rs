//! Meshes of a scene as one mesh, with weights and blend shapes.

use super::bones::{Bones, is_weighted};
use super::shapes::{self, Alike, Shower};
use super::{affine, damaged, drawn};
use crate::contents::{Contents, Flaw, MorphTarget, ReadError};
use crate::corners::{Corners, MOST_UVS};
use crate::flaws::{Flaws, short};
use crate::polygons::Split;
use crate::surface;
use dermis_rig::glam::{DAffine3, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, Influences, MOST_OBJECTS, Mesh, MeshObject, Polygons};
use std::collections::{BTreeSet, HashMap};
use ufbx::{SceneRoot, SkinningMethod, SubdivisionDisplayMode};

/// A mesh as one node shows it.
pub(super) struct Block {
    /// Number of the node in the scene.
    pub node: usize,
    mesh: usize,
}

impl Block {
    pub fn mesh<'a>(&self, scene: &'a SceneRoot) -> &'a ufbx::Mesh {
        &scene.meshes[self.mesh]
    }
}

/// Every node with a mesh, in the order of the scene.
pub(super) fn blocks(scene: &SceneRoot, allowance: usize) -> Result<Vec<Block>, ReadError> {
    let mut blocks = Vec::new();
    let mut bytes = 0usize;
    for (node, shown) in scene.nodes.iter().enumerate() {
        let Some(mesh) = shown.mesh.as_ref().filter(|mesh| mesh.num_vertices > 0) else { continue };
        // One mesh may be shown by many nodes: honest files show some hundred.
        bytes =
            bytes.saturating_add(100 * mesh.num_vertices + 160 * mesh.num_indices + 100 * mesh.skin_deformers.len());
        if bytes > allowance {
            return Err(damaged("its nodes show far more vertices than its bytes can hold"));
        }
        blocks.push(Block { node, mesh: mesh.element.typed_id as usize });
    }
    Ok(blocks)
}

/// Names meshes that no node shows, surfaces that are cages of finer ones, and counts meshes that stand at rest although a bone above them may move.
pub(super) fn name_unread(scene: &SceneRoot, blocks: &[Block], bones: &Bones, flaws: &mut Flaws) {
    let shown: BTreeSet<usize> = blocks.iter().map(|block| block.mesh).collect();
    let unshown = scene.meshes.iter().enumerate().filter(|(at, mesh)| mesh.num_vertices > 0 && !shown.contains(at));
    for (_, mesh) in unshown {
        flaws.unread(&format!("mesh \"{}\", which no node shows", mesh_name(mesh)));
    }
    for at in shown {
        let mesh = &scene.meshes[at];
        let levels = mesh.subdivision_preview_levels.max(mesh.subdivision_render_levels);
        if mesh.subdivision_display_mode != SubdivisionDisplayMode::Disabled && levels > 0 {
            flaws.unread(&format!("subdivision of \"{}\"", mesh_name(mesh)));
        }
    }
    if !bones.is_rigged {
        for block in blocks.iter().filter(|block| bones.bone_above(scene, block.node).is_some()) {
            let name = short(&scene.nodes[block.node].element.name);
            flaws.add(Flaw::Unskinned, || format!("\"{name}\", at rest whatever the bone above it does"));
        }
    }
}

/// The name of a mesh, else that of the first node that shows it, else its number.
fn mesh_name(mesh: &ufbx::Mesh) -> String {
    let shown = mesh.element.instances.first().map(|node| node.element.name.as_ref());
    match [Some(mesh.element.name.as_ref()), shown].into_iter().flatten().find(|name: &&str| !name.is_empty()) {
        Some(name) => short(name),
        None => format!("mesh {}", mesh.element.typed_id),
    }
}

/// A block that is kept.
pub(super) struct Part {
    /// Numbers of its node and mesh in the scene.
    pub node: usize,
    pub mesh: usize,
    /// Its vertices.
    pub start: usize,
    pub vertices: usize,
    /// Its way into the rest space.
    pub rest: DAffine3,
}

/// All blocks that are kept.
pub(super) struct Joined {
    pub parts: Vec<Part>,
    /// The mesh.
    pub mesh: Option<Mesh>,
    weights: Option<Influences>,
}

impl Joined {
    pub fn read(
        scene: &SceneRoot,
        world: &DAffine3,
        blocks: &[Block],
        bones: &Bones,
        place: &[usize],
        flaws: &mut Flaws,
    ) -> Result<Self, ReadError> {
        let mut made = Self { parts: Vec::new(), mesh: None, weights: None };
        let (mut mesh, mut polygons) = (Mesh::default(), Polygons::default());
        let mut colors: Vec<Vec4> = Vec::new();
        let mut rows: Vec<Vec<(BoneIndex, f64)>> = Vec::new();
        let mut has_colors = false;
        let sets = blocks.iter().map(|block| block.mesh(scene).uv_sets.len().min(MOST_UVS)).max().unwrap_or(0);
        let (mut corners, mut runs) = (Corners::new(sets), Vec::<RenderPart>::new());
        for (at, block) in blocks.iter().enumerate() {
            let (source, node) = (block.mesh(scene), &scene.nodes[block.node]);
            let name = short(&node.element.name);
            let skin = bones.skins.get(&at);
            let here = *world * affine(&node.geometry_to_world);
            let hung = || {
                let (above, bone) = bones.carrier(scene, block.node)?;
                let above = *world * affine(&scene.nodes[above].node_to_world) * bones.sizes[bone];
                Some((bones.binds[bone] * invert(&above)? * here, Some(bone)))
            };
            let way = match skin {
                Some(skin) => Some((skin.rest, None)),
                None if !bones.is_rigged => Some((here, None)),
                None => {
                    let way = hung();
                    if way.is_none() || !bones.skins.is_empty() {
                        let fate = if way.is_some() { "bound to the bone above it" } else { "left out" };
                        flaws.add(Flaw::Unskinned, || format!("\"{name}\", {fate}"));
                    }
                    way
                }
            };
            let Some((rest, bone)) = way else { continue };
            let visible = !is_hidden(node);
            if !visible {
                flaws.add(Flaw::Hidden, || format!("\"{name}\""));
            }
            let start = mesh.positions.len();
            mesh.positions
                .extend(source.vertices.iter().map(|p| rest.transform_point3(DVec3::new(p.x, p.y, p.z)) + DVec3::ZERO));
            let vertices = mesh.positions.len() - start;
            let begin = polygons.indices.len();
            let mirrored = rest.matrix3.determinant() < 0.0;
            let faces = faces(source, start as u32, mirrored, &mut polygons, flaws);
            for (corner, &vertex) in faces.corners.iter().zip(&polygons.indices[begin..]) {
                drawn::push(&mut corners, source, *corner, vertex, &rest);
            }
            for (material, triangles) in faces.runs {
                let material = material.and_then(|at| node.materials.get(at).or_else(|| source.materials.get(at)));
                let number = material.map(|material| material.element.typed_id);
                let from = runs.last().map_or(0, |run| run.start + run.count);
                let name = material.map_or_else(|| name.clone(), |material| short(&material.element.name));
                runs.push(RenderPart { name, start: from, count: triangles, color: Vec4::ONE, material: number });
            }
            colors.resize(start, Vec4::ONE);
            if source.vertex_color.exists {
                has_colors = true;
                let color = |corner: usize| drawn::color(source, corner).unwrap_or(Vec4::ONE);
                if let Some(corner) = (0..source.num_indices).find(|corner| !color(*corner).is_finite()) {
                    let vertex = source.vertex_indices.get(corner).copied().unwrap_or_default();
                    return Err(damaged(format!(
                        "the colour of vertex {vertex} of \"{name}\" is not finite in 32 bits"
                    )));
                }
                colors.extend(source.vertex_first_index.iter().map(|&corner| color(corner as usize)));
            }
            colors.resize(start + vertices, Vec4::ONE);
            if let (Some(map), Some(skin)) = (skin, source.skin_deformers.first()) {
                if source.skin_deformers.len() > 1 {
                    flaws.unread(&format!("further skins of \"{name}\""));
                }
                if let Some(how) = blending(skin) {
                    flaws.add(Flaw::Blending, || format!("\"{name}\", {how}"));
                }
                for vertex in 0..vertices {
                    let mut row = map.row(skin, vertex);
                    if let (false, Some(still)) = (is_weighted(&row), map.still) {
                        flaws.add(Flaw::Unweighted, || format!("vertex {vertex} of \"{name}\""));
                        row = vec![(still, 1.0)];
                    }
                    rows.push(row.into_iter().map(|(bone, weight)| (BoneIndex::new(place[bone]), weight)).collect());
                }
            } else {
                let row = bone.map(|bone| (BoneIndex::new(place[bone]), 1.0));
                rows.extend((0..vertices).map(|_| row.into_iter().collect::<Vec<_>>()));
            }
            let name = node.element.name.to_string();
            mesh.objects.push(MeshObject { name, vertices: vertices as u32, visible });
            made.parts.push(Part { node: block.node, mesh: block.mesh, start, vertices, rest });
        }
        if mesh.objects.len() > MOST_OBJECTS {
            flaws.warn(Flaw::Joined, mesh.objects.len(), Some(short(&mesh.objects[0].name)));
            mesh.objects.clear();
        }
        if mesh.positions.is_empty() {
            return Ok(made);
        }
        let split = Split::new(&polygons, &mesh.positions);
        split.warn(&mut flaws.warnings);
        mesh.triangles = split.over(&polygons.indices);
        mesh.colors = has_colors.then_some(colors);
        mesh.polygons = Some(polygons);
        mesh.check()?;
        let draws = corners.say_more() || has_colors || runs.iter().any(|run| run.material.is_some());
        if draws && !mesh.triangles.is_empty() {
            mesh.render = Some(corners.render(mesh.positions.len(), &split, runs));
        }
        if bones.is_rigged {
            let (weights, mended) = Influences::from_rows(rows)?.normalised();
            flaws.warn(Flaw::WeightSum, mended.rescaled, Some(format!("the worst is off by {:.3e}", mended.worst)));
            flaws.warn(Flaw::Unbound, mended.unbound, None);
            flaws.warn(Flaw::NegativeWeight, mended.negative, None);
            made.weights = Some(weights);
        }
        flaws.warnings.extend(surface::flaws(&mesh));
        made.mesh = Some(mesh);
        Ok(made)
    }

    /// Moves mesh, weights and blend shapes to the contents; result: what shows each shape.
    pub fn fill(
        &mut self,
        scene: &SceneRoot,
        contents: &mut Contents,
        allowance: usize,
        flaws: &mut Flaws,
    ) -> Result<Vec<Shower>, ReadError> {
        let Some(mesh) = self.mesh.take() else { return Ok(Vec::new()) };
        let mut showers: Vec<Shower> = Vec::new();
        let mut known: HashMap<usize, usize> = HashMap::new();
        let per_target = 24 * mesh.positions.len();
        let mut alike = Alike::new(scene);
        for part in &self.parts {
            alike.next_mesh();
            for channel in scene.meshes[part.mesh].blend_deformers.iter().flat_map(|deformer| deformer.channels.iter())
            {
                let own = shapes::shapes(channel, scene.metadata.exporter, flaws);
                if own.is_empty() {
                    continue;
                }
                let id = channel.element.typed_id as usize;
                let first = *known.entry(id).or_insert_with(|| {
                    let next = showers.len();
                    alike.target(channel, next).unwrap_or_else(|| {
                        showers.extend(own.iter().map(|shape| shape.shower));
                        next
                    })
                });
                for (target, shape) in (first..).zip(own) {
                    if target == contents.morphs.len() {
                        if per_target.saturating_mul(target + 1) > allowance {
                            let count = target + 1;
                            return Err(damaged(format!("{count} blend shapes are more than its bytes can hold")));
                        }
                        let deltas = vec![DVec3::ZERO; mesh.positions.len()];
                        contents.morphs.push(MorphTarget { name: shape.name.clone(), deltas });
                    }
                    part.displace(&shape, &mut contents.morphs[target])?;
                }
            }
        }
        let shown: Vec<f64> = showers.iter().map(|shower| shower.weight(scene)).collect();
        for (morph, weight) in contents.morphs.iter().zip(&shown).filter(|(_, weight)| **weight != 0.0) {
            if !weight.is_finite() {
                return Err(damaged(format!("the percentage of blend shape \"{}\" is not finite", morph.name)));
            }
            flaws.add(Flaw::NotAtZero, || format!("\"{}\" at {weight}", morph.name));
        }
        contents.morph_weights = if shown.iter().any(|weight| *weight != 0.0) { shown } else { Vec::new() };
        contents.mesh = Some(mesh);
        contents.weights = self.weights.take();
        Ok(showers)
    }
}

impl Part {
    /// Adds what a shape of this part displaces.
    fn displace(&self, shape: &shapes::Shape<'_>, morph: &mut MorphTarget) -> Result<(), ReadError> {
        for (vertex, d) in shape.offsets() {
            if vertex as usize >= self.vertices {
                let (name, vertices) = (&morph.name, self.vertices);
                return Err(damaged(format!("blend shape \"{name}\" names vertex {vertex} of {vertices}")));
            }
            morph.deltas[self.start + vertex as usize] += self.rest.transform_vector3(d);
        }
        match morph.deltas.iter().all(|d| d.is_finite()) {
            true => Ok(()),
            false => Err(damaged(format!("blend shape \"{}\" is not finite", morph.name))),
        }
    }
}

/// How a skin blends its bones, if not linearly.
fn blending(skin: &ufbx::SkinDeformer) -> Option<&'static str> {
    match skin.skinning_method {
        SkinningMethod::DualQuaternion => Some("by dual quaternions"),
        SkinningMethod::BlendedDqLinear => Some("in part by dual quaternions"),
        SkinningMethod::Rigid if skin.max_weights_per_vertex > 1 => Some("rigidly, several bones to a vertex"),
        _ if skin.num_dq_weights > 0 => Some("with weights for dual quaternions"),
        _ if skin.clusters.iter().any(|cluster| is_additive(cluster)) => Some("by adding"),
        _ => None,
    }
}

/// Whether a cluster adds its movement to what stays of the mesh, in place of a share of it.
fn is_additive(cluster: &ufbx::SkinCluster) -> bool {
    let mode = cluster.element.dom_node.as_ref().and_then(|node| ufbx::dom_find(node, "Mode"));
    mode.and_then(|mode| mode.values.first()).is_some_and(|mode| &*mode.value_str == "Additive")
}

/// Whether the file hides a node, or one above it that hides what is below.
fn is_hidden(node: &ufbx::Node) -> bool {
    let mut at = node;
    while at.visible {
        let inherits = at.element.props.find_prop("Visibility Inheritance").is_none_or(|p| p.value_int != 0);
        match at.parent.as_ref().filter(|_| inherits) {
            Some(parent) => at = parent,
            None => return false,
        }
    }
    true
}

/// What polygons were made of.
struct Faces {
    /// Corners of the source, one after another.
    corners: Vec<u32>,
    /// The material of each run of triangles, by its number in the mesh, and their count.
    runs: Vec<(Option<usize>, u32)>,
}

/// The polygons of a mesh, those of one material after another, turned if the way to the rest space mirrors.
fn faces(source: &ufbx::Mesh, start: u32, mirrored: bool, polygons: &mut Polygons, flaws: &mut Flaws) -> Faces {
    let material = |face: usize| source.face_material.get(face).map(|&material| material as usize);
    let mut order: Vec<usize> = (0..source.faces.len()).collect();
    order.sort_by_key(|&face| material(face)); // stable: within a material the order is the file's
    let mut made = Faces { corners: Vec::new(), runs: Vec::new() };
    for at in order {
        let face = &source.faces[at];
        let from = face.index_begin as usize;
        let corners = source.vertex_indices.get(from..from + face.num_indices as usize);
        let Some(corners) = corners.filter(|corners| corners.len() >= 3) else {
            flaws.unread("points and lines");
            continue;
        };
        let (begin, own) = (polygons.indices.len(), made.corners.len());
        polygons.counts.push(corners.len() as u32);
        polygons.indices.extend(corners.iter().map(|corner| corner + start));
        made.corners.extend(from as u32..(from + corners.len()) as u32);
        if mirrored {
            polygons.indices[begin + 1..].reverse();
            made.corners[own + 1..].reverse();
        }
        let triangles = corners.len() as u32 - 2;
        match made.runs.last_mut().filter(|run| run.0 == material(at)) {
            Some(run) => run.1 += triangles,
            None => made.runs.push((material(at), triangles)),
        }
    }
    made
}
