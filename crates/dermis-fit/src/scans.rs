//! Skinning weights from scans: meshes of their own, with holes and noise, each in a known pose.
//!
//! Nobody knows which point of a scan a vertex is, so two steps alternate. Pose the mesh with the weights so far and take,
//! for every vertex and scan, the closest point c of the scan and its normal n there; then refit the weights of every
//! vertex to its pairs, minimising
//!
//! `Σ_s r_sᵀ (n nᵀ + τ² (I − n nᵀ)) r_s + ρ o² + (a h + b S) |w − w̄|²`, `r_s = A_s w − c_s + o n_s`, over `w ≥ 0`, `Σ w = 1` and o,
//!
//! where column k of A_s is `M_sk p`, lengths are in rest diagonals, S counts the vertex's pairs, h is the mean diagonal of the
//! quadratic form, so that a means the same at a finger and at a thigh, and w̄ are the mean weights of the vertex's neighbours. The
//! offset o is what the scans have too much or too little everywhere at this vertex: cloth, or an edge that a scanner rounds off.
//! Without it weights bend to explain it: on a tube scanned coarsely the error was 4.8 mm instead of 1.7. A distance along the surface counts little (τ = 0.1), so that the mesh can slide: with τ = 1 every
//! round stays close to the pairs it began with.
//!
//! A pair is rejected if it is farther apart than `reach`, if the normals disagree by more than `angle`, or if the point
//! lies on the border of the scan: behind a border there would be more skin. A vertex without pairs keeps its weights.
//!
//! What scans cannot show: how a limb that looks the same from all sides turns about its own axis. Weights that only
//! matter there stay as they were at the start, so start from good ones, bone heat or a painted rig.
//!
//! Source: closest points after Besl & McKay 1992, normal weighting after Chen & Medioni 1992; the convex refit is linear
//! blend skinning's own ([`dermis_solve::simplex`]).

use crate::surface::{Place, Surface, welded};
use crate::training::{Cancelled, Progress};
use dermis_deform::lbs;
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::Neighbours;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, MeshError, Skeleton};
use dermis_solve::SolveError;
use dermis_solve::simplex::{Entry, Quadratic};
use rayon::prelude::*;

/// A scan in a known pose.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// What it is called in messages.
    pub label: String,
    /// The pose it was taken in: M_k.
    pub transforms: BoneTransforms,
    /// Its vertices, posed world, metres.
    pub positions: Vec<DVec3>,
    /// Its triangles, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// What a caller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanSettings {
    /// Pairs farther apart are rejected, in rest diagonals.
    pub reach: f64,
    /// Pairs whose normals are farther apart are rejected, in degrees.
    pub angle: f64,
    /// τ: how much a distance along the surface counts, one along the normal being 1.
    pub tangential: f64,
    /// a: how strongly neighbours agree, relative to what the scans say of a vertex.
    pub smoothness: f64,
    /// Influences per vertex at most.
    pub influences: usize,
    /// Rounds at most.
    pub rounds: usize,
    /// Stop when a round moves less than this share of a vertex's weight from bone to bone, in the mean.
    pub change: f64,
}

impl Default for ScanSettings {
    fn default() -> Self {
        Self { reach: 0.1, angle: 60.0, tangential: 0.1, smoothness: 1e-3, influences: 4, rounds: 40, change: 5e-4 }
    }
}

/// What became of a scan's pairs in the last round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanUse {
    /// The scan.
    pub label: String,
    /// Vertices of the mesh with a pair on it.
    pub pairs: usize,
    /// Pairs rejected because they are too far apart.
    pub too_far: usize,
    /// Pairs rejected because their normals disagree.
    pub turned_away: usize,
    /// Pairs rejected because the point lies on a border.
    pub on_border: usize,
    /// Root mean square distance of the pairs along the normal, metres.
    pub distance: f64,
}

/// What a caller learns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanReport {
    /// Rounds taken.
    pub rounds: usize,
    /// Share of the weights that the last round moved; above the setting if the rounds ran out.
    pub change: f64,
    /// Per scan, in the order given.
    pub scans: Vec<ScanUse>,
    /// Vertices by the number of scans that have a pair for them: none, one, ...
    pub coverage: Vec<usize>,
    /// Root mean square distance of all pairs along the normal in the first and the last round, metres.
    pub distance: (f64, f64),
    /// Joints that no scan bends by 5 degrees or more: between these bones and their parents nothing can be learnt.
    pub still: Vec<BoneIndex>,
}

/// Why there are no weights.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScanError {
    /// The mesh is unusable.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The mesh has no faces, so it has no normals.
    #[error("the rig's mesh has no faces")]
    NoFaces,
    /// No scan.
    #[error("there are no scans")]
    NoScans,
    /// A scan is unusable as a mesh.
    #[error("scan \"{label}\": {source}")]
    Scan {
        /// The scan.
        label: String,
        /// Why.
        source: MeshError,
    },
    /// A scan has no face with an area.
    #[error("scan \"{label}\" has {vertices} vertices but no surface: it needs triangles")]
    Points {
        /// The scan.
        label: String,
        /// Its vertices.
        vertices: usize,
    },
    /// Numbers disagree.
    #[error("{what}: {found}, but the rig has {expected}")]
    Counts {
        /// Of what.
        what: String,
        /// The number found.
        found: usize,
        /// The rig's number.
        expected: usize,
    },
    /// A pose with NaN or infinity.
    #[error("scan \"{label}\": the transform of bone {bone} is not finite")]
    Pose {
        /// The scan.
        label: String,
        /// The bone.
        bone: usize,
    },
    /// No vertex has a pair on a scan.
    #[error(
        "scan \"{label}\" is nowhere near the skin in its pose: of {vertices} vertices {too_far} are farther away than \
         {reach:.3} m, {turned_away} face another way, {on_border} lie beyond its border"
    )]
    Apart {
        /// The scan.
        label: String,
        /// Vertices of the mesh.
        vertices: usize,
        /// Too far away.
        too_far: usize,
        /// Facing another way.
        turned_away: usize,
        /// Beyond the border.
        on_border: usize,
        /// How far is too far, metres.
        reach: f64,
    },
    /// A setting out of range.
    #[error("{name} = {value} is not usable: {rule}")]
    Setting {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must obey.
        rule: &'static str,
    },
    /// Numbers failed.
    #[error("vertex {vertex}: {source}")]
    Solve {
        /// The vertex.
        vertex: usize,
        /// Why.
        source: SolveError,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for ScanError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Skinning weights whose posed skin lies on the scans: non-negative, every row sums to one.
///
/// - `start`: the weights to begin with, one row per vertex, each summing to one
///
/// # Errors
/// [`ScanError`].
pub fn fit_scans(
    mesh: &Mesh,
    skeleton: &Skeleton,
    start: &Influences,
    scans: &[Scan],
    settings: &ScanSettings,
    progress: Progress<'_>,
) -> Result<(Influences, ScanReport), ScanError> {
    check(mesh, skeleton, start, scans, settings)?;
    let length = Some(mesh.diagonal()).filter(|l| *l > 0.0).unwrap_or(1.0);
    let targets: Vec<Target> = scans.par_iter().map(Target::new).collect::<Result<_, _>>()?;
    let neighbours = mesh.neighbours();
    let mut weights = start.clone();
    let mut problems = problems(skeleton, start, &neighbours);
    let mut report = ScanReport { change: f64::INFINITY, still: still(skeleton, scans), ..ScanReport::default() };
    let total = (settings.rounds * scans.len()) as u64;
    while report.rounds < settings.rounds && report.change > settings.change {
        report.scans.clear();
        problems.par_iter_mut().for_each(Problem::clear);
        for (at, target) in targets.iter().enumerate() {
            if progress((report.rounds * scans.len() + at) as u64, total).is_break() {
                return Err(ScanError::Cancelled);
            }
            let used = target.pair(mesh, &weights, &mut problems, settings, length);
            if used.pairs == 0 {
                let ScanUse { label, too_far, turned_away, on_border, .. } = used;
                let (vertices, reach) = (mesh.positions.len(), settings.reach * length);
                return Err(ScanError::Apart { label, vertices, too_far, turned_away, on_border, reach });
            }
            report.scans.push(used);
        }
        let pairs = report.scans.iter().map(|s| s.pairs).sum::<usize>() as f64;
        let squares: f64 = report.scans.iter().map(|s| s.pairs as f64 * s.distance * s.distance).sum();
        report.distance.1 = (squares / pairs).sqrt();
        if report.rounds == 0 {
            report.distance.0 = report.distance.1;
        }
        let rows: Vec<(Vec<(BoneIndex, f64)>, f64)> = problems
            .par_iter()
            .enumerate()
            .map(|(v, problem)| {
                problem
                    .solve(v, &weights, &neighbours, settings)
                    .map_err(|source| ScanError::Solve { vertex: v, source })
            })
            .collect::<Result<_, _>>()?;
        let seen = problems.iter().filter(|p| p.pairs > 0).count();
        report.change = rows.iter().map(|r| r.1).sum::<f64>() / seen as f64;
        weights = Influences::from_rows(rows.into_iter().map(|r| r.0))
            .map_err(|_| ScanError::Solve { vertex: 0, source: SolveError::NotFinite })?;
        report.rounds += 1;
    }
    report.coverage = vec![0; scans.len() + 1];
    problems.iter().for_each(|p| report.coverage[p.pairs] += 1);
    Ok((weights, report))
}

fn check(
    mesh: &Mesh,
    skeleton: &Skeleton,
    start: &Influences,
    scans: &[Scan],
    settings: &ScanSettings,
) -> Result<(), ScanError> {
    mesh.check()?;
    if mesh.triangles.is_empty() {
        return Err(ScanError::NoFaces);
    }
    if scans.is_empty() {
        return Err(ScanError::NoScans);
    }
    let counts = |what: &dyn Fn() -> String, found, expected| match found == expected {
        true => Ok(()),
        false => Err(ScanError::Counts { what: what(), found, expected }),
    };
    counts(&|| "rows of the weights to start with".into(), start.vertices(), mesh.positions.len())?;
    if start.bones_named() > skeleton.len() {
        let what = "bones of the weights to start with".into();
        return Err(ScanError::Counts { what, found: start.bones_named(), expected: skeleton.len() });
    }
    for scan in scans {
        counts(&|| format!("bones in the pose of scan \"{}\"", scan.label), scan.transforms.len(), skeleton.len())?;
        if let Some(bone) = scan.transforms.iter().position(|m| !m.is_finite()) {
            return Err(ScanError::Pose { label: scan.label.clone(), bone });
        }
    }
    for (name, value, least, most, rule) in [
        ("reach", settings.reach, 1e-6, 10.0, "it must lie in 1e-6..10 rest diagonals"),
        ("angle", settings.angle, 1.0, 180.0, "it must lie in 1..180 degrees"),
        ("tangential", settings.tangential, 0.0, 1.0, "it must lie in 0..1"),
        ("smoothness", settings.smoothness, 0.0, 1e12, "it must lie in 0..1e12"),
        ("influences", settings.influences as f64, 1.0, f64::MAX, "it must be one or more"),
        ("rounds", settings.rounds as f64, 1.0, 1e6, "it must lie in 1..1e6"),
        ("change", settings.change, 0.0, 1.0, "it must lie in 0..1"),
    ] {
        if !(least..=most).contains(&value) {
            return Err(ScanError::Setting { name, value, rule });
        }
    }
    Ok(())
}

/// Joints that no scan bends by 5 degrees against its parent.
fn still(skeleton: &Skeleton, scans: &[Scan]) -> Vec<BoneIndex> {
    let bends = |bone: BoneIndex, parent: BoneIndex, scan: &Scan| {
        let (a, b) = (scan.transforms[parent].matrix3, scan.transforms[bone].matrix3);
        let relative = dermis_rig::rotation::nearest_rotation(&(a.inverse() * b));
        let trace = relative.x_axis.x + relative.y_axis.y + relative.z_axis.z;
        trace < 1.0 + 2.0 * 5f64.to_radians().cos()
    };
    let parented = skeleton.bones().filter_map(|bone| Some((bone, skeleton.parents()[bone]?)));
    parented.filter(|&(bone, parent)| !scans.iter().any(|s| bends(bone, parent, s))).map(|(bone, _)| bone).collect()
}

/// A scan, ready for questions.
struct Target<'a> {
    scan: &'a Scan,
    surface: Surface,
    /// Triangles over welded vertices.
    triangles: Vec<[u32; 3]>,
    /// Area-weighted, per welded vertex.
    normals: Vec<DVec3>,
    /// Per triangle, whether the edge from each corner to the next has no other triangle.
    borders: Vec<[bool; 3]>,
    /// Per welded vertex, whether it lies on such an edge.
    on_border: Vec<bool>,
}

impl<'a> Target<'a> {
    fn new(scan: &'a Scan) -> Result<Self, ScanError> {
        let whole = Mesh { positions: scan.positions.clone(), triangles: scan.triangles.clone(), ..Mesh::default() };
        whole.check().map_err(|source| ScanError::Scan { label: scan.label.clone(), source })?;
        let weld = welded(&scan.positions);
        let mut triangles: Vec<[u32; 3]> = scan.triangles.iter().map(|t| t.map(|c| weld[c as usize])).collect();
        let mut normals = vec![DVec3::ZERO; scan.positions.len()];
        let face = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|c| scan.positions[c as usize]);
            (b - a).cross(c - a)
        };
        triangles.retain(|t| face(t) != DVec3::ZERO);
        if triangles.is_empty() {
            return Err(ScanError::Points { label: scan.label.clone(), vertices: scan.positions.len() });
        }
        let mut edges: Vec<(u32, u32, u32, u32)> = Vec::with_capacity(3 * triangles.len());
        for (t, corners) in triangles.iter().enumerate() {
            let normal = face(corners);
            for i in 0..3 {
                normals[corners[i] as usize] += normal;
                let (a, b) = (corners[i], corners[(i + 1) % 3]);
                edges.push((a.min(b), a.max(b), t as u32, i as u32));
            }
        }
        edges.sort_unstable();
        let (mut borders, mut on_border) = (vec![[false; 3]; triangles.len()], vec![false; scan.positions.len()]);
        for alone in edges.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)).filter(|same| same.len() == 1) {
            let (a, b, t, i) = alone[0];
            borders[t as usize][i as usize] = true;
            (on_border[a as usize], on_border[b as usize]) = (true, true);
        }
        let surface = Surface::new(&scan.positions, &triangles);
        Ok(Self { scan, surface, triangles, normals, borders, on_border })
    }

    /// Adds this scan's pairs to the problems of all vertices.
    fn pair(
        &self,
        mesh: &Mesh,
        weights: &Influences,
        problems: &mut [Problem],
        settings: &ScanSettings,
        length: f64,
    ) -> ScanUse {
        let transforms = &self.scan.transforms;
        let mut posed = vec![DVec3::ZERO; mesh.positions.len()];
        lbs(&mesh.positions, weights, transforms, &mut posed);
        let normals = vertex_normals(&mesh.triangles, &posed);
        let least_cosine = settings.angle.to_radians().cos();
        let found: Vec<Result<f64, Rejected>> = problems
            .par_iter_mut()
            .enumerate()
            .map(|(v, problem)| {
                let closest = self.surface.closest(posed[v], settings.reach * length).ok_or(Rejected::TooFar)?;
                let corners = self.triangles[closest.triangle];
                let border = match closest.place {
                    Place::Face => false,
                    Place::Edge(i) => self.borders[closest.triangle][i],
                    Place::Corner(i) => self.on_border[corners[i] as usize],
                };
                if border {
                    return Err(Rejected::OnBorder);
                }
                let normal = self.normal_at(closest.triangle, closest.point);
                if normals[v].dot(normal) < least_cosine || normal == DVec3::ZERO || normals[v] == DVec3::ZERO {
                    return Err(Rejected::TurnedAway);
                }
                problem.add(mesh.positions[v], transforms, closest.point, normal, settings.tangential, length);
                Ok((posed[v] - closest.point).dot(normal).powi(2))
            })
            .collect();
        let count = |what: Rejected| found.iter().filter(|f| **f == Err(what)).count();
        let squares: f64 = found.iter().flatten().sum();
        let pairs = found.iter().flatten().count();
        ScanUse {
            label: self.scan.label.clone(),
            pairs,
            too_far: count(Rejected::TooFar),
            turned_away: count(Rejected::TurnedAway),
            on_border: count(Rejected::OnBorder),
            distance: (squares / pairs.max(1) as f64).sqrt(),
        }
    }

    /// The unit normal at a point of a triangle: those of the corners, mixed as the point mixes the corners.
    fn normal_at(&self, triangle: usize, point: DVec3) -> DVec3 {
        let corners = self.triangles[triangle];
        let [a, b, c] = corners.map(|c| self.scan.positions[c as usize]);
        let whole = (b - a).cross(c - a);
        let share = |u: DVec3, v: DVec3| (u.cross(v).dot(whole) / whole.length_squared()).clamp(0.0, 1.0);
        let shares = [share(b - point, c - point), share(c - point, a - point), share(a - point, b - point)];
        let mixed: DVec3 =
            corners.iter().zip(shares).map(|(&c, t)| self.normals[c as usize].normalize_or_zero() * t).sum();
        mixed.normalize_or_zero()
    }
}

/// Why a pair was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rejected {
    TooFar,
    TurnedAway,
    OnBorder,
}

/// Area-weighted unit normals; zero where there is no face.
fn vertex_normals(triangles: &[[u32; 3]], positions: &[DVec3]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for corners in triangles {
        let [a, b, c] = corners.map(|c| positions[c as usize]);
        let normal = (b - a).cross(c - a);
        corners.iter().for_each(|&c| normals[c as usize] += normal);
    }
    normals.iter_mut().for_each(|n| *n = n.normalize_or_zero());
    normals
}

/// The weights of one vertex, as a least-squares problem on its candidate bones.
struct Problem {
    /// Ascending.
    candidates: Vec<BoneIndex>,
    /// Σ_s of (M_k p − c)ᵀ D (M_l p − c): centred on the pairs, which the sum of weights allows. Lengths in L.
    gram: Vec<f64>,
    /// Σ_s of n·(M_k p − c).
    along: Vec<f64>,
    pairs: usize,
}

/// ρ: pairs that say there is no offset.
const RHO: f64 = 1.0;
/// The least ridge of a pair: bones that carry a vertex less than a thousandth of the rest diagonal apart are not told apart by
/// scans, whose noise is of that size.
const FLOOR: f64 = 1e-7;

/// Candidate bones per vertex at most: the arm of a body needs five, a hand eight.
const MOST_CANDIDATES: usize = 12;

/// Candidates of every vertex: bones that have weight at it or two edges away, and the neighbours of its strongest in the
/// skeleton.
fn problems(skeleton: &Skeleton, start: &Influences, neighbours: &Neighbours) -> Vec<Problem> {
    let children = |bone: BoneIndex| skeleton.bones().filter(move |b| skeleton.parents()[*b] == Some(bone));
    let related: Vec<Vec<BoneIndex>> =
        skeleton.bones().map(|bone| skeleton.parents()[bone].into_iter().chain(children(bone)).collect()).collect();
    (0..start.vertices())
        .into_par_iter()
        .map(|v| {
            let mut sums: Vec<(BoneIndex, f64)> = start.of(v).iter().map(|&(b, w)| (b, 100.0 * w)).collect();
            for &near in neighbours.of(v) {
                for &vertex in neighbours.of(near as usize) {
                    sums.extend_from_slice(start.of(vertex as usize));
                }
            }
            if let Some(strongest) = start.dominant(v) {
                sums.extend(related[strongest.get()].iter().map(|&bone| (bone, 1e-3)));
            }
            sums.sort_by_key(|s| s.0);
            sums.dedup_by(|next, first| {
                let same = next.0 == first.0;
                first.1 += if same { next.1 } else { 0.0 };
                same
            });
            sums.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sums.truncate(MOST_CANDIDATES);
            let mut candidates: Vec<BoneIndex> = sums.into_iter().map(|s| s.0).collect();
            candidates.sort_unstable();
            let n = candidates.len();
            Problem { candidates, gram: vec![0.0; n * n], along: vec![0.0; n], pairs: 0 }
        })
        .collect()
}

impl Problem {
    fn clear(&mut self) {
        self.gram.fill(0.0);
        self.along.fill(0.0);
        self.pairs = 0;
    }

    fn add(
        &mut self,
        p: DVec3,
        transforms: &BoneTransforms,
        point: DVec3,
        normal: DVec3,
        tangential: f64,
        length: f64,
    ) {
        let n = self.candidates.len();
        // √D = n nᵀ + τ (I − n nᵀ).
        let weighed = |x: DVec3| x * tangential + normal * (x.dot(normal) * (1.0 - tangential));
        let column = |bone: &BoneIndex| weighed((transforms[*bone].transform_point3(p) - point) / length);
        let columns: Vec<DVec3> = self.candidates.iter().map(column).collect();
        for k in 0..n {
            self.along[k] += columns[k].dot(normal);
            for l in 0..n {
                self.gram[k * n + l] += columns[k].dot(columns[l]);
            }
        }
        self.pairs += 1;
    }

    /// The new weights, and the share of weight that moved.
    fn solve(
        &self,
        v: usize,
        weights: &Influences,
        neighbours: &Neighbours,
        settings: &ScanSettings,
    ) -> Result<(Vec<(BoneIndex, f64)>, f64), SolveError> {
        let now = weights.of(v);
        if self.pairs == 0 || self.candidates.len() < 2 {
            return Ok((now.to_vec(), 0.0));
        }
        let n = self.candidates.len();
        let mut around = vec![0.0; n];
        let near = neighbours.of(v);
        for row in near.iter().map(|&u| weights.of(u as usize)).chain(near.is_empty().then_some(now)) {
            for (bone, w) in row {
                if let Ok(at) = self.candidates.binary_search(bone) {
                    around[at] += w / near.len().max(1) as f64;
                }
            }
        }
        // The offset that is best for any weights: o = Σ n·(M_k p − c) w_k / (pairs + ρ).
        let offset = |k: usize, l: usize| self.along[k] * self.along[l] / (self.pairs as f64 + RHO);
        let gram = (0..n * n).map(|at| self.gram[at] - offset(at / n, at % n)).collect();
        let mut quadratic = Quadratic::new(gram, vec![0.0; n])?;
        quadratic.add_ridge(settings.smoothness * quadratic.mean_diagonal() + FLOOR * self.pairs as f64, &around);
        let found = quadratic.minimise_sparse(&vec![Entry::Free; n], settings.influences).weights;
        let row: Vec<(BoneIndex, f64)> =
            self.candidates.iter().zip(&found).filter(|(_, w)| **w > 0.0).map(|(b, w)| (*b, *w)).collect();
        let sum: f64 = found.iter().sum();
        let row: Vec<(BoneIndex, f64)> = row.into_iter().map(|(b, w)| (b, w / sum)).collect();
        let before = |bone: BoneIndex| weights.value(v, bone);
        let gained: f64 = row.iter().map(|&(b, w)| (w - before(b)).max(0.0)).sum();
        Ok((row, gained))
    }
}
