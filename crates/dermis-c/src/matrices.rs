//! Bone matrices as engines hold them: their order in memory, their numbers, and what they carry where.

use crate::memory::check_strided;
use crate::status::{DERMIS_ERROR_VALUE, Failure};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use std::ffi::c_void;

/// 16 numbers, column after column; the translation in numbers 12, 13, 14. OpenGL, Unity; also the matrices of
/// engines that multiply row vectors and store rows (Unreal, Direct3D).
pub const DERMIS_COLUMNS_4X4: u32 = 1;
/// 16 numbers, row after row, of a matrix that multiplies column vectors; the translation in numbers 3, 7, 11. NumPy.
pub const DERMIS_ROWS_4X4: u32 = 2;
/// 12 numbers, four columns of three; the translation in numbers 9, 10, 11.
pub const DERMIS_COLUMNS_3X4: u32 = 3;
/// 12 numbers, three rows of four; the translation in numbers 3, 7, 11. Constant buffers of shaders.
pub const DERMIS_ROWS_3X4: u32 = 4;

/// Numbers of 4 bytes: float.
pub const DERMIS_FLOAT: u32 = 1;
/// Numbers of 8 bytes: double.
pub const DERMIS_DOUBLE: u32 = 2;

/// Skinning matrices M = T B^-1, which carry the rest mesh to its pose: the identity at rest.
pub const DERMIS_SKINNING: u32 = 1;
/// Joint-to-world matrices T of the pose, in the model's own axes: the bind matrix B at rest.
pub const DERMIS_POSED: u32 = 2;

/// How far the last row of a 4x4 matrix may be from 0 0 0 1: rounding of products in single precision. Matrices read in the
/// wrong order have their translation there, which is millimetres at least.
const LAST_ROW: f64 = 1e-5;

/// Where the numbers of one matrix lie.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Numbers of a matrix.
    count: usize,
    /// From one row to the next, and from one column to the next.
    row: usize,
    column: usize,
    /// Bytes of a number.
    number: usize,
}

impl Layout {
    /// A layout from its codes.
    pub(crate) fn new(layout: u32, numbers: u32) -> Result<Self, Failure> {
        let unknown = |what, found, known| {
            Failure::new(DERMIS_ERROR_VALUE, format!("{what} {found} is not known; it is {known}"))
        };
        let (count, row, column) = match layout {
            DERMIS_COLUMNS_4X4 => (16, 1, 4),
            DERMIS_ROWS_4X4 => (16, 4, 1),
            DERMIS_COLUMNS_3X4 => (12, 1, 3),
            DERMIS_ROWS_3X4 => (12, 4, 1),
            _ => return Err(unknown("layout", layout, "DERMIS_COLUMNS_4X4 (1) to DERMIS_ROWS_3X4 (4)")),
        };
        let number = match numbers {
            DERMIS_FLOAT => 4,
            DERMIS_DOUBLE => 8,
            _ => return Err(unknown("numbers", numbers, "DERMIS_FLOAT (1) or DERMIS_DOUBLE (2)")),
        };
        Ok(Self { count, row, column, number })
    }

    /// Checks `count` matrices in a buffer of `bytes` bytes; the stride in bytes.
    pub(crate) fn check(self, count: usize, stride: usize, bytes: usize) -> Result<usize, Failure> {
        check_strided("matrices", count, self.count * self.number, stride, self.number, bytes)
    }

    /// One matrix of finite numbers whose last row, where it has one, is 0 0 0 1.
    ///
    /// # Safety
    /// A matrix of this layout can be read at `from`, aligned or not.
    pub(crate) unsafe fn read(self, bone: usize, from: *const c_void) -> Result<DAffine3, Failure> {
        let at = |row: usize, column: usize| {
            let place = from.wrapping_byte_add((row * self.row + column * self.column) * self.number);
            match self.number {
                4 => f64::from(unsafe { place.cast::<f32>().read_unaligned() }),
                _ => unsafe { place.cast::<f64>().read_unaligned() },
            }
        };
        let column = |c: usize| DVec3::new(at(0, c), at(1, c), at(2, c));
        let matrix = DAffine3 { matrix3: DMat3::from_cols(column(0), column(1), column(2)), translation: column(3) };
        let wrong = |what: String| Err(Failure::new(DERMIS_ERROR_VALUE, format!("the matrix of bone {bone} {what}")));
        if !matrix.is_finite() {
            return wrong("is not finite".into());
        }
        if self.count == 16 {
            let last = [0, 1, 2, 3].map(|c| at(3, c));
            // Written so that NaN is refused.
            let good = last.iter().zip([0.0, 0.0, 0.0, 1.0]).all(|(x, y)| (x - y).abs() <= LAST_ROW);
            if !good {
                return wrong(format!("has the last row {last:?}, not 0 0 0 1; is its layout the other one?"));
            }
        }
        Ok(matrix)
    }

    /// # Safety
    /// A matrix of this layout can be written at `to`, aligned or not.
    pub(crate) unsafe fn write(self, matrix: &DAffine3, to: *mut c_void) {
        let columns = [matrix.matrix3.x_axis, matrix.matrix3.y_axis, matrix.matrix3.z_axis, matrix.translation];
        for (c, column) in columns.into_iter().enumerate() {
            let last = if c == 3 { 1.0 } else { 0.0 };
            let four = [column.x, column.y, column.z, last];
            for (r, x) in four.into_iter().enumerate().take(self.count / 4) {
                let place = to.wrapping_byte_add((r * self.row + c * self.column) * self.number);
                match self.number {
                    4 => unsafe { place.cast::<f32>().write_unaligned(x as f32) },
                    _ => unsafe { place.cast::<f64>().write_unaligned(x) },
                }
            }
        }
    }
}
