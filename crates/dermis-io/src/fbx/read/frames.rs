//! Meshes with geometry caches, as records.

use super::affine;
use super::bones::above;
use super::caches::Caches;
use super::clips;
use super::mesh::Part;
use super::shapes::Shower;
use crate::contents::Contents;
use crate::flaws::Flaws;
use crate::surface::{LeftOut, moments};
use dermis_rig::MorphTarget;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use ufbx::{EvaluateOpts, SceneRoot};

/// Adds a record for every moment at which a cache has a frame, and for every frame of the first take if that moves a mesh.
///
/// Meshes without a cache are as they rest, with their blend shapes and where the take has them. Result: whether there are records.
///
/// - `parts`: the meshes of the contents, where the scene shows them
/// - `showers`: what shows each morph target of the contents
/// - `allowance`: bytes that may be made of the file and its caches
pub(super) fn read(
    scene: &SceneRoot,
    world: &DAffine3,
    parts: &[Part],
    (caches, showers): (&Caches, &[Shower]),
    allowance: usize,
    contents: &mut Contents,
    flaws: &mut Flaws,
) -> bool {
    let Some(mesh) = contents.mesh.as_ref().filter(|_| !caches.is_empty()) else { return false };
    let take = scene.anim_stacks.first();
    let moving = take.map(|take| clips::moved_nodes(take)).unwrap_or_default();
    let moves = parts.iter().any(|part| above(scene, part.node).any(|node| moving.contains(&node)));
    let mut times = caches.times();
    if let Some(take) = take.filter(|_| moves) {
        times.extend(clips::frame_times(take, clips::rate(scene).unwrap_or(24.0)).into_iter().flatten());
    }
    let times = moments(times);
    let per_frame = mesh.positions.len().saturating_mul(24).saturating_add(200);
    if times.len() > clips::MOST_FRAMES as usize || times.len().saturating_mul(per_frame) > allowance {
        let (frames, vertices) = (times.len(), mesh.positions.len());
        flaws.unread(&format!("geometry caches: {frames} frames of {vertices} vertices are too many"));
        return false;
    }
    let mut left_out = LeftOut::default();
    let mut records = Vec::with_capacity(times.len());
    for (at, &time) in times.iter().enumerate() {
        // Evaluation fails only where there is no memory left; the scene as it stands is shown then.
        let evaluated = take
            .filter(|_| moves || !showers.is_empty())
            .and_then(|take| ufbx::evaluate_scene(scene, &take.anim, time, EvaluateOpts::default()).ok());
        let now: &ufbx::Scene = evaluated.as_deref().unwrap_or(scene);
        let mut positions = shown(&mesh.positions, &contents.morphs, showers, now);
        for part in parts {
            let here = *world * affine(&now.nodes[part.node].geometry_to_world);
            let own = &mut positions[part.start..part.start + part.vertices];
            match caches.of(part.mesh) {
                Some(track) => {
                    let points = track.points(part.vertices, time);
                    own.iter_mut().zip(points).for_each(|(p, own)| *p = here.transform_point3(own) + DVec3::ZERO);
                }
                None if moves => {
                    let moved = invert(&part.rest).map(|back| here * back);
                    own.iter_mut().for_each(|p| *p = moved.map_or(*p, |map| map.transform_point3(*p)));
                }
                None => {}
            }
        }
        let time = (times.len() > 1).then_some(time);
        records.extend(left_out.record(format!("frame {at}"), time, positions));
    }
    left_out.tell(contents);
    contents.records = records;
    true
}

/// The mesh at rest, with the blend shapes that a scene shows.
fn shown(rest: &[DVec3], morphs: &[MorphTarget], showers: &[Shower], scene: &ufbx::Scene) -> Vec<DVec3> {
    let mut positions = rest.to_vec();
    for (morph, shower) in morphs.iter().zip(showers) {
        let weight = shower.weight(scene);
        if weight != 0.0 {
            positions.iter_mut().zip(&morph.deltas).for_each(|(p, d)| *p += weight * *d);
        }
    }
    positions
}
