//! The skins of the 3D view as text: positions as 16-bit steps in their bounding box, wrapped in base64.
//!
//! The page is about the error, so it stores a shape as its difference from the target. The steps then divide the range of
//! the error, not the size of the body. A step must be at most 10⁻⁶ of the rest diagonal for a difference
//! (2 µm on a person), and 2·10⁻⁵ of it for a target, whose bounding box may then be 1.3 diagonals long. A shape that
//! exceeds this, e.g. because it flew apart, is stored as 32-bit floats.

use super::content::PoseRef;
use base64::{Engine, engine::general_purpose::STANDARD};
use dermis_rig::glam::DVec3;
use serde::Serialize;

/// The contents of the 3D view: one mesh in a few chosen poses.
#[derive(Clone, Debug, Default)]
pub struct SkinView {
    /// Vertex indices, three per triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Rest positions, mesh units, Y up; their number is the vertex count of the view. Shown after the poses.
    pub rest: Vec<[f32; 3]>,
    /// Poses; the view opens with the first.
    pub poses: Vec<ShownPose>,
}

/// The skin in one pose: the target and what was computed. Mesh units, vertices in the order of the rest mesh.
#[derive(Clone, Debug, Default)]
pub struct ShownPose {
    /// Name of the pose.
    pub label: String,
    /// Name of the set it is from.
    pub set: String,
    /// Why it is here, e.g. "worst held-out frame"; may be empty.
    pub note: String,
    /// The scored pose that it shows, so that charts and tables can lead here.
    pub pose: Option<PoseRef>,
    /// The true skin.
    pub target: Vec<[f32; 3]>,
    /// The model's skin.
    pub model: Vec<[f32; 3]>,
    /// The baseline's skin, e.g. the rig's own weights.
    pub baseline: Option<Vec<[f32; 3]>>,
}

impl ShownPose {
    /// Returns the bytes that one pose of `vertices` vertices takes on the page, with a baseline.
    ///
    /// A caller decides by this how many poses to show. Shapes that flew apart take up to twice as much.
    pub fn bytes_on_page(vertices: usize) -> usize {
        // Three shapes of three 16-bit numbers, in base64.
        vertices.saturating_mul(3 * 3 * 2).saturating_mul(4).div_ceil(3)
    }
}

/// Returns positions in the precision of a [`ShownPose`].
pub fn shown_positions(points: &[DVec3]) -> Vec<[f32; 3]> {
    points.iter().map(|p| p.to_array().map(|x| x as f32)).collect()
}

/// The view as the page's script reads it.
#[derive(Serialize)]
pub(super) struct PackedView<'a> {
    vertices: usize,
    /// Little-endian `u32`, base64.
    triangles: String,
    rest: Packed,
    frames: Vec<PackedFrame<'a>>,
}

#[derive(Serialize)]
struct PackedFrame<'a> {
    label: &'a str,
    set: &'a str,
    note: &'a str,
    pose: Option<[usize; 2]>,
    target: Packed,
    /// Model minus target.
    model: Packed,
    /// Baseline minus target.
    baseline: Option<Packed>,
}

/// Three numbers per vertex, little-endian, base64. `u16`: value = min + step · q, q = 65535 for "not finite".
#[derive(Serialize)]
struct Packed {
    kind: &'static str,
    min: [f64; 3],
    step: [f64; 3],
    data: String,
}

const NOT_FINITE: u16 = u16::MAX;

/// Packs the view and names in words what it had to leave out. Returns no view when there is nothing to show.
///
/// `is_scored` says whether a [`PoseRef`] names a pose of the page.
pub(super) fn pack(view: &SkinView, is_scored: impl Fn(PoseRef) -> bool) -> (Option<PackedView<'_>>, Vec<String>) {
    let vertices = view.rest.len();
    let mut left_out = Vec::new();
    let mut triangles = Vec::new();
    for triangle in &view.triangles {
        if triangle.iter().all(|&v| (v as usize) < vertices) {
            triangles.extend(triangle.iter().flat_map(|v| v.to_le_bytes()));
        }
    }
    let dropped = view.triangles.len() - triangles.len() / 12;
    if dropped > 0 {
        left_out.push(format!(
            "{dropped} of {} triangles name a vertex beyond the {vertices} of the mesh; the 3D view leaves them out.",
            view.triangles.len()
        ));
    }
    let diagonal = diagonal(&view.rest);
    let mut frames = Vec::new();
    for frame in &view.poses {
        let counts = [Some(&frame.target), Some(&frame.model), frame.baseline.as_ref()];
        if let Some(wrong) = counts.into_iter().flatten().find(|shape| shape.len() != vertices) {
            left_out.push(format!(
                "Frame \"{}\" has a shape of {} vertices but the mesh has {vertices}; the 3D view leaves it out.",
                frame.label,
                wrong.len()
            ));
            continue;
        }
        let centre = centre(&frame.target);
        let difference = |shape: &[[f32; 3]]| {
            pack_points(shape.iter().zip(&frame.target).map(|(a, b)| sub(*a, b.map(f64::from))), diagonal * 1e-6)
        };
        frames.push(PackedFrame {
            label: &frame.label,
            set: &frame.set,
            note: &frame.note,
            pose: frame.pose.filter(|&pose| is_scored(pose)).map(|p| [p.set, p.pose]),
            target: pack_points(frame.target.iter().map(|p| sub(*p, centre)), diagonal * 2e-5),
            model: difference(&frame.model),
            baseline: frame.baseline.as_deref().map(difference),
        });
    }
    if triangles.is_empty() {
        return (None, left_out);
    }
    let middle = centre(&view.rest);
    let rest = pack_points(view.rest.iter().map(|p| sub(*p, middle)), diagonal * 2e-5);
    (Some(PackedView { vertices, triangles: STANDARD.encode(triangles), rest, frames }), left_out)
}

fn sub(a: [f32; 3], b: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|i| f64::from(a[i]) - b[i])
}

/// Returns the smallest and largest coordinate per axis over the finite points; zeros when there is none.
fn bounds(points: impl Iterator<Item = [f64; 3]>) -> [[f64; 2]; 3] {
    let mut bounds = [[f64::INFINITY, f64::NEG_INFINITY]; 3];
    for p in points.filter(|p| p.iter().all(|x| x.is_finite())) {
        for i in 0..3 {
            bounds[i] = [bounds[i][0].min(p[i]), bounds[i][1].max(p[i])];
        }
    }
    bounds.map(|b| if b[0] <= b[1] { b } else { [0.0, 0.0] })
}

fn centre(points: &[[f32; 3]]) -> [f64; 3] {
    bounds(points.iter().map(|p| p.map(f64::from))).map(|[low, high]| 0.5 * (low + high))
}

fn diagonal(points: &[[f32; 3]]) -> f64 {
    bounds(points.iter().map(|p| p.map(f64::from))).map(|[low, high]| (high - low).powi(2)).iter().sum::<f64>().sqrt()
}

/// Packs points as 16-bit numbers if these resolve every axis to `tolerance`, else as 32-bit floats.
fn pack_points(points: impl Iterator<Item = [f64; 3]> + Clone, tolerance: f64) -> Packed {
    let box_ = bounds(points.clone());
    let min = box_.map(|[low, _]| low);
    let step = box_.map(|[low, high]| (high - low) / f64::from(NOT_FINITE - 1));
    if step.iter().any(|&s| s > tolerance) {
        let bytes: Vec<u8> = points.flatten().flat_map(|x| (x as f32).to_le_bytes()).collect();
        return Packed { kind: "f32", min: [0.0; 3], step: [1.0; 3], data: STANDARD.encode(bytes) };
    }
    let quantised = points.flat_map(|p| {
        let finite = p.iter().all(|x| x.is_finite());
        [0, 1, 2].map(|i| match (finite, step[i] > 0.0) {
            (false, _) => NOT_FINITE,
            (true, false) => 0,
            (true, true) => ((p[i] - min[i]) / step[i]).round().clamp(0.0, f64::from(NOT_FINITE - 1)) as u16,
        })
    });
    let bytes: Vec<u8> = quantised.flat_map(u16::to_le_bytes).collect();
    Packed { kind: "u16", min, step, data: STANDARD.encode(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decoder of the page's script, in Rust.
    fn unpack(packed: &Packed) -> Vec<[f64; 3]> {
        let bytes = STANDARD.decode(&packed.data).unwrap();
        let flat: Vec<f64> = match packed.kind {
            "u16" => {
                let codes = bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
                let value = |(i, q)| {
                    if q == NOT_FINITE { f64::NAN } else { packed.min[i % 3] + packed.step[i % 3] * f64::from(q) }
                };
                codes.enumerate().map(value).collect()
            }
            _ => bytes.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect(),
        };
        flat.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect()
    }

    #[test]
    fn packing_keeps_the_stated_precision() {
        let points: Vec<[f64; 3]> =
            (0..1000).map(|i| [(i as f64).sin(), 0.25, (i as f64 * 0.7).cos() * 0.02]).collect();
        for (tolerance, kind) in [(1e-4, "u16"), (1e-6, "f32")] {
            let packed = pack_points(points.iter().copied(), tolerance);
            assert_eq!(packed.kind, kind);
            for (a, b) in unpack(&packed).iter().zip(&points) {
                for i in 0..3 {
                    // Half a step of 16 bits over a range of 2; half a unit in the last place of a float below 1.
                    let bound = if kind == "u16" { 1.0 / 65534.0 + 1e-12 } else { 3e-8 };
                    assert!((a[i] - b[i]).abs() <= bound, "{kind} {a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        let points = [[0.0, 0.0, 0.0], [f64::NAN, 1.0, 1.0], [1.0, f64::INFINITY, 1.0], [1.0, 1.0, 1.0]];
        for tolerance in [1.0, 0.0] {
            let back = unpack(&pack_points(points.into_iter(), tolerance));
            let finite: Vec<bool> = back.iter().map(|p| p.iter().all(|x| x.is_finite())).collect();
            assert_eq!(finite, [true, false, false, true]);
            assert!((back[3][0] - 1.0).abs() < 1e-9);
        }
        assert_eq!(unpack(&pack_points([[f64::NAN; 3]].into_iter(), 1.0)).len(), 1);
    }

    #[test]
    fn frames_and_triangles_that_do_not_fit_are_left_out_and_named() {
        let square = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let frame = |n: usize| ShownPose {
            label: format!("of {n}"),
            target: square.clone(),
            model: square[..n].to_vec(),
            ..ShownPose::default()
        };
        let view =
            SkinView { triangles: vec![[0, 1, 2], [0, 1, 3]], rest: square.clone(), poses: vec![frame(3), frame(2)] };
        let (packed, left_out) = pack(&view, |_| true);
        let packed = packed.unwrap();
        assert_eq!((packed.frames.len(), left_out.len()), (1, 2));
        assert!(left_out[0].contains("1 of 2 triangles") && left_out[1].contains("\"of 2\""), "{left_out:?}");
        assert!(pack(&SkinView::default(), |_| true).0.is_none());
    }
}
