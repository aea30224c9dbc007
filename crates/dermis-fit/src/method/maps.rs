//! Where the influence maps of a fit come from.

use super::error::{Lack, within};
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

impl Default for MapSource {
    fn default() -> Self {
        Self::Auto(MapSettings::default())
    }
}

impl MapSource {
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
        within("decay", settings.decay, 0.0, 1.0)?;
        within("threshold", settings.threshold, 0.0, 1.0)?;
        // No skeleton is deeper, no mesh is smoother; more would only keep the user waiting.
        for (setting, value) in [("rings", settings.rings), ("smoothing", settings.smoothing)] {
            if value > 1000 {
                let rule = "it must be 1000 or less".into();
                return Err(MethodError::Setting { setting, value: value as f64, rule });
            }
        }
        Ok(())
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
