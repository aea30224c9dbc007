//! A sequence of OBJ files, one shape each.

use super::read::ObjFile;
use crate::contents::Resolve;
use crate::surface::{self, LeftOut};
use crate::{Contents, Flaw, Format, ReadError, Record, Space};
use dermis_rig::glam::DVec3;
use std::cmp::Ordering;

/// Files of a sequence, read one after the other: the mesh of the first that is finite, and a record for each.
///
/// Put the names in order with [`natural_order`] first: `walk.2.obj` before `walk.10.obj`.
/// ```
/// # use dermis_io::{Space, obj};
/// let no_file = |_: &str, _| Err(std::io::ErrorKind::NotFound.into());
/// let mut sequence = obj::Sequence::new("walk", &Space::default());
/// for (name, bytes) in [("a1.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3"), ("a2.obj", b"v 0 0 1\nv 1 0 1\nv 0 1 1\nf 1 2 3")] {
///     sequence.push(name, bytes, &no_file)?;
/// }
/// assert_eq!(sequence.finish()?.records.len(), 2);
/// # Ok::<(), dermis_io::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Sequence {
    contents: Contents,
    left_out: LeftOut,
    other_faces: Vec<String>,
}

impl Sequence {
    /// A sequence without files; `name` is what it is called in messages.
    pub fn new(name: &str, space: &Space) -> Self {
        let contents = Contents { name: name.into(), format: Format::Obj, space: space.clone(), ..Contents::default() };
        Self { contents, left_out: LeftOut::default(), other_faces: Vec::new() }
    }

    /// Adds a file; the record is labelled with its name without ending. With `resolve`, materials of the first are read.
    ///
    /// # Errors
    /// [`ReadError`] if it cannot be read or has another number of vertices than those before. A file that is not finite
    /// is left out, and one with other faces counted: its vertices may be in another order.
    pub fn push(&mut self, name: &str, bytes: &[u8], resolve: &Resolve<'_>) -> Result<(), ReadError> {
        let space = &self.contents.space;
        space.check()?;
        let file = ObjFile::parse(bytes)?;
        let to_ours = space.to_ours();
        let positions: Vec<DVec3> = file.positions.iter().map(|p| to_ours.transform_point3(*p)).collect();
        if !positions.iter().all(|p| p.is_finite()) {
            self.left_out.leave(name.into(), &positions);
            return Ok(());
        }
        self.left_out.keep();
        match &self.contents.mesh {
            None => self.contents.mesh = Some(file.mesh(space, &(name, resolve), &mut self.contents.warnings)?),
            Some(first) => {
                let (found, expected) = (positions.len(), first.positions.len());
                if found != expected {
                    let reason = format!("\"{name}\" has {found} vertices, but the files before it have {expected}");
                    return Err(ReadError::Damaged { format: Format::Obj, reason });
                }
                if first.polygons.as_ref().is_none_or(|p| p.counts != file.counts || p.indices != file.corners) {
                    self.other_faces.push(format!("faces of \"{name}\" differ from those of the first file"));
                }
            }
        }
        let label = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
        let positions = Some(positions);
        self.contents.records.push(Record { label, time: None, pose: None, positions, importance: 1.0, local: None });
        Ok(())
    }

    /// The mesh and the records.
    ///
    /// # Errors
    /// [`ReadError`] if no file could be used.
    pub fn finish(mut self) -> Result<Contents, ReadError> {
        if self.contents.mesh.is_none() {
            return Err(self.left_out.error());
        }
        self.left_out.tell(&mut self.contents);
        surface::count(&mut self.contents.warnings, Flaw::CountMismatch, self.other_faces);
        Ok(self.contents)
    }
}

/// The order in which people number files: runs of digits compare as numbers, everything else byte by byte.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(l), Some(r)) = (left.first(), right.first()) {
        if l.is_ascii_digit() && r.is_ascii_digit() {
            let (number_l, rest_l) = digits(left);
            let (number_r, rest_r) = digits(right);
            match number_l.len().cmp(&number_r.len()).then(number_l.cmp(number_r)) {
                Ordering::Equal => (left, right) = (rest_l, rest_r),
                different => return different,
            }
        } else if l == r {
            (left, right) = (&left[1..], &right[1..]);
        } else {
            return l.cmp(r);
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// The digits at the start without leading zeros, and what follows.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let (number, rest) = text.split_at(text.iter().position(|c| !c.is_ascii_digit()).unwrap_or(text.len()));
    (&number[number.iter().position(|c| *c != b'0').unwrap_or(number.len())..], rest)
}
