//! What the page of weights from scans shows, from the outcome.

use super::recipe::{WeightsFound, WeightsOutcome};
use crate::error::Error;
use crate::report::scan_page::{PageScan, ScanOnSkin, ScanPage, ScanRow};
use crate::report::unit_of;
use crate::report::viewer::ViewerFrame;
use crate::verbs::weights::names;
use crate::verbs::weights::scan_poses::began;
use dermis_deform::lbs::lbs;
use dermis_fit::register::{Mending, NEAR, Pose, Registration};
use dermis_fit::scans::Lie;
use dermis_io::gltf::{GlbScene, MorphNormals, write_glb};
use dermis_io::to_bytes;
use dermis_motion::anatomy::{Anatomy, Stance};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneTransforms, Frame, Motion, Rig};

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
    let frame = Anatomy::new(rig.skeleton(), |_| true).frame;
    let on_skin: Vec<_> = shown.iter().map(|one| (one.positions, one.triangles.clone(), one.transforms)).collect();
    let lies = |at: usize| {
        let (positions, triangles, Some(transforms)) = &on_skin[at] else { return ScanOnSkin::default() };
        let mesh = rig.mesh();
        let mut skin = vec![DVec3::ZERO; mesh.positions.len()];
        lbs(&mesh.positions, &outcome.weights, transforms, &mut skin);
        let lie = Lie::new((&skin, &mesh.triangles), (positions, triangles));
        let (of_skin, of_scan) = lie.map_or_else(Default::default, |lie| (lie.of_skin, lie.of_scan));
        ScanOnSkin { skin, of_skin, of_scan }
    };
    let page = ScanPage {
        rig,
        start,
        weights: &outcome.weights,
        pairing,
        scans: shown,
        lies: &lies,
        near: NEAR,
        held_out: held_out.as_ref().map(|held| (held.distances(), held.verdict(&unit))),
        training: report.distance.1,
        upright: DMat3::from_cols(frame.left, frame.up, frame.forward).transpose(),
        yaw: match frame.stance {
            Stance::Upright => 25.0,
            Stance::Level => 60.0,
        },
        glb,
        frames,
        unit,
    };
    Ok(page.to_html())
}

/// Every scan: fitted ones and those without a pose in the order of the search, then the held-out ones.
fn shown(outcome: &WeightsOutcome) -> Vec<PageScan<'_>> {
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
        None => all.extend(scans.iter().zip(&report.scans).map(|(scan, used)| PageScan {
            label: &scan.label,
            is_held_out: false,
            positions: &scan.positions,
            triangles: scan.triangles.clone(),
            transforms: Some(&scan.transforms),
            row: ScanRow {
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
) -> PageScan<'a> {
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
    PageScan {
        label: &one.label,
        is_held_out,
        positions,
        triangles: triangles.iter().map(|&[a, b, c]| if inside_out { [a, c, b] } else { [a, b, c] }).collect(),
        transforms: pose.map(|pose| &pose.transforms),
        row: ScanRow {
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
fn motion(rig: &Rig, shown: &[PageScan<'_>]) -> Motion {
    let posed = shown.iter().filter_map(|one| Some((one, one.transforms?)));
    let frame = |(at, (one, transforms)): (usize, (&PageScan<'_>, &BoneTransforms))| Frame {
        label: one.title(),
        time: Some(at as f64),
        pose: rig.skeleton().world_pose(transforms),
    };
    Motion { name: "scans".into(), frames: posed.enumerate().map(frame).collect() }
}
