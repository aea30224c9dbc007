//! Motion capture: markers on an arm, seen with noise and gaps, become joint angles again.

use crate::FigureError;
use crate::limb::chain;
use dermis_motion::markers::{Marker, MarkerSet, MarkerSettings, Take, TroubleKind, solve};
use dermis_report::figures::{CaptionedDrawing, Drawing, Exhibit, Figure, LineChart, Measured, Series, Verdict};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::quat_from_matrix;
use dermis_rig::{Skeleton, WorldPose, silent};
use dermis_solve::Random;

/// Where upper arm, forearm and hand begin, metres.
const HEADS: [f64; 3] = [0.0, 0.3, 0.55];
/// Markers on every bone.
const MARKERS: usize = 5;
/// Frames of the take, and how many a second has.
const FRAMES: usize = 90;
const RATE: f64 = 60.0;
/// The noise of a coordinate, metres.
const NOISE: f64 = 1e-3;
/// A marker of the forearm is not seen in these frames.
const GAP: std::ops::Range<usize> = 40..55;

/// Turns of the joints since rest, smooth in time.
fn turns(frame: usize) -> [DVec3; 3] {
    let t = frame as f64 / RATE;
    [
        DVec3::new(0.2 * (2.0 * t).sin(), 0.3 * t, 0.5 * (1.5 * t).cos()),
        DVec3::new(0.0, 0.0, 0.9 + 0.7 * (3.0 * t).sin()),
        DVec3::new(0.0, 0.4 * (4.0 * t).sin(), 0.3 * (2.0 * t).cos()),
    ]
}

/// The figure.
///
/// # Errors
/// [`FigureError`].
pub(super) fn figure() -> Result<Figure, FigureError> {
    let skeleton = chain(&HEADS)?;
    let mut random = Random::seeded(6837);
    let set = markers(&skeleton, &mut random);
    let take = take(&skeleton, &set, &mut random);
    let solved = solve(&skeleton, &set, &take, &MarkerSettings::default(), &silent)
        .map_err(FigureError::of("take of markers"))?;
    let mut lines: [Vec<[f64; 2]>; 2] = [Vec::new(), Vec::new()];
    let (mut sum, mut worst) = (0.0, 0.0f64);
    for (frame, posed) in solved.motion.frames.iter().enumerate() {
        let local = |pose: &WorldPose| {
            let why = || FigureError::Made { what: "pose", why: "it is of another skeleton".into() };
            skeleton.local_transforms(pose).ok_or_else(why)
        };
        let (local, rest) = (local(&posed.pose)?, local(&skeleton.pose().world())?);
        for (bone, wanted) in skeleton.bones().zip(turns(frame)) {
            let found = quat_from_matrix(&(rest[bone].matrix3.transpose() * local[bone].matrix3));
            let off = found.angle_between(DQuat::from_scaled_axis(wanted)).to_degrees();
            sum += off * off;
            worst = worst.max(off);
            if bone.get() == 1 {
                let t = frame as f64 / RATE;
                lines[0].push([t, found.to_scaled_axis().z.to_degrees()]);
                lines[1].push([t, wanted.z.to_degrees()]);
            }
        }
    }
    let rms = (sum / (skeleton.len() * FRAMES) as f64).sqrt();
    let gap = solved.troubles.iter().filter(|trouble| matches!(trouble.kind, TroubleKind::Gap(_))).count();
    let [found, wanted] = lines;
    let chart = LineChart {
        label: "the elbow over time".into(),
        across: "seconds".into(),
        up: "angle, degrees".into(),
        series: vec![
            Series { name: "from markers".into(), points: found, ..Series::default() },
            Series { name: "as the arm moved".into(), points: wanted, dashed: true, ..Series::default() },
        ],
        marks: vec![(GAP.start as f64 / RATE, "a marker is gone".into())],
        ..LineChart::default()
    };
    Ok(Figure {
        name: "Motion capture".into(),
        title: "from markers to joint angles".into(),
        paper: "Cameras see markers on a performer, and the program finds the angles of the joints. Style and subtleties come for free; somebody has \
                to perform them."
            .into(),
        ours: format!(
            "An arm of three bones with {MARKERS} markers on each, whose angles are known. Its markers are seen with a noise of {:.0} mm per \
             coordinate, and one is not seen for {} frames. dermis markers TAKE RIG --marker-set SET -o MOTION does it for a take.",
            1e3 * NOISE,
            GAP.len()
        ),
        outcome: Verdict::Differs("no performer and no cameras: the markers of a known motion, with noise, take their place".into()),
        measured: vec![
            Measured::claimed(
                "rms error of a joint's rotation, degrees",
                format!("{rms:.2}"),
                "at most 1: a millimetre of noise on a lever of a few centimetres",
                rms < 1.0,
            ),
            Measured::plain("largest error of a rotation, degrees", format!("{worst:.2}")),
            Measured::claimed("gaps that are reported", gap.to_string(), "1", gap == 1),
        ],
        exhibits: vec![Exhibit::Drawings(vec![CaptionedDrawing {
            drawing: Drawing::Svg(chart.to_svg()),
            caption: "The elbow".into(),
            legend: chart.legend(),
        }])],
    })
}

/// Markers around every bone, along its whole length.
fn markers(skeleton: &Skeleton, random: &mut Random) -> MarkerSet {
    let mut markers = Vec::new();
    for bone in skeleton.bones() {
        for number in 0..MARKERS {
            let along = 0.2 * (number as f64 + 0.5) / MARKERS as f64;
            let angle = std::f64::consts::TAU * random.unit();
            let at = DVec3::new(HEADS[bone.get()] + along, 0.06 * angle.cos(), 0.06 * angle.sin());
            markers.push(Marker { name: format!("{} {number}", skeleton.names()[bone]), bone, at, weight: 1.0 });
        }
    }
    MarkerSet { markers }
}

/// What cameras see of the planted motion.
fn take(skeleton: &Skeleton, set: &MarkerSet, random: &mut Random) -> Take {
    let hidden = MARKERS + 2;
    let frame = |frame: usize| {
        let mut posed = skeleton.pose();
        for (bone, turn) in skeleton.bones().zip(turns(frame)) {
            posed.turn(bone, DQuat::from_scaled_axis(turn));
        }
        let moved = posed.transforms().moved(DAffine3::from_translation(DVec3::Y));
        let mut noise = || NOISE * (12f64).sqrt() * (random.unit() - 0.5);
        let seen = |(at, marker): (usize, &Marker)| {
            let place = moved[marker.bone].transform_point3(marker.at) + DVec3::new(noise(), noise(), noise());
            (at != hidden || !GAP.contains(&frame)).then_some(place)
        };
        set.markers.iter().enumerate().map(seen).collect()
    };
    let names = set.markers.iter().map(|marker| marker.name.clone()).collect();
    Take { names, rate: RATE, frames: (0..FRAMES).map(frame).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_angles_come_back_from_noisy_markers() {
        let figure = figure().unwrap();
        assert!(figure.measured.iter().all(|m| m.holds != Some(false)), "{:?}", figure.measured);
    }
}
