//! The objects of a document and what joins them.

use super::document::{Node, Value};
use std::collections::BTreeMap;

/// What stands between the name of an object and its class.
const CLASS: &str = "\0\u{1}";

/// Objects in the making. Numbers count up, so that the same scene gives the same file.
#[derive(Default)]
pub(super) struct Objects {
    list: Vec<Node>,
    connections: Vec<Node>,
    last: i64,
    counts: BTreeMap<&'static str, i32>,
}

/// The number of an object; zero is the scene itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(i64);

impl Id {
    pub(super) const SCENE: Self = Self(0);
}

impl Value for Id {
    fn put(self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
    }
}

impl Objects {
    /// A new object's number and its record, which [`Objects::add`] takes once it is complete.
    ///
    /// - `kind`: the name of the record
    /// - `class`: of the name; most often the same
    /// - `form`: what kind of that kind it is
    pub(super) fn make(&mut self, kind: &'static str, name: &str, class: &str, form: &str) -> (Id, Node) {
        self.last += 1;
        *self.counts.entry(kind).or_default() += 1;
        let id = Id(1_000_000 + self.last);
        (id, Node::of(kind, id).with(&*format!("{name}{CLASS}{class}")).with(form))
    }

    pub(super) fn add(&mut self, object: Node) {
        self.list.push(object);
    }

    /// Hangs an object below another.
    pub(super) fn connect(&mut self, child: Id, parent: Id) {
        self.connections.push(Node::of("C", "OO").with(child).with(parent));
    }

    /// Hangs an object on a property of another.
    pub(super) fn connect_property(&mut self, child: Id, parent: Id, property: &str) {
        self.connections.push(Node::of("C", "OP").with(child).with(parent).with(property));
    }

    /// The records of the document: how many objects of each kind there are, the objects, what joins them.
    pub(super) fn records(self) -> [Node; 3] {
        let count =
            |(kind, count): (&&'static str, &i32)| Node::of("ObjectType", *kind).holding(Node::of("Count", *count));
        let total: i32 = 1 + self.counts.values().sum::<i32>();
        let definitions = Node::new("Definitions")
            .holding(Node::of("Version", 100))
            .holding(Node::of("Count", total))
            .holding(count((&"GlobalSettings", &1)))
            .holding_all(self.counts.iter().map(count));
        let connections = Node::new("Connections").holding_all(self.connections);
        [definitions, Node::new("Objects").holding_all(self.list), connections]
    }
}
