//! `dermis weights`

use crate::options::{ReadArgs, add_defaults, existing, page};
use crate::ui::{Stop, Ui};
use clap::{Command, ValueEnum};
use dermis_workflow::fits::heat::HeatReport;
use dermis_workflow::fits::influence::{Found, Source as InfluenceSource};
use dermis_workflow::fits::register::{Mending, Pose};
use dermis_workflow::fits::scans::{ScanReport, ScanSettings, Template};
use dermis_workflow::fits::weights::WeightReport;
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{
    BoneRule, HeatOptions, Input, PlanOptions, ScanOptions, ScanStart, SingleBoneOptions, WeightSource, WeightsFound,
    WeightsOutcome, WeightsRecipe,
};
use dermis_workflow::report::{LengthUnit, show_length, unit_of};
use dermis_workflow::verbs::weights::Checked;
use dermis_workflow::verbs::weights::scan_poses::{self, ScanPoses};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compute skinning weights: from bone heat, poses of single bones, or scans in any poses
#[derive(clap::Args, Clone)]
#[command(group = clap::ArgGroup::new("source").args(["heat", "scans", "single_bone", "plan"]))]
pub struct WeightsArgs {
    /// Rest mesh and skeleton (.glb, .gltf, .npz); it needs no weights. With --skeleton a mesh alone (.obj as well)
    rig: PathBuf,
    /// Where the rig with its new weights goes: a skinned .glb or a bundle (.npz)
    #[arg(short, long, value_name = "OUT", required_unless_present = "plan", conflicts_with = "plan")]
    out: Option<PathBuf>,
    /// Take the skeleton from this file
    #[arg(long, value_name = "FILE")]
    skeleton: Option<PathBuf>,
    /// Weights from the shapes of mesh and skeleton alone: the default
    #[arg(long)]
    heat: bool,
    /// Examples in each of which one joint is turned: they tell which bones move a vertex, and how much
    #[arg(long, value_name = "FILE", num_args = 1..)]
    single_bone: Vec<Source>,
    /// How the bones that may move a vertex are chosen: by how far it goes along with what is below a joint, by whether it moves
    /// further than half its longest edge (Hopkins & Owen), or the nearest, as many as --influences [default: shares with
    /// --single-bone; the bones around a vertex with --scans]
    #[arg(long, value_enum)]
    rule: Option<RuleName>,
    /// Write the poses to make such examples of, each turning one joint: a clip (.glb) or a bundle (.npz)
    #[arg(long, value_name = "OUT")]
    plan: Option<PathBuf>,
    /// How far the joints of --plan turn, in degrees
    #[arg(long, value_name = "DEGREES", requires = "plan", allow_negative_numbers = true)]
    degrees: Option<f64>,
    /// Scans: a folder or files (.obj, .glb, .npz). Any number of vertices, holes and noise are welcome. Without --poses the poses
    /// are found
    #[arg(long, value_name = "PATH", num_args = 1..)]
    scans: Vec<PathBuf>,
    /// Poses of the scans: a clip or a bundle, matched by name (elbow_90.obj has the pose "elbow 90") or in order
    #[arg(long, value_name = "FILE", requires = "scans")]
    poses: Option<Source>,
    /// The poses of --poses are rough: find the exact ones, beginning there
    #[arg(long, requires = "poses")]
    rough: bool,
    /// How far joints turn in scans without poses, where the bones' names do not say it: a file of joint limits (JSON)
    #[arg(long, value_name = "FILE", requires = "scans")]
    limits: Option<PathBuf>,
    /// How often poses of scans and weights are found in turn
    #[arg(long, value_name = "N", requires = "scans")]
    pose_rounds: Option<usize>,
    /// Left and right get the same weights, learnt from every scan and from its mirror image
    #[arg(long, requires = "scans")]
    symmetric: bool,
    /// Write the mesh on every scan as examples for dermis fit: a bundle (.npz)
    #[arg(long, value_name = "OUT", requires = "scans")]
    registered: Option<PathBuf>,
    /// Scans that the fit does not see: a folder or files. Their poses are found with the weights that come out, and their distance
    /// is the held-out error
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "scans")]
    hold_out: Vec<PathBuf>,
    /// Write a page with a picture of every scan and the skin in its pose (.html)
    #[arg(long, value_name = "PAGE", value_parser = page)]
    report: Option<PathBuf>,
    /// Weights the fit to scans begins with [default: the rig's own, or bone heat if it has none]
    #[arg(long, value_enum, requires = "scans")]
    start: Option<Start>,
    /// Influences per vertex, at most
    #[arg(long, value_name = "N", default_value_t = WeightsRecipe::INFLUENCES as u16, value_parser = clap::value_parser!(u16).range(1..))]
    influences: u16,
    /// Bones that no skin follows, by name; * stands for any text (bone heat)
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    skip: Vec<String>,
    /// How strongly skin takes the warmth of its bone: 0.22 makes wider blends than 1 (bone heat)
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    transfer: Option<f64>,
    /// How far a scan may be from the posed skin, in length units: diagonals of the box along the rig's principal axes
    #[arg(long, value_name = "DIAGONALS", allow_negative_numbers = true)]
    reach: Option<f64>,
    /// How strongly neighbouring vertices agree in a fit to scans; more for noisier scans
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    smoothness: Option<f64>,
    /// Rounds of a fit to scans, at most
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Measure the weights on examples whose skin is known
    #[arg(long, value_name = "FILE", num_args = 1..)]
    check: Vec<Source>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Start {
    Heat,
    Rig,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum RuleName {
    Shares,
    Published,
    Nearest,
}

/// Adds the defaults that settings have to the help of their options.
pub fn with_defaults(command: Command) -> Command {
    let (heat, plan, scans) = (HeatOptions::default(), PlanOptions::default(), ScanOptions::new(vec![]));
    let defaults = [
        ("degrees", plan.degrees.to_string()),
        ("transfer", heat.transfer.to_string()),
        ("reach", format!("{}; {} where poses are found", ScanSettings::default().reach, scan_poses::REACH)),
        ("smoothness", scans.smoothness.to_string()),
        ("rounds", scans.rounds.to_string()),
        ("pose_rounds", scans.pose_rounds.to_string()),
    ];
    add_defaults(command, defaults)
}

impl WeightsArgs {
    /// The arguments as a recipe.
    fn recipe(&self) -> Result<WeightsRecipe, Stop> {
        let Some(out) = self.plan.as_ref().or(self.out.as_ref()) else {
            return Err(Stop::Usage("name the output with --out".into()));
        };
        Ok(WeightsRecipe {
            rig: self.rig.clone().into(),
            skeleton: self.skeleton.clone().map(Input::from),
            source: self.clone().take_source()?,
            influences: usize::from(self.influences),
            check: inputs(&self.check),
            read: self.read.options()?,
            out: out.clone(),
            existing: existing(self.force),
        })
    }

    /// Where the weights come from; an option that serves another source is refused.
    fn take_source(mut self) -> Result<WeightSource, Stop> {
        let (source, name) = if !self.single_bone.is_empty() {
            let examples = inputs(&self.single_bone);
            let rule = self.take_rule().unwrap_or_default();
            (WeightSource::SingleBone(SingleBoneOptions { examples, rule }), "--single-bone")
        } else if !self.scans.is_empty() {
            (WeightSource::Scans(self.take_scans()), "--scans")
        } else if self.plan.is_some() {
            let degrees = self.degrees.take().unwrap_or(PlanOptions::default().degrees);
            (WeightSource::Plan(PlanOptions { degrees, heat: self.take_heat() }), "--plan")
        } else {
            (WeightSource::Heat(self.take_heat()), "--heat")
        };
        let heat = "--heat, --plan and --scans without --start rig";
        let left = [
            ("--rule", self.rule.is_some(), "--single-bone and --scans"),
            ("--poses", self.poses.is_some(), "--scans"),
            ("--rough", self.rough && self.scans.is_empty(), "--scans"),
            ("--limits", self.limits.is_some(), "--scans"),
            ("--symmetric", self.symmetric && self.scans.is_empty(), "--scans"),
            ("--registered", self.registered.is_some(), "--scans"),
            ("--hold-out", !self.hold_out.is_empty(), "--scans"),
            ("--report", self.report.is_some(), "--scans"),
            ("--pose-rounds", self.pose_rounds.is_some(), "--scans"),
            ("--start", self.start.is_some(), "--scans"),
            ("--reach", self.reach.is_some(), "--scans"),
            ("--smoothness", self.smoothness.is_some(), "--scans"),
            ("--rounds", self.rounds.is_some(), "--scans"),
            ("--degrees", self.degrees.is_some(), "--plan"),
            ("--skip", !self.skip.is_empty(), heat),
            ("--transfer", self.transfer.is_some(), heat),
        ];
        match left.into_iter().find(|(_, given, _)| *given) {
            Some((option, _, serves)) if serves == heat && name == "--scans" => {
                Err(Stop::Usage(format!("{option} serves {serves}")))
            }
            Some((option, _, serves)) => Err(Stop::Usage(format!("{option} serves {serves}, not {name}"))),
            None => Ok(source),
        }
    }

    fn take_rule(&mut self) -> Option<BoneRule> {
        self.rule.take().map(|rule| match rule {
            RuleName::Shares => BoneRule::Shares,
            RuleName::Published => BoneRule::Published,
            RuleName::Nearest => BoneRule::Nearest,
        })
    }

    fn take_heat(&mut self) -> HeatOptions {
        let transfer = self.transfer.take().unwrap_or(HeatOptions::default().transfer);
        HeatOptions { skip: std::mem::take(&mut self.skip), transfer }
    }

    fn take_scans(&mut self) -> ScanOptions {
        let defaults = ScanOptions::new(self.scans.iter().cloned().map(Input::from).collect());
        ScanOptions {
            poses: self.poses.take().map(Input::from),
            rough: self.rough,
            limits: self.limits.take().map(Input::from),
            pose_rounds: self.pose_rounds.take().unwrap_or(defaults.pose_rounds),
            symmetric: self.symmetric,
            rule: self.take_rule(),
            examples: self.registered.take(),
            hold_out: std::mem::take(&mut self.hold_out).into_iter().map(Input::from).collect(),
            report: self.report.take(),
            start: match self.start.take() {
                None => ScanStart::OwnOrHeat(self.take_heat()),
                Some(Start::Heat) => ScanStart::Heat(self.take_heat()),
                Some(Start::Rig) => ScanStart::Rig,
            },
            reach: self.reach.take(),
            smoothness: self.smoothness.take().unwrap_or(defaults.smoothness),
            rounds: self.rounds.take().unwrap_or(defaults.rounds),
            ..defaults
        }
    }
}

fn inputs(sources: &[Source]) -> Vec<Input> {
    sources.iter().cloned().map(Input::from).collect()
}

/// Runs the verb.
pub fn run(args: &WeightsArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    Ok(show(&args.recipe()?.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &WeightsOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let (made, unit) = (&outcome.weights, unit_of(&outcome.rig.space));
    if let Some(report) = outcome.found.heat() {
        heat_lines(outcome, report).iter().for_each(|line| ui.print(line));
    }
    match &outcome.found {
        WeightsFound::Heat(_) => {}
        WeightsFound::SingleBone { poses, found, report } => {
            single_bone_lines(outcome, *poses, found, report, &unit).iter().for_each(|line| ui.print(line));
        }
        WeightsFound::Scans { pairing, mirrors, poses, report, settings, held_out, .. } => {
            ui.print(pairing);
            if *mirrors && settings.mirror.is_none() {
                ui.print("left and right of the rig mirror each other: with --symmetric every scan teaches both sides");
            }
            if let Some(held) = held_out {
                ui.print(&held.verdict(&unit).text);
                let failed = held.found.iter().filter_map(|one| Some((&one.label, one.found.as_ref().err()?)));
                failed.for_each(|(label, why)| {
                    ui.print(&format!("warning: held-out scan \"{label}\" has no pose: {why}"))
                });
            }
            if let Some(poses) = poses {
                pose_lines(outcome, poses, &unit).iter().for_each(|line| ui.print(line));
            }
            scan_lines(outcome, report, settings, &unit).iter().for_each(|line| ui.print(line));
            template_lines(&outcome.templates, &unit).iter().for_each(|line| ui.print(line));
        }
        WeightsFound::Plan { poses, .. } => {
            ui.print(&format!("{} poses: the rest pose, then every joint alone", poses.frames.len()));
        }
    }
    if let Some(checked) = &outcome.checked {
        check_lines(checked, &unit).iter().for_each(|line| ui.print(line));
    }
    outcome.left_out.iter().for_each(|what| ui.print(&format!("left out: {what}")));
    ui.print(&format!(
        "written: {} ({} bytes, {} vertices with {:.1} influences each)",
        outcome.written.display(),
        outcome.bytes,
        made.vertices(),
        made.count() as f64 / made.vertices().max(1) as f64
    ));
    if let Some(report) = &outcome.report_written {
        ui.print(&format!("written: {} (page)", report.display()));
    }
    ExitCode::SUCCESS
}

fn single_bone_lines(
    outcome: &WeightsOutcome,
    poses: usize,
    found: &Found,
    report: &WeightReport,
    unit: &LengthUnit,
) -> Vec<String> {
    let mut lines = Vec::new();
    if found.source == InfluenceSource::Motion {
        lines.push("some examples turn several joints: bones were found in their motion as a whole".into());
    }
    if !found.unmoved.is_empty() {
        let names = outcome.names(&found.unmoved).join(", ");
        lines.push(format!("no example turns the joints of {names}: nothing is learnt there"));
    }
    lines.push(format!(
        "{poses} poses, {:.1} candidate bones a vertex: rms {}, max {}",
        report.candidates.0,
        show_length(report.result.rms, unit),
        show_length(report.result.max, unit)
    ));
    lines
}

fn heat_lines(outcome: &WeightsOutcome, report: &HeatReport) -> Vec<String> {
    let mut lines = Vec::new();
    let (shells, vertices) = report.blind_shells;
    if shells > 0 {
        lines.push(format!(
            "{shells} of the mesh's {} parts have no bone inside: their {vertices} vertices follow the nearest bones",
            report.shells
        ));
    }
    if report.blind_vertices > 0 {
        lines.push(format!("{} vertices see no bone and follow their surroundings", report.blind_vertices));
    }
    if report.clamped_edges > 0 {
        lines.push(format!(
            "{} edges lie between obtuse triangles; heat does not flow along them",
            report.clamped_edges
        ));
    }
    if !report.idle.is_empty() {
        let names = outcome.names(&report.idle);
        lines.push(format!("no skin is nearest to {}", names.join(", ")));
    }
    lines
}

/// What became of the search for poses: a summary, then a line for every scan of which there is something to say.
fn pose_lines(outcome: &WeightsOutcome, poses: &ScanPoses, unit: &LengthUnit) -> Vec<String> {
    let found = poses.found().count() as f64;
    let mean = |of: &dyn Fn(&Pose) -> f64| poses.found().map(|(_, pose)| of(pose)).sum::<f64>() / found;
    let mut lines = vec![format!(
        "in the mean {:.1} % of a scan lies on the skin, {} off it rms; {:.1} % of the skin is shown",
        100.0 * mean(&|pose| pose.of_scan),
        show_length(mean(&|pose| pose.rms * pose.rms).sqrt(), unit),
        100.0 * mean(&|pose| pose.of_skin)
    )];
    lines.extend(poses.failed().map(|(label, why)| format!("warning: scan \"{label}\" is left out: {why}")));
    for one in &poses.registrations {
        let mended = one.mended.iter().map(|mending| match mending {
            Mending::Thinned { from, to } => {
                format!("scan \"{}\": the search looks at {to} of its {from} triangles", one.label)
            }
            Mending::InsideOut => format!("scan \"{}\" faces inwards; it was turned inside out", one.label),
        });
        lines.extend(mended);
        if let Ok(pose) = &one.found
            && !pose.vague.is_empty()
        {
            let bones: Vec<_> = pose.vague.iter().map(|(bone, _)| *bone).collect();
            let names = outcome.names(&bones);
            let more = if names.len() > 8 { format!(" and {} more", names.len() - 8) } else { String::new() };
            let shown = names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            lines.push(format!("scan \"{}\" hardly shows the joints of {shown}{more}", one.label));
        }
    }
    lines
}

fn scan_lines(
    outcome: &WeightsOutcome,
    report: &ScanReport,
    settings: &ScanSettings,
    unit: &LengthUnit,
) -> Vec<String> {
    let vertices = outcome.rig.rig.mesh().positions.len() as f64;
    let percent = |count: usize| format!("{:.1} %", 100.0 * count as f64 / vertices);
    let mut lines = vec![format!(
        "{} rounds: the scans are {} off the skin, rms along their normals; {} at the start",
        report.rounds,
        show_length(report.distance.1, unit),
        show_length(report.distance.0, unit)
    )];
    if report.change > settings.change {
        lines.push(format!(
            "warning: the last round still moved {:.2} % of the weights; --rounds allows more",
            100.0 * report.change
        ));
    }
    let scans = report.coverage.len() - 1;
    let places: usize = report.coverage.iter().enumerate().map(|(scans, vertices)| scans * vertices).sum();
    let few = report.coverage[1..].iter().take(2.min(scans)).sum::<usize>();
    lines.push(format!(
        "a vertex has its place on {:.1} of {scans} scans{}; {} on one or two, {} on none: those keep their first weights",
        places as f64 / vertices,
        if settings.mirror.is_some() { " and mirror images" } else { "" },
        percent(few),
        percent(report.coverage[0])
    ));
    for scan in report.scans.iter().filter(|s| (s.pairs as f64) < 0.5 * vertices) {
        lines.push(format!(
            "scan \"{}\" serves {} of the vertices: {} are too far away, {} face another way, {} lie beyond its border",
            scan.label,
            percent(scan.pairs),
            percent(scan.too_far),
            percent(scan.turned_away),
            percent(scan.on_border)
        ));
    }
    if !report.still.is_empty() {
        let names = outcome.names(&report.still);
        lines.push(format!("no scan bends the joints of {}: nothing is learnt there", names.join(", ")));
    }
    lines
}

fn template_lines(templates: &[Template], unit: &LengthUnit) -> Vec<String> {
    if templates.is_empty() {
        return Vec::new();
    }
    let count = templates.len() as f64;
    let rms = |of: &dyn Fn(&Template) -> f64| {
        show_length((templates.iter().map(|t| of(t).powi(2)).sum::<f64>() / count).sqrt(), unit)
    };
    let seen = templates.iter().map(|t| t.seen.iter().filter(|s| **s).count() as f64 / t.seen.len() as f64);
    vec![format!(
        "{} examples: the skin is {} off its scan rms where a scan shows it, {} with the weights alone; {:.1} % of a skin is \
         shown, the rest is guessed",
        templates.len(),
        rms(&|t| t.distance.1),
        rms(&|t| t.distance.0),
        100.0 * seen.sum::<f64>() / count
    )]
}

fn check_lines(checked: &Checked, unit: &LengthUnit) -> Vec<String> {
    let show = |e: &dermis_workflow::measure::ErrorStats| {
        let [rms, p95, max] = [e.rms, e.p95, e.max].map(|length| show_length(length, unit));
        format!("rms {rms}, 95 % {p95}, max {max}")
    };
    let mut lines = vec![format!("{} poses of \"{}\":", checked.made.per_pose.len(), checked.set)];
    lines.push(format!("  these weights             {}", show(&checked.made.error)));
    if let (Some(own), Some(apart)) = (&checked.own, &checked.apart) {
        lines.push(format!("  the rig's own weights     {}", show(&own.error)));
        lines.push(format!("  these from the rig's own  {}", show(&apart.error)));
    }
    lines
}
