//! Options of fitted skinning weights.

use crate::options::within;
use clap::{Args, ValueEnum};
use dermis_workflow::Error;
use dermis_workflow::fit::{CandidateSource, WeightOptions};
use dermis_workflow::fits::weights::{WeightBits, WeightKind};
use dermis_workflow::load::read_bytes;
use std::path::Path;

/// Skinning weights (--method lbs)
#[derive(Args, Clone)]
#[command(next_help_heading = "Weights (--method lbs)")]
pub struct WeightArgs {
    /// Bones that may have weight at a vertex: a number, or "all" [default: 4]
    #[arg(long, value_name = "N|all")]
    influences: Option<String>,
    /// Which numbers are weights: convex (not negative, sum one), affine (sum one), or plain (any) [default: convex]
    #[arg(long, value_enum)]
    weights_kind: Option<KindName>,
    /// How much weights of neighbours must agree, relative to the squared rest diagonal: 1e-6 calms noise, 1e-3 smooths [default: 0]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    smooth_weights: Option<f64>,
    /// Bones that may have weight: those of the influence maps, all, or those that the examples show to move a vertex
    /// [default: maps if the rig has weights or maps, else all]
    #[arg(long, value_enum)]
    candidates: Option<CandidateName>,
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

#[derive(Clone, Copy, ValueEnum)]
enum KindName {
    Convex,
    Affine,
    Plain,
}

#[derive(Clone, Copy, ValueEnum)]
enum CandidateName {
    Maps,
    All,
    Examples,
}

impl WeightArgs {
    /// The names of the options that were given.
    pub fn given(&self) -> Vec<&'static str> {
        let set = [
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
        set.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect()
    }

    /// As the library takes them.
    ///
    /// # Errors
    /// [`Error::Option`] for values out of range, [`Error::File`] for a list that cannot be read.
    pub fn options(&self) -> Result<WeightOptions, Error> {
        let defaults = WeightOptions::default();
        let kind = self.weights_kind.map_or(defaults.kind, |kind| match kind {
            KindName::Convex => WeightKind::Convex,
            KindName::Affine => WeightKind::Affine,
            KindName::Plain => WeightKind::Plain,
        });
        let bits = match self.weight_bits.as_deref() {
            None => None,
            Some("8") => Some(WeightBits::Eight),
            Some("16") => Some(WeightBits::Sixteen),
            Some(other) => return Err(Error::Option(format!("--weight-bits {other}: it must be 8 or 16"))),
        };
        if kind != WeightKind::Convex {
            for (name, set) in [("--smooth-weights", self.smooth_weights.is_some()), ("--weight-bits", bits.is_some())]
            {
                if set {
                    return Err(Error::Option(format!("{name} serves --weights-kind convex")));
                }
            }
        }
        let smoothness = self.smooth_weights.map(|a| within("--smooth-weights", a, 0.0, 1e6)).transpose()?;
        Ok(WeightOptions {
            kind,
            influences: self.influences.as_deref().map_or(Ok(defaults.influences), influences)?,
            smoothness: smoothness.unwrap_or(defaults.smoothness),
            candidates: self.candidates.map_or(defaults.candidates, |candidates| match candidates {
                CandidateName::Maps => CandidateSource::Maps,
                CandidateName::All => CandidateSource::All,
                CandidateName::Examples => CandidateSource::Examples,
            }),
            lock_bones: self.lock_bones.clone(),
            lock_vertices: self.lock_vertices.as_deref().map_or(Ok(vec![]), vertices)?,
            lock_pairs: self.lock_weights.as_deref().map_or(Ok(vec![]), pairs)?,
            symmetric: self.symmetric,
            bits,
        })
    }
}

fn influences(text: &str) -> Result<Option<usize>, Error> {
    match (text, text.parse::<usize>()) {
        ("all", _) => Ok(None),
        (_, Ok(most)) if most > 0 => Ok(Some(most)),
        _ => Err(Error::Option(format!("--influences {text}: it must be a positive number, or \"all\""))),
    }
}

/// The items of a list, or of a file that holds one: separated by commas or white space.
fn items(text: &str) -> Result<Vec<String>, Error> {
    let held = match Path::new(text).is_file() {
        true => String::from_utf8_lossy(&read_bytes(text.as_ref())?).into_owned(),
        false => text.to_owned(),
    };
    let items = held.split(|c: char| c == ',' || c.is_whitespace()).filter(|item| !item.is_empty());
    Ok(items.map(str::to_owned).collect())
}

/// Numbers and ranges of vertices.
fn vertices(text: &str) -> Result<Vec<u32>, Error> {
    let wrong = |item: &str| {
        Error::Option(format!(
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
fn pairs(text: &str) -> Result<Vec<(u32, String)>, Error> {
    let pair = |item: &String| {
        let (vertex, bone) = item.split_once(':')?;
        Some((vertex.parse().ok()?, bone.to_owned()))
    };
    let wrong = |item: &String| {
        Error::Option(format!(
            "--lock-weights: \"{item}\" is not VERTEX:BONE; use 12:arm,13:arm or a file with such pairs"
        ))
    };
    items(text)?.iter().map(|item| pair(item).ok_or_else(|| wrong(item))).collect()
}
