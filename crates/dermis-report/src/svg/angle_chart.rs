//! A chart of angles over an angle.

use std::fmt::Write;

/// Angles over an angle, in degrees, with grid lines every 30°.
#[derive(Clone, Debug)]
pub struct AngleChart {
    /// Spoken in place of the drawing.
    pub label: String,
    /// Below the horizontal axis.
    pub axis: String,
    /// First and last angle of the horizontal axis.
    pub across: [i32; 2],
    /// First and last angle of the vertical axis.
    pub up: [i32; 2],
    /// The baseline's curve and the model's, in this order.
    pub curves: [AngleCurve; 2],
    /// An angle of the horizontal axis to mark, and its name.
    pub marked: (f64, String),
}

/// A line and measurements beside it: pairs of horizontal and vertical angle.
#[derive(Clone, Debug)]
pub struct AngleCurve {
    /// Corners of the line.
    pub line: Vec<[f64; 2]>,
    /// Centres of the dots.
    pub dots: Vec<[f64; 2]>,
}

impl AngleChart {
    /// Returns the chart as SVG.
    pub fn to_svg(&self) -> String {
        const TICK: usize = 30;
        let (left, bottom, width, height) = (46.0, 232.0, 330.0, 216.0);
        let (across, up) = (self.across.map(f64::from), self.up.map(f64::from));
        let x = |degrees: f64| left + width * (degrees - across[0]) / (across[1] - across[0]);
        let y = |degrees: f64| bottom - height * (degrees - up[0]) / (up[1] - up[0]);
        let mut svg = format!("<svg viewBox=\"0 0 390 274\" role=\"img\" aria-label=\"{}\">", self.label);
        for tick in (self.up[0]..=self.up[1]).step_by(TICK) {
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
        for tick in (self.across[0]..=self.across[1]).step_by(TICK) {
            let at = x(f64::from(tick));
            let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{tick}°</text>", bottom + 17.0);
        }
        let middle = left + 0.5 * width;
        let _ = write!(svg, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>", bottom + 36.0, self.axis);
        for (curve, class) in self.curves.iter().zip(["baseline", "model"]) {
            let line: String = curve.line.iter().map(|p| format!("{:.1},{:.1} ", x(p[0]), y(p[1]))).collect();
            let _ = write!(svg, "<polyline class=\"line-{class}\" points=\"{}\"/>", line.trim_end());
            for [across, up] in &curve.dots {
                let (x, y) = (x(*across), y(*up));
                let _ = write!(svg, "<circle class=\"dot-{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\"/>");
            }
        }
        let (at, name) = (x(self.marked.0), &self.marked.1);
        let _ = write!(
            svg,
            "<line class=\"chosen\" x1=\"{at}\" x2=\"{at}\" y1=\"{}\" y2=\"{bottom}\"/>\
             <text class=\"chosen-label\" x=\"{}\" y=\"{}\">{name}</text>",
            bottom - height,
            at + 6.0,
            bottom - 8.0
        );
        svg + "</svg>"
    }
}
