//! Files of shares: what comes back, and what is refused.

use dermis_io::share_file::{ShareFile, ShareHeader, VERSION, read, read_from, write};
use dermis_io::to_bytes;
use dermis_rig::Rows;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use serde_json::json;
use std::io::Cursor;

fn share() -> ShareFile {
    let turn = |i: usize| DAffine3::from_rotation_translation(DQuat::from_rotation_y(i as f64), DVec3::X * i as f64);
    ShareFile {
        header: ShareHeader {
            format_version: VERSION,
            fingerprint: "0f".into(),
            settings: vec![("method".into(), "\"joint\" \\ ü".into())],
            share: "2/4".into(),
            form: json!({"lambda": 0.1, "sweep": [[0.3, 1e-300]]}),
            ..ShareHeader::default()
        },
        transforms: (0..4).map(turn).collect(),
        importance: vec![1.0, 0.5],
        vertices: vec![7, 3, 4_000_000_000],
        free: Rows::new(vec![0, 2, 2, 5], vec![0.25, -1.0, f64::MAX, f64::MIN_POSITIVE, 3.0]).unwrap(),
        shared: Rows::new(vec![0, 0, 1, 1], vec![0.125]).unwrap(),
        of_vertices: vec![[0.1, -1.0, 0.2, 0.3]; 3],
    }
}

#[test]
fn a_share_comes_back_bit_for_bit() {
    let share = share();
    let bytes = to_bytes(|out| write(&share, out)).unwrap();
    assert_eq!(read(&bytes).unwrap(), share);
    assert_eq!(read_from(Cursor::new(&bytes), bytes.len() as u64).unwrap(), share);
}

#[test]
fn lists_that_do_not_belong_together_are_refused() {
    let refused = |change: &dyn Fn(&mut ShareFile), says: &str| {
        let mut share = share();
        change(&mut share);
        let error = read(&to_bytes(|out| write(&share, out)).unwrap()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    refused(&|s| s.free.push([]).unwrap(), "free.offsets");
    refused(&|s| s.shared = Rows::default(), "shared.offsets");
    refused(&|s| s.of_vertices.truncate(2), "of_vertices");
    refused(&|s| s.free = s.free.map(|_| f64::INFINITY), "free");
    refused(&|s| s.header.format_version = 9, "version 9");
}

#[test]
fn other_files_are_no_shares() {
    for bytes in [&b""[..], b"PK\x03\x04", &[0xff; 64]] {
        assert!(read(bytes).unwrap_err().to_string().contains("no share of a fit"));
    }
    let bytes = to_bytes(|out| write(&share(), out)).unwrap();
    for length in (0..bytes.len()).step_by(37) {
        assert!(read(&bytes[..length]).is_err());
    }
}
