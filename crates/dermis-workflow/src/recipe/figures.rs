//! `figures`: published figures, drawn again.

use crate::error::Error;
use crate::output::reserve_folder;
use crate::recipe::{Existing, Watch, step};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A page of figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FiguresRecipe {
    /// What is drawn.
    pub figure: Figure,
    /// The folder for the page.
    pub out: PathBuf,
    /// What happens to a page that is there already.
    #[serde(default)]
    pub existing: Existing,
}

/// What can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Pose-space deformation: a thumb, a twisted arm, directions of corrections.
    PoseSpace,
}

/// What came of drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiguresOutcome {
    /// The numbers beside the drawings, as lines.
    pub table: Vec<String>,
    /// The page.
    pub written: PathBuf,
}

impl FiguresRecipe {
    /// Draws the figures and writes the page.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<FiguresOutcome, Error> {
        let folder = reserve_folder(&self.out, self.existing)?;
        let (drawn, name) = match self.figure {
            Figure::PoseSpace => (step(watch, "figures", |_| dermis_figures::pose_space::draw())?, "pose-space.html"),
        };
        folder.folder()?(name, drawn.page.as_bytes())?;
        Ok(FiguresOutcome { table: drawn.table, written: self.out.join(name) })
    }
}
