//! Skins: inverse bind matrices, and the joints and weights of drawn vertices.

use super::tables::{Tables, U8, U16, Use, expect, to_floats};
use crate::{Format, WriteError};
use dermis_rig::glam::{DAffine3, DMat4};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, Influences, Mesh, Skeleton};
use serde_json::{Map, Value, json};

impl Tables {
    pub(super) fn skin(&mut self, skeleton: &Skeleton) -> Result<Value, WriteError> {
        let columns = |b: &DAffine3| {
            let [x, y, z] = b.matrix3.to_cols_array_2d();
            let t = b.translation.to_array();
            [(x, 0.0), (y, 0.0), (z, 0.0), (t, 1.0)].into_iter().flat_map(|(c, last)| c.into_iter().chain([last]))
        };
        let values = to_floats(skeleton.inverse_bind().iter().flat_map(columns), 16, "the inverse bind matrix")?;
        for (bone, held) in skeleton.bones().zip(values.as_chunks::<16>().0) {
            let held = DAffine3::from_mat4(DMat4::from_cols_array(&held.map(f64::from)));
            // What a reader does: the bind matrix is the inverse of what is held, and must have one itself.
            if invert(&held).as_ref().and_then(invert).is_none() {
                let what = format!("the bind matrix of bone \"{}\", which is near singular", skeleton.names()[bone]);
                return Err(WriteError::CannotHold { format: Format::Gltf, what });
            }
        }
        let matrices = self.floats(&values, 16, Use::Other, false);
        Ok(json!({ "inverseBindMatrices": matrices, "joints": (0..skeleton.len()).collect::<Vec<_>>() }))
    }

    /// The joints and weights of some drawn vertices, each with its vertex of the mesh in `source`.
    pub(super) fn weights(&mut self, skinned: &Skinned, source: &[u32], attributes: &mut Map<String, Value>) {
        let (rows, drawn) = (&skinned.rows, source.len());
        for set in 0..skinned.sets {
            let slots = || source.iter().flat_map(|&v| (4 * set..4 * set + 4).map(move |slot| (v as usize, slot)));
            let bone = |(v, slot): (usize, usize)| rows[v].get(slot).map_or(0, |(bone, _)| bone.get());
            let joints = if skinned.bones <= 256 {
                self.accessor(slots().map(|at| bone(at) as u8), Use::Vertices, U8, "VEC4", drawn)
            } else {
                let bytes = slots().flat_map(|at| (bone(at) as u16).to_le_bytes());
                self.accessor(bytes, Use::Vertices, U16, "VEC4", drawn)
            };
            attributes.insert(format!("JOINTS_{set}"), json!(joints));
            let weight = |(v, slot): (usize, usize)| rows[v].get(slot).map_or(0.0, |(_, w)| *w);
            let whole = |at, one: f64| (weight(at) * one).round();
            let stored = match skinned.one {
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
            if skinned.one.is_some() {
                self.accessors[stored]["normalized"] = json!(true);
            }
            attributes.insert(format!("WEIGHTS_{set}"), json!(stored));
        }
    }
}

/// The weights of a mesh as a file holds them.
pub(super) struct Skinned {
    /// Of each vertex, the largest first.
    rows: Vec<Vec<(BoneIndex, f64)>>,
    /// The whole number that stands for one, if they are stored as whole numbers.
    one: Option<u16>,
    /// Sets of four that the fullest vertex needs.
    sets: usize,
    bones: usize,
}

impl Skinned {
    pub(super) fn new(weights: &Influences, skeleton: &Skeleton, mesh: &Mesh) -> Result<Self, WriteError> {
        expect("the table of weights", "vertices", weights.vertices(), mesh.positions.len())?;
        if weights.bones_named() > skeleton.len() {
            let (found, expected) = (weights.bones_named(), skeleton.len());
            return Err(WriteError::Count { what: "the table of weights".into(), things: "bones", found, expected });
        }
        if skeleton.len() > 65536 {
            let what = format!("{} bones: it numbers the joints of a skin with 16 bits", skeleton.len());
            return Err(WriteError::CannotHold { format: Format::Gltf, what });
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
        Ok(Self { rows, one, sets, bones: skeleton.len() })
    }
}

/// Whether all weights are multiples of 1/`one`, and so are the sums of all rows: one.
fn are_whole(weights: &Influences, one: f64) -> bool {
    weights.rows().all(|row| {
        let whole = |w: f64| w == 0.0 || w * one > 0.5 && (w * one - (w * one).round()).abs() < 1e-9;
        row.iter().all(|(_, w)| whole(*w)) && row.iter().map(|(_, w)| (w * one).round()).sum::<f64>() == one
    })
}
