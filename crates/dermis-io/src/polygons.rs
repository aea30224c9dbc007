//! Polygons as triangles.
//!
//! A polygon is looked at along its Newell normal, Σ pᵢ × pᵢ₊₁. Where every triangle of the fan from its first corner, (c₀ c₁ c₂),
//! (c₀ c₂ c₃), …, turns the same way as the polygon, the fan covers it, and is taken: so is every convex polygon split.
//! Any other polygon loses one ear after another, a corner whose triangle lies within and holds no other corner. All n corners
//! are kept, those on a straight line too, so the triangles are n − 2.
//!
//! A polygon that crosses itself may have no ear. Then a corner is cut off all the same, and the polygon is counted
//! ([`Flaw::CrossedPolygon`]).
//!
//! Source: G. H. Meisters, "Polygons have ears", 1975. Written by hand: triangulators for drawing leave corners out that lie
//! on a straight line, and a vertex without a triangle is lost for what is learnt from the mesh.

use crate::surface::{FLAT, has_no_area};
use crate::{Flaw, Warning};
use dermis_rig::Polygons;
use dermis_rig::glam::{DVec2, DVec3};
use std::cmp::Ordering;
use std::f64::consts::PI;

/// The triangles of polygons, those of one after those of the one before: as many as it has corners, less two.
pub(crate) struct Split {
    /// Corners by their place in the list of all corners.
    corners: Vec<[u32; 3]>,
    /// Polygons whose triangles may overlap, and the first of them.
    crossed: (usize, usize),
}

/// Corners that are looked at and held against ears, for all polygons together and for each corner of them: seconds, whatever a file
/// holds. A polygon of 15 000 corners, half of them concave, takes most of the first number.
const LOOKED_AT: (usize, usize) = (1 << 27, 256);

impl Split {
    /// Splits polygons whose indices name `positions`. Corners beyond the list, and indices beyond the positions, are let
    /// through: [`Mesh::check`](dermis_rig::Mesh::check) reports both.
    pub fn new(polygons: &Polygons, positions: &[DVec3]) -> Self {
        let (indices, mut from) = (&polygons.indices, 0usize);
        let mut made = Self { corners: Vec::with_capacity(indices.len()), crossed: (0, 0) };
        let mut room = LOOKED_AT.0.saturating_add(LOOKED_AT.1.saturating_mul(indices.len()));
        let mut outline = Vec::new();
        for (polygon, &count) in polygons.counts.iter().enumerate() {
            let end = from.saturating_add(count as usize).min(indices.len());
            outline.clear();
            outline.extend(indices[from..end].iter().filter_map(|&vertex| positions.get(vertex as usize)).copied());
            let before = made.corners.len();
            let is_whole = match outline.len() == end - from {
                true => split(&outline, &mut room, &mut made.corners),
                false => {
                    fan(end - from, &mut made.corners);
                    true
                }
            };
            made.corners[before..].iter_mut().flatten().for_each(|corner| *corner += from as u32);
            if !is_whole {
                made.crossed = (made.crossed.0 + 1, if made.crossed.0 == 0 { polygon } else { made.crossed.1 });
            }
            from = end;
        }
        made
    }

    /// The triangles over vertices, of which `of_corner` has one for each corner.
    pub fn over(&self, of_corner: &[u32]) -> Vec<[u32; 3]> {
        self.corners.iter().map(|corners| corners.map(|corner| of_corner[corner as usize])).collect()
    }

    /// Counts the polygons whose triangles may overlap.
    pub fn warn(&self, warnings: &mut Vec<Warning>) {
        let (count, first) = self.crossed;
        if count > 0 {
            warnings.push(Warning { flaw: Flaw::CrossedPolygon, count, first: Some(format!("polygon {first}")) });
        }
    }
}

/// (0 1 2), (0 2 3), …
fn fan(corners: usize, triangles: &mut Vec<[u32; 3]>) {
    triangles.extend((2..corners as u32).map(|corner| [0, corner - 1, corner]));
}

/// Splits one polygon; `false` if its triangles may overlap.
fn split(outline: &[DVec3], room: &mut usize, triangles: &mut Vec<[u32; 3]>) -> bool {
    if outline.len() <= 3 {
        fan(outline.len(), triangles);
        return true;
    }
    let Some(flat) = flattened(outline) else {
        fan(outline.len(), triangles);
        // Without a normal nothing has an area, or what turns one way is as large as what turns the other.
        return outline[1..].windows(2).all(|pair| has_no_area([outline[0], pair[0], pair[1]]));
    };
    let is_fan = flat[1..].windows(2).all(|pair| turn(flat[0], pair[0], pair[1]).is_gt());
    if !is_fan {
        return Ears::new(&flat, room).cut(triangles) && turns_once(&flat);
    }
    fan(outline.len(), triangles);
    outline.len() == 4 || turns_once(&flat)
}

/// Whether an outline turns by 360 degrees in all. One that goes round twice, as a pentagram does, may be convex at every corner; where
/// it turns back on itself nothing is told.
fn turns_once(outline: &[DVec2]) -> bool {
    let sides = outline.iter().zip(outline.iter().cycle().skip(1)).map(|(a, b)| *b - *a);
    let sides: Vec<DVec2> = sides.filter(|side| *side != DVec2::ZERO).collect();
    let angles = sides.iter().zip(sides.iter().cycle().skip(1)).map(|(a, b)| a.perp_dot(*b).atan2(a.dot(*b)));
    let mut whole = 0.0;
    for angle in angles {
        if angle.abs() > PI - 1e-6 {
            return true;
        }
        whole += angle;
    }
    (whole - 2.0 * PI).abs() < PI
}

/// The polygon seen along its Newell normal, counter-clockwise, its size about one; `None` where it has no normal.
fn flattened(outline: &[DVec3]) -> Option<Vec<DVec2>> {
    let size = outline.iter().map(|p| (*p - outline[0]).abs().max_element()).fold(0.0, f64::max);
    let points: Vec<DVec3> = outline.iter().map(|p| (*p - outline[0]) / size).collect();
    let normal: DVec3 = points.windows(2).map(|pair| pair[0].cross(pair[1])).sum();
    let normal = normal.try_normalize().filter(|_| size.is_finite() && normal.length() > FLAT)?;
    let right = normal.any_orthonormal_vector();
    let up = normal.cross(right);
    Some(points.iter().map(|p| DVec2::new(p.dot(right), p.dot(up))).collect())
}

/// Which way a triangle turns: greater for counter-clockwise, equal where it has no area.
fn turn(a: DVec2, b: DVec2, c: DVec2) -> Ordering {
    let (ab, bc, ca) = (b - a, c - b, a - c);
    let area = ab.perp_dot(bc);
    let longest = ab.length_squared().max(bc.length_squared()).max(ca.length_squared());
    if area.abs() <= FLAT * longest { Ordering::Equal } else { area.total_cmp(&0.0) }
}

/// A polygon that loses ears.
struct Ears<'a> {
    points: &'a [DVec2],
    before: Vec<u32>,
    after: Vec<u32>,
    /// How the outline turns at each corner that is left.
    turns: Vec<Ordering>,
    /// Corners that may lie in an ear: all that are not convex, and some that became so or are gone.
    blocking: Vec<u32>,
    left: usize,
    room: &'a mut usize,
}

impl<'a> Ears<'a> {
    fn new(points: &'a [DVec2], room: &'a mut usize) -> Self {
        let count = points.len() as u32;
        let before: Vec<u32> = (0..count).map(|at| (at + count - 1) % count).collect();
        let after: Vec<u32> = (0..count).map(|at| (at + 1) % count).collect();
        let mut made =
            Self { points, before, after, turns: Vec::new(), blocking: Vec::new(), left: points.len(), room };
        made.turns = (0..count).map(|corner| made.turn_at(corner)).collect();
        made.blocking = (0..count).filter(|&corner| !made.turns[corner as usize].is_gt()).collect();
        made
    }

    fn point(&self, corner: u32) -> DVec2 {
        self.points[corner as usize]
    }

    /// Cuts off the triangle of a corner; it begins with its lowest corner, as those of a fan do.
    fn cut_off(&self, corner: u32, triangles: &mut Vec<[u32; 3]>) {
        let [a, b, c] = self.triangle(corner);
        triangles.push(match a.min(b).min(c) {
            low if low == a => [a, b, c],
            low if low == b => [b, c, a],
            _ => [c, a, b],
        });
    }

    /// A corner with the ones before and after it.
    fn triangle(&self, corner: u32) -> [u32; 3] {
        [self.before[corner as usize], corner, self.after[corner as usize]]
    }

    fn turn_at(&self, corner: u32) -> Ordering {
        let [a, b, c] = self.triangle(corner).map(|corner| self.point(corner));
        turn(a, b, c)
    }

    /// Cuts the polygon up; `false` if triangles may overlap.
    fn cut(mut self, triangles: &mut Vec<[u32; 3]>) -> bool {
        let (mut at, mut passed, mut is_whole) = (1, 0, true);
        while self.left > 3 {
            if *self.room == 0 {
                let mut corner = self.after[at as usize];
                for _ in 2..self.left {
                    triangles.push([at, corner, self.after[corner as usize]]);
                    corner = self.after[corner as usize];
                }
                return false;
            }
            if self.is_ear(at) {
                self.cut_off(at, triangles);
                self.remove(at);
                // Going on past the next corner keeps triangles from crowding at one.
                (at, passed) = (self.after[self.after[at as usize] as usize], 0);
                continue;
            }
            (at, passed) = (self.after[at as usize], passed + 1);
            if passed >= self.left {
                let (corner, overlaps) = self.forced(at);
                is_whole &= !overlaps;
                self.cut_off(corner, triangles);
                self.remove(corner);
                (at, passed) = (self.after[corner as usize], 0);
            }
        }
        self.cut_off(at, triangles);
        is_whole
    }

    fn remove(&mut self, corner: u32) {
        let [before, _, after] = self.triangle(corner);
        self.after[before as usize] = after;
        self.before[after as usize] = before;
        self.turns[corner as usize] = Ordering::Greater; // blocks nothing any more
        for corner in [before, after] {
            let now = self.turn_at(corner);
            // Only a polygon that crosses itself turns back where it was convex.
            if self.turns[corner as usize].is_gt() && !now.is_gt() {
                self.blocking.push(corner);
            }
            self.turns[corner as usize] = now;
        }
        self.left -= 1;
    }

    /// Whether a corner is convex, and its triangle without any other corner.
    fn is_ear(&mut self, corner: u32) -> bool {
        *self.room -= 1;
        if !self.turns[corner as usize].is_gt() {
            return false;
        }
        let (ear, mut at) = (self.triangle(corner), 0);
        while at < self.blocking.len() && *self.room > 0 {
            *self.room -= 1;
            let other = self.blocking[at];
            if self.turns[other as usize].is_gt() {
                self.blocking.swap_remove(at);
            } else if self.blocks(other, ear) {
                return false;
            } else {
                at += 1;
            }
        }
        at == self.blocking.len()
    }

    /// Whether a corner lies in the triangle of an ear, borders included. One that lies at another place of the outline which the ear
    /// shares, as at both ends of a slit that leads to a hole, is none of the ear's, unless the outline goes into it from there.
    fn blocks(&self, other: u32, ear: [u32; 3]) -> bool {
        let ([a, b, c], p) = (ear.map(|corner| self.point(corner)), self.point(other));
        if ear.contains(&other) || p == a || p == c {
            return false;
        }
        if p == b {
            let [before, _, after] = self.triangle(other).map(|corner| self.point(corner));
            return [before, after].iter().any(|q| turn(a, b, *q).is_gt() && turn(b, c, *q).is_gt());
        }
        turn(a, b, p).is_ge() && turn(b, c, p).is_ge() && turn(c, a, p).is_ge()
    }

    /// The corner that is cut off where there is no ear, and whether its triangle may overlap others: one without area, else a convex
    /// one, else any.
    fn forced(&self, start: u32) -> (u32, bool) {
        let mut corners = std::iter::successors(Some(start), |&at| Some(self.after[at as usize])).take(self.left);
        let mut convex = None;
        let flat = corners.find(|&corner| {
            if convex.is_none() && self.turns[corner as usize].is_gt() {
                convex = Some(corner);
            }
            self.turns[corner as usize].is_eq()
        });
        flat.map_or((convex.unwrap_or(start), true), |corner| (corner, false))
    }
}

#[cfg(test)]
mod tests;
