//! `weights`: new skinning weights for a rig.

use crate::FileError;
use crate::error::Error;
use crate::joint_limits::{LimitsFile, parse};
use crate::load::{FileNote, LoadedRig, ReadOptions, load_examples, note, read_bytes};
use crate::output::{Output, ending, reserve_file};
use crate::recipe::{Existing, Input, Watch, keep, reserve_page, seen, sources, step, within};
use crate::verbs::weights::held_scans::HeldOutScans;
use crate::verbs::weights::scan_poses::{self, Round, Rounds, ScanPoses};
use crate::verbs::weights::scans::{hold_poses, load_poses, load_scans, load_surfaces};
use crate::verbs::weights::{
    Checked, bones_of_templates, check_ending, check_files, check_json, from_scans, from_single_bones, heat, heat_json,
    learnt_templates, load_unskinned, names, plan, scans_json, single_bones_json, templates, templates_json, write_rig,
    write_templates,
};
use dermis_fit::ScanSurface;
use dermis_fit::heat::{HeatReport, HeatSettings};
use dermis_fit::influence::{Found, InfluenceSettings, PlanSettings, Rule};
use dermis_fit::scans::{Scan, ScanReport, ScanSettings, Template};
use dermis_fit::weights::WeightReport;
use dermis_motion::anatomy::Anatomy;
use dermis_rig::{Influences, Mirror, Motion};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A rig that gets weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WeightsRecipe {
    /// Mesh and skeleton at rest, or a mesh alone.
    pub rig: Input,
    /// The skeleton of a mesh alone.
    #[serde(default)]
    pub skeleton: Option<Input>,
    /// Where the weights come from.
    pub source: WeightSource,
    /// Influences per vertex at most.
    #[serde(default = "WeightsRecipe::default_influences")]
    pub influences: usize,
    /// Examples that the weights are measured on.
    #[serde(default)]
    pub check: Vec<Input>,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where the rig with its weights goes: a GLB or a bundle.
    pub out: PathBuf,
    /// What happens to an output that is there already.
    #[serde(default)]
    pub existing: Existing,
}

/// Where weights come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "one is made in a run")]
pub enum WeightSource {
    /// The shapes of mesh and skeleton alone: bone heat.
    Heat(HeatOptions),
    /// Examples in each of which one joint is turned.
    SingleBone(SingleBoneOptions),
    /// Scans in known poses.
    Scans(ScanOptions),
    /// None beyond the rig's own, or bone heat: the poses to make such examples of are written with the rig.
    Plan(PlanOptions),
}

/// Settings of bone heat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct HeatOptions {
    /// Bones that no skin follows, by name; `*` stands for any text.
    pub skip: Vec<String>,
    /// How strongly skin takes the warmth of its bone.
    pub transfer: f64,
}

/// Examples of single joints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SingleBoneOptions {
    /// The examples.
    pub examples: Vec<Input>,
    /// How the bones that may move a vertex are chosen.
    #[serde(default)]
    pub rule: BoneRule,
}

/// How the bones that may move a vertex are chosen ([`Rule`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoneRule {
    /// By the shares of subtrees.
    #[default]
    Shares,
    /// As published (Hopkins & Owen).
    Published,
    /// The nearest bones, as many as a vertex may have influences.
    Nearest,
}

impl BoneRule {
    /// The rule for so many influences.
    fn with(self, influences: usize) -> Rule {
        match self {
            Self::Shares => Rule::Shares,
            Self::Published => Rule::Published,
            Self::Nearest => Rule::Nearest(influences),
        }
    }
}

/// A fit to scans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScanOptions {
    /// The scans: folders or files.
    pub scans: Vec<Input>,
    /// The poses of the scans, where their files do not hold them. Without any, the poses are found.
    #[serde(default, alias = "motion")]
    pub poses: Option<Input>,
    /// Whether `poses` holds the poses only roughly: they are found, beginning there.
    #[serde(default)]
    pub rough: bool,
    /// How far joints turn, where the anatomy of the bones does not say it right: a file of joint limits.
    #[serde(default)]
    pub limits: Option<Input>,
    /// How often poses and weights are found in turn.
    #[serde(default = "ScanOptions::default_pose_rounds")]
    pub pose_rounds: usize,
    /// Whether left and right get the same weights, learnt from every scan and from its mirror image.
    #[serde(default)]
    pub symmetric: bool,
    /// How the bones that a vertex may follow are chosen. Without a rule they are those of its surroundings, in each round anew.
    #[serde(default)]
    pub rule: Option<BoneRule>,
    /// Where the mesh on every scan goes, a bundle of examples.
    #[serde(default)]
    pub examples: Option<PathBuf>,
    /// Scans that the fit does not see: their poses are found with the weights that come out.
    #[serde(default)]
    pub hold_out: Vec<Input>,
    /// Where a page with a picture of every scan goes (.html).
    #[serde(default)]
    pub report: Option<PathBuf>,
    /// Weights the fit begins with.
    #[serde(default)]
    pub start: ScanStart,
    /// How far a scan may be from the posed skin, in length units. By default that of [`ScanSettings`], and [`scan_poses::REACH`] where the
    /// poses are found.
    #[serde(default)]
    pub reach: Option<f64>,
    /// How strongly neighbouring vertices agree.
    #[serde(default = "ScanOptions::default_smoothness")]
    pub smoothness: f64,
    /// Rounds at most.
    #[serde(default = "ScanOptions::default_rounds")]
    pub rounds: usize,
}

/// Weights that a fit to scans begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScanStart {
    /// The rig's own, or bone heat if it has none.
    OwnOrHeat(HeatOptions),
    /// Bone heat.
    Heat(HeatOptions),
    /// The rig's own.
    Rig,
}

/// Poses to make examples of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PlanOptions {
    /// How far each joint turns, degrees.
    pub degrees: f64,
    /// Bone heat, for a rig without weights.
    pub heat: HeatOptions,
}

/// What came of making weights.
#[derive(Debug)]
pub struct WeightsOutcome {
    /// The rig, with its own weights if it has any.
    pub rig: LoadedRig,
    /// The new weights.
    pub weights: Influences,
    /// What was found out while they were made.
    pub found: WeightsFound,
    /// Errors on examples.
    pub checked: Option<Checked>,
    /// The mesh on every scan, if examples are written.
    pub templates: Vec<Template>,
    /// Bytes written.
    pub bytes: usize,
    /// What the file of the rig holds and the output does not.
    pub left_out: Vec<String>,
    /// Where they went.
    pub written: PathBuf,
    /// Where the page went.
    pub report_written: Option<PathBuf>,
}

/// What was found out while weights were made.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made in a run")]
pub enum WeightsFound {
    /// By bone heat.
    Heat(HeatReport),
    /// By a fit to poses of single joints.
    SingleBone {
        /// Poses fitted to.
        poses: usize,
        /// The bones that the poses show to move each vertex.
        found: Found,
        /// The fit.
        report: WeightReport,
    },
    /// By a fit to scans.
    Scans {
        /// Bone heat, if the fit began with it.
        heat: Option<HeatReport>,
        /// How scans and poses were paired, and whether scans teach both sides, a sentence.
        pairing: String,
        /// Whether left and right of the rig mirror each other, so that scans can teach both sides.
        mirrors: bool,
        /// The poses, if they were found.
        poses: Option<ScanPoses>,
        /// The settings.
        settings: ScanSettings,
        /// The fit.
        report: ScanReport,
        /// The scans that were fitted to.
        scans: Vec<Scan>,
        /// Scans without a pose.
        unposed: Vec<ScanSurface>,
        /// The weights that the fit began with.
        start: Influences,
        /// Scans that the fit did not see.
        held_out: Option<HeldOutScans>,
    },
    /// While a plan was made.
    Plan {
        /// Bone heat, if the rig has no weights.
        heat: Option<HeatReport>,
        /// The poses.
        poses: Motion,
    },
}

impl Default for HeatOptions {
    fn default() -> Self {
        Self { skip: vec![], transfer: HeatSettings::default().transfer }
    }
}

impl Default for ScanStart {
    fn default() -> Self {
        Self::OwnOrHeat(HeatOptions::default())
    }
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { degrees: PlanSettings::default().degrees, heat: HeatOptions::default() }
    }
}

impl ScanOptions {
    /// A fit to these scans with the settings of [`ScanSettings`].
    pub fn new(scans: Vec<Input>) -> Self {
        let ScanSettings { smoothness, rounds, .. } = ScanSettings::default();
        Self {
            scans,
            poses: None,
            rough: false,
            limits: None,
            pose_rounds: Self::default_pose_rounds(),
            symmetric: false,
            rule: None,
            examples: None,
            hold_out: vec![],
            report: None,
            start: ScanStart::default(),
            reach: None,
            smoothness,
            rounds,
        }
    }

    /// Five: afterwards joints of the bundled body gain nothing, and its fingers lose.
    fn default_pose_rounds() -> usize {
        5
    }

    fn default_smoothness() -> f64 {
        ScanSettings::default().smoothness
    }

    fn default_rounds() -> usize {
        ScanSettings::default().rounds
    }
}

/// A recipe under way: what it reads, and whom it tells.
struct Run<'a> {
    recipe: &'a WeightsRecipe,
    rig: &'a LoadedRig,
    notes: Vec<FileNote>,
    watch: &'a dyn Watch,
}

impl WeightsRecipe {
    /// Influences per vertex by default: what every engine plays.
    pub const INFLUENCES: usize = 4;

    fn default_influences() -> usize {
        Self::INFLUENCES
    }

    /// Makes the weights, measures them and writes the rig.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<WeightsOutcome, Error> {
        check_ending(&self.out)?;
        let out = reserve_file(&self.out, self.existing)?;
        let examples = self.source.examples_out().map(|path| reserve_bundle(path, self.existing)).transpose()?;
        let report = self.source.report_out().map(|path| reserve_page(path, self.existing)).transpose()?;
        let others = [(self.source.examples_out(), "the bundle of examples"), (self.source.report_out(), "the page")];
        if let Some((_, what)) = others.into_iter().find(|(path, _)| *path == Some(&self.out)) {
            return Err(FileError::SameOutput { path: self.out.clone(), what }.into());
        }
        self.source.check()?;
        let beside = self.skeleton.iter().chain(&self.check).chain(self.source.inputs());
        let inputs: Vec<&Input> = [&self.rig].into_iter().chain(beside).collect();
        keep(&inputs, [&out].into_iter().chain(&examples).chain(&report))?;
        let skeleton = self.skeleton.as_ref().map(|input| input.file.path.as_path());
        let (rig, clips) = step(watch, "read rig", |_| load_unskinned(&self.rig.file.path, skeleton, &self.read))?;
        let mut run = Run { recipe: self, rig: &rig, notes: rig.notes.clone(), watch };
        let (weights, found, motion) = run.make()?;
        let checked = match self.check.is_empty() {
            true => None,
            false => {
                let inputs = sources(&self.check);
                let (checked, notes) = step(watch, "check", |_| check_files(&rig, &weights, &inputs, &self.read))?;
                run.notes.extend(notes);
                Some(checked)
            }
        };
        self.read.must_act_on(&run.notes)?;
        seen(watch, inputs, &run.notes)?;
        let mut templates = Vec::new();
        if let (WeightsFound::Scans { scans, .. }, Some(examples)) = (&found, &examples) {
            let make = |p: dermis_rig::Progress<'_>| learnt_templates(&rig.rig, &weights, scans, p);
            templates = step(watch, "mesh onto scans", make)?;
            write_templates(&rig, &weights, &templates, examples)?;
        }
        let is_bundle = ending(out.path()) == "npz";
        let mut left_out = match clips.len() {
            clips if is_bundle && clips > 0 => vec![format!("{clips} clips: a bundle holds none, a .glb does")],
            _ => vec![],
        };
        let (bytes, lost) = step(watch, "write", |_| write_rig(&rig, &weights, motion.as_ref(), clips, &out))?;
        left_out.extend(lost);
        let written = out.path().to_path_buf();
        let report_written = report.as_ref().map(|report| report.path().to_path_buf());
        let outcome =
            WeightsOutcome { weights, found, checked, templates, bytes, left_out, written, report_written, rig };
        if let Some(report) = &report {
            let html = step(watch, "write page", |_| super::page::page(&outcome))?;
            report.write(html.as_bytes())?;
        }
        Ok(outcome)
    }
}

impl Run<'_> {
    /// The weights, what was found out, and the motion that is written with the rig.
    fn make(&mut self) -> Result<(Influences, WeightsFound, Option<Motion>), Error> {
        let recipe = self.recipe;
        match &recipe.source {
            WeightSource::Heat(options) => {
                let (made, report) = self.heat(options)?;
                Ok((made, WeightsFound::Heat(report), None))
            }
            WeightSource::SingleBone(options) => {
                let (rig, inputs) = (self.rig, sources(&options.examples));
                let load = || load_examples(&rig.rig, &rig.space, &inputs, &recipe.read, "examples");
                let (examples, notes) = step(self.watch, "read examples", |_| load())?;
                self.notes.extend(notes);
                let rule = options.rule.with(recipe.influences);
                let fit =
                    |p: dermis_rig::Progress<'_>| from_single_bones(&rig.rig, &examples, recipe.influences, rule, p);
                let (made, found, report) = step(self.watch, "fit", fit)?;
                Ok((made, WeightsFound::SingleBone { poses: examples.len(), found, report }, None))
            }
            WeightSource::Scans(options) => self.scans(options),
            WeightSource::Plan(options) => {
                let (made, heat) = self.own_or_heat(&options.heat)?;
                let poses = plan(&self.rig.rig, options.degrees);
                Ok((made, WeightsFound::Plan { heat, poses: poses.clone() }, Some(poses)))
            }
        }
    }

    fn heat(&self, options: &HeatOptions) -> Result<(Influences, HeatReport), Error> {
        let settings = HeatSettings { transfer: options.transfer, influences: Some(self.recipe.influences) };
        step(self.watch, "bone heat", |p| heat(&self.rig.rig, &options.skip, &settings, p))
    }

    fn own_or_heat(&self, options: &HeatOptions) -> Result<(Influences, Option<HeatReport>), Error> {
        match self.rig.rig.weights() {
            Some(own) => Ok((own.clone(), None)),
            None => self.heat(options).map(|(made, report)| (made, Some(report))),
        }
    }

    fn scans(&mut self, options: &ScanOptions) -> Result<(Influences, WeightsFound, Option<Motion>), Error> {
        let (rig, read) = (self.rig, &self.recipe.read);
        let (start, heat) = match &options.start {
            ScanStart::OwnOrHeat(heat) => self.own_or_heat(heat)?,
            ScanStart::Heat(heat) => self.heat(heat).map(|(made, report)| (made, Some(report)))?,
            ScanStart::Rig => match rig.rig.weights() {
                Some(own) => (own.clone(), None),
                None => {
                    let what = "the rig has no weights for the fit to begin with";
                    return Err(Error::lacks(&self.recipe.rig.file.path, what, "begin with bone heat"));
                }
            },
        };
        let mut motion = None;
        if let Some(input) = &options.poses {
            let (poses, note) = step(self.watch, "read poses", |_| load_poses(rig, &input.file, read))?;
            self.notes.push(note);
            motion = Some(poses);
        }
        let paths: Vec<PathBuf> = options.scans.iter().map(|input| input.file.path.clone()).collect();
        let mirror = Mirror::find(&rig.rig.mesh().positions, rig.rig.skeleton(), &start);
        if options.symmetric && mirror.is_none() {
            let what = "mesh, bones and first weights of the rig have no common plane of symmetry";
            let remedy = "let left and right have weights of their own";
            return Err(Error::lacks(&self.recipe.rig.file.path, what, remedy));
        }
        let mirrors = mirror.is_some();
        let settings = ScanSettings {
            reach: options.reach.unwrap_or(ScanSettings::default().reach),
            smoothness: options.smoothness,
            influences: self.recipe.influences,
            rounds: options.rounds,
            mirror: mirror.filter(|_| options.symmetric),
            ..ScanSettings::default()
        };
        if options.rough || (motion.is_none() && !hold_poses(rig, &paths, read)?) {
            return self.unposed_scans(options, &paths, motion.as_ref(), (start, heat, mirrors), settings);
        }
        let found = step(self.watch, "read scans", |_| load_scans(rig, &paths, motion.as_ref(), read))?;
        self.notes.extend(found.notes);
        let scans = found.scans;
        let candidates = match options.rule.map(|rule| rule.with(self.recipe.influences)) {
            Some(rule) => {
                let find = |p: dermis_rig::Progress<'_>| {
                    let templates = templates(&rig.rig, &start, &scans, p)?;
                    bones_of_templates(&rig.rig, &templates, rule, InfluenceSettings::default().turned, p)
                };
                Some(step(self.watch, "bones of vertices", find)?)
            }
            None => None,
        };
        let fit = |p: dermis_rig::Progress<'_>| from_scans(&rig.rig, &start, candidates.as_ref(), &scans, &settings, p);
        let (made, report) = step(self.watch, "fit to scans", fit)?;
        let (pairing, unposed) = (found.pairing + sides(&settings), Vec::new());
        let anatomy = self.anatomy(options)?;
        let held_out = self.held_out(options, (&made, ScanOptions::default_pose_rounds()), &start, &anatomy)?;
        let found = WeightsFound::Scans {
            heat,
            pairing,
            mirrors,
            poses: None,
            settings,
            report,
            scans,
            unposed,
            start,
            held_out,
        };
        Ok((made, found, motion))
    }

    /// Weights from scans whose poses are found.
    fn unposed_scans(
        &mut self,
        options: &ScanOptions,
        paths: &[PathBuf],
        rough: Option<&Motion>,
        (start, heat, mirrors): (Influences, Option<HeatReport>, bool),
        settings: ScanSettings,
    ) -> Result<(Influences, WeightsFound, Option<Motion>), Error> {
        let (rig, read) = (self.rig, &self.recipe.read);
        let anatomy = self.anatomy(options)?;
        let (mut surfaces, notes) = step(self.watch, "read scans", |_| load_surfaces(rig, paths, rough, read))?;
        self.notes.extend(notes);
        let rule = options.rule.map(|rule| rule.with(self.recipe.influences));
        let settings = ScanSettings { reach: options.reach.unwrap_or(scan_poses::REACH), ..settings };
        let count = options.pose_rounds;
        let rounds = Rounds { rig: &rig.rig, anatomy: &anatomy, rule, settings, count };
        let mut last: Option<Round> = None;
        for done in 0..count {
            let weights = last.as_ref().map_or(&start, |round| &round.weights);
            let find = |p: dermis_rig::Progress<'_>| rounds.round(done, weights, &mut surfaces, p);
            last = Some(step(self.watch, "poses and weights", find)?);
        }
        let Some(Round { registrations, weights, report }) = last else {
            return Err(Error::Internal("no round of poses and weights".into()));
        };
        let motion = scan_poses::motion(&rig.rig, &registrations);
        let scans = scan_poses::posed(&surfaces, &registrations);
        let scanned = registrations.len();
        let pairing = format!("{} of {scanned} scans have a pose, found in {count} rounds", motion.frames.len());
        let pairing = pairing + sides(&rounds.settings);
        let held_out = self.held_out(options, (&weights, count), &start, &anatomy)?;
        let without = surfaces.into_iter().zip(&registrations).filter(|(_, one)| one.found.is_err());
        let unposed = without.map(|(surface, _)| surface).collect();
        let poses = Some(ScanPoses { registrations, rounds: count });
        let settings = rounds.settings;
        let found =
            WeightsFound::Scans { heat, pairing, mirrors, poses, settings, report, scans, unposed, start, held_out };
        Ok((weights, found, Some(motion)))
    }

    /// How far joints turn.
    fn anatomy(&mut self, options: &ScanOptions) -> Result<Anatomy, Error> {
        let mut limits = None;
        if let Some(input) = &options.limits {
            let (file, note) = read_limits(&input.file.path)?;
            self.notes.push(note);
            limits = Some((file, input.file.path.as_path()));
        }
        scan_poses::anatomy(&self.rig.rig, limits.as_ref().map(|(file, path)| (file, *path)))
    }

    /// The scans that the fit did not see, with their poses by `weights`, which so many rounds made, and by those of the start.
    fn held_out(
        &mut self,
        options: &ScanOptions,
        weights: (&Influences, usize),
        start: &Influences,
        anatomy: &Anatomy,
    ) -> Result<Option<HeldOutScans>, Error> {
        if options.hold_out.is_empty() {
            return Ok(None);
        }
        let paths: Vec<PathBuf> = options.hold_out.iter().map(|input| input.file.path.clone()).collect();
        let load = |_: dermis_rig::Progress<'_>| load_surfaces(self.rig, &paths, None, &self.recipe.read);
        let (surfaces, notes) = step(self.watch, "read held-out scans", load)?;
        if let Some(note) =
            notes.iter().find(|note| self.notes.iter().any(|other| other.role == "scan" && other.hash == note.hash))
        {
            let what = "this held-out scan is one of those that the weights are fitted to";
            return Err(Error::lacks(Path::new(&note.path), what, "hold out scans that the fit does not see"));
        }
        self.notes.extend(notes.into_iter().map(|note| FileNote { role: "held-out scan".into(), ..note }));
        let rig = &self.rig.rig;
        let find = |p: dermis_rig::Progress<'_>| HeldOutScans::new(rig, weights, start, anatomy, surfaces, p);
        step(self.watch, "poses of held-out scans", find).map(Some)
    }
}

/// What the sentence on scans and poses says of left and right.
fn sides(settings: &ScanSettings) -> &'static str {
    if settings.mirror.is_some() { "; each teaches both sides" } else { "" }
}

/// An output for examples.
fn reserve_bundle(path: &Path, existing: Existing) -> Result<Output, Error> {
    match ending(path).as_str() {
        "npz" => Ok(reserve_file(path, existing)?),
        other => Err(Error::lacks(path, format!("examples cannot be written as \".{other}\""), "name the bundle .npz")),
    }
}

/// A file of joint limits.
fn read_limits(path: &Path) -> Result<(LimitsFile, FileNote), Error> {
    let bytes = read_bytes(path)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|e| Error::lacks(path, format!("this is no text: {e}"), "joint limits are JSON in UTF-8"))?;
    Ok((parse(text, path)?, note(path, &bytes, Vec::new())))
}

impl WeightSource {
    /// Refuses settings out of range, before anything is read.
    fn check(&self) -> Result<(), Error> {
        let heat = |options: &HeatOptions| within("transfer", options.transfer, 1e-6, 1e6);
        match self {
            Self::Heat(options) => heat(options),
            Self::SingleBone(_) => Ok(()),
            Self::Scans(options) => {
                options.reach.map_or(Ok(()), |reach| within("reach", reach, 1e-6, 10.0))?;
                within("smoothness", options.smoothness, 0.0, 1e12)?;
                within("rounds", options.rounds as f64, 1.0, 10_000.0)?;
                within("pose rounds", options.pose_rounds as f64, 1.0, 100.0)?;
                match &options.start {
                    ScanStart::OwnOrHeat(options) | ScanStart::Heat(options) => heat(options),
                    ScanStart::Rig => Ok(()),
                }
            }
            Self::Plan(options) => {
                within("degrees", options.degrees, 0.5, 180.0)?;
                heat(&options.heat)
            }
        }
    }

    fn examples_out(&self) -> Option<&PathBuf> {
        match self {
            Self::Scans(options) => options.examples.as_ref(),
            _ => None,
        }
    }

    fn report_out(&self) -> Option<&PathBuf> {
        match self {
            Self::Scans(options) => options.report.as_ref(),
            _ => None,
        }
    }

    fn inputs(&self) -> Vec<&Input> {
        match self {
            Self::Heat(_) | Self::Plan(_) => vec![],
            Self::SingleBone(options) => options.examples.iter().collect(),
            Self::Scans(options) => {
                options.scans.iter().chain(&options.hold_out).chain(&options.poses).chain(&options.limits).collect()
            }
        }
    }
}

impl WeightsFound {
    /// What bone heat found, if it ran.
    pub fn heat(&self) -> Option<&HeatReport> {
        match self {
            Self::Heat(report) => Some(report),
            Self::SingleBone { .. } => None,
            Self::Scans { heat, .. } | Self::Plan { heat, .. } => heat.as_ref(),
        }
    }
}

impl WeightsOutcome {
    /// Names of bones of the rig.
    pub fn names(&self, bones: &[dermis_rig::BoneIndex]) -> Vec<String> {
        names(&self.rig.rig, bones)
    }

    /// `weights --json`.
    pub fn json(&self) -> Value {
        let (rig, made) = (&self.rig.rig, &self.weights);
        let mut value = json!({});
        if let Some(report) = self.found.heat() {
            value["heat"] = heat_json(rig, report);
        }
        match &self.found {
            WeightsFound::Heat(_) => {}
            WeightsFound::SingleBone { found, report, .. } => {
                value["single_bone"] = single_bones_json(rig, found, report);
            }
            WeightsFound::Scans { pairing, settings, poses, report, held_out, .. } => {
                value["scans"] = scans_json(rig, report);
                value["scans"]["symmetric"] = json!(settings.mirror.is_some());
                value["scans"]["poses"] = poses.as_ref().map_or(Value::Null, |poses| poses.json(rig));
                value["scans"]["pairing"] = json!(pairing);
                value["scans"]["held_out"] = held_out.as_ref().map_or(Value::Null, |held| held.json(rig));
                value["scans"]["examples"] = templates_json(&self.templates);
            }
            WeightsFound::Plan { poses, .. } => {
                value["poses"] = poses.frames.iter().map(|frame| frame.label.clone()).collect();
            }
        }
        value["bytes"] = json!(self.bytes);
        value["report_written"] = json!(self.report_written);
        value["left_out"] = json!(self.left_out);
        value["influences"] =
            json!({ "count": made.count(), "most": made.largest_count(), "vertices": made.vertices() });
        value["check"] = self.checked.as_ref().map_or(Value::Null, check_json);
        value
    }
}
