//! The page of what a body gave to other meshes: the dressed character in motion, how far every vertex trusts its match, the connected
//! pieces, and how clothes lie over the skin in every pose.

use crate::figures::{Picture, PictureView, error_colour, influence_colour};
use crate::length::{LengthUnit, show_length};
use crate::page::html::escape;
use crate::page::{KeyFigure, PageTable, PageVerdict, Quantity, Tone};
use crate::viewer::{Given, Viewer, ViewerFrame};
use dermis_rig::glam::DVec3;

/// Pixels on the longer side of a picture.
const PIXELS: u32 = 360;
/// From where pictures are taken, and how far that is about the up axis, degrees.
const SIDES: [(&str, f64); 2] = [("the front", 20.0), ("behind", 200.0)];
/// The colour of the body's skin.
const SKIN: DVec3 = DVec3::new(0.83, 0.83, 0.83);
/// The colour of clothes.
const CLOTHES: DVec3 = DVec3::new(0.35, 0.52, 0.68);
/// Vertices without a match that are named one by one.
const NAMED: usize = 200;
/// Pieces in the table.
const PIECES: usize = 60;
/// Bars of the histogram.
const BARS: usize = 24;
/// More than this part of the clothes in the skin asks for a look.
const WORTH_A_LOOK: f64 = 0.005;

/// What the page shows.
#[derive(Debug)]
pub struct TransferPage<'a> {
    /// The heading.
    pub title: String,
    /// What was carried, in words.
    pub carried: String,
    /// The meshes.
    pub meshes: Vec<TransferPageMesh<'a>>,
    /// The body with all meshes, as a GLB, with a clip if there are frames.
    pub glb: Vec<u8>,
    /// The frames of the clip, with the skins of the models.
    pub frames: Vec<ViewerFrame>,
    /// What is said where no mesh was held against a skin in motion.
    pub unworn: String,
    /// What the reader should know.
    pub notes: Vec<String>,
    /// How lengths are shown.
    pub unit: LengthUnit,
}

/// A mesh on the page.
#[derive(Debug)]
pub struct TransferPageMesh<'a> {
    /// Its name.
    pub name: &'a str,
    /// Rest positions, metres.
    pub positions: &'a [DVec3],
    /// Its triangles.
    pub triangles: &'a [[u32; 3]],
    /// Trust of every vertex, 0 to 1.
    pub trust: &'a [f64],
    /// Distance of every vertex from the body, metres.
    pub distances: &'a [f64],
    /// Vertices without a match.
    pub unmatched: &'a [u32],
    /// Vertices whose weights differ from those of their ring by more than a third.
    pub rough: &'a [u32],
    /// Whether it lies on the body.
    pub on_body: bool,
    /// Its connected pieces.
    pub pieces: Vec<TransferPagePiece>,
    /// Its poses.
    pub poses: Vec<TransferPagePose>,
    /// The pose in which most of it lies in the skin: its label, the skin, the triangles of the skin, and the mesh.
    pub worst: Option<(String, Vec<DVec3>, &'a [[u32; 3]], Vec<DVec3>)>,
}

/// A connected piece.
#[derive(Clone, Debug)]
pub struct TransferPagePiece {
    /// Its vertices.
    pub vertices: usize,
    /// Diagonal of the box around it, metres.
    pub size: f64,
    /// How it was carried.
    pub held: &'static str,
    /// The part of its area whose match is trusted.
    pub trusted: f64,
    /// The bones that move it most.
    pub bones: String,
}

/// How a mesh lies over the skin in a pose.
#[derive(Clone, Debug)]
pub struct TransferPagePose {
    /// What the pose is called.
    pub label: String,
    /// The part of the vertices deeper than 2 mm in the skin, as carried and with weights alone.
    pub inside: [f64; 2],
    /// Root mean square change of clearance, as carried and with weights alone, metres.
    pub change: [f64; 2],
}

impl TransferPage<'_> {
    /// Returns the page as HTML.
    pub fn to_html(self) -> String {
        let below = self.meshes.iter().map(|mesh| mesh.to_html(&self.unit)).collect();
        let viewer = Viewer {
            headline: Some(self.headline()),
            figures: self.figures(),
            below,
            title: self.title,
            subtitle: self.carried,
            notes: self.notes,
            skin: "skin by weights alone".into(),
            given: Given::Model,
            unit: self.unit,
            glb: self.glb,
            frames: self.frames,
            ..Viewer::default()
        };
        viewer.to_html()
    }

    fn poses(&self) -> impl Iterator<Item = &TransferPagePose> {
        self.meshes.iter().flat_map(|mesh| &mesh.poses)
    }

    fn headline(&self) -> PageVerdict {
        let unmatched: usize = self.meshes.iter().map(|mesh| mesh.unmatched.len()).sum();
        let worst = self.poses().map(|pose| pose.inside[0]).fold(0.0, f64::max);
        let count = self.poses().count();
        let mut text = match count {
            0 => self.unworn.clone(),
            _ => format!(
                "In the worst training pose {:.2} % of a mesh lies deeper than 2 mm in the skin of the model; in the mean over poses {:.2} %.",
                100.0 * worst,
                100.0 * self.poses().map(|pose| pose.inside[0]).sum::<f64>() / count as f64
            ),
        };
        if unmatched > 0 {
            text += &format!(" {unmatched} vertices have no match on the body: look at them.");
        }
        let tone = if unmatched > 0 || worst > WORTH_A_LOOK || count == 0 { Tone::Caution } else { Tone::Good };
        PageVerdict { text, tone }
    }

    fn figures(&self) -> Vec<KeyFigure> {
        let mut figures = Vec::new();
        let mut figure = |label: &str, value: Quantity, note: &str| {
            figures.push(KeyFigure { label: label.into(), value, note: note.into() });
        };
        let vertices: usize = self.meshes.iter().map(|mesh| mesh.positions.len()).sum();
        figure("Meshes", Quantity::Count(self.meshes.len() as u64), &format!("{vertices} vertices"));
        let count = self.poses().count();
        if count > 0 {
            let mean = |of: fn(&TransferPagePose) -> f64| self.poses().map(of).sum::<f64>() / count as f64;
            figure("In the skin", Quantity::Share(mean(|p| p.inside[0]) as f32), "mean over the training poses");
            figure("By weights alone", Quantity::Share(mean(|p| p.inside[1]) as f32), "the same poses");
            figure("Change of clearance", Quantity::Length(mean(|p| p.change[0]) as f32), "rms, mean over the poses");
        }
        let unmatched: usize = self.meshes.iter().map(|mesh| mesh.unmatched.len()).sum();
        figure("Without a match", Quantity::Count(unmatched as u64), "vertices");
        figures
    }
}

impl TransferPageMesh<'_> {
    fn to_html(&self, unit: &LengthUnit) -> String {
        let mut html = format!("<section><h2>{}</h2>\n", escape(self.name));
        html += "<div class=\"scan-cards\">";
        let trusted: Vec<DVec3> = self.trust.iter().map(|trust| influence_colour(*trust)).collect();
        let place = match self.on_body {
            true => "It lies on the body, so every vertex takes its closest point.",
            false => "Yellow: the vertex follows the skin below it. Grey: it follows its neighbours.",
        };
        html += &figure("Trust", place, self.positions, self.triangles, &trusted);
        if let Some((label, skin, triangles, worn)) = &self.worst {
            let start = skin.len() as u32;
            let both: Vec<DVec3> = skin.iter().chain(worn).copied().collect();
            let own = self.triangles.iter().map(|t| t.map(|corner| corner + start));
            let all: Vec<[u32; 3]> = triangles.iter().copied().chain(own).collect();
            let colours: Vec<DVec3> = skin.iter().map(|_| SKIN).chain(worn.iter().map(|_| CLOTHES)).collect();
            html += &figure(
                "Worst pose",
                &format!("{}: skin that shows through is grey", escape(label)),
                &both,
                &all,
                &colours,
            );
        }
        if !self.rough.is_empty() {
            let mut colours = vec![SKIN; self.positions.len()];
            self.rough.iter().for_each(|&v| colours[v as usize] = error_colour(0.5));
            let caption = format!(
                "{} vertices whose weights differ from those around them by more than a third",
                self.rough.len()
            );
            html += &figure("Rough", &caption, self.positions, self.triangles, &colours);
        }
        html += &format!(
            "<figure>{}<figcaption><b>Distance from the body</b><br>vertices by distance; {} in the median</figcaption></figure>",
            self.histogram(unit),
            show_length(median(self.distances), unit)
        );
        html += "</div>\n";
        if !self.poses.is_empty() {
            html += &self.table_of_poses().to_html(unit);
        }
        html += &self.table_of_pieces().to_html(unit);
        if !self.unmatched.is_empty() {
            let shown: Vec<String> = self.unmatched.iter().take(NAMED).map(ToString::to_string).collect();
            let more = self.unmatched.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            html += &format!(
                "<p class=\"note\">Vertices without a match, counted from 0: {}{more}. They follow the nearest vertex that has one.</p>",
                shown.join(", ")
            );
        }
        html + "</section>\n"
    }

    fn table_of_poses(&self) -> PageTable {
        let row = |pose: &TransferPagePose| {
            let share = |at: usize| Quantity::Share(pose.inside[at] as f32);
            let length = |at: usize| Quantity::Length(pose.change[at] as f32);
            vec![Quantity::Text(pose.label.clone()), share(0), share(1), length(0), length(1)]
        };
        PageTable {
            title: "Poses".into(),
            note: "Deeper than 2 mm in the skin, of what was outside at rest; and the root mean square change of clearance where it is below 2 cm at rest.".into(),
            columns: ["pose", "in the skin", "by weights alone", "change of clearance", "by weights alone"].map(String::from).to_vec(),
            rows: self.poses.iter().map(row).collect(),
        }
    }

    fn table_of_pieces(&self) -> PageTable {
        let row = |piece: &TransferPagePiece| {
            vec![
                Quantity::Count(piece.vertices as u64),
                Quantity::Length(piece.size as f32),
                Quantity::Text(piece.held.into()),
                Quantity::Share(piece.trusted as f32),
                Quantity::Text(piece.bones.clone()),
            ]
        };
        let note = match self.pieces.len() {
            more if more > PIECES => format!("The {PIECES} largest of {more} connected pieces."),
            _ => "Connected pieces, the largest first.".into(),
        };
        PageTable {
            title: "Pieces".into(),
            note,
            columns: ["vertices", "size", "carried", "trusted", "bones"].map(String::from).to_vec(),
            rows: self.pieces.iter().take(PIECES).map(row).collect(),
        }
    }

    fn histogram(&self, unit: &LengthUnit) -> String {
        let most = self.distances.iter().copied().filter(|d| d.is_finite()).fold(1e-9, f64::max);
        let mut counts = [0usize; BARS];
        for d in self.distances.iter().filter(|d| d.is_finite()) {
            counts[((d / most * BARS as f64) as usize).min(BARS - 1)] += 1;
        }
        let highest = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
        let bars: String = counts
            .iter()
            .enumerate()
            .map(|(at, &count)| {
                let height = 100.0 * count as f64 / highest;
                format!(
                    "<rect x=\"{}\" y=\"{:.1}\" width=\"9\" height=\"{height:.1}\" fill=\"currentColor\"/>",
                    10 * at,
                    100.0 - height
                )
            })
            .collect();
        format!(
            "<svg viewBox=\"0 0 240 116\" role=\"img\" aria-label=\"histogram of distances\">{bars}<text x=\"0\" y=\"114\" font-size=\"11\" fill=\"currentColor\">0</text><text x=\"240\" y=\"114\" font-size=\"11\" text-anchor=\"end\" fill=\"currentColor\">{}</text></svg>",
            escape(&show_length(most, unit))
        )
    }
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// A card with pictures from two sides.
fn figure(name: &str, caption: &str, positions: &[DVec3], triangles: &[[u32; 3]], colours: &[DVec3]) -> String {
    let side = |(from, yaw): &(&str, f64)| {
        let view = PictureView::around(positions, *yaw, 5.0, PIXELS);
        Picture::of(&format!("{name} from {from}"), view, positions, triangles, colours).html()
    };
    let pictures: String = SIDES.iter().map(side).collect();
    format!("<figure><div>{pictures}</div><figcaption><b>{name}</b><br>{caption}</figcaption></figure>")
}
