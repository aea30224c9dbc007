//! Which point of a scan a vertex is: the closest one that could be.

use super::vertex::{Pair, Problem};
use super::{Scan, ScanError, ScanSettings, ScanUse};
use crate::surface::{Bordered, Spot};
use dermis_deform::{blend, lbs};
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::Neighbours;
use dermis_rig::{Influences, Mesh};
use rayon::prelude::*;

/// A scan, ready for questions.
pub(super) struct Target<'a> {
    scan: &'a Scan,
    surface: Bordered,
    /// Per vertex of the mesh.
    last: Vec<Last>,
    /// L, metres.
    length: f64,
}

/// Where a vertex was when its closest triangle was searched, and which that is.
#[derive(Clone, Copy)]
struct Last {
    at: DVec3,
    triangle: Option<u32>,
}

/// A vertex that moved less, in L, keeps its triangle.
const STILL: f64 = 1e-4;
/// How much the pairs of all neighbours count together, those of the vertex itself being 1. Eight diverges on a tube.
const SHARE: f64 = 1.0;
/// The scale of robust weights, in medians of the distances: 6 standard deviations of a normal error.
const SCALE: f64 = 6.0 * 1.4826;
/// The scale is at least reach times this to the power of the round: a poor start is no outlier.
const NARROWING: f64 = 0.7;

impl<'a> Target<'a> {
    pub(super) fn new(scan: &'a Scan, vertices: usize, length: f64) -> Result<Self, ScanError> {
        let whole = Mesh { positions: scan.positions.clone(), triangles: scan.triangles.clone(), ..Mesh::default() };
        whole.check().map_err(|source| ScanError::Scan { label: scan.label.clone(), source })?;
        let points = || ScanError::Points { label: scan.label.clone(), vertices: scan.positions.len() };
        let surface = Bordered::new(&scan.positions, &scan.triangles).ok_or_else(points)?;
        let last = vec![Last { at: DVec3::NAN, triangle: None }; vertices];
        Ok(Self { scan, surface, last, length })
    }

    /// Adds this scan's pairs to the problems of all vertices. Robust weights are wider in early rounds.
    pub(super) fn pair(
        &mut self,
        mesh: &Mesh,
        neighbours: &Neighbours,
        weights: &Influences,
        problems: &mut [Problem],
        settings: &ScanSettings,
        round: usize,
    ) -> ScanUse {
        let transforms = &self.scan.transforms;
        let mut posed = vec![DVec3::ZERO; mesh.positions.len()];
        lbs(&mesh.positions, weights, transforms, &mut posed);
        let normals = vertex_normals(&mesh.triangles, &posed);
        let mut last = std::mem::take(&mut self.last);
        let found: Vec<Result<Pair, Rejected>> = last
            .par_iter_mut()
            .enumerate()
            .map(|(v, last)| self.closest(posed[v], normals[v], last, settings))
            .collect();
        self.last = last;

        let mut distances: Vec<f64> = found.iter().flatten().map(|f| f.distance).collect();
        let middle = distances.len() / 2;
        let median = match distances.is_empty() {
            true => 0.0,
            false => *distances.select_nth_unstable_by(middle, f64::total_cmp).1,
        };
        let narrowed = settings.reach * self.length * NARROWING.powi(round.min(1000) as i32);
        let scale = (SCALE * median).max(narrowed).max(f64::MIN_POSITIVE);
        let kappa = 1.0 - settings.agreement;
        problems.par_iter_mut().enumerate().for_each(|(v, problem)| {
            let own = blend(weights.of(v), transforms);
            let near = neighbours.of(v);
            for u in std::iter::once(v).chain(near.iter().map(|&u| u as usize)) {
                let Ok(pair) = &found[u] else { continue };
                let p = mesh.positions[u];
                let share = if u == v { 1.0 } else { SHARE / near.len() as f64 };
                let point = if u == v { pair.point } else { pair.point + kappa * (own.transform_point3(p) - posed[u]) };
                let robust = (1.0 + (pair.distance / scale).powi(2)).powi(-2);
                let moved = Pair { point, ..*pair };
                problem.add(p, transforms, &moved, share * robust, settings.tangential, self.length);
            }
            problem.pairs += usize::from(found[v].is_ok());
        });

        let count = |what: Rejected| found.iter().filter(|f| f.as_ref().err() == Some(&what)).count();
        let along = |(v, pair): (usize, &Pair)| (posed[v] - pair.point).dot(pair.normal).powi(2);
        let pairs = found.iter().flatten().count();
        let squares: f64 = found.iter().enumerate().filter_map(|(v, f)| Some((v, f.as_ref().ok()?))).map(along).sum();
        ScanUse {
            label: self.scan.label.clone(),
            pairs,
            too_far: count(Rejected::TooFar),
            turned_away: count(Rejected::TurnedAway),
            on_border: count(Rejected::OnBorder),
            distance: (squares / pairs.max(1) as f64).sqrt(),
        }
    }

    /// The pair of a vertex posed at `p`. The triangle of the last search is kept while the vertex stays there.
    fn closest(&self, p: DVec3, facing: DVec3, last: &mut Last, settings: &ScanSettings) -> Result<Pair, Rejected> {
        let reach = settings.reach * self.length;
        let on = |triangle: u32| self.surface.on(triangle as usize, p);
        // NaN, before the first search, is not within.
        let stays = p.distance(last.at) <= STILL * self.length;
        if !stays {
            let bound = last.triangle.map_or(reach, |t| reach.min(on(t).point.distance(p) * (1.0 + 1e-9)));
            *last = Last { at: p, triangle: self.surface.closest(p, bound).map(|t| t as u32) };
        }
        let Spot { point, normal, border } = on(last.triangle.ok_or(Rejected::TooFar)?);
        if border {
            return Err(Rejected::OnBorder);
        }
        if facing.dot(normal) < settings.angle.to_radians().cos() || normal == DVec3::ZERO || facing == DVec3::ZERO {
            return Err(Rejected::TurnedAway);
        }
        Ok(Pair { point, normal, distance: point.distance(p) })
    }
}

/// Why a pair was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rejected {
    TooFar,
    TurnedAway,
    OnBorder,
}

/// Area-weighted unit normals; zero where there is no face.
pub(super) fn vertex_normals(triangles: &[[u32; 3]], positions: &[DVec3]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for corners in triangles {
        let [a, b, c] = corners.map(|c| positions[c as usize]);
        let normal = (b - a).cross(c - a);
        corners.iter().for_each(|&c| normals[c as usize] += normal);
    }
    normals.iter_mut().for_each(|n| *n = n.normalize_or_zero());
    normals
}
