//! Stored numbers on their way into registers: `f32` as they are, 16-bit integers widened.

use super::eight::EIGHT;
#[cfg(target_arch = "x86_64")]
use pulp::{cast, x86::V3};
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use std::arch::wasm32::v128;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256i};

/// A stored coefficient.
pub(in crate::baked) trait Stored: Copy + Default {
    /// One of each of eight vertices, placed so that a register is loaded from one line of a cache.
    type Row: Copy + Default + std::fmt::Debug + AsRef<[Self; EIGHT]> + AsMut<[Self; EIGHT]>;

    /// In units of its vertex.
    fn wide(self) -> f32;

    /// Whether twelve coefficients are arranged in two halves of sixteen as those of even and those of odd index, each half
    /// filled up; otherwise they stand in their order, and the end is filled up.
    const INTERLEAVED: bool;
    /// What multiplies the features that arranged coefficients are multiplied with.
    const SCALE: f32;
    /// The first twelve coefficients of a list, arranged, in units of `SCALE` over that of their vertex.
    fn arranged(list: &[Self]) -> [f32; 16];
    /// [`arranged`](Self::arranged), where features are zero in the places filled up.
    #[cfg(target_arch = "x86_64")]
    fn registers(v3: V3, list: &[Self]) -> [__m256; 2];

    /// Eight coefficients, in units of their vertex.
    #[cfg(target_arch = "x86_64")]
    fn eight(v3: V3, list: &[Self; EIGHT]) -> __m256;

    /// [`arranged`](Self::arranged), where features are zero in the places filled up: two halves, of two vectors each.
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    fn vectors(list: &[Self]) -> [[v128; 2]; 2];

    /// Eight coefficients, in units of their vertex.
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    fn two(list: &[Self; EIGHT]) -> [v128; 2];

    /// Twelve features arranged as coefficients are.
    fn arrange(features: &[f64; 12]) -> [f32; 16] {
        let mut made = [0.0; 16];
        for (i, f) in features.iter().enumerate() {
            let at = if Self::INTERLEAVED { 8 * (i % 2) + i / 2 } else { i };
            made[at] = *f as f32 * Self::SCALE;
        }
        made
    }
}

/// Eight numbers in 32 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub(in crate::baked) struct WideRow([f32; EIGHT]);

/// Eight numbers in 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub(in crate::baked) struct NarrowRow([i16; EIGHT]);

impl AsRef<[f32; EIGHT]> for WideRow {
    #[inline(always)]
    fn as_ref(&self) -> &[f32; EIGHT] {
        &self.0
    }
}

impl AsMut<[f32; EIGHT]> for WideRow {
    fn as_mut(&mut self) -> &mut [f32; EIGHT] {
        &mut self.0
    }
}

impl AsRef<[i16; EIGHT]> for NarrowRow {
    #[inline(always)]
    fn as_ref(&self) -> &[i16; EIGHT] {
        &self.0
    }
}

impl AsMut<[i16; EIGHT]> for NarrowRow {
    fn as_mut(&mut self) -> &mut [i16; EIGHT] {
        &mut self.0
    }
}

impl Stored for f32 {
    type Row = WideRow;

    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }

    const INTERLEAVED: bool = false;
    const SCALE: f32 = 1.0;

    #[inline(always)]
    fn arranged(list: &[f32]) -> [f32; 16] {
        let mut made = [0.0; 16];
        made[..12].copy_from_slice(&list[..12]);
        made
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn registers(v3: V3, list: &[f32]) -> [__m256; 2] {
        let (low, high) = list[..12].split_at(8);
        let low: [f32; 8] = std::array::from_fn(|i| low[i]);
        let high: [f32; 4] = std::array::from_fn(|i| high[i]);
        [cast(low), v3.avx._mm256_zextps128_ps256(cast(high))]
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn eight(_: V3, list: &[f32; EIGHT]) -> __m256 {
        cast(*list)
    }

    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    #[inline(always)]
    fn vectors(list: &[f32]) -> [[v128; 2]; 2] {
        pulp::cast(Self::arranged(list))
    }

    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    #[inline(always)]
    fn two(list: &[f32; EIGHT]) -> [v128; 2] {
        pulp::cast(*list)
    }
}

impl Stored for i16 {
    type Row = NarrowRow;

    #[inline(always)]
    fn wide(self) -> f32 {
        f32::from(self)
    }

    /// Two coefficients lie in 32 bits: one is what is left of them after a shift, the other after its bits are taken away, each
    /// 2¹⁶ times too large. That spares widening them.
    const INTERLEAVED: bool = true;
    const SCALE: f32 = 1.0 / 65536.0;

    #[inline(always)]
    fn arranged(list: &[i16]) -> [f32; 16] {
        let mut made = [0.0; 16];
        for (i, u) in list[..12].iter().enumerate() {
            made[8 * (i % 2) + i / 2] = f32::from(*u) * 65536.0;
        }
        made
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn registers(v3: V3, list: &[i16]) -> [__m256; 2] {
        // Twelve are 24 bytes; four more, whatever they are, make a register.
        let all: __m256i = match list.first_chunk::<16>() {
            Some(all) => cast(*all),
            None => {
                let mut all = [0; 16];
                all[..12].copy_from_slice(&list[..12]);
                cast(all)
            }
        };
        let odd = v3.avx2._mm256_and_si256(all, cast([0xffff_0000u32; 8]));
        let even = v3.avx2._mm256_slli_epi32::<16>(all);
        [v3.avx._mm256_cvtepi32_ps(even), v3.avx._mm256_cvtepi32_ps(odd)]
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn eight(v3: V3, list: &[i16; EIGHT]) -> __m256 {
        v3.avx._mm256_cvtepi32_ps(v3.avx2._mm256_cvtepi16_epi32(cast(*list)))
    }

    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    #[inline(always)]
    fn vectors(list: &[i16]) -> [[v128; 2]; 2] {
        use std::arch::wasm32::{f32x4_convert_i32x4 as float, i32x4_shl, i32x4_splat, v128_and};
        // As [`registers`](Self::registers).
        let all = match list.first_chunk::<16>() {
            Some(all) => *all,
            None => {
                let mut all = [0; 16];
                all[..12].copy_from_slice(&list[..12]);
                all
            }
        };
        let ([a, b], high): ([v128; 2], _) = (pulp::cast(all), i32x4_splat(0xffff_0000_u32.cast_signed()));
        [[float(i32x4_shl(a, 16)), float(i32x4_shl(b, 16))], [float(v128_and(a, high)), float(v128_and(b, high))]]
    }

    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    #[inline(always)]
    fn two(list: &[i16; EIGHT]) -> [v128; 2] {
        use std::arch::wasm32::{f32x4_convert_i32x4 as float, i32x4_extend_high_i16x8, i32x4_extend_low_i16x8};
        let all: v128 = pulp::cast(*list);
        [float(i32x4_extend_low_i16x8(all)), float(i32x4_extend_high_i16x8(all))]
    }
}
