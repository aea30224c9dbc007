//! A mesh for a skeleton without one: a slim double pyramid along every bone.

use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Influences, Mesh, Rig, RigError, Skeleton};

/// How wide a bone is drawn, as a part of its length, and where it is widest.
const WIDE: (f64, f64) = (0.09, 0.16);
/// The half size of a joint that no bone leaves, and of the smallest bone, as a part of the skeleton's size.
const KNOB: f64 = 0.008;

/// Returns the skeleton with a mesh: from every joint a bone to each joint below it, and a knob where none is below. Every vertex follows
/// the joint that its bone begins at.
///
/// # Errors
/// [`RigError`] for what is no rig; a skeleton with finite joints gives one.
pub(super) fn sticks(skeleton: &Skeleton, name: &str) -> Result<Rig, RigError> {
    let head =
        |bone: BoneIndex| Some(skeleton.bind()[bone].translation).filter(|p| p.is_finite()).unwrap_or(DVec3::ZERO);
    let heads = || skeleton.bones().map(head);
    let low = heads().fold(DVec3::INFINITY, DVec3::min);
    let high = heads().fold(DVec3::NEG_INFINITY, DVec3::max);
    // A lone joint has the size of a hand.
    let size = Some((high - low).length()).filter(|size| *size > 0.0 && size.is_finite()).unwrap_or(0.2);
    let mut drawn = Drawn { mesh: Mesh::default(), bones: Vec::new() };
    let mut has_child = vec![false; skeleton.len()];
    for bone in skeleton.bones() {
        let Some(parent) = skeleton.parents()[bone] else { continue };
        let (from, to) = (head(parent), head(bone));
        if from.distance(to) > 1e-6 * size {
            has_child[parent.get()] = true;
            let wide = (WIDE.0 * from.distance(to)).clamp(0.5 * KNOB * size, 4.0 * KNOB * size);
            drawn.double_pyramid(parent, from, to, wide, WIDE.1);
        }
    }
    for bone in skeleton.bones().filter(|bone| !has_child[bone.get()]) {
        let (middle, half) = (head(bone), KNOB * size);
        drawn.double_pyramid(bone, middle - half * DVec3::Y, middle + half * DVec3::Y, half, 0.5);
    }
    // Rows of ones are weights.
    let weights = Influences::from_rows(drawn.bones.iter().map(|bone| vec![(*bone, 1.0)])).ok();
    Ok(Rig::new(drawn.mesh, skeleton.clone(), weights)?.named(name.to_owned()))
}

/// What is drawn so far, with the bone of every vertex.
struct Drawn {
    mesh: Mesh,
    bones: Vec<BoneIndex>,
}

impl Drawn {
    /// Two pyramids over one square, `wide` from the axis and `at` of the way along it. Faces look outwards.
    fn double_pyramid(&mut self, bone: BoneIndex, from: DVec3, to: DVec3, wide: f64, at: f64) {
        let axis = (to - from).normalize_or(DVec3::Y);
        let side = axis.any_orthonormal_vector();
        let frame = DAffine3::from_cols(side, axis.cross(side), axis, from.lerp(to, at));
        let first = self.mesh.positions.len() as u32;
        let ring = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)];
        self.mesh.positions.extend([from, to]);
        self.mesh.positions.extend(ring.map(|(x, y)| frame.transform_point3(DVec3::new(wide * x, wide * y, 0.0))));
        for k in 0..4 {
            let (a, b) = (first + 2 + k, first + 2 + (k + 1) % 4);
            self.mesh.triangles.extend([[first, b, a], [first + 1, a, b]]);
        }
        self.bones.extend([bone; 6]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(heads: &[DVec3]) -> Skeleton {
        let names = (0..heads.len()).map(|b| format!("bone {b}")).collect();
        let parents = (0..heads.len()).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
        Skeleton::new(names, parents, heads.iter().map(|h| DAffine3::from_translation(*h)).collect()).unwrap()
    }

    /// The volume enclosed by the faces of each bone is that of two pyramids over a square with half diagonal w: 2/3 w² · length.
    #[test]
    fn every_bone_is_a_closed_body_of_the_right_size() {
        let rig =
            sticks(&chain(&[DVec3::ZERO, DVec3::new(0.0, 1.0, 0.0), DVec3::new(0.6, 1.8, 0.0)]), "chain").unwrap();
        let mesh = rig.mesh();
        assert_eq!((mesh.positions.len(), mesh.triangles.len()), (18, 24));
        let volume = |faces: &[[u32; 3]]| -> f64 {
            let of = |f: &[u32; 3]| {
                let [a, b, c] = f.map(|v| mesh.positions[v as usize]);
                a.dot(b.cross(c)) / 6.0
            };
            faces.iter().map(of).sum()
        };
        let size = DVec3::new(0.6, 1.8, 0.0).length();
        for (bone, (wide, long)) in
            [(4.0 * KNOB * size, 1.0), (4.0 * KNOB * size, 1.0), (KNOB * size, 2.0 * KNOB * size)]
                .into_iter()
                .enumerate()
        {
            let found = volume(&mesh.triangles[8 * bone..8 * bone + 8]);
            let expected = 2.0 / 3.0 * wide * wide * long;
            assert!((found / expected - 1.0).abs() < 1e-9, "bone {bone}: {found} for {expected}");
        }
        let weights = rig.weights().unwrap();
        assert!((0..18).all(|v| weights.of(v) == [(BoneIndex::new(v / 6), 1.0)]));
    }

    #[test]
    fn a_skeleton_in_one_place_is_seen_too() {
        let rig = sticks(&chain(&[DVec3::ONE; 3]), "point").unwrap();
        assert_eq!(rig.mesh().positions.len(), 18);
        assert!(rig.mesh().positions.iter().all(|p| p.is_finite() && p.distance(DVec3::ONE) < 0.1));
    }
}
