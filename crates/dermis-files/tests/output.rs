//! Outputs: whole or not at all, claimed by one, and never through a link that somebody planted.

use dermis_files::FileError;
use dermis_files::load::read_contents;
use dermis_files::output::{Existing, Output, reserve, reserve_file, reserve_folder};
use dermis_files::skins::write_scene;
use dermis_io::gltf::GlbScene;
use dermis_io::gltf::read;
use dermis_io::{Space, WriteError};
use dermis_testkit::vrm::avatar;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, SystemTime};

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn of_writers_of_one_name_exactly_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let path = folder.path().join(format!("{round}.bin"));
        let (outputs, start) = ([(); 4].map(|()| reserve_file(&path, Existing::Keep).unwrap()), Barrier::new(4));
        let write = |who: usize, output: &Output| {
            start.wait();
            output.write(&[who as u8; 100])
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            let writers: Vec<_> =
                outputs.iter().enumerate().map(|(who, output)| scope.spawn(move || write(who, output))).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let winners: Vec<usize> = (0..4).filter(|&who| results[who].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{results:?}");
        assert!(results.iter().filter_map(|r| r.as_ref().err()).all(|e| matches!(e, FileError::Exists { .. })));
        assert_eq!(fs::read(&path).unwrap(), [winners[0] as u8; 100]);
    }
    assert_eq!(names(folder.path()).len(), 20, "nothing is left beside");
}

#[test]
fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    fs::write(&path, "old").unwrap();
    let output = reserve_file(&path, Existing::Replace).unwrap();
    let failed = output.write_with(|out| {
        out.write_all(b"half")?;
        Err(WriteError::Output { reason: "the device is full".into() })
    });
    assert!(failed.unwrap_err().to_string().contains("the device is full"));
    assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"old".to_vec(), vec!["a.bin".to_owned()]));
    output.write(b"new").unwrap();
    assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".to_vec(), vec!["a.bin".to_owned()]));
}

/// A name of 255 bytes is the longest that systems take. A longer one fails before the work, not after it.
#[test]
fn a_name_that_the_system_does_not_take_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for (length, taken) in [(100, true), (243, true), (255, true), (256, false), (400, false)] {
        let path = folder.path().join("n".repeat(length));
        match reserve_file(&path, Existing::Keep) {
            Ok(output) => {
                assert!(taken, "{length}");
                output.write(b"x").unwrap();
            }
            Err(error) => assert!(!taken && matches!(error, FileError::System { .. }), "{length}: {error}"),
        }
    }
}

#[cfg(unix)]
#[test]
fn links_lead_no_write_elsewhere() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("victim"), "precious").unwrap();
    // Names of files under way that can be guessed, and the mark of a folder.
    symlink("victim", at(&format!(".a.bin.{}.part", std::process::id()))).unwrap();
    symlink("victim", at(".dermis-0.tmp")).unwrap();
    fs::create_dir(at("frames")).unwrap();
    symlink("../victim", at("frames/.dermis-unfinished")).unwrap();
    reserve_file(&at("a.bin"), Existing::Keep).unwrap().write(b"a").unwrap();
    let frames = reserve_folder(&at("frames"), Existing::Replace).unwrap();
    frames.sequence::<FileError>(|write| write("1.obj", b"v 0 0 0")).unwrap();
    assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
    assert!(at(".dermis-0.tmp").is_symlink(), "a link is not what a killed program leaves");

    // A link is somebody's, also one that leads nowhere. With leave to replace, the link itself is replaced.
    symlink("nowhere", at("dangling")).unwrap();
    assert!(matches!(reserve(&at("dangling"), Existing::Keep), Err(FileError::Exists { .. })));
    symlink("victim", at("link")).unwrap();
    reserve_file(&at("link"), Existing::Replace).unwrap().write(b"new").unwrap();
    assert_eq!((fs::read(at("victim")).unwrap(), at("link").is_symlink()), (b"precious".to_vec(), false));

    // Others may read what any program of this user lets them read.
    File::create(at("plain")).unwrap();
    let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode();
    assert_eq!(mode("a.bin"), mode("plain"));
}

#[test]
fn what_a_killed_program_left_is_removed_and_what_is_under_way_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let made = |name: &str, when: Option<SystemTime>| {
        let file = File::create(at(name)).unwrap();
        when.into_iter().for_each(|when| file.set_modified(when).unwrap());
        file
    };
    let held = made(".dermis-held.tmp", Some(long_ago));
    held.lock().unwrap();
    drop((made(".dermis-left.tmp", Some(long_ago)), made(".dermis-young.tmp", None)));
    drop((made("dermis-mine.tmp", Some(long_ago)), made(".dermis-mine.bin", Some(long_ago))));
    reserve_file(&at("a.bin"), Existing::Keep).unwrap();
    let stay = [".dermis-held.tmp", ".dermis-mine.bin", ".dermis-young.tmp", "dermis-mine.tmp"];
    assert_eq!(names(folder.path()), stay);
}

/// A name that ends with .vrm promises an avatar.
#[test]
fn only_an_avatar_is_written_as_vrm() {
    let folder = tempfile::tempdir().unwrap();
    let output = reserve_file(&folder.path().join("hero.vrm"), Existing::Keep).unwrap();
    let contents = read(&avatar(1), "hero.vrm", &|_, _| Err(std::io::ErrorKind::NotFound.into())).unwrap();
    let bare = GlbScene { name: "hero", mesh: contents.mesh.as_ref(), ..GlbScene::default() };
    let refused = write_scene(&bare, &output).unwrap_err().to_string();
    assert!(refused.contains("no VRM avatar (VRMC_vrm: the file has no longer all that it names)"), "{refused}");
    assert_eq!(names(folder.path()), Vec::<String>::new());
    let whole = GlbScene {
        skeleton: contents.skeleton.as_ref(),
        weights: contents.weights.as_ref(),
        morphs: &contents.morphs,
        ..bare
    };
    assert_eq!(write_scene(&whole, &output).unwrap().1, Vec::<String>::new());
    assert_eq!(names(folder.path()), ["hero.vrm"]);
    // A mesh that was read from a file has its morph targets with it.
    let (read, _) = read_contents(&folder.path().join("hero.vrm"), &Space::default()).unwrap();
    let again = reserve_file(&folder.path().join("again.vrm"), Existing::Keep).unwrap();
    let carried = GlbScene { mesh: read.mesh.as_ref(), morphs: &[], ..whole };
    assert_eq!(write_scene(&carried, &again).unwrap().1, Vec::<String>::new());
    let (again, _) = read_contents(&folder.path().join("again.vrm"), &Space::default()).unwrap();
    assert_eq!(again.morphs, read.morphs);
}
