//! How much of what one character has learnt suits another: a factor of its corrections, by examples.
//!
//! With b the base of the model, c what corrects it at its full size, and x the skin of an example,
//!
//! ```text
//! g = Σ (x − b)·c / Σ c·c      over the touched vertices of all examples, held to 0..2
//! ```
//!
//! which leaves Σ |x − b|² − 2 g Σ (x − b)·c + g² Σ c·c, as long as no ball acts.

use crate::mask::touched;
use crate::training::{BasePoses, Training};
use dermis_deform::{Deformer, PoseError};
use dermis_rig::{Example, ExampleSet, Rig};

/// Corrections are enlarged by this factor at most.
const MOST_GAIN: f64 = 2.0;

/// How good a factor of corrections is on examples of a character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GainFound {
    /// How many examples.
    pub examples: usize,
    /// What the base alone leaves, rms, metres.
    pub base: f64,
    /// What the corrections leave at their full size, rms, metres.
    pub whole: f64,
    /// Whether the factor is that of the examples. Then each is scored with the factor of all others.
    pub is_fitted: bool,
    /// What corrections times the factor leave, rms, metres; absent if it is the factor of one example.
    pub left: Option<f64>,
}

/// Sums over touched vertices of an example.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Σ c·c.
    cc: f64,
    /// Σ (x − b)·c.
    xc: f64,
    /// Σ (x − b)².
    xx: f64,
    points: usize,
}

impl Sums {
    fn plus(self, other: Self) -> Self {
        Self {
            cc: self.cc + other.cc,
            xc: self.xc + other.xc,
            xx: self.xx + other.xx,
            points: self.points + other.points,
        }
    }

    /// The factor that leaves least.
    fn gain(self) -> f64 {
        if self.cc > 0.0 { (self.xc / self.cc).clamp(0.0, MOST_GAIN) } else { 0.0 }
    }

    /// What a factor leaves, a sum of squares.
    fn left(self, gain: f64) -> f64 {
        (self.xx - 2.0 * gain * self.xc + gain * gain * self.cc).max(0.0)
    }
}

/// A factor of the corrections of `model` on examples of the skin of `rig`, and how good it is: `stated`, or else the one that fits them
/// best. `None` where the corrections move nothing.
///
/// # Errors
/// [`PoseError`]: poses of other bones.
pub fn gain_on(
    model: &Deformer,
    rig: &Rig,
    examples: &ExampleSet,
    stated: Option<f64>,
) -> Result<Option<(f64, GainFound)>, PoseError> {
    let training = Training {
        skeleton: rig.skeleton(),
        rest: &rig.mesh().positions,
        length: rig.mesh().extent(),
        examples: examples.examples(),
        base: BasePoses::NONE,
    };
    let (bare, whole) = (model.clone().without_correction().bake(), model.bake());
    let (mut bare, mut whole) = (bare.runner(), whole.runner());
    let mut of_example = |(s, example): (usize, &Example)| {
        let counts = example.local.is_some().then(|| touched(&training, s));
        let (bases, skins) = (bare.skin(&example.transforms)?, whole.skin(&example.transforms)?);
        let mut sums = Sums::default();
        for (v, x) in example.positions.iter().enumerate() {
            if counts.as_ref().is_some_and(|counts| !counts[v]) {
                continue;
            }
            let base = bases[v].as_dvec3();
            let (wanted, c) = (*x - base, skins[v].as_dvec3() - base);
            sums =
                sums.plus(Sums { cc: c.length_squared(), xc: wanted.dot(c), xx: wanted.length_squared(), points: 1 });
        }
        Ok(sums)
    };
    let sums: Vec<Sums> =
        examples.examples().iter().enumerate().map(&mut of_example).collect::<Result<_, PoseError>>()?;
    let all = sums.iter().fold(Sums::default(), |sum, one| sum.plus(*one));
    if all.cc <= 0.0 {
        return Ok(None);
    }
    let rms = |sum: f64| (sum / all.points as f64).sqrt();
    let without = |one: usize| {
        let others = sums.iter().enumerate().filter(|(s, _)| *s != one);
        others.fold(Sums::default(), |sum, (_, other)| sum.plus(*other))
    };
    let others = || rms((0..sums.len()).map(|s| sums[s].left(without(s).gain())).sum());
    let found = GainFound {
        examples: sums.len(),
        base: rms(all.xx),
        whole: rms(all.left(1.0)),
        is_fitted: stated.is_none(),
        left: match stated {
            Some(gain) => Some(rms(all.left(gain))),
            None => (sums.len() > 1).then(others),
        },
    };
    Ok(Some((stated.unwrap_or_else(|| all.gain()), found)))
}
