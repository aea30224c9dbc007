//! How large a pose must be: the bones a model reads, and the errors for anything else.

/// The number of bones a model reads of a pose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoneCount {
    /// The model has a number per bone, such as a pivot.
    Exactly(usize),
    /// The model names bones by index, and the largest index is this less one. Bones beyond it have no vertices.
    AtLeast(usize),
}

/// Why a model cannot be evaluated in a pose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoseError {
    /// The pose has another number of bones than the model.
    #[error("the pose has {found} bones, but the model reads {expected}")]
    Bones {
        /// Bones the model reads.
        expected: usize,
        /// Bones of the pose.
        found: usize,
    },
    /// The base is [`Base::Given`](crate::Base::Given), and no positions came with the pose.
    #[error("the model corrects given positions, and none came with the pose")]
    NeedsGiven,
    /// The given positions are those of another mesh.
    #[error("{found} positions came with the pose, but the model has {expected} vertices")]
    Given {
        /// Vertices of the model.
        expected: usize,
        /// Given positions.
        found: usize,
    },
    /// The normals, at rest or posed, are those of another mesh.
    #[error("there are {found} normals, but the model has {expected} vertices")]
    Normals {
        /// Vertices of the model.
        expected: usize,
        /// Normals.
        found: usize,
    },
    /// There are not as many skins as poses.
    #[error("there is room for {found} skins of {expected} poses")]
    Skins {
        /// Poses.
        expected: usize,
        /// Skins.
        found: usize,
    },
    /// The output has another number of vertices than the model.
    #[error("the output has room for {found} vertices, but the model has {expected}")]
    Output {
        /// Vertices of the model.
        expected: usize,
        /// Vertices of the output.
        found: usize,
    },
}

impl BoneCount {
    /// The number itself.
    pub fn number(self) -> usize {
        match self {
            Self::Exactly(n) | Self::AtLeast(n) => n,
        }
    }

    /// Checks a pose of `found` bones.
    ///
    /// # Errors
    /// [`PoseError::Bones`] if the model cannot be evaluated in such a pose.
    pub fn admit(self, found: usize) -> Result<(), PoseError> {
        let fits = match self {
            Self::Exactly(n) => found == n,
            Self::AtLeast(n) => found >= n,
        };
        if fits { Ok(()) } else { Err(PoseError::Bones { expected: self.number(), found }) }
    }

    /// What a model reads that has two parts; `None` if no pose suits both.
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::AtLeast(a), Self::AtLeast(b)) => Some(Self::AtLeast(a.max(b))),
            (Self::Exactly(n), Self::AtLeast(least)) | (Self::AtLeast(least), Self::Exactly(n)) => {
                (n >= least).then_some(Self::Exactly(n))
            }
            (Self::Exactly(a), Self::Exactly(b)) => (a == b).then_some(Self::Exactly(a)),
        }
    }

    /// For bones named by index.
    pub(crate) fn naming(bones: impl IntoIterator<Item = usize>) -> Self {
        Self::AtLeast(bones.into_iter().map(|bone| bone + 1).max().unwrap_or(0))
    }
}

/// Checks the number of positions given with a pose, for a base that needs them.
pub(crate) fn admit_given(expected: usize, given: Option<usize>) -> Result<(), PoseError> {
    match given {
        None => Err(PoseError::NeedsGiven),
        Some(found) if found != expected => Err(PoseError::Given { expected, found }),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::BoneCount::{self, AtLeast, Exactly};
    use super::PoseError;

    #[test]
    fn parts_of_a_model_agree_on_its_bones_or_refuse() {
        assert_eq!(AtLeast(3).and(AtLeast(5)), Some(AtLeast(5)));
        assert_eq!(AtLeast(3).and(Exactly(5)), Some(Exactly(5)));
        assert_eq!(Exactly(3).and(AtLeast(5)), None);
        assert_eq!(Exactly(3).and(Exactly(4)), None);
        assert_eq!(BoneCount::naming([2, 7, 0]), AtLeast(8));
        assert_eq!(BoneCount::naming([]), AtLeast(0));
        assert_eq!((AtLeast(3).admit(4), Exactly(3).admit(3)), (Ok(()), Ok(())));
        assert_eq!(Exactly(3).admit(4), Err(PoseError::Bones { expected: 3, found: 4 }));
        assert_eq!(AtLeast(3).admit(2), Err(PoseError::Bones { expected: 3, found: 2 }));
    }
}
