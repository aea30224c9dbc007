//! What a page shows of fits, benches and files.

use crate::load::FileNote;
use crate::provenance::{Provenance, folder_of};
use crate::verbs::compare::Row;
use crate::verbs::fit::{FitReport, RidgePoint};
use dermis_report::FitSummary;
use dermis_report::page::{FileStamp, MethodRow, StrengthSweep, SweptStrength};
use std::path::Path;

/// Returns what a report says of a fit. A sweep is shown if it tried more than one strength.
pub fn fit_summary(found: &FitReport, seconds: f64) -> FitSummary {
    let point = |point: &RidgePoint| SweptStrength {
        s: point.ridge as f32,
        train_rms: point.train.unwrap_or(f64::NAN) as f32,
        validated_rms: point.validated as f32,
    };
    let sweep = (found.sweep.len() > 1).then(|| StrengthSweep {
        points: found.sweep.iter().map(point).collect(),
        chosen_s: found.ridge.unwrap_or(f64::NAN) as f32,
        what: found.validated_by.clone().unwrap_or_default(),
    });
    FitSummary { seconds, warnings: found.warnings.iter().map(ToString::to_string).collect(), sweep }
}

/// Returns a method of the bench as the page shows it.
pub fn method_row(row: &Row) -> MethodRow {
    MethodRow {
        method: row.method.clone(),
        train: Some(row.train.model.error.rms as f32),
        held_out: row.unseen.as_ref().map(|scores| scores.model.error.rms as f32),
        model_bytes: Some(row.bytes as u64),
        fit_seconds: Some(row.seconds as f32),
        vertices_per_second: Some(row.vertices_per_second as f32),
        note: row.fitted.warnings().first().cloned().unwrap_or_default(),
    }
}

/// Returns the files as a page lists them: their paths from the page, or from the working folder without one.
pub fn file_stamps(notes: &[FileNote], provenance: Provenance, page: Option<&Path>) -> Vec<FileStamp> {
    let folder = page.map_or(Path::new("."), folder_of);
    let stamp = |note: &FileNote| FileStamp {
        role: note.role.clone(),
        path: provenance.stated_text(&note.path, folder),
        bytes: note.bytes,
        hash: format!("sha256:{}…", note.hash),
    };
    notes.iter().map(stamp).collect()
}
