//! The model, as a caller has it.

use crate::{Error, Examples, Rig};
use dermis_deform::secondary::Secondary;
use dermis_deform::{PoseError, RiggedDeformer, Runner, Scratch};
use dermis_fit::method::FitReport;
use dermis_fit::psd::pull_back;
use dermis_measure::{ErrorStats, Scores};
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{BoneTransforms, Skeleton};
#[cfg(feature = "formats")]
use {
    dermis_files::load::{LoadedRig, load_model},
    dermis_files::output::{Existing, reserve_file},
    dermis_io::{ModelFile, ModelHeader, ReadError, WriteError, model_file},
    std::path::Path,
};

/// A fitted deformer with its rig, ready to run.
#[derive(Clone, Debug)]
pub struct Model {
    #[cfg(feature = "formats")]
    file: ModelFile,
    #[cfg(not(feature = "formats"))]
    model: RiggedDeformer,
}

/// A model's error on examples.
#[derive(Clone, Debug)]
pub struct Score {
    /// Over all vertices and poses, metres.
    pub error: ErrorStats,
    /// The same of the rig's own weights, if it has any.
    pub baseline: Option<ErrorStats>,
    /// Per pose and per vertex.
    pub details: Scores,
}

impl Model {
    /// What a fit learnt, in the axes and the unit of its rig.
    pub(crate) fn of_fit(model: RiggedDeformer, rig: &Rig, report: &FitReport) -> Result<Self, Error> {
        #[cfg(not(feature = "formats"))]
        let _ = (rig, report);
        #[cfg(not(feature = "formats"))]
        return Ok(Self { model });
        #[cfg(feature = "formats")]
        {
            let program = concat!("dermis ", env!("CARGO_PKG_VERSION"));
            let header = ModelHeader::of_fit(program, report.method, &report.settings, &report.details)?;
            Ok(ModelFile { model, space: rig.loaded.space.clone(), header }.into())
        }
    }

    /// The model that another mesh got from this one.
    pub(crate) fn carried(&self, model: RiggedDeformer) -> Self {
        #[cfg(not(feature = "formats"))]
        return Self { model };
        #[cfg(feature = "formats")]
        {
            let report = serde_json::json!({"transferred": {}});
            let program = concat!("dermis ", env!("CARGO_PKG_VERSION")).into();
            let header = ModelHeader {
                report,
                program,
                recipe: None,
                evidence: None,
                chains: vec![],
                ..self.file.header.clone()
            };
            ModelFile { model, space: self.file.space.clone(), header }.into()
        }
    }

    /// The deformer with its rig.
    pub fn rigged(&self) -> &RiggedDeformer {
        #[cfg(feature = "formats")]
        return &self.file;
        #[cfg(not(feature = "formats"))]
        return &self.model;
    }

    /// The rig it was fitted on.
    pub fn rig(&self) -> Rig {
        let rig = self.rigged().rig().clone();
        #[cfg(feature = "formats")]
        return LoadedRig { rig, space: self.file.space.clone(), notes: Vec::new() }.into();
        #[cfg(not(feature = "formats"))]
        return rig.into();
    }

    /// The skeleton it is driven by.
    pub fn skeleton(&self) -> &Skeleton {
        self.rigged().rig().skeleton()
    }

    /// A runner: it owns its scratch memory and its output, and allocates nothing after the first pose. Normals are there
    /// when they are asked for.
    pub fn runner(&self) -> Runner<'_> {
        let runner = self.rigged().baked().runner();
        let with = runner.clone().with_normals(&self.rigged().rig().mesh().triangles);
        // A rig's triangles name vertices that exist.
        with.unwrap_or(runner)
    }

    /// The springs that the model has learnt, before their first frame; `None` if it has learnt none.
    pub fn springs(&self) -> Option<Secondary> {
        let springs = self.rigged().springs()?;
        // Springs and mesh of a model agree in vertices.
        Secondary::learnt([springs], self.rigged().rig().mesh()).ok()
    }

    /// Displacements d of the rest mesh with Σ_k w_vk M_k (p_v + d_v) = the model's skin, for hosts that blend linearly
    /// themselves, and how many vertices no displacement brings there: their blended matrix is nearly singular, and the
    /// nearest bounded d is returned. w are the rig's own weights; metres, rest space.
    ///
    /// # Errors
    /// [`UnskinnedError`]: a rig without weights, a pose of another skeleton, a model over given positions.
    pub fn displacements(&self, pose: &BoneTransforms) -> Result<(Vec<Vec3>, usize), UnskinnedError> {
        self.displacements_of(pose, &[])
    }

    /// The same of the model's skin with every vertex moved by an offset, such as those of [`Self::springs`]; metres, posed world. No
    /// offsets are none.
    ///
    /// # Errors
    /// As [`Self::displacements`].
    ///
    /// # Panics
    /// If there are offsets, but not one per vertex.
    pub fn displacements_of(
        &self,
        pose: &BoneTransforms,
        offsets: &[DVec3],
    ) -> Result<(Vec<Vec3>, usize), UnskinnedError> {
        let rig = self.rigged().rig();
        let weights = rig.weights().ok_or(UnskinnedError::NoWeights)?;
        let rest = &rig.mesh().positions;
        let mut skin = vec![Vec3::ZERO; rest.len()];
        self.rigged().baked().evaluate(pose, None, &mut Scratch::default(), &mut skin)?;
        // Positions of single precision are as near as this to any answer.
        let near = f64::from(f32::EPSILON) * rig.mesh().extent() * 4.0;
        let mut unreached = 0;
        assert!(offsets.is_empty() || offsets.len() == skin.len(), "offsets of another mesh");
        for (v, x) in skin.iter_mut().enumerate() {
            let blended = dermis_deform::blend(weights.of(v), pose);
            let asked = x.as_dvec3() + offsets.get(v).copied().unwrap_or_default() - blended.transform_point3(rest[v]);
            let (d, regular) = pull_back(blended.matrix3, asked);
            unreached += usize::from(!regular && (asked - blended.matrix3 * d).length() > near);
            *x = d.as_vec3();
        }
        Ok((skin, unreached))
    }

    /// Scores the model on examples.
    ///
    /// # Errors
    /// [`Error`]: no examples, or examples of another rig.
    pub fn score(&self, examples: &Examples) -> Result<Score, Error> {
        let details = dermis_measure::measure(self.rigged(), examples, None)?;
        let baseline = details.baseline.as_ref().map(|report| report.error);
        Ok(Score { error: details.model.error, baseline, details })
    }
}

/// Files.
#[cfg(feature = "formats")]
impl Model {
    /// A model from a file (.dermis).
    ///
    /// # Errors
    /// [`Error`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self { file: load_model(path.as_ref())?.0 })
    }

    /// A model from the bytes of a file.
    ///
    /// # Errors
    /// [`ReadError`]: wrong kind, damaged, or written by a newer program.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        Ok(Self { file: model_file::read(bytes)? })
    }

    /// Writes the bytes of a file.
    ///
    /// # Errors
    /// [`WriteError`] if `out` takes no more.
    pub fn write(&self, out: &mut dyn std::io::Write) -> Result<(), WriteError> {
        model_file::write(&self.file, out)
    }

    /// Saves the model. A file of that name is replaced, whole or not at all.
    ///
    /// # Errors
    /// [`Error`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(reserve_file(path.as_ref(), Existing::Replace)?.write_with(|to| self.write(to))?)
    }

    /// The same as a file holds it, with settings and report.
    pub fn as_file(&self) -> &ModelFile {
        &self.file
    }

    /// The recipe that made it, if it was fitted from files.
    #[cfg(feature = "workflow")]
    pub fn recipe(&self) -> Option<dermis_workflow::recipe::FitRecipe> {
        dermis_workflow::recipe::FitRecipe::of_model(&self.file, Path::new("")).ok()
    }
}

/// Why a model has no displacements before linear blending.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UnskinnedError {
    /// A rig without skinning weights.
    #[error("the rig has no skinning weights, so nothing can be displaced before they blend")]
    NoWeights,
    /// As for any evaluation.
    #[error(transparent)]
    Pose(#[from] PoseError),
}

#[cfg(feature = "formats")]
impl From<ModelFile> for Model {
    fn from(file: ModelFile) -> Self {
        Self { file }
    }
}
