//! Examples that are read, used and forgotten, a few at a time.

use super::sets::holds;
use super::{FileNote, ReadOptions, Source, expect_finite, hash_of, load_examples, with_both};
use crate::error::FileError;
use crate::place;
use dermis_io::{Contents, ReadError, Space, Warning};
use dermis_rig::{Example, ExampleSet, Rig};
use std::io::{BufReader, Read, Seek};

/// Examples that are held at a time.
const AT_ONCE: usize = 16;
/// Of so many slices one is compared with the rig.
const LOOKED_AT: usize = 64;
/// Bytes of positions that are held at a time, unless one example takes more.
const MOST_BYTES: usize = 128 << 20;

/// What came by.
#[derive(Clone, Debug, Default)]
pub struct Streamed {
    /// What the set is called.
    pub name: String,
    /// The files.
    pub notes: Vec<FileNote>,
    /// Examples.
    pub poses: usize,
    /// Whether all files are clips, as [`ExampleSet::is_clip`] says of those held.
    pub is_clip: bool,
}

/// Hands over examples from files in their order, a few at a time: a bundle of poses and skins in slices, other files one
/// after another (a motion together with the skins after it).
///
/// # Errors
/// Those of [`load_examples`], and those of `take`.
pub fn stream_examples<E: From<FileError>>(
    rig: &Rig,
    rig_space: &Space,
    sources: &[Source],
    options: &ReadOptions,
    role: &str,
    mut take: impl FnMut(&[Example]) -> Result<(), E>,
) -> Result<Streamed, E> {
    let mut all = Streamed { is_clip: true, ..Streamed::default() };
    let mut at = 0;
    while at < sources.len() {
        let source = &sources[at];
        let (one, files) = match bundle(rig, source, options, &mut take)? {
            Some(one) => (one, 1),
            None => {
                let moves_skins = !holds(source, rig_space, options)?.0 && at + 1 < sources.len();
                let files = 1 + usize::from(moves_skins);
                let (set, notes) = load_examples(rig, rig_space, &sources[at..at + files], options, role)?;
                set.examples().chunks(AT_ONCE).try_for_each(&mut take)?;
                (Streamed { name: set.name.clone(), notes, poses: set.len(), is_clip: set.is_clip() }, files)
            }
        };
        at += files;
        all.name = if all.name.is_empty() { one.name } else { format!("{} + {}", all.name, one.name) };
        all.notes.extend(one.notes.into_iter().map(|note| FileNote { role: role.into(), ..note }));
        all.poses += one.poses;
        all.is_clip &= one.is_clip;
    }
    Ok(all)
}

/// Why reading in slices stopped.
enum Stop<E> {
    Read(ReadError),
    Other(E),
}

impl<E> From<ReadError> for Stop<E> {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

fn stopped<E: From<FileError>>(error: FileError) -> Stop<E> {
    Stop::Other(error.into())
}

/// A bundle of poses and skins in slices; `None` for any other file.
fn bundle<E: From<FileError>>(
    rig: &Rig,
    source: &Source,
    options: &ReadOptions,
    take: &mut impl FnMut(&[Example]) -> Result<(), E>,
) -> Result<Option<Streamed>, E> {
    let path = &source.path;
    let failed = |source| FileError::System { path: path.clone(), source };
    if place::exists(path) && !place::is_file(path) {
        return Ok(None);
    }
    let (mut file, bytes) = place::open(path).map_err(failed)?;
    let mut start = Vec::new();
    (&mut file).take(2).read_to_end(&mut start).map_err(failed)?;
    if start != b"PK" {
        return Ok(None);
    }
    file.rewind().map_err(failed)?;
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let mut note = FileNote { path: path.display().to_string(), bytes, ..FileNote::default() };
    let (mut read, mut poses, mut timed) = (0, 0, true);
    let most = (AT_ONCE * 24 * rig.mesh().positions.len()).min(MOST_BYTES);
    let (mut slices, mut of_slice_options) = (0, options.clone());
    let slice = |contents: &mut Contents| {
        // What is wrong with a file is wrong with all of it.
        of_slice_options.known = options.known || slices % LOOKED_AT != 0;
        slices += 1;
        read += contents.records.len();
        contents.records.retain(|record| source.takes(&record.label));
        if contents.records.is_empty() {
            return Ok(());
        }
        let mut of_slice = FileNote { remarks: vec![], ..note.clone() };
        let records = with_both(rig, contents, &of_slice_options, path, &mut of_slice).map_err(stopped)?;
        note.needs = of_slice.needs;
        if note.remarks.is_empty() {
            note.remarks = of_slice.remarks;
        }
        let set = ExampleSet::new(String::new(), records, rig).map_err(|e| {
            stopped(FileError::lacks(path, e.to_string(), "leave the example out, or give it importance 0"))
        })?;
        poses += set.len();
        timed &= set.examples().iter().all(|e| e.time.is_some());
        take(set.examples()).map_err(Stop::Other)
    };
    let contents = dermis_io::npz::stream(BufReader::new(file), bytes, &name, most, slice);
    let contents = contents.map_err(|stop| match stop {
        Stop::Read(source) => FileError::Read { path: path.clone(), source }.into(),
        Stop::Other(error) => error,
    })?;
    let Some(contents) = contents else { return Ok(None) };
    if read == 0 {
        expect_finite(&contents, path)?;
    }
    if poses == 0 {
        let error = match source.part {
            Some(_) => source.matches_none(read),
            None => FileError::lacks(path, "there are no examples", "an example is a pose with the skin in that pose"),
        };
        return Err(error.into());
    }
    note.remarks.extend(contents.warnings.iter().map(Warning::to_string));
    note.remarks.push(format!("{poses} examples, in slices"));
    if !options.known {
        note.hash = hash_of(path)?;
    }
    Ok(Some(Streamed { name: contents.name, notes: vec![note], poses, is_clip: timed && poses > 1 }))
}
