//! The GLB as the page holds it: what the page reads, in whole steps that are fine enough, compressed.
//!
//! The text of a page is a third larger than its bytes, and morph targets are most of them. Positions, deltas and weights become whole
//! multiples of a step; each number is written as its difference from that of the vertex before, byte by byte of significance, because
//! differences on a surface are small. zlib does the rest, and the browser undoes it by itself. viewer/unpack.js reads the result.
//!
//! **Deviation.** Deltas may add up, so their step is the finer the more morph targets there are: in a pose whose weights lie in 0..1, a
//! vertex is at most [`POSITION`] / 2 and [`DELTAS`] / 2 of the character's size per axis from where the GLB has it, before skinning.
//! Influences are multiples of 2⁻²⁰ that sum to one.

use crate::page::skins::diagonal;
use dermis_rig::glam::DVec3;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::io::Write;

/// The step of positions, in sizes of the character.
const POSITION: f64 = 1e-6;
/// The step of all morph targets together, in sizes of the character.
const DELTAS: f64 = 5e-5;
/// Steps of influences from 0 to 1; exact in single precision.
const INFLUENCE: f64 = 1_048_576.0;
/// Codes whose differences fit 32 bits.
const LARGEST_CODE: f64 = (1 << 30) as f64;
/// Attributes that the page reads, by the beginning of their names.
const ATTRIBUTES: [&str; 4] = ["POSITION", "JOINTS_", "WEIGHTS_", "_VERTEX"];

/// A GLB for the page.
pub(super) struct Packed {
    /// What the page holds.
    pub bytes: Vec<u8>,
    /// The farthest that a vertex is from its place in the GLB, in the bind pose and with the worst weights in 0..1, metres.
    pub deviation: f64,
}

/// The bytes compressed by zlib, as the page reads them.
pub(super) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let written = out.write_all(bytes).and_then(|()| out.finish());
    written.unwrap_or_default()
}

/// Returns the GLB as the page holds it; `None` for bytes that are no GLB of a skinned mesh.
pub(super) fn pack(glb: &[u8]) -> Option<Packed> {
    let source = Source::read(glb)?;
    let mut json = source.json.clone();
    let mut packer = Packer { source: &source, accessors: Vec::new(), placed: Map::new(), streams: Vec::new() };
    for unread in ["images", "textures", "samplers", "materials"] {
        json.as_object_mut()?.remove(unread);
    }
    let mut deviation = 0.0;
    for mesh in list(&mut json, "meshes") {
        for primitive in list(mesh, "primitives") {
            deviation = packer.primitive(primitive)?.max(deviation);
        }
    }
    for skin in list(&mut json, "skins") {
        if let Some(matrices) = skin.get_mut("inverseBindMatrices") {
            packer.place(matrices, &Form::Bytes)?;
        }
    }
    for clip in list(&mut json, "animations") {
        for sampler in list(clip, "samplers") {
            packer.place(&mut sampler["input"], &Form::Bytes)?;
            packer.place(&mut sampler["output"], &Form::Bytes)?;
        }
    }
    json["accessors"] = packer.accessors.into();
    json.as_object_mut()?.remove("bufferViews");
    let text = json.to_string();
    let mut bytes = ZlibEncoder::new(Vec::new(), Compression::best());
    bytes.write_all(&u32::try_from(text.len()).ok()?.to_le_bytes()).ok()?;
    bytes.write_all(text.as_bytes()).ok()?;
    for stream in &packer.streams {
        bytes.write_all(stream).ok()?;
    }
    Some(Packed { bytes: bytes.finish().ok()?, deviation })
}

/// The step of a true skin, in sizes of the first one: half of it is a hundredth of a millimetre on a body.
const SKIN: f64 = 1e-5;
/// The code of a number that is not finite.
const NOT_FINITE: i32 = 1 << 30;

/// How a true skin is written.
#[derive(Serialize)]
pub(super) struct PackedSkin {
    planes: usize,
    step: f64,
}

/// Returns true skins as the page holds them, one after the other in the same compressed bytes; `None` for an empty one.
pub(super) fn pack_skins(skins: &[&[[f32; 3]]]) -> (Vec<u8>, Vec<Option<PackedSkin>>) {
    let mut bytes = ZlibEncoder::new(Vec::new(), Compression::best());
    let step = SKIN * skins.iter().find(|skin| !skin.is_empty()).map_or(1.0, |skin| size_of(skin));
    let packed = skins.iter().map(|skin| {
        let points = skin.as_flattened();
        let codes: Vec<i32> = points
            .iter()
            .map(|x| (f64::from(*x) / step).round())
            .map(|code| if code.abs() < LARGEST_CODE { code as i32 } else { NOT_FINITE })
            .collect();
        let (stream, planes) = differences(&codes, 3);
        bytes.write_all(&stream).ok().filter(|()| !skin.is_empty()).map(|()| PackedSkin { planes, step })
    });
    let packed = packed.collect();
    (bytes.finish().unwrap_or_default(), packed)
}

/// The values of a list in an object; none if it has no such list.
fn list<'a>(object: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

/// How an accessor is written.
enum Form {
    /// Its bytes, the first of every number before the second.
    Bytes,
    /// Whole numbers.
    Whole,
    /// Multiples of a step.
    Steps(f64),
    /// These multiples of a step.
    Codes(f64, Vec<i32>),
}

struct Packer<'a> {
    source: &'a Source<'a>,
    /// The accessors of the page, in the order of `streams`.
    accessors: Vec<Value>,
    /// The page's accessor by that of the GLB.
    placed: Map<String, Value>,
    streams: Vec<Vec<u8>>,
}

impl Packer<'_> {
    /// Packs what a primitive names. Returns the largest deviation of a vertex in the bind pose, metres.
    fn primitive(&mut self, primitive: &mut Value) -> Option<f64> {
        primitive.as_object_mut()?.remove("material");
        let attributes = primitive.get_mut("attributes")?.as_object_mut()?;
        attributes.retain(|name, _| ATTRIBUTES.iter().any(|known| name.starts_with(known)));
        let positions = self.source.floats(attributes.get("POSITION")?)?;
        let size = size_of(positions.as_chunks().0);
        let weights: Vec<Value> =
            attributes.iter().filter(|(name, _)| name.starts_with("WEIGHTS_")).map(|(_, at)| at.clone()).collect();
        let mut codes = self.influences(&weights);
        for (name, at) in attributes.iter_mut() {
            let form = match name.as_str() {
                "POSITION" => Form::Steps(POSITION * size),
                "_VERTEX" => Form::Steps(1.0),
                name if name.starts_with("WEIGHTS_") => match codes.as_mut().and_then(|codes| codes.pop()) {
                    Some(codes) => Form::Codes(1.0 / INFLUENCE, codes),
                    None => Form::Bytes,
                },
                _ => Form::Whole,
            };
            self.place(at, &form)?;
        }
        let mut deviations = rounding(&positions, POSITION * size);
        if let Some(indices) = primitive.get_mut("indices") {
            self.place(indices, &Form::Whole)?;
        }
        let count = primitive.get("targets").and_then(Value::as_array).map_or(0, Vec::len);
        let step = DELTAS * size / count.max(1) as f64;
        for target in list(primitive, "targets") {
            let target = target.as_object_mut()?;
            target.retain(|name, _| name == "POSITION");
            if let Some(at) = target.get_mut("POSITION") {
                let deltas = rounding(&self.source.floats(at)?, step);
                deviations.iter_mut().zip(deltas).for_each(|(sum, delta)| *sum += delta);
                self.place(at, &Form::Steps(step))?;
            }
        }
        Some(deviations.into_iter().fold(0.0, f64::max))
    }

    /// Influences as multiples of 1 / [`INFLUENCE`] that sum to one over all sets, the last set first; `None` if they are no floats, or
    /// sum to something else.
    fn influences(&self, sets: &[Value]) -> Option<Vec<Vec<i32>>> {
        let sets: Vec<Vec<f32>> = sets.iter().map(|at| self.source.floats(at)).collect::<Option<_>>()?;
        let mut codes: Vec<Vec<i32>> = sets.iter().map(|set| vec![0; set.len()]).collect();
        for vertex in 0..sets.first()?.len() / 4 {
            let slots = || (0..sets.len()).flat_map(|set| (4 * vertex..4 * vertex + 4).map(move |slot| (set, slot)));
            let value = |(set, slot): (usize, usize)| f64::from(sets[set][slot]);
            let sum: f64 = slots().map(value).sum();
            if sum.is_nan() || (sum - 1.0).abs() > 1e-4 {
                return None;
            }
            slots().for_each(|(set, slot)| codes[set][slot] = (value((set, slot)) * INFLUENCE).round() as i32);
            let total: i32 = slots().map(|(set, slot)| codes[set][slot]).sum();
            // The largest one takes what rounding left.
            let (set, slot) = slots().max_by(|a, b| value(*a).total_cmp(&value(*b)))?;
            codes[set][slot] += INFLUENCE as i32 - total;
        }
        codes.reverse();
        Some(codes)
    }

    /// Packs an accessor, unless it was before, and puts its new number in the place of the old.
    fn place(&mut self, at: &mut Value, form: &Form) -> Option<()> {
        let key = at.to_string();
        if let Some(known) = self.placed.get(&key) {
            *at = known.clone();
            return Some(());
        }
        let mut accessor = self.source.json["accessors"].get(at.as_u64()? as usize)?.clone();
        let (bytes, width, components) = self.source.bytes(at)?;
        // The corners of triangles, where a primitive has them: each is near that of the triangle before.
        let is_list = components == 1 && matches!(form, Form::Whole) && (bytes.len() / width).is_multiple_of(3);
        let components = if is_list { 3 } else { components };
        let of_steps = |step: f64| {
            let floats = self.source.floats(at)?;
            let codes = floats.iter().map(|x| (f64::from(*x) / step).round());
            codes.map(|code| (code.abs() < LARGEST_CODE).then_some(code as i32)).collect::<Option<Vec<i32>>>()
        };
        let (step, codes) = match form {
            Form::Bytes => (None, None),
            Form::Whole if width > 4 || accessor["componentType"] == FLOAT => (None, None),
            Form::Whole => (None, Some(whole(&bytes, width))),
            Form::Steps(step) => (Some(*step), of_steps(*step)),
            Form::Codes(step, codes) => (Some(*step), Some(codes.clone())),
        };
        let (stream, packing) = match codes {
            Some(codes) => {
                let (stream, planes) = differences(&codes, components);
                (stream, json!({ "components": components, "planes": planes, "step": step }))
            }
            None => (planes_of(&bytes, width), json!({ "components": components, "planes": null, "step": null })),
        };
        let object = accessor.as_object_mut()?;
        ["bufferView", "byteOffset", "sparse", "min", "max"].iter().for_each(|name| drop(object.remove(*name)));
        object.insert("packing".into(), packing);
        let number = Value::from(self.accessors.len());
        self.accessors.push(accessor);
        self.streams.push(stream);
        self.placed.insert(key, number.clone());
        *at = number;
        Some(())
    }
}

/// Little-endian numbers of up to four bytes.
fn whole(bytes: &[u8], width: usize) -> Vec<i32> {
    bytes
        .chunks_exact(width)
        .map(|number| number.iter().rev().fold(0, |sum, byte| (sum << 8) | i32::from(*byte)))
        .collect()
}

/// Bytes of numbers, the first of every number before the second.
fn planes_of(bytes: &[u8], width: usize) -> Vec<u8> {
    (0..width).flat_map(|at| bytes.iter().skip(at).step_by(width).copied()).collect()
}

/// Component by component the differences between neighbours, signs in the lowest bit, in so many planes of bytes; and how many.
fn differences(codes: &[i32], components: usize) -> (Vec<u8>, usize) {
    let of = |component: usize| {
        let mut before = 0;
        codes.iter().skip(component).step_by(components).map(move |code| {
            let change = code.wrapping_sub(before);
            before = *code;
            ((change << 1) ^ (change >> 31)) as u32
        })
    };
    let largest = (0..components).flat_map(of).max().unwrap_or(0);
    let planes = (32 - largest.leading_zeros()).div_ceil(8) as usize;
    let mut stream = Vec::with_capacity(codes.len() * planes);
    for component in 0..components {
        for plane in 0..planes {
            stream.extend(of(component).map(|change| (change >> (8 * plane)) as u8));
        }
    }
    (stream, planes)
}

/// How far each point is from the multiple of a step that stands for it.
fn rounding(points: &[f32], step: f64) -> Vec<f64> {
    let off = |x: f32| f64::from(x) - f64::from(((f64::from(x) / step).round() * step) as f32);
    points.chunks_exact(3).map(|p| DVec3::new(off(p[0]), off(p[1]), off(p[2])).length()).collect()
}

/// The diagonal of the box around points; one for a single place, so that a step is never zero.
fn size_of(points: &[[f32; 3]]) -> f64 {
    let size = diagonal(points);
    if size > 0.0 && size.is_finite() { size } else { 1.0 }
}

/// The component type of single precision.
const FLOAT: u32 = 5126;

/// A whole number of the JSON; zero for anything else.
fn number(value: &Value) -> usize {
    value.as_u64().map_or(0, |number| number as usize)
}

/// A GLB that is read.
struct Source<'a> {
    json: Value,
    binary: &'a [u8],
}

impl<'a> Source<'a> {
    fn read(glb: &'a [u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(glb.get(at..at + 4)?.try_into().ok()?) as usize);
        if glb.get(..4)? != b"glTF" || word(16)? != 0x4e4f_534a {
            return None;
        }
        let end = 20 + word(12)?;
        let json = serde_json::from_slice(glb.get(20..end)?).ok()?;
        Some(Self { json, binary: glb.get(end + 8..end + 8 + word(end)?)? })
    }

    /// The bytes of an accessor without gaps, the bytes of a number, and the numbers of an element.
    fn bytes(&self, at: &Value) -> Option<(Cow<'a, [u8]>, usize, usize)> {
        let accessor = self.json["accessors"].get(at.as_u64()? as usize)?;
        let width = match accessor["componentType"].as_u64()? {
            5120 | 5121 => 1,
            5122 | 5123 => 2,
            5125 | 5126 => 4,
            _ => return None,
        };
        let components = match accessor["type"].as_str()? {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            _ => return None,
        };
        let (row, count) = (width * components, number(&accessor["count"]));
        let sparse = accessor.get("sparse");
        let mut bytes = match accessor.get("bufferView") {
            Some(_) => Cow::Borrowed(self.rows(accessor, row, count)?),
            // Zeros, but not more of them than a morph target of some mesh may have.
            None if count <= self.binary.len() => Cow::Owned(vec![0; row * count]),
            None => return None,
        };
        if let Some(sparse) = sparse {
            let (indices, moved) = (&sparse["indices"], number(&sparse["count"]));
            let size = match indices["componentType"].as_u64()? {
                5121 => 1,
                5123 => 2,
                5125 => 4,
                _ => return None,
            };
            let places = self.rows(indices, size, moved)?.chunks_exact(size);
            let values = self.rows(&sparse["values"], row, moved)?.chunks_exact(row);
            let bytes = bytes.to_mut();
            for (place, value) in places.zip(values) {
                let place = place.iter().rev().fold(0, |place, byte| place << 8 | usize::from(*byte));
                bytes.get_mut(place.checked_mul(row)?..)?.get_mut(..row)?.copy_from_slice(value);
            }
        }
        Some((bytes, width, components))
    }

    /// The bytes of `count` elements of `row` bytes that follow each other in the buffer view that `holder` names.
    fn rows(&self, holder: &Value, row: usize, count: usize) -> Option<&'a [u8]> {
        let view = self.json["bufferViews"].get(holder["bufferView"].as_u64()? as usize)?;
        if view.get("byteStride").map_or(row, number) != row {
            return None;
        }
        let from = number(&view["byteOffset"]).checked_add(number(&holder["byteOffset"]))?;
        self.binary.get(from..from.checked_add(count.checked_mul(row)?)?)
    }

    /// An accessor of single precision.
    fn floats(&self, at: &Value) -> Option<Vec<f32>> {
        let accessor = self.json["accessors"].get(at.as_u64()? as usize)?;
        let (bytes, ..) = self.bytes(at).filter(|_| accessor["componentType"] == FLOAT)?;
        Some(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// A GLB of four vertices with two sets of numbers that do not fall on steps, one morph target, and influences.
    fn glb() -> (Vec<u8>, Vec<f32>, Vec<f32>) {
        let positions: Vec<f32> = (0..12).map(|i| (1.7 * i as f32).sin()).collect();
        let deltas: Vec<f32> = (0..12).map(|i| if i < 3 { 0.0 } else { 0.01 * (2.3 * i as f32).cos() }).collect();
        let weights: Vec<f32> = (0..4).flat_map(|v| [0.3 + 0.1 * v as f32, 0.7 - 0.1 * v as f32, 0.0, 0.0]).collect();
        let mut binary = Vec::new();
        let mut views = Vec::new();
        let mut add = |bytes: Vec<u8>| {
            views.push(json!({ "buffer": 0, "byteOffset": binary.len(), "byteLength": bytes.len() }));
            binary.extend(bytes);
        };
        for list in [&positions, &deltas, &weights] {
            add(list.iter().flat_map(|x| x.to_le_bytes()).collect());
        }
        add([0, 1, 0, 0].repeat(4));
        add([0u16, 1, 2, 0, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect());
        let accessor = |view: usize, kind: u32, shape: &str, count: usize| json!({ "bufferView": view, "componentType": kind, "type": shape, "count": count });
        let json = json!({
            "accessors": [accessor(0, FLOAT, "VEC3", 4), accessor(1, FLOAT, "VEC3", 4), accessor(2, FLOAT, "VEC4", 4),
                accessor(3, 5121, "VEC4", 4), accessor(4, 5123, "SCALAR", 6)],
            "bufferViews": views,
            "materials": [{}],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0, "NORMAL": 0, "JOINTS_0": 3, "WEIGHTS_0": 2 },
                "indices": 4, "material": 0, "targets": [{ "POSITION": 1, "NORMAL": 1 }] }] }],
        });
        let mut text = json.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut glb = b"glTF".to_vec();
        let words = [2, (28 + text.len() + binary.len()) as u32, text.len() as u32, 0x4e4f_534a];
        words.iter().for_each(|word| glb.extend(word.to_le_bytes()));
        glb.extend(text);
        [binary.len() as u32, 0x004e_4942].iter().for_each(|word| glb.extend(word.to_le_bytes()));
        glb.extend(binary);
        (glb, positions, deltas)
    }

    /// The numbers of an accessor by the rule that the module states, written apart from the packer.
    fn numbers(json: &Value, stream: &mut &[u8], at: usize) -> Vec<f64> {
        let accessor = &json["accessors"][at];
        let packing = &accessor["packing"];
        let width = ["SCALAR", "VEC2", "VEC3", "VEC4"].iter().position(|name| accessor["type"] == *name).unwrap() + 1;
        let total = width * accessor["count"].as_u64().unwrap() as usize;
        let (components, planes) =
            (packing["components"].as_u64().unwrap() as usize, packing["planes"].as_u64().unwrap() as usize);
        let mut out = vec![0.0; total];
        let each = total / components;
        for c in 0..components {
            let (now, later) = stream.split_at(each * planes);
            *stream = later;
            let mut code = 0i64;
            for i in 0..each {
                let change: i64 = (0..planes).map(|p| i64::from(now[p * each + i]) << (8 * p)).sum();
                code += if change % 2 == 0 { change / 2 } else { -(change + 1) / 2 };
                out[components * i + c] = code as f64 * packing["step"].as_f64().unwrap_or(1.0);
            }
        }
        out
    }

    #[test]
    fn numbers_come_back_within_the_stated_deviation() {
        let (glb, positions, deltas) = glb();
        let packed = pack(&glb).unwrap();
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(&packed.bytes[..]).read_to_end(&mut bytes).unwrap();
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let json: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        let primitive = &json["meshes"][0]["primitives"][0];
        assert!(json.get("materials").is_none() && primitive.get("material").is_none());
        assert_eq!(primitive["attributes"].as_object().unwrap().len(), 3, "normals are left out");
        let mut stream = &bytes[4 + length..];
        let all: Vec<Vec<f64>> = (0..5).map(|at| numbers(&json, &mut stream, at)).collect();
        assert!(stream.is_empty());
        let of = |value: &Value| &all[value.as_u64().unwrap() as usize];
        let back = (of(&primitive["attributes"]["POSITION"]), of(&primitive["targets"][0]["POSITION"]));
        assert_eq!(*of(&primitive["indices"]), [0.0, 1.0, 2.0, 0.0, 2.0, 3.0]);
        assert_eq!(of(&primitive["attributes"]["JOINTS_0"])[..4], [0.0, 1.0, 0.0, 0.0]);
        for row in of(&primitive["attributes"]["WEIGHTS_0"]).chunks(4) {
            assert_eq!(row.iter().sum::<f64>(), 1.0);
        }
        let off = |v: usize, list: &[f64], exact: &[f32]| -> f64 {
            (3 * v..3 * v + 3).map(|i| (list[i] - f64::from(exact[i])).powi(2)).sum::<f64>().sqrt()
        };
        let worst = (0..4).map(|v| off(v, back.0, &positions) + off(v, back.1, &deltas)).fold(0.0, f64::max);
        assert!((worst - packed.deviation).abs() < 1e-7, "{worst} {}", packed.deviation);
        assert!(
            packed.deviation > 0.0 && packed.deviation < 5e-5 * size_of(positions.as_chunks().0),
            "{}",
            packed.deviation
        );
    }

    #[test]
    fn true_skins_come_back_within_half_a_step() {
        let skin: Vec<[f32; 3]> = (0..50).map(|i| [(0.3 * i as f32).sin(), 0.02 * i as f32, f32::NAN]).collect();
        let moved: Vec<[f32; 3]> = skin.iter().map(|p| [p[0] + 5.0, p[1], p[1]]).collect();
        let (bytes, packed) = pack_skins(&[&[], &skin, &moved]);
        assert!(packed[0].is_none());
        let mut inflated = Vec::new();
        flate2::read::ZlibDecoder::new(&bytes[..]).read_to_end(&mut inflated).unwrap();
        let mut stream = &inflated[..];
        for (skin, packed) in [&skin, &moved].into_iter().zip(packed.iter().flatten()) {
            let accessor = json!({ "accessors": [{ "type": "VEC3", "count": 50,
                "packing": { "components": 3, "planes": packed.planes, "step": packed.step } }] });
            assert!(packed.step < 2.5e-5, "{}", packed.step);
            for (x, back) in skin.as_flattened().iter().zip(numbers(&accessor, &mut stream, 0)) {
                let is_same = (f64::from(*x) - back).abs() <= 0.5001 * packed.step;
                assert!(is_same || x.is_nan() && back == f64::from(NOT_FINITE) * packed.step, "{x} {back}");
            }
        }
        assert!(stream.is_empty());
    }

    /// A sparse morph target is packed as the same one in full, and one without bytes as zeros.
    #[test]
    fn sparse_accessors_are_packed_in_full() {
        let (glb, _, deltas) = glb();
        let source = Source::read(&glb).unwrap();
        let mut json = source.json.clone();
        // Row 1, as the second byte of the joints says, and the second row of the deltas.
        json["accessors"] = json!([
            { "componentType": FLOAT, "type": "VEC3", "count": 4 },
            { "componentType": FLOAT, "type": "VEC3", "count": 4, "sparse": { "count": 1,
                "indices": { "bufferView": 3, "byteOffset": 1, "componentType": 5121 },
                "values": { "bufferView": 1, "byteOffset": 12 } } },
            { "componentType": FLOAT, "type": "VEC3", "count": 1, "sparse": { "count": 1,
                "indices": { "bufferView": 3, "byteOffset": 1, "componentType": 5121 }, "values": { "bufferView": 1 } } },
            { "componentType": FLOAT, "type": "VEC3", "count": 1u64 << 40 },
        ]);
        let source = Source { json, binary: source.binary };
        assert_eq!(source.floats(&json!(0)).unwrap(), [0.0; 12]);
        let mut expected = vec![0.0; 12];
        expected[3..6].copy_from_slice(&deltas[3..6]);
        assert_eq!(source.floats(&json!(1)).unwrap(), expected);
        assert!(source.floats(&json!(2)).is_none() && source.floats(&json!(3)).is_none());
    }

    /// Bytes that are no such GLB are left as they are, wherever they end.
    #[test]
    fn other_bytes_are_not_packed() {
        let (glb, ..) = glb();
        assert!(pack(b"").is_none() && pack(b"glTF and more").is_none());
        assert!((0..glb.len()).all(|end| pack(&glb[..end]).is_none()));
    }
}
