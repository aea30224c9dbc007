//! Bones seen from other bones: what corrections read of a pose.

use dermis_rig::BoneIndex;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::{invert, row};

/// Rows of M̃ − I with translations over L: M̃ = A⁻¹ B of two bones, or M itself without an anchor.
///
/// A singular anchor gives the zero feature: nothing can be seen from it.
pub fn relative_features(
    transforms: &[DAffine3],
    anchor: Option<BoneIndex>,
    bone: BoneIndex,
    length: f64,
) -> [f64; 12] {
    let m = transforms[bone.get()];
    let relative = match anchor {
        None => m,
        Some(a) if a == bone => DAffine3::IDENTITY,
        Some(a) => match relative(&transforms[a.get()], &m) {
            Some(relative) => relative,
            None => return [0.0; 12],
        },
    };
    let mut f = [0.0; 12];
    for j in 0..3 {
        let r = row(&relative, j);
        for c in 0..3 {
            f[j * 4 + c] = r[c] - f64::from(u8::from(c == j));
        }
        f[j * 4 + 3] = r[3] / length;
    }
    f
}

/// A⁻¹ B, or `None` for a singular A; computed about A's own origin so that a character far from the world's origin loses no digits.
pub(crate) fn relative(a: &DAffine3, b: &DAffine3) -> Option<DAffine3> {
    let inverse = invert(&DAffine3 { matrix3: a.matrix3, translation: DVec3::ZERO })?.matrix3;
    Some(DAffine3 { matrix3: inverse * b.matrix3, translation: inverse * (b.translation - a.translation) })
}
