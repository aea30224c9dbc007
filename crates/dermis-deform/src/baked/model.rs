//! A model ready to run.

use super::bases::BakedBase;
use super::corrections::{BakedCorrection, CoefficientPrecision};
use crate::parts::{DeformerError, together};
use crate::pose_size::BoneCount;
use crate::pose_space::Channel;
use dermis_rig::glam::Vec3;

/// A deformer ready to run. Its parts are of one mesh and one skeleton, which its constructor checks once; evaluation
/// then fails only for a pose, given positions or an output of another size.
#[derive(Clone, Debug)]
pub struct Baked {
    pub(super) rest: Vec<Vec3>,
    pub(super) base: BakedBase,
    pub(super) corrections: Vec<BakedCorrection>,
    pub(super) bones: BoneCount,
    /// How far the bones carry this point, the first rest vertex, is the shift of the character.
    pub(super) point: Vec3,
}

impl Baked {
    /// A model of parts that are in `f32` already; [`Deformer::bake`](crate::Deformer::bake) makes one of others.
    ///
    /// - `rest`: rest positions, rest world, metres
    ///
    /// # Errors
    /// [`DeformerError`] if a part is of another mesh, no pose suits all parts, or a list names what does not exist.
    pub fn new(
        rest: Vec<Vec3>,
        base: BakedBase,
        corrections: impl IntoIterator<Item = BakedCorrection>,
    ) -> Result<Self, DeformerError> {
        let corrections: Vec<_> = corrections.into_iter().collect();
        let mut bones = base.check(rest.len())?;
        for correction in &corrections {
            bones = together(bones, correction.check(rest.len())?)?;
        }
        Ok(Self::unchecked(rest, base, corrections, bones))
    }

    /// A model of parts that were checked before they were rounded.
    pub(super) fn unchecked(
        rest: Vec<Vec3>,
        base: BakedBase,
        mut corrections: Vec<BakedCorrection>,
        bones: BoneCount,
    ) -> Self {
        for (at, correction) in corrections.iter_mut().enumerate() {
            if let BakedCorrection::Joints(joints) = correction {
                joints.arrange(Some(&base).filter(|_| at == 0));
            }
        }
        let point = rest.first().copied().unwrap_or(Vec3::ZERO);
        Self { rest, base, corrections, bones, point }
    }

    /// The same for a skeleton of `bones` bones: other poses are errors, also those with more bones than the parts name.
    ///
    /// # Errors
    /// [`DeformerError::Bones`] if a part names a bone beyond them.
    pub fn for_bones(mut self, bones: usize) -> Result<Self, DeformerError> {
        self.bones = together(self.bones, BoneCount::Exactly(bones))?;
        Ok(self)
    }

    /// The same over another base.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_base(self, base: BakedBase) -> Result<Self, DeformerError> {
        Self::new(self.rest, base, self.corrections)
    }

    /// The same with other corrections, or none.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_corrections(
        self,
        corrections: impl IntoIterator<Item = BakedCorrection>,
    ) -> Result<Self, DeformerError> {
        Self::new(self.rest, self.base, corrections)
    }

    /// The same with its last correction changed, if it has one.
    ///
    /// # Errors
    /// As [`new`](Self::new), if the changed correction does not belong to the model.
    pub fn edited(mut self, change: impl FnOnce(&mut BakedCorrection)) -> Result<Self, DeformerError> {
        self.corrections.last_mut().map(change);
        Self::new(self.rest, self.base, self.corrections)
    }

    /// The same with its base alone.
    #[must_use]
    pub fn without_correction(self) -> Self {
        Self { corrections: vec![], ..self }
    }

    /// The same without the shapes that a joint model remembers; the gate stays.
    #[must_use]
    pub fn without_remembered(mut self) -> Self {
        for correction in &mut self.corrections {
            if let BakedCorrection::Joints(joints) = correction {
                joints.layer.displacements.fill(Vec3::ZERO);
            }
        }
        self
    }

    /// The parts: rest positions, base, corrections.
    pub fn into_parts(self) -> (Vec<Vec3>, BakedBase, Vec<BakedCorrection>) {
        (self.rest, self.base, self.corrections)
    }

    /// Rest positions, rest world, metres.
    pub fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    /// The base.
    pub fn base(&self) -> &BakedBase {
        &self.base
    }

    /// The corrections, each over what those before it leave.
    pub fn corrections(&self) -> &[BakedCorrection] {
        &self.corrections
    }

    /// How far the corrections may move each vertex together, metres: the sum of the radii of their balls. `None` if one has no ball;
    /// zeros without corrections.
    pub fn bounds(&self) -> Option<Vec<f32>> {
        let mut bounds = vec![0.0; self.vertices()];
        for correction in &self.corrections {
            if correction.radii().len() < bounds.len() {
                return None;
            }
            bounds.iter_mut().zip(correction.radii()).for_each(|(sum, radius)| *sum += radius);
        }
        Some(bounds)
    }

    /// Channels that the corrections read of a pose, beside its bones; each once.
    pub fn channels(&self) -> Vec<&Channel> {
        let mut channels: Vec<&Channel> = Vec::new();
        for channel in self.corrections.iter().flat_map(BakedCorrection::channels) {
            if channels.iter().all(|known| known.name != channel.name) {
                channels.push(channel);
            }
        }
        channels
    }

    /// The bones of a pose that the model reads.
    pub fn bones(&self) -> BoneCount {
        self.bones
    }

    /// The same model with its corrections' coefficients stored in another precision; corrections that have one only
    /// (pose spaces) stay as they are.
    ///
    /// What 16 bits cost is measured by [`largest_difference`](Self::largest_difference).
    #[must_use]
    pub fn with_precision(mut self, precision: CoefficientPrecision) -> Self {
        let stored = |correction| match correction {
            BakedCorrection::Enveloping(c) => BakedCorrection::Enveloping(Box::new(c.with_precision(precision))),
            BakedCorrection::Joints(c) => BakedCorrection::Joints(Box::new(c.with_precision(precision))),
            other => other,
        };
        self.corrections = self.corrections.into_iter().map(stored).collect();
        self
    }

    /// How the coefficients are stored: in 16 bits if those of one correction are.
    pub fn precision(&self) -> CoefficientPrecision {
        let of = |correction: &BakedCorrection| match correction {
            BakedCorrection::Enveloping(c) => c.coefficients.precision(),
            BakedCorrection::Joints(c) => c.free.precision(),
            BakedCorrection::PoseSpace(_) | BakedCorrection::Shapes(_) => CoefficientPrecision::Single,
        };
        match self.corrections.iter().any(|c| of(c) == CoefficientPrecision::Sixteen) {
            true => CoefficientPrecision::Sixteen,
            false => CoefficientPrecision::Single,
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.rest.len()
    }

    /// Whether every pose must come with the base's positions.
    pub fn needs_given(&self) -> bool {
        matches!(self.base, BakedBase::Given)
    }

    /// Bytes of the arrays that evaluation reads, the rest mesh apart.
    pub fn bytes(&self) -> usize {
        self.base.bytes() + self.corrections.iter().map(BakedCorrection::bytes).sum::<usize>()
    }
}
