//! Methods by name, each with settings: what a comparison puts side by side.

use super::{BaseChoice, JointMethod, Method, MweMethod, PoseBlendshapesMethod, PoseSpaceSettings, PsdMethod};
use crate::mwe::{RidgeMode, RowChoice};
use crate::psd::compile::Budget;
use crate::psd::{Form, Reach};
use dermis_deform::pose_space::Family;

/// A method by name.
#[derive(Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    make: fn() -> Method,
}

impl Preset {
    /// The method.
    pub fn method(&self) -> Method {
        (self.make)()
    }
}

const fn preset_of(name: &'static str, about: &'static str, make: fn() -> Method) -> Preset {
    Preset { name, about, make }
}

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Every preset, the default first.
pub const PRESETS: [Preset; 30] = [
    preset_of("joint", "the joint model, default form", Method::joint),
    preset_of("joint-lbs", "the joint model over linear blend skinning", || {
        Method::Joint(JointMethod { base: BaseChoice::Lbs, ..JointMethod::default() })
    }),
    preset_of("own-weights", "the rig's own weights", || Method::OwnWeights),
    preset_of("lbs", "weights fitted to the examples", Method::lbs),
    preset_of("dqs", "the rig's own weights, dual quaternions", || Method::Dqs),
    preset_of("ddm", "the rig's own weights, direct delta mush", Method::direct_delta_mush),
    preset_of("animation-space", "coefficients shared by the axes", Method::animation_space),
    preset_of("mwe", "multi-weight enveloping, default form", Method::mwe),
    preset_of("mwe-row", "each axis reads its own row", || mwe(|own| own.rows = Some(RowChoice::Row))),
    preset_of("mwe-auto", "row or full by cross-validation", || mwe(|own| own.rows = Some(RowChoice::Auto))),
    preset_of("mwe-rigid", "over rigid binding", || mwe(|own| own.base = BaseChoice::Rigid)),
    preset_of("mwe-dqs", "over dual quaternions", || mwe(|own| own.base = BaseChoice::Dqs)),
    preset_of("mwe-relative-row", "ridge relative to the data, row features, no guard", || relative(RowChoice::Row)),
    preset_of("mwe-relative", "ridge relative to the data, full features, no guard", || relative(RowChoice::Full)),
    preset_of("mwe-published", "the published form, s_f = 1e-3, no guard", || Method::Mwe(MweMethod::published())),
    preset_of("psd", "pose-space deformation, default form", Method::psd),
    preset_of("psd-exact", "every example met, no smoothing", || psd(|own| own.pose_space.smoothing = Some(0.0))),
    preset_of("psd-linear", "with a linear term", || psd(|own| own.linear = true)),
    preset_of("psd-gaussian", "the Gaussian kernel", || psd(|own| own.kernel = Some(Family::Gaussian))),
    preset_of("psd-wendland", "a kernel of compact support", || psd(|own| own.kernel = Some(Family::Wendland))),
    preset_of("psd-polyharmonic", "the polyharmonic spline", || psd(|own| own.kernel = Some(Family::Polyharmonic))),
    preset_of("psd-global", "all joints count for every vertex, as first published", || {
        psd(|own| own.pose_space.reach = Reach::Global)
    }),
    preset_of("psd-forward", "displacements of the world, as first published", || {
        psd(|own| own.pose_space.form = Form::Forward)
    }),
    preset_of("psd-compiled", "pose-space deformation compiled to 128 shapes of 16 kernels", || {
        psd(|own| own.budget = Some(Budget { shapes: 128, centres: 16, per_vertex: None }))
    }),
    preset_of("eigenskin", "shapes per joint, over its rotation alone", Method::eigenskin),
    preset_of("pose-blendshapes", "linear in the entries of nearby joints' rotations", Method::pose_blendshapes),
    preset_of("pose-blendshapes-global", "linear in the entries of all joints' rotations, as published", || {
        let pose_space = PoseSpaceSettings { reach: Reach::Global, ..PoseSpaceSettings::default() };
        Method::PoseBlendshapes(PoseBlendshapesMethod { pose_space, ..PoseBlendshapesMethod::default() })
    }),
    preset_of(
        "shape-by-example",
        "a shape per example, with weights linear beyond the examples",
        Method::shape_by_example,
    ),
    preset_of("correctives", "a shape per example, for sculpts", Method::correctives),
    preset_of("rotational-regression", "triangles that turn with joints, no ball", Method::rotational_regression),
];

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
