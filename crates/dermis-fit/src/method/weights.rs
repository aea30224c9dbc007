//! Fitted skinning weights as a [`Method`](super::Method).

use super::error::Lack;
use super::learnt::SolvedBy;
use super::settings::{Row, Setting, items, number, some, switch, word};
use super::{FitInput, FitReport, FitWarning, Learnt, MapSource, MethodError, MethodReport, short};
use crate::influence::{self, Found, InfluenceSettings, Source};
use crate::maps::{self, MapSettings};
use crate::training::{BasePoses, FitError, Progress, table};
use crate::weights::{Fidelity, Locks, WeightBits, WeightKind, WeightReport, WeightSettings, fit_weights};
use dermis_deform::Base;
use dermis_rig::{BoneIndex, Influences, Mirror, Rig};
use serde::{Deserialize, Serialize};

/// Where the bones come from that may have weight at a vertex.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateSource {
    /// Influence maps where the rig has maps or weights, else all bones.
    Auto(MapSource),
    /// Influence maps.
    Maps(MapSource),
    /// Every bone.
    All,
    /// Bones that examples show to move the vertex.
    Examples,
}

impl Default for CandidateSource {
    fn default() -> Self {
        Self::Auto(MapSource::default())
    }
}

impl CandidateSource {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::default()),
            "maps" => Ok(Self::Maps(MapSource::default())),
            "all" => Ok(Self::All),
            "examples" => Ok(Self::Examples),
            _ => Err("use auto, maps, all or examples".into()),
        }
    }
}

/// Weights that are fitted, linearly blended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LbsMethod {
    /// Which numbers may be weights.
    pub kind: WeightKind,
    /// Most influences of a vertex; `None`: no limit.
    pub influences: Option<usize>,
    /// How much weights of neighbours must agree; needs convex weights.
    pub smoothness: f64,
    /// Where candidate bones come from.
    pub candidates: CandidateSource,
    /// Bones whose weights stay the rig's.
    pub lock_bones: Vec<String>,
    /// Vertices whose weights stay the rig's.
    pub lock_vertices: Vec<u32>,
    /// Single weights that stay the rig's.
    pub lock_weights: Vec<(u32, String)>,
    /// Left and right get the same weights.
    pub symmetric: bool,
    /// Weights as whole numbers of so many bits; needs convex weights.
    pub bits: Option<WeightBits>,
}

impl Default for LbsMethod {
    fn default() -> Self {
        let settings = WeightSettings::default();
        Self {
            kind: settings.kind,
            influences: settings.influences,
            smoothness: settings.smoothness,
            candidates: CandidateSource::default(),
            lock_bones: Vec::new(),
            lock_vertices: Vec::new(),
            lock_weights: Vec::new(),
            symmetric: false,
            bits: settings.bits,
        }
    }
}

/// What a fit of weights found, with bones by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LbsReport {
    influences: usize,
    /// Of a weight stored as a whole number; `None`: weights are not rounded.
    bits: Option<u32>,
    candidates: Candidates,
    objective: f64,
    fitted: Error,
    unlimited: Option<Error>,
    quantisation: Option<Quantised>,
    undetermined_vertices: usize,
    bones_that_move_alike: Vec<Vec<String>>,
    mirrored_vertices: usize,
    sweeps: Option<usize>,
    last_change: Option<f64>,
    weights_vs_rig: Option<Against>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Candidates {
    source: String,
    mean: f64,
    most: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Error {
    rms: f64,
    max: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Quantised {
    bits: u32,
    largest_change: f64,
    before: Error,
}

/// How far fitted weights are from the rig's: quantiles over the vertices of the largest difference of a weight, and the
/// root mean square over weights that either has.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Against {
    max: Option<f64>,
    p999: Option<f64>,
    p99: Option<f64>,
    p95: Option<f64>,
    median: Option<f64>,
    rms: f64,
    #[serde(rename = "within_0.001")]
    within: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bones_that_move_alike_as_one: Option<Box<Against>>,
}

const SMOOTHNESS: Setting = Setting::new(
    "smoothness",
    "A",
    "0",
    "How much weights of neighbours must agree, relative to the squared rest diagonal: 1e-6 calms noise, 1e-3 smooths",
)
.range(0.0, 1e6);
const BITS: Setting = Setting::new(
    "bits",
    "8|16",
    "not rounded",
    "Round the weights to multiples of 1/255 or 1/65535 whose sum is exactly one",
);

/// Numbers and ranges of vertices.
fn vertices(text: &str) -> Result<Vec<u32>, String> {
    let wrong = |item| format!("\"{item}\" is no vertex and no range; use 3,7,10-19 or a file with such numbers");
    let mut all = Vec::new();
    for item in items(text) {
        let (low, high) = item.split_once('-').unwrap_or((item, item));
        let ends: Option<(u32, u32)> = low.parse().ok().zip(high.parse().ok());
        // No mesh has more vertices; a longer range is a slip of the hand.
        let (low, high) = ends.filter(|(l, h)| l <= h && h - l <= 100_000_000).ok_or_else(|| wrong(item))?;
        all.extend(low..=high);
    }
    Ok(all)
}

/// Vertices with a bone each.
fn pairs(text: &str) -> Result<Vec<(u32, String)>, String> {
    let pair = |item: &str| {
        let (vertex, bone) = item.split_once(':')?;
        Some((vertex.parse().ok()?, bone.to_owned()))
    };
    let wrong = |item| format!("\"{item}\" is not VERTEX:BONE; use 12:arm,13:arm or a file with such pairs");
    items(text).map(|item| pair(item).ok_or_else(|| wrong(item))).collect()
}

impl LbsMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let kind = Setting::new(
            "kind",
            "convex|affine|plain",
            "convex",
            "Which numbers are weights: convex (not negative, sum one), affine (sum one), or plain (any)",
        );
        let influences = Setting::new("influences", "N|all", "4", "Bones that may have weight at a vertex");
        let candidates = Setting::new(
            "candidates",
            "auto|maps|all|examples",
            "auto",
            "Bones that may have weight: those of the influence maps, all, or those that the examples show to move a vertex; auto: maps if \
             the rig has weights or maps, else all",
        );
        let bones = Setting::new("lock-bones", "NAME,NAME", "", "Bones whose weights stay the rig's");
        let locked = Setting::new("lock-vertices", "LIST|FILE", "", "Vertices whose weights stay the rig's: 3,7,10-19");
        let single =
            Setting::new("lock-weights", "LIST|FILE", "", "Single weights that stay the rig's: VERTEX:BONE,...");
        let symmetric = Setting::new(
            "symmetric",
            "on|off",
            "off",
            "Left and right get the same weights, learnt from the examples of both",
        );
        let most = |text: &str| match (text, text.parse::<usize>()) {
            ("all", _) => Ok(None),
            (_, Ok(most)) if most > 0 => Ok(Some(most)),
            _ => Err("it must be a positive number, or \"all\"".into()),
        };
        let bits = |text: &str| match text {
            "8" => Ok(WeightBits::Eight),
            "16" => Ok(WeightBits::Sixteen),
            _ => Err("it must be 8 or 16".into()),
        };
        let names = |text: &str| Ok(text.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect());
        let mut rows: Vec<Row<Self>> = vec![
            Row::new(kind, word, |own: &mut Self| &mut own.kind),
            Row::new(influences, most, |own| &mut own.influences),
            Row::new(SMOOTHNESS, number, |own| &mut own.smoothness),
            Row::new(candidates, CandidateSource::read, |own| &mut own.candidates),
        ];
        for row in MapSource::rows() {
            let setting = Setting { field: "candidates", ..row.setting };
            rows.push(Row::by(setting, move |own: &mut Self, text| match &mut own.candidates {
                CandidateSource::Auto(maps) | CandidateSource::Maps(maps) => (row.set)(maps, text),
                CandidateSource::All | CandidateSource::Examples => {
                    Err("it has no effect beside candidates that are no maps".into())
                }
            }));
        }
        rows.extend([
            Row::new(bones, names, |own: &mut Self| &mut own.lock_bones),
            Row::new(locked, vertices, |own| &mut own.lock_vertices),
            Row::new(single, pairs, |own| &mut own.lock_weights),
            Row::new(symmetric, switch, |own| &mut own.symmetric),
            Row::new(BITS, some(bits), |own| &mut own.bits),
        ]);
        rows
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        if self.kind != WeightKind::Convex {
            let with = "but on convex weights";
            for (setting, set) in [(SMOOTHNESS.name, self.smoothness > 0.0), (BITS.name, self.bits.is_some())] {
                if set {
                    return Err(MethodError::Unused { setting, with });
                }
            }
        }
        if self.influences == Some(0) {
            let rule = "it must be a positive number, or \"all\"".into();
            return Err(MethodError::Setting { setting: "influences", value: 0.0, rule });
        }
        if let CandidateSource::Auto(maps) | CandidateSource::Maps(maps) = &self.candidates {
            maps.check()?;
        }
        SMOOTHNESS.check(self.smoothness)
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let rig = input.rig;
        let training = input.training(BasePoses::NONE);
        let neighbours = rig.mesh().neighbours();
        let known = rig.influence_maps().is_some() || rig.weights().is_some();
        let (candidates, source) = match &self.candidates {
            CandidateSource::Auto(_) if !known => (None, "all bones".to_owned()),
            CandidateSource::Auto(maps) | CandidateSource::Maps(maps) => {
                (Some(with_own(rig, &maps.of(input, progress)?)?), "influence maps".into())
            }
            CandidateSource::All => (None, "all bones".into()),
            CandidateSource::Examples => {
                let found = influence::from_examples(&training, &neighbours, &InfluenceSettings::default(), progress)?;
                let source = said(&found);
                (Some(found.candidates), source)
            }
        };
        let settings = WeightSettings {
            kind: self.kind,
            influences: self.influences,
            candidates,
            smoothness: self.smoothness,
            locks: self.locks(input)?,
            mirror: self.symmetric.then(|| mirror(input)).transpose()?,
            bits: self.bits,
            ..WeightSettings::default()
        };
        let (weights, found) = fit_weights(&training, &neighbours, &settings, progress)?;
        let against = rig.weights().map(|own| {
            let mut one_of: Vec<usize> = (0..rig.skeleton().len()).collect();
            for group in &found.alike {
                group.iter().for_each(|bone| one_of[bone.get()] = group[0].get());
            }
            let as_one = Against::of(&own.with_bones(&one_of), &weights.with_bones(&one_of));
            Against { bones_that_move_alike_as_one: Some(Box::new(as_one)), ..Against::of(own, &weights) }
        });
        let mut report = FitReport::new("lbs", MethodReport::Lbs(LbsReport::new(rig, &found, &source, against)));
        report.settings.extend(self.lines(&source, &found));
        report.warnings = self.warnings(rig, &found, &weights);
        let learnt = Learnt::new(Base::Lbs(weights.clone()), None, input, report, SolvedBy::Other)?;
        Ok(Learnt { weights: Some(weights), ..learnt })
    }

    fn locks(&self, input: &FitInput<'_>) -> Result<Option<Locks>, MethodError> {
        if self.lock_bones.is_empty() && self.lock_vertices.is_empty() && self.lock_weights.is_empty() {
            return Ok(None);
        }
        let weights = input.rig.weights().cloned().ok_or_else(|| input.lacks(Lack::WeightsToLock))?;
        let vertices = input.rig.mesh().positions.len();
        let named = self.lock_vertices.iter().chain(self.lock_weights.iter().map(|(v, _)| v));
        if let Some(vertex) = named.copied().find(|v| *v as usize >= vertices) {
            return Err(MethodError::NoVertex { vertex, vertices });
        }
        let pairs = self.lock_weights.iter().map(|(v, name)| Ok((*v, input.bone(name)?)));
        Ok(Some(Locks {
            weights,
            bones: self.lock_bones.iter().map(|name| input.bone(name)).collect::<Result<_, _>>()?,
            vertices: self.lock_vertices.clone(),
            pairs: pairs.collect::<Result<_, MethodError>>()?,
        }))
    }

    fn lines(&self, source: &str, report: &WeightReport) -> Vec<(String, String)> {
        let limit = self.influences.map_or("all".into(), |most| most.to_string());
        let mut lines = vec![
            ("weights".to_owned(), kind_text(self.kind).to_owned()),
            ("influences".into(), limit),
            ("candidates".into(), format!("{source}, {:.1} a vertex", report.candidates.0)),
            ("smoothness".into(), if self.smoothness > 0.0 { short(self.smoothness) } else { "none".into() }),
            ("symmetric".into(), if self.symmetric { "yes".into() } else { "no".into() }),
            ("bits".into(), self.bits.map_or("not rounded".into(), |own| bits(own).to_string())),
        ];
        let locked = (self.lock_bones.len(), self.lock_vertices.len(), self.lock_weights.len());
        if locked != (0, 0, 0) {
            let text = format!("{} bones, {} vertices, {} single weights", locked.0, locked.1, locked.2);
            lines.push(("locked".into(), text));
        }
        lines
    }

    fn warnings(&self, rig: &Rig, report: &WeightReport, weights: &Influences) -> Vec<FitWarning> {
        /// Smooth weights whose last change is larger have not settled.
        const UNSETTLED: f64 = 1e-3;
        let mut warnings = Vec::new();
        let all = rig.mesh().positions.len();
        let negative = weights.rows().filter(|row| row.iter().any(|(_, w)| *w < 0.0)).count();
        match self.kind {
            WeightKind::Affine if negative > 0 => {
                warnings.push(FitWarning::NegativeWeights { vertices: negative, all });
            }
            WeightKind::Convex | WeightKind::Affine => {}
            WeightKind::Plain => warnings.push(FitWarning::PlainWeights { negative, all }),
        }
        if report.undetermined > 0 {
            warnings.push(FitWarning::Undetermined { vertices: report.undetermined, all });
        }
        let carries = weighted(weights, rig.skeleton().len());
        let names = |bones: &Vec<BoneIndex>| {
            let names: Vec<&str> = bones.iter().take(4).map(|b| rig.skeleton().names()[*b].as_str()).collect();
            let more = bones.len().saturating_sub(names.len());
            names.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
        };
        let alike =
            report.alike.iter().map(|group| group.iter().copied().filter(|b| carries[b.get()]).collect::<Vec<_>>());
        let groups: Vec<String> = alike.filter(|group| group.len() > 1).map(|group| names(&group)).collect();
        if !groups.is_empty() {
            warnings.push(FitWarning::MovedAlike { groups });
        }
        if let Some((sweeps, change)) = report.sweeps.filter(|s| s.1 > UNSETTLED) {
            warnings.push(FitWarning::Unsettled { sweeps, change });
        }
        warnings
    }
}

/// Maps leave out the smallest weights, but a bone that the rig gives one may keep it.
fn with_own(rig: &Rig, maps: &Influences) -> Result<Influences, FitError> {
    let Some(own) = rig.weights() else { return Ok(maps.clone()) };
    let rows = maps.rows().zip(own.rows()).map(|(maps, own)| maps.iter().chain(own).copied().collect());
    table("the influence maps with the rig's own bones", rows)
}

/// What was found in examples, in words.
fn said(found: &Found) -> String {
    match found.source {
        Source::SingleJoints => "bones found in poses of one joint each".into(),
        Source::Motion => "bones found in the examples' motion".into(),
        Source::Published => "bones by the published rule".into(),
        Source::Nearest => "the nearest bones".into(),
    }
}

/// Influence maps made of influences that examples show.
pub(super) fn maps_from_examples(
    input: &FitInput<'_>,
    settings: MapSettings,
    progress: Progress<'_>,
) -> Result<Influences, MethodError> {
    let (rig, training) = (input.rig, input.training(BasePoses::NONE));
    let found = influence::from_examples(&training, &rig.mesh().neighbours(), &InfluenceSettings::default(), progress)?;
    let (weights, _) = found.weights.normalised();
    Ok(maps::from_weights(rig.skeleton(), rig.mesh(), &weights, settings)?)
}

/// The rig's symmetry. Without weights the influence of each bone is taken to end half way to the next: nearest bones tell
/// partners.
fn mirror(input: &FitInput<'_>) -> Result<Mirror, MethodError> {
    let rig = input.rig;
    let nearest = || {
        let rows = rig.mesh().positions.iter().map(|p| {
            let distance = |b: &BoneIndex| rig.skeleton().bind()[*b].translation.distance_squared(*p);
            let bone = rig.skeleton().bones().min_by(|a, b| distance(a).total_cmp(&distance(b)));
            vec![bone.unwrap_or(BoneIndex::new(0))]
        });
        Influences::of_bones(rows).map_err(|source| FitError::Table { table: "the nearest bones", source })
    };
    let weights = rig.weights().cloned().map_or_else(nearest, Ok)?;
    Mirror::find(&rig.mesh().positions, rig.skeleton(), &weights).ok_or_else(|| input.lacks(Lack::Symmetry))
}

fn kind_text(kind: WeightKind) -> &'static str {
    match kind {
        WeightKind::Convex => "convex",
        WeightKind::Affine => "affine",
        WeightKind::Plain => "plain",
    }
}

fn bits(bits: WeightBits) -> u32 {
    match bits {
        WeightBits::Eight => 8,
        WeightBits::Sixteen => 16,
    }
}

/// Bones that some vertex has weight of.
fn weighted(weights: &Influences, bones: usize) -> Vec<bool> {
    let mut carries = vec![false; bones];
    weights.rows().flatten().for_each(|(bone, _)| carries[bone.get()] = true);
    carries
}

impl Against {
    fn of(own: &Influences, fitted: &Influences) -> Self {
        let (mut squares, mut count) = (0.0, 0usize);
        let mut largest: Vec<f64> = own
            .rows()
            .enumerate()
            .map(|(v, row)| {
                let mut bones: Vec<BoneIndex> = row.iter().chain(fitted.of(v)).map(|(bone, _)| *bone).collect();
                bones.sort_unstable();
                bones.dedup();
                bones.iter().fold(0.0f64, |most, &bone| {
                    let d = (own.value(v, bone) - fitted.value(v, bone)).abs();
                    squares += d * d;
                    count += 1;
                    most.max(d)
                })
            })
            .collect();
        largest.sort_by(f64::total_cmp);
        let quantile = |q: f64| largest.get(((largest.len() as f64 * q).ceil() as usize).saturating_sub(1)).copied();
        Self {
            max: quantile(1.0),
            p999: quantile(0.999),
            p99: quantile(0.99),
            p95: quantile(0.95),
            median: quantile(0.5),
            rms: (squares / count.max(1) as f64).sqrt(),
            within: largest.iter().filter(|d| **d <= 1e-3).count() as f64 / largest.len().max(1) as f64,
            bones_that_move_alike_as_one: None,
        }
    }
}

impl LbsReport {
    fn new(rig: &Rig, report: &WeightReport, source: &str, against: Option<Against>) -> Self {
        let error = |f: &Fidelity| Error { rms: f.rms, max: f.max };
        let names = |bones: &Vec<BoneIndex>| bones.iter().map(|b| rig.skeleton().names()[*b].clone()).collect();
        Self {
            influences: report.most_influences,
            bits: report.quantisation.as_ref().map(|q| bits(q.bits)),
            candidates: Candidates { source: source.into(), mean: report.candidates.0, most: report.candidates.1 },
            objective: report.objective,
            fitted: error(&report.result),
            unlimited: report.unlimited.as_ref().map(error),
            quantisation: report.quantisation.as_ref().map(|q| Quantised {
                bits: bits(q.bits),
                largest_change: q.largest_change,
                before: error(&q.before),
            }),
            undetermined_vertices: report.undetermined,
            bones_that_move_alike: report.alike.iter().map(names).collect(),
            mirrored_vertices: report.mirrored,
            sweeps: report.sweeps.map(|s| s.0),
            last_change: report.sweeps.map(|s| s.1),
            weights_vs_rig: against,
        }
    }
}
