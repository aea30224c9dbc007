//! Charts of lines over a number.

use crate::page::html::escape;
use std::fmt::Write as _;

/// How an axis runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Evenly. The vertical axis begins at zero where no value is negative.
    #[default]
    Linear,
    /// By powers of ten. Values that are not positive are left out.
    Logarithmic,
}

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Where it passes: horizontal and vertical number. Those that are not finite are left out.
    pub points: Vec<[f64; 2]>,
    /// Whether points are marked, as measurements are.
    pub dots: bool,
    /// Whether the line is dashed, as closed forms are.
    pub dashed: bool,
}

/// Lines over a number, six at most that differ in colour.
#[derive(Clone, Debug, Default)]
pub struct LineChart {
    /// Spoken in place of the drawing.
    pub label: String,
    /// Beneath the horizontal axis.
    pub across: String,
    /// Above the vertical axis.
    pub up: String,
    /// How the horizontal axis runs.
    pub across_scale: Scale,
    /// How the vertical axis runs.
    pub up_scale: Scale,
    /// The curves, in the order of their colours.
    pub series: Vec<Series>,
    /// Places of the horizontal axis to mark, with names.
    pub marks: Vec<(f64, String)>,
}

const WIDTH: f64 = 390.0;
const HEIGHT: f64 = 262.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = HEIGHT - 42.0;

/// An axis: the numbers at its ends and where it writes numbers.
struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
    ticks: Vec<f64>,
}

impl Axis {
    /// Around all values; `from_zero` begins a linear axis at zero if no value is negative.
    fn around(values: &[f64], scale: Scale, from_zero: bool) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        match scale {
            Scale::Logarithmic => {
                let (mut from, mut to) = (low.log10().floor(), high.log10().ceil());
                if to - from < 1.0 {
                    (from, to) = (from, from + 1.0);
                }
                let step = ((to - from) / 6.0).ceil().max(1.0);
                let count = ((to - from) / step).floor() as i32;
                let ticks = (0..=count).map(|i| 10f64.powf(from + step * f64::from(i))).collect();
                Self { low: 10f64.powf(from), high: 10f64.powf(to), scale, ticks }
            }
            Scale::Linear => {
                let low = if from_zero && low >= 0.0 { 0.0 } else { low };
                let span = if high - low > 0.0 { high - low } else { low.abs().max(1.0) };
                let power = 10f64.powf((span / 5.0).log10().floor());
                let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s * 5.0 >= span * 0.999);
                let step = step.unwrap_or(10.0 * power);
                let (from, to) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
                let to = if to > from { to } else { from + 1.0 };
                let ticks = (0..=(to - from) as i32).map(|i| step * (from + f64::from(i))).collect();
                Self { low: step * from, high: step * to, scale, ticks }
            }
        }
    }

    /// Where a value is, 0 to 1; `None` where it has no place.
    fn share(&self, value: f64) -> Option<f64> {
        let along = |x: f64, low: f64, high: f64| (x - low) / (high - low);
        match self.scale {
            Scale::Linear => Some(along(value, self.low, self.high)),
            Scale::Logarithmic if value > 0.0 => Some(along(value.log10(), self.low.log10(), self.high.log10())),
            Scale::Logarithmic => None,
        }
        .filter(|share| share.is_finite())
    }

    fn text(&self, tick: f64) -> String {
        match self.scale {
            Scale::Logarithmic if !(1e-3..1e4).contains(&tick) => {
                let power = tick.log10().round() as i32;
                format!("10<tspan dy=\"-4\" font-size=\"7\">{}</tspan>", power.to_string().replace('-', "−"))
            }
            _ if tick.abs() >= 1e6 => format!("{} M", short(tick / 1e6)),
            _ if tick.abs() >= 1e4 => format!("{} k", short(tick / 1e3)),
            _ => short(tick).replace('-', "−"),
        }
    }
}

/// At most six digits behind the point, without trailing zeros.
fn short(x: f64) -> String {
    let text = format!("{x:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

impl LineChart {
    /// Returns the names of the curves, for a legend.
    pub fn legend(&self) -> Vec<String> {
        self.series.iter().map(|s| s.name.clone()).collect()
    }

    /// Returns the chart as SVG.
    pub fn to_svg(&self) -> String {
        let values = |axis: usize, scale: Scale| -> Vec<f64> {
            let all = self.series.iter().flat_map(|s| &s.points).filter(|p| p.iter().all(|x| x.is_finite()));
            let marks = self.marks.iter().map(|m| m.0).filter(|_| axis == 0);
            all.map(|p| p[axis]).chain(marks).filter(|x| scale == Scale::Linear || *x > 0.0).collect()
        };
        let across = Axis::around(&values(0, self.across_scale), self.across_scale, false);
        let up = Axis::around(&values(1, self.up_scale), self.up_scale, true);
        let x = |value: f64| across.share(value).map(|share| LEFT + (RIGHT - LEFT) * share);
        let y = |value: f64| up.share(value).map(|share| BOTTOM - (BOTTOM - TOP) * share);
        let mut svg =
            format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape(&self.label));
        for &tick in &up.ticks {
            let Some(at) = y(tick) else { continue };
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 3.0,
                up.text(tick)
            );
        }
        for &tick in &across.ticks {
            let Some(at) = x(tick) else { continue };
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{BOTTOM}\" y2=\"{}\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                BOTTOM + 4.0,
                BOTTOM + 16.0,
                across.text(tick)
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"6\" y=\"12\">{}</text>",
            0.5 * (LEFT + RIGHT),
            HEIGHT - 8.0,
            escape(&self.across),
            escape(&self.up)
        );
        for (at, series) in self.series.iter().enumerate() {
            let place = |p: &[f64; 2]| Some((x(p[0])?, y(p[1])?));
            let places: Vec<(f64, f64)> = series.points.iter().filter_map(place).collect();
            let line = places.iter().fold(String::new(), |mut text, (x, y)| {
                let _ = write!(text, "{x:.1},{y:.1} ");
                text
            });
            let dashed = if series.dashed { " dashed" } else { "" };
            let _ =
                write!(svg, "<polyline class=\"series series-{}{dashed}\" points=\"{}\"/>", at % 6, line.trim_end());
            for (x, y) in places.iter().filter(|_| series.dots) {
                let _ = write!(
                    svg,
                    "<circle class=\"series-dot series-{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.8\"/>",
                    at % 6
                );
            }
        }
        for (value, name) in &self.marks {
            let Some(at) = x(*value) else { continue };
            let right = at > 0.7 * WIDTH;
            let (shift, anchor) = if right { (-5.0, "end") } else { (5.0, "start") };
            let _ = write!(
                svg,
                "<line class=\"chosen\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
                 <text class=\"chosen-label\" x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                at + shift,
                TOP + 8.0,
                escape(name)
            );
        }
        svg + "</svg>"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_cover_their_values_with_round_numbers() {
        let axis = Axis::around(&[0.13, 0.97], Scale::Linear, true);
        assert_eq!((axis.low, axis.high), (0.0, 1.0));
        assert!(axis.ticks.len() >= 5);
        let axis = Axis::around(&[-3.0, 170.0], Scale::Linear, true);
        assert!(axis.low <= -3.0 && axis.high >= 170.0);
        let axis = Axis::around(&[3e-9, 20.0], Scale::Logarithmic, false);
        assert!((axis.low / 1e-9 - 1.0).abs() < 1e-9 && (axis.high / 100.0 - 1.0).abs() < 1e-9);
        assert!(axis.share(0.0).is_none() && axis.share(-1.0).is_none());
        assert!((axis.share(1e-9).unwrap()).abs() < 1e-9);
        for axis in [Axis::around(&[], Scale::Linear, true), Axis::around(&[2.0], Scale::Logarithmic, true)] {
            assert!(axis.low < axis.high && axis.ticks.iter().all(|t| t.is_finite()));
        }
    }

    #[test]
    fn numbers_that_are_not_finite_leave_no_trace() {
        let points = vec![[0.0, 1.0], [1.0, f64::NAN], [f64::INFINITY, 2.0], [2.0, 3.0]];
        let chart =
            LineChart { series: vec![Series { points, dots: true, ..Series::default() }], ..LineChart::default() };
        let svg = chart.to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
