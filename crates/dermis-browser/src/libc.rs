//! What ufbx asks of a C library. It is compiled without one (`UFBX_NO_LIBC`), because a browser has none.
//!
//! # Safety
//!
//! ufbx vouches for what the C standard asks of the caller of the function of the same name: places are as long as the length beside
//! them, texts end with a zero byte, and memory comes back with the size that it was asked for with.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cmp::Ordering;
use std::ptr::null_mut;
use std::slice::from_raw_parts;

/// The strictest alignment that C asks of `malloc`.
const ALIGNMENT: usize = 16;

/// How much is asked for, at least a byte; `None` beyond the memory that there can be.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.max(1), ALIGNMENT).ok()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_malloc(size: usize) -> *mut u8 {
    // SAFETY: the layout is not empty.
    layout(size).map_or(null_mut(), |layout| unsafe { alloc(layout) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_realloc(place: *mut u8, old: usize, new: usize) -> *mut u8 {
    match (place.is_null(), layout(old), layout(new)) {
        // SAFETY: as `ufbx_malloc`.
        (true, ..) => unsafe { ufbx_malloc(new) },
        // SAFETY: the place has the old layout, and the new size is one of a layout.
        (false, Some(old), Some(new)) => unsafe { realloc(place, old, new.size()) },
        _ => null_mut(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_free(place: *mut u8, size: usize) {
    if let (false, Some(layout)) = (place.is_null(), layout(size)) {
        // SAFETY: the place has this layout.
        unsafe { dealloc(place, layout) }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_strlen(text: *const u8) -> usize {
    // SAFETY: the text ends with a zero byte, and nothing behind it is read.
    (0..).take_while(|&at| unsafe { *text.add(at) } != 0).count()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: both places have this length and do not overlap.
    unsafe { to.copy_from_nonoverlapping(from, count) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: both places have this length.
    unsafe { to.copy_from(from, count) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_memset(place: *mut u8, byte: i32, count: usize) -> *mut u8 {
    // SAFETY: the place has this length.
    unsafe { place.write_bytes(byte as u8, count) };
    place
}

/// # Safety
/// The place has this length, unless it is zero.
unsafe fn bytes<'a>(place: *const u8, count: usize) -> &'a [u8] {
    // SAFETY: the caller vouches for it.
    if count == 0 { &[] } else { unsafe { from_raw_parts(place, count) } }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_memchr(place: *const u8, byte: i32, count: usize) -> *const u8 {
    // SAFETY: the place has this length.
    let found = unsafe { bytes(place, count) }.iter().position(|&other| other == byte as u8);
    found.map_or(null_mut(), |at| place.wrapping_add(at))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    // SAFETY: both places have this length.
    unsafe { bytes(a, count).cmp(bytes(b, count)) as i32 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_strncmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    for at in 0..count {
        // SAFETY: neither text has ended before this byte.
        let (a, b) = unsafe { (*a.add(at), *b.add(at)) };
        if a != b || a == 0 {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ufbx_strcmp(a: *const u8, b: *const u8) -> i32 {
    // SAFETY: both texts end with a zero byte, where the comparison ends.
    unsafe { ufbx_strncmp(a, b, usize::MAX) }
}

/// Functions of one number, by their names in C and here.
macro_rules! of_one {
    ($($c:ident $rust:ident),*) => {
        $(#[unsafe(no_mangle)] extern "C" fn $c(x: f64) -> f64 { x.$rust() })*
    };
}

/// The same of two numbers.
macro_rules! of_two {
    ($($c:ident $rust:ident),*) => {
        $(#[unsafe(no_mangle)] extern "C" fn $c(x: f64, y: f64) -> f64 { x.$rust(y) })*
    };
}

of_one!(ufbx_sqrt sqrt, ufbx_sin sin, ufbx_cos cos, ufbx_tan tan, ufbx_asin asin, ufbx_acos acos, ufbx_atan atan);
of_one!(ufbx_fabs abs, ufbx_rint round_ties_even, ufbx_floor floor, ufbx_ceil ceil);
of_two!(ufbx_atan2 atan2, ufbx_pow powf, ufbx_fmin min, ufbx_fmax max, ufbx_copysign copysign);

#[unsafe(no_mangle)]
extern "C" fn ufbx_nextafter(x: f64, y: f64) -> f64 {
    match x.partial_cmp(&y) {
        Some(Ordering::Less) => x.next_up(),
        Some(Ordering::Greater) => x.next_down(),
        Some(Ordering::Equal) => y,
        None => f64::NAN,
    }
}

#[unsafe(no_mangle)]
extern "C" fn ufbx_isnan(x: f64) -> i32 {
    i32::from(x.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn texts_and_bytes_are_compared_as_in_c() {
        let order = |a: &CStr, b: &CStr, count: usize| {
            let (a, b): (*const u8, *const u8) = (a.as_ptr().cast(), b.as_ptr().cast());
            // SAFETY: both texts end with a zero byte.
            unsafe { (ufbx_strcmp(a, b).signum(), ufbx_strncmp(a, b, count).signum()) }
        };
        assert_eq!(order(c"abc", c"abd", 2), (-1, 0));
        assert_eq!(order(c"abc", c"ab", 3), (1, 1));
        assert_eq!(order(c"", c"", 9), (0, 0));
        assert_eq!(order(c"\xff", c"a", 1), (1, 1)); // bytes, not signed characters
        let bytes = [3, 1, 4, 1, 5, 0];
        let at = bytes.as_ptr();
        // SAFETY: all places have these lengths.
        unsafe {
            assert_eq!(ufbx_strlen(at), 5);
            assert_eq!(ufbx_memchr(at, 0x101, 6), at.add(1)); // as an unsigned char
            assert!(ufbx_memchr(at, 9, 6).is_null() && ufbx_memchr(at, 3, 0).is_null());
            assert_eq!(ufbx_memcmp(at, [3, 1, 5].as_ptr(), 3), -1);
            assert_eq!(ufbx_memcmp(at, std::ptr::null(), 0), 0);
        }
    }

    #[test]
    fn memory_grows_moves_and_is_given_back() {
        // SAFETY: every place has the length that it is used with.
        unsafe {
            let place = ufbx_realloc(null_mut(), 0, 3);
            ufbx_memcpy(place, [1, 2, 3].as_ptr(), 3);
            let place = ufbx_realloc(place, 3, 4000);
            assert_eq!(place.align_offset(ALIGNMENT), 0);
            ufbx_memmove(place.add(1), place, 3);
            ufbx_memset(place, 0x107, 1);
            assert_eq!(bytes(place, 4), [7, 1, 2, 3]);
            ufbx_free(place, 4000);
            let empty = ufbx_malloc(0);
            assert!(!empty.is_null() && ufbx_malloc(usize::MAX).is_null());
            ufbx_free(empty, 0);
            ufbx_free(null_mut(), 8);
        }
    }

    #[test]
    fn numbers_are_those_of_c() {
        assert_eq!([ufbx_rint(0.5), ufbx_rint(1.5), ufbx_rint(-2.5)], [0.0, 2.0, -2.0]);
        assert_eq!([ufbx_fmin(f64::NAN, 1.0), ufbx_fmax(1.0, f64::NAN)], [1.0, 1.0]);
        assert_eq!(
            [ufbx_nextafter(1.0, 2.0), ufbx_nextafter(1.0, 0.0)],
            [1.0 + f64::EPSILON, 1.0 - f64::EPSILON / 2.0]
        );
        assert!(ufbx_nextafter(0.0, -0.0).is_sign_negative() && ufbx_nextafter(f64::NAN, 0.0).is_nan());
        assert_eq!((ufbx_isnan(f64::NAN), ufbx_isnan(f64::INFINITY)), (1, 0));
        assert_eq!(ufbx_pow(2.0, ufbx_copysign(3.0, -0.0)), 0.125);
    }
}
