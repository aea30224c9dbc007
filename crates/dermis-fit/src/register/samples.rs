//! Points that stand for a surface: spread evenly, each with its normal and the area it stands for.
//!
//! Cells and octants lie along the principal axes of the points, so that a surface has the same samples whichever way it stands.

use dermis_rig::PrincipalBox;
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::vertex_areas;
use std::collections::BTreeMap;

/// Points of a surface.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    pub points: Vec<DVec3>,
    /// Unit.
    pub normals: Vec<DVec3>,
    /// Sum 1.
    pub weights: Vec<f64>,
}

/// Area-weighted vertex normals, not of unit length.
pub(super) fn vertex_normals(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for corners in triangles {
        let [a, b, c] = corners.map(|c| positions[c as usize]);
        let normal = (b - a).cross(c - a);
        corners.iter().for_each(|&c| normals[c as usize] += normal);
    }
    normals
}

/// Where the first cell begins, and octants end: no regular surface has points or normals just there, where rounding would decide.
const ASIDE: (f64, f64) = (0.381_966_011_250_105_1, 0.013_7);

/// The cell of a grid that a point lies in.
fn cell(p: DVec3, size: f64) -> [i64; 3] {
    (p / size + ASIDE.0).to_array().map(|x| x.floor() as i64)
}

/// Per point the number of its cell, numbered in the order of their first points; and how many there are.
fn cells(points: &[DVec3], size: f64) -> (Vec<u32>, usize) {
    let mut numbers: BTreeMap<[i64; 3], u32> = BTreeMap::new();
    let own = points.iter().map(|p| {
        let next = numbers.len() as u32;
        *numbers.entry(cell(*p, size)).or_insert(next)
    });
    let own: Vec<u32> = own.collect();
    let count = numbers.len();
    (own, count)
}

/// The smallest grid, of those tried, whose cells are at most `most`: its cells, and their size.
pub(super) fn grid(points: &[DVec3], most: usize, area: f64) -> (Vec<u32>, usize, f64) {
    let around = PrincipalBox::of(points);
    let inward: Vec<DVec3> = points.iter().map(|p| around.inward(*p) + around.half).collect();
    // A surface meets about 1.5 area / size² cells.
    let mut size = (1.5 * area / most as f64).sqrt().max(f64::MIN_POSITIVE);
    for _ in 0..60 {
        let (own, count) = cells(&inward, size);
        if count <= most {
            return (own, count, size);
        }
        size *= 1.15;
    }
    (vec![0; points.len()], usize::from(!points.is_empty()), f64::INFINITY)
}

/// At most `most` samples of a surface: of every cell of a grid and every octant of normals the vertex nearest to the mean. Both sides of
/// a thin part have samples of their own, and every sample lies on the surface.
pub(super) fn spread(positions: &[DVec3], triangles: &[[u32; 3]], most: usize) -> Samples {
    let (areas, normals) = (vertex_areas(positions, triangles), vertex_normals(positions, triangles));
    let used: Vec<usize> = (0..positions.len()).filter(|v| areas[*v] > 0.0 && normals[*v] != DVec3::ZERO).collect();
    let points: Vec<DVec3> = used.iter().map(|v| positions[*v]).collect();
    let around = PrincipalBox::of(&points);
    let octant = |n: DVec3| {
        let n = around.axes.transpose() * n.normalize_or_zero();
        u8::from(n.x > ASIDE.1) + 2 * u8::from(n.y > ASIDE.1) + 4 * u8::from(n.z > ASIDE.1)
    };
    let area = areas.iter().sum();
    let (mut groups, mut wanted): (BTreeMap<(u32, u8), Vec<usize>>, usize) = (BTreeMap::new(), most.max(1));
    loop {
        groups.clear();
        for (&v, &cell) in used.iter().zip(&grid(&points, wanted, area).0) {
            groups.entry((cell, octant(normals[v]))).or_default().push(v);
        }
        if groups.len() <= most || wanted < 2 {
            break;
        }
        wanted = wanted * 4 / 5;
    }
    let mut samples = Samples::default();
    for group in groups.values() {
        let area: f64 = group.iter().map(|v| areas[*v]).sum();
        let mean: DVec3 = group.iter().map(|v| positions[*v] * areas[*v]).sum::<DVec3>() / area;
        // In single precision, or rounding would choose between the two vertices of a cell.
        let near = |v: &usize| (positions[*v].distance_squared(mean) / around.half.length_squared()) as f32;
        let Some(&nearest) = group.iter().min_by(|a, b| near(a).total_cmp(&near(b))) else { continue };
        samples.points.push(positions[nearest]);
        samples.normals.push(normals[nearest].normalize());
        samples.weights.push(area.sqrt());
    }
    samples.share_out();
    samples
}

impl Samples {
    /// Scales the weights to sum 1.
    pub fn share_out(&mut self) {
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|w| *w /= sum);
    }
}
