//! The settings of methods as every door shows them: the command line, Python, the documentation.
//!
//! A setting has a name, a line of help, a default and a text form. They are written once, beside the struct that holds its
//! value ([`Method::settings`]); [`Method::with`] reads values from text.
//!
//! ```
//! use dermis_fit::method::Method;
//! let calm = Method::joint().with(&[("lambda", "0.1"), ("frame", "rest")])?;
//! assert!(calm != Method::joint());
//! assert_eq!(Method::mwe().with(&[("frame", "rest")]).unwrap_err().to_string(), "frame serves joint, not mwe");
//! # Ok::<(), dermis_fit::method::SettingError>(())
//! ```

use super::{
    AnimationSpaceMethod, CorrectivesMethod, DeltaMushMethod, EigenSkinMethod, JointMethod, LbsMethod, Method,
    MethodError, MweMethod, PoseBlendshapesMethod, PsdMethod, RotationalMethod, ShapeByExampleMethod, error,
};
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::str::FromStr;

/// A setting of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// The field of the stored method that holds it.
    pub field: &'static str,
    /// The group of fields that `field` is in; empty outside a group.
    pub group: &'static str,
    /// Its text form: `N`, `on|off`, `single|N`.
    pub form: &'static str,
    /// The default, in its text form or in words.
    pub default: &'static str,
    /// What it does, in a line.
    pub help: &'static str,
    /// The unit of its value; empty for words and plain numbers.
    pub unit: &'static str,
    /// The least and the largest value.
    pub range: Option<(f64, f64)>,
    /// Who needs it.
    pub audience: Audience,
}

/// Who needs a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Most people: the command line has an option of its name.
    Everyone,
    /// Those who know the method.
    Method,
    /// Research.
    Expert,
}

impl Setting {
    /// A setting that is stored under its own name.
    pub(super) const fn new(name: &'static str, form: &'static str, default: &'static str, help: &'static str) -> Self {
        let audience = Audience::Method;
        Self { name, field: name, group: "", form, default, help, unit: "", range: None, audience }
    }

    pub(super) const fn field(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(super) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    pub(super) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    pub(super) const fn range(self, least: f64, largest: f64) -> Self {
        Self { range: Some((least, largest)), ..self }
    }

    pub(super) const fn everyone(self) -> Self {
        Self { audience: Audience::Everyone, ..self }
    }

    pub(super) const fn expert(self) -> Self {
        Self { audience: Audience::Expert, ..self }
    }

    /// Checks a value against the range.
    pub(super) fn check(&self, value: f64) -> Result<(), MethodError> {
        let (least, largest) = self.range.unwrap_or((f64::MIN, f64::MAX));
        error::within(self.name, value, least, largest)
    }

    /// The range in words; empty without one.
    pub fn limits(&self) -> String {
        match self.range {
            Some((f64::MIN, f64::MAX)) | None => String::new(),
            Some((least, f64::MAX)) => format!("{least} or more"),
            Some((least, largest)) => format!("{least} .. {largest}"),
        }
    }
}

/// Why a setting is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A name that no method knows.
    #[error("no method has a setting \"{name}\"; {method} has {}", if known.is_empty() { "none".into() } else { known.join(", ") })]
    Unknown {
        /// The name.
        name: String,
        /// The method that was asked.
        method: &'static str,
        /// Its settings.
        known: Vec<&'static str>,
    },
    /// A setting of other methods.
    #[error("{name} serves {}, not {method}", serves.join(", "))]
    Elsewhere {
        /// Its name.
        name: &'static str,
        /// The method that was asked.
        method: &'static str,
        /// Those that have it.
        serves: Vec<&'static str>,
    },
    /// A setting with two values.
    #[error("{name} is given twice")]
    Twice {
        /// Its name.
        name: &'static str,
    },
    /// A value that cannot be read, or that another setting makes void.
    #[error("{name}={text}: {why}")]
    Value {
        /// The name of the setting.
        name: &'static str,
        /// The value.
        text: String,
        /// Why it is refused.
        why: String,
    },
}

impl Method {
    /// Its settings, in the order of their help.
    pub fn settings(&self) -> Vec<Setting> {
        self.clone().visit(&[]).0
    }

    /// The method with settings given as pairs of name and text.
    ///
    /// # Errors
    /// [`SettingError`] for a name that the method does not know, and for a value that it cannot read.
    pub fn with<'s, S: AsRef<str>>(&self, said: &'s [(S, S)]) -> Result<Self, SettingError> {
        let said: Vec<(&str, &str)> = said.iter().map(|(name, text)| (name.as_ref(), text.as_ref())).collect();
        let mut own = self.clone();
        let (settings, done) = own.visit(&said);
        let known = |name: &str| settings.iter().find(|setting| setting.name == name);
        for (at, (name, _)) in said.iter().enumerate() {
            let setting = known(name).ok_or_else(|| self.unknown(name, &settings))?;
            if said[..at].iter().any(|(before, _)| before == name) {
                return Err(SettingError::Twice { name: setting.name });
            }
        }
        // A λ that is stated leaves nothing to choose where one field holds both.
        let named = |(name, text): &(&str, &'s str)| Some((known(name)?, *text));
        if let Some((lambda, _)) = said.iter().filter_map(named).find(|(setting, _)| setting.name == LAMBDA.name) {
            let choices = said.iter().filter_map(named).filter(|(setting, _)| setting.field == lambda.field);
            if let Some((setting, text)) = { choices }.find(|(setting, _)| setting.name != lambda.name) {
                let why = "it has no effect beside lambda, which fixes the ridge".into();
                return Err(SettingError::Value { name: setting.name, text: text.to_owned(), why });
            }
        }
        done.map(|()| own)
    }

    fn unknown(&self, name: &str, settings: &[Setting]) -> SettingError {
        let methods = Self::all();
        let of = |method: &Self| method.settings().into_iter().find(|setting| setting.name == name);
        let serves: Vec<_> = methods.iter().filter(|method| of(method).is_some()).map(Self::name).collect();
        match methods.iter().find_map(of) {
            Some(setting) => SettingError::Elsewhere { name: setting.name, method: self.name(), serves },
            None => SettingError::Unknown {
                name: name.to_owned(),
                method: self.name(),
                known: settings.iter().map(|setting| setting.name).collect(),
            },
        }
    }

    /// Sets what was said, and returns all settings of the method.
    fn visit(&mut self, said: &[(&str, &str)]) -> (Vec<Setting>, Result<(), SettingError>) {
        match self {
            Self::OwnWeights | Self::Dqs => (Vec::new(), Ok(())),
            Self::Lbs(own) => set(own, LbsMethod::rows(), said),
            Self::DirectDeltaMush(own) => set(own, DeltaMushMethod::rows(), said),
            Self::AnimationSpace(own) => set(own, AnimationSpaceMethod::rows(), said),
            Self::Mwe(own) => set(own, MweMethod::rows(), said),
            Self::Joint(own) => set(own, JointMethod::rows(), said),
            Self::Psd(own) => set(own, PsdMethod::rows(), said),
            Self::EigenSkin(own) => set(own, EigenSkinMethod::rows(), said),
            Self::PoseBlendshapes(own) => set(own, PoseBlendshapesMethod::rows(), said),
            Self::ShapeByExample(own) => set(own, ShapeByExampleMethod::rows(), said),
            Self::Correctives(own) => set(own, CorrectivesMethod::rows(), said),
            Self::RotationalRegression(own) => set(own, RotationalMethod::rows(), said),
        }
    }
}

/// Sets values in the order of the rows, as a source of maps comes before its numbers.
fn set<M>(own: &mut M, rows: Vec<Row<M>>, said: &[(&str, &str)]) -> (Vec<Setting>, Result<(), SettingError>) {
    let set = |row: &Row<M>| match said.iter().find(|(name, _)| *name == row.setting.name) {
        None => Ok(()),
        Some((_, text)) => (row.set)(own, text).map_err(|why| SettingError::Value {
            name: row.setting.name,
            text: (*text).to_owned(),
            why,
        }),
    };
    let done = rows.iter().try_for_each(set);
    (rows.into_iter().map(|row| row.setting).collect(), done)
}

/// A setting with the function that sets it.
pub(super) struct Row<M> {
    pub setting: Setting,
    pub set: Box<dyn Fn(&mut M, &str) -> Result<(), String>>,
}

impl<M: 'static> Row<M> {
    /// A setting that holds what `read` makes of its text.
    pub(super) fn new<T: 'static>(
        setting: Setting,
        read: impl Fn(&str) -> Result<T, String> + 'static,
        place: fn(&mut M) -> &mut T,
    ) -> Self {
        Self::by(setting, move |own, text| {
            *place(own) = read(text)?;
            Ok(())
        })
    }

    /// A setting that a function sets.
    pub(super) fn by(setting: Setting, set: impl Fn(&mut M, &str) -> Result<(), String> + 'static) -> Self {
        Self { setting, set: Box::new(set) }
    }

    /// The same setting of an owner of what has it.
    pub(super) fn of<O: 'static>(self, place: fn(&mut O) -> &mut M) -> Row<O> {
        Row { setting: self.setting, set: Box::new(move |own, text| (self.set)(place(own), text)) }
    }
}

/// A number, a whole number.
pub(super) fn number<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|error| format!("{error}"))
}

/// One of the names of a type.
pub(super) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text: StrDeserializer<'_, WordError> = text.into_deserializer();
    T::deserialize(text).map_err(|error| error.to_string())
}

/// Whether something is on.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("use on or off".into()),
    }
}

/// A value that may be absent.
pub(super) fn some<T>(read: impl Fn(&str) -> Result<T, String>) -> impl Fn(&str) -> Result<Option<T>, String> {
    move |text| read(text).map(Some)
}

/// Items separated by commas or white space.
pub(super) fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == ',' || c.is_whitespace()).filter(|item| !item.is_empty())
}

/// Positive numbers separated by commas.
pub(super) fn positive<const N: usize>(text: &str) -> Option<[f64; N]> {
    let list = text.split(',').map(|x| x.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0));
    list.collect::<Option<Vec<f64>>>()?.try_into().ok()
}

pub(super) const BASE: Setting = Setting::new(
    "base",
    "BASE",
    "lbs",
    "The deformer a correction is learnt over: rigid, lbs, dqs, ddm (direct delta mush; ddm:N with N smoothing steps, else those of \
     least training error), smooth (corrective smoothing; smooth:N,FACTOR likewise, with a factor of 0.5 if none is stated), auto (lbs, \
     ddm or smooth by cross-validation, lbs for local sculpts; joint model only), given (positions from a file), rest (the rest pose), \
     or a model file (hero.dermis) with all that it corrects",
)
.everyone();
pub(super) const LAMBDA: Setting = Setting::new(
    "lambda",
    "LAMBDA",
    "by cross-validation",
    "Strength of the ridge: 0 follows the examples closely, larger is calmer between them",
)
.field("ridge")
.range(0.0, f64::MAX)
.everyone();
pub(super) const SMOOTHING: Setting = LAMBDA.field("smoothing").default("by leave-one-out");
pub(super) const BLOCKS: Setting = Setting::new(
    "blocks",
    "single|N",
    "5 blocks for clips, single poses otherwise",
    "What is left out while lambda is chosen: single poses, or this many contiguous blocks",
)
.field("ridge");
pub(super) const TOLERANCE: Setting = Setting::new(
    "tolerance",
    "FACTOR",
    "1.03 times the least error",
    "The largest lambda is taken whose cross-validated error is within this factor of the best",
)
.field("ridge")
.range(1.0, f64::MAX);
pub(super) const MIRROR: Setting =
    Setting::new("mirror", "on|off", "off", "Every example teaches both sides of a rig with a left and a right")
        .everyone();
pub(super) const UNTOUCHED: Setting = Setting::new(
    "untouched",
    "WEIGHT",
    "0.1",
    "Weight of the vertices that a local sculpt did not touch, against 1 of those that it did: 0 ignores them, 1 takes a sculpt as a \
     whole skin",
)
.range(0.0, 1.0)
.expert();
pub(super) const GUARD: Setting =
    Setting::new("guard", "on|off", "on", "Joint limits, welding of frozen joints, and the ball around the base")
        .everyone();
pub(super) const COEFFICIENTS: Setting = Setting::new(
    "coefficients",
    "auto|16|32",
    "auto",
    "Bits of the model's coefficients (joint model and multi-weight enveloping): 16 halve the model; auto takes them where no vertex moves \
     by more than a twentieth of the cross-validated error",
)
.everyone();
pub(super) const SIGMA: Setting = Setting::new("sigma", "CHORD", "by cross-validation", "Width of the kernel")
    .unit("chord 2 sin(angle/2)")
    .range(1e-3, 1e6);
pub(super) const KERNEL: Setting = Setting::new(
    "kernel",
    "gaussian|wendland|polyharmonic",
    "gaussian or wendland, by held-out error",
    "The kernel; wendland has compact support, polyharmonic has no width and grows linearly beyond the examples",
);
pub(super) const COORDINATES: Setting = Setting::new(
    "coordinates",
    "chord|rotation-vector|euler|swing-twist[:SWING,TWIST]",
    "chord",
    "What rotations become before poses are compared; swing-twist takes a scale for each",
);
pub(super) const CHANNELS: Setting = Setting::new(
    "channels",
    "NAME[=SCALE],...",
    "",
    "Numeric channels of the poses that count as coordinates for every vertex; the scale is one over the largest value in training",
);
pub(super) const DUPLICATES: Setting = Setting::new(
    "duplicates",
    "DIFFERENCE",
    "1e-6",
    "Poses are merged whose features around a vertex agree within this; negative: never",
)
.range(f64::MIN, f64::MAX)
.expert();
pub(super) const EIG_TOL: Setting = Setting::new(
    "eig-tol",
    "SHARE",
    "1e-10",
    "Principal axes with less than this share of the largest variance are dropped; the absolute ridge drops none",
)
.range(0.0, 1.0)
.expert();

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{FoldChoice, MweRidge, preset};
    use std::collections::BTreeSet;

    /// Oracle: the struct itself, as serde writes it.
    #[test]
    fn every_field_of_a_method_has_a_setting() {
        for method in Method::all() {
            let stored: BTreeSet<String> = fields(&method).into_iter().collect();
            let settings = method.settings();
            let join =
                |s: &Setting| if s.group.is_empty() { s.field.to_owned() } else { format!("{}/{}", s.group, s.field) };
            let told: BTreeSet<String> = settings.iter().map(join).collect();
            assert_eq!(told, stored, "{method}");
            let names: BTreeSet<&str> = settings.iter().map(|s| s.name).collect();
            assert_eq!(names.len(), settings.len(), "{method}: a name twice");
        }
    }

    /// Names of the fields, those of a group behind its name.
    fn fields(method: &Method) -> Vec<String> {
        let stored = serde_json::to_value(method).unwrap();
        let Some(fields) = stored.as_object().and_then(|one| one.values().next()?.as_object()) else { return vec![] };
        let names =
            |(field, value): (&String, &serde_json::Value)| match value.as_object().filter(|_| field == "pose-space") {
                Some(group) => group.keys().map(|inner| format!("{field}/{inner}")).collect(),
                None => vec![field.clone()],
            };
        fields.iter().flat_map(names).collect()
    }

    /// Oracle: the names that serde reads.
    #[test]
    fn every_method_is_listed() {
        let error = serde_json::from_str::<Method>("\"none\"").unwrap_err().to_string();
        let known = Method::all();
        for method in &known {
            assert!(error.contains(&format!("`{}`", method.name())), "{method}: {error}");
        }
        assert_eq!(error.matches('`').count(), 2 + 2 * known.len(), "{error}");
    }

    #[test]
    fn settings_that_exclude_each_other_are_refused_in_any_order() {
        let said =
            |name: &str, said: &[(&str, &str)]| preset(name).unwrap().method.with(said).map_err(|e| e.to_string());
        for pair in [[("lambda", "1"), ("blocks", "3")], [("blocks", "3"), ("lambda", "1")]] {
            assert_eq!(
                said("joint", &pair).unwrap_err(),
                "blocks=3: it has no effect beside lambda, which fixes the ridge"
            );
            // A pose space still chooses its kernel.
            assert!(said("psd", &pair).is_ok());
        }
        assert!(said("mwe", &[("blocks", "3"), ("gcv", "on")]).unwrap_err().starts_with("blocks=3: it has no effect"));
        assert!(said("mwe", &[("rings", "1"), ("maps", "file")]).unwrap_err().starts_with("rings=1: it has no effect"));
        assert_eq!(said("lbs", &[("bits", "8"), ("bits", "16")]).unwrap_err(), "bits is given twice");
        // The published form states its ridge, and a choice takes its place.
        let published = said("mwe-published", &[("tolerance", "1.5")]).unwrap();
        let chosen = MweRidge::CrossValidated { folds: FoldChoice::Auto, tolerance: Some(1.5) };
        assert!(matches!(published, Method::Mwe(own) if own.ridge == chosen));
    }

    /// A default in text form is the default of the struct.
    #[test]
    fn defaults_are_those_of_the_structs() {
        for method in Method::all() {
            for setting in method.settings() {
                match method.with(&[(setting.name, setting.default)]) {
                    Ok(same) => assert_eq!(same, method, "{method} {}", setting.name),
                    Err(error) => assert!(setting.default.contains(' '), "{error}"),
                }
            }
        }
    }
}
