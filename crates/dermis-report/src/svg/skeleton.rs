//! A skeleton in a mesh, seen along an axis.

use crate::page::html::escape;
use dermis_rig::glam::{DVec2, DVec3};
use std::fmt::Write;

/// A joint as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnJoint {
    /// Its name, which shows when the pointer rests on it.
    pub name: String,
    /// Its place.
    pub place: DVec3,
    /// Its parent, by index.
    pub parent: Option<usize>,
    /// The end of its bone, where that ends the shape.
    pub end: Option<DVec3>,
    /// From 0, red, to 1, green.
    pub grade: f64,
    /// What shows with its name.
    pub note: String,
}

/// Squares along the longer side of the drawing.
const SQUARES: f64 = 360.0;
/// Shades of grey.
const SHADES: usize = 12;

/// Draws a mesh in grey and a skeleton over it. `right` and `up` are unit vectors that span the drawing, at right angles; the
/// viewer is at `right` × `up`. Points that are not finite are left out.
pub fn skeleton(
    label: &str,
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    joints: &[DrawnJoint],
    right: DVec3,
    up: DVec3,
) -> String {
    let flat = |p: DVec3| DVec2::new(p.dot(right), -p.dot(up));
    let start = (DVec2::INFINITY, DVec2::NEG_INFINITY);
    let on_skin = triangles.iter().flatten().filter_map(|v| positions.get(*v as usize));
    let all = on_skin.chain(joints.iter().map(|j| &j.place)).filter(|p| p.is_finite());
    let (low, high) = all.fold(start, |(low, high), p| (low.min(flat(*p)), high.max(flat(*p))));
    let size = high - low;
    let scale = SQUARES / size.max_element();
    if !(scale.is_finite() && scale > 0.0) {
        return String::new();
    }
    let (width, height) = ((size.x * scale).ceil() as usize + 1, (size.y * scale).ceil() as usize + 1);
    let place = |p: DVec3| (flat(p) - low) * scale;
    let shades = shaded(positions, triangles, right, up, width, height, &place);
    let mut svg = format!(
        "<svg viewBox=\"-8 -8 {} {}\" role=\"img\" aria-label=\"{label}\" shape-rendering=\"crispEdges\">",
        width + 16,
        height + 16
    );
    for shade in 1..=SHADES {
        let mut path = String::new();
        for y in 0..height {
            let row = &shades[y * width..(y + 1) * width];
            let mut x = 0;
            while x < width {
                let run = row[x..].iter().take_while(|s| usize::from(**s) == shade).count();
                if run > 0 {
                    let _ = write!(path, "M{x} {y}h{run}v1h-{run}z");
                }
                x += run.max(1);
            }
        }
        if !path.is_empty() {
            let grey = 120 + 110 * shade / SHADES;
            let _ = write!(svg, "<path fill=\"rgb({grey},{grey},{grey})\" d=\"{path}\"/>");
        }
    }
    svg += "<g shape-rendering=\"auto\">";
    for joint in joints.iter().filter(|j| j.place.is_finite()) {
        let at = place(joint.place);
        let from = joint.parent.and_then(|p| joints.get(p)).map(|parent| place(parent.place));
        for other in from.into_iter().chain(joint.end.map(place)).filter(|p| p.is_finite()) {
            let _ = write!(
                svg,
                "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#1a4f8b\" stroke-width=\"1.5\"/>",
                at.x, at.y, other.x, other.y
            );
        }
    }
    for joint in joints.iter().filter(|j| j.place.is_finite()) {
        let at = place(joint.place);
        let grade = joint.grade.clamp(0.0, 1.0);
        let (red, green) = ((230.0 * (1.0 - grade)) as u8 + 20, (170.0 * grade) as u8 + 20);
        let (name, note) = (escape(&joint.name), escape(&joint.note));
        let _ = write!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.4\" fill=\"rgb({red},{green},40)\" stroke=\"white\" stroke-width=\"0.8\"><title>{name}: {note}</title></circle>",
            at.x, at.y
        );
    }
    svg + "</g></svg>"
}

/// The shade of every square, zero where there is no skin: the nearest triangle's, by its angle to the viewer.
fn shaded(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    right: DVec3,
    up: DVec3,
    width: usize,
    height: usize,
    place: &dyn Fn(DVec3) -> DVec2,
) -> Vec<u8> {
    let viewer = right.cross(up);
    let (mut shades, mut depths) = (vec![0_u8; width * height], vec![f64::NEG_INFINITY; width * height]);
    for triangle in triangles {
        let corners: Vec<DVec3> = triangle.iter().filter_map(|v| positions.get(*v as usize).copied()).collect();
        let [a, b, c] = corners[..] else { continue };
        if !(a.is_finite() && b.is_finite() && c.is_finite()) {
            continue;
        }
        let facing = (b - a).cross(c - a).normalize_or_zero().dot(viewer).abs();
        let shade = 1 + (facing * (SHADES - 1) as f64) as u8;
        let [p, q, r] = [a, b, c].map(place);
        let area = (q - p).perp_dot(r - p);
        let (low, high) = (p.min(q).min(r).floor(), p.max(q).max(r).ceil());
        for y in low.y.max(0.0) as usize..=(high.y as usize).min(height - 1) {
            for x in low.x.max(0.0) as usize..=(high.x as usize).min(width - 1) {
                let at = DVec2::new(x as f64 + 0.5, y as f64 + 0.5);
                let (s, t) = ((q - at).perp_dot(r - at) / area, (r - at).perp_dot(p - at) / area);
                if s >= -1e-9 && t >= -1e-9 && s + t <= 1.0 + 1e-9 {
                    let depth = (a * s + b * t + c * (1.0 - s - t)).dot(viewer);
                    if depth > depths[y * width + x] {
                        (depths[y * width + x], shades[y * width + x]) = (depth, shade);
                    }
                }
            }
        }
    }
    shades
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square that faces the viewer covers the drawing in the brightest shade, and a nearer one that is turned away hides it.
    #[test]
    fn the_nearest_triangle_gives_the_shade() {
        let square = |z: f64, tilt: f64| {
            [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].map(|(x, y)| DVec3::new(x, y, z + tilt * x))
        };
        let (front, back) = (square(2.0, 3.0), square(0.0, 0.0));
        let positions: Vec<DVec3> = back.into_iter().chain(front).collect();
        let faces = [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]];
        let brightest = format!("rgb({0},{0},{0})", 230);
        let one = skeleton("one", &positions, &faces[..2], &[], DVec3::X, DVec3::Y);
        assert!(one.contains(&brightest), "{one}");
        let both = skeleton("both", &positions, &faces, &[], DVec3::X, DVec3::Y);
        assert!(!both.contains(&brightest), "{both}");
    }

    #[test]
    fn names_of_joints_hold_no_markup_and_nothing_draws_nothing() {
        let joint = DrawnJoint {
            name: "<b&".into(),
            place: DVec3::ONE,
            parent: None,
            end: Some(DVec3::ZERO),
            grade: 1.0,
            note: "sure".into(),
        };
        let positions = [DVec3::ZERO, DVec3::X, DVec3::Y];
        let svg = skeleton("one", &positions, &[[0, 1, 2]], std::slice::from_ref(&joint), DVec3::X, DVec3::Y);
        assert!(svg.contains("&lt;b&amp;") && !svg.contains("<b"), "{svg}");
        assert_eq!(skeleton("none", &[], &[], &[], DVec3::X, DVec3::Y), "");
    }
}
