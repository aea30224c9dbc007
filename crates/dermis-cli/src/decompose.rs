//! `dermis decompose`

use crate::options::{ProvenanceArgs, ReadArgs, add_defaults, existing, page};
use crate::show;
use crate::ui::{Stop, Ui, command_line};
use clap::{Command, ValueEnum};
use dermis_workflow::fits::decompose::{BoneKind, DecomposeSettings, Effort, Outlier};
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{DecomposeOutcome, DecomposeRecipe, Input};
use dermis_workflow::report::{show_length, unit_of};
use dermis_workflow::verbs::decompose::{
    ClusteredBones, ClusteringOptions, DecompositionMethod, GivenBonesOptions, GivenWeightsOptions, RefineOptions,
    SearchOptions, Tie,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// The most bones that --max-error may find without --bones.
const MOST_BONES: usize = 128;

/// Find bones and weights that reproduce a mesh sequence
#[derive(clap::Args, Clone)]
pub struct DecomposeArgs {
    /// Mesh sequences: bundles with vertices, PC2 or MDD files after their mesh, folders of OBJ files, glTF files with clips. Several
    /// files of one mesh become a clip each
    #[arg(required = true, value_name = "SEQUENCE")]
    sequences: Vec<Source>,
    /// How many bones to find
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    bones: Option<u32>,
    /// As few bones as bring the rms distance to this many metres, --bones of them at most [default: 128]
    #[arg(long, value_name = "METRES", conflicts_with = "stop_at", allow_negative_numbers = true)]
    max_error: Option<f64>,
    /// Influences per vertex, at most
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u16).range(1..))]
    influences: Option<u16>,
    /// Where it goes: .glb with skin and clips, or a bundle (.npz) with weights and pose matrices
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    kind: KindArgs,
    /// Search longer: a few percent less error for several times the time
    #[arg(long)]
    quality: bool,
    /// How strongly the weights of neighbouring vertices agree: the objective of Dem Bones, whose A is 1e-4
    #[arg(long, value_name = "A", num_args = 0..=1, default_missing_value = "1e-4", allow_negative_numbers = true)]
    smoothness: Option<f64>,
    /// Seed of the random choices
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How bones are found: by the search, or by triangles that turn together (James & Twigg 2005)
    #[arg(long, value_enum, default_value_t = AlgorithmName::Search)]
    algorithm: AlgorithmName,
    /// In place of --bones, for --algorithm clustering: as many bones as triangles turn apart by so much (root mean square over frames
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
    tree: bool,
    /// Bones of a tree that turn about their joints and do nothing else; the root moves
    #[arg(long)]
    rotation_only: bool,
    /// Write a page with errors and pictures (.html)
    #[arg(long, value_name = "PAGE", value_parser = page)]
    report: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    provenance: ProvenanceArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// What a bone may do
#[derive(clap::Args, Clone)]
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

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum AlgorithmName {
    Search,
    Clustering,
}

/// Adds the defaults that settings have to the help of their options.
pub fn with_defaults(command: Command) -> Command {
    let DecomposeSettings { influences, seed, .. } = DecomposeSettings::default();
    add_defaults(command, [("influences", influences.to_string()), ("seed", seed.to_string())])
}

impl KindArgs {
    fn take(&mut self) -> BoneKind {
        match (self.near_rigid.take(), std::mem::take(&mut self.affine), std::mem::take(&mut self.rigid)) {
            (Some(stiffness), ..) => BoneKind::NearRigid { stiffness },
            (None, true, _) => BoneKind::Affine,
            (None, false, _) => BoneKind::Rigid,
        }
    }
}

impl DecomposeArgs {
    /// The arguments as a recipe.
    fn recipe(&self) -> Result<DecomposeRecipe, Stop> {
        Ok(DecomposeRecipe {
            sequences: self.sequences.iter().cloned().map(Input::from).collect(),
            rest: self.rest.clone(),
            method: self.clone().take_method()?,
            tie: match (self.rotation_only, self.tree) {
                (true, _) => Tie::Rotations,
                (_, true) => Tie::Tree,
                _ => Tie::None,
            },
            read: self.read.options()?,
            out: self.out.clone(),
            report: self.report.clone(),
            existing: existing(self.force),
            provenance: self.provenance.choice(),
            command: Some(command_line(self.provenance.choice())),
        })
    }

    /// How bones are found; an option that the method has no setting for is refused.
    fn take_method(mut self) -> Result<DecompositionMethod, Stop> {
        let given = [&self.given_bones, &self.given_weights, &self.start].into_iter().any(Option::is_some);
        let clustering = self.algorithm == AlgorithmName::Clustering;
        if clustering && given {
            return Err(Stop::Usage("--algorithm clustering starts from nothing: leave the given file out".into()));
        }
        let (method, name) = if let Some(file) = self.given_bones.take() {
            let (bones, influences, seed) = (Input::from(file), self.take_influences(), self.take_seed());
            let options = GivenBonesOptions { bones, influences, seed, smooth: self.smoothness.take() };
            (DecompositionMethod::GivenBones(options), "--given-bones")
        } else if let Some(file) = self.given_weights.take() {
            let (weights, kind, seed) = (Input::from(file), self.kind.take(), self.take_seed());
            let options = GivenWeightsOptions { weights, kind, seed };
            (DecompositionMethod::GivenWeights(options), "--given-weights")
        } else if let Some(start) = self.start.take() {
            let frozen = self.freeze_vertices.take().as_deref().map_or(Ok(vec![]), vertices)?;
            let (kind, influences, seed) = (self.kind.take(), self.take_influences(), self.take_seed());
            let options =
                RefineOptions { start: start.into(), frozen, kind, influences, seed, smooth: self.smoothness.take() };
            (DecompositionMethod::Refine(options), "--start")
        } else if clustering {
            let bones = match (self.bandwidth.take(), self.bones.take()) {
                (Some(h), _) => ClusteredBones::Bandwidth(h),
                (None, Some(bones)) => ClusteredBones::Number(bones as usize),
                (None, None) => return Err(how_many()),
            };
            let options = ClusteringOptions { bones, kind: self.kind.take(), influences: self.take_influences() };
            (DecompositionMethod::Clustering(options), "--algorithm clustering")
        } else {
            let max_error = self.max_error.take();
            if self.bandwidth.is_none() && self.bones.is_none() && max_error.is_none() {
                return Err(how_many());
            }
            let options = SearchOptions {
                bones: self.bones.take().map_or(MOST_BONES, |bones| bones as usize),
                max_error,
                kind: self.kind.take(),
                influences: self.take_influences(),
                effort: if std::mem::take(&mut self.quality) { Effort::Quality } else { Effort::Fast },
                seed: self.take_seed(),
                stop_at: self.stop_at.take(),
                smooth: self.smoothness.take(),
            };
            (DecompositionMethod::Search(options), "--algorithm search")
        };
        match self.left() {
            Some((option, serves)) => Err(Stop::Usage(format!("{option} serves {serves}, not {name}"))),
            None => Ok(method),
        }
    }

    /// An option that no setting took, and what it serves.
    fn left(&self) -> Option<(&'static str, &'static str)> {
        let kinds = "--bones, --given-weights and --start";
        let given = [
            ("--bandwidth", self.bandwidth.is_some(), "--algorithm clustering"),
            ("--freeze-vertices", self.freeze_vertices.is_some(), "--start"),
            ("--quality", self.quality, "--algorithm search"),
            ("--stop-at", self.stop_at.is_some(), "--algorithm search"),
            ("--max-error", self.max_error.is_some(), "--algorithm search"),
            ("--smoothness", self.smoothness.is_some(), "--algorithm search, --given-bones and --start"),
            ("--seed", self.seed.is_some(), "--algorithm search and given files"),
            ("--influences", self.influences.is_some(), "--bones, --given-bones and --start"),
            ("--rigid", self.kind.rigid, kinds),
            ("--near-rigid", self.kind.near_rigid.is_some(), kinds),
            ("--affine", self.kind.affine, kinds),
        ];
        given.into_iter().find(|(_, given, _)| *given).map(|(option, _, serves)| (option, serves))
    }

    fn take_influences(&mut self) -> usize {
        self.influences.take().map_or(DecomposeSettings::default().influences, usize::from)
    }

    fn take_seed(&mut self) -> u64 {
        self.seed.take().unwrap_or(DecomposeSettings::default().seed)
    }
}

fn how_many() -> Stop {
    Stop::Usage("how many bones? name their number with --bones, or an rms distance with --max-error".into())
}

/// Numbers and ranges: "0-99,250".
fn vertices(text: &str) -> Result<Vec<usize>, Stop> {
    /// More than any mesh that fits in memory.
    const MOST: usize = 1 << 28;
    let refuse = || Stop::Usage(format!("--freeze-vertices {text}: numbers and ranges are needed, such as 0-99,250"));
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
pub fn run(args: &DecomposeArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    Ok(show(&args.recipe()?.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &DecomposeOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let made = &outcome.made;
    ui.print(&format!("written: {} ({} bytes)", outcome.written.display(), made.bytes));
    lines(outcome).iter().for_each(|line| ui.print(line));
    let unit = unit_of(&made.model.space);
    show::errors(ui, &[("as written", &made.scores)], &unit);
    show::frames(ui, &made.scores, &unit, if ui.verbose { usize::MAX } else { 3 });
    ExitCode::SUCCESS
}

/// Positions that were set aside, by vertex.
fn set_aside(outcome: &DecomposeOutcome) -> Option<String> {
    /// Vertices that are named, and frames of each.
    const NAMED: (usize, usize) = (6, 3);
    let outliers = &outcome.made.report.outliers;
    let (labels, frames) = (outcome.sequences.labels(), outcome.made.examples.len());
    let mut of_vertex: BTreeMap<usize, Vec<&Outlier>> = BTreeMap::new();
    outliers.iter().for_each(|outlier| of_vertex.entry(outlier.vertex).or_default().push(outlier));
    let unit = unit_of(&outcome.made.model.space);
    let named = of_vertex.iter().take(NAMED.0).map(|(vertex, times)| {
        let farthest = times.iter().map(|o| o.distance).fold(0.0, f64::max);
        let mut named: Vec<&str> = times.iter().take(NAMED.1).map(|o| labels[o.frame].as_str()).collect();
        named.extend((times.len() > named.len()).then_some("…"));
        let at = match times.len() {
            1 => format!("frame {}", named.join(", ")),
            n => format!("{n} of {frames} frames: {}", named.join(", ")),
        };
        format!("vertex {vertex} ({at}; {} off)", show_length(farthest, &unit))
    });
    let mut all: Vec<String> = named.collect();
    all.extend((of_vertex.len() > all.len()).then(|| "…".to_owned()));
    let (count, all) = (outliers.len(), all.join(", "));
    match count {
        0 => None,
        1 => Some(format!("set aside, far from their neighbours: 1 position; errors leave it out: {all}")),
        _ => Some(format!("set aside, far from their neighbours: {count} positions; errors leave them out: {all}")),
    }
}

/// What was found, in sentences.
fn lines(outcome: &DecomposeOutcome) -> Vec<String> {
    let (sequences, solved, made) = (&outcome.sequences, &outcome.solved, &outcome.made);
    let kind = match outcome.kind {
        None => "given",
        Some(BoneKind::Rigid) => "rigid",
        Some(BoneKind::NearRigid { .. }) => "near-rigid",
        Some(BoneKind::Affine) => "affine",
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
    if let Some((bones, square)) = made.report.too_few {
        let left = show_length(square.sqrt(), &unit_of(&made.model.space));
        lines.push(format!("the fewest found for the error asked for: {} leave {left} rms", plural(bones, "bone")));
    }
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
    lines.extend(set_aside(outcome));
    let untimed: Vec<&str> =
        sequences.clips.iter().filter(|c| !c.timed && c.frames.len() > 1).map(|c| c.name.as_str()).collect();
    if !untimed.is_empty() {
        lines.push(format!("no times in {}: 24 frames per second; --fps says otherwise", untimed.join(", ")));
    }
    lines
}
