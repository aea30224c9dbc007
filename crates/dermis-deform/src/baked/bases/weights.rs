//! Skinning weights as they run.

use super::block::BLOCK;
use crate::baked::lanes::{EIGHT, Four};
use crate::lbs::SUMS_TO_ONE;
use dermis_rig::{Influences, Rows};
use std::ops::Range;

/// Sparse weights in `f32`: compressed rows, and beside them the same by fours, which is what evaluation reads. Where weights sum to one, so do these, to the last bit,
/// added one after another as they stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// The bones of every vertex.
    pub bones: Rows<u32>,
    /// The weight of each of them.
    pub weights: Vec<f32>,
    /// The first four influences of each vertex; none where a bone's index has more than 16 bits.
    pub(in crate::baked) fours: Vec<Four>,
    /// The eights of each block.
    blocks: Vec<Alike>,
    /// Influences beyond four, by fours, with their vertex; ascending.
    pub(in crate::baked) more: Vec<(u32, Four)>,
    /// Vertices whose weights do not sum to one, and Σ w − 1.
    pub(in crate::baked) unnormalised: Vec<(u32, f32)>,
}

/// How many influences the vertices of an eight have at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::baked) enum Most {
    /// One of weight one, all of them.
    Whole,
    One,
    Two,
    Three,
    Four,
    More,
}

impl Most {
    const ALL: [Self; 6] = [Self::Whole, Self::One, Self::Two, Self::Three, Self::Four, Self::More];
}

/// The eights of a block, each group of them ascending, in the order of [`Most::ALL`].
///
/// Neighbours on a mesh have nearly as many influences, so that eights in their order come close to what sorted vertices would
/// save, and nothing has to be put back into order.
#[derive(Clone, Debug, Default, PartialEq)]
struct Alike {
    groups: [Vec<u8>; 6],
}

/// The whole eights of each block.
fn influences_of_blocks(influences: &Influences) -> Vec<Alike> {
    let mut blocks = vec![Alike::default(); influences.vertices().div_ceil(BLOCK)];
    for eight in 0..influences.vertices() / EIGHT {
        let rows = || (eight * EIGHT..(eight + 1) * EIGHT).map(|v| influences.of(v));
        let whole = rows().all(|row| matches!(row, [(_, w)] if *w as f32 == 1.0));
        let most = rows().map(<[_]>::len).max().unwrap_or(0).clamp(1, 5);
        let group = if whole { 0 } else { most };
        const { assert!(BLOCK / EIGHT <= 256) }
        blocks[eight * EIGHT / BLOCK].groups[group].push((eight % (BLOCK / EIGHT)) as u8);
    }
    blocks
}

impl Weights {
    /// Weights of no vertices.
    pub(in crate::baked) fn none() -> Self {
        Self::of(&Influences::default())
    }

    pub(in crate::baked) fn of(influences: &Influences) -> Self {
        let mut made = Self { bones: influences.as_rows().map(|e| e.0.get() as u32), ..Self::default() };
        let packed = influences.rows().flatten().all(|(bone, _)| bone.get() <= usize::from(u16::MAX));
        let (mut own, mut sorted) = (Vec::new(), Vec::new());
        for (v, row) in influences.rows().enumerate() {
            own.clear();
            own.extend(row.iter().map(|&(bone, w)| (bone, w as f32)));
            let sum: f64 = row.iter().map(|e| e.1).sum();
            // A sum that is no number must not pass for one.
            let sums_to_one = (sum - 1.0).abs() <= SUMS_TO_ONE;
            if sums_to_one {
                complete(&mut own);
            } else {
                made.unnormalised.push((v as u32, (sum - 1.0) as f32));
            }
            made.weights.extend(own.iter().map(|e| e.1));
            sorted.clear();
            sorted.extend(own.iter().filter(|_| packed).map(|&(bone, w)| (bone.get() as u16, w)));
            let dominant = influences.dominant(v).map(|bone| bone.get() as u16);
            if let Some(at) = sorted.iter().position(|e| Some(e.0) == dominant) {
                sorted[..=at].rotate_right(1);
            }
            if sums_to_one {
                complete(&mut sorted);
            }
            let mut fours = sorted.chunks(4).map(Four::of);
            if packed {
                made.fours.push(fours.next().unwrap_or_default());
            }
            made.more.extend(fours.map(|four| (v as u32, four)));
        }
        if packed {
            made.blocks = influences_of_blocks(influences);
        }
        made
    }

    pub(in crate::baked) fn bytes(&self) -> usize {
        match self.fours.is_empty() {
            true => 4 * (self.bones.offsets().len() + self.bones.entries().len() + self.weights.len()),
            false => {
                let eights = self.fours.len() / EIGHT;
                size_of::<Four>() * self.fours.len() + size_of::<(u32, Four)>() * self.more.len() + eights
            }
        }
    }

    /// Whether they are there by fours, too: not where a bone's index has more than 16 bits.
    pub(in crate::baked) fn in_fours(&self) -> bool {
        self.fours.len() == self.bones.len()
    }

    pub(in crate::baked) fn of_vertex(&self, v: usize) -> impl Iterator<Item = (usize, f32)> {
        let weights = &self.weights[self.bones.range(v)];
        self.bones.of(v).iter().map(|&b| b as usize).zip(weights.iter().copied())
    }

    /// The whole eights of the block that begins at vertex `from`, by how many influences their vertices have at most.
    pub(in crate::baked) fn alike(&self, from: usize) -> impl Iterator<Item = (Most, &[u8])> {
        let block = &self.blocks[from / BLOCK];
        let groups = Most::ALL.iter().zip(&block.groups);
        groups.filter(|(_, eights)| !eights.is_empty()).map(|(&most, eights)| (most, &eights[..]))
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

/// Lets weights that sum to one but for their rounding sum to exactly one, added one after another in `f32`: the last takes what the others leave, so
/// that the blend of identities is the identity. A weight that they leave nothing for was less than the rounding of the others; it becomes zero, and the one
/// before it is the last.
fn complete<T>(entries: &mut [(T, f32)]) {
    for last in (0..entries.len()).rev() {
        let left = 1.0 - entries[..last].iter().fold(0.0, |sum: f32, (_, w)| sum + w);
        if left > 0.0 || entries[last].1 <= 0.0 {
            entries[last].1 = left;
            return;
        }
        entries[last].1 = 0.0;
    }
}

/// Where the entries of some vertices lie in a list that ascends by vertex.
fn rows_of<T>(list: &[(u32, T)], vertices: Range<usize>) -> Range<usize> {
    let from = list.partition_point(|e| (e.0 as usize) < vertices.start);
    from..from + list[from..].partition_point(|e| (e.0 as usize) < vertices.end)
}
