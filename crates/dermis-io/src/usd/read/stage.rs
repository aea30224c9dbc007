//! The composed scene: prims with the values of their attributes.

use super::budget::Budget;
use super::compose::{Composer, Node, Opinion, mapped, text};
use super::damaged;
use super::layer::{DEEPEST, Field, Layer, Name, Numbers, Path, PropertySpec, Specifier, Target, Times, Value};
use crate::contents::ReadError;
use crate::flaws::short;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// A prim of the stage.
pub(super) struct Prim {
    pub parent: Option<usize>,
    pub name: Name,
    /// Its schema, such as "Mesh"; empty if it has none.
    pub kind: Name,
    pub children: Vec<usize>,
    opinions: Vec<Opinion>,
}

/// All prims that are active and defined, those above others first.
pub(super) struct Stage<'a, 'b> {
    pub layers: Vec<Layer<'a>>,
    pub prims: Vec<Prim>,
    by_name: HashMap<(usize, Name), usize>,
    pub budget: &'b Budget,
}

/// What an attribute holds, as its strongest layer says.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'s> {
    pub layer: &'s Layer<'s>,
    pub spec: &'s PropertySpec,
    times: Times,
    budget: &'s Budget,
}

impl<'a, 'b> Stage<'a, 'b> {
    /// Composes all prims.
    pub fn new(mut composer: Composer<'a, '_>, budget: &'b Budget) -> Result<Self, ReadError> {
        let root = composer.root();
        let top = Prim {
            parent: None,
            name: "".into(),
            kind: "".into(),
            children: Vec::new(),
            opinions: composer.opinions(&root)?,
        };
        let (mut prims, mut by_name) = (vec![top], HashMap::new());
        let names = composer.names(&root)?;
        let mut open: Vec<(usize, Vec<Node>, std::vec::IntoIter<Name>)> = vec![(0, root, names.into_iter())];
        while let Some((parent, nodes, names)) = open.last_mut() {
            let Some(name) = names.next() else {
                open.pop();
                continue;
            };
            let (parent, made) = (*parent, composer.child(nodes, &name)?);
            let opinions = composer.opinions(&made)?;
            let specs = || opinions.iter().map(|own| &composer.layers[own.layer].prims[own.spec]);
            let specifier = specs().filter_map(|spec| spec.specifier).find(|own| *own != Specifier::Over);
            let is_active = specs().find_map(|spec| spec.active) != Some(false);
            if specifier != Some(Specifier::Def) || !is_active {
                continue;
            }
            if open.len() > DEEPEST {
                return Err(damaged(format!("its prims are more than {DEEPEST} deep")));
            }
            budget.charge(1000)?;
            let kind = specs().find_map(|spec| spec.kind.clone()).unwrap_or_else(|| "".into());
            let at = prims.len();
            prims[parent].children.push(at);
            by_name.insert((parent, Rc::clone(&name)), at);
            prims.push(Prim { parent: Some(parent), name, kind, children: Vec::new(), opinions });
            let names = composer.names(&made)?;
            open.push((at, made, names.into_iter()));
        }
        Ok(Self { layers: composer.layers, prims, by_name, budget })
    }

    pub fn find(&self, path: &[Name]) -> Option<usize> {
        path.iter().try_fold(0, |at, name| self.by_name.get(&(at, Rc::clone(name))).copied())
    }

    pub fn path(&self, prim: usize) -> String {
        let mut names: Vec<Name> = self.above(prim).map(|at| Rc::clone(&self.prims[at].name)).collect();
        names.pop(); // the root
        names.reverse();
        short(&text(&names))
    }

    /// A prim and those above it.
    pub fn above(&self, prim: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(prim), |&at| self.prims[at].parent)
    }

    pub fn is(&self, prim: usize, kind: &str) -> bool {
        &*self.prims[prim].kind == kind
    }

    fn specs<'s>(
        &'s self,
        prim: usize,
        name: &'s str,
    ) -> impl DoubleEndedIterator<Item = (&'s Opinion, &'s PropertySpec)> {
        self.prims[prim].opinions.iter().filter_map(move |opinion| {
            let spec = self.layers[opinion.layer].prims[opinion.spec].properties.get(name)?;
            Some((opinion, spec))
        })
    }

    /// Names of all properties of a prim, sorted.
    pub fn properties(&self, prim: usize) -> BTreeSet<Name> {
        let own = |opinion: &Opinion| self.layers[opinion.layer].prims[opinion.spec].properties.keys().cloned();
        self.prims[prim].opinions.iter().flat_map(own).collect()
    }

    /// An attribute with a value.
    pub fn attribute<'s>(&'s self, prim: usize, name: &'s str) -> Option<Attribute<'s>> {
        let mut specs = self.specs(prim, name);
        let (own, spec) = specs.find(|(_, spec)| spec.default.is_some() || spec.samples.is_some())?;
        Some(Attribute { layer: &self.layers[own.layer], spec, times: own.times, budget: self.budget })
    }

    /// The first of a prim and those above it that has a value for an attribute.
    pub fn inherited<'s>(&'s self, prim: usize, name: &'s str) -> Option<Attribute<'s>> {
        self.above(prim).find_map(|at| self.attribute(at, name))
    }

    /// What some metadata of a property says, the strongest first.
    pub fn said<'s, T>(&'s self, prim: usize, name: &'s str, f: impl Fn(&'s PropertySpec) -> Option<T>) -> Option<T> {
        self.specs(prim, name).find_map(|(_, spec)| f(spec))
    }

    /// What a relationship names, or what an attribute is connected to.
    pub fn targets(&self, prim: usize, name: &str) -> Result<Vec<Target>, ReadError> {
        let mut list: Vec<Target> = Vec::new();
        for (own, spec) in self.specs(prim, name).rev() {
            let edits = &spec.targets;
            let edited = [&edits.deleted, &edits.prepended, &edits.appended].map(Vec::len).iter().sum::<usize>();
            let items = edited + edits.explicit.as_ref().map_or(0, Vec::len);
            self.budget.charge(64 * (items + list.len()))?;
            let moved = edits.map(|target| Target {
                // A path that means nothing here leads nowhere.
                prim: mapped(&own.map, &target.prim).unwrap_or_else(|| Path::from([Name::from("")])),
                property: target.property.clone(),
            });
            moved.apply(&mut list);
        }
        Ok(list)
    }

    /// The first prim that a relationship names, of a prim or of the first above it that has any.
    pub fn inherited_target(&self, prim: usize, name: &str) -> Result<Option<usize>, ReadError> {
        for at in self.above(prim) {
            if self.specs(at, name).any(|(_, spec)| !spec.targets.is_empty()) {
                return Ok(self.targets(at, name)?.first().and_then(|target| self.find(&target.prim)));
            }
        }
        Ok(None)
    }

    /// The words of an attribute at rest.
    pub fn words(&self, prim: usize, name: &str) -> Result<Vec<Name>, ReadError> {
        match self.attribute(prim, name) {
            Some(attribute) => attribute.words(),
            None => Ok(Vec::new()),
        }
    }

    pub fn word(&self, prim: usize, name: &str) -> Result<Option<Name>, ReadError> {
        Ok(self.words(prim, name)?.into_iter().next())
    }

    /// The numbers of an attribute at rest; empty if it has none.
    pub fn numbers(&self, prim: usize, name: &str) -> Result<Numbers, ReadError> {
        match self.attribute(prim, name) {
            Some(attribute) => attribute.rest(),
            None => Ok(Numbers::default()),
        }
    }
}

impl Attribute<'_> {
    /// The value without a time: what the file says for none, else the first over time.
    fn at_rest(&self) -> Result<Value, ReadError> {
        match (&self.spec.default, &self.spec.samples) {
            (Some(field), _) => self.layer.value(field, self.budget),
            (None, Some(samples)) => match samples.values.first() {
                Some(field) => self.layer.value(field, self.budget),
                None => Ok(Value::Blocked),
            },
            (None, None) => Ok(Value::Blocked),
        }
    }

    pub fn rest(&self) -> Result<Numbers, ReadError> {
        Ok(numbers(self.at_rest()?))
    }

    pub fn words(&self) -> Result<Vec<Name>, ReadError> {
        Ok(match self.at_rest()? {
            Value::Words(words) => words,
            _ => Vec::new(),
        })
    }

    /// Time codes of the stage at which it has values.
    pub fn times(&self) -> Vec<f64> {
        let mut times: Vec<f64> =
            self.spec.samples.iter().flat_map(|own| own.times.iter().map(|time| self.times.apply(*time))).collect();
        if times.windows(2).any(|pair| pair[1] < pair[0]) {
            times.reverse(); // a negative scale
        }
        times
    }

    pub fn is_animated(&self) -> bool {
        self.spec.samples.as_ref().is_some_and(|samples| samples.values.len() > 1)
    }

    /// Whether it has a value without a time.
    pub fn has_default(&self) -> bool {
        self.spec.default.is_some()
    }

    /// Values in the order of [`Self::times`].
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = Result<Numbers, ReadError>> {
        let turned = self.times.apply(1.0) < self.times.apply(0.0);
        let count = self.spec.samples.as_ref().map_or(0, |samples| samples.values.len());
        (0..count).map(move |at| self.sample(if turned { count - 1 - at } else { at }))
    }

    fn sample(&self, at: usize) -> Result<Numbers, ReadError> {
        match self.spec.samples.as_ref().and_then(|samples| samples.values.get(at)) {
            Some(field) => Ok(numbers(self.layer.value(field, self.budget)?)),
            None => Ok(Numbers::default()),
        }
    }

    /// The sample before a place in [`Self::times`], by its number there.
    pub fn nth(&self, at: usize) -> Result<Numbers, ReadError> {
        let turned = self.times.apply(1.0) < self.times.apply(0.0);
        let count = self.spec.samples.as_ref().map_or(0, |samples| samples.values.len());
        self.sample(if turned { count.saturating_sub(1 + at) } else { at })
    }

    /// Whether two samples are the same stored value.
    pub fn is_same_sample(&self, a: usize, b: usize) -> bool {
        let Some(samples) = &self.spec.samples else { return true };
        match (samples.values.get(a), samples.values.get(b)) {
            (Some(Field::Stored(a)), Some(Field::Stored(b))) => a == b,
            _ => false,
        }
    }
}

fn numbers(value: Value) -> Numbers {
    match value {
        Value::Numbers(numbers) => numbers,
        _ => Numbers::default(),
    }
}
