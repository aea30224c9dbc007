//! Methods by name, each with settings: what a comparison puts side by side.

use super::{BaseChoice, JointMethod, Method, MweMethod, PoseBlendshapesMethod, PoseSpaceSettings, PsdMethod};
use crate::mwe::{RidgeMode, RowChoice};
use crate::psd::compile::Budget;
use crate::psd::{Form, Reach};
use dermis_deform::pose_space::Family;

/// A method by name.
#[derive(Clone)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The method.
    pub method: Method,
}

/// The preset of that name.
pub fn preset(name: &str) -> Option<Preset> {
    presets().into_iter().find(|preset| preset.name == name)
}

/// Every preset: each method with its defaults, the default one first, followed by its variants.
pub fn presets() -> Vec<Preset> {
    let variants = variants();
    let with_variants = |method: Method| {
        let own = variants.iter().filter(|variant| variant.method.name() == method.name()).cloned();
        let plain = Preset { name: method.name(), about: method.about(), method: method.clone() };
        [plain].into_iter().chain(own.collect::<Vec<_>>())
    };
    Method::all().into_iter().flat_map(with_variants).collect()
}

fn variants() -> Vec<Preset> {
    let variant = |name, about, method| Preset { name, about, method };
    let over_weights = Method::Joint(JointMethod { base: BaseChoice::Lbs, ..JointMethod::default() });
    let pose_space = PoseSpaceSettings { reach: Reach::Global, ..PoseSpaceSettings::default() };
    let global = Method::PoseBlendshapes(PoseBlendshapesMethod { pose_space, ..PoseBlendshapesMethod::default() });
    vec![
        variant("joint-lbs", "the joint model over linear blend skinning", over_weights),
        variant("mwe-row", "each axis reads its own row", mwe(|own| own.rows = Some(RowChoice::Row))),
        variant("mwe-auto", "row or full by cross-validation", mwe(|own| own.rows = Some(RowChoice::Auto))),
        variant("mwe-rigid", "over rigid binding", mwe(|own| own.base = BaseChoice::Rigid)),
        variant("mwe-dqs", "over dual quaternions", mwe(|own| own.base = BaseChoice::Dqs)),
        variant("mwe-relative-row", "ridge relative to the data, row features, no guard", relative(RowChoice::Row)),
        variant("mwe-relative", "ridge relative to the data, full features, no guard", relative(RowChoice::Full)),
        variant("mwe-published", "the published form, s_f = 1e-3, no guard", Method::Mwe(MweMethod::published())),
        variant("psd-exact", "every example met, no smoothing", psd(|own| own.pose_space.smoothing = Some(0.0))),
        variant("psd-linear", "with a linear term", psd(|own| own.linear = true)),
        variant("psd-gaussian", "the Gaussian kernel", psd(|own| own.kernel = Some(Family::Gaussian))),
        variant("psd-wendland", "a kernel of compact support", psd(|own| own.kernel = Some(Family::Wendland))),
        variant("psd-polyharmonic", "the polyharmonic spline", psd(|own| own.kernel = Some(Family::Polyharmonic))),
        variant(
            "psd-global",
            "all joints count for every vertex, as first published",
            psd(|own| own.pose_space.reach = Reach::Global),
        ),
        variant(
            "psd-forward",
            "displacements of the world, as first published",
            psd(|own| own.pose_space.form = Form::Forward),
        ),
        variant(
            "psd-compiled",
            "pose-space deformation compiled to 128 shapes of 16 kernels",
            psd(|own| own.budget = Some(Budget { shapes: 128, centres: 16, per_vertex: None })),
        ),
        variant("pose-blendshapes-global", "linear in the entries of all joints' rotations, as published", global),
    ]
}

fn mwe(change: fn(&mut MweMethod)) -> Method {
    let mut own = MweMethod::default();
    change(&mut own);
    Method::Mwe(own)
}

fn psd(change: fn(&mut PsdMethod)) -> Method {
    let mut own = PsdMethod::default();
    change(&mut own);
    Method::Psd(own)
}

fn relative(rows: RowChoice) -> Method {
    let ridge_mode = RidgeMode::Relative;
    Method::Mwe(MweMethod { rows: Some(rows), ridge_mode, guard: false, ..MweMethod::default() })
}
