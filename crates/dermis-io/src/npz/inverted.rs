//! Bundles of corrections: sculpts that were brought back to rest through a deformer.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `vertices_space` | one text | what `vertices` are: `posed`, the sculpts; `rest`, the corrected rest shapes p + d |
//! | `deformer` | one text | S: `lbs`, `dqs`, `rigid`, `program`, or the JSON text of a [stack](crate::stack_file) in the bundle's space |
//! | `rest_corrections` | (P, V, 3) | d, in the rest pose |
//! | `remainders` | (P, V, 3) | w = sculpt − S(p + d), in the pose |
//!
//! A reader wants skins. Where `vertices` are rest shapes it computes them, S(p + d) + w. It cannot run a program: the shapes then
//! stay at rest, and [`Inverted::skins`] says so.

pub use crate::inverted::{CorrectedDeformer, Inverted, VerticesSpace};

use super::archive::{Bundle, extents};
use super::damaged;
use super::write::{StoredFloat, Writer};
use crate::npy::Array;
use crate::stack_file::StackFile;
use crate::{Contents, ReadError, Space, WriteError};
use dermis_deform::{Stack, StackPose};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneTransforms, Rig, Skeleton, WorldPose};
use std::io::{Cursor, Read, Seek};

/// The shapes that a reader of a bundle of corrections wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BundleShapes {
    /// Skins in their poses, computed where the bundle holds rest shapes.
    #[default]
    Skins,
    /// `vertices` as they are stored.
    Stored,
}

/// What [`write_inverted`] writes beside a bundle, a list per record.
#[derive(Clone, Copy, Debug)]
pub struct Corrections<'a> {
    /// What the positions of the records are.
    pub vertices: VerticesSpace,
    /// S. A stack is described in metres, Y up, and written in the bundle's own space.
    pub deformer: DeformerWritten<'a>,
    /// d, rest world, metres.
    pub rest_corrections: &'a [Vec<DVec3>],
    /// w, posed world, metres.
    pub remainders: &'a [Vec<DVec3>],
}

/// The deformer of [`Corrections`].
#[derive(Clone, Copy, Debug)]
pub enum DeformerWritten<'a> {
    /// Linear blend skinning with the rig's weights.
    Lbs,
    /// Dual quaternion skinning with the rig's weights.
    Dqs,
    /// Every vertex follows its dominant bone.
    Rigid,
    /// Deformers one after another over a rig.
    Stack(&'a Stack, &'a Rig),
    /// A program of its own.
    Program,
}

const SPACE: &str = "vertices_space";
const DEFORMER: &str = "deformer";

/// The stack of a deformer; `None` for a program.
fn stack_of(deformer: &CorrectedDeformer, rig: &Rig, space: &Space) -> Result<Option<Stack>, ReadError> {
    let of =
        |file: &StackFile| file.stack(rig, space).map(Some).map_err(|e| damaged(format!("array \"{DEFORMER}\": {e}")));
    match deformer {
        CorrectedDeformer::Lbs => of(&StackFile::lbs()),
        CorrectedDeformer::Dqs => of(&StackFile::dqs()),
        CorrectedDeformer::Rigid => of(&StackFile::rigid()),
        CorrectedDeformer::Stack(file) => of(file),
        CorrectedDeformer::Program => Ok(None),
    }
}

/// How skins are computed from the rest shapes of a bundle.
pub(super) struct Posing {
    stack: Stack,
    skeleton: Skeleton,
    to_ours: DAffine3,
    remainders: Array,
    pose: StackPose,
}

impl Posing {
    /// S(p + d) + w of record `at`, from its pose and p + d; posed world, metres. `None` where a remainder is not finite.
    pub(super) fn skin(&mut self, at: usize, pose: &WorldPose, shape: &[DVec3]) -> Option<Vec<DVec3>> {
        let transforms: BoneTransforms = self.skeleton.bone_transforms(pose);
        self.pose.prepare(&self.stack, &transforms);
        let vertex = |(v, p): (usize, &DVec3)| {
            let w = DVec3::from([0, 1, 2].map(|c| self.remainders.number([at, v, c])));
            self.stack.at(&self.pose, v, *p) + self.to_ours.transform_vector3(w)
        };
        let skin: Vec<DVec3> = shape.iter().enumerate().map(vertex).collect();
        skin.iter().all(|p| p.is_finite()).then_some(skin)
    }
}

impl<R: Read + Seek> Bundle<R> {
    /// What the bundle says of corrections, if it holds any.
    ///
    /// # Errors
    /// [`ReadError`]: a text that is not known, or an array without the other.
    pub(super) fn inverted(&mut self) -> Result<Option<Inverted>, ReadError> {
        let Some(space) = self.single_text(SPACE)? else { return Ok(None) };
        let vertices = match space.as_str() {
            "posed" => VerticesSpace::Posed,
            "rest" => VerticesSpace::Rest,
            other => {
                let reason = format!("array \"{SPACE}\" is \"{other:.100}\"; \"posed\" or \"rest\" is expected");
                return Err(damaged(reason));
            }
        };
        if !self.members.contains_key("vertices") {
            return Err(damaged(format!("there is \"{SPACE}\", but no \"vertices\"")));
        }
        let Some(deformer) = self.single_text(DEFORMER)? else {
            return Err(damaged(format!("there is \"{SPACE}\", but no \"{DEFORMER}\"")));
        };
        let deformer = match deformer.as_str() {
            "lbs" => CorrectedDeformer::Lbs,
            "dqs" => CorrectedDeformer::Dqs,
            "rigid" => CorrectedDeformer::Rigid,
            "program" => CorrectedDeformer::Program,
            text if text.starts_with('{') => {
                let file = serde_json::from_slice(text.as_bytes());
                CorrectedDeformer::Stack(file.map_err(|e| damaged(format!("array \"{DEFORMER}\": {e}")))?)
            }
            other => {
                return Err(damaged(format!(
                    "array \"{DEFORMER}\" is \"{other:.100}\"; \"lbs\", \"dqs\", \"rigid\", \"program\" or the JSON text of a stack \
                     is expected"
                )));
            }
        };
        Ok(Some(Inverted { vertices, deformer, skins: vertices == VerticesSpace::Posed }))
    }

    /// How skins are computed, where the bundle holds rest shapes and its deformer is known.
    ///
    /// # Errors
    /// [`ReadError`]: rest shapes without what brings them into their poses, or remainders of another shape.
    pub(super) fn posing(&mut self, contents: &Contents, inverted: &Inverted) -> Result<Option<Posing>, ReadError> {
        if inverted.vertices == VerticesSpace::Posed || inverted.deformer == CorrectedDeformer::Program {
            return Ok(None);
        }
        let missing = |key: &str| {
            damaged(format!(
                "\"vertices\" are rest shapes (\"{SPACE}\" is \"rest\"), but there is no \"{key}\" to pose them"
            ))
        };
        let mesh = contents.mesh.clone().ok_or_else(|| missing("rest_vertices"))?;
        let skeleton = contents.skeleton.clone().ok_or_else(|| missing("bind_matrices"))?;
        if !self.members.contains_key("pose_matrices") {
            return Err(missing("pose_matrices"));
        }
        let rig = Rig::new(mesh, skeleton, contents.weights.clone())?;
        let Some(stack) = stack_of(&inverted.deformer, &rig, &contents.space)? else { return Ok(None) };
        let vertices = rig.mesh().positions.len();
        let Some((remainders, _)) = self.numbers("remainders", [None, Some(vertices), Some(3)])? else {
            return Err(missing("remainders"));
        };
        let to_ours = contents.space.to_ours();
        Ok(Some(Posing { stack, skeleton: rig.skeleton().clone(), to_ours, remainders, pose: StackPose::default() }))
    }
}

impl Posing {
    /// Checks that there is a remainder for each of `count` records.
    pub(super) fn check(&self, count: usize) -> Result<(), ReadError> {
        extents("remainders", self.remainders.shape(), [Some(count), None, Some(3)]).map(|_| ())
    }
}

/// Writes a bundle of corrections: `contents`, whose records have shapes, and beside them what [`Corrections`] names.
///
/// # Errors
/// As [`write()`](super::write()); a stack with weights that are not the rig's.
pub fn write_inverted(
    contents: &Contents,
    float: StoredFloat,
    corrections: Corrections<'_>,
    out: &mut dyn std::io::Write,
) -> Result<(), WriteError> {
    let beside = [("rest_corrections", corrections.rest_corrections), ("remainders", corrections.remainders)];
    let texts = |bundle: &mut Writer<Cursor<Vec<u8>>>, space: &Space| {
        bundle.text(SPACE, corrections.vertices.name())?;
        let text = match corrections.deformer {
            DeformerWritten::Lbs => "lbs".to_owned(),
            DeformerWritten::Dqs => "dqs".into(),
            DeformerWritten::Rigid => "rigid".into(),
            DeformerWritten::Program => "program".into(),
            DeformerWritten::Stack(stack, rig) => {
                let described = StackFile::of(stack, rig, space);
                described.map_err(|e| super::write::refused(e.to_string()))?.json()
            }
        };
        bundle.text(DEFORMER, &text)
    };
    super::write::write_beside(contents, float, &beside, texts, out)
}
