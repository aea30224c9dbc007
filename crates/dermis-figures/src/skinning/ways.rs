//! Four ways to deform a tube, side by side, over the angles of a bend or of a twist.

use crate::FigureError;
use crate::limb::{BLENDED, TUBE, TubeRig, rms};
use crate::pose_space::Learnt;
use dermis_measure::Movement;
use dermis_report::figures::{
    CaptionedDrawing, Drawing, Exhibit, Figure, LineChart, Measured, Panel, PanelColumn, PanelGrid, PanelRow,
    PictureView, Series, Verdict,
};
use dermis_rig::glam::DVec3;

/// Angles shown, degrees.
const ANGLES: [f64; 4] = [60.0, 90.0, 120.0, 150.0];
/// Angles sculpted for the blend shapes, degrees.
const SCULPTS: [f64; 2] = [60.0, 120.0];
/// The ways, in the order of all arrays of four.
const WAYS: [&str; 4] = ["rigid", "smooth", "dual quaternions", "pose blend shapes"];

/// One angle.
struct View {
    degrees: f64,
    wanted: Vec<DVec3>,
    skins: [Vec<DVec3>; 4],
}

/// The tube in all angles, by all ways.
pub(super) struct Ways<'a> {
    tube: &'a TubeRig,
    movement: Movement,
    views: Vec<View>,
}

impl<'a> Ways<'a> {
    /// Learns the blend shapes and evaluates everything.
    ///
    /// # Errors
    /// [`FigureError`] of the fit.
    pub(super) fn new(tube: &'a TubeRig, movement: Movement) -> Result<Self, FigureError> {
        let sculpts = SCULPTS.map(|degrees| {
            let angle = degrees.to_radians();
            (TUBE.transforms(movement, angle), tube.wanted(movement, angle))
        });
        let mut learnt = Learnt::new(&tube.rig, &sculpts)?;
        let view = |degrees: f64| {
            let pose = TUBE.transforms(movement, degrees.to_radians());
            let [_, _, shapes] = learnt.skins(&pose);
            let skins = [tube.rigid(&pose), tube.smooth(&pose), tube.dual(&pose), shapes];
            View { degrees, wanted: tube.wanted(movement, degrees.to_radians()), skins }
        };
        Ok(Self { tube, movement, views: ANGLES.into_iter().map(view).collect() })
    }

    /// The volume that linear blending keeps of the whole tube, in closed form.
    fn closed_volume(&self, degrees: f64) -> f64 {
        let share = match self.movement {
            Movement::Twist => 3.0,
            Movement::Bend => 6.0,
        };
        1.0 - BLENDED * (1.0 - degrees.to_radians().cos()) / share
    }

    fn words(&self) -> (&'static str, &'static str) {
        match self.movement {
            Movement::Bend => ("Bend", "bend"),
            Movement::Twist => ("Twist", "twist"),
        }
    }

    /// The grid of pictures with volumes and radii.
    pub(super) fn figure(&self) -> Figure {
        let (name, word) = self.words();
        let all: Vec<DVec3> = self.views.iter().flat_map(|v| v.skins.iter().flatten().copied()).collect();
        let (yaw, pitch) = if self.movement == Movement::Bend { (0.0, 0.1) } else { (0.25, 0.35) };
        let picture = PictureView::around(&all, yaw, pitch, 300);
        let panel = |view: &View, way: usize| {
            let skin = &view.skins[way];
            let best = (0..4).map(|w| rms(&view.skins[w], &view.wanted)).fold(f64::INFINITY, f64::min);
            let label = format!("{} {word} {}°", WAYS[way], view.degrees);
            Panel {
                drawing: Drawing::Picture(self.tube.picture(&label, picture, skin)),
                caption: format!("volume {:.3}, radius {:.3}", self.tube.volume_kept(skin), self.tube.thinnest(skin)),
                best: rms(skin, &view.wanted) <= 1.01 * best,
            }
        };
        let column = |view: &View| PanelColumn {
            title: format!("{word} {}°", view.degrees),
            mark: if SCULPTS.contains(&view.degrees) { "sculpted".into() } else { String::new() },
        };
        let rows = WAYS.iter().enumerate().map(|(way, name)| PanelRow {
            name: (*name).into(),
            panels: self.views.iter().map(|view| panel(view, way)).collect(),
        });
        let grid = PanelGrid { columns: self.views.iter().map(column).collect(), rows: rows.collect() };
        Figure {
            name: name.into(),
            title: "rigid, smooth, dual quaternions, pose blend shapes".into(),
            paper: match self.movement {
                Movement::Bend => {
                    "Rigid binding tears or folds the skin at the joint. Smooth binding is smooth and loses volume at a bend: the elbow \
                     collapses. Dual quaternions keep volume. Pose blend shapes are sculpted where the binding is wrong."
                }
                Movement::Twist => {
                    "Smooth binding closes a twisted limb like the wrapper of a candy; rigid binding shears one row of faces; dual quaternions \
                     keep the radius; pose blend shapes bring back what was sculpted."
                }
            }
            .into(),
            ours: "A closed tube of two bones, weights linear over the middle 0.6 of its length 2; colours are weights. The blend shapes were \
                   learnt at 60° and 120° from the tube whose cross-sections turn by their share of the angle; 90° lies between, 150° beyond. \
                   Volume is that of the whole tube; radius is the smallest of any ring about its centre. The frame marks the skin nearest to the \
                   wanted one."
                .into(),
            outcome: Verdict::Reproduced,
            measured: self.measured(word),
            exhibits: vec![Exhibit::Panels(grid)],
        }
    }

    fn measured(&self, word: &str) -> Vec<Measured> {
        let mut measured = Vec::new();
        for view in &self.views {
            let (kept, closed) = (self.tube.volume_kept(&view.skins[1]), self.closed_volume(view.degrees));
            measured.push(Measured::claimed(
                format!("volume kept by smooth binding, {word} {}°", view.degrees),
                format!("{kept:.4}"),
                format!("{closed:.4}, closed form"),
                (kept - closed).abs() < 3e-3,
            ));
        }
        for view in &self.views {
            let (thin, closed) = (self.tube.thinnest(&view.skins[1]), (0.5 * view.degrees.to_radians()).cos());
            measured.push(Measured::claimed(
                format!("smallest radius by smooth binding, {word} {}°", view.degrees),
                format!("{thin:.4}"),
                format!("cos(a/2) = {closed:.4}"),
                (thin - closed).abs() < 1e-9,
            ));
        }
        let dual = self.views.iter().map(|v| (self.tube.volume_kept(&v.skins[2]) - 1.0).abs()).fold(0.0, f64::max);
        measured.push(Measured::claimed(
            "largest change of volume by dual quaternions",
            format!("{:.2} %", 100.0 * dual),
            "below 0.3 % on this mesh: flat faces between turned rings",
            dual < 3e-3,
        ));
        let sculpted = |v: &&View| SCULPTS.contains(&v.degrees);
        let met = self.views.iter().filter(sculpted).map(|v| rms(&v.skins[3], &v.wanted)).fold(0.0, f64::max);
        measured.push(Measured::claimed(
            "rms of pose blend shapes at their sculpts, in radii",
            format!("{:.1e}", met / TUBE.radius),
            "0: sculpts are met",
            met < 1e-6 * TUBE.radius,
        ));
        for view in self.views.iter().filter(|v| !SCULPTS.contains(&v.degrees)) {
            let of = |way: usize| 100.0 * rms(&view.skins[way], &view.wanted) / TUBE.radius;
            measured.push(Measured::plain(
                format!("rms from the wanted skin, {word} {}°, in percent of the radius", view.degrees),
                format!("{:.2} · {:.2} · {:.2} · {:.2}, in the order of the rows", of(0), of(1), of(2), of(3)),
            ));
        }
        measured
    }

    /// Radius over the place along the tube.
    pub(super) fn along_the_tube(&self) -> Figure {
        let (name, word) = self.words();
        let mut drawings = Vec::new();
        for view in self.views.iter().filter(|v| [90.0, 150.0].contains(&v.degrees)) {
            let of = |(way, name): (usize, &&str)| Series {
                name: (**name).to_string(),
                points: self.tube.radii(&view.skins[way]),
                ..Series::default()
            };
            let chart = LineChart {
                label: format!("radius along the tube, {word} {}°", view.degrees),
                across: "place along the tube".into(),
                up: "smallest radius of the ring".into(),
                series: WAYS.iter().enumerate().map(of).collect(),
                marks: vec![(0.5 * TUBE.length, "joint".into())],
                ..LineChart::default()
            };
            let legend = chart.legend();
            drawings.push(CaptionedDrawing {
                drawing: Drawing::Svg(chart.to_svg()),
                caption: format!("{word} {}°", view.degrees),
                legend,
            });
        }
        let mut measured = Vec::new();
        if self.movement == Movement::Twist {
            let off = self.views.iter().map(|view| self.off_closed_form(view)).fold(0.0, f64::max);
            measured.push(Measured::claimed(
                "largest distance of any ring's radius from √(1 − 2u(1 − u)(1 − cos a))",
                format!("{off:.1e}"),
                "0",
                off < 1e-9,
            ));
        }
        if self.movement == Movement::Bend {
            let off = |v: &View| (self.tube.thinnest(&v.skins[1]) - (0.5 * v.degrees.to_radians()).cos()).abs();
            let off = self.views.iter().map(off).fold(0.0, f64::max);
            measured.push(Measured::claimed(
                "largest distance of the thinnest ring from cos(a/2)",
                format!("{off:.1e}"),
                "0",
                off < 1e-9,
            ));
        }
        let dual = self.views.iter().map(|v| (1.0 - self.tube.thinnest(&v.skins[2])).abs()).fold(0.0, f64::max);
        measured.push(match self.movement {
            Movement::Twist => {
                Measured::claimed("largest loss of radius by dual quaternions", format!("{dual:.1e}"), "0", dual < 1e-9)
            }
            Movement::Bend => Measured::plain("largest loss of radius by dual quaternions", format!("{dual:.1e}")),
        });
        Figure {
            name: format!("{name}, radius"),
            title: "the smallest radius along the tube".into(),
            paper: match self.movement {
                Movement::Bend => "At a bend, smooth binding thins the joint in the plane of the bend, to the cosine of half the angle.",
                Movement::Twist => "At a twist, smooth binding thins the whole blend zone, and closes it at 180°.",
            }
            .into(),
            ours: "Radii about each ring's own centre, as shares of the radius at rest.".into(),
            outcome: Verdict::Reproduced,
            measured,
            exhibits: vec![Exhibit::Drawings(drawings)],
        }
    }

    fn off_closed_form(&self, view: &View) -> f64 {
        let from = 0.5 * TUBE.length - TUBE.half_width;
        let expected = |x: f64| {
            let u = ((x - from) / (2.0 * TUBE.half_width)).clamp(0.0, 1.0);
            (1.0 - 2.0 * u * (1.0 - u) * (1.0 - view.degrees.to_radians().cos())).sqrt()
        };
        let rings = self.tube.radii(&view.skins[1]);
        rings.iter().map(|[x, ratio]| (ratio - expected(*x)).abs()).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number with a claim bears it out, so that the page says "reproduced".
    #[test]
    fn closed_forms_of_linear_blending_are_met() {
        let tube = TubeRig::new().unwrap();
        for movement in [Movement::Bend, Movement::Twist] {
            let ways = Ways::new(&tube, movement).unwrap();
            for figure in [ways.figure(), ways.along_the_tube()] {
                for m in &figure.measured {
                    assert_ne!(m.holds, Some(false), "{}: {} {} against {}", figure.name, m.what, m.value, m.claim);
                }
            }
        }
    }

    /// The wanted tube keeps every radius, so that it can be told from a blend that loses some.
    #[test]
    fn the_wanted_tube_keeps_its_radius() {
        let tube = TubeRig::new().unwrap();
        let twisted = tube.wanted(Movement::Twist, 2.0);
        assert!((tube.thinnest(&twisted) - 1.0).abs() < 1e-12);
        assert!(tube.thinnest(&tube.smooth(&TUBE.transforms(Movement::Twist, 2.0))) < 0.6);
    }
}
