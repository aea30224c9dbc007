//! `convert`: what files hold, in another format.

pub mod error;

use crate::convert::{Converted, gather, is_folder, makes_targets, write_converted_in};
use crate::error::Error;
use crate::load::ReadOptions;
use crate::recipe::{Compression, Existing, Input, Watch, keep, reserve, seen, sources, step};
use crate::skins::WriteOptions;
use crate::skins::is_glb;
use dermis_io::gltf::MorphNormals;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// A conversion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConvertRecipe {
    /// A file; or a rig, then a motion or examples; or a mesh, then its shapes.
    pub inputs: Vec<Input>,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Whether morph targets of a GLB hold changes of normals.
    #[serde(default = "written")]
    pub normals: bool,
    /// How a GLB is compressed, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compress: Option<Compression>,
    /// Axes and unit of an FBX or USD file.
    #[serde(default)]
    pub write: WriteOptions,
    /// Where it goes; the ending of the name is the format.
    pub out: PathBuf,
    /// What happens to an output that is there already.
    #[serde(default)]
    pub existing: Existing,
}

fn written() -> bool {
    true
}

/// What came of a conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertOutcome {
    /// What was written, and what was not.
    pub converted: Converted,
    /// The files read.
    pub inputs: Vec<String>,
    /// Where it went.
    pub written: PathBuf,
}

impl ConvertRecipe {
    /// Reads the inputs and writes the output.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<ConvertOutcome, Error> {
        self.write.interchange(&self.out)?;
        let out = reserve(&self.out, self.existing, is_folder(&self.out)?)?.compressed(self.compress)?;
        keep(&self.inputs.iter().collect::<Vec<_>>(), [&out])?;
        let inputs = sources(&self.inputs);
        let (contents, notes) = step(watch, "read", |_| gather(&inputs, &self.read))?;
        self.read.must_act_on(&notes)?;
        seen(watch, &self.inputs, &notes)?;
        let targets = is_glb(&self.out) && makes_targets(&contents);
        if !self.normals && !targets {
            return Err(error::Error { path: self.out.clone() }.into());
        }
        let normals = if self.normals { MorphNormals::Written } else { MorphNormals::LeftOut };
        let write = || write_converted_in(&contents, &inputs[0], &self.read, normals, &self.write, &out);
        let converted = step(watch, "write", |_| write())?;
        let inputs = notes.into_iter().map(|note| note.path).collect();
        Ok(ConvertOutcome { converted, inputs, written: out.path().to_path_buf() })
    }
}

impl ConvertOutcome {
    /// `convert --json`.
    pub fn json(&self) -> Value {
        let mut value = self.converted.json();
        value["out"] = self.written.display().to_string().into();
        value["inputs"] = self.inputs.clone().into();
        value
    }
}
