//! How files are read and written, and ranges of numbers: options that several verbs share.

use crate::ui::Stop;
use clap::{Args, Command, ValueEnum};
use dermis_workflow::io::UpAxis;
use dermis_workflow::load::ReadOptions;
use dermis_workflow::recipe::{Compression, Existing, Provenance};
use dermis_workflow::rig::number::shortest;
use dermis_workflow::skins::WriteOptions;
use std::path::{Path, PathBuf};

/// How files are read where they do not say it themselves
#[derive(Args, Clone)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    #[command(flatten)]
    space: SpaceArgs,
    /// Sample clips at this rate instead of at their own keys
    #[arg(long, value_name = "FRAMES_PER_SECOND", allow_negative_numbers = true)]
    fps: Option<f64>,
    /// How far apart two positions may be at rest and still be the same vertex, in rest diagonals
    #[arg(long, default_value_t = 1e-4, value_name = "DIAGONALS", allow_negative_numbers = true)]
    match_tolerance: f64,
    /// Take vertices of examples and sculpts in their order, without the checks that recognise another order than the rig's
    #[arg(long)]
    trust_order: bool,
}

/// Axes and unit of files that do not state them
#[derive(Args, Clone)]
#[command(next_help_heading = "Reading")]
pub struct SpaceArgs {
    /// Axis that points up in OBJ, PC2, MDD, Alembic, BVH, C3D and TRC files; the rig file's own by default, Y for Alembic, BVH and TRC, Z for C3D
    #[arg(long, value_enum)]
    up: Option<Up>,
    /// Metres per unit of OBJ, PC2, MDD, Alembic, BVH, C3D and TRC files (0.01 for centimetres); the rig file's own by default
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    unit: Option<f64>,
}

/// Axes and unit of an FBX, USD or Alembic file that is written, and what a GLB holds
#[derive(Args, Clone)]
#[command(next_help_heading = "Writing")]
pub struct WriteArgs {
    /// Axis that points up in an FBX, USD or Alembic file that is written; Y by default, as programs expect
    #[arg(long, value_enum)]
    to_up: Option<Up>,
    /// Metres per unit of an FBX, USD or Alembic file that is written; by default 0.01 for FBX, as Maya and Unreal expect, 1 for USD, the
    /// input's for Alembic
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    to_unit: Option<f64>,
    /// Keep glTF extensions that are drafts and may change: KHR_character, KHR_character_skeleton_mapping
    #[arg(long)]
    drafts: bool,
}

impl WriteArgs {
    /// As the library takes them.
    ///
    /// # Errors
    /// [`Stop::Usage`] for a unit out of range.
    pub fn options(&self) -> Result<WriteOptions, Stop> {
        match self.to_unit.filter(|unit| !(1e-12..=1e9).contains(unit)) {
            Some(unit) => Err(Stop::Usage(format!(
                "--to-unit {}: it must lie between a picometre and a gigametre",
                shortest(unit)
            ))),
            None => Ok(WriteOptions { up: self.to_up.map(Up::axis), unit: self.to_unit, drafts: self.drafts }),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Up {
    Y,
    Z,
}

impl Up {
    fn axis(self) -> UpAxis {
        match self {
            Self::Y => UpAxis::Y,
            Self::Z => UpAxis::Z,
        }
    }
}

impl ReadArgs {
    /// As the library takes them.
    ///
    /// # Errors
    /// [`Stop::Usage`] for a rate or tolerance out of range.
    pub fn options(&self) -> Result<ReadOptions, Stop> {
        // What every format that is written can state: a BVH file holds steps of 1e-9 s to 1e6 s.
        if let Some(fps) = self.fps.filter(|fps| !(1e-6..=1e9).contains(fps)) {
            let rule = if fps > 0.0 { "it must lie between 1e-6 and 1e9" } else { "it must be positive" };
            return Err(Stop::Usage(format!("--fps {}: {rule}", shortest(fps))));
        }
        if !(self.match_tolerance >= 0.0 && self.match_tolerance.is_finite()) {
            return Err(Stop::Usage(format!(
                "--match-tolerance {}: it must be zero or more",
                shortest(self.match_tolerance)
            )));
        }
        Ok(ReadOptions {
            fps: self.fps,
            match_tolerance: self.match_tolerance,
            trust_order: self.trust_order,
            ..self.space.options()?
        })
    }
}

impl SpaceArgs {
    /// As the library takes them.
    ///
    /// # Errors
    /// [`Stop::Usage`] for a unit out of range.
    pub fn options(&self) -> Result<ReadOptions, Stop> {
        if let Some(unit) = self.unit.filter(|unit| !(1e-12..=1e9).contains(unit)) {
            return Err(Stop::Usage(format!(
                "--unit {}: it must lie between a picometre and a gigametre",
                shortest(unit)
            )));
        }
        Ok(ReadOptions { up: self.up.map(Up::axis), unit: self.unit, ..ReadOptions::default() })
    }
}

/// What models and pages say of the places of their files.
#[derive(Args, Clone, Copy)]
pub struct ProvenanceArgs {
    /// How the model and the page state the files that they come from: by paths below their own folder, and by the names alone of files
    /// elsewhere; or in full, as they were named
    #[arg(long, value_enum, default_value = "relative", value_name = "relative|full", hide_possible_values = true)]
    provenance: ProvenanceName,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProvenanceName {
    Relative,
    Full,
}

impl ProvenanceArgs {
    /// As the library takes it.
    pub fn choice(self) -> Provenance {
        match self.provenance {
            ProvenanceName::Relative => Provenance::Relative,
            ProvenanceName::Full => Provenance::Full,
        }
    }
}

/// Adds defaults to the help of options, by id.
pub fn add_defaults(command: Command, defaults: impl IntoIterator<Item = (&'static str, String)>) -> Command {
    defaults.into_iter().fold(command, |command, (id, default)| {
        command.mut_arg(id, |arg| {
            let help = arg.get_help().map_or_else(String::new, ToString::to_string);
            arg.help(format!("{help} [default: {default}]"))
        })
    })
}

/// Reads the path of a page.
///
/// # Errors
/// A path that does not end in .html, such as a folder, which older versions took.
pub fn page(text: &str) -> Result<PathBuf, String> {
    match Path::new(text).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html")) {
        true => Ok(text.into()),
        false => Err(format!("a page is a file (.html): say {}.html", text.trim_end_matches(['/', '\\']))),
    }
}

/// Reads `--compress`.
///
/// # Errors
/// What the option takes.
pub fn compression(text: &str) -> Result<Compression, String> {
    match text {
        "meshopt" => Ok(Compression::Meshopt),
        _ => Err("the only codec is \"meshopt\"".into()),
    }
}

/// What `--force` says of outputs that are there already.
pub fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Keep }
}

/// The value, if it lies between `low` and `high`.
///
/// # Errors
/// [`Stop::Usage`] that names the option.
pub fn within(name: &str, value: f64, low: f64, high: f64) -> Result<f64, Stop> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    let rule = match (low > f64::MIN, high < f64::MAX) {
        (true, true) => format!("it must lie in {}..{}", shortest(low), shortest(high)),
        (true, false) => format!("it must be {} or more, and finite", shortest(low)),
        _ => "it must be finite".into(),
    };
    Err(Stop::Usage(format!("{name} {}: {rule}", shortest(value))))
}
