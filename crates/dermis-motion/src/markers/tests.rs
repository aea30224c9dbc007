//! Planted markers: noise, gaps, swaps, outliers; the bound of Cramér and Rao from differences of positions.

use super::*;
use crate::markers::solve::solve;
use dermis_rig::glam::{DAffine3, DQuat};
use dermis_rig::rotation::{quat_from_matrix, rotation_vector};
use dermis_rig::{Skeleton, silent};
use dermis_solve::Random;
use dermis_solve::faer::linalg::solvers::DenseSolveCore;
use dermis_solve::faer::{Mat, Side};

/// A hip with a trunk of two bones and two legs of two, all in their own axes.
fn skeleton() -> Skeleton {
    let bones = [
        ("hips", None, DVec3::new(0.0, 1.0, 0.0)),
        ("chest", Some(0), DVec3::new(0.0, 1.2, 0.0)),
        ("head", Some(1), DVec3::new(0.0, 1.6, 0.02)),
        ("thigh.L", Some(0), DVec3::new(0.1, 0.95, 0.0)),
        ("shin.L", Some(3), DVec3::new(0.1, 0.5, 0.02)),
        ("thigh.R", Some(0), DVec3::new(-0.1, 0.95, 0.0)),
        ("shin.R", Some(5), DVec3::new(-0.1, 0.5, 0.02)),
    ];
    let bind =
        |(at, head): (usize, DVec3)| DAffine3::from_rotation_translation(DQuat::from_rotation_x(0.7 * at as f64), head);
    Skeleton::new(
        bones.iter().map(|(name, ..)| (*name).into()).collect(),
        bones.iter().map(|(_, parent, _)| parent.map(BoneIndex::new)).collect(),
        bones.iter().enumerate().map(|(at, (.., head))| bind((at, *head))).collect(),
    )
    .unwrap()
}

/// Five markers around every bone.
fn set(skeleton: &Skeleton) -> MarkerSet {
    let mut random = Random::seeded(11);
    let mut markers = Vec::new();
    for bone in skeleton.bones() {
        for number in 0..5 {
            let mut part = || 0.3 * (random.unit() - 0.5);
            let at = skeleton.bind()[bone].translation + DVec3::new(part(), part(), part());
            markers.push(Marker { name: format!("{}{number}", skeleton.names()[bone]), bone, at, weight: 1.0 });
        }
    }
    MarkerSet { markers }
}

/// Turns since rest of every joint, smooth in time.
fn turns(frame: usize, bones: usize) -> Vec<DVec3> {
    let t = frame as f64 / 60.0;
    (0..bones)
        .map(|bone| {
            let phase = 0.7 * bone as f64;
            DVec3::new((2.0 * t + phase).sin(), 0.4 * (3.0 * t + phase).cos(), 0.3 * (1.5 * t - phase).sin())
        })
        .collect()
}

/// Where markers are if joints turn so and the root moves by `by`: by the skeleton's own forward kinematics.
fn places(skeleton: &Skeleton, set: &MarkerSet, turns: &[DVec3], by: DVec3) -> Vec<DVec3> {
    let mut posed = skeleton.pose();
    for (bone, turn) in skeleton.bones().zip(turns) {
        posed.turn(bone, DQuat::from_scaled_axis(*turn));
    }
    let moved = posed.transforms().moved(DAffine3::from_translation(by));
    set.markers.iter().map(|marker| moved[marker.bone].transform_point3(marker.at)).collect()
}

fn planted(skeleton: &Skeleton, set: &MarkerSet, frames: usize) -> Take {
    let frame = |at: usize| {
        let by = DVec3::new(0.3 * (at as f64 / 60.0), 0.05, -0.2);
        places(skeleton, set, &turns(at, skeleton.len()), by).into_iter().map(Some).collect()
    };
    let names = set.markers.iter().map(|marker| marker.name.clone()).collect();
    Take { names, rate: 60.0, frames: (0..frames).map(frame).collect() }
}

/// A normal deviate, by Box and Muller.
fn normal(random: &mut Random) -> f64 {
    let (u, v): (f64, f64) = (random.unit().max(1e-300), random.unit());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Joint rotations of a pose since rest, as rotation vectors.
fn found_turns(skeleton: &Skeleton, solved: &Solved, frame: usize) -> Vec<DQuat> {
    let local = skeleton.local_transforms(&solved.motion.frames[frame].pose).unwrap();
    let rest = skeleton.pose();
    let rest = skeleton.local_transforms(&rest.world()).unwrap();
    skeleton.bones().map(|bone| quat_from_matrix(&(rest[bone].matrix3.transpose() * local[bone].matrix3))).collect()
}

#[test]
fn without_noise_the_planted_pose_comes_back() {
    let skeleton = skeleton();
    let set = set(&skeleton);
    let take = planted(&skeleton, &set, 20);
    let solved = solve(&skeleton, &set, &take, &MarkerSettings::default(), &silent).unwrap();
    assert!(solved.troubles.is_empty(), "{:?}", solved.troubles);
    // The prior of the frame before pulls by (σ / (τ Δt · arm))² ≈ 1e-4 of a frame's turn of 0.05.
    assert!(solved.rms < 1e-5, "{}", solved.rms);
    let wanted = turns(19, skeleton.len());
    for (found, wanted) in found_turns(&skeleton, &solved, 19).iter().zip(&wanted) {
        assert!(rotation_vector(DQuat::from_scaled_axis(*wanted).conjugate() * *found).length() < 1e-4);
    }
}

/// The bound: the inverse of JᵀJ / σ², J by central differences of [`places`], for the markers that are seen. No unbiased estimate has a smaller
/// covariance; least squares come near it, and the prior may go a little below.
#[test]
fn angles_reach_the_bound_of_cramer_and_rao_with_and_without_gaps() {
    let skeleton = skeleton();
    let set = set(&skeleton);
    const FRAMES: usize = 120;
    const NOISE: f64 = 1e-3;
    for dropped in [0.0, 0.2] {
        let mut random = Random::seeded(5);
        let mut take = planted(&skeleton, &set, FRAMES);
        for place in take.frames.iter_mut().flatten() {
            let noise = DVec3::new(normal(&mut random), normal(&mut random), normal(&mut random)) * NOISE;
            *place = if random.unit() < dropped { None } else { place.map(|place| place + noise) };
        }
        let solved = solve(&skeleton, &set, &take, &MarkerSettings::default(), &silent).unwrap();
        let (mut error, mut bound) = (0.0, 0.0);
        for frame in 0..FRAMES {
            let truth = turns(frame, skeleton.len());
            let count = 3 * skeleton.len() + 3;
            let at = |unknown: usize, step: f64| {
                let mut turned: Vec<DVec3> = truth.clone();
                let mut by = DVec3::ZERO;
                if unknown < count - 3 {
                    // A small turn after the planted one, in the joint's own axes.
                    let small = DQuat::from_scaled_axis(DVec3::AXES[unknown % 3] * step);
                    let turn = DQuat::from_scaled_axis(truth[unknown / 3]) * small;
                    turned[unknown / 3] = turn.to_scaled_axis();
                } else {
                    by[unknown + 3 - count] = step;
                }
                places(&skeleton, &set, &turned, by)
            };
            let mut information = Mat::<f64>::zeros(count, count);
            let columns: Vec<Vec<DVec3>> = (0..count)
                .map(|unknown| at(unknown, 1e-5).iter().zip(at(unknown, -1e-5)).map(|(a, b)| (*a - b) / 2e-5).collect())
                .collect();
            for (marker, _) in take.frames[frame].iter().enumerate().filter(|(_, place)| place.is_some()) {
                for i in 0..count {
                    for j in 0..count {
                        information[(i, j)] += columns[i][marker].dot(columns[j][marker]) / NOISE.powi(2);
                    }
                }
            }
            let covariance = information.llt(Side::Lower).unwrap().inverse();
            bound += (0..count - 3).map(|i| covariance[(i, i)]).sum::<f64>();
            let found = found_turns(&skeleton, &solved, frame);
            error += (found.iter().zip(&truth))
                .map(|(found, truth)| {
                    rotation_vector(DQuat::from_scaled_axis(*truth).conjugate() * *found).length_squared()
                })
                .sum::<f64>();
        }
        let ratio = (error / bound).sqrt();
        assert!(ratio < 1.2, "{dropped} dropped: {ratio} times the bound");
        assert!(ratio > 0.7, "{dropped} dropped: {ratio} times the bound is too good: the test is wrong");
        let expected = NOISE * 3.0_f64.sqrt();
        assert!(solved.rms < expected && solved.rms > 0.6 * expected, "{} for {expected}", solved.rms);
    }
}

#[test]
fn swapped_and_wrong_markers_are_named_and_mended() {
    let skeleton = skeleton();
    let set = set(&skeleton);
    let clean = planted(&skeleton, &set, 40);
    let mut take = clean.clone();
    let of = |name: &str| set.markers.iter().position(|marker| marker.name == name).unwrap();
    let (knee, other, head) = (of("shin.L1"), of("shin.R1"), of("head3"));
    (10..15).for_each(|frame| take.frames[frame].swap(knee, other));
    (20..23).for_each(|frame| take.frames[frame][head] = Some(DVec3::new(2.0, 0.1, 1.0)));
    let solved = solve(&skeleton, &set, &take, &MarkerSettings::default(), &silent).unwrap();
    let swapped = TroubleKind::Swapped("shin.L1".into(), "shin.R1".into());
    let expected = [
        Trouble { kind: swapped, from: 10, to: 14 },
        Trouble { kind: TroubleKind::Wrong("head3".into()), from: 20, to: 22 },
    ];
    assert_eq!(solved.troubles, expected);
    assert!(solved.rms < 1e-5, "{}", solved.rms);
    assert_eq!(solved.markers[head].used, 37);
}

/// All markers of a shin vanish for half a second: what it did is taken over from both sides, and the gaps are named.
#[test]
fn a_gap_is_filled_from_both_sides() {
    let skeleton = skeleton();
    let set = set(&skeleton);
    let mut take = planted(&skeleton, &set, 60);
    let gone: Vec<usize> = (0..set.markers.len()).filter(|m| set.markers[*m].name.starts_with("shin.L")).collect();
    for frame in 20..40 {
        gone.iter().for_each(|marker| take.frames[frame][*marker] = None);
    }
    let solved = solve(&skeleton, &set, &take, &MarkerSettings::default(), &silent).unwrap();
    assert_eq!(solved.troubles.len(), 5);
    assert!(solved.troubles.iter().all(|t| (t.from, t.to) == (20, 39) && matches!(t.kind, TroubleKind::Gap(_))));
    for frame in 0..60 {
        let truth = DQuat::from_scaled_axis(turns(frame, skeleton.len())[4]);
        let apart = rotation_vector(truth.conjugate() * found_turns(&skeleton, &solved, frame)[4]).length();
        // The joint turns at up to 2 rad/s² on a sphere of a radian: a third of a second of slerp misses by 2 (1/6)² / 2 and the bend of the path.
        assert!(apart < if (20..40).contains(&frame) { 0.12 } else { 1e-3 }, "{frame}: {apart}");
    }
}

#[test]
fn a_still_subject_tells_where_markers_sit() {
    let skeleton = skeleton();
    let set = set(&skeleton);
    let turn = DAffine3::from_rotation_translation(DQuat::from_rotation_y(2.0), DVec3::new(1.0, 0.02, -3.0));
    let take = Take {
        names: set.markers.iter().map(|marker| marker.name.clone()).collect(),
        rate: 60.0,
        frames: vec![set.markers.iter().map(|marker| Some(turn.transform_point3(marker.at))).collect(); 3],
    };
    let bones: Vec<(String, BoneIndex)> = set.markers.iter().map(|marker| (marker.name.clone(), marker.bone)).collect();
    let found = calibrate(&skeleton, &bones, &take).unwrap();
    // Markers lie around their bones by chance, so heads tell the placement as well as their mean does: centimetres.
    let worst = found.markers.iter().zip(&set.markers).map(|(a, b)| a.at.distance(b.at)).fold(0.0, f64::max);
    assert!(worst < 0.08, "{worst}");
    let shape = |set: &MarkerSet| set.markers[0].at.distance(set.markers[20].at);
    assert!((shape(&found) - shape(&set)).abs() < 1e-12, "the placement is rigid");
}

#[test]
fn what_cannot_be_solved_is_named() {
    let skeleton = skeleton();
    let set = set(&skeleton);
    let take = planted(&skeleton, &set, 2);
    let why = |set: &MarkerSet, take: &Take, settings: &MarkerSettings| {
        solve(&skeleton, set, take, settings, &silent).unwrap_err().to_string()
    };
    let plain = MarkerSettings::default();
    let strange = Take { names: take.names.iter().map(|name| format!("x{name}")).collect(), ..take.clone() };
    assert!(
        why(&set, &strange, &plain)
            .starts_with("0 of the 35 markers of the set are in the take, but 3 are needed; the take has xhips0")
    );
    let mut broken = take.clone();
    broken.frames[1][3] = Some(DVec3::NAN);
    assert_eq!(why(&set, &broken, &plain), "frame 1 has 34 usable places for 35 markers");
    let dark = Take { frames: vec![vec![None; 35]; 2], ..take.clone() };
    assert_eq!(why(&set, &dark, &plain), "no frame shows three markers of the set at once");
    assert_eq!(why(&set, &take, &MarkerSettings { noise: 0.0, ..plain }), "the noise is 0: it must be positive");
}
