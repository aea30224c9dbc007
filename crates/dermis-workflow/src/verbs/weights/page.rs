//! The page of weights from scans: a picture of every scan beside the skin in its pose, how the search ended, and what became of the weights.

use super::recipe::{WeightsFound, WeightsOutcome};
use crate::error::Error;
use crate::report::figures::{Picture, PictureView, bone_colour, error_colour, influence_colour};
use crate::report::page::{KeyFigure, PageTable, PageVerdict, Quantity, Tone};
use crate::report::viewer::{Viewer, ViewerFrame};
use crate::report::{LengthUnit, show_length, unit_of};
use crate::verbs::weights::names;
use crate::verbs::weights::scan_poses::began;
use dermis_deform::lbs::lbs;
use dermis_fit::register::{Mending, NEAR, Pose, Registration};
use dermis_fit::scans::{Lie, ScanReport};
use dermis_io::gltf::{GlbScene, MorphNormals, write_glb};
use dermis_io::to_bytes;
use dermis_motion::anatomy::{Anatomy, Stance};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneTransforms, Frame, Influences, Mesh, Motion, Rig};

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

/// A scan on the page.
struct Shown<'a> {
    label: &'a str,
    is_held_out: bool,
    positions: &'a [DVec3],
    triangles: Vec<[u32; 3]>,
    transforms: Option<&'a BoneTransforms>,
    row: Row,
}

/// What is known of a scan, of a table.
struct Row {
    began: String,
    distance: Option<f64>,
    of_scan: Option<f64>,
    of_skin: Option<f64>,
    vague: String,
    remarks: String,
    failed: bool,
}

/// Returns the page as HTML.
///
/// # Errors
/// [`Error::Internal`] if the weights are of no scans, or if the rig cannot be written as a GLB.
pub fn page(outcome: &WeightsOutcome) -> Result<String, Error> {
    let WeightsFound::Scans { pairing, report, start, held_out, .. } = &outcome.found else {
        return Err(Error::Internal("a page of scans without scans".into()));
    };
    let (rig, unit) = (&outcome.rig.rig, unit_of(&outcome.rig.space));
    let shown = shown(outcome);
    let headline = held_out.as_ref().map_or_else(not_validated, |held| held.verdict(&unit));
    let motion = motion(rig, &shown);
    let clip = crate::skins::clip(&motion, vec![]);
    let frames = motion.frames.iter().zip(&clip.times);
    let frames =
        frames.map(|(frame, time)| ViewerFrame { label: frame.label.clone(), time: *time, target: Vec::new() });
    let frames: Vec<ViewerFrame> = frames.collect();
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: Some(&outcome.weights),
        morph_normals: MorphNormals::LeftOut,
        clips: &[clip],
        ..GlbScene::default()
    };
    let glb = to_bytes(|out| write_glb(&scene, out)).map_err(|e| Error::Internal(e.to_string()))?;
    let viewer = Viewer {
        title: format!("{}: weights from scans", rig.name()),
        subtitle: pairing.clone(),
        headline: Some(headline),
        figures: figures(outcome, report, &shown),
        notes: vec!["The skin above goes through the poses of the scans, a second each, by the new weights.".into()],
        unit: unit.clone(),
        glb,
        file: outcome.written.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        frames,
        skin: "skin by the new weights".into(),
        ground: None,
        sure: Vec::new(),
        below: gallery(rig, &outcome.weights, &shown, &unit)
            + &section("Every scan", &table(&shown).to_html(&unit))
            + &weights_pictures(rig, start, &outcome.weights),
    };
    Ok(viewer.to_html())
}

fn not_validated() -> PageVerdict {
    let text = "Not validated: nothing shows how the weights do on scans that they were not fitted to. Hold some scans out to learn it.";
    PageVerdict { text: text.into(), tone: Tone::Caution }
}

fn section(title: &str, html: &str) -> String {
    format!("<section><h2>{title}</h2>\n{html}</section>\n")
}

/// Every scan: fitted ones and those without a pose in the order of the search, then the held-out ones.
fn shown(outcome: &WeightsOutcome) -> Vec<Shown<'_>> {
    let WeightsFound::Scans { poses, scans, unposed, report, held_out, .. } = &outcome.found else { return Vec::new() };
    let rig = &outcome.rig.rig;
    let mut all = Vec::new();
    match poses {
        Some(poses) => {
            let (mut scans, mut unposed) = (scans.iter(), unposed.iter());
            for one in &poses.registrations {
                let surface = match one.found {
                    Ok(_) => scans.next().map(|scan| (&scan.positions[..], &scan.triangles[..])),
                    Err(_) => unposed.next().map(|scan| (&scan.positions[..], &scan.triangles[..])),
                };
                if let Some(surface) = surface {
                    all.push(searched(rig, one, &poses.registrations, surface, false));
                }
            }
        }
        None => all.extend(scans.iter().zip(&report.scans).map(|(scan, used)| Shown {
            label: &scan.label,
            is_held_out: false,
            positions: &scan.positions,
            triangles: scan.triangles.clone(),
            transforms: Some(&scan.transforms),
            row: Row {
                began: "the pose is given".into(),
                distance: Some(used.distance),
                of_scan: None,
                of_skin: Some(used.pairs as f64 / rig.mesh().positions.len().max(1) as f64),
                vague: String::new(),
                remarks: String::new(),
                failed: false,
            },
        })),
    }
    if let Some(held) = held_out {
        let held_out = held.surfaces.iter().zip(&held.found);
        all.extend(
            held_out
                .map(|(surface, one)| searched(rig, one, &held.found, (&surface.positions, &surface.triangles), true)),
        );
    }
    all
}

/// A scan whose pose was searched for.
fn searched<'a>(
    rig: &Rig,
    one: &'a Registration,
    searched: &[Registration],
    (positions, triangles): (&'a [DVec3], &[[u32; 3]]),
    is_held_out: bool,
) -> Shown<'a> {
    let inside_out = one.mended.contains(&Mending::InsideOut);
    let mended = one.mended.iter().map(|mending| match mending {
        Mending::Thinned { from, to } => format!("the search looked at {to} of {from} triangles"),
        Mending::InsideOut => "it faced inwards, and was turned inside out".into(),
    });
    let failure = one.found.as_ref().err().map(|why| format!("no pose: {why}"));
    let pose: Option<&Pose> = one.found.as_ref().ok();
    let vague = |(bone, degrees): &(_, f64)| match *degrees < 180.0 {
        true => format!("{} (±{degrees:.0}°)", names(rig, &[*bone])[0]),
        false => format!("{} (not at all)", names(rig, &[*bone])[0]),
    };
    Shown {
        label: &one.label,
        is_held_out,
        positions,
        triangles: triangles.iter().map(|&[a, b, c]| if inside_out { [a, c, b] } else { [a, b, c] }).collect(),
        transforms: pose.map(|pose| &pose.transforms),
        row: Row {
            began: pose.map(|pose| began(pose, searched)).unwrap_or_default(),
            distance: pose.map(|pose| pose.rms),
            of_scan: pose.map(|pose| pose.of_scan),
            of_skin: pose.map(|pose| pose.of_skin),
            vague: pose.map(|pose| few(pose.vague.iter().map(vague))).unwrap_or_default(),
            remarks: failure.into_iter().chain(mended).collect::<Vec<_>>().join("; "),
            failed: pose.is_none(),
        },
    }
}

/// The first of some names, and how many more there are.
fn few(names: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 6;
    let more = names.len().saturating_sub(SHOWN);
    let first = names.take(SHOWN).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// The poses, a second each.
fn motion(rig: &Rig, shown: &[Shown<'_>]) -> Motion {
    let posed = shown.iter().filter_map(|one| Some((one, one.transforms?)));
    let frame = |(at, (one, transforms)): (usize, (&Shown<'_>, &BoneTransforms))| Frame {
        label: one.title(),
        time: Some(at as f64),
        pose: rig.skeleton().world_pose(transforms),
    };
    Motion { name: "scans".into(), frames: posed.enumerate().map(frame).collect() }
}

fn figures(outcome: &WeightsOutcome, report: &ScanReport, shown: &[Shown<'_>]) -> Vec<KeyFigure> {
    let figure = |label: &str, value: Quantity, note: &str| KeyFigure { label: label.into(), value, note: note.into() };
    let mut figures = Vec::new();
    if let WeightsFound::Scans { held_out: Some(held), .. } = &outcome.found {
        let [now, start] = held.distances().map(|d| d.map_or(Quantity::Missing, |d| Quantity::Length(d as f32)));
        figures.push(figure("Held-out distance", now, "rms along the normals, of scans that the fit did not see"));
        figures.push(figure("With the first weights", start, "the same scans, before the fit"));
    }
    let fitted: Vec<&Row> = shown.iter().filter(|one| !one.is_held_out).map(|one| &one.row).collect();
    let posed = fitted.iter().filter(|row| !row.failed).count();
    figures.push(figure("Scans fitted to", Quantity::Count(posed as u64), &format!("of {} read", fitted.len())));
    let mean = |of: &dyn Fn(&Row) -> Option<f64>| {
        let all: Vec<f64> = fitted.iter().filter_map(|row| of(row)).collect();
        (!all.is_empty()).then(|| Quantity::Share((all.iter().sum::<f64>() / all.len() as f64) as f32))
    };
    let shares = [
        ("Scan on the skin", mean(&|row| row.of_scan), "mean over the scans with a pose"),
        ("Skin shown", mean(&|row| row.of_skin), "mean over the scans with a pose; the rest is in holes"),
    ];
    figures.extend(shares.into_iter().filter_map(|(label, value, note)| Some(figure(label, value?, note))));
    let note = "rms along the normals, of the scans fitted to: it validates nothing";
    figures.push(figure("Training distance", Quantity::Length(report.distance.1 as f32), note));
    figures
}

fn table(shown: &[Shown<'_>]) -> PageTable {
    let share = |value: Option<f64>| value.map_or(Quantity::Missing, |x| Quantity::Share(x as f32));
    let columns =
        ["scan", "", "search began at", "distance", "scan on the skin", "skin shown", "joints hardly shown", "remarks"];
    let row = |one: &Shown<'_>| {
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
            100.0 * NEAR
        ),
        columns: columns.map(String::from).to_vec(),
        rows: shown.iter().map(row).collect(),
    }
}

impl Shown<'_> {
    fn set(&self) -> &'static str {
        match (self.is_held_out, self.row.failed) {
            (true, _) => "held out",
            (false, true) => "left out",
            (false, false) => "fitted",
        }
    }

    fn title(&self) -> String {
        if self.is_held_out { format!("{} (held out)", self.label) } else { self.label.into() }
    }
}

/// A picture of every scan, and of the skin on it.
fn gallery(rig: &Rig, weights: &Influences, shown: &[Shown<'_>], unit: &LengthUnit) -> String {
    let mut worst: Vec<&Shown<'_>> = shown.iter().collect();
    let share = |one: &Shown<'_>| if one.row.failed { -1.0 } else { one.row.of_scan.unwrap_or(1.0) };
    worst.sort_by(|a, b| share(a).total_cmp(&share(b)));
    let left_out = worst.len().saturating_sub(MOST_PICTURES);
    worst.truncate(MOST_PICTURES);
    let full = NEAR * rig.mesh().diagonal();
    let studio = Studio::new(rig, weights);
    let cards: String = worst.iter().map(|one| card(&studio, weights, one, full, unit)).collect();
    let css = |colour: DVec3| {
        let [r, g, b] = (255.0 * colour).to_array().map(|c| c.round() as u8);
        format!("rgb({r},{g},{b})")
    };
    let ramp: Vec<String> = (0..=8).map(|i| css(error_colour(f64::from(i) / 8.0))).collect();
    let more = match left_out {
        0 => "The worst come first.".into(),
        more => format!("The {MOST_PICTURES} worst are shown, {more} others are in the table alone."),
    };
    let text = format!(
        "<p class=\"note\">Left the scan, right the skin in the pose found; above from the front, below from behind, both turned as the character stands at rest. \
         A right pose has the same shape left and right, and pale colours. {more}</p>\
         <p class=\"legend\"><span>distance 0 <i class=\"ramp\" style=\"background:linear-gradient(to right,{})\"></i> {} and more</span>\
         <span><i style=\"background:{}\"></i> skin that the scan does not show</span>\
         <span><i style=\"background:{}\"></i> scan; in colours where it is as far from the skin</span></p>\
         <div class=\"scan-cards\">{cards}</div>",
        ramp.join(","),
        show_length(full, unit),
        css(NOT_SHOWN),
        css(SCAN),
    );
    section("Scans and poses", &text)
}

/// A scan of the gallery.
fn card(studio: &Studio, weights: &Influences, one: &Shown<'_>, full: f64, unit: &LengthUnit) -> String {
    let mesh = &studio.mesh;
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
            let mut skin = vec![DVec3::ZERO; mesh.positions.len()];
            lbs(&mesh.positions, weights, transforms, &mut skin);
            let lie = Lie::new((&skin, &mesh.triangles), (one.positions, &one.triangles));
            let of_skin = |d: &Option<f64>| d.map_or(NOT_SHOWN, |d| error_colour(d / full));
            let of_scan = |d: &f64| if *d < full { SCAN } else { error_colour(1.0) };
            let [on_skin, on_scan]: [Vec<DVec3>; 2] = lie.map_or_else(Default::default, |lie| {
                [lie.of_skin.iter().map(of_skin).collect(), lie.of_scan.iter().map(of_scan).collect()]
            });
            // As the character stands at rest, wherever it was scanned.
            let back = transforms.get(studio.trunk).map_or(DAffine3::IDENTITY, |trunk| trunk.inverse());
            let turned =
                |points: &[DVec3]| -> Vec<DVec3> { points.iter().map(|p| back.transform_point3(*p)).collect() };
            let (scan, skin) = (turned(one.positions), turned(&skin));
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
        escaped(one.label),
        one.set(),
        escaped(&words)
    )
}

/// The bones that move the skin, before and after.
fn weights_pictures(rig: &Rig, start: &Influences, weights: &Influences) -> String {
    let studio = Studio::new(rig, weights);
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
    fn new(rig: &Rig, weights: &Influences) -> Self {
        let frame = Anatomy::new(rig.skeleton(), |_| true).frame;
        let upright = DMat3::from_cols(frame.left, frame.up, frame.forward).transpose();
        let yaw: f64 = match frame.stance {
            Stance::Upright => 25.0,
            Stance::Level => 60.0,
        };
        let look = DMat3::from_rotation_x(0.15) * DMat3::from_rotation_y(-yaw.to_radians());
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

/// Text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
