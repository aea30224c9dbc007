//! The n-th call of a reader or a writer fails, for every n until none does: the error says what the system said, and
//! nothing that was read half is taken for a whole.

use dermis_fuzz::seeds;
use dermis_io::deformer_protocol::{Heard, Listener};
use dermis_io::npz::StoredFloat;
use dermis_io::{
    ReadError, Space, WriteError, fbx, gltf, model_file, npz, obj, part_file, point_cache, share_file, to_bytes,
};
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};

const SAID: &str = "the cable was pulled";

/// Lets some calls through, and fails the next one.
struct Failing<T> {
    inner: T,
    left: usize,
}

impl<T> Failing<T> {
    fn call(&mut self) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other(SAID))?;
        Ok(())
    }
}

impl<T: Read> Read for Failing<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.call()?;
        self.inner.read(buffer)
    }
}

impl<T: Seek> Seek for Failing<T> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.call()?;
        self.inner.seek(to)
    }
}

impl<T: Write> Write for Failing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call()?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call()?;
        self.inner.flush()
    }
}

/// Takes or gives one byte a call, and is interrupted before every third.
struct Slow<T> {
    inner: T,
    calls: usize,
}

impl<T> Slow<T> {
    fn call(&mut self) -> io::Result<()> {
        self.calls += 1;
        match self.calls.is_multiple_of(3) {
            true => Err(ErrorKind::Interrupted.into()),
            false => Ok(()),
        }
    }
}

impl<T: Read> Read for Slow<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.call()?;
        let most = buffer.len().min(1);
        self.inner.read(&mut buffer[..most])
    }
}

impl<T: Seek> Seek for Slow<T> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

impl<T: Write> Write for Slow<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call()?;
        self.inner.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// Reads a file of that length, and writes what it held.
type Reader = fn(&mut dyn Source, u64) -> Result<Vec<u8>, ReadError>;

/// Every reader that takes a file piece by piece.
fn readers() -> Vec<(&'static str, Vec<u8>, Reader)> {
    fn written(bytes: Result<Vec<u8>, WriteError>) -> Vec<u8> {
        bytes.expect("what was read can be written")
    }
    fn model(source: &mut dyn Source, length: u64) -> Result<Vec<u8>, ReadError> {
        let model = model_file::read_from(source, length)?;
        Ok(written(to_bytes(|out| model_file::write(&model, out))))
    }
    fn part(source: &mut dyn Source, length: u64) -> Result<Vec<u8>, ReadError> {
        let part = part_file::read_from(source, length)?;
        Ok(written(to_bytes(|out| part_file::write(&part, out))))
    }
    fn share(source: &mut dyn Source, length: u64) -> Result<Vec<u8>, ReadError> {
        let share = share_file::read_from(source, length)?;
        Ok(written(to_bytes(|out| share_file::write(&share, out))))
    }
    fn bundle(source: &mut dyn Source, length: u64) -> Result<Vec<u8>, ReadError> {
        let mut records = Vec::new();
        let contents = npz::stream(source, length, "a.npz", 1, |contents| {
            records.append(&mut contents.records);
            Ok::<_, ReadError>(())
        })?;
        let contents = contents.expect("the seed has poses and skins");
        assert_eq!(records.len(), 3, "no record is lost in silence");
        let contents = dermis_io::Contents { records, ..contents };
        Ok(written(to_bytes(|out| npz::write(&contents, StoredFloat::Double, out))))
    }
    let mut readers: Vec<(_, _, Reader)> = vec![("npz", seeds::bundles().swap_remove(0), bundle)];
    readers.extend(seeds::models().into_iter().map(|file| ("model", file, model as Reader)));
    readers.extend(seeds::parts().into_iter().map(|file| ("part", file, part as Reader)));
    readers.extend(seeds::shares().into_iter().map(|file| ("share", file, share as Reader)));
    readers
}

#[test]
fn a_read_that_fails_is_an_error_that_says_so() {
    for (name, file, read) in readers() {
        let length = file.len() as u64;
        let good = read(&mut Cursor::new(&file), length).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut calls = 0;
        loop {
            match read(&mut Failing { inner: Cursor::new(&file), left: calls }, length) {
                Ok(found) => break assert!(found == good, "{name} after {calls} calls"),
                Err(error) => assert!(error.to_string().contains(SAID), "{name}, call {calls}: {error}"),
            }
            calls += 1;
        }
        assert!(calls > 2, "{name} makes {calls} calls");
        let slow = read(&mut Slow { inner: Cursor::new(&file), calls: 0 }, length);
        let slow = slow.unwrap_or_else(|e| panic!("{name}, byte by byte: {e}"));
        assert!(slow == good, "{name}, byte by byte: other contents");
    }
}

#[test]
fn a_program_whose_pipe_fails_is_closed() {
    for said in seeds::talks() {
        for calls in 0.. {
            let mut from = Failing { inner: &said[1..], left: calls };
            let mut listener = Listener::new(2);
            let last = loop {
                match listener.hear(&mut from, &mut |_| {}) {
                    Heard::Greeting(_) | Heard::Frame(..) => {}
                    last => break last,
                }
            };
            if from.left > 0 {
                break;
            }
            assert!(matches!(last, Heard::Closed(_) | Heard::Stray(_)), "{last:?}");
        }
    }
}

#[test]
fn a_write_that_fails_is_an_error_that_says_so() {
    type Writer = Box<dyn Fn(&mut dyn Write) -> Result<(), WriteError>>;
    let space = Space::default;
    let mut writers: Vec<(&str, Writer)> = Vec::new();
    for file in seeds::models() {
        let model = model_file::read(&file).unwrap();
        writers.push(("model", Box::new(move |out| model_file::write(&model, out))));
    }
    for file in seeds::parts() {
        let part = part_file::read(&file).unwrap();
        writers.push(("part", Box::new(move |out| part_file::write(&part, out))));
    }
    for file in seeds::shares() {
        let share = share_file::read(&file).unwrap();
        writers.push(("share", Box::new(move |out| share_file::write(&share, out))));
    }
    let bundle = std::rc::Rc::new(npz::read(&seeds::bundles()[0], "a.npz").unwrap());
    let scene = gltf::read(&seeds::glbs()[0], "a.glb", &dermis_fuzz::used::no_file).unwrap();
    let shapes = bundle.clone();
    let frames = move || shapes.records.iter().filter_map(|r| r.positions.clone()).collect::<Vec<_>>();
    let all = bundle.clone();
    writers.push(("npz", Box::new(move |out| npz::write(&all, StoredFloat::Single, out))));
    writers.push((
        "glb",
        Box::new(move |out| {
            let (mesh, skeleton, weights) = (scene.mesh.as_ref(), scene.skeleton.as_ref(), scene.weights.as_ref());
            gltf::write_glb(&gltf::GlbScene { name: "a", mesh, skeleton, weights, ..Default::default() }, out)
        }),
    ));
    let (pc2, mdd) = (frames.clone(), frames);
    writers.push((
        "pc2",
        Box::new(move |out| {
            point_cache::write_pc2(&pc2().iter().map(Vec::as_slice).collect::<Vec<_>>(), 0.0, &space(), out)
        }),
    ));
    writers.push((
        "mdd",
        Box::new(move |out| {
            let frames = mdd();
            let times: Vec<f64> = (0..frames.len()).map(|at| at as f64).collect();
            point_cache::write_mdd(&frames.iter().map(Vec::as_slice).collect::<Vec<_>>(), &times, &space(), out)
        }),
    ));
    writers.push((
        "obj",
        Box::new(move |out| {
            let mesh = bundle.mesh.as_ref().unwrap();
            obj::write(mesh, &mesh.positions, &space(), out)
        }),
    ));
    for table in seeds::tables() {
        use dermis_io::driver_table::{self, Table};
        if let Ok(table) = driver_table::read_joints(&table) {
            writers.push(("joint table", Box::new(move |out| driver_table::write(Table::Joints(&table), "a", out))));
        } else if let Ok(table) = driver_table::read_helpers(&table) {
            writers.push(("helper table", Box::new(move |out| driver_table::write(Table::Helpers(&table), "a", out))));
        }
    }
    assert!(writers.len() > 20);
    for (name, write) in writers {
        let good = to_bytes(|out| write(out)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut calls = 0;
        loop {
            let mut out = Failing { inner: Vec::new(), left: calls };
            match write(&mut out) {
                Ok(()) => break assert!(out.inner == good, "{name} after {calls} calls"),
                Err(WriteError::Output { reason }) => assert!(reason.contains(SAID), "{name}, call {calls}: {reason}"),
                Err(other) => panic!("{name}, call {calls}: {other}"),
            }
            assert!(good.starts_with(&out.inner), "{name}, call {calls}: other bytes than in the end");
            calls += 1;
        }
        assert!(calls > 0, "{name}");
        let mut slow = Slow { inner: Vec::new(), calls: 0 };
        write(&mut slow).unwrap_or_else(|e| panic!("{name}, byte by byte: {e}"));
        assert!(slow.inner == good, "{name}, byte by byte");
    }
}

/// Files that are read from memory cannot fail to be read; those that they refer to can.
#[test]
fn a_file_beside_that_cannot_be_read_is_named() {
    let text = br#"{"asset": {"version": "2.0"}, "buffers": [{"byteLength": 4, "uri": "beside.bin"}]}"#;
    let failing = |_: &str, _: u64| Err(io::Error::other(SAID));
    let error = gltf::read(text, "a.gltf", &failing).unwrap_err().to_string();
    assert!(error.contains("beside.bin") && error.contains(SAID), "{error}");
    assert!(fbx::read(b"", "a.fbx", &|_, _| Err(std::io::ErrorKind::NotFound.into())).is_err());
}
