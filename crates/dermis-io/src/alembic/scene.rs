//! Polygon meshes below transforms: the two schemas of an archive that are read.

use super::archive::{Archive, Object, Property, Samples, Value, pod};
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
    /// Objects by kind that are not read.
    pub unread: BTreeMap<String, usize>,
}

/// A polygon mesh, or the cage of a subdivision surface.
pub(super) struct PolyMesh<'a> {
    pub name: String,
    /// Corners in the order of this toolkit, counter-clockwise from outside: the file has them clockwise.
    pub polygons: Polygons,
    pub positions: Samples<'a>,
    above: Option<Rc<Xform<'a>>>,
}

/// A transform and those above it.
struct Xform<'a> {
    operations: Vec<u8>,
    values: Option<Samples<'a>>,
    above: Option<Rc<Xform<'a>>>,
}

impl<'a> Scene<'a> {
    pub fn read(archive: &Archive<'a>) -> Result<Self, ReadError> {
        let mut scene = Self::default();
        let mut open: Vec<(Object<'a>, Option<Rc<Xform<'a>>>, usize)> = vec![(archive.top()?, None, 0)];
        while let Some((object, mut above, depth)) = open.pop() {
            if depth > DEEPEST {
                return Err(damaged(format!("its objects are more than {DEEPEST} deep")));
            }
            match schema(&object.metadata) {
                Some("PolyMesh" | "SubD") => match PolyMesh::read(archive, &object, above.clone())? {
                    Some(mesh) => scene.meshes.push(mesh),
                    None => scene.empty.push(object.name.chars().take(200).collect()),
                },
                Some("Xform") => above = Xform::read(archive, &object, above)?.map(Rc::new),
                Some("FaceSet") | None => {}
                Some(other) => *scene.unread.entry(format!("{other:.100}")).or_default() += 1,
            }
            let children = archive.children(&object)?;
            open.extend(children.into_iter().rev().map(|child| (child, above.clone(), depth + 1)));
        }
        Ok(scene)
    }
}

/// "PolyMesh" of "…schema=AbcGeom_PolyMesh_v1;…".
fn schema(metadata: &str) -> Option<&str> {
    let text = metadata.split(';').find_map(|entry| entry.strip_prefix("schema="))?;
    let text = text.strip_prefix("AbcGeom_").unwrap_or(text);
    Some(text.rsplit_once("_v").map_or(text, |(name, _)| name))
}

fn samples<'a>(properties: &[Property<'a>], name: &str) -> Option<Samples<'a>> {
    properties.iter().find(|p| p.name == name).and_then(|p| match p.value {
        Value::Samples(samples) => Some(samples),
        Value::Compound(_) => None,
    })
}

/// The properties below the compound property `name`.
fn below<'a>(archive: &Archive<'a>, object: &Object<'a>, name: &str) -> Result<Vec<Property<'a>>, ReadError> {
    let properties = archive.properties(object)?;
    match properties.into_iter().find(|p| p.name == name).map(|p| p.value) {
        Some(Value::Compound(group)) => archive.properties_of(group),
        _ => Err(damaged(format!("\"{:.100}\" has no property \"{name}\"", object.name))),
    }
}

impl<'a> PolyMesh<'a> {
    /// The mesh of an object; `None` if it holds no samples.
    fn read(
        archive: &Archive<'a>,
        object: &Object<'a>,
        above: Option<Rc<Xform<'a>>>,
    ) -> Result<Option<Self>, ReadError> {
        let name: String = object.name.chars().take(200).collect();
        let properties = below(archive, object, ".geom")?;
        let needed = ["P", ".faceCounts", ".faceIndices"];
        if needed.iter().any(|property| samples(&properties, property).is_some_and(|s| s.count == 0)) {
            return Ok(None);
        }
        let get = |property: &str, pods: &[u8], extent: usize| {
            let found =
                samples(&properties, property).filter(|s| s.count > 0 && pods.contains(&s.pod) && s.extent == extent);
            found.ok_or_else(|| damaged(format!("mesh \"{name}\" has no property \"{property}\" that can be used")))
        };
        let positions = get("P", &[pod::F32, pod::F64], 3)?;
        let integers = |property: &str| {
            let found = get(property, &[pod::I32], 1)?;
            let first = found.bytes(0)?;
            // Equal samples are stored once, but a program may store them again.
            for at in 1..found.stored(found.count - 1) + 1 {
                let other = found.bytes_stored(at)?;
                archive.charge(other.len() + 1)?;
                if other != first {
                    let feature = format!("mesh \"{name}\": connectivity that changes over time");
                    return Err(ReadError::Unsupported { feature });
                }
            }
            Ok(first)
        };
        let (counts, indices) = (integers(".faceCounts")?, integers(".faceIndices")?);
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
        Ok(Some(Self { name, polygons: Polygons { counts, indices }, positions, above }))
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
        let (from, to, s) = around(archive, &self.positions, time)?;
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

/// The samples before and after a time, and how far between them it lies: 0 at a sample, and beyond the ends.
fn around(archive: &Archive, samples: &Samples, time: f64) -> Result<(usize, usize, f64), ReadError> {
    /// Seconds; far below any frame, far above what sums of frame lengths lose.
    const SAME: f64 = 1e-6;
    let last = samples.count.saturating_sub(1);
    if last == 0 {
        return Ok((0, 0, 0.0));
    }
    let (mut low, mut high) = (0, last); // times ascend
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if archive.time(samples.sampling, middle)? <= time + SAME {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let (before, next) = (archive.time(samples.sampling, low)?, (low + 1).min(last));
    let after = archive.time(samples.sampling, next)?;
    match time - before > SAME && after > before {
        true => Ok((low, next, ((time - before) / (after - before)).clamp(0.0, 1.0))),
        false => Ok((low, low, 0.0)),
    }
}

impl<'a> Xform<'a> {
    /// The transform of an object; `None` if neither it nor those above it move anything.
    fn read(archive: &Archive<'a>, object: &Object<'a>, above: Option<Rc<Self>>) -> Result<Option<Self>, ReadError> {
        let properties = below(archive, object, ".xform")?;
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
        let (from, to, s) = around(archive, values, time)?;
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
