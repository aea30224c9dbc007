//! Which vertices belong to which object of a file.
//!
//! OBJ numbers the vertices of all objects through, and its `o` and `g` lines stand before faces. Programs also write each object's
//! vertices under its line, which tells where those belong that no face names.

use dermis_rig::{MOST_OBJECTS, MeshObject, Polygons};
use std::collections::HashMap;

/// The lines that name objects.
#[derive(Default)]
pub(super) struct Sections {
    objects: Vec<Section>,
    groups: Vec<Section>,
    /// Names that are not UTF-8: how many, and the line of the first.
    pub(super) not_utf8: (usize, usize),
}

/// What follows a line that names an object.
struct Section {
    name: String,
    /// Vertices before the line.
    vertices: usize,
    /// Polygons before the line.
    polygons: usize,
}

/// Why the vertices of a file are one object although several are named: how many are.
#[derive(Debug)]
pub(super) struct Inseparable(pub(super) usize);

impl Sections {
    /// Takes an `o` line.
    pub(super) fn object(&mut self, rest: &[u8], line: usize, vertices: usize, polygons: usize) {
        let name = self.name(rest, line);
        self.objects.push(Section { name, vertices, polygons });
    }

    /// Takes a `g` line.
    pub(super) fn group(&mut self, rest: &[u8], line: usize, vertices: usize, polygons: usize) {
        let name = self.name(rest, line);
        self.groups.push(Section { name, vertices, polygons });
    }

    fn name(&mut self, rest: &[u8], line: usize) -> String {
        let text = String::from_utf8_lossy(rest.trim_ascii());
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.not_utf8 = (self.not_utf8.0 + 1, if self.not_utf8.0 == 0 { line } else { self.not_utf8.1 });
        }
        text.into_owned()
    }

    /// The objects of a file of so many vertices; those of its groups if it names no object.
    ///
    /// # Errors
    /// [`Inseparable`] if the objects share vertices, list them by turns, or are too many. Groups that do are parts of one object.
    pub(super) fn objects(mut self, vertices: usize, polygons: &Polygons) -> Result<Vec<MeshObject>, Inseparable> {
        if !self.objects.is_empty() {
            let owners: Vec<usize> = (0..self.objects.len()).collect();
            let found = separated(vertices, polygons, &self.objects, &owners);
            let count = self.objects.len();
            return found.and_then(|of| listed(&of, &mut self.objects)).ok_or(Inseparable(count));
        }
        if self.groups.is_empty() {
            return Ok(Vec::new());
        }
        // A group may go on after another one.
        let mut first: HashMap<String, usize> = HashMap::new();
        let owner = |(at, section): (usize, &Section)| *first.entry(section.name.clone()).or_insert(at);
        let owners: Vec<usize> = self.groups.iter().enumerate().map(owner).collect();
        let found = separated(vertices, polygons, &self.groups, &owners);
        Ok(found.and_then(|of| listed(&of, &mut self.groups)).filter(|objects| objects.len() > 1).unwrap_or_default())
    }
}

/// What stands before the first section.
const BEFORE: usize = usize::MAX;

/// The section of every vertex: that of the faces that name it. Vertices that no face names belong to the line above them, if this is
/// how the file has all others, else to what is before them. `None` if faces of two sections name one vertex.
fn separated(vertices: usize, polygons: &Polygons, sections: &[Section], owners: &[usize]) -> Option<Vec<usize>> {
    let last_before = |at: usize, of: fn(&Section) -> usize| {
        let count = sections.partition_point(|section| of(section) <= at);
        if count == 0 { BEFORE } else { owners[count - 1] }
    };
    let mut named: Vec<Option<usize>> = vec![None; vertices];
    for (polygon, corners) in polygons.iter().enumerate() {
        let own = last_before(polygon, |section| section.polygons);
        for &corner in corners {
            if *named.get_mut(corner as usize)?.get_or_insert(own) != own {
                return None;
            }
        }
    }
    let above: Vec<usize> = (0..vertices).map(|vertex| last_before(vertex, |section| section.vertices)).collect();
    if named.iter().zip(&above).all(|(named, above)| named.is_none_or(|named| named == *above)) {
        return Some(above);
    }
    let mut last = named.iter().flatten().next().copied()?;
    let filled = named.into_iter().map(|named| {
        last = named.unwrap_or(last);
        last
    });
    Some(filled.collect())
}

/// Runs of vertices as objects; `None` if one is interrupted by another, or they are too many.
fn listed(of: &[usize], sections: &mut [Section]) -> Option<Vec<MeshObject>> {
    let mut met = vec![false; sections.len() + 1];
    let mut objects: Vec<MeshObject> = Vec::new();
    for run in of.chunk_by(|a, b| a == b) {
        let met = &mut met[run[0].min(sections.len())];
        if std::mem::replace(met, true) || objects.len() == MOST_OBJECTS {
            return None;
        }
        let name = sections.get_mut(run[0]).map(|section| std::mem::take(&mut section.name)).unwrap_or_default();
        objects.push(MeshObject { name, vertices: u32::try_from(run.len()).ok()?, visible: true });
    }
    Some(objects)
}
