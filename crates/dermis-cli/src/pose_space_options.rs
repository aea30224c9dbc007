//! Options of pose-space deformation and its relatives.

use crate::method_options::of;
use crate::ui::Stop;
use clap::Args;
use dermis_workflow::deform::pose_space::{Coordinates, Family};
use dermis_workflow::fits::method::PoseSpaceSettings;
use dermis_workflow::fits::psd::compile::Budget;
use dermis_workflow::fits::psd::eigenskin::Kept;
use dermis_workflow::fits::psd::{ChannelSetting, Form, Reach, Singular};

/// How poses are compared, and what is interpolated over them
#[derive(Args, Clone)]
#[command(next_help_heading = "Pose space (psd, eigenskin, pose-blendshapes, shape-by-example, correctives)")]
pub struct PoseSpaceArgs {
    /// Where displacements live: in the rest pose, or in the world [default: inverse]
    #[arg(long, value_parser = of::<Form, 2>(["inverse", "forward"]))]
    form: Option<Form>,
    /// What rotations become before poses are compared: chord (smooth everywhere), rotation-vector, euler, or
    /// swing-twist:SWING,TWIST with a scale for each [default: chord]
    #[arg(long, value_name = "COORDINATES")]
    coordinates: Option<String>,
    /// A numeric channel of the poses that counts as a coordinate for every vertex, NAME or NAME=SCALE; several times for several
    /// [default scale: one over its largest value in training]
    #[arg(long, value_name = "NAME[=SCALE]")]
    channel: Vec<String>,
    /// Which joints count for a vertex: those near it by its influence maps, or all alike [default: local]
    #[arg(long, value_parser = of::<Reach, 2>(["local", "global"]))]
    pose_space: Option<Reach>,
    /// The kernel: gaussian, wendland (compact support), or polyharmonic (no width, grows linearly beyond the examples)
    /// [default: gaussian or wendland, by leave-one-out]
    #[arg(long, value_parser = of::<Family, 3>(["gaussian", "wendland", "polyharmonic"]))]
    kernel: Option<Family>,
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
    /// EigenSkin: shapes per joint that hold this fraction of the squared displacements
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

impl PoseSpaceArgs {
    /// The settings that the three pose spaces share.
    ///
    /// # Errors
    /// [`Stop::Usage`] for values that make no sense.
    pub fn take_shared(&mut self) -> Result<PoseSpaceSettings, Stop> {
        let default = PoseSpaceSettings::default();
        let (coordinates, channels) = self.take_coordinates()?;
        Ok(PoseSpaceSettings {
            form: self.form.take().unwrap_or(default.form),
            coordinates: coordinates.unwrap_or(default.coordinates),
            channels,
            reach: self.pose_space.take().unwrap_or(default.reach),
            sparse: std::mem::take(&mut self.sparse),
            ..default
        })
    }

    /// What rotations become before poses are compared, and the channels that count beside them.
    ///
    /// # Errors
    /// [`Stop::Usage`] for values that make no sense.
    pub fn take_coordinates(&mut self) -> Result<(Option<Coordinates>, Vec<ChannelSetting>), Stop> {
        let coordinates = self.coordinates.take().as_deref().map(coordinates).transpose()?;
        let channels = std::mem::take(&mut self.channel);
        Ok((coordinates, channels.iter().map(|text| channel(text)).collect::<Result<_, _>>()?))
    }

    /// The kernel.
    pub fn take_kernel(&mut self) -> Option<Family> {
        self.kernel.take()
    }

    /// Whether there is a linear term.
    pub fn take_linear(&mut self) -> bool {
        std::mem::take(&mut self.linear)
    }

    /// What happens in singular poses.
    ///
    /// # Errors
    /// [`Stop::Usage`] for anything else.
    pub fn take_singular(&mut self) -> Result<Option<Singular>, Stop> {
        self.singular.take().as_deref().map(singular).transpose()
    }

    /// Shapes per joint of EigenSkin.
    pub fn take_kept(&mut self) -> Option<Kept> {
        let count = self.joint_shapes.take().map(Kept::Count);
        self.energy.take().map(Kept::Energy).or(count)
    }

    /// What a compiled pose space may cost.
    ///
    /// # Errors
    /// [`Stop::Usage`] for anything else.
    pub fn take_budget(&mut self) -> Result<Option<Budget>, Stop> {
        self.budget.take().as_deref().map(budget).transpose()
    }

    /// The options that no setting took.
    pub fn left(&self) -> impl Iterator<Item = &'static str> + use<> {
        let own = [
            ("--form", self.form.is_some()),
            ("--coordinates", self.coordinates.is_some()),
            ("--channel", !self.channel.is_empty()),
            ("--pose-space", self.pose_space.is_some()),
            ("--kernel", self.kernel.is_some()),
            ("--linear", self.linear),
            ("--sparse", self.sparse),
            ("--singular", self.singular.is_some()),
            ("--energy", self.energy.is_some()),
            ("--joint-shapes", self.joint_shapes.is_some()),
            ("--budget", self.budget.is_some()),
        ];
        own.into_iter().filter(|(_, set)| *set).map(|(name, _)| name)
    }
}

/// What the settings are by default, by option.
pub fn defaults() -> Vec<(&'static str, String)> {
    let Kept::Energy(energy) = Kept::default() else { return vec![] };
    vec![("energy", energy.to_string())]
}

/// Numbers separated by commas.
fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let list = text.split(',').map(|x| x.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0));
    list.collect::<Option<Vec<f64>>>()?.try_into().ok()
}

fn coordinates(text: &str) -> Result<Coordinates, Stop> {
    Ok(match (text, text.split_once(':')) {
        ("chord", _) => Coordinates::Chord,
        ("rotation-vector", _) => Coordinates::RotationVector,
        ("euler", _) => Coordinates::Euler,
        ("swing-twist", _) => Coordinates::SwingTwist { swing: 1.0, twist: 1.0 },
        (_, Some(("swing-twist", scales))) if let Some([swing, twist]) = numbers(scales) => {
            Coordinates::SwingTwist { swing, twist }
        }
        _ => {
            return Err(Stop::Usage(format!(
                "--coordinates {text}: use chord, rotation-vector, euler, or swing-twist:SWING,TWIST with two positive scales"
            )));
        }
    })
}

fn channel(text: &str) -> Result<ChannelSetting, Stop> {
    match text.split_once('=') {
        None => Ok(ChannelSetting { name: text.to_owned(), scale: None }),
        Some((name, scale)) => match numbers(scale) {
            Some([scale]) => Ok(ChannelSetting { name: name.to_owned(), scale: Some(scale) }),
            None => Err(Stop::Usage(format!("--channel {text}: the scale must be positive"))),
        },
    }
}

fn singular(text: &str) -> Result<Singular, Stop> {
    match text.split_once(':') {
        None if text == "remainder" => Ok(Singular::Remainder),
        Some(("published", numbers_)) if let Some([lambda, epsilon]) = numbers(numbers_) => {
            Ok(Singular::Published { lambda, epsilon })
        }
        _ => Err(Stop::Usage(format!(
            "--singular {text}: use remainder, or published:LAMBDA,EPSILON with two positive numbers"
        ))),
    }
}

fn budget(text: &str) -> Result<Budget, Stop> {
    let parts: Option<Vec<usize>> = text.split(',').map(|x| x.trim().parse().ok().filter(|n| *n > 0)).collect();
    match parts.as_deref() {
        Some(&[shapes]) => Ok(Budget { shapes, centres: 16, per_vertex: None }),
        Some(&[shapes, centres]) => Ok(Budget { shapes, centres, per_vertex: None }),
        Some(&[shapes, centres, most]) => Ok(Budget { shapes, centres, per_vertex: Some(most) }),
        _ => Err(Stop::Usage(format!("--budget {text}: use SHAPES, SHAPES,KERNELS or SHAPES,KERNELS,N, all positive"))),
    }
}
