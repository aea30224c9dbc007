//! What is in a file, as the page that shows it best.

use super::error::Error as ViewError;
use super::sticks::sticks;
use super::{Drawn, Shows, ViewRecipe};
use crate::error::Error;
use crate::load::{FileNote, PoseSet, Source, load_model, load_pose_sets, motion_of, read_contents, rig_of};
use crate::measure::measure;
use crate::provenance::{Provenance, name_of};
use crate::recipe::{FitRecipe, Input, ViewerExport, Watch, seen, step};
use crate::report::viewer::{Given, Shown, ViewerFrame, every, headline};
use crate::report::{ScoredExamples, unit_of};
use crate::shown::file_stamps;
use crate::verbs::export::error::Error as ExportError;
use crate::verbs::inspect::{look, moving, several};
use dermis_compile::CompileError;
use dermis_deform::baked::BakedBase;
use dermis_files::sequence::{SequenceOptions, load_sequences};
use dermis_io::gltf::{GlbClip, GlbScene, MorphNormals, write_glb};
use dermis_io::{Contents, Format, ModelFile, Space, to_bytes};
use dermis_measure::run_motion;
use dermis_motion::anatomy::Anatomy;
use dermis_motion::exercise::{ExerciseSettings, exercise};
use dermis_report::page::shown_positions;
use dermis_report::view_page::ViewPage;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, ExampleSet, Frame, Influences, Mesh, Motion, Rig, Skeleton, WorldPose};

/// Frames per second of poses without times, so that each can be seen.
const SLOW: f64 = 4.0;
/// Numbers of a clip at most: longer ones are shown with fewer frames.
const MOST_NUMBERS: usize = 6_000_000;
/// Poses of an exercise, and frames from one to the next.
const POSES: (usize, usize) = (12, 8);

/// Skins beside that of the weights, one a frame.
type Skins = Vec<Vec<[f32; 3]>>;

impl ViewRecipe {
    pub(super) fn drawn(&self, watch: &dyn Watch) -> Result<Drawn, Error> {
        let path = &self.file.file.path;
        let space = self.read.space_of(path, &Space::default());
        let (mut contents, mut note) = step(watch, "read", |_| read_contents(path, &space))?;
        // What was wrong with the file is said on the page.
        self.file.check(std::slice::from_ref(&note))?;
        if contents.format == Format::Model {
            return self.model(watch);
        }
        self.file.file.select(&mut contents)?;
        let mut notes: Vec<String> = contents.warnings.iter().map(ToString::to_string).collect();
        notes.extend(contents.mesh.as_ref().and_then(several));
        let (has_poses, has_shapes) = (
            !contents.clips.is_empty() || contents.records.iter().any(|record| record.pose.is_some()),
            contents.records.iter().any(|record| record.positions.is_some()) || !contents.morphs.is_empty(),
        );
        let has_skin = contents.mesh.is_some() && contents.skeleton.is_some() && contents.weights.is_some();
        // Options for reading that act on nothing are refused, by whoever reads a motion or shapes, and else here.
        note.needs.rate |= contents.records.iter().any(|record| record.pose.is_some() && record.time.is_none());
        let acted_on = || self.read.must_act_on(std::slice::from_ref(&note));
        match (&contents.mesh, &contents.skeleton) {
            (Some(_), Some(_)) if has_skin && (has_poses || self.motion.is_some()) => self.rig(&contents, notes, watch),
            (Some(_), Some(_)) if has_skin && !has_shapes => {
                acted_on()?;
                self.rig(&contents, notes, watch)
            }
            (Some(_), _) if has_shapes || self.motion.is_some() => self.shapes(notes, watch),
            (Some(_), _) => {
                acted_on()?;
                self.mesh(notes, watch)
            }
            (None, Some(skeleton)) => {
                if self.motion.is_none() {
                    acted_on()?;
                }
                let rig = sticks(skeleton, &stem(&self.file.file)).map_err(internal)?;
                self.skeleton(&rig, &mut contents, &mut notes, watch)
            }
            (None, None) if has_shapes => Err(ViewError::NoTriangles { path: path.clone() }.into()),
            (None, None) if has_poses => Err(ViewError::NoSkeleton { path: path.clone() }.into()),
            (None, None) => Err(ViewError::Nothing { path: path.clone() }.into()),
        }
    }

    /// The clip that is shown where several are in a file, and what there is to say of the others.
    fn clip(&self, contents: &Contents, notes: &mut Vec<String>) -> Source {
        let source = self.file.file.clone();
        match (&source.part, &contents.clips[..]) {
            (None, [first, others @ ..]) if !others.is_empty() => {
                let names: Vec<String> = others.iter().map(|clip| format!("\"{}\"", clip.name)).collect();
                notes.push(format!(
                    "The clip \"{}\" is shown. Others are named after #: {}.",
                    first.name,
                    names.join(", ")
                ));
                Source { part: Some(first.name.clone()), ..source }
            }
            _ => source,
        }
    }

    /// A rig with its skin, in a motion if there is one, with true skins if the file has some.
    fn rig(&self, contents: &Contents, mut notes: Vec<String>, watch: &dyn Watch) -> Result<Drawn, Error> {
        let rig = rig_of(contents, &self.file.file.path)?;
        let source = match &self.motion {
            Some(input) => Some(input.clone()),
            None if !contents.clips.is_empty() || contents.records.iter().any(|record| record.pose.is_some()) => {
                Some(Input { file: self.clip(contents, &mut notes), sha256: None })
            }
            None => None,
        };
        let (mut motion, mut skins) = (None, Skins::new());
        if let Some(input) = &source {
            let (whole, truth, _) = self.motion_of(input, &rig, &contents.space, watch)?;
            let truth = truth.as_ref().map_or(&[][..], ExampleSet::examples);
            let held = if truth.is_empty() { 0 } else { rig.mesh().positions.len() };
            let (shown, step) = shortened(whole, &rig, held, &mut notes);
            skins = truth.iter().step_by(step).map(|example| shown_positions(&example.positions)).collect();
            motion = Some(shown);
        } else if !contents.morphs.is_empty() {
            notes.push(format!(
                "{} morph targets are in the file; the page shows the rest shape.",
                contents.morphs.len()
            ));
        }
        let page = ViewPage {
            subtitle: format!("{}, {} bones", contents.format, rig.skeleton().len()),
            notes,
            skin: "skin weights".into(),
            unit: unit_of(&contents.space),
            ..ViewPage::default()
        };
        drawn(Shows::Rig, &rig, motion, skins, page)
    }

    /// A motion for a rig, with true skins if its file has one for every frame, and what was read.
    fn motion_of(
        &self,
        input: &Input,
        rig: &Rig,
        space: &Space,
        watch: &dyn Watch,
    ) -> Result<(Motion, Option<ExampleSet>, Vec<FileNote>), Error> {
        let sources = [input.file.clone()];
        let load = || load_pose_sets(rig, space, &sources, &self.read, "motion");
        let (sets, notes) = step(watch, "read motion", |_| load())?;
        match input.file.path == self.file.file.path {
            true => self.file.check(&notes)?,
            false => seen(watch, [input], &notes)?,
        }
        self.read.must_act_on(&notes)?;
        Ok(match sets.into_iter().next().map(|(_, set)| set) {
            Some(PoseSet::Examples(set)) => (poses_of(&set, rig.skeleton()), Some(set), notes),
            Some(PoseSet::Motion(motion)) => (motion, None, notes),
            None => return Err(Error::Internal("a file that is no set of poses".into())),
        })
    }

    /// Bones without a skin.
    fn skeleton(
        &self,
        rig: &Rig,
        contents: &mut Contents,
        notes: &mut Vec<String>,
        watch: &dyn Watch,
    ) -> Result<Drawn, Error> {
        let has_poses = !contents.clips.is_empty() || contents.records.iter().any(|record| record.pose.is_some());
        let motion = match &self.motion {
            Some(input) => Some(self.motion_of(input, rig, &contents.space, watch)?.0),
            None if has_poses => {
                let source = self.clip(contents, notes);
                Some(motion_of(rig, contents, &source, &self.read)?)
            }
            None => None,
        };
        let motion = motion.map(|motion| shortened(motion, rig, 0, notes).0);
        let page = ViewPage {
            subtitle: format!("{}, {} bones without a skin", contents.format, rig.skeleton().len()),
            notes: std::mem::take(notes),
            skin: "bones".into(),
            unit: unit_of(&contents.space),
            ..ViewPage::default()
        };
        drawn(Shows::Skeleton, rig, motion, Skins::new(), page)
    }

    /// A mesh in several shapes, from its own file or from another one.
    fn shapes(&self, mut notes: Vec<String>, watch: &dyn Watch) -> Result<Drawn, Error> {
        let sources: Vec<Source> =
            [&self.file].into_iter().chain(&self.motion).map(|input| input.file.clone()).collect();
        let options = SequenceOptions { rest: None, read: self.read.clone() };
        let read = step(watch, "read shapes", |_| load_sequences(&sources, &options));
        let mut sequences = match read {
            // The motion has poses, and nothing here follows bones.
            Err(Error::File(crate::FileError::Lacks { .. }))
                if self.motion.as_ref().is_some_and(|m| is_poses(&m.file)) =>
            {
                return Err(ViewError::Unmoved { path: self.file.file.path.clone() }.into());
            }
            other => other?,
        };
        self.file.check(&sequences.notes)?;
        seen(watch, &self.motion, sequences.notes.get(1..).unwrap_or_default())?;
        self.read.must_act_on(&sequences.notes)?;
        let clips = sequences.clips.len();
        let take = sequences.clips.swap_remove(0);
        if clips > 1 {
            notes.push(format!("\"{}\", the first of {clips} clips, is shown.", take.name));
        }
        if let [first, ..] = &sequences.left_out[..] {
            notes.push(format!("{} shapes are not finite and left out (first: {first}).", sequences.left_out.len()));
        }
        let times = if take.timed { take.times } else { slow(take.frames.len()) };
        let rig = still(&sequences.mesh, &sequences.name)?;
        let frames = take.labels.into_iter().zip(times).map(|(label, time)| Frame {
            label,
            time: Some(time),
            pose: WorldPose::new(vec![DAffine3::IDENTITY]),
        });
        let motion = Motion { name: take.name, frames: frames.collect() };
        let (motion, step) = shortened(motion, &rig, rig.mesh().positions.len(), &mut notes);
        let skins = take.frames.iter().step_by(step).map(|shape| shown_positions(shape)).collect();
        let page = ViewPage {
            subtitle: "One mesh in several shapes".into(),
            notes,
            given: Given::Shape,
            unit: unit_of(&sequences.space),
            ..ViewPage::default()
        };
        drawn(Shows::Shapes, &rig, Some(motion), skins, page)
    }

    /// A mesh that nothing moves: the page of `inspect`.
    fn mesh(&self, notes: Vec<String>, watch: &dyn Watch) -> Result<Drawn, Error> {
        let looked = step(watch, "look", |_| look(&self.file.file.path))?;
        let files = file_stamps(std::slice::from_ref(&looked.note), Provenance::Relative, Some(&self.out));
        let nothing = || ViewError::Nothing { path: self.file.file.path.clone() };
        let page = looked.page(None, files).ok_or_else(nothing)?;
        let (mesh, skeleton) = (&looked.contents.mesh, &looked.contents.skeleton);
        Ok(Drawn {
            shows: Shows::Mesh,
            vertices: mesh.as_ref().map_or(0, |mesh| mesh.positions.len()),
            bones: skeleton.as_ref().map_or(0, Skeleton::len),
            frames: 0,
            notes,
            html: page.to_html(),
        })
    }

    /// A model: posed by the page where its shapes can be driven, else its skins in the frames of a motion.
    fn model(&self, watch: &dyn Watch) -> Result<Drawn, Error> {
        let path = &self.file.file.path;
        let (model, _) = step(watch, "read model", |_| load_model(path))?;
        let export = ViewerExport { motion: self.motion.clone(), ..ViewerExport::default() };
        let reason = match export.page(&model, path, None, &self.read, watch) {
            Ok(made) => {
                let (mesh, skeleton) = (model.rig().mesh(), model.rig().skeleton());
                let (vertices, bones) = (mesh.positions.len(), skeleton.len());
                return Ok(Drawn {
                    shows: Shows::Model,
                    vertices,
                    bones,
                    frames: made.frames,
                    notes: vec![],
                    html: made.html,
                });
            }
            Err(Error::Export(error)) if is_of_model(&error) => error.to_string(),
            Err(other) => return Err(other),
        };
        if matches!(model.baked().base(), BakedBase::Given) {
            return Err(ViewError::Given { path: path.clone() }.into());
        }
        self.skins(&model, &reason, watch)
    }

    /// The skins of a model in the frames of a motion, or of an exercise.
    fn skins(&self, model: &ModelFile, reason: &str, watch: &dyn Watch) -> Result<Drawn, Error> {
        let (rig, skeleton) = (model.rig(), model.rig().skeleton());
        let mut notes = vec![format!("The skin of the model is computed beforehand, frame by frame: {reason}.")];
        let (motion, truth, files) = match &self.motion {
            Some(input) => self.motion_of(input, rig, &model.space, watch)?,
            None => (exercised(rig, &mut notes), None, vec![]),
        };
        let role = FitRecipe::role_of(model, self.motion.as_slice(), &files);
        let scores = truth.as_ref().map(|truth| step(watch, "measure", |_| measure(model, truth, None))).transpose()?;
        let shown = match (&self.motion, &scores) {
            (_, Some(scores)) => Shown::Truth(ScoredExamples { role, scores, examples: None }),
            (Some(_), None) => Shown::Motion,
            (None, None) => Shown::Joints,
        };
        let known = Some(headline(model, shown));
        let (motion, _) = shortened(motion, rig, rig.mesh().positions.len(), &mut notes);
        let (skins, _) = step(watch, "evaluate", |progress| run_motion(model, &motion, None, progress))?;
        // A GLB holds shares of one alone.
        let weights =
            [model.weights(), rig.weights()].into_iter().flatten().find(|weights| are_shares(weights)).cloned();
        let weights = weights.map_or_else(|| one_bone(rig.mesh().positions.len()), Ok)?;
        let shown_rig = Rig::new(rig.mesh().clone(), skeleton.clone(), Some(weights)).map_err(internal)?;
        let page = ViewPage {
            subtitle: format!("Learnt skin ({})", model.header.method),
            known,
            notes,
            skin: "skin weights".into(),
            given: Given::Model,
            unit: unit_of(&model.space),
            ..ViewPage::default()
        };
        let skins = skins.iter().map(|skin| shown_positions(skin)).collect();
        drawn(Shows::ModelSkins, &shown_rig.named(rig.name().to_owned()), Some(motion), skins, page)
    }
}

/// The exercise of a rig; its rest pose if nothing of it can move.
fn exercised(rig: &Rig, notes: &mut Vec<String>) -> Motion {
    let skeleton = rig.skeleton();
    let moves = moving(skeleton, rig.weights());
    let anatomy = Anatomy::new(skeleton, |bone| moves[bone.get()]);
    let settings = ExerciseSettings { poses: POSES.0, in_betweens: POSES.1, ..ExerciseSettings::default() };
    match exercise(rig, &anatomy, &settings) {
        Ok(made) => {
            notes.push("The motion is the exercise of the rig, as dermis exercise makes it.".into());
            made.motion
        }
        Err(_) => {
            let pose = WorldPose::new(skeleton.bind().iter().copied().collect());
            Motion { name: "rest".into(), frames: vec![Frame { label: "rest".into(), time: Some(0.0), pose }] }
        }
    }
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::Internal(error.to_string())
}

/// Whether an export is refused for what the model is, not for how it was asked for.
fn is_of_model(error: &ExportError) -> bool {
    match error {
        ExportError::Compile(error) => matches!(
            error,
            CompileError::NoCorrection
                | CompileError::GivenPositions(_)
                | CompileError::UnusualWeights { .. }
                | CompileError::NoTraining
                | CompileError::NotDrivable(_)
                | CompileError::NoWeights { .. }
                | CompileError::TooLarge { .. }
                | CompileError::Ridge(_)
        ),
        ExportError::ViewerChannels { .. } | ExportError::Refused(_) => true,
        _ => false,
    }
}

/// Whether a file has poses of bones and no shapes.
fn is_poses(source: &Source) -> bool {
    let read = read_contents(&source.path, &Space::default());
    read.is_ok_and(|(contents, _)| contents.records.iter().all(|record| record.positions.is_none()))
}

/// A file without folder and ending.
fn stem(source: &Source) -> String {
    let name = name_of(&source.path);
    name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem).to_owned()
}

/// The poses of examples.
fn poses_of(set: &ExampleSet, skeleton: &Skeleton) -> Motion {
    let is_clip = set.is_clip();
    let frames = set.examples().iter().map(|example| Frame {
        label: example.label.clone(),
        time: example.time.filter(|_| is_clip),
        pose: skeleton.world_pose(&example.transforms),
    });
    Motion { name: set.name.trim_end_matches(".npz").to_owned(), frames: frames.collect() }
}

/// A mesh that one bone carries as a whole.
fn still(mesh: &Mesh, name: &str) -> Result<Rig, Error> {
    let skeleton = Skeleton::new(vec!["mesh".into()], vec![None], vec![DAffine3::IDENTITY])?;
    let rig = Rig::new(mesh.clone(), skeleton, Some(one_bone(mesh.positions.len())?)).map_err(internal)?;
    Ok(rig.named(name.to_owned()))
}

/// Weights by which the first bone carries every vertex.
fn one_bone(vertices: usize) -> Result<Influences, Error> {
    Influences::from_rows(std::iter::repeat_n(vec![(BoneIndex::new(0), 1.0)], vertices)).map_err(internal)
}

/// Whether no weight is negative, and those of a vertex are one together.
fn are_shares(weights: &Influences) -> bool {
    let sums = |row: &[(BoneIndex, f64)]| (row.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-3;
    weights.rows().all(|row| sums(row) && row.iter().all(|(_, w)| *w >= 0.0))
}

/// Seconds of frames that say none.
fn slow(frames: usize) -> Vec<f64> {
    (0..frames).map(|at| at as f64 / SLOW).collect()
}

/// A motion whose frames have times from zero on: their own where all have one and they ascend, else slow ones.
fn timed(mut motion: Motion) -> Motion {
    let own: Option<Vec<f64>> = motion.frames.iter().map(|frame| frame.time).collect();
    let own = own
        .filter(|times| times.iter().all(|t| t.is_finite()) && times.windows(2).all(|w| (w[0] as f32) < w[1] as f32));
    let times = own.unwrap_or_else(|| slow(motion.frames.len()));
    let start = times.first().copied().unwrap_or(0.0);
    motion.frames.iter_mut().zip(times).for_each(|(frame, time)| frame.time = Some(time - start));
    motion
}

/// A motion with as many of its frames as a page can hold, one in how many; `skins` are the vertices of the skin that the page holds of each.
fn shortened(motion: Motion, rig: &Rig, skins: usize, notes: &mut Vec<String>) -> (Motion, usize) {
    let motion = timed(motion);
    let frames = motion.frames.len();
    let of_clip = frames.saturating_mul(10 * rig.skeleton().len()).div_ceil(MOST_NUMBERS).max(1);
    let step = if skins > 0 { every(frames, skins).max(of_clip) } else { of_clip };
    if step == 1 {
        return (motion, 1);
    }
    notes.push(format!("One frame in {step} of {frames} is shown."));
    (Motion { name: motion.name, frames: motion.frames.into_iter().step_by(step).collect() }, step)
}

/// The page of a rig in motion, with a skin a frame if there are some.
fn drawn(shows: Shows, rig: &Rig, motion: Option<Motion>, skins: Skins, page: ViewPage) -> Result<Drawn, Error> {
    let vertices = rig.mesh().positions.len();
    let clips: Vec<GlbClip> = motion.iter().map(|motion| crate::skins::clip(motion, vec![])).collect();
    // What the page does not draw stays out of it: seams, pictures, polygons.
    let mesh =
        Mesh { positions: finite(&rig.mesh().positions), triangles: rig.mesh().triangles.clone(), ..Mesh::default() };
    let scene = GlbScene {
        name: rig.name(),
        mesh: Some(&mesh),
        skeleton: Some(rig.skeleton()),
        weights: rig.weights(),
        morph_normals: MorphNormals::LeftOut,
        clips: &clips,
        ..GlbScene::default()
    };
    let glb = to_bytes(|out| write_glb(&scene, out)).map_err(internal)?;
    let mut skins = skins.into_iter();
    let frames = motion.as_ref().map_or(&[][..], |motion| &motion.frames).iter().map(|frame| ViewerFrame {
        label: frame.label.clone(),
        time: frame.time.unwrap_or(0.0),
        target: skins.next().unwrap_or_default(),
    });
    let frames: Vec<ViewerFrame> = frames.collect();
    let bones = if shows == Shows::Shapes { 0 } else { rig.skeleton().len() };
    let (count, notes) = (frames.len(), page.notes.clone());
    let page = ViewPage {
        title: rig.name().to_owned(),
        mesh: (shows != Shows::Skeleton).then_some([vertices, mesh.triangles.len()]),
        bones,
        motion: motion.map(|motion| motion.name).unwrap_or_default(),
        glb,
        frames,
        ..page
    };
    Ok(Drawn { shows, vertices, bones, frames: count, notes, html: page.to_html() })
}

/// Positions that a file can hold.
fn finite(positions: &[DVec3]) -> Vec<DVec3> {
    positions.iter().map(|p| if p.is_finite() { *p } else { DVec3::ZERO }).collect()
}
