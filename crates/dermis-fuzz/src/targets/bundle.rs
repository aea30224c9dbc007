//! NumPy bundles: bytes, and archives of arrays that are changed behind their checksums.

use crate::memory::{PACKED, bounded};
use crate::script::Script;
use crate::{seeds, used};
use dermis_io::{Contents, ReadError, npz};
use std::io::{Cursor, Write};
use std::sync::OnceLock;
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

pub const WORDS: &[&str] = &[
    "PK\\x03\\x04",
    "PK\\x01\\x02",
    "PK\\x05\\x06",
    "\\x93NUMPY\\x01\\x00",
    "'descr': '<f8'",
    "'fortran_order': True",
    "'shape': (1, 2, 3)",
    "vertices.npy",
    "pose_matrices.npy",
    "lbs_weights.npy",
    "bone_names.npy",
];

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::bundles()
}

/// Takes the bytes as an archive: whole, in slices, and one array of it.
pub fn bytes(bytes: &[u8]) {
    let whole = bounded(bytes.len(), PACKED, || npz::read(bytes, "a.npz"));
    let sliced = bounded(bytes.len(), PACKED, || in_slices(bytes));
    let _ = bounded(bytes.len(), PACKED, || npz::numbers(bytes, "fps"));
    if let (Ok(whole), Ok(Some(sliced))) = (&whole, &sliced) {
        assert_eq!((&whole.records, &whole.left_out), (&sliced.records, &sliced.left_out), "slices of a bundle");
    }
    if let Ok(Some(_)) = sliced {
        assert!(whole.is_ok(), "slices were read, but not the whole: {whole:?}");
    }
    if let Ok(contents) = whole {
        used::contents(&contents);
    }
}

/// A bundle read record by record, put together again.
fn in_slices(bytes: &[u8]) -> Result<Option<Contents>, ReadError> {
    let mut records = Vec::new();
    let contents = npz::stream(Cursor::new(bytes), bytes.len() as u64, "a.npz", 1, |contents| {
        records.append(&mut contents.records);
        Ok::<_, ReadError>(())
    })?;
    Ok(contents.map(|contents| Contents { records, ..contents }))
}

/// An array: its name, its header apart from the shape, its shape, its values.
#[derive(Clone)]
struct Member {
    name: String,
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
    values: Vec<u8>,
}

/// Changes one of the seeds.
pub fn edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<Vec<Member>>> = OnceLock::new();
    let good = GOOD.get_or_init(|| seeds::bundles().iter().map(|file| members(file)).collect());
    let mut script = Script::new(script);
    let mut members = good[script.below(good.len())].clone();
    for _ in 0..12 {
        if script.is_over() || members.is_empty() {
            break;
        }
        edit(&mut members, &mut script);
    }
    bytes(&archive(
        &members,
        if script.byte() % 8 == 1 { CompressionMethod::Deflated } else { CompressionMethod::Stored },
    ));
}

fn edit(members: &mut Vec<Member>, script: &mut Script<'_>) {
    const TYPES: [&str; 16] =
        ["<f4", "<f8", ">f4", ">f8", "<i4", "<i8", "<i2", "|i1", "|b1", "|u1", "<u4", "<u8", "<U4", "|S3", "<f2", "|O"];
    let (at, other) = (script.below(members.len()), script.below(members.len()));
    let member = &mut members[at];
    match script.byte() % 9 {
        0..=2 => script.overwrite(&mut member.values),
        3 => member.descr = script.pick(&TYPES).into(),
        4 => member.fortran = !member.fortran,
        // A shape of other numbers, over the same values or over as many as it promises.
        5 => {
            let (dimension, fits) = (script.below(member.shape.len()), script.byte().is_multiple_of(2));
            let count = script.number() as u64;
            let Some(place) = member.shape.get_mut(dimension) else { return };
            let old = std::mem::replace(place, count).max(1);
            if fits && count < 64 {
                let row = member.values.len() / old as usize;
                member.values.resize(row * count as usize, 0);
            }
        }
        6 => _ = members.remove(at),
        7 => {
            let name = members[other].name.clone();
            members[at].name = name;
        }
        _ => {
            let copy = Member { name: members[at].name.clone(), ..members[other].clone() };
            members[at] = copy;
        }
    }
}

/// The arrays of a bundle of ours.
fn members(file: &[u8]) -> Vec<Member> {
    let mut archive = ZipArchive::new(Cursor::new(file)).expect("a seed is an archive");
    let names: Vec<String> = archive.file_names().map(|name| name.expect("a name of ours").into_owned()).collect();
    let member = |name: String| {
        let mut bytes = Vec::new();
        let mut entry = archive.by_name(&name).expect("a member that is listed");
        std::io::copy(&mut entry, &mut bytes).expect("a seed can be unpacked");
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let header = String::from_utf8_lossy(&bytes[10..10 + length]).into_owned();
        let between = |start: &str, end: &str| {
            let (_, rest) = header.split_once(start).expect("a header of ours");
            rest.split_once(end).expect("a header of ours").0.to_owned()
        };
        Member {
            descr: between("'descr': '", "'"),
            fortran: false,
            shape: between("'shape': (", ")").split(',').filter_map(|n| n.trim().parse().ok()).collect(),
            values: bytes[10 + length..].to_vec(),
            name,
        }
    };
    names.into_iter().map(member).collect()
}

/// An archive with right lengths and checksums.
fn archive(members: &[Member], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for member in members {
        let shape: String = member.shape.iter().map(|d| format!("{d}, ")).collect();
        let order = if member.fortran { "True" } else { "False" };
        let header =
            format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': ({shape}), }}\n", member.descr).into_bytes();
        let options = SimpleFileOptions::default().compression_method(method);
        // A name that is taken already: the archive keeps the first.
        if zip.start_file(member.name.as_str(), options).is_err() {
            continue;
        }
        let length = (header.len() as u16).to_le_bytes();
        let bytes = [b"\x93NUMPY\x01\0", &length[..], &header, &member.values].concat();
        zip.write_all(&bytes).expect("memory takes all bytes");
    }
    zip.finish().expect("memory takes all bytes").into_inner()
}
