//! Wavefront OBJ: one mesh, or a sequence of files with a shape each.
//!
//! The `v` lines are the vertices, in their order and all of them, because examples are matched by order. Read are `v`
//! (with colours, if there are any), `vt`, `f`, `usemtl`; normals, groups and smoothing are passed over, curves, lines
//! and points counted. OBJ states neither axes nor unit, so the caller does.

use crate::surface;
use crate::{Contents, Flaw, Format, ReadError, Record, Space, WriteError};
use dermis_rig::glam::{DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Mesh, Polygons, RenderMesh};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Reads one mesh. If it has texture coordinates, its vertices split where these differ are in [`Mesh::render`].
///
/// # Errors
/// [`ReadError`], naming the line.
pub fn read(bytes: &[u8], name: &str, space: &Space) -> Result<Contents, ReadError> {
    space.check()?;
    let file = ObjFile::parse(bytes)?;
    let mut contents = Contents { name: name.into(), format: Format::Obj, space: space.clone(), ..Contents::default() };
    contents.mesh = Some(file.mesh(space, &mut contents.warnings)?);
    Ok(contents)
}

/// Files of a sequence, read one after the other: the mesh of the first that is finite, and a record for each.
///
/// Put the names in order with [`natural_order`] first: `walk.2.obj` before `walk.10.obj`.
/// ```
/// # use dermis_io::{Space, obj};
/// let mut sequence = obj::Sequence::new("walk", &Space::default());
/// for (name, bytes) in [("a1.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3"), ("a2.obj", b"v 0 0 1\nv 1 0 1\nv 0 1 1\nf 1 2 3")] {
///     sequence.push(name, bytes)?;
/// }
/// assert_eq!(sequence.finish()?.records.len(), 2);
/// # Ok::<(), dermis_io::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Sequence {
    contents: Contents,
    left_out: Vec<String>,
    other_faces: Vec<String>,
}

impl Sequence {
    /// A sequence without files; `name` is what it is called in messages.
    pub fn new(name: &str, space: &Space) -> Self {
        let contents = Contents { name: name.into(), format: Format::Obj, space: space.clone(), ..Contents::default() };
        Self { contents, left_out: Vec::new(), other_faces: Vec::new() }
    }

    /// Adds a file; the record is labelled with its name without ending.
    ///
    /// # Errors
    /// [`ReadError`] if it cannot be read or has another number of vertices than those before. A file that is not finite
    /// is left out, and one with other faces counted: its vertices may be in another order.
    pub fn push(&mut self, name: &str, bytes: &[u8]) -> Result<(), ReadError> {
        let space = &self.contents.space;
        space.check()?;
        let file = ObjFile::parse(bytes)?;
        if !file.positions.iter().all(|p| p.is_finite()) {
            self.left_out.push(name.into());
            return Ok(());
        }
        let to_ours = space.to_ours();
        let positions: Vec<DVec3> = file.positions.iter().map(|p| to_ours.transform_point3(*p)).collect();
        match &self.contents.mesh {
            None => self.contents.mesh = Some(file.mesh(space, &mut self.contents.warnings)?),
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
        self.contents.records.push(Record { label, time: None, pose: None, positions, importance: 1.0 });
        Ok(())
    }

    /// The mesh and the records.
    ///
    /// # Errors
    /// [`ReadError`] if no file could be used.
    pub fn finish(mut self) -> Result<Contents, ReadError> {
        if self.contents.mesh.is_none() {
            let reason = format!("no file of the sequence is usable; {} are not finite", self.left_out.len());
            return Err(ReadError::Damaged { format: Format::Obj, reason });
        }
        self.contents.left_out.clone_from(&self.left_out);
        surface::count(&mut self.contents.warnings, Flaw::NonFiniteFrame, self.left_out);
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

/// What the lines of a file say, in its own axes and unit.
#[derive(Default)]
struct ObjFile {
    positions: Vec<DVec3>,
    /// One per vertex, or none at all.
    colors: Vec<Vec4>,
    uvs: Vec<DVec2>,
    /// Corners of each polygon.
    counts: Vec<u32>,
    /// Vertex of each corner.
    corners: Vec<u32>,
    /// Texture coordinates of each corner.
    corner_uvs: Vec<Option<u32>>,
    /// Materials: name and first polygon.
    materials: Vec<(String, usize)>,
    /// The largest index named, and on which line: vertices, texture coordinates. Lines may name what comes later.
    largest: [(u64, usize); 2],
    unsupported: Vec<String>,
    small_faces: Vec<String>,
}

fn damaged(line: usize, reason: impl std::fmt::Display) -> ReadError {
    ReadError::Damaged { format: Format::Obj, reason: format!("line {line}: {reason}") }
}

impl ObjFile {
    fn parse(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut file = Self::default();
        let mut lines = bytes.split(|c| *c == b'\n').zip(1usize..);
        while let Some((start, number)) = lines.next() {
            let mut line = Cow::Borrowed(start.trim_ascii());
            if line.is_empty() || line.starts_with(b"#") {
                continue; // a comment may end with a backslash: a folder
            }
            while line.ends_with(b"\\") {
                let mut joined = line.into_owned();
                joined.pop();
                joined.push(b' ');
                let next = lines.next();
                joined.extend(next.map_or(&b""[..], |(next, _)| next.trim_ascii()));
                line = Cow::Owned(joined);
            }
            file.line(&line, number)?;
        }
        if file.positions.is_empty() {
            let reason = "it has no line with a vertex (v x y z)".into();
            return Err(ReadError::WrongKind { format: Format::Obj, reason });
        }
        for (kind, (things, there)) in
            [("vertex", file.positions.len()), ("texture coordinate", file.uvs.len())].into_iter().enumerate()
        {
            let (largest, line) = file.largest[kind];
            if largest > there as u64 {
                return Err(damaged(line, format!("a face names {things} {largest}, but there are {there}")));
            }
        }
        Ok(file)
    }

    fn line(&mut self, line: &[u8], number: usize) -> Result<(), ReadError> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        match words.next().unwrap_or_default() {
            b"v" => self.vertex(&numbers(words, number)?, number),
            b"vt" => match numbers(words, number)?[..] {
                // From the lower left in OBJ, from the upper left inside, as in glTF.
                [u, v, ..] => {
                    self.uvs.push(DVec2::new(u, 1.0 - v));
                    Ok(())
                }
                [u] => {
                    self.uvs.push(DVec2::new(u, 1.0));
                    Ok(())
                }
                [] => Err(damaged(number, "a texture coordinate without numbers")),
            },
            b"f" => self.face(words, number),
            b"usemtl" => {
                let name = String::from_utf8_lossy(words.next().unwrap_or(b"")).into_owned();
                self.materials.push((name, self.counts.len()));
                Ok(())
            }
            b"vn" | b"o" | b"g" | b"s" | b"mtllib" | b"mg" => Ok(()),
            other => {
                let word: String = String::from_utf8_lossy(other).chars().take(20).collect();
                self.unsupported.push(format!("line {number}, \"{word}\""));
                Ok(())
            }
        }
    }

    fn vertex(&mut self, values: &[f64], number: usize) -> Result<(), ReadError> {
        let color = match values {
            [_, _, _] | [_, _, _, _] => None, // a fourth number is a weight, for curves
            [_, _, _, r, g, b] => Some([r, g, b, &1.0]),
            [_, _, _, r, g, b, a] => Some([r, g, b, a]),
            _ => return Err(damaged(number, format!("a vertex of {} numbers; 3 are expected", values.len()))),
        };
        self.positions.push(DVec3::new(values[0], values[1], values[2]));
        if let Some(color) = color {
            self.colors.resize(self.positions.len() - 1, Vec4::ONE); // vertices before the first colour are white
            self.colors.push(Vec4::from_array(color.map(|c| *c as f32)));
        }
        Ok(())
    }

    fn face<'a>(&mut self, words: impl Iterator<Item = &'a [u8]>, number: usize) -> Result<(), ReadError> {
        let start = self.corners.len();
        for word in words {
            let mut parts = word.split(|c| *c == b'/');
            let mut index = |kind: usize, there: usize| -> Result<Option<u32>, ReadError> {
                let Some(part) = parts.next().filter(|part| !part.is_empty()) else { return Ok(None) };
                let bad = || damaged(number, format!("a corner \"{}\"", String::from_utf8_lossy(word)));
                let index: i64 = std::str::from_utf8(part).ok().and_then(|p| p.parse().ok()).ok_or_else(bad)?;
                // From one upwards, or backwards from the last so far.
                let index = if index < 0 { index + there as i64 } else { index - 1 };
                let index = u32::try_from(index).map_err(|_| bad())?;
                self.largest[kind] = self.largest[kind].max((u64::from(index) + 1, number));
                Ok(Some(index))
            };
            let vertex = index(0, self.positions.len())?;
            let uv = index(1, self.uvs.len())?;
            self.corners.push(vertex.ok_or_else(|| damaged(number, "a corner without a vertex"))?);
            self.corner_uvs.push(uv);
        }
        let count = self.corners.len() - start;
        if count < 3 {
            self.corners.truncate(start);
            self.corner_uvs.truncate(start);
            self.small_faces.push(format!("line {number}, a face of {count} corners was left out"));
            return Ok(());
        }
        self.counts.push(u32::try_from(count).map_err(|_| damaged(number, "a face of 4 billion corners"))?);
        Ok(())
    }

    fn mesh(mut self, space: &Space, warnings: &mut Vec<crate::Warning>) -> Result<Mesh, ReadError> {
        let to_ours = space.to_ours();
        let render = self.render();
        if !self.colors.is_empty() {
            self.colors.resize(self.positions.len(), Vec4::ONE);
        }
        let polygons = Polygons { counts: self.counts, indices: self.corners };
        let mesh = Mesh {
            positions: self.positions.iter().map(|p| to_ours.transform_point3(*p)).collect(),
            triangles: surface::fan(&polygons),
            polygons: Some(polygons),
            colors: (!self.colors.is_empty()).then_some(self.colors),
            render,
        };
        mesh.check()?;
        surface::count(warnings, Flaw::Unsupported, self.unsupported);
        surface::count(warnings, Flaw::DegenerateTriangle, self.small_faces);
        warnings.extend(surface::flaws(&mesh));
        Ok(mesh)
    }

    /// Vertices split where texture coordinates differ, in the order of the vertices; `None` without coordinates.
    fn render(&self) -> Option<RenderMesh> {
        if self.corner_uvs.iter().all(Option::is_none) {
            return None;
        }
        let corners: Vec<(u32, Option<u32>)> =
            self.corners.iter().copied().zip(self.corner_uvs.iter().copied()).collect();
        let mut drawn = corners.clone();
        drawn.sort_unstable();
        drawn.dedup();
        let place = |corner| drawn.partition_point(|d| d < corner) as u32;
        let indices = corners.iter().map(place).collect();
        let uv = |at: Option<u32>| at.and_then(|at| self.uvs.get(at as usize)).copied().unwrap_or_default();
        // Triangles of the polygons before each.
        let mut before = vec![0u32];
        for count in &self.counts {
            before.push(before.last().unwrap_or(&0) + count - 2);
        }
        let mut starts: Vec<(&str, usize)> = self.materials.iter().map(|(name, at)| (name.as_str(), *at)).collect();
        if starts.first().is_none_or(|(_, at)| *at > 0) {
            starts.insert(0, ("", 0));
        }
        let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([self.counts.len()]);
        let parts = starts.iter().zip(ends).filter(|((_, start), end)| start < end).map(|((name, start), end)| {
            let (start, end) = (before[*start], before[end]);
            RenderPart { name: (*name).to_owned(), start, count: end - start, color: Vec4::ONE }
        });
        Some(RenderMesh {
            normals: Vec::new(),
            triangles: surface::fan(&Polygons { counts: self.counts.clone(), indices }),
            uvs: drawn.iter().map(|(_, at)| uv(*at)).collect(),
            source: drawn.iter().map(|(vertex, _)| *vertex).collect(),
            parts: parts.collect(),
        })
    }
}

fn numbers<'a>(words: impl Iterator<Item = &'a [u8]>, line: usize) -> Result<Vec<f64>, ReadError> {
    let number = |word: &[u8]| std::str::from_utf8(word).ok().and_then(|w| w.parse().ok());
    words
        .take_while(|word| !word.starts_with(b"#"))
        .map(|word| {
            number(word).ok_or_else(|| damaged(line, format!("\"{}\" is no number", String::from_utf8_lossy(word))))
        })
        .collect()
}

/// Writes the mesh with its vertices at `positions`: polygons, if it has them, and the texture coordinates of its drawn
/// vertices, if they hang on the same triangles. Positions are written with all their digits.
///
/// # Errors
/// [`WriteError`]: another number of positions than vertices, faces that name none, positions not finite.
pub fn write(mesh: &Mesh, positions: &[DVec3], space: &Space) -> Result<Vec<u8>, WriteError> {
    let (found, expected) = (positions.len(), mesh.positions.len());
    if found != expected {
        return Err(WriteError::Count { what: "the shape".into(), things: "vertices", found, expected });
    }
    if positions.is_empty() || !space.is_usable() {
        return Err(WriteError::Nothing { format: Format::Obj, needs: "vertices, and a unit" });
    }
    mesh.check().map_err(|e| WriteError::CannotHold { format: Format::Obj, what: e.to_string() })?;
    let from_ours = space.to_ours().inverse();
    let mut text = String::new();
    for (vertex, position) in positions.iter().enumerate() {
        let p = from_ours.transform_point3(*position);
        if !p.is_finite() {
            return Err(WriteError::NotFinite { what: format!("vertex {vertex}") });
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "v {} {} {}", p.x, p.y, p.z);
        if let Some(color) = mesh.colors.as_ref().and_then(|colors| colors.get(vertex)) {
            let _ = write!(text, " {} {} {}", color.x, color.y, color.z);
        }
        text.push('\n');
    }
    let triangles = Polygons {
        counts: vec![3; if mesh.polygons.is_some() { 0 } else { mesh.triangles.len() }],
        indices: if mesh.polygons.is_some() { Vec::new() } else { mesh.triangles.as_flattened().to_vec() },
    };
    let polygons = mesh.polygons.as_ref().unwrap_or(&triangles);
    let drawn = drawn_corners(mesh, polygons);
    for uv in mesh.render.iter().filter(|_| drawn.is_some()).flat_map(|render| &render.uvs) {
        let _ = writeln!(text, "vt {} {}", uv.x, 1.0 - uv.y);
    }
    let mut at = 0;
    for &count in &polygons.counts {
        text.push('f');
        for corner in at..at + count as usize {
            let _ = write!(text, " {}", polygons.indices[corner] + 1);
            if let Some(drawn) = &drawn {
                let _ = write!(text, "/{}", drawn[corner] + 1);
            }
        }
        text.push('\n');
        at += count as usize;
    }
    Ok(text.into_bytes())
}

/// The drawn vertex of every polygon corner, if drawn triangles are those of the polygons' fans, one for one.
fn drawn_corners(mesh: &Mesh, polygons: &Polygons) -> Option<Vec<u32>> {
    let render = mesh.render.as_ref().filter(|render| !render.uvs.is_empty())?;
    let mut triangles = render.triangles.iter();
    let mut drawn = Vec::with_capacity(polygons.indices.len());
    for &count in &polygons.counts {
        for nth in 0..count.checked_sub(2)? {
            let [a, b, c] = *triangles.next()?;
            if nth == 0 {
                drawn.extend([a, b]);
            }
            drawn.push(c);
        }
    }
    let hangs = |(drawn, vertex): (&u32, &u32)| {
        render.source.get(*drawn as usize) == Some(vertex) && (*drawn as usize) < render.uvs.len()
    };
    let fits = drawn.len() == polygons.indices.len() && triangles.next().is_none();
    (fits && drawn.iter().zip(&polygons.indices).all(hangs)).then_some(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UpAxis;

    fn mesh(text: &str) -> (Mesh, Vec<crate::Warning>) {
        let contents = read(text.as_bytes(), "a.obj", &Space::default()).unwrap();
        (contents.mesh.unwrap(), contents.warnings)
    }

    #[test]
    fn every_way_to_name_a_corner() {
        let vertices = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\n";
        let uvs = "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n";
        for (face, textured) in [
            ("f 1 2 3 4", false),
            ("f 1// 2// 3// 4//", false),
            ("f 1//1 2//1 3//1 4//1", false),
            ("f 1/1 2/2 3/3 4/4", true),
            ("f 1/1/1 2/2/1 3/3/1 4/4/1", true),
            ("f -4/-4 -3/-3 -2/-2 -1/-1", true),
            ("f 1/1 \\\r\n 2/2 3/3 \\\n4/4", true),
            ("\tf   1/1\t2/2 3/3 4/4   ", true),
        ] {
            for ending in ["", "\r\n", "\n\n# C:\\models\\\n"] {
                let (mesh, warnings) = mesh(&format!("# made by hand \\\n{vertices}{uvs}{face}{ending}"));
                assert_eq!(mesh.polygons, Some(Polygons { counts: vec![4], indices: vec![0, 1, 2, 3] }), "{face}");
                assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]], "{face}");
                assert_eq!(mesh.render.is_some(), textured, "{face}");
                assert!(warnings.is_empty(), "{face} {warnings:?}");
            }
        }
    }

    #[test]
    fn order_of_the_vertex_lines_is_kept_and_seams_are_split_apart() {
        // Vertex 1 is named by no face, the edge 3 4 has two texture coordinates on either side, and faces come first.
        let text = "usemtl skin\nf 5/1 3/2 4/3\nusemtl cloth\nf 2/4 4/5 3/6\nv 9 9 9\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 0 0\n\
                    vt 0 0\nvt 1 0\nvt 0 1\nvt 1 1\nvt .5 .5\nvt .25 .75\n";
        let (mesh, warnings) = mesh(text);
        assert_eq!(mesh.positions[0], DVec3::splat(9.0));
        assert_eq!(mesh.triangles, [[4, 2, 3], [1, 3, 2]]);
        let render = mesh.render.unwrap();
        assert_eq!(render.source, [1, 2, 2, 3, 3, 4]);
        assert_eq!(render.triangles, [[5, 1, 3], [0, 4, 2]]);
        assert_eq!(render.uvs[2], DVec2::new(0.25, 0.25));
        let parts: Vec<_> = render.parts.iter().map(|p| (p.name.as_str(), p.start, p.count)).collect();
        assert_eq!(parts, [("skin", 0, 1), ("cloth", 1, 1)]);
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].to_string(), "1: vertices belong to no face (first: vertex 0)");
    }

    #[test]
    fn colours_weights_and_oddities() {
        let (mesh, warnings) =
            mesh("v 0 0 0 1\nv 1 0 0 .5 0 1\nv 0 1 0 # here\nv 1 1 0\nf 1 2 3\nf 1 2\nl 1 2\np 1\nf 2 3 4");
        assert_eq!(mesh.colors, Some(vec![Vec4::ONE, Vec4::new(0.5, 0.0, 1.0, 1.0), Vec4::ONE, Vec4::ONE]));
        let texts: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(texts[0], "2: unsupported things were left out (first: line 7, \"l\")");
        assert_eq!(texts[1], "1: triangles have no area (first: line 6, a face of 2 corners was left out)");
        assert_eq!(mesh.triangles.len(), 2);
    }

    #[test]
    fn a_written_mesh_is_read_again() {
        let text = "v .1 .2 .3\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 2 1e-7\nvt 0 0\nvt 1 0\nvt 1 .125\nvt 0 1\nvt .5 .5\nvt .5 .75\n\
                    f 1/1 2/2 3/3 4/4\nf 4/6 3/3 5/5\n";
        let (before, _) = mesh(text);
        for space in [Space::default(), Space { up: UpAxis::Z, metres_per_unit: 0.5, ..Space::default() }] {
            let bytes = write(&before, &before.positions, &space).unwrap();
            let after = read(&bytes, "b.obj", &space).unwrap().mesh.unwrap();
            assert_eq!(after, before, "powers of two lose nothing: {}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn numbered_files_are_a_sequence() {
        let mut names = ["walk10.obj", "walk9.obj", "walk010.obj", "Walk.obj", "walk1_2.obj", "walk1_10.obj", "walk"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            names,
            ["Walk.obj", "walk", "walk1_2.obj", "walk1_10.obj", "walk9.obj", "walk010.obj", "walk10.obj"]
        );

        let frame = |x: &str, face: &str| format!("v {x} 0 0\nv 1 0 0\nv 0 1 0\nf {face}\n").into_bytes();
        let mut sequence = Sequence::new("walk", &Space::default());
        sequence.push("walk0.obj", &frame("nan", "1 2 3")).unwrap();
        sequence.push("walk1.obj", &frame("0.25", "1 2 3")).unwrap();
        sequence.push("walk2.obj", &frame("0.5", "2 3 1")).unwrap();
        let why = sequence.push("walk3.obj", b"v 0 0 0").unwrap_err().to_string();
        assert_eq!(why, "damaged OBJ file: \"walk3.obj\" has 1 vertices, but the files before it have 3");
        let contents = sequence.finish().unwrap();
        let labels: Vec<_> =
            contents.records.iter().map(|r| (r.label.as_str(), r.positions.as_ref().unwrap()[0].x)).collect();
        assert_eq!(labels, [("walk1", 0.25), ("walk2", 0.5)]);
        assert_eq!(contents.mesh.unwrap().positions[0].x, 0.25);
        let flaws: Vec<_> = contents.warnings.iter().map(|w| (w.flaw, w.count)).collect();
        assert_eq!(flaws, [(Flaw::NonFiniteFrame, 1), (Flaw::CountMismatch, 1)]);
        assert!(Sequence::new("none", &Space::default()).finish().is_err());
    }
}
