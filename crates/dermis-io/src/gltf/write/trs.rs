//! Local transforms as glTF animates them: translation, rotation, scale.

use super::super::affine_nodes::svd;
use crate::WriteError;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::skeleton::{frobenius, invert};
use dermis_rig::{BoneIndex, Skeleton, WorldPose};
use serde_json::{Value, json};

/// The largest part of a local matrix that translation, rotation and scale may fail to express: what single precision
/// loses along a chain of bones stays below, a shear that an eye sees is far above.
pub(crate) const SHEAR: f64 = 1e-5;

/// A local transform as glTF animates it, with what that cannot express.
#[derive(Clone)]
pub(crate) struct Trs {
    pub(crate) translation: DVec3,
    pub(crate) rotation: DQuat,
    pub(crate) scale: DVec3,
    pub(crate) matrix: DAffine3,
    /// Frobenius norm of what is lost, relative to the matrix.
    pub(crate) deviation: f64,
}

impl Trs {
    /// A = R S + E with R the rotation nearest to A (mirrored along x if A mirrors) and S = diag(RᵀA).
    pub(crate) fn new(matrix: DAffine3) -> Self {
        let a = matrix.matrix3;
        let mirror = DVec3::new(if a.determinant() < 0.0 { -1.0 } else { 1.0 }, 1.0, 1.0);
        let r = nearest_rotation(&(a * DMat3::from_diagonal(mirror)));
        let scale = DVec3::new(r.x_axis.dot(a.x_axis), r.y_axis.dot(a.y_axis), r.z_axis.dot(a.z_axis));
        let lost = frobenius(&(a - r * DMat3::from_diagonal(scale)));
        let deviation = if lost > 0.0 { lost / frobenius(&a) } else { 0.0 };
        Self { translation: matrix.translation, rotation: quat_from_matrix(&r), scale, matrix, deviation }
    }

    pub(super) fn node(&self) -> Value {
        if self.deviation > SHEAR {
            let m = self.matrix.matrix3.to_cols_array_2d();
            let [x, y, z] = self.translation.to_array();
            let [a, b, c] = m;
            return json!({ "matrix": [a[0], a[1], a[2], 0.0, b[0], b[1], b[2], 0.0, c[0], c[1], c[2], 0.0, x, y, z, 1.0] });
        }
        let mut node = json!({ "translation": self.translation.to_array(), "rotation": self.rotation.to_array() });
        if (self.scale - DVec3::ONE).abs().max_element() > 1e-12 {
            node["scale"] = json!(self.scale.to_array());
        }
        node
    }
}

/// A local transform as two nodes, which may shear: by the singular value decomposition A = U S Vᵀ an upper one with rotation U, scale S
/// and the translation, and below it one with rotation Vᵀ.
pub(crate) struct Pair {
    pub(crate) upper: Trs,
    /// Vᵀ.
    pub(crate) lower: DQuat,
    /// V, where the pair of the next frame starts from.
    pub(crate) axes: DMat3,
}

impl Pair {
    /// The pair with axes near those of the frame before, so that they change little from frame to frame.
    pub(crate) fn new(matrix: &DAffine3, before: DMat3) -> Self {
        let (u, scale, axes) = svd(&matrix.matrix3, before);
        let (rotation, translation) = (quat_from_matrix(&u), matrix.translation);
        let matrix = DAffine3 { matrix3: u * DMat3::from_diagonal(scale), translation };
        let upper = Trs { translation, rotation, scale, matrix, deviation: 0.0 };
        Self { upper, lower: quat_from_matrix(&axes.transpose()), axes }
    }
}

/// Local transforms of a pose.
pub(crate) fn locals(
    skeleton: &Skeleton,
    pose: &WorldPose,
    place: impl Fn() -> String,
) -> Result<Vec<Trs>, WriteError> {
    if pose.bones.len() != skeleton.len() {
        return Err(WriteError::Count {
            what: place(),
            things: "bones",
            found: pose.bones.len(),
            expected: skeleton.len(),
        });
    }
    if let Some(at) = pose.bones.iter().position(|m| !m.is_finite()) {
        return Err(WriteError::NotFinite { what: format!("the pose of bone {at} in {}", place()) });
    }
    let Some(local) = skeleton.local_transforms(pose) else {
        let singular = |bone: &BoneIndex| invert(&pose.bones[*bone]).is_none();
        let bone = skeleton.bones().find(singular).map_or_else(String::new, |bone| skeleton.names()[bone].clone());
        return Err(WriteError::Singular { bone, place: place() });
    };
    Ok(local.iter().map(|matrix| Trs::new(*matrix)).collect())
}
