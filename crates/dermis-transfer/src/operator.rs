//! P: how much of every body vertex a vertex of the target takes.
//!
//! ```text
//! match   q_g = argmin |x_g − q|² + α² (1 − n_g·n_q)²,   P0 its barycentric row,   d_g its distance,   c_g = n_g·n_q
//! trust   κ_g = max(0, c_g) exp(−d_g²/τ²) + 1e-5
//! P       = (ℓ² L + M K)⁻¹ M K P0,   K = diag κ
//! ```
//!
//! L is the cotangent Laplacian of the target with every cotangent held within [.02, 5], M its vertex areas, both on vertices welded
//! by position. L is a symmetric M-matrix, so P ≥ 0 and P 1 = 1 without clipping: a vertex whose match is not trusted takes what its
//! neighbours have, and extrapolates nothing. P is never formed. The matrix is factored once; [`Operator::carry`] then costs a solve a
//! column.
//!
//! Islands are not tied to each other: ties between layers of cloth put arms into trouser legs.
//!
//! - **Sides.** An island whose normals disagree with the body's is turned. Cloth that has an inner side of its own, a sheet with a
//!   sheet close behind it that faces the other way, is matched with its normals turned where that costs less.
//! - **On the body.** A target that lies on the body, such as a level of detail, has ℓ = 0 and α = 0: P = P0. A vertex with the index
//!   and position of a body vertex is that vertex.
//! - **Strips.** An island near the body that is nowhere parallel to it, as strips of hair are, is held where it is nearest.
//! - **Rigid islands.** All vertices of a small island take one row: the area mean of the rows of the cloth below it, or of the body.
//! - **Unmatched islands** take the row of the nearest vertex that has one.
//!
//! Lengths are those of a body of 1.7 m, whose [extent](Mesh::extent) is about 2.1 m; other bodies scale them.
//!
//! Departure from robust weight transfer (Abdrashitov et al. 2023, *Robust Skin Weights Transfer via Weight Inpainting*): trust is soft
//! where theirs is a mask, and the first power of L takes the place of its square, which overshoots and needs clipping.

use crate::body::{Body, Match, USUAL_EXTENT, welded_normals};
use crate::error::TransferError;
use crate::islands::{Held, Island, label, place_of, size_of};
use crate::place::elsewhere;
use dermis_fit::surface::{Closest, Surface};
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::vertex_areas;
use dermis_rig::{Mesh, Rows};
use dermis_solve::sparse::{SolveMemory, SparseFactor};
use rayon::prelude::*;

/// Lengths of the operator, in metres on a body of usual size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// α: how much normals count beside distance.
    pub alpha: f64,
    /// τ: the distance over which trust falls.
    pub reach: f64,
    /// ℓ: how far a trusted match is smoothed.
    pub smooth: f64,
    /// Islands smaller than this are rigid; none at 0.
    pub stiff: f64,
    /// The distance over which corrections fade, from a centimetre off the body on: exp(−max(0, d − 1 cm)²/falloff²). Weights do not.
    pub falloff: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { alpha: 0.015, reach: 0.033, smooth: 0.005, stiff: 0.03, falloff: None }
    }
}

/// The trust of a match that nothing speaks for.
const LEAST_TRUST: f64 = 1e-5;
/// Trust above this counts as a match.
pub const TRUSTED: f64 = 0.05;
/// A vertex farther from the body than this is unmatched, metres.
pub const FAR: f64 = 0.25;
/// Islands turn if their normals disagree with the body's, counted over this distance, metres.
const TURN_REACH: f64 = 0.02;
/// Two sides of one cloth are closer than this, metres.
const THICKNESS: f64 = 0.006;
/// A target lies on the body if 95 % of its vertices are closer to it than this part of its extent.
const ON_BODY: f64 = 0.003;
/// Cloth below a rigid island is nearer than this, metres.
const BELOW: f64 = 0.02;
/// How much farther than its nearest point a strip is still held, metres.
const STRIP: f64 = 0.005;
/// The trust of a strip where it is nearest.
const STRIP_TRUST: f64 = 0.5;
/// Corrections that fade are whole up to this distance, metres.
const FADES_FROM: f64 = 0.01;
/// Cotangents are held within these.
const COTANGENTS: [f64; 2] = [0.02, 5.0];

/// The operator from a body to a mesh.
#[derive(Clone, Debug)]
pub struct Operator {
    /// For every vertex the row of `rows` that serves it.
    place: Vec<u32>,
    /// P0, a row per place.
    rows: Vec<[(u32, f64); 3]>,
    distances: Vec<f64>,
    trust: Vec<f64>,
    islands: Vec<Island>,
    /// `None` on the body, and where there is nothing to smooth.
    smoothing: Option<Smoothing>,
    on_body: bool,
    /// Where corrections begin to fade and over what distance, metres.
    falloff: Option<[f64; 2]>,
    /// Vertices that take a mean over other places: rigid islands, unmatched ones.
    means: Vec<(Vec<u32>, Mean)>,
    body_vertices: usize,
    unmatched: Vec<u32>,
}

/// ℓ² L + M K on the places that are smoothed.
#[derive(Clone, Debug)]
struct Smoothing {
    /// The places, ascending.
    places: Vec<u32>,
    /// M K of each.
    held: Vec<f64>,
    factor: SparseFactor,
    /// One over what the solution has of a column of ones, which is one but for rounding where little is trusted.
    scale: Vec<f64>,
}

/// What one row is a mean of.
#[derive(Clone, Debug)]
enum Mean {
    /// Places of the target, with their shares.
    Places(Vec<(u32, f64)>),
    /// Vertices of the body, with their shares.
    Body(Vec<(u32, f64)>),
}

impl Operator {
    /// The operator from `body` to `mesh`, which stands at rest as the body does.
    ///
    /// # Errors
    /// [`TransferError::EmptyMesh`], [`TransferError::NotFinite`], [`TransferError::Unmatched`] if more than half of the vertices have no trusted match,
    /// [`TransferError::Solve`].
    pub fn new(body: &Body, mesh: &Mesh, settings: &Settings) -> Result<Self, TransferError> {
        if mesh.positions.is_empty() {
            return Err(TransferError::EmptyMesh);
        }
        let unit = body.unit();
        let nearest: Vec<Match> = mesh
            .positions
            .par_iter()
            .enumerate()
            .map(|(vertex, p)| body.find(*p, None, 0.0).ok_or(TransferError::NotFinite { vertex }))
            .collect::<Result<_, _>>()?;
        let limit = ON_BODY * unit * USUAL_EXTENT;
        let near = nearest.iter().filter(|m| m.distance <= limit).count();
        let place = place_of(mesh);
        let (labels, count) = label(mesh, &place);
        if 20 * near >= 19 * nearest.len() {
            return Ok(Self::on_body(body, mesh, nearest, (&labels, count)));
        }
        Self::beside(body, mesh, settings, (&place, &labels, count))
    }

    /// P0 alone.
    fn on_body(body: &Body, mesh: &Mesh, nearest: Vec<Match>, (labels, count): (&[u32], usize)) -> Self {
        let row = |(v, m): (usize, &Match)| match body.positions().get(v) {
            Some(p) if *p == mesh.positions[v] => [(v as u32, 1.0), (v as u32, 0.0), (v as u32, 0.0)],
            _ => m.row,
        };
        let vertices = mesh.positions.len();
        let mut islands = islands(mesh, labels, count);
        islands.iter_mut().for_each(|island| island.trusted = 1.0);
        Self {
            place: (0..vertices as u32).collect(),
            rows: nearest.iter().enumerate().map(row).collect(),
            distances: nearest.iter().map(|m| m.distance).collect(),
            trust: vec![1.0; vertices],
            islands,
            smoothing: None,
            on_body: true,
            falloff: None,
            means: vec![],
            body_vertices: body.vertices(),
            unmatched: vec![],
        }
    }

    fn beside(
        body: &Body,
        mesh: &Mesh,
        settings: &Settings,
        (place, labels, count): (&[u32], &[u32], usize),
    ) -> Result<Self, TransferError> {
        let (unit, positions) = (body.unit(), &mesh.positions);
        let triangles: Vec<[u32; 3]> = mesh.triangles.iter().map(|t| t.map(|corner| place[corner as usize])).collect();
        let own = |v: usize| place[v] as usize == v;
        let sides = Sides::new(positions, &triangles, THICKNESS * unit);
        let normals = turned_normals(body, mesh, place, (labels, count), &sides);
        let alpha = settings.alpha * unit;
        let no_match = Match { row: [(0, 0.0); 3], distance: f64::INFINITY, cosine: 0.0, cost: f64::INFINITY };
        let find = |v: usize| {
            if !own(v) {
                return no_match;
            }
            let normal = Some(normals[v]).filter(|n| *n != DVec3::ZERO);
            let first = body.find(positions[v], normal, alpha).unwrap_or(no_match);
            let Some(normal) = normal.filter(|_| first.cosine < 0.0) else { return first };
            match sides.has_back(positions[v], normal) {
                true => {
                    let other = body.find(positions[v], Some(-normal), alpha);
                    other.filter(|other| other.cost < first.cost).unwrap_or(first)
                }
                false => first,
            }
        };
        let mut matches: Vec<Match> = (0..positions.len()).into_par_iter().map(find).collect();
        for v in 0..positions.len() {
            matches[v] = matches[place[v] as usize];
        }
        let trusted = |m: &Match| m.cosine.clamp(0.0, 1.0) * (-(m.distance / (settings.reach * unit)).powi(2)).exp();
        let mut trust: Vec<f64> = matches.iter().map(|m| trusted(m) + LEAST_TRUST).collect();
        let mut islands = islands(mesh, labels, count);
        let areas = {
            let mut areas = vertex_areas(positions, &triangles);
            let places = (0..positions.len()).filter(|v| own(*v)).count();
            let least = 1e-3 * areas.iter().sum::<f64>() / places.max(1) as f64;
            let least = if least > 0.0 { least } else { unit * unit };
            areas.iter_mut().enumerate().filter(|(v, _)| own(*v)).for_each(|(_, area)| *area += least);
            areas
        };
        let near = |m: &Match| (-(m.distance / (settings.reach * unit)).powi(2)).exp() > TRUSTED;
        for island in &mut islands {
            let all = || island.vertices.iter().map(|&v| v as usize);
            let lacks = all().all(|v| trust[v] <= TRUSTED);
            if island.size < settings.stiff * unit && all().any(|v| matches[v].distance <= FAR * unit) {
                island.held = Held::Rigid;
            } else if lacks && all().any(|v| near(&matches[v])) {
                island.held = Held::Nearest;
                let least = all().map(|v| matches[v].distance).fold(f64::INFINITY, f64::min);
                let held = |v: usize| {
                    STRIP_TRUST * (-((matches[v].distance - least) / (STRIP * unit)).powi(2)).exp() + LEAST_TRUST
                };
                all().for_each(|v| trust[v] = held(v));
            } else if lacks {
                island.held = Held::Unmatched;
            }
            let (known, whole) = all().fold((0.0, 0.0), |(known, whole), v| {
                (known + if trust[v] > TRUSTED { areas[v] } else { 0.0 }, whole + areas[v])
            });
            island.trusted = if whole > 0.0 { known / whole } else { 0.0 };
        }
        let is_unmatched =
            |v: usize| islands[labels[v] as usize].held == Held::Unmatched || matches[v].distance > FAR * unit;
        let unmatched: Vec<u32> = (0..positions.len()).filter(|v| is_unmatched(*v)).map(|v| v as u32).collect();
        if 2 * unmatched.len() > positions.len() {
            let change = elsewhere(body, mesh);
            return Err(TransferError::Unmatched { unmatched: unmatched.len(), vertices: positions.len(), change });
        }
        let is_smooth =
            |v: &usize| own(*v) && matches!(islands[labels[*v] as usize].held, Held::Smooth | Held::Nearest);
        let places: Vec<u32> = (0..positions.len()).filter(is_smooth).map(|v| v as u32).collect();
        let smoothing = match places.is_empty() {
            true => None,
            false => Some(smoothing(positions, &triangles, (&places, &areas, &trust), settings.smooth * unit)?),
        };
        let mut made = Self {
            place: place.to_vec(),
            rows: matches.iter().map(|m| m.row).collect(),
            distances: matches.iter().map(|m| m.distance).collect(),
            trust,
            islands,
            smoothing,
            on_body: false,
            falloff: settings.falloff.map(|over| [FADES_FROM * unit, over * unit]),
            means: vec![],
            body_vertices: body.vertices(),
            unmatched,
        };
        made.means = made.rigid_means(positions, &triangles, (labels, &areas), BELOW * unit);
        let nearest = made.nearest_means(positions);
        made.means.extend(nearest);
        Ok(made)
    }

    /// The rows of rigid islands.
    fn rigid_means(
        &self,
        positions: &[DVec3],
        triangles: &[[u32; 3]],
        (labels, areas): (&[u32], &[f64]),
        below: f64,
    ) -> Vec<(Vec<u32>, Mean)> {
        let held = |v: u32| self.islands[labels[v as usize] as usize].held;
        let cloth: Vec<[u32; 3]> =
            triangles.iter().filter(|t| matches!(held(t[0]), Held::Smooth | Held::Nearest)).copied().collect();
        let surface = Surface::new(positions, &cloth);
        let rigid: Vec<&Island> = self.islands.iter().filter(|island| island.held == Held::Rigid).collect();
        let mean = |island: &&Island| {
            let own = island.vertices.iter().filter(|v| self.place[**v as usize] == **v);
            let (mut places, mut bodies): (Vec<(u32, f64)>, Vec<(u32, f64)>) = (vec![], vec![]);
            let (mut found, mut whole) = (0.0, 0.0);
            for &v in own {
                let (p, area) = (positions[v as usize], areas[v as usize]);
                whole += area;
                bodies.extend(self.rows[v as usize].map(|(at, share)| (at, share * area)));
                if let Some(closest) = surface.closest(p, below) {
                    found += area;
                    let triangle = cloth[closest.triangle];
                    let shares = closest.shares(&triangle.map(|corner| positions[corner as usize]));
                    places.extend([0, 1, 2].map(|k| (triangle[k], shares[k] * area)));
                }
            }
            let mean = if found > 0.5 * whole { Mean::Places(shared(places)) } else { Mean::Body(shared(bodies)) };
            (island.vertices.clone(), mean)
        };
        rigid.par_iter().map(mean).collect()
    }

    /// The rows of unmatched islands: each vertex follows the nearest one that has a row.
    fn nearest_means(&self, positions: &[DVec3]) -> Vec<(Vec<u32>, Mean)> {
        let has = |held: Held| matches!(held, Held::Smooth | Held::Nearest);
        let known: Vec<u32> =
            self.islands.iter().filter(|i| has(i.held)).flat_map(|i| i.vertices.iter().copied()).collect();
        let points: Vec<[u32; 3]> = known.iter().map(|&v| [v; 3]).collect();
        let surface = Surface::new(positions, &points);
        let lost = self.islands.iter().filter(|island| island.held == Held::Unmatched);
        let lost: Vec<u32> = lost.flat_map(|island| island.vertices.iter().copied()).collect();
        let follow = |&v: &u32| {
            let mean = match surface.closest(positions[v as usize], f64::INFINITY) {
                Some(closest) => Mean::Places(vec![(self.place[known[closest.triangle] as usize], 1.0)]),
                None => Mean::Body(shared(self.rows[v as usize].to_vec())),
            };
            (vec![v], mean)
        };
        lost.par_iter().map(follow).collect()
    }

    /// Number of vertices of the target.
    pub fn vertices(&self) -> usize {
        self.place.len()
    }

    /// Number of vertices of the body.
    pub fn body_vertices(&self) -> usize {
        self.body_vertices
    }

    /// Whether the target lies on the body, so that nothing is smoothed.
    pub fn is_on_body(&self) -> bool {
        self.on_body
    }

    /// κ of every vertex, 0 to 1: how far its match is trusted.
    pub fn trust(&self) -> &[f64] {
        &self.trust
    }

    /// Distance of every vertex from its match, metres.
    pub fn distances(&self) -> &[f64] {
        &self.distances
    }

    /// How much of a correction vertex `v` gets, 0 to 1.
    pub fn fade(&self, v: usize) -> f64 {
        self.falloff.map_or(1.0, |[from, over]| (-((self.distances[v] - from).max(0.0) / over).powi(2)).exp())
    }

    /// The connected pieces of the target.
    pub fn islands(&self) -> &[Island] {
        &self.islands
    }

    /// Vertices without a match: farther than [`FAR`] from the body, or of an island that nothing is known of.
    pub fn unmatched(&self) -> &[u32] {
        &self.unmatched
    }

    /// The body vertex that vertex `v` is, if its row is that vertex alone.
    pub fn copies(&self, v: usize) -> Option<usize> {
        let row = &self.rows[self.place[v] as usize];
        row.iter().find(|(_, share)| *share == 1.0).filter(|_| self.is_on_body()).map(|(at, _)| *at as usize)
    }

    /// Whether the target is the body, vertex for vertex.
    pub fn is_identity(&self) -> bool {
        self.vertices() == self.body_vertices && (0..self.vertices()).all(|v| self.copies(v) == Some(v))
    }

    /// P X: `width` numbers per vertex of the target, vertex after vertex. `add` adds the numbers of a body vertex, times its share,
    /// to a row.
    ///
    /// # Errors
    /// [`TransferError::Solve`].
    pub fn carry(&self, width: usize, add: impl Fn(usize, f64, &mut [f64]) + Sync) -> Result<Vec<f64>, TransferError> {
        let mut out = vec![0.0; self.vertices() * width];
        let row_of = |at: usize, row: &mut [f64]| {
            for &(v, share) in self.rows[at].iter().filter(|(_, share)| *share > 0.0) {
                add(v as usize, share, row);
            }
        };
        if self.on_body {
            out.chunks_exact_mut(width.max(1)).enumerate().for_each(|(v, row)| row_of(v, row));
            return Ok(out);
        }
        let mut row = vec![0.0; width];
        if let Some(smoothing) = &self.smoothing {
            let count = smoothing.places.len();
            let mut columns = vec![0.0; count * width];
            for (i, (&at, held)) in smoothing.places.iter().zip(&smoothing.held).enumerate() {
                row.fill(0.0);
                row_of(at as usize, &mut row);
                row.iter().enumerate().for_each(|(k, x)| columns[k * count + i] = held * x);
            }
            smoothing.factor.solve_with(&mut columns, &mut SolveMemory::default())?;
            for (i, &at) in smoothing.places.iter().enumerate() {
                let row = &mut out[at as usize * width..][..width];
                row.iter_mut().enumerate().for_each(|(k, x)| *x = columns[k * count + i] * smoothing.scale[i]);
            }
        }
        for v in (0..self.vertices()).filter(|v| self.place[*v] as usize != *v) {
            let at = self.place[v] as usize;
            out.copy_within(at * width..(at + 1) * width, v * width);
        }
        for (vertices, mean) in &self.means {
            row.fill(0.0);
            match mean {
                Mean::Body(shares) => shares.iter().for_each(|&(v, share)| add(v as usize, share, &mut row)),
                Mean::Places(shares) => {
                    for &(at, share) in shares {
                        let of = &out[at as usize * width..][..width];
                        row.iter_mut().zip(of).for_each(|(sum, x)| *sum += share * x);
                    }
                }
            }
            vertices.iter().for_each(|&v| out[v as usize * width..][..width].copy_from_slice(&row));
        }
        Ok(out)
    }
}

/// The sides of a cloth.
struct Sides {
    surface: Surface,
    normals: Vec<DVec3>,
    thickness: f64,
}

impl Sides {
    fn new(positions: &[DVec3], triangles: &[[u32; 3]], thickness: f64) -> Self {
        let normals = triangles.iter().map(|t| face_normal(positions, t)).collect();
        Self { surface: Surface::new(positions, triangles), normals, thickness }
    }

    /// Whether close behind a point of the cloth lies a side that faces the other way.
    fn has_back(&self, p: DVec3, normal: DVec3) -> bool {
        let behind = |closest: &Closest| {
            let faces_away = self.normals[closest.triangle].dot(normal) < -0.5;
            if faces_away && (closest.point - p).dot(normal) < 0.0 { closest.distance_squared } else { f64::INFINITY }
        };
        self.surface.least(p, self.thickness, behind).is_some()
    }
}

/// Normals of the places, island by island on the side that agrees with the body. Inner sides of cloth do not count.
fn turned_normals(
    body: &Body,
    mesh: &Mesh,
    place: &[u32],
    (labels, count): (&[u32], usize),
    sides: &Sides,
) -> Vec<DVec3> {
    let mut normals = welded_normals(&mesh.positions, &mesh.triangles);
    let reach = TURN_REACH * body.unit();
    let agrees = |v: usize| {
        if place[v] as usize != v || normals[v] == DVec3::ZERO {
            return 0.0;
        }
        let found = body.find(mesh.positions[v], Some(normals[v]), 0.0);
        let found = found.filter(|m| m.cosine > 0.0 || !sides.has_back(mesh.positions[v], normals[v]));
        found.map_or(0.0, |m| m.cosine * (-(m.distance / reach).powi(2)).exp())
    };
    let agreeing: Vec<f64> = (0..normals.len()).into_par_iter().map(agrees).collect();
    let (mut sums, mut sizes) = (vec![0.0; count], vec![0.0; count]);
    for (v, agrees) in agreeing.iter().enumerate() {
        sums[labels[v] as usize] += agrees;
        sizes[labels[v] as usize] += 1.0;
    }
    for (v, normal) in normals.iter_mut().enumerate() {
        let at = labels[v] as usize;
        if sums[at] < -1e-3 * sizes[at] {
            *normal = -*normal;
        }
    }
    normals
}

fn face_normal(positions: &[DVec3], triangle: &[u32; 3]) -> DVec3 {
    let [a, b, c] = triangle.map(|corner| positions[corner as usize]);
    (b - a).cross(c - a).normalize_or_zero()
}

/// The islands as they are before anything is known of their matches.
fn islands(mesh: &Mesh, labels: &[u32], count: usize) -> Vec<Island> {
    let members = Rows::by_row(count, labels.iter().zip(0..).map(|(&label, v)| (label, v)).collect());
    let made = members.iter().map(|vertices: &[u32]| Island {
        vertices: vertices.to_vec(),
        size: size_of(vertices.iter().map(|&v| mesh.positions[v as usize])),
        held: Held::Smooth,
        trusted: 0.0,
    });
    made.collect()
}

/// Shares of one sum, each entry once.
fn shared(mut entries: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    entries.sort_by_key(|(at, _)| *at);
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    let sum: f64 = entries.iter().map(|(_, share)| share).sum();
    entries.iter_mut().for_each(|(_, share)| *share /= sum);
    entries.retain(|(_, share)| *share > 0.0);
    entries
}

/// ℓ² L + M K of some places, factored.
fn smoothing(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    (places, areas, trust): (&[u32], &[f64], &[f64]),
    length: f64,
) -> Result<Smoothing, TransferError> {
    let mut row_of = vec![u32::MAX; positions.len()];
    places.iter().zip(0..).for_each(|(&at, row)| row_of[at as usize] = row);
    let held: Vec<f64> = places.iter().map(|&at| areas[at as usize] * trust[at as usize]).collect();
    let entries = laplacian(positions, triangles, &row_of, length, &held);
    let factor = SparseFactor::new(places.len(), &entries)?;
    let mut scale = held.clone();
    factor.solve_with(&mut scale, &mut SolveMemory::default())?;
    scale.iter_mut().for_each(|one| *one = 1.0 / *one);
    Ok(Smoothing { places: places.to_vec(), held, factor, scale })
}

/// The lower half of ℓ² L + diag `diagonal`, on the vertices that have a row (`u32::MAX`: none). L is the cotangent Laplacian with
/// cotangents held within [`COTANGENTS`].
pub(crate) fn laplacian(
    positions: &[DVec3],
    triangles: &[[u32; 3]],
    row_of: &[u32],
    length: f64,
    diagonal: &[f64],
) -> Vec<(usize, usize, f64)> {
    let mut entries: Vec<(usize, usize, f64)> = (0..).zip(diagonal).map(|(row, x)| (row, row, *x)).collect();
    for triangle in triangles {
        for k in 0..3 {
            let [o, i, j] = [triangle[k], triangle[(k + 1) % 3], triangle[(k + 2) % 3]];
            let (a, b) = (positions[i as usize] - positions[o as usize], positions[j as usize] - positions[o as usize]);
            let cotangent = a.dot(b) / a.cross(b).length();
            let cotangent = if cotangent.is_nan() { COTANGENTS[1] } else { cotangent };
            let weight = 0.5 * length * length * cotangent.clamp(COTANGENTS[0], COTANGENTS[1]);
            let (row, column) = (row_of[i as usize], row_of[j as usize]);
            if i == j || row == u32::MAX || column == u32::MAX {
                continue;
            }
            let (row, column) = (row.max(column) as usize, row.min(column) as usize);
            entries.extend([(row, column, -weight), (row, row, weight), (column, column, weight)]);
        }
    }
    entries
}
