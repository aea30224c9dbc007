//! A mesh made ready: any triangle soup, upright and of unit size, welded and oriented.
//!
//! Vertices closer than `WELD` become one node, triangles without area and copies of triangles go, and the triangles of
//! every patch (triangles joined by edges that two of them share) are turned the same way round, outwards by the volume
//! below them. Holes stay open: what is inside is decided by winding numbers ([`crate::winding`]).

use crate::AutoRigError;
use crate::outer::Outer;
use crate::winding::{Effort, Winding};
use dermis_fit::surface::Surface;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::mesh::welded;
use dermis_rig::{Mesh, MeshError};
use std::collections::{BTreeMap, HashSet};

/// Nodes closer than this are one, in parts of the largest side of the box: far below a finger, far above rounding.
const WELD: f64 = 2e-6;
/// The fewest triangles that can enclose anything.
const FEWEST: usize = 4;

/// The mesh as the embedding sees it: the middle of its box at the origin, up is +Y, the largest side is 1.
#[derive(Clone, Debug)]
pub struct Body {
    /// Positions of the nodes.
    pub nodes: Vec<DVec3>,
    /// The node of every vertex of the mesh.
    pub node_of: Vec<u32>,
    /// Triangles over nodes, outwards.
    pub triangles: Vec<[u32; 3]>,
    /// The connected component of every node, the largest by area first.
    pub shell_of: Vec<u32>,
    /// Area of every component.
    pub shell_areas: Vec<f64>,
    /// The skin that bounds the inside: the triangles without walls within the body.
    pub outer: Outer,
    /// Closest points of it.
    pub surface: Surface,
    /// Winding numbers of all triangles.
    pub winding: Winding,
    /// The corners of the box.
    pub bounds: (DVec3, DVec3),
    /// What was mended.
    pub mended: Mended,
    origin: DVec3,
    length: f64,
    upright: DMat3,
}

/// What was mended in a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Vertices welded to another.
    pub welded: usize,
    /// Triangles without area, and copies of triangles.
    pub dropped: usize,
    /// Triangles turned the other way round.
    pub turned: usize,
    /// Triangles that are walls within the body, at least in part: where shells pass through each other.
    pub walls: usize,
    /// Edges of one triangle alone: the rims of holes.
    pub open_edges: usize,
    /// Connected components.
    pub shells: usize,
}

impl Body {
    /// Makes a mesh ready. `up` is the direction that is up in the mesh's own space; `effort` is for its winding numbers.
    ///
    /// # Errors
    /// [`AutoRigError`] if the mesh is unusable, `up` has no direction, or there is nothing that could enclose a volume.
    pub fn new(mesh: &Mesh, up: DVec3, effort: &Effort) -> Result<Self, AutoRigError> {
        mesh.check()?;
        let up = up.try_normalize().filter(|up| up.is_finite()).ok_or(AutoRigError::Up)?;
        let used: HashSet<u32> = mesh.triangles.iter().flatten().copied().collect();
        if mesh.triangles.len() < FEWEST {
            return Err(AutoRigError::Flat { triangles: mesh.triangles.len() });
        }
        let upright = upright(up);
        let turned: Vec<DVec3> = mesh.positions.iter().map(|p| upright * *p).collect();
        // Vertices without a triangle say nothing of the shape.
        let on_skin = (0..turned.len() as u32).filter(|v| used.contains(v)).map(|v| turned[v as usize]);
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) = on_skin.fold(start, |(low, high), p| (low.min(p), high.max(p)));
        let (origin, length) = (0.5 * low + 0.5 * high, (high - low).max_element());
        if !(length > 0.0 && (1.0 / length).is_finite() && length.is_finite()) {
            return Err(AutoRigError::Flat { triangles: mesh.triangles.len() });
        }
        let scaled: Vec<DVec3> = turned.iter().map(|p| (*p - origin) / length).collect();
        let mut mended = Mended::default();
        let rounded: Vec<DVec3> = scaled.iter().map(|p| (*p / WELD).round()).collect();
        let mut node_of = welded(&rounded);
        let mut nodes = Vec::new();
        for v in 0..scaled.len() {
            let first = node_of[v] as usize;
            node_of[v] = if first == v { nodes.len() as u32 } else { node_of[first] };
            if first == v {
                nodes.push(scaled[v]);
            }
        }
        mended.welded = scaled.len() - nodes.len();
        let mut triangles = Vec::with_capacity(mesh.triangles.len());
        let mut seen = HashSet::with_capacity(mesh.triangles.len());
        for corners in &mesh.triangles {
            let t = corners.map(|c| node_of[c as usize]);
            let mut key = t;
            key.sort_unstable();
            let [a, b, c] = t.map(|n| nodes[n as usize]);
            let has_area = (b - a).cross(c - a).length() > 1e-14;
            if has_area && seen.insert(key) {
                triangles.push(t);
            }
        }
        mended.dropped = mesh.triangles.len() - triangles.len();
        if triangles.len() < FEWEST {
            return Err(AutoRigError::Flat { triangles: triangles.len() });
        }
        let outwards = orient(&nodes, &mut triangles);
        (mended.turned, mended.open_edges) = outwards;
        let (shell_of, shell_areas) = shells(&nodes, &triangles);
        mended.shells = shell_areas.len();
        let winding = Winding::new(triangles.iter().map(|t| t.map(|n| nodes[n as usize])));
        let mut outer = Outer::new(&nodes, &triangles, &winding, effort)?;
        if outer.triangles.len() < FEWEST {
            // Nothing is outside of anything: a soup without a sense.
            outer = Outer { nodes: nodes.clone(), triangles: triangles.clone(), whole: triangles.len(), walls: 0 };
        }
        mended.walls = outer.walls;
        let surface = Surface::new(&outer.nodes, &outer.triangles);
        let bounds = ((low - origin) / length, (high - origin) / length);
        Ok(Self {
            nodes,
            node_of,
            triangles,
            shell_of,
            shell_areas,
            outer,
            surface,
            winding,
            bounds,
            mended,
            origin,
            length,
            upright,
        })
    }

    /// A point of the mesh's own space, as the embedding sees it.
    pub fn inwards(&self, p: DVec3) -> DVec3 {
        (self.upright * p - self.origin) / self.length
    }

    /// A point in the mesh's own space.
    pub fn outwards(&self, p: DVec3) -> DVec3 {
        self.upright.transpose() * (p * self.length + self.origin)
    }

    /// A direction in the mesh's own space.
    pub fn direction_outwards(&self, d: DVec3) -> DVec3 {
        self.upright.transpose() * d
    }

    /// The length, in the mesh's own unit, of the largest side of the box.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Points of the outer skin spread evenly by area, with the outward normals of their triangles: about `count`, the same for every run.
    pub fn samples(&self, count: usize) -> Vec<(DVec3, DVec3)> {
        let triangles = &self.outer.triangles;
        let corners = |t: usize| triangles[t].map(|n| self.outer.nodes[n as usize]);
        let doubled = |t: usize| {
            let [a, b, c] = corners(t);
            (b - a).cross(c - a)
        };
        let total: f64 = (0..triangles.len()).map(|t| doubled(t).length()).sum();
        let step = total / count.max(1) as f64;
        let (mut sum, mut next, mut found) = (0.0, 0.5 * step, Vec::with_capacity(count));
        for t in 0..triangles.len() {
            let area = doubled(t);
            sum += area.length();
            while next < sum && found.len() < 2 * count {
                // Additive recurrence of the plastic number: evenly spread in the unit square.
                let n = found.len() as f64;
                let (u, v) = ((0.5 + 0.754_877_666_246_692_7 * n).fract(), (0.5 + 0.569_840_290_998_053_2 * n).fract());
                let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
                let [a, b, c] = corners(t);
                found.push((a + (b - a) * u + (c - a) * v, area.normalize_or_zero()));
                next += step;
            }
        }
        found
    }
}

/// The rotation that takes `up` to +Y by the shortest way, or by half a turn about X.
fn upright(up: DVec3) -> DMat3 {
    let axis = up.cross(DVec3::Y);
    match axis.try_normalize() {
        Some(unit) => DMat3::from_axis_angle(unit, axis.length().atan2(up.y)),
        None if up.y > 0.0 => DMat3::IDENTITY,
        None => DMat3::from_rotation_x(std::f64::consts::PI),
    }
}

/// Turns the triangles of every patch the same way round and outwards; how many turned, and how many edges are open.
fn orient(nodes: &[DVec3], triangles: &mut [[u32; 3]]) -> (usize, usize) {
    // An edge, lower node first; its triangles, and whether they run along it.
    let mut edges: BTreeMap<(u32, u32), Vec<(u32, bool)>> = BTreeMap::new();
    for (t, corners) in triangles.iter().enumerate() {
        for i in 0..3 {
            let (from, to) = (corners[i], corners[(i + 1) % 3]);
            edges.entry((from.min(to), from.max(to))).or_default().push((t as u32, from < to));
        }
    }
    let mut across: Vec<Vec<(u32, bool)>> = vec![Vec::new(); triangles.len()];
    let mut open = 0;
    for around in edges.values() {
        match around[..] {
            [(a, forth), (b, back)] => {
                across[a as usize].push((b, forth == back));
                across[b as usize].push((a, forth == back));
            }
            [_] => open += 1,
            _ => {}
        }
    }
    let mut turn: Vec<Option<bool>> = vec![None; triangles.len()];
    let mut turned = 0;
    for start in 0..triangles.len() {
        if turn[start].is_some() {
            continue;
        }
        turn[start] = Some(false);
        let mut patch = vec![start];
        let mut at = 0;
        while at < patch.len() {
            let t = patch[at];
            at += 1;
            for &(other, against) in &across[t] {
                if turn[other as usize].is_none() {
                    turn[other as usize] = Some(turn[t] == Some(true) && !against || turn[t] == Some(false) && against);
                    patch.push(other as usize);
                }
            }
        }
        let corners = |t: usize| triangles[t].map(|n| nodes[n as usize]);
        let centre = patch.iter().map(|t| corners(*t).iter().sum::<DVec3>() / 3.0).sum::<DVec3>() / patch.len() as f64;
        let volume: f64 = patch
            .iter()
            .map(|&t| {
                let [a, b, c] = corners(t).map(|p| p - centre);
                let signed = a.cross(b).dot(c);
                if turn[t] == Some(true) { -signed } else { signed }
            })
            .sum();
        for &t in &patch {
            if (turn[t] == Some(true)) != (volume < 0.0) {
                triangles[t].swap(1, 2);
                turned += 1;
            }
        }
    }
    (turned, open)
}

/// The component of every node, numbered by descending area, and the areas; nodes without a triangle are of the first.
fn shells(nodes: &[DVec3], triangles: &[[u32; 3]]) -> (Vec<u32>, Vec<f64>) {
    let mut parent: Vec<u32> = (0..nodes.len() as u32).collect();
    fn root(parent: &mut [u32], mut node: u32) -> u32 {
        while parent[node as usize] != node {
            parent[node as usize] = parent[parent[node as usize] as usize];
            node = parent[node as usize];
        }
        node
    }
    for &[a, b, c] in triangles {
        for (x, y) in [(a, b), (b, c)] {
            let (x, y) = (root(&mut parent, x), root(&mut parent, y));
            parent[x.max(y) as usize] = x.min(y);
        }
    }
    let mut areas: BTreeMap<u32, f64> = BTreeMap::new();
    for t in triangles {
        let [a, b, c] = t.map(|n| nodes[n as usize]);
        *areas.entry(root(&mut parent, t[0])).or_default() += 0.5 * (b - a).cross(c - a).length();
    }
    let mut order: Vec<(u32, f64)> = areas.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let rank: BTreeMap<u32, u32> = order.iter().enumerate().map(|(rank, (root, _))| (*root, rank as u32)).collect();
    let shell_of = (0..nodes.len() as u32).map(|n| rank.get(&root(&mut parent, n)).copied().unwrap_or(0)).collect();
    (shell_of, order.into_iter().map(|(_, area)| area).collect())
}

impl From<MeshError> for AutoRigError {
    fn from(error: MeshError) -> Self {
        Self::Mesh(error)
    }
}
