//! A model: opened, asked, freed. It never changes, so any number of threads may use it at once.

use crate::handles::Objects;
use crate::matrices::Layout;
use crate::memory::{DermisFloats, text, write_floats, write_numbers, write_to};
use crate::status::{
    DERMIS_ERROR_ABI, DERMIS_ERROR_FILE, DERMIS_ERROR_MODEL, DERMIS_ERROR_NOT_FOUND, DermisStatus, Failure, c_text,
    guarded,
};
use crate::{DERMIS_ABI_VERSION, DermisModel};
use dermis_deform::MeshNormals;
use dermis_io::{ModelFile, ReadError, UpAxis, model_file};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, RenderMesh};
use std::ffi::{CString, c_char, c_void};
use std::io::BufReader;
use std::sync::Arc;

/// Y points up in the rig's file.
pub const DERMIS_UP_Y: u32 = 1;
/// Z points up in the rig's file.
pub const DERMIS_UP_Z: u32 = 2;

/// What a model is made of.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DermisModelInfo {
    /// Vertices of the mesh as authored: a vertex that a file splits at seams is one vertex here.
    pub vertices: u32,
    /// Triangles over these vertices.
    pub triangles: u32,
    /// Vertices as the rig's file draws them, split at seams; 0 if it draws those of the mesh.
    pub drawn_vertices: u32,
    /// Triangles over the drawn vertices; 0 if the file draws those of the mesh.
    pub drawn_triangles: u32,
    /// Bones.
    pub bones: u32,
    /// Channels that the model reads: numbers of a pose other than joints.
    pub channels: u32,
    /// 1 if every pose must come with positions that the model corrects, 0 if the model has its own.
    pub needs_base: u32,
    /// The axis that points up in the rig's file: DERMIS_UP_Y or DERMIS_UP_Z.
    pub up_axis: u32,
    /// Length of the unit of the rig's file, in metres.
    pub metres_per_unit: f64,
    /// The farthest that the correction can move any vertex from its base in any pose, in metres. 0 for a model without
    /// correction, infinite for one without the guard.
    pub correction_bound: f64,
    /// Bytes of the arrays that evaluation reads, the rest mesh apart.
    pub bytes: u64,
}

/// A model with what C asks of it.
pub(crate) struct Model {
    pub(crate) file: ModelFile,
    /// Gathers the faces at each vertex.
    pub(crate) normals: MeshNormals,
    names: Vec<CString>,
    channels: Vec<CString>,
}

/// The models of this process.
pub(crate) static MODELS: Objects<Model> = Objects::new("model");

impl Model {
    fn new(file: ModelFile) -> Result<Self, ReadError> {
        let mesh = file.rig().mesh();
        let normals = MeshNormals::new(&mesh.triangles, mesh.positions.len())?;
        let names = file.rig().skeleton().names().iter().map(|name| c_text(name)).collect();
        let mut model = Self { file, normals, names, channels: Vec::new() };
        model.channels = model.file.baked().channels().iter().map(|channel| c_text(&channel.name)).collect();
        Ok(model)
    }

    /// A bone by its number.
    fn bone(&self, bone: u32) -> Result<BoneIndex, Failure> {
        let bones = self.names.len();
        match (bone as usize) < bones {
            true => Ok(BoneIndex::new(bone as usize)),
            false => {
                Err(Failure::new(DERMIS_ERROR_NOT_FOUND, format!("there is no bone {bone}; the model has {bones}")))
            }
        }
    }

    /// A channel by its number.
    pub(crate) fn channel(&self, channel: u32) -> Result<usize, Failure> {
        let channels = self.channels.len();
        match (channel as usize) < channels {
            true => Ok(channel as usize),
            false => {
                let message = format!("there is no channel {channel}; the model reads {channels}");
                Err(Failure::new(DERMIS_ERROR_NOT_FOUND, message))
            }
        }
    }

    fn drawn(&self) -> Option<&RenderMesh> {
        self.file.rig().mesh().render.as_ref()
    }

    fn info(&self) -> DermisModelInfo {
        let (mesh, baked) = (self.file.rig().mesh(), self.file.baked());
        let bound = baked.bounds().map_or(f64::INFINITY, |bounds| bounds.into_iter().fold(0.0, f32::max).into());
        DermisModelInfo {
            vertices: mesh.positions.len() as u32,
            triangles: mesh.triangles.len() as u32,
            drawn_vertices: self.drawn().map_or(0, |drawn| drawn.source.len() as u32),
            drawn_triangles: self.drawn().map_or(0, |drawn| drawn.triangles.len() as u32),
            bones: self.names.len() as u32,
            channels: self.channels.len() as u32,
            needs_base: u32::from(baked.needs_given()),
            up_axis: if self.file.space.up == UpAxis::Y { DERMIS_UP_Y } else { DERMIS_UP_Z },
            metres_per_unit: self.file.space.metres_per_unit,
            correction_bound: bound,
            bytes: baked.bytes() as u64,
        }
    }
}

/// Refuses a caller that was compiled with a header of another ABI.
fn check_abi(abi: u32) -> Result<(), Failure> {
    match abi {
        DERMIS_ABI_VERSION => Ok(()),
        _ => {
            let message = format!("the caller's header is of ABI version {abi}, this library of {DERMIS_ABI_VERSION}");
            Err(Failure::new(DERMIS_ERROR_ABI, message))
        }
    }
}

/// Takes in a model that was read, and tells its handle.
///
/// # Safety
/// `model` is NULL or may be written.
unsafe fn take_in(read: Result<ModelFile, ReadError>, model: *mut DermisModel) -> Result<(), Failure> {
    let made = read.and_then(Model::new).map_err(|error| Failure::new(DERMIS_ERROR_MODEL, error.to_string()))?;
    unsafe { write_to("model", model, DermisModel { id: MODELS.insert(made) }) }
}

/// Reads a model from the bytes of a model file (.dermis). The bytes are not needed afterwards.
///
/// `abi`: DERMIS_ABI_VERSION, as the caller's header has it. `bytes`: `length` bytes. `model`: where the handle goes. If the call
/// fails, the handle is zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_read(
    abi: u32,
    bytes: *const u8,
    length: usize,
    model: *mut DermisModel,
) -> DermisStatus {
    guarded(|| {
        unsafe { write_to("model", model, DermisModel { id: 0 }) }?;
        check_abi(abi)?;
        if bytes.is_null() {
            return Err(Failure::null("bytes"));
        }
        if length > isize::MAX as usize {
            return Err(Failure::new(DERMIS_ERROR_MODEL, format!("no model has {length} bytes")));
        }
        let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
        unsafe { take_in(model_file::read(bytes), model) }
    })
}

/// Opens a model file (.dermis) by its path.
///
/// `abi`: DERMIS_ABI_VERSION, as the caller's header has it. `path`: UTF-8. `model`: where the handle goes. If the call fails, the
/// handle is zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_open(abi: u32, path: *const c_char, model: *mut DermisModel) -> DermisStatus {
    guarded(|| {
        unsafe { write_to("model", model, DermisModel { id: 0 }) }?;
        check_abi(abi)?;
        let path = unsafe { text("path", path) }?;
        let failed = |error: std::io::Error| Failure::new(DERMIS_ERROR_FILE, format!("\"{path}\": {error}"));
        let file = std::fs::File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let read = model_file::read_from(BufReader::new(file), length);
        let named = read.map_err(|error| Failure::new(DERMIS_ERROR_MODEL, format!("\"{path}\": {error}")))?;
        unsafe { take_in(Ok(named), model) }
    })
}

/// Frees a model. Runners of it go on: they hold what they need. A handle of zero is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_model_free(model: DermisModel) -> DermisStatus {
    guarded(|| if model.id == 0 { Ok(()) } else { MODELS.remove(model.id) })
}

/// Tells what a model is made of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_info(model: DermisModel, info: *mut DermisModelInfo) -> DermisStatus {
    guarded(|| unsafe { write_to("info", info, MODELS.get(model.id)?.info()) })
}

/// Tells the name of a bone, as UTF-8. A zero byte within a name is told as U+FFFD.
///
/// `name` receives a text that lives until the model is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_bone_name(
    model: DermisModel,
    bone: u32,
    name: *mut *const c_char,
) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let bone = model.bone(bone)?;
        unsafe { write_to("name", name, model.names[bone.get()].as_ptr()) }
    })
}

/// Tells the parent of a bone: -1 for a root. Parents come before their children.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_bone_parent(model: DermisModel, bone: u32, parent: *mut i32) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let found = model.file.rig().skeleton().parents()[model.bone(bone)?];
        unsafe { write_to("parent", parent, found.map_or(-1, |bone| bone.get() as i32)) }
    })
}

/// Finds a bone by its name, the first if several have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_find_bone(
    model: DermisModel,
    name: *const c_char,
    bone: *mut u32,
) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let name = unsafe { text("name", name) }?;
        let found = model.names.iter().position(|n| n.as_bytes() == name.as_bytes());
        let missing = || Failure::new(DERMIS_ERROR_NOT_FOUND, format!("there is no bone \"{name}\""));
        unsafe { write_to("bone", bone, found.ok_or_else(missing)? as u32) }
    })
}

/// Writes the bind matrices B: joint to world at rest, in the model's axes (Y up, metres, right-handed), one per bone.
///
/// `layout`: DERMIS_COLUMNS_4X4 and so on. `numbers`: DERMIS_FLOAT or DERMIS_DOUBLE. `stride`: bytes from one matrix to the next, 0
/// for matrices without gaps. `bytes`: size of the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_bind_matrices(
    model: DermisModel,
    layout: u32,
    numbers: u32,
    stride: usize,
    matrices: *mut c_void,
    bytes: usize,
) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let bind = model.file.rig().skeleton().bind();
        if matrices.is_null() {
            return Err(Failure::null("matrices"));
        }
        let layout = Layout::new(layout, numbers)?;
        let stride = layout.check(bind.len(), stride, bytes)?;
        for (bone, matrix) in bind.iter().enumerate() {
            // Within the buffer, by the check above.
            unsafe { layout.write(matrix, matrices.wrapping_byte_add(bone * stride)) };
        }
        Ok(())
    })
}

/// Writes the rest positions in the model's axes (Y up, metres, right-handed), one per vertex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_rest_positions(
    model: DermisModel,
    positions: *const DermisFloats,
) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let rest: &[DVec3] = &model.file.rig().mesh().positions;
        unsafe { write_floats("positions", positions, rest.len(), |v| rest[v].as_vec3()) }
    })
}

/// Writes the triangles: three vertices each, counter-clockwise seen from outside.
///
/// `count`: numbers that the buffer has room for, at least 3 times the triangles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_triangles(model: DermisModel, vertices: *mut u32, count: usize) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let corners = model.file.rig().mesh().triangles.as_flattened();
        unsafe { write_numbers("triangles", vertices, count, corners.iter().copied()) }
    })
}

/// Writes for every drawn vertex the vertex of the mesh that it hangs on: after an evaluation, an engine copies that vertex.
/// Nothing is written if the file draws the vertices of the mesh themselves.
///
/// `count`: numbers that the buffer has room for, at least the drawn vertices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_drawn_vertices(
    model: DermisModel,
    vertices: *mut u32,
    count: usize,
) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let sources = model.drawn().map_or(&[][..], |drawn| &drawn.source);
        unsafe { write_numbers("drawn vertices", vertices, count, sources.iter().copied()) }
    })
}

/// Writes the triangles over drawn vertices, three vertices each. Nothing is written if the file draws the mesh itself.
///
/// `count`: numbers that the buffer has room for, at least 3 times the drawn triangles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_drawn_triangles(
    model: DermisModel,
    vertices: *mut u32,
    count: usize,
) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let corners = model.drawn().map_or(&[][..], |drawn| drawn.triangles.as_flattened());
        unsafe { write_numbers("drawn triangles", vertices, count, corners.iter().copied()) }
    })
}

/// Tells the name of a channel that the model reads, as UTF-8.
///
/// `name` receives a text that lives until the model is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_channel_name(
    model: DermisModel,
    channel: u32,
    name: *mut *const c_char,
) -> DermisStatus {
    guarded(|| {
        let model = MODELS.get(model.id)?;
        let channel = model.channel(channel)?;
        unsafe { write_to("name", name, model.channels[channel].as_ptr()) }
    })
}

/// Tells the axes and the unit of the rig's file, as dermis_runner_set_axes takes them: positions and matrices are then those of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_model_file_axes(model: DermisModel, axes: *mut f64) -> DermisStatus {
    guarded(|| {
        let rows = MODELS.get(model.id)?.file.space.to_ours().matrix3.transpose().to_cols_array();
        unsafe { write_to("axes", axes.cast(), rows) }
    })
}

/// A model as the runners hold it.
pub(crate) fn shared(model: DermisModel) -> Result<Arc<Model>, Failure> {
    MODELS.get(model.id)
}
