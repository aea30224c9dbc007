//! What cameras saw of markers, as JSON.
//!
//! ```json
//! {"rate": 60, "markers": ["LKNE", "RKNE"],
//!  "cameras": [{"name": "A", "matrix": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
//!               "frames": [[[640.5, 360.0], null], [[641.0, 361.5], [12.0, 700.5]]]}]}
//! ```
//!
//! A matrix projects (x, y, z, 1) to pixels times a factor. A frame holds a pair of pixels or null per marker.

use crate::{Format, ReadError, Space};
use dermis_rig::glam::{DAffine3, DVec2, DVec3, DVec4};
use serde::Deserialize;

/// The file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CameraTracks {
    /// Frames per second.
    pub rate: f64,
    /// Names of the markers.
    pub markers: Vec<String>,
    /// The cameras.
    pub cameras: Vec<TrackingCamera>,
}

/// A camera and what it saw.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackingCamera {
    /// Its name.
    pub name: String,
    /// Rows of its projection; once read, of places in metres with Y up.
    pub matrix: [[f64; 4]; 3],
    /// Pixels per frame and marker.
    pub frames: Vec<Vec<Option<[f64; 2]>>>,
}

/// Reads the file; `space` says the axes and unit of the world that its matrices project.
///
/// # Errors
/// [`ReadError`], naming the line, or the camera and frame.
pub fn read(bytes: &[u8], space: &Space) -> Result<CameraTracks, ReadError> {
    space.check()?;
    let damaged = |reason: String| ReadError::Damaged { format: Format::Markers, reason };
    let mut tracks: CameraTracks = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
    if !(tracks.rate > 0.0 && tracks.rate < 1e9) {
        return Err(damaged(format!("the rate is {}", tracks.rate)));
    }
    let from_ours = space.to_ours().inverse();
    for camera in &mut tracks.cameras {
        if !camera.matrix.iter().flatten().all(|x| x.is_finite()) {
            return Err(damaged(format!("camera \"{}\": its matrix is not finite", camera.name)));
        }
        camera.matrix = camera.matrix.map(|row| in_ours(DVec4::from_array(row), &from_ours).to_array());
        for (at, frame) in camera.frames.iter().enumerate() {
            if frame.len() != tracks.markers.len() {
                let (found, markers) = (frame.len(), tracks.markers.len());
                return Err(damaged(format!(
                    "camera \"{}\", frame {at}: {found} sights of {markers} markers",
                    camera.name
                )));
            }
            if !frame.iter().flatten().all(|at| DVec2::from_array(*at).is_finite()) {
                return Err(damaged(format!("camera \"{}\", frame {at}: a sight is not finite", camera.name)));
            }
        }
    }
    Ok(tracks)
}

/// A row of a projection, for places after a map: r·(A x) as a row of x.
fn in_ours(row: DVec4, map: &DAffine3) -> DVec4 {
    let part = |axis: DVec3| row.truncate().dot(axis);
    let m = map.matrix3;
    DVec4::new(part(m.x_axis), part(m.y_axis), part(m.z_axis), part(map.translation) + row.w)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UpAxis;

    const FILE: &str = r#"{"rate": 60, "markers": ["a", "b"],
        "cameras": [{"name": "A", "matrix": [[800, 0, 320, 5], [0, 800, 240, 7], [0, 0, 1, 2]], "frames": [[[640.5, 360.0], null]]}]}"#;

    /// Z up in centimetres: what the camera sees of a place is the same.
    #[test]
    fn matrices_project_our_world() {
        let space = Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() };
        let (own, theirs) = (read(FILE.as_bytes(), &space).unwrap(), read(FILE.as_bytes(), &Space::default()).unwrap());
        let place = DVec3::new(12.0, -30.0, 55.0);
        let seen = |tracks: &CameraTracks, place: DVec3| {
            tracks.cameras[0].matrix.map(|row| DVec4::from_array(row).dot(place.extend(1.0)))
        };
        let (a, b) = (seen(&own, space.to_ours().transform_point3(place)), seen(&theirs, place));
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?} {b:?}");
    }

    #[test]
    fn mistakes_are_named() {
        let why =
            |from: &str, to: &str| read(FILE.replace(from, to).as_bytes(), &Space::default()).unwrap_err().to_string();
        assert!(why("[640.5, 360.0], null", "null").contains("camera \"A\", frame 0: 1 sights of 2 markers"));
        assert!(why("\"rate\": 60", "\"rate\": 0").contains("the rate is 0"));
        assert!(why("[0, 0, 1, 2]", "[0, 0, 1]").contains("line 2"));
        assert!((0..FILE.len()).all(|length| read(&FILE.as_bytes()[..length], &Space::default()).is_err()));
    }
}
