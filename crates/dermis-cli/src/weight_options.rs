//! Options of fitted skinning weights.

use crate::method_options::of;
use crate::ui::Stop;
use clap::Args;
use dermis_workflow::fits::method::LbsMethod;
use dermis_workflow::fits::weights::{WeightBits, WeightKind};
use dermis_workflow::load::read_bytes;
use std::path::Path;

/// Skinning weights (--method lbs)
#[derive(Args, Clone)]
#[command(next_help_heading = "Weights (--method lbs)")]
pub struct WeightArgs {
    /// Bones that may have weight at a vertex: a number, or "all"
    #[arg(long, value_name = "N|all")]
    influences: Option<String>,
    /// Which numbers are weights: convex (not negative, sum one), affine (sum one), or plain (any) [default: convex]
    #[arg(long, value_parser = of::<WeightKind, 3>(["convex", "affine", "plain"]))]
    weights_kind: Option<WeightKind>,
    /// How much weights of neighbours must agree, relative to the squared rest diagonal: 1e-6 calms noise, 1e-3 smooths
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    smooth_weights: Option<f64>,
    /// Bones that may have weight: those of the influence maps, all, or those that the examples show to move a vertex
    /// [default: maps if the rig has weights or maps, else all]
    #[arg(long, value_parser = ["maps", "all", "examples"])]
    candidates: Option<String>,
    /// Bones whose weights stay the rig's, NAME,NAME
    #[arg(long, value_delimiter = ',', value_name = "BONES")]
    lock_bones: Vec<String>,
    /// Vertices whose weights stay the rig's: 3,7,10-19, or a file with such numbers
    #[arg(long, value_name = "LIST|FILE")]
    lock_vertices: Option<String>,
    /// Single weights that stay the rig's: VERTEX:BONE,VERTEX:BONE, or a file with such pairs
    #[arg(long, value_name = "LIST|FILE")]
    lock_weights: Option<String>,
    /// Left and right get the same weights, learnt from the examples of both
    #[arg(long)]
    symmetric: bool,
    /// Round the weights to multiples of 1/255 or 1/65535 whose sum is exactly one
    #[arg(long, value_name = "8|16")]
    weight_bits: Option<String>,
}

impl WeightArgs {
    /// The options that no setting took.
    pub fn left(&self) -> impl Iterator<Item = &'static str> + use<> {
        let own = [
            ("--influences", self.influences.is_some()),
            ("--weights-kind", self.weights_kind.is_some()),
            ("--smooth-weights", self.smooth_weights.is_some()),
            ("--candidates", self.candidates.is_some()),
            ("--lock-bones", !self.lock_bones.is_empty()),
            ("--lock-vertices", self.lock_vertices.is_some()),
            ("--lock-weights", self.lock_weights.is_some()),
            ("--symmetric", self.symmetric),
            ("--weight-bits", self.weight_bits.is_some()),
        ];
        own.into_iter().filter(|(_, set)| *set).map(|(name, _)| name)
    }

    /// The settings, but for the source of candidates, which may need influence maps.
    ///
    /// # Errors
    /// [`Stop::Usage`] for values out of range, [`Stop::Recipe`] for a list that cannot be read.
    pub fn take(&mut self) -> Result<(LbsMethod, Option<String>), Stop> {
        let defaults = LbsMethod::default();
        let bits = match self.weight_bits.take().as_deref() {
            None => None,
            Some("8") => Some(WeightBits::Eight),
            Some("16") => Some(WeightBits::Sixteen),
            Some(other) => return Err(Stop::Usage(format!("--weight-bits {other}: it must be 8 or 16"))),
        };
        let own = LbsMethod {
            kind: self.weights_kind.take().unwrap_or(defaults.kind),
            influences: self.influences.take().as_deref().map_or(Ok(defaults.influences), influences)?,
            smoothness: self.smooth_weights.take().unwrap_or(defaults.smoothness),
            lock_bones: std::mem::take(&mut self.lock_bones),
            lock_vertices: self.lock_vertices.take().as_deref().map_or(Ok(vec![]), vertices)?,
            lock_weights: self.lock_weights.take().as_deref().map_or(Ok(vec![]), pairs)?,
            symmetric: std::mem::take(&mut self.symmetric),
            bits,
            ..defaults
        };
        Ok((own, self.candidates.take()))
    }
}

/// What the settings are by default, by option.
pub fn defaults() -> Vec<(&'static str, String)> {
    let own = LbsMethod::default();
    vec![
        ("influences", own.influences.map_or("all".into(), |most| most.to_string())),
        ("smooth_weights", own.smoothness.to_string()),
    ]
}

fn influences(text: &str) -> Result<Option<usize>, Stop> {
    match (text, text.parse::<usize>()) {
        ("all", _) => Ok(None),
        (_, Ok(most)) if most > 0 => Ok(Some(most)),
        _ => Err(Stop::Usage(format!("--influences {text}: it must be a positive number, or \"all\""))),
    }
}

/// The items of a list, or of a file that holds one: separated by commas or white space.
fn items(text: &str) -> Result<Vec<String>, Stop> {
    let held = match Path::new(text).is_file() {
        true => String::from_utf8_lossy(&read_bytes(text.as_ref())?).into_owned(),
        false => text.to_owned(),
    };
    let items = held.split(|c: char| c == ',' || c.is_whitespace()).filter(|item| !item.is_empty());
    Ok(items.map(str::to_owned).collect())
}

/// Numbers and ranges of vertices.
fn vertices(text: &str) -> Result<Vec<u32>, Stop> {
    let wrong = |item: &str| {
        Stop::Usage(format!(
            "--lock-vertices: \"{item}\" is no vertex and no range; use 3,7,10-19 or a file with such numbers"
        ))
    };
    let mut all = Vec::new();
    for item in items(text)? {
        let (low, high) = item.split_once('-').unwrap_or((&item, &item));
        let (low, high): (u32, u32) =
            low.parse().ok().zip(high.parse().ok()).filter(|(l, h)| l <= h).ok_or_else(|| wrong(&item))?;
        // No mesh has more vertices; a longer range is a slip of the hand.
        if high - low > 100_000_000 {
            return Err(wrong(&item));
        }
        all.extend(low..=high);
    }
    Ok(all)
}

/// Vertices with a bone each.
fn pairs(text: &str) -> Result<Vec<(u32, String)>, Stop> {
    let pair = |item: &String| {
        let (vertex, bone) = item.split_once(':')?;
        Some((vertex.parse().ok()?, bone.to_owned()))
    };
    let wrong = |item: &String| {
        Stop::Usage(format!(
            "--lock-weights: \"{item}\" is not VERTEX:BONE; use 12:arm,13:arm or a file with such pairs"
        ))
    };
    items(text)?.iter().map(|item| pair(item).ok_or_else(|| wrong(item))).collect()
}
