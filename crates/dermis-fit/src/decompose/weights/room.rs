//! Working memory of one thread: one block of vertices.

use super::support::{MOST, Quadratic};
use std::cell::RefCell;

/// Vertices that share a product U Tᵀ and a thread.
pub const BLOCK: usize = 64;

/// Working memory for one vertex at a time, and for the products of its block.
pub struct Room {
    /// H between the members and all bones.
    pub rows: Vec<f64>,
    /// H w of the present blend, for all bones.
    pub blend: Vec<f64>,
    /// H_kk of all bones.
    pub diagonal: Vec<f64>,
    pub g: Vec<f64>,
    /// What a step towards each bone gains.
    pub gain: Vec<f64>,
    /// One row per tangent direction of the members, over all bones.
    pub tangent: Vec<f64>,
    /// U Tᵀ of the block.
    pub product: Vec<f64>,
    /// g of the members and the energy, for every vertex of the block.
    pub pulls: Vec<[f64; MOST]>,
    pub energies: Vec<f64>,
    /// H and g of the members.
    pub quadratic: Quadratic,
    /// The same after a change of support that is being tried.
    pub trial: Quadratic,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::new(Room::new(0));
}

impl Room {
    /// Lends this thread's room to `work`, for tables of `stride` columns.
    pub fn lent<R>(stride: usize, work: impl FnOnce(&mut Self) -> R) -> R {
        ROOM.with_borrow_mut(|room| {
            if room.blend.len() != stride {
                *room = Self::new(stride);
            }
            work(room)
        })
    }

    fn new(stride: usize) -> Self {
        Self {
            rows: vec![0.0; MOST * stride],
            blend: vec![0.0; stride],
            diagonal: vec![0.0; stride],
            g: vec![0.0; stride],
            gain: vec![0.0; stride],
            tangent: vec![0.0; MOST * stride],
            product: vec![0.0; BLOCK * 4 * stride],
            pulls: vec![[0.0; MOST]; BLOCK],
            energies: vec![0.0; BLOCK],
            quadratic: Quadratic::default(),
            trial: Quadratic::default(),
        }
    }
}
