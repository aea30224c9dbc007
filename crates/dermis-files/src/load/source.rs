//! Files as the user names them.

use crate::error::FileError;
use crate::place;
use crate::provenance::name_of;
use dermis_io::Contents;
pub use dermis_rig::pattern::matches;
use std::path::{Path, PathBuf};

/// A file as the user named it: a path, and after `#` the part of it that is meant.
///
/// For a file with clips the part is a clip's name. For a bundle it is a list of label patterns separated by commas, with
/// `*` for any text; a list that starts with `!` takes the records no pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file or folder.
    pub path: PathBuf,
    /// A clip by name, or records by label.
    pub part: Option<String>,
}

impl Source {
    /// `walk.glb#Walk` is the clip "Walk" of walk.glb, `poses.npz#arm*` the records of poses.npz whose labels begin with
    /// "arm", unless a file of that whole name exists.
    pub fn parse(text: &str) -> Self {
        match text.split_once('#') {
            Some((path, part)) if !place::exists(Path::new(text)) => {
                Self { path: path.into(), part: Some(part.into()) }
            }
            _ => Self { path: text.into(), part: None },
        }
    }

    /// What it is called in reports: the name of the file, and its part.
    pub fn called(&self) -> String {
        let name = name_of(&self.path);
        self.part.as_ref().map_or_else(|| name.clone(), |part| format!("{name}#{part}"))
    }

    /// Keeps the records the part names. Where it names no clip, but morph targets, those are kept, and no clip.
    ///
    /// # Errors
    /// [`FileError::Lacks`] if it names none.
    pub fn select(&self, contents: &mut Contents) -> Result<(), FileError> {
        let Some(part) = &self.part else { return Ok(()) };
        let is_clip = |name: &str| name == part || name.rsplit_once('|').is_some_and(|(_, short)| short == part);
        let taken: Vec<bool> = contents.morphs.iter().map(|morph| self.takes(&morph.name)).collect();
        if contents.records.is_empty()
            && taken.contains(&true)
            && !contents.clips.iter().any(|clip| is_clip(&clip.name))
        {
            let (mut morphs, mut weights) = (taken.iter(), taken.iter());
            contents.morphs.retain(|_| morphs.next() == Some(&true));
            contents.morph_weights.retain(|_| weights.next() == Some(&true));
            contents.clips.clear();
            if let Some(mesh) = &mut contents.mesh {
                mesh.morphs = None;
            }
            return Ok(());
        }
        if !contents.clips.is_empty() {
            return Ok(());
        }
        let total = contents.records.len();
        contents.records.retain(|r| self.takes(&r.label));
        if contents.records.is_empty() { Err(self.matches_none(total)) } else { Ok(()) }
    }

    /// Whether a record of this label is meant.
    pub(crate) fn takes(&self, label: &str) -> bool {
        let Some(part) = &self.part else { return true };
        let (patterns, inverted) = part.strip_prefix('!').map_or((part.as_str(), false), |rest| (rest, true));
        patterns.split(',').any(|p| matches(p, label)) != inverted
    }

    pub(crate) fn matches_none(&self, labels: usize) -> FileError {
        let part = self.part.as_deref().unwrap_or_default();
        let what = format!("none of the {labels} labels matches \"{part}\"");
        FileError::lacks(&self.path, what, "`dermis inspect` FILE lists the labels with `json`; * stands for any text")
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{}#{part}", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

impl serde::Serialize for Source {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Source {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&String::deserialize(from)?))
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Self {
        Self { path: path.into(), part: None }
    }
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self { path, part: None }
    }
}

impl std::str::FromStr for Source {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}
