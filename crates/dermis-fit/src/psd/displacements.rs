//! What the examples ask of a pose-space deformation: displacements through the base, and what is left of them.

use super::UNMOVED;
use crate::inverse::{InverseSettings, damped_inverse, invert};
use crate::training::{FitError, Progress, Ticker, Training};
use dermis_deform::pose_space::Carrier;
use dermis_deform::{Base, Stack};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneIndex, Influences, Mirror};
use rayon::prelude::*;

/// What happens where the base is nearly singular, so that no displacement before it can produce what an example asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Singular {
    /// The displacement is damped, and what it leaves is interpolated beside it in the frame of the dominant bone:
    /// p' = S(p + d) + R w, w = R⁻¹(t − S(p + d)). Examples are met exactly.
    #[default]
    Remainder,
    /// As published (Xiao et al. 2006): d and w minimise |t + w − S(p + d)|² + λ|w|² + ε|d|², and p' = S(p + d) + w. Does not
    /// meet the examples: the sign of w is wrong, and with λ = ε half of every correction goes to w even in regular
    /// poses. For comparison.
    Published {
        /// λ.
        lambda: f64,
        /// ε.
        epsilon: f64,
    },
}

/// Displacements of the examples, those of their mirror images after them.
pub(super) struct Displacements {
    /// Per example and vertex; NaN where an example says nothing of a vertex.
    pub all: Vec<Vec<DVec3>>,
    /// Vertices with a remainder: the bone whose frame it lives in, and w per example.
    pub remainders: Vec<(u32, BoneIndex, Vec<DVec3>)>,
    /// (vertex, example) pairs whose displacement was damped; through a stack, those that keep a remainder.
    pub damped: usize,
    /// The largest remainder in the world, metres.
    pub largest_remainder: f64,
}

/// One example: displacements, the damped vertices with their remainder in the world, the largest of these.
type Pulled = (Vec<DVec3>, Vec<(u32, DVec3)>, usize, f64);

impl Displacements {
    /// `sparse`: an example says nothing of a vertex that it leaves within this distance of the base.
    ///
    /// # Errors
    /// [`FitError::Inverse`] for an example that cannot be brought back through a stack; [`FitError::Cancelled`].
    #[allow(clippy::too_many_arguments)] // each is one choice of the fit
    pub fn new(
        training: &Training<'_>,
        base: &Base,
        carrier: &Carrier,
        dominant: &Influences,
        singular: Singular,
        sparse: Option<f64>,
        mirror: Option<&Mirror>,
        progress: Progress<'_>,
    ) -> Result<Self, FitError> {
        let poses: Vec<Pulled> = match (base, carrier) {
            (Base::Stack(stack, _), Carrier::Base) => {
                // One after another: the search of an example uses all threads, and may be stopped between two.
                let ticker = Ticker::new(training.examples.len() as u64, progress);
                let one = |s| {
                    ticker.tick(1)?;
                    through_stack(training, stack, sparse, s)
                };
                (0..training.examples.len()).map(one).collect::<Result<_, FitError>>()?
            }
            _ => (0..training.examples.len())
                .into_par_iter()
                .map_init(
                    || (base.clone(), vec![DVec3::ZERO; training.rest.len()]),
                    |(base, skin), s| pull(training, base, carrier, singular, sparse, s, skin),
                )
                .collect(),
        };
        let mut made = Self {
            all: Vec::with_capacity(poses.len()),
            remainders: Vec::new(),
            damped: poses.iter().map(|p| p.2).sum(),
            largest_remainder: poses.iter().map(|p| p.3).fold(0.0, f64::max),
        };
        let mut with: Vec<u32> = poses.iter().flat_map(|p| &p.1).map(|(v, _)| *v).collect();
        with.sort_unstable();
        with.dedup();
        let (own, images) = (poses.len(), mirror.map_or(0, |_| poses.len()));
        made.remainders = with
            .into_iter()
            .map(|v| {
                let bone = dominant.dominant(v as usize).unwrap_or(BoneIndex::new(0));
                (v, bone, vec![DVec3::ZERO; own + images])
            })
            .collect();
        for (s, (_, remainders, _, _)) in poses.iter().enumerate() {
            for (v, world) in remainders {
                let Ok(at) = made.remainders.binary_search_by_key(v, |r| r.0) else { continue };
                let (_, bone, list) = &mut made.remainders[at];
                list[s] = pull_back(training.examples[s].transforms[*bone].matrix3, *world).0;
            }
        }
        made.all.extend(poses.into_iter().map(|p| p.0));
        if let Some(mirror) = mirror {
            made.mirror(mirror, own);
        }
        Ok(made)
    }

    /// Whether some example leaves a remainder of at least `least` metres at vertex `v`.
    pub fn leaves(&self, v: usize, least: f64) -> bool {
        let at = self.remainders.binary_search_by_key(&(v as u32), |r| r.0);
        at.is_ok_and(|at| self.remainders[at].2.iter().any(|w| w.length() >= least))
    }

    /// Adds mirror images: vertex v has in the image of a pose what its partner has in the pose, mirrored. A vertex without
    /// partner knows nothing of them.
    fn mirror(&mut self, mirror: &Mirror, own: usize) {
        for s in 0..own {
            let partner = |v: usize| mirror.vertices[v].map(|partner| mirror.vector(self.all[s][partner as usize]));
            let image = (0..self.all[s].len()).map(|v| partner(v).unwrap_or(DVec3::NAN)).collect();
            self.all.push(image);
        }
        let known: Vec<(u32, Vec<DVec3>)> = self.remainders.iter().map(|r| (r.0, r.2[..own].to_vec())).collect();
        for (v, _, list) in &mut self.remainders {
            let partner = mirror.vertices[*v as usize];
            let Some(at) = partner.and_then(|p| known.binary_search_by_key(&p, |r| r.0).ok()) else { continue };
            let images = known[at].1.iter().map(|w| mirror.vector(*w));
            list[own..].iter_mut().zip(images).for_each(|(w, image)| *w = image);
        }
    }
}

/// Carries example `s` back through the base.
fn pull(
    training: &Training<'_>,
    base: &mut Base,
    carrier: &Carrier,
    singular: Singular,
    sparse: Option<f64>,
    s: usize,
    skin: &mut [DVec3],
) -> Pulled {
    let (example, given) = (&training.examples[s], &*training.base_pose(s));
    // Leaves the base prepared for the pose.
    base.evaluate(training.rest, &example.transforms, Some(given), skin);
    let (mut remainders, mut damped, mut largest) = (Vec::new(), 0, 0.0f64);
    let mut of = |v: usize, asked: DVec3| {
        if sparse.is_some_and(|least| asked.length() < least) {
            return DVec3::NAN;
        }
        let linear = match carrier {
            Carrier::World => return asked,
            Carrier::Base => base.linear(v, training.rest[v], &example.transforms),
            Carrier::Bones(bones) => example.transforms[bones[v]].matrix3,
        };
        let (d, w) = match singular {
            Singular::Remainder => {
                let (d, regular) = pull_back(linear, asked);
                if regular || asked == DVec3::ZERO {
                    return d;
                }
                damped += 1;
                (d, asked - linear * d)
            }
            Singular::Published { lambda, epsilon } => published(linear, asked, lambda, epsilon),
        };
        largest = largest.max(w.length());
        remainders.push((v as u32, w));
        d
    };
    let asked = example.positions.iter().zip(given).map(|(x, b)| *x - *b);
    let displacements = asked.enumerate().map(|(v, asked)| of(v, asked)).collect();
    (displacements, remainders, damped, largest)
}

/// Carries example `s` back through a stack: the d and w of [`invert`], as `dermis invert --stack` finds them.
///
/// d minimises |t − S(p + d)|² + e |d|², with e acting where the stack is nearly singular, and w = t − S(p + d) is what is left. A
/// remainder below [`UNMOVED`] is rounding.
fn through_stack(training: &Training<'_>, stack: &Stack, sparse: Option<f64>, s: usize) -> Result<Pulled, FitError> {
    let (example, given) = (&training.examples[s], &*training.base_pose(s));
    let (mut posed, unit) = (stack.posed(&example.transforms), training.unit());
    let found = invert(&mut posed, training.rest, &example.positions, &InverseSettings::new(unit));
    let found = found.map_err(|source| FitError::Inverse { example: example.label.clone(), source })?;
    let known = |v: usize| sparse.is_none_or(|least| example.positions[v].distance(given[v]) >= least);
    let displacement = |(v, d): (usize, DVec3)| if known(v) { d } else { DVec3::NAN };
    let left = |(v, w): &(u32, DVec3)| w.length() >= UNMOVED * unit && known(*v as usize);
    let remainders: Vec<(u32, DVec3)> = (0..).zip(found.remainders).filter(left).collect();
    let largest = remainders.iter().map(|(_, w)| w.length()).fold(0.0, f64::max);
    let damped = remainders.len();
    Ok((found.displacements.into_iter().enumerate().map(displacement).collect(), remainders, damped, largest))
}

/// The published joint problem for a residual r = t − S(p) and linear part A, as printed: minimise
/// |r + w − A d|² + λ|w|² + ε|d|². Eliminating w = −(r − A d)/(1 + λ) leaves |r − A d|² + ε'|d|², ε' = ε (1 + λ)/λ.
///
/// Source: Xiao et al. 2006, the minimisation for singular poses.
pub fn published(a: DMat3, r: DVec3, lambda: f64, epsilon: f64) -> (DVec3, DVec3) {
    let (d, left) = damped_inverse(a, r, epsilon * (1.0 + lambda) / lambda);
    (d, -left / (1.0 + lambda))
}

/// d with A d = r, and whether A is regular. Where a singular value is below a tenth of the mean one the inverse is damped,
/// (AᵀA + e)⁻¹ Aᵀ with e = 1e-4 of the mean squared singular value: a displacement then stays below 50 |r|.
pub fn pull_back(a: DMat3, r: DVec3) -> (DVec3, bool) {
    let norm = |m: &DMat3| m.to_cols_array().iter().map(|x| x * x).sum::<f64>().sqrt();
    let mean = norm(&a) / 3f64.sqrt();
    // 1 / |A⁻¹| is at most the smallest singular value.
    let inverse = a.inverse();
    if inverse.is_finite() && norm(&inverse) * 0.1 * mean <= 1.0 {
        return (inverse * r, true);
    }
    (damped_inverse(a, r, 1e-4 * mean * mean).0, false)
}
