//! Properties of secondary motion that hold for any spring.

use dermis_deform::secondary::{Secondary, SecondaryError, SecondarySettings, Spring};
use dermis_rig::glam::DVec3;
use dermis_testkit::{Random, some_motion};

fn settings(damping: f64) -> SecondarySettings {
    SecondarySettings { spring: Spring::new(2.5, damping).unwrap(), gravity: DVec3::ZERO, limit: None }
}

/// Under-, critically and over-damped, and next to the border.
const DAMPINGS: [f64; 6] = [0.0, 0.15, 1.0 - 1e-9, 1.0, 1.0 + 1e-7, 3.0];

/// Positions of every frame with secondary motion, frames `dt` apart.
fn run(settings: SecondarySettings, gain: &[f64], dt: f64, base: &[Vec<DVec3>]) -> Vec<Vec<DVec3>> {
    let mut motion = Secondary::new(settings, gain.to_vec()).unwrap();
    base.iter()
        .map(|frame| {
            let mut frame = frame.clone();
            motion.apply(dt, &mut frame).unwrap();
            frame
        })
        .collect()
}

fn wobble(frames: usize, vertices: usize, seed: u64) -> Vec<Vec<DVec3>> {
    let mut random = Random::new(seed);
    (0..frames).map(|_| (0..vertices).map(|_| random.direction() * random.between(0.0, 0.3)).collect()).collect()
}

fn apart(a: &[Vec<DVec3>], b: &[Vec<DVec3>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| dermis_testkit::largest_distance(a, b)).fold(0.0, f64::max)
}

#[test]
fn without_gain_the_base_is_returned_to_the_bit() {
    let base = wobble(8, 5, 1);
    let pulled = SecondarySettings { gravity: DVec3::NEG_Y * 9.81, ..settings(0.2) };
    assert_eq!(run(pulled, &[0.0; 5], 0.04, &base), base);
}

#[test]
fn a_constant_velocity_moves_nothing() {
    let line: Vec<_> = (0..40).map(|n| vec![DVec3::new(1.0, -2.0, 0.5) * (0.03 * f64::from(n))]).collect();
    for damping in DAMPINGS {
        assert!(apart(&run(settings(damping), &[1.0], 0.03, &line), &line) < 1e-13, "damping {damping}");
    }
}

/// Oracle: the equation itself, by fine Runge–Kutta steps.
#[test]
fn the_step_solves_the_equation_of_the_spring() {
    for damping in DAMPINGS {
        let (spring, dt, omega) = (Spring::of_omega(7.0, damping).unwrap(), 0.3, 7.0);
        let slope = |x: [f64; 2]| [x[1], -2.0 * damping * omega * x[1] - omega * omega * x[0]];
        for start in [[1.0, 0.0], [0.0, 1.0]] {
            let (mut x, steps) = (start, 3000);
            let h = dt / f64::from(steps);
            for _ in 0..steps {
                let along = |x: [f64; 2], k: [f64; 2], h: f64| [x[0] + h * k[0], x[1] + h * k[1]];
                let k1 = slope(x);
                let k2 = slope(along(x, k1, 0.5 * h));
                let k3 = slope(along(x, k2, 0.5 * h));
                let k4 = slope(along(x, k3, h));
                x = [0, 1].map(|i| x[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
            }
            let m = spring.step(dt);
            for i in 0..2 {
                // Fourth order: (ω h)⁴ ≈ 2e-13 per unit of time, and velocities of size ω.
                let got = m[i][0] * start[0] + m[i][1] * start[1];
                assert!((got - x[i]).abs() < 1e-10, "damping {damping}, row {i}: {got} {}", x[i]);
            }
        }
    }
}

#[test]
fn energy_never_grows_while_the_base_rests() {
    for damping in DAMPINGS {
        for dt in [1e-3, 0.04, 1.0, 60.0] {
            let spring = Spring::new(2.5, damping).unwrap();
            let (mut o, mut v) = (1.0, -20.0);
            let energy = |o: f64, v: f64| 0.5 * v * v + 0.5 * spring.stiffness() * o * o;
            let mut last = energy(o, v);
            for _ in 0..200 {
                let m = spring.step(dt);
                (o, v) = (m[0][0] * o + m[0][1] * v, m[1][0] * o + m[1][1] * v);
                let now = energy(o, v);
                assert!(now <= last * (1.0 + 1e-12), "damping {damping}, dt {dt}: {last} {now}");
                last = now;
            }
        }
    }
}

#[test]
fn cutting_straight_stretches_into_shorter_frames_changes_nothing() {
    let (corners, gain) = (wobble(9, 4, 2), [0.0, 0.3, 0.8, 1.0]);
    let pulled = |damping| SecondarySettings { gravity: DVec3::new(0.0, -9.81, 1.0), ..settings(damping) };
    for damping in DAMPINGS {
        let whole = run(pulled(damping), &gain, 0.1, &corners);
        for parts in [2, 7] {
            let mut fine = vec![corners[0].clone()];
            for two in corners.windows(2) {
                fine.extend((1..=parts).map(|k| {
                    let t = f64::from(k) / f64::from(parts);
                    two[0].iter().zip(&two[1]).map(|(a, b)| a.lerp(*b, t)).collect::<Vec<_>>()
                }));
            }
            let fine = run(pulled(damping), &gain, 0.1 / f64::from(parts), &fine);
            let again: Vec<_> = fine.into_iter().step_by(parts as usize).collect();
            assert!(apart(&again, &whole) < 1e-10, "damping {damping}, {parts} parts");
        }
    }
}

#[test]
fn gravity_sags_by_gain_times_gravity_over_stiffness() {
    let gravity = DVec3::new(0.5, -9.81, 0.0);
    let pulled = SecondarySettings { gravity, ..settings(0.3) };
    let still = vec![vec![DVec3::ONE; 2]; 5];
    for frame in run(pulled, &[0.4, 1.0], 0.04, &still) {
        for (p, gain) in frame.iter().zip([0.4, 1.0]) {
            assert!((*p - DVec3::ONE - gravity * gain / pulled.spring.stiffness()).length() < 1e-15);
        }
    }
    // After a jolt it comes to rest there.
    let mut jolted = vec![vec![DVec3::ZERO]; 3];
    jolted.extend(vec![vec![DVec3::X]; 400]);
    let end = run(pulled, &[1.0], 0.04, &jolted).pop().unwrap()[0];
    assert!((end - DVec3::X - gravity / pulled.spring.stiffness()).length() < 1e-9, "{end}");
}

#[test]
fn without_gravity_a_motion_of_the_whole_character_carries_the_result_along() {
    let (base, gain, g) = (wobble(12, 3, 4), [0.2, 0.9, 1.0], some_motion(1.1, DVec3::new(4.0, 1.0, -3.0)));
    let limited = SecondarySettings { limit: Some(0.1), ..settings(0.2) };
    let moved =
        |frames: &[Vec<DVec3>]| frames.iter().map(|f| f.iter().map(|p| g.transform_point3(*p)).collect()).collect();
    let then: Vec<Vec<DVec3>> = moved(&run(limited, &gain, 0.04, &base));
    let first: Vec<Vec<DVec3>> = moved(&base);
    assert!(apart(&run(limited, &gain, 0.04, &first), &then) < 1e-12);
    // Nor does a steady drift.
    let drifting = |frames: &[Vec<DVec3>]| -> Vec<Vec<DVec3>> {
        let drift = |n: usize| DVec3::new(0.3, 0.0, -0.2) * n as f64;
        frames.iter().enumerate().map(|(n, f)| f.iter().map(|p| *p + drift(n)).collect()).collect()
    };
    let then = drifting(&run(limited, &gain, 0.04, &base));
    assert!(apart(&run(limited, &gain, 0.04, &drifting(&base)), &then) < 1e-12);
}

#[test]
fn no_offset_exceeds_its_limit_and_a_reset_starts_at_rest() {
    let (base, limit) = (wobble(30, 6, 5), 0.05);
    let limited = SecondarySettings { limit: Some(limit), gravity: DVec3::NEG_Y * 9.81, ..settings(0.0) };
    let skins = run(limited, &[1.0; 6], 0.04, &base);
    assert!(apart(&skins, &base) <= limit * (1.0 + 1e-12));
    assert!(apart(&run(settings(0.0), &[1.0; 6], 0.04, &base), &base) > limit, "the limit acted");
    let mut motion = Secondary::new(settings(0.1), vec![1.0; 6]).unwrap();
    for frame in &base {
        motion.apply(0.04, &mut frame.clone()).unwrap();
    }
    assert!(motion.largest() > 0.0);
    motion.reset();
    let again: Vec<_> = base[..5]
        .iter()
        .map(|frame| {
            let mut frame = frame.clone();
            motion.apply(0.04, &mut frame).unwrap();
            frame
        })
        .collect();
    assert_eq!(again, run(settings(0.1), &[1.0; 6], 0.04, &base[..5]));
}

#[test]
fn settings_and_frames_that_make_no_sense_are_refused() {
    assert!(Spring::new(0.0, 0.1).is_err() && Spring::new(f64::NAN, 0.1).is_err() && Spring::new(1.0, -0.1).is_err());
    assert!(Spring::new(f64::INFINITY, 0.1).is_err() && Spring::new(1.0, f64::NAN).is_err());
    let gain = |g| Secondary::new(settings(0.1), vec![0.5, g]).err();
    assert!(matches!(gain(1.1), Some(SecondaryError::Gain { vertex: 1, .. })));
    assert!(matches!(gain(f64::NAN), Some(SecondaryError::Gain { vertex: 1, .. })));
    let limit = |limit| Secondary::new(SecondarySettings { limit: Some(limit), ..settings(0.1) }, vec![]);
    assert!(limit(-1.0).is_err() && limit(f64::NAN).is_err() && limit(0.0).is_ok());
    let mut motion = Secondary::new(settings(0.1), vec![1.0]).unwrap();
    assert!(matches!(motion.apply(0.1, &mut []), Err(SecondaryError::Vertices { found: 0, expected: 1 })));
    motion.apply(f64::NAN, &mut [DVec3::ZERO]).unwrap();
    for dt in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(motion.apply(dt, &mut [DVec3::ZERO]), Err(SecondaryError::Time(_))));
    }
}
