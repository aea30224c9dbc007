//! Where the influence maps of a fit come from.

use super::error::Lack;
use super::settings::{Row, Setting, number};
use super::{FitInput, MethodError, weights};
use crate::maps::{self, MapSettings};
use crate::training::Progress;
use dermis_rig::Influences;
use serde::{Deserialize, Serialize};

/// Where influence maps come from. Only sources that derive maps have settings for that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapSource {
    /// The rig's maps if it has any, else derived from its weights.
    Auto(MapSettings),
    /// Derived from the rig's weights.
    Weights(MapSettings),
    /// The rig's maps.
    File,
    /// Vertex colours: the bone that each channel (red, green, blue, alpha) stands for.
    Colors([Option<String>; 4]),
    /// Derived from influences that the examples show.
    Examples(MapSettings),
    /// A table handed in beside the rig ([`FitInput::maps`]).
    Table,
}

const MAPS: Setting = Setting::new(
    "maps",
    "auto|weights|file|examples|table|colors:R,G,B,A",
    "auto",
    "Where influence maps come from: the file else the weights, one of both, the examples (bones that they show to move a vertex), \
     a table, or vertex colours (a bone for each channel, empty: unused)",
)
.everyone();
pub(super) const RINGS: Setting =
    part("rings", "N", "2", "Joints away from a weighted bone that still matter in influence maps").range(0.0, MOST);
const DECAY: Setting = part("decay", "FACTOR", "0.3", "What each joint on the way costs").range(0.0, 1.0);
const PASSES: Setting =
    part("map-smoothing", "N", "4", "Smoothing passes of the maps over the surface").range(0.0, MOST);
const THRESHOLD: Setting = part("threshold", "WEIGHT", "0.004", "Maps at or below this are zero").range(0.0, 1.0);
/// No skeleton is deeper, no mesh is smoother; more would only keep the user waiting.
const MOST: f64 = 1000.0;

/// A number that derives maps.
const fn part(name: &'static str, form: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting::new(name, form, default, help).field("maps")
}

impl Default for MapSource {
    fn default() -> Self {
        Self::Auto(MapSettings::default())
    }
}

impl MapSource {
    pub(super) fn rows() -> Vec<Row<Self>> {
        vec![
            Row::new(MAPS, Self::read, |own| own),
            Row::by(RINGS, |own: &mut Self, text| {
                own.derive(|settings| number(text).map(|value| settings.rings = value))
            }),
            Row::by(DECAY, |own: &mut Self, text| {
                own.derive(|settings| number(text).map(|value| settings.decay = value))
            }),
            Row::by(PASSES, |own: &mut Self, text| {
                own.derive(|settings| number(text).map(|value| settings.smoothing = value))
            }),
            Row::by(THRESHOLD, |own: &mut Self, text| {
                own.derive(|settings| number(text).map(|value| settings.threshold = value))
            }),
        ]
    }

    fn read(text: &str) -> Result<Self, String> {
        Ok(match (text, text.split_once(':')) {
            ("auto", _) => Self::default(),
            ("weights", _) => Self::Weights(MapSettings::default()),
            ("file", _) => Self::File,
            ("examples", _) => Self::Examples(MapSettings::default()),
            ("table", _) => Self::Table,
            (_, Some(("colors", names))) => {
                let mut channels: [Option<String>; 4] = Default::default();
                for (channel, name) in channels.iter_mut().zip(names.split(',')) {
                    *channel = (!name.is_empty()).then(|| name.to_owned());
                }
                Self::Colors(channels)
            }
            _ => return Err("use auto, weights, file, examples, table:FILE or colors:R,G,B,A".into()),
        })
    }

    fn derive(&mut self, change: impl FnOnce(&mut MapSettings) -> Result<(), String>) -> Result<(), String> {
        let void = || "it has no effect on maps that are not derived from weights".to_owned();
        change(self.settings_mut().ok_or_else(void)?)
    }

    /// How maps are derived, where they are.
    pub fn settings(&self) -> Option<&MapSettings> {
        match self {
            Self::Auto(settings) | Self::Weights(settings) | Self::Examples(settings) => Some(settings),
            Self::File | Self::Colors(_) | Self::Table => None,
        }
    }

    /// The same for changes.
    pub fn settings_mut(&mut self) -> Option<&mut MapSettings> {
        match self {
            Self::Auto(settings) | Self::Weights(settings) | Self::Examples(settings) => Some(settings),
            Self::File | Self::Colors(_) | Self::Table => None,
        }
    }

    /// Checks the settings.
    pub(super) fn check(&self) -> Result<(), MethodError> {
        let Some(settings) = self.settings() else { return Ok(()) };
        DECAY.check(settings.decay)?;
        THRESHOLD.check(settings.threshold)?;
        RINGS.check(settings.rings as f64)?;
        PASSES.check(settings.smoothing as f64)
    }

    /// The maps for a fit.
    pub(super) fn of(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Influences, MethodError> {
        let rig = input.rig;
        let lacks = |what| MethodError::RigLacks { rig: rig.name().to_owned(), what };
        let derived = |settings: &MapSettings| {
            let weights = rig.weights().ok_or_else(|| lacks(Lack::MapsAndWeights))?;
            Ok(maps::from_weights(rig.skeleton(), rig.mesh(), weights, *settings)?)
        };
        match (self, rig.influence_maps()) {
            (Self::Auto(_) | Self::File, Some(maps)) => Ok(maps.clone()),
            (Self::Auto(settings) | Self::Weights(settings), _) => derived(settings),
            (Self::File, None) => Err(lacks(Lack::Maps)),
            (Self::Table, _) => {
                let table = input.maps.ok_or(MethodError::InputLacks { what: "influence maps of a table" })?;
                let (found, expected) = (table.vertices(), rig.mesh().positions.len());
                match found == expected {
                    true => Ok(table.clone()),
                    false => Err(MethodError::Counts { what: "vertices of the influence maps", found, expected }),
                }
            }
            (Self::Examples(settings), _) => weights::maps_from_examples(input, *settings, progress),
            (Self::Colors(channels), _) => {
                let colors = rig.mesh().colors.as_ref().ok_or_else(|| lacks(Lack::Colors))?;
                let mut bones = [None; 4];
                for (place, name) in bones.iter_mut().zip(channels) {
                    *place = name.as_ref().map(|name| input.bone(name)).transpose()?;
                }
                Ok(maps::from_colors(colors, bones)?)
            }
        }
    }

    /// What a model says of its maps.
    pub(super) fn lines(&self) -> Vec<(String, String)> {
        let source = match self {
            Self::Auto(_) => "from the file, else from the weights".into(),
            Self::Weights(_) => "from the weights".into(),
            Self::File => "from the file".into(),
            Self::Table => "from a table".into(),
            Self::Examples(_) => "from the examples".into(),
            Self::Colors(channels) => format!("vertex colours {channels:?}"),
        };
        let mut lines = vec![("influence maps".to_owned(), source)];
        if let Some(m) = self.settings() {
            let settings = format!("{} / {} / {} / {}", m.rings, m.decay, m.smoothing, m.threshold);
            lines.push(("rings / decay / smoothing / threshold".into(), settings));
        }
        lines
    }
}
