//! `dermis weights`

use crate::options::{ReadArgs, within};
use crate::show;
use crate::ui::Ui;
use clap::ValueEnum;
use dermis_workflow::fits::heat::{HeatReport, HeatSettings};
use dermis_workflow::fits::influence::Source as Found;
use dermis_workflow::fits::scans::{ScanReport, ScanSettings};
use dermis_workflow::load::{FileNote, LoadedRig, ReadOptions, Source, load_examples};
use dermis_workflow::output::reserve_file;
use dermis_workflow::page::Unit;
use dermis_workflow::report::{show_length, unit_of};
use dermis_workflow::rig::{Influences, Motion};
use dermis_workflow::{Error, scans, weights};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Make skinning weights: without examples, from poses of single bones, or from scans
#[derive(clap::Args)]
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
    /// Write the poses to make such examples of, each turning one joint: a clip (.glb) or a bundle (.npz)
    #[arg(long, value_name = "OUT")]
    plan: Option<PathBuf>,
    /// How far the joints of --plan turn, in degrees
    #[arg(long, value_name = "DEGREES", default_value_t = 45.0, requires = "plan")]
    degrees: f64,
    /// Scans in known poses: a folder or files (.obj, .glb, .npz). Any number of vertices, holes and noise are welcome
    #[arg(long, value_name = "PATH", num_args = 1..)]
    scans: Vec<PathBuf>,
    /// The poses of the scans: a bundle or a clip, matched by name (elbow_90.obj has the pose "elbow 90") or in order
    #[arg(long, value_name = "FILE", requires = "scans")]
    motion: Option<Source>,
    /// Weights the fit to scans begins with [default: the rig's own, or bone heat if it has none]
    #[arg(long, value_enum, requires = "scans")]
    start: Option<Start>,
    /// Influences per vertex, at most
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    influences: u16,
    /// Bones that no skin follows, by name; * stands for any text (bone heat)
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    skip: Vec<String>,
    /// How strongly skin takes the warmth of its bone: 0.22 makes wider blends than 1 (bone heat)
    #[arg(long, value_name = "C", default_value_t = 1.0, allow_negative_numbers = true)]
    transfer: f64,
    /// How far a scan may be from the posed skin, in rest diagonals
    #[arg(long, value_name = "DIAGONALS", default_value_t = ScanSettings::default().reach, allow_negative_numbers = true)]
    reach: f64,
    /// How strongly neighbouring vertices agree in a fit to scans; more for noisier scans
    #[arg(long, value_name = "A", default_value_t = ScanSettings::default().smoothness, allow_negative_numbers = true)]
    smoothness: f64,
    /// Rounds of a fit to scans, at most
    #[arg(long, value_name = "N", default_value_t = ScanSettings::default().rounds)]
    rounds: usize,
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

/// Runs the verb.
pub fn run(args: &WeightsArgs, ui: &Ui) -> Result<ExitCode, Error> {
    let Some(path) = args.plan.as_ref().or(args.out.as_ref()) else {
        return Err(Error::Option("name the output with --out".into()));
    };
    weights::check_ending(path)?;
    let out = reserve_file(path, args.force)?;
    let read = args.read.options()?;
    within("--transfer", args.transfer, 1e-6, 1e6)?;
    within("--reach", args.reach, 1e-6, 10.0)?;
    within("--smoothness", args.smoothness, 0.0, 1e12)?;
    within("--rounds", args.rounds as f64, 1.0, 10_000.0)?;
    within("--degrees", args.degrees, 0.5, 180.0)?;
    let loaded = ui.step("read rig", |_| weights::load_unskinned(&args.rig, args.skeleton.as_deref()))?;
    let mut told = Told { notes: loaded.notes.clone(), lines: Vec::new(), data: json!({}) };

    let own = loaded.rig.weights.as_ref();
    let from_own = args.plan.is_some() || (!args.scans.is_empty() && args.start != Some(Start::Heat));
    if args.start == Some(Start::Rig) && own.is_none() {
        return Err(Error::Option(format!("--start rig: \"{}\" has no weights", args.rig.display())));
    }
    let mut motion = None;
    let made = if !args.single_bone.is_empty() {
        single_bones(args, &loaded, &read, ui, &mut told)?
    } else {
        let first = match own.filter(|_| from_own) {
            Some(own) => own.clone(),
            None => heat(args, &loaded, ui, &mut told)?,
        };
        match args.scans.is_empty() {
            true => first,
            false => from_scans(args, &loaded, &first, &read, ui, (&mut told, &mut motion))?,
        }
    };
    if args.plan.is_some() {
        let planned = weights::plan(&loaded.rig, args.degrees);
        told.lines.push(format!("{} poses: the rest pose, then every joint alone", planned.frames.len()));
        told.data["poses"] = json!(planned.frames.iter().map(|f| &f.label).collect::<Vec<_>>());
        motion = Some(planned);
    }
    let bytes = ui.step("write", |_| weights::write_rig(&loaded, &made, motion.as_ref(), &out))?;
    let checked = match args.check.is_empty() {
        true => None,
        false => Some(ui.step("check", |_| weights::check_files(&loaded, &made, &args.check, &read))?),
    };
    let checked = checked.map(|(checked, notes)| {
        told.notes.extend(notes);
        checked
    });
    if args.json {
        told.data["bytes"] = json!(bytes);
        told.data["influences"] = influences_json(&made);
        told.data["check"] = checked.as_ref().map_or(Value::Null, weights::check_json);
        ui.print(&told.data.to_string());
        return Ok(ExitCode::SUCCESS);
    }
    show::files(ui, &told.notes);
    told.lines.iter().for_each(|line| ui.print(line));
    if let Some(checked) = &checked {
        check_lines(checked, &unit_of(&loaded.space)).iter().for_each(|line| ui.print(line));
    }
    ui.print(&format!(
        "written: {} ({bytes} bytes, {} vertices with {:.1} influences each)",
        out.path().display(),
        made.vertices(),
        made.count() as f64 / made.vertices().max(1) as f64
    ));
    Ok(ExitCode::SUCCESS)
}

/// What there is to say once the work is done.
struct Told {
    notes: Vec<FileNote>,
    lines: Vec<String>,
    data: Value,
}

fn heat(args: &WeightsArgs, loaded: &LoadedRig, ui: &Ui, told: &mut Told) -> Result<Influences, Error> {
    let settings = HeatSettings { transfer: args.transfer, influences: Some(usize::from(args.influences)) };
    let (made, report) = ui.step("bone heat", |p| weights::heat(&loaded.rig, &args.skip, &settings, p))?;
    told.lines.extend(heat_lines(loaded, &report));
    told.data["heat"] = weights::heat_json(&loaded.rig, &report);
    Ok(made)
}

fn single_bones(
    args: &WeightsArgs,
    loaded: &LoadedRig,
    read: &ReadOptions,
    ui: &Ui,
    told: &mut Told,
) -> Result<Influences, Error> {
    let (rig, most) = (&loaded.rig, usize::from(args.influences));
    let (examples, notes) =
        ui.step("read examples", |_| load_examples(rig, &loaded.space, &args.single_bone, read, "examples"))?;
    told.notes.extend(notes);
    let (made, found, report) = ui.step("fit", |p| weights::from_single_bones(rig, &examples, most, p))?;
    told.data["single_bone"] = weights::single_bones_json(rig, &found, &report);
    if found.source == Found::Motion {
        told.lines.push("some examples turn several joints: bones were found in their motion as a whole".into());
    }
    if !found.unmoved.is_empty() {
        let names = weights::names(rig, &found.unmoved).join(", ");
        told.lines.push(format!("no example turns the joints of {names}: nothing is learnt there"));
    }
    let unit = unit_of(&loaded.space);
    told.lines.push(format!(
        "{} poses, {:.1} candidate bones a vertex: rms {}, max {}",
        examples.len(),
        report.candidates.0,
        show_length(report.result.rms, &unit),
        show_length(report.result.max, &unit)
    ));
    Ok(made)
}

fn from_scans(
    args: &WeightsArgs,
    loaded: &LoadedRig,
    start: &Influences,
    read: &ReadOptions,
    ui: &Ui,
    (told, motion): (&mut Told, &mut Option<Motion>),
) -> Result<Influences, Error> {
    if let Some(source) = &args.motion {
        let (poses, note) = ui.step("read poses", |_| scans::load_poses(loaded, source, read))?;
        told.notes.push(note);
        *motion = Some(poses);
    }
    let found = ui.step("read scans", |_| scans::load_scans(loaded, &args.scans, motion.as_ref(), read))?;
    told.notes.extend(found.notes);
    told.lines.push(found.pairing.clone());
    let settings = ScanSettings {
        reach: args.reach,
        smoothness: args.smoothness,
        influences: usize::from(args.influences),
        rounds: args.rounds,
        ..ScanSettings::default()
    };
    let (made, report) =
        ui.step("fit to scans", |p| weights::from_scans(&loaded.rig, start, &found.scans, &settings, p))?;
    told.lines.extend(scan_lines(loaded, &report, &settings, &unit_of(&loaded.space)));
    told.data["scans"] = weights::scans_json(&loaded.rig, &report);
    told.data["scans"]["pairing"] = json!(found.pairing);
    Ok(made)
}

fn influences_json(made: &Influences) -> Value {
    json!({ "count": made.count(), "most": made.largest_count(), "vertices": made.vertices() })
}

fn heat_lines(loaded: &LoadedRig, report: &HeatReport) -> Vec<String> {
    let mut lines = Vec::new();
    let (shells, vertices) = report.blind_shells;
    if shells > 0 {
        lines.push(format!(
            "{shells} of the mesh's {} parts see no bone: their {vertices} vertices follow the nearest bones",
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
        let names = weights::names(&loaded.rig, &report.idle);
        lines.push(format!("no skin is nearest to {}", names.join(", ")));
    }
    lines
}

fn scan_lines(loaded: &LoadedRig, report: &ScanReport, settings: &ScanSettings, unit: &Unit) -> Vec<String> {
    let vertices = loaded.rig.mesh.positions.len() as f64;
    let percent = |count: usize| format!("{:.1} %", 100.0 * count as f64 / vertices);
    let scans = report.scans.len();
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
    let pairs: usize = report.scans.iter().map(|s| s.pairs).sum();
    let few = report.coverage[1..].iter().take(2.min(scans)).sum::<usize>();
    lines.push(format!(
        "a vertex has its place on {:.1} of {scans} scans; {} on one or two, {} on none: those keep their first weights",
        pairs as f64 / vertices,
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
        let names = weights::names(&loaded.rig, &report.still);
        lines.push(format!("no scan bends the joints of {}: nothing is learnt there", names.join(", ")));
    }
    lines
}

fn check_lines(checked: &weights::Checked, unit: &Unit) -> Vec<String> {
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
