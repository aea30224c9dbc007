//! Drawings as SVG: skins beside the shape wanted, and lines over an angle.
//!
//! The style sheet of a [page of figures](crate::figures), or of a [`still_page`] without scripts, gives the drawings their
//! colours, so a drawing is complete only there. Labels and titles are written as they are: they must hold no markup.

mod angle_chart;
mod skeleton;
mod skins;

pub use angle_chart::{AngleChart, AngleCurve};
pub use skeleton::{DrawnJoint, skeleton};
pub use skins::{RingTube, outline, seen_from_the_side};

use dermis_rig::glam::DVec2;
use std::fmt::Write;

/// The style of the report page, and the rules for figures.
const STYLE: &str = concat!(include_str!("../page/html/page.css"), include_str!("figures.css"));

/// Returns one HTML file without scripts, in the style of the report. `body` is the HTML between the tags of `main`.
pub fn still_page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         {body}</main>\n</body>\n</html>"
    )
}

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
