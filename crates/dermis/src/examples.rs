//! Examples of the skin, as a caller has them.

#[cfg(feature = "formats")]
use crate::Error;
use crate::Rig;
#[cfg(feature = "formats")]
use dermis_files::load::{FileNote, ReadOptions, Source, load_examples};
use dermis_rig::examples::ExampleError;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, ExampleSet};
use std::ops::Deref;

/// Poses with the skin in each, proven to fit one rig.
///
/// It dereferences to [`ExampleSet`].
#[derive(Clone, Debug, Default)]
pub struct Examples {
    set: ExampleSet,
    #[cfg(feature = "formats")]
    files: Vec<FileNote>,
}

impl Examples {
    /// Examples from files: bundles, sculpts as morph targets, or a motion followed by its skins. `FILE#PART` names a clip,
    /// or records by label.
    ///
    /// # Errors
    /// [`Error`]: files that cannot be read, vertices or bones that do not match, poses without skins and the reverse.
    #[cfg(feature = "formats")]
    pub fn open(rig: &Rig, files: impl IntoIterator<Item = impl Into<Source>>) -> Result<Self, Error> {
        Self::open_with(rig, files, &ReadOptions::default())
    }

    /// The same, with what files do not say themselves: their axes, their unit, the rate of their clips.
    ///
    /// # Errors
    /// As [`Self::open`].
    #[cfg(feature = "formats")]
    pub fn open_with(
        rig: &Rig,
        files: impl IntoIterator<Item = impl Into<Source>>,
        options: &ReadOptions,
    ) -> Result<Self, Error> {
        let sources: Vec<Source> = files.into_iter().map(Into::into).collect();
        let (set, files) = load_examples(rig, &rig.loaded.space, &sources, options, "examples")?;
        Ok(Self { set, files })
    }

    /// Examples from memory: bone transforms M_k = T_k B_k⁻¹ and the skin in each pose, a position per vertex in metres.
    ///
    /// # Errors
    /// [`ExampleError`], naming the example: counts that disagree, numbers that are not finite.
    pub fn new(rig: &Rig, poses: Vec<BoneTransforms>, skins: Vec<Vec<DVec3>>) -> Result<Self, ExampleError> {
        if poses.len() != skins.len() {
            return Err(ExampleError::Counts { poses: poses.len(), skins: skins.len() });
        }
        let example = |(at, (transforms, positions)): (usize, (BoneTransforms, Vec<DVec3>))| Example {
            label: format!("pose {at}"),
            time: None,
            transforms,
            positions,
            importance: 1.0,
            local: None,
        };
        let examples = poses.into_iter().zip(skins).enumerate().map(example).collect();
        Ok(ExampleSet::new("examples".into(), examples, rig)?.into())
    }

    /// What was read, with the flaws that were mended.
    #[cfg(feature = "formats")]
    pub fn files(&self) -> &[FileNote] {
        &self.files
    }
}

impl From<ExampleSet> for Examples {
    fn from(set: ExampleSet) -> Self {
        Self {
            set,
            #[cfg(feature = "formats")]
            files: Vec::new(),
        }
    }
}

impl Deref for Examples {
    type Target = ExampleSet;
    fn deref(&self) -> &ExampleSet {
        &self.set
    }
}
