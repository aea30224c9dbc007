//! The input of every fit, its errors, and its progress.

use crate::inverse::InverseError;
use dermis_rig::glam::DVec3;
use dermis_rig::{
    BoneIndex, BoneTransforms, Example, InfluenceError, Influences, Rows, RowsError, Skeleton, VertexIndex,
    pose_numbers,
};
use dermis_solve::SolveError;
use rayon::prelude::*;
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Examples, and the base deformer's positions in their poses.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    /// The skeleton.
    pub skeleton: &'a Skeleton,
    /// Rest positions.
    pub rest: &'a [DVec3],
    /// L: the rest diagonal. Lengths are divided by it before a solve, so that a ridge means the same on a mouse and a
    /// whale. Zero counts as one.
    pub length: f64,
    /// The examples.
    pub examples: &'a [Example],
    /// The base's positions in each example's pose. [`BasePoses::NONE`] for a fit that corrects no base.
    pub base: BasePoses<'a>,
}

/// The base's positions in the poses of examples.
#[derive(Clone, Copy)]
pub enum BasePoses<'a> {
    /// Stored, one list per example.
    Stored(&'a [Vec<DVec3>]),
    /// Computed from a pose and the index of a vertex whenever they are read, without storage. They must be finite.
    Computed(&'a (dyn Fn(&BoneTransforms, usize) -> DVec3 + Sync)),
    /// The residuals of some vertices, where neither skins nor bases are held: only the joint model is fitted to them. The
    /// positions of the examples are empty.
    Residuals {
        /// Where each vertex of the mesh stands in a list of residuals; [`UNHELD`] if it is not there.
        places: &'a [u32],
        /// The list of each example.
        order: &'a [usize],
        /// Lists of residuals, one after the other.
        values: &'a [DVec3],
        /// How many a list has.
        held: usize,
    },
}

/// Influences that a fit computed, from one list of (bone, value) per vertex.
///
/// # Errors
/// [`FitError::Table`], naming the table and the vertex, for NaN or infinity.
pub(crate) fn table(
    table: &'static str,
    rows: impl IntoIterator<Item = Vec<(BoneIndex, f64)>>,
) -> Result<Influences, FitError> {
    Influences::from_rows(rows).map_err(|source| FitError::Table { table, source })
}

/// Rows that a fit computed.
///
/// # Errors
/// [`FitError::Table`], naming the table, for more entries than 32 bits can count.
pub(crate) fn filled<T>(
    table: &'static str,
    rows: impl IntoIterator<Item = impl IntoIterator<Item = T>>,
) -> Result<Rows<T>, FitError> {
    let mut made = Rows::default();
    rows.into_iter().try_for_each(|row| made.push(row)).map_err(of_table(table))?;
    Ok(made)
}

/// The error of a table whose rows do not fit.
pub(crate) fn of_table(table: &'static str) -> impl Fn(RowsError) -> FitError {
    move |source| FitError::Table { table, source: source.into() }
}

/// An example of which the pose alone is held.
pub(crate) fn without_skin(example: &Example) -> Example {
    let Example { label, time, transforms, importance, .. } = example;
    let (label, transforms) = (label.clone(), transforms.clone());
    Example { label, time: *time, transforms, positions: vec![], importance: *importance, local: None }
}

/// The place of a vertex whose residuals are not held.
pub const UNHELD: u32 = u32::MAX;

impl fmt::Debug for BasePoses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(all) => f.debug_tuple("Stored").field(all).finish(),
            Self::Computed(_) => f.write_str("Computed"),
            Self::Residuals { values, .. } => f.debug_tuple("Residuals").field(values).finish(),
        }
    }
}

impl<'a> From<&'a [Vec<DVec3>]> for BasePoses<'a> {
    fn from(stored: &'a [Vec<DVec3>]) -> Self {
        Self::Stored(stored)
    }
}

impl<'a> From<&'a Vec<Vec<DVec3>>> for BasePoses<'a> {
    fn from(stored: &'a Vec<Vec<DVec3>>) -> Self {
        Self::Stored(stored)
    }
}

impl BasePoses<'_> {
    /// No base.
    pub const NONE: Self = Self::Stored(&[]);

    /// The positions stored per example; none if they are computed, or residuals held.
    fn stored(&self) -> &[Vec<DVec3>] {
        match self {
            Self::Stored(all) => all,
            Self::Computed(_) | Self::Residuals { .. } => &[],
        }
    }

    /// How many vertices each example stores.
    fn counts(&self) -> Vec<usize> {
        match self {
            Self::Stored(all) => all.iter().map(Vec::len).collect(),
            Self::Computed(_) => vec![],
            Self::Residuals { order, held, .. } => vec![*held; order.len()],
        }
    }

    /// The number of vertices that is held of a mesh of so many.
    fn held(&self, vertices: usize) -> usize {
        match self {
            Self::Residuals { places, .. } => places.iter().filter(|at| **at != UNHELD).count(),
            _ => vertices,
        }
    }
}

pub use dermis_rig::progress::{Cancelled, Progress, silent};

/// The middle of a rest mesh: a point that moves with the character.
pub(crate) fn middle(rest: &[DVec3]) -> DVec3 {
    rest.iter().sum::<DVec3>() / rest.len().max(1) as f64
}

/// Why a fit failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// No examples, or none of positive importance.
    #[error("there are no examples to fit")]
    NoExamples,
    /// An example holds NaN or infinity.
    #[error("example \"{example}\": {what} {index} is not finite")]
    NotFinite {
        /// The example.
        example: String,
        /// Vertex, base vertex or bone.
        what: &'static str,
        /// Which one.
        index: usize,
    },
    /// A table that the fit computed holds NaN or infinity.
    #[error("{table}: {source}")]
    Table {
        /// Which table.
        table: &'static str,
        /// What is wrong with it.
        source: InfluenceError,
    },
    /// Sums that lack a bone which the vertices of a group follow.
    #[error("the sums hold nothing of bone {bone}")]
    NoSums {
        /// The bone.
        bone: usize,
    },
    /// Parts of the input differ in number.
    #[error("{what}: {found}, but there are {expected}")]
    Counts {
        /// Which part.
        what: &'static str,
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// An anchor bone that cannot be inverted in a pose.
    #[error("bone \"{bone}\" is an anchor, but its transform in example \"{example}\" is singular")]
    SingularAnchor {
        /// The bone.
        bone: String,
        /// The example.
        example: String,
    },
    /// A sculpt in a pose in which nothing that could drive it has moved.
    #[error("example \"{example}\": no joint has turned in its pose, so that none can drive it")]
    NoDriver {
        /// The example.
        example: String,
    },
    /// Parts of rotations in coordinates that have none.
    #[error("swing or twist alone drive sculpts in the coordinates chord and swing-twist, and in no others")]
    NoParts,
    /// Examples that the published rule for influences cannot read.
    #[error("{examples} of {of} examples move several joints; the published rule reads examples of one joint each")]
    SeveralJoints {
        /// How many.
        examples: usize,
        /// Of how many.
        of: usize,
    },
    /// A setting that needs every example at hand.
    #[error("{setting} cannot be fitted from sums over the examples: {rule}")]
    NotSummed {
        /// The setting.
        setting: &'static str,
        /// What it must be.
        rule: &'static str,
    },
    /// A sum of squares below zero.
    #[error("statistics: {what} {index} is negative")]
    Negative {
        /// What.
        what: &'static str,
        /// Of which vertex.
        index: usize,
    },
    /// Statistics that cannot be added up.
    #[error("the statistics differ in {what}")]
    Differ {
        /// In what.
        what: &'static str,
    },
    /// A setting outside its range.
    #[error("{name} = {value} is not usable: {rule}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must obey.
        rule: &'static str,
    },
    /// The system of a vertex, or of a group of vertices that share their features, cannot be solved.
    #[error("vertex {vertex}: {source}")]
    Solve {
        /// The vertex, or the first of its group.
        vertex: VertexIndex,
        /// Why.
        source: SolveError,
    },
    /// The kernel of a joint's inducing rotations cannot be factored.
    #[error("the joint of bone \"{bone}\": {source}")]
    Joint {
        /// The bone that the joint moves.
        bone: String,
        /// Why.
        source: SolveError,
    },
    /// The shapes of a region of a compiled pose space cannot be solved.
    #[error("pose space, region {region}: {source}")]
    Region {
        /// The region, numbered as the joints of the pose space.
        region: usize,
        /// Why.
        source: SolveError,
    },
    /// An example cannot be brought back through a stack of deformers.
    #[error("example \"{example}\": {source}")]
    Inverse {
        /// The example.
        example: String,
        /// Why.
        source: InverseError<Infallible>,
    },
    /// A system of the whole mesh failed.
    #[error("the surface: {source}")]
    Surface {
        /// Why.
        source: SolveError,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// Some of the examples, with base poses of their own.
pub(crate) struct Included {
    examples: Vec<Example>,
    /// Their base poses, if those are stored.
    base: Vec<Vec<DVec3>>,
    /// Where the residuals of each are, if those alone are held.
    order: Vec<usize>,
}

impl Training<'_> {
    /// What the base leaves of vertex `v` in example `s`.
    pub(crate) fn residual(&self, s: usize, v: usize) -> DVec3 {
        match self.base {
            BasePoses::Stored(all) => self.examples[s].positions[v] - all[s][v],
            BasePoses::Computed(at) => self.examples[s].positions[v] - at(&self.examples[s].transforms, v),
            BasePoses::Residuals { places, order, values, held } => values[order[s] * held + places[v] as usize],
        }
    }

    /// What was shown of vertex `v` in example `s`, less the base: zero where the base was shown.
    pub(crate) fn shown(&self, s: usize, v: usize) -> DVec3 {
        let example = &self.examples[s];
        let shown = example.local.as_ref().and_then(|local| local.shown.as_ref());
        shown.map_or(DVec3::ZERO, |shown| self.residual(s, v) - (example.positions[v] - shown[v]))
    }

    /// The base's positions in the pose of example `s`; none where residuals alone are held.
    pub(crate) fn base_pose(&self, s: usize) -> Cow<'_, [DVec3]> {
        match &self.base {
            BasePoses::Stored(all) => Cow::Borrowed(&all[s]),
            BasePoses::Computed(at) => {
                let transforms = &self.examples[s].transforms;
                Cow::Owned((0..self.rest.len()).map(|v| at(transforms, v)).collect())
            }
            BasePoses::Residuals { .. } => Cow::Borrowed(&[]),
        }
    }

    /// Checks that all parts agree in number and that all numbers are finite.
    pub(crate) fn check(&self) -> Result<(), FitError> {
        self.check_skins(self.rest.len())
    }

    /// As [`Training::check`], for a fit that reads residuals alone.
    pub(crate) fn check_residuals(&self) -> Result<(), FitError> {
        self.check_skins(if matches!(self.base, BasePoses::Residuals { .. }) { 0 } else { self.rest.len() })
    }

    fn check_skins(&self, vertices: usize) -> Result<(), FitError> {
        self.check_each(vertices)?;
        if self.examples.iter().all(|e| e.importance == 0.0) { Err(FitError::NoExamples) } else { Ok(()) }
    }

    /// As [`Training::check`], but allows that no example counts.
    pub(crate) fn check_examples(&self) -> Result<(), FitError> {
        self.check_each(self.rest.len())
    }

    fn check_each(&self, vertices: usize) -> Result<(), FitError> {
        let counts = |what, found, expected| match found == expected {
            true => Ok(()),
            false => Err(FitError::Counts { what, found, expected }),
        };
        let of_example = |(at, example): (usize, &Example)| {
            let base = self.base.stored().get(at).map_or(&[][..], Vec::as_slice);
            counts("vertices of an example", example.positions.len(), vertices)?;
            counts("bones of an example", example.transforms.len(), self.skeleton.len())?;
            let r = example.importance;
            if !(r >= 0.0 && r.is_finite()) {
                return Err(FitError::Setting { name: "importance", value: r, rule: "it must be zero or more" });
            }
            let broken = |points: &[DVec3]| points.iter().position(|p| !p.is_finite());
            let bone = example.transforms.iter().position(|m| !m.is_finite());
            for (what, index) in [("vertex", broken(&example.positions)), ("base vertex", broken(base)), ("bone", bone)]
            {
                if let Some(index) = index {
                    return Err(FitError::NotFinite { example: example.label.clone(), what, index });
                }
            }
            Ok(())
        };
        // The first error in the order of the examples, whatever thread finds one first.
        let found: Vec<Result<(), FitError>> = self.examples.par_iter().enumerate().map(of_example).collect();
        found.into_iter().collect()
    }

    /// Returns the examples of positive importance with their base; `None` if all are positive. An example without importance
    /// must count nowhere, neither in folds nor for the guard. Serves [`Training::with`].
    pub(crate) fn included(&self) -> Option<Included> {
        let included: Vec<usize> = (0..self.examples.len()).filter(|&s| self.examples[s].importance > 0.0).collect();
        (included.len() < self.examples.len()).then(|| self.some(included))
    }

    /// Some of the examples.
    fn some(&self, mut order: Vec<usize>) -> Included {
        let base = order.iter().filter_map(|&s| self.base.stored().get(s).cloned()).collect();
        let examples = order.iter().map(|&s| self.examples[s].clone()).collect();
        if let BasePoses::Residuals { order: known, .. } = self.base {
            order.iter_mut().for_each(|s| *s = known[*s]);
        }
        Included { examples, base, order }
    }

    /// As [`Training::included`], with the examples of one pose one after another: a fold takes all of them or none. `None` if
    /// that changes nothing.
    pub(crate) fn grouped(&self) -> Option<Included> {
        let mut order: Vec<usize> = (0..self.examples.len()).filter(|&s| self.examples[s].importance > 0.0).collect();
        let numbers = pose_numbers(order.iter().map(|&s| &self.examples[s].transforms), self.unit());
        let mut at: Vec<usize> = (0..order.len()).collect();
        at.sort_by_key(|&at| numbers[at]);
        order = at.into_iter().map(|at| order[at]).collect();
        let unchanged = order.len() == self.examples.len() && order.is_sorted();
        (!unchanged).then(|| self.some(order))
    }

    /// The same training on the examples of [`Training::included`] or [`Training::grouped`].
    pub(crate) fn with<'a>(&'a self, included: &'a Option<Included>) -> Training<'a> {
        match included {
            Some(Included { examples, base, order }) => match self.base {
                BasePoses::Stored(_) => Training { examples, base: base.into(), ..*self },
                BasePoses::Computed(_) => Training { examples, ..*self },
                BasePoses::Residuals { places, values, held, .. } => {
                    Training { examples, base: BasePoses::Residuals { places, order, values, held }, ..*self }
                }
            },
            None => *self,
        }
    }

    /// Checks that there is a base pose for every example.
    pub(crate) fn check_base(&self) -> Result<(), FitError> {
        if matches!(self.base, BasePoses::Computed(_)) {
            return Ok(());
        }
        let (counts, held) = (self.base.counts(), self.base.held(self.rest.len()));
        if counts.len() != self.examples.len() {
            return Err(FitError::Counts { what: "base poses", found: counts.len(), expected: self.examples.len() });
        }
        match counts.into_iter().find(|count| *count != held) {
            Some(found) => Err(FitError::Counts { what: "vertices of a base pose", found, expected: held }),
            None => Ok(()),
        }
    }

    /// L as it divides: never zero.
    pub(crate) fn unit(&self) -> f64 {
        if self.length > 0.0 && self.length.is_finite() { self.length } else { 1.0 }
    }

    /// Returns ρ_v, the largest residual of the base at each vertex over the examples of positive importance.
    pub fn largest_residuals(&self) -> Vec<f64> {
        let mut largest = vec![0.0f64; self.rest.len()];
        let there = !matches!(self.base, BasePoses::Stored([]));
        for (s, example) in self.examples.iter().enumerate().filter(|(_, e)| there && e.importance > 0.0) {
            for (most, (x, b)) in largest.iter_mut().zip(example.positions.iter().zip(&*self.base_pose(s))) {
                *most = most.max((*x - *b).length());
            }
        }
        largest
    }
}

/// Counts finished vertices and listens for cancellation.
pub(crate) struct Ticker<'a> {
    done: AtomicU64,
    total: u64,
    progress: Progress<'a>,
}

impl<'a> Ticker<'a> {
    pub(crate) fn new(total: u64, progress: Progress<'a>) -> Self {
        Self { done: AtomicU64::new(0), total, progress }
    }

    pub(crate) fn tick(&self, more: u64) -> Result<(), FitError> {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        match (self.progress)(done, self.total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(_) => Err(FitError::Cancelled),
        }
    }
}
