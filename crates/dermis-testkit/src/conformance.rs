//! One suite for every way of evaluating models: all [models](crate::models) over some rigs, in poses near the origin and far
//! from it, against the `f64` reference. A new way to evaluate implements [`Path`] and calls [`Suite::check`].
//!
//! Positions are those of [`Deformer::evaluate`]. Normals that the base's matrix turns are those of
//! [`skinned_normal`] of [`Base::linear`](dermis_deform::Base::linear); normals of the mesh those of [`MeshNormals`] of the
//! positions that the path itself computed.

use crate::models::{given, models, over_every_base, poses, reads_world, strip};
use crate::{Random, Tree, some_motion};
use dermis_deform::{Base, CorrectiveSmooth, Deformer, MeshNormals, skinned_normal};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DMat3, DVec3, Vec3};
use dermis_rig::rotation::{cofactor, nearest_rotation};
use std::sync::Arc;

/// How far the characters of far poses stand from the origin, metres.
pub const FAR: f64 = 1000.0;

/// What a path is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Positions alone.
    Positions,
    /// Positions, and rest normals turned by the base's matrix.
    SkinnedNormals,
    /// Positions, and normals of the mesh that they are.
    MeshNormals,
}

/// What a path computes, pose after pose.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skins {
    /// A skin per pose.
    pub positions: Vec<Vec<Vec3>>,
    /// Normals per pose, where they are wanted.
    pub normals: Vec<Vec<Vec3>>,
    /// Vertices that the ball held back in each pose, from a path that counts them.
    pub held: Option<Vec<usize>>,
}

/// A way to evaluate models.
pub trait Path {
    /// What failures call it.
    fn name(&self) -> String;

    /// Largest distance from the reference along an axis that rounding explains, in units of the case's length. Beside it,
    /// half an ulp of the pose's largest coordinate is allowed.
    fn tolerance(&self) -> f64;

    /// Whether it evaluates such a model at all.
    fn supports(&self, model: &Deformer, wanted: Wanted) -> bool;

    /// Evaluates all poses of a case; `None` if the model is refused, which must be just those not supported.
    fn evaluate(&mut self, case: &Case, wanted: Wanted) -> Option<Skins>;
}

/// A model with poses, and what the reference makes of them.
#[derive(Clone, Debug)]
pub struct Case {
    /// Model and rig, in words.
    pub name: String,
    /// The model.
    pub deformer: Deformer,
    /// Faces.
    pub triangles: Arc<Vec<[u32; 3]>>,
    /// Normals at rest of any length, one of them zero.
    pub rest_normals: Arc<Vec<DVec3>>,
    /// The poses, of one number of bones.
    pub poses: Vec<BoneTransforms>,
    /// Positions for a base that needs them, per pose.
    pub given: Vec<Vec<Vec3>>,
    /// The rest diagonal, one metre at least: so far apart are the joints of the smallest rigs.
    pub length: f64,
    /// How often each vertex may be rounded where it stands.
    roundings: Arc<Vec<f64>>,
    expected: Vec<Expected>,
}

/// What the reference makes of a pose.
#[derive(Clone, Debug)]
struct Expected {
    positions: Vec<DVec3>,
    held: usize,
    /// How far rounding may move each vertex beside its own rounding, metres; infinite where the base's map is not defined within
    /// rounding.
    slack: Vec<f64>,
    /// Normals turned by the base with how far rounding may turn them; `None` where that is anywhere.
    normals: Vec<Option<(DVec3, f64)>>,
}

/// All cases over some rigs.
#[derive(Clone, Debug)]
pub struct Suite {
    cases: Vec<Case>,
}

/// What a check has seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Models evaluated.
    pub models: usize,
    /// Models refused.
    pub refused: usize,
    /// Normals compared; the others are not defined up to rounding.
    pub normals: usize,
    /// The largest distance from the reference, in units of its bound, and where.
    pub worst: (f64, String),
}

impl Suite {
    /// All models over every rig, in poses of every kind: at rest, rigid, stretched and mirrored bones, near the origin and
    /// [`FAR`] from it (but for corrections that read the world, whose features would see the distance).
    pub fn new(rigs: &[Tree]) -> Self {
        Self::of(rigs, models, |_| true)
    }

    /// [`new`](Self::new) in one stretched, one mirrored and one far pose: for large rigs.
    pub fn in_few_poses(rigs: &[Tree]) -> Self {
        Self::of(rigs, models, |at| matches!(at, 4 | 5 | 8))
    }

    /// Every base without a correction: for rigs of many bones.
    pub fn of_bases(rigs: &[Tree]) -> Self {
        Self::of(rigs, |tree, random| over_every_base(tree, vec![], random), |_| true)
    }

    fn of(
        rigs: &[Tree],
        models: impl Fn(&Tree, &mut Random) -> Vec<(String, Deformer)>,
        keep: impl Fn(usize) -> bool,
    ) -> Self {
        let cases = rigs.iter().enumerate().flat_map(|(at, tree)| cases(tree, at as u64, &models, &keep)).collect();
        Self { cases }
    }

    /// All cases.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Runs every case on a path that evaluates some of them.
    ///
    /// # Panics
    /// If a vertex of some model is farther from the reference than the path says, or a normal than rounding explains; if
    /// the ball holds back another number of vertices (one in a thousand at its edge apart); if the path refuses a model that it says it
    /// supports, or evaluates another. The message lists the first of them and counts all.
    pub fn check(&self, path: &mut dyn Path, wanted: Wanted) -> Report {
        let mut check = Check::default();
        for case in &self.cases {
            let skins = path.evaluate(case, wanted);
            if skins.is_some() != path.supports(&case.deformer, wanted) {
                let what = if skins.is_some() { "evaluated though not supported" } else { "refused" };
                check.fail(|| format!("{}: {what}", case.name));
            }
            let Some(skins) = skins else {
                check.report.refused += 1;
                continue;
            };
            check.report.models += 1;
            case.compare_positions(&skins, path.tolerance(), &mut check);
            match wanted {
                Wanted::Positions => {}
                Wanted::SkinnedNormals => case.compare_skinned_normals(&skins, &mut check),
                Wanted::MeshNormals => case.compare_mesh_normals(&skins, &mut check),
            }
        }
        let Check { report, failures, first } = check;
        let models = report.models;
        assert!(failures == 0, "{} {wanted:?}: {failures} failures in {models} models:\n{first}", path.name());
        report
    }
}

/// A check under way.
#[derive(Default)]
struct Check {
    report: Report,
    failures: usize,
    /// The first of them, line by line.
    first: String,
}

impl Check {
    fn fail(&mut self, text: impl FnOnce() -> String) {
        self.failures += 1;
        if self.failures <= 12 {
            self.first += &format!("  {}\n", text());
        }
    }

    /// A distance in units of its bound.
    fn saw(&mut self, off: f64, at: impl FnOnce() -> String) {
        if off > self.report.worst.0 {
            self.report.worst = (off, at());
        }
    }
}

/// All models over a rig.
fn cases(
    tree: &Tree,
    seed: u64,
    models: &impl Fn(&Tree, &mut Random) -> Vec<(String, Deformer)>,
    keep: &impl Fn(usize) -> bool,
) -> Vec<Case> {
    let mut random = Random::new(620 + seed);
    let vertices = tree.rig.mesh().positions.len();
    let near = poses(tree, &mut random);
    let moved = |far: f64| some_motion(0.7, DVec3::new(2.0, -1.0, 3.0) + DVec3::new(-0.5, 0.3, 0.81).normalize() * far);
    // At rest, then five poses near, then five far.
    let mut all = vec![BoneTransforms::identity(tree.rig.skeleton().len())];
    all.extend(near.iter().map(|pose| pose.moved(moved(0.0))));
    all.extend(near.iter().map(|pose| pose.moved(moved(FAR))));
    let first_far = 1 + near.len();
    let given: Vec<Vec<Vec3>> = all.iter().map(|pose| given(tree, pose, &mut random)).collect();
    let mut normals: Vec<DVec3> = (0..vertices).map(|_| random.direction() * random.between(0.1, 9.0)).collect();
    normals.iter_mut().skip(3).take(1).for_each(|n| *n = DVec3::ZERO);
    let (normals, triangles) = (Arc::new(normals), Arc::new(faces(vertices, &mut random)));
    // Once; a vertex without influences stays at the origin when the character leaves, but is computed about the
    // character's middle.
    let roundings = tree.weights().rows().map(|row| if row.is_empty() { 2.0 } else { 1.0 });
    let roundings = Arc::new(roundings.collect::<Vec<_>>());
    let most = tree.weights().rows().map(<[_]>::len).max().unwrap_or(0);
    let of_rig = format!("{vertices} vertices with up to {most} influences");
    let case = |(name, deformer): (String, Deformer)| {
        let near_only = deformer.corrections().iter().any(reads_world);
        // Given positions stay where they are, and are rounded there after every correction.
        let steps = match deformer.base() {
            dermis_deform::Base::Given => deformer.corrections().len().max(1),
            _ => 1,
        };
        let roundings = match steps {
            1 => roundings.clone(),
            _ => Arc::new(roundings.iter().map(|once| once * steps as f64).collect()),
        };
        let kept = || (0..all.len()).filter(|&at| keep(at) && !(near_only && at >= first_far));
        let mut case = Case {
            name: format!("{name}, {of_rig}"),
            deformer,
            triangles: triangles.clone(),
            rest_normals: normals.clone(),
            poses: kept().map(|at| all[at].clone()).collect(),
            given: kept().map(|at| given[at].clone()).collect(),
            length: tree.rig.mesh().diagonal().max(1.0),
            roundings,
            expected: vec![],
        };
        case.expected = (0..case.poses.len()).map(|pose| case.expect(pose)).collect();
        case
    };
    models(tree, &mut random).into_iter().map(case).collect()
}

/// Any faces: vertices with two and with many, with none at all, and with one that has no area.
fn faces(vertices: usize, random: &mut Random) -> Vec<[u32; 3]> {
    let mut faces = strip(vertices);
    let more = (0..2 * vertices).map(|_| [0; 3].map(|_| random.below(vertices) as u32));
    faces.extend(more.filter(|face| face.iter().all(|v| v % 29 < 27)));
    faces.extend((vertices > 28).then_some([28, 28, 0]));
    faces
}

impl Case {
    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.deformer.rest().len()
    }

    fn expect(&mut self, pose: usize) -> Expected {
        let given: Vec<DVec3> = self.given[pose].iter().map(|p| p.as_dvec3()).collect();
        let mut positions = vec![DVec3::NAN; given.len()];
        let transforms = &self.poses[pose];
        let held = self.deformer.evaluate(transforms, Some(&given), &mut positions).expect("the case is of one rig");
        let bends: Vec<f64> = (0..positions.len()).map(|v| bends(self.deformer.base(), v, transforms)).collect();
        let slack = |bend: f64| if bend < 1e-3 { bend * self.length } else { f64::INFINITY };
        let slack = bends.iter().map(|&bend| slack(bend)).collect();
        let normals = self.rest_normals.iter().enumerate().map(|(v, n)| {
            let linear = self.deformer.base().linear(v, self.deformer.rest()[v], transforms);
            let bound = Some(normal_bound(&linear, *n)? + bends[v]).filter(|bound| *bound < 1e-3)?;
            // Where there is a bound, the dominant bone is not asked for.
            Some((skinned_normal(*n, &linear, &DMat3::IDENTITY), bound))
        });
        Expected { normals: normals.collect(), positions, held, slack }
    }

    fn compare_positions(&self, skins: &Skins, tolerance: f64, check: &mut Check) {
        assert_eq!(skins.positions.len(), self.expected.len(), "{}: a skin per pose", self.name);
        for (pose, (got, expected)) in skins.positions.iter().zip(&self.expected).enumerate() {
            assert_eq!(got.len(), expected.positions.len(), "{}: a position per vertex", self.name);
            let rounding = rounding(&expected.positions);
            let bound = |v: usize| tolerance * self.length + self.roundings[v] * rounding + expected.slack[v];
            let off = |v: usize| (got[v].as_dvec3() - expected.positions[v]).abs().max_element() / bound(v);
            let (v, off) = farthest((0..got.len()).map(off));
            let at = || format!("{}, pose {pose}, vertex {v}", self.name);
            if off > 1.0 {
                let (bound, got, expected) = (bound(v), got[v], expected.positions[v]);
                let off = off * bound;
                check.fail(|| format!("{}: {off:.3e} m off, allowed {bound:.3e}: {got} for {expected}", at()));
            }
            check.saw(off, at);
            let held = skins.held.as_ref().map_or(expected.held, |held| held[pose]);
            // One may be at its ball's very edge; at rest all that have no room are.
            // Of a thousand vertices more than one may lie at its edge.
            let at_edge = 1 + expected.positions.len() / 1000;
            if held.abs_diff(expected.held) > at_edge
                && self.poses[pose] != BoneTransforms::identity(self.poses[pose].len())
            {
                check.fail(|| format!("{}, pose {pose}: {held} vertices held, not {}", self.name, expected.held));
            }
        }
    }

    fn compare_skinned_normals(&self, skins: &Skins, check: &mut Check) {
        assert_eq!(skins.normals.len(), self.expected.len(), "{}: normals per pose", self.name);
        for (pose, (got, expected)) in skins.normals.iter().zip(&self.expected).enumerate() {
            assert_eq!(got.len(), expected.normals.len(), "{}: a normal per vertex", self.name);
            for (v, (got, expected)) in got.iter().zip(&expected.normals).enumerate() {
                self.compare_normal((pose, v), *got, *expected, check);
            }
        }
    }

    fn compare_mesh_normals(&self, skins: &Skins, check: &mut Check) {
        assert_eq!(skins.normals.len(), self.expected.len(), "{}: normals per pose", self.name);
        let mesh = MeshNormals::new(&self.triangles, self.vertices()).expect("faces of the mesh");
        for (pose, (positions, got)) in skins.positions.iter().zip(&skins.normals).enumerate() {
            assert_eq!(got.len(), self.vertices(), "{}: a normal per vertex", self.name);
            let positions: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
            let mut expected = vec![DVec3::NAN; got.len()];
            mesh.compute_f64(&positions, &mut expected);
            let (mut areas, mut sums) = (vec![DVec3::ZERO; got.len()], vec![0.0; got.len()]);
            for corners in self.triangles.iter() {
                let [a, b, c] = corners.map(|v| positions[v as usize]);
                for &v in corners {
                    areas[v as usize] += (b - a).cross(c - a);
                    sums[v as usize] += (b - a).length() * (c - a).length();
                }
            }
            for v in 0..got.len() {
                // Differences are exact or rounded once, products and sums once each: 2⁻²⁴ a few times over. Without a face
                // there is nothing to round.
                let bound = 1e-6 + 1e-6 * sums[v] / areas[v].length().max(1e-300);
                let expected = Some((expected[v], bound)).filter(|_| bound < 1e-2);
                self.compare_normal((pose, v), got[v], expected, check);
            }
        }
    }

    /// A normal has unit length, and is the one expected where one is.
    fn compare_normal(&self, (pose, v): (usize, usize), got: Vec3, expected: Option<(DVec3, f64)>, check: &mut Check) {
        let got = got.as_dvec3();
        let at = || format!("{}, pose {pose}, vertex {v}", self.name);
        if (got.length() - 1.0).abs().is_nan() || (got.length() - 1.0).abs() > 1e-6 {
            check.fail(|| format!("{}: the normal has length {}", at(), got.length()));
        }
        let Some((expected, bound)) = expected else { return };
        check.report.normals += 1;
        let off = got.distance(expected);
        if off > bound {
            check.fail(|| format!("{}: the normal is {off:.3e} off, allowed {bound:.3e}: {got} for {expected}", at()));
        }
        check.saw(off / bound, at);
    }
}

/// How far rounding may turn a normal; `None` where the sign or the direction itself is rounding.
///
/// An entry of a cofactor is the difference of two products, each rounded by 2⁻²³ |A|² at most, entries of A included; the
/// sign is that of det A.
fn normal_bound(a: &DMat3, n: DVec3) -> Option<f64> {
    if n == DVec3::ZERO {
        return Some(0.0);
    }
    let size = a.to_cols_array().iter().map(|x| x * x).sum::<f64>();
    let bound = 1e-6 + 1e-6 * size / (cofactor(a) * n.normalize()).length();
    (a.determinant().abs() > 1e-5 * size.powf(1.5) && bound < 1e-3).then_some(bound)
}

/// How far rounding may turn the map of a base that finds a rotation: by how much the rotation nearest to C turns when entries of C
/// change by a few of their last bits, or A of corrective smoothing when the points that it reads do.
pub fn bends(base: &Base, v: usize, transforms: &BoneTransforms) -> f64 {
    const BITS: f64 = 3e-7;
    let mush = match base {
        Base::DirectDeltaMush(mush) => mush,
        Base::CorrectiveSmooth(smooth) => return corners_bend(smooth, v, transforms, BITS),
        _ => return 0.0,
    };
    let c = mush.carried(v, transforms).1;
    let size = c.to_cols_array().iter().fold(0.0f64, |most, x| most.max(x.abs()));
    if size == 0.0 {
        return 0.0;
    }
    let c = c * size.recip();
    let turn = nearest_rotation(&c);
    let bent = |entry: usize| {
        let mut change = [0.0; 9];
        change[entry] = BITS;
        let other = nearest_rotation(&(c + DMat3::from_cols_array(&change)));
        (other - turn).to_cols_array().iter().map(|x| x * x).sum::<f64>()
    };
    (0..9).map(bent).sum::<f64>().sqrt()
}

/// How far A of a vertex turns when a point that it reads moves along an axis by some bits of what it is summed from.
/// Infinite where a corner has a frame by rounding alone.
fn corners_bend(smooth: &CorrectiveSmooth, v: usize, transforms: &BoneTransforms, bits: f64) -> f64 {
    let mut read: Vec<usize> = smooth.corners().of(v).iter().flatten().map(|&at| at as usize).chain([v]).collect();
    read.sort_unstable();
    read.dedup();
    let points: Vec<DVec3> = read.iter().map(|&at| smooth.carried(at, transforms)).collect();
    // Sums of products that are as large as the bones' translations, less the shift of the character.
    let shift = transforms.iter().map(|m| m.transform_point3(smooth.centres()[0])).sum::<DVec3>();
    let shift = shift / transforms.len() as f64;
    let summed = points.iter().copied().chain(transforms.iter().map(|m| m.translation));
    let size = summed.map(|p| p.distance(shift)).fold(0.0, f64::max);
    let turned = |moved: usize, by: DVec3| {
        let at = |of: usize| {
            let place = read.binary_search(&of).expect("it is read");
            points[place] + if place == moved { by } else { DVec3::ZERO }
        };
        smooth.turn(v, at)
    };
    let still = turned(usize::MAX, DVec3::ZERO);
    let bent = |moved: usize, axis: DVec3| match (still, turned(moved, axis * (bits * size))) {
        (None, None) => 0.0,
        (Some(a), Some(b)) => (a - b).to_cols_array().iter().map(|x| x * x).sum::<f64>(),
        _ => f64::INFINITY,
    };
    (0..read.len()).flat_map(|moved| DVec3::AXES.map(|axis| bent(moved, axis))).sum::<f64>().sqrt()
}

/// The largest of some distances and its place; one that is no number counts as infinite.
fn farthest(distances: impl Iterator<Item = f64>) -> (usize, f64) {
    let finite = distances.map(|d| if d.is_nan() { f64::INFINITY } else { d });
    finite.enumerate().fold((0, 0.0), |most, (v, d)| if d > most.1 { (v, d) } else { most })
}

/// Half an ulp of the largest coordinate, rounded up.
pub fn rounding(points: &[DVec3]) -> f64 {
    points.iter().flat_map(|p| p.to_array()).fold(0.0f64, |most, x| most.max(x.abs())) * 2f64.powi(-24)
}
