//! Examples: a pose together with the skin in that pose.

use crate::{BoneTransforms, Rig};
use glam::DVec3;

/// One example of the skin.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// What the example is called in reports.
    pub label: String,
    /// Seconds, if the example is a frame of an animation.
    pub time: Option<f64>,
    /// The pose as bone transforms M_k.
    pub transforms: BoneTransforms,
    /// The skin in that pose: one position per vertex of the rig's mesh, posed world, metres.
    pub positions: Vec<DVec3>,
    /// Importance r: multiplies the residuals of this example. One by default; zero leaves it out.
    pub importance: f64,
}

/// Examples that fit one rig.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExampleSet {
    /// What the set is called.
    pub name: String,
    examples: Vec<Example>,
    is_clip: bool,
    channel_names: Vec<String>,
}

/// Why an example does not fit a rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExampleError {
    /// Another number of vertices.
    #[error("example \"{label}\" has {found} vertices, but the rig has {vertices}")]
    Vertices {
        /// The example.
        label: String,
        /// Its vertices.
        found: usize,
        /// The rig's vertices.
        vertices: usize,
    },
    /// Another number of bones.
    #[error("example \"{label}\" has {found} bones, but the rig has {bones}")]
    Bones {
        /// The example.
        label: String,
        /// Its bones.
        found: usize,
        /// The rig's bones.
        bones: usize,
    },
    /// A position that is NaN or infinite.
    #[error("example \"{label}\": vertex {vertex} is not finite")]
    Position {
        /// The example.
        label: String,
        /// The vertex.
        vertex: usize,
    },
    /// A bone transform that is NaN or infinite.
    #[error("example \"{label}\": the transform of bone {bone} is not finite")]
    Transform {
        /// The example.
        label: String,
        /// The bone.
        bone: usize,
    },
    /// A negative or non-finite importance.
    #[error("example \"{label}\" has importance {importance}; it must be zero or more")]
    Importance {
        /// The example.
        label: String,
        /// The value.
        importance: f64,
    },
}

impl Example {
    /// Checks the example against a rig's counts.
    ///
    /// # Errors
    /// [`ExampleError`], naming example and element.
    pub fn check(&self, vertices: usize, bones: usize) -> Result<(), ExampleError> {
        let label = || self.label.clone();
        if self.positions.len() != vertices {
            return Err(ExampleError::Vertices { label: label(), found: self.positions.len(), vertices });
        }
        if self.transforms.len() != bones {
            return Err(ExampleError::Bones { label: label(), found: self.transforms.len(), bones });
        }
        if let Some(vertex) = self.positions.iter().position(|p| !p.is_finite()) {
            return Err(ExampleError::Position { label: label(), vertex });
        }
        if let Some(bone) = self.transforms.iter().position(|m| !m.is_finite()) {
            return Err(ExampleError::Transform { label: label(), bone });
        }
        if !self.importance.is_finite() || self.importance < 0.0 {
            return Err(ExampleError::Importance { label: label(), importance: self.importance });
        }
        Ok(())
    }
}

impl ExampleSet {
    /// Examples proven to fit `rig`.
    ///
    /// # Errors
    /// The first [`ExampleError`] met.
    pub fn new(name: String, examples: Vec<Example>, rig: &Rig) -> Result<Self, ExampleError> {
        for example in &examples {
            example.check(rig.mesh.positions.len(), rig.skeleton.len())?;
        }
        let is_clip = examples.len() > 1 && examples.iter().all(|e| e.time.is_some());
        Ok(Self { name, examples, is_clip, channel_names: Vec::new() })
    }
    /// The examples, in order.
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }
    /// What the channels of the poses are called, in their order.
    pub fn channel_names(&self) -> &[String] {
        &self.channel_names
    }
    /// The same set with names for the channels of its poses.
    pub fn with_channel_names(self, channel_names: Vec<String>) -> Self {
        Self { channel_names, ..self }
    }
    /// The same set with the channels of `names` alone, in that order; one the set does not have is zero.
    pub fn for_channels(mut self, names: &[String]) -> Self {
        if self.channel_names != names {
            let places = channel_places(&self.channel_names, names);
            for example in &mut self.examples {
                let channels = placed(example.transforms.channels(), &places);
                example.transforms = example.transforms.clone().with_channels(channels);
            }
            self.channel_names = names.to_vec();
        }
        self
    }
    /// Number of examples.
    pub fn len(&self) -> usize {
        self.examples.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }
    /// Whether the examples are frames of an animation: neighbours resemble each other, so validation folds are blocks.
    pub fn is_clip(&self) -> bool {
        self.is_clip
    }
    /// The examples at `indices`, as a set of their own that keeps whether it is a clip.
    pub fn subset(&self, indices: &[usize]) -> Self {
        let examples = indices.iter().map(|&at| self.examples[at].clone()).collect();
        Self { examples, name: self.name.clone(), channel_names: self.channel_names.clone(), ..*self }
    }
    /// The examples of both sets; a clip only if both are.
    pub fn joined(mut self, mut other: Self) -> Self {
        let mut names = self.channel_names.clone();
        names.extend(other.channel_names.iter().filter(|name| !self.channel_names.contains(name)).cloned());
        if !names.is_empty() {
            (self, other) = (self.for_channels(&names), other.for_channels(&names));
        }
        if !self.examples.is_empty() {
            self.is_clip &= other.is_clip;
            self.name = format!("{} + {}", self.name, other.name);
        } else {
            self.is_clip = other.is_clip;
            self.name = other.name;
        }
        self.examples.extend(other.examples);
        self
    }
}

/// Where channels of `names` lie among `known`.
pub(crate) fn channel_places(known: &[String], names: &[String]) -> Vec<Option<usize>> {
    names.iter().map(|name| known.iter().position(|k| k == name)).collect()
}

/// Values at places; zero for none.
pub(crate) fn placed(values: &[f64], places: &[Option<usize>]) -> Vec<f64> {
    places.iter().map(|place| place.and_then(|at| values.get(at)).copied().unwrap_or(0.0)).collect()
}
