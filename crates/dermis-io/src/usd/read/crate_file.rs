//! Binary layers (`.usdc`), called crate files: tables of tokens, fields, paths and specs, and values where the fields say.
//!
//! Source: OpenUSD, `pxr/usd/sdf/crateFile.cpp` and `crateDataTypes.h`, which are the only description of the format. Versions 0.4
//! to 0.12 are read; what later minor versions add is met as unknown types of values, which stand for nothing.

use super::budget::Budget;
use super::bytes::At;
use super::damaged;
use super::layer::{DEEPEST, Field, Layer, ListEdit, Name, Path, PrimSpec, PropertySpec, Reference, Samples};
use super::layer::{Specifier, Target, Times, Value};
use super::packed;
use super::values::{self, Rep, kind};
use crate::contents::ReadError;
use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

pub(super) const BEGINNING: &[u8] = b"PXR-USDC";

/// A binary layer with its tables.
pub(super) struct Crate<'a> {
    pub bytes: Cow<'a, [u8]>,
    pub tokens: Vec<Name>,
    /// The token of each string.
    pub strings: Vec<u32>,
    /// Above each path, the token of its last part, negative for a property; `None` for the root.
    paths: Vec<Option<(u32, i32)>>,
    /// Major, minor and patch.
    pub version: [u8; 3],
}

/// What specs are of.
mod spec {
    pub const ATTRIBUTE: i32 = 1;
    pub const PRIM: i32 = 6;
    pub const ROOT: i32 = 7;
    pub const RELATIONSHIP: i32 = 8;
    pub const VARIANT: i32 = 10;
    pub const VARIANT_SET: i32 = 11;
}

/// Fields of all specs.
struct Fields {
    /// Token and value.
    fields: Vec<(u32, u64)>,
    /// Numbers of fields, each set ended by −1.
    sets: Vec<i32>,
}

impl Fields {
    fn of(&self, set: i32) -> Result<&[i32], ReadError> {
        let rest = usize::try_from(set).ok().and_then(|set| self.sets.get(set..));
        let rest = rest.ok_or_else(|| damaged(format!("there is no set {set} of fields")))?;
        let end = rest.iter().position(|field| *field == -1);
        Ok(&rest[..end.ok_or_else(|| damaged("a set of fields has no end"))?])
    }
}

impl<'a> Crate<'a> {
    /// Reads the tables of a layer and all its specs; values of attributes stay where they are.
    pub fn layer(bytes: Cow<'a, [u8]>, budget: &Budget) -> Result<Layer<'a>, ReadError> {
        let (tokens, strings, paths) = (Vec::new(), Vec::new(), Vec::new());
        let mut made = Self { bytes: Cow::Borrowed(&[]), tokens, strings, paths, version: [0; 3] };
        let (fields, specs) = made.tables(&bytes, budget)?;
        made.bytes = bytes;
        made.specs(&fields, &specs, budget)
    }

    fn tables(&mut self, bytes: &[u8], budget: &Budget) -> Result<(Fields, Vec<[i32; 3]>), ReadError> {
        let mut start = At::new(bytes, 8);
        let version = start.take(8)?;
        self.version = [version[0], version[1], version[2]];
        if self.version[0] != 0 || self.version[1] < 4 || self.version[1] > 20 {
            let [major, minor, patch] = self.version;
            return Err(ReadError::Unsupported { feature: format!("version {major}.{minor}.{patch} of binary USD") });
        }
        let mut table = At::new(bytes, start.u64()?);
        let mut sections: HashMap<&[u8], u64> = HashMap::new();
        for _ in 0..table.count(32)? {
            let name = table.take(16)?;
            let name = &name[..name.iter().position(|byte| *byte == 0).unwrap_or(16)];
            sections.insert(name, table.u64()?);
            table.u64()?;
        }
        let section = |name: &str| {
            let start = sections.get(name.as_bytes());
            start.map(|start| At::new(bytes, *start)).ok_or_else(|| damaged(format!("it has no section {name}")))
        };
        let promised = |at: &mut At, per: usize| -> Result<usize, ReadError> {
            let count = at.u64()?;
            // Packed integers may stand for a thousand in a byte.
            let most = (bytes.len() as u64).saturating_mul(1024);
            if count > most || count > u64::from(u32::MAX / 2) {
                return Err(damaged(format!("{count} entries are promised in {} bytes", bytes.len())));
            }
            budget.charge((count as usize).saturating_mul(per))?;
            Ok(count as usize)
        };

        let mut at = section("TOKENS")?;
        let count = promised(&mut at, 40)?;
        let size = at.u64()? as usize;
        let text = packed::bytes(at.sized()?, size, budget)?;
        let mut words = text.split(|byte| *byte == 0);
        budget.charge(text.len())?;
        for _ in 0..count {
            let word = words.next().ok_or_else(|| damaged("it has fewer tokens than it promises"))?;
            self.tokens.push(String::from_utf8_lossy(word).into());
        }
        let mut at = section("STRINGS")?;
        let count = at.count(4)?;
        budget.charge(4 * count)?;
        self.strings = (0..count).map(|_| at.u32()).collect::<Result<_, _>>()?;

        let mut at = section("FIELDS")?;
        let count = promised(&mut at, 16)?;
        let names = packed::integers(at.sized()?, count, budget)?;
        let reps = packed::bytes(at.sized()?, count.saturating_mul(8), budget)?;
        if reps.len() != 8 * count {
            return Err(damaged("it has fewer values than fields"));
        }
        let reps = reps.as_chunks::<8>().0.iter().map(|rep| u64::from_le_bytes(*rep));
        let fields = names.into_iter().map(|name| name as u32).zip(reps).collect();
        let mut at = section("FIELDSETS")?;
        let count = promised(&mut at, 4)?;
        let sets = packed::integers(at.sized()?, count, budget)?;

        let mut at = section("PATHS")?;
        let count = promised(&mut at, 12)?;
        self.paths = vec![None; count];
        let encoded = promised(&mut at, 12)?;
        let places = packed::integers(at.sized()?, encoded, budget)?;
        let parts = packed::integers(at.sized()?, encoded, budget)?;
        let jumps = packed::integers(at.sized()?, encoded, budget)?;
        self.read_paths(&places, &parts, &jumps)?;

        let mut at = section("SPECS")?;
        let count = promised(&mut at, 24)?;
        let paths = packed::integers(at.sized()?, count, budget)?;
        let own = packed::integers(at.sized()?, count, budget)?;
        let kinds = packed::integers(at.sized()?, count, budget)?;
        let specs = (0..count).map(|at| [paths[at], own[at], kinds[at]]).collect();
        Ok((Fields { fields, sets }, specs))
    }

    /// The tree of paths: each entry tells whether one below it comes next, and how far on the one beside it is.
    fn read_paths(&mut self, places: &[i32], parts: &[i32], jumps: &[i32]) -> Result<(), ReadError> {
        let mut open: Vec<(usize, Option<u32>)> = vec![(0, None)];
        let mut visited = 0usize;
        while let Some((mut at, mut above)) = open.pop() {
            while let Some(&place) = places.get(at) {
                visited += 1;
                if visited > places.len() {
                    return Err(damaged("its paths go round in a circle"));
                }
                let missing = || damaged(format!("path {at} has a number of its own beyond all paths"));
                let slot = usize::try_from(place).ok().and_then(|place| self.paths.get_mut(place));
                *slot.ok_or_else(missing)? = above.map(|above| (above, parts[at]));
                let jump = jumps[at];
                let (has_child, has_sibling) = (jump > 0 || jump == -1, jump >= 0);
                if has_child {
                    if has_sibling {
                        open.push((at.saturating_add(jump as usize), above));
                    }
                    above = Some(place as u32);
                } else if !has_sibling {
                    break;
                }
                at += 1;
            }
        }
        Ok(())
    }

    pub fn token(&self, at: u32) -> Result<&Name, ReadError> {
        self.tokens.get(at as usize).ok_or_else(|| damaged(format!("there is no token {at}")))
    }

    pub fn string(&self, at: u32) -> Result<&Name, ReadError> {
        let token = self.strings.get(at as usize).ok_or_else(|| damaged(format!("there is no string {at}")))?;
        self.token(*token)
    }

    /// The last part of a path and the path above it; `None` for the root.
    fn part(&self, path: u32) -> Result<Option<(u32, &Name, bool)>, ReadError> {
        let part = self.paths.get(path as usize).ok_or_else(|| damaged(format!("there is no path {path}")))?;
        let Some((above, token)) = *part else { return Ok(None) };
        Ok(Some((above, self.token(token.unsigned_abs())?, token < 0)))
    }

    /// A path as names, without variants.
    pub fn target(&self, path: u32, budget: &Budget) -> Result<Target, ReadError> {
        let (mut names, mut property, mut at) = (Vec::new(), None, path);
        for depth in 0.. {
            if depth > 2 * DEEPEST {
                return Err(damaged("its paths are too deep"));
            }
            match self.part(at)? {
                None => break,
                Some((above, name, true)) => {
                    property.get_or_insert_with(|| Rc::clone(name));
                    at = above;
                }
                // "[target]" is a part of a relationship, "{set=variant}" of a prim.
                Some((above, name, false)) => {
                    if !name.starts_with(['{', '[']) {
                        names.push(Rc::clone(name));
                    }
                    at = above;
                }
            }
        }
        names.reverse();
        budget.charge(64 + 16 * names.len())?;
        Ok(Target { prim: names.into(), property })
    }

    /// The value that a field of an attribute says.
    pub fn value(&self, rep: u64, budget: &Budget) -> Result<Value, ReadError> {
        values::read(self, Rep(rep), budget)
    }

    fn specs(self, fields: &Fields, specs: &[[i32; 3]], budget: &Budget) -> Result<Layer<'a>, ReadError> {
        let mut layer = Layer::default();
        layer.prims.push(PrimSpec::default());
        // Prims and variants by path, those above first: a path is its own spec's, and its parent may come later.
        let mut place: HashMap<u32, usize> = HashMap::new();
        for [path, ..] in specs.iter().filter(|spec| spec[2] == spec::ROOT) {
            place.insert(*path as u32, 0);
        }
        let prims: HashMap<u32, i32> = (specs.iter())
            .filter(|spec| matches!(spec[2], spec::PRIM | spec::VARIANT | spec::VARIANT_SET))
            .map(|spec| (spec[0] as u32, spec[2]))
            .collect();
        budget.charge(64 * prims.len())?;
        for [path, ..] in specs.iter().filter(|spec| matches!(spec[2], spec::PRIM | spec::VARIANT)) {
            self.place(*path as u32, &prims, &mut place, &mut layer, budget)?;
        }
        for [path, set, kind] in specs {
            let path = *path as u32;
            let own = fields.of(*set)?;
            budget.charge(8 * own.len())?;
            let named = own.iter().map(|&field| {
                let (name, rep) = usize::try_from(field)
                    .ok()
                    .and_then(|field| fields.fields.get(field))
                    .ok_or_else(|| damaged(format!("there is no field {field}")))?;
                Ok::<_, ReadError>((self.token(*name)?, Rep(*rep)))
            });
            match *kind {
                spec::ROOT => {
                    for field in named {
                        let (name, rep) = field?;
                        self.layer_field(&mut layer, name, rep, budget)?;
                    }
                }
                spec::PRIM | spec::VARIANT => {
                    let Some(&at) = place.get(&path) else { continue };
                    for field in named {
                        let (name, rep) = field?;
                        self.prim_field(&mut layer.prims[at], name, rep, budget)?;
                    }
                }
                spec::ATTRIBUTE | spec::RELATIONSHIP => {
                    let Some((above, name, true)) = self.part(path)? else { continue };
                    let Some(&at) = place.get(&above) else { continue };
                    budget.charge(300)?;
                    let mut made = PropertySpec::default();
                    for field in named {
                        let (name, rep) = field?;
                        self.property_field(&mut made, name, rep, budget)?;
                    }
                    layer.prims[at].properties.insert(Rc::clone(name), made);
                }
                _ => {}
            }
        }
        layer.file = Some(self);
        Ok(layer)
    }

    /// The place in the layer of a prim or of a variant, which is made together with those above it.
    fn place(
        &self,
        path: u32,
        prims: &HashMap<u32, i32>,
        place: &mut HashMap<u32, usize>,
        layer: &mut Layer<'_>,
        budget: &Budget,
    ) -> Result<(), ReadError> {
        let mut open = Vec::new();
        let (mut at, mut depth) = (path, 0);
        while !place.contains_key(&at) {
            depth += 1;
            if depth > 2 * DEEPEST {
                return Err(damaged(format!("its prims are more than {DEEPEST} deep")));
            }
            let (above, ..) = self.part(at)?.ok_or_else(|| damaged("a prim stands nowhere"))?;
            open.push((above, at));
            at = above;
        }
        for (above, at) in open.into_iter().rev() {
            let (_, name, _) = self.part(at)?.ok_or_else(|| damaged("a prim stands nowhere"))?;
            let parent = *place.get(&above).ok_or_else(|| damaged("a prim stands nowhere"))?;
            budget.charge(1200)?;
            let made = match name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(chosen) => {
                    let (set, variant) = chosen.split_once('=').unwrap_or((chosen, ""));
                    // "{set=}" is the set itself; its variants stand beside it, below the prim.
                    if prims.get(&at) == Some(&spec::VARIANT_SET) || variant.is_empty() {
                        parent
                    } else {
                        layer.prims.push(PrimSpec::default());
                        let made = layer.prims.len() - 1;
                        layer.prims[parent].arcs().variants.push((set.into(), variant.into(), made));
                        made
                    }
                }
                None => layer.child(parent, name),
            };
            place.insert(at, made);
        }
        Ok(())
    }

    fn layer_field(&self, layer: &mut Layer<'_>, name: &str, rep: Rep, budget: &Budget) -> Result<(), ReadError> {
        let meta = &mut layer.meta;
        match name {
            "metersPerUnit" => meta.metres_per_unit = self.number(rep, budget)?,
            "timeCodesPerSecond" => meta.time_codes_per_second = self.number(rep, budget)?,
            "startTimeCode" => meta.start_time_code = self.number(rep, budget)?,
            "framesPerSecond" => meta.frames_per_second = self.number(rep, budget)?,
            "upAxis" => meta.up = self.word(rep, budget)?,
            "defaultPrim" => meta.default_prim = self.word(rep, budget)?,
            "subLayers" => {
                let names = self.words(rep, budget)?;
                meta.sublayers.resize_with(names.len().max(meta.sublayers.len()), || ("".into(), Times::SAME));
                meta.sublayers.iter_mut().zip(names).for_each(|(own, name)| own.0 = name);
            }
            "subLayerOffsets" if rep.kind() == kind::LAYER_OFFSETS && !rep.is_inlined() => {
                let mut at = At::new(&self.bytes, rep.payload());
                let count = at.count(16)?;
                budget.charge(48 * count)?;
                meta.sublayers.resize_with(count.max(meta.sublayers.len()), || ("".into(), Times::SAME));
                for own in meta.sublayers.iter_mut().take(count) {
                    own.1 = Times::new(at.f64()?, at.f64()?);
                }
            }
            "layerRelocates" => meta.unread.push("relocates"),
            "primChildren" => self.order(&mut layer.prims[0], rep, budget)?,
            _ => {}
        }
        Ok(())
    }

    fn prim_field(&self, prim: &mut PrimSpec, name: &str, rep: Rep, budget: &Budget) -> Result<(), ReadError> {
        match name {
            "specifier" => {
                prim.specifier = match rep.payload() {
                    0 => Some(Specifier::Def),
                    2 => Some(Specifier::Class),
                    _ => Some(Specifier::Over),
                }
            }
            "typeName" => prim.kind = self.word(rep, budget)?,
            "active" => prim.active = self.number(rep, budget)?.map(|on| on != 0.0),
            "instanceable" => prim.instanceable = self.number(rep, budget)?.map(|on| on != 0.0),
            "references" => prim.arcs().references = self.references(rep, budget)?,
            "payload" => prim.arcs().payloads = self.references(rep, budget)?,
            "inheritPaths" => prim.arcs().inherits = self.targets(rep, budget)?.map(|target| Path::clone(&target.prim)),
            "specializes" => prim.arcs().specializes = self.targets(rep, budget)?.map(|t| Path::clone(&t.prim)),
            "variantSelection" if rep.kind() == kind::VARIANT_SELECTIONS => {
                let mut at = At::new(&self.bytes, rep.payload());
                for _ in 0..at.count(8)? {
                    budget.charge(32)?;
                    let chosen = (Rc::clone(self.string(at.u32()?)?), Rc::clone(self.string(at.u32()?)?));
                    prim.arcs().selections.push(chosen);
                }
            }
            "clips" => prim.arcs().has_clips = true,
            "primChildren" => self.order(prim, rep, budget)?,
            _ => {}
        }
        Ok(())
    }

    /// Puts the children of a prim in the order that it states.
    fn order(&self, prim: &mut PrimSpec, rep: Rep, budget: &Budget) -> Result<(), ReadError> {
        let stated = self.words(rep, budget)?;
        let place: HashMap<&Name, usize> = stated.iter().enumerate().map(|(at, name)| (name, at)).collect();
        prim.children.sort_by_key(|name| place.get(name).copied().unwrap_or(usize::MAX));
        Ok(())
    }

    fn property_field(&self, made: &mut PropertySpec, name: &str, rep: Rep, budget: &Budget) -> Result<(), ReadError> {
        match name {
            "typeName" => made.kind = self.word(rep, budget)?,
            "default" => made.default = Some(Field::Stored(rep.0)),
            "timeSamples" if rep.kind() == kind::TIME_SAMPLES => made.samples = Some(self.samples(rep, budget)?),
            "targetPaths" | "connectionPaths" => made.targets = self.targets(rep, budget)?,
            "interpolation" => made.interpolation = self.word(rep, budget)?,
            "elementSize" => made.element_size = self.number(rep, budget)?.map(|size| size as usize),
            "weight" => made.weight = self.number(rep, budget)?,
            "bindMaterialAs" => {
                made.is_stronger = self.word(rep, budget)?.as_deref() == Some("strongerThanDescendants");
            }
            "spline" => made.is_spline = true,
            _ => {}
        }
        Ok(())
    }

    fn samples(&self, rep: Rep, budget: &Budget) -> Result<Samples, ReadError> {
        let mut at = At::new(&self.bytes, rep.payload());
        at.jump()?;
        let times = Rep(at.u64()?);
        at.jump()?;
        let count = at.count(8)?;
        budget.charge(80 * count)?;
        let times = match values::read(self, times, budget)? {
            Value::Numbers(numbers) if numbers.values.len() == count => numbers.values,
            _ => return Err(damaged(format!("{count} values over time have other times"))),
        };
        let values = (0..count).map(|_| at.u64().map(Field::Stored)).collect::<Result<Vec<_>, _>>()?;
        if times.iter().any(|time| !time.is_finite()) || times.windows(2).any(|pair| pair[1] <= pair[0]) {
            return Err(damaged("times of values do not ascend"));
        }
        Ok(Samples { times, values })
    }

    fn number(&self, rep: Rep, budget: &Budget) -> Result<Option<f64>, ReadError> {
        Ok(match values::read(self, rep, budget)? {
            Value::Numbers(numbers) if numbers.values.len() == 1 => Some(numbers.values[0]),
            _ => None,
        })
    }

    fn words(&self, rep: Rep, budget: &Budget) -> Result<Vec<Name>, ReadError> {
        Ok(match values::read(self, rep, budget)? {
            Value::Words(words) => words,
            _ => Vec::new(),
        })
    }

    fn word(&self, rep: Rep, budget: &Budget) -> Result<Option<Name>, ReadError> {
        Ok(self.words(rep, budget)?.into_iter().next())
    }

    fn targets(&self, rep: Rep, budget: &Budget) -> Result<ListEdit<Target>, ReadError> {
        let mut at = At::new(&self.bytes, rep.payload());
        match rep.kind() {
            kind::PATH_LIST => self.edits(&mut at, 4, budget, |at| self.target(at.u32()?, budget)),
            kind::PATHS => {
                let count = at.count(4)?;
                let items = (0..count).map(|_| self.target(at.u32()?, budget)).collect::<Result<_, _>>()?;
                Ok(ListEdit { explicit: Some(items), ..ListEdit::default() })
            }
            _ => Ok(ListEdit::default()),
        }
    }

    fn references(&self, rep: Rep, budget: &Budget) -> Result<ListEdit<Reference>, ReadError> {
        let mut at = At::new(&self.bytes, rep.payload());
        let has_times = rep.kind() == kind::REFERENCE_LIST || self.version >= [0, 8, 0];
        let read = |at: &mut At| {
            let asset = Rc::clone(self.string(at.u32()?)?);
            let prim = Some(self.target(at.u32()?, budget)?.prim).filter(|path| !path.is_empty());
            let times = if has_times { Times::new(at.f64()?, at.f64()?) } else { Times::SAME };
            if rep.kind() == kind::REFERENCE_LIST {
                // Values of a dictionary stand between its keys.
                for _ in 0..at.count(20)? {
                    at.u32()?;
                    at.jump()?;
                    at.u64()?;
                }
            }
            Ok(Reference { asset, prim, times })
        };
        match rep.kind() {
            kind::REFERENCE_LIST | kind::PAYLOAD_LIST => self.edits(&mut at, 8, budget, read),
            kind::PAYLOAD => {
                let item = read(&mut at)?;
                let none = item.asset.is_empty() && item.prim.is_none();
                Ok(ListEdit { explicit: Some(if none { Vec::new() } else { vec![item] }), ..ListEdit::default() })
            }
            _ => Ok(ListEdit::default()),
        }
    }

    fn edits<T>(
        &self,
        at: &mut At,
        size: usize,
        budget: &Budget,
        mut item: impl FnMut(&mut At) -> Result<T, ReadError>,
    ) -> Result<ListEdit<T>, ReadError> {
        let bits = at.u8()?;
        let mut made = ListEdit { explicit: (bits & 1 != 0).then(Vec::new), ..ListEdit::default() };
        for bit in [2, 4, 32, 64, 8, 16] {
            if bits & bit == 0 {
                continue;
            }
            let count = at.count(size)?;
            budget.charge(64 * count)?;
            let items = (0..count).map(|_| item(at)).collect::<Result<Vec<T>, _>>()?;
            match bit {
                2 => made.explicit = Some(items),
                4 | 64 => made.appended.extend(items),
                32 => made.prepended = items,
                8 => made.deleted = items,
                _ => {}
            }
        }
        Ok(made)
    }
}
