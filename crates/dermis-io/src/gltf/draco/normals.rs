//! Unit vectors on an octahedron that is unfolded to a square, and what is foretold of them.
//!
//! Source: the Draco specification, sections "Normal Prediction Decoder", "Prediction Normal Transform" and "Sequential Normal Attribute
//! Decoder".

use super::super::stream::{Damage, Rest};
use super::NONE;
use super::connectivity::{next, previous, swing_left, swing_right};
use super::entropy::Flags;
use super::predict::{Foretold, Positions, Prediction};
use super::surface::Surface;

/// The square of an octahedron: coordinates from 0 to twice `center`.
struct Square {
    center: i32,
}

/// Turns differences from what is foretold into coordinates on the square, in place.
pub(super) fn restore(
    rest: &mut Rest<'_>,
    prediction: Prediction,
    foretold: &Foretold<'_>,
    values: &mut [i32],
) -> Result<(), Damage> {
    let most = i32::from_le_bytes(rest.array()?);
    let _center = rest.array::<4>()?;
    let bits = most.checked_ilog2().map_or(0, |log| log + 1);
    if !(2..=30).contains(&bits) {
        return Err("its normals are quantised to an impossible number of bits");
    }
    let square = Square { center: (1 << (bits - 1)) - 1 };
    let (pairs, _) = values.as_chunks_mut::<2>();
    match (prediction, foretold.order) {
        (Prediction::Normal, Some((surface, order))) => {
            let positions = foretold.positions.ok_or("its normals have no positions")?;
            let mut flips = Flags::new(rest)?;
            for (&corner, pair) in order.corner.iter().zip(pairs) {
                let normal = around(surface, &positions, corner);
                let mut normal = square.fitted(normal);
                if flips.read() {
                    normal = normal.map(i32::wrapping_neg);
                }
                *pair = square.restored(square.coordinates(normal), *pair);
            }
        }
        (Prediction::Difference, _) => {
            let mut before = [0; 2];
            for pair in pairs {
                *pair = square.restored(before, *pair);
                before = *pair;
            }
        }
        _ => return Err("its normals are foretold as no normals are"),
    }
    Ok(())
}

/// The sum of the triangles around a corner's vertex, each by its area, at most 2²⁹ long.
fn around(surface: &Surface, positions: &Positions<'_>, start: u32) -> [i64; 3] {
    let center = positions.at(start);
    let mut sum = [0i64; 3];
    let (mut corner, mut is_left) = (start, true);
    while corner != NONE {
        let [a, b] = [next(corner), previous(corner)].map(|corner| {
            let place = positions.at(corner);
            [0, 1, 2].map(|axis| place[axis] - center[axis])
        });
        for (axis, sum) in sum.iter_mut().enumerate() {
            let (j, k) = ((axis + 1) % 3, (axis + 2) % 3);
            let cross = a[j].wrapping_mul(b[k]).wrapping_sub(a[k].wrapping_mul(b[j]));
            *sum = sum.wrapping_add(cross);
        }
        corner = match is_left {
            true => swing_left(&surface.opposite, corner),
            false => swing_right(&surface.opposite, corner),
        };
        if corner == start {
            break;
        }
        if corner == NONE && is_left {
            is_left = false;
            corner = swing_right(&surface.opposite, start);
        }
    }
    let length = sum.iter().fold(0i64, |length, x| length.saturating_add(x.saturating_abs()));
    let quotient = length >> 29;
    if length > 1 << 29 { sum.map(|x| x / quotient) } else { sum }
}

impl Square {
    /// A vector scaled to the octahedron: its absolute values sum to `center`.
    fn fitted(&self, vector: [i64; 3]) -> [i32; 3] {
        let center = i64::from(self.center);
        let length = vector.iter().fold(0i64, |length, x| length.saturating_add(x.saturating_abs()));
        if length == 0 {
            return [self.center, 0, 0];
        }
        let [x, y] = [vector[0], vector[1]].map(|x| x.wrapping_mul(center) / length);
        let z = center - x.abs() - y.abs();
        [x as i32, y as i32, if vector[2] >= 0 { z } else { -z } as i32]
    }

    /// Where a vector on the octahedron is on the square.
    fn coordinates(&self, [x, y, z]: [i32; 3]) -> [i32; 2] {
        let (center, most) = (self.center, 2 * self.center);
        let [s, t] = if x >= 0 {
            [y.wrapping_add(center), z.wrapping_add(center)]
        } else {
            let folded =
                |of: i32, by: i32| if by < 0 { of.wrapping_abs() } else { most.wrapping_sub(of.wrapping_abs()) };
            [folded(z, y), folded(y, z)]
        };
        // Several places of the border are one of the octahedron.
        if [[0, 0], [0, most], [most, 0]].contains(&[s, t]) {
            [most, most]
        } else if (s == 0 && t > center) || (s == most && t < center) {
            [s, most.wrapping_sub(t)]
        } else if (t == most && s < center) || (t == 0 && s > center) {
            [most.wrapping_sub(s), t]
        } else {
            [s, t]
        }
    }

    /// The coordinates that differ by `change` from those foretold.
    fn restored(&self, foretold: [i32; 2], change: [i32; 2]) -> [i32; 2] {
        let center = self.center;
        let mut at = foretold.map(|x| x.wrapping_sub(center));
        let is_inside = at[0].saturating_abs().saturating_add(at[1].saturating_abs()) <= center;
        if !is_inside {
            at = self.inverted(at);
        }
        let turns = quarter_turns(at);
        at = turned(at, turns);
        let wrap = |x: i32| {
            if x > center {
                x.wrapping_sub(2 * center + 1)
            } else if x < -center {
                x.wrapping_add(2 * center + 1)
            } else {
                x
            }
        };
        at = [wrap(at[0].wrapping_add(change[0])), wrap(at[1].wrapping_add(change[1]))];
        at = turned(at, (4 - turns) % 4);
        if !is_inside {
            at = self.inverted(at);
        }
        at.map(|x| x.wrapping_add(center))
    }

    /// Swaps the inside and the outside of the diamond in the middle of the square.
    fn inverted(&self, [s, t]: [i32; 2]) -> [i32; 2] {
        let sign = if s >= 0 && t >= 0 { [1, 1] } else { [s, t].map(|x| if x > 0 { 1 } else { -1 }) };
        let corner = sign.map(|sign| sign * self.center);
        let [s, t] = [s.wrapping_mul(2).wrapping_sub(corner[0]), t.wrapping_mul(2).wrapping_sub(corner[1])];
        let [s, t] = if sign[0] * sign[1] >= 0 { [t.wrapping_neg(), s.wrapping_neg()] } else { [t, s] };
        [s.wrapping_add(corner[0]) / 2, t.wrapping_add(corner[1]) / 2]
    }
}

/// Quarter turns that bring a place to the lower left.
fn quarter_turns([x, y]: [i32; 2]) -> u32 {
    match (x.signum(), y.signum()) {
        (0, 0) | (-1, -1 | 0) => 0,
        (0, -1) | (1, -1) => 1,
        (1, _) => 2,
        _ => 3,
    }
}

fn turned([x, y]: [i32; 2], turns: u32) -> [i32; 2] {
    match turns {
        1 => [y, x.wrapping_neg()],
        2 => [x.wrapping_neg(), y.wrapping_neg()],
        3 => [y.wrapping_neg(), x],
        _ => [x, y],
    }
}

/// The unit vector of coordinates from 0 to 1.
pub(super) fn unit([s, t]: [f32; 2]) -> [f32; 3] {
    let (mut y, mut z) = (2.0 * s - 1.0, 2.0 * t - 1.0);
    let x = 1.0 - y.abs() - z.abs();
    // The half with negative x is folded outwards.
    let fold = (-x).max(0.0);
    y += if y < 0.0 { fold } else { -fold };
    z += if z < 0.0 { fold } else { -fold };
    let square = x * x + y * y + z * z;
    if square < 1e-6 {
        return [0.0; 3];
    }
    let length = square.sqrt();
    [x / length, y / length, z / length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_holds_the_sphere() {
        assert_eq!(unit([0.5, 0.5]), [1.0, 0.0, 0.0]);
        assert_eq!(unit([0.0, 0.0]), [-1.0, 0.0, 0.0]);
        assert_eq!(unit([1.0, 0.5]), [0.0, 1.0, 0.0]);
        assert_eq!(unit([0.5, 0.0]), [0.0, 0.0, -1.0]);
        let square = Square { center: 127 };
        for vector in
            [[127, 0, 0], [-127, 0, 0], [0, 127, 0], [0, 0, -127], [40, -50, 37], [-40, 50, 37], [-40, -50, -37]]
        {
            let [s, t] = square.coordinates(vector);
            let unit = unit([s, t].map(|x| x as f32 / 254.0)).map(f64::from);
            let length = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
            assert!((0..3).all(|at| (unit[at] - f64::from(vector[at]) / length).abs() < 1e-6), "{vector:?}: {unit:?}");
        }
    }

    /// Every place of the octahedron can be reached from every other: two ends of its axis, and four times the square of 3 about it.
    #[test]
    fn changes_reach_every_place() {
        let square = Square { center: 3 };
        for foretold in (0..49).map(|at| [at % 7, at / 7]) {
            let mut reached = std::collections::BTreeSet::new();
            for change in (0..49).map(|at| [at % 7, at / 7]) {
                let place = square.restored(foretold, change);
                assert!(place.iter().all(|x| (0..=6).contains(x)), "{place:?}");
                reached.insert(unit(place.map(|x| x as f32 / 6.0)).map(|x| (1e4 * x).round() as i32));
            }
            assert_eq!(reached.len(), 4 * 9 + 2, "{foretold:?}");
        }
    }
}
