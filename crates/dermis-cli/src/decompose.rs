//! `dermis decompose`

use crate::options::ReadArgs;
use crate::show;
use crate::ui::{Ui, command_line};
use clap::ValueEnum;
use dermis_workflow::decompose::{
    Decomposed, Method, Options, SequenceOptions, Sequences, Solved, Tie, Wanted, deliver, is_written, load_sequences,
    solve,
};
use dermis_workflow::fits::decompose::{BoneKind, DecomposeSettings, Effort};
use dermis_workflow::load::Source;
use dermis_workflow::output::{reserve_file, reserve_folder};
use dermis_workflow::report::{Outcome, show_length, unit_of};
use dermis_workflow::{Error, page};
use std::path::PathBuf;
use std::process::ExitCode;

/// Find bones and weights that reproduce a mesh sequence
#[derive(clap::Args)]
pub struct DecomposeArgs {
    /// Mesh sequences: bundles with vertices, PC2 or MDD files after their mesh, folders of OBJ files, glTF files with clips. Several
    /// files of one mesh become a clip each
    #[arg(required = true, value_name = "SEQUENCE")]
    sequences: Vec<Source>,
    /// How many bones to find
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    bones: Option<u32>,
    /// Influences per vertex, at most
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    influences: u16,
    /// Where it goes: .glb with skin and clips, or a bundle (.npz) with weights and pose matrices
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    kind: KindArgs,
    /// Look harder: a few percent less error for several times the time
    #[arg(long)]
    quality: bool,
    /// Seed of the search
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How bones are looked for: the search, or triangles that turn together (James & Twigg 2005)
    #[arg(long, value_enum, default_value_t = MethodName::Search)]
    method: MethodName,
    /// In place of --bones, for --method clustering: as many bones as triangles turn apart by so much (root mean square over frames
    /// of the difference of rotation matrices, 2.8 at a half turn)
    #[arg(long, value_name = "H", conflicts_with = "bones", allow_negative_numbers = true)]
    bandwidth: Option<f64>,
    /// The frame that serves as rest shape, by label or by number from 0 [default: the mesh of the first file]
    #[arg(long, value_name = "FRAME")]
    rest: Option<String>,
    /// Weights only: bones and their motion are those of this file, a pose per frame
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bones", "bandwidth"])]
    given_bones: Option<Source>,
    /// Transforms only: bones and weights are those of this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bones", "bandwidth", "given_bones"])]
    given_weights: Option<Source>,
    /// Both, starting from the weights of this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bones", "bandwidth", "given_bones", "given_weights"])]
    start: Option<Source>,
    /// Stop as soon as the rms distance is this small, in metres
    #[arg(long, value_name = "METRES", requires = "bones", allow_negative_numbers = true)]
    stop_at: Option<f64>,
    /// Vertices whose weights stay as --start has them, such as 0-99,250
    #[arg(long, value_name = "LIST")]
    freeze_vertices: Option<String>,
    /// Tie rigid bones together in a tree with joints
    #[arg(long)]
    skeleton: bool,
    /// Bones of a tree that turn about their joints and do nothing else; the root moves
    #[arg(long)]
    rotation_only: bool,
    /// Write report.html to this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// What a bone may do
#[derive(clap::Args)]
#[group(multiple = false)]
struct KindArgs {
    /// Bones turn and move: what every engine plays. The default
    #[arg(long)]
    rigid: bool,
    /// Bones may stretch and shear a little; a larger STIFFNESS holds them nearer to a rotation
    #[arg(long, value_name = "STIFFNESS", num_args = 0..=1, default_missing_value = "1e-3", allow_negative_numbers = true)]
    near_rigid: Option<f64>,
    /// Bones are any affine map: least error; they shear, and may mirror
    #[arg(long)]
    affine: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodName {
    Search,
    Clustering,
}

impl DecomposeArgs {
    fn options(&self) -> Result<Options, Error> {
        let refuse = |text: &str| Err(Error::Option(text.into()));
        let kind = match self.kind.near_rigid {
            Some(stiffness) if !(stiffness > 0.0 && stiffness.is_finite()) => {
                return refuse(&format!("--near-rigid {stiffness}: it must be positive"));
            }
            Some(stiffness) => BoneKind::NearRigid { stiffness },
            None if self.kind.affine => BoneKind::Affine,
            None => BoneKind::Rigid,
        };
        let method = match self.method {
            MethodName::Search => Method::Search,
            MethodName::Clustering => Method::Clustering,
        };
        let given = [&self.given_bones, &self.given_weights, &self.start].into_iter().flatten().count() > 0;
        let wanted = match (self.bones, self.bandwidth) {
            (_, Some(_)) if method == Method::Search => return refuse("--bandwidth is for --method clustering"),
            (_, Some(h)) if !(h > 0.0 && h.is_finite()) => {
                return refuse(&format!("--bandwidth {h}: it must be positive"));
            }
            (_, Some(h)) => Wanted::Bandwidth(h),
            (Some(bones), _) => Wanted::Bones(bones as usize),
            _ if method == Method::Clustering && given => {
                return refuse("--method clustering starts from nothing: leave the given file out");
            }
            _ => match (&self.given_bones, &self.given_weights, &self.start) {
                (Some(source), _, _) => Wanted::Weights(source.clone()),
                (_, Some(source), _) => Wanted::Transforms(source.clone()),
                (_, _, Some(start)) => {
                    let frozen = self.freeze_vertices.as_deref().map_or(Ok(vec![]), vertices)?;
                    Wanted::Refine { start: start.clone(), frozen }
                }
                _ => return refuse("how many bones? name their number with --bones"),
            },
        };
        if self.freeze_vertices.is_some() && self.start.is_none() {
            return refuse("--freeze-vertices needs --start: the weights that stay");
        }
        if method == Method::Clustering && self.quality {
            return refuse("--quality is for --method search");
        }
        let effort = if self.quality { Effort::Quality } else { Effort::Fast };
        if let Some(stop) = self.stop_at.filter(|stop| !(*stop > 0.0 && stop.is_finite())) {
            return refuse(&format!("--stop-at {stop}: it must be positive"));
        }
        let (influences, seed, enough) = (self.influences.into(), self.seed, self.stop_at);
        let settings = DecomposeSettings { kind, influences, effort, seed, enough };
        let tie = match (self.rotation_only, self.skeleton) {
            (true, _) => Tie::Rotations,
            (_, true) => Tie::Tree,
            _ => Tie::None,
        };
        if tie != Tie::None && self.given_bones.is_some() {
            return refuse("--given-bones brings its own skeleton: leave --skeleton and --rotation-only out");
        }
        Ok(Options { wanted, method, settings, tie })
    }
}

/// Numbers and ranges: "0-99,250".
fn vertices(text: &str) -> Result<Vec<usize>, Error> {
    /// More than any mesh that fits in memory.
    const MOST: usize = 1 << 28;
    let refuse = || Error::Option(format!("--freeze-vertices {text}: numbers and ranges are needed, such as 0-99,250"));
    let mut list = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |t: &str| t.trim().parse::<usize>().ok().filter(|n| *n < MOST).ok_or_else(refuse);
        let (from, to) = (number(from)?, number(to)?);
        if from > to {
            return Err(refuse());
        }
        list.extend(from..=to);
    }
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

/// Runs the verb.
pub fn run(args: &DecomposeArgs, ui: &Ui) -> Result<ExitCode, Error> {
    is_written(&args.out)?;
    let options = args.options()?;
    let out = reserve_file(&args.out, args.force)?;
    let report_dir = args.report.as_deref().map(|path| reserve_folder(path, args.force)).transpose()?;
    let read = args.read.options()?;
    let sequence = SequenceOptions { rest: args.rest.clone(), read: read.clone() };
    let sequences = ui.step("read", |_| load_sequences(&args.sequences, &sequence))?;
    let solved = ui.step("decompose", |p| solve(&sequences, &options, &read, p))?;
    let mut files = sequences.notes.clone();
    files.extend(solved.notes.clone());
    show::files(ui, &files);
    let made = ui.step("write", |_| deliver(&sequences, &solved, &out))?;
    let outcome = Outcome {
        model: &made.model,
        fitted: None,
        sets: vec![("scored", &made.scores, &made.examples)],
        cross_validated: None,
        comparison: &[],
        files: &files,
        command: Some(command_line()),
    };
    if let Some(dir) = &report_dir {
        dir.folder()?("report.html", page::render(&outcome.page()).as_bytes())?;
    }
    if args.json {
        ui.print(&made.json(&sequences, &solved).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    ui.print(&format!("written: {} ({} bytes)", out.path().display(), made.bytes));
    lines(&sequences, &solved, &made, &options).iter().for_each(|line| ui.print(line));
    let unit = unit_of(&made.model.space);
    show::errors(ui, &[("as written", &made.scores)], &unit);
    show::frames(ui, &made.scores, &unit, if ui.verbose { usize::MAX } else { 3 });
    Ok(ExitCode::SUCCESS)
}

/// What was found, in sentences.
fn lines(sequences: &Sequences, solved: &Solved, made: &Decomposed, options: &Options) -> Vec<String> {
    let kind = match options.settings.kind {
        _ if matches!(options.wanted, Wanted::Weights(_)) => "given",
        BoneKind::Rigid => "rigid",
        BoneKind::NearRigid { .. } => "near-rigid",
        BoneKind::Affine => "affine",
    };
    let plural = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    let mut lines = vec![format!(
        "{} ({kind}), at most {}; {} in {}; {} after {} in {:.2} s",
        plural(made.bones, "bone"),
        plural(made.influences_max, "influence"),
        plural(made.examples.len(), "frame"),
        plural(sequences.clips.len(), "clip"),
        made.stopped(),
        plural(made.report.iterations, "iteration"),
        solved.seconds,
    )];
    if let Some(reason) = &made.report.fewer_because {
        lines.push(format!("fewer than the {} bones asked for: {reason}", made.report.bones_requested));
    }
    if made.paired {
        lines.push(
            "bones shear: each is two nodes, one that stretches and a joint below it; key frames are exact".into(),
        );
    }
    if let Some(free) = solved.free_rms {
        let unit = unit_of(&made.model.space);
        let tied = made.scores.model.error.rms;
        lines.push(format!("rms: free {} -> rotation-only {}", show_length(free, &unit), show_length(tied, &unit)));
    }
    if solved.detached > 0 {
        lines.push(format!(
            "{} share no skin with the others and hang on the bone nearest to them",
            plural(solved.detached, "bone")
        ));
    }
    if !sequences.left_out.is_empty() {
        let mut names: Vec<&str> = sequences.left_out.iter().take(8).map(String::as_str).collect();
        if sequences.left_out.len() > names.len() {
            names.push("…");
        }
        let all = plural(sequences.left_out.len(), "frame");
        lines.push(format!("left out, not finite: {all} ({})", names.join(", ")));
    }
    let untimed: Vec<&str> =
        sequences.clips.iter().filter(|c| !c.timed && c.frames.len() > 1).map(|c| c.name.as_str()).collect();
    if !untimed.is_empty() {
        lines.push(format!("no times in {}: 24 frames per second; --fps says otherwise", untimed.join(", ")));
    }
    lines
}
