//! Archives of arrays for tests, laid out as `numpy.savez` does but with whatever header a test wants.
#![allow(dead_code)] // each test program uses some of it

use dermis_io::{Contents, ReadError, npz};
use std::io::{Cursor, Write};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// One array: type, shape, bytes, which need not agree.
#[derive(Clone)]
pub struct Npy {
    pub descr: String,
    pub shape: Vec<u64>,
    pub data: Vec<u8>,
}

impl Npy {
    /// The file, header and all.
    pub fn bytes(&self) -> Vec<u8> {
        let shape: String = self.shape.iter().map(|d| format!("{d}, ")).collect();
        let text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({shape})}}\n", self.descr);
        npy(&text, &self.data)
    }
    /// The numbers of an array made by [`floats`].
    pub fn floats(&self) -> Vec<f64> {
        self.data.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
    }
}

/// An array file with any header text.
pub fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

pub fn floats(values: &[f64], shape: &[u64]) -> Npy {
    let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Npy { descr: "<f8".into(), shape: shape.to_vec(), data }
}

pub fn integers(values: &[i64], shape: &[u64]) -> Npy {
    let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Npy { descr: "<i8".into(), shape: shape.to_vec(), data }
}

/// Words of equal length, or with an empty shape the text as it is.
pub fn texts(text: &str, shape: &[u64]) -> Npy {
    let words: Vec<&str> = if shape.is_empty() { vec![text] } else { text.split(' ').collect() };
    let width = words.iter().map(|w| w.chars().count()).max().unwrap_or(1);
    let padded = words.iter().flat_map(|w| w.chars().chain(std::iter::repeat('\0')).take(width));
    let data = padded.flat_map(|c| u32::from(c).to_le_bytes()).collect();
    Npy { descr: format!("<U{width}"), shape: shape.to_vec(), data }
}

/// A member of an archive, stored or deflated.
pub fn archive<'a>(members: impl IntoIterator<Item = (&'a str, Vec<u8>)>, method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A bundle read in slices of one record, put together again; one that cannot be is read as a whole.
pub fn streamed(bytes: &[u8]) -> Result<Contents, ReadError> {
    let mut records = Vec::new();
    let contents = npz::stream(Cursor::new(bytes), bytes.len() as u64, "a.npz", 1, |contents| {
        assert_eq!(contents.records.len(), 1);
        records.append(&mut contents.records);
        Ok::<_, ReadError>(())
    })?;
    match contents {
        Some(contents) => Ok(Contents { records, ..contents }),
        None => npz::read(bytes, "a.npz"),
    }
}

pub fn bundle(arrays: &[(&str, Npy)]) -> Vec<u8> {
    let names: Vec<String> = arrays.iter().map(|(key, _)| format!("{key}.npy")).collect();
    archive(names.iter().map(String::as_str).zip(arrays.iter().map(|(_, a)| a.bytes())), CompressionMethod::Stored)
}

pub fn replace(arrays: &mut [(&str, Npy)], key: &str, array: Npy) {
    arrays.iter_mut().find(|(k, _)| *k == key).expect("the tiny rig has every array").1 = array;
}

/// A square on two bones, at rest and bent: every array a bundle can have, and one it does not know.
pub fn tiny_rig() -> Vec<(&'static str, Npy)> {
    let matrix = |x: f64, c: f64, s: f64| vec![c, -s, 0.0, x, s, c, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let (root, tip, bent) = (matrix(0.0, 1.0, 0.0), matrix(1.0, 1.0, 0.0), matrix(1.0, 0.6, 0.8));
    let rest = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0, 0.5];
    let weights = [1.0, 0.0, 0.25, 0.75, 0.0, 1.0, 0.5, 0.5];
    vec![
        ("rest_vertices", floats(&rest, &[4, 3])),
        ("faces", integers(&[0, 1, 2, 0, 2, 3], &[2, 3])),
        ("face_counts", integers(&[4], &[1])),
        ("face_indices", integers(&[0, 1, 2, 3], &[4])),
        ("bone_names", texts("root tip", &[2])),
        ("bone_parents", integers(&[-1, 0], &[2])),
        ("bind_matrices", floats(&[root.clone(), tip.clone()].concat(), &[2, 4, 4])),
        ("pose_matrices", floats(&[root.clone(), tip, root, bent].concat(), &[2, 2, 4, 4])),
        ("vertices", floats(&[rest, rest.map(|x| x * 1.5)].concat(), &[2, 4, 3])),
        ("lbs_weights", floats(&weights, &[4, 2])),
        ("influence_maps", floats(&weights, &[4, 2])),
        ("pose_labels", texts("rest bent", &[2])),
        ("pose_weights", floats(&[1.0, 2.0], &[2])),
        ("frame_times", floats(&[0.0, 0.5], &[2])),
        ("fps", integers(&[2], &[])),
        ("units", texts("metres", &[])),
        ("up_axis", texts("Y", &[])),
        ("extra", floats(&[1.0], &[1])),
    ]
}
