//! What ties neighbours: springs along the edges of the posed skin.

use super::Vertex;
use super::spring::Springs;
use crate::CHUNK;
use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::{Neighbours, welded};
use rayon::prelude::*;

/// Steps at most in a frame. One that would need more lasts seconds, and what swung rests in between.
const MOST_STEPS: usize = 4096;
/// The largest angle √λ h that a step may turn of what it splits off, with λ the stiffness of edges and of what stiffens.
const LARGEST_ANGLE: f64 = 0.5;
/// The largest angle ω h of a spring itself, though its step is exact: splitting resonates at π.
const LARGEST_TURN: f64 = 2.0;

/// A linear map of (offset, speed), row by row.
type Free = [[f64; 2]; 2];

/// The vertices that springs tie to each: those at the other ends of its edges, seams welded.
pub fn edges(mesh: &Mesh) -> Neighbours {
    let place = welded(&mesh.positions);
    mesh.neighbours_along_polygons(&place).for_all(&place)
}

/// The edges of a skin with what a step needs.
#[derive(Clone, Debug)]
pub(super) struct Net<const L: usize> {
    neighbours: Neighbours,
    /// κ of every lane, 1/s².
    couplings: [f64; L],
    /// Offsets of the first lane before and after a step.
    now: Vec<DVec3>,
    next: Vec<DVec3>,
    /// √λ of what is split off, and the largest ω, radians per second.
    rates: [f64; 2],
    /// h, and the free motion of every vertex for h/2 and h.
    free: (f64, Vec<[[Free; 2]; L]>),
}

impl<const L: usize> Net<L> {
    /// Of the edges of a mesh, seams welded.
    pub fn new(lanes: [&Springs; L], mesh: &Mesh) -> Self {
        let neighbours = edges(mesh);
        let count = mesh.positions.len();
        let degree = (0..count).map(|v| neighbours.of(v).len()).max().unwrap_or(0);
        let couplings = lanes.map(Springs::coupling);
        // No eigenvalue of a sum over edges is beyond twice the largest degree.
        let of_edges = 2.0 * couplings.into_iter().fold(0.0, f64::max) * degree as f64;
        let all = || lanes.iter().flat_map(|springs| springs.vertices());
        let of_cube = all().map(|v| 3.0 * v.stiffening * v.limit * v.limit).fold(0.0, f64::max);
        let fastest = all().map(|v| v.spring.omega()).fold(0.0, f64::max);
        let none = vec![DVec3::ZERO; count];
        let rates = [(of_edges + of_cube).sqrt(), fastest];
        let free = (f64::NAN, vec![[[Free::default(); 2]; L]; count]);
        Self { neighbours, couplings, now: none.clone(), next: none, rates, free }
    }

    /// How many steps a frame of `dt` seconds takes.
    pub fn steps(&self, dt: f64) -> usize {
        let [split, exact] = self.rates;
        let steps = (split * dt / LARGEST_ANGLE).max(exact * dt / LARGEST_TURN).ceil();
        (steps as usize).clamp(1, MOST_STEPS)
    }

    /// Moves offsets and speeds by `dt` seconds over a skin that is here.
    ///
    /// Strang's splitting, second order: the springs alone for h/2; speeds change by −h (κ Σ_j e eᵀ (o_v − o_j) + k₃ |o|² o), with e along
    /// the edge to j on the skin; the springs alone for h/2. Halves that meet are one. The ends of an edge pull each other alike.
    pub fn step(&mut self, dt: f64, vertices: &mut [Vertex<L>], skin: &[DVec3]) {
        let steps = self.steps(dt);
        let h = dt / steps as f64;
        let Self { neighbours, couplings, now, next, free, .. } = self;
        if free.0.to_bits() != h.to_bits() {
            free.0 = h;
            let made = free.1.par_iter_mut().zip(&*vertices).with_min_len(CHUNK);
            made.for_each(|(free, v)| *free = v.ties.map(|tie| [0.5 * h, h].map(|h| tie.spring.step(h))));
        }
        for step in 0..=steps {
            let whole = usize::from(step > 0 && step < steps);
            let before: &[DVec3] = now;
            let moved = vertices.par_iter_mut().zip(next.par_iter_mut()).zip(&free.1).enumerate();
            moved.with_min_len(CHUNK).for_each(|(at, ((v, next), free))| {
                if step > 0 {
                    let pulls = pulls(v.offset, (at, neighbours.of(at)), before, skin);
                    for lane in 0..L {
                        let (tie, offset) = (v.ties[lane], v.offset[lane]);
                        let square = offset.length_squared().min(tie.limit * tie.limit);
                        v.speed[lane] -= (pulls[lane] * couplings[lane] + offset * (tie.stiffening * square)) * h;
                    }
                }
                for ((offset, speed), free) in v.offset.iter_mut().zip(&mut v.speed).zip(free) {
                    let m = free[whole];
                    (*offset, *speed) = (*offset * m[0][0] + *speed * m[0][1], *offset * m[1][0] + *speed * m[1][1]);
                }
                *next = v.offset[0];
            });
            std::mem::swap(now, next);
        }
    }
}

/// Σ_j e eᵀ (o_v − o_j) for every lane of vertex v; an edge without length pulls nowhere.
fn pulls<const L: usize>(own: [DVec3; L], (v, row): (usize, &[u32]), others: &[DVec3], skin: &[DVec3]) -> [DVec3; L] {
    let mut pulls = [DVec3::ZERO; L];
    for &j in row {
        let edge = skin[v] - skin[j as usize];
        let square = edge.length_squared();
        if square > 0.0 {
            let scaled = edge / square;
            for (pull, own) in pulls.iter_mut().zip(own) {
                *pull += edge * scaled.dot(own - others[j as usize]);
            }
        }
    }
    pulls
}
