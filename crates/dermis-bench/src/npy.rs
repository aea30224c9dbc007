//! Arrays as NumPy reads them (`.npy`, version 1.0, little-endian, C order).

use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// A number with its NumPy name.
pub trait Number: Copy {
    /// As in a header.
    const NAME: &'static str;
    /// Appends its bytes.
    fn write(self, out: &mut impl Write) -> Result<()>;
}

macro_rules! number {
    ($type:ty, $name:literal) => {
        impl Number for $type {
            const NAME: &'static str = $name;
            fn write(self, out: &mut impl Write) -> Result<()> {
                out.write_all(&self.to_le_bytes())
            }
        }
    };
}
number!(f64, "<f8");
number!(f32, "<f4");
number!(i64, "<i8");

/// Writes `folder/name.npy`.
///
/// # Panics
/// If the shape does not hold the numbers.
pub fn write<T: Number>(
    folder: &Path,
    name: &str,
    shape: &[usize],
    numbers: impl IntoIterator<Item = T>,
) -> Result<()> {
    let extents: String = shape.iter().map(|extent| format!("{extent},")).collect();
    let header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({extents}), }}", T::NAME);
    // Magic, version, length and header fill a multiple of 64 bytes; the header ends with a line feed.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut file = BufWriter::new(std::fs::File::create(folder.join(format!("{name}.npy")))?);
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&(length as u16).to_le_bytes())?;
    writeln!(file, "{header:<width$}", width = length - 1)?;
    let mut count = 0;
    for number in numbers {
        number.write(&mut file)?;
        count += 1;
    }
    assert_eq!(count, shape.iter().product::<usize>(), "{name}: the shape does not hold the numbers");
    file.flush()
}

#[cfg(test)]
mod tests {
    /// The format's own rules: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.
    #[test]
    fn a_file_has_a_padded_header_and_the_numbers() {
        let folder = std::env::temp_dir();
        let name = format!("dermis-bench-{}", std::process::id());
        super::write(&folder, &name, &[2, 1], [1.0f64, -2.5]).unwrap();
        let path = folder.join(format!("{name}.npy"));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert!(data.is_multiple_of(64) && bytes[data - 1] == b'\n');
        let header = std::str::from_utf8(&bytes[10..data]).unwrap();
        assert_eq!(header.trim_end(), "{'descr': '<f8', 'fortran_order': False, 'shape': (2,1,), }");
        assert_eq!(bytes[data..], [1.0f64.to_le_bytes(), (-2.5f64).to_le_bytes()].concat());
    }
}
