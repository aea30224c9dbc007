//! Helper bones: where they hang, and which joints move them.

use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Rig, Skeleton};

/// A helper bone: one that compiling adds to the skeleton.
#[derive(Clone, Debug, PartialEq)]
pub struct Helper {
    /// Its name in the file.
    pub name: String,
    /// The bone it hangs on: the one whose vertices it shares most.
    pub parent: BoneIndex,
    /// Where it stands at rest, metres: the middle of its vertices.
    pub centre: DVec3,
    /// Root mean square distance of its vertices from there, metres.
    pub radius: f64,
    /// The joints within two of its parent, as (bone it is seen from, bone that is seen).
    pub joints: Vec<(BoneIndex, BoneIndex)>,
    /// Vertices that follow it.
    pub vertices: usize,
    /// If it is driven: the share of its motion, seen from its parent, that the joints explain in poses left out.
    pub explained: Option<f64>,
}

/// Finds parent, place and joints of the `count` bones behind those of the skeleton.
pub(super) fn place(rig: &Rig, weights: &Influences, count: usize) -> Vec<Helper> {
    let known = rig.skeleton().len();
    // Sums of w, w p, w |p|² and of w times the weights of the known bones, per helper.
    let mut sums = vec![(0.0, DVec3::ZERO, 0.0, vec![0.0; known], 0); count];
    for (row, p) in weights.rows().zip(&rig.mesh().positions) {
        for &(h, w) in row.iter().filter(|(k, _)| k.get() >= known) {
            let (sum, first, second, shared, vertices) = &mut sums[h.get() - known];
            (*sum, *first, *second, *vertices) =
                (*sum + w, *first + w * *p, *second + w * p.length_squared(), *vertices + 1);
            row.iter().filter(|(k, _)| k.get() < known).for_each(|(k, u)| shared[k.get()] += w * u);
        }
    }
    let helper = |(at, (sum, first, second, shared, vertices)): (usize, (f64, DVec3, f64, Vec<f64>, usize))| {
        let centre = if sum > 0.0 { first / sum } else { DVec3::ZERO };
        let radius = if sum > 0.0 { (second / sum - centre.length_squared()).max(0.0).sqrt() } else { 0.0 };
        // A helper that shares no vertex with a known bone hangs on the one nearest to it.
        let far = |k: usize| rig.skeleton().bind()[BoneIndex::new(k)].translation.distance(centre);
        let closer = |a: &usize, b: &usize| shared[*a].total_cmp(&shared[*b]).then(far(*b).total_cmp(&far(*a)));
        let parent = BoneIndex::new((0..known).max_by(closer).unwrap_or(0));
        let (name, joints) = (fresh_name(rig.skeleton(), at + 1), joints_around(rig.skeleton(), parent));
        Helper { name, parent, centre, radius, joints, vertices, explained: None }
    };
    sums.into_iter().enumerate().map(helper).collect()
}

/// A name that no bone has.
fn fresh_name(skeleton: &Skeleton, number: usize) -> String {
    let mut name = format!("helper_{number}");
    while skeleton.find(&name).is_some() {
        name.push('_');
    }
    name
}

/// The joints within two of a bone: its own, those of its neighbours, and of theirs.
fn joints_around(skeleton: &Skeleton, bone: BoneIndex) -> Vec<(BoneIndex, BoneIndex)> {
    let parent = |k: BoneIndex| skeleton.parents()[k];
    let near = |k: BoneIndex| k == bone || parent(k) == Some(bone) || parent(bone) == Some(k);
    let joint = |k: BoneIndex| Some((parent(k)?, k)).filter(|&(from, to)| near(from) || near(to));
    skeleton.bones().filter_map(joint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::Arm;

    /// A helper that no vertex follows, as weights that are solved again may leave one, has a place all the same.
    #[test]
    fn a_helper_without_vertices_stands_at_the_origin() {
        let arm = Arm::new(8, 6);
        let found = place(&arm.rig, arm.weights(), 1);
        assert_eq!((found[0].centre, found[0].radius, found[0].vertices), (DVec3::ZERO, 0.0, 0));
    }
}
