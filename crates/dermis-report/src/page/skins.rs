//! The skins of the 3D view as text: positions as 16-bit steps in their bounding box, wrapped in base64.
//!
//! The page is about the error, so it stores a shape as its difference from the target. The steps then divide the range of
//! the error, not the size of the body. A step must be at most 10⁻⁶ of the rest diagonal for a difference
//! (2 µm on a person), and 2·10⁻⁵ of it for a target, whose bounding box may then be 1.3 diagonals long. A shape that
//! exceeds this, e.g. because it flew apart, is stored as 32-bit floats.
//!
//! A pose that is there to be played ([`Precision::Played`]) takes half a key pose's bytes on a difference: eight bits per
//! number, whose square is the share of the largest difference. Small errors thereby keep small steps: of differences up to
//! 5 mm, one of 0.1 mm is stored in steps of 0.01 mm.

use super::content::PoseRef;
use base64::{Engine, engine::general_purpose::STANDARD};
use dermis_rig::glam::DVec3;
use serde::Serialize;

/// The contents of the 3D view: one mesh in many poses.
#[derive(Clone, Debug, Default)]
pub struct SkinView {
    /// Vertex indices, three per triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Rest positions, mesh units, Y up; their number is the vertex count of the view. Shown after the poses.
    pub rest: Vec<[f32; 3]>,
    /// For each bone the number of its parent; empty if the view shows no skeleton.
    pub parents: Vec<Option<u32>>,
    /// Poses in the order in which they play. Poses of one set stand together.
    pub poses: Vec<ShownPose>,
    /// The pose with which the view opens, an index into `poses`.
    pub first: usize,
    /// The mesh as its file draws it, with pictures; `None` without any.
    pub surface: Option<DrawnSurface>,
    /// What the view leaves out, a sentence each.
    pub left_out: Vec<String>,
}

/// A mesh as its file draws it: vertices split at seams, and a picture on each part of it.
#[derive(Clone, Debug, Default)]
pub struct DrawnSurface {
    /// For each drawn vertex the vertex of the view.
    pub source: Vec<u32>,
    /// Texture coordinates per drawn vertex; (0, 0) is the upper left corner of a picture.
    pub uvs: Vec<[f32; 2]>,
    /// Triangles over drawn vertices.
    pub triangles: Vec<[u32; 3]>,
    /// Runs of triangles: the first, their number, and the number of their picture.
    pub parts: Vec<(u32, u32, Option<usize>)>,
    /// Picture files: media type and bytes, in a format that browsers show.
    pub pictures: Vec<(String, Vec<u8>)>,
}

impl DrawnSurface {
    /// Returns whether every number names something that is there, for a view of so many vertices.
    fn is_whole(&self, vertices: usize) -> bool {
        let count = self.triangles.len() as u64;
        self.uvs.len() == self.source.len()
            && self.source.iter().all(|&v| (v as usize) < vertices)
            && self.triangles.iter().flatten().all(|&v| (v as usize) < self.source.len())
            && self.parts.iter().all(|&(start, n, picture)| {
                u64::from(start) + u64::from(n) <= count && picture.is_none_or(|at| at < self.pictures.len())
            })
    }
}

/// The skin in one pose: the target and what was computed. Mesh units, vertices in the order of the rest mesh.
#[derive(Clone, Debug, Default)]
pub struct ShownPose {
    /// Name of the pose.
    pub label: String,
    /// Name of the set it is from.
    pub set: String,
    /// Why it is here, e.g. "worst held-out frame"; empty for a pose that is only played.
    pub note: String,
    /// The scored pose that it shows, so that charts and tables can lead here.
    pub pose: Option<PoseRef>,
    /// Seconds, if the pose is a frame of a clip.
    pub time: Option<f64>,
    /// How finely the errors are stored.
    pub precision: Precision,
    /// Where the bones' joints are, in the order of [`SkinView::parents`]; empty if the view shows no skeleton.
    pub joints: Vec<[f32; 3]>,
    /// The true skin.
    pub target: Vec<[f32; 3]>,
    /// The model's skin.
    pub model: Vec<[f32; 3]>,
    /// The baseline's skin, e.g. the rig's own weights.
    pub baseline: Option<Vec<[f32; 3]>>,
}

/// How finely a page stores the errors of a pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Sixteen bits per number, for poses that the page names.
    #[default]
    Full,
    /// Eight bits per number, for poses that are there to be played.
    Played,
}

impl ShownPose {
    /// Returns the bytes that one pose of `vertices` vertices takes on the page, with a baseline.
    ///
    /// A caller decides by this how many poses to show. Shapes that flew apart take up to three times as much.
    pub fn bytes_on_page(vertices: usize, precision: Precision) -> usize {
        // Three numbers per vertex and shape: the target in 16 bits, the two others in as many or half of it. Then base64.
        let raw = match precision {
            Precision::Full => 3 * (2 + 2 + 2),
            Precision::Played => 3 * (2 + 1 + 1),
        };
        vertices.saturating_mul(raw).saturating_mul(4).div_ceil(3)
    }
}

/// Returns positions in the precision of a [`ShownPose`].
pub fn shown_positions(points: &[DVec3]) -> Vec<[f32; 3]> {
    points.iter().map(|p| p.to_array().map(|x| x as f32)).collect()
}

/// The view as the page's script reads it.
#[derive(Serialize)]
pub(crate) struct PackedView<'a> {
    vertices: usize,
    /// Little-endian `u32`, base64.
    triangles: String,
    rest: Packed,
    /// Number of every bone's parent, −1 for a root.
    parents: Vec<i64>,
    first: usize,
    surface: Option<PackedSurface<'a>>,
    frames: Vec<PackedFrame<'a>>,
}

#[derive(Serialize)]
struct PackedSurface<'a> {
    /// Little-endian `u32`, base64, as `triangles`.
    source: String,
    /// Little-endian `f32`, base64.
    uvs: String,
    triangles: String,
    /// First triangle, number, picture; −1 for none.
    parts: Vec<[i64; 3]>,
    images: Vec<PackedImage<'a>>,
}

#[derive(Serialize)]
struct PackedImage<'a> {
    kind: &'a str,
    data: String,
}

#[derive(Serialize)]
struct PackedFrame<'a> {
    label: &'a str,
    set: &'a str,
    note: &'a str,
    pose: Option<[usize; 2]>,
    time: Option<f64>,
    /// Three numbers per bone, little-endian `f32`, base64.
    joints: String,
    target: Packed,
    /// Model minus target.
    model: Packed,
    /// Baseline minus target.
    baseline: Option<Packed>,
}

/// Three numbers per vertex, little-endian, base64. `u16`: value = min + step · q, q = 65535 for "not finite". `u8`: value =
/// step · t·|t| with t = (q − 127) / 127, q = 255 for "not finite".
#[derive(Serialize)]
pub(crate) struct Packed {
    kind: &'static str,
    min: [f64; 3],
    step: [f64; 3],
    data: String,
}

const NOT_FINITE: u16 = u16::MAX;

/// Stands for "not finite" among eight bits; zero is 127.
const NOT_FINITE_8: u8 = u8::MAX;

/// Packs the view and names in words what it had to leave out. Returns no view when there is nothing to show.
///
/// `is_scored` says whether a [`PoseRef`] names a pose of the page.
pub(crate) fn pack(view: &SkinView, is_scored: impl Fn(PoseRef) -> bool) -> (Option<PackedView<'_>>, Vec<String>) {
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
    // One centre for all, so that a clip plays as it was recorded.
    let centre = view.poses.get(view.first).map_or([0.0; 3], |pose| centre_of(&pose.target));
    let (mut frames, mut first) = (Vec::new(), 0);
    for (at, frame) in view.poses.iter().enumerate() {
        let counts = [Some(&frame.target), Some(&frame.model), frame.baseline.as_ref()];
        if let Some(wrong) = counts.into_iter().flatten().find(|shape| shape.len() != vertices) {
            left_out.push(format!(
                "Frame \"{}\" has a shape of {} vertices but the mesh has {vertices}; the 3D view leaves it out.",
                frame.label,
                wrong.len()
            ));
            continue;
        }
        let difference = |shape: &[[f32; 3]]| {
            let points = shape.iter().zip(&frame.target).map(|(a, b)| sub(*a, b.map(f64::from)));
            match frame.precision {
                Precision::Full => pack_points(points, diagonal * 1e-6),
                Precision::Played => pack_coarsely(points, diagonal),
            }
        };
        if at == view.first {
            first = frames.len();
        }
        let joints = if frame.joints.len() == view.parents.len() { frame.joints.as_slice() } else { &[] };
        frames.push(PackedFrame {
            label: &frame.label,
            set: &frame.set,
            note: &frame.note,
            pose: frame.pose.filter(|&pose| is_scored(pose)).map(|p| [p.set, p.pose]),
            time: frame.time.filter(|time| time.is_finite()),
            joints: pack_floats(joints.iter().map(|p| sub(*p, centre))),
            target: pack_points(frame.target.iter().map(|p| sub(*p, centre)), diagonal * 2e-5),
            model: difference(&frame.model),
            baseline: frame.baseline.as_deref().map(difference),
        });
    }
    if triangles.is_empty() {
        return (None, left_out);
    }
    let middle = centre_of(&view.rest);
    let rest = pack_points(view.rest.iter().map(|p| sub(*p, middle)), diagonal * 2e-5);
    let whole = view.surface.as_ref().filter(|surface| surface.is_whole(vertices));
    if view.surface.is_some() && whole.is_none() {
        left_out.push("The drawn mesh does not fit the mesh; the 3D view shows no texture.".into());
    }
    let surface = whole.map(pack_surface);
    let parents = view.parents.iter().map(|parent| parent.map_or(-1, i64::from)).collect();
    (
        Some(PackedView { vertices, triangles: STANDARD.encode(triangles), rest, parents, first, surface, frames }),
        left_out,
    )
}

fn pack_surface(surface: &DrawnSurface) -> PackedSurface<'_> {
    let numbers =
        |list: &mut dyn Iterator<Item = u32>| STANDARD.encode(list.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let place = |x: &f32| if x.is_finite() { *x } else { 0.0 };
    PackedSurface {
        source: numbers(&mut surface.source.iter().copied()),
        uvs: STANDARD.encode(surface.uvs.iter().flatten().flat_map(|x| place(x).to_le_bytes()).collect::<Vec<u8>>()),
        triangles: numbers(&mut surface.triangles.iter().flatten().copied()),
        parts: surface
            .parts
            .iter()
            .map(|&(start, count, picture)| [start.into(), count.into(), picture.map_or(-1, |at| at as i64)])
            .collect(),
        images: surface
            .pictures
            .iter()
            .map(|(kind, bytes)| PackedImage { kind, data: STANDARD.encode(bytes) })
            .collect(),
    }
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

fn centre_of(points: &[[f32; 3]]) -> [f64; 3] {
    bounds(points.iter().map(|p| p.map(f64::from))).map(|[low, high]| 0.5 * (low + high))
}

/// Returns the diagonal of the box of the finite points.
pub(crate) fn diagonal(points: &[[f32; 3]]) -> f64 {
    bounds(points.iter().map(|p| p.map(f64::from))).map(|[low, high]| (high - low).powi(2)).iter().sum::<f64>().sqrt()
}

/// Packs points as 16-bit numbers if these resolve every axis to `tolerance`, else as 32-bit floats.
pub(crate) fn pack_points(points: impl Iterator<Item = [f64; 3]> + Clone, tolerance: f64) -> Packed {
    let box_ = bounds(points.clone());
    let min = box_.map(|[low, _]| low);
    let step = box_.map(|[low, high]| (high - low) / f64::from(NOT_FINITE - 1));
    if step.iter().any(|&s| s > tolerance) {
        return Packed { kind: "f32", min: [0.0; 3], step: [1.0; 3], data: pack_floats(points) };
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

fn pack_floats(points: impl Iterator<Item = [f64; 3]>) -> String {
    STANDARD.encode(points.flatten().flat_map(|x| (x as f32).to_le_bytes()).collect::<Vec<u8>>())
}

/// Packs differences as 8-bit numbers unless one of them exceeds a tenth of the diagonal.
///
/// The code of a number is the root of its share of the largest on its axis, so the steps near zero are the finest.
fn pack_coarsely(points: impl Iterator<Item = [f64; 3]> + Clone, diagonal: f64) -> Packed {
    let step = bounds(points.clone()).map(|[low, high]| high.abs().max(low.abs()));
    if step.iter().any(|&largest| largest > 0.1 * diagonal) {
        return pack_points(points, diagonal * 1e-4);
    }
    let codes = points.flat_map(|p| {
        let finite = p.iter().all(|x| x.is_finite());
        [0, 1, 2].map(|i| match (finite, step[i] > 0.0) {
            (false, _) => NOT_FINITE_8,
            (true, false) => 127,
            (true, true) => (127.0 + 127.0 * (p[i].abs() / step[i]).sqrt().copysign(p[i])).round() as u8,
        })
    });
    Packed { kind: "u8", min: [0.0; 3], step, data: STANDARD.encode(codes.collect::<Vec<u8>>()) }
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
            "u8" => {
                let value = |(i, q): (usize, &u8)| {
                    let t = (f64::from(*q) - 127.0) / 127.0;
                    if *q == NOT_FINITE_8 { f64::NAN } else { packed.step[i % 3] * t * t.abs() }
                };
                bytes.iter().enumerate().map(value).collect()
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
    fn played_differences_have_fine_steps_near_zero() {
        let points: Vec<[f64; 3]> = (-500..=500).map(|i| [f64::from(i) * 1e-5, 0.0, f64::from(i * i) * 1e-8]).collect();
        let packed = pack_coarsely(points.iter().copied(), 1.0);
        assert_eq!(packed.kind, "u8");
        for (a, b) in unpack(&packed).iter().zip(&points) {
            for i in 0..3 {
                // Codes are a root's half step apart: with x = m t², |Δx| ≤ 2 m t Δt + m Δt² at Δt = 1/254.
                let (m, x) = (packed.step[i], b[i].abs());
                let bound = 2.0 * (m * x).sqrt() / 254.0 + m / 254.0f64.powi(2) + 1e-15;
                assert!((a[i] - b[i]).abs() <= bound, "axis {i}: {a:?} {b:?}");
            }
        }
        for (largest, kind) in [(0.09, "u8"), (0.11, "u16"), (1e3, "f32")] {
            assert_eq!(pack_coarsely([[0.0; 3], [largest, 0.0, 0.0]].into_iter(), 1.0).kind, kind, "{largest}");
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        let points = [[0.0, 0.0, 0.0], [f64::NAN, 1.0, 1.0], [1.0, f64::INFINITY, 1.0], [1.0, 1.0, 1.0]];
        for packed in [1.0, 0.0]
            .map(|t| pack_points(points.into_iter(), t))
            .into_iter()
            .chain([pack_coarsely(points.into_iter(), 20.0)])
        {
            let back = unpack(&packed);
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
        let view = SkinView {
            triangles: vec![[0, 1, 2], [0, 1, 3]],
            rest: square.clone(),
            poses: vec![frame(2), frame(3)],
            first: 1,
            ..SkinView::default()
        };
        let (packed, left_out) = pack(&view, |_| true);
        let packed = packed.unwrap();
        assert_eq!((packed.frames.len(), packed.first, left_out.len()), (1, 0, 2));
        assert!(left_out[0].contains("1 of 2 triangles") && left_out[1].contains("\"of 2\""), "{left_out:?}");
        assert!(pack(&SkinView::default(), |_| true).0.is_none());
    }
}
