//! Arrays of numbers in a safetensors file, written and read one after another: no bytes of the file are held.
//!
//! The file is the length of a header (64 bits), the header (JSON: type, shape and place of every array, and texts by
//! name), padded with spaces to a multiple of eight bytes, and the arrays, little-endian, the widest numbers first. Source:
//! the format's own description; header and checks are those of the crate `safetensors`.

use crate::contents::{Format, ReadError};
use crate::writing::WriteError;
use dermis_rig::Rows;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bytes that are on their way at a time; a multiple of every number's size.
const BUFFER: usize = 1 << 16;
/// The longest header that is read, as in the crate `safetensors`.
const LONGEST_HEADER: u64 = 100_000_000;

/// Arrays on their way into a file.
#[derive(Default)]
pub(crate) struct Tensors<'a> {
    list: Vec<Tensor<'a>>,
    /// What the names begin with.
    prefix: String,
}

struct Tensor<'a> {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Writes the numbers; how many bytes they were.
    write: Box<dyn FnOnce(&mut dyn Write) -> io::Result<u64> + 'a>,
}

impl<'a> Tensors<'a> {
    /// Lets the names of what follows begin with `prefix`.
    pub(crate) fn begin(&mut self, prefix: String) {
        self.prefix = prefix;
    }

    pub(crate) fn f64(&mut self, name: &str, shape: &[usize], data: impl IntoIterator<Item = f64> + 'a) {
        self.push(name, Dtype::F64, shape, data, f64::to_le_bytes);
    }
    pub(crate) fn f32(&mut self, name: &str, shape: &[usize], data: impl IntoIterator<Item = f32> + 'a) {
        self.push(name, Dtype::F32, shape, data, f32::to_le_bytes);
    }
    pub(crate) fn u32(&mut self, name: &str, shape: &[usize], data: impl IntoIterator<Item = u32> + 'a) {
        self.push(name, Dtype::U32, shape, data, u32::to_le_bytes);
    }
    /// Rows as two arrays: where each starts, and the entries.
    pub(crate) fn rows(&mut self, (offsets, entries): (&str, &str), rows: &'a Rows<u32>) {
        for (name, list) in [(offsets, rows.offsets()), (entries, rows.entries())] {
            self.u32(name, &[list.len()], list.iter().copied());
        }
    }
    pub(crate) fn i16(&mut self, name: &str, shape: &[usize], data: impl IntoIterator<Item = i16> + 'a) {
        self.push(name, Dtype::I16, shape, data, i16::to_le_bytes);
    }
    pub(crate) fn u8(&mut self, name: &str, shape: &[usize], data: impl IntoIterator<Item = u8> + 'a) {
        self.push(name, Dtype::U8, shape, data, u8::to_le_bytes);
    }

    /// An array whose numbers are asked for when it is written.
    fn push<T: 'a, const N: usize>(
        &mut self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
        data: impl IntoIterator<Item = T> + 'a,
        bytes_of: fn(T) -> [u8; N],
    ) {
        let write = move |out: &mut dyn Write| {
            let (mut buffer, mut length) = (Vec::with_capacity(BUFFER), 0);
            for number in data {
                buffer.extend_from_slice(&bytes_of(number));
                if buffer.len() == BUFFER {
                    out.write_all(&buffer)?;
                    length += buffer.len() as u64;
                    buffer.clear();
                }
            }
            out.write_all(&buffer)?;
            Ok(length + buffer.len() as u64)
        };
        self.list.push(Tensor {
            name: format!("{}{name}", self.prefix),
            dtype,
            shape: shape.to_vec(),
            write: Box::new(write),
        });
    }

    /// Writes a file with the text `json` under the name `key` in its header.
    ///
    /// # Errors
    /// [`WriteError`]: an array of another length than its shape, or what `out` says.
    pub(crate) fn write(mut self, key: &str, json: String, out: &mut dyn Write) -> Result<(), WriteError> {
        let cannot = |what: String| WriteError::CannotHold { format: Format::Model, what };
        self.list.sort_by(|a, b| b.dtype.cmp(&a.dtype).then_with(|| a.name.cmp(&b.name)));
        let mut end = 0usize;
        let mut infos = Vec::with_capacity(self.list.len());
        for tensor in &self.list {
            let count = tensor.shape.iter().try_fold(tensor.dtype.bitsize() / 8, |all, &n| all.checked_mul(n));
            let start = end;
            end = count.and_then(|count| start.checked_add(count)).ok_or_else(|| cannot(tensor.name.clone()))?;
            let info = TensorInfo { dtype: tensor.dtype, shape: tensor.shape.clone(), data_offsets: (start, end) };
            infos.push((tensor.name.clone(), info));
        }
        let lengths: Vec<u64> = infos.iter().map(|(_, i)| (i.data_offsets.1 - i.data_offsets.0) as u64).collect();
        let metadata = Metadata::new(Some(HashMap::from([(key.into(), json)])), infos);
        let header = metadata.map_err(|e| cannot(e.to_string()))?;
        let mut header = serde_json::to_vec(&header).map_err(|e| cannot(e.to_string()))?;
        header.resize(header.len().next_multiple_of(8), b' ');
        if header.len() as u64 > LONGEST_HEADER {
            return Err(cannot(format!("a header of {} bytes", header.len())));
        }
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        for (tensor, expected) in self.list.into_iter().zip(lengths) {
            let found = (tensor.write)(out)?;
            if found != expected {
                let (name, shape) = (tensor.name, tensor.shape);
                return Err(cannot(format!("{found} bytes of \"{name}\" in the shape {shape:?}")));
            }
        }
        Ok(())
    }
}

/// What a file is read from.
pub(crate) trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// Arrays of a file, checked and read as they are taken.
pub(crate) struct Reader<'a> {
    metadata: Metadata,
    /// Where the arrays start.
    start: u64,
    source: RefCell<&'a mut dyn Source>,
    /// What the names begin with.
    prefix: RefCell<String>,
}

impl<'a> Reader<'a> {
    /// Reads the header of a file of `length` bytes, and checks that its arrays fill the rest.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn open(source: &'a mut dyn Source, length: u64) -> Result<Self, String> {
        let mut start = [0; 8];
        if length < 8 {
            return Err(format!("{length} bytes are too few for a header"));
        }
        source.rewind().and_then(|()| source.read_exact(&mut start)).map_err(|e| e.to_string())?;
        let header_length = u64::from_le_bytes(start);
        if header_length > LONGEST_HEADER || header_length > length - 8 {
            return Err(format!("its header promises {header_length} bytes; the file has {length}"));
        }
        let mut header = vec![0; header_length as usize];
        source.read_exact(&mut header).map_err(|e| e.to_string())?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(|e| format!("its header: {e}"))?;
        let (promised, held) = (metadata.data_len() as u64, length - 8 - header_length);
        if promised != held {
            return Err(format!("its arrays promise {promised} bytes; the file has {held}"));
        }
        Ok(Self { metadata, start: 8 + header_length, source: RefCell::new(source), prefix: RefCell::default() })
    }

    /// A text of the header.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.metadata.metadata().as_ref()?.get(key).map(String::as_str)
    }

    /// Lets the names of what is asked for begin with `prefix`.
    pub(crate) fn begin(&self, prefix: String) {
        self.prefix.replace(prefix);
    }

    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix.borrow())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.metadata.info(&self.name(name)).is_some()
    }

    /// The numbers of an array of `columns` a row.
    fn array<T, const N: usize>(
        &self,
        name: &str,
        dtype: Dtype,
        columns: usize,
        number: fn([u8; N]) -> T,
    ) -> Result<Vec<T>, ReadError> {
        let name = &self.name(name);
        let info = self.metadata.info(name).ok_or_else(|| damaged(format!("array \"{name}\" is missing")))?;
        // No bytes at all may come with any number of columns, so their product need not fit.
        let found = info.shape.iter().skip(1).try_fold(1usize, |all, &n| all.checked_mul(n));
        if info.dtype != dtype || found != Some(columns) {
            let (found, shape) = (info.dtype, &info.shape);
            return Err(damaged(format!(
                "array \"{name}\" is {found:?} {shape:?}, not {dtype:?} with {columns} columns"
            )));
        }
        let (from, to) = info.data_offsets;
        let failed = |e: io::Error| damaged(format!("array \"{name}\": {e}"));
        let mut source = self.source.borrow_mut();
        source.seek(SeekFrom::Start(self.start + from as u64)).map_err(failed)?;
        let mut numbers = Vec::with_capacity((to - from) / N);
        let mut buffer = vec![0; BUFFER.min(to - from)];
        let mut rest = to - from;
        while rest > 0 {
            let now = &mut buffer[..rest.min(BUFFER)];
            source.read_exact(now).map_err(failed)?;
            rest -= now.len();
            numbers.extend(now.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)));
        }
        Ok(numbers)
    }

    pub(crate) fn f64(&self, name: &str, columns: usize) -> Result<Vec<f64>, ReadError> {
        self.array(name, Dtype::F64, columns, f64::from_le_bytes)
    }
    /// Numbers that are finite.
    pub(crate) fn f32(&self, name: &str, columns: usize) -> Result<Vec<f32>, ReadError> {
        let all = self.array(name, Dtype::F32, columns, f32::from_le_bytes)?;
        match all.iter().position(|x| !x.is_finite()) {
            Some(at) => Err(damaged(format!("array \"{name}\": number {at} is not finite"))),
            None => Ok(all),
        }
    }
    pub(crate) fn u32(&self, name: &str, columns: usize) -> Result<Vec<u32>, ReadError> {
        self.array(name, Dtype::U32, columns, u32::from_le_bytes)
    }
    pub(crate) fn u8(&self, name: &str) -> Result<Vec<u8>, ReadError> {
        self.array(name, Dtype::U8, 1, u8::from_le_bytes)
    }
    pub(crate) fn i16(&self, name: &str, columns: usize) -> Result<Vec<i16>, ReadError> {
        self.array(name, Dtype::I16, columns, i16::from_le_bytes)
    }
    /// Indices below `limit`.
    pub(crate) fn indices(&self, name: &str, columns: usize, limit: usize) -> Result<Vec<u32>, ReadError> {
        let all = self.u32(name, columns)?;
        match all.iter().find(|&&i| i as usize >= limit) {
            Some(bad) => Err(damaged(format!("array \"{name}\" names {bad}, but there are {limit}"))),
            None => Ok(all),
        }
    }
    /// `rows` rows of entries; the array says where each starts.
    pub(crate) fn rows<T>(&self, name: &str, rows: usize, entries: Vec<T>) -> Result<Rows<T>, ReadError> {
        let (offsets, count) = (self.u32(name, 1)?, entries.len());
        let made = Rows::new(offsets, entries).ok().filter(|made| made.len() == rows);
        made.ok_or_else(|| damaged(format!("array \"{name}\" does not divide {count} entries into {rows} rows")))
    }
    pub(crate) fn count(&self, name: &str, found: usize, expected: usize) -> Result<(), ReadError> {
        match found == expected {
            true => Ok(()),
            false => Err(damaged(format!("array \"{name}\" has {found} rows, not {expected}"))),
        }
    }
}

pub(crate) fn damaged(reason: impl Into<String>) -> ReadError {
    ReadError::Damaged { format: Format::Model, reason: reason.into() }
}
