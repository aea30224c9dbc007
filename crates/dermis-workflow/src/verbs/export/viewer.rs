//! `export viewer`: a page that poses the model in a browser, and the GLB that it shows.

use super::error::Error as ExportError;
use super::shape_count::{ShapeCount, driver_settings, pose_space_settings};
use crate::error::Error;
use crate::load::{FileNote, PoseSet, ReadOptions, load_motion, load_pose_sets};
use crate::measure::measure;
use crate::output::Output;
use crate::recipe::{FitRecipe, Input, Watch, is_page, seen, step};
use crate::report::viewer::{
    Shown as OnPage, Viewer, ViewerContents, ViewerCost, ViewerFrame, ViewerSprings, every, headline,
};
use crate::report::{ScoredExamples, SetRole, unit_of};
use crate::skins::WriteOptions;
use crate::verbs::export::drivers::{
    Driven, DrivenGlb, DrivenReport, MorphNormals, PoseSpaceReport, Refusal, driven_glb, pose_space_glb, refusal,
};
use dermis_deform::secondary::{Springs, VertexSpring, edges};
use dermis_io::ModelFile;
use dermis_report::page::shown_positions;
use dermis_rig::{ExampleSet, Frame, Mesh, Motion};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A page that poses a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ViewerExport {
    /// The motion that the page plays. True skins that its file holds are shown, too.
    pub motion: Option<Input>,
    /// Morph targets; the default depends on the model.
    pub shapes: Option<ShapeCount>,
    /// Kernels per region of a pose space at most.
    pub kernels: Option<usize>,
    /// Influences per vertex at most; all of them if `None`.
    pub influences: Option<usize>,
    /// Whether the morph targets of the GLB beside the page hold changes of normals. Those of the page never do: it computes normals.
    pub normals: bool,
}

impl Default for ViewerExport {
    fn default() -> Self {
        Self { motion: None, shapes: None, kernels: None, influences: None, normals: true }
    }
}

/// What drives the shapes of a page, and what they cost.
#[derive(Debug)]
pub enum ViewerMade {
    /// A joint model.
    Joints(Driven<DrivenReport>),
    /// A pose space.
    PoseSpace(Driven<PoseSpaceReport>),
}

/// What was written.
#[derive(Debug)]
pub(super) struct Written {
    pub made: ViewerMade,
    /// The GLB's name in the folder; none of a page alone.
    pub glb: Option<String>,
    /// Bytes of the page.
    pub page: usize,
}

/// A page, not yet written.
pub(crate) struct ViewerPage {
    pub made: ViewerMade,
    pub html: String,
    /// Frames that play.
    pub frames: usize,
    /// The GLB that goes beside the page.
    glb: Vec<u8>,
}

/// The page's name in the folder.
pub(super) const PAGE: &str = "index.html";

impl ViewerExport {
    /// Writes the page: alone to a file, or with its GLB into a folder.
    pub(super) fn export(
        &self,
        (model, path): (&ModelFile, &Path),
        read: &ReadOptions,
        out: &Output,
        watch: &dyn Watch,
    ) -> Result<Written, Error> {
        let glb = Some(format!("{}.glb", stem(path))).filter(|_| !is_page(out.path()));
        let ViewerPage { made, html, glb: bytes, .. } = self.page(model, path, glb.as_deref(), read, watch)?;
        match &glb {
            None => out.write(html.as_bytes())?,
            Some(name) => {
                let write = out.folder()?;
                write(name, &bytes)?;
                write(PAGE, html.as_bytes())?;
            }
        }
        Ok(Written { made, glb, page: html.len() })
    }

    /// Makes the page of the model in the file `path`, which a GLB of the name `glb` lies beside.
    ///
    /// # Errors
    /// [`Error`]: a motion that does not go with the model, and a model whose shapes cannot be driven.
    pub(crate) fn page(
        &self,
        model: &ModelFile,
        path: &Path,
        glb: Option<&str>,
        read: &ReadOptions,
        watch: &dyn Watch,
    ) -> Result<ViewerPage, Error> {
        let refused = refusal(model);
        let of_pose_space = refused.is_none();
        match refused.filter(|_| self.kernels.is_some()) {
            Some(Refusal::NoPoseSpace) => {
                return Err(ExportError::Kernels { method: model.header.method.clone() }.into());
            }
            Some(reason) => return Err(ExportError::Refused(reason).into()),
            None => {}
        }
        let shown = self.motion.as_ref().map(|input| Shown::read(input, model, read, watch)).transpose()?;
        let notes: Vec<FileNote> = shown.iter().flat_map(|shown| shown.notes.clone()).collect();
        read.must_act_on(&notes)?;
        let motion = shown.as_ref().map(|shown| &shown.motion);
        let place = path.with_extension("glb");
        // The page first; where there is no other GLB, or none that differs, one is enough.
        let differs = self.normals && glb.is_some();
        let normals = [MorphNormals::LeftOut, MorphNormals::Written];
        let normals = if differs { &normals[..] } else { &normals[..1] };
        let (made, glbs) = if of_pose_space {
            let settings = pose_space_settings(self.shapes, self.kernels, self.influences);
            let DrivenGlb { glbs, table, report, .. } = step(watch, "export", |p| {
                pose_space_glb(model, motion, settings, normals, (&place, &WriteOptions::default()), p)
            })?;
            if !table.driver.channels.is_empty() {
                let names =
                    table.driver.channels.iter().map(|channel| channel.name.as_str()).collect::<Vec<_>>().join(", ");
                return Err(ExportError::ViewerChannels { names }.into());
            }
            (ViewerMade::PoseSpace(Driven { bytes: glbs[glbs.len() - 1].len(), changes: vec![], report }), glbs)
        } else {
            let settings = driver_settings(self.shapes, self.influences);
            let DrivenGlb { glbs, report, .. } = step(watch, "export", |p| {
                driven_glb(model, motion, settings, normals, (&place, &WriteOptions::default()), p)
            })?;
            (ViewerMade::Joints(Driven { bytes: glbs[glbs.len() - 1].len(), changes: vec![], report }), glbs)
        };
        let scores = match shown.as_ref().and_then(|shown| shown.truth.as_ref()) {
            None => None,
            Some(truth) => Some(step(watch, "measure", |_| measure(model, truth, None))?),
        };
        let role = shown.as_ref().map_or(SetRole::Scored, |shown| {
            FitRecipe::role_of(model, std::slice::from_ref(&shown.input), &shown.notes)
        });
        let (said, figures) = headline(
            model,
            match (&shown, &scores) {
                (_, Some(scores)) => OnPage::Truth(ScoredExamples { role, scores, examples: None }),
                (Some(_), None) => OnPage::Motion,
                (None, None) => OnPage::Joints,
            },
        );
        let mut viewer = self.viewer(model, glb, &made, shown.as_ref());
        viewer.headline = Some(said);
        viewer.figures = figures.into_iter().chain(viewer.figures).collect();
        let mut glbs = glbs.into_iter();
        viewer.glb = glbs.next().unwrap_or_default();
        let html = viewer.to_html();
        let glb = glbs.next().unwrap_or_else(|| std::mem::take(&mut viewer.glb));
        Ok(ViewerPage { made, html, frames: viewer.frames.len(), glb })
    }

    /// The page without its GLB and its headline.
    fn viewer(&self, model: &ModelFile, glb: Option<&str>, made: &ViewerMade, shown: Option<&Shown>) -> Viewer {
        let (rig, unit) = (model.rig(), unit_of(&model.space));
        let (shapes, bytes, of_motion, of_training) = match made {
            ViewerMade::Joints(driven) => {
                let cost = |cost: &crate::verbs::export::drivers::Cost| (cost.shapes, cost.weights_alone);
                (driven.shapes, driven.bytes, driven.motion.as_ref().map(cost), Some(cost(&driven.training)))
            }
            ViewerMade::PoseSpace(made) => {
                let cost = |loss: &crate::verbs::export::drivers::Loss| (loss.shapes, loss.weights_alone);
                (made.shapes, made.bytes, made.motion.as_ref().map(cost), made.training.as_ref().map(cost))
            }
        };
        let costs = [("this motion", of_motion), ("the training poses", of_training)];
        let made = ViewerContents {
            vertices: rig.mesh().positions.len(),
            bones: rig.skeleton().len(),
            shapes,
            glb_bytes: bytes,
            model_bytes: model.baked().bytes(),
            cost: costs.into_iter().find_map(|(over, cost)| {
                let (learnt, (weights, _)) = cost?;
                Some(ViewerCost { over, learnt, weights })
            }),
        };
        let frames = shown.map_or(&[][..], |shown| &shown.motion.frames);
        let truth = shown.and_then(|shown| shown.truth.as_ref());
        let step = every(truth.map_or(0, ExampleSet::len), rig.mesh().positions.len());
        let (figures, mut notes) = (made.figures(glb), made.notes(glb, &unit, truth.map(|_| step)));
        let swings = model.springs().is_some() && frames.len() > 1;
        if swings {
            notes.push("The skin swings while the clip plays: the model has learnt springs. A moment by itself shows it at rest.".into());
        }
        let frames = frames.iter().enumerate().map(|(at, frame)| ViewerFrame {
            label: frame.label.clone(),
            time: frame.time.unwrap_or(at as f64 / 24.0),
            target: truth
                .filter(|_| at % step == 0)
                .and_then(|truth| truth.examples().get(at))
                .map_or_else(Vec::new, |example| shown_positions(&example.positions)),
        });
        let played = shown.map_or(String::new(), |shown| {
            format!(", {} over {} frames", shown.motion.name, shown.motion.frames.len())
        });
        Viewer {
            title: rig.name().to_owned(),
            subtitle: format!("Learnt skin ({}){played}", model.header.method),
            figures,
            notes,
            unit,
            springs: model.springs().filter(|_| swings).map(|springs| springs_of(springs, rig.mesh())),
            frames: frames.collect(),
            ..Viewer::default()
        }
    }
}

/// Springs for the page.
fn springs_of(springs: &Springs, mesh: &Mesh) -> ViewerSprings {
    let row = |v: &VertexSpring| [v.spring.omega(), v.spring.damping(), v.stiffening, v.limit];
    let edges = edges(mesh);
    ViewerSprings {
        vertices: springs.vertices().iter().map(row).collect(),
        neighbours: (0..mesh.positions.len()).map(|v| edges.of(v).to_vec()).collect(),
        coupling: springs.coupling(),
    }
}

/// What a model's file is called.
fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "model".into(), |stem| stem.to_string_lossy().into_owned())
}

/// The motion that a page plays.
struct Shown {
    motion: Motion,
    /// Its true skins.
    truth: Option<ExampleSet>,
    input: Input,
    notes: Vec<FileNote>,
}

impl Shown {
    fn read(input: &Input, model: &ModelFile, read: &ReadOptions, watch: &dyn Watch) -> Result<Self, Error> {
        let sources = [input.file.clone()];
        let load = || load_pose_sets(model.rig(), &model.space, &sources, read, "motion");
        let (sets, notes) = step(watch, "read motion", |_| load())?;
        seen(watch, [input], &notes)?;
        let found = sets.into_iter().next().map(|(_, set)| set);
        let (motion, truth) = match found {
            Some(PoseSet::Examples(examples)) => {
                // The clip is that of every other export, unless some of its frames have no skin.
                let motion = load_motion(model.rig(), &model.space, &input.file, read)?.0;
                let has_all = motion.frames.len() == examples.len();
                (if has_all { motion } else { motion_of(&examples, model) }, Some(examples))
            }
            Some(PoseSet::Motion(motion)) => (motion, None),
            None => return Err(Error::Internal("a file that is no set of poses".into())),
        };
        Ok(Self { motion, truth, input: input.clone(), notes })
    }
}

/// The poses of examples; their times only count if all of them belong to one clip.
fn motion_of(examples: &ExampleSet, model: &ModelFile) -> Motion {
    let (skeleton, is_clip) = (model.rig().skeleton(), examples.is_clip());
    let frames = examples.examples().iter().map(|example| Frame {
        label: example.label.clone(),
        time: example.time.filter(|_| is_clip),
        pose: skeleton.world_pose(&example.transforms),
    });
    Motion { name: examples.name.clone(), frames: frames.collect() }
}
