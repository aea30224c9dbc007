//! Skinning weights as they run.

use super::block::BLOCK;
use crate::baked::lanes::Four;
use dermis_rig::Influences;
use std::ops::Range;

/// Sparse weights in `f32`: compressed rows, and beside them the same by fours, which is what evaluation reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// Where the entries of vertex v start; one more entry than vertices.
    pub offsets: Vec<u32>,
    /// Bones.
    pub bones: Vec<u32>,
    /// Weights.
    pub weights: Vec<f32>,
    /// The first four influences of each vertex; none where a bone's index has more than 16 bits.
    pub(in crate::baked) fours: Vec<Four>,
    /// How many of the first four influences the vertices of each block have at most.
    most: Vec<usize>,
    /// Influences beyond four, by fours, with their vertex; ascending.
    pub(in crate::baked) more: Vec<(u32, Four)>,
    /// Vertices whose weights do not sum to one, and Σ w − 1.
    pub(in crate::baked) unnormalised: Vec<(u32, f32)>,
}

/// Rounding of weights stored as `f32`: a sum nearer to one than this is one.
const SUMS_TO_ONE: f64 = 1e-5;

impl Weights {
    /// Weights of no vertices.
    pub(in crate::baked) fn none() -> Self {
        Self::of(&Influences::default())
    }

    pub(in crate::baked) fn of(influences: &Influences) -> Self {
        let mut made = Self { offsets: vec![0], ..Self::default() };
        let packed = influences.rows().flatten().all(|(bone, _)| bone.get() <= usize::from(u16::MAX));
        let mut sorted = Vec::new();
        for (v, row) in influences.rows().enumerate() {
            made.bones.extend(row.iter().map(|e| e.0.get() as u32));
            made.weights.extend(row.iter().map(|e| e.1 as f32));
            made.offsets.push(made.bones.len() as u32);
            let sum: f64 = row.iter().map(|e| e.1).sum();
            // A sum that is no number must not pass for one.
            if (sum - 1.0).abs() > SUMS_TO_ONE || sum.is_nan() {
                made.unnormalised.push((v as u32, (sum - 1.0) as f32));
            }
            sorted.clear();
            sorted.extend(row.iter().filter(|_| packed).map(|&(bone, w)| (bone.get() as u16, w as f32)));
            let dominant = influences.dominant(v).map(|bone| bone.get() as u16);
            if let Some(at) = sorted.iter().position(|e| Some(e.0) == dominant) {
                sorted[..=at].rotate_right(1);
            }
            let mut fours = sorted.chunks(4).map(Four::of);
            if packed {
                made.fours.push(fours.next().unwrap_or_default());
            }
            made.more.extend(fours.map(|four| (v as u32, four)));
            if v % BLOCK == 0 {
                made.most.push(1);
            }
            let most = &mut made.most[v / BLOCK];
            *most = (*most).max(row.len().min(4));
        }
        made
    }

    pub(in crate::baked) fn bytes(&self) -> usize {
        match self.fours.is_empty() {
            true => 4 * (self.offsets.len() + self.bones.len() + self.weights.len()),
            false => size_of::<Four>() * self.fours.len() + size_of::<(u32, Four)>() * self.more.len(),
        }
    }

    /// Whether they are there by fours, too: not where a bone's index has more than 16 bits.
    pub(in crate::baked) fn in_fours(&self) -> bool {
        self.fours.len() + 1 == self.offsets.len()
    }

    pub(in crate::baked) fn of_vertex(&self, v: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = self.offsets[v] as usize..self.offsets[v + 1] as usize;
        self.bones[range.clone()].iter().map(|&b| b as usize).zip(self.weights[range].iter().copied())
    }

    /// How many of the first four influences the vertices of the block that begins at `from` have at most, one at least.
    pub(in crate::baked) fn most(&self, from: usize) -> usize {
        self.most.get(from / BLOCK).copied().unwrap_or(4)
    }

    /// The entries of [`more`](Self::more) of some vertices.
    pub(in crate::baked) fn more_of(&self, vertices: Range<usize>) -> &[(u32, Four)] {
        &self.more[rows_of(&self.more, vertices)]
    }

    /// The entries of [`unnormalised`](Self::unnormalised) of some vertices.
    pub(in crate::baked) fn unnormalised_of(&self, vertices: Range<usize>) -> &[(u32, f32)] {
        &self.unnormalised[rows_of(&self.unnormalised, vertices)]
    }
}

/// Where the entries of some vertices lie in a list that ascends by vertex.
fn rows_of<T>(list: &[(u32, T)], vertices: Range<usize>) -> Range<usize> {
    let from = list.partition_point(|e| (e.0 as usize) < vertices.start);
    from..from + list[from..].partition_point(|e| (e.0 as usize) < vertices.end)
}
