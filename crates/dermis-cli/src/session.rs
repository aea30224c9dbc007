//! `dermis session`

use crate::method_options::refusal;
use crate::options::{ReadArgs, existing};
use crate::ui::{Stop, Ui};
use dermis_workflow::fits::method::Method;
use dermis_workflow::load::{ReadOptions, Source};
use dermis_workflow::recipe::{Input, SessionAct, SessionOutcome, SessionRecipe, SessionStatus};
use dermis_workflow::report::unit_of;
use dermis_workflow::verbs::invert::SculptSource;
use dermis_workflow::verbs::session::file::{Did, Offer, Role, ShownBy, Step};
use dermis_workflow::verbs::session::{AddSculpt, NewSession, NextPoses, Rebase, default_method, lines};
use std::path::PathBuf;
use std::process::ExitCode;

/// Learn a sculpt at a time, in a folder that remembers every step
#[derive(clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct SessionArgs {
    #[command(subcommand)]
    act: ActArgs,
}

/// What is done.
#[derive(clap::Subcommand)]
enum ActArgs {
    /// Begin a session: copy a rig and its motions into a new folder
    New(Box<NewArgs>),
    /// Write poses to sculpt, with the skin that the present model shows
    Next(NextArgs),
    /// Add a sculpt, fit, and say what that did
    Add(Box<AddArgs>),
    /// Fit the sculpts again, with other settings
    Fit(FitArgs),
    /// List the steps and what the last one did
    Status(StatusArgs),
    /// Go back to the model before the last step, or switch a step off
    Undo(StepArgs),
    /// Take a step back that was undone, or switch a step on
    Redo(StepArgs),
    /// Write the present model
    Export(ExportArgs),
    /// Begin a session with the steps of another one, on a changed rig: other weights, another rest mesh of the same vertices
    Rebase(RebaseArgs),
}

#[derive(clap::Args)]
struct NewArgs {
    /// Rest mesh and skeleton with weights (.glb, .fbx, .npz); the session keeps a copy
    rig: PathBuf,
    /// The folder of the session
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
    /// The motions that the model shall become good at: clips or bundles. FILE#CLIP names a clip
    #[arg(long, num_args = 1.., value_name = "FILE")]
    motion: Vec<Source>,
    /// Poses with their true skin, if it is known: the model is checked on them and never learns from them
    #[arg(long, num_args = 1.., value_name = "FILE")]
    truth: Vec<Source>,
    #[command(flatten)]
    settings: SettingArgs,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// The settings of the joint model.
#[derive(clap::Args)]
struct SettingArgs {
    /// What the model corrects: lbs, dqs, rigid, ddm[:N], smooth[:N[,FACTOR]] or auto
    #[arg(long)]
    base: Option<String>,
    /// A setting of the joint model; several times for several. dermis help fit joint lists them
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

#[derive(clap::Args)]
struct NextArgs {
    /// The folder of the session
    session: PathBuf,
    /// How many poses
    #[arg(short = 'n', long, value_name = "N", default_value_t = NextPoses::COUNT, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Ask for checks: poses that tell whether the model is right where it was taught
    #[arg(long)]
    check: bool,
    /// A folder for OBJ files, a bundle (.npz), or a mesh with a morph target per pose (.glb)
    #[arg(short, long, value_name = "PLACE")]
    out: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace an existing output
    #[arg(long)]
    force: bool,
}

#[derive(clap::Args)]
struct AddArgs {
    /// The folder of the session
    session: PathBuf,
    /// The sculpt, and its pose after @: a frame of a motion (elbow.obj@walk:12) or an offer. A file that is called as an offer needs
    /// no @, and neither does one that holds its pose
    #[arg(value_name = "FILE[@POSE]")]
    sculpt: String,
    /// The vertices that were sculpted: a file with a number from 0 to 1 for each. Without it those that differ from what was shown
    #[arg(long, value_name = "FILE", conflicts_with = "whole")]
    mask: Option<PathBuf>,
    /// All of the skin is as it should be, also where nobody touched it
    #[arg(long)]
    whole: bool,
    /// Never learn from it: score the model on it after every step
    #[arg(long, conflicts_with_all = ["anchor", "teach"])]
    check: bool,
    /// Learn from it, also if its pose was offered as a check
    #[arg(long, conflicts_with = "anchor")]
    teach: bool,
    /// The skin that was shown in this pose is right: name the pose alone, @walk:12
    #[arg(long)]
    anchor: bool,
    /// The factor of the change: 0.5 takes half of it
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, allow_negative_numbers = true)]
    strength: f64,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(clap::Args)]
struct FitArgs {
    /// The folder of the session
    session: PathBuf,
    #[command(flatten)]
    settings: SettingArgs,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct StatusArgs {
    /// The folder of the session
    session: PathBuf,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct StepArgs {
    /// The folder of the session
    session: PathBuf,
    /// The step to switch, by its number; without it the last change
    step: Option<u32>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct ExportArgs {
    /// The folder of the session
    session: PathBuf,
    /// Where the model goes (.dermis)
    model: PathBuf,
    /// Replace an existing model
    #[arg(long)]
    force: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct RebaseArgs {
    /// The folder of the session; nothing in it changes
    session: PathBuf,
    /// The changed rig, with the same vertices, faces and names of bones
    rig: PathBuf,
    /// The folder of the new session
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

impl SettingArgs {
    /// A method with these settings; none if nothing was said.
    fn over(&self, method: &Method) -> Result<Option<Method>, Stop> {
        let mut said: Vec<(String, String)> = Vec::new();
        for pair in &self.set {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| Stop::Usage(format!("--set {pair}: write --set NAME=VALUE")))?;
            said.push((name.into(), value.into()));
        }
        said.extend(self.base.iter().map(|base| ("base".to_owned(), base.clone())));
        let chosen = (!said.is_empty()).then(|| method.with(&said)).transpose();
        chosen.map_err(|error| Stop::Usage(refusal(&error)))
    }
}

impl AddArgs {
    fn add(&self) -> Result<AddSculpt, Stop> {
        let (file, at) = match self.sculpt.strip_prefix('@') {
            Some(at) => (None, Some(at.to_owned())),
            None if self.anchor => (None, Some(self.sculpt.clone())),
            None => {
                let SculptSource { file, at } = SculptSource::parse(&self.sculpt);
                (Some(file), at)
            }
        };
        let role = match (self.check, self.teach, self.anchor) {
            (true, ..) => Some(Role::Check),
            (_, true, _) => Some(Role::Sculpt),
            (.., true) => Some(Role::Anchor),
            _ => None,
        };
        let read: ReadOptions = self.read.options()?;
        let (mask, whole, strength) = (self.mask.clone(), self.whole, self.strength);
        Ok(AddSculpt { role, mask, whole, strength, read, ..AddSculpt::new(file, at) })
    }
}

impl ActArgs {
    /// The recipe, and whether JSON is wanted.
    fn recipe(&self) -> Result<(SessionRecipe, bool), Stop> {
        let inputs = |sources: &[Source]| sources.iter().cloned().map(Input::from).collect();
        let (folder, act, json) = match self {
            Self::New(args) => {
                let method = args.settings.over(&default_method())?.unwrap_or_else(default_method);
                let new = NewSession {
                    rig: args.rig.clone().into(),
                    motions: inputs(&args.motion),
                    truths: inputs(&args.truth),
                    method,
                    read: args.read.options()?,
                };
                (&args.out, SessionAct::New(Box::new(new)), args.json)
            }
            Self::Next(args) => {
                let (count, check, out) = (args.count, args.check, args.out.clone());
                let wish = NextPoses { count, check, out, existing: existing(args.force) };
                (&args.session, SessionAct::Next(wish), args.json)
            }
            Self::Add(args) => (&args.session, SessionAct::Add(Box::new(args.add()?)), args.json),
            Self::Fit(args) => {
                // Settings are said over those that the session has.
                let said = !args.settings.set.is_empty() || args.settings.base.is_some();
                let present = said.then(|| SessionStatus::read(&args.session)).transpose()?;
                let method = present.map(|status| args.settings.over(&status.state().method)).transpose()?.flatten();
                (&args.session, SessionAct::Fit { method: method.map(Box::new) }, args.json)
            }
            Self::Status(args) => (&args.session, SessionAct::Status, args.json),
            Self::Undo(args) => (&args.session, SessionAct::Undo { step: args.step }, args.json),
            Self::Redo(args) => (&args.session, SessionAct::Redo { step: args.step }, args.json),
            Self::Rebase(args) => {
                let rebase = Rebase { from: args.session.clone(), rig: args.rig.clone().into() };
                (&args.out, SessionAct::Rebase(Box::new(rebase)), args.json)
            }
            Self::Export(args) => {
                let act = SessionAct::Export { out: args.model.clone(), existing: existing(args.force) };
                (&args.session, act, args.json)
            }
        };
        Ok((SessionRecipe { folder: folder.clone(), act }, json))
    }
}

/// Runs the verb.
pub fn run(args: &SessionArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let (recipe, json) = args.act.recipe()?;
    Ok(show(&recipe, &recipe.run(ui)?, ui, json))
}

/// Shows the outcome.
pub fn show(recipe: &SessionRecipe, outcome: &SessionOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let status = &outcome.status;
    match &recipe.act {
        SessionAct::New(_) => {
            overview(status, ui);
            ui.print(&format!("written: {}", status.folder.display()));
        }
        SessionAct::Status | SessionAct::Rebase(_) => {
            overview(status, ui);
            status.file.steps.iter().for_each(|step| step_line(status, step, ui));
            if status.state().scores.is_some() {
                ui.print(&format!("the last change, {}:", words(status, status.state().did)));
            }
            scores(status, ui);
            if let SessionAct::Rebase(_) = &recipe.act {
                ui.print(&format!("written: {}", status.folder.display()));
            }
        }
        SessionAct::Next(_) => {
            if let Some(offered) = &outcome.offered {
                offered.offers.iter().for_each(|offer| offer_line(offer, ui));
                offered.written.iter().for_each(|path| ui.print(&format!("written: {}", path.display())));
            }
        }
        SessionAct::Export { .. } => {}
        SessionAct::Undo { step: None } | SessionAct::Redo { step: None } => {
            let model = status.state().model.as_ref();
            let model =
                model.map_or("there is no model".into(), |model| format!("model {} is the present one", model.number));
            ui.print(&format!("{model}, after {}", words(status, status.state().did)));
        }
        _ => {
            if let Some(step) = status.state().did.step().and_then(|id| status.file.step(id)) {
                step_line(status, step, ui);
            }
            scores(status, ui);
        }
    }
    outcome.exported.iter().for_each(|path| ui.print(&format!("written: {}", path.display())));
    outcome.warnings.iter().for_each(|warning| ui.print(&format!("warning: {warning}")));
    ExitCode::SUCCESS
}

/// The rig, the motions and the present model.
fn overview(status: &SessionStatus, ui: &Ui) {
    let (name, vertices, bones) = &status.rig;
    ui.print(&format!("{name}: {vertices} vertices, {bones} bones"));
    for (title, files) in [("motion", &status.file.motions), ("truth", &status.file.truths)] {
        files.iter().for_each(|file| ui.print(&format!("{title} \"{}\": {} frames", file.name, file.frames)));
    }
    let (back, forward) = status.back_and_forward();
    let model = match &status.state().model {
        Some(model) => format!("model {}", model.number),
        None => "no model yet".into(),
    };
    ui.print(&format!("{model}; changes to undo: {back}, to redo: {forward}"));
}

/// A step in a line.
fn step_line(status: &SessionStatus, step: &Step, ui: &Ui) {
    let off = if status.is_on(step) { "" } else { ", off" };
    let strength = if step.strength == 1.0 { String::new() } else { format!(", strength {}", step.strength) };
    ui.print(&format!(
        "{:>3} {:<6} \"{}\" in {}: {} vertices, most of {}; shown by {}{strength}{off}",
        step.id,
        step.role.name(),
        step.name,
        step.pose,
        step.touched,
        step.region,
        step.shown_by
    ));
}

/// A pose that was handed out.
fn offer_line(offer: &Offer, ui: &Ui) {
    let what = if offer.check { "check " } else { "sculpt" };
    let model = match offer.shown_by {
        ShownBy::Rig => String::new(),
        by => format!(", shown by {by}"),
    };
    ui.print(&format!(
        "{what} {:<20} {} (\"{}\"), look at {}{model}",
        offer.name, offer.pose, offer.pose.label, offer.region
    ));
}

/// What the last change did.
fn scores(status: &SessionStatus, ui: &Ui) {
    if let Some(scores) = &status.state().scores {
        let to_check = format!("dermis session next {} --check", status.folder.display());
        lines(scores, &unit_of(&status.space), &to_check).iter().for_each(|line| ui.print(&format!("  {line}")));
    }
}

/// What a change was.
fn words(status: &SessionStatus, did: Did) -> String {
    let name = |id: u32| status.file.step(id).map_or(String::new(), |step| format!("step {id} \"{}\"", step.name));
    match did {
        Did::New => "the beginning".into(),
        Did::Add(id) => format!("{} added", name(id)),
        Did::Fit => "a fit".into(),
        Did::Off(id) => format!("{} switched off", name(id)),
        Did::On(id) => format!("{} switched on", name(id)),
    }
}
