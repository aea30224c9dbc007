//! `rig`: a skeleton and weights for a bare mesh.

mod page;
pub(crate) mod walk;

use crate::FileError;
use crate::error::Error;
use crate::load::{FileNote, LoadedRig, load_rig, note, read_bytes, read_contents};
use crate::output::{ending, reserve_file};
use crate::recipe::{
    ExerciseOutcome, ExerciseRecipe, Existing, Input, RigMotion, Watch, keep, reserve_page, seen, step,
};
use crate::verbs::weights::{check_ending, write_rig};
use dermis_autorig::{AutoRig, AutoRigSettings, Convention, Template, Verdict, autorig};
use dermis_files::place;
use dermis_io::{Contents, Space, UpAxis};
use dermis_rig::glam::DVec3;
use dermis_rig::{Rig, Skeleton};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// A mesh that gets a skeleton and weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RigRecipe {
    /// The mesh; a skeleton that it has is left out.
    pub mesh: Input,
    /// The template: biped, quadruped, hand, or a file with a skinned rig.
    pub template: Input,
    /// How the bones of the biped are named.
    #[serde(default)]
    pub names: BoneNames,
    /// The direction that is up in the file: x, y, z, -x, -y, -z. Its own up by default.
    #[serde(default)]
    pub up: Option<Axis>,
    /// The direction that the character faces in the file; both ways are tried by default.
    #[serde(default)]
    pub front: Option<Axis>,
    /// Joints whose place is known: a JSON file as `write_joints` writes it, or a part of one.
    #[serde(default)]
    pub joints: Option<Input>,
    /// Influences per vertex at most.
    #[serde(default = "RigRecipe::default_influences")]
    pub influences: usize,
    /// Where the rig goes: a GLB or a bundle.
    pub out: PathBuf,
    /// Where the joints go, with how sure each is, to be changed and named as `joints`.
    #[serde(default)]
    pub write_joints: Option<PathBuf>,
    /// Where a page with the rig in motion and its joints in the mesh goes (.html).
    #[serde(default)]
    pub report: Option<PathBuf>,
    /// Where an exercise of the new rig goes: the poses to sculpt or to simulate.
    #[serde(default)]
    pub exercise: Option<PathBuf>,
    /// What happens to outputs that are there already.
    #[serde(default)]
    pub existing: Existing,
}

/// A convention of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoneNames {
    /// Unreal's, which are the template's own.
    #[default]
    Unreal,
    /// Mixamo's.
    Mixamo,
    /// Rigify's.
    Rigify,
    /// VRM's.
    Vrm,
}

/// A direction along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// +X.
    X,
    /// +Y.
    Y,
    /// +Z.
    Z,
    /// −X.
    #[serde(rename = "-x")]
    MinusX,
    /// −Y.
    #[serde(rename = "-y")]
    MinusY,
    /// −Z.
    #[serde(rename = "-z")]
    MinusZ,
}

/// What came of rigging a mesh.
#[derive(Debug)]
pub struct RigOutcome {
    /// The skeleton, the weights and how sure every joint is.
    pub made: AutoRig,
    /// The names of the bones as they are written.
    pub names: Vec<String>,
    /// Vertices of the mesh.
    pub vertices: usize,
    /// Triangles of the mesh.
    pub triangles: usize,
    /// The file's axes and unit.
    pub space: Space,
    /// Where the rig went.
    pub written: PathBuf,
    /// What of the mesh's extensions the file has no longer, in words.
    pub left_out: Vec<String>,
    /// Where the joints went.
    pub joints_written: Option<PathBuf>,
    /// Where the page went.
    pub report_written: Option<PathBuf>,
    /// The rig in motion, of a rigging with a page.
    pub motion: Option<RigMotion>,
    /// The exercise of the rig.
    pub exercise: Option<ExerciseOutcome>,
}

impl From<BoneNames> for Convention {
    fn from(names: BoneNames) -> Self {
        match names {
            BoneNames::Unreal => Self::Unreal,
            BoneNames::Mixamo => Self::Mixamo,
            BoneNames::Rigify => Self::Rigify,
            BoneNames::Vrm => Self::Vrm,
        }
    }
}

impl Axis {
    /// The unit vector.
    pub fn direction(self) -> DVec3 {
        match self {
            Self::X => DVec3::X,
            Self::Y => DVec3::Y,
            Self::Z => DVec3::Z,
            Self::MinusX => DVec3::NEG_X,
            Self::MinusY => DVec3::NEG_Y,
            Self::MinusZ => DVec3::NEG_Z,
        }
    }
}

impl RigRecipe {
    fn default_influences() -> usize {
        AutoRigSettings::default().influences
    }

    /// A recipe with the defaults of all settings.
    pub fn new(mesh: Input, template: Input, out: PathBuf) -> Self {
        Self {
            mesh,
            template,
            names: BoneNames::default(),
            up: None,
            front: None,
            joints: None,
            influences: Self::default_influences(),
            out,
            write_joints: None,
            report: None,
            exercise: None,
            existing: Existing::default(),
        }
    }

    /// Rigs the mesh and writes the rig.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<RigOutcome, Error> {
        check_ending(&self.out)?;
        if self.influences == 0 {
            return Err(Error::Setting { setting: "influences", value: 0.0, low: 1.0, high: f64::MAX });
        }
        let out = reserve_file(&self.out, self.existing)?;
        let reserved =
            |path: &Option<PathBuf>| path.as_deref().map(|path| reserve_file(path, self.existing)).transpose();
        let joints_out = reserved(&self.write_joints)?;
        let report_out = self.report.as_deref().map(|path| reserve_page(path, self.existing)).transpose()?;
        let built_in = Template::named(&self.template.file.path.to_string_lossy());
        let template_file = built_in.is_none().then_some(&self.template);
        let inputs: Vec<&Input> = [&self.mesh].into_iter().chain(&self.joints).chain(template_file).collect();
        keep(&inputs, [&out].into_iter().chain(&joints_out).chain(&report_out))?;
        let written: Vec<&PathBuf> =
            [&self.out].into_iter().chain(&self.write_joints).chain(&self.report).chain(&self.exercise).collect();
        if let Some(path) = written.iter().enumerate().find(|(at, path)| written[..*at].contains(path)).map(|(_, p)| *p)
        {
            return Err(FileError::SameOutput { path: path.clone(), what: "every output" }.into());
        }
        let (contents, mesh_note) = step(watch, "read mesh", |_| self.read())?;
        let mut notes = vec![mesh_note];
        let path = &self.mesh.file.path;
        let lacks = || Error::lacks(path, "there is no mesh in this file", "use .obj, .glb, .fbx or .npz");
        let mesh = contents.mesh.clone().ok_or_else(lacks)?;
        let template = match (built_in, template_file) {
            (Some(template), _) => template,
            (None, Some(input)) => {
                let (template, note) = step(watch, "read template", |_| own_template(&input.file.path))?;
                notes.extend(note);
                template
            }
            (None, None) => return Err(Error::Internal("a template without a name".into())),
        };
        let to_ours = contents.space.to_ours();
        let pins = match &self.joints {
            Some(input) => {
                let (pins, note) = read_pins(&input.file.path, &template, self.names.into())?;
                notes.push(note);
                pins.into_iter().map(|(name, p)| (name, to_ours.transform_point3(p))).collect()
            }
            None => Vec::new(),
        };
        seen(watch, inputs.iter().copied(), &notes)?;
        let direction = |axis: Axis| to_ours.transform_vector3(axis.direction());
        let own_up = DVec3::Y;
        let settings = AutoRigSettings {
            up: self.up.filter(|_| !self.up_is_read(&contents)).map_or(own_up, direction),
            front: self.front.map(direction),
            pins,
            influences: self.influences,
            ..AutoRigSettings::default()
        };
        let made = step(watch, "rig", |p| autorig(&mesh, &template, &settings, p).map_err(Error::from))?;
        let convention = Convention::from(self.names);
        let names: Vec<String> = made.skeleton.names().iter().map(|name| convention.name(name)).collect();
        let skeleton = Skeleton::new(names.clone(), made.skeleton.parents().to_vec(), made.skeleton.bind().to_vec())?;
        let (vertices, triangles) = (mesh.positions.len(), mesh.triangles.len());
        let rig = Rig::new(mesh, skeleton, None).map_err(|e| Error::lacks(path, e.to_string(), ""))?;
        let name = path.file_stem().map_or_else(|| "rig".into(), |n| n.to_string_lossy().into_owned());
        let loaded = LoadedRig { rig: rig.named(name), space: contents.space.clone(), notes: notes.clone() };
        let (_, left_out) = step(watch, "write", |_| write_rig(&loaded, &made.weights, None, vec![], &out))?;
        let mut outcome = RigOutcome {
            names,
            vertices,
            triangles,
            space: contents.space,
            written: out.path().to_path_buf(),
            left_out,
            joints_written: None,
            report_written: None,
            motion: None,
            exercise: None,
            made,
        };
        if let Some(out) = &joints_out {
            let text =
                serde_json::to_string_pretty(&outcome.joints_json()).map_err(|e| Error::Internal(e.to_string()))?;
            out.write(text.as_bytes())?;
            outcome.joints_written = Some(out.path().to_path_buf());
        }
        if let Some(out) = &report_out {
            let (weights, up) = (&outcome.made.weights, outcome.made.report.up);
            let moved = step(watch, "move", |p| walk::motion(&loaded.rig, weights, up, p))?;
            let html = step(watch, "write page", |_| page::page(&outcome, &loaded.rig, &moved))?;
            outcome.motion = Some(moved);
            out.write(html.as_bytes())?;
            outcome.report_written = Some(out.path().to_path_buf());
        }
        if let Some(path) = &self.exercise {
            outcome.exercise = Some(self.exercise(path, watch)?);
        }
        Ok(outcome)
    }

    /// The file of the mesh: with Z up where it states no axes and `up` says Z.
    fn read(&self) -> Result<(Contents, FileNote), Error> {
        let path = &self.mesh.file.path;
        let up = if self.up == Some(Axis::Z) { UpAxis::Z } else { UpAxis::Y };
        let (mut contents, mut note) = read_contents(path, &Space { up, ..Space::default() })?;
        self.mesh.file.select(&mut contents)?;
        note.role = "mesh".into();
        Ok((contents, note))
    }

    /// Whether `up` is what the file was read with.
    fn up_is_read(&self, contents: &Contents) -> bool {
        let stated = match contents.space.up {
            UpAxis::Y => Axis::Y,
            UpAxis::Z => Axis::Z,
        };
        self.up == Some(stated)
    }

    /// An exercise of the rig that was written.
    fn exercise(&self, path: &Path, watch: &dyn Watch) -> Result<ExerciseOutcome, Error> {
        let text = json!({"rig": {"file": self.out}, "out": path, "existing": self.existing});
        let recipe: ExerciseRecipe = serde_json::from_slice(text.to_string().as_bytes())
            .map_err(|e| Error::Internal(format!("an exercise: {e}")))?;
        recipe.run(watch)
    }
}

/// A template from a skinned rig.
fn own_template(path: &Path) -> Result<(Template, Vec<FileNote>), Error> {
    let missing = !place::exists(path) && ending(path).is_empty();
    if missing {
        let what = "there is no such template, and no such file";
        return Err(Error::lacks(
            path,
            what,
            "templates are biped, quadruped and hand; or name a file with a skinned rig",
        ));
    }
    let loaded = load_rig(path)?;
    let name = path.file_stem().map_or_else(|| "template".into(), |n| n.to_string_lossy().into_owned());
    let template = Template::of_rig(&loaded.rig, &name)
        .map_err(|e| Error::lacks(path, format!("this rig makes no template: {e}"), ""))?;
    Ok((template, loaded.notes))
}

/// The pins in a file, by the names of the template; names of the convention are understood as well.
fn read_pins(path: &Path, template: &Template, names: Convention) -> Result<(Vec<(String, DVec3)>, FileNote), Error> {
    let bytes = read_bytes(path)?;
    let hint = "pins are {\"joints\": {\"hand_l\": [x, y, z]}}, in the axes and unit of the mesh's file";
    let lacks = |what: String| Error::lacks(path, what, hint);
    let value: Value = serde_json::from_slice(&bytes).map_err(|e| lacks(format!("this is no JSON: {e}")))?;
    let joints = value["joints"].as_object().ok_or_else(|| lacks("there is no object \"joints\"".into()))?;
    let mut pins = Vec::new();
    for (name, place) in joints {
        let known = template.joints.iter().find(|j| j.name == *name || names.name(&j.name) == *name);
        let Some(known) = known else {
            return Err(lacks(format!("the template {} has no joint {name:?}", template.name)));
        };
        let place = place.get("place").unwrap_or(place);
        let numbers: Option<Vec<f64>> =
            place.as_array().and_then(|a| a.iter().map(Value::as_f64).collect()).filter(|n: &Vec<f64>| n.len() == 3);
        let numbers = numbers.ok_or_else(|| lacks(format!("the place of joint {name:?} is not three numbers")))?;
        pins.push((known.name.clone(), DVec3::new(numbers[0], numbers[1], numbers[2])));
    }
    Ok((pins, note(path, &bytes, Vec::new())))
}

impl RigOutcome {
    /// Joints that are unsure: what to look at first.
    pub fn unsure(&self) -> Vec<&str> {
        let of = self.names.iter().zip(&self.made.joints).filter(|(_, joint)| joint.verdict == Verdict::Unsure);
        of.map(|(name, _)| name.as_str()).collect()
    }

    /// How many joints are sure, or pinned by the user; `None` if the template is not calibrated.
    pub fn sure(&self) -> Option<usize> {
        let joints = &self.made.joints;
        let is_calibrated = joints.iter().any(|joint| joint.evidence.is_some());
        is_calibrated.then(|| joints.iter().filter(|joint| joint.is_sure()).count())
    }

    /// The joints as a file of pins: places in the axes and unit of the mesh's file.
    fn joints_json(&self) -> Value {
        let from_ours = self.space.to_ours().inverse();
        let joints: Map<String, Value> = self
            .names
            .iter()
            .zip(&self.made.joints)
            .map(|(name, joint)| {
                let place = from_ours.transform_point3(joint.place).to_array();
                let pinned = joint.verdict == Verdict::Pinned;
                let told = json!({"place": place, "verdict": joint.verdict.word(), "confidence": joint.confidence, "pinned": pinned});
                (name.clone(), told)
            })
            .collect();
        json!({"joints": joints})
    }

    /// `rig --json`.
    pub fn json(&self) -> Value {
        let report = &self.made.report;
        let mended = &report.mended;
        json!({
            "written": self.written,
            "left_out": self.left_out,
            "joints_written": self.joints_written,
            "report_written": self.report_written,
            "exercise_written": self.exercise.as_ref().map(|e| &e.written),
            "vertices": self.vertices,
            "triangles": self.triangles,
            "bones": self.names.len(),
            "joints": self.joints_json()["joints"],
            "sure": self.sure(),
            "unsure": self.unsure(),
            "missing": report.missing,
            "stance": report.stance,
            "facing": report.facing,
            "front": report.front.to_array(),
            "symmetry": report.symmetry,
            "penalties": report.penalties,
            "balls": report.balls,
            "bridges": report.bridges,
            "outside": report.outside.as_ref().map(|(bone, share)| json!({"bone": bone, "share": share})),
            "welded": mended.welded,
            "dropped_triangles": mended.dropped,
            "turned_triangles": mended.turned,
            "open_edges": mended.open_edges,
            "shells": mended.shells,
            "shells_following": report.weighed.following,
            "heat": report.weighed.heat.is_some(),
            "motion": self.motion.as_ref().map(RigMotion::json),
        })
    }
}
