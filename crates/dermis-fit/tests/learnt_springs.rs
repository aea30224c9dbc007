//! Springs that are learnt from clips: planted ones are found again, and noise teaches none.

use dermis_deform::secondary::{Secondary, Spring, Springs, VertexSpring};
use dermis_fit::secondary::{Clip, SecondaryFitError, flesh_gain, learn_springs};
use dermis_fit::silent;
use dermis_rig::Mesh;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_testkit::{Arm, Random, some_motion};

/// A sheet of triangles, a decimetre apart.
fn sheet(side: u32) -> Mesh {
    let positions = (0..side * side).map(|v| DVec3::new(f64::from(v % side), f64::from(v / side), 0.0) * 0.1).collect();
    let corner = |x: u32, y: u32| y * side + x;
    let square = |(x, y)| {
        [[corner(x, y), corner(x + 1, y), corner(x, y + 1)], [corner(x + 1, y), corner(x + 1, y + 1), corner(x, y + 1)]]
    };
    let squares = (0..side - 1).flat_map(|y| (0..side - 1).map(move |x| (x, y)));
    Mesh { positions, triangles: squares.flat_map(square).collect(), ..Mesh::default() }
}

/// Stiffness and damping that change smoothly over the sheet.
fn planted(mesh: &Mesh, coupling: f64) -> Springs {
    let vertex = |p: &DVec3| VertexSpring {
        spring: Spring::new(4.0 + 3.0 * p.x, 0.12 + 0.1 * p.y).unwrap(),
        stiffening: 2e4 * (1.0 + p.x),
        limit: 10.0,
    };
    // A limit that nothing reaches must not make the cube's step short.
    let limited = |v: VertexSpring| VertexSpring { limit: 0.4, ..v };
    Springs::new(mesh.positions.iter().map(vertex).map(limited).collect(), coupling).unwrap()
}

/// A clip at 60 frames a second: the sheet is carried about and bends; its skin swings by `springs`, and shakes by `noise`.
fn clip(mesh: &Mesh, springs: &Springs, seed: u64, noise: f64) -> Clip {
    let mut random = Random::new(seed);
    let waves: Vec<(DVec3, f64, f64)> =
        (0..6).map(|i| (random.direction() * 0.05, 4.5 * f64::from(i + 1), random.between(0.0, 6.0))).collect();
    let mut motion = Secondary::learnt([springs], mesh).unwrap();
    let (mut times, mut posed, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..240 {
        let t = f64::from(n) / 60.0;
        let turned = some_motion(0.5 * (2.5 * t).sin(), DVec3::ZERO);
        let place = |p: &DVec3| {
            waves.iter().fold(turned.transform_point3(*p), |p, (way, rate, phase)| {
                p + *way * (rate * t + phase + 2.0 * p.x).sin()
            })
        };
        let base: Vec<DVec3> = mesh.positions.iter().map(place).collect();
        let mut skin = base.clone();
        motion.apply(1.0 / 60.0, &mut skin).unwrap();
        times.push(t);
        offsets.push(skin.iter().zip(&base).map(|(x, b)| (*x - *b + random.direction() * noise).as_vec3()).collect());
        posed.push(base.iter().map(|b| b.as_vec3()).collect::<Vec<Vec3>>());
    }
    Clip { name: format!("clip {seed}"), times, posed, offsets }
}

#[test]
fn planted_springs_are_found_within_five_percent() {
    let mesh = sheet(5);
    let springs = planted(&mesh, 220.0);
    let clips = [clip(&mesh, &springs, 1, 1e-4), clip(&mesh, &springs, 2, 1e-4)];
    let learnt = learn_springs(&mesh, &clips, &silent).unwrap();
    assert!(learnt.are_kept() && learnt.training < 0.05 && learnt.left_out < 0.1, "{learnt:?}");
    for (found, wanted) in learnt.springs.vertices().iter().zip(springs.vertices()) {
        let apart = |a: f64, b: f64| (a / b - 1.0).abs();
        assert!(apart(found.spring.omega(), wanted.spring.omega()) < 0.05, "{found:?} for {wanted:?}");
        let damping = |v: &VertexSpring| v.spring.damping() * v.spring.omega();
        assert!(apart(damping(found), damping(wanted)) < 0.05, "{found:?} for {wanted:?}");
    }
    assert!((learnt.springs.coupling() / 220.0 - 1.0).abs() < 0.05, "{}", learnt.springs.coupling());
}

#[test]
fn noise_teaches_nothing() {
    let mesh = sheet(4);
    let still = planted(&mesh, 0.0);
    let noisy = |seed| {
        let mut made = clip(&mesh, &still, seed, 0.0);
        let mut random = Random::new(seed + 10);
        made.offsets.iter_mut().flatten().for_each(|o| *o = (random.direction() * 0.01).as_vec3());
        made
    };
    let learnt = learn_springs(&mesh, &[noisy(1), noisy(2)], &silent).unwrap();
    assert!(!learnt.are_kept() && learnt.left_out > 0.95, "{}", learnt.left_out);
    // A skin that is where the model puts it teaches nothing either.
    let calm = |seed| {
        let mut made = clip(&mesh, &still, seed, 0.0);
        made.offsets.iter_mut().flatten().for_each(|o| *o = Vec3::ZERO);
        made
    };
    assert!(!learn_springs(&mesh, &[calm(1), calm(2)], &silent).unwrap().are_kept());
}

#[test]
fn one_clip_is_judged_by_its_halves_and_threads_change_no_bit() {
    let mesh = sheet(3);
    let clips = [clip(&mesh, &planted(&mesh, 100.0), 3, 0.0)];
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| learn_springs(&mesh, &clips, &silent).unwrap())
    };
    let learnt = with(1);
    assert_eq!(
        learnt.folds.iter().map(|f| f.0.as_str()).collect::<Vec<_>>(),
        ["clip 3, first half", "clip 3, second half"]
    );
    assert!(learnt.are_kept(), "{}", learnt.left_out);
    assert_eq!(with(4).springs, learnt.springs);
}

#[test]
fn clips_that_make_no_sense_are_refused() {
    let mesh = sheet(3);
    let good = clip(&mesh, &planted(&mesh, 0.0), 4, 0.0);
    let learn = |clips: &[Clip]| learn_springs(&mesh, clips, &silent).unwrap_err();
    assert_eq!(learn(&[]), SecondaryFitError::NoClips);
    let short = Clip { times: good.times[..5].to_vec(), ..good.clone() };
    assert_eq!(learn(&[short]), SecondaryFitError::NoClips);
    let mut back = good.clone();
    back.times[7] = back.times[6];
    assert_eq!(learn(&[back]), SecondaryFitError::Times { clip: "clip 4".into(), frame: 7 });
    let other = clip(&sheet(2), &planted(&sheet(2), 0.0), 5, 0.0);
    assert_eq!(learn(&[other]), SecondaryFitError::Vertices { clip: "clip 5".into(), found: 4, vertices: 9 });
    let stop = |_: u64, _: u64| std::ops::ControlFlow::Break(dermis_fit::Cancelled);
    assert_eq!(learn_springs(&mesh, &[good.clone(), good], &stop).unwrap_err(), SecondaryFitError::Cancelled);
}

/// Thick skin swings, thin skin and skin of stiff bones do not.
#[test]
fn flesh_is_what_lies_deep_over_soft_bones() {
    let arm = Arm::new(12, 6);
    let soft = flesh_gain(&arm.rig, |_| false);
    assert!(soft.iter().all(|g| (0.0..=1.0).contains(g)) && soft.iter().any(|g| *g > 0.5));
    let hand = arm.rig.skeleton().bones().last().unwrap();
    let stiff = flesh_gain(&arm.rig, |bone| bone == hand);
    for ((v, soft), stiff) in soft.iter().enumerate().zip(&stiff) {
        let share: f64 = arm.weights().of(v).iter().filter(|(bone, _)| *bone == hand).map(|(_, w)| w).sum();
        assert!((stiff - soft * (1.0 - share)).abs() < 1e-12);
    }
    assert_ne!(soft, stiff);
}
