//! What a file holds, whatever its format.

use crate::curve::Curve;
use crate::inverted::Inverted;
pub use dermis_rig::MorphTarget;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{Frame, Influences, LocalSculpt, Mesh, Skeleton, WorldPose};
use std::fmt;

/// Everything found in one file, converted to right-handed, Y up, metres, parents first.
#[derive(Debug, Default)]
pub struct Contents {
    /// The file's name without folder, for messages.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// The file's own axes and unit, for writing back.
    pub space: Space,
    /// The rest mesh.
    pub mesh: Option<Mesh>,
    /// The skeleton at rest.
    pub skeleton: Option<Skeleton>,
    /// Names of the bones in the records' poses, if the file names them without describing a skeleton; empty otherwise.
    pub bone_names: Vec<String>,
    /// The pose that the file shows without a clip, where it is not the bind pose.
    pub default_pose: Option<WorldPose>,
    /// Skinning weights, normalised.
    pub weights: Option<Influences>,
    /// Influence maps, if the file has a table of them.
    pub influence_maps: Option<Influences>,
    /// Poses, shapes, or both, in file order: the examples of a bundle, the frames of a point cache.
    pub records: Vec<Record>,
    /// Animation clips.
    pub clips: Vec<Clip>,
    /// Morph targets of the rest mesh.
    pub morphs: Vec<MorphTarget>,
    /// Weights of the morph targets that the file shows without a clip, in their order; empty if all are zero.
    pub morph_weights: Vec<f64>,
    /// Frames per second, if the file states a rate.
    pub frames_per_second: Option<f64>,
    /// What a bundle of corrections says of itself: what its records' shapes are, and the deformer they go with.
    pub inverted: Option<Inverted>,
    /// Things the file holds that nothing here reads, by name.
    pub unread: Vec<String>,
    /// Labels of records that were left out because they hold NaN or infinity.
    pub left_out: Vec<String>,
    /// Where no record is left: a vertex that is not finite in any of them, if there is one.
    pub never_finite: Option<usize>,
    /// Flaws that were mended or ignored.
    pub warnings: Vec<Warning>,
}

/// The bytes of a file beside the one that is read, by its path relative to that file's folder: the first so many, or all if it
/// has fewer.
pub type Resolve<'a> = dyn Fn(&str, u64) -> std::io::Result<Vec<u8>> + 'a;

/// A file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// glTF, text or binary.
    #[default]
    Gltf,
    /// A NumPy bundle.
    Npz,
    /// Wavefront OBJ.
    Obj,
    /// A PC2 point cache.
    Pc2,
    /// An MDD point cache.
    Mdd,
    /// FBX, text or binary.
    Fbx,
    /// Alembic, in its Ogawa container.
    Alembic,
    /// USD: text, binary, or a package.
    Usd,
    /// BVH: motion capture.
    Bvh,
    /// A take of markers, C3D or TRC: no contents, but places of markers.
    Markers,
    /// A model of this toolkit.
    Model,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gltf => "glTF",
            Self::Npz => "NPZ bundle",
            Self::Obj => "OBJ",
            Self::Pc2 => "PC2",
            Self::Mdd => "MDD",
            Self::Fbx => "FBX",
            Self::Alembic => "Alembic",
            Self::Usd => "USD",
            Self::Bvh => "BVH",
            Self::Markers => "C3D or TRC",
            Self::Model => "model",
        })
    }
}

/// The axis that points up in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpAxis {
    /// glTF, Maya.
    #[default]
    Y,
    /// Blender, 3ds Max.
    Z,
}

/// Axes and unit of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// The axis that points up.
    pub up: UpAxis,
    /// Length of the file's unit in metres; 1 if the unit is unknown.
    pub metres_per_unit: f64,
    /// The unit as reports print it: "m" for everything convertible, the file's own words otherwise.
    pub unit: String,
}

impl Default for Space {
    fn default() -> Self {
        Self { up: UpAxis::Y, metres_per_unit: 1.0, unit: "m".into() }
    }
}

impl Space {
    /// Whether lengths can be converted: a unit between a picometre and a gigametre.
    pub fn is_usable(&self) -> bool {
        (1e-12..=1e9).contains(&self.metres_per_unit)
    }

    /// Refuses a space whose lengths cannot be converted.
    pub(crate) fn check(&self) -> Result<(), ReadError> {
        match self.is_usable() {
            true => Ok(()),
            false => Err(ReadError::Unsupported { feature: format!("a unit of {} metres", self.metres_per_unit) }),
        }
    }

    /// The map from the file's world to ours: (x, y, z) ↦ (x, z, −y) for Z up, times metres per unit.
    pub fn to_ours(&self) -> DAffine3 {
        let turn = match self.up {
            UpAxis::Y => DMat3::IDENTITY,
            UpAxis::Z => DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y),
        };
        DAffine3::from_mat3(turn * self.metres_per_unit)
    }

    /// A joint-to-world matrix in our world: position scaled, axes turned, the bone's own frame kept unscaled.
    ///
    /// Rest vertices are scaled as well, so the enveloping matrix M = T B⁻¹ stays C M C⁻¹ with C of [`Space::to_ours`].
    pub fn joint_to_ours(&self, joint: DAffine3) -> DAffine3 {
        let unscaled_bone = DAffine3::from_scale(DVec3::splat(1.0 / self.metres_per_unit));
        self.to_ours() * joint * unscaled_bone
    }

    /// The inverse of [`Space::joint_to_ours`].
    pub fn joint_from_ours(&self, joint: DAffine3) -> DAffine3 {
        self.to_ours().inverse() * joint * DAffine3::from_scale(DVec3::splat(self.metres_per_unit))
    }
}

/// A pose, a shape, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Label from the file, or the frame number.
    pub label: String,
    /// Seconds, if the file has times or a frame rate.
    pub time: Option<f64>,
    /// Joint-to-world matrices.
    pub pose: Option<WorldPose>,
    /// One position per vertex, in the order of the mesh or of the file.
    pub positions: Option<Vec<DVec3>>,
    /// Importance r; one by default.
    pub importance: f64,
    /// The part of its positions that somebody sculpted; `None` if all of them count.
    pub local: Option<LocalSculpt>,
}

/// The pose alone.
impl From<Frame> for Record {
    fn from(frame: Frame) -> Self {
        let Frame { label, time, pose } = frame;
        Self { label, time, pose: Some(pose), positions: None, importance: 1.0, local: None }
    }
}

/// An animation that can be sampled at any time.
pub struct Clip {
    /// Its name.
    pub name: String,
    /// Seconds from 0 to the last key.
    pub duration: f64,
    /// Seconds at which the clip begins by the file's own clock, which other files of the same shot go by as well.
    pub start: f64,
    /// The union of all key times, ascending.
    pub key_times: Vec<f64>,
    /// The file's own keys of the bones' local transforms and of the morph targets, as far as these alone say the motion; `None` where
    /// the motion is frames by nature.
    pub curves: Option<Vec<Curve>>,
    /// Evaluates the clip; times outside 0..duration are clamped.
    pub sample: Box<dyn Fn(f64) -> ClipFrame + Send + Sync>,
}

impl fmt::Debug for Clip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clip").field("name", &self.name).field("duration", &self.duration).finish_non_exhaustive()
    }
}

/// One moment of a clip.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipFrame {
    /// Joint-to-world matrices in skeleton order.
    pub pose: WorldPose,
    /// Weights of the morph targets, in their order; empty if the file has none.
    pub morph_weights: Vec<f64>,
}

/// A flaw that did not stop the reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// What was wrong, and what was done about it.
    pub flaw: Flaw,
    /// How many elements have it.
    pub count: usize,
    /// The first of them.
    pub first: Option<String>,
}

/// Kinds of mended flaws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Weights that did not sum to one were scaled.
    WeightSum,
    /// Vertices without weights were bound to the first bone.
    Unbound,
    /// Vertices without weights hang on the node of their mesh.
    Unweighted,
    /// Weights of a skin that does not blend linearly were read as if it did.
    Blending,
    /// Negative weights were set to zero.
    NegativeWeight,
    /// Frames with NaN or infinite numbers were left out.
    NonFiniteFrame,
    /// Triangles with a repeated corner or no area.
    DegenerateTriangle,
    /// Polygons that cross themselves were split into triangles that may overlap.
    CrossedPolygon,
    /// Vertices no face uses.
    UnusedVertex,
    /// Seam vertices were welded.
    Welded,
    /// Bones were not in parents-first order and were sorted.
    BonesReordered,
    /// Bind matrices of two skins disagree about one bone.
    BindDisagrees,
    /// The default pose of the skeleton is not its bind pose.
    NotAtBind,
    /// Nodes above a skeleton scale its axes unevenly, so that its bones shear as they turn.
    UnevenScale,
    /// Morph targets are shown by default.
    NotAtZero,
    /// Shapes that another one passes through became morph targets of their own.
    Between,
    /// Meshes that the file hides were read.
    Hidden,
    /// Something the file holds is not supported and was left out.
    Unsupported,
    /// Bones, clips, morph targets or markers with a name that occurs twice were renamed.
    DuplicateName,
    /// A mesh without a skin was bound rigidly to the joint above it, or left out.
    Unskinned,
    /// Keys of an animation were out of order or not finite and were left out.
    BadKeys,
    /// Times that do not ascend say nothing and were left out.
    TimesLeftOut,
    /// Times disagree with the rate or with the numbers of frames.
    TimesDisagree,
    /// Frames that the file skips were read as frames in which nothing is seen.
    FramesMissing,
    /// A count in the file's header disagrees with its data.
    CountMismatch,
    /// The file does not state its unit or axes.
    UnknownSpace,
    /// Several meshes were joined into one, in file order: the file lists their vertices by turns, faces join them, or they are more than
    /// [`MOST_OBJECTS`](dermis_rig::MOST_OBJECTS).
    Joined,
    /// Things that contradict the format and were set right while it was parsed.
    Repaired,
    /// Tangents were left out, which programs make again.
    Tangents,
    /// Images that cannot be read or carried were left out.
    Image,
    /// References to materials, textures, images or nodes that are not there were left out.
    Reference,
    /// Extensions that refer to parts of the file that are written anew were left out.
    Extension,
    /// Properties of materials that glTF has no word for were left out.
    Material,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WeightSum => "weights did not sum to one and were scaled",
            Self::Unbound => "vertices without weights were bound to the first bone",
            Self::Unweighted => "vertices without weights stand still with their mesh, as a bone of its own",
            Self::Blending => "skins do not blend linearly; their weights were read as if they did",
            Self::NegativeWeight => "negative weights were set to zero",
            Self::NonFiniteFrame => "frames with non-finite numbers were left out",
            Self::DegenerateTriangle => "triangles have no area",
            Self::CrossedPolygon => {
                "polygons cross themselves, or have too many corners to look at: their triangles may overlap"
            }
            Self::UnusedVertex => "vertices belong to no face",
            Self::Welded => "vertices split at seams were welded",
            Self::BonesReordered => "bones were reordered so that parents come first",
            Self::BindDisagrees => "bones have different bind matrices in different skins",
            Self::NotAtBind => "bones are not at their bind pose by default",
            Self::UnevenScale => "skins stand below a node that scales unevenly; their bones shear as they turn",
            Self::NotAtZero => "morph targets have a weight by default; the rest mesh is without them",
            Self::Between => {
                "shapes in between are morph targets of their own, whose weights follow that of the whole shape"
            }
            Self::Hidden => "meshes are hidden in the file and were read like others",
            Self::Unsupported => "unsupported things were left out",
            Self::DuplicateName => "bones, clips, shapes or markers shared a name and were renamed",
            Self::Unskinned => "meshes have no skin",
            Self::BadKeys => "animation keys were unusable and left out",
            Self::TimesLeftOut => "times do not ascend and were left out",
            Self::TimesDisagree => "times disagree with the rate or with the numbers of the frames",
            Self::FramesMissing => "frames are missing in the file and were read as frames in which no marker is seen",
            Self::CountMismatch => "counts disagree with the data",
            Self::Joined => {
                "meshes share vertices, list them by turns, or are too many to keep apart, and were joined into one"
            }
            Self::Repaired => "things contradicted the format and were set right",
            Self::Tangents => "tangents were left out; programs make them again from normals and texture coordinates",
            Self::Image => "images were left out; their materials stay without them",
            Self::Reference => "references to things that are not there were left out",
            Self::Extension => "extensions that refer to bones, meshes or bytes of the file were left out",
            Self::Material => "properties of materials that glTF has no word for were left out",
            Self::UnknownSpace => "unit or axes are not stated; metres and Y up are assumed",
        })
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.count, self.flaw)?;
        match &self.first {
            Some(first) => write!(f, " (first: {first})"),
            None => Ok(()),
        }
    }
}

/// Why a file cannot be read. The caller adds the path.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not what the name promises.
    #[error("not {} {format} file: {reason}", if matches!(format, Format::Fbx | Format::Alembic | Format::Npz | Format::Obj | Format::Mdd) { "an" } else { "a" })]
    WrongKind {
        /// The format expected.
        format: Format,
        /// What was found instead.
        reason: String,
    },
    /// The file ends early or contradicts itself.
    #[error("damaged {format} file: {reason}")]
    Damaged {
        /// The format.
        format: Format,
        /// What is wrong, with numbers.
        reason: String,
    },
    /// A feature this reader refuses by name.
    #[error("{feature} is not supported")]
    Unsupported {
        /// The feature.
        feature: String,
    },
    /// Frames of which none can be used.
    #[error("no frame is finite{}", match vertex {
        Some(vertex) => format!(": vertex {vertex} is finite in none of the {frames}"),
        None => format!(": all {frames} hold NaN or infinity"),
    })]
    NeverFinite {
        /// How many there are.
        frames: usize,
        /// A vertex that is not finite in any of them.
        vertex: Option<usize>,
    },
    /// Bones that make no skeleton.
    #[error(transparent)]
    Skeleton(#[from] dermis_rig::SkeletonError),
    /// Parts that make no mesh.
    #[error(transparent)]
    Mesh(#[from] dermis_rig::MeshError),
    /// Parts that make no rig.
    #[error(transparent)]
    Rig(#[from] dermis_rig::RigError),
    /// Weights that are no weights.
    #[error(transparent)]
    Influences(#[from] dermis_rig::InfluenceError),
    /// Another file it refers to cannot be read.
    #[error("the file refers to \"{uri}\": {reason}")]
    Reference {
        /// The reference.
        uri: String,
        /// Why it cannot be read.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DQuat;

    /// C for Z up in inches, by hand: x stays, the file's z points up, its y points away from us.
    #[test]
    fn z_up_turns_about_x() {
        let inches = Space { up: UpAxis::Z, metres_per_unit: 0.0254, unit: "m".into() };
        let ours = inches.to_ours().transform_point3(DVec3::new(1.0, 2.0, 3.0));
        assert!(ours.abs_diff_eq(DVec3::new(0.0254, 0.0762, -0.0508), 1e-16));
        assert!((inches.to_ours().matrix3.determinant() - 0.0254f64.powi(3)).abs() < 1e-19, "stays right-handed");
    }

    /// M = T B⁻¹ of the converted matrices is C M C⁻¹, and bones keep their scale.
    #[test]
    fn bone_transforms_are_conjugated() {
        let turn = |angle| DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), angle);
        let bind = DAffine3::from_rotation_translation(turn(0.4), DVec3::new(12.0, -7.0, 30.0));
        let posed = DAffine3::from_scale_rotation_translation(DVec3::new(1.1, 0.9, 1.0), turn(-1.3), DVec3::splat(9.0));
        for (up, metres_per_unit) in [(UpAxis::Y, 1.0), (UpAxis::Z, 1.0), (UpAxis::Y, 0.01), (UpAxis::Z, 0.3048)] {
            let space = Space { up, metres_per_unit, unit: "m".into() };
            let c = space.to_ours();
            let converted = space.joint_to_ours(posed) * space.joint_to_ours(bind).inverse();
            // Entries up to 30, a handful of products: 30 · 2⁻⁵² · 10.
            assert!(converted.abs_diff_eq(c * (posed * bind.inverse()) * c.inverse(), 1e-13), "{space:?}");
            assert!((space.joint_to_ours(bind).matrix3.determinant() - 1.0).abs() < 1e-14, "{space:?}");
            assert!(space.joint_from_ours(space.joint_to_ours(posed)).abs_diff_eq(posed, 1e-13), "{space:?}");
            let joint = space.joint_to_ours(bind).translation;
            assert!(joint.abs_diff_eq(c.transform_point3(bind.translation), 1e-14), "{space:?}");
        }
    }
}
