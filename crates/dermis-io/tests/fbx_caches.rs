//! Geometry caches beside an FBX file: files of each kind, written here after their descriptions, and broken ones.

use dermis_io::point_cache::write_pc2;
use dermis_io::{Contents, Space, fbx, to_bytes};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_testkit::fbx::BEND;
use dermis_testkit::fbx_cache::{TIMES, description, maya, points, scene};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::ErrorKind;

type Files = HashMap<String, Vec<u8>>;

/// A file of each kind: the path that the scene names, and the files there are.
fn kinds() -> Vec<(&'static str, Files)> {
    let files = |files: Vec<(&str, Vec<u8>)>| files.into_iter().map(|(path, bytes)| (path.to_owned(), bytes)).collect();
    let all = [0, 1, 2];
    let frames: Vec<Vec<DVec3>> = all.map(points).into();
    let frames: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
    let mut pc2 = to_bytes(|out| write_pc2(&frames, 0.0, &Space::default(), out)).unwrap();
    pc2[24..28].copy_from_slice(&1.5f32.to_le_bytes()); // frames per sample, at 24 a second
    vec![
        (
            "hero_fpc\\c.xml",
            files(vec![
                ("hero_fpc/c.xml", description("OneFile", "mcx").into()),
                ("hero_fpc/c.mcx", maya(true, false, &all)),
            ]),
        ),
        ("c.xml", files(vec![("c.xml", description("OneFile", "mcc").into()), ("c.mc", maya(false, true, &all))])),
        (
            "..\\caches\\c.xml",
            files(vec![
                ("strip_fpc/c.xml", description("OneFilePerFrame", "mcx").into()),
                ("strip_fpc/cFrame0.mcx", maya(true, true, &all[..1])),
                ("strip_fpc/cFrame1Tick125.mcx", maya(true, true, &all[1..2])),
                ("strip_fpc/cFrame3.mcx", maya(true, true, &all[2..])),
            ]),
        ),
        ("c.pc2", files(vec![("c.pc2", pc2)])),
    ]
}

/// Reads a scene with files beside it, and checks that it asks for none elsewhere.
fn read(text: &str, files: &Files) -> Contents {
    let asked = RefCell::new(0);
    let resolve = |path: &str, most: u64| {
        assert!(
            !path.starts_with('/') && !path.contains([':', '\\']) && !path.split('/').any(|part| part == ".."),
            "{path}"
        );
        *asked.borrow_mut() += 1;
        let bytes = files.get(path).ok_or(ErrorKind::NotFound)?;
        Ok(bytes[..bytes.len().min(most as usize)].to_vec())
    };
    let contents = fbx::read(text.as_bytes(), "strip.fbx", &resolve).unwrap_or_else(|e| panic!("{e}"));
    assert!(asked.into_inner() < 10_000);
    contents
}

#[test]
fn caches_are_records() {
    for (path, files) in kinds() {
        let channel = if path.ends_with("pc2") { "" } else { "strip" };
        let contents = read(&scene(path, channel, &[]), &files);
        let expected: &[&str] = if path.ends_with("pc2") { &[] } else { &["normals of geometry caches"] };
        let unread: Vec<_> = contents.unread.iter().filter(|what| !what.contains("animated")).collect();
        assert_eq!(unread, expected, "{path}");
        assert!(contents.skeleton.is_none() || contents.weights.is_none());
        let mesh = contents.mesh.as_ref().unwrap();
        assert!(mesh.positions.iter().zip(points(0)).all(|(p, q)| p.distance(q) < 1e-12));
        let times: Vec<f64> = contents.records.iter().map(|record| record.time.unwrap()).collect();
        assert_eq!(times, TIMES, "{path}");
        for (frame, record) in contents.records.iter().enumerate() {
            let found = record.positions.as_ref().unwrap();
            // All numbers are whole in 32 bits.
            assert!(found.iter().zip(points(frame)).all(|(p, q)| p.distance(q) < 1e-12), "{path}, frame {frame}");
        }
    }
}

/// The node of the mesh carries the cache along, and a mesh without a cache moves beside it.
#[test]
fn nodes_carry_caches_along() {
    let (path, files) = kinds().swap_remove(0);
    let text = scene(path, "strip", &[("C: \"OP\",52,44,", "C: \"OP\",52,20,")]);
    let contents = read(&text, &files);
    // A record at every frame of the take, and at those of the cache between them.
    let frames: Vec<f64> = (0..5).map(|frame| f64::from(frame) / 24.0).collect();
    assert_eq!(contents.records.len(), 6);
    for record in &contents.records {
        let time = record.time.unwrap();
        assert!(frames.iter().chain(&TIMES).any(|own| (own - time).abs() < 1e-9), "{time}");
        let at = (time * 24.0).min(4.0);
        let (low, s) = (at.floor().min(3.0) as usize, at - at.floor().min(3.0));
        let turn = DMat3::from_rotation_z((BEND[low] + s * (BEND[low + 1] - BEND[low])).to_radians());
        let of_cache = (time / 0.0625).min(2.0);
        let (before, s) = (of_cache.floor().min(1.0) as usize, of_cache - of_cache.floor().min(1.0));
        for (vertex, found) in record.positions.as_ref().unwrap().iter().enumerate() {
            let own = points(before)[vertex].lerp(points(before + 1)[vertex], s);
            // Angles pass through 32 bits: 80 degrees · 2⁻²⁴, over 20 m.
            assert!(found.distance(turn * own) < 1e-4, "vertex {vertex} at {time}: {found} is not {}", turn * own);
        }
    }
}

/// What cannot be used is named, with the reason, and the mesh stands still.
#[test]
fn caches_that_cannot_be_used_are_named() {
    let (path, files) = kinds().swap_remove(0);
    let named = |channel: &str, files: &Files, expected: &str| {
        let contents = read(&scene(path, channel, &[]), files);
        assert!(contents.records.is_empty() && contents.mesh.is_some());
        assert!(contents.unread.iter().any(|what| what.contains(expected)), "{expected}: {:?}", contents.unread);
    };
    let with = |changes: &[(&str, Vec<u8>)]| {
        let mut files = files.clone();
        changes.iter().for_each(|(path, bytes)| _ = files.insert((*path).into(), bytes.clone()));
        files
    };
    named("strip", &Files::new(), "neither in the file nor beside it");
    named("coat", &files, "it has no channel \"coat\"");
    let fewer = maya(true, false, &[0, 1, 2]);
    let at = fewer.windows(4).position(|tag| tag == b"SIZE").unwrap();
    let mut fewer = fewer;
    fewer[at + 16..at + 20].copy_from_slice(&9u32.to_be_bytes());
    named("strip", &with(&[("hero_fpc/c.mcx", fewer.clone())]), "it has 9 points, but the mesh has 10 vertices");
    fewer[at + 16..at + 20].copy_from_slice(&u32::MAX.to_be_bytes());
    named("strip", &with(&[("hero_fpc/c.mcx", fewer)]), "geometry cache");
    named("strip", &with(&[("hero_fpc/c.xml", b"nothing of the kind".to_vec())]), "geometry cache");
    // A scene with skins names its caches.
    let text = scene(path, "strip", &[("C: \"OO\",91,10\n", "C: \"OO\",91,10\nC: \"OO\",40,10\n")]);
    let contents = read(&text, &files);
    assert!(contents.records.is_empty() && contents.weights.is_some());
    assert!(contents.unread.contains(&"1 geometry caches, beside skins".to_owned()), "{:?}", contents.unread);
}

/// Files that end anywhere, with bits turned, promises without end and tags within tags: named or read, never slow.
#[test]
fn broken_files_are_survived() {
    for (path, files) in kinds() {
        let channel = if path.ends_with("pc2") { "" } else { "strip" };
        let text = scene(path, channel, &[]);
        for (name, bytes) in &files {
            for at in 0..bytes.len() {
                for turned in [false, true] {
                    let mut broken = files.clone();
                    let own = broken.get_mut(name).unwrap();
                    if turned {
                        own[at] ^= 1 << (at % 8)
                    } else {
                        own.truncate(at)
                    }
                    let contents = read(&text, &broken);
                    assert!(contents.records.len() <= 3, "{name} at {at}");
                    // Frames that are missing as a whole are a shorter cache.
                    let whole = bytes.windows(4).enumerate().any(|(begin, tag)| begin == at && tag.starts_with(b"FOR"));
                    if !turned && at > 0 && !whole && !name.ends_with(".xml") && files.len() < 3 {
                        let is_named = contents.unread.iter().any(|what| what.starts_with("geometry cache"));
                        assert!(contents.records.is_empty() && is_named, "{name} cut at {at}: {:?}", contents.unread);
                    }
                }
            }
        }
    }
    let (path, files) = kinds().swap_remove(2);
    let text = scene(path, "strip", &[]);
    let deep = "<a>".repeat(50_000);
    let endless =
        description("OneFilePerFrame", "mcx").replace("\"750\"", "\"4294967295\"").replace("\"375\"", "\"1\"");
    let channel = endless.lines().find(|line| line.contains("channel0")).unwrap();
    let many: String =
        (0..1000).map(|at| channel.replace("StartTime=\"0\"", &format!("StartTime=\"{at}99\""))).collect();
    for strange in
        [deep, endless.clone(), endless.replace("<Channels>", &format!("<Channels>{many}")), " ".repeat(300_000)]
    {
        let mut broken = files.clone();
        broken.insert("strip_fpc/c.xml".into(), strange.into_bytes());
        let began = std::time::Instant::now();
        read(&text, &broken);
        assert!(began.elapsed().as_secs() < 10);
    }
}
