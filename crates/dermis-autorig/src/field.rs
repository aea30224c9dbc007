//! Signed distance to the skin in an adaptive octree: positive inside.
//!
//! The distance is that to the closest point of the outer skin, its sign that of the winding number less one half. A cell outside ends at once;
//! a cell that holds inside is split until the distance at its middle is what its corners say, so that cells are small along the
//! middle of thin limbs and large elsewhere. Within a cell, the distance is trilinear.
//!
//! Source: Baran & Popović 2007, section 3.1 (adaptive distance field). Departure: the sign comes from winding numbers, so holes and
//! surfaces that pass through themselves have an inside.

use crate::body::Body;
use crate::winding::{Effort, Spent};
use dermis_rig::glam::DVec3;
use rayon::prelude::*;
use std::collections::HashMap;

/// The field over a cube around the body.
#[derive(Clone, Debug)]
pub struct Field {
    cells: Vec<Cell>,
    low: DVec3,
    side: f64,
}

#[derive(Clone, Debug)]
struct Cell {
    corners: [f32; 8],
    /// The first of eight children, or zero.
    children: u32,
}

/// Halvings of the cube that every cell with inside has, and that a cell has at most: 1.1/2⁸ is a third of a finger of a body of
/// size one.
const DEPTH: (u32, u32) = (4, 8);
/// How far the middle of a cell may be from what its corners say.
const TOLERANCE: f64 = 1.5e-3;
/// The most cells: beyond, cells are no longer split. A body of bodies' complexity has a tenth of it.
const MOST_CELLS: usize = 600_000;

impl Field {
    /// The field of a body.
    ///
    /// # Errors
    /// [`Spent`] if it takes more than the effort.
    pub fn new(body: &Body, effort: &Effort) -> Result<Self, Spent> {
        let winding = &body.winding;
        let (low, side) = (DVec3::splat(-0.55), 1.1);
        let finest = 1_u32 << DEPTH.1;
        let value = |key: &[u32; 3]| {
            if effort.check().is_err() {
                return 0.0;
            }
            let p =
                low + DVec3::new(f64::from(key[0]), f64::from(key[1]), f64::from(key[2])) * (side / f64::from(finest));
            let distance = body.surface.closest(p, f64::INFINITY).map_or(0.0, |c| c.distance_squared.sqrt());
            if winding.at(p, effort) > 0.5 { distance } else { -distance }
        };
        let mut known: HashMap<[u32; 3], f64> = HashMap::new();
        let learn = |wanted: Vec<[u32; 3]>, known: &mut HashMap<[u32; 3], f64>| {
            let mut missing: Vec<[u32; 3]> = wanted.into_iter().filter(|key| !known.contains_key(key)).collect();
            missing.sort_unstable();
            missing.dedup();
            let values: Vec<f64> = missing.par_iter().map(value).collect();
            known.extend(missing.into_iter().zip(values));
            effort.check()
        };
        let corner = |at: [u32; 3], size: u32, k: u32| {
            [at[0] + size * (k & 1), at[1] + size * ((k >> 1) & 1), at[2] + size * (k >> 2)]
        };
        let mut cells = vec![Cell { corners: [0.0; 8], children: 0 }];
        let mut level: Vec<(u32, [u32; 3])> = vec![(0, [0; 3])];
        for depth in 0..=DEPTH.1 {
            let size = finest >> depth;
            let half = size / 2;
            learn(level.iter().flat_map(|(_, at)| (0..8).map(move |k| corner(*at, size, k))).collect(), &mut known)?;
            for (cell, at) in &level {
                cells[*cell as usize].corners = std::array::from_fn(|k| known[&corner(*at, size, k as u32)] as f32);
            }
            if depth == DEPTH.1 || cells.len() > MOST_CELLS {
                break;
            }
            let reach = 0.5 * 3.0_f64.sqrt() * side * f64::from(size) / f64::from(finest);
            let middle = |at: &[u32; 3]| at.map(|x| x + half);
            // A field that is 1-Lipschitz: what is farther outside than the cell reaches has no inside near.
            let may_hold =
                |cell: u32| cells[cell as usize].corners.iter().all(|d| f64::from(*d) > -2.0 * reach - TOLERANCE);
            let held: Vec<(u32, [u32; 3])> = level.iter().copied().filter(|(cell, _)| may_hold(*cell)).collect();
            learn(held.iter().map(|(_, at)| middle(at)).collect(), &mut known)?;
            let mut next = Vec::new();
            for (cell, at) in held {
                let corners = cells[cell as usize].corners;
                let mean = corners.iter().map(|d| f64::from(*d)).sum::<f64>() / 8.0;
                let at_middle = known[&middle(&at)];
                let inside = at_middle > -reach;
                if !(inside && (depth < DEPTH.0 || (at_middle - mean).abs() > TOLERANCE)) {
                    continue;
                }
                cells[cell as usize].children = cells.len() as u32;
                for k in 0..8 {
                    next.push((cells.len() as u32, corner(at, half, k)));
                    cells.push(Cell { corners: [0.0; 8], children: 0 });
                }
            }
            level = next;
        }
        Ok(Self { cells, low, side })
    }

    /// The signed distance at `p`, positive inside; outside the cube, minus the distance from it.
    pub fn at(&self, p: DVec3) -> f64 {
        let mut q = (p - self.low) / self.side;
        let within = q.clamp(DVec3::ZERO, DVec3::ONE);
        if q != within {
            return -(q - within).length() * self.side - 0.05;
        }
        let mut cell = &self.cells[0];
        while cell.children > 0 {
            let upper = [q.x >= 0.5, q.y >= 0.5, q.z >= 0.5].map(u32::from);
            q = q * 2.0 - DVec3::new(f64::from(upper[0]), f64::from(upper[1]), f64::from(upper[2]));
            cell = &self.cells[(cell.children + upper[0] + 2 * upper[1] + 4 * upper[2]) as usize];
        }
        let c = cell.corners.map(f64::from);
        let along = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let face = |k: usize| along(along(c[k], c[k + 1], q.x), along(c[k + 2], c[k + 3], q.x), q.y);
        along(face(0), face(4), q.z)
    }

    /// The least distance along a segment, from `steps` points between its ends.
    pub fn least_along(&self, from: DVec3, to: DVec3, steps: usize) -> f64 {
        (1..=steps).map(|k| self.at(from.lerp(to, k as f64 / (steps + 1) as f64))).fold(f64::INFINITY, f64::min)
    }

    /// How far one can go from `from` in a direction before leaving the body, at most `most`.
    pub fn exit(&self, from: DVec3, direction: DVec3, most: f64) -> f64 {
        const NEAR: f64 = 5e-4;
        let mut gone = 0.0;
        for _ in 0..200 {
            let distance = self.at(from + direction * gone);
            if distance <= NEAR || gone >= most {
                break;
            }
            gone += distance.max(NEAR);
        }
        gone.min(most)
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Never true: the cube is a cell.
    pub fn is_empty(&self) -> bool {
        false
    }
}
