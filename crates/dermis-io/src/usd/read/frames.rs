//! Meshes that move without a skeleton, as records.

use super::budget::Budget;
use super::geometry::vectors;
use super::scene::{Block, Scene};
use super::xform;
use crate::contents::{Contents, ReadError};
use crate::surface::{LeftOut, around, moments};
use dermis_rig::glam::{DAffine3, DVec3};

/// The points of a mesh at the samples around a time, which the next frame may need again.
struct Window<'b, 's> {
    block: &'b Block<'s>,
    times: Vec<f64>,
    held: Vec<(usize, Vec<DVec3>)>,
}

impl Window<'_, '_> {
    fn points(&mut self, at: usize) -> Result<Vec<DVec3>, ReadError> {
        if let Some((_, points)) = self.held.iter().find(|(own, _)| *own == at) {
            return Ok(points.clone());
        }
        let made = vectors(&self.block.geometry.points.nth(at)?);
        self.held.truncate(1);
        self.held.insert(0, (at, made.clone()));
        Ok(made)
    }

    fn at(&mut self, time: f64) -> Result<Vec<DVec3>, ReadError> {
        if self.times.is_empty() {
            return self.block.geometry.rest();
        }
        let (before, after, s) = around(&self.times, time);
        let mut points = self.points(before)?;
        if s > 0.0 {
            let next = self.points(after)?;
            points.iter_mut().zip(next).for_each(|(p, q)| *p = p.lerp(q, s));
        }
        Ok(points)
    }
}

/// Adds a record for every moment at which the points or the transform of a mesh were sampled.
///
/// - `rate`: time codes per second
pub(super) fn read(
    scene: &Scene<'_>,
    to_ours: &DAffine3,
    rate: f64,
    budget: &Budget,
    contents: &mut Contents,
) -> Result<(), ReadError> {
    let Some(vertices) = contents.mesh.as_ref().map(|mesh| mesh.positions.len()) else { return Ok(()) };
    let window = |block| Window { block, times: Vec::new(), held: Vec::new() };
    let mut windows: Vec<Window<'_, '_>> = scene.blocks.iter().map(window).collect();
    let mut times: Vec<f64> = Vec::new();
    for window in &mut windows {
        let points = &window.block.geometry.points;
        window.times = points.times().into_iter().map(|time| time / rate).collect();
        let moving = window.times.iter().copied().filter(|_| points.is_animated());
        let own: Vec<f64> = moving.chain(xform::times(&window.block.chain)).filter(|time| time.is_finite()).collect();
        budget.charge(16 * own.len())?;
        times.extend(own);
    }
    let times = moments(times);
    let ops: usize = windows.iter().map(|window| window.block.chain.iter().map(|ops| ops.len()).sum::<usize>()).sum();
    let mut left_out = LeftOut::default();
    for (at, time) in times.iter().enumerate() {
        budget.charge(vertices.saturating_mul(48).saturating_add(200 + 100 * ops))?;
        let mut positions: Vec<DVec3> = Vec::with_capacity(vertices);
        for window in &mut windows {
            let world = *to_ours * xform::world(&window.block.chain, Some(*time));
            positions.extend(window.at(*time)?.into_iter().map(|p| world.transform_point3(p) + DVec3::ZERO));
        }
        let time = (times.len() > 1).then_some(*time);
        contents.records.extend(left_out.record(format!("frame {at}"), time, positions));
    }
    left_out.tell(contents);
    Ok(())
}
