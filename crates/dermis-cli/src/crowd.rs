//! `dermis crowd`

use crate::options::{ReadArgs, existing};
use crate::ui::{Stop, Ui};
use clap::ValueEnum;
use dermis_workflow::load::Source;
use dermis_workflow::recipe::{CrowdColours, CrowdOutcome, CrowdPicture, CrowdRecipe, Input};
use dermis_workflow::report::{show_length, unit_of};
use dermis_workflow::rig::number::decimal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw many instances of a model, each with its own clip, time, place and size
#[derive(clap::Args)]
pub struct CrowdArgs {
    /// The model (.dermis)
    model: PathBuf,
    /// Clips that instances play over and over (.glb, .gltf, .fbx, .bvh, .npz); FILE#CLIP is one clip of a file
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    motion: Vec<Source>,
    /// How many instances there are
    #[arg(long, value_name = "N", default_value_t = CrowdRecipe::INSTANCES)]
    instances: u64,
    /// Where the instances go, with clip, time, level and transform of each (.npz)
    #[arg(short, long, value_name = "OUT")]
    out: PathBuf,
    /// Seed of the random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// From an instance to the next; 0.8 rest diagonals by default
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    spacing: Option<f64>,
    /// Largest angle between an instance's heading and the clip's
    #[arg(long, value_name = "DEGREES", default_value_t = CrowdRecipe::SPREAD, allow_negative_numbers = true)]
    spread: f64,
    /// The smallest and the largest size, times the character's
    #[arg(long, value_name = "LOW,HIGH", value_parser = numbers::<2>, default_value = "0.92,1.08", allow_hyphen_values = true)]
    scale: [f64; 2],
    /// Frames
    #[arg(long, value_name = "N", default_value_t = 1)]
    frames: u32,
    /// Frames per second
    #[arg(long, value_name = "N", default_value_t = CrowdRecipe::RATE, allow_negative_numbers = true)]
    rate: f64,
    /// Also store the skins of these instances, numbered from 0
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    skins: Vec<u32>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    picture: PictureArgs,
    #[command(flatten)]
    read: ReadArgs,
}

/// How closely instances are shown, by their distance from the camera
#[derive(clap::Args)]
#[command(next_help_heading = "Levels")]
struct LevelArgs {
    /// Up to here the full model shows an instance, beyond it linear blending; 8 rest diagonals by default
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    full_within: Option<f64>,
    /// Up to here an instance has a pose of its own, beyond it one that others share; 30 rest diagonals by default
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    blended_within: Option<f64>,
    /// Frames for which shared poses stay
    #[arg(long, value_name = "N", default_value_t = CrowdRecipe::SHARED_EVERY)]
    shared_every: u32,
    /// Where the camera stands, metres, Y up; before the crowd by default
    #[arg(long, value_name = "X,Y,Z", value_parser = numbers::<3>, allow_hyphen_values = true)]
    camera: Option<[f64; 3]>,
    /// Where it looks
    #[arg(long, value_name = "X,Y,Z", value_parser = numbers::<3>, allow_hyphen_values = true)]
    look_at: Option<[f64; 3]>,
}

/// A picture of the crowd
#[derive(clap::Args)]
#[command(next_help_heading = "Picture")]
struct PictureArgs {
    /// Draw every frame: a .png, or a folder for several
    #[arg(long, value_name = "PICTURE")]
    picture: Option<PathBuf>,
    /// Pixels across and down
    #[arg(long, value_name = "WIDTH,HEIGHT", value_parser = numbers::<2>, default_value = "1280,720", requires = "picture")]
    size: [f64; 2],
    /// The field of view from top to bottom
    #[arg(long, value_name = "DEGREES", default_value_t = CrowdPicture::FIELD, requires = "picture", allow_negative_numbers = true)]
    field: f64,
    /// What colours show
    #[arg(long, value_enum, default_value_t = Colours::Instances, requires = "picture")]
    colours: Colours,
}

#[derive(Clone, Copy, ValueEnum)]
enum Colours {
    /// One instance from the next
    Instances,
    /// How closely an instance is shown
    Levels,
    /// What it plays
    Clips,
}

/// N numbers with commas between them.
fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let found: Option<Vec<f64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let found = found.and_then(|found| <[f64; N]>::try_from(found).ok());
    found.ok_or_else(|| format!("{N} numbers with commas between them are expected"))
}

/// Runs the verb.
pub fn run(args: &CrowdArgs, ui: &Ui) -> Result<ExitCode, Stop> {
    let picture = match &args.picture.picture {
        None => None,
        Some(out) => {
            let size = args.picture.size;
            let pixels = |of: f64| (of.fract() == 0.0 && (1.0..=65_536.0).contains(&of)).then_some(of as u32);
            let ([Some(width), Some(height)], colours) = (size.map(pixels), args.picture.colours) else {
                return Err(Stop::Usage(format!(
                    "--size {},{}: whole numbers of pixels are expected",
                    size[0], size[1]
                )));
            };
            Some(CrowdPicture {
                out: out.clone(),
                size: [width, height],
                field: args.picture.field,
                colours: match colours {
                    Colours::Instances => CrowdColours::Instances,
                    Colours::Levels => CrowdColours::Levels,
                    Colours::Clips => CrowdColours::Clips,
                },
            })
        }
    };
    let recipe = CrowdRecipe {
        model: args.model.clone().into(),
        motions: args.motion.iter().cloned().map(Input::new).collect(),
        instances: args.instances,
        seed: args.seed,
        spacing: args.spacing,
        spread: args.spread,
        scale: args.scale,
        full_within: args.level.full_within,
        blended_within: args.level.blended_within,
        shared_every: args.level.shared_every,
        frames: args.frames,
        rate: args.rate,
        camera: args.level.camera,
        look_at: args.level.look_at,
        skins: args.skins.clone(),
        picture,
        read: args.read.options()?,
        out: args.out.clone(),
        existing: existing(args.force),
    };
    Ok(show(&recipe.run(ui)?, ui, args.json))
}

/// Shows the outcome.
pub fn show(outcome: &CrowdOutcome, ui: &Ui, json: bool) -> ExitCode {
    if json {
        ui.print_json(&outcome.json());
        return ExitCode::SUCCESS;
    }
    let unit = unit_of(&outcome.space);
    for (name, period, players) in &outcome.clips {
        ui.print(&format!("\"{name}\": a cycle of {} s, played by {players} instances", decimal(*period, 2)));
    }
    for (name, jump) in &outcome.jumps {
        let jump = show_length(*jump, &unit);
        ui.print(&format!("warning: \"{name}\" does not end where it begins: a joint jumps by {jump} once a cycle"));
    }
    for level in &outcome.levels {
        let what = format!("{:<8} {:>8} instances, {:>6} skins", level.level.name(), level.instances, level.skins);
        match &level.cost {
            None => ui.print(&what),
            Some(cost) => {
                let (rms, max) = (show_length(cost.rms, &unit), show_length(cost.max, &unit));
                let measured = level.measured;
                ui.print(&format!("{what}; {rms} rms from the full model, {max} at most ({measured} measured)"));
            }
        }
    }
    ui.print(&format!(
        "posed in {:.2} s: {:.0} instances per second of {} vertices; {} skins held at once",
        outcome.posing_seconds,
        outcome.rate(),
        outcome.vertices,
        outcome.skins_held
    ));
    ui.print(&format!(
        "written: {} ({} instances, {} frames)",
        outcome.written.display(),
        outcome.instances,
        outcome.frames
    ));
    if let Some(picture) = &outcome.picture {
        ui.print(&format!("drawn: {}", picture.display()));
    }
    ExitCode::SUCCESS
}
