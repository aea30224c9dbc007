//! What every bone holds of the skin.

use dermis_rig::Influences;

/// What one bone holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoneShare {
    /// Vertices on which it has weight.
    pub vertices: usize,
    /// Vertices on which no bone has more.
    pub dominates: usize,
    /// Sum of its weights: the number of whole vertices that it moves.
    pub weight: f64,
    /// Its largest weight.
    pub largest: f64,
}

impl BoneShare {
    /// Returns what each of so many bones holds, in skeleton order.
    pub fn of(weights: &Influences, bones: usize) -> Vec<Self> {
        let mut shares = vec![Self::default(); bones.max(weights.bones_named())];
        for (v, row) in weights.rows().enumerate() {
            for &(bone, weight) in row.iter().filter(|(_, weight)| *weight > 0.0) {
                let share = &mut shares[bone.get()];
                share.vertices += 1;
                share.weight += weight;
                share.largest = share.largest.max(weight);
            }
            if let Some(bone) = weights.dominant(v) {
                shares[bone.get()].dominates += 1;
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::BoneIndex;

    #[test]
    fn shares_add_up_to_the_vertices() {
        let rows = [vec![(0, 0.75), (1, 0.25)], vec![(1, 1.0)], vec![(0, 0.5), (2, 0.5)]];
        let rows = rows.map(|row| row.into_iter().map(|(b, w)| (BoneIndex::new(b), w)).collect());
        let shares = BoneShare::of(&Influences::from_rows(rows).unwrap(), 4);
        assert_eq!(shares.iter().map(|s| s.dominates).sum::<usize>(), 3);
        assert_eq!(shares.iter().map(|s| s.weight).sum::<f64>(), 3.0);
        assert_eq!(shares[1], BoneShare { vertices: 2, dominates: 1, weight: 1.25, largest: 1.0 });
        assert_eq!(shares[3], BoneShare::default());
    }
}
