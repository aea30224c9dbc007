//! Eight vertices at a time: the least value of their quadratics on the hull of the bones they have.

use super::support::RIDGE;
use crate::decompose::problem::{LANES, MONOMIALS};

/// One number for each of eight vertices.
pub type Lane = [f64; LANES];

/// What eight vertices with N bones each bring.
pub struct Eight<'a, const N: usize> {
    /// The monomials of p̃.
    pub monomials: [&'a [f64; MONOMIALS]; LANES],
    /// The table of H between members a and b, at [a][b] for b ≤ a.
    pub tables: [[[&'a [f64; MONOMIALS]; LANES]; N]; N],
    pub g: [Lane; N],
}

/// Weights on the hull, which may be negative, and the values wᵀHw − 2 w·g of these and of the weights they had.
pub struct Solved<const N: usize> {
    pub weights: [Lane; N],
    pub value: Lane,
    pub before: Lane,
}

impl<const N: usize> Eight<'_, N> {
    /// The equality-constrained least value, in differences to the first member, with the ridge of
    /// [`super::support::Quadratic`].
    #[inline(always)]
    pub fn solve(&self, had: &[Lane; N]) -> Solved<N> {
        let h = self.products();
        let g = &self.g;
        let (mut l, mut trace) = ([[[0.0; LANES]; N]; N], [0.0; LANES]);
        for a in 1..N {
            for b in 1..=a {
                for lane in 0..LANES {
                    l[a][b][lane] = h[a][b][lane] - h[a][0][lane] - h[b][0][lane] + h[0][0][lane];
                }
            }
            for lane in 0..LANES {
                trace[lane] += l[a][a][lane];
            }
        }
        let mut y = [[0.0; LANES]; N];
        for a in 1..N {
            for b in 1..=a {
                for lane in 0..LANES {
                    let mut left = l[a][b][lane];
                    for c in 1..b {
                        left -= l[a][c][lane] * l[b][c][lane];
                    }
                    let ridge = RIDGE * trace[lane] + 1e-300;
                    // The diagonal holds reciprocals.
                    l[a][b][lane] =
                        if b < a { left * l[b][b][lane] } else { 1.0 / (left + ridge).max(ridge * 1e-3).sqrt() };
                }
            }
            for lane in 0..LANES {
                let mut left = (g[a][lane] - g[0][lane]) - (h[a][0][lane] - h[0][0][lane]);
                for c in 1..a {
                    left -= l[a][c][lane] * y[c][lane];
                }
                y[a][lane] = left * l[a][a][lane];
            }
        }
        for a in (1..N).rev() {
            for lane in 0..LANES {
                let mut left = y[a][lane];
                for c in a + 1..N {
                    left -= l[c][a][lane] * y[c][lane];
                }
                y[a][lane] = left * l[a][a][lane];
            }
        }
        y[0] = [1.0; LANES];
        for a in 1..N {
            for lane in 0..LANES {
                y[0][lane] -= y[a][lane];
            }
        }
        Solved { value: value(&h, g, &y), before: value(&h, g, had), weights: y }
    }

    /// H of every pair of members, the lower triangle.
    #[inline(always)]
    fn products(&self) -> [[Lane; N]; N] {
        let mut monomials = [[0.0; LANES]; MONOMIALS];
        for (lane, of_vertex) in self.monomials.iter().enumerate() {
            (0..MONOMIALS).for_each(|m| monomials[m][lane] = of_vertex[m]);
        }
        let mut h = [[[0.0; LANES]; N]; N];
        for a in 0..N {
            for b in 0..=a {
                let mut sum = [0.0; LANES];
                for m in 0..MONOMIALS {
                    for lane in 0..LANES {
                        sum[lane] += monomials[m][lane] * self.tables[a][b][lane][m];
                    }
                }
                h[a][b] = sum;
            }
        }
        h
    }
}

/// wᵀHw − 2 w·g.
#[inline(always)]
fn value<const N: usize>(h: &[[Lane; N]; N], g: &[Lane; N], w: &[Lane; N]) -> Lane {
    let mut value = [0.0; LANES];
    for a in 0..N {
        for lane in 0..LANES {
            let mut row = h[a][a][lane] * w[a][lane] - 2.0 * g[a][lane];
            for b in 0..a {
                row += 2.0 * h[a][b][lane] * w[b][lane];
            }
            value[lane] += w[a][lane] * row;
        }
    }
    value
}
