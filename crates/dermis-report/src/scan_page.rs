//! The page of weights from scans: a picture of every scan beside the skin in its pose, how the search ended, and what became of the weights.

use crate::figures::{Picture, PictureView, bone_colour, error_colour, influence_colour};
use crate::length::{LengthUnit, show_length};
use crate::page::html::escape;
use crate::page::{KeyFigure, PageTable, PageVerdict, Quantity, Tone};
use crate::viewer::{Given, Viewer, ViewerFrame};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneTransforms, Influences, Mesh, Rig};

/// Pictures on a page. Of more scans the ones that lie worst on the skin are shown.
const MOST_PICTURES: usize = 60;
/// Pixels on the longer side of a picture.
const PIXELS: u32 = 340;
/// From where pictures are taken, and how far that is about the up axis, degrees.
const SIDES: [(&str, f64); 2] = [("the front", 0.0), ("behind", 180.0)];
/// The colour of skin that the scan does not show.
const NOT_SHOWN: DVec3 = DVec3::new(0.45, 0.60, 0.80);
/// The colour of a scan.
const SCAN: DVec3 = DVec3::new(0.74, 0.74, 0.74);

/// What the page of weights from scans shows.
pub struct ScanPage<'a> {
    /// The rig.
    pub rig: &'a Rig,
    /// The weights that the fit began with.
    pub start: &'a Influences,
    /// Those that were fitted.
    pub weights: &'a Influences,
    /// How scans and poses were paired, a sentence.
    pub pairing: &'a str,
    /// The scans.
    pub scans: Vec<PageScan<'a>>,
    /// How a scan and the skin in its pose lie on each other, by its place in `scans`.
    pub lies: &'a (dyn Fn(usize) -> ScanOnSkin + 'a),
    /// The farthest that a point of a scan on the skin is from it, in parts of the rig's size.
    pub near: f64,
    /// Root mean square distance of held-out scans, with the fitted weights and with those of the start, and what it says.
    pub held_out: Option<([Option<f64>; 2], PageVerdict)>,
    /// Root mean square distance of the scans that were fitted to.
    pub training: f64,
    /// From the world at rest to left, up and forward of the character.
    pub upright: DMat3,
    /// How far pictures are turned about the up axis, degrees.
    pub yaw: f64,
    /// The rig in the poses of the scans, as a GLB with a clip.
    pub glb: Vec<u8>,
    /// The frames of the clip, in order.
    pub frames: Vec<ViewerFrame>,
    /// How lengths are shown.
    pub unit: LengthUnit,
}

/// A scan on the page.
pub struct PageScan<'a> {
    /// What it is called.
    pub label: &'a str,
    /// Whether the fit did not see it.
    pub is_held_out: bool,
    /// Its vertices.
    pub positions: &'a [DVec3],
    /// Its triangles.
    pub triangles: Vec<[u32; 3]>,
    /// Its pose, if it has one.
    pub transforms: Option<&'a BoneTransforms>,
    /// What is known of it.
    pub row: ScanRow,
}

/// What is known of a scan.
pub struct ScanRow {
    /// Where the search began.
    pub began: String,
    /// Root mean square distance along the normals, metres.
    pub distance: Option<f64>,
    /// The share of the scan on the skin.
    pub of_scan: Option<f64>,
    /// The share of the skin that the scan shows.
    pub of_skin: Option<f64>,
    /// Joints that the scan hardly shows.
    pub vague: String,
    /// What else there is to know.
    pub remarks: String,
    /// Whether it has no pose.
    pub failed: bool,
}

/// How a scan and the skin in its pose lie on each other.
#[derive(Default)]
pub struct ScanOnSkin {
    /// The skin in the pose.
    pub skin: Vec<DVec3>,
    /// Per vertex of the skin its distance from the scan; `None` where the scan does not show it.
    pub of_skin: Vec<Option<f64>>,
    /// Per vertex of the scan its distance from the skin.
    pub of_scan: Vec<f64>,
}

/// Returns what held-out scans say of weights, the sentence to take away.
///
/// - `scans`: how many were held out
/// - `posed`: of those with a pose, the share of the scan on the skin
/// - `distances`: root mean square distance along the normals, metres, with the fitted weights and with those of the start
pub fn held_scans_verdict(scans: usize, posed: &[f64], distances: [Option<f64>; 2], unit: &LengthUnit) -> PageVerdict {
    let [Some(now), start] = distances else {
        let text = format!("Held out: no pose explains any of {scans} scans that the fit did not see.");
        return PageVerdict { text, tone: Tone::Bad };
    };
    let on_skin = 100.0 * posed.iter().sum::<f64>() / posed.len() as f64;
    let which = match (posed.len(), scans) {
        (1, 1) => "the scan that the fit did not see lies".into(),
        (posed, scans) if posed == scans => format!("{scans} scans that the fit did not see lie"),
        (posed, scans) => format!("{posed} of the {scans} scans that the fit did not see have a pose; they lie"),
    };
    let off = show_length(now, unit);
    let mut text = format!("Held out: {which} {off} off the skin, rms along the normals, with {on_skin:.1} % on it.");
    if let Some(start) = start {
        text += &format!(" With the weights of the start it is {}.", show_length(start, unit));
    }
    let tone = match start {
        Some(start) if now > start => Tone::Bad,
        _ if posed.len() < scans => Tone::Caution,
        _ => Tone::Good,
    };
    PageVerdict { text, tone }
}

impl ScanPage<'_> {
    /// Returns the page as HTML.
    pub fn to_html(self) -> String {
        let not_validated = || {
            PageVerdict {
            text: "Not validated: nothing shows how the weights do on scans that they were not fitted to. Hold some scans out to learn it.".into(),
            tone: Tone::Caution,
        }
        };
        let studio = Studio::new(&self);
        let below = gallery(&studio, &self)
            + &section("Every scan", &table(&self.scans, self.near).to_html(&self.unit))
            + &weights_pictures(&studio, self.start, self.weights);
        let viewer = Viewer {
            springs: None,
            title: format!("{}: weights from scans", self.rig.name()),
            subtitle: self.pairing.to_owned(),
            figures: figures(&self),
            headline: Some(self.held_out.map_or_else(not_validated, |(_, verdict)| verdict)),
            notes: vec![
                "The skin above goes through the poses of the scans, a second each, by the new weights.".into(),
            ],
            unit: self.unit,
            glb: self.glb,
            frames: self.frames,
            skin: "skin by the new weights".into(),
            ground: None,
            sure: Vec::new(),
            given: Given::Truth,
            below,
        };
        viewer.to_html()
    }
}

fn section(title: &str, html: &str) -> String {
    format!("<section><h2>{title}</h2>\n{html}</section>\n")
}

fn figures(page: &ScanPage<'_>) -> Vec<KeyFigure> {
    let figure = |label: &str, value: Quantity, note: &str| KeyFigure { label: label.into(), value, note: note.into() };
    let mut figures = Vec::new();
    if let Some((distances, _)) = &page.held_out {
        let [now, start] = distances.map(|d| d.map_or(Quantity::Missing, |d| Quantity::Length(d as f32)));
        figures.push(figure("Held-out distance", now, "rms along the normals, of scans that the fit did not see"));
        figures.push(figure("With the first weights", start, "the same scans, before the fit"));
    }
    let fitted: Vec<&ScanRow> = page.scans.iter().filter(|one| !one.is_held_out).map(|one| &one.row).collect();
    let posed = fitted.iter().filter(|row| !row.failed).count();
    figures.push(figure("Scans fitted to", Quantity::Count(posed as u64), &format!("of {} read", fitted.len())));
    let mean = |of: &dyn Fn(&ScanRow) -> Option<f64>| {
        let all: Vec<f64> = fitted.iter().filter_map(|row| of(row)).collect();
        (!all.is_empty()).then(|| Quantity::Share((all.iter().sum::<f64>() / all.len() as f64) as f32))
    };
    let shares = [
        ("Scan on the skin", mean(&|row| row.of_scan), "mean over the scans with a pose"),
        ("Skin shown", mean(&|row| row.of_skin), "mean over the scans with a pose; the rest is in holes"),
    ];
    figures.extend(shares.into_iter().filter_map(|(label, value, note)| Some(figure(label, value?, note))));
    let note = "rms along the normals, of the scans fitted to: it validates nothing";
    figures.push(figure("Training distance", Quantity::Length(page.training as f32), note));
    figures
}

fn table(shown: &[PageScan<'_>], near: f64) -> PageTable {
    let share = |value: Option<f64>| value.map_or(Quantity::Missing, |x| Quantity::Share(x as f32));
    let columns =
        ["scan", "", "search began at", "distance", "scan on the skin", "skin shown", "joints hardly shown", "remarks"];
    let row = |one: &PageScan<'_>| {
        let row = &one.row;
        vec![
            Quantity::Text(one.label.into()),
            Quantity::Text(one.set().into()),
            Quantity::Text(row.began.clone()),
            row.distance.map_or(Quantity::Missing, |d| Quantity::Length(d as f32)),
            share(row.of_scan),
            share(row.of_skin),
            Quantity::Text(row.vague.clone()),
            Quantity::Text(row.remarks.clone()),
        ]
    };
    PageTable {
        title: String::new(),
        note: format!(
            "Distance: root mean square along the normals, of what lies on the skin when the pose is found. A point of a scan lies on the skin within {:.1} % of the rig's size. \
             Joints hardly shown could turn by so much, one standard deviation, and the scan would look the same.",
            100.0 * near
        ),
        columns: columns.map(String::from).to_vec(),
        rows: shown.iter().map(row).collect(),
    }
}

impl PageScan<'_> {
    fn set(&self) -> &'static str {
        match (self.is_held_out, self.row.failed) {
            (true, _) => "held out",
            (false, true) => "left out",
            (false, false) => "fitted",
        }
    }

    /// What it is called, and whether the fit saw it.
    pub fn title(&self) -> String {
        if self.is_held_out { format!("{} (held out)", self.label) } else { self.label.into() }
    }
}

/// A picture of every scan, and of the skin on it.
fn gallery(studio: &Studio, page: &ScanPage<'_>) -> String {
    let unit = &page.unit;
    let mut worst: Vec<usize> = (0..page.scans.len()).collect();
    let share = |one: &PageScan<'_>| if one.row.failed { -1.0 } else { one.row.of_scan.unwrap_or(1.0) };
    worst.sort_by(|a, b| share(&page.scans[*a]).total_cmp(&share(&page.scans[*b])));
    let left_out = worst.len().saturating_sub(MOST_PICTURES);
    worst.truncate(MOST_PICTURES);
    let full = page.near * page.rig.mesh().diagonal();
    let cards: String = worst.iter().map(|at| card(studio, page, *at, full)).collect();
    let css = |colour: DVec3| {
        let [r, g, b] = (255.0 * colour).to_array().map(|c| c.round() as u8);
        format!("rgb({r},{g},{b})")
    };
    let swatch = |colour: DVec3| {
        format!("<svg class=\"swatch\" viewBox=\"0 0 1 1\"><path fill=\"{}\" d=\"M0 0h1v1h-1z\"/></svg>", css(colour))
    };
    const STEPS: u32 = 72;
    let stripe = |i: u32| {
        format!("<path fill=\"{}\" d=\"M{i} 0h2v8h-2z\"/>", css(error_colour(f64::from(i) / f64::from(STEPS))))
    };
    let ramp: String = (0..STEPS).map(stripe).collect();
    let more = match left_out {
        0 => "The worst come first.".into(),
        more => format!("The {MOST_PICTURES} worst are shown, {more} others are in the table alone."),
    };
    let text = format!(
        "<p class=\"note\">Left the scan, right the skin in the pose found; above from the front, below from behind, both turned as the character stands at rest. \
         A right pose has the same shape left and right, and pale colours. {more}</p>\
         <p class=\"legend\"><span>distance 0 <svg class=\"swatch wide\" viewBox=\"0 0 {STEPS} 8\">{ramp}</svg> {} and more</span>\
         <span>{} skin that the scan does not show</span>\
         <span>{} scan; in colours where it is as far from the skin</span></p>\
         <div class=\"scan-cards\">{cards}</div>",
        show_length(full, unit),
        swatch(NOT_SHOWN),
        swatch(SCAN),
    );
    section("Scans and poses", &text)
}

/// A scan of the gallery.
fn card(studio: &Studio, page: &ScanPage<'_>, at: usize, full: f64) -> String {
    let (mesh, one, unit) = (&studio.mesh, &page.scans[at], &page.unit);
    let mut images = String::new();
    match one.transforms {
        None => {
            let colours = vec![SCAN; one.positions.len()];
            for (from, yaw) in SIDES {
                let label = format!("scan {} from {from}", one.label);
                images += &studio.picture(&label, yaw, one.positions, &one.triangles, &colours, true);
            }
        }
        Some(transforms) => {
            let lie = (page.lies)(at);
            let of_skin = |d: &Option<f64>| d.map_or(NOT_SHOWN, |d| error_colour(d / full));
            let of_scan = |d: &f64| if *d < full { SCAN } else { error_colour(1.0) };
            let on_skin: Vec<DVec3> = lie.of_skin.iter().map(of_skin).collect();
            let on_scan: Vec<DVec3> = lie.of_scan.iter().map(of_scan).collect();
            // As the character stands at rest, wherever it was scanned.
            let back = transforms.get(studio.trunk).map_or(DAffine3::IDENTITY, |trunk| trunk.inverse());
            let turned =
                |points: &[DVec3]| -> Vec<DVec3> { points.iter().map(|p| back.transform_point3(*p)).collect() };
            let (scan, skin) = (turned(one.positions), turned(&lie.skin));
            for (from, yaw) in SIDES {
                let (label, name) =
                    (format!("scan {} from {from}", one.label), format!("skin on {} from {from}", one.label));
                images += &studio.picture(&label, yaw, &scan, &one.triangles, &on_scan, false);
                images += &studio.picture(&name, yaw, &skin, &mesh.triangles, &on_skin, false);
            }
        }
    }
    let row = &one.row;
    let words = match (row.distance, row.of_scan) {
        (Some(distance), Some(share)) => {
            format!("{} off the skin, {:.1} % of it on the skin", show_length(distance, unit), 100.0 * share)
        }
        (Some(distance), None) => format!("{} off the skin", show_length(distance, unit)),
        _ => row.remarks.clone(),
    };
    let class = if row.failed { " class=\"failed\"" } else { "" };
    format!(
        "<figure{class}><div>{images}</div><figcaption><b>{}</b> <span class=\"count\">{}</span><br>{}</figcaption></figure>",
        escape(one.label),
        one.set(),
        escape(&words)
    )
}

/// The bones that move the skin, before and after.
fn weights_pictures(studio: &Studio, start: &Influences, weights: &Influences) -> String {
    let mesh = &studio.mesh;
    let vertices = 0..mesh.positions.len();
    let mixed = |weights: &Influences| -> Vec<DVec3> {
        let colour = |v| weights.of(v).iter().map(|(bone, w)| bone_colour(bone.get()) * *w).sum();
        vertices.clone().map(colour).collect()
    };
    // Half of the sum of the absolute differences: the share that moved from some bones to others.
    let moved: Vec<f64> = vertices
        .clone()
        .map(|v| {
            let of =
                |weights: &Influences, bone| weights.of(v).iter().find(|(b, _)| *b == bone).map_or(0.0, |(_, w)| *w);
            let gained = weights.of(v).iter().map(|(bone, w)| (w - of(start, *bone)).max(0.0));
            gained.sum::<f64>()
        })
        .collect();
    let changed: Vec<DVec3> = moved.iter().map(|share| influence_colour(2.0 * share)).collect();
    let mean = 100.0 * moved.iter().sum::<f64>() / moved.len().max(1) as f64;
    let figure = |name: &str, caption: &str, colours: &[DVec3]| {
        let side = |(from, yaw): &(&str, f64)| {
            studio.picture(&format!("{name} from {from}"), *yaw, &mesh.positions, &mesh.triangles, colours, false)
        };
        let pictures: String = SIDES.iter().map(side).collect();
        format!("<figure><div>{pictures}</div><figcaption><b>{name}</b><br>{caption}</figcaption></figure>")
    };
    let mut html = String::from("<div class=\"scan-cards\">");
    html += &figure("Before", "a colour for every bone, mixed by the weights", &mixed(start));
    html += &figure("After", "the weights that were fitted", &mixed(weights));
    let caption =
        format!("the share of weight that went to other bones, grey none, yellow half; {mean:.1} % in the mean");
    html += &figure("Change", &caption, &changed);
    html.push_str("</div>");
    section("Weights", &html)
}

/// The place from which all pictures are taken.
struct Studio {
    mesh: Mesh,
    /// From the world at rest to left, up and forward of the character.
    upright: DMat3,
    /// From there to the picture: right, up, to the viewer.
    look: DMat3,
    /// The bone that moves most of the skin, by its index: pictures are upright as it is. A root can turn where no scan shows it.
    trunk: usize,
    /// The middle of the mesh at rest.
    centre: DVec3,
    /// The side of what is seen.
    size: [f64; 2],
}

impl Studio {
    fn new(page: &ScanPage<'_>) -> Self {
        let (rig, weights, upright) = (page.rig, page.weights, page.upright);
        let look = DMat3::from_rotation_x(0.15) * DMat3::from_rotation_y(-page.yaw.to_radians());
        let turn = look * upright;
        let mesh = rig.mesh().clone();
        let mut moved = vec![0.0_f64; rig.skeleton().bones().count()];
        weights.rows().flatten().for_each(|(bone, w)| moved[bone.get()] += *w);
        let trunk = (0..moved.len()).max_by(|a, b| f64::total_cmp(&moved[*a], &moved[*b])).unwrap_or(0);
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let seen = mesh.positions.iter().filter(|p| p.is_finite()).map(|p| turn * *p);
        let (low, high) = seen.fold(start, |(low, high), p| (low.min(p), high.max(p)));
        // Limbs reach farther than at rest.
        let size = (1.2 * (high - low)).max(DVec3::splat(1e-9));
        let longest = size.x.max(size.y);
        let size = [size.x.max(0.75 * longest), size.y.max(0.75 * longest)];
        Self { mesh, upright, look, trunk, centre: turn.transpose() * (0.5 * (low + high)), size }
    }

    /// A picture of what faces the viewer: a hole shows nothing. A surface of its own size fills the picture by itself.
    fn picture(
        &self,
        label: &str,
        yaw: f64,
        positions: &[DVec3],
        triangles: &[[u32; 3]],
        colours: &[DVec3],
        own_size: bool,
    ) -> String {
        let turn = self.look * DMat3::from_rotation_y(yaw.to_radians()) * self.upright;
        let placed: Vec<DVec3> = positions.iter().map(|p| turn * (*p - self.centre)).collect();
        let faces_us = |corners: &&[u32; 3]| {
            let [a, b, c] = corners.map(|corner| placed.get(corner as usize).copied().unwrap_or(DVec3::NAN));
            (b - a).cross(c - a).z > 0.0
        };
        let seen: Vec<[u32; 3]> = triangles.iter().filter(faces_us).copied().collect();
        let [width, height] = self.size;
        let scale = f64::from(PIXELS) / width.max(height);
        let pixels = [width, height].map(|side| ((side * scale).round() as u32).max(1));
        let view = match own_size {
            true => PictureView::around(&placed, 0.0, 0.0, PIXELS),
            false => PictureView { yaw: 0.0, pitch: 0.0, centre: DVec3::ZERO, height, pixels },
        };
        Picture::of(label, view, &placed, &seen, colours).html()
    }
}
