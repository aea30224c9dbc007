//! Scans that no fit of weights saw: the honest figure of weights from scans.

use crate::error::Error;
use crate::report::LengthUnit;
use crate::report::page::PageVerdict;
use crate::report::scan_page::held_scans_verdict;
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
        let posed = self.found.iter().filter_map(|one| one.found.as_ref().ok());
        held_scans_verdict(
            self.surfaces.len(),
            &posed.map(|pose| pose.of_scan).collect::<Vec<_>>(),
            self.distances(),
            unit,
        )
    }

    /// As JSON; lengths in metres, angles in degrees.
    pub fn json(&self, rig: &Rig) -> Value {
        let [now, start] = self.distances();
        let scans: Vec<Value> = self.found.iter().map(|one| scan_json(rig, one, &self.found)).collect();
        json!({ "distance": now, "distance_at_start": start, "scans": scans })
    }
}
