//! A .gltf of any structure, for tests of what a reader makes of it.
#![allow(dead_code)] // each test binary uses its part

use dermis_io::gltf::read;
use dermis_io::{Contents, Flaw, ReadError};
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DAffine3, DMat4, DVec3};
use serde_json::{Value, json};

pub fn alone(bytes: &[u8]) -> Result<Contents, ReadError> {
    read(bytes, "test", &|_, _| Err(std::io::ErrorKind::NotFound.into()))
}

pub fn count(contents: &Contents, flaw: Flaw) -> usize {
    contents.warnings.iter().filter(|w| w.flaw == flaw).map(|w| w.count).sum()
}

/// A .gltf made by hand, its buffer within.
#[derive(Default)]
pub struct Made {
    pub bytes: Vec<u8>,
    pub views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Made {
    pub fn view(&mut self, bytes: &[u8]) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.views.push(json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() }));
        self.bytes.extend(bytes);
        self.views.len() - 1
    }
    pub fn accessor(&mut self, accessor: Value) -> usize {
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }
    pub fn floats(&mut self, shape: &str, count: usize, values: &[f64]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
        let view = self.view(&bytes);
        self.accessor(json!({ "bufferView": view, "componentType": 5126, "type": shape, "count": count }))
    }
    pub fn bytes(&mut self, shape: &str, count: usize, values: &[u8]) -> usize {
        let view = self.view(values);
        self.accessor(json!({ "bufferView": view, "componentType": 5121, "type": shape, "count": count }))
    }
    pub fn matrices(&mut self, values: &[DAffine3]) -> usize {
        let flat: Vec<f64> = values.iter().flat_map(|m| DMat4::from(*m).to_cols_array()).collect();
        self.floats("MAT4", values.len(), &flat)
    }
    pub fn gltf(&self, mut root: Value) -> Vec<u8> {
        let encoded: String = self.bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
        root["asset"] = json!({ "version": "2.0" });
        root["accessors"] = json!(self.accessors);
        root["bufferViews"] = json!(self.views);
        root["buffers"] =
            json!([{ "byteLength": self.bytes.len(), "uri": format!("data:application/octet-stream,{encoded}") }]);
        root.to_string().into_bytes()
    }
    pub fn read(&self, root: Value) -> Contents {
        alone(&self.gltf(root)).unwrap()
    }
    /// A triangle with all weight on joint 0 and 1, half each.
    pub fn skinned(&mut self, at: DVec3) -> Value {
        let corners = [at, at + DVec3::X, at + DVec3::Y].map(|p| p.to_array()).concat();
        json!({
            "POSITION": self.floats("VEC3", 3, &corners),
            "JOINTS_0": self.bytes("VEC4", 3, &[0, 1, 0, 0].repeat(3)),
            "WEIGHTS_0": self.floats("VEC4", 3, &[0.5, 0.5, 0.0, 0.0].repeat(3)),
        })
    }
}

pub fn bone(at: usize) -> BoneIndex {
    BoneIndex::new(at)
}
