//! USD that is truncated, altered or made to do harm: an error that names what is wrong, or contents that are sound.

use dermis_io::{Contents, ReadError, usd};
use dermis_testkit::Random;
use dermis_testkit::usd::{ARM, ARM_PACKAGE, ARM_TEXT, SCENE, SHEET, beside};
use std::fmt::Write;
use std::io;

fn read(bytes: &[u8]) -> Result<Contents, ReadError> {
    usd::read(bytes, "a.usd", &|path, _| beside(path).map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::NotFound.into()))
}

/// What is read is sound, and its clips can be played.
fn sound(contents: &Contents) {
    if let Some(mesh) = &contents.mesh {
        mesh.check().unwrap();
        assert!(contents.records.iter().all(|own| own.positions.as_ref().unwrap().len() == mesh.positions.len()));
        assert!(contents.morphs.iter().all(|own| own.deltas.len() == mesh.positions.len()));
    }
    let bones = contents.skeleton.as_ref().map_or(0, |skeleton| skeleton.len());
    for clip in &contents.clips {
        let frame = (clip.sample)(0.5 * clip.duration);
        assert_eq!((frame.pose.bones.len(), frame.morph_weights.len()), (bones, contents.morphs.len()));
    }
}

#[test]
fn every_truncation_is_an_error_or_sound() {
    for file in [SCENE, SHEET, ARM_PACKAGE] {
        for end in 0..file.len() {
            if let Ok(contents) = read(&file[..end]) {
                sound(&contents);
            }
        }
        assert!(read(file).is_ok());
    }
    // A binary layer ends with its tables, and a package with its directory.
    for file in [SHEET, ARM, ARM_PACKAGE] {
        assert!((0..file.len()).step_by(13).all(|end| read(&file[..end]).is_err()));
    }
}

#[test]
fn altered_files_are_errors_or_sound() {
    for (seed, file) in [ARM_TEXT, SCENE, SHEET, ARM, ARM_PACKAGE].into_iter().enumerate() {
        let mut random = Random::new(seed as u64);
        for _ in 0..1500 {
            let mut bytes = file.to_vec();
            for _ in 0..1 + random.bits() % 3 {
                let at = random.bits() as usize % bytes.len();
                bytes[at] = match random.bits() % 3 {
                    0 => random.bits() as u8,
                    1 => 255,
                    _ => bytes[at] ^ (1 << (random.bits() % 8)),
                };
            }
            if let Ok(contents) = read(&bytes) {
                sound(&contents);
            }
        }
    }
}

fn why(stage: &str) -> String {
    read(format!("#usda 1.0\n{stage}").as_bytes()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn nesting_has_an_end() {
    let deep = |count: usize, open: &str, close: &str| open.repeat(count) + &close.repeat(count);
    for (stage, expected) in [
        (deep(100_000, "def \"a\" {\n", "}\n"), "256 deep"),
        (format!("def \"a\" {{ int[] b = {} }}", deep(100_000, "[", "]")), "a number"),
        (format!("def \"a\" {{ int[] b = {} }}", deep(100_000, "(", ")")), "too deep"),
        (format!("def \"a\" ( customData = {} ) {{}}", deep(100_000, "{ dictionary a = ", "}")), "too deep"),
        (deep(100_000, "def \"a\" { variantSet \"v\" = { \"w\" {\n", "}}}\n"), "deep"),
    ] {
        let error = why(&stage);
        assert!(error.contains(expected), "{error}");
    }
}

/// Twice as many prims with every level: a small text that stands for 2⁴⁰ meshes.
#[test]
fn references_that_double_ask_for_too_much_memory() {
    let mut stage = String::from("def Mesh \"p0\" { point3f[] points = [(0,0,0)]\n}\n");
    for level in 1..40 {
        let below = level - 1;
        writeln!(stage, "def \"p{level}\" {{ def \"a\" (references = </p{below}>) {{}}\n def \"b\" (references = </p{below}>) {{}}\n}}").unwrap();
    }
    let error = why(&stage);
    assert!(error.contains("more memory than they can fill"), "{error}");
    let mut stage = String::from("def \"p0\" {}\n");
    for level in 1..40 {
        let below = level - 1;
        writeln!(stage, "def \"p{level}\" (references = [</p{below}>, </p{below}> (offset = 1)]) {{}}").unwrap();
    }
    let error = why(&stage);
    assert!(error.contains("made of too many others") || error.contains("more memory"), "{error}");
}

/// Every number of a table's header, made huge.
#[test]
fn promises_of_tables_are_refused() {
    let toc = u64::from_le_bytes(SHEET[16..24].try_into().unwrap()) as usize;
    for section in 0..6 {
        let at = toc + 8 + 32 * section + 16;
        let start = u64::from_le_bytes(SHEET[at..at + 8].try_into().unwrap()) as usize;
        for number in [u64::MAX, 1 << 40, 1 << 24] {
            for word in 0..2 {
                let mut bytes = SHEET.to_vec();
                bytes[start + 8 * word..start + 8 * word + 8].copy_from_slice(&number.to_le_bytes());
                if let Ok(contents) = read(&bytes) {
                    sound(&contents);
                }
            }
        }
    }
}
