//! What hangs on the corners of a mesh: normals, texture coordinates, colours, materials.

use super::archive::{Archive, Property, Samples, Value, pod, samples};
use crate::contents::ReadError;
use crate::corners::MOST_UVS;

/// What is drawn of a mesh beside its faces.
#[derive(Default)]
pub(super) struct Drawn<'a> {
    pub normals: Option<Param<'a>>,
    /// Sets of texture coordinates.
    pub uvs: Vec<Param<'a>>,
    pub colors: Option<Param<'a>>,
    pub sets: Vec<FaceSet<'a>>,
}

/// Faces that belong together: those of a material.
pub(super) struct FaceSet<'a> {
    pub name: String,
    pub faces: Samples<'a>,
}

/// A parameter of a mesh: values, and their indices by vertex or corner if there are any.
pub(super) struct Param<'a> {
    values: Samples<'a>,
    indices: Option<Samples<'a>>,
    scope: Scope,
}

/// What the values of a parameter belong to.
#[derive(Clone, Copy)]
enum Scope {
    Mesh,
    Face,
    Vertex,
    Corner,
}

/// How many of each a mesh has.
pub(super) struct Sizes {
    pub faces: usize,
    pub vertices: usize,
    pub corners: usize,
}

/// The values of a parameter at a time.
pub(super) struct Values<'a> {
    bytes: &'a [u8],
    extent: usize,
    indices: Option<&'a [u8]>,
    scope: Scope,
}

impl<'a> Drawn<'a> {
    /// Reads what the properties below `.geom` say; `leave` is told what is not read, by kind.
    pub fn read(
        archive: &Archive<'a>,
        properties: &[Property<'a>],
        mut leave: impl FnMut(String),
    ) -> Result<Self, ReadError> {
        let mut drawn = Self::default();
        for property in properties.iter().filter(|property| property.name == "uv" || property.name == "N") {
            let extent = if property.name == "N" { 3 } else { 2 };
            match Param::read(archive, property)?.filter(|param| param.values.extent == extent) {
                Some(param) if property.name == "N" => drawn.normals = Some(param),
                Some(param) => drawn.uvs.insert(0, param),
                None => leave(format!("parameter \"{:.100}\"", property.name)),
            }
        }
        let more = properties.iter().find(|property| property.name == ".arbGeomParams");
        let Some(Value::Compound(group)) = more.map(|more| &more.value) else { return Ok(drawn) };
        for property in archive.properties_of(*group)? {
            let is_uv = said(&property, "interpretation") == Some("vector") && drawn.uvs.len() < MOST_UVS;
            let is_color = matches!(said(&property, "interpretation"), Some("rgb" | "rgba")) && drawn.colors.is_none();
            match Param::read(archive, &property)? {
                Some(param) if is_uv && param.values.extent == 2 => drawn.uvs.push(param),
                Some(param) if is_color && matches!(param.values.extent, 3 | 4) => drawn.colors = Some(param),
                _ => leave(format!("parameter \"{:.100}\"", property.name)),
            }
        }
        Ok(drawn)
    }

    /// Whether anything is drawn but faces.
    pub fn is_plain(&self) -> bool {
        self.normals.is_none() && self.uvs.is_empty() && self.colors.is_none() && self.sets.is_empty()
    }
}

/// What the format says of a property under a key.
fn said<'p>(property: &'p Property<'_>, key: &str) -> Option<&'p str> {
    property.metadata.split(';').find_map(|entry| entry.strip_prefix(key)?.strip_prefix('='))
}

impl<'a> Param<'a> {
    /// The parameter of a property; `None` if it is no 32-bit numbers, or belongs to what this reader does not know.
    fn read(archive: &Archive<'a>, property: &Property<'a>) -> Result<Option<Self>, ReadError> {
        let scope = match said(property, "geoScope") {
            Some("con") => Scope::Mesh,
            Some("uni") => Scope::Face,
            Some("var" | "vtx") => Scope::Vertex,
            Some("fvr") => Scope::Corner,
            _ => return Ok(None),
        };
        let (values, indices) = match property.value {
            Value::Samples(values) => (Some(values), None),
            Value::Compound(group) => {
                let parts = archive.properties_of(group)?;
                match (samples(&parts, ".vals"), samples(&parts, ".indices")) {
                    (values, Some(indices)) if indices.pod == pod::U32 && indices.count > 0 => (values, Some(indices)),
                    _ => (None, None),
                }
            }
        };
        let values = values.filter(|values| values.count > 0 && values.pod == pod::F32);
        Ok(values.map(|values| Self { values, indices, scope }))
    }

    /// Its values at a time; `None` if they are not as many as the mesh needs.
    pub fn at(&self, archive: &Archive<'a>, time: f64, sizes: &Sizes) -> Result<Option<Values<'a>>, ReadError> {
        let sample = |samples: &Samples<'a>| samples.bytes(archive.around(samples, time)?.0);
        let bytes = sample(&self.values)?;
        let indices = self.indices.as_ref().map(sample).transpose()?;
        let values = bytes.len() / (4 * self.values.extent);
        let expected = match self.scope {
            Scope::Mesh => 1,
            Scope::Face => sizes.faces,
            Scope::Vertex => sizes.vertices,
            Scope::Corner => sizes.corners,
        };
        let fits = match indices {
            None => values == expected,
            Some(indices) => {
                archive.charge(indices.len())?;
                let in_range = |word: &[u8; 4]| (u32::from_le_bytes(*word) as usize) < values;
                indices.len() / 4 == expected && indices.as_chunks::<4>().0.iter().all(in_range)
            }
        };
        Ok(fits.then_some(Values { bytes, extent: self.values.extent, indices, scope: self.scope }))
    }
}

impl Values<'_> {
    /// The value at a corner of the file, of a face and a vertex of it; missing numbers are one.
    pub fn of(&self, face: usize, vertex: usize, corner: usize) -> [f32; 4] {
        let place = match self.scope {
            Scope::Mesh => 0,
            Scope::Face => face,
            Scope::Vertex => vertex,
            Scope::Corner => corner,
        };
        let word = |bytes: &[u8], at: usize| bytes.as_chunks::<4>().0.get(at).copied();
        let place = match self.indices {
            None => place,
            Some(indices) => word(indices, place).map_or(0, |word| u32::from_le_bytes(word) as usize),
        };
        let mut value = [1.0; 4];
        for (at, number) in value.iter_mut().take(self.extent).enumerate() {
            *number = word(self.bytes, place * self.extent + at).map_or(0.0, f32::from_le_bytes);
        }
        value
    }
}
