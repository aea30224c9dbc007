//! The figures as SVG: outlines, shaded tubes, lines over an angle.

use super::arm::{AROUND, RINGS};
use super::direction::{Direction, EXAMPLE};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DMat3, DVec2, DVec3};
use std::fmt::Write;

/// A window onto the drawing: smallest and largest corner, y up.
#[derive(Clone, Copy, Debug)]
pub struct Window(pub DVec2, pub DVec2);

impl Window {
    /// The smallest window around all points.
    pub fn around(points: impl Iterator<Item = DVec2>, margin: f64) -> Self {
        let start = Self(DVec2::INFINITY, DVec2::NEG_INFINITY);
        let tight = points.fold(start, |w, p| Self(w.0.min(p), w.1.max(p)));
        Self(tight.0 - margin, tight.1 + margin)
    }

    fn open(&self, label: &str) -> String {
        let size = 100.0 * (self.1 - self.0);
        format!("<svg viewBox=\"0 0 {:.1} {:.1}\" role=\"img\" aria-label=\"{label}\">", size.x, size.y)
    }

    fn place(&self, p: DVec2) -> DVec2 {
        100.0 * DVec2::new(p.x - self.0.x, self.1.y - p.y)
    }

    fn points(&self, points: impl Iterator<Item = DVec2>) -> String {
        points.map(|p| self.place(p)).fold(String::new(), |mut text, p| {
            let _ = write!(text, "{:.1},{:.1} ", p.x, p.y);
            text
        })
    }
}

/// A skin in the plane over the shape wanted, with its bones.
pub fn outline(window: Window, label: &str, skin: &[DVec3], wanted: &[DVec3], bones: &[DVec3]) -> String {
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

/// Where a point of the arm is drawn, and how near it is.
pub fn seen(p: DVec3) -> (DVec2, f64) {
    let turned = DMat3::from_rotation_x(0.42) * DMat3::from_rotation_y(-0.3) * p;
    (turned.truncate(), turned.z)
}

/// A tube of rings, shaded, with stripes along it; redder where it is farther from the shape wanted.
pub fn tube(window: Window, label: &str, skin: &[DVec3], wanted: &[DVec3]) -> String {
    /// An error drawn fully red, in bone lengths.
    const RED: f64 = 0.15;
    let light = DVec3::new(-0.3, 0.7, 0.65).normalize();
    let mut faces = Vec::new();
    for ring in 0..RINGS - 1 {
        for k in 0..AROUND {
            let next = (k + 1) % AROUND;
            let corners = [(ring, k), (ring + 1, k), (ring + 1, next), (ring, next)].map(|(r, k)| r * AROUND + k);
            let [a, b, c, d] = corners.map(|v| seen(skin[v])).map(|(p, z)| p.extend(z));
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
    // The ends, seen through the open ring where they face the viewer and covered by the skin where they do not.
    for ring in [0, RINGS - 1] {
        let around = (0..AROUND).map(|k| seen(skin[ring * AROUND + k]).0);
        let _ = write!(svg, "<polygon class=\"end\" points=\"{}\"/>", window.points(around).trim_end());
    }
    for (corners, _, colour) in faces {
        let [r, g, b] = colour.to_array().map(|x| x.clamp(0.0, 255.0) as u8);
        let points = window.points(corners.iter().map(|p| p.truncate()));
        let fill = format!("#{r:02x}{g:02x}{b:02x}");
        let _ = write!(svg, "<polygon fill=\"{fill}\" stroke=\"{fill}\" points=\"{}\"/>", points.trim_end());
    }
    svg + "</svg>"
}

/// The joints of a planar chain in a pose: shoulder, joint, tip.
pub fn bones(pose: &BoneTransforms) -> [DVec3; 3] {
    let of = |bone: usize, x: f64| pose.as_slice()[bone].transform_point3(DVec3::X * x);
    [of(0, -1.0), of(0, 0.0), of(1, 1.0)]
}

/// Directions of both forms over the joint angle: lines in closed form, dots as measured.
pub fn directions(direction: &Direction) -> String {
    let (left, bottom, width, height) = (46.0, 232.0, 330.0, 216.0);
    let (low, high) = (-60.0, 120.0);
    let x = |degrees: f64| left + width * degrees / 120.0;
    let y = |degrees: f64| bottom - height * (degrees - low) / (high - low);
    let mut svg = format!(
        "<svg viewBox=\"0 0 390 274\" role=\"img\" aria-label=\"direction over joint angle, weight {}\">",
        direction.weight
    );
    for tick in (-60..=120).step_by(30) {
        let at = y(f64::from(tick));
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}°</text>",
            left + width,
            left - 7.0,
            at + 4.0
        );
    }
    for tick in (0..=120).step_by(30) {
        let at = x(f64::from(tick));
        let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{tick}°</text>", bottom + 17.0);
    }
    let middle = left + 0.5 * width;
    let _ = write!(svg, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">joint angle</text>", bottom + 36.0);
    for (form, class) in ["baseline", "model"].into_iter().enumerate() {
        let line: String = (0..=60)
            .map(|at| 2.0 * f64::from(at))
            .map(|degrees| format!("{:.1},{:.1} ", x(degrees), y(direction.expected(degrees)[form])))
            .collect();
        let _ = write!(svg, "<polyline class=\"line-{class}\" points=\"{}\"/>", line.trim_end());
        for point in direction.points.iter().step_by(2) {
            let _ = write!(
                svg,
                "<circle class=\"dot-{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.4\"/>",
                x(point[0]),
                y(point[form + 1])
            );
        }
    }
    let sculpt = x(EXAMPLE);
    let _ = write!(
        svg,
        "<line class=\"chosen\" x1=\"{sculpt}\" x2=\"{sculpt}\" y1=\"{}\" y2=\"{bottom}\"/>\
         <text class=\"chosen-label\" x=\"{}\" y=\"{}\">sculpt</text>",
        bottom - height,
        sculpt + 6.0,
        bottom - 8.0
    );
    svg + "</svg>"
}
