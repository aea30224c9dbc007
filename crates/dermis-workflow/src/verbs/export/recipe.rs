//! `export`: a model compiled for an engine, as a GLB, an FBX or a USD file and a table of drivers.

use super::error::Error as ExportError;
use super::shape_count::{ShapeCount, driver_settings, pose_space_settings};
use super::viewer::{PAGE, ViewerExport, ViewerMade, Written};
use crate::FileError;
use crate::error::Error;
use crate::load::{PoseSet, ReadOptions, load_base_cache, load_examples, load_model, load_motion, load_pose_sets};
use crate::output::{Kind, Output, reserve_file, reserve_file_of, reserve_folder};
use crate::recipe::{Compression, Existing, Input, Watch, is_page, keep, reserve_page, seen, sources, step};
use crate::skins::{Interchange, WriteOptions, is_scene};
use crate::verbs::export::compile::{Compiled, LinearSettings, Poses, compile};
use crate::verbs::export::drivers::{
    Driven, DrivenReport, PoseSpaceReport, Refusal, export_driven, export_pose_space, is_pose_space, refusal,
};
use crate::verbs::export::{ExportSettings, Exported, corrects, export_glb};
use dermis_fit::weights::WeightBits;
use dermis_io::gltf::MorphNormals;
use dermis_io::{ModelFile, chain_springs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// An export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExportRecipe {
    /// The model.
    pub model: Input,
    /// What carries the correction.
    pub form: ExportForm,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Axes and unit of an FBX or USD file.
    #[serde(default)]
    pub write: WriteOptions,
    /// The GLB, FBX or USD file; of a viewer the folder of the page and its GLB, or the page alone (.html).
    pub out: PathBuf,
    /// A table of how an engine computes the weights of the shapes, or the motion of the helper bones, in any pose.
    #[serde(default)]
    pub table: Option<PathBuf>,
    /// A table of the springs of bone chains, for engines that have such springs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub springs: Option<PathBuf>,
    /// How the GLB is compressed, if it is; a viewer's never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compress: Option<Compression>,
    /// What happens to outputs that are there already.
    #[serde(default)]
    pub existing: Existing,
}

/// What carries the correction of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportForm {
    /// Morph targets: driven for a pose space or with a table, else baked for the motion.
    Shapes(ShapesExport),
    /// Weights and helper bones, without morph targets.
    Linear(LinearExport),
    /// A page that poses the model in a browser, alone or in a folder with the GLB that it shows.
    Viewer(ViewerExport),
}

/// An export with morph targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShapesExport {
    /// The motion that becomes the clip.
    pub motion: Option<Input>,
    /// Positions of a given base in every frame. A model over a given base is baked, never driven.
    pub base_cache: Option<Input>,
    /// Morph targets; the default depends on what carries the correction.
    pub shapes: Option<ShapeCount>,
    /// Kernels per region of a pose space at most.
    pub kernels: Option<usize>,
    /// Influences per vertex at most; all of them if `None`.
    pub influences: Option<usize>,
    /// Whether morph targets hold changes of normals, so that corrections are shaded as they look.
    pub normals: bool,
    /// Whether joints must drive the morph targets, as with a table: the GLB holds what drives them.
    pub driven: bool,
}

impl Default for ShapesExport {
    fn default() -> Self {
        Self {
            motion: None,
            base_cache: None,
            shapes: None,
            kernels: None,
            influences: None,
            normals: true,
            driven: false,
        }
    }
}

/// An export as linear blend skinning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LinearExport {
    /// Motions to compile for, each a clip.
    pub motions: Vec<Input>,
    /// Poses to compile for whose true skin is known.
    pub examples: Vec<Input>,
    /// Poses that are only measured, each file on its own.
    pub hold_out: Vec<Input>,
    /// Influences per vertex at most.
    pub influences: usize,
    /// Bones that may be added.
    pub helpers: usize,
    /// How weights are stored.
    pub weight_bits: Option<WeightBits>,
    /// Seed of the search for helpers.
    pub seed: u64,
}

impl Default for LinearExport {
    fn default() -> Self {
        let LinearSettings { influences, helpers, bits, seed } = LinearSettings::default();
        let (motions, examples, hold_out) = (vec![], vec![], vec![]);
        Self { motions, examples, hold_out, influences, helpers, weight_bits: bits, seed }
    }
}

/// What came of an export.
#[derive(Debug)]
pub struct ExportOutcome {
    /// The model.
    pub model: ModelFile,
    /// What the GLB holds, and what it costs.
    pub made: ExportMade,
    /// Where the GLB went; of a page alone, where that went.
    pub written: PathBuf,
    /// Where the table went, if there is one.
    pub table: Option<PathBuf>,
    /// Where the table of springs went, if there is one.
    pub springs: Option<PathBuf>,
    /// Where the page of a viewer went, and its bytes.
    pub page: Option<(PathBuf, usize)>,
}

/// What a GLB holds, and what it costs.
#[derive(Debug)]
pub enum ExportMade {
    /// A correction that was baked for a motion.
    Baked {
        /// What each step cost.
        exported: Exported,
        /// Whether the model is more than its skin weights.
        corrects: bool,
        /// Why the pose space of the model is not driven.
        refusal: Option<Refusal>,
    },
    /// Shapes that joints drive.
    Driven(Driven<DrivenReport>),
    /// Shapes that a pose space drives.
    PoseSpace(Driven<PoseSpaceReport>),
    /// Weights and helper bones.
    Linear(Compiled),
}

impl ExportRecipe {
    /// Compiles the model and writes it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<ExportOutcome, Error> {
        if let ExportForm::Viewer(viewer) = &self.form {
            return self.viewer(viewer, watch);
        }
        if !is_scene(&self.out) {
            let (path, what) = (self.out.clone(), "a model is exported as GLB, FBX or USD");
            return Err(FileError::Ending { path, what, endings: "name it .glb, .fbx, .usda or .usdz" }.into());
        }
        if self.write.interchange(&self.out)?.is_some() {
            self.form.must_suit_interchange(self.table.is_some())?;
        }
        let out = reserve_file(&self.out, self.existing)?.compressed(self.compress)?;
        let table = self.table.as_deref();
        if table == Some(&self.out) {
            return Err(FileError::SameOutput { path: self.out.clone(), what: "the table" }.into());
        }
        let table = table.map(|path| reserve_file_of(Kind::Table, path, self.existing)).transpose()?;
        if let Some(path) =
            self.springs.as_ref().filter(|path| **path == self.out || Some(*path) == self.table.as_ref())
        {
            return Err(FileError::SameOutput { path: path.clone(), what: "the table of springs" }.into());
        }
        let springs =
            self.springs.as_deref().map(|path| reserve_file_of(Kind::Table, path, self.existing)).transpose()?;
        let beside = match &self.form {
            ExportForm::Shapes(shapes) => shapes.motion.iter().chain(&shapes.base_cache).collect::<Vec<_>>(),
            ExportForm::Linear(linear) => {
                linear.motions.iter().chain(&linear.examples).chain(&linear.hold_out).collect()
            }
            ExportForm::Viewer(viewer) => viewer.motion.iter().collect(),
        };
        let inputs: Vec<&Input> = [&self.model].into_iter().chain(beside).collect();
        keep(&inputs, [&out].into_iter().chain(&table).chain(&springs))?;
        let (model, note) = step(watch, "read model", |_| load_model(&self.model.file.path))?;
        seen(watch, [&self.model], &[note])?;
        if springs.is_some() && model.header.chains.is_empty() {
            return Err(ExportError::NoChains.into());
        }
        let made = match &self.form {
            ExportForm::Shapes(shapes) => {
                shapes.export(&model, &self.read, (&out, table.as_ref(), &self.write), watch)?
            }
            ExportForm::Linear(linear) => {
                linear.export(&model, &self.read, (&out, table.as_ref(), &self.write), watch)?
            }
            ExportForm::Viewer(viewer) => return self.viewer(viewer, watch),
        };
        let has_table = !matches!(&made, ExportMade::Linear(compiled) if compiled.helpers.is_empty());
        let table = table.filter(|_| has_table).map(|table| table.path().to_path_buf());
        if let Some(springs) = &springs {
            let (chains, skeleton) = (&model.header.chains, model.rig().skeleton());
            springs.write_with(|out| chain_springs::write(chains, skeleton, crate::PROGRAM, out))?;
        }
        let springs = springs.map(|springs| springs.path().to_path_buf());
        Ok(ExportOutcome { model, made, written: out.path().to_path_buf(), table, springs, page: None })
    }

    fn viewer(&self, viewer: &ViewerExport, watch: &dyn Watch) -> Result<ExportOutcome, Error> {
        if self.table.is_some() || self.springs.is_some() {
            return Err(ExportError::ViewerTable.into());
        }
        self.write.interchange(&self.out)?;
        if is_scene(&self.out) {
            return Err(ExportError::ViewerFolder { path: self.out.clone() }.into());
        }
        let out = match is_page(&self.out) {
            true => reserve_page(&self.out, self.existing)?,
            false => reserve_folder(&self.out, self.existing)?,
        };
        let out = out.compressed(self.compress)?;
        let inputs: Vec<&Input> = [&self.model].into_iter().chain(&viewer.motion).collect();
        keep(&inputs, [&out])?;
        let path = &self.model.file.path;
        let (model, note) = step(watch, "read model", |_| load_model(path))?;
        seen(watch, [&self.model], &[note])?;
        let Written { made, glb, page } = viewer.export((&model, path), &self.read, &out, watch)?;
        let made = match made {
            ViewerMade::Joints(driven) => ExportMade::Driven(driven),
            ViewerMade::PoseSpace(driven) => ExportMade::PoseSpace(driven),
        };
        let (written, page) = match glb {
            Some(glb) => (out.path().join(glb), Some((out.path().join(PAGE), page))),
            None => (out.path().to_path_buf(), Some((out.path().to_path_buf(), page))),
        };
        Ok(ExportOutcome { model, made, written, table: None, springs: None, page })
    }
}

impl ExportForm {
    /// Refuses what an FBX or USD file cannot hold.
    fn must_suit_interchange(&self, has_table: bool) -> Result<(), ExportError> {
        match self {
            Self::Shapes(shapes) if !shapes.normals => Err(ExportError::InterchangeNormals),
            Self::Shapes(shapes) if shapes.driven && !has_table => Err(ExportError::InterchangeDrivers),
            _ => Ok(()),
        }
    }
}

impl ShapesExport {
    fn export(
        &self,
        model: &ModelFile,
        read: &ReadOptions,
        (out, table, write): (&Output, Option<&Output>, &WriteOptions),
        watch: &dyn Watch,
    ) -> Result<ExportMade, Error> {
        let driven = self.driven || table.is_some();
        if driven && self.base_cache.is_some() {
            return Err(ExportError::GivenDriven.into());
        }
        let mut files = Vec::new();
        let motion = match &self.motion {
            None => None,
            Some(input) => {
                let (motion, note) =
                    step(watch, "read motion", |_| load_motion(model.rig(), &model.space, &input.file, read))?;
                seen(watch, [input], std::slice::from_ref(&note))?;
                files.push(note);
                Some(motion)
            }
        };
        let given = match &self.base_cache {
            None => None,
            Some(input) => {
                let frames = motion.as_ref().map_or(0, |m| m.frames.len());
                let (given, note) = load_base_cache(model.rig(), &model.space, &input.file.path, frames, read)?;
                seen(watch, [input], std::slice::from_ref(&note))?;
                files.push(note);
                Some(given)
            }
        };
        read.must_act_on(&files)?;
        let (motion, influences) = (motion.as_ref(), self.influences);
        let normals = if self.normals { MorphNormals::Written } else { MorphNormals::LeftOut };
        let bare = self.shapes == Some(ShapeCount::Most(0)) && !driven && self.kernels.is_none();
        let mut refused = None;
        if is_pose_space(model) && !bare {
            refused = refusal(model);
            match refused {
                None => {
                    if Interchange::of(out.path()).is_some() && table.is_none() && motion.is_none() {
                        return Err(ExportError::InterchangeDrivers.into());
                    }
                    let settings = pose_space_settings(self.shapes, self.kernels, influences);
                    let export = |p: dermis_rig::Progress<'_>| {
                        export_pose_space(model, motion, settings, normals, (out, table, write), p)
                    };
                    return Ok(ExportMade::PoseSpace(step(watch, "export", export)?));
                }
                Some(reason) if self.kernels.is_some() => {
                    return Err(ExportError::Refused(reason).into());
                }
                Some(_) => {}
            }
        } else if self.kernels.is_some() {
            return Err(ExportError::Kernels { method: model.header.method.clone() }.into());
        }
        if driven {
            let settings = driver_settings(self.shapes, influences);
            let driven =
                step(watch, "export", |p| export_driven(model, motion, settings, normals, (out, table, write), p))?;
            return Ok(ExportMade::Driven(driven));
        }
        let shapes = match self.shapes {
            None => ExportSettings::default().shapes,
            Some(ShapeCount::Most(most)) => most,
            Some(ShapeCount::All) => return Err(ExportError::AllBaked.into()),
        };
        if motion.is_none() && self.shapes.is_some_and(|shapes| shapes != ShapeCount::Most(0)) {
            return Err(ExportError::NothingToBake.into());
        }
        if !self.normals && (shapes == 0 || motion.is_none()) {
            return Err(ExportError::NoTargets.into());
        }
        let settings = ExportSettings { shapes, influences, normals };
        let exported =
            step(watch, "export", |p| export_glb(model, motion, given.as_deref(), settings, (out, write), p))?;
        Ok(ExportMade::Baked { exported, corrects: corrects(model), refusal: refused })
    }
}

impl LinearExport {
    fn export(
        &self,
        model: &ModelFile,
        read: &ReadOptions,
        outputs: (&Output, Option<&Output>, &WriteOptions),
        watch: &dyn Watch,
    ) -> Result<ExportMade, Error> {
        let (rig, space) = (model.rig(), &model.space);
        let (mut sets, mut files) = (Vec::new(), Vec::new());
        for input in &self.motions {
            let (motion, note) = step(watch, "read motion", |_| load_motion(rig, space, &input.file, read))?;
            seen(watch, [input], std::slice::from_ref(&note))?;
            files.push(note);
            sets.push(Poses::of_motion(motion));
        }
        if !self.examples.is_empty() {
            let load = || load_examples(rig, space, &sources(&self.examples), read, "examples");
            let (examples, notes) = step(watch, "read examples", |_| load())?;
            seen(watch, &self.examples, &notes)?;
            files.extend(notes);
            sets.push(Poses::of_examples(&examples, rig.skeleton()));
        }
        let mut held_out = Vec::new();
        if !self.hold_out.is_empty() {
            let load = || load_pose_sets(rig, space, &sources(&self.hold_out), read, "hold-out");
            let (loaded, notes) = step(watch, "read hold-out", |_| load())?;
            seen(watch, &self.hold_out, &notes)?;
            files.extend(notes);
            held_out.extend(loaded.into_iter().map(|(name, set)| {
                let mut poses = match set {
                    PoseSet::Examples(examples) => Poses::of_examples(&examples, rig.skeleton()),
                    PoseSet::Motion(motion) => Poses::of_motion(motion),
                };
                poses.name = name;
                poses
            }));
        }
        read.must_act_on(&files)?;
        let (influences, helpers, seed) = (self.influences, self.helpers, self.seed);
        let settings = LinearSettings { influences, helpers, bits: self.weight_bits, seed };
        let compiled = step(watch, "compile", |p| compile(model, &sets, &held_out, settings, outputs, p))?;
        Ok(ExportMade::Linear(compiled))
    }
}

impl ExportOutcome {
    /// What the format changed or left out, in words.
    pub fn changes(&self) -> Vec<String> {
        let of_format = match &self.made {
            ExportMade::Baked { exported, .. } => &exported.changes,
            ExportMade::Driven(driven) => &driven.changes,
            ExportMade::PoseSpace(made) => &made.changes,
            ExportMade::Linear(compiled) => &compiled.changes,
        };
        let swings = self.model.springs().is_some() && self.page.is_none();
        let left = swings.then(|| "secondary motion, which shapes of poses do not have: dermis pose bakes it".into());
        of_format.iter().cloned().chain(left).collect()
    }

    /// `export --json`.
    pub fn json(&self) -> Value {
        let mut value = match &self.made {
            ExportMade::Baked { exported, .. } => exported.json(),
            ExportMade::Driven(driven) => driven.json(),
            ExportMade::PoseSpace(made) => made.json(),
            ExportMade::Linear(compiled) => compiled.json(self.model.rig().skeleton()),
        };
        if !self.changes().is_empty() {
            value["left_out"] = json!(self.changes());
        }
        if let Some((path, bytes)) = &self.page {
            value["page"] = json!({ "path": path, "bytes": bytes });
        }
        value
    }
}
