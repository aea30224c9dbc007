//! Left and right: a mirror symmetry of a rig, found from its rest mesh and skinning weights.
//!
//! The symmetry is a reflection S in a plane of any direction, a partner for each vertex and one for each bone. The
//! mirror image of a pose is M'_k = S M_π(k) S, the mirror image of a displacement of the skin d'_v = S d_μ(v): what a
//! character does on its left side it would do on its right.

use crate::index::BoneIndex;
use crate::influences::{InfluenceError, Influences};
use crate::principal::{extent, principal_frame};
use crate::rotation::principal_axes;
use crate::skeleton::{BoneTransforms, Skeleton};
use glam::{DAffine3, DMat3, DVec3};
use std::collections::HashMap;

/// A mirror symmetry of a rig.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirror {
    /// The direction that changes sign, a unit vector.
    pub normal: DVec3,
    /// Where the plane stands: normal · p of its points, metres.
    pub plane: f64,
    /// The partner of each vertex, the nearest to its mirror image; `None` where there is none near.
    pub vertices: Vec<Option<u32>>,
    /// The partner of each bone.
    pub bones: Vec<BoneIndex>,
}

/// How far a vertex may be from another's mirror image, in rest diagonals.
const NEAR: f64 = 0.02;
/// The share of vertices that must have a partner.
const PARTNERED: f64 = 0.9;
/// Vertices that are looked at before all of them are.
const PROBES: usize = 200;
/// Planes whose partners are nearer by less than this, on average and in rest diagonals, are equally good: what is left
/// between them is the rounding of files.
const EQUALLY_NEAR: f64 = 1e-6;
/// How often the plane is moved to where the partners say that it stands.
const REFINED: usize = 8;
/// How much of the weight of two partner bones must agree: Σ min / larger Σ.
const AGREEMENT: f64 = 0.8;

impl Mirror {
    /// The symmetry of a rig, if it has one: at least nine vertices of ten have a partner within 0.02 diagonals, every
    /// bone that carries weight has a partner that carries the same, and parents' partners are partners' parents.
    ///
    /// The normal of a plane of symmetry is a principal axis of whatever is symmetric. The principal axes of the vertices and of the
    /// bones' places are tried, each through its middle, and moved to where partners are nearest in the least squares. The
    /// plane whose partners are nearest on average is taken; of equally good ones the first, those of the vertices before
    /// those of the bones. Turning or moving the rig turns and moves the plane.
    pub fn find(rest: &[DVec3], skeleton: &Skeleton, weights: &Influences) -> Option<Self> {
        let length = extent(rest);
        if weights.vertices() != rest.len() || !(length > 0.0 && length.is_finite()) {
            return None;
        }
        let tree = Tree::new(rest, NEAR * length);
        let bones: Vec<DVec3> = skeleton.bind().iter().map(|bind| bind.translation).collect();
        let mut found: Vec<(f64, Self)> = Vec::new();
        for start in planes(rest).into_iter().chain(planes(&bones)) {
            let plane = refined(&tree, start).unwrap_or(start);
            let Some((distance, vertices)) = partners(&tree, plane) else { continue };
            if let Some(bones) = partner_bones(&vertices, skeleton, weights, plane) {
                let (normal, plane) = plane;
                found.push((distance, Self { normal, plane, vertices, bones }));
            }
        }
        let least = found.iter().map(|(distance, _)| *distance).fold(f64::INFINITY, f64::min);
        found.into_iter().find(|(distance, _)| *distance <= least + EQUALLY_NEAR * length).map(|(_, mirror)| mirror)
    }

    /// Whether some bone is another one's mirror image: a hinge in the plane has no left and right.
    pub fn has_sides(&self) -> bool {
        self.bones.iter().enumerate().any(|(bone, partner)| partner.get() != bone)
    }

    /// The mirror image of a displacement.
    pub fn vector(&self, d: DVec3) -> DVec3 {
        d - self.normal * (2.0 * self.normal.dot(d))
    }

    /// The mirror image of a point.
    pub fn point(&self, p: DVec3) -> DVec3 {
        reflected(p, (self.normal, self.plane))
    }

    /// Weights with the mean of both sides: w_v = ½ (w_v + π w_μ(v)), of at most `influences` bones a vertex. A vertex that is not its
    /// partner's partner keeps its own.
    ///
    /// # Errors
    /// [`InfluenceError`] for weights that are not those of this rig.
    pub fn symmetric_weights(&self, weights: &Influences, influences: usize) -> Result<Influences, InfluenceError> {
        let partner = |v: usize| self.vertices[v].map(|u| u as usize).filter(|&u| self.vertices[u] == Some(v as u32));
        let image = |row: &[(BoneIndex, f64)]| row.iter().map(|&(k, w)| (self.bones[k.get()], w)).collect::<Vec<_>>();
        let mut rows: Vec<Vec<(BoneIndex, f64)>> = (0..weights.vertices()).map(|v| weights.of(v).to_vec()).collect();
        for v in 0..rows.len() {
            let Some(u) = partner(v).filter(|u| *u >= v) else { continue };
            let mut mean = rows[v].clone();
            for (bone, w) in image(&rows[u]) {
                match mean.iter_mut().find(|(known, _)| *known == bone) {
                    Some((_, sum)) => *sum += w,
                    None => mean.push((bone, w)),
                }
            }
            mean.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            mean.truncate(influences);
            if u == v {
                // On the plane both bones of a pair stay, or neither.
                let kept = mean.clone();
                mean.retain(|(k, _)| kept.iter().any(|(l, _)| *l == self.bones[k.get()]));
            }
            let sum: f64 = mean.iter().map(|(_, w)| w).sum();
            if sum > 0.0 {
                mean.iter_mut().for_each(|(_, w)| *w /= sum);
                rows[u] = image(&mean);
                rows[v] = mean;
            }
        }
        Influences::from_rows(rows)
    }

    /// The mirror image of a pose: M'_k = S M_π(k) S.
    pub fn pose(&self, pose: &BoneTransforms) -> BoneTransforms {
        let n = self.normal;
        let matrix3 = DMat3::IDENTITY - 2.0 * DMat3::from_cols(n * n.x, n * n.y, n * n.z);
        let s = DAffine3 { matrix3, translation: n * (2.0 * self.plane) };
        BoneTransforms::new(self.bones.iter().map(|&bone| s * pose[bone] * s).collect())
            .with_channels(pose.channels().clone())
    }
}

/// A plane: its unit normal n, and n · p of its points.
type Plane = (DVec3, f64);

fn reflected(p: DVec3, (normal, plane): Plane) -> DVec3 {
    p + normal * (2.0 * (plane - normal.dot(p)))
}

/// The planes across the principal axes of some points, through their middle.
fn planes(points: &[DVec3]) -> [Plane; 3] {
    let (middle, axes) = principal_frame(points);
    axes.map(|axis| (axis, axis.dot(middle)))
}

/// The partner of each vertex, the one nearest to its mirror image, and how near they are on average; `None` if too few have one.
fn partners(tree: &Tree<'_>, plane: Plane) -> Option<(f64, Vec<Option<u32>>)> {
    let mut distance = 0.0;
    let nearest = |&p: &DVec3| {
        let (partner, d) = tree.nearest(reflected(p, plane))?;
        distance += d;
        Some(partner)
    };
    let vertices: Vec<Option<u32>> = tree.points.iter().map(nearest).collect();
    let partnered = vertices.iter().flatten().count();
    (partnered as f64 >= PARTNERED * vertices.len() as f64).then(|| (distance / partnered as f64, vertices))
}

/// The plane moved to where some vertices and their partners are each other's images in the least squares: the normal is the
/// principal axis of p − q, the plane halfway. `None` if too few have partners.
fn refined(tree: &Tree<'_>, plane: Plane) -> Option<Plane> {
    let rest = tree.points;
    let stride = rest.len().div_ceil(PROBES);
    let probes = || rest.iter().step_by(stride);
    let mut plane = plane;
    for round in 0..REFINED {
        let (mut moments, mut halfway, mut pairs) = (DMat3::ZERO, DVec3::ZERO, 0.0);
        for &p in probes() {
            let Some((q, _)) = tree.nearest(reflected(p, plane)) else { continue };
            let d = p - rest[q as usize];
            moments += DMat3::from_cols(d * d.x, d * d.y, d * d.z);
            halfway += 0.5 * (p + rest[q as usize]);
            pairs += 1.0;
        }
        // A few vertices tell most planes apart.
        if pairs < (PARTNERED - 0.1) * probes().len() as f64 {
            return None;
        }
        let [(most, axis), ..] = principal_axes(&moments);
        // Points in the plane say nothing about its direction.
        let normal = if most > 0.0 { axis * axis.dot(plane.0).signum() } else { plane.0 };
        let next = (normal, normal.dot(halfway / pairs));
        let still = next.0.distance(plane.0) < 1e-12 && round > 0;
        plane = next;
        if still {
            break;
        }
    }
    Some(plane)
}

/// Each bone's partner: the bone whose weights are most like its own on the other side; bones without weight by where
/// they stand.
fn partner_bones(
    vertices: &[Option<u32>],
    skeleton: &Skeleton,
    weights: &Influences,
    plane: Plane,
) -> Option<Vec<BoneIndex>> {
    let bones = skeleton.len();
    let (mut total, mut mirrored_total) = (vec![0.0; bones], vec![0.0; bones]);
    let mut shared = HashMap::<(usize, usize), f64>::new();
    for (v, partner) in vertices.iter().enumerate() {
        let Some(partner) = partner else { continue };
        for &(k, w) in weights.of(v) {
            total[k.get()] += w;
            for &(l, x) in weights.of(*partner as usize) {
                *shared.entry((k.get(), l.get())).or_insert(0.0) += w.min(x);
            }
        }
        for &(l, x) in weights.of(*partner as usize) {
            mirrored_total[l.get()] += x;
        }
    }
    let mut best: Vec<Option<(usize, f64)>> = vec![None; bones];
    // As a part of both bones' weight, or a bone that rides on a larger one would be taken for it.
    for (&(k, l), &sum) in &shared {
        let o = sum / total[k].max(mirrored_total[l]);
        if best[k].is_none_or(|(other, most)| o > most || (o == most && l < other)) {
            best[k] = Some((l, o));
        }
    }
    let place = |b: usize| skeleton.bind()[BoneIndex::new(b)].translation;
    let used = |b: usize| total[b] > 0.0;
    let mut partners = Vec::with_capacity(bones);
    for k in 0..bones {
        partners.push(match best[k].filter(|_| used(k)) {
            Some((l, o)) if o >= AGREEMENT => l,
            Some(_) => return None,
            None => {
                let image = reflected(place(k), plane);
                let distance = |l: &usize| place(*l).distance_squared(image);
                (0..bones).filter(|&l| !used(l)).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(k)
            }
        });
    }
    for k in 0..bones {
        if partners[partners[k]] != k {
            if used(k) {
                return None;
            }
            partners[k] = k;
        }
    }
    let parent = |b: usize| skeleton.parents()[BoneIndex::new(b)].map(BoneIndex::get).filter(|&p| used(p));
    let alike = |b: usize| parent(b).map(|p| partners[p]) == parent(partners[b]);
    (0..bones).filter(|&b| used(b)).all(alike).then(|| partners.into_iter().map(BoneIndex::new).collect())
}

/// Points in a balanced k-d tree: the middle of a part splits it in two, along x, y and z in turn.
struct Tree<'a> {
    points: &'a [DVec3],
    order: Vec<u32>,
    /// How far the nearest may be.
    reach: f64,
}

impl<'a> Tree<'a> {
    fn new(points: &'a [DVec3], reach: f64) -> Self {
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        Self::split(points, &mut order, 0);
        Self { points, order, reach }
    }

    fn split(points: &[DVec3], part: &mut [u32], axis: usize) {
        if part.len() < 2 {
            return;
        }
        let along = |v: &u32| points[*v as usize][axis];
        let (low, _, high) = part.select_nth_unstable_by(part.len() / 2, |a, b| along(a).total_cmp(&along(b)));
        Self::split(points, low, (axis + 1) % 3);
        Self::split(points, high, (axis + 1) % 3);
    }

    /// The nearest point within reach, ties to the lowest index, and its distance.
    fn nearest(&self, p: DVec3) -> Option<(u32, f64)> {
        let mut best = (u32::MAX, self.reach);
        self.search(p, &self.order, 0, &mut best);
        (best.0 != u32::MAX).then_some(best)
    }

    fn search(&self, p: DVec3, part: &[u32], axis: usize, best: &mut (u32, f64)) {
        let Some(&middle) = part.get(part.len() / 2) else { return };
        let at = self.points[middle as usize];
        let d = at.distance(p);
        if d < best.1 || (d == best.1 && middle < best.0) {
            *best = (middle, d);
        }
        let (low, high) = (&part[..part.len() / 2], &part[part.len() / 2 + 1..]);
        let beyond = p[axis] - at[axis];
        let (near, far) = if beyond < 0.0 { (low, high) } else { (high, low) };
        self.search(p, near, (axis + 1) % 3, best);
        if beyond.abs() <= best.1 {
            self.search(p, far, (axis + 1) % 3, best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body with a spine and two arms along ±x, and its weights.
    fn body() -> (Vec<DVec3>, Skeleton, Influences) {
        let bone = BoneIndex::new;
        let place = [DVec3::ZERO, DVec3::X * 0.5, DVec3::X * -0.5].map(DAffine3::from_translation);
        let names = ["spine", "left", "right"].map(String::from).to_vec();
        let skeleton = Skeleton::new(names, vec![None, Some(bone(0)), Some(bone(0))], place.to_vec()).unwrap();
        let (mut rest, mut rows) = (Vec::new(), Vec::new());
        for i in -10..=10 {
            for j in 0..3 {
                let x = 0.1 * f64::from(i);
                rest.push(DVec3::new(x, 0.3 * f64::from(j * j), 0.2 * x * x + 0.4 * f64::from(j * j)));
                let arm = (2.0 * (x.abs() - 0.3)).clamp(0.0, 1.0);
                let side = bone(if x > 0.0 { 1 } else { 2 });
                rows.push(if arm > 0.0 { vec![(bone(0), 1.0 - arm), (side, arm)] } else { vec![(bone(0), 1.0)] });
            }
        }
        (rest, skeleton, Influences::from_rows(rows).unwrap())
    }

    #[test]
    fn left_and_right_are_found_and_a_pose_mirrored_twice_is_itself() {
        let (rest, skeleton, weights) = body();
        let mirror = Mirror::find(&rest, &skeleton, &weights).unwrap();
        assert!(mirror.normal.x.abs() > 1.0 - 1e-12 && mirror.plane.abs() < 1e-12);
        assert_eq!(mirror.bones, [0, 2, 1].map(BoneIndex::new));
        for (v, partner) in mirror.vertices.iter().enumerate() {
            let image = reflected(rest[v], (DVec3::X, 0.0));
            assert!(rest[partner.unwrap() as usize].distance(image) < 1e-12);
        }
        let wave = DAffine3::from_rotation_z(0.7) * DAffine3::from_translation(DVec3::new(0.1, 0.2, 0.3));
        let pose = BoneTransforms::new(vec![DAffine3::from_rotation_y(0.3), wave, DAffine3::IDENTITY]);
        let image = mirror.pose(&pose);
        // A point that follows the left arm, and its partner that follows the right one in the mirror image.
        let p = DVec3::new(0.9, 0.3, 0.0);
        let moved = image.as_slice()[2].transform_point3(reflected(p, (DVec3::X, 0.0)));
        assert!(moved.distance(reflected(wave.transform_point3(p), (DVec3::X, 0.0))) < 1e-14);
        let back = mirror.pose(&image);
        assert!(back.iter().zip(pose.iter()).all(|(a, b)| a.abs_diff_eq(*b, 1e-14)));
    }

    /// Both sides get the mean; on the plane a pair of bones stays or goes together, and a vertex without a partner keeps its own.
    #[test]
    fn symmetric_weights_are_the_mean_of_both_sides() {
        let (rest, skeleton, weights) = body();
        let mut mirror = Mirror::find(&rest, &skeleton, &weights).unwrap();
        let bone = BoneIndex::new;
        let mut rows: Vec<Vec<(BoneIndex, f64)>> = weights.rows().map(<[_]>::to_vec).collect();
        let at = |x: f64| rest.iter().position(|p| p.distance(DVec3::new(x, 0.0, 0.2 * x * x)) < 1e-9).unwrap();
        let (left, right, middle, alone) = (at(0.6), at(-0.6), at(0.0), at(0.9));
        rows[left] = vec![(bone(0), 0.5), (bone(1), 0.5)];
        rows[right] = vec![(bone(0), 0.1), (bone(1), 0.1), (bone(2), 0.8)];
        rows[middle] = vec![(bone(0), 0.6), (bone(1), 0.3), (bone(2), 0.1)];
        rows[alone] = vec![(bone(2), 1.0)];
        mirror.vertices[alone] = None;
        let made = mirror.symmetric_weights(&Influences::from_rows(rows).unwrap(), 2).unwrap();
        let near = |v: usize, expected: [f64; 3]| {
            let found = expected.iter().enumerate().all(|(k, w)| (made.value(v, bone(k)) - w).abs() < 1e-12);
            assert!(found, "{v} {:?}", made.of(v));
        };
        // The means are 0.3, 0.65 and 0.05; of two bones a vertex 0.05 goes.
        near(left, [0.3 / 0.95, 0.65 / 0.95, 0.0]);
        near(right, [0.3 / 0.95, 0.0, 0.65 / 0.95]);
        near(middle, [1.0, 0.0, 0.0]);
        near(alone, [0.0, 0.0, 1.0]);
    }

    /// However the rig stands, the same vertices and bones are partners, and the plane goes with it.
    #[test]
    fn the_plane_goes_with_the_rig() {
        let (rest, skeleton, weights) = body();
        let still = Mirror::find(&rest, &skeleton, &weights).unwrap();
        for i in 1..20 {
            let axis = DVec3::new((f64::from(i) * 1.7).sin(), (f64::from(i) * 2.3).cos(), 0.4).normalize();
            let turn = DAffine3::from_axis_angle(axis, 0.37 * f64::from(i));
            let g = DAffine3::from_translation(DVec3::new(f64::from(i), -3.0, 2.0)) * turn;
            let moved: Vec<DVec3> = rest.iter().map(|p| g.transform_point3(*p)).collect();
            let bind = skeleton.bind().iter().map(|m| g * *m).collect();
            let other = Skeleton::new(skeleton.names().to_vec(), skeleton.parents().to_vec(), bind).unwrap();
            let mirror = Mirror::find(&moved, &other, &weights).unwrap();
            assert_eq!((&mirror.vertices, &mirror.bones), (&still.vertices, &still.bones), "{i}");
            let expected = g.transform_vector3(still.normal);
            assert!(mirror.normal.cross(expected).length() < 1e-9, "{i}: {}", mirror.normal);
            let d = DVec3::new(0.3, -0.2, 0.7);
            let image = g.transform_vector3(still.vector(g.inverse().transform_vector3(d)));
            assert!(mirror.vector(d).distance(image) < 1e-9);
        }
    }

    /// A limb that is symmetric in two planes: which one is taken must not hang on the last digits of its file.
    #[test]
    fn rounding_does_not_choose_between_two_symmetries() {
        let skeleton = Skeleton::new(vec!["bone".into()], vec![None], vec![DAffine3::IDENTITY]).unwrap();
        let ring = |i: usize| {
            let angle = std::f64::consts::TAU * (i % 8) as f64 / 8.0;
            let along = (i / 8) as f64;
            DVec3::new(0.1 * along + 0.05 * along * along, 0.1 * angle.cos(), 0.1 * angle.sin())
        };
        let rest: Vec<DVec3> = (0..80).map(ring).collect();
        let weights = Influences::from_rows(rest.iter().map(|_| vec![(BoneIndex::new(0), 1.0)])).unwrap();
        // Noise across z, then across y, as large as f32 makes it: either plane is the better one once.
        for noise in [DVec3::ZERO, DVec3::Z, DVec3::Y] {
            let rounded: Vec<DVec3> =
                rest.iter().enumerate().map(|(v, p)| *p + noise * 6e-8 * (v % 3) as f64).collect();
            let mirror = Mirror::find(&rounded, &skeleton, &weights).unwrap();
            assert!(mirror.normal.y.abs() > 1.0 - 1e-9 && mirror.plane.abs() < 1e-6, "{noise}: {}", mirror.normal);
        }
    }

    #[test]
    fn bones_that_share_all_their_skin_with_a_larger_one_have_their_own_partners() {
        let (rest, skeleton, weights) = body();
        let shared = weights.rows().map(|row| {
            let arms = row.iter().filter(|(bone, _)| bone.get() > 0).map(|&(bone, w)| (bone, 0.4 * w));
            let arms: Vec<_> = arms.collect();
            let spine = 1.0 - arms.iter().map(|(_, w)| w).sum::<f64>();
            std::iter::once((BoneIndex::new(0), spine)).chain(arms).collect()
        });
        let mirror = Mirror::find(&rest, &skeleton, &Influences::from_rows(shared).unwrap()).unwrap();
        assert_eq!(mirror.bones, [0, 2, 1].map(BoneIndex::new));
    }

    /// As looking at every point, ties included: the points stand on a lattice, some of them twice.
    #[test]
    fn the_tree_finds_the_nearest_of_all_points() {
        let of = |i: u32, many: u32| f64::from(i.wrapping_mul(2_654_435_761) % many);
        let point = |i: u32| DVec3::new(of(i, 7), of(i + 900, 6), of(i + 1800, 5));
        let points: Vec<DVec3> = (0..300).map(point).collect();
        let tree = Tree::new(&points, 1.3);
        for i in 0..400 {
            let p = point(i + 5000) * if i % 2 == 0 { 1.0 } else { 1.37 };
            let near = points.iter().enumerate().map(|(v, q)| (q.distance(p), v as u32));
            let least = near.filter(|(d, _)| *d <= 1.3).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            assert_eq!(tree.nearest(p), least.map(|(d, v)| (v, d)), "{i}");
        }
    }

    #[test]
    fn what_is_not_symmetric_has_no_mirror() {
        let (rest, skeleton, weights) = body();
        let bent: Vec<DVec3> = rest.iter().map(|p| *p + DVec3::new(0.0, p.x.max(0.0), 0.3 * p.x)).collect();
        assert_eq!(Mirror::find(&bent, &skeleton, &weights), None);
        // The right arm follows the spine.
        let one_armed = weights.rows().map(|row| match row {
            [(bone, _), ..] if bone.get() == 2 => vec![(BoneIndex::new(0), 1.0)],
            [spine, (bone, w)] if bone.get() == 2 => vec![(spine.0, spine.1 + w)],
            row => row.to_vec(),
        });
        assert_eq!(Mirror::find(&rest, &skeleton, &Influences::from_rows(one_armed).unwrap()), None);
        assert_eq!(Mirror::find(&[], &skeleton, &Influences::default()), None);
        let nan = vec![DVec3::NAN; rest.len()];
        assert_eq!(Mirror::find(&nan, &skeleton, &weights), None);
    }
}
