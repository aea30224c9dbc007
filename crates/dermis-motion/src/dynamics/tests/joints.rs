//! Springs, limits, and where bodies begin and end.

use super::*;
use crate::dynamics_spec::SpringSpec;
use crate::goals::LimitSpec;
use crate::ik::JointLimits;
use dermis_rig::rotation::quat_from_matrix;

const SIZE: DVec3 = DVec3::new(0.05, 0.4, 0.05);

/// Closed form: without gravity a spring of f Hz swings a bar f times a second; damped by a ratio it dies as exp(−2π f r t).
#[test]
fn a_spring_swings_at_its_frequency() {
    let spring = Some(SpringSpec { hertz: 2.0, ratio: 0.0 });
    let spec = BodySpec { spring, gravity: 0.0, ..body(&["bar 0"]) };
    let rig = bars(1, SIZE, 0.0);
    // The animation jumps by 20° between two steps.
    let jump = drive("bar 0", text("20 * (t > 0.25)"), still());
    let scene = scene(2.25, 480.0, vec![jump], dynamics(vec![spec]));
    let angles: Vec<f64> = of_bone(&play(&scene, &rig).unwrap(), 1).iter().map(angle).collect();
    let tops: Vec<usize> =
        (121..angles.len() - 1).filter(|&i| angles[i] > angles[i - 1] && angles[i] >= angles[i + 1]).collect();
    let period = (tops[tops.len() - 1] - tops[0]) as f64 / 480.0 / (tops.len() - 1) as f64;
    // The spring is implicit: its frequency falls by (ωh)²/... and it is damped by ωh/2 per radian.
    assert!((period - 0.5).abs() < 5e-3, "{period}");
}

/// The stronger springs are, the nearer the bodies are to the animation: as 1/f², since gravity's moment is met by k θ.
#[test]
fn strong_springs_follow_the_animation() {
    let rig = bars(3, SIZE, 0.0);
    let far = |hertz: f64| {
        let spec = BodySpec { spring: Some(SpringSpec { hertz, ratio: 1.0 }), ..body(&["bar *"]) };
        let drives = vec![
            drive("root", text("30 * sin(2 * t)"), [text("0.2 * sin(3 * t)"), Value::Number(0.0), Value::Number(0.0)]),
            drive("bar *", text("25 * sin(3 * t + i)"), still()),
        ];
        let scene = scene(3.0, 24.0, drives, dynamics(vec![spec]));
        let played = play(&scene, &rig).unwrap();
        let mut still = scene.clone();
        still.dynamics = None;
        let animated = Player::new(&still, rig.skeleton(), &[], &[]).unwrap().play(&silent).unwrap();
        let mut most = 0f64;
        for bone in 1..4 {
            for (a, b) in of_bone(&played, bone).iter().zip(of_bone(&animated, bone)) {
                most = most.max(quat_from_matrix(&a.matrix3).angle_between(quat_from_matrix(&b.matrix3)));
            }
        }
        most.to_degrees()
    };
    let [soft, middle, strong] = [2.0, 10.0, 40.0].map(far);
    println!("{soft}° {middle}° {strong}°");
    assert!(strong < 0.3 && strong < 0.15 * middle && middle < 0.2 * soft, "{soft} {middle} {strong}");
}

/// The rotation of a joint from its rest; all bones lie along the axes of the world at rest.
fn joint(played: &Played, bone: usize) -> Vec<dermis_rig::glam::DQuat> {
    let pairs = of_bone(played, bone - 1).into_iter().zip(of_bone(played, bone));
    pairs.map(|(above, own)| quat_from_matrix(&(above.matrix3.transpose() * own.matrix3))).collect()
}

/// Three bars that are thrown about between cones and a hinge: no joint is ever beyond its limits by more than rounding.
#[test]
fn joints_stay_within_their_limits() {
    let rig = bars(3, SIZE, 0.0);
    let cone = JointLimits::round_cone(DVec3::NEG_Y, 0.6, [-0.3, 0.3]).unwrap();
    let hinge = JointLimits::hinge(DVec3::Z, [-0.1, 1.2]).unwrap();
    let slim = JointLimits::cone(DVec3::NEG_Y, DVec3::X, [[-0.2, 1.0], [-0.5, 0.1]], [-0.1, 0.4]).unwrap();
    let limits = [cone, hinge, slim];
    let spec = body(&["bar *"]);
    let shift = [text("0.3 * sin(9 * t)"), text("0.1 * sin(14 * t)"), text("0.3 * cos(7 * t) - 0.3")];
    let mut scene = scene(10.0, 480.0, vec![drive("root", text("50 * sin(5 * t)"), shift)], dynamics(vec![spec]));
    scene.limits = (limits.iter().enumerate())
        .map(|(bar, limits)| LimitSpec { bones: format!("bar {bar}"), limits: limits.clone() })
        .collect();
    let played = play(&scene, &rig).unwrap();
    let mut at_limit = 0;
    for (bar, limits) in limits.iter().enumerate() {
        let turns = joint(&played, bar + 1);
        let most = turns.iter().map(|q| limits.excess(*q)).fold(0.0, f64::max).to_degrees();
        let frames = turns
            .iter()
            .filter(|q| limits.excess(**q * dermis_rig::glam::DQuat::from_scaled_axis(DVec3::splat(0.02))) > 0.0)
            .count();
        at_limit += frames;
        println!("bar {bar}: {most}° beyond, {frames} frames");
        assert!(most < 1e-6, "bar {bar}: {most}°");
    }
    assert!(at_limit > 100, "the limits are met: {at_limit}");
}

/// Position and velocity go on where the animation leaves them, and the weight leads back to it.
#[test]
fn bodies_begin_and_end_in_the_animation() {
    let rig = bars(2, SIZE, 0.0);
    let weight = text("(t >= 1) * (1 - smoothstep(2, 2.5, t))");
    let spec = BodySpec { weight, ..body(&["bar *"]) };
    let drives = vec![drive("root", text("40 * t"), still()), drive("bar *", text("30 * sin(4 * t)"), still())];
    let rate = 480.0;
    let scene = scene(3.0, rate, drives, dynamics(vec![spec]));
    let played = play(&scene, &rig).unwrap();
    let mut still = scene.clone();
    still.dynamics = None;
    let animated = Player::new(&still, rig.skeleton(), &[], &[]).unwrap().play(&silent).unwrap();
    for bone in 1..3 {
        let (moved, animated) = (of_bone(&played, bone), of_bone(&animated, bone));
        let tip = |world: &DAffine3| world.transform_point3(-DVec3::Y * SIZE.y);
        let moves: Vec<DVec3> = moved.iter().map(tip).collect();
        for frame in (0..=480).chain(1200..moved.len()) {
            assert!(moved[frame].abs_diff_eq(animated[frame], 1e-12), "{frame}");
        }
        assert!(moves[900].distance(tip(&animated[900])) > 0.01, "in between they differ");
        // Velocities before, at and after the start: gravity and the animation's own change within a step.
        let velocity = |frame: usize| (moves[frame + 1] - moves[frame]) * rate;
        let jump = velocity(480).distance(velocity(479));
        assert!(jump < 0.08, "{jump} m/s");
        let farthest = moves.windows(2).map(|two| two[0].distance(two[1])).fold(0.0, f64::max);
        assert!(farthest < 0.03, "no frame jumps: {farthest}");
    }
}

/// The same bits twice, whatever the rate of the frames, with one thread and with two at once.
#[test]
fn the_same_bits_on_every_run_and_at_every_rate() {
    let rig = bars(3, SIZE, 0.4);
    let spec = BodySpec { damping: 0.5, ..body(&["bar *"]) };
    let at = |rate: f64| {
        let drives = vec![drive("root", text("60 * sin(3 * t)"), still())];
        let spec = DynamicsSpec { ground: Some(-0.6), ..dynamics(vec![spec.clone()]) };
        play(&scene(3.0, rate, drives, spec), &rig).unwrap().motion
    };
    let bits = |motion: &dermis_rig::Motion, every: usize| -> Vec<u64> {
        let frames = motion.frames.iter().step_by(every);
        frames
            .flat_map(|f| f.pose.bones.iter().flat_map(|b| b.to_cols_array()).collect::<Vec<_>>())
            .map(f64::to_bits)
            .collect()
    };
    let once = at(24.0);
    let (twice, beside) = std::thread::scope(|scope| {
        let (a, b) = (scope.spawn(|| at(24.0)), scope.spawn(|| at(48.0)));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!(bits(&once, 1), bits(&twice, 1));
    assert_eq!(bits(&once, 1), bits(&beside, 2));
}
