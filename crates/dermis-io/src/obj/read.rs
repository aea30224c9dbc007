//! Reading one OBJ file: its lines, and the mesh that they make.

use super::materials::Used;
use super::objects::{Inseparable, Sections};
use crate::contents::Resolve;
use crate::flaws::Flaws;
use crate::polygons::Split;
use crate::surface;
use crate::{Contents, Flaw, Format, ReadError, Space, Warning};
use dermis_rig::glam::{DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Mesh, Polygons, RenderMesh};
use std::borrow::Cow;
use std::sync::Arc;

/// Reads one mesh, and with `resolve` the libraries of its materials and their pictures. If it has texture coordinates or materials, its
/// vertices split where texture coordinates differ are in [`Mesh::render`].
///
/// # Errors
/// [`ReadError`], naming the line. Libraries and pictures that cannot be read are warnings.
pub fn read(bytes: &[u8], name: &str, space: &Space, resolve: &Resolve<'_>) -> Result<Contents, ReadError> {
    space.check()?;
    let file = ObjFile::parse(bytes)?;
    let mut contents = Contents { name: name.into(), format: Format::Obj, space: space.clone(), ..Contents::default() };
    contents.mesh = Some(file.mesh(space, &(name, resolve), &mut contents.warnings)?);
    Ok(contents)
}

/// What the lines of a file say, in its own axes and unit.
#[derive(Default)]
pub(super) struct ObjFile {
    pub(super) positions: Vec<DVec3>,
    /// One per vertex, or none at all.
    colors: Vec<Vec4>,
    uvs: Vec<DVec2>,
    /// Corners of each polygon.
    pub(super) counts: Vec<u32>,
    /// Vertex of each corner.
    pub(super) corners: Vec<u32>,
    /// Texture coordinates of each corner.
    corner_uvs: Vec<Option<u32>>,
    materials: Used,
    /// Number of a material, and the first polygon that has it.
    starts: Vec<(u32, usize)>,
    sections: Sections,
    /// The largest index named, and on which line: vertices, texture coordinates. Lines may name what comes later.
    largest: [(u64, usize); 2],
    unsupported: Vec<String>,
    small_faces: Vec<String>,
}

fn damaged(line: usize, reason: impl std::fmt::Display) -> ReadError {
    ReadError::Damaged { format: Format::Obj, reason: format!("line {line}: {reason}") }
}

impl ObjFile {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ReadError> {
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
            b"vt" => {
                let uv = match numbers(words, number)?[..] {
                    // From the lower left in OBJ, from the upper left inside, as in glTF.
                    [u, v, ..] => DVec2::new(u, 1.0 - v),
                    [u] => DVec2::new(u, 1.0),
                    [] => return Err(damaged(number, "a texture coordinate without numbers")),
                };
                // Models and glTF files hold 32 bits.
                if !uv.as_vec2().is_finite() {
                    return Err(damaged(number, "a texture coordinate that is not finite in 32 bits"));
                }
                self.uvs.push(uv);
                Ok(())
            }
            b"f" => self.face(words, number),
            b"usemtl" => {
                let name = String::from_utf8_lossy(line[b"usemtl".len()..].trim_ascii());
                let number = self.materials.number(&name);
                self.starts.push((number, self.counts.len()));
                Ok(())
            }
            b"mtllib" => {
                self.materials.library(&String::from_utf8_lossy(line[b"mtllib".len()..].trim_ascii()));
                Ok(())
            }
            b"o" => {
                self.sections.object(&line[1..], number, self.positions.len(), self.counts.len());
                Ok(())
            }
            b"g" => {
                self.sections.group(&line[1..], number, self.positions.len(), self.counts.len());
                Ok(())
            }
            b"vn" | b"s" | b"mg" => Ok(()),
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
            let color = Vec4::from_array(color.map(|c| *c as f32));
            if !color.is_finite() {
                return Err(damaged(number, "a colour that is not finite in 32 bits"));
            }
            self.colors.push(color);
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

    /// - `beside`: the file's name, and the files beside it
    pub(super) fn mesh(
        mut self,
        space: &Space,
        beside: &(&str, &Resolve<'_>),
        warnings: &mut Vec<Warning>,
    ) -> Result<Mesh, ReadError> {
        let to_ours = space.to_ours();
        let positions: Vec<DVec3> = self.positions.iter().map(|p| to_ours.transform_point3(*p)).collect();
        let polygons =
            Polygons { counts: std::mem::take(&mut self.counts), indices: std::mem::take(&mut self.corners) };
        let split = Split::new(&polygons, &positions);
        let mut flaws = Flaws::default();
        let render = self.render(&polygons, &split).map(|render| RenderMesh {
            appearance: self.materials.appearance(beside.0, beside.1, &mut flaws).map(Arc::new),
            ..render
        });
        if !self.colors.is_empty() {
            self.colors.resize(self.positions.len(), Vec4::ONE);
        }
        let not_utf8 = self.sections.not_utf8;
        let objects = self.sections.objects(positions.len(), &polygons);
        let mesh = Mesh {
            positions,
            triangles: split.over(&polygons.indices),
            polygons: Some(polygons),
            colors: (!self.colors.is_empty()).then_some(self.colors),
            objects: objects.as_ref().cloned().unwrap_or_default(),
            render,
            morphs: None,
        };
        mesh.check()?;
        if let Err(Inseparable(count)) = objects {
            warnings.push(Warning { flaw: Flaw::Joined, count, first: None });
        }
        if let (count @ 1.., line) = not_utf8 {
            let first = Some(format!("the name on line {line}, which is not UTF-8"));
            warnings.push(Warning { flaw: Flaw::Repaired, count, first });
        }
        surface::count(warnings, Flaw::Unsupported, self.unsupported);
        surface::count(warnings, Flaw::DegenerateTriangle, self.small_faces);
        split.warn(warnings);
        warnings.extend(flaws.warnings);
        warnings.extend(surface::flaws(&mesh));
        Ok(mesh)
    }

    /// Vertices split where texture coordinates differ, in the order of the vertices; `None` without coordinates and materials.
    fn render(&self, polygons: &Polygons, split: &Split) -> Option<RenderMesh> {
        let has_uvs = self.corner_uvs.iter().any(Option::is_some);
        let parts = self.parts(polygons);
        if !has_uvs && parts.iter().all(|part| part.material.is_none()) {
            return None;
        }
        let corners: Vec<(u32, Option<u32>)> =
            polygons.indices.iter().copied().zip(self.corner_uvs.iter().copied()).collect();
        let mut drawn = corners.clone();
        drawn.sort_unstable();
        drawn.dedup();
        let place = |corner| drawn.partition_point(|d| d < corner) as u32;
        let indices: Vec<u32> = corners.iter().map(place).collect();
        let uv = |at: Option<u32>| at.and_then(|at| self.uvs.get(at as usize)).copied().unwrap_or_default();
        Some(RenderMesh {
            triangles: split.over(&indices),
            uvs: if has_uvs { drawn.iter().map(|(_, at)| uv(*at)).collect() } else { Vec::new() },
            source: drawn.iter().map(|(vertex, _)| *vertex).collect(),
            parts,
            ..RenderMesh::default()
        })
    }

    /// Runs of triangles that have one material, or none before the first is named.
    fn parts(&self, polygons: &Polygons) -> Vec<RenderPart> {
        // Triangles of the polygons before each.
        let mut before = vec![0u32];
        for count in &polygons.counts {
            before.push(before.last().unwrap_or(&0) + count - 2);
        }
        let mut starts: Vec<(Option<u32>, usize)> = self.starts.iter().map(|(at, start)| (Some(*at), *start)).collect();
        if starts.first().is_none_or(|(_, at)| *at > 0) {
            starts.insert(0, (None, 0));
        }
        let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([polygons.counts.len()]);
        let mut parts: Vec<RenderPart> = Vec::new();
        for ((material, start), end) in starts.iter().zip(ends).filter(|((_, start), end)| start < end) {
            let (start, end) = (before[*start], before[end]);
            match parts.last_mut().filter(|last| last.material == *material) {
                Some(last) => last.count = end - last.start,
                None => {
                    let name = material.map_or("", |material| self.materials.name(material)).to_owned();
                    let (count, material) = (end - start, *material);
                    parts.push(RenderPart { name, start, count, color: Vec4::ONE, material });
                }
            }
        }
        parts
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
