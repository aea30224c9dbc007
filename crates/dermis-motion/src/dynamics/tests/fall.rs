//! Bodies that fall, bounce, and are blown away.

use super::*;
use crate::dynamics::{Contact, LEAST_BOUNCE};
use crate::dynamics_spec::{AirSpec, SpringSpec, SquashSpec};

const CUBE: DVec3 = DVec3::new(0.3, 0.3, 0.3);

fn falls(spec: BodySpec) -> BodySpec {
    BodySpec { free: true, ..spec }
}

/// The heights of the middle of a cube that stands on a corner and is let go with that at a height.
fn heights(spec: DynamicsSpec, height: f64, seconds: f64, rate: f64) -> Vec<f64> {
    let mut rig = bars(1, CUBE, height + CUBE.y);
    // On a corner, half its diagonal below the middle.
    let middle = DVec3::Y * (height + 0.5 * CUBE.y);
    let turn = dermis_rig::glam::DQuat::from_rotation_arc(DVec3::ONE.normalize(), DVec3::Y);
    let (low, deep) = (0.5 * CUBE.y, 0.5 * CUBE.length());
    dermis_testkit::change_rig(&mut rig, |mesh, _, _| {
        mesh.positions.iter_mut().for_each(|p| *p = middle + turn * (*p - middle) * (low / deep));
    });
    let scene = scene(seconds, rate, vec![], spec);
    let worlds = of_bone(&play(&scene, &rig).unwrap(), 1);
    worlds.iter().map(|world| world.transform_point3(-DVec3::Y * 0.5 * CUBE.y).y).collect()
}

/// Closed form: a parabola, from a throw as the animation has it.
#[test]
fn what_is_thrown_goes_along_a_parabola() {
    let rig = bars(1, CUBE, 0.0);
    let weight = text("t >= 0.5");
    let spec = BodySpec { weight, ..falls(body(&["bar 0"])) };
    let shift = [text("2 * t"), text("3 * t"), Value::Number(0.0)];
    let scene = scene(2.0, 48.0, vec![drive("bar 0", text("40 * t"), shift)], dynamics(vec![spec]));
    let worlds = of_bone(&play(&scene, &rig).unwrap(), 1);
    for (frame, world) in worlds.iter().enumerate() {
        let t = frame as f64 / 48.0;
        let fallen = (t - 0.5).max(0.0);
        // Until 0.5 s the animation, whose head moves along a line; then its middle does, with the velocity that it had.
        let middle =
            |t: f64, turn: f64| DVec3::new(2.0 * t, 3.0 * t, 0.0) + DMat3::from_rotation_z(turn) * (-DVec3::Y * 0.15);
        let turn = f64::to_radians(40.0);
        let at = middle(0.5, 0.5 * turn);
        let spin = DVec3::Z.cross(at - DVec3::new(1.0, 1.5, 0.0)) * turn;
        let expected = match t <= 0.5 {
            true => middle(t, t * turn),
            false => at + (DVec3::new(2.0, 3.0, 0.0) + spin) * fallen - DVec3::Y * (0.5 * GRAVITY * fallen * fallen),
        };
        let found = world.transform_point3(-DVec3::Y * 0.15);
        // Velocities come from the animation's next step, 2 ms later.
        assert!(found.distance(expected) < 2e-3, "{t} s: {found} for {expected}");
        assert!((angle(world) - t * turn).abs() < 1e-6, "{t} s");
        assert!(is_rotation(&world.matrix3));
    }
}

/// The highest points after each bounce.
fn tops(heights: &[f64]) -> Vec<f64> {
    heights.windows(3).filter(|h| h[1] > h[0] && h[1] >= h[2]).map(|h| h[1]).collect()
}

/// Closed form: a ball that leaves with e of its speed rises to e² of its height.
#[test]
fn bounces_rise_to_the_square_of_the_restitution() {
    for bounce in [0.9, 0.7, 0.5] {
        let spec = DynamicsSpec { ground: Some(0.0), ..dynamics(vec![BodySpec { bounce, ..falls(body(&["bar 0"])) }]) };
        let heights = heights(spec, 1.0, 2.0, 480.0);
        let tops: Vec<f64> = tops(&heights).into_iter().map(|top| top - 0.15).take(2).collect();
        println!("{bounce}: {tops:?}");
        let mut expected = 1.0;
        for (bounces, top) in tops.iter().enumerate() {
            expected *= bounce * bounce;
            // A bounce happens up to a step early, where a step of gravity, 0.02 of 4.4 m/s, is missing; twice in a square, and as much
            // again for the way up.
            let tolerance = 0.025 * (bounces + 1) as f64;
            assert!((top / expected - 1.0).abs() < tolerance, "{bounce}: {top} for {expected}");
        }
        assert_eq!(tops.len(), 2);
        let lowest = heights.iter().fold(f64::MAX, |low, h| low.min(*h)) - 0.15;
        assert!(lowest > -2e-3, "{lowest}");
    }
}

/// Oracle: the equation of a spring and a damper, by small steps.
#[test]
fn a_soft_contact_takes_its_time_and_gives_its_part() {
    for (seconds, bounce) in [(0.1, 1.0), (0.05, 0.8), (0.2, 0.3), (0.1, LEAST_BOUNCE)] {
        let contact = Contact::new(seconds, bounce);
        let (mut depth, mut rises, mut t) = (1e-12, -2.0, 0.0);
        let h = 1e-6;
        while depth > 0.0 && t < 1.0 {
            let force = contact.force(1.0, depth, rises);
            if force <= 0.0 && t > 1e-3 {
                break;
            }
            rises += h * force;
            depth -= h * rises;
            t += h;
        }
        assert!((t - seconds).abs() < 2e-4 * seconds + 2e-5, "{t} for {seconds}");
        assert!((rises / (2.0 * bounce) - 1.0).abs() < 2e-3, "{rises} for {bounce}");
    }
}

/// A soft body bounces as a hard one, keeps its volume, and its lowest point stays above the ground.
#[test]
fn a_soft_body_keeps_its_volume_and_stays_above_the_ground() {
    let bounce = 0.8;
    let squash = Some(SquashSpec { seconds: 0.08, stretch: 0.03 });
    let spec = BodySpec { bounce, squash, ..falls(body(&["bar 0"])) };
    let rig = bars(1, CUBE, 1.0 + CUBE.y);
    let spec = DynamicsSpec { ground: Some(0.0), rate: 960.0, ..dynamics(vec![spec]) };
    let scene = scene(2.0, 480.0, vec![], spec);
    let worlds = of_bone(&play(&scene, &rig).unwrap(), 1);
    let (mut flattest, mut longest) = (f64::MAX, 0f64);
    for world in &worlds {
        assert!((world.matrix3.determinant() - 1.0).abs() < 1e-9);
        let lowest = rig.mesh().positions.iter().map(|p| world.transform_point3(*p - DVec3::Y * (1.0 + CUBE.y)).y);
        let lowest = lowest.fold(f64::MAX, f64::min);
        assert!(lowest > -1e-9, "{lowest}");
        flattest = flattest.min(world.matrix3.y_axis.length());
        longest = longest.max(world.matrix3.y_axis.length());
    }
    assert!(flattest < 0.8 && longest > 1.1, "{flattest} {longest}");
    let middles: Vec<f64> = worlds.iter().map(|world| world.transform_point3(-DVec3::Y * 0.15).y).collect();
    let tops = tops(&middles);
    // Gravity works on in the contact, over the depth of it.
    assert!((tops[0] - 0.15 - bounce * bounce).abs() < 0.04, "{tops:?}");
}

/// Closed form: the drag of a falling body is its weight at √(2 m g/(ρ c A)); a cube shows a quarter of its surface.
#[test]
fn air_limits_the_speed_of_what_falls() {
    let spec = falls(BodySpec { density: 2.0, ..body(&["bar 0"]) });
    let air = Some(AirSpec { wind: [text("1"), text("0"), text("0")], density: 1.2, drag: 1.0 });
    let rig = bars(1, CUBE, 0.0);
    let scene = scene(6.0, 24.0, vec![], DynamicsSpec { air, ..dynamics(vec![spec]) });
    let worlds = of_bone(&play(&scene, &rig).unwrap(), 1);
    let [a, b] = [worlds.len() - 2, worlds.len() - 1].map(|frame| worlds[frame].translation);
    let velocity = (b - a) * 24.0;
    let area = 6.0 * 0.09 / 4.0;
    let speed = (2.0 * 2.0 * 0.027 * GRAVITY / (1.2 * area)).sqrt();
    assert!((-velocity.y / speed - 1.0).abs() < 1e-3, "{velocity} for {speed}");
    assert!((velocity.x - 1.0).abs() < 1e-3, "it goes with the wind: {velocity}");
}

/// What was pushed comes to rest: Coulomb's friction takes the way v²/(2 μ g).
#[test]
fn a_sliding_body_stops_after_its_way() {
    let spec = BodySpec { weight: text("t >= 0.1"), friction: 0.5, ..falls(body(&["bar 0"])) };
    let rig = bars(1, DVec3::new(0.6, 0.1, 0.6), 0.1);
    let shift = [text("2 * t"), Value::Number(0.0), Value::Number(0.0)];
    let drives = vec![drive("bar 0", Value::Number(0.0), shift)];
    let scene = scene(2.0, 24.0, drives, DynamicsSpec { ground: Some(0.0), ..dynamics(vec![spec]) });
    let worlds = of_bone(&play(&scene, &rig).unwrap(), 1);
    let way = worlds[worlds.len() - 1].translation.x - 0.2;
    let expected = 4.0 / (2.0 * 0.5 * GRAVITY);
    println!("{way} for {expected}");
    assert!((way / expected - 1.0).abs() < 0.03, "{way} for {expected}");
}

/// A heap comes to rest; bodies that a spring pulls to an animation that goes on do not.
#[test]
fn a_heap_of_bars_comes_to_rest() {
    let rig = bars(4, DVec3::new(0.1, 0.3, 0.1), 1.5);
    let shift = [text("0.5 * t"), Value::Number(0.0), Value::Number(0.0)];
    let wags = drive("bar 2", text("30 * sin(6 * t)"), still());
    let drives = || vec![drive("bar 0", text("30 + 40 * t"), shift.clone()), wags.clone()];
    let names = ["bar 0", "bar 1", "bar 2", "bar 3"];
    let rests = |spring: Option<SpringSpec>| {
        let bar = |name: &str, free: bool| BodySpec {
            free,
            damping: 5.0,
            spring,
            limits: LimitChoice::Anatomy,
            ..body(&[name])
        };
        let each = names.iter().enumerate().map(|(at, name)| bar(name, at == 0)).collect();
        let spec = DynamicsSpec { ground: Some(0.0), ..dynamics(each) };
        let played = play(&scene(6.0, 24.0, drives(), spec), &rig).unwrap();
        let of = |frame: usize| (1..=4).map(|bone| of_bone(&played, bone)[frame]).collect::<Vec<_>>();
        let last = played.motion.frames.len() - 1;
        assert!(of(last).iter().all(|world| world.translation.y < 0.5), "{:?}", of(last));
        of(last).iter().zip(of(last - 24)).all(|(a, b)| a.abs_diff_eq(b, 1e-12))
    };
    assert!(rests(None));
    assert!(!rests(Some(SpringSpec { hertz: 5.0, ratio: 0.5 })));
}

/// Closed form: a pole that leans by φ topples as φ'' = 3g/(2l) sin φ, however slowly it begins.
#[test]
fn a_pole_that_hardly_leans_topples() {
    let (length, lean) = (1.0, 2.5f64.to_radians());
    let rig = bars(1, DVec3::new(0.02, length, 0.02), length);
    // A pole whose foot is 2 cm wide leaves the upright at 1.15 degrees.
    let drives = vec![drive("bar 0", Value::Number(lean.to_degrees()), still())];
    let spec = BodySpec { friction: 10.0, ..falls(body(&["bar 0"])) };
    let worlds = of_bone(
        &play(&scene(3.0, 24.0, drives, DynamicsSpec { ground: Some(0.0), ..dynamics(vec![spec]) }), &rig).unwrap(),
        1,
    );
    let last = worlds[worlds.len() - 1];
    assert!(angle(&last).abs() > 1.4, "{}", angle(&last));
}
