//! Kernels of pose space: how much a pose is like each example, seen from a group of vertices.

use super::coordinates::{Coordinates, JointPart, ROOM, difference, square};
use crate::features::relative;
use crate::guard::Weld;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Rows, RowsError};
use rayon::prelude::*;

/// Marks a value that is a coordinate of the pose instead of a kernel.
const LINEAR: u32 = 1 << 31;
/// Kernel values a thread takes at least.
const CHUNK: usize = 1024;

/// A joint whose rotation is a coordinate of the pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joint {
    /// The bone it is seen from.
    pub parent: BoneIndex,
    /// The bone.
    pub bone: BoneIndex,
    /// Largest norm its coordinate may have; infinite without limits.
    pub limit: f64,
    /// The bone's direction at rest, unit length: the axis of its twist.
    pub axis: DVec3,
    /// What of its rotation is read.
    pub part: JointPart,
}

/// A number of the pose beside its rotations, scaled to count like an angle.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// What it is called in [`BoneTransforms::channels`].
    pub name: String,
    /// Factor before it is compared.
    pub scale: f64,
    /// Largest absolute value, scaled, that it may have; infinite without limits.
    pub limit: f64,
}

/// φ and the kernel conditioned on a zero correction at the bind pose. r_j = √a_j |x_j − y_j| / σ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// exp(−Σ r_j²): infinitely smooth.
    #[default]
    Gaussian,
    /// Π_j (1 − r_j)⁷₊ (7 r_j + 1): compact support, twice differentiable (Wendland 1995, in nine dimensions; a product of
    /// positive definite kernels is positive definite for any number of joints). σ is the radius of the support.
    Wendland,
    /// −|r|: the polyharmonic spline of order one, without a width; corrections grow linearly beyond the examples.
    Polyharmonic,
}

impl Family {
    /// φ from squared r_j.
    pub fn phi(self, squares: impl Iterator<Item = f64>) -> f64 {
        match self {
            Self::Gaussian => (-squares.sum::<f64>()).exp(),
            Self::Wendland => {
                let bump = |r: f64| if r < 1.0 { (1.0 - r).powi(7) * (7.0 * r + 1.0) } else { 0.0 };
                squares.map(|square| bump(square.sqrt())).product()
            }
            Self::Polyharmonic => -squares.sum::<f64>().sqrt(),
        }
    }

    /// k(x, y) from φ(x, y), φ(x, 0) and φ(0, y): the kernel of fields that are zero at the bind pose.
    ///
    /// φ(x, y) − φ(x, 0) φ(0, y) where φ(0, 0) = 1, and (φ(x, y) − φ(x, 0) − φ(0, y))/2 for the spline, which is positive
    /// definite although −|r| is not. Zero at x = 0, to the last bit.
    pub fn conditioned(self, between: f64, x: f64, y: f64) -> f64 {
        match self {
            Self::Gaussian | Self::Wendland => between - x * y,
            Self::Polyharmonic => 0.5 * (between - (x + y)),
        }
    }
}

/// Everything of the model that a pose is compared with: joints, examples, and the groups of vertices that compare alike.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What rotations become.
    pub coordinates: Coordinates,
    /// The kernel.
    pub family: Family,
    /// σ, in chords: 2 sin(angle/2) of a joint with a = 1.
    pub sigma: f64,
    /// Whether the coordinates √a_j x_j themselves are values too, after the kernels of a group: the linear term.
    pub linear: bool,
    /// Joints that never moved in training.
    pub weld: Weld,
    /// The joints that count.
    pub joints: Vec<Joint>,
    /// The channels that count; their coordinates follow those of the joints.
    pub channels: Vec<Channel>,
    /// Coordinates of the examples, limited: joints in order, then channels, example after example.
    pub examples: Vec<[f64; ROOM]>,
    /// Joints (or channels, counted after them) of each group with their a.
    relevance: Rows<(u32, f64)>,
    /// What each value of each group is: an example, or [`LINEAR`] and the number of a coordinate.
    sources: Rows<u32>,
    /// Group and φ_g(0, x_s) of each kernel value; group and √a of a coordinate.
    at_rest: Vec<(u32, f64)>,
}

/// What one pose gives to all vertices; its memory is reused from pose to pose.
#[derive(Clone, Debug, Default)]
pub struct KernelValues {
    /// Joints whose limit acted.
    pub limited: usize,
    welded: Vec<DAffine3>,
    coordinates: Vec<[f64; ROOM]>,
    /// |x_j|² per joint, then |x_j − x_sj|² joints in order, example after example.
    squares: Vec<f64>,
    /// φ_g(x, 0) per group.
    rest: Vec<f64>,
}

impl Kernel {
    /// A Gaussian kernel of these joints and examples, of chords, no groups yet.
    pub fn new(sigma: f64, weld: Weld, joints: Vec<Joint>, examples: Vec<[f64; ROOM]>) -> Self {
        Self {
            coordinates: Coordinates::Chord,
            family: Family::Gaussian,
            sigma,
            linear: false,
            weld,
            joints,
            channels: vec![],
            examples,
            relevance: Rows::default(),
            sources: Rows::default(),
            at_rest: vec![],
        }
    }

    /// Number of coordinates of a pose: joints and channels.
    pub fn width(&self) -> usize {
        self.joints.len() + self.channels.len()
    }

    /// Numbers that coordinate `j` has.
    pub fn dimensions(&self, j: usize) -> usize {
        if j < self.joints.len() { self.coordinates.dimensions() } else { 1 }
    }

    /// Adds a group of vertices: joints with their a, and the examples that are its centres.
    ///
    /// # Errors
    /// [`RowsError::TooMany`] for more than 4 billion joints or values in all groups; the kernel is then of no use.
    ///
    /// # Panics
    /// If a joint or an example does not exist.
    pub fn push(&mut self, relevance: &[(u32, f64)], centres: &[u32]) -> Result<(), RowsError> {
        let group = self.groups() as u32;
        self.relevance.push(relevance.iter().copied())?;
        let mut sources = centres.to_vec();
        for &s in centres {
            let x = &self.examples[s as usize * self.width()..][..self.width()];
            let at_rest = self.phi(relevance, |j| square(&x[j]));
            self.at_rest.push((group, at_rest));
        }
        if self.linear {
            for &(j, a) in relevance {
                for i in 0..self.dimensions(j as usize) as u32 {
                    sources.push(LINEAR | (j * ROOM as u32 + i));
                    self.at_rest.push((group, a.sqrt()));
                }
            }
        }
        self.sources.push(sources)
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.sources.len()
    }

    /// Number of values a pose has.
    pub fn values(&self) -> usize {
        self.sources.entries().len()
    }

    /// The values of group `g`.
    pub fn range(&self, g: usize) -> std::ops::Range<usize> {
        self.sources.range(g)
    }

    /// Joints (or channels, counted after them) of each group with their a.
    pub fn relevance(&self) -> &Rows<(u32, f64)> {
        &self.relevance
    }

    /// The joints of group `g` with their a.
    pub fn relevance_of(&self, g: usize) -> &[(u32, f64)] {
        self.relevance.of(g)
    }

    /// The examples that are centres of group `g`.
    pub fn centres(&self, g: usize) -> &[u32] {
        let sources = self.sources.of(g);
        &sources[..sources.iter().take_while(|s| *s & LINEAR == 0).count()]
    }

    /// φ of a group, from the squared distance of each joint.
    fn phi(&self, relevance: &[(u32, f64)], square: impl Fn(usize) -> f64) -> f64 {
        let scale = 1.0 / (self.sigma * self.sigma);
        self.family.phi(relevance.iter().map(|&(j, a)| a * square(j as usize) * scale))
    }

    /// The values of a pose for every group, into `out`; computed in `f64`, rounded once by `round`.
    pub fn evaluate<T: Send>(
        &self,
        transforms: &BoneTransforms,
        scratch: &mut KernelValues,
        out: &mut [T],
        round: impl Fn(f64) -> T + Sync,
    ) {
        self.weld.apply(transforms, &mut scratch.welded);
        let mut x = std::mem::take(&mut scratch.coordinates);
        scratch.limited = self.coordinates_of(&scratch.welded, transforms, &mut x);
        self.values_at(&x, scratch, out, round);
        scratch.coordinates = x;
    }

    /// The values at coordinates x of all joints and channels, as [`Self::evaluate`] has them.
    pub fn values_at<T: Send>(
        &self,
        x: &[[f64; ROOM]],
        scratch: &mut KernelValues,
        out: &mut [T],
        round: impl Fn(f64) -> T + Sync,
    ) {
        let width = self.width();
        scratch.squares.clear();
        scratch.squares.extend(x.iter().map(square));
        if width > 0 {
            let to_examples = self.examples.chunks_exact(width);
            scratch.squares.extend(to_examples.flat_map(|y| x.iter().zip(y).map(|(x, y)| square(&difference(x, y)))));
        }
        let squares = &scratch.squares;
        let phi = |g: usize, from: usize| self.phi(self.relevance_of(g), |j| squares[from + j]);
        scratch.rest.clear();
        scratch.rest.extend((0..self.groups()).map(|g| phi(g, 0)));
        let rest = &scratch.rest;
        let values = out.par_iter_mut().zip(self.sources.entries().par_iter().zip(&self.at_rest)).with_min_len(CHUNK);
        values.for_each(|(value, (&source, &(g, at_rest)))| {
            let g = g as usize;
            *value = round(if source & LINEAR != 0 {
                let number = (source & !LINEAR) as usize;
                at_rest * x[number / ROOM][number % ROOM]
            } else {
                self.family.conditioned(phi(g, (source as usize + 1) * width), rest[g], at_rest)
            });
        });
    }

    /// x of every joint of a welded pose and of every channel of the pose itself, limited; how many limits acted.
    pub fn coordinates_of(&self, welded: &[DAffine3], pose: &BoneTransforms, out: &mut Vec<[f64; ROOM]>) -> usize {
        let mut limited = 0;
        out.clear();
        let mut within = |mut x: [f64; ROOM], limit: f64| {
            let norm = square(&x).sqrt();
            if norm > limit {
                limited += 1;
                x = x.map(|x| x * (limit / norm));
            }
            x
        };
        out.extend(self.joints.iter().map(|joint| within(unlimited(self.coordinates, welded, joint), joint.limit)));
        out.extend(self.channels.iter().map(|channel| {
            let mut x = [0.0; ROOM];
            x[0] = channel.scale * pose.channel(&channel.name);
            within(x, channel.limit)
        }));
        limited
    }

    /// |x_j − x_sj|² of joint (or channel) `j` and example `s`, in the pose that was evaluated last with `scratch`.
    pub fn square_to(&self, scratch: &KernelValues, s: u32, j: u32) -> f64 {
        scratch.squares[(s as usize + 1) * self.width() + j as usize]
    }

    /// Bytes of the arrays that evaluation reads.
    pub fn bytes(&self) -> usize {
        8 * ROOM * self.examples.len()
            + 16 * (self.width() + self.relevance.entries().len() + self.at_rest.len())
            + 4 * (2 * (self.groups() + 1) + self.values())
    }
}

/// The coordinate of a joint in a welded pose, without its limit; zero if the bone it is seen from is singular.
pub fn unlimited(coordinates: Coordinates, welded: &[DAffine3], joint: &Joint) -> [f64; ROOM] {
    let turn = relative(&welded[joint.parent.get()], &welded[joint.bone.get()]);
    coordinates.of_part(joint.part).of(&turn.map_or(DMat3::IDENTITY, |m| m.matrix3), joint.axis)
}

#[cfg(test)]
mod tests {
    use super::super::coordinates::coordinate;
    use super::*;

    fn joint() -> Joint {
        let (parent, bone) = (BoneIndex::new(0), BoneIndex::new(1));
        Joint { parent, bone, limit: f64::INFINITY, axis: DVec3::X, part: JointPart::Whole }
    }

    fn posed(angle: f64) -> BoneTransforms {
        BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_z(angle)])
    }

    #[test]
    fn every_kernel_vanishes_at_the_bind_pose_to_the_last_bit() {
        let examples: Vec<_> =
            [0.3, 1.7, -2.0].map(|a| coordinate(&DAffine3::IDENTITY, &DAffine3::from_rotation_z(a))).to_vec();
        for family in [Family::Gaussian, Family::Wendland, Family::Polyharmonic] {
            let kernel = Kernel::new(0.7, Weld::default(), vec![joint()], examples.clone());
            let mut kernel = Kernel { family, linear: true, ..kernel };
            kernel.push(&[(0, 0.3)], &[0, 2]).unwrap();
            kernel.push(&[(0, 1.0)], &[1]).unwrap();
            assert_eq!(kernel.values(), 3 + 2 * 9);
            assert_eq!((kernel.centres(0), kernel.centres(1)), (&[0, 2][..], &[1][..]));
            let mut values = vec![f64::NAN; kernel.values()];
            let mut scratch = KernelValues::default();
            kernel.evaluate(&BoneTransforms::identity(2), &mut scratch, &mut values, |k| k);
            assert_eq!(values, [0.0; 21], "{family:?}");
        }
    }

    /// Closed forms for one joint: 2 sin(angle/2) for the distance, x against 0.3, 0 against x, 0 against 0.3.
    #[test]
    fn values_are_those_of_the_equations() {
        let examples = vec![coordinate(&DAffine3::IDENTITY, &DAffine3::from_rotation_z(0.3))];
        let r = |angle: f64| 0.3f64.sqrt() * (2.0 * (angle / 2.0).sin()).abs() / 1.9;
        let wanted: [fn(f64) -> f64; 3] = [|r| (-r * r).exp(), |r| (1.0 - r).powi(7) * (7.0 * r + 1.0), |r| -r];
        for (family, phi) in [Family::Gaussian, Family::Wendland, Family::Polyharmonic].into_iter().zip(wanted) {
            let mut kernel = Kernel::new(1.9, Weld::default(), vec![joint()], examples.clone());
            kernel.family = family;
            kernel.push(&[(0, 0.3)], &[0]).unwrap();
            let mut value = [f64::NAN];
            kernel.evaluate(&posed(0.5), &mut KernelValues::default(), &mut value, |k| k);
            let (between, x, y) = (phi(r(0.2)), phi(r(0.5)), phi(r(0.3)));
            let conditioned = if family == Family::Polyharmonic { (between - x - y) / 2.0 } else { between - x * y };
            assert!((value[0] - conditioned).abs() < 1e-15, "{family:?}");
        }
    }

    #[test]
    fn channels_and_linear_values_are_the_pose_itself() {
        let mut kernel = Kernel::new(1.0, Weld::default(), vec![joint()], vec![]);
        kernel.channels = vec![Channel { name: "flex".into(), scale: 2.0, limit: 1.0 }];
        (kernel.linear, kernel.coordinates) = (true, Coordinates::RotationVector);
        kernel.push(&[(0, 0.25), (1, 1.0)], &[]).unwrap();
        let mut values = vec![0.0; 4];
        let mut scratch = KernelValues::default();
        kernel.evaluate(
            &posed(0.5).with_channels(vec![("other".into(), 9.0), ("flex".into(), 0.3)]),
            &mut scratch,
            &mut values,
            |k| k,
        );
        assert!((values[2] - 0.5 * 0.5).abs() < 1e-15 && (values[3] - 0.6).abs() < 1e-15);
        assert_eq!(scratch.limited, 0);
        kernel.evaluate(&posed(0.5).with_channels(vec![("flex".into(), 7.0)]), &mut scratch, &mut values, |k| k);
        assert_eq!((values[3], scratch.limited), (1.0, 1));
        // A pose without channels is at rest in them.
        kernel.evaluate(&posed(0.5), &mut scratch, &mut values, |k| k);
        assert_eq!(values[3], 0.0);
    }
}
