//! Morph weights that lie in 0..1, because applications clamp them there.
//!
//! Each shape is scaled by the range of the coordinate it multiplies. A constant shape, always at weight one, takes back what
//! the others show at the bind pose.

use dermis_deform::guard::LIMIT_FACTOR;
use dermis_rig::MorphTarget;
use dermis_rig::glam::DVec3;

/// Morph targets for weights in 0..1.
pub(crate) struct Scaled {
    /// The constant one first, whose weight is always one.
    pub morphs: Vec<MorphTarget>,
    /// Of every other morph target: the shape it is, and the factor of its coordinate, 1/(high − low).
    pub kept: Vec<(usize, f64)>,
    /// Weights at the bind pose.
    pub offset: Vec<f64>,
}

/// Low and high of a coordinate: its range over some poses and the bind pose, where it is zero, scaled by κ.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((0.0f64, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
    (low * LIMIT_FACTOR, high * LIMIT_FACTOR)
}

/// How far beyond its range over the samples a coordinate of a pose space may go, in ranges.
///
/// Shapes of a pose space cancel one another, so that clamping one of them may cost more than it holds back. A body with 256
/// shapes on a walk it was never trained on is 1.23 mm rms from the model with weights that end at 1.25 times the range, and
/// 0.40 mm with free ones. Beyond training the limits of the joints bound the weights. A factor of 100 would cost two digits
/// of single precision.
const BEYOND: f64 = 4.0;

/// Low and high of a coordinate of a pose space.
pub(crate) fn wide_range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((0.0f64, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
    let beyond = BEYOND * (high - low);
    (low - beyond, high + beyond)
}

/// Scales shapes whose coordinates have these ranges. Shapes that never displace more than `unseen` are left out.
pub(crate) fn scaled(
    vertices: usize,
    shapes: impl Iterator<Item = (String, Vec<DVec3>)>,
    ranges: &[(f64, f64)],
    unseen: f64,
) -> Scaled {
    let constant = MorphTarget { name: "driven_common".into(), deltas: vec![DVec3::ZERO; vertices] };
    let mut made = Scaled { morphs: vec![constant], kept: vec![], offset: vec![1.0] };
    for (at, ((name, mut shape), &(low, high))) in shapes.zip(ranges).enumerate() {
        let largest = shape.iter().map(|d| d.abs().max_element()).fold(0.0, f64::max);
        if largest * (high - low) <= unseen || low >= high {
            continue;
        }
        let at_rest = f64::from((-low / (high - low)) as f32).clamp(0.0, 1.0);
        // As the file stores it, so that the constant shape takes back what is shown.
        shape.iter_mut().for_each(|d| *d = (*d * (high - low)).as_vec3().as_dvec3());
        made.morphs[0].deltas.iter_mut().zip(&shape).for_each(|(all, d)| *all -= *d * at_rest);
        made.morphs.push(MorphTarget { name, deltas: shape });
        made.kept.push((at, 1.0 / (high - low)));
        made.offset.push(at_rest);
    }
    made
}
