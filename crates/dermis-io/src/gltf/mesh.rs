//! Meshes as a file draws them: blocks of vertices in the file's own coordinates, and runs of triangles over them.

use super::VERTEX;
use super::accessor::Table;
use super::document::{Document, Primitive, damaged, unsupported};
use super::extensions::INSTANCES;
use super::facets::is_faceted;
use super::nodes::Nodes;
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use dermis_rig::MeshError;
use dermis_rig::glam::{DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Everything drawn in the scene, mesh node after mesh node.
#[derive(Default)]
pub(super) struct Drawn {
    pub blocks: Vec<Block>,
    pub parts: Vec<Part>,
    /// Number of drawn vertices.
    pub vertices: usize,
}

/// Vertices that share their attributes: of one primitive, or of several that differ in their indices only.
#[derive(Default)]
pub(super) struct Block {
    /// The node the mesh hangs on.
    pub node: u32,
    /// The skin, if the vertices have joints.
    pub skin: Option<u32>,
    /// Number of the first vertex among all drawn ones.
    pub start: usize,
    pub positions: Vec<DVec3>,
    /// Joints and weights, four per vertex and set.
    pub sets: Vec<(Vec<u32>, Table)>,
    pub normals: Option<Table>,
    pub uvs: Option<Table>,
    /// Sets of texture coordinates after the first.
    pub more_uvs: Vec<Table>,
    pub colors: Option<Table>,
    /// Displacements per morph target; `None` where the target leaves the vertices alone.
    pub targets: Vec<Option<Table>>,
    /// A number per vertex that differs where anything else does that the file says of it: other attributes, and what morph targets do to
    /// all but positions. Empty if it says nothing else.
    pub others: Vec<u64>,
    /// The vertex that each drawn one hangs on, where the file says it.
    pub vertices: Option<Table>,
    /// Whether faces share vertices. Where none does, the file knows only corners.
    pub shares: bool,
}

/// Triangles of one primitive.
pub(super) struct Part {
    pub block: usize,
    /// Over all drawn vertices.
    pub triangles: Vec<[u32; 3]>,
    pub name: String,
    pub color: Vec4,
    pub material: Option<u32>,
    /// The mesh of the file, and the number of the primitive in it.
    pub primitive: (u32, usize),
}

impl Part {
    pub fn render(&self, start: u32) -> RenderPart {
        let (name, count) = (self.name.clone(), self.triangles.len() as u32);
        RenderPart { name, start, count, color: self.color, material: self.material }
    }
}

/// Sets of texture coordinates that are read.
const MOST_UVS: usize = 8;

/// How many instances the extensions of a node place its mesh at.
fn instances(document: &Document, extensions: &Value) -> u64 {
    let attributes = extensions.get(INSTANCES).and_then(|own| own.get("attributes")?.as_object());
    let accessors = attributes.into_iter().flat_map(|a| a.values()).filter_map(|at| u32::try_from(at.as_u64()?).ok());
    accessors.filter_map(|at| Some(document.accessor(at, INSTANCES).ok()?.count)).max().unwrap_or(0)
}

/// What makes two primitives share their vertices.
type Attributes<'a> = (&'a BTreeMap<String, u32>, &'a Vec<BTreeMap<String, u32>>);

impl Drawn {
    /// Decodes the meshes of the scene.
    pub fn read(document: &Document, nodes: &Nodes, flaws: &mut Flaws) -> Result<Self, ReadError> {
        let mut drawn = Self::default();
        for &at in nodes.order.iter().filter(|&&at| nodes.shown[at as usize]) {
            let node = &document.root.nodes[at as usize];
            let Some(number) = node.mesh else { continue };
            let meshes = &document.root.meshes;
            let mesh = meshes
                .get(number as usize)
                .ok_or_else(|| damaged(format!("node {at} names mesh {number}, but there are {}", meshes.len())))?;
            let name = short(mesh.name.as_deref().or(node.name.as_deref()).unwrap_or("mesh"));
            let instances = node.extensions.as_deref().map_or(0, |own| instances(document, own));
            if instances > 0 {
                let (count, are) = if instances == 1 {
                    ("1 instance".into(), "is")
                } else {
                    (format!("{instances} instances"), "are")
                };
                flaws
                    .unread(&format!("the places of {count} of mesh \"{name}\", which {are} shown once ({INSTANCES})"));
            }
            let mut blocks: HashMap<Attributes, usize> = HashMap::new();
            for (place, primitive) in mesh.primitives.iter().enumerate() {
                document.charge(1 + primitive.targets.len() as u64, 1, "a mesh")?;
                let parts = drawn.parts.len();
                drawn.add(document, at, node.skin, &name, primitive, &mut blocks, flaws)?;
                drawn.parts[parts..].iter_mut().for_each(|part| part.primitive = (number, place));
            }
        }
        let hidden: Vec<String> = (document.root.nodes.iter().zip(&nodes.shown))
            .filter(|(node, shown)| !**shown && node.mesh.is_some())
            .map(|(node, _)| short(node.name.as_deref().unwrap_or("without a name")))
            .collect();
        if let Some(first) = hidden.first() {
            let meshes = if hidden.len() == 1 { "mesh" } else { "meshes" };
            flaws.unread(&format!("{} {meshes} in no scene that is shown, the first \"{first}\"", hidden.len()));
        }
        for block in &mut drawn.blocks {
            block.shares = false;
        }
        let mut used = vec![false; drawn.vertices];
        for part in &drawn.parts {
            for &corner in part.triangles.iter().flatten() {
                let used = &mut used[corner as usize];
                drawn.blocks[part.block].shares |= *used;
                *used = true;
            }
        }
        let mut parts: Vec<Vec<&Part>> = drawn.blocks.iter().map(|_| Vec::new()).collect();
        drawn.parts.iter().for_each(|part| parts[part.block].push(part));
        for (block, parts) in drawn.blocks.iter_mut().zip(parts) {
            let triangles = parts.iter().flat_map(|part| &part.triangles);
            block.shares = block.shares && !is_faceted(block, triangles);
        }
        Ok(drawn)
    }

    fn add<'a>(
        &mut self,
        document: &Document,
        node: u32,
        skin: Option<u32>,
        name: &str,
        primitive: &'a Primitive,
        blocks: &mut HashMap<Attributes<'a>, usize>,
        flaws: &mut Flaws,
    ) -> Result<(), ReadError> {
        let mode = primitive.mode.unwrap_or(4);
        if mode > 6 {
            return Err(damaged(format!("mesh \"{name}\" has the unknown primitive mode {mode}")));
        }
        if mode < 4 {
            flaws.add(Flaw::Unsupported, || format!("points or lines of mesh \"{name}\""));
            return Ok(());
        }
        let key = (&primitive.attributes, &primitive.targets);
        let block = match blocks.get(&key) {
            Some(&block) => block,
            None => {
                let block = Block::read(document, node, skin, self.vertices, name, primitive, flaws)?;
                self.vertices = self
                    .vertices
                    .checked_add(block.positions.len())
                    .filter(|&all| all < u32::MAX as usize)
                    .ok_or_else(|| damaged("more than 4 billion vertices"))?;
                self.blocks.push(block);
                blocks.insert(key, self.blocks.len() - 1);
                self.blocks.len() - 1
            }
        };
        let (start, count) = (self.blocks[block].start, self.blocks[block].positions.len());
        let corners = match primitive.indices {
            Some(indices) => document.integers(indices, &format!("indices of mesh \"{name}\""), 1)?,
            None => {
                document.charge(count as u64, 1, &format!("corners of mesh \"{name}\""))?;
                (0..count as u32).collect()
            }
        };
        // A strip or fan draws three corners for each that it names.
        if mode != 4 {
            document.charge(corners.len() as u64, 2, &format!("triangles of mesh \"{name}\""))?;
        }
        if let Some(at) = corners.iter().position(|&c| c as usize >= count) {
            let (face, vertex) = (at / 3, corners[at] as usize);
            return Err(MeshError::IndexOutOfRange { face, vertex, vertices: count }.into());
        }
        if corners.len() < 3 || (mode == 4 && corners.len() % 3 != 0) {
            flaws.add(Flaw::CountMismatch, || format!("{} corners in mesh \"{name}\"", corners.len()));
        }
        let start = start as u32; // checked above: all vertices together fit
        let mut triangles: Vec<[u32; 3]> = match mode {
            4 => corners.as_chunks::<3>().0.to_vec(),
            5 => corners
                .windows(3)
                .enumerate()
                .map(|(at, c)| if at % 2 == 0 { [c[0], c[1], c[2]] } else { [c[0], c[2], c[1]] })
                .collect(),
            _ => corners.windows(2).skip(1).map(|c| [c[0], c[1], corners[0]]).collect(),
        };
        // How a writer says that a mesh has vertices alone.
        if let [[a, b, c]] = triangles[..]
            && a == b
            && b == c
        {
            return Ok(());
        }
        triangles.iter_mut().flatten().for_each(|corner| *corner += start);
        let material = primitive.material.map(|at| (at, document.root.materials.get(at as usize)));
        let (mut part_name, mut color) = (name.to_owned(), Vec4::ONE);
        if let Some((at, material)) = material {
            let material = material.ok_or_else(|| damaged(format!("mesh \"{name}\" names material {at}")))?;
            part_name = material.name.as_deref().map_or(part_name, short);
            let base = material.pbr_metallic_roughness.as_ref().and_then(|pbr| pbr.base_color_factor);
            color = base.map_or(color, Vec4::from_array);
            // JSON holds numbers that 32 bits do not.
            if !color.is_finite() {
                return Err(damaged(format!("the base colour of material {at} is not finite in 32 bits")));
            }
        }
        self.parts.push(Part {
            block,
            triangles,
            name: part_name,
            color,
            material: primitive.material,
            primitive: (0, 0),
        });
        Ok(())
    }
}

impl Block {
    fn read(
        document: &Document,
        node: u32,
        skin: Option<u32>,
        start: usize,
        name: &str,
        primitive: &Primitive,
        flaws: &mut Flaws,
    ) -> Result<Self, ReadError> {
        let attribute = |semantic: &str| primitive.attributes.get(semantic).copied();
        let what = |semantic: &str| format!("{semantic} of mesh \"{name}\"");
        let Some(at) = attribute("POSITION") else {
            return Err(damaged(format!("mesh \"{name}\" has no POSITION")));
        };
        if !document.has_data(at)
            && let Some(extension) = &primitive.extensions.other
        {
            return Err(unsupported(format!("the glTF extension {extension:.100}")));
        }
        let positions: Vec<DVec3> = document
            .table(at, &what("POSITION"), &[3])?
            .values
            .as_chunks::<3>()
            .0
            .iter()
            .map(|p| DVec3::from_array(*p))
            .collect();
        if positions.is_empty() {
            return Err(MeshError::Empty.into());
        }
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            return Err(MeshError::NotFinite { vertex: start + vertex }.into());
        }
        let count = positions.len();
        let agree = |semantic: &str, rows: usize| match rows == count {
            true => Ok(()),
            false => Err(damaged(format!("{} has {rows} rows for {count} vertices", what(semantic)))),
        };
        let finite = |semantic: &str, table: &Table| match table.values.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(at) => Err(damaged(format!("{} is not finite at row {}", what(semantic), at / table.width.max(1)))),
        };
        let table = |semantic: &str, widths: &[usize]| -> Result<Option<Table>, ReadError> {
            let Some(at) = attribute(semantic) else { return Ok(None) };
            let table = document.table(at, &what(semantic), widths)?;
            agree(semantic, table.rows())?;
            Ok(Some(table))
        };
        let (normals, uvs, colors) = (table("NORMAL", &[3])?, table("TEXCOORD_0", &[2])?, table("COLOR_0", &[3, 4])?);
        for (semantic, table) in [("TEXCOORD_0", &uvs), ("COLOR_0", &colors)] {
            table.as_ref().map_or(Ok(()), |table| finite(semantic, table))?;
        }
        let vertices = table(VERTEX, &[1])?;
        let mut more_uvs = Vec::new();
        while more_uvs.len() < MOST_UVS - 1 {
            let semantic = format!("TEXCOORD_{}", 1 + more_uvs.len());
            let Some(table) = table(&semantic, &[2])? else { break };
            finite(&semantic, &table)?;
            more_uvs.push(table);
        }
        if attribute("TANGENT").is_some() {
            flaws.add(Flaw::Tangents, || format!("of mesh \"{name}\""));
        }
        let mut sets = Vec::new();
        while let Some(at) = attribute(&format!("JOINTS_{}", sets.len())).filter(|_| skin.is_some()) {
            let (joints, weights) = (format!("JOINTS_{}", sets.len()), format!("WEIGHTS_{}", sets.len()));
            let indices = document.integers(at, &what(&joints), 4)?;
            agree(&joints, indices.len() / 4)?;
            let table = table(&weights, &[4])?;
            sets.push((indices, table.ok_or_else(|| damaged(format!("{} has no {weights}", what(&joints))))?));
        }
        let mut targets = Vec::new();
        for target in &primitive.targets {
            let Some(&at) = target.get("POSITION") else {
                targets.push(None);
                continue;
            };
            let table = document.table(at, &what("a morph target"), &[3])?;
            agree("a morph target", table.rows())?;
            finite("a morph target", &table)?;
            targets.push(Some(table));
        }
        for semantic in primitive.attributes.keys() {
            let number = |start: &str| semantic.strip_prefix(start).and_then(|n| n.parse::<usize>().ok());
            let skinning = number("JOINTS_").or(number("WEIGHTS_")).is_some_and(|n| n < sets.len());
            let uvs = number("TEXCOORD_").is_some_and(|n| n <= more_uvs.len());
            if !skinning && !uvs && !["POSITION", "NORMAL", "TANGENT", "COLOR_0", VERTEX].contains(&semantic.as_str()) {
                flaws.unread(semantic);
            }
        }
        let read = ["POSITION", "NORMAL", "COLOR_0", VERTEX];
        let is_other = |semantic: &&String| {
            let skins = semantic.starts_with("JOINTS_") || semantic.starts_with("WEIGHTS_");
            let uvs = semantic
                .strip_prefix("TEXCOORD_")
                .and_then(|n| n.parse().ok())
                .is_some_and(|n: usize| n <= more_uvs.len());
            !(skins || uvs || read.contains(&semantic.as_str()))
        };
        let own = primitive.attributes.iter().filter(|(semantic, _)| is_other(semantic));
        let of_targets = primitive.targets.iter().flatten().filter(|(semantic, _)| *semantic != "POSITION");
        let others = others(document, own.chain(of_targets).map(|(_, at)| *at), count);
        let skin = skin.filter(|_| !sets.is_empty());
        Ok(Self {
            node,
            skin,
            start,
            positions,
            sets,
            normals,
            uvs,
            more_uvs,
            colors,
            targets,
            others,
            vertices,
            shares: false,
        })
    }

    /// Everything drawn at vertex `row` but its position.
    pub fn shading(&self, row: usize) -> impl Iterator<Item = u64> {
        let tables = [&self.normals, &self.uvs, &self.colors].into_iter().flatten().chain(&self.more_uvs);
        tables.flat_map(move |table| table.row(row)).map(|x| x.to_bits()).chain(self.others.get(row).copied())
    }
}

/// What accessors say of each of `count` vertices, as a number; of no use but to tell vertices apart. One that cannot be read is passed
/// over, as nothing is made of it.
fn others(document: &Document, accessors: impl Iterator<Item = u32>, count: usize) -> Vec<u64> {
    let mut mixed = Vec::new();
    for table in accessors.filter_map(|at| document.glance(at)).filter(|table| table.rows() == count) {
        mixed.resize(count, 0u64);
        for (row, mixed) in mixed.iter_mut().enumerate() {
            for number in table.row(row) {
                // An odd factor and a turn carry every bit into all others, so that numbers of equal vertices alone are equal.
                *mixed = (mixed.rotate_left(23) ^ (number + 0.0).to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
    }
    mixed
}
