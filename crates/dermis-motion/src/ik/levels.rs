//! Goals in order of priority as least squares, one level in what the levels before leave free.
//!
//! For levels p = 0, 1, … with rows A_p and residuals r_p, and N the projection off the directions that earlier levels use:
//! δ ← δ + Σ σ/(σ² + μ) v uᵀ(r_p − A_p δ) over the singular triplets (u, σ, v) of A_p N. Directions with σ > [`USED`] are used up.
//!
//! Source: Baerlocher & Boulic 2004, sections 3 and 4. Departure: the damping μ is chosen by the caller's test of the step, as
//! Levenberg and Marquardt do, for their bound on the step.

use dermis_solve::faer::Mat;

/// Below this singular value a level leaves a direction to later ones. Rows are parts of a chain's length and radians: 1e-3 is the
/// sideways reach of a limb that is bent by a tenth of a degree. At 1e-1 a lower priority gets nothing from a nearly straight limb's
/// plane; at 1e-6 it bends a straight limb of a higher priority.
const USED: f64 = 1e-3;

/// One level: rows over columns, and what is lacking.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub rows: Vec<Vec<f64>>,
    pub lacking: Vec<f64>,
}

/// The step of all levels. `keep[c]` maps a step of the columns onto what the limits allow: applied to rows and to the answer.
///
/// `last`, a wish for every column, is fulfilled in what is free after all levels.
pub(super) fn step(
    levels: &[Level],
    columns: usize,
    damping: f64,
    keep: impl Fn(&mut [f64]),
    last: Option<&[f64]>,
) -> Option<Vec<f64>> {
    let mut step = vec![0.0; columns];
    let mut used: Vec<Vec<f64>> = Vec::new();
    for Level { rows, lacking } in levels {
        let mut free: Vec<Vec<f64>> = rows.clone();
        for row in &mut free {
            keep(row);
            off(row, &used);
        }
        let left: Vec<f64> = rows.iter().zip(lacking).map(|(row, lacks)| lacks - dot(row, &step)).collect();
        let matrix = Mat::from_fn(free.len(), columns, |i, j| free[i][j]);
        if free.is_empty() || columns == 0 || !matrix.is_all_finite() {
            continue;
        }
        let svd = matrix.thin_svd().ok()?;
        let (u, v, sigma) = (svd.U(), svd.V(), svd.S().column_vector());
        for h in 0..sigma.nrows() {
            let size = sigma[h];
            if size <= 1e-12 {
                continue;
            }
            let along: f64 = (0..left.len()).map(|i| u[(i, h)] * left[i]).sum::<f64>() * size / (size * size + damping);
            for (j, step) in step.iter_mut().enumerate() {
                *step += along * v[(j, h)];
            }
            if size > USED {
                used.push((0..columns).map(|j| v[(j, h)]).collect());
            }
        }
    }
    if let Some(wish) = last {
        let mut wish: Vec<f64> = wish.iter().zip(&step).map(|(wish, step)| wish - step).collect();
        keep(&mut wish);
        off(&mut wish, &used);
        step.iter_mut().zip(&wish).for_each(|(step, wish)| *step += wish);
    }
    step.iter().all(|x| x.is_finite()).then_some(step)
}

/// Takes from a row what lies along orthonormal directions.
fn off(row: &mut [f64], used: &[Vec<f64>]) {
    for direction in used {
        let along = dot(row, direction);
        row.iter_mut().zip(direction).for_each(|(x, d)| *x -= along * d);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
