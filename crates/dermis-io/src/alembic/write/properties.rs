//! Properties of the library's schemas, with what it says of each.

use super::super::archive::pod;
use super::container::{Container, Kind, Property, Samples};
use std::io::{self, Seek, Write};

/// What the values of a parameter belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Vertex,
    Corner,
}

/// A parameter of a mesh, with or without indices into its values.
pub(super) struct Param {
    pub scope: Scope,
    pub indices: Option<Samples>,
    pub values: Samples,
}

impl Param {
    /// Whether its values have four numbers.
    pub fn is_color(&self) -> bool {
        self.values.extent == 4
    }

    /// The property of this name.
    ///
    /// - `source`: what the parameter was called, if the name does not say so
    pub fn property(self, name: &str, interpretation: &str, source: &str) -> Property {
        let scope = if self.scope == Scope::Vertex { "vtx" } else { "fvr" };
        let extent = self.values.extent;
        let mut metadata = format!(
            "arrayExtent=1;geoScope={scope};interpretation={interpretation};isGeomParam=true;podExtent={extent};\
             podName=float32_t"
        );
        if !source.is_empty() {
            metadata.push_str(";sourceName=");
            metadata.push_str(source);
        }
        match self.indices {
            None => self.values.named(name, metadata),
            Some(indices) => {
                let below = vec![self.values.named(".vals", metadata.clone()), indices.named(".indices", "")];
                Property::compound(name, metadata, below)
            }
        }
    }
}

/// Numbers as bytes.
pub(super) fn bytes_of<T, const N: usize>(numbers: impl IntoIterator<Item = T>, bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    numbers.into_iter().flat_map(bytes).collect()
}

/// A box in every sample: its lowest and its highest corner.
pub(super) fn own_bounds(sampling: u32) -> Samples {
    Samples::new(Kind::Scalar, pod::F64, 6, sampling)
}

/// The list of a face set.
pub(super) fn faces<W: Write + Seek>(
    list: impl Iterator<Item = i32>,
    container: &mut Container<'_, W>,
) -> io::Result<Samples> {
    container.constant(Samples::new(Kind::Array, pod::I32, 1, 0), &bytes_of(list, i32::to_le_bytes))
}

/// What the library says of a schema's property and of its object.
pub(super) fn metadata_of(kind: &str, property: &str) -> (String, String) {
    let version = if kind == "Xform" { 3 } else { 1 };
    let base = if kind == "Xform" { "" } else { ";schemaBaseType=AbcGeom_GeomBase_v1" };
    let title = format!("AbcGeom_{kind}_v{version}");
    let object = format!("schema={title}{base};schemaObjTitle={title}:{property}");
    (format!("schema={title}{base}"), object)
}
