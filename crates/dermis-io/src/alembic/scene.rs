//! Polygon meshes below transforms: the schemas of an archive that are read.

use super::archive::{Archive, Object, Property, Samples, Value, pod, samples};
use super::drawn::{Drawn, FaceSet};
use super::ogawa::damaged;
use crate::contents::ReadError;
use dermis_rig::Polygons;
use dermis_rig::glam::{DAffine3, DMat3, DMat4, DQuat, DVec3};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Objects above each other at most; a scene has some tens.
const DEEPEST: usize = 256;

/// Meshes in file order, and what else was met.
#[derive(Default)]
pub(super) struct Scene<'a> {
    pub meshes: Vec<PolyMesh<'a>>,
    /// Names of meshes without samples: programs write the objects that they hide so.
    pub empty: Vec<String>,
    /// Names of meshes whose vertices or faces change over time.
    pub changing: Vec<String>,
    /// Objects and parameters by kind that are not read.
    pub unread: BTreeMap<String, usize>,
}

impl Scene<'_> {
    /// Counts an object of a kind that is not read.
    fn leave(&mut self, kind: String) {
        *self.unread.entry(kind).or_default() += 1;
    }
}

/// A polygon mesh, or the cage of a subdivision surface.
pub(super) struct PolyMesh<'a> {
    pub name: String,
    /// Corners in the order of this toolkit, counter-clockwise from outside: the file has them clockwise.
    pub polygons: Polygons,
    pub positions: Samples<'a>,
    /// What hangs on its corners.
    pub drawn: Drawn<'a>,
    pub visible: bool,
    above: Option<Rc<Xform<'a>>>,
}

/// A transform and those above it.
struct Xform<'a> {
    operations: Vec<u8>,
    values: Option<Samples<'a>>,
    above: Option<Rc<Xform<'a>>>,
}

/// An object that is still to be looked at, with what it has from those above it.
struct Open<'a> {
    object: Object<'a>,
    above: Option<Rc<Xform<'a>>>,
    hidden: bool,
    /// The mesh whose child it is.
    mesh: Option<usize>,
    depth: usize,
}

impl<'a> Scene<'a> {
    pub fn read(archive: &Archive<'a>) -> Result<Self, ReadError> {
        let mut scene = Self::default();
        let mut open = vec![Open { object: archive.top()?, above: None, hidden: false, mesh: None, depth: 0 }];
        while let Some(Open { object, mut above, mut hidden, mesh, depth }) = open.pop() {
            if depth > DEEPEST {
                return Err(damaged(format!("its objects are more than {DEEPEST} deep")));
            }
            let kind = schema(&object.metadata);
            let properties = match kind {
                Some("PolyMesh" | "SubD" | "Xform" | "FaceSet") => archive.properties(&object)?,
                _ => Vec::new(),
            };
            if let Some(own) = is_hidden(archive, &properties, &object.name, &mut scene)? {
                hidden = own;
            }
            let mut made = None;
            match kind {
                Some("PolyMesh" | "SubD") => {
                    let geometry = below(archive, &object, &properties, ".geom")?;
                    let place = (above.clone(), !hidden);
                    if PolyMesh::read(archive, &object, &geometry, place, &mut scene)? {
                        made = Some(scene.meshes.len() - 1);
                    }
                }
                Some("Xform") => above = Xform::read(archive, &object, &properties, above)?.map(Rc::new),
                Some("FaceSet") => {
                    let list = below(archive, &object, &properties, ".faceset")?;
                    let list = samples(&list, ".faces").filter(|s| s.count > 0);
                    match (mesh.and_then(|mesh| scene.meshes.get_mut(mesh)), list) {
                        (Some(mesh), Some(faces)) => {
                            let name = object.name.chars().take(200).collect();
                            mesh.drawn.sets.push(FaceSet { name, faces });
                        }
                        _ => scene.leave("FaceSet".into()),
                    }
                }
                None => {}
                Some(other) => scene.leave(format!("{other:.100}")),
            }
            let children = archive.children(&object)?;
            let child = |object| Open { object, above: above.clone(), hidden, mesh: made, depth: depth + 1 };
            open.extend(children.into_iter().rev().map(child));
        }
        Ok(scene)
    }
}

/// Whether an object hides itself and what is below it; `None` if it leaves that to the object above. One that is shown at some time is
/// shown.
fn is_hidden<'a>(
    archive: &Archive<'a>,
    properties: &[Property<'a>],
    name: &str,
    scene: &mut Scene<'a>,
) -> Result<Option<bool>, ReadError> {
    let Some(visible) = samples(properties, "visible").filter(|s| s.count > 0 && matches!(s.pod, pod::I8 | pod::U8))
    else {
        return Ok(None);
    };
    let mut found = [false; 2];
    for at in 0..visible.stored(visible.count - 1) + 1 {
        archive.charge(1)?;
        match visible.bytes_stored(at)?.first() {
            Some(0) => found[0] = true,
            Some(1) => found[1] = true,
            _ => {} // as above
        }
    }
    if found == [true; 2] {
        scene.leave(format!("visibility that changes over time (\"{name:.100}\")"));
    }
    Ok(match found {
        [_, true] => Some(false),
        [true, false] => Some(true),
        [false, false] => None,
    })
}

/// "PolyMesh" of "…schema=AbcGeom_PolyMesh_v1;…".
fn schema(metadata: &str) -> Option<&str> {
    let text = metadata.split(';').find_map(|entry| entry.strip_prefix("schema="))?;
    let text = text.strip_prefix("AbcGeom_").unwrap_or(text);
    Some(text.rsplit_once("_v").map_or(text, |(name, _)| name))
}

/// The properties below the compound property `name`.
fn below<'a>(
    archive: &Archive<'a>,
    object: &Object<'a>,
    properties: &[Property<'a>],
    name: &str,
) -> Result<Vec<Property<'a>>, ReadError> {
    match properties.iter().find(|p| p.name == name).map(|p| &p.value) {
        Some(Value::Compound(group)) => archive.properties_of(*group),
        _ => Err(damaged(format!("\"{:.100}\" has no property \"{name}\"", object.name))),
    }
}

impl<'a> PolyMesh<'a> {
    /// Adds the mesh of an object to the scene, unless it holds no samples or changes over time. Result: whether it did.
    fn read(
        archive: &Archive<'a>,
        object: &Object<'a>,
        properties: &[Property<'a>],
        (above, visible): (Option<Rc<Xform<'a>>>, bool),
        scene: &mut Scene<'a>,
    ) -> Result<bool, ReadError> {
        let name: String = object.name.chars().take(200).collect();
        let needed = ["P", ".faceCounts", ".faceIndices"];
        if needed.iter().any(|property| samples(properties, property).is_some_and(|s| s.count == 0)) {
            scene.empty.push(name);
            return Ok(false);
        }
        let get = |property: &str, pods: &[u8], extent: usize| {
            let found =
                samples(properties, property).filter(|s| s.count > 0 && pods.contains(&s.pod) && s.extent == extent);
            found.ok_or_else(|| damaged(format!("mesh \"{name}\" has no property \"{property}\" that can be used")))
        };
        let positions = get("P", &[pod::F32, pod::F64], 3)?;
        let (counts, indices) = (get(".faceCounts", &[pod::I32], 1)?, get(".faceIndices", &[pod::I32], 1)?);
        // Equal samples are stored once, but a program may store them again.
        let stays = |found: &Samples<'a>, alike: fn(&[u8], &[u8]) -> bool, price: fn(&[u8]) -> usize| {
            let first = found.bytes(0)?;
            for at in 1..found.stored(found.count - 1) + 1 {
                let other = found.bytes_stored(at)?;
                archive.charge(price(other))?;
                if !alike(first, other) {
                    return Ok::<_, ReadError>(false);
                }
            }
            Ok(true)
        };
        let same = |list: &Samples<'a>| stays(list, |first, other| first == other, |other| other.len() + 1);
        if !same(&counts)? || !same(&indices)? || !stays(&positions, |a, b| a.len() == b.len(), |_| 1)? {
            scene.changing.push(name);
            return Ok(false);
        }
        let (counts, indices) = (counts.bytes(0)?, indices.bytes(0)?);
        archive.charge(4 * (counts.len() + indices.len()))?;
        let numbers = |bytes: &'a [u8]| bytes.as_chunks::<4>().0.iter().map(|word| i32::from_le_bytes(*word));
        let negative = || damaged(format!("mesh \"{name}\" has faces with negative numbers"));
        let unsigned = |bytes| numbers(bytes).map(u32::try_from).collect::<Result<Vec<u32>, _>>();
        let counts = unsigned(counts).map_err(|_| negative())?;
        let mut indices = unsigned(indices).map_err(|_| negative())?;
        let counted: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        if counted != indices.len() as u64 {
            return Err(dermis_rig::MeshError::PolygonCounts { counted, listed: indices.len() }.into());
        }
        let mut rest = indices.as_mut_slice();
        for count in &counts {
            let (corners, after) = std::mem::take(&mut rest).split_at_mut(*count as usize);
            if let [_, others @ ..] = corners {
                others.reverse();
            }
            rest = after;
        }
        let drawn = Drawn::read(archive, properties, |kind| scene.leave(kind))?;
        let polygons = Polygons { counts, indices };
        scene.meshes.push(Self { name, polygons, positions, drawn, visible, above });
        Ok(true)
    }

    /// Number of vertices in the first sample.
    pub fn vertices(&self) -> Result<usize, ReadError> {
        Ok(self.positions.bytes(0)?.len() / self.stride())
    }

    fn stride(&self) -> usize {
        if self.positions.pod == pod::F64 { 24 } else { 12 }
    }

    /// Every series of samples that the mesh in the world depends on.
    pub fn series(&self) -> impl Iterator<Item = Samples<'a>> {
        let chain = std::iter::successors(self.above.as_deref(), |x| x.above.as_deref());
        let values: Vec<Samples<'a>> = chain.filter_map(|x| x.values).collect();
        std::iter::once(self.positions).chain(values)
    }

    /// The world transform at a time.
    pub fn world(&self, archive: &Archive<'a>, time: f64) -> Result<DAffine3, ReadError> {
        let mut world = DAffine3::IDENTITY;
        for xform in std::iter::successors(self.above.as_deref(), |x| x.above.as_deref()) {
            world = xform.local(archive, time)? * world;
        }
        Ok(world)
    }

    /// Adds the positions at a time, `vertices` of them, moved by `world`; between samples they lie between theirs.
    pub fn positions_at(
        &self,
        archive: &Archive<'a>,
        time: f64,
        vertices: usize,
        world: &DAffine3,
        out: &mut Vec<DVec3>,
    ) -> Result<(), ReadError> {
        let (from, to, s) = archive.around(&self.positions, time)?;
        let start = out.len();
        archive.charge(24 * vertices + 200)?;
        out.extend(self.points(from, vertices)?.map(|p| world.transform_point3(p)));
        if s > 0.0 {
            for (p, q) in out[start..].iter_mut().zip(self.points(to, vertices)?) {
                *p = p.lerp(world.transform_point3(q), s);
            }
        }
        Ok(())
    }

    fn points(&self, sample: usize, vertices: usize) -> Result<impl Iterator<Item = DVec3> + use<'a>, ReadError> {
        let (bytes, wide) = (self.positions.bytes(sample)?, self.positions.pod == pod::F64);
        if bytes.len() != vertices * self.stride() {
            let (found, name) = (bytes.len() / self.stride(), &self.name);
            let feature = format!("mesh \"{name}\": {vertices} vertices first, {found} in sample {sample};");
            return Err(ReadError::Unsupported { feature: format!("{feature} connectivity that changes over time") });
        }
        let size = if wide { 8 } else { 4 };
        let number = move |word: &[u8]| match word.try_into() {
            Ok(eight) if wide => f64::from_le_bytes(eight),
            _ => f64::from(f32::from_le_bytes([word[0], word[1], word[2], word[3]])),
        };
        let point =
            move |at: &[u8]| DVec3::new(number(&at[..size]), number(&at[size..2 * size]), number(&at[2 * size..]));
        Ok(bytes.chunks_exact(3 * size).map(point))
    }
}

impl<'a> Xform<'a> {
    /// The transform of an object; `None` if neither it nor those above it move anything.
    fn read(
        archive: &Archive<'a>,
        object: &Object<'a>,
        properties: &[Property<'a>],
        above: Option<Rc<Self>>,
    ) -> Result<Option<Self>, ReadError> {
        let properties = below(archive, object, properties, ".xform")?;
        let inherits = match samples(&properties, ".inherits").filter(|s| s.count > 0 && s.pod == pod::BOOL) {
            Some(inherits) => inherits.bytes(0)?.first() != Some(&0),
            None => true,
        };
        let above = above.filter(|_| inherits);
        let operations = match samples(&properties, ".ops").filter(|s| s.count > 0 && s.pod == pod::U8) {
            Some(operations) => {
                let operations = operations.bytes(0)?;
                archive.charge(operations.len())?;
                operations.to_vec()
            }
            None => Vec::new(),
        };
        let values = samples(&properties, ".vals").filter(|s| s.count > 0 && s.pod == pod::F64);
        if operations.is_empty() && above.is_none() {
            return Ok(None);
        }
        Ok(Some(Self { operations, values, above }))
    }

    fn local(&self, archive: &Archive<'a>, time: f64) -> Result<DAffine3, ReadError> {
        archive.charge(self.operations.len() + 100)?;
        let Some(values) = &self.values else { return self.matrix(&[]) };
        let (from, to, s) = archive.around(values, time)?;
        let before = self.matrix(values.bytes(from)?)?;
        if s == 0.0 {
            return Ok(before);
        }
        let (a, b) = (before, self.matrix(values.bytes(to)?)?);
        // Frames of one file are usually sampled together; between samples entries are blended.
        let blend = |x: DVec3, y: DVec3| x.lerp(y, s);
        let linear = DMat3::from_cols(
            blend(a.matrix3.x_axis, b.matrix3.x_axis),
            blend(a.matrix3.y_axis, b.matrix3.y_axis),
            blend(a.matrix3.z_axis, b.matrix3.z_axis),
        );
        Ok(DAffine3::from_mat3_translation(linear, blend(a.translation, b.translation)))
    }

    /// The product of the operations, the last of which acts first on a point. Angles are degrees, matrices have their
    /// translation in the last row.
    fn matrix(&self, values: &[u8]) -> Result<DAffine3, ReadError> {
        let mut numbers = values.as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word));
        let mut next =
            || numbers.next().ok_or_else(|| damaged("a transform has fewer values than its operations need"));
        let mut total = DAffine3::IDENTITY;
        for operation in &self.operations {
            let mut vector = || Ok::<_, ReadError>(DVec3::new(next()?, next()?, next()?));
            total *= match operation >> 4 {
                0 => DAffine3::from_scale(vector()?),
                1 => DAffine3::from_translation(vector()?),
                2 => {
                    let (axis, angle) = (vector()?, next()?.to_radians());
                    axis.try_normalize()
                        .map_or(DAffine3::IDENTITY, |axis| DAffine3::from_quat(DQuat::from_axis_angle(axis, angle)))
                }
                3 => {
                    let mut columns = [0.0; 16];
                    for entry in &mut columns {
                        *entry = next()?;
                    }
                    DAffine3::from_mat4(DMat4::from_cols_array(&columns))
                }
                4 => DAffine3::from_rotation_x(next()?.to_radians()),
                5 => DAffine3::from_rotation_y(next()?.to_radians()),
                6 => DAffine3::from_rotation_z(next()?.to_radians()),
                other => {
                    let feature = format!("operation {other} of an Alembic transform");
                    return Err(ReadError::Unsupported { feature });
                }
            };
        }
        Ok(total)
    }
}
