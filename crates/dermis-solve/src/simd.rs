//! Vector instructions of the hot loops: one source, compiled for each set of instructions, chosen at run time.
//!
//! A hot loop is either a [`Kernel`], plain loops over arrays of [`LANES_F64`] or [`LANES_F32`] numbers, which the compiler
//! turns into the vectors of the level it is compiled for. Or, where the compiler does not vectorise them, it is a [`WithSimd`] of
//! the crate `pulp`, which names its vectors and has as many lanes as the level. No `unsafe` is needed for either. Levels differ in
//! whether a product and a sum are rounded once or twice ([`Fma`], `mul_add_e`).
//!
//! The level is one for the process: the best the machine has, unless [`set_level`] says otherwise. WebAssembly has the level scalar alone,
//! with whatever vectors the module is compiled for: none of its vectors rounds a product and a sum once.

pub use pulp::{Simd, WithSimd};

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU8, Ordering};

/// Lanes of `f64` kernels: one AVX-512 register, two of AVX2, four of NEON.
pub const LANES_F64: usize = 8;
/// Lanes of `f32` kernels.
pub const LANES_F32: usize = 16;

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// What every machine of the target has (SSE2 on x86-64).
    Scalar = 1,
    /// aarch64.
    Neon = 2,
    /// AVX2 and FMA (x86-64-v3).
    Avx2 = 3,
    /// AVX-512 F, CD, BW, DQ, VL (x86-64-v4).
    Avx512 = 4,
}

/// A level this machine has not, or a name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LevelError {
    /// Not a name.
    #[error("\"{0}\" is no set of vector instructions: scalar, neon, avx2 or avx512")]
    Unknown(String),
    /// Not on this machine.
    #[error("this machine does not have {0}; it has {1}")]
    Missing(Level, Level),
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        })
    }
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(name: &str) -> Result<Self, LevelError> {
        let all = [Self::Scalar, Self::Neon, Self::Avx2, Self::Avx512];
        all.into_iter().find(|l| l.to_string() == name).ok_or_else(|| LevelError::Unknown(name.to_owned()))
    }
}

/// The levels of this machine, best last.
pub fn available() -> Vec<Level> {
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_mut))]
    let mut found = vec![Level::Scalar];
    #[cfg(target_arch = "aarch64")]
    found.extend(pulp::aarch64::Neon::try_new().map(|_| Level::Neon));
    #[cfg(target_arch = "x86_64")]
    {
        found.extend(pulp::x86::V3::try_new().map(|_| Level::Avx2));
        found.extend(pulp::x86::V4::try_new().map(|_| Level::Avx512));
    }
    found
}

/// Zero until it is first asked for.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The level in use.
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Scalar,
        2 => Level::Neon,
        3 => Level::Avx2,
        4 => Level::Avx512,
        _ => {
            let best = available().pop().unwrap_or(Level::Scalar);
            LEVEL.store(best as u8, Ordering::Relaxed);
            best
        }
    }
}

/// Uses another level from now on, in the whole process.
///
/// # Errors
/// [`LevelError::Missing`] if this machine does not have it.
pub fn set_level(level: Level) -> Result<(), LevelError> {
    let available = available();
    match available.contains(&level) {
        true => {
            LEVEL.store(level as u8, Ordering::Relaxed);
            Ok(())
        }
        false => Err(LevelError::Missing(level, available[available.len() - 1])),
    }
}

/// How a product is added.
pub trait Fma: Copy {
    /// a b + c in `f64`.
    fn f64(a: f64, b: f64, c: f64) -> f64;
    /// a b + c in `f32`.
    fn f32(a: f32, b: f32, c: f32) -> f32;
}

/// Rounded once, by an instruction.
#[derive(Clone, Copy)]
pub struct Fused;
/// Rounded twice: without the instruction a fused product is a slow call.
#[derive(Clone, Copy)]
pub struct Apart;

impl Fma for Fused {
    #[inline(always)]
    fn f64(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn f32(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Fma for Apart {
    #[inline(always)]
    fn f64(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
    #[inline(always)]
    fn f32(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// A hot loop.
pub trait Kernel {
    /// What it gives.
    type Output;
    /// Runs the loop. It must be `#[inline(always)]`, and so must every function it calls that is to be compiled for the level.
    fn run<F: Fma>(self) -> Self::Output;
}

/// Runs a kernel with the level in use. Costs a few nanoseconds: call it for thousands of operations.
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(dead_code))]
    struct With<K, F>(K, std::marker::PhantomData<F>);
    impl<K: Kernel, F: Fma> pulp::NullaryFnOnce for With<K, F> {
        type Output = K::Output;
        #[inline(always)]
        fn call(self) -> K::Output {
            self.0.run::<F>()
        }
    }
    match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if let Some(v4) = pulp::x86::V4::try_new() => {
            v4.vectorize(With(kernel, std::marker::PhantomData::<Fused>))
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if let Some(v3) = pulp::x86::V3::try_new() => {
            v3.vectorize(With(kernel, std::marker::PhantomData::<Fused>))
        }
        #[cfg(target_arch = "aarch64")]
        Level::Neon if let Some(neon) = pulp::aarch64::Neon::try_new() => {
            neon.vectorize(With(kernel, std::marker::PhantomData::<Fused>))
        }
        _ => kernel.run::<Apart>(),
    }
}

/// Runs a loop on vectors by name with the level in use.
pub fn run_with<W: WithSimd>(op: W) -> W::Output {
    match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if let Some(v4) = pulp::x86::V4::try_new() => Simd::vectorize(v4, op),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if let Some(v3) = pulp::x86::V3::try_new() => Simd::vectorize(v3, op),
        #[cfg(target_arch = "aarch64")]
        Level::Neon if let Some(neon) = pulp::aarch64::Neon::try_new() => Simd::vectorize(neon, op),
        _ => op.with_simd(pulp::Scalar),
    }
}

/// A buffer whose part in use starts at a cache line, so that no vector straddles two.
#[derive(Clone, Debug, Default)]
pub struct Buffer<T = f64>(Vec<T>);

impl<T: Copy + Default> Buffer<T> {
    /// `len` numbers; what they hold is what was left there.
    #[inline(always)]
    pub fn get(&mut self, len: usize) -> &mut [T] {
        let line = 64 / size_of::<T>().clamp(1, 64);
        if self.0.len() < len + line {
            self.0.resize(len + line, T::default());
        }
        let skipped = self.0.as_ptr().align_offset(64).min(line);
        &mut self.0[skipped..skipped + len]
    }
}
