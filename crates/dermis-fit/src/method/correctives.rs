//! Correctives as a [`Method`](super::Method).

use super::base::{BaseChoice, base_in_training};
use super::coordinates::{coordinates, coordinates_line};
use super::learnt::SolvedBy;
use super::pose_space::{channels, known_channels, mirror_of};
use super::settings::{
    BASE, CHANNELS, COORDINATES, GUARD, KERNEL, MIRROR, Row, SIGMA, Setting, number, some, switch, word,
};
use super::{FitInput, FitReport, FitWarning, Learnt, MapSource, MethodError, MethodReport, short};
use crate::psd::ChannelSetting;
use crate::psd::correctives::{Corrective, CorrectiveSettings, CorrectivesReport, Driver, Driving, fit_correctives};
use crate::training::Progress;
use dermis_deform::pose_space::{Coordinates, Family, JointPart};
use dermis_rig::Rig;
use serde::{Deserialize, Serialize};

/// Correctives over a base: a shape per sculpt, with one weight that the joints of its pose drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CorrectivesMethod {
    /// The deformer they correct.
    pub base: BaseChoice,
    /// Which joints are near a vertex that no joint blends.
    pub maps: MapSource,
    /// What rotations become before poses are compared.
    pub coordinates: Coordinates,
    /// What of a joint's rotation drives sculpts.
    pub driver: Driver,
    /// Channels of the poses that may drive sculpts, too.
    pub channels: Vec<ChannelSetting>,
    /// The kernel.
    pub kernel: Family,
    /// σ, the falloff, a chord; `None`: of each group of sculpts, how far its joints turned.
    pub sigma: Option<f64>,
    /// Whether every sculpt has an image on the other side of a symmetric rig.
    pub mirror: bool,
    /// Welding, limits and the ball.
    pub guard: bool,
}

const DRIVER: Setting = Setting::new(
    "driver",
    "found|swing|twist|both",
    "found",
    "What of a joint's rotation drives sculpts: swing and twist apart where the sculpts turned them, one of the two, or the whole",
)
.everyone();

impl Default for CorrectivesMethod {
    fn default() -> Self {
        Self {
            base: BaseChoice::default(),
            maps: MapSource::default(),
            coordinates: Coordinates::Chord,
            driver: Driver::default(),
            channels: Vec::new(),
            kernel: Family::Gaussian,
            sigma: None,
            mirror: false,
            guard: true,
        }
    }
}

/// What the fit of correctives found, with bones by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CorrectivesModelReport {
    /// The shapes, in their order in the model.
    pub correctives: Vec<CorrectiveShape>,
    without_shape: Vec<String>,
    groups: usize,
    damped: usize,
}

/// A sculpt as a shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CorrectiveShape {
    /// Its name.
    pub name: String,
    /// The joints that drive it and its group.
    pub joints: Vec<DrivingTurn>,
    /// The channels that drive it.
    pub channels: Vec<String>,
    /// σ of its group, a chord.
    pub sigma: f64,
    /// Vertices that it moves.
    pub vertices: usize,
    /// How far, at most, metres.
    pub largest: f64,
    /// How far the model stays from the sculpt in its pose, at most, metres; of a mirror image nothing is known.
    pub left: Option<f64>,
}

/// A joint that drives a shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrivingTurn {
    /// The bone it is seen from.
    pub from: String,
    /// The bone.
    pub to: String,
    /// What of its rotation drives the shape: "rotation", "swing" or "twist".
    pub part: &'static str,
    /// By how much that is turned in the pose of the sculpt, degrees.
    pub degrees: f64,
}

impl CorrectivesMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let mut rows: Vec<Row<Self>> = vec![Row::new(BASE, word, |own: &mut Self| &mut own.base)];
        rows.extend(MapSource::rows().into_iter().map(|row| row.of(|own: &mut Self| &mut own.maps)));
        let sigma = SIGMA.default("how far the joints of each group of sculpts turned");
        rows.extend([
            Row::new(COORDINATES, coordinates, |own: &mut Self| &mut own.coordinates),
            Row::new(DRIVER, word, |own| &mut own.driver),
            Row::new(CHANNELS, channels, |own| &mut own.channels),
            Row::new(KERNEL.default("gaussian"), word, |own| &mut own.kernel),
            Row::new(sigma, some(number), |own| &mut own.sigma),
            Row::new(MIRROR, switch, |own| &mut own.mirror),
            Row::new(GUARD, switch, |own| &mut own.guard),
        ]);
        rows
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        self.base.check_for("correctives")?;
        self.maps.check()?;
        if self.driver.coordinates(self.coordinates).is_none() {
            return Err(MethodError::Unused { setting: "driver", with: "in coordinates without swing and twist" });
        }
        match (self.sigma, self.kernel) {
            (Some(_), Family::Polyharmonic) => {
                Err(MethodError::Unused { setting: "sigma", with: "on the polyharmonic kernel, which has no width" })
            }
            (Some(sigma), _) => SIGMA.check(sigma),
            (None, _) => Ok(()),
        }
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let settings = CorrectiveSettings {
            coordinates: self.coordinates,
            driver: self.driver,
            channels: known_channels(&self.channels, input)?,
            family: self.kernel,
            sigma: self.sigma,
            mirror: self.mirror.then(|| mirror_of(input)).transpose()?,
            guard: self.guard,
        };
        let mut base = self.base.of(input)?;
        let maps = self.maps.of(input, progress)?;
        let positions = base_in_training(&mut base, input)?;
        let training = input.training((&positions).into());
        let (shapes, found) = fit_correctives(&training, &base, &maps, &settings, progress)?;
        let mut report = FitReport::new(
            "correctives",
            MethodReport::Correctives(Box::new(CorrectivesModelReport::new(&found, input.rig))),
        )
        .with_base(self.base);
        let on = |on: bool| if on { "on" } else { "off" };
        report.settings.extend(self.maps.lines());
        report.settings.extend([
            ("coordinates".into(), coordinates_line(self.coordinates)),
            ("driver".into(), driver_line(self.driver).into()),
            ("kernel".into(), format!("{:?}", self.kernel).to_lowercase()),
            ("sigma".into(), self.sigma.map_or("how far the joints turned".into(), short)),
            ("left and right".into(), if self.mirror { "mirrored".into() } else { "apart".into() }),
            ("guard".into(), on(self.guard).into()),
        ]);
        report.warnings = warnings(self, &found);
        Learnt::new(base, Some(shapes.into()), input, report, SolvedBy::Other)
    }
}

/// What of joints drives sculpts, as reports call it.
fn driver_line(driver: Driver) -> &'static str {
    match driver {
        Driver::Found => "swing and twist apart",
        Driver::Swing => "swing",
        Driver::Twist => "twist",
        Driver::Both => "the whole rotation",
    }
}

fn warnings(own: &CorrectivesMethod, found: &CorrectivesReport) -> Vec<FitWarning> {
    let mut warnings = Vec::new();
    if !own.guard {
        warnings.push(FitWarning::PoseSpaceUnguarded);
    }
    if !found.without.is_empty() {
        warnings.push(FitWarning::NothingSculpted { examples: found.without.clone() });
    }
    let left = found.shapes.iter().filter_map(|shape| shape.left).fold(0.0, f64::max);
    if found.damped > 0 {
        warnings.push(FitWarning::Damped { vertices: found.damped, remainder: left, kept: false });
    }
    warnings
}

impl CorrectivesModelReport {
    fn new(found: &CorrectivesReport, rig: &Rig) -> Self {
        Self {
            correctives: found.shapes.iter().map(|shape| CorrectiveShape::new(shape, rig)).collect(),
            without_shape: found.without.clone(),
            groups: found.groups,
            damped: found.damped,
        }
    }
}

impl CorrectiveShape {
    pub(super) fn new(shape: &Corrective, rig: &Rig) -> Self {
        let name = |bone: dermis_rig::BoneIndex| rig.skeleton().names()[bone].clone();
        Self {
            name: shape.name.clone(),
            joints: shape
                .joints
                .iter()
                .map(|&Driving { from, to, part, angle }| DrivingTurn {
                    from: name(from),
                    to: name(to),
                    part: match part {
                        JointPart::Whole => "rotation",
                        JointPart::Swing => "swing",
                        JointPart::Twist => "twist",
                    },
                    degrees: angle.to_degrees(),
                })
                .collect(),
            channels: shape.channels.clone(),
            sigma: shape.sigma,
            vertices: shape.vertices,
            largest: shape.largest,
            left: shape.left,
        }
    }
}
