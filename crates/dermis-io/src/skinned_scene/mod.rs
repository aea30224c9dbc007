//! A skinned character as it goes into a file of another program: what the writers of FBX and USD share.
//!
//! A writer takes a [`SkinnedScene`], says what became of it ([`SceneWritten`]), and keys its clips closely enough for the way in which
//! programs join the keys of the format.

mod materials;
pub(crate) mod motion;
pub(crate) mod names;
pub(crate) mod rate;
mod surface;

pub(crate) use materials::{Materials, Numbers, Texture, image_ending};
pub use motion::clip_of_frames;
pub use names::Renamed;
pub(crate) use surface::{Surface, numbered};

use crate::contents::Clip;
use crate::gltf::expect;
use crate::{MorphTarget, WriteError};
use dermis_rig::glam::{DAffine3, DMat3};
use dermis_rig::{BoneIndex, Influences, Mesh, MeshObject, Skeleton, WorldPose};
use motion::Stage;
use std::ops::Range;

/// What goes into a file. Right-handed, Y up, metres, as everywhere.
#[derive(Clone, Copy, Default)]
pub struct SkinnedScene<'a> {
    /// Name of the scene, and of a mesh without a name of its own.
    pub name: &'a str,
    /// The rest mesh; each of its [objects](dermis_rig::MeshObject) is a mesh of the file. Drawn through [`Mesh::render`] if it has one.
    pub mesh: Option<&'a Mesh>,
    /// The skeleton at rest.
    pub skeleton: Option<&'a Skeleton>,
    /// The pose that the file shows without a clip: the bind pose without one, and where nodes cannot hold it.
    pub default_pose: Option<&'a WorldPose>,
    /// Skinning weights of the mesh: any number per vertex, each row sums to one.
    pub weights: Option<&'a Influences>,
    /// Morph targets of the mesh, applied before skinning.
    pub morphs: &'a [MorphTarget],
    /// Weights of the morph targets where no clip says otherwise; zero if there are none.
    pub morph_weights: &'a [f64],
    /// Animations.
    pub clips: &'a [&'a Clip],
    /// Frames per second, which programs show time in; without one, a rate at which the clips have their keys.
    pub frames_per_second: Option<f64>,
}

/// What became of a scene in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SceneWritten {
    /// Names that the file has in another form.
    pub renamed: Vec<Renamed>,
    /// What the scene holds and the file does not: a count and what it is.
    pub left_out: Vec<String>,
    /// Of every clip: its name in the file, its keys, and how far the skin is off at them or between them at most, in metres, jumps apart.
    pub takes: Vec<(String, usize, f64)>,
}

impl<'a> SkinnedScene<'a> {
    /// Why a clip cannot be written with this scene, for its poses' sake: a bone without size above others, or numbers that are none.
    pub fn refusal(&self, clip: &Clip) -> Option<WriteError> {
        let turn = (DMat3::IDENTITY, 1.0);
        let stage = Stage::new((None, None), self.skeleton, self.default_pose, (&[], self.rest_weights()), turn, 30.0);
        stage.and_then(|mut stage| stage.look_at(clip)).err()
    }

    /// The frames per second of the file.
    pub(crate) fn rate(&self) -> f64 {
        let stated = self.frames_per_second.filter(|rate| rate.is_finite() && *rate > 0.0);
        stated.unwrap_or_else(|| rate::of(self.clips))
    }

    /// What moves, with all that its clips do looked at.
    ///
    /// - `turn`: from our axes to the file's
    ///
    /// # Errors
    /// [`WriteError`]: shapes or weights that do not fit, a clip that nodes cannot hold.
    pub(crate) fn stage(&self, turn: DMat3, metres_per_unit: f64) -> Result<Stage<'a>, WriteError> {
        let weights = self.rest_weights();
        expect("the scene", "weights of morph targets", weights.len(), self.morphs.len())?;
        if let Some(at) = weights.iter().position(|w| !w.is_finite()) {
            return Err(WriteError::NotFinite { what: format!("the weight of morph target {at}") });
        }
        let (turned, given) = ((turn, metres_per_unit), (self.morphs, weights));
        let pose = self.default_pose;
        let mut stage = Stage::new((self.mesh, self.weights), self.skeleton, pose, given, turned, self.rate())?;
        for clip in self.clips {
            stage.look_at(clip)?;
        }
        Ok(stage)
    }

    /// Refuses morph targets and weights without a mesh, or that do not fit it.
    pub(crate) fn check(&self, from_ours: &DAffine3) -> Result<(), WriteError> {
        let Some(mesh) = self.mesh else {
            return match self.morphs.is_empty() && self.weights.is_none() {
                true => Ok(()),
                false => {
                    let (what, things) = ("the scene".into(), "meshes for morph targets or weights");
                    Err(WriteError::Count { what, things, found: 0, expected: 1 })
                }
            };
        };
        for morph in self.morphs {
            let what = format!("the morph target \"{}\"", morph.name);
            expect(&what, "vertices", morph.deltas.len(), mesh.positions.len())?;
            if morph.deltas.iter().any(|delta| !from_ours.transform_vector3(*delta).is_finite()) {
                return Err(WriteError::NotFinite { what });
            }
        }
        match self.weights.zip(self.skeleton) {
            Some((weights, skeleton)) => check_weights(weights, skeleton, mesh),
            None => Ok(()),
        }
    }

    fn rest_weights(&self) -> Vec<f64> {
        if self.morph_weights.is_empty() { vec![0.0; self.morphs.len()] } else { self.morph_weights.to_vec() }
    }

    /// Name, visibility and vertices of every object.
    pub(crate) fn objects(&self) -> Vec<(&'a str, bool, Range<usize>)> {
        let Some(mesh) = self.mesh else { return Vec::new() };
        if mesh.objects.is_empty() {
            return vec![(self.name, true, 0..mesh.positions.len())];
        }
        let name = |object: &'a MeshObject| if object.name.is_empty() { self.name } else { object.name.as_str() };
        mesh.object_ranges().map(|(object, range)| (name(object), object.visible, range)).collect()
    }
}

/// Refuses weights that are none.
///
/// # Errors
/// [`WriteError`]: weights of another mesh or of bones that are not there, a row that does not sum to one or has a negative weight.
fn check_weights(weights: &Influences, skeleton: &Skeleton, mesh: &Mesh) -> Result<(), WriteError> {
    expect("the table of weights", "vertices", weights.vertices(), mesh.positions.len())?;
    if weights.bones_named() > skeleton.len() {
        let (found, expected) = (weights.bones_named(), skeleton.len());
        return Err(WriteError::Count { what: "the table of weights".into(), things: "bones", found, expected });
    }
    for (vertex, row) in weights.rows().enumerate() {
        let sum: f64 = row.iter().map(|(_, w)| w).sum();
        let bad = |(_, weight): &(BoneIndex, f64)| *weight < 0.0;
        let is_one = (sum - 1.0).abs() <= 1e-4;
        if !is_one || row.iter().any(bad) {
            return Err(WriteError::WeightSum { vertex, sum });
        }
    }
    Ok(())
}
