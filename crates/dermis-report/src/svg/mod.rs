//! Drawings as SVG: skins beside the shape wanted, and lines over an angle.
//!
//! The style sheet of a [page of figures](crate::figures) gives most drawings their colours, so a drawing is complete only there;
//! [`skeleton`] brings its own. Labels and titles are written as they are: they must hold no markup.

mod angle_chart;
mod skeleton;
mod skins;

pub use angle_chart::{AngleChart, AngleCurve};
pub use skeleton::{DrawnJoint, skeleton};
pub use skins::{RingTube, outline, seen_from_the_side};

use dermis_rig::glam::DVec2;
use std::fmt::Write;

/// The part of the drawing plane that a drawing shows; y points up. A unit of the plane is 100 units of the SVG.
#[derive(Clone, Copy, Debug)]
pub struct SvgWindow {
    lowest: DVec2,
    highest: DVec2,
}

impl SvgWindow {
    /// Returns the smallest window around all points, widened by `margin` on every side.
    pub fn around(points: impl Iterator<Item = DVec2>, margin: f64) -> Self {
        let start = Self { lowest: DVec2::INFINITY, highest: DVec2::NEG_INFINITY };
        let tight = points.fold(start, |w, p| Self { lowest: w.lowest.min(p), highest: w.highest.max(p) });
        Self { lowest: tight.lowest - margin, highest: tight.highest + margin }
    }

    fn open(&self, label: &str) -> String {
        let size = 100.0 * (self.highest - self.lowest);
        format!("<svg viewBox=\"0 0 {:.1} {:.1}\" role=\"img\" aria-label=\"{label}\">", size.x, size.y)
    }

    fn place(&self, p: DVec2) -> DVec2 {
        100.0 * DVec2::new(p.x - self.lowest.x, self.highest.y - p.y)
    }

    fn points(&self, points: impl Iterator<Item = DVec2>) -> String {
        points.map(|p| self.place(p)).fold(String::new(), |mut text, p| {
            let _ = write!(text, "{:.1},{:.1} ", p.x, p.y);
            text
        })
    }
}
