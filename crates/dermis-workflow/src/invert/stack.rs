//! Stacks of deformers as a user writes them: a JSON file, in the axes and the unit of the rig's file.
//!
//! ```json
//! {"stack": [
//!   {"type": "lattice", "origin": [-1, 0, -1], "axes": [[2, 0, 0], [0, 2, 0], [0, 0, 2]], "counts": [2, 2, 3],
//!    "displacements": [[0, 0, 0], ...], "parent": "spine", "outside": "unchanged"},
//!   {"type": "lbs"},
//!   {"type": "wires", "m": 1, "wires": [
//!     {"reference": [[0, 1, 0], [1, 1, 0]], "current": [[0, 1, 0], [1, 1.2, 0]], "radius": 0.3, "scale": 1}]}
//! ]}
//! ```
//!
//! Deformers act in the order of the list. `lbs`, `dqs` and `rigid` are the rig's own weights. A lattice is a box with a
//! corner, three edges, and so many control points along each; the displacements of these, the last axis fastest, are
//! lengths of the file's unit. `parent`, `outside` (`unchanged` or `clamped`), `m` and `scale` may be left out.

use crate::error::Error;
use crate::load::FileNote;
use crate::load::{LoadedRig, note, read_bytes};
use dermis_deform::wires::Wire;
use dermis_deform::{DualQuaternions, Lattice, Layer, Outside, Stack, Wires};
use dermis_io::Space;
use dermis_rig::glam::DVec3;
use dermis_rig::{Influences, Rig};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    stack: Vec<One>,
}

#[derive(Deserialize)]
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
        parent: Option<String>,
        #[serde(default)]
        outside: OutsideName,
    },
    Wires {
        #[serde(default = "one")]
        m: f64,
        wires: Vec<WireFile>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    reference: Vec<[f64; 3]>,
    current: Vec<[f64; 3]>,
    radius: f64,
    #[serde(default = "one")]
    scale: f64,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OutsideName {
    #[default]
    Unchanged,
    Clamped,
}

fn one() -> f64 {
    1.0
}

/// Reads a stack for a rig, and says what it is in words.
///
/// # Errors
/// [`Error`], naming the deformer by its place in the list.
pub fn load_stack(path: &Path, rig: &LoadedRig) -> Result<(Stack, String, FileNote), Error> {
    let bytes = read_bytes(path)?;
    let read = read_stack(&bytes, &rig.rig, &rig.space);
    let (stack, name) = read.map_err(|what| Error::lacks(path, what, "docs/invert.md says what a stack holds"))?;
    Ok((stack, name, FileNote { role: "stack".into(), ..note(path, &bytes, vec![]) }))
}

/// The same from bytes; `space` is that of the rig's file.
///
/// # Errors
/// What is wrong, naming the deformer by its place in the list.
pub fn read_stack(bytes: &[u8], rig: &Rig, space: &Space) -> Result<(Stack, String), String> {
    let file: File = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    if file.stack.is_empty() {
        return Err("the stack is empty".into());
    }
    let mut names = Vec::new();
    let mut layers = Vec::new();
    for (at, one) in file.stack.into_iter().enumerate() {
        let made = layer(one, rig, space);
        let (name, layer) =
            made.map_err(|(name, what)| format!("deformer {} of the stack ({name}): {what}", at + 1))?;
        names.push(name);
        layers.push(layer);
    }
    let stack = Stack::new(layers, rig.mesh().positions.len(), rig.skeleton().len()).map_err(|e| e.to_string())?;
    Ok((stack, format!("the stack {}", names.join(" → "))))
}

fn layer(one: One, rig: &Rig, space: &Space) -> Result<(&'static str, Layer), (&'static str, String)> {
    let weights = |name| -> Result<Influences, _> {
        rig.weights().cloned().ok_or_else(|| (name, format!("the rig \"{}\" has no skinning weights", rig.name())))
    };
    let to_ours = space.to_ours();
    let point = |p: &[f64; 3]| to_ours.transform_point3(DVec3::from(*p));
    Ok(match one {
        One::Lbs {} => ("lbs", Layer::Lbs(weights("lbs")?)),
        One::Dqs {} => ("dqs", Layer::Dqs(weights("dqs")?, DualQuaternions::new(rig.skeleton()))),
        One::Rigid {} => ("rigid", Layer::Rigid(weights("rigid")?)),
        One::Lattice { origin, axes, counts, displacements, parent, outside } => {
            let axes = axes.map(|e| to_ours.transform_vector3(DVec3::from(e)));
            let moved_by = displacements.iter().map(|d| to_ours.transform_vector3(DVec3::from(*d))).collect();
            let mut lattice =
                Lattice::new(point(&origin), axes, counts, moved_by).map_err(|e| ("lattice", e.to_string()))?;
            lattice.outside = match outside {
                OutsideName::Unchanged => Outside::Unchanged,
                OutsideName::Clamped => Outside::Clamped,
            };
            if let Some(name) = parent {
                let bone = rig.skeleton().find(&name);
                lattice.parent = Some(bone.ok_or_else(|| ("lattice", format!("the rig has no bone \"{name}\"")))?);
            }
            ("lattice", Layer::Lattice(lattice))
        }
        One::Wires { m, wires } => {
            let mut made = Vec::with_capacity(wires.len());
            for (at, wire) in wires.into_iter().enumerate() {
                let curve = |points: &[[f64; 3]]| points.iter().map(point).collect();
                let radius = wire.radius * space.metres_per_unit;
                let one = Wire::new(curve(&wire.reference), curve(&wire.current), radius, wire.scale);
                made.push(one.map_err(|e| ("wires", format!("wire {}: {e}", at + 1)))?);
            }
            ("wires", Layer::Wires(Wires::new(made, m).map_err(|e| ("wires", e.to_string()))?))
        }
    })
}
