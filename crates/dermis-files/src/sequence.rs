//! Mesh sequences from files: anything that shows one mesh in several shapes.

mod given;

pub use given::{load_given_bones, load_given_weights};

use crate::error::FileError;
use crate::load::{FileNote, ReadOptions, Source, expect_finite, matching, pick_clip, read_contents, sample_times};
use dermis_io::{Contents, Space};
use dermis_rig::glam::DVec3;
use dermis_rig::memory::at_most;
use dermis_rig::{Mesh, make_unique};

/// Frames per second of frames without times.
const RATE: f64 = 24.0;
/// Bytes that the frames may take in memory.
const MOST_BYTES: u64 = at_most(8u64 << 30) as u64;

/// One mesh in motion: a rest shape and clips of frames.
#[derive(Clone, Debug)]
pub struct Sequences {
    /// What the mesh is called.
    pub name: String,
    /// The mesh at rest.
    pub mesh: Mesh,
    /// Axes and unit of the file the mesh is from.
    pub space: Space,
    /// The clips; none is empty.
    pub clips: Vec<Take>,
    /// Labels of frames that were left out because they hold NaN or infinity, with their file.
    pub left_out: Vec<String>,
    /// What was read.
    pub notes: Vec<FileNote>,
}

/// A run of frames that plays as one clip.
#[derive(Clone, Debug)]
pub struct Take {
    /// Its name.
    pub name: String,
    /// What each frame is called.
    pub labels: Vec<String>,
    /// Seconds of each frame, ascending, not negative.
    pub times: Vec<f64>,
    /// Whether the file says when frames are.
    pub timed: bool,
    /// Positions of each frame in the order of the mesh.
    pub frames: Vec<Vec<DVec3>>,
}

/// How a sequence is read.
#[derive(Clone, Debug, Default)]
pub struct SequenceOptions {
    /// The frame that serves as rest shape, by label or by number from 0; the mesh of the first file otherwise.
    pub rest: Option<String>,
    /// As for every file.
    pub read: ReadOptions,
}

/// A frame as read: label, seconds, positions.
type Shot = (String, Option<f64>, Vec<DVec3>);

impl Sequences {
    /// Every frame of every clip.
    pub fn frames(&self) -> Vec<&[DVec3]> {
        self.clips.iter().flat_map(|clip| &clip.frames).map(Vec::as_slice).collect()
    }

    /// What every frame of every clip is called: behind the name of its clip, if there are several.
    pub fn labels(&self) -> Vec<String> {
        let of_clip = |clip: &Take| -> Vec<String> {
            let name = |label: &String| match self.clips.len() {
                1 => label.clone(),
                _ => format!("{} {label}", clip.name),
            };
            clip.labels.iter().map(name).collect()
        };
        self.clips.iter().flat_map(of_clip).collect()
    }
}

/// Mesh sequences from files of one mesh, each a clip (a glTF file: each of its clips).
///
/// The mesh is that of the first file that has one; a file with a mesh alone only gives the mesh, and further ones of
/// that kind are frames. A glTF clip shows what a viewer shows: morph targets, then skin.
///
/// # Errors
/// [`FileError`], naming file and frame.
pub fn load_sequences(sources: &[Source], options: &SequenceOptions) -> Result<Sequences, FileError> {
    let mut made: Option<Sequences> = None;
    let mut single: Vec<Shot> = Vec::new();
    let mut bytes = 0;
    for source in sources {
        let path = &source.path;
        let space = options.read.space_of(path, &made.as_ref().map_or_else(Space::default, |m| m.space.clone()));
        let (mut contents, mut note) = read_contents(path, &space)?;
        expect_finite(&contents, path)?;
        source.select(&mut contents)?;
        note.role = "sequence".into();
        let stem = path.file_stem().map_or_else(|| "clip".into(), |s| s.to_string_lossy().into_owned());
        let takes = takes(&contents, source, &stem, &options.read)?;
        let first = made.is_none();
        if first {
            let mesh = contents.mesh.clone().ok_or_else(|| {
                let what = format!("there is no mesh in this {} file", contents.format);
                FileError::lacks(path, what, "name a file with the mesh before it: body.obj walk.pc2")
            })?;
            mesh.check().map_err(|e| FileError::lacks(path, e.to_string(), ""))?;
            let (space, (clips, left_out, notes)) = (contents.space.clone(), Default::default());
            made = Some(Sequences { name: stem.clone(), mesh, space, clips, left_out, notes });
        }
        let Some(made) = &mut made else { continue };
        made.left_out.extend(contents.left_out.iter().map(|label| format!("{stem} {label}")));
        let lone = takes.is_empty() && !first;
        if let Some(mesh) = contents.mesh.as_ref().filter(|_| lone) {
            single.push((
                stem,
                None,
                gather(&made.mesh, &contents, mesh.positions.clone(), options, source, &mut note)?,
            ));
        } else if lone {
            let what = format!("there is no shape in this {} file", contents.format);
            return Err(FileError::lacks(path, what, NEEDS));
        }
        for (name, shots) in takes {
            let mut kept = Vec::with_capacity(shots.len());
            for (label, time, positions) in shots {
                bytes += 24 * positions.len() as u64;
                if bytes > MOST_BYTES {
                    let what = format!("the frames take more than {} GB of memory", MOST_BYTES >> 30);
                    return Err(FileError::lacks(
                        path,
                        what,
                        "decompose a part of the frames: FILE.npz#LABELS, or a lower `fps`",
                    ));
                }
                match positions.iter().all(|p| p.is_finite()) {
                    true => kept.push((label, time, positions)),
                    false => made.left_out.push(format!("{name} {label}")),
                }
            }
            if !kept.is_empty() {
                // That a file fits its own mesh is no news.
                let mut own = note.clone();
                let news = if first { &mut own } else { &mut note };
                let matched = gather_all(&made.mesh, &contents, kept, options, source, news)?;
                let (taken, own_times) = take(name, matched, options.read.fps);
                note.needs.rate |= !own_times;
                made.clips.push(taken);
            }
        }
        made.notes.push(note);
    }
    let path = sources.first().map(|s| s.path.clone()).unwrap_or_default();
    let mut made = made.ok_or_else(|| FileError::lacks(&path, "there is no sequence", NEEDS))?;
    if !single.is_empty() {
        made.notes.iter_mut().for_each(|note| note.needs.rate = true);
        made.clips.push(take("frames".into(), single, options.read.fps).0);
    }
    if made.clips.is_empty() {
        let what = match made.left_out.len() {
            0 => "there are no frames".to_owned(),
            all => format!("no frame is finite: all {all} were left out"),
        };
        return Err(FileError::lacks(&path, what, NEEDS));
    }
    let mut names: Vec<String> = made.clips.iter().map(|clip| clip.name.clone()).collect();
    make_unique(&mut names, " ");
    made.clips.iter_mut().zip(names).for_each(|(clip, name)| clip.name = name);
    if let Some(rest) = &options.rest {
        let all = || made.clips.iter().flat_map(|c| c.labels.iter().zip(&c.frames));
        let by_label = all().find(|(label, _)| *label == rest).map(|(_, frame)| frame);
        let by_number = || rest.parse().ok().and_then(|at: usize| all().nth(at)).map(|(_, frame)| frame);
        let found = by_label
            .or_else(by_number)
            .ok_or_else(|| FileError::NoSuchFrame { frame: rest.clone(), frames: all().count() })?;
        made.mesh.positions.clone_from(found);
        // Normals are those of the other shape.
        made.mesh.render.iter_mut().for_each(|render| render.normals.clear());
    }
    Ok(made)
}

const NEEDS: &str = "a sequence is a bundle with vertices, a PC2 or MDD file after its mesh, a folder of OBJ files, or a glTF file with a clip";

/// Runs of frames that a file holds, by name.
fn takes(
    contents: &Contents,
    source: &Source,
    stem: &str,
    options: &ReadOptions,
) -> Result<Vec<(String, Vec<Shot>)>, FileError> {
    let shots: Vec<Shot> =
        contents.records.iter().filter_map(|r| Some((r.label.clone(), r.time, r.positions.clone()?))).collect();
    if !shots.is_empty() {
        return Ok(vec![(stem.to_owned(), shots)]);
    }
    let Some(mesh) = &contents.mesh else { return Ok(vec![]) };
    let shaped = |weights: &[f64]| {
        let mut positions = mesh.positions.clone();
        for (morph, &w) in contents.morphs.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
            positions.iter_mut().zip(&morph.deltas).for_each(|(p, d)| *p += *d * w);
        }
        positions
    };
    let skinned = contents.skeleton.as_ref().zip(contents.weights.as_ref());
    if contents.clips.is_empty() || (skinned.is_none() && contents.morphs.is_empty()) {
        let alone = |at: usize| (0..contents.morphs.len()).map(|i| f64::from(u8::from(i == at))).collect::<Vec<_>>();
        let shots: Vec<Shot> =
            contents.morphs.iter().enumerate().map(|(at, m)| (m.name.clone(), None, shaped(&alone(at)))).collect();
        return Ok(if shots.is_empty() { vec![] } else { vec![(stem.to_owned(), shots)] });
    }
    let clips = match source.part {
        Some(_) => vec![pick_clip(contents, source)?],
        None => contents.clips.iter().collect(),
    };
    let mut takes = Vec::new();
    for clip in clips {
        let times = sample_times(clip, source, options)?;
        if (times.len() as u64).saturating_mul(24 * mesh.positions.len() as u64) > MOST_BYTES {
            let what = format!("{} frames of the clip \"{}\" do not fit in memory", times.len(), clip.name);
            return Err(FileError::lacks(&source.path, what, "sample it at a lower rate with `fps`"));
        }
        let shot = |(at, &time): (usize, &f64)| {
            let frame = (clip.sample)(time);
            let mut positions = shaped(&frame.morph_weights);
            if let Some((skeleton, weights)) = skinned {
                let rest = positions.clone();
                dermis_deform::lbs(&rest, weights, &skeleton.bone_transforms(&frame.pose), &mut positions);
            }
            (at.to_string(), Some(time), positions)
        };
        takes.push((clip.name.clone(), times.iter().enumerate().map(shot).collect()));
    }
    Ok(takes)
}

fn gather(
    mesh: &Mesh,
    contents: &Contents,
    positions: Vec<DVec3>,
    options: &SequenceOptions,
    source: &Source,
    note: &mut FileNote,
) -> Result<Vec<DVec3>, FileError> {
    let shot = (String::new(), None, positions);
    let mut one = gather_all(mesh, contents, vec![shot], options, source, note)?;
    Ok(one.pop().map(|(_, _, positions)| positions).unwrap_or_default())
}

/// Frames in the order of the mesh.
fn gather_all(
    mesh: &Mesh,
    contents: &Contents,
    shots: Vec<Shot>,
    options: &SequenceOptions,
    source: &Source,
    note: &mut FileNote,
) -> Result<Vec<Shot>, FileError> {
    let count = shots.first().map_or(0, |s| s.2.len());
    if let Some((label, _, other)) = shots.iter().find(|s| s.2.len() != count) {
        let what = format!("frame \"{label}\" has {} vertices, but the frames before it have {count}", other.len());
        return Err(FileError::lacks(&source.path, what, "every frame of a sequence shows the same mesh"));
    }
    let matching = matching(mesh, contents, count, &options.read, &source.path, note)?;
    Ok(shots.into_iter().map(|(label, time, positions)| (label, time, matching.gather(&positions))).collect())
}

/// A clip from frames: their own times where all have one and they ascend, else a rate; whether they are their own.
fn take(name: String, shots: Vec<Shot>, rate: Option<f64>) -> (Take, bool) {
    let own: Option<Vec<f64>> = shots.iter().map(|s| s.1).collect();
    let own = own.filter(|times| times.windows(2).all(|w| (w[0] as f32) < w[1] as f32));
    let own_times = own.is_some();
    let (mut times, timed) = match own {
        Some(own) => (own, true),
        None => ((0..shots.len()).map(|at| at as f64 / rate.unwrap_or(RATE)).collect(), rate.is_some()),
    };
    let start = times.first().copied().unwrap_or(0.0).min(0.0);
    times.iter_mut().for_each(|t| *t -= start);
    let (labels, frames) = shots.into_iter().map(|(label, _, frame)| (label, frame)).unzip();
    (Take { name, labels, times, timed, frames }, own_times)
}
