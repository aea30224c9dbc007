//! Scans in known poses as examples: the mesh, moved from its skin onto each scan.
//!
//! A displacement d_v at rest moves every vertex of a skin y in the pose of the scan, x_v = y_v + A_v d_v, with A_v what the vertex's bones
//! blend to. It minimises
//!
//! `½ Σ_v ρ_v (n_v·(x_v − c_v))² + ½ Σ_v (ℓ/h_v)⁴ |d_v − mean of d over the neighbours of v|²`
//!
//! over the vertices that have a place on the scan: c_v is the closest point of the scan and n_v its normal, as in the fit of weights
//! ([`super`]), h_v the mean length of the edges at v, and ℓ the length over which a displacement is smooth. Nothing holds a
//! vertex along the surface but its neighbours, and nothing else holds it where the scan has a hole: there the displacement
//! goes on smoothly, and the vertex is marked as not seen.
//!
//! **Holes.** At first y is the skin as the bones carry it ([`fit_templates`]). [`learn_templates`] repeats this with a better y, the
//! prediction of a joint model that learnt from the mesh on other scans: seven eighths of the scans predict the rest. Every round learns
//! from the examples of the round before. A model that had learnt from the scan itself would only repeat what was guessed in its holes. The
//! rounds are those of expectation maximisation (Dempster, Laird & Rubin 1977) but for this: there the model knows all examples.
//!
//! The data term curves by one at most, so d ← (1 + S)⁻¹ (d − its gradient), with S the matrix of the second term, lowers the objective in every
//! round. 1 + S knows no scan: one sparse factor serves all of them.
//!
//! Source: the majorisation is Hunter & Lange 2004, "A tutorial on MM algorithms"; smoothness as in Allen, Curless & Popović 2003, "The
//! space of human body shapes", with second differences at rest in the place of differences between affine maps.

use super::pairs::vertex_normals;
use super::{Scan, ScanError};
use crate::joints::{JointSettings, fit_joints};
use crate::surface::{Bordered, Spot};
use crate::training::{BasePoses, Progress, Training};
use dermis_deform::{Base, Correction, blend, lbs};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::mesh::welded;
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneTransforms, Example, Influences, Mesh, Mirror, Neighbours, Skeleton};
use dermis_solve::faer::Mat;
use dermis_solve::{SolveError, SparseFactor};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a caller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TemplateSettings {
    /// ℓ: a displacement is smooth over this length, in L.
    pub smooth: f64,
    /// A vertex farther from the scan has no place on it, in L.
    pub reach: f64,
    /// Rounds.
    pub rounds: usize,
}

impl Default for TemplateSettings {
    fn default() -> Self {
        Self { smooth: 0.004, reach: 0.02, rounds: 15 }
    }
}

/// The mesh on a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The pose with the skin that the scan shows.
    pub example: Example,
    /// Per vertex, whether it has a place on the scan. The others follow those around them.
    pub seen: Vec<bool>,
    /// Root mean square distance of the vertices seen from the scan along its normals: before, as the bones carry them, and after,
    /// metres.
    pub distance: (f64, f64),
}

/// The least cosine between the normals of a vertex and of its place.
const FACING: f64 = 0.5;
/// A vertex counts little if it is farther from its place than this many times the root mean square of all: its place belongs to something
/// else. Skin in deep creases is several times as far away as most, and is what there is to learn.
const FAR: f64 = 16.0;
/// Parts of the scans, each of which is predicted from the others.
const PARTS: usize = 8;
/// Scans from which a joint model is learnt, at least.
const FEWEST: usize = 4;
/// Rounds of learning and predicting.
const LEARNING: usize = 3;
/// What the factor of a mesh may hold: two thousand numbers a vertex are many times what a surface needs.
const MOST_FILL: usize = 2_000;

/// Moves the mesh onto every scan, from the skin as its bones carry it.
///
/// # Errors
/// [`ScanError`].
pub fn fit_templates(
    mesh: &Mesh,
    weights: &Influences,
    scans: &[Scan],
    settings: &TemplateSettings,
    progress: Progress<'_>,
) -> Result<Vec<Template>, ScanError> {
    let done = AtomicU64::new(0);
    let told = || progress(done.fetch_add(1, Ordering::Relaxed), scans.len() as u64).is_break();
    Mover::new(mesh, weights, settings)?.all(scans, &|s| blended(mesh, weights, &scans[s].transforms), &told)
}

/// Moves the mesh onto every scan. A joint model that learnt from the other scans says how skin looks that a scan does not show. With fewer
/// than four scans the result is that of [`fit_templates`].
///
/// - `mirror`: the rig's left and right, with which a scan may teach both sides
///
/// # Errors
/// [`ScanError`].
pub fn learn_templates(
    mesh: &Mesh,
    skeleton: &Skeleton,
    weights: &Influences,
    scans: &[Scan],
    mirror: Option<&Mirror>,
    settings: &TemplateSettings,
    progress: Progress<'_>,
) -> Result<Vec<Template>, ScanError> {
    let parts = PARTS.min(scans.len());
    let rounds = if scans.len() < FEWEST { 0 } else { LEARNING };
    let total = (scans.len() * (rounds + 1) + parts * rounds) as u64;
    let done = AtomicU64::new(0);
    let told = || progress(done.fetch_add(1, Ordering::Relaxed), total).is_break();
    let mover = Mover::new(mesh, weights, settings)?;
    let mut templates = mover.all(scans, &|s| blended(mesh, weights, &scans[s].transforms), &told)?;
    let joints = JointSettings { mirror: mirror.cloned(), ..JointSettings::new(false) };
    for _ in 0..rounds {
        let mut predicted = vec![Vec::new(); scans.len()];
        for part in 0..parts {
            let known = templates.iter().enumerate().filter(|(s, _)| s % parts != part);
            let examples: Vec<Example> = known.map(|(_, template)| template.example.clone()).collect();
            let base = |pose: &BoneTransforms, v: usize| blend(weights.of(v), pose).transform_point3(mesh.positions[v]);
            let training = Training {
                skeleton,
                rest: &mesh.positions,
                length: mesh.extent(),
                examples: &examples,
                base: BasePoses::Computed(&base),
            };
            if told() {
                return Err(ScanError::Cancelled);
            }
            let stop = |_, _| progress(done.load(Ordering::Relaxed), total);
            let correction = Correction::from(fit_joints(&training, weights, &joints, &stop)?.correction);
            let base = Base::Lbs(weights.clone());
            for (s, scan) in scans.iter().enumerate().filter(|(s, _)| s % parts == part) {
                predicted[s] = blended(mesh, weights, &scan.transforms);
                correction.add(&mesh.positions, &scan.transforms, &base, &mut predicted[s]);
            }
        }
        let before: Vec<f64> = templates.iter().map(|template| template.distance.0).collect();
        templates = mover.all(scans, &|s| predicted[s].clone(), &told)?;
        templates.iter_mut().zip(before).for_each(|(template, before)| template.distance.0 = before);
    }
    Ok(templates)
}

/// The skin as its bones carry it.
fn blended(mesh: &Mesh, weights: &Influences, pose: &BoneTransforms) -> Vec<DVec3> {
    let mut skin = vec![DVec3::ZERO; mesh.positions.len()];
    lbs(&mesh.positions, weights, pose, &mut skin);
    skin
}

/// Moves a mesh onto scans.
struct Mover<'a> {
    mesh: &'a Mesh,
    weights: &'a Influences,
    settings: &'a TemplateSettings,
    smooth: Smooth,
    /// What lengths are counted in.
    length: f64,
}

impl<'a> Mover<'a> {
    fn new(mesh: &'a Mesh, weights: &'a Influences, settings: &'a TemplateSettings) -> Result<Self, ScanError> {
        mesh.check()?;
        for (name, value, least, most, rule) in [
            ("smooth", settings.smooth, 0.0, 1.0, "it must lie in 0..1 length units"),
            ("reach", settings.reach, 1e-6, 10.0, "it must lie in 1e-6..10 length units"),
            ("rounds", settings.rounds as f64, 1.0, 1e4, "it must lie in 1..1e4"),
        ] {
            if !(least..=most).contains(&value) {
                return Err(ScanError::Setting { name, value, rule });
            }
        }
        let length = Some(mesh.extent()).filter(|l| *l > 0.0).unwrap_or(1.0);
        let smooth = Smooth::new(mesh, settings.smooth * length)
            .map_err(|source| ScanError::Smooth { vertices: mesh.positions.len(), source })?;
        Ok(Self { mesh, weights, settings, smooth, length })
    }

    /// Moves the mesh onto every scan, from a skin in its pose.
    fn all(
        &self,
        scans: &[Scan],
        from: &(dyn Fn(usize) -> Vec<DVec3> + Sync),
        told: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Template>, ScanError> {
        scans
            .par_iter()
            .enumerate()
            .map(|(s, scan)| match told() {
                true => Err(ScanError::Cancelled),
                false => self.one(scan, from(s)),
            })
            .collect()
    }

    fn one(&self, scan: &Scan, from: Vec<DVec3>) -> Result<Template, ScanError> {
        let Self { mesh, settings, length, .. } = self;
        let whole = Mesh { positions: scan.positions.clone(), triangles: scan.triangles.clone(), ..Mesh::default() };
        whole.check().map_err(|source| ScanError::Scan { label: scan.label.clone(), source })?;
        let surface = Bordered::new(&scan.positions, &scan.triangles)
            .ok_or_else(|| ScanError::Points { label: scan.label.clone(), vertices: scan.positions.len() })?;
        let count = mesh.positions.len();
        let carry: Vec<DAffine3> = (0..count).map(|v| blend(self.weights.of(v), &scan.transforms)).collect();
        // A blend that flattens a vertex is not asked where a displacement of the skin comes from.
        let back: Vec<DMat3> = carry.iter().map(|m| invert(m).map_or(DMat3::ZERO, |m| m.matrix3)).collect();
        let mut moved = vec![DVec3::ZERO; count];
        let mut skin = from.clone();
        let reach = settings.reach * length;
        let mut distances = (0.0, 0.0);
        let mut seen = vec![false; count];
        for round in 0..=settings.rounds {
            let normals = vertex_normals(&mesh.triangles, &skin);
            let spots: Vec<Option<Spot>> = (0..count)
                .map(|v| {
                    let spot = surface.on(surface.closest(skin[v], reach)?, skin[v]);
                    (!spot.border && spot.normal.dot(normals[v]) >= FACING).then_some(spot)
                })
                .collect();
            let heights: Vec<f64> =
                spots.iter().zip(&skin).map(|(spot, x)| spot.map_or(0.0, |s| s.normal.dot(s.point - *x))).collect();
            let pairs = spots.iter().flatten().count();
            let rms = (heights.iter().map(|h| h * h).sum::<f64>() / pairs.max(1) as f64).sqrt();
            if round == 0 {
                distances.0 = rms;
            }
            distances.1 = rms;
            if round == settings.rounds {
                seen = spots.iter().map(Option::is_some).collect();
                break;
            }
            // Geman and McClure's weight: what is far off belongs to something else.
            let scale = (FAR * rms).max(1e-9 * length);
            let step = |v: usize| {
                let Some(spot) = spots[v] else { return DVec3::ZERO };
                let robust = (1.0 + (heights[v] / scale).powi(2)).powi(-2);
                back[v] * (spot.normal * (heights[v] * robust))
            };
            let wanted: Vec<DVec3> = (0..count).map(|v| moved[v] + step(v)).collect();
            moved = self.smooth.draw(&wanted);
            skin = (0..count).map(|v| from[v] + carry[v].transform_vector3(moved[v])).collect();
        }
        let (label, transforms) = (scan.label.clone(), scan.transforms.clone());
        let example = Example { label, time: None, transforms, positions: skin, importance: 1.0, local: None };
        Ok(Template { example, seen, distance: distances })
    }
}

/// (1 + S)⁻¹, over vertices welded at rest.
struct Smooth {
    factor: SparseFactor,
    /// Per vertex its row.
    row: Vec<usize>,
    rows: usize,
}

impl Smooth {
    fn new(mesh: &Mesh, length: f64) -> Result<Self, SolveError> {
        let weld = welded(&mesh.positions);
        let mut row = vec![usize::MAX; weld.len()];
        let mut rows = 0;
        for v in 0..weld.len() {
            let first = weld[v] as usize;
            if row[first] == usize::MAX {
                row[first] = rows;
                rows += 1;
            }
            row[v] = row[first];
        }
        let mut place = vec![DVec3::ZERO; rows];
        (0..weld.len()).for_each(|v| place[row[v]] = mesh.positions[v]);
        let joined: Vec<[u32; 3]> = mesh.triangles.iter().map(|t| t.map(|c| row[c as usize] as u32)).collect();
        let whole = Mesh { positions: place, triangles: joined, ..Mesh::default() };
        let neighbours: Neighbours = whole.neighbours();
        let mut entries: Vec<(usize, usize, f64)> = (0..rows).map(|r| (r, r, 1.0)).collect();
        for r in 0..rows {
            let near: Vec<usize> = neighbours.of(r).iter().map(|u| *u as usize).filter(|u| *u != r).collect();
            let edges = near.len() as f64;
            let mean = near.iter().map(|u| whole.positions[*u].distance(whole.positions[r])).sum::<f64>() / edges;
            // Below a thousandth of ℓ edges are flaws of the mesh, and their fourth power would drown all else.
            let stiff = (length / mean.max(0.02 * length)).powi(4);
            if near.is_empty() || !stiff.is_finite() {
                continue;
            }
            let terms = || std::iter::once((r, 1.0)).chain(near.iter().map(|u| (*u, -1.0 / edges)));
            for (i, a) in terms() {
                entries.extend(terms().filter(|(j, _)| *j <= i).map(|(j, b)| (i, j, stiff * a * b)));
            }
        }
        let factor = SparseFactor::bounded(rows, &entries, MOST_FILL.saturating_mul(rows))?;
        Ok(Self { factor, row, rows })
    }

    /// The smooth displacement for one that is wanted; that of vertices at one place is their mean.
    fn draw(&self, wanted: &[DVec3]) -> Vec<DVec3> {
        let mut counts = vec![0.0_f64; self.rows];
        let mut right = Mat::<f64>::zeros(self.rows, 3);
        for (d, &r) in wanted.iter().zip(&self.row) {
            counts[r] += 1.0;
            (0..3).for_each(|c| right[(r, c)] += d[c]);
        }
        (0..self.rows).for_each(|r| (0..3).for_each(|c| right[(r, c)] /= counts[r]));
        // The rows of the factor are those of the right-hand side.
        if self.factor.solve(&mut right).is_err() {
            return wanted.to_vec();
        }
        self.row.iter().map(|&r| DVec3::new(right[(r, 0)], right[(r, 1)], right[(r, 2)])).collect()
    }
}
