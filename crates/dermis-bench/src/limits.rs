//! What the machine allows: multiply-adds per second, and bytes per second from memory.

use crate::timing::{best, on_threads, thread_counts};
use dermis_solve::simd::{self, Fma, Kernel, LANES_F32, LANES_F64};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::hint::black_box;

/// Chains of multiply-adds that do not wait for each other. Four cycles of latency and two instructions a cycle need eight
/// registers: eight chains of AVX-512 would do, but with AVX2 each chain is two of sixteen registers.
const CHAINS: usize = 6;

/// x ← a x + b in [`CHAINS`] vectors of `f64`.
struct MultiplyAddF64(u64, f64, f64);

impl Kernel for MultiplyAddF64 {
    type Output = [[f64; LANES_F64]; CHAINS];
    #[inline(always)]
    fn run<F: Fma>(self) -> Self::Output {
        let Self(rounds, a, b) = self;
        let mut x = [[b; LANES_F64]; CHAINS];
        for _ in 0..rounds {
            for chain in 0..CHAINS {
                for lane in 0..LANES_F64 {
                    x[chain][lane] = F::f64(x[chain][lane], a, b);
                }
            }
        }
        x
    }
}

/// The same in `f32`.
struct MultiplyAddF32(u64, f32, f32);

impl Kernel for MultiplyAddF32 {
    type Output = [[f32; LANES_F32]; CHAINS];
    #[inline(always)]
    fn run<F: Fma>(self) -> Self::Output {
        let Self(rounds, a, b) = self;
        let mut x = [[b; LANES_F32]; CHAINS];
        for _ in 0..rounds {
            for chain in 0..CHAINS {
                for lane in 0..LANES_F32 {
                    x[chain][lane] = F::f32(x[chain][lane], a, b);
                }
            }
        }
        x
    }
}

/// a = b + s c.
struct Triad<'a>(&'a mut [f32], &'a [f32], &'a [f32], f32);

impl Kernel for Triad<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(self) {
        let Self(a, b, c, s) = self;
        for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
            *a = F::f32(s, *c, *b);
        }
    }
}

/// Partial sums of b c: reads alone.
struct Dot<'a>(&'a [f32], &'a [f32]);

impl Kernel for Dot<'_> {
    type Output = [[f32; LANES_F32]; CHAINS];
    #[inline(always)]
    fn run<F: Fma>(self) -> Self::Output {
        let mut sums = [[0.0; LANES_F32]; CHAINS];
        let step = LANES_F32 * CHAINS;
        for (b, c) in self.0.chunks_exact(step).zip(self.1.chunks_exact(step)) {
            for chain in 0..CHAINS {
                for lane in 0..LANES_F32 {
                    let at = chain * LANES_F32 + lane;
                    sums[chain][lane] = F::f32(b[at], c[at], sums[chain][lane]);
                }
            }
        }
        sums
    }
}

/// Multiply-adds and bytes per second for one thread and for all, and the clock while they run: the best of many short runs, so
/// that other work on the machine spoils few of them.
pub fn measure(quick: bool) -> Value {
    let (rounds, floats, most) = if quick { (1 << 18, 1 << 20, 4) } else { (1 << 20, 1 << 26, 24) };
    let rates: Vec<Value> = thread_counts()
        .into_iter()
        .map(|threads| {
            on_threads(threads, || {
                let of_all = |lanes: usize, seconds: f64| (rounds * (CHAINS * lanes * threads) as u64) as f64 / seconds;
                let f64s = best(4 * most, || {
                    rayon::broadcast(|_| black_box(simd::run(MultiplyAddF64(rounds, black_box(0.5), 1.0))));
                });
                let f32s = best(4 * most, || {
                    rayon::broadcast(|_| black_box(simd::run(MultiplyAddF32(rounds, black_box(0.5), 1.0))));
                });
                let (triad, read) = bandwidth(floats, threads, most);
                json!({
                    "threads": threads,
                    "fma_f64_per_s": of_all(LANES_F64, f64s), "fma_f32_per_s": of_all(LANES_F32, f32s),
                    "triad_bytes_per_s": triad, "read_bytes_per_s": read,
                })
            })
        })
        .collect();
    json!({ "level": simd::level().to_string(), "clock_hz": clock(rounds, 4 * most), "array_bytes": 4 * floats, "rates": rates })
}

/// Bytes per second of the triad, counted as STREAM does (two arrays read, one written), and of reading two arrays.
fn bandwidth(floats: usize, threads: usize, most: usize) -> (f64, f64) {
    let (mut a, b, c) = (vec![0.0f32; floats], vec![1.0f32; floats], vec![2.0f32; floats]);
    let part = floats.div_ceil(threads);
    let triad = best(most, || {
        let parts = a.par_chunks_mut(part).zip(b.par_chunks(part)).zip(c.par_chunks(part));
        parts.for_each(|((a, b), c)| simd::run(Triad(a, b, c, 3.0)));
    });
    assert!(a.iter().all(|a| *a == 7.0), "the triad computes 1 + 3 · 2");
    let read = best(most, || {
        let parts = b.par_chunks(part).zip(c.par_chunks(part));
        parts.for_each(|(b, c)| {
            black_box(simd::run(Dot(b, c)));
        });
    });
    ((12 * floats) as f64 / triad, (8 * floats) as f64 / read)
}

/// Cycles per second, from a chain of dependent 64-bit multiplications and rotations: three cycles and one on x86-64 since 2008
/// and on most arm cores.
fn clock(rounds: u64, most: usize) -> f64 {
    let seconds = best(most, || {
        let (mut x, factor) = (black_box(3u64), black_box(5u64));
        for _ in 0..rounds {
            x = x.wrapping_mul(factor).rotate_left(1);
        }
        black_box(x);
    });
    4.0 * rounds as f64 / seconds
}
