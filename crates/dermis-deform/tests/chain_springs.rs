//! Springs of chains against steps made by hand, closed forms and symmetries.

use dermis_deform::secondary::{Anchor, ChainMotion, ChainSpring, STEP};
use dermis_rig::glam::{DQuat, DVec3};

const STILL: Anchor = Anchor { head: DVec3::ZERO, rotation: DQuat::IDENTITY };

fn tails(chain: &ChainMotion) -> Vec<DVec3> {
    chain.tails().collect()
}

/// One bone of 0.5 m along −Z, its tail 0.5 m along X, where it came to from (0.48, 0, −0.14) in the last step, dt a tenth:
/// x + 0.75 (x − x⁻) + 0.1 · 2 (0, 0, −1) + 0.1 · 3 (0, −1, 0) = (0.515, −0.3, −0.095), of length √0.364250.
#[test]
fn a_step_is_that_of_the_specification() {
    let mut chain = ChainMotion::new(vec![DVec3::NEG_Z * 0.5]);
    chain.begin(&[[DVec3::new(0.48, 0.0, -0.14), DVec3::X * 0.5]]);
    chain.step(&ChainSpring::new(2.0, 0.25, 3.0).unwrap(), 0.1, &STILL);
    let wanted = DVec3::new(0.515, -0.3, -0.095) * (0.5 / 0.364_25f64.sqrt());
    assert!(chain.tails().next().unwrap().distance(wanted) < 1e-12, "{:?}", tails(&chain));
}

/// The second bone hangs on the first as that has moved: rest would have it along the first, turned as that is.
#[test]
fn a_bone_hangs_on_the_one_above_as_it_has_moved() {
    let mut chain = ChainMotion::new(vec![DVec3::NEG_Z, DVec3::NEG_Z]);
    // Without inertia and gravity; the first tail points along X, so that the second's rest is along X as well, from (1, 0, 0) on.
    chain.begin(&[[DVec3::X, DVec3::X], [DVec3::X * 2.0 + DVec3::Y; 2]]);
    let spring = ChainSpring::new(1e-9, 1.0, 0.0).unwrap();
    chain.step(&spring, 1.0, &STILL);
    let placed: Vec<Anchor> = chain.placed(&STILL, tails(&chain).into_iter()).collect();
    assert!(placed[1].head.distance(DVec3::X) < 1e-8);
    assert!((placed[0].rotation * DVec3::NEG_Z).distance(DVec3::X) < 1e-8);
    // Its tail was at (2, 1, 0), which is √2 from its head: the length stays 1.
    let along = (DVec3::X + DVec3::Y).normalize();
    assert!((placed[1].rotation * DVec3::NEG_Z).distance(along) < 1e-8);
    assert!(tails(&chain)[1].distance(DVec3::X + along) < 1e-8);
}

#[test]
fn a_chain_at_rest_stays_there_and_follows_what_carries_it() {
    let ways = vec![DVec3::new(0.1, 0.2, -0.3), DVec3::NEG_Z * 0.2, DVec3::new(0.0, -0.1, 0.0)];
    let spring = ChainSpring::new(1.5, 0.3, 0.0).unwrap();
    let turn = DQuat::from_rotation_y(0.7) * DQuat::from_rotation_x(0.3);
    for anchor in [STILL, Anchor { head: DVec3::new(3.0, 1.0, -2.0), rotation: turn }] {
        let mut chain = ChainMotion::new(ways.clone());
        chain.rest(&anchor);
        let before = tails(&chain);
        (0..1000).for_each(|_| chain.step(&spring, STEP, &anchor));
        for (before, after) in before.iter().zip(chain.tails()) {
            assert!(before.distance(after) < 1e-12, "{before} {after}");
        }
        assert!(
            chain.placed(&anchor, before.into_iter()).all(|bone| bone.rotation.angle_between(anchor.rotation) < 1e-7)
        );
    }
}

/// A single bone that rests under gravity G and stiffness k: both pulls add up along the bone, so it points along k a + G.
#[test]
fn a_chain_sags_to_where_its_pulls_balance() {
    let mut chain = ChainMotion::new(vec![DVec3::NEG_Z * 0.3]);
    let spring = ChainSpring::new(2.0, 0.4, 1.0).unwrap();
    (0..4000).for_each(|_| chain.step(&spring, STEP, &STILL));
    let wanted = DVec3::new(0.0, -1.0, -2.0).normalize() * 0.3;
    assert!(tails(&chain)[0].distance(wanted) < 1e-9, "{:?}", tails(&chain));
}

/// Small swings of a bone of length L obey θ⁺ = θ + (1 − d)(θ − θ⁻) − (k dt/L) θ, whose period is 2π dt/arccos(…): with
/// θ_n = Re z^n, z² − (2 − d − k dt/L) z + (1 − d) = 0, so |z|² = 1 − d and the phase is arccos((2 − d − k dt/L) / (2 √(1 − d))).
/// The pull along the bone lengthens it before it is shortened again, which weakens every move by 1 + k dt/L to first order; k dt/L = 0.01
/// here, and the tolerance of 2 % covers it.
#[test]
fn small_swings_have_the_period_of_their_recurrence() {
    let (k, d, length) = (0.6, 0.02, 1.0);
    let mut chain = ChainMotion::new(vec![DVec3::NEG_Z * length]);
    let at = |angle: f64| DVec3::new(angle.sin(), 0.0, -angle.cos()) * length;
    chain.begin(&[[at(0.01), at(0.01)]]);
    let spring = ChainSpring::new(k, d, 0.0).unwrap();
    let (mut crossings, mut before) = (Vec::new(), 0.01);
    for n in 1..400 {
        chain.step(&spring, STEP, &STILL);
        let x = chain.tails().next().unwrap().x;
        if before > 0.0 && x <= 0.0 {
            crossings.push(f64::from(n) - x / (x - before));
        }
        before = x;
    }
    let period = (crossings[2] - crossings[0]) / 2.0;
    let phase = ((2.0 - d - k * STEP / length) / (2.0 * (1.0 - d).sqrt())).acos();
    let wanted = std::f64::consts::TAU / phase;
    assert!((period / wanted - 1.0).abs() < 0.02, "{period} steps, {wanted} by the recurrence");
}

#[test]
fn lengths_stay_whatever_happens() {
    let ways = [0.2, 0.05, 0.4].map(|length| DVec3::new(0.3, -0.5, 0.1).normalize() * length);
    let spring = ChainSpring::new(30.0, 0.01, 9.0).unwrap();
    let mut chain = ChainMotion::new(ways.to_vec());
    let mut state = 1u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    };
    for _ in 0..2000 {
        let rotation = DQuat::from_rotation_y(6.0 * unit()) * DQuat::from_rotation_x(6.0 * unit());
        let anchor = Anchor { head: DVec3::new(unit(), unit(), unit()), rotation };
        chain.step(&spring, STEP, &anchor);
        let mut head = anchor.head;
        for (tail, way) in chain.tails().zip(&ways) {
            assert!((tail.distance(head) / way.length() - 1.0).abs() < 1e-12);
            head = tail;
        }
    }
}

/// A rigid motion about the vertical axis of all that happens moves the result likewise, gravity included.
#[test]
fn a_character_that_is_carried_elsewhere_swings_alike() {
    let carried = (DQuat::from_rotation_y(1.1), DVec3::new(5.0, 2.0, -1.0));
    let spring = ChainSpring::new(1.0, 0.2, 0.5).unwrap();
    let ways = vec![DVec3::NEG_Z * 0.2, DVec3::NEG_Z * 0.1];
    let (mut here, mut there) = (ChainMotion::new(ways.clone()), ChainMotion::new(ways));
    let moved = |a: &Anchor| Anchor { head: carried.0 * a.head + carried.1, rotation: carried.0 * a.rotation };
    here.rest(&STILL);
    there.rest(&moved(&STILL));
    for n in 0..200 {
        let time = f64::from(n) * STEP;
        let rotation = DQuat::from_rotation_x((5.0 * time).sin()) * DQuat::from_rotation_z(0.4 * time);
        let anchor = Anchor { head: DVec3::X * (3.0 * time).sin(), rotation };
        here.step(&spring, STEP, &anchor);
        there.step(&spring, STEP, &moved(&anchor));
        for (a, b) in here.tails().zip(there.tails()) {
            assert!((carried.0 * a + carried.1).distance(b) < 1e-11);
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    for [stiffness, drag, gravity] in
        [[-1.0, 0.5, 0.0], [f64::NAN, 0.5, 0.0], [1.0, 1.1, 0.0], [1.0, f64::NAN, 0.0], [1.0, 0.5, f64::INFINITY]]
    {
        assert!(ChainSpring::new(stiffness, drag, gravity).is_err());
    }
    // A tail that would fall onto its head points where rest would have it.
    let mut chain = ChainMotion::new(vec![DVec3::NEG_Z]);
    chain.begin(&[[DVec3::ZERO; 2]]);
    chain.step(&ChainSpring::new(0.0, 0.0, 0.0).unwrap(), STEP, &STILL);
    assert_eq!(tails(&chain), [DVec3::NEG_Z]);
}
