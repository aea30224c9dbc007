//! How triangles hang together: as a list of points, or as the edgebreaker has walked over them.
//!
//! The edgebreaker removes one triangle after another from a surface, and says of each how it touches what is left: C, S, L, R or E. They
//! are read from the last to the first, so that the surface grows.
//!
//! Source: Rossignac, "Edgebreaker: Connectivity compression for triangle meshes", 1999; the Draco specification, sections "EdgeBreaker
//! Decoder" and "EdgeBreaker Traversal".

use super::super::stream::{Damage, Rest};
use super::entropy::{Bits, Flags, symbols};
use super::{Charge, NONE};
use std::collections::HashMap;

/// The triangles of a surface by their corners, three after each other. Every vertex is a fan of corners.
pub(super) struct Corners {
    /// The corner beyond the side that faces each corner; [`NONE`] on the boundary.
    pub opposite: Vec<u32>,
    /// The vertex at each corner.
    pub vertex: Vec<u32>,
    /// The corner where each vertex's fan begins, on its left; [`NONE`] if the vertex has no corner.
    pub first: Vec<u32>,
}

/// What the edgebreaker says.
pub(super) struct Edgebreaker {
    pub corners: Corners,
    /// Of each kind of attribute, whether the side that faces each corner is a seam.
    pub seams: Vec<Vec<bool>>,
}

/// The corner after `corner` in its triangle.
pub(super) fn next(corner: u32) -> u32 {
    if corner % 3 == 2 { corner - 2 } else { corner + 1 }
}

/// The corner before `corner` in its triangle.
pub(super) fn previous(corner: u32) -> u32 {
    if corner.is_multiple_of(3) { corner + 2 } else { corner - 1 }
}

/// The next corner to the left at the same vertex, or [`NONE`].
pub(super) fn swing_left(opposite: &[u32], corner: u32) -> u32 {
    match opposite[next(corner) as usize] {
        NONE => NONE,
        beyond => next(beyond),
    }
}

/// The next corner to the right at the same vertex, or [`NONE`].
pub(super) fn swing_right(opposite: &[u32], corner: u32) -> u32 {
    match opposite[previous(corner) as usize] {
        NONE => NONE,
        beyond => previous(beyond),
    }
}

/// Triangles as a list, and the number of their points.
pub(super) fn sequential(rest: &mut Rest<'_>, charge: &Charge<'_>) -> Result<(Vec<[u32; 3]>, usize), Damage> {
    let (faces, points) = (rest.varint()?, rest.varint()?);
    charge(u64::from(faces) * 3 + u64::from(points))?;
    let count = faces as usize * 3;
    let corners: Vec<u32> = match (rest.byte()?, points) {
        (0, _) => {
            let mut last = 0u32;
            let step = |code: u32| {
                last = if code & 1 == 1 { last.wrapping_sub(code >> 1) } else { last.wrapping_add(code >> 1) };
                last
            };
            symbols(rest, count, 1)?.into_iter().map(step).collect()
        }
        (1, ..256) => rest.take(count)?.iter().map(|&byte| byte.into()).collect(),
        (1, ..0x1_0000) => {
            rest.take(count * 2)?.as_chunks().0.iter().map(|&word| u16::from_le_bytes(word).into()).collect()
        }
        (1, ..0x20_0000) => (0..count).map(|_| rest.varint()).collect::<Result<_, _>>()?,
        (1, _) => rest.take(count * 4)?.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect(),
        _ => return Err("its list of triangles is of an unknown kind"),
    };
    if corners.iter().any(|&corner| corner >= points) {
        return Err("a triangle names a point that it has not");
    }
    Ok((corners.as_chunks::<3>().0.to_vec(), points as usize))
}

/// How a triangle touches those that are not yet there.
#[derive(Clone, Copy, PartialEq)]
enum Symbol {
    C,
    S,
    L,
    R,
    E,
}

/// Where symbols come from.
enum Symbols<'a> {
    Bits(Bits<'a>),
    /// By the valence of the vertex that the last triangle led to.
    Valence {
        contexts: Vec<Vec<u32>>,
        context: Option<usize>,
        /// Triangles at each vertex.
        valences: Vec<u32>,
    },
}

impl Symbols<'_> {
    fn read(&mut self) -> Result<Symbol, Damage> {
        match self {
            Self::Bits(bits) => Ok(match bits.read(1)? {
                0 => Symbol::C,
                _ => [Symbol::S, Symbol::L, Symbol::R, Symbol::E][bits.read(2)? as usize],
            }),
            Self::Valence { context: None, .. } => Ok(Symbol::E),
            Self::Valence { contexts, context: Some(context), .. } => {
                let symbol = contexts[*context].pop().ok_or("it has too few symbols of a valence")?;
                let all = [Symbol::C, Symbol::S, Symbol::L, Symbol::R, Symbol::E];
                all.get(symbol as usize).copied().ok_or("it has an unknown symbol")
            }
        }
    }
}

/// A surface as far as it has grown.
struct Growing {
    corners: Corners,
    /// What each vertex has become part of; itself if nothing.
    merged: Vec<u32>,
    /// Vertices in the order in which they became part of others.
    gone: Vec<u32>,
    most_vertices: usize,
    faces: usize,
}

impl Growing {
    fn vertex(&mut self, corner: u32) -> u32 {
        let mut vertex = self.corners.vertex[corner as usize];
        while self.merged[vertex as usize] != vertex {
            let above = self.merged[vertex as usize];
            self.merged[vertex as usize] = self.merged[above as usize];
            vertex = above;
        }
        vertex
    }

    fn new_vertex(&mut self, corner: u32) -> Result<u32, Damage> {
        let vertex = self.merged.len();
        if vertex >= self.most_vertices {
            return Err("it has more vertices than it says");
        }
        self.merged.push(vertex as u32);
        self.corners.first.push(corner);
        Ok(vertex as u32)
    }

    fn is_open(&self, corner: u32) -> bool {
        self.corners.opposite[corner as usize] == NONE
    }

    /// Joins triangles along the sides that face two corners.
    fn join(&mut self, a: u32, b: u32) -> Result<(), Damage> {
        if a == b || !self.is_open(a) || !self.is_open(b) {
            return Err("its triangles share a side with more than one other");
        }
        self.corners.opposite[a as usize] = b;
        self.corners.opposite[b as usize] = a;
        Ok(())
    }

    /// The corner that faces the open side on the left of a vertex's fan.
    fn left_side(&self, vertex: u32) -> Result<u32, Damage> {
        match self.corners.first[vertex as usize] {
            NONE => Err("its triangles close around no vertex"),
            first => Ok(next(first)),
        }
    }

    fn set(&mut self, corner: u32, vertices: [u32; 3]) {
        self.corners.vertex[corner as usize..corner as usize + 3].copy_from_slice(&vertices);
    }

    /// Adds the triangle of `symbol`; its first corner is the active one.
    fn add(&mut self, symbol: Symbol, active: &mut Vec<u32>, split: Option<u32>) -> Result<u32, Damage> {
        const NO_ACTIVE: Damage = "its triangles hang on nothing";
        let corner = self.faces as u32 * 3;
        self.faces += 1;
        match symbol {
            Symbol::E => {
                let vertices = [self.new_vertex(corner)?, self.new_vertex(corner + 1)?, self.new_vertex(corner + 2)?];
                self.set(corner, vertices);
                active.push(corner);
            }
            Symbol::L | Symbol::R => {
                let a = *active.last().ok_or(NO_ACTIVE)?;
                let (left, right) = (self.vertex(next(a)), self.vertex(previous(a)));
                let beyond = if symbol == Symbol::R { corner + 2 } else { corner + 1 };
                self.join(beyond, a)?;
                let new = self.new_vertex(beyond)?;
                if symbol == Symbol::R {
                    self.set(corner, [right, left, new]);
                    self.corners.first[right as usize] = corner;
                } else {
                    self.set(corner, [left, new, right]);
                    self.corners.first[right as usize] = corner + 2;
                }
            }
            Symbol::C => {
                let a = *active.last().ok_or(NO_ACTIVE)?;
                let around = self.vertex(next(a));
                let b = self.left_side(around)?;
                let (left, right) = (self.vertex(next(b)), self.vertex(previous(a)));
                if around == left || around == right {
                    return Err("its triangles close around a side");
                }
                self.join(a, corner + 1)?;
                self.join(b, corner + 2)?;
                self.set(corner, [around, left, right]);
                self.corners.first[right as usize] = corner + 2;
            }
            Symbol::S => {
                let b = active.pop().ok_or(NO_ACTIVE)?;
                active.extend(split);
                let a = *active.last().ok_or(NO_ACTIVE)?;
                let (kept, gone) = (self.vertex(previous(a)), self.vertex(next(b)));
                if kept == gone {
                    return Err("its triangles meet at one vertex twice");
                }
                self.join(a, corner + 2)?;
                self.join(b, corner + 1)?;
                let (left, right) = (self.vertex(next(a)), self.vertex(previous(b)));
                self.set(corner, [kept, left, right]);
                self.corners.first[right as usize] = corner + 2;
                self.corners.first[kept as usize] = self.corners.first[gone as usize];
                self.corners.first[gone as usize] = NONE;
                self.merged[gone as usize] = kept;
                self.gone.push(gone);
            }
        }
        if let Some(last) = active.last_mut() {
            *last = corner;
        }
        Ok(corner)
    }

    /// Closes the hole of three sides, one of which faces corner `a`.
    fn close(&mut self, a: u32) -> Result<(), Damage> {
        let corner = self.faces as u32 * 3;
        if corner as usize >= self.corners.opposite.len() {
            return Err("it has more triangles than it says");
        }
        self.faces += 1;
        let third = self.vertex(next(a));
        let b = self.left_side(third)?;
        let first = self.vertex(next(b));
        let c = self.left_side(first)?;
        let second = self.vertex(next(c));
        self.join(corner, a)?;
        self.join(corner + 1, b)?;
        self.join(corner + 2, c)?;
        self.set(corner, [first, second, third]);
        Ok(())
    }
}

/// Triangles as the edgebreaker tells them.
pub(super) fn edgebreaker(rest: &mut Rest<'_>, charge: &Charge<'_>) -> Result<Edgebreaker, Damage> {
    let traversal = rest.byte()?;
    let (vertices, faces, kinds) = (rest.varint()?, rest.varint()?, rest.byte()?);
    let (count, splits) = (rest.varint()?, rest.varint()?);
    let disagree = "its numbers of triangles and vertices disagree";
    if count > faces || faces - count > count / 3 || splits > count || u64::from(vertices) > u64::from(faces) * 3 {
        return Err(disagree);
    }
    let corner_count = u64::from(faces) * 3;
    if corner_count >= u64::from(NONE) {
        return Err("it has more than a billion triangles");
    }
    // Of a corner its opposite, vertex and point; of a kind of attribute whether there is a seam, opposite and vertex.
    charge(corner_count.saturating_mul(12 + 9 * u64::from(kinds)) / 8)?;
    let mut events = Vec::new();
    let mut source = 0u32;
    for _ in 0..rest.varint()? {
        source = source.checked_add(rest.varint()?).ok_or(disagree)?;
        events.push((source, source.checked_sub(rest.varint()?).ok_or(disagree)?, false));
    }
    let mut sides = Bits::new(rest.0);
    for event in &mut events {
        event.2 = sides.read(1)? == 1;
    }
    rest.take(sides.used())?;

    let corner_count = corner_count as usize;
    let most_vertices = vertices as usize + splits as usize;
    let standard = match traversal {
        0 => {
            let size = rest.varint()?;
            Some(Bits::new(rest.take(size as usize)?))
        }
        2 => None,
        _ => return Err("its triangles are walked in an unknown way"),
    };
    let mut is_closed = Flags::new(rest)?;
    let mut seam_flags = (0..kinds).map(|_| Flags::new(rest)).collect::<Result<Vec<_>, _>>()?;
    let mut from = match standard {
        Some(bits) => Symbols::Bits(bits),
        None => {
            let mut contexts = Vec::new();
            for _ in LEAST_VALENCE..=MOST_VALENCE {
                let size = rest.varint()?;
                if size > faces {
                    return Err(disagree);
                }
                charge(size.into())?;
                contexts.push(symbols(rest, size as usize, 1)?);
            }
            Symbols::Valence { contexts, context: None, valences: vec![0; most_vertices] }
        }
    };

    let corners = Corners { opposite: vec![NONE; corner_count], vertex: vec![NONE; corner_count], first: Vec::new() };
    let mut grown = Growing { corners, merged: Vec::new(), gone: Vec::new(), most_vertices, faces: 0 };
    let mut active = Vec::new();
    let mut split_corners: HashMap<u32, u32> = HashMap::new();
    for at in 0..count {
        let symbol = from.read()?;
        let gone = grown.gone.len();
        let corner = grown.add(symbol, &mut active, split_corners.get(&at).copied())?;
        if let Symbols::Valence { context, valences, .. } = &mut from {
            if let Some(&gone) = grown.gone.get(gone) {
                let kept = grown.vertex(corner);
                valences[kept as usize] = valences[kept as usize].wrapping_add(valences[gone as usize]);
            }
            let more = match symbol {
                Symbol::C | Symbol::S => [0, 1, 1],
                Symbol::R => [1, 1, 2],
                Symbol::L => [1, 2, 1],
                Symbol::E => [2, 2, 2],
            };
            for (corner, more) in (corner..).zip(more) {
                let valence = &mut valences[grown.vertex(corner) as usize];
                *valence = valence.wrapping_add(more);
            }
            let valence = valences[grown.vertex(corner + 1) as usize];
            *context = Some((valence.clamp(LEAST_VALENCE, MOST_VALENCE) - LEAST_VALENCE) as usize);
        }
        if matches!(symbol, Symbol::C | Symbol::S) {
            continue;
        }
        // Symbols were written from the last to the first.
        let own = count - at - 1;
        while let Some(&(source, split, is_right)) = events.last() {
            if source > own {
                return Err("its surface parts where no triangle is");
            }
            if source < own {
                break;
            }
            events.pop();
            let split = (count - 1).checked_sub(split).ok_or(disagree)?;
            split_corners.insert(split, if is_right { next(corner) } else { previous(corner) });
        }
    }
    while let Some(corner) = active.pop() {
        if is_closed.read() {
            grown.close(corner)?;
        }
    }
    if grown.faces * 3 != corner_count {
        return Err(disagree);
    }

    let corners = numbered(grown, kinds == 0);
    let mut seams = vec![vec![false; corner_count]; seam_flags.len()];
    for corner in 0..corner_count {
        let opposite = corners.opposite[corner];
        if opposite != NONE && opposite / 3 < corner as u32 / 3 {
            continue;
        }
        for (flags, seam) in seam_flags.iter_mut().zip(&mut seams) {
            if opposite == NONE {
                seam[corner] = true;
            } else if flags.read() {
                (seam[corner], seam[opposite as usize]) = (true, true);
            }
        }
    }
    Ok(Edgebreaker { corners, seams })
}

const LEAST_VALENCE: u32 = 2;
const MOST_VALENCE: u32 = 7;

/// The surface with the numbers that vertices have in the reference decoder: those that became part of others have none, and without
/// attributes of corners (`fill`), the last take their places.
fn numbered(mut grown: Growing, fill: bool) -> Corners {
    for corner in 0..grown.corners.vertex.len() as u32 {
        grown.corners.vertex[corner as usize] = grown.vertex(corner);
    }
    let Growing { mut corners, gone, .. } = grown;
    if fill {
        let mut place: Vec<u32> = (0..corners.first.len() as u32).collect();
        let mut holds = place.clone();
        let mut end = corners.first.len();
        for gone in gone {
            while end > 0 && corners.first[end - 1] == NONE {
                end -= 1;
            }
            if end == 0 || end - 1 < gone as usize {
                continue;
            }
            corners.first.swap(gone as usize, end - 1);
            holds.swap(gone as usize, end - 1);
            place[holds[gone as usize] as usize] = gone;
        }
        corners.vertex.iter_mut().for_each(|vertex| *vertex = place[*vertex as usize]);
    }
    corners
}
