//! Shapes of a mesh over time as a USD file.

use super::interchange::hold_space;
use super::{Converted, Counts, appearance, hold_objects, leave_maps, stem, times};
use crate::error::FileError;
use crate::output::Output;
use crate::skins::changes;
use dermis_io::skinned_scene::{SceneWritten, SkinnedScene};
use dermis_io::usd::{Container, Frames};
use dermis_io::{Contents, Record, Space};
use dermis_rig::glam::DVec3;

/// Whether the contents become points that move: shapes of a mesh that no skin weights make.
pub(super) fn moves_points(contents: &Contents) -> bool {
    let weighed = contents.weights.is_some() && contents.skeleton.is_some();
    contents.mesh.is_some() && !weighed && contents.records.iter().any(|record| record.positions.is_some())
}

/// Writes the mesh with the shapes of the records, and says what became of the rest.
pub(super) fn write_points(
    contents: &Contents,
    container: Container,
    space: &Space,
    output: &Output,
    done: &mut Converted,
) -> Result<(), FileError> {
    let shaped: Vec<&Record> = contents.records.iter().filter(|record| record.positions.is_some()).collect();
    let times = times(&shaped, contents);
    let mut fill = |at: usize, shape: &mut Vec<DVec3>| {
        shape.clear();
        shape.extend(shaped[at].positions.iter().flatten());
        Ok(())
    };
    let scene = SkinnedScene {
        name: stem(contents),
        mesh: contents.mesh.as_ref(),
        frames_per_second: contents.frames_per_second,
        ..SkinnedScene::default()
    };
    let mut wrote = SceneWritten::default();
    output.write_with(|out| {
        let frames = Frames { times: &times, fill: &mut fill };
        wrote = dermis_io::usd::write_points(&scene, frames, space, container, out)?;
        Ok(())
    })?;
    let vertices = contents.mesh.as_ref().map_or(0, |mesh| mesh.positions.len());
    done.counts = Counts { vertices, frames: times.len(), ..Counts::default() };
    hold_objects(contents, done);
    done.hold(times.len(), &format!("shapes of {vertices} vertices"));
    appearance(contents).into_iter().filter(|(_, what)| *what == "materials").for_each(|(n, what)| done.hold(n, what));
    hold_space(space, done);
    if contents.skeleton.is_some() {
        done.left_out.push("the skeleton, because no weights bind the mesh to it".into());
    }
    if contents.weights.is_some() {
        done.left_out.push("skinning weights, because there is no skeleton".into());
    }
    done.leave(contents.records.iter().filter(|record| record.pose.is_some()).count(), "poses");
    done.leave(contents.morphs.len(), "morph targets, beside the shapes");
    done.leave(contents.clips.len(), "clips, beside the shapes");
    done.left_out.extend(changes(&wrote));
    leave_maps(contents, done);
    Ok(())
}
