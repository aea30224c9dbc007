//! A model compiled for an engine: a GLB, an FBX or a USD file whose morph targets are baked for one motion.

pub mod compile;
pub mod drivers;
pub mod error;
pub(crate) mod recipe;
pub(crate) mod shape_count;
pub(crate) mod viewer;

pub use dermis_compile::PruneCost;
pub use dermis_io::gltf::MorphNormals;

use crate::error::Error;
use crate::output::Output;
use crate::skins::{WriteOptions, clip, write_scene_as};
use dermis_compile::principal::principal_shapes;
use dermis_compile::skin_weights;
use dermis_fit::Progress;
use dermis_io::ModelFile;
use dermis_io::gltf::GlbScene;
use dermis_rig::Motion;
use dermis_rig::glam::DVec3;
use serde_json::{Value, json};

/// What an exported file holds, and what each step cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// Bytes of the file.
    pub bytes: usize,
    /// Frames of the clip.
    pub frames: usize,
    /// Morph targets that carry the correction.
    pub shapes: usize,
    /// What pruning the influences dropped, and the largest change of a position over the clip, metres.
    pub pruned: Option<PruneCost>,
    /// rms and largest distance over the clip between the model and what the file shows, metres.
    pub against_model: Option<(f64, f64)>,
    /// The same for the skin weights alone, without morph targets.
    pub weights_alone: Option<(f64, f64)>,
    /// What the format changed or left out, in words.
    pub changes: Vec<String>,
}

impl Exported {
    /// The same as JSON; distances in metres.
    pub fn json(&self) -> Value {
        let pair = |(rms, max): (f64, f64)| json!({ "rms": rms, "max": max });
        json!({
            "bytes": self.bytes,
            "frames": self.frames,
            "shapes": self.shapes,
            "plain_rig": self.against_model.is_none(),
            "pruned": self.pruned.as_ref().map(prune_json),
            "weights_alone": self.weights_alone.map(pair),
            "against_model": self.against_model.map(pair),
        })
    }
}

/// What pruning cost, as JSON.
pub(crate) fn prune_json((pruned, largest): &PruneCost) -> Value {
    json!({ "influences": pruned.dropped, "vertices": pruned.vertices, "largest": largest })
}

/// What an engine can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportSettings {
    /// Morph targets at most.
    pub shapes: usize,
    /// Influences per vertex at most; all of them if `None`.
    pub influences: Option<usize>,
    /// Whether morph targets say how normals change.
    pub normals: MorphNormals,
}

impl Default for ExportSettings {
    fn default() -> Self {
        Self { shapes: 8, influences: None, normals: MorphNormals::Written }
    }
}

/// The model as a skinned GLB, FBX or USD file that any viewer plays: skin weights, the motion as a clip, and the correction as at most
/// `shapes` morph targets with animated weights.
///
/// The morph targets are the [principal shapes](dermis_compile::principal) of the correction over this motion.
///
/// # Errors
/// [`Error`].
pub fn export_glb(
    model: &ModelFile,
    motion: Option<&Motion>,
    given: Option<&[Vec<DVec3>]>,
    settings: ExportSettings,
    (output, write): (&Output, &WriteOptions),
    progress: Progress<'_>,
) -> Result<Exported, Error> {
    let rig = model.rig();
    let (weights, pruned) = skin_weights(model, motion, settings.influences)?;
    let mut exported = Exported {
        bytes: 0,
        frames: 0,
        shapes: 0,
        pruned,
        against_model: None,
        weights_alone: None,
        changes: Vec::new(),
    };
    let (mut morphs, mut clips, mut mean) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(motion) = motion {
        let made = principal_shapes(model, &weights, motion, given, settings.shapes, progress)?;
        exported.frames = motion.frames.len();
        exported.shapes = made.morphs.len();
        exported.against_model = Some(made.against_model);
        exported.weights_alone = Some(made.weights_alone);
        let frames = made.weights.len().max(1) as f64;
        mean = (0..made.morphs.len()).map(|at| made.weights.iter().map(|row| row[at]).sum::<f64>() / frames).collect();
        clips.push(clip(motion, if made.morphs.is_empty() { vec![] } else { made.weights }));
        morphs = made.morphs;
    }
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: Some(&weights),
        morphs: &morphs,
        morph_normals: settings.normals,
        // What all frames share cancels against the shapes: their normals only make sense together.
        shaded_at: &mean,
        clips: &clips,
        springs: &model.header.chains,
        ..GlbScene::default()
    };
    (exported.bytes, exported.changes) = write_scene_as(&scene, write, output)?;
    Ok(exported)
}

/// Whether a model is more than skinning weights, so that a plain skin loses something.
pub fn corrects(model: &ModelFile) -> bool {
    let plain = model.weights().is_some();
    let is_lbs = matches!(model.baked().base(), dermis_deform::baked::BakedBase::Lbs(_));
    !model.baked().corrections().is_empty() || !is_lbs || !plain
}
