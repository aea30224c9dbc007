//! Takes of markers: C3D, the binary format of capture systems, and TRC, the text of OpenSim and Cortex.
//!
//! A take is names, a rate, and a place per frame and marker. [`read`] tells the two formats apart by their first bytes.

mod c3d;
mod rows;
mod trc;

use crate::contents::Warning;
use crate::{Format, ReadError, UpAxis};
use dermis_rig::glam::DVec3;

/// A take as a file holds it, in metres, with Y up.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerTake {
    /// Names of the markers.
    pub names: Vec<String>,
    /// Frames per second.
    pub rate: f64,
    /// Whether the file says when its frames were taken; else the rate is the one that the caller or the header states.
    pub is_timed: bool,
    /// Places per frame and marker; `None` where a marker was not seen.
    pub frames: Vec<Vec<Option<DVec3>>>,
    /// The axis that points up in the file, as it was read.
    pub up: UpAxis,
    /// Metres per unit of the file.
    pub metres_per_unit: f64,
    /// What the file holds and nothing here reads.
    pub unread: Vec<String>,
    /// Flaws that were mended.
    pub warnings: Vec<Warning>,
}

/// How a file is read that does not say it itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TakeSpace {
    /// The axis that points up. C3D and TRC do not say; capture systems mostly have Z up, which is the default for C3D, and OpenSim's TRC Y.
    pub up: Option<UpAxis>,
    /// Metres per unit, in place of the one that the file states.
    pub metres_per_unit: Option<f64>,
    /// Frames per second of a TRC file whose times say nothing, in place of those of its header.
    pub rate: Option<f64>,
}

/// Reads a take.
///
/// # Errors
/// [`ReadError`] for bytes that are neither C3D nor TRC, that end early or contradict themselves.
pub fn read(bytes: &[u8], space: &TakeSpace) -> Result<MarkerTake, ReadError> {
    // A C3D file begins with the block of its parameters and the key 0x50.
    match bytes {
        [_, 0x50, ..] => c3d::read(bytes, space),
        _ if bytes.starts_with(b"PathFileType") => trc::read(bytes, space),
        _ => {
            let reason = "it begins neither as C3D nor as TRC does".into();
            Err(ReadError::WrongKind { format: Format::Markers, reason })
        }
    }
}

fn damaged(reason: impl std::fmt::Display) -> ReadError {
    ReadError::Damaged { format: Format::Markers, reason: reason.to_string() }
}

/// Metres of a unit by its name; `None` for one that is not known.
fn metres(unit: &str) -> Option<f64> {
    Some(match unit.trim().to_ascii_lowercase().as_str() {
        "mm" | "millimeters" | "millimetres" => 1e-3,
        "cm" | "centimeters" | "centimetres" => 1e-2,
        "m" | "meters" | "metres" => 1.0,
        "in" | "inch" | "inches" => 0.0254,
        "ft" | "feet" => 0.3048,
        _ => return None,
    })
}

/// A place in metres, Y up: (x, y, z) ↦ (x, z, −y) for Z up.
fn ours(place: DVec3, up: UpAxis, metres_per_unit: f64) -> DVec3 {
    let place = place * metres_per_unit;
    match up {
        UpAxis::Y => place,
        UpAxis::Z => DVec3::new(place.x, place.z, -place.y),
    }
}
