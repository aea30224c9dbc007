//! The page of the figures: one HTML file without scripts, in the style of the report.

use super::draw::{Window, bones, directions, outline, seen, tube};
use super::{Figures, NAMES, SIGMA, View, direction, rounded, thumb};
use std::fmt::Write;

/// The style of the report page, and what figures need besides.
const STYLE: &str = concat!(include_str!("../page/page.css"), include_str!("figures.css"));

pub fn render(figures: &Figures) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Pose space in figures</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><h1>Pose space in figures</h1>\n<p class=\"subtitle\">Linear blending (SSD), pose-space deformation with \
         displacements in the world (forward) and in the rest pose (inverse), beside shapes known in closed form. Both forms learn from the \
         same sculpts with the same Gaussian of the joint's chord (σ = {SIGMA}), exactly and without guard. Errors are in percent of a \
         bone's length.</p></header>\n"
    );
    html += &thumb_section(figures);
    html += &arm_section(figures);
    html += &direction_section(figures);
    let _ = writeln!(
        html,
        "<p class=\"note sources\">After Lewis, Cordner &amp; Fong 2000, <i>Pose space deformation</i>; Sloan, Rose &amp; Cohen 2001, \
         <i>Shape by example</i>; Xiao et al. 2006. Made by {} with <code>dermis demo --pose-space</code>.</p>\n</main>\n</body>\n</html>",
        crate::PROGRAM
    );
    html
}

fn thumb_section(figures: &Figures) -> String {
    let views = &figures.thumb.views;
    let drawn = views.iter().flat_map(|v| v.skins.iter().flatten().chain(&v.wanted)).map(|p| p.truncate());
    let window = Window::around(drawn, 0.04);
    let panel = |view: &View, form: usize| {
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

fn arm_section(figures: &Figures) -> String {
    let views = &figures.arm.views;
    let panel = |view: &View, form: usize| {
        let points = views.iter().flat_map(|v| v.skins.iter().flatten().chain(&v.wanted)).map(|p| seen(*p).0);
        let label = format!("{} {}", NAMES[form], view.title);
        tube(Window::around(points, 0.04), &label, &view.skins[form], &view.wanted)
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

fn direction_section(figures: &Figures) -> String {
    let mut charts = String::new();
    for d in &figures.directions {
        let _ = writeln!(
            charts,
            "<figure class=\"chart\"><figcaption>Weight {} on the turning bone: slope <b class=\"of-baseline\">{:.4}</b> forward, \
             <b class=\"of-model\">{:.4}</b> inverse</figcaption>{}</figure>",
            d.weight,
            rounded(d.slopes[0]),
            rounded(d.slopes[1]),
            directions(d)
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

/// A row per form, a column per view, errors beneath each drawing.
fn grid(views: &[View], panel: impl Fn(&View, usize) -> String) -> String {
    let mut html = format!("<div class=\"panels\" style=\"--columns: {}\">\n<span></span>", views.len());
    for view in views {
        let mark = if view.sculpted { " <span class=\"mark-sculpt\">sculpted</span>" } else { "" };
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
