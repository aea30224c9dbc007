//! What is foretold of whole numbers from those before them: nothing, the one before, parallelograms, or a triangle of a texture.
//!
//! Source: Touma & Gotsman, "Triangle Mesh Compression", 1998; the Draco specification, sections on prediction.

use super::super::stream::{Damage, Rest};
use super::NONE;
use super::connectivity::{next, previous, swing_left, swing_right};
use super::entropy::Flags;
use super::surface::{Sequence, Surface};

/// From what a value is foretold.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Prediction {
    None,
    /// The value before.
    Difference,
    /// The triangle beyond.
    Parallelogram,
    /// As many as four triangles around.
    Parallelograms,
    /// The sides of the triangle in space, on the texture.
    Texture,
    /// The triangles around.
    Normal,
}

impl Prediction {
    /// The prediction of the specification's number. A list of triangles (`is_surface` false) knows no neighbours: differences stand for all.
    pub fn new(method: i8, is_surface: bool) -> Result<Self, Damage> {
        Ok(match method {
            -2 => Self::None,
            0 => Self::Difference,
            1 | 4 | 5 | 6 if !is_surface => Self::Difference,
            1 => Self::Parallelogram,
            4 => Self::Parallelograms,
            5 => Self::Texture,
            6 => Self::Normal,
            _ => return Err("its numbers are foretold in an unknown way"),
        })
    }
}

/// Positions that are known already, as whole numbers.
#[derive(Clone, Copy)]
pub(super) struct Positions<'a> {
    pub values: &'a [i32],
    pub of_point: &'a [u32],
    /// The point at each corner.
    pub point: &'a [u32],
}

impl Positions<'_> {
    pub fn at(&self, corner: u32) -> [i64; 3] {
        let value = self.of_point[self.point[corner as usize] as usize] as usize;
        [0, 1, 2].map(|axis| i64::from(self.values[3 * value + axis]))
    }
}

/// From what values are foretold.
pub(super) struct Foretold<'a> {
    pub order: Option<(&'a Surface, &'a Sequence)>,
    pub positions: Option<Positions<'a>>,
    pub width: usize,
}

const MOST_PARALLELOGRAMS: usize = 4;

/// The range that numbers wrap around in.
struct Wrap {
    least: i32,
    most: i32,
}

impl Wrap {
    fn read(rest: &mut Rest<'_>) -> Result<Self, Damage> {
        let (least, most) = (i32::from_le_bytes(rest.array()?), i32::from_le_bytes(rest.array()?));
        if least > most { Err("its numbers have no range") } else { Ok(Self { least, most }) }
    }

    fn restore(&self, foretold: i32, value: &mut i32) {
        let size = i64::from(self.most) - i64::from(self.least) + 1;
        let sum = i64::from(foretold.clamp(self.least, self.most)) + i64::from(*value);
        let wrapped = if sum > self.most.into() {
            sum - size
        } else if sum < self.least.into() {
            sum + size
        } else {
            sum
        };
        *value = wrapped as i32;
    }
}

impl Foretold<'_> {
    /// Turns differences from what is foretold into values, in place.
    pub fn restore(&self, rest: &mut Rest<'_>, prediction: Prediction, values: &mut [i32]) -> Result<(), Damage> {
        match (prediction, self.order) {
            (Prediction::Parallelogram, Some((surface, order))) => {
                let wrap = Wrap::read(rest)?;
                let mut foretold = vec![0; self.width];
                for (at, &corner) in order.corner.iter().enumerate() {
                    if at == 0 || !self.parallelogram(surface, order, at, corner, values, &mut foretold) {
                        self.before(at, values, &mut foretold);
                    }
                    self.restore_one(&wrap, at, &foretold, values);
                }
            }
            (Prediction::Parallelograms, Some((surface, order))) => {
                let mut creases = Vec::new();
                for _ in 0..MOST_PARALLELOGRAMS {
                    let count = rest.varint()?;
                    creases.push((count, if count > 0 { Some(Flags::new(rest)?) } else { None }));
                }
                let wrap = Wrap::read(rest)?;
                self.parallelograms(surface, order, creases, &wrap, values)?;
            }
            (Prediction::Texture, Some((surface, order))) => self.texture(rest, surface, order, values)?,
            (Prediction::Difference, _) => {
                let wrap = Wrap::read(rest)?;
                let mut foretold = vec![0; self.width];
                for at in 0..values.len() / self.width {
                    self.before(at, values, &mut foretold);
                    self.restore_one(&wrap, at, &foretold, values);
                }
            }
            _ => return Err("its numbers are foretold as those of no such attribute"),
        }
        Ok(())
    }

    fn restore_one(&self, wrap: &Wrap, at: usize, foretold: &[i32], values: &mut [i32]) {
        for (value, foretold) in values[at * self.width..].iter_mut().zip(foretold) {
            wrap.restore(*foretold, value);
        }
    }

    /// The value before; zeros of the first.
    pub fn before(&self, at: usize, values: &[i32], foretold: &mut [i32]) {
        match at.checked_sub(1) {
            None => foretold.fill(0),
            Some(before) => foretold.copy_from_slice(&values[before * self.width..at * self.width]),
        }
    }

    /// The fourth corner of the parallelogram over the triangle beyond, if its values are known.
    fn parallelogram(
        &self,
        surface: &Surface,
        order: &Sequence,
        at: usize,
        corner: u32,
        values: &[i32],
        foretold: &mut [i32],
    ) -> bool {
        let beyond = surface.opposite[corner as usize];
        if beyond == NONE {
            return false;
        }
        let known = [beyond, next(beyond), previous(beyond)]
            .map(|corner| order.value[surface.vertex[corner as usize] as usize] as usize);
        if known.iter().any(|&known| known >= at) {
            return false;
        }
        let [tip, a, b] = known.map(|known| &values[known * self.width..]);
        for (component, foretold) in foretold.iter_mut().enumerate() {
            *foretold = a[component].wrapping_add(b[component]).wrapping_sub(tip[component]);
        }
        true
    }

    fn parallelograms(
        &self,
        surface: &Surface,
        order: &Sequence,
        mut creases: Vec<(u32, Option<Flags<'_>>)>,
        wrap: &Wrap,
        values: &mut [i32],
    ) -> Result<(), Damage> {
        let mut found = vec![vec![0; self.width]; MOST_PARALLELOGRAMS];
        let mut foretold = vec![0; self.width];
        for (at, &start) in order.corner.iter().enumerate() {
            let mut count = 0;
            let (mut corner, mut is_left) = (start, true);
            while at > 0 && corner != NONE && count < MOST_PARALLELOGRAMS {
                count += usize::from(self.parallelogram(surface, order, at, corner, values, &mut found[count]));
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
            let mut used = 0i64;
            let mut sums = vec![0i64; self.width];
            if count > 0 {
                let (left, flags) = &mut creases[count - 1];
                for found in &found[..count] {
                    *left = left.checked_sub(1).ok_or("it has too few creases")?;
                    if flags.as_mut().is_some_and(Flags::read) {
                        continue;
                    }
                    used += 1;
                    sums.iter_mut().zip(found).for_each(|(sum, &found)| *sum += i64::from(found));
                }
            }
            match used {
                0 => self.before(at, values, &mut foretold),
                _ => foretold.iter_mut().zip(&sums).for_each(|(foretold, sum)| *foretold = (sum / used) as i32),
            }
            self.restore_one(wrap, at, &foretold, values);
        }
        Ok(())
    }

    /// Texture coordinates from the triangle in space whose other two corners are known.
    fn texture(
        &self,
        rest: &mut Rest<'_>,
        surface: &Surface,
        order: &Sequence,
        values: &mut [i32],
    ) -> Result<(), Damage> {
        let positions = self.positions.filter(|_| self.width == 2).ok_or("its texture has no positions")?;
        let count = u32::from_le_bytes(rest.array()?);
        if count as usize > order.corner.len() {
            return Err("its texture turns more often than it has triangles");
        }
        let mut flags = Flags::new(rest)?;
        let mut is_last = true;
        let mut turns = Vec::with_capacity(count as usize);
        for _ in 0..count {
            is_last ^= !flags.read();
            turns.push(is_last);
        }
        let wrap = Wrap::read(rest)?;
        for (at, &corner) in order.corner.iter().enumerate() {
            let value = |corner: u32| order.value[surface.vertex[corner as usize] as usize] as usize;
            let (a, b) = (value(next(corner)), value(previous(corner)));
            let uv = |value: usize| [0, 1].map(|axis| i64::from(values[2 * value + axis]));
            let mut foretold = None;
            if a < at && b < at {
                let (uv_a, uv_b) = (uv(a), uv(b));
                let places = [corner, next(corner), previous(corner)].map(|corner| positions.at(corner));
                foretold = match uv_a == uv_b {
                    true => Some(uv_b),
                    false => on_texture(places, uv_a, uv_b, &mut turns)?,
                };
            }
            let foretold = foretold.unwrap_or_else(|| match at {
                _ if a < at => uv(a),
                0 => [0, 0],
                _ => uv(at - 1),
            });
            self.restore_one(&wrap, at, &foretold.map(|x| x as i32), values);
        }
        Ok(())
    }
}

/// Where the first of three places comes to lie on a texture that has the others at `a` and `b`; `None` if they are one place. Whole numbers
/// as the specification has them, where only hostile ones overflow.
fn on_texture(
    [tip, next, previous]: [[i64; 3]; 3],
    a: [i64; 2],
    b: [i64; 2],
    turns: &mut Vec<bool>,
) -> Result<Option<[i64; 2]>, Damage> {
    let minus = |a: [i64; 3], b: [i64; 3]| [0, 1, 2].map(|axis| a[axis].wrapping_sub(b[axis]));
    let dot = |a: [i64; 3], b: [i64; 3]| (0..3).fold(0i64, |sum, axis| sum.wrapping_add(a[axis].wrapping_mul(b[axis])));
    let side = minus(previous, next);
    let square = dot(side, side);
    if square == 0 {
        return Ok(None);
    }
    let along = dot(side, minus(tip, next));
    let side_uv = [b[0] - a[0], b[1] - a[1]];
    let foot_uv = [0, 1].map(|axis| a[axis].wrapping_mul(square).wrapping_add(along.wrapping_mul(side_uv[axis])));
    let foot = [0, 1, 2].map(|axis| next[axis].wrapping_add(along.wrapping_mul(side[axis]).wrapping_div(square)));
    let height = minus(tip, foot);
    let root = (dot(height, height) as u64).wrapping_mul(square as u64).isqrt() as i64;
    let across = [side_uv[1].wrapping_mul(root), side_uv[0].wrapping_neg().wrapping_mul(root)];
    let is_positive = turns.pop().ok_or("its texture turns more often than it says")?;
    Ok(Some([0, 1].map(|axis| {
        let sum = match is_positive {
            true => foot_uv[axis].wrapping_add(across[axis]),
            false => foot_uv[axis].wrapping_sub(across[axis]),
        };
        sum.wrapping_div(square)
    })))
}
