//! What a scene may say wrongly, and what comes of it.

use super::*;
use crate::dynamics_spec::{SpringSpec, SquashSpec};

const SIZE: DVec3 = DVec3::new(0.05, 0.4, 0.05);

fn says(change: impl FnOnce(&mut DynamicsSpec)) -> String {
    let rig = bars(3, SIZE, 2.0);
    let mut spec = dynamics(vec![body(&["bar *"])]);
    change(&mut spec);
    play(&scene(1.0, 24.0, vec![], spec), &rig).unwrap_err().to_string()
}

#[test]
fn numbers_out_of_range_are_told_by_key() {
    let of_body = |change: fn(&mut BodySpec)| says(|spec| change(&mut spec.bodies[0]));
    for (found, expected) in [
        (of_body(|b| b.density = -1.0), "dynamics.bodies[0].density: -1; a density in kg/m³ from 0.001 to 1000000"),
        (of_body(|b| b.density = 0.0), "dynamics.bodies[0].density: 0;"),
        (of_body(|b| b.density = f64::NAN), "dynamics.bodies[0].density: NaN;"),
        (of_body(|b| b.bounce = 1.5), "dynamics.bodies[0].bounce: 1.5; a part of the velocity from 0 to 1"),
        (of_body(|b| b.bones.clear()), "dynamics.bodies[0].bones: a bone at least"),
        (
            of_body(|b| b.bones = vec!["tail".into()]),
            "dynamics.bodies[0].bones[0]: the rig has no bone \"tail\"; it has \"root\"",
        ),
        (of_body(|b| b.except = vec!["tail".into()]), "dynamics.bodies[0].except[0]: the rig has no bone"),
        (of_body(|b| b.bones = vec!["root".into()]), "bones[0]: \"root\" moves 0 vertices; a body needs 4"),
        (of_body(|b| b.except = vec!["bar *".into()]), "none of \"bar *\" can be a body"),
        (of_body(|b| b.weight = text("1 / t")), "dynamics.bodies[0].weight: it is inf at 0 s"),
        (of_body(|b| b.weight = text("gust")), "dynamics.bodies[0].weight: nothing is called \"gust\""),
        (of_body(|b| b.spring = Some(SpringSpec { hertz: 0.0, ratio: 1.0 })), "bodies[0].spring.hertz: 0; a frequency"),
        (of_body(|b| b.squash = Some(SquashSpec { seconds: 0.001, stretch: 0.0 })), "squash.seconds: 0.001; a time"),
        (of_body(|b| b.squash = Some(SquashSpec { seconds: 0.1, stretch: 0.0 })), "squash.bounce: 0; of a soft body"),
        (says(|s| s.gravity.y = f64::NEG_INFINITY), "dynamics.gravity: -inf; an acceleration"),
        (says(|s| s.gravity.y = 1e9), "dynamics.gravity: 1000000000; an acceleration in m/s² from -1000 to 1000"),
        (says(|s| s.rate = 1.0), "dynamics.steps: 1; a number of steps per second from 60 to 20000"),
        (says(|s| s.rate = 1e12), "dynamics.steps: 1000000000000;"),
        (says(|s| s.ground = Some(f64::NAN)), "dynamics.ground: NaN;"),
        (says(|s| s.bodies.clear()), "dynamics.bodies: dynamics without bodies"),
        (
            says(|s| s.bodies.push(body(&["bar 1"]))),
            "dynamics.bodies[1].bones: \"bar 1\" is named by dynamics.bodies[0]",
        ),
    ] {
        assert!(found.contains(expected), "{found} for {expected}");
    }
}

#[test]
fn absurd_work_is_refused() {
    let rig = bars(3, SIZE, 2.0);
    let spec = DynamicsSpec { rate: 20_000.0, ..dynamics(vec![body(&["bar *"])]) };
    let says = play(&scene(3000.0, 24.0, vec![], spec), &rig).unwrap_err().to_string();
    assert!(says.contains("dynamics.steps: 60000000 steps in 3000 s; 5000000 are the most"), "{says}");
    let rig = bars(300, DVec3::splat(0.02), 2.0);
    let spec = DynamicsSpec { ..dynamics(vec![body(&["bar *"])]) };
    let says = play(&scene(100.0, 24.0, vec![], spec), &rig).unwrap_err().to_string();
    assert!(says.contains("dynamics.bodies: 300 bodies for 48000 steps are more work than is done"), "{says}");
    let rig = bars(401, DVec3::splat(0.02), 2.0);
    let says = play(&scene(0.1, 24.0, vec![], dynamics(vec![body(&["bar *"])])), &rig).unwrap_err().to_string();
    assert!(says.contains("401 bodies; 400 are the most"), "{says}");
}

#[test]
fn a_rig_without_skin_has_no_bodies() {
    let mut rig = bars(3, SIZE, 2.0);
    dermis_testkit::change_rig(&mut rig, |_, _, weights| *weights = None);
    let scene = scene(1.0, 24.0, vec![], dynamics(vec![body(&["bar *"])]));
    let says = play(&scene, &rig).unwrap_err().to_string();
    assert!(says.contains("dynamics: the rig has no skinning weights"), "{says}");
    let unprepared = Player::new(&scene, rig.skeleton(), &[], &[]).unwrap().play(&silent).unwrap_err().to_string();
    assert!(unprepared.contains("dynamics: the player has no bodies"), "{unprepared}");
    // All vertices of a bone in one place.
    let mut rig = bars(1, SIZE, 2.0);
    dermis_testkit::change_rig(&mut rig, |mesh, _, _| mesh.positions.fill(DVec3::ONE));
    let says = play(&scene, &rig).unwrap_err().to_string();
    assert!(says.contains("dynamics.bodies[0].bones: the skin of \"bar 0\" has no extent"), "{says}");
}

/// What flies apart ends with its bone and the time.
#[test]
fn an_unstable_simulation_is_told() {
    let rig = bars(2, SIZE, 0.0);
    let jumps = drive("root", text("170 * sin(1000 * t)"), [text("50 * sin(900 * t)"), text("0"), text("0")]);
    let spec = DynamicsSpec { rate: 60.0, ..dynamics(vec![body(&["bar *"])]) };
    let says = play(&scene(5.0, 24.0, vec![jumps], spec), &rig).unwrap_err().to_string();
    assert!(says.starts_with("dynamics: \"bar ") && says.contains("the simulation is not stable"), "{says}");
    let mut heavy = scene(40.0, 24.0, vec![], dynamics(vec![BodySpec { free: true, ..body(&["bar *"]) }]));
    heavy.dynamics.as_mut().unwrap().gravity *= 50.0;
    let says = play(&heavy, &rig).unwrap_err().to_string();
    assert!(says.contains("moves at 147") && says.contains("at 30.0"), "{says}");
    let squash = Some(SquashSpec { seconds: 1.5, stretch: 0.0 });
    let soft = BodySpec { free: true, squash, bounce: 0.9, ..body(&["bar 0"]) };
    let says = play(&scene(3.0, 24.0, vec![], DynamicsSpec { ground: Some(-3.0), ..dynamics(vec![soft]) }), &rig);
    let says = says.unwrap_err().to_string();
    assert!(says.contains("\"bar 0\" is squashed flat on the ground at"), "{says}");
}

/// Bodies that begin beyond their limits go back to them slowly, and none of them jumps.
#[test]
fn an_animation_beyond_the_limits_is_no_explosion() {
    use crate::goals::LimitSpec;
    use crate::ik::JointLimits;
    let rig = bars(3, SIZE, 0.0);
    let limits = JointLimits::round_cone(DVec3::NEG_Y, 0.2, [-0.1, 0.1]).unwrap();
    let mut scene =
        scene(3.0, 48.0, vec![drive("bar *", Value::Number(80.0), still())], dynamics(vec![body(&["bar *"])]));
    scene.limits = vec![LimitSpec { bones: "bar *".into(), limits }];
    let worlds = of_bone(&play(&scene, &rig).unwrap(), 3);
    let fastest =
        worlds.windows(2).map(|two| two[0].translation.distance(two[1].translation)).fold(0.0, f64::max) * 48.0;
    assert!(fastest < 8.0, "{fastest} m/s");
}
