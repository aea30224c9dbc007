//! The page of a rigged mesh: how it moves, where the joints are, and how sure each is.

use crate::length::{LengthUnit, show_length};
use crate::page::html::escape;
use crate::page::{KeyFigure, PageVerdict, Quantity, Tone};
use crate::svg::{DrawnJoint, skeleton};
use crate::viewer::{Given, Viewer, ViewerFrame};
use dermis_rig::Rig;
use dermis_rig::glam::DVec3;
use std::fmt::Write;

/// What the page of a rigged mesh shows.
#[derive(Debug)]
pub struct RigPage<'a> {
    /// The mesh and its new skeleton.
    pub rig: &'a Rig,
    /// The joints, in the order of the skeleton's bones.
    pub joints: Vec<RigPageJoint>,
    /// Where the character looks, and its up.
    pub facing: [DVec3; 2],
    /// The rig in motion, as a GLB with a clip.
    pub glb: Vec<u8>,
    /// The frames of the clip, in order.
    pub frames: Vec<ViewerFrame>,
    /// The height of the ground in the GLB.
    pub ground: f64,
    /// What the motion is, in a few words.
    pub motion: &'static str,
    /// How the feet stand; `None` if the motion is no walk.
    pub feet: Option<RigPageFeet>,
    /// Why the rig does not walk, if it was expected to.
    pub refusal: Option<&'a str>,
    /// How lengths are shown.
    pub unit: LengthUnit,
}

/// A joint on the page.
#[derive(Clone, Debug)]
pub struct RigPageJoint {
    /// As it is drawn; its note is the verdict.
    pub drawn: DrawnJoint,
    /// The chance that it lies where a rigger puts it; `None` if the template is not calibrated.
    pub confidence: Option<f64>,
    /// How far it moves between the best embeddings: the standard deviation, in parts of the body's largest side.
    pub spread: f64,
    /// Whether it is called sure, or the user pinned it.
    pub is_sure: bool,
    /// Whether somebody should look at it first.
    pub is_unsure: bool,
}

/// How feet stand on the ground while they walk; lengths are metres.
#[derive(Clone, Debug)]
pub struct RigPageFeet {
    /// Times that a foot stands.
    pub contacts: usize,
    /// The farthest that a standing foot is from its mean place.
    pub slide: f64,
    /// The same of the source at this size; `None` if the walk was made on the rig itself.
    pub source_slide: Option<f64>,
    /// The deepest point of the skin below the ground.
    pub sunk: f64,
    /// The highest that the lowest point of the skin is above the ground.
    pub lifted: f64,
    /// The length of a leg.
    pub leg: f64,
}

impl RigPage<'_> {
    /// Returns the page as HTML.
    pub fn to_html(self) -> String {
        let names = || self.joints.iter().map(|joint| joint.drawn.name.clone());
        let viewer = Viewer {
            springs: None,
            title: format!("{}: {} bones", self.rig.name(), self.joints.len()),
            subtitle: format!("A skeleton and weights for a bare mesh, in motion: {}", self.motion),
            headline: Some(self.headline()),
            figures: self.figures(),
            notes: self.notes(),
            ground: self.feet.is_some().then_some(self.ground),
            sure: names().zip(self.joints.iter().map(|joint| joint.drawn.grade)).collect(),
            below: self.drawings() + &self.table(),
            skin: "skin of the new rig, by bone heat".into(),
            given: Given::Truth,
            unit: self.unit,
            glb: self.glb,
            frames: self.frames,
        };
        viewer.to_html()
    }

    /// Joints to look at first.
    fn unsure(&self) -> Vec<&str> {
        self.joints.iter().filter(|joint| joint.is_unsure).map(|joint| joint.drawn.name.as_str()).collect()
    }

    fn is_calibrated(&self) -> bool {
        self.joints.iter().any(|joint| joint.confidence.is_some())
    }

    fn sure(&self) -> usize {
        self.joints.iter().filter(|joint| joint.is_sure).count()
    }

    fn headline(&self) -> PageVerdict {
        let correct = "Correct places that are wrong in the file of joints, and rig the mesh again with it; the others are solved for again.";
        let (sure, all, unsure) = (self.sure(), self.joints.len(), self.unsure().join(", "));
        let (text, tone) = match (unsure.is_empty(), self.is_calibrated()) {
            (true, true) if sure == all => ("Every joint is sure.".into(), Tone::Good),
            (true, true) => (
                format!("{sure} of {all} joints are sure, and none is unsure. Look at the others. {correct}"),
                Tone::Caution,
            ),
            (true, false) => {
                (format!("This template is not calibrated: look at every joint. {correct}"), Tone::Caution)
            }
            (false, true) => {
                (format!("{sure} of {all} joints are sure. Look at these first: {unsure}. {correct}"), Tone::Caution)
            }
            (false, false) => (
                format!("This template is not calibrated: look at every joint, and first at {unsure}. {correct}"),
                Tone::Caution,
            ),
        };
        PageVerdict { text, tone }
    }

    fn figures(&self) -> Vec<KeyFigure> {
        let figure = |label: &str, value: Quantity, note: String| KeyFigure { label: label.into(), value, note };
        let count = |n: usize| Quantity::Count(n as u64);
        let mesh = self.rig.mesh();
        let mut figures = vec![
            figure("Vertices", count(mesh.positions.len()), format!("{} triangles", mesh.triangles.len())),
            figure("Bones", count(self.joints.len()), format!("{} sure, {} unsure", self.sure(), self.unsure().len())),
        ];
        if let Some(feet) = &self.feet {
            let of_leg = |length: f64| format!("{:.1} % of a leg", 100.0 * length / feet.leg.max(1e-12));
            let length = |length: f64| Quantity::Length(length as f32);
            let slide = format!("{}, over {} contacts", of_leg(feet.slide), feet.contacts);
            let lifted = format!("the lowest point; {}", of_leg(feet.lifted));
            figures.extend([
                figure("Foot slide", length(feet.slide), slide),
                figure("Below the ground", length(feet.sunk), of_leg(feet.sunk)),
                figure("Above the ground", length(feet.lifted), lifted),
            ]);
        }
        figures
    }

    fn notes(&self) -> Vec<String> {
        let colours = match self.is_calibrated() {
            true => {
                "A joint is green if its place is sure, and red if it is unsure. Sure means a chance of 98 % or more to lie within a tenth of its limb of where a rigger puts it, by the joints of other bodies."
            }
            false => {
                "A joint is red if the best embeddings disagree on its place. Nothing says how far the others are to be trusted: only the biped is calibrated."
            }
        };
        let mut notes = vec![colours.to_owned()];
        match &self.feet {
            Some(feet) => {
                let (walk, slide) = (self.motion, show_length(feet.slide, &self.unit));
                let slides = match feet.source_slide {
                    Some(source_slide) => format!(
                        "The rig does {walk}, brought onto it as dermis retarget does it. A foot that stands slides by at most {slide}; that of the source slides by {} at this size.",
                        show_length(source_slide, &self.unit)
                    ),
                    None => format!(
                        "The rig does {walk}, made on its own skeleton. A foot that stands slides by at most {slide}."
                    ),
                };
                notes.push(
                    slides + " Look at the hands, the knees and the feet: a joint that is misplaced shows there.",
                );
            }
            None => notes.push(
                "The rig goes through its exercise, as dermis exercise makes it: joints to the ends of their ranges."
                    .into(),
            ),
        }
        notes.extend(self.refusal.map(|reason| format!("It does not walk: {reason}.")));
        notes
    }

    /// The joints in the mesh, from the front and from the left.
    fn drawings(&self) -> String {
        let joints: Vec<DrawnJoint> = self.joints.iter().map(|joint| joint.drawn.clone()).collect();
        let [front, up] = self.facing;
        let (front, up) = (front.try_normalize().unwrap_or(DVec3::Z), up.try_normalize().unwrap_or(DVec3::Y));
        let side = up.cross(front).normalize_or(DVec3::X);
        let mesh = self.rig.mesh();
        // Both views at one scale, side by side whatever their widths.
        let draw = |label: &str, words: &str, right: DVec3| {
            let svg = skeleton(label, &mesh.positions, &mesh.triangles, &joints, right, up);
            let across = extent(mesh.positions.iter().map(|p| p.dot(right)));
            let tall = extent(mesh.positions.iter().map(|p| p.dot(up)));
            // 600 pixels high; where they do not fit, both shrink by the same factor.
            let sized = format!("<svg width=\"{:.0}\" ", 600.0 * across / tall);
            format!("<figure>{}<figcaption>{words}</figcaption></figure>", svg.replacen("<svg ", &sized, 1))
        };
        format!(
            "<section><h2>Joints in the mesh</h2>\n<div class=\"joint-drawings\">{}{}</div></section>\n",
            draw("front", "from the front", side),
            draw("side", "from its left", -front)
        )
    }

    /// How sure every joint is.
    fn table(&self) -> String {
        let mut rows = String::from(
            "<section><table><thead><tr><th>joint</th><th></th><th>confidence</th><th>moves between the best embeddings by</th></tr></thead><tbody>\n",
        );
        for joint in &self.joints {
            let confidence = joint.confidence.map_or("–".into(), |chance| format!("{:.0} %", 100.0 * chance));
            let _ = writeln!(
                rows,
                "<tr><td>{}</td><td>{}</td><td>{confidence}</td><td>{:.1} % of the size</td></tr>",
                escape(&joint.drawn.name),
                escape(&joint.drawn.note),
                100.0 * joint.spread
            );
        }
        rows + "</tbody></table></section>\n"
    }
}

/// From the least to the largest of some numbers; a little more than nothing.
fn extent(numbers: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = numbers
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    (high - low).max(1e-9)
}
