//! The batched solver against principal axes, and the resolver against a fit from scratch.

mod bench;

use bench::Bench;
use dermis_fit::mwe::{Anchor, Centring, MweSettings, Resolver, RidgeMode, RowChoice, Solver, Strength};
use dermis_fit::silent;
use dermis_rig::{BoneIndex, Influences};
use dermis_testkit::{ArmPose, largest_distance, noisy};

/// Noisy examples of different importance; two of them twice.
fn bench(poses: usize) -> Bench {
    let mut bench = Bench::arm(poses, 7).1;
    bench.examples = noisy(&bench.examples, 1e-3, 8);
    for (s, example) in bench.examples.iter_mut().enumerate() {
        example.importance = 0.5 + 0.1 * s as f64;
    }
    let mut order: Vec<usize> = (0..poses).collect();
    order.extend([1, 3]);
    bench.subset(&order)
}

/// Every form that is not left to the principal axes.
fn forms(s: f64) -> Vec<MweSettings> {
    let mut all = vec![MweSettings::published(s)];
    let strength = Strength::Given(s);
    for rows in [RowChoice::Row, RowChoice::Full] {
        for centring in [Centring::Rest, Centring::Mean, Centring::Raw] {
            for anchor in [Anchor::Dominant, Anchor::World] {
                for ridge in [RidgeMode::Absolute, RidgeMode::Unit, RidgeMode::Relative, RidgeMode::Paper] {
                    let default = MweSettings::for_poses(100, false);
                    all.push(MweSettings { anchor: anchor.clone(), rows, centring, ridge, strength, ..default });
                }
            }
        }
        let mut published = MweSettings::published(s);
        for ridge in [RidgeMode::Unit, RidgeMode::Relative] {
            (published.rows, published.ridge) = (rows, ridge);
            all.push(published.clone());
        }
    }
    all
}

/// Oracle: principal axes. With few poses the batched solver works among the poses, with many among the features.
#[test]
fn every_form_agrees_with_principal_axes() {
    let arm = Bench::arm(1, 1).0;
    let unseen: Vec<_> = ArmPose::some(5, 99).iter().map(|pose| arm.transforms(pose)).collect();
    for poses in [8, 90] {
        let bench = bench(poses);
        for settings in forms(0.02) {
            let batched = bench.fit(&settings);
            let axes = bench.fit(&MweSettings { solver: Solver::Axes, ..settings.clone() });
            assert_eq!(axes.report.by_axes, bench.rig.mesh().positions.len());
            assert!(batched.report.by_axes * 10 < axes.report.by_axes, "{settings:?}: {}", batched.report.by_axes);
            for pose in bench.examples.iter().map(|e| &e.transforms).chain(&unseen) {
                let (a, b) = (bench.posed(&batched.correction, pose), bench.posed(&axes.correction, pose));
                let apart = largest_distance(&a, &b) / bench.length;
                assert!(apart < 1e-9, "{poses} poses, {settings:?}: {apart}");
            }
        }
    }
}

fn same(a: &Resolver, b: &Resolver) {
    let (a, b) = (&a.model().correction, &b.model().correction);
    assert_eq!((&a.terms, &a.pairs), (&b.terms, &b.pairs));
    assert_eq!((&a.coefficients, &a.constants, &a.radii), (&b.coefficients, &b.constants, &b.radii));
}

#[test]
fn a_model_that_is_solved_again_has_the_bits_of_one_fitted_from_scratch() {
    let bench = bench(30);
    for base in [MweSettings::published(1e-3), MweSettings::for_poses(30, false)] {
        let with = |s| MweSettings { strength: Strength::Given(s), ..base.clone() };
        let fresh = |bench: &Bench, s| Resolver::new(&bench.training(), &bench.maps, &with(s), &silent).unwrap();
        let mut kept = fresh(&bench, 0.1);
        kept.set_ridge(&bench.training(), 0.02).unwrap();
        same(&kept, &fresh(&bench, 0.02));

        // A map of one bone: some vertices lose it, some weigh it less.
        let (bone, mut changed) = (BoneIndex::new(1), bench.clone());
        let weighed = |(v, row): (usize, &[(BoneIndex, f64)])| -> Vec<(BoneIndex, f64)> {
            let factor = [1.0, 0.5, 0.0, 1.0, 1.0][v % 5];
            let of = |&(b, mu): &(BoneIndex, f64)| (b, if b == bone { mu * factor } else { mu });
            row.iter().map(of).filter(|(_, mu)| *mu > 0.0).collect()
        };
        changed.maps = Influences::from_rows(bench.maps.rows().enumerate().map(weighed)).unwrap();
        let solved = kept.set_maps(&changed.training(), &changed.maps).unwrap();
        let differing = (0..changed.maps.vertices()).filter(|&v| changed.maps.of(v) != bench.maps.of(v)).count();
        assert_eq!(solved, differing);
        assert!(solved > 0 && solved * 2 < changed.maps.vertices());
        same(&kept, &fresh(&changed, 0.02));

        changed.examples[4].importance = 2.0;
        kept.set_examples(&changed.training()).unwrap();
        same(&kept, &fresh(&changed, 0.02));
        let fewer = changed.subset(&(0..20).collect::<Vec<_>>());
        kept.set_examples(&fewer.training()).unwrap();
        same(&kept, &fresh(&fewer, 0.02));
        kept.set_examples(&changed.training()).unwrap();
        same(&kept, &fresh(&changed, 0.02));
    }
}
