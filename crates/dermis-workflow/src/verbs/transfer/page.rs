//! What the page of a transfer shows, from the outcome.

use super::poses::Poses;
use super::{CarriedMesh, Drawn, From, TransferOutcome, WornPose};
use crate::error::Error;
use crate::report::transfer_page::{TransferPage, TransferPageMesh, TransferPagePiece, TransferPagePose};
use crate::report::unit_of;
use crate::report::viewer::ViewerFrame;
use dermis_io::gltf::{GlbScene, MorphNormals, write_glb};
use dermis_io::to_bytes;
use dermis_rig::glam::DVec3;
use dermis_rig::{Frame, Influences, Mesh, Motion};
use dermis_transfer::rough_vertices;

/// Returns the page as HTML.
///
/// - `below`: the skin of the body in the poses; `None` if the mesh is another character, which is shown alone
///
/// # Errors
/// [`Error::Internal`] if the character cannot be written as a GLB.
pub(super) fn page(
    outcome: &TransferOutcome,
    shown: &[Drawn],
    from: &From,
    below: Option<&[Vec<DVec3>]>,
    poses: &Poses,
) -> Result<String, Error> {
    let rig = from.file.rig();
    let of_body = from.file.weights().cloned().unwrap_or_default();
    let skins = shown.iter().map(|one| poses.skins(&one.model)).collect::<Result<Vec<_>, _>>()?;
    // The dressed character, all meshes as one.
    let (mut mesh, mut rows) = match below {
        Some(_) => (
            Mesh {
                positions: rig.mesh().positions.clone(),
                triangles: rig.mesh().triangles.clone(),
                ..Mesh::default()
            },
            of_body.rows().map(<[_]>::to_vec).collect::<Vec<_>>(),
        ),
        None => Default::default(),
    };
    for one in shown {
        let start = mesh.positions.len() as u32;
        mesh.positions.extend(&one.mesh.positions);
        mesh.triangles.extend(one.mesh.triangles.iter().map(|t| t.map(|corner| corner + start)));
        rows.extend(one.weights.rows().map(<[_]>::to_vec));
    }
    let weights = Influences::from_rows(rows).map_err(|e| Error::Internal(e.to_string()))?;
    let label = |at: usize| format!("training pose {at}");
    let frames =
        poses.iter().map(|(at, pose)| Frame { label: label(*at), time: None, pose: rig.skeleton().world_pose(pose) });
    let motion = Motion { name: "training poses".into(), frames: frames.collect() };
    let clip = crate::skins::clip(&motion, vec![]);
    let frames = motion.frames.iter().zip(&clip.times).enumerate().map(|(at, (frame, time))| ViewerFrame {
        label: frame.label.clone(),
        time: *time,
        target: below
            .iter()
            .flat_map(|below| &below[at])
            .chain(skins.iter().flat_map(|skins| &skins[at]))
            .map(|p| p.as_vec3().to_array())
            .collect(),
    });
    let frames: Vec<ViewerFrame> = frames.collect();
    let clips: Vec<_> = if frames.is_empty() { vec![] } else { vec![clip] };
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(&mesh),
        skeleton: Some(rig.skeleton()),
        weights: Some(&weights),
        morph_normals: MorphNormals::LeftOut,
        clips: &clips,
        ..GlbScene::default()
    };
    let glb = to_bytes(|out| write_glb(&scene, out)).map_err(|e| Error::Internal(e.to_string()))?;
    let rough: Vec<Vec<u32>> = shown.iter().map(|one| rough_vertices(&one.mesh, &one.weights)).collect();
    let meshes = outcome.meshes.iter().zip(shown).zip(&rough).zip(&skins);
    let meshes = meshes.map(|(((mesh, drawn), rough), skins)| TransferPageMesh {
        name: &mesh.name,
        positions: &drawn.mesh.positions,
        triangles: &drawn.mesh.triangles,
        trust: &mesh.trust,
        distances: &drawn.distances,
        unmatched: &mesh.unmatched,
        rough,
        on_body: mesh.on_body,
        pieces: pieces(mesh),
        poses: mesh.worn.iter().map(|pose| row(pose, label(pose.pose))).collect(),
        worst: worst(mesh).zip(below).map(|(at, below)| {
            (label(mesh.worn[at].pose), below[at].clone(), &rig.mesh().triangles[..], skins[at].clone())
        }),
    });
    let carried = match outcome.meshes.iter().any(|mesh| mesh.corrections > 0) {
        _ if below.is_none() => "What a model learnt on one character, given to another",
        true => "Weights and corrections of a model, carried to other meshes",
        false => "Weights of a rig, carried to other meshes",
    };
    let mut notes = outcome.left_out.iter().map(|left| format!("Left out: {left}.")).collect::<Vec<_>>();
    if poses.len() > 0 {
        notes.push("The poses are those that the model was trained on; roots stand at rest.".into());
    }
    let page = TransferPage {
        title: match &outcome.meshes[..] {
            [one] => format!("{} from {}", one.name, rig.name()),
            more => format!("{}: {} meshes", rig.name(), more.len()),
        },
        unworn: match outcome.meshes.iter().find_map(|mesh| mesh.character.as_ref().filter(|_| mesh.corrections > 0)) {
            Some(character) => format!("{}.", character.gain_words()),
            None => "Not held against a skin in motion: the body has no poses.".into(),
        },
        carried: carried.into(),
        meshes: meshes.collect(),
        glb,
        frames,
        notes,
        unit: unit_of(&from.file.space),
    };
    Ok(page.to_html())
}

/// The pose in which most of a mesh lies in the skin.
fn worst(mesh: &CarriedMesh) -> Option<usize> {
    let share = |pose: &WornPose| (pose.carried.share(), pose.carried.deepest);
    (0..mesh.worn.len()).max_by(|a, b| {
        let (a, b) = (share(&mesh.worn[*a]), share(&mesh.worn[*b]));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

fn row(pose: &WornPose, label: String) -> TransferPagePose {
    let both = [&pose.carried, &pose.weights_alone];
    TransferPagePose { label, inside: both.map(|c| c.share()), change: both.map(|c| c.change()) }
}

fn pieces(mesh: &CarriedMesh) -> Vec<TransferPagePiece> {
    let mut pieces: Vec<TransferPagePiece> = mesh
        .islands
        .iter()
        .map(|island| TransferPagePiece {
            vertices: island.vertices,
            size: island.size,
            held: island.words(),
            trusted: island.trusted,
            bones: island.bones.join(", "),
        })
        .collect();
    pieces.sort_by(|a, b| b.size.total_cmp(&a.size));
    pieces
}
