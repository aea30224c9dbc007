//! Which corners of a surface share a value of an attribute, and in which order its values come.

use super::super::stream::Damage;
use super::NONE;
use super::connectivity::{Corners, Edgebreaker, next, previous, swing_left, swing_right};

/// A surface as an attribute sees it: cut open along its seams.
pub(super) struct Surface {
    /// The corner beyond the side that faces each corner; [`NONE`] on the boundary and at seams.
    pub opposite: Vec<u32>,
    /// The vertex at each corner; one of the mesh is several where seams part it.
    pub vertex: Vec<u32>,
    /// Whether each vertex is on the boundary or a seam.
    boundary: Vec<bool>,
}

/// The surfaces of a mesh, and its points: corners that share the values of all attributes.
pub(super) struct Shape {
    pub positions: Surface,
    /// Of each kind of attribute with seams.
    pub kinds: Vec<Surface>,
    /// The point at each corner.
    pub point: Vec<u32>,
    pub points: usize,
}

const APART: Damage = "its triangles do not close around their vertices";

impl Surface {
    /// The surface without seams.
    fn of_positions(corners: &Corners) -> Result<Self, Damage> {
        let Corners { opposite, vertex, first } = corners;
        let boundary = first.iter().map(|&first| first == NONE || swing_left(opposite, first) == NONE).collect();
        if vertex.contains(&NONE) {
            return Err(APART);
        }
        Ok(Self { opposite: opposite.clone(), vertex: vertex.clone(), boundary })
    }

    /// The surface with seams.
    fn of_kind(corners: &Corners, seam: &[bool]) -> Result<Self, Damage> {
        let cut = |(&opposite, &seam): (&u32, &bool)| if seam { NONE } else { opposite };
        let opposite: Vec<u32> = corners.opposite.iter().zip(seam).map(cut).collect();
        let mut is_on_seam = vec![false; corners.first.len()];
        for corner in (0..seam.len() as u32).filter(|&corner| seam[corner as usize]) {
            is_on_seam[corners.vertex[next(corner) as usize] as usize] = true;
            is_on_seam[corners.vertex[previous(corner) as usize] as usize] = true;
        }
        let (mut vertex, mut boundary) = (vec![NONE; seam.len()], Vec::new());
        for (&first, &is_on_seam) in corners.first.iter().zip(&is_on_seam).filter(|(first, _)| **first != NONE) {
            let mut start = first;
            if is_on_seam {
                loop {
                    let left = swing_left(&opposite, start);
                    if left == NONE {
                        break;
                    }
                    if left == first {
                        return Err(APART);
                    }
                    start = left;
                }
            }
            boundary.push(is_on_seam);
            let mut corner = start;
            loop {
                vertex[corner as usize] = boundary.len() as u32 - 1;
                corner = swing_right(&corners.opposite, corner);
                if corner == NONE || corner == start {
                    break;
                }
                if seam[next(corner) as usize] {
                    boundary.push(is_on_seam);
                }
            }
        }
        if vertex.contains(&NONE) {
            return Err(APART);
        }
        Ok(Self { opposite, vertex, boundary })
    }

    /// How many vertices there are.
    pub fn vertices(&self) -> usize {
        self.boundary.len()
    }
}

impl Shape {
    /// # Errors
    /// If triangles hang together as those of no surface.
    pub fn new(Edgebreaker { corners, seams }: Edgebreaker) -> Result<Self, Damage> {
        let positions = Surface::of_positions(&corners)?;
        let kinds = seams.iter().map(|seam| Surface::of_kind(&corners, seam)).collect::<Result<Vec<_>, _>>()?;
        let differ = |a: u32, b: u32| kinds.iter().any(|kind| kind.vertex[a as usize] != kind.vertex[b as usize]);
        let mut point = vec![NONE; corners.vertex.len()];
        let mut points = 0;
        for &first in corners.first.iter().filter(|&&first| first != NONE) {
            let right = |corner| swing_right(&corners.opposite, corner);
            let mut start = first;
            // A whole fan starts where some attribute changes, if one does.
            if swing_left(&corners.opposite, first) != NONE {
                start = kinds
                    .iter()
                    .find_map(|kind| {
                        let mut corner = right(first);
                        while corner != NONE && corner != first {
                            if kind.vertex[corner as usize] != kind.vertex[first as usize] {
                                return Some(corner);
                            }
                            corner = right(corner);
                        }
                        None
                    })
                    .unwrap_or(first);
            }
            let mut corner = start;
            point[corner as usize] = points;
            points += 1;
            loop {
                let before = corner;
                corner = right(corner);
                if corner == NONE || corner == start {
                    break;
                }
                if differ(corner, before) {
                    points += 1;
                }
                point[corner as usize] = points - 1;
            }
        }
        if point.contains(&NONE) {
            return Err(APART);
        }
        Ok(Self { positions, kinds, point, points: points as usize })
    }
}

/// The order in which the values of an attribute come.
pub(super) struct Sequence {
    /// A corner with each value.
    pub corner: Vec<u32>,
    /// The value of each vertex; [`NONE`] if it has none.
    pub value: Vec<u32>,
}

/// A walk over all triangles of a surface.
struct Walk<'a> {
    surface: &'a Surface,
    faces: Vec<bool>,
    sequence: Sequence,
}

/// The order of values by `method` of the specification: depth first, or where most is known already.
///
/// # Errors
/// If the method is unknown.
pub(super) fn sequence(surface: &Surface, method: u8) -> Result<Sequence, Damage> {
    let faces = surface.vertex.len() / 3;
    let sequence = Sequence { corner: Vec::new(), value: vec![NONE; surface.vertices()] };
    let mut walk = Walk { surface, faces: vec![false; faces], sequence };
    match method {
        0 => (0..faces as u32).for_each(|face| walk.depth_first(3 * face)),
        1 => {
            let mut degrees = vec![0; surface.vertices()];
            (0..faces as u32).for_each(|face| walk.by_degree(3 * face, &mut degrees));
        }
        _ => return Err("its values come in an unknown order"),
    }
    Ok(walk.sequence)
}

impl Walk<'_> {
    fn is_done(&self, corner: u32) -> bool {
        corner == NONE || self.faces[corner as usize / 3]
    }

    fn is_seen(&self, corner: u32) -> bool {
        self.sequence.value[self.surface.vertex[corner as usize] as usize] != NONE
    }

    fn see(&mut self, corner: u32) {
        if !self.is_seen(corner) {
            let vertex = self.surface.vertex[corner as usize];
            self.sequence.value[vertex as usize] = self.sequence.corner.len() as u32;
            self.sequence.corner.push(corner);
        }
    }

    fn right(&self, corner: u32) -> u32 {
        self.surface.opposite[next(corner) as usize]
    }

    fn left(&self, corner: u32) -> u32 {
        self.surface.opposite[previous(corner) as usize]
    }

    fn depth_first(&mut self, start: u32) {
        if self.is_done(start) {
            return;
        }
        self.see(next(start));
        self.see(previous(start));
        let mut stack = vec![start];
        while let Some(&top) = stack.last() {
            if self.is_done(top) {
                stack.pop();
                continue;
            }
            let mut corner = top;
            loop {
                self.faces[corner as usize / 3] = true;
                let (right, left) = (self.right(corner), self.left(corner));
                if !self.is_seen(corner) {
                    self.see(corner);
                    let is_boundary = self.surface.boundary[self.surface.vertex[corner as usize] as usize];
                    if !is_boundary && right != NONE {
                        corner = right;
                        continue;
                    }
                }
                match (self.is_done(right), self.is_done(left)) {
                    (true, true) => {
                        stack.pop();
                        break;
                    }
                    (true, false) => corner = left,
                    (false, true) => corner = right,
                    (false, false) => {
                        stack.pop();
                        stack.extend([left, right]);
                        break;
                    }
                }
            }
        }
    }

    fn by_degree(&mut self, start: u32, degrees: &mut [u32]) {
        let mut stacks: [Vec<u32>; 3] = [vec![start], Vec::new(), Vec::new()];
        let mut best = 0;
        self.see(next(start));
        self.see(previous(start));
        self.see(start);
        loop {
            let Some(at) = (best..3).find(|&at| !stacks[at].is_empty()) else { return };
            best = at;
            let Some(mut corner) = stacks[at].pop() else { return };
            if self.is_done(corner) {
                continue;
            }
            loop {
                self.faces[corner as usize / 3] = true;
                self.see(corner);
                let (right, left) = (self.right(corner), self.left(corner));
                let (is_right_done, is_left_done) = (self.is_done(right), self.is_done(left));
                if !is_left_done {
                    let priority = self.priority(left, degrees);
                    if is_right_done && priority <= best {
                        corner = left;
                        continue;
                    }
                    stacks[priority].push(left);
                    best = best.min(priority);
                }
                if !is_right_done {
                    let priority = self.priority(right, degrees);
                    if priority <= best {
                        corner = right;
                        continue;
                    }
                    stacks[priority].push(right);
                    best = best.min(priority);
                }
                break;
            }
        }
    }

    /// How late a corner's triangle comes: the more of its vertex is known, the sooner.
    fn priority(&self, corner: u32, degrees: &mut [u32]) -> usize {
        if self.is_seen(corner) {
            return 0;
        }
        let degree = &mut degrees[self.surface.vertex[corner as usize] as usize];
        *degree += 1;
        if *degree > 1 { 1 } else { 2 }
    }
}
