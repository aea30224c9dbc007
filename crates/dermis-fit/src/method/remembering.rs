//! The layer that remembers sculpts, over a method that has none of its own.
//!
//! It is a [joint model](dermis_deform::joints) without joints: nothing but [shapes](crate::psd::remember) of what the method leaves
//! of every sculpt, each with one weight. The layer follows the method's own correction.

use super::correctives::CorrectiveShape;
use super::precision::CoefficientChoice;
use super::settings::Setting;
use super::{FitInput, FitWarning, Learnt, MethodError, MethodReport};
use crate::joints::JointSettings;
use crate::psd::remember::{LayerReport, remember};
use crate::training::Progress;
use dermis_deform::baked::CoefficientPrecision;
use dermis_deform::baked::Scratch;
use dermis_deform::guard::{BALL_FACTOR, Weld};
use dermis_deform::joints::Joints;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{ExampleSet, LocalSculpt, Mirror, Rows};

pub(super) const REMEMBER: Setting = Setting::new(
    "remember",
    "N",
    "1 for sculpts, 0 for examples",
    "Share of what the model leaves of each sculpt that is kept as a shape with the sculpt's name: 1 meets every sculpt, 0 keeps \
     nothing",
)
.range(0.0, 1.0);

/// Whether all examples are sculpts.
pub(super) fn are_sculpts(examples: &ExampleSet) -> bool {
    !examples.examples().is_empty() && examples.examples().iter().all(|example| example.local.is_some())
}

/// The strength of the layer: as stated, else one where every example is a sculpt, and zero otherwise.
pub(super) fn strength(stated: Option<f64>, examples: &ExampleSet) -> f64 {
    stated.unwrap_or(f64::from(u8::from(are_sculpts(examples))))
}

/// What the report says of sculpts that the layer cannot tell apart.
pub(super) fn warnings(layer: &LayerReport) -> impl Iterator<Item = FitWarning> {
    layer.apart.iter().map(|(first, second, apart)| FitWarning::SculptsApart {
        first: first.clone(),
        second: second.clone(),
        apart: *apart,
    })
}

/// What a method that has no layer of its own remembers, and how.
pub(super) struct Remembering<'a> {
    /// Of the shapes, 0..1.
    pub strength: f64,
    /// The symmetry by which every sculpt has an image on the other side, if any.
    pub mirror: Option<&'a Mirror>,
    /// Whether the shapes have a ball.
    pub guard: bool,
    /// What the method corrects, in the poses of the examples.
    pub base: &'a [Vec<DVec3>],
}

impl Remembering<'_> {
    /// Puts the layer over what was learnt, and its shapes into the report.
    pub(super) fn over(
        &self,
        mut learnt: Learnt,
        input: &FitInput<'_>,
        progress: Progress<'_>,
    ) -> Result<Learnt, MethodError> {
        let weights = input.weights()?;
        let smooth = smooth(&learnt, input)?;
        let shown = self.shown(input)?;
        let training = FitInput { examples: &shown, ..*input }.training((&smooth).into());
        let settings = JointSettings::new(false);
        let weld = Weld::along(input.rig.skeleton(), &vec![false; input.rig.skeleton().len()]);
        let mut layer = Joints::empty(training.length, settings.kernel(), settings.frame, vec![], weld);
        let vertices = training.rest.len();
        layer.weights = weights.clone();
        (layer.terms, layer.coefficients) = (Rows::by_row(vertices, vec![]), Rows::by_row(vertices, vec![]));
        layer.shared = Rows::by_row(vertices, vec![]);
        let report = remember(&training, &mut layer, self.strength, self.mirror, self.guard, progress)?;
        learnt.report.warnings.extend(warnings(&report));
        learnt.report.settings.push(("remembered".into(), self.strength.to_string()));
        if let (true, Some(shapes)) = (self.guard, &layer.layer) {
            let largest = |v| {
                let of_vertex = &shapes.displacements[shapes.terms.range(v)];
                of_vertex.iter().map(|e| e.length()).fold(0.0, f64::max) * BALL_FACTOR
            };
            layer.radii = (0..vertices).map(largest).collect();
        }
        let named = report.shapes.iter().map(|shape| CorrectiveShape::new(shape, input.rig)).collect();
        match &mut learnt.report.details {
            MethodReport::Mwe(own) => own.remembered = named,
            MethodReport::PoseSpace(own) => own.remembered = named,
            _ => {}
        }
        if layer.layer.is_some() {
            learnt.deformer = learnt.deformer.followed_by(layer)?;
        }
        Ok(learnt)
    }

    /// The examples with the base as what was shown, where a sculpt does not say it: what a sculpt touched is what it changed of the
    /// base, not of the method's skin.
    fn shown(&self, input: &FitInput<'_>) -> Result<ExampleSet, MethodError> {
        let mut examples = input.examples.examples().to_vec();
        for (example, base) in examples.iter_mut().zip(self.base) {
            if let Some(local) = &mut example.local {
                let LocalSculpt { shown, .. } = local;
                shown.get_or_insert_with(|| base.clone());
            }
        }
        ExampleSet::new(input.examples.name.clone(), examples, input.rig)
            .map_err(|_| MethodError::InputLacks { what: "examples of the rig" })
    }
}

/// What was learnt shows in the poses of the examples, as it will be delivered.
fn smooth(learnt: &Learnt, input: &FitInput<'_>) -> Result<Vec<Vec<DVec3>>, MethodError> {
    let precision = match learnt.coefficients {
        CoefficientChoice::Sixteen => CoefficientPrecision::Sixteen,
        CoefficientChoice::Auto | CoefficientChoice::Single => CoefficientPrecision::Single,
    };
    let baked = learnt.deformer.bake().with_precision(precision);
    let (mut scratch, mut skin) = (Scratch::default(), vec![Vec3::ZERO; baked.vertices()]);
    let mut skins = Vec::with_capacity(input.examples.len());
    for (s, example) in input.examples.examples().iter().enumerate() {
        let given: Option<Vec<Vec3>> = input.base.map(|base| base[s].iter().map(|p| p.as_vec3()).collect());
        baked.evaluate(&example.transforms, given.as_deref(), &mut scratch, &mut skin)?;
        skins.push(skin.iter().map(|p| p.as_dvec3()).collect());
    }
    Ok(skins)
}
