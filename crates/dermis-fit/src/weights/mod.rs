//! Skinning weights from examples: the linear blend that reproduces them best.
//!
//! Every vertex minimises Σ_s r_s² |Σ_k w_k M_sk p − x_s|² over one of three sets:
//! - w ≥ 0, Σ w = 1: convex weights, which engines take
//! - Σ w = 1: affine weights
//! - all w: the published linear system, whose result turns and moves differently from the character
//!
//! Vertices are independent unless weights must be smooth. Smooth weights minimise
//!
//! min Σ_v Σ_s r_s² |A_v w_v − b_v|² + α Σ_edges |w_u − w_v|², α = a L² Σ r²,
//!
//! by block Gauss-Seidel, each block exactly. Lengths are divided by the rest diagonal L, so a and the ridge mean the same on a
//! mouse and on a whale. Since Σ w = 1, the example is subtracted from every column of A_v, which keeps digits far from the
//! origin.
//!
//! Bones that never moved against each other near a vertex share its weight there by convention: evenly, or, where influences are
//! few, all of it goes to the nearest bone. [`WeightReport::undetermined`] counts the vertices that examples do not determine.
//!
//! Source: Mohr & Gleicher 2003, Building Efficient, Accurate Character Skins from Examples, section 3 (the linear system); James & Twigg 2005,
//! Skinning Mesh Animations, section 4.2 (non-negative weights). Departures: the sum is a constraint, not a row of large weight;
//! an active set for the NNLS.

mod block;
mod quantised;
mod smooth;

pub use quantised::{WeightBits, quantised};

use crate::training::{FitError, Progress, Ticker, Training};
use block::{Blocks, Data, Solved};
use dermis_rig::{BoneIndex, Influences, Mirror, Neighbours};
use dermis_solve::simplex::NEGLIGIBLE;
use rayon::prelude::*;

/// Which numbers may be weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightKind {
    /// w ≥ 0, Σ w = 1, which engines take.
    #[default]
    Convex,
    /// Σ w = 1, minimum norm: negative weights lie closer to the examples, but engines clamp them.
    Affine,
    /// Any numbers, minimum norm. The skin does not move with the character; for comparison only.
    Plain,
}

/// How a few influences are chosen, which is a combinatorial problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Of bones that move a vertex alike, the nearest stays. The smallest weight is left out until few remain. Then bones are
    /// exchanged as long as that lowers the error.
    #[default]
    Exchange,
    /// The smallest weight is left out until few remain.
    Smallest,
}

/// Weights that must stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locks {
    /// The weights that are kept.
    pub weights: Influences,
    /// Bones whose weights stay at every vertex, also where they are zero.
    pub bones: Vec<BoneIndex>,
    /// Vertices whose weights all stay.
    pub vertices: Vec<u32>,
    /// Single weights that stay.
    pub pairs: Vec<(u32, BoneIndex)>,
}

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightSettings {
    /// Which numbers may be weights; convex by default.
    pub kind: WeightKind,
    /// The most influences of a vertex; 4 by default, which engines take. `None` keeps as many as help.
    pub influences: Option<usize>,
    /// How they are chosen.
    pub choice: Choice,
    /// Bones that may have weight at a vertex; values do not matter. `None` allows all bones, and so does a vertex without
    /// candidates.
    pub candidates: Option<Influences>,
    /// a: how strongly weights of neighbours must agree; 0 by default. Needs convex weights.
    pub smoothness: f64,
    /// d: pulls the weights towards equal shares of the candidates, in L² per unit of r²; 1e-12 by default, so it is felt only where
    /// bones differ by less than a millionth of the rest diagonal, which is the rounding of files.
    pub ridge: f64,
    /// Weights that must stay, if any.
    pub locks: Option<Locks>,
    /// The symmetry by which partners get mirrored weights, learnt from the examples of both.
    pub mirror: Option<Mirror>,
    /// Rounds weights to whole multiples of 1/255 or 1/65535, with sum one.
    pub bits: Option<WeightBits>,
}

impl Default for WeightSettings {
    fn default() -> Self {
        Self {
            kind: WeightKind::default(),
            influences: Some(4),
            choice: Choice::default(),
            candidates: None,
            smoothness: 0.0,
            ridge: 1e-12,
            locks: None,
            mirror: None,
            bits: None,
        }
    }
}

/// How far a blend is from the examples, in the unit of the rest mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fidelity {
    /// √(Σ r² |x − x'|² / Σ r²), over vertices and examples.
    pub rms: f64,
    /// The largest |x − x'| of an example of positive importance.
    pub max: f64,
}

/// Weights before and after they were made whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantisationReport {
    /// To how many bits.
    pub bits: WeightBits,
    /// The largest change of a weight.
    pub largest_change: f64,
    /// The result before; [`WeightReport::result`] is after.
    pub before: Fidelity,
}

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightReport {
    /// The most influences of a vertex.
    pub most_influences: usize,
    /// The mean and the largest number of candidate bones of a vertex.
    pub candidates: (f64, usize),
    /// The result against the examples.
    pub result: Fidelity,
    /// The same with as many influences as help; the difference is the cost of the limit. `None` without a limit.
    pub unlimited: Option<Fidelity>,
    /// Σ_v Σ_s r² |A w − b|² + α Σ |w_u − w_v|², before quantisation, square units of the rest mesh.
    pub objective: f64,
    /// Vertices with several candidates that move alike in every example. Their weights are equal shares by convention.
    pub undetermined: usize,
    /// Groups of two bones or more that move as one in every example. How they share a weight is convention.
    pub alike: Vec<Vec<BoneIndex>>,
    /// Vertices whose weights are shared with their mirror image, themselves included.
    pub mirrored: usize,
    /// What quantisation cost, if it was asked for.
    pub quantisation: Option<QuantisationReport>,
    /// Sweeps of the smoothing, and the largest change of a weight in the last one.
    pub sweeps: Option<(usize, f64)>,
    /// The objective after each sweep, square units.
    pub descent: Vec<f64>,
}

/// Bones whose motions differ by no more than this, in rest diagonals, count as alike. Rounding of files in `f32` is about
/// 1e-6.
const ALIKE: f64 = 1e-6;

/// Fits weights to examples. `neighbours` lists the vertices along the edges of the mesh, for smooth weights.
///
/// Results do not depend on the number of threads.
///
/// # Errors
/// [`FitError`]: no example of positive importance, settings out of range, numbers that are not finite, cancellation.
pub fn fit_weights(
    training: &Training<'_>,
    neighbours: &Neighbours,
    settings: &WeightSettings,
    progress: Progress<'_>,
) -> Result<(Influences, WeightReport), FitError> {
    training.check()?;
    check(training, settings)?;
    let data = Data::new(training);
    let blocks = Blocks::new(training, &data, settings);
    let ticker = Ticker::new(training.rest.len() as u64, progress);
    let (mut sweeps, mut descent) = (None, Vec::new());
    let (unlimited, limited, flat) = if settings.smoothness > 0.0 {
        let smooth = smooth::solve(&data, &blocks, neighbours, settings, &ticker)?;
        (sweeps, descent) = (Some((smooth.sweeps, smooth.change)), smooth.descent);
        (smooth.unlimited, smooth.limited, smooth.flat)
    } else {
        let solve = |block| {
            ticker.tick(blocks.vertices_of(block))?;
            blocks.solve(block, &data, settings)
        };
        let solved: Vec<Solved> = blocks.blocks.par_iter().map(solve).collect::<Result<_, FitError>>()?;
        let (mut unlimited, mut limited, mut flat) = (Vec::new(), Vec::new(), Vec::new());
        for block in solved {
            unlimited.push(block.unlimited);
            limited.push(block.limited);
            flat.push(block.flat);
        }
        (unlimited, limited, flat)
    };
    let weights = blocks.influences(limited.iter().map(Vec::as_slice))?;
    let unlimited = settings.influences.map(|_| blocks.influences(unlimited.iter().map(Vec::as_slice))).transpose()?;

    let penalty = settings.smoothness * data.importance * roughness(&weights, neighbours);
    let unit = training.unit();
    let before = data.fidelity(&weights);
    let mut report = WeightReport {
        most_influences: 0,
        candidates: blocks.candidates(),
        result: before,
        unlimited: unlimited.map(|all| data.fidelity(&all)),
        objective: before.rms.powi(2) * data.importance * training.rest.len() as f64 + penalty * unit * unit,
        undetermined: blocks.undetermined(&flat),
        alike: data.alike(),
        mirrored: blocks.mirrored(),
        quantisation: None,
        sweeps,
        descent: descent.into_iter().map(|x| x * unit * unit).collect(),
    };
    let weights = match settings.bits {
        None => weights,
        Some(bits) => {
            let (whole, largest_change) = quantised(&weights, bits)?;
            report.quantisation = Some(QuantisationReport { bits, largest_change, before });
            report.result = data.fidelity(&whole);
            whole
        }
    };
    report.most_influences = weights.largest_count();
    Ok((weights, report))
}

/// Σ over edges |w_u − w_v|².
fn roughness(weights: &Influences, neighbours: &Neighbours) -> f64 {
    let difference = |u: usize, v: usize| {
        let (mut a, mut b) = (weights.of(u).iter().peekable(), weights.of(v).iter().peekable());
        let mut sum = 0.0;
        loop {
            let d = match (a.peek(), b.peek()) {
                (None, None) => return sum,
                (Some(x), Some(y)) if x.0 == y.0 => {
                    let d = x.1 - y.1;
                    a.next();
                    b.next();
                    d
                }
                (Some(x), y) if y.is_none_or(|y| x.0 < y.0) => {
                    let d = x.1;
                    a.next();
                    d
                }
                _ => b.next().map_or(0.0, |y| y.1),
            };
            sum += d * d;
        }
    };
    let of = |u: usize| {
        neighbours.of(u).iter().filter(|v| **v as usize > u).map(|v| difference(u, *v as usize)).sum::<f64>()
    };
    (0..weights.vertices()).map(of).sum()
}

fn check(training: &Training<'_>, settings: &WeightSettings) -> Result<(), FitError> {
    let setting = |name, value, rule| Err(FitError::Setting { name, value, rule });
    let (vertices, bones) = (training.rest.len(), training.skeleton.len());
    for (name, value) in [("smoothness", settings.smoothness), ("ridge", settings.ridge)] {
        if !(value >= 0.0 && value.is_finite()) {
            return setting(name, value, "it must be zero or more");
        }
    }
    if settings.influences == Some(0) {
        return setting("influences", 0.0, "a vertex needs one");
    }
    if settings.kind != WeightKind::Convex && settings.smoothness > 0.0 {
        return setting("smoothness", settings.smoothness, "smooth weights are convex ones");
    }
    if settings.kind != WeightKind::Convex && settings.bits.is_some() {
        return setting("bits", 8.0, "only convex weights are stored as whole numbers");
    }
    let counts = |what, found, expected| match found == expected {
        true => Ok(()),
        false => Err(FitError::Counts { what, found, expected }),
    };
    let named = |what, found| match found <= bones {
        true => Ok(()),
        false => Err(FitError::Counts { what, found, expected: bones }),
    };
    if let Some(candidates) = &settings.candidates {
        counts("vertices with candidate bones", candidates.vertices(), vertices)?;
        named("bones named by candidates", candidates.bones_named())?;
    }
    if let Some(mirror) = &settings.mirror {
        counts("vertices of the mirror", mirror.vertices.len(), vertices)?;
        counts("bones of the mirror", mirror.bones.len(), bones)?;
    }
    if let Some(locks) = &settings.locks {
        counts("vertices with locked weights", locks.weights.vertices(), vertices)?;
        named("bones named by locked weights", locks.weights.bones_named())?;
        let bone = locks.bones.iter().chain(locks.pairs.iter().map(|(_, bone)| bone)).map(|b| b.get() + 1).max();
        named("locked bones", bone.unwrap_or(0))?;
        let most = locks.vertices.iter().chain(locks.pairs.iter().map(|(v, _)| v)).max();
        if let Some(&v) = most.filter(|v| **v as usize >= vertices) {
            return Err(FitError::Counts { what: "a locked vertex", found: v as usize, expected: vertices });
        }
        let odd = locks.weights.rows().flatten().find(|(_, w)| !(-NEGLIGIBLE..=1.0 + 1e-6).contains(w));
        if let Some((_, w)) = odd.filter(|_| settings.kind == WeightKind::Convex) {
            return setting("a locked weight", *w, "it must lie in 0..1");
        }
    }
    Ok(())
}
