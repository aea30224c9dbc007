//! Skinning weights from scans: meshes of their own, with holes and noise, each in a known pose.
//!
//! No correspondence between vertices and scans is known, so two steps alternate. Pose the mesh with the weights so far and take,
//! for every vertex and scan, the closest point c of the scan and its normal n there; then refit the weights of every
//! vertex to its pairs, minimising
//!
//! `Σ_s r_sᵀ (n nᵀ + τ² (I − n nᵀ)) r_s + ρ o² + (a h + b S) |w − w̄|² + b S Σ_k δ_k² w_k`, `r_s = A_s w − c_s + o n_s`, over `w ≥ 0`,
//! `Σ w = 1` and o,
//!
//! where column k of A_s is `M_sk p`, lengths are in L ([`Mesh::extent`]), S counts the pairs, h is the mean diagonal of the
//! quadratic form, so that a means the same at a finger and at a thigh, and w̄ are the mean weights of the vertex's neighbours. The
//! offset o is the constant distance of the scans from the skin at this vertex: cloth, or an edge that a scanner rounds off.
//! Without it the weights would explain this distance: on a coarsely scanned tube the error was 4.8 mm instead of 1.7. A distance along the
//! surface counts little (τ = 0.1), so that the mesh can slide: with τ = 1 every round stays close to the pairs it began with.
//!
//! Few scans leave weights open: many mixtures of bones explain them equally well. The tail and a foreleg together explain the
//! skin of a shoulder. Of these the last term takes the one with the nearest bones. δ_k says by how much bone k is farther from the vertex at rest than the
//! nearest bone, in units of the body's thickness: the mean distance of the skin from its nearest bones. b is small, so that what the
//! scans show decides. With eight scans of a body the error is less than half. Bones without skin at the start stay without.
//!
//! One pair leaves two directions open, and a vertex has few pairs. So the pairs of its neighbours u count as well, together as
//! much as its own. Each has its point moved from where the neighbour is to where the vertex's matrix A_v puts the neighbour:
//! `c_u + κ (A_v p_u − A_u p_u)`, with κ = 1 − `agreement`. With κ = 1 what fits stays as it is, and what does not changes
//! together; on a body that was scanned 24 times the error fell from 1.45 mm to 1.1, and with κ = 0.9 to 1.0.
//!
//! A pair is rejected if it is farther apart than `reach`, if the normals disagree by more than `angle`, or if the point
//! lies on the border of the scan: behind a border there would be more skin. The others count by their distance d as
//! `(1 + d²/σ²)⁻²` (Geman & McClure 1987), σ six standard deviations of the scan's distances, wider in early rounds. A vertex without
//! pairs, its neighbours' included, keeps its weights.
//!
//! Scans cannot show how a limb that looks the same from all sides turns about its own axis. Weights that only matter there
//! stay as they were at the start, so start from good ones: bone heat or a painted rig.
//!
//! Source: closest points after Besl & McKay 1992, normal weighting after Chen & Medioni 1992; the convex refit is linear
//! blend skinning's own ([`dermis_solve::simplex`]).

mod lie;
mod pairs;
mod template;
mod vertex;

pub use lie::Lie;
pub use template::{Template, TemplateSettings, fit_templates, learn_templates};

use crate::training::{Cancelled, FitError, Progress};
use dermis_rig::glam::DVec3;
use dermis_rig::{
    BoneIndex, BoneTransforms, InfluenceError, Influences, Mesh, MeshError, Mirror, Skeleton, VertexIndex,
};
use dermis_solve::SolveError;
use pairs::Target;
use rayon::prelude::*;
use vertex::{Bones, Problem};

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

impl Scan {
    /// The scan of the mirrored character in the mirrored pose.
    pub fn mirrored(&self, mirror: &Mirror) -> Self {
        Self {
            label: format!("{}, mirrored", self.label),
            transforms: mirror.pose(&self.transforms),
            positions: self.positions.iter().map(|p| mirror.point(*p)).collect(),
            triangles: self.triangles.iter().map(|&[a, b, c]| [a, c, b]).collect(),
        }
    }
}

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanSettings {
    /// Pairs farther apart are rejected, in L.
    pub reach: f64,
    /// Pairs whose normals are farther apart are rejected, in degrees.
    pub angle: f64,
    /// τ: how much a distance along the surface counts, one along the normal being 1.
    pub tangential: f64,
    /// a: how strongly neighbours agree, relative to what the scans say of a vertex.
    pub smoothness: f64,
    /// 1 − κ: how strongly neighbours move alike. Beside 0, a tenth leaves a tenth less error on a body, and 0.97 mm instead of 0.84
    /// on a tube with wide triangles; 1 leaves 3.2 mm there.
    pub agreement: f64,
    /// Influences per vertex at most.
    pub influences: usize,
    /// Rounds at most.
    pub rounds: usize,
    /// Stop when a round moves less than this share of a vertex's weight from bone to bone, in the mean.
    pub change: f64,
    /// The symmetry by which partners get mirrored weights, learnt from every scan and from its mirror image.
    pub mirror: Option<Mirror>,
}

impl Default for ScanSettings {
    fn default() -> Self {
        Self {
            reach: 0.1,
            angle: 60.0,
            tangential: 0.1,
            smoothness: 3e-3,
            agreement: 0.1,
            influences: 4,
            rounds: 40,
            change: 5e-4,
            mirror: None,
        }
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
    /// Vertices by the number of scans that have a pair for them: none, one, ... With a mirror, the mirror image of a scan counts as
    /// another scan.
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
    /// The solved weights of a vertex are not finite.
    #[error(transparent)]
    Weights(#[from] InfluenceError),
    /// The system of a vertex cannot be solved.
    #[error("vertex {vertex}: {source}")]
    Solve {
        /// The vertex.
        vertex: VertexIndex,
        /// Why.
        source: SolveError,
    },
    /// The smoothness of the mesh makes no system that can be solved.
    #[error("smooth displacements of {vertices} vertices: {source}")]
    Smooth {
        /// Vertices of the mesh.
        vertices: usize,
        /// Why.
        source: SolveError,
    },
    /// No joint model can be fitted to the mesh on the scans.
    #[error("a joint model of the mesh on the scans: {0}")]
    Joints(Box<FitError>),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl From<FitError> for ScanError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Cancelled => Self::Cancelled,
            error => Self::Joints(Box::new(error)),
        }
    }
}

impl From<Cancelled> for ScanError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// How often the weights are refitted to the same pairs: smoothing spreads by one edge each time.
const SWEEPS: usize = 5;

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
    fit_scans_among(mesh, skeleton, start, None, scans, settings, progress)
}

/// The same among given bones.
///
/// - `candidates`: the bones that each vertex may follow, one row per vertex, values ignored. A vertex without any is fitted as by
///   [`fit_scans`]
///
/// # Errors
/// [`ScanError`].
pub fn fit_scans_among(
    mesh: &Mesh,
    skeleton: &Skeleton,
    start: &Influences,
    candidates: Option<&Influences>,
    scans: &[Scan],
    settings: &ScanSettings,
    progress: Progress<'_>,
) -> Result<(Influences, ScanReport), ScanError> {
    if let Some(rows) = candidates.map(Influences::vertices).filter(|rows| *rows != mesh.positions.len()) {
        let what = "rows of candidate bones".into();
        return Err(ScanError::Counts { what, found: rows, expected: mesh.positions.len() });
    }
    check(mesh, skeleton, start, scans, settings)?;
    let length = Some(mesh.extent()).filter(|l| *l > 0.0).unwrap_or(1.0);
    let images: Vec<Scan> = settings.mirror.iter().flat_map(|m| scans.iter().map(|s| s.mirrored(m))).collect();
    let given = scans.len();
    let scans: Vec<&Scan> = scans.iter().chain(&images).collect();
    let mut targets: Vec<Target> =
        scans.par_iter().map(|s| Target::new(s, mesh.positions.len(), length)).collect::<Result<_, _>>()?;
    let neighbours = mesh.neighbours();
    let named: Vec<&Influences> = std::iter::once(start).chain(candidates).collect();
    let bones = Bones::new(mesh, skeleton, &named, length);
    let mut weights = start.clone();
    let mut problems: Vec<Problem> = Vec::new();
    let mut report = ScanReport { change: f64::INFINITY, still: still(skeleton, &scans), ..ScanReport::default() };
    let total = (settings.rounds * scans.len()) as u64;
    while report.rounds < settings.rounds && report.change > settings.change {
        report.scans.clear();
        problems = vertex::problems(&bones, start, &weights, candidates, &neighbours);
        for (at, target) in targets.iter_mut().enumerate() {
            if progress((report.rounds * scans.len() + at) as u64, total).is_break() {
                return Err(ScanError::Cancelled);
            }
            let used = target.pair(mesh, &neighbours, &weights, &mut problems, settings, report.rounds);
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
        let before = weights.clone();
        for _ in 0..SWEEPS {
            let rows: Vec<Vec<(BoneIndex, f64)>> = problems
                .par_iter()
                .enumerate()
                .map(|(v, problem)| {
                    problem
                        .solve(v, &weights, &neighbours, settings)
                        .map_err(|source| ScanError::Solve { vertex: VertexIndex::new(v), source })
                })
                .collect::<Result<_, _>>()?;
            weights = Influences::from_rows(rows)?;
        }
        if let Some(mirror) = &settings.mirror {
            weights = mirror.symmetric_weights(&weights, settings.influences)?;
        }
        let seen = problems.iter().filter(|p| p.pairs > 0).count();
        let gained = |v: usize| weights.of(v).iter().map(|&(b, w)| (w - before.value(v, b)).max(0.0)).sum::<f64>();
        report.change = (0..weights.vertices()).map(gained).sum::<f64>() / seen as f64;
        report.rounds += 1;
    }
    report.coverage = vec![0; scans.len() + 1];
    problems.iter().for_each(|p| report.coverage[p.pairs] += 1);
    report.scans.truncate(given);
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
    if let Some(mirror) = &settings.mirror {
        counts(&|| "vertices of the mirror".into(), mirror.vertices.len(), mesh.positions.len())?;
        counts(&|| "bones of the mirror".into(), mirror.bones.len(), skeleton.len())?;
    }
    for scan in scans {
        counts(&|| format!("bones in the pose of scan \"{}\"", scan.label), scan.transforms.len(), skeleton.len())?;
        if let Some(bone) = scan.transforms.iter().position(|m| !m.is_finite()) {
            return Err(ScanError::Pose { label: scan.label.clone(), bone });
        }
    }
    for (name, value, least, most, rule) in [
        ("reach", settings.reach, 1e-6, 10.0, "it must lie in 1e-6..10 length units"),
        ("angle", settings.angle, 1.0, 180.0, "it must lie in 1..180 degrees"),
        ("tangential", settings.tangential, 0.0, 1.0, "it must lie in 0..1"),
        ("smoothness", settings.smoothness, 0.0, 1e12, "it must lie in 0..1e12"),
        ("agreement", settings.agreement, 0.0, 1.0, "it must lie in 0..1"),
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
fn still(skeleton: &Skeleton, scans: &[&Scan]) -> Vec<BoneIndex> {
    let bends = |bone: BoneIndex, parent: BoneIndex, scan: &Scan| {
        let (a, b) = (scan.transforms[parent].matrix3, scan.transforms[bone].matrix3);
        let relative = dermis_rig::rotation::nearest_rotation(&(a.inverse() * b));
        let trace = relative.x_axis.x + relative.y_axis.y + relative.z_axis.z;
        trace < 1.0 + 2.0 * 5f64.to_radians().cos()
    };
    let parented = skeleton.bones().filter_map(|bone| Some((bone, skeleton.parents()[bone]?)));
    parented.filter(|&(bone, parent)| !scans.iter().any(|s| bends(bone, parent, s))).map(|(bone, _)| bone).collect()
}
