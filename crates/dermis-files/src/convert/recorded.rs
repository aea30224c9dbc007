//! Records as morph targets and a clip.

use super::{Converted, stem, times};
use crate::error::FileError;
use dermis_io::gltf::GlbClip;
use dermis_io::{Contents, MorphTarget, Record};
use dermis_rig::glam::DVec3;
use dermis_rig::make_unique;
use std::borrow::Cow;
use std::path::Path;

/// Morph targets that a sequence of shapes may become: their weights are as many numbers squared.
const MOST_TARGETS: usize = 4096;

/// What the records become in a file of a scene.
pub(super) struct Recorded<'a> {
    /// Those of the contents, or one for every shape.
    pub(super) morphs: Cow<'a, [MorphTarget]>,
    /// The poses, and the weights that show the shapes in turn.
    pub(super) clip: Option<GlbClip>,
}

/// What the records become in a file of a scene.
///
/// - `path`: of the file that is written, for messages
///
/// # Errors
/// [`FileError::Lacks`] for more shapes than a file may have morph targets.
pub(super) fn recorded<'a>(
    contents: &'a Contents,
    path: &Path,
    done: &mut Converted,
) -> Result<Recorded<'a>, FileError> {
    let weighed = contents.weights.is_some() && contents.skeleton.is_some();
    let posed: Vec<&Record> = contents.records.iter().filter(|r| r.pose.is_some()).collect();
    let shaped: Vec<&Record> = contents.records.iter().filter(|r| r.positions.is_some()).collect();
    let name = stem(contents);
    let mut clip = None;
    if !posed.is_empty() && contents.skeleton.is_some() {
        let poses = posed.iter().filter_map(|r| r.pose.clone()).collect();
        clip = Some(GlbClip { name: name.into(), times: times(&posed, contents), poses, ..GlbClip::default() });
    } else {
        done.leave(posed.len(), "poses, because the file describes no skeleton");
    }
    let mut morphs = Cow::Borrowed(&contents.morphs[..]);
    if let Some(mesh) = contents.mesh.as_ref().filter(|_| !weighed && !shaped.is_empty() && contents.morphs.is_empty())
    {
        let (mut targets, weights) = shape_targets(&mesh.positions, &shaped);
        let mut names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        let renamed = make_unique(&mut names, "_").len();
        targets.iter_mut().zip(names).for_each(|(target, name)| target.name = name);
        done.leave(renamed, "names of shapes that occurred twice; they got numbers");
        if targets.len() > MOST_TARGETS {
            let what = format!("{} shapes are more than {MOST_TARGETS} morph targets", targets.len());
            return Err(FileError::lacks(path, what, "write them as .pc2 or .mdd, or choose some: FILE#LABEL*"));
        }
        if shaped.len() > 1 {
            let times = times(&shaped, contents);
            let name = name.to_owned();
            let morph_weights = if targets.is_empty() { vec![] } else { weights };
            match clip.as_mut().filter(|_| posed.len() == shaped.len()) {
                Some(clip) => clip.morph_weights = morph_weights,
                None => clip = Some(GlbClip { name, times, morph_weights, ..GlbClip::default() }),
            }
        }
        morphs = Cow::Owned(targets);
    } else if weighed {
        let what = format!(
            "shapes: {} shows what its skin weights make of a pose (dermis fit learns the difference)",
            match done.format {
                "FBX" => "an FBX file",
                "USD" => "a USD file",
                _ => "a GLB",
            }
        );
        done.leave(shaped.len(), &what);
    } else {
        done.leave(shaped.len(), "shapes, because there is no mesh or it has morph targets of its own");
    }
    Ok(Recorded { morphs, clip })
}

/// A morph target for every shape that is not the rest, and the weights that show the shapes in turn.
fn shape_targets(rest: &[DVec3], shaped: &[&Record]) -> (Vec<MorphTarget>, Vec<Vec<f64>>) {
    let mut targets = Vec::new();
    let mut shown = Vec::new();
    for record in shaped {
        let deltas: Vec<DVec3> = record.positions.iter().flatten().zip(rest).map(|(p, q)| *p - *q).collect();
        let moves = deltas.iter().any(|d| *d != DVec3::ZERO);
        shown.push(moves.then_some(targets.len()));
        if moves {
            targets.push(MorphTarget { name: record.label.clone(), deltas });
        }
    }
    let most = targets.len().min(MOST_TARGETS + 1);
    let weights = shown.iter().map(|on| (0..most).map(|at| f64::from(u8::from(*on == Some(at)))).collect()).collect();
    (targets, weights)
}
