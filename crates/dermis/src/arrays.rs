//! Characters from plain numbers, in axes and a unit of the caller's: what a door for another language hands over.
//!
//! Positions and matrices are those of a bundle (`numpy.savez`, [`dermis_io::npz`]): a position per vertex, a joint-to-world
//! matrix per bone. They are brought into the space of the library, right-handed, Y up, metres.

use crate::{Examples, Rig};
use dermis_files::load::{FileNote, LoadedRig};
use dermis_io::{Space, UpAxis};
use dermis_rig::examples::ExampleError;
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::skeleton::{from_rows, row};
use dermis_rig::{
    BoneIndex, BoneTransforms, Example, ExampleSet, InfluenceError, Influences, LocalSculpt, Mesh, Polygons, RigError,
    Skeleton, SkeletonError, WorldPose,
};

/// The arrays of a rig.
#[derive(Clone, Debug, Default)]
pub struct RigArrays {
    /// What the rig is called in reports.
    pub name: String,
    /// Axes and unit of positions and matrices.
    pub space: Space,
    /// A position per vertex at rest.
    pub rest_vertices: Vec<DVec3>,
    /// Triangles, counter-clockwise seen from outside.
    pub faces: Vec<[u32; 3]>,
    /// The polygons that the triangles are made of, if they are known: smoothing follows their edges.
    pub polygons: Option<Polygons>,
    /// A name per bone, parents first.
    pub bone_names: Vec<String>,
    /// The parent of each bone, negative for a root.
    pub bone_parents: Vec<i64>,
    /// B_k, joint to world at rest.
    pub bind_matrices: Vec<DAffine3>,
    /// Skinning weights, if there are any. They are mended and counted as those of a file are.
    pub weights: Option<Influences>,
}

/// One example as arrays.
#[derive(Clone, Debug)]
pub struct ExampleArrays {
    /// What it is called in reports.
    pub label: String,
    /// Seconds, if it is a frame of an animation.
    pub time: Option<f64>,
    /// The pose.
    pub pose: BoneTransforms,
    /// A position per vertex, posed world, in the rig's own axes and unit.
    pub vertices: Vec<DVec3>,
    /// How much it counts; one by default, zero leaves it out.
    pub importance: f64,
    /// The part of it that somebody sculpted, its shown skin in the rig's own axes and unit; `None` if all of it counts.
    pub local: Option<LocalSculpt>,
}

/// Why arrays make no rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArrayError {
    /// The bones do not make a skeleton.
    #[error(transparent)]
    Skeleton(#[from] SkeletonError),
    /// The parts do not belong together.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The weights are no table of weights.
    #[error("weights: {0}")]
    Weights(#[from] InfluenceError),
    /// A matrix for row vectors, or one that is not affine.
    #[error(
        "the last row is [{}, {}, {}, {}], not [0, 0, 0, 1]; matrices are [row, column] for column vectors",
        .0[0], .0[1], .0[2], .0[3]
    )]
    LastRow([f64; 4]),
    /// A unit that lengths cannot be converted from.
    #[error("a unit of {0} metres")]
    Unit(f64),
}

/// Returns an affine map from the sixteen entries of a 4x4 matrix, row after row, for column vectors.
///
/// # Errors
/// [`ArrayError::LastRow`] unless the last row is 0, 0, 0, 1, as near as products of 32-bit matrices come.
pub fn affine(entries: [f64; 16]) -> Result<DAffine3, ArrayError> {
    let last = [entries[12], entries[13], entries[14], entries[15]];
    if last.iter().zip([0.0, 0.0, 0.0, 1.0]).any(|(x, expected)| (x - expected).abs() > 1e-5) {
        return Err(ArrayError::LastRow(last));
    }
    Ok(from_rows([0, 1, 2].map(|row| [0, 1, 2, 3].map(|column| entries[4 * row + column]))))
}

/// Returns axes and a unit that lengths can be converted from.
///
/// # Errors
/// [`ArrayError::Unit`].
pub fn space(up: UpAxis, metres_per_unit: f64) -> Result<Space, ArrayError> {
    let space = Space { up, metres_per_unit, ..Space::default() };
    if space.is_usable() { Ok(space) } else { Err(ArrayError::Unit(metres_per_unit)) }
}

impl Rig {
    /// A rig from arrays. Weights that are negative, or do not sum to one, are mended; [`Rig::files`] counts them.
    ///
    /// # Errors
    /// [`ArrayError`], naming what disagrees; also for bones that do not stand parents first, because poses go by their order.
    pub fn from_arrays(arrays: RigArrays) -> Result<Self, ArrayError> {
        let RigArrays { name, space, rest_vertices, faces, polygons, bone_names, bone_parents, bind_matrices, weights } =
            arrays;
        let to_ours = space.to_ours();
        let positions = rest_vertices.into_iter().map(|p| to_ours.transform_point3(p)).collect();
        let mesh = Mesh { positions, triangles: faces, polygons, ..Mesh::default() };
        if let Some((at, &parent)) = bone_parents.iter().enumerate().find(|(_, p)| **p >= bone_parents.len() as i64) {
            let bone = bone_names.get(at).cloned().unwrap_or_default();
            return Err(SkeletonError::MissingParent { bone, parent, bones: bone_parents.len() }.into());
        }
        let parents = bone_parents.iter().map(|&parent| usize::try_from(parent).ok().map(BoneIndex::new)).collect();
        let bind = bind_matrices.into_iter().map(|b| space.joint_to_ours(b)).collect();
        let skeleton = Skeleton::new(bone_names, parents, bind)?;
        let mut note = FileNote { role: "rig".into(), path: name.clone(), ..FileNote::default() };
        let weights = weights.map(|table| {
            let (weights, mended) = table.normalised();
            let counts = [
                (mended.negative, "negative weights are taken as zero"),
                (mended.rescaled, "vertices have weights that did not sum to one and were scaled"),
                (mended.unbound, "vertices have no weight and are bound to the first bone"),
            ];
            let said = counts.into_iter().filter(|(count, _)| *count > 0);
            note.remarks.extend(said.map(|(count, what)| format!("{count} {what}")));
            weights
        });
        let rig = dermis_rig::Rig::new(mesh, skeleton, weights)?.named(name);
        Ok(LoadedRig { rig, space, notes: vec![note] }.into())
    }

    /// Axes and unit of the file or the arrays that it came from.
    pub fn space(&self) -> &Space {
        &self.loaded.space
    }

    /// The same as the recipes take it.
    pub fn as_loaded(&self) -> &LoadedRig {
        &self.loaded
    }

    /// A pose from joint-to-world matrices T_k in the rig's own axes and unit, in its order of bones.
    pub fn pose_of_joints(&self, joints: impl IntoIterator<Item = DAffine3>) -> BoneTransforms {
        let space = self.space();
        let world = joints.into_iter().map(|joint| space.joint_to_ours(joint)).collect();
        self.skeleton().bone_transforms(&WorldPose::new(world))
    }

    /// A pose from bone transforms M_k = T_k B_k⁻¹ in the rig's own axes and unit, in its order of bones.
    pub fn pose_of_transforms(&self, transforms: impl IntoIterator<Item = DAffine3>) -> BoneTransforms {
        let (to_ours, from_ours) = (self.space().to_ours(), self.space().to_ours().inverse());
        BoneTransforms::new(transforms.into_iter().map(|m| to_ours * m * from_ours).collect())
    }
}

impl Examples {
    /// Examples from arrays in the rig's own axes and unit. They are frames of a clip if all of them have a time.
    ///
    /// # Errors
    /// [`ExampleError`], naming the example.
    pub fn from_arrays(
        rig: &Rig,
        name: &str,
        examples: impl IntoIterator<Item = ExampleArrays>,
    ) -> Result<Self, ExampleError> {
        let to_ours = rig.space().to_ours();
        let example = |given: ExampleArrays| Example {
            label: given.label,
            time: given.time,
            transforms: given.pose,
            positions: given.vertices.into_iter().map(|p| to_ours.transform_point3(p)).collect(),
            importance: given.importance,
            local: given.local.map(|local| LocalSculpt {
                shown: local.shown.map(|skin| skin.into_iter().map(|p| to_ours.transform_point3(p)).collect()),
                ..local
            }),
        };
        Ok(ExampleSet::new(name.into(), examples.into_iter().map(example).collect(), rig)?.into())
    }
}

/// Returns the sixteen entries of a 4x4 matrix, row after row, for column vectors.
pub fn entries(matrix: &DAffine3) -> [f64; 16] {
    let [a, b, c] = [0, 1, 2].map(|at| row(matrix, at));
    let rows = [a, b, c, [0.0, 0.0, 0.0, 1.0]];
    std::array::from_fn(|at| rows[at / 4][at % 4])
}

/// Takes positions in the library's space into `space`, in place.
pub fn positions_from_ours(space: &Space, positions: &mut [Vec3]) {
    let scale = (1.0 / space.metres_per_unit) as f32;
    if scale != 1.0 {
        positions.iter_mut().for_each(|p| *p *= scale);
    }
    directions_from_ours(space, positions);
}

/// Takes directions in the library's space into `space`, in place; their lengths stay.
pub fn directions_from_ours(space: &Space, directions: &mut [Vec3]) {
    // The inverse of (x, y, z) ↦ (x, z, −y).
    if space.up == UpAxis::Z {
        directions.iter_mut().for_each(|d| *d = Vec3::new(d.x, -d.z, d.y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DVec3;

    #[test]
    fn positions_come_back_from_the_librarys_space() {
        for (up, metres_per_unit) in [(UpAxis::Y, 1.0), (UpAxis::Z, 1.0), (UpAxis::Y, 0.01), (UpAxis::Z, 0.0254)] {
            let space = space(up, metres_per_unit).unwrap();
            let theirs = DVec3::new(0.3, -1.7, 2.4);
            let mut ours = [space.to_ours().transform_point3(theirs).as_vec3()];
            positions_from_ours(&space, &mut ours);
            // Two roundings to f32, of the position and of the product, and one of the factor.
            assert!((ours[0].as_dvec3() - theirs).length() < 3.0 * 6e-8 * theirs.length(), "{space:?}: {}", ours[0]);
        }
    }

    #[test]
    fn a_matrix_for_row_vectors_is_refused() {
        let moved = DAffine3::from_translation(DVec3::new(1.0, 2.0, 3.0));
        let rows = entries(&moved);
        assert_eq!(affine(rows).unwrap(), moved);
        let columns = std::array::from_fn(|at| rows[4 * (at % 4) + at / 4]);
        assert_eq!(affine(columns), Err(ArrayError::LastRow([1.0, 2.0, 3.0, 1.0])));
    }
}
