//! Extensions of an object of the JSON: the ones that hold compressed data, and the name of one that is not known.

use super::meshopt::Folded;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// An extension that is read.
pub(super) trait Known: for<'de> Deserialize<'de> {
    /// Its names; of several the last that an object has is read.
    const NAMES: &'static [&'static str];
}

/// The extensions of one object.
pub(super) struct Extensions<T> {
    pub known: Option<Box<T>>,
    /// The name of the first that is not read.
    pub other: Option<String>,
}

impl<T> Default for Extensions<T> {
    fn default() -> Self {
        Self { known: None, other: None }
    }
}

impl<'de, T: Known> Deserialize<'de> for Extensions<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names<T>(PhantomData<T>);
        impl<'de, T: Known> Visitor<'de> for Names<T> {
            type Value = Extensions<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("extensions by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut extensions = Extensions::default();
                while let Some(name) = map.next_key::<String>()? {
                    if T::NAMES.contains(&name.as_str()) {
                        extensions.known = Some(map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                        extensions.other.get_or_insert(name);
                    }
                }
                Ok(extensions)
            }
        }
        deserializer.deserialize_map(Names(PhantomData))
    }
}

/// `EXT_meshopt_compression` and its successor, on buffer views and buffers.
const MESHOPT: &[&str] = &["EXT_meshopt_compression", "KHR_meshopt_compression"];

impl Known for Folded {
    const NAMES: &'static [&'static str] = MESHOPT;
}

/// What the extension says of a buffer.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct Fallback {
    /// Whether the buffer is there for readers that do not know the extension.
    pub fallback: bool,
}

impl Known for Fallback {
    const NAMES: &'static [&'static str] = MESHOPT;
}

/// `KHR_draco_mesh_compression` of a primitive: the buffer view of its stream, and the attributes of the stream by what they are.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Draco {
    pub buffer_view: u32,
    #[serde(default)]
    pub attributes: BTreeMap<String, u32>,
}

impl Known for Draco {
    const NAMES: &'static [&'static str] = &["KHR_draco_mesh_compression"];
}

/// What is carried of a mesh.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct MeshLook {
    pub primitives: Vec<PrimitiveLook>,
}

/// What is carried of a primitive.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct PrimitiveLook {
    pub extensions: PrimitiveExtensions,
}

/// Extensions of a primitive that are carried.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct PrimitiveExtensions {
    #[serde(rename = "KHR_materials_variants")]
    pub variants: serde_json::Value,
}

/// Places of a mesh beside that of its node, which are counted and not read.
pub(super) const INSTANCES: &str = "EXT_mesh_gpu_instancing";

/// Whether `name` is one of the extensions of this file.
pub(super) fn is_read(name: &str) -> bool {
    MESHOPT.contains(&name) || Draco::NAMES.contains(&name)
}
