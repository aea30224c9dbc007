//! A scan, made fit for the search: thinned, turned right side out, and judged by its size.

use super::samples::{self, Samples};
use super::{Failure, Mending, ScanSurface};
use crate::surface::Bordered;
use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;

/// A scan, ready.
pub(super) struct Prepared {
    pub surface: Bordered,
    /// A few hundred points.
    pub few: Samples,
    /// A few thousand.
    pub many: Samples,
    /// The mean of the few, by area.
    pub centre: DVec3,
    pub mended: Vec<Mending>,
}

/// Scans with more triangles are thinned to about as many.
const MOST_TRIANGLES: usize = 150_000;
/// The roots of areas, scan's over skin's, between which a scan has the size of the character or of a part of it.
const SIZES: (f64, f64) = (0.2, 1.8);

impl Prepared {
    /// `area`: that of the skin at rest.
    pub fn new(scan: &ScanSurface, area: f64, few: usize, many: usize) -> Result<Self, Failure> {
        let (mut positions, mut triangles) = (scan.positions.clone(), scan.triangles.clone());
        let whole = Mesh { positions, triangles, ..Mesh::default() };
        whole.check().map_err(Failure::Mesh)?;
        (positions, triangles) = (whole.positions, whole.triangles);
        let size = |positions: &[DVec3], triangles: &[[u32; 3]]| -> f64 {
            triangles.iter().map(|t| double_area(positions, t)).sum::<f64>() / 2.0
        };
        let own = size(&positions, &triangles);
        if triangles.is_empty() || own.is_nan() || own <= 0.0 {
            return Err(Failure::NoSurface { vertices: positions.len(), triangles: triangles.len() });
        }
        let mut mended = Vec::new();
        if triangles.len() > MOST_TRIANGLES {
            let from = triangles.len();
            (positions, triangles) = thinned(&positions, &triangles, own);
            mended.push(Mending::Thinned { from, to: triangles.len() });
        }
        let own = size(&positions, &triangles);
        let ratio = (own / area).sqrt();
        if !(SIZES.0..=SIZES.1).contains(&ratio) {
            return Err(Failure::Size { ratio });
        }
        if volume(&positions, &triangles) < 0.0 {
            triangles.iter_mut().for_each(|t| t.swap(1, 2));
            mended.push(Mending::InsideOut);
        }
        let surface = Bordered::new(&positions, &triangles)
            .ok_or(Failure::NoSurface { vertices: positions.len(), triangles: triangles.len() })?;
        let few = samples::spread(&positions, &triangles, few);
        let many = samples::spread(&positions, &triangles, many);
        if few.points.len() < 20 {
            return Err(Failure::NoSurface { vertices: positions.len(), triangles: triangles.len() });
        }
        let centre = few.points.iter().zip(&few.weights).map(|(p, w)| *p * *w).sum();
        Ok(Self { surface, few, many, centre, mended })
    }
}

fn double_area(positions: &[DVec3], triangle: &[u32; 3]) -> f64 {
    let [a, b, c] = triangle.map(|c| positions[c as usize]);
    (b - a).cross(c - a).length()
}

/// Six times the volume that the triangles span with the middle of their corners: negative where a scan faces inwards, holes
/// or not.
fn volume(positions: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let middle = positions.iter().sum::<DVec3>() / positions.len() as f64;
    let spanned = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|c| positions[c as usize] - middle);
        a.dot(b.cross(c))
    };
    triangles.iter().map(spanned).sum()
}

/// The surface with one vertex per cell of a grid, at the mean of those in it. Triangles within a cell or between two vanish.
fn thinned(positions: &[DVec3], triangles: &[[u32; 3]], area: f64) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let (own, count, _) = samples::grid(positions, MOST_TRIANGLES / 2, area);
    let (mut sums, mut counts) = (vec![DVec3::ZERO; count], vec![0.0_f64; count]);
    for (p, cell) in positions.iter().zip(&own) {
        sums[*cell as usize] += *p;
        counts[*cell as usize] += 1.0;
    }
    let means = sums.iter().zip(&counts).map(|(sum, count)| *sum / *count).collect();
    let mut made: Vec<[u32; 3]> = triangles
        .iter()
        .map(|t| t.map(|c| own[c as usize]))
        .filter(|[a, b, c]| a != b && b != c && c != a)
        .map(|t| {
            let first = (0..3).min_by_key(|i| t[*i]).unwrap_or(0);
            [t[first], t[(first + 1) % 3], t[(first + 2) % 3]]
        })
        .collect();
    made.sort_unstable();
    made.dedup();
    (means, made)
}
