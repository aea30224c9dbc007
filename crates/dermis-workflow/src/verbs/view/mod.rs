//! `view`: a page of whatever a file shows: a model, a rig, a motion, a mesh or its shapes over time.

pub mod error;
mod page;
mod sticks;

use crate::error::Error;
use crate::load::ReadOptions;
use crate::recipe::{Existing, Input, Watch, keep, reserve_page};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A look at a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ViewRecipe {
    /// A model, a rig, a motion, a mesh, or shapes with their mesh. Of a file with several clips a part names one.
    pub file: Input,
    /// A motion for the rig or the model, or shapes of the mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub motion: Option<Input>,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where the page goes (.html).
    pub out: PathBuf,
    /// What happens to a page that is there already.
    #[serde(default)]
    pub existing: Existing,
}

/// What came of a look at a file.
#[derive(Clone, Debug)]
pub struct ViewOutcome {
    /// What the page shows.
    pub shows: Shows,
    /// Vertices of what is drawn.
    pub vertices: usize,
    /// Bones.
    pub bones: usize,
    /// Frames that play.
    pub frames: usize,
    /// What a user should know.
    pub notes: Vec<String>,
    /// Where the page went.
    pub written: PathBuf,
    /// Its bytes.
    pub bytes: usize,
}

/// What a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// A model, posed by the page.
    Model,
    /// Skins of a model, computed beforehand.
    ModelSkins,
    /// A rig with its skin.
    Rig,
    /// Bones without a skin.
    Skeleton,
    /// A mesh, with bones that do not move it.
    Mesh,
    /// A mesh in several shapes.
    Shapes,
}

impl Shows {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::ModelSkins => "skins of a model",
            Self::Rig => "rig",
            Self::Skeleton => "skeleton",
            Self::Mesh => "mesh",
            Self::Shapes => "shapes of a mesh",
        }
    }
}

/// A page that is not written yet.
struct Drawn {
    shows: Shows,
    vertices: usize,
    bones: usize,
    frames: usize,
    notes: Vec<String>,
    html: String,
}

impl ViewRecipe {
    /// Shows this file with default settings.
    pub fn new(file: Input, out: PathBuf) -> Self {
        Self { file, motion: None, read: ReadOptions::default(), out, existing: Existing::Keep }
    }

    /// Reads the file and writes its page.
    ///
    /// # Errors
    /// [`Error::View`] for a file with nothing to see; [`Error`] of files, and of models that cannot be evaluated.
    pub fn run(&self, watch: &dyn Watch) -> Result<ViewOutcome, Error> {
        let out = reserve_page(&self.out, self.existing)?;
        keep(&[&self.file].into_iter().chain(&self.motion).collect::<Vec<_>>(), [&out])?;
        let Drawn { shows, vertices, bones, frames, notes, html } = self.drawn(watch)?;
        out.write(html.as_bytes())?;
        let (written, bytes) = (out.path().to_path_buf(), html.len());
        Ok(ViewOutcome { shows, vertices, bones, frames, notes, written, bytes })
    }
}

impl ViewOutcome {
    /// `view --json`.
    pub fn json(&self) -> Value {
        json!({
            "shows": self.shows.name(),
            "vertices": self.vertices,
            "bones": self.bones,
            "frames": self.frames,
            "notes": self.notes,
            "page": self.written,
            "bytes": self.bytes,
        })
    }
}
