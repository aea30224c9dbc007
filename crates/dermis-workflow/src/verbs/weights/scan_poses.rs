//! Weights from scans alone: poses are found, weights fitted, and both again with what was learnt.

use crate::error::Error;
use crate::joint_limits::LimitsFile;
use crate::verbs::weights::{bones_of_templates, from_scans, names, templates};
use dermis_fit::influence::Rule;
use dermis_fit::register::{
    Alike, Failure, JointRanges, Known, Mending, Pose, RegisterError, RegisterSettings, Registration,
};
use dermis_fit::scans::{Scan, ScanReport, ScanSettings};
use dermis_fit::{ScanSurface, register};
use dermis_motion::anatomy::{Anatomy, Part, Role, Side};
use dermis_motion::ik::JointLimits;
use dermis_rig::glam::DQuat;
use dermis_rig::{BoneIndex, BoneVec, Frame, Influences, Motion, Progress, Rig};
use serde_json::{Value, json};
use std::path::Path;

/// What came of the search for the poses of scans.
#[derive(Debug)]
pub struct ScanPoses {
    /// Every scan, in the order given, with its pose or the reason why there is none.
    pub registrations: Vec<Registration>,
    /// How often poses and weights were found in turn.
    pub rounds: usize,
}

/// The ranges that the joints of a rig have by their anatomy, and by a file that changes some.
///
/// # Errors
/// [`Error`] of the file.
pub fn anatomy(rig: &Rig, limits: Option<(&LimitsFile, &Path)>) -> Result<Anatomy, Error> {
    let mut anatomy = Anatomy::new(rig.skeleton(), |_| true);
    if let Some((file, path)) = limits {
        file.apply(&mut anatomy, rig.skeleton(), path)?;
    }
    Ok(anatomy)
}

/// Finds the pose of every scan.
///
/// - `rounds`: the rounds of poses and weights that made the weights, 0 if none did. Errors of weights shrink from round to round, and with them
///   what a disagreement of bones says against a pair ([`RegisterSettings::doubt`])
///
/// # Errors
/// [`Error::Weights`].
pub fn scan_poses(
    rig: &Rig,
    weights: &Influences,
    rounds: usize,
    anatomy: &Anatomy,
    surfaces: &[ScanSurface],
    progress: Progress<'_>,
) -> Result<Vec<Registration>, Error> {
    let moves = anatomy.limits.iter().map(|limits| *limits != JointLimits::Locked).collect();
    let nearest = |bone, q| anatomy.limits[bone].nearest(q);
    let ranges = JointRanges { moves: BoneVec::new(moves), nearest: &nearest, alike: alike(anatomy) };
    let first = RegisterSettings::default();
    let settings = RegisterSettings { doubt: first.doubt * SHRINKING.powi(rounds.min(1000) as i32), ..first };
    match register::register(rig.mesh(), rig.skeleton(), weights, &ranges, surfaces, &settings, progress) {
        Ok(found) => Ok(found),
        Err(RegisterError::Cancelled) => Err(Error::Cancelled),
        Err(error) => Err(super::error::Error::Register(error).into()),
    }
}

/// The correlation of the turns of neighbouring fingers.
const OF_NEIGHBOURS: f64 = 0.9;
/// That of the same finger of both hands.
const OF_HANDS: f64 = 0.5;

/// Fingers bend together: each with its neighbours of the same hand, and, more loosely, with those of the other. Source: Zatsiorsky, Li & Latash
/// 2000, "Enslaving effects in multi-finger force production", for the neighbours.
fn alike(anatomy: &Anatomy) -> Vec<Alike> {
    let digits: Vec<(BoneIndex, Role)> = (anatomy.roles.iter().enumerate())
        .filter_map(|(bone, role)| Some((BoneIndex::new(bone), (*role)?)))
        .filter(|(_, role)| matches!(role.part, Part::Finger | Part::Thumb))
        .collect();
    let find = |wanted: Role| digits.iter().find(|(_, role)| *role == wanted).map(|(bone, _)| *bone);
    let mirror = DQuat::from_axis_angle(anatomy.frame.left, std::f64::consts::PI);
    let mut pairs = Vec::new();
    for &(bone, role) in &digits {
        if role.part == Part::Finger && role.digit > 0 {
            let neighbour = find(Role { digit: role.digit + 1, ..role });
            let alike = |other| Alike { joints: [bone, other], turned: DQuat::IDENTITY, correlation: OF_NEIGHBOURS };
            pairs.extend(neighbour.map(alike));
        }
        if role.side == Side::Left {
            let mirrored = find(Role { side: Side::Right, ..role });
            pairs.extend(mirrored.map(|other| Alike { joints: [bone, other], turned: mirror, correlation: OF_HANDS }));
        }
    }
    pairs
}

/// The scans that have a pose.
pub fn posed(surfaces: &[ScanSurface], registrations: &[Registration]) -> Vec<Scan> {
    let scan = |(surface, one): (&ScanSurface, &Registration)| {
        let pose = one.found.as_ref().ok()?;
        Some(Scan {
            label: surface.label.clone(),
            transforms: pose.transforms.clone(),
            positions: surface.positions.clone(),
            triangles: surface.triangles.clone(),
        })
    };
    surfaces.iter().zip(registrations).filter_map(scan).collect()
}

/// What a round of poses and weights ends with.
pub struct Round {
    /// The poses.
    pub registrations: Vec<Registration>,
    /// The weights.
    pub weights: Influences,
    /// The fit of the weights.
    pub report: ScanReport,
}

/// A joint whose pose was found counts as moved if it turns by more than this, radians: ten degrees.
pub const TURNED: f64 = 0.175;

/// How far the skin may be from a scan whose pose was found, in length units: it lies on the scan already, and what is farther belongs to something
/// else.
pub const REACH: f64 = 0.02;

/// The factor by which a round of poses and weights is expected to shrink the errors of weights.
const SHRINKING: f64 = 0.6;

/// Rounds of the weights in all but the last round of poses and weights.
const EARLY_ROUNDS: usize = 5;

/// Rounds of poses and weights.
pub struct Rounds<'a> {
    /// The rig; its own weights are not looked at.
    pub rig: &'a Rig,
    /// How far its joints turn.
    pub anatomy: &'a Anatomy,
    /// The rule that chooses the bones of each vertex. Without one the fit does.
    pub rule: Option<Rule>,
    /// Of the last fit of weights.
    pub settings: ScanSettings,
    /// How many.
    pub count: usize,
}

impl Rounds<'_> {
    /// The settings of a round of `count`, counted from 0. Weights that fit poses of an early round too well hold the next poses where they are: a few
    /// rounds of their own will do until the last.
    fn settings(&self, done: usize) -> ScanSettings {
        match done + 1 < self.count {
            true => ScanSettings { rounds: self.settings.rounds.min(EARLY_ROUNDS), ..self.settings.clone() },
            false => self.settings.clone(),
        }
    }

    /// One round: poses with the weights so far, from those of the round before if there was one, then weights.
    ///
    /// - `done`: rounds before this one
    ///
    /// # Errors
    /// [`Error::Weights`] if no scan has a pose, and those of [`scan_poses`] and of the fit.
    pub fn round(
        &self,
        done: usize,
        weights: &Influences,
        surfaces: &mut [ScanSurface],
        progress: Progress<'_>,
    ) -> Result<Round, Error> {
        let rig = self.rig;
        let registrations = scan_poses(rig, weights, done, self.anatomy, surfaces, progress)?;
        let scans = posed(surfaces, &registrations);
        if scans.is_empty() {
            let reasons =
                registrations.iter().filter_map(|one| Some((one.label.clone(), one.found.as_ref().err()?.clone())));
            return Err(super::error::Error::NoScanPosed { reasons: reasons.collect() }.into());
        }
        for (surface, one) in surfaces.iter_mut().zip(&registrations) {
            surface.known = match &one.found {
                Ok(pose) => Known::Closely(pose.transforms.clone()),
                Err(_) => Known::Nothing,
            };
        }
        let candidates = match self.rule {
            Some(rule) => {
                let templates = templates(rig, weights, &scans, progress)?;
                Some(bones_of_templates(rig, &templates, rule, TURNED, progress)?)
            }
            None => None,
        };
        let (weights, report) = from_scans(rig, weights, candidates.as_ref(), &scans, &self.settings(done), progress)?;
        Ok(Round { registrations, weights, report })
    }
}

/// The poses as a motion, a frame per scan that has one.
pub fn motion(rig: &Rig, registrations: &[Registration]) -> Motion {
    let frame = |one: &Registration| {
        let pose = rig.skeleton().world_pose(&one.found.as_ref().ok()?.transforms);
        Some(Frame { label: one.label.clone(), time: None, pose })
    };
    Motion { name: "scans".into(), frames: registrations.iter().filter_map(frame).collect() }
}

impl ScanPoses {
    /// Scans with a pose.
    pub fn found(&self) -> impl Iterator<Item = (&Registration, &Pose)> {
        self.registrations.iter().filter_map(|one| Some((one, one.found.as_ref().ok()?)))
    }

    /// Scans without, and why.
    pub fn failed(&self) -> impl Iterator<Item = (&str, &Failure)> {
        self.registrations.iter().filter_map(|one| Some((one.label.as_str(), one.found.as_ref().err()?)))
    }

    /// As JSON; lengths in metres, angles in degrees.
    pub fn json(&self, rig: &Rig) -> Value {
        let scans: Vec<Value> = self.registrations.iter().map(|one| scan_json(rig, one, &self.registrations)).collect();
        json!({ "rounds": self.rounds, "scans": scans })
    }
}

/// A scan of `all` as JSON; lengths in metres, angles in degrees.
pub(crate) fn scan_json(rig: &Rig, one: &Registration, all: &[Registration]) -> Value {
    let mended: Vec<Value> = one
        .mended
        .iter()
        .map(|mending| match mending {
            Mending::Thinned { from, to } => json!({ "thinned": { "from": from, "to": to } }),
            Mending::InsideOut => json!("inside-out"),
        })
        .collect();
    match &one.found {
        Err(failure) => json!({ "label": one.label, "mended": mended, "failed": failure.to_string() }),
        Ok(pose) => json!({
            "label": one.label,
            "mended": mended,
            "began": began(pose, all),
            "distance": pose.rms,
            "scan_explained": pose.of_scan,
            "skin_shown": pose.of_skin,
            "vague_joints": pose.vague.iter().map(|(bone, degrees)| json!({
                "joint": names(rig, &[*bone])[0], "degrees": degrees.is_finite().then_some(degrees),
            })).collect::<Vec<_>>(),
        }),
    }
}

/// Where the search for a pose began, in words.
pub fn began(pose: &Pose, registrations: &[Registration]) -> String {
    match pose.began {
        register::Began::Given => "the pose given, or that of the round before".into(),
        register::Began::Rest => "rest".into(),
        register::Began::Turned => "rest, turned as a whole".into(),
        register::Began::Other(at) => format!("the pose of \"{}\"", registrations[at].label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{ReadOptions, Source, load_examples, load_rig};
    use dermis_rig::BoneTransforms;
    use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, rotation_vector};
    use std::path::PathBuf;

    /// Three segments of four fingers and of a thumb: 18 pairs of neighbours and 15 across. In the exercise of the bundled body
    /// they do so at least as much as is said of them, the hands as mirror images.
    ///
    /// `cargo nextest run --workspace --lib -E 'test(said_to_turn_alike)' --no-capture` prints the correlations.
    #[test]
    fn fingers_that_are_said_to_turn_alike_do() {
        let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body_exercise.npz"));
        let loaded = load_rig(&path).unwrap();
        let (rig, source) = (&loaded.rig, Source { path, part: None });
        let (poses, _) = load_examples(rig, &loaded.space, &[source], &ReadOptions::default(), "examples").unwrap();
        let pairs = alike(&anatomy(rig, None).unwrap());
        let (neighbours, across): (Vec<_>, Vec<_>) = pairs.iter().partition(|pair| pair.turned == DQuat::IDENTITY);
        assert_eq!((neighbours.len(), across.len()), (18, 15));
        let turn = |pose: &BoneTransforms, bone: BoneIndex| {
            let parent = rig.skeleton().parents()[bone].unwrap();
            let own = pose[parent].inverse() * pose[bone];
            rotation_vector(quat_from_matrix(&nearest_rotation(&own.matrix3)))
        };
        // The correlation: Σ (T a)·b / √(Σ a² Σ b²).
        let correlation = |pairs: &[&Alike], mirror: bool| {
            let [mut both, mut of_first, mut of_second] = [0.0; 3];
            for pose in poses.examples() {
                for &&Alike { joints: [first, second], turned, .. } in pairs {
                    let expected = if mirror { turned } else { DQuat::IDENTITY } * turn(&pose.transforms, first);
                    let own = turn(&pose.transforms, second);
                    both += expected.dot(own);
                    of_first += expected.length_squared();
                    of_second += own.length_squared();
                }
            }
            both / (of_first * of_second).sqrt()
        };
        let (near, far) = (correlation(&neighbours, true), correlation(&across, true));
        let wrong = correlation(&across, false);
        println!("correlation of neighbours {near:.2}, of hands {far:.2}, of hands without the mirror {wrong:.2}");
        assert!(near > OF_NEIGHBOURS && far > OF_HANDS && wrong < -0.3, "{near} {far} {wrong}");
    }
}
