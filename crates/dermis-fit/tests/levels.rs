//! The batched solve at every set of vector instructions that this machine has, with few threads and many. A test program of
//! its own: the level is one for the process.

mod bench;

use bench::Bench;
use dermis_fit::mwe::{MweSettings, SolvePrecision};
use dermis_solve::simd::{self, Level};
use dermis_testkit::noisy;
use std::sync::Mutex;

/// One test at a time. The level is one for the process, so two tests would change it under each other; every test of this
/// program therefore runs inside [`at_every_level`], which holds the lock.
static LEVEL: Mutex<()> = Mutex::new(());

/// Noisy examples of different importance; two of them twice.
fn bench() -> Bench {
    let mut bench = Bench::arm(30, 7).1;
    bench.examples = noisy(&bench.examples, 1e-3, 8);
    for (s, example) in bench.examples.iter_mut().enumerate() {
        example.importance = 0.5 + 0.1 * s as f64;
    }
    bench.subset(&(0..30).chain([1, 3]).collect::<Vec<_>>())
}

/// Coefficients at every level, which threads do not change by a bit.
fn at_every_level(settings: &MweSettings) -> Vec<(Level, Vec<f64>)> {
    let _one = LEVEL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let bench = bench();
    let before = simd::level();
    let mut made = Vec::new();
    for level in simd::available() {
        simd::set_level(level).unwrap();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bench.fit(settings)).correction.coefficients
        };
        let (one, sixteen) = (on(1), on(16));
        assert_eq!(one, sixteen, "{level}");
        made.push((level, one));
    }
    simd::set_level(before).unwrap();
    made
}

fn both_forms() -> [MweSettings; 2] {
    [MweSettings::published(1e-3), MweSettings::for_poses(30, false)]
}

/// Levels with fused products agree to rounding with those without.
#[test]
fn every_level_gives_the_same_model_and_threads_the_same_bits() {
    for settings in both_forms() {
        let made = at_every_level(&settings);
        let first = &made[0].1;
        let largest = first.iter().fold(0.0f64, |most, u| most.max(u.abs()));
        for (level, coefficients) in &made {
            let agree = first.iter().zip(coefficients).all(|(a, b)| (a - b).abs() < 1e-10 * largest);
            assert!(agree, "{level}");
        }
    }
}

/// In single precision, levels that fuse products agree to the bit, however many vertices a register holds.
#[test]
fn in_single_precision_threads_and_registers_give_the_same_bits() {
    for settings in both_forms() {
        let made = at_every_level(&MweSettings { solve_in: SolvePrecision::Single, ..settings });
        let fused = made.iter().filter(|(level, _)| matches!(level, Level::Avx2 | Level::Avx512));
        let fused: Vec<_> = fused.map(|(_, coefficients)| coefficients).collect();
        assert!(fused.windows(2).all(|pair| pair[0] == pair[1]), "AVX2 and AVX-512 differ");
    }
}
