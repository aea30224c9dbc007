//! Skinning weights as a method of [`fit`](crate::fit): settings from options, and its part of the report.

use super::{BasePoses, FitOptions, maps_of, short, training_of};
use crate::error::Error;
use dermis_fit::influence::{self, Found, InfluenceSettings, Source};
use dermis_fit::maps;
use dermis_fit::weights::{Fidelity, Locks, WeightBits, WeightKind, WeightReport, WeightSettings};
use dermis_fit::{Progress, fit_weights};
use dermis_rig::{BoneIndex, ExampleSet, Influences, Mirror, Rig};
use serde_json::{Value, json};

/// Where the bones come from that may have weight at a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CandidateSource {
    /// Influence maps where the rig has maps or weights, else all bones.
    #[default]
    Auto,
    /// Influence maps, as [`MapSource`](super::MapSource) says.
    Maps,
    /// Every bone.
    All,
    /// Bones that examples show to move the vertex.
    Examples,
}

/// What a caller sets for fitted weights.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightOptions {
    /// Which numbers may be weights.
    pub kind: WeightKind,
    /// Most influences of a vertex; `None`: no limit.
    pub influences: Option<usize>,
    /// How much weights of neighbours must agree.
    pub smoothness: f64,
    /// Where candidate bones come from.
    pub candidates: CandidateSource,
    /// Bones whose weights stay the rig's.
    pub lock_bones: Vec<String>,
    /// Vertices whose weights stay the rig's.
    pub lock_vertices: Vec<u32>,
    /// Single weights that stay the rig's.
    pub lock_pairs: Vec<(u32, String)>,
    /// Left and right get the same weights.
    pub symmetric: bool,
    /// Weights as whole numbers of this many bits.
    pub bits: Option<WeightBits>,
}

impl Default for WeightOptions {
    fn default() -> Self {
        let settings = WeightSettings::default();
        Self {
            kind: settings.kind,
            influences: settings.influences,
            smoothness: settings.smoothness,
            candidates: CandidateSource::default(),
            lock_bones: Vec::new(),
            lock_vertices: Vec::new(),
            lock_pairs: Vec::new(),
            symmetric: false,
            bits: settings.bits,
        }
    }
}

/// Fitted weights with what is said of them.
pub(super) struct FittedWeights {
    pub(super) weights: Influences,
    pub(super) lines: Vec<(String, String)>,
    pub(super) report: Value,
    pub(super) warnings: Vec<String>,
}

/// Fits the rig's weights to examples.
pub(super) fn fit(
    rig: &Rig,
    examples: &ExampleSet,
    options: &FitOptions,
    progress: Progress<'_>,
) -> Result<FittedWeights, Error> {
    let wanted = &options.weights;
    let training = training_of(rig, examples, BasePoses::NONE);
    let neighbours = rig.mesh.neighbours();
    let known = rig.influence_maps.is_some() || rig.weights.is_some();
    let (candidates, source) = match wanted.candidates {
        CandidateSource::Auto if !known => (None, "all bones".to_owned()),
        CandidateSource::Auto | CandidateSource::Maps => {
            (Some(with_own(rig, &maps_of(rig, examples, options, progress)?)), "influence maps".into())
        }
        CandidateSource::All => (None, "all bones".into()),
        CandidateSource::Examples => {
            let found = influence::from_examples(&training, &neighbours, &InfluenceSettings::default(), progress)?;
            let source = said(&found);
            (Some(found.candidates), source)
        }
    };
    let settings = WeightSettings {
        kind: wanted.kind,
        influences: wanted.influences,
        candidates,
        smoothness: wanted.smoothness,
        locks: locks(rig, wanted)?,
        mirror: wanted.symmetric.then(|| mirror(rig)).transpose()?,
        bits: wanted.bits,
        ..WeightSettings::default()
    };
    let (weights, report) = fit_weights(&training, &neighbours, &settings, progress)?;
    let against = rig.weights.as_ref().map(|own| {
        let mut one_of: Vec<usize> = (0..rig.skeleton.len()).collect();
        for group in &report.alike {
            group.iter().for_each(|bone| one_of[bone.get()] = group[0].get());
        }
        let mut value = against(own, &weights);
        value["bones_that_move_alike_as_one"] = against(&own.with_bones(&one_of), &weights.with_bones(&one_of));
        value
    });
    Ok(FittedWeights {
        lines: lines(wanted, &source, &report),
        warnings: warnings(rig, wanted, &report, &weights),
        report: json(rig, &report, &source, against),
        weights,
    })
}

/// Maps leave out the smallest weights, but a bone that the rig gives one may keep it.
fn with_own(rig: &Rig, maps: &Influences) -> Influences {
    let Some(own) = &rig.weights else { return maps.clone() };
    let rows = maps.rows().zip(own.rows()).map(|(maps, own)| maps.iter().chain(own).copied().collect());
    Influences::from_rows(rows).unwrap_or_default()
}

/// What was found in examples, in words.
fn said(found: &Found) -> String {
    match found.source {
        Source::SingleJoints => "bones found in poses of one joint each".into(),
        Source::Motion => "bones found in the examples' motion".into(),
    }
}

/// Influence maps made of influences that examples show.
pub(super) fn maps_from_examples(
    rig: &Rig,
    examples: &ExampleSet,
    options: &FitOptions,
    progress: Progress<'_>,
) -> Result<Influences, Error> {
    let training = training_of(rig, examples, BasePoses::NONE);
    let settings = InfluenceSettings::default();
    let found = influence::from_examples(&training, &rig.mesh.neighbours(), &settings, progress)?;
    let (weights, _) = found.weights.normalised();
    Ok(maps::from_weights(&rig.skeleton, &rig.mesh, &weights, options.map_settings))
}

fn bone(rig: &Rig, name: &str) -> Result<BoneIndex, Error> {
    super::bone(rig, name)
}

fn locks(rig: &Rig, options: &WeightOptions) -> Result<Option<Locks>, Error> {
    if options.lock_bones.is_empty() && options.lock_vertices.is_empty() && options.lock_pairs.is_empty() {
        return Ok(None);
    }
    let weights = rig.weights.clone().ok_or_else(|| {
        Error::Option(format!("the rig \"{}\" has no skinning weights that could be locked", rig.name))
    })?;
    let vertices = rig.mesh.positions.len();
    let pairs = options.lock_pairs.iter().map(|(v, name)| Ok((*v, bone(rig, name)?)));
    let named = options.lock_vertices.iter().chain(options.lock_pairs.iter().map(|(v, _)| v));
    if let Some(v) = named.copied().find(|v| *v as usize >= vertices) {
        return Err(Error::Option(format!("vertex {v} cannot be locked: the mesh has {vertices} vertices")));
    }
    Ok(Some(Locks {
        weights,
        bones: options.lock_bones.iter().map(|name| bone(rig, name)).collect::<Result<_, Error>>()?,
        vertices: options.lock_vertices.clone(),
        pairs: pairs.collect::<Result<_, Error>>()?,
    }))
}

/// The rig's symmetry. Without weights, the influence of each bone is taken to end half way to the next: nearest bones tell partners.
fn mirror(rig: &Rig) -> Result<Mirror, Error> {
    let nearest = || {
        let rows = rig.mesh.positions.iter().map(|p| {
            let distance = |b: &BoneIndex| rig.skeleton.bind()[*b].translation.distance_squared(*p);
            let bone = rig.skeleton.bones().min_by(|a, b| distance(a).total_cmp(&distance(b)));
            vec![(bone.unwrap_or(BoneIndex::new(0)), 1.0)]
        });
        Influences::from_rows(rows).unwrap_or_default()
    };
    let weights = rig.weights.clone().unwrap_or_else(nearest);
    Mirror::find(&rig.mesh.positions, &rig.skeleton, &weights).ok_or_else(|| {
        Error::Option(format!(
            "the rig \"{}\" has no left and right that mirror each other: leave out --symmetric",
            rig.name
        ))
    })
}

/// Quantiles over the vertices of the largest difference of a weight, and its root mean square over weights that either has.
fn against(own: &Influences, fitted: &Influences) -> Value {
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
    json!({
        "max": quantile(1.0),
        "p999": quantile(0.999),
        "p99": quantile(0.99),
        "p95": quantile(0.95),
        "median": quantile(0.5),
        "rms": (squares / count.max(1) as f64).sqrt(),
        "within_0.001": largest.iter().filter(|d| **d <= 1e-3).count() as f64 / largest.len().max(1) as f64,
    })
}

fn kind_text(kind: WeightKind) -> &'static str {
    match kind {
        WeightKind::Convex => "convex",
        WeightKind::Affine => "affine",
        WeightKind::Plain => "plain",
    }
}

fn lines(options: &WeightOptions, source: &str, report: &WeightReport) -> Vec<(String, String)> {
    let limit = options.influences.map_or("all".into(), |most| most.to_string());
    let mut lines = vec![
        ("weights".to_owned(), kind_text(options.kind).to_owned()),
        ("influences".into(), limit),
        ("candidates".into(), format!("{source}, {:.1} a vertex", report.candidates.0)),
        ("smoothness".into(), if options.smoothness > 0.0 { short(options.smoothness) } else { "none".into() }),
        ("symmetric".into(), if options.symmetric { "yes".into() } else { "no".into() }),
    ];
    let locked = (options.lock_bones.len(), options.lock_vertices.len(), options.lock_pairs.len());
    if locked != (0, 0, 0) {
        lines
            .push(("locked".into(), format!("{} bones, {} vertices, {} single weights", locked.0, locked.1, locked.2)));
    }
    if let Some(q) = &report.quantisation {
        lines.push(("stored in".into(), format!("{} bits", bits(q.bits))));
    }
    lines
}

fn bits(bits: WeightBits) -> u32 {
    match bits {
        WeightBits::Eight => 8,
        WeightBits::Sixteen => 16,
    }
}

fn json(rig: &Rig, report: &WeightReport, source: &str, against: Option<Value>) -> Value {
    let fidelity = |f: &Fidelity| json!({"rms": f.rms, "max": f.max});
    let names = |bones: &Vec<BoneIndex>| bones.iter().map(|b| rig.skeleton.names()[*b].clone()).collect::<Vec<_>>();
    json!({
        "influences": report.most_influences,
        "candidates": {"source": source, "mean": report.candidates.0, "most": report.candidates.1},
        "objective": report.objective,
        "fitted": fidelity(&report.result),
        "unlimited": report.unlimited.as_ref().map(fidelity),
        "quantisation": report.quantisation.as_ref().map(|q| json!({
            "bits": bits(q.bits),
            "largest_change": q.largest_change,
            "before": fidelity(&q.before),
        })),
        "undetermined_vertices": report.undetermined,
        "bones_that_move_alike": report.alike.iter().map(names).collect::<Vec<_>>(),
        "mirrored_vertices": report.mirrored,
        "sweeps": report.sweeps.map(|s| s.0),
        "last_change": report.sweeps.map(|s| s.1),
        "weights_vs_rig": against,
    })
}

/// Bones that some vertex has weight of.
fn weighted(weights: &Influences, bones: usize) -> Vec<bool> {
    let mut carries = vec![false; bones];
    weights.rows().flatten().for_each(|(bone, _)| carries[bone.get()] = true);
    carries
}

/// Smooth weights whose last change is larger have not settled.
const UNSETTLED: f64 = 1e-3;

fn warnings(rig: &Rig, options: &WeightOptions, report: &WeightReport, weights: &Influences) -> Vec<String> {
    let mut warnings = Vec::new();
    let vertices = rig.mesh.positions.len();
    let negative = weights.rows().filter(|row| row.iter().any(|(_, w)| *w < 0.0)).count();
    match options.kind {
        WeightKind::Convex => {}
        WeightKind::Affine if negative > 0 => warnings.push(format!(
            "{negative} of {vertices} vertices have negative weights: engines clamp them and scale the rest, and a GLB cannot hold them"
        )),
        WeightKind::Affine => {}
        WeightKind::Plain => warnings.push(format!(
            "plain weights do not sum to one, so the skin does not move with the character: for comparison only ({negative} of {vertices} \
             vertices have negative weights)"
        )),
    }
    if report.undetermined > 0 {
        warnings.push(format!(
            "the examples say nothing about the weights of {} of {vertices} vertices: their candidate bones moved alike",
            report.undetermined
        ));
    }
    let carries = weighted(weights, rig.skeleton.len());
    let alike: Vec<Vec<BoneIndex>> = report
        .alike
        .iter()
        .map(|group| group.iter().copied().filter(|b| carries[b.get()]).collect::<Vec<_>>())
        .filter(|group| group.len() > 1)
        .collect();
    if !alike.is_empty() {
        let names = |bones: &Vec<BoneIndex>| {
            let names: Vec<&str> = bones.iter().take(4).map(|b| rig.skeleton.names()[*b].as_str()).collect();
            let more = bones.len().saturating_sub(names.len());
            names.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
        };
        let groups: Vec<String> = alike.iter().map(names).collect();
        warnings.push(format!(
            "bones that moved as one in every example share their weight by convention: {}",
            groups.join("; ")
        ));
    }
    if let Some((sweeps, change)) = report.sweeps.filter(|s| s.1 > UNSETTLED) {
        warnings.push(format!("after {sweeps} sweeps smooth weights still change by {}", short(change)));
    }
    warnings
}
