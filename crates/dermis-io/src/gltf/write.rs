//! A skinned character as a .glb: nodes, skin, drawn mesh, morph targets, sampled clips.

use crate::contents::MorphTarget;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::skeleton::frobenius;
use dermis_rig::{BoneIndex, Influences, Mesh, RenderMesh, Skeleton, WorldPose};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The largest part of a local matrix that translation, rotation and scale may fail to express: what single precision
/// loses along a chain of bones stays below, a shear that an eye sees is far above.
const SHEAR: f64 = 1e-5;

/// What goes into a file. Right-handed, Y up, metres, as everywhere.
#[derive(Clone, Copy, Default)]
pub struct GlbScene<'a> {
    /// Name of the mesh and of the scene.
    pub name: &'a str,
    /// The rest mesh; drawn through [`Mesh::render`] if it has one.
    pub mesh: Option<&'a Mesh>,
    /// The skeleton at rest.
    pub skeleton: Option<&'a Skeleton>,
    /// Skinning weights of the mesh: any number per vertex, each row sums to one.
    pub weights: Option<&'a Influences>,
    /// Morph targets of the mesh, applied before skinning.
    pub morphs: &'a [MorphTarget],
    /// Weights of the morph targets where no clip says otherwise; zero if there are none.
    pub morph_weights: &'a [f64],
    /// Animations.
    pub clips: &'a [GlbClip],
    /// Name and content of an extension of the mesh's node, which readers may ignore. The node of a bone has the bone's index.
    pub extension: Option<(&'a str, &'a Value)>,
}

/// An animation as sampled frames, linear between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlbClip {
    /// Its name.
    pub name: String,
    /// Seconds, ascending, not negative.
    pub times: Vec<f64>,
    /// One pose per time; empty if no bone moves.
    pub poses: Vec<WorldPose>,
    /// One weight per morph target for each time; empty if none moves.
    pub morph_weights: Vec<Vec<f64>>,
}

/// Why a scene cannot be written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// Parts whose counts disagree.
    #[error("{what}: {found} where {expected} are needed")]
    Count {
        /// What is counted.
        what: String,
        /// The number given.
        found: usize,
        /// The number needed.
        expected: usize,
    },
    /// A number that is NaN, infinite, or beyond single precision.
    #[error("{what} is not a finite number at {at}")]
    NotFinite {
        /// What holds the number.
        what: String,
        /// Vertex, frame or bone.
        at: usize,
    },
    /// Weights that do not sum to one.
    #[error("the weights of vertex {vertex} sum to {sum}")]
    WeightSum {
        /// The vertex.
        vertex: usize,
        /// The sum.
        sum: f64,
    },
    /// A transform that glTF's translation, rotation and scale cannot express.
    #[error(
        "bone \"{bone}\" is sheared in {place}: {deviation:.1e} of its local matrix is no rotation and scale, and glTF animates nothing else"
    )]
    Shear {
        /// The bone.
        bone: String,
        /// At rest, or clip and frame.
        place: String,
        /// The part of the local matrix that is lost.
        deviation: f64,
    },
    /// A parent squeezed flat, so that its children have no local transform.
    #[error("bone \"{bone}\" has a singular matrix in {place}, so its children have no local transform")]
    Singular {
        /// The bone.
        bone: String,
        /// Clip and frame.
        place: String,
    },
    /// Key times that do not ascend.
    #[error("clip \"{clip}\": time {at} is not after the one before it, or negative")]
    Times {
        /// The clip.
        clip: String,
        /// Number of the key.
        at: usize,
    },
    /// A mesh that names what it does not have.
    #[error(transparent)]
    Mesh(#[from] dermis_rig::MeshError),
    /// More than the container's four gigabytes.
    #[error("the file would be larger than four gigabytes")]
    TooLarge,
}

impl GlbScene<'_> {
    /// Weights of the morph targets where no clip says otherwise.
    fn rest_weights(&self) -> Result<Vec<f64>, WriteError> {
        if self.morph_weights.is_empty() {
            return Ok(vec![0.0; self.morphs.len()]);
        }
        expect("weights of the morph targets", self.morph_weights.len(), self.morphs.len())?;
        match self.morph_weights.iter().position(|w| !w.is_finite()) {
            Some(at) => Err(WriteError::NotFinite { what: "the weight of a morph target".into(), at }),
            None => Ok(self.morph_weights.to_vec()),
        }
    }
}

/// Writes a binary glTF.
///
/// Bones become nodes with the local transform `B_parent⁻¹ B_k` and B_k⁻¹ as inverse bind matrix; a bone that is sheared at
/// rest keeps its matrix, but cannot be animated. Normals are those of [`RenderMesh`]; without them they are area-weighted
/// over [`Mesh`], so that a seam does not show. Drawn vertices that nothing tells apart are written once.
/// Weights become as many sets of four as the fullest vertex needs, the largest first; where all are multiples of 1/255 or 1/65535
/// they are stored as whole numbers, so that sums stay exact. A clip's channel that never
/// leaves rest is left out, one that is constant has one key; quaternions keep their sign from frame to frame.
///
/// # Errors
/// [`WriteError`], naming what disagrees. Nothing is rounded away in silence but doubles to floats.
pub fn write_glb(scene: &GlbScene) -> Result<Vec<u8>, WriteError> {
    let mut file = File::default();
    let bones = scene.skeleton.map_or(0, Skeleton::len);
    let (mut nodes, mut roots) = (Vec::new(), Vec::new());
    if let Some(skeleton) = scene.skeleton {
        let rest = locals(skeleton, &WorldPose::new(skeleton.bind().to_vec()), || "the bind pose".into())?;
        let mut children = vec![Vec::new(); bones];
        for (bone, parent) in skeleton.parents().enumerate() {
            if let Some(parent) = parent {
                children[parent.get()].push(bone.get());
            }
        }
        for ((bone, rest), children) in skeleton.bones().zip(&rest).zip(children) {
            let mut node = rest.node();
            node["name"] = json!(skeleton.names()[bone]);
            push_list(&mut node, "children", children);
            nodes.push(node);
        }
        roots = skeleton.bones().filter(|bone| skeleton.parents()[*bone].is_none()).map(BoneIndex::get).collect();
        if roots.len() > 1 {
            // A skin's joints need a common root.
            nodes.push(json!({ "name": "Armature", "children": roots }));
            roots = vec![nodes.len() - 1];
        }
    }
    let mut mesh_node = None;
    if let Some(mesh) = scene.mesh {
        file.mesh(scene, mesh)?;
        let mut node = json!({ "name": scene.name, "mesh": 0 });
        if scene.skeleton.is_some() && scene.weights.is_some() {
            node["skin"] = json!(0);
        }
        if let Some((name, content)) = scene.extension {
            node["extensions"] = json!({ name: content });
        }
        mesh_node = Some(nodes.len());
        roots.push(nodes.len());
        nodes.push(node);
    } else if !scene.morphs.is_empty() || scene.weights.is_some() || scene.extension.is_some() {
        return Err(WriteError::Count {
            what: "meshes for morph targets, weights or an extension".into(),
            found: 0,
            expected: 1,
        });
    }
    let mut root = serde_json::Map::new();
    root.insert(
        "asset".into(),
        json!({ "version": "2.0", "generator": concat!("Dermis ", env!("CARGO_PKG_VERSION")) }),
    );
    if let Some((name, _)) = scene.extension {
        root.insert("extensionsUsed".into(), json!([name]));
    }
    if let Some(skeleton) = scene.skeleton {
        let skin = file.skin(skeleton)?;
        root.insert("skins".into(), json!([skin]));
    }
    let mut animations = Vec::new();
    for clip in scene.clips {
        animations.push(file.animation(scene, clip, mesh_node)?);
    }
    root.insert("scene".into(), json!(0));
    root.insert("scenes".into(), json!([{ "name": scene.name, "nodes": roots }]));
    if roots.is_empty() {
        root.insert("scenes".into(), json!([{ "name": scene.name }]));
    }
    for (name, list) in [
        ("nodes", nodes),
        ("meshes", file.meshes),
        ("materials", file.materials),
        ("animations", animations),
        ("accessors", file.accessors),
        ("bufferViews", file.views),
    ] {
        if !list.is_empty() {
            root.insert(name.into(), Value::Array(list));
        }
    }
    if !file.bytes.is_empty() {
        root.insert("buffers".into(), json!([{ "byteLength": file.bytes.len() }]));
    }
    container(&Value::Object(root).to_string(), file.bytes)
}

/// Header, JSON chunk padded with blanks, binary chunk padded with zeros.
fn container(json: &str, mut binary: Vec<u8>) -> Result<Vec<u8>, WriteError> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    binary.resize(binary.len().next_multiple_of(4), 0);
    let size = |bytes: usize| u32::try_from(bytes).map_err(|_| WriteError::TooLarge);
    let length = 20 + json.len() + if binary.is_empty() { 0 } else { 8 + binary.len() };
    let mut file = Vec::with_capacity(length);
    file.extend(b"glTF");
    file.extend(2u32.to_le_bytes());
    file.extend(size(length)?.to_le_bytes());
    file.extend(size(json.len())?.to_le_bytes());
    file.extend(b"JSON");
    file.extend(json);
    if !binary.is_empty() {
        file.extend(size(binary.len())?.to_le_bytes());
        file.extend(b"BIN\0");
        file.extend(binary);
    }
    Ok(file)
}

/// A local transform as glTF animates it, with what that cannot express.
#[derive(Clone)]
struct Trs {
    translation: DVec3,
    rotation: DQuat,
    scale: DVec3,
    matrix: DAffine3,
    /// Frobenius norm of what is lost, relative to the matrix.
    deviation: f64,
}

impl Trs {
    /// A = R S + E with R the rotation nearest to A (mirrored along x if A mirrors) and S = diag(RᵀA).
    fn new(matrix: DAffine3) -> Self {
        let a = matrix.matrix3;
        let mirror = DVec3::new(if a.determinant() < 0.0 { -1.0 } else { 1.0 }, 1.0, 1.0);
        let r = nearest_rotation(&(a * DMat3::from_diagonal(mirror)));
        let scale = DVec3::new(r.x_axis.dot(a.x_axis), r.y_axis.dot(a.y_axis), r.z_axis.dot(a.z_axis));
        let lost = frobenius(&(a - r * DMat3::from_diagonal(scale)));
        let deviation = if lost > 0.0 { lost / frobenius(&a) } else { 0.0 };
        Self { translation: matrix.translation, rotation: quat_from_matrix(&r), scale, matrix, deviation }
    }

    fn node(&self) -> Value {
        if self.deviation > SHEAR {
            let m = self.matrix.matrix3.to_cols_array_2d();
            let [x, y, z] = self.translation.to_array();
            let [a, b, c] = m;
            return json!({ "matrix": [a[0], a[1], a[2], 0.0, b[0], b[1], b[2], 0.0, c[0], c[1], c[2], 0.0, x, y, z, 1.0] });
        }
        let mut node = json!({ "translation": self.translation.to_array(), "rotation": self.rotation.to_array() });
        if (self.scale - DVec3::ONE).abs().max_element() > 1e-12 {
            node["scale"] = json!(self.scale.to_array());
        }
        node
    }
}

/// Local transforms of a pose.
fn locals(skeleton: &Skeleton, pose: &WorldPose, place: impl Fn() -> String) -> Result<Vec<Trs>, WriteError> {
    if pose.bones.len() != skeleton.len() {
        return Err(WriteError::Count {
            what: format!("bones in {}", place()),
            found: pose.bones.len(),
            expected: skeleton.len(),
        });
    }
    if let Some(at) = pose.bones.iter().position(|m| !m.is_finite()) {
        return Err(WriteError::NotFinite { what: format!("the pose in {}", place()), at });
    }
    let Some(local) = skeleton.local_pose(pose) else {
        let singular = |bone: &BoneIndex| dermis_rig::skeleton::invert(&pose.bones[*bone]).is_none();
        let bone = skeleton.bones().find(singular).map_or_else(String::new, |bone| skeleton.names()[bone].clone());
        return Err(WriteError::Singular { bone, place: place() });
    };
    Ok(local.local.iter().map(|matrix| Trs::new(*matrix)).collect())
}

/// The growing tables of a file.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    meshes: Vec<Value>,
    materials: Vec<Value>,
}

/// What a buffer view is for, as the specification numbers it.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Vertices,
    Indices,
    Other,
}

const U8: u32 = 5121;
const U16: u32 = 5123;
const U32: u32 = 5125;
const F32: u32 = 5126;

impl File {
    /// A buffer view of its own and an accessor over all of it; the accessor's number.
    fn accessor(
        &mut self,
        bytes: impl IntoIterator<Item = u8>,
        purpose: Use,
        component: u32,
        shape: &str,
        count: usize,
    ) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let start = self.bytes.len();
        self.bytes.extend(bytes);
        let mut view = json!({ "buffer": 0, "byteOffset": start, "byteLength": self.bytes.len() - start });
        match purpose {
            Use::Vertices => view["target"] = json!(34962),
            Use::Indices => view["target"] = json!(34963),
            Use::Other => {}
        }
        self.views.push(view);
        let view = self.views.len() - 1;
        self.accessors.push(json!({ "bufferView": view, "componentType": component, "type": shape, "count": count }));
        self.accessors.len() - 1
    }

    /// Floats, `width` per row; `bounded` adds the least and largest of each column.
    fn floats(&mut self, values: &[f32], width: usize, purpose: Use, bounded: bool) -> usize {
        let shape = match width {
            1 => "SCALAR",
            2 => "VEC2",
            3 => "VEC3",
            4 => "VEC4",
            _ => "MAT4",
        };
        let at = self.accessor(values.iter().flat_map(|x| x.to_le_bytes()), purpose, F32, shape, values.len() / width);
        if bounded {
            let column = |at: usize| values.iter().skip(at).step_by(width).copied();
            let least: Vec<f64> = (0..width).map(|at| f64::from(column(at).fold(f32::INFINITY, f32::min))).collect();
            let most: Vec<f64> = (0..width).map(|at| f64::from(column(at).fold(f32::NEG_INFINITY, f32::max))).collect();
            self.accessors[at]["min"] = json!(least);
            self.accessors[at]["max"] = json!(most);
        }
        at
    }

    fn skin(&mut self, skeleton: &Skeleton) -> Result<Value, WriteError> {
        let columns = |b: &DAffine3| {
            let [x, y, z] = b.matrix3.to_cols_array_2d();
            let t = b.translation.to_array();
            [(x, 0.0), (y, 0.0), (z, 0.0), (t, 1.0)].into_iter().flat_map(|(c, last)| c.into_iter().chain([last]))
        };
        let values = to_floats(skeleton.inverse_bind().iter().flat_map(columns), 16, "the inverse bind matrix")?;
        let matrices = self.floats(&values, 16, Use::Other, false);
        Ok(json!({ "inverseBindMatrices": matrices, "joints": (0..skeleton.len()).collect::<Vec<_>>() }))
    }

    fn mesh(&mut self, scene: &GlbScene, mesh: &Mesh) -> Result<(), WriteError> {
        mesh.check()?;
        let as_is = RenderMesh {
            source: (0..mesh.positions.len() as u32).collect(),
            triangles: mesh.triangles.clone(),
            ..RenderMesh::default()
        };
        let render = mesh.render.as_ref().unwrap_or(&as_is);
        check_render(render, mesh)?;
        let drawn = Vertices::new(render, mesh)?;
        let scatter = |values: &[DVec3], what: &str| -> Result<Vec<f32>, WriteError> {
            to_floats(drawn.source.iter().flat_map(|&v| values[v as usize].to_array()), 3, what)
        };
        let mut attributes = serde_json::Map::new();
        let positions = scatter(&mesh.positions, "the position")?;
        attributes.insert("POSITION".into(), json!(self.floats(&positions, 3, Use::Vertices, true)));
        attributes.insert("NORMAL".into(), json!(self.floats(drawn.normals.as_flattened(), 3, Use::Vertices, false)));
        if !render.uvs.is_empty() {
            attributes
                .insert("TEXCOORD_0".into(), json!(self.floats(drawn.uvs.as_flattened(), 2, Use::Vertices, false)));
        }
        if let Some(colors) = &mesh.colors {
            expect("colours", colors.len(), mesh.positions.len())?;
            let values = drawn.source.iter().flat_map(|&v| colors[v as usize].to_array());
            let colors = to_floats(values.map(|c| f64::from(c).clamp(0.0, 1.0)), 4, "the colour")?;
            attributes.insert("COLOR_0".into(), json!(self.floats(&colors, 4, Use::Vertices, false)));
        }
        if let (Some(weights), Some(skeleton)) = (scene.weights, scene.skeleton) {
            self.weights(weights, skeleton, mesh, &drawn.source, &mut attributes)?;
        }
        let mut targets = Vec::new();
        for morph in scene.morphs {
            let what = format!("the morph target \"{}\"", morph.name);
            expect(&what, morph.deltas.len(), mesh.positions.len())?;
            let deltas = scatter(&morph.deltas, &what)?;
            targets.push(json!({ "POSITION": self.floats(&deltas, 3, Use::Vertices, true) }));
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
            if let Some(part) = part {
                primitive["material"] = json!(self.material(&part.name, part.color.to_array()));
            }
            push_list(&mut primitive, "targets", targets.clone());
            primitives.push(primitive);
        }
        let mut made = json!({ "name": scene.name, "primitives": primitives });
        if !scene.morphs.is_empty() {
            made["weights"] = json!(scene.rest_weights()?);
            let names: Vec<&str> = scene.morphs.iter().map(|morph| morph.name.as_str()).collect();
            made["extras"] = json!({ "targetNames": names });
        }
        self.meshes.push(made);
        Ok(())
    }

    fn material(&mut self, name: &str, color: [f32; 4]) -> usize {
        let color = color.map(|c| if c.is_finite() { f64::from(c.clamp(0.0, 1.0)) } else { 1.0 });
        let made = json!({
            "name": name,
            "pbrMetallicRoughness": { "baseColorFactor": color, "metallicFactor": 0.0, "roughnessFactor": 0.8 },
        });
        self.materials.iter().position(|known| *known == made).unwrap_or_else(|| {
            self.materials.push(made);
            self.materials.len() - 1
        })
    }

    fn weights(
        &mut self,
        weights: &Influences,
        skeleton: &Skeleton,
        mesh: &Mesh,
        source: &[u32],
        attributes: &mut serde_json::Map<String, Value>,
    ) -> Result<(), WriteError> {
        expect("rows of weights", weights.vertices(), mesh.positions.len())?;
        if weights.bones_named() > skeleton.len() {
            let (found, expected) = (weights.bones_named(), skeleton.len());
            return Err(WriteError::Count { what: "bones named by weights".into(), found, expected });
        }
        let one = [255u16, 65535].into_iter().find(|&one| are_whole(weights, f64::from(one)));
        let mut rows: Vec<Vec<(BoneIndex, f64)>> = Vec::with_capacity(weights.vertices());
        for (vertex, row) in weights.rows().enumerate() {
            let sum: f64 = row.iter().map(|(_, w)| w).sum();
            if (sum - 1.0).abs() > 1e-4 || row.iter().any(|(_, w)| *w < 0.0) {
                return Err(WriteError::WeightSum { vertex, sum });
            }
            let mut row: Vec<(BoneIndex, f64)> = row.iter().map(|&(bone, w)| (bone, w / sum)).collect();
            row.retain(|(_, w)| *w as f32 > 0.0); // a joint without weight must be joint zero
            row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            rows.push(row);
        }
        let sets = rows.iter().map(Vec::len).max().unwrap_or(0).div_ceil(4).max(1);
        let drawn = source.len();
        for set in 0..sets {
            let slots = || source.iter().flat_map(|&v| (4 * set..4 * set + 4).map(move |slot| (v as usize, slot)));
            let bone = |(v, slot): (usize, usize)| rows[v].get(slot).map_or(0, |(bone, _)| bone.get());
            let joints = if skeleton.len() <= 256 {
                self.accessor(slots().map(|at| bone(at) as u8), Use::Vertices, U8, "VEC4", drawn)
            } else if skeleton.len() <= 65536 {
                let bytes = slots().flat_map(|at| (bone(at) as u16).to_le_bytes());
                self.accessor(bytes, Use::Vertices, U16, "VEC4", drawn)
            } else {
                return Err(WriteError::Count { what: "bones".into(), found: skeleton.len(), expected: 65536 });
            };
            attributes.insert(format!("JOINTS_{set}"), json!(joints));
            let weight = |(v, slot): (usize, usize)| rows[v].get(slot).map_or(0.0, |(_, w)| *w);
            let whole = |at, one: f64| (weight(at) * one).round();
            let stored = match one {
                Some(255) => {
                    let bytes = slots().map(|at| whole(at, 255.0) as u8);
                    self.accessor(bytes, Use::Vertices, U8, "VEC4", drawn)
                }
                Some(_) => {
                    let bytes = slots().flat_map(|at| (whole(at, 65535.0) as u16).to_le_bytes());
                    self.accessor(bytes, Use::Vertices, U16, "VEC4", drawn)
                }
                None => {
                    let values: Vec<f32> = slots().map(|at| weight(at) as f32).collect();
                    self.floats(&values, 4, Use::Vertices, false)
                }
            };
            if one.is_some() {
                self.accessors[stored]["normalized"] = json!(true);
            }
            attributes.insert(format!("WEIGHTS_{set}"), json!(stored));
        }
        Ok(())
    }

    fn animation(&mut self, scene: &GlbScene, clip: &GlbClip, mesh_node: Option<usize>) -> Result<Value, WriteError> {
        let name = &clip.name;
        if clip.times.is_empty() {
            return Err(WriteError::Count { what: format!("times of clip \"{name}\""), found: 0, expected: 1 });
        }
        let times = to_floats(clip.times.iter().copied(), 1, &format!("the time of clip \"{name}\""))?;
        let bad = (0..times.len()).find(|&at| times[at] < 0.0 || (at > 0 && times[at] <= times[at - 1]));
        if let Some(at) = bad {
            return Err(WriteError::Times { clip: name.clone(), at });
        }
        let mut keys = Keys { times, whole: None, first: None, channels: Vec::new(), samplers: Vec::new() };
        if !clip.poses.is_empty() {
            expect(&format!("poses of clip \"{name}\""), clip.poses.len(), clip.times.len())?;
            let Some(skeleton) = scene.skeleton else {
                return Err(WriteError::Count { what: format!("bones for clip \"{name}\""), found: 0, expected: 1 });
            };
            let rest = locals(skeleton, &WorldPose::new(skeleton.bind().to_vec()), || "the bind pose".into())?;
            let mut frames = Vec::with_capacity(clip.poses.len());
            for (at, pose) in clip.poses.iter().enumerate() {
                frames.push(locals(skeleton, pose, || format!("clip \"{name}\", frame {at}"))?);
            }
            for bone in skeleton.bones() {
                self.bone_channels(&mut keys, skeleton, bone, &rest[bone.get()], &frames, name)?;
            }
        }
        if !clip.morph_weights.is_empty() {
            expect(&format!("rows of morph weights of clip \"{name}\""), clip.morph_weights.len(), clip.times.len())?;
            for row in &clip.morph_weights {
                expect(&format!("morph weights of clip \"{name}\""), row.len(), scene.morphs.len())?;
            }
            if let Some(node) = mesh_node.filter(|_| !scene.morphs.is_empty()) {
                let values = clip.morph_weights.iter().flatten().copied();
                let values = to_floats(values, scene.morphs.len(), &format!("a morph weight of clip \"{name}\""))?;
                let rest: Vec<f32> = scene.rest_weights()?.iter().map(|w| *w as f32).collect();
                keys.add(self, node, "weights", &values, &rest, scene.morphs.len(), false);
            }
        }
        if keys.whole.is_none() {
            self.still(&mut keys, scene, clip, mesh_node)?;
        }
        if keys.channels.is_empty() {
            return Err(WriteError::Count {
                what: format!("things that clip \"{name}\" could move"),
                found: 0,
                expected: 1,
            });
        }
        Ok(json!({ "name": name, "channels": keys.channels, "samplers": keys.samplers }))
    }

    /// Nothing moves, but the clip's length is worth two keys: of the first bone, else of the morph targets.
    fn still(
        &mut self,
        keys: &mut Keys,
        scene: &GlbScene,
        clip: &GlbClip,
        mesh_node: Option<usize>,
    ) -> Result<(), WriteError> {
        let root = BoneIndex::new(0);
        let plain = |skeleton: &&Skeleton| Trs::new(skeleton.bind()[root]).deviation <= SHEAR;
        let (node, path, row) = if let Some(skeleton) = scene.skeleton.filter(plain) {
            let root_pose = clip.poses.first().map_or(skeleton.bind()[root], |pose| pose.bones[root]);
            (0, "translation", root_pose.translation.to_array().to_vec())
        } else if let Some(node) = mesh_node.filter(|_| !scene.morphs.is_empty()) {
            (node, "weights", clip.morph_weights.first().cloned().map_or_else(|| scene.rest_weights(), Ok)?)
        } else {
            return Ok(());
        };
        keys.channels.retain(|channel| channel["target"] != json!({ "node": node, "path": path }));
        let values = to_floats(keys.times.iter().flat_map(|_| row.iter().copied()), row.len(), "a still clip")?;
        keys.add(self, node, path, &values, &[], row.len(), true);
        Ok(())
    }

    fn bone_channels(
        &mut self,
        keys: &mut Keys,
        skeleton: &Skeleton,
        bone: BoneIndex,
        rest: &Trs,
        frames: &[Vec<Trs>],
        clip: &str,
    ) -> Result<(), WriteError> {
        let of_bone = || frames.iter().map(|frame| &frame[bone.get()]);
        if rest.deviation > SHEAR {
            // Written as a matrix, which no channel may target: fine as long as it never moves.
            let far = |trs: &Trs| {
                let (a, b) = (trs.matrix, rest.matrix);
                let turned = frobenius(&(a.matrix3 - b.matrix3)) > SHEAR * frobenius(&b.matrix3);
                turned || (a.translation - b.translation).length() > SHEAR * b.translation.length()
            };
            return match of_bone().position(far) {
                None => Ok(()),
                Some(_) => Err(shear(skeleton, bone, "the bind pose".into(), rest.deviation)),
            };
        }
        if let Some((at, trs)) = of_bone().enumerate().find(|(_, trs)| trs.deviation > SHEAR) {
            return Err(shear(skeleton, bone, format!("clip \"{clip}\", frame {at}"), trs.deviation));
        }
        let mut last = rest.rotation;
        let rotations: Vec<DQuat> = of_bone()
            .map(|trs| {
                last = if trs.rotation.dot(last) < 0.0 { -trs.rotation } else { trs.rotation };
                last
            })
            .collect();
        let what = format!("clip \"{clip}\"");
        let translations = to_floats(of_bone().flat_map(|trs| trs.translation.to_array()), 3, &what)?;
        let rotations = to_floats(rotations.into_iter().flat_map(|q| q.to_array()), 4, &what)?;
        let scales = to_floats(of_bone().flat_map(|trs| trs.scale.to_array()), 3, &what)?;
        for (path, values, rest) in [
            ("translation", translations, &rest.translation.to_array()[..]),
            ("rotation", rotations, &rest.rotation.to_array()[..]),
            ("scale", scales, &rest.scale.to_array()[..]),
        ] {
            let rest: Vec<f32> = rest.iter().map(|x| *x as f32).collect();
            keys.add(self, bone.get(), path, &values, &rest, rest.len(), false);
        }
        Ok(())
    }
}

fn shear(skeleton: &Skeleton, bone: BoneIndex, place: String, deviation: f64) -> WriteError {
    WriteError::Shear { bone: skeleton.names()[bone].clone(), place, deviation }
}

/// The channels of one animation.
struct Keys {
    times: Vec<f32>,
    /// The accessor of all times, once something needs it.
    whole: Option<usize>,
    /// The accessor of the first time alone.
    first: Option<usize>,
    channels: Vec<Value>,
    samplers: Vec<Value>,
}

impl Keys {
    /// Adds a channel: none if all frames are `rest`, one key if they are constant and `all` is not asked for.
    fn add(&mut self, file: &mut File, node: usize, path: &str, values: &[f32], rest: &[f32], width: usize, all: bool) {
        // Rounding must not make a channel: floats are 6e-8 off, on both sides, and products of them some more.
        let size = values.iter().chain(rest).fold(0.0, |most, x| f32::max(most, x.abs()));
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 3e-7 * size);
        let constant = values.chunks_exact(width).all(|row| close(row, &values[..width]));
        if constant && !all && close(&values[..width], rest) {
            return;
        }
        let short = constant && !all;
        let values = if short { &values[..width] } else { values };
        let times = if short { &self.times[..1] } else { &self.times[..] };
        let known = if short { &mut self.first } else { &mut self.whole };
        let input = *known.get_or_insert_with(|| file.floats(times, 1, Use::Other, true));
        let accessor_width = if path == "weights" { 1 } else { width };
        let output = file.floats(values, accessor_width, Use::Other, false);
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": "LINEAR" }));
        self.channels.push(json!({ "sampler": self.samplers.len() - 1, "target": { "node": node, "path": path } }));
    }
}

/// Doubles as floats, all finite; `width` numbers make one element of the message.
fn to_floats(values: impl IntoIterator<Item = f64>, width: usize, what: &str) -> Result<Vec<f32>, WriteError> {
    let floats: Vec<f32> = values.into_iter().map(|x| x as f32).collect();
    match floats.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(WriteError::NotFinite { what: what.into(), at: at / width.max(1) }),
        None => Ok(floats),
    }
}

/// Whether all weights are multiples of 1/`one`, and so are the sums of all rows: one.
fn are_whole(weights: &Influences, one: f64) -> bool {
    weights.rows().all(|row| {
        let whole = |w: f64| w == 0.0 || w * one > 0.5 && (w * one - (w * one).round()).abs() < 1e-9;
        row.iter().all(|(_, w)| whole(*w)) && row.iter().map(|(_, w)| (w * one).round()).sum::<f64>() == one
    })
}

fn expect(what: &str, found: usize, expected: usize) -> Result<(), WriteError> {
    if found == expected { Ok(()) } else { Err(WriteError::Count { what: what.into(), found, expected }) }
}

fn push_list(object: &mut Value, name: &str, list: Vec<impl serde::Serialize>) {
    if !list.is_empty() {
        object[name] = json!(list); // an empty list is an error in glTF
    }
}

fn check_render(render: &RenderMesh, mesh: &Mesh) -> Result<(), WriteError> {
    let out_of_range = |face: usize, vertex: u32, vertices: usize| {
        WriteError::Mesh(dermis_rig::MeshError::IndexOutOfRange { face, vertex: vertex as usize, vertices })
    };
    if render.source.is_empty() || render.triangles.is_empty() {
        return Err(WriteError::Count { what: "drawn triangles".into(), found: 0, expected: 1 });
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
        expect("texture coordinates", render.uvs.len(), render.source.len())?;
    }
    if !render.normals.is_empty() {
        expect("normals", render.normals.len(), render.source.len())?;
    }
    for part in &render.parts {
        let end = part.start as usize + part.count as usize;
        if end > render.triangles.len() {
            let what = format!("triangles of part \"{}\"", part.name);
            return Err(WriteError::Count { what, found: end, expected: render.triangles.len() });
        }
    }
    Ok(())
}

/// Runs of triangles with their part; triangles no part covers are runs without.
fn runs(render: &RenderMesh) -> Vec<(Option<&dermis_rig::mesh::RenderPart>, usize, usize)> {
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

/// Drawn vertices as they are written: those that hang on one vertex and are drawn alike are one, so that whoever reads
/// the file finds a reason for every split.
struct Vertices {
    source: Vec<u32>,
    normals: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    /// The written vertex of each drawn one.
    place: Vec<u32>,
}

impl Vertices {
    fn new(render: &RenderMesh, mesh: &Mesh) -> Result<Self, WriteError> {
        let smooth = smooth_normals(mesh);
        let mut made = Self { source: Vec::new(), normals: Vec::new(), uvs: Vec::new(), place: Vec::new() };
        let mut known = HashMap::new();
        for (vertex, &source) in render.source.iter().enumerate() {
            let own = render.normals.get(vertex).and_then(|normal| normal.try_normalize());
            let normal = own.unwrap_or(smooth[source as usize]).as_vec3().to_array();
            let uv = render.uvs.get(vertex).map_or([0.0; 2], |uv| uv.as_vec2().to_array());
            if uv.iter().any(|x| !x.is_finite()) {
                return Err(WriteError::NotFinite { what: "the texture coordinate".into(), at: vertex });
            }
            let place = *known.entry((source, normal.map(f32::to_bits), uv.map(f32::to_bits))).or_insert_with(|| {
                made.source.push(source);
                made.normals.push(normal);
                made.uvs.push(uv);
                made.source.len() as u32 - 1
            });
            made.place.push(place);
        }
        Ok(made)
    }
}

/// Unit normals, each triangle weighted by its area; up where no triangle has any.
fn smooth_normals(mesh: &Mesh) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; mesh.positions.len()];
    for corners in &mesh.triangles {
        let [a, b, c] = corners.map(|corner| mesh.positions[corner as usize]);
        for &corner in corners {
            normals[corner as usize] += (b - a).cross(c - a);
        }
    }
    normals.into_iter().map(|n| n.try_normalize().unwrap_or(DVec3::Y)).collect()
}
