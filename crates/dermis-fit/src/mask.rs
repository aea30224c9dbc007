//! What each example says of each vertex: the masks of local sculpts.
//!
//! A local sculpt says how the skin is where somebody touched it. Elsewhere it shows what the artist was shown, which is weak
//! evidence: nobody looked there. Read with full weight it would un-teach what other sculpts teach, so that a sculpt of the shoulder
//! takes back one of the hip.
//!
//! With t the positions of example s, b the skin that was shown and base the deformer that is corrected, a row of the regression is
//!
//! ```text
//! touched_sv = 1 where a mask says so, or where |t_sv − b_sv| > 1e-5 L      target t_sv − base_sv, weight 1
//! else                                                                       target b_sv − base_sv, weight c₀
//! ```
//!
//! Local sculpts of one pose are one example: the later one holds where it was touched.

use crate::training::Training;
use dermis_deform::lbs;
use dermis_rig::glam::DVec3;
use dermis_rig::{ExampleSet, Rig, pose_numbers};

/// c₀, the default weight of untouched rows. Without them (0) one sculpt of a walk spoils the skin that others taught by 6.5 % in a
/// step; with 1 sculpts un-teach each other, and cross-validation finds nothing to learn.
pub const UNTOUCHED: f64 = 0.1;

/// Returns whether each vertex of example `s` was touched: all of them unless it is a local sculpt.
pub(crate) fn touched(training: &Training<'_>, s: usize) -> Vec<bool> {
    let found = training.examples[s].touched(training.unit(), |v| training.residual(s, v));
    found.unwrap_or_else(|| vec![true; training.rest.len()])
}

/// What an example says of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Said {
    /// Nothing: a later sculpt of the same pose says it.
    Nothing,
    /// What the artist was shown.
    Shown,
    /// How the skin is.
    Touched,
}

impl Said {
    /// Returns the weight of a row, c₀ where the artist was only shown it.
    pub fn weight(self, untouched: f64) -> f64 {
        match self {
            Self::Touched => 1.0,
            Self::Shown => untouched,
            Self::Nothing => 0.0,
        }
    }
}

/// What each example says of each vertex, where some are local sculpts.
pub(crate) struct Masks(Vec<Vec<Said>>);

impl Masks {
    /// Returns what the examples say; `None` if every one says how all of the skin is.
    pub fn of(training: &Training<'_>) -> Option<Self> {
        if training.examples.iter().all(|example| example.local.is_none()) {
            return None;
        }
        let touched: Vec<Vec<bool>> = (0..training.examples.len()).map(|s| touched(training, s)).collect();
        let is_local: Vec<bool> = touched.iter().map(|mask| mask.contains(&false)).collect();
        if !is_local.contains(&true) {
            return None;
        }
        let numbers = pose_numbers(training.examples.iter().map(|e| &e.transforms), training.unit());
        let said = |touched: &bool| if *touched { Said::Touched } else { Said::Shown };
        let mut all: Vec<Vec<Said>> = touched.iter().map(|mask| mask.iter().map(said).collect()).collect();
        let mut poses: Vec<Vec<usize>> = vec![vec![]; numbers.len()];
        numbers.iter().enumerate().for_each(|(s, &number)| poses[number].push(s));
        for same in poses.iter().filter(|same| same.len() > 1 && same.iter().any(|&s| is_local[s])) {
            for v in 0..training.rest.len() {
                let holds = same.iter().rev().find(|&&s| touched[s][v]).or(same.last());
                same.iter().filter(|&s| Some(s) != holds).for_each(|&s| all[s][v] = Said::Nothing);
            }
        }
        Some(Self(all))
    }

    /// What example `s` says of vertex `v`.
    pub fn at(&self, s: usize, v: usize) -> Said {
        self.0[s][v]
    }

    /// The vertices that some example touched.
    pub fn vertices(&self) -> usize {
        let vertices = self.0.first().map_or(0, Vec::len);
        (0..vertices).filter(|&v| self.0.iter().any(|said| said[v] == Said::Touched)).count()
    }
}

/// Returns the labels of the local sculpts that touch no vertex.
pub(crate) fn touching_nothing(training: &Training<'_>) -> Vec<String> {
    let bare = |s: &usize| training.examples[*s].local.is_some() && !touched(training, *s).contains(&true);
    (0..training.examples.len()).filter(bare).map(|s| training.examples[s].label.clone()).collect()
}

/// Returns the examples with the rig's own skin as what was shown, for local sculpts that state neither mask nor shown skin; `None`
/// if there are none, or the rig has no weights. A base that the examples choose has no skin that could have been shown.
pub(crate) fn over_own_skin(rig: &Rig, examples: &ExampleSet) -> Option<ExampleSet> {
    let (weights, rest) = (rig.weights()?, &rig.mesh().positions);
    examples.shown_by(|pose| {
        let mut skin = vec![DVec3::ZERO; rest.len()];
        lbs(rest, weights, pose, &mut skin);
        skin
    })
}
