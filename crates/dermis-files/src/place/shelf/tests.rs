//! The same things are done on the disk and on the shelf, and the same comes of them.

use super::super::disk;
use super::*;
use std::io::{Read, Seek, SeekFrom, Write};

/// What came of a call, in words.
fn said<T: std::fmt::Debug>(result: io::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{:?}", error.kind()),
    }
}

/// What comes of a story in an empty folder `top` of a place.
macro_rules! story {
    ($place:ident, $top:expr) => {{
        let at = |name: &str| $top.join(name);
        let mut told: Vec<String> = Vec::new();
        let wrote = |name: &str, bytes: &[u8], existing: Existing| {
            let mut part = $place::Part::in_folder(at(name).parent().unwrap())?;
            part.writer().write_all(b"?")?;
            part.writer().seek(SeekFrom::Start(0))?;
            part.writer().write_all(bytes)?;
            part.sync()?;
            part.named(&at(name), existing)?;
            $place::sync_folder(&$top)
        };
        let seen = |name: &str| {
            let path = at(name);
            let mut names = $place::names(&path).map(|names| names.collect::<Vec<_>>());
            if let Ok(names) = &mut names {
                names.sort();
            }
            let real =
                $place::real(&path).map(|real| real.strip_prefix($place::real(&$top).unwrap()).unwrap().to_owned());
            format!(
                "{name}: {} {} {} {} {} {} {} {}",
                $place::exists(&path),
                $place::is_dir(&path),
                $place::is_file(&path),
                said($place::is_taken(&path)),
                said($place::read(&path)),
                said($place::open(&path).map(|(_, length)| length)),
                said(names),
                said(real),
            )
        };
        told.push(seen("nothing"));
        told.push(said(wrote("a/b", b"1", Existing::Keep)));
        told.push(said($place::make_folder(&at("a/c"))));
        told.push(said($place::make_folder(&at("a"))));
        told.push(said(wrote("a/b", b"12", Existing::Keep)));
        told.push(said(wrote("a/b", b"34", Existing::Keep)));
        told.push(seen("a/./c/../b"));
        told.push(said(wrote("a/b", b"345", Existing::Replace)));
        told.push(said(wrote("a/c", b"0", Existing::Replace)));
        told.push(said($place::make_file(&at("a/mark"))));
        told.push(said($place::make_file(&at("a/mark"))));
        told.push(said($place::make_folder(&at("a/b"))).replace("AlreadyExists", "NotADirectory"));
        told.extend(["a", "a/b", "a/c", "a/mark", "."].map(seen));
        let (mut file, mut bytes) = ($place::open(&at("a/b")).unwrap().0, Vec::new());
        told.push(said($place::remove(&at("a/b"))));
        told.push(said(file.read_to_end(&mut bytes)));
        told.push(said(file.rewind().and_then(|()| file.read_to_end(&mut bytes))) + &format!("{bytes:?}"));
        told.push(said($place::remove(&at("a/b"))));
        told.push(said($place::lock(&at("a/lock")).map(|_| ())));
        told.push(said($place::lock(&at("a/lock")).map(|_| ())));
        told.push(said($place::lock(&at("x/lock")).map(|_| ())));
        told.push(seen("a"));
        told
    }};
}

#[test]
fn the_shelf_does_what_the_disk_does() {
    let top = tempfile::tempdir().unwrap();
    let on_disk = story!(disk, top.path());
    super::make_folder(Path::new("story")).unwrap();
    let this = super::plain(Path::new("story"));
    let on_shelf = {
        use super as shelf;
        story!(shelf, this)
    };
    assert_eq!(on_disk, on_shelf);
}

#[test]
fn what_is_put_is_found_and_taken() {
    put(Path::new("/put/./one.npz"), vec![1, 2, 3]).unwrap();
    put(Path::new("put/within/two.npz"), vec![4]).unwrap();
    assert_eq!(read(Path::new("put/one.npz")).unwrap(), [1, 2, 3]);
    assert!(is_dir(Path::new("put/within")) && is_dir(Path::new("")) && is_dir(Path::new("..")));
    let mut here = all();
    here.retain(|(path, _)| path.starts_with("put"));
    assert_eq!(here, [(PathBuf::from("put/one.npz"), 3), (PathBuf::from("put/within/two.npz"), 1)]);
    for name in ["put", "put/one.npz/three", "", "/"] {
        assert!(put(Path::new(name), vec![]).is_err(), "{name}");
    }
    assert_eq!(take(Path::new("put/one.npz")).unwrap(), [1, 2, 3]);
    assert_eq!(take(Path::new("put/one.npz")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(real(Path::new("put/within/../within/two.npz")).unwrap(), Path::new("/put/within/two.npz"));
}
