//! Errors of predicted skins, streamed frame by frame.
//!
//! With examples X and predictions Y of S frames and V vertices, d the distance of a vertex from its target, and L the
//! diagonal of the rest bounding box:
//!
//! | name | equation | unit |
//! |---|---|---|
//! | rms | ‖X − Y‖_F / √(S V) | length |
//! | max, p95, p999 | over all (frame, vertex) pairs | length |
//! | e_rms | 1000 ‖X − Y‖_F / (√(3 S V) · L/2) | thousandths of half the diagonal |
//! | distortion_percent | 100 ‖X − Y‖_F / ‖X − mean X‖_F, the mean per frame over vertices | percent |
//!
//! Publications use the root mean square with factors 100 or 1000 and different lengths, so both common forms are
//! offered by name: [`e_rms_of_radius`] is what reports print, [`e_rms_of_diagonal`] is 20 times smaller.
//!
//! Sources: Karni & Gotsman 2004 (distortion); Kavan, Sloan & O'Sullivan 2010 (E_RMS with factor 1000).

use crate::pass::Within;
use crate::quantiles::{Quantiles, quantile};
use dermis_rig::glam::DVec3;
use serde::Serialize;

/// How many vertices [`ErrorReport::worst_vertices`] lists at most.
const WORST: usize = 10;

/// Errors over all frames. Lengths in the unit of the positions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorStats {
    /// Root mean square distance.
    pub rms: f64,
    /// Largest distance.
    pub max: f64,
    /// 95th percentile of the distances.
    pub p95: f64,
    /// 99.9th percentile of the distances.
    pub p999: f64,
    /// 1000 ‖X − Y‖_F / (√(3 S V) · diagonal/2); `None` if the diagonal is zero.
    pub e_rms: Option<f64>,
    /// 100 ‖X − Y‖_F / ‖X − mean X‖_F; `None` if all targets of every frame coincide.
    pub distortion_percent: Option<f64>,
}

/// Errors of one frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerPoseError {
    /// The frame's label.
    pub label: String,
    /// Root mean square distance.
    pub rms: f64,
    /// Largest distance.
    pub max: f64,
    /// 95th percentile of the distances.
    pub p95: f64,
    /// The vertex with the largest distance, the lowest of several.
    pub worst_vertex: usize,
}

/// A vertex that is far off somewhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstVertex {
    /// The vertex.
    pub vertex: usize,
    /// The frame in which it is farthest off.
    pub label: String,
    /// Its distance there.
    pub error: f64,
}

/// What [`ErrorAccumulator`] found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorReport {
    /// Over everything.
    pub error: ErrorStats,
    /// Per frame, in the order they were added.
    pub per_pose: Vec<PerPoseError>,
    /// The vertices with the largest distances, worst first, at most ten; none that is never off.
    pub worst_vertices: Vec<WorstVertex>,
    /// Root mean square distance of each vertex over the frames; not part of the JSON.
    #[serde(skip)]
    pub per_vertex_rms: Vec<f64>,
    /// Largest distance of each vertex; not part of the JSON.
    #[serde(skip)]
    pub per_vertex_max: Vec<f64>,
    /// How many distances were counted: one per vertex and frame, but of local sculpts those of touched vertices; not part of the JSON.
    #[serde(skip)]
    pub pairs: u64,
    /// How many distances lie within the bound of [`ErrorAccumulator::counting`], if it has one; not part of the JSON.
    #[serde(skip)]
    pub within: Option<Within>,
}

/// Why something cannot be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeasureError {
    /// Targets or predictions for another number of vertices.
    #[error("pose \"{label}\" has {targets} targets and {predictions} predictions for {vertices} vertices")]
    Vertices {
        /// The frame.
        label: String,
        /// Its targets.
        targets: usize,
        /// Its predictions.
        predictions: usize,
        /// The vertices expected.
        vertices: usize,
    },
    /// A target or prediction that is NaN, infinite, or so large that its square is.
    #[error("pose \"{label}\": the {what} of vertex {vertex} is not finite")]
    NotFinite {
        /// The frame.
        label: String,
        /// Target, prediction, or their distance.
        what: &'static str,
        /// The vertex.
        vertex: usize,
    },
    /// An example's skin cannot be measured.
    #[error("example \"{label}\": {source}")]
    Example {
        /// The example.
        label: String,
        /// Why.
        source: Box<MeasureError>,
    },
    /// A model over given positions without those of every pose.
    #[error("this model corrects given positions, and there are {found} frames of them for {poses} poses")]
    NoGiven {
        /// Frames that are given.
        found: usize,
        /// Poses that need one each.
        poses: usize,
    },
    /// A deformer that cannot be run in a pose.
    #[error(transparent)]
    Pose(#[from] dermis_deform::PoseError),
    /// A set without examples.
    #[error("the set \"{set}\" holds no examples")]
    Empty {
        /// The set.
        set: String,
    },
    /// Skins that do not fit in memory at once.
    #[error("{frames} frames of {vertices} vertices need {} GB of memory, more than {}", needed >> 30, most >> 30)]
    Memory {
        /// Frames.
        frames: u64,
        /// Vertices per frame.
        vertices: u64,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        most: u64,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl From<dermis_rig::Cancelled> for MeasureError {
    fn from(_: dermis_rig::Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Collects errors frame by frame; memory grows with the vertices and the number of frames, not with their product
/// beyond 32 MiB (see [`quantiles`](crate::quantiles) for what that does to p95).
#[derive(Clone, Debug)]
pub struct ErrorAccumulator {
    diagonal: f64,
    squares: f64,
    spread: f64,
    distances: Quantiles,
    per_pose: Vec<PerPoseError>,
    vertex_squares: Vec<f64>,
    /// Frames in which each vertex counts.
    vertex_frames: Vec<u32>,
    pairs: u64,
    /// Largest distance of each vertex and the frame it occurs in.
    vertex_max: Vec<(f64, usize)>,
    scratch: Vec<f64>,
    /// A bound, and the distances within it.
    within: Option<(f64, Within)>,
}

impl ErrorAccumulator {
    /// For `vertices` vertices of a character whose rest bounding box has this diagonal.
    pub fn new(vertices: usize, diagonal: f64) -> Self {
        Self {
            diagonal,
            squares: 0.0,
            spread: 0.0,
            distances: Quantiles::default(),
            per_pose: Vec::new(),
            vertex_squares: vec![0.0; vertices],
            vertex_frames: vec![0; vertices],
            pairs: 0,
            vertex_max: vec![(0.0, 0); vertices],
            scratch: Vec::with_capacity(vertices),
            within: None,
        }
    }

    /// Counts the distances of at most `bound`, exactly, in every frame that is added from now on.
    pub fn counting(self, bound: f64) -> Self {
        Self { within: Some((bound, Within::default())), ..self }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertex_squares.len()
    }

    /// Number of frames added.
    pub fn frames(&self) -> usize {
        self.per_pose.len()
    }

    /// Adds one frame.
    ///
    /// # Errors
    /// [`MeasureError`]; the frame is then left out altogether.
    pub fn add_frame(&mut self, label: &str, target: &[DVec3], prediction: &[DVec3]) -> Result<(), MeasureError> {
        self.add_part(label, target, prediction, None)
    }

    /// Adds one frame whose target says something of some vertices, all of them without `counted`.
    ///
    /// # Errors
    /// [`MeasureError`]; the frame is then left out altogether.
    pub fn add_part(
        &mut self,
        label: &str,
        target: &[DVec3],
        prediction: &[DVec3],
        counted: Option<&[bool]>,
    ) -> Result<(), MeasureError> {
        let vertices = self.vertices();
        if target.len() != vertices || prediction.len() != vertices {
            let (targets, predictions) = (target.len(), prediction.len());
            return Err(MeasureError::Vertices { label: label.into(), targets, predictions, vertices });
        }
        for (vertex, (x, y)) in target.iter().zip(prediction).enumerate() {
            let what = match (x.is_finite(), y.is_finite()) {
                (false, _) => "target",
                (true, false) => "prediction",
                (true, true) if !x.distance_squared(*y).is_finite() => "distance",
                (true, true) => continue,
            };
            return Err(MeasureError::NotFinite { label: label.into(), what, vertex });
        }
        self.scratch.clear();
        let mut squares = 0.0;
        let (mut max, mut worst_vertex) = (0.0, 0);
        let counts = |vertex: usize| counted.is_none_or(|counted| counted[vertex]);
        for (vertex, (x, y)) in target.iter().zip(prediction).enumerate().filter(|(vertex, _)| counts(*vertex)) {
            let square = x.distance_squared(*y);
            let distance = square.sqrt();
            squares += square;
            self.vertex_squares[vertex] += square;
            self.vertex_frames[vertex] += 1;
            if distance > max {
                (max, worst_vertex) = (distance, vertex);
            }
            if distance > self.vertex_max[vertex].0 {
                self.vertex_max[vertex] = (distance, self.per_pose.len());
            }
            self.scratch.push(distance);
        }
        self.squares += squares;
        self.spread += match counted {
            None => spread(target),
            Some(counted) => {
                spread(&target.iter().zip(counted).filter(|(_, c)| **c).map(|(p, _)| *p).collect::<Vec<_>>())
            }
        };
        let counted = self.scratch.len() as u64;
        self.pairs += counted;
        self.distances.extend(&self.scratch);
        if let Some((bound, within)) = &mut self.within {
            let count = self.scratch.iter().filter(|distance| **distance <= *bound).count() as u64;
            *within = within.joined(Within { count, of: counted });
        }
        let p95 = quantile(&mut self.scratch, 0.95).unwrap_or(0.0);
        let rms = (squares / counted.max(1) as f64).sqrt();
        self.per_pose.push(PerPoseError { label: label.into(), rms, max, p95, worst_vertex });
        Ok(())
    }

    /// The report; `None` if there was no frame, or no vertex.
    pub fn finish(self) -> Option<ErrorReport> {
        let (frames, vertices) = (self.frames(), self.vertices());
        if frames == 0 || vertices == 0 {
            return None;
        }
        let max = self.per_pose.iter().fold(0.0, |most: f64, pose| most.max(pose.max));
        let (difference, pairs) = (self.squares.sqrt(), self.pairs.max(1));
        let error = ErrorStats {
            rms: (self.squares / pairs as f64).sqrt(),
            max,
            p95: self.distances.at(0.95).unwrap_or(0.0),
            p999: self.distances.at(0.999).unwrap_or(0.0),
            e_rms: e_rms_of_radius(difference, 1, pairs as usize, self.diagonal),
            distortion_percent: distortion_percent(difference, self.spread.sqrt()),
        };
        let mut order: Vec<usize> = (0..vertices).filter(|&v| self.vertex_max[v].0 > 0.0).collect();
        order.sort_by(|&a, &b| self.vertex_max[b].0.total_cmp(&self.vertex_max[a].0).then(a.cmp(&b)));
        let worst_vertices = order.iter().take(WORST).map(|&vertex| {
            let (error, frame) = self.vertex_max[vertex];
            WorstVertex { vertex, label: self.per_pose[frame].label.clone(), error }
        });
        Some(ErrorReport {
            error,
            worst_vertices: worst_vertices.collect(),
            per_vertex_rms: self
                .vertex_squares
                .iter()
                .zip(&self.vertex_frames)
                .map(|(s, frames)| (s / f64::from((*frames).max(1))).sqrt())
                .collect(),
            per_vertex_max: self.vertex_max.iter().map(|(max, _)| *max).collect(),
            within: self.within.map(|(_, within)| within),
            pairs: self.pairs,
            per_pose: self.per_pose,
        })
    }
}

/// ‖X − mean X‖² of one frame.
fn spread(positions: &[DVec3]) -> f64 {
    let mean = positions.iter().sum::<DVec3>() / positions.len().max(1) as f64;
    positions.iter().map(|x| x.distance_squared(mean)).sum()
}

/// E_RMS with factor 1000 and half the rest diagonal: `1000 ‖X − Y‖_F / (√(3 S V) · diagonal/2)`, as reports print it.
///
/// `difference` is ‖X − Y‖_F over all frames, vertices and axes. `None` if a count or the diagonal is not positive.
pub fn e_rms_of_radius(difference: f64, frames: usize, vertices: usize, diagonal: f64) -> Option<f64> {
    relative(difference, frames, vertices, 0.5 * diagonal).map(|e| 1000.0 * e)
}

/// E_RMS with factor 100 and the whole rest diagonal: `100 ‖X − Y‖_F / (√(3 S V) · diagonal)`, a percentage.
///
/// `difference` is ‖X − Y‖_F over all frames, vertices and axes. `None` if a count or the diagonal is not positive.
pub fn e_rms_of_diagonal(difference: f64, frames: usize, vertices: usize, diagonal: f64) -> Option<f64> {
    relative(difference, frames, vertices, diagonal).map(|e| 100.0 * e)
}

fn relative(difference: f64, frames: usize, vertices: usize, length: f64) -> Option<f64> {
    let size = (3.0 * frames as f64 * vertices as f64).sqrt() * length;
    (size > 0.0).then(|| difference / size).filter(|e| e.is_finite())
}

/// Distortion after Karni and Gotsman: `100 ‖X − Y‖_F / ‖X − mean X‖_F`. `None` if the second norm is zero.
pub fn distortion_percent(difference: f64, spread: f64) -> Option<f64> {
    (spread > 0.0).then(|| 100.0 * difference / spread).filter(|d| d.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two frames of a unit square, side 2 diagonal √8; frame 1 is off by 3 at vertex 2, frame 2 by 4 at vertex 0.
    fn report() -> ErrorReport {
        let square = [DVec3::ZERO, DVec3::X * 2.0, DVec3::new(2.0, 2.0, 0.0), DVec3::Y * 2.0];
        let off = |vertex: usize, by: DVec3| {
            let mut moved = square;
            moved[vertex] += by;
            moved
        };
        let mut errors = ErrorAccumulator::new(4, 8f64.sqrt());
        errors.add_frame("a", &square, &off(2, DVec3::new(1.0, 2.0, -2.0))).unwrap();
        errors.add_frame("b", &square, &off(0, DVec3::Z * 4.0)).unwrap();
        errors.finish().unwrap()
    }

    #[test]
    fn measures_are_those_worked_out_by_hand() {
        // ‖X − Y‖² = 9 + 16 = 25 over 8 pairs; each corner is √2 from the middle, so ‖X − mean X‖² = 16.
        let error = report().error;
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-13 * want, "{got} {want}");
        near(error.rms, 5.0 / 8f64.sqrt());
        near(error.max, 4.0);
        near(error.p95, 3.0 + 0.65); // sorted 0 0 0 0 0 0 3 4, position 6.65
        near(error.e_rms.unwrap(), 5000.0 / (24f64.sqrt() * 2f64.sqrt()));
        near(error.distortion_percent.unwrap(), 125.0);
        near(e_rms_of_diagonal(5.0, 2, 4, 8f64.sqrt()).unwrap() * 20.0, error.e_rms.unwrap());
    }

    #[test]
    fn distances_within_a_bound_are_counted() {
        let line = [DVec3::ZERO, DVec3::X, DVec3::Y];
        for (bound, count) in [(0.0, 4), (0.5, 5), (0.499, 4), (2.0, 6)] {
            let mut errors = ErrorAccumulator::new(3, 1.0).counting(bound);
            errors.add_frame("a", &line, &line).unwrap();
            errors.add_frame("b", &line, &[DVec3::Z * 2.0, DVec3::X * 1.5, DVec3::Y]).unwrap();
            assert_eq!(errors.finish().unwrap().within, Some(Within { count, of: 6 }), "{bound}");
        }
        assert_eq!(report().within, None);
    }

    #[test]
    fn frames_and_vertices_are_told_apart() {
        let report = report();
        let pose = &report.per_pose[0];
        assert_eq!((pose.label.as_str(), pose.rms, pose.max, pose.worst_vertex), ("a", 1.5, 3.0, 2));
        assert!((pose.p95 - 3.0 * 0.85).abs() < 1e-15);
        assert_eq!(report.per_vertex_max, [4.0, 0.0, 3.0, 0.0]);
        assert_eq!(report.per_vertex_rms, [8f64.sqrt(), 0.0, 4.5f64.sqrt(), 0.0]);
        let worst: Vec<_> = report.worst_vertices.iter().map(|w| (w.vertex, w.label.as_str(), w.error)).collect();
        assert_eq!(worst, [(0, "b", 4.0), (2, "a", 3.0)]);
    }

    #[test]
    fn the_json_has_the_promised_keys() {
        let json = serde_json::to_value(report()).unwrap();
        for key in ["rms", "max", "p95", "e_rms", "distortion_percent"] {
            assert!(json["error"][key].is_f64(), "{key}");
        }
        assert_eq!((&json["per_pose"][1]["label"], &json["per_pose"][1]["max"]), (&"b".into(), &4.0.into()));
        assert!(json["per_pose"][1]["rms"].is_f64() && json.get("per_vertex_rms").is_none());
    }

    #[test]
    fn frames_that_do_not_fit_or_are_not_finite_are_named_and_left_out() {
        let mut errors = ErrorAccumulator::new(2, 1.0);
        let good = [DVec3::ZERO, DVec3::X];
        let short = errors.add_frame("short", &good, &good[..1]);
        assert!(matches!(short, Err(MeasureError::Vertices { targets: 2, predictions: 1, vertices: 2, .. })));
        for (bad, what) in [(f64::NAN, "prediction"), (f64::INFINITY, "prediction"), (1e200, "distance")] {
            let found = errors.add_frame("bad", &good, &[DVec3::ZERO, DVec3::splat(bad)]);
            assert_eq!(found, Err(MeasureError::NotFinite { label: "bad".into(), what, vertex: 1 }));
        }
        errors.add_frame("good", &good, &good).unwrap();
        let report = errors.finish().unwrap();
        assert_eq!((report.per_pose.len(), report.error.rms, report.error.max), (1, 0.0, 0.0));
        assert!(ErrorAccumulator::new(2, 1.0).finish().is_none());
    }

    #[test]
    fn a_character_of_one_point_has_no_relative_error() {
        let mut errors = ErrorAccumulator::new(1, 0.0);
        errors.add_frame("point", &[DVec3::ZERO], &[DVec3::X]).unwrap();
        let error = errors.finish().unwrap().error;
        assert_eq!((error.rms, error.e_rms, error.distortion_percent), (1.0, None, None));
    }
}
