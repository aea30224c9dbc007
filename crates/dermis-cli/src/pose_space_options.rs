//! Options of pose-space deformation and its relatives.

use crate::options::within;
use clap::{Args, ValueEnum};
use dermis_workflow::Error;
use dermis_workflow::deform::pose_space::{Coordinates, Family};
use dermis_workflow::fit::{Method, PoseSpaceOptions};
use dermis_workflow::fits::psd::compile::Budget;
use dermis_workflow::fits::psd::eigenskin::Kept;
use dermis_workflow::fits::psd::{Form, Reach, Singular};

/// How poses are compared, and what is interpolated over them
#[derive(Args, Clone)]
#[command(next_help_heading = "Pose space (psd, eigenskin, pose-blendshapes)")]
pub struct PoseSpaceArgs {
    /// Where displacements live: in the rest pose, or in the world [default: inverse]
    #[arg(long, value_enum)]
    form: Option<FormName>,
    /// What rotations become before poses are compared: chord (smooth everywhere), rotation-vector, euler, or
    /// swing-twist:SWING,TWIST with a scale for each [default: chord]
    #[arg(long, value_name = "COORDINATES")]
    coordinates: Option<String>,
    /// A numeric channel of the poses that counts as a coordinate for every vertex, NAME or NAME=SCALE; several times for several
    /// [default scale: one over its largest value in training]
    #[arg(long, value_name = "NAME[=SCALE]")]
    channel: Vec<String>,
    /// Which joints count for a vertex: those near it by its influence maps, or all alike [default: local]
    #[arg(long, value_enum)]
    pose_space: Option<ReachName>,
    /// The kernel: gaussian, wendland (compact support), or polyharmonic (no width, grows linearly beyond the examples)
    /// [default: gaussian or wendland, by leave-one-out]
    #[arg(long, value_enum)]
    kernel: Option<KernelName>,
    /// Regress the coordinates linearly before kernels interpolate what is left
    #[arg(long)]
    linear: bool,
    /// Examples say nothing of the vertices they leave where the base has them: for sculpts of a part of the skin
    #[arg(long)]
    sparse: bool,
    /// Where the base is nearly singular: keep what no displacement can produce beside it, or as published
    /// (published:LAMBDA,EPSILON, which does not meet the examples) [default: remainder]
    #[arg(long, value_name = "remainder|published:L,E")]
    singular: Option<String>,
    /// EigenSkin: shapes per joint that hold this fraction of the squared displacements [default: 0.999]
    #[arg(long, value_name = "FRACTION", conflicts_with = "joint_shapes", allow_negative_numbers = true)]
    energy: Option<f64>,
    /// EigenSkin: this many shapes per joint
    #[arg(long, value_name = "N")]
    joint_shapes: Option<usize>,
    /// Compile the fitted model to a constant price: SHAPES, or SHAPES,KERNELS per region (else 16), or
    /// SHAPES,KERNELS,SHAPES per vertex. The report lists what other budgets would cost
    #[arg(long, value_name = "SHAPES[,KERNELS[,N]]")]
    budget: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormName {
    Inverse,
    Forward,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReachName {
    Local,
    Global,
}

#[derive(Clone, Copy, ValueEnum)]
enum KernelName {
    Gaussian,
    Wendland,
    Polyharmonic,
}

impl PoseSpaceArgs {
    /// As the library takes them.
    ///
    /// # Errors
    /// [`Error::Option`] for values that make no sense.
    pub fn options(&self) -> Result<PoseSpaceOptions, Error> {
        let kept = match (self.energy, self.joint_shapes) {
            (Some(energy), _) => Some(Kept::Energy(within("--energy", energy, 0.0, 1.0)?)),
            (None, Some(0)) => return Err(Error::Option("--joint-shapes 0: it must be one or more".into())),
            (None, count) => count.map(Kept::Count),
        };
        Ok(PoseSpaceOptions {
            form: self.form.map(|form| match form {
                FormName::Inverse => Form::Inverse,
                FormName::Forward => Form::Forward,
            }),
            coordinates: self.coordinates.as_deref().map(coordinates).transpose()?,
            channels: self.channel.iter().map(|text| channel(text)).collect::<Result<_, _>>()?,
            reach: self.pose_space.map(|reach| match reach {
                ReachName::Local => Reach::Local,
                ReachName::Global => Reach::Global,
            }),
            family: self.kernel.map(|kernel| match kernel {
                KernelName::Gaussian => Family::Gaussian,
                KernelName::Wendland => Family::Wendland,
                KernelName::Polyharmonic => Family::Polyharmonic,
            }),
            linear: self.linear,
            sparse: self.sparse,
            singular: self.singular.as_deref().map(singular).transpose()?,
            kept,
            budget: self.budget.as_deref().map(budget).transpose()?,
            rings_given: false,
        })
    }

    /// Options that were given, and the methods they serve.
    pub fn serves(&self) -> [(&'static str, bool, &'static [Method]); 11] {
        use Method::{EigenSkin, PoseBlendshapes, Psd};
        const ALL: &[Method] = &[Psd, EigenSkin, PoseBlendshapes];
        [
            ("--form", self.form.is_some(), ALL),
            ("--coordinates", self.coordinates.is_some(), ALL),
            ("--channel", !self.channel.is_empty(), ALL),
            ("--pose-space", self.pose_space.is_some(), ALL),
            ("--kernel", self.kernel.is_some(), &[Psd]),
            ("--linear", self.linear, &[Psd]),
            ("--sparse", self.sparse, ALL),
            ("--singular", self.singular.is_some(), &[Psd]),
            ("--energy", self.energy.is_some(), &[EigenSkin]),
            ("--joint-shapes", self.joint_shapes.is_some(), &[EigenSkin]),
            ("--budget", self.budget.is_some(), &[Psd, PoseBlendshapes]),
        ]
    }
}

/// Numbers separated by commas.
fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let list = text.split(',').map(|x| x.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0));
    list.collect::<Option<Vec<f64>>>()?.try_into().ok()
}

fn coordinates(text: &str) -> Result<Coordinates, Error> {
    Ok(match (text, text.split_once(':')) {
        ("chord", _) => Coordinates::Chord,
        ("rotation-vector", _) => Coordinates::RotationVector,
        ("euler", _) => Coordinates::Euler,
        ("swing-twist", _) => Coordinates::SwingTwist { swing: 1.0, twist: 1.0 },
        (_, Some(("swing-twist", scales))) if let Some([swing, twist]) = numbers(scales) => {
            Coordinates::SwingTwist { swing, twist }
        }
        _ => {
            return Err(Error::Option(format!(
                "--coordinates {text}: use chord, rotation-vector, euler, or swing-twist:SWING,TWIST with two positive scales"
            )));
        }
    })
}

fn channel(text: &str) -> Result<(String, Option<f64>), Error> {
    match text.split_once('=') {
        None => Ok((text.to_owned(), None)),
        Some((name, scale)) => match numbers(scale) {
            Some([scale]) => Ok((name.to_owned(), Some(scale))),
            None => Err(Error::Option(format!("--channel {text}: the scale must be positive"))),
        },
    }
}

fn singular(text: &str) -> Result<Singular, Error> {
    match text.split_once(':') {
        None if text == "remainder" => Ok(Singular::Remainder),
        Some(("published", numbers_)) if let Some([lambda, epsilon]) = numbers(numbers_) => {
            Ok(Singular::Published { lambda, epsilon })
        }
        _ => Err(Error::Option(format!(
            "--singular {text}: use remainder, or published:LAMBDA,EPSILON with two positive numbers"
        ))),
    }
}

fn budget(text: &str) -> Result<Budget, Error> {
    let parts: Option<Vec<usize>> = text.split(',').map(|x| x.trim().parse().ok().filter(|n| *n > 0)).collect();
    match parts.as_deref() {
        Some(&[shapes]) => Ok(Budget { shapes, centres: 16, per_vertex: None }),
        Some(&[shapes, centres]) => Ok(Budget { shapes, centres, per_vertex: None }),
        Some(&[shapes, centres, most]) => Ok(Budget { shapes, centres, per_vertex: Some(most) }),
        _ => {
            Err(Error::Option(format!("--budget {text}: use SHAPES, SHAPES,KERNELS or SHAPES,KERNELS,N, all positive")))
        }
    }
}
