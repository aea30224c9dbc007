//! Whether the parts of a model belong together: one mesh, one skeleton, and lists that name only what exists.

use crate::base::Base;
use crate::correction::Correction;
use crate::enveloping::Enveloping;
use crate::guard::Weld;
use crate::joints::Joints;
use crate::pose_size::BoneCount;
use crate::pose_space::{Carrier, CompiledShapes, Kernel, NO_GROUP, PoseSpace};
use crate::rotational_regression::RotationalRegression;
use crate::stack::Stack;
use dermis_rig::{BoneIndex, check_offsets};

/// Why parts do not make a deformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeformerError {
    /// A part is of another mesh.
    #[error("{part} are those of {found} vertices, but the mesh has {expected}")]
    Vertices {
        /// The part.
        part: &'static str,
        /// Vertices of the mesh.
        expected: usize,
        /// Vertices of the part.
        found: usize,
    },
    /// No pose suits all parts.
    #[error("one part reads {one} bones and another {other}: they are of different skeletons")]
    Bones {
        /// Bones of one part.
        one: usize,
        /// Bones of the other.
        other: usize,
    },
    /// A list is not ordered by vertex, or names what does not exist.
    #[error("{part} are not in order, or name what does not exist")]
    List {
        /// The list.
        part: &'static str,
    },
    /// Weights of shapes whose bounds leave out zero, the bind pose.
    #[error("the weights of shapes cannot be zero at the bind pose within their bounds")]
    Clamp,
}

/// Checks that a part has an entry per vertex.
pub(crate) fn covers(part: &'static str, expected: usize, found: usize) -> Result<(), DeformerError> {
    if found == expected { Ok(()) } else { Err(DeformerError::Vertices { part, expected, found }) }
}

/// Checks that a part that may be missing has an entry per vertex.
pub(crate) fn covers_or_lacks(part: &'static str, expected: usize, found: usize) -> Result<(), DeformerError> {
    if found == 0 { Ok(()) } else { covers(part, expected, found) }
}

/// Checks that a list names only what exists.
pub(crate) fn names(
    part: &'static str,
    mut list: impl Iterator<Item = usize>,
    count: usize,
) -> Result<(), DeformerError> {
    if list.all(|at| at < count) { Ok(()) } else { Err(DeformerError::List { part }) }
}

/// Checks that two lists are of one length.
pub(crate) fn beside(part: &'static str, one: usize, other: usize) -> Result<(), DeformerError> {
    if one == other { Ok(()) } else { Err(DeformerError::List { part }) }
}

/// The bones that two parts read together.
pub(crate) fn together(one: BoneCount, other: BoneCount) -> Result<BoneCount, DeformerError> {
    one.and(other).ok_or(DeformerError::Bones { one: one.number(), other: other.number() })
}

impl Base {
    /// Checks the base of a mesh; the bones it reads.
    pub(crate) fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        match self {
            Self::Rigid(weights) | Self::Lbs(weights) => {
                covers("skinning weights", vertices, weights.vertices())?;
                Ok(BoneCount::AtLeast(weights.bones_named()))
            }
            Self::Dqs(weights, blend) => {
                covers("skinning weights", vertices, weights.vertices())?;
                together(BoneCount::Exactly(blend.pivots().len()), BoneCount::AtLeast(weights.bones_named()))
            }
            Self::DirectDeltaMush(mush) => {
                covers("centres of neighbourhoods", vertices, mush.centres.len())?;
                covers("moments of neighbourhoods", vertices, mush.terms.len())?;
                Ok(BoneCount::naming(mush.terms.entries().iter().map(|(bone, _)| bone.get())))
            }
            Self::CorrectiveSmooth(smooth) => {
                let terms = &smooth.smoothed().terms;
                covers("coefficients of the smoothed surface", vertices, terms.len())?;
                Ok(BoneCount::naming(terms.entries().iter().map(|(bone, _)| bone.get())))
            }
            Self::AnimationSpace(space) => {
                covers("animation space terms", vertices, space.terms.len())?;
                Ok(BoneCount::naming(space.terms.entries().iter().map(|(bone, _)| bone.get())))
            }
            Self::RotationalRegression(model) => model.check(vertices),
            Self::Stack(stack, _) => stack.check(vertices),
            Self::Rest | Self::Given => Ok(BoneCount::AtLeast(0)),
        }
    }
}

impl Stack {
    /// Checks the stack against a mesh; the bones it reads.
    pub(crate) fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        covers("layers of the stack", vertices, self.vertices())?;
        Ok(BoneCount::Exactly(self.bones()))
    }
}

impl RotationalRegression {
    /// Checks the model against a mesh; the bones it reads.
    pub(crate) fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        covers("skinning weights", vertices, self.weights.vertices())?;
        covers("turns of triangles", self.bones.len(), self.terms.len())?;
        names("turns of triangles", self.terms.entries().iter().map(|term| term.joint as usize), self.joints.len())?;
        names("anchored vertices", self.anchors.iter().map(|anchor| anchor.0 as usize), vertices)?;
        let joints = self.joints.iter().flat_map(|joint| [joint.from, joint.to]);
        let bones = joints.chain(self.bones.iter().copied()).chain(self.anchors.iter().map(|anchor| anchor.1));
        together(BoneCount::AtLeast(self.weights.bones_named()), BoneCount::naming(bones.map(BoneIndex::get)))
    }
}

impl Correction {
    /// Checks the correction of a mesh; the bones it reads.
    pub(crate) fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        match self {
            Self::Enveloping(correction) => correction.check(vertices),
            Self::Joints(correction) => correction.check(vertices),
            Self::PoseSpace(correction) => correction.check(vertices),
            Self::Shapes(correction) => correction.check(vertices),
        }
    }
}

impl Enveloping {
    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        covers("anchors", vertices, self.anchors.len())?;
        covers("enveloping terms", vertices, self.terms.len())?;
        let terms = self.terms.entries();
        names("enveloping terms", terms.iter().map(|&pair| pair as usize), self.pairs.len())?;
        beside("enveloping coefficients", self.coefficients.len(), terms.len() * self.rows.coefficients())?;
        covers_or_lacks("constants", vertices, self.constants.len())?;
        covers_or_lacks("radii", vertices, self.radii.len())?;
        Ok(BoneCount::naming(self.bones().chain(self.anchors.iter().flatten().map(|bone| bone.get()))))
    }

    /// The bones that features read.
    pub(crate) fn bones(&self) -> impl Iterator<Item = usize> + '_ {
        let pairs = self.pairs.iter().flat_map(|pair| pair.anchor.into_iter().chain([pair.bone]));
        self.weld.bones().chain(pairs.map(BoneIndex::get))
    }
}

impl Joints {
    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        covers("skinning weights of the joint model", vertices, self.weights.vertices())?;
        covers("free terms", vertices, self.terms.len())?;
        let counts: Vec<usize> = self.numbers().collect();
        names("free terms", self.terms.entries().iter().map(|&joint| joint as usize), counts.len())?;
        covers("free coefficients", vertices, self.coefficients.len())?;
        for (terms, coefficients) in self.terms.iter().zip(self.coefficients.iter()) {
            let numbers: usize = terms.iter().map(|&joint| 3 * counts[joint as usize]).sum();
            beside("free coefficients", coefficients.len(), numbers)?;
        }
        covers("shared terms", vertices, self.shared.len())?;
        covers_or_lacks("limits of the shared part", vertices, self.shared_limits.len())?;
        covers_or_lacks("radii", vertices, self.radii.len())?;
        let shared = self.shared.entries().iter().map(|term| term.bone.get());
        let read =
            together(BoneCount::AtLeast(self.weights.bones_named()), BoneCount::naming(self.bones().chain(shared)))?;
        match &self.layer {
            Some(layer) => together(read, layer.check_layer(vertices, layer.displacements.len())?),
            None => Ok(read),
        }
    }

    /// The bones that features read.
    pub(crate) fn bones(&self) -> impl Iterator<Item = usize> + '_ {
        let sagging = self.gravity.iter().flat_map(|gravity| &gravity.bones).map(|sagging| sagging.bone.get());
        let joints = self.joints.iter().flat_map(|joint| [joint.from.get(), joint.to.get()]);
        self.weld.bones().chain(joints).chain(sagging)
    }
}

impl PoseSpace {
    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        let groups = self.groups.iter().filter(|group| **group != NO_GROUP);
        covers("groups of the pose space", vertices, self.groups.len())?;
        names("groups of the pose space", groups.map(|&group| group as usize), self.kernel.groups())?;
        covers("displacements", vertices, self.weights.len())?;
        let r = &self.remainders;
        covers("remainders", r.vertices.len(), r.weights.len())?;
        names("remainders", r.vertices.iter().map(|&v| v as usize), vertices)?;
        beside("remainders", r.bones.len(), r.vertices.len())?;
        self.carrier.check(vertices)?;
        covers_or_lacks("radii", vertices, self.radii.len())?;
        let remainders = r.bones.iter().map(|bone| bone.get());
        Ok(BoneCount::naming(self.kernel.bones().chain(self.carrier.bones()).chain(remainders)))
    }
}

impl CompiledShapes {
    /// Checks everything but displacements and radii, which are `displacements` and `radii` in number; the bones read.
    pub(crate) fn check_with(
        &self,
        vertices: usize,
        displacements: usize,
        radii: usize,
    ) -> Result<BoneCount, DeformerError> {
        check_offsets(&self.regions, self.kernel.groups(), self.count())
            .map_err(|_| DeformerError::List { part: "shapes" })?;
        let counts = (0..self.kernel.groups()).map(|g| self.kernel.range(g).len());
        let shapes = self.regions.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        beside("weights of shapes", self.coefficients.len(), counts.zip(shapes).map(|(k, l)| k * l).sum())?;
        covers("terms of shapes", vertices, self.terms.len())?;
        let terms = self.terms.entries();
        names("terms of shapes", terms.iter().map(|&shape| shape as usize), self.count())?;
        beside("displacements", displacements, terms.len())?;
        self.carrier.check(vertices)?;
        covers_or_lacks("radii", vertices, radii)?;
        if !self.names.is_empty() {
            beside("names of shapes", self.names.len(), self.count())?;
        }
        if !self.windows.is_empty() {
            beside("windows of shapes", self.windows.len(), self.count())?;
            for g in 0..self.kernel.groups() {
                let own = &self.windows[self.regions[g] as usize..self.regions[g + 1] as usize];
                names("centres of windows", own.iter().map(|w| w.centre as usize), self.kernel.centres(g).len())?;
                for window in own {
                    beside("joints of windows", window.relevance.len(), self.kernel.relevance_of(g).len())?;
                }
            }
        }
        // Zero must lie between, so that the bind pose stays.
        if self.clamp.is_some_and(|[low, high]| !(low <= 0.0 && high >= 0.0)) {
            return Err(DeformerError::Clamp);
        }
        Ok(BoneCount::naming(self.kernel.bones().chain(self.carrier.bones())))
    }

    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        self.check_with(vertices, self.displacements.len(), self.radii.len())
    }

    /// [`Self::check_with`] for the layer of a joint model, where every shape has a window; the bones read.
    pub(crate) fn check_layer(&self, vertices: usize, displacements: usize) -> Result<BoneCount, DeformerError> {
        beside("windows of shapes", self.windows.len(), self.count())?;
        self.check_with(vertices, displacements, 0)
    }
}

impl Weld {
    /// The bones of the links.
    fn bones(&self) -> impl Iterator<Item = usize> + '_ {
        self.links.iter().flat_map(|link| [link.from.get(), link.to.get()])
    }
}

impl Kernel {
    /// The bones that a pose is compared by.
    pub(crate) fn bones(&self) -> impl Iterator<Item = usize> + '_ {
        self.weld.bones().chain(self.joints.iter().flat_map(|joint| [joint.parent.get(), joint.bone.get()]))
    }
}

impl Carrier {
    pub(crate) fn check(&self, vertices: usize) -> Result<(), DeformerError> {
        if let Self::Bones(bones) = self { covers("carrying bones", vertices, bones.len()) } else { Ok(()) }
    }

    /// The bones that carry displacements.
    pub(crate) fn bones(&self) -> impl Iterator<Item = usize> + '_ {
        let bones: &[BoneIndex] = if let Self::Bones(bones) = self { bones } else { &[] };
        bones.iter().map(|bone| bone.get())
    }
}
