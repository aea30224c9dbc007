//! Composite joints and products: what two neighbouring joints do together, learnt only where the examples moved both.
//!
//! Two joints e, f of the forest that share exactly one bone have the outer bones a and c. Their composite reads
//!
//! ```text
//! φ_ef   = (R_aᵀ R_c − I)/√2,                                       the slide is zero
//! γ_ef   = min(1, 4 Σ_s min(|φ_e|², |φ_f|²) / Σ_s (|φ_e|² + |φ_f|²))    over the examples s, rotations alone
//! a_v,ef = η γ_ef max(0, √(a_ve a_vf) − 0.1) / 0.9
//! ```
//!
//! and is a joint like any other, with at most five inducing rotations. The gate γ is essential: where examples move one joint at a
//! time the composite repeats what the single joints say, cross-validation does not see it, and poses that combine them come out
//! worse. A joint that never moved has γ = 0, and so do examples of single joints: the model is then the one without composites,
//! to the bit. a is continuous in the weights, so it makes no seams.
//!
//! Their **product** has the same gate, relevance and pairs, and reads both joints side by side, by the product of their kernels over σ²:
//! a composite knows where the outer bones stand to each other, a product what each joint does while the other does something.

use dermis_deform::joints::JointFeature;
use dermis_rig::BoneIndex;

/// Inducing rotations that a composite has at most.
pub(super) const MOST_INDUCING: usize = 5;
/// Pairs of inducing rotations that a product has at most.
pub(super) const MOST_PAIRS: usize = 12;
/// Products of relevances up to this, before the root of their product, have no composite.
const LEAST_RELEVANCE: f64 = 0.1;

/// Two joints of the forest that share a bone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompositePair {
    /// The joints, the one of lower index first.
    pub joints: (usize, usize),
    /// The outer bone of each.
    pub outer: (BoneIndex, BoneIndex),
}

/// All pairs of joints that share exactly one bone, in order of joints.
pub fn composite_pairs(edges: &[(BoneIndex, BoneIndex)]) -> Vec<CompositePair> {
    let mut pairs = Vec::new();
    for (f, second) in edges.iter().enumerate() {
        for (e, first) in edges[..f].iter().enumerate() {
            let outer = match (first, second) {
                ((a, b), (c, d)) if b == c => (*a, *d),
                ((a, b), (c, d)) if b == d => (*a, *c),
                ((b, a), (c, d)) if b == c => (*a, *d),
                ((b, a), (c, d)) if b == d => (*a, *c),
                _ => continue,
            };
            pairs.push(CompositePair { joints: (e, f), outer });
        }
    }
    pairs.sort_unstable_by_key(|pair| pair.joints);
    pairs
}

/// γ of two joints from their features in the examples; zero if neither turned.
pub fn composite_gate<'a>(
    first: impl Iterator<Item = &'a JointFeature>,
    second: impl Iterator<Item = &'a JointFeature>,
) -> f64 {
    let squares = |f: &JointFeature| (0..12).filter(|i| i % 4 < 3).map(|i| f[i] * f[i]).sum::<f64>();
    let (mut both, mut either) = (0.0, 0.0);
    for (e, f) in first.zip(second) {
        let (e, f) = (squares(e), squares(f));
        both += e.min(f);
        either += e + f;
    }
    if either > 0.0 { (4.0 * both / either).min(1.0) } else { 0.0 }
}

/// a of a composite at a vertex, from the relevances of its joints there.
pub fn composite_relevance((first, second): (f64, f64), gate: f64, eta: f64) -> f64 {
    eta * gate * ((first * second).sqrt() - LEAST_RELEVANCE).max(0.0) / (1.0 - LEAST_RELEVANCE)
}
