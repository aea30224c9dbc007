//! The growing tables of a file: bytes, buffer views, accessors.

use crate::WriteError;
use serde_json::{Value, json};

/// The growing tables of a file.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) bytes: Vec<u8>,
    pub(super) views: Vec<Value>,
    pub(super) accessors: Vec<Value>,
    pub(super) meshes: Vec<Value>,
    pub(super) materials: Vec<Value>,
    /// Numbers that sparse accessors stand for.
    spared: usize,
}

/// Bytes of text that a sparse accessor takes more than another: two buffer views, and what names them.
const SPARSE_TEXT: usize = 300;

/// Numbers of sparse accessors per byte of the file, at most: half of what our reader takes from a file of its size.
const MOST_SPARED: usize = 16;

/// What a buffer view is for, as the specification numbers it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Use {
    Vertices,
    Indices,
    Other,
}

pub(super) const U8: u32 = 5121;
pub(super) const U16: u32 = 5123;
pub(super) const U32: u32 = 5125;
const F32: u32 = 5126;

impl Tables {
    /// A buffer view of bytes that no accessor reads.
    pub(super) fn view(&mut self, bytes: &[u8]) -> usize {
        let start = self.begin();
        self.bytes.extend_from_slice(bytes);
        self.end(start)
    }

    /// Where the next buffer view starts.
    fn begin(&mut self) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes.len()
    }

    /// A buffer view of all bytes from `start`; its number.
    fn end(&mut self, start: usize) -> usize {
        self.views.push(json!({ "buffer": 0, "byteOffset": start, "byteLength": self.bytes.len() - start }));
        self.views.len() - 1
    }

    /// A buffer view of its own and an accessor over all of it; the accessor's number.
    pub(super) fn accessor(
        &mut self,
        bytes: impl IntoIterator<Item = u8>,
        purpose: Use,
        component: u32,
        shape: &str,
        count: usize,
    ) -> usize {
        let start = self.begin();
        self.bytes.extend(bytes);
        let view = self.end(start);
        match purpose {
            Use::Vertices => self.views[view]["target"] = json!(34962),
            Use::Indices => self.views[view]["target"] = json!(34963),
            Use::Other => {}
        }
        self.accessors.push(json!({ "bufferView": view, "componentType": component, "type": shape, "count": count }));
        self.accessors.len() - 1
    }

    /// Floats, `width` per row; `bounded` adds the least and largest of each column.
    pub(super) fn floats(&mut self, values: &[f32], width: usize, purpose: Use, bounded: bool) -> usize {
        let shape = match width {
            1 => "SCALAR",
            2 => "VEC2",
            3 => "VEC3",
            4 => "VEC4",
            _ => "MAT4",
        };
        let at = self.accessor(values.iter().flat_map(|x| x.to_le_bytes()), purpose, F32, shape, values.len() / width);
        if bounded {
            self.bound(at, values, width);
        }
        at
    }
}

impl Tables {
    /// What a morph target adds to vertices, three numbers per row: sparse where rows of zeros make that shorter. `bounded` adds the least
    /// and largest of each column.
    pub(super) fn displacements(&mut self, values: &[f32], bounded: bool) -> usize {
        let (rows, _) = values.as_chunks::<3>();
        let moved: Vec<usize> = (0..rows.len()).filter(|&row| rows[row] != [0.0; 3]).collect();
        let (component, size) = match rows.len() {
            ..=0x100 => (U8, 1),
            0x101..=0x1_0000 => (U16, 2),
            _ => (U32, 4),
        };
        let is_shorter = moved.len() * (size + 12) + SPARSE_TEXT < values.len() * 4;
        if !is_shorter || self.spared + values.len() > MOST_SPARED * self.bytes.len() {
            return self.floats(values, 3, Use::Vertices, bounded);
        }
        self.spared += values.len();
        let mut accessor = json!({ "componentType": F32, "type": "VEC3", "count": rows.len() });
        // Without any bytes, an accessor is zeros.
        if !moved.is_empty() {
            let places = moved.iter().flat_map(|row| row.to_le_bytes().into_iter().take(size));
            let indices = self.view(&places.collect::<Vec<u8>>());
            let values = moved.iter().flat_map(|&row| rows[row]).flat_map(f32::to_le_bytes);
            let values = self.view(&values.collect::<Vec<u8>>());
            accessor["sparse"] = json!({
                "count": moved.len(),
                "indices": { "bufferView": indices, "componentType": component },
                "values": { "bufferView": values },
            });
        }
        self.accessors.push(accessor);
        let at = self.accessors.len() - 1;
        if bounded {
            self.bound(at, values, 3);
        }
        at
    }

    /// Adds the least and largest of each column to an accessor.
    fn bound(&mut self, at: usize, values: &[f32], width: usize) {
        let column = |at: usize| values.iter().skip(at).step_by(width).copied();
        let least: Vec<f64> = (0..width).map(|at| f64::from(column(at).fold(f32::INFINITY, f32::min))).collect();
        let most: Vec<f64> = (0..width).map(|at| f64::from(column(at).fold(f32::NEG_INFINITY, f32::max))).collect();
        self.accessors[at]["min"] = json!(least);
        self.accessors[at]["max"] = json!(most);
    }
}

/// Doubles as floats, all finite. `width` numbers make one element; the message is `what` with the element's number.
pub(super) fn to_floats(
    values: impl IntoIterator<Item = f64>,
    width: usize,
    what: &str,
) -> Result<Vec<f32>, WriteError> {
    let floats: Vec<f32> = values.into_iter().map(|x| x as f32).collect();
    match floats.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(WriteError::NotFinite { what: format!("{what}, number {},", at / width.max(1)) }),
        None => Ok(floats),
    }
}

/// Refuses `what` unless it has as many `things` as are expected.
pub(crate) fn expect(what: &str, things: &'static str, found: usize, expected: usize) -> Result<(), WriteError> {
    if found == expected { Ok(()) } else { Err(WriteError::Count { what: what.into(), things, found, expected }) }
}

/// Adds a list to an object unless it is empty: an empty list is an error in glTF.
pub(super) fn push_list(object: &mut Value, name: &str, list: Vec<impl serde::Serialize>) {
    if !list.is_empty() {
        object[name] = json!(list);
    }
}
