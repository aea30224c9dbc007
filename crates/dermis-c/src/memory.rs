//! The caller's memory: checked against the lengths that come with it, then read or written one number at a time, so that
//! no reference to it exists. Positions and normals may therefore lie interleaved in one buffer.

use crate::status::{DERMIS_ERROR_ALIGNMENT, DERMIS_ERROR_BUFFER, DERMIS_ERROR_STRIDE, DERMIS_ERROR_VALUE, Failure};
use dermis_rig::glam::Vec3;
use std::ffi::{CStr, c_char};

/// Room for three floats per vertex, in memory of the caller.
///
/// The library writes x, y, z of vertex v at the address `first` + v * `stride`, and no other byte. Two outputs of one call may
/// lie interleaved in one buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DermisFloats {
    /// x of the first vertex.
    pub first: *mut f32,
    /// How many floats there are from `first` to the end of the buffer, those between the vertices included.
    pub floats: usize,
    /// Bytes from one vertex to the next, a multiple of 4 and at least 12. 0 stands for 12: vertices without gaps.
    pub stride: usize,
}

/// Checks elements of `size` bytes in a buffer of `bytes` bytes; the stride in bytes.
///
/// - `number`: bytes of one number, which the stride is a multiple of
pub(crate) fn check_strided(
    what: &str,
    count: usize,
    size: usize,
    stride: usize,
    number: usize,
    bytes: usize,
) -> Result<usize, Failure> {
    let stride = if stride == 0 { size } else { stride };
    if stride < size || !stride.is_multiple_of(number) {
        let message = format!(
            "the stride of the {what} is {stride} bytes; it must be a multiple of {number}, and at least {size}"
        );
        return Err(Failure::new(DERMIS_ERROR_STRIDE, message));
    }
    let needed = match count {
        0 => Some(0),
        _ => stride.checked_mul(count - 1).and_then(|start| start.checked_add(size)),
    };
    // No object is larger than isize::MAX bytes, so that offsets below cannot overflow.
    match needed.filter(|&needed| needed <= isize::MAX as usize) {
        Some(needed) if needed <= bytes => Ok(stride),
        _ => {
            let needed = needed.map_or_else(|| "more bytes than there are addresses".into(), |n| format!("{n} bytes"));
            let message =
                format!("the {what} have {bytes} bytes; {count} of them, {stride} bytes apart, take {needed}");
            Err(Failure::new(DERMIS_ERROR_BUFFER, message))
        }
    }
}

/// Refuses a pointer to numbers of 4 bytes that is not aligned.
fn check_alignment<T>(what: &str, pointer: *const T) -> Result<(), Failure> {
    match pointer.is_aligned() {
        true => Ok(()),
        false => {
            Err(Failure::new(DERMIS_ERROR_ALIGNMENT, format!("the {what} at {pointer:p} are not aligned to 4 bytes")))
        }
    }
}

/// Bytes of `floats` floats; as many as there can be if that is more.
fn bytes_of(floats: usize) -> usize {
    floats.saturating_mul(4)
}

/// Writes three floats per vertex.
///
/// # Safety
/// `out` is NULL or points to one value; its `first` is NULL or has `floats` floats that may be written.
pub(crate) unsafe fn write_floats(
    what: &str,
    out: *const DermisFloats,
    count: usize,
    of: impl Fn(usize) -> Vec3,
) -> Result<(), Failure> {
    let out = unsafe { checked_floats(what, out, count) }?;
    for v in 0..count {
        let xyz = of(v).to_array();
        // Within the buffer, by the check above.
        let to = out.first.wrapping_byte_add(v * out.stride);
        for (at, x) in xyz.into_iter().enumerate() {
            unsafe { to.wrapping_add(at).write(x) };
        }
    }
    Ok(())
}

/// Room for `count` vertices, its stride filled in.
///
/// # Safety
/// `out` is NULL or points to one value.
pub(crate) unsafe fn checked_floats(
    what: &str,
    out: *const DermisFloats,
    count: usize,
) -> Result<DermisFloats, Failure> {
    if out.is_null() {
        return Err(Failure::null(what));
    }
    let out = unsafe { out.read_unaligned() };
    if out.first.is_null() {
        return Err(Failure::null(&format!("first of the {what}")));
    }
    check_alignment(what, out.first)?;
    let stride = check_strided(what, count, 12, out.stride, 4, bytes_of(out.floats))?;
    Ok(DermisFloats { stride, ..out })
}

/// Reads three floats per vertex into `into`.
///
/// # Safety
/// `first` is not NULL and has `floats` floats that may be read.
pub(crate) unsafe fn read_floats(
    what: &str,
    first: *const f32,
    floats: usize,
    stride: usize,
    count: usize,
    into: &mut Vec<Vec3>,
) -> Result<(), Failure> {
    check_alignment(what, first)?;
    let stride = check_strided(what, count, 12, stride, 4, bytes_of(floats))?;
    into.clear();
    for v in 0..count {
        let from = first.wrapping_byte_add(v * stride);
        // Within the buffer, by the check above.
        let p = Vec3::from_array([0, 1, 2].map(|at| unsafe { from.wrapping_add(at).read() }));
        if !p.is_finite() {
            let message = format!("vertex {v} of the {what} is not finite: {} {} {}", p.x, p.y, p.z);
            return Err(Failure::new(DERMIS_ERROR_VALUE, message));
        }
        into.push(p);
    }
    Ok(())
}

/// Writes whole numbers into a buffer that has room for `count` of them.
///
/// # Safety
/// `out` is NULL or has `count` numbers that may be written.
pub(crate) unsafe fn write_numbers(
    what: &str,
    out: *mut u32,
    count: usize,
    values: impl ExactSizeIterator<Item = u32>,
) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::null(what));
    }
    check_alignment(what, out)?;
    if count < values.len() {
        let message = format!("the {what} have room for {count} numbers; there are {}", values.len());
        return Err(Failure::new(DERMIS_ERROR_BUFFER, message));
    }
    for (at, value) in values.enumerate() {
        unsafe { out.wrapping_add(at).write(value) };
    }
    Ok(())
}

/// Writes one value to where a pointer of the caller points.
///
/// # Safety
/// `out` is NULL or may be written.
pub(crate) unsafe fn write_to<T>(what: &str, out: *mut T, value: T) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::null(what));
    }
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// A text of the caller.
///
/// # Safety
/// `text` is NULL or ends with a zero byte, and outlives what is returned.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::null(what));
    }
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Failure::new(DERMIS_ERROR_VALUE, format!("{what} is not UTF-8: {}", text.to_string_lossy())))
}
