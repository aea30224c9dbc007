//! The streams of `KHR_draco_mesh_compression`: triangles and attributes of a primitive in few bytes.
//!
//! [`connectivity`] says how triangles hang together, [`surface`] which corners share a value and in which order values come,
//! [`attributes`] what the values are, with [`predict`] and [`normals`] for what is foretold of each, and [`entropy`] reads symbols that
//! have taken less than a bit each.
//!
//! Source: Google, "Draco Bitstream Specification", 2.2. Not read: older versions of the bitstream, and clouds of points.
//! Departures: where the specification and the reference decoder differ, the decoder counts: the bits of tagged symbols are read without
//! gaps, and numbers without a prediction are read as well.

mod attributes;
mod connectivity;
mod entropy;
mod normals;
mod predict;
mod surface;

use super::stream::{Damage, Rest};
use attributes::Attribute;

/// What a stream holds.
pub(super) struct Mesh {
    /// Over points.
    pub triangles: Vec<[u32; 3]>,
    pub points: usize,
    pub attributes: Vec<Attribute>,
}

/// Counts numbers of eight bytes that are about to be allocated, and fails when they are too many.
pub(super) type Charge<'a> = dyn Fn(u64) -> Result<(), Damage> + 'a;

/// Corners and values that are none.
const NONE: u32 = u32::MAX;

/// Deepest metadata that is passed over.
const DEEPEST: usize = 64;

/// Decodes a stream. All memory is counted with `charge` before it is allocated, in numbers of eight bytes, within a small factor.
///
/// # Errors
/// What is wrong with the stream, or the first error of `charge`.
pub(super) fn decode(stream: &[u8], charge: &Charge<'_>) -> Result<Mesh, Damage> {
    let mut rest = Rest(stream);
    if rest.take(5)? != b"DRACO" {
        return Err("it does not start with \"DRACO\"");
    }
    if rest.array()? != [2, 2] {
        return Err("it is of another version than 2.2");
    }
    if rest.byte()? != 1 {
        return Err("it is no mesh");
    }
    let method = rest.byte()?;
    let flags = u16::from_le_bytes(rest.array()?);
    if flags & 0x8000 != 0 {
        skip_metadata(&mut rest)?;
    }
    match method {
        0 => {
            let (triangles, points) = connectivity::sequential(&mut rest, charge)?;
            let attributes = attributes::decode(&mut rest, None, points, charge)?;
            Ok(Mesh { triangles, points, attributes })
        }
        1 => {
            let edgebreaker = connectivity::edgebreaker(&mut rest, charge)?;
            let shape = surface::Shape::new(edgebreaker)?;
            let attributes = attributes::decode(&mut rest, Some(&shape), shape.points, charge)?;
            let triangles = shape.point.as_chunks::<3>().0.to_vec();
            Ok(Mesh { triangles, points: shape.points, attributes })
        }
        _ => Err("its triangles hang together in an unknown way"),
    }
}

/// Passes over what a stream says of itself.
fn skip_metadata(rest: &mut Rest<'_>) -> Result<(), Damage> {
    for _ in 0..rest.varint()? {
        rest.varint()?;
        skip_element(rest, 0)?;
    }
    skip_element(rest, 0)
}

fn skip_element(rest: &mut Rest<'_>, depth: usize) -> Result<(), Damage> {
    if depth > DEEPEST {
        return Err("its metadata is too deep");
    }
    for _ in 0..rest.varint()? {
        let key = rest.byte()?;
        rest.take(key.into())?;
        let value = rest.varint()?;
        rest.take(value as usize)?;
    }
    for _ in 0..rest.varint()? {
        let key = rest.byte()?;
        rest.take(key.into())?;
        skip_element(rest, depth + 1)?;
    }
    Ok(())
}
