//! The poses of scans: an armature is laid into meshes whose pose nobody noted down.
//!
//! For every scan, closest points and joint angles alternate. The unknowns are a rotation q_j of every joint and a rigid motion
//! of the character; a step minimises
//!
//! `½ Σ_v ρ_v |D (c_v − x_v)|² + ½ Σ_s ρ_s |D (c_s − x_s)|² + ν Σ_j |log q_j / σ_j|² + β Σ_j |log(near(q_j)⁻¹ q_j)|²`
//!
//! over pairs from the skin to the scan (v) and from the scan to the skin (s). x is a point of the skin by linear blending,
//! D = √(n nᵀ + τ² (1 − n nᵀ)) with the scan's normal n, ρ the weight of Geman & McClure times the share of the surface that the
//! point stands for times the trust in its weights, and near(q) the nearest rotation within the joint's range. Lengths are in rest diagonals.
//! ν is the variance of a distance over the number of independent distances, so that the first terms over 2 ν are the negative logarithm of a
//! likelihood, and the third that of a normal distribution of turns about rest: a joint that the scan shows goes where the scan says, and one that it does
//! not show stays at rest. σ_j, about each of the joint's own axes, is half of what its range lets it turn: fingers bend, and do not twist. β holds joints within their
//! range, softly, because a scan is evidence and a range an opinion.
//!
//! The first weights are a guess, and a skin with wrong weights lies best on a scan when joints are turned wrongly. An error δw of the weights
//! moves a point by Σ δw_k (M_k p − x), so where the bones disagree about a point, it says little: the trust of the fine search is
//! s²/(s² + ε² Σ w_k |M_k p − x|²), ε the error expected of a weight ([`RegisterSettings::doubt`]) and s a thousandth of a rest diagonal. What
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
mod system;

use crate::training::{Cancelled, Progress};
use body::{Body, State};
use coarse::{Coarse, SkinPoints};
use dermis_rig::glam::{DQuat, DVec3};
use dermis_rig::rotation::rotation_vector;
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, Influences, Mesh, MeshError, Skeleton};
pub use fine::NEAR;
use fine::{Fine, Fitted};
use rayon::prelude::*;
use scan::Prepared;
use std::sync::atomic::{AtomicU64, Ordering};
use system::Hold;

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
/// A scan that shows less of the skin tells no pose.
const LEAST_SKIN: f64 = 0.1;
/// A limb that turns by less, radians, lies on no other limb.
const FOLDED: f64 = 0.5;
/// The share of a limb's skin for which the scan speaks, and above which the limb is not looked at again.
const SUPPORT: f64 = 0.6;
/// Poses of other scans that are tried.
const OTHERS: usize = 4;

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
    let areas = samples::vertex_areas(&mesh.positions, &mesh.triangles);
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
            let found = search.unfolded(search.of_known(&scan.known));
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
            let search = Search::new(&body, &skin, prepared, settings);
            search.of_others(&known, found);
            *found = search.unfolded(found.clone());
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

/// Points of the skin for both searches.
struct Skin {
    few: SkinPoints,
    many: SkinPoints,
}

/// The best pose so far.
#[derive(Clone)]
struct Found {
    fitted: Fitted,
    /// Of the coarse points at the same pose: it counts both ways.
    cost: f64,
    began: Began,
}

impl Found {
    /// What is compared between poses of one scan.
    fn score(&self) -> f64 {
        self.fitted.cost + self.cost
    }
}

/// The search for the pose of one scan.
struct Search<'b, 'a> {
    coarse: Coarse<'b, 'a>,
    fine: Fine<'b, 'a>,
    prepared: &'b Prepared,
    settings: &'b RegisterSettings,
}

impl<'b, 'a> Search<'b, 'a> {
    fn new(body: &'b Body<'a>, skin: &'b Skin, prepared: &'b Prepared, settings: &'b RegisterSettings) -> Self {
        let coarse = Coarse::new(body, &skin.few, &prepared.few);
        let hold = Hold { rest: settings.rest, range: settings.range };
        let fine = Fine {
            body,
            skin: &skin.many,
            scan: &prepared.surface,
            points: &prepared.many,
            hold,
            doubt: settings.doubt,
        };
        Self { coarse, fine, prepared, settings }
    }

    fn finished(&self, state: &State, began: Began) -> Found {
        let fitted = self.fine.fit(state);
        let cost = self.coarse.cost(&fitted.state);
        Found { fitted, cost, began }
    }

    /// From what is known of the pose.
    fn of_known(&self, known: &Known) -> Found {
        if let Known::Closely(transforms) = known {
            let found = self.finished(&self.coarse.body.state(transforms), Began::Given);
            if found.fitted.of_scan >= self.settings.good {
                return found;
            }
        }
        self.of_start(known.pose())
    }

    /// From a pose that is known roughly, or from rest: where the scan stands, and turned where that is not enough.
    fn of_start(&self, near: Option<&BoneTransforms>) -> Found {
        let body = self.coarse.body;
        let (start, began) = match near {
            Some(transforms) => (body.state(transforms), Began::Given),
            None => (body.rest(), Began::Rest),
        };
        let mut centred = start.clone();
        centred.place = self.prepared.centre;
        let starts = [start, centred];
        let candidates = starts.iter().map(|start| self.coarse.descend(start, 25, 0.15, &self.coarse.large));
        let best = candidates.min_by(|a, b| a.cost.total_cmp(&b.cost)).expect("there are two starts");
        let best = self.coarse.search_limbs(best);
        let mut found = self.finished(&best.state, began);
        if near.is_none() || found.fitted.of_scan < self.settings.good {
            self.turned(&mut found);
        }
        found
    }

    /// From rest, the character turned as a whole: many starts, of which the better ones go on.
    fn turned(&self, found: &mut Found) {
        let still = vec![false; self.coarse.large.len()];
        let mut tried: Vec<coarse::Candidate> = coarse::whole_turns()
            .into_iter()
            .map(|turn| {
                let mut start = self.coarse.body.rest();
                (start.turn, start.place) = (turn, self.prepared.centre);
                let moved = self.coarse.descend(&start, 4, 0.15, &still);
                self.coarse.descend(&moved.state, 8, 0.1, &self.coarse.large)
            })
            .collect();
        tried.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        tried.truncate(6);
        let mut tried: Vec<coarse::Candidate> = tried
            .into_iter()
            .map(|one| self.coarse.search_limbs(self.coarse.descend(&one.state, 20, 0.1, &self.coarse.large)))
            .collect();
        tried.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        for one in tried.into_iter().take(2) {
            self.better(self.finished(&one.state, Began::Turned), found);
        }
    }

    /// From the poses of other scans, the most similar first: by the cost after the character was laid onto the scan as a whole.
    fn of_others(&self, known: &[(usize, State)], found: &mut Found) {
        let still = vec![false; self.coarse.large.len()];
        let mut tried: Vec<(usize, coarse::Candidate)> = Vec::new();
        for (at, state) in known {
            for (turn, place) in
                [(state.turn, self.prepared.centre), (found.fitted.state.turn, found.fitted.state.place)]
            {
                let start = State { turn, place, joints: state.joints.clone() };
                tried.push((*at, self.coarse.descend(&start, 5, 0.1, &still)));
            }
        }
        tried.sort_by(|a, b| a.1.cost.total_cmp(&b.1.cost));
        for (at, one) in tried.into_iter().take(OTHERS) {
            let best = self.coarse.search_limbs(self.coarse.descend(&one.state, 20, 0.08, &self.coarse.large));
            self.better(self.finished(&best.state, Began::Other(at)), found);
        }
    }

    /// Limbs that little of the scan speaks for, the last of each chain first, at rest wherever the scan lies on the skin as well then. A limb in
    /// a hole lies best on what the scan shows of another.
    fn unfolded(&self, mut found: Found) -> Found {
        let body = self.coarse.body;
        for (&bone, _) in body.free.iter().zip(&self.coarse.large).rev().filter(|(_, large)| **large) {
            let turn = rotation_vector(found.fitted.state.joints[bone]).length();
            if turn < FOLDED || self.fine.support(&found.fitted.state, bone) > SUPPORT {
                continue;
            }
            let mut state = found.fitted.state.clone();
            let below = body.below(bone);
            (0..below.len()).filter(|bone| below[*bone]).for_each(|bone| state.joints[bone] = DQuat::IDENTITY);
            let straight = self.finished(&state, found.began);
            if straight.fitted.cost <= found.fitted.cost + coarse::UNFOLD * body.share[bone] {
                found = straight;
            }
        }
        found
    }

    fn better(&self, other: Found, found: &mut Found) {
        if other.score() < found.score() {
            *found = other;
        }
    }

    /// The pose that was found, if it explains the scan.
    fn judged(&self, found: &Found) -> Result<Pose, Failure> {
        let Fitted { state, rms, of_scan, of_skin, .. } = &found.fitted;
        if *of_scan < self.settings.least {
            return Err(Failure::Unlike { of_scan: *of_scan, least: self.settings.least });
        }
        if *of_skin < LEAST_SKIN {
            return Err(Failure::Little { of_skin: *of_skin });
        }
        let body = self.coarse.body;
        let deviations = self.fine.deviations(&found.fitted);
        let vague = body.free.iter().zip(deviations).map(|(bone, d)| (BoneIndex::new(*bone), d.to_degrees()));
        Ok(Pose {
            transforms: BoneTransforms::new(body.transforms(state)),
            began: found.began,
            rms: *rms,
            of_scan: *of_scan,
            of_skin: *of_skin,
            vague: vague.filter(|(_, degrees)| *degrees > self.settings.vague).collect(),
        })
    }
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
