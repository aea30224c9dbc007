//! From sculpts in poses to corrections at rest: the d with S(p + d) = sculpt, for any deformer S.
//!
//! Through the rig's own skinning the answer is a closed form, for every vertex a linear system; through a stack of
//! deformers, or one that is a program of its own, it is searched for by calling the deformer ([`dermis_fit::inverse`]).
//! What cannot be made, because the deformer is flat there or has a kink, is left as a remainder and reported.

pub mod error;
pub mod program;
pub(crate) mod recipe;
mod stack;
mod write;

pub use dermis_files::sculpts::{SculptSource, Sculpts, ShownSkin, load_sculpts};
pub use stack::load_stack;
pub use write::{BundleVertices, Shown, is_folder, write_corrections};

use crate::error::Error;
use crate::load::LoadedRig;
use dermis_deform::{Base, Deform, DualQuaternions, Stack};
use dermis_fit::Progress;
use dermis_fit::inverse::{
    Coupled, Dependence, Inverse, InverseError, InverseMethod, InverseSettings, Stopped, invert,
};
use dermis_fit::psd::pull_back;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, Rig};
use program::{Program, ProgramError};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A residual or a correction above this, in rest diagonals, is told as one: two micrometres of a body, about what
/// positions in single precision keep.
pub const SEEN: f64 = 1e-6;

/// The rig's own skinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skinning {
    /// Linear blend skinning.
    Lbs,
    /// Dual quaternion skinning.
    Dqs,
    /// Every vertex follows its dominant bone.
    Rigid,
}

/// What is inverted.
#[derive(Clone, Debug)]
pub enum Through {
    /// The rig's own skinning.
    Skinning(Skinning),
    /// Deformers one after another, and what they are, in words.
    Stack(Stack, String),
    /// A program of its own: its command line, and how long an answer may take.
    Program(String, Duration),
}

/// How.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// [`InverseMethod::Auto`] takes the closed form where there is one.
    pub method: InverseMethod,
    /// What to do with a deformer that moves vertices because others moved.
    pub coupled: Coupled,
    /// The longest correction of a coupled deformer ([`InverseSettings::max_correction`]).
    pub max_correction: f64,
    /// When a vertex is done ([`InverseSettings::ftol`]).
    pub ftol: f64,
    /// The most calls of the deformer per sculpt ([`InverseSettings::max_calls`]).
    pub max_calls: usize,
}

/// A sculpt brought back to rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Inverted {
    /// d, rest world, metres.
    pub corrections: Vec<DVec3>,
    /// w = sculpt − S(p + d), posed world, metres.
    pub remainders: Vec<DVec3>,
    /// What was learnt about it.
    pub report: SculptReport,
}

/// What was learnt about one sculpt. Lengths in metres.
#[derive(Clone, Debug, PartialEq)]
pub struct SculptReport {
    /// Its name.
    pub label: String,
    /// Calls of the deformer, of the whole mesh each.
    pub calls: usize,
    /// rms and largest length of the remainders.
    pub residual: (f64, f64),
    /// Vertices with a residual above [`SEEN`].
    pub left: usize,
    /// Vertices with a correction above [`SEEN`].
    pub corrected: usize,
    /// The largest correction.
    pub largest_correction: f64,
    /// Vertices with a correction where the deformer is nearly singular, so that the correction was damped.
    pub nearly_singular: usize,
    /// Vertices that moved because others did, if the deformer couples them.
    pub coupled: usize,
    /// Vertices with the longest correction that a coupled deformer is allowed.
    pub limited: usize,
    /// Why the search ended; `None` for the closed form.
    pub stopped: Option<Stopped>,
}

impl SculptReport {
    /// The same as JSON.
    pub fn json(&self, diagonal: f64) -> Value {
        let length = |x: f64| json!({ "metres": x, "diagonals": x / diagonal });
        json!({
            "label": self.label,
            "calls": self.calls,
            "residual_rms": length(self.residual.0),
            "residual_max": length(self.residual.1),
            "vertices_left": self.left,
            "vertices_corrected": self.corrected,
            "largest_correction": length(self.largest_correction),
            "vertices_nearly_singular": self.nearly_singular,
            "vertices_coupled": self.coupled,
            "vertices_limited": self.limited,
            "stopped": self.stopped,
        })
    }
}

impl Through {
    /// What it is, in words.
    pub fn name(&self) -> String {
        match self {
            Self::Skinning(Skinning::Lbs) => "linear blend skinning".into(),
            Self::Skinning(Skinning::Dqs) => "dual quaternion skinning".into(),
            Self::Skinning(Skinning::Rigid) => "rigid binding".into(),
            Self::Stack(_, name) => name.clone(),
            Self::Program(command, _) => format!("the program \"{command}\""),
        }
    }
}

/// Brings every sculpt back to rest.
///
/// # Errors
/// [`Error`], naming the sculpt.
pub fn solve(
    rig: &LoadedRig,
    sculpts: &[Example],
    through: &Through,
    settings: Settings,
    progress: Progress<'_>,
) -> Result<Vec<Inverted>, Error> {
    let total = sculpts.len() as u64;
    let rest = &rig.rig.mesh().positions;
    let length = rig.rig.mesh().extent();
    let Settings { method, coupled, max_correction, ftol, max_calls } = settings;
    let search = InverseSettings { method, coupled, max_correction, ftol, max_calls, ..InverseSettings::new(length) };
    let each = |solve: &mut dyn FnMut(usize, &Example) -> Result<Inverted, Error>| {
        let mut done = Vec::with_capacity(sculpts.len());
        for (at, sculpt) in sculpts.iter().enumerate() {
            if progress(at as u64, total).is_break() {
                return Err(Error::Cancelled);
            }
            done.push(solve(at, sculpt)?);
        }
        let _ = progress(total, total);
        Ok(done)
    };
    match through {
        Through::Skinning(skinning) => {
            let mut base = base(&rig.rig, *skinning)?;
            each(&mut |at, sculpt| match settings.method {
                InverseMethod::Auto => Ok(closed_form(&mut base, rest, sculpt, length)),
                _ => {
                    let mut deform = |points: &[DVec3], out: &mut [DVec3]| {
                        base.evaluate(points, &sculpt.transforms, None, out);
                        go_on(progress, at, total)
                    };
                    searched(&mut deform, rest, sculpt, &search)
                }
            })
        }
        Through::Stack(stack, _) => each(&mut |at, sculpt| {
            let mut posed = stack.posed(&sculpt.transforms);
            let mut deform = |points: &[DVec3], out: &mut [DVec3]| {
                let Ok(()) = posed.deform(points, out);
                go_on(progress, at, total)
            };
            searched(&mut deform, rest, sculpt, &search)
        }),
        Through::Program(command, limit) => {
            let labels: Vec<&str> = sculpts.iter().map(|s| s.label.as_str()).collect();
            let done = AtomicU64::new(0);
            let stopped = || progress(done.load(Ordering::Relaxed), total).is_break();
            let mut program = Program::start(command, &rig.rig, &rig.space, &labels, *limit, &stopped)?;
            // In the file's own space, where results in single precision are seen to be such.
            let (to_ours, from_ours) = (rig.space.to_ours(), rig.space.to_ours().inverse());
            let theirs: Vec<DVec3> = rest.iter().map(|p| from_ours.transform_point3(*p)).collect();
            let search = InverseSettings { length: length / rig.space.metres_per_unit, ..search };
            each(&mut |at, sculpt| {
                done.store(at as u64, Ordering::Relaxed);
                let target: Vec<DVec3> = sculpt.positions.iter().map(|x| from_ours.transform_point3(*x)).collect();
                let mut deform = |points: &[DVec3], out: &mut [DVec3]| {
                    program.deform(at as u32, &sculpt.transforms, points, out)?;
                    go_on(progress, at, total)
                };
                let found = invert(&mut deform, &theirs, &target, &search).map_err(|e| failed(sculpt, e))?;
                let ours = |list: &[DVec3]| list.iter().map(|d| to_ours.transform_vector3(*d)).collect();
                Ok(inverted(sculpt, length, ours(&found.displacements), ours(&found.remainders), &found))
            })
        }
    }
}

fn go_on(progress: Progress<'_>, at: usize, total: u64) -> Result<(), ProgramError> {
    if progress(at as u64, total).is_break() { Err(ProgramError::Cancelled) } else { Ok(()) }
}

/// The rig's own skinning as a base.
fn base(rig: &Rig, skinning: Skinning) -> Result<Base, Error> {
    let weights = rig.weights().cloned().ok_or_else(|| error::Error::NoSkinning { rig: rig.name().to_owned() })?;
    Ok(match skinning {
        Skinning::Lbs => Base::Lbs(weights),
        Skinning::Dqs => Base::Dqs(weights, DualQuaternions::new(rig.skeleton())),
        Skinning::Rigid => Base::Rigid(weights),
    })
}

/// d = A⁻¹ (x − S(p)), damped where A is nearly singular; w as the deformer then gives it.
fn closed_form(base: &mut Base, rest: &[DVec3], sculpt: &Example, length: f64) -> Inverted {
    let mut skin = vec![DVec3::ZERO; rest.len()];
    base.evaluate(rest, &sculpt.transforms, None, &mut skin);
    let linear = |v: usize| base.linear(v, rest[v], &sculpt.transforms);
    let one = |(v, (x, s)): (usize, (&DVec3, &DVec3))| pull_back(linear(v), *x - *s);
    let (corrections, regular): (Vec<DVec3>, Vec<bool>) =
        sculpt.positions.par_iter().zip(&skin).enumerate().map(one).unzip();
    let moved: Vec<DVec3> = rest.iter().zip(&corrections).map(|(p, d)| *p + *d).collect();
    let damped = regular.iter().zip(&sculpt.positions).zip(&skin).filter(|((r, x), s)| !**r && x != s).count();
    base.evaluate(&moved, &sculpt.transforms, None, &mut skin);
    let remainders: Vec<DVec3> = sculpt.positions.iter().zip(&skin).map(|(x, s)| *x - *s).collect();
    let report = report(sculpt, length, &corrections, &remainders);
    Inverted { corrections, remainders, report: SculptReport { calls: 2, nearly_singular: damped, ..report } }
}

/// By calls of the deformer.
fn searched<D: Deform<Error = ProgramError>>(
    deformer: &mut D,
    rest: &[DVec3],
    sculpt: &Example,
    settings: &InverseSettings,
) -> Result<Inverted, Error> {
    let found = invert(deformer, rest, &sculpt.positions, settings).map_err(|e| failed(sculpt, e))?;
    let (d, w) = (found.displacements.clone(), found.remainders.clone());
    Ok(inverted(sculpt, settings.length, d, w, &found))
}

fn inverted(sculpt: &Example, length: f64, d: Vec<DVec3>, w: Vec<DVec3>, found: &Inverse) -> Inverted {
    let report = SculptReport {
        calls: found.calls.all(),
        nearly_singular: found.damped,
        coupled: match found.probe {
            Dependence::Independent => 0,
            Dependence::Coupled { moved, .. } => moved,
        },
        limited: found.limited,
        stopped: Some(found.stopped),
        ..report(sculpt, length, &d, &w)
    };
    Inverted { corrections: d, remainders: w, report }
}

fn report(sculpt: &Example, length: f64, d: &[DVec3], w: &[DVec3]) -> SculptReport {
    let largest = |list: &[DVec3]| list.iter().map(|d| d.length()).fold(0.0, f64::max);
    let above = |list: &[DVec3]| list.iter().filter(|d| d.length() > SEEN * length).count();
    let squares: f64 = w.iter().map(|w| w.length_squared()).sum();
    SculptReport {
        label: sculpt.label.clone(),
        calls: 0,
        residual: ((squares / w.len().max(1) as f64).sqrt(), largest(w)),
        left: above(w),
        corrected: above(d),
        largest_correction: largest(d),
        nearly_singular: 0,
        coupled: 0,
        limited: 0,
        stopped: None,
    }
}

/// What stopped the inversion of a sculpt.
fn failed(sculpt: &Example, error: InverseError<ProgramError>) -> Error {
    let remedy = match &error {
        InverseError::Deformer { source: ProgramError::Cancelled, .. } => return Error::Cancelled,
        InverseError::Deformer { .. } => {
            "nothing was written; docs/invert-protocol.md says what is spoken, with an example in Python"
        }
        InverseError::Coupled { .. } => {
            "a deformer that smooths or relaxes is inverted approximately with `coupled=iterate`; what is left is reported"
        }
        _ => "",
    };
    let reason = match error {
        // Its own message counts calls from its start.
        InverseError::Deformer { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    error::Error::Sculpt { sculpt: sculpt.label.clone(), reason, remedy: remedy.into() }.into()
}
