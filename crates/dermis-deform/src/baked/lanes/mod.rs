//! Arithmetic and transposition of eight vertices side by side, one in each lane. Nothing here knows what a model is.
//!
//! Each vertex first sums what it reads for itself (matrices, quaternions, coefficients), in registers of its own. The
//! eight partial sums are then transposed, so that each register holds one component of eight vertices. What follows is
//! one stream of instructions for all eight.
//!
//! Only the transposition names its vectors, because the compiler does not find it in loops. On x86-64 with AVX2 it uses
//! the intrinsics of `pulp`, which are safe: each asks for a token that proves the machine has it. In WebAssembly it uses the vectors of the
//! module, where it is compiled with any. Elsewhere it is plain loops. Whatever runs here must be `#[inline(always)]`; a function or closure that is not inlined is compiled for no
//! particular level of vector instructions.

mod eight;
mod plain;
mod registers;
mod stored;
mod vectors;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use eight::{EIGHT, Eight, EightKernel, numbers, padded, store};
pub(super) use registers::{Columns, DualQuaternion, FEW, Four, Table};
pub(super) use stored::Stored;
pub(super) use vectors::{cross, turned};

use dermis_solve::simd::{self, Fma, Kernel};

/// Runs a loop over eight vertices at a time, with the level of vector instructions in use.
#[cfg_attr(all(target_arch = "wasm32", target_feature = "simd128"), allow(unreachable_code))]
pub(super) fn run(kernel: impl EightKernel) {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return kernel.run(wasm::Vectors);
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new().filter(|_| simd::level() >= simd::Level::Avx2) {
        // AVX-512 brings more registers; the operations on them are the same.
        return match pulp::x86::V4::try_new().filter(|_| simd::level() == simd::Level::Avx512) {
            Some(v4) => v4.vectorize(x86::With(v3, kernel)),
            None => v3.vectorize(x86::With(v3, kernel)),
        };
    }
    struct Loops<K>(K);
    impl<K: EightKernel> Kernel for Loops<K> {
        type Output = ();
        #[inline(always)]
        fn run<F: Fma>(self) {
            self.0.run(plain::Plain::<F>(std::marker::PhantomData));
        }
    }
    simd::run(Loops(kernel));
}
