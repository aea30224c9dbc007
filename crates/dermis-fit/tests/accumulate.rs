//! Fits from sums over the examples against fits that hold them all.

mod bench;

use bench::Bench;
use dermis_fit::mwe::{Anchor, Centring, MweSettings, RidgeMode, RowChoice, Strength};
use dermis_fit::{Accumulator, FitError, Mwe, silent};
use dermis_rig::glam::DVec3;
use dermis_testkit::{ArmPose, largest_distance, noisy};

/// Noisy examples of different importance, one of none, two of them twice.
fn bench(poses: usize) -> Bench {
    let mut bench = Bench::arm(poses, 7).1;
    bench.examples = noisy(&bench.examples, 1e-3, 8);
    for (s, example) in bench.examples.iter_mut().enumerate() {
        example.importance = if s == 4 { 0.0 } else { 0.5 + 0.1 * s as f64 };
    }
    let mut order: Vec<usize> = (0..poses).collect();
    order.extend([1, 3]);
    bench.subset(&order)
}

fn empty(bench: &Bench, settings: &MweSettings) -> Result<Accumulator, FitError> {
    Accumulator::new(bench.rig.skeleton(), &bench.rig.mesh().positions, bench.length, &bench.maps, settings)
}

/// The examples of some range, this many at a time.
fn summed(bench: &Bench, settings: &MweSettings, range: std::ops::Range<usize>, batch: usize) -> Accumulator {
    let mut sums = empty(bench, settings).unwrap();
    let batches = bench.examples[range.clone()].chunks(batch).zip(bench.base[range].chunks(batch));
    batches.for_each(|(examples, base)| sums.add(examples, base).unwrap());
    sums
}

fn forms() -> Vec<MweSettings> {
    let mut all = Vec::new();
    for rows in [RowChoice::Row, RowChoice::Full, RowChoice::Auto] {
        for anchor in [Anchor::Dominant, Anchor::World, Anchor::Root] {
            for strength in [Strength::Given(0.02), MweSettings::for_poses(100, false).strength] {
                let default = MweSettings::for_poses(100, true);
                all.push(MweSettings { anchor: anchor.clone(), rows, strength, duplicates: -1.0, ..default });
            }
        }
    }
    all
}

fn agree(bench: &Bench, a: &Mwe, b: &Mwe, what: &str) {
    assert_eq!((a.report.s, a.report.rows, &a.report.welded), (b.report.s, b.report.rows, &b.report.welded), "{what}");
    assert_eq!(a.report.sweep.len(), b.report.sweep.len());
    for (a, b) in a.report.sweep.iter().zip(&b.report.sweep) {
        // Residuals of the sweep are kept in 32 bits.
        assert!((a.validated / b.validated - 1.0).abs() < 1e-6, "{what}: {a:?} {b:?}");
    }
    let arm = Bench::arm(1, 1).0;
    let unseen: Vec<_> = ArmPose::some(5, 99).iter().map(|pose| arm.transforms(pose)).collect();
    for pose in bench.examples.iter().map(|e| &e.transforms).chain(&unseen) {
        let (a, b) = (bench.posed(&a.correction, pose), bench.posed(&b.correction, pose));
        let apart = largest_distance(&a, &b) / bench.length;
        assert!(apart < 1e-9, "{what}: {apart}");
    }
}

/// Oracle: the fit that holds all examples. Few poses, where it works among the poses, and many.
#[test]
fn sums_give_the_fit_of_all_examples() {
    for poses in [8, 60] {
        let bench = bench(poses);
        for settings in forms() {
            let whole = bench.fit(&settings);
            let from_sums = summed(&bench, &settings, 0..poses + 2, 5).finish(&silent).unwrap();
            agree(&bench, &whole, &from_sums, &format!("{poses} {settings:?}"));
            let size = |m: &Mwe| (m.correction.terms.clone(), m.correction.pairs.clone());
            assert_eq!(size(&whole), size(&from_sums));
            assert!((whole.report.largest_leverage - from_sums.report.largest_leverage).abs() < 1e-9);
        }
    }
}

/// A joint that never moves is welded only in the end: its bone's columns give way to those of the bone above.
#[test]
fn joints_that_never_moved_are_welded_in_the_end() {
    let mut bench = bench(30);
    let rig = &bench.rig;
    let bones: Vec<_> = rig.skeleton().bones().collect();
    for (example, base) in bench.examples.iter_mut().zip(&mut bench.base) {
        let mut all = example.transforms.to_vec();
        all[bones[2].get()] = all[bones[1].get()];
        all[bones[3].get()] = all[bones[1].get()];
        example.transforms = dermis_rig::BoneTransforms::new(all);
        *base = bench::skinned(rig, &example.transforms);
    }
    for settings in forms() {
        let whole = bench.fit(&settings);
        assert!(!whole.report.welded.is_empty());
        let from_sums = summed(&bench, &settings, 0..32, 7).finish(&silent).unwrap();
        agree(&bench, &whole, &from_sums, &format!("{settings:?}"));
    }
}

#[test]
fn batches_do_not_change_a_bit_and_parts_only_the_rounding() {
    let bench = bench(40);
    for settings in forms() {
        let whole = summed(&bench, &settings, 0..42, 42);
        for batch in [1, 3, 16, 17] {
            assert_eq!(summed(&bench, &settings, 0..42, batch).statistics(), whole.statistics());
        }
        let merged = || {
            let mut sums = summed(&bench, &settings, 0..11, 4);
            sums.merge(summed(&bench, &settings, 11..30, 4)).unwrap();
            sums.merge(summed(&bench, &settings, 30..42, 4)).unwrap();
            sums
        };
        assert_eq!(merged().statistics(), merged().statistics());
        // The same of stored sums, the first of which meet an accumulator that has none.
        let mut stored = empty(&bench, &settings).unwrap();
        for range in [0..11, 11..30, 30..42] {
            stored.add_sums(summed(&bench, &settings, range, 4).into_statistics()).unwrap();
        }
        assert_eq!(stored.statistics(), merged().statistics());
        let (a, b) = (whole.finish(&silent).unwrap(), merged().finish(&silent).unwrap());
        agree(&bench, &a, &b, &format!("{settings:?}"));
    }
}

/// Without a ridge the systems are singular, and directions that never moved are dropped.
#[test]
fn no_ridge_takes_the_principal_axes() {
    let bench = bench(60);
    let settings =
        MweSettings { strength: Strength::Given(0.0), duplicates: -1.0, ..MweSettings::for_poses(60, false) };
    let whole = bench.fit(&settings);
    let from_sums = summed(&bench, &settings, 0..62, 9).finish(&silent).unwrap();
    assert_eq!(from_sums.report.by_axes, bench.maps.vertices());
    let apart = bench.examples.iter().map(|e| {
        let skin = |m: &Mwe| bench.posed(&m.correction, &e.transforms);
        largest_distance(&skin(&whole), &skin(&from_sums)) / bench.length
    });
    assert!(apart.fold(0.0, f64::max) < 1e-6);
}

#[test]
fn what_cannot_be_summed_is_refused() {
    let bench = bench(8);
    let good = MweSettings::for_poses(100, false);
    let refused = |settings: MweSettings| matches!(empty(&bench, &settings), Err(FitError::NotSummed { .. }));
    for centring in [Centring::Mean, Centring::Raw, Centring::Paper] {
        assert!(refused(MweSettings { centring, ..good.clone() }));
    }
    for ridge in [RidgeMode::Paper, RidgeMode::Unit, RidgeMode::Relative] {
        assert!(refused(MweSettings { ridge, ..good.clone() }));
    }
    assert!(refused(MweSettings { guard: false, ..good.clone() }));
    let mut sums = empty(&bench, &good).unwrap();
    assert_eq!(sums.clone().finish(&silent).unwrap_err(), FitError::NoExamples);
    let mut short = bench.examples[..2].to_vec();
    short[1].positions.pop();
    assert!(matches!(sums.add(&short, &bench.base[..2]), Err(FitError::Counts { .. })));
    assert!(matches!(sums.add(&bench.examples[..2], &bench.base[..1]), Err(FitError::Counts { .. })));
    short[1].positions.push(DVec3::NAN);
    assert!(matches!(sums.add(&short, &bench.base[..2]), Err(FitError::NotFinite { .. })));
    assert_eq!(sums.poses(), 0);
    let row = empty(&bench, &MweSettings { rows: RowChoice::Row, ..good.clone() }).unwrap();
    assert!(matches!(sums.merge(row), Err(FitError::Differ { what: "settings" })));
    // Statistics that were stored come back as they are, and broken ones do not.
    let sums = summed(&bench, &good, 0..10, 4);
    let back = empty(&bench, &good).unwrap().restore(sums.statistics().clone()).unwrap();
    assert_eq!(back.statistics(), sums.statistics());
    let broken = |change: &dyn Fn(&mut dermis_fit::mwe::Statistics)| {
        let mut stored = sums.statistics().clone();
        change(&mut stored);
        assert!(empty(&bench, &good).unwrap().restore(stored.clone()).is_err());
        // Sums that are refused leave those at hand as they were.
        let mut untouched = sums.clone();
        assert!(untouched.add_sums(stored).is_err());
        assert_eq!(untouched.statistics(), sums.statistics());
    };
    broken(&|s| s.moments[3] = f64::NAN);
    broken(&|s| s.grams.truncate(3));
    broken(&|s| s.largest.truncate(3));
    broken(&|s| s.squares[3] = -1.0);
    broken(&|s| s.largest[3] = -1.0);
    broken(&|s| s.stride = 3);
    broken(&|s| s.poses[2].residuals.truncate(3));
    broken(&|s| s.poses[2].importance = -1.0);
}
