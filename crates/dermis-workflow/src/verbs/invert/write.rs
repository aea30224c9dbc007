//! Corrections as files: a bundle, a GLB with a morph target per sculpt, or OBJ files.

use super::{Inverted, Sculpts, Skinning, Through};
use crate::FileError;
use crate::error::Error;
use crate::load::LoadedRig;
use crate::output::{Output, ending};
use crate::skins::write_scene;
use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_io::npz::inverted::VerticesSpace;
use dermis_io::npz::{Corrections, DeformerWritten, StoredFloat, write_inverted};
use dermis_io::to_bytes;
use dermis_io::{Contents, Format, MorphTarget, Record};
use dermis_measure::Distances;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, LocalSculpt, Rig, WorldPose};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;

/// Morph targets that a GLB may have: the weights of its clip are as many numbers squared.
const MOST_TARGETS: usize = 4096;

const ENDINGS: &str = "use .npz, .glb, or a folder (a name without ending) for OBJ files";

/// What a bundle holds as `vertices`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BundleVertices {
    /// The sculpts.
    #[default]
    Sculpts,
    /// The corrected rest shapes p + d.
    Rest,
}

/// What was written, and how close it comes to the sculpts where it is played.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Files written.
    pub files: usize,
    /// For a GLB: rms and largest distance, metres, of what its skin weights make of the targets to the sculpts.
    pub glb: Option<(f64, f64)>,
    /// What of the rig's extensions a GLB has no longer, in words.
    pub left_out: Vec<String>,
}

impl Shown {
    /// The same as JSON.
    pub fn json(&self) -> Value {
        json!({ "files": self.files, "glb": self.glb.map(|(rms, max)| json!({ "rms": rms, "max": max })) })
    }
}

/// Whether corrections written to `path` become a folder of OBJ files, by the ending of its name.
///
/// # Errors
/// [`FileError::Lacks`] for an ending they are not written as.
pub fn is_folder(path: &Path) -> Result<bool, Error> {
    match ending(path).as_str() {
        "" => Ok(true),
        "npz" | "glb" => Ok(false),
        other => Err(Error::lacks(path, format!("corrections are not written as \".{other}\""), ENDINGS)),
    }
}

/// Writes the corrections by the ending of the output's name.
///
/// - `.npz`: the rig, the poses, `vertices` the sculpts or p + d (`vertices_space` says which), and beside them `rest_corrections`
///   d, `remainders` w, (P, V, 3) each, and the `deformer`: readers compute the sculpts again, S(p + d) + w
/// - `.glb`: the rig with a morph target d per sculpt, and a clip "sculpts" that shows each in its pose, one a second
/// - a folder: p + d as OBJ files
///
/// # Errors
/// [`Error`].
pub fn write_corrections(
    rig: &LoadedRig,
    sculpts: &Sculpts,
    inverted: &[Inverted],
    through: &Through,
    vertices: BundleVertices,
    output: &Output,
) -> Result<Shown, Error> {
    let moved = |one: &Inverted| -> Vec<DVec3> {
        rig.rig.mesh().positions.iter().zip(&one.corrections).map(|(p, d)| *p + *d).collect()
    };
    match ending(output.path()).as_str() {
        "npz" => {
            let record = |(sculpt, one): (&Example, &Inverted)| Record {
                label: sculpt.label.clone(),
                time: sculpt.time,
                pose: Some(pose_of(&rig.rig, sculpt)),
                positions: Some(match vertices {
                    BundleVertices::Rest => moved(one),
                    BundleVertices::Sculpts => sculpt.positions.clone(),
                }),
                importance: sculpt.importance,
                local: match vertices {
                    BundleVertices::Sculpts => sculpt.local.clone(),
                    // The skin that was shown is posed, and these shapes are at rest.
                    BundleVertices::Rest => {
                        let mask = sculpt.local.as_ref().and_then(|local| local.mask.clone());
                        mask.map(|mask| LocalSculpt { mask: Some(mask), shown: None })
                    }
                },
            };
            let contents = Contents {
                format: Format::Npz,
                space: rig.space.clone(),
                mesh: Some(rig.rig.mesh().clone()),
                skeleton: Some(rig.rig.skeleton().clone()),
                weights: rig.rig.weights().cloned(),
                influence_maps: rig.rig.influence_maps().cloned(),
                records: sculpts.examples.iter().zip(inverted).map(record).collect(),
                ..Contents::default()
            };
            let corrections: Vec<Vec<DVec3>> = inverted.iter().map(|one| one.corrections.clone()).collect();
            let remainders: Vec<Vec<DVec3>> = inverted.iter().map(|one| one.remainders.clone()).collect();
            let beside = Corrections {
                vertices: match vertices {
                    BundleVertices::Rest => VerticesSpace::Rest,
                    BundleVertices::Sculpts => VerticesSpace::Posed,
                },
                deformer: match through {
                    Through::Skinning(Skinning::Lbs) => DeformerWritten::Lbs,
                    Through::Skinning(Skinning::Dqs) => DeformerWritten::Dqs,
                    Through::Skinning(Skinning::Rigid) => DeformerWritten::Rigid,
                    Through::Stack(stack, _) => DeformerWritten::Stack(stack, &rig.rig),
                    Through::Program(..) => DeformerWritten::Program,
                },
                rest_corrections: &corrections,
                remainders: &remainders,
            };
            // Skins that are computed from rest shapes shall be the sculpts: a deformer may stretch what 32 bits round away.
            let float = if vertices == BundleVertices::Rest { StoredFloat::Double } else { StoredFloat::Single };
            output.write_with(|out| write_inverted(&contents, float, beside, out))?;
            Ok(Shown { files: 1, ..Shown::default() })
        }
        "glb" => glb(&rig.rig, &sculpts.examples, inverted, output),
        _ => {
            let mut taken = HashSet::new();
            output.sequence(|write| {
                sculpts.examples.iter().zip(inverted).try_for_each(|(sculpt, one)| {
                    let bytes = to_bytes(|out| dermis_io::obj::write(rig.rig.mesh(), &moved(one), &rig.space, out));
                    let name = format!("{}.obj", file_name(&sculpt.label, &mut taken));
                    write(&name, &bytes.map_err(FileError::write(output.path()))?)
                })
            })?;
            Ok(Shown { files: inverted.len(), ..Shown::default() })
        }
    }
}

fn pose_of(rig: &Rig, sculpt: &Example) -> WorldPose {
    WorldPose::new(sculpt.transforms.iter().zip(rig.skeleton().bind().iter()).map(|(m, b)| *m * *b).collect())
}

fn glb(rig: &Rig, sculpts: &[Example], inverted: &[Inverted], output: &Output) -> Result<Shown, Error> {
    let path = output.path();
    let weights = rig.weights().ok_or_else(|| {
        Error::lacks(
            path,
            format!("the rig \"{}\" has no skinning weights, which a GLB needs", rig.name()),
            "write a .npz",
        )
    })?;
    if sculpts.len() > MOST_TARGETS {
        let what = format!("{} sculpts are more than {MOST_TARGETS} morph targets", sculpts.len());
        return Err(Error::lacks(path, what, "write a .npz"));
    }
    let target = |(sculpt, one): (&Example, &Inverted)| MorphTarget {
        name: sculpt.label.clone(),
        deltas: one.corrections.clone(),
    };
    let morphs: Vec<MorphTarget> = sculpts.iter().zip(inverted).map(target).collect();
    let clip = GlbClip {
        name: "sculpts".into(),
        times: (0..sculpts.len()).map(|at| at as f64).collect(),
        poses: sculpts.iter().map(|sculpt| pose_of(rig, sculpt)).collect(),
        morph_weights: (0..sculpts.len())
            .map(|at| (0..sculpts.len()).map(|other| f64::from(u8::from(at == other))).collect())
            .collect(),
        curves: vec![],
    };
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(rig.mesh()),
        skeleton: Some(rig.skeleton()),
        weights: Some(weights),
        morphs: &morphs,
        clips: &[clip],
        ..GlbScene::default()
    };
    let (_, left_out) = write_scene(&scene, output)?;
    let mut distances = Distances::default();
    let mut skin = vec![DVec3::ZERO; rig.mesh().positions.len()];
    for (sculpt, one) in sculpts.iter().zip(inverted) {
        let moved: Vec<DVec3> = rig.mesh().positions.iter().zip(&one.corrections).map(|(p, d)| *p + *d).collect();
        dermis_deform::lbs(&moved, weights, &sculpt.transforms, &mut skin);
        skin.iter().zip(&sculpt.positions).for_each(|(s, x)| distances.add(s.distance(*x)));
    }
    Ok(Shown { files: 1, glb: Some(distances.finish()), left_out })
}

/// A label as the name of a file: letters, digits, `-`, `_` and `.` stay; none twice, whatever a file system makes of case.
fn file_name(label: &str, taken: &mut HashSet<String>) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut base: String = label.chars().take(100).map(plain).collect();
    if base.chars().all(|c| c == '.') {
        base = "sculpt".into();
    }
    let (mut name, mut number) = (base.clone(), 2);
    while !taken.insert(name.to_lowercase()) {
        name = format!("{base}.{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_names_of_files_that_stay_in_the_folder() {
        let mut taken = HashSet::new();
        let labels = ["elbow 90", "../../etc/passwd", "..", "", "Elbow_90", "a/b", "a:b"];
        let names: Vec<String> = labels.iter().map(|l| file_name(l, &mut taken)).collect();
        let expected = ["elbow_90", ".._.._etc_passwd", "sculpt", "sculpt.2", "Elbow_90.2", "a_b", "a_b.2"];
        assert_eq!(names, expected);
    }
}
