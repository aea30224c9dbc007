//! Examples: a pose together with the skin in that pose.

use crate::{BoneTransforms, Rig, same_place};
use glam::{DAffine3, DQuat, DVec3};

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
    /// The part of the skin that somebody sculpted; `None` if all of it says how the skin is.
    pub local: Option<LocalSculpt>,
}

/// The part of an example that says how the skin is. Elsewhere it shows what the artist was shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalSculpt {
    /// One per vertex: whether it was touched. `None` for a mask that is found: a vertex was touched if it differs from what was shown.
    pub mask: Option<Vec<bool>>,
    /// The skin that the artist was shown, posed world, metres. `None` for the base of the fit.
    pub shown: Option<Vec<DVec3>>,
}

/// A vertex was touched if it lies farther than this from what was shown, in rest diagonals.
pub const TOUCHED: f64 = 1e-5;

/// Examples that fit one rig.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExampleSet {
    /// What the set is called.
    pub name: String,
    examples: Vec<Example>,
    is_clip: bool,
}

/// Why an example does not fit a rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExampleError {
    /// Poses and skins that differ in number.
    #[error("there are {poses} poses, but {skins} skins")]
    Counts {
        /// Poses.
        poses: usize,
        /// Skins.
        skins: usize,
    },
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
    /// A mask, or a skin that the artist was shown, of another number of vertices.
    #[error("example \"{label}\": {what} has {found} vertices, but the rig has {vertices}")]
    Local {
        /// The example.
        label: String,
        /// Which part.
        what: &'static str,
        /// Its vertices.
        found: usize,
        /// The rig's vertices.
        vertices: usize,
    },
    /// A mask of zeros.
    #[error("example \"{label}\": its mask touches no vertex")]
    Untouched {
        /// The example.
        label: String,
    },
    /// A shown position that is NaN or infinite.
    #[error("example \"{label}\": shown vertex {vertex} is not finite")]
    Shown {
        /// The example.
        label: String,
        /// The vertex.
        vertex: usize,
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

/// Numbers that went through single precision once or twice agree within this share.
const ROUNDING: f64 = 1e-6;

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
        let Some(LocalSculpt { mask, shown }) = &self.local else { return Ok(()) };
        let counts = [("its mask", mask.as_ref().map(Vec::len)), ("its shown skin", shown.as_ref().map(Vec::len))];
        for (what, found) in counts {
            if let Some(found) = found.filter(|found| *found != vertices) {
                return Err(ExampleError::Local { label: label(), what, found, vertices });
            }
        }
        if mask.as_ref().is_some_and(|mask| !mask.contains(&true)) {
            return Err(ExampleError::Untouched { label: label() });
        }
        match shown.iter().flatten().position(|p| !p.is_finite()) {
            Some(vertex) => Err(ExampleError::Shown { label: label(), vertex }),
            None => Ok(()),
        }
    }

    /// Returns whether each vertex was touched; `None` if all of the skin says how it is.
    ///
    /// - `length`: L, the rest diagonal: files round by less than a hundred-thousandth of it, and no artist sees it
    /// - `offset`: how far a vertex lies from the skin that an artist was shown where the sculpt does not say it
    pub fn touched(&self, length: f64, offset: impl Fn(usize) -> DVec3) -> Option<Vec<bool>> {
        let moved = |offset: DVec3| offset.length() > TOUCHED * length;
        Some(match self.local.as_ref()? {
            LocalSculpt { mask: Some(mask), .. } => mask.clone(),
            LocalSculpt { shown: Some(shown), .. } => {
                self.positions.iter().zip(shown).map(|(p, b)| moved(*p - *b)).collect()
            }
            LocalSculpt { mask: None, shown: None } => (0..self.positions.len()).map(|v| moved(offset(v))).collect(),
        })
    }

    /// How every bone is turned from the bind pose, seen from the first.
    pub fn turns(&self) -> Vec<DQuat> {
        let turn = |m: &DAffine3| m.to_scale_rotation_translation().1;
        let first = self.transforms.iter().next().map_or(DQuat::IDENTITY, turn).inverse();
        self.transforms.iter().map(|m| first * turn(m)).collect()
    }

    /// Whether the pose is the bind pose, up to the rounding of single precision.
    pub fn is_at_bind(&self) -> bool {
        let rest = BoneTransforms::identity(self.transforms.len()).with_channels(self.transforms.channels().clone());
        same_place(&self.transforms, &rest, self.size())
    }

    /// Whether another example has the same pose and the same skin, with positions within `near`.
    fn repeats(&self, other: &Self, near: f64) -> bool {
        same_place(&self.transforms, &other.transforms, self.size())
            && self.positions.len() == other.positions.len()
            && self.positions.iter().zip(&other.positions).all(|(a, b)| a.distance(*b) <= near)
    }

    /// The largest coordinate of its skin, metres.
    fn size(&self) -> f64 {
        self.positions.iter().map(|p| p.abs().max_element()).fold(0.0, f64::max)
    }

    /// The rounding of its positions in single precision.
    fn rounding(&self) -> f64 {
        ROUNDING * self.size()
    }
}

impl ExampleSet {
    /// Examples proven to fit `rig`.
    ///
    /// # Errors
    /// The first [`ExampleError`] met.
    pub fn new(name: String, examples: Vec<Example>, rig: &Rig) -> Result<Self, ExampleError> {
        for example in &examples {
            example.check(rig.mesh().positions.len(), rig.skeleton().len())?;
        }
        let is_clip = examples.len() > 1 && examples.iter().all(|e| e.time.is_some());
        Ok(Self { name, examples, is_clip })
    }
    /// The examples, in order.
    pub fn examples(&self) -> &[Example] {
        &self.examples
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
        Self { name: self.name.clone(), examples, is_clip: self.is_clip }
    }
    /// The set with the importance that a function gives each example.
    ///
    /// # Panics
    /// If it is negative or not finite.
    pub fn with_importance(&self, importance: impl Fn(&Example) -> f64) -> Self {
        let mut made = self.clone();
        for example in &mut made.examples {
            example.importance = importance(example);
            assert!(example.importance.is_finite() && example.importance >= 0.0, "an importance out of range");
        }
        made
    }
    /// The set with a shown skin, made of the pose by `skin`, for local sculpts that state neither mask nor shown skin; `None` if there
    /// are none.
    ///
    /// # Panics
    /// If `skin` has another number of vertices than the example.
    pub fn shown_by(&self, skin: impl Fn(&BoneTransforms) -> Vec<DVec3>) -> Option<Self> {
        let unknown = |e: &Example| e.local.as_ref().is_some_and(|local| local.mask.is_none() && local.shown.is_none());
        self.examples.iter().any(unknown).then(|| {
            let mut made = self.clone();
            for example in made.examples.iter_mut().filter(|e| unknown(e)) {
                let shown = skin(&example.transforms);
                assert_eq!(shown.len(), example.positions.len(), "the shown skin has another number of vertices");
                example.local = Some(LocalSculpt { mask: None, shown: Some(shown) });
            }
            made
        })
    }
    /// The examples that stand in `other` too: the same pose with the same skin, up to the rounding of single precision.
    pub fn repeated_in<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a Example> {
        self.examples.iter().filter(|one| {
            let near = one.rounding();
            other.examples.iter().any(|two| one.repeats(two, near))
        })
    }
    /// The examples of which another set has a neighbour: a pose in which every bone is turned within `angle` (radians) of its own turn,
    /// seen from the first bone. At most `most` pairs of bones are compared; the answer is none if there are more.
    pub fn near<'a>(&'a self, other: &'a Self, angle: f64, most: usize) -> impl Iterator<Item = &'a Example> {
        let turns = |set: &Self| set.examples.iter().map(Example::turns).collect::<Vec<_>>();
        let bones = self.examples.first().map_or(0, |e| e.transforms.len());
        let compared = self.examples.len().saturating_mul(other.examples.len()).saturating_mul(bones) <= most;
        let (own, theirs) = if compared { (turns(self), turns(other)) } else { (vec![], vec![]) };
        // |q·p| of unit quaternions is the cosine of half the angle between two turns.
        let least = (0.5 * angle).cos();
        self.examples.iter().zip(own).filter_map(move |(example, own)| {
            let alike = |other: &Vec<DQuat>| own.iter().zip(other).all(|(q, p)| q.dot(*p).abs() >= least);
            theirs.iter().any(alike).then_some(example)
        })
    }
    /// The examples of both sets; a clip only if both are.
    pub fn joined(mut self, other: Self) -> Self {
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
