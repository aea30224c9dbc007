//! What leaving poses out can know of a ridge, and the ridge where it knows nothing.
//!
//! A pose that is left out tells λ something at a vertex only if another pose moves what it moves there. A sculpt of the elbow
//! beside one of the knee is no such pose: without it nothing is known of the elbow, whatever λ is, and its error is that of the
//! base. Such errors make the score of a grid flat, and the largest λ within the tolerance then ignores the sculpts.
//!
//! So the choice of λ counts a pose at a vertex if the others show at least [`LEAST_KNOWN`] of it,
//!
//! ```text
//! Σ_k r_k min(|x_k(s)|², max_t |x_k(t)|²)  ≥  LEAST_KNOWN · Σ_k r_k |x_k(s)|²,     t over the poses that are not left out with s,
//! ```
//!
//! over what moves there, k, with the square of its feature |x_k|² and its relevance r_k at the vertex. A pose in which nothing
//! moves counts always. Where the poses that count have less than [`LEAST_EVIDENCE`] of what the base leaves, nothing can be
//! validated, and the fit takes the largest λ that meets its examples ([`meeting`]).
//!
//! This concerns single poses. A block of a clip's frames counts whatever moved in it.
//!
//! **Where every pose counts, nothing changes**: the scores are sums over the poses that count, plus what the base leaves of the
//! others, which is then zero.

use std::ops::Range;

/// A pose counts if the others show at least this share of its squared movement: a third of its length.
///
/// It lies between 0.03 (an elbow at 15 degrees teaches nothing of one at 90) and 0.25 (elbows at 65 and 30 degrees of a body
/// whose left teaches the right, against 135 and 100: the ridge that they choose serves a walk).
const LEAST_KNOWN: f64 = 0.1;

/// Cross-validation chooses if the poses that count have at least this share of what the base leaves: a half.
///
/// It lies between the share that a body has with two sculpts of the elbows and one each of knees, shoulders, hips and spine (by
/// cross-validation enveloping leaves 0.73 of the error of blending on other poses, with the examples met 0.69), and 1, which poses
/// for every joint reach.
const LEAST_EVIDENCE: f64 = 0.5;

/// Squares below this are no movement.
const STILL: f64 = 1e-8;

/// Examples are met if the fit leaves at most this share of what the base leaves of them, beyond what no λ mends.
///
/// It lies between 0.01 and 0.05: less hardly changes the sculpt and costs calm between the poses, more is seen in the sculpt.
const MET: f64 = 0.02;

/// ϱ from which local sculpts left out know nothing of λ, and up to which they choose it. Local sculpts of a body, a fox and a wolf
/// give 0.88 to 1.04; 3, 6 and 14 poses of a whole body give 0.40 and less.
const KNOWS_NOTHING: f64 = 0.85;
const KNOWS: f64 = 0.7;

/// Returns how little local sculpts know of λ, from ϱ, the error that the best λ leaves of touched rows left out over that of the
/// base: 0 where they choose it, 1 where they know nothing.
pub(crate) fn unknown(left_out_share: f64) -> f64 {
    ((left_out_share - KNOWS) / (KNOWS_NOTHING - KNOWS)).clamp(0.0, 1.0)
}

/// How far every fold of a group of vertices moves, and how much of that the other folds show.
pub(crate) struct Movements {
    folds: usize,
    /// How many things move.
    movers: usize,
    /// Squares of each fold's movement, mover after mover.
    own: Vec<f64>,
    /// The part of each that the poses outside the fold reach.
    known: Vec<f64>,
}

impl Movements {
    /// Compares folds of `rows` poses.
    ///
    /// - `square`: |x_k|² of a row and a mover
    /// - `folds`: the rows that are left out together, and how many of them, the first ones, are scored
    pub(crate) fn new<'f>(
        (rows, movers): (usize, usize),
        square: impl Fn(usize, usize) -> f64,
        folds: impl Iterator<Item = (&'f [usize], usize)> + Clone,
    ) -> Self {
        let count = folds.clone().count();
        let (mut own, mut known) = (vec![0.0; count * movers], vec![0.0; count * movers]);
        for k in 0..movers {
            let squares: Vec<f64> = (0..rows).map(|row| square(row, k)).collect();
            // Rows from the farthest movement on: the first outside a fold is the most that the others show.
            let mut farthest: Vec<usize> = (0..rows).collect();
            farthest.sort_by(|a, b| squares[*b].total_cmp(&squares[*a]));
            for (fold, (left_out, scored)) in folds.clone().enumerate() {
                let shown = farthest.iter().find(|row| !left_out.contains(row)).map_or(0.0, |&row| squares[row]);
                for &row in &left_out[..scored] {
                    own[fold * movers + k] += squares[row];
                    known[fold * movers + k] += squares[row].min(shown);
                }
            }
        }
        Self { folds: count, movers, own, known }
    }

    /// Which folds count at a vertex to which the movers have these relevances.
    pub(crate) fn counted(&self, relevance: &[f64]) -> Vec<bool> {
        let of = |squares: &[f64]| squares.iter().zip(relevance).map(|(x, r)| r * x).sum::<f64>();
        let folds = |range: Range<usize>| (of(&self.own[range.clone()]), of(&self.known[range]));
        (0..self.folds)
            .map(|fold| folds(fold * self.movers..(fold + 1) * self.movers))
            .map(|(own, known)| own <= STILL || known >= LEAST_KNOWN * own)
            .collect()
    }
}

/// Sums of squares of what the base leaves: of the poses that count in the choice of λ, and of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) counted: f64,
    pub(crate) others: f64,
}

impl Evidence {
    /// Adds the square of what the base leaves in a pose.
    pub(crate) fn add(&mut self, counts: bool, square: f64) {
        *(if counts { &mut self.counted } else { &mut self.others }) += square;
    }

    /// Adds those of other vertices.
    pub(crate) fn join(&mut self, other: Self) {
        self.counted += other.counted;
        self.others += other.others;
    }

    /// Whether cross-validation has too little to go by.
    pub(crate) fn is_missing(&self) -> bool {
        self.counted < LEAST_EVIDENCE * (self.counted + self.others)
    }

    /// All that the base leaves.
    pub(crate) fn all(&self) -> f64 {
        self.counted + self.others
    }
}

/// Returns the place of the largest ridge that meets the examples, of an ascending grid: the squares that it leaves exceed those
/// of the smallest ridge by at most [`MET`]² of `asked`, the squares that the base leaves.
pub(crate) fn meeting(left: &[f64], asked: f64) -> usize {
    let most = left.first().map_or(0.0, |least| least + MET * MET * asked);
    left.iter().rposition(|left| *left <= most).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows: rest, elbow by 90 degrees, knee by 90, elbow by 45. Movers: elbow, knee.
    const CHORDS: [[f64; 2]; 4] = [[0.0, 0.0], [1.414, 0.0], [0.0, 1.414], [0.765, 0.0]];

    fn counted(rows: usize, relevance: &[f64]) -> Vec<bool> {
        let folds: Vec<[usize; 1]> = (0..rows).map(|row| [row]).collect();
        let folds = folds.iter().map(|fold| (&fold[..], 1));
        Movements::new((rows, 2), |row, k| CHORDS[row][k].powi(2), folds).counted(relevance)
    }

    #[test]
    fn a_pose_counts_where_another_moves_what_it_moves() {
        assert_eq!(counted(3, &[1.0, 1.0]), [true, false, false]);
        // Near the elbow the knee's pose moves nothing.
        assert_eq!(counted(3, &[1.0, 0.0]), [true, false, true]);
        assert_eq!(counted(4, &[1.0, 1.0]), [true, true, false, true]);
        assert_eq!(counted(1, &[1.0, 1.0]), [true]);
    }

    #[test]
    fn examples_left_out_together_do_not_teach_each_other() {
        let folds = [[0usize, 1], [2, 3]];
        let of = |rows: [f64; 4]| {
            let folds = folds.iter().map(|fold| (&fold[..], 1));
            Movements::new((4, 1), |row, _| rows[row], folds).counted(&[1.0])
        };
        assert_eq!(of([1.0, 1.0, 0.0, 0.0]), [false, true]);
        assert_eq!(of([1.0, 0.0, 0.0, 1.0]), [true, true]);
    }

    #[test]
    fn the_largest_ridge_that_meets_the_examples_is_taken() {
        let left = |ridge: f64| (ridge / (ridge + 1.0)).powi(2);
        let grid = [1e-4, 1e-3, 1e-2, 0.1, 1.0];
        // 0.01 leaves 1 %, 0.1 leaves 9 %.
        assert_eq!(meeting(&grid.map(left), 1.0), 2);
        // What no ridge mends is not asked for.
        assert_eq!(meeting(&grid.map(|ridge| 0.5 + left(ridge)), 1.0), 2);
        assert_eq!(meeting(&[0.0, 0.0, 0.0], 0.0), 2);
    }
}
