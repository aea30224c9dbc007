//! Forms of the joint model that the examples may ask for: a share of the arc-cosine kernel, joints read in swing and twist, bones that
//! see down, composite joints, products of neighbouring joints.

use super::MethodError;
use super::mush::for_choice;
use super::settings::Setting;
use crate::joints::{JointSettings, Validation, joint_validation};
use crate::training::{Progress, Training};
use dermis_rig::Influences;
use dermis_rig::glam::DVec3;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A factor of a form: zero leaves the form out.
///
/// In text: auto, off, or a number above zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum FactorChoice {
    /// The factor that leaves the least cross-validated error, if it leaves clearly less than none.
    #[default]
    Auto,
    /// None.
    Off,
    /// This factor.
    Factor(f64),
}

pub(super) const COMPOSITES: Setting = Setting::new(
    "composites",
    "auto|off|FACTOR",
    "auto",
    "Composite joints learn what two neighbouring joints do together where the examples moved both: auto (by cross-validation), off, or \
     the factor on their relevance",
)
.range(1e-3, 100.0);

pub(super) const PRODUCTS: Setting = Setting::new(
    "products",
    "auto|off|FACTOR",
    "auto",
    "Products of neighbouring joints learn what each does while the other does something, such as muscles that contract together, where \
     the examples moved both: auto (by cross-validation), off, or the factor on their relevance",
)
.range(1e-3, 100.0);

pub(super) const SWING_TWIST: Setting = Setting::new(
    "swing-twist",
    "auto|on|off",
    "off",
    "Reads every joint in two parts, where its bone points and how it turns about itself: off, on, or auto (by cross-validation, which \
     prefers it also where motion far from the examples loses by it)",
);

pub(super) const ARC_COSINE: Setting = Setting::new(
    "arc-cosine",
    "auto|off|SHARE",
    "auto",
    "Share of the arc-cosine kernel, which keeps growing with the angle, in the kernel of joints: auto (a half or none, by \
     cross-validation), off, or the share",
)
.range(1e-3, 1.0);

pub(super) const GRAVITY: Setting = Setting::new(
    "gravity",
    "auto|off|X,Y,Z",
    "auto",
    "Whether bones see which way is down, for skin that sags: auto (by cross-validation), off, or the direction of gravity in the examples, Y \
     up",
)
.everyone();

impl FactorChoice {
    /// The factor that is stated; zero if none is.
    fn factor(self) -> f64 {
        match self {
            Self::Factor(factor) => factor,
            Self::Auto | Self::Off => 0.0,
        }
    }

    pub(super) fn check(self, setting: &Setting) -> Result<(), MethodError> {
        match self {
            Self::Factor(factor) => setting.check(factor),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for FactorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::Factor(factor) => write!(f, "{factor}"),
        }
    }
}

impl From<FactorChoice> for String {
    fn from(choice: FactorChoice) -> Self {
        choice.to_string()
    }
}

impl TryFrom<String> for FactorChoice {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => text.parse().map(Self::Factor).map_err(|_| format!("\"{text}\" is neither auto nor off nor a number")),
        }
    }
}

/// Whether a form is taken.
///
/// In text: auto, on, off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum FormChoice {
    /// If it leaves clearly less cross-validated error.
    Auto,
    /// Yes.
    On,
    /// No.
    Off,
}

impl fmt::Display for FormChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

impl From<FormChoice> for String {
    fn from(choice: FormChoice) -> Self {
        choice.to_string()
    }
}

impl TryFrom<String> for FormChoice {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(format!("\"{text}\" is neither auto nor on nor off")),
        }
    }
}

/// Whether skin sees where down is.
///
/// In text: auto, off, or a direction of any length: 0,-1,0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum GravityChoice {
    /// Down, (0, −1, 0), if that leaves clearly less cross-validated error; where Y is not known to point up, (0, 0, −1) is tried, too.
    #[default]
    Auto,
    /// No.
    Off,
    /// In this direction, of length one.
    Down([f64; 3]),
}

impl GravityChoice {
    /// In a direction of any length.
    ///
    /// # Errors
    /// A direction of no length.
    fn down(direction: [f64; 3]) -> Result<Self, String> {
        let of_length_one = DVec3::from_array(direction).try_normalize();
        let down = of_length_one.ok_or_else(|| format!("{} is no direction", list(direction)))?;
        Ok(Self::Down(down.to_array()))
    }
}

fn list(direction: [f64; 3]) -> String {
    direction.map(|x| x.to_string()).join(",")
}

impl fmt::Display for GravityChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::Down(down) => f.write_str(&list(*down)),
        }
    }
}

impl From<GravityChoice> for String {
    fn from(choice: GravityChoice) -> Self {
        choice.to_string()
    }
}

impl TryFrom<String> for GravityChoice {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let numbers = || text.split(',').map(|number| number.trim().parse().ok()).collect::<Option<Vec<f64>>>();
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => match numbers().and_then(|numbers| numbers.try_into().ok()) {
                Some(direction) => Self::down(direction),
                None => Err(format!("\"{text}\" is neither auto nor off nor a direction such as 0,-1,0")),
            },
        }
    }
}

/// The directions that are tried: down, as files are read that state their axes; and down in a file with Z up, for one that does not. Skin
/// that saw any other direction would change where the character turns about the vertical.
const DOWNS: [[f64; 3]; 2] = [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0]];
/// Gravity is taken if its cross-validated error is smaller by this share than that of no gravity and that of any direction across it. What
/// bones see of a direction also says how their joints turned, which skin that does not sag may want of every direction alike.
/// On the two skins of docs/accuracy.md that sag, down lowers the error by 95 and 40 percent, and −z by 13 and 4; on the other sets down
/// lowers it by 2.1 percent at most.
const GRAVITY_GAIN: f64 = 0.03;
/// The share of the arc-cosine kernel that is tried. The whole leaves more than a half of six of seven sets of docs/accuracy.md left out.
const SHARES: [f64; 1] = [0.5];
/// The arc-cosine kernel is taken if it lowers the cross-validated error by this share.
const ARC_COSINE_GAIN: f64 = 0.015;
/// The factors of composite joints that are tried.
const ETAS: [f64; 2] = [1.0, 2.0];
/// Composites are taken if they lower the cross-validated error by this share.
const COMPOSITES_GAIN: f64 = 0.015;
/// Products are taken if they lower the cross-validated error by this share, in the mean over vertices.
const PRODUCTS_GAIN: f64 = 0.015;
/// Swing and twist are taken if they lower the cross-validated error by this share.
const SWING_TWIST_GAIN: f64 = 0.015;

/// The value taken, and all that were compared with the cross-validated error that each leaves, the one taken first. Nothing was compared
/// where the value was stated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Taken<T> {
    pub value: T,
    pub tried: Vec<(T, f64)>,
}

/// What the examples asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forms {
    /// By the rms over vertices and poses left out, metres.
    pub arc_cosine: Taken<f64>,
    /// By the same.
    pub gravity: Taken<Option<[f64; 3]>>,
    /// η, by the mean over vertices of their rms. The rms, which few vertices decide, takes composites for the chest of the sculpted
    /// human, and loses two percent on its walk.
    pub composites: Taken<f64>,
    /// By the rms.
    pub swing_twist: Taken<bool>,
    /// η of products, by the mean over vertices of their rms.
    pub products: Taken<f64>,
}

/// What the user asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub arc_cosine: FactorChoice,
    pub swing_twist: FormChoice,
    pub gravity: GravityChoice,
    pub composites: FactorChoice,
    pub products: FactorChoice,
}

impl Forms {
    /// Chooses one form after the other by the error that the joint model leaves on examples left out.
    ///
    /// - `states_up`: whether Y is known to point up
    /// - `plain`: the error without any, where it is known
    pub fn choose(
        asked: Asked,
        (training, weights, states_up): (&Training<'_>, &Influences, bool),
        plain: Option<Validation>,
        settings: &JointSettings,
        progress: Progress<'_>,
    ) -> Result<Self, MethodError> {
        // Local sculpts are too few to choose a kernel, and nobody sculpts gravity.
        let whole_skins = training.examples.iter().all(|example| example.local.is_none());
        let mut search = Search { training, weights, settings: for_choice(settings), plain, progress };
        let set_share = |settings: &mut JointSettings, share| settings.arc_cosine = share;
        let arc_cosine = match asked.arc_cosine {
            FactorChoice::Auto if whole_skins => {
                search.choose((0.0, &SHARES), ARC_COSINE_GAIN, |error| error.rms, set_share)?
            }
            stated => search.state(stated.factor(), set_share),
        };
        let set_down = |settings: &mut JointSettings, down: Option<[f64; 3]>| {
            settings.gravity = down.map(DVec3::from_array);
        };
        let set_parts = |settings: &mut JointSettings, are_read| settings.swing_twist = are_read;
        let swing_twist = match asked.swing_twist {
            FormChoice::Auto if whole_skins => {
                search.choose((false, &[true]), SWING_TWIST_GAIN, |error| error.rms, set_parts)?
            }
            stated => search.state(stated == FormChoice::On, set_parts),
        };
        let gravity = match asked.gravity {
            GravityChoice::Auto if whole_skins => search.gravity(states_up, set_down)?,
            GravityChoice::Auto | GravityChoice::Off => search.state(None, set_down),
            GravityChoice::Down(down) => search.state(Some(down), set_down),
        };
        let set_eta = |settings: &mut JointSettings, eta| settings.composites = eta;
        let set_products = |settings: &mut JointSettings, eta| settings.products = eta;
        let by = |error: &Validation| error.mean;
        let both = (asked.composites, asked.products) == (FactorChoice::Auto, FactorChoice::Auto) && whole_skins;
        let (composites, products) = if both {
            // They may say the same in two ways: the one that leaves less comes first, and the other is asked for over it.
            let composites = search.compare((0.0, &ETAS), COMPOSITES_GAIN, by, set_eta)?;
            let products = search.compare((0.0, &ETAS), PRODUCTS_GAIN, by, set_products)?;
            if by(&products.1) < by(&composites.1) {
                let products = search.take(products, set_products);
                (search.choose((0.0, &ETAS), COMPOSITES_GAIN, by, set_eta)?, products)
            } else if composites.0.value > 0.0 {
                let composites = search.take(composites, set_eta);
                (composites, search.choose((0.0, &ETAS), PRODUCTS_GAIN, by, set_products)?)
            } else {
                (search.take(composites, set_eta), search.take(products, set_products))
            }
        } else {
            let composites = match asked.composites {
                FactorChoice::Auto => search.choose((0.0, &ETAS), COMPOSITES_GAIN, by, set_eta)?,
                stated => search.state(stated.factor(), set_eta),
            };
            let products = match asked.products {
                FactorChoice::Auto if whole_skins => search.choose((0.0, &ETAS), PRODUCTS_GAIN, by, set_products)?,
                stated => search.state(stated.factor(), set_products),
            };
            (composites, products)
        };
        Ok(Self { arc_cosine, gravity, composites, swing_twist, products })
    }

    /// Puts them into the settings of the fit. Examples teach the other side only if gravity lies in the plane of symmetry.
    pub fn set(&self, settings: &mut JointSettings) {
        settings.arc_cosine = self.arc_cosine.value;
        settings.gravity = self.gravity.value.map(DVec3::from_array);
        settings.composites = self.composites.value;
        settings.swing_twist = self.swing_twist.value;
        settings.products = self.products.value;
        if let Some(down) = settings.gravity {
            settings.mirror = settings.mirror.take().filter(|mirror| mirror.vector(down).distance(down) < ASKEW);
        }
    }
}

/// Gravity lies in the plane of symmetry if its mirror image is nearer than this.
const ASKEW: f64 = 1e-3;

/// The search for forms: each is tried with those that were taken before.
struct Search<'a> {
    training: &'a Training<'a>,
    weights: &'a Influences,
    settings: JointSettings,
    /// What these settings leave, where it is known.
    plain: Option<Validation>,
    progress: Progress<'a>,
}

impl Search<'_> {
    /// Compares values of a form with that of none, and takes the best if it lowers the error by a share.
    fn choose<T: Copy>(
        &mut self,
        values: (T, &[T]),
        least_gain: f64,
        of: fn(&Validation) -> f64,
        set: impl Fn(&mut JointSettings, T),
    ) -> Result<Taken<T>, MethodError> {
        let found = self.compare(values, least_gain, of, &set)?;
        Ok(self.take(found, set))
    }

    /// The same, but takes nothing yet. Also what the settings leave with the value found.
    fn compare<T: Copy>(
        &mut self,
        (none, values): (T, &[T]),
        least_gain: f64,
        of: fn(&Validation) -> f64,
        set: impl Fn(&mut JointSettings, T),
    ) -> Result<(Taken<T>, Validation), MethodError> {
        let plain = match self.plain {
            Some(plain) => plain,
            None => self.validated(&self.settings)?,
        };
        self.plain = Some(plain);
        let mut found = Vec::with_capacity(values.len() + 1);
        for &value in values {
            let mut settings = self.settings.clone();
            set(&mut settings, value);
            found.push((value, self.validated(&settings)?));
        }
        found.sort_by(|a, b| of(&a.1).total_cmp(&of(&b.1)));
        let taken = of(&found[0].1) <= (1.0 - least_gain) * of(&plain);
        found.insert(usize::from(taken), (none, plain));
        let (value, error) = found[0];
        Ok((Taken { value, tried: found.into_iter().map(|(value, error)| (value, of(&error))).collect() }, error))
    }

    /// Takes what was found.
    fn take<T: Copy>(
        &mut self,
        (taken, error): (Taken<T>, Validation),
        set: impl Fn(&mut JointSettings, T),
    ) -> Taken<T> {
        set(&mut self.settings, taken.value);
        self.plain = Some(error);
        taken
    }

    fn validated(&self, settings: &JointSettings) -> Result<Validation, MethodError> {
        // The bar stays where it is: this is before the fit.
        let still = |_: u64, _: u64| (self.progress)(0, 1);
        Ok(joint_validation(self.training, self.weights, settings, &still)?)
    }

    /// Takes down if it leaves clearly less than none, and than any direction across it.
    fn gravity(
        &mut self,
        states_up: bool,
        set: impl Fn(&mut JointSettings, Option<[f64; 3]>),
    ) -> Result<Taken<Option<[f64; 3]>>, MethodError> {
        let downs = &DOWNS.map(Some)[..if states_up { 1 } else { DOWNS.len() }];
        let mut taken = self.choose((None, downs), GRAVITY_GAIN, |error| error.rms, &set)?;
        let (Some(down), least) = (taken.value, taken.tried[0].1) else { return Ok(taken) };
        let across = DVec3::AXES.iter().filter(|axis| axis.dot(DVec3::from_array(down)) == 0.0);
        let mut least_across = f64::INFINITY;
        for axis in across {
            let mut settings = self.settings.clone();
            set(&mut settings, Some(axis.to_array()));
            least_across = least_across.min(self.validated(&settings)?.rms);
        }
        if least > (1.0 - GRAVITY_GAIN) * least_across {
            taken.value = self.state(None, set).value;
            taken.tried.sort_by_key(|(down, _)| down.is_some());
        }
        Ok(taken)
    }

    /// Takes a value that was stated.
    fn state<T: Copy>(&mut self, value: T, set: impl Fn(&mut JointSettings, T)) -> Taken<T> {
        let before = self.settings.clone();
        set(&mut self.settings, value);
        if self.settings != before {
            self.plain = None;
        }
        Taken { value, tried: vec![] }
    }
}
