//! Text layers (`.usda`).
//!
//! Source: OpenUSD, `pxr/usd/sdf/textFileFormatParser.h`, whose grammar is the only description of the format.

use super::budget::Budget;
use super::damaged;
use super::layer::{DEEPEST, Field, Layer, ListEdit, Name, PrimSpec, PropertySpec, Reference, Samples, Specifier};
use super::layer::{Numbers, Target, Times, Value, target};
use super::words::Words;
use crate::contents::ReadError;
use std::rc::Rc;

/// Brackets within each other at most, outside of prims.
const NESTED: usize = 32;

/// Reads a text layer.
pub(super) fn layer(bytes: &[u8], budget: &Budget) -> Result<Layer<'static>, ReadError> {
    let mut parser = Parser { at: Words::new(bytes, budget), layer: Layer::default(), path: Vec::new(), budget };
    parser.layer.prims.push(PrimSpec::default());
    match parser.whole() {
        Ok(()) => Ok(parser.layer),
        Err(ReadError::Damaged { format, reason }) if !reason.contains("more memory") => {
            Err(ReadError::Damaged { format, reason: format!("line {}: {reason}", parser.at.line()) })
        }
        Err(error) => Err(error),
    }
}

struct Parser<'a> {
    at: Words<'a>,
    layer: Layer<'static>,
    path: Vec<Name>,
    budget: &'a Budget,
}

/// How a statement edits a list.
#[derive(Clone, Copy, PartialEq)]
enum Edit {
    Explicit,
    Append,
    Prepend,
    Delete,
    Reorder,
}

impl Edit {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "add" | "append" => Self::Append,
            "prepend" => Self::Prepend,
            "delete" => Self::Delete,
            "reorder" => Self::Reorder,
            _ => return None,
        })
    }

    fn put<T>(self, items: Vec<T>, list: &mut ListEdit<T>) {
        match self {
            Self::Explicit => list.explicit = Some(items),
            Self::Append => list.appended = items,
            Self::Prepend => list.prepended = items,
            Self::Delete => list.deleted = items,
            Self::Reorder => {}
        }
    }
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<(), ReadError> {
        self.at.skip_line(); // "#usda 1.0"
        if self.at.take(b'(') {
            self.layer_meta()?;
        }
        while !self.at.is_end() {
            let word = self.at.word()?;
            match specifier(&word) {
                Some(specifier) => self.prim(0, specifier)?,
                None if word == "reorder" => self.reorder()?,
                None => return Err(damaged(format!("\"{word:.50}\" where a prim is expected"))),
            }
        }
        Ok(())
    }

    fn layer_meta(&mut self) -> Result<(), ReadError> {
        while !self.at.take(b')') {
            let Some((_, key)) = self.meta_key()? else { continue };
            match key.as_str() {
                "subLayers" => {
                    self.at.need(b'[')?;
                    while !self.at.take(b']') {
                        let asset = self.at.asset()?;
                        let times = self.times()?;
                        self.layer.meta.sublayers.push((asset, times));
                        self.at.take(b',');
                    }
                }
                "metersPerUnit" | "timeCodesPerSecond" | "framesPerSecond" | "startTimeCode" => {
                    let number = self.number()?;
                    let meta = &mut self.layer.meta;
                    match key.as_str() {
                        "metersPerUnit" => meta.metres_per_unit = Some(number),
                        "timeCodesPerSecond" => meta.time_codes_per_second = Some(number),
                        "startTimeCode" => meta.start_time_code = Some(number),
                        _ => meta.frames_per_second = Some(number),
                    }
                }
                "upAxis" => self.layer.meta.up = Some(self.at.string()?),
                "defaultPrim" => self.layer.meta.default_prim = Some(self.at.string()?),
                _ => {
                    if key == "relocates" {
                        self.layer.meta.unread.push("relocates");
                    }
                    self.skip(0)?;
                }
            }
        }
        Ok(())
    }

    /// What stands before a value in brackets of metadata; `None` for a comment.
    fn meta_key(&mut self) -> Result<Option<(Edit, String)>, ReadError> {
        if self.at.take(b';') || self.at.take(b',') {
            return Ok(None);
        }
        if self.at.peek() == Some(b'"') || self.at.peek() == Some(b'\'') {
            self.at.string()?;
            return Ok(None);
        }
        let mut key = self.at.word()?;
        let edit = Edit::of(&key);
        if edit.is_some() {
            key = self.at.word()?;
        }
        self.at.need(b'=')?;
        Ok(Some((edit.unwrap_or(Edit::Explicit), key)))
    }

    fn prim(&mut self, parent: usize, specifier: Specifier) -> Result<(), ReadError> {
        if self.path.len() >= DEEPEST {
            return Err(damaged(format!("its prims are more than {DEEPEST} deep")));
        }
        let kind = match self.at.peek() {
            Some(b'"' | b'\'') => None,
            _ => {
                let kind = self.at.word()?;
                Some(self.at.intern(&kind))
            }
        };
        let name = self.at.string()?;
        if self.layer.prims[parent].child.contains_key(&name) {
            return Err(damaged(format!("prim \"{name:.100}\" occurs twice")));
        }
        self.budget.charge(1200)?;
        let at = self.layer.child(parent, &name);
        let prim = &mut self.layer.prims[at];
        (prim.specifier, prim.kind) = (Some(specifier), kind);
        self.path.push(name);
        if self.at.take(b'(') {
            self.prim_meta(at)?;
        }
        self.at.need(b'{')?;
        self.body(at, 0)?;
        self.path.pop();
        Ok(())
    }

    /// The statements up to the brace that closes a prim.
    fn body(&mut self, prim: usize, sets: usize) -> Result<(), ReadError> {
        while !self.at.take(b'}') {
            if self.at.take(b';') {
                continue;
            }
            let word = self.at.word()?;
            match (specifier(&word), word.as_str()) {
                (Some(specifier), _) => self.prim(prim, specifier)?,
                (None, "variantSet") => self.variants(prim, sets)?,
                _ => self.property(prim, word)?,
            }
        }
        Ok(())
    }

    fn variants(&mut self, prim: usize, sets: usize) -> Result<(), ReadError> {
        if sets > NESTED {
            return Err(damaged("its variant sets stand too deep within each other"));
        }
        let set = self.at.string()?;
        self.at.need(b'=')?;
        self.at.need(b'{')?;
        while !self.at.take(b'}') {
            let variant = self.at.string()?;
            self.budget.charge(1200)?;
            let at = self.layer.prims.len();
            self.layer.prims.push(PrimSpec::default());
            self.layer.prims[prim].arcs().variants.push((Rc::clone(&set), variant, at));
            if self.at.take(b'(') {
                self.prim_meta(at)?;
            }
            self.at.need(b'{')?;
            self.body(at, sets + 1)?;
        }
        Ok(())
    }

    fn prim_meta(&mut self, prim: usize) -> Result<(), ReadError> {
        while !self.at.take(b')') {
            let Some((edit, key)) = self.meta_key()? else { continue };
            match key.as_str() {
                "references" | "payload" => {
                    let items = self.references()?;
                    let arcs = self.layer.prims[prim].arcs();
                    let list = if key == "payload" { &mut arcs.payloads } else { &mut arcs.references };
                    edit.put(items, list);
                }
                "inherits" | "specializes" => {
                    let items = self.targets()?.into_iter().map(|target| target.prim).collect();
                    let arcs = self.layer.prims[prim].arcs();
                    edit.put(items, if key == "inherits" { &mut arcs.inherits } else { &mut arcs.specializes });
                }
                "variants" => {
                    self.at.need(b'{')?;
                    while !self.at.take(b'}') {
                        if self.at.take(b';') {
                            continue;
                        }
                        self.at.word()?; // "string"
                        let set = self.name()?;
                        self.at.need(b'=')?;
                        let chosen = self.at.string()?;
                        self.layer.prims[prim].arcs().selections.push((set, chosen));
                    }
                }
                "active" | "instanceable" => {
                    let on = self.number()? != 0.0;
                    let prim = &mut self.layer.prims[prim];
                    *(if key == "active" { &mut prim.active } else { &mut prim.instanceable }) = Some(on);
                }
                _ => {
                    if key == "clips" {
                        self.layer.prims[prim].arcs().has_clips = true;
                    }
                    self.skip(0)?;
                }
            }
        }
        Ok(())
    }

    /// A name with or without quotation marks.
    fn name(&mut self) -> Result<Name, ReadError> {
        match self.at.peek() {
            Some(b'"' | b'\'') => self.at.string(),
            _ => {
                let word = self.at.word()?;
                Ok(self.at.intern(&word))
            }
        }
    }

    fn number(&mut self) -> Result<f64, ReadError> {
        match self.value(None)? {
            Value::Numbers(numbers) if numbers.values.len() == 1 => Ok(numbers.values[0]),
            _ => Err(damaged("one number is expected")),
        }
    }

    fn references(&mut self) -> Result<Vec<Reference>, ReadError> {
        self.list(|parser| {
            let asset = match parser.at.peek() {
                Some(b'@') => parser.at.asset()?,
                Some(b'<') => parser.at.intern(""),
                _ => return Err(damaged("a reference names neither a layer nor a prim")),
            };
            let prim = match parser.at.peek() {
                Some(b'<') => Some(parser.target()?.prim).filter(|path| !path.is_empty()),
                _ => None,
            };
            Ok(Reference { asset, prim, times: parser.times()? })
        })
    }

    fn targets(&mut self) -> Result<Vec<Target>, ReadError> {
        self.list(Self::target)
    }

    fn target(&mut self) -> Result<Target, ReadError> {
        let text = self.at.path()?;
        let anchor = std::mem::take(&mut self.path);
        let found = target(&text, &anchor, &mut |name| self.at.intern(name));
        self.path = anchor;
        let found = found.ok_or_else(|| damaged(format!("\"<{text:.100}>\" is no path")))?;
        self.budget.charge(64 + 16 * found.prim.len())?;
        Ok(found)
    }

    /// `None`, one item, or items in brackets.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, ReadError>) -> Result<Vec<T>, ReadError> {
        if self.at.peek() == Some(b'N') && self.at.word()? == "None" {
            return Ok(Vec::new());
        }
        if !self.at.take(b'[') {
            return Ok(vec![item(self)?]);
        }
        let mut items = Vec::new();
        while !self.at.take(b']') {
            self.budget.charge(64)?;
            items.push(item(self)?);
            self.at.take(b',');
        }
        Ok(items)
    }

    /// "(offset = 1; scale = 2)", if it stands here.
    fn times(&mut self) -> Result<Times, ReadError> {
        let (mut offset, mut scale) = (0.0, 1.0);
        if self.at.take(b'(') {
            while !self.at.take(b')') {
                let Some((_, key)) = self.meta_key()? else { continue };
                match key.as_str() {
                    "offset" => offset = self.number()?,
                    "scale" => scale = self.number()?,
                    _ => self.skip(0)?,
                }
            }
        }
        Ok(Times::new(offset, scale))
    }

    fn reorder(&mut self) -> Result<(), ReadError> {
        self.at.word()?;
        self.at.need(b'=')?;
        self.skip(0)
    }

    fn property(&mut self, prim: usize, mut word: String) -> Result<(), ReadError> {
        let edit = Edit::of(&word);
        if edit.is_some() {
            word = self.at.word()?;
            if edit == Some(Edit::Reorder) && (word == "nameChildren" || word == "properties") {
                self.at.need(b'=')?;
                return self.skip(0);
            }
        }
        while matches!(word.as_str(), "custom" | "uniform" | "varying" | "config") {
            word = self.at.word()?;
        }
        if word == "nameChildren" || word == "properties" || word == "relocates" {
            self.at.need(b'=')?;
            return self.skip(0);
        }
        let edit = edit.unwrap_or(Edit::Explicit);
        let mut made = PropertySpec::default();
        let is_relationship = word == "rel";
        if !is_relationship {
            if self.at.take(b'[') {
                self.at.need(b']')?;
                word += "[]";
            }
            made.kind = Some(self.at.intern(&word));
        }
        let name = self.at.word()?;
        let (name, aspect) = name.split_once('.').unwrap_or((&name, ""));
        let name = self.at.intern(name);
        if self.at.take(b'=') {
            match aspect {
                _ if is_relationship => edit.put(self.targets()?, &mut made.targets),
                "connect" => edit.put(self.targets()?, &mut made.targets),
                "timeSamples" => made.samples = Some(self.samples(&word)?),
                "spline" => {
                    made.is_spline = true;
                    self.skip(0)?;
                }
                _ => made.default = Some(Field::Ready(self.value(Some(&word))?)),
            }
        }
        if self.at.take(b'(') {
            while !self.at.take(b')') {
                let Some((_, key)) = self.meta_key()? else { continue };
                match key.as_str() {
                    "interpolation" => made.interpolation = Some(self.at.string()?),
                    "elementSize" => made.element_size = Some(self.number()? as usize),
                    "weight" => made.weight = Some(f64::from(self.number()? as f32)),
                    "bindMaterialAs" => made.is_stronger = &*self.at.string()? == "strongerThanDescendants",
                    _ => self.skip(0)?,
                }
            }
        }
        self.budget.charge(300)?;
        let known = self.layer.prims[prim].properties.entry(name).or_default();
        known.merge(made);
        Ok(())
    }

    fn samples(&mut self, kind: &str) -> Result<Samples, ReadError> {
        self.at.need(b'{')?;
        let mut found: Vec<(f64, Field)> = Vec::new();
        while !self.at.take(b'}') {
            let time = self.at.number()?;
            self.at.need(b':')?;
            self.budget.charge(80)?;
            found.push((time, Field::Ready(self.value(Some(kind))?)));
            self.at.take(b',');
        }
        found.retain(|(time, _)| time.is_finite());
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.dedup_by(|b, a| a.0 == b.0);
        let (times, values) = found.into_iter().unzip();
        Ok(Samples { times, values })
    }

    /// A value of a type; numbers of types with 32 bits are rounded as programs hold them.
    fn value(&mut self, kind: Option<&str>) -> Result<Value, ReadError> {
        let mut made = Gathered::default();
        match self.at.peek() {
            Some(b'[') => {
                self.at.take(b'[');
                while !self.at.take(b']') {
                    self.element(&mut made, 0)?;
                    made.elements += 1;
                    self.at.take(b',');
                }
            }
            Some(b'{') => {
                self.skip(0)?;
                return Ok(Value::Blocked);
            }
            Some(b'N') => match self.at.word()?.as_str() {
                "None" => return Ok(Value::Blocked),
                other => return Err(damaged(format!("\"{other:.50}\" where a value is expected"))),
            },
            Some(b'A') if self.at.word()? == "AnimationBlock" => return Ok(Value::Blocked),
            _ => {
                self.element(&mut made, 0)?;
                made.elements = 1;
            }
        }
        if !made.words.is_empty() {
            return match made.numbers.is_empty() {
                true => Ok(Value::Words(made.words)),
                false => Err(damaged("an array holds words and numbers")),
            };
        }
        let is_word = |kind: &str| ["string", "token", "asset"].iter().any(|word| kind.starts_with(word));
        if made.numbers.is_empty() && kind.is_some_and(is_word) {
            return Ok(Value::Words(Vec::new()));
        }
        let width = made.numbers.len().checked_div(made.elements).unwrap_or(1);
        if width * made.elements != made.numbers.len() {
            return Err(damaged("the elements of an array differ in length"));
        }
        if kind.is_some_and(is_single) {
            made.numbers.iter_mut().for_each(|number| *number = f64::from(*number as f32));
        }
        Ok(Value::Numbers(Numbers { width: width.max(1), values: made.numbers }))
    }

    fn element(&mut self, made: &mut Gathered, depth: usize) -> Result<(), ReadError> {
        if depth > 2 {
            return Err(damaged("the elements of an array stand too deep within each other"));
        }
        match self.at.peek() {
            Some(b'(') => {
                self.at.take(b'(');
                while !self.at.take(b')') {
                    self.element(made, depth + 1)?;
                    self.at.take(b',');
                }
            }
            Some(b'"' | b'\'') => made.words.push(self.at.string()?),
            Some(b'@') => made.words.push(self.at.asset()?),
            Some(b'<') => {
                let path = self.at.path()?;
                made.words.push(self.at.intern(&path));
            }
            _ => {
                self.budget.charge(8)?;
                made.numbers.push(self.at.number()?);
            }
        }
        Ok(())
    }

    /// Passes over a value of any kind.
    fn skip(&mut self, depth: usize) -> Result<(), ReadError> {
        if depth > NESTED {
            return Err(damaged("its brackets stand too deep within each other"));
        }
        let close = match self.at.peek() {
            Some(b'[') => b']',
            Some(b'(') => b')',
            Some(b'{') => b'}',
            Some(b'"' | b'\'') => return self.at.string().map(drop),
            Some(b'@') => {
                self.at.asset()?;
                // A reference may follow with its prim and times.
                return Ok(());
            }
            Some(b'<') => return self.at.path().map(drop),
            _ => return self.at.any().map(drop),
        };
        self.at.any()?;
        while !self.at.take(close) {
            self.skip(depth + 1)?;
        }
        Ok(())
    }
}

/// An array as it is read.
#[derive(Default)]
struct Gathered {
    numbers: Vec<f64>,
    words: Vec<Name>,
    elements: usize,
}

fn specifier(word: &str) -> Option<Specifier> {
    Some(match word {
        "def" => Specifier::Def,
        "over" => Specifier::Over,
        "class" => Specifier::Class,
        _ => return None,
    })
}

/// Whether programs hold the numbers of a type in 32 bits or fewer.
fn is_single(kind: &str) -> bool {
    let kind = kind.trim_end_matches("[]");
    kind == "float" || kind == "half" || kind.ends_with('f') || kind.ends_with('h') || {
        matches!(kind, "float2" | "float3" | "float4" | "half2" | "half3" | "half4")
    }
}

impl PropertySpec {
    /// Adds another statement about the same property.
    fn merge(&mut self, other: Self) {
        let Self { kind, default, samples, targets, interpolation, element_size, weight, is_spline, is_stronger } =
            other;
        self.kind = kind.or(self.kind.take());
        self.default = default.or(self.default.take());
        self.samples = samples.or(self.samples.take());
        self.interpolation = interpolation.or(self.interpolation.take());
        self.element_size = element_size.or(self.element_size);
        self.weight = weight.or(self.weight);
        self.is_spline |= is_spline;
        self.is_stronger |= is_stronger;
        if let Some(explicit) = targets.explicit {
            self.targets.explicit = Some(explicit);
        }
        self.targets.appended.extend(targets.appended);
        self.targets.prepended.extend(targets.prepended);
        self.targets.deleted.extend(targets.deleted);
    }
}
