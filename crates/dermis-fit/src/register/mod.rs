//! The poses of scans: an armature is laid into meshes whose pose nobody noted down.
//!
//! For every scan, closest points and joint angles alternate. The unknowns are a rotation q_j of every joint and a rigid motion
//! of the character; a step minimises
//!
//! `½ Σ_v ρ_v |D (c_v − x_v)|² + ½ Σ_s ρ_s |D (c_s − x_s)|² + ν Σ_j κ(√a_j log q_j / σ_j) + β Σ_j |log(near(q_j)⁻¹ q_j)|²`
//! `+ ν Σ_ij κ(√b_ij |T_ij r_i − r_j| / σ_j)`
//!
//! over pairs from the skin to the scan (v) and from the scan to the skin (s). x is a point of the skin by linear blending,
//! D = √(n nᵀ + τ² (1 − n nᵀ)) with the scan's normal n, ρ the weight of Geman & McClure times the share of the surface that the
//! point stands for times the trust in its weights, and near(q) the nearest rotation within the joint's range. Lengths are in L ([`Mesh::extent`]).
//! ν is the variance of a distance over the number of independent distances, so that the first terms over 2 ν are the negative logarithm of a
//! likelihood, and the third that of a distribution of turns about rest: a joint that the scan shows goes where the scan says, and one that it does
//! not show stays at rest. κ(u) = Σ 4 log(1 + u²/4), over the axes, is Cauchy's: u² for likely turns, and little more for those far beyond. σ_j, about each of the joint's own axes, is half of what its range lets it turn: fingers bend, and do not twist. β holds joints within their
//! range, softly, because a scan is evidence and a range an opinion.
//!
//! The last sum is over joints that turn alike ([`Alike`]), r their rotation vectors in the world at rest: a finger that the scan does not show
//! bends as its neighbours do. With b = γ/(1 − γ²) and a = 1/(1 + Σ γ), γ the correlations, the turns of a lone pair have, near rest, a normal
//! distribution with the same σ for each as without the pair, and the correlation γ. For joints in several pairs this is an approximation; a = 1
//! for joints in none.
//!
//! The first weights are a guess, and a skin with wrong weights lies best on a scan when joints are turned wrongly. An error δw of the weights
//! moves a point by Σ δw_k (M_k p − x), so where the bones disagree about a point, it says little: the trust of the fine search is
//! s²/(s² + ε² Σ w_k |M_k p − x|²), ε the error expected of a weight ([`RegisterSettings::doubt`]) and s a thousandth of L. What
//! follows one bone, and what no joint bends, tells the pose.
//!
//! The search goes from coarse to fine:
//!
//! 1. Some hundred points of both sides, the larger joints alone, from the start given or from rest (`coarse`).
//! 2. Limbs that lie nowhere on the scan are turned through their range, parents first, and kept where more of the scan lies on the skin.
//!    Limbs whose turn brings nothing of the scan nearer go back to rest.
//! 3. All joints and closest points of the surfaces, the reach shrinking (`fine`).
//!    A limb in a hole of the scan lies best on what the scan shows of another limb; one that little of the scan speaks for goes back to rest
//!    where the scan lies on the skin as well then.
//! 4. The character is turned as a whole, to some 47 orientations, and the pose with the lowest cost both ways is kept: a scan can be
//!    well explained the wrong way round. A start that was given is left only if it explains less than
//!    [`RegisterSettings::good`].
//! 5. Scans that are still badly explained begin again from the poses of those that are well explained.
//!
//! What a scan does not determine stays near rest and is named: joints whose turn has a standard deviation beyond
//! [`RegisterSettings::vague`]. A scan of which too little is explained is a failure with a reason, and has no pose.
//!
//! Source: closest points after Besl & McKay 1992 and Chen & Medioni 1992; articulated as in Pellegrini, Schindler & Nardi 2008,
//! "A generalisation of the ICP algorithm for articulated bodies"; damping after Levenberg 1944. Poses from scans without
//! correspondence are what Hopkins & Owen leave to the person who scans.

mod body;
mod coarse;
mod fine;
mod samples;
mod scan;
mod search;
mod system;

use crate::training::{Cancelled, Progress};
use body::{Body, State};
use coarse::SkinPoints;
use dermis_rig::glam::{DQuat, DVec3};
use dermis_rig::mesh::vertex_areas;
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, Influences, Mesh, MeshError, Skeleton};
pub use fine::NEAR;
use rayon::prelude::*;
use scan::Prepared;
use search::{Found, Search, Skin};
use std::sync::atomic::{AtomicU64, Ordering};

/// A scan whose pose is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanSurface {
    /// What it is called in messages.
    pub label: String,
    /// Its vertices, world, metres.
    pub positions: Vec<DVec3>,
    /// Its triangles, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// What is known of its pose.
    pub known: Known,
}

/// What is known of the pose of a scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// Limbs are about where they belong: the search begins there.
    Roughly(BoneTransforms),
    /// The skin lies on the scan already: closest points and joint angles go on from there.
    Closely(BoneTransforms),
}

impl Known {
    fn pose(&self) -> Option<&BoneTransforms> {
        match self {
            Self::Nothing => None,
            Self::Roughly(pose) | Self::Closely(pose) => Some(pose),
        }
    }
}

/// Which joints turn, and how far.
pub struct JointRanges<'a> {
    /// Whether a joint turns at all.
    pub moves: BoneVec<bool>,
    /// The nearest rotation that a joint's range holds, in the bone's own axes since rest.
    pub nearest: &'a (dyn Fn(BoneIndex, DQuat) -> DQuat + Sync),
    /// Joints that turn much alike, such as neighbouring fingers: what a scan shows of one tells of the other.
    pub alike: Vec<Alike>,
}

/// Two joints that turn much alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alike {
    /// The joints.
    pub joints: [BoneIndex; 2],
    /// From a turn of the first, a rotation vector in the world at rest, to that expected of the second.
    pub turned: DQuat,
    /// γ: the correlation of the first one's turn, so turned, and the second's, above 0 and below 1.
    pub correlation: f64,
}

/// What a caller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegisterSettings {
    /// How strongly joints are drawn to rest: 1 as the noise of the scan and the range of the joint say, 0 not at all.
    pub rest: f64,
    /// β: how strongly joints are held within their range. With 1e-6 thumbs that leave their range by 30 degrees were turned wrongly, and the
    /// weights after them.
    pub range: f64,
    /// ε: the error expected of a weight, 0 for weights that are known.
    pub doubt: f64,
    /// The share of a scan that must lie on the skin, and below which other starts are tried.
    pub good: f64,
    /// Scans with a smaller share on the skin are failures.
    pub least: f64,
    /// Joints whose turn is less certain are reported, degrees of one standard deviation.
    pub vague: f64,
}

impl Default for RegisterSettings {
    fn default() -> Self {
        Self { rest: 1.0, range: 1e-8, doubt: 0.5, good: 0.9, least: 0.6, vague: 8.0 }
    }
}

/// What was done to a scan before the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mending {
    /// It has more triangles than the search looks at.
    Thinned {
        /// Triangles it has.
        from: usize,
        /// Triangles it was given.
        to: usize,
    },
    /// Its faces look inwards, and were turned over.
    InsideOut,
}

/// Why a scan has no pose.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// It is unusable as a mesh.
    #[error(transparent)]
    Mesh(MeshError),
    /// It has no surface to speak of.
    #[error("it has {vertices} vertices and {triangles} triangles, which make no surface")]
    NoSurface {
        /// Its vertices.
        vertices: usize,
        /// Its triangles.
        triangles: usize,
    },
    /// It is of another size.
    #[error("it is {ratio:.3} times as large as the rig{}", unit_of(*ratio).map(|u| format!(", as if {u}")).unwrap_or_default())]
    Size {
        /// The root of its area over that of the skin at rest.
        ratio: f64,
    },
    /// No pose explains it.
    #[error(
        "it shows something else: in the best pose found {:.0} % of it lies on the skin, within {:.1} % of the rig's size; \
         {:.0} % must",
        100.0 * of_scan, 100.0 * fine::NEAR, 100.0 * least
    )]
    Unlike {
        /// The share of the scan that lies on the skin.
        of_scan: f64,
        /// The share that must.
        least: f64,
    },
    /// It shows too little of the character.
    #[error("it shows {:.0} % of the skin, too little to tell a pose", 100.0 * of_skin)]
    Little {
        /// The share of the skin that lies on the scan.
        of_skin: f64,
    },
}

/// The units that explain a ratio of sizes, in words.
fn unit_of(ratio: f64) -> Option<&'static str> {
    let known = [
        (1000.0, "its lengths were millimetres and the rig's metres"),
        (100.0, "its lengths were centimetres and the rig's metres"),
        (10.0, "its lengths were millimetres and the rig's centimetres"),
        (39.37, "its lengths were inches and the rig's metres"),
        (2.54, "its lengths were centimetres and the rig's inches"),
        (3.281, "its lengths were feet and the rig's metres"),
        (0.1, "its lengths were centimetres and the rig's millimetres"),
        (0.01, "its lengths were metres and the rig's centimetres"),
        (0.001, "its lengths were metres and the rig's millimetres"),
    ];
    known.into_iter().find(|(factor, _)| (0.8..1.25).contains(&(ratio / factor))).map(|(_, words)| words)
}

/// A scan with its pose.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// The scan.
    pub label: String,
    /// What was done to it.
    pub mended: Vec<Mending>,
    /// Its pose, or why there is none.
    pub found: Result<Pose, Failure>,
}

/// The pose of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Pose {
    /// M_k.
    pub transforms: BoneTransforms,
    /// Where the search began.
    pub began: Began,
    /// Root mean square distance of the skin from the scan along its normals, over what lies on it, metres.
    pub rms: f64,
    /// The share of the scan that lies on the skin.
    pub of_scan: f64,
    /// The share of the skin that lies on the scan.
    pub of_skin: f64,
    /// Joints that the scan does not determine, with the standard deviation of their turn in degrees; infinite where nothing shows it.
    pub vague: Vec<(BoneIndex, f64)>,
}

/// Where a search began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    /// At the pose given.
    Given,
    /// At rest.
    Rest,
    /// At rest, the character turned as a whole.
    Turned,
    /// At the pose of another scan, by its place in the list.
    Other(usize),
}

/// Why nothing was registered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RegisterError {
    /// The rig's mesh is unusable.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The mesh has no faces.
    #[error("the rig's mesh has no faces")]
    NoFaces,
    /// No scan.
    #[error("there are no scans")]
    NoScans,
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
    /// Two joints cannot be said to turn alike.
    #[error(
        "joints {} and {} turn alike with a correlation of {}: it must lie in 0.001..0.999, and they must be two",
        .0.joints[0].get(), .0.joints[1].get(), .0.correlation
    )]
    Alike(Alike),
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
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for RegisterError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Points of the coarse search, of skin and scan.
const FEW: usize = 450;
/// Points of the fine search.
const MANY: usize = 8000;
/// Vertices of every bone in the coarse and in the fine search, at least.
const OF_BONE: (usize, usize) = (3, 60);

/// Finds the pose of every scan. A scan without one has its reason; the others are not touched by it.
///
/// - `weights`: the skin's, as good as they are known: bone heat will do
///
/// # Errors
/// [`RegisterError`], for what concerns the rig or all scans.
pub fn register(
    mesh: &Mesh,
    skeleton: &Skeleton,
    weights: &Influences,
    ranges: &JointRanges<'_>,
    scans: &[ScanSurface],
    settings: &RegisterSettings,
    progress: Progress<'_>,
) -> Result<Vec<Registration>, RegisterError> {
    check(mesh, skeleton, weights, ranges, scans, settings)?;
    let body = Body::new(mesh, skeleton, weights, ranges);
    if body.area.is_nan() || body.area <= 0.0 {
        return Err(RegisterError::NoFaces);
    }
    let areas = vertex_areas(&mesh.positions, &mesh.triangles);
    let normals = samples::vertex_normals(&mesh.positions, &mesh.triangles);
    let skin = Skin {
        few: SkinPoints::new(&body, &areas, &normals, FEW, OF_BONE.0),
        many: SkinPoints::new(&body, &areas, &normals, MANY, OF_BONE.1),
    };
    let total = 2 * scans.len() as u64;
    let done = AtomicU64::new(0);
    let tick = || match progress(done.fetch_add(1, Ordering::Relaxed), total).is_break() {
        true => Err(RegisterError::Cancelled),
        false => Ok(()),
    };
    let first = |scan: &ScanSurface| {
        tick()?;
        let prepared = Prepared::new(scan, body.area, FEW, MANY);
        Ok(prepared.map(|prepared| {
            let search = Search::new(&body, &skin, &prepared, settings);
            let found = search.of_known(&scan.known);
            (prepared, found)
        }))
    };
    let mut all: Vec<Result<(Prepared, Found), Failure>> =
        scans.par_iter().map(first).collect::<Result<_, RegisterError>>()?;

    let known: Vec<(usize, State)> = all
        .iter()
        .enumerate()
        .filter_map(|(at, one)| one.as_ref().ok().map(|(_, found)| (at, found)))
        .filter(|(_, found)| found.fitted.of_scan >= settings.good)
        .map(|(at, found)| (at, found.fitted.state.clone()))
        .collect();
    all.par_iter_mut().try_for_each(|one| {
        tick()?;
        if let Ok((prepared, found)) = one
            && found.fitted.of_scan < settings.good
        {
            Search::new(&body, &skin, prepared, settings).of_others(&known, found);
        }
        Ok::<(), RegisterError>(())
    })?;
    let registered = |(scan, one): (&ScanSurface, Result<(Prepared, Found), Failure>)| {
        let label = scan.label.clone();
        match one {
            Err(failure) => Registration { label, mended: vec![], found: Err(failure) },
            Ok((prepared, found)) => {
                let pose = Search::new(&body, &skin, &prepared, settings).judged(&found);
                Registration { label, mended: prepared.mended, found: pose }
            }
        }
    };
    Ok(scans.par_iter().zip(all).map(registered).collect())
}

fn check(
    mesh: &Mesh,
    skeleton: &Skeleton,
    weights: &Influences,
    ranges: &JointRanges<'_>,
    scans: &[ScanSurface],
    settings: &RegisterSettings,
) -> Result<(), RegisterError> {
    mesh.check()?;
    if mesh.triangles.is_empty() {
        return Err(RegisterError::NoFaces);
    }
    if scans.is_empty() {
        return Err(RegisterError::NoScans);
    }
    let counts = |what: &dyn Fn() -> String, found, expected| match found == expected {
        true => Ok(()),
        false => Err(RegisterError::Counts { what: what(), found, expected }),
    };
    counts(&|| "rows of the weights".into(), weights.vertices(), mesh.positions.len())?;
    counts(&|| "ranges of joints".into(), ranges.moves.len(), skeleton.len())?;
    if weights.bones_named() > skeleton.len() {
        let what = "bones of the weights".into();
        return Err(RegisterError::Counts { what, found: weights.bones_named(), expected: skeleton.len() });
    }
    for scan in scans {
        if let Some(near) = scan.known.pose() {
            let what = || format!("bones in the pose to begin scan \"{}\" with", scan.label);
            counts(&what, near.len(), skeleton.len())?;
            let finite = near.iter().filter(|m| m.is_finite()).count();
            let what = || format!("finite bones in the pose to begin scan \"{}\" with", scan.label);
            counts(&what, finite, skeleton.len())?;
        }
    }
    let usable = |alike: &&Alike| (0.001..=0.999).contains(&alike.correlation) && alike.joints[0] != alike.joints[1];
    if let Some(alike) = ranges.alike.iter().find(|alike| !usable(alike)) {
        return Err(RegisterError::Alike(*alike));
    }
    for (name, value, least, most, rule) in [
        ("rest", settings.rest, 0.0, 1e6, "it must lie in 0..1e6"),
        ("range", settings.range, 0.0, 1e6, "it must lie in 0..1e6"),
        ("doubt", settings.doubt, 0.0, 1e3, "it must lie in 0..1e3"),
        ("good", settings.good, 0.0, 1.0, "it must lie in 0..1"),
        ("least", settings.least, 0.0, 1.0, "it must lie in 0..1"),
        ("vague", settings.vague, 0.0, 180.0, "it must lie in 0..180 degrees"),
    ] {
        if !(least..=most).contains(&value) {
            return Err(RegisterError::Setting { name, value, rule });
        }
    }
    Ok(())
}
