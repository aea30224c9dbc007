//! A glTF file as [`Contents`].

use super::VISIBILITY;
use super::accessor::Table;
use super::appearance;
use super::clip;
use super::controls::{Controls, target_names};
use super::document::{Document, damaged};
use super::extensions::{self, INSTANCES};
use super::linked;
use super::mesh::{Block, Drawn, Part};
use super::nodes::Nodes;
use super::skins::{self, Bones};
use super::weld::{Weld, weld};
use crate::agree::{AGREE, apart, corners};
use crate::contents::{Contents, Flaw, Format, MorphTarget, ReadError, Resolve, Space};
use crate::flaws::{Flaws, make_names_unique, make_unique, short};
use dermis_rig::glam::{DAffine3, DVec2, DVec3, Vec4};
use dermis_rig::rotation::cofactor;
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, Influences, MOST_OBJECTS, Mesh, MeshObject, RenderMesh, Skeleton, WorldPose};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

/// Reads a .glb or .gltf file.
///
/// - `name`: what the file is called in [`Contents::name`]
/// - `resolve`: the first bytes of a file beside this one, by its relative path, as many as are asked for if it has them;
///   called for external buffers and images only, never with an address, an absolute path or a path that leaves the folder
///
/// Vertices p of a skin come to rest where p' = Σ w_k T_k B_k⁻¹ p holds for every pose, in the world that the file shows:
/// what nodes above the skeleton scale, turn and move, they do to the rest as well. [`Flaw::NotAtBind`] counts the bones
/// that the default pose moves away from rest, [`Flaw::UnevenScale`] the skins that nodes above scale unevenly. Vertices that were
/// split at seams are welded; [`Mesh::render`] keeps what was drawn, and a file without seams keeps its vertex order. A
/// mesh without a skin hangs rigidly on the joint above it, or on the node above it that a clip moves, which is then a bone; without one it is left
/// out, unless the file has no skin at all: then it is a bare mesh at rest in the world. A file without skin and mesh is a motion: its nodes are the bones.
/// The mesh of every node is an object of [`Mesh::objects`], called as the node, else as its mesh.
///
/// Materials, textures, images, cameras, lights, further nodes and extras are carried in the mesh's
/// [`Appearance`](dermis_rig::Appearance). An image that cannot be read is left out and counted, and so is a reference that
/// leads nowhere. Of files beside this one, a gigabyte of images is read at most.
///
/// # Errors
/// [`ReadError`]: the wrong kind of file, damage (with the thing and its numbers), a required extension that is not
/// supported, bones that make no skeleton, buffers that cannot be resolved. Whatever the bytes, memory stays below a
/// few hundred times their number, and a thousand times that of a file that is compressed.
pub fn read(bytes: &[u8], name: &str, resolve: &Resolve<'_>) -> Result<Contents, ReadError> {
    let mut document = Document::open(bytes, resolve)?;
    let mut look = std::mem::take(&mut document.look);
    let mut flaws = Flaws::default();
    let nodes = Nodes::read(&document)?;
    let drawn = Drawn::read(&document, &nodes, &mut flaws)?;
    let mut bones = if !document.root.skins.is_empty() {
        Bones::read(&document, &nodes, &drawn, &mut flaws)?
    } else if drawn.blocks.is_empty() && !document.root.animations.is_empty() {
        Bones::of_nodes(&document, &nodes, &mut flaws)
    } else {
        Bones::default()
    };
    let further = linked::further_bones(&document, &look, &nodes, &drawn, &bones);
    bones.add_nodes(&document, &further, &nodes, &mut flaws);
    make_unique(&mut bones.names, &mut flaws);

    let mut contents =
        Contents { name: name.into(), format: Format::Gltf, space: Space::default(), ..Contents::default() };
    let mut place: Vec<usize> = Vec::new(); // of each bone in the skeleton
    let mut bone_nodes: Vec<u32> = Vec::new(); // of each bone of the skeleton
    if !bones.names.is_empty() {
        let (skeleton, order) = Skeleton::sorted(bones.names.clone(), &parents(&nodes, &bones), &bones.binds)?;
        place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
            if new != old {
                flaws.add(Flaw::BonesReordered, || bones.names[old].clone());
            }
        }
        bone_nodes = order.iter().map(|&old| bones.nodes[old]).collect();
        contents.skeleton = Some(skeleton);
    }

    let hung = Hung::new(&document, &nodes, &drawn, &bones, &mut flaws);
    let (mut sources, mut carried) = (Vec::new(), None);
    if hung.vertices > 0 {
        let influences = match contents.skeleton {
            Some(_) if !hung.unbound => Some(hung.influences(&document, &drawn, &bones, &place)?),
            _ => None,
        };
        let made = hung.weld(&drawn, influences.as_ref());
        if made.first.len() < hung.vertices {
            flaws.warn(Flaw::Welded, hung.vertices - made.first.len(), None);
        }
        let targets;
        (sources, targets) = hung.morphs(&document, &made, &mut contents.morphs, &mut flaws)?;
        make_names_unique(&mut contents.morphs, |morph| &mut morph.name, &mut flaws);
        let (objects, object_nodes) = hung.objects(&document, &nodes, &made, &mut flaws);
        let mut mesh = hung.mesh(&drawn, &made, objects)?;
        if let Some(render) = &mut mesh.render {
            let look = std::mem::take(&mut look);
            let parts: Vec<_> = hung.parts(&drawn).map(|part| (part.material, part.primitive)).collect();
            let variants = linked::variants(&document, &look, &parts);
            let shown = appearance::Shown {
                nodes: &nodes,
                bones: &bones,
                drawn: &hung.nodes(),
                objects: &object_nodes,
                targets: &targets,
                morphs: &contents.morphs,
                variants,
            };
            let look = appearance::read(&document, look, shown, resolve, &mut flaws);
            if let Some((appearance, extensions)) = look {
                render.appearance = Some(Arc::new(appearance));
                carried = Some(extensions);
            }
        }
        contents.mesh = Some(mesh);
        if let Some(influences) = influences {
            contents.weights = Some(normalised(&influences, &made, &mut flaws)?);
        }
    }
    if let Some(mesh) = &contents.mesh {
        count_mesh_flaws(mesh, &mut flaws);
    }
    if let Some(skeleton) = &contents.skeleton
        && count_not_at_bind(skeleton, &nodes, &bone_nodes, contents.mesh.as_ref(), &mut flaws)
    {
        let bones = bone_nodes.iter().map(|&node| nodes.world[node as usize]);
        contents.default_pose = Some(WorldPose::new(bones.collect()));
    }
    let default_weights = clip::default_weights(&document, &sources);
    for (morph, weight) in contents.morphs.iter().zip(&default_weights).filter(|(_, weight)| **weight != 0.0) {
        if !weight.is_finite() {
            return Err(damaged(format!("the weight of morph target \"{}\" is not finite", morph.name)));
        }
        flaws.add(Flaw::NotAtZero, || format!("\"{}\" at {weight}", morph.name));
    }
    if default_weights.iter().any(|weight| *weight != 0.0) {
        contents.morph_weights = default_weights;
    }
    contents.clips = clip::read(&document, &nodes, (contents.skeleton.as_ref(), &bone_nodes), &sources, &mut flaws)?;
    make_names_unique(&mut contents.clips, |clip| &mut clip.name, &mut flaws);
    if carried.is_none() {
        for (things, what) in [(&look.images, "images"), (&look.cameras, "cameras")] {
            let count = things.as_array().map_or(0, Vec::len);
            if count > 0 {
                contents.unread.push(format!("{count} {what}"));
            }
        }
    }
    let carried = carried.unwrap_or_default();
    let is_read = |e: &str| [VISIBILITY, INSTANCES, "KHR_mesh_quantization"].contains(&e) || extensions::is_read(e);
    let used = document.root.extensions_used.iter().filter(|e| !is_read(e.as_str()) && !carried.contains(e));
    contents.unread.extend(used.map(|e| short(e)));
    contents.unread.append(&mut flaws.unread);
    contents.warnings = std::mem::take(&mut document.warnings);
    contents.warnings.append(&mut flaws.warnings);
    Ok(contents)
}

/// The bone above each bone: the nearest node above it that is one.
fn parents(nodes: &Nodes, bones: &Bones) -> Vec<i64> {
    let nearest = nodes.nearest(|node| bones.of_node(node).is_some());
    let above = |node: u32| nodes.parents[node as usize].and_then(|parent| nearest[parent as usize]);
    bones
        .nodes
        .iter()
        .map(|&node| above(node).and_then(|node| bones.of_node(node)).map_or(-1, |bone| bone as i64))
        .collect()
}

/// The blocks that are kept, each with its way into the rest space, and their vertices numbered through.
struct Hung<'a> {
    blocks: Vec<HungBlock<'a>>,
    vertices: usize,
    /// First kept vertex of each block of [`Drawn`], if it is kept.
    starts: Vec<Option<u32>>,
    /// There are bones, but nothing drawn is bound to any: a character before it is skinned.
    unbound: bool,
}

struct HungBlock<'a> {
    block: &'a Block,
    start: u32,
    rest: DAffine3,
    /// The bone a block without a skin hangs on.
    bone: Option<usize>,
}

impl HungBlock<'_> {
    /// The unit normal of vertex `row` in the rest space; zero where the file has none.
    fn normal(&self, row: usize) -> DVec3 {
        let Some([x, y, z]) = self.block.normals.as_ref().map(|table| table.row(row)) else { return DVec3::ZERO };
        // Normals turn with the cofactor matrix, which a mirror turns inside out.
        let (turn, sign) = (cofactor(&self.rest.matrix3), self.rest.matrix3.determinant().signum());
        (turn * DVec3::new(*x, *y, *z) * sign).try_normalize().unwrap_or(DVec3::ZERO)
    }
}

impl<'a> Hung<'a> {
    fn new(document: &Document, nodes: &Nodes, drawn: &'a Drawn, bones: &Bones, flaws: &mut Flaws) -> Self {
        let joint_above = nodes.nearest(|node| bones.of_node(node).is_some());
        let unbound = !document.root.skins.is_empty()
            && drawn.blocks.iter().all(|block| block.skin.is_none() && joint_above[block.node as usize].is_none());
        let mut hung = Self { blocks: Vec::new(), vertices: 0, starts: Vec::new(), unbound };
        for block in &drawn.blocks {
            let world = nodes.world[block.node as usize];
            let joint = joint_above[block.node as usize].and_then(|joint| Some((joint, bones.of_node(joint)?)));
            let map = block.skin.and_then(|skin| bones.skins.get(&skin));
            let rigid = || {
                let (joint, bone) = joint?;
                Some((bones.binds[bone] * invert(&nodes.world[joint as usize])? * world, Some(bone)))
            };
            let way = match map {
                Some(map) => Some((map.rest, None)),
                None if unbound || bones.names.is_empty() => Some((world, None)),
                None => {
                    let way = rigid();
                    let fate = if way.is_some() { "bound to the joint above it" } else { "left out" };
                    flaws.add(Flaw::Unskinned, || format!("\"{}\", {fate}", skins::name(document, block.node)));
                    way
                }
            };
            hung.starts.push(way.is_some().then_some(hung.vertices as u32));
            if let Some((rest, bone)) = way {
                hung.blocks.push(HungBlock { block, start: hung.vertices as u32, rest, bone });
                hung.vertices += block.positions.len();
            }
        }
        hung
    }

    /// The nodes whose meshes are kept, ascending.
    fn nodes(&self) -> Vec<u32> {
        let mut nodes: Vec<u32> = self.blocks.iter().map(|hung| hung.block.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    fn of(&self, vertex: u32) -> (&HungBlock<'a>, usize) {
        let after = self.blocks.partition_point(|block| block.start <= vertex);
        let block = &self.blocks[after - 1]; // the first block starts at 0, and none is empty
        (block, (vertex - block.start) as usize)
    }

    /// Every kept vertex with its block and row in it.
    fn rows(&self) -> impl Iterator<Item = (&HungBlock<'a>, usize)> {
        self.blocks.iter().flat_map(|hung| (0..hung.block.positions.len()).map(move |row| (hung, row)))
    }

    /// The parts that are kept, in their order.
    fn parts<'d>(&self, drawn: &'d Drawn) -> impl Iterator<Item = &'d Part> {
        drawn.parts.iter().filter(|part| self.starts[part.block].is_some())
    }

    /// Triangles of every kept part, counter-clockwise from outside also where the way to the rest space mirrors.
    fn triangles(&self, drawn: &Drawn) -> (Vec<[u32; 3]>, Vec<dermis_rig::mesh::RenderPart>) {
        let (mut triangles, mut parts) = (Vec::new(), Vec::new());
        for part in &drawn.parts {
            let Some(start) = self.starts[part.block] else { continue };
            let mirrored = self.of(start).0.rest.matrix3.determinant() < 0.0;
            let old = drawn.blocks[part.block].start as u32;
            parts.push(part.render(triangles.len() as u32));
            triangles.extend(part.triangles.iter().map(|&[a, b, c]| {
                let [a, b, c] = [a, b, c].map(|corner| corner - old + start);
                if mirrored { [a, c, b] } else { [a, b, c] }
            }));
        }
        (triangles, parts)
    }

    fn position(&self, vertex: u32) -> DVec3 {
        let (hung, row) = self.of(vertex);
        // Adding zero makes −0 and 0 the same bits.
        hung.rest.transform_point3(hung.block.positions[row]) + DVec3::ZERO
    }

    /// Weights of every kept vertex, as the file has them.
    fn influences(
        &self,
        document: &Document,
        drawn: &Drawn,
        bones: &Bones,
        place: &[usize],
    ) -> Result<Influences, ReadError> {
        let index = |bone: usize| BoneIndex::new(place[bone]);
        for block in &drawn.blocks {
            let Some(map) = block.skin.and_then(|skin| bones.skins.get(&skin)) else { continue };
            for (joints, weights) in &block.sets {
                // A joint without weight is padding, whatever it says.
                let beyond = |(joint, weight): (&u32, &f64)| *joint as usize >= map.bones.len() && *weight != 0.0;
                if let Some(at) = joints.iter().zip(&weights.values).position(beyond) {
                    return Err(damaged(format!(
                        "vertex {} of \"{}\" names joint {}, but its skin has {}",
                        at / 4,
                        skins::name(document, block.node),
                        joints[at],
                        map.bones.len()
                    )));
                }
            }
        }
        let rows =
            self.rows().map(|(hung, row)| match (hung.bone, hung.block.skin.and_then(|skin| bones.skins.get(&skin))) {
                (Some(bone), _) => vec![(index(bone), 1.0)],
                (None, Some(map)) => (hung.block.sets.iter())
                    .flat_map(|(joints, weights)| joints[row * 4..row * 4 + 4].iter().zip(weights.row(row)))
                    .filter(|(_, weight)| **weight != 0.0)
                    .map(|(&joint, &weight)| (index(map.bones[joint as usize]), weight))
                    .collect(),
                (None, None) => Vec::new(),
            });
        Ok(Influences::from_rows(rows)?)
    }

    /// The meshes, each a run of vertices, and their nodes. None where the file lists the vertices of several by turns.
    fn objects(
        &self,
        document: &Document,
        nodes: &Nodes,
        made: &Weld,
        flaws: &mut Flaws,
    ) -> (Vec<MeshObject>, Vec<u32>) {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for &first in &made.first {
            let node = self.of(first).0.block.node;
            match runs.last_mut().filter(|(last, _)| *last == node) {
                Some((_, count)) => *count += 1,
                None => runs.push((node, 1)),
            }
        }
        let meshes = self.nodes().len();
        if runs.len() > meshes || meshes > MOST_OBJECTS {
            flaws.many(Flaw::Joined, meshes, || skins::name(document, runs[0].0));
            return (Vec::new(), Vec::new());
        }
        let visible = nodes.visible(document);
        let object = |(node, vertices): (u32, u32)| {
            let name = appearance::object_name(document, node);
            MeshObject { name, vertices, visible: visible[node as usize] }
        };
        let run_nodes = runs.iter().map(|run| run.0).collect();
        let objects: Vec<MeshObject> = runs.into_iter().map(object).collect();
        for object in objects.iter().filter(|object| !object.visible) {
            flaws.add(Flaw::Hidden, || format!("\"{:.200}\"", object.name));
        }
        (objects, run_nodes)
    }

    fn weld(&self, drawn: &Drawn, influences: Option<&Influences>) -> Weld {
        let positions: Vec<DVec3> = (0..self.vertices as u32).map(|vertex| self.position(vertex)).collect();
        let number = |a: f64, b: f64| a.total_cmp(&b);
        let order = |a: u32, b: u32| {
            let (p, q) = (positions[a as usize], positions[b as usize]);
            let at_once = number(p.x, q.x).then(number(p.y, q.y)).then(number(p.z, q.z));
            at_once.then_with(|| {
                let ((one, row), (other, other_row)) = (self.of(a), self.of(b));
                let weights = |vertex: u32| influences.map_or(&[][..], |i| i.of(vertex as usize)).iter();
                let deltas = |hung: &HungBlock<'a>, row: usize| {
                    hung.block
                        .targets
                        .iter()
                        .flat_map(move |t| t.as_ref().map_or(&[0.0; 3][..], |t| t.row(row)))
                        .copied()
                };
                let by_weights = weights(a).map(|w| w.0).cmp(weights(b).map(|w| w.0));
                (one.block.node, one.block.targets.len())
                    .cmp(&(other.block.node, other.block.targets.len()))
                    .then(by_weights)
                    .then_with(|| lexical(weights(a).map(|w| w.1), weights(b).map(|w| w.1)))
                    .then_with(|| lexical(deltas(one, row), deltas(other, other_row)))
            })
        };
        if let Some(stated) = self.stated(&order) {
            return stated;
        }
        let split = |a: u32, b: u32| {
            let ((one, row), (other, other_row)) = (self.of(a), self.of(b));
            one.start != other.start || !one.block.shares || !one.block.shading(row).eq(other.block.shading(other_row))
        };
        weld(self.vertices, &self.triangles(drawn).0, order, split)
    }

    /// The vertices that the file states, if every drawn one says which it hangs on, and those of one vertex are in one place.
    fn stated(&self, order: &impl Fn(u32, u32) -> Ordering) -> Option<Weld> {
        let number = |(hung, row): (&HungBlock<'a>, usize)| {
            let number = *hung.block.vertices.as_ref()?.row(row).first()?;
            (number >= 0.0 && number < f64::from(u32::MAX) && number.fract() == 0.0).then_some(number as u32)
        };
        let numbers: Vec<u32> = self.rows().map(number).collect::<Option<_>>()?;
        let mut known = numbers.clone();
        known.sort_unstable();
        known.dedup();
        let source: Vec<u32> = numbers.iter().map(|number| known.partition_point(|k| k < number) as u32).collect();
        let mut first = vec![u32::MAX; known.len()];
        for (drawn, &vertex) in (0u32..).zip(&source) {
            let first = &mut first[vertex as usize];
            if *first == u32::MAX {
                *first = drawn;
            } else if order(*first, drawn).is_ne() {
                return None;
            }
        }
        Some(Weld { source, first })
    }

    fn mesh(&self, drawn: &Drawn, made: &Weld, objects: Vec<MeshObject>) -> Result<Mesh, ReadError> {
        let (triangles, parts) = self.triangles(drawn);
        let uv = |table: Option<&Table>, row: usize| match table.map(|table| table.row(row)) {
            Some([u, v]) => DVec2::new(*u, *v),
            _ => DVec2::ZERO,
        };
        let set = |of: &dyn Fn(&'a Block) -> Option<&'a Table>| -> Vec<DVec2> {
            self.rows().map(|(hung, row)| uv(of(hung.block), row)).collect()
        };
        let sets = self.blocks.iter().map(|hung| hung.block.more_uvs.len()).max().unwrap_or(0);
        let mut uvs = Vec::new();
        if sets > 0 || self.blocks.iter().any(|hung| hung.block.uvs.is_some()) {
            uvs = set(&|block| block.uvs.as_ref());
        }
        let more_uvs = (0..sets).map(|at| set(&|block| block.more_uvs.get(at))).collect();
        let (mut colors, mut drawn_colors) = (None, Vec::new());
        if self.blocks.iter().any(|hung| hung.block.colors.is_some()) {
            let color =
                |(hung, row): (&HungBlock<'a>, usize)| match hung.block.colors.as_ref().map(|table| table.row(row)) {
                    Some([r, g, b]) => Vec4::new(*r as f32, *g as f32, *b as f32, 1.0),
                    Some([r, g, b, a]) => Vec4::new(*r as f32, *g as f32, *b as f32, *a as f32),
                    _ => Vec4::ONE,
                };
            let own: Vec<Vec4> = made.first.iter().map(|&vertex| color(self.of(vertex))).collect();
            drawn_colors = self.rows().map(color).collect();
            if drawn_colors.iter().zip(&made.source).all(|(color, &vertex)| *color == own[vertex as usize]) {
                drawn_colors = Vec::new();
            }
            colors = Some(own);
        }
        let mut normals = Vec::new();
        if self.blocks.iter().any(|hung| hung.block.normals.is_some()) {
            normals = self.rows().map(|(hung, row)| hung.normal(row)).collect();
        }
        let welded = triangles.iter().map(|corners| corners.map(|corner| made.source[corner as usize])).collect();
        let mesh = Mesh {
            positions: made.first.iter().map(|&vertex| self.position(vertex)).collect(),
            triangles: welded,
            polygons: None,
            colors,
            objects,
            render: Some(RenderMesh {
                source: made.source.clone(),
                triangles,
                uvs,
                more_uvs,
                colors: drawn_colors,
                normals,
                parts,
                by_corner: false,
                appearance: None,
            }),
            morphs: None,
        };
        mesh.check()?;
        Ok(mesh)
    }

    /// Fills in the morph targets; the result names for each the node whose weight drives it, and its number there. Targets that
    /// several nodes move together are one, of the first of these nodes. Of each node with morph targets the first, and their number.
    fn morphs(
        &self,
        document: &Document,
        made: &Weld,
        morphs: &mut Vec<MorphTarget>,
        flaws: &mut Flaws,
    ) -> Result<(Vec<(u32, usize)>, NodeTargets), ReadError> {
        let mut counts: Vec<(u32, usize)> = Vec::new();
        for hung in &self.blocks {
            let (node, targets) = (hung.block.node, hung.block.targets.len());
            match counts.last_mut().filter(|(last, _)| *last == node) {
                Some((_, count)) => {
                    if *count != targets {
                        flaws.add(Flaw::CountMismatch, || {
                            format!("morph targets of \"{}\"", skins::name(document, node))
                        });
                    }
                    *count = targets.max(*count);
                }
                None => counts.push((node, targets)),
            }
        }
        let controls = Controls::read(document);
        let (mut sources, mut known) = (Vec::new(), HashMap::new());
        let mut places = NodeTargets::new();
        for (node, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            let from = morphs.len();
            if let Some(control) = controls.of(node, count)? {
                let first = *known.entry(control).or_insert(from);
                if first < from {
                    places.insert(node, (first, count));
                    continue;
                }
            }
            places.insert(node, (from, count));
            document.charge(made.first.len() as u64, 3 * count as u64, "morph targets")?;
            let names = target_names(document, node);
            for target in 0..count {
                let name = names.and_then(|names| names.get(target)).and_then(serde_json::Value::as_str);
                let mut name = name.map_or_else(|| format!("target {target}"), short);
                if morphs[..from].iter().any(|morph| morph.name == name) {
                    name = format!("{name} of {} at node {node}", skins::name(document, node));
                }
                morphs.push(MorphTarget { name, deltas: vec![DVec3::ZERO; made.first.len()] });
                sources.push((node, target));
            }
        }
        for (vertex, &first) in made.first.iter().enumerate() {
            let (hung, row) = self.of(first);
            let Some((from, _)) = places.get(&hung.block.node) else { continue };
            for (target, table) in hung.block.targets.iter().enumerate() {
                if let Some([x, y, z]) = table.as_ref().map(|table| table.row(row)) {
                    morphs[from + target].deltas[vertex] = hung.rest.matrix3 * DVec3::new(*x, *y, *z);
                }
            }
        }
        let infinite = |morph: &&MorphTarget| morph.deltas.iter().any(|d| !d.is_finite());
        if let Some(morph) = morphs.iter().find(infinite) {
            return Err(damaged(format!("morph target \"{}\" is not finite", morph.name)));
        }
        Ok((sources, places))
    }
}

/// The first morph target of each node, and how many it has.
type NodeTargets = HashMap<u32, (usize, usize)>;

fn lexical(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> Ordering {
    // Adding zero makes −0 and 0 the same.
    a.map(|x| x + 0.0)
        .zip(b.map(|x| x + 0.0))
        .map(|(x, y)| x.total_cmp(&y))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The weights of the welded vertices, normalised.
fn normalised(drawn: &Influences, made: &Weld, flaws: &mut Flaws) -> Result<Influences, ReadError> {
    let rows = Influences::from_rows(made.first.iter().map(|&vertex| drawn.of(vertex as usize).to_vec()))?;
    let (weights, mended) = rows.normalised();
    flaws.warn(Flaw::WeightSum, mended.rescaled, Some(format!("the worst is off by {:.3e}", mended.worst)));
    flaws.warn(Flaw::Unbound, mended.unbound, None);
    flaws.warn(Flaw::NegativeWeight, mended.negative, None);
    Ok(weights)
}

fn count_mesh_flaws(mesh: &Mesh, flaws: &mut Flaws) {
    let mut used = vec![false; mesh.positions.len()];
    for (at, corners) in mesh.triangles.iter().enumerate() {
        let [a, b, c] = corners.map(|corner| mesh.positions[corner as usize]);
        let (long, area) = ((b - a).length_squared().max((c - a).length_squared()), (b - a).cross(c - a).length());
        // Corners on a line lose all but some 1e-16 of the square of the edge.
        if area <= 1e-14 * long {
            flaws.add(Flaw::DegenerateTriangle, || format!("triangle {at}"));
        }
        corners.iter().for_each(|&corner| used[corner as usize] = true);
    }
    for vertex in (0..used.len()).filter(|&vertex| !used[vertex]) {
        flaws.add(Flaw::UnusedVertex, || format!("vertex {vertex}"));
    }
}

/// Counts bones whose default pose moves the mesh's box away from rest; whether there are any.
fn count_not_at_bind(
    skeleton: &Skeleton,
    nodes: &Nodes,
    bone_nodes: &[u32],
    mesh: Option<&Mesh>,
    flaws: &mut Flaws,
) -> bool {
    let bounds = mesh.map(Mesh::bounds).unwrap_or_else(|| {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        skeleton.bind().iter().fold(start, |(low, high), b| (low.min(b.translation), high.max(b.translation)))
    });
    let corners = corners(bounds);
    let diagonal = (corners[7] - corners[0]).length();
    let mut any = false;
    for bone in skeleton.bones() {
        let moved = nodes.world[bone_nodes[bone.get()] as usize] * skeleton.inverse_bind()[bone];
        if apart(&moved, &DAffine3::IDENTITY, &corners) > AGREE * diagonal {
            flaws.add(Flaw::NotAtBind, || skeleton.names()[bone].clone());
            any = true;
        }
    }
    any
}
