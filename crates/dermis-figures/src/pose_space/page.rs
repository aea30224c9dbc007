//! The figures as they stand on the page.

use super::arm::TUBE;
use super::direction::Direction;
use super::{FigurePose, NAMES, PoseKind, PoseSpaceFigures, direction, rounded, thumb};
use dermis_report::figures::{
    CaptionedDrawing, Drawing, Exhibit, Figure, Measured, Panel, PanelColumn, PanelGrid, PanelRow, Verdict,
};
use dermis_report::svg::{AngleChart, AngleCurve, SvgWindow, outline, seen_from_the_side};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::DVec3;

/// Returns the figures, in the order of the page.
pub(super) fn figures(figures: &PoseSpaceFigures) -> Vec<Figure> {
    vec![thumb_figure(figures), arm_figure(figures), direction_figure(figures)]
}

fn thumb_figure(figures: &PoseSpaceFigures) -> Figure {
    let views = &figures.thumb.views;
    let drawn = views.iter().flat_map(|v| v.skins.iter().flatten().chain(&v.wanted)).map(|p| p.truncate());
    let window = SvgWindow::around(drawn, 0.04);
    let panel = |view: &FigurePose, form: usize| {
        let label = format!("{} {}", NAMES[form], view.title);
        outline(window, &label, &view.skins[form], &view.wanted, &bones(&view.pose))
    };
    let sculpted = views.iter().find(|v| v.kind == PoseKind::Sculpted);
    let met = sculpted.map_or(f64::INFINITY, |v| v.errors[1].max.max(v.errors[2].max));
    let unseen = || views.iter().filter(|v| v.kind == PoseKind::Unseen);
    let nearer = unseen().all(|v| v.errors[2].rms < v.errors[1].rms && v.errors[1].rms < v.errors[0].rms);
    let mut measured = vec![
        Measured::claimed(
            "largest error of both forms at the sculpt",
            format!("{:.1e} of a bone", met),
            "examples are met exactly",
            met < 1e-7,
        ),
        Measured::claimed(
            "order of the errors in every other pose",
            if nearer { "inverse < forward < SSD" } else { "mixed" },
            "the inverse form is nearer than the forward form, and both than SSD",
            nearer,
        ),
    ];
    measured.extend(views.iter().map(|v| errors(format!("thumb {}", v.title), v)));
    Figure {
        name: "Thumb".into(),
        title: "sculpted once".into(),
        paper: "A thumb with one sculpt is bent to poses between rest and the sculpt and beyond it. The inverse form keeps the \
                direction of the sculpted displacement relative to the skin."
            .into(),
        ours: format!(
            "Two bones and one sculpt, at {}°, of the pad that swells on the inner side and the knuckle on the outer one. Dashed: \
             the shape wanted. Between rest and sculpt and beyond it the forward form pushes in the direction that was right at the \
             sculpt; the inverse form turns with the skin. How much of the sculpt they add is the kernel's affair, and the same in \
             both.",
            thumb::SCULPT
        ),
        outcome: Verdict::Reproduced,
        measured,
        exhibits: vec![Exhibit::Panels(grid(views, panel))],
    }
}

fn arm_figure(figures: &PoseSpaceFigures) -> Figure {
    let views = &figures.arm.views;
    let panel = |view: &FigurePose, form: usize| {
        let points =
            views.iter().flat_map(|v| v.skins.iter().flatten().chain(&v.wanted)).map(|p| seen_from_the_side(*p).0);
        let label = format!("{} {}", NAMES[form], view.title);
        TUBE.draw(SvgWindow::around(points, 0.04), &label, &view.skins[form], &view.wanted)
    };
    // Views 0 and 2, and 1 and 3, differ in the shoulder alone.
    let change = |form: usize| {
        [(0, 2), (1, 3)]
            .map(|(a, b)| (views[b].errors[form].rms - views[a].errors[form].rms).abs())
            .into_iter()
            .fold(0.0, f64::max)
    };
    let mut measured = vec![
        Measured::claimed(
            "change of the inverse form's error as the shoulder turns",
            format!("{:.1e} of a bone", change(2)),
            "none: it does not see the upper arm",
            change(2) < 1e-7,
        ),
        Measured::claimed(
            "change of the forward form's error as the shoulder turns",
            format!("{:.1} % of a bone", 100.0 * change(1)),
            "large: its displacements keep the world's axes",
            change(1) > 0.02,
        ),
    ];
    measured.extend(views.iter().map(|v| errors(format!("arm {}", v.title), v)));
    Figure {
        name: "Arm".into(),
        title: "a forearm that twists".into(),
        paper: "A forearm is sculpted where linear blending collapses. The corrected arm is then moved as a whole.".into(),
        ours: "Weights rise from elbow to wrist, so that linear blending thins the twisted forearm: the candy wrapper. It was \
               sculpted round at twists of 60° and 120°, with the upper arm straight. Redder is farther from the shape wanted. Between \
               the sculpts the forward form is the nearer one: towards a collapse the inverse form asks for ever larger displacements at \
               rest, which are harder to interpolate. With the upper arm rolled in the shoulder, which no sculpt shows, the forward form \
               still pushes along the axes of the world it was sculpted in, and the inverse form does not notice."
            .into(),
        outcome: Verdict::Reproduced,
        measured,
        exhibits: vec![Exhibit::Panels(grid(views, panel))],
    }
}

fn direction_figure(figures: &PoseSpaceFigures) -> Figure {
    let mut measured = Vec::new();
    let mut charts = Vec::new();
    for d in &figures.directions {
        for (form, (name, slope)) in [("forward", 0.0), ("inverse", d.weight)].into_iter().enumerate() {
            measured.push(Measured::claimed(
                format!("degrees of direction per degree of the joint, {name}, weight {}", d.weight),
                format!("{:.6}", rounded(d.slopes[form])),
                format!("{slope}"),
                (d.slopes[form] - slope).abs() < 1e-6,
            ));
        }
        charts.push(CaptionedDrawing {
            drawing: Drawing::Svg(direction_chart(d).to_svg()),
            caption: format!(
                "Weight {} on the turning bone: forward (line below), inverse (line that rises)",
                d.weight
            ),
            legend: Vec::new(),
        });
    }
    Figure {
        name: "Direction experiment".into(),
        title: "where a correction points while the joint turns".into(),
        paper: "A planar joint, one example. In the forward form the direction of the correction is constant. In the inverse form it \
                turns with the joint, slope one."
            .into(),
        ours: format!(
            "One vertex, one example at {}° that asks for a displacement in direction {}°. Lines: closed form, β = arg δ forward and \
             β = arg δ + angle A(θ) − angle A(θₛ) inverse, A the linear part of blending at the vertex. Dots: the fitted models. On the \
             bone (weight 1) A is the rotation itself; half way (weight ½) it turns by half the angle.",
            direction::EXAMPLE,
            direction::ASKED
        ),
        outcome: Verdict::Reproduced,
        measured,
        exhibits: vec![Exhibit::Drawings(charts)],
    }
}

/// Returns the errors of a view as a number that stands for itself.
fn errors(what: String, view: &FigurePose) -> Measured {
    let [ssd, forward, inverse] = view.errors.map(|e| percent(e.rms));
    Measured::plain(what, format!("{ssd} · {forward} · {inverse} %, SSD · forward · inverse"))
}

/// Returns the joints of the thumb in a pose: base, joint, tip.
fn bones(pose: &BoneTransforms) -> [DVec3; 3] {
    let of = |bone: usize, x: f64| pose.as_slice()[bone].transform_point3(DVec3::X * x);
    [of(0, -1.0), of(0, 0.0), of(1, 1.0)]
}

/// Returns the chart of both forms over the joint angle: lines in closed form, dots as measured.
fn direction_chart(direction: &Direction) -> AngleChart {
    let curve = |form: usize| AngleCurve {
        line: (0..=60)
            .map(|at| 2.0 * f64::from(at))
            .map(|degrees| [degrees, direction.expected(degrees)[form]])
            .collect(),
        dots: direction.points.iter().step_by(2).map(|point| [point[0], point[form + 1]]).collect(),
    };
    AngleChart {
        label: format!("direction over joint angle, weight {}", direction.weight),
        axis: "joint angle".into(),
        across: [0, 120],
        up: [-60, 120],
        curves: [curve(0), curve(1)],
        marked: (direction::EXAMPLE, "sculpt".into()),
    }
}

/// Returns a row per form, a column per view, the errors beneath each drawing.
fn grid(views: &[FigurePose], panel: impl Fn(&FigurePose, usize) -> String) -> PanelGrid {
    let column = |view: &FigurePose| PanelColumn {
        title: view.title.clone(),
        mark: if view.kind == PoseKind::Sculpted { "sculpted".into() } else { String::new() },
    };
    let row = |(form, name): (usize, &str)| {
        let one = |view: &FigurePose| {
            let error = view.errors[form];
            let least = view.errors.iter().map(|e| e.rms).fold(f64::INFINITY, f64::min);
            Panel {
                drawing: Drawing::Svg(panel(view, form)),
                caption: format!("rms {}, largest {}", percent(error.rms), percent(error.max)),
                best: error.rms <= 1.01 * least || error.rms < 1e-6,
            }
        };
        PanelRow { name: name.into(), panels: views.iter().map(one).collect() }
    };
    PanelGrid { columns: views.iter().map(column).collect(), rows: NAMES.into_iter().enumerate().map(row).collect() }
}

pub(super) fn percent(x: f64) -> String {
    match x < 5e-6 {
        true => "0".into(),
        false => format!("{:.2}", 100.0 * x),
    }
}
