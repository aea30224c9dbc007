//! Cross-validation equals refitting without the held-out poses.

mod bench;

use bench::{Bench, plain};
use dermis_fit::mwe::{Anchor, Centring, RidgeMode, RowChoice, Strength, powers};
use dermis_fit::{Folds, MweSettings};
use dermis_rig::glam::DVec3;
use dermis_solve::cross_validation::choose;
use dermis_solve::faer::prelude::Solve;
use dermis_solve::faer::{Mat, Side};
use dermis_testkit::{change_rig, noisy, rms};

/// What is left out at a time, by start and end.
fn folds(folds: Folds, poses: usize) -> Vec<(usize, usize)> {
    match folds {
        Folds::Single => (0..poses).map(|s| (s, s + 1)).collect(),
        // Written out for the one case used here: 24 poses in five blocks.
        Folds::Blocks(parts) => {
            assert_eq!((poses, parts), (24, 5));
            vec![(0, 5), (5, 10), (10, 15), (15, 20), (20, 24)]
        }
    }
}

fn noisy_bench() -> Bench {
    let mut bench = Bench::arm(24, 50).1;
    bench.examples = noisy(&bench.examples, 1e-3, 51);
    for (s, example) in bench.examples.iter_mut().enumerate() {
        example.importance = [1.0, 0.5, 2.0][s % 3];
    }
    // A few vertices are enough for an oracle that refits everything.
    let kept: Vec<usize> = (0..bench.rig.mesh().positions.len()).step_by(5).collect();
    let pick = |all: &[DVec3]| -> Vec<DVec3> { kept.iter().map(|&v| all[v]).collect() };
    bench.examples.iter_mut().for_each(|e| e.positions = pick(&e.positions));
    bench.base.iter_mut().for_each(|b| *b = pick(b));
    let weights = bench.rig.weights().cloned().expect("the rig has weights");
    let [maps, weights] = [&bench.maps, &weights].map(|from| {
        dermis_rig::Influences::from_rows(kept.iter().map(|&v| from.of(v).to_vec())).expect("they were finite before")
    });
    bench.maps = maps;
    change_rig(&mut bench.rig, |mesh, _, own| {
        (mesh.positions, *own) = (pick(&mesh.positions), Some(weights));
        mesh.triangles.clear();
    });
    bench
}

/// Oracle for the absolute ridge, whose features and ridge do not depend on the poses at all: fit again without a fold,
/// and predict it. Every fit is one of the library's own, on fewer poses.
#[test]
fn the_sweep_equals_fitting_again_without_each_fold() {
    let bench = noisy_bench();
    for (rows, kind) in
        [(RowChoice::Full, Folds::Single), (RowChoice::Full, Folds::Blocks(5)), (RowChoice::Row, Folds::Single)]
    {
        let grid = vec![1e-2, 1.0];
        let mut settings = plain(rows, 0.0);
        (settings.strength, settings.grid) = (Strength::CrossValidated(kind), grid.clone());
        let sweep = bench.fit(&settings).report.sweep;
        for (point, &s) in sweep.iter().zip(&grid) {
            let mut sum = 0.0;
            for (start, end) in folds(kind, 24) {
                let kept: Vec<usize> = (0..24).filter(|p| !(start..end).contains(p)).collect();
                let correction = bench.subset(&kept).fit(&plain(rows, s)).correction;
                for (predicted, p) in bench.fitted(&correction)[start..end].iter().zip(start..end) {
                    let example = &bench.examples[p];
                    let squares = predicted.iter().zip(&example.positions).map(|(a, b)| a.distance_squared(*b));
                    sum += example.importance.powi(2) * squares.sum::<f64>();
                }
            }
            assert!((point.score - sum).abs() < 1e-8 * sum, "{rows:?} {kind:?} {s}: {} {sum}", point.score);
            let pairs = (24 * bench.rig.mesh().positions.len()) as f64;
            assert!((point.validated - (sum / pairs).sqrt()).abs() < 1e-8 * point.validated);
        }
    }
}

/// One regression written out densely: components, ridges, row-scaled targets.
struct Dense {
    components: Mat<f64>,
    ridges: Vec<f64>,
    targets: Mat<f64>,
}

impl Dense {
    /// Ridge coefficients from some rows, by the normal equations.
    fn solve(&self, rows: &[usize]) -> Mat<f64> {
        let pick = |m: &Mat<f64>| Mat::from_fn(rows.len(), m.ncols(), |i, j| m[(rows[i], j)]);
        let (c, y) = (pick(&self.components), pick(&self.targets));
        let mut normal = c.transpose() * &c;
        for (h, ridge) in self.ridges.iter().enumerate() {
            normal[(h, h)] += ridge;
        }
        normal.partial_piv_lu().solve(c.transpose() * y)
    }

    fn held_out(&self, kind: Folds) -> f64 {
        let poses = self.components.nrows();
        let held = folds(kind, poses).into_iter().map(|(start, end)| {
            let kept: Vec<usize> = (0..poses).filter(|p| !(start..end).contains(p)).collect();
            let error = &self.targets - &self.components * self.solve(&kept);
            error.get(start..end, ..).squared_norm_l2()
        });
        held.sum()
    }

    fn train_and_gcv(&self) -> (f64, f64) {
        let all: Vec<usize> = (0..self.components.nrows()).collect();
        let train = (&self.targets - &self.components * self.solve(&all)).squared_norm_l2();
        let identity = Dense {
            components: self.components.clone(),
            ridges: self.ridges.clone(),
            targets: Mat::identity(all.len(), all.len()),
        };
        let hat = &self.components * identity.solve(&all);
        let free = all.len() as f64 - (0..all.len()).map(|i| hat[(i, i)]).sum::<f64>();
        (train, all.len() as f64 * train / (free * free))
    }
}

/// The regressions of a vertex as the settings describe them, from the matrices alone: principal axes and ridges are
/// those of all poses.
fn dense(bench: &Bench, v: usize, settings: &MweSettings, s: f64) -> Vec<Dense> {
    let anchor = match settings.anchor {
        Anchor::World => None,
        _ => bench.maps.dominant(v),
    };
    let importance: Vec<f64> = bench.examples.iter().map(|e| e.importance).collect();
    let mass: f64 = importance.iter().map(|r| r * r).sum();
    let mut columns: Vec<(usize, f64, f64, Vec<f64>)> = Vec::new(); // row, mu, value at rest, feature per pose
    for &(bone, mu) in
        bench.maps.of(v).iter().filter(|(bone, _)| Some(*bone) != anchor || settings.centring == Centring::Raw)
    {
        for j in 0..3 {
            for c in 0..4 {
                let entry = |e: &dermis_rig::Example| {
                    let m = anchor.map_or(e.transforms[bone], |a| e.transforms[a].inverse() * e.transforms[bone]);
                    if c < 3 { m.matrix3.col(c)[j] } else { m.translation[j] / bench.length }
                };
                columns.push((j, mu, f64::from(u8::from(c == j)), bench.examples.iter().map(entry).collect()));
            }
        }
    }
    let poses = bench.examples.len();
    let target = |p: usize| {
        let residual = bench.examples[p].positions[v] - bench.base[p][v];
        anchor.map_or(residual, |a| bench.examples[p].transforms[a].matrix3.inverse() * residual)
    };
    let axes: &[&[usize]] = if settings.rows == RowChoice::Full { &[&[0, 1, 2]] } else { &[&[0], &[1], &[2]] };
    let problem =
        |axes: &&[usize]| {
            let read: Vec<_> = columns.iter().filter(|c| settings.rows == RowChoice::Full || c.0 == axes[0]).collect();
            let mean = |x: &[f64]| importance.iter().zip(x).map(|(r, x)| r * r * x).sum::<f64>() / mass;
            let centre = |c: &(usize, f64, f64, Vec<f64>)| match settings.centring {
                Centring::Rest => c.2,
                Centring::Raw => 0.0,
                _ => mean(&c.3),
            };
            let table = |scaled: bool, centred: bool| {
                Mat::from_fn(poses, read.len(), |p, i| {
                    let x = read[i].3[p] - if centred { centre(read[i]) } else { 0.0 };
                    importance[p] * x * if scaled { read[i].1 } else { 1.0 }
                })
            };
            let variances = |x: &Mat<f64>| {
                let eigen = (x.transpose() * x).self_adjoint_eigen(Side::Lower).unwrap();
                let values: Vec<f64> = (0..x.ncols()).map(|h| eigen.S().column_vector()[h] / mass).collect();
                (values, eigen.U().to_owned())
            };
            let (values, vectors) = variances(&table(true, true));
            let reference = variances(&table(false, true)).0.into_iter().fold(0.0, f64::max);
            let largest = values.iter().copied().fold(0.0, f64::max);
            let cut = if settings.ridge == RidgeMode::Absolute { 1e-9 * largest } else { settings.eig_tol * largest };
            let kept: Vec<usize> = (0..values.len()).filter(|&h| values[h] > cut).collect();
            let ridge = |v: f64| match settings.ridge {
                RidgeMode::Absolute => s,
                RidgeMode::Paper => s / v,
                RidgeMode::Unit => s * mass / v,
                RidgeMode::Relative => s * mass * reference * reference / v,
            };
            let mut ridges: Vec<f64> = kept.iter().map(|&h| ridge(values[h])).collect();
            let x = table(true, settings.centring != Centring::Paper);
            let axes_of = Mat::from_fn(read.len(), kept.len(), |i, h| vectors[(i, kept[h])]);
            let mut components = x * axes_of;
            let mean_of = |j: usize| mean(&(0..poses).map(|p| target(p)[j]).collect::<Vec<_>>());
            if settings.centring == Centring::Mean {
                components = Mat::from_fn(poses, kept.len() + 1, |p, h| {
                    if h < kept.len() { components[(p, h)] } else { importance[p] }
                });
                ridges.push(0.0);
            }
            let shift = |j| if settings.centring == Centring::Mean { mean_of(j) } else { 0.0 };
            let targets = Mat::from_fn(poses, axes.len(), |p, t| importance[p] * (target(p)[axes[t]] - shift(axes[t])));
            Dense { components, ridges, targets }
        };
    axes.iter().map(problem).collect()
}

/// Oracle: every regression written out densely, refitted by the normal equations without each fold, axes and ridges
/// held fixed. For every ridge and centring, leave-one-out, blocks and generalised cross-validation.
#[test]
fn every_ridge_and_centring_validates_as_a_dense_refit_does() {
    let bench = noisy_bench();
    let kinds = [Strength::CrossValidated(Folds::Single), Strength::CrossValidated(Folds::Blocks(5)), Strength::Gcv];
    let mut turn = 0;
    for ridge in [RidgeMode::Absolute, RidgeMode::Paper, RidgeMode::Unit, RidgeMode::Relative] {
        for centring in [Centring::Rest, Centring::Mean, Centring::Raw, Centring::Paper] {
            for (rows, anchor) in [(RowChoice::Full, Anchor::Dominant), (RowChoice::Row, Anchor::World)] {
                turn += 1;
                let (strength, s) = (kinds[turn % 3], [1e-3, 0.1][turn % 2]);
                let settings = MweSettings {
                    ridge,
                    centring,
                    rows,
                    anchor,
                    strength,
                    grid: vec![s],
                    eig_tol: 1e-8,
                    ..plain(rows, s)
                };
                let sweep = bench.fit(&settings).report.sweep;
                let (mut train, mut score) = (0.0, 0.0);
                for v in 0..bench.maps.vertices() {
                    for dense in dense(&bench, v, &settings, s) {
                        let (part, gcv) = dense.train_and_gcv();
                        train += part;
                        score += match strength {
                            Strength::CrossValidated(kind) => dense.held_out(kind),
                            _ => gcv,
                        };
                    }
                }
                let what = format!("{ridge:?} {centring:?} {rows:?} {strength:?}");
                let pairs = (24 * bench.maps.vertices()) as f64;
                // Normal equations lose up to the square of the condition: 1e8 · 2⁻⁵² of the targets.
                assert!((sweep[0].score - score).abs() < 1e-6 * score, "{what}: {} {score}", sweep[0].score);
                assert!((sweep[0].train.powi(2) * pairs - train).abs() < 1e-6 * train, "{what}");
            }
        }
    }
}

#[test]
fn the_largest_ridge_within_the_tolerance_of_the_best_is_taken() {
    let mut bench = Bench::arm(24, 50).1;
    bench.examples = noisy(&bench.examples, 3e-4, 53);
    let mut settings = MweSettings::for_poses(24, false);
    assert!(settings.tolerance == 1.0 && settings.grid.len() == 21 && settings.grid[0] == 1e-4);
    // Fine, so that some values lie within the tolerance.
    settings.grid = powers(1e-4, 10.0, 8);
    settings.tolerance = 1.03;
    let report = bench.fit(&settings).report;
    let best = report.sweep.iter().map(|p| p.validated).fold(f64::INFINITY, f64::min);
    let within = report.sweep.iter().filter(|p| p.validated <= 1.03 * best).map(|p| p.s);
    assert_eq!(report.s, within.fold(0.0, f64::max));
    let strict = bench.fit(&MweSettings { tolerance: 1.0, ..settings }).report;
    let at_best = strict.sweep.iter().find(|p| p.validated == best).map(|p| p.s);
    assert_eq!(Some(strict.s), at_best);
    assert!(strict.s < report.s, "on noisy data the rule must act: {} {}", strict.s, report.s);
    assert_eq!(choose(&[2.0, 1.0, 1.0], 1.0), Some(1), "ties go to the smaller");
}

#[test]
fn neighbouring_frames_fool_leaving_one_out_and_blocks_see_through_it() {
    // A clip of two cycles whose noise is the same for four frames on end: each frame's neighbour predicts its noise.
    let arm = dermis_testkit::Arm::new(9, 6);
    let clean = arm.clip(60);
    let mut examples = noisy(&clean, 2e-3, 52);
    for s in 0..60 {
        let leader = s / 4 * 4;
        for v in 0..examples[s].positions.len() {
            examples[s].positions[v] =
                clean[s].positions[v] + (examples[leader].positions[v] - clean[leader].positions[v]);
        }
    }
    let bench = Bench::new(&arm.rig, examples);
    let chosen = |folds| {
        let mut settings =
            MweSettings { strength: Strength::CrossValidated(folds), ..MweSettings::for_poses(60, true) };
        settings.tolerance = 1.0;
        bench.fit(&settings).report.s
    };
    assert_eq!(MweSettings::for_poses(60, true).strength, Strength::CrossValidated(Folds::Blocks(5)));
    assert!(chosen(Folds::Blocks(5)) > chosen(Folds::Single), "{} {}", chosen(Folds::Blocks(5)), chosen(Folds::Single));
}

#[test]
fn the_training_error_grows_with_the_ridge_and_a_huge_ridge_returns_the_base() {
    let bench = noisy_bench();
    for centring in [Centring::Rest, Centring::Mean, Centring::Raw, Centring::Paper] {
        for ridge in [RidgeMode::Absolute, RidgeMode::Paper, RidgeMode::Unit, RidgeMode::Relative] {
            let mut settings = plain(RowChoice::Full, 0.0);
            (settings.centring, settings.ridge) = (centring, ridge);
            (settings.strength, settings.grid) = (Strength::Gcv, powers(1e-6, 100.0, 2));
            let train: Vec<f64> = bench.fit(&settings).report.sweep.iter().map(|p| p.train).collect();
            assert!(train.windows(2).all(|w| w[1] >= w[0] * (1.0 - 1e-12)), "{centring:?} {ridge:?} {train:?}");
        }
    }
    let correction = bench.fit(&plain(RowChoice::Full, 1e12)).correction;
    let largest = correction.coefficients.iter().fold(0.0f64, |most, u| most.max(u.abs()));
    assert!(largest < 1e-12, "{largest}");
}

/// The coefficients, folded and evaluated as a model, leave the residuals the sweep has promised: constants, maps and
/// centres are where they belong.
#[test]
fn the_model_leaves_what_the_sweep_says_it_leaves() {
    let mut bench = noisy_bench();
    bench.examples.iter_mut().for_each(|e| e.importance = 1.0);
    for ridge in [RidgeMode::Absolute, RidgeMode::Paper, RidgeMode::Unit, RidgeMode::Relative] {
        for centring in [Centring::Rest, Centring::Mean, Centring::Raw, Centring::Paper] {
            for (rows, anchor) in [(RowChoice::Full, Anchor::Dominant), (RowChoice::Row, Anchor::World)] {
                let (strength, grid) = (Strength::Gcv, vec![1e-3]);
                let settings =
                    MweSettings { ridge, centring, anchor, strength, grid, eig_tol: 1e-8, ..plain(rows, 0.0) };
                let fit = bench.fit(&settings);
                let left = rms(&bench.fitted(&fit.correction), &bench.targets());
                let promised = fit.report.sweep[0].train;
                assert!(
                    (left - promised).abs() < 1e-7 * promised,
                    "{ridge:?} {centring:?} {rows:?}: {left} {promised}"
                );
            }
        }
    }
}
