//! The page of a rigged mesh: how it moves, where the joints are, and how sure each is.

use super::walk::{MotionSource, RigMotion};
use super::{RigOutcome, UNSURE};
use crate::error::Error;
use crate::report::svg::{DrawnJoint, skeleton};
use crate::report::viewer::{Viewer, ViewerFrame};
use crate::report::{show_length, unit_of};
use dermis_io::gltf::{GlbScene, MorphNormals, write_glb};
use dermis_io::to_bytes;
use dermis_report::page::{KeyFigure, PageVerdict, Quantity, Tone};
use dermis_rig::Rig;
use dermis_rig::glam::DVec3;
use std::fmt::Write;

/// Returns the page as HTML. `rig` has the mesh and the skeleton.
///
/// # Errors
/// [`Error`] if the rig cannot be written as a GLB.
pub fn page(outcome: &RigOutcome, rig: &Rig, moved: &RigMotion) -> Result<String, Error> {
    let own = moved.rig.mesh();
    let clip = crate::skins::clip(&moved.motion, vec![]);
    let times = clip.times.clone();
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(own),
        skeleton: Some(moved.rig.skeleton()),
        weights: moved.rig.weights(),
        morph_normals: MorphNormals::LeftOut,
        clips: &[clip],
        ..GlbScene::default()
    };
    let glb = to_bytes(|out| write_glb(&scene, out)).map_err(|e| Error::Internal(e.to_string()))?;
    let frames = moved.motion.frames.iter().zip(times);
    let bones = outcome.names.len();
    let viewer = Viewer {
        title: format!("{}: {bones} bones", rig.name()),
        subtitle: format!("A skeleton and weights for a bare mesh, in motion: {}", moved.source.words()),
        headline: Some(headline(outcome)),
        figures: figures(outcome, moved),
        notes: notes(outcome, moved),
        unit: unit_of(&outcome.space),
        glb,
        file: outcome.written.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        frames: frames
            .map(|(frame, time)| ViewerFrame { label: frame.label.clone(), time, target: Vec::new() })
            .collect(),
        skin: "skin of the new rig, by bone heat".into(),
        ground: moved.feet.is_some().then(|| own.positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min)),
        sure: outcome.names.iter().cloned().zip(outcome.made.joints.iter().map(|joint| joint.confidence)).collect(),
        below: drawings(outcome, rig) + &table(outcome),
    };
    Ok(viewer.to_html())
}

fn headline(outcome: &RigOutcome) -> PageVerdict {
    let unsure = outcome.unsure();
    match unsure[..] {
        [] => PageVerdict { text: "Every joint is sure: the best embeddings agree on it.".into(), tone: Tone::Good },
        _ => PageVerdict {
            text: format!(
                "Look at these joints first: {}. Correct their places in the file of --write-joints and name it with --joints; the others are solved for again.",
                unsure.join(", ")
            ),
            tone: Tone::Caution,
        },
    }
}

fn figures(outcome: &RigOutcome, moved: &RigMotion) -> Vec<KeyFigure> {
    let figure = |label: &str, value: Quantity, note: String| KeyFigure { label: label.into(), value, note };
    let count = |n: usize| Quantity::Count(n as u64);
    let mut figures = vec![
        figure("Vertices", count(outcome.vertices), format!("{} triangles", outcome.triangles)),
        figure("Bones", count(outcome.names.len()), format!("{} unsure", outcome.unsure().len())),
    ];
    if let Some(feet) = &moved.feet {
        let of_leg = |length: f64| format!("{:.1} % of a leg", 100.0 * length / feet.leg.max(1e-12));
        figures.extend([
            figure(
                "Foot slide",
                Quantity::Length(feet.slide as f32),
                format!("{}, over {} contacts", of_leg(feet.slide), feet.contacts),
            ),
            figure("Below the ground", Quantity::Length(feet.sunk as f32), of_leg(feet.sunk)),
            figure(
                "Above the ground",
                Quantity::Length(feet.lifted as f32),
                format!("the lowest point; {}", of_leg(feet.lifted)),
            ),
        ]);
    }
    figures
}

fn notes(outcome: &RigOutcome, moved: &RigMotion) -> Vec<String> {
    let unit = unit_of(&outcome.space);
    let mut notes =
        vec!["A joint is green where the best embeddings agree on its place, and red where they do not.".into()];
    if let Some(feet) = &moved.feet {
        let (walk, slide) = (moved.source.words(), show_length(feet.slide, &unit));
        let slides = match feet.source_slide {
            Some(source_slide) => format!(
                "The rig does {walk}, brought onto it as dermis retarget does it. A foot that stands slides by at most {slide}; that of the source slides by {} at this size.",
                show_length(source_slide, &unit)
            ),
            None => {
                format!("The rig does {walk}, made on its own skeleton. A foot that stands slides by at most {slide}.")
            }
        };
        notes.push(slides + " Look at the hands, the knees and the feet: a joint that is misplaced shows there.");
    }
    if moved.source == MotionSource::Exercise {
        notes.push(
            "The rig goes through its exercise, as dermis exercise makes it: joints to the ends of their ranges."
                .into(),
        );
    }
    if let Some(reason) = &moved.refusal {
        notes.push(format!("It does not walk: {reason}."));
    }
    notes
}

/// The joints in the mesh, from the front and from the left.
fn drawings(outcome: &RigOutcome, rig: &Rig) -> String {
    let made = &outcome.made;
    let bones = rig.skeleton();
    let joints: Vec<DrawnJoint> = made
        .joints
        .iter()
        .zip(bones.bones())
        .map(|(joint, bone)| DrawnJoint {
            name: bones.names()[bone].clone(),
            place: joint.place,
            parent: bones.parents()[bone].map(dermis_rig::BoneIndex::get),
            end: joint.end,
            confidence: joint.confidence,
        })
        .collect();
    let front = made.report.front.try_normalize().unwrap_or(DVec3::Z);
    let up = made.report.up.try_normalize().unwrap_or(DVec3::Y);
    let side = up.cross(front).normalize_or(DVec3::X);
    let mesh = rig.mesh();
    // Both views at one scale, side by side whatever their widths.
    let draw = |label: &str, words: &str, right: DVec3| {
        let svg = skeleton(label, &mesh.positions, &mesh.triangles, &joints, right, up);
        let flat = |p: &DVec3| p.dot(right);
        let across = extent(mesh.positions.iter().map(flat));
        let tall = extent(mesh.positions.iter().map(|p| p.dot(up)));
        // 600 pixels high at most.
        let style = format!("margin:0;flex:{across:.4} 1 0;min-width:0;max-width:{:.0}px", 600.0 * across / tall);
        format!(
            "<figure style=\"{style}\">{}<figcaption>{words}</figcaption></figure>",
            svg.replacen("<svg ", "<svg style=\"display:block;width:100%;height:auto\" ", 1)
        )
    };
    format!(
        "<section><h2>Joints in the mesh</h2>\n<div style=\"display:flex;gap:24px;align-items:end\">{}{}</div></section>\n",
        draw("front", "from the front", side),
        draw("side", "from its left", -front)
    )
}

/// From the least to the largest of some numbers; a little more than nothing.
fn extent(numbers: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = numbers
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    (high - low).max(1e-9)
}

/// How sure every joint is.
fn table(outcome: &RigOutcome) -> String {
    let mut rows = String::from(
        "<section><table><thead><tr><th>joint</th><th>sure</th><th>moves between the best embeddings by</th><th></th></tr></thead><tbody>\n",
    );
    for (joint, name) in outcome.made.joints.iter().zip(&outcome.names) {
        let mark = match (joint.is_pinned, joint.confidence < UNSURE) {
            (true, _) => "pinned",
            (false, true) => "look here",
            _ => "",
        };
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td>{:.0} %</td><td>{:.1} % of the size</td><td>{mark}</td></tr>",
            name.replace('&', "&amp;").replace('<', "&lt;"),
            100.0 * joint.confidence,
            100.0 * joint.spread
        );
    }
    rows + "</tbody></table></section>\n"
}
