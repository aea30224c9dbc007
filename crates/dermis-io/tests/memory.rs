//! What a file promises is not allocated. One test in a program of its own: the peak counts every thread.

mod archive;

use archive::{Npy, bundle, npy};
use dermis_io::{Space, alembic, npz, obj, point_cache};
use dermis_testkit::ogawa;
use peak_alloc::PeakAlloc;
use zip::CompressionMethod::Deflated;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The peak of memory during `read`, beyond what was in use before; and what it returned.
fn peak<T>(read: impl FnOnce() -> T) -> (usize, T) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = read();
    (MEMORY.peak_usage().saturating_sub(before), result)
}

#[test]
fn promises_are_not_allocated() {
    const SMALL: usize = 1 << 20;
    let shape = vec![1 << 27, 3];
    let promise = bundle(&[("vertices", Npy { descr: "<f8".into(), shape: [vec![1], shape].concat(), data: vec![] })]);
    let mut mdd = vec![0x7f, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01];
    mdd.resize(64, 0);
    let mut pc2 = b"POINTCACHE2\0\x01\0\0\0\xff\xff\xff\x7f\0\0\0\0\0\0\0\0\xff\xff\xff\x7f".to_vec();
    pc2.resize(64, 0);
    let text = format!("v 0 0 0\nf 1 1 1\nf {} 1 1\nvt 0\nf 1/{} 1 1\n", u32::MAX, u32::MAX);
    let space = Space::default();
    let header = |text: &str| [b"\x93NUMPY\x02\x00\xff\xff\xff\xff".as_slice(), text.as_bytes()].concat();
    let long_header = archive::archive([("fps.npy", header("{'descr'"))], Deflated);
    for (name, (peak, failed)) in [
        ("npz", peak(|| npz::read(&promise, "").is_err())),
        ("npz header", peak(|| npz::read(&long_header, "").is_err())),
        ("pc2", peak(|| point_cache::read_pc2(&pc2, "", &space).is_err())),
        ("mdd", peak(|| point_cache::read_mdd(&mdd, "", &space).is_err())),
        (
            "obj",
            peak(|| obj::read(text.as_bytes(), "", &space, &|_, _| Err(std::io::ErrorKind::NotFound.into())).is_err()),
        ),
    ] {
        assert!(failed, "{name} was read");
        assert!(peak < SMALL, "{name} took {peak} bytes");
    }

    // A bomb: 256 MiB of zeros in 256 KiB, promised honestly by directory and header alike.
    const ZEROS: usize = 256 << 20;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {}, 3), }}", ZEROS / 12);
    let bomb = archive::archive([("vertices.npy", npy(&header, &vec![0; ZEROS / 12 * 12]))], Deflated);
    let (used, error) = peak(|| npz::read(&bomb, "").map(|_| ()).unwrap_err().to_string());
    assert!(error.contains("may unfold to 100 times its length"), "{error}");
    assert!(used < SMALL, "the bomb took {used} bytes");

    // The same of single bytes, each of which would become a number of 64 bits.
    let header = format!("{{'descr': '|b1', 'fortran_order': False, 'shape': (1, {}, 3), }}", 12 << 20);
    let truths = archive::archive([("vertices.npy", npy(&header, &vec![0; 36 << 20]))], Deflated);
    for read in [|bytes: &[u8]| npz::read(bytes, "").map(|_| ()), |bytes: &[u8]| archive::streamed(bytes).map(|_| ())] {
        let (used, error) = peak(|| read(&truths).unwrap_err().to_string());
        assert!(error.contains("may unfold to 100 times its length"), "{error}");
        assert!(used < SMALL, "the bytes took {used} bytes");
    }

    // Millions of frames that are one stored frame: as much as a held pose may take, and no more.
    let corner = |at: u16| [f32::from(at % 100), f32::from(at / 100), 0.0];
    let plate: Vec<[f32; 3]> = (0..10_000).map(corner).collect();
    let held = ogawa::mesh("m", &[3], &[0, 1, 2], 1, &[plate.clone(), plate]);
    let mut held = ogawa::Archive { objects: vec![held], samplings: vec![(0.04, vec![0.0])] }.bytes();
    // The number of samples of "P" stands before its sampling and its name.
    let name = held.windows(5).position(|bytes| bytes == b"\x01\0\0\0P").unwrap();
    held[name - 8..name - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let (used, error) = peak(|| alembic::read(&held, "", &space).map(|_| ()).unwrap_err().to_string());
    assert!(error.contains("4294967295 frames of 10000 vertices"), "{error}");
    assert!(used < SMALL, "the held frames took {used} bytes");

    // A good file takes its arrays, the same in 64 bits, and one array as it lies in the file.
    let points = 100_000;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': (10, {points}, 3), }}");
    let good = archive::archive([("vertices.npy", npy(&header, &vec![0x3f; points * 120]))], Deflated);
    let (used, contents) = peak(|| npz::read(&good, "").unwrap());
    assert_eq!(contents.records.len(), 10);
    assert!(used < points * 120 * 3 + SMALL, "{used} bytes for {} of positions", points * 240);
}
