//! Scans that no fit of weights saw: the honest figure of weights from scans.

use crate::error::Error;
use crate::report::page::{PageVerdict, Tone};
use crate::report::{LengthUnit, show_length};
use crate::verbs::weights::scan_poses::{scan_json, scan_poses};
use dermis_fit::ScanSurface;
use dermis_fit::register::Registration;
use dermis_motion::anatomy::Anatomy;
use dermis_rig::{Influences, Progress, Rig};
use serde_json::{Value, json};

/// Held-out scans. Their poses are found with finished weights; neither poses nor weights change afterwards.
#[derive(Debug)]
pub struct HeldOutScans {
    /// The scans.
    pub surfaces: Vec<ScanSurface>,
    /// Their poses with the weights that were fitted.
    pub found: Vec<Registration>,
    /// Their poses with the weights that the fit began with.
    pub at_start: Vec<Registration>,
}

impl HeldOutScans {
    /// Finds the poses.
    ///
    /// - `weights`: those that were fitted, with the rounds of poses and weights that made them
    /// - `start`: those that the fit began with
    ///
    /// # Errors
    /// As those of [`scan_poses`].
    pub fn new(
        rig: &Rig,
        (weights, rounds): (&Influences, usize),
        start: &Influences,
        anatomy: &Anatomy,
        surfaces: Vec<ScanSurface>,
        progress: Progress<'_>,
    ) -> Result<Self, Error> {
        let found = scan_poses(rig, weights, rounds, anatomy, &surfaces, progress)?;
        let at_start = scan_poses(rig, start, 0, anatomy, &surfaces, progress)?;
        Ok(Self { surfaces, found, at_start })
    }

    /// Root mean square distance along the normals of what lies on the skin, over the scans with a pose, metres: with the weights that were
    /// fitted, and with those of the start. `None` if no scan has a pose.
    pub fn distances(&self) -> [Option<f64>; 2] {
        [&self.found, &self.at_start].map(|found| {
            let squares: Vec<f64> = found.iter().filter_map(|one| Some(one.found.as_ref().ok()?.rms.powi(2))).collect();
            (!squares.is_empty()).then(|| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
        })
    }

    /// The sentence to take away.
    pub fn verdict(&self, unit: &LengthUnit) -> PageVerdict {
        let scans = self.surfaces.len();
        let posed: Vec<f64> =
            self.found.iter().filter_map(|one| one.found.as_ref().ok()).map(|pose| pose.of_scan).collect();
        let [Some(now), start] = self.distances() else {
            let text = format!("Held out: no pose explains any of {scans} scans that the fit did not see.");
            return PageVerdict { text, tone: Tone::Bad };
        };
        let on_skin = 100.0 * posed.iter().sum::<f64>() / posed.len() as f64;
        let which = match (posed.len(), scans) {
            (1, 1) => "the scan that the fit did not see lies".into(),
            (posed, scans) if posed == scans => format!("{scans} scans that the fit did not see lie"),
            (posed, scans) => format!("{posed} of the {scans} scans that the fit did not see have a pose; they lie"),
        };
        let off = show_length(now, unit);
        let mut text =
            format!("Held out: {which} {off} off the skin, rms along the normals, with {on_skin:.1} % on it.");
        if let Some(start) = start {
            text += &format!(" With the weights of the start it is {}.", show_length(start, unit));
        }
        let tone = match start {
            Some(start) if now > start => Tone::Bad,
            _ if posed.len() < scans => Tone::Caution,
            _ => Tone::Good,
        };
        PageVerdict { text, tone }
    }

    /// As JSON; lengths in metres, angles in degrees.
    pub fn json(&self, rig: &Rig) -> Value {
        let [now, start] = self.distances();
        let scans: Vec<Value> = self.found.iter().map(|one| scan_json(rig, one, &self.found)).collect();
        json!({ "distance": now, "distance_at_start": start, "scans": scans })
    }
}
