//! The page of the figures.

use super::arm::TUBE;
use super::direction::Direction;
use super::{FigurePose, NAMES, PoseKind, PoseSpaceFigures, SIGMA, direction, rounded, thumb};
use dermis_report::svg::{AngleChart, AngleCurve, SvgWindow, outline, seen_from_the_side, still_page};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::DVec3;
use std::fmt::Write;

/// Returns the page as HTML, one file that needs nothing else.
pub(super) fn html(figures: &PoseSpaceFigures) -> String {
    let mut body = format!(
        "<header><h1>Pose space in figures</h1>\n<p class=\"subtitle\">Linear blending (SSD), pose-space deformation with \
         displacements in the world (forward) and in the rest pose (inverse), beside shapes known in closed form. Both forms learn from the \
         same sculpts with the same Gaussian of the joint's chord (σ = {SIGMA}), exactly and without guard. Errors are in percent of a \
         bone's length.</p></header>\n"
    );
    body += &thumb_section(figures);
    body += &arm_section(figures);
    body += &direction_section(figures);
    let _ = writeln!(
        body,
        "<p class=\"note sources\">After Lewis, Cordner &amp; Fong 2000, <i>Pose space deformation</i>; Sloan, Rose &amp; Cohen 2001, \
         <i>Shape by example</i>; Xiao et al. 2006. Made by {} with <code>dermis figures pose-space</code>.</p>",
        concat!("dermis ", env!("CARGO_PKG_VERSION"))
    );
    still_page("Pose space in figures", &body)
}

fn thumb_section(figures: &PoseSpaceFigures) -> String {
    let views = &figures.thumb.views;
    let drawn = views.iter().flat_map(|v| v.skins.iter().flatten().chain(&v.wanted)).map(|p| p.truncate());
    let window = SvgWindow::around(drawn, 0.04);
    let panel = |view: &FigurePose, form: usize| {
        let label = format!("{} {}", NAMES[form], view.title);
        outline(window, &label, &view.skins[form], &view.wanted, &bones(&view.pose))
    };
    format!(
        "<section id=\"thumb\"><h2>A thumb, sculpted once</h2>\n<p class=\"note\">Two bones and one sculpt, at {}°, of the pad that swells on \
         the inner side and the knuckle on the outer one. Dashed: the shape wanted. Between rest and sculpt and beyond it the forward form pushes in \
         the direction that was right at the sculpt; the inverse form turns with the skin. How much of the sculpt they add is the kernel's \
         affair, and the same in both.</p>\n{}</section>\n",
        thumb::SCULPT,
        grid(views, panel)
    )
}

fn arm_section(figures: &PoseSpaceFigures) -> String {
    let views = &figures.arm.views;
    let panel = |view: &FigurePose, form: usize| {
        let points =
            views.iter().flat_map(|v| v.skins.iter().flatten().chain(&v.wanted)).map(|p| seen_from_the_side(*p).0);
        let label = format!("{} {}", NAMES[form], view.title);
        TUBE.draw(SvgWindow::around(points, 0.04), &label, &view.skins[form], &view.wanted)
    };
    format!(
        "<section id=\"arm\"><h2>A forearm that twists</h2>\n<p class=\"note\">Weights rise from elbow to wrist, so that linear blending \
         thins the twisted forearm: the candy wrapper. It was sculpted round at twists of 60° and 120°, with the upper arm straight. Redder is \
         farther from the shape wanted. Between the sculpts the forward form is the nearer one: towards a collapse the inverse form asks for ever larger \
         displacements at rest, which are harder to interpolate. With the upper arm rolled in the shoulder, which no sculpt shows, the forward \
         form still pushes along the axes of the world it was sculpted in, and the inverse form does not notice.</p>\n{}</section>\n",
        grid(views, panel)
    )
}

fn direction_section(figures: &PoseSpaceFigures) -> String {
    let mut charts = String::new();
    for d in &figures.directions {
        let _ = writeln!(
            charts,
            "<figure class=\"chart\"><figcaption>Weight {} on the turning bone: slope <b class=\"of-baseline\">{:.4}</b> forward, \
             <b class=\"of-model\">{:.4}</b> inverse</figcaption>{}</figure>",
            d.weight,
            rounded(d.slopes[0]),
            rounded(d.slopes[1]),
            direction_chart(d).to_svg()
        );
    }
    format!(
        "<section id=\"direction\"><h2>Where a correction points while the joint turns</h2>\n<p class=\"note\">One vertex, one example at \
         {}° that asks for a displacement in direction {}°. Lines: closed form, β = arg δ forward and β = arg δ + angle A(θ) − angle A(θₛ) \
         inverse, A the linear part of blending at the vertex. Dots: the fitted models.</p>\n<div class=\"legend\"><span><i class=\"line\"></i>forward</span>\
         <span><i class=\"line-model\"></i>inverse</span></div>\n<div class=\"charts\">{charts}</div></section>\n",
        direction::EXAMPLE,
        direction::ASKED
    )
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

/// Writes a row per form, a column per view, the errors beneath each drawing.
fn grid(views: &[FigurePose], panel: impl Fn(&FigurePose, usize) -> String) -> String {
    let mut html = format!("<div class=\"panels\" style=\"--columns: {}\">\n<span></span>", views.len());
    for view in views {
        let mark = if view.kind == PoseKind::Sculpted { " <span class=\"mark-sculpt\">sculpted</span>" } else { "" };
        let _ = write!(html, "<h3>{}{mark}</h3>", view.title);
    }
    for (form, name) in NAMES.into_iter().enumerate() {
        let _ = write!(html, "\n<b class=\"form\">{name}</b>");
        for view in views {
            let error = view.errors[form];
            let least = view.errors.iter().map(|e| e.rms).fold(f64::INFINITY, f64::min);
            let class = if error.rms <= 1.01 * least || error.rms < 1e-6 { " class=\"best\"" } else { "" };
            let _ = write!(
                html,
                "<figure>{}<figcaption{class}>rms <b>{}</b>, largest {}</figcaption></figure>",
                panel(view, form),
                percent(error.rms),
                percent(error.max)
            );
        }
    }
    html + "\n</div>\n"
}

fn percent(x: f64) -> String {
    match x < 5e-6 {
        true => "0".into(),
        false => format!("{:.2}", 100.0 * x),
    }
}
