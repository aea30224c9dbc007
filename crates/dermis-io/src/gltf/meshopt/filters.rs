//! Filters: what turns unfolded rows into the numbers that accessors read. Every row is turned on its own.

use super::Damage;

/// A filter, as the extension names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Rows are as they are.
    None,
    /// Unit vectors, from two numbers on an octahedron.
    Octahedral,
    /// Unit quaternions, from their three smaller components.
    Quaternion,
    /// Floats, from whole numbers and exponents.
    Exponential,
    /// Colours, from luma and two differences.
    Color,
}

impl Filter {
    /// The filter called `name`.
    pub fn new(name: &str) -> Option<Self> {
        Some(match name {
            "NONE" => Self::None,
            "OCTAHEDRAL" => Self::Octahedral,
            "QUATERNION" => Self::Quaternion,
            "EXPONENTIAL" => Self::Exponential,
            "COLOR" => Self::Color,
            _ => return None,
        })
    }

    /// Applies the filter to rows of `stride` bytes, in place.
    ///
    /// # Errors
    /// If it has no such rows.
    pub fn apply(self, rows: &mut [u8], stride: usize) -> Result<(), Damage> {
        match (self, stride) {
            (Self::None, _) => {}
            (Self::Octahedral, 4) => bytes(rows, |row| octahedral(row.map(f32::from), 127.0).map(|x| x as i8)),
            (Self::Octahedral, 8) => words(rows, |row| octahedral(row.map(f32::from), 32767.0).map(|x| x as i16)),
            (Self::Quaternion, 8) => words(rows, quaternion),
            (Self::Exponential, _) if stride.is_multiple_of(4) => {
                rows.as_chunks_mut::<4>().0.iter_mut().for_each(|word| {
                    *word = exponential(i32::from_le_bytes(*word)).to_le_bytes();
                });
            }
            (Self::Color, 4) => bytes(rows, |row| {
                let [y, co, cg, a] = row;
                let made = color([i32::from(y as u8), i32::from(co), i32::from(cg), i32::from(a as u8)], 255.0);
                made.map(|x| x as u8 as i8)
            }),
            (Self::Color, 8) => words(rows, |row| {
                let [y, co, cg, a] = row;
                let made = color([i32::from(y as u16), i32::from(co), i32::from(cg), i32::from(a as u16)], 65535.0);
                made.map(|x| x as u16 as i16)
            }),
            _ => return Err("its filter has no rows of such a stride"),
        }
        Ok(())
    }
}

fn bytes(rows: &mut [u8], turn: impl Fn([i8; 4]) -> [i8; 4]) {
    for row in rows.as_chunks_mut::<4>().0 {
        *row = turn(row.map(|byte| byte as i8)).map(|byte| byte as u8);
    }
}

fn words(rows: &mut [u8], turn: impl Fn([i16; 4]) -> [i16; 4]) {
    for row in rows.as_chunks_mut::<8>().0 {
        let (words, _) = row.as_chunks_mut::<2>();
        let read = [0, 1, 2, 3].map(|at| i16::from_le_bytes(words[at]));
        for (word, made) in words.iter_mut().zip(turn(read)) {
            *word = made.to_le_bytes();
        }
    }
}

/// A unit vector times `full`, rounded, and the fourth number as it is. The third of `row` is one.
fn octahedral([x, y, one, fourth]: [f32; 4], full: f32) -> [f32; 4] {
    let (x, y) = (x / one, y / one);
    let z = 1.0 - x.abs() - y.abs();
    // The lower half is folded outwards.
    let fold = z.min(0.0);
    let (x, y) = (x - fold.copysign(x), y - fold.copysign(y));
    let scale = full / (x * x + y * y + z * z).sqrt();
    [(x * scale).round(), (y * scale).round(), (z * scale).round(), fourth]
}

fn quaternion([x, y, z, last]: [i16; 4]) -> [i16; 4] {
    let scale = std::f32::consts::FRAC_1_SQRT_2 / f32::from(last | 3);
    let [x, y, z] = [x, y, z].map(|c| f32::from(c) * scale);
    let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
    let largest = (last & 3) as usize;
    let mut made = [0; 4];
    for (at, c) in [w, x, y, z].into_iter().enumerate() {
        made[(largest + at) % 4] = (c * 32767.0).round() as i16;
    }
    made
}

/// m 2ᵉ of an exponent of eight bits and a whole number of 24.
fn exponential(packed: i32) -> f32 {
    let (exponent, mantissa) = (packed >> 24, packed << 8 >> 8);
    // The exponent is −128 to 127, so that the power is exact in 64 bits, and so is the product.
    (f64::from(mantissa) * f64::from(exponent).exp2()) as f32
}

/// Red, green, blue and opacity times `full`, rounded.
fn color([y, co, cg, alpha]: [i32; 4], full: f32) -> [f32; 4] {
    let most = (1i32 << (32 - alpha.leading_zeros())) - 1;
    let opacity = alpha & most >> 1;
    let opacity = opacity << 1 | opacity & 1;
    let scale = full / most as f32;
    [y + co - cg, y + cg, y - co - cg, opacity].map(|x| (x as f32 * scale).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned<const N: usize>(filter: Filter, mut rows: [u8; N], stride: usize) -> [u8; N] {
        filter.apply(&mut rows, stride).unwrap();
        rows
    }

    #[test]
    fn axes_and_corners_of_the_octahedron() {
        let row = |x: i8, y: i8, one: i8| [x, y, one, 5].map(|x| x as u8);
        let vector = |row: [u8; 4]| turned(Filter::Octahedral, row, 4).map(|x| x as i8);
        assert_eq!(vector(row(0, 0, 127)), [0, 0, 127, 5]);
        assert_eq!(vector(row(31, 0, 31)), [127, 0, 0, 5], "with six bits");
        assert_eq!(vector(row(0, -127, 127)), [0, -127, 0, 5]);
        assert_eq!(vector(row(127, 127, 127)), [0, 0, -127, 5]);
        // 1/√3 in each direction, upwards and downwards.
        let third = (127.0f32 / 3f32.sqrt()).round() as i8;
        assert_eq!(vector(row(42, 42, 126)), [third, third, third, 5]);
        assert_eq!(vector(row(84, 84, 126)), [third, third, -third, 5]);
        // A row that says nothing is what the specification leaves open, but no panic.
        vector(row(0, 0, 0));
        turned(Filter::Octahedral, [0; 8], 8);
    }

    #[test]
    fn quaternions_have_their_largest_component_back() {
        // A right angle about y: (0, √½, 0, √½), of which w is left out; one is 2047 in twelve bits.
        let row = |numbers: [i16; 4]| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
            let made = turned::<8>(Filter::Quaternion, bytes.try_into().unwrap(), 8);
            [0, 1, 2, 3].map(|at| i16::from_le_bytes([made[2 * at], made[2 * at + 1]]))
        };
        let half = (32767.0 * 0.5f64.sqrt()).round() as i16;
        assert_eq!(row([0, 2047, 0, 2047]), [0, half, 0, half]);
        // No turn, with x as the one left out, and others.
        assert_eq!(row([0, 0, 0, 2044]), [32767, 0, 0, 0]);
        assert_eq!(row([0, 0, 0, 2047]), [0, 0, 0, 32767]);
        // x is left out; after it come y, z, w.
        let [x, y, z, w] = row([1000, -500, 250, 2044]).map(f64::from);
        let part = |c: f64| c / 2047.0 * 0.5f64.sqrt() * 32767.0;
        assert!((y - part(1000.0)).abs() <= 1.0 && (z - part(-500.0)).abs() <= 1.0 && (w - part(250.0)).abs() <= 1.0);
        assert!(((x * x + y * y + z * z + w * w).sqrt() - 32767.0).abs() < 2.0);
    }

    #[test]
    fn exponents_are_exact() {
        for (exponent, mantissa) in
            [(0, 1), (-3, 5), (20, -7), (-100, 8_388_607), (100, -8_388_608), (127, 1), (-128, 1)]
        {
            let packed: i32 = (exponent << 24) | (mantissa & 0xff_ffff);
            let made = turned(Filter::Exponential, packed.to_le_bytes(), 4);
            assert_eq!(f32::from_le_bytes(made), (f64::from(mantissa) * 2f64.powi(exponent)) as f32);
        }
    }

    #[test]
    fn colours_of_every_channel() {
        // YCoCg without loss, of eight bits: Co = R − B, Cg by lifting is another transform; here Y = (R + 2G + B) / 4.
        let color = |[r, g, b, a]: [i32; 4]| {
            let (y, co, cg) = ((r + 2 * g + b) / 4, (r - b) / 2, (2 * g - r - b) / 4);
            turned(Filter::Color, [y as u8, co as u8, cg as u8, 0x80 | (a >> 1) as u8], 4)
        };
        assert_eq!(color([0, 0, 0, 255]), [0, 0, 0, 255]);
        assert_eq!(color([252, 252, 252, 0]), [252, 252, 252, 0]);
        assert_eq!(color([252, 0, 0, 255]), [252, 0, 0, 255]);
        assert_eq!(color([0, 252, 0, 128]), [0, 252, 0, 128]);
        assert_eq!(color([0, 0, 252, 255]), [0, 0, 252, 255]);
        assert_eq!(turned(Filter::Color, [3, 0, 0, 0b11], 4), [255, 255, 255, 255], "two bits");
        turned(Filter::Color, [0xff; 8], 8);
        turned(Filter::Color, [0; 8], 8);
    }

    #[test]
    fn other_rows_are_refused() {
        for (filter, stride) in
            [(Filter::Octahedral, 12), (Filter::Quaternion, 4), (Filter::Exponential, 6), (Filter::Color, 12)]
        {
            assert!(filter.apply(&mut [0; 24], stride).is_err());
        }
    }
}
