//! Geometry caches: the points of a mesh over time, in files beside the scene. They are those of Maya, a description (.xml) with one file of
//! points (.mc, .mcx) or one per frame, and PC2.
//!
//! The library finds the frames in the files; it opens none itself, and the points are decoded here. A cache that cannot be used is named
//! with the reason, and its mesh stands still.

use super::mesh::Block;
use crate::appearance::Beside;
use crate::contents::Resolve;
use crate::flaws::{Flaws, short};
use crate::surface::around;
use dermis_rig::glam::DVec3;
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;
use ufbx::{
    AllocatorOpts, CacheChannel, CacheDataEncoding, CacheDataFormat, CacheFile, CacheInterpretation, GeometryCacheOpts,
    GeometryCacheRoot, OpenFileCb, OpenFileInfo, SceneRoot, Stream,
};

/// Bytes of a description: those that programs write have a few hundred per channel, and each channel may ask for files of its own.
const MOST_TEXT: usize = 256 << 10;

/// Bytes for the list of the frames of a cache: a frame takes some 120 of them.
const MOST_INDEX: usize = 16 << 20;

/// Files that are not there before no more are looked for: a description may promise a file for every tick.
const MOST_MISSING: usize = 1000;

/// The caches of all meshes that have a usable one.
#[derive(Default)]
pub(super) struct Caches {
    /// By the number of the mesh.
    tracks: HashMap<usize, Track>,
    /// Bytes of all files that were read.
    pub bytes: usize,
    /// How many of the scene's caches belong to a mesh.
    pub met: usize,
}

/// The points of a mesh over time.
pub(super) struct Track {
    /// Seconds by the clock of the scene, ascending.
    pub times: Vec<f64>,
    frames: Vec<Frame>,
}

/// Where the points of a frame are.
struct Frame {
    file: Arc<[u8]>,
    begin: usize,
    number: Number,
    is_big: bool,
}

#[derive(Clone, Copy)]
enum Number {
    Single,
    Double,
}

impl Caches {
    /// The caches of the meshes of `blocks`, from files beside the scene, a gigabyte at most.
    ///
    /// - `name`: of the scene's file; caches may stand in `STEM_fpc/`
    pub fn read(
        scene: &SceneRoot,
        blocks: &[Block],
        rate: f64,
        (name, resolve): (&str, &Resolve<'_>),
        flaws: &mut Flaws,
    ) -> Self {
        let mut made = Self::default();
        let mut files = Files { beside: Beside::new(name, resolve), held: HashMap::new(), missing: 0, is_cut: false };
        let mut roots: HashMap<u32, Option<GeometryCacheRoot>> = HashMap::new();
        for block in blocks {
            let mesh = block.mesh(scene);
            let number = mesh.element.typed_id as usize;
            if made.tracks.contains_key(&number) {
                continue; // shown by another node as well
            }
            for deformer in mesh.cache_deformers.iter() {
                let Some(file) = deformer.file.as_ref() else {
                    flaws.unread("geometry cache without a file");
                    continue;
                };
                let shown = cache_name(file);
                let root = roots.entry(file.element.typed_id).or_insert_with(|| match files.open(file, rate) {
                    Ok(root) => Some(root),
                    Err(why) => {
                        flaws.unread(&format!("geometry cache \"{shown}\": {why}"));
                        None
                    }
                });
                let Some(root) = root else { continue };
                // Some programs name a channel that the cache does not have; one channel is meant then.
                let channel = root.channels.iter().find(|own| *own.name == *deformer.channel);
                let channel = channel.or_else(|| root.channels.first().filter(|_| root.channels.len() == 1));
                let Some(channel) = channel else {
                    flaws.unread(&format!(
                        "geometry cache \"{shown}\": it has no channel \"{:.50}\"",
                        &*deformer.channel
                    ));
                    continue;
                };
                match channel.interpretation {
                    CacheInterpretation::VertexPosition => {}
                    CacheInterpretation::VertexNormal => {
                        flaws.unread("normals of geometry caches");
                        continue;
                    }
                    _ => {
                        let what = &*channel.interpretation_name;
                        flaws.unread(&format!("geometry cache \"{shown}\": it holds \"{what:.50}\", not positions"));
                        continue;
                    }
                }
                match Track::read(channel, mesh.num_vertices, &files.held) {
                    Ok(track) => _ = made.tracks.entry(number).or_insert(track),
                    Err(why) => flaws.unread(&format!("geometry cache \"{shown}\": {why}")),
                }
            }
        }
        made.met = roots.len();
        made.bytes = files.held.values().map(|file| file.len()).sum();
        made
    }

    /// The cache of a mesh, by the mesh's number.
    pub fn of(&self, mesh: usize) -> Option<&Track> {
        self.tracks.get(&mesh)
    }

    /// Every moment at which a cache has a frame.
    pub fn times(&self) -> Vec<f64> {
        self.tracks.values().flat_map(|track| &track.times).copied().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.tracks.is_empty()
    }
}

impl Track {
    fn read(channel: &CacheChannel, vertices: usize, files: &HashMap<String, Arc<[u8]>>) -> Result<Self, String> {
        let mut made = Self { times: Vec::new(), frames: Vec::new() };
        for frame in channel.frames.iter() {
            let number = match frame.data_format {
                CacheDataFormat::Vec3Float => Number::Single,
                CacheDataFormat::Vec3Double => Number::Double,
                _ => return Err("its frames are no points".into()),
            };
            if frame.data_count as usize != vertices {
                return Err(format!("it has {} points, but the mesh has {vertices} vertices", frame.data_count));
            }
            if !frame.time.is_finite() {
                return Err("the time of a frame is not finite".into());
            }
            // Two frames at one time are one.
            if made.times.last().is_some_and(|last| frame.time <= *last) {
                continue;
            }
            let begin = usize::try_from(frame.data_offset).ok();
            let file = files.get(&*frame.filename);
            let (begin, file) = begin.zip(file).ok_or("its frames are not in its files")?;
            if begin.checked_add(vertices * number.of_point()).is_none_or(|end| end > file.len()) {
                return Err("it ends early".into());
            }
            let is_big = frame.data_encoding == CacheDataEncoding::BigEndian;
            made.times.push(frame.time);
            made.frames.push(Frame { file: Arc::clone(file), begin, number, is_big });
        }
        if made.frames.is_empty() { Err("it has no frames".into()) } else { Ok(made) }
    }

    /// The points at a time, in the mesh's own space: linear between frames; before the first and after the last they stand still.
    pub fn points(&self, vertices: usize, time: f64) -> Vec<DVec3> {
        let (before, after, s) = around(&self.times, time);
        let mut points: Vec<DVec3> = self.frames[before].points(vertices).collect();
        if s > 0.0 {
            points.iter_mut().zip(self.frames[after].points(vertices)).for_each(|(p, q)| *p = p.lerp(q, s));
        }
        points
    }
}

impl Number {
    /// Bytes of a point.
    fn of_point(self) -> usize {
        match self {
            Self::Single => 12,
            Self::Double => 24,
        }
    }
}

impl Frame {
    fn points(&self, vertices: usize) -> impl Iterator<Item = DVec3> {
        let size = self.number.of_point();
        let component = move |point: &[u8], at: usize| match (self.number, self.is_big) {
            (Number::Single, true) => f64::from(f32::from_be_bytes(word(point, at))),
            (Number::Single, false) => f64::from(f32::from_le_bytes(word(point, at))),
            (Number::Double, true) => f64::from_be_bytes(word(point, at)),
            (Number::Double, false) => f64::from_le_bytes(word(point, at)),
        };
        self.file[self.begin..self.begin + vertices * size]
            .chunks_exact(size)
            .map(move |point| DVec3::new(component(point, 0), component(point, 1), component(point, 2)))
    }
}

/// Number `at` of some of `N` bytes each.
fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.as_chunks::<N>().0[at]
}

/// How the scene calls a cache.
pub(super) fn cache_name(file: &CacheFile) -> String {
    let path = if file.relative_filename.is_empty() { &file.filename } else { &file.relative_filename };
    short(path)
}

/// Files of caches as they are met.
struct Files<'a> {
    beside: Beside<'a>,
    held: HashMap<String, Arc<[u8]>>,
    missing: usize,
    /// Whether a file ends before what it promises.
    is_cut: bool,
}

impl Files<'_> {
    /// The frames of a cache.
    fn open(&mut self, file: &CacheFile, rate: f64) -> Result<GeometryCacheRoot, String> {
        let paths = [&file.relative_filename, &file.filename, &file.absolute_filename].map(|path| path.to_string());
        let first = self.beside.read(&[&paths[0], &paths[1], &paths[2]])?;
        let binary = [&b"POINTCACHE2"[..], b"FOR4", b"FOR8"].iter().any(|start| first.starts_with(start));
        if !binary && first.len() > MOST_TEXT {
            return Err(format!("its description has {} bytes", first.len()));
        }
        let path = paths.into_iter().find(|path| !path.is_empty()).unwrap_or_default();
        self.is_cut = is_cut(&first);
        self.held.insert(path.clone(), first.into());
        let most = MOST_INDEX + 64 * self.held[&path].len();
        let mut open = |path: &str, _: &OpenFileInfo| {
            let file = self.file(path)?;
            Some(Stream::Read(Box::new(Cursor::new(file))))
        };
        let limit = || AllocatorOpts { memory_limit: most, ..AllocatorOpts::default() };
        let options = GeometryCacheOpts {
            temp_allocator: limit(),
            result_allocator: limit(),
            open_file_cb: OpenFileCb::Mut(&mut open),
            frames_per_second: rate,
            ..GeometryCacheOpts::default()
        };
        let root = ufbx::load_geometry_cache(&path, options);
        match root.map_err(|error| format!("it is damaged ({})", &*error.description)) {
            Ok(_) if self.is_cut => Err("a file of it ends early".into()),
            root => root,
        }
    }

    /// A file that is held, or beside the scene.
    fn file(&mut self, path: &str) -> Option<Arc<[u8]>> {
        if let Some(held) = self.held.get(path) {
            return Some(Arc::clone(held));
        }
        if self.missing == MOST_MISSING {
            return None;
        }
        let Ok(bytes) = self.beside.read(&[path]) else {
            self.missing += 1;
            return None;
        };
        self.is_cut |= is_cut(&bytes);
        Some(Arc::clone(self.held.entry(path.to_owned()).or_insert(bytes.into())))
    }
}

/// Whether a group of a file of Maya, of which each frame has one, is longer than the file.
fn is_cut(file: &[u8]) -> bool {
    let mut rest = file;
    loop {
        let size = match rest {
            [b'F', b'O', b'R', b'4', a, b, c, d, ..] => u64::from(u32::from_be_bytes([*a, *b, *c, *d])).checked_add(8),
            [b'F', b'O', b'R', b'8', _, _, _, _, more @ ..] => match more.first_chunk() {
                Some(size) => u64::from_be_bytes(*size).checked_add(16),
                None => return true,
            },
            _ => return false,
        };
        match size.and_then(|size| usize::try_from(size).ok()).and_then(|size| rest.get(size..)) {
            Some(after) => rest = after,
            None => return true,
        }
    }
}
