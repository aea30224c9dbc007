//! Stacks of deformers as a user writes them: JSON, in the axes and the unit of the file that it goes with.
//!
//! ```json
//! {"stack": [
//!   {"type": "lattice", "origin": [-1, 0, -1], "axes": [[2, 0, 0], [0, 2, 0], [0, 0, 2]], "counts": [2, 2, 3],
//!    "displacements": [[0, 0, 0], ...], "outside": "unchanged"},
//!   {"type": "lbs"},
//!   {"type": "wires", "m": 1, "parent": "spine", "wires": [
//!     {"reference": [[0, 1, 0], [1, 1, 0]], "current": [[0, 1, 0], [1, 1.2, 0]], "radius": 0.3, "scale": 1}]}
//! ]}
//! ```
//!
//! Deformers act in the order of the list. `lbs`, `dqs` and `rigid` are the rig's own weights. A lattice is a box with a
//! corner, three edges, and so many control points along each; the displacements of these, the last axis fastest, are
//! lengths of the file's unit. `parent`, `outside` (`unchanged` or `clamped`), `m` and `scale` may be left out. A `parent` is the
//! name of a bone that carries a lattice or wires along; it serves them after the skinning alone.
//!
//! The same text says in a bundle and in a model file which stack it goes with.

use crate::Space;
use dermis_deform::wires::Wire;
use dermis_deform::{DualQuaternions, Lattice, Layer, Outside, Stack, StackError, Wires};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Rig};
use serde::{Deserialize, Serialize};

/// A stack as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackFile {
    stack: Vec<One>,
}

/// Why a text is no stack of a rig's deformers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StackFileError {
    /// Not the JSON that is expected.
    #[error("{0}")]
    Json(String),
    /// No deformers.
    #[error("the stack is empty")]
    Empty,
    /// One of the deformers.
    #[error("deformer {number} of the stack ({name}): {reason}")]
    Deformer {
        /// Its place in the list, from 1.
        number: usize,
        /// Its type.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum One {
    // Braces make unknown fields an error here as well.
    Lbs {},
    Dqs {},
    Rigid {},
    Lattice {
        origin: [f64; 3],
        axes: [[f64; 3]; 3],
        counts: [usize; 3],
        displacements: Vec<[f64; 3]>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
        #[serde(default)]
        outside: OutsideName,
    },
    Wires {
        #[serde(default = "one")]
        m: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
        wires: Vec<WireFile>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    reference: Vec<[f64; 3]>,
    current: Vec<[f64; 3]>,
    radius: f64,
    #[serde(default = "one")]
    scale: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OutsideName {
    #[default]
    Unchanged,
    Clamped,
}

fn one() -> f64 {
    1.0
}

/// Reads a stack for a rig. `space` has the axes and the unit of the text's numbers.
///
/// # Errors
/// [`StackFileError`], naming the deformer by its place in the list.
pub fn read(json: &[u8], rig: &Rig, space: &Space) -> Result<(StackFile, Stack), StackFileError> {
    let file: StackFile = serde_json::from_slice(json).map_err(|e| StackFileError::Json(e.to_string()))?;
    let stack = file.stack(rig, space)?;
    Ok((file, stack))
}

impl StackFile {
    /// Linear blend skinning alone.
    pub fn lbs() -> Self {
        Self { stack: vec![One::Lbs {}] }
    }

    /// Dual quaternion skinning alone.
    pub fn dqs() -> Self {
        Self { stack: vec![One::Dqs {}] }
    }

    /// Rigid binding alone.
    pub fn rigid() -> Self {
        Self { stack: vec![One::Rigid {}] }
    }

    /// Describes a stack whose skinning layers have the rig's own weights, in the axes and the unit of `space`.
    ///
    /// # Errors
    /// [`StackFileError::Deformer`] for a skinning layer with other weights, which a description has no place for.
    pub fn of(stack: &Stack, rig: &Rig, space: &Space) -> Result<Self, StackFileError> {
        let from_ours = space.to_ours().inverse();
        let name = |bone: BoneIndex| rig.skeleton().names()[bone].clone();
        let describe = |(at, layer): (usize, &Layer)| {
            if layer.weights().is_some_and(|weights| Some(weights) != rig.weights()) {
                let reason = "its weights are not those of the rig".into();
                return Err(StackFileError::Deformer { number: at + 1, name: type_of(layer), reason });
            }
            let parent = layer.parent().map(name);
            Ok(match layer {
                Layer::Rigid(_) => One::Rigid {},
                Layer::Lbs(_) => One::Lbs {},
                Layer::Dqs(..) => One::Dqs {},
                Layer::Lattice(lattice) => {
                    let vector = |d: &DVec3| from_ours.transform_vector3(*d).to_array();
                    let (origin, edges, counts, moved_by) = lattice.parts();
                    One::Lattice {
                        origin: from_ours.transform_point3(origin).to_array(),
                        axes: [0, 1, 2].map(|axis| vector(&edges[axis])),
                        counts,
                        displacements: moved_by.iter().map(vector).collect(),
                        parent,
                        outside: match lattice.outside {
                            Outside::Unchanged => OutsideName::Unchanged,
                            Outside::Clamped => OutsideName::Clamped,
                        },
                    }
                }
                Layer::Wires(wires) => {
                    let point = |p: &DVec3| from_ours.transform_point3(*p).to_array();
                    let wire = |wire: &Wire| WireFile {
                        reference: wire.reference().iter().map(point).collect(),
                        current: wire.current().iter().map(point).collect(),
                        radius: wire.radius() / space.metres_per_unit,
                        scale: wire.scale(),
                    };
                    One::Wires { m: wires.exponent(), parent, wires: wires.wires().iter().map(wire).collect() }
                }
            })
        };
        Ok(Self { stack: stack.layers().iter().enumerate().map(describe).collect::<Result<_, _>>()? })
    }

    /// The stack for a rig.
    ///
    /// # Errors
    /// As [`read`].
    pub fn stack(&self, rig: &Rig, space: &Space) -> Result<Stack, StackFileError> {
        if self.stack.is_empty() {
            return Err(StackFileError::Empty);
        }
        let failed = |at: usize, reason| {
            let name = self.stack.get(at).map_or("", One::name);
            StackFileError::Deformer { number: at + 1, name, reason }
        };
        let layers = self.stack.iter().enumerate().map(|(at, one)| one.layer(rig, space).map_err(|e| failed(at, e)));
        let layers = layers.collect::<Result<Vec<_>, _>>()?;
        Stack::new(layers, rig.mesh().positions.len(), rig.skeleton().len()).map_err(|e| match e {
            StackError::ParentAtRest { layer } => {
                let reason = "\"parent\" serves deformers after the skinning: before it the skin is at rest, and no bone has moved";
                failed(layer, reason.into())
            }
            StackError::Vertices { layer, .. } | StackError::Bones { layer, .. } | StackError::Pivots { layer, .. } => {
                failed(layer, e.to_string())
            }
        })
    }

    /// What it is, in words: "the stack lattice → lbs".
    pub fn name(&self) -> String {
        let names: Vec<_> = self.stack.iter().map(One::name).collect();
        format!("the stack {}", names.join(" → "))
    }

    /// The JSON text.
    pub fn json(&self) -> String {
        // A value of plain numbers and texts has a JSON form; NaN and infinity become null, which no reader takes.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn type_of(layer: &Layer) -> &'static str {
    match layer {
        Layer::Rigid(_) => "rigid",
        Layer::Lbs(_) => "lbs",
        Layer::Dqs(..) => "dqs",
        Layer::Lattice(_) => "lattice",
        Layer::Wires(_) => "wires",
    }
}

impl One {
    fn name(&self) -> &'static str {
        match self {
            Self::Lbs {} => "lbs",
            Self::Dqs {} => "dqs",
            Self::Rigid {} => "rigid",
            Self::Lattice { .. } => "lattice",
            Self::Wires { .. } => "wires",
        }
    }

    fn layer(&self, rig: &Rig, space: &Space) -> Result<Layer, String> {
        let to_ours = space.to_ours();
        let weights = || {
            let weights = rig.weights().cloned();
            weights.ok_or_else(|| format!("the rig \"{}\" has no skinning weights", rig.name()))
        };
        let bone = |name: &Option<String>| {
            let find = |name: &String| {
                rig.skeleton()
                    .find(name)
                    .ok_or_else(|| format!("the rig has no bone \"{name:.200}\" for its \"parent\""))
            };
            name.as_ref().map(find).transpose()
        };
        Ok(match self {
            Self::Lbs {} => Layer::Lbs(weights()?),
            Self::Dqs {} => Layer::Dqs(weights()?, DualQuaternions::new(rig.skeleton())),
            Self::Rigid {} => Layer::Rigid(weights()?),
            Self::Lattice { origin, axes, counts, displacements, parent, outside } => {
                let vector = |d: &[f64; 3]| to_ours.transform_vector3(DVec3::from(*d));
                let moved_by = displacements.iter().map(vector).collect();
                let edges = [0, 1, 2].map(|axis| vector(&axes[axis]));
                let lattice = Lattice::new(point(&to_ours, origin), edges, *counts, moved_by);
                let mut lattice = lattice.map_err(|e| e.to_string())?;
                lattice.outside = match outside {
                    OutsideName::Unchanged => Outside::Unchanged,
                    OutsideName::Clamped => Outside::Clamped,
                };
                lattice.parent = bone(parent)?;
                Layer::Lattice(lattice)
            }
            Self::Wires { m, parent, wires } => {
                let mut made = Vec::with_capacity(wires.len());
                for (at, wire) in wires.iter().enumerate() {
                    let curve = |points: &[[f64; 3]]| points.iter().map(|p| point(&to_ours, p)).collect();
                    let radius = wire.radius * space.metres_per_unit;
                    let one = Wire::new(curve(&wire.reference), curve(&wire.current), radius, wire.scale);
                    made.push(one.map_err(|e| format!("wire {}: {e}", at + 1))?);
                }
                let mut wires = Wires::new(made, *m).map_err(|e| e.to_string())?;
                wires.parent = bone(parent)?;
                Layer::Wires(wires)
            }
        })
    }
}

fn point(to_ours: &DAffine3, p: &[f64; 3]) -> DVec3 {
    to_ours.transform_point3(DVec3::from(*p))
}
