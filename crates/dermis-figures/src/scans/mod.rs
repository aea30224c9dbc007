//! Influences and weights from scans, after Hopkins & Owen: which bones move a vertex, which poses to take, and weights from meshes without
//! correspondence.

mod arm;
mod influences;
mod shapes;

use crate::{Character, FigureError};
use dermis_fit::Progress;
use dermis_report::figures::FiguresPage;

/// Makes and measures the figures.
///
/// # Errors
/// As [`Document::draw`](crate::Document::draw).
pub(crate) fn page(_character: &Character, progress: Progress<'_>) -> Result<FiguresPage, FigureError> {
    let arm = arm::Arm::new(61, 24, 0.0)?;
    let mut figures = influences::figures(&arm)?;
    dermis_rig::progress::proceed(progress, 1, 2)?;
    figures.extend(shapes::figures(&arm, progress)?);
    Ok(FiguresPage {
        title: "Weights from scans in figures".into(),
        subtitle: "An arm of three bones whose true weights are known: which bones each rule finds, which poses tell them, and what scans \
                   without correspondence make of the weights. Errors are in percent of the limb's radius."
            .into(),
        sources: vec!["Hopkins & Owen, influences and weights from scans".into(), "Besl & McKay 1992; Chen & Medioni 1992".into()],
        figures,
        ..FiguresPage::default()
    })
}
