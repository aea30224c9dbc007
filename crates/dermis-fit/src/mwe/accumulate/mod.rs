//! Fitting from sums over the examples, which are seen one after another and need not be kept.
//!
//! Let f be the features of a vertex's bones less those of the bind pose, seen from its anchor, y the residual of the base
//! seen from there, and r a pose's importance. The normal equations of an absolute ridge read
//!
//! ```text
//! D (XᵀX) D + s I,     D Xᵀ Y,     XᵀX = Σ r² f fᵀ,     Xᵀ Y = Σ r² f yᵀ.
//! ```
//!
//! A fit at a given s therefore needs three sums only: Σ r² f yᵀ per vertex, Σ r² f fᵀ per anchor (over all bones seen from
//! it) and ρ, the largest residual per vertex. To choose s, the residuals of some vertices, evenly spread, are kept in `f32`.
//! Sums are in `f64` and in the order of the poses, so the same poses give the same bits in any batches.
//!
//! **Features are summed unwelded.** Which joints never moved is known only in the end, and one part of a set cannot know it of
//! another. So parts can be summed independently, and joints are welded when the sums are solved: the columns of the topmost
//! of the welded bones stand for all. They differ from welded features by less than
//! [`FROZEN`](dermis_deform::guard::FROZEN). Poses are not merged as duplicates; each counts.

mod finish;
mod statistics;
mod sums;

pub use statistics::{SeenPose, Statistics};

use super::scene::anchors;
use super::settings::{Centring, MweSettings, RidgeMode, RowChoice, Strength};
use crate::training::{FitError, Training};
use dermis_deform::enveloping::EnvelopingForm;
use dermis_rig::glam::DVec3;
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, Example, Influences, Skeleton};
use dermis_solve::simd::run;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use sums::{GramSums, MomentSums, View};

/// Poses that are summed at a time.
const BLOCK: usize = 16;
/// Vertices a task sums at a time.
const CHUNK: usize = 256;

/// Sums over examples, from which multi-weight enveloping can be fitted.
#[derive(Clone, Debug)]
pub struct Accumulator {
    skeleton: Skeleton,
    length: f64,
    unit: f64,
    maps: Influences,
    settings: MweSettings,
    anchors: Vec<Option<BoneIndex>>,
    /// Where the terms of each vertex start; one more entry than vertices.
    offsets: Vec<usize>,
    /// Place of each term's bone among those of its anchor.
    terms: Vec<u32>,
    /// Anchor of each vertex, as a place in `tables`.
    table_of: Vec<u32>,
    tables: Vec<Seen>,
    sums: Statistics,
}

/// The bones that are seen from one anchor.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    anchor: Option<BoneIndex>,
    bones: Vec<BoneIndex>,
    /// Where its Gram matrices start in [`Statistics::grams`].
    start: usize,
}

/// One in so many vertices is kept before any is dropped.
fn first_stride(vertices: usize, settings: &MweSettings) -> usize {
    vertices.div_ceil(settings.sweep_vertices.max(1)).max(1)
}

impl Accumulator {
    /// Nothing summed yet. `length` and `maps` as in [`fit_mwe`](super::fit_mwe); `settings.duplicates` is not read.
    ///
    /// # Errors
    /// [`FitError`]: counts that disagree, settings out of range, and those that need every example at hand: other
    /// centrings than that at the bind pose, other ridges than the absolute one, no guard.
    pub fn new(
        skeleton: &Skeleton,
        rest: &[DVec3],
        length: f64,
        maps: &Influences,
        settings: &MweSettings,
    ) -> Result<Self, FitError> {
        let allowed = |good, setting, rule| match good {
            true => Ok(()),
            false => Err(FitError::NotSummed { setting, rule }),
        };
        allowed(settings.centring == Centring::Rest, "the centring", "it must be the bind pose (rest)")?;
        allowed(settings.ridge == RidgeMode::Absolute, "the ridge", "it must be absolute")?;
        allowed(settings.guard, "the guard", "it must be on")?;
        let none = Training { skeleton, rest, length, examples: &[], base: crate::BasePoses::NONE };
        super::check_form(&none, maps, settings)?;
        let anchors = anchors(&none, maps, settings);
        if let Some(bone) = anchors.iter().flatten().find(|bone| bone.get() >= skeleton.len()) {
            let (found, expected) = (bone.get() + 1, skeleton.len());
            return Err(FitError::Counts { what: "bones, by an anchor", found, expected });
        }
        // The anchor's own features are constant.
        let seen = |v: usize| {
            let anchor = anchors[v];
            maps.of(v).iter().filter(move |(bone, mu)| *mu > 0.0 && Some(*bone) != anchor).map(|(bone, _)| *bone)
        };
        let mut bones_of: BTreeMap<Option<BoneIndex>, BTreeSet<BoneIndex>> = BTreeMap::new();
        for (v, anchor) in anchors.iter().enumerate() {
            bones_of.entry(*anchor).or_default().extend(seen(v));
        }
        let form = if settings.rows == RowChoice::Row { EnvelopingForm::Row } else { EnvelopingForm::Full };
        let (mut tables, mut start) = (Vec::new(), 0);
        for (anchor, bones) in bones_of {
            let table = Seen { anchor, bones: bones.into_iter().collect(), start };
            start += table.gram_length(form);
            tables.push(table);
        }
        let (mut offsets, mut terms, mut table_of) = (vec![0], Vec::new(), Vec::new());
        for (v, anchor) in anchors.iter().enumerate() {
            let table = tables.partition_point(|table| table.anchor < *anchor);
            table_of.push(table as u32);
            terms.extend(seen(v).map(|bone| tables[table].bones.partition_point(|b| *b < bone) as u32));
            offsets.push(terms.len());
        }
        let sums = Statistics {
            form,
            moments: vec![0.0; form.coefficients() * terms.len()],
            squares: vec![0.0; rest.len()],
            largest: vec![0.0; rest.len()],
            grams: vec![0.0; start],
            stride: first_stride(rest.len(), settings),
            poses: vec![],
        };
        Ok(Self {
            skeleton: skeleton.clone(),
            length,
            unit: none.unit(),
            maps: maps.clone(),
            settings: settings.clone(),
            anchors,
            offsets,
            terms,
            table_of,
            tables,
            sums,
        })
    }

    /// What was summed so far.
    pub fn statistics(&self) -> &Statistics {
        &self.sums
    }

    /// What was summed, nothing else.
    pub fn into_statistics(self) -> Statistics {
        self.sums
    }

    /// Takes sums of an accumulator of the same rig, maps and settings, in place of its own.
    ///
    /// # Errors
    /// [`FitError::Counts`], [`FitError::Differ`] or [`FitError::NotFinite`] if they cannot be.
    pub fn restore(mut self, sums: Statistics) -> Result<Self, FitError> {
        self.check(&sums)?;
        self.sums = sums;
        Ok(self)
    }

    /// Adds sums of an accumulator of the same rig, maps and settings, as if its poses followed those here.
    ///
    /// # Errors
    /// As [`Accumulator::restore`]; nothing is added then.
    pub fn add_sums(&mut self, sums: Statistics) -> Result<(), FitError> {
        self.check(&sums)?;
        self.absorb(sums);
        Ok(())
    }

    /// Examples of positive importance summed so far.
    pub fn poses(&self) -> usize {
        self.sums.poses.len()
    }

    /// Root mean square distance of the base from the examples, scaled by their importance.
    pub fn base_rms(&self) -> f64 {
        let pairs = (self.poses() * self.anchors.len()).max(1) as f64;
        (self.sums.squares.iter().sum::<f64>() / pairs).sqrt()
    }

    /// Sums more examples; `base` is the base's position of every vertex in each one's pose.
    ///
    /// # Errors
    /// [`FitError`]: counts that disagree, numbers that are not finite, singular anchors. Nothing is summed then.
    pub fn add(&mut self, examples: &[Example], base: &[Vec<DVec3>]) -> Result<(), FitError> {
        let rest = vec![DVec3::ZERO; self.anchors.len()];
        let training =
            Training { skeleton: &self.skeleton, rest: &rest, length: self.length, examples, base: base.into() };
        training.check_examples()?;
        training.check_base()?;
        for anchor in self.tables.iter().filter_map(|table| table.anchor) {
            if let Some(example) = examples.iter().find(|e| invert(&e.transforms[anchor]).is_none()) {
                let bone = self.skeleton.names()[anchor].clone();
                return Err(FitError::SingularAnchor { bone, example: example.label.clone() });
            }
        }
        let counted: Vec<(&Example, &[DVec3])> =
            examples.iter().zip(base).filter(|(e, _)| e.importance > 0.0).map(|(e, b)| (e, b.as_slice())).collect();
        counted.chunks(BLOCK).for_each(|block| self.add_block(block));
        Ok(())
    }

    fn add_block(&mut self, block: &[(&Example, &[DVec3])]) {
        let (form, unit, origin) = (self.sums.form, self.unit, self.settings.origin);
        let weights: Vec<f64> = block.iter().map(|(e, _)| e.importance.powi(2)).collect();
        let views: Vec<View> = self.tables.par_iter().map(|table| View::new(table, block, unit, origin)).collect();
        let mut rest = self.sums.grams.as_mut_slice();
        let mut grams = Vec::with_capacity(self.tables.len());
        for table in &self.tables {
            let (own, after) = rest.split_at_mut(table.gram_length(form));
            grams.push(own);
            rest = after;
        }
        grams.into_par_iter().zip(&views).for_each(|(gram, view)| {
            let mut gram = gram;
            for columns in view.parts(form) {
                let size = columns.len() / block.len();
                let (own, after) = gram.split_at_mut(size * (size + 1) / 2);
                run(GramSums { columns: &columns, size, weights: &weights, gram: own });
                gram = after;
            }
        });
        let (size, offsets) = (form.coefficients(), &self.offsets);
        let mut rest = self.sums.moments.as_mut_slice();
        let mut tasks = Vec::new();
        let beside = self.sums.squares.chunks_mut(CHUNK).zip(self.sums.largest.chunks_mut(CHUNK));
        for (at, (squares, largest)) in beside.enumerate() {
            let (first, last) = (at * CHUNK, at * CHUNK + squares.len());
            let (moments, after) = rest.split_at_mut(size * (offsets[last] - offsets[first]));
            tasks.push((first, moments, squares, largest));
            rest = after;
        }
        let (terms, table_of) = (&self.terms, &self.table_of);
        tasks.into_par_iter().for_each(|(first, mut moments, squares, largest)| {
            for (at, (square, most)) in squares.iter_mut().zip(largest).enumerate() {
                let v = first + at;
                let view = &views[table_of[v] as usize];
                let mut targets = [[0.0; 3]; BLOCK];
                for (s, (example, base)) in block.iter().enumerate() {
                    let world = example.positions[v] - base[v];
                    *square += weights[s] * world.length_squared();
                    *most = most.max(world.length_squared());
                    let y = view.back.get(s).map_or(world, |turn| *turn * world) * weights[s];
                    targets[s] = y.to_array();
                }
                let own = &terms[offsets[v]..offsets[v + 1]];
                let (sums, after) = moments.split_at_mut(size * own.len());
                run(MomentSums { view, terms: own, targets: &targets[..block.len()], form, sums });
                moments = after;
            }
        });
        for (example, base) in block {
            let kept = (0..base.len()).step_by(self.sums.stride);
            let residuals = kept.flat_map(|v| (example.positions[v] - base[v]).as_vec3().to_array()).collect();
            let (transforms, importance) = (example.transforms.clone(), example.importance);
            self.sums.poses.push(SeenPose { transforms, importance, residuals });
            self.sums.thin(base.len());
        }
    }

    /// Adds the sums of another accumulator of the same rig, maps and settings, as if its poses followed those here.
    ///
    /// # Errors
    /// [`FitError::Differ`], naming what.
    pub fn merge(&mut self, other: Self) -> Result<(), FitError> {
        let same = |same, what| if same { Ok(()) } else { Err(FitError::Differ { what }) };
        same(self.skeleton.names() == other.skeleton.names(), "bones")?;
        same(self.anchors.len() == other.anchors.len(), "vertices")?;
        same(self.settings == other.settings, "settings")?;
        same(self.maps == other.maps, "influence maps")?;
        same(self.unit == other.unit && self.anchors == other.anchors, "anchors or length")?;
        self.absorb(other.sums);
        Ok(())
    }

    /// Sets what the sums do not depend on: the form that is solved, and how s is chosen.
    ///
    /// # Errors
    /// [`FitError::NotSummed`] for full features where only rows were summed.
    pub fn choose(&mut self, rows: RowChoice, strength: Strength) -> Result<(), FitError> {
        if self.sums.form == EnvelopingForm::Row && rows != RowChoice::Row {
            return Err(FitError::NotSummed { setting: "the form", rule: "only row features were summed" });
        }
        (self.settings.rows, self.settings.strength) = (rows, strength);
        Ok(())
    }
}

impl Seen {
    fn gram_length(&self, form: EnvelopingForm) -> usize {
        let bones = self.bones.len();
        match form {
            EnvelopingForm::Full => 12 * bones * (12 * bones + 1) / 2,
            EnvelopingForm::Row => 3 * (4 * bones * (4 * bones + 1) / 2),
        }
    }

    /// The entry of XᵀX at two columns 12·place + entry, in the row form of the same axis.
    fn gram(&self, sums: &Statistics, a: usize, b: usize) -> f64 {
        let entry = |a: usize, b: usize| a.max(b) * (a.max(b) + 1) / 2 + a.min(b);
        let size = 4 * self.bones.len();
        sums.grams[self.start
            + match sums.form {
                EnvelopingForm::Full => entry(a, b),
                EnvelopingForm::Row => {
                    let own = |c: usize| 4 * (c / 12) + c % 4;
                    (a % 12) / 4 * (size * (size + 1) / 2) + entry(own(a), own(b))
                }
            }]
    }
}
