//! Skins beside the shape wanted: outlines in the plane, shaded tubes.

use super::SvgWindow;
use dermis_rig::glam::{DMat3, DVec2, DVec3};
use std::fmt::Write;

/// Draws a skin in the xy plane, the outline of the shape wanted over it, and a chain of bones.
///
/// - `skin`, `wanted`: polygons in order
/// - `bones`: the ends of the bones, parents first; the first two carry a dot
pub fn outline(window: SvgWindow, label: &str, skin: &[DVec3], wanted: &[DVec3], bones: &[DVec3]) -> String {
    let polygon = |class: &str, points: &[DVec3]| {
        format!("<polygon class=\"{class}\" points=\"{}\"/>", window.points(points.iter().map(|p| p.truncate())))
    };
    let mut svg = window.open(label);
    svg += &polygon("skin", skin);
    svg += &polygon("wanted", wanted);
    let _ = write!(svg, "<polyline class=\"bone\" points=\"{}\"/>", window.points(bones.iter().map(|p| p.truncate())));
    for p in bones.iter().take(2).map(|p| window.place(p.truncate())) {
        let _ = write!(svg, "<circle class=\"head\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.2\"/>", p.x, p.y);
    }
    svg + "</svg>"
}

/// Returns where a point of a [`RingTube`] is drawn, and how near it is to the viewer.
pub fn seen_from_the_side(p: DVec3) -> (DVec2, f64) {
    let turned = DMat3::from_rotation_x(0.42) * DMat3::from_rotation_y(-0.3) * p;
    (turned.truncate(), turned.z)
}

/// A tube of rings about the x axis. Vertex `r · around + k` is the k-th of ring r.
#[derive(Clone, Copy, Debug)]
pub struct RingTube {
    /// Rings along the tube.
    pub rings: usize,
    /// Vertices of each ring.
    pub around: usize,
}

impl RingTube {
    /// Draws the tube shaded, with stripes along it. A face is redder where it is farther from the shape wanted, and fully
    /// red at a distance of 0.15.
    ///
    /// # Panics
    /// If `skin` or `wanted` has fewer than `rings · around` points, or if there is no ring.
    pub fn draw(self, window: SvgWindow, label: &str, skin: &[DVec3], wanted: &[DVec3]) -> String {
        const RED: f64 = 0.15;
        let Self { rings, around } = self;
        let light = DVec3::new(-0.3, 0.7, 0.65).normalize();
        let mut faces = Vec::new();
        for ring in 0..rings - 1 {
            for k in 0..around {
                let next = (k + 1) % around;
                let corners = [(ring, k), (ring + 1, k), (ring + 1, next), (ring, next)].map(|(r, k)| r * around + k);
                let [a, b, c, d] = corners.map(|v| seen_from_the_side(skin[v])).map(|(p, z)| p.extend(z));
                let normal = (d - b).cross(c - a).normalize_or_zero();
                if normal.z < 0.0 {
                    continue;
                }
                let error = corners.iter().map(|&v| skin[v].distance(wanted[v])).sum::<f64>() / 4.0;
                let lit = 0.62 + 0.4 * normal.dot(light).clamp(0.0, 1.0);
                let stripe = if k % 6 == 0 { 0.78 } else { 1.0 };
                let plain = DVec3::new(232.0, 196.0, 168.0);
                let colour = plain.lerp(DVec3::new(214.0, 52.0, 44.0), (error / RED).min(1.0)) * (lit * stripe);
                faces.push(([a, b, c, d], (a.z + b.z + c.z + d.z), colour));
            }
        }
        faces.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut svg = window.open(label);
        // The far end shows through its open ring; the skin, drawn later, covers the near end.
        for ring in [0, rings - 1] {
            let ends = (0..around).map(|k| seen_from_the_side(skin[ring * around + k]).0);
            let _ = write!(svg, "<polygon class=\"end\" points=\"{}\"/>", window.points(ends).trim_end());
        }
        for (corners, _, colour) in faces {
            let [r, g, b] = colour.to_array().map(|x| x.clamp(0.0, 255.0) as u8);
            let points = window.points(corners.iter().map(|p| p.truncate()));
            let fill = format!("#{r:02x}{g:02x}{b:02x}");
            let _ = write!(svg, "<polygon fill=\"{fill}\" stroke=\"{fill}\" points=\"{}\"/>", points.trim_end());
        }
        svg + "</svg>"
    }
}
