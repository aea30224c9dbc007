//! Bones seen from other bones: what corrections read of a pose.

use dermis_rig::BoneIndex;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::skeleton::{invert, row};

/// M as seen from a point instead of the origin: T(−o) M T(o), whose translation is how far M carries o.
pub fn about(m: &DAffine3, origin: DVec3) -> DAffine3 {
    DAffine3 { matrix3: m.matrix3, translation: m.translation + (m.matrix3 * origin - origin) }
}

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
    rows_of_change(&relative, length)
}

/// Rows of M − I with translations over L.
fn rows_of_change(m: &DAffine3, length: f64) -> [f64; 12] {
    let mut f = [0.0; 12];
    for j in 0..3 {
        let r = row(m, j);
        for c in 0..3 {
            f[j * 4 + c] = r[c] - f64::from(u8::from(c == j));
        }
        f[j * 4 + 3] = r[3] / length;
    }
    f
}

/// Bones seen from one anchor after another: [`relative_features`] with one inverse per run of pairs of one anchor.
pub(crate) struct SeenFrom<'a> {
    transforms: &'a [DAffine3],
    length: f64,
    /// The last anchor, and the inverse of its linear part unless it is singular.
    last: Option<(BoneIndex, Option<DMat3>)>,
}

impl<'a> SeenFrom<'a> {
    pub(crate) fn new(transforms: &'a [DAffine3], length: f64) -> Self {
        Self { transforms, length, last: None }
    }

    pub(crate) fn feature(&mut self, anchor: Option<BoneIndex>, bone: BoneIndex) -> [f64; 12] {
        let Some(a) = anchor.filter(|a| *a != bone) else {
            return relative_features(self.transforms, anchor, bone, self.length);
        };
        let from = &self.transforms[a.get()];
        let inverse = match self.last {
            Some((last, inverse)) if last == a => inverse,
            _ => inverse_of(from),
        };
        self.last = Some((a, inverse));
        inverse.map_or([0.0; 12], |inverse| {
            rows_of_change(&seen(from, inverse, &self.transforms[bone.get()]), self.length)
        })
    }
}

/// A⁻¹ B, or `None` for a singular A; computed about A's own origin so that a character far from the world's origin loses no digits.
pub(crate) fn relative(a: &DAffine3, b: &DAffine3) -> Option<DAffine3> {
    Some(seen(a, inverse_of(a)?, b))
}

/// The inverse of the linear part, unless it is singular.
fn inverse_of(a: &DAffine3) -> Option<DMat3> {
    Some(invert(&DAffine3 { matrix3: a.matrix3, translation: DVec3::ZERO })?.matrix3)
}

fn seen(a: &DAffine3, inverse: DMat3, b: &DAffine3) -> DAffine3 {
    DAffine3 { matrix3: inverse * b.matrix3, translation: inverse * (b.translation - a.translation) }
}
