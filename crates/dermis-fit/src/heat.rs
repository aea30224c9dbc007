//! Bone heat: skinning weights from the shapes of mesh and skeleton alone.
//!
//! Every vertex takes the temperature of its nearest visible bone, and heat spreads over the surface to its equilibrium.
//! Bone k has temperature one at its own skin and zero at the skin of the others. Its temperature at a vertex is its weight:
//!
//! `(K + A H) w_k = A H e_k`, with the cotangent stiffness K, vertex areas A (a third of each triangle around),
//! `H = n c / d²` for n nearest visible bones at distance d, and `e_k = 1/n` for each of them.
//!
//! A bone consists of the segments from its joint to the joints of its children. It is visible from a vertex if the straight
//! line to its nearest point stays inside the vertex's shell, a connected component of the mesh: the line must not start
//! outwards, and must not pass through another triangle of the shell. Shells do not hide bones from each other, so clothes
//! see the bones of the body below them.
//!
//! An open shell, one with a border, has an inside if it winds at least half around a point of a bone: a body with a hole, a sleeve, a glove. Its outside
//! is told by the sign of the volume below its faces, and its holes hide nothing. An open shell that winds around no bone is a piece that lies beside
//! one: a plate, a strap, a card of hair. It has no inside, whichever way it bends and its faces look, so none of its vertices is asked what it sees:
//! it takes the nearest bones.
//!
//! Where more bones warm a vertex than may move it, the colder ones fade out ([`faded`]).
//!
//! Good: smooth weights at once, for any resolution, without an example. Bad: the method knows only distance, and nothing of
//! muscles and folds.
//!
//! Source: Baran & Popović 2007, Automatic rigging and animation of 3D characters, section 4. Departures: K by cotangents
//! clamped to 1e-10 from below instead of as they are, which keeps the matrix an M-matrix, so that weights lie in 0..=1
//! and sum to one also over obtuse, degenerate and non-manifold triangles; lines are tested against triangles instead
//! of a distance field; a shell that sees no bone takes the nearest ones, hidden or not; lengths are divided by L
//! ([`Mesh::extent`]), and d is at least 1e-9 of it.

use crate::surface::{Surface, closest_on_segment, closest_on_triangle};
use crate::training::{Cancelled, Progress};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::mesh::welded;
use dermis_rig::{BoneIndex, BoneVec, Influences, Mesh, MeshError, PrincipalBox, Pruned, Skeleton};
use dermis_solve::faer::Mat;
use dermis_solve::{SolveError, SparseFactor};
use rayon::prelude::*;
use std::f64::consts::TAU;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a caller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatSettings {
    /// c: how strongly the skin takes its bone's temperature. 1 by default; 0.22 makes wider blends.
    pub transfer: f64,
    /// The most influences of a vertex, by [`faded`]. `None` keeps all.
    pub influences: Option<usize>,
}

impl Default for HeatSettings {
    fn default() -> Self {
        Self { transfer: 1.0, influences: Some(4) }
    }
}

/// What a caller learns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatReport {
    /// Connected components of the mesh.
    pub shells: usize,
    /// Components without a vertex that sees a bone, open ones around no bone among them, and their vertices. They follow their nearest bones.
    pub blind_shells: (usize, usize),
    /// Vertices of other shells that see no bone: they take their weights from their surroundings alone.
    pub blind_vertices: usize,
    /// Vertices that share their position with an earlier one and were welded to it.
    pub welded: usize,
    /// Edges whose cotangent weight was negative and was clamped.
    pub clamped_edges: usize,
    /// Bones that are nearest to no vertex, so that no skin follows them.
    pub idle: Vec<BoneIndex>,
    /// What the limit on influences dropped.
    pub pruned: Pruned,
}

/// Why there are no weights.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HeatError {
    /// The mesh is unusable.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// No bone may have weight.
    #[error("there is no bone that the skin could follow")]
    NoBones,
    /// The transfer coefficient, or the number of influences, is out of range.
    #[error("{what} is {value}; it must be positive")]
    Setting {
        /// Which.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The heat equation has no solution in floating point.
    #[error("the heat equation cannot be solved: {0}")]
    Solve(#[from] SolveError),
    /// Weights that were computed are NaN or infinite.
    #[error("the weights from bone heat: {0}")]
    Weights(dermis_rig::InfluenceError),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for HeatError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Returns the segments of every bone, rest world: from its joint to the joint of each child.
///
/// A bone without children goes on in the direction of its parent, as far as the parent reaches. If the parent lies along an axis of its
/// joint, as bones of most rigs do, the bone has a second segment, along that axis of its own joint: toes point forward where the foot
/// points down. A lone root is a point. Bones that `skip` names have no segments, and no parent reaches for them.
pub fn bone_segments(skeleton: &Skeleton, skip: impl Fn(BoneIndex) -> bool) -> BoneVec<Vec<[DVec3; 2]>> {
    let head = |bone: BoneIndex| skeleton.bind()[bone].translation;
    let mut segments = BoneVec::new(vec![Vec::new(); skeleton.len()]);
    for bone in skeleton.bones().filter(|bone| !skip(*bone)) {
        if let Some(parent) = skeleton.parents()[bone].filter(|parent| !skip(*parent)) {
            segments[parent].push([head(parent), head(bone)]);
        }
    }
    for bone in skeleton.bones().filter(|bone| !skip(*bone)) {
        if segments[bone].is_empty() {
            let from = head(bone);
            segments[bone] = match skeleton.parents()[bone] {
                Some(parent) => {
                    let on = from - head(parent);
                    let own = along_axis(&skeleton.bind()[parent].matrix3, &skeleton.bind()[bone].matrix3, on);
                    std::iter::once(on).chain(own).map(|way| [from, from + way]).collect()
                }
                None => vec![[from, from]],
            };
        }
    }
    segments
}

/// From a point to the nearest point of a bone's segments; infinite without any.
pub(crate) fn distance_to_bone(p: DVec3, segments: &[[DVec3; 2]]) -> f64 {
    segments.iter().map(|&[from, to]| closest_on_segment(p, from, to).0.distance(p)).fold(f64::INFINITY, f64::min)
}

/// The cosine of the angle to an axis of its joint at which a bone lies along it: 10 degrees.
const ALONG: f64 = 0.985;

/// The way of a leaf along an axis of its own, as long as its parent's, if the parent lies along that axis of its joint. An axis that points
/// back counts for nothing, nor one that is the parent's direction.
fn along_axis(of_parent: &DMat3, own: &DMat3, way_of_parent: DVec3) -> Option<DVec3> {
    let signed = (0..3).flat_map(|axis| [1.0, -1.0].map(|sign| (of_parent.col(axis) * sign, own.col(axis) * sign)));
    let (along, length) = (way_of_parent.normalize_or_zero(), way_of_parent.length());
    signed
        .map(|(of_parent, own)| (of_parent.normalize_or_zero(), own.normalize_or_zero()))
        .find(|(of_parent, own)| of_parent.dot(along) >= ALONG && own.dot(along) > 0.0 && own.dot(along) < ALONG)
        .map(|(_, own)| own * length)
}

/// Returns skinning weights by bone heat: non-negative, every row sums to one.
///
/// - `segments`: per bone, rest world ([`bone_segments`]); a bone without any gets no weight
///
/// # Errors
/// [`HeatError`].
pub fn heat_weights(
    mesh: &Mesh,
    segments: &BoneVec<Vec<[DVec3; 2]>>,
    settings: &HeatSettings,
    progress: Progress<'_>,
) -> Result<(Influences, HeatReport), HeatError> {
    mesh.check()?;
    if !(settings.transfer > 0.0 && settings.transfer.is_finite()) {
        return Err(HeatError::Setting { what: "the heat transfer", value: settings.transfer });
    }
    if settings.influences == Some(0) {
        return Err(HeatError::Setting { what: "the number of influences", value: 0.0 });
    }
    if segments.iter().all(Vec::is_empty) {
        return Err(HeatError::NoBones);
    }
    let body = Body::new(mesh);
    let bones: BoneVec<Vec<[DVec3; 2]>> =
        BoneVec::new(segments.iter().map(|own| own.iter().map(|s| s.map(|p| body.scaled(p))).collect()).collect());
    let total = (body.nodes.len() + bones.len()) as u64;
    let done = AtomicU64::new(0);
    let step = || progress(done.fetch_add(1, Ordering::Relaxed), total);

    let mut report = HeatReport {
        shells: body.shells.len(),
        welded: mesh.positions.len() - body.nodes.len(),
        clamped_edges: body.clamped,
        ..HeatReport::default()
    };
    let nearest = nearest_visible(&body, &bones, &mut report, &step)?;

    // (node, bone, weight) by blocks of bones: a block is one solve, whoever computes it.
    let matrix = body.matrix(&nearest, settings.transfer);
    let factor = SparseFactor::new(body.nodes.len(), &matrix)?;
    let mut used: Vec<bool> = vec![false; bones.len()];
    nearest.iter().flat_map(|n| &n.bones).for_each(|b| used[b.get()] = true);
    let warm: Vec<BoneIndex> = bones.indices().filter(|b| used[b.get()]).collect();
    report.idle = bones.indices().filter(|b| !used[b.get()] && !bones[*b].is_empty()).collect();
    let blocks: Vec<Vec<(u32, BoneIndex, f64)>> = warm
        .par_chunks(BLOCK)
        .map(|block| {
            if step().is_break() {
                return Err(HeatError::Cancelled);
            }
            let mut w = Mat::<f64>::zeros(body.nodes.len(), block.len());
            for (node, nearest) in nearest.iter().enumerate() {
                let share = body.areas[node] * nearest.heat(settings.transfer) / nearest.bones.len().max(1) as f64;
                for bone in &nearest.bones {
                    if let Ok(column) = block.binary_search(bone) {
                        w[(node, column)] = share;
                    }
                }
            }
            factor.solve(&mut w)?;
            let entries = (0..block.len()).flat_map(|column| {
                let w = &w;
                (0..body.nodes.len()).map(move |node| (node as u32, block[column], w[(node, column)]))
            });
            Ok(entries.filter(|(_, _, w)| *w > NEGLIGIBLE || w.is_nan()).collect())
        })
        .collect::<Result<_, HeatError>>()?;

    let mut rows: Vec<Vec<(BoneIndex, f64)>> = vec![Vec::new(); body.nodes.len()];
    for (node, bone, weight) in blocks.into_iter().flatten() {
        rows[node as usize].push((bone, weight));
    }
    let all = Influences::from_rows(body.node_of.iter().map(|&node| rows[node as usize].clone()));
    let (mut weights, _) = all.map_err(HeatError::Weights)?.normalised();
    if let Some(most) = settings.influences {
        (weights, report.pruned) = faded(&weights, most)?;
    }
    Ok((weights, report))
}

/// Returns at most N = `most` influences a vertex, at least one: the largest, each less the largest that is dropped, scaled to sum to one.
///
/// `w_k' = (w_k − w_(N+1)) / Σ_(j≤N) (w_j − w_(N+1))`, with weights in falling order, ties by the lower bone. Rows without negative weights that sum to one
/// stay so.
///
/// A bone that leaves the N largest has faded to nothing there, so that weights stay continuous over the surface where its bones change. The cut
/// `w_k / Σ_(j≤N) w_j` ([`Influences::pruned`]) jumps there by up to 1/N, and tears the skin. For N+1 bones the map is the projection from their equal
/// share to the boundary of their simplex. It has no limit where the N+1 largest are all equal, as no continuous map keeps rows of N bones and shortens
/// those of N+1: the boundary of a simplex is no retract of it. Such points are rare on a surface from N = 3 on; the lower bones share there.
///
/// What the report calls lost is the sum of the dropped weights, as in [`Influences::pruned`].
///
/// # Errors
/// [`HeatError::Weights`] for a weight that is not finite.
pub fn faded(weights: &Influences, most: usize) -> Result<(Influences, Pruned), HeatError> {
    let most = most.max(1);
    let mut report = Pruned::default();
    let rows = weights.rows().map(|row| {
        let mut kept = row.to_vec();
        kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let dropped = kept.split_off(kept.len().min(most));
        let level = dropped.first().map_or(0.0, |e| e.1);
        report.vertices += usize::from(!dropped.is_empty());
        report.dropped += dropped.len();
        report.largest_loss = report.largest_loss.max(dropped.iter().map(|e| e.1).sum());
        // What is above the limit by rounding alone is not above it.
        let above: Vec<(BoneIndex, f64)> =
            kept.iter().map(|&(bone, w)| (bone, w - level)).filter(|(_, w)| *w > NEGLIGIBLE).collect();
        let sum: f64 = above.iter().map(|(_, w)| w).sum();
        if sum > EQUAL {
            above.into_iter().map(|(bone, w)| (bone, w / sum)).collect()
        } else {
            kept.iter().map(|&(bone, _)| (bone, 1.0 / kept.len() as f64)).collect()
        }
    });
    let rows: Vec<Vec<_>> = rows.collect();
    Ok((Influences::from_rows(rows).map_err(HeatError::Weights)?, report))
}

/// Weights that differ by less in sum are equal: what is left of them is the rounding of the solve.
const EQUAL: f64 = 1e-9;
/// Bones solved at once.
const BLOCK: usize = 8;
/// Weights below this are left out: far below what any format stores, far above what the solve leaves as noise.
const NEGLIGIBLE: f64 = 1e-10;
/// Bones count as equally near within this part of the distance.
const TIE: f64 = 1e-4;
/// The least distance from a bone, and the least area of a vertex (squared), in L.
const LEAST: f64 = 1e-9;
/// The least cotangent weight of an edge: below the rounding of any answer, but it keeps neighbours connected.
const LEAST_COTANGENT: f64 = 1e-10;

/// Parts of a segment between the points of a bone that an open shell may wind around.
const ALONG_BONE: i32 = 8;

/// The mesh as the heat equation sees it: welded, from its middle, and in L.
struct Body {
    origin: DVec3,
    length: f64,
    /// The node of every vertex.
    node_of: Vec<u32>,
    /// Positions of the nodes.
    nodes: Vec<DVec3>,
    /// Triangles at every node.
    around: Vec<Vec<u32>>,
    areas: Vec<f64>,
    /// (lower, higher, cotangent weight), each edge once.
    edges: Vec<(u32, u32, f64)>,
    clamped: usize,
    /// A node of every edge that has one triangle.
    border: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    surface: Surface,
    /// The shell of every node.
    shell_of: Vec<u32>,
    shells: Vec<Shell>,
}

#[derive(Clone, Copy, Default)]
struct Shell {
    nodes: usize,
    centre: DVec3,
    /// 1 if the outside is where normals point, -1 if the shell is inside out, 0 if it encloses next to nothing.
    outside: f64,
    /// Whether it has a border.
    is_open: bool,
}

impl Body {
    fn new(mesh: &Mesh) -> Self {
        let around = PrincipalBox::of(&mesh.positions);
        let (origin, length) = (around.centre, around.extent());
        let length = if length > 0.0 && length.is_finite() { length } else { 1.0 };
        let scaled: Vec<DVec3> = mesh.positions.iter().map(|p| (*p - origin) / length).collect();
        let mut node_of = welded(&scaled);
        let mut nodes = Vec::new();
        for v in 0..scaled.len() {
            // Welding names an earlier vertex, which has its node already.
            let first = node_of[v] as usize;
            node_of[v] = if first == v { nodes.len() as u32 } else { node_of[first] };
            if first == v {
                nodes.push(scaled[v]);
            }
        }
        let mut triangles: Vec<[u32; 3]> = mesh.triangles.iter().map(|t| t.map(|c| node_of[c as usize])).collect();
        triangles.retain(|[a, b, c]| a != b && b != c && c != a);
        let surface = Surface::new(&nodes, &triangles);
        let mut body = Self {
            origin,
            length,
            around: vec![Vec::new(); nodes.len()],
            areas: vec![0.0; nodes.len()],
            shell_of: vec![0; nodes.len()],
            node_of,
            nodes,
            edges: Vec::new(),
            clamped: 0,
            border: Vec::new(),
            triangles,
            surface,
            shells: Vec::new(),
        };
        body.measure();
        body.find_shells();
        body.find_outside();
        body
    }

    fn scaled(&self, p: DVec3) -> DVec3 {
        (p - self.origin) / self.length
    }

    /// Areas, cotangents, and triangles around.
    fn measure(&mut self) {
        let mut edges: Vec<(u32, u32, f64)> = Vec::with_capacity(3 * self.triangles.len());
        for (t, &corners) in self.triangles.iter().enumerate() {
            let p = corners.map(|c| self.nodes[c as usize]);
            let normal = (p[1] - p[0]).cross(p[2] - p[0]);
            let longest = (0..3).map(|i| p[i].distance_squared(p[(i + 1) % 3])).fold(0.0, f64::max);
            // A triangle without area conducts nothing, but its corners stay neighbours.
            let flat = normal.length() <= 1e-12 * longest;
            for i in 0..3 {
                let (at, j, k) = (p[i], (i + 1) % 3, (i + 2) % 3);
                let cotangent = if flat { 0.0 } else { 0.5 * (p[j] - at).dot(p[k] - at) / normal.length() };
                edges.push((corners[j].min(corners[k]), corners[j].max(corners[k]), cotangent));
                if !flat {
                    self.areas[corners[i] as usize] += normal.length() / 6.0;
                    self.around[corners[i] as usize].push(t as u32);
                }
            }
        }
        // Stable: the cotangents of an edge are summed in the order of their triangles.
        edges.sort_by_key(|&(low, high, _)| (low, high));
        for around in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (low, high, _) = around[0];
            self.edges.push((low, high, around.iter().map(|edge| edge.2).sum()));
            self.border.extend((around.len() == 1).then_some(low));
        }
        self.clamped = self.edges.iter().filter(|edge| edge.2 < -LEAST_COTANGENT).count();
        self.edges.iter_mut().for_each(|edge| edge.2 = edge.2.max(LEAST_COTANGENT));
        self.areas.iter_mut().for_each(|area| *area = area.max(LEAST * LEAST));
    }

    /// Connected components, numbered by their first node.
    fn find_shells(&mut self) {
        let mut parent: Vec<u32> = (0..self.nodes.len() as u32).collect();
        fn root(parent: &mut [u32], mut node: u32) -> u32 {
            while parent[node as usize] != node {
                parent[node as usize] = parent[parent[node as usize] as usize];
                node = parent[node as usize];
            }
            node
        }
        for &(low, high, _) in &self.edges {
            let (a, b) = (root(&mut parent, low), root(&mut parent, high));
            parent[a.max(b) as usize] = a.min(b);
        }
        for node in 0..self.nodes.len() {
            let first = root(&mut parent, node as u32) as usize;
            if first == node {
                self.shell_of[node] = self.shells.len() as u32;
                self.shells.push(Shell::default());
            } else {
                self.shell_of[node] = self.shell_of[first];
            }
            let shell = &mut self.shells[self.shell_of[node] as usize];
            shell.nodes += 1;
            shell.centre += self.nodes[node];
        }
        self.shells.iter_mut().for_each(|shell| shell.centre /= shell.nodes as f64);
        self.border.iter().for_each(|&node| self.shells[self.shell_of[node as usize] as usize].is_open = true);
    }

    /// Per shell, whether it is open and winds around no point of a bone.
    fn beside_bones(&self, bones: &BoneVec<Vec<[DVec3; 2]>>) -> Vec<bool> {
        let mut corners: Vec<Vec<[DVec3; 3]>> = vec![Vec::new(); self.shells.len()];
        for triangle in &self.triangles {
            let shell = self.shell_of[triangle[0] as usize] as usize;
            if self.shells[shell].is_open {
                corners[shell].push(triangle.map(|c| self.nodes[c as usize]));
            }
        }
        let along = |[from, to]: &[DVec3; 2]| {
            let (from, to) = (*from, *to);
            (0..=ALONG_BONE).map(move |k| from.lerp(to, f64::from(k) / f64::from(ALONG_BONE)))
        };
        let points: Vec<DVec3> = bones.iter().flatten().flat_map(along).collect();
        let is_beside = |(shell, corners): (&Shell, &Vec<[DVec3; 3]>)| {
            let around = PrincipalBox::of(corners.as_flattened());
            // Outside of its box nothing winds half around a point.
            let within = |p: &&DVec3| around.inward(**p).abs().cmple(around.half).all();
            let encloses = |p: &DVec3| corners.iter().map(|c| solid_angle(c, *p)).sum::<f64>().abs() >= TAU;
            shell.is_open && !points.iter().filter(within).any(encloses)
        };
        self.shells.par_iter().zip(&corners).map(is_beside).collect()
    }

    /// On which side of its faces a shell has its outside: from the volume below them.
    fn find_outside(&mut self) {
        let mut measures = vec![(0.0, 0.0); self.shells.len()];
        for corners in &self.triangles {
            let shell = self.shell_of[corners[0] as usize] as usize;
            let [a, b, c] = corners.map(|c| self.nodes[c as usize] - self.shells[shell].centre);
            let (volume, area) = &mut measures[shell];
            *volume += a.dot(b.cross(c)) / 6.0;
            *area += (b - a).cross(c - a).length() / 2.0;
        }
        for (shell, (volume, area)) in self.shells.iter_mut().zip(measures) {
            // A ball has area^1.5 / 10.6 of volume, a box of 1 x 1 x 0.02 a fifteenth of that, a wavy sheet next to nothing.
            let encloses = volume.abs() > 1e-3 * f64::powf(area, 1.5);
            shell.outside = if encloses { volume.signum() } else { 0.0 };
        }
    }

    /// Whether a line from a node begins inside its shell: a little further on, the point lies behind the closest of the
    /// triangles around. True for a shell without an outside.
    ///
    /// Source of the sign: Bærentzen & Aanæs 2005; the normals of equally close triangles are summed.
    fn begins_inside(&self, node: usize, way: DVec3) -> bool {
        let (from, outside) = (self.nodes[node], self.shells[self.shell_of[node] as usize].outside);
        let corners = |t: &u32| self.triangles[*t as usize].map(|c| self.nodes[c as usize]);
        let around = &self.around[node];
        let edges = around.iter().flat_map(corners).map(|c| c.distance(from)).filter(|d| *d > 0.0);
        let step = edges.fold(way.length(), f64::min) * 0.1;
        if outside == 0.0 || step == 0.0 {
            return true;
        }
        let x = from + way.normalize() * step;
        let offsets: Vec<DVec3> = around.iter().map(|t| x - closest_on_triangle(x, &corners(t)).0).collect();
        let nearest = offsets.iter().map(|o| o.length()).fold(f64::INFINITY, f64::min);
        let mut normal = DVec3::ZERO;
        for (t, _) in around.iter().zip(&offsets).filter(|(_, o)| o.length() <= nearest + 1e-9 * step) {
            let [a, b, c] = corners(t);
            normal += (b - a).cross(c - a).normalize_or_zero();
        }
        let offset = offsets.iter().find(|o| o.length() == nearest).copied().unwrap_or_default();
        // Along a flat surface counts as inside: a bone may end in the cap of its limb.
        offset.dot(normal.normalize_or_zero()) * outside <= 1e-3 * step
    }

    /// Whether the straight line from a node to `to` stays inside the node's shell.
    fn sees(&self, node: usize, to: DVec3) -> bool {
        let from = self.nodes[node];
        let way = to - from;
        // A bone that touches the skin is seen; rounding alone gives the way a direction.
        if way.length() <= LEAST {
            return true;
        }
        if !self.begins_inside(node, way) {
            return false;
        }
        let hides = |t: usize| {
            let corners = self.triangles[t];
            self.shell_of[corners[0] as usize] == self.shell_of[node] && !corners.contains(&(node as u32))
        };
        !self.surface.crosses(from, to, hides)
    }

    /// The lower triangle of K + A H.
    fn matrix(&self, nearest: &[Nearest], transfer: f64) -> Vec<(usize, usize, f64)> {
        let mut entries: Vec<(usize, usize, f64)> =
            nearest.iter().enumerate().map(|(i, n)| (i, i, self.areas[i] * n.heat(transfer))).collect();
        for &(low, high, weight) in &self.edges {
            let (low, high) = (low as usize, high as usize);
            entries.extend([(low, low, weight), (high, high, weight), (high, low, -weight)]);
        }
        entries
    }
}

/// The solid angle of a triangle seen from a point; its sign is that of the side. Half of all directions are 2π.
///
/// Source: van Oosterom & Strackee 1983.
fn solid_angle(corners: &[DVec3; 3], p: DVec3) -> f64 {
    let [a, b, c] = corners.map(|q| q - p);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let (above, below) = (a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
    if above == 0.0 && below == 0.0 { 0.0 } else { 2.0 * above.atan2(below) }
}

/// The nearest visible bones of a node; none if it sees none.
#[derive(Clone, Default)]
struct Nearest {
    bones: Vec<BoneIndex>,
    distance: f64,
}

impl Nearest {
    /// H = n c / d².
    fn heat(&self, transfer: f64) -> f64 {
        match self.bones.len() {
            0 => 0.0,
            n => n as f64 * transfer / self.distance.powi(2),
        }
    }
}

fn nearest_visible(
    body: &Body,
    bones: &BoneVec<Vec<[DVec3; 2]>>,
    report: &mut HeatReport,
    step: &(impl Fn() -> std::ops::ControlFlow<Cancelled> + Sync),
) -> Result<Vec<Nearest>, HeatError> {
    let find = |node: usize, sees: &dyn Fn(DVec3) -> bool| {
        let p = body.nodes[node];
        let mut near: Vec<(f64, BoneIndex, DVec3)> = Vec::with_capacity(bones.len());
        for (bone, segments) in bones.enumerate() {
            let points = segments.iter().map(|&[from, to]| closest_on_segment(p, from, to).0);
            let best = points.map(|q| (q.distance(p).max(LEAST), q)).min_by(|a, b| a.0.total_cmp(&b.0));
            near.extend(best.map(|(d, q)| (d, bone, q)));
        }
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut found = Nearest::default();
        for (distance, bone, q) in near {
            if !found.bones.is_empty() && distance > found.distance * (1.0 + TIE) {
                break;
            }
            if sees(q) {
                found.distance = if found.bones.is_empty() { distance } else { found.distance };
                found.bones.push(bone);
            }
        }
        found
    };
    let beside = body.beside_bones(bones);
    let sees = |node: usize, q: DVec3| !beside[body.shell_of[node] as usize] && body.sees(node, q);
    let mut nearest: Vec<Nearest> = (0..body.nodes.len())
        .into_par_iter()
        .map(|node| match step() {
            std::ops::ControlFlow::Break(_) => Err(HeatError::Cancelled),
            std::ops::ControlFlow::Continue(()) => Ok(find(node, &|q| sees(node, q))),
        })
        .collect::<Result<_, _>>()?;
    let mut seeing = vec![false; body.shells.len()];
    for (node, found) in nearest.iter().enumerate() {
        seeing[body.shell_of[node] as usize] |= !found.bones.is_empty();
    }
    let blind = |node: usize| !seeing[body.shell_of[node] as usize];
    nearest
        .par_iter_mut()
        .enumerate()
        .filter(|(node, _)| blind(*node))
        .for_each(|(node, n)| *n = find(node, &|_| true));
    report.blind_shells.0 = seeing.iter().filter(|seeing| !**seeing).count();
    for &node in &body.node_of {
        report.blind_shells.1 += usize::from(blind(node as usize));
        report.blind_vertices += usize::from(nearest[node as usize].bones.is_empty());
    }
    Ok(nearest)
}
