//! What a binary glTF is written from.

use super::animation::frames;
use super::tables::expect;
use super::trs::{Trs, locals};
use crate::chain_springs::ChainSprings;
use crate::{Curve, MorphTarget, WriteError};
use dermis_rig::{Influences, Mesh, Skeleton, WorldPose};
use serde_json::Value;

/// What goes into a file. Right-handed, Y up, metres, as everywhere.
#[derive(Clone, Copy, Default)]
pub struct GlbScene<'a> {
    /// Name of the scene, and of the mesh if it has not several [objects](dermis_rig::MeshObject).
    pub name: &'a str,
    /// The rest mesh; drawn through [`Mesh::render`] if it has one.
    pub mesh: Option<&'a Mesh>,
    /// The skeleton at rest.
    pub skeleton: Option<&'a Skeleton>,
    /// The pose that the file shows without a clip: the bind pose without one, and where nodes cannot hold it (a bone stands below one
    /// without an inverse).
    pub default_pose: Option<&'a WorldPose>,
    /// Skinning weights of the mesh: any number per vertex, each row sums to one.
    pub weights: Option<&'a Influences>,
    /// Morph targets of the mesh, applied before skinning.
    pub morphs: &'a [MorphTarget],
    /// Whether morph targets say how normals change.
    pub morph_normals: MorphNormals,
    /// Weights of the morph targets where no clip says otherwise; zero if there are none.
    pub morph_weights: &'a [f64],
    /// Weights that the morph targets have together in a typical pose: normals are exact there. Those of
    /// [`GlbScene::morph_weights`] if there are none.
    pub shaded_at: &'a [f64],
    /// Animations.
    pub clips: &'a [GlbClip],
    /// Name and content of an extension of the mesh's node, which readers may ignore; of several meshes, of each that has morph targets. The
    /// node of a bone has the bone's index.
    pub extension: Option<(&'a str, &'a Value)>,
    /// Springs of bone chains, for the extension `VRMC_springBone`.
    pub springs: &'a [ChainSprings],
    /// Whether extensions stay that the mesh came with and whose texts are drafts: those of `KHR_character`.
    pub keep_drafts: bool,
}

/// Whether morph targets say how normals change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MorphNormals {
    /// Each target holds how its shape turns normals, around the weights of [`GlbScene::shaded_at`]: at weights of zero, the
    /// normals of the shape minus those at rest. A shape that moves surfaces is shaded as it looks.
    #[default]
    Written,
    /// Targets move vertices alone, at half the bytes. Every shape is shaded as the rest mesh.
    LeftOut,
}

/// An animation as sampled frames, linear between them, and as curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlbClip {
    /// Its name.
    pub name: String,
    /// Seconds, ascending, not negative.
    pub times: Vec<f64>,
    /// One pose per time; empty if no bone moves.
    pub poses: Vec<WorldPose>,
    /// One weight per morph target for each time; empty if none moves.
    pub morph_weights: Vec<Vec<f64>>,
    /// Keys that are written in place of the frames, with what happens between them.
    pub curves: Vec<Curve>,
}

impl GlbScene<'_> {
    /// Why a clip cannot be written with this scene, for its poses' sake: a bone without size above others, or numbers that are none.
    pub fn refusal(&self, clip: &GlbClip) -> Option<WriteError> {
        frames(self, clip).err()
    }

    /// Local transforms of the bones where no clip says otherwise.
    pub(super) fn shown_locals(&self, skeleton: &Skeleton) -> Result<Vec<Trs>, WriteError> {
        match self.default_locals(skeleton) {
            Some(shown) => Ok(shown),
            None => locals(skeleton, &WorldPose::new(skeleton.bind().to_vec()), || "the bind pose".into()),
        }
    }

    /// Local transforms of the default pose.
    fn default_locals(&self, skeleton: &Skeleton) -> Option<Vec<Trs>> {
        locals(skeleton, self.default_pose?, || "the default pose".into()).ok()
    }

    /// What a GLB loses of the default pose, in words; `None` if nothing.
    pub fn lost_of_default_pose(&self) -> Option<String> {
        let (skeleton, _) = (self.skeleton?, self.default_pose?);
        let is_lost = self.default_locals(skeleton).is_none();
        is_lost.then(|| "the default pose, in which a bone has no size; the bind pose stands for it".into())
    }

    /// Weights of the morph targets where no clip says otherwise.
    pub(super) fn rest_weights(&self) -> Result<Vec<f64>, WriteError> {
        self.weights(self.morph_weights)
    }

    /// Weights of the morph targets around which normals are written.
    pub(super) fn shading_weights(&self) -> Result<Vec<f64>, WriteError> {
        if self.shaded_at.is_empty() { self.rest_weights() } else { self.weights(self.shaded_at) }
    }

    fn weights(&self, weights: &[f64]) -> Result<Vec<f64>, WriteError> {
        if weights.is_empty() {
            return Ok(vec![0.0; self.morphs.len()]);
        }
        expect("the scene", "weights of morph targets", weights.len(), self.morphs.len())?;
        match weights.iter().position(|w| !w.is_finite()) {
            Some(at) => Err(WriteError::NotFinite { what: format!("the weight of morph target {at}") }),
            None => Ok(weights.to_vec()),
        }
    }
}
