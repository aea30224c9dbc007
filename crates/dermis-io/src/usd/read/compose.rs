//! What a prim is made of: the specs of all layers that speak of it, the strongest first.
//!
//! Source: "LIVRPS" of the OpenUSD glossary: local opinions go before inherits, variants, references, payloads and specializes,
//! each with all that it is made of itself; specializes come last of all. Not followed: relocates, implied classes (opinions of a
//! referencing layer about the classes of the file it references), the order that `reorder` statements give.

use super::budget::Budget;
use super::damaged;
use super::files::{Files, folder, within};
use super::layer::{Arcs, DEEPEST, Layer, ListEdit, Name, Path, PrimSpec, Reference, Times};
use crate::contents::{Flaw, ReadError};
use crate::flaws::{Flaws, short};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Places a prim is made of at most, and references of references.
const MOST_NODES: usize = 1000;
const LONGEST_CHAIN: usize = 32;

/// What kind of arc leads to a place, in order of strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Arc {
    Local,
    Inherit,
    Variant,
    Reference,
    Payload,
    Specialize,
}

/// Paths below `from` are those below `to` one arc up. Paths outside of a referenced prim mean nothing there; those outside of a
/// class stay.
#[derive(Debug)]
pub(super) struct Step {
    from: Path,
    to: Path,
    keeps_others: bool,
}

/// From the namespace of a place to that of the stage.
pub(super) type Map = Rc<[Rc<Step>]>;

/// The stage's path for one of a place; `None` if it lies outside.
pub(super) fn mapped(map: &Map, path: &Path) -> Option<Path> {
    let mut path = Path::clone(path);
    for step in map.iter() {
        if path.starts_with(&step.from) {
            path = step.to.iter().chain(&path[step.from.len()..]).cloned().collect();
        } else if !step.keeps_others {
            return None;
        }
    }
    Some(path)
}

/// A spec that speaks of a prim.
#[derive(Clone)]
pub(super) struct Opinion {
    pub layer: usize,
    pub spec: usize,
    pub map: Map,
    pub times: Times,
}

/// A place that a prim is made of: a path in a stack of layers.
#[derive(Clone)]
pub(super) struct Node {
    parent: Option<usize>,
    arc: Arc,
    /// How deep the prim is that has the arc: deeper arcs are stronger.
    depth: usize,
    stack: usize,
    path: Path,
    /// Layer, spec and times of it within the place, strongest first.
    specs: Vec<(usize, usize, Times)>,
    map: Map,
    times: Times,
    is_expanded: bool,
}

/// All layers, and what is composed of them.
pub(super) struct Composer<'a, 'f> {
    pub layers: Vec<Layer<'a>>,
    /// A layer with its sublayers, strongest first.
    stacks: Vec<Vec<(usize, Times)>>,
    /// The stack of each file that was asked for; `None` if it cannot be read.
    by_file: HashMap<String, Option<usize>>,
    /// The same of layers.
    read: HashMap<String, Option<usize>>,
    files: &'f Files<'a>,
    pub budget: &'f Budget,
    pub flaws: &'f mut Flaws,
}

impl<'a, 'f> Composer<'a, 'f> {
    pub fn new(
        first: Layer<'a>,
        path: &str,
        files: &'f Files<'a>,
        budget: &'f Budget,
        flaws: &'f mut Flaws,
    ) -> Result<Self, ReadError> {
        let (layers, read) = (vec![first], HashMap::from([(path.to_owned(), Some(0))]));
        let mut made = Self { layers, stacks: Vec::new(), by_file: HashMap::new(), read, files, budget, flaws };
        let stack = made.stack(0, path)?;
        made.by_file.insert(path.to_owned(), Some(stack));
        Ok(made)
    }

    /// A layer with those it is laid over.
    fn stack(&mut self, layer: usize, path: &str) -> Result<usize, ReadError> {
        let mut stack = Vec::new();
        self.add_sublayers(layer, Times::SAME, &mut vec![path.to_owned()], &mut stack)?;
        self.stacks.push(stack);
        Ok(self.stacks.len() - 1)
    }

    fn add_sublayers(
        &mut self,
        layer: usize,
        times: Times,
        open: &mut Vec<String>,
        stack: &mut Vec<(usize, Times)>,
    ) -> Result<(), ReadError> {
        self.budget.charge(64)?;
        if stack.len() >= MOST_NODES {
            return Err(damaged(format!("more than {MOST_NODES} layers lie over each other")));
        }
        stack.push((layer, times));
        for (asset, own) in self.layers[layer].meta.sublayers.clone() {
            let Some(path) = within(&self.layers[layer].folder, &asset) else {
                self.flaws.unread(&format!("layer \"{asset}\" outside of the folder"));
                continue;
            };
            if open.contains(&path) || open.len() > LONGEST_CHAIN {
                self.flaws.add(Flaw::Reference, || format!("layer \"{}\", which is below itself", short(&path)));
                continue;
            }
            let Some(below) = self.read_layer(&path) else { continue };
            open.push(path);
            self.add_sublayers(below, times.after(own), open, stack)?;
            open.pop();
        }
        Ok(())
    }

    fn read_layer(&mut self, path: &str) -> Option<usize> {
        if let Some(known) = self.read.get(path) {
            return *known;
        }
        let read = self.files.read(path).and_then(|bytes| {
            if matches!(bytes, Cow::Owned(_)) {
                self.budget.grow(bytes.len());
            }
            Layer::read(bytes, folder(path), self.budget).map_err(|error| format!("\"{path}\": {error}"))
        });
        let made = match read {
            Ok(layer) => {
                self.layers.push(layer);
                Some(self.layers.len() - 1)
            }
            Err(reason) => {
                self.flaws.add(Flaw::Reference, || short(&reason));
                None
            }
        };
        self.read.insert(path.to_owned(), made);
        made
    }

    /// The stack of another file.
    fn file(&mut self, path: &str) -> Result<Option<usize>, ReadError> {
        if let Some(known) = self.by_file.get(path) {
            return Ok(*known);
        }
        let stack = match self.read_layer(path) {
            Some(layer) => Some(self.stack(layer, path)?),
            None => None,
        };
        self.by_file.insert(path.to_owned(), stack);
        Ok(stack)
    }

    /// The root of the stage.
    pub fn root(&self) -> Vec<Node> {
        vec![self.place(0)]
    }

    /// The root of a stack.
    fn place(&self, stack: usize) -> Node {
        let specs = self.stacks[stack].iter().map(|(layer, times)| (*layer, 0, *times)).collect();
        let map: Map = Rc::new([]);
        let (path, times): (Path, _) = (Rc::new([]), Times::SAME);
        Node { parent: None, arc: Arc::Local, depth: 0, stack, path, specs, map, times, is_expanded: true }
    }

    fn spec(&self, (layer, spec, _): (usize, usize, Times)) -> &PrimSpec {
        &self.layers[layer].prims[spec]
    }

    /// Names of the children of a prim, in the order of the stage.
    pub fn names(&self, nodes: &[Node]) -> Result<Vec<Name>, ReadError> {
        let (mut names, mut known) = (Vec::new(), HashSet::new());
        let hidden = self.is_instance(nodes);
        for at in order(nodes).into_iter().rev().filter(|at| !(hidden && *at == 0)) {
            for &spec in nodes[at].specs.iter().rev() {
                for name in &self.spec(spec).children {
                    if known.insert(Rc::clone(name)) {
                        self.budget.charge(48)?;
                        names.push(Rc::clone(name));
                    }
                }
            }
        }
        Ok(names)
    }

    /// Whether a prim shares all below it with others, so that its own layer says nothing of that.
    fn is_instance(&self, nodes: &[Node]) -> bool {
        let said = |at: usize| nodes[at].specs.iter().find_map(|&spec| self.spec(spec).instanceable);
        nodes.len() > 1 && order(nodes).into_iter().find_map(said) == Some(true)
    }

    /// What a child of a prim is made of, with its own arcs.
    pub fn child(&mut self, nodes: &[Node], name: &Name) -> Result<Vec<Node>, ReadError> {
        let mut made = self.bare_child(nodes, name)?;
        self.expand(&mut made, &mut Vec::new())?;
        self.choose_variants(&mut made, &mut Vec::new())?;
        Ok(made)
    }

    fn bare_child(&self, nodes: &[Node], name: &Name) -> Result<Vec<Node>, ReadError> {
        let hidden = self.is_instance(nodes);
        let below = |at: usize, node: &Node| -> Vec<(usize, usize, Times)> {
            if hidden && at == 0 {
                return Vec::new();
            }
            let child = |&(layer, spec, times): &(usize, usize, Times)| {
                let own = *self.layers[layer].prims[spec].child.get(name)?;
                Some((layer, own, times))
            };
            node.specs.iter().filter_map(child).collect()
        };
        let specs: Vec<_> = nodes.iter().enumerate().map(|(at, node)| below(at, node)).collect();
        // A place stays if it or one that hangs on it speaks of the child.
        let mut kept: Vec<bool> = specs.iter().map(|specs| !specs.is_empty()).collect();
        kept[0] = true;
        for at in (1..nodes.len()).rev() {
            if let (true, Some(parent)) = (kept[at], nodes[at].parent) {
                kept[parent] = true;
            }
        }
        let mut number = vec![0; nodes.len()];
        let mut made: Vec<Node> = Vec::new();
        for (at, (node, specs)) in nodes.iter().zip(specs).enumerate().filter(|(at, _)| kept[*at]) {
            self.budget.charge(500 + 32 * node.path.len() + 64 * specs.len())?;
            number[at] = made.len();
            let parent = node.parent.map(|parent| number[parent]);
            let path: Path = node.path.iter().chain([name]).cloned().collect();
            made.push(Node { parent, path, specs, is_expanded: false, map: Rc::clone(&node.map), ..*node });
        }
        Ok(made)
    }

    /// Adds what the arcs of all places lead to, but for variants.
    fn expand(&mut self, nodes: &mut Vec<Node>, chain: &mut Vec<(usize, Path)>) -> Result<(), ReadError> {
        let mut at = 0;
        while at < nodes.len() {
            if !nodes[at].is_expanded {
                nodes[at].is_expanded = true;
                self.follow(nodes, at, chain)?;
            }
            at += 1;
        }
        Ok(())
    }

    /// Follows the arcs of one place.
    fn follow(&mut self, nodes: &mut Vec<Node>, at: usize, chain: &mut Vec<(usize, Path)>) -> Result<(), ReadError> {
        let specs = nodes[at].specs.clone();
        if specs.iter().all(|&spec| self.spec(spec).arcs.is_none()) {
            return Ok(());
        }
        let (mut inherits, mut specializes) = (Vec::new(), Vec::new());
        let (mut references, mut payloads): (Vec<Reference>, Vec<Reference>) = (Vec::new(), Vec::new());
        for &(layer, spec, times) in specs.iter().rev() {
            let own = &self.layers[layer];
            let Some(arcs) = own.prims[spec].arcs.as_deref() else { continue };
            let Arcs { references: r, payloads: p, inherits: i, specializes: s, .. } = arcs;
            if arcs.has_clips {
                self.flaws.unread("value clips");
            }
            i.apply(&mut inherits);
            s.apply(&mut specializes);
            let anchored = |list: &ListEdit<Reference>| {
                list.map(|item| {
                    // A colon stands in no path within the folder.
                    let outside = || format!(":{}", item.asset);
                    let asset = match item.asset.is_empty() {
                        true => Rc::clone(&item.asset),
                        false => within(&own.folder, &item.asset).unwrap_or_else(outside).into(),
                    };
                    Reference { asset, prim: item.prim.clone(), times: times.after(item.times) }
                })
            };
            anchored(r).apply(&mut references);
            anchored(p).apply(&mut payloads);
        }
        let stack = nodes[at].stack;
        for (arc, paths) in [(Arc::Inherit, inherits), (Arc::Specialize, specializes)] {
            for path in paths {
                self.add(nodes, at, arc, (stack, path, nodes[at].times), chain)?;
            }
        }
        for (arc, list) in [(Arc::Reference, references), (Arc::Payload, payloads)] {
            for Reference { asset, prim, times } in list {
                if let Some(outside) = asset.strip_prefix(':') {
                    self.flaws.unread(&format!("file \"{outside}\" outside of the folder"));
                    continue;
                }
                let target = if asset.is_empty() { Some(stack) } else { self.file(&asset)? };
                let Some(target) = target else { continue };
                let prim = prim.or_else(|| self.default_prim(target));
                let Some(prim) = prim else {
                    self.flaws.add(Flaw::Reference, || format!("\"{}\" has no default prim", short(&asset)));
                    continue;
                };
                let times = nodes[at].times.after(times);
                self.add(nodes, at, arc, (target, prim, times), chain)?;
            }
        }
        Ok(())
    }

    /// The default prim of a file.
    fn default_prim(&self, stack: usize) -> Option<Path> {
        let (first, _) = *self.stacks[stack].first()?;
        let name = self.layers[first].meta.default_prim.as_ref()?;
        Some(name.split('/').filter(|part| !part.is_empty()).map(Name::from).collect())
    }

    /// Adds a place, with all that it is made of, below place `at`.
    fn add(
        &mut self,
        nodes: &mut Vec<Node>,
        at: usize,
        arc: Arc,
        (stack, path, times): (usize, Path, Times),
        chain: &mut Vec<(usize, Path)>,
    ) -> Result<(), ReadError> {
        let above =
            std::iter::successors(Some(at), |&at| nodes[at].parent).map(|at| (nodes[at].stack, &nodes[at].path));
        let mut open = above.chain(chain.iter().map(|(stack, path)| (*stack, path)));
        let is_circle = open.any(|(own, other)| own == stack && (path.starts_with(other) || other.starts_with(&path)));
        if is_circle || chain.len() >= LONGEST_CHAIN || path.is_empty() || path.len() > DEEPEST {
            self.flaws.add(Flaw::Reference, || format!("<{}>, which is made of itself", short(&text(&path))));
            return Ok(());
        }
        chain.push((nodes[at].stack, Path::clone(&nodes[at].path)));
        chain.push((stack, Path::clone(&path)));
        let below = self.site(stack, &path, chain)?;
        chain.truncate(chain.len() - 2);
        if below.iter().all(|node| node.specs.is_empty()) {
            self.flaws.add(Flaw::Reference, || format!("<{}>, which is nowhere", short(&text(&path))));
            return Ok(());
        }
        let base = nodes.len();
        if base + below.len() > MOST_NODES {
            return Err(damaged(format!("prim <{:.200}> is made of too many others", text(&nodes[0].path))));
        }
        let (to, depth) = (Path::clone(&nodes[at].path), nodes[at].path.len());
        // The same layers know all paths of each other.
        let step = Rc::new(Step { from: path, to, keeps_others: stack == nodes[at].stack });
        let onward = Rc::clone(&nodes[at].map);
        for node in below {
            self.budget.charge(600 + 16 * (node.map.len() + onward.len()))?;
            let map = node.map.iter().chain([&step]).chain(onward.iter()).cloned().collect();
            let (parent, arc, depth) = match node.parent {
                Some(parent) => (base + parent, node.arc, node.depth),
                None => (at, arc, depth),
            };
            let own = times.after(node.times);
            nodes.push(Node { parent: Some(parent), arc, depth, map, times: own, is_expanded: true, ..node });
        }
        Ok(())
    }

    /// What the prim of a path in a stack is made of, its own variants not yet among it.
    fn site(&mut self, stack: usize, path: &Path, chain: &mut Vec<(usize, Path)>) -> Result<Vec<Node>, ReadError> {
        let mut nodes = vec![self.place(stack)];
        for (depth, name) in path.iter().enumerate() {
            nodes = self.bare_child(&nodes, name)?;
            self.expand(&mut nodes, chain)?;
            if depth + 1 < path.len() {
                self.choose_variants(&mut nodes, chain)?;
            }
        }
        Ok(nodes)
    }

    /// Adds the chosen variant of every set, and what its arcs lead to.
    fn choose_variants(&mut self, nodes: &mut Vec<Node>, chain: &mut Vec<(usize, Path)>) -> Result<(), ReadError> {
        let mut at = 0;
        while at < nodes.len() {
            let mut sets: Vec<Name> = Vec::new();
            for &spec in &nodes[at].specs {
                for (set, ..) in self.spec(spec).arcs.iter().flat_map(|arcs| &arcs.variants) {
                    self.budget.charge(16)?;
                    if sets.last() != Some(set) && !sets.contains(set) {
                        sets.push(Rc::clone(set));
                    }
                }
            }
            if sets.len() > 64 {
                return Err(damaged("a prim has more than 64 sets of variants"));
            }
            for set in sets {
                self.budget.charge(16 * nodes.len())?;
                let chosen = order(nodes).into_iter().flat_map(|at| nodes[at].specs.iter()).find_map(|&spec| {
                    let selections = &self.spec(spec).arcs.as_ref()?.selections;
                    selections.iter().find(|(own, _)| *own == set).map(|(_, chosen)| Rc::clone(chosen))
                });
                let prim = short(&text(&nodes[0].path));
                let Some(chosen) = chosen.filter(|chosen| !chosen.is_empty()) else {
                    self.flaws.unread(&format!("variants \"{set}\" of <{prim}>: none is chosen"));
                    continue;
                };
                let own = |&(layer, spec, times): &(usize, usize, Times)| {
                    let variants = &self.layers[layer].prims[spec].arcs.as_ref()?.variants;
                    let (.., own) = variants.iter().find(|(own, name, _)| *own == set && *name == chosen)?;
                    Some((layer, *own, times))
                };
                let specs: Vec<_> = nodes[at].specs.iter().filter_map(own).collect();
                self.flaws.unread(&format!("variants other than \"{chosen}\" of \"{set}\" of <{prim}>"));
                if specs.is_empty() {
                    continue;
                }
                if nodes.len() >= MOST_NODES {
                    return Err(damaged(format!("prim <{prim}> is made of too many others")));
                }
                self.budget.charge(300)?;
                let node = Node {
                    parent: Some(at),
                    arc: Arc::Variant,
                    depth: nodes[at].path.len(),
                    specs,
                    ..nodes[at].clone()
                };
                nodes.push(Node { is_expanded: false, ..node });
                self.expand(nodes, chain)?;
            }
            at += 1;
        }
        Ok(())
    }

    /// The specs of all places, strongest first.
    pub fn opinions(&self, nodes: &[Node]) -> Result<Vec<Opinion>, ReadError> {
        let mut made = Vec::new();
        for at in order(nodes) {
            let node = &nodes[at];
            for &(layer, spec, times) in &node.specs {
                self.budget.charge(150)?;
                made.push(Opinion { layer, spec, map: Rc::clone(&node.map), times: node.times.after(times) });
            }
        }
        Ok(made)
    }
}

/// Places in order of strength.
fn order(nodes: &[Node]) -> Vec<usize> {
    if nodes.len() == 1 {
        return vec![0];
    }
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            below[parent].push(at);
        }
    }
    for list in &mut below {
        list.sort_by_key(|&at| (nodes[at].arc, Reverse(nodes[at].depth), at));
    }
    let (mut made, mut last, mut open) = (Vec::with_capacity(nodes.len()), Vec::new(), vec![0]);
    let mut next = 0;
    loop {
        while let Some(at) = open.pop() {
            made.push(at);
            let (special, others): (Vec<usize>, Vec<usize>) =
                below[at].iter().partition(|&&at| nodes[at].arc == Arc::Specialize);
            last.extend(special);
            open.extend(others.into_iter().rev());
        }
        match last.get(next) {
            Some(&at) => open.push(at),
            None => return made,
        }
        next += 1;
    }
}

/// A path as text.
pub(super) fn text(path: &[Name]) -> String {
    path.iter().fold(String::new(), |mut text, name| {
        text.push('/');
        text.push_str(name);
        text
    })
}
