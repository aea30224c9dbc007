//! Part files: what comes back, and what is refused.

use dermis_io::WriteError;
use dermis_io::part_file::{PartFile, PartHeader, VERSION, read, read_from, write};
use dermis_io::to_bytes;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use safetensors::tensor::{Dtype, TensorView};
use std::collections::HashMap;
use std::io::{self, Cursor, Write};

fn part() -> PartFile {
    let numbers = |count: usize, by: f64| (0..count).map(|i| (i as f64 * by).sin()).collect::<Vec<f64>>();
    let turn = |i: usize| DAffine3::from_rotation_translation(DQuat::from_rotation_y(i as f64), DVec3::X * i as f64);
    PartFile {
        header: PartHeader {
            format_version: VERSION,
            fingerprint: "0f".into(),
            settings: vec![("rows".into(), "\"full\" \\ ü".into())],
            stride: 2,
            ..PartHeader::default()
        },
        // More numbers than are on their way at a time.
        moments: numbers(30_001, 0.1),
        squares: vec![1.0, 2.0, f64::MIN_POSITIVE],
        largest: vec![],
        grams: numbers(7, 0.3),
        transforms: (0..4).map(turn).collect(),
        importance: vec![1.0, 0.5],
        residuals: vec![0.25, -1.0, f32::MAX],
    }
}

#[test]
fn a_part_comes_back_bit_for_bit() {
    let part = part();
    let bytes = to_bytes(|out| write(&part, out)).unwrap();
    assert_eq!(read(&bytes).unwrap(), part);
    assert_eq!(read_from(Cursor::new(&bytes), bytes.len() as u64).unwrap(), part);
}

/// The crate `safetensors` lays out the same arrays in the same bytes.
#[test]
fn a_part_is_the_safetensors_file_of_its_arrays() {
    let part = part();
    let doubles = |list: &[f64]| list.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let rows = |m: &DAffine3| {
        let m = m.to_cols_array();
        [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11].map(|at| m[at])
    };
    let transforms: Vec<f64> = part.transforms.iter().flat_map(rows).collect();
    let residuals: Vec<u8> = part.residuals.iter().flat_map(|x| x.to_le_bytes()).collect();
    let arrays = [
        ("moments", Dtype::F64, vec![part.moments.len()], doubles(&part.moments)),
        ("squares", Dtype::F64, vec![3], doubles(&part.squares)),
        ("largest", Dtype::F64, vec![0], vec![]),
        ("grams", Dtype::F64, vec![7], doubles(&part.grams)),
        ("importance", Dtype::F64, vec![2], doubles(&part.importance)),
        ("transforms", Dtype::F64, vec![4, 12], doubles(&transforms)),
        ("residuals", Dtype::F32, vec![3], residuals),
    ];
    let views = arrays
        .iter()
        .map(|(name, dtype, shape, bytes)| (name.to_string(), TensorView::new(*dtype, shape.clone(), bytes).unwrap()));
    let json = serde_json::to_string(&part.header).unwrap();
    let expected = safetensors::serialize(views, Some(HashMap::from([("dermis-part".into(), json)]))).unwrap();
    assert!(to_bytes(|out| write(&part, out)).unwrap() == expected);
}

#[test]
fn every_truncation_is_refused() {
    let bytes = to_bytes(|out| write(&PartFile { moments: vec![1.0], ..part() }, out)).unwrap();
    for length in 0..bytes.len() {
        assert!(!read(&bytes[..length]).expect_err("refused").to_string().is_empty(), "{length}");
        // The file became shorter while it was read.
        assert!(read_from(Cursor::new(&bytes[..length]), bytes.len() as u64).is_err(), "{length}");
    }
    assert!(read(&[bytes.as_slice(), &[0]].concat()).is_err());
}

#[test]
fn flipped_bits_give_an_error_or_a_part() {
    let good = to_bytes(|out| write(&PartFile { moments: vec![1.0], ..part() }, out)).unwrap();
    let (mut fine, mut refused) = (0, 0);
    for at in 0..8 * good.len() {
        let mut bytes = good.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        match read(&bytes) {
            Ok(_) => fine += 1,
            Err(e) => refused += usize::from(!e.to_string().is_empty()),
        }
    }
    assert!(fine > 100 && refused > 100 && fine + refused == 8 * good.len(), "{fine} {refused}");
}

/// Shapes and headers beyond all bounds: neither believed nor allocated, which would end the program.
#[test]
fn promises_are_not_believed() {
    let good = to_bytes(|out| write(&PartFile { moments: vec![1.0], ..part() }, out)).unwrap();
    let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&good[8..8 + length]).unwrap();
    let huge = u64::MAX;
    for (from, to) in [
        ("\"shape\":[1],\"data_offsets\":[", format!("\"shape\":[{huge}],\"data_offsets\":[")),
        ("\"shape\":[7]", format!("\"shape\":[{}]", 1u64 << 60)),
        ("\"shape\":[4,12]", format!("\"shape\":[{},{}]", 1u64 << 32, 1u64 << 32)),
        ("\"shape\":[0]", format!("\"shape\":[0,{huge}]")),
        ("\"shape\":[3],\"data_offsets\":[", "\"shape\":[-3],\"data_offsets\":[".into()),
        ("\"F32\"", "\"F64\"".into()),
        ("\"F64\"", "\"F99\"".into()),
        ("\\\"format_version\\\":1", "\\\"format_version\\\":\\\"one\\\"".into()),
        ("\\\"format_version\\\":1", "\\\"format_version\\\":-1".into()),
        ("moments", "others1".into()),
    ] {
        assert!(header.contains(from), "{from} in {header}");
        let text = header.replacen(from, &to, 1);
        let spoilt = [&(text.len() as u64).to_le_bytes(), text.as_bytes(), &good[8 + length..]].concat();
        assert!(!read(&spoilt).expect_err(&to).to_string().is_empty());
    }
    for promised in [u64::MAX, 1 << 63, 99_999_999, good.len() as u64] {
        assert!(read(&[&promised.to_le_bytes(), &good[8..]].concat()).is_err());
    }
}

#[test]
fn a_part_of_another_version_is_refused_by_its_number() {
    let mut newer = part();
    newer.header.format_version = 2;
    let bytes = to_bytes(|out| write(&newer, out)).unwrap();
    assert!(read(&bytes).unwrap_err().to_string().contains("format version 2"));
    // A newer header need not have the fields of this one.
    let text = String::from_utf8_lossy(&bytes[8..]).find("is_clip").unwrap() + 8;
    let mut other = bytes.clone();
    other[text..text + 7].copy_from_slice(b"no_clip");
    assert!(read(&other).unwrap_err().to_string().contains("format version 2"));
}

/// Takes so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        match taken {
            0 => Err(io::Error::other("no space left")),
            _ => Ok(taken),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_fills_up_is_an_error() {
    let part = part();
    let length = to_bytes(|out| write(&part, out)).unwrap().len();
    for room in [0, 5, 100, 5_000, length - 1] {
        let error = write(&part, &mut Full(room)).expect_err("full");
        assert!(matches!(&error, WriteError::Output { reason } if reason.contains("no space left")), "{room}: {error}");
    }
    write(&part, &mut Full(length)).unwrap();
}
