//! The bundle: rig, examples and mesh sequences as named NumPy arrays in one zip archive (`numpy.savez`).
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `rest_vertices` | (V, 3) | rest mesh |
//! | `faces` | (F, 3) integers | its triangles; or (F, 4), quads, of which one that names −1 or its third corner last is a triangle |
//! | `face_counts`, `face_indices` | integers | its polygons; `faces` is how they are split |
//! | `object_names`, `object_counts` | (O) text, integers | its objects, such as a body and its clothes: the vertices of one after those of the other |
//! | `object_visible` | (O) numbers or truth values | 0 for an object that is hidden |
//! | `bone_names`, `bone_parents` | (B) text, integers | −1 for a root, also as an unsigned number has it: 255, 65535, … |
//! | `bind_matrices` | (B, 4, 4) | joint to world at rest |
//! | `pose_matrices` | (P, B, 4, 4) | joint to world, posed |
//! | `vertices` | (P, V, 3) | the skin in each pose |
//! | `lbs_weights`, `influence_maps` | (V, B) | skinning weights; where a bone matters |
//! | `mask` | (P, V) from 0 to 1 | vertices that were sculpted: above 0.5. Without it all were, or with `shown` those that differ from it |
//! | `shown` | (P, V, 3) | the skin that the artist was shown; without it the base of a fit |
//! | `pose_labels`, `pose_weights`, `frame_times` | (P) text, numbers, seconds | per pose |
//! | `channels`, `channel_names` | (P, C) numbers, (C) text | what a pose is beside its joints, zero at rest |
//! | `fps`, `units`, `up_axis` | one value | frames per second; "metres", …; "Y" or "Z" |
//!
//! A bundle of corrections has further arrays: [`inverted`]. A [`crowd`] has arrays of its own.
//!
//! Any of them may be absent: a bundle is a rig, examples, a bare mesh sequence, a motion, or several of these. Matrices
//! are `[row, col]` for column vectors. Numbers are of any integer or of 16, 32 or 64 bit floating type, in either byte
//! order, C or Fortran order, stored or deflated. Python objects (pickles) are never unpacked.
//!
//! The reader is written by hand on `zip`. Crates that read NumPy files allocate what a header promises, and a hostile header
//! must not cost memory: here a promise is held against the archive's directory and the packed bytes before anything is
//! allocated.
//!
//! Without `up_axis` Y is up; a file that does not say so is given a warning ([`Flaw::UnknownSpace`](crate::Flaw::UnknownSpace)).

mod archive;
pub mod crowd;
pub mod inverted;
mod records;
mod rig;
mod space;
mod write;

pub use crowd::{CrowdBundle, crowd_numbers, write_crowd};
pub use inverted::{BundleShapes, Corrections, DeformerWritten, write_inverted};
pub use write::{StoredFloat, write, write_streamed, write_with};

use crate::npy::Array;
use crate::surface::LeftOut;
use crate::{Contents, Format, ReadError};
use archive::{Bundle, extents};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::from_rows;
use rayon::prelude::*;
use std::io::{Cursor, Read, Seek};

/// Reads a bundle. `name` is the file's name, for messages. The shapes of its records are skins where it says how they are
/// computed: [`inverted`].
///
/// The arrays read take at most 100 bytes per byte of the file, plus 32 MiB; as 64-bit numbers at most twice that. What
/// was read must be finite, except that frames with NaN or infinity are left out and counted.
///
/// # Errors
/// [`ReadError`], naming array and numbers.
pub fn read(bytes: &[u8], name: &str) -> Result<Contents, ReadError> {
    read_shapes(bytes, name, BundleShapes::Skins)
}

/// Reads a bundle as [`read`] does, with the shapes that are wanted of a bundle of corrections.
///
/// # Errors
/// As [`read`].
pub fn read_shapes(bytes: &[u8], name: &str, wanted: BundleShapes) -> Result<Contents, ReadError> {
    let mut bundle = Bundle::open(Cursor::new(bytes), bytes.len() as u64)?;
    let found = bundle.members.len();
    let (mut contents, order) = bundle.rig(name)?;
    contents.inverted = bundle.inverted()?;
    contents.records = bundle.records(&mut contents, order.as_deref(), wanted)?;
    if bundle.members.len() == found {
        let names: Vec<_> = bundle.members.keys().take(5).map(String::as_str).collect();
        let reason = format!("it holds none of a bundle's arrays, but {found} others ({})", names.join(", "));
        return Err(ReadError::WrongKind { format: Format::Npz, reason });
    }
    contents.unread = bundle.members.into_keys().collect();
    Ok(contents)
}

/// Reads a bundle of poses and skins (`pose_matrices` and `vertices`) without ever holding all of its skins: `take` gets
/// the contents again and again, each time with the next few records, at most `most` bytes of positions or one record.
/// The result are the contents without records; `None` if the bundle holds not both, or rest shapes for skins, or its skins in
/// Fortran order, whose poses lie apart: [`read`] takes those.
///
/// Bounds are those of [`read`]. `length` is the file's, in bytes.
///
/// # Errors
/// [`ReadError`], naming array and numbers, and those of `take`.
pub fn stream<R: Read + Seek, E: From<ReadError>>(
    reader: R,
    length: u64,
    name: &str,
    most: usize,
    mut take: impl FnMut(&mut Contents) -> Result<(), E>,
) -> Result<Option<Contents>, E> {
    let mut bundle = Bundle::open(reader, length)?;
    if !["pose_matrices", "vertices"].iter().all(|key| bundle.members.contains_key(*key)) {
        return Ok(None);
    }
    let inverted = bundle.inverted()?;
    if inverted.as_ref().is_some_and(|inverted| inverted.vertices == inverted::VerticesSpace::Rest) {
        return Ok(None);
    }
    let (mut contents, order) = bundle.rig(name)?;
    contents.inverted = inverted;
    let vertices = contents.mesh.as_ref().map(|mesh| mesh.positions.len());
    let parts = bundle.parts(&contents, order.as_deref())?;
    contents.unread = bundle.members.keys().filter(|key| *key != "vertices").cloned().collect();
    let key = "vertices";
    let Some((header, mut member)) = bundle.member(key)? else { return Ok(None) };
    let Some(row) = header.row() else { return Ok(None) };
    let [count, vertices, _] = extents(key, &header.shape, [None, vertices, Some(3)])?;
    if !header.is_number() {
        return Err(damaged(format!("array \"{key}\" holds text where numbers are expected")).into());
    }
    if let Some((_, [posed, ..])) = &parts.poses
        && *posed != count
    {
        return Err(damaged(format!("\"pose_matrices\" holds {posed} poses, but \"vertices\" {count}")).into());
    }
    let batch = (most / (24 * vertices.max(1))).max(1);
    let mut left_out = LeftOut::default();
    let mut next = 0;
    while next < count {
        let end = count.min(next + batch - contents.records.len());
        let mut rows = Vec::with_capacity(end - next);
        for at in next..end {
            let mut data = vec![0; row.data_length];
            member.read_exact(&mut data).map_err(|e| damaged(format!("array \"{key}\", pose {at}: {e}")))?;
            let shape = Array::new(row.clone(), data).ok_or_else(|| damaged(format!("array \"{key}\": its rows")))?;
            rows.push((at, shape));
        }
        let of_row = |(at, shape): &(usize, Array)| {
            let positions = (0..vertices).map(|v| DVec3::from([0, 1, 2].map(|c| shape.number([v, c]))));
            parts.record(*at, Some(positions.collect()))
        };
        let records: Vec<_> = rows.par_iter().map(of_row).collect();
        drop(rows);
        for record in records {
            match record? {
                Ok(record) => {
                    left_out.keep();
                    contents.records.push(record);
                }
                Err((label, positions)) => left_out.leave(label, &positions),
            }
        }
        next = end;
        if contents.records.len() == batch || (next == count && !contents.records.is_empty()) {
            take(&mut contents)?;
            contents.records.clear();
        }
    }
    // The checksum is compared when the end is met.
    let more = member.take(1).read_to_end(&mut Vec::new());
    if more.map_err(|e| damaged(format!("array \"{key}\": {e}")))? != 0 {
        return Err(damaged(format!("array \"{key}\": more bytes than its shape promises")).into());
    }
    left_out.tell(&mut contents);
    Ok(Some(contents))
}

/// A row of numbers by its name, for arrays that are no part of a rig; `None` if there is none of that name.
///
/// # Errors
/// [`ReadError`]: no bundle, or an array that is not a row of numbers.
pub fn numbers(bytes: &[u8], key: &str) -> Result<Option<Vec<f64>>, ReadError> {
    let found = Bundle::open(Cursor::new(bytes), bytes.len() as u64)?.numbers(key, [None])?;
    Ok(found.map(|(array, [count])| (0..count).map(|at| array.number([at])).collect()))
}

fn damaged(reason: String) -> ReadError {
    ReadError::Damaged { format: Format::Npz, reason }
}

/// An affine map from a 4x4 matrix, NaN where its last row is not finite.
fn matrix(entry: impl Fn(usize, usize) -> f64) -> Result<DAffine3, String> {
    let last = [0, 1, 2, 3].map(|column| entry(3, column));
    if last.iter().any(|x| !x.is_finite()) {
        return Ok(DAffine3::NAN);
    }
    // Products of 32-bit matrices leave 1e-7 behind; a row-vector matrix has its translation here.
    if last.iter().zip([0.0, 0.0, 0.0, 1.0]).any(|(x, expected)| (x - expected).abs() > 1e-5) {
        return Err(format!("the last row is {last:?}, not [0, 0, 0, 1]; matrices are [row, col] for column vectors"));
    }
    Ok(from_rows([0, 1, 2].map(|row| [0, 1, 2, 3].map(|column| entry(row, column)))))
}
