//! The solve in single precision against that in double precision, at the accuracy that `SolvePrecision::Single` states.

mod bench;

use bench::Bench;
use dermis_deform::Enveloping;
use dermis_fit::mwe::{MweSettings, Resolver, RidgeMode, RowChoice, SolvePrecision, Strength};
use dermis_fit::silent;
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_testkit::{ArmPose, largest_distance, noisy};

/// As stated: of the largest coefficient of a vertex, and of the length of the character.
const COEFFICIENTS: f64 = 0.05;
const POSITIONS: f64 = 5e-5;

fn bench(poses: usize) -> Bench {
    let mut bench = Bench::arm(poses, 7).1;
    bench.examples = noisy(&bench.examples, 1e-3, 8);
    bench
}

fn forms(s: f64) -> Vec<MweSettings> {
    let strength = Strength::Given(s);
    let mut all = vec![MweSettings::published(s)];
    for rows in [RowChoice::Row, RowChoice::Full] {
        for ridge in [RidgeMode::Absolute, RidgeMode::Unit, RidgeMode::Paper] {
            all.push(MweSettings { rows, ridge, strength, ..MweSettings::for_poses(100, false) });
        }
    }
    all
}

fn single(settings: &MweSettings) -> MweSettings {
    MweSettings { solve_in: SolvePrecision::Single, ..settings.clone() }
}

/// The largest difference over the largest coefficient of the same vertex, at the worst vertex.
fn coefficients_off(a: &Enveloping, b: &Enveloping) -> f64 {
    let size = b.rows.coefficients();
    let of = |pair: &[u32]| {
        let own = size * pair[0] as usize..size * pair[1] as usize;
        let largest = b.coefficients[own.clone()].iter().fold(0.0f64, |most, u| most.max(u.abs()));
        let both = a.coefficients[own.clone()].iter().zip(&b.coefficients[own]);
        both.fold(0.0f64, |most, (a, b)| most.max((a - b).abs())) / largest.max(f64::MIN_POSITIVE)
    };
    b.terms.offsets().windows(2).map(of).fold(0.0, f64::max)
}

/// Oracle: the solve in double precision, which principal axes check. Ridges over nine decades, few poses and many.
#[test]
fn single_precision_keeps_its_stated_accuracy_over_all_ridges() {
    let arm = Bench::arm(1, 1).0;
    let unseen: Vec<BoneTransforms> = ArmPose::some(5, 99).iter().map(|pose| arm.transforms(pose)).collect();
    let (mut in_single, mut fallen_back) = (0, 0);
    for poses in [8, 30, 120] {
        let bench = bench(poses);
        for s in [1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0] {
            for settings in forms(s) {
                let (double, made) = (bench.fit(&settings), bench.fit(&single(&settings)));
                assert_eq!(double.report.in_single, 0);
                in_single += made.report.in_single;
                fallen_back += bench.rig.mesh().positions.len() - made.report.in_single;
                let off = coefficients_off(&made.correction, &double.correction);
                assert!(off < COEFFICIENTS, "{poses} poses, {settings:?}: {off}");
                for pose in bench.examples.iter().map(|e| &e.transforms).chain(&unseen) {
                    let (a, b) = (bench.posed(&made.correction, pose), bench.posed(&double.correction, pose));
                    let apart = largest_distance(&a, &b) / bench.length;
                    assert!(apart < POSITIONS, "{poses} poses, {settings:?}: {apart}");
                }
            }
        }
    }
    assert!(in_single > 2 * fallen_back && fallen_back > 0, "{in_single} in single precision, {fallen_back} not");
}

#[test]
fn a_vertex_too_badly_conditioned_for_single_precision_has_the_bits_of_double_precision() {
    let bench = bench(30);
    let settings = MweSettings { strength: Strength::Given(1e-6), ..MweSettings::for_poses(30, false) };
    let (double, made) = (bench.fit(&settings), bench.fit(&single(&settings)));
    let size = double.correction.rows.coefficients();
    let (mut same, mut vertices) = (0, 0);
    for pair in double.correction.terms.offsets().windows(2).filter(|pair| pair[1] > pair[0]) {
        let own = size * pair[0] as usize..size * pair[1] as usize;
        same += usize::from(made.correction.coefficients[own.clone()] == double.correction.coefficients[own]);
        vertices += 1;
    }
    assert_eq!(same, vertices - made.report.in_single.min(vertices));
    assert!(same > 0);
}

#[test]
fn a_model_solved_again_has_the_bits_of_one_fitted_from_scratch() {
    let bench = bench(30);
    let settings = single(&MweSettings { strength: Strength::Given(0.01), ..MweSettings::for_poses(30, false) });
    let fresh = |bench: &Bench| Resolver::new(&bench.training(), &bench.maps, &settings, &silent).unwrap();
    let mut kept = fresh(&bench);
    let mut changed = bench.clone();
    let weighed = |(v, row): (usize, &[(BoneIndex, f64)])| -> Vec<(BoneIndex, f64)> {
        row.iter().map(|&(b, mu)| (b, if v % 5 == 1 { 0.5 * mu } else { mu })).collect()
    };
    changed.maps = Influences::from_rows(bench.maps.rows().enumerate().map(weighed)).unwrap();
    kept.set_maps(&changed.training(), &changed.maps).unwrap();
    assert_eq!(kept.model().correction.coefficients, fresh(&changed).model().correction.coefficients);
}
