//! The documents whose figures are made again.

use crate::{Character, FigureError, course, envelope, parts, pose_space, scans, skinning};
use dermis_fit::Progress;
use dermis_report::figures::FiguresPage;
use serde::{Deserialize, Serialize};

/// A paper, or what belongs together of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Document {
    /// Multi-weight enveloping: Wang & Phillips 2002.
    Envelope,
    /// A text on skinning: weights, and four ways to deform.
    Skinning,
    /// The lecture on animation and skinning of MIT 6.837 and the papers beside it.
    Course,
    /// Influences and weights from scans: Hopkins & Owen.
    Scans,
    /// Pose-space deformation: Lewis, Cordner & Fong 2000; Sloan, Rose & Cohen 2001; Xiao et al. 2006.
    PoseSpace,
}

impl Document {
    /// All documents, in the order in which they are drawn.
    pub const ALL: [Self; 5] = [Self::Envelope, Self::Skinning, Self::Course, Self::Scans, Self::PoseSpace];

    /// The document's name on the command line, and of its page without the ending.
    pub fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Skinning => "skinning",
            Self::Course => "course",
            Self::Scans => "scans",
            Self::PoseSpace => "pose-space",
        }
    }

    /// Makes and measures every figure of the document. The page lists all that the document has, also what no figure shows.
    ///
    /// - `character`: what the figures that need a whole character are made from
    ///
    /// # Errors
    /// [`FigureError`]: a fit that fails on this character, or cancellation.
    pub fn draw(self, character: &Character, progress: Progress<'_>) -> Result<FiguresPage, FigureError> {
        let page = match self {
            Self::Envelope => envelope::page(character, progress)?,
            Self::Skinning => skinning::page(character, progress)?,
            Self::Course => course::page(character, progress)?,
            Self::Scans => scans::page(character, progress)?,
            Self::PoseSpace => pose_space::page(character, progress)?,
        };
        Ok(FiguresPage { command: format!("dermis figures {} --out DIR", self.name()), parts: parts::of(self), ..page })
    }
}
