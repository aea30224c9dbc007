//! The flaws of a surface and of its frames, which readers of meshes count.

use crate::{Contents, Flaw, ReadError, Record, Warning};
use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;

/// Triangles without area and vertices without a face, counted. The mesh must have passed [`Mesh::check`].
pub(crate) fn flaws(mesh: &Mesh) -> Vec<Warning> {
    let mut used = vec![false; mesh.positions.len()];
    let polygon_corners = mesh.polygons.iter().flat_map(|p| &p.indices);
    for &corner in mesh.triangles.as_flattened().iter().chain(polygon_corners) {
        used[corner as usize] = true;
    }
    let flat = |corners: &[u32; 3]| has_no_area(corners.map(|c| mesh.positions[c as usize]));
    let mut warnings = Vec::new();
    count(
        &mut warnings,
        Flaw::DegenerateTriangle,
        mesh.triangles.iter().enumerate().filter(|(_, t)| flat(t)).map(|(at, t)| format!("triangle {at}, {t:?}")),
    );
    let unused = used.iter().enumerate().filter(|(_, used)| !**used);
    count(&mut warnings, Flaw::UnusedVertex, unused.map(|(at, _)| format!("vertex {at}")));
    warnings
}

/// Frames that are not finite, and the vertices that are not in any of them.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    labels: Vec<String>,
    /// Of the frames so far; `None` before the first.
    never: Option<Vec<u32>>,
}

impl LeftOut {
    /// A frame that is finite.
    pub fn keep(&mut self) {
        self.never = Some(Vec::new());
    }

    /// Leaves out a frame in which some of these positions, or something else, is not finite.
    pub fn leave(&mut self, label: String, positions: &[DVec3]) {
        self.labels.push(label);
        let is_bad = |vertex: &u32| positions.get(*vertex as usize).is_some_and(|p| !p.is_finite());
        match &mut self.never {
            Some(never) => never.retain(is_bad),
            None => self.never = Some((0..positions.len() as u32).filter(is_bad).collect()),
        }
    }

    /// A frame of points that move; `None`, and the frame is left out, if one of them is not finite.
    pub fn record(&mut self, label: String, time: Option<f64>, positions: Vec<DVec3>) -> Option<Record> {
        if !positions.iter().all(|p| p.is_finite()) {
            self.leave(label, &positions);
            return None;
        }
        self.keep();
        Some(Record { label, time, pose: None, positions: Some(positions), importance: 1.0, local: None })
    }

    /// Tells the contents which frames were left out.
    pub fn tell(self, contents: &mut Contents) {
        contents.never_finite = self.first_never();
        contents.left_out.clone_from(&self.labels);
        count(&mut contents.warnings, Flaw::NonFiniteFrame, self.labels);
    }

    /// Why there is no frame.
    pub fn error(&self) -> ReadError {
        ReadError::NeverFinite { frames: self.labels.len(), vertex: self.first_never() }
    }

    fn first_never(&self) -> Option<usize> {
        self.never.iter().flatten().next().map(|vertex| *vertex as usize)
    }
}

/// Moments in order. Of those less than a microsecond apart, which differ by rounding, the last stays: by then, all were sampled.
pub(crate) fn moments(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times.reverse();
    times.dedup_by(|earlier, later| *later - *earlier < 1e-6);
    times.reverse();
    times
}

/// The sample before a time, the one after it, and how far between them the time lies.
pub(crate) fn around(times: &[f64], time: f64) -> (usize, usize, f64) {
    /// A part of the distance of samples: what a change of units loses.
    const SAME: f64 = 1e-9;
    let after = times.partition_point(|own| *own <= time);
    if after == 0 {
        return (0, 0, 0.0);
    }
    if after == times.len() {
        return (after - 1, after - 1, 0.0);
    }
    let (before, next) = (times[after - 1], times[after]);
    match (time - before) / (next - before) {
        s if s < SAME => (after - 1, after - 1, 0.0),
        s if s > 1.0 - SAME => (after, after, 0.0),
        s => (after - 1, after, s),
    }
}

/// Adds a warning for the elements of `found`, unless there are none.
pub(crate) fn count(warnings: &mut Vec<Warning>, flaw: Flaw, found: impl IntoIterator<Item = String>) {
    let mut found = found.into_iter();
    if let Some(first) = found.next() {
        warnings.push(Warning { flaw, count: 1 + found.count(), first: Some(first) });
    }
}

/// A triangle has no area where its height over the longest side is below this part of that side: far below what 32-bit positions
/// resolve, so it is a repeated corner or three corners on a line, not a sliver somebody modelled.
pub(crate) const FLAT: f64 = 1e-10;

/// Whether a triangle has no area.
pub(crate) fn has_no_area([a, b, c]: [DVec3; 3]) -> bool {
    let (ab, bc, ca) = (b - a, c - b, a - c);
    let longest = ab.length_squared().max(bc.length_squared()).max(ca.length_squared());
    ab.cross(ca).length() <= FLAT * longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_moments_that_differ_by_rounding_the_last_stays() {
        let both = moments(vec![1.0, 0.5 + 3e-8, 0.0, 0.5, 2e-6]);
        assert_eq!(both, [0.0, 2e-6, 0.5 + 3e-8, 1.0]);
    }

    #[test]
    fn the_vertex_that_is_never_finite_is_known() {
        let frame = |bad: &[usize]| -> Vec<DVec3> {
            (0..6).map(|v| if bad.contains(&v) { DVec3::NAN } else { DVec3::ONE }).collect()
        };
        for (frames, expected) in [
            (vec![vec![1, 4], vec![2, 4], vec![4]], Some(4)),
            (vec![vec![0, 5], vec![5, 0]], Some(0)),
            (vec![vec![1], vec![2]], None),
            (vec![vec![1], vec![], vec![1]], None),
            (vec![vec![], vec![1]], None),
        ] {
            let mut left_out = LeftOut::default();
            for bad in &frames {
                if bad.is_empty() { left_out.keep() } else { left_out.leave(String::new(), &frame(bad)) }
            }
            let kept = frames.iter().filter(|bad| bad.is_empty()).count();
            let mut contents = Contents::default();
            left_out.tell(&mut contents);
            assert_eq!((contents.never_finite, contents.left_out.len()), (expected, frames.len() - kept), "{frames:?}");
        }
    }

    #[test]
    fn flat_triangles_and_loose_vertices_are_counted() {
        let mesh = Mesh {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, 2.0 * DVec3::X, DVec3::Z],
            triangles: vec![[0, 1, 2], [0, 1, 3], [1, 1, 2]],
            ..Mesh::default()
        };
        let found: Vec<_> = flaws(&mesh).into_iter().map(|w| (w.flaw, w.count, w.first.unwrap())).collect();
        let expected = [
            (Flaw::DegenerateTriangle, 2, "triangle 1, [0, 1, 3]".to_owned()),
            (Flaw::UnusedVertex, 1, "vertex 4".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
