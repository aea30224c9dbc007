//! `transfer`: what a body has, carried to clothes, levels of detail and other meshes.

mod character;
pub mod error;
mod objects;
mod page;
mod poses;
mod prior;
mod read;
mod write;

use crate::error::Error as Any;
use crate::load::{FileNote, ReadOptions};
use crate::output::{Output, ending, reserve_file, reserve_folder};
use crate::recipe::{Existing, Input, Watch, keep, reserve_page, seen, step};
pub use character::CharacterMatch;
use dermis_deform::{Base, Deformer};
pub use dermis_fit::gain::GainFound;
use dermis_fit::gain::gain_on;
use dermis_io::{Clip, Contents, ModelFile};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Mesh, MorphTarget, Rig};
use dermis_transfer::islands::Held;
use dermis_transfer::model::carried_displacements;
use dermis_transfer::{Body, Clearance, Operator, Settings, TransferError, carried_model, carried_weights};
use error::Error;
use objects::OwnObjects;
pub use prior::carried_prior;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Meshes that get what a body has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TransferRecipe {
    /// A skinned rig, or a model.
    pub from: Input,
    /// Meshes that stand where it rests; a folder stands for the meshes in it.
    #[serde(default)]
    pub to: Vec<Input>,
    /// Objects of its own mesh, by name, that are clothes over the others. They take the place of meshes.
    #[serde(default)]
    pub objects: Vec<String>,
    /// Where the result goes: a file for one mesh (.dermis, .glb, .fbx, .usda, .usdz, .npz), a folder for several.
    pub out: PathBuf,
    /// What files in a folder end with; "dermis" for a model, "glb" for a rig by default.
    #[serde(default)]
    pub format: Option<String>,
    /// Carries weights, also to a mesh that has its own. Without any choice all that the body has is carried.
    #[serde(default)]
    pub weights: bool,
    /// Carries corrections.
    #[serde(default)]
    pub corrections: bool,
    /// Carries morph targets.
    #[serde(default)]
    pub shapes: bool,
    /// Influences per vertex, at most; as many as the body has by default.
    #[serde(default)]
    pub influences: Option<usize>,
    /// Islands smaller than this are rigid, metres on a body of 1.7 m.
    #[serde(default = "TransferRecipe::default_stiff")]
    pub stiff_islands: f64,
    /// The distance over which corrections fade off the body, metres on a body of 1.7 m; they do not by default.
    #[serde(default)]
    pub falloff: Option<f64>,
    /// Pairs of bones of another character and of the body, a table as [`RetargetRecipe`](crate::recipe::RetargetRecipe) has it.
    #[serde(default)]
    pub map: Option<Input>,
    /// Marked pairs of vertices: a line has a vertex of the body and the vertex of another character that it is.
    #[serde(default)]
    pub pairs: Option<Input>,
    /// A factor of what corrects another character. By default that of the examples in its own file, or one.
    #[serde(default)]
    pub gain: Option<f64>,
    /// How files are read that do not state axes or unit.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where a page goes that shows the meshes on the body in motion, and what to look at (.html).
    #[serde(default)]
    pub report: Option<PathBuf>,
    /// What happens to outputs that are there already.
    #[serde(default)]
    pub existing: Existing,
}

/// What came of it.
#[derive(Debug)]
pub struct TransferOutcome {
    /// Each mesh, in the order of the recipe.
    pub meshes: Vec<CarriedMesh>,
    /// What the body has and was not carried, in words.
    pub left_out: Vec<String>,
    /// Where the page went.
    pub report_written: Option<PathBuf>,
}

/// A mesh that got what the body has.
#[derive(Debug)]
pub struct CarriedMesh {
    /// Its name.
    pub name: String,
    /// Where it went.
    pub written: PathBuf,
    /// Its vertices.
    pub vertices: usize,
    /// Whether it lies on the body, as levels of detail do.
    pub on_body: bool,
    /// Whether it keeps weights of its own.
    pub own_weights: bool,
    /// Influences of a vertex, at most.
    pub influences: usize,
    /// Corrections it got.
    pub corrections: usize,
    /// Morph targets that move it.
    pub shapes: usize,
    /// Its connected pieces.
    pub islands: Vec<CarriedIsland>,
    /// Vertices without a match.
    pub unmatched: Vec<u32>,
    /// Trust of every vertex, 0 to 1.
    pub trust: Vec<f64>,
    /// The median of the distances from the body, metres.
    pub distance: f64,
    /// Poses in which it was held against the skin of the body.
    pub worn: Vec<WornPose>,
    /// How it was matched, if it is another character.
    pub character: Option<CharacterMatch>,
}

/// A connected piece of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedIsland {
    /// Its vertices.
    pub vertices: usize,
    /// Diagonal of the box around it, metres.
    pub size: f64,
    /// How it was carried.
    pub held: Held,
    /// The part of its area whose match is trusted.
    pub trusted: f64,
    /// The bones that move it most.
    pub bones: Vec<String>,
}

/// How a mesh lies over the skin of the body in a pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WornPose {
    /// The number of the training pose.
    pub pose: usize,
    /// As it was carried.
    pub carried: Clearance,
    /// With weights alone; the same if there are no corrections.
    pub weights_alone: Clearance,
}

/// A body, read.
struct From {
    file: ModelFile,
    deformer: Deformer,
    has_corrections: bool,
    morphs: Vec<MorphTarget>,
    contents: Contents,
    clips: Vec<Arc<Clip>>,
    note: FileNote,
}

/// A mesh, read.
struct To {
    input: Input,
    name: String,
    contents: Contents,
}

/// What a page draws of a mesh.
struct Drawn {
    mesh: Mesh,
    weights: Influences,
    model: Deformer,
    distances: Vec<f64>,
}

/// What is carried.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    weights: bool,
    corrections: bool,
    shapes: bool,
}

impl TransferRecipe {
    fn default_stiff() -> f64 {
        Settings::default().stiff
    }

    /// A recipe with the defaults of all settings.
    pub fn new(from: Input, to: Vec<Input>, out: PathBuf) -> Self {
        Self {
            from,
            to,
            objects: vec![],
            out,
            format: None,
            weights: false,
            corrections: false,
            shapes: false,
            influences: None,
            stiff_islands: Self::default_stiff(),
            falloff: None,
            map: None,
            pairs: None,
            gain: None,
            read: ReadOptions::default(),
            report: None,
            existing: Existing::default(),
        }
    }

    /// Carries what is wanted and writes the results.
    ///
    /// # Errors
    /// [`Any`].
    pub fn run(&self, watch: &dyn Watch) -> Result<TransferOutcome, Any> {
        if self.influences == Some(0) {
            return Err(Any::Setting { setting: "influences", value: 0.0, low: 1.0, high: f64::MAX });
        }
        if !(0.0..=10.0).contains(&self.stiff_islands) {
            let value = self.stiff_islands;
            return Err(Any::Setting { setting: "stiff-islands", value, low: 0.0, high: 10.0 });
        }
        if let Some(value) = self.falloff.filter(|over| !(1e-4..=10.0).contains(over)) {
            return Err(Any::Setting { setting: "falloff", value, low: 1e-4, high: 10.0 });
        }
        if let Some(value) = self.gain.filter(|gain| !(0.0..=4.0).contains(gain)) {
            return Err(Any::Setting { setting: "gain", value, low: 0.0, high: 4.0 });
        }
        let single = FORMATS.contains(&ending(&self.out).as_str());
        let mut from = step(watch, "read body", |_| read::body(&self.from))?;
        let own = OwnObjects::of(self, &mut from)?;
        let inputs = if own.is_some() { vec![] } else { self.meshes()? };
        if single && inputs.len() > 1 {
            return Err(Error::Holds { out: self.out.clone(), what: "several meshes" }.into());
        }
        let endings: Vec<PathBuf> = match single {
            true => vec![self.out.clone()],
            false => {
                check_folder(&self.out)?;
                let usual = if from.has_corrections { "dermis" } else { "glb" };
                let format = self.format.as_deref().unwrap_or(usual);
                if !FORMATS.contains(&format) {
                    return Err(Any::lacks(&self.out, format!("a rig cannot be written as \".{format}\""), ENDINGS));
                }
                names(&inputs)?.iter().map(|name| self.out.join(format!("{name}.{format}"))).collect()
            }
        };
        if single && self.format.is_some() {
            return Err(crate::FileError::Unused { setting: "format", serves: "a folder of results" }.into());
        }
        if !single {
            // Files are reserved in a folder that is there.
            let _ = reserve_folder(&self.out, Existing::Replace)?.folder()?;
        }
        let outputs: Vec<Output> =
            endings.iter().map(|path| reserve_file(path, self.existing)).collect::<Result<_, _>>()?;
        let page = self.report.as_deref().map(|path| reserve_page(path, self.existing)).transpose()?;
        let all: Vec<&Input> = inputs.iter().chain([&self.from]).chain(&self.map).chain(&self.pairs).collect();
        keep(&all, outputs.iter().chain(&page))?;
        let (wanted, mut left_out) = self.wanted(&from, &outputs)?;
        for (setting, is_set) in [("falloff", self.falloff.is_some()), ("gain", self.gain.is_some())] {
            if is_set && !wanted.corrections {
                return Err(crate::FileError::Unused { setting, serves: "corrections" }.into());
            }
        }
        let mut notes = vec![from.note.clone()];
        let read = step(watch, "read meshes", |_| {
            let read = |input: &Input| read::mesh(input, &from.contents.space, &self.read);
            inputs.iter().map(read).collect::<Result<Vec<_>, Any>>()
        })?;
        notes.extend(read.iter().map(|(_, note)| note.clone()));
        let mut meshes: Vec<To> = read.into_iter().map(|(to, _)| to).collect();
        meshes.extend(own.as_ref().map(|own| own.meshes(self)).transpose()?.into_iter().flatten());
        let (marks, of_marks) = character::Marks::read(self)?;
        notes.extend(of_marks);
        self.read.must_act_on(&notes)?;
        seen(watch, all.iter().copied(), &notes)?;
        let body = Body::new(from.file.rig().mesh())
            .ok_or_else(|| Any::lacks(&self.from.file.path, "the body has no triangles", ""))?;
        let poses = poses::of_training(&from.file);
        let below = poses.skins(&from.deformer)?;
        let (mut made, mut shown, mut others, mut parts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let count = meshes.len();
        for (at, mut to) in meshes.into_iter().enumerate() {
            let other = step(watch, "match", |_| character::other(self, &from, &to, &marks))?;
            let (mesh, drawn, written) = match other {
                None => step(watch, "carry", |_| self.carry(&from, (&body, &below), &to, wanted, &poses, None))?,
                Some(_) if page.is_some() && count > 1 => {
                    return Err(Error::PageOfSeveral { mesh: to.input.file.path, count }.into());
                }
                Some(mut other) => {
                    other.from.clips = character::own_clips(&mut to);
                    let found = Some(other.found.clone());
                    let carried = step(watch, "carry", |_| {
                        self.carry(&other.from, (&other.body, &[]), &to, wanted, &poses, found)
                    })?;
                    others.push(other);
                    carried
                }
            };
            // Objects of one mesh go into one file.
            if own.is_some() {
                parts.push(written);
            } else {
                let by = if mesh.character.is_some() { others.last().map(|other| &other.from) } else { None };
                let lost = write::write(self, by.unwrap_or(&from), to, written, &outputs[at])?;
                let named = |what| if count > 1 { format!("{}: {what}", mesh.name) } else { what };
                left_out.extend(lost.into_iter().map(named));
            }
            let written = outputs[if own.is_some() { 0 } else { at }].path().to_path_buf();
            made.push(CarriedMesh { written, ..mesh });
            shown.extend(page.is_some().then_some(drawn));
        }
        if let Some(own) = &own {
            left_out.extend(step(watch, "write", |_| own.write(self, &mut from, parts, &outputs[0]))?);
        }
        let options = [("map", self.map.is_some()), ("pairs", self.pairs.is_some()), ("gain", self.gain.is_some())];
        if let Some((setting, _)) = options.into_iter().find(|(_, is_set)| *is_set && others.is_empty()) {
            return Err(crate::FileError::Unused { setting, serves: "another character" }.into());
        }
        let mut outcome = TransferOutcome { meshes: made, left_out, report_written: None };
        if let Some(page) = &page {
            let html = step(watch, "write page", |_| match others.first() {
                None => page::page(&outcome, &shown, &from, Some(&below), &poses),
                Some(other) => page::page(&outcome, &shown, &other.from, None, &poses::of_training(&other.from.file)),
            })?;
            page.write(html.as_bytes())?;
            outcome.report_written = Some(page.path().to_path_buf());
        }
        Ok(outcome)
    }

    /// The meshes, those of folders one by one.
    fn meshes(&self) -> Result<Vec<Input>, Any> {
        let mut all = Vec::new();
        for input in &self.to {
            let path = &input.file.path;
            if !dermis_files::place::is_dir(path) {
                all.push(input.clone());
                continue;
            }
            let names = dermis_files::place::names(path)
                .map_err(|source| crate::FileError::System { path: path.clone(), source })?;
            let mut files: Vec<PathBuf> = names.map(|name| path.join(name)).collect();
            files.retain(|path| is_mesh_file(&ending(path)));
            files.sort();
            if files.is_empty() {
                return Err(Any::lacks(
                    path,
                    "there is no mesh in this folder",
                    "meshes are .obj, .glb, .gltf, .fbx, .npz",
                ));
            }
            all.extend(files.iter().map(|file| Input::of_path(file)));
        }
        match all.is_empty() {
            true => Err(crate::FileError::NoneNamed { role: "meshes".into() }.into()),
            false => Ok(all),
        }
    }

    /// What is carried, and what the body has and is left out.
    fn wanted(&self, from: &From, outputs: &[Output]) -> Result<(Wanted, Vec<String>), Any> {
        let body = self.from.file.path.clone();
        let lacks = |what| Any::from(Error::Nothing { body: body.clone(), what });
        let any = self.weights || self.corrections || self.shapes;
        let model = outputs.iter().all(|out| ending(out.path()) == "dermis");
        let out = outputs.first().map(|out| out.path().to_path_buf()).unwrap_or_default();
        if from.file.weights().is_none() {
            return Err(lacks("skinning weights"));
        }
        if self.corrections && !from.has_corrections {
            return Err(lacks("corrections: it is a rig, or a model of weights alone"));
        }
        if self.shapes && from.morphs.is_empty() {
            return Err(lacks("morph targets"));
        }
        if self.corrections && !model {
            return Err(Error::Holds { out, what: "corrections" }.into());
        }
        let wanted = Wanted {
            weights: self.weights || !any,
            corrections: from.has_corrections && model && (self.corrections || !any),
            shapes: !from.morphs.is_empty() && (self.shapes || !any),
        };
        let mut left_out = Vec::new();
        if !any && from.has_corrections && !model {
            left_out.push("corrections: a model (.dermis) holds them".to_owned());
        }
        if from.file.springs().is_some() || !from.file.header.chains.is_empty() {
            left_out.push("secondary motion: the springs of a skin are its own".to_owned());
        }
        // A bundle would have the poses of one clip, as examples without a skin.
        if !from.clips.is_empty() && outputs.iter().any(|out| ending(out.path()) == "npz") {
            left_out.push(format!("clips ({}): a GLB, an FBX or a USD file holds them", from.clips.len()));
        }
        Ok((wanted, left_out))
    }

    fn carry(
        &self,
        from: &From,
        (body, below): (&Body, &[Vec<DVec3>]),
        to: &To,
        wanted: Wanted,
        poses: &poses::Poses,
        mut character: Option<CharacterMatch>,
    ) -> Result<(CarriedMesh, Drawn, write::Made), Any> {
        let path = to.input.file.path.clone();
        let named = |source: TransferError| Any::from(Error::Transfer { mesh: path.clone(), source });
        let Some(mesh) = to.contents.mesh.clone() else {
            return Err(Any::lacks(&path, "there is no mesh in this file", "use .obj, .glb, .fbx or .npz"));
        };
        let settings = Settings { stiff: self.stiff_islands, falloff: self.falloff, ..Settings::default() };
        let operator = Operator::new(body, &mesh, &settings).map_err(named)?;
        let of_body = from.file.weights().cloned().unwrap_or_default();
        let own = if self.weights { None } else { read::own_weights(&to.contents, from.file.rig(), &path)? };
        let most = self.influences.unwrap_or_else(|| of_body.largest_count().max(1));
        let weights = match &own {
            Some(own) => own.clone(),
            None => carried_weights(&operator, &of_body, most).map_err(named)?,
        };
        // A static mesh may want shapes alone.
        let skinned = wanted.weights || own.is_some() || wanted.corrections;
        let replaced = own.as_ref().map(|_| &of_body);
        let carried = match wanted.corrections {
            true => carried_model(&from.deformer, &operator, (&mesh, &weights), replaced, body.unit()),
            false => {
                Deformer::new(mesh.positions.clone(), Base::Lbs(weights.clone()), None).map_err(TransferError::from)
            }
        };
        let mut carried = carried.map_err(named)?;
        if let Some(found) = character.as_mut().filter(|_| wanted.corrections) {
            let rig = Rig::new(mesh.clone(), from.file.rig().skeleton().clone(), Some(weights.clone()));
            let rig = rig.map_err(|e| Any::lacks(&path, e.to_string(), ""))?;
            let told = gain_on(&carried, &rig, &character::examples(self, to, &rig)?, self.gain);
            let told = told.map_err(|e| Any::Internal(e.to_string()))?;
            found.gain = told.map_or(self.gain.unwrap_or(1.0), |(gain, _)| gain);
            found.examples = told.map(|(_, told)| told);
            carried =
                carried.with_gain(found.gain).ok_or_else(|| named(TransferError::Part { part: "this correction" }))?;
        }
        let shapes = match wanted.shapes {
            true => carried_shapes(&operator, &from.morphs).map_err(named)?,
            false => vec![],
        };
        let mut distances = operator.distances().to_vec();
        distances.sort_by(f64::total_cmp);
        let names = from.file.rig().skeleton().names();
        let worn = match character {
            None => poses.worn(&from.file, below, body, &mesh, &carried, &weights)?,
            Some(_) => vec![],
        };
        let made = CarriedMesh {
            name: to.name.clone(),
            written: PathBuf::new(),
            vertices: mesh.positions.len(),
            on_body: operator.is_on_body(),
            own_weights: own.is_some(),
            influences: if skinned { weights.largest_count() } else { 0 },
            corrections: carried.corrections().len(),
            shapes: shapes.iter().filter(|shape| shape.deltas.iter().any(|d| *d != DVec3::ZERO)).count(),
            islands: operator.islands().iter().map(|island| described(island, &weights, names)).collect(),
            unmatched: operator.unmatched().to_vec(),
            trust: operator.trust().to_vec(),
            distance: distances[distances.len() / 2],
            worn,
            character,
        };
        let drawn = Drawn {
            mesh: mesh.clone(),
            weights: weights.clone(),
            model: carried.clone(),
            distances: operator.distances().to_vec(),
        };
        let written = write::Made { mesh, weights, skinned, carried, shapes, told: made.told() };
        Ok((made, drawn, written))
    }
}

/// Whether a file of a folder is taken as a mesh, by its ending.
fn is_mesh_file(ending: &str) -> bool {
    matches!(ending, "obj" | "glb" | "gltf" | "fbx" | "usd" | "usda" | "usdc" | "usdz" | "npz")
}

/// What results are.
const FORMATS: [&str; 6] = ["dermis", "glb", "fbx", "usda", "usdz", "npz"];
/// What they may end with.
const ENDINGS: &str = "use .dermis, .glb, .fbx, .usda, .usdz or .npz; several meshes go into a folder";

fn check_folder(path: &Path) -> Result<(), Any> {
    match ending(path).as_str() {
        "" => Ok(()),
        other => Err(Any::lacks(path, format!("a rig cannot be written as \".{other}\""), ENDINGS)),
    }
}

/// The names of meshes: those of their files.
fn names(inputs: &[Input]) -> Result<Vec<String>, Any> {
    let mut names: Vec<String> = Vec::new();
    for input in inputs {
        let name = name_of(&input.file.path);
        if names.contains(&name) {
            return Err(Error::SameName { name }.into());
        }
        names.push(name);
    }
    Ok(names)
}

fn name_of(path: &Path) -> String {
    path.file_stem().map_or_else(|| "mesh".into(), |stem| stem.to_string_lossy().into_owned())
}

fn carried_shapes(operator: &Operator, morphs: &[MorphTarget]) -> Result<Vec<MorphTarget>, TransferError> {
    let carried = |target: &MorphTarget| {
        let deltas = carried_displacements(operator, |v| target.deltas.get(v).copied().unwrap_or_default())?;
        Ok(MorphTarget { name: target.name.clone(), deltas })
    };
    morphs.iter().map(carried).collect()
}

/// An island with the three bones that move it most.
fn described(
    island: &dermis_transfer::Island,
    weights: &Influences,
    names: &dermis_rig::BoneVec<String>,
) -> CarriedIsland {
    let mut sums = std::collections::BTreeMap::<BoneIndex, f64>::new();
    for &v in &island.vertices {
        weights.of(v as usize).iter().for_each(|&(bone, w)| *sums.entry(bone).or_default() += w);
    }
    let mut sums: Vec<(BoneIndex, f64)> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    CarriedIsland {
        vertices: island.vertices.len(),
        size: island.size,
        held: island.held,
        trusted: island.trusted,
        bones: sums.iter().take(3).map(|(bone, _)| names[*bone].clone()).collect(),
    }
}

impl CarriedIsland {
    /// How it was carried, in words.
    pub fn words(&self) -> &'static str {
        match self.held {
            Held::Smooth => "vertex by vertex",
            Held::Nearest => "held where it is nearest",
            Held::Rigid => "rigid",
            Held::Unmatched => "without a match",
        }
    }
}

impl CarriedMesh {
    /// Poses one after another: the part deeper than 2 mm in the skin, its worst pose, and the change of clearance, metres.
    pub fn summary(&self, of: impl Fn(&WornPose) -> Clearance) -> Option<(f64, f64, f64)> {
        let all: Vec<Clearance> = self.worn.iter().map(of).collect();
        let together = all.iter().fold(Clearance::default(), |sum, one| sum.with(*one));
        let worst = all.iter().map(Clearance::share).fold(0.0, f64::max);
        (!all.is_empty()).then(|| (together.share(), worst, together.change()))
    }

    /// What is told of it.
    fn told(&self) -> Value {
        let worn = |of: fn(&WornPose) -> Clearance| {
            self.summary(of)
                .map(|(inside, worst, change)| json!({"inside": inside, "inside_worst": worst, "change": change}))
        };
        json!({
            "name": self.name,
            "vertices": self.vertices,
            "on_body": self.on_body,
            "own_weights": self.own_weights,
            "influences": self.influences,
            "corrections": self.corrections,
            "shapes": self.shapes,
            "distance": self.distance,
            "unmatched": self.unmatched,
            "islands": self.islands.iter().map(|island| json!({
                "vertices": island.vertices,
                "size": island.size,
                "held": island.held.name(),
                "trusted": island.trusted,
                "bones": island.bones,
            })).collect::<Vec<_>>(),
            "poses": self.worn.len(),
            "worn": worn(|pose| pose.carried),
            "worn_by_weights_alone": worn(|pose| pose.weights_alone),
            "character": self.character.as_ref().map(CharacterMatch::told),
        })
    }
}

impl TransferOutcome {
    /// `transfer --json`.
    pub fn json(&self) -> Value {
        let of = |mesh: &CarriedMesh| {
            let mut told = mesh.told();
            told["written"] = json!(mesh.written);
            // Three digits are what a colour shows.
            told["trust"] = mesh.trust.iter().map(|trust| (1e3 * trust).round() / 1e3).collect();
            told
        };
        json!({
            "meshes": self.meshes.iter().map(of).collect::<Vec<_>>(),
            "left_out": self.left_out,
            "report_written": self.report_written,
        })
    }
}
