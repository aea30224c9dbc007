//! The transforms of a decomposition in progress, in the columns that weights need and in those that rotations need.

use super::rotations::project;
use crate::decompose::BoneKind;
use crate::decompose::gram::Bones;
use crate::decompose::problem::Frames;
use crate::decompose::weights::Support;
use dermis_rig::glam::{DMat3, DVec3};

/// The transforms of all bones in all frames.
#[derive(Clone, Debug)]
pub struct Motion {
    /// T − T₀ over the compressed columns, which weights are solved against.
    pub bones: Bones,
    /// T − T₀ over all columns. `None` if they equal the compressed ones or the kind is affine.
    pub full: Option<Bones>,
    /// The first `fixed` bones are given and stay as they are.
    pub fixed: usize,
}

impl Motion {
    /// Returns bones that all stay at T₀.
    pub fn still(count: usize, frames: &Frames, kind: BoneKind) -> Self {
        let full = Bones::zeros(count, frames.columns.count());
        Self::from_full(full, frames, kind)
    }
    /// Splits T − T₀ over all columns into what the kind needs.
    pub fn from_full(full: Bones, frames: &Frames, kind: BoneKind) -> Self {
        match &frames.basis {
            None => Self { bones: full, full: None, fixed: 0 },
            Some(z) => Self { bones: full.onto(z), full: (kind != BoneKind::Affine).then_some(full), fixed: 0 },
        }
    }
    /// Returns T − T₀ over columns that hold all of it, for |y|².
    ///
    /// A rotation need not lie in the span of the trajectories, so the compressed columns can miss a part.
    pub fn wide(&self) -> &Bones {
        self.full.as_ref().unwrap_or(&self.bones)
    }
    /// Returns T − T₀ over all columns.
    pub fn full(&self, frames: &Frames) -> Bones {
        match (&self.full, &frames.basis) {
            (Some(full), _) => full.clone(),
            (None, None) => self.bones.clone(),
            (None, Some(z)) => Bones { count: self.bones.count, stride: self.bones.stride, t: self.bones.t.times(z) },
        }
    }
    /// Returns the bones `from`, in that order.
    pub fn selected(&self, from: &[usize]) -> Self {
        let fixed = from.iter().filter(|&&k| k < self.fixed).count();
        Self { bones: self.bones.selected(from), full: self.full.as_ref().map(|full| full.selected(from)), fixed }
    }
    /// Returns these bones, then those of `other`.
    pub fn with(&self, other: &Self) -> Self {
        let full = self.full.as_ref().zip(other.full.as_ref()).map(|(a, b)| Bones::joined(&[a, b]));
        Self { bones: Bones::joined(&[&self.bones, &other.bones]), full, fixed: self.fixed }
    }
}

/// Transforms T − T₀ over columns that hold all of it: the compressed ones for affine bones, otherwise all.
#[derive(Clone, Debug)]
pub struct Wide {
    pub t: Bones,
    /// The first `fixed` bones stay as they are.
    pub fixed: usize,
}

impl Wide {
    /// Returns the columns that weights are solved against as well.
    pub fn motion(self, frames: &Frames, kind: BoneKind) -> Motion {
        let motion = match kind {
            BoneKind::Affine => Motion { bones: self.t, full: None, fixed: 0 },
            _ => Motion::from_full(self.t, frames, kind),
        };
        Motion { fixed: self.fixed, ..motion }
    }
    /// Returns self + b (self − before). Rigid bones are projected to rotations again.
    pub fn beyond(&self, before: &Self, b: f64, frames: &Frames, kind: BoneKind) -> Self {
        let mut ahead = self.clone();
        ahead.t.t.values.iter_mut().zip(&before.t.t.values).for_each(|(x, y)| *x += b * (*x - y));
        if kind == BoneKind::Rigid {
            project(&mut ahead.t, self.fixed, frames);
        }
        ahead
    }
}

/// Returns transforms over the compressed columns.
pub fn compressed(full: Bones, frames: &Frames) -> Bones {
    match &frames.basis {
        None => full,
        Some(z) => full.onto(z),
    }
}

/// Returns transforms over all columns.
pub fn expanded(bones: &Bones, frames: &Frames) -> Bones {
    match &frames.basis {
        None => bones.clone(),
        Some(z) => Bones { count: bones.count, stride: bones.stride, t: bones.t.times(z) },
    }
}

/// Returns the linear part and translation of every bone in one frame.
pub fn frame_transforms(full: &Bones, frames: &Frames, frame: usize) -> Vec<(DMat3, DVec3)> {
    let at = |i: usize, k: usize, axis: usize| {
        let col = frames.columns.at(frame, axis);
        full.row(i, k)[col] + frames.mean.row(i)[col]
    };
    (0..full.count)
        .map(|k| {
            let column = |i: usize| DVec3::new(at(i, k, 0), at(i, k, 1), at(i, k, 2));
            (DMat3::from_cols(column(0), column(1), column(2)), column(3))
        })
        .collect()
}

/// Returns the caller's transforms, `poses[frame][bone]`, over all columns.
pub fn given(poses: &[Vec<(DMat3, DVec3)>], frames: &Frames) -> Bones {
    let mut full = Bones::zeros(poses.first().map_or(0, Vec::len), frames.columns.count());
    for (frame, pose) in poses.iter().enumerate() {
        for (k, (a, t)) in pose.iter().enumerate() {
            for axis in 0..3 {
                let col = frames.columns.at(frame, axis);
                for i in 0..4 {
                    let value = if i < 3 { a.col(i)[axis] } else { t[axis] };
                    full.row_mut(i, k)[col] = value - frames.mean.row(i)[col];
                }
            }
        }
    }
    full
}

/// Fills `y` with Σ_k w_k p̃ T_k of one vertex.
pub fn blended(p: &[f64; 4], support: &Support, bones: &Bones, y: &mut [f64]) {
    y.fill(0.0);
    for (k, w) in support.members() {
        let c = p.map(|p| w * p);
        let rows: [&[f64]; 4] = std::array::from_fn(|i| bones.row(i, k));
        for at in 0..y.len() {
            y[at] += c[0] * rows[0][at] + c[1] * rows[1][at] + c[2] * rows[2][at] + c[3] * rows[3][at];
        }
    }
}
