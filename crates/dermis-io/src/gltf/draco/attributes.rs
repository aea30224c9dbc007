//! What the values of attributes are.
//!
//! Source: the Draco specification, sections "Attributes Decoder" and "Sequential …  Attribute Decoder".

use super::super::stream::{Damage, Rest, signed};
use super::entropy::symbols;
use super::predict::{Foretold, Positions, Prediction};
use super::surface::{Sequence, Shape, Surface, sequence};
use super::{Charge, NONE, normals};

/// The values of an attribute.
pub(crate) enum Values {
    Whole(Vec<i64>),
    Floats(Vec<f32>),
}

/// An attribute of a mesh.
pub(crate) struct Attribute {
    /// The number by which a file refers to it.
    pub id: u32,
    /// Numbers per value.
    pub width: usize,
    pub values: Values,
    /// The value of each point; without it, values are those of points.
    of_point: Option<Vec<u32>>,
}

impl Attribute {
    /// The numbers of a point.
    pub fn row(&self, point: usize) -> impl Iterator<Item = f64> {
        let value = self.of_point.as_ref().map_or(point, |of_point| of_point[point] as usize);
        let range = value * self.width..(value + 1) * self.width;
        range.map(|at| match &self.values {
            Values::Whole(whole) => whole[at] as f64, // 32 bits but for what no encoder of glTF writes
            Values::Floats(floats) => f64::from(floats[at]),
        })
    }
}

/// How the values of an attribute are stored.
#[derive(Clone, Copy, PartialEq)]
enum Storage {
    Plain,
    Whole,
    Quantised,
    Normals,
}

struct Described {
    is_position: bool,
    data_type: u8,
    width: usize,
    id: u32,
    storage: Storage,
}

struct Group {
    /// The kind whose seams part the values; none are parted by those of positions.
    kind: Option<usize>,
    method: u8,
    attributes: Vec<Described>,
}

const POSITION: u8 = 0;
const MOST_WIDTH: u8 = 16;

/// Decodes all attributes of a mesh with `points` points.
pub(super) fn decode(
    rest: &mut Rest<'_>,
    shape: Option<&Shape>,
    points: usize,
    charge: &Charge<'_>,
) -> Result<Vec<Attribute>, Damage> {
    let mut groups = Vec::new();
    for _ in 0..rest.byte()? {
        let mut group = Group { kind: None, method: 0, attributes: Vec::new() };
        if let Some(shape) = shape {
            let [kind, of_corners, method] = rest.array()?;
            group.method = method;
            // A kind of attribute that belongs to vertices has no seams.
            if of_corners != 0 {
                group.kind = Some(usize::from(kind)).filter(|&kind| kind < shape.kinds.len());
                group.kind.ok_or("an attribute has seams that are not there")?;
            }
        }
        groups.push(group);
    }
    for group in &mut groups {
        for _ in 0..rest.varint()? {
            let [kind, data_type, width, _normalised] = rest.array()?;
            if width == 0 || width > MOST_WIDTH {
                return Err("an attribute has an impossible number of components");
            }
            let id = rest.varint()?;
            let (is_position, width) = (kind == POSITION, usize::from(width));
            group.attributes.push(Described { is_position, data_type, width, id, storage: Storage::Plain });
        }
        for attribute in &mut group.attributes {
            attribute.storage = match rest.byte()? {
                0 => Storage::Plain,
                1 => Storage::Whole,
                2 => Storage::Quantised,
                3 if attribute.width == 3 => Storage::Normals,
                _ => return Err("an attribute is stored in an unknown way"),
            };
        }
    }
    let mut made: Vec<Attribute> = Vec::new();
    let mut positions: Option<(Vec<i32>, Vec<u32>)> = None;
    for group in groups {
        let surface = shape.map(|shape| group.kind.map_or(&shape.positions, |kind| &shape.kinds[kind]));
        let order = match surface {
            Some(surface) => {
                charge(surface.vertex.len() as u64 / 2)?;
                Some((surface, sequence(surface, group.method)?))
            }
            None => None,
        };
        let of_point = order.as_ref().zip(shape).map(|((surface, order), shape)| of_points(surface, order, shape));
        let of_point = of_point.transpose()?;
        let count = order.as_ref().map_or(points, |(_, order)| order.corner.len());
        let mut raw = Vec::new();
        for described in &group.attributes {
            charge((count as u64).saturating_mul(2 * described.width as u64).saturating_add(points as u64))?;
            let known = positions.as_ref().zip(shape);
            let known = known.map(|((values, of_point), shape)| Positions { values, of_point, point: &shape.point });
            let order = order.as_ref().map(|(surface, order)| (*surface, order));
            raw.push(described.read(rest, order, known, count)?);
            if described.is_position
                && described.width == 3
                && let (Some(Raw::Whole(values)), Some(of_point)) = (raw.last(), &of_point)
            {
                positions.get_or_insert_with(|| (values.clone(), of_point.clone()));
            }
        }
        for (described, raw) in group.attributes.iter().zip(raw) {
            let values = described.finish(rest, raw)?;
            made.push(Attribute { id: described.id, width: described.width, values, of_point: of_point.clone() });
        }
    }
    Ok(made)
}

/// The value of each point.
fn of_points(surface: &Surface, order: &Sequence, shape: &Shape) -> Result<Vec<u32>, Damage> {
    let mut of_point = vec![NONE; shape.points];
    for (corner, &point) in shape.point.iter().enumerate() {
        of_point[point as usize] = order.value[surface.vertex[corner] as usize];
    }
    if of_point.contains(&NONE) { Err("a point has no value") } else { Ok(of_point) }
}

/// Values as they are stored.
enum Raw {
    Whole(Vec<i32>),
    Done(Values),
}

impl Described {
    fn read(
        &self,
        rest: &mut Rest<'_>,
        order: Option<(&Surface, &Sequence)>,
        positions: Option<Positions<'_>>,
        count: usize,
    ) -> Result<Raw, Damage> {
        if self.storage == Storage::Plain {
            return plain(rest, self.data_type, count * self.width).map(Raw::Done);
        }
        let is_normal = self.storage == Storage::Normals;
        let width = if is_normal { 2 } else { self.width };
        let method = rest.byte()? as i8;
        let prediction = Prediction::new(method, order.is_some())?;
        if prediction != Prediction::None {
            let transform = rest.byte()?;
            if transform != if is_normal { 3 } else { 1 } {
                return Err("its differences are of an unknown kind");
            }
        }
        let stored: Vec<u32> = match (rest.byte()?, count * width) {
            (0, count) => {
                let size = usize::from(rest.byte()?);
                if size == 0 || size > 4 {
                    return Err("its numbers have neither one byte nor four");
                }
                let bytes = rest.take(count.checked_mul(size).ok_or("it has too many numbers")?)?;
                let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
                bytes.chunks_exact(size).map(word).collect()
            }
            (_, count) => symbols(rest, count, width)?,
        };
        let has_sign = !is_normal || prediction == Prediction::None;
        let number = |code: u32| if has_sign { signed(code) as i32 } else { code as i32 };
        let mut values: Vec<i32> = stored.into_iter().map(number).collect();
        if prediction != Prediction::None {
            let foretold = Foretold { order, positions, width };
            match is_normal {
                true => normals::restore(rest, prediction, &foretold, &mut values)?,
                false => foretold.restore(rest, prediction, &mut values)?,
            }
        }
        Ok(Raw::Whole(values))
    }

    /// The values as they were before they were stored.
    fn finish(&self, rest: &mut Rest<'_>, raw: Raw) -> Result<Values, Damage> {
        let values = match raw {
            Raw::Done(values) => return Ok(values),
            Raw::Whole(values) => values,
        };
        match self.storage {
            Storage::Plain | Storage::Whole => {
                let number: fn(i32) -> i64 = match self.data_type {
                    1 => |x| i64::from(x as i8),
                    2 => |x| i64::from(x as u8),
                    3 => |x| i64::from(x as i16),
                    4 => |x| i64::from(x as u16),
                    5 => i64::from,
                    6 => |x| i64::from(x as u32),
                    _ => return Err("its whole numbers are of another type"),
                };
                Ok(Values::Whole(values.into_iter().map(number).collect()))
            }
            Storage::Quantised => {
                let mut least = Vec::new();
                for _ in 0..self.width {
                    least.push(f32::from_le_bytes(rest.array()?));
                }
                let range = f32::from_le_bytes(rest.array()?);
                let bits = rest.byte()?;
                if bits == 0 || bits > 30 {
                    return Err("it is quantised to an impossible number of bits");
                }
                let step = range / ((1u32 << bits) - 1) as f32;
                let number = |(value, least): (i32, &f32)| least + value as f32 * step;
                Ok(Values::Floats(values.into_iter().zip(least.iter().cycle()).map(number).collect()))
            }
            Storage::Normals => {
                let bits = rest.byte()?;
                if !(2..=30).contains(&bits) {
                    return Err("it is quantised to an impossible number of bits");
                }
                let most = ((1u32 << bits) - 2) as f32;
                let (pairs, _) = values.as_chunks::<2>();
                Ok(Values::Floats(
                    pairs.iter().flat_map(|&pair| normals::unit(pair.map(|x| x as f32 / most))).collect(),
                ))
            }
        }
    }
}

/// Values that are not compressed.
fn plain(rest: &mut Rest<'_>, data_type: u8, count: usize) -> Result<Values, Damage> {
    fn read<const N: usize, T>(rest: &mut Rest<'_>, count: usize, of: impl Fn([u8; N]) -> T) -> Result<Vec<T>, Damage> {
        let bytes = rest.take(count.checked_mul(N).ok_or("it has too many numbers")?)?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|bytes| of(*bytes)).collect())
    }
    Ok(match data_type {
        1 => Values::Whole(read(rest, count, |[x]: [u8; 1]| i64::from(x as i8))?),
        2 | 11 => Values::Whole(read(rest, count, |[x]: [u8; 1]| i64::from(x))?),
        3 => Values::Whole(read(rest, count, |x| i64::from(i16::from_le_bytes(x)))?),
        4 => Values::Whole(read(rest, count, |x| i64::from(u16::from_le_bytes(x)))?),
        5 => Values::Whole(read(rest, count, |x| i64::from(i32::from_le_bytes(x)))?),
        6 => Values::Whole(read(rest, count, |x| i64::from(u32::from_le_bytes(x)))?),
        9 => Values::Floats(read(rest, count, f32::from_le_bytes)?),
        10 => Values::Floats(read(rest, count, |x| f64::from_le_bytes(x) as f32)?),
        _ => return Err("its numbers are of a type that glTF has not"),
    })
}
