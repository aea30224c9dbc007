//! Bones from triangles that turn together, then weights: the clustering form of skinning decomposition.
//!
//! Every triangle gives a rotation per frame, 9 P numbers in all. Mean shift finds groups of triangles with similar rotations. Each
//! group becomes a bone, and every vertex is blended from the K bones that reproduce it best alone. Bones and weights are not
//! iterated, so the error is several times that of a search. In return the method needs no number of bones, and its bones are
//! near-rigid parts. Parts that turn alike become one bone wherever they are, such as two arms raised together.
//!
//! Source: James & Twigg 2005. Departures: weights are least squares over the simplex (theirs: truncated SVD or non-negative least
//! squares); of meshes above [`SAMPLE`] triangles evenly many are shifted, in the principal axes of their rotations (what
//! is left out is below 1e-6 of the variance, or beyond 32 axes), and the others join the nearest group. So the time is bounded.

use super::bone_maps::{fit_affine, fit_rigid, outer};
use super::outliers::Mended;
use super::ties::{first_of_largest, sorted_by};
use super::{BoneKind, DecomposeError, DecomposeReport, Decomposition, Sequence, Stopped};
use crate::Progress;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_rig::{BoneIndex, BoneTransforms, InfluenceError, Influences, PrincipalBox};
use dermis_solve::faer::Mat;
use dermis_solve::mean_shift::{Clusters, mean_shift};
use dermis_solve::simplex::{Entry, Quadratic};
use dermis_solve::symmetric::principal_axes;
use rayon::prelude::*;

/// Triangles that take part in the mean shift, at most: some tenth of a second each time.
pub const SAMPLE: usize = 600;
/// Groups with a smaller share of the triangles are no bones, when a bandwidth is given.
const LEAST_SHARE: f64 = 0.005;
/// The same in parts of an equal share, when a number of bones is; half of it, and so on, where there are not as many such groups.
/// With groups of any size most of a skin that bends smoothly is one group, and the others are specks.
const LEAST_OF_EQUAL: f64 = 0.25;
/// Principal axes of the rotations, at most.
const MOST_AXES: usize = 32;
/// Halvings of the bandwidth's interval when a number of bones is asked for.
const HALVINGS: usize = 12;

/// How many groups are formed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bandwidth {
    /// As many as this bandwidth finds: the root mean square over frames of |R − R'| between two triangles (√8 at a half turn).
    Given(f64),
    /// The largest bandwidth that finds at least so many; of those it finds, the largest groups.
    For {
        /// Bones.
        bones: usize,
    },
}

/// Settings of a clustering.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusteringSettings {
    /// How many groups are formed.
    pub bandwidth: Bandwidth,
    /// Which transforms a bone may have.
    pub kind: BoneKind,
    /// K: the most influences of a vertex.
    pub influences: usize,
}

/// Why a sequence cannot be clustered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClusteringError {
    /// Vertices alone do not turn.
    #[error("clustering needs triangles with an area at rest, and there are none")]
    NoTriangles,
    /// A bandwidth that is none.
    #[error("a bandwidth must be positive, but it is {0}")]
    Bandwidth(f64),
    /// As for every decomposition.
    #[error(transparent)]
    Sequence(#[from] DecomposeError),
    /// More influences than can be counted.
    #[error(transparent)]
    Influences(#[from] InfluenceError),
}

/// Bones and weights from triangles that turn together.
///
/// # Errors
/// [`ClusteringError`].
pub fn cluster(
    sequence: &Sequence<'_>,
    settings: &ClusteringSettings,
    progress: Progress<'_>,
) -> Result<Decomposition, ClusteringError> {
    let requested = match settings.bandwidth {
        Bandwidth::For { bones } => bones,
        Bandwidth::Given(h) if h > 0.0 && h.is_finite() => 1,
        Bandwidth::Given(h) => return Err(ClusteringError::Bandwidth(h)),
    };
    check(sequence, requested, settings.influences)?;
    let mut mended = Mended::of(sequence);
    let frames = mended.as_ref().map_or_else(|| sequence.frames.to_vec(), Mended::frames);
    let sequence = &Sequence { frames: &frames, ..*sequence };
    let step = |done| progress(done, 4).is_break();
    let solid: Vec<[u32; 3]> =
        sequence.triangles.iter().copied().filter(|t| rest_frame(sequence.rest, t).is_some()).collect();
    if solid.is_empty() {
        return Err(ClusteringError::NoTriangles);
    }
    let stride = solid.len().div_ceil(SAMPLE);
    let sample: Vec<[u32; 3]> = solid.iter().copied().step_by(stride).collect();
    let turns: Vec<Vec<f64>> = sample.par_iter().map(|t| turns(sequence, t)).collect();
    if step(1) {
        return Err(DecomposeError::Cancelled.into());
    }
    let (groups, fewer_because) = groups(&turns, settings.bandwidth, sequence.frames.len());
    if step(2) {
        return Err(DecomposeError::Cancelled.into());
    }
    let members = members(sequence, &solid, &means(&turns, &groups));
    let bones: Vec<Vec<DAffine3>> = members.par_iter().map(|m| bone(sequence, m, settings.kind)).collect();
    if step(3) {
        return Err(DecomposeError::Cancelled.into());
    }
    let (rows, squares) = weights(sequence, &bones, settings.influences);
    let count = (sequence.rest.len() * sequence.frames.len()) as f64;
    let pose = |s: usize| BoneTransforms::new(bones.iter().map(|b| b[s]).collect());
    let transforms: Vec<BoneTransforms> = (0..sequence.frames.len()).map(pose).collect();
    let mut weights = Influences::from_rows(rows)?;
    let mut outliers = vec![];
    if let Some(mended) = &mut mended {
        weights = mended.solved(&weights, &transforms, settings.influences, &|_| false)?;
        mended.follow(&weights, &transforms);
        outliers = mended.outliers();
    }
    Ok(Decomposition {
        weights,
        transforms,
        report: DecomposeReport {
            bones_requested: if matches!(settings.bandwidth, Bandwidth::For { .. }) { requested } else { bones.len() },
            bones: bones.len(),
            fewer_because: fewer_because.filter(|_| bones.len() < requested),
            iterations: 1,
            stopped: Stopped::Converged,
            mean_square: squares / count,
            roughness: None,
            too_few: None,
            outliers,
        },
    })
}

fn check(sequence: &Sequence<'_>, bones: usize, influences: usize) -> Result<(), DecomposeError> {
    let (vertices, frames) = (sequence.rest.len(), sequence.frames.len());
    if vertices == 0 || frames == 0 || bones == 0 || influences == 0 {
        return Err(DecomposeError::Empty { vertices, frames, bones, influences });
    }
    let finite = |positions: &[DVec3]| positions.iter().position(|p| !p.is_finite());
    if let Some(vertex) = finite(sequence.rest) {
        return Err(DecomposeError::NotFinite { place: "the rest shape".into(), vertex });
    }
    for (frame, positions) in sequence.frames.iter().enumerate() {
        let (what, found) = ("vertices of a frame", positions.len());
        if found != vertices {
            return Err(DecomposeError::Counts { what, found, expected: vertices });
        }
        if let Some(vertex) = finite(positions) {
            return Err(DecomposeError::NotFinite { place: format!("frame {frame}"), vertex });
        }
    }
    Ok(())
}

/// Two edges and the unit normal as columns; zero for the normal where there is no area.
fn frame(positions: &[DVec3], triangle: &[u32; 3]) -> DMat3 {
    let [a, b, c] = triangle.map(|corner| positions[corner as usize]);
    DMat3::from_cols(b - a, c - a, (b - a).cross(c - a).normalize_or_zero())
}

/// The inverse of [`frame`] at rest; `None` without an area, or with corners that do not exist.
fn rest_frame(rest: &[DVec3], triangle: &[u32; 3]) -> Option<DMat3> {
    if triangle.iter().any(|&corner| corner as usize >= rest.len()) {
        return None;
    }
    let at_rest = frame(rest, triangle);
    let (x, y) = (at_rest.x_axis, at_rest.y_axis);
    let has_area = x.cross(y).length() > 1e-10 * (x.length_squared() + y.length_squared());
    has_area.then(|| at_rest.inverse()).filter(DMat3::is_finite)
}

/// The rotation of a triangle in a frame: the one nearest to its deformation gradient, whose third edge is the unit
/// normal. `None` without an area at rest.
pub fn triangle_rotation(rest: &[DVec3], posed: &[DVec3], triangle: &[u32; 3]) -> Option<DMat3> {
    Some(nearest_rotation(&(frame(posed, triangle) * rest_frame(rest, triangle)?)))
}

/// Rotations of a triangle in every frame: 9 P numbers.
fn turns(sequence: &Sequence<'_>, triangle: &[u32; 3]) -> Vec<f64> {
    let undo = rest_frame(sequence.rest, triangle).unwrap_or(DMat3::IDENTITY);
    let turn = |posed: &&[DVec3]| nearest_rotation(&(frame(posed, triangle) * undo)).to_cols_array();
    sequence.frames.iter().flat_map(turn).collect()
}

/// The group of each triangle of the sample, `None` for groups that were dropped; and why there are not more.
fn groups(turns: &[Vec<f64>], bandwidth: Bandwidth, frames: usize) -> (Vec<Option<usize>>, Option<String>) {
    let (points, width) = in_principal_axes(turns);
    let shift = |h: f64| mean_shift(&points, width, h, 0.5 * h);
    let keep = |clusters: &Clusters, most: usize, least: usize| {
        let kept = clusters.sizes.iter().take_while(|size| **size >= least).count().clamp(1, most);
        clusters.labels.iter().map(|&label| Some(label).filter(|l| *l < kept)).collect::<Vec<_>>()
    };
    let count = turns.len() as f64;
    let bones = match bandwidth {
        Bandwidth::Given(h) => {
            let least = (LEAST_SHARE * count).ceil() as usize;
            return (keep(&shift(h * (frames as f64).sqrt()), usize::MAX, least), None);
        }
        Bandwidth::For { bones } => bones,
    };
    // Half turns in every frame are √8 apart; rotations nearer than a millionth of that are one.
    let widest = (8.0 * frames as f64).sqrt();
    let apart = shift(1e-6 * widest);
    let distinct = apart.sizes.len();
    if distinct <= bones {
        let reason = format!("triangles turn in only {distinct} different ways");
        return (keep(&apart, bones, 1), (distinct < bones).then_some(reason));
    }
    let mut least = (LEAST_OF_EQUAL * count / bones as f64).ceil() as usize;
    loop {
        let (mut low, mut high) = (1e-6 * widest, widest);
        let mut best: Option<Clusters> = None;
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let found = shift(middle);
            match found.sizes.iter().filter(|size| **size >= least).count().cmp(&bones) {
                std::cmp::Ordering::Less => high = middle,
                order => {
                    low = middle;
                    best = Some(found);
                    if order.is_eq() {
                        break;
                    }
                }
            }
        }
        match best {
            Some(best) => return (keep(&best, bones, least), None),
            None if least == 1 => return (keep(&apart, bones, 1), None),
            None => least = least.div_ceil(2).min(least - 1),
        }
    }
}

/// Points of the same distances in as few coordinates as carry all but 1e-6 of their variance, row after row.
fn in_principal_axes(points: &[Vec<f64>]) -> (Vec<f64>, usize) {
    let count = points.len();
    let width = points.first().map_or(0, Vec::len);
    let mean: Vec<f64> = (0..width).map(|c| points.iter().map(|p| p[c]).sum::<f64>() / count as f64).collect();
    let centred = Mat::from_fn(count, width, |i, c| points[i][c] - mean[c]);
    let gram = &centred * centred.transpose();
    let Ok(axes) = principal_axes(gram.as_ref()) else { return (vec![0.0; count], 1) };
    let total: f64 = axes.values.iter().sum();
    let (mut kept, mut left) = (0, total);
    while kept < axes.values.len().min(MOST_AXES) && left > 1e-6 * total {
        left -= axes.values[kept];
        kept += 1;
    }
    let kept = kept.max(1);
    let row = |i: usize| (0..kept).map(|h| axes.values[h].sqrt() * axes.vectors[(i, h)]).collect::<Vec<_>>();
    ((0..count).flat_map(row).collect(), kept)
}

/// The mean rotations of each group.
fn means(turns: &[Vec<f64>], groups: &[Option<usize>]) -> Vec<Vec<f64>> {
    let count = groups.iter().flatten().max().map_or(0, |most| most + 1);
    let mut sums = vec![(vec![0.0; turns.first().map_or(0, Vec::len)], 0usize); count];
    for (turn, group) in turns.iter().zip(groups) {
        let Some(group) = group else { continue };
        sums[*group].0.iter_mut().zip(turn).for_each(|(sum, t)| *sum += t);
        sums[*group].1 += 1;
    }
    sums.into_iter().map(|(sum, n)| sum.into_iter().map(|s| s / n.max(1) as f64).collect()).collect()
}

/// The vertices of each group's triangles, once each: every triangle joins the nearest mean.
fn members(sequence: &Sequence<'_>, triangles: &[[u32; 3]], means: &[Vec<f64>]) -> Vec<Vec<u32>> {
    let nearest = |triangle: &[u32; 3]| {
        let turn = turns(sequence, triangle);
        let distance = |mean: &Vec<f64>| mean.iter().zip(&turn).map(|(m, t)| (m - t) * (m - t)).sum::<f64>();
        let distances: Vec<f64> = means.iter().map(distance).collect();
        let farthest = distances.iter().copied().fold(0.0, f64::max);
        first_of_largest(distances.iter().map(|d| -d), farthest)
    };
    let labels: Vec<usize> = triangles.par_iter().map(nearest).collect();
    let mut members = vec![Vec::new(); means.len()];
    for (triangle, &label) in triangles.iter().zip(&labels) {
        members[label].extend(triangle);
    }
    for list in &mut members {
        list.sort_unstable();
        list.dedup();
    }
    members.retain(|list| !list.is_empty());
    members
}

/// The maps of a bone in every frame, fitted to its vertices.
fn bone(sequence: &Sequence<'_>, members: &[u32], kind: BoneKind) -> Vec<DAffine3> {
    let map = |posed: &&[DVec3]| {
        let pairs = members.iter().map(|&v| (sequence.rest[v as usize], posed[v as usize]));
        match kind {
            BoneKind::Rigid => fit_rigid(pairs.map(|(p, q)| (1.0, p, q))),
            BoneKind::Affine => fit_affine(pairs),
            BoneKind::NearRigid { stiffness } => {
                let extent = PrincipalBox::of(sequence.rest).extent();
                near_rigid(pairs, stiffness * 0.25 * extent * extent)
            }
        }
    };
    sequence.frames.iter().map(map).collect()
}

/// Minimises the mean of |A p + t − q|² plus λ |A − R|², R the rigid fit's rotation.
fn near_rigid(pairs: impl ExactSizeIterator<Item = (DVec3, DVec3)> + Clone, lambda: f64) -> DAffine3 {
    let rigid = fit_rigid(pairs.clone().map(|(p, q)| (1.0, p, q)));
    let count = pairs.len().max(1) as f64;
    let from = pairs.clone().map(|(p, _)| p).sum::<DVec3>() / count;
    let to = pairs.clone().map(|(_, q)| q).sum::<DVec3>() / count;
    let (mut gram, mut moved) = (DMat3::from_diagonal(DVec3::splat(lambda)), rigid.matrix3 * lambda);
    for (p, q) in pairs {
        gram += outer(p - from, p - from) * (1.0 / count);
        moved += outer(q - to, p - from) * (1.0 / count);
    }
    let a = moved * gram.inverse();
    match a.is_finite() {
        true => DAffine3 { matrix3: a, translation: to - a * from },
        false => rigid,
    }
}

/// A row of (bone, weight) per vertex, and the sum of squared errors.
type Weighted = (Vec<Vec<(BoneIndex, f64)>>, f64);

/// Every vertex from the K bones of least error alone: |Σ w_k (T_sk p − x_s)|² is least over the simplex.
fn weights(sequence: &Sequence<'_>, bones: &[Vec<DAffine3>], influences: usize) -> Weighted {
    let solve = |v: usize| {
        let off = |bone: &[DAffine3]| -> Vec<DVec3> {
            let frames = sequence.frames.iter().zip(bone);
            frames.map(|(posed, map)| map.transform_point3(sequence.rest[v]) - posed[v]).collect()
        };
        let alone = |bone: &Vec<DAffine3>| {
            let frames = sequence.frames.iter().zip(bone);
            frames.map(|(x, m)| m.transform_point3(sequence.rest[v]).distance_squared(x[v])).sum::<f64>()
        };
        let errors: Vec<f64> = bones.iter().map(alone).collect();
        let mut best: Vec<usize> = (0..bones.len()).collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        let by = |k: usize| sorted_by(errors[k], largest);
        best.sort_by(|&a, &b| by(a).total_cmp(&by(b)));
        best.truncate(influences);
        let offs: Vec<Vec<DVec3>> = best.iter().map(|&k| off(&bones[k])).collect();
        let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
        let gram = offs.iter().flat_map(|a| offs.iter().map(|b| dot(a, b))).collect();
        // Squares of finite numbers may still overflow: then the best bone alone.
        let Ok(quadratic) = Quadratic::new(gram, vec![0.0; best.len()]) else {
            return (vec![(BoneIndex::new(best[0]), 1.0)], errors[best[0]]);
        };
        let found = quadratic.minimise_sparse(&vec![Entry::Free; best.len()], influences);
        let row = best.iter().zip(&found.weights).filter(|(_, w)| **w > 0.0).map(|(&k, &w)| (BoneIndex::new(k), w));
        (row.collect::<Vec<_>>(), found.value.max(0.0))
    };
    let solved: Vec<(Vec<(BoneIndex, f64)>, f64)> = (0..sequence.rest.len()).into_par_iter().map(solve).collect();
    let squares = solved.iter().map(|(_, e)| e).sum();
    (solved.into_iter().map(|(row, _)| row).collect(), squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::silent;
    use dermis_rig::glam::DQuat;

    /// A strip of `parts` boxes side by side that share no vertex, each turning its own way; triangles of each box.
    fn boxes(parts: usize, frames: usize) -> (Vec<DVec3>, Vec<[u32; 3]>, Vec<Vec<DVec3>>) {
        let corner = |c: usize| DVec3::new((c & 1) as f64, (c >> 1 & 1) as f64, (c >> 2 & 1) as f64);
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let (mut rest, mut triangles) = (Vec::new(), Vec::new());
        for part in 0..parts {
            let at = rest.len() as u32;
            rest.extend((0..8).map(|c| corner(c) + DVec3::X * 1.5 * part as f64));
            for [a, b, c, d] in quads {
                triangles.extend([[at + a, at + b, at + c], [at + a, at + c, at + d]]);
            }
        }
        let turned = |s: usize| {
            let map = |part: usize| {
                let axis = DVec3::new((part as f64).sin(), (part as f64).cos(), 0.5).normalize();
                let turn = DQuat::from_axis_angle(axis, 0.4 * (s + 1) as f64 * (1.0 + part as f64));
                DAffine3::from_rotation_translation(turn, DVec3::new(part as f64, s as f64, 0.0))
            };
            (0..rest.len()).map(|v| map(v / 8).transform_point3(rest[v])).collect()
        };
        let frames = (0..frames).map(turned).collect();
        (rest, triangles, frames)
    }

    fn run(
        (rest, triangles, frames): &(Vec<DVec3>, Vec<[u32; 3]>, Vec<Vec<DVec3>>),
        bandwidth: Bandwidth,
        kind: BoneKind,
    ) -> Decomposition {
        let frames: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
        let settings = ClusteringSettings { bandwidth, kind, influences: 4 };
        cluster(&Sequence { rest, frames: &frames, triangles }, &settings, &silent).unwrap()
    }

    #[test]
    fn parts_that_turn_on_their_own_are_found_without_their_number() {
        let scene = boxes(5, 3);
        for bandwidth in [Bandwidth::Given(0.2), Bandwidth::For { bones: 5 }] {
            for kind in [BoneKind::Rigid, BoneKind::Affine, BoneKind::NearRigid { stiffness: 1e-3 }] {
                let found = run(&scene, bandwidth, kind);
                assert_eq!((found.report.bones, found.report.fewer_because), (5, None));
                // Coordinates up to 10: squares of their rounding, 10 · 2⁻⁵² · some.
                assert!(found.report.mean_square < 1e-26, "{kind:?}: {}", found.report.mean_square);
                let of = |v: usize| found.weights.dominant(v).unwrap();
                assert!((0..40).all(|v| of(v) == of(v / 8 * 8)) && (1..5).all(|part| of(8 * part) != of(8 * part - 8)));
            }
        }
    }

    #[test]
    fn fewer_bones_than_asked_for_have_a_reason() {
        let found = run(&boxes(3, 2), Bandwidth::For { bones: 7 }, BoneKind::Rigid);
        assert_eq!(found.report.bones, 3);
        assert_eq!(found.report.fewer_because.as_deref(), Some("triangles turn in only 3 different ways"));
    }

    #[test]
    fn more_parts_than_bones_are_shared_out() {
        let found = run(&boxes(9, 3), Bandwidth::For { bones: 4 }, BoneKind::Rigid);
        assert_eq!(found.report.bones, 4);
        for row in found.weights.rows() {
            assert!((row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-12 && row.iter().all(|e| e.1 > 0.0));
        }
    }

    /// A mesh above the sample, of distinct vertices: the sample stands for the others.
    #[test]
    fn large_meshes_are_sampled() {
        let scene = boxes(120, 2);
        assert!(scene.1.len() > SAMPLE);
        let found = run(&scene, Bandwidth::Given(1e-6), BoneKind::Rigid);
        assert_eq!(found.report.bones, 120);
        assert!(found.report.mean_square < 1e-20);
    }

    #[test]
    fn flat_far_and_empty_triangles_are_passed_over() {
        let (mut rest, mut triangles, mut frames) = boxes(2, 2);
        triangles.extend([[0, 0, 1], [0, 1, 999], [16, 16, 16]]);
        rest.push(DVec3::splat(7.0)); // no triangle with an area has it
        frames.iter_mut().for_each(|f| f.push(DVec3::splat(8.0)));
        let found = run(&(rest.clone(), triangles, frames.clone()), Bandwidth::For { bones: 2 }, BoneKind::Rigid);
        assert_eq!((found.report.bones, found.weights.vertices()), (2, 17));
        let frames: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
        let sequence = Sequence { rest: &rest, frames: &frames, triangles: &[[0, 0, 0]] };
        let settings = ClusteringSettings { bandwidth: Bandwidth::Given(0.1), kind: BoneKind::Rigid, influences: 4 };
        let none = cluster(&sequence, &settings, &silent);
        assert_eq!(none.unwrap_err(), ClusteringError::NoTriangles);
        let short = Sequence { rest: &rest, frames: &[&rest[..3]], triangles: &[[0, 1, 2]] };
        assert!(matches!(
            cluster(&short, &settings, &silent),
            Err(ClusteringError::Sequence(DecomposeError::Counts { found: 3, expected: 17, .. }))
        ));
    }
}
