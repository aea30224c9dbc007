//! A layer: prims and properties as one file states them, before anything is composed.

use super::budget::Budget;
use super::crate_file::Crate;
use super::damaged;
use crate::contents::ReadError;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

pub(super) type Name = Rc<str>;

/// The names of a prim and of those above it, from the root.
pub(super) type Path = Rc<[Name]>;

/// Prims above each other at most; a scene has some tens.
pub(super) const DEEPEST: usize = 256;

/// What an attribute holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Numbers, flags as 0 and 1; quaternions as w, x, y, z; matrices row by row, their translation in the last row.
    Numbers(Numbers),
    /// Tokens, strings or names of files.
    Words(Vec<Name>),
    /// No value, which hides those of weaker layers.
    Blocked,
}

/// Numbers of an array, or of one element.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Numbers {
    /// How many each element has.
    pub width: usize,
    pub values: Vec<f64>,
}

/// A value, or where it stands in a binary layer.
#[derive(Clone, Debug)]
pub(super) enum Field {
    Ready(Value),
    Stored(u64),
}

/// A list as a layer edits that of weaker ones.
#[derive(Debug)]
pub(super) struct ListEdit<T> {
    pub explicit: Option<Vec<T>>,
    pub deleted: Vec<T>,
    pub prepended: Vec<T>,
    pub appended: Vec<T>,
}

impl<T> Default for ListEdit<T> {
    fn default() -> Self {
        Self { explicit: None, deleted: Vec::new(), prepended: Vec::new(), appended: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> ListEdit<T> {
    pub fn is_empty(&self) -> bool {
        let lists = [&self.deleted, &self.prepended, &self.appended];
        self.explicit.is_none() && lists.iter().all(|list| list.is_empty())
    }

    /// Edits the list of weaker layers.
    pub fn apply(&self, list: &mut Vec<T>) {
        if let Some(explicit) = &self.explicit {
            list.clone_from(explicit);
        }
        let gone: HashSet<&T> = self.deleted.iter().chain(&self.prepended).chain(&self.appended).collect();
        if gone.is_empty() {
            return;
        }
        list.retain(|item| !gone.contains(item));
        list.splice(0..0, self.prepended.iter().cloned());
        list.extend(self.appended.iter().cloned());
    }

    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> ListEdit<U> {
        let mut all = |list: &Vec<T>| list.iter().map(&mut f).collect::<Vec<U>>();
        ListEdit {
            explicit: self.explicit.as_ref().map(&mut all),
            deleted: all(&self.deleted),
            prepended: all(&self.prepended),
            appended: all(&self.appended),
        }
    }
}

/// A prim of this file or of another that a prim is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reference {
    /// The file; this layer's own if empty.
    pub asset: Name,
    /// The prim; the file's default one if `None`.
    pub prim: Option<Path>,
    pub times: Times,
}

/// How time codes of a layer become those of the one above: t ↦ scale t + offset. Kept as bits, so that references compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Times {
    offset: u64,
    scale: u64,
}

impl Times {
    pub const SAME: Self = Self { offset: 0, scale: 1.0f64.to_bits() };

    pub fn new(offset: f64, scale: f64) -> Self {
        let fine = offset.is_finite() && scale.is_finite() && scale != 0.0;
        if fine { Self { offset: (offset + 0.0).to_bits(), scale: scale.to_bits() } } else { Self::SAME }
    }

    pub fn apply(self, time: f64) -> f64 {
        f64::from_bits(self.scale) * time + f64::from_bits(self.offset)
    }

    /// `inner` followed by this.
    pub fn after(self, inner: Self) -> Self {
        let scale = f64::from_bits(self.scale) * f64::from_bits(inner.scale);
        Self::new(self.apply(f64::from_bits(inner.offset)), scale)
    }
}

/// A prim, or a property of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub prim: Path,
    pub property: Option<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Specifier {
    Def,
    Over,
    Class,
}

/// What a layer says of a prim, or of a prim in one of its variants.
#[derive(Debug, Default)]
pub(super) struct PrimSpec {
    pub specifier: Option<Specifier>,
    pub kind: Option<Name>,
    pub active: Option<bool>,
    pub instanceable: Option<bool>,
    pub arcs: Option<Box<Arcs>>,
    /// Names in order; places in the layer's list.
    pub children: Vec<Name>,
    pub child: HashMap<Name, usize>,
    pub properties: HashMap<Name, PropertySpec>,
}

/// What a prim is made of beside its own opinions.
#[derive(Debug, Default)]
pub(super) struct Arcs {
    pub references: ListEdit<Reference>,
    pub payloads: ListEdit<Reference>,
    pub inherits: ListEdit<Path>,
    pub specializes: ListEdit<Path>,
    /// Variant set and variant.
    pub selections: Vec<(Name, Name)>,
    /// Variant set, variant, its prim in the layer's list.
    pub variants: Vec<(Name, Name, usize)>,
    /// Whether values come from a series of files.
    pub has_clips: bool,
}

/// What a layer says of a property.
#[derive(Debug, Default)]
pub(super) struct PropertySpec {
    /// The type, such as `texCoord2f[]`; empty where only edited.
    pub kind: Option<Name>,
    pub default: Option<Field>,
    pub samples: Option<Samples>,
    /// Of a relationship, or what an attribute is connected to.
    pub targets: ListEdit<Target>,
    pub interpolation: Option<Name>,
    pub element_size: Option<usize>,
    /// Of a shape in between: the weight of the whole shape at which it is shown alone.
    pub weight: Option<f64>,
    pub is_spline: bool,
    pub is_stronger: bool,
}

/// Values over time; time codes ascend.
#[derive(Debug)]
pub(super) struct Samples {
    pub times: Vec<f64>,
    pub values: Vec<Field>,
}

/// What a layer says of the whole.
#[derive(Debug, Default)]
pub(super) struct Meta {
    pub metres_per_unit: Option<f64>,
    pub up: Option<Name>,
    pub time_codes_per_second: Option<f64>,
    pub frames_per_second: Option<f64>,
    pub start_time_code: Option<f64>,
    pub default_prim: Option<Name>,
    pub sublayers: Vec<(Name, Times)>,
    /// Things of the layer that are not read.
    pub unread: Vec<&'static str>,
}

/// One file. Its first prim is the root above all.
#[derive(Default)]
pub(super) struct Layer<'a> {
    pub prims: Vec<PrimSpec>,
    pub meta: Meta,
    /// Where stored values stand.
    pub file: Option<Crate<'a>>,
    /// The folder of the file, within that of the first: empty, or ending in a slash.
    pub folder: String,
}

impl<'a> Layer<'a> {
    /// Reads a text or a binary layer.
    pub fn read(bytes: Cow<'a, [u8]>, folder: &str, budget: &Budget) -> Result<Self, ReadError> {
        let mut made = match bytes.starts_with(super::crate_file::BEGINNING) {
            true => Crate::layer(bytes, budget)?,
            false => super::text::layer(&bytes, budget)?,
        };
        folder.clone_into(&mut made.folder);
        Ok(made)
    }

    /// The value of a field.
    pub fn value(&self, field: &Field, budget: &Budget) -> Result<Value, ReadError> {
        match field {
            Field::Ready(value) => {
                budget.charge(match value {
                    Value::Numbers(numbers) => 8 * numbers.values.len(),
                    Value::Words(words) => 16 * words.len(),
                    Value::Blocked => 0,
                })?;
                Ok(value.clone())
            }
            Field::Stored(at) => match &self.file {
                Some(file) => file.value(*at, budget),
                None => Err(damaged("a value is nowhere")),
            },
        }
    }

    /// Adds a prim below `parent`, or finds it.
    pub fn child(&mut self, parent: usize, name: &Name) -> usize {
        if let Some(&known) = self.prims[parent].child.get(name) {
            return known;
        }
        let at = self.prims.len();
        self.prims.push(PrimSpec::default());
        let above = &mut self.prims[parent];
        above.children.push(Rc::clone(name));
        above.child.insert(Rc::clone(name), at);
        at
    }
}

impl PrimSpec {
    pub fn arcs(&mut self) -> &mut Arcs {
        self.arcs.get_or_insert_default()
    }
}

/// A path as its names, without selections of variants; `None` if it is relative to nothing or names nothing.
pub(super) fn target(text: &str, anchor: &[Name], intern: &mut dyn FnMut(&str) -> Name) -> Option<Target> {
    let (from, last) = text.rsplit_once('/').map_or((0, text), |(head, last)| (head.len() + 1, last));
    let (prim, property) = match last.find('.').filter(|_| !last.starts_with('.')) {
        Some(dot) => (&text[..from + dot], Some(&last[dot + 1..])),
        None => (text, None),
    };
    let absolute = prim.starts_with('/');
    let mut names: Vec<Name> = if absolute { Vec::new() } else { anchor.to_vec() };
    for part in prim.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            names.pop()?;
            continue;
        }
        // "/A{set=variant}B" names a prim in a variant.
        let mut rest = part;
        while !rest.is_empty() {
            let end = rest.find('{').unwrap_or(rest.len());
            if end > 0 {
                names.push(intern(&rest[..end]));
            }
            rest = rest[end..].find('}').map_or("", |close| &rest[end + close + 1..]);
        }
    }
    if names.len() > DEEPEST {
        return None;
    }
    Some(Target { prim: names.into(), property: property.map(intern) })
}
